//! What all functions of the bindings need. Written by `lockgate stubs`, do not edit.
//!
//! The client in C checks what the library gives; this file checks what C would have believed of the program: sizes of
//! buffers, ends of strings, lives of closures.
use std::any::Any;
use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// Why a call did not return a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The domain could not be made.
    Start,
    /// The library crashed, ran out of time or was killed.
    Fault,
    /// It returned a pointer to memory that it does not have.
    Pointer,
    /// It returned a string without an end.
    String,
    /// It returned a length beyond the buffer.
    Length,
    /// A handle that was never given out, or is of another type or domain.
    Handle,
    /// A function pointer that was never given, or a closure that has ended.
    Callback,
    /// User data that was never given.
    Data,
    /// A null pointer where there may be none.
    Null,
    /// A size that overflows, is negative, or is larger than the buffer; a zero within a string.
    Size,
    /// No memory for copies.
    Memory,
    /// A number that the enumeration does not have.
    Value,
    /// What errno said.
    Os(i32),
}

/// Why a call did not return a value. The program is as it was before the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// What kind of failure.
    pub kind: ErrorKind,
    /// Function of the API, or type of a callback; empty if the call was not made.
    pub function: String,
    /// Parameter, field or `result`.
    pub what: String,
    /// All of it in a sentence; of a fault, the report with its source line.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl Error {
    pub(crate) fn new(kind: ErrorKind, what: &str, message: &str) -> Error {
        Error { kind, function: String::new(), what: what.to_owned(), message: format!("{what}: {message}") }
    }
}

/// `struct lg_stub_error`.
#[repr(C)]
struct StubError {
    kind: c_int,
    function: *const c_char,
    what: *const c_char,
    message: [c_char; 192],
}

unsafe extern "C" {
    #[link_name = "lg_@NAME@_take_error"]
    fn take_error(error: *mut StubError) -> c_int;
    #[link_name = "lg_@NAME@_report"]
    fn report(error: *const StubError) -> *const c_char;
    #[link_name = "lg_@NAME@_take_number"]
    fn take_number() -> c_int;
    #[link_name = "lg_@NAME@_is_left"]
    fn is_left(handle: *const c_void) -> c_int;
    #[link_name = "lg_@NAME@_given"]
    fn given() -> usize;
    #[link_name = "lg_@NAME@_fill"]
    fn fill_with(contents: *const u8, size: usize);
    fn lg_end_call(message: *const c_char) -> c_int;
    #[link_name = "free"]
    fn heap_free(at: *mut c_void);
}

/// Why a closure has ended the call that it was called in.
enum End {
    Panic(Box<dyn Any + Send>),
    Error(Error),
}

thread_local! {
    /// Without a destructor: handles in other thread-locals are dropped when this one's would have run, and the library decides whether that fails.
    static END: Cell<Option<ManuallyDrop<End>>> = const { Cell::new(None) };
}

/// Takes why the thread's call has ended, and leaves `why` there.
fn replace_end(why: Option<End>) -> Option<End> {
    END.replace(why.map(ManuallyDrop::new)).map(ManuallyDrop::into_inner)
}

/// Makes a call of the client's. A panic of a closure that the library called goes on here.
pub(crate) fn call<R>(function: impl FnOnce() -> R) -> Result<R, Error> {
    let result = function();
    let mut error = StubError { kind: 0, function: c"".as_ptr(), what: c"".as_ptr(), message: [0; 192] };
    // SAFETY: the client fills the structure.
    if unsafe { take_error(&raw mut error) } == 0 {
        return Ok(result);
    }
    match replace_end(None) {
        Some(End::Panic(panic)) if !thread::panicking() => resume_unwind(panic),
        Some(End::Error(error)) => return Err(error),
        _ => {}
    }
    let kind = match error.kind {
        1 => ErrorKind::Start,
        2 => ErrorKind::Fault,
        3 => ErrorKind::Pointer,
        4 => ErrorKind::String,
        5 => ErrorKind::Length,
        6 => ErrorKind::Handle,
        7 => ErrorKind::Callback,
        8 => ErrorKind::Data,
        9 => ErrorKind::Null,
        10 => ErrorKind::Size,
        _ => ErrorKind::Memory,
    };
    // SAFETY: names are literals of the client's, the texts end with a zero.
    let text = |text: *const c_char| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    // SAFETY: it is the thread's, until the next call.
    let message = text(unsafe { report(&raw const error) });
    Err(Error { kind, function: text(error.function), what: text(error.what), message })
}

