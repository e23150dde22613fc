//! Signals: faults of domains become errors of calls; everything else goes to the host's own handlers.
//!
//! The library's handlers run on the thread's alternate stack. The thread's innermost record says which
//! domain a fault may belong to; rip, rsp and the address then say whether it is that domain's, or that of a handler of the host which runs above
//! the record (rule R14). Handlers of the process are asked to run on the alternate stack (rule R11): on a control
//! stack, where they do no harm, there may be no room for them.
use super::actions_sys::kept;
use super::emit::WINDOW_CHECK;
use super::fronts_sys::{self, Delivery, Fronts};
use super::interrupt_sys::{CLEAN_FLAGS, interrupt};
use super::kernel_signals_sys::{
    Action, DEFAULT, FAULTS, FIRST, KICK, SA_RESTORER, bit, kernel_action, kernel_sigaltstack, lifelines,
};
use super::layout::{
    EntryRecord, GATE, GateRecord, KEEPS_MXCSR, KEEPS_X87, RECORD, Record, STATUS_FAULT, UNTAKEN,
    first_header,
};
pub(crate) use super::mask_sys::starting_a_thread;
use super::mask_sys::{CANCELS, HOSTS, hold_more, hold_one, in_handler, settle_hosts, unblock};
use super::must_end_sys::{may_detach, outer_must_stop, why_stop};
use super::plain_handlers_sys::{self, Delivered, Entering};
use super::thread_sys::{self, ThreadState};
use super::undisturbed_sys::{postpones, undisturbed};
use super::{alternate_sys, block_sys, code_sys, outcome_sys};
use crate::copy_asm as guarded;
use crate::host::{HostError, PerProcess, Uncancelled, locked};
use crate::report::{Cause, RawFault, Registers};
use crate::space;
use crate::sync::futex;
use libc::{c_int, c_void, siginfo_t, ucontext_t};
use lockgate_abi::window;
use rustix::io::Errno;
use std::mem::offset_of;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

const LAST_SIGNAL: c_int = 64;

/// Which of our addresses is in front, for each, and what the host wants for it. Pointees are never freed: handlers may hold them.
static FRONTS: [Fronts; FAULTS.len()] =
    [Fronts::new(0), Fronts::new(1), Fronts::new(2), Fronts::new(3), Fronts::new(4), Fronts::new(5)];
/// One thread puts ours in front at a time.
static CLAIMING: PerProcess<Mutex<()>> = PerProcess::new(Mutex::default);
/// glibc has been made to install SIGCANCEL's handler.
static CANCELLATION: AtomicBool = AtomicBool::new(false);
/// [`install`] is done.
static INSTALLED: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    fn lockgate_exit();
    fn lockgate_host_sigreturn();
    fn lockgate_gate_import();
    fn lockgate_gate_end();
    fn lockgate_gate_check();
    fn lockgate_gate_other_window();
}

core::arch::global_asm!(
    fronts_sys::returns_from_signals!("lockgate_host_sigreturn"),
    r#"
    .size lockgate_host_sigreturn,.-lockgate_host_sigreturn

    # The handler of faults; eax is the front.
    .p2align 4
    .globl lockgate_on_fault
    .hidden lockgate_on_fault
    .type lockgate_on_fault,@function
lockgate_on_fault:
    .cfi_startproc
    lea {on_fault}(%rip),%r11
    jmp lockgate_find_handler
    .cfi_endproc
    .size lockgate_on_fault,.-lockgate_on_fault
    "#,
    SIGRETURN = const libc::SYS_rt_sigreturn,
    on_fault = sym on_fault,
    options(att_syntax)
);

/// Installs the handlers, once.
pub(crate) fn install() -> Result<(), HostError> {
    may_signal()?;
    // (A domain is closed, and its bindings are freed, behind one.)
    if !lockgate_kernel::try_barrier() {
        return Err(HostError::Refused { call: "membarrier" });
    }
    // Handlers are inherited; the callers of this wait for each other.
    if !INSTALLED.load(Ordering::Acquire) {
        STANDS_IN.store(stands_in(), Ordering::Relaxed);
        // The highest real-time signal that is not in use.
        let free =
            (libc::SIGRTMIN()..=LAST_SIGNAL).rev().find(|&s| kernel_action(s, None).handler == libc::SIG_DFL);
        KICK.store(free.unwrap_or(0), Ordering::Release);
        settle_hosts();
        let full = |_| HostError::Refused { call: "mmap" };
        for (index, &signal) in FAULTS.iter().enumerate() {
            let previous = kernel_action(signal, Some(&ours(fronts_sys::address(0))));
            // Our own is there if the parent forked in the midst of this.
            if fronts_sys::at(previous.handler).is_none() {
                FRONTS[index].note(0, ptr::from_ref(kept(previous).map_err(full)?).cast_mut());
            }
            if fronts_sys::at(kernel_action(signal, None).handler).is_none() {
                return Err(HostError::Refused { call: "rt_sigaction" });
            }
        }
        if let Some(signal) = free {
            kernel_action(signal, Some(&ours(on_kick as *const () as usize)));
        }
        INSTALLED.store(true, Ordering::SeqCst);
    }
    Ok(())
}

