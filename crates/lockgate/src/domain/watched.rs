//! What the watcher does with domains, which it knows by number.
use super::core::Core;
use super::rest;
use crate::call::meter::Meter;
use crate::call::thread_sys;
use crate::call::watch::Due;
use std::time::{Duration, Instant};

/// Ends the domain whose meter this is, which has used up its CPU time. Nothing happens if it is gone, or was reset, since the meter was read:
/// the number may be another domain's now.
pub(super) fn end_for_cpu_time(meter: &Meter) {
    let is_its_own = |core: &Core| core.meter().is_some_and(|own| std::ptr::eq(own, meter));
    rest::look_at(meter.id, |core| {
        if is_its_own(core) && meter.is_used_up() {
            core.spend();
        }
    });
}

/// Has the timers of the domain with this number send what is due: its base, if anything was sent, and when they are to be looked at next.
pub(super) fn look_at_timers(id: u32) -> (Option<u64>, Option<Due>) {
    let look = |core: &Core| {
        if core.is_killed() {
            return (None, None);
        }
        let due = core.process().look_at_timers();
        let calls = thread_sys::calls_in(core.base());
        (
            core.process().tells_of_signals().then(|| core.base()),
            due.map(|at| Due { at, look: next_look(at, calls, Instant::now()) }),
        )
    };
    rest::look_at(id, look).unwrap_or_default()
}

/// Tells the domain with this number what calls in it have used of the processors since then; whether it has timers that go by that.
pub(super) fn count_time(id: u32, since: Instant, spent: &[(u64, Duration)]) -> bool {
    let count = |core: &Core| {
        let thread = |control: u64| core.contexts().home(core.slot_of(control));
        let spent: Vec<(u32, Duration)> =
            spent.iter().map(|&(control, spent)| (thread(control), spent)).collect();
        core.process().count_time(since, &spent);
        !core.is_killed() && core.process().counts_time()
    };
    rest::look_at(id, count).unwrap_or(false)
}

/// When timers of a domain with so many calls in progress are looked at, of which the first is due then: while there are none seldom, however short
/// they are. What they send waits for the next call, and costs the host's time.
fn next_look(due: Instant, calls: usize, now: Instant) -> Instant {
    const SELDOM: Duration = Duration::from_millis(20);
    if calls == 0 { due.max(now + SELDOM) } else { due }
}

/// Whether signals wait for the domain with this number. (What waits for a killed one comes to nothing.)
pub(super) fn has_signals(id: u32) -> bool {
    rest::look_at(id, |core| !core.is_killed() && core.process().has_signals()).unwrap_or(false)
}

/// Whether one waits there that the thread does not block whose call began at `control`.
pub(super) fn wakes(id: u32, control: u64) -> bool {
    let wakes = |core: &Core| core.process().wakes(core.contexts().home(core.slot_of(control)));
    rest::look_at(id, wakes).unwrap_or(false)
}

/// Lets threads that are blocked in the domain with this number look whether they were stopped.
pub(super) fn interrupt_waits(id: u32) {
    rest::look_at(id, |core| core.process().interrupt());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_of_a_domain_without_calls_are_looked_at_seldom() {
        let now = Instant::now();
        let soon = now + Duration::from_nanos(1);
        assert_eq!(next_look(soon, 1, now), soon);
        assert!(next_look(soon, 0, now) > now + Duration::from_millis(10));
        let late = now + Duration::from_secs(5);
        assert_eq!(next_look(late, 0, now), late);
    }
}
