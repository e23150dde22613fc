//! What a call between processes carries: the words of its arguments, and the bytes that its prototype says.

use lockgate::signature::{Signature, Type};
use std::fmt;

/// Eightbytes of arguments.
pub const WORDS: usize = 15;

/// Eightbytes of a result.
pub const RESULTS: usize = 2;

/// Where buffers begin among the bytes of a call, and in a domain.
pub const ALIGNMENT: u64 = 16;

/// A function as another process may call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    pub signature: Signature,
    pub buffers: Vec<Buffer>,
}

/// A parameter that is an array, `const uint8_t data[n]`: as many elements as another parameter says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buffer {
    /// Its number.
    pub parameter: usize,
    /// The number of the parameter that says how many elements there are.
    pub length: usize,
    /// What it has as many of.
    pub element: Type,
    /// The function may write to it.
    pub is_written: bool,
}

impl Buffer {
    /// The bytes of so many elements.
    pub fn bytes(&self, elements: u64) -> Option<u64> {
        elements.checked_mul(self.element.size() as u64)
    }
}

impl Shape {
    /// Reads a prototype.
    ///
    /// # Errors
    /// A sentence: it is no prototype, or a call by it would carry what another process cannot give.
    pub fn new(prototype: &str) -> Result<Shape, String> {
        let signature: Signature = prototype.parse().map_err(|error| format!("{error}"))?;
        let parameters = parameters_of(prototype);
        if parameters.len() != signature.parameters.len() {
            return Shape::without_buffers(signature);
        }
        let buffer = |(parameter, text): (usize, &&str)| buffer(&signature, &parameters, parameter, text);
        let buffers = parameters.iter().enumerate().filter_map(buffer).collect::<Result<_, _>>()?;
        Shape { signature, buffers }.checked()
    }

    /// All that the signature alone says.
    ///
    /// # Errors
    /// A sentence, as for [`new`](Shape::new).
    pub fn without_buffers(signature: Signature) -> Result<Shape, String> {
        Shape { signature, buffers: Vec::new() }.checked()
    }

    fn checked(self) -> Result<Shape, String> {
        let Shape { signature, buffers } = &self;
        let is_buffer = |parameter: usize| buffers.iter().any(|buffer| buffer.parameter == parameter);
        for (number, kind) in signature.parameters.iter().enumerate() {
            if has_pointer(kind) && !is_buffer(number) {
                return Err(format!(
                    "parameter {} of {signature} is a pointer, which means nothing in another process: say how many elements it has, as in \
                     `const uint8_t data[n], size_t n`",
                    number + 1
                ));
            }
        }
        if has_pointer(&signature.result) {
            return Err(format!("{signature} returns a pointer, which means nothing in another process"));
        }
        if self.words() > WORDS || words_of(&signature.result) > RESULTS {
            return Err(format!(
                "{signature}: the arguments have at most {WORDS} words of 8 bytes here, and the result {RESULTS}; use a buffer"
            ));
        }
        Ok(self)
    }

    /// Eightbytes of all arguments.
    pub fn words(&self) -> usize {
        self.signature.parameters.iter().map(words_of).sum()
    }

    /// The eightbytes of each argument, out of those of all. Integers are extended as C does, whatever the words have beyond them.
    pub fn arguments<'a>(&'a self, words: &'a [u64]) -> impl Iterator<Item = (&'a [u64], u64)> {
        let mut at = 0;
        self.signature.parameters.iter().map(move |kind| {
            let own = &words[at..at + words_of(kind)];
            at += own.len();
            (own, own.first().map_or(0, |word| extended(*word, kind)))
        })
    }

    /// The place of each buffer among the bytes of a call whose arguments have these first words, and the bytes of all.
    ///
    /// # Errors
    /// They are more than `most`.
    pub fn places(&self, first_words: &[u64], most: u64) -> Result<(Vec<Place>, u64), TooLong> {
        let mut end = 0_u64;
        let mut places = Vec::with_capacity(self.buffers.len());
        for buffer in &self.buffers {
            let length = buffer.bytes(first_words[buffer.length]).filter(|length| *length <= most);
            let length = length.ok_or(TooLong)?;
            places.push(Place { at: end, length });
            end = (end + length).next_multiple_of(ALIGNMENT);
        }
        if end > most { Err(TooLong) } else { Ok((places, end)) }
    }
}

