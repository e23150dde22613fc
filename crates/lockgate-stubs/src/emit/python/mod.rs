//! Bindings for Python: a module of typed functions over the client in C, which ctypes calls.
mod closure;
mod function;
mod types;

use super::binding::arithmetic::Words;
use super::binding::surface::{self, Surface};
use super::binding::{are_distinct_within, has_words_alone, is_unambiguous, left_out, with_client};
use super::template::fill;
use super::{File, Target};
use crate::emit::template::row;
use crate::header::model::{CType, Shape, Value};
use crate::plan::Plan;
use std::collections::HashSet;
use std::sync::LazyLock;

/// The module, and the client that it loads when that has been compiled.
///
/// # Errors
/// Two things that would have one name.
pub fn client(plan: &Plan, target: &Target) -> Result<Vec<File>, String> {
    let surface = Surface::of(plan, target);
    let name = &surface.name;
    let left_out = left_out(&surface, "", |why| why.replace(['\\', '"'], "'"));
    let support = SUPPORT.replace("LOCKGATE_@UPPER@", &crate::name::variable(name));
    let flags = target.flags().join(" ").replace(['{', '}', '"', '\\'], "");
    let mut text = fill(&support, &[("NAME", name), ("FLAGS", &flags), ("LEFT_OUT", &left_out)]);
    text += &constants(&surface);
    let types = surface.types(surface.inner_first());
    has_words_alone(&surface, &types)?;
    are_distinct_within(&surface, &types, "Python", attribute, word)?;
    text.extend(types.iter().map(|kind| types::declaration(kind, &surface)));
    let names = types.iter().map(|kind| word(&kind.name)).collect();
    for function in &surface.functions {
        text += &function::function(&surface.function(function), &surface, &names);
    }
    text += &types::ends(&surface);
    // (Python lets the last of two things with one name win, without a word.)
    is_unambiguous(of_module(&text), "Python", "functions, types and constants")?;
    let catching = fill(include_str!("../../../runtime/python/catching.c"), &[("NAME", name)]);
    let files = vec![
        File { name: format!("{name}_protected.py"), text },
        File { name: format!("client/{name}_catching.c"), text: catching },
    ];
    Ok(with_client(files, plan, target))
}

