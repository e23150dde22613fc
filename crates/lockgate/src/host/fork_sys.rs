//! Which process this is: a child of `fork` has memory, objects and locks of its parent's, and none of its threads.
//!
//! A process has a number, which its children do not share: the word that holds it is on a page that the kernel empties in every
//! child (`MADV_WIPEONFORK`), whatever system call made that and whatever handlers ran. Objects remember the number of the process
//! that made them; what belongs to another process is refused, and left alone when it is dropped. The library's own books
//! ([`PerProcess`]) begin anew in each process, so that it does not matter who held their locks, or was changing them, when
//! another thread forked. What a child must find as it was is changed while no thread can fork ([`still`]).
use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The page with the number of this process.
static PAGE: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());
/// The last number that this process or one of its ancestors took.
static LAST: AtomicU64 = AtomicU64::new(0);
/// In place of a number: a thread of a child is about to take one.
const TAKING: u64 = u64::MAX;

/// The number of this process; another one than that of any of its ancestors. A child notices here that it is one.
pub(crate) fn process() -> u64 {
    match peek() {
        0 | TAKING => take_number(),
        number => number,
    }
}

/// The same for signal handlers and destructors: a child that has not noticed yet has no number, and nothing is its own.
pub(crate) fn peek() -> u64 {
    // SAFETY: a page that stays mapped.
    unsafe { PAGE.load(Ordering::Acquire).as_ref() }.map_or(0, |word| word.load(Ordering::Acquire))
}

/// The process that made something: not its children's.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner(u64);

impl Owner {
    /// The calling process.
    pub fn this() -> Owner {
        Owner(process())
    }

    /// True in that process.
    pub fn is_here(self) -> bool {
        self.0 == process()
    }

    /// The same for signal handlers and destructors: a child that has not noticed yet that it is one owns nothing.
    pub(crate) fn may_drop(self) -> bool {
        self.0 == peek()
    }
}

#[cold]
fn take_number() -> u64 {
    let word = word();
    loop {
        match word.compare_exchange(0, TAKING, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                let number = LAST.fetch_add(1, Ordering::AcqRel) + 1;
                if number > 1 {
                    STILL.renew(number);
                    settle();
                }
                word.store(number, Ordering::Release);
                return number;
            }
            Err(TAKING) => std::thread::yield_now(),
            Err(number) => return number,
        }
    }
}

fn word() -> &'static AtomicU64 {
    const SIZE: usize = lockgate_abi::PAGE as usize;
    let known = PAGE.load(Ordering::Acquire);
    if !known.is_null() {
        // SAFETY: a page that stays mapped.
        return unsafe { &*known };
    }
    // SAFETY: a new mapping, which stays if it becomes the page and goes if another thread was faster.
    unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let new = libc::mmap(ptr::null_mut(), SIZE, access, flags, -1, 0);
        assert!(new != libc::MAP_FAILED, "no memory for one page");
        // (Linux 4.14; older ones have been refused.)
        assert!(
            libc::madvise(new, SIZE, libc::MADV_WIPEONFORK) == 0,
            "the kernel does not empty a page in children"
        );
        let new = new.cast::<AtomicU64>();
        match PAGE.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => &*new,
            Err(known) => {
                libc::munmap(new.cast(), SIZE);
                &*known
            }
        }
    }
}

/// What a child does before it is told its number: set once, before there is anything that a child must leave.
static SETTLE: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

fn settle() {
    let settle = SETTLE.load(Ordering::Acquire);
    if !settle.is_null() {
        // SAFETY: `watch_forks` has put a function of this type there.
        unsafe { std::mem::transmute::<*mut (), fn()>(settle)() };
    }
}

/// Has fork(3) wait for threads that are in [`still`], and children notice at once; `settle` runs once in each, before anything else of
/// the library does.
pub(crate) fn watch_forks(settle: fn()) {
    SETTLE.store(settle as *mut (), Ordering::Release);
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if !WATCHED.swap(true, Ordering::AcqRel) {
        // SAFETY: handlers for good: a library with static thread-local storage is never unloaded.
        unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
    }
}

