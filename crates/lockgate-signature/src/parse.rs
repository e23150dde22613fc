//! A parser for C prototypes, as far as they matter for calls.
use crate::types::{Field, Signature, Type};
use std::str::FromStr;

/// Nesting of structures and parentheses, at most.
const MAX_DEPTH: usize = 32;

/// Largest structure, bytes. (Calls take smaller ones; this bounds what the parser makes of a hostile text.)
const MAX_SIZE: usize = 1 << 20;

/// Most fields of all structures together, those of repeated ones counted each time.
const MAX_FIELDS: usize = 1 << 14;

/// Most fields that are counted, those behind pointers, which come to nothing, and at each level of nesting included.
const MAX_COUNTED: usize = MAX_DEPTH * MAX_FIELDS;

/// A prototype that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("prototype `{prototype}`: {what} (at character {at})")]
pub struct PrototypeError {
    /// The text.
    pub prototype: String,
    /// What is wrong and what to write instead.
    pub what: String,
    /// Position, from 1.
    pub at: usize,
}

impl FromStr for Signature {
    type Err = PrototypeError;

    /// Parses `double cbrt(double)`, `struct { double x; int n; } f(const char *s, size_t n)` and the like.
    fn from_str(text: &str) -> Result<Signature, PrototypeError> {
        let mut parser = Parser { text, at: 0, depth: 0, fields: 0, counted: 0 };
        parser.signature().map_err(|what| PrototypeError {
            prototype: text.to_owned(),
            what,
            at: parser.at.min(text.len()) + 1,
        })
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Fields so far.
    fields: usize,
    counted: usize,
}

type Parsed<T> = Result<T, String>;

impl<'a> Parser<'a> {
    fn signature(&mut self) -> Parsed<Signature> {
        let base = self.base()?;
        let pointer = self.stars();
        let name = self.word().ok_or("expected the function's name")?.to_owned();
        let result = finish(base, pointer)?;
        self.expect("(")?;
        let parameters = self.parameters()?;
        self.accept(";");
        if !self.rest().is_empty() {
            return Err("expected the end of the prototype".to_owned());
        }
        Ok(Signature { name, result, parameters })
    }

    fn parameters(&mut self) -> Parsed<Vec<Type>> {
        let mut parameters = Vec::new();
        if self.accept(")") {
            return Ok(parameters);
        }
        loop {
            if self.accept("...") {
                return Err(
                    "functions with variable arguments cannot be bound; export one with fixed arguments"
                        .to_owned(),
                );
            }
            let base = self.base()?;
            let kind = self.declarator(base)?;
            match kind {
                Base::Known(Type::Void) if parameters.is_empty() && self.accept(")") => {
                    return Ok(parameters);
                }
                kind => parameters.push(finish(kind, false)?),
            }
            if self.accept(")") {
                return Ok(parameters);
            }
            self.expect(",")?;
        }
    }

    /// What follows the type of a parameter: stars, a name, arrays, or a function pointer's parentheses.
    fn declarator(&mut self, base: Base) -> Parsed<Base> {
        if self.stars() {
            self.skip_name_and_suffix()?;
            return Ok(Base::Known(Type::Pointer));
        }
        if self.accept("(") {
            // `int (*name)(…)`: a pointer whatever it points to.
            self.skip_until_closed()?;
            while self.accept("(") || self.accept("[") {
                self.skip_until_closed()?;
            }
            return Ok(Base::Known(Type::Pointer));
        }
        let array = self.skip_name_and_suffix()?;
        Ok(if array { Base::Known(Type::Pointer) } else { base })
    }

    /// A name and array suffixes; true if there were any of the latter.
    fn skip_name_and_suffix(&mut self) -> Parsed<bool> {
        self.word();
        let mut array = false;
        while self.accept("[") {
            self.skip_until_closed()?;
            array = true;
        }
        Ok(array)
    }

