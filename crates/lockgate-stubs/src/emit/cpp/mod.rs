//! Bindings for C++17: a header of typed functions over the client in C, with the original header's own types.
mod callback;
mod function;
mod types;

use super::binding::arithmetic::Arithmetic;
use super::binding::surface::{self, Surface};
use super::binding::{left_out, with_client};
use super::template::template;
use super::{File, Target, c};
use crate::expression::Operator;
use crate::header::model::{CType, Shape};
use crate::plan::Plan;
use std::collections::BTreeSet;

/// The header, and the client that programs are linked with.
///
/// # Errors
/// A header that no program in C++ can include, or two things that would have one name.
pub fn client(plan: &Plan, target: &Target) -> Result<Vec<File>, String> {
    let surface = Surface::of(plan, target);
    is_includable(plan)?;
    let space = match types::globals(plan).contains(&surface.name) {
        true => format!("{}_", surface.name),
        false => surface.name.clone(),
    };
    let writer = Space { surface: &surface, space: &space };
    let mut items = types::all(&writer);
    for callback in surface.callbacks() {
        items += &callback::class(&surface.closure(callback), &writer);
    }
    for function in &surface.functions {
        items += &function::function(&surface.function(function), &writer);
    }
    is_unambiguous(&surface, &writer)?;
    let read = c::as_read(plan);
    let read = read.map(|(name, condition)| {
        template!("cpp/as_read.hpp.in", NAME = name, CONDITION = condition.replace("_Alignof", "alignof"))
    });
    let hidden = surface.functions.iter().map(|function| format!("#undef {}\n", function.name));
    let include = format!("#include <{}>\n", target.header);
    let text = template!(
        "cpp/header.hpp.in",
        NAME = surface.name,
        GUARD = surface.name.to_uppercase(),
        FLAGS = target.flags().join(" "),
        LEFT_OUT = left_out(&surface, "//", |why| why.to_owned()),
        DEFINES = target.defines.iter().map(|define| c::defined(define)).collect::<String>(),
        INCLUDE = if target.knows_cpp { include } else { format!("extern \"C\" {{\n{include}}}\n") },
        READ = read.collect::<String>(),
        HIDDEN = hidden.collect::<String>(),
        SPACE = space,
        ITEMS = items,
    );
    let support = include_str!("../../../runtime/cpp/lockgate_stubs.hpp").to_owned();
    let files = vec![
        File { name: format!("{}.hpp", surface.name), text },
        File { name: "lockgate_stubs.hpp".into(), text: support },
    ];
    Ok(with_client(files, plan, target))
}

/// The namespace that everything is written into, and what it is written from.
struct Space<'s, 'a> {
    surface: &'s Surface<'a>,
    space: &'s str,
}

impl Space<'_, '_> {
    /// A class of the namespace, wherever it is spoken of: parameters may have its name.
    fn class(&self, name: &str) -> String {
        format!("::{}::{}", self.space, word(name))
    }

    /// The class of handles of this type.
    fn handle(&self, number: usize) -> String {
        self.class(&self.surface.handle(number))
    }

    /// C's structure, or, of one with pointers, the class in its place.
    fn record(&self, key: &str) -> String {
        match self.surface.plan.records[key].is_plain() {
            true => qualified(&self.surface.plan.records[key].spelling),
            false => self.class(&self.surface.record(key)),
        }
    }

    /// What a buffer's elements are: bytes, where C has characters or nothing.
    fn element(&self, kind: &CType) -> String {
        surface::element(kind).map_or_else(|| "unsigned char".to_owned(), ctype)
    }

    /// The type of an enumeration.
    fn enumeration(&self, key: &str) -> String {
        format!("decltype(::{})", self.surface.plan.enumerations[key][0].0)
    }

    /// What makes a value of an enumeration of a number, or refuses it.
    fn known(&self, key: &str, number: &str, what: &str) -> String {
        format!("lg_{}({number}, \"{what}\")", crate::name::word(key.trim_start_matches("enum ")))
    }
}

