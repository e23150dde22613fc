//! The code of proxies: [`proxy`] lists the pieces in execution order.
//!
//! Every piece is there because the mechanism, a property of the policy or the signature demands it, and is listed
//! under its name: `lockgate inspect --proxy` shows them.
//!
//! Registers on the way in: r11 the binding; r10 the innermost record, then the new one; rax control rsp of the entry; rbx,
//! rbp, r12–r15 free once the frame holds them; at a crossing, r15 the callee's window. Arguments stay where they are. On the way out: r10 the record, r11 the
//! binding, rsp the frame; results stay in rax, rdx, xmm0, xmm1.
use super::block_sys;
use super::call_abi::{CallAbi, Caller, Fill, StateUsage};
use super::layout::*;
use crate::copy_asm::{BOOL_MASK, lockgate_copy_arguments};
use crate::policy::Properties;
use crate::stats::Traffic;
use dynasmrt::x64::X64Relocation;
use dynasmrt::{DynasmApi, DynasmLabelApi, VecAssembler, dynasm as assemble};
use std::mem::offset_of;

/// A proxy's bytes, which may lie anywhere.
#[derive(Clone)]
pub(super) struct Emitted {
    /// Calls begin at the first.
    pub bytes: Vec<u8>,
    /// Offset of the first instruction after the exit.
    pub leave: usize,
    /// What the bytes from each offset on are for.
    pub parts: Vec<(usize, &'static str)>,
}

/// MXCSR and x87 control word of a new thread.
const CLEAN_MXCSR: i32 = 0x1f80;
const CLEAN_X87: i16 = 0x37f;
/// Status flags of MXCSR.
const MXCSR_FLAGS: i32 = 0x3f;

const OFF: i32 = lockgate_abi::code::OFF as i32;
/// Distance between records. As an operand's displacement it takes one byte, as those of fields do: a seventh less code in a proxy.
const STEP: i8 = byte(RECORD as usize);
const WHOSE_BACK: i8 = byte(WHOSE as usize);
const FRAME_SIZE: i32 = FRAME as i32;
/// What the status says of the call itself.
const ENDED: i8 = STATUS_ENDED as i8;

/// A displacement of one byte.
const fn byte(offset: usize) -> i8 {
    assert!(offset <= i8::MAX as usize);
    offset as i8
}

macro_rules! offsets {
    ($($name:ident = $type:ident . $field:ident;)*) => { $(const $name: i8 = byte(offset_of!($type, $field));)* };
}

offsets! {
    KIND = EntryRecord.kind;
    BINDING = EntryRecord.binding;
    CONTROL = EntryRecord.control;
    HOST = EntryRecord.host;
    MXCSR_WORD = EntryRecord.mxcsr;
    X87_WORD = EntryRecord.x87_control;
    RESULT = EntryRecord.result;
    RECORD_SEQUENCE = EntryRecord.sequence;
    RECORD_LIMIT = EntryRecord.limit;
    STARTED = EntryRecord.started;
    GATE_CONTROL = GateRecord.control;
    GATE_SLOT = GateRecord.slot;
    GATE_ENTRY = GateRecord.entry;
    GATE_WINDOW = GateRecord.rbx;
    CONTEXT = GateEntry.context;
    ENTRY_WINDOW = GateEntry.function;
    STACK_DISTANCE = GateEntry.stack_distance;
    WINDOW = BindingHeader.window;
    TARGET = BindingHeader.target;
    LEAVE = BindingHeader.leave;
    SLOT = BindingHeader.slot;
    ADMISSION = BindingHeader.admission;
    DEPTH = BindingHeader.depth;
    STACK_WORDS = BindingHeader.stack_words;
    RESULT_SIZE = BindingHeader.result_size;
    RESULT_ROOM = BindingHeader.result_room;
    LIMIT = BindingHeader.limit;
    OWNER = BindingHeader.owner;
    TRAFFIC = BindingHeader.traffic;
    CALLS = Traffic.calls;
    CYCLES = Traffic.cycles;
}

/// General registers by number in instructions: rdi rsi rdx rcx r8 r9.
const ARGUMENTS: [u8; 6] = [7, 6, 2, 1, 8, 9];
const RBX: u8 = 3;
const RBP: u8 = 5;
const R12: u8 = 12;
const R15: u8 = 15;
/// Callee-saved registers and their places in the frame.
const SAVED: [(u8, i8); 6] = [(R15, 8), (14, 16), (13, 24), (R12, 32), (RBX, 40), (RBP, 48)];
/// rax rdx.
const RESULTS: [u8; 2] = [0, 2];

/// What a proxy does about processor state and registers.
struct Duties {
    /// On return, x87 state is as the caller had it.
    x87_guard: bool,
    /// The callee starts with fresh x87 state.
    x87_fresh: bool,
    x87_hide_environment: bool,
    /// The caller does not find the callee's x87 environment.
    x87_forget: bool,
    mxcsr_guard: bool,
    mxcsr_fresh: bool,
    mxcsr_hide_flags: bool,
    upper_guard: bool,
    /// Classes of state that are cleared before the callee runs, and before the caller runs again.
    hide_in: StateUsage,
    hide_out: StateUsage,
    /// Registers in use by the convention are cleared, too.
    hide_in_all: bool,
    hide_out_all: bool,
    restore: bool,
}

impl Duties {
    fn of(abi: &CallAbi) -> Duties {
        let callee = abi.callee;
        let client = |property| abi.policy.client.contains(property);
        let server = |property| abi.policy.server.contains(property);
        // The host can touch everything, and is trusted to keep the calling convention.
        let (caller, from_domain) = match abi.caller {
            Caller::Host => (callee, false),
            Caller::Domain(usage) => (usage, true),
        };
        // State that the caller's own module cannot touch stays as the caller's caller knows it, whatever the policy says:
        // what the reports say of windows must hold for chains of calls, too.
        let forced = callee.beyond(caller);
        let guarded = callee.only_if(client(Properties::CPU_STATE)).or(forced);
        let fresh = server(Properties::CPU_STATE);
        let secret = client(Properties::REGISTER_CONFIDENTIALITY);
        Duties {
            x87_guard: guarded.x87,
            x87_fresh: from_domain && caller.x87 && (fresh || !callee.x87),
            x87_hide_environment: callee.x87_environment && (secret || guarded.x87_environment),
            x87_forget: from_domain
                && caller.x87_environment
                && callee.x87
                && server(Properties::REGISTER_CONFIDENTIALITY),
            mxcsr_guard: guarded.mxcsr_write,
            mxcsr_fresh: from_domain && caller.mxcsr_write && (fresh || !callee.mxcsr_write),
            mxcsr_hide_flags: callee.mxcsr_read && (secret || forced.mxcsr_read),
            upper_guard: guarded.upper,
            hide_in: callee.only_if(secret).or(forced),
            hide_out: callee.only_if(server(Properties::REGISTER_CONFIDENTIALITY)).or(forced),
            hide_in_all: secret,
            hide_out_all: server(Properties::REGISTER_CONFIDENTIALITY),
            // What is cleared on the way in, or left by the callee on the way out, has to be put back, too.
            restore: client(Properties::REGISTER_INTEGRITY)
                || secret
                || server(Properties::REGISTER_CONFIDENTIALITY),
        }
    }

