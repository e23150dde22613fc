//! Enumerations, handles, structures with pointers. All else is C's own.
use super::function::result_name;
use super::{Space, ctype, qualified, word};
use crate::emit::binding::surface::cursors;
use crate::emit::binding::{Member, members};
use crate::emit::template::template;
use crate::header::model::Shape;
use crate::plan::{Plan, RecordPlan};
use std::collections::BTreeSet;

/// All types of the namespace.
pub fn all(space: &Space<'_, '_>) -> String {
    let surface = space.surface;
    let mut text = String::new();
    for key in surface.enumerations() {
        let values: BTreeSet<i128> = surface.plan.enumerations[key].iter().map(|(_, value)| *value).collect();
        let case =
            |value: &i128| format!("case {}u:\n", i64::try_from(*value).map_or(*value as u64, |v| v as u64));
        text += &template!(
            "cpp/enumeration.hpp.in",
            KEY = key,
            KIND = space.enumeration(key),
            HEAD = space.known(key, "std::uint64_t value", "").replace(", \"\"", ", const char *what"),
            CASES = values.iter().map(case).collect::<String>(),
        );
    }
    for number in 1..=surface.plan.handles.len() {
        let own = surface.handle(number);
        let release = surface.release_of(number);
        let end = release.map(|release| template!("cpp/end.hpp.in", OWN = own, RELEASE = release));
        text += &template!(
            "cpp/handle.hpp.in",
            OWN = own,
            NAME = word(&own),
            END = surface.end_said(number, "When it is destroyed, "),
            DEFINED = end.clone().unwrap_or_default(),
            FUNCTION = end.map_or("nullptr".to_owned(), |_| format!("lg_end_{own}")),
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
    let results = results.map(|function| result_name(function));
    handles.chain(records).chain(callbacks).chain(results).map(|name| word(&name)).collect()
}

/// Names that the header gives to something of its own.
pub fn globals(plan: &Plan) -> BTreeSet<String> {
    let functions = plan.functions.iter().map(|f| &f.name).chain(plan.left_out.iter().map(|left| &left.name));
    let types = plan.records.values().map(|record| &record.spelling).chain(&plan.handles);
    let types =
        types.chain(plan.enumerations.keys()).map(|name| name.rsplit(' ').next().unwrap_or(name).to_owned());
    functions.chain(plan.constants.iter().map(|(name, _)| name)).cloned().chain(types).collect()
}

/// A structure with strings.
fn structure(key: &str, record: &RecordPlan, space: &Space<'_, '_>) -> String {
    let (mut fields, mut into, mut from) = (String::new(), String::new(), String::new());
    let raw = qualified(&record.spelling);
    let scope = raw.rsplit(' ').next().unwrap_or_default();
    for Member { field, goes_in, is_text } in members(record) {
        let own = &field.name;
        let place = format!("offsetof({raw}, {own})");
        if is_text {
            fields += &format!("std::optional<std::string> {own};\n");
            from += &format!("own.{own} = lgs::string_of(raw.{own});\n");
            into += &match goes_in {
                true => format!("raw.{own} = lgs::pointer(lgs::text_in({own}).lg_pointer(\"{own}\"));\n"),
                false => String::new(),
            };
        } else {
            fields += &format!("decltype({scope}::{own}) {own}{{}};\n");
            from += &format!("lgs::take(&raw, {place}, own.{own});\n");
            into += &format!("lgs::put(&raw, {place}, {own});\n");
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
        let (kind, value) = match is_text {
            true => ("std::optional<lgs::text>".to_owned(), format!("lgs::text_of(lg_record().{own})")),
            false if matches!(field.kind.shape, Shape::Array(..)) => return String::new(),
            false => (ctype(&field.kind), format!("lg_record().{own}")),
        };
        format!("{kind} {own}() const {{ return {value}; }}\n")
    };
    let clear =
        cursors(record).into_iter().map(|cursor| format!("lg_record().{} = nullptr;\n", cursor.field.name));
    template!(
        "cpp/kept.hpp.in",
        KEY = key,
        NAME = word(&space.surface.record(key)),
        RAW = qualified(&record.spelling),
        GETTERS = members(record).map(getter).collect::<String>(),
        CLEAR = clear.collect::<String>(),
    )
}
