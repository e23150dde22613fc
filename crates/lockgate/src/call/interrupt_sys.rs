//! A domain's code is interrupted at any instruction by a signal of its own: in a handler of the host's. Here its thread is taken to a gate, where
//! [`signalled_sys`](super::signalled_sys) goes on.
use super::instance::Instance;
use super::interruptions_sys::{Stage, XSAVE_SIZE};
use super::layout::{
    EntryRecord, GATE, GateRecord, KEEPS_MXCSR, KEEPS_X87, NEXT_MARK, OF_FUNCTION, RECORD, Record,
    UNHIDDEN_SHIFT, by_window,
};
use super::thread_sys::ThreadState;
use crate::report::{Cause, RawFault};
use libc::ucontext_t;
use lockgate_abi::{code, header, stack, window};
use lockgate_syscall::INFO;
use lockgate_verify::Reading;
use std::mem::offset_of;
use std::sync::atomic::Ordering;

unsafe extern "C" {
    static lockgate_gate_interrupted: u64;
}

/// Flags with which a handler begins, and with which the host goes on after a fault: the interrupt flag and the always-one bit. DF, AC, TF and
/// NT are clear (rule R15).
pub(super) const CLEAN_FLAGS: u64 = 0x202;
/// Flags of the module's that are kept: carry, parity, adjust, zero, sign, overflow.
pub(super) const KEPT_FLAGS: u64 = 0x8d5;

/// Bytes that a handler has at least.
pub(super) const LEAST_ROOM: u64 = 4 << 10;

/// Instructions that make a frame as large as a slot, at most.
const STEPS: usize = 4 * (stack::SLOT / code::MAX_MOVE as u64) as usize;

/// Bytes of Linux's `struct ucontext` on x86-64, without what lies behind it.
pub(super) const UCONTEXT: usize = 936;

/// Most bytes of vectors that a handler finds above that.
pub(super) const MOST_VECTORS: usize = 2560;

/// The lowest usable address of the control stack that `control` lies on.
pub(super) fn lowest(domain: &Instance, control: u64) -> u64 {
    control - control % stack::SLOT + stack::TOP - domain.stack_size_at(control) + domain.closed_at(control)
}

/// Bytes of both stacks that a handler begins with, below `room` bytes that what it has interrupted may use.
pub(super) const fn used(room: u64) -> u64 {
    room + LEAST_ROOM + 2 * (INFO + UCONTEXT) as u64 + MOST_VECTORS as u64
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
        // Where the caller's control words are, which the function may not be able to touch.
        let Some(words) = frame.uc_mcontext.fpregs.as_ref() else { return false };
        let domain = &*binding.domain;
        let stacks = domain.base() + window::CONTROL..domain.base() + window::CONTROL_END;
        if !stacks.contains(&rsp) || !rsp.is_multiple_of(8) {
            return false;
        }
        let registers = ORDER.map(register);
        if domain.codes().at(rip).is_none() {
            return false;
        }
        let Some(room) = live_below(domain, rip, |number| registers[number]) else { return false };
        let top = rsp - rsp % stack::SLOT + stack::TOP;
        let has_room = |more: u64| rsp >= lowest(domain, rsp) + used(room) + more;
        // (What has been accessed in vain may lie a move of rsp below.)
        let opened = !has_room(code::MAX_MOVE.into())
            && fault.is_some_and(|raw| has_alternate_stack(domain, &raw))
            && domain.open_reserve(rsp);
        if rsp > top || !has_room(0) {
            return false;
        }
        state.interruptions.drop_gone(record, domain);
        let size = XSAVE_SIZE.load(Ordering::Acquire) as usize;
        let Some(one) = state.interruptions.begin(state.records(), domain.base(), size) else { return false };
        (*one).saved.registers = registers;
        (*one).saved.rip = rip;
        (*one).saved.flags = CLEAN_FLAGS | register(libc::REG_EFL) & KEPT_FLAGS;
        (*one).stage = Stage::Interrupted;
        (*one).fault = fault;
        ((*one).control, (*one).returns) = (rsp - 8, false);
        (*one).room = Some(room);
        (*one).opened = opened;
        (*one).unhidden = widen(record, words);
        // Below rsp handlers may write: as if the instruction had called something.
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
        registers[libc::REG_RDX as usize] = room as i64;
        registers[libc::REG_RSP as usize] = (*record).host as i64;
        registers[libc::REG_RIP as usize] = lockgate_gate_interrupted as i64;
        registers[libc::REG_EFL as usize] = CLEAN_FLAGS as i64;
    }
    true
}

