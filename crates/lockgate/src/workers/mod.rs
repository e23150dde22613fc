//! Asynchronous calls: threads that call domains for others (docs/limits.md).
mod functions_sys;
mod handle;
mod lent_sys;
mod task;

pub use handle::AsyncCall;
use task::{Call, Job, Place, Stop, Task};

use crate::call::{AnyDomain, mask_sys, repair_sys, signals_sys};
use crate::domain::Domain;
use crate::error::{CallError, CreateError};
use crate::host::{self, AtThreadEnd, Owner, PerProcess, end_after, locked, threads_sys};
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;
use std::io;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Threads that run calls for others, and for each domain a queue of bounded length.
///
/// Calls of one domain begin in the order in which they were made. Dropping the workers cancels whatever has not ended;
/// [`finish`](Workers::finish) waits for it.
///
/// ```no_run
/// # use lockgate::{Domain, DomainOptions, Module, Workers};
/// # let domain = Domain::new(&Module::open("libm.lg")?, DomainOptions::new())?;
/// let workers = Workers::new(4, 100)?;
/// let cbrt = domain.bind::<extern "C" fn(f64) -> f64>("cbrt")?;
/// let pending = cbrt.call_async(&workers, 27.0)?;
/// assert_eq!(pending.wait()?, 3.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Workers {
    threads: usize,
    capacity: usize,
    /// A forked child begins without, and starts its own for its first call.
    crew: PerProcess<Mutex<Option<Crew>>>,
}

/// The workers of one process.
struct Crew {
    shared: Arc<Shared>,
}

/// Where an asynchronous call goes: to workers, perhaps with a deadline ([`Workers::within`]).
#[derive(Clone, Copy)]
pub struct Submission<'a> {
    workers: &'a Workers,
    deadline: Option<Instant>,
}

impl<'a> From<&'a Workers> for Submission<'a> {
    fn from(workers: &'a Workers) -> Self {
        Submission { workers, deadline: None }
    }
}

/// What workers and handles share.
struct Shared {
    books: Mutex<Books>,
    /// A job has come, or the end.
    work: Condvar,
    /// A deadline has come, or the end.
    clock: Condvar,
    capacity: usize,
    /// Whose threads they are.
    owner: Owner,
    /// The mask of the thread that started them.
    mask: Option<u64>,
    /// Those that were not joined. One that is lost starts another in its place before it ends.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// What a thread is at, of which it finds itself out when it ends: by `pthread_exit` in a function of the host's, whose frames are
/// all that ends then.
struct Attendance {
    shared: Arc<Shared>,
    job: Arc<dyn Job>,
    /// The timekeeper, which ends what has not begun.
    keeps_time: bool,
}

/// What is left of a job when its thread has ended: another thread takes both places.
fn goes_on(job: Arc<dyn Job>, keeps_time: bool) -> impl FnOnce(&Arc<Shared>) + Send + 'static {
    move |shared| {
        // The code that is told may end the thread once more.
        Attendance { shared: shared.clone(), job: job.clone(), keeps_time }.begin();
        shared.lose(&job);
        Attendance::end();
        if !shared.owner.is_here() {
            std::process::exit(0); // as in `Shared::work`
        }
        if keeps_time { shared.keep_time() } else { shared.work() }
    }
}

impl Attendance {
    fn begin(self) {
        ATTENDANCE.set(Some(ManuallyDrop::new(Box::new(self))));
        END.arm();
    }

    fn end() {
        drop(ATTENDANCE.take().map(ManuallyDrop::into_inner));
        // Who is told of a call's end may have jumped.
        repair_sys::drop_what_functions_left();
    }
}

thread_local! {
    /// Left behind as [`AtThreadEnd`] says. (In a box, since static thread-local storage is scarce.)
    static ATTENDANCE: Cell<Option<ManuallyDrop<Box<Attendance>>>> = const { Cell::new(None) };
}

static END: AtThreadEnd = AtThreadEnd::new(leave);

