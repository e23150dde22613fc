//! Handlers of a domain's own signals ([decision 0080](../../../../docs/decisions/0080-signals-of-a-domain.md)): how they begin, and how what they
//! have interrupted goes on.
//!
//! They begin behind a gate: that of a system call, or one that the thread is taken to from any instruction of the domain's, as if that had
//! called something. There nothing is done in a handler of the host's any more, and all that holds of gates holds. What was interrupted is kept
//! in the runtime's own memory ([`interruptions_sys`](super::interruptions_sys)), every register of it, and goes on as it was: a module names no
//! place to go on at. The handler is a label, as is what it returns to, and their frames begin below all that is in use.
use super::block_sys::block;
use super::codes::Code;
use super::gate_sys::{Then, end_call, end_with_panic, entry};
use super::handover_sys;
use super::instance::Instance;
use super::interrupt_sys::{CLEAN_FLAGS, KEPT_FLAGS, LEAST_ROOM, MOST_VECTORS, UCONTEXT, live_below, lowest};
use super::interruptions_sys::{Interruption, Stage, XSAVE_SIZE};
use super::layout::{
    EntryRecord, GateRecord, GateState, Going, RED_ZONE, RSP, SyscallFrame, UNHIDDEN_COMPONENTS,
    UNHIDDEN_ENVIRONMENT, UNHIDDEN_MXCSR, component,
};
use super::must_end_sys::{is_over, may_detach, why_stop};
use super::repair_sys::{self, Found};
use super::resume_sys::{self, Over, forget_handlers, interrupted, is_label};
use super::thread_sys::ThreadState;
use super::undisturbed_sys::KeptErrno;
use super::watch;
use crate::copy_asm::{Loaded, lockgate_peek};
use crate::report::{Cause, RawFault};
use crate::space;
use crate::walk::{self, end_of_walk};
use lockgate_abi::{code, stack, window};
use lockgate_syscall::{Asked, Fault, Handler, INFO, Info, Memory as _, Next};
use lockgate_verify::State;
use rustix::io::Errno;
use std::arch::x86_64::__cpuid_count;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// What the gate does: the system call returns.
const RETURNS: usize = 0;
/// It asks once more whether the call is to end.
const ASKS_AGAIN: usize = 1;

/// Vectors as a handler finds them: at the beginning of XSAVE's area MXCSR, whose exceptions are masked; a header that says that all components
/// are as they are initially.
#[repr(C, align(64))]
struct Initial([u8; 4096]);
static INITIAL: Initial = {
    let mut bytes = [0; 4096];
    [bytes[24], bytes[25]] = 0x1f80_u16.to_le_bytes();
    Initial(bytes)
};

/// What XSAVE's area begins with: where things are.
mod area {
    use std::ops::Range;
    /// Bytes before the header, which begins with the components that are not as they are initially.
    pub const FXSAVE: usize = 512;
    /// Status and tags, behind the control word.
    pub const X87_STATUS: Range<usize> = 2..6;
    /// Opcode and addresses of the last instruction.
    pub const X87_ENVIRONMENT: Range<usize> = 6..24;
    pub const MXCSR: Range<usize> = 24..32;
    pub const X87: Range<usize> = 32..160;
    pub const SSE: Range<usize> = 160..416;
}

/// Linux's `struct ucontext` on x86-64, as far as a handler may look: where things are.
mod ucontext {
    const REGISTERS: usize = 40;
    pub const RSP: usize = REGISTERS + 8 * 15;
    pub const RIP: usize = REGISTERS + 8 * 16;
    pub const FLAGS: usize = REGISTERS + 8 * 17;
    /// What an instruction has raised: where, as the processor says.
    pub const FAULT_ADDRESS: usize = REGISTERS + 8 * 22;
    /// Where vectors lie (`fpregs`).
    pub const VECTORS: usize = REGISTERS + 8 * 23;
    pub const MASK: usize = 296;

    /// General registers: r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, by their hardware numbers, and where each lies.
    pub fn registers() -> impl Iterator<Item = (usize, usize)> + Clone {
        let order = [8, 9, 10, 11, 12, 13, 14, 15, 7, 6, 5, 3, 2, 0, 1, 4];
        order.into_iter().zip((REGISTERS..).step_by(8))
    }
}