/// What [`kick`] and alternate stacks need: a filter of system calls that lacks one would have limits and kills fail without a word.
fn may_signal() -> Result<(), HostError> {
    let refused = |call| Err(HostError::Refused { call });
    // SAFETY: queries, and signals without a number, which only ask whether they may be sent.
    unsafe {
        let (process, thread) = (libc::getpid(), libc::gettid());
        if process <= 0 {
            return refused("getpid");
        }
        if thread <= 0 {
            return refused("gettid");
        }
        if libc::syscall(libc::SYS_tgkill, process, thread, 0) != 0 {
            return refused("tgkill");
        }
        let information = KickInfo { signal: 0, ..KickInfo::new() };
        if libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread, 0, &raw const information) != 0 {
            return refused("rt_tgsigqueueinfo");
        }
        let mut stack: libc::stack_t = std::mem::zeroed();
        if kernel_sigaltstack(ptr::null(), &raw mut stack) != 0 {
            return refused("sigaltstack");
        }
    }
    Ok(())
}

/// Handlers of the library's own: none of the host's interrupts them, which might leave them by a jump or by its thread's end. Nor does a cancellation
/// of a thread that allows it at any moment: no frame of Rust's can be unwound by that.
fn ours(handler: usize) -> Action {
    let flags = (libc::SA_SIGINFO | libc::SA_ONSTACK) as u64 | SA_RESTORER;
    let mask = HOSTS.load(Ordering::Acquire) | bit(CANCELS);
    Action { handler, flags, restorer: lockgate_host_sigreturn as *const () as usize, mask }
}

/// Whether the kernel calls a function for the signal, and neither ignores it nor does what is usual.
fn is_handled(action: &Action) -> bool {
    action.handler != libc::SIG_DFL && action.handler != libc::SIG_IGN
}

/// Whether there are threads that could cancel one another. (The folder has a link for each, and two more.)
fn has_threads() -> bool {
    rustix::fs::stat("/proc/self/task").map_or(true, |tasks| tasks.st_nlink > 3)
}

/// glibc installs SIGCANCEL's handler at the first `pthread_cancel`, without SA_ONSTACK: have it done now, so that [`check_handlers`] can
/// repair it (rule R11). It takes a thread, from which on stdio has locks for good: ten times what a `putc` takes without. So a process
/// without threads, in which no thread can cancel another, is left as it is. (SIGSETXID's handler, which comes with the first thread, has
/// SA_ONSTACK already.)
fn settle_cancellation() {
    // The thread is at no cancellation point, nor lets itself be cancelled: it would wait for the signal for good, which may not come. (A
    // user's signals that wait are counted: RLIMIT_SIGPENDING.)
    extern "C" fn wait(end: *mut c_void) -> *mut c_void {
        std::mem::forget(Uncancelled::new());
        // SAFETY: the caller keeps the word until it has ended.
        let end = unsafe { &*end.cast::<AtomicU32>() };
        while end.load(Ordering::Acquire) == 0 {
            let _ = futex::wait(end, futex::Flags::PRIVATE, 0, None);
        }
        ptr::null_mut()
    }
    let end = AtomicU32::new(0);
    // SAFETY: the thread does nothing but wait for its end, and `end` stays until then; nothing of it is used afterwards.
    unsafe {
        let mut thread = 0;
        let word = (&raw const end).cast_mut().cast();
        if starting_a_thread(|| libc::pthread_create(&mut thread, ptr::null(), wait, word)) == 0 {
            pthread_cancel(thread);
            end.store(1, Ordering::Release);
            let _ = futex::wake(&end, futex::Flags::PRIVATE, 1);
            libc::pthread_join(thread, ptr::null_mut());
            CANCELLATION.store(true, Ordering::Release);
        }
    }
}

unsafe extern "C" {
    fn pthread_cancel(thread: libc::pthread_t) -> c_int;
}

