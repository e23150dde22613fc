//! Asynchronous calls: threads that call domains for others (docs/limits.md).
mod handle;
mod task;

pub use handle::AsyncCall;
use task::{Job, Stop, Task};

use crate::call::{mask_sys, signals_sys};
use crate::domain::{Core, Domain};
use crate::error::{CallError, CreateError};
use crate::host::{Owner, PerProcess};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
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
    threads: Vec<JoinHandle<()>>,
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
}

#[derive(Default)]
struct Books {
    /// Jobs that have not begun.
    queue: VecDeque<Arc<dyn Job>>,
    /// How many of them each domain has, by its number.
    waiting: HashMap<u32, usize>,
    /// Those that have begun.
    running: Vec<Arc<dyn Job>>,
    /// Jobs with a deadline that have not ended, in order of that; the number tells equal ones apart.
    deadlines: BTreeMap<(Instant, u64), Arc<dyn Job>>,
    numbers: u64,
    closed: bool,
}

impl Shared {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Stops a job, whatever it is at.
    fn stop(&self, job: &Arc<dyn Job>, why: Stop) {
        // A job that has not begun leaves its place in the queue at once.
        self.books().withdraw(job);
        job.stop(why);
    }

    /// A worker's life.
    fn work(&self) {
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
            job.run();
            if !self.owner.is_here() {
                // The host's function has forked, and this is the child's only thread but for what it has started: nobody else would end the child.
                std::process::exit(0);
            }
            let mut books = self.books();
            books.end(&job);
            if books.closed {
                self.clock.notify_all();
            }
        }
    }

    /// The timekeeper's life.
    fn keep_time(&self) {
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
                self.stop(&job, Stop::Deadline);
            }
            books = self.books();
        }
    }
}

impl Books {
    fn begin(&mut self) -> Option<Arc<dyn Job>> {
        let job = self.queue.pop_front()?;
        self.leave(&job);
        self.running.push(job.clone());
        Some(job)
    }

    fn withdraw(&mut self, job: &Arc<dyn Job>) {
        let Some(at) = self.queue.iter().position(|other| Arc::ptr_eq(other, job)) else { return };
        self.queue.remove(at);
        self.leave(job);
        self.end(job);
    }

    /// Gives up the job's place in its domain's queue.
    fn leave(&mut self, job: &Arc<dyn Job>) {
        let domain = job.domain().id();
        if let Some(count) = self.waiting.get_mut(&domain) {
            *count -= 1;
            if *count == 0 {
                self.waiting.remove(&domain);
            }
        }
    }

    fn end(&mut self, job: &Arc<dyn Job>) {
        self.running.retain(|other| !Arc::ptr_eq(other, job));
        self.deadlines.retain(|_, other| !Arc::ptr_eq(other, job));
    }
}

impl Crew {
    fn start(threads: usize, capacity: usize) -> io::Result<Crew> {
        let (work, clock) = (Condvar::new(), Condvar::new());
        let owner = Owner::this();
        let shared = Arc::new(Shared { books: Mutex::default(), work, clock, capacity, owner });
        let mask = mask_sys::seen();
        // From here on, the drop ends what was begun.
        let mut crew = Crew { shared, threads: Vec::new() };
        for number in 0..=threads {
            let shared = crew.shared.clone();
            let (title, life): (_, fn(&Shared)) = match number {
                0 => ("lockgate-clock".to_owned(), Shared::keep_time),
                _ => (format!("lockgate-call-{number}"), Shared::work),
            };
            let thread = std::thread::Builder::new().name(title);
            let live = move || {
                mask_sys::serve(mask);
                life(&shared);
            };
            let thread = signals_sys::starting_a_thread(|| thread.spawn(live));
            crew.threads.push(thread?);
        }
        Ok(crew)
    }

    fn close(&self) {
        self.shared.books().closed = true;
        self.shared.work.notify_all();
        self.shared.clock.notify_all();
    }

    fn join(&mut self) {
        for thread in self.threads.drain(..) {
            // A worker that ends the workers ends by itself when its call returns.
            if thread.thread().id() != std::thread::current().id() {
                // A worker catches what its calls panic with.
                drop(thread.join());
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
            books.queue.iter().chain(&books.running).cloned().collect()
        };
        for job in jobs {
            self.shared.stop(&job, Stop::Cancel);
        }
        self.join();
    }
}

impl Workers {
    /// `threads` workers, and a queue of at most `capacity` calls that have not begun for each domain. Each
    /// worker takes a place in every domain that it calls.
    ///
    /// # Errors
    /// [`CreateError::Option`] if one of them is 0; [`CreateError::Space`] if the system gives no thread.
    pub fn new(threads: usize, capacity: usize) -> Result<Workers, CreateError> {
        let name = || "workers".to_owned();
        if threads == 0 || capacity == 0 {
            let what =
                format!("{threads} workers with queues of {capacity} calls can do nothing: give at least 1");
            return Err(CreateError::Option { name: name(), what });
        }
        let workers = Workers { threads, capacity, crew: PerProcess::default() };
        workers.shared().map_err(|source| CreateError::Space { name: name(), source })?;
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
        self.crew.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// These workers, for calls that must have ended after `time` from now. One that has not is stopped, or does not begin:
    /// [`CallError::Deadline`].
    pub fn within(&self, time: Duration) -> Submission<'_> {
        Submission { workers: self, deadline: Instant::now().checked_add(time) }
    }

    /// Calls that have not ended: those that wait, and those in progress.
    pub fn pending(&self) -> usize {
        self.crew().as_ref().map_or(0, |crew| {
            let books = crew.shared.books();
            books.queue.len() + books.running.len()
        })
    }

    /// Waits until every call has ended. On one of these workers, in a call's callback, it waits for the others' calls: its own
    /// cannot end before it does.
    pub fn finish(self) {
        let crew = self.crew().take();
        if let Some(mut crew) = crew {
            crew.close();
            crew.join();
        }
    }

    fn submit<R: Send + 'static>(
        &self,
        domain: &Arc<Core>,
        deadline: Option<Instant>,
        call: impl FnOnce() -> Result<R, CallError> + Send + 'static,
    ) -> Result<AsyncCall<R>, CallError> {
        let shared = self.shared().map_err(CallError::Memory)?;
        let task = Arc::new(Task::new(domain.here()?.clone(), Box::new(call)));
        let job: Arc<dyn Job> = task.clone();
        let mut books = shared.books();
        let waiting = books.waiting.entry(domain.id()).or_default();
        if *waiting == shared.capacity {
            let limit = shared.capacity;
            return Err(CallError::QueueFull { domain: domain.name().to_owned(), limit });
        }
        *waiting += 1;
        books.queue.push_back(job.clone());
        if let Some(at) = deadline {
            books.numbers += 1;
            let number = books.numbers;
            books.deadlines.insert((at, number), job);
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
        spawn(self.core(), to.into(), call)
    }
}

/// Hands a call of `domain` to workers.
pub(crate) fn spawn<R: Send + 'static>(
    domain: &Arc<Core>,
    to: Submission<'_>,
    call: impl FnOnce() -> Result<R, CallError> + Send + 'static,
) -> Result<AsyncCall<R>, CallError> {
    to.workers.submit(domain, to.deadline, call)
}
