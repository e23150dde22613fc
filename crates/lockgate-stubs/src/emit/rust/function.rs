//! One function: sizes checked, the client called, everything that came back as a value.
use super::{Use, arithmetic, documentation, element, sys, type_name, word};
use crate::emit::function::{Body, Failed, prototype, says_errno};
use crate::emit::surface::{Role, Surface, cursors, is_single};
use crate::header::model::{CType, Parameter, Shape};
use crate::plan::{Buffer, FunctionPlan, Outcome, Passing};
use std::fmt::Write as _;

/// The declaration in `sys`.
pub fn declaration(function: &FunctionPlan, surface: &Surface<'_>) -> String {
    let kinds = function.prototype.parameters.iter();
    let mut parameters: Vec<String> =
        kinds.enumerate().map(|(n, p)| format!("p{n}: {}", inside(&p.kind, surface))).collect();
    if function.prototype.variadic {
        parameters.push("...".to_owned());
    }
    let result = result_type(function, surface).replace("sys::", "");
    let name = word(&function.name);
    let linked = if name == function.name {
        String::new()
    } else {
        format!("        #[link_name = {:?}]\n", function.name)
    };
    format!("{linked}        pub fn {name}({}){result};\n", parameters.join(", "))
}

/// A type as `sys` has it.
fn inside(kind: &CType, surface: &Surface<'_>) -> String {
    sys(kind, surface).trim_start_matches("sys::").to_owned()
}

/// ` -> T` of the client's function.
pub fn result_type(function: &FunctionPlan, surface: &Surface<'_>) -> String {
    match function.prototype.result.shape {
        Shape::Void => String::new(),
        _ => format!(" -> {}", sys(&function.prototype.result, surface)),
    }
}

/// The function.
pub fn function(function: &FunctionPlan, surface: &Surface<'_>) -> String {
    let mut body = Body::default();
    let roles = surface.roles(function);
    for (parameter, role) in &roles {
        let writer = Writer { function, surface, roles: &roles };
        writer.parameter(&mut body, parameter, role);
    }
    let writer = Writer { function, surface, roles: &roles };
    // Sizes, when all that they speak of is known.
    for (parameter, role) in &roles {
        writer.size(&mut body, parameter, role);
    }
    let result = writer.result(&mut body);
    let (kinds, parts, count) = body.outcome(result);
    let (kind, value) = match count {
        1 => (kinds, parts),
        _ => (format!("({kinds})"), format!("({parts})")),
    };
    let name = &function.name;
    let mut text =
        format!("\n/// `{}`\n{}", prototype(function), documentation(function.comment.as_ref(), ""));
    let lifetime = if body.parameters.iter().any(|p| p.contains("&'a ")) { "<'a>" } else { "" };
    let _ = write!(
        text,
        "pub fn {}{lifetime}({}) -> Result<{kind}, Error> {{\n{}",
        word(name),
        body.parameters.join(", "),
        body.before
    );
    let call = format!(
        "// SAFETY: the client checks what the library gives, and every size was checked above.\n        unsafe {{ sys::{}({}) }}",
        word(name),
        body.arguments.join(", ")
    );
    let made = match says_errno(function) {
        Some(failed) => {
            let failed = match failed {
                Failed::Null => "result.is_null()".to_owned(),
                Failed::Number(number) => format!("*result == {number}"),
            };
            format!("support::call_errno(|| {{\n        {call}\n    }}, |result| {failed})")
        }
        None => format!("support::call(|| {{\n        {call}\n    }})"),
    };
    let _ = write!(
        text,
        "    let lg_result = {made};\n{}    let lg_result = lg_result?;\n{}",
        body.always, body.after
    );
    let _ = write!(text, "    Ok({value})\n}}\n");
    text
}

struct Writer<'a> {
    function: &'a FunctionPlan,
    surface: &'a Surface<'a>,
    roles: &'a [(&'a Parameter, Role<'a>)],
}

