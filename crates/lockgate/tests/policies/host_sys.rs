//! The host's end of the attacks: calls with chosen values in every register, and what they hold afterwards.
use lockgate::HostFunction;
use std::cell::Cell;
use std::mem::offset_of;

/// Registers before or after a call.
#[repr(C)]
#[derive(Clone)]
pub struct Registers {
    /// rax rcx rdx rbx rbp rsi rdi r8–r15.
    general: [u64; 15],
    masks: [u64; 8],
    mmx: [u64; 8],
    mxcsr: u64,
    vectors: [[u64; 8]; 32],
}

/// One 64-bit part of [`Registers`].
#[derive(Debug, Clone, Copy)]
pub enum Place {
    General(usize),
    /// Register, and which of its eight words.
    Vector(usize, usize),
    Mask(usize),
    Mmx(usize),
    Mxcsr,
}

impl Registers {
    /// Zeros, and the usual MXCSR.
    pub fn new() -> Registers {
        Registers { general: [0; 15], masks: [0; 8], mmx: [0; 8], mxcsr: 0x1f80, vectors: [[0; 8]; 32] }
    }

    pub fn with(mut self, place: Place, value: u64) -> Registers {
        *match place {
            Place::General(n) => &mut self.general[n],
            Place::Vector(n, word) => &mut self.vectors[n][word],
            Place::Mask(n) => &mut self.masks[n],
            Place::Mmx(n) => &mut self.mmx[n],
            Place::Mxcsr => &mut self.mxcsr,
        } = value;
        self
    }

    pub fn get(&self, place: Place) -> u64 {
        match place {
            Place::General(n) => self.general[n],
            Place::Vector(n, word) => self.vectors[n][word],
            Place::Mask(n) => self.masks[n],
            Place::Mmx(n) => self.mmx[n],
            Place::Mxcsr => self.mxcsr,
        }
    }
}

/// True if there are zmm and 64-bit mask registers.
pub fn avx512() -> bool {
    is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512dq")
}

/// Calls `function`, a binding's pointer, with `before` in the registers; what they hold afterwards.
pub fn probe(function: *const (), before: &Registers) -> Registers {
    let mut after = Registers::new();
    // SAFETY: every function here is a binding's; the probe keeps what the ABI says, whatever it finds.
    unsafe { test_probe(function, before, &mut after, u64::from(avx512())) };
    after
}

/// Leaves `value` in every register that a function may change.
pub fn litter(value: u64) {
    // SAFETY: all that is changed is said.
    unsafe {
        core::arch::asm!(
            "vmovq xmm0, {v}", "vpbroadcastq ymm0, xmm0",
            "vmovdqa ymm1, ymm0", "vmovdqa ymm2, ymm0", "vmovdqa ymm3, ymm0", "vmovdqa ymm4, ymm0", "vmovdqa ymm5, ymm0",
            "vmovdqa ymm6, ymm0", "vmovdqa ymm7, ymm0", "vmovdqa ymm8, ymm0", "vmovdqa ymm9, ymm0", "vmovdqa ymm10, ymm0",
            "vmovdqa ymm11, ymm0", "vmovdqa ymm12, ymm0", "vmovdqa ymm13, ymm0", "vmovdqa ymm14, ymm0", "vmovdqa ymm15, ymm0",
            "mov r8, {v}", "mov r9, {v}",
            v = in(reg) value, out("r8") _, out("r9") _,
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
            out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _, out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
        );
        if avx512() {
            test_litter(value);
        }
    }
}

thread_local! {
    static LOOKED_AT: Cell<[u64; 6]> = const { Cell::new([0; 6]) };
}

/// A host function that keeps its six argument registers whole, whatever `prototype` says is in them.
pub fn look_at(prototype: &str) -> HostFunction {
    extern "C" fn look(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64) -> u64 {
        LOOKED_AT.set([a, b, c, d, e, f]);
        0
    }
    // SAFETY: it takes what the registers hold, whatever that is.
    unsafe { HostFunction::from_c(look as *const (), &prototype.parse().expect("a prototype"), 0) }
        .expect("a host function")
}

/// What its last call on this thread found.
pub fn looked_at() -> [u64; 6] {
    LOOKED_AT.get()
}

/// The same of its three words of stack arguments, behind six in registers.
pub fn look_at_stack(prototype: &str) -> HostFunction {
    extern "C" fn look(_: u64, _: u64, _: u64, _: u64, _: u64, _: u64, a: u64, b: u64, c: u64) -> u64 {
        LOOKED_AT.set([a, b, c, 0, 0, 0]);
        0
    }
    // SAFETY: it takes what the words hold, whatever that is; the prototype has three.
    unsafe { HostFunction::from_c(look as *const (), &prototype.parse().expect("a prototype"), 0) }
        .expect("a host function")
}

