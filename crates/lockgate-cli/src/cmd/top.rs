//! `lockgate top`: what the domains of running processes do, refreshed.
//!
//! Everything shown was written by other processes, which may lie: numbers are only ever divided and printed, text has been
//! cleaned by the library, and widths are bounded.

use super::descriptors;
use super::output;
use super::screen::{Key, Screen};
use anyhow::{Context as _, bail};
use lockgate::registry::{Observation, ObservedCalls, ObservedDomain, Observer};
use lockgate_programs::control::{self, Program};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Arguments of `lockgate top`.
#[derive(clap::Args)]
#[command(after_help = "\
On a terminal: q or Ctrl-C ends it; c, p, m, f, n sort by calls, CPU time, memory, faults, name. Else it prints one \
table after another, and --json one object per line.

CPU time and threads inside are known of domains that are measured (DomainOptions::measure_cpu_time), calls of \
bindings whose policy counts them (Policy::counted, Policy::timed); else there is a dash. A process started with \
LOCKGATE_MEASURE=1 measures and counts everything.

Exit status: 0; 2 if the process cannot be read.

Examples:
  lockgate top
  lockgate top 4711 --sort memory
  lockgate top --batch -n 1
  lockgate top --json -n 60 | jq '.processes[].domains[] | {name, calls_per_second}'")]
pub struct Args {
    /// Process to look at; without it, every process that you may look at and that has domains
    pid: Option<u32>,
    /// Seconds between samples
    #[arg(short, long, value_name = "SECONDS", value_parser = interval, default_value = "1")]
    delay: Duration,
    /// Stop after this many samples
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Print tables one after another, even on a terminal
    #[arg(short, long)]
    batch: bool,
    /// Print each sample as JSON, on one line
    #[arg(long)]
    json: bool,
    /// Sort by this column
    #[arg(short, long, value_enum, default_value_t = Sort::Cpu)]
    sort: Sort,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Sort {
    Cpu,
    Calls,
    Memory,
    Faults,
    Name,
}

/// One look at everything, as JSON shows it.
#[derive(Serialize)]
struct Report {
    schema: u32,
    /// Since the look before, seconds; 0 at the first.
    seconds: f64,
    /// Processes that could not be looked at, because there are too many: two descriptors are open for each.
    unseen: usize,
    processes: Vec<Process>,
}

#[derive(Serialize)]
struct Process {
    pid: u32,
    domains: Vec<Domain>,
    /// Of `lockgate up`.
    programs: Vec<Program>,
}

/// Rates are missing at the first look; other numbers where they are not measured.
#[derive(Serialize)]
struct Domain {
    name: String,
    module: String,
    cpu_percent: Option<f64>,
    cpu_ns: Option<u64>,
    calls_per_second: Option<f64>,
    memory: u64,
    memory_limit: u64,
    faults: u64,
    threads: u32,
    inside: Option<u32>,
    bindings: Vec<Binding>,
}

#[derive(Serialize)]
struct Binding {
    function: String,
    client: String,
    calls: u64,
    calls_per_second: Option<f64>,
    mean_ns: Option<u64>,
}

/// How long a process that runs programs may take to say what they do.
const TIMEOUT: Duration = Duration::from_millis(200);

pub fn main(args: Args) -> anyhow::Result<ExitCode> {
    let on_screen =
        !args.batch && !args.json && std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    let mut screen = if on_screen { Some(Screen::enter()?) } else { None };
    let mut sort = args.sort;
    let mut watch = Watch::default();
    descriptors::raise_the_limit();
    let mut looks = 0;
    loop {
        let mut report = watch.look(args.pid)?;
        sort_domains(&mut report, sort);
        let is_read = match &mut screen {
            Some(screen) => screen.show(&text(&report, sort)).map(|()| true)?,
            None if args.json => output::show(&(serde_json::to_string(&report)? + "\n"))?,
            None => output::show(&text(&report, sort))?,
        };
        looks += 1;
        if args.count.is_some_and(|count| looks >= count) || !is_read {
            return Ok(ExitCode::SUCCESS);
        }
        match &mut screen {
            None => std::thread::sleep(args.delay),
            Some(screen) => match screen.wait(args.delay)? {
                Some(Key::Quit) => return Ok(ExitCode::SUCCESS),
                Some(Key::Letter(letter)) => sort = sort_of(letter).unwrap_or(sort),
                None => {}
            },
        }
    }
}

fn sort_of(letter: u8) -> Option<Sort> {
    Some(match letter {
        b'p' => Sort::Cpu,
        b'c' => Sort::Calls,
        b'm' => Sort::Memory,
        b'f' => Sort::Faults,
        b'n' => Sort::Name,
        _ => return None,
    })
}

/// The processes looked at, and what they had done at the look before.
#[derive(Default)]
struct Watch {
    observers: HashMap<u32, Observer>,
    /// Processes that were not looked at at the last look, for want of descriptors.
    unseen: usize,
    before: Option<(Instant, Totals)>,
}

/// By process and number: CPU time of domains, calls of bindings.
#[derive(Default)]
struct Totals {
    cpu: HashMap<(u32, u64), Duration>,
    calls: HashMap<(u32, u64), u64>,
}

impl Watch {
    fn look(&mut self, pid: Option<u32>) -> anyhow::Result<Report> {
        self.find(pid)?;
        let now = Instant::now();
        let (before, totals) = match self.before.take() {
            Some((at, totals)) => (Some(now - at), totals),
            None => (None, Totals::default()),
        };
        let mut seen = Vec::new();
        let mut gone = None;
        self.observers.retain(|&pid, observer| match observer.look() {
            Ok(observation) => {
                seen.push((pid, observation));
                true
            }
            // It has ended, or runs another program, which is found at the next look.
            Err(error) => {
                gone = Some(error);
                false
            }
        });
        if let (Some(_), Some(error)) = (pid, gone) {
            bail!(error);
        }
        seen.sort_by_key(|(pid, _)| *pid);
        let mut next = Totals::default();
        let rates = Rates { totals, seconds: before.map(|passed| passed.as_secs_f64()) };
        let mut processes: Vec<Process> =
            seen.into_iter().map(|(pid, observation)| rates.process(pid, observation, &mut next)).collect();
        for answer in control::all(TIMEOUT).into_iter().flatten() {
            let is_its = |process: &&mut Process| i64::from(process.pid) == i64::from(answer.pid);
            if let Some(process) = processes.iter_mut().find(is_its) {
                process.programs.extend(answer.programs);
            }
        }
        self.before = Some((now, next));
        let (seconds, unseen) = (rates.seconds.unwrap_or(0.0), self.unseen);
        Ok(Report { schema: 1, seconds, unseen, processes })
    }

