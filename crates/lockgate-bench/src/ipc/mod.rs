//! `ipc.*`: the same work behind every kind of call, in one run (dIPC, figures 5 and 6).
//!
//! The caller writes an argument of a given size, the callee reads it and answers with its sum, which the caller checks.
//! `ipc.<peer>.<size>` is the time of one call, this work included. Peers that need another process have one
//! (`bench/peers`), with its server on the caller's CPU or on another. `ipc.ratio.<peer>` is a peer's time over that of a call
//! into a domain under the strictest preset, with an argument of one byte: the median over the rounds of the ratio within a round.
//! `ipc.added.<peer>.<size>` is what a peer takes more than a function of the same program (figure 6), likewise round by round.

mod build;
mod chart;
mod domain;
mod fill_sys;
mod grid;
mod peer;

use crate::interleave::{Samples, Side, interleave};
use crate::preset::{PRESETS, Preset, STRICTEST};
use crate::{Metric, Options, Pinned, Report};
use anyhow::Context as _;
pub use build::Placed;
pub use chart::Chart;
use domain::InDomain;
pub use grid::Grid;
pub use peer::Peer;
use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

/// Samples of a full run.
const ROUNDS: usize = 200;
/// About how long one sample lasts: long against waking the peer, short against the whole run.
const SAMPLE: Duration = Duration::from_micros(200);
/// Sizes of the argument, bytes.
pub const SIZES: [usize; 6] = [1, 16, 256, 4 << 10, 64 << 10, 1 << 20];

/// One side: makes calls and times them.
trait Caller {
    /// Makes `count` calls with an argument of `size` bytes each; the time that they took together.
    fn time(&mut self, size: usize, count: u64) -> anyhow::Result<Duration>;
}

/// A side under the name that its metrics have.
struct Named<'a> {
    name: String,
    caller: RefCell<Box<dyn Caller + 'a>>,
}

impl<'a> Named<'a> {
    fn new(name: impl Into<String>, caller: impl Caller + 'a) -> Self {
        Self { name: name.into(), caller: RefCell::new(Box::new(caller)) }
    }

    /// How many calls make one sample.
    fn calibrate(&self, size: usize) -> anyhow::Result<u64> {
        let mut count = 1;
        loop {
            let time = self.caller.borrow_mut().time(size, count)?;
            if time * 4 >= SAMPLE {
                let fitting = count as f64 * SAMPLE.as_secs_f64() / time.as_secs_f64();
                return Ok((fitting as u64).max(1));
            }
            count *= 4;
        }
    }
}

/// Measures all peers that are here; the report's notes say which are not, and how to get them.
pub fn measure(options: &Options) -> anyhow::Result<Report> {
    let folder = tempfile::tempdir()?;
    let programs = build::all(folder.path())?;
    let pinned = Pinned::here()?;
    let mut notes = programs.notes;
    if pinned.other().is_none() {
        notes.push("not measured: servers on another CPU (this process may use one CPU only)".to_owned());
    }

    let domain = domain::create(folder.path())?;
    let mut callers = Vec::new();
    for preset in PRESETS {
        let name = ours(*preset);
        callers.push(Named::new(&name, InDomain::by_copy(&domain, *preset)?));
        callers.push(Named::new(format!("{name}_by_grant"), InDomain::by_grant(&domain, *preset)?));
        callers.push(Named::new(format!("{name}_by_arena"), InDomain::by_arena(&domain, *preset)?));
        callers.push(Named::new(format!("{name}_by_lending"), InDomain::by_lending(&domain, *preset)?));
    }
    for program in &programs.programs {
        for (name, argument) in program.variants(&pinned) {
            let peer = Peer::start(&program.path, &argument).with_context(|| name.clone())?;
            callers.push(Named::new(name, peer));
        }
    }
    let mut report = Report::new(run(options, &callers)?);
    report.notes = notes;
    Ok(report)
}

/// Peers for calls of one byte, built into `folder`, and what is missing, as lines.
pub fn peers(folder: &Path, pinned: &Pinned) -> anyhow::Result<(Vec<Placed>, Vec<String>)> {
    let build::Programs { mut programs, mut notes } = build::all(folder)?;
    programs.extend(build::spinning(folder)?);
    // (That calls no other process.)
    notes.retain(|note| !note.contains("wasmtime"));
    let placed = programs.iter().flat_map(|program| program.placed(pinned));
    Ok((placed.collect(), notes))
}

