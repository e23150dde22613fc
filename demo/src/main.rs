//! The demo: real code in a domain, hostile code in a domain, and what a call costs.

mod cpu_state_sys;
mod hostile;
mod modules;
mod plugin;
mod screen;
mod sqlite;

use lockgate_bench::{Options, Report, calls};
use lockgate_corpus::Corpus;
use modules::Builder;
use screen::{Paint, Screen};
use std::process::ExitCode;

fn main() -> ExitCode {
    let screen = Screen::of_stdout();
    match show(screen) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            screen.line(Paint::Bad, &format!("\nThe demo failed: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn show(screen: Screen) -> anyhow::Result<()> {
    let corpus = Corpus::locate()?;
    let builder = Builder::new()?;
    screen.heading(1, "A plugin in a protection domain of this process");
    plugin::show(screen, &builder, &corpus.root().join("demo"))?;
    screen.heading(2, "SQLite in a domain");
    sqlite::show(screen, &builder, &corpus)?;
    screen.heading(3, "A hostile module attacks this process");
    hostile::show(screen, &builder, &corpus.root().join("demo"))?;
    screen.heading(4, "What a call into a domain costs");
    let mut metrics = calls::measure(&Options { quick: true, ..Options::default() })?;
    metrics.retain(|metric| !metric.name.starts_with("calls.arguments."));
    print!("{}", Report::new(metrics).table());
    Ok(())
}
