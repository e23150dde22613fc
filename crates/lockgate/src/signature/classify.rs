//! Where arguments and results travel: System V ABI, AMD64 supplement, section 3.2.3.

use super::{Signature, Type};

/// Kind of register that carries eight bytes of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A general register.
    Integer,
    /// A vector register.
    Sse,
}

/// Up to eight bytes of a value, in a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Kind of register.
    pub class: Class,
    /// For arguments: index in rdi, rsi, rdx, rcx, r8, r9 or xmm0–7. For results: in rax, rdx or xmm0, xmm1.
    pub register: u8,
    /// Offset of these bytes in the value.
    pub offset: u8,
    /// Bytes carried, 1 to 8.
    pub size: u8,
}

/// How one argument is passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Passing {
    /// In registers, low part first.
    Registers(Vec<Part>),
    /// On the stack: offset from the first stack argument, and size, bytes.
    Stack {
        /// Offset from the first stack argument, bytes.
        offset: u32,
        /// Size of the value, bytes.
        size: u32,
    },
}

/// How the result comes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Returning {
    /// No result.
    Nothing,
    /// In registers, low part first.
    Registers(Vec<Part>),
    /// In memory that the caller names in rdi (and the callee in rax): size, bytes.
    Memory(u32),
}

/// The registers and stack bytes of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abi {
    /// One entry for each parameter.
    pub arguments: Vec<Passing>,
    /// The result.
    pub result: Returning,
    /// Bytes of stack arguments, a multiple of 16.
    pub stack_bytes: u32,
    /// General argument registers used, the hidden result pointer included.
    pub integers: u8,
    /// Vector argument registers used.
    pub vectors: u8,
}

const INTEGER_REGISTERS: u8 = 6;
const VECTOR_REGISTERS: u8 = 8;

/// The classes of the eightbytes of a value, or `None` if it travels in memory. An empty structure has none.
fn eightbytes(ty: &Type) -> Option<Vec<Class>> {
    if ty.size() > 16 {
        return None;
    }
    let mut classes = vec![None; ty.size().div_ceil(8) as usize];
    merge(ty, 0, &mut classes);
    Some(classes.into_iter().map(|c| c.unwrap_or(Class::Sse)).collect())
}

fn merge(ty: &Type, at: u64, classes: &mut [Option<Class>]) {
    match ty {
        Type::Void => {}
        Type::Struct(fields) => {
            let mut offset = at;
            for field in fields {
                offset = offset.next_multiple_of(field.align());
                merge(field, offset, classes);
                offset += field.size();
            }
        }
        Type::Float | Type::Double => {
            classes[(at / 8) as usize].get_or_insert(Class::Sse);
        }
        Type::Int { .. } | Type::Pointer(_) => classes[(at / 8) as usize] = Some(Class::Integer),
    }
}

/// Parts of a value in registers of the given kinds, numbered from the given first free ones.
fn parts(classes: &[Class], size: u64, mut integer: u8, mut vector: u8) -> Vec<Part> {
    let mut parts = Vec::with_capacity(classes.len());
    for (i, class) in classes.iter().enumerate() {
        let next = match class {
            Class::Integer => &mut integer,
            Class::Sse => &mut vector,
        };
        let offset = i as u64 * 8;
        parts.push(Part {
            class: *class,
            register: *next,
            offset: offset as u8,
            size: (size - offset).min(8) as u8,
        });
        *next += 1;
    }
    parts
}

pub(super) fn classify(signature: &Signature) -> Abi {
    let (mut integers, mut vectors, mut stack) = (0u8, 0u8, 0u64);
    let result = match (&signature.result, eightbytes(&signature.result)) {
        (Type::Void, _) => Returning::Nothing,
        (ty, Some(classes)) => Returning::Registers(parts(&classes, ty.size(), 0, 0)),
        (ty, None) => {
            integers = 1;
            Returning::Memory(ty.size() as u32)
        }
    };
    let mut arguments = Vec::with_capacity(signature.parameters.len());
    for ty in &signature.parameters {
        let classes = eightbytes(ty);
        let count = |class| classes.iter().flatten().filter(|c| **c == class).count() as u8;
        let (need_integers, need_vectors) = (count(Class::Integer), count(Class::Sse));
        let fits =
            integers + need_integers <= INTEGER_REGISTERS && vectors + need_vectors <= VECTOR_REGISTERS;
        match classes {
            // A value goes to registers whole or not at all.
            Some(classes) if fits => {
                arguments.push(Passing::Registers(parts(&classes, ty.size(), integers, vectors)));
                integers += need_integers;
                vectors += need_vectors;
            }
            _ => {
                stack = stack.next_multiple_of(ty.align().max(8));
                arguments.push(Passing::Stack { offset: stack as u32, size: ty.size() as u32 });
                stack += ty.size().next_multiple_of(8);
            }
        }
    }
    Abi { arguments, result, stack_bytes: stack.next_multiple_of(16) as u32, integers, vectors }
}
