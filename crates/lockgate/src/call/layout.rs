//! Structures that the assembly of the call path and Rust both know.
//!
//! Field offsets reach the assembly through `offset_of!`; nothing repeats them.
use super::reporter::Reporter;
use crate::space::MAX_STRIDES;
use crate::stats::Traffic;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

/// The thread's control block: the one static thread-local object of the library, reached through `fs`.
///
/// A module can neither read nor write it. In-window thunks jump through its gate pointers, so that
/// thunks hold no host address (rule R24).
#[repr(C)]
pub(crate) struct ThreadBlock {
    /// Innermost record.
    pub top: *mut Record,
    /// The record below all others.
    pub first: *mut Record,
    /// Control rsp for the next entry, by domain id; 0 where the thread is not attached. Before the first lies the word at [`WHOSE`].
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
    /// Number of calls so far that had a time limit; wraps around.
    pub sequence: u32,
    /// The thread's kernel id.
    pub tid: u32,
    /// Not 0 after a call that did not return: see [`super::outcome_sys::take_error`].
    pub status: u64,
    /// rsp of a proxy that looks at its checks and the thread's place, or has, and shows no record yet: *in transit*. What runs on the
    /// thread meanwhile is a handler of the host's, and enters no domain. The same of a gate on its way back, until it is off the records, and
    /// of one whose call ends; and, with [`UNTAKEN`], of a call that has failed, until its caller has looked. Else 0. (docs/life-of-a-call.md has a
    /// table of what this, `top` and `status` can be together.)
    pub transit: u64,
    /// What the last gate's record began with: [`GateRecord::mark`].
    pub mark: u64,
    /// Entry of both system-call gates: r11d is the slot. (This and the other code pointers are the same in every thread, from its start.)
    pub gate_syscall: usize,
    /// Entry of import gates.
    pub gate_import: usize,
    /// Entry of callback gates.
    pub gate_callback: usize,
    /// Where returns go on that are not the innermost entry's own.
    pub exit: usize,
    /// The slow path into a domain from the host.
    pub slow: usize,
    /// The slow path into a domain from another.
    pub cross_slow: usize,
    /// Ends a crossing whose callee did not return, or whose caller must not go on.
    pub cross_failed: usize,
    /// Wakes a thread that waits for an exclusive domain.
    pub wake: usize,
    /// A copy that survives a fault.
    pub copy: usize,
    /// Tells of a call through a raw function pointer that did not return.
    pub report: usize,
    /// Entry of the gate of `resume`.
    pub gate_resume: usize,
    /// The thread's Rust side; null before the thread first attaches.
    pub state: *const super::thread_sys::ThreadState,
    /// Signals that the thread sees blocked, and the kernel does not block: [`super::mask_sys`].
    pub masked: u64,
    /// How many [`lockgate_undisturbed`](super::undisturbed_sys) the thread is in: 0 where handlers of the host's come.
    pub held: u64,
    /// Frame of the outermost one.
    pub held_at: u64,
    /// The thread's mask before that.
    pub held_mask: u64,
    /// Signals of faults that were sent meanwhile. What is known of them lies in that frame.
    pub postponed: u64,
    /// Whether the thread let itself be cancelled before.
    pub held_cancel: i32,
    /// The work in which functions of the host's run although handlers wait.
    pub unseen: Unseen,
    /// What the owner word of an exclusive domain is, where it was taken for the thread's proxy: [`super::exclusive_sys`].
    pub turn: u32,
    /// As [`ThreadBlock::stack_floor`], of the stack of a coroutine, below the thread's own, that a nested call has come from; and the end of
    /// that stack.
    pub coroutine_floor: u64,
    pub coroutine_end: u64,
}

/// What a thread was before [`unseen`](super::undisturbed_sys::unseen) work.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Unseen {
    /// The frame for which handlers wait; 0: there is no such work.
    pub at: u64,
    /// Signals that wait for it only.
    pub mask: u64,
    /// Whether the thread let itself be cancelled.
    pub cancel: i32,
}

/// [`ThreadBlock::alternate_size`] of a thread whose alternate stack may go: each call takes the slow path, which looks. (No rsp is so far
/// above `alternate_low`, which is a page's address, that a proxy lets it pass.)
pub(super) const LOOKS_AGAIN: u64 = u64::MAX - 1;