/// A name that this header's own text has already gets `_` behind it.
fn word(name: &str) -> String {
    const TAKEN: [&str; 6] = ["error", "error_kind", "memory", "place", "span", "text"];
    if TAKEN.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

const KEYWORDS: &str = "alignas alignof and and_eq asm bitand bitor bool catch char16_t char32_t class compl const_cast constexpr decltype delete dynamic_cast explicit export false friend mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public reinterpret_cast static_assert static_cast template this thread_local throw true try typeid typename using virtual wchar_t xor xor_eq";

/// What C++ cannot include has no bindings for C++.
fn is_includable(plan: &Plan) -> Result<(), String> {
    let names = types::globals(plan);
    let prototypes =
        plan.functions.iter().map(|f| &f.prototype).chain(plan.left_out.iter().map(|l| &l.prototype));
    let parameters = prototypes.flat_map(|p| p.parameters.iter().map(|parameter| &parameter.name));
    let fields = plan.records.values().flat_map(|record| record.fields.iter().map(|field| &field.name));
    let taken = |name: &&String| KEYWORDS.split_ascii_whitespace().any(|word| word == **name);
    match names.iter().chain(parameters).chain(fields).find(taken) {
        None => Ok(()),
        Some(name) => Err(format!("no program in C++ can include this header: {name} is a word of C++")),
    }
}

/// C++ would take one of two things with one name, or refuse the header.
fn is_unambiguous(surface: &Surface<'_>, space: &Space<'_, '_>) -> Result<(), String> {
    let functions = surface.functions.iter().map(|function| word(&function.name));
    let mut known = BTreeSet::new();
    match types::names(space).into_iter().chain(functions).find(|name| !known.insert(name.clone())) {
        None => Ok(()),
        Some(name) => Err(format!(
            "two things of this header would be called {name} in C++, where functions and classes have names of one kind: leave a \
             function out with LG_OMIT"
        )),
    }
}

/// The text of a comment.
fn documentation(comment: Option<&String>) -> String {
    // (A \ at a line's end would join it with the next one.)
    let line = |line: &str| format!("// {}", line.trim_end_matches('\\')).trim_end().to_owned() + "\n";
    comment
        .map(|comment| "//\n".to_owned() + &comment.lines().map(line).collect::<String>())
        .unwrap_or_default()
}

/// A type as C's header has it, from within any namespace.
fn qualified(spelling: &str) -> String {
    const WORDS: &[&str] = &[
        "__int128", "bool", "char", "double", "enum", "float", "int", "long", "short", "signed", "struct",
        "union", "unsigned", "void", "wchar_t",
    ];
    let plain = spelling.split_ascii_whitespace().filter(|word| !["const", "volatile"].contains(word));
    let word = |word: &str| match word {
        "_Bool" => "bool".to_owned(),
        word if WORDS.contains(&word) => word.to_owned(),
        name => format!("::{name}"),
    };
    plain.map(word).collect::<Vec<String>>().join(" ")
}

/// A type that crosses: a number, a structure, or a pointer that nobody follows.
fn ctype(kind: &CType) -> String {
    match &kind.shape {
        Shape::Array(element, count) => format!("std::array<{}, {count}>", ctype(element)),
        Shape::Void | Shape::Integer { .. } | Shape::Float | Shape::Record(_)
            if !kind.spelling.contains('(') =>
        {
            qualified(&kind.spelling)
        }
        Shape::Integer { .. } | Shape::Void | Shape::Float => abi(kind),
        _ => "void *".to_owned(),
    }
}

/// What a processor passes in its place.
fn abi(kind: &CType) -> String {
    match kind.shape {
        Shape::Void => "void".to_owned(),
        _ if kind.is_bool() => "bool".to_owned(),
        Shape::Integer { signed, .. } => {
            format!("std::{}int{}_t", if signed { "" } else { "u" }, kind.size * 8)
        }
        Shape::Float => if kind.size == 4 { "float" } else { "double" }.to_owned(),
        _ => "void *".to_owned(),
    }
}

/// Sizes, as numbers that throw what does not fit. `operand` says what stands for names.
struct Exact<'o>(&'o dyn Fn(&str, bool) -> String);

impl Arithmetic for Exact<'_> {
    fn number(&self, number: u64) -> String {
        format!("lgs::number({number}u)")
    }
    fn operand(&self, name: &str, length: bool) -> String {
        (self.0)(name, length)
    }
    fn unknown(&self) -> String {
        "lgs::number(-1)".to_owned()
    }
    fn minus(&self, x: &str) -> String {
        format!("(lgs::number(0) - {x})")
    }
    fn not(&self, x: &str) -> String {
        format!("lgs::number(!{x})")
    }
    fn choice(&self, x: &str, y: &str, z: &str) -> String {
        format!("({x} ? {y} : {z})")
    }
    fn exact(&self, operator: Operator, x: &str, y: &str) -> String {
        let sign = match operator {
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            _ => "%",
        };
        format!("({x} {sign} {y})")
    }
    fn compared(&self, sign: &str, x: &str, y: &str) -> String {
        format!("({x} {sign} {y})")
    }
    fn joined(&self, both: bool, x: &str, y: &str) -> String {
        format!("lgs::number({x} {} {y})", if both { "&&" } else { "||" })
    }
}
