//! Sides of a comparison measured in turns.

use crate::{Metric, Options, progress};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::time::Instant;

/// One thing to measure: does it once or many times and says what one took.
pub struct Side<'a> {
    name: String,
    sample: Box<dyn FnMut() -> anyhow::Result<f64> + 'a>,
}

impl<'a> Side<'a> {
    /// A side of short work: one sample is the mean, in nanoseconds, of `count` runs of `work`. A tenth of them goes before, so that what the
    /// side before threw out of the caches does not count.
    pub fn repeated<T>(
        name: impl Into<String>,
        count: u32,
        mut work: impl FnMut() -> anyhow::Result<T> + 'a,
    ) -> Self {
        let sample = move || {
            let mut runs = |count| -> anyhow::Result<()> {
                for _ in 0..count {
                    black_box(work()?);
                }
                Ok(())
            };
            runs(count / 10)?;
            let start = Instant::now();
            runs(count)?;
            Ok(start.elapsed().as_nanos() as f64 / f64::from(count))
        };
        Self { name: name.into(), sample: Box::new(sample) }
    }

    /// As [`Side::repeated`], for work of a few nanoseconds, which says whether it was done: nothing else is in the loop.
    pub fn calls(name: impl Into<String>, count: u32, mut work: impl FnMut() -> bool + 'a) -> Self {
        let name = name.into();
        let what = name.clone();
        let sample = move || {
            let warm = repeat(count / 10, &mut work);
            let start = Instant::now();
            let done = repeat(count, &mut work) && warm;
            let time = start.elapsed();
            anyhow::ensure!(done, "{what}: a call failed");
            Ok(time.as_nanos() as f64 / f64::from(count))
        };
        Self { name, sample: Box::new(sample) }
    }

    /// A side that times itself: `sample` returns one sample in the metric's unit.
    pub fn timed(name: impl Into<String>, sample: impl FnMut() -> anyhow::Result<f64> + 'a) -> Self {
        Self { name: name.into(), sample: Box::new(sample) }
    }

    /// A side that works through an amount of something: `work` says how much it did, one sample is that amount per second
    /// of this thread's CPU time (not wall-clock time, so that other load on the machine counts as little as possible).
    pub fn throughput(name: impl Into<String>, mut work: impl FnMut() -> anyhow::Result<f64> + 'a) -> Self {
        let now = || {
            let time = clock_gettime(ClockId::ThreadCPUTime);
            time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
        };
        let sample = move || {
            let start = now();
            let amount = work()?;
            Ok(amount / (now() - start))
        };
        Self { name: name.into(), sample: Box::new(sample) }
    }
}

/// Does `work` `count` times, four times in each round of the loop: a taken branch costs a third of a nanosecond, and the loop's own
/// is no part of a call. True if all was done.
#[inline(always)]
pub fn repeat(count: u32, mut work: impl FnMut() -> bool) -> bool {
    debug_assert!(count.is_multiple_of(4));
    let mut done = true;
    for _ in 0..count / 4 {
        done &= work() & work() & work() & work();
    }
    done
}

/// What `work` gives for sides 0 and 1, one directly after the other; which goes first alternates with the rounds.
pub fn both_sides<T>(
    round: usize,
    mut work: impl FnMut(usize) -> anyhow::Result<T>,
) -> anyhow::Result<[T; 2]> {
    let first = round % 2;
    let (one, other) = (work(first)?, work(1 - first)?);
    Ok(if first == 0 { [one, other] } else { [other, one] })
}

/// What was measured on one side, round by round.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    /// Name of the side.
    pub name: String,
    /// One for each round.
    pub values: Vec<f64>,
}

impl Samples {
    /// The samples as a metric of the same name.
    pub fn metric(&self, unit: &'static str) -> Metric {
        Metric::new(&self.name, unit, self.values.clone())
    }
}

/// Takes `rounds` samples of each side in turns (a tenth of them if quick), after a tenth as many that do not count.
/// The order turns round by round, so that no side always follows the same other one.
pub fn interleave(
    title: &str,
    options: &Options,
    rounds: usize,
    mut sides: Vec<Side<'_>>,
) -> anyhow::Result<Vec<Samples>> {
    let rounds = if options.quick { rounds.div_ceil(10) } else { rounds };
    let warm_up = rounds.div_ceil(10);
    let bar = progress::bar(title, (rounds + warm_up) as u64);
    let empty = |side: &Side<'_>| Samples { name: side.name.clone(), values: Vec::with_capacity(rounds) };
    let mut samples: Vec<Samples> = sides.iter().map(empty).collect();
    let count = sides.len();
    for round in 0..warm_up + rounds {
        for turn in 0..count {
            let index = (round + turn) % count;
            let side = &mut sides[index];
            let sample = (side.sample)().map_err(|error| error.context(side.name.clone()))?;
            if round >= warm_up {
                samples[index].values.push(sample);
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn sides_take_turns_and_the_warm_up_does_not_count() {
        let order = RefCell::new(String::new());
        let side = |name: &'static str, value| {
            let order = &order;
            Side::timed(name, move || {
                order.borrow_mut().push_str(name);
                Ok(value)
            })
        };
        let samples =
            interleave("test", &Options::default(), 4, vec![side("a", 1.0), side("b", 2.0)]).unwrap();
        let expected = |name: &str, value| Samples { name: name.to_owned(), values: vec![value; 4] };
        assert_eq!(samples, [expected("a", 1.0), expected("b", 2.0)]);
        assert_eq!(*order.borrow(), "abbaabbaab");
    }

    #[test]
    fn an_error_names_its_side() {
        let side = Side::repeated("broken", 1, || -> anyhow::Result<()> { anyhow::bail!("no such thing") });
        let error = interleave("test", &Options::default(), 1, vec![side]).unwrap_err();
        assert_eq!(format!("{error:#}"), "broken: no such thing");
    }
}
