//! Time limits, kills, stops and CPU time: a watcher that reads each thread's records from time to time, so that calls pay
//! nothing.
//!
//! It runs while a domain with a time limit or a meter exists, after a kill until no thread is in the killed domain, while
//! a call is being stopped or a thread is to ask its host's stop predicate ([`interrupt`]), while functions that were taken from a domain
//! may be in use, and while a signal of a domain's own waits, or a timer of its is due, that no thread was there for. While a domain has a timer
//! that goes by CPU time it looks how much of that its threads use. An entry under a limit shows its sequence number and limit in its record; one that shows the same
//! number for longer than its limit is kicked with a signal until it has ended.
//!
//! Its locks: `INTERESTED`; `THREADS`, and `SEEN` under that. Neither of the two is taken under `INTERESTED`, nor that under them. No function of
//! [`Domains`] is called under any of the three. One lock of others' is taken under `INTERESTED`: that of a process's signals, by
//! [`look_at_timers`]. So nothing here is called by who holds it. Who closes a domain tells of it with the lock of those that are closed, which
//! is never taken under one of these.
use super::eventcount::{self, Eventcount};
use super::exclusive_sys;
use super::instance::Instance;
use super::mask_sys;
use super::meter::{Meter, Samples, Spent};
use super::signals_sys;
use super::thread_sys::{EPOCH, OVERDUE, SeenEntry, ThreadState, current, listed};
use crate::host::{self, PerProcess, end_process, locked, peek, process, still};
use crate::space;
use lockgate_syscall::Process;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

/// How late the start of a call may be seen.
const POLL: Duration = Duration::from_millis(3);
/// Interval of kicks to a call that is overdue. (One kick is not enough: it may find the thread in the host's code, and do nothing. More often,
/// signals would hold up what the host's code does.)
const INSIST: Duration = Duration::from_millis(1);

/// Time between two looks at least: a limit that is due in a moment does not have the watcher look without a pause.
const LEAST: Duration = Duration::from_micros(250);

/// How long a call that a domain has made in another may go on when the first is killed: the other has done nothing wrong, and is not to be
/// left in the middle of what it does; but the kill is not to wait for it for ever.
const VISIT: Duration = Duration::from_secs(1);

/// How often domains that no thread is in are asked whether their signals wait still. (There may be many, and being asked takes their locks.)
const SELDOM: Duration = Duration::from_millis(20);

static INTERESTED: PerProcess<Mutex<Interested>> = PerProcess::new(Mutex::default);
static EVENTCOUNT: Eventcount = Eventcount::new();
/// The watcher has seen that no thread is in some of what was ended.
static LOOKED: Condvar = Condvar::new();
/// Some thread is to ask its host's stop predicate.
static ASKED: AtomicBool = AtomicBool::new(false);
/// When limited entries were first seen.
static SEEN: PerProcess<Mutex<Seen>> = PerProcess::new(Mutex::default);

/// What the watcher has domains do.
pub(crate) struct Domains {
    /// Ends those of the domains at these bases that no thread is in.
    pub reclaim: fn(&[u64]),
    /// Lets go of functions that no thread can hold any more. False if some are left.
    pub release_leftovers: fn() -> bool,
    /// Ends the domain whose meter this is: it has used up its CPU time.
    pub end_for_cpu_time: fn(&Meter),
    /// Lets threads that are blocked in the domain with this number look whether they were stopped.
    pub interrupt_waits: fn(u32),
    /// Has the timers of the domain with this number send what is due; its base, if there is anything to tell, and when the next is due.
    pub look_at_timers: fn(u32) -> (Option<u64>, Option<Due>),
    /// Tells the domain with this number what calls in it have used, by their control addresses, of the processors since then. Whether it has
    /// timers that go by that.
    pub count_time: fn(u32, Instant, &[(u64, Duration)]) -> bool,
    /// Whether signals wait for the domain with this number.
    pub has_signals: fn(u32) -> bool,
    /// Whether one waits there that the thread does not block whose call began at this control address.
    pub wakes: fn(u32, u64) -> bool,
}

