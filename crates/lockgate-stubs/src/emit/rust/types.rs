//! Enumerations, handles, structures.
use super::{sys, type_name, word};
use crate::emit::surface::{Surface, cursors};
use crate::header::model::Shape;
use crate::plan::{FieldPlan, Outcome, Passing, RecordPlan};
use std::fmt::Write as _;

/// All types of the API.
pub fn all(surface: &Surface<'_>) -> String {
    let mut text = String::new();
    for key in surface.enumerations() {
        enumeration(&mut text, key, &surface.plan.enumerations[key]);
    }
    for number in 1..=surface.plan.handles.len() {
        handle(&mut text, number, surface);
    }
    let kept = surface.kept();
    let used = surface.used();
    for (key, record) in surface.plan.records.iter().filter(|(key, _)| used.contains(key.as_str())) {
        if kept.contains(key.as_str()) {
            kept_structure(&mut text, key, record, surface);
        } else if record.is_plain() {
            plain(&mut text, key, record, surface);
        } else {
            structure(&mut text, key, record, surface);
        }
    }
    text
}

/// Structures with pointers as C has them.
pub fn raw(surface: &Surface<'_>) -> String {
    let mut text = String::new();
    let used = surface.used();
    let with_pointers =
        |(key, record): &(&String, &RecordPlan)| used.contains(key.as_str()) && !record.is_plain();
    for (key, record) in surface.plan.records.iter().filter(with_pointers) {
        let name = type_name(&surface.record(key));
        let _ = write!(text, "\n    #[repr(C)]\n    #[derive(Clone, Copy)]\n    pub struct {name} {{\n");
        for field in &record.fields {
            let kind = sys(&field.kind, surface);
            let _ =
                writeln!(text, "        pub {}: {},", word(&field.name), kind.trim_start_matches("sys::"));
        }
        let _ = write!(text, "    }}\n    const _: () = assert!(size_of::<{name}>() == {});\n", record.size);
    }
    text
}

fn enumeration(text: &mut String, key: &str, values: &[(String, i64)]) {
    let name = type_name(key);
    let kind = if values.iter().all(|(_, value)| i32::try_from(*value).is_ok()) { "i32" } else { "i64" };
    let _ = write!(
        text,
        "\n/// `{key}`\n#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]\n#[repr({kind})]\n#[non_exhaustive]\npub enum {name} {{\n"
    );
    let mut known: Vec<(i64, &str)> = Vec::new();
    let mut aliases = String::new();
    for (own, value) in values {
        match known.iter().find(|(seen, _)| seen == value) {
            Some((_, first)) => {
                let _ = write!(
                    aliases,
                    "    /// The same as [`{name}::{first}`].\n    pub const {}: {name} = {name}::{first};\n",
                    word(own)
                );
            }
            None => {
                let _ = writeln!(text, "    /// {value}\n    {} = {value},", word(own));
                known.push((*value, own));
            }
        }
    }
    let _ = write!(
        text,
        "}}\n\nimpl {name} {{\n{aliases}    fn of(value: i64, what: &str) -> Result<{name}, Error> {{\n        match value {{\n"
    );
    for (value, own) in &known {
        let _ = writeln!(text, "            {value} => Ok({name}::{}),", word(own));
    }
    let _ = write!(
        text,
        "            _ => Err(Error::new(ErrorKind::Value, what, &format!(\"{{value}} is no value of {key}\"))),\n        }}\n    }}\n}}\n"
    );
}

