//! The targets of SPECIFICATION.md that are numbers.

use crate::{Metric, Report};

/// What a metric's median must satisfy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// No more than this, in the metric's unit.
    AtMost(f64),
    /// No less than this, in the metric's unit.
    AtLeast(f64),
}

/// Every target about a metric itself.
const TARGETS: &[(&str, Target)] = &[
    ("overhead.geomean", Target::AtMost(1.045)),
    ("overhead.code_size", Target::AtMost(1.30)),
    ("overhead.lua_fib", Target::AtMost(1.10)),
    ("overhead.lua_num", Target::AtMost(1.10)),
    ("overhead.lua_str", Target::AtMost(1.10)),
    ("languages.geomean", Target::AtMost(1.06)),
    ("languages.cpp.unwind_10", Target::AtMost(2.0)),
    ("calls.host_to_domain.integrity", Target::AtMost(5.0)),
    ("calls.host_to_domain.mutual_distrust", Target::AtMost(8.0)),
    ("calls.host_to_domain.mutual_trust", Target::AtMost(3.0)),
    ("calls.host_to_domain.callback", Target::AtMost(10.0)),
    ("calls.domain_to_domain.mutual_distrust", Target::AtMost(35.0)),
    ("calls.domain_to_domain.mutual_trust", Target::AtMost(30.0)),
    ("calls.fault_recovery", Target::AtMost(5_000.0)),
    ("calls.long_jump.10", Target::AtMost(300.0)),
    ("calls.switch", Target::AtMost(100.0)),
    ("calls.timer_later", Target::AtMost(5_000_000.0)),
    ("capi.call", Target::AtMost(5.5)),
    ("capi.arena", Target::AtMost(60.0)),
    ("capi.lend", Target::AtMost(10_000.0)),
    ("stubs.zlib", Target::AtMost(1.08)),
    ("stubs.expat", Target::AtMost(1.15)),
    ("split.bzip2_decompress", Target::AtMost(1.10)),
    ("stubs.png", Target::AtMost(1.15)),
    ("stubs.sqlite", Target::AtMost(1.15)),
    ("verify.throughput", Target::AtLeast(150.0)),
    ("rewrite.throughput", Target::AtLeast(20.0)),
    ("capi.dlsym_generic", Target::AtMost(12.0)),
    ("load.lg_dlopen.first", Target::AtMost(40_000.0)),
    ("create.cold", Target::AtMost(100.0)),
    ("create.pooled", Target::AtMost(3.0)),
    ("domains.rss_per_idle", Target::AtMost(24.0)),
    ("domains.max", Target::AtLeast(10_000.0)),
    ("ipc.ratio.rpcgen_unix", Target::AtLeast(500.0)),
    ("ipc.ratio.semaphore_same_cpu", Target::AtLeast(100.0)),
    ("ipc.ratio.pipe", Target::AtLeast(300.0)),
    ("programs.redis.get.ratio", Target::AtLeast(25.0)),
    ("programs.process.same_cpu.ratio", Target::AtMost(1.3)),
    ("programs.process.other_cpu_sleeping.ratio", Target::AtMost(1.3)),
    ("programs.restart", Target::AtMost(5.0)),
    ("postgres.sequoia.q6", Target::AtMost(1.05)),
    ("postgres.sequoia.q7", Target::AtMost(1.05)),
    ("postgres.sequoia.q8", Target::AtMost(1.05)),
    ("postgres.sequoia.q10", Target::AtMost(1.05)),
    ("postgres.microcall", Target::AtMost(1.25)),
    ("postgres.vs_plpgsql", Target::AtLeast(5.0)),
    ("postgres.vs_pipe", Target::AtLeast(20.0)),
    ("postgres.crash_added", Target::AtMost(1.0)),
    ("soak.corruptions", Target::AtMost(0.0)),
    ("soak.disturbed", Target::AtMost(0.0)),
    ("soak.entries_from_handlers", Target::AtMost(0.0)),
    ("soak.leaked_descriptors", Target::AtMost(0.0)),
    ("soak.leaked_mappings", Target::AtMost(0.0)),
    ("soak.leaked_threads", Target::AtMost(0.0)),
    ("soak.resident_growth", Target::AtMost(1024.0)),
    ("postgres_soak.wrong", Target::AtMost(0.0)),
    ("postgres_soak.crashed_processes", Target::AtMost(0.0)),
    ("postgres_soak.leaked_descriptors", Target::AtMost(0.0)),
    ("postgres_soak.leaked_mappings", Target::AtMost(0.0)),
    ("postgres_soak.leaked_threads", Target::AtMost(0.0)),
    ("postgres_soak.resident_growth", Target::AtMost(1024.0)),
    ("cycles.wrong", Target::AtMost(0.0)),
    ("cycles.leaked_descriptors", Target::AtMost(0.0)),
    ("cycles.leaked_mappings", Target::AtMost(0.0)),
    ("cycles.leaked_threads", Target::AtMost(0.0)),
    ("cycles.resident_growth", Target::AtMost(256.0)),
];