    /// Qualifiers and the words of a type.
    fn base(&mut self) -> Parsed<Base> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("nested more than {MAX_DEPTH} deep"));
        }
        let mut words: Vec<&str> = Vec::new();
        let base = loop {
            let before = self.at;
            let Some(word) = self.word() else { break named(&words)? };
            match word {
                "const" | "volatile" | "restrict" | "__restrict" | "extern" | "static" | "register"
                | "inline" => {}
                "struct" => break self.structure()?,
                "union" => break self.tagged("union")?,
                "enum" => break self.enumeration()?,
                word if words.is_empty() || (is_keyword(word) && words.iter().all(|w| is_keyword(w))) => {
                    words.push(word)
                }
                _ => {
                    self.at = before; // the declared name
                    break named(&words)?;
                }
            }
        };
        while self.accept_word("const") || self.accept_word("volatile") {}
        self.depth -= 1;
        Ok(base)
    }

    fn structure(&mut self) -> Parsed<Base> {
        let before = self.at;
        if self.word().is_none() {
            self.at = before;
        }
        if !self.accept("{") {
            return Ok(Base::Unknown(
                "struct without its fields; write them out: struct { double x; int n; }".to_owned(),
            ));
        }
        let mut fields = Vec::new();
        let mut size = 0;
        let (before, mut own) = (self.fields, 0);
        while !self.accept("}") {
            let base = self.base()?;
            loop {
                let pointer = self.stars();
                let field = if self.accept("(") {
                    self.skip_until_closed()?;
                    self.expect("(")?;
                    self.skip_until_closed()?;
                    Field { kind: Type::Pointer, count: 1 }
                } else {
                    self.word().ok_or("expected a field's name")?;
                    let kind = finish(base.clone(), pointer)?;
                    Field { kind, count: self.array_length()? }
                };
                // Counted as the type has them, however it is written: once for a structure and what it is named several times.
                let more = 1 + field.kind.fields();
                own += more;
                self.fields = before + own;
                self.counted += more;
                size += field.kind.size() * field.count;
                if self.fields > MAX_FIELDS || self.counted > MAX_COUNTED || size > MAX_SIZE {
                    return Err("the structure is too large".to_owned());
                }
                fields.push(field);
                if self.accept(";") {
                    break;
                }
                self.expect(",")?;
            }
        }
        Ok(Base::Known(Type::Struct(fields)))
    }

    fn array_length(&mut self) -> Parsed<usize> {
        let mut count = 1_usize;
        while self.accept("[") {
            let digits = self.word().ok_or("expected the array's length, a number")?;
            let length: usize =
                digits.parse().map_err(|_| format!("array length `{digits}` is not a number"))?;
            count = count.checked_mul(length).filter(|&c| c <= 1 << 20).ok_or("the array is too large")?;
            self.expect("]")?;
        }
        if self.accept(":") {
            return Err("bit-fields cannot be passed by value".to_owned());
        }
        Ok(count)
    }

    fn enumeration(&mut self) -> Parsed<Base> {
        self.word();
        if self.accept("{") {
            self.skip_until_closed()?;
        }
        Ok(Base::Known(Type::Integer { bytes: 4, signed: true }))
    }

    fn tagged(&mut self, kind: &str) -> Parsed<Base> {
        self.word();
        if self.accept("{") {
            self.skip_until_closed()?;
        }
        Ok(Base::Unknown(format!("a {kind} cannot be passed by value; pass a pointer")))
    }

    fn stars(&mut self) -> bool {
        let mut any = false;
        loop {
            if self.accept("*") {
                any = true;
            } else if !(any
                && ["const", "volatile", "restrict", "__restrict"].iter().any(|q| self.accept_word(q)))
            {
                return any;
            }
        }
    }

    /// Skips to the parenthesis, bracket or brace that closes the one just read.
    fn skip_until_closed(&mut self) -> Parsed<()> {
        let mut depth = 1;
        for (index, character) in self.text[self.at..].char_indices() {
            match character {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                self.at += index + 1;
                return Ok(());
            }
        }
        Err("a parenthesis is not closed".to_owned())
    }

    fn rest(&mut self) -> &'a str {
        let rest = self.text[self.at..].trim_start();
        self.at = self.text.len() - rest.len();
        rest
    }

    fn word(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        self.at += length;
        (length > 0).then(|| &rest[..length])
    }

    fn accept_word(&mut self, wanted: &str) -> bool {
        let before = self.at;
        if self.word() == Some(wanted) {
            return true;
        }
        self.at = before;
        false
    }

    fn accept(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Parsed<()> {
        if self.accept(token) { Ok(()) } else { Err(format!("expected `{token}`")) }
    }
}

