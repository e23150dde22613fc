//! Prototypes of C, as notes of modules and callers write them: what is understood can be written down and understood again, and
//! has a place for every argument.

use crate::Target;
use lockgate::signature::{Place, Plan, Register, Signature, Type};
use lockgate_signature::PrototypeError;

/// See [`check`].
pub const TARGET: Target = Target {
    name: "signature",
    run: |input| check(input, str::parse),
    longest: 4096,
    memory: 1 << 20,
    near: 10_000,
    tokens: &[
        b"struct { ",
        b"int ",
        b"unsigned ",
        b"char ",
        b"long ",
        b"double ",
        b"float ",
        b"void ",
        b"*",
        b"(*",
        b")(",
        b"[8]",
        b"[1048576]",
        b"[0]",
        b"enum ",
        b"union ",
        b"const ",
        b"uint8_t ",
        b"};",
        b", ",
        b"f(",
        b")",
        b"{",
    ],
};

/// What reads a prototype.
pub type Parse = fn(&str) -> Result<Signature, PrototypeError>;

/// One prototype a line. Returns the number of lines.
///
/// # Panics
/// A line was understood in two ways, or its arguments have no places.
pub fn check(input: &[u8], parse: Parse) -> u64 {
    let text = String::from_utf8_lossy(input);
    let mut lines = 0;
    for line in text.lines() {
        lines += 1;
        match parse(line) {
            Ok(signature) => {
                let written = signature.to_string();
                assert_eq!(parse(&written).as_ref(), Ok(&signature), "`{line}` is `{written}`");
                if let Ok(plan) = Plan::new(&signature) {
                    places(&signature, &plan);
                }
            }
            Err(error) => assert!(error.at <= line.len() + 1 && !error.what.is_empty(), "{error:?}"),
        }
    }
    lines
}

/// Each argument has registers of its own, or words of its own on the stack, and room for all its bytes (System V ABI, 3.2.3).
fn places(signature: &Signature, plan: &Plan) {
    assert_eq!(plan.parameters.len(), signature.parameters.len());
    let mut next = Next { integer: u8::from(plan.result == Place::Memory), vector: 0, word: 0 };
    for (parameter, place) in signature.parameters.iter().zip(&plan.parameters) {
        next.take(parameter, place, (6, 8));
    }
    assert_eq!(next.word, plan.stack_words);
    match &plan.result {
        Place::Memory => assert_eq!(plan.result_size as usize, signature.result.size()),
        place => Next::default().take(&signature.result, place, (2, 2)),
    }
}

/// What comes next in each kind of place.
#[derive(Default)]
struct Next {
    integer: u8,
    vector: u8,
    word: u32,
}

impl Next {
    fn take(&mut self, kind: &Type, place: &Place, (integers, vectors): (u8, u8)) {
        let words = kind.size().div_ceil(8);
        match place {
            Place::Registers(registers) => {
                assert!(registers.len() == words && words <= 2, "{kind}: {registers:?}");
                for register in registers {
                    let (number, next, end) = match register {
                        Register::Integer(number) => (*number, &mut self.integer, integers),
                        Register::Vector(number) => (*number, &mut self.vector, vectors),
                    };
                    assert!(number == *next && number < end, "{kind}: {register:?}");
                    *next += 1;
                }
            }
            Place::Stack(at) => {
                assert_eq!(*at, self.word);
                self.word += words as u32;
            }
            Place::Memory => panic!("a parameter in memory: {kind}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::controls::notices;

    #[test]
    fn a_parser_that_loses_a_parameter_is_noticed() {
        notices(&TARGET, |input| {
            check(input, |text| {
                let mut signature: Signature = text.parse()?;
                if text.contains("f0") {
                    signature.parameters.pop();
                }
                Ok(signature)
            })
        });
    }
}
