//! The promises of SPECIFICATION.md that are numbers.

use crate::{Metric, Report};

/// What a metric's median must satisfy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Promise {
    /// No more than this, in the metric's unit.
    AtMost(f64),
    /// No less than this, in the metric's unit.
    AtLeast(f64),
}

/// Every promise about a metric itself.
const PROMISES: &[(&str, Promise)] = &[
    ("overhead.geomean", Promise::AtMost(1.06)),
    ("overhead.code_size", Promise::AtMost(1.35)),
    ("calls.host_to_domain.integrity", Promise::AtMost(5.0)),
    ("calls.host_to_domain.mutual_distrust", Promise::AtMost(8.0)),
    ("calls.host_to_domain.mutual_trust", Promise::AtMost(3.0)),
    ("calls.host_to_domain.callback", Promise::AtMost(10.0)),
    ("calls.domain_to_domain.mutual_distrust", Promise::AtMost(35.0)),
    ("calls.domain_to_domain.mutual_trust", Promise::AtMost(30.0)),
    ("calls.fault_recovery", Promise::AtMost(5_000.0)),
    ("calls.long_jump.10", Promise::AtMost(300.0)),
    ("capi.call", Promise::AtMost(5.5)),
    ("stubs.zlib", Promise::AtMost(1.08)),
    ("stubs.expat", Promise::AtMost(1.15)),
    ("split.bzip2_decompress", Promise::AtMost(1.10)),
    ("stubs.png", Promise::AtMost(1.15)),
    ("stubs.sqlite", Promise::AtMost(1.15)),
    ("verify.throughput", Promise::AtLeast(120.0)),
    ("rewrite.throughput", Promise::AtLeast(20.0)),
    ("capi.dlsym_generic", Promise::AtMost(12.0)),
    ("load.lg_dlopen.first", Promise::AtMost(40_000.0)),
    ("create.cold", Promise::AtMost(100.0)),
    ("create.pooled", Promise::AtMost(3.0)),
    ("domains.rss_per_idle", Promise::AtMost(24.0)),
    ("domains.max", Promise::AtLeast(10_000.0)),
    ("ipc.ratio.rpcgen_unix", Promise::AtLeast(500.0)),
    ("ipc.ratio.semaphore_same_cpu", Promise::AtLeast(100.0)),
    ("ipc.ratio.pipe", Promise::AtLeast(300.0)),
    ("postgres.sequoia.q6", Promise::AtMost(1.05)),
    ("postgres.sequoia.q7", Promise::AtMost(1.05)),
    ("postgres.sequoia.q8", Promise::AtMost(1.05)),
    ("postgres.sequoia.q10", Promise::AtMost(1.05)),
    ("postgres.microcall", Promise::AtMost(1.25)),
    ("postgres.vs_plpgsql", Promise::AtLeast(5.0)),
    ("postgres.vs_pipe", Promise::AtLeast(20.0)),
    ("postgres.crash_added", Promise::AtMost(1.0)),
    ("soak.corruptions", Promise::AtMost(0.0)),
    ("soak.disturbed", Promise::AtMost(0.0)),
    ("soak.entries_from_handlers", Promise::AtMost(0.0)),
    ("soak.leaked_descriptors", Promise::AtMost(0.0)),
    ("soak.leaked_mappings", Promise::AtMost(0.0)),
    ("soak.leaked_threads", Promise::AtMost(0.0)),
    ("soak.resident_growth", Promise::AtMost(1024.0)),
    ("postgres_soak.wrong", Promise::AtMost(0.0)),
    ("postgres_soak.crashed_processes", Promise::AtMost(0.0)),
    ("postgres_soak.leaked_descriptors", Promise::AtMost(0.0)),
    ("postgres_soak.leaked_mappings", Promise::AtMost(0.0)),
    ("postgres_soak.leaked_threads", Promise::AtMost(0.0)),
    ("postgres_soak.resident_growth", Promise::AtMost(1024.0)),
    ("cycles.wrong", Promise::AtMost(0.0)),
    ("cycles.leaked_descriptors", Promise::AtMost(0.0)),
    ("cycles.leaked_mappings", Promise::AtMost(0.0)),
    ("cycles.leaked_threads", Promise::AtMost(0.0)),
    ("cycles.resident_growth", Promise::AtMost(256.0)),
];

/// Every promise about a ratio between two metrics of one run, which is at most the number.
const RATIOS: &[(&str, &str, f64)] = &[
    ("calls.host_to_domain.integrity", "calls.native_indirect", 4.0),
    ("load.lg_dlopen.again", "load.dlopen", 3.0),
    ("capi.call", "calls.host_to_domain.integrity", 1.1),
    ("python.call", "python.ctypes", 1.2),
];

impl Promise {
    /// The promise about the metric `name`, if there is one.
    pub fn of(name: &str) -> Option<Promise> {
        PROMISES.iter().find(|(metric, _)| *metric == name).map(|(_, promise)| *promise)
    }

    /// Whether `value` satisfies it.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Promise::AtMost(limit) => value <= limit,
            Promise::AtLeast(limit) => value >= limit,
        }
    }
}

/// Whether every promise about `metric`, its ratios included, holds; `None` if nothing is promised.
pub fn kept(metric: &Metric) -> Option<bool> {
    let own = Promise::of(&metric.name).map(|promise| promise.holds(metric.median));
    let ratios = RATIOS.iter().filter(|(name, _, _)| *name == metric.name);
    ratios.fold(own, |kept, (_, other, limit)| match metric.ratios.get(*other) {
        Some(ratio) => Some(kept.unwrap_or(true) && ratio <= limit),
        None => kept,
    })
}

impl Report {
    /// Whether every promise about the report's metrics is kept.
    pub fn keeps_promises(&self) -> bool {
        self.metrics.iter().all(|metric| kept(metric) != Some(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_includes_its_ratio() {
        let native = Metric::new("calls.native_indirect", "ns", vec![1.0]);
        let call = |ns| Metric::new("calls.host_to_domain.integrity", "ns", vec![ns]).against(&native);
        assert_eq!(kept(&call(3.9)), Some(true));
        assert_eq!(kept(&call(5.0)), Some(false), "five times a native call");
        assert_eq!(kept(&Metric::new("calls.host_to_domain.integrity", "ns", vec![5.1])), Some(false));
        assert_eq!(kept(&native), None);
        assert!(Report::new(vec![native.clone(), call(3.9)]).keeps_promises());
        assert!(!Report::new(vec![native.clone(), call(5.0)]).keeps_promises());
    }

    /// SPECIFICATION.md and this table name the same metrics.
    #[test]
    fn the_specification_lists_the_same_metrics() {
        let text = include_str!("../../../SPECIFICATION.md");
        let mut written: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
        let own = PROMISES.iter().map(|(name, _)| *name);
        let mut here: Vec<&str> = own.chain(RATIOS.iter().map(|(name, _, _)| *name)).collect();
        written.sort_unstable();
        here.sort_unstable();
        here.dedup();
        assert_eq!(written, here);
    }
}
