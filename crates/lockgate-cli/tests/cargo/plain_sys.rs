//! A library as it is written for any host: no crate of Lockgate's.
#[unsafe(no_mangle)]
pub extern "C" fn add_up(values: *const i32, count: usize) -> i64 {
    // SAFETY: the host says so.
    let values = unsafe { std::slice::from_raw_parts(values, count) };
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.iter().map(|&value| i64::from(value)).sum()
}

#[unsafe(no_mangle)]
pub extern "C" fn fails() {
    let none: Option<u8> = std::env::args().nth(1000).map(|_| 1);
    none.expect("there is none");
}