/// The signals whose handlers run behind a system call before anything else, or the call ends: it has sent them, or let them come, or waited for
/// one.
fn asked_for(frame: &SyscallFrame, registers: &GateState) -> Asked {
    let [first, second, third, ..] = frame.arguments;
    let sent = |signal: u64| match registers.result {
        0 if (1..=64).contains(&signal) => Asked::Only(1 << (signal - 1)),
        _ => Asked::Only(0),
    };
    match frame.number as i64 {
        _ if registers.result == -i64::from(Errno::INTR.raw_os_error()) => Asked::All,
        libc::SYS_rt_sigprocmask if second != 0 && first as i32 != libc::SIG_BLOCK => Asked::LetCome,
        libc::SYS_kill | libc::SYS_tkill | libc::SYS_rt_sigqueueinfo => sent(second),
        libc::SYS_tgkill => sent(third),
        _ => Asked::Only(0),
    }
}

/// Whether a handler certainly has room behind the system call at `control` ([`begin`]).
fn has_room(domain: &Instance, control: u64) -> bool {
    let used = RED_ZONE + (MOST_VECTORS + 64 + INFO + UCONTEXT) as u64 + 2 * 16 + LEAST_ROOM;
    control >= lowest(domain, control) + used
}

/// Bytes of the gate call in front of a return site (`call *%gs:disp32`).
const GATE_CALL: u64 = 8;

/// Called by gates on their way back, when they have asked: [`RETURNS`], [`ASKS_AGAIN`], or the address of a [`Going`]. With that the thread is in
/// transit: what was found, and written below the module's frames, stays so until the gate is off the records. (A handler of the host's that
/// comes when they are let in might call the domain, or switch to another stack.)
///
/// # Safety
/// The gate of system calls, or that of interruptions, with the frame of its entry, which has the gate's mark.
pub(super) unsafe extern "C" fn lockgate_signalled(
    gate: *mut GateRecord,
    own: *const u64,
    registers: *const GateState,
) -> usize {
    let _errno = KeptErrno::new();
    // SAFETY: the caller's; the thread's own state. (The system call's frame is below the entry's.)
    let find = || unsafe {
        let Some(state) = (*block()).state.as_ref() else { return Ok(ASKS_AGAIN) };
        // Since it asked, handlers have come again, which may have made calls on other stacks that are in progress.
        if repair_sys::is_in_transit(state, own as u64 - 1)
            || repair_sys::find(state, gate, own) != Found::Innermost
        {
            return Ok(ASKS_AGAIN);
        }
        let found = find(state, gate, own.cast::<SyscallFrame>().sub(1), registers);
        if found.is_ok_and(|what| ![RETURNS, ASKS_AGAIN].contains(&what)) {
            (*state.block).transit = own as u64;
        }
        found
    };
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(find)) {
        Ok(Ok(what)) => what,
        Ok(Err(cause)) => {
            end_call(cause);
            ASKS_AGAIN
        }
        Err(payload) => {
            end_with_panic(payload);
            ASKS_AGAIN
        }
    }
}

