//! Bindings for Rust: a crate whose functions are typed and safe, over the client in C, which it compiles.
mod closure;
mod function;
mod types;

use super::binding::arithmetic::Words;
use super::binding::surface::{self, Surface};
use super::binding::types::What;
use super::binding::{
    are_distinct_within, commented, has_words_alone, is_unambiguous, left_out, with_client,
};
use super::template::{fill, template};
use super::{File, Target};
use crate::expression::Expression;
use crate::header::model::{CType, Shape, Value};
use crate::plan::Plan;

/// All files of the crate.
///
/// # Errors
/// Two things that would have one name.
pub fn client(plan: &Plan, target: &Target) -> Result<Vec<File>, String> {
    let surface = Surface::of(plan, target);
    let types = surface.types(surface.used());
    has_words_alone(&surface, &types)?;
    are_distinct_within(&surface, &types, "Rust", word, variable)?;
    is_unambiguous(types.iter().map(|kind| type_name(&kind.name)), "Rust", "types")?;
    // (A structure without named fields is a function, too: its constructor.)
    let makes = types.iter().filter(|kind| {
        matches!(kind.what, What::Plain(_, record) if record.fields.is_empty())
            || matches!(kind.what, What::Closure(_))
    });
    let makes = makes.map(|kind| type_name(&kind.name));
    let functions = surface.functions.iter().map(|function| word(&function.name));
    is_unambiguous(makes.chain(functions), "Rust", "functions, unions and callbacks")?;
    let name = &surface.name;
    let flags = target.flags();
    let flags = flags.iter().map(|flag| format!("{flag:?}")).collect::<Vec<_>>().join(", ");
    let filled = |text: &str| fill(text, &[("NAME", name), ("FLAGS", &flags)]);
    let manifest = template!("rust/Cargo.toml.in", NAME = name, PACKAGE = name.replace('_', "-"));
    let files = vec![
        File { name: "Cargo.toml".into(), text: manifest },
        File { name: "build.rs".into(), text: filled(include_str!("../../../runtime/rust/build.rs")) },
        File { name: "src/lib.rs".into(), text: library(&surface) },
        File { name: "src/api.rs".into(), text: api(&surface) },
        File {
            name: "src/support.rs".into(),
            text: filled(include_str!("../../../runtime/rust/support_sys.rs")),
        },
    ];
    Ok(with_client(files, plan, target))
}

fn library(surface: &Surface<'_>) -> String {
    // (A macro may have the name of a function, which would be hidden.)
    let is_function = |name: &str| surface.functions.iter().any(|function| function.name == name);
    let constants = surface.constants().filter(|(name, _)| !is_function(name));
    let constants: String = constants.map(|(name, value)| constant(name, value)).collect();
    template!(
        "rust/lib.rs.in",
        NAME = surface.name,
        LEFT_OUT = left_out(surface, "//!", |why| why.replace(['<', '>', '[', ']'], "'")),
        CONSTANTS = constants,
    )
}

fn api(surface: &Surface<'_>) -> String {
    let types = surface.types(surface.used());
    let mut items: String = types.iter().map(|kind| types::declaration(kind, surface)).collect();
    let mut declared = String::new();
    for function in &surface.functions {
        items += &function::function(&surface.function(function), surface);
        declared += &function::declaration(function, surface);
    }
    template!("rust/api.rs.in", ITEMS = items, RAW = types::raw(surface), DECLARED = declared)
}

