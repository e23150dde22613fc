//! `python.*`: what a call of an `int` function costs from Python, through the package `lockgate` and through ctypes calling
//! the same source as an ordinary shared library, in one process (`bench/python/calls.py`).
//!
//! `python.call` is compared with `python.ctypes`: both let other threads run Python during the call. The `_pydll` sides do
//! not. `python.function` is a function of Python's.

use crate::command::done;
use crate::{Metric, Options, Pinned, Report, objects};
use anyhow::{Context as _, bail, ensure};
use lockgate_corpus::Corpus;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Samples of a full run.
const ROUNDS: usize = 1000;
/// Calls in one sample.
const CALLS: u32 = 2000;
/// Which side is compared with which.
const AGAINST: [(&str, &str); 2] =
    [("python.call", "python.ctypes"), ("python.call_pydll", "python.ctypes_pydll")];

/// What the script prints.
#[derive(Deserialize)]
struct Printed {
    python: String,
    optimised: bool,
    samples: BTreeMap<String, Vec<f64>>,
}

/// Measures calls from Python.
///
/// # Errors
/// No Python has the package; what the script says.
pub fn measure(options: &Options) -> anyhow::Result<Report> {
    let corpus = Corpus::locate()?;
    let folder = tempfile::tempdir()?;
    let source = corpus.root().join("bench/python/null.c");
    let module = objects::module(&source, "null", &[], &["int null_call(int)"], folder.path())?;
    let library = folder.path().join("null.so");
    let mut compiler = Command::new("gcc");
    compiler.args(["-O2", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source);
    done(&mut compiler)?;

    let _pinned = Pinned::here()?;
    let rounds = if options.quick { ROUNDS.div_ceil(10) } else { ROUNDS };
    let mut script = Command::new(interpreter(corpus.root())?);
    script.arg(corpus.root().join("bench/python/calls.py")).arg(&library).arg(&module);
    script.args([rounds.to_string(), CALLS.to_string()]);
    let printed: Printed = serde_json::from_str(&done(&mut script)?).context("the script's output")?;
    report(printed)
}

fn report(printed: Printed) -> anyhow::Result<Report> {
    let mut metrics: Vec<Metric> = Vec::new();
    for (name, samples) in printed.samples {
        ensure!(!samples.is_empty(), "{name}: no samples");
        metrics.push(Metric::new(name, "ns", samples));
    }
    for (name, other) in AGAINST {
        let other = metrics.iter().find(|metric| metric.name == other).context("a side is missing")?.clone();
        let metric = metrics.iter_mut().find(|metric| metric.name == name).context("a side is missing")?;
        *metric = metric.clone().against(&other);
    }
    let mut report = Report::new(metrics);
    report.notes.push(format!("Python {}", printed.python));
    if !printed.optimised {
        let note = "the package was built without optimisation: these numbers prove nothing (`make python`)";
        report.notes.push(note.to_owned());
    }
    Ok(report)
}

/// A Python that has the package: `$LOCKGATE_PYTHON`, the one of `make python`, or the system's.
fn interpreter(root: &Path) -> anyhow::Result<PathBuf> {
    let given = std::env::var_os("LOCKGATE_PYTHON").map(PathBuf::from);
    let candidates = match given {
        Some(given) => vec![given],
        None => vec![root.join("build/python/bin/python"), PathBuf::from("python3")],
    };
    let has_package = |python: &PathBuf| {
        let imported = Command::new(python).args(["-c", "import lockgate._native"]).output();
        imported.is_ok_and(|output| output.status.success())
    };
    match candidates.iter().find(|python| has_package(python)) {
        Some(python) => Ok(python.clone()),
        None => bail!(
            "no Python has the package lockgate: run `make python`, or set LOCKGATE_PYTHON to one that has (tried {})",
            candidates.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_compared_with_their_like() {
        let side = |name: &str, ns| (name.to_owned(), vec![ns]);
        let samples = BTreeMap::from([
            side("python.call", 110.0),
            side("python.ctypes", 100.0),
            side("python.call_pydll", 60.0),
            side("python.ctypes_pydll", 80.0),
        ]);
        let printed = Printed { python: "3.11.2".to_owned(), optimised: false, samples };
        let report = report(printed).unwrap();
        assert_eq!(report.get("python.call").unwrap().ratios["python.ctypes"], 1.1);
        assert_eq!(report.get("python.call_pydll").unwrap().ratios["python.ctypes_pydll"], 0.75);
        assert!(report.keeps_targets() && report.notes[1].contains("make python"));
    }

    #[test]
    fn a_missing_side_is_an_error() {
        let samples = BTreeMap::from([("python.call".to_owned(), vec![1.0])]);
        assert!(report(Printed { python: String::new(), optimised: true, samples }).is_err());
    }
}
