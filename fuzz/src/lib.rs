//! The oracles of `crates/lockgate-fuzz` for libFuzzer.

use lockgate_fuzz::Target;
use lockgate_fuzz::memory_sys::Counting;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[doc(hidden)]
pub use libfuzzer_sys;

#[global_allocator]
static MEMORY: Counting = Counting;

/// Gives libFuzzer the oracle of this name.
#[macro_export]
macro_rules! fuzz {
    ($name:literal) => {
        use $crate::libfuzzer_sys;
        $crate::libfuzzer_sys::fuzz_target!(|input: &[u8]| $crate::execute($name, input));
    };
}

/// Runs an oracle once. Its operations are told now and then: `scripts/fuzz.sh` reads them.
pub fn execute(name: &str, input: &[u8]) {
    static TARGET: OnceLock<&Target> = OnceLock::new();
    static EXECUTIONS: AtomicU64 = AtomicU64::new(0);
    static OPERATIONS: AtomicU64 = AtomicU64::new(0);
    let target = TARGET.get_or_init(|| Target::named(name).expect("the oracle exists"));
    let operations = target.execute(input);
    let operations = OPERATIONS.fetch_add(operations, Relaxed) + operations;
    let executions = EXECUTIONS.fetch_add(1, Relaxed) + 1;
    if executions.is_multiple_of(1000) {
        eprintln!("operations {operations} in {executions} executions");
    }
}
