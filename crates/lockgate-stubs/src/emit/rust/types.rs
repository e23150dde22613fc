//! Enumerations, handles, structures, functions that the library calls.
use super::{closure, sys, type_name, word};
use crate::emit::binding::layout::{Form, form};
use crate::emit::binding::surface::{Surface, cursors};
use crate::emit::binding::types::{Type, What};
use crate::emit::binding::{Member, members, says};
use crate::emit::template::{row, template};
use crate::header::model::Shape;
use crate::plan::{FieldPlan, FunctionPlan, RecordPlan};

/// What is declared for a type.
pub fn declaration(kind: &Type<'_>, surface: &Surface<'_>) -> String {
    match &kind.what {
        What::Enumeration(key, values) => enumeration(key, values),
        What::Handle(number) => handle(*number, surface),
        What::Plain(key, record) => plain(key, record, surface),
        What::Texts(key, record) => structure(key, record, surface),
        What::Kept(key, record) => kept_structure(key, record, surface),
        What::Closure(form) => closure::closure(form, surface),
    }
}

/// Structures that programs see in another form, as C has them.
pub fn raw(surface: &Surface<'_>) -> String {
    let (used, kept) = (surface.used(), surface.kept());
    let seen_otherwise = |(key, record): &(&String, &RecordPlan)| {
        used.contains(key.as_str()) && (!record.is_plain() || kept.contains(key.as_str()))
    };
    let raw = |(key, record): (&String, &RecordPlan)| {
        let field = |field: &FieldPlan| {
            let kind = sys(&field.kind, surface);
            row(format!("pub {}: {},", word(&field.name), kind.trim_start_matches("sys::")))
        };
        template!(
            "rust/raw.rs.in",
            NAME = type_name(&surface.record(key)),
            REPR = representation(form(record, surface.plan)),
            FIELDS = record.fields.iter().map(field).collect::<String>(),
            PLACED = placed(&type_name(&surface.record(key)), record, true),
        )
    };
    surface.plan.records.iter().filter(seen_otherwise).map(raw).collect()
}

/// How Rust lays the type out.
fn representation(form: Form) -> String {
    match form {
        Form::Natural | Form::Bytes => "C".to_owned(),
        Form::Packed(most) => format!("C, packed({most})"),
        Form::Aligned(least) => format!("C, align({least})"),
    }
}

/// It is as large as in C, and aligned, and (`fields`) each of its fields lies where C has it.
fn placed(name: &str, record: &RecordPlan, fields: bool) -> String {
    let place = |field: &FieldPlan| {
        let (own, offset) = (word(&field.name), field.offset);
        row(format!("const _: () = assert!(std::mem::offset_of!({name}, {own}) == {offset});"))
    };
    template!(
        "rust/placed.rs.in",
        NAME = name,
        SIZE = record.size.to_string(),
        ALIGN = record.alignment.to_string(),
        FIELDS = record.fields.iter().filter(|_| fields).map(place).collect::<String>(),
    )
}

fn enumeration(key: &str, values: &[(String, i128)]) -> String {
    let name = type_name(key);
    let all = |fit: fn(i128) -> bool| values.iter().all(|(_, value)| fit(*value));
    let kind = match () {
        () if all(|value| i32::try_from(value).is_ok()) => "i32",
        () if all(|value| i64::try_from(value).is_ok()) => "i64",
        () => "u64",
    };
    let mut known: Vec<(i128, &str)> = Vec::new();
    let (mut listed, mut aliases, mut matched) = (String::new(), String::new(), String::new());
    for (own, value) in values {
        let same = known.iter().find(|(seen, _)| seen == value);
        let own_word = word(own);
        match same {
            Some((_, first)) => {
                aliases += &template!("rust/same.rs.in", NAME = name, OWN = own_word, FIRST = first);
            }
            None => {
                listed += &template!("rust/value.rs.in", OWN = own_word, VALUE = value.to_string());
                matched += &row(format!("{value} => Ok({name}::{own_word}),"));
                known.push((*value, own));
            }
        }
    }
    template!(
        "rust/enumeration.rs.in",
        KEY = key,
        NAME = name,
        KIND = kind,
        VALUES = listed,
        ALIASES = aliases,
        KNOWN = matched,
    )
}

