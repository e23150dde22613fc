//! `overhead.*`: rewritten programs against native ones.
//!
//! Both sides are static musl programs of the same sources and flags; a measurement is the CPU time of the whole process,
//! start-up included (for the sandboxed side: `lockgate run`, which verifies and loads the module; less than 1 % of
//! a run of more than a second). Rounds go through all programs, both sides of each in turns of a tenth of a
//! second, so that drift of the machine meets both.
//!
//! Where functions and data happen to lie decides about more than what is measured, on either side
//! (docs/decisions/0057): a loop of matmul's took half the time in one place. So each round runs another layout, and a side counts with its
//! median over them: `overhead.<program>` is the ratio of the medians, its samples are the rounds' ratios.
//! `overhead.geomean` is over all programs, `overhead.geomean_inner` over all but the one with the lowest and the one with the highest
//! ratio: what no single program decides.

use crate::{Metric, Options, Pinned, code_size, programs, progress, sides};
use lockgate_corpus::{Corpus, PROGRAMS, Program};
use std::path::Path;
use std::process::Command;

/// The warm-up does this fraction.
const WARM_UP: u32 = 20;

/// Measures all programs; `lockgate` is the program to build and run modules with.
pub fn measure(options: &Options, lockgate: &Path) -> anyhow::Result<Vec<Metric>> {
    let corpus = Corpus::locate()?;
    let folder = tempfile::tempdir()?;
    let rounds = sides::rounds(options); // as many layouts
    let metric = |program: &Program| format!("overhead.{}", program.name);
    let named: Vec<(String, &Program)> = PROGRAMS.iter().map(|program| (metric(program), program)).collect();
    let chosen: Vec<&Program> =
        options.chosen(&named, |(name, _)| name)?.into_iter().map(|(_, program)| *program).collect();
    let building = progress::bar("build", 0);
    let built = |name: &str| building.set_message(name.to_owned());
    let pairs = programs::build(&corpus, lockgate, &chosen, (folder.path(), rounds), built)?;
    building.finish_and_clear();

    let _pinned = Pinned::here()?;
    let names: Vec<&str> = chosen.iter().map(|program| program.name).collect();
    let all = |_: &str| true;
    let mut metrics = sides::measure("overhead", &names, options, all, |number, round| {
        let program = chosen[number];
        let pair = &pairs[program.driver][round % rounds];
        // The first round warms up: a little work, not counted.
        let scale = match round {
            0 => program.scale.div_ceil(WARM_UP),
            _ => sides::scale(options, program.scale),
        };
        let arguments = program.arguments(scale);
        let (mut native, mut sandboxed) = (Command::new(&pair.native), Command::new(lockgate));
        native.args(&arguments);
        sandboxed.arg("run").arg(&pair.module).args(&arguments);
        sides::both(program.name, round, [native, sandboxed])
    })?;

    let (mut native, mut module) = (0, 0);
    for pair in pairs.values().map(|layouts| &layouts[0]) {
        native += code_size::of(&pair.native)?;
        module += code_size::of(&pair.module)?;
    }
    metrics.push(Metric::new("overhead.code_size", "ratio", vec![module as f64 / native as f64]));
    Ok(metrics)
}