    fn saves_x87(&self) -> bool {
        self.x87_guard || self.x87_fresh || self.x87_hide_environment || self.x87_forget
    }

    fn saves_mxcsr(&self) -> bool {
        self.mxcsr_guard || self.mxcsr_fresh || self.mxcsr_hide_flags
    }

    fn keeps_x87(&self, callee: StateUsage) -> bool {
        self.saves_x87() || callee.x87
    }

    fn keeps_mxcsr(&self, callee: StateUsage) -> bool {
        self.saves_mxcsr() || callee.mxcsr_write
    }
}

/// What gates need to know of bindings of this call ABI: [`BindingHeader::flags`].
pub(crate) fn flags(abi: &CallAbi) -> u32 {
    let duties = Duties::of(abi);
    let mut flags = 0;
    // Behind another domain, whatever the module itself can touch: an entry further out may have changed it.
    let from_domain = matches!(abi.caller, Caller::Domain(_));
    for (set, flag) in [
        (abi.callee.x87 || from_domain, X87),
        (abi.callee.mxcsr_write || from_domain, MXCSR),
        (duties.saves_x87(), SAVED_X87),
        (duties.saves_mxcsr(), SAVED_MXCSR),
        (duties.keeps_x87(abi.callee), KEEPS_X87),
        (duties.keeps_mxcsr(abi.callee), KEEPS_MXCSR),
        (from_domain, FROM_DOMAIN),
        (duties.hide_in_all, HIDES),
        (duties.x87_hide_environment, X87_ENVIRONMENT),
    ] {
        if set {
            flags |= flag;
        }
    }
    flags
}

/// The bits of [`BindingHeader::flags`] of calls that go by one function, whose proxy does less than that of calls by the window: what that hides
/// and it does not.
pub(crate) fn of_function(abi: &CallAbi, by_window: &CallAbi) -> u32 {
    let hidden = Duties::of(by_window).hide_in.beyond(Duties::of(abi).hide_in);
    let mut unhidden = 0;
    for (set, bits) in [
        (hidden.x87, component::X87 as u32 | UNHIDDEN_ENVIRONMENT),
        (hidden.x87_environment, UNHIDDEN_ENVIRONMENT),
        (hidden.vector, component::SSE as u32),
        // (A proxy that clears a vector register clears all of it.)
        (hidden.upper && !abi.callee.vector, (component::AVX | component::ZMM_UPPER) as u32),
        (hidden.mask, component::MASKS as u32),
        (hidden.evex, component::ZMM_MORE as u32),
        (hidden.mxcsr_read, UNHIDDEN_MXCSR),
    ] {
        if set {
            unhidden |= bits;
        }
    }
    OF_FUNCTION | unhidden << UNHIDDEN_SHIFT
}

/// The instruction that proxies read a window's base with, through gs. It faults where gs points nowhere.
pub(super) const WINDOW_CHECK: [u8; 9] = {
    let [a, b, c, d] = HEADER_W.to_le_bytes();
    [0x65, 0x4c, 0x39, 0x14, 0x25, a, b, c, d]
};
const HEADER_W: i32 = lockgate_abi::header::W as i32;

/// The proxy of `abi`, which may lie anywhere.
pub(super) fn proxy(abi: &CallAbi) -> Emitted {
    let mut e = Emitter {
        ops: VecAssembler::new(0),
        parts: Vec::new(),
        duties: Duties::of(abi),
        abi,
        block: block_sys::block_offset(),
        used: Vec::new(),
    };
    match abi.caller {
        Caller::Host => e.admit_host(),
        Caller::Domain(_) => e.admit_domain(),
    }
    // The point of no return. Until here the slow path may have the call begin again, as nothing has changed that a second try finds changed;
    // from here the call goes through, or ends with an error.
    e.result_room();
    e.stack_arguments();
    e.fill_record();
    e.save_cpu_state();
    e.enter();
    e.exit();
    let leave = e.ops.offset().0;
    e.restore_cpu_state();
    e.leave_exclusive();
    e.count_return();
    match abi.caller {
        Caller::Host => e.return_to_host(),
        Caller::Domain(_) => e.return_to_domain(),
    }
    e.out_of_line();
    let parts = e.parts;
    Emitted { bytes: e.ops.finalize().expect("all labels are placed"), leave, parts }
}

struct Emitter<'a> {
    ops: VecAssembler<X64Relocation>,
    parts: Vec<(usize, &'static str)>,
    duties: Duties,
    abi: &'a CallAbi,
    /// Offset of threads' blocks from fs.
    block: i32,
    /// Callee-saved registers that the way in has changed.
    used: Vec<u8>,
}

/// Assembles with `e`'s assembler.
macro_rules! code {
    ($e:ident $($t:tt)*) => {{ let ops = &mut $e.ops; assemble!(ops ; .arch x64 $($t)*); }};
}

impl Emitter<'_> {
    /// What follows is for `name`.
    fn part(&mut self, name: &'static str) {
        self.parts.push((self.ops.offset().0, name));
    }

