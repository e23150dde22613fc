//! Runs programs as their [plan](crate::plan) says.

use crate::error::{ProgramsError, no_program};
use crate::limits;
use crate::logs::{self, Line, Logs, Stream, Tails, Volume};
use crate::plan::{Action, Plan, Rules, State};
use crate::probe;
use crate::service::{self, Services};
use crate::share::Offer;
use crate::spec::{Ended, Ready, Shared, Spec, registered};
use lockgate::{CallError, Fault, FaultKind, Program, ProgramEnd, ProgramSignals, Registry, Usage};
use lockgate_kernel::locked;
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What is told of a program while it runs.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// It was started.
    Started,
    /// It is ready.
    Ready,
    /// It was asked to end.
    Stopping,
    /// It did not end within this time of its being asked to, and was killed.
    Killing(Duration),
    /// It has ended; what the runtime says of its run, if it began.
    Ended(&'a End, Option<&'a ProgramEnd>),
    /// It starts again after this delay.
    Restarting(Duration),
    /// It does not start, because this program, on which it depends, has ended before it was ready.
    GaveUp(&'a str),
}

/// Is told what happens. Events come from the thread that runs the programs, lines from another one; a function that waits has all programs
/// wait that write.
pub trait Observer: Sync {
    /// Something has happened to a program.
    fn event(&self, program: &str, event: &Event<'_>);
    /// A program has written a line.
    fn line(&self, program: &str, line: &Line);
}

/// Drops all events.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quiet;

impl Observer for Quiet {
    fn event(&self, _: &str, _: &Event<'_>) {}
    fn line(&self, _: &str, _: &Line) {}
}

/// How a program's last run ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum End {
    /// With this exit status, 0–255.
    Status(u8),
    /// By a fault.
    Fault(Box<Fault>),
    /// By `SIGTERM`, for which it had no handler, when it was asked to end.
    Terminated,
    /// It was killed, because it did not end in its time.
    Killed,
    /// It could not be started, or run.
    NotStarted(String),
}

/// The exit status of what could not be started.
pub const NOT_STARTED: u8 = 125;

/// What shells add to the number of a signal.
const FROM_SIGNAL: u8 = 128;

const TERMINATED: u8 = FROM_SIGNAL + 15;
const KILLED: u8 = FROM_SIGNAL + 9;

impl End {
    /// Its exit status, as `lockgate run` has it: what could not be started has 125, a fault that of the signal that would end a process.
    pub fn exit_status(&self) -> u8 {
        match self {
            End::Status(status) => *status,
            End::Fault(fault) => status_of(fault.kind()),
            End::Terminated => TERMINATED,
            End::Killed => KILLED,
            End::NotStarted(_) => NOT_STARTED,
        }
    }

    /// What it means for what comes next; `asked`: the program was to end.
    fn kind(&self, asked: bool) -> Ended {
        match self {
            End::Status(0) | End::Terminated => Ended::Well,
            // As a shell tells of a program that SIGTERM has ended.
            End::Status(TERMINATED) if asked => Ended::Well,
            End::Status(_) => Ended::Badly,
            End::Fault(_) | End::Killed => Ended::Fault,
            End::NotStarted(_) => Ended::NotStarted,
        }
    }
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Status(status) => write!(f, "exit status {status}"),
            End::Fault(fault) => write!(f, "{fault}"),
            End::Terminated => f.write_str("ended by SIGTERM"),
            End::Killed => f.write_str("killed"),
            End::NotStarted(why) => f.write_str(why),
        }
    }
}

/// The exit status that tells of a fault: 128 and the number of the signal that would end a process, 124 for a time limit.
pub fn status_of(fault: FaultKind) -> u8 {
    const TIMED_OUT: u8 = 124;
    let signal = match fault {
        FaultKind::Exit(status) => return status as u8,
        FaultKind::TimeOut => return TIMED_OUT,
        FaultKind::Ill => 4,
        FaultKind::Trap => 5,
        FaultKind::Abort => 6,
        FaultKind::Bus => 7,
        FaultKind::Fpe => 8,
        FaultKind::Quota | FaultKind::Killed | FaultKind::CpuTime => 9,
        FaultKind::Gate => 31,
        FaultKind::Signal(number) => number & 0x7f,
        // Memory, stack, control stack.
        _ => 11,
    };
    FROM_SIGNAL + signal
}