    /// Opens what is new.
    fn find(&mut self, pid: Option<u32>) -> anyhow::Result<()> {
        if let Some(pid) = pid {
            if self.observers.is_empty() {
                self.observers.insert(pid, Observer::new(pid)?);
            }
            return Ok(());
        }
        self.unseen = 0;
        for pid in output::processes()? {
            // Other people's processes, and those without domains, are passed over.
            if let std::collections::hash_map::Entry::Vacant(place) = self.observers.entry(pid) {
                match Observer::new(pid) {
                    Ok(observer) => drop(place.insert(observer)),
                    Err(error) if error.is_the_readers() => self.unseen += 1,
                    Err(_) => {}
                }
            }
        }
        Ok(())
    }
}

/// What was before, to compare with.
struct Rates {
    totals: Totals,
    /// Since then.
    seconds: Option<f64>,
}

impl Rates {
    fn process(&self, pid: u32, observation: Observation, next: &mut Totals) -> Process {
        let domains = observation.domains.into_iter().map(|domain| self.domain(pid, domain, next)).collect();
        Process { pid, domains, programs: Vec::new() }
    }

    fn domain(&self, pid: u32, seen: ObservedDomain, next: &mut Totals) -> Domain {
        let ObservedDomain {
            name,
            module,
            id,
            memory,
            memory_limit,
            faults,
            threads,
            inside,
            cpu_time,
            calls,
        } = seen;
        if let Some(cpu) = cpu_time {
            next.cpu.insert((pid, id), cpu);
        }
        let used = cpu_time.zip(self.totals.cpu.get(&(pid, id))).map(|(now, then)| now.saturating_sub(*then));
        let cpu_percent = used.zip(self.seconds).map(|(used, seconds)| 100.0 * used.as_secs_f64() / seconds);
        let bindings: Vec<_> = calls.into_iter().map(|calls| self.binding(pid, calls, next)).collect();
        let calls_per_second =
            bindings.iter().filter_map(|binding| binding.calls_per_second).reduce(|a, b| a + b);
        let cpu_ns = cpu_time.map(|cpu| cpu.as_nanos() as u64);
        Domain {
            name,
            module,
            cpu_percent,
            cpu_ns,
            calls_per_second,
            memory,
            memory_limit,
            faults,
            threads,
            inside,
            bindings,
        }
    }