/// The same for a function that says by errno what is wrong.
pub(crate) fn call_errno<R>(function: impl FnOnce() -> R) -> Result<R, Error> {
    let result = call(function)?;
    // SAFETY: a number.
    match unsafe { take_number() } {
        number if number != 0 => {
            let message = std::io::Error::from_raw_os_error(number).to_string();
            Err(Error { kind: ErrorKind::Os(number), ..Error::new(ErrorKind::Size, "result", &message) })
        }
        _ => Ok(result),
    }
}

/// A place in the library's memory, for functions that take one back: nothing is found there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place(pub(crate) *mut c_void);

// SAFETY: a number; the client alone looks at it.
unsafe impl Send for Place {}
// SAFETY: as above.
unsafe impl Sync for Place {}

/// A copy of a string of the library's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    text: CString,
    place: Place,
}

impl Text {
    /// Where the library has it: what its own `free` takes.
    pub fn place(&self) -> Place {
        self.place
    }
}

impl std::ops::Deref for Text {
    type Target = CStr;
    fn deref(&self) -> &CStr {
        &self.text
    }
}

impl From<&Text> for Place {
    fn from(text: &Text) -> Place {
        text.place
    }
}

impl From<&Text> for Option<Place> {
    fn from(text: &Text) -> Option<Place> {
        Some(text.place)
    }
}

/// A copy of memory of the library's.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory<T> {
    values: Vec<T>,
    place: Place,
}

impl<T> Memory<T> {
    /// Where the library has it: what its own `free` takes.
    pub fn place(&self) -> Place {
        self.place
    }
}

impl<T> std::ops::Deref for Memory<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.values
    }
}

impl<T> From<&Memory<T>> for Place {
    fn from(memory: &Memory<T>) -> Place {
        memory.place
    }
}

impl<T> From<&Memory<T>> for Option<Place> {
    fn from(memory: &Memory<T>) -> Option<Place> {
        Some(memory.place)
    }
}

/// A string that goes in: `&str`, `&String`, `&CStr`, `&CString`, or an `Option` of these; `None` is a null pointer.
pub trait IntoText {
    /// The string as C wants it.
    fn into_text(self) -> Result<Option<CString>, Error>;
}

impl IntoText for &str {
    fn into_text(self) -> Result<Option<CString>, Error> {
        CString::new(self).map(Some).map_err(|_| Error::new(ErrorKind::Size, "string", "there is a zero within it"))
    }
}

impl IntoText for &String {
    fn into_text(self) -> Result<Option<CString>, Error> {
        self.as_str().into_text()
    }
}

impl IntoText for &CStr {
    fn into_text(self) -> Result<Option<CString>, Error> {
        Ok(Some(self.to_owned()))
    }
}

impl IntoText for &CString {
    fn into_text(self) -> Result<Option<CString>, Error> {
        Ok(Some(self.clone()))
    }
}

impl<T: IntoText> IntoText for Option<T> {
    fn into_text(self) -> Result<Option<CString>, Error> {
        self.map_or(Ok(None), T::into_text)
    }
}

/// The pointer of a string that goes in.
pub(crate) fn pointer(text: &Option<CString>) -> *const c_char {
    text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())
}

/// A copy of a string that the client has given.
pub(crate) fn text(at: *const c_char) -> Option<Text> {
    // SAFETY: the client has found its end, and zeros follow whatever another thread makes of it.
    let bytes = |at| unsafe { CStr::from_ptr(at) }.to_bytes().to_vec();
    let place = Place(at.cast_mut().cast());
    // Whatever it is by now, it ends at the first zero.
    let bytes = (!at.is_null()).then(|| bytes(at))?;
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    Some(Text { text: CString::new(&bytes[..end]).unwrap_or_default(), place })
}

