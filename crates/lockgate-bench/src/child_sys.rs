//! Runs programs and says how much CPU time they took.

use anyhow::{Context as _, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitStatus, Stdio};

/// How long one of two programs runs before it is the other's turn: long against what a change of turns costs both in cold caches, short
/// against how long other tenants of the machine are busy or idle.
const TURN: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// One finished run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// User and system time of the process, seconds. CPU time, not wall-clock time, so that other load on the machine
    /// counts as little as possible.
    pub seconds: f64,
    /// What it wrote to standard output.
    pub output: String,
}

/// Runs two programs to their ends in turns of a tenth of a second, the one with index `first` first: what slows the machine down for longer
/// slows both. An error if one fails or prints nothing.
pub fn run_both(first: usize, commands: &mut [Command; 2]) -> anyhow::Result<[Run; 2]> {
    let [one, other] = commands;
    let mut both = [Running::start(one)?, Running::start(other)?];
    let mut turn = first % 2;
    while both.iter().any(Running::runs) {
        let alone = !both[1 - turn].runs();
        if both[turn].runs() {
            both[turn].turn((!alone).then_some(&TURN))?;
        }
        turn = 1 - turn;
    }
    let [one, other] = both;
    Ok([one.result()?, other.result()?])
}

/// A program that runs only when it is its turn, with whatever it starts.
struct Running {
    shown: String,
    group: Pid,
    /// Readable once the program has ended.
    end: OwnedFd,
    output: File,
    errors: File,
    ended: Option<(ExitStatus, f64)>,
}

impl Running {
    /// Starts a program and stops it.
    fn start(command: &mut Command) -> anyhow::Result<Self> {
        let shown = format!("{command:?}");
        // Files, not pipes: a program that has to wait for a reader would not use its turn.
        let (output, errors) = (tempfile::tempfile()?, tempfile::tempfile()?);
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(errors.try_clone()?);
        let child = command.process_group(0).spawn().with_context(|| format!("cannot start {shown}"))?;
        let group = Pid::from_child(&child);
        let end = pidfd_open(group, PidfdFlags::empty()).with_context(|| format!("cannot watch {shown}"))?;
        let running = Self { shown, group, end, output, errors, ended: None };
        kill_process_group(group, Signal::STOP)?;
        Ok(running)
    }

    fn runs(&self) -> bool {
        self.ended.is_none()
    }

    /// Lets it run, until it ends or `time` is over.
    fn turn(&mut self, time: Option<&Timespec>) -> anyhow::Result<()> {
        kill_process_group(self.group, Signal::CONT)?;
        let end = &mut [PollFd::new(&self.end, PollFlags::IN)];
        let ended = rustix::io::retry_on_intr(|| poll(end, time))?;
        if ended == 0 {
            kill_process_group(self.group, Signal::STOP)?;
        } else {
            let waited = wait(self.group).with_context(|| format!("cannot wait for {}", self.shown))?;
            self.ended = Some(waited);
        }
        Ok(())
    }

    fn result(mut self) -> anyhow::Result<Run> {
        let (status, seconds) = self.ended.with_context(|| format!("{} has not ended", self.shown))?;
        let [output, errors] = [&mut self.output, &mut self.errors].map(|file| {
            file.rewind()?;
            let mut text = String::new();
            file.read_to_string(&mut text).map(|_| text)
        });
        let (output, errors) = (output?, errors?);
        if !status.success() || output.is_empty() {
            bail!("{}: {status}\n{output}{errors}", self.shown);
        }
        Ok(Run { seconds, output })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.runs() {
            // No process is left to be told of an error.
            let _ = kill_process_group(self.group, Signal::KILL);
            let _ = wait(self.group);
        }
    }
}

/// Waits for the child process `id`: its status and its CPU time in seconds, with that of the children that it has waited for.
fn wait(id: Pid) -> std::io::Result<(ExitStatus, f64)> {
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: both pointers are valid for writes of their types; `id` is a child that no other code waits for.
    let waited = unsafe { libc::wait4(id.as_raw_pid(), &raw mut status, 0, usage.as_mut_ptr()) };
    if waited < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: wait4 succeeded, so it has written the whole structure.
    let usage = unsafe { usage.assume_init() };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok((ExitStatus::from_raw(status), seconds(usage.ru_utime) + seconds(usage.ru_stime)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One program, without turns.
    fn run(command: &mut Command) -> anyhow::Result<Run> {
        let mut running = Running::start(command)?;
        running.turn(None)?;
        running.result()
    }

    #[test]
    fn output_and_time_of_a_run() {
        let run =
            run(Command::new("sh").args(["-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo $i"]))
                .unwrap();
        assert_eq!(run.output, "20000\n");
        assert!(run.seconds > 0.0 && run.seconds < 60.0, "{}", run.seconds);
    }

    #[test]
    fn a_failure_shows_command_status_and_messages() {
        let error = run(Command::new("sh").args(["-c", "echo no >&2; exit 3"])).unwrap_err().to_string();
        assert!(
            error.contains("sh") && error.contains("exit status: 3") && error.contains("no\n"),
            "{error}"
        );
        assert!(run(&mut Command::new("/nonexistent/program")).is_err());
    }

    #[test]
    fn two_programs_take_turns() {
        // Each appends to the same file as it goes: with turns, neither ends before the other has begun.
        let folder = tempfile::tempdir().unwrap();
        let line = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); [ $((i % 1000)) = 0 ] && echo $NAME >>log; done; echo $NAME";
        let mut commands = ["one", "other"].map(|name| {
            let mut command = Command::new("sh");
            command.args(["-c", line]).env("NAME", name).current_dir(folder.path());
            command
        });
        let [one, other] = run_both(1, &mut commands).unwrap();
        assert_eq!((&*one.output, &*other.output), ("one\n", "other\n"));
        let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
        let lines: Vec<&str> = log.lines().collect();
        assert_eq!(lines.len(), 600);
        let turns = lines.chunk_by(|a, b| a == b).count();
        assert!(turns > 2 && turns < 300, "{turns} turns");
    }

    #[test]
    fn a_failure_of_one_of_two_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let lines = ["echo no >&2; exit 3", "echo done"];
        let mut commands = lines.map(|line| {
            let mut command = Command::new("sh");
            command.args(["-c", line]).current_dir(folder.path());
            command
        });
        let error = run_both(0, &mut commands).unwrap_err().to_string();
        assert!(error.contains("exit status: 3") && error.contains("no\n"), "{error}");
        let [sound, _] = &mut commands;
        let mut commands =
            [std::mem::replace(sound, Command::new("true")), Command::new("/nonexistent/program")];
        assert!(run_both(0, &mut commands).is_err());
    }
}
