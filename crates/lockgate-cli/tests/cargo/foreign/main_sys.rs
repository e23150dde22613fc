//! Panics and exceptions between Rust and C++.

use std::panic::catch_unwind;

unsafe extern "C-unwind" {
    fn passes(number: i32);
    fn catches(number: i32) -> i32;
    fn throws();
}

struct Noisy(&'static str);

impl Drop for Noisy {
    fn drop(&mut self) {
        println!("dropped in {}", self.0);
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn panics(number: i32) {
    let _noisy = Noisy("panics");
    if number > 0 {
        panic!("number {number}");
    }
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        // A panic passes frames of C++, and comes back whole.
        Some("through") => {
            // SAFETY: the function's frames may be unwound.
            let ended = catch_unwind(|| unsafe { passes(3) });
            println!("{:?}", ended.expect_err("it panics").downcast::<String>());
            // SAFETY: as before.
            println!("{:?}", catch_unwind(|| unsafe { passes(0) }));
        }
        // C++ throws through Rust, which is what std ends the process for.
        Some("foreign") => {
            let ended = catch_unwind(|| {
                let _noisy = Noisy("main");
                // SAFETY: as before.
                unsafe { throws() }
            });
            println!("caught: {}", ended.is_err());
        }
        // C++ catches a panic, which is what std ends the process for.
        Some("caught") => {
            // SAFETY: as before.
            println!("{}", unsafe { catches(4) });
            println!("{}", std::thread::panicking());
        }
        other => println!("{other:?}?"),
    }
}
