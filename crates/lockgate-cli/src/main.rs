//! The `lockgate` program: one file per command under `cmd/`.
#![deny(unsafe_code)]
// They panic where the stream is closed or full (`output::tell`, `output::print`).
#![deny(clippy::print_stderr, clippy::print_stdout)]
mod cmd;

use clap::{CommandFactory as _, Parser, Subcommand};
use lockgate_toolchain::cc::Driver;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Fast, safe calls between native modules that do not trust each other.
#[derive(Parser)]
#[command(
    name = "lockgate",
    version,
    propagate_version = true,
    after_help = "\
Exit status: 2 for a mistake or a file that cannot be used, with one line on standard error; else each command's own.

Examples:
  lockgate cc -O2 cube.c -lm -o cube.lg --export 'double cube_root(double)'
  lockgate call cube.lg cube_root 27
  lockgate cc hello.c -o hello.lg && lockgate run hello.lg"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compile and link C like cc; the final link makes a verified module
    #[command(disable_help_flag = true, after_help = cmd::cc::own_options(Driver::C))]
    Cc(cmd::cc::Args),
    /// Build, run and test Rust in domains: Cargo, which links modules
    Cargo(cmd::cargo::Args),
    /// Compile and link C++ like c++; the final link makes a verified module
    #[command(name = "c++", disable_help_flag = true, after_help = cmd::cc::own_options(Driver::Cxx))]
    Cxx(cmd::cc::Args),
    /// Rewrite and link objects and archives into a verified module
    Link(cmd::link::Args),
    /// Rewrite one object or archive
    Rewrite(cmd::rewrite::Args),
    /// Verify a module: exit status 0 if every rule holds, 1 if not
    Verify(cmd::verify::Args),
    /// Show a module's exports, imports, report, notes and annotated disassembly
    Inspect(cmd::inspect::Args),
    /// Make a client library whose functions run in a domain from a C header
    Stubs(cmd::stubs::Args),
    /// Run a whole program inside a domain
    Run(cmd::run::Args),
    /// Run several programs as domains of one process, as a file says
    Up(cmd::up::Args),
    /// Show what programs of `lockgate up` wrote last
    Logs(cmd::control::LogsArgs),
    /// End programs of `lockgate up`, or all of a file
    Stop(cmd::control::StopArgs),
    /// Restart programs of `lockgate up`
    Restart(cmd::control::RestartArgs),
    /// Call one exported function of a module
    Call(cmd::call::Args),
    /// Show what running processes export, which clients have bound it, and how often they call it
    Ps(cmd::ps::Args),
    /// Watch the domains of running processes: calls, CPU time, memory, faults, latencies
    Top(cmd::top::Args),
    /// Say what this machine supports
    Doctor(cmd::doctor::Args),
    /// Write the completions of a shell: `lockgate completions bash`
    Completions(cmd::completions::Args),
    /// Run the benchmarks of the program lockgate-bench, which lies beside this one
    #[command(hide = true, disable_help_flag = true)]
    Bench(cmd::bench::Args),
    /// Write the manual pages to a folder
    #[command(hide = true)]
    Man(cmd::man::Args),
}

/// The name by which build systems call `lockgate cc` that take the name of a program and no arguments.
const LINKER: &str = lockgate_toolchain::LINKER;

/// The arguments, with the command that the name means.
fn arguments() -> Vec<OsString> {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    let name = arguments.first().and_then(|name| Path::new(name).file_name());
    if name.is_some_and(|name| name == LINKER) {
        arguments.insert(1, "cc".into());
    }
    arguments
}

fn main() -> ExitCode {
    let result = match Cli::parse_from(arguments()).command {
        Command::Cc(args) => cmd::cc::main(Driver::C, args, Cli::command),
        Command::Cxx(args) => cmd::cc::main(Driver::Cxx, args, Cli::command),
        Command::Cargo(args) => cmd::cargo::main(args),
        Command::Link(args) => cmd::link::main(args),
        Command::Rewrite(args) => cmd::rewrite::main(args),
        Command::Verify(args) => cmd::verify::main(args),
        Command::Inspect(args) => cmd::inspect::main(args),
        Command::Stubs(args) => cmd::stubs::main(args),
        Command::Run(args) => cmd::run::main(args),
        Command::Up(args) => cmd::up::main(args),
        Command::Logs(args) => cmd::control::logs(args),
        Command::Stop(args) => cmd::control::stop(args),
        Command::Restart(args) => cmd::control::restart(args),
        Command::Call(args) => cmd::call::main(args),
        Command::Ps(args) => cmd::ps::main(args),
        Command::Top(args) => cmd::top::main(args),
        Command::Doctor(args) => cmd::doctor::main(args),
        Command::Completions(args) => cmd::completions::main(args, Cli::command()),
        Command::Bench(args) => cmd::bench::main(args),
        Command::Man(args) => cmd::man::main(args, Cli::command()),
    };
    result.unwrap_or_else(|error| {
        cmd::output::tell(format_args!("lockgate: {}", cmd::output::explain(&error)));
        ExitCode::from(2)
    })
}