/// Puts our handlers back before those of code that does not find our `sigaction`: what was loaded before this library was,
/// as an interpreter that loads it as an extension. Such a handler takes ours for its predecessor.
///
/// # Errors
/// The number of a signal for whose handler there is no memory.
fn put_in_front(look: Look) -> Result<(), i32> {
    static TURN: AtomicUsize = AtomicUsize::new(0);
    if !INSTALLED.load(Ordering::Acquire) {
        return Ok(());
    }
    let claiming = locked(&CLAIMING);
    let all = look == Look::Whole || !STANDS_IN.load(Ordering::Relaxed);
    let one_of_the_others = 1 + TURN.fetch_add(1, Ordering::Relaxed) % (FAULTS.len() - 1);
    for (index, &signal) in FAULTS.iter().enumerate() {
        if !all && index > 0 && index != one_of_the_others || in_front(index, signal) != Front::Theirs {
            continue;
        }
        let mut theirs = kernel_action(signal, None);
        let front = loop {
            let behind = kept(theirs).map_err(|_| signal)?;
            let front = FRONTS[index].of(ptr::from_ref(behind).cast_mut());
            let replaced = kernel_action(signal, Some(&ours(fronts_sys::address(front))));
            if replaced == theirs || fronts_sys::at(replaced.handler).is_some() {
                break front;
            }
            theirs = replaced; // it came meanwhile
        };
        FRONTS[index].put(front);
    }
    drop(claiming);
    Ok(())
}

/// Whose handler the kernel calls.
#[derive(PartialEq, Eq)]
enum Front {
    Ours,
    /// Ours, put back by one that came behind our back and goes: what was behind it then is there again.
    Again,
    Theirs,
}

fn in_front(index: usize, signal: c_int) -> Front {
    match fronts_sys::reached(index, signal) {
        Some(front) if front == FRONTS[index].current() => Front::Ours,
        Some(front) => {
            FRONTS[index].put(front);
            Front::Again
        }
        None => Front::Theirs,
    }
}

/// Puts the library's handlers for faults back in front of any that were installed past it, which then get the faults that are
/// not a domain's. Threads ask for it when they first call a domain; this is for hosts that load the library late (as an
/// interpreter does) and know that a handler was installed since. The calling thread's alternate stack is set anew, too.
///
/// # Errors
/// [`CallError::Handler`](crate::CallError::Handler).
pub fn claim_signals() -> Result<(), crate::CallError> {
    /// 0, or the number of a signal.
    extern "C" fn check() -> usize {
        check_handlers(Look::Whole).err().unwrap_or_default() as usize
    }
    // SAFETY: a function without arguments. (It locks, and a handler might leave it.)
    match unsafe { undisturbed(check as *const (), [0; 3]) } as i32 {
        0 => (),
        signal => return Err(crate::CallError::Handler(signal)),
    }
    settle();
    Ok(())
}

/// Gives the calling thread its alternate stack again, and the signals that the library lives by, if it is attached. Its next call looks at
/// them, in any case.
fn settle() {
    let Some(state) = thread_sys::current() else { return };
    thread_sys::ask_before_calls();
    let now = alternate_sys::in_use();
    if !alternate_sys::is_on(&now) && state.alternate.install(&now).is_ok() {
        unblock();
    }
}

/// How much of the process's handlers is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// Everything: a thread calls for the first time, or the host asks.
    Whole,
    /// A thread calls again. Where the process finds our `sigaction`, nearly all handlers that come are noticed, and only those for faults
    /// are looked at, which must not go to another one: that for SIGSEGV, and the others by turns.
    Again,
}

/// Makes our handlers the first for faults, and has every handler of the process run on the alternate stack: a module may leave no room for
/// one on its control stack. Where the process finds our `sigaction`, no handler blocks what the library lives by, whenever it was
/// installed.
///
/// # Errors
/// The number of a signal whose handler does not and cannot be changed.
pub(super) fn check_handlers(look: Look) -> Result<(), i32> {
    put_in_front(look)?;
    if look == Look::Again && STANDS_IN.load(Ordering::Relaxed) {
        return Ok(());
    }
    if !CANCELLATION.load(Ordering::Acquire) && has_threads() {
        settle_cancellation();
    }
    for signal in 1..=LAST_SIGNAL {
        let action = kernel_action(signal, None);
        let wanted = plain_handlers_sys::in_the_place_of(&action).unwrap_or_else(|| {
            let mut wanted = Action { flags: action.flags | libc::SA_ONSTACK as u64, ..action };
            if STANDS_IN.load(Ordering::Relaxed) {
                hold_more(signal, &mut wanted);
            }
            wanted
        });
        if is_handled(&action) && action != wanted {
            kernel_action(signal, Some(&wanted));
            if kernel_action(signal, None).flags & libc::SA_ONSTACK as u64 == 0 {
                return Err(signal);
            }
        }
    }
    Ok(())
}

/// Whether a signal still is a kick: the host may have taken it for itself since.
pub(super) fn is_kicked_by(signal: c_int) -> bool {
    kernel_action(signal, None).handler == on_kick as *const () as usize
}

