//! Virtual signals of one domain: what it wants done about each, which are blocked, and which wait. Nothing of the host's is seen or
//! changed. Here is decided what comes next; how a handler is begun and returned from is the business of the runtime.
use super::timers::{Sends, Setting, Timers, Which};
use super::wire::word;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// `SIG_DFL` and `SIG_IGN`.
pub(super) const DEFAULT: u64 = 0;
pub(super) const IGNORE: u64 = 1;

/// Bytes of the kernel's `struct sigaction`: handler, flags, restorer, mask.
pub(super) const ACTION: usize = 32;

/// Signals are 1 to this.
pub(super) const LAST: u32 = 64;
/// The first of those that queue: each that is sent comes.
const FIRST_QUEUED: u32 = 32;
/// musl's signal by which a thread is cancelled.
const CANCEL: u32 = 33;
/// Most that wait in one domain.
const MOST_QUEUED: usize = 256;
/// Of an alternate stack: a handler on it has none, and may give its thread another.
pub(super) const AUTODISARM: u64 = 1 << 31;
/// What cannot be blocked, ignored or handled.
pub(super) const FIXED: u64 = set_of([libc::SIGKILL, libc::SIGSTOP]);

/// What instructions raise: these come first, also if a thread sends them.
const SYNCHRONOUS: u64 =
    set_of([libc::SIGILL, libc::SIGTRAP, libc::SIGBUS, libc::SIGFPE, libc::SIGSEGV, libc::SIGSYS]);
/// What stops a process on Linux.
const STOPS: u64 = set_of([libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU]);

/// The bit of a signal in a set.
pub(super) const fn bit(signal: u32) -> u64 {
    1 << (signal - 1)
}

const fn set_of<const N: usize>(signals: [i32; N]) -> u64 {
    let (mut set, mut i) = (0, 0);
    while i < N {
        set |= bit(signals[i] as u32);
        i += 1;
    }
    set
}

/// Whether a set has a signal. No set has one of the numbers that are none.
pub(super) fn contains(set: u64, signal: u32) -> bool {
    (1..=LAST).contains(&signal) && set & bit(signal) != 0
}

/// What a program is told of a signal: fields of a `siginfo_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Info {
    /// Its number.
    pub signal: u32,
    /// Where it comes from (`si_code`).
    pub code: i32,
    /// The two words behind that: sender, or address.
    pub first: u64,
    /// The value of `sigqueue`, or of a timer.
    pub second: u64,
}

/// Bytes of a `siginfo_t`.
pub const INFO: usize = 128;

impl Info {
    fn of_timer(which: Which, Sends { signal, value, .. }: Sends) -> Info {
        /// `SI_KERNEL`, which the C library's headers for Linux have.
        const SI_KERNEL: i32 = 0x80;
        match which {
            Which::Interval(_) => Info { signal, code: SI_KERNEL, first: 0, second: 0 },
            Which::Made(number) => Info { signal, code: libc::SI_TIMER, first: number.into(), second: value },
        }
    }

    /// As the kernel lays it out on x86-64.
    #[must_use]
    pub fn bytes(&self) -> [u8; INFO] {
        let mut bytes = [0; INFO];
        bytes[..4].copy_from_slice(&self.signal.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.code.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.first.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.second.to_le_bytes());
        bytes
    }
}

/// A handler that is to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handler {
    /// What it is told.
    pub info: Info,
    /// Addresses, as the module gave them: of the handler, and of what it returns to.
    pub handler: u64,
    /// As `handler`.
    pub restorer: u64,
    /// System calls that it interrupts begin again.
    pub restarts: bool,
    /// It asks for the alternate stack that its thread has.
    pub alternate: bool,
    /// The thread's mask before.
    pub mask: u64,
}

/// What comes next for a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// A handler runs. What it blocks is blocked already.
    Handler(Handler),
    /// The call into the domain ends by this signal.
    Deadly(u32),
}

/// The signals whose handlers are to begin on a thread behind a system call, or to end its call if they cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// All that wait.
    All,
    /// Those that it has let come. What was [put off](crate::Process::put_signals_off) before has not come by that.
    LetCome,
    /// None but these, a bit for each.
    Only(u64),
}

