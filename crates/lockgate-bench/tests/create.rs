//! `lockgate-bench create` runs. A process of its own: counting domains takes all kernel mappings that it may have, and they come back
//! only when the thread that called them has ended.

use crate::common::{QUICK, has};
use lockgate_bench::create;

#[test]
fn domains_are_created_cold_and_pooled_and_counted() {
    let metrics = create::measure(&QUICK).unwrap();
    has(
        &metrics,
        &[
            ("create.cold", "µs"),
            ("create.pooled", "µs"),
            ("domains.rss_per_idle", "KiB"),
            ("domains.page_tables_per_idle", "KiB"),
            ("domains.mappings_per_idle", "count"),
            ("domains.made", "count"),
        ],
    );
}
