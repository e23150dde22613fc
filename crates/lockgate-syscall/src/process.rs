//! What the system calls of one domain remember.
use super::caller::WaitingSignals;
use super::current::Current;
use super::descriptors::{Description, Descriptors, MOST, Reserved};
use super::last_words::LastWords;
use super::notifications;
use super::place::Place;
use super::record_locks::Locks;
use super::robust::release_robust;
use super::signal_files::{self, SignalFile};
use super::signal_state::{self, Asked, Handler, Info, Next, Signals};
use super::sockets::Way;
use super::timers::Timers;
use super::waits::Waits;
use super::{Grants, Memory, OwnFile, ThreadStart};
use lockgate_abi::{stack, window};
use lockgate_kernel::{Left, Lookup, locked};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

/// Numbers of system calls from here on share one counter, since a module may try every number. Linux has none so large, so that all calls
/// that have a name are told apart.
pub const COUNTED_TOGETHER: u64 = 1024;

/// The file mode creation mask that a program begins with unless the host says another one.
pub const UMASK: u32 = 0o022;
/// The largest one: all bits of a mask.
pub const MAX_UMASK: u32 = 0o777;

/// So many things that were not granted are told apart.
const MOST_DENIED: usize = 16;
/// What the others are counted as.
const MORE_DENIED: &str = "use other addresses";

/// A soft and a hard limit, by resource: those that a domain has set.
type Limits = BTreeMap<u32, [u64; 2]>;

/// What a domain's start has made of its [`Process`]: for those that begin where it ended.
#[derive(Clone)]
pub struct Started {
    current: Arc<Current>,
    umask: u32,
    signals: Signals,
    refused: BTreeMap<u64, u64>,
    denied: BTreeMap<String, u64>,
    robust: BTreeMap<u32, u64>,
    clear: BTreeMap<u32, u64>,
    limits: Limits,
}

/// The emulated process of one domain: descriptor table, current directory, identity, counters.
///
/// Cheap to make; a domain that is reset gets a new one from the same [`Grants`], and so has nothing of the one before: no field
/// leads to anything that another domain shares but what was granted.
pub struct Process {
    pub(super) grants: Arc<Grants>,
    /// What `getpid` says, and the first thread's number: the host's process. (A forked child has no domain of its parent's.)
    number: u32,
    /// Bytes of a thread's stack.
    stack_size: u64,
    /// What the domain's code was made from.
    own_file: Option<Arc<dyn OwnFile>>,
    pub(super) descriptors: Mutex<Descriptors>,
    /// The same for calls that take no lock.
    pub(super) lookup: Arc<Lookup<Arc<Description>>>,
    pub(super) current: Mutex<Arc<Current>>,
    signals: Mutex<Signals>,
    /// Slots of threads whose calls have ended in their midst, and the masks that they have from then on.
    left: AtomicU64,
    masks: [AtomicU64; stack::SLOTS as usize],
    /// Number of signals that wait, and the set of those that have handlers: for who does not want to lock.
    waiting: AtomicUsize,
    /// One was sent of which other threads are to be told.
    tells: AtomicBool,
    has_changed_timers: AtomicBool,
    handled: AtomicU64,
    /// Of those, the ones whose handlers are to run on an alternate stack.
    on_alternate: AtomicU64,
    /// Slots of threads whose masks a wait has replaced and that do not have them back yet.
    suspended: AtomicU64,
    /// Descriptors that read signals, and whether there is one.
    signal_files: Mutex<Vec<Weak<SignalFile>>>,
    has_signal_files: AtomicBool,
    /// Instances of `inotify`.
    notifications: Arc<AtomicI32>,
    /// Bytes of all memory files.
    pub(super) memory_files: Arc<AtomicU64>,
    pub(super) locks: Mutex<Locks>,
    pub(super) umask: AtomicU32,
    pub(super) waits: Waits,
    said: Mutex<BTreeMap<u32, LastWords>>,
    refused: Mutex<BTreeMap<u64, u64>>,
    /// What was tried without a grant, and how often.
    denied: Mutex<BTreeMap<String, u64>>,
    /// Slots of threads whose last call was `exit_group`.
    group_exits: Mutex<BTreeSet<u32>>,
    /// What the domain has set itself.
    pub(super) limits: Mutex<Limits>,
    /// Addresses of the lists of robust futexes, by thread slot.
    pub(super) robust: Mutex<BTreeMap<u32, u64>>,
    /// Addresses of the words that become 0 when a thread ends by `exit`, by its slot: what `set_tid_address` was given.
    pub(super) clear: Mutex<BTreeMap<u32, u64>>,
}