/// Whether the handler of what an instruction has raised is to have a stack that does not overflow with its thread's.
fn has_alternate_stack(domain: &Instance, raw: &RawFault) -> bool {
    matches!(raw.cause, Cause::Signal { number, .. } if domain.process().has_alternate_stack(number as u32))
}

/// A call that goes by what one function can touch goes by its window from now on, since all of that may run in a handler: what the function
/// cannot touch is as the caller has left it, and is noted as the window's proxy would have done; the exit is that proxy's. Returns what that
/// would have hidden from the module besides (`UNHIDDEN_*`): it is in the registers still.
unsafe fn widen(record: *mut EntryRecord, words: &libc::_libc_fpstate) -> u32 {
    // SAFETY: the caller's: a live entry's binding; behind the header of a call that goes by one function lies the other one.
    unsafe {
        let own = (*record).binding;
        if (*own).flags & OF_FUNCTION == 0 {
            return 0;
        }
        let other = by_window(own);
        let more = (*other).flags & !(*own).flags;
        if more & KEEPS_X87 != 0 {
            (*record).x87_control = words.cwd.into();
        }
        if more & KEEPS_MXCSR != 0 {
            (*record).mxcsr = words.mxcsr;
        }
        (&raw mut (*record).binding).write_volatile(other);
        (*own).flags >> UNHIDDEN_SHIFT
    }
}

/// How far below rsp the data of the function at `rip` may reach; [`None`]: it cannot be interrupted there. Where a function has closed its
/// frame to jump to a label of its own, and where that label's code opens it again, the whole of it lies below.
pub(super) fn live_below(domain: &Instance, rip: u64, register: impl Fn(usize) -> u64) -> Option<u64> {
    // (To the end of the code: a pattern may end there.)
    let text = |at: u64| match domain.codes().at(at) {
        // SAFETY: verified code can be read.
        Some(code) => unsafe { std::slice::from_raw_parts(at as *const u8, (code.end() - at) as usize) },
        None => &[],
    };
    let starts = |at: u64, with: &[u8]| text(at).starts_with(with);
    // Between the two instructions of U2 that open a frame nothing tells yet where the function began; before them, how far down it will be.
    if starts(rip - 3, &OPENS) || (rip - OPENING..rip).any(|at| starts(at, &OPEN)) {
        return None;
    }
    // A checked jump leaves for where the register says whose low half it checks.
    let target = |at: u64| {
        let jump = (at - (LEAVES.len() as u64 - 3)..=at + CHECKED).find(|at| starts(*at, &LEAVES))?;
        match *text(jump - 3) {
            [rex @ (0x41 | 0x45), 0x89, modrm, ..] => {
                Some(register((modrm >> 3 & 7 | (rex & 4) << 1).into()))
            }
            _ => None,
        }
    };
    let mut at = rip;
    let mut room = stack::LIVE_BELOW;
    // The jump may be here, or behind a frame's end.
    let mut may_leave = true;
    for _ in 0..STEPS {
        if let Some(target) = if may_leave { target(at) } else { None } {
            (at, may_leave) = (domain.base() + u64::from(target as u32), false);
        }
        let (length, moves) = match step(text(at)) {
            Step::On(length, moves) => (length, moves),
            Step::End => return Some(room),
            Step::Unknown => return None,
        };
        may_leave |= moves > 0;
        room += u64::try_from(-moves).unwrap_or(0);
        at += length;
    }
    None
}

