//! All attacks, each in a process of its own, and the table of what came of them.
use crate::attempt::Outcome;
use crate::list::Attack;
use anyhow::{Context, Result};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Far longer than any attack takes on a busy machine: whoever runs longer has got the host to hang.
const LIMIT: Duration = Duration::from_secs(300);

/// A line of the table.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// Name of its folder.
    pub attack: String,
    /// Folder above.
    pub area: String,
    /// What it attempts.
    pub attempt: String,
    /// What it threatens.
    pub threatens: Vec<String>,
    /// The verdict that was expected.
    pub expected: String,
    /// The verdict that came.
    pub got: String,
    /// It ended as expected, and nothing was harmed.
    pub held: bool,
    /// It was not tried, because the processor lacks this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// How it ended, or what is wrong with that.
    pub why: String,
    /// How long it took.
    pub seconds: f64,
}

/// Runs the attacks on `threads` threads, each in a process of the program `runner`; their rows, in order, `each` as it comes.
///
/// # Errors
/// Processes cannot be started.
pub fn run(
    attacks: &[Attack],
    runner: &Path,
    threads: usize,
    each: impl Fn(&Row) + Sync,
) -> Result<Vec<Row>> {
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(BTreeMap::new());
    let work = || -> Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(attack) = attacks.get(number) else { return Ok(()) };
            let row = row(attack, runner)?;
            each(&row);
            rows.lock().unwrap_or_else(|e| e.into_inner()).insert(number, row);
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })?;
    Ok(rows.into_inner().unwrap_or_else(|e| e.into_inner()).into_values().collect())
}

/// One attack, in a process of its own.
fn row(attack: &Attack, runner: &Path) -> Result<Row> {
    let begin = Instant::now();
    let expect = &attack.description.expect;
    if let Some(feature) = attack.lacks() {
        return Ok(Row {
            attack: attack.name.clone(),
            area: attack.area.clone(),
            attempt: attack.description.attempt.clone(),
            threatens: attack.description.threatens.clone(),
            expected: expect.verdict(),
            got: "nothing".to_owned(),
            held: true,
            skipped: Some(format!("{feature:?}").to_lowercase()),
            why: format!("this processor lacks {feature:?}, which it needs"),
            seconds: 0.0,
        });
    }
    let outcome = outcome(attack, runner)?;
    let (got, wrong) = match &outcome {
        Ok(outcome) => {
            let wrong = expect.contradicts(&outcome.ending).into_iter().chain(outcome.harm.iter().cloned());
            (outcome.ending.verdict(), wrong.collect::<Vec<_>>())
        }
        Err(what) => ("nothing".to_owned(), vec![what.clone()]),
    };
    let fine = || outcome.as_ref().map_or(String::new(), |outcome| outcome.ending.to_string());
    Ok(Row {
        attack: attack.name.clone(),
        area: attack.area.clone(),
        attempt: attack.description.attempt.clone(),
        threatens: attack.description.threatens.clone(),
        expected: expect.verdict(),
        got,
        held: wrong.is_empty(),
        skipped: None,
        why: if wrong.is_empty() { fine() } else { wrong.join("; ") },
        seconds: begin.elapsed().as_secs_f64(),
    })
}

/// What the process says, or how it ended instead.
fn outcome(attack: &Attack, runner: &Path) -> Result<std::result::Result<Outcome, String>> {
    let mut command = Command::new(runner);
    command
        .arg("--alone")
        .arg(&attack.folder)
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start {}", runner.display()))?;
    let (output, errors) = (read(child.stdout.take()), read(child.stderr.take()));
    let Ok(output) = output.recv_timeout(LIMIT) else {
        child.kill()?;
        child.wait()?;
        return Ok(Err(format!("it was not over after {LIMIT:?}")));
    };
    let status = child.wait()?;
    Ok(serde_json::from_str(&output).map_err(|_| {
        // Somebody else may hold the other end of the pipe still.
        let errors = errors.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
        let lines: Vec<_> = errors.trim().lines().collect();
        let last = &lines[lines.len().saturating_sub(8)..];
        format!("its process ended with {status}: {}", last.join(" / "))
    }))
}

/// What comes out of a pipe until everybody has closed it, read on a thread of its own so that nobody waits for anybody.
fn read(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (said, heard) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What came before an error counts.
        let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        let _ = said.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    heard
}

/// Held attacks and all, by area, in order.
pub fn by_area(rows: &[Row]) -> BTreeMap<&str, (usize, usize)> {
    let mut areas = BTreeMap::new();
    for row in rows {
        let (held, all) = areas.entry(row.area.as_str()).or_insert((0, 0));
        *held += usize::from(row.held);
        *all += 1;
    }
    areas
}
