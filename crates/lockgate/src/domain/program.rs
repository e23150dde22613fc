//! A whole program in a domain of its own.
use super::api::{Domain, KeptDomain};
use super::core::Core;
use super::limits::Usage;
use super::options::DomainOptions;
use super::start;
use crate::binding::{Binding, Internal};
use crate::call::{OwnTurn, watch};
use crate::error::{CallError, CreateError};
use crate::module::Module;
use lockgate_abi::symbol;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// A program that has not begun: a module that exports `_lg_main`, which `lockgate cc` makes of `main`.
pub struct Program {
    beginning: Beginning,
    core: Arc<Core>,
}

/// Those that wait for a program to begin learn that it does not, also if it is never run.
struct Beginning(Weak<Core>);

impl Drop for Beginning {
    fn drop(&mut self) {
        if let Some(core) = self.0.upgrade() {
            core.turns().end();
        }
    }
}

/// How a whole program ended.
#[derive(Debug)]
pub struct ProgramEnd {
    /// Its exit status (0–255), or the fault that ended it.
    pub outcome: Result<i32, CallError>,
    /// System calls that it tried and that do not exist for it: number and how often.
    pub refused_syscalls: Vec<(u64, u64)>,
    /// What it tried that was not granted, such as `connect to 10.0.0.1:80`, and how often.
    pub denied: Vec<(String, u64)>,
    /// How often it asked for a thread more than it [may have](DomainOptions::max_guest_threads).
    pub refused_threads: u64,
    /// CPU time that it used; `None` if that was not [measured](DomainOptions::measure_cpu_time).
    pub cpu_time: Option<Duration>,
}

/// Sends a program signals of its own, from any thread. It does not keep the program.
#[derive(Clone)]
pub struct ProgramSignals(Weak<Core>);

impl Domain {
    /// Runs a whole program, whose module exports `_lg_main`, to its end on the calling thread.
    ///
    /// # Errors
    /// [`CreateError`] if it could not be started. How it ended is in [`ProgramEnd`].
    pub fn run(module: &Arc<Module>, options: DomainOptions) -> Result<ProgramEnd, CreateError> {
        Ok(Program::new(module, options)?.run())
    }
}

impl Program {
    /// Makes the domain. Nothing of the program has run.
    ///
    /// # Errors
    /// [`CreateError`].
    pub fn new(module: &Arc<Module>, options: DomainOptions) -> Result<Program, CreateError> {
        let core = Core::new(module, options)?;
        core.turns().wait_for_program();
        Ok(Program { beginning: Beginning(Arc::downgrade(&core)), core })
    }

    /// Its domain, to be exported ([`Registry::export`](crate::Registry::export)) or linked: calls of it are refused until the program has
    /// [begun](ProgramSignals::wait_until_begun), and when it has ended.
    pub fn domain(&self) -> KeptDomain {
        KeptDomain::new(self.core.clone())
    }

    /// By which others send it signals while it runs.
    pub fn signals(&self) -> ProgramSignals {
        ProgramSignals(Arc::downgrade(&self.core))
    }

    /// Runs it to its end on the calling thread.
    pub fn run(self) -> ProgramEnd {
        let Program { beginning, core } = self;
        core.turns().start(rustix::thread::gettid().as_raw_nonzero().get() as u32);
        let mut turn = None;
        let end = start::prepare(&core, None).and_then(|stack| {
            turn = Some(OwnTurn::take(core.clone())?);
            match Binding::internal(core.clone(), symbol::MAIN, Internal::in_turn()) {
                Some(main) => main.map_err(CallError::Memory)?.invoke(&[stack]),
                None => {
                    let name = core.module().name();
                    Err(CallError::Arguments(format!("{name} is no program: it has no main")))
                }
            }
        });
        let group = core.process().take_group_exit(0);
        let is_over = Core::is_over(&end, group);
        // (Where only its first thread has left, the program goes on.)
        if is_over {
            drop(beginning);
        } else {
            core.turns().begin();
        }
        // No thread serves what others can still call.
        if is_over && Arc::strong_count(&core) > 1 {
            core.kill();
        }
        drop(turn);
        let end = core.end_guest_threads(end, group);
        let outcome = match end {
            Ok(results) => Ok(results.integers[0] as i32 & 0xff),
            Err(error) => match error.fault().map(crate::Fault::kind) {
                Some(crate::FaultKind::Exit(status)) => Ok(status),
                _ => Err(error),
            },
        };
        if Arc::strong_count(&core) > 1 && !core.is_killed() {
            core.kill();
        }
        let process = core.process();
        // (Others may keep the domain, but nothing of the program is to be left: the next run listens where it has.)
        process.close_all();
        ProgramEnd {
            outcome,
            refused_syscalls: process.refused(),
            denied: process.denied(),
            refused_threads: core.guest_threads().refused(),
            cpu_time: core.usage().cpu_time,
        }
    }
}

impl ProgramSignals {
    /// Waits until the program takes calls: its first thread has slept in a system call, or the program has been told to
    /// [begin](ProgramSignals::begin). False if it has ended before. Blocks as long as that takes.
    pub fn wait_until_begun(&self) -> bool {
        self.0.upgrade().is_some_and(|core| core.turns().until_begun())
    }

    /// The program that runs takes calls from now on: for hosts that know by its words that it is ready.
    pub fn begin(&self) {
        if let Some(core) = self.0.upgrade() {
            core.turns().begin();
        }
    }

    /// Sends it `signal` if it has a handler for that, which runs on one of its threads, or waits for it (`sigwait`); says whether it has. Not
    /// async-signal-safe.
    pub fn send(&self, signal: u32) -> bool {
        let Some(core) = self.0.upgrade() else { return false };
        let sent = core.process().signal(signal);
        if core.process().tells_of_signals() {
            watch::tell_of_signal(core.base());
        }
        sent
    }

    /// Does what `SIGTERM` does to a process: sends it to the program if it has a handler or waits for it, does nothing if the program ignores it, and
    /// else [kills](ProgramSignals::kill) the program. Says whether the program was killed.
    pub fn terminate(&self) -> bool {
        const TERMINATION: u32 = libc::SIGTERM as u32;
        let Some(core) = self.0.upgrade() else { return false };
        let is_deadly = !self.send(TERMINATION) && !core.process().ignores(TERMINATION);
        if is_deadly {
            core.kill();
        }
        is_deadly
    }

    /// What the program uses now; `None` when it is over.
    pub fn usage(&self) -> Option<Usage> {
        Some(self.0.upgrade()?.usage())
    }

    /// Ends the program on all its threads: [`FaultKind::Killed`](crate::FaultKind::Killed).
    pub fn kill(&self) {
        if let Some(core) = self.0.upgrade() {
            core.kill();
        }
    }
}