    /// Offset from fs of a field of the thread's block.
    fn field(&self, offset: usize) -> i32 {
        self.block + offset as i32
    }

    /// Only threads with a live block, and not on their alternate stack (R12, R13); with a place on the domain's
    /// stacks.
    fn admit_host(&mut self) {
        let top = self.field(offset_of!(ThreadBlock, top));
        let first = self.field(offset_of!(ThreadBlock, first));
        let low = self.field(offset_of!(ThreadBlock, alternate_low));
        let size = self.field(offset_of!(ThreadBlock, alternate_size));
        let transit = self.field(offset_of!(ThreadBlock, transit));
        self.part("admission");
        code!(self
            // One instruction asks whether something is in transit, and says that this call is: between two, handlers that switch stacks
            // might let another call begin, be interrupted, and find its note overwritten.
            ; xor eax, eax
            ; fs cmpxchg [transit], rsp
            ; jne ->slow
            ; mov rax, rsp
            ; fs sub rax, [low]
            ; fs cmp rax, [size]
            ; jb ->back
            // Most calls are not nested: with a record that does not come from the top, which the last call has just
            // stored, one call need not wait for the other.
            ; fs mov r10, [first]
            ; fs cmp [top], r10
            ; jne ->nested
            ; ->place:
            // Where a domain's code runs, a call does not respect another one's note: this call's may have been replaced by now, and then it takes the
            // slow path. If it is still there now that no entry is innermost, it stays: nothing changes the innermost record without it.
            ; fs cmp [transit], rsp
            ; jne ->slow
        );
        self.nest();
        self.place();
        self.take_exclusive();
        // A caller of a raw function pointer may never have asked how that ended. Not before the admission: what is refused to a handler
        // changes nothing of the call that it has interrupted. (All of the word: a load that follows a shorter store would wait.)
        let status = self.field(offset_of!(ThreadBlock, status));
        self.part("admission");
        code!(self ; fs mov QWORD [status], 0);
        self.frame();
        code!(self ; add r10, BYTE STEP);
    }

    /// From the gate: r10 the caller's entry, r11 the gate's entry, rsp the caller's control stack, which is left at once
    /// (R7). The caller's place on its stacks moves below its live frames (R9).
    fn admit_domain(&mut self) {
        let slots = self.field(offset_of!(ThreadBlock, slots));
        let pending = self.field(offset_of!(ThreadBlock, pending));
        let floor = self.field(offset_of!(ThreadBlock, stack_floor));
        let end = self.field(offset_of!(ThreadBlock, records_end));
        let transit = self.field(offset_of!(ThreadBlock, transit));
        self.part("caller's gate");
        code!(self
            ; mov [BYTE r10 + GATE_CONTROL + STEP], rsp
            ; mov rsp, [BYTE r10 + HOST]
            ; mov QWORD [BYTE r10 + KIND + STEP], GATE.into()
            ; mov [BYTE r10 + GATE_ENTRY + STEP], r11
            ; push 0 // no return address: not the host's frame
        );
        self.frame();
        self.part("caller's gate");
        self.uses(&[RBX, RBP, R15]);
        code!(self
            ; mov r15, [BYTE r11 + ENTRY_WINDOW]
            ; mov r11, [BYTE r11 + CONTEXT]
            ; mov rbx, [BYTE r10 + BINDING]
            ; mov rax, [BYTE rbx + WINDOW]
            ; mov [BYTE r10 + GATE_WINDOW + STEP], rax
            ; mov ebx, [BYTE rbx + SLOT]
            ; fs add rbx, [slots]
            ; mov rax, [rbx]
            ; mov [BYTE r10 + GATE_SLOT + STEP], rax
            ; mov rax, [BYTE r10 + GATE_CONTROL + STEP]
            ; sub rax, RED_ZONE as i32
            ; and rax, -16
            ; mov [rbx], rax
        );
        self.part("admission");
        code!(self
            ; ->again:
            ; fs mov [transit], rsp
            ; fs cmp QWORD [pending], 0
            ; jne ->back
            ; fs mov rbp, [slots]
            ; cmp QWORD [BYTE rbp - WHOSE_BACK], 0 // a child's: its own place was written just now, which may be the callee's as well
            ; je ->back
            ; fs cmp rsp, [floor]
            ; jb ->coroutine
            ; ->deep:
            ; lea rax, [r10 + 5 * i32::from(STEP)]
            ; fs cmp rax, [end]
            ; ja ->back
        );
        self.nest();
        self.place();
        self.take_exclusive();
        code!(self ; add r10, 2 * i32::from(STEP));
    }

    /// Not nested deeper than the domain allows: r10 is the innermost record.
    fn nest(&mut self) {
        if !self.abi.depth {
            return;
        }
        let first = self.field(offset_of!(ThreadBlock, first));
        let top = self.field(offset_of!(ThreadBlock, top));
        self.part("depth limit");
        code!(self
            ; fs sub r10, [first]
            ; cmp r10d, [BYTE r11 + DEPTH]
            ; fs mov r10, [top]
            ; ja ->back
        );
        self.part("admission");
    }

    /// rax = the thread's place on the callee's control stack.
    fn place(&mut self) {
        let slots = self.field(offset_of!(ThreadBlock, slots));
        code!(self
            ; mov eax, [BYTE r11 + ADMISSION]
            ; fs add rax, [slots]
            ; mov rax, [rax]
            ; test rax, rax
            ; jz ->back
        );
    }

