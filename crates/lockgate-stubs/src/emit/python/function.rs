//! One function: sizes checked, the client called, everything that came back as a value.
use super::{SIZES, attribute, ctype, documentation, element, element_in, enumeration, symbol, word};
use crate::emit::binding::surface::Surface;
use crate::emit::binding::{
    Argument, Check, CopyIn, CopyOut, Function, Judge, Operand, Pieces, Printer, joined, prototype,
};
use crate::emit::template::{row, template};
use crate::expression::Expression;
use crate::header::model::{CType, Shape};
use std::collections::BTreeSet;

/// The function, and what ctypes is told of the client's.
pub fn function(form: &Function<'_>, surface: &Surface<'_>, types: &BTreeSet<String>) -> String {
    let pieces = Pieces::default();
    let mut writer = Writer { form, surface, types, pieces, passes: false };
    form.print(&mut writer);
    let Pieces { parameters, before, stored, arguments, always, after, given } = writer.pieces;
    let (count, kinds, parts) = joined(&given);
    let kind = match count {
        0 => "None".to_owned(),
        1 => kinds,
        _ => format!("tuple[{kinds}]"),
    };
    let prototype_of = &form.plan.prototype;
    let symbol = symbol(&form.plan.name);
    let kinds: Vec<String> = prototype_of.parameters.iter().map(|p| ctype(&p.kind, surface)).collect();
    let arguments = arguments.iter().map(|argument| format!(", {argument}")).collect::<String>();
    let made = form.arguments.iter().filter_map(|argument| match argument.how {
        CopyIn::Given(Some((number, true))) => {
            Some(format!("({}, lg_{})", word(&surface.handle(number)), argument.name))
        }
        _ => None,
    });
    let made: Vec<String> = made.collect();
    let call = match form.errno {
        true => format!("_call_errno(lgs_call, [{}], {symbol}{arguments})", made.join(", ")),
        false => format!("_call(lgs_call, {symbol}{arguments})"),
    };
    // (Between two steps Python may run signal handlers, which call and raise: each step of `finally` is a single one.)
    template!(
        "python/function.py.in",
        SYMBOL = symbol,
        // (What stands behind those is passed as it is.)
        KINDS = kinds.join(", "),
        RESTYPE = ctype(&prototype_of.result, surface),
        NAME = word(&form.plan.name),
        PARAMETERS = parameters.join(", "),
        KIND = kind,
        PROTOTYPE = prototype(form.plan),
        DOCUMENTATION = documentation(form.plan.comment.as_ref()),
        BEFORE = before,
        STORED = stored,
        CALL = call,
        AFTER = after,
        BACK = if count == 0 { String::new() } else { format!("return {parts}") },
        ALWAYS = always,
    )
}

/// Python's type of a number.
fn plain(kind: &CType, surface: &Surface<'_>) -> String {
    match kind.shape {
        Shape::Record(_) => ctype(kind, surface),
        Shape::Float => "float".to_owned(),
        _ if kind.is_bool() => "bool".to_owned(),
        _ => "int".to_owned(),
    }
}

struct Writer<'w, 'a> {
    form: &'w Function<'a>,
    surface: &'w Surface<'a>,
    /// Names of all types of the module.
    types: &'w BTreeSet<String>,
    pieces: Pieces,
    /// Functions are passed, which may be made for the call.
    passes: bool,
}

fn line(text: &mut String, line: &str) {
    text.extend([line, "\n"]);
}

fn by_reference(local: &str) -> String {
    format!("ctypes.byref({local})")
}

