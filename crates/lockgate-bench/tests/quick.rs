//! The benchmarks that take seconds run, and yield the metrics that SPECIFICATION.md names. What they measure is not judged
//! here: that depends on the machine and its load.

use lockgate_bench::{Metric, Options, calls, create};
use std::sync::{Mutex, PoisonError};

const QUICK: Options = Options { quick: true };

/// One at a time: counting domains takes all kernel mappings that the process may have.
static ALONE: Mutex<()> = Mutex::new(());

fn has(metrics: &[Metric], names: &[(&str, &str)]) {
    for (name, unit) in names {
        let metric =
            metrics.iter().find(|metric| metric.name == *name).unwrap_or_else(|| panic!("no metric {name}"));
        assert_eq!(metric.unit, *unit, "{name}");
        assert!(metric.min > 0.0 && metric.min <= metric.median && metric.median <= metric.p99, "{metric:?}");
    }
}

#[test]
fn calls_are_compared_with_a_native_one() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let metrics = calls::measure(&QUICK).unwrap();
    has(
        &metrics,
        &[
            ("calls.native_indirect", "ns"),
            ("calls.host_to_domain.integrity", "ns"),
            ("calls.host_to_domain.callback", "ns"),
            ("calls.fault_recovery", "ns"),
        ],
    );
    let call = metrics.iter().find(|metric| metric.name == "calls.host_to_domain.integrity").unwrap();
    assert!(call.ratios["calls.native_indirect"] > 1.0);
}

#[test]
fn domains_are_created_cold_and_pooled_and_counted() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let metrics = create::measure(&QUICK).unwrap();
    has(&metrics, &[("create.cold", "µs"), ("create.pooled", "µs"), ("domains.max", "count")]);
}