    /// Takes an exclusive domain, or waits for it on the slow path.
    fn take_exclusive(&mut self) {
        if !self.abi.exclusive {
            return;
        }
        let (tid, top) = (self.field(offset_of!(ThreadBlock, tid)), self.field(offset_of!(ThreadBlock, top)));
        let turn = self.field(offset_of!(ThreadBlock, turn));
        self.part("exclusive domain");
        code!(self
            ; push rbx
            ; push rax
            ; fs mov eax, [turn] // 0, or what the slow path has taken it with
            ; mov rbx, [BYTE r11 + OWNER]
            ; fs mov r10d, [tid]
            ; lock cmpxchg [rbx], r10d
            ; pop rax
            ; pop rbx
            ; fs mov r10, [top]
            ; jne ->back
        );
    }

    /// Callee-saved registers: the caller's, restored by the proxy where that is asked for, and after a fault in any case.
    fn frame(&mut self) {
        self.part("frame");
        code!(self
            ; push rbp
            ; push rbx
            ; push r12
            ; push r13
            ; push r14
            ; push r15
            ; sub rsp, 8
        );
    }

    /// A callee finds the caller's values in callee-saved registers, unless they are a secret: those that the proxy itself
    /// has used come back from the frame, so that nothing of the host's shows (R24) and a trusted callee can keep them.
    fn keep_registers(&mut self) {
        self.part("frame");
        for (register, place) in SAVED {
            if self.used.contains(&register) {
                code!(self ; mov Rq(register), [BYTE rsp + place]);
            }
        }
    }

    /// Callee-saved registers that what follows changes: each piece names its own, whatever others have named before.
    fn uses(&mut self, registers: &[u8]) {
        self.used.extend(registers);
    }

    /// A result in memory: room on the callee's data stack.
    fn result_room(&mut self) {
        if !self.abi.memory {
            return;
        }
        self.part("result in memory");
        self.uses(&[RBX]);
        code!(self
            ; mov ebx, [BYTE r11 + RESULT_ROOM]
            ; sub rax, rbx
            ; mov [BYTE r10 + RESULT], rdi
            ; lea rdi, [rax - OFF]
        );
    }

    /// What the callee leaves of the room for its result as it was, the caller gets: nothing of the callee's earlier calls, if it asks
    /// for that. A fault here is the callee's already.
    fn clear_room(&mut self) {
        if !self.abi.memory || !self.duties.hide_out_all {
            return;
        }
        self.part("result in memory");
        self.uses(&[RBX]);
        code!(self
            ; mov ebx, [BYTE r11 + RESULT_ROOM]
            ; ->room:
            ; mov QWORD [rdi + rbx - 8], 0
            ; sub ebx, 8
            ; jnz ->room
        );
        self.part("entry");
    }

    /// The host's stack arguments. The callee may have left too little of its stack for them, if it has called the host: a fault that ends
    /// this call, not the host's own.
    fn copy_from_host(&mut self) {
        if !self.abi.stack {
            return;
        }
        self.part("stack arguments");
        self.uses(&[RBX, R12]);
        code!(self ; mov r12d, [BYTE r11 + STACK_WORDS]);
        match self.abi.masks.filter(|_| self.duties.hide_in_all) {
            None => code!(self
                ; ->word:
                ; mov rbx, [rsp + r12 * 8 + FRAME_SIZE - 8]
                ; mov [rax + r12 * 8 - OFF - 8], rbx
                ; dec r12
                ; jnz ->word
            ),
            // As `lockgate_copy_arguments`: what a value leaves unused of its word never reaches memory that the callee's threads can read. (Not
            // that routine: a fault in it ends the copy and counts as the host's, and one here is to end the call.)
            Some(masks) => {
                self.uses(&[RBP]);
                code!(self
                    ; mov rbp, QWORD masks.as_ptr() as i64
                    ; ->word:
                    ; mov rbx, [rsp + r12 * 8 + FRAME_SIZE - 8]
                    ; cmp QWORD [rbp + r12 * 8 - 8], BOOL_MASK as i32
                    ; je ->boolean
                    ; and rbx, [rbp + r12 * 8 - 8]
                    ; ->masked:
                    ; mov [rax + r12 * 8 - OFF - 8], rbx
                    ; dec r12
                    ; jnz ->word
                    ; jmp ->copied
                    ; ->boolean:
                    ; test bl, bl
                    ; setne bl
                    ; movzx ebx, bl
                    ; jmp ->masked
                    ; ->copied:
                );
            }
        }
        self.part("entry");
    }

    /// Stack arguments: the callee's own copy, made once.
    fn stack_arguments(&mut self) {
        if !self.abi.stack {
            return;
        }
        self.part("stack arguments");
        self.uses(&[RBX, R12]);
        code!(self
            ; mov r12d, [BYTE r11 + STACK_WORDS]
            ; lea ebx, [r12 + 1]
            ; and ebx, -2
            ; shl rbx, 3
            ; sub rax, rbx
        );
        match self.abi.caller {
            Caller::Host => {} // as soon as a fault is the callee's
            // The caller's memory may go at any moment: a guarded copy, while a fault is the host's (R23).
            Caller::Domain(_) => {
                let copy = self.field(offset_of!(ThreadBlock, copy));
                let top = self.field(offset_of!(ThreadBlock, top));
                self.uses(&[RBP]);
                code!(self
                    ; lea rbx, [BYTE r10 - STEP]
                    ; fs mov [top], rbx
                    ; mov rbp, rax
                    ; push rdi
                    ; push rsi
                    ; push rdx
                    ; push rcx
                    ; lea rdi, [rax - OFF]
                    ; mov rsi, [BYTE rbx + GATE_ENTRY]
                    ; mov rsi, [BYTE rsi + STACK_DISTANCE]
                    ; add rsi, [BYTE rbx + GATE_CONTROL]
                    ; sub rsi, OFF
                    ; lea rdx, [r12 * 8]
                );
                match self.abi.masks {
                    None => code!(self ; fs call QWORD [copy]),
                    Some(masks) => code!(self
                        ; mov rcx, QWORD masks.as_ptr() as i64
                        ; mov rax, QWORD lockgate_copy_arguments as *const () as i64
                        ; call rax
                    ),
                }
                code!(self
                    ; pop rcx
                    ; pop rdx
                    ; pop rsi
                    ; pop rdi
                    ; test rax, rax
                    ; mov rax, rbp
                    ; jnz ->failed
                );
            }
        }
    }

