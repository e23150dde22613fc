//! One function: sizes checked, the client called, everything that came back as a value.
use super::types::over;
use super::{documentation, element, size, sys, type_name, variable, word};
use crate::emit::binding::surface::Surface;
use crate::emit::binding::{
    Argument, Check, CopyIn, CopyOut, Function, Judge, Operand, Pieces, Printer, joined, prototype,
};
use crate::emit::template::{code, row, template};
use crate::expression::Expression;
use crate::header::model::{CType, Shape};
use crate::plan::FunctionPlan;

/// The declaration in `sys`.
pub fn declaration(function: &FunctionPlan, surface: &Surface<'_>) -> String {
    let inside = |kind: &CType| sys(kind, surface).trim_start_matches("sys::").to_owned();
    let kinds = function.prototype.parameters.iter().enumerate();
    let mut parameters: Vec<String> = kinds.map(|(n, p)| format!("p{n}: {}", inside(&p.kind))).collect();
    if function.prototype.variadic {
        parameters.push("...".to_owned());
    }
    let result = match function.prototype.result.shape {
        Shape::Void => String::new(),
        _ => format!(" -> {}", inside(&function.prototype.result)),
    };
    let name = word(&function.name);
    let declared = format!("pub fn {name}({}){result};", parameters.join(", "));
    match name == function.name {
        true => row(declared),
        false => template!("rust/linked.rs.in", NAME = function.name, DECLARED = declared),
    }
}

/// The function.
pub fn function(form: &Function<'_>, surface: &Surface<'_>) -> String {
    let mut writer = Writer { form, surface, pieces: Pieces::default() };
    if form.belong_to_made() {
        writer.declare("lgs_made", "support::Life::begun()");
    }
    form.print(&mut writer);
    let writer = writer.pieces;
    let (count, kinds, parts) = joined(&writer.given);
    let (kind, value) = match count {
        1 => (kinds, parts),
        _ => (format!("({kinds})"), format!("({parts})")),
    };
    let name = word(&form.plan.name);
    let arguments = writer.arguments.join(", ");
    let call = match form.errno {
        false => template!("rust/call.rs.in", NAME = name, ARGUMENTS = arguments),
        true => template!("rust/call_errno.rs.in", NAME = name, ARGUMENTS = arguments),
    };
    let borrows = writer.parameters.iter().any(|parameter| parameter.contains("&'a "));
    template!(
        "rust/function.rs.in",
        PROTOTYPE = prototype(form.plan),
        DOCUMENTATION = documentation(form.plan.comment.as_ref()),
        NAME = name,
        LIFETIME = if borrows { "<'a>" } else { "" },
        PARAMETERS = writer.parameters.join(", "),
        KIND = kind,
        BEFORE = writer.before + &writer.stored,
        CALL = call,
        AFTER = writer.after,
        BACK = format!("Ok({value})"),
    )
}

struct Writer<'w, 'a> {
    form: &'w Function<'a>,
    surface: &'w Surface<'a>,
    pieces: Pieces,
}

fn line(text: &mut String, line: &str) {
    text.extend([line.trim_end(), "\n"]);
}

/// The address of a variable.
fn raw_mut(local: &str) -> String {
    format!("(&raw mut {local}).cast()")
}

/// The address of a slice.
fn pointer_to(own: &str, writes: bool) -> String {
    match writes {
        true => format!("{own}.as_mut_ptr().cast()"),
        false => format!("{own}.as_ptr().cast_mut().cast()"),
    }
}

/// A handle, with a life of its own if the library has made it for the caller.
fn given(kind: &str, raw: &str, owned: bool) -> String {
    made(kind, raw, if owned { "Some(support::Life::begun())" } else { "None" })
}

/// A handle.
pub(super) fn made(kind: &str, raw: &str, life: &str) -> String {
    code!("@KIND@ { raw: @RAW@, life: @LIFE@ }", KIND = kind, RAW = raw, LIFE = life)
}

fn slice(kind: &str, writes: bool) -> String {
    format!("&{}[{kind}]", if writes { "mut " } else { "" })
}

