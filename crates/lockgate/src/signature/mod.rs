//! Signatures: C prototypes, and where the System V ABI puts their arguments and results.
//!
//! [`Signature::parse`] reads a prototype such as `struct { double x; int n; } f(const char *, long)`;
//! [`Signature::abi`] says which registers and stack bytes it uses. Variable arguments and `long double` are refused: a proxy
//! must know every byte that crosses.

mod classify;
mod parse;

pub use classify::{Abi, Class, Part, Passing, Returning};

use std::fmt;

/// A type that can cross a domain's border.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// `void`: results only.
    Void,
    /// An integer, `_Bool` or an enumeration: size in bytes (1, 2, 4, 8) and signedness.
    Int {
        /// Bytes.
        size: u8,
        /// Whether it is signed.
        signed: bool,
    },
    /// `float`.
    Float,
    /// `double`.
    Double,
    /// Any pointer, with what it points to as written (`const char`), for messages and for the shell.
    Pointer(String),
    /// A structure passed by value.
    Struct(Vec<Type>),
}

impl Type {
    /// Size in bytes.
    pub fn size(&self) -> u64 {
        match self {
            Type::Void => 0,
            Type::Int { size, .. } => u64::from(*size),
            Type::Float => 4,
            Type::Double | Type::Pointer(_) => 8,
            Type::Struct(fields) => {
                let end = fields.iter().fold(0u64, |at, f| at.next_multiple_of(f.align()) + f.size());
                end.next_multiple_of(self.align())
            }
        }
    }

    /// Alignment in bytes, at least 1.
    pub fn align(&self) -> u64 {
        match self {
            Type::Void => 1,
            Type::Struct(fields) => fields.iter().map(Type::align).max().unwrap_or(1),
            other => other.size(),
        }
    }

    /// Whether values of the two types are passed and understood alike: pointers match whatever they point to.
    pub fn matches(&self, other: &Type) -> bool {
        match (self, other) {
            (Type::Pointer(_), Type::Pointer(_)) => true,
            (Type::Struct(a), Type::Struct(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.matches(b))
            }
            _ => self == other,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Void => f.write_str("void"),
            Type::Int { size, signed } => write!(f, "{}int{}_t", if *signed { "" } else { "u" }, size * 8),
            Type::Float => f.write_str("float"),
            Type::Double => f.write_str("double"),
            Type::Pointer(to) => write!(f, "{to} *"),
            Type::Struct(fields) => {
                f.write_str("struct { ")?;
                fields.iter().try_for_each(|field| write!(f, "{field}; "))?;
                f.write_str("}")
            }
        }
    }
}

/// A procedure's name, parameters and result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Name of the procedure.
    pub name: String,
    /// Types of the parameters.
    pub parameters: Vec<Type>,
    /// Type of the result.
    pub result: Type,
}

/// Why a prototype was not understood, or cannot cross a border.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("signature `{text}`: {reason} at column {column}")]
pub struct SignatureError {
    /// The prototype.
    pub text: String,
    /// What is wrong, and what to write instead.
    pub reason: String,
    /// Where, from 1.
    pub column: usize,
}

impl Signature {
    /// Parses a C prototype. The final semicolon and parameter names may be left out; `typedef`s of `<stdint.h>` and
    /// `<stddef.h>` are known, other type names only behind a pointer.
    ///
    /// # Errors
    /// [`SignatureError`] with the column and the reason.
    pub fn parse(text: &str) -> Result<Signature, SignatureError> {
        parse::prototype(text)
    }

    /// Where arguments and result travel (System V ABI, AMD64 supplement, section 3.2.3).
    pub fn abi(&self) -> Abi {
        classify::classify(self)
    }