    fn fill_record(&mut self) {
        self.part("record");
        let kind = if self.abi.limited { LIMITED_ENTRY } else { ENTRY };
        code!(self
            ; cmp QWORD [BYTE r10 + KIND], kind.into()
            ; jne ->kind
            ; ->of_kind:
            ; mov [BYTE r10 + BINDING], r11
            ; mov [BYTE r10 + CONTROL], rax
            ; mov [BYTE r10 + HOST], rsp
        );
        if self.abi.limited {
            let sequence = self.field(offset_of!(ThreadBlock, sequence));
            self.part("time limit");
            self.uses(&[RBX]);
            code!(self
                ; fs mov ebx, [sequence]
                ; inc ebx
                ; fs mov [sequence], ebx
                ; mov [BYTE r10 + RECORD_SEQUENCE], ebx
                ; mov ebx, [BYTE r11 + LIMIT]
                ; mov [BYTE r10 + RECORD_LIMIT], ebx
            );
        }
        if self.abi.policy.counted {
            self.part("count");
            self.uses(&[RBX]);
            code!(self
                ; mov rbx, [BYTE r11 + TRAFFIC]
                ; lock inc QWORD [BYTE rbx + CALLS]
            );
        }
        if self.abi.policy.timed {
            self.part("time");
            self.uses(&[RBX, R12]);
            code!(self
                ; mov rbx, rax
                ; mov r12, rdx
                ; rdtsc
                ; shl rdx, 32
                ; or rax, rdx
                ; mov [BYTE r10 + STARTED], rax
                ; mov rdx, r12
                ; mov rax, rbx
            );
        }
    }

    /// Keeps the caller's control words, and gives the callee the state that it may expect, or may see.
    fn save_cpu_state(&mut self) {
        // Words that the callee may change are kept in any case: they are needed after a fault, as the frame is.
        if self.duties.keeps_x87(self.abi.callee) {
            self.part(if self.duties.saves_x87() { "x87" } else { "control words" });
            code!(self ; fnstcw [BYTE r10 + X87_WORD]);
        }
        if self.duties.x87_fresh {
            // With the usual control word every exception is masked, so that none can be pending, and emms, which
            // empties the register stack, is nearly free.
            code!(self
                ; cmp WORD [BYTE r10 + X87_WORD], CLEAN_X87
                ; je >clean
                ; fninit
                ; clean:
                ; emms
            );
        }
        if self.duties.x87_hide_environment {
            // fninit forgets the address of the caller's last instruction (R18).
            code!(self ; fninit);
            if !self.duties.x87_fresh {
                code!(self ; fldcw [BYTE r10 + X87_WORD]);
            }
        }
        if self.duties.keeps_mxcsr(self.abi.callee) {
            self.part(if self.duties.saves_mxcsr() { "mxcsr" } else { "control words" });
            code!(self ; stmxcsr [BYTE r10 + MXCSR_WORD]);
        }
        if self.duties.mxcsr_fresh {
            code!(self
                ; mov DWORD [rsp], CLEAN_MXCSR
                ; ldmxcsr [rsp]
            );
        } else if self.duties.mxcsr_hide_flags {
            self.uses(&[RBX]);
            code!(self
                ; mov ebx, [BYTE r10 + MXCSR_WORD]
                ; and ebx, !MXCSR_FLAGS
                ; mov [rsp], ebx
                ; ldmxcsr [rsp]
            );
        }
        if self.duties.hide_in.x87 {
            self.part("x87 registers");
            self.clear_x87();
        }
    }

    /// Publishes the record: from here on a fault is the callee's. What gs really is decides whether it is written (R19): the
    /// word read through it, in the header that no module can write, is the window's base only if gs points to it.
    fn enter(&mut self) {
        let top = self.field(offset_of!(ThreadBlock, top));
        let transit = self.field(offset_of!(ThreadBlock, transit));
        self.part("entry");
        code!(self
            ; fs mov [top], r10
            ; fs mov QWORD [transit], 0
        );
        match self.abi.caller {
            Caller::Host => code!(self
                ; mov r10, [BYTE r11 + WINDOW]
                ; gs cmp [HEADER_W], r10
                ; jne ->window
                ; ->entered:
            ),
            Caller::Domain(_) => code!(self
                ; wrgsbase r15
            ),
        }
        if self.abi.caller == Caller::Host {
            self.copy_from_host();
        }
        self.clear_room();
        if !self.duties.hide_in_all {
            self.keep_registers();
        }
        self.hide_vectors(self.duties.hide_in, self.duties.hide_in_all, self.abi.arguments.vectors);
        if self.duties.hide_in_all {
            self.part("general registers");
            for (number, fill) in ARGUMENTS.into_iter().zip(self.abi.arguments.integers) {
                self.trim(number, fill);
            }
            for (number, _) in SAVED {
                self.trim(number, Fill::Nothing);
            }
        } else if self.abi.caller != Caller::Host {
            self.extend(&ARGUMENTS, self.abi.arguments.integers);
        }
        self.part("entry");
        code!(self
            ; mov r11, [BYTE r11 + TARGET]
            ; mov rsp, rax
        );
        match self.abi.generic {
            // No more than this many vector registers, should the function take variable arguments.
            true => code!(self ; mov eax, 8),
            false => code!(self ; xor eax, eax),
        }
        code!(self
            ; xor r10d, r10d // the host's addresses stay its own (R24)
            ; call r11
        );
    }