/// Asks a thread to look at its state.
pub(crate) fn kick(thread: &ThreadState) {
    let signal = KICK.load(Ordering::Acquire);
    let is_ours = signal != 0 && is_kicked_by(signal);
    // SAFETY: sends a signal that has our handler.
    let send = || unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread.tid, signal) == 0 };
    if is_ours && send() {
        return;
    }
    // The queue of the user's signals is full, of another process's making, or all signals are the host's. Those of faults need no place in the
    // queue.
    if fronts_sys::reached(FIRST_INDEX, FIRST).is_some() {
        kick_first(thread);
    }
}

/// The same by the signal that comes before all others.
fn kick_first(thread: &ThreadState) {
    thread.kicked_first.store(true, Ordering::Release);
    // SAFETY: the kernel copies the information.
    unsafe {
        let information = KickInfo::new();
        let process = information.process;
        libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread.tid, FIRST, &raw const information);
    }
}

/// A kick has found a handler of the host's in the way, whose `frame` this is: the thread is to look again when that one returns. Where the host's
/// signals follow each other without end, what it has interrupted is not gone on with in between, so the kick has to come before all signals that
/// wait by then. Where it may not, the next one tries again.
fn kick_behind(thread: &ThreadState, signal: c_int, frame: &mut ucontext_t) {
    // (One that has waited comes where the handler changes its mask: by `siglongjmp` maybe, which does so before it leaves that handler's stack,
    // and would take along what is blocked here. The next one finds out.)
    if signal == FIRST || !may_come_first() {
        thread.unready.store(true, Ordering::Release);
        return;
    }
    // Neither in here nor in the handler.
    hold_one(FIRST);
    thread.kick_waits.store(true, Ordering::Release);
    let mask = (&raw mut frame.uc_sigmask).cast::<u64>();
    // SAFETY: the kernel's mask is the first word.
    unsafe { mask.write(mask.read() | bit(FIRST)) };
    kick_first(thread);
}

/// The place of [`FIRST`] in [`FAULTS`].
const FIRST_INDEX: usize = FAULTS.len() - 1;
const _: () = assert!(FAULTS[FIRST_INDEX] == FIRST);

/// Whether a kick may wait as the signal that comes first: the kernel has it come to us, and the host does not handle it. What a filter of the
/// host's traps meanwhile would be lost, or end the process.
fn may_come_first() -> bool {
    fronts_sys::reached(FIRST_INDEX, FIRST).is_some_and(|front| {
        // SAFETY: pointees live forever.
        let behind = unsafe { FRONTS[FIRST_INDEX].behind(front).as_ref() };
        !behind.is_some_and(is_handled)
    })
}

/// What a signal carries that is a kick and comes first: the kernel's `siginfo_t` of a queued signal.
#[repr(C)]
struct KickInfo {
    signal: c_int,
    errno: c_int,
    code: c_int,
    padding: c_int,
    process: c_int,
    user: libc::uid_t,
    /// An address that no other code knows.
    mark: usize,
    rest: [u64; 12],
}

const _: () = assert!(size_of::<KickInfo>() == size_of::<siginfo_t>());

impl KickInfo {
    fn new() -> KickInfo {
        KickInfo {
            signal: FIRST,
            errno: 0,
            code: libc::SI_QUEUE,
            padding: 0,
            // SAFETY: a plain query.
            process: unsafe { libc::getpid() },
            user: 0,
            mark: (&raw const KICK).addr(),
            rest: [0; 12],
        }
    }
}

/// True if a signal of that number that no instruction raised is a kick of [`kick`]'s.
///
/// # Safety
/// The information is the kernel's.
unsafe fn is_kick(info: *const siginfo_t) -> bool {
    // SAFETY: what has either code has these fields; our own thread's block, and the state in it while it is attached.
    unsafe {
        let info_of_kick = &*info.cast::<KickInfo>();
        match info_of_kick.code {
            libc::SI_QUEUE => {
                info_of_kick.mark == (&raw const KICK).addr() && info_of_kick.process == libc::getpid()
            }
            // The queue was full: nothing is known of the sender.
            libc::SI_USER if info_of_kick.process == 0 => (*block_sys::block())
                .state
                .as_ref()
                .is_some_and(|state| state.kicked_first.load(Ordering::Acquire)),
            _ => false,
        }
    }
}