/// Every target about a ratio between two metrics of one run, which is at most the number.
const RATIOS: &[(&str, &str, f64)] = &[
    ("calls.host_to_domain.integrity", "calls.native_indirect", 4.0),
    ("load.lg_dlopen.again", "load.dlopen", 3.0),
    ("capi.call", "calls.host_to_domain.integrity", 1.1),
    ("python.call", "python.ctypes", 1.2),
];

impl Target {
    /// The target about the metric `name`, if there is one.
    pub fn of(name: &str) -> Option<Target> {
        TARGETS.iter().find(|(metric, _)| *metric == name).map(|(_, target)| *target)
    }

    /// How much of it `value` uses, more than 1 if it does not satisfy it.
    pub(crate) fn used(self, value: f64) -> f64 {
        match self {
            Target::AtMost(limit) if value == limit => 1.0, // which may be 0
            Target::AtMost(limit) => value / limit,
            Target::AtLeast(limit) => limit / value,
        }
    }
}

/// Whether every target about `metric`, its ratios included, holds; `None` if there is none.
pub fn is_met(metric: &Metric) -> Option<bool> {
    used(metric).map(|share| share <= 1.0)
}

/// How much of its target `metric` uses, of that which it uses most (its ratios have some, too): 1.5 is half as much again as there should be.
/// `None` if there is no target.
pub fn used(metric: &Metric) -> Option<f64> {
    let own = Target::of(&metric.name).map(|target| target.used(metric.median));
    let ratios = RATIOS.iter().filter(|(name, _, _)| *name == metric.name);
    let ratios =
        ratios.filter_map(|(_, other, limit)| Some(Target::AtMost(*limit).used(*metric.ratios.get(*other)?)));
    own.into_iter().chain(ratios).reduce(f64::max)
}

impl Report {
    /// Whether every target about the report's metrics is met.
    pub fn keeps_targets(&self) -> bool {
        self.metrics.iter().all(|metric| is_met(metric) != Some(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_includes_its_ratio() {
        let native = Metric::new("calls.native_indirect", "ns", vec![1.0]);
        let call = |ns| Metric::new("calls.host_to_domain.integrity", "ns", vec![ns]).against(&native);
        assert_eq!(is_met(&call(3.9)), Some(true));
        assert_eq!(is_met(&call(5.0)), Some(false), "five times a native call");
        assert_eq!(is_met(&Metric::new("calls.host_to_domain.integrity", "ns", vec![5.1])), Some(false));
        assert_eq!(used(&call(6.0)), Some(1.5), "of six times, where four were allowed");
        assert_eq!(is_met(&native), None);
        let leaked = |count| is_met(&Metric::new("soak.leaked_threads", "", vec![count]));
        assert_eq!((leaked(0.0), leaked(1.0)), (Some(true), Some(false)));
        let domains = |count| used(&Metric::new("domains.max", "", vec![count]));
        assert_eq!((domains(10_000.0), domains(5_000.0)), (Some(1.0), Some(2.0)));
        assert!(Report::new(vec![native.clone(), call(3.9)]).keeps_targets());
        assert!(!Report::new(vec![native.clone(), call(5.0)]).keeps_targets());
    }

    /// SPECIFICATION.md and this table name the same metrics.
    #[test]
    fn the_specification_lists_the_same_metrics() {
        let text = include_str!("../../../SPECIFICATION.md");
        let mut written: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
        let own = TARGETS.iter().map(|(name, _)| *name);
        let mut here: Vec<&str> = own.chain(RATIOS.iter().map(|(name, _, _)| *name)).collect();
        written.sort_unstable();
        here.sort_unstable();
        here.dedup();
        assert_eq!(written, here);
    }
}