impl<'a> Writer<'_, 'a> {
    /// What stands for a name of the header in a size.
    fn operand(&self, name: &str, length: bool) -> String {
        let own = variable(name);
        match self.form.operand(name, length) {
            Operand::TextLength => {
                format!("lg_{name}.as_ref().map_or(0, |text| text.as_bytes().len() as i128)")
            }
            Operand::Elements => format!("support::strlen({own})?"),
            Operand::Count(_) => format!("(lg_{name} as i128)"),
            Operand::Number(Some(_)) => format!("({own} as i64 as i128)"),
            Operand::Constant => format!("(super::{} as i128)", word(name)),
            Operand::Number(None) | Operand::Scalar | Operand::Other => format!("({own} as i128)"),
        }
    }

    fn size(&self, size: &Expression) -> String {
        self::size(size, &|name, length| self.operand(name, length))
    }

    fn takes(&mut self, own: &str, kind: &str) {
        self.pieces.parameters.push(format!("{own}: {kind}"));
    }

    fn declare(&mut self, declared: &str, value: &str) {
        line(&mut self.pieces.before, &format!("let {declared} = {value};"));
    }

    fn handle(&self, number: usize) -> String {
        type_name(&self.surface.handle(number))
    }

    fn record(&self, key: &str) -> String {
        type_name(&self.surface.record(key))
    }

    /// The argument of the call for one parameter.
    fn argument(&mut self, argument: &Argument<'a>) -> String {
        let surface = self.surface;
        let Argument { name, kind, how } = argument;
        let own = variable(name);
        let local = format!("lg_{name}");
        let null = kind.pointee().is_some() || matches!(kind.shape, Shape::Function(_));
        match how {
            CopyIn::Data(closure) => {
                format!("lg_{closure}.map_or(null_mut(), |closure| closure.0.data())")
            }
            CopyIn::Zero => if null { "null_mut()" } else { "Default::default()" }.to_owned(),
            CopyIn::Length(of) => {
                let length = format!(r#"support::length({}.len(), "{name}")?"#, variable(of));
                self.declare(&format!("{local}: {}", sys(kind, surface)), &length);
                local
            }
            CopyIn::Room(of) => {
                let length = format!(r#"support::length({}.len(), "{name}")?"#, variable(of));
                self.declare(&format!("mut {local}: {}", element(kind, surface)), &length);
                raw_mut(&local)
            }
            CopyIn::Number(Some(key)) => {
                self.takes(&own, &type_name(key));
                format!("{own} as _")
            }
            CopyIn::Number(None) | CopyIn::Structure => {
                self.takes(&own, &sys(kind, surface));
                own
            }
            CopyIn::Text | CopyIn::Printed => {
                self.takes(&own, "impl IntoText");
                self.declare(&local, &format!("{own}.into_text()?"));
                let pointer = format!("support::pointer(&{local}).cast_mut().cast()");
                match how {
                    CopyIn::Printed => {
                        format!(r#"c"%s".as_ptr().cast_mut().cast(), {pointer} as *mut c_char"#)
                    }
                    _ => pointer,
                }
            }
            CopyIn::Slice { writes, .. } => {
                self.takes(&own, &slice(&element(kind, surface), *writes));
                pointer_to(&own, *writes)
            }
            CopyIn::Records { key, writes, .. } => {
                self.takes(&own, &slice(&self.record(key), *writes));
                pointer_to(&own, *writes)
            }
            CopyIn::Scalar { reads, enumeration, .. } => {
                let raw = sys(kind.pointee().unwrap_or(kind), surface);
                let known = enumeration.map(type_name);
                if *reads {
                    self.takes(&own, known.as_ref().unwrap_or(&raw));
                }
                let first = match (reads, known) {
                    (true, Some(_)) => format!("{own} as {raw}"),
                    (true, None) => own,
                    (false, _) => "Default::default()".to_owned(),
                };
                self.declare(&format!("mut {local}: {raw}"), &first);
                raw_mut(&local)
            }
            CopyIn::Record { key, plain, reads, writes } => {
                let kind = self.record(key);
                match (reads, writes, plain) {
                    (false, _, _) => {
                        let raw = if *plain { "" } else { ".raw()" };
                        self.declare(&format!("mut {local}"), &format!("{kind}::default(){raw}"));
                        raw_mut(&local)
                    }
                    (true, true, _) => {
                        self.takes(&own, &format!("&mut {kind}"));
                        format!("std::ptr::from_mut({own}).cast()")
                    }
                    (true, false, true) => {
                        self.takes(&own, &format!("&{kind}"));
                        format!("std::ptr::from_ref({own}).cast_mut().cast()")
                    }
                    (true, false, false) => {
                        self.takes(&own, &format!("&{kind}"));
                        self.declare(&format!("mut {local}"), &format!("{own}.raw()"));
                        raw_mut(&local)
                    }
                }
            }
            CopyIn::Kept { key, .. } => {
                self.takes(&own, &format!("&mut {}", self.record(key)));
                self.kept(&own, how);
                raw_mut(&format!("*{own}.raw"))
            }
            CopyIn::Handle { number, release: true } => {
                self.takes(&own, &self.handle(*number));
                line(&mut self.pieces.stored, &format!("let {local} = {own}.ending();"));
                let end = format!("{local}.end();");
                match over(self.form.plan, "lgs_result") {
                    Some(over) => self.pieces.after += &template!("rust/over.rs.in", OVER = over, END = end),
                    None => line(&mut self.pieces.after, &end),
                }
                format!("{local}.raw")
            }
            CopyIn::Handle { number, release: false } => {
                let kind = self.handle(*number);
                self.takes(&own, &format!("impl Into<Option<&'a {kind}>>"));
                self.declare(&format!("{local}: Option<&{kind}>"), &format!("{own}.into()"));
                format!("{local}.map_or(null_mut(), |handle| handle.raw)")
            }
            CopyIn::Replaced(number) => {
                let kind = self.handle(*number);
                self.takes(&own, &format!("impl Into<Option<{kind}>>"));
                let ending = format!("{own}.into().map_or_else(support::Ending::none, {kind}::ending)");
                line(&mut self.pieces.stored, &format!("let mut {local} = {ending};"));
                raw_mut(&format!("{local}.raw"))
            }
            // (What consumes the caller's is taken out of the call.)
            CopyIn::Place => {
                self.takes(&own, "impl Into<Option<Place>>");
                self.declare(&local, &format!("{own}.into().map_or(null_mut(), |place| place.0)"));
                local
            }
            CopyIn::Given(Some((number, owned))) => {
                let made = given(&self.handle(*number), "null_mut()", *owned);
                self.declare(&format!("mut {local}"), &made);
                raw_mut(&format!("{local}.raw"))
            }
            CopyIn::Given(None) => {
                self.declare(&format!("mut {local}: *mut c_void"), "null_mut()");
                raw_mut(&local)
            }
            CopyIn::Closure { name, by_data, handles } => {
                let kind = type_name(&surface.closure_name(name));
                self.takes(&own, &format!("impl Into<Option<&'a {kind}>>"));
                self.declare(&format!("{local}: Option<&{kind}>"), &format!("{own}.into()"));
                let pointer = match by_data {
                    true => "code()".to_owned(),
                    false => {
                        let lives: Vec<String> = handles.iter().map(|own| self.life(own)).collect();
                        let made = if self.form.belong_to_made() { "Some(&lgs_made)" } else { "None" };
                        format!("bare(&[{}], {made})", lives.join(", "))
                    }
                };
                format!("{local}.map_or(null_mut(), |closure| closure.{pointer})")
            }
        }
    }

    /// That of the handle that goes in by this name, if there is one.
    fn life(&self, handle: &str) -> String {
        let own = self.form.arguments.iter().find(|argument| argument.name == handle);
        match own.map(|own| &own.how) {
            Some(CopyIn::Handle { release: false, number }) => {
                format!("{}::with(lg_{handle})", self.handle(*number))
            }
            _ => format!("lg_{handle}.with()"),
        }
    }

    /// A handle that the call has made: closures that it took, and that are known by nothing else, are that one's, too.
    fn given(&self, handle: String) -> String {
        if !self.form.belong_to_made() {
            return format!("{handle}.given()");
        }
        let keeps = |own| {
            format!("lg_{own}.into_iter().for_each(|closure| closure.0.passed(handle.life.as_ref())); ")
        };
        let keeps: String = self.form.bare_closures().map(keeps).collect();
        code!("@HANDLE@.given().inspect(|handle| { @KEEPS@lgs_made.end() })", HANDLE = handle, KEEPS = keeps)
    }

    fn kept(&mut self, own: &str, how: &CopyIn<'_>) {
        let CopyIn::Kept { buffers, release, end, .. } = how else { return };
        self.declare(&format!("mut {own}"), &format!("support::Use::of({own})"));
        for cursor in buffers {
            let (field, length) = (word(&cursor.field.name), word(&cursor.length.name));
            let name = variable(&cursor.field.name);
            self.takes(&name, &slice(&element(&cursor.field.kind, self.surface), cursor.writes));
            let many = format!(r#"{own}.raw.{length} = support::length({name}.len(), "{field}")?;"#);
            line(&mut self.pieces.before, &many);
            line(
                &mut self.pieces.before,
                &format!("{own}.raw.{field} = {};", pointer_to(&name, cursor.writes)),
            );
        }
        line(&mut self.pieces.before, &format!("{own}.used = true;"));
        if *release {
            line(&mut self.pieces.stored, &format!("{own}.releases = true;"));
        }
        if let Some(end) = end {
            self.pieces.after += &template!("rust/end.rs.in", OWN = own, END = word(end));
        }
    }
}

impl<'a> Printer<'a> for Writer<'_, 'a> {
    /// (Slices know how long they are.)
    fn buffer(&mut self, _: &Argument<'a>) {}

    fn copy_in(&mut self, argument: &Argument<'a>) {
        let argument = self.argument(argument);
        self.pieces.arguments.push(argument);
    }

    fn check(&mut self, check: &Check<'a>) {
        let needed = self.size(check.needed);
        let (own, of) = (variable(check.of), check.of);
        let enough = format!(r#"support::enough({needed}, {own}.len(), "{of}")?;"#);
        line(&mut self.pieces.before, &enough);
    }

    fn lend(&mut self, room: &'a Expression) {
        self.takes("contents", "&[u8]");
        self.pieces.before += &template!("rust/lend.rs.in", ROOM = self.size(room));
        self.pieces.after += &template!("rust/filled.rs.in");
    }

    fn copy_out(&mut self, out: &CopyOut<'a>) {
        let CopyOut { what, is_result, kind, judge, freed } = out;
        let replaced = |own: &&Argument<'_>| own.name == *what && matches!(own.how, CopyIn::Replaced(_));
        let raw = match () {
            () if *is_result => "lgs_result".to_owned(),
            () if self.form.arguments.iter().any(|own| replaced(&own)) => format!("lg_{what}.raw"),
            () => format!("lg_{what}"),
        };
        let (kind, value) = match judge {
            Judge::Number => (sys(kind, self.surface), raw.clone()),
            Judge::Enumeration(key) => {
                let name = type_name(key);
                let value = format!(r#"{name}::of({raw}.into(), "{what}")?"#);
                (name, value)
            }
            Judge::Text => ("Option<Text>".to_owned(), format!("support::text({raw}.cast())")),
            Judge::Memory => {
                let kind = element(kind, self.surface);
                let value = template!("rust/memory.rs.in", KIND = kind, RAW = raw);
                (format!("Option<Memory<{kind}>>"), value)
            }
            Judge::Records { key, plain, one } => {
                let name = self.record(key);
                let raw_kind = if *plain { name.clone() } else { format!("sys::{name}") };
                let count = format!("support::given_of::<{raw_kind}>()");
                let value = if *plain { "*value".to_owned() } else { format!("{name}::from_raw(value)") };
                let value = template!(
                    "rust/records.rs.in",
                    KIND = raw_kind,
                    RAW = raw,
                    COUNT = if *one { "1" } else { &count },
                    VALUE = value,
                    ALL = if *one { ".next()" } else { ".collect::<Vec<_>>()" },
                );
                (if *one { format!("Option<{name}>") } else { format!("Vec<{name}>") }, value)
            }
            Judge::Filled { key, plain } => {
                let name = self.record(key);
                let value = if *plain { raw.clone() } else { format!("{name}::from_raw(&{raw})") };
                (name, value)
            }
            Judge::Handle { number, owned, in_place } => {
                let name = self.handle(*number);
                let handle = if *in_place { raw.clone() } else { given(&name, &raw, *owned) };
                (format!("Option<{name}>"), self.given(handle))
            }
            Judge::Replaced(number) => {
                let name = self.handle(*number);
                let over = over(self.form.plan, "lgs_result").unwrap_or_else(|| "true".to_owned());
                let handle = made(&name, &raw, &format!("lg_{what}.left({over})"));
                (format!("Option<{name}>"), self.given(handle))
            }
            Judge::Callback => ("bool".to_owned(), format!("!{raw}.is_null()")),
            Judge::Offset { object, text } => {
                let start = match text {
                    true => format!("support::pointer(&lg_{object})"),
                    false => format!("{}.as_ptr()", variable(object)),
                };
                ("Option<usize>".to_owned(), format!("support::offset({raw}.cast(), {start}.cast())"))
            }
            Judge::Place => {
                ("Option<Place>".to_owned(), format!("(!{raw}.is_null()).then_some(Place({raw}))"))
            }
        };
        let value = match freed {
            true => template!("rust/freed.rs.in", VALUE = value.trim_end(), RAW = raw),
            false => value,
        };
        self.pieces.given.push((kind, value.trim_end().to_owned()));
    }
}