/// A fault. Returns the host's handler, if that is to run, and with what it is entered.
unsafe extern "C" fn on_fault(
    signal: c_int,
    info: *mut siginfo_t,
    context: *mut c_void,
    entering: &mut Entering,
    front: usize,
    entered: usize,
) -> usize {
    *entering = Entering::default();
    // SAFETY: the kernel's arguments of an SA_SIGINFO handler.
    unsafe {
        let kernels = context.cast::<ucontext_t>();
        let delivered = Delivered { information: info, context: kernels, entered };
        let frame = &mut *kernels;
        let by_instruction = (*info).si_code > 0;
        // A signal that was sent in the middle of a copy is no reason to end it: a kick that comes first, or any kill(2).
        if by_instruction && is_for_hosts_handler(signal, &*info, kernels, front) {
            return chain(signal, &delivered, entering, front);
        }
        if by_instruction && resume_guarded(frame) {
            return 0;
        }
        match inside(frame) {
            Some((state, record)) if by_instruction && is_domains(&*info, frame, record) => {
                let cause = match space::is_inherited((*record).control) {
                    true => Cause::Forked,
                    false => Cause::Signal { number: signal, code: (*info).si_code },
                };
                let raw = RawFault {
                    cause,
                    address: (*info).si_addr() as u64,
                    entry: (*record).control,
                    registers: Registers::of(frame),
                };
                if !has_handler(record, signal) || !interrupt(state, record, frame, Some(raw)) {
                    leave(state, record, raw, frame);
                }
            }
            _ if signal == FIRST && !by_instruction && is_kick(info) => {
                if let Some(state) = (*block_sys::block()).state.as_ref() {
                    state.kick_waits.store(false, Ordering::Release);
                }
                on_kick(signal, info, context);
            }
            _ if !by_instruction && postpones(signal, info, frame) => {}
            _ => return chain(signal, &delivered, entering, front),
        }
        0
    }
}

/// True if the domain whose call is innermost has a handler of its own for a signal.
unsafe fn has_handler(record: *const EntryRecord, signal: c_int) -> bool {
    // SAFETY: a live entry's binding keeps its domain.
    unsafe {
        let binding = (*record).binding.as_ref();
        binding.is_some_and(|binding| {
            !space::is_inherited((*record).control) && (*binding.domain).process().handles(signal as u32)
        })
    }
}

/// True if a fault with the entry `record` on top is the domain's, and not that of a handler of the host's that runs above it, on
/// whatever stack: it is in the window, in a proxy or a gate, which work on the domain's stacks, or the domain has returned to where
/// nothing is.
unsafe fn is_domains(info: &siginfo_t, frame: &ucontext_t, record: *const EntryRecord) -> bool {
    let register = |number: c_int| frame.uc_mcontext.gregs[number as usize] as u64;
    let (rip, rsp) = (register(libc::REG_RIP), register(libc::REG_RSP));
    // SAFETY: a live entry; SIGSEGV and the like have an address.
    let (base, address) = unsafe { (space::base_of((*record).control), info.si_addr() as u64) };
    let stride = base..base + window::STRIDE;
    // Where a function or a gate has returned by: a word of the control stack, or, in a forked child, the one that was put in its place.
    let is_behind_gate =
        |rsp| stride.contains(&rsp) || space::is_inherited(base) && rsp == thread_sys::behind_no_function();
    stride.contains(&rip)
        || is_proxys_or_gates(rip)
        || is_behind_gate(rsp) && rip == address && info.si_signo == libc::SIGSEGV
}

/// Whether an instruction is of a proxy or a gate.
fn is_proxys_or_gates(rip: u64) -> bool {
    let gates = lockgate_gate_import as *const () as u64..lockgate_gate_end as *const () as u64;
    code_sys::contains(rip as usize) || gates.contains(&rip)
}

