//! Enumerations, handles, structures.
use super::{attribute, ctype, enumeration, symbol, word};
use crate::emit::surface::{Surface, cursors};
use crate::header::model::Shape;
use crate::plan::{FieldPlan, Outcome, Passing, RecordPlan};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// All types of the API.
pub fn all(surface: &Surface<'_>) -> String {
    let mut text = String::new();
    for key in surface.enumerations() {
        let _ = write!(text, "\n\nclass {}(enum.IntEnum):\n    \"\"\"`{key}`\"\"\"\n\n", enumeration(key));
        for (name, value) in &surface.plan.enumerations[key] {
            let _ = writeln!(text, "    {} = {value}", attribute(name));
        }
    }
    for number in 1..=surface.plan.handles.len() {
        let name = surface.handle(number);
        let end = surface.release_of(number).map_or("The library ends it by itself.".to_owned(), |release| {
            format!("`{release}` ends it, unless it is the library's.")
        });
        let _ = write!(
            text,
            "\n\nclass {}(_Handle):\n    \"\"\"`{name}`: a handle of the library's. {end}\"\"\"\n",
            word(&name)
        );
    }
    let (used, kept) = (surface.used(), surface.kept());
    // What is in a structure comes before it.
    let mut keys: Vec<&str> = Vec::new();
    for key in &used {
        place(key, surface, &mut keys);
    }
    for key in keys {
        let record = &surface.plan.records[key];
        let name = surface.record(key);
        if record.is_plain() && !kept.contains(key) {
            structure(&mut text, &word(&name), "_Structure", key, record, surface);
            continue;
        }
        // (What a call leaves in one that is kept is cleared in a single step, by nothing of Python's.)
        let base = if kept.contains(key) { "ctypes.Structure" } else { "_Structure" };
        structure(&mut text, &format!("_{name}"), base, key, record, surface);
        if kept.contains(key) {
            kept_class(&mut text, &name, key, record);
        } else {
            class(&mut text, &name, key, record);
        }
    }
    text
}

/// Names of all types.
pub fn names(surface: &Surface<'_>) -> BTreeSet<String> {
    let handles = (1..=surface.plan.handles.len()).map(|number| word(&surface.handle(number)));
    let records = surface.used().into_iter().map(|key| word(&surface.record(key)));
    let callbacks = surface.callbacks().into_iter().map(|callback| word(&surface.closure(&callback.name)));
    handles
        .chain(records)
        .chain(callbacks)
        .chain(surface.enumerations().into_iter().map(enumeration))
        .collect()
}

/// Functions that end handles, when they are known.
pub fn ends(surface: &Surface<'_>) -> String {
    let mut text = String::from("\n");
    for number in 1..=surface.plan.handles.len() {
        if let Some(release) = surface.release_of(number) {
            let _ = writeln!(text, "{}._end = {}", word(&surface.handle(number)), symbol(release));
        }
    }
    text
}

fn place<'a>(key: &'a str, surface: &Surface<'a>, placed: &mut Vec<&'a str>) {
    let Some(record) = surface.plan.records.get(key).filter(|_| !placed.contains(&key)) else { return };
    for field in &record.fields {
        if let Shape::Record(inner) = &field.kind.shape {
            place(inner, surface, placed);
        }
    }
    placed.push(key);
}

/// A structure as C has it.
fn structure(
    text: &mut String,
    name: &str,
    base: &str,
    key: &str,
    record: &RecordPlan,
    surface: &Surface<'_>,
) {
    let _ = write!(text, "\n\nclass {name}({base}):\n    \"\"\"`{key}`\"\"\"\n\n    _fields_ = [\n");
    for field in &record.fields {
        let _ = writeln!(text, "        (\"{}\", {}),", attribute(&field.name), ctype(&field.kind, surface));
    }
    if record.fields.is_empty() {
        let _ = writeln!(text, "        (\"bytes\", ctypes.c_ubyte * {}),", record.size);
    }
    let _ = write!(text, "    ]\n\n\nassert ctypes.sizeof({name}) == {}\n", record.size);
}

/// A structure with strings.
fn class(text: &mut String, name: &str, key: &str, record: &RecordPlan) {
    let is_text = |field: &FieldPlan| matches!(field.outcome, Outcome::String { .. });
    let fields = || record.fields.iter().filter(|field| is_text(field) || field.passing == Passing::Value);
    let _ = write!(text, "\n\n@dataclasses.dataclass\nclass {}:\n    \"\"\"`{key}`\"\"\"\n\n", word(name));
    for field in fields() {
        let kind = if is_text(field) { "String | None" } else { "Any" };
        let _ = writeln!(text, "    {}: {kind} = None", attribute(&field.name));
    }
    let _ = write!(text, "\n    def _to_raw(self) -> _{name}:\n        raw = _{name}()\n");
    for field in fields() {
        let own = attribute(&field.name);
        let is_array = matches!(field.kind.shape, Shape::Array(..));
        let value = match &field.passing {
            Passing::String => {
                // The structure has an address only.
                let _ = writeln!(
                    text,
                    "        raw.lg_{own} = ctypes.c_char_p(_text(self.{own}, \"{own}\"))\n        raw.{own} = ctypes.cast(raw.lg_{own}, ctypes.c_void_p)"
                );
                continue;
            }
            Passing::Value if is_array => format!("_numbers(self.{own}, type(raw.{own}), \"{own}\")"),
            Passing::Value => format!("self.{own}"),
            _ => continue,
        };
        let _ = writeln!(text, "        if self.{own} is not None:\n            raw.{own} = {value}");
    }
    let _ = write!(
        text,
        "        return raw\n\n    @classmethod\n    def _of_raw(cls, raw: _{name}) -> {}:\n        return cls(\n",
        word(name)
    );
    for field in fields() {
        let own = attribute(&field.name);
        let value = match (&field.kind.shape, is_text(field)) {
            (_, true) => format!("_string(raw.{own})"),
            (Shape::Array(..), _) => format!("list(raw.{own})"),
            (Shape::Record(_), _) => format!("type(raw.{own}).from_buffer_copy(raw.{own})"),
            _ => format!("raw.{own}"),
        };
        let _ = writeln!(text, "            {own}={value},");
    }
    text.push_str("        )\n");
}

/// A structure that the library remembers.
fn kept_class(text: &mut String, name: &str, key: &str, record: &RecordPlan) {
    let buffers: Vec<String> = cursors(record)
        .iter()
        .map(|(field, _, length)| format!("(\"{}\", \"{}\"),", attribute(&field.name), attribute(length)))
        .collect();
    let _ = write!(
        text,
        "\n\nclass {}(_Kept):\n    \"\"\"`{key}`: the library remembers it. The buffers in it are parameters of the functions that use them.\"\"\"\n\n    \
         SIZE = {}\n    \"\"\"Bytes of it in C, which some libraries want to hear.\"\"\"\n    _kind = _{name}\n    _buffers = ({})\n",
        word(name),
        record.size,
        buffers.join(" ")
    );
    for field in &record.fields {
        let own = attribute(&field.name);
        let (kind, value) = match (&field.outcome, &field.passing) {
            (Outcome::String { .. }, _) => ("Text | None", format!("_string(self._raw.{own})")),
            (_, Passing::Value) => ("Any", format!("self._raw.{own}")),
            _ => continue,
        };
        let _ = write!(
            text,
            "\n    @property\n    def {own}(self) -> {kind}:\n        \"\"\"`{}`\"\"\"\n        return {value}\n",
            field.kind.spelling
        );
    }
}