    /// Where the callee returns to. Any register may hold anything here, and the word that leads here may be one that an
    /// earlier entry left on the control stack: everything comes from the thread's innermost record, and what follows is
    /// this proxy's only if that record is (R8).
    fn exit(&mut self) {
        let top = self.field(offset_of!(ThreadBlock, top));
        self.part("exit");
        code!(self
            ; fs mov r10, [top]
            ; mov r11, [BYTE r10 + BINDING]
            ; lea rcx, [->leave]
            ; cmp [BYTE r11 + LEAVE], rcx
            ; jne ->stale
            ; mov rsp, [BYTE r10 + HOST]
            ; ->leave:
        );
    }

    /// The caller's processor state, as it had it (R17).
    fn restore_cpu_state(&mut self) {
        if self.duties.x87_forget {
            self.part("x87");
            code!(self
                ; fninit
                ; fldcw [BYTE r10 + X87_WORD]
            );
        } else if self.duties.x87_guard || self.duties.x87_fresh {
            self.part("x87");
            // As on the way in: with the caller's control word, and every exception masked, none can be pending. Else
            // start afresh, without a wait for what is pending.
            code!(self
                ; fnstcw [rsp]
                ; movzx ecx, WORD [rsp]
                ; cmp cx, [BYTE r10 + X87_WORD]
                ; jne ->reset_x87
                ; not ecx
                ; test ecx, X87_MASKS as i32
                ; jnz ->reset_x87
                ; emms
                ; ->x87_is_clean:
            );
        }
        if self.duties.hide_out.x87 {
            self.part("x87 registers");
            if !self.duties.x87_guard && !self.duties.x87_forget {
                code!(self ; fnclex);
            }
            self.clear_x87();
        }
        if self.duties.saves_mxcsr() {
            self.part("mxcsr");
            code!(self ; ldmxcsr [BYTE r10 + MXCSR_WORD]);
        }
        self.hide_vectors(self.duties.hide_out, self.duties.hide_out_all, self.abi.results.vectors);
        if self.duties.upper_guard {
            self.part("upper halves");
            code!(self ; vzeroupper);
        }
    }

    fn leave_exclusive(&mut self) {
        if !self.abi.exclusive {
            return;
        }
        let (tid, wake) =
            (self.field(offset_of!(ThreadBlock, tid)), self.field(offset_of!(ThreadBlock, wake)));
        self.part("exclusive domain");
        code!(self
            ; mov rdi, [BYTE r11 + OWNER]
            // A call that has ended while it slept in a system call may have it no more.
            ; mov ecx, [rdi]
            ; and ecx, OWNED as i32
            ; fs cmp ecx, [tid]
            ; jne >alone
            ; xor ecx, ecx
            ; xchg [rdi], ecx
            ; test ecx, ecx
            ; jns >alone
            ; fs call QWORD [wake]
            ; alone:
        );
    }

    fn count_return(&mut self) {
        if !self.abi.policy.timed {
            return;
        }
        self.part("time");
        code!(self
            ; mov rcx, [BYTE r11 + TRAFFIC]
            ; mov r8, rax
            ; mov r9, rdx
            ; rdtsc
            ; shl rdx, 32
            ; or rax, rdx
            ; sub rax, [BYTE r10 + STARTED]
            ; lock add [BYTE rcx + CYCLES], rax
            ; mov rax, r8
            ; mov rdx, r9
        );
    }

    /// Where the callee's result lies on its data stack, in rsi; its length, in rdx.
    fn find_result(&mut self) {
        let slots = self.field(offset_of!(ThreadBlock, slots));
        code!(self
            ; mov esi, [BYTE r11 + SLOT]
            ; fs add rsi, [slots]
            ; mov rsi, [rsi]
            ; mov ecx, [BYTE r11 + RESULT_ROOM]
            ; sub rsi, rcx
            ; sub rsi, OFF
            ; mov edx, [BYTE r11 + RESULT_SIZE]
        );
    }

    fn return_to_host(&mut self) {
        let top = self.field(offset_of!(ThreadBlock, top));
        let status = self.field(offset_of!(ThreadBlock, status));
        let copy = self.field(offset_of!(ThreadBlock, copy));
        if self.abi.memory {
            self.part("result in memory");
            code!(self
                ; fs test BYTE [status], ENDED
                ; jnz >failed
                ; mov rdi, [BYTE r10 + RESULT]
            );
            self.find_result();
            code!(self
                ; fs call QWORD [copy]
                ; failed:
                ; mov rax, [BYTE r10 + RESULT]
                ; xor edx, edx
            );
        }
        self.part("record");
        code!(self
            ; sub r10, BYTE STEP
            ; fs mov [top], r10
        );
        self.restore_registers();
        if self.abi.reports {
            self.part("failure");
            code!(self
                ; fs test BYTE [status], ENDED
                ; jnz ->report
            );
        }
        self.hide_general();
        self.part("return");
        code!(self ; ret);
    }

