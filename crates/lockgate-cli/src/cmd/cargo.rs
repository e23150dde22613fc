//! `lockgate cargo`: Cargo, with modules for what it links.

use super::progress::with_bar;
use anyhow::Context as _;
use lockgate_toolchain::{Link, Sysroot};
use serde::Deserialize;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// The target whose code modules are made of: its C library is the one that a domain has.
const TARGET: &str = "x86_64-unknown-linux-musl";

/// rustc has no cdylib for this target with a static C library; what is linked is static all the same. The crate lockgate-guest
/// declares exports and gates.
const FLAGS: &[&str] = &["-C", "target-feature=-crt-static", "-C", "link-arg=--declared"];

/// How flags are separated in `CARGO_ENCODED_RUSTFLAGS`.
const SEPARATOR: &str = "\x1f";

/// As many threads as programs under test may start at a time: Cargo's tests run in threads.
const THREADS: &str = "--threads=62";

/// The folder that they start in, to read.
const PACKAGE: &str = "--dir=.:ro";

/// Arguments of `lockgate cargo`.
#[derive(clap::Args)]
#[command(after_help = "\
Builds for x86_64-unknown-linux-musl (`rustup target add x86_64-unknown-linux-musl`) and links modules instead of programs and \
libraries: of a crate NAME, `build` leaves NAME.lg beside what Cargo calls it. `run`, `test` and `bench` run in a domain, with \
`lockgate run`; tests and benchmarks may read all of the package's folder, but what links lead to outside of it, unless --run grants \
directories.

Examples:
  lockgate cargo build --release
  lockgate cargo --run='--dir=/data=./data:ro' run -- /data/list.txt
  lockgate cargo test")]
pub struct Args {
    /// An option for `lockgate run`, which runs programs and tests: a directory, a limit. Repeatable
    #[arg(long = "run", value_name = "OPTION", allow_hyphen_values = true)]
    options: Vec<String>,
    /// Cargo's command and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "CARGO-ARGUMENTS"
    )]
    arguments: Vec<String>,
}

/// A line of Cargo's, as far as it counts.
#[derive(Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    filenames: Vec<PathBuf>,
    target: Option<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

/// Runs the command. The exit status is Cargo's.
pub fn main(args: Args) -> anyhow::Result<ExitCode> {
    let own = std::env::current_exe().context("cannot find this program")?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    if !args.arguments.iter().any(|argument| argument == "--target" || argument.starts_with("--target=")) {
        cargo.env("CARGO_BUILD_TARGET", TARGET);
    }
    let variable = |name: &str| format!("CARGO_TARGET_{}_{name}", TARGET.to_uppercase().replace('-', "_"));
    cargo.env(variable("LINKER"), lockgate_toolchain::as_linker(&own)?);
    let (name, flags) = flags(&variable("RUSTFLAGS"));
    cargo.env(name, flags);
    let mut runner = vec![own.to_str().context("this program's path is not UTF-8")?, "run"];
    let options = || args.options.iter().map(String::as_str);
    // What is said twice is refused.
    let says = |name: &str| options().any(|option| option.split('=').next() == Some(name));
    if !says("--quiet") && !says("-q") {
        runner.push("--quiet");
    }
    if !says("--threads") {
        runner.push(THREADS);
    }
    // (rustup wants the toolchain first.)
    let toolchain = usize::from(args.arguments[0].starts_with('+'));
    let (toolchain, arguments) = args.arguments.split_at(toolchain);
    let command = command_of(arguments);
    // Cargo starts these in the package's folder, where tests have their data.
    // (A path that is not UTF-8 cannot be granted.)
    let can_be_named = std::env::current_dir().is_ok_and(|folder| folder.to_str().is_some());
    if matches!(command, Some("test" | "t" | "bench")) && can_be_named && !says("--dir") {
        runner.push(PACKAGE);
    }
    let backtrace = std::env::var_os("RUST_BACKTRACE").map(|_| "--env=RUST_BACKTRACE");
    runner.extend(backtrace);
    runner.extend(options());
    // An array, so that a path may have blanks; JSON's strings are TOML's.
    let runner = format!("target.{TARGET}.runner={}", serde_json::to_string(&runner)?);
    cargo.args(toolchain).args(["--config", &runner]).args(arguments);
    let builds = matches!(command, Some("build" | "b"));
    let has_format = arguments.iter().any(|argument| argument.starts_with("--message-format"));
    if !builds || has_format {
        return Ok(code(cargo.status().context("cannot start cargo")?));
    }
    build(cargo)
}