extern "C" fn leave(_: *mut c_void) {
    let Some(attendance) = ATTENDANCE.take().map(ManuallyDrop::into_inner) else { return };
    let Attendance { shared, job, keeps_time } = *attendance;
    // In a forked child the call was the parent's, and so is the rest.
    if !shared.owner.is_here() {
        return;
    }
    if keeps_time {
        if Shared::start(&shared, CLOCK.to_owned(), goes_on(job.clone(), true)).is_err() {
            shared.lose(&job); // (Without a thread for it, deadlines are not kept: calls go on.)
        }
    } else {
        Shared::replace(&shared, job);
    }
}

/// Name of the timekeeper's thread.
const CLOCK: &str = "lockgate-clock";

#[derive(Default)]
struct Books {
    /// Jobs that have not begun, by their numbers.
    queue: BTreeMap<u64, Arc<dyn Job>>,
    /// How many of them each domain has, by its number.
    waiting: HashMap<u32, usize>,
    /// Those that have begun.
    running: BTreeMap<u64, Arc<dyn Job>>,
    /// Jobs with a deadline that have not ended, in order of that.
    deadlines: BTreeMap<(Instant, u64), Arc<dyn Job>>,
    /// How many jobs have come: the last one's number.
    numbers: u64,
    /// Threads that make calls.
    workers: usize,
    closed: bool,
    /// All calls have ended, but for one that waits for the others: nothing is to be cancelled.
    finished: bool,
}

impl Shared {
    fn books(&self) -> MutexGuard<'_, Books> {
        locked(&self.books)
    }

    /// Stops a job, whatever it is at.
    fn stop(&self, job: &Arc<dyn Job>, why: Stop) {
        // A job that has not begun leaves its place in the queue at once.
        self.books().withdraw(job);
        job.stop(why);
    }

    /// Starts a thread.
    fn start(
        shared: &Arc<Shared>,
        title: String,
        life: impl FnOnce(&Arc<Shared>) + Send + 'static,
    ) -> io::Result<()> {
        let (mask, own) = (shared.mask, shared.clone());
        let live = move || {
            mask_sys::serve(mask);
            life(&own);
        };
        let builder = std::thread::Builder::new().name(title);
        let thread = signals_sys::starting_a_thread(|| builder.spawn(live))?;
        shared.threads().push(thread);
        Ok(())
    }

    fn threads(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        locked(&self.threads)
    }

    /// A job whose thread has ended, ends.
    fn lose(&self, job: &Arc<dyn Job>) {
        job.lose();
        if self.owner.is_here() {
            self.books().end(job);
            self.clock.notify_all(); // which may wait for the last one
        }
    }

    /// Starts a worker in place of the calling thread, which was at `job`.
    fn replace(shared: &Arc<Shared>, job: Arc<dyn Job>) {
        if Shared::start(shared, "lockgate-call".to_owned(), goes_on(job.clone(), false)).is_ok() {
            return;
        }
        // The system gives no thread. Calls for which no thread is left end now.
        let left: Vec<_> = {
            let mut books = shared.books();
            books.workers -= 1;
            // (Who comes later starts one: also who comes because this job has ended.)
            if books.workers > 0 { Vec::new() } else { books.queue.values().cloned().collect() }
        };
        shared.lose(&job);
        for job in left {
            shared.stop(&job, Stop::Cancel);
        }
    }

    /// A worker's life.
    fn work(self: &Arc<Shared>) {
        loop {
            let job = {
                let mut books = self.books();
                loop {
                    if let Some(job) = books.begin() {
                        break job;
                    }
                    if books.closed {
                        return;
                    }
                    books = self.work.wait(books).unwrap_or_else(|e| e.into_inner());
                }
            };
            Attendance { shared: self.clone(), job: job.clone(), keeps_time: false }.begin();
            job.run();
            if !self.owner.is_here() {
                // The host's function has forked, and this is the child's only thread but for what it has started: no other one would end the child.
                std::process::exit(0);
            }
            let mut books = self.books();
            books.end(&job);
            if books.closed {
                self.clock.notify_all();
            }
            drop(books);
            Attendance::end();
        }
    }

    /// The timekeeper's life.
    fn keep_time(self: &Arc<Shared>) {
        host::wakes_in_time();
        let mut books = self.books();
        while !(books.closed && books.deadlines.is_empty()) {
            let Some(next) = books.deadlines.first_key_value().map(|((at, _), _)| *at) else {
                books = self.clock.wait(books).unwrap_or_else(|e| e.into_inner());
                continue;
            };
            let left = next.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                books = self.clock.wait_timeout(books, left).unwrap_or_else(|e| e.into_inner()).0;
                continue;
            }
            let due = books.deadlines.pop_first();
            drop(books);
            if let Some((_, job)) = due {
                Attendance { shared: self.clone(), job: job.clone(), keeps_time: true }.begin();
                self.stop(&job, Stop::Deadline);
                Attendance::end();
                if !self.owner.is_here() {
                    std::process::exit(0); // the code that was told has forked: as in `work`
                }
            }
            books = self.books();
        }
    }
}