/// A signal that waits.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    /// The thread that it is for, if it is for one.
    to: Option<u32>,
    info: Info,
    /// The timer that has sent it.
    timer: Option<Which>,
    /// Where that has an interval, when threads are told of it once more: they may have come meanwhile, and make no system call.
    again: Option<Instant>,
}

/// What one domain has asked for, and what waits for it.
#[derive(Debug, Default, Clone)]
pub(super) struct Signals {
    /// By signal number; absent is the default action.
    actions: BTreeMap<u32, [u8; ACTION]>,
    /// Blocked signals by thread slot.
    masks: BTreeMap<u32, u64>,
    /// What `sigsuspend` and its like have replaced, by thread slot.
    suspended: BTreeMap<u32, u64>,
    /// What threads wait for in `sigwait` and its like, by thread slot.
    wanted: BTreeMap<u32, u64>,
    /// What `sigaltstack` was given: address, flags, size, by thread slot.
    alternate: BTreeMap<u32, [u64; 3]>,
    /// In the order in which they came.
    waiting: Vec<Waiting>,
    /// What could have come, and was left waiting for want of room, by thread slot.
    left: BTreeMap<u32, u64>,
    timers: Timers,
    /// They have changed since the runtime has asked.
    has_changed_timers: bool,
}

impl Signals {
    pub(super) fn action(&self, signal: u32) -> [u8; ACTION] {
        self.actions.get(&signal).copied().unwrap_or([0; ACTION])
    }

    /// What is ignored from now on waits no more.
    pub(super) fn set_action(&mut self, signal: u32, action: [u8; ACTION]) {
        self.actions.insert(signal, action);
        let is_ignored = self.is_ignored(signal);
        if is_ignored {
            self.waiting.retain(|waiting| waiting.info.signal != signal);
        }
        self.look_at_ignored(signal, is_ignored);
    }

    fn look_at_ignored(&mut self, signal: u32, is_ignored: bool) {
        let waiting = &self.waiting;
        let waits = |which| waiting.iter().any(|waiting| waiting.timer == Some(which));
        self.has_changed_timers |= self.timers.ignores(signal, is_ignored, waits);
    }

    /// Changes a timer of `setitimer` ([`Timers::interval`]).
    pub(super) fn interval_timer(&mut self, number: usize, new: Option<Setting>) -> Setting {
        let waits = self.waiting.iter().any(|waiting| waiting.timer == Some(Which::Interval(number)));
        self.timers_mut().interval(number, new, waits)
    }

    /// When timers, and what they have sent, are to be looked at next.
    pub(super) fn next_look(&self) -> Option<Instant> {
        self.waiting.iter().filter_map(|waiting| waiting.again).chain(self.timers.next()).min()
    }

    pub(super) fn timers(&self) -> &Timers {
        &self.timers
    }

    /// Clocks of CPU time go on ([`Timers::count`]).
    pub(super) fn count(&mut self, since: Instant, spent: &[(u32, Duration)]) {
        self.timers.count(since, spent);
    }

    /// To change them.
    pub(super) fn timers_mut(&mut self) -> &mut Timers {
        self.has_changed_timers = true;
        &mut self.timers
    }

    /// Whether timers have changed since this was last asked.
    pub(super) fn take_changed_timers(&mut self) -> bool {
        std::mem::take(&mut self.has_changed_timers)
    }

    /// Drops what a timer has sent that was made, if it waits still.
    pub(super) fn drop_sent(&mut self, number: u64) {
        let timer = u32::try_from(number).ok().map(Which::Made);
        self.waiting.retain(|waiting| waiting.timer.is_none() || waiting.timer != timer);
    }