/// When the first timer of a domain is due, and when it is looked at: later, if no thread is in the domain, but as soon as one is found there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Due {
    pub at: Instant,
    pub look: Instant,
}

static DOMAINS: OnceLock<Domains> = OnceLock::new();

/// Says what domains do. Before the first of them is made.
pub(crate) fn serve(domains: Domains) {
    if DOMAINS.get().is_none() {
        // A child must not find it half set, by a thread that it does not have.
        let _still = still();
        let _ = DOMAINS.set(domains);
    }
}

fn domains() -> &'static Domains {
    DOMAINS.get().expect("the watcher is started for a domain")
}

#[derive(Default)]
struct Interested {
    /// Domains with a time limit.
    limited: usize,
    /// Calls that are being stopped.
    stopping: usize,
    /// Domains whose CPU time is measured.
    meters: Vec<Arc<Meter>>,
    /// Timers of domains, by their numbers.
    timers: HashMap<u32, Due>,
    /// Numbers of domains that have timers of CPU time.
    counted: HashSet<u32>,
    /// Numbers of domains for which signals may wait: threads that come into these are told of them.
    signalled: HashSet<u32>,
    /// What threads must leave, and may still be in.
    killed: Vec<Retired>,
    /// Functions that were taken from domains wait until no thread can hold them.
    leftovers: bool,
    started: bool,
}

impl Interested {
    fn may_be_in(&self, headers: &[usize]) -> bool {
        self.killed.iter().any(|one| matches!(one, Retired::Binding(header, ..) if headers.contains(header)))
    }

    fn wake(&mut self) -> std::io::Result<()> {
        if !self.started {
            let watcher = std::thread::Builder::new().name("lockgate-watch".to_owned());
            signals_sys::starting_a_thread(|| watcher.spawn(watch))?;
            self.started = true;
        }
        EVENTCOUNT.ring();
        Ok(())
    }

    fn is_idle(&self) -> bool {
        let nothing = self.limited == 0 && self.stopping == 0 && !self.leftovers;
        let nothing = nothing && !ASKED.load(Ordering::Acquire);
        let nothing = nothing && self.meters.is_empty() && self.killed.is_empty();
        nothing && !self.waits_for_threads(Instant::now())
    }

    /// Whether anything waits for threads to come into domains.
    fn waits_for_threads(&self, now: Instant) -> bool {
        !self.signalled.is_empty() || self.timers.values().any(|due| due.at <= now)
    }
}

fn interested() -> MutexGuard<'static, Interested> {
    locked(&INTERESTED)
}

fn seen() -> MutexGuard<'static, Seen> {
    locked(&SEEN)
}

/// What was ended from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Retired {
    /// The domain in this stride, since this epoch and this time.
    Domain(u64, u64, Instant),
    /// The binding whose header is at this address, since this epoch and this time.
    Binding(usize, u64, Instant),
}

impl Retired {
    fn holds(self, entry: &SeenEntry) -> bool {
        match self {
            Retired::Domain(base, ..) => space::base_of(entry.control) == base,
            Retired::Binding(header, ..) => entry.binding == header,
        }
    }

    /// The base of the domain that was ended.
    fn domain(self) -> Option<u64> {
        match self {
            Retired::Domain(base, ..) => Some(base),
            Retired::Binding(..) => None,
        }
    }

    /// The base of the domain, or the address of the binding's header, if what has been called from there has had its time `now`.
    fn outlived(self, now: Instant) -> Option<u64> {
        let (what, since) = match self {
            Retired::Domain(base, _, since) => (base, since),
            Retired::Binding(header, _, since) => (header as u64, since),
        };
        (now - since >= VISIT).then_some(what)
    }

    fn epoch(self) -> u64 {
        let (Retired::Domain(_, epoch, _) | Retired::Binding(_, epoch, _)) = self;
        epoch
    }
}

