//! Building and running test programs of the copy.
use crate::Suite;
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// A built test program.
#[derive(Clone)]
pub struct Program {
    path: PathBuf,
    /// The crate's folder: tests run there.
    folder: PathBuf,
    /// CPU time that a run may take, seconds.
    processor_time: Option<u64>,
}

/// How a run of tests ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Every test passed; how many there were.
    Passed(usize),
    /// A test failed.
    Failed,
    /// The test program was ended by this signal.
    Crashed(i32),
    /// It was still running at the time limit.
    Hung,
    /// There was no program to run: the change does not compile.
    NotBuilt,
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Passed(_) => write!(f, "passed"),
            End::Failed => write!(f, "failed"),
            End::Crashed(signal) => write!(f, "crashed by signal {signal}"),
            End::Hung => write!(f, "hung"),
            End::NotBuilt => write!(f, "does not compile"),
        }
    }
}

/// Builds a test program of the tree at `root`, with these lines of cargo's configuration.
///
/// # Errors
/// cargo's, with what the compiler said.
pub fn build(root: &Path, target_folder: &Path, suite: &Suite, config: &[&str]) -> Result<Program> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root).args([
        "test",
        "--locked",
        "--no-run",
        "--message-format=json-render-diagnostics",
    ]);
    for line in config {
        cargo.args(["--config", line]);
    }
    cargo.arg("--target-dir").arg(target_folder).args(["-p", &suite.package]);
    match suite.target.as_str() {
        "lib" => cargo.arg("--lib"),
        target => cargo.args(["--test", target]),
    };
    let output = cargo.output().context("cargo cannot be started")?;
    if !output.status.success() {
        bail!("it does not build:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    let messages = String::from_utf8_lossy(&output.stdout).into_owned();
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    for message in messages {
        if let (Some(path), Some(manifest), Some(true)) = (
            message["executable"].as_str(),
            message["manifest_path"].as_str(),
            message["profile"]["test"].as_bool(),
        ) {
            let folder = Path::new(manifest).parent().context("a manifest lies in a folder")?;
            return Ok(Program { path: path.into(), folder: folder.into(), processor_time: None });
        }
    }
    bail!("cargo built no test program for {} {}", suite.package, suite.target)
}

impl Program {
    /// The same program, which the kernel ends when it has used so many seconds of CPU time, or 8 GB: on a machine
    /// that is busy with other things, too, a loop without end is found soon and a slow test is none.
    #[must_use]
    pub fn limited(self, seconds: u64) -> Program {
        Program { processor_time: Some(seconds), ..self }
    }

    /// Runs the tests with exactly these names; how it ended, and its output.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn run(&self, tests: &[&str], limit: Duration) -> Result<(End, String)> {
        self.run_with(&[&["--exact"], tests].concat(), &[], limit)
    }

    /// Runs it with these arguments and environment variables; how it ended, and its output.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn run_with(
        &self,
        arguments: &[&str],
        environment: &[(&str, &str)],
        limit: Duration,
    ) -> Result<(End, String)> {
        let mut command = match self.processor_time {
            None => Command::new(&self.path),
            Some(seconds) => {
                let mut shell = Command::new("sh");
                let limits = "ulimit -S -t $0 && ulimit -v 8000000 && exec \"$@\"";
                shell.args(["-c", limits, &seconds.to_string()]).arg(&self.path);
                shell
            }
        };
        command
            .current_dir(&self.folder)
            .args(arguments)
            // All cases of the tests that take a part of theirs: what one of them finds is found.
            .env("LOCKGATE_THOROUGH", "1")
            .envs(environment.iter().copied())
            .stdin(Stdio::null());
        // A group of its own, so that what the test started ends with it.
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().with_context(|| self.path.display().to_string())?;
        let group = Pid::from_raw(child.id() as i32).context("a process has an id")?;
        let (send, receive) = channel();
        std::thread::spawn(move || send.send(child.wait_with_output()));
        match receive.recv_timeout(limit) {
            Ok(output) => judge(&output?),
            Err(RecvTimeoutError::Timeout) => {
                // Those, too, that have left the group, as PostgreSQL's sessions do.
                let started = descendants(group);
                kill_process_group(group, Signal::KILL)?;
                for process in started {
                    let _ = kill_process(process, Signal::KILL);
                }
                let (_, text) = judge(&receive.recv()??)?;
                Ok((End::Hung, text))
            }
            Err(RecvTimeoutError::Disconnected) => bail!("the thread that waits for the test is gone"),
        }
    }
}

/// The processes that a process has started, and those that they have.
fn descendants(process: Pid) -> Vec<Pid> {
    let mut found = vec![process];
    let mut next = 0;
    while let Some(process) = found.get(next) {
        let threads = std::fs::read_dir(format!("/proc/{}/task", process.as_raw_nonzero()));
        for thread in threads.into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            found.extend(children.split(' ').filter_map(|id| Pid::from_raw(id.parse().ok()?)));
        }
        next += 1;
    }
    found.split_off(1)
}

fn judge(output: &Output) -> Result<(End, String)> {
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let end = match (output.status.signal(), output.status.success()) {
        (Some(signal), _) => End::Crashed(signal),
        (None, false) => End::Failed,
        (None, true) => {
            let passed = text.split("test result: ok. ").nth(1).and_then(|rest| rest.split(' ').next());
            End::Passed(passed.and_then(|n| n.parse().ok()).context("the test program says no result")?)
        }
    };
    Ok((end, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{PidfdFlags, pidfd_open};

    #[test]
    fn at_the_limit_processes_end_that_have_left_the_group() {
        let shell = Program { path: "/bin/sh".into(), folder: "/".into(), processor_time: None };
        let script = "setsid sleep 100000 >/dev/null 2>&1 & echo $!; wait";
        let (end, text) = shell.run_with(&["-c", script], &[], Duration::from_secs(5)).unwrap();
        assert_eq!(end, End::Hung);
        let sleeping = Pid::from_raw(text.trim().parse().unwrap()).unwrap();
        // (Once it is reaped, there is nothing to open.)
        if let Ok(process) = pidfd_open(sleeping, PidfdFlags::empty()) {
            let timeout = Timespec { tv_sec: 60, tv_nsec: 0 };
            let ended = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&timeout)).unwrap();
            assert_eq!(ended, 1, "process {text} is still there");
        }
    }
}