impl Writer<'_> {
    /// What stands for a name of the header in a size.
    fn scope(&self, name: &str, used: Use) -> String {
        let Some((parameter, role)) = self.roles.iter().find(|(parameter, _)| parameter.name == name) else {
            return format!("({} as i128)", word(name));
        };
        let own = word(name);
        match (role, used) {
            (Role::Text, Use::Length) => {
                format!("lg_{name}.as_ref().map_or(0, |text| text.as_bytes().len() as i128)")
            }
            (Role::Slice(_), Use::Length) => format!("support::strlen({own})?"),
            (Role::Length { .. } | Role::Room { .. }, _) => format!("(lg_{name} as i128)"),
            _ if self.surface.enumeration(&parameter.kind).is_some() => format!("({own} as i64 as i128)"),
            _ => format!("({own} as i128)"),
        }
    }

    fn is_data(&self, name: &str) -> bool {
        let parameters = self.function.prototype.parameters.iter().zip(&self.function.parameters);
        parameters.filter(|(p, _)| p.name == name).any(|(_, p)| matches!(p, Passing::Data { .. }))
    }

    /// The closure with which the user data of this function comes back: the only one that it takes.
    fn told_apart(&self) -> Option<&str> {
        let data = self.function.parameters.iter().filter(|p| matches!(p, Passing::Data { .. })).count();
        let mut closures = self.roles.iter().filter(|(_, role)| matches!(role, Role::Closure(_)));
        match (closures.next(), closures.next()) {
            (Some((closure, _)), None) if data == 1 => Some(&closure.name),
            _ => None,
        }
    }

    fn has_handle(&self) -> bool {
        self.roles.iter().any(|(_, role)| matches!(role, Role::Handle { .. } | Role::Replaced { .. }))
    }

    fn size(&self, body: &mut Body, parameter: &Parameter, role: &Role<'_>) {
        let (Role::Slice(buffer) | Role::Record(_, buffer)) = role else { return };
        let Some(size) = &buffer.size else { return };
        let name = &parameter.name;
        // Whose length is passed, is as long as that.
        let counts = |(_, role): &(&Parameter, Role<'_>)| match role {
            Role::Length { of } | Role::Room { of } => self.roles[*of].0.name == *name,
            _ => false,
        };
        if !self.roles.iter().any(counts) {
            let needed = arithmetic(size, &|name, used| self.scope(name, used));
            let _ = writeln!(
                body.before,
                "    support::enough((|| -> Option<i128> {{ Some({needed}) }})(), {}.len(), \"{name}\")?;",
                word(name)
            );
        }
    }

    fn parameter(&self, body: &mut Body, parameter: &Parameter, role: &Role<'_>) {
        let surface = self.surface;
        let name = &parameter.name;
        let own = word(name);
        let local = format!("lg_{name}");
        let kind = &parameter.kind;
        let number = |kind: &CType| match surface.enumeration(kind) {
            Some(key) => type_name(key),
            None => sys(kind, surface),
        };
        let argument = match role {
            // A closure's own number: what the library gives back with its calls.
            Role::Zero if self.is_data(name) && self.told_apart().is_some() => {
                let closure = self.told_apart().unwrap_or_default();
                format!("lg_{closure}.map_or(null_mut(), |closure| closure.0.data())")
            }
            Role::Zero if kind.pointee().is_some() || matches!(kind.shape, Shape::Function(_)) => {
                "null_mut()".to_owned()
            }
            // (Functions with what has no form are left out.)
            Role::Zero | Role::None(_) => "0 as _".to_owned(),
            Role::Length { of } => {
                let buffer = word(&self.roles[*of].0.name);
                let _ = writeln!(
                    body.before,
                    "    let {local}: {} = support::length({buffer}.len(), \"{name}\")?;",
                    sys(kind, surface)
                );
                local
            }
            Role::Room { of } => {
                let buffer = word(&self.roles[*of].0.name);
                let kind = element(kind, surface);
                let _ = writeln!(
                    body.before,
                    "    let mut {local}: {kind} = support::length({buffer}.len(), \"{name}\")?;"
                );
                body.given.push((kind, local.clone()));
                format!("(&raw mut {local}).cast()")
            }
            Role::Number => {
                body.parameters.push(format!("{own}: {}", number(kind)));
                if surface.enumeration(kind).is_some() { format!("{own} as _") } else { own }
            }
            Role::Structure(_) => {
                body.parameters.push(format!("{own}: {}", sys(kind, surface)));
                own
            }
            Role::Text | Role::Printed => {
                body.parameters.push(format!("{own}: impl IntoText"));
                let _ = writeln!(body.before, "    let {local} = {own}.into_text()?;");
                let pointer = format!("support::pointer(&{local}).cast_mut().cast()");
                if *role == Role::Printed {
                    format!("c\"%s\".as_ptr().cast_mut().cast(), {pointer} as *mut c_char")
                } else {
                    pointer
                }
            }
            Role::Slice(buffer) => {
                let kind = element(kind, surface);
                let mutable = if buffer.writes { "mut " } else { "" };
                body.parameters.push(format!("{own}: &{mutable}[{kind}]"));
                if buffer.writes {
                    format!("{own}.as_mut_ptr().cast()")
                } else {
                    format!("{own}.as_ptr().cast_mut().cast()")
                }
            }
            Role::Scalar(buffer) => self.scalar(body, parameter, buffer),
            Role::Record(key, buffer) => self.record(body, parameter, key, buffer),
            Role::Kept { key, buffers, release } => self.kept(body, parameter, key, *buffers, *release),
            Role::Handle { number, release: true } => {
                body.parameters.push(format!("{own}: {}", type_name(&surface.handle(*number))));
                let _ = writeln!(body.before, "    let {local} = {own}.into_raw();");
                local
            }
            Role::Handle { number, .. } => {
                body.parameters
                    .push(format!("{own}: impl Into<Option<&'a {}>>", type_name(&surface.handle(*number))));
                let _ = writeln!(
                    body.before,
                    "    let {local} = {own}.into().map_or(null_mut(), |handle| handle.raw);"
                );
                local
            }
            Role::Replaced { number } => {
                let kind = type_name(&surface.handle(*number));
                body.parameters.push(format!("{own}: impl Into<Option<{kind}>>"));
                let _ = writeln!(
                    body.before,
                    "    let mut {local} = {own}.into().map_or(null_mut(), {kind}::into_raw);"
                );
                body.given.push((format!("Option<{kind}>"), format!("{kind}::given({local}, true)")));
                format!("(&raw mut {local}).cast()")
            }
            Role::Place => {
                body.parameters.push(format!("{own}: impl Into<Place>"));
                format!("{own}.into().0")
            }
            Role::Given(outcome) => {
                let _ = writeln!(body.before, "    let mut {local}: *mut c_void = null_mut();");
                let kind = kind.pointee().unwrap_or(kind);
                if let Some(given) = self.outcome(&local, kind, outcome, name) {
                    body.given.push(self.freed(&local, given, name));
                }
                format!("(&raw mut {local}).cast()")
            }
            Role::Closure(callback) => {
                let kind = type_name(&surface.closure(callback));
                body.parameters.push(format!("{own}: impl Into<Option<&'a {kind}>>"));
                let _ = writeln!(body.before, "    let {local}: Option<&{kind}> = {own}.into();");
                let with = match (self.told_apart(), self.has_handle()) {
                    (Some(_), _) => "Data",
                    (None, true) => "Handle",
                    (None, false) => "Nothing",
                };
                format!("{local}.map_or(null_mut(), |closure| closure.pointer(support::With::{with}))")
            }
        };
        let argument = hoisted(body, &argument, name);
        body.arguments.push(argument);
    }

    fn scalar(&self, body: &mut Body, parameter: &Parameter, buffer: &Buffer) -> String {
        let (name, own) = (&parameter.name, word(&parameter.name));
        let pointee = parameter.kind.pointee().unwrap_or(&parameter.kind);
        let raw = sys(pointee, self.surface);
        let enumeration = self.surface.enumeration(pointee).map(type_name);
        let first = if buffer.reads {
            body.parameters.push(format!("{own}: {}", enumeration.as_ref().unwrap_or(&raw)));
            if enumeration.is_some() { format!("{own} as {raw}") } else { own }
        } else {
            format!("0 as {raw}")
        };
        let _ = writeln!(body.before, "    let mut lg_{name}: {raw} = {first};");
        if buffer.writes {
            let given = match enumeration {
                Some(kind) => (kind.clone(), format!("{kind}::of(lg_{name}.into(), \"{name}\")?")),
                None => (raw, format!("lg_{name}")),
            };
            body.given.push(given);
        }
        format!("(&raw mut lg_{name}).cast()")
    }

    fn record(&self, body: &mut Body, parameter: &Parameter, key: &str, buffer: &Buffer) -> String {
        let (name, own) = (&parameter.name, word(&parameter.name));
        let kind = type_name(&self.surface.record(key));
        let plain = self.surface.plan.records[key].is_plain();
        match (&buffer.size, buffer.reads, buffer.writes) {
            (Some(_), _, writes) => {
                body.parameters.push(format!("{own}: &{}[{kind}]", if writes { "mut " } else { "" }));
                if writes {
                    format!("{own}.as_mut_ptr().cast()")
                } else {
                    format!("{own}.as_ptr().cast_mut().cast()")
                }
            }
            (None, false, _) => {
                let (first, value) = if plain {
                    (format!("{kind}::default()"), format!("lg_{name}"))
                } else {
                    (format!("{kind}::default().raw()"), format!("{kind}::from_raw(&lg_{name})"))
                };
                let _ = writeln!(body.before, "    let mut lg_{name} = {first};");
                body.given.push((kind, value));
                format!("(&raw mut lg_{name}).cast()")
            }
            (None, true, true) => {
                body.parameters.push(format!("{own}: &mut {kind}"));
                format!("std::ptr::from_mut({own}).cast()")
            }
            (None, true, false) => {
                body.parameters.push(format!("{own}: &{kind}"));
                if plain {
                    format!("std::ptr::from_ref({own}).cast_mut().cast()")
                } else {
                    let _ = writeln!(body.before, "    let mut lg_{name} = {own}.raw();");
                    format!("(&raw mut lg_{name}).cast()")
                }
            }
        }
    }

    fn kept(
        &self,
        body: &mut Body,
        parameter: &Parameter,
        key: &str,
        buffers: bool,
        release: bool,
    ) -> String {
        let own = word(&parameter.name);
        let record = &self.surface.plan.records[key];
        body.parameters.push(format!("{own}: &mut {}", type_name(&self.surface.record(key))));
        if buffers {
            for (field, buffer, length) in cursors(record) {
                let (field_name, length) = (word(&field.name), word(length));
                let mutable = if buffer.writes { "mut " } else { "" };
                let kind = element(&field.kind, self.surface);
                body.parameters.push(format!("{field_name}: &{mutable}[{kind}]"));
                let pointer = if buffer.writes { "as_mut_ptr()" } else { "as_ptr().cast_mut()" };
                let _ = writeln!(
                    body.before,
                    "    {own}.raw.{length} = support::length({field_name}.len(), \"{field_name}\")?;\n    {own}.raw.{field_name} = {field_name}.{pointer}.cast();"
                );
            }
            let _ = writeln!(body.always, "    {own}.without_buffers();");
        }
        let _ = writeln!(body.before, "    {own}.used = true;");
        if release {
            let _ = writeln!(body.always, "    {own}.end = None;\n    {own}.used = false;");
        } else if let Some(end) = self.surface.end_of(key, &self.function.name) {
            let _ = writeln!(
                body.after,
                "    // SAFETY: the client looks the structure up by its address.\n    {own}.end.get_or_insert(|raw| drop(support::call(|| unsafe {{ sys::{end}(raw) }})));",
                end = word(end)
            );
        }
        format!("(&raw mut *{own}.raw).cast()")
    }

    /// Type and value of the result, if there is any.
    fn result(&self, body: &mut Body) -> Option<(String, String)> {
        let function = self.function;
        let kind = &function.prototype.result;
        if let Outcome::Lent { size } = &function.result {
            body.parameters.push("contents: &[u8]".to_owned());
            let room = arithmetic(size, &|name, used| self.scope(name, used));
            let _ = writeln!(
                body.before,
                "    let lg_room = (|| -> Option<i128> {{ Some({room}) }})();\n    if lg_room.is_none_or(|room| contents.len() as i128 > room) {{\n        \
                 return Err(Error::new(ErrorKind::Size, \"contents\", \"there is less room\"));\n    }}"
            );
            let _ = writeln!(body.before, "    let lg_filling = support::Filling::with(contents);");
            body.after += "    if !lg_result.is_null() {\n        lg_filling.is_in()?;\n    }\n";
            return Some((
                "Option<Place>".to_owned(),
                "(!lg_result.is_null()).then_some(Place(lg_result))".to_owned(),
            ));
        }
        let given = self.outcome("lg_result", kind, &function.result, "result");
        given.map(|given| self.freed("lg_result", given, "result"))
    }

    /// What the client has put on the heap is copied, and freed.
    fn freed(&self, raw: &str, (kind, value): (String, String), name: &str) -> (String, String) {
        if !self.function.freed.contains(name) {
            return (kind, value);
        }
        let free = format!(
            "{{\n        let lg_copy = {value};\n        // SAFETY: the client has given it to be freed; nobody else has it.\n        \
             unsafe {{ support::free({raw}.cast()) }};\n        lg_copy\n    }}"
        );
        (kind, free)
    }

    /// Type and value of what the library gives.
    fn outcome(&self, raw: &str, kind: &CType, outcome: &Outcome, what: &str) -> Option<(String, String)> {
        let surface = self.surface;
        let given = match outcome {
            Outcome::Void | Outcome::Untouched | Outcome::Data { .. } => return None,
            Outcome::Value => match surface.enumeration(kind) {
                Some(key) => {
                    let name = type_name(key);
                    (name.clone(), format!("{name}::of({raw}.into(), \"{what}\")?"))
                }
                None => (sys(kind, surface), raw.to_owned()),
            },
            Outcome::String { .. } => ("Option<Text>".to_owned(), format!("support::text({raw}.cast())")),
            Outcome::Memory { .. } => {
                let kind = element(kind, surface);
                let value = format!(
                    "{{\n        // SAFETY: the result of the call.\n        unsafe {{ support::memory::<{kind}>({raw}.cast()) }}\n    }}"
                );
                (format!("Option<Memory<{kind}>>"), value)
            }
            Outcome::Record { key, count, .. } => {
                let name = type_name(&surface.record(key));
                let plain = surface.plan.records[key].is_plain();
                let one = is_single(count);
                let raw_type = if plain { name.clone() } else { format!("sys::{name}") };
                let count = if one { "1".to_owned() } else { format!("support::given_of::<{raw_type}>()") };
                let convert = if plain { "*value".to_owned() } else { format!("{name}::from_raw(value)") };
                let all = format!(
                    "{{\n        let values: *const {raw_type} = {raw}.cast();\n        let count = if values.is_null() {{ 0 }} else {{ {count} }};\n        \
                     // SAFETY: the client has copied so many there.\n        \
                     (0..count).map(|number| {{ let value = &unsafe {{ values.add(number).read_unaligned() }}; {convert} }})"
                );
                match one {
                    true => (format!("Option<{name}>"), format!("{all}.next()\n    }}")),
                    false => (format!("Vec<{name}>"), format!("{all}.collect::<Vec<_>>()\n    }}")),
                }
            }
            Outcome::Handle { number, .. } => {
                let name = type_name(&surface.handle(*number));
                (
                    format!("Option<{name}>"),
                    format!("{name}::given({raw}, {})", !self.function.is_borrowed(what)),
                )
            }
            Outcome::Callback { .. } => ("bool".to_owned(), format!("!{raw}.is_null()")),
            Outcome::Within { object, .. } => {
                let object_role = self.roles.iter().find(|(parameter, _)| parameter.name == *object);
                let start = match object_role {
                    Some((_, Role::Text | Role::Printed)) => format!("support::pointer(&lg_{object})"),
                    _ => format!("{}.as_ptr()", word(object)),
                };
                ("Option<usize>".to_owned(), format!("support::offset({raw}.cast(), {start}.cast())"))
            }
            _ => ("Option<Place>".to_owned(), format!("(!{raw}.is_null()).then_some(Place({raw}))")),
        };
        Some(given)
    }
}

/// An argument with what consumes the caller's taken out of the call.
fn hoisted(body: &mut Body, argument: &str, name: &str) -> String {
    if !argument.contains(".into()") {
        return argument.to_owned();
    }
    let _ = writeln!(body.before, "    let lg_{name} = {argument};");
    format!("lg_{name}")
}
