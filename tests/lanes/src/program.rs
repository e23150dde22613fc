//! Test programs: how cargo builds them, what they have, how they end.
use crate::list::Slow;
use crate::target::Target;
use anyhow::{Context, Result, ensure};
use rustix::io::Errno;
use rustix::param::clock_ticks_per_second;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// The test target whose modules are suites, each of which runs in a process of its own.
const SUITES: &str = "suites";

/// A built test program, or a suite of one.
#[derive(Debug, Clone)]
pub struct Program {
    pub target: Target,
    /// It runs tests of its suite only.
    is_suite: bool,
    path: PathBuf,
    /// The crate's folder: tests run there.
    folder: PathBuf,
}

/// How a program, or a target of the Makefile, has ended.
#[derive(Debug)]
pub struct Ended {
    pub name: String,
    /// How many tests a program has, without those that are ignored.
    pub expected: Option<usize>,
    pub passed: usize,
    pub status: ExitStatus,
    /// What it and all that it has started and waited for have taken of the processors.
    pub worked: Duration,
    /// What it has said.
    pub log: PathBuf,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (passed, status) = (self.passed, self.status);
        match self.expected {
            _ if !status.success() => write!(f, "FAILED: {status}"),
            None => write!(f, "done"),
            Some(expected) if passed == expected => write!(f, "{passed} passed"),
            Some(expected) => write!(f, "FAILED: only {passed} of {expected} tests have passed"),
        }
    }
}

impl Ended {
    /// Every test has passed: none failed, and none has gone.
    pub fn is_fine(&self) -> bool {
        self.status.success() && self.expected.is_none_or(|expected| self.passed == expected)
    }
}

fn cargo(root: &Path) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root);
    cargo
}