fn constants(surface: &Surface<'_>) -> String {
    let constant = |(name, value): (&str, &Value)| {
        let value = match value {
            Value::Integer(value) => value.to_string(),
            Value::Float(value) if value.is_finite() => format!("{value:?}"),
            Value::Float(value) if value.is_nan() => "math.nan".to_owned(),
            Value::Float(value) => if *value > 0.0 { "math.inf" } else { "-math.inf" }.to_owned(),
            Value::Text(text) => format!(r#"b"{}""#, text.to_bytes().escape_ascii()),
        };
        row(format!("{} = {value}", word(name)))
    };
    surface.constants().map(constant).collect()
}

/// Words of Python.
const KEYWORDS: &str = "and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield";

/// Names that Python has without any import.
const BUILTINS: &str = "ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError BrokenPipeError BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError ConnectionResetError DeprecationWarning EOFError Ellipsis EncodingWarning EnvironmentError Exception ExceptionGroup False FileExistsError FileNotFoundError FloatingPointError FutureWarning GeneratorExit IOError ImportError ImportWarning IndentationError IndexError InterruptedError IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError None NotADirectoryError NotImplemented NotImplementedError OSError OverflowError PendingDeprecationWarning PermissionError ProcessLookupError PythonFinalizationError RecursionError ReferenceError ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError SystemExit TabError TimeoutError True TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning ZeroDivisionError abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex copyright credits delattr dict dir divmod enumerate eval exec exit filter float format frozenset getattr globals hasattr hash help hex id input int isinstance issubclass iter len license list locals map max memoryview min next object oct open ord pow print property quit range repr reversed round set setattr slice sorted staticmethod str sum super tuple type vars zip";

/// A name whose underscores stand at its end. What begins with one is the module's own; within a class Python makes another name of what
/// begins with two, and it keeps some enumerators that begin and end with one for itself.
fn turned(name: &str) -> String {
    let rest = name.trim_start_matches('_');
    let begins = rest.starts_with(|first: char| first.is_ascii_alphabetic());
    if begins { rest.to_owned() + &name[..name.len() - rest.len()] } else { format!("n{name}") }
}

/// A name that Python, or the module's own beginning, has already gets `_` behind it.
fn word(name: &str) -> String {
    static TAKEN: LazyLock<HashSet<&str>> = LazyLock::new(|| {
        KEYWORDS
            .split_ascii_whitespace()
            .chain(BUILTINS.split_ascii_whitespace())
            .chain(of_module(SUPPORT))
            .collect()
    });
    let name = turned(name);
    if TAKEN.contains(&*name) { name + "_" } else { name }
}

/// A field or an enumerator, which stands behind what it belongs to: Python's words only are in its way, and names that classes have.
fn attribute(name: &str) -> String {
    let name = turned(name);
    let mut taken = KEYWORDS.split_ascii_whitespace().chain(["False", "None", "True", "mro"]);
    if taken.any(|word| word == name) { name + "_" } else { name }
}

/// The class that has a structure as C has it, beside the one that programs see.
fn raw(name: &str) -> String {
    format!("_{}", turned(name))
}

/// A function of the client's.
fn symbol(name: &str) -> String {
    let is_word = |word| word == name;
    match KEYWORDS.split_ascii_whitespace().chain(["False", "None", "True"]).any(is_word) {
        true => format!(r#"getattr(_lib, "{name}")"#),
        false => format!("_lib.{name}"),
    }
}

/// What every module begins with.
const SUPPORT: &str = include_str!("../../../runtime/python/support.py");

/// Names that a module's text gives to something: functions, classes, variables, what it imports.
fn of_module(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| {
        let name =
            |text: &str| text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
        let imported = line.starts_with("import ") || line.starts_with("from ");
        let list = if imported { line.rsplit("import ").next().unwrap_or_default() } else { "" };
        let defined = line.strip_prefix("def ").or_else(|| line.strip_prefix("class "));
        let assigned = || {
            let (word, rest) = line.split_at(name(line));
            (rest.starts_with(" =") || rest.starts_with(':')).then_some(word)
        };
        let one = defined.map(|text| &text[..name(text)]).or_else(assigned).filter(|word| !word.is_empty());
        one.into_iter().chain(list.split(", ").filter(|word| !word.is_empty()))
    })
}

/// The text of a comment within a documentation string.
fn documentation(comment: Option<&String>) -> String {
    let Some(comment) = comment else { return String::new() };
    let comment = comment.replace('\\', r"\\").replace(r#"""""#, "'''");
    comment.lines().fold(row(""), |text, line| text + &row(line.trim_end()))
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
        Shape::Record(key) => raw(&surface.record(key)),
        _ => "ctypes.c_void_p".to_owned(),
    }
}

/// What a buffer's elements are: bytes, where C has characters or nothing.
fn element(kind: &CType, surface: &Surface<'_>) -> String {
    match surface::element(kind) {
        Some(element) if element.is_bool() => "ctypes.c_ubyte".to_owned(),
        Some(element) => ctype(element, surface),
        None => "ctypes.c_ubyte".to_owned(),
    }
}

/// The same of a buffer that goes in: nothing is written among bools but bools.
fn element_in(kind: &CType, surface: &Surface<'_>) -> String {
    match surface::element(kind) {
        Some(element) if element.is_bool() => "ctypes.c_bool".to_owned(),
        _ => element(kind, surface),
    }
}

/// The name of an enumeration's class.
fn enumeration(key: &str) -> String {
    word(&crate::name::word(key.trim_start_matches("enum ")))
}

/// Sizes as numbers of Python's, which all fit.
const SIZES: Words = Words {
    number: "@X@",
    minus: "-(@X@)",
    not: "int(not (@X@))",
    choice: "(@Y@ if @X@ else @Z@)",
    exact: ["(@X@ + @Y@)", "(@X@ - @Y@)", "(@X@ * @Y@)", "_divide(@X@, @Y@)", "_remainder(@X@, @Y@)"],
    compared: "int(@X@ @S@ @Y@)",
    logic: ["int(bool(@X@ and @Y@))", "int(bool(@X@ or @Y@))"],
};
