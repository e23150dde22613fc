//! This program's own `pthread_create`, before libc's: with which signals blocked are threads started?
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::sync::LazyLock;

type Create = unsafe extern "C" fn(
    *mut libc::pthread_t,
    *const libc::pthread_attr_t,
    extern "C" fn(*mut c_void) -> *mut c_void,
    *mut c_void,
) -> c_int;

static REAL: LazyLock<Create> = LazyLock::new(|| {
    // SAFETY: libc has it, with this type.
    unsafe { std::mem::transmute(libc::dlsym(libc::RTLD_NEXT, c"pthread_create".as_ptr())) }
});

/// Signals of processes, which hosts have handlers for.
const HEARD: [c_int; 5] = [libc::SIGINT, libc::SIGTERM, libc::SIGALRM, libc::SIGUSR1, libc::SIGCHLD];

thread_local! {
    /// For each thread that this one has started since it asked: whether all of them were blocked.
    static STARTED: RefCell<Option<Vec<bool>>> = const { RefCell::new(None) };
}

/// How many of these signals this thread has blocked.
fn blocked() -> usize {
    // SAFETY: a query.
    let mask = unsafe {
        let mut mask: libc::sigset_t = std::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut mask);
        mask
    };
    // SAFETY: the set is initialised.
    HEARD.iter().filter(|signal| unsafe { libc::sigismember(&mask, **signal) } == 1).count()
}

/// Of the threads that `work` starts on this thread: which began with all signals blocked; and how many are blocked afterwards.
pub fn started_by(work: impl FnOnce()) -> (Vec<bool>, usize) {
    STARTED.set(Some(Vec::new()));
    work();
    (STARTED.take().expect("set above"), blocked())
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> c_int {
    // (Also called while a thread's storage goes.)
    let _ = STARTED.try_with(|started| {
        if let Some(started) = started.borrow_mut().as_mut() {
            started.push(blocked() == HEARD.len());
        }
    });
    // SAFETY: the caller's arguments.
    unsafe { REAL(thread, attributes, start, argument) }
}
