//! A peer: a program that makes calls for us, by the protocol of `bench/peers/peer.h`.

use super::Caller;
use anyhow::{Context as _, bail};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// A running peer; ends when dropped, its server with it.
pub struct Peer {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts `program` on the CPUs of the calling thread.
    pub fn start(program: &Path, argument: &str) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.arg(argument).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        let requests = child.stdin.take().context("piped")?;
        let answers = BufReader::new(child.stdout.take().context("piped")?);
        Ok(Self { child, requests, answers })
    }
}

impl Peer {
    /// Has it make `count` calls with an argument of `size` bytes each; the time that they took together.
    pub fn call(&mut self, size: usize, count: u64) -> anyhow::Result<Duration> {
        let mut answer = String::new();
        let asked = self.requests.write_all(format!("{size} {count}\n").as_bytes());
        if asked.and_then(|()| self.answers.read_line(&mut answer)).unwrap_or(0) == 0 {
            bail!("the peer ended ({}); it says why above", self.child.wait()?);
        }
        let nanoseconds = answer.trim().parse();
        Ok(Duration::from_nanos(nanoseconds.with_context(|| format!("the peer answered {answer:?}"))?))
    }
}

impl Caller for Peer {
    fn time(&mut self, size: usize, count: u64) -> anyhow::Result<Duration> {
        self.call(size, count)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It keeps nothing that is worth an orderly end; its server ends with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(script: &str) -> anyhow::Result<Duration> {
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), script)?;
        Peer::start(Path::new("/bin/sh"), &file.path().to_string_lossy())?.time(16, 3)
    }

    #[test]
    fn requests_and_answers() {
        assert_eq!(peer("read size count; echo $((size * count))").unwrap(), Duration::from_nanos(48));
    }

    #[test]
    fn a_peer_that_fails_is_an_error() {
        let error = peer("read request; exit 3").unwrap_err().to_string();
        assert!(error.contains("exit status: 3"), "{error}");
        let error = peer("read request; echo soon").unwrap_err().to_string();
        assert!(error.contains("soon"), "{error}");
        assert!(Peer::start(Path::new("/nonexistent/peer"), "0").is_err());
    }
}