/// What a program is doing now, or did last.
#[derive(Debug, Clone)]
pub struct Status {
    /// Its name.
    pub name: String,
    /// What it is doing.
    pub state: State,
    /// How often it has been restarted.
    pub restarts: u64,
    /// How its last run ended, if one has.
    pub end: Option<End>,
    /// What it uses now, if it runs.
    pub usage: Option<Usage>,
    /// What all its runs come to.
    pub totals: Totals,
}

/// What all runs of a program come to, the present one among them where it can be told.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// Runs that have begun.
    pub runs: u64,
    /// Runs that a fault has ended: a crash, a limit, a kill.
    pub faults: u64,
    /// CPU time, also of the present run; zero if none is [measured](lockgate::DomainOptions::measure_cpu_time).
    pub cpu_time: Duration,
    /// What it tried that was not granted, such as addresses, in runs that have ended.
    pub denied: u64,
    /// System calls that it tried and that do not exist for it, in runs that have ended.
    pub refused_syscalls: u64,
    /// Lines and bytes that it wrote, also in the present run.
    pub written: Volume,
}

impl Totals {
    /// Adds a run that has ended.
    fn add(&mut self, end: &ProgramEnd) {
        self.cpu_time += end.cpu_time.unwrap_or_default();
        self.denied += end.denied.iter().map(|(_, times)| times).sum::<u64>();
        self.refused_syscalls += end.refused_syscalls.iter().map(|(_, times)| times).sum::<u64>();
    }
}

/// How all programs ended.
#[derive(Debug)]
pub struct Ends {
    programs: Vec<Status>,
    first_failure: Option<usize>,
}

impl Ends {
    /// Each, in the order in which they were added.
    pub fn programs(&self) -> &[Status] {
        &self.programs
    }

    /// The program that was the first to fail, of those that stayed so; none if all ended well.
    pub fn first_failure(&self) -> Option<&Status> {
        self.first_failure.map(|program| &self.programs[program])
    }

    /// 0 if all ended well, else the exit status of the first that failed; 125 for one that did not start.
    pub fn exit_status(&self) -> u8 {
        let status = |failed: &Status| failed.end.as_ref().map_or(NOT_STARTED, End::exit_status);
        self.first_failure().map_or(0, status)
    }
}

/// What the supervising thread hears of.
enum Message {
    Ended { program: usize, end: ProgramEnd },
    Ready { program: usize, life: u64 },
    Close,
    Kill,
    Signal(u32),
    Status(Sender<Vec<Status>>),
    Logs(Vec<String>, Sender<Result<Vec<(String, Line)>, String>>),
    Change { names: Vec<String>, wish: Change, done: Sender<Result<(), String>> },
}

/// What is asked for some programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Stop,
    Restart,
}

/// Asks running programs for something, from any thread. In a forked child it does nothing.
#[derive(Debug, Clone)]
pub struct Handle(Sender<Message>);

impl std::fmt::Debug for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Message")
    }
}

/// What [`Handle`]'s functions answer when the programs are over.
const OVER: &str = "the programs have ended";

impl Handle {
    /// All are to end, in the reverse order of their dependencies, each in its time. Returns at once.
    pub fn close(&self) {
        let _ = self.0.send(Message::Close);
    }

    /// All are to end now. Returns at once.
    pub fn kill(&self) {
        let _ = self.0.send(Message::Kill);
    }

    /// Sends all programs that have handlers for it a signal; if none has, as [`close`](Handle::close). Returns at once.
    pub fn signal(&self, signal: u32) {
        let _ = self.0.send(Message::Signal(signal));
    }

    /// What each is doing; nothing if they are over.
    pub fn status(&self) -> Vec<Status> {
        self.ask(Message::Status).unwrap_or_default()
    }

    /// The last lines of these programs, or of all if none is named, in the order in which they came: at most [`TAIL`](crate::TAIL) bytes of each.
    ///
    /// # Errors
    /// A name is no program's, or they have ended.
    pub fn logs(&self, names: Vec<String>) -> Result<Vec<(String, Line)>, String> {
        self.ask(|answer| Message::Logs(names, answer)).unwrap_or_else(|| Err(OVER.to_owned()))
    }

