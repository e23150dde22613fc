//! `fuzz`: runs oracles on files or near their corpora, and makes the inputs that corpora begin with.

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use lockgate_fuzz::memory_sys::Counting;
use lockgate_fuzz::{TARGETS, Target, seeds};
use std::path::PathBuf;

#[global_allocator]
static MEMORY: Counting = Counting;

/// Oracles of the fuzzing, on stable Rust. docs/appendix/evidence.md, "Fuzzing".
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Names of the oracles.
    List,
    /// Runs an oracle on files: to see again what libFuzzer has found.
    Run {
        /// The oracle.
        target: String,
        /// Its inputs.
        files: Vec<PathBuf>,
    },
    /// Runs an oracle on inputs near its corpus.
    Near {
        /// The oracle.
        target: String,
        /// How many.
        #[arg(default_value_t = 100_000)]
        number: u64,
        /// For the choice.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Writes the inputs that an oracle's corpus begins with.
    Seeds {
        /// The oracle.
        target: String,
        /// Into this folder.
        folder: PathBuf,
    },
}

fn main() -> Result<()> {
    let named =
        |name: &str| Target::named(name).with_context(|| format!("no oracle '{name}'; see `fuzz list`"));
    match Arguments::parse().command {
        Command::List => TARGETS.iter().for_each(|target| println!("{}", target.name)),
        Command::Run { target, files } => {
            let target = named(&target)?;
            for path in files {
                let input = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
                println!("{}", path.display());
                target.execute(&input);
            }
        }
        Command::Near { target, number, seed } => {
            let target = named(&target)?;
            let corpus = target.corpus();
            let mut mutator = target.mutator(&corpus, seed);
            let mut operations = 0;
            for _ in 0..number {
                let input = mutator.input();
                let run = std::panic::catch_unwind(|| target.execute(&input));
                let Ok(run) = run else {
                    let path = PathBuf::from(format!("crash-{}", target.name));
                    std::fs::write(&path, input).with_context(|| format!("writing {}", path.display()))?;
                    anyhow::bail!("see `fuzz run {} {}`", target.name, path.display());
                };
                operations += run;
            }
            println!("{}: {number} executions, {operations} operations", target.name);
        }
        Command::Seeds { target, folder } => {
            std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
            for (number, seed) in seeds::of(named(&target)?.name)?.into_iter().enumerate() {
                let path = folder.join(format!("seed-{number:02}"));
                std::fs::write(&path, seed).with_context(|| format!("writing {}", path.display()))?;
            }
        }
    }
    Ok(())
}
