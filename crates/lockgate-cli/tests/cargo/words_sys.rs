//! A library whose functions a host calls, and which calls the host's.
use std::collections::HashMap;
use std::ffi::CStr;
use std::panic::catch_unwind;

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

    fn total(at: *mut u32, count: usize) -> u64 {
        // SAFETY: the host grants so many.
        let shared = unsafe { Shared::new(at, count) };
        (0..shared.len()).filter_map(|n| shared.get(n)).map(u64::from).sum()
    }

    fn drain(at: *mut u8, capacity: u32) -> i64 {
        // SAFETY: the host makes a ring of so many there.
        let Some(mut ring) = (unsafe { Ring::<u64>::new(at, capacity) }) else { return -2 };
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