    /// These programs are to end, and stay so; all, if none is named: then as [`close`](Handle::close). Returns when they have.
    ///
    /// # Errors
    /// A name is no program's.
    pub fn stop(&self, names: Vec<String>) -> Result<(), String> {
        // (Over, they have ended.)
        self.ask(|done| Message::Change { names, wish: Change::Stop, done }).unwrap_or(Ok(()))
    }

    /// These programs, or all if none is named, are to end, if they run, and to start again. Returns when they are ready.
    ///
    /// # Errors
    /// A name is no program's; one ended before it was ready; all are to end.
    pub fn restart(&self, names: Vec<String>) -> Result<(), String> {
        self.ask(|done| Message::Change { names, wish: Change::Restart, done })
            .unwrap_or_else(|| Err(OVER.to_owned()))
    }

    fn ask<T>(&self, message: impl FnOnce(Sender<T>) -> Message) -> Option<T> {
        let (sender, answer) = channel();
        self.0.send(message(sender)).ok()?;
        answer.recv().ok()
    }
}

/// Programs that have not begun.
#[derive(Debug)]
pub struct Programs {
    specs: Vec<Spec>,
    messages: Receiver<Message>,
    handle: Handle,
    registry: Registry,
}

impl Default for Programs {
    fn default() -> Programs {
        let (sender, messages) = channel();
        Programs { specs: Vec::new(), messages, handle: Handle(sender), registry: Registry::new() }
    }
}

impl Programs {
    /// None yet.
    pub fn new() -> Programs {
        Programs::default()
    }

    /// One more.
    ///
    /// # Errors
    /// [`ProgramsError::Twice`].
    pub fn add(&mut self, spec: Spec) -> Result<(), ProgramsError> {
        if self.specs.iter().any(|other| other.name == spec.name) {
            return Err(ProgramsError::Twice(spec.name));
        }
        self.specs.push(spec);
        Ok(())
    }

    /// By which other threads ask for something while they run.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Whether they can be run: that all dependencies are there and lead to no circle, and that the machine has enough for all. [`run`](Programs::run)
    /// asks this itself.
    ///
    /// # Errors
    /// [`ProgramsError`].
    pub fn check(&self) -> Result<(), ProgramsError> {
        let dependencies = self.dependencies()?;
        if let Some(circle) = circle(&dependencies) {
            return Err(ProgramsError::Circle(
                circle.into_iter().map(|program| self.specs[program].name.clone()).collect(),
            ));
        }
        service::check_exports(&self.specs)?;
        limits::check(&self.specs)?;
        service::check(&self.specs)
    }

    /// The names that the programs export while they [run](Programs::run), each `PROGRAM.NAME`. The host binds them as
    /// [`Principal::process`](lockgate::Principal::process); a request that [waits](lockgate::Request::wait) may come before the run.
    pub fn registry(&self) -> Registry {
        self.registry.clone()
    }

    /// What of it the programs share with other processes ([`Exported::shared`](crate::Exported::shared)), for [`share::serve`](crate::share::serve).
    pub fn offer(&self) -> Offer {
        let exports =
            self.specs.iter().flat_map(|spec| spec.exports.iter().map(move |export| (spec, export)));
        exports.fold(Offer::new(), |offer, (spec, export)| {
            let name = registered(&spec.name, &export.name);
            match &export.shared {
                Shared::No => offer,
                Shared::Values => offer.name(name),
                Shared::As(prototype) => offer.function(name, prototype),
            }
        })
    }

    /// The numbers of what each depends on.
    fn dependencies(&self) -> Result<Vec<Vec<usize>>, ProgramsError> {
        let number = |spec: &Spec, name: &String| {
            self.specs
                .iter()
                .position(|other| other.name == *name)
                .ok_or_else(|| ProgramsError::Missing { program: spec.name.clone(), missing: name.clone() })
        };
        let of = |spec: &Spec| spec.depends_on.iter().map(|name| number(spec, name)).collect();
        self.specs.iter().map(of).collect()
    }

