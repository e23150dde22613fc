//! `lockgate-bench soak` runs and finds nothing. A process of its own: other tests map memory, too.

use lockgate_bench::{Options, soak};

#[test]
fn nothing_is_corrupted_or_leaked() {
    let report = soak::measure(&Options::default(), Some(500_000)).unwrap();
    let value =
        |name: &str| report.get(&format!("soak.{name}")).unwrap_or_else(|| panic!("no metric {name}")).median;
    assert!(value("calls") >= 500_000.0 && value("crashes") >= 30.0);
    assert!(value("signals") > 0.0, "no handler called a domain");
    assert!(value("kills") > 0.0, "nothing was killed");
    for name in [
        "corruptions",
        "disturbed",
        "entries_from_handlers",
        "leaked_descriptors",
        "leaked_mappings",
        "leaked_threads",
    ] {
        assert_eq!(value(name), 0.0, "{name}");
    }
}