impl Process {
    /// A process that may reach what `grants` says.
    pub fn new(grants: Arc<Grants>) -> Self {
        Process::of_host(std::process::id(), grants)
    }

    /// The same, in the host's process `number`.
    pub fn of_host(number: u32, grants: Arc<Grants>) -> Self {
        let descriptors = Descriptors::new(&grants.streams, grants.descriptor_limit());
        Process {
            number,
            lookup: Arc::clone(descriptors.lookup()),
            descriptors: Mutex::new(descriptors),
            current: Mutex::new(Arc::new(Current::start(&grants))),
            signals: Mutex::default(),
            left: AtomicU64::new(0),
            masks: std::array::from_fn(|_| AtomicU64::new(0)),
            waiting: AtomicUsize::new(0),
            tells: AtomicBool::new(false),
            has_changed_timers: AtomicBool::new(false),
            handled: AtomicU64::new(0),
            on_alternate: AtomicU64::new(0),
            suspended: AtomicU64::new(0),
            signal_files: Mutex::default(),
            has_signal_files: AtomicBool::new(false),
            notifications: Arc::default(),
            memory_files: Arc::default(),
            locks: Mutex::default(),
            umask: AtomicU32::new(UMASK),
            waits: Waits::default(),
            said: Mutex::default(),
            refused: Mutex::default(),
            denied: Mutex::default(),
            group_exits: Mutex::default(),
            limits: Mutex::default(),
            robust: Mutex::default(),
            clear: Mutex::default(),
            own_file: None,
            stack_size: stack::MAX_SIZE,
            grants,
        }
    }

    /// Ends every blocked system call of the domain with [`Fault::Killed`](super::Fault::Killed), now and
    /// from now on. Callable from any thread, not from a signal handler.
    pub fn kill(&self) {
        self.waits.kill();
    }

    /// The same with at most `limit` descriptors.
    pub fn with_descriptors(mut self, limit: u32) -> Self {
        let limit = i32::try_from(limit).unwrap_or(MOST);
        let descriptors = self.descriptors.get_mut().unwrap_or_else(|e| e.into_inner());
        descriptors.restrict(limit);
        self.lookup = Arc::clone(descriptors.lookup());
        self
    }

    /// The same, whose threads have stacks of so many bytes.
    pub fn with_stacks(mut self, size: u64) -> Self {
        self.stack_size = size;
        self
    }

    /// The same, which begins with this file mode creation mask; other bits than those of [`MAX_UMASK`] do not count.
    pub fn with_umask(mut self, mask: u32) -> Self {
        self.umask = AtomicU32::new(mask & MAX_UMASK);
        self
    }

    /// Number of the thread in stack slot `slot`.
    pub(super) fn thread_number(&self, slot: u32) -> u64 {
        u64::from(self.number + slot)
    }

    /// The stack slot of the thread with this number, if there can be one.
    pub(super) fn slot_of(&self, thread: u64) -> Option<u32> {
        let slot = u32::try_from(thread).ok()?.checked_sub(self.number)?;
        (u64::from(slot) < stack::SLOTS).then_some(slot)
    }

    /// What `getpid` says.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Bytes of a thread's stack.
    pub(super) fn stack_size(&self) -> u64 {
        self.stack_size
    }