impl Books {
    fn begin(&mut self) -> Option<Arc<dyn Job>> {
        let (number, job) = self.queue.pop_first()?;
        self.leave(&job);
        self.running.insert(number, job.clone());
        Some(job)
    }

    fn withdraw(&mut self, job: &Arc<dyn Job>) {
        if self.queue.remove(&job.place().number).is_some() {
            self.leave(job);
            self.end(job);
        }
    }

    /// Gives up the job's place in its domain's queue.
    fn leave(&mut self, job: &Arc<dyn Job>) {
        let domain = job.domain();
        if let Some(count) = self.waiting.get_mut(&domain) {
            *count -= 1;
            if *count == 0 {
                self.waiting.remove(&domain);
            }
        }
    }

    fn end(&mut self, job: &Arc<dyn Job>) {
        let Place { number, deadline } = job.place();
        self.running.remove(&number);
        if let Some(at) = deadline {
            self.deadlines.remove(&(at, number));
        }
    }
}

impl Crew {
    fn start(threads: usize, capacity: usize) -> io::Result<Crew> {
        let (work, clock) = (Condvar::new(), Condvar::new());
        let owner = Owner::this();
        let (mask, started) = (mask_sys::seen(), Mutex::default());
        let books = Mutex::new(Books { workers: threads, ..Books::default() });
        let shared = Arc::new(Shared { books, work, clock, capacity, owner, mask, threads: started });
        // From here on, the drop ends what was begun.
        let crew = Crew { shared };
        Shared::start(&crew.shared, CLOCK.to_owned(), Shared::keep_time)?;
        for number in 1..=threads {
            Shared::start(&crew.shared, format!("lockgate-call-{number}"), Shared::work)?;
        }
        Ok(crew)
    }

    fn close(&self) {
        self.shared.books().closed = true;
        self.shared.work.notify_all();
        self.shared.clock.notify_all();
    }

    fn join(&self) {
        loop {
            let Some(thread) = self.shared.threads().pop() else { return };
            // A worker that ends the workers ends by itself when its call returns.
            if thread.thread().id() != std::thread::current().id() {
                threads_sys::join(thread);
            }
        }
    }
}

impl Drop for Crew {
    /// Cancels what has not ended, and waits for the workers; on one of them, for the others.
    fn drop(&mut self) {
        self.close();
        let jobs: Vec<_> = {
            let books = self.shared.books();
            if books.finished {
                return;
            }
            books.queue.values().chain(books.running.values()).cloned().collect()
        };
        for job in jobs {
            self.shared.stop(&job, Stop::Cancel);
        }
        self.join();
    }
}

impl Workers {
    /// The most threads that workers may have: the kernel would give more until it has none left for the rest of the machine.
    pub const MOST: usize = 4096;

    /// `threads` workers, and a queue of at most `capacity` calls that have not begun for each domain. Each
    /// worker takes a place in every domain that it calls.
    ///
    /// # Errors
    /// [`CreateError::Option`] if one of them is 0, or there are more than [`Workers::MOST`] threads; [`CreateError::Threads`] if the system gives no thread.
    pub fn new(threads: usize, capacity: usize) -> Result<Workers, CreateError> {
        let name = || "workers".to_owned();
        if threads == 0 || capacity == 0 {
            let what = format!(
                "{threads} workers with queues of {capacity} calls cannot make a call: give at least 1 of each"
            );
            return Err(CreateError::Option { name: name(), what });
        }
        if threads > Workers::MOST {
            let what = format!("{threads} workers: give at most {}", Workers::MOST);
            return Err(CreateError::Option { name: name(), what });
        }
        let workers = Workers { threads, capacity, crew: PerProcess::default() };
        let few = |source| CreateError::Threads { what: name(), threads, source };
        workers.shared().map_err(few)?;
        Ok(workers)
    }