/// Bit of [`ThreadBlock::transit`]: a call has failed whose caller looks at once. Who calls before that is a handler, which would find its
/// status, or take it away.
pub(crate) const UNTAKEN: u64 = 1;

/// Status of a call that ended with a fault, recorded in [`ThreadState::fault`](super::thread_sys::ThreadState::fault).
pub(crate) const STATUS_FAULT: u64 = 1;
/// Status of a call that was refused; why is known to [`outcome_sys`](super::outcome_sys).
pub(super) const STATUS_REFUSED: u64 = 2;
/// What of the status is about the last call that was no handler's: 0 if that returned.
pub(crate) const STATUS_ENDED: u64 = STATUS_FAULT | STATUS_REFUSED;
/// Bit of the status: a call through a raw function pointer was refused because a signal handler made it. It may never be asked about.
pub(super) const STATUS_RAW_HANDLER: u64 = 4;
/// In the status, this times the number of other such calls whose callers have not looked yet: handlers that have interrupted each other.
pub(super) const STATUS_HANDLER: u64 = 8;

/// What both kinds of record begin with.
///
/// A thread's records form an array, outermost first, in memory of its own: the trusted control structure
/// of rule R8. (Not on the host's stack: a host that longjmps over a domain would let them be overwritten,
/// and rule R16 needs them.) Its first element is an [`IDLE`] record. The watcher reads them from its own thread.
#[repr(C, align(64))]
pub(crate) struct Record {
    /// [`IDLE`], [`ENTRY`], [`LIMITED_ENTRY`] or [`GATE`].
    pub kind: u8,
}

/// Kind of the record below all others: the thread is in no domain.
pub(crate) const IDLE: u8 = 0;
/// Kind of a record made by a proxy: the thread runs the domain's code.
pub(crate) const ENTRY: u8 = 1;
/// Kind of a record made by a gate: the thread runs host code, or another domain, on the domain's behalf. The
/// record below it is that domain's entry.
pub(crate) const GATE: u8 = 2;
/// An [`ENTRY`] that has a time limit of its own.
pub(crate) const LIMITED_ENTRY: u8 = 3;

impl Record {
    /// True for both kinds of entry.
    pub fn is_entry(&self) -> bool {
        self.kind == ENTRY || self.kind == LIMITED_ENTRY
    }
}

/// One entry into a domain.
#[repr(C, align(64))]
pub(crate) struct EntryRecord {
    pub kind: u8,
    /// Not 0: the thread knows what its mask of the domain's signals was when the call began, and has changed it since. As the next field.
    pub masked: u8,
    /// Of the innermost interruption of the entry ([`super::interruptions_sys`]); 0 if there is none. A proxy writes it with the kind.
    pub interruption: u32,
    /// The binding called; null if it has ended, and the call had been left by a jump.
    pub binding: *const BindingHeader,
    /// rsp in the domain at its first instruction, before the call that leads there. For debuggers.
    pub control: u64,
    /// The host's rsp in the proxy: [`FRAME`] bytes of padding, callee-saved registers and return address lie
    /// there.
    pub host: u64,
    /// The caller's MXCSR and x87 control word, where they have to be kept.
    pub mxcsr: u32,
    pub x87_control: u32,
    /// Address of a result that the callee returns in memory, as the caller gave it.
    pub result: u64,
    /// For a [`LIMITED_ENTRY`]: its sequence number, and its limit in milliseconds.
    pub sequence: u32,
    pub limit: u32,
    /// Time-stamp counter at the entry, where calls are timed.
    pub started: u64,
}

/// Bytes of the proxy's frame: a word for the mark of the gate that was called from there ([`GateRecord::mark`]), six callee-saved registers,
/// return address, which is 0 in a crossing's. Keeps the stack 16-aligned for what gates call.
pub(crate) const FRAME: u64 = 8 + 6 * 8 + 8;

/// What marks of gates differ by: the bits above their kind are a number.
pub(crate) const NEXT_MARK: u64 = 1 << 8;