/// Readers change what a child must find as it was; a fork writes. (A fork in a handler, which may have interrupted `malloc`, finds a lock and
/// allocates nothing: so each process has one of these by its number, and a child makes its own anew.)
static STILL: Locks = Locks([const { UnsafeCell::new(RwLock::new(())) }; GENERATIONS]);

/// Locks of parents that calls in progress still hold in a child: none is so much older.
const GENERATIONS: usize = 64;

struct Locks([UnsafeCell<RwLock<()>>; GENERATIONS]);

// SAFETY: a lock is made anew by a process's only thread, or one of whose others wait for that.
unsafe impl Sync for Locks {}

impl Locks {
    /// That of the process with this number.
    fn of(&self, process: u64) -> &UnsafeCell<RwLock<()>> {
        &self.0[(process % GENERATIONS as u64) as usize]
    }

    /// This process's.
    fn get(&self) -> &RwLock<()> {
        // SAFETY: it is made anew in children alone, before they have a number.
        unsafe { &*self.of(process()).get() }
    }

    /// For a process that is about to have this number.
    fn renew(&self, process: u64) {
        // SAFETY: no thread has this process's lock yet.
        unsafe { self.of(process).get().write(RwLock::new(())) };
    }
}

thread_local! {
    /// How many [`Still`] the thread has.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// What a thread that forks holds from before until after. (A value that has to be dropped at the thread's end would be an allocation.)
    static FORKING: Cell<Option<ManuallyDrop<RwLockWriteGuard<'static, ()>>>> = const { Cell::new(None) };
}

/// While it lives no thread of the process is in the middle of a fork. It lives for a moment only: nothing is waited for, and no
/// code of the host's or of a module's runs.
pub struct Still {
    guard: Option<RwLockReadGuard<'static, ()>>,
}

/// Keeps every thread from forking until the value is dropped.
#[doc(hidden)]
pub fn still() -> Still {
    let outermost = DEPTH.try_with(|depth| depth.replace(depth.get() + 1) == 0).unwrap_or(false);
    let guard = outermost.then(|| STILL.get().read().unwrap_or_else(PoisonError::into_inner));
    Still { guard }
}

impl Drop for Still {
    fn drop(&mut self) {
        // While the thread has the lock a fork by a handler of its own must find that it has: it would wait for itself.
        self.guard = None;
        let _ = DEPTH.try_with(|depth| depth.set(depth.get().saturating_sub(1)));
    }
}

/// A lock that is held while no thread can fork.
pub(crate) struct Short<G> {
    guard: G,
    _still: Still,
}

impl<G> Short<G> {
    /// What `lock` gives.
    pub fn new(lock: impl FnOnce() -> G) -> Short<G> {
        let still = still();
        Short { guard: lock(), _still: still }
    }
}

impl<G: Deref> Deref for Short<G> {
    type Target = G::Target;

    fn deref(&self) -> &G::Target {
        &self.guard
    }
}

impl<G: std::ops::DerefMut> std::ops::DerefMut for Short<G> {
    fn deref_mut(&mut self) -> &mut G::Target {
        &mut self.guard
    }
}

extern "C" fn before() {
    // A thread that forks in there would wait for itself.
    if DEPTH.try_with(Cell::get) == Ok(0) {
        let guard = STILL.get().write().unwrap_or_else(PoisonError::into_inner);
        FORKING.set(Some(ManuallyDrop::new(guard)));
        // And so would it if the host's own handlers, of which some run in between, use the library.
        DEPTH.set(1);
    }
}

/// What the calling thread has held since [`before`].
fn forked() -> Option<ManuallyDrop<RwLockWriteGuard<'static, ()>>> {
    let guard = FORKING.take();
    if guard.is_some() {
        DEPTH.set(DEPTH.get().saturating_sub(1));
    }
    guard
}