/// Measures every caller at every size, in turns.
fn run(options: &Options, callers: &[Named<'_>]) -> anyhow::Result<Vec<Metric>> {
    let mut sides = Vec::new();
    for named in callers {
        for size in SIZES {
            let name = format!("ipc.{}.{size}", named.name);
            let count = named.calibrate(size).with_context(|| name.clone())?;
            sides.push(Side::timed(name, move || {
                let time = named.caller.borrow_mut().time(size, count)?;
                Ok(time.as_nanos() as f64 / count as f64)
            }));
        }
    }
    let samples = interleave("ipc", options, ROUNDS, sides)?;
    let times = samples.iter().map(|samples| samples.metric("ns"));
    Ok(ratios(&samples).into_iter().chain(added(&samples)).chain(times).collect())
}

/// The peer's name of calls into a domain under `preset`.
fn ours(preset: Preset) -> String {
    format!("lockgate_{}", preset.name)
}

/// The ratio metrics by name, each with the peers that it may take: the fastest of those measured counts.
const RATIOS: &[(&str, &[&str])] = &[
    ("rpcgen_unix", &["rpcgen_unix_same_cpu", "rpcgen_unix_other_cpu"]),
    ("semaphore_same_cpu", &["semaphore_same_cpu"]),
    ("semaphore_other_cpu", &["semaphore_other_cpu"]),
    ("pipe", &["pipe_same_cpu", "pipe_other_cpu"]),
    ("unix_socket", &["unix_socket_same_cpu", "unix_socket_other_cpu"]),
    ("polling_other_cpu", &["polling_other_cpu"]),
    ("system_call", &["system_call"]),
    ("function", &["function"]),
    ("wasmtime_typed", &["wasmtime_typed"]),
    ("wasmtime_untyped", &["wasmtime_untyped"]),
];

/// Ratios between sides at one byte, round by round.
fn ratios(samples: &[Samples]) -> Vec<Metric> {
    let side = |peer: &&str| samples.iter().find(|side| side.name == format!("ipc.{peer}.1"));
    let median = |side: &Samples| side.metric("ns").median;
    let Some(ours) = side(&ours(STRICTEST).as_str()) else { return Vec::new() };
    let ratio = |(name, peers): &(&str, &[&str])| {
        let best = peers.iter().filter_map(side).min_by(|a, b| median(a).total_cmp(&median(b)))?;
        let rounds = best.values.iter().zip(&ours.values).map(|(peer, ours)| peer / ours).collect();
        Some(Metric::new(format!("ipc.ratio.{name}"), "ratio", rounds))
    };
    RATIOS.iter().filter_map(ratio).collect()
}

/// What each side takes more than a function with an argument of the same size, round by round.
fn added(samples: &[Samples]) -> Vec<Metric> {
    let added = |side: &Samples| {
        let (peer, size) = side.name.strip_prefix("ipc.")?.rsplit_once('.')?;
        let function = samples.iter().find(|base| base.name == format!("ipc.function.{size}"))?;
        let rounds = side.values.iter().zip(&function.values).map(|(time, base)| time - base).collect();
        (peer != "function").then(|| Metric::new(format!("ipc.added.{peer}.{size}"), "ns", rounds))
    };
    samples.iter().filter_map(added).collect()
}

/// The peers of `report` with their median times, nanoseconds, at each of [`SIZES`], in the report's order.
fn series(report: &Report) -> Vec<(&str, [f64; SIZES.len()])> {
    let peers =
        report.metrics.iter().filter_map(|metric| metric.name.strip_prefix("ipc.")?.strip_suffix(".1"));
    let peers = peers.filter(|peer| !peer.contains('.'));
    let times = |peer: &str| {
        let median = |size: usize| Some(report.get(&format!("ipc.{peer}.{size}"))?.median);
        let medians: Vec<f64> = SIZES.iter().filter_map(|size| median(*size)).collect();
        medians.try_into().ok()
    };
    peers.filter_map(|peer| Some((peer, times(peer)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A report with the series `peers`, each a factor times the size.
    pub(super) fn report(peers: &[(&str, f64)]) -> Report {
        let metric = |peer: &str, factor: f64, size: usize| {
            Metric::new(format!("ipc.{peer}.{size}"), "ns", vec![factor * size as f64])
        };
        let all = peers.iter().flat_map(|(peer, factor)| SIZES.map(|size| metric(peer, *factor, size)));
        Report::new(all.collect())
    }

    #[test]
    fn a_ratio_takes_the_faster_variant_round_by_round() {
        let side =
            |peer: &str, values: [f64; 3]| Samples { name: format!("ipc.{peer}.1"), values: values.into() };
        let ratios = ratios(&[
            side(&ours(STRICTEST), [2.0, 4.0, 4.0]),
            side("pipe_same_cpu", [100.0, 100.0, 120.0]),
            side("pipe_other_cpu", [500.0, 500.0, 90.0]),
            side("function", [1.0, 1.0, 1.0]),
        ]);
        let found: Vec<(&str, f64)> = ratios.iter().map(|m| (m.name.as_str(), m.median)).collect();
        assert_eq!(found, [("ipc.ratio.pipe", 30.0), ("ipc.ratio.function", 0.25)]);
    }

    #[test]
    fn what_is_added_is_told_round_by_round() {
        let side =
            |peer: &str, values: [f64; 3]| Samples { name: format!("ipc.{peer}.16"), values: values.into() };
        let added = added(&[
            side("function", [10.0, 20.0, 30.0]),
            side("pipe_same_cpu", [110.0, 121.0, 132.0]),
            Samples { name: "ipc.pipe_same_cpu.1".to_owned(), values: vec![1.0] },
        ]);
        let found: Vec<(&str, f64)> = added.iter().map(|m| (m.name.as_str(), m.median)).collect();
        assert_eq!(found, [("ipc.added.pipe_same_cpu.16", 101.0)]);
        let report = Report::new(added);
        assert!(series(&report).is_empty(), "they are no peers of their own");
    }

    #[test]
    fn series_come_in_the_order_of_the_report() {
        let report = report(&[("pipe", 2.0), ("function", 1.0)]);
        let series = series(&report);
        assert_eq!(series.iter().map(|(peer, _)| *peer).collect::<Vec<_>>(), ["pipe", "function"]);
        assert_eq!(series[0].1, SIZES.map(|size| 2.0 * size as f64));
    }

    #[test]
    fn a_sample_lasts_about_as_long_as_it_should() {
        struct Microsecond;
        impl Caller for Microsecond {
            fn time(&mut self, _: usize, count: u64) -> anyhow::Result<Duration> {
                Ok(Duration::from_micros(count))
            }
        }
        assert_eq!(Named::new("x", Microsecond).calibrate(1).unwrap(), SAMPLE.as_micros() as u64);
    }
}
