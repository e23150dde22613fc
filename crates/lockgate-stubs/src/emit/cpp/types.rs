//! Enumerations, handles, structures with pointers, functions that the library calls. All else is C's own.
use super::{Space, abi, ctype, declared, member, word};
use crate::emit::binding::surface::cursors;
use crate::emit::binding::table::seen;
use crate::emit::binding::types::{Type, What};
use crate::emit::binding::{Closure, Member, members};
use crate::emit::template::{code, row, template};
use crate::header::model::Shape;
use crate::plan::RecordPlan;

/// What is declared for a type.
pub fn declaration(kind: &Type<'_>, space: &Space<'_, '_>) -> String {
    let name = word(&kind.name);
    match &kind.what {
        What::Enumeration(key, values) => {
            let values: Vec<String> = values.iter().map(|(own, _)| format!("::{own}")).collect();
            let (list, first, all) = (space.values(key), &values[0], values.join(", "));
            template!("cpp/values.hpp.in", KEY = key, FIRST = first, LIST = list, ALL = all)
        }
        What::Handle(number) => {
            let end = space.surface.release_of(*number);
            template!(
                "cpp/handle.hpp.in",
                OWN = kind.name,
                NAME = name,
                SAID = space.surface.end_said(*number, "When it is destroyed, "),
                ENDS = if end.is_some() { "true" } else { "false" },
                END =
                    end.map_or_else(String::new, |end| format!("return ::{}(lgs::pointer(raw));", end.name)),
            )
        }
        What::Plain(..) => String::new(),
        What::Texts(key, record) => structure(&name, key, record, space),
        What::Kept(key, record) => kept_structure(&name, key, record, space),
        What::Closure(form) => closure(&name, form, space),
    }
}

/// A structure with strings.
fn structure(name: &str, key: &str, record: &RecordPlan, space: &Space<'_, '_>) -> String {
    let (mut fields, mut into, mut from) = (String::new(), String::new(), String::new());
    let raw = space.raw_record(key);
    let scope = raw.rsplit(' ').next().unwrap_or_default();
    for Member { field, goes_in, is_text } in members(record) {
        let (own, seen) = (&field.name, member(name, &field.name));
        fields += &match is_text {
            true => row(format!("std::optional<std::string> {seen};")),
            false => row(code!("decltype(@SCOPE@::@OWN@) @SEEN@{};", SCOPE = scope, OWN = own, SEEN = seen)),
        };
        from += &row(format!("lgs::take(&raw, offsetof({raw}, {own}), own.{seen});"));
        if goes_in {
            into += &row(format!(r#"lgs::put(&raw, offsetof({raw}, {own}), {seen}, "{own}");"#));
        }
    }
    template!(
        "cpp/structure.hpp.in",
        KEY = key,
        NAME = name,
        RAW = raw,
        FIELDS = fields,
        INTO = into,
        FROM = from
    )
}

/// A structure that the library remembers.
fn kept_structure(name: &str, key: &str, record: &RecordPlan, space: &Space<'_, '_>) -> String {
    let getter = |Member { field, is_text, .. }: Member<'_>| {
        let (own, seen) = (&field.name, member(name, &field.name));
        match (is_text, &field.kind.shape) {
            (true, _) => template!("cpp/getter_text.hpp.in", NAME = seen, FIELD = own),
            (false, Shape::Array(..)) => String::new(),
            (false, _) => {
                template!("cpp/getter.hpp.in", KIND = ctype(&field.kind), NAME = seen, FIELD = own)
            }
        }
    };
    let clear = cursors(record).into_iter().map(|own| row(format!("raw.{} = nullptr;", own.field.name)));
    template!(
        "cpp/kept.hpp.in",
        KEY = key,
        NAME = name,
        RAW = space.raw_record(key),
        GETTERS = members(record).map(getter).collect::<String>(),
        CLEAR = clear.collect::<String>(),
    )
}

/// The class of one type of callback.
fn closure(name: &str, form: &Closure<'_>, space: &Space<'_, '_>) -> String {
    let prototype = &form.plan.prototype;
    let (kinds, values): (Vec<_>, Vec<_>) = seen(form, space).into_iter().unzip();
    let types: Vec<String> = prototype.parameters.iter().map(|p| abi(&p.kind)).collect();
    let raw = types.iter().enumerate();
    let called = form.names().join(", ");
    template!(
        "cpp/closure.hpp.in",
        OWN = form.name,
        NAME = name,
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
