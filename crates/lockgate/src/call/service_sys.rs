//! System calls of modules, between their gate and the table of what there is.
use super::block_sys::block;
use super::gate_sys::{called_by, calling_base, end_call, end_with_panic, entry, gate};
use super::instance::Instance;
use super::interrupt_sys::used;
use super::layout::{DETACHES, EntryRecord, GateRecord, SyscallFrame};
use super::must_end_sys::{self, why_stop};
use super::repair_sys::{self, Found};
use super::resume_sys::{functions, interrupted};
use super::signalled_sys::lockgate_sigreturn;
use super::thread_sys::{self, OVERDUE};
use super::turn_sys::{self, Resting};
use super::undisturbed_sys::{KeptErrno, undisturbed};
use super::watch::{self, Deadline, deadline};
use crate::report::Cause;
use crate::space;
use lockgate_abi::{code, stack};
use lockgate_syscall::{Answer, ControlStack, InProgress, Left, Outcome, Quick, SyscallContext, Thread};
use rustix::io::Errno;
use std::ops::ControlFlow;
use std::ptr;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// A system call. Returns the value for rax.
///
/// What a handler of the host's may interrupt, here and in [`context_sys`](super::context_sys) and [`resume_sys`](super::resume_sys), has
/// nothing to drop, and catches nothing: such a handler may end the thread, and what unwinds passes only frames that have nothing to do then.
///
/// # Safety
/// Only the system-call gate calls it.
pub(super) unsafe extern "C-unwind" fn lockgate_syscall(
    gate: *mut GateRecord,
    frame: *const SyscallFrame,
) -> i64 {
    // SAFETY: the caller's; a service's arguments are the same.
    unsafe {
        let number = (*frame).number;
        if number == libc::SYS_rt_sigreturn as u64 {
            let own = frame.add(1) as usize;
            return undisturbed(lockgate_sigreturn as *const (), [gate as usize, own, 0]) as i64;
        }
        // (The entry's frame, with the gate's mark, comes behind it.)
        serve(gate, &*frame, frame.add(1).cast())
    }
}

/// [`lockgate_syscall::FUNCTIONS`], which unwinders ask for at each step: its gate is that of a host function. Returns the value for rax.
///
/// # Safety
/// For the gate of system calls, with its record and the place of its mark.
pub(super) unsafe extern "C-unwind" fn lockgate_functions(
    rows: u64,
    count: u64,
    skip: u64,
    _: u64,
    gate: *mut GateRecord,
    own: *const u64,
) -> i64 {
    let frame = SyscallFrame { number: lockgate_syscall::FUNCTIONS, arguments: [rows, count, skip, 0, 0, 0] };
    // SAFETY: the caller's.
    unsafe { serve(gate, &frame, own) }
}

/// # Safety
/// For a gate, with its record, and the place of its mark in its entry's frame.
unsafe fn serve(gate: *mut GateRecord, frame: &SyscallFrame, own: *const u64) -> i64 {
    // SAFETY: the caller's; live records.
    unsafe {
        let takes_turns = turn_sys::gives_up(gate);
        let value = answer(gate, frame, own);
        if takes_turns {
            turn_sys::take_again(gate, own, lockgate_syscall::ends_turn(frame.number));
        }
        value
    }
}

/// # Safety
/// As [`serve`].
unsafe fn answer(gate: *mut GateRecord, frame: &SyscallFrame, own: *const u64) -> i64 {
    // SAFETY: the caller's; a service's arguments are the same.
    unsafe {
        if lockgate_syscall::is_plain(frame.number, frame.arguments) {
            return plain(gate, frame, own);
        }
        if lockgate_syscall::is_quick(frame.number) {
            return quickly(gate, frame, own);
        }
        slowly(gate, frame, own)
    }
}

