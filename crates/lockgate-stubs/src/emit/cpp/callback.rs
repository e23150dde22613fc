//! Functions that the library calls: a class for each type of callback.
use super::{Exact, Space, abi, ctype, word};
use crate::emit::binding::arithmetic::Arithmetic;
use crate::emit::binding::{Closure, Seen, Shown};
use crate::emit::template::template;
use crate::expression::Expression;

/// What a parameter is to the function: its type, statements before the call, its value, statements behind it.
type Written = (String, String, String, String);

/// The class of one type of callback.
pub fn class(form: &Closure<'_>, space: &Space<'_, '_>) -> String {
    let prototype = &form.plan.prototype;
    let written: Vec<Written> = form.seen.iter().map(|seen| write(seen, form, space)).collect();
    let all = |part: fn(&Written) -> &str| written.iter().map(part).collect::<Vec<&str>>();
    let types: Vec<String> = prototype.parameters.iter().map(|p| abi(&p.kind)).collect();
    let declared = types.iter().enumerate().map(|(number, kind)| format!(", {kind} p{number}"));
    let raw = abi(&prototype.result);
    let result = match (&prototype.result.shape, form.result) {
        (_, Some(key)) => space.enumeration(key),
        _ => ctype(&prototype.result),
    };
    let call = format!("lgs_function({})", all(|written| &written.2).join(", "));
    let void = raw == "void";
    template!(
        "cpp/closure.hpp.in",
        OWN = form.name,
        NAME = word(&form.name),
        CALLED = if form.seen.is_empty() { "without parameters".to_owned() } else { form.names().join(", ") },
        SIGNATURE = format!("{result}({})", all(|written| &written.0).join(", ")),
        RAW = format!("{raw}({})", types.join(", ")),
        RESULT = raw,
        DECLARED = declared.collect::<String>(),
        DATA = form.data.map_or("nullptr".to_owned(), |place| format!("p{place}")),
        BEFORE = all(|written| &written.1).concat(),
        CALL = if void { format!("{call};") } else { format!("auto lgs_result = {call};") },
        AFTER = all(|written| &written.3).concat(),
        BACK = if void { String::new() } else { format!("return static_cast<{raw}>(lgs_result);") },
    )
}

fn write(seen: &Seen<'_>, form: &Closure<'_>, space: &Space<'_, '_>) -> Written {
    let Seen { place, what, kind, shown } = seen;
    let (raw, local) = (format!("p{place}"), format!("lg_p{place}"));
    let operand = |name: &str, _: bool| match form.place(name) {
        Some(number) => format!("lgs::number(p{number})"),
        None => format!("lgs::number({name})"),
    };
    let count = |size: &Expression| {
        format!("lgs::counted([&] {{ return {}; }}, \"{what}\")", Exact(&operand).write(size))
    };
    let declare = |value: String| format!("auto {local} = {value};\n");
    let (kind, before, value) = match shown {
        Shown::Number => (ctype(kind), String::new(), raw.clone()),
        Shown::Enumeration(key) => (
            space.enumeration(key),
            String::new(),
            space.known(key, &format!("static_cast<std::uint64_t>({raw})"), what),
        ),
        Shown::Text { nullable } => {
            let before = declare(format!("lgs::text_of({raw})"));
            match nullable {
                true => ("const std::optional<lgs::text> &".to_owned(), before, local.clone()),
                false => ("const lgs::text &".to_owned(), before, format!("{local}.value()")),
            }
        }
        Shown::Texts { count: given, holes } => {
            let all = format!("lgs::texts_of({raw}, {})", given.map_or("std::nullopt".to_owned(), count));
            match given.is_some() && *holes {
                true => ("lgs::span<const std::optional<lgs::text>>".to_owned(), declare(all), local.clone()),
                false => (
                    "lgs::span<const lgs::text>".to_owned(),
                    declare(format!("lgs::without_holes({all})")),
                    local.clone(),
                ),
            }
        }
        Shown::Memory { count: given, writes } => {
            let element = space.element(kind);
            let many = given.map_or("1".to_owned(), count);
            let constant = if *writes { "" } else { "const " };
            let before = declare(format!("lgs::copy<{element}>({raw}, {many})"));
            (format!("lgs::span<{constant}{element}>"), before, local.clone())
        }
        Shown::Handle { number, nullable } => {
            let before = declare(format!("lgs::handle_of<{}>({raw}, false)", space.handle(*number)));
            let name = space.handle(*number);
            match nullable {
                true => (format!("const std::optional<{name}> &"), before, local.clone()),
                false => (format!("const {name} &"), before, format!("{local}.value()")),
            }
        }
        Shown::Handles { number, count: many } => {
            let name = space.handle(*number);
            (
                format!("lgs::span<const {name}>"),
                declare(format!("lgs::handles_of<{name}>({raw}, {})", count(many))),
                local.clone(),
            )
        }
        Shown::Place => ("lgs::place".to_owned(), String::new(), format!("lgs::place({raw})")),
    };
    let after = match shown {
        Shown::Memory { writes: true, .. } => format!("{local}.back({raw});\n"),
        _ => String::new(),
    };
    (kind, before, value, after)
}
