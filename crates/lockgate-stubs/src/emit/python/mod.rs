//! Bindings for Python: a module of typed functions over the client in C, which ctypes calls.
mod callback;
mod function;
mod types;

use super::surface::Surface;
use super::{File, Target, c};
use crate::expression::{Expression, Operator};
use crate::header::model::{CType, Shape, Value};
use crate::plan::Plan;
use std::fmt::Write as _;

/// The module, and the client that it loads when that has been compiled.
pub fn client(plan: &Plan, target: &Target) -> Vec<File> {
    let surface = Surface::of(plan, target);
    let name = &surface.name;
    let flags = target.includes.iter().cloned();
    let flags: Vec<String> = flags.chain(target.defines.iter().map(|define| format!("-D{define}"))).collect();
    let mut left_out = String::new();
    if !surface.left_out.is_empty() {
        left_out += "\nWithout a form here:\n\n";
        for (function, why) in &surface.left_out {
            let _ = writeln!(left_out, "- {function}: {}", why.replace(['\\', '"'], "'"));
        }
    }
    let mut text = include_str!("../../../runtime/python/support.py")
        .replace("@NAME@", name)
        .replace("@UPPER@", &name.to_uppercase())
        .replace("@FLAGS@", &flags.join(" ").replace(['{', '}', '"', '\\'], ""))
        .replace("@LEFT_OUT@", &left_out);
    text += &constants(&surface);
    text += &types::all(&surface);
    for callback in surface.callbacks() {
        text += &callback::class(callback, &surface);
    }
    let types = types::names(&surface);
    for function in &surface.functions {
        text += &function::function(function, &surface, &types);
    }
    text += &types::ends(&surface);
    let catching = include_str!("../../../runtime/python/catching.c").replace("@NAME@", name);
    let mut files = vec![
        File { name: format!("{name}_protected.py"), text },
        File { name: format!("client/{name}_catching.c"), text: catching },
    ];
    let client = c::client(plan, target).into_iter();
    files.extend(client.map(|file| File { name: format!("client/{}", file.name), ..file }));
    files
}

fn constants(surface: &Surface<'_>) -> String {
    let mut text = String::new();
    for (name, value) in surface.constants() {
        let value = match value {
            Value::Integer(value) => value.to_string(),
            Value::Float(value) => format!("{value:?}"),
            Value::Text(text) => format!("b\"{}\"", text.to_bytes().escape_ascii()),
        };
        let _ = writeln!(text, "{} = {value}", word(name));
    }
    text
}

/// A name that Python, or the module's own beginning, has already.
fn word(name: &str) -> String {
    const TAKEN: &[&str] = &[
        "False",
        "None",
        "True",
        "and",
        "as",
        "assert",
        "async",
        "await",
        "break",
        "class",
        "continue",
        "def",
        "del",
        "elif",
        "else",
        "except",
        "finally",
        "for",
        "from",
        "global",
        "if",
        "import",
        "in",
        "is",
        "lambda",
        "nonlocal",
        "not",
        "or",
        "pass",
        "raise",
        "return",
        "try",
        "while",
        "with",
        "yield",
        "ctypes",
        "enum",
        "os",
        "threading",
        "len",
        "list",
        "bytes",
        "bool",
        "Error",
        "Fault",
        "Kind",
        "Text",
        "Memory",
        "Callback",
    ];
    if TAKEN.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

/// The text of a comment within a documentation string.
fn documentation(comment: Option<&String>, indent: &str) -> String {
    let Some(comment) = comment else { return String::new() };
    let comment = comment.replace('\\', "\\\\").replace("\"\"\"", "'''");
    let line = |line: &str| format!("{indent}{line}").trim_end().to_owned() + "\n";
    "\n".to_owned() + &comment.lines().map(line).collect::<String>()
}

/// A type in ctypes' words.
fn ctype(kind: &CType, surface: &Surface<'_>) -> String {
    match &kind.shape {
        Shape::Void => "None".to_owned(),
        _ if kind.is_bool() => "ctypes.c_bool".to_owned(),
        Shape::Integer { signed, .. } => {
            format!("ctypes.c_{}int{}", if *signed { "" } else { "u" }, kind.size * 8)
        }
        Shape::Float if kind.size == 4 => "ctypes.c_float".to_owned(),
        Shape::Float => "ctypes.c_double".to_owned(),
        Shape::Array(element, count) => format!("{} * {count}", ctype(element, surface)),
        Shape::Record(key) if surface.plan.records[key].is_plain() => word(&surface.record(key)),
        Shape::Record(key) => format!("_{}", surface.record(key)),
        _ => "ctypes.c_void_p".to_owned(),
    }
}

/// What a buffer's elements are: bytes, where C has characters or nothing.
fn element(kind: &CType, surface: &Surface<'_>) -> String {
    match super::surface::element(kind) {
        Some(element) if element.is_bool() => "ctypes.c_ubyte".to_owned(),
        Some(element) => ctype(element, surface),
        None => "ctypes.c_ubyte".to_owned(),
    }
}

/// The same of a buffer that goes in: nothing is written among bools but bools.
fn element_in(kind: &CType, surface: &Surface<'_>) -> String {
    match super::surface::element(kind) {
        Some(element) if element.is_bool() => "ctypes.c_bool".to_owned(),
        _ => element(kind, surface),
    }
}

/// The name of an enumeration's class.
fn enumeration(key: &str) -> String {
    word(&crate::plan::word(key.trim_start_matches("enum ")))
}

/// Python for `expression`; `scope` says what stands for names.
fn arithmetic(expression: &Expression, scope: &dyn Fn(&str, bool) -> String) -> String {
    let inner = |x: &Expression| arithmetic(x, scope);
    match expression {
        Expression::Number(number) => number.to_string(),
        Expression::Name(name) | Expression::Deref(name) => scope(name, false),
        Expression::StringLength(name) => scope(name, true),
        // What is left out has these alone.
        Expression::Call(..) | Expression::Field(..) | Expression::Told(_) => "-1".to_owned(),
        Expression::Minus(x) => format!("-({})", inner(x)),
        Expression::Not(x) => format!("int(not ({}))", inner(x)),
        Expression::Conditional(x, y, z) => format!("({} if {} else {})", inner(y), inner(x), inner(z)),
        Expression::Binary(operator, x, y) => {
            let (x, y) = (inner(x), inner(y));
            match operator {
                Operator::Add => format!("({x} + {y})"),
                Operator::Subtract => format!("({x} - {y})"),
                Operator::Multiply => format!("({x} * {y})"),
                Operator::Divide => format!("_divide({x}, {y})"),
                Operator::Remainder => format!("_remainder({x}, {y})"),
                Operator::Less => format!("int({x} < {y})"),
                Operator::LessEqual => format!("int({x} <= {y})"),
                Operator::Greater => format!("int({x} > {y})"),
                Operator::GreaterEqual => format!("int({x} >= {y})"),
                Operator::Equal => format!("int({x} == {y})"),
                Operator::NotEqual => format!("int({x} != {y})"),
                Operator::And => format!("int(bool({x} and {y}))"),
                Operator::Or => format!("int(bool({x} or {y}))"),
            }
        }
    }
}
