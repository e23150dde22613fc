//! A few seconds of `lockgate-bench postgres-soak`.

use lockgate_postgres::{Held, soak};
use std::time::Duration;

#[test]
fn a_server_survives_everything_at_once() {
    let seconds = if support::thorough() { 10 } else { 5 };
    let soak = soak(crate::common::installation(), Duration::from_secs(seconds)).unwrap();
    assert_eq!(soak.wrong, [""; 0], "answers");
    assert_eq!(soak.crashes, [""; 0], "processes of the server");
    assert!(soak.rounds > 20, "{soak:?}");
    // Memory needs longer to say anything. So do one or two mappings, which malloc makes and keeps where the server's own caches grow: what leaks
    // does so each time, and each session does everything several times.
    assert_eq!(Held { resident_kib: 0, mappings: 0, ..soak.growth }, Held::default());
    assert!(soak.growth.mappings <= 2, "{soak:?}");
}