/// Which test programs and suites are built.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'a> {
    /// Those of the workspace.
    All,
    /// Those of the workspace that the list is not about.
    Without(&'a [Slow]),
    /// Those of a crate, or those of them that have these names.
    Of(&'a str, &'a [&'a str]),
}

impl Wanted<'_> {
    fn has(self, target: &Target) -> bool {
        match self {
            Wanted::All => true,
            Wanted::Without(left_out) => !left_out.iter().any(|slow| slow.is_about(target)),
            Wanted::Of(package, names) => {
                target.package == package && (names.is_empty() || names.contains(&&*target.name))
            }
        }
    }
}

/// Builds test programs, and hands on each program or suite as soon as it can be run.
///
/// # Errors
/// Something does not build; cargo has said what.
pub fn build(root: &Path, wanted: Wanted<'_>, mut found: impl FnMut(Program)) -> Result<()> {
    let mut test = cargo(root);
    test.args(["test", "--no-run", "--quiet", "--locked"]);
    test.arg("--message-format=json-render-diagnostics");
    match wanted {
        // (What a lane leaves out is built with the rest: cargo would build tests of libraries that have none, if it were to choose.)
        Wanted::All | Wanted::Without(_) => drop(test.args(["--workspace", "--tests"])),
        Wanted::Of(package, _) => drop(test.args(["-p", package, "--tests"])),
    }
    let mut waiting = Waiting::for_programs_of(root)?;
    let mut cargo = test.stdout(Stdio::piped()).spawn().context("cargo cannot be started")?;
    let messages = cargo.stdout.take().context("a pipe")?;
    for message in BufReader::new(messages).lines() {
        if let Ok(message) = serde_json::from_str(&message?) {
            let ready = waiting.hear(&message)?;
            ready.into_iter().filter(|program| wanted.has(&program.target)).for_each(&mut found);
        }
    }
    waiting.programs.into_iter().filter(|program| wanted.has(&program.target)).for_each(&mut found);
    ensure!(cargo.wait()?.success(), "not everything builds");
    Ok(())
}

/// Test programs that are built before the programs of their crate, which they run. (cargo links nothing with those, and so builds them at any
/// time.)
struct Waiting {
    /// Programs that are not built yet.
    missing: Vec<Target>,
    programs: Vec<Program>,
}

impl Waiting {
    fn for_programs_of(root: &Path) -> Result<Waiting> {
        let targets = programs(root)?.into_iter().map(|(target, _)| target);
        let missing = targets.filter(|target| !target.is_integration && target.name != "lib").collect();
        Ok(Waiting { missing, programs: Vec::new() })
    }

    /// The test programs that can be run after this message of cargo's.
    fn hear(&mut self, message: &Value) -> Result<Vec<Program>> {
        if let Some(program) = built(message) {
            if message["profile"]["test"] == true {
                self.programs.extend(program.suites()?);
            } else {
                self.missing.retain(|missing| *missing != program.target);
            }
        }
        let waits = |program: &Program| self.missing.iter().any(|of| of.package == program.target.package);
        let (waiting, ready) = std::mem::take(&mut self.programs).into_iter().partition(waits);
        self.programs = waiting;
        Ok(ready)
    }
}

/// The test programs of the workspace, each with what it runs: itself, or its suites, which are modules of its root file.
///
/// # Errors
/// cargo does not say, or a root file cannot be read.
pub fn programs(root: &Path) -> Result<Vec<(Target, Vec<Target>)>> {
    let output = cargo(root).args(["metadata", "--format-version", "1", "--no-deps", "--locked"]).output()?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().context("packages")? {
        for target in package["targets"].as_array().context("targets")? {
            let package = package["name"].as_str().context("a name")?;
            let file = target["src_path"].as_str().context("a path")?;
            let target = self::target(package, target).context("a target")?;
            let suites = if target.name == SUITES {
                let text = std::fs::read_to_string(file).with_context(|| file.to_owned())?;
                let modules = text.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
                modules.map(|module| target.suite(module)).collect()
            } else {
                vec![target.clone()]
            };
            found.push((target, suites));
        }
    }
    Ok(found)
}

/// What cargo says of a target.
fn target(package: &str, said: &Value) -> Option<Target> {
    let kind = said["kind"][0].as_str()?;
    let name = if matches!(kind, "test" | "bin") { said["name"].as_str()? } else { "lib" };
    Some(Target { package: package.to_owned(), name: name.to_owned(), is_integration: kind == "test" })
}

/// The program, for tests or another one, that a message of cargo's is about.
fn built(message: &Value) -> Option<Program> {
    // path+file:///where/it/lies#name@0.1.0, or without the name if the folder has it.
    let (place, version) = message["package_id"].as_str()?.split_once('#')?;
    let package = match version.split_once('@') {
        Some((name, _)) => name,
        None => place.rsplit('/').next()?,
    };
    let target = target(package, &message["target"])?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    let path = message["executable"].as_str()?.into();
    Some(Program { target, is_suite: false, path, folder })
}

impl Program {
    /// The suites that it has; itself, if it has none.
    ///
    /// # Errors
    /// It does not say what tests it has, or one is in no suite.
    fn suites(self) -> Result<Vec<Program>> {
        if self.target.name != SUITES {
            return Ok(vec![self]);
        }
        let tests = self.tests()?;
        let suite = |test: &String| -> Result<String> {
            let suite =
                test.split_once("::").with_context(|| format!("{}: {test} is in no suite", self.target));
            Ok(suite?.0.to_owned())
        };
        let suites: BTreeSet<String> = tests.iter().map(suite).collect::<Result<_>>()?;
        let program =
            |suite: String| Program { target: self.target.suite(&suite), is_suite: true, ..self.clone() };
        Ok(suites.into_iter().map(program).collect())
    }

    /// Names of its tests, those that are ignored as well.
    ///
    /// # Errors
    /// It does not say.
    pub fn tests(&self) -> Result<Vec<String>> {
        let mut tests = self.list(&[])?;
        if self.is_suite {
            let prefix = format!("{}::", self.target.name);
            tests.retain(|test| test.starts_with(&prefix));
        }
        Ok(tests)
    }

    fn list(&self, arguments: &[&str]) -> Result<Vec<String>> {
        let mut list = Command::new(&self.path);
        list.current_dir(&self.folder).args(["--list", "--format", "terse"]).args(arguments);
        let output = list.output().with_context(|| self.target.to_string())?;
        ensure!(output.status.success(), "{}: {}", self.target, String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }

    /// The seconds that its tests took when they last ran here, by its log; 0 if there is none.
    pub fn took_last(&self, root: &Path) -> u32 {
        std::fs::read(log(root, &self.target.to_string()))
            .map_or(0, |said| took(&String::from_utf8_lossy(&said)))
    }

    /// Runs its tests.
    ///
    /// # Errors
    /// It cannot be started, or its log cannot be written.
    pub fn run(&self, root: &Path) -> Result<Ended> {
        let ignored = self.list(&["--ignored"])?;
        let mut tests = self.tests()?;
        tests.retain(|test| !ignored.contains(test));
        let expected = tests.len();
        let mut run = Command::new(root.join("scripts/watchdog.sh"));
        run.arg(&self.path);
        if self.is_suite {
            ensure!(expected > 0, "{} has no test but ignored ones", self.target);
            run.arg("--exact").args(tests);
        }
        run.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        // What a test compiles is no code of this workspace's.
        run.env_remove("RUSTC_WORKSPACE_WRAPPER");
        let ended = logged(root, self.target.to_string(), run)?;
        let said = std::fs::read(&ended.log)?;
        Ok(Ended { expected: Some(expected), passed: passed(&String::from_utf8_lossy(&said)), ..ended })
    }
}

/// Makes a target of the tree's Makefile.
///
/// # Errors
/// make cannot be started, or the log cannot be written.
pub fn make(root: &Path, target: &str) -> Result<Ended> {
    let mut make = Command::new("make");
    // A make of its own: the one that has started us gives it neither jobs nor options.
    make.args(["--no-print-directory", target]).current_dir(root);
    make.env_remove("MAKEFLAGS").env_remove("MFLAGS").env_remove("MAKELEVEL");
    logged(root, format!("make {target}"), make)
}

/// Where what a program or target says is kept.
fn log(root: &Path, name: &str) -> PathBuf {
    root.join("build/tests").join(name.replace(' ', "-") + ".log")
}

/// Runs a command; what it says is its log.
fn logged(root: &Path, name: String, mut command: Command) -> Result<Ended> {
    let log = log(root, &name);
    let logs = log.parent().context("a folder")?;
    std::fs::create_dir_all(logs).with_context(|| logs.display().to_string())?;
    let file = File::create(&log).with_context(|| log.display().to_string())?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let mut child = command.spawn().with_context(|| name.clone())?;
    let worked = worked_until_its_end(&child).with_context(|| name.clone())?;
    let status = child.wait()?;
    Ok(Ended { name, expected: None, passed: 0, status, worked, log })
}

/// Waits for a child's end, and leaves it for [`Child::wait`]: the kernel says what an ended process has taken until then.
fn worked_until_its_end(child: &Child) -> Result<Duration> {
    let pid = Pid::from_child(child);
    while let Err(error) = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
        ensure!(error == Errno::INTR, error);
    }
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id()))?;
    // proc_pid_stat(5): utime, stime, cutime, cstime are fields 14 to 17; the name, field 2, may have spaces and brackets in it.
    let fields = stat.rsplit_once(") ").context("a name in brackets")?.1.split(' ').skip(11).take(4);
    let ticks: u64 = fields.map(str::parse::<u64>).sum::<Result<_, _>>()?;
    Ok(Duration::from_secs_f64(ticks as f64 / clock_ticks_per_second() as f64))
}