/// One call from a domain to the host, or through it to another domain.
#[repr(C, align(64))]
pub(crate) struct GateRecord {
    /// [`GATE`] in the lowest byte, which is [`Record::kind`]; above it a number that no other gate of the thread has had, from 1. The gate
    /// keeps a copy in the frame of the entry that it was called from, on the stack on which the host's function runs: that is how it knows
    /// its record again. Number 0 is a crossing's, which asks only where the host's code runs under it, or that of a
    /// record that was taken for a dead one.
    pub mark: u64,
    /// The module's rsp at the gate: its return address lies there.
    pub control: u64,
    /// What the thread's slot table held for the domain.
    pub slot: u64,
    /// The function called; null for system calls.
    pub entry: *const GateEntry,
    /// The module's rbx; at a crossing, the caller's `W`.
    pub rbx: u64,
    pub r12: u64,
    /// The module's MXCSR and x87 control word, as in [`EntryRecord`]; the x87 status word, if the module reads the environment.
    pub mxcsr: u32,
    pub x87_control: u16,
    pub x87_status: u16,
}

/// Distance between records, bytes.
pub(crate) const RECORD: u64 = size_of::<Record>() as u64;

const _: () = assert!(
    RECORD == 64 && size_of::<EntryRecord>() as u64 == RECORD && size_of::<GateRecord>() as u64 == RECORD
);

/// Bytes that an entry made from a gate keeps clear below the module's rsp: the data stack's red zone,
/// which a system call must not change, and what the rewriter saves below it.
pub(crate) const RED_ZONE: u64 = 256;

/// One function that a domain may call: a host function, or a binding to another domain.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct GateEntry {
    /// Where the gate goes on: the part for host functions, the one that finds lazy imports, or a crossing's proxy.
    pub code: *const (),
    /// Code address of a host function, System V calling convention; for a crossing, the callee's `W`, so that the proxy
    /// finds it early.
    pub function: *const (),
    /// For the function's own use, a closure's address; for a crossing, its [`BindingHeader`]; for a lazy import, its
    /// slot.
    pub context: usize,
    /// 8-byte words of stack arguments.
    pub stack_words: u32,
    /// Arguments of a host function that are extended to 32 bits: four bits for each of rdi rsi rdx rcx r8 r9, one of which says that
    /// it is an unsigned or signed byte, or 16-bit value; the first two, that it is a `_Bool`. Gates look at it and `stack_words` at once.
    pub small: u32,
    /// Distance from the domain's rsp at the gate up to the stack arguments, bytes.
    pub stack_distance: u64,
    /// Where a host function's result is, and how much of its registers it fills: `RESULT_*`. The upper half is 0.
    pub results: u64,
    /// Of a host function: a mask for each word of stack arguments ([`super::call_abi::stack_masks`]); null if all bits are values.
    pub stack_masks: *const u64,
}

/// Bits of [`GateEntry::results`].
pub(crate) const RESULT_RAX: u64 = 1;
pub(crate) const RESULT_RDX: u64 = 2;
pub(crate) const RESULT_XMM0: u64 = 4;
pub(crate) const RESULT_XMM1: u64 = 8;
/// A register is not full: one of those below says which. `RESULT_SHIFT_*` is the place of six bits, by how many the value is shifted up and
/// down again.
pub(crate) const RESULT_TRIMS: u64 = 16;
/// rax is extended by its sign, to 32 bits.
pub(crate) const RESULT_SIGNED: u64 = 32;
/// rax is 0 or 1.
pub(crate) const RESULT_BOOL: u64 = 64;
/// Only the low quarter of xmm0 is the result's.
pub(crate) const RESULT_LOW_XMM0: u64 = 128;
pub(crate) const RESULT_SHIFT_RAX: u32 = 8;
/// As `RESULT_LOW_XMM0`.
pub(crate) const RESULT_LOW_XMM1: u64 = 1 << 15;
pub(crate) const RESULT_SHIFT_RDX: u32 = 16;

/// What gates need of a domain. Lives as long as the domain.
#[repr(C)]
pub(crate) struct Gates {
    pub imports: *const *const GateEntry,
    pub import_count: u64,
    /// Null until the first callback.
    pub callbacks: AtomicPtr<*const GateEntry>,
    pub callback_count: AtomicU64,
    /// State components that system calls keep for the module (XSAVE mask).
    pub xsave_mask: u64,
}

