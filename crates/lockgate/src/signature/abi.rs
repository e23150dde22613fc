//! Where arguments and results travel: System V ABI for x86-64, section 3.2.3.
use super::{Signature, Type};

/// Largest structure by value, bytes: it is copied at every call.
const MAX_STRUCT: usize = 64 << 10;

/// A register for one eightbyte: the n-th of its kind in the order of the ABI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Register {
    /// rdi rsi rdx rcx r8 r9; results: rax rdx.
    Integer(u8),
    /// xmm0–xmm7; results: xmm0 xmm1.
    Vector(u8),
}

/// What is larger is of class MEMORY.
const MOST_IN_REGISTERS: usize = 16;

/// Most words of arguments on the stack: a call copies them, from the lowest up or from the highest down. With a result in memory they are
/// less than a guard: whatever room the callee has left, nothing is written beyond the guard below its stack.
const MAX_STACK_WORDS: u32 = 16 << 10;
const _: () =
    assert!(MAX_STACK_WORDS as u64 * 8 + MAX_STRUCT as u64 + lockgate_abi::PAGE < lockgate_abi::stack::GUARD);

/// Where one value travels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// One register for each eightbyte, in order. Empty for `void` and empty structures.
    Registers(Vec<Register>),
    /// On the stack, from this 8-byte word on.
    Stack(u32),
    /// Results only: in memory that the caller provides.
    Memory,
}

/// Where the values of a call travel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Of each parameter, in order.
    pub parameters: Vec<Place>,
    /// Of the result.
    pub result: Place,
    /// 8-byte words of stack arguments.
    pub stack_words: u32,
    /// Size of a result in memory, or 0.
    pub result_size: u32,
}

impl Plan {
    /// Lays `signature` out.
    ///
    /// # Errors
    /// A sentence that says what is too large.
    pub fn new(signature: &Signature) -> Result<Plan, String> {
        let (mut integers, mut vectors, mut words) = (0_u8, 0_u8, 0_u32);
        let result = match classify(&signature.result) {
            None => {
                integers = 1; // the address of the result
                Place::Memory
            }
            Some(classes) => Place::Registers(assign(&classes, &mut 0, &mut 0)),
        };
        let mut parameters = Vec::new();
        for parameter in &signature.parameters {
            if parameter.size() > MAX_STRUCT {
                return Err(format!("a parameter of {} bytes by value; pass a pointer", parameter.size()));
            }
            let fitting = classify(parameter).filter(|classes| {
                let wanted = classes.iter().filter(|c| **c == Class::Integer).count();
                usize::from(integers) + wanted <= 6 && usize::from(vectors) + classes.len() - wanted <= 8
            });
            parameters.push(match fitting {
                Some(classes) => Place::Registers(assign(&classes, &mut integers, &mut vectors)),
                None => {
                    let start = words;
                    words += parameter.size().div_ceil(8) as u32;
                    if words > MAX_STACK_WORDS {
                        return Err(format!(
                            "more than {MAX_STACK_WORDS} words of arguments on the stack; pass pointers"
                        ));
                    }
                    Place::Stack(start)
                }
            });
        }
        if signature.result.size() > MAX_STRUCT {
            return Err(format!("a result of {} bytes by value; return a pointer", signature.result.size()));
        }
        let result_size = if result == Place::Memory { signature.result.size() as u32 } else { 0 };
        Ok(Plan { parameters, result, stack_words: words, result_size })
    }

    /// What makes a mistaken plan dangerous to the caller's memory: `None` if every value travels in a register, so that whatever the
    /// callee really is, a call reads and writes no memory of the caller's.
    pub fn beyond_registers(&self) -> Option<&'static str> {
        match (&self.result, self.stack_words) {
            (Place::Memory, _) => Some("returns its result in memory"),
            (_, 1..) => Some("takes arguments on the stack"),
            _ => None,
        }
    }

    /// For a function of unknown signature: all registers, and so many words of the stack.
    pub fn without_signature(stack_words: u32) -> Plan {
        Plan { parameters: Vec::new(), result: Place::Registers(Vec::new()), stack_words, result_size: 0 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Integer,
    Vector,
}

/// The class of each eightbyte, or `None` for class MEMORY.
fn classify(kind: &Type) -> Option<Vec<Class>> {
    if kind.size() > MOST_IN_REGISTERS {
        return None;
    }
    let mut classes = vec![Class::Vector; kind.size().div_ceil(8)];
    for (at, scalar) in kind.scalars() {
        if !matches!(scalar, Type::Float | Type::Double) {
            classes[at / 8] = Class::Integer;
        }
    }
    Some(classes)
}

fn assign(classes: &[Class], integers: &mut u8, vectors: &mut u8) -> Vec<Register> {
    classes
        .iter()
        .map(|class| {
            let (make, next): (fn(u8) -> Register, _) = match class {
                Class::Integer => (Register::Integer, &mut *integers),
                Class::Vector => (Register::Vector, &mut *vectors),
            };
            *next += 1;
            make(*next - 1)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// prototype → places: i0 v0 registers, s0 stack word, m memory.
    const CASES: &[(&str, &str)] = &[
        ("void f(void)", " -> "),
        ("double f(double)", "v0 -> v0"),
        ("int f(int, double, void *)", "i0 v0 i1 -> i0"),
        (
            "long f(long a, long b, long c, long d, long e, long g, long h, int i)",
            "i0 i1 i2 i3 i4 i5 s0 s1 -> i0",
        ),
        ("struct { double x; int n; } f(struct { float a; float b; })", "v0 -> v0+i0"),
        ("struct { float x; float y; float z; } f(struct { int a; float b; double c; })", "i0+v0 -> v0+v1"),
        ("struct { long a; long b; long c; } f(int)", "i1 -> m"),
        ("int f(struct { char c[17]; }, char)", "s0 i0 -> i0"),
        (
            "int f(long, long, long, long, long, struct { long a; long b; }, long)",
            "i0 i1 i2 i3 i4 s0 i5 -> i0",
        ),
        ("struct { char c[16]; } f(struct { short s[3]; char c; })", "i0 -> i0+i1"),
    ];

    #[test]
    fn arguments_on_the_stack_are_less_than_a_guard() {
        let prototype = |count: usize| {
            let parameters = vec!["struct { char c[65536]; }"; count].join(", ");
            format!("void f({parameters})").parse::<Signature>().expect("a prototype")
        };
        assert!(Plan::new(&prototype(2)).is_ok());
        assert!(Plan::new(&prototype(3)).is_err_and(|why| why.contains("pass pointers")));
    }

    #[test]
    fn values_travel_as_the_abi_says() {
        let place = |place: &Place| match place {
            Place::Registers(registers) => registers
                .iter()
                .map(|r| match r {
                    Register::Integer(n) => format!("i{n}"),
                    Register::Vector(n) => format!("v{n}"),
                })
                .collect::<Vec<_>>()
                .join("+"),
            Place::Stack(word) => format!("s{word}"),
            Place::Memory => "m".to_owned(),
        };
        for (prototype, expected) in CASES {
            let plan = Plan::new(&prototype.parse().expect("a prototype")).expect("a plan");
            let parameters: Vec<_> = plan.parameters.iter().map(place).collect();
            assert_eq!(
                format!("{} -> {}", parameters.join(" "), place(&plan.result)),
                *expected,
                "{prototype}"
            );
        }
    }
}
