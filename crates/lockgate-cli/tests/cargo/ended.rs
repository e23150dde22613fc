//! Functions whose calls end in the middle of a panic.
use std::panic::catch_unwind;
use std::sync::Mutex;

struct Endless;

impl Drop for Endless {
    fn drop(&mut self) {
        loop {
            std::hint::spin_loop();
        }
    }
}

lockgate_guest::export! {
    /// Its call ends by the limit, while the panic unwinds.
    fn hangs(number: i32) -> i32 {
        let unwinds = || {
            let _endless = (number >= 0).then(|| Endless);
            assert!(number < 0, "it hangs");
            number
        };
        catch_unwind(unwinds).unwrap_or(0)
    }

    /// Its call ends by the panic.
    fn fails(number: i32) -> i32 {
        assert!(number < 0, "it fails with {number}");
        number
    }

    /// A panic that is caught.
    fn catches(number: i32) -> i32 {
        catch_unwind(|| fails(number)).unwrap_or(-number)
    }

    /// Whether a panic is in progress.
    fn panicking() -> i32 {
        i32::from(std::thread::panicking())
    }

    /// Whether a lock is poisoned by a panic that is caught.
    fn poisons() -> i32 {
        let lock = Mutex::new(1);
        let caught = catch_unwind(|| {
            let _guard = lock.lock();
            panic!("with the lock");
        });
        i32::from(caught.is_err()) + 2 * i32::from(lock.is_poisoned())
    }
}