    /// Sends what timers send that are due; whether threads are to be told of that, or of what waits still. (Each has one signal that waits,
    /// whatever else does.)
    pub(super) fn fire(&mut self, now: Instant) -> bool {
        let mut tells = false;
        for waiting in
            self.waiting.iter_mut().filter(|waiting| waiting.again.is_some_and(|again| again <= now))
        {
            waiting.again = waiting.timer.and_then(|which| self.timers.again(now, which));
            tells = true;
        }
        for (which, sends) in self.timers.fire() {
            let (to, info) = (sends.to, Info::of_timer(which, sends));
            let (timer, again) = (Some(which), self.timers.again(now, which));
            self.takes_back(info.signal);
            let is_same = |waiting: &&mut Waiting| waiting.to == to && waiting.info.signal == info.signal;
            if self.is_ignored(info.signal) && !self.is_wanted(info.signal) {
                self.look_at_ignored(info.signal, true);
                continue;
            }
            // (Those of `setitimer` send as `kill` does.)
            let is_interval = matches!(which, Which::Interval(_));
            match self.waiting.iter_mut().find(|waiting| is_same(waiting) && is_interval) {
                Some(waiting) => (waiting.timer, waiting.again) = (timer, again),
                None => self.waiting.push(Waiting { to, info, timer, again }),
            }
            tells = true;
        }
        tells
    }

    /// Address of the handler, or [`DEFAULT`], or [`IGNORE`].
    pub(super) fn handler(&self, signal: u32) -> u64 {
        word(&self.action(signal), 0)
    }

    /// The signals for which there are handlers.
    pub(super) fn handled(&self) -> u64 {
        self.with_action(|action| ![DEFAULT, IGNORE].contains(&word(action, 0)))
    }

    /// Those whose handlers ask for an alternate stack.
    pub(super) fn on_alternate(&self) -> u64 {
        self.with_action(|action| word(action, 8) & libc::SA_ONSTACK as u64 != 0)
    }

    /// The signals with such an action, of those that have one.
    fn with_action(&self, is_such: impl Fn(&[u8; ACTION]) -> bool) -> u64 {
        let such = self.actions.iter().filter(|(_, action)| is_such(action));
        such.fold(0, |set, (&signal, _)| set | bit(signal))
    }

    /// Whether a signal to the domain would be kept: for a thread that waits for it, or because all threads, the first one too, block it.
    pub(super) fn is_held(&self, signal: u32) -> bool {
        let has = |set: &u64| set & bit(signal) != 0;
        self.wanted.values().any(has) || self.masks.contains_key(&0) && self.masks.values().all(has)
    }

    /// Number of those in `set` that wait, for whatever thread.
    pub(super) fn waiting_of(&self, set: u64) -> usize {
        self.waiting.iter().filter(|waiting| set & bit(waiting.info.signal) != 0).count()
    }

    /// Number of those that wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Forgets a thread.
    pub(super) fn forget(&mut self, thread: u32) {
        self.masks.remove(&thread);
        self.suspended.remove(&thread);
        self.wanted.remove(&thread);
        self.alternate.remove(&thread);
        self.waiting.retain(|waiting| waiting.to != Some(thread));
        self.timers.forget(thread);
    }

    /// A thread begins as `start` has it.
    pub(super) fn begin_as(&mut self, thread: u32, start: &Signals) {
        self.forget(thread);
        self.masks.extend(start.masks.get_key_value(&thread));
        self.alternate.extend(start.alternate.get_key_value(&thread));
    }

    pub(super) fn mask(&self, thread: u32) -> u64 {
        self.masks.get(&thread).copied().unwrap_or_default()
    }

    /// What is ignored, and waited because it was blocked, comes to nothing where it is next. (A handler that comes before it may block it.)
    pub(super) fn set_mask(&mut self, thread: u32, mask: u64) {
        self.masks.insert(thread, mask & !FIXED);
        let wanted = self.wanted.values().fold(0, |all, set| all | set);
        while let Some(index) = self.first(thread, !mask & !wanted)
            && let signal = self.waiting[index].info.signal
            && self.is_ignored(signal)
        {
            self.waiting.remove(index);
            self.look_at_ignored(signal, true);
        }
    }

    /// Replaces a thread's mask until a handler has run, or [`Signals::resume`].
    pub(super) fn suspend(&mut self, thread: u32, mask: u64) {
        let before = self.mask(thread);
        self.suspended.insert(thread, before);
        self.set_mask(thread, mask);
    }

    /// The thread's mask is what it was before [`Signals::suspend`].
    pub(super) fn resume(&mut self, thread: u32) {
        if let Some(before) = self.suspended.remove(&thread) {
            self.set_mask(thread, before);
        }
    }