/// Bit of [`BindingHeader::flags`]: x87 state may not be the host's while the module runs (rule R17).
pub(crate) const X87: u32 = 1;
/// The same of MXCSR.
pub(crate) const MXCSR: u32 = 2;
/// The caller is a domain.
pub(crate) const FROM_DOMAIN: u32 = 4;
/// The caller's registers are secret: the host's, where it answers the domain's own calls, too.
pub(crate) const HIDES: u32 = 8;
/// The module can read the x87 environment, and must not find the host's there (rule R18).
pub(crate) const X87_ENVIRONMENT: u32 = 16;
/// Entries' records have the caller's x87 control word, because the caller does not trust the module with it.
pub(crate) const SAVED_X87: u32 = 32;
/// Entries' records have the caller's MXCSR.
pub(crate) const SAVED_MXCSR: u32 = 64;
/// Entries' records have the x87 control word of when they began, which may be the caller's own.
pub(crate) const KEEPS_X87: u32 = 128;
/// The same of MXCSR.
pub(crate) const KEEPS_MXCSR: u32 = 256;
/// The call goes by what the function alone can touch, and not by what its window can: nothing else may run in it. The header for calls by the
/// window lies behind this one ([`by_window`]).
pub(crate) const OF_FUNCTION: u32 = 512;
/// The domain gives its turns up while it sleeps in a system call: [`super::turn_sys`].
pub(crate) const GIVES_UP: u32 = 1024;
/// When the call's limit has passed it goes on without its caller, where it can: [`super::handover_sys`].
pub(crate) const DETACHES: u32 = 2048;
/// From this bit on, with [`OF_FUNCTION`]: what the function's proxy leaves in registers of the caller's secrets, and the window's hides
/// (`UNHIDDEN_*`).
pub(crate) const UNHIDDEN_SHIFT: u32 = 16;
/// [Components](component) of XSAVE; of x87 perhaps the environment alone; the flags of MXCSR.
pub(crate) const UNHIDDEN_COMPONENTS: u32 = 0xff;
pub(crate) const UNHIDDEN_ENVIRONMENT: u32 = 1 << 8;
pub(crate) const UNHIDDEN_MXCSR: u32 = 1 << 9;
/// The exception masks of an x87 control word.
pub(crate) const X87_MASKS: u32 = 0x3f;

/// State components of XSAVE (Intel SDM vol. 1, 13.1).
pub(crate) mod component {
    pub const X87: u64 = 1;
    pub const SSE: u64 = 2;
    pub const AVX: u64 = 4;
    pub const MASKS: u64 = 0x20;
    /// The rest of the first 16 vectors, and 16 more.
    pub const ZMM_UPPER: u64 = 0x40;
    pub const ZMM_MORE: u64 = 0x80;
    pub const AVX512: u64 = MASKS | ZMM_UPPER | ZMM_MORE;
}

/// The part of a binding that thunk, proxy and gates read.
#[repr(C)]
pub(crate) struct BindingHeader {
    /// The proxy's code: thunks jump through it. Where the binding has a successor, the code that goes on to that.
    pub proxy: AtomicUsize,
    /// Where the proxy goes on after a return, with the record in r10, the binding in r11 and rsp at its frame.
    pub leave: usize,
    /// `W`.
    pub window: u64,
    /// The procedure, an address in the window.
    pub target: u64,
    /// Offset of the domain's entry in slot tables.
    pub slot: u32,
    /// Where proxies look for the caller's place: `slot`, or, when the binding is closed,
    /// [`NO_DOMAIN`], which sends every call the slow path.
    pub admission: AtomicU32,
    /// 8-byte words of stack arguments.
    pub stack_words: u32,
    /// Bytes of a result returned in memory.
    pub result_size: u32,
    /// The same, rounded up to 16.
    pub result_room: u32,
    /// Time limit, milliseconds; 0 if none.
    pub limit: u32,
    /// Bytes of records that may lie below a call's: how deep calls nest.
    pub depth: u32,
    /// [`X87`], [`MXCSR`], [`FROM_DOMAIN`], [`HIDES`], [`X87_ENVIRONMENT`], [`SAVED_X87`], [`SAVED_MXCSR`], [`KEEPS_X87`], [`KEEPS_MXCSR`],
    /// [`OF_FUNCTION`], [`GIVES_UP`], and what is from [`UNHIDDEN_SHIFT`] on.
    pub flags: u32,
    pub gates: *const Gates,
    /// The domain, for Rust.
    pub domain: *const super::instance::Instance,
    /// The rest of the binding, for Rust.
    pub info: *const super::info::Info,
    /// Owner of an exclusive domain, as [`super::exclusive_sys`] says; 0 if no thread has it. Null where calls take no turn.
    pub owner: *const AtomicU32,
    /// Where calls are counted and timed.
    pub traffic: *const Traffic,
    /// The binding that takes the calls of this one, if `proxy` says so.
    pub successor: AtomicPtr<BindingHeader>,
    /// Who is told of calls that do not return, and says what they return instead; null where the caller asks by itself.
    pub reporter: *const Reporter,
    /// `info` and `domain` are gone, or going: see `call/retired_sys.rs`.
    pub retired: AtomicBool,
}