/// How many tests have passed, by the program's last word, if that is good.
fn passed(said: &str) -> usize {
    let result = said.rsplit("test result: ok. ").next().filter(|rest| rest.len() < said.len());
    result.and_then(|rest| rest.split(' ').next()?.parse().ok()).unwrap_or_default()
}

/// How many seconds its tests took, by the program's last word.
fn took(said: &str) -> u32 {
    let time = said.rsplit("; finished in ").next().filter(|rest| rest.len() < said.len());
    let seconds = time.and_then(|rest| rest.split('s').next()?.parse::<f64>().ok());
    seconds.map_or(0, |seconds| seconds as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two levels up")
    }

    /// What is misspelt in `slow.txt` would run in `make check`, or hide a test that is added under that name later.
    #[test]
    fn every_line_of_the_list_is_about_something() {
        let programs = programs(root()).expect("cargo's metadata");
        let targets: Vec<_> = programs.into_iter().flat_map(|(_, suites)| suites).collect();
        for slow in crate::list::slow(root()).expect("a list") {
            let is_there = targets.iter().any(|target| slow.is_about(target));
            assert!(is_there, "there is no {slow:?}");
        }
    }

    /// A tree of which programs can be run: it has the watchdog.
    fn tree(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        let scripts = folder.join("scripts");
        std::fs::create_dir_all(&scripts).expect("a scratch folder");
        std::fs::copy(root().join("scripts/watchdog.sh"), scripts.join("watchdog.sh")).expect("the script");
        folder
    }

    /// A program that lists `tests`, and says `end` when it is run.
    fn program(folder: &Path, tests: &str, end: &str) -> Program {
        let path = folder.join("program");
        let script =
            format!("#!/bin/sh\ncase $* in *--ignored*) ;; *--list*) printf '{tests}' ;; *) {end} ;; esac\n");
        // (Another process writes it: what a second test of this one starts meanwhile would have it open, too, and then it is busy.)
        let mut install = Command::new("install");
        let mut install = install
            .args(["-m", "755", "/dev/stdin"])
            .arg(&path)
            .stdin(Stdio::piped())
            .spawn()
            .expect("install");
        let mut stdin = install.stdin.take().expect("a pipe");
        stdin.write_all(script.as_bytes()).expect("it reads");
        drop(stdin);
        assert!(install.wait().expect("it ends").success(), "the folder is writable");
        let target = Target { package: "a".into(), name: "b".into(), is_integration: true };
        Program { target, is_suite: false, path, folder: folder.to_owned() }
    }

    /// Red if a program counts as fine because its status is 0: tests that have gone are not missed.
    #[test]
    fn a_test_that_does_not_run_is_missed() {
        let folder = tree("lanes");
        let run = |end: &str| {
            let program = program(&folder, "one: test\\ntwo: test\\n", end);
            program.run(&folder).expect("it runs")
        };
        let fine = run("echo 'test result: ok. 2 passed; 0 failed'");
        assert!(fine.is_fine() && fine.passed == 2, "{fine}");
        for end in [
            "echo 'test result: ok. 1 passed; 0 failed'",
            "exit 0",
            "echo 'test result: ok. 2 passed; 0 failed'; exit 101",
            "echo 'test result: ok. 2 passed; 0 failed'; kill -ABRT $$",
            "echo 'test result: FAILED. 2 passed; 1 failed'",
        ] {
            assert!(!run(end).is_fine(), "{end}");
        }
        std::fs::remove_dir_all(folder).expect("the scratch folder goes");
    }

    /// Red if what make says of a target is not heard: examples and the Python package's tests would fail unseen.
    #[test]
    fn a_target_that_fails_is_missed() {
        let folder = std::env::temp_dir().join(format!("lanes-make-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a scratch folder");
        std::fs::write(folder.join("Makefile"), "good:\n\t@echo $(MAKELEVEL)\nbad: good\n\t@false\n")
            .expect("a file");
        let [good, bad, none] =
            ["good", "bad", "none"].map(|target| make(&folder, target).expect("make starts"));
        assert!(good.is_fine() && good.to_string() == "done", "{good}");
        assert_eq!(std::fs::read_to_string(&good.log).expect("a log"), "0\n");
        assert!(!bad.is_fine() && bad.to_string().starts_with("FAILED"), "{bad}");
        assert!(!none.is_fine(), "{none}");
        std::fs::remove_dir_all(folder).expect("the scratch folder goes");
    }

    /// Red if a suite runs another's tests (the filter of the test harness takes any part of a name), or none.
    #[test]
    fn a_suite_runs_its_own_tests() {
        let folder = tree("lanes-suites");
        let tests = "calls::one: test\\nasync_calls::one: test\\ncalls::deep::two: test\\n";
        let mut program = program(&folder, tests, "echo ran $*; echo test result: ok. 2 passed");
        program.target.name = SUITES.into();
        let suites = program.clone().suites().expect("two suites");
        let names: Vec<_> = suites.iter().map(|suite| suite.target.to_string()).collect();
        assert_eq!(names, ["a async_calls", "a calls"]);
        assert_eq!(suites[1].tests().expect("names"), ["calls::one", "calls::deep::two"]);
        let ended = suites[1].run(&folder).expect("it runs");
        assert!(ended.is_fine() && ended.passed == 2, "{ended}");
        let said = std::fs::read_to_string(&ended.log).expect("a log");
        assert!(said.contains("ran --exact calls::one calls::deep::two"), "{said}");
        assert!(
            !suites[0].run(&folder).expect("it runs").is_fine(),
            "one test, and two are said to have passed"
        );
        let mut stray = self::program(&folder, "one: test\\n", "true");
        stray.target.name = SUITES.into();
        stray.suites().expect_err("a test in no suite");
        std::fs::remove_dir_all(folder).expect("the scratch folder goes");
    }

    /// Red if nothing is known of the last run, so that the longest may begin last.
    #[test]
    fn what_took_long_is_known_from_the_last_run() {
        let folder = tree("lanes-times");
        let program = program(
            &folder,
            "one: test\\n",
            "echo 'test result: ok. 1 passed; 0 failed; finished in 12.90s'",
        );
        assert_eq!(program.took_last(&folder), 0, "it has not run");
        assert!(program.run(&folder).expect("it runs").is_fine());
        assert_eq!(program.took_last(&folder), 12);
        assert_eq!(took("an error; finished in tears"), 0);
        std::fs::remove_dir_all(folder).expect("the scratch folder goes");
    }

    #[test]
    fn programs_are_known_by_crate_and_target() {
        let name = |id: &str, kind: &str| {
            let message = serde_json::json!({
                "package_id": id, "manifest_path": "/w/x/Cargo.toml", "executable": "/w/t", "profile": { "test": true },
                "target": { "name": "it", "kind": [kind] },
            });
            built(&message).map(|program| program.target.to_string())
        };
        assert_eq!(name("path+file:///w/x#0.1.0", "test").as_deref(), Some("x it"));
        assert_eq!(name("path+file:///w/x#y@0.1.0", "lib").as_deref(), Some("y lib"));
        assert_eq!(name("path+file:///w/x#y@0.1.0", "cdylib").as_deref(), Some("y lib"));
    }

    /// Red where a test program is run that finds its crate's program missing.
    #[test]
    fn tests_wait_for_the_programs_that_they_run() {
        let message = |package: &str, kind: &str, test: bool| {
            serde_json::json!({
                "package_id": format!("path+file:///w/{package}#0.1.0"), "manifest_path": "/w/x/Cargo.toml",
                "executable": "/w/t", "profile": { "test": test }, "target": { "name": "it", "kind": [kind] },
            })
        };
        let missing = target("x", &serde_json::json!({ "name": "it", "kind": ["bin"] })).expect("a target");
        let mut waiting = Waiting { missing: vec![missing], programs: Vec::new() };
        let mut heard = |message: &Value| {
            let ready = waiting.hear(message).expect("no suites");
            ready.iter().map(|program| program.target.to_string()).collect::<Vec<_>>()
        };
        assert!(heard(&message("x", "test", true)).is_empty(), "its program is missing");
        assert_eq!(heard(&message("y", "test", true)), ["y it"]);
        assert!(heard(&message("x", "bin", true)).is_empty(), "the program's own tests");
        assert_eq!(heard(&message("x", "bin", false)), ["x it", "x it"]);
    }
}