unsafe fn find(
    state: &ThreadState,
    gate: *mut GateRecord,
    frame: *const SyscallFrame,
    registers: *const GateState,
) -> Result<usize, Cause> {
    // SAFETY: live records; a live entry's binding keeps its domain; the thread's own state.
    unsafe {
        let below = entry(gate).cast_mut();
        // (The parent's window is not there.)
        if space::is_inherited((*below).control) {
            return Err(Cause::Forked);
        }
        let domain = &*(*(*below).binding).domain;
        let slot = domain.contexts().home(domain.slot_of((*gate).control));
        let mut known = state.interruptions.at_gate((*gate).mark);
        if let Some(one) = known {
            match (*one).stage {
                Stage::Begins => return Ok((&raw const (*one).begins) as usize),
                Stage::GoesOn => return Ok((&raw const (*one).saved) as usize),
                Stage::Interrupted => {
                    let size = XSAVE_SIZE.load(Ordering::Acquire) as usize;
                    copy_state((*one).saved.state, (*registers).state, size);
                    hide((*one).saved.state.cast_mut(), (*one).unhidden);
                    (*one).stage = Stage::Asks;
                }
                Stage::Asks => {}
            }
        }
        if let Some(left) = handover_sys::takes_over(state, gate) {
            known = Some(handover_sys::take_over(state, gate, domain, &left).ok_or(Cause::Stopped)?);
        } else if let Some(Cause::TimeLimit(limit)) = why_stop(state, below)
            && may_detach(state, below, (*gate).control)
        {
            let one = known.or_else(|| of_cut_short(state, gate, &*frame, &*registers));
            if one.is_some_and(|one| handover_sys::hand_over(state, gate, one)) {
                return Ok(ASKS_AGAIN);
            }
            state.stays.set(state.overdue.load(Ordering::Acquire));
            return Err(Cause::TimeLimit(limit));
        }
        state.signalled.store(false, Ordering::SeqCst);
        // (What a handler that begins here blocks is given back with the rest if the call ends.)
        state.mask_changes(domain, domain.process().signal_mask(slot));
        let raised = known.and_then(|one| (*one).fault.take());
        let next = match &raised {
            Some(raw) => match domain.process().raise(slot, told(domain, raw)) {
                Some(handler) => Some(Next::Handler(handler)),
                None => {
                    // As if there were no handlers at all.
                    state.ends(*raw);
                    (*state.block).pending = 1;
                    return Ok(ASKS_AGAIN);
                }
            },
            // (It goes on first, and is asked again.)
            None if known.is_some_and(|one| (*one).room.is_none()) => None,
            None => {
                let size = XSAVE_SIZE.load(Ordering::Acquire) as usize;
                let has_room = || {
                    has_room(domain, (*gate).control)
                        && state.interruptions.have_room(state.records(), domain.base(), size)
                };
                let asked = match known {
                    Some(_) => Asked::All,
                    None if domain.process().wakes(slot) && has_room() => Asked::All,
                    None => asked_for(&*frame, &*registers),
                };
                domain.process().next_signal(slot, asked)
            }
        };
        if domain.process().has_changed_timers() {
            watch::look_at_timers(domain.id(), domain.process());
        }
        if domain.process().wakes(slot) || other_calls_wait(state, below) {
            watch::looks_again(state);
        }
        let handler = match (next, known) {
            (Some(Next::Handler(handler)), _) => handler,
            (Some(Next::Deadly(signal)), _) => return Err(deadly(signal)),
            (None, Some(one)) => {
                if std::mem::take(&mut (*one).opened) {
                    closes_behind(state, domain, gate, one);
                }
                (*one).saved.interruption = (*below).interruption;
                (*one).stage = Stage::GoesOn;
                return Ok((&raw const (*one).saved) as usize);
            }
            (None, None) => return Ok(RETURNS),
        };
        let interruption = match known {
            Some(one) => state.interruptions.renumber(one).map(|()| one),
            None => {
                state.interruptions.drop_gone(below, domain);
                let restarts =
                    handler.restarts && domain.process().begins_again((*frame).number, (*frame).arguments);
                of_system_call(state, gate, &*frame, &*registers, restarts)
            }
        };
        let address = raised.map_or(0, |raw| raw.address);
        let has_begun = |one: &*mut Interruption| begin(domain, below, *one, &handler, address).is_ok();
        match interruption.filter(has_begun) {
            Some(one) => {
                let innermost = with_others(state, domain, gate, one)?;
                Ok((&raw const (*innermost).begins) as usize)
            }
            None => {
                domain.process().set_signal_mask(slot, handler.mask);
                Err(Cause::Syscall(Fault::Handler(handler.info.signal as u8)))
            }
        }
    }
}

