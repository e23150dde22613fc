//! The host's threads: when they are not to be cancelled, and when they end.
use super::fork_sys::Once;
use rustix::io::Errno;
use std::ffi::{CString, c_int, c_void};
use std::marker::PhantomData;
use std::num::NonZeroU64;
use std::os::unix::thread::JoinHandleExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::thread::JoinHandle;
use std::time::Duration;

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// `PTHREAD_CANCEL_DISABLE`.
pub(crate) const DISABLE: c_int = 1;

/// The kernel wakes the calling thread, which is one of ours and does little, when its time has come: it does not go by what the thread that
/// started it has set, seconds perhaps (`PR_SET_TIMERSLACK`, systemd's `TimerSlackNSec=`), and where others compute it runs before these have had all
/// of their turn, as its own is short (decision 0135).
pub(crate) fn wakes_in_time() {
    /// The shortest that Linux gives.
    const TURN: Duration = Duration::from_micros(100);
    /// Nanoseconds: Linux's default.
    const SLACK: NonZeroU64 = NonZeroU64::new(50_000).expect("not zero");
    // (Where a filter forbids it, times are as late as they were.)
    let _ = rustix::thread::set_current_timer_slack(Some(SLACK));
    let _ = lockgate_kernel::ask_for_short_turns(TURN);
}

/// Starts a thread for `body` that is not waited for. None of its memory is asked for by the new thread: what std does there before a closure runs ends
/// the process if there is none (a mapping for an alternate stack).
///
/// # Errors
/// There is no memory, or no thread more.
pub(crate) fn start<F: FnOnce() + Send + 'static>(name: &str, body: F) -> Result<(), Errno> {
    /// Bytes of its stack, as std's threads have by default.
    const STACK: usize = 2 << 20;
    struct Start<F> {
        name: CString,
        body: F,
    }
    extern "C" fn run<F: FnOnce()>(start: *mut c_void) -> *mut c_void {
        // SAFETY: made by `Box` for this thread.
        let Start { name, body } = *unsafe { Box::from_raw(start.cast::<Start<F>>()) };
        // (A name is for those who look: the thread does without.)
        let _ = rustix::thread::set_name(&name);
        drop(name);
        // (A panic, which has been told, ends the thread, as it does std's.)
        let _ = catch_unwind(AssertUnwindSafe(body));
        ptr::null_mut()
    }
    let name = CString::new(name.replace('\0', "")).expect("no zeros");
    let start = Box::into_raw(Box::new(Start { name, body }));
    // SAFETY: attributes that are made first and given back; the new thread owns what it is started with, if it is.
    let result = unsafe {
        let mut attributes = std::mem::zeroed();
        let mut thread = 0;
        match libc::pthread_attr_init(&mut attributes) {
            0 => {
                libc::pthread_attr_setstacksize(&mut attributes, STACK);
                libc::pthread_attr_setdetachstate(&mut attributes, libc::PTHREAD_CREATE_DETACHED);
                let result = libc::pthread_create(&mut thread, &attributes, run::<F>, start.cast());
                libc::pthread_attr_destroy(&mut attributes);
                result
            }
            error => error,
        }
    };
    match result {
        0 => Ok(()),
        error => {
            // SAFETY: no thread has it.
            drop(unsafe { Box::from_raw(start) });
            Err(Errno::from_raw_os_error(error))
        }
    }
}

/// Whether a `pthread_cancel` of the calling thread waits.
pub(crate) mod cancellation {
    pub(crate) use super::DISABLE;
    use super::{c_int, pthread_setcancelstate};

    /// It does from now on; what was before.
    pub(crate) fn forbid() -> c_int {
        let mut before = DISABLE;
        // SAFETY: writes one number.
        unsafe { pthread_setcancelstate(DISABLE, &raw mut before) };
        before
    }

    /// As it was before.
    pub(crate) fn restore(before: c_int) {
        let mut now = DISABLE;
        // SAFETY: as above; what it was.
        unsafe { pthread_setcancelstate(before, &raw mut now) };
    }
}

/// While it lives, a `pthread_cancel` of the calling thread waits: it would unwind the library's own frames, out of whatever function of
/// libc's they are in, and that ends the process. The thread finds it out at its own next cancellation point.
pub struct Uncancelled {
    before: c_int,
    /// The thread's own.
    _here: PhantomData<*const ()>,
}

impl Uncancelled {
    /// From now on.
    #[must_use]
    pub fn new() -> Uncancelled {
        Uncancelled { before: cancellation::forbid(), _here: PhantomData }
    }
}

impl Default for Uncancelled {
    fn default() -> Uncancelled {
        Uncancelled::new()
    }
}

impl Drop for Uncancelled {
    fn drop(&mut self) {
        cancellation::restore(self.before);
    }
}

/// Waits for the end of a thread, however it ends: what a function of the host's has ended by `pthread_exit` has left nothing for
/// [`JoinHandle::join`] to find.
pub(crate) fn join(thread: JoinHandle<()>) {
    // SAFETY: the handle is given up, so no other code joins it or lets go of it.
    unsafe { libc::pthread_join(thread.into_pthread_t(), ptr::null_mut()) };
}

/// The library, or whatever it is part of, is not unloaded any more: threads that end, and signals, come back to it whenever they like. (Where it is part of the program
/// there is nothing to be done.)
fn stay_loaded() {
    // SAFETY: a query about code of our own, and a library that is loaded already.
    unsafe {
        let mut own = std::mem::zeroed::<libc::Dl_info>();
        if libc::dladdr(stay_loaded as fn() as *const c_void, &mut own) != 0 && !own.dli_fname.is_null() {
            libc::dlopen(own.dli_fname, libc::RTLD_NOW | libc::RTLD_NOLOAD | libc::RTLD_NODELETE);
        }
    }
}

/// What is done on threads that end, among the destructors of their keys.
///
/// Not among those of thread-local variables: on the thread that calls `exit` these run before the handlers of `atexit`, which may use the
/// library. Keys' destructors do not run there at all. Keep what is dropped here in a variable that has no destructor.
pub struct AtThreadEnd {
    key: Once<Option<libc::pthread_key_t>>,
    work: extern "C" fn(*mut c_void),
}

impl AtThreadEnd {
    /// `work` is called with what means nothing.
    #[must_use]
    pub const fn new(work: extern "C" fn(*mut c_void)) -> AtThreadEnd {
        AtThreadEnd { key: Once::new(), work }
    }

    /// Has it done when the calling thread ends; once, and in this round of destructors or the next if the thread is ending. False if the
    /// process has no keys left.
    pub fn arm(&'static self) -> bool {
        let make = || {
            let mut key = 0;
            stay_loaded();
            // SAFETY: the destructor stays.
            (unsafe { libc::pthread_key_create(&mut key, Some(self.work)) } == 0).then_some(key)
        };
        // (Of several threads that come first together each makes a key, and one is used.)
        // SAFETY: any value but null has the destructor called.
        self.key.get(make).is_some_and(|key| unsafe { libc::pthread_setspecific(key, ptr::dangling()) } == 0)
    }

    /// Not any more.
    pub fn disarm(&'static self) {
        if let Some(key) = self.key.get(|| None) {
            // SAFETY: a key of ours.
            unsafe { libc::pthread_setspecific(*key, ptr::null()) };
        }
    }
}
