//! Enumerations, handles, structures, functions that the library calls.
use super::{attribute, closure, ctype, symbol, word};
use crate::emit::binding::layout::gaps;
use crate::emit::binding::surface::{Surface, cursors};
use crate::emit::binding::types::{Type, What};
use crate::emit::binding::{Cursor, Member, members};
use crate::emit::template::{row, template};
use crate::header::model::Shape;
use crate::plan::{FieldPlan, Passing, RecordPlan};

/// What is declared for a type.
pub fn declaration(kind: &Type<'_>, surface: &Surface<'_>) -> String {
    let name = &kind.name;
    match &kind.what {
        What::Enumeration(key, values) => {
            let value = |(name, value): &(String, i128)| row(format!("{} = {value}", attribute(name)));
            let values: String = values.iter().map(value).collect();
            template!("python/enumeration.py.in", NAME = word(name), KEY = key, VALUES = values)
        }
        What::Handle(number) => {
            let end = surface.end_said(*number, "");
            template!("python/handle.py.in", CLASS = word(name), NAME = name, END = end)
        }
        What::Plain(key, record) => structure(&word(name), "_Structure", key, record, surface),
        What::Texts(key, record) => {
            let raw = structure(&super::raw(name), "_Structure", key, record, surface);
            raw + &class(name, key, record)
        }
        What::Kept(key, record) => {
            // (What a call leaves in one that is kept is cleared in a single step, by nothing of Python's.)
            let raw = structure(&super::raw(name), "ctypes.Structure", key, record, surface);
            raw + &kept_class(name, key, record)
        }
        What::Closure(form) => closure::class(form, surface),
    }
}

/// Functions that end handles, when they are known.
pub fn ends(surface: &Surface<'_>) -> String {
    let end = |number: usize| {
        let release = surface.release_of(number)?;
        Some(row(format!("{}._end = {}", word(&surface.handle(number)), symbol(&release.name))))
    };
    let ends = (1..=surface.plan.handles.len()).filter_map(end);
    [row("")].into_iter().chain(ends).collect()
}

/// A structure as C has it.
fn structure(name: &str, base: &str, key: &str, record: &RecordPlan, surface: &Surface<'_>) -> String {
    let field = |(name, kind): (&str, String)| row(format!(r#"("{name}", {kind}),"#));
    let gaps = gaps(record, surface.plan);
    let gap = |number: usize| match gaps.as_ref().and_then(|gaps| gaps.get(number)) {
        None | Some(0) => String::new(),
        Some(bytes) => field((&format!("_lg_gap{number}"), format!("ctypes.c_ubyte * {bytes}"))),
    };
    let mut fields = String::new();
    for (number, own) in record.fields.iter().enumerate() {
        fields += &gap(number);
        fields += &field((&attribute(&own.name), ctype(&own.kind, surface)));
    }
    match &*record.fields {
        [] => fields = field(("bytes", format!("ctypes.c_ubyte * {}", record.size))),
        all => fields += &gap(all.len()),
    }
    let place = |field: &FieldPlan| {
        let own = attribute(&field.name);
        row(format!("assert {name}.{own}.offset == {}", field.offset))
    };
    template!(
        "python/structure.py.in",
        NAME = name,
        BASE = base,
        KEY = key,
        PACKED = if gaps.is_some() { template!("python/packed.py.in") } else { String::new() },
        FIELDS = fields,
        SIZE = record.size.to_string(),
        PLACED = record.fields.iter().map(place).collect::<String>(),
    )
}

/// A structure with strings.
fn class(name: &str, key: &str, record: &RecordPlan) -> String {
    let (mut fields, mut into, mut from) = (String::new(), String::new(), String::new());
    for Member { field, is_text, .. } in members(record) {
        let own = attribute(&field.name);
        let is_array = matches!(field.kind.shape, Shape::Array(..));
        let kind = if is_text { "String | None" } else { "Any" };
        fields += &row(format!("{own}: {kind} = None"));
        match &field.passing {
            // The structure has an address only.
            Passing::String { .. } => {
                into += &template!("python/text_in.py.in", OWN = own);
            }
            Passing::Value => {
                let array = format!(r#"_numbers(self.{own}, type(raw.{own}), "{own}")"#);
                let value = if is_array { array } else { format!("self.{own}") };
                into += &template!("python/value_in.py.in", OWN = own, VALUE = value);
            }
            _ => {}
        }
        let value = match (&field.kind.shape, is_text) {
            (_, true) => format!("_string(raw.{own})"),
            (Shape::Array(..), _) => format!("list(raw.{own})"),
            (Shape::Record(_), _) => format!("type(raw.{own}).from_buffer_copy(raw.{own})"),
            _ => format!("raw.{own}"),
        };
        from += &row(format!("{own}={value},"));
    }
    template!(
        "python/class.py.in",
        CLASS = word(name),
        RAW = super::raw(name),
        KEY = key,
        FIELDS = fields,
        INTO = into,
        FROM = from,
    )
}

/// A structure that the library remembers.
fn kept_class(name: &str, key: &str, record: &RecordPlan) -> String {
    let cursors = cursors(record);
    let buffer = |cursor: &Cursor<'_>| {
        format!(r#"("{}", "{}"),"#, attribute(&cursor.field.name), attribute(&cursor.length.name))
    };
    let getter = |Member { field, is_text, .. }: Member<'_>| {
        let own = attribute(&field.name);
        let (kind, value) = match is_text {
            true => ("Text | None", format!("_string(self._raw.{own})")),
            false => ("Any", format!("self._raw.{own}")),
        };
        let spelling = &field.kind.spelling;
        template!("python/getter.py.in", NAME = own, KIND = kind, SPELLING = spelling, VALUE = value)
    };
    template!(
        "python/kept.py.in",
        CLASS = word(name),
        RAW = super::raw(name),
        KEY = key,
        SIZE = record.size.to_string(),
        BUFFERS = cursors.iter().map(buffer).collect::<Vec<String>>().join(" "),
        GETTERS = members(record).map(getter).collect::<String>(),
    )
}