/// What else waits begins on top of the handler that is about to begin, as on Linux: as if each had come before the first instruction of the
/// one before it. So each of them runs whole, and none in the middle of another one's first system call. Returns the innermost. (What has no room
/// here begins later, where the handlers make system calls.)
///
/// # Safety
/// The gate of [`find`], whose handler begins in the thread's own interruption `outer`.
unsafe fn with_others(
    state: &ThreadState,
    domain: &Instance,
    gate: *const GateRecord,
    mut outer: *mut Interruption,
) -> Result<*mut Interruption, Cause> {
    // SAFETY: live records; the thread's own interruptions; the word is on its domain's stack, which has room there.
    unsafe {
        let below = entry(gate).cast_mut();
        let slot = domain.contexts().home(domain.slot_of((*gate).control));
        loop {
            let begins = (*outer).begins;
            let control = begins.registers[RSP] - 8;
            if !domain.process().wakes(slot) {
                return Ok(outer);
            }
            if !has_room(domain, control) {
                domain.process().put_signals_off(slot);
                return Ok(outer);
            }
            let size = XSAVE_SIZE.load(Ordering::Acquire) as usize;
            (*below).interruption = (*outer).number;
            let Some(one) = state.interruptions.begin(state.records(), domain.base(), size) else {
                (*below).interruption = (*outer).previous;
                domain.process().put_signals_off(slot);
                return Ok(outer);
            };
            let handler = match domain.process().next_signal(slot, Asked::All) {
                Some(Next::Handler(handler)) => handler,
                Some(Next::Deadly(signal)) => return Err(deadly(signal)),
                None => {
                    (*one).number = 0;
                    (*below).interruption = (*outer).previous;
                    return Ok(outer);
                }
            };
            let vectors = (*one).saved.state;
            copy_state(vectors, INITIAL.0.as_ptr(), size.min(INITIAL.0.len()));
            (*one).saved = Going { state: vectors, ..begins };
            (control as *mut u64).write_volatile(begins.rip);
            ((*one).control, (*one).returns, (*one).room) = (control, false, Some(RED_ZONE));
            ((*one).fault, (*one).opened, (*one).unhidden) = (None, false, 0);
            ((*outer).mark, (*one).mark) = (0, (*gate).mark);
            if begin(domain, below, one, &handler, 0).is_err() {
                domain.process().set_signal_mask(slot, handler.mask);
                return Err(Cause::Syscall(Fault::Handler(handler.info.signal as u8)));
            }
            outer = one;
        }
    }
}

/// Why a call ends by a signal.
fn deadly(signal: u32) -> Cause {
    Cause::Syscall(match signal == libc::SIGABRT as u32 {
        true => Fault::Abort,
        false => Fault::Signal(signal as u8),
    })
}

/// Whether signals wait for a domain whose call another one is nested in.
unsafe fn other_calls_wait(state: &ThreadState, below: *const EntryRecord) -> bool {
    // SAFETY: live records of the calling thread; a live entry's binding keeps its domain.
    state.records().any(|record| unsafe {
        let entry = record.cast::<EntryRecord>();
        (*record).is_entry()
            && entry != below
            && !space::is_inherited((*entry).control)
            && (*entry).binding.as_ref().is_some_and(|binding| {
                let domain = &*binding.domain;
                domain.process().wakes(domain.contexts().home(domain.slot_of((*entry).control)))
            })
    })
}

/// What a handler is told of what an instruction has raised. No address outside of the domain's is told.
fn told(domain: &Instance, raw: &RawFault) -> Info {
    let (signal, code) = match raw.cause {
        Cause::Signal { number, code } => (number as u32, code),
        _ => (libc::SIGSEGV as u32, 0),
    };
    let is_own = space::base_of(raw.address) == domain.base();
    Info { signal, code, first: if is_own { raw.address } else { 0 }, second: 0 }
}

/// An interruption behind the system call of `gate`, which returns when the handler has.
unsafe fn of_system_call(
    state: &ThreadState,
    gate: *const GateRecord,
    frame: &SyscallFrame,
    registers: &GateState,
    restarts: bool,
) -> Option<*mut Interruption> {
    let size = XSAVE_SIZE.load(Ordering::Acquire) as usize;
    // SAFETY: the gate's record and frame; the areas have room for so much; the word is the return site of the gate's own call.
    unsafe {
        let one = state.interruptions.begin(state.records(), space::base_of((*gate).control), size)?;
        let Loaded { word: site, ok: 1 } = lockgate_peek((*gate).control as *const u64) else { return None };
        let [rdi, rsi, rdx, r10, r8, r9] = frame.arguments;
        let begins_again = restarts && registers.result == -i64::from(Errno::INTR.raw_os_error());
        let (rax, rip) = match begins_again {
            true => (frame.number, site - GATE_CALL),
            false => (registers.result as u64, site),
        };
        let GateState { rbp, r13, r14, r15, .. } = *registers;
        let (rsp, rbx, r12) = ((*gate).control + 8, (*gate).rbx, (*gate).r12);
        (*one).saved.registers = [rax, 0, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, 0, r12, r13, r14, r15];
        (*one).saved.rip = rip;
        (*one).returns = !begins_again;
        (*one).saved.flags = CLEAN_FLAGS;
        copy_state((*one).saved.state, registers.state, size);
        (*one).mark = (*gate).mark;
        (*one).control = (*gate).control;
        (*one).room = Some(RED_ZONE);
        ((*one).fault, (*one).opened) = (None, false);
        Some(one)
    }
}