    /// The thread's call has ended in its midst; it has this mask now, and waits for nothing.
    pub(super) fn leave(&mut self, thread: u32, mask: u64) {
        self.suspended.remove(&thread);
        self.wanted.remove(&thread);
        self.set_mask(thread, mask);
    }

    /// What the thread waits for in a system call; 0 for nothing.
    pub(super) fn want(&mut self, thread: u32, set: u64) {
        match set {
            0 => self.wanted.remove(&thread),
            _ => self.wanted.insert(thread, set & !FIXED),
        };
    }

    /// What `sigaltstack` knows of a thread; changes it.
    pub(super) fn alternate(&mut self, thread: u32, new: Option<Option<[u64; 3]>>) -> Option<[u64; 3]> {
        match new {
            None => self.alternate.get(&thread).copied(),
            Some(None) => self.alternate.remove(&thread),
            Some(Some(new)) => self.alternate.insert(thread, new),
        }
    }

    pub(super) fn is_ignored(&self, signal: u32) -> bool {
        const QUIET: [i32; 4] = [libc::SIGCHLD, libc::SIGCONT, libc::SIGURG, libc::SIGWINCH];
        match self.handler(signal) {
            IGNORE => true,
            DEFAULT => QUIET.contains(&(signal as i32)),
            _ => false,
        }
    }

    /// Whether a signal ends the call of a thread at once: it is not blocked there, and the domain has neither a handler for it nor ignores it.
    pub(super) fn is_deadly(&self, thread: u32, signal: u32) -> bool {
        self.handler(signal) == DEFAULT && !self.is_ignored(signal) && self.mask(thread) & bit(signal) == 0
    }

    /// A signal is sent, to one thread or to the whole domain.
    ///
    /// # Errors
    /// `EAGAIN`: too many wait.
    pub(super) fn send(&mut self, to: Option<u32>, info: Info) -> Result<(), Errno> {
        self.takes_back(info.signal);
        let waits_already =
            || self.waiting.iter().any(|waiting| waiting.to == to && waiting.info.signal == info.signal);
        if (self.is_ignored(info.signal) && !self.is_wanted(info.signal))
            || info.signal < FIRST_QUEUED && waits_already()
        {
            return Ok(());
        }
        if self.waiting.iter().filter(|waiting| waiting.timer.is_none()).count() >= MOST_QUEUED {
            return Err(Errno::AGAIN);
        }
        self.waiting.push(Waiting { to, info, timer: None, again: None });
        Ok(())
    }

    /// What a signal does to others as soon as it is sent: one that lets a process go on takes those back that wait to stop it, and these
    /// it.
    fn takes_back(&mut self, signal: u32) {
        const GOES_ON: u64 = bit(libc::SIGCONT as u32);
        let back = match bit(signal) {
            GOES_ON => STOPS,
            stops if stops & STOPS != 0 => GOES_ON,
            _ => return,
        };
        self.waiting.retain(|waiting| back & bit(waiting.info.signal) == 0);
        for other in (1..=LAST).filter(|&other| contains(back, other)) {
            self.look_at_ignored(other, false);
        }
    }

    /// Whether a thread gets even what would be ignored: with `sigwait`, as it does where it is blocked.
    fn is_wanted(&self, signal: u32) -> bool {
        self.wanted.values().chain(self.masks.values()).any(|set| set & bit(signal) != 0)
    }

    /// Those that wait for a thread, blocked or not.
    pub(super) fn pending(&self, thread: u32) -> u64 {
        let own = self.waiting.iter().filter(|waiting| waiting.to.is_none_or(|to| to == thread));
        own.fold(0, |set, waiting| set | bit(waiting.info.signal))
    }

    /// Threads whose masks are replaced, a bit for each slot.
    pub(super) fn suspended(&self) -> u64 {
        self.suspended.keys().fold(0, |set, thread| set | 1 << thread)
    }

    /// Whether something is to be done about a signal on this thread.
    pub(super) fn wakes(&self, thread: u32) -> bool {
        let wanted = self.wanted.get(&thread).copied().unwrap_or_default();
        self.pending(thread) & (!self.mask(thread) | wanted) != 0
    }