/// What may wait, lock or allocate.
unsafe fn slowly(gate: *mut GateRecord, frame: &SyscallFrame, own: *const u64) -> i64 {
    // SAFETY: the caller's; a service's arguments are the same.
    unsafe {
        let arguments = [gate as usize, ptr::from_ref(frame) as usize, own as usize];
        undisturbed(lockgate_service as *const (), arguments) as i64
    }
}

/// What does not wait: it ends at its gate, in time.
unsafe fn plain(gate: *mut GateRecord, frame: &SyscallFrame, own: *const u64) -> i64 {
    // SAFETY: the caller's.
    let value = unsafe {
        undropped(gate, own, |context| lockgate_syscall::plain(context, frame.number, frame.arguments))
    };
    value.unwrap_or_default()
}

/// What has its answer at once, or begins anew.
unsafe fn quickly(gate: *mut GateRecord, frame: &SyscallFrame, own: *const u64) -> i64 {
    // SAFETY: the caller's.
    let quick = unsafe {
        undropped(gate, own, |context| lockgate_syscall::quick(context, frame.number, frame.arguments))
    };
    let Some(Quick { answer, left }) = quick else { return 0 };
    if let Some(left) = left {
        // SAFETY: the caller's; a service's arguments are the same.
        unsafe {
            let arguments = [gate as usize, (&raw const left) as usize, own as usize];
            undisturbed(lockgate_reap as *const (), arguments);
        }
    }
    // SAFETY: the caller's.
    unsafe {
        match answer {
            Answer::Value(value) => value,
            Answer::None => slowly(gate, frame, own),
            Answer::Again(arguments) => slowly(gate, &SyscallFrame { number: frame.number, arguments }, own),
        }
    }
}

/// Has the process drop what a quick call has left.
unsafe extern "C" fn lockgate_reap(gate: *mut GateRecord, left: *const Left, own: *const u64) -> i64 {
    let _errno = KeptErrno::new();
    // (Where a handler has switched stacks before this, the gate's record is another's now: the place is lost.)
    // SAFETY: live records; the entry's frame has the gate's mark; what is left lies in the caller's frame.
    unsafe {
        if repair_sys::is_own(gate, own) {
            let domain = &*(*(*entry(gate)).binding).domain;
            domain.process().reap(*left);
        }
    }
    0
}

