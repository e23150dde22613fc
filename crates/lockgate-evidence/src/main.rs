//! `evidence`: tries to catch the verifier in a mistake, and prints the counts.

use anyhow::{Context, Result, bail, ensure};
use clap::{Parser, ValueEnum};
use lockgate_evidence::{differential, domains, operand_rule, real_code, rsp_rule, semantics, single_steps};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

/// Other decoders, the processor and arithmetic against the verifier. Exit status 1 if it was caught. docs/evidence.md
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// What to run; everything if nothing is named.
    #[arg(value_enum)]
    parts: Vec<Part>,
    /// How much: seconds, minutes, or hours.
    #[arg(long, value_enum, default_value = "quick")]
    effort: Effort,
    /// For everything random.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Also write the counts as JSON here.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Of one process of a part that executes: so many instructions, JSON on standard output.
    #[arg(long, hide = true)]
    worker: Option<u64>,
    /// Only this: a program of your own, a module and its arguments, with a shadow stack. It is granted the current folder.
    #[arg(long, num_args = 1.., allow_hyphen_values = true, conflicts_with = "parts")]
    observe: Option<Vec<String>>,
    /// The child of the part `returns`: runs this program.
    #[arg(long, hide = true, num_args = 1.., allow_hyphen_values = true)]
    victim: Option<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Differential decoding.
    Decoders,
    /// Accepted instructions, executed one by one.
    Semantics,
    /// Programs of random accepted code, single-stepped.
    Programs,
    /// The same in real domains.
    Domains,
    /// Real programs with a shadow stack.
    Returns,
    /// The rules about operands and rsp, enumerated.
    Rules,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Effort {
    Quick,
    Long,
    Full,
}

impl Effort {
    fn decoders(self, seed: u64) -> differential::Effort {
        let (one_in, code_one_in, random) = match self {
            Effort::Quick => (4_000, 400, 100_000),
            Effort::Long => (16, 1, 50_000_000),
            Effort::Full => (1, 1, 1_000_000_000),
        };
        differential::Effort { one_in, code_one_in, random, seed }
    }

    /// Instructions executed.
    fn semantics(self) -> u64 {
        match self {
            Effort::Quick => 50_000,
            Effort::Long => 12_000_000,
            Effort::Full => 100_000_000,
        }
    }

    /// Steps of programs.
    fn programs(self) -> u64 {
        match self {
            Effort::Quick => 15_000,
            Effort::Long => 12_000_000,
            Effort::Full => 100_000_000,
        }
    }

    /// Programs called in domains.
    fn domains(self) -> u64 {
        match self {
            Effort::Quick => 50,
            Effort::Long => 30_000,
            Effort::Full => 1_000_000,
        }
    }

    /// Real programs, and how many calls and returns of each.
    fn returns(self) -> real_code::Effort {
        match self {
            Effort::Quick => real_code::Effort { small: true, most: 20_000 },
            Effort::Long => real_code::Effort { small: false, most: 1_000_000 },
            Effort::Full => real_code::Effort { small: false, most: u64::MAX },
        }
    }

    /// Of the operands, one in so many; steps of a sequence.
    fn rules(self) -> (u64, usize) {
        match self {
            Effort::Quick => (200, 3),
            Effort::Long => (1, 5),
            Effort::Full => (1, 6),
        }
    }
}