extern "C" fn in_parent() {
    drop(forked().map(ManuallyDrop::into_inner));
}

extern "C" fn in_child() {
    // The child's lock is another one.
    forked();
    // The kernel has emptied the page. What an earlier handler of the host's has made here since is this process's own.
    process();
}

/// What each process has one of, made when it is first asked for. What a child's parent had stays where it is, untouched.
#[doc(hidden)]
pub struct PerProcess<T> {
    now: AtomicPtr<Made<T>>,
    make: fn() -> T,
    kind: PhantomData<T>,
}

struct Made<T> {
    owner: Owner,
    value: T,
}

// SAFETY: threads that share it share and drop `T`s that any of them made.
unsafe impl<T: Send + Sync> Sync for PerProcess<T> {}

impl<T> PerProcess<T> {
    /// Nothing yet.
    pub const fn new(make: fn() -> T) -> PerProcess<T> {
        PerProcess { now: AtomicPtr::new(ptr::null_mut()), make, kind: PhantomData }
    }

    /// This process's.
    pub fn get(&self) -> &T {
        let owner = Owner::this();
        loop {
            let known = self.now.load(Ordering::Acquire);
            // SAFETY: what was made lives as long as `self`, or for good.
            if let Some(made) = unsafe { known.as_ref() }
                && made.owner == owner
            {
                return &made.value;
            }
            let new = Box::into_raw(Box::new(Made { owner, value: (self.make)() }));
            if self.now.compare_exchange(known, new, Ordering::AcqRel, Ordering::Acquire).is_err() {
                // SAFETY: just made; no other thread has seen it.
                drop(unsafe { Box::from_raw(new) });
            }
        }
    }

    /// This process's, if it was asked for before.
    pub fn known(&mut self) -> Option<&mut T> {
        // SAFETY: as above, and no other thread has `self`.
        let made = unsafe { self.now.get_mut().as_mut() };
        made.filter(|made| made.owner.may_drop()).map(|made| &mut made.value)
    }
}

impl<T> Deref for PerProcess<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.get()
    }
}

impl<T: Default> Default for PerProcess<T> {
    fn default() -> Self {
        PerProcess::new(T::default)
    }
}

impl<T> Drop for PerProcess<T> {
    fn drop(&mut self) {
        if self.known().is_some() {
            // SAFETY: made by `get`, and no other code has `self`.
            drop(unsafe { Box::from_raw(*self.now.get_mut()) });
        }
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for PerProcess<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

/// What is made once and stays, in a process and its children. Threads that come at the same time each make one, and the first
/// is kept: no thread is waited for, which might be in the parent.
pub(crate) struct Once<T>(AtomicPtr<T>, PhantomData<T>);

// SAFETY: threads that share it share a `T` that any of them made.
unsafe impl<T: Send + Sync> Sync for Once<T> {}

impl<T> Once<T> {
    /// Nothing yet.
    pub const fn new() -> Once<T> {
        Once(AtomicPtr::new(ptr::null_mut()), PhantomData)
    }

    /// The value.
    pub fn get(&self, make: impl FnOnce() -> T) -> &T {
        let known = self.0.load(Ordering::Acquire);
        if !known.is_null() {
            // SAFETY: kept as long as `self`.
            return unsafe { &*known };
        }
        let new = Box::into_raw(Box::new(make()));
        match self.0.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: kept as long as `self`.
            Ok(_) => unsafe { &*new },
            Err(known) => {
                // SAFETY: the new one was seen by no other thread; the known one is kept as long as `self`.
                unsafe {
                    drop(Box::from_raw(new));
                    &*known
                }
            }
        }
    }
}

impl<T> Drop for Once<T> {
    fn drop(&mut self) {
        let made = *self.0.get_mut();
        if !made.is_null() {
            // SAFETY: made by `get`, and no other code has `self`.
            drop(unsafe { Box::from_raw(made) });
        }
    }
}