/// Where a buffer lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub at: u64,
    pub length: u64,
}

/// The buffers of a call have more bytes than it may carry.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLong;

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.signature)?;
        for Buffer { parameter, length, element, is_written } in &self.buffers {
            let how = if *is_written { "read and written" } else { "read" };
            let (parameter, length) = (parameter + 1, length + 1);
            write!(f, "; parameter {parameter}: {element} times parameter {length}, {how}")?;
        }
        Ok(())
    }
}

/// Eightbytes of a value.
pub fn words_of(kind: &Type) -> usize {
    kind.size().div_ceil(8)
}

/// An array counts once: a prototype of a few bytes has as many elements as it likes.
fn has_pointer(kind: &Type) -> bool {
    match kind {
        Type::Struct(fields) => fields.iter().any(|field| has_pointer(&field.kind)),
        other => *other == Type::Pointer,
    }
}

/// A word as C extends a value of type `kind`.
fn extended(word: u64, kind: &Type) -> u64 {
    match kind {
        Type::Bool => u64::from(word as u8 != 0),
        Type::Integer { bytes, signed } => {
            let unused = 64 - u32::from(*bytes) * 8;
            if *signed { ((word << unused) as i64 >> unused) as u64 } else { word << unused >> unused }
        }
        Type::Float => word & 0xffff_ffff,
        _ => word,
    }
}