    /// What this process's workers share; they start now if they have not.
    fn shared(&self) -> io::Result<Arc<Shared>> {
        let mut crew = self.crew();
        if crew.is_none() {
            *crew = Some(Crew::start(self.threads, self.capacity)?);
        }
        let started = crew.as_ref().map(|crew| crew.shared.clone());
        started.ok_or_else(|| io::Error::other("no workers"))
    }

    fn crew(&self) -> MutexGuard<'_, Option<Crew>> {
        locked(&self.crew)
    }

    /// These workers, for calls that must have ended after `time` from now. One that has not is stopped, or does not begin:
    /// [`CallError::Deadline`].
    pub fn within(&self, time: Duration) -> Submission<'_> {
        Submission { workers: self, deadline: end_after(time) }
    }

    /// Calls that have not ended: those that wait, and those in progress.
    pub fn pending(&self) -> usize {
        self.crew().as_ref().map_or(0, |crew| {
            let books = crew.shared.books();
            let is_running = |job: &&Arc<dyn Job>| !job.has_ended();
            books.queue.len() + books.running.values().filter(is_running).count()
        })
    }

    /// Waits until every call has ended. On one of these workers, in a call's callback, it waits for the others' calls: its own
    /// cannot end before it does.
    pub fn finish(self) {
        let crew = self.crew().take();
        if let Some(crew) = crew {
            crew.close();
            crew.join();
            // What is left is the call that finishes the others, if it is a worker's: it has its result.
            crew.shared.books().finished = true;
        }
    }

    fn submit<R: Send + 'static>(
        &self,
        domain: Arc<dyn AnyDomain>,
        deadline: Option<Instant>,
        call: Call<R>,
    ) -> Result<AsyncCall<R>, CallError> {
        let shared = self.shared().map_err(CallError::Memory)?;
        domain.here()?;
        let mut books = shared.books();
        if books.workers == 0 {
            // The last one has ended in a function of the host's, when the system gave no thread.
            Shared::start(&shared, "lockgate-call".to_owned(), Shared::work).map_err(CallError::Memory)?;
            books.workers = 1;
        }
        let waiting = books.waiting.entry(domain.id()).or_default();
        if *waiting == shared.capacity {
            let limit = shared.capacity;
            return Err(CallError::QueueFull { domain: domain.name().to_owned(), limit });
        }
        *waiting += 1;
        books.numbers += 1;
        let place = Place { number: books.numbers, deadline };
        let task = Arc::new(Task::new(domain, call, place));
        let job: Arc<dyn Job> = task.clone();
        books.queue.insert(place.number, job.clone());
        if let Some(at) = deadline {
            books.deadlines.insert((at, place.number), job);
            shared.clock.notify_one();
        }
        drop(books);
        shared.work.notify_one();
        Ok(AsyncCall::new(task, Arc::downgrade(&shared)))
    }
}

impl Domain {
    /// Has a worker run `call`, which counts as a call of this domain: for calls of several functions that belong together.
    /// Stopping it ends what it is at in domains; it has to see to the rest itself.
    ///
    /// # Errors
    /// [`CallError::QueueFull`].
    pub fn spawn_call<'a, R: Send + 'static>(
        &self,
        to: impl Into<Submission<'a>>,
        call: impl FnOnce() -> Result<R, CallError> + Send + 'static,
    ) -> Result<AsyncCall<R>, CallError> {
        spawn(self.core().clone(), to.into(), Call { work: Box::new(call), owned: None })
    }
}

/// Hands a call of `domain` to workers.
fn spawn<R: Send + 'static>(
    domain: Arc<dyn AnyDomain>,
    to: Submission<'_>,
    call: Call<R>,
) -> Result<AsyncCall<R>, CallError> {
    to.workers.submit(domain, to.deadline, call)
}
