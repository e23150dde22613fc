//! A library whose functions a host calls, and which calls the host's.
use std::collections::HashMap;
use std::ffi::CStr;
use std::panic::catch_unwind;
use std::sync::atomic::AtomicU32;

use lockgate_guest::{Ring, Shared};

lockgate_guest::import! {
    /// Where messages go.
    fn host_log(text: &CStr) -> i32;
}

lockgate_guest::export! {
    /// How many different words there are.
    fn words(text: &CStr) -> i32 {
        let mut counts: HashMap<String, i32> = HashMap::new();
        for word in text.to_string_lossy().split_whitespace() {
            *counts.entry(word.to_uppercase()).or_default() += 1;
        }
        println!("{} words", counts.len());
        counts.len() as i32
    }

    fn log_twice(number: i64) -> i32 {
        let line = std::ffi::CString::new(format!("number {number}")).unwrap();
        host_log(&line) + host_log(c"again")
    }

    fn divide(a: i32, b: i32) -> i32 {
        a / b
    }

    fn divide_or(a: i32, b: i32, other: i32) -> i32 {
        catch_unwind(|| a / b).unwrap_or(other)
    }

    fn nothing() {}

    fn length(text: Option<&CStr>) -> i32 {
        text.map_or(-1, |text| text.count_bytes() as i32)
    }

    fn either(one: bool, other: bool) -> bool {
        one || other
    }

    fn total(at: *mut u32, count: usize) -> u64 {
        let Some(shared) = Shared::granted(at, count) else { return u64::MAX };
        (0..shared.len()).filter_map(|n| shared.get(n)).map(u64::from).sum()
    }

    fn write_first(at: *mut u32) -> i32 {
        Shared::granted(at, 1).map_or(-1, |shared| shared.set(0, 7).into())
    }

    /// Of the module's own memory, none is granted: 0.
    fn own_memory(behind: usize) -> i32 {
        static OWN: AtomicU32 = AtomicU32::new(0);
        let (mut stack, mut heap) = ([0u32; 64], vec![0u32; 64]);
        let own = [OWN.as_ptr(), stack.as_mut_ptr(), heap.as_mut_ptr(), own_memory as *mut u32];
        let shared = own.iter().filter(|&&at| Shared::granted(at, 1).is_some()).count();
        let rings = own.iter().filter(|&&at| Ring::<u32>::granted(((at as usize + 64) & !63) as *mut u8, 1).is_some());
        let far = Shared::granted(behind as *mut u32, 1).is_some();
        (shared + rings.count() + usize::from(far)) as i32
    }

    /// An access that `Shared::granted` has allowed, after the host has taken the memory back.
    fn keeps(at: *mut u32) -> i64 {
        let Some(shared) = Shared::granted(at, 2) else { return -1 };
        host_log(c"take it back");
        shared.get(1).map_or(-2, i64::from)
    }

    fn drain(at: *mut u8, capacity: u32) -> i64 {
        let Some(mut ring) = Ring::<u64>::granted(at, capacity) else { return -2 };
        let mut sum = 0;
        loop {
            match ring.pop() {
                Ok(Some(value)) => sum += value as i64,
                Ok(None) => return sum,
                Err(_) => return -1,
            }
        }
    }
}
