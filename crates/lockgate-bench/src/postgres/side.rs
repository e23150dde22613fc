//! A session whose server process is timed.

use anyhow::Context as _;
use lockgate_postgres::{Database, Session};

/// One session.
pub struct Side {
    session: Session,
    clock: String,
}

impl Side {
    /// A session of the database's superuser.
    pub fn new(database: &Database<'_>) -> anyhow::Result<Side> {
        let mut session = database.session("postgres")?;
        let process = session.run("SELECT pg_backend_pid()")?;
        Ok(Side { session, clock: format!("/proc/{process}/schedstat") })
    }

    /// Runs a statement some times: processor seconds of the server's process, and the last answer.
    pub fn time(&mut self, sql: &str, times: u32) -> anyhow::Result<(f64, String)> {
        let before = self.now()?;
        let mut answer = String::new();
        for _ in 0..times {
            answer = self.session.run(sql)?;
            anyhow::ensure!(!answer.contains("ERROR:"), "{sql}: {answer}");
        }
        Ok((self.now()? - before, answer))
    }

    /// What the process has had of the processors, seconds.
    fn now(&self) -> anyhow::Result<f64> {
        let text = std::fs::read_to_string(&self.clock).with_context(|| self.clock.clone())?;
        let nanoseconds: f64 = text.split(' ').next().unwrap_or_default().parse().context("schedstat")?;
        Ok(nanoseconds / 1e9)
    }
}
