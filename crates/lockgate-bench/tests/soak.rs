//! `lockgate bench soak` runs and finds nothing. A process of its own: other tests map memory, too.

use lockgate_bench::{Options, soak};

#[test]
fn nothing_is_corrupted_or_leaked() {
    let report = soak::measure(&Options::default(), Some(500_000)).unwrap();
    let value =
        |name: &str| report.get(&format!("soak.{name}")).unwrap_or_else(|| panic!("no metric {name}")).median;
    assert!(value("calls") >= 500_000.0 && value("crashes") >= 50.0);
    assert!(value("signals") > 0.0, "no signal came");
    for name in ["corruptions", "leaked_descriptors", "leaked_mappings", "leaked_threads"] {
        assert_eq!(value(name), 0.0, "{name}");
    }
}