/// An interruption behind the system call of `gate`, which was left because its caller's time was over, perhaps: then it is made once more. [`None`]
/// if it cannot be, or there is no room.
unsafe fn of_cut_short(
    state: &ThreadState,
    gate: *const GateRecord,
    frame: &SyscallFrame,
    registers: &GateState,
) -> Option<*mut Interruption> {
    // SAFETY: as `find`.
    unsafe {
        let domain = &*(*(*entry(gate)).binding).domain;
        let slot = domain.contexts().home(domain.slot_of((*gate).control));
        // (Where a signal waits, that may be what has ended it.)
        let was_left =
            registers.result == -i64::from(Errno::INTR.raw_os_error()) && !domain.process().wakes(slot);
        let may_be = !was_left || domain.process().may_be_made_again(frame.number, frame.arguments);
        match may_be && has_room(domain, (*gate).control) {
            true => of_system_call(state, gate, frame, registers, was_left),
            false => None,
        }
    }
}

unsafe fn copy_state(to: *const u8, from: *const u8, size: usize) {
    // SAFETY: the caller's areas, of which the first is the thread's own.
    unsafe { std::ptr::copy_nonoverlapping(from, to.cast_mut(), size) }
}

/// Takes what is the caller's out of the saved state of a call that went by one function until now ([`UNHIDDEN_COMPONENTS`] and the rest): of what
/// the function cannot touch, which the window's proxy would have hidden.
unsafe fn hide(state: *mut u8, unhidden: u32) {
    use area::{FXSAVE, MXCSR, SSE, X87};
    // SAFETY: the thread's own area, which is as large as the processor says that it must be.
    let area = unsafe { std::slice::from_raw_parts_mut(state, FXSAVE + 8) };
    let components = u64::from(unhidden & UNHIDDEN_COMPONENTS);
    if components & component::X87 != 0 {
        area[area::X87_STATUS].fill(0);
        area[X87].fill(0);
    }
    if unhidden & UNHIDDEN_ENVIRONMENT != 0 {
        area[area::X87_ENVIRONMENT].fill(0);
    }
    if components & component::SSE != 0 {
        area[SSE].fill(0);
    }
    if unhidden & UNHIDDEN_MXCSR != 0 {
        area[MXCSR.start] &= !0x3f;
    }
    // Of the others nothing need be known: they are as they are initially. (The control words of these two stay.)
    let initial = components & !(component::X87 | component::SSE);
    let has = area[FXSAVE..].first_chunk_mut().expect("eight");
    *has = (u64::from_le_bytes(*has) & !initial).to_le_bytes();
}

