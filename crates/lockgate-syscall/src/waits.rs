//! Everything that can block: one lock, one flag for the domain's end, futex queues, and an event
//! descriptor that is made only when a thread first waits for a host descriptor.
use super::caller::{Caller, Thread};
use super::outcome::{Fault, Halt};
use lockgate_kernel::kept;
use lockgate_kernel::locked;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::thread::futex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// The threads of a domain that wait for something.
#[derive(Default)]
pub(super) struct Waits {
    killed: AtomicBool,
    /// Readable from the moment that the domain is killed; made when it is first waited for.
    event: OnceLock<OwnedFd>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Sleepers by futex address, longest waiting first.
    queues: BTreeMap<u64, VecDeque<Arc<Sleeper>>>,
}

struct Sleeper {
    /// How often it was told to look.
    eventcount: AtomicU32,
    woken: AtomicBool,
    /// Its thread's slot, and a place in the frame in which that sleeps: a jump may skip it.
    thread: u32,
    frame: usize,
    /// Who wakes it has one of these bits.
    bits: u32,
}

/// What a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum For {
    Anything,
    /// A lock of libc's own, which a thread gives back before its call returns.
    Lock,
    /// What threads inside do, and nothing else.
    Peers,
}

/// How often a thread that waits for a lock looks whether there is a thread that could give it back.
const LOOK: Duration = Duration::from_millis(50);

impl For {
    /// How often it says that it waits still.
    fn period(self) -> Option<Duration> {
        match self {
            For::Anything => None,
            For::Lock => Some(LOOK),
            For::Peers => Some(LOOK * 4),
        }
    }
}

impl Sleeper {
    fn ring(&self) {
        self.eventcount.fetch_add(1, Ordering::SeqCst);
        let _ = futex::wake(&self.eventcount, futex::Flags::PRIVATE, 1);
    }
}

/// How a sleep ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wake {
    /// Another thread woke it.
    Woken,
    /// Its own time ran out.
    TimedOut,
}

impl Waits {
    /// The bits of calls that name none.
    pub(super) const ANY: u32 = u32::MAX;

    /// Ends every wait of the domain, present and future.
    pub(super) fn kill(&self) {
        let state = locked(&self.state);
        self.killed.store(true, Ordering::SeqCst);
        for sleeper in state.queues.values().flatten() {
            sleeper.ring();
        }
        if let Some(event) = self.event.get() {
            // It can fail only when its counter is full, and then it is readable already.
            let _ = rustix::io::write(event, &1u64.to_ne_bytes());
        }
    }

    /// Lets every thread that sleeps look whether it still may.
    pub(super) fn interrupt(&self) {
        for sleeper in locked(&self.state).queues.values().flatten() {
            sleeper.ring();
        }
    }

    /// Takes the sleepers of the thread with this slot off their queues whose frames, below `rsp`, a jump has skipped.
    pub(super) fn forget(&self, thread: u32, rsp: u64) {
        let mut state = locked(&self.state);
        state.queues.retain(|_, queue| {
            queue.retain(|sleeper| sleeper.thread != thread || sleeper.frame as u64 >= rsp);
            !queue.is_empty()
        });
    }

    /// Fails if the domain was killed, the thread's call was stopped, or its deadline has passed.
    pub(super) fn check(&self, thread: Thread) -> Result<(), Halt> {
        self.is_over(thread)?;
        match thread.deadline {
            Some(deadline) if !thread.detaches && Instant::now() >= deadline => {
                Err(Halt::Fault(Fault::TimeLimit))
            }
            _ => Ok(()),
        }
    }

    /// The same for a wait, which a call that goes on elsewhere leaves at its deadline as by a signal: what it has done so far is told.
    fn check_wait(&self, thread: Thread) -> Result<(), Halt> {
        self.check(thread)?;
        match thread.deadline {
            Some(deadline) if thread.detaches && Instant::now() >= deadline => Err(Errno::INTR.into()),
            _ => Ok(()),
        }
    }

    /// The same but for the deadline.
    fn is_over(&self, thread: Thread) -> Result<(), Halt> {
        if self.is_killed() {
            return Err(Halt::Fault(Fault::Killed));
        }
        if (thread.stopped)() { Err(Halt::Fault(Fault::Stopped)) } else { Ok(()) }
    }

