//! A kernel that refuses: the n-th change of address space fails. A filter asks a thread of the test's about each (seccomp_unotify(2)), which
//! lets it be done, or answers itself.
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

/// How a refused call leaves the place that it was to replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// As it was.
    Untouched,
    /// Empty, as kernels before 6.12 may do with what a mapping is to replace, and all kernels where a file says no.
    Emptied,
}

static FROM: AtomicU64 = AtomicU64::new(0);
static TO: AtomicU64 = AtomicU64::new(0);
static EMPTIES: AtomicBool = AtomicBool::new(false);
/// Calls until the one that is refused; below that, how many came after it.
static LEFT: AtomicI64 = AtomicI64::new(i64::MAX);
/// Calls from one that is refused to the next, if that is refused, too.
static AGAIN: AtomicI64 = AtomicI64::new(0);
/// The last number of a call that was refused, and the first one's.
static LAST: AtomicI64 = AtomicI64::new(-1);
static FIRST: AtomicI64 = AtomicI64::new(-1);

/// Whether a call changes, or may change, what lies in the reservation, or prepares that.
fn counts(number: i64, [a, _, _, flags, d, _]: [u64; 6]) -> bool {
    let reserved = |at: u64| (FROM.load(Ordering::Relaxed)..TO.load(Ordering::Relaxed)).contains(&at);
    match number {
        // With a file: what is staged.
        libc::SYS_mmap => reserved(a) || (d as i32 >= 0 && flags as i32 & libc::MAP_FIXED == 0),
        libc::SYS_mremap => true,
        _ => reserved(a),
    }
}

/// `struct seccomp_notif` of linux/seccomp.h.
#[repr(C)]
struct Question {
    id: u64,
    thread: u32,
    flags: u32,
    number: i32,
    architecture: u32,
    instruction: u64,
    arguments: [u64; 6],
}

/// `struct seccomp_notif_resp`.
#[repr(C)]
struct Answer {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

/// Answers the filter's questions. It allocates nothing: whoever waits for an answer may hold the allocator's lock.
fn answer(listener: i32) {
    const RECEIVE: libc::c_ulong = 0xc050_2100;
    const SEND: libc::c_ulong = 0xc018_2101;
    loop {
        // SAFETY: the kernel fills the question, which must be zeros, and reads the answer.
        unsafe {
            let mut question: Question = std::mem::zeroed();
            if libc::ioctl(listener, RECEIVE, &raw mut question) != 0 {
                continue;
            }
            // Flag 1: let it be done.
            let mut answer = Answer { id: question.id, value: 0, error: 0, flags: 1 };
            if refuses(question.number.into(), question.arguments) {
                (answer.error, answer.flags) = (-libc::ENOMEM, 0);
            }
            libc::ioctl(listener, SEND, &raw mut answer);
        }
    }
}

fn refuses(number: i64, arguments: [u64; 6]) -> bool {
    if !counts(number, arguments) {
        return false;
    }
    let left = LEFT.fetch_sub(1, Ordering::Relaxed);
    let again = AGAIN.load(Ordering::Relaxed);
    if left != 1 && (again == 0 || left != 1 - again) {
        return false;
    }
    let _ = FIRST.compare_exchange(-1, number, Ordering::Relaxed, Ordering::Relaxed);
    LAST.store(number, Ordering::Relaxed);
    let [a, b, c, d, e, _] = arguments;
    let fixed = match number {
        libc::SYS_mmap => (d as i32 & 0x10_0010 == libc::MAP_FIXED).then_some((a, b)),
        libc::SYS_mremap => (d as i32 & libc::MREMAP_FIXED != 0).then_some((e, c)),
        _ => None,
    };
    if let (true, Some((at, length))) = (EMPTIES.load(Ordering::Relaxed), fixed) {
        // SAFETY: what the kernel would do; the place was to be replaced.
        unsafe { libc::munmap(at as *mut libc::c_void, length as usize) };
    }
    true
}

/// From now on the `n`-th call that changes `reservation` fails, and with `again` the one that comes so many later.
/// 0: none.
pub fn refuse(reservation: Range<u64>, n: u32, again: u32, manner: Manner) {
    FROM.store(reservation.start, Ordering::Relaxed);
    TO.store(reservation.end, Ordering::Relaxed);
    EMPTIES.store(manner == Manner::Emptied, Ordering::Relaxed);
    AGAIN.store(again.into(), Ordering::Relaxed);
    LEFT.store(if n == 0 { i64::MAX } else { n.into() }, Ordering::Relaxed);
    install();
}

/// No call fails any more. The numbers of the first and the last that did, if one did.
pub fn relent() -> Option<(i64, i64)> {
    LEFT.store(i64::MAX, Ordering::Relaxed);
    let first = FIRST.load(Ordering::Relaxed);
    (first >= 0).then(|| (first, LAST.load(Ordering::Relaxed)))
}

/// Asks about every change of address space that the calling thread makes, and threads that it starts, for good.
fn install() {
    const LOAD: u16 = 0x20;
    const EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let number = |number: i64, yes: u8| step(EQUAL, yes, 0, number as u32);
    let filter = [
        step(LOAD, 0, 0, 0), // the call's number
        number(libc::SYS_mmap, 5),
        number(libc::SYS_mprotect, 4),
        number(libc::SYS_munmap, 3),
        number(libc::SYS_mremap, 2),
        number(libc::SYS_madvise, 1),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
        step(RETURN, 0, 0, libc::SECCOMP_RET_USER_NOTIF),
    ];
    let (send, receive) = std::sync::mpsc::channel();
    // The one who answers has to be there before, for its own calls are asked about otherwise.
    let (ready, is_ready) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        ready.send(()).expect("somebody waits");
        answer(receive.recv().expect("the descriptor"));
    });
    is_ready.recv().expect("it runs");
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the filter is a program for the kernel, which checks it.
    let listener = unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let (set, listener) = (libc::SECCOMP_SET_MODE_FILTER, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER);
        libc::syscall(libc::SYS_seccomp, set, listener, &raw const program)
    };
    assert!(listener >= 0, "seccomp: {}", std::io::Error::last_os_error());
    send.send(listener as i32).expect("it waits");
}

/// Memory that can be shared with domains in place: `length` bytes.
pub fn shared_memory(length: usize) -> *mut u8 {
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping where the kernel likes.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), length, access, flags, -1, 0) };
    assert_ne!(at, libc::MAP_FAILED);
    at.cast()
}

/// A region of that memory.
pub fn region(at: *mut u8, length: u64) -> Result<lockgate::Region, lockgate::GrantError> {
    // SAFETY: nothing of Rust's points there, and nobody unmaps it.
    unsafe { lockgate::Region::from_host(at, length, lockgate::Rights::ReadWrite) }
}
