//! A parser for C prototypes, as far as they matter for calls.
use crate::types::{Field, Signature, Type};
use crate::words::{Base, is_keyword, is_of_types, named};
use std::str::FromStr;

/// Nesting of structures and parentheses, at most.
const MAX_DEPTH: usize = 32;

/// Largest structure, bytes. (Calls take smaller ones; this bounds what the parser makes of a hostile text.)
const MAX_SIZE: usize = 1 << 20;

/// Most fields of all structures together, those of repeated ones counted each time.
const MAX_FIELDS: usize = 1 << 14;

/// Most fields that are counted, those behind pointers, which come to nothing, and at each level of nesting included.
const MAX_COUNTED: usize = MAX_DEPTH * MAX_FIELDS;

/// Of pointers, and of parameters that are arrays.
const QUALIFIERS: &[&str] = &["const", "volatile", "restrict", "__restrict", "__restrict__"];

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
        while ["extern", "static", "inline"].iter().any(|word| self.accept_word(word)) {}
        let base = self.base()?;
        let pointer = self.stars();
        let name = self.name()?.ok_or("expected the function's name")?.to_owned();
        let result = finish(base, pointer)?;
        self.expect("(")?;
        let mut parameters = Vec::new();
        for parameter in self.parameters(false)? {
            parameters.push(finish(parameter, false)?);
        }
        self.accept(";");
        if !self.rest().is_empty() {
            return Err("expected the end of the prototype".to_owned());
        }
        Ok(Signature { name, result, parameters })
    }

    /// What follows the parenthesis, up to the one that closes it.
    fn parameters(&mut self, variable: bool) -> Parsed<Vec<Base>> {
        let mut parameters = Vec::new();
        if self.accept(")") || self.accept_none() {
            return Ok(parameters);
        }
        loop {
            if self.accept("...") {
                if variable && !parameters.is_empty() {
                    self.expect(")")?;
                    return Ok(parameters);
                }
                return Err(
                    "functions with variable arguments cannot be bound; export one with fixed arguments"
                        .to_owned(),
                );
            }
            parameters.push(self.parameter()?);
            if self.accept(")") {
                return Ok(parameters);
            }
            self.expect(",")?;
        }
    }

    /// `void` in place of parameters, which is no parameter's type.
    fn accept_none(&mut self) -> bool {
        let before = self.at;
        if self.accept_word("void") && self.accept(")") {
            return true;
        }
        self.at = before;
        false
    }

    /// The type of a parameter, and what follows that: stars, a name, arrays, or a function pointer's parentheses.
    fn parameter(&mut self) -> Parsed<Base> {
        self.accept_word("register");
        let base = self.base()?;
        let pointer = self.stars();
        let is_void = !pointer && is_void(&base);
        if self.accept("(") {
            self.pointer_in_parentheses(is_void, false)?;
            return Ok(Base::Known(Type::Pointer));
        }
        self.name()?;
        let array = self.dimensions(true)?;
        if is_void {
            return Err("a parameter cannot have type void".to_owned());
        }
        Ok(if pointer || array { Base::Known(Type::Pointer) } else { base })
    }

    /// What follows the first parenthesis of `(*name[n])(…)` or `(*name)[n]`. Returns how many such pointers a field has.
    fn pointer_in_parentheses(&mut self, is_void: bool, field: bool) -> Parsed<usize> {
        if !self.stars() {
            return Err("expected a pointer in the parentheses: `(*name)(…)`".to_owned());
        }
        let count = match (self.name()?, field) {
            (Some(_), true) => self.array_length()?,
            (None, true) => return Err("expected a field's name".to_owned()),
            (_, false) => usize::from(self.dimensions(false)?),
        };
        self.expect(")")?;
        if self.accept("(") {
            self.deeper()?;
            // What they are comes to nothing.
            self.parameters(true)?;
            self.depth -= 1;
        } else if self.dimensions(false)? && is_void {
            return Err("an array cannot have elements of type void".to_owned());
        }
        Ok(count)
    }

    /// Array suffixes whose lengths come to nothing; true if there are any.
    fn dimensions(&mut self, of_parameter: bool) -> Parsed<bool> {
        let mut any = false;
        while self.accept("[") {
            let mut may_be_empty = !any;
            any = true;
            if of_parameter && may_be_empty {
                may_be_empty = !self.accept_word("static");
                while QUALIFIERS.iter().any(|word| self.accept_word(word)) {}
            }
            if may_be_empty && self.accept("]") {
                continue;
            }
            if !self.accept("*") && self.number()?.is_none() && self.name()?.is_none() {
                return Err("expected the array's length, a number".to_owned());
            }
            self.expect("]")?;
        }
        Ok(any)
    }

    fn deeper(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(format!("nested more than {MAX_DEPTH} deep")) } else { Ok(()) }
    }

    /// Qualifiers and the words of a type.
    fn base(&mut self) -> Parsed<Base> {
        self.deeper()?;
        let mut words: Vec<&str> = Vec::new();
        let base = loop {
            let before = self.at;
            let Some(word) = self.word() else { break named(&words)? };
            match word {
                "const" | "volatile" => {}
                "struct" if words.is_empty() => break self.structure()?,
                "union" if words.is_empty() => break self.union()?,
                "enum" if words.is_empty() => break self.enumeration()?,
                word if is_of_types(word) && words.iter().all(|word| is_of_types(word)) => words.push(word),
                word if is_keyword(word) => {
                    self.at = before;
                    return Err(format!("`{word}` is not understood here"));
                }
                word if words.is_empty() && !starts_with_digit(word) => words.push(word),
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
        if !self.accept_tag()? {
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
                let field = self.field(&base)?;
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

    fn field(&mut self, base: &Base) -> Parsed<Field> {
        let pointer = self.stars();
        let is_void = !pointer && is_void(base);
        if self.accept("(") {
            let count = self.pointer_in_parentheses(is_void, true)?;
            return Ok(Field { kind: Type::Pointer, count });
        }
        self.refuse_bits()?;
        self.name()?.ok_or("expected a field's name")?;
        if is_void {
            return Err("a field cannot have type void".to_owned());
        }
        let kind = finish(base.clone(), pointer)?;
        Ok(Field { kind, count: self.array_length()? })
    }

    fn array_length(&mut self) -> Parsed<usize> {
        let mut count = 1_usize;
        while self.accept("[") {
            let length = self.number()?.ok_or("expected the array's length, a number")?;
            count = count.checked_mul(length).filter(|&c| c <= 1 << 20).ok_or("the array is too large")?;
            self.expect("]")?;
        }
        self.refuse_bits()?;
        Ok(count)
    }

    fn refuse_bits(&mut self) -> Parsed<()> {
        if self.accept(":") { Err("bit-fields cannot be passed by value".to_owned()) } else { Ok(()) }
    }

    /// A number, if a word that begins with a digit follows. One that begins with 0 would be octal, or hexadecimal, to C.
    fn number(&mut self) -> Parsed<Option<usize>> {
        let before = self.at;
        let Some(digits) = self.word().filter(|word| starts_with_digit(word)) else {
            self.at = before;
            return Ok(None);
        };
        let wrong = || format!("`{digits}` is not a decimal number");
        if digits.starts_with('0') && digits != "0" {
            return Err(wrong());
        }
        digits.parse().map(Some).map_err(|_| wrong())
    }

    fn enumeration(&mut self) -> Parsed<Base> {
        let int = Ok(Base::Known(Type::Integer { bytes: 4, signed: true }));
        if !self.accept_tag()? {
            return int;
        }
        let mut next = 0_i64;
        loop {
            self.name()?.ok_or("expected an enumerator's name")?;
            if self.accept("=") {
                let sign = if self.accept("-") { -1 } else { 1 };
                let value = self.number()?.ok_or("expected the enumerator's value, a decimal number")?;
                next = sign * i64::try_from(value).unwrap_or(i64::MAX);
            }
            if i32::try_from(next).is_err() {
                return Err(
                    "an enumerator does not fit an int: the enumeration may be larger than one".to_owned()
                );
            }
            next += 1;
            let more = self.accept(",");
            if self.accept("}") {
                return int;
            }
            if !more {
                return Err("expected `,` or `}`".to_owned());
            }
        }
    }

    fn union(&mut self) -> Parsed<Base> {
        if self.accept_tag()? {
            self.skip_until_closed()?;
        }
        Ok(Base::Unknown("a union cannot be passed by value; pass a pointer".to_owned()))
    }

    /// A tag, or a brace, or both; true if there is a brace.
    fn accept_tag(&mut self) -> Parsed<bool> {
        let tag = self.name()?;
        let brace = self.accept("{");
        if tag.is_none() && !brace {
            return Err("expected a tag or `{`".to_owned());
        }
        Ok(brace)
    }

    fn stars(&mut self) -> bool {
        let mut any = false;
        loop {
            if self.accept("*") {
                any = true;
            } else if !(any && QUALIFIERS.iter().any(|word| self.accept_word(word))) {
                return any;
            }
        }
    }

    /// Skips to the brace that closes the one just read.
    fn skip_until_closed(&mut self) -> Parsed<()> {
        let mut open = vec!['}'];
        for (index, character) in self.text[self.at..].char_indices() {
            match character {
                '(' => open.push(')'),
                '[' => open.push(']'),
                '{' => open.push('}'),
                ')' | ']' | '}' if open.pop() != Some(character) => break,
                // Where comments and literals end, a parser knows that reads them.
                '/' | '"' | '\'' | '\\' | '#' | '?' | '<' | '%' => break,
                _ => {}
            }
            if open.is_empty() {
                self.at += index + 1;
                return Ok(());
            }
        }
        Err("a brace is not closed, or there is more than declarations".to_owned())
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

    /// A declared name, if there is one.
    fn name(&mut self) -> Parsed<Option<&'a str>> {
        let before = self.at;
        match self.word() {
            Some(word) if is_keyword(word) || starts_with_digit(word) => {
                self.at = before;
                Err(format!("`{word}` is not a name"))
            }
            word => Ok(word),
        }
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

fn starts_with_digit(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

fn is_void(base: &Base) -> bool {
    matches!(base, Base::Known(Type::Void))
}

fn finish(base: Base, pointer: bool) -> Parsed<Type> {
    match base {
        _ if pointer => Ok(Type::Pointer),
        Base::Known(kind) => Ok(kind),
        Base::Unknown(what) => Err(what),
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
        ("extern long unsigned int long f(register int x)", "uint64_t f(int32_t)"),
        (
            "int f(unsigned size_t, enum { A, B = -1, C, } e, int a[static 3][4])",
            "int32_t f(uint32_t, int32_t, void *)",
        ),
        (
            "int f(long double *, union u { int a[3]; } *, int (*f[])(FILE, ...))",
            "int32_t f(void *, void *, void *)",
        ),
        (
            "int f(struct { int (*f[2][3])(int), *x, y; })",
            "int32_t f(struct { void * f0[6]; void * f1; int32_t f2; })",
        ),
        ("struct { int (*p)[4], (*q); } f(void)", "struct { void * f0; void * f1; } f(void)"),
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
        // Valid C that is something else than a short reader takes it for.
        ("struct { int a[010]; } f(void)", "not a decimal number"),
        ("struct { int a[0x10]; } f(void)", "not a decimal number"),
        ("struct { int a[08]; } f(void)", "not a decimal number"),
        ("struct { int *(*(*f[2])(int))[3]; } f(void)", "expected a field's name"),
        ("struct { double (x); } f(void)", "expected a pointer"),
        ("int f(double (x))", "expected a pointer"),
        ("int f(float (f), int n)", "expected a pointer"),
        ("int f(double (f)(double))", "expected a pointer"),
        ("int f(double _Complex)", "_Complex is not supported"),
        ("int f(float complex, int)", "complex is not supported"),
        ("int f(unsigned __int128)", "__int128 is not supported"),
        ("int f(__attribute__((vector_size(16))) float x)", "`__attribute__` is not understood"),
        ("struct __attribute__((packed)) { char c; int i; } f(void)", "`__attribute__` is not a name"),
        ("struct { char c; int i; } __attribute__((packed)) f(void)", "`__attribute__` is not a name"),
        ("struct { _Alignas(16) char c; } f(void)", "`_Alignas` is not understood"),
        ("struct { enum { A = 4294967296 } e; } f(void)", "larger than"),
        ("struct { enum { A = 2147483647, B } e; } f(void)", "larger than"),
        ("int f(union { int a; /* } * */ } u)", "more than declarations"),
        // No C.
        ("int f(unsigned float)", "not a type"),
        ("int f(short char)", "not a type"),
        ("int f(int char)", "not a type"),
        ("int f(long long long)", "not a type"),
        ("int f(signed unsigned)", "not a type"),
        ("int f(unsigned struct { int a; } x)", "`struct` is not understood"),
        ("int f(void, int)", "a parameter cannot have type void"),
        ("int f(int, void)", "a parameter cannot have type void"),
        ("int f(void x)", "a parameter cannot have type void"),
        ("int f(void x[])", "a parameter cannot have type void"),
        ("int f(void (*x)[3])", "cannot have elements of type void"),
        ("struct { void x; } f(void)", "a field cannot have type void"),
        ("int int(void)", "not a type"),
        ("int f(int while)", "`while` is not understood"),
        ("int f(foo *while)", "`while` is not a name"),
        ("int f(int 3x)", "`3x` is not a name"),
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