/// Puts what the handler is told below all that is in use, and makes it the innermost function.
unsafe fn begin(
    domain: &Instance,
    below: *mut EntryRecord,
    one: *mut Interruption,
    handler: &Handler,
    address: u64,
) -> Result<(), Errno> {
    // SAFETY: the thread's own interruption, and its entry's record.
    unsafe {
        let control = (*one).control;
        let base = domain.base();
        let label = |address: u64| base + u64::from(address as u32);
        let (start, restorer) = (label(handler.handler), label(handler.restorer));
        if !is_label(domain, start) || !is_label(domain, restorer) {
            return Err(Errno::FAULT);
        }
        let off = u64::from(code::OFF);
        let room = (*one).room.ok_or(Errno::NOMEM)?;
        let vectors = vectors(&(*one).saved);
        let vectors_at = (control - room - off - vectors.len() as u64) & !63;
        let info = (vectors_at - (INFO + UCONTEXT) as u64) & !15;
        let copy = info + INFO as u64;
        // The frame of what the handler returns to, whose return word leads nowhere; below that the handler's.
        let bottom = info + off - 16;
        if bottom - LEAST_ROOM < lowest(domain, control) {
            return Err(Errno::NOMEM);
        }
        (*one).entry = interrupted_entry(domain, (*below).control, &*one).unwrap_or(0);
        let memory = domain.services();
        copy_thread_pointer(domain, bottom)?;
        memory.write(info, &handler.info.bytes())?;
        let mut context = copy_of_context(&(*one).saved, handler.mask, address);
        context[ucontext::VECTORS..][..8].copy_from_slice(&vectors_at.to_le_bytes());
        memory.write(copy, &context)?;
        memory.write(vectors_at, &vectors)?;
        domain.stride().begin_stack(bottom - 8 - base, [restorer, 0])?;
        (*one).bottom = bottom;
        (*one).context = domain.contexts().word(domain.slot_of(bottom));
        (*one).copy = copy;
        (*one).alternate = handler.alternate;
        (*one).previous = (*below).interruption;
        let mut registers = [0; 16];
        // What functions keep for their callers (rbx, rbp, r12 to r15) is as it was: who unwinds out of the handler finds it as if the handler
        // had been called.
        for kept in [3, 5, 12, 13, 14, 15] {
            registers[kept] = (*one).saved.registers[kept];
        }
        registers[RSP] = bottom - 8;
        [registers[7], registers[6], registers[2]] = [handler.info.signal.into(), info, copy];
        let state = INITIAL.0.as_ptr();
        let interruption = (*one).number;
        (*one).begins = Going { registers, flags: CLEAN_FLAGS, rip: start, state, interruption };
        (*one).stage = Stage::Begins;
    }
    Ok(())
}

/// A context whose first instructions have not moved the thread pointer to its own slot yet has that of what ran there before: the handler
/// finds the thread's.
fn copy_thread_pointer(domain: &Instance, control: u64) -> Result<(), Errno> {
    let slot = domain.slot_of(control);
    let place =
        |slot: u32| domain.base() + window::STACKS + u64::from(slot) * stack::SLOT + stack::THREAD_POINTER;
    let home = domain.contexts().home(slot);
    if home != slot {
        let mut word = [0; 8];
        domain.services().read(place(home), &mut word)?;
        domain.services().write(place(slot), &word)?;
    }
    Ok(())
}

/// rsp at the entry of the function that was interrupted.
unsafe fn interrupted_entry(domain: &Instance, entered: u64, one: &Interruption) -> Option<u64> {
    let (rip, rsp) = (one.saved.rip, one.saved.registers[RSP]);
    let code = domain.codes().at(rip)?;
    let state: State = code.state_before(rip)?;
    // SAFETY: guarded.
    let read = |at: u64| match unsafe { lockgate_peek(at as *const u64) } {
        Loaded { word, ok: 1 } => Some(word),
        _ => None,
    };
    walk::entry(state, rsp, end_of_walk(one.control, entered), read)
}

/// What was in vectors, for those who look through a stack for pointers: as FXSAVE lays it out, and behind that what else there is of vectors,
/// one after the other. What is as it is initially is not saved, and what lies in its place is not the module's.
fn vectors(saved: &Going) -> Vec<u8> {
    use area::{FXSAVE, MXCSR, SSE, X87};
    const HEADER: usize = 64;
    /// Upper halves of vectors, masks, the rest of the larger ones, and more of these: by their bits, with their sizes. With XSAVEC the ones that were asked
    /// for follow each other behind the header.
    const OTHERS: [(u32, usize); 4] = [(2, 256), (5, 64), (6, 512), (7, 1024)];
    const { assert!(FXSAVE + 256 + 64 + 512 + 1024 <= MOST_VECTORS) };
    // SAFETY: the area is as large as the processor says that it must be.
    let bytes = |range: Range<usize>| unsafe {
        std::slice::from_raw_parts(saved.state.wrapping_add(range.start), range.len())
    };
    let header = |at: usize| u64::from_le_bytes(*bytes(at..at + 8).first_chunk().expect("eight"));
    let (has, layout) = (header(FXSAVE), header(FXSAVE + 8));
    let mut found = vec![0; FXSAVE];
    found[MXCSR].copy_from_slice(&INITIAL.0[MXCSR]);
    // (XSAVEC leaves MXCSR out with the rest of SSE: what lies in its place then is the host's.)
    let has_mxcsr = layout >> 63 == 0 || has & component::SSE != 0;
    for (range, is_there) in
        [(MXCSR, has_mxcsr), (X87, has & component::X87 != 0), (SSE, has & component::SSE != 0)]
    {
        if is_there {
            found[range.clone()].copy_from_slice(bytes(range));
        }
    }
    let mut next = FXSAVE + HEADER;
    for (bit, size) in OTHERS {
        let at = match layout >> 63 {
            0 => __cpuid_count(0xd, bit).ebx as usize,
            _ => next,
        };
        if layout >> bit & 1 != 0 {
            next += size;
        }
        if has >> bit & 1 != 0 {
            found.extend_from_slice(bytes(at..at + size));
        }
    }
    found
}

