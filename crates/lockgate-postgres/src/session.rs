//! Sessions that stay.

use anyhow::{Context as _, bail};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// What psql is told to print when it is done with something.
const DONE: &str = "-- done --";

/// A psql that waits for more.
#[derive(Debug)]
pub struct Session {
    process: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Session {
    pub(crate) fn new(mut psql: Command) -> anyhow::Result<Session> {
        // Errors among the results, in their order, as "ERROR:  22023".
        psql.args(["-A", "-t", "-v", "VERBOSITY=default"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec \"$0\" \"$@\" 2>&1"]).arg(psql.get_program()).args(psql.get_args());
        for (name, value) in psql.get_envs() {
            shell.env(name, value.unwrap_or_default());
        }
        let mut process =
            shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot start psql")?;
        let to = process.stdin.take();
        let from = BufReader::new(process.stdout.take().context("a pipe")?);
        Ok(Session { process, to, from })
    }

    /// Has it begin with SQL, or commands of psql; [`Session::finish`] waits for what comes of it.
    ///
    /// # Errors
    /// The session has ended.
    pub fn begin(&mut self, sql: &str) -> anyhow::Result<()> {
        let to = self.to.as_mut().context("the session has ended")?;
        // (A line of its own: what is sent may be broken.)
        writeln!(to, "{sql}\n;\n\\echo '{DONE}'").and_then(|()| to.flush()).context("the session has ended")
    }

    /// What came of it: results and errors, a line each.
    ///
    /// # Errors
    /// The session has ended; with what it has said before.
    pub fn finish(&mut self) -> anyhow::Result<String> {
        let mut said = String::new();
        loop {
            let before = said.len();
            if self.from.read_line(&mut said)? == 0 {
                bail!("the session has ended: {said}");
            }
            if said[before..].trim_end() == DONE {
                said.truncate(before);
                return Ok(said.trim_end().to_owned());
            }
        }
    }

    /// Both.
    ///
    /// # Errors
    /// As [`Session::finish`].
    pub fn run(&mut self, sql: &str) -> anyhow::Result<String> {
        self.begin(sql)?;
        self.finish()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // psql ends with its input, or when the server ends the session.
        self.to = None;
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