fn handle(text: &mut String, number: usize, surface: &Surface<'_>) {
    let own = surface.handle(number);
    let name = type_name(&own);
    let release = surface.release_of(number);
    let end = release.map_or("The library ends it by itself.".to_owned(), |release| {
        format!("When it is dropped, `{release}` ends it, unless it is the library's.")
    });
    let _ = write!(
        text,
        "\n/// `{own}`: a handle of the library's. {end}\n#[derive(Debug)]\npub struct {name} {{\n    raw: *mut c_void,\n    owned: bool,\n}}\n\n\
         // SAFETY: an address that the client alone looks at, under its own locks.\nunsafe impl Send for {name} {{}}\n\
         // SAFETY: as above.\nunsafe impl Sync for {name} {{}}\n\n\
         impl {name} {{\n    fn given(raw: *mut c_void, owned: bool) -> Option<{name}> {{\n        if owned && !raw.is_null() {{\n            support::handle_begins();\n        }}\n        \
         (!raw.is_null()).then_some({name} {{ raw, owned }})\n    }}\n\n    \
         fn into_raw(mut self) -> *mut c_void {{\n        if self.owned {{\n            support::handle_ends();\n        }}\n        self.owned = false;\n        self.raw\n    }}\n}}\n"
    );
    if let Some(release) = release.map(word) {
        let _ = write!(
            text,
            "\nimpl Drop for {name} {{\n    fn drop(&mut self) {{\n        \
             if self.owned {{\n            // SAFETY: the client looks the handle up.\n            let _ = support::call(|| unsafe {{ sys::{release}(self.raw) }});\n            support::handle_ends();\n        }}\n    }}\n}}\n"
        );
    }
}

/// A structure of numbers.
fn plain(text: &mut String, key: &str, record: &RecordPlan, surface: &Surface<'_>) {
    let name = type_name(&surface.record(key));
    let _ = write!(text, "\n/// `{key}`\n");
    if record.fields.is_empty() {
        let align = [8, 4, 2, 1].into_iter().find(|align| record.size.is_multiple_of(*align)).unwrap_or(1);
        let _ = write!(
            text,
            "#[repr(C, align({align}))]\n#[derive(Debug, Clone, Copy, PartialEq)]\npub struct {name}(pub [u8; {}]);\n",
            record.size
        );
    } else {
        let _ = write!(text, "#[repr(C)]\n#[derive(Debug, Clone, Copy, PartialEq)]\npub struct {name} {{\n");
        for field in &record.fields {
            let _ = writeln!(
                text,
                "    /// `{}`\n    pub {}: {},",
                field.kind.spelling,
                word(&field.name),
                sys(&field.kind, surface)
            );
        }
        text.push_str("}\n");
    }
    let _ = write!(
        text,
        "const _: () = assert!(size_of::<{name}>() == {});\n\n// SAFETY: numbers.\nunsafe impl support::Plain for {name} {{}}\n\n\
         impl Default for {name} {{\n    fn default() -> {name} {{\n        // SAFETY: numbers.\n        unsafe {{ std::mem::zeroed() }}\n    }}\n}}\n",
        record.size
    );
}

/// A structure with strings.
fn structure(text: &mut String, key: &str, record: &RecordPlan, surface: &Surface<'_>) {
    let name = type_name(&surface.record(key));
    let is_text = |field: &&FieldPlan| matches!(field.outcome, Outcome::String { .. });
    let is_value = |field: &&FieldPlan| field.passing == Passing::Value;
    let _ = write!(text, "\n/// `{key}`\n#[derive(Debug, Clone, PartialEq)]\npub struct {name} {{\n");
    for field in &record.fields {
        let kind = if is_text(&field) { "Option<CString>".to_owned() } else { sys(&field.kind, surface) };
        if is_text(&field) || is_value(&field) {
            let _ =
                writeln!(text, "    /// `{}`\n    pub {}: {kind},", field.kind.spelling, word(&field.name));
        }
    }
    let _ = write!(
        text,
        "}}\n\nimpl {name} {{\n    fn raw(&self) -> sys::{name} {{\n        // SAFETY: numbers and pointers.\n        \
         let mut raw: sys::{name} = unsafe {{ std::mem::zeroed() }};\n"
    );
    for field in &record.fields {
        let own = word(&field.name);
        match &field.passing {
            Passing::Value => {
                let _ = writeln!(text, "        raw.{own} = self.{own};");
            }
            Passing::String => {
                let _ =
                    writeln!(text, "        raw.{own} = support::pointer(&self.{own}).cast_mut().cast();");
            }
            _ => {}
        }
    }
    let _ = write!(
        text,
        "        raw\n    }}\n\n    fn from_raw(raw: &sys::{name}) -> {name} {{\n        {name} {{\n"
    );
    for field in &record.fields {
        let own = word(&field.name);
        if is_text(&field) {
            let _ = writeln!(
                text,
                "            {own}: support::text(raw.{own}.cast()).map(|text| (*text).to_owned()),"
            );
        } else if is_value(&field) {
            let _ = writeln!(text, "            {own}: raw.{own},");
        }
    }
    let _ = write!(
        text,
        "        }}\n    }}\n}}\n\nimpl Default for {name} {{\n    fn default() -> {name} {{\n        \
         // SAFETY: numbers and pointers.\n        {name}::from_raw(&unsafe {{ std::mem::zeroed() }})\n    }}\n}}\n"
    );
}

