//! The words of C: which are no names, and which together are a type.
use crate::types::Type;

/// A type, or why it can only be pointed to.
#[derive(Clone)]
pub(crate) enum Base {
    Known(Type),
    Unknown(String),
}

/// Words of which types are made.
const OF_TYPES: &[&str] =
    &["void", "char", "short", "int", "long", "signed", "unsigned", "float", "double", "_Bool", "bool"];

/// Words of types that signatures do not have.
const OF_OTHER_TYPES: &[&str] = &[
    "_BitInt",
    "_Complex",
    "_Decimal128",
    "_Decimal32",
    "_Decimal64",
    "_Float128",
    "_Float128x",
    "_Float16",
    "_Float32",
    "_Float32x",
    "_Float64",
    "_Float64x",
    "_Imaginary",
    "__bf16",
    "__complex",
    "__complex__",
    "__float128",
    "__float80",
    "__ibm128",
    "__int128",
    "complex",
    "imaginary",
];

/// The other words that C, its compilers or its usual headers keep for themselves.
const OTHERS: &[&str] = &[
    "_Alignas",
    "_Alignof",
    "_Atomic",
    "_Generic",
    "_Noreturn",
    "_Static_assert",
    "_Thread_local",
    "__alignof",
    "__alignof__",
    "__asm",
    "__asm__",
    "__attribute",
    "__attribute__",
    "__auto_type",
    "__const",
    "__const__",
    "__extension__",
    "__imag",
    "__imag__",
    "__inline",
    "__inline__",
    "__label__",
    "__real",
    "__real__",
    "__restrict",
    "__restrict__",
    "__seg_fs",
    "__seg_gs",
    "__signed",
    "__signed__",
    "__thread",
    "__typeof",
    "__typeof__",
    "__volatile",
    "__volatile__",
    "alignas",
    "alignof",
    "asm",
    "auto",
    "break",
    "case",
    "const",
    "constexpr",
    "continue",
    "default",
    "do",
    "else",
    "enum",
    "extern",
    "false",
    "for",
    "goto",
    "if",
    "inline",
    "nullptr",
    "register",
    "restrict",
    "return",
    "sizeof",
    "static",
    "static_assert",
    "struct",
    "switch",
    "thread_local",
    "true",
    "typedef",
    "typeof",
    "typeof_unqual",
    "union",
    "volatile",
    "while",
];

/// Whether types are made of the word, those that signatures do not have included.
pub(crate) fn is_of_types(word: &str) -> bool {
    OF_TYPES.contains(&word) || OF_OTHER_TYPES.contains(&word)
}

/// Whether nothing can be called that.
pub(crate) fn is_keyword(word: &str) -> bool {
    is_of_types(word) || OTHERS.contains(&word)
}

/// The type that these words are together.
pub(crate) fn named(words: &[&str]) -> Result<Base, String> {
    match words {
        [] => Err("expected a type".to_owned()),
        [name] if !is_of_types(name) => Ok(typedef(name)),
        words => match words.iter().find(|word| OF_OTHER_TYPES.contains(word)) {
            Some(word) => Err(format!("{word} is not supported in signatures")),
            None => arithmetic(words),
        },
    }
}

fn typedef(name: &str) -> Base {
    let integer = |bytes, signed| Base::Known(Type::Integer { bytes, signed });
    match name {
        "int8_t" => integer(1, true),
        "uint8_t" => integer(1, false),
        "int16_t" => integer(2, true),
        "uint16_t" => integer(2, false),
        "int32_t" => integer(4, true),
        "uint32_t" => integer(4, false),
        "int64_t" | "ssize_t" | "ptrdiff_t" | "intptr_t" | "off_t" | "time_t" | "intmax_t" => {
            integer(8, true)
        }
        "uint64_t" | "size_t" | "uintptr_t" | "uintmax_t" => integer(8, false),
        name => Base::Unknown(format!(
            "unknown type `{name}`; write the type that it stands for (int64_t, struct {{ … }})"
        )),
    }
}

/// Words of C's own types, in any order, in the combinations that C has (C17 6.7.2).
fn arithmetic(words: &[&str]) -> Result<Base, String> {
    let count = |wanted: &str| words.iter().filter(|word| **word == wanted).count();
    let long = count("long");
    let repeated = words.iter().any(|word| count(word) > if *word == "long" { 2 } else { 1 });
    let signs = count("signed") + count("unsigned");
    // What is left of the words when those are taken out that any integer may have.
    let mut kind: Vec<&str> =
        words.iter().filter(|word| !["signed", "unsigned"].contains(word)).copied().collect();
    let plain = kind.len();
    if kind.iter().all(|word| ["short", "int", "long"].contains(word)) {
        kind.retain(|word| *word != "int");
    }
    kind.sort_unstable();
    let integer = |bytes| Ok(Type::Integer { bytes, signed: count("unsigned") == 0 });
    let alone = |kind| if signs == 0 { Ok(kind) } else { Err(()) };
    let found = match &kind[..] {
        _ if repeated || signs > 1 => Err(()),
        [] if plain + signs > 0 => integer(4),
        ["char"] => integer(1),
        ["short"] => integer(2),
        ["long"] | ["long", "long"] => integer(8),
        ["void"] => alone(Type::Void),
        ["float"] => alone(Type::Float),
        ["double"] => alone(Type::Double),
        ["_Bool" | "bool"] => alone(Type::Bool),
        ["double", "long"] if long == 1 && signs == 0 => {
            return Ok(Base::Unknown("long double is not supported in signatures; use double".to_owned()));
        }
        _ => Err(()),
    };
    found.map(Base::Known).map_err(|()| format!("`{}` is not a type", words.join(" ")))
}
