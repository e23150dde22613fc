//! Structures that the assembly of the call path and Rust both know.
//!
//! Field offsets reach the assembly through `offset_of!`; nothing repeats them.
use std::sync::atomic::{AtomicPtr, AtomicU64};

/// The thread's control block: the one static thread-local object of the library, reached through `fs`.
///
/// A module can neither read nor write it. In-window stubs jump through its three gate pointers, so that
/// stubs hold no host address (rule R24).
#[repr(C)]
pub(crate) struct ThreadBlock {
    /// Innermost record.
    pub top: *mut Record,
    /// Control rsp for the next entry, by domain id; 0 where the thread is not attached.
    pub slots: *mut u64,
    /// Lowest address of the alternate signal stack.
    pub alternate_low: u64,
    /// Its size; `u64::MAX` while the thread may not enter any domain, so that one comparison refuses
    /// both threads without a live record and callers on the alternate stack (rules R12, R13).
    pub alternate_size: u64,
    /// Nested calls are refused when rsp is below: a module that makes the host recurse must not exhaust
    /// the host's stack.
    pub stack_floor: u64,
    /// One past the last record.
    pub records_end: u64,
    /// Not 0: something ends the call at the next return from a gate.
    pub pending: u64,
    /// Number of calls so far that put the thread under a time limit.
    pub sequence: u64,
    /// The limit in force, milliseconds, of the outermost call in progress that has one; 0 if none has.
    pub limit: u64,
    /// Not 0 after a call that did not return: see [`super::thread_sys::take_error`].
    pub status: u64,
    /// Entry of system-call gates.
    pub gate_syscall: usize,
    /// Entry of import gates.
    pub gate_import: usize,
    /// Entry of callback gates.
    pub gate_callback: usize,
    /// The thread's Rust side; null before the thread first attaches.
    pub state: *const super::thread_sys::ThreadState,
}

/// What both kinds of record begin with.
///
/// A thread's records form an array, outermost first, in memory of its own: the trusted control structure
/// of rule R8. (Not on the host's stack: a host that longjmps over a domain would let them be overwritten,
/// and rule R16 needs them.) Its first element is an [`IDLE`] record.
#[repr(C, align(64))]
pub(crate) struct Record {
    /// [`IDLE`], [`ENTRY`] or [`GATE`].
    pub kind: u64,
}

/// Kind of the record below all others: the thread is in no domain.
pub(crate) const IDLE: u64 = 0;
/// Kind of a record made by a proxy: the thread runs the domain's code.
pub(crate) const ENTRY: u64 = 1;
/// Kind of a record made by a gate: the thread runs host code on the domain's behalf. The record below
/// it is that domain's entry.
pub(crate) const GATE: u64 = 2;

/// One entry into a domain.
#[repr(C, align(64))]
pub(crate) struct EntryRecord {
    pub kind: u64,
    /// The binding called.
    pub binding: *const BindingHeader,
    /// Where the exit stub goes.
    pub continuation: usize,
    /// The host's rsp in the proxy: [`FRAME`] bytes of padding, callee-saved registers and return address lie
    /// there.
    pub host: u64,
    /// The host's MXCSR and x87 control word, where the module's report demands to keep them.
    pub mxcsr: u32,
    pub x87_control: u32,
    /// Host address of a result that the callee returns in memory.
    pub result: u64,
    /// The same result's place on the data stack.
    pub result_inside: u64,
    /// Room for the control word on the way out.
    pub x87_now: u32,
    /// 1 if the time limit in force is this call's.
    pub limited: u32,
}

/// Bytes of the proxy's frame: padding, six callee-saved registers, return address. Keeps the stack
/// 16-aligned for what gates call.
pub(crate) const FRAME: u64 = 8 + 6 * 8 + 8;

/// One call from a domain to the host.
#[repr(C, align(64))]
pub(crate) struct GateRecord {
    pub kind: u64,
    /// The module's rsp at the gate: its return address lies there.
    pub control: u64,
    /// What the thread's slot table held for the domain.
    pub slot: u64,
    /// The function called; null for system calls.
    pub entry: *const GateEntry,
    pub rbx: u64,
    pub r12: u64,
    /// The module's MXCSR and x87 control word, as in [`EntryRecord`].
    pub mxcsr: u32,
    pub x87_control: u32,
}

/// Distance between records, bytes.
pub(crate) const RECORD: u64 = size_of::<Record>() as u64;

const _: () = assert!(
    RECORD == 64 && size_of::<EntryRecord>() as u64 == RECORD && size_of::<GateRecord>() as u64 == RECORD
);

/// One host function that a domain may call.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct GateEntry {
    /// Code address, System V calling convention.
    pub function: usize,
    /// For the function's own use: a closure's address.
    pub context: usize,
    /// 8-byte words of stack arguments.
    pub stack_words: u64,
}

impl GateEntry {
    /// No function: calling it ends the domain's call.
    pub fn none() -> GateEntry {
        GateEntry { function: super::missing(), context: 0, stack_words: 0 }
    }
}

/// What gates need of a domain. Lives as long as the domain.
#[repr(C)]
pub(crate) struct Gates {
    pub imports: *const GateEntry,
    pub import_count: u64,
    /// Null until the first callback.
    pub callbacks: AtomicPtr<GateEntry>,
    pub callback_count: AtomicU64,
    /// State components that system calls keep for the module (XSAVE mask).
    pub xsave_mask: u64,
}

/// The part of a binding that the proxy reads.
#[repr(C)]
pub(crate) struct BindingHeader {
    /// The proxy's code: thunks jump through it.
    pub proxy: usize,
    /// `W`.
    pub window: u64,
    /// The procedure, an address in the window.
    pub target: u64,
    /// Index of the domain in slot tables.
    pub id: u32,
    /// What this binding needs beyond the common path: `EXTRA_*`.
    pub extras: u32,
    /// 8-byte words of stack arguments.
    pub stack_words: u32,
    /// Bytes of a result returned in memory.
    pub result_size: u32,
    /// The same, rounded up to 16.
    pub result_room: u32,
    /// Time limit, milliseconds.
    pub limit: u64,
    pub gates: *const Gates,
    /// The domain, for Rust.
    pub domain: *const crate::domain::Core,
}

/// The procedure has arguments on the stack.
pub(crate) const EXTRA_STACK: u32 = 1;
/// The procedure returns its result in memory.
pub(crate) const EXTRA_RESULT: u32 = 2;
/// The module can change x87 state (rule R17).
pub(crate) const EXTRA_X87: u32 = 4;
/// The exception masks of an x87 control word.
pub(crate) const X87_MASKS: u32 = 0x3f;
/// The module can read the x87 environment (rule R18).
pub(crate) const EXTRA_X87_ENVIRONMENT: u32 = 64;
/// The module can change MXCSR.
pub(crate) const EXTRA_MXCSR: u32 = 8;
/// The module can leave upper halves of vector registers dirty.
pub(crate) const EXTRA_VECTORS: u32 = 16;
/// The domain's calls have a time limit.
pub(crate) const EXTRA_LIMIT: u32 = 32;

/// Registers of a system call, as the gate stores them.
#[repr(C)]
pub(crate) struct SyscallFrame {
    pub number: u64,
    /// rdi, rsi, rdx, r10, r8, r9.
    pub arguments: [u64; 6],
}