/// A kick: is the call in progress overdue, or its domain killed?
unsafe extern "C" fn on_kick(signal: c_int, _: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's arguments of an SA_SIGINFO handler; records up to the top are valid.
    unsafe {
        let frame = &mut *context.cast::<ucontext_t>();
        let block = block_sys::block();
        if (*block).state.is_null() {
            return;
        }
        // What was ended until now takes no calls from the next admission on, wherever the thread is; but not if it is past one, or a handler
        // of the host's runs there.
        let epoch = thread_sys::epoch();
        let rip = frame.uc_mcontext.gregs[libc::REG_RIP as usize] as u64;
        // Nor is a handler of the host's the place: what it has interrupted goes on. A signal that waits together with this one
        // always has its handler entered first, and interrupted by this.
        let state = &*(*block).state;
        state.look_at_leaving();
        let rsp = frame.uc_mcontext.gregs[libc::REG_RSP as usize] as u64;
        let covered = state.on_alternate_stack(rsp);
        if covered {
            kick_behind(state, signal, frame);
        } else if state.kick_waits.load(Ordering::Acquire) {
            // The handler that it waits behind was left by a jump, maybe: it comes now.
            let mask = (&raw mut frame.uc_sigmask).cast::<u64>();
            mask.write(mask.read() & !bit(FIRST));
        }
        let settled = (*block).transit == 0 && !covered;
        if settled {
            state.looked.store(epoch, Ordering::Release);
        }
        if !covered {
            state.note_left(rsp);
        }
        state.notes_question();
        (*block).alternate_size = u64::MAX; // the next entry asks whether its domain was killed
        (*block).pending = 1; // the next return from a gate looks again
        let Some((state, record)) = inside(frame) else {
            // A gate on its way back may have asked before; so as long as the answer is yes, kicks come.
            let gate = (*block).top;
            let ends =
                (*gate).kind == GATE && why_stop(state, gate.byte_sub(RECORD as usize).cast()).is_some();
            if settled && !ends {
                state.look.store(false, Ordering::Release);
            }
            return;
        };
        let base = space::base_of((*record).control);
        if !(base + window::THUNKS..base + window::IMAGE_MAX).contains(&rip) {
            // In the proxy or a gate, or, on the thread's own stack, in what ends the call: kicks come until one finds it inside or outside. On
            // another stack, mostly the domain's, a handler of the host's runs.
            if !is_proxys_or_gates(rip) && !state.stack.contains(&rsp) {
                kick_behind(state, signal, frame);
            }
            return;
        }
        state.look.store(false, Ordering::Release);
        let Some(cause) = why_stop(state, record) else {
            if state.signalled.load(Ordering::SeqCst) {
                if has_signals(record) {
                    // (Where it cannot be, the next kick tries again.)
                    let has_begun = interrupt(state, record, frame, None);
                    state.unready.store(!has_begun, Ordering::Release);
                } else {
                    look_for_none(state);
                }
            }
            return;
        };
        // One that goes on without its caller is taken to a gate, which hands it over. (Where it cannot be, the next kick tries again.)
        if matches!(cause, Cause::TimeLimit(_)) && may_detach(state, record, rsp) {
            if interrupt(state, record, frame, None) {
                return;
            }
            if state.is_unable() {
                state.unready.store(true, Ordering::Release);
                return;
            }
        }
        let (entry, registers) = ((*record).control, Registers::of(frame));
        let raw = RawFault { cause, address: 0, entry, registers };
        leave(state, record, raw, frame);
    }
}

/// Whether signals of its own wait for the domain of an entry.
unsafe fn has_signals(record: *const EntryRecord) -> bool {
    // SAFETY: a live entry's binding keeps its domain.
    unsafe {
        let binding = (*record).binding.as_ref().filter(|_| !space::is_inherited((*record).control));
        binding.is_some_and(|binding| (*binding.domain).process().has_signals())
    }
}

/// The thread, which is in code of a domain's, need not look at signals any more, if none waits for any domain whose calls are in progress
/// there: another thread has taken what it was told of. (Who sends one says so when it waits.)
///
/// # Safety
/// On the thread itself, with an entry on top.
unsafe fn look_for_none(state: &ThreadState) {
    state.signalled.store(false, Ordering::SeqCst);
    // SAFETY: records below a call in progress are alive.
    let waits = |record: *const Record| unsafe { (*record).is_entry() && has_signals(record.cast()) };
    if state.records().any(waits) {
        state.signalled.store(true, Ordering::SeqCst);
    }
}

/// The entry that the thread is in, if the interrupted code is the domain's: the innermost record is an
/// entry, and the code does not run on the alternate stack, where only host handlers do.
unsafe fn inside(frame: &ucontext_t) -> Option<(&'static ThreadState, *mut EntryRecord)> {
    // SAFETY: the thread's own block; `top` is valid while a state is published.
    unsafe {
        let block = block_sys::block();
        let state = (*block).state.as_ref()?;
        let rsp = frame.uc_mcontext.gregs[libc::REG_RSP as usize] as u64;
        ((*(*block).top).is_entry() && !state.on_alternate_stack(rsp)).then_some((state, (*block).top.cast()))
    }
}

