//! Bindings for C++17: a header of typed functions over the client in C, with the original header's own types.
mod function;
mod table;
mod types;

use super::binding::arithmetic::Words;
use super::binding::surface::{Surface, globals, words};
use super::binding::types::{Type, What};
use super::binding::{commented, is_unambiguous, left_out, with_client};
use super::template::{row, template};
use super::{File, Target, c};
use crate::header::model::{CType, Shape};
use crate::plan::Plan;

/// The header, and the client that programs are linked with.
///
/// # Errors
/// A header that no program in C++ can include, or two things that would have one name.
pub fn client(plan: &Plan, target: &Target) -> Result<Vec<File>, String> {
    let surface = Surface::of(plan, target);
    is_includable(plan)?;
    let is_taken = |name: &str| {
        [WORDS, WORDS_OF_BOTH, NAMES].iter().any(|taken| taken.split(' ').any(|taken| taken == name))
    };
    let space = match globals(plan).contains(&*surface.name) || is_taken(&surface.name) {
        true => surface.name.clone() + "_",
        false => surface.name.clone(),
    };
    let writer = Space { surface: &surface, space: &space };
    let types = surface.types(surface.used());
    let mut items: String = types.iter().map(|kind| types::declaration(kind, &writer)).collect();
    let mut results = Vec::new();
    for function in &surface.functions {
        let form = surface.function(function);
        items += &function::function(&form, &writer);
        results.extend((form.gives() > 1).then(|| function::result_name(function)));
    }
    let is_class = |kind: &&Type<'_>| !matches!(kind.what, What::Enumeration(..) | What::Plain(..));
    let classes = types.iter().filter(is_class).map(|kind| word(&kind.name)).chain(results);
    let names = classes.chain(surface.functions.iter().map(|function| word(&function.name)));
    is_unambiguous(names, "C++", "functions and classes")?;
    let read = c::as_read(plan);
    let read = read.map(|(name, condition)| {
        template!("cpp/as_read.hpp.in", NAME = name, CONDITION = condition.replace("_Alignof", "alignof"))
    });
    let hidden = surface.functions.iter().map(|function| row(format!("#undef {}", function.name)));
    let include = match target.knows_cpp {
        true => row(format!("#include <{}>", target.header)),
        false => template!("cpp/include_c.hpp.in", HEADER = target.header),
    };
    let text = template!(
        "cpp/header.hpp.in",
        NAME = surface.name,
        GUARD = surface.name.to_uppercase(),
        FLAGS = target.flags().join(" "),
        LEFT_OUT = left_out(&surface, "//", |why| why.to_owned()),
        DEFINES = target.defines.iter().map(|define| c::defined(define)).collect::<String>(),
        INCLUDE = include,
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
    fn own(&self, name: &str) -> String {
        format!("::{}::{}", self.space, word(name))
    }

    /// C's structure.
    fn raw_record(&self, key: &str) -> String {
        qualified(&self.surface.plan.records[key].spelling)
    }

    /// All values of an enumeration.
    fn values(&self, key: &str) -> String {
        format!("lgs_values_{}", crate::name::word(key.trim_start_matches("enum ")))
    }
}

/// A name that this header's own text has already gets `_` behind it.
fn word(name: &str) -> String {
    const TAKEN: [&str; 7] = ["error", "error_kind", "memory", "number_of", "place", "span", "text"];
    if TAKEN.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

/// A field of a class: C++ takes one of the class's own name for its constructor.
fn member(class: &str, name: &str) -> String {
    if name == class { format!("{name}_") } else { name.to_owned() }
}

/// Words of C++ that C does not have.
const WORDS: &str = "alignas alignof and and_eq asm bitand bitor bool catch char16_t char32_t class compl const_cast constexpr decltype delete dynamic_cast explicit export false friend mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public reinterpret_cast static_assert static_cast template this thread_local throw true try typeid typename using virtual wchar_t xor xor_eq";

/// Words of both.
const WORDS_OF_BOTH: &str = "auto break case char const continue default do double else enum extern float for goto if inline int long register return short signed sizeof static struct switch typedef union unsigned void volatile while";

/// What the binding's own text, and the headers that it includes, have outside of all namespaces: no other can have these names.
const NAMES: &str = "lockgate std abi assert errno main stderr stdin stdout";

/// What C++ cannot include has no bindings for C++.
fn is_includable(plan: &Plan) -> Result<(), String> {
    match words(plan).find(|name| WORDS.split(' ').any(|word| word == *name)) {
        None => Ok(()),
        Some(name) => Err(format!("no program in C++ can include this header: {name} is a word of C++")),
    }
}

/// The text of a comment. (A \ at a line's end would join it with the next one.)
fn documentation(comment: Option<&String>) -> String {
    let text = |comment: &String| commented(comment, "//", |line| line.trim_end_matches('\\').to_owned());
    comment.map_or_else(String::new, |comment| row("//") + &text(comment))
}

/// A variable of this type.
fn declared(kind: &str, name: &str) -> String {
    format!("{kind}{}{name}", if kind.ends_with(['&', '*']) { "" } else { " " })
}

/// A type as C's header has it, from within any namespace.
fn qualified(spelling: &str) -> String {
    const WORDS: &str =
        " __int128 bool char double enum float int long short signed struct union unsigned void wchar_t ";
    let word = |word: &str| match word {
        "_Bool" => "bool".to_owned(),
        word if WORDS.contains(&format!(" {word} ")) => word.to_owned(),
        name => format!("::{name}"),
    };
    let words = spelling.split_ascii_whitespace().filter(|word| !["const", "volatile"].contains(word));
    words.map(word).collect::<Vec<String>>().join(" ")
}

/// A type that crosses: a number, a structure, or a pointer that is not followed.
fn ctype(kind: &CType) -> String {
    match &kind.shape {
        Shape::Array(element, count) => format!("std::array<{}, {count}>", ctype(element)),
        Shape::Pointer(_) | Shape::Function(_) => "void *".to_owned(),
        Shape::Integer { .. } if kind.spelling.contains('(') => sized(kind),
        _ => qualified(&kind.spelling),
    }
}

/// An integer without a name.
fn sized(kind: &CType) -> String {
    let signed = matches!(kind.shape, Shape::Integer { signed: true, .. });
    format!("std::{}int{}_t", if signed { "" } else { "u" }, kind.size * 8)
}

/// The type that the library calls a function with: any number may come as one of an enumeration.
fn abi(kind: &CType) -> String {
    if kind.enumeration.is_some() { sized(kind) } else { ctype(kind) }
}

/// Sizes as numbers that throw what does not fit.
const SIZES: Words = Words {
    number: "lgs::number(@X@u)",
    minus: "(lgs::number(0) - @X@)",
    not: "lgs::number(!@X@)",
    choice: "(@X@ ? @Y@ : @Z@)",
    exact: ["(@X@ + @Y@)", "(@X@ - @Y@)", "(@X@ * @Y@)", "(@X@ / @Y@)", "(@X@ % @Y@)"],
    compared: "(@X@ @S@ @Y@)",
    logic: ["lgs::number(@X@ && @Y@)", "lgs::number(@X@ || @Y@)"],
};
