//! A parser for the part of C that prototypes of entry points need.

use super::{Signature, SignatureError, Type};

/// Longest prototype and deepest nesting of structures that are read: signatures come from modules' notes.
const MAX_LENGTH: usize = 4096;
const MAX_DEPTH: u32 = 8;
const MAX_PARAMETERS: usize = 127;

/// Type names of `<stdint.h>`, `<stddef.h>` and friends: (name, bytes, signed).
const NAMED: [(&str, u8, bool); 22] = [
    ("int8_t", 1, true),
    ("uint8_t", 1, false),
    ("int16_t", 2, true),
    ("uint16_t", 2, false),
    ("int32_t", 4, true),
    ("uint32_t", 4, false),
    ("int64_t", 8, true),
    ("uint64_t", 8, false),
    ("intptr_t", 8, true),
    ("uintptr_t", 8, false),
    ("intmax_t", 8, true),
    ("uintmax_t", 8, false),
    ("size_t", 8, false),
    ("ssize_t", 8, true),
    ("ptrdiff_t", 8, true),
    ("off_t", 8, true),
    ("time_t", 8, true),
    ("wchar_t", 4, true),
    ("char16_t", 2, false),
    ("char32_t", 4, false),
    ("bool", 1, false),
    ("_Bool", 1, false),
];

pub(super) fn prototype(text: &str) -> Result<Signature, SignatureError> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    if text.len() > MAX_LENGTH {
        return Err(parser.error("the prototype is too long"));
    }
    let (base, base_name) = parser.specifiers()?;
    let result = parser.pointers(base, base_name)?;
    let name = parser.word().ok_or_else(|| parser.error("expected the procedure's name"))?.to_owned();
    parser.expect('(')?;
    let parameters = parser.parameters()?;
    parser.eat(';');
    if parser.peek().is_some() {
        return Err(parser.error("unexpected text after the prototype"));
    }
    let result = result
        .ok_or_else(|| parser.error("the result's type is not known; only pointers to it can cross"))?;
    Ok(Signature { name, parameters, result })
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
}

impl<'a> Parser<'a> {
    fn error(&self, reason: &str) -> SignatureError {
        let mut text: String = self.text.chars().take(200).collect();
        text.retain(|c| !c.is_control());
        SignatureError { text, reason: reason.to_owned(), column: self.at + 1 }
    }

    fn peek(&mut self) -> Option<char> {
        let rest = self.text[self.at..].trim_start();
        self.at = self.text.len() - rest.len();
        rest.chars().next()
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    fn expect(&mut self, c: char) -> Result<(), SignatureError> {
        if self.eat(c) { Ok(()) } else { Err(self.error(&format!("expected `{c}`"))) }
    }

    /// The next identifier or keyword.
    fn word(&mut self) -> Option<&'a str> {
        let first = self.peek()?;
        if !first.is_ascii_alphabetic() && first != '_' {
            return None;
        }
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        self.at += end;
        Some(&rest[..end])
    }

