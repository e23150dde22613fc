//! Timers of one domain, that send it signals: `setitimer`, `alarm`, `timer_create`. The runtime looks at them when the first one is due.
use rustix::io::Errno;
use rustix::time::ClockId;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Most that `timer_create` makes for one domain.
const MOST: usize = 32;

/// What is sent, and to which thread, or to the domain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sends {
    pub(super) signal: u32,
    pub(super) to: Option<u32>,
    pub(super) value: u64,
}

/// Which timer: that of `setitimer` with this number, or one that was made, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Interval(usize),
    Made(u32),
}

/// By what a timer goes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Clock {
    /// One that goes by itself.
    Wall(ClockId),
    /// The CPU time of a thread, by its slot, or of all.
    Cpu(Option<u32>),
}

/// One timer. As in Linux it has one signal that waits, at most: from when it was due until that is taken it is not due again, and then tells how
/// often it would have been.
#[derive(Debug, Clone, Copy)]
struct Timer {
    clock: Clock,
    /// What a clock of CPU time shows: it goes on where [`count`](Timer::count) says so.
    counted: Instant,
    /// When it was set last.
    since: Instant,
    /// Nothing is sent with [`None`].
    sends: Option<Sends>,
    /// Where it has an interval, and its signal waits, the time for which that was sent.
    due: Option<Instant>,
    interval: Duration,
    /// Its signal waits; or it has an interval, and the signal came to nothing because it is ignored.
    waits: bool,
    /// How often it was due before the signal that was taken last, but for the first time.
    overrun: u32,
}

/// Time that is left, and the interval.
pub(super) type Setting = (Duration, Duration);

impl Timer {
    fn new(clock: Clock, sends: Option<Sends>) -> Timer {
        let now = Instant::now();
        let interval = Duration::ZERO;
        Timer { clock, counted: now, since: now, sends, due: None, interval, waits: false, overrun: 0 }
    }

    /// What its clock shows.
    fn now(&self) -> Instant {
        match self.clock {
            Clock::Wall(_) => Instant::now(),
            Clock::Cpu(_) => self.counted,
        }
    }

    /// Whether it is set, and its clock has to go on for that.
    fn counts(&self) -> bool {
        matches!(self.clock, Clock::Cpu(_))
            && self.due.is_some_and(|due| due > self.counted || !self.interval.is_zero())
    }

    /// Threads have run for so long since `since`. (It was set meanwhile: how much of that came before is unknown.)
    fn count(&mut self, since: Instant, spent: &[(u32, Duration)]) {
        let Clock::Cpu(whose) = self.clock else { return };
        if since >= self.since {
            let its = spent.iter().filter(|(thread, _)| whose.is_none_or(|whose| whose == *thread));
            self.counted += its.map(|(_, spent)| *spent).sum::<Duration>();
        }
    }

    /// How often it has been due since `due`, and when it is next.
    fn forward(&self, due: Instant, now: Instant) -> (u32, Option<Instant>) {
        let passed = now.saturating_duration_since(due);
        let missed = (passed.as_nanos() / self.interval.as_nanos()).min(i32::MAX as u128) as u32;
        let behind = self.interval.checked_mul(missed + 1).and_then(|all| due.checked_add(all));
        (missed, behind.or_else(|| now.checked_add(self.interval)))
    }

    fn setting(&self) -> Setting {
        let now = self.now();
        let is_late = |due: &Instant| *due <= now && (self.waits || self.sends.is_none());
        let next = match self.due {
            Some(due) if is_late(&due) && self.interval.is_zero() => None,
            Some(due) if is_late(&due) => self.forward(due, now).1,
            due => due,
        };
        // (A timer that has yet to be looked after has something left.)
        let left = next.map(|next| next.saturating_duration_since(now).max(Duration::from_nanos(1)));
        (left.unwrap_or_default(), self.interval)
    }

    fn set(&mut self, (left, interval): Setting) {
        // A time too far to express never comes.
        self.due = if left.is_zero() { None } else { self.now().checked_add(left) };
        self.since = Instant::now();
        (self.interval, self.overrun) = (interval, 0);
    }

    /// When it is to be looked after, by its clock.
    fn next(&self) -> Option<Instant> {
        self.due.filter(|_| !self.waits && self.sends.is_some())
    }

    /// What it sends, if it is due.
    fn fires(&mut self) -> Option<Sends> {
        self.next().filter(|&due| due <= self.now())?;
        if self.interval.is_zero() {
            self.due = None;
        }
        self.waits = true;
        self.sends
    }

    /// Its signal is taken: it begins anew.
    fn taken(&mut self) {
        let now = self.now();
        (self.waits, self.overrun) = (false, 0);
        if let Some(due) = self.due.filter(|&due| due <= now) {
            (self.overrun, self.due) = match self.interval.is_zero() {
                true => (0, None),
                false => self.forward(due, now),
            };
        }
    }
}

/// All of a domain's.
#[derive(Debug, Clone)]
pub(super) struct Timers {
    /// Those of `setitimer`.
    intervals: [Timer; 3],
    made: BTreeMap<u32, Timer>,
}

impl Default for Timers {
    fn default() -> Timers {
        // (What a domain has used of the processors is not told apart: system calls are the host's code.)
        let intervals = [
            (Clock::Wall(ClockId::Monotonic), libc::SIGALRM),
            (Clock::Cpu(None), libc::SIGVTALRM),
            (Clock::Cpu(None), libc::SIGPROF),
        ];
        let timer =
            |(clock, signal)| Timer::new(clock, Some(Sends { signal: signal as u32, to: None, value: 0 }));
        Timers { intervals: intervals.map(timer), made: BTreeMap::new() }
    }
}