impl<'a> Writer<'_, 'a> {
    /// What stands for a name of the header in a size.
    fn operand(&self, name: &str, length: bool) -> String {
        match self.form.operand(name, length) {
            Operand::Constant => word(name),
            Operand::TextLength => format!(r#"len(lg_{name} or b"")"#),
            Operand::Elements => format!("_strlen(lg_{name})"),
            Operand::Count(of) => format!("lgs_count_{of}"),
            // What was checked, not the program's object, which counts as it likes.
            Operand::Number(_) => format!("lg_{name}"),
            Operand::Scalar => format!("lg_{name}.value"),
            Operand::Other => self.own(name),
        }
    }

    fn size(&self, size: &Expression) -> String {
        SIZES.write(size, &|name, length| self.operand(name, length))
    }

    /// Functions that the call takes and that belong to what it makes.
    fn belonging(&self) -> Vec<String> {
        let functions = self.form.arguments.iter().filter(|one| matches!(one.how, CopyIn::Closure { .. }));
        let functions = functions.filter(|_| self.form.makes());
        functions.map(|one| self.own(one.name)).collect()
    }

    /// A handle that the call has made: functions that it took belong to that.
    fn made(&self, handle: String) -> String {
        match self.belonging()[..] {
            [] => handle,
            ref functions => format!("_made({handle}, lgs_made, {})", functions.join(", ")),
        }
    }

    /// A condition, behind others: what the call was to end has ended, by its own word.
    fn over(&self) -> &'static str {
        match (self.form.says, self.form.plan.prototype.result.is_bool()) {
            (false, _) => "",
            (true, false) => " and not lgs_result",
            (true, true) => " and lgs_result",
        }
    }

    /// The name of a parameter: no type's, as the function speaks of those.
    fn own(&self, name: &str) -> String {
        let own = word(name);
        if self.types.contains(&own) { format!("{own}_") } else { own }
    }

    fn takes(&mut self, own: &str, kind: &str) {
        self.pieces.parameters.push(format!("{own}: {kind}"));
    }

    fn before(&mut self, text: &str) {
        line(&mut self.pieces.before, text);
    }

    fn handle(&self, number: usize) -> String {
        word(&self.surface.handle(number))
    }

    fn record(&self, key: &str) -> String {
        word(&self.surface.record(key))
    }

    /// The argument of the call for one parameter.
    fn argument(&mut self, argument: &Argument<'a>) -> String {
        let surface = self.surface;
        let Argument { name, kind, how } = argument;
        let own = self.own(name);
        let local = format!("lg_{name}");
        match how {
            CopyIn::Zero | CopyIn::Data(_) => match kind.shape {
                Shape::Pointer(_) | Shape::Function(_) => "None".to_owned(),
                _ => "0".to_owned(),
            },
            CopyIn::Length(of) => {
                let kind = ctype(kind, surface);
                self.before(&format!(r#"{local} = _number(lgs_count_{of}, {kind}, "{name}")"#));
                local
            }
            CopyIn::Room(of) => {
                let kind = element(kind, surface);
                self.before(&format!(r#"{local} = {kind}(_number(lgs_count_{of}, {kind}, "{name}"))"#));
                by_reference(&local)
            }
            CopyIn::Number(key) => {
                let (fits, declared) = match (&kind.shape, key) {
                    (Shape::Float, _) => ("_real", "float".to_owned()),
                    (_, None) if kind.is_plain_character() => ("_character", "int | str | bytes".to_owned()),
                    (_, key) => ("_number", key.map_or_else(|| plain(kind, surface), enumeration)),
                };
                self.before(&format!(r#"{local} = {fits}({own}, {}, "{name}")"#, ctype(kind, surface)));
                self.takes(&own, &declared);
                local
            }
            CopyIn::Structure => {
                let kind = ctype(kind, surface);
                self.before(&format!(r#"{local} = _structure({own}, {kind}, "{name}")"#));
                self.takes(&own, &kind);
                local
            }
            CopyIn::Text | CopyIn::Printed => {
                self.before(&format!(r#"{local} = _text({own}, "{name}")"#));
                self.takes(&own, "String | None");
                match how {
                    CopyIn::Printed => format!(r#"b"%s", ctypes.c_char_p({local})"#),
                    _ => local,
                }
            }
            CopyIn::Slice { writes, nullable, .. } => {
                let kind = if *writes { "Writable" } else { "Readable" };
                self.takes(&own, &if *nullable { format!("{kind} | None") } else { kind.to_owned() });
                local
            }
            CopyIn::Records { key, writes, .. } => {
                let kind = format!("Sequence[{}]", self.record(key));
                self.takes(&own, if *writes { "ctypes.Array" } else { &kind });
                local
            }
            CopyIn::Scalar { reads, enumeration: key, .. } => {
                let pointee = kind.pointee().unwrap_or(kind);
                let raw = ctype(pointee, surface);
                let fits = if pointee.shape == Shape::Float { "_real" } else { "_number" };
                let first = if *reads { format!(r#"{fits}({own}, {raw}, "{name}")"#) } else { String::new() };
                self.before(&format!("{local} = {raw}({first})"));
                if *reads {
                    self.takes(&own, &key.map_or_else(|| plain(pointee, surface), enumeration));
                }
                by_reference(&local)
            }
            CopyIn::Record { key, plain, reads, .. } => {
                let kind = self.record(key);
                match reads {
                    true => {
                        let raw = if *plain { "" } else { "._to_raw()" };
                        self.before(&format!(r#"{local} = _structure({own}, {kind}, "{name}"){raw}"#));
                        self.takes(&own, &kind);
                    }
                    false => {
                        let raw = if *plain { "" } else { "_" };
                        self.before(&format!("{local} = {raw}{kind}()"));
                    }
                }
                by_reference(&local)
            }
            CopyIn::Kept { key, .. } => {
                let kind = self.record(key);
                self.takes(&own, &kind);
                self.before(&format!(r#"{local} = _structure({own}, {kind}, "{name}")"#));
                self.kept(name, how);
                format!("{local}._address()")
            }
            CopyIn::Handle { number, release } => {
                let kind = self.handle(*number);
                self.before(&format!(r#"{local} = _handle({own}, {kind}, "{name}")"#));
                if *release {
                    line(&mut self.pieces.stored, &format!("{local} = {own} and {own}._released()"));
                    let dead = format!("{own}{}", self.over());
                    self.pieces.after += &template!("python/ended.py.in", DEAD = dead, OWN = own);
                }
                self.takes(&own, &if *release { kind } else { format!("{kind} | None") });
                local
            }
            CopyIn::Replaced(number) => {
                let kind = self.handle(*number);
                self.before(&format!(r#"_handle({own}, {kind}, "{name}")"#));
                let released = format!("{local} = ctypes.c_void_p({own} and {own}._released())");
                line(&mut self.pieces.stored, &released);
                let dead = format!("{own} and {local}.value != {own}._was{}", self.over());
                self.pieces.after += &template!("python/ended.py.in", DEAD = dead, OWN = own);
                self.takes(&own, &format!("{kind} | None"));
                by_reference(&local)
            }
            CopyIn::Place => {
                self.before(&format!(r#"{local} = _place({own}, "{name}")"#));
                self.takes(&own, "Text | Memory | int | None");
                local
            }
            CopyIn::Given(_) => {
                self.before(&format!("{local} = ctypes.c_void_p()"));
                by_reference(&local)
            }
            CopyIn::Closure { name: kind, handles, .. } => {
                if !self.passes {
                    self.passes = true;
                    self.pieces.before.insert_str(0, &row("lgs_passing: list[Callback] = []"));
                    if !self.belonging().is_empty() {
                        self.pieces.before.insert_str(0, &row("lgs_made = _Life()"));
                    }
                    self.pieces.always += &template!("python/closed.py.in");
                }
                let kind = word(&surface.closure_name(kind));
                let made = if self.belonging().is_empty() { "None" } else { "lgs_made" };
                let handles: String =
                    handles.iter().map(|handle| format!(", {}", self.own(handle))).collect();
                let made = format!(r#"_callback({own}, {kind}, "{name}", lgs_passing, {made}{handles})"#);
                self.before(&format!("{local} = {made}"));
                self.takes(&own, &format!("{kind} | Callable[..., Any] | None"));
                local
            }
        }
    }

    fn kept(&mut self, name: &str, how: &CopyIn<'_>) {
        let CopyIn::Kept { buffers, reads, release, end, .. } = how else { return };
        let local = format!("lg_{name}");
        if *reads {
            line(&mut self.pieces.stored, &format!(r#"{local}._use(lgs_call, "{name}")"#));
            let mut clear = String::new();
            for cursor in buffers {
                let name = self.own(&cursor.field.name);
                let (field, length) = (attribute(&cursor.field.name), attribute(&cursor.length.name));
                let function = if cursor.writes { "_writing" } else { "_reading" };
                self.takes(&name, if cursor.writes { "Writable" } else { "Readable" });
                let kind = element_in(&cursor.field.kind, self.surface);
                self.before(&format!(
                    r#"lgs_buffer_{name}, lgs_count_{name} = {function}({name}, {kind}, "{name}")"#
                ));
                let kind = ctype(&cursor.length.kind, self.surface);
                self.before(&format!(r#"lgs_count_{name} = _number(lgs_count_{name}, {kind}, "{name}")"#));
                let address = format!("{local}._raw.{field} = _address(lgs_buffer_{name})");
                line(&mut self.pieces.stored, &address);
                line(&mut self.pieces.stored, &format!("{local}._raw.{length} = lgs_count_{name}"));
                line(&mut clear, &format!("{local}._raw.{field} = None"));
            }
            self.pieces.always += &template!("python/unused.py.in", LOCAL = local, CLEAR = clear);
        }
        if *release {
            line(&mut self.pieces.always, &format!("{local}._ended()"));
        }
        if let Some(end) = end {
            line(&mut self.pieces.after, &format!("{local}._end = {local}._end or {}", symbol(end)));
        }
    }
}

impl<'a> Printer<'a> for Writer<'_, 'a> {
    fn buffer(&mut self, argument: &Argument<'a>) {
        let (name, own) = (argument.name, self.own(argument.name));
        let (function, kind) = match &argument.how {
            CopyIn::Records { key, writes, .. } => {
                (if *writes { "_structures_written" } else { "_structures" }, self.record(key))
            }
            CopyIn::Slice { writes, .. } => {
                (if *writes { "_writing" } else { "_reading" }, element_in(argument.kind, self.surface))
            }
            _ => return,
        };
        let none = match argument.how {
            CopyIn::Slice { nullable: true, .. } => format!("(None, 0) if {own} is None else "),
            _ => String::new(),
        };
        self.before(&format!(r#"lg_{name}, lgs_count_{name} = {none}{function}({own}, {kind}, "{name}")"#));
    }

    fn copy_in(&mut self, argument: &Argument<'a>) {
        let argument = self.argument(argument);
        self.pieces.arguments.push(argument);
    }

    fn check(&mut self, check: &Check<'a>) {
        // (The client looks for the zero again: in what the program cannot change meanwhile.)
        for name in check.needed.names() {
            if matches!(self.form.operand(name, true), Operand::Elements) {
                self.before(&format!("lg_{name} = bytes(lg_{name})"));
            }
        }
        let (needed, of) = (self.size(check.needed), check.of);
        let enough = format!(r#"_enough({needed}, lgs_count_{of}, "{of}")"#);
        match check.nullable {
            true => {
                let enough = template!("python/enough_if.py.in", OF = of, ENOUGH = enough);
                self.before(enough.trim_end());
            }
            false => self.before(&enough),
        }
    }

    fn lend(&mut self, room: &'a Expression) {
        self.takes("contents", "bytes");
        let room = self.size(room);
        self.before("lgs_contents = memoryview(contents).tobytes()");
        self.before(&format!(r#"_enough(len(lgs_contents), {room}, "contents")"#));
        line(&mut self.pieces.stored, "lgs_call.contents = lgs_contents");
        line(&mut self.pieces.after, "_filled(lgs_call, lgs_result)");
    }

    fn copy_out(&mut self, out: &CopyOut<'a>) {
        let surface = self.surface;
        let CopyOut { what, is_result, kind, judge, freed } = out;
        let raw = if *is_result { "lgs_result".to_owned() } else { format!("lg_{what}.value") };
        let (kind, value) = match judge {
            Judge::Number => (plain(kind, surface), raw.clone()),
            Judge::Enumeration(key) => {
                let name = enumeration(key);
                let value = format!(r#"_enum({name}, {raw}, "{what}")"#);
                (name, value)
            }
            Judge::Text => ("Text | None".to_owned(), format!("_string({raw})")),
            Judge::Memory => {
                let kind = element(kind, surface);
                let shown = if kind == "ctypes.c_ubyte" { "Memory" } else { "list" };
                (format!("{shown} | None"), format!("_result_memory(lgs_call, {raw}, {kind})"))
            }
            Judge::Records { key, plain, one } => {
                let name = self.record(key);
                let raw_kind = if *plain { name.clone() } else { format!("_{name}") };
                let all = format!("(_result_memory(lgs_call, {raw}, {raw_kind}) or [])");
                let all = match plain {
                    true => all,
                    false => format!("[{name}._of_raw(lgs_value) for lgs_value in {all}]"),
                };
                match one {
                    true => (format!("{name} | None"), format!("next(iter({all}), None)")),
                    false => (format!("list[{name}]"), all),
                }
            }
            Judge::Filled { key, plain } => {
                let name = self.record(key);
                let local = format!("lg_{what}");
                let value = if *plain { local } else { format!("{name}._of_raw({local})") };
                (name, value)
            }
            Judge::Handle { number, owned, .. } => {
                let name = self.handle(*number);
                let owned = if *owned { "True" } else { "False" };
                (format!("{name} | None"), self.made(format!("{name}._given({raw}, {owned})")))
            }
            Judge::Replaced(number) => {
                let name = self.handle(*number);
                let own = self.own(what);
                (format!("{name} | None"), self.made(format!("{name}._replaced({raw}, {own})")))
            }
            Judge::Callback => ("bool".to_owned(), format!("bool({raw})")),
            Judge::Offset { object, .. } => ("int | None".to_owned(), format!("_offset({raw}, lg_{object})")),
            Judge::Place => ("int | None".to_owned(), raw.clone()),
        };
        let value = if *freed { format!("_freed({value}, {raw})") } else { value };
        self.pieces.given.push((kind, value));
    }
}
