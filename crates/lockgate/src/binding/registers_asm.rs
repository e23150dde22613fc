//! The registers that carry arguments and results: as words, and the routine of assembly that saves and loads them for a function whose signature is
//! known at run time only.
use crate::signature::{Place, Register};

/// The registers of a call, in the order in which `lockgate_invoke` loads them and [`call_registers`](crate::call_registers) saves them. Afterwards
/// what carries results: rax and rdx, xmm0 and xmm1, in the first two places of each.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Registers {
    /// rdi rsi rdx rcx r8 r9.
    pub integers: [u64; 6],
    /// Low halves of xmm0–xmm7.
    pub vectors: [u64; 8],
}

impl Registers {
    /// The words of an argument of `size` bytes, which was passed in these registers or among the words of `stack`.
    ///
    /// # Panics
    /// If the place is a result's in memory.
    pub fn taken(&self, stack: &[u64], place: &Place, size: usize) -> Vec<u64> {
        let word = |register: &Register| match register {
            Register::Integer(n) => self.integers[usize::from(*n)],
            Register::Vector(n) => self.vectors[usize::from(*n)],
        };
        match place {
            Place::Registers(places) => places.iter().map(word).collect(),
            Place::Stack(at) => stack[*at as usize..][..size.div_ceil(8)].to_vec(),
            Place::Memory => unreachable!("parameters are never returned"),
        }
    }

    /// Puts words where [`call_registers`](crate::call_registers) loads a result from, or a call its argument.
    #[inline]
    pub fn put(&mut self, places: &[Register], words: &[u64]) {
        for (place, word) in places.iter().zip(words) {
            match place {
                Register::Integer(n) => self.integers[usize::from(*n)] = *word,
                Register::Vector(n) => self.vectors[usize::from(*n)] = *word,
            }
        }
    }
}

/// A C function in AT&T's assembly, which another one stands in for: it saves the registers with arguments as `Registers`, at rsp, in a frame of
/// `{REGISTERS}` bytes below rbp; does `$call`, to which the arguments on the stack are at 16(%rbp), and in which rax is still the caller's; and loads the
/// registers with results.
#[doc(hidden)]
#[macro_export]
macro_rules! call_registers {
    ($call:literal) => {
        concat!(
            "
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp,-16
    mov %rsp,%rbp
    .cfi_def_cfa_register rbp
    sub ${REGISTERS},%rsp
    mov %rdi,(%rsp)
    mov %rsi,8(%rsp)
    mov %rdx,16(%rsp)
    mov %rcx,24(%rsp)
    mov %r8,32(%rsp)
    mov %r9,40(%rsp)
    .irp n,0,1,2,3,4,5,6,7
    movsd %xmm\\n,48+8*\\n(%rsp)
    .endr
",
            $call,
            "
    mov (%rsp),%rax
    mov 8(%rsp),%rdx
    movsd 48(%rsp),%xmm0
    movsd 56(%rsp),%xmm1
    leave
    .cfi_def_cfa rsp,8
    ret
    .cfi_endproc
"
        )
    };
}
