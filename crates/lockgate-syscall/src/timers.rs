//! Timers of one domain, that send it signals: `setitimer`, `alarm`, `timer_create`. Whoever runs the domain looks after them when the first one is due.
use super::signal_state::Info;
use rustix::io::Errno;
use rustix::time::ClockId;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Most that `timer_create` makes for one domain.
const MOST: usize = 32;
/// `SI_KERNEL`, which the C library's headers for Linux have.
const SI_KERNEL: i32 = 0x80;

/// What is sent, and to which thread, or to the domain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sends {
    pub(super) signal: u32,
    pub(super) to: Option<u32>,
    pub(super) value: u64,
}

/// One timer.
#[derive(Debug, Clone, Copy)]
struct Timer {
    clock: ClockId,
    /// Nothing is sent with [`None`].
    sends: Option<Sends>,
    due: Option<Instant>,
    interval: Duration,
    /// How often it was due since it was last looked after, but for the first time.
    overrun: u32,
}

/// Time that is left, and the interval.
pub(super) type Setting = (Duration, Duration);

impl Timer {
    fn new(clock: ClockId, sends: Option<Sends>) -> Timer {
        Timer { clock, sends, due: None, interval: Duration::ZERO, overrun: 0 }
    }

    fn setting(&self, now: Instant) -> Setting {
        // (A timer that has yet to be looked after has something left.)
        let left = self.due.map(|due| due.saturating_duration_since(now).max(Duration::from_nanos(1)));
        (left.unwrap_or_default(), self.interval)
    }

    fn set(&mut self, now: Instant, (left, interval): Setting) {
        // A time too far to express never comes.
        self.due = if left.is_zero() { None } else { now.checked_add(left) };
        (self.interval, self.overrun) = (interval, 0);
    }

    /// True if it is due; then it has begun anew.
    fn fires(&mut self, now: Instant) -> bool {
        let Some(due) = self.due.filter(|&due| due <= now) else { return false };
        self.due = None;
        if !self.interval.is_zero() {
            let missed = ((now - due).as_nanos() / self.interval.as_nanos()).min(i32::MAX as u128) as u32;
            self.overrun = missed;
            let behind = self.interval.checked_mul(missed + 1).and_then(|all| due.checked_add(all));
            self.due = behind.or_else(|| now.checked_add(self.interval));
        }
        true
    }
}

/// All of a domain's.
#[derive(Debug)]
pub(super) struct Timers {
    real: Timer,
    made: BTreeMap<u32, Timer>,
}

impl Default for Timers {
    fn default() -> Timers {
        let sends = Sends { signal: libc::SIGALRM as u32, to: None, value: 0 };
        Timers { real: Timer::new(ClockId::Monotonic, Some(sends)), made: BTreeMap::new() }
    }
}

impl Timers {
    /// Whether none was made or set.
    pub(super) fn are_unused(&self) -> bool {
        self.made.is_empty() && self.real.due.is_none()
    }

    /// When the first one is due.
    pub(super) fn next(&self) -> Option<Instant> {
        [&self.real].into_iter().chain(self.made.values()).filter_map(|timer| timer.due).min()
    }

    /// What those send that are due: with each the thread that it is for.
    pub(super) fn fire(&mut self, now: Instant) -> Vec<(Option<u32>, Info)> {
        let mut sent = Vec::new();
        if self.real.fires(now) {
            let info = Info { signal: libc::SIGALRM as u32, code: SI_KERNEL, first: 0, second: 0 };
            sent.push((None, info));
        }
        for (&number, timer) in &mut self.made {
            if timer.fires(now)
                && let Some(Sends { signal, to, value }) = timer.sends
            {
                let first = u64::from(number) | u64::from(timer.overrun) << 32;
                sent.push((to, Info { signal, code: libc::SI_TIMER, first, second: value }));
            }
        }
        sent
    }

    /// `ITIMER_REAL`: what it was; sets it.
    pub(super) fn real(&mut self, new: Option<Setting>) -> Setting {
        Timers::change(&mut self.real, new)
    }

    fn change(timer: &mut Timer, new: Option<Setting>) -> Setting {
        let now = Instant::now();
        let before = timer.setting(now);
        if let Some(new) = new {
            timer.set(now, new);
        }
        before
    }

    /// Makes one that `sends`, by its number.
    pub(super) fn make(
        &mut self,
        clock: ClockId,
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

    /// As [`real`](Timers::real), of one that was made.
    pub(super) fn set(&mut self, number: u64, new: Option<Setting>) -> Result<Setting, Errno> {
        Ok(Timers::change(self.made(number)?, new))
    }

    pub(super) fn clock(&mut self, number: u64) -> Result<ClockId, Errno> {
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
