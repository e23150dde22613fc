//! `attacks`: lets every attack of the suite happen, and prints what came of it. README.md
#![forbid(unsafe_code)]

use anyhow::{Context, Result, ensure};
use attacks::list::{self, Attack};
use attacks::suite::{self, Row};
use attacks::{attempt, build, list::controls};
use clap::Parser;
use lockgate_toolchain::{Sysroot, silent};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Lets every attack of the suite happen, each in a process of its own. Exit status 1 unless all are held. tests/attacks/README.md
#[derive(Parser)]
struct Arguments {
    /// Only attacks whose area/name begins so, or that threaten this rule (R7)
    only: Vec<String>,
    /// Also writes the results as JSON here
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// How many at a time
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// The controls instead, none of which is held
    #[arg(long)]
    controls: bool,
    /// Builds the modules of those without a scenario into this folder instead, for hosts of other kinds; `attacks.json` says what each does
    #[arg(long, value_name = "FOLDER")]
    modules: Option<PathBuf>,
    /// Says how each one ended
    #[arg(long)]
    verbose: bool,
    /// The process of one attack: its folder; JSON on standard output
    #[arg(long, hide = true)]
    alone: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    if let Some(folder) = &arguments.alone {
        return alone(folder);
    }
    let root = if arguments.controls { controls() } else { list::suite() };
    let mut attacks = list::read(&root)?;
    let chosen = |attack: &Attack| {
        let is_meant =
            |only: &String| attack.title().starts_with(only) || attack.description.threatens.contains(only);
        arguments.only.is_empty() || arguments.only.iter().any(is_meant)
    };
    attacks.retain(chosen);
    ensure!(!attacks.is_empty(), "no attack is chosen");
    // Once, before many processes want it at the same time.
    Sysroot::ensure(&silent)?;
    if let Some(folder) = &arguments.modules {
        return modules(&attacks, folder);
    }
    let print = |row: &Row| print(row, arguments.verbose);
    let rows = suite::run(&attacks, &std::env::current_exe()?, arguments.threads, print)?;
    conclude(&rows, &arguments)
}

/// Builds what a host can load that calls one function by its prototype.
fn modules(attacks: &[Attack], folder: &Path) -> Result<ExitCode> {
    let mut built = Vec::new();
    for attack in attacks.iter().filter(|attack| attack.lacks().is_none()) {
        let about = &attack.description;
        let prototype = format!("int64_t {}({})", about.call.function, ["int64_t"; 6].join(", "));
        if about.scenario.is_some() || attack.source.is_none() {
            continue;
        }
        // (That nothing comes of some is looked at where the suite runs.)
        if let Ok(image) = build::foreign_file(attack, Some(&prototype))? {
            let file = format!("{}-{}.lg", attack.area, attack.name);
            std::fs::write(folder.join(&file), image)?;
            built.push(
                json!({ "title": attack.title(), "file": file, "call": about.call, "expect": about.expect }),
            );
        }
    }
    std::fs::write(folder.join("attacks.json"), format!("{:#}\n", json!(built)))?;
    Ok(ExitCode::SUCCESS)
}

/// Lets one attack happen here.
fn alone(folder: &Path) -> Result<ExitCode> {
    // Whoever makes a reader of its files take all memory or time is to harm this process alone.
    const MEMORY: u64 = 4 << 30;
    const SECONDS: u64 = 50;
    let limit = |most| Rlimit { current: Some(most), maximum: Some(most) };
    setrlimit(Resource::Data, limit(MEMORY))?;
    setrlimit(Resource::Cpu, limit(SECONDS))?;
    let outcome = attempt::run(Attack::read(folder)?)?;
    println!("{}", serde_json::to_string(&outcome)?);
    Ok(ExitCode::SUCCESS)
}

fn print(row: &Row, verbose: bool) {
    let mark = match (&row.skipped, row.held) {
        (Some(_), _) => "SKIPPED",
        (None, true) => "held",
        (None, false) => "NOT HELD",
    };
    let name = format!("{}/{}", row.area, row.attack);
    println!("{mark:8}  {name:56} {:16} {:16} {:5.2} s", row.expected, row.got, row.seconds);
    if !row.held || row.skipped.is_some() || verbose {
        println!("          {}", row.why);
    }
}

fn conclude(rows: &[Row], arguments: &Arguments) -> Result<ExitCode> {
    let held = rows.iter().filter(|row| row.held).count();
    println!();
    for (area, (held, all)) in suite::by_area(rows) {
        println!("{area:16} {held} of {all}");
    }
    println!("attacks held {held} of {}", rows.len());
    if let Some(path) = &arguments.json {
        let areas: serde_json::Map<String, serde_json::Value> = suite::by_area(rows)
            .into_iter()
            .map(|(area, (held, all))| (area.to_owned(), json!({ "held": held, "of": all })))
            .collect();
        let results = json!({ "schema": 1, "held": held, "of": rows.len(), "areas": areas, "attacks": rows });
        std::fs::write(path, format!("{results:#}\n")).with_context(|| path.display().to_string())?;
    }
    Ok(if held == rows.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