/// A structure that the library remembers: in a place of its own until it is dropped.
fn kept_structure(text: &mut String, key: &str, record: &RecordPlan, surface: &Surface<'_>) {
    let name = type_name(&surface.record(key));
    let _ = write!(
        text,
        "\n/// `{key}`: the library remembers it. The buffers in it are parameters of the functions that use them; when it is dropped,\n\
         /// what was begun with it ends.\npub struct {name} {{\n    raw: Box<sys::{name}>,\n    used: bool,\n    end: Option<fn(*mut c_void)>,\n}}\n\n\
         // SAFETY: its pointers are null but during a call, or lead to copies that stay.\nunsafe impl Send for {name} {{}}\n\n\
         impl {name} {{\n    /// Bytes of it in C, which some libraries want to hear.\n    pub const SIZE: usize = {};\n\n    /// Zeros.\n    \
         pub fn new() -> {name} {{\n        // SAFETY: numbers and pointers.\n        \
         {name} {{ raw: Box::new(unsafe {{ std::mem::zeroed() }}), used: false, end: None }}\n    }}\n",
        record.size
    );
    for field in &record.fields {
        let own = word(&field.name);
        if matches!(field.outcome, Outcome::String { .. }) {
            let _ = write!(
                text,
                "\n    /// `{}`\n    pub fn {own}(&self) -> Option<Text> {{\n        support::text(self.raw.{own}.cast())\n    }}\n",
                field.kind.spelling
            );
        } else if field.passing == Passing::Value && !matches!(field.kind.shape, Shape::Array(..)) {
            let kind = sys(&field.kind, surface);
            let _ = write!(
                text,
                "\n    /// `{}`\n    pub fn {own}(&self) -> {kind} {{\n        self.raw.{own}\n    }}\n",
                field.kind.spelling
            );
        }
    }
    text.push_str("\n    /// The buffers of a call are gone.\n    fn without_buffers(&mut self) {\n");
    for (field, ..) in cursors(record) {
        let _ = writeln!(text, "        self.raw.{} = null_mut();", word(&field.name));
    }
    let _ = write!(
        text,
        "    }}\n}}\n\nimpl Default for {name} {{\n    fn default() -> {name} {{\n        {name}::new()\n    }}\n}}\n\n\
         impl Drop for {name} {{\n    fn drop(&mut self) {{\n        match self.end.take() {{\n            \
         Some(end) => end((&raw mut *self.raw).cast()),\n            \
         // The library remembers the address: it is nobody else's again.\n            \
         None if self.used => std::mem::forget(std::mem::replace(&mut self.raw, Box::new(unsafe {{ std::mem::zeroed() }}))),\n            None => {{}}\n        }}\n    }}\n}}\n"
    );
}
