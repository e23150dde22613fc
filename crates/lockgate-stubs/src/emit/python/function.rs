//! One function: sizes checked, the client called, everything that came back as a value.
use super::{arithmetic, attribute, ctype, documentation, element, element_in, enumeration, symbol, word};
use crate::emit::function::{Body, Failed, prototype, says_errno};
use crate::emit::surface::{Role, Surface, cursors, is_single};
use crate::header::model::{CType, Parameter, Shape};
use crate::plan::{Buffer, FunctionPlan, Outcome};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The function, and what ctypes is told of the client's.
pub fn function(function: &FunctionPlan, surface: &Surface<'_>, types: &BTreeSet<String>) -> String {
    let mut body = Body::default();
    let roles = surface.roles(function);
    let writer = Writer { function, surface, roles: &roles, types };
    // Buffers first: lengths are theirs.
    for (parameter, role) in &roles {
        writer.buffer(&mut body, parameter, role);
    }
    for (parameter, role) in &roles {
        writer.parameter(&mut body, parameter, role);
    }
    for (parameter, role) in &roles {
        writer.size(&mut body, parameter, role);
    }
    let result = writer.result(&mut body);
    let (kinds, parts, count) = body.outcome(result);
    let kind = match count {
        0 => "None".to_owned(),
        1 => kinds,
        _ => format!("tuple[{kinds}]"),
    };
    let name = &function.name;
    let symbol = symbol(name);
    let kinds: Vec<String> = function.prototype.parameters.iter().map(|p| ctype(&p.kind, surface)).collect();
    // (What stands behind those is passed as it is.)
    let mut text = format!("\n\n{symbol}.argtypes = [{}]\n", kinds.join(", "));
    let _ = write!(
        text,
        "{symbol}.restype = {}\n\n\ndef {}({}) -> {kind}:\n    \"\"\"`{}`\n{}    \"\"\"\n{}",
        ctype(&function.prototype.result, surface),
        word(name),
        body.parameters.join(", "),
        prototype(function),
        documentation(function.comment.as_ref(), "    "),
        body.before
    );
    let arguments = body.arguments.iter().map(|argument| format!(", {argument}")).collect::<String>();
    let call = match says_errno(function) {
        Some(Failed::Null) => format!("_call_errno(lg_call, None, {symbol}{arguments})"),
        Some(Failed::Number(failed)) => format!("_call_errno(lg_call, {failed}, {symbol}{arguments})"),
        None => format!("_call(lg_call, {symbol}{arguments})"),
    };
    // (Between two steps Python may run signal handlers, which call and raise: each step of `finally` is a single one.)
    let _ = write!(
        text,
        "    lg_call = _Call()\n    lg_outer = lg_call.outer = _thread.call\n    try:\n{}        lg_result = {call}\n{}",
        body.stored, body.after
    );
    if count != 0 {
        let _ = writeln!(text, "        return {parts}");
    }
    let _ = write!(
        text,
        "    finally:\n        _thread.call = lg_outer\n        if lg_call.aside is not None:\n            _back(lg_call.aside)\n{}",
        body.always
    );
    text
}

/// Python's type of an integer.
fn integer(kind: &CType) -> String {
    if kind.is_bool() { "bool" } else { "int" }.to_owned()
}

struct Writer<'a> {
    function: &'a FunctionPlan,
    surface: &'a Surface<'a>,
    roles: &'a [(&'a Parameter, Role<'a>)],
    /// Names of all types of the module.
    types: &'a BTreeSet<String>,
}