    /// Where the first one in `set` stands that waits for a thread, in Linux's order: the thread's own before the domain's; of each, what
    /// instructions raise; then by number.
    fn first(&self, thread: u32, set: u64) -> Option<usize> {
        let fits = |(_, waiting): &(usize, &Waiting)| {
            waiting.to.is_none_or(|to| to == thread) && set & bit(waiting.info.signal) != 0
        };
        let key = |(_, Waiting { to, info, .. }): &(usize, &Waiting)| {
            (to.is_none(), SYNCHRONOUS & bit(info.signal) == 0, info.signal)
        };
        Some(self.waiting.iter().enumerate().filter(fits).min_by_key(key)?.0)
    }

    /// Takes the first one in `set` that waits for a thread.
    pub(super) fn take(&mut self, thread: u32, set: u64) -> Option<Info> {
        let index = self.first(thread, set)?;
        let Waiting { mut info, timer, .. } = self.waiting.remove(index);
        if let Some(timer) = timer {
            let overrun = self.timers_mut().taken(timer);
            if matches!(timer, Which::Made(_)) {
                info.first |= u64::from(overrun) << 32;
            }
        }
        Some(info)
    }

    /// What comes next for a thread, of what is not blocked, and has no handler unless that is asked for.
    pub(super) fn next(&mut self, thread: u32, asked: Asked) -> Option<Next> {
        let left = self.left.remove(&thread).unwrap_or_default() & self.pending(thread);
        let begins = match asked {
            Asked::All => u64::MAX,
            Asked::LetCome => !left,
            Asked::Only(set) => set,
        };
        let waits = self.handled() & !begins;
        while let Some(info) = self.take(thread, !self.mask(thread) & !waits) {
            if !self.is_ignored(info.signal) {
                return Some(self.begin(thread, info));
            }
        }
        self.keep_off(thread, left);
        None
    }

    /// What could come now waits until there is room.
    pub(super) fn put_off(&mut self, thread: u32) {
        self.keep_off(thread, 0);
    }

    /// The same, and so does what was `left` before and is blocked now: a thread that is asked while it blocks all (as in `raise`) lets nothing
    /// come by going back to its mask.
    fn keep_off(&mut self, thread: u32, left: u64) {
        let left = self.pending(thread) & (!self.mask(thread) | left);
        if left != 0 {
            self.left.insert(thread, left);
        }
    }

    /// What an instruction of the thread has raised: it comes at once, or, where it has no handler or is blocked, ends the call ([`None`]).
    pub(super) fn raise(&mut self, thread: u32, info: Info) -> Option<Handler> {
        let is_handled = ![DEFAULT, IGNORE].contains(&self.handler(info.signal));
        if !is_handled || self.mask(thread) & bit(info.signal) != 0 {
            return None;
        }
        match self.begin(thread, info) {
            Next::Handler(handler) => Some(handler),
            Next::Deadly(_) => None,
        }
    }

    fn begin(&mut self, thread: u32, info: Info) -> Next {
        let action = self.action(info.signal);
        let [handler, flags, restorer, blocks] = [0, 8, 16, 24].map(|at| word(&action, at));
        if handler == DEFAULT {
            return Next::Deadly(info.signal);
        }
        let has = |flag: i32| flags as u32 & flag as u32 != 0;
        if has(libc::SA_RESETHAND) {
            // As Linux does: flags and mask stay.
            self.actions.entry(info.signal).or_insert([0; ACTION])[..8].fill(0);
        }
        let now = self.mask(thread);
        let mask = self.suspended.remove(&thread).unwrap_or(now);
        let own = if has(libc::SA_NODEFER) { 0 } else { bit(info.signal) };
        self.set_mask(thread, now | blocks | own);
        let alternate = has(libc::SA_ONSTACK)
            && self.alternate.get(&thread).is_some_and(|[_, flags, _]| *flags & AUTODISARM == 0);
        // (Where libc cancels a thread it would go on elsewhere than at the system call, which no handler can: it looks at EINTR, too.)
        let restarts = has(libc::SA_RESTART) && info.signal != CANCEL;
        Next::Handler(Handler { info, handler, restorer, restarts, alternate, mask })
    }
}
