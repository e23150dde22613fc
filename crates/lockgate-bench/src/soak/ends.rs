//! The ways in which a thread's own domain ends.

use super::Soak;
use super::callee::{CRASHES, Callee, FOR_EVER};
use crate::preset::PRESETS;
use anyhow::ensure;
use fastrand::Rng;
use lockgate::{CallError, FaultKind, OnFailure, Pool, PooledDomain};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Scope, ScopedJoinHandle};

/// The domain of one life.
pub type Own = Arc<PooledDomain<Arc<Pool>>>;

type Crash = extern "C" fn(u32) -> u64;

/// How a life ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It crashes in this way, one of [`CRASHES`], in a call of the thread's own.
    Crash(usize),
    /// The same in a call of the shared domain, whose call ends, too.
    CrashOfCallee(usize),
    /// The same; the shared domain goes on, and adds one to what it gets.
    SurvivedCrash(usize),
    /// Another thread kills it in the middle of calls.
    Kill,
    /// Beside a crash, the hurried domain's time limit passes.
    TimeOut,
}

/// So few of all ends take as long as a time limit.
const RARELY: u64 = 64;

impl End {
    /// The end of the life with this number.
    pub fn of_life(random: &mut Rng, number: u64) -> End {
        let crash = number as usize % CRASHES.len();
        match random.u64(..4) {
            _ if random.u64(..RARELY) == 0 => End::TimeOut,
            0 => End::Crash(crash),
            1 => End::CrashOfCallee(crash),
            2 => End::SurvivedCrash(crash),
            _ => End::Kill,
        }
    }

    /// Has it come; false if an answer on the way was wrong.
    ///
    /// # Errors
    /// If the domain ended otherwise.
    pub fn comes(
        self,
        soak: &Soak,
        domain: &Own,
        executioner: &Executioner<'_>,
        own: &mut [Callee],
        shared: &mut [Callee],
        random: &mut Rng,
    ) -> anyhow::Result<bool> {
        let preset = random.usize(..PRESETS.len());
        let across = |how: usize, on_failure| {
            let prototype = "uint64_t crash(uint32_t)";
            let crash =
                soak.shared.function_pointer(domain, prototype, PRESETS[preset].policy, on_failure)?;
            anyhow::Ok(shared[preset].ask_in_vain(&crash, u64::from(CRASHES[how].0)))
        };
        match self {
            End::Crash(how) => {
                self.is_fault(domain.bind::<Crash>("crash")?.call(CRASHES[how].0), CRASHES[how].1)
            }
            End::CrashOfCallee(how) => self.is_fault(across(how, OnFailure::Propagate)?, CRASHES[how].1),
            End::SurvivedCrash(how) => Ok(across(how, OnFailure::Return(u64::MAX))?.ok() == Some(0)),
            End::TimeOut => {
                soak.time_outs.fetch_add(1, Ordering::Relaxed);
                self.is_fault(soak.hurried.bind::<Crash>("crash")?.call(FOR_EVER), FaultKind::TimeOut)
            }
            End::Kill => {
                soak.kills.fetch_add(1, Ordering::Relaxed);
                executioner
                    .kill(domain, || until_killed(&mut [&mut own[preset], &mut shared[preset]], random))
            }
        }
    }

    fn is_fault(self, end: Result<u64, CallError>, kind: FaultKind) -> anyhow::Result<bool> {
        let fault = end.as_ref().err().and_then(|error| error.fault());
        ensure!(fault.is_some_and(|fault| fault.kind() == kind), "{self:?} ended otherwise: {end:?}");
        Ok(true)
    }
}

/// Makes calls until one fails, which must be for a kill. False if an answer before that was wrong.
fn until_killed(callees: &mut [&mut Callee], random: &mut Rng) -> anyhow::Result<bool> {
    let mut right = true;
    loop {
        for callee in &mut *callees {
            match callee.call(random) {
                Ok(answer) => right &= answer,
                Err(error) => {
                    let error = error.downcast::<CallError>()?;
                    ensure!(is_kill(&error), "a kill ended a call otherwise: {error}");
                    return Ok(right);
                }
            }
        }
    }
}

fn is_kill(error: &CallError) -> bool {
    match error {
        // What a callback said whose own call failed.
        CallError::Killed(_) | CallError::Panic(_) => true,
        CallError::Callee { source, .. } => is_kill(source),
        error => error.fault().is_some_and(|fault| fault.kind() == FaultKind::Killed),
    }
}

/// A thread that kills domains for another one, which is calling them. (Not a new one for each: new threads leave the allocator
/// larger than it was.)
pub struct Executioner<'scope> {
    orders: Sender<Own>,
    done: Receiver<()>,
    thread: ScopedJoinHandle<'scope, ()>,
}

impl<'scope> Executioner<'scope> {
    /// Starts the thread.
    pub fn start(scope: &'scope Scope<'scope, '_>) -> Self {
        let ((orders, domains), (tell, done)) = (channel::<Own>(), channel());
        let thread = scope.spawn(move || {
            for domain in domains {
                domain.kill();
                drop(domain);
                if tell.send(()).is_err() {
                    break; // the other thread has failed
                }
            }
        });
        Executioner { orders, done, thread }
    }

    /// Ends the thread: nothing of it is left afterwards.
    pub fn end(self) {
        drop(self.orders);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    }

    /// Has `domain` killed during `calls`.
    fn kill(&self, domain: &Own, calls: impl FnOnce() -> anyhow::Result<bool>) -> anyhow::Result<bool> {
        self.orders.send(domain.clone())?;
        let right = calls();
        self.done.recv()?;
        right
    }
}
