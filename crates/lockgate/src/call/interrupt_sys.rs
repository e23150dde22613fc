//! A domain's code is interrupted at any instruction by a signal of its own: in a handler of the host's. Here its thread is taken to a gate, where
//! [`signalled_sys`](super::signalled_sys) goes on.
use super::instance::Instance;
use super::interruptions_sys::{Stage, XSAVE_SIZE};
use super::layout::{EntryRecord, GATE, GateRecord, NEXT_MARK, RECORD, Record};
use super::thread_sys::ThreadState;
use crate::report::RawFault;
use crate::syscall::INFO;
use libc::ucontext_t;
use lockgate_abi::{stack, window};
use std::mem::offset_of;
use std::sync::atomic::Ordering;

unsafe extern "C" {
    static lockgate_gate_interrupted: u64;
}

/// Flags that a handler begins with, and those of the module's that are kept: carry, parity, adjust, zero, sign, overflow.
pub(super) const CLEAN_FLAGS: u64 = 0x202;
const KEPT_FLAGS: u64 = 0x8d5;

/// Bytes that a handler has at least.
pub(super) const LEAST_ROOM: u64 = 4 << 10;

/// Bytes of Linux's `struct ucontext` on x86-64, without what lies behind it.
pub(super) const UCONTEXT: usize = 936;

/// The lowest usable address of the control stack that `control` lies on.
pub(super) fn lowest(domain: &Instance, control: u64) -> u64 {
    control - control % stack::SLOT + stack::TOP - domain.stack_size_at(control)
}

/// Takes the thread, which a signal of the host's has interrupted in code of a domain's, to the gate of interruptions; false where it cannot be.
///
/// # Safety
/// In a handler of the library's, with the kernel's frame of code that the entry with this record, which is innermost, has verified code
/// for.
pub(super) unsafe fn interrupt(
    state: &ThreadState,
    record: *mut EntryRecord,
    frame: &mut ucontext_t,
    fault: Option<RawFault>,
) -> bool {
    let register = |number: i32| frame.uc_mcontext.gregs[number as usize] as u64;
    let (rip, rsp) = (register(libc::REG_RIP), register(libc::REG_RSP));
    // SAFETY: a live record, and the array behind it; verified code can be read; the control stack is mapped between its ends.
    unsafe {
        let Some(binding) = (*record).binding.as_ref() else { return false };
        let domain = &*binding.domain;
        let is_code = domain.codes().at(rip).is_some_and(|code| code.holds(rip - 3) && code.holds(rip + 3));
        let stacks = domain.base() + window::CONTROL..domain.base() + window::CONTROL_END;
        if !is_code || !stacks.contains(&rsp) || !rsp.is_multiple_of(8) {
            return false;
        }
        // Between the two instructions of U2 that open a frame nothing tells yet where the function began.
        let opens = *((rip - 3) as *const [u8; 7]) == OPENS;
        let top = rsp - rsp % stack::SLOT + stack::TOP;
        let used = stack::LIVE_BELOW + LEAST_ROOM + 2 * INFO as u64 + 2 * UCONTEXT as u64;
        if opens || rsp > top || rsp < lowest(domain, rsp) + used {
            return false;
        }
        let size = XSAVE_SIZE.load(Ordering::Acquire) as usize;
        let Some(one) = state.interruptions.begin(state.records(), size) else { return false };
        let order = [
            libc::REG_RAX,
            libc::REG_RCX,
            libc::REG_RDX,
            libc::REG_RBX,
            libc::REG_RSP,
            libc::REG_RBP,
            libc::REG_RSI,
            libc::REG_RDI,
            libc::REG_R8,
            libc::REG_R9,
            libc::REG_R10,
            libc::REG_R11,
            libc::REG_R12,
            libc::REG_R13,
            libc::REG_R14,
            libc::REG_R15,
        ];
        (*one).saved.registers = order.map(register);
        (*one).saved.rip = rip;
        (*one).saved.flags = CLEAN_FLAGS | register(libc::REG_EFL) & KEPT_FLAGS;
        (*one).stage = Stage::Interrupted;
        (*one).fault = fault;
        (*one).control = rsp - 8;
        (*one).room = stack::LIVE_BELOW;
        // Below rsp anybody may write: as if the instruction had called something.
        ((rsp - 8) as *mut u64).write_volatile(rip);
        let gate = record.byte_add(RECORD as usize).cast::<GateRecord>();
        (*state.block).mark += NEXT_MARK;
        (*gate).mark = (*state.block).mark;
        (*one).mark = (*gate).mark;
        *((*record).host as *mut u64) = (*gate).mark;
        ((*gate).control, (*gate).entry) = (rsp - 8, std::ptr::null());
        ((*gate).rbx, (*gate).r12) = (register(libc::REG_RBX), register(libc::REG_R12));
        let registers = &mut frame.uc_mcontext.gregs;
        registers[..libc::REG_RIP as usize].fill(0);
        registers[libc::REG_RBX as usize] = gate as i64;
        registers[libc::REG_R12 as usize] = (*record).host as i64;
        registers[libc::REG_RCX as usize] = (*record).binding as i64;
        registers[libc::REG_RSP as usize] = (*record).host as i64;
        registers[libc::REG_RIP as usize] = lockgate_gate_interrupted as i64;
        registers[libc::REG_EFL as usize] = CLEAN_FLAGS as i64;
    }
    true
}

/// `xchg %r11,%rsp; mov %r11,(%rsp)`, the end of U2.
const OPENS: [u8; 7] = [0x4c, 0x87, 0xdc, 0x4c, 0x89, 0x1c, 0x24];

const _: () = assert!(
    offset_of!(Record, kind) == 0
        && offset_of!(GateRecord, mark) == 0
        && offset_of!(EntryRecord, interruption) == 4
        && GATE != 0
);