/// Bit of an owner word: a thread waits.
pub(crate) const WAITED_FOR: u32 = 1 << 31;
/// Bit of an owner word: it was taken for its owner's proxy, which has not come for it yet.
pub(crate) const GIVEN: u32 = 1 << 30;
/// Bit of an owner word: a thread has waited for long, and goes first. Without an owner: no other takes it for now.
pub(crate) const GOES_FIRST: u32 = 1 << 29;
/// The owner's kernel id in an owner word. (Linux has fewer than 2^22.)
pub(crate) const OWNED: u32 = !(WAITED_FOR | GIVEN | GOES_FIRST);

/// A binding's header, for its calls, and behind it the one for calls that go by the window after all ([`OF_FUNCTION`]). No others are made: by its
/// address alone a header says which of the two it is.
#[repr(C, align(256))]
pub(crate) struct Headers(pub [BindingHeader; 2]);

const HEADER: usize = size_of::<BindingHeader>();
const _: () = assert!(2 * HEADER == align_of::<Headers>() && size_of::<Headers>() == 2 * HEADER);

/// The first of the two headers of which `header` is one: what a binding is known by. (Nothing is read.)
pub(crate) fn first_header(header: *const BindingHeader) -> *const BindingHeader {
    header.map_addr(|address| address & !HEADER)
}

/// The second of the two headers of which `header` is one. (As there.)
pub(crate) fn by_window(header: *const BindingHeader) -> *const BindingHeader {
    header.map_addr(|address| address | HEADER)
}

/// What a module wants of `resume`, and then what it gets.
#[repr(C)]
pub(crate) struct ResumeFrame {
    /// rsp at the label.
    pub entry: u64,
    /// An address in the thread's slot, its low 32 bits; then on the data stack.
    pub address: u64,
    /// The label's offset in the window, its low 32 bits; then its address.
    pub label: u64,
}

/// What a thread goes on with in a domain, where that is none of what it has in registers: at the handler of a signal, or where one has
/// interrupted it.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Going {
    /// rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
    pub registers: [u64; 16],
    pub flags: u64,
    pub rip: u64,
    /// Vectors and what belongs to them, as XSAVE or XSAVEC has them.
    pub state: *const u8,
    /// [`EntryRecord::interruption`] from then on.
    pub interruption: u32,
}

/// Index of rsp in [`Going::registers`].
pub(crate) const RSP: usize = 4;

/// What the gate of system calls has besides the [`SyscallFrame`].
#[repr(C)]
pub(crate) struct GateState {
    pub rbp: u64,
    pub r13: u64,
    pub r14: u64,
    pub r15: u64,
    pub result: i64,
    /// The saved state of vectors.
    pub state: *const u8,
}

/// Registers of a system call, as the gate stores them.
#[repr(C)]
pub(crate) struct SyscallFrame {
    pub number: u64,
    /// rdi, rsi, rdx, r10, r8, r9.
    pub arguments: [u64; 6],
}

/// Bytes of an entry of slot tables.
pub(crate) const SLOT_SIZE: u32 = size_of::<u64>() as u32;

/// Bytes from the word that says whose a slot table is up to that: 1, and 0 in children of the process that made it, in which the kernel empties
/// all of it. A child that no code of the library's has heard of (`_Fork`, the system call) may run on in the middle of a call, and its gates write
/// the places below which that call's frames lie: by these alone, calls would begin there.
pub(crate) const WHOSE: u32 = size_of::<u64>() as u32;

/// Offset of the last entry of slot tables, which is no domain's: always 0.
pub(crate) const NO_DOMAIN: u32 = MAX_STRIDES as u32 * SLOT_SIZE;