/// Keeps the watcher awake for a domain.
pub(crate) struct Interest {
    limited: bool,
    meter: Option<Arc<Meter>>,
    process: u64,
}

impl Interest {
    /// Wakes the watcher; starts it the first time, also if threads will be interrupted: [`ring`] cannot.
    ///
    /// # Errors
    /// The system's, if it gives no thread.
    pub fn new(limited: bool, meter: Option<Arc<Meter>>, interrupts: bool) -> std::io::Result<Interest> {
        let mut interested = interested();
        if limited || meter.is_some() || interrupts {
            interested.wake()?;
        }
        interested.limited += usize::from(limited);
        interested.meters.extend(meter.clone());
        Ok(Interest { limited, meter, process: process() })
    }

    /// What the domain has used of the processors, if that is measured.
    pub fn meter(&self) -> Option<&Meter> {
        self.meter.as_deref()
    }
}

impl Drop for Interest {
    fn drop(&mut self) {
        if self.process != peek() {
            return;
        }
        let mut interested = interested();
        interested.limited -= usize::from(self.limited);
        if let Some(own) = &self.meter {
            interested.meters.retain(|meter| !Arc::ptr_eq(meter, own));
        }
    }
}

/// Keeps the watcher awake while the call in progress on a thread is being stopped: it asks the thread again and again, since one
/// look may find it in the middle of a proxy.
pub(crate) struct Stopping(u64);

impl Stopping {
    pub fn new() -> Stopping {
        let mut interested = interested();
        interested.stopping += 1;
        // Without a watcher there are only the looks that the thread takes by itself.
        let _ = interested.wake();
        Stopping(process())
    }
}

impl Drop for Stopping {
    fn drop(&mut self) {
        if self.0 == peek() {
            interested().stopping -= 1;
        }
    }
}

/// Asks every attached thread to look at its state: the domain at `base` was killed. One look may find a thread in the
/// middle of a proxy, where it cannot be stopped, so the watcher asks again until the domain is empty.
pub(crate) fn tell_of_kill(base: u64) {
    tell(|number| Retired::Domain(base, number, Instant::now()));
}

/// The same for calls of the binding whose header is at `header`.
pub(crate) fn tell_of_stop(header: usize) {
    tell(|number| Retired::Binding(header, number, Instant::now()));
}

/// No thread is in the domain at `base` any more, nor can one get in: a thread that is found there from now on is in another one, or in what a reset has
/// made of it.
pub(crate) fn forget_kill(base: u64) {
    interested().killed.retain(|one| one.domain() != Some(base));
    forget_outlived(base);
}

/// The same for the binding whose header is at `header`, which has gone.
pub(crate) fn forget_stop(header: usize) {
    interested().killed.retain(|one| !matches!(one, Retired::Binding(known, ..) if *known == header));
    forget_outlived(header as u64);
}

