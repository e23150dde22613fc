//! The registers of an interrupted instruction.

/// Registers at the fault. General registers are zero where a gate, not an instruction, ended the call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Registers {
    pub rax: u64,
    pub rbx: u64,
    pub rcx: u64,
    pub rdx: u64,
    pub rsi: u64,
    pub rdi: u64,
    pub rbp: u64,
    pub rsp: u64,
    pub r8: u64,
    pub r9: u64,
    pub r10: u64,
    pub r11: u64,
    pub r12: u64,
    pub r13: u64,
    pub r14: u64,
    pub r15: u64,
    pub rip: u64,
    pub rflags: u64,
    /// The page-fault error code of the processor (Intel SDM vol. 3, 4.7).
    pub error: u64,
}

impl Registers {
    /// The registers of an interrupted context.
    pub(crate) fn of(context: &libc::ucontext_t) -> Registers {
        let get = |register: i32| context.uc_mcontext.gregs[register as usize] as u64;
        Registers {
            rax: get(libc::REG_RAX),
            rbx: get(libc::REG_RBX),
            rcx: get(libc::REG_RCX),
            rdx: get(libc::REG_RDX),
            rsi: get(libc::REG_RSI),
            rdi: get(libc::REG_RDI),
            rbp: get(libc::REG_RBP),
            rsp: get(libc::REG_RSP),
            r8: get(libc::REG_R8),
            r9: get(libc::REG_R9),
            r10: get(libc::REG_R10),
            r11: get(libc::REG_R11),
            r12: get(libc::REG_R12),
            r13: get(libc::REG_R13),
            r14: get(libc::REG_R14),
            r15: get(libc::REG_R15),
            rip: get(libc::REG_RIP),
            rflags: get(libc::REG_EFL),
            error: get(libc::REG_ERR),
        }
    }
}