/// Serves a call that has nothing to drop; [`None`] where the gate ends the call.
unsafe fn undropped<R: Copy>(
    gate: *mut GateRecord,
    own: *const u64,
    serve: impl FnOnce(&SyscallContext<'_>) -> R,
) -> Option<R> {
    // SAFETY: the caller's.
    unsafe { in_context(gate, Some(own), (None, false), is_over, |context| serve(context)) }
}

/// Serves a call of the gate's domain, which has to end where `deadline` passes or `stopped` says so; [`None`] where the gate ends the call.
///
/// # Safety
/// For a gate, with its record, on its thread; and the place of its mark in its entry's frame, where handlers of the host's are let in.
#[inline(always)]
unsafe fn in_context<R>(
    gate: *mut GateRecord,
    own: Option<*const u64>,
    (deadline, detaches): (Option<Instant>, bool),
    stopped: fn() -> bool,
    serve: impl FnOnce(&mut SyscallContext<'_>) -> R,
) -> Option<R> {
    // SAFETY: live records; a live entry's binding keeps its domain.
    let (domain, threads, control, entered) = unsafe {
        let below = &*entry(gate);
        (&*(*below.binding).domain, &**called_by(gate), (*gate).control, below.control)
    };
    // Behind that: a handler may have switched to a call whose record this is by now.
    // SAFETY: the entry's frame has the gate's mark. (Else the gate ends this call.)
    if own.is_some_and(|own| unsafe { !repair_sys::is_own(gate, own) }) {
        return None;
    }
    // (The parent's window is not there.)
    if space::is_inherited(entered) {
        end_call(Cause::Forked);
        return None;
    }
    let slot = domain.contexts().home(domain.slot_of(control));
    let stack = Stack { domain, gate, control, entered };
    let memory = domain.services();
    Some(serve(&mut SyscallContext {
        memory: &memory,
        process: domain.process(),
        thread: Thread { slot, deadline, stopped, detaches },
        threads,
        sharing: threads,
        stack: &stack,
        // SAFETY: as above.
        sleep: &unsafe { Resting::in_gate(gate) },
    }))
}

/// Serves the calls that are neither plain nor quick: they may wait, lock and allocate, so the host's handlers wait until they are over.
unsafe extern "C" fn lockgate_service(
    gate: *mut GateRecord,
    frame: *const SyscallFrame,
    own: *const u64,
) -> i64 {
    let _errno = KeptErrno::new();
    // A handler of the host's may have come before this, and have switched to another stack, where calls are in progress now whose records lie
    // above this gate's, or in its place: what they find of an end would be this one's. The gate ends this call then.
    // SAFETY: the thread's own state, the gate's record and frame.
    unsafe {
        let Some(state) = (*block()).state.as_ref() else { return 0 };
        if repair_sys::find(state, gate, own) != Found::Innermost {
            return 0;
        }
    }
    // SAFETY: live records, a frame on the host's stack.
    let (domain, frame) = unsafe { (&*(*(*entry(gate)).binding).domain, &*frame) };
    let deadline = deadline();
    // SAFETY: a live record of the thread's own.
    let detaches = deadline.as_ref().is_some_and(|deadline| unsafe { may_go_on(entry(gate), deadline) });
    let emulate = |context: &mut SyscallContext<'_>| {
        let (process, slot) = (context.process, context.thread.slot);
        let outcome = lockgate_syscall::dispatch(context, frame.number, frame.arguments);
        if process.tells_of_signals() {
            watch::tell_of_signal(domain.base());
        }
        if process.has_changed_timers() {
            watch::look_at_timers(domain.id(), process);
        }
        // (Behind a wait with a mask of its own in any case: another thread may take what has ended it, until the gate has asked.)
        if process.is_suspended(slot) || process.wakes(slot) {
            // The gate asks what is to be done about it.
            // SAFETY: a word of the thread's own block.
            unsafe { (*block()).pending = 1 };
        }
        if let Some(deadline) = deadline.filter(|deadline| detaches && Instant::now() >= deadline.at) {
            passed(&deadline);
        }
        outcome
    };
    let emulated = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        // SAFETY: the caller's.
        unsafe {
            in_context(gate, None, (deadline.map(|deadline| deadline.at), detaches), is_stopped, emulate)
        }
    }));
    match emulated.map(|outcome| outcome.unwrap_or(Outcome::Return(0))) {
        Ok(Outcome::Return(value)) => value,
        Ok(Outcome::Exit(status)) => {
            end_call(Cause::Exit(status));
            0
        }
        Ok(Outcome::Fault(lockgate_syscall::Fault::TimeLimit)) => {
            // The call whose limit it is ends, and with it all that lies between.
            if let (Some(state), Some(deadline)) = (thread_sys::current(), deadline) {
                state.overdue.store(OVERDUE | u64::from(deadline.sequence), Ordering::Release);
            }
            end_call(Cause::TimeLimit(deadline.map_or(0, |deadline| deadline.limit)));
            0
        }
        Ok(Outcome::Fault(lockgate_syscall::Fault::Stopped)) => {
            end_call(why_over().unwrap_or(Cause::Stopped));
            0
        }
        Ok(Outcome::Fault(fault)) => {
            end_call(Cause::Syscall(fault));
            0
        }
        Err(payload) => {
            end_with_panic(payload);
            0
        }
    }
}

/// Whether the limit that ends at `deadline` is that of the entry with this record, which may go on without its caller then.
unsafe fn may_go_on(record: *const EntryRecord, deadline: &Deadline) -> bool {
    // SAFETY: the caller's live record has a live binding.
    unsafe { (*record).sequence == deadline.sequence && (*(*record).binding).flags & DETACHES != 0 }
}