/// What is there next, and is ended, has not had its time.
fn forget_outlived(what: u64) {
    for thread in listed().iter() {
        let _ = thread.outlived.compare_exchange(what, 0, Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// Whether threads may be in calls of one of the bindings with these headers, which were stopped, or in proxies on their way there.
pub(crate) fn may_be_in(headers: &[usize]) -> bool {
    interested().may_be_in(headers)
}

/// Waits until none is, but no longer than `timeout`; not at all if the calling thread is.
pub(crate) fn until_out_of(headers: &[usize], timeout: Duration) {
    if current().is_some_and(|state| state.entries().iter().any(|entry| headers.contains(&entry.binding))) {
        return;
    }
    drop(LOOKED.wait_timeout_while(interested(), timeout, |interested| interested.may_be_in(headers)));
}

/// Functions wait to be let go of: the watcher tries again and again.
pub(crate) fn tell_of_leftovers() {
    let mut interested = interested();
    interested.leftovers = true;
    // Without a watcher they wait for the domain's end.
    let _ = interested.wake();
}

/// Has every thread in the domain at `base` look at the domain's signals, again and again until it has; and threads that come into it while some
/// wait there.
pub(crate) fn tell_of_signal(base: u64) {
    let mut interested = interested();
    interested.signalled.insert(space::index_of(base));
    // Without a watcher, the one kick below must do.
    let _ = interested.wake();
    drop(interested);
    let threads = listed();
    let is_inside =
        |thread: &ThreadState| thread.entries().iter().any(|entry| space::base_of(entry.control) == base);
    let own = current().map(|state| state.tid);
    for thread in threads.iter().filter(|thread| Some(thread.tid) != own && is_inside(thread)) {
        thread.signalled.store(true, Ordering::SeqCst);
        // (In code of others' no handler can begin: however often signals are sent, they hold up the domain's own code alone. What waits for
        // one domain on the thread puts off no other's.)
        if thread.is_in(base) {
            thread.told.fetch_add(1, Ordering::SeqCst);
            if !thread.is_with_host() {
                signals_sys::kick(thread);
            }
        }
    }
    drop(threads);
    ring();
}

/// The calling thread is to look at signals of its domains' once more. Async-signal-safe.
pub(super) fn looks_again(thread: &ThreadState) {
    thread.signalled.store(true, Ordering::SeqCst);
    ring();
}

/// The timers of the domain with this number have changed. It is asked here when the first one is due: of two threads that change timers, the one
/// that comes last says what both have left.
pub(super) fn look_at_timers(id: u32, process: &Process) {
    let mut interested = interested();
    if process.counts_time() {
        if interested.counted.insert(id) {
            let _ = interested.wake();
        }
    } else {
        interested.counted.remove(&id);
    }
    match process.next_timer() {
        Some(at) => {
            interested.timers.insert(id, Due { at, look: at });
            // Without a watcher no timer is looked at.
            let _ = interested.wake();
        }
        None => {
            interested.timers.remove(&id);
        }
    }
}

/// Looks at timers that are due. Returns when the next one is.
fn timers() -> Option<Instant> {
    let now = Instant::now();
    let due: Vec<u32> = {
        let interested = interested();
        interested.timers.iter().filter(|(_, due)| due.look <= now).map(|(&id, _)| id).collect()
    };
    for id in due {
        send_what_is_due(id);
    }
    interested().timers.values().map(|due| if due.at <= now { due.look } else { due.at }).min()
}

/// Has the timers of the domain with this number send what is due. Whether there was anything.
fn send_what_is_due(id: u32) -> bool {
    // (A call that sets a timer meanwhile says so later.)
    interested().timers.remove(&id);
    let (tells, next) = (domains().look_at_timers)(id);
    if let Some(next) = next {
        interested().timers.entry(id).or_insert(next);
    }
    if let Some(base) = tells {
        tell_of_signal(base);
    }
    tells.is_some()
}

/// Tells domains with timers of CPU time what they have used. Whether one of these was due.
fn count_time(counted: &HashSet<u32>, spent: &Spent) -> bool {
    let mut sent = false;
    let Some(since) = spent.since else { return sent };
    for &id in counted {
        let its = spent.by.get(&id).map_or(&[][..], Vec::as_slice);
        // (A call that sets a timer meanwhile says so later.)
        interested().counted.remove(&id);
        if (domains().count_time)(id, since, its) {
            interested().counted.insert(id);
        }
        sent |= !its.is_empty() && send_what_is_due(id);
    }
    sent
}

/// Has threads that are in domains look at signals that came before they did, and at timers that were due: a call does not ask when it begins.
fn remind() {
    if !interested().waits_for_threads(Instant::now()) {
        return;
    }
    let inside: Vec<(i32, u64)> = {
        let threads = listed();
        // (Who has been told is kicked until it has looked.)
        let untold = threads.iter().filter(|thread| !thread.signalled.load(Ordering::SeqCst));
        untold.filter_map(|thread| Some((thread.tid, thread.entries().last()?.control))).collect()
    };
    let id = |control: u64| space::index_of(space::base_of(control));
    let mut waits = Vec::new();
    {
        let mut interested = interested();
        for (tid, control) in inside {
            if let Some(due) = interested.timers.get_mut(&id(control)) {
                due.look = due.at;
            }
            if interested.signalled.contains(&id(control)) {
                waits.push((tid, control));
            }
        }
    }
    // (A domain's own locks: none of ours is held.)
    waits.retain(|(_, control)| (domains().wakes)(id(*control), *control));
    let threads = listed();
    for (tid, control) in waits {
        let is_there =
            |thread: &&Arc<ThreadState>| thread.tid == tid && thread.is_in(space::base_of(control));
        if let Some(thread) = threads.iter().find(is_there) {
            thread.told.fetch_add(1, Ordering::SeqCst);
            thread.signalled.store(true, Ordering::SeqCst);
        }
    }
}

/// Forgets domains for which no signal waits any more.
fn forget_signals() {
    let known: Vec<u32> = interested().signalled.iter().copied().collect();
    for id in known {
        // (In this order: who sends one meanwhile says so after it waits.)
        interested().signalled.remove(&id);
        if (domains().has_signals)(id) {
            interested().signalled.insert(id);
        }
    }
}

fn tell(retired: impl FnOnce(u64) -> Retired) {
    let mut interested = interested();
    let epoch = EPOCH.fetch_add(1, Ordering::AcqRel) + 1;
    interested.killed.push(retired(epoch));
    // Without a watcher, the one kick below must do.
    let _ = interested.wake();
    drop(interested);
    for thread in listed().iter() {
        signals_sys::kick(thread);
    }
}

impl Instance {
    /// Ends the domain: it has used up its CPU time.
    pub fn spend(&self) {
        self.note_spent();
        if !self.is_killed() {
            self.kill();
        }
    }

    /// Ends all calls in progress and refuses new ones.
    pub fn kill(&self) {
        // (All threads are told once: a host may kill what is dead as often as it likes.)
        if self.is_inherited() || !self.close() {
            return;
        }
        tell_of_kill(self.base());
        // Who waits for a turn is in no call of the domain's, and learns it now.
        exclusive_sys::wake_all(self.owner());
    }
}

/// Has the watcher look after threads that are to look themselves. Async-signal-safe.
fn ring() {
    ASKED.store(true, Ordering::Release);
    EVENTCOUNT.ring();
}

/// When a limited entry began, at most [`POLL`] after the truth; `None` if it has not been seen yet.
fn began(tid: i32, sequence: u32) -> Option<Instant> {
    seen().get(&(tid, sequence)).copied()
}

/// When the first of the calling thread's time limits ends, and whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Deadline {
    pub at: Instant,
    /// The entry's sequence number.
    pub sequence: u32,
    /// Its limit, milliseconds.
    pub limit: u32,
}

/// The first deadline of the calling thread's entries in progress.
pub(crate) fn deadline() -> Option<Deadline> {
    let state = current()?;
    let of = |(sequence, limit): (u32, u32)| {
        // An entry that the watcher has not seen yet has just begun.
        let began = began(state.tid, sequence).unwrap_or_else(Instant::now);
        Deadline { at: began + Duration::from_millis(limit.into()), sequence, limit }
    };
    let entries = state.entries().into_iter().filter(|entry| !entry.is_left);
    entries.filter_map(|entry| entry.limit.map(of)).min()
}

/// Has the domain whose call is innermost on the calling thread ask its stop predicate ([`DomainOptions::stop_if`](crate::DomainOptions::stop_if)):
/// within a millisecond or so the call ends, if the answer is yes by then. A call that begins meanwhile asks, too. Nothing happens on a
/// thread that has called no domain.
///
/// Async-signal-safe: it is made for handlers of signals by which a host is told to give up what it does.
pub fn interrupt() {
    if let Some(state) = current() {
        state.look.store(true, Ordering::Release);
        ring();
    }
}

/// A limited entry: thread and sequence number, and when it was first seen.
type Seen = HashMap<(i32, u32), Instant>;

/// Ends the process when the watcher ends: no limit and no kill would hold from then on.
struct Watched;

impl Drop for Watched {
    fn drop(&mut self) {
        end_process(format_args!("the thread that ends calls has failed"));
    }
}

fn watch() {
    let _ends = Watched;
    // (Blocks of threads that have ended behind our back.)
    mask_sys::let_faults();
    host::wakes_in_time();
    let mut samples = Samples::default();
    let mut kicks = Kicks::new();
    let mut cleared = Instant::now();
    // Threads have run in a domain with timers of CPU time.
    let mut runs = false;
    loop {
        let mut interested = interested();
        let mut heard = EVENTCOUNT.rings();
        while interested.is_idle() && !runs {
            let counts = !interested.counted.is_empty();
            drop(interested);
            if !counts {
                samples.forget();
            }
            kicks.clear();
            let mut due = timers();
            if counts {
                let seldom = Instant::now() + SELDOM;
                due = Some(due.map_or(seldom, |due| due.min(seldom)));
            }
            if !ASKED.load(Ordering::Acquire) {
                EVENTCOUNT.wait(heard, due);
            }
            interested = self::interested();
            heard = EVENTCOUNT.rings();
            if counts || interested.timers.values().any(|due| due.look <= Instant::now()) {
                break;
            }
        }
        let leftovers = std::mem::take(&mut interested.leftovers);
        let (killed, meters) = (interested.killed.clone(), interested.meters.clone());
        let counted = interested.counted.clone();
        drop(interested);
        let asked = ASKED.swap(false, Ordering::AcqRel);
        if cleared.elapsed() >= SELDOM {
            forget_signals();
            cleared = Instant::now();
        }
        remind();
        let due = timers();
        let mut found = look(&killed, &meters, &counted, &mut samples, &mut kicks);
        runs = found.spent.runs;
        if count_time(&counted, &found.spent) {
            found.pause = INSIST;
        }
        if asked && found.unanswered {
            ASKED.store(true, Ordering::Release);
        }
        if !killed.is_empty() {
            let mut interested = self::interested();
            // Those that were killed meanwhile stay for the next look.
            interested.killed.retain(|one| found.inhabited.contains(one) || !killed.contains(one));
            let bases: Vec<u64> = interested.killed.iter().filter_map(|one| one.domain()).collect();
            drop(interested);
            LOOKED.notify_all();
            (domains().reclaim)(&bases);
        }
        if leftovers && !(domains().release_leftovers)() {
            self::interested().leftovers = true;
        }
        for meter in meters.iter().filter(|meter| meter.ends()) {
            (domains().end_for_cpu_time)(meter);
        }
        found.stopped.into_iter().for_each(domains().interrupt_waits);
        let left = due.map(|due| due.saturating_duration_since(Instant::now()));
        // (However often a module's timers are due.)
        eventcount::pause(left.map_or(found.pause, |left| left.max(LEAST).min(found.pause)));
    }
}

/// Why a thread is kicked.
#[derive(Clone, Copy, Default)]
struct Reasons {
    overdue: bool,
    stop: bool,
    look: bool,
    killed: bool,
    /// A call is in progress that was made from one which was to end [`VISIT`] ago.
    outlived: bool,
    /// A signal of a domain's own waits, as long as the domain likes.
    signalled: bool,
}

impl Reasons {
    fn all(self) -> [bool; 6] {
        [self.overdue, self.stop, self.look, self.killed, self.outlived, self.signalled]
    }

    fn any(self) -> bool {
        self.all().contains(&true)
    }

    /// Whether there is one that was not there `before`.
    fn more_than(self, before: Reasons) -> bool {
        self.all().iter().zip(before.all()).any(|(now, before)| *now && !before)
    }
}

/// Where a thread stands that has been kicked, why, and how often it has been there.
struct Kicked {
    at: (usize, u64),
    /// How often it was told of signals there.
    told: u32,
    reasons: Reasons,
    since: Instant,
    times: u32,
    next: Instant,
}

/// What threads are kicked, by kernel id.
type Kicks = HashMap<i32, Kicked>;

/// Kicks at one place before they become rarer. One that finds a thread in a proxy or a gate comes to nothing, but not so many.
const MANY: u32 = 16;

impl Kicked {
    /// True if it is time for a kick of a thread. Where it has not moved since many, it is in a function of the host's, whose gate will
    /// ask, or has left the call by a jump, and waits for something that each of them interrupts: the next one comes when it has been
    /// there for twice as long. One that has found the thread where a signal's handler cannot begin yet is not counted: the next instruction may
    /// be another. Nor is one that has found a handler of the host's, where none can wait until that one returns: where handlers follow each other
    /// all the time, it takes many until one comes between them. A new reason begins anew, and so does a new signal
    /// for the domain whose code runs: kicks for what waits for others come to nothing there.
    fn is_due(
        kicks: &mut Kicks,
        thread: i32,
        (at, told): ((usize, u64), u32),
        is_uncounted: bool,
        reasons: Reasons,
        now: Instant,
    ) -> bool {
        let new = || Kicked { at, told, reasons, since: now, times: 0, next: now };
        let known = kicks.entry(thread).or_insert_with(new);
        if known.at != at || known.told != told || reasons.more_than(known.reasons) {
            *known = new();
        }
        known.reasons = reasons;
        if is_uncounted {
            return true;
        }
        if now < known.next {
            return false;
        }
        known.times += 1;
        if known.times > MANY {
            known.next = now + (now - known.since);
        }
        true
    }
}

/// What came of a look.
struct Found {
    /// Time until the next one.
    pause: Duration,
    /// What of the retired threads are in, or may be.
    inhabited: Vec<Retired>,
    /// Numbers of domains in which calls are to be stopped, and may be asleep.
    stopped: Vec<u32>,
    /// A thread has yet to ask its host's stop predicate.
    unanswered: bool,
    /// What was used of the processors in domains that count it.
    spent: Spent,
}

/// Looks at every thread once.
fn look(
    killed: &[Retired],
    meters: &[Arc<Meter>],
    counted: &HashSet<u32>,
    samples: &mut Samples,
    kicks: &mut Kicks,
) -> Found {
    let threads = listed();
    let mut seen = seen();
    let now = Instant::now();
    let mut found = Found {
        pause: POLL,
        inhabited: Vec::new(),
        stopped: Vec::new(),
        unanswered: false,
        spent: Spent::default(),
    };
    let mut present = Seen::new();
    let base = |entry: &SeenEntry| space::base_of(entry.control);
    for thread in threads.iter() {
        let entries = thread.entries();
        // A thread that has not looked yet may be in a proxy, past the admission, with no record to show for it.
        let looked = thread.looked.load(Ordering::Acquire);
        let in_killed = killed
            .iter()
            .copied()
            .filter(|one| looked < one.epoch() || entries.iter().any(|entry| one.holds(entry)));
        let before = found.inhabited.len();
        found.inhabited.extend(in_killed);
        // The outermost that is found ends the others.
        let ends = |entry: &SeenEntry| {
            let of_it = killed.iter().filter(|one| !entry.is_left && one.holds(entry));
            of_it.filter_map(|one| one.outlived(now)).next()
        };
        let outlived = entries.iter().find_map(ends);
        if let Some(outlived) = outlived {
            thread.outlived.store(outlived, Ordering::Release);
        }
        let limits = entries.iter().filter_map(|entry| Some((entry.limit?, entry.is_left)));
        let overdue = limits.fold(None, |overdue, ((sequence, limit), is_left)| {
            let since = *seen.get(&(thread.tid, sequence)).unwrap_or(&now);
            present.insert((thread.tid, sequence), since);
            if is_left {
                return overdue;
            }
            let left = Duration::from_millis(limit.into()).saturating_sub(now - since);
            found.pause = found.pause.min(left.max(INSIST));
            // The outermost of those that are overdue ends the others.
            overdue.or(left.is_zero().then_some(sequence))
        });
        if let Some(sequence) = overdue {
            thread.overdue.store(OVERDUE | u64::from(sequence), Ordering::Release);
        }
        if entries.is_empty() {
            // What waits for a domain's threads waits for the next call.
            thread.signalled.store(false, Ordering::SeqCst);
        }
        let signalled = thread.signalled.load(Ordering::SeqCst);
        let reasons = Reasons {
            overdue: overdue.is_some(),
            stop: thread.stop.load(Ordering::Acquire),
            look: thread.look.load(Ordering::Acquire),
            killed: found.inhabited.len() > before,
            outlived: outlived.is_some(),
            // (In a function of the host's there is no handler to begin: what waits there would only end by EINTR.)
            signalled: signalled && !thread.is_with_host(),
        };
        found.unanswered |= reasons.look || signalled;
        if reasons.stop || reasons.look || reasons.outlived || reasons.signalled {
            found.stopped.extend(entries.iter().map(|entry| crate::space::index_of(base(entry))));
        }
        if reasons.any() {
            let is_uncounted = thread.unready.swap(false, Ordering::AcqRel);
            let stands = (thread.stands(), thread.told.load(Ordering::SeqCst));
            if Kicked::is_due(kicks, thread.tid, stands, is_uncounted, reasons, now) {
                signals_sys::kick(thread);
            }
            found.pause = INSIST;
        } else {
            kicks.remove(&thread.tid);
        }
    }
    *seen = present;
    if !meters.is_empty() || !counted.is_empty() {
        found.spent = samples.take(&threads, meters, counted);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A domain whose signal cannot begin has a thread kicked for as long as it likes; red if that makes the kick rarer which its limit asks for.
    #[test]
    fn a_new_reason_is_no_rarer_for_those_before() {
        let (mut kicks, begun) = (Kicks::new(), Instant::now());
        let mut is_due = |milliseconds: u64, reasons: Reasons| {
            let now = begun + Duration::from_millis(milliseconds);
            Kicked::is_due(&mut kicks, 1, ((1, 1), 1), false, reasons, now)
        };
        let signalled = Reasons { signalled: true, ..Reasons::default() };
        let kicked = (0..10_000).filter(|now| is_due(*now, signalled)).count();
        assert!((MANY as usize..100).contains(&kicked), "{kicked} kicks in ten seconds");
        for reasons in [
            Reasons { overdue: true, ..signalled },
            Reasons { look: true, ..signalled },
            Reasons { overdue: true, stop: true, ..signalled },
            Reasons { overdue: true, killed: true, ..Reasons::default() },
            Reasons { overdue: true, killed: true, outlived: true, ..Reasons::default() },
        ] {
            // Long before it would be for the signal alone, and once more as often.
            let due: Vec<bool> = (10_000..10_010).map(|now| is_due(now, reasons)).collect();
            assert!(due.iter().all(|due| *due), "{due:?}");
        }
    }

    /// What waits for a domain whose code does not run puts off no signal of the one whose code does, and none that waits for room. Red if a
    /// new signal, or a kick that has found where no handler can begin yet, is one more that came to nothing.
    #[test]
    fn a_new_signal_is_no_rarer_for_those_before() {
        let (mut kicks, begun) = (Kicks::new(), Instant::now());
        let mut is_due = |milliseconds: u64, told: u32, is_unready: bool| {
            let now = begun + Duration::from_millis(milliseconds);
            let signalled = Reasons { signalled: true, ..Reasons::default() };
            Kicked::is_due(&mut kicks, 1, ((1, 1), told), is_unready, signalled, now)
        };
        let kicked = (0..10_000).filter(|now| is_due(*now, 1, false)).count();
        assert!((MANY as usize..100).contains(&kicked), "{kicked} kicks in ten seconds");
        assert!((10_000..10_010).all(|now| is_due(now, 2, false)));
        assert!((10_010..20_000).all(|now| is_due(now, 2, true)));
    }
}