impl Timers {
    /// Whether none was made or set.
    pub(super) fn are_unused(&self) -> bool {
        self.made.is_empty() && self.intervals.iter().all(|timer| timer.due.is_none())
    }

    fn all(&mut self) -> impl Iterator<Item = (Which, &mut Timer)> {
        let made = self.made.iter_mut().map(|(&number, timer)| (Which::Made(number), timer));
        let intervals = self.intervals.iter_mut().enumerate();
        intervals.map(|(number, timer)| (Which::Interval(number), timer)).chain(made)
    }

    fn each(&self) -> impl Iterator<Item = &Timer> {
        self.intervals.iter().chain(self.made.values())
    }

    /// When the first one is due that goes by itself.
    pub(super) fn next(&self) -> Option<Instant> {
        let by_itself = self.each().filter(|timer| matches!(timer.clock, Clock::Wall(_)));
        by_itself.filter_map(Timer::next).min()
    }

    /// Whether there are any that go by CPU time, and are set.
    pub(super) fn count_time(&self) -> bool {
        self.each().any(Timer::counts)
    }

    /// The threads of these slots have run for so long since `since`.
    pub(super) fn count(&mut self, since: Instant, spent: &[(u32, Duration)]) {
        self.all().for_each(|(_, timer)| timer.count(since, spent));
    }

    /// Those that are due, and what each sends.
    pub(super) fn fire(&mut self) -> Vec<(Which, Sends)> {
        self.all().filter_map(|(which, timer)| Some((which, timer.fires()?))).collect()
    }

    /// When threads are told once more of the signal of a timer that waits then: where that has an interval, as often, but not all the time.
    pub(super) fn again(&mut self, now: Instant, which: Which) -> Option<Instant> {
        const LEAST: Duration = Duration::from_millis(1);
        let (_, timer) = self.all().find(|(other, _)| *other == which)?;
        if timer.interval.is_zero() { None } else { now.checked_add(timer.interval.max(LEAST)) }
    }

    /// The signal of a timer is taken: how often it would have been sent meanwhile.
    pub(super) fn taken(&mut self, which: Which) -> u32 {
        let Some((_, timer)) = self.all().find(|(other, _)| *other == which) else { return 0 };
        timer.taken();
        timer.overrun
    }

    /// What those send that send `signal` comes to nothing from now on, and what they have sent is gone; or it does not any more, and those
    /// that were due meanwhile begin anew. `waits` says whose waits. Whether there are any.
    pub(super) fn ignores(&mut self, signal: u32, is_ignored: bool, waits: impl Fn(Which) -> bool) -> bool {
        let is_its = |timer: &Timer| timer.waits && timer.sends.is_some_and(|sends| sends.signal == signal);
        let mut any = false;
        for (_, timer) in self.all().filter(|(which, timer)| is_its(timer) && !waits(*which)) {
            if !is_ignored || timer.interval.is_zero() {
                timer.taken();
                any = true;
            }
        }
        any
    }

    /// A thread is no more: what is for it is not sent, not even to the next one in its place, nor does that one's time count for it.
    pub(super) fn forget(&mut self, thread: u32) {
        for (_, timer) in self.all() {
            timer.sends = timer.sends.filter(|sends| sends.to != Some(thread));
            if matches!(timer.clock, Clock::Cpu(Some(whose)) if whose == thread) {
                (timer.sends, timer.due) = (None, None);
            }
        }
    }

    /// That of `setitimer` with this number: what it was; sets it. `waits`: whether its signal does, which is what the new one sends, too.
    pub(super) fn interval(&mut self, number: usize, new: Option<Setting>, waits: bool) -> Setting {
        let timer = &mut self.intervals[number];
        if new.is_some() {
            timer.waits = waits;
        }
        Timers::change(timer, new)
    }

    fn change(timer: &mut Timer, new: Option<Setting>) -> Setting {
        let before = timer.setting();
        if let Some(new) = new {
            timer.set(new);
        }
        before
    }

    /// Makes one that `sends`, by its number.
    pub(super) fn make(
        &mut self,
        clock: Clock,
        sends: impl FnOnce(u32) -> Option<Sends>,
    ) -> Result<u32, Errno> {
        let free = (0..MOST as u32).find(|number| !self.made.contains_key(number)).ok_or(Errno::AGAIN)?;
        self.made.insert(free, Timer::new(clock, sends(free)));
        Ok(free)
    }

    fn made(&mut self, number: u64) -> Result<&mut Timer, Errno> {
        let number = u32::try_from(number).map_err(|_| Errno::INVAL)?;
        self.made.get_mut(&number).ok_or(Errno::INVAL)
    }

    /// As [`interval`](Timers::interval), of one that was made. If it is set, a signal of its that waits is to be dropped.
    pub(super) fn set(&mut self, number: u64, new: Option<Setting>) -> Result<Setting, Errno> {
        let timer = self.made(number)?;
        timer.waits &= new.is_none();
        Ok(Timers::change(timer, new))
    }

    pub(super) fn clock(&mut self, number: u64) -> Result<Clock, Errno> {
        Ok(self.made(number)?.clock)
    }

    pub(super) fn overrun(&mut self, number: u64) -> Result<u32, Errno> {
        Ok(self.made(number)?.overrun)
    }

    pub(super) fn delete(&mut self, number: u64) -> Result<(), Errno> {
        self.made(number)?;
        self.made.remove(&(number as u32));
        Ok(())
    }
}