/// The texts of a prototype's parameters.
fn parameters_of(prototype: &str) -> Vec<&str> {
    // (The function's parenthesis is the last that begins at the outermost level.)
    let mut depth = 0_i32;
    let mut open = None;
    for (at, c) in prototype.char_indices() {
        match c {
            '(' | '[' | '{' => {
                if c == '(' && depth == 0 {
                    open = Some(at + 1);
                }
                depth += 1;
            }
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    let Some(inner) = open.and_then(|open| prototype[open..].rsplit_once(')')).map(|(inner, _)| inner) else {
        return Vec::new();
    };
    if matches!(inner.trim(), "" | "void") {
        return Vec::new();
    }
    let mut depth = 0_i32;
    inner
        .split(|c: char| {
            depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
            c == ',' && depth == 0
        })
        .map(str::trim)
        .collect()
}

/// The last word of a text, which names a parameter, and what stands before it.
fn named(text: &str) -> (&str, &str) {
    let text = text.trim_end();
    let start = text.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(0, |at| at + 1);
    (&text[..start], &text[start..])
}

/// The buffer that a parameter is, if it is one.
fn buffer(
    signature: &Signature,
    parameters: &[&str],
    parameter: usize,
    text: &str,
) -> Option<Result<Buffer, String>> {
    let (declared, length) = text.strip_suffix(']')?.rsplit_once('[')?;
    let length = length.trim();
    let length = length.strip_prefix("static ").unwrap_or(length).trim();
    let by_name = |(number, other): (usize, &&str)| {
        (number != parameter && named(other).1 == length && !length.is_empty()).then_some(number)
    };
    let found = parameters.iter().enumerate().find_map(by_name);
    let is_integer = |number: &usize| matches!(signature.parameters[*number], Type::Integer { .. });
    let Some(counts) = found.filter(is_integer) else {
        return Some(Err(format!(
            "`{text}`: give the name of the parameter that says how many elements it has"
        )));
    };
    let element = named(declared).0.trim();
    let of_element = format!("void f({element})").parse::<Signature>();
    let kind = of_element.ok().and_then(|mut alone| alone.parameters.pop());
    let kind = kind.filter(|kind| !has_pointer(kind));
    let Some(kind) = kind.filter(|kind| kind.size() > 0) else {
        return Some(Err(format!("`{text}`: its elements are no values that another process can give")));
    };
    // (What a structure says of its members is not said of the array.)
    let outside = [element.split('{').next(), element.rsplit('}').next()];
    let is_const =
        |text: &str| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == "const");
    let is_written = !outside.into_iter().flatten().any(is_const);
    Some(Ok(Buffer { parameter, length: counts, element: kind, is_written }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTE: Type = Type::Integer { bytes: 1, signed: false };

    #[test]
    fn prototypes_say_what_calls_carry() {
        let shape = Shape::new("uint32_t crc(uint32_t start, const uint8_t data[n], size_t n)").unwrap();
        assert_eq!(shape.buffers, [Buffer { parameter: 1, length: 2, element: BYTE, is_written: false }]);
        let shape = Shape::new("void scale(unsigned n, double v[static n], double by);").unwrap();
        assert_eq!(
            shape.buffers,
            [Buffer { parameter: 1, length: 0, element: Type::Double, is_written: true }]
        );
        for (element, is_written) in [
            ("struct { const int a; int b; }", true),
            ("const struct { int a; }", false),
            ("struct { int a; } const", false),
        ] {
            let shape = Shape::new(&format!("void f({element} d[n], long n)")).unwrap();
            assert_eq!(shape.buffers[0].is_written, is_written, "{element}");
        }
        assert!(Shape::new("long f(void)").unwrap().buffers.is_empty());
        assert_eq!(Shape::new("struct { long a, b; } f(struct { int x; } s, int n)").unwrap().words(), 2);
        for refused in [
            "long f(const char *text)",
            "char *f(int)",
            "long f(const char text[8])",
            "long f(const char text[], int n)",
            "long f(const char text[m], int n)",
            "long f(const char text[n], double n)",
            "long f(char *text[n], int n)",
            "long f(struct { char *p; } s)",
            "struct { long a, b, c; } f(void)",
            "void f(struct { long a[16]; } s)",
            "no prototype",
        ] {
            assert!(Shape::new(refused).is_err(), "{refused}");
        }
    }

    /// Red where each element of each array is looked at: a message that a server reads would cost seconds.
    #[test]
    fn a_prototype_costs_what_it_is_long() {
        let took = |elements: u32| {
            let of = |name: &str| vec![format!("struct {{ char a[{elements}]; }} {name}"); 150].join(", ");
            let prototype = format!("void f({}, {}, long n)", of("x"), of("y[n]"));
            let times = (0..5).map(|_| {
                let start = std::time::Instant::now();
                let refused = Shape::new(&prototype).unwrap_err();
                assert!(refused.ends_with("use a buffer"), "{refused}");
                start.elapsed()
            });
            times.min().unwrap()
        };
        let (short, long) = (took(10), took(60_000));
        assert!(long < 20 * short, "{short:?} {long:?}");
    }

    #[test]
    fn words_are_extended_as_the_types_say() {
        let shape = Shape::new("void f(int8_t a, uint16_t b, bool c, float d, long e)").unwrap();
        let got: Vec<_> =
            shape.arguments(&[u64::MAX << 8 | 0x80, u64::MAX, 0x1ff, u64::MAX, u64::MAX]).collect();
        let got: Vec<_> = got.into_iter().map(|(_, word)| word).collect();
        assert_eq!(got, [-128_i64 as u64, 0xffff, 1, 0xffff_ffff, u64::MAX]);
    }

    /// Red without the checks: lengths wrap around, or lead out of the bytes that a call has.
    #[test]
    fn buffers_lie_within_the_bytes_of_a_call() {
        let shape = Shape::new("void f(const double a[n], long n, char b[m], int m)").unwrap();
        let (places, end) = shape.places(&[0, 2, 0, 5], 64).unwrap();
        assert_eq!(places, [Place { at: 0, length: 16 }, Place { at: 16, length: 5 }]);
        assert_eq!(end, 32);
        for (n, m) in
            [(1 << 61, 0), (u64::MAX, 0), (0, u64::MAX), (0, -1_i64 as u64), (9, 0), (8, 1), (0, 65)]
        {
            assert_eq!(shape.places(&[0, n, 0, m], 64), Err(TooLong), "{n} {m}");
        }
    }
}