    /// Sleeps on the queue of `address`, if `ready` (run under the lock) lets it, until woken by one of `bits` or `until`.
    pub(super) fn sleep(
        &self,
        caller: Caller<'_>,
        address: u64,
        bits: u32,
        until: Option<Instant>,
        ready: impl Fn() -> Result<(), Errno>,
    ) -> Result<Wake, Halt> {
        self.sleep_as(caller, address, (bits, For::Anything), until, ready)
    }

    /// The same where only threads inside can end the wait: as long as they all wait themselves, none does.
    pub(super) fn sleep_for_peers(
        &self,
        caller: Caller<'_>,
        address: u64,
        ready: impl Fn() -> Result<(), Errno>,
    ) -> Result<Wake, Halt> {
        self.sleep_as(caller, address, (Waits::ANY, For::Peers), None, ready)
    }

    /// The same for a lock of libc's own: [`Fault::LostLock`] once it is seen that no thread can end the wait.
    pub(super) fn sleep_for_lock(
        &self,
        caller: Caller<'_>,
        address: u64,
        ready: impl Fn() -> Result<(), Errno>,
    ) -> Result<Wake, Halt> {
        self.sleep_as(caller, address, (Waits::ANY, For::Lock), None, ready)
    }

    fn sleep_as(
        &self,
        caller: Caller<'_>,
        address: u64,
        (bits, what): (u32, For),
        until: Option<Instant>,
        ready: impl Fn() -> Result<(), Errno>,
    ) -> Result<Wake, Halt> {
        let thread = caller.thread;
        let mut state = locked(&self.state);
        ready()?;
        let sleeper = Arc::new(Sleeper {
            eventcount: AtomicU32::new(0),
            woken: AtomicBool::new(false),
            thread: thread.slot,
            frame: (&raw const thread).addr(),
            bits,
        });
        let (mut looks, mut is_lost) = (0, false);
        state.queues.entry(address).or_default().push_back(Arc::clone(&sleeper));
        let limit = [thread.deadline, until].into_iter().flatten().min();
        let ended = loop {
            if sleeper.woken.load(Ordering::SeqCst) {
                break Ok(Wake::Woken);
            }
            if let Err(halt) = self.check_wait(thread) {
                break Err(halt);
            }
            if caller.signals.wake(thread.slot) {
                break Err(Errno::INTR.into());
            }
            let left = limit.map(|limit| limit.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                if until.is_none_or(|until| Instant::now() < until) {
                    continue; // it is the deadline
                }
                if looks == 0 {
                    caller.sleep.has_waited();
                }
                break Ok(Wake::TimedOut);
            }
            // (What is no lock by name may be given back without a word: libc's `busy`.)
            if what == For::Lock && ready().is_err() {
                break Ok(Wake::Woken);
            }
            if is_lost {
                break Err(Halt::Fault(Fault::LostLock));
            }
            // (Most locks are given back before they are looked at once: no other thread needs to know of such a wait.)
            if what == For::Peers || what == For::Lock && looks > 0 {
                caller.threads.waits(looks <= u32::from(what == For::Lock));
            }
            looks += 1;
            let left = what.period().into_iter().chain(left).min();
            let heard = sleeper.eventcount.load(Ordering::SeqCst);
            drop(state);
            // (A time too far to express is no limit.)
            let left = left.and_then(|left| futex::Timespec::try_from(left).ok());
            // Woken, timed out, interrupted: looks again in any case.
            caller.sleep.wait(&sleeper.eventcount, heard, left.as_ref());
            // (Before the lock is looked at: the thread that held it gave it back, and said so, before it left.)
            is_lost = what == For::Lock && caller.threads.all_wait();
            state = locked(&self.state);
        };
        // It may have been moved to another queue meanwhile, so every queue is searched.
        state.queues.retain(|_, queue| {
            queue.retain(|other| !Arc::ptr_eq(other, &sleeper));
            !queue.is_empty()
        });
        ended
    }