fn handle(number: usize, surface: &Surface<'_>) -> String {
    let own = surface.handle(number);
    let name = type_name(&own);
    let end = surface.end_said(number, "When it is dropped, ");
    let mut text = template!("rust/handle.rs.in", OWN = own, NAME = name, END = end);
    if let Some(release) = surface.release_of(number) {
        let over = over(release, "result");
        let over = over.map_or(".is_ok()".to_owned(), |over| format!(".is_ok_and(|result| {over})"));
        text += &template!("rust/drop.rs.in", NAME = name, RELEASE = word(&release.name), OVER = over);
    }
    text
}

/// What the handle that a call was to end is, if that has returned: over, unless by its own word it lives on.
pub fn over(release: &FunctionPlan, result: &str) -> Option<String> {
    let is_bool = release.prototype.result.is_bool();
    says(release).then(|| if is_bool { result.to_owned() } else { format!("{result} == 0") })
}

/// A field that programs see.
fn field(field: &FieldPlan, kind: &str) -> String {
    template!("rust/field.rs.in", SPELLING = field.kind.spelling, NAME = word(&field.name), KIND = kind)
}

/// A structure of numbers.
fn plain(key: &str, record: &RecordPlan, surface: &Surface<'_>) -> String {
    let name = type_name(&surface.record(key));
    let form = form(record, surface.plan);
    let declared = if form == Form::Bytes {
        let (size, align) = (record.size.to_string(), record.alignment.to_string());
        template!("rust/union.rs.in", KEY = key, NAME = name, ALIGN = align, SIZE = size)
    } else {
        let fields: String = record.fields.iter().map(|own| field(own, &sys(&own.kind, surface))).collect();
        template!("rust/plain.rs.in", KEY = key, NAME = name, REPR = representation(form), FIELDS = fields)
    };
    let placed = placed(&name, record, form != Form::Bytes);
    declared + &template!("rust/numbers.rs.in", NAME = name, PLACED = placed)
}

/// A structure with strings.
fn structure(key: &str, record: &RecordPlan, surface: &Surface<'_>) -> String {
    let (mut fields, mut into, mut from) = (String::new(), String::new(), String::new());
    for Member { field: each, is_text, goes_in } in members(record) {
        let own = word(&each.name);
        if is_text {
            fields += &field(each, "Option<CString>");
            from += &row(format!("{own}: support::text(raw.{own}.cast()).map(|text| (*text).to_owned()),"));
        } else {
            fields += &field(each, &sys(&each.kind, surface));
            from += &row(format!("{own}: raw.{own},"));
        }
        into += &match (goes_in, is_text) {
            (false, _) => String::new(),
            (true, true) => row(format!("raw.{own} = support::pointer(&self.{own}).cast_mut().cast();")),
            (true, false) => row(format!("raw.{own} = self.{own};")),
        };
    }
    let name = type_name(&surface.record(key));
    template!("rust/structure.rs.in", KEY = key, NAME = name, FIELDS = fields, INTO = into, FROM = from)
}

/// A structure that the library remembers: in a place of its own until it is dropped.
fn kept_structure(key: &str, record: &RecordPlan, surface: &Surface<'_>) -> String {
    let getter = |Member { field, is_text, .. }: Member<'_>| {
        let own = word(&field.name);
        let (kind, value) = match is_text {
            true => ("Option<Text>".to_owned(), format!("support::text(self.raw.{own}.cast())")),
            false if matches!(field.kind.shape, Shape::Array(..)) => return String::new(),
            false => (sys(&field.kind, surface), format!("self.raw.{own}")),
        };
        let spelling = &field.kind.spelling;
        template!("rust/getter.rs.in", SPELLING = spelling, NAME = own, KIND = kind, VALUE = value)
    };
    let clear = cursors(record).into_iter();
    let clear = clear.map(|cursor| row(format!("self.raw.{} = null_mut();", word(&cursor.field.name))));
    template!(
        "rust/kept.rs.in",
        KEY = key,
        NAME = type_name(&surface.record(key)),
        SIZE = record.size.to_string(),
        GETTERS = members(record).map(getter).collect::<String>(),
        CLEAR = clear.collect::<String>(),
    )
}