/// What the instruction at the start of a text means for a walk over frames that open.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// So many bytes, which add this to rsp.
    On(u64, i64),
    /// None opens here: the data end where the walk has come to.
    End,
    /// It may move rsp in a way that is not known here.
    Unknown,
}

/// The forms by which the verifier lets rsp move (rule V3) stand here once more, because a handler of signals has no time for the whole verifier.
/// What it lets through besides has to end the walk only if it leaves rsp alone: a form that V3 gets and this list lacks is [`Step::Unknown`].
fn step(text: &[u8]) -> Step {
    let (length, moves) = match *text {
        [0xf3, 0x0f, 0x1e, 0xfa, ..] => (4, 0),
        // `lea d(%rsp),%rsp`, `add $d,%rsp`, `sub $d,%rsp`, and the probes between two of them.
        [0x48, 0x8d, 0x64, 0x24, d, ..] => (5, i64::from(d as i8)),
        [0x48, 0x8d, 0xa4, 0x24, a, b, c, d, ..] => (8, i64::from(i32::from_le_bytes([a, b, c, d]))),
        [0x48, 0x83, 0xc4, d, ..] => (4, i64::from(d as i8)),
        [0x48, 0x81, 0xc4, a, b, c, d, ..] => (7, i64::from(i32::from_le_bytes([a, b, c, d]))),
        [0x48, 0x83, 0xec, d, ..] => (4, -i64::from(d as i8)),
        [0x48, 0x81, 0xec, a, b, c, d, ..] => (7, -i64::from(i32::from_le_bytes([a, b, c, d]))),
        [0xf6, 0x04, 0x24, 0x00, ..] => (4, 0),
        [0x89, 0x84, 0x24, ..] => (7, 0),
        // What U2 is to open with, in r11: `mov %rT,%r11`, `lea d(%r11),%r11`.
        [0x49 | 0x4d, 0x89, modrm, ..] if modrm & 0xc7 == 0xc3 => (3, 0),
        [0x4d, 0x8d, 0x5b, ..] => (4, 0),
        [0x4d, 0x8d, 0x9b, ..] => (7, 0),
        // The check of a target's upper half: `shr $32,%r11; cmp %gs:W_HIGH,%r11d; je 1f; ud2; 1:`.
        [0x49, 0xc1, 0xeb, 32, ..] => (4, 0),
        [0x65, 0x67, 0x44, 0x3b, 0x1c, 0x25, ..] => (10, 0),
        [0x74, 2, 0x0f, 0x0b, ..] => (4, 0),
        _ if text.starts_with(&OPEN) => return Step::Unknown,
        // `mov d(%rsp),%rsp`, which closes a frame: nothing opens before it.
        [0x48, 0x8b, 0x24 | 0x64 | 0xa4, 0x24, ..] => return Step::End,
        // (The list that it reads is there: the process has been prepared for domains.)
        _ => match Reading::of(text) {
            Some(reading) if reading.written & RSP == 0 => return Step::End,
            _ => return Step::Unknown,
        },
    };
    Step::On(length, moves)
}

/// In [`Reading::written`].
const RSP: u16 = 1 << 4;