/// Calls a function with nothing in registers, and `word` in three words of stack arguments.
pub fn call_with_stack(function: *const (), word: u64) -> u64 {
    type Call = extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64) -> u64;
    // SAFETY: the tests' functions take that many words, and look at no more than their values.
    let call = unsafe { std::mem::transmute::<*const (), Call>(function) };
    call(0, 0, 0, 0, 0, 0, word, word, word)
}

/// Leaves `secret` in every register that a function may change, its result's included, and nothing else: a function of C, so that no
/// code of anybody's runs after it.
pub fn litterer(prototype: &str, secret: u64) -> HostFunction {
    // SAFETY: set before any call, by the only thread that uses it.
    unsafe { TEST_LITTER[0] = secret };
    // SAFETY: as before.
    unsafe { TEST_LITTER[1] = u64::from(avx512()) };
    // SAFETY: it takes nothing, keeps what the ABI says, and any thread may call it.
    unsafe { HostFunction::from_c(test_litter_all as *const (), &prototype.parse().expect("a prototype"), 0) }
        .expect("a host function")
}

/// What [`litterer`] leaves, and whether there is AVX-512.
static mut TEST_LITTER: [u64; 2] = [0; 2];

unsafe extern "C" {
    fn test_litter_all();
    fn test_probe(function: *const (), before: *const Registers, after: *mut Registers, avx512: u64);
    fn test_litter(value: u64);
}

core::arch::global_asm!(
    "
    .globl test_litter
test_litter:
    .irp n,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    vpbroadcastq %rdi,%zmm\\n
    .endr
    .irp n,0,1,2,3,4,5,6,7
    kmovq %rdi,%k\\n
    .endr
    ret

    .globl test_litter_all
test_litter_all:
    mov {SECRETS}(%rip),%rax
    .irp n,0,1,2,3,4,5,6,7
    movq %rax,%mm\\n
    .endr
    emms
    vmovq %rax,%xmm0
    vpbroadcastq %xmm0,%ymm0
    .irp n,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    vmovdqa %ymm0,%ymm\\n
    .endr
    cmpq $0,8+{SECRETS}(%rip)
    je 1f
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    vpbroadcastq %rax,%zmm\\n
    .endr
    .irp n,0,1,2,3,4,5,6,7
    kmovq %rax,%k\\n
    .endr
1:
    .irp n,rcx,rdx,rsi,rdi,r8,r9,r10,r11
    mov %rax,%\\n
    .endr
    ret

    .globl test_probe
test_probe: # rdi function, rsi before, rdx after, rcx whether there is AVX-512
    ",
    support::push_kept_registers!(),
    "
    sub $40,%rsp
    mov %rdi,(%rsp)
    mov %rdx,8(%rsp)
    mov %rcx,16(%rsp)
    stmxcsr 24(%rsp)
    test %ecx,%ecx
    jz 1f
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    vmovups {VECTORS}+64*\\n(%rsi),%zmm\\n
    .endr
    .irp n,0,1,2,3,4,5,6,7
    kmovq {MASKS}+8*\\n(%rsi),%k\\n
    .endr
    jmp 2f
1:
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    vmovups {VECTORS}+64*\\n(%rsi),%ymm\\n
    .endr
2:
    .irp n,0,1,2,3,4,5,6,7
    movq {MMX}+8*\\n(%rsi),%mm\\n
    .endr
    emms
    ldmxcsr {MXCSR}(%rsi)
    ",
    support::load_general_registers!(),
    "
    call *(%rsp)

    mov %rax,32(%rsp)
    mov 8(%rsp),%rax
    ",
    support::store_general_registers!(),
    "
    mov 32(%rsp),%rcx
    mov %rcx,(%rax)
    stmxcsr {MXCSR}(%rax)
    ldmxcsr 24(%rsp)
    fninit
    .irp n,0,1,2,3,4,5,6,7
    movq %mm\\n,{MMX}+8*\\n(%rax)
    .endr
    emms
    cmpl $0,16(%rsp)
    jz 1f
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    vmovups %zmm\\n,{VECTORS}+64*\\n(%rax)
    .endr
    .irp n,0,1,2,3,4,5,6,7
    kmovq %k\\n,{MASKS}+8*\\n(%rax)
    .endr
    jmp 2f
1:
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    vmovups %ymm\\n,{VECTORS}+64*\\n(%rax)
    .endr
2:
    vzeroupper
    add $40,%rsp
    ",
    support::pop_kept_registers!(),
    "
    ret
    ",
    SECRETS = sym TEST_LITTER,
    VECTORS = const offset_of!(Registers, vectors),
    MASKS = const offset_of!(Registers, masks),
    MMX = const offset_of!(Registers, mmx),
    MXCSR = const offset_of!(Registers, mxcsr),
    options(att_syntax)
);