    /// How `self`, which the host asked for, differs from `other`, which the module declares; `None` if they match.
    pub fn difference(&self, other: &Signature) -> Option<String> {
        if self.parameters.len() != other.parameters.len() {
            return Some(format!(
                "the host passes {} argument(s), the module takes {}",
                self.parameters.len(),
                other.parameters.len()
            ));
        }
        for (i, (ours, theirs)) in self.parameters.iter().zip(&other.parameters).enumerate() {
            if !ours.matches(theirs) {
                return Some(format!(
                    "argument {} is `{ours}` for the host and `{theirs}` for the module",
                    i + 1
                ));
            }
        }
        if !self.result.matches(&other.result) {
            return Some(format!(
                "the result is `{}` for the host and `{}` for the module",
                self.result, other.result
            ));
        }
        None
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}(", self.result, self.name)?;
        if self.parameters.is_empty() {
            f.write_str("void")?;
        }
        for (i, parameter) in self.parameters.iter().enumerate() {
            write!(f, "{}{parameter}", if i == 0 { "" } else { ", " })?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Signature {
        Signature::parse(text).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn prototypes_are_read_as_c_reads_them() {
        for (text, shown) in [
            ("double cbrt(double)", "double cbrt(double)"),
            ("int f(void);", "int32_t f(void)"),
            ("void f()", "void f(void)"),
            ("unsigned long long f(unsigned char c, short int s)", "uint64_t f(uint8_t, int16_t)"),
            ("const char * const *f(size_t n, const void *p)", "const char * * f(uint64_t, const void *)"),
            (
                "int sqlite3_exec(sqlite3 *db, const char *sql, int (*cb)(void *, int, char **), void *, char **e)",
                "int32_t sqlite3_exec(sqlite3 *, const char *, int () *, void *, char * *)",
            ),
            (
                "struct { double x; int n[2]; } f(struct point { float a, b; } p)",
                "struct { double; int32_t; int32_t; } f(struct { float; float; })",
            ),
            (
                "enum colour f(struct opaque *p, int a[], long b)",
                "uint32_t f(struct opaque *, int *, int64_t)",
            ),
        ] {
            assert_eq!(parse(text).to_string(), shown, "{text}");
        }
    }

    #[test]
    fn what_cannot_cross_is_refused_with_the_reason() {
        for (text, reason) in [
            ("int printf(const char *, ...)", "variable arguments"),
            ("long double f(void)", "long double"),
            ("union { int a; } f(void)", "unions"),
            ("int f(struct point p)", "only pointers"),
            ("blob_t f(void)", "only pointers"),
            ("int f(int a : 3)", "expected `,`"),
            ("int f(void) x", "unexpected text"),
            ("int f(int", "expected `,`"),
            ("int (", "name"),
            ("", "expected a type"),
            ("struct { int a : 3; } f(void)", "bit fields"),
        ] {
            let error = Signature::parse(text).expect_err(text);
            assert!(error.reason.contains(reason), "{text}: {error}");
        }
        let deep = format!("{}int a;{} f(void)", "struct {".repeat(40), "} x;".repeat(40));
        assert!(Signature::parse(&deep).is_err());
        assert!(Signature::parse(&format!("struct {{ char a[{}]; }} f(void)", u32::MAX)).is_err());
    }

    /// One row each: the argument list of a call, in the notation of [`shown`], as gcc passes it.
    #[test]
    fn arguments_travel_where_the_abi_says() {
        for (text, places) in [
            ("int f(int, double, char *)", "i0 x0 i1 -> i0"),
            ("void f(int,int,int,int,int,int,int,char)", "i0 i1 i2 i3 i4 i5 @0+4 @8+1 -> -"),
            ("struct { double x; int n; } f(struct { long a, b; })", "i0,i1 -> x0,i0"),
            ("struct { long a, b, c; } f(int)", "i1 -> mem24"),
            ("float f(struct { float a, b, c; })", "x0,x1 -> x0"),
            ("struct { char a; } f(struct { char a[17]; }, struct { int a; float b; })", "@0+17 i0 -> i0"),
            // Five integers leave one register: a two-register structure goes to the stack, what follows still fits.
            ("void f(int,int,int,int,int,struct { long a, b; },int)", "i0 i1 i2 i3 i4 @0+16 i5 -> -"),
            (
                "double f(double,double,double,double,double,double,double,double,double,float)",
                "x0 x1 x2 x3 x4 x5 x6 x7 @0+8 @8+4 -> x0",
            ),
        ] {
            assert_eq!(shown(&parse(text).abi()), places, "{text}");
        }
        assert_eq!(parse("void f(int,int,int,int,int,int,int,char,int)").abi().stack_bytes, 32);
    }

    fn shown(abi: &Abi) -> String {
        let parts = |parts: &[Part]| {
            let one =
                |p: &Part| format!("{}{}", if p.class == Class::Integer { 'i' } else { 'x' }, p.register);
            parts.iter().map(one).collect::<Vec<_>>().join(",")
        };
        let arguments = abi.arguments.iter().map(|a| match a {
            Passing::Registers(p) => parts(p),
            Passing::Stack { offset, size } => format!("@{offset}+{size}"),
        });
        let result = match &abi.result {
            Returning::Nothing => "-".to_owned(),
            Returning::Registers(p) => parts(p),
            Returning::Memory(size) => format!("mem{size}"),
        };
        format!("{} -> {result}", arguments.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn differences_are_named() {
        let ours = parse("int f(int, double)");
        assert_eq!(ours.difference(&parse("int g(int a, double b)")), None);
        let told = |other: &str| ours.difference(&parse(other)).expect("they differ");
        assert!(told("int f(int)").contains("passes 2 argument(s), the module takes 1"));
        assert!(told("int f(int, float)").contains("argument 2 is `double` for the host and `float`"));
        assert!(told("long f(int, double)").contains("the result is `int32_t`"));
        assert_eq!(parse("void f(char *)").difference(&parse("void f(const void *)")), None);
    }
}