/// By their hardware numbers.
const ORDER: [i32; 16] = [
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

/// The beginning of U2 (`xor %rsp,%r11; and $..,%r11d`), its end (`xchg %r11,%rsp; mov %r11,(%rsp)`), and the end of U1 that jumps, behind
/// `mov %eT,%r11d` (`add %gs:HDR_W,%r11; jmp *%r11`; docs/rules.md).
const OPEN: [u8; 6] = [0x49, 0x31, 0xe3, 0x41, 0x81, 0xe3];
const OPENS: [u8; 7] = [0x4c, 0x87, 0xdc, 0x4c, 0x89, 0x1c, 0x24];
const LEAVES: [u8; 13] = {
    let [a, b, c, d] = (header::W as u32).to_le_bytes();
    [0x65, 0x67, 0x4c, 0x03, 0x1c, 0x25, a, b, c, d, 0x41, 0xff, 0xe3]
};
/// Bytes of U2 before its `xchg`, with a near branch, and of U1 before `LEAVES`, with the longest forms.
const OPENING: u64 = 16 + 6;
const CHECKED: u64 = 6 + 7 + 6 + 3;

const _: () = assert!(
    offset_of!(Record, kind) == 0
        && offset_of!(GateRecord, mark) == 0
        && offset_of!(EntryRecord, interruption) == 4
        && GATE != 0
);

#[cfg(test)]
mod tests {
    use super::*;

    /// Of all instructions with one or two bytes of opcode: those that move rsp as rule V3 allows are known with what they add, and no other one that
    /// writes rsp ends a walk as if it left rsp alone.
    #[test]
    fn forms_that_move_rsp_are_known() {
        let (mut moves, mut unknown) = (0, 0);
        for rex in 0x40..=0x4f_u8 {
            for opcode in 0..=0x1ff_u16 {
                for modrm in 0..=0xff_u8 {
                    let mut text = vec![rex];
                    text.extend((opcode > 0xff).then_some(0x0f));
                    text.extend([opcode as u8, modrm, 0x24, 0x18, 0xff, 0xff, 0xff, 0, 0, 0]);
                    let Some(reading) = Reading::of(&text).filter(|reading| reading.written & RSP != 0)
                    else {
                        continue;
                    };
                    text.truncate(reading.len);
                    let expected = as_rule_v3_has_it(&text);
                    assert_eq!(step(&text), expected, "{text:02x?}");
                    moves += usize::from(matches!(expected, Step::On(..)));
                    unknown += usize::from(expected == Step::Unknown);
                }
            }
        }
        assert!(moves == 6 && unknown > 1_000, "{moves} {unknown}");
    }

    /// What U2 is to open with comes into r11 before, which moves nothing; the unit itself is not known.
    #[test]
    fn what_leads_to_a_frame_of_variable_size_is_passed() {
        for register in 0..16_u8 {
            let text = [0x49 | register >> 3 << 2, 0x89, 0xc3 | (register & 7) << 3, 0, 0, 0, 0];
            assert_eq!(step(&text), Step::On(3, 0), "{text:02x?}");
        }
        assert_eq!(step(&[0x4d, 0x8d, 0x5b, 0x18, 0, 0, 0]), Step::On(4, 0));
        assert_eq!(step(&[0x4d, 0x8d, 0x9b, 0x18, 0, 0, 0]), Step::On(7, 0));
        assert_eq!(step(&OPEN), Step::Unknown);
    }

    /// By the instruction's operation and operand. [`Step::Unknown`]: no module may have it, or only inside U2.
    fn as_rule_v3_has_it(text: &[u8]) -> Step {
        let by = |operand: &[u8], sign: i64| match *operand {
            [d] => Step::On(text.len() as u64, sign * i64::from(d as i8)),
            [a, b, c, d] => Step::On(text.len() as u64, sign * i64::from(i32::from_le_bytes([a, b, c, d]))),
            _ => Step::Unknown,
        };
        match text {
            [0x48, 0x83 | 0x81, 0xc4, operand @ ..] | [0x48, 0x8d, 0x64 | 0xa4, 0x24, operand @ ..] => {
                by(operand, 1)
            }
            [0x48, 0x83 | 0x81, 0xec, operand @ ..] => by(operand, -1),
            // It closes a frame.
            [0x48, 0x8b, 0x24 | 0x64 | 0xa4, 0x24, ..] => Step::End,
            _ => Step::Unknown,
        }
    }
}