impl Writer<'_> {
    /// What stands for a name of the header in a size.
    fn scope(&self, name: &str, length: bool) -> String {
        let Some((_, role)) = self.roles.iter().find(|(parameter, _)| parameter.name == name) else {
            return word(name);
        };
        let own = self.own(name);
        match (role, length) {
            (Role::Text, true) => format!("len(lg_{name} or b\"\")"),
            (Role::Slice(_), true) => format!("_strlen(lg_{name})"),
            (Role::Length { of } | Role::Room { of }, _) => format!("lg_{}_count", self.roles[*of].0.name),
            // What was checked, not the program's object, which counts as it likes.
            (Role::Number, _) => format!("lg_{name}"),
            (Role::Scalar(_), _) => format!("lg_{name}.value"),
            _ => own,
        }
    }

    /// The name of a parameter: no type's, as the function speaks of those.
    fn own(&self, name: &str) -> String {
        let own = word(name);
        if self.types.contains(&own) { format!("{own}_") } else { own }
    }

    fn buffer(&self, body: &mut Body, parameter: &Parameter, role: &Role<'_>) {
        let (name, own) = (&parameter.name, self.own(&parameter.name));
        let (function, kind) = match role {
            Role::Slice(buffer) if buffer.writes => ("_writing", element_in(&parameter.kind, self.surface)),
            Role::Slice(_) => ("_reading", element_in(&parameter.kind, self.surface)),
            Role::Record(key, Buffer { size: Some(_), writes, .. }) => {
                let function = if *writes { "_structures_written" } else { "_structures" };
                (function, word(&self.surface.record(key)))
            }
            _ => return,
        };
        let _ =
            writeln!(body.before, "    lg_{name}, lg_{name}_count = {function}({own}, {kind}, \"{name}\")");
    }

    fn size(&self, body: &mut Body, parameter: &Parameter, role: &Role<'_>) {
        let (Role::Slice(Buffer { size: Some(size), .. }) | Role::Record(_, Buffer { size: Some(size), .. })) =
            role
        else {
            return;
        };
        let name = &parameter.name;
        let counts = |(_, role): &(&Parameter, Role<'_>)| match role {
            Role::Length { of } | Role::Room { of } => self.roles[*of].0.name == *name,
            _ => false,
        };
        if !self.roles.iter().any(counts) {
            let needed = arithmetic(size, &|name, length| self.scope(name, length));
            let _ = writeln!(body.before, "    _enough({needed}, lg_{name}_count, \"{name}\")");
        }
    }

    fn parameter(&self, body: &mut Body, parameter: &Parameter, role: &Role<'_>) {
        let surface = self.surface;
        let name = &parameter.name;
        let own = self.own(name);
        let local = format!("lg_{name}");
        let kind = &parameter.kind;
        let mut line = |text: String| {
            let _ = writeln!(body.before, "    {text}");
        };
        let (declared, argument) = match role {
            // (Functions with what has no form are left out.)
            Role::Zero | Role::None(_) => match kind.shape {
                Shape::Pointer(_) | Shape::Function(_) => (None, "None".to_owned()),
                _ => (None, "0".to_owned()),
            },
            Role::Length { of } => {
                let count = format!("lg_{}_count", self.roles[*of].0.name);
                line(format!("{local} = _number({count}, {}, \"{name}\")", ctype(kind, surface)));
                (None, local)
            }
            Role::Room { of } => {
                let kind = element(kind, surface);
                line(format!(
                    "{local} = {kind}(_number(lg_{}_count, {kind}, \"{name}\"))",
                    self.roles[*of].0.name
                ));
                body.given.push(("int".to_owned(), format!("{local}.value")));
                (None, format!("ctypes.byref({local})"))
            }
            Role::Number => {
                let (fits, declared) = match (&kind.shape, surface.enumeration(kind)) {
                    (Shape::Float, _) => ("_real", "float".to_owned()),
                    (_, None) if kind.is_plain_character() => ("_character", "int | str | bytes".to_owned()),
                    (_, key) => ("_number", key.map_or_else(|| integer(kind), enumeration)),
                };
                line(format!("{local} = {fits}({own}, {}, \"{name}\")", ctype(kind, surface)));
                (Some(declared), local)
            }
            Role::Structure(_) => {
                let kind = ctype(kind, surface);
                line(format!("{local} = _structure({own}, {kind}, \"{name}\")"));
                (Some(kind), local)
            }
            Role::Text | Role::Printed => {
                line(format!("{local} = _text({own}, \"{name}\")"));
                let argument =
                    if *role == Role::Printed { format!("b\"%s\", ctypes.c_char_p({local})") } else { local };
                (Some("String | None".to_owned()), argument)
            }
            Role::Slice(buffer) => {
                (Some(if buffer.writes { "Writable" } else { "Readable" }.to_owned()), local)
            }
            Role::Scalar(buffer) => {
                let pointee = kind.pointee().unwrap_or(kind);
                let raw = ctype(pointee, surface);
                let key = surface.enumeration(pointee);
                let fits = if pointee.shape == Shape::Float { "_real" } else { "_number" };
                let number = format!("{fits}({own}, {raw}, \"{name}\")");
                let first = if buffer.reads { number } else { String::new() };
                line(format!("{local} = {raw}({first})"));
                let plain = if pointee.shape == Shape::Float { "float".to_owned() } else { integer(pointee) };
                if buffer.writes {
                    body.given.push(match key {
                        Some(key) => (
                            enumeration(key),
                            format!("_enum({}, {local}.value, \"{name}\")", enumeration(key)),
                        ),
                        None => (plain.clone(), format!("{local}.value")),
                    });
                }
                let declared = buffer.reads.then(|| key.map_or(plain, enumeration));
                (declared, format!("ctypes.byref({local})"))
            }
            Role::Record(key, buffer) => {
                let kind = word(&surface.record(key));
                let plain = surface.plan.records[*key].is_plain();
                match (&buffer.size, buffer.reads) {
                    (Some(_), _) if buffer.writes => (Some("ctypes.Array".to_owned()), local),
                    (Some(_), _) => (Some(format!("Sequence[{kind}]")), local),
                    (None, true) => {
                        let raw = if plain { "" } else { "._to_raw()" };
                        line(format!("{local} = _structure({own}, {kind}, \"{name}\"){raw}"));
                        (Some(kind), format!("ctypes.byref({local})"))
                    }
                    (None, false) => {
                        let raw = if plain { kind.clone() } else { format!("_{kind}") };
                        line(format!("{local} = {raw}()"));
                        let value = if plain { local.clone() } else { format!("{kind}._of_raw({local})") };
                        body.given.push((kind, value));
                        (None, format!("ctypes.byref({local})"))
                    }
                }
            }
            Role::Kept { key, buffers, release } => {
                body.parameters.push(format!("{own}: {}", word(&surface.record(key))));
                let argument = self.kept(body, name, key, *buffers, *release);
                body.arguments.push(argument);
                return;
            }
            Role::Handle { number, release } => {
                let kind = word(&surface.handle(*number));
                line(format!("{local} = _handle({own}, {kind}, \"{name}\")"));
                if *release {
                    body.stored += &format!("        {local} = {own} and {own}._released()\n");
                    let says = self.function.result == Outcome::Value
                        && matches!(self.function.prototype.result.shape, Shape::Integer { .. });
                    let dead = if says { format!("{own} and not lg_result") } else { own.clone() };
                    let _ = write!(body.after, "        if {dead}:\n            {own}._life.ended = True\n");
                }
                (Some(if *release { kind } else { format!("{kind} | None") }), local)
            }
            Role::Replaced { number } => {
                let kind = word(&surface.handle(*number));
                line(format!("_handle({own}, {kind}, \"{name}\")"));
                body.stored += &format!("        {local} = ctypes.c_void_p({own} and {own}._released())\n");
                let _ = write!(body.after, "        if {own}:\n            {own}._life.ended = True\n");
                body.given.push((format!("{kind} | None"), format!("{kind}._given({local}.value, True)")));
                (Some(format!("{kind} | None")), format!("ctypes.byref({local})"))
            }
            Role::Place => {
                line(format!("{local} = _place({own}, \"{name}\")"));
                (Some("Text | Memory | int | None".to_owned()), local)
            }
            Role::Given(outcome) => {
                line(format!("{local} = ctypes.c_void_p()"));
                let kind = kind.pointee().unwrap_or(kind);
                let raw = format!("{local}.value");
                if let Some(given) = self.outcome(&raw, kind, outcome, name) {
                    body.given.push(self.freed(&raw, given, name));
                }
                (None, format!("ctypes.byref({local})"))
            }
            Role::Closure(callback) => {
                if !body.always.contains("lg_passing") {
                    body.before.insert_str(0, "    lg_passing: list[Callback] = []\n");
                    body.always +=
                        "        for lg_callback in lg_passing:\n            lg_callback.close()\n";
                }
                let kind = word(&surface.closure(callback));
                let handle = self.roles.iter().find(|(_, role)| matches!(role, Role::Handle { .. }));
                let handle = handle.map_or("None".to_owned(), |(parameter, _)| self.own(&parameter.name));
                let _ = writeln!(
                    body.before,
                    "    {local} = _callback({own}, {kind}, \"{name}\", lg_passing, {handle})"
                );
                (Some(format!("{kind} | Callable[..., Any] | None")), local)
            }
        };
        if let Some(declared) = declared {
            body.parameters.push(format!("{own}: {declared}"));
        }
        body.arguments.push(argument);
    }

    fn kept(&self, body: &mut Body, name: &str, key: &str, buffers: bool, release: bool) -> String {
        let record = &self.surface.plan.records[key];
        let own = self.own(name);
        let local = format!("lg_{name}");
        let _ = writeln!(
            body.before,
            "    {local} = _structure({own}, {}, \"{name}\")",
            word(&self.surface.record(key))
        );
        if buffers {
            let mut clear = String::new();
            let _ = writeln!(body.stored, "        {local}._use(lg_call, \"{name}\")");
            for (field, buffer, length) in cursors(record) {
                let name = self.own(&field.name);
                let kind = element_in(&field.kind, self.surface);
                let function = if buffer.writes { "_writing" } else { "_reading" };
                body.parameters
                    .push(format!("{name}: {}", if buffer.writes { "Writable" } else { "Readable" }));
                let of_length = record.fields.iter().find(|f| f.name == *length);
                let _ = writeln!(
                    body.before,
                    "    lg_{name}, lg_{name}_count = {function}({name}, {kind}, \"{name}\")\n    \
                     lg_{name}_count = _number(lg_{name}_count, {}, \"{name}\")",
                    of_length.map_or(String::new(), |f| ctype(&f.kind, self.surface))
                );
                let _ = writeln!(
                    body.stored,
                    "        {local}._raw.{0} = ctypes.cast(lg_{name}, ctypes.c_void_p).value\n        \
                     {local}._raw.{length} = lg_{name}_count",
                    attribute(&field.name),
                    length = attribute(length)
                );
                let _ = writeln!(clear, "            {local}._raw.{} = None", attribute(&field.name));
            }
            let _ = write!(
                body.always,
                "        if {local}._user is lg_call:\n{clear}            del {local}._user\n"
            );
        }
        if release {
            let _ = writeln!(body.always, "        {local}._ended()");
        } else if let Some(end) = self.surface.end_of(key, &self.function.name) {
            let end = symbol(end);
            let _ = writeln!(body.after, "        {local}._end = {local}._end or {end}");
        }
        format!("{local}._address()")
    }

    /// Type and value of the result, if there is any.
    fn result(&self, body: &mut Body) -> Option<(String, String)> {
        if let Outcome::Lent { size } = &self.function.result {
            body.parameters.push("contents: bytes".to_owned());
            let room = arithmetic(size, &|name, length| self.scope(name, length));
            let _ = writeln!(
                body.before,
                "    lg_contents = memoryview(contents).tobytes()\n    _enough(len(lg_contents), {room}, \"contents\")"
            );
            body.stored += "        lg_call.contents = lg_contents\n";
            body.after += "        _filled(lg_call, lg_result)\n";
            return Some(("int | None".to_owned(), "lg_result".to_owned()));
        }
        let given =
            self.outcome("lg_result", &self.function.prototype.result, &self.function.result, "result");
        given.map(|given| self.freed("lg_result", given, "result"))
    }

    /// What the client has put on the heap is copied, and freed.
    fn freed(&self, raw: &str, (kind, value): (String, String), name: &str) -> (String, String) {
        match self.function.freed.contains(name) {
            true => (kind, format!("_freed({value}, {raw})")),
            false => (kind, value),
        }
    }

    /// Type and value of what the library gives.
    fn outcome(&self, raw: &str, kind: &CType, outcome: &Outcome, what: &str) -> Option<(String, String)> {
        let surface = self.surface;
        let given = match outcome {
            Outcome::Void | Outcome::Untouched | Outcome::Data { .. } => return None,
            Outcome::Value => match (surface.enumeration(kind), &kind.shape) {
                (Some(key), _) => {
                    (enumeration(key), format!("_enum({}, {raw}, \"{what}\")", enumeration(key)))
                }
                (None, Shape::Record(_)) => (ctype(kind, surface), raw.to_owned()),
                (None, Shape::Float) => ("float".to_owned(), raw.to_owned()),
                _ => (integer(kind), raw.to_owned()),
            },
            Outcome::String { .. } => ("Text | None".to_owned(), format!("_string({raw})")),
            Outcome::Memory { .. } => {
                let kind = element(kind, surface);
                let shown = if kind == "ctypes.c_ubyte" { "Memory" } else { "list" };
                (format!("{shown} | None"), format!("_result_memory(lg_call, {raw}, {kind})"))
            }
            Outcome::Record { key, count, .. } => {
                let name = word(&surface.record(key));
                let plain = surface.plan.records[key].is_plain();
                let kind = if plain { name.clone() } else { format!("_{name}") };
                let all = format!("(_result_memory(lg_call, {raw}, {kind}) or [])");
                let all =
                    if plain { all } else { format!("[{name}._of_raw(lg_value) for lg_value in {all}]") };
                match is_single(count) {
                    true => (format!("{name} | None"), format!("next(iter({all}), None)")),
                    false => (format!("list[{name}]"), all),
                }
            }
            Outcome::Handle { number, .. } => {
                let name = word(&surface.handle(*number));
                let owned = if self.function.is_borrowed(what) { "False" } else { "True" };
                (format!("{name} | None"), format!("{name}._given({raw}, {owned})"))
            }
            Outcome::Callback { .. } => ("bool".to_owned(), format!("bool({raw})")),
            Outcome::Within { object, .. } => {
                ("int | None".to_owned(), format!("_offset({raw}, lg_{object})"))
            }
            _ => ("int | None".to_owned(), raw.to_owned()),
        };
        Some(given)
    }
}
