//! Functions that the library calls: a class for each type of callback.
use super::{SIZES, Space, abi, ctype, declared, word};
use crate::emit::binding::{Closure, Seen, Shown};
use crate::emit::template::{fill, template};
use crate::expression::Expression;

/// The class of one type of callback.
pub fn class(form: &Closure<'_>, space: &Space<'_, '_>) -> String {
    let prototype = &form.plan.prototype;
    let (kinds, values): (Vec<_>, Vec<_>) = form.seen.iter().map(|seen| write(seen, form, space)).unzip();
    let types: Vec<String> = prototype.parameters.iter().map(|p| abi(&p.kind)).collect();
    let raw = types.iter().enumerate();
    let called = form.names().join(", ");
    template!(
        "cpp/closure.hpp.in",
        OWN = form.name,
        NAME = word(&form.name),
        CALLED = if called.is_empty() { "without parameters" } else { &called },
        SIGNATURE = format!("{}({})", ctype(&prototype.result), kinds.join(", ")),
        RAW = abi(&prototype.result),
        TYPES = types.join(", "),
        DECLARED = raw
            .map(|(place, kind)| format!(", {}", declared(kind, &format!("p{place}"))))
            .collect::<String>(),
        DATA = form.data.map_or("nullptr".to_owned(), |place| format!("p{place}")),
        VALUES = values.join(", "),
    )
}

/// What a parameter is to the function: its type, and what makes it, for as long as the call.
fn write(seen: &Seen<'_>, form: &Closure<'_>, space: &Space<'_, '_>) -> (String, String) {
    let Seen { place, what, kind, shown } = seen;
    let raw = format!("p{place}");
    let operand = |name: &str, _: bool| match form.place(name) {
        Some(number) => format!("lgs::number(p{number})"),
        None => format!("lgs::number({name})"),
    };
    let count = |size: &Expression| {
        format!("lgs::counted([&] {{ return {}; }}, \"{what}\")", SIZES.write(size, &operand))
    };
    let many = match shown {
        Shown::Texts { count: given, .. } => given.map_or("std::nullopt".to_owned(), count),
        Shown::Memory { count: given, .. } => given.map_or("1".to_owned(), count),
        Shown::Handles { count: many, .. } => count(many),
        _ => String::new(),
    };
    let class = match shown {
        Shown::Handle { number, .. } | Shown::Handles { number, .. } => space.handle(*number),
        Shown::Memory { .. } => space.element(kind),
        Shown::Enumeration(key) => space.known(key, &raw, what),
        _ => String::new(),
    };
    let (written, value) = match shown {
        Shown::Number => ("@KIND@", "@RAW@"),
        Shown::Enumeration(_) => ("@KIND@", "@CLASS@"),
        Shown::Text { nullable: true } => ("const std::optional<lgs::text> &", "lgs::text_of(@RAW@)"),
        Shown::Text { .. } => ("const lgs::text &", "lgs::text_of(@RAW@).value()"),
        Shown::Texts { count: Some(_), holes: true } => {
            ("lgs::span<const std::optional<lgs::text>>", "lgs::texts_of(@RAW@, @MANY@)")
        }
        Shown::Texts { .. } => {
            ("lgs::span<const lgs::text>", "lgs::without_holes(lgs::texts_of(@RAW@, @MANY@))")
        }
        Shown::Memory { writes: true, .. } => {
            ("lgs::span<@CLASS@>", "lgs::copy_back<@CLASS@>(@RAW@, @MANY@)")
        }
        Shown::Memory { .. } => ("lgs::span<const @CLASS@>", "lgs::copy<@CLASS@>(@RAW@, @MANY@)"),
        Shown::Handle { nullable: true, .. } => {
            ("const std::optional<@CLASS@> &", "lgs::handle_of<@CLASS@>(@RAW@, false)")
        }
        Shown::Handle { .. } => ("const @CLASS@ &", "lgs::handle_of<@CLASS@>(@RAW@, false).value()"),
        Shown::Handles { .. } => ("lgs::span<const @CLASS@>", "lgs::handles_of<@CLASS@>(@RAW@, @MANY@)"),
        Shown::Place => ("lgs::place", "lgs::place(@RAW@)"),
    };
    let places = [("RAW", &*raw), ("CLASS", &class), ("MANY", &many), ("KIND", &ctype(kind))];
    (fill(written, &places), fill(value, &places))
}