/// That limit has passed: the gate asks what is to be done about it.
fn passed(deadline: &Deadline) {
    if let Some(state) = thread_sys::current() {
        state.overdue.store(OVERDUE | u64::from(deadline.sequence), Ordering::Release);
        // SAFETY: a word of the thread's own block.
        unsafe { (*state.block).pending = 1 };
    }
}

/// The control stack below a gate that is in progress.
struct Stack<'a> {
    domain: &'a Instance,
    gate: *const GateRecord,
    /// rsp at the gate.
    control: u64,
    /// Where the call was entered.
    entered: u64,
}

impl ControlStack for Stack<'_> {
    fn mask_changes(&self, mask: u64) {
        // SAFETY: only the gate makes one, on its thread.
        if let Some(state) = unsafe { (*block()).state.as_ref() } {
            // SAFETY: as above.
            unsafe { state.mask_changes(self.domain, mask) };
        }
    }

    fn alternate_changes(&self, size: Option<u64>) -> Result<(), Errno> {
        let closed = self.domain.keep_reserve(self.control, used(stack::LIVE_BELOW), size);
        if closed != Ok(true)
            // SAFETY: only the gate makes one, on its thread.
            && let Some(state) = unsafe { (*block()).state.as_ref() }
        {
            state.has_broken_off();
        }
        closed.map(|_| ())
    }

    fn is_on_alternate(&self) -> bool {
        // SAFETY: only the gate makes one, on its thread: the thread's own state and records, and its interruptions.
        unsafe {
            let Some(state) = (*block()).state.as_ref() else { return false };
            // (A handler may have called the host, which has called the domain again.)
            state.records().filter(|record| (**record).is_entry()).any(|record| {
                let mut handlers = state.interruptions.on(record.cast(), self.domain, self.control);
                handlers.any(|one| (*one).alternate)
            })
        }
    }

    fn each_function(&self, see: &mut dyn FnMut(InProgress) -> ControlFlow<()>) {
        // SAFETY: only the gate makes one.
        let behind = |at| unsafe { interrupted(self.gate, at) };
        // SAFETY: as above.
        let mut walk = unsafe { functions(self.domain, self.control, self.entered, &behind) };
        while let Ok(function) = walk.next() {
            let frame = function.entry + size_of::<u64>() as u64 - u64::from(code::OFF);
            if see(InProgress { site: function.site, frame }).is_break() {
                break;
            }
        }
    }
}

/// Whether the call whose system call waits may have to end, for what may be left by a jump: where the host has to be asked, that is not done
/// here.
fn is_over() -> bool {
    let is_parents = calling_base().is_some_and(space::is_inherited);
    // SAFETY: only system calls ask, which gates make: the thread's own state, and records that are live; a word that handlers write.
    is_parents
        || unsafe {
            let Some(state) = (*block()).state.as_ref() else { return false };
            let is_kicked = (&raw const (*state.block).pending).read_volatile() != 0;
            let below = entry(gate());
            is_kicked
                && ((*(*(*below).binding).domain).may_stop() || must_end_sys::is_overdue(state, below.cast()))
                || must_end_sys::is_over(state, below)
        }
}

/// Why the call whose system call waits is to end, but for a limit: that is the wait's own deadline.
/// (In a child that a handler has forked meanwhile it ends as its parent's.)
fn why_over() -> Option<Cause> {
    // SAFETY: only system calls ask, which gates make: the thread's own state, and records that are live.
    let cause = unsafe { (*block()).state.as_ref().and_then(|state| why_stop(state, entry(gate()))) };
    cause.filter(|cause| !matches!(cause, Cause::TimeLimit(_)))
}

fn is_stopped() -> bool {
    why_over().is_some()
}