    fn binding(&self, pid: u32, seen: ObservedCalls, next: &mut Totals) -> Binding {
        let ObservedCalls { id, function, client, counts } = seen;
        next.calls.insert((pid, id), counts.calls);
        let more = self.totals.calls.get(&(pid, id)).map(|then| counts.calls.saturating_sub(*then));
        let calls_per_second = more.zip(self.seconds).map(|(more, seconds)| more as f64 / seconds);
        let mean_ns = counts.mean.map(|mean| mean.as_nanos() as u64);
        Binding { function, client, calls: counts.calls, calls_per_second, mean_ns }
    }
}

fn sort_domains(report: &mut Report, sort: Sort) {
    // Unknown numbers come last; -0.5 is none that is known.
    let rate = |rate: Option<f64>| Reverse((rate.unwrap_or(-0.5) * 1000.0) as i64);
    for process in &mut report.processes {
        match sort {
            Sort::Cpu => process.domains.sort_by_key(|domain| rate(domain.cpu_percent)),
            Sort::Calls => process.domains.sort_by_key(|domain| rate(domain.calls_per_second)),
            Sort::Memory => process.domains.sort_by_key(|domain| Reverse(domain.memory)),
            Sort::Faults => process.domains.sort_by_key(|domain| Reverse(domain.faults)),
            Sort::Name => process.domains.sort_by(|a, b| a.name.cmp(&b.name)),
        }
    }
}

fn text(report: &Report, sort: Sort) -> String {
    let mut text = String::new();
    let domains: usize = report.processes.iter().map(|process| process.domains.len()).sum();
    let _ = writeln!(
        text,
        "{}, {}, by {}",
        output::count_of(report.processes.len(), "process", "processes"),
        output::count_of(domains, "domain", "domains"),
        format!("{sort:?}").to_lowercase()
    );
    if report.unseen > 0 {
        let _ = writeln!(
            text,
            "{} more were not read, because too many files are open: raise the limit (ulimit -n)",
            report.unseen
        );
    }
    for process in &report.processes {
        let _ = writeln!(text, "\nprocess {}", process.pid);
        let _ = writeln!(
            text,
            "{:24} {:>6} {:>9} {:>8} {:>8} {:>6} {:>7} {:>6}  MODULE",
            "DOMAIN", "CPU%", "CALLS/s", "MEMORY", "LIMIT", "FAULTS", "THREADS", "INSIDE"
        );
        for domain in &process.domains {
            let _ = writeln!(
                text,
                "{:24} {:>6} {:>9} {:>8} {:>8} {:>6} {:>7} {:>6}  {}",
                cut(&domain.name, 24),
                known(domain.cpu_percent.map(|percent| format!("{percent:.1}"))),
                known(domain.calls_per_second.map(count)),
                bytes(domain.memory),
                bytes(domain.memory_limit),
                domain.faults,
                domain.threads,
                known(domain.inside.map(|inside| inside.to_string())),
                cut(&domain.module, 32),
            );
            for Binding { function, client, calls, calls_per_second, mean_ns } in &domain.bindings {
                let _ = writeln!(
                    text,
                    "  {:29} {:>9} {:>17} calls, mean {}, for {}",
                    cut(function, 29),
                    known(calls_per_second.map(count)),
                    calls,
                    known(mean_ns.map(|mean| format!("{mean} ns"))),
                    cut(client, 24),
                );
            }
        }
        // (One that runs, and was never restarted, is in the table as a domain.)
        for Program { name, state, restarts, end, .. } in &process.programs {
            if state != "running" || *restarts > 0 {
                let (restarts, end) = (output::restarts(*restarts), output::last_run(end.as_deref()));
                let _ = writeln!(text, "program {name}: {state}{restarts}{}", cut(&end, 100));
            }
        }
    }
    text
}

fn known(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some(_) => text.chars().take(most - 1).chain(['~']).collect(),
        None => text.to_owned(),
    }
}

/// A rate in at most six characters.
fn count(rate: f64) -> String {
    match rate {
        1e9.. => format!("{:.1}G", rate / 1e9),
        1e6.. => format!("{:.1}M", rate / 1e6),
        1e4.. => format!("{:.1}k", rate / 1e3),
        _ => format!("{rate:.0}"),
    }
}

fn bytes(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes}"),
        1024..1_048_576 => format!("{}K", bytes >> 10),
        1_048_576..1_073_741_824 => format!("{:.1}M", bytes as f64 / 1_048_576.0),
        _ => format!("{:.1}G", bytes as f64 / 1_073_741_824.0),
    }
}

fn interval(text: &str) -> anyhow::Result<Duration> {
    let seconds: f64 = text.parse().with_context(|| format!("{text:?} is not a number of seconds"))?;
    if !(0.01..=3600.0).contains(&seconds) {
        bail!("the time between looks is {seconds} s: it must be between 0.01 and 3600");
    }
    Ok(Duration::from_secs_f64(seconds))
}
