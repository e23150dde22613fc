//! `lockgate-bench cycles` runs and finds nothing. A process of its own: other tests map memory, too.

use lockgate_bench::{Options, soak::cycles};

#[test]
fn domains_leave_nothing_behind() {
    let report = cycles::measure(&Options::default(), Some(3_000)).unwrap();
    let value = |name: &str| {
        report.get(&format!("cycles.{name}")).unwrap_or_else(|| panic!("no metric {name}")).median
    };
    assert_eq!(value("cycles"), 3_000.0);
    for name in ["wrong", "leaked_descriptors", "leaked_mappings", "leaked_threads"] {
        assert_eq!(value(name), 0.0, "{name}");
    }
    assert!(value("resident_growth") <= 1024.0, "{} KiB", value("resident_growth"));
}