/// Gives back a piece of the C library's heap.
///
/// # Safety
/// It is one that the client has given to be freed, and it is not used any more.
pub(crate) unsafe fn free(at: *mut c_void) {
    // SAFETY: by the caller.
    unsafe { heap_free(at) };
}

/// Types whose every value that the client gives is valid.
///
/// # Safety
/// They consist of numbers, which may be anything, and of `bool`s, which the client has made 0 or 1; without pointers.
pub unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($name:ty)*) => {$(
        // SAFETY: a number.
        unsafe impl Plain for $name {}
    )*};
}
plain!(bool u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

/// `count` values that the client has given.
///
/// # Safety
/// There are so many, or `at` is null.
pub(crate) unsafe fn values<T: Plain>(at: *const T, count: usize) -> Option<Vec<T>> {
    // SAFETY: by the caller; copies of the client's may lie anywhere.
    let value = |number| unsafe { at.add(number).read_unaligned() };
    (!at.is_null()).then(|| (0..count).map(value).collect())
}

/// All of the memory that the call which has just been made gave as its result.
///
/// # Safety
/// `at` is that result.
pub(crate) unsafe fn memory<T: Plain>(at: *const T) -> Option<Memory<T>> {
    let place = Place(at.cast_mut().cast());
    // SAFETY: the client says how many bytes it has copied there.
    unsafe { values(at, given() / size_of::<T>()) }.map(|values| Memory { values, place })
}

thread_local! {
    static FILLING: Cell<(*const u8, usize)> = const { Cell::new((std::ptr::null(), 0)) };
}

/// The client fills what the library lends with this, until it is dropped: a handle is shared by threads, and another one's call may take such memory
/// away as soon as the call has returned.
pub(crate) struct Filling<'a> {
    outer: (*const u8, usize),
    contents: &'a [u8],
}

impl<'a> Filling<'a> {
    pub(crate) fn with(contents: &'a [u8]) -> Filling<'a> {
        let own = (contents.as_ptr(), contents.len());
        // SAFETY: they are there until this is dropped.
        unsafe { fill_with(own.0, own.1) };
        Filling { outer: FILLING.replace(own), contents }
    }

    /// As much was lent as there is, whatever was asked for.
    pub(crate) fn is_in(self) -> Result<(), Error> {
        // SAFETY: a number.
        let room = unsafe { given() };
        if self.contents.len() > room {
            let message = format!("the library lent {room} bytes for {}", self.contents.len());
            return Err(Error::new(ErrorKind::Length, "contents", &message));
        }
        Ok(())
    }
}

impl Drop for Filling<'_> {
    fn drop(&mut self) {
        FILLING.set(self.outer);
        // SAFETY: what a call further out fills with, or nothing.
        unsafe { fill_with(self.outer.0, self.outer.1) };
    }
}

/// Elements of the structures that the call which has just been made gave as its result.
pub(crate) fn given_of<T>() -> usize {
    // SAFETY: a number.
    unsafe { given() / size_of::<T>() }
}

/// A length as the type that the API has for it.
pub(crate) fn length<T: TryFrom<usize>>(length: usize, what: &str) -> Result<T, Error> {
    T::try_from(length).map_err(|_| Error::new(ErrorKind::Size, what, "the API has no number for so many elements"))
}

/// `needed` elements, as the annotations' expression says, are in a buffer of `there`.
pub(crate) fn enough(needed: Option<i128>, there: usize, what: &str) -> Result<(), Error> {
    match needed {
        Some(needed) if (0..=there as i128).contains(&needed) => Ok(()),
        Some(needed) => {
            Err(Error::new(ErrorKind::Size, what, &format!("the call needs {needed} elements, but there are {there}")))
        }
        None => Err(Error::new(ErrorKind::Size, what, "its size overflows")),
    }
}

/// C's `strlen` of a buffer; without a zero in it, there is none.
pub(crate) fn strlen(buffer: &[u8]) -> Option<i128> {
    buffer.iter().position(|byte| *byte == 0).map(|length| length as i128)
}