/// A type, or why it can only be pointed to.
#[derive(Clone)]
enum Base {
    Known(Type),
    Unknown(String),
}

fn finish(base: Base, pointer: bool) -> Parsed<Type> {
    match base {
        _ if pointer => Ok(Type::Pointer),
        Base::Known(kind) => Ok(kind),
        Base::Unknown(what) => Err(what),
    }
}

fn is_keyword(word: &str) -> bool {
    ["void", "char", "short", "int", "long", "signed", "unsigned", "float", "double", "_Bool"].contains(&word)
}

fn named(words: &[&str]) -> Parsed<Base> {
    let integer = |bytes, signed| Ok(Base::Known(Type::Integer { bytes, signed }));
    let count = |wanted: &str| words.iter().filter(|w| **w == wanted).count();
    if let [name] = words
        && !is_keyword(name)
    {
        return match *name {
            "int8_t" => integer(1, true),
            "bool" => Ok(Base::Known(Type::Bool)),
            "uint8_t" => integer(1, false),
            "int16_t" => integer(2, true),
            "uint16_t" => integer(2, false),
            "int32_t" => integer(4, true),
            "uint32_t" => integer(4, false),
            "int64_t" | "ssize_t" | "ptrdiff_t" | "intptr_t" | "off_t" | "time_t" | "intmax_t" => {
                integer(8, true)
            }
            "uint64_t" | "size_t" | "uintptr_t" | "uintmax_t" => integer(8, false),
            "__int128" | "_Float128" | "__float128" => Err(format!("{name} is not supported in signatures")),
            name => Ok(Base::Unknown(format!(
                "unknown type `{name}`; write what it stands for (int64_t, struct {{ … }})"
            ))),
        };
    }
    let signed = count("unsigned") == 0;
    match words {
        [] => Err("expected a type".to_owned()),
        ["void"] => Ok(Base::Known(Type::Void)),
        ["float"] => Ok(Base::Known(Type::Float)),
        ["double"] => Ok(Base::Known(Type::Double)),
        ["_Bool"] => Ok(Base::Known(Type::Bool)),
        _ if count("double") > 0 => Err("long double is not supported in signatures; use double".to_owned()),
        _ if count("char") == 1 => integer(1, signed),
        _ if count("short") == 1 => integer(2, signed),
        _ if count("long") > 0 => integer(8, signed),
        _ if count("int") + count("signed") + count("unsigned") > 0 => integer(4, signed),
        _ => Err(format!("`{}` is not a type", words.join(" "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCEPTED: &[(&str, &str)] = &[
        ("double cbrt(double)", "double cbrt(double)"),
        ("int f(void)", "int32_t f(void)"),
        ("unsigned long long int f();", "uint64_t f(void)"),
        ("const char *f(const char *const *s, size_t n)", "void * f(void *, uint64_t)"),
        (
            "void qsort(void *b, size_t n, size_t s, int (*cmp)(const void *, const void *))",
            "void qsort(void *, uint64_t, uint64_t, void *)",
        ),
        ("int f(char s[], struct stat *st, enum color c)", "int32_t f(void *, void *, int32_t)"),
        (
            "struct point { double x, y; } f(sqlite3 *, bool b)",
            "struct { double f0; double f1; } f(void *, _Bool)",
        ),
        ("void f(struct { char a[2][3]; void (*g)(int); })", "void f(struct { int8_t f0[6]; void * f1; })"),
        ("signed char f(short unsigned x, long)", "int8_t f(uint16_t, int64_t)"),
    ];

    const REFUSED: &[(&str, &str)] = &[
        ("int printf(const char *, ...)", "variable arguments"),
        ("long double f(void)", "long double"),
        ("foo f(int)", "unknown type `foo`"),
        ("int f(struct stat s)", "struct without its fields"),
        ("int f(union { int a; } u)", "union cannot be passed"),
        ("int f(int", "expected `,`"),
        ("int f(struct { int a : 3; })", "bit-fields"),
        ("int f(__int128)", "not supported"),
        ("int f(int) junk", "end of the prototype"),
        ("", "expected a type"),
        ("cbrt", "expected the function's name"),
        ("int f(struct { char c[99999999]; })", "too large"),
        ("int f(struct { struct { char c[1048576]; } x[1048576]; })", "too large"),
    ];

    #[test]
    fn prototypes_are_understood() {
        for (text, expected) in ACCEPTED {
            assert_eq!(text.parse::<Signature>().map(|s| s.to_string()).as_deref(), Ok(*expected), "{text}");
        }
    }

    /// What is short as a text and endless as a type: structures in structures, repeated, and without any size.
    /// A structure that is named several times, and the same written out each time.
    #[test]
    fn limits_are_those_of_types_not_of_texts() {
        for (copies, accepted) in [(999, true), (1_100, false)] {
            let names = ", x".repeat(copies);
            let text = format!("struct {{ struct {{ {} }} x{names}; }} f(void)", "int c; ".repeat(15));
            let parsed = text.parse::<Signature>();
            assert_eq!(parsed.is_ok(), accepted, "{copies}");
            let Ok(signature) = parsed else { continue };
            assert_eq!(signature.to_string().parse().as_ref(), Ok(&signature));
        }
    }

    #[test]
    fn hostile_prototypes_are_read_soon() {
        let depth = MAX_DEPTH - 2;
        let deep = format!("{}char c; {}}} f(void)", "struct { ".repeat(depth), "} x; ".repeat(depth - 1));
        assert_eq!(deep.parse::<Signature>().map(|signature| signature.result.size()), Ok(1));
        let empty = "struct { struct { struct { } x[1048576]; } y[1048576]; } f(void)"
            .parse::<Signature>()
            .expect("no size at all");
        assert_eq!((empty.result.size(), empty.result.scalars()), (0, vec![]));
        let (fields, copies) = ("struct { } c; ".repeat(1_000), ", x".repeat(1_000));
        let many = format!("struct {{ struct {{ {fields} }} x{copies}; }} f(void)");
        assert!(many.parse::<Signature>().expect_err("too many fields").what.contains("too large"));
        let flat = |fields| {
            let text = format!("struct {{ char c{}; }} f(void)", ", c".repeat(fields - 1));
            text.parse::<Signature>().map(drop)
        };
        assert!(flat(MAX_FIELDS).is_ok());
        assert!(flat(MAX_FIELDS + 1).expect_err("one too many").what.contains("too large"));
        let dropped = "struct { struct { struct { } x, x; } x".to_owned() + &", x".repeat(5_000) + "; } *p; ";
        let many = format!("struct {{ {} }} f(void)", dropped.repeat(60));
        assert!(many.parse::<Signature>().expect_err("too much behind pointers").what.contains("too large"));
    }

    #[test]
    fn what_cannot_be_called_is_refused_with_a_reason() {
        for (text, expected) in REFUSED {
            let error = text.parse::<Signature>().expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