    /// What the start has made of it; [`None`]: more than another one can begin with, such as files that are open, or timers. No thread may run in
    /// the domain.
    pub fn started(&self) -> Option<Started> {
        // Every field is named: who adds one says here what of it a start leaves.
        let Process {
            // What it was made of and with, and where.
            grants,
            number: _,
            stack_size: _,
            own_file: _,
            // Where no thread runs, none waits, is told, or has yet to get a mask back.
            waits: _,
            // It shows what is in the table.
            lookup: _,
            left: _,
            masks: _,
            tells: _,
            has_changed_timers: _,
            group_exits: _,
            // They count, or know of, what is open.
            signal_files: _,
            has_signal_files: _,
            notifications: _,
            memory_files: _,
            // They follow from the signals.
            waiting: _,
            handled: _,
            on_alternate: _,
            suspended: _,
            // Words for an error that there was none of.
            said: _,
            descriptors,
            current,
            signals,
            locks,
            umask,
            refused,
            denied,
            robust,
            clear,
            limits,
        } = self;
        let is_plain = locked(descriptors).are_new(&grants.streams)
            && locked(locks).is_empty()
            && locked(signals).timers().are_unused()
            && locked(signals).waiting() == 0;
        is_plain.then(|| Started {
            current: locked(current).clone(),
            umask: umask.load(Ordering::Relaxed),
            signals: locked(signals).clone(),
            refused: locked(refused).clone(),
            denied: locked(denied).clone(),
            robust: locked(robust).clone(),
            clear: locked(clear).clone(),
            limits: locked(limits).clone(),
        })
    }

    /// The same, behind a start that has left this.
    pub fn with_start(mut self, start: &Started) -> Self {
        let Started { current, umask, signals, refused, denied, robust, clear, limits } = start.clone();
        self.current = Mutex::new(current);
        self.umask = AtomicU32::new(umask);
        self.refused = Mutex::new(refused);
        self.denied = Mutex::new(denied);
        self.robust = Mutex::new(robust);
        self.clear = Mutex::new(clear);
        if let Some([soft, _]) = limits.get(&libc::RLIMIT_NOFILE) {
            locked(&self.descriptors).lower(*soft);
        }
        self.limits = Mutex::new(limits);
        self.change_signals(|own| *own = signals);
        self
    }

    /// The same, whose own file is what `file` opens.
    pub fn with_own_file(mut self, file: Arc<dyn OwnFile>) -> Self {
        self.own_file = Some(file);
        self
    }

    /// The file that the domain knows as its own, if it has one.
    pub(super) fn own_file(&self) -> Option<&dyn OwnFile> {
        self.own_file.as_deref()
    }

    /// Closes all that is open, as the end of a process does: nothing of the domain's runs any more, or all of it must end. What a system call uses that
    /// is in progress is closed when that ends.
    pub fn close_all(&self) {
        let closed = locked(&self.descriptors).remove_all();
        let locks = std::mem::take(&mut *locked(&self.locks));
        drop((closed, locks)); // where no lock of ours is held
    }

    /// Number of open descriptors.
    pub fn descriptors_used(&self) -> u32 {
        locked(&self.descriptors).len() as u32
    }

    /// Lets every thread that is blocked in a system call look whether it was stopped.
    pub fn interrupt(&self) {
        self.waits.interrupt();
    }

    pub(super) fn note_group_exit(&self, slot: u32) {
        locked(&self.group_exits).insert(slot);
    }

    /// True, once, if the thread of this slot has called `exit_group`, which ends more than itself.
    pub fn take_group_exit(&self, slot: u32) -> bool {
        locked(&self.group_exits).remove(&slot)
    }