/// A pointer into an object that went in, as an offset.
pub(crate) fn offset(at: *const c_char, object: *const c_char) -> Option<usize> {
    (!at.is_null()).then(|| (at as usize).wrapping_sub(object as usize))
}

/// A structure that the library remembers.
pub(crate) trait Kept {
    /// The buffers of a call are gone.
    fn without_buffers(&mut self);
    /// What was begun with it has ended.
    fn is_over(&mut self);
}

/// One that takes part in a call. However that ends, by a panic of the program's among others, no buffer of the call stays in it.
pub(crate) struct Use<'a, T: Kept> {
    own: &'a mut T,
    /// The call is made, and ends what was begun.
    pub(crate) releases: bool,
}

impl<'a, T: Kept> Use<'a, T> {
    pub(crate) fn of(own: &'a mut T) -> Use<'a, T> {
        Use { own, releases: false }
    }
}

impl<T: Kept> std::ops::Deref for Use<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.own
    }
}

impl<T: Kept> std::ops::DerefMut for Use<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.own
    }
}

impl<T: Kept> Drop for Use<'_, T> {
    fn drop(&mut self) {
        self.own.without_buffers();
        if self.releases {
            self.own.is_over();
        }
    }
}

// ---- closures that the library calls ---------------------------------------------------------------------------------------

/// Closures of one type that can exist at a time: each needs a function of its own, by which the library knows it.
pub(crate) const SLOTS: usize = 256;

/// That of a handle: as long as it lasts, the library may hold what it was given with it. It is over when the call that ends the handle has succeeded.
#[derive(Debug, Clone)]
pub(crate) struct Life(Arc<AtomicBool>);

impl Life {
    pub(crate) fn begun() -> Life {
        Life(Arc::default())
    }

    pub(crate) fn end(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Ends with the domain of its handle, which will release it no more.
    pub(crate) fn end_with_domain(&self, handle: *const c_void) {
        // SAFETY: the client looks the handle up.
        if unsafe { is_left(handle) } != 0 {
            self.end();
        }
    }

    fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a closure is passed with: a handle, whose life may be the library's, or none.
pub(crate) enum With<'l> {
    Nothing,
    Handle(Option<&'l Life>),
}

/// A handle that a call ends, or puts another in the place of.
pub(crate) struct Ending {
    pub(crate) raw: *mut c_void,
    before: *mut c_void,
    pub(crate) life: Option<Life>,
}

impl Ending {
    pub(crate) fn new(raw: *mut c_void, life: Option<Life>) -> Ending {
        life.iter().for_each(|life| life.end_with_domain(raw));
        Ending { raw, before: raw, life }
    }

    pub(crate) fn with(&self) -> With<'_> {
        if self.before.is_null() { With::Nothing } else { With::Handle(self.life.as_ref()) }
    }

    pub(crate) fn none() -> Ending {
        Ending::new(std::ptr::null_mut(), None)
    }

    /// The call has succeeded.
    pub(crate) fn end(&self) {
        self.life.iter().for_each(Life::end);
    }

    /// The life of what is in its place behind the call: the one that was there, or another one, which is the program's to end. `over`: so is that of the first.
    pub(crate) fn left(&mut self, over: bool) -> Option<Life> {
        if self.raw == self.before {
            return self.life.take();
        }
        if over {
            self.end();
        }
        Some(Life::begun())
    }
}

/// Which closures run on which threads, and which threads wait for which of them; closures are known by their numbers.
///
/// A closure runs on one thread at a time; others wait. It is the library that chooses what is called within what: two threads that run one each and want the
/// other's would wait for ever, whatever limit of time the domain has. So the last one of such a ring is refused.
struct Turns {
    running: Vec<(usize, ThreadId)>,
    waiting: Vec<(ThreadId, usize)>,
}

static TURNS: Mutex<Turns> = Mutex::new(Turns { running: Vec::new(), waiting: Vec::new() });
static TURN_ENDS: Condvar = Condvar::new();

impl Turns {
    fn owner(&self, serial: usize) -> Option<ThreadId> {
        self.running.iter().find(|(own, _)| *own == serial).map(|(_, thread)| *thread)
    }

