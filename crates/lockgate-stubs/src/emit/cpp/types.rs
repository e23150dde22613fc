//! Enumerations, handles, structures with pointers. All else is C's own.
use super::function::result_name;
use super::{Space, ctype, word};
use crate::emit::binding::surface::cursors;
use crate::emit::binding::{Member, members};
use crate::emit::template::template;
use crate::header::model::Shape;
use crate::plan::RecordPlan;

/// All types of the namespace.
pub fn all(space: &Space<'_, '_>) -> String {
    let surface = space.surface;
    let mut text = String::new();
    for key in surface.enumerations() {
        let values: Vec<String> =
            surface.plan.enumerations[key].iter().map(|(own, _)| format!("::{own}")).collect();
        let (list, first, all) = (space.list(key), &values[0], values.join(", "));
        text += &format!("\n// `{key}`\ninline constexpr decltype({first}) {list}[] = {{{all}}};\n");
    }
    for number in 1..=surface.plan.handles.len() {
        let own = surface.handle(number);
        let end = surface.release_of(number).map(|release| format!("::{release}(lgs::pointer(raw));"));
        text += &template!(
            "cpp/handle.hpp.in",
            OWN = own,
            NAME = word(&own),
            SAID = surface.end_said(number, "When it is destroyed, "),
            ENDS = if end.is_some() { "true" } else { "false" },
            END = end.unwrap_or_default(),
        );
    }
    let kept = surface.kept();
    for key in surface.used() {
        let record = &surface.plan.records[key];
        match (kept.contains(key), record.is_plain()) {
            (true, _) => text += &kept_structure(key, record, space),
            (false, false) => text += &structure(key, record, space),
            (false, true) => {}
        }
    }
    text
}

/// Names of all classes of the namespace.
pub fn names(space: &Space<'_, '_>) -> Vec<String> {
    let surface = space.surface;
    let kept = surface.kept();
    let is_class = |key: &&str| kept.contains(key) || !surface.plan.records[*key].is_plain();
    let handles = (1..=surface.plan.handles.len()).map(|number| surface.handle(number));
    let records = surface.used().into_iter().filter(is_class).map(|key| surface.record(key));
    let callbacks = surface.callbacks().into_iter().map(|callback| surface.closure_name(&callback.name));
    let results = surface.functions.iter().filter(|function| surface.function(function).gives() > 1);
    let all = handles.chain(records).chain(callbacks).map(|name| word(&name));
    all.chain(results.map(|function| result_name(function))).collect()
}

/// A structure with strings.
fn structure(key: &str, record: &RecordPlan, space: &Space<'_, '_>) -> String {
    let (mut fields, mut into, mut from) = (String::new(), String::new(), String::new());
    let raw = space.raw(key);
    let scope = raw.rsplit(' ').next().unwrap_or_default();
    for Member { field, goes_in, is_text } in members(record) {
        let own = &field.name;
        fields += &match is_text {
            true => format!("std::optional<std::string> {own};\n"),
            false => format!("decltype({scope}::{own}) {own}{{}};\n"),
        };
        from += &format!("lgs::take(&raw, offsetof({raw}, {own}), own.{own});\n");
        if goes_in {
            into += &format!("lgs::put(&raw, offsetof({raw}, {own}), {own}, \"{own}\");\n");
        }
    }
    let name = word(&space.surface.record(key));
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
fn kept_structure(key: &str, record: &RecordPlan, space: &Space<'_, '_>) -> String {
    let getter = |Member { field, is_text, .. }: Member<'_>| {
        let own = &field.name;
        match (is_text, &field.kind.shape) {
            (true, _) => template!("cpp/getter_text.hpp.in", NAME = own),
            (false, Shape::Array(..)) => String::new(),
            (false, _) => template!("cpp/getter.hpp.in", KIND = ctype(&field.kind), NAME = own),
        }
    };
    let clear = cursors(record).into_iter().map(|own| format!("lg_record().{} = nullptr;\n", own.field.name));
    template!(
        "cpp/kept.hpp.in",
        KEY = key,
        NAME = word(&space.surface.record(key)),
        RAW = space.raw(key),
        GETTERS = members(record).map(getter).collect::<String>(),
        CLEAR = clear.collect::<String>(),
    )
}