    /// A thread that the domain starts has got its place. Returns its number.
    ///
    /// # Errors
    /// `EFAULT` if the domain cannot write where it wants to know the number.
    pub fn thread_begins(&self, memory: &dyn Memory, slot: u32, start: ThreadStart) -> Result<u64, Errno> {
        self.take_group_exit(slot);
        let number = self.thread_number(slot);
        memory.write(start.number, &(number as u32).to_le_bytes())?;
        self.set_signal_mask(slot, start.mask);
        Ok(number)
    }

    /// The thread of this slot leaves the domain, and another may have the slot: sets free the robust futexes that it holds, and
    /// forgets what is known of it.
    pub fn thread_leaves(&self, memory: &dyn Memory, slot: u32) {
        self.change_signals(|signals| signals.forget(slot));
        locked(&self.clear).remove(&slot);
        let list = locked(&self.robust).remove(&slot);
        if let Some(list) = list {
            release_robust(&self.waits, memory, list, self.thread_number(slot) as u32);
        }
    }

    /// The next thread of this slot begins as the start has left it: its storage is kept.
    pub fn thread_begins_as(&self, slot: u32, start: &Started) {
        self.change_signals(|signals| signals.begin_as(slot, &start.signals));
        locked(&self.clear).extend(start.clear.get_key_value(&slot));
        locked(&self.robust).extend(start.robust.get_key_value(&slot));
    }

    /// The thread of this slot has left calls by a jump whose frames lie below `rsp`.
    pub fn thread_jumps(&self, slot: u32, rsp: u64) {
        self.waits.forget(slot, rsp);
        self.change_signals(|signals| signals.want(slot, 0));
    }

    /// The call of the thread with this slot ends in its midst, and the thread has this mask from then on. Async-signal-safe.
    pub fn gets_mask_back(&self, slot: u32, mask: u64) {
        if let Some(place) = self.masks.get(slot as usize) {
            place.store(mask, Ordering::SeqCst);
            self.left.fetch_or(1 << slot, Ordering::SeqCst);
        }
    }