    /// Whether `one` waits for `other`, or for a thread that does.
    fn waits_for(&self, one: ThreadId, other: ThreadId) -> bool {
        let wanted = |one| self.waiting.iter().find(|(thread, _)| *thread == one);
        let next = |one: &ThreadId| wanted(*one).and_then(|(_, serial)| self.owner(*serial));
        std::iter::successors(next(&one), next).any(|thread| thread == other)
    }
}

/// A closure runs on this thread until this is dropped.
struct Turn(usize);

impl Turn {
    fn new(serial: usize) -> Result<Turn, Error> {
        let here = thread::current().id();
        let mut turns = lock(&TURNS);
        while let Some(owner) = turns.owner(serial) {
            let refused = match owner == here {
                true => Some("the library calls it while it is running"),
                false if turns.waits_for(owner, here) => {
                    Some("the library calls it while it is running on a thread that waits for this one")
                }
                false => None,
            };
            if let Some(message) = refused {
                return Err(Error::new(ErrorKind::Callback, "closure", message));
            }
            turns.waiting.push((here, serial));
            turns = TURN_ENDS.wait(turns).unwrap_or_else(PoisonError::into_inner);
            turns.waiting.retain(|(thread, _)| *thread != here);
        }
        turns.running.push((serial, here));
        Ok(Turn(serial))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut turns = lock(&TURNS);
        turns.running.retain(|(serial, _)| *serial != self.0);
        if !turns.waiting.is_empty() {
            TURN_ENDS.notify_all();
        }
    }
}

/// A closure.
pub(crate) struct Held<F: ?Sized> {
    /// No two have the same.
    serial: usize,
    /// It was passed without this, too.
    bare: AtomicBool,
    function: Mutex<Box<F>>,
}

/// A function by which the library knows a closure.
pub(crate) struct Position<F: ?Sized> {
    held: Option<Arc<Held<F>>>,
    /// Those of handles that it was passed with where it is told from others by nothing else.
    lives: Vec<Life>,
    /// It was passed so without a handle that ends.
    for_good: bool,
}

impl<F: ?Sized> Position<F> {
    fn passed(&mut self, life: Option<&Life>) {
        let Some(life) = life else {
            self.for_good = true;
            return;
        };
        if self.lives.len() == self.lives.capacity() {
            self.lives.retain(|life| !life.is_over());
            self.lives.sort_unstable_by_key(|life| Arc::as_ptr(&life.0));
            self.lives.dedup_by_key(|life| Arc::as_ptr(&life.0));
            self.lives.reserve(self.lives.len() + 16);
        }
        self.lives.push(life.clone());
    }

    /// No closure has it, and the library can take none for another.
    fn is_free(&self) -> bool {
        self.held.is_none() && !self.for_good && self.lives.iter().all(Life::is_over)
    }
}

/// The closures of one type.
pub(crate) struct Slots<F: ?Sized>(Mutex<Vec<Position<F>>>);

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<F: ?Sized> Slots<F> {
    pub(crate) const fn new() -> Slots<F> {
        Slots(Mutex::new(Vec::new()))
    }
}

/// The place of one closure among those of its type. When it is dropped, another closure gets it only if the library cannot take that for this one.
pub(crate) struct Slot<F: ?Sized + 'static> {
    slots: &'static Slots<F>,
    number: usize,
    serial: usize,
}

impl<F: ?Sized> Slot<F> {
    pub(crate) fn new(slots: &'static Slots<F>, function: Box<F>) -> Result<Slot<F>, Error> {
        static SERIALS: AtomicUsize = AtomicUsize::new(1);
        let serial = SERIALS.fetch_add(1, Ordering::Relaxed);
        let held = Arc::new(Held {
            serial,
            bare: AtomicBool::new(false),
            function: Mutex::new(function),
        });
        let mut all = lock(&slots.0);
        let free = all.iter().position(Position::is_free).unwrap_or(all.len());
        if free == SLOTS {
            let message = "there are 256 of this type already, or the library may hold them still";
            return Err(Error::new(ErrorKind::Memory, "closure", message));
        }
        let position = Position { held: Some(held), lives: Vec::new(), for_good: false };
        match all.get_mut(free) {
            Some(place) => *place = position,
            None => all.push(position),
        }
        Ok(Slot { slots, number: free, serial })
    }

