//! The processor state that a module could spoil for its host without touching memory.

use lockgate::Function;
use std::arch::asm;

/// The parts of the calling thread's processor state that the C calling convention wants unchanged by a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuState {
    /// x87 control word: precision, rounding, exception masks.
    pub x87_control: u16,
    /// x87 tag word: 0xffff if the register stack is empty.
    pub x87_tags: u16,
    /// SSE control register without its sticky exception flags: masks, rounding, flushing of denormals.
    pub mxcsr: u32,
    /// Direction, alignment-check and trap flags.
    pub flags: u64,
}

/// Sticky exception flags of MXCSR, which ordinary arithmetic sets.
const STICKY: u32 = 0x3f;
/// DF, AC, TF.
const FLAGS: u64 = 1 << 10 | 1 << 18 | 1 << 8;

impl CpuState {
    /// The calling thread's state now.
    pub fn now() -> Self {
        let mut environment = [0u32; 7];
        let (mut mxcsr, flags) = (0u32, &mut 0u64);
        // SAFETY: fnstenv writes 28 bytes and stmxcsr 4, into local variables of that size; fldenv loads back what
        // fnstenv stored, because fnstenv masks all exceptions as a side effect; pushfq and pop balance.
        unsafe {
            asm!("fnstenv [{0}]", "fldenv [{0}]", in(reg) environment.as_mut_ptr());
            asm!("stmxcsr [{0}]", in(reg) &raw mut mxcsr);
            asm!("pushfq", "pop {0}", out(reg) * flags);
        }
        Self {
            x87_control: environment[0] as u16,
            x87_tags: environment[2] as u16,
            mxcsr: mxcsr & !STICKY,
            flags: *flags & FLAGS,
        }
    }
}

/// Calls `function` with known values in all registers that a callee must preserve; whether they are there afterwards.
pub fn keeps_registers(function: &Function<extern "C" fn(u64) -> i64>) -> bool {
    let difference: u64;
    // SAFETY: as_ptr is a C function of this type, kept alive by the reference; the stack is aligned as a call wants it
    // after two pushes, and rbx and rbp, which cannot be operands, are restored.
    unsafe {
        asm!(
            "push rbx",
            "push rbp",
            "mov ebx, 1",
            "mov ebp, 2",
            "mov r12d, 3",
            "mov r13d, 4",
            "mov r14d, 5",
            "mov r15d, 6",
            "call rax",
            "xor rbx, 1",
            "xor rbp, 2",
            "xor r12, 3",
            "xor r13, 4",
            "xor r14, 5",
            "xor r15, 6",
            "or rbx, rbp",
            "or rbx, r12",
            "or rbx, r13",
            "or rbx, r14",
            "or rbx, r15",
            "mov rcx, rbx",
            "pop rbp",
            "pop rbx",
            inout("rax") function.as_ptr() => _,
            in("rdi") 0u64,
            lateout("rcx") difference,
            out("r12") _,
            out("r13") _,
            out("r14") _,
            out("r15") _,
            clobber_abi("C"),
        );
    }
    difference == 0 && function.take_error().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_thread_has_the_default_state() {
        let state = std::thread::spawn(CpuState::now).join().unwrap();
        assert_eq!(state, CpuState { x87_control: 0x37f, x87_tags: 0xffff, mxcsr: 0x1f80, flags: 0 });
        assert_eq!(state, CpuState::now(), "reading it changes nothing");
    }
}