    fn return_to_domain(&mut self) {
        let top = self.field(offset_of!(ThreadBlock, top));
        let slots = self.field(offset_of!(ThreadBlock, slots));
        let status = self.field(offset_of!(ThreadBlock, status));
        let pending = self.field(offset_of!(ThreadBlock, pending));
        let transit = self.field(offset_of!(ThreadBlock, transit));
        let copy = self.field(offset_of!(ThreadBlock, copy));
        self.part("admission back");
        code!(self
            ; fs test BYTE [status], ENDED
            ; jnz ->failed
        );
        if self.abi.memory {
            // The caller says where, within its own window; it may be anything (R23). Before it is asked what is pending: a
            // caller that goes on after that finds its result.
            self.part("result in memory");
            code!(self
                ; mov edi, [BYTE r10 + RESULT]
                ; mov rcx, [BYTE r10 + BINDING - STEP - STEP]
                ; add rdi, [BYTE rcx + WINDOW]
            );
            self.find_result();
            code!(self
                ; fs call QWORD [copy]
                ; test rax, rax
                ; jnz ->unwritable
                ; mov rax, [BYTE r10 + RESULT]
                ; xor edx, edx
            );
        }
        self.part("admission back");
        code!(self
            ; fs cmp QWORD [pending], 0
            ; jne ->failed
        );
        self.part("caller's gate");
        code!(self
            // Off the records first, as a gate.
            ; ->resume:
            ; lea rcx, [r10 - 2 * i32::from(STEP)]
            ; fs mov [top], rcx
            ; fs mov QWORD [transit], 0 // after a failure
            ; mov rcx, [BYTE r10 + BINDING - STEP - STEP]
            ; mov esi, [BYTE rcx + SLOT]
            ; fs add rsi, [slots]
            ; mov rdi, [BYTE r10 + GATE_SLOT - STEP]
            ; mov [rsi], rdi
            ; xor esi, esi // the host's addresses stay its own (R24)
            ; mov rcx, [BYTE r10 + GATE_WINDOW - STEP]
            ; wrgsbase rcx
        );
        self.restore_registers();
        self.part("caller's gate");
        code!(self
            ; mov rsp, [BYTE r10 + GATE_CONTROL - STEP]
        );
        self.hide_general();
        self.part("return");
        code!(self
            ; xor r10d, r10d
            ; xor r11d, r11d
            ; ret
        );
    }

    fn restore_registers(&mut self) {
        if self.duties.restore {
            self.part("callee-saved registers");
            code!(self
                ; add rsp, 8
                ; pop r15
                ; pop r14
                ; pop r13
                ; pop r12
                ; pop rbx
                ; pop rbp
            );
        } else {
            self.part("frame");
            code!(self ; add rsp, FRAME_SIZE - 8);
        }
    }

    /// The callee's values in general registers, but for results.
    fn hide_general(&mut self) {
        if !self.duties.hide_out_all {
            self.extend(&RESULTS, self.abi.results.integers);
            return;
        }
        self.part("general registers");
        for (number, fill) in RESULTS.into_iter().zip(self.abi.results.integers) {
            self.trim(number, fill);
        }
        for number in [1, 6, 7, 8, 9, 10, 11] {
            self.trim(number, Fill::Nothing);
        }
    }

    /// Extends bytes and 16-bit values to 32 bits, which clang and rustc rely on: they use an index of type `unsigned char` without
    /// another look. (System V ABI, 3.2.3, leaves it open; gcc extends on both sides.)
    fn extend(&mut self, registers: &[u8], fills: [Fill; 6]) {
        let is_small = |fill: &Fill| fill.is_small();
        if fills.iter().any(is_small) {
            self.part("small values");
        }
        for (number, fill) in registers.iter().zip(fills).filter(|(_, fill)| is_small(fill)) {
            self.trim(*number, fill);
        }
    }

    /// Clears what the value in a general register leaves unused.
    fn trim(&mut self, number: u8, fill: Fill) {
        match fill {
            Fill::Nothing => code!(self ; xor Rd(number), Rd(number)),
            Fill::Bool => {
                code!(self ; test Rb(number), Rb(number) ; setne Rb(number) ; movzx Rd(number), Rb(number))
            }
            Fill::Unsigned8 => code!(self ; movzx Rd(number), Rb(number)),
            Fill::Signed8 => code!(self ; movsx Rd(number), Rb(number)),
            Fill::Unsigned16 => code!(self ; movzx Rd(number), Rw(number)),
            Fill::Signed16 => code!(self ; movsx Rd(number), Rw(number)),
            Fill::Low32 => code!(self ; mov Rd(number), Rd(number)),
            Fill::Bytes(bytes) => {
                let unused = 64 - 8 * bytes as i8;
                code!(self ; shl Rq(number), unused ; shr Rq(number), unused);
            }
            Fill::Low64 | Fill::Low128 => {}
        }
    }

    /// Clears vector and mask registers: all that carry no value with `all`, and the classes in `usage`.
    fn hide_vectors(&mut self, usage: StateUsage, all: bool, values: [Fill; 8]) {
        if all && self.abi.callee.vector {
            self.part("vector registers");
            for number in 0..16_u8 {
                // VEX forms clear upper halves, too, and cost old code after them less.
                match values.get(usize::from(number)).copied().unwrap_or_default() {
                    Fill::Nothing => self.ops.extend(&clear_vector(number)),
                    Fill::Low32 => code!(self ; vinsertps Rx(number), Rx(number), Rx(number), 0b1110),
                    Fill::Low128 => code!(self ; vmovdqa Rx(number), Rx(number)),
                    _ => code!(self ; vmovq Rx(number), Rx(number)),
                }
            }
        } else if usage.upper {
            self.part("upper halves");
            code!(self ; vzeroupper);
        }
        if usage.evex {
            self.part("zmm16-31");
            for low in 0..16_u8 {
                self.ops.extend(&clear_high_vector(low));
            }
        }
        if usage.mask {
            self.part("mask registers");
            for number in 0..8 {
                self.ops.extend(&clear_mask(number));
            }
        }
    }

    /// MMX's name for x87 registers clears what is secret in them; emms empties the stack again.
    fn clear_x87(&mut self) {
        code!(self
            ; pxor mm0, mm0
            ; pxor mm1, mm1
            ; pxor mm2, mm2
            ; pxor mm3, mm3
            ; pxor mm4, mm4
            ; pxor mm5, mm5
            ; pxor mm6, mm6
            ; pxor mm7, mm7
            ; emms
        );
    }