/// What a handler may read of what it has interrupted, and change ([`changed`]).
fn copy_of_context(saved: &Going, mask: u64, address: u64) -> [u8; UCONTEXT] {
    let mut bytes = [0; UCONTEXT];
    let mut put = |at: usize, word: u64| bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
    let register = |index: usize| match index {
        RSP => saved.registers[RSP] - u64::from(code::OFF),
        index => saved.registers[index],
    };
    for (index, at) in ucontext::registers() {
        put(at, register(index));
    }
    put(ucontext::RIP, saved.rip);
    put(ucontext::FLAGS, saved.flags);
    put(ucontext::FAULT_ADDRESS, address);
    put(ucontext::MASK, mask);
    bytes
}

/// The system call `rt_sigreturn`, which what a handler returns to makes: what the innermost handler on this stack has interrupted, of this
/// call of the domain's, goes on.
///
/// # Safety
/// For the gate of system calls, with the frame of its entry, which has the gate's mark.
pub(super) unsafe extern "C" fn lockgate_sigreturn(gate: *mut GateRecord, own: *const u64) -> i64 {
    // SAFETY: live records; a live entry's binding keeps its domain; the thread's own state.
    unsafe {
        let Some(state) = (*block()).state.as_ref() else { return 0 };
        // (Else the gate ends this call: a handler has switched stacks, and the record may be another one's.)
        if repair_sys::find(state, gate, own) != Found::Innermost {
            return 0;
        }
        let below = entry(gate).cast_mut();
        if space::is_inherited((*below).control) {
            end_call(Cause::Forked);
            return 0;
        }
        let domain = &*(*(*below).binding).domain;
        let control = (*gate).control;
        let is_here = |one: &*mut Interruption| control <= (**one).bottom;
        let one = state.interruptions.on(below, domain, control).find(is_here);
        let over = || if is_over(state, below) { Then::Ends } else { Then::GoesOn };
        let Some(one) = one else {
            end_call(Cause::Syscall(Fault::NoHandler));
            return 0;
        };
        // (On a context another call may have run since, and have been interrupted: this one goes on over nothing of that.)
        match resume_sys::leads_to((domain, control, (*below).control), (*one).bottom, over) {
            Ok(true) => (),
            Ok(false) => {
                end_call(Cause::Syscall(Fault::NoHandler));
                return 0;
            }
            Err(_) => {
                (*block()).pending = 1;
                return 0;
            }
        }
        let mut copy = [0; UCONTEXT];
        if domain.services().read((*one).copy, &mut copy).is_ok() {
            let slot = domain.contexts().home(domain.slot_of(control));
            domain.process().set_signal_mask(slot, word(&copy, ucontext::MASK));
            if !change(state, domain, gate, one, &copy) {
                return 0;
            }
        }
        (*one).opened = forget_handlers(state, below, (*one).control);
        ((*one).mark, (*one).stage, (*one).fault) = ((*gate).mark, Stage::Asks, None);
        (*state.block).pending = 1;
    }
    0
}

