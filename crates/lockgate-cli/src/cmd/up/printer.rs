//! Writes the lines of programs. Programs wait for a slow reader. If it does not read at all, lines are dropped and counted: a program must not
//! stop serving others because of that.

use lockgate_kernel::locked;
use std::collections::VecDeque;
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes that wait to be written.
const MOST: usize = 256 << 10;

/// Bytes that are written at once.
const PIECE: usize = 4 << 10;

/// If writing one piece takes longer, the reader counts as gone.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Where a line goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Stdout,
    Stderr,
}

/// Lines on their way, written by a thread.
#[derive(Clone)]
pub struct Printer(Arc<Shared>);

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    lines: VecDeque<(Target, String)>,
    bytes: usize,
    /// When the piece that is being written began to be.
    writing: Option<Instant>,
    /// Lines that are dropped, because the reader has gone.
    lost: u64,
}

impl Printer {
    /// Starts it.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start() -> std::io::Result<Printer> {
        let printer = Printer(Arc::default());
        let shared = printer.0.clone();
        std::thread::Builder::new().name("lockgate-printer".to_owned()).spawn(move || shared.write())?;
        Ok(printer)
    }

    /// Has a line written, which is without its end. Waits while too many wait and the reader reads.
    pub fn line(&self, target: Target, mut line: String) {
        line.push('\n');
        let mut queue = self.0.lock();
        while queue.bytes + line.len() > MOST && !queue.lines.is_empty() {
            if queue.is_stuck() {
                queue.lost += 1;
                return;
            }
            queue = self.0.wait(queue);
        }
        queue.bytes += line.len();
        queue.lines.push_back((target, line));
        self.0.changed.notify_all();
    }

    /// Waits until all is written, or the reader has gone.
    pub fn finish(&self) {
        let mut queue = self.0.lock();
        while (!queue.lines.is_empty() || queue.writing.is_some()) && !queue.is_stuck() {
            queue = self.0.wait(queue);
        }
    }
}

impl Queue {
    fn is_stuck(&self) -> bool {
        self.writing.is_some_and(|since| since.elapsed() >= TIMEOUT)
    }

    /// The next lines, all for one place.
    fn next(&mut self) -> Option<(Target, String)> {
        let (target, mut text) = self.lines.pop_front()?;
        while let Some((_, line)) =
            self.lines.front().filter(|(other, line)| *other == target && text.len() + line.len() <= PIECE)
        {
            text.push_str(line);
            self.lines.pop_front();
        }
        self.bytes -= text.len();
        Some((target, text))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        locked(&self.queue)
    }

    /// Waits for a change, or until what is being written is taken to be stuck.
    fn wait<'q>(&self, queue: MutexGuard<'q, Queue>) -> MutexGuard<'q, Queue> {
        let left = queue.writing.map_or(TIMEOUT, |since| TIMEOUT.saturating_sub(since.elapsed()));
        self.changed.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0
    }

    fn write(&self) {
        loop {
            let mut queue = self.lock();
            let (target, mut text) = loop {
                match queue.next() {
                    Some(next) => break next,
                    None => queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner),
                }
            };
            queue.writing = Some(Instant::now());
            let lost = std::mem::take(&mut queue.lost);
            drop(queue);
            if lost > 0 {
                text.push_str(&format!(
                    "lockgate: {lost} lines were dropped here, because no program read them in time\n"
                ));
            }
            // Where that cannot be written it goes: programs serve on.
            let _ = match target {
                Target::Stdout => std::io::stdout().write_all(text.as_bytes()),
                Target::Stderr => std::io::stderr().write_all(text.as_bytes()),
            };
            self.lock().writing = None;
            self.changed.notify_all();
        }
    }
}