    /// Runs them, each on a thread of its own, until all have ended. The calling thread looks after them.
    ///
    /// A program that crashes, or that a limit ends, leaves the others as they are. The process's signals are the caller's: it hands them on by
    /// a [`Handle`].
    ///
    /// # Errors
    /// As [`check`](Programs::check), and [`ProgramsError::Logs`]; nothing has begun then.
    pub fn run(self, observer: &dyn Observer) -> Result<Ends, ProgramsError> {
        self.check()?;
        let rules = self.specs.iter().zip(self.dependencies()?).map(|(spec, depends_on)| Rules {
            depends_on,
            // (What exports is ready when it takes calls.)
            ready_at_once: spec.ready == Ready::Started && spec.exports.is_empty(),
            restart: spec.restart,
            back_off: spec.back_off,
            stop_timeout: spec.stop_timeout,
        });
        let plan = Plan::new(rules.collect());
        let (logs, reader, tails) = logs::logs().map_err(ProgramsError::Logs)?;
        let lives = self.specs.iter().map(|_| None).collect();
        let ends = self.specs.iter().map(|_| None).collect();
        let totals = vec![Totals::default(); self.specs.len()];
        let handle = self.handle.clone();
        let specs = &self.specs;
        // The run of each that was said to be ready: once, however often it says so.
        let mut said = vec![0; specs.len()];
        let mut sink = move |program: usize, life: u64, line: &Line| {
            let spec: &Spec = &specs[program];
            if let Ready::Line(text) = &spec.ready
                && said[program] != life
                && holds(&line.bytes, text.as_bytes())
            {
                said[program] = life;
                let _ = handle.0.send(Message::Ready { program, life });
            }
            observer.line(&spec.name, line);
        };
        std::thread::scope(|scope| {
            let reads = std::thread::Builder::new().name("lockgate-logs".to_owned());
            reads.spawn_scoped(scope, move || reader.serve(&mut sink)).map_err(ProgramsError::Logs)?;
            let began = Instant::now();
            let mut running = Running {
                specs,
                observer,
                handle: &self.handle,
                plan,
                logs,
                tails,
                lives,
                ends,
                totals,
                asked: Vec::new(),
                ending: Vec::new(),
                began,
                services: Services::new(specs, &self.registry),
                made: specs.iter().map(|_| None).collect(),
            };
            running.make_services();
            running.serve(&self.messages);
            Ok(running.finish())
        })
    }
}

/// Whether `text` is somewhere in `bytes`.
fn holds(bytes: &[u8], text: &[u8]) -> bool {
    text.is_empty() || bytes.windows(text.len()).any(|part| part == text)
}

/// Programs that depend on each other in a circle: the first one is also the last.
fn circle(dependencies: &[Vec<usize>]) -> Option<Vec<usize>> {
    fn walk(program: usize, all: &[Vec<usize>], way: &mut Vec<usize>, done: &mut [bool]) -> bool {
        if let Some(at) = way.iter().position(|other| *other == program) {
            way.drain(..at);
            way.push(program);
            return true;
        }
        if done[program] {
            return false;
        }
        way.push(program);
        if all[program].iter().any(|other| walk(*other, all, way, done)) {
            return true;
        }
        way.pop();
        done[program] = true;
        false
    }
    let mut done = vec![false; dependencies.len()];
    let mut way = Vec::new();
    (0..dependencies.len()).any(|program| walk(program, dependencies, &mut way, &mut done)).then_some(way)
}

/// One run of a program.
struct Life {
    signals: ProgramSignals,
    thread: JoinHandle<()>,
    /// Looks whether it listens, until the sender is gone.
    probe: Option<(Option<Sender<()>>, JoinHandle<()>)>,
    /// Why it was killed, if it was.
    killed: Option<End>,
    /// CPU time of it that was told of: between its end and our hearing of that, there is none to be read.
    cpu_time: Duration,
}

/// A change that a client waits for.
struct Asked {
    programs: Vec<usize>,
    wish: Change,
    done: Sender<Result<(), String>>,
}