    /// Cold code.
    fn out_of_line(&mut self) {
        let exit = self.field(offset_of!(ThreadBlock, exit));
        let kind = if self.abi.limited { LIMITED_ENTRY } else { ENTRY };
        self.part("record");
        code!(self
            ; ->kind:
            ; mov QWORD [BYTE r10 + KIND], kind.into()
            ; jmp ->of_kind
        );
        self.part("exit of another entry");
        code!(self
            ; ->stale:
            ; fs jmp QWORD [exit]
        );
        if (self.duties.x87_guard || self.duties.x87_fresh) && !self.duties.x87_forget {
            self.part("x87, when it was changed");
            code!(self
                ; ->reset_x87:
                ; fninit
                ; fldcw [BYTE r10 + X87_WORD]
                ; jmp ->x87_is_clean
            );
        }
        match self.abi.caller {
            Caller::Host => self.host_out_of_line(),
            Caller::Domain(_) => {
                let slow = self.field(offset_of!(ThreadBlock, cross_slow));
                let failed = self.field(offset_of!(ThreadBlock, cross_failed));
                let transit = self.field(offset_of!(ThreadBlock, transit));
                self.part("admission");
                self.coroutine(0);
                self.part("admission, the slow path");
                code!(self
                    ; ->back:
                    ; fs mov QWORD [transit], 0
                    ; lea rbx, [->again]
                    ; lea rbp, [->resume]
                    ; fs jmp QWORD [slow]
                );
                if self.abi.memory {
                    // As if the call had not begun: the fault is the caller's.
                    let top = self.field(offset_of!(ThreadBlock, top));
                    self.part("result in memory");
                    code!(self
                        ; ->unwritable:
                        ; lea rcx, [BYTE r10 - STEP]
                        ; fs mov [top], rcx
                    );
                }
                self.part("no return");
                code!(self
                    ; ->failed:
                    ; lea r11, [->resume]
                    ; fs jmp QWORD [failed]
                );
            }
        }
    }

    /// Below the thread's own stack: there is room if it, and the frame of the call that this one is nested in, of the record at r10 plus
    /// `entry`, are on the coroutine's stack that the slow path has looked at.
    fn coroutine(&mut self, entry: i8) {
        let floor = self.field(offset_of!(ThreadBlock, coroutine_floor));
        let end = self.field(offset_of!(ThreadBlock, coroutine_end));
        code!(self
            ; ->coroutine:
            ; fs cmp rsp, [floor]
            ; jb ->back
            ; mov rax, [BYTE r10 + HOST + entry]
            ; fs cmp rax, [end]
            ; jb ->deep
        );
    }

    fn host_out_of_line(&mut self) {
        let slow = self.field(offset_of!(ThreadBlock, slow));
        let top = self.field(offset_of!(ThreadBlock, top));
        let floor = self.field(offset_of!(ThreadBlock, stack_floor));
        let end = self.field(offset_of!(ThreadBlock, records_end));
        let slots = self.field(offset_of!(ThreadBlock, slots));
        let transit = self.field(offset_of!(ThreadBlock, transit));
        if self.abi.reports {
            let report = self.field(offset_of!(ThreadBlock, report));
            self.part("failure");
            code!(self
                ; ->report:
                ; fs jmp QWORD [report]
            );
        }
        self.part("another window");
        code!(self
            ; ->window:
            ; wrgsbase r10
            ; jmp ->entered
        );
        // In a gate of a live entry (R13, R16), with room for more records and host frames.
        self.part("admission of nested calls");
        code!(self
            ; ->nested:
            ; fs mov r10, [top]
            ; cmp BYTE [BYTE r10 + KIND], GATE as i8
            ; jne ->back
            ; cmp rsp, [BYTE r10 + HOST - STEP]
            ; jae ->back
            ; fs cmp rsp, [floor]
            ; jb ->coroutine
            ; ->deep:
            ; fs mov rax, [slots]
            ; cmp QWORD [BYTE rax - WHOSE_BACK], 0 // a child's: what it calls here is its parent's
            ; je ->back
            ; lea rax, [r10 + 4 * i32::from(STEP)] // the entry, its gate, and one more entry from there
            ; fs cmp rax, [end]
            ; jbe ->place
            ; jmp ->back
        );
        self.coroutine(-STEP);
        self.part("admission, the slow path");
        code!(self
            ; ->back:
            ; mov rax, rsp // what is another's stays
            ; xor r10d, r10d
            ; fs cmpxchg [transit], r10
            ; ->slow:
            ; fs jmp QWORD [slow]
        );
    }
}

/// `vpxor %xmmM,%xmmM,%xmmN` with M = N mod 8: clears all of zmmN. Whatever M holds, combined with itself it is 0, and the prefix of
/// two bytes has no room for M = N.
fn clear_vector(number: u8) -> [u8; 4] {
    let low = number & 7;
    let extension = if number < 8 { 0b1000_0000 } else { 0 };
    [0xc5, extension | (!low & 0xf) << 3 | 0b01, 0xef, 0b1100_0000 | low << 3 | low]
}

/// `vpxord %xmmN,%xmmN,%xmmN` with N = 16 + `low`: clears all of zmmN.
fn clear_high_vector(low: u8) -> [u8; 6] {
    let inverted = !low;
    // EVEX.R and B extend ModRM's register fields by their fourth bit, X and R' by their fifth; all are stored inverted.
    let extension = if low & 8 == 0 { 0b1010_0001 } else { 0b0000_0001 };
    let v = 0b0000_0101 | (inverted & 0xf) << 3;
    [0x62, extension, v, 0b0000_0000, 0xef, 0b1100_0000 | (low & 7) << 3 | (low & 7)]
}

/// `kxorw %kN,%kN,%kN`: clears all of kN.
fn clear_mask(number: u8) -> [u8; 4] {
    [0xc5, 0b1000_0100 | (!number & 0xf) << 3, 0x47, 0b1100_0000 | number << 3 | number]
}