/// What was interrupted goes on with a stack whose end is closed, as it was interrupted. The gate stands there from here on, as if that had called
/// it: where the handler was there is nothing in a moment. (No other handler begins any more. The gate's end writes two words below rsp.)
unsafe fn closes_behind(
    state: &ThreadState,
    domain: &Instance,
    gate: *mut GateRecord,
    one: *const Interruption,
) {
    // SAFETY: the thread's own interruption, which is about to go on; its gate. The words below its rsp are open, as all that was kept is.
    unsafe {
        let control = (*one).control;
        (control as *mut u64).write_volatile((*one).saved.rip);
        (*gate).control = control;
        state.set_slot(domain.id(), (control - (*one).room.unwrap_or(RED_ZONE)) & !15);
        state.closes(domain, control - 8);
    }
}

/// Changes what was interrupted as the handler has changed its copy: general registers, between two units; and where it goes on, at a label,
/// as by `resume`. False: the call ends, or is asked whether it does. Nothing of this depends on what the module says: at a label, and
/// between two units, any values are as good as others in all registers but rsp (docs/returns.md).
unsafe fn change(
    state: &ThreadState,
    domain: &Instance,
    gate: *const GateRecord,
    one: *mut Interruption,
    copy: &[u8; UCONTEXT],
) -> bool {
    // SAFETY: the thread's own interruption; a live gate, and its entry's record.
    unsafe {
        let saved = &mut (*one).saved;
        let had = copy_of_context(saved, 0, 0);
        let general = ucontext::registers().filter(|(index, _)| *index != RSP);
        let is_other = |at: usize| word(copy, at) != word(&had, at);
        if is_other(ucontext::RIP) {
            let below = entry(gate);
            let (control, entered) = ((*gate).control, (*below).control);
            let behind = |at| interrupted(gate, at);
            let over = || if is_over(state, below) { Then::Ends } else { Then::GoesOn };
            let (label, address) = (word(copy, ucontext::RIP) as u32, word(copy, ucontext::RSP) as u32);
            // (Not in the handler, or what it returns to.)
            let address = address.max(((*one).control + 8 - u64::from(code::OFF)) as u32);
            match resume_sys::find((domain, control, entered), address, label, &behind, over) {
                Ok((found, _)) => {
                    (saved.rip, saved.registers[RSP]) = (found.label, found.entry);
                    ((*one).control, (*one).entry) = (found.entry - 8, found.entry);
                    (*one).returns = false;
                }
                Err(Over::Now(_)) => {
                    (*block()).pending = 1;
                    return false;
                }
                Err(Over::No(no)) => {
                    end_call(Cause::Resume(no));
                    return false;
                }
            }
        } else if general.clone().any(|(_, at)| is_other(at)) || is_other(ucontext::FLAGS) {
            let is_free = |code: &Code| code.is_between_units(saved.rip);
            if !domain.codes().at(saved.rip).is_some_and(is_free) {
                end_call(Cause::Syscall(Fault::InUnit));
                return false;
            }
        }
        for (index, at) in general {
            saved.registers[index] = word(copy, at);
        }
        saved.flags = CLEAN_FLAGS | word(copy, ucontext::FLAGS) & KEPT_FLAGS;
        if is_other(ucontext::RIP) {
            // Another handler may begin before it goes on.
            (*one).room = live_below(domain, saved.rip, |number| saved.registers[number]);
        }
    }
    true
}

/// The word at an offset.
fn word(bytes: &[u8; UCONTEXT], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().expect("inside"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// XSAVEC writes nothing of a component that is as it is initially, MXCSR with SSE. Red if what lies there counts, which is what the host's
    /// stack has had in that place.
    #[test]
    fn a_handler_finds_nothing_of_the_hosts_among_vectors() {
        #[repr(align(64))]
        struct Area([u8; 4096]);
        let mut area = Area([0x5a; 4096]);
        let compact = 1_u64 << 63 | component::X87 | component::SSE | component::AVX;
        area.0[512..576].fill(0);
        area.0[520..528].copy_from_slice(&compact.to_le_bytes());
        let saved = |area: &Area| Going {
            registers: [0; 16],
            flags: 0,
            rip: 0,
            state: area.0.as_ptr(),
            interruption: 0,
        };
        let found = vectors(&saved(&area));
        assert!(!found.contains(&0x5a), "{found:x?}");
        assert_eq!(found[24..28], 0x1f80_u32.to_le_bytes());
        area.0[512..520].copy_from_slice(&component::SSE.to_le_bytes());
        assert_eq!(vectors(&saved(&area))[24..28], [0x5a; 4]);
    }
}
