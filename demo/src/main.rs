//! The demo: real code in a domain, hostile code in a domain, and what a call costs.

mod cpu_state_sys;
mod hostile;
mod modules;
mod plugin;
mod sqlite;

use anyhow::Context as _;
use lockgate_bench::screen::{Cell, Paint, Screen};
use lockgate_bench::{Metric, Options, Report, calls};
use lockgate_corpus::Corpus;
use modules::Builder;
use std::process::ExitCode;

/// What is printed of the costs where there is little room: metrics, and what they are in words.
const SHOWN: &[(&str, &str)] = &[
    ("calls.native_indirect", "native, through a pointer"),
    ("calls.host_to_domain.mutual_trust", "host to domain, mutual trust"),
    ("calls.host_to_domain.integrity", "host to domain, integrity"),
    ("calls.host_to_domain.mutual_distrust", "host to domain, mutual distrust (the default)"),
    ("calls.host_to_domain.callback", "host to domain, and back into the host"),
    ("calls.domain_to_domain.mutual_distrust", "domain to domain, mutual distrust"),
    ("calls.fault_recovery", "a crash, until the host has its error"),
];

fn main() -> ExitCode {
    let screen = Screen::of_stdout();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let full = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--full"] => true,
        _ => {
            eprintln!(
                "usage: lockgate-demo [--full]\n  --full  every attack, and every cost with the targets of SPECIFICATION.md"
            );
            return ExitCode::from(2);
        }
    };
    match show(&screen, full) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            screen.line(Paint::Bad, &format!("\nThe demo failed: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn show(screen: &Screen, full: bool) -> anyhow::Result<()> {
    let corpus = Corpus::locate()?;
    let builder = Builder::new()?;
    screen.heading(1, "A plugin in a protection domain of this process");
    plugin::show(screen, &builder, &corpus.root().join("demo"))?;
    screen.heading(2, "SQLite in a domain");
    sqlite::show(screen, &builder, &corpus, "-O2")?;
    screen.heading(3, "A hostile module attacks this process");
    hostile::show(screen, &builder, &corpus.root().join("demo"), full)?;
    screen.heading(4, "What a call into a domain costs");
    let mut metrics = calls::measure(&Options { quick: true, ..Options::default() })?;
    metrics.retain(|metric| !metric.name.starts_with("calls.arguments."));
    if full {
        print!("{}", Report::new(metrics).table());
        let why = "\n  Times depend on the processor, and on what else runs. docs/measurements.md says which targets were missed where, and why.";
        screen.line(Paint::Faint, why);
        return Ok(());
    }
    costs(screen, &metrics)
}

/// A line for each of some costs.
fn costs(screen: &Screen, metrics: &[Metric]) -> anyhow::Result<()> {
    let median = |name: &str| metrics.iter().find(|metric| metric.name == name).map(|metric| metric.median);
    let native = median(SHOWN[0].0).context("the native call was measured")?;
    let rows = SHOWN.iter().filter_map(|&(name, what)| {
        let median = median(name)?;
        let ratio = format!("{:.1} × native", median / native);
        Some(vec![
            Cell::new(Paint::Plain, what),
            Cell::number(Paint::Plain, format!("{median:.1} ns")),
            Cell::number(Paint::Faint, if name == SHOWN[0].0 { String::new() } else { ratio }),
        ])
    });
    screen.table(&rows.collect::<Vec<_>>());
    screen.line(Paint::Faint, "\n  Every attack and every cost: target/release/lockgate-demo --full");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// What `make demo` prints fits on a terminal of 120 columns and 50 lines, the largest numbers and the command's own line included.
    #[test]
    fn the_page_fits_on_one_screen() {
        let (screen, builder) = (Screen::new(false), Builder::new().unwrap());
        let (corpus, folder) = (Corpus::locate().unwrap(), Path::new(env!("CARGO_MANIFEST_DIR")));
        for number in 1..=4 {
            screen.heading(number, "one of four headings");
        }
        plugin::show(&screen, &builder, folder).unwrap();
        sqlite::show(&screen, &builder, &corpus, "-O0").unwrap();
        hostile::show(&screen, &builder, folder, false).unwrap();
        let metrics = SHOWN.iter().map(|(name, _)| Metric::new(*name, "ns", vec![99_999.9]));
        costs(&screen, &metrics.collect::<Vec<_>>()).unwrap();
        let (lines, width) = screen.size();
        assert!(lines < 50 && width <= 120, "{lines} lines of up to {width} characters");
    }
}