/// Makes the interrupted thread resume at the common exit with the fault as the call's status. The frame's
/// state is the host's in every respect (rule R15).
unsafe fn leave(state: &ThreadState, record: *mut EntryRecord, raw: RawFault, frame: &mut ucontext_t) {
    // SAFETY: on the thread itself; nothing else uses the cell while the thread is in a domain.
    unsafe {
        if let Some(binding) = (*record).binding.as_ref().filter(|_| raw.cause != Cause::Forked) {
            state.breaks_off(record, &*binding.domain);
        }
        *state.fault.get() = Some(raw);
        state.failed.set(first_header((*record).binding));
        // (In a child the way back from the gate has given the thread its place in the domain again.)
        if raw.cause == Cause::Forked || !STANDS_IN.load(Ordering::Relaxed) {
            thread_sys::ask_before_calls();
        }
        // What came behind our back, by a plain system call or a jump: the thread goes on with this mask.
        let mask = (&raw mut frame.uc_sigmask).cast::<u64>();
        mask.write(mask.read() & !lifelines());
        let block = state.block;
        (*block).status = STATUS_FAULT;
        (*block).transit = match outcome_sys::untaken(record) {
            untaken if untaken & UNTAKEN != 0 => untaken,
            _ => 0,
        };
        (*block).pending = u64::from(state.always_asks() || outer_must_stop(state, record.cast()));
        let registers = &mut frame.uc_mcontext.gregs;
        registers[..libc::REG_RIP as usize].fill(0);
        // The caller's registers, which proxies need not restore: padding, r15, r14, r13, r12, rbx, rbp.
        let frame_at = (*record).host as *const i64;
        for (place, register) in
            [libc::REG_R15, libc::REG_R14, libc::REG_R13, libc::REG_R12, libc::REG_RBX, libc::REG_RBP]
                .into_iter()
                .enumerate()
        {
            registers[register as usize] = *frame_at.add(place + 1);
        }
        registers[libc::REG_RSP as usize] = (*record).host as i64;
        registers[libc::REG_RIP as usize] = lockgate_exit as *const () as usize as i64;
        registers[libc::REG_EFL as usize] = CLEAN_FLAGS as i64;
        // The caller's control words, which proxies need not restore, either; with nothing pending.
        if let Some(fpu) = frame.uc_mcontext.fpregs.as_mut() {
            let flags = (*(*record).binding).flags;
            if flags & KEEPS_X87 != 0 {
                (fpu.cwd, fpu.swd, fpu.ftw) = ((*record).x87_control as u16, 0, 0);
            }
            if flags & KEEPS_MXCSR != 0 {
                fpu.mxcsr = (*record).mxcsr;
            }
        }
    }
}

/// True if a guarded copy has faulted at memory of the host's, which has a handler for that: pages that it opens at an access (barriers of
/// a collector, lazy memory). Without one the copy ends, as at the domain's side, and its caller is told.
unsafe fn is_for_hosts_handler(
    signal: c_int,
    info: &siginfo_t,
    context: *const ucontext_t,
    front: usize,
) -> bool {
    // SAFETY: the kernel's frame.
    let register = |number: c_int| unsafe { (*context).uc_mcontext.gregs[number as usize] as u64 };
    let Some([low, end]) = guarded::hosts_side(register(libc::REG_RIP) as usize) else { return false };
    let index = FAULTS.iter().position(|&s| s == signal).expect("a fault signal");
    // SAFETY: a fault's address; the kernel's frame; pointees live forever.
    unsafe {
        let at = info.si_addr() as u64;
        let is_hosts = (register(low)..register(end)).contains(&at) && !space::in_a_stride(&(at..at + 1));
        let behind = || FRONTS[index].behind(Delivery::of(context).stands_for(front)).as_ref();
        is_hosts && behind().is_some_and(|action| ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.handler))
    }
}

/// Ends a guarded instruction that faulted: a copy or load, or a look through gs, which may point nowhere (R19).
fn resume_guarded(frame: &mut ucontext_t) -> bool {
    const ZERO_FLAG: i64 = 0x40;
    let registers = &mut frame.uc_mcontext.gregs;
    let rip = registers[libc::REG_RIP as usize] as usize;
    if let Some(end) = guarded::end_of(rip) {
        registers[libc::REG_RIP as usize] = end as i64;
        return true;
    }
    if rip == lockgate_gate_check as *const () as usize {
        registers[libc::REG_RIP as usize] = lockgate_gate_other_window as *const () as usize as i64;
        return true;
    }
    if code_sys::contains(rip) && code_sys::contains(rip + WINDOW_CHECK.len() - 1) {
        // SAFETY: code is readable.
        let bytes = unsafe { (rip as *const [u8; WINDOW_CHECK.len()]).read() };
        if bytes == WINDOW_CHECK {
            registers[libc::REG_RIP as usize] += WINDOW_CHECK.len() as i64;
            registers[libc::REG_EFL as usize] &= !ZERO_FLAG;
            thread_sys::has_entered();
            return true;
        }
    }
    false
}