/// The counts.
#[derive(Default, Serialize)]
struct Counts {
    #[serde(skip_serializing_if = "Option::is_none")]
    decoders: Option<differential::Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    semantics: Option<semantics::Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    programs: Option<single_steps::Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    domains: Option<domains::Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    returns: Option<real_code::Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operand_rule: Option<operand_rule::Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rsp_rule: Option<rsp_rule::Outcome>,
    /// Everything that must be zero, summed.
    caught: u64,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    if let Some(work) = arguments.worker {
        let output = std::io::stdout();
        match arguments.parts[..] {
            [Part::Semantics] => serde_json::to_writer(output, &semantics::run(work, arguments.seed)?)?,
            [Part::Programs] => serde_json::to_writer(output, &single_steps::run(work, arguments.seed)?)?,
            [Part::Domains] => serde_json::to_writer(output, &domains::run(work, arguments.seed)?)?,
            _ => bail!("--worker is for one part that executes"),
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(command) = &arguments.victim {
        return real_code::victim(command);
    }
    if let Some(command) = &arguments.observe {
        let (start, mut counts) = (Instant::now(), Counts::default());
        let outcome = real_code::observe(command, arguments.effort.returns().most)?;
        report_returns(outcome, start, &mut counts, &mut std::io::stderr())?;
        return Ok(ExitCode::from(u8::from(counts.caught != 0)));
    }
    let wanted = |part| arguments.parts.is_empty() || arguments.parts.contains(&part);
    let mut counts = Counts::default();
    if wanted(Part::Decoders) {
        decoders(&arguments, &mut counts)?;
    }
    if wanted(Part::Semantics) {
        single(&arguments, &mut counts)?;
    }
    if wanted(Part::Programs) {
        programs(&arguments, &mut counts)?;
    }
    if wanted(Part::Domains) {
        in_domains(&arguments, &mut counts)?;
    }
    if wanted(Part::Returns) {
        returns(&arguments, &mut counts)?;
    }
    if wanted(Part::Rules) {
        rules(&arguments, &mut counts);
    }
    if let Some(path) = &arguments.json {
        std::fs::write(path, serde_json::to_vec_pretty(&counts)?)
            .with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(ExitCode::from(u8::from(counts.caught != 0)))
}

fn decoders(arguments: &Arguments, counts: &mut Counts) -> Result<()> {
    let start = Instant::now();
    let mut outcome = differential::run(arguments.effort.decoders(arguments.seed))?;
    if arguments.effort == Effort::Quick {
        // Too few for everything that is explained; tests/quick.rs looks at the examples instead.
        outcome.unused.clear();
    }
    for source in &outcome.sources {
        println!(
            "    {:>14} encodings, {:>12} tried, {:>11} accepted: {}",
            source.size, source.tried, source.accepted, source.name
        );
    }
    for (kind, (number, example)) in &outcome.kinds {
        println!("    DISAGREEMENT {kind} ({number} times): {example}");
    }
    for explanation in &outcome.unused {
        println!("    NEVER NEEDED: explained.txt says '{explanation}'");
    }
    println!(
        "decoders: {} disagreements about {} accepted of {} encodings; {} with an explained one; {:.0?}",
        outcome.disagreements,
        outcome.accepted,
        outcome.encodings,
        outcome.explained,
        start.elapsed()
    );
    counts.caught += outcome.disagreements + outcome.unused.len() as u64;
    counts.decoders = Some(outcome);
    Ok(())
}

/// Runs a part in processes of its own, one for each processor: they take over their signals.
fn in_processes<T: DeserializeOwned>(part: &str, work: u64, seed: u64) -> Result<Vec<T>> {
    let workers = std::thread::available_parallelism().map_or(1, |number| number.get() as u64);
    let worker = |number: u64| {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([
            part,
            "--worker",
            &(work / workers).to_string(),
            "--seed",
            &(seed + (number << 32)).to_string(),
        ]);
        command.stdout(Stdio::piped()).spawn()
    };
    let children =
        (0..workers).map(worker).collect::<std::io::Result<Vec<_>>>().context("starting a process")?;
    let outcome = |child: std::process::Child| {
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "a process that executes {part} ended with {}", output.status);
        Ok(serde_json::from_slice(&output.stdout)?)
    };
    children.into_iter().map(outcome).collect()
}

fn single(arguments: &Arguments, counts: &mut Counts) -> Result<()> {
    let start = Instant::now();
    let mut outcome = semantics::Outcome::default();
    for part in in_processes("semantics", arguments.effort.semantics(), arguments.seed)? {
        outcome.add(part);
    }
    for (kind, (number, example)) in &outcome.kinds {
        println!("    VIOLATION {kind} ({number} times): {example}");
    }
    println!(
        "semantics: {} violations in {} executions of {} forms; {} faults where they belong, {} complete accesses at a page's end, {} not \
         known to this processor; {:.0?}",
        outcome.violations,
        outcome.cases,
        outcome.forms.len(),
        outcome.faults,
        outcome.edges,
        outcome.undefined,
        start.elapsed()
    );
    if outcome.left_out > 0 {
        println!(
            "semantics: SKIPPED {} instructions: this processor lacks AVX-512 or AVX, which they belong to",
            outcome.left_out
        );
    }
    if outcome.undefined * 2 > outcome.cases {
        bail!("this processor knows less than half of the instructions: nothing is shown");
    }
    counts.caught += outcome.violations;
    counts.semantics = Some(outcome);
    Ok(())
}

fn programs(arguments: &Arguments, counts: &mut Counts) -> Result<()> {
    let start = Instant::now();
    let mut outcome = single_steps::Outcome::default();
    for part in in_processes("programs", arguments.effort.programs(), arguments.seed)? {
        outcome.add(part);
    }
    for (kind, (number, example)) in &outcome.steps.kinds {
        println!("    VIOLATION {kind} ({number} times): {example}");
    }
    println!(
        "programs: {} violations in {} steps; {} programs, {} of them refused, {} runs, {} of them ended by a fault; {:.0?}",
        outcome.steps.violations,
        outcome.steps.cases,
        outcome.programs,
        outcome.refused,
        outcome.runs,
        outcome.steps.faults,
        start.elapsed()
    );
    most_are_accepted(outcome.refused, outcome.programs)?;
    counts.caught += outcome.steps.violations;
    counts.programs = Some(outcome);
    Ok(())
}

fn in_domains(arguments: &Arguments, counts: &mut Counts) -> Result<()> {
    let start = Instant::now();
    let mut outcome = domains::Outcome::default();
    for part in in_processes("domains", arguments.effort.domains(), arguments.seed)? {
        outcome.add(part);
    }
    for (kind, (number, example)) in &outcome.kinds {
        println!("    VIOLATION {kind} ({number} times): {example}");
    }
    println!(
        "domains: {} violations in {} modules, {} refused; {} calls, {} of them returned, the others ended with {:?}; {:.0?}",
        outcome.violations,
        outcome.modules,
        outcome.refused,
        outcome.calls,
        outcome.returned,
        outcome.faults,
        start.elapsed()
    );
    most_are_accepted(outcome.refused, outcome.modules + outcome.refused)?;
    counts.caught += outcome.violations;
    counts.domains = Some(outcome);
    Ok(())
}

/// What is refused shows nothing of what accepted code does. The generator keeps to the rules, so hardly anything is.
fn most_are_accepted(refused: u64, made: u64) -> Result<()> {
    if refused * 10 > made {
        bail!("{refused} of {made} random programs are refused: the generator does not keep to the rules");
    }
    Ok(())
}

fn returns(arguments: &Arguments, counts: &mut Counts) -> Result<()> {
    let start = Instant::now();
    report_returns(real_code::run(arguments.effort.returns())?, start, counts, &mut std::io::stdout())
}

/// Standard output is the program's, where it has that.
fn report_returns(
    outcome: real_code::Outcome,
    start: Instant,
    counts: &mut Counts,
    to: &mut dyn Write,
) -> Result<()> {
    for (name, seen) in &outcome.programs {
        writeln!(
            to,
            "    {name:10} {:>12} calls, {:>12} returns, {:>8} resumed, {:>5} deep{}",
            seen.calls,
            seen.returns,
            seen.resumes,
            seen.deepest,
            if seen.to_the_end { ", to the end" } else { "" }
        )?;
    }
    for example in &outcome.examples {
        writeln!(to, "    VIOLATION {example}")?;
    }
    writeln!(
        to,
        "returns: {} violations in {} returns of {} programs; {:.0?}",
        outcome.violations,
        outcome.returns,
        outcome.programs.len(),
        start.elapsed()
    )?;
    counts.caught += outcome.violations;
    counts.returns = Some(outcome);
    Ok(())
}

fn rules(arguments: &Arguments, counts: &mut Counts) {
    let start = Instant::now();
    let (one_in, length) = arguments.effort.rules();
    let (operands, rsp) = std::thread::scope(|scope| {
        let operands = scope.spawn(|| operand_rule::run(one_in));
        let rsp = rsp_rule::run(length, one_in);
        (operands.join().expect("no panic"), rsp)
    });
    for example in operands.examples.iter().chain(&rsp.examples) {
        println!("    VIOLATION {example}");
    }
    println!(
        "operand rule: {} violations, {} accepted of {} operands",
        operands.violations, operands.accepted, operands.operands
    );
    println!(
        "rsp rule: {} violations, {} accepted of {} sequences, {} pairs of displacements; {:.0?}",
        rsp.violations,
        rsp.accepted,
        rsp.sequences,
        rsp.pairs,
        start.elapsed()
    );
    counts.caught += operands.violations + rsp.violations;
    (counts.operand_rule, counts.rsp_rule) = (Some(operands), Some(rsp));
}
