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
        $crate::libfuzzer_sys::fuzz_mutator!(|input: &mut [u8], size: usize, room: usize, _seed: u32| {
            $crate::mutate($name, input, size, room)
        });
    };
}

fn target(name: &str) -> &'static Target {
    static TARGET: OnceLock<&Target> = OnceLock::new();
    TARGET.get_or_init(|| Target::named(name).expect("the oracle exists"))
}

/// libFuzzer's own mutations, of no more bytes than are of use to the oracle. Returns the new size.
pub fn mutate(name: &str, input: &mut [u8], size: usize, room: usize) -> usize {
    let longest = target(name).longest.min(room);
    libfuzzer_sys::fuzzer_mutate(input, size.min(longest), longest)
}

/// Runs an oracle once. Its operations are told now and then: `scripts/fuzz.sh` reads them.
pub fn execute(name: &str, input: &[u8]) {
    static EXECUTIONS: AtomicU64 = AtomicU64::new(0);
    static OPERATIONS: AtomicU64 = AtomicU64::new(0);
    let operations = target(name).execute(input);
    let operations = OPERATIONS.fetch_add(operations, Relaxed) + operations;
    let executions = EXECUTIONS.fetch_add(1, Relaxed) + 1;
    if executions.is_multiple_of(1000) {
        eprintln!("operations {operations} in {executions} executions");
    }
}