/// Finds the host's own handler of a signal that has come to `front`, and with what it is entered; 0 if there is none. (No reference to the
/// context: what is before it is written, too.)
unsafe fn chain(signal: c_int, delivered: &Delivered, entering: &mut Entering, front: usize) -> usize {
    let (info, context) = (delivered.information, delivered.context);
    let index = FAULTS.iter().position(|&s| s == signal).expect("a fault signal");
    in_front(index, signal);
    // SAFETY: pointees live forever; the frame is there, and what is left to do is to enter the handler.
    unsafe {
        let delivery = Delivery::of(context);
        let mut front = delivery.stands_for(front);
        // (Who is in front of ours, and has called it, does not stand behind it as well.)
        let in_front = kernel_action(signal, None).handler;
        if FRONTS[index].behind(front).as_ref().is_some_and(|action| action.handler == in_front) {
            front = 0;
        }
        let action = FRONTS[index].behind(front).as_ref().unwrap_or(&DEFAULT);
        // It may leave by a jump, and its signal is blocked then until the thread is admitted anew, or comes back from a gate.
        (*block_sys::block()).alternate_size = u64::MAX;
        (*block_sys::block()).pending = 1;
        if action.flags & libc::SA_RESETHAND as u64 != 0 {
            // (Code that puts ours back later does not bring it back.)
            FRONTS[index].note(front, (&raw const DEFAULT).cast_mut());
        }
        match action.handler {
            libc::SIG_IGN if (*info).si_code <= 0 => 0,
            libc::SIG_DFL | libc::SIG_IGN => {
                // The default action, with the right core dump: the instruction faults again, or the
                // signal that was sent is sent once more.
                kernel_action(signal, Some(&DEFAULT));
                // (What a trap interrupts has been executed.)
                if (*info).si_code <= 0 || matches!(signal, libc::SIGTRAP | libc::SIGSYS) {
                    libc::raise(signal);
                }
                0
            }
            // (It has the arguments of an SA_SIGINFO handler, and takes what it wants.)
            handler => {
                let interrupted = (&raw const (*context).uc_sigmask).cast::<u64>().read();
                let masks_itself = action.flags & libc::SA_NODEFER as u64 == 0;
                entering.set_mask(in_handler(interrupted, signal, action.mask, masks_itself));
                delivery.hand_on(index, front, handler);
                if action.flags & libc::SA_ONSTACK as u64 == 0 {
                    delivered.leave_small_stack(entering);
                }
                handler
            }
        }
    }
}

/// Whether [`install`] is done.
pub(super) fn is_installed() -> bool {
    INSTALLED.load(Ordering::SeqCst)
}

/// What the host wants done about a fault signal from now on, instead of installing it; gives what it wanted before.
/// `None` if the signal is no fault's, or before [`install`]. (As `sigaction` is, it may be called in a handler that has interrupted it.)
///
/// # Errors
/// There is no memory to note it.
pub(super) fn wants(signal: c_int, new: Option<Action>) -> Option<Result<Action, Errno>> {
    if !INSTALLED.load(Ordering::Acquire) {
        return None;
    }
    let index = FAULTS.iter().position(|&s| s == signal)?;
    let fronts = &FRONTS[index];
    let current = fronts.current();
    let before = match new {
        None => fronts.behind(current),
        Some(new) => {
            let new = match fronts_sys::at(new.handler) {
                // (Ours, of code that has asked the kernel: what it stood for.)
                Some(front) => fronts.behind(front),
                None => match kept(new) {
                    Ok(new) => ptr::from_ref(new).cast_mut(),
                    Err(error) => return Some(Err(error)),
                },
            };
            let before = fronts.replace(current, new);
            if in_front(index, signal) == Front::Theirs {
                // It came past us, and goes as any other.
                return Some(Ok(kernel_action(signal, Some(&ours(fronts_sys::address(current))))));
            }
            before
        }
    };
    // SAFETY: pointees live forever.
    Some(Ok(*unsafe { before.as_ref() }.unwrap_or(&DEFAULT)))
}

/// Whether the process's `sigaction` is this library's. It is where the program, or a library that it was linked with, was linked with
/// this one; it is not where this one came by `dlopen`, or the process has interceptors of its own.
static STANDS_IN: AtomicBool = AtomicBool::new(false);

fn stands_in() -> bool {
    let place = |symbol: *const c_void| {
        // SAFETY: zeroed is a valid structure for dladdr to fill.
        unsafe {
            let mut info: libc::Dl_info = std::mem::zeroed();
            (libc::dladdr(symbol, &mut info) != 0).then_some(info.dli_fbase)
        }
    };
    // SAFETY: a query.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"sigaction".as_ptr()) };
    !found.is_null()
        && place(found).is_some()
        && place(found) == place(fronts_sys::address(0) as *const c_void)
}

/// Has the calling thread's next call look at handlers, the alternate stack and the mask again: changes of them need not come to our notice by
/// themselves (rules R11, R12); `siglongjmp` and `setcontext` may bring back a mask from before the thread's first call. For ways that are slow
/// already. In a gate the mask is looked at now, as the next way into a domain may be the gate's way back.
pub(crate) fn look_again() {
    thread_sys::ask_before_calls();
    if thread_sys::current().is_some_and(thread_sys::is_in_a_call) {
        unblock();
    }
}

const _: () = assert!(
    offset_of!(Record, kind) == 0 && offset_of!(EntryRecord, kind) == 0 && offset_of!(GateRecord, mark) == 0
);