    /// Sleeps as `wait` does, which is given a time, until that is woken, or `until`. Each sleep is a short one: a thread may lose the right to
    /// it meanwhile, which `wait` asks for.
    pub(super) fn sleep_shared(
        &self,
        caller: Caller<'_>,
        until: Option<Instant>,
        wait: impl Fn(Option<&futex::Timespec>) -> Result<(), Errno>,
    ) -> Result<Wake, Halt> {
        let limit = [caller.thread.deadline, until].into_iter().flatten().min();
        loop {
            // (What comes behind this look interrupts the sleep, if it can.)
            self.check_wait(caller.thread)?;
            if caller.signals.wake(caller.thread.slot) {
                return Err(Errno::INTR.into());
            }
            let left = limit.map_or(LOOK, |limit| limit.saturating_duration_since(Instant::now()).min(LOOK));
            let left = futex::Timespec::try_from(left).ok();
            match wait(left.as_ref()) {
                Ok(()) => return Ok(Wake::Woken),
                Err(Errno::INTR) => {}
                Err(Errno::TIMEDOUT) if until.is_some_and(|until| Instant::now() >= until) => {
                    return Ok(Wake::TimedOut);
                }
                Err(Errno::TIMEDOUT) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Wakes up to `wake` sleepers of `from` that have one of `bits`, the longest waiting first, and moves up to `move_` others to the queue of `to`, if `ready`
    /// (run under the lock) lets it. Returns how many it woke and moved.
    pub(super) fn wake(
        &self,
        from: u64,
        bits: u32,
        wake: usize,
        requeue: Option<(u64, usize)>,
        ready: impl FnOnce() -> Result<(), Errno>,
    ) -> Result<(usize, usize), Errno> {
        let mut state = locked(&self.state);
        ready()?;
        let mut queue = state.queues.remove(&from).unwrap_or_default();
        let mut woken = 0;
        queue.retain(|sleeper| {
            let wakes = woken < wake && sleeper.bits & bits != 0;
            if wakes {
                woken += 1;
                sleeper.woken.store(true, Ordering::SeqCst);
                sleeper.ring();
            }
            !wakes
        });
        let mut moved = 0;
        if let Some((to, limit)) = requeue {
            moved = limit.min(queue.len());
            let movers: Vec<_> = queue.drain(..moved).collect();
            state.queues.entry(to).or_default().extend(movers);
        }
        if !queue.is_empty() {
            // In front: sleepers that stay have waited longer than any that were moved here.
            let target = state.queues.entry(from).or_default();
            queue.append(target);
            *target = queue;
        }
        state.queues.retain(|_, queue| !queue.is_empty());
        Ok((woken, moved))
    }

    /// Waits until one of `descriptors` reports events, or until `until`. Each comes with the events asked
    /// for and leaves with those reported; true if any was.
    pub(super) fn poll(
        &self,
        caller: Caller<'_>,
        descriptors: &mut [(BorrowedFd<'_>, PollFlags)],
        until: Option<Instant>,
    ) -> Result<bool, Halt> {
        let thread = caller.thread;
        let event = self.event()?;
        let mut fds = vec![PollFd::from_borrowed_fd(event, PollFlags::IN)];
        fds.extend(descriptors.iter().map(|(fd, events)| PollFd::from_borrowed_fd(*fd, *events)));
        let limit = [thread.deadline, until].into_iter().flatten().min();
        let any = loop {
            // An eventfd made after the kill never becomes readable: look at the flag first.
            if self.is_killed() {
                return Err(Halt::Fault(Fault::Killed));
            }
            let left = limit.map(|limit| limit.saturating_duration_since(Instant::now()));
            let timeout = left
                .map(|left| Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() });
            let ready = match caller.sleep.poll(&mut fds, timeout.as_ref()) {
                Ok(ready) => ready,
                Err(Errno::INTR) => 0,
                Err(error) => return Err(error.into()),
            };
            self.is_over(thread)?;
            if ready > 0 && fds[1..].iter().any(|fd| !fd.revents().is_empty()) {
                break true;
            }
            self.check_wait(thread)?;
            if caller.signals.wake(thread.slot) {
                return Err(Errno::INTR.into());
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                break false;
            }
        };
        for ((_, events), fd) in descriptors.iter_mut().zip(&fds[1..]) {
            *events = fd.revents();
        }
        Ok(any)
    }

    /// Whether the domain was killed: before [`event`](Waits::event) says so.
    pub(super) fn is_killed(&self) -> bool {
        self.killed.load(Ordering::SeqCst)
    }

    /// What becomes readable when the domain is killed.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn event(&self) -> Result<BorrowedFd<'_>, Errno> {
        if self.event.get().is_none() {
            let event = kept(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)?;
            let _ = self.event.set(event); // another thread's is as good
        }
        self.event_if_made().ok_or(Errno::IO)
    }

    /// The same if it was made: without a lock.
    pub(super) fn event_if_made(&self) -> Option<BorrowedFd<'_>> {
        self.event.get().map(AsFd::as_fd)
    }
}