    /// What is known of signals, by now.
    pub(super) fn signals(&self) -> MutexGuard<'_, Signals> {
        let mut signals = locked(&self.signals);
        if self.left.load(Ordering::SeqCst) != 0 {
            let left = self.left.swap(0, Ordering::SeqCst);
            let masks = (0..).zip(&self.masks).filter(|(slot, _)| left >> slot & 1 != 0);
            masks.for_each(|(slot, mask)| signals.leave(slot, mask.load(Ordering::SeqCst)));
        }
        signals
    }

    pub(super) fn change_signals<T>(&self, change: impl FnOnce(&mut Signals) -> T) -> T {
        let mut signals = self.signals();
        let result = change(&mut signals);
        self.waiting.store(signals.waiting(), Ordering::SeqCst);
        self.handled.store(signals.handled(), Ordering::SeqCst);
        self.on_alternate.store(signals.on_alternate(), Ordering::SeqCst);
        self.suspended.store(signals.suspended(), Ordering::SeqCst);
        if self.has_signal_files.load(Ordering::SeqCst) {
            locked(&self.signal_files).iter().filter_map(Weak::upgrade).for_each(|file| file.tell(&signals));
        }
        if signals.take_changed_timers() {
            self.has_changed_timers.store(true, Ordering::SeqCst);
        }
        result
    }

    /// One more reads signals.
    ///
    /// # Errors
    /// `EMFILE`.
    pub(super) fn add_signal_file(&self, file: &Arc<SignalFile>) -> Result<(), Errno> {
        let mut files = locked(&self.signal_files);
        files.retain(|file| file.strong_count() > 0);
        if files.len() >= signal_files::MOST {
            return Err(Errno::MFILE);
        }
        files.push(Arc::downgrade(file));
        drop(files);
        self.has_signal_files.store(true, Ordering::SeqCst);
        self.change_signals(|_| ()); // it is told of those that wait
        Ok(())
    }

    /// Room for one more instance of `inotify`.
    ///
    /// # Errors
    /// `EMFILE`.
    pub(super) fn notifications(&self) -> Result<Place, Errno> {
        Place::new(&self.notifications, notifications::MOST)
    }

    /// Sends a signal to a thread, or to the domain.
    ///
    /// # Errors
    /// `EAGAIN`: too many wait.
    pub(super) fn send(&self, to: Option<u32>, info: Info) -> Result<(), Errno> {
        self.change_signals(|signals| signals.send(to, info))?;
        self.tell();
        Ok(())
    }

    /// Sends the domain a signal of another process's, if it has a handler for it, or waits for it (`sigwait`): whether it has. The caller tells the domain's threads
    /// ([`tells_of_signals`](Process::tells_of_signals)).
    pub fn signal(&self, signal: u32) -> bool {
        let from_outside = Info { signal, code: libc::SI_USER, first: 0, second: 0 };
        // (Of too many that wait one more is lost, as a signal that waits already is.)
        let is_known = (1..=signal_state::LAST).contains(&signal);
        is_known && (self.handles(signal) || self.signals().is_held(signal)) && {
            let _ = self.send(None, from_outside);
            true
        }
    }

    /// Other threads are to be told of signals.
    fn tell(&self) {
        self.tells.store(true, Ordering::SeqCst);
        self.waits.interrupt();
    }

    /// Whether threads are to be told of signals that were sent since this was last asked.
    pub fn tells_of_signals(&self) -> bool {
        self.tells.load(Ordering::SeqCst) && self.tells.swap(false, Ordering::SeqCst)
    }

    /// Changes timers; the runtime is told.
    pub(super) fn change_timers<T>(&self, change: impl FnOnce(&mut Timers) -> T) -> T {
        self.change_signals(|signals| change(signals.timers_mut()))
    }

    /// Whether timers have changed since this was last asked.
    pub fn has_changed_timers(&self) -> bool {
        let changed = &self.has_changed_timers;
        changed.load(Ordering::SeqCst) && changed.swap(false, Ordering::SeqCst)
    }

    /// When the first timer is due, as they are now.
    pub fn next_timer(&self) -> Option<Instant> {
        self.signals().next_look()
    }

    /// Whether timers go by the CPU time of the domain's threads, as they are now.
    pub fn counts_time(&self) -> bool {
        self.signals().timers().count_time()
    }

    /// The threads of these slots have run in the domain for so long since `since`, as far as samples tell.
    pub fn count_time(&self, since: Instant, spent: &[(u32, Duration)]) {
        self.change_signals(|signals| signals.count(since, spent));
    }

    /// Sends what timers send that are due. Returns when the next one is.
    pub fn look_at_timers(&self) -> Option<Instant> {
        let (sent, next) = self.change_signals(|signals| (signals.fire(Instant::now()), signals.next_look()));
        if sent {
            self.tell();
        }
        next
    }

    /// Whether any signal waits. Async-signal-safe.
    pub fn has_signals(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) != 0
    }

    /// Whether a signal waits for the thread of this slot that it does not block.
    pub fn wakes(&self, slot: u32) -> bool {
        self.has_signals() && self.signals().wakes(slot)
    }

    /// Whether the thread of this slot is to ask for its [next signal](Process::next_signal), whatever waits by now: its mask is one that it had
    /// for a wait.
    pub fn is_suspended(&self, slot: u32) -> bool {
        self.suspended.load(Ordering::SeqCst) >> slot & 1 != 0
    }

    /// Whether the domain has a handler for a signal. Async-signal-safe.
    pub fn handles(&self, signal: u32) -> bool {
        signal_state::contains(self.handled.load(Ordering::SeqCst), signal)
    }

    /// Whether a signal's handler is to run on an alternate stack. Async-signal-safe.
    pub fn has_alternate_stack(&self, signal: u32) -> bool {
        signal_state::contains(self.on_alternate.load(Ordering::SeqCst), signal)
    }

    /// Whether the domain ignores a signal.
    pub fn ignores(&self, signal: u32) -> bool {
        self.signals().is_ignored(signal)
    }

    /// What the thread of this slot is to do now: it is taken, and what its handler blocks is blocked. What has a handler waits, unless it is
    /// `asked` for.
    pub fn next_signal(&self, slot: u32, asked: Asked) -> Option<Next> {
        self.change_signals(|signals| {
            let next = signals.next(slot, asked);
            signals.resume(slot);
            next
        })
    }

    /// What else waits for the thread of this slot has no room now.
    pub fn put_signals_off(&self, slot: u32) {
        self.signals().put_off(slot);
    }

    /// The same of what an instruction of the thread has raised; [`None`]: its call ends.
    pub fn raise(&self, slot: u32, info: Info) -> Option<Handler> {
        self.change_signals(|signals| signals.raise(slot, info))
    }

    /// Whether a system call that a handler with `SA_RESTART` has interrupted begins again. None does whose wait is for so long: it would have
    /// all of its time again, and never end under a timer. (libc's functions work out what is left of theirs.)
    pub fn begins_again(&self, number: u64, arguments: [u64; 6]) -> bool {
        let [first, operation, _, timeout, _, _] = arguments;
        let is_for_so_long = |way| {
            let file = self.descriptor(first as i32).ok();
            file.and_then(|file| file.socket.as_ref().map(|socket| !socket.timeout(way).is_zero()))
                .unwrap_or(false)
        };
        match number as i64 {
            libc::SYS_futex => {
                let command = operation as i32 & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
                command != libc::FUTEX_WAIT || timeout == 0
            }
            libc::SYS_flock | libc::SYS_fcntl => true,
            libc::SYS_recvmmsg => arguments[4] == 0 && !is_for_so_long(Way::In),
            libc::SYS_read
            | libc::SYS_readv
            | libc::SYS_recvfrom
            | libc::SYS_recvmsg
            | libc::SYS_accept
            | libc::SYS_accept4 => !is_for_so_long(Way::In),
            libc::SYS_write
            | libc::SYS_writev
            | libc::SYS_sendto
            | libc::SYS_sendmsg
            | libc::SYS_sendmmsg
            | libc::SYS_connect => !is_for_so_long(Way::Out),
            _ => false,
        }
    }

    /// Whether a system call whose wait was cut short may be made once more, because its caller's time was over and the call goes on elsewhere:
    /// that comes once, so a wait may have all of its time again. None that waits with a mask of its own: it would take that for the one
    /// before.
    pub fn may_be_made_again(&self, number: u64, arguments: [u64; 6]) -> bool {
        match number as i64 {
            libc::SYS_futex
            | libc::SYS_nanosleep
            | libc::SYS_clock_nanosleep
            | libc::SYS_poll
            | libc::SYS_select
            | libc::SYS_epoll_wait
            | libc::SYS_read
            | libc::SYS_readv
            | libc::SYS_recvfrom
            | libc::SYS_recvmsg
            | libc::SYS_accept
            | libc::SYS_accept4
            | libc::SYS_write
            | libc::SYS_writev
            | libc::SYS_sendto
            | libc::SYS_sendmsg
            | libc::SYS_flock => true,
            libc::SYS_ppoll => arguments[3] == 0,
            libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => arguments[4] == 0,
            libc::SYS_pselect6 => arguments[5] == 0,
            _ => false,
        }
    }

    /// The mask of the thread of this slot.
    pub fn signal_mask(&self, slot: u32) -> u64 {
        self.signals().mask(slot)
    }

    /// Changes it.
    pub fn set_signal_mask(&self, slot: u32, mask: u64) {
        self.signals().set_mask(slot, mask);
    }

    /// A thread that the domain started has ended: wakes those that wait for that.
    pub fn thread_ended(&self, memory: &dyn Memory, start: ThreadStart) {
        self.clear_word(memory, start.clear);
    }

    /// The thread of this slot ends by `exit`: the same of the word that it has named itself.
    pub(super) fn thread_exits(&self, memory: &dyn Memory, slot: u32) {
        let word = locked(&self.clear).remove(&slot);
        if let Some(word) = word {
            self.clear_word(memory, word);
        }
    }

    fn clear_word(&self, memory: &dyn Memory, word: u64) {
        // Where it is gone, no thread waits for it.
        if memory.write(word, &[0; 4]).is_ok() {
            let _ = self.waits.wake(word & (window::SIZE - 1), Waits::ANY, 1, None, || Ok(()));
            memory.wake_shared(word);
        }
    }

    /// The thread of this slot writes this to the domain's standard error, whether it has one or not.
    pub(super) fn hear(&self, slot: u32, bytes: &[u8]) {
        self.last_words(slot, |last| last.hear(bytes));
    }

    /// Changes what the thread of this slot has said last.
    pub(super) fn last_words(&self, slot: u32, change: impl FnOnce(&mut LastWords)) {
        change(locked(&self.said).entry(slot).or_default());
    }

    /// Drops what a [quick](crate::quick) call has left.
    pub fn reap(&self, left: Left) {
        self.lookup.reap(left);
    }

    /// Why the thread of this slot called `abort`, as far as it said, fit for a terminal and to stand behind that. It is asked for once, whatever
    /// has ended the call: the next one that ends has its own words.
    pub fn take_last_words(&self, slot: u32) -> Option<String> {
        locked(&self.said).remove(&slot)?.reason()
    }

    /// System calls that were answered with `ENOSYS`: number and how often, by number. Those from [`COUNTED_TOGETHER`] on count as that.
    pub fn refused(&self) -> Vec<(u64, u64)> {
        locked(&self.refused).iter().map(|(number, count)| (*number, *count)).collect()
    }

    pub(super) fn count_refused(&self, number: u64) {
        let mut refused = locked(&self.refused);
        *refused.entry(number.min(COUNTED_TOGETHER)).or_default() += 1;
    }

    /// What the domain tried that was not granted, such as `connect to 10.0.0.1:80`, and how often. Of many things the first are told apart.
    pub fn denied(&self) -> Vec<(String, u64)> {
        locked(&self.denied).iter().map(|(what, count)| (what.clone(), *count)).collect()
    }

    pub(super) fn count_denied(&self, what: String) {
        let mut denied = locked(&self.denied);
        let is_new = !denied.contains_key(&what);
        let what = if is_new && denied.len() >= MOST_DENIED { MORE_DENIED.to_owned() } else { what };
        *denied.entry(what).or_default() += 1;
    }

    /// A number, and room for what will have it.
    ///
    /// # Errors
    /// `EMFILE`.
    pub(super) fn reserve(&self) -> Result<Reserved<'_>, Errno> {
        Reserved::new(&self.descriptors)
    }

    /// Room for one of the host's descriptors that has no number.
    ///
    /// # Errors
    /// `EMFILE`.
    pub(super) fn place(&self) -> Result<Place, Errno> {
        locked(&self.descriptors).take_place()
    }

    /// What `number` names, if it is open and not just named.
    ///
    /// # Errors
    /// `EBADF`.
    pub(super) fn descriptor(&self, number: i32) -> Result<Arc<Description>, Errno> {
        self.handle(number).and_then(|handle| if handle.path_only { Err(Errno::BADF) } else { Ok(handle) })
    }

    /// The same of one that was opened with `O_PATH`, too: for what asks which file it is, or begins a path there.
    ///
    /// # Errors
    /// `EBADF`.
    pub(super) fn handle(&self, number: i32) -> Result<Arc<Description>, Errno> {
        locked(&self.descriptors).get(number)
    }
}

impl WaitingSignals for Process {
    fn wake(&self, slot: u32) -> bool {
        self.wakes(slot)
    }
}