    /// The next identifier, left in place.
    fn peek_word(&mut self) -> Option<&'a str> {
        let at = self.at;
        let word = self.word();
        self.at = at;
        word
    }

    /// Declaration specifiers: the base type (`None` if its size is not known) and its name as written.
    fn specifiers(&mut self) -> Result<(Option<Type>, String), SignatureError> {
        let start = {
            self.peek();
            self.at
        };
        let (mut signedness, mut longs, mut short, mut base) = (None, 0, false, None::<Option<Type>>);
        let mut basic = None;
        while let Some(word) = self.peek_word() {
            let ends = base.is_some() || basic.is_some() || signedness.is_some() || longs > 0 || short;
            match word {
                "const" | "volatile" | "restrict" | "extern" | "register" | "static" | "inline"
                | "__restrict" => {}
                "signed" => signedness = Some(true),
                "unsigned" => signedness = Some(false),
                "long" => longs += 1,
                "short" => short = true,
                "int" | "char" | "float" | "double" | "void" => basic = Some(word),
                "struct" if !ends => {
                    self.word();
                    let tag = self.peek_word();
                    if tag.is_some() {
                        self.word();
                    }
                    base = Some(if self.peek() == Some('{') { Some(self.fields()?) } else { None });
                    continue;
                }
                "enum" if !ends => {
                    self.word();
                    self.word();
                    base = Some(Some(Type::Int { size: 4, signed: false }));
                    continue;
                }
                "union" => return Err(self.error("unions are not passed by value; pass a pointer")),
                _ if ends => break,
                name => {
                    base = Some(
                        NAMED.iter().find(|n| n.0 == name).map(|n| Type::Int { size: n.1, signed: n.2 }),
                    );
                }
            }
            self.word();
        }
        let name = self.text[start..self.at].trim().to_owned();
        let ty = match (base, basic) {
            (Some(base), None) => base,
            (None, Some("double")) if longs > 0 => {
                return Err(self.error("long double does not cross borders; use double or a pointer"));
            }
            (None, Some("double")) => Some(Type::Double),
            (None, Some("float")) => Some(Type::Float),
            (None, Some("void")) => Some(Type::Void),
            (None, Some("char")) => Some(Type::Int { size: 1, signed: signedness.unwrap_or(true) }),
            (None, Some("int") | None) if basic.is_some() || signedness.is_some() || longs > 0 || short => {
                let size = if short {
                    2
                } else if longs > 0 {
                    8
                } else {
                    4
                };
                Some(Type::Int { size, signed: signedness.unwrap_or(true) })
            }
            _ => return Err(self.error("expected a type")),
        };
        Ok((ty, name))
    }

    /// `*`s after a base type.
    fn pointers(&mut self, base: Option<Type>, name: String) -> Result<Option<Type>, SignatureError> {
        let (mut ty, mut name) = (base, name);
        while self.eat('*') {
            ty = Some(Type::Pointer(name.clone()));
            name.push_str(" *");
            while let Some("const" | "volatile" | "restrict" | "__restrict") = self.peek_word() {
                self.word();
            }
        }
        Ok(ty)
    }

    /// `{ fields }` of a structure.
    fn fields(&mut self) -> Result<Type, SignatureError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("structures are nested too deeply"));
        }
        self.expect('{')?;
        let mut fields = Vec::new();
        while !self.eat('}') {
            let (base, name) = self.specifiers()?;
            loop {
                let ty = self.pointers(base.clone(), name.clone())?;
                let ty = match ty {
                    Some(Type::Void) | None => return Err(self.error("the field's type is not known")),
                    Some(ty) => ty,
                };
                self.word();
                let count = if self.eat('[') { self.array_length()? } else { 1 };
                if fields.len() + count > 1024 {
                    return Err(self.error("the structure has too many fields"));
                }
                fields.extend(std::iter::repeat_n(ty, count));
                if !self.eat(',') {
                    break;
                }
            }
            if self.peek() == Some(':') {
                return Err(self.error("bit fields do not cross borders"));
            }
            self.expect(';')?;
        }
        self.depth -= 1;
        Ok(Type::Struct(fields))
    }

    fn array_length(&mut self) -> Result<usize, SignatureError> {
        self.peek();
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let length = rest[..end].parse().map_err(|_| self.error("expected an array length"))?;
        self.at += end;
        self.expect(']')?;
        Ok(length)
    }

    /// Parameters up to and including the closing parenthesis.
    fn parameters(&mut self) -> Result<Vec<Type>, SignatureError> {
        let mut parameters = Vec::new();
        if self.eat(')') {
            return Ok(parameters);
        }
        loop {
            if self.text[self.at..].trim_start().starts_with("...") {
                return Err(
                    self.error("variable arguments do not cross borders; export a wrapper with fixed ones")
                );
            }
            let (base, name) = self.specifiers()?;
            let mut ty = self.pointers(base, name.clone())?;
            if self.eat('(') {
                self.function_pointer()?;
                ty = Some(Type::Pointer(format!("{name} ()")));
            } else {
                self.word();
                if self.eat('[') {
                    ty = Some(Type::Pointer(name));
                    self.skip_to(']')?;
                }
            }
            match ty {
                Some(Type::Void) if parameters.is_empty() && self.peek() == Some(')') => {}
                Some(Type::Void) => return Err(self.error("a parameter cannot be void")),
                Some(ty) => parameters.push(ty),
                None => {
                    return Err(self.error("the parameter's type is not known; only pointers to it can cross"));
                }
            }
            if parameters.len() > MAX_PARAMETERS {
                return Err(self.error("too many parameters"));
            }
            if self.eat(')') {
                return Ok(parameters);
            }
            self.expect(',')?;
        }
    }

    /// The rest of `(*name)(parameters)` after its first parenthesis.
    fn function_pointer(&mut self) -> Result<(), SignatureError> {
        self.expect('*')?;
        self.word();
        self.expect(')')?;
        self.expect('(')?;
        self.skip_to(')')
    }

    /// Skips balanced text up to and including `close`.
    fn skip_to(&mut self, close: char) -> Result<(), SignatureError> {
        let mut open = 0u32;
        while let Some(c) = self.peek() {
            self.at += c.len_utf8();
            match c {
                _ if c == close && open == 0 => return Ok(()),
                '(' | '[' => open += 1,
                ')' | ']' => open = open.saturating_sub(1),
                _ => {}
            }
        }
        Err(self.error(&format!("expected `{close}`")))
    }
}
