//! Runs a program and says how much CPU time it took.

use anyhow::{Context as _, bail};
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus, Stdio};

/// One finished run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// User and system time of the process, seconds. CPU time, not wall-clock time, so that other load on the machine
    /// counts as little as possible.
    pub seconds: f64,
    /// What it wrote to standard output.
    pub output: String,
}

/// Runs `command` to its end; an error if it fails or prints nothing.
pub fn run(command: &mut Command) -> anyhow::Result<Run> {
    let shown = format!("{command:?}");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {shown}"))?;
    // The programs print one line; both pipes hold that, so reading one after the other cannot block them.
    let (mut output, mut errors) = (String::new(), String::new());
    child.stdout.take().context("piped")?.read_to_string(&mut output)?;
    child.stderr.take().context("piped")?.read_to_string(&mut errors)?;
    let (status, seconds) = wait(child.id()).with_context(|| format!("cannot wait for {shown}"))?;
    if !status.success() || output.is_empty() {
        bail!("{shown}: {status}\n{output}{errors}");
    }
    Ok(Run { seconds, output })
}

/// Waits for the child process `id`: its status and its CPU time in seconds.
fn wait(id: u32) -> std::io::Result<(ExitStatus, f64)> {
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: both pointers are valid for writes of their types; `id` is a child that nobody else waits for.
    let waited = unsafe { libc::wait4(id as libc::pid_t, &raw mut status, 0, usage.as_mut_ptr()) };
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
}