fn constant(name: &str, value: &Value) -> String {
    let (kind, value) = match value {
        Value::Integer(value) => {
            let kind = match value {
                value if i32::try_from(*value).is_ok() => "i32",
                value if u32::try_from(*value).is_ok() => "u32",
                value if i64::try_from(*value).is_ok() => "i64",
                _ => "u64",
            };
            (kind, value.to_string())
        }
        Value::Float(value) if value.is_finite() => ("f64", format!("{value:?}")),
        Value::Float(value) if value.is_nan() => ("f64", "f64::NAN".to_owned()),
        Value::Float(value) => {
            ("f64", if *value > 0.0 { "f64::INFINITY" } else { "f64::NEG_INFINITY" }.to_owned())
        }
        Value::Text(text) => ("&CStr", format!(r#"c"{}""#, text.to_bytes().escape_ascii())),
    };
    template!("rust/constant.rs.in", OWN = name, NAME = word(name), KIND = kind, VALUE = value)
}

/// A name that Rust, or the crate's own text, may take for something else gets `_` behind it.
fn word(name: &str) -> String {
    const KEYWORDS: &[&str] = &[
        "Self", "abstract", "as", "async", "await", "become", "box", "const", "crate", "do", "dyn", "else",
        "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
        "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
        "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
        "where", "while", "yield",
    ];
    // Functions that the crate's text calls.
    const TAKEN: &[&str] = &[
        "Err", "None", "Ok", "Place", "Some", "_", "align_of", "drop", "null", "null_mut", "size_of",
        "support", "sys",
    ];
    if KEYWORDS.contains(&name) || TAKEN.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

/// The name of a parameter. One that begins with a capital, as types do, gets `_` behind it: to Rust it would mean the constructor of a type
/// with unnamed fields. (Constants are not in scope.)
fn variable(name: &str) -> String {
    let mut own = word(name);
    if own.starts_with(|first: char| first.is_ascii_uppercase()) && !own.ends_with('_') {
        own.push('_');
    }
    own
}

/// `sqlite3_stmt` as `Sqlite3Stmt`; with `_` if the crate's own text means something else by that.
fn type_name(name: &str) -> String {
    const TAKEN: &[&str] = &[
        "Box",
        "CStr",
        "CString",
        "Default",
        "Drop",
        "Err",
        "Error",
        "ErrorKind",
        "From",
        "FnMut",
        "Into",
        "IntoText",
        "Iterator",
        "Memory",
        "None",
        "Ok",
        "Option",
        "Place",
        "Plain",
        "Result",
        "Self",
        "Send",
        "Slot",
        "Slots",
        "Some",
        "String",
        "Sync",
        "Text",
        "TryFrom",
        "Vec",
    ];
    let name = crate::name::word(name.trim_start_matches("enum "));
    let capital = |part: &str| part[..1].to_uppercase() + &part[1..];
    let name: String = name.split('_').filter(|part| !part.is_empty()).map(capital).collect();
    if TAKEN.contains(&&*name) { name + "_" } else { name }
}

/// The text of a comment as documentation.
fn documentation(comment: Option<&String>) -> String {
    let Some(comment) = comment else { return String::new() };
    let lines = commented(comment, "///", |line| line.replace("```", "'''"));
    template!("rust/documentation.rs.in", LINES = lines)
}

/// A type as the client has it.
fn sys(kind: &CType, surface: &Surface<'_>) -> String {
    match &kind.shape {
        // (Rust holds its own to 0 and 1, and the client the library's.)
        _ if kind.is_bool() => "bool".to_owned(),
        Shape::Integer { signed, .. } => format!("{}{}", if *signed { "i" } else { "u" }, kind.size * 8),
        Shape::Float => format!("f{}", kind.size * 8),
        Shape::Array(element, count) => format!("[{}; {count}]", sys(element, surface)),
        Shape::Record(key) if surface.plan.records[key].is_plain() => type_name(&surface.record(key)),
        Shape::Record(key) => format!("sys::{}", type_name(&surface.record(key))),
        _ => "*mut c_void".to_owned(),
    }
}

/// What a buffer's elements are: bytes, where C has characters or nothing.
fn element(kind: &CType, surface: &Surface<'_>) -> String {
    surface::element(kind).map_or_else(|| "u8".to_owned(), |element| sys(element, surface))
}

/// A size as an `Option<i128>`; `operand` says what stands for names.
fn size(size: &Expression, operand: &dyn Fn(&str, bool) -> String) -> String {
    template!("rust/size.rs.in", SIZE = SIZES.write(size, operand)).trim_end().to_owned()
}

/// Sizes as an `i128`, within something that returns an `Option`.
const SIZES: Words = Words {
    number: "@X@_i128",
    minus: "0_i128.checked_sub(@X@)?",
    not: "i128::from(@X@ == 0)",
    choice: "(if @X@ != 0 { @Y@ } else { @Z@ })",
    exact: [
        "(@X@).checked_add(@Y@)?",
        "(@X@).checked_sub(@Y@)?",
        "(@X@).checked_mul(@Y@)?",
        "(@X@).checked_div(@Y@)?",
        "(@X@).checked_rem(@Y@)?",
    ],
    compared: "i128::from((@X@) @S@ (@Y@))",
    logic: ["i128::from(@X@ != 0 && @Y@ != 0)", "i128::from(@X@ != 0 || @Y@ != 0)"],
};