    /// Its function's number, for a call that passes it.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// A call passes it, or has, with nothing else by which it is known, and the library may have it as long as this life lasts.
    pub(crate) fn passed(&self, life: Option<&Life>) {
        if let Some(position) = lock(&self.slots.0).get_mut(self.number) {
            position.passed(life);
            position.held.iter().for_each(|held| held.bare.store(true, Ordering::Relaxed));
        }
    }

    /// The same of a call with these handles. Without one the library may have it as long as `made` lasts, or for good.
    pub(crate) fn passed_with(&self, handles: &[With<'_>], made: Option<&Life>) {
        let lives = || handles.iter().filter_map(|with| match with {
            With::Nothing => None,
            With::Handle(life) => Some(*life),
        });
        lives().for_each(|life| self.passed(life));
        if lives().next().is_none() {
            self.passed(made);
        }
    }

    /// The user data that it is passed with.
    pub(crate) fn data(&self) -> *mut c_void {
        std::ptr::without_provenance_mut(self.serial)
    }
}

impl<F: ?Sized> Drop for Slot<F> {
    fn drop(&mut self) {
        // What the closure owns may call back in here.
        let held = lock(&self.slots.0)[self.number].held.take();
        drop(held);
    }
}

/// Ends the call that the library's call of a closure came from.
fn end(why: End) {
    drop(replace_end(Some(why)));
    // SAFETY: copied.
    unsafe { lg_end_call(c"a closure of the program's has ended it".as_ptr()) };
}

/// The library calls closure `number`, with this user data: `run` does. A panic ends the library's call and goes on in the program's.
pub(crate) fn enter<F: ?Sized, R: Default>(
    slots: &'static Slots<F>,
    number: usize,
    data: *mut c_void,
    run: impl FnOnce(&mut F) -> Result<R, Error>,
) -> R {
    let held = lock(&slots.0).get(number).and_then(|position| position.held.clone());
    // (Without data it is known by its function alone.)
    let meant = |held: &&Arc<Held<F>>| match data.addr() {
        0 => held.bare.load(Ordering::Relaxed),
        serial => serial == held.serial,
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let Some(held) = held.as_ref().filter(meant) else {
            let message = "what the library calls has been dropped";
            return Err(Error::new(ErrorKind::Callback, "closure", message));
        };
        let _turn = Turn::new(held.serial)?;
        let mut function = lock(&held.function);
        run(&mut function)
    }));
    // What the closure owns may end here: it may panic, and make calls, which would be failures if this call's end were known by now.
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(held)));
    match outcome.and_then(|outcome| dropped.map(|()| outcome)) {
        Ok(Ok(result)) => result,
        Ok(Err(error)) => {
            end(End::Error(error));
            R::default()
        }
        Err(panic) => {
            end(End::Panic(panic));
            R::default()
        }
    }
}

/// A table of the function for each place among the closures of a type.
macro_rules! table {
    ($function:ident) => {
        $crate::support::table!(@sixteen $function 0 16 32 48 64 80 96 112 128 144 160 176 192 208 224 240)
    };
    (@sixteen $function:ident $($base:literal)*) => {
        [$(
            $function::<{ $base }>, $function::<{ $base + 1 }>, $function::<{ $base + 2 }>, $function::<{ $base + 3 }>,
            $function::<{ $base + 4 }>, $function::<{ $base + 5 }>, $function::<{ $base + 6 }>, $function::<{ $base + 7 }>,
            $function::<{ $base + 8 }>, $function::<{ $base + 9 }>, $function::<{ $base + 10 }>, $function::<{ $base + 11 }>,
            $function::<{ $base + 12 }>, $function::<{ $base + 13 }>, $function::<{ $base + 14 }>, $function::<{ $base + 15 }>,
        )*]
    };
}
pub(crate) use table;
