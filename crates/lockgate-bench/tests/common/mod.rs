//! What the tests of benchmarks share.

use lockgate_bench::{Metric, Options};

/// Few samples.
pub const QUICK: Options = Options { quick: true, only: None };

/// Each of `names` is among `metrics`, in its unit and with sensible figures.
pub fn has(metrics: &[Metric], names: &[(&str, &str)]) {
    for (name, unit) in names {
        let metric =
            metrics.iter().find(|metric| metric.name == *name).unwrap_or_else(|| panic!("no metric {name}"));
        assert_eq!(metric.unit, *unit, "{name}");
        // (A difference of two times may come out below zero, where another process had the processor for one of them.)
        let is_a_time = metric.min > 0.0 || name.ends_with(".added");
        assert!(is_a_time && metric.min <= metric.median && metric.median <= metric.p99, "{metric:?}");
    }
}