struct Running<'a> {
    specs: &'a [Spec],
    observer: &'a dyn Observer,
    handle: &'a Handle,
    plan: Plan,
    logs: Logs,
    tails: Tails,
    lives: Vec<Option<Life>>,
    ends: Vec<Option<End>>,
    /// Of runs that have ended, but for their number.
    totals: Vec<Totals>,
    asked: Vec<Asked>,
    /// Threads of runs that have ended.
    ending: Vec<JoinHandle<()>>,
    began: Instant,
    services: Services<'a>,
    /// Those that are called have domains before any begins: who calls them meanwhile learns that they have not begun.
    made: Vec<Option<Made>>,
}

/// A program that has not begun, and where what it writes comes out.
struct Made {
    program: Program,
    reads: [(Stream, OwnedFd); 2],
}

impl Running<'_> {
    fn serve(&mut self, messages: &Receiver<Message>) {
        loop {
            self.act(messages);
            self.answer();
            if self.plan.is_over() {
                return;
            }
            let message = match self.plan.next_due() {
                Some(due) => messages.recv_timeout(due.saturating_sub(self.now())),
                None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            // (Handles are there as long as this is.)
            if let Ok(message) = message {
                self.hear(message);
            }
        }
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn tell(&self, program: usize, event: &Event<'_>) {
        self.observer.event(&self.specs[program].name, event);
    }

    /// Does what is to be done, and hears meanwhile: a thousand programs take seconds to start, and a request to end does not wait for that.
    fn act(&mut self, messages: &Receiver<Message>) {
        loop {
            let actions = self.plan.step(self.now());
            if actions.is_empty() {
                return;
            }
            for action in actions {
                match action {
                    Action::Start(program) => self.start(program),
                    Action::Terminate(program) => {
                        self.tell(program, &Event::Stopping);
                        if let Some(life) = &mut self.lives[program]
                            && life.signals.terminate()
                        {
                            life.killed = Some(End::Terminated);
                        }
                    }
                    Action::Kill(program) => {
                        self.tell(program, &Event::Killing(self.specs[program].stop_timeout));
                        self.kill(program);
                    }
                    Action::Ready(program) => self.tell(program, &Event::Ready),
                    Action::Restart(program, delay) => self.tell(program, &Event::Restarting(delay)),
                    Action::GiveUp(program, other) => {
                        self.tell(program, &Event::GaveUp(&self.specs[other].name));
                    }
                }
            }
            while let Ok(message) = messages.try_recv() {
                self.hear(message);
            }
        }
    }

    fn kill(&mut self, program: usize) {
        if let Some(life) = &mut self.lives[program] {
            life.killed = Some(End::Killed);
            life.signals.kill();
        }
    }

    fn start(&mut self, program: usize) {
        match self.live(program) {
            Ok(life) => {
                self.lives[program] = Some(life);
                self.totals[program].runs += 1;
                self.tell(program, &Event::Started);
                self.plan.started(program);
            }
            Err(why) => self.end(program, End::NotStarted(why), None),
        }
    }

    /// Makes the domains of those that are called by others.
    fn make_services(&mut self) {
        for program in 0..self.specs.len() {
            if !self.specs[program].exports.is_empty() {
                // (What keeps it from being made is told when it is to begin.)
                self.made[program] = self.make(program).ok();
            }
        }
    }

    /// The domain of a run, in which nothing has begun; it serves what the program exports.
    fn make(&mut self, program: usize) -> Result<Made, String> {
        let spec = &self.specs[program];
        let text = |error: &dyn std::error::Error| error.to_string();
        let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(|error| format!("cannot make a pipe: {error}"));
        let ((out, to_out), (errors, to_errors)) = (pipe()?, pipe()?);
        let nothing = File::open("/dev/null").map_err(|error| format!("cannot open /dev/null: {error}"))?;
        let grants = spec.grants.clone().stdin(OwnedFd::from(nothing));
        let grants = grants.and_then(|grants| grants.stdout(to_out)?.stderr(to_errors));
        let options = spec.options(grants.map_err(|error| text(&error))?);
        let made = Program::new(&spec.module, options).map_err(|error| text(&error))?;
        self.services.serve(program, &made.domain()).map_err(|error| text(&error))?;
        Ok(Made { program: made, reads: [(Stream::Out, out), (Stream::Error, errors)] })
    }

    /// Begins a run.
    fn live(&mut self, program: usize) -> Result<Life, String> {
        let spec = &self.specs[program];
        let number = self.plan.life(program);
        let Made { program: made, reads } = match self.made[program].take() {
            Some(made) => made,
            None => self.make(program)?,
        };
        self.services.link(program, &made.domain()).map_err(|error| error.to_string())?;
        for (stream, pipe) in reads {
            self.logs.read(program, number, stream, pipe).map_err(|error| error.to_string())?;
        }
        let signals = made.signals();
        let no_thread = |error: std::io::Error| format!("cannot start a thread: {error}");
        // (First: without it, what depends on the program would wait for ever. It ends if the program does not begin.)
        let probe = match &spec.ready {
            Ready::Listening(address) => {
                let address = address.clone();
                let (sender, over) = channel();
                let probe = self.probe(program, number, move || probe::accepts(&address, &over));
                Some((Some(sender), probe.map_err(no_thread)?))
            }
            Ready::Started if !spec.exports.is_empty() => {
                let signals = signals.clone();
                // (Its end is that of the program, or the program's beginning.)
                let probe = self.probe(program, number, move || signals.wait_until_begun());
                Some((None, probe.map_err(no_thread)?))
            }
            _ => None,
        };
        let (logs, messages) = (self.logs.clone(), self.handle.0.clone());
        let runs = std::thread::Builder::new().name(spec.name.replace('\0', ""));
        let thread = runs.spawn(move || {
            let end = made.run();
            // Its lines come before its end.
            logs.finish(program, number);
            let _ = messages.send(Message::Ended { program, end });
        });
        let thread = thread.map_err(no_thread)?;
        Ok(Life { signals, thread, probe, killed: None, cpu_time: Duration::ZERO })
    }

    /// A thread that says that a run is ready, if `waits` says so.
    fn probe(
        &self,
        program: usize,
        life: u64,
        waits: impl FnOnce() -> bool + Send + 'static,
    ) -> std::io::Result<JoinHandle<()>> {
        let messages = self.handle.0.clone();
        std::thread::Builder::new().name("lockgate-probe".to_owned()).spawn(move || {
            if waits() {
                let _ = messages.send(Message::Ready { program, life });
            }
        })
    }

    /// A run is over, or did not begin.
    fn end(&mut self, program: usize, end: End, said: Option<&ProgramEnd>) {
        let asked = self.plan.state(program) == State::Stopping;
        self.tell(program, &Event::Ended(&end, said));
        let kind = end.kind(asked);
        self.totals[program].faults += u64::from(kind == Ended::Fault);
        self.plan.ended(program, kind, self.now());
        self.ends[program] = Some(end);
    }

    fn hear(&mut self, message: Message) {
        match message {
            Message::Ended { program, end } => {
                let Some(life) = self.lives[program].take() else { return };
                // Both are at their ends, or soon: others do not wait for that.
                self.ending.push(life.thread);
                self.ending.extend(life.probe.map(|(_, probe)| probe));
                self.ending.retain(|thread| !thread.is_finished());
                self.totals[program].add(&end);
                let how = life.killed.filter(|_| was_killed(&end)).unwrap_or_else(|| end_of(&end));
                self.end(program, how, Some(&end));
            }
            Message::Ready { program, life } => {
                if let Some(run) = self.lives[program].as_ref().filter(|_| self.plan.life(program) == life) {
                    run.signals.begin();
                }
                self.plan.ready(program, life);
            }
            Message::Close => self.plan.close(),
            Message::Kill => {
                self.plan.close();
                for program in 0..self.specs.len() {
                    self.kill(program);
                }
            }
            Message::Signal(signal) => {
                let sent = self.lives.iter().flatten().filter(|life| life.signals.send(signal)).count();
                if sent == 0 {
                    self.plan.close();
                }
            }
            Message::Status(answer) => drop(answer.send(self.status())),
            Message::Logs(names, answer) => drop(answer.send(self.last_lines(&names))),
            Message::Change { names, wish, done } => match self.numbers(&names) {
                Err(why) => drop(done.send(Err(why))),
                Ok(_) if wish == Change::Restart && self.plan.is_closing() => {
                    drop(done.send(Err("all programs are to end".to_owned())));
                }
                Ok(programs) => {
                    match wish {
                        Change::Stop if names.is_empty() => self.plan.close(),
                        Change::Stop => self.plan.stop(programs.iter().copied()),
                        Change::Restart => self.plan.restart(programs.iter().copied()),
                    }
                    self.asked.push(Asked { programs, wish, done });
                }
            },
        }
    }

    /// Answers those whose changes have come about.
    fn answer(&mut self) {
        let (plan, specs, ends) = (&self.plan, self.specs, &self.ends);
        self.asked.retain(|asked| {
            let is_settled = |program: &usize| match asked.wish {
                Change::Stop => plan.state(*program).is_over(),
                Change::Restart => plan.has_settled(*program),
            };
            if !asked.programs.iter().all(is_settled) {
                return true;
            }
            let failed = asked.programs.iter().find(|program| !plan.was_ready(**program));
            let answer = match failed.filter(|_| asked.wish == Change::Restart) {
                Some(&program) => {
                    let why = ends[program].as_ref().map_or("it was not started".to_owned(), End::to_string);
                    Err(format!("{}: {why}", specs[program].name))
                }
                None => Ok(()),
            };
            drop(asked.done.send(answer));
            false
        });
    }

    /// The programs of these names; all, if there are none.
    fn numbers(&self, names: &[String]) -> Result<Vec<usize>, String> {
        if names.is_empty() {
            return Ok((0..self.specs.len()).collect());
        }
        let known = || self.specs.iter().map(|spec| spec.name.as_str());
        let number =
            |name: &String| known().position(|known| known == name).ok_or_else(|| no_program(name, known()));
        names.iter().map(number).collect()
    }

    fn last_lines(&self, names: &[String]) -> Result<Vec<(String, Line)>, String> {
        let programs = self.numbers(names)?;
        let lines = locked(&self.tails).lines(&programs);
        Ok(lines.into_iter().map(|(program, line)| (self.specs[program].name.clone(), line)).collect())
    }

    fn status(&mut self) -> Vec<Status> {
        let tails = locked(&self.tails);
        let lives = &mut self.lives;
        let of = |(program, spec): (usize, &Spec)| {
            let mut totals = Totals { written: tails.written(program), ..self.totals[program] };
            let usage = lives[program].as_mut().and_then(|life| {
                let usage = life.signals.usage();
                life.cpu_time = usage.and_then(|usage| usage.cpu_time).unwrap_or(life.cpu_time);
                totals.cpu_time += life.cpu_time;
                usage
            });
            Status {
                name: spec.name.clone(),
                state: self.plan.state(program),
                restarts: self.plan.restarts(program),
                end: self.ends[program].clone(),
                usage,
                totals,
            }
        };
        self.specs.iter().enumerate().map(of).collect()
    }

    fn finish(mut self) -> Ends {
        for thread in std::mem::take(&mut self.ending) {
            let _ = thread.join();
        }
        self.services.end();
        Ends { programs: self.status(), first_failure: self.plan.first_failure() }
    }
}

/// Whether a run ended because its domain was.
fn was_killed(end: &ProgramEnd) -> bool {
    let Err(error) = &end.outcome else { return false };
    matches!(error, CallError::Killed(_)) || error.fault().map(Fault::kind) == Some(FaultKind::Killed)
}

fn end_of(end: &ProgramEnd) -> End {
    match &end.outcome {
        Ok(status) => End::Status(*status as u8),
        Err(error) => match error.fault() {
            Some(fault) => End::Fault(Box::new(fault.clone())),
            None => End::NotStarted(error.to_string()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found() {
        assert_eq!(circle(&[vec![1], vec![2], vec![]]), None);
        assert_eq!(circle(&[vec![1, 2], vec![2], vec![]]), None, "two ways to one");
        assert_eq!(circle(&[vec![1], vec![2], vec![3], vec![1]]), Some(vec![1, 2, 3, 1]));
        assert_eq!(circle(&[vec![0]]), Some(vec![0, 0]));
    }

    #[test]
    fn a_text_is_found_in_a_line() {
        assert!(holds(b"ready to accept", b"to acc") && holds(b"", b""));
        assert!(!holds(b"read", b"ready") && !holds(b"", b"r"));
    }
}