/// Cargo's command: the first argument that is neither an option nor an option's value.
fn command_of(arguments: &[String]) -> Option<&str> {
    const WITH_VALUE: &[&str] = &["-C", "-Z", "--color", "--config", "--explain"];
    let mut arguments = arguments.iter().map(String::as_str);
    while let Some(argument) = arguments.next() {
        if WITH_VALUE.contains(&argument) {
            arguments.next();
        } else if !argument.starts_with('-') {
            return Some(argument);
        }
    }
    None
}

/// Runs Cargo and names the modules that it makes.
fn build(mut cargo: Command) -> anyhow::Result<ExitCode> {
    let mut child = cargo
        .arg("--message-format=json-render-diagnostics")
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo")?;
    let mut built = Vec::new();
    if let Some(lines) = child.stdout.take() {
        for line in BufReader::new(lines).lines() {
            let message: Message = serde_json::from_str(&line.context("cannot read cargo's output")?)
                .context("cargo's output is not a message")?;
            if message.reason == "compiler-artifact" {
                built.push(message);
            }
        }
    }
    let status = child.wait().context("cargo is gone")?;
    if !status.success() {
        return Ok(code(status));
    }
    for message in &built {
        let Some(target) = &message.target else { continue };
        for file in &message.filenames {
            name_module(target, file)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Gives what Cargo has built a module's name, or makes a module of an archive.
fn name_module(target: &Target, file: &Path) -> anyhow::Result<()> {
    let is = |kind: &str| target.kind.iter().any(|have| have == kind);
    let extension = file.extension().and_then(|extension| extension.to_str());
    let module = file.with_file_name(format!("{}.lg", target.name));
    match extension {
        Some("so") if is("cdylib") => link_file(file, &module)?,
        None if is("bin") || is("example") => link_file(file, &module)?,
        // With a cdylib beside it the module is there.
        Some("a") if is("staticlib") && !is("cdylib") => {
            let outcome = with_bar(|progress| {
                let sysroot = Sysroot::ensure(progress)?;
                let mut link = Link::new(&module);
                link.file(file)?.ld_option("--gc-sections").export_archives(true).declared(true);
                link.run(&sysroot, progress)
            })?;
            super::link::warn(&outcome);
        }
        _ => return Ok(()),
    }
    writeln!(std::io::stderr(), "{:>12} {}", "Module", super::output::shown(&module))?;
    Ok(())
}

/// Another name for a file; a build that comes later writes the file anew.
fn link_file(file: &Path, module: &Path) -> anyhow::Result<()> {
    let _ = std::fs::remove_file(module);
    std::fs::hard_link(file, module)
        .or_else(|_| std::fs::copy(file, module).map(drop))
        .with_context(|| format!("cannot write {}", super::output::shown(module)))
}

/// The variable for rustc's flags, and its value: what the user has set, where Cargo looks first, and ours.
fn flags(for_target: &str) -> (String, String) {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    if let Some(flags) = set("CARGO_ENCODED_RUSTFLAGS") {
        let ours = FLAGS.join(SEPARATOR);
        return ("CARGO_ENCODED_RUSTFLAGS".to_owned(), format!("{flags}{SEPARATOR}{ours}"));
    }
    let name = if set("RUSTFLAGS").is_some() { "RUSTFLAGS" } else { for_target };
    let before = set(name).map_or(String::new(), |flags| flags + " ");
    (name.to_owned(), before + &FLAGS.join(" "))
}

/// Cargo's exit status as ours. No code: killed by a signal.
fn code(status: std::process::ExitStatus) -> ExitCode {
    ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
