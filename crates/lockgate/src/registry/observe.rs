//! Reading the table of another process.
//!
//! What is read was written by a process that may be hostile or half way through a change: every number is checked, text
//! is cleaned, and nothing is followed.
use super::table_sys::{BINDING, EXPORT, LAYOUT, NAME, ROW, ROWS, time_stamp};
use rustix::time::{ClockId, clock_gettime};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Looks at one row before it is given up: it changes all the time.
const LOOKS: usize = 100;

/// Why the exports of a process could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObserveError {
    /// No such process.
    #[error("there is no process {0}")]
    NoProcess(u32),
    /// Not the caller's to read.
    #[error("process {0} may not be read: that takes the right to trace it (its user, or CAP_SYS_PTRACE)")]
    Permission(u32),
    /// It exports nothing.
    #[error("process {0} has no registry of Lockgate: it has exported nothing yet")]
    None(u32),
    /// Another version of the library.
    #[error(
        "process {pid} has a registry in layout {found}, not {LAYOUT}: use the lockgate program of its version"
    )]
    Layout {
        /// The process.
        pid: u32,
        /// What it has.
        found: u64,
    },
    /// The system's reason.
    #[error("process {pid}: {source}")]
    System {
        /// The process.
        pid: u32,
        /// The reason.
        source: io::Error,
    },
}

/// Calls counted where a policy asks for it ([`Policy::counted`](crate::Policy::counted)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls begun.
    pub calls: u64,
    /// Their mean duration, if they are timed ([`Policy::timed`](crate::Policy::timed)).
    pub mean: Option<Duration>,
}

/// A binding of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedBinding {
    /// Who bound it.
    pub client: String,
    /// What is enforced.
    pub policy: String,
    /// Its calls; `None` if they are not counted.
    pub counts: Option<Counts>,
}

/// An export of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedExport {
    /// Name.
    pub name: String,
    /// `major.minor`.
    pub version: String,
    /// The domain, or `host`.
    pub server: String,
    /// C prototype.
    pub signature: String,
    /// What the server asks for.
    pub policy: String,
    /// Who may bind it.
    pub allowed: String,
    /// Its bindings.
    pub bindings: Vec<ObservedBinding>,
}

/// What the process `pid` exports, and who has bound it, as it is now.
///
/// # Errors
/// [`ObserveError`].
pub fn observe(pid: u32) -> Result<Vec<ObservedExport>, ObserveError> {
    let system = |source: io::Error| match source.kind() {
        io::ErrorKind::PermissionDenied => ObserveError::Permission(pid),
        _ => ObserveError::System { pid, source },
    };
    let folder = PathBuf::from(format!("/proc/{pid}"));
    if !folder.exists() {
        return Err(ObserveError::NoProcess(pid));
    }
    let path = find(&folder.join("fd")).map_err(system)?.ok_or(ObserveError::None(pid))?;
    let file = File::open(path).map_err(system)?;
    let head = look(&file, 0).map_err(system)?.ok_or(ObserveError::None(pid))?;
    if head.kind != LAYOUT {
        return Err(ObserveError::Layout { pid, found: head.kind });
    }
    if Some(head.of) != own_number(&folder) {
        return Err(ObserveError::None(pid)); // a forked child: the table is its parent's
    }
    let rate = Rate::since(&head);
    let mut exports = Vec::new();
    let mut places = HashMap::new();
    let mut bindings = Vec::new();
    for number in 1..ROWS {
        let Some(row) = look(&file, number).map_err(system)? else { continue };
        match row.kind {
            EXPORT => {
                places.insert((number as u64, row.generation), exports.len());
                exports.push(export(&row));
            }
            BINDING => bindings.push(row),
            _ => {}
        }
    }
    for row in bindings {
        // Without its export: that was taken back meanwhile.
        if let Some(place) = places.get(&(row.of, row.of_generation)) {
            exports[*place].bindings.push(binding(&row, rate));
        }
    }
    exports.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(exports)
}

/// The table among the descriptors in `folder`.
fn find(folder: &Path) -> io::Result<Option<PathBuf>> {
    let name = format!("/memfd:{NAME} (deleted)");
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        // A descriptor may be closed meanwhile.
        if std::fs::read_link(&path).is_ok_and(|target| target == Path::new(&name)) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// The number of the process in its own namespace, as it wrote it itself.
fn own_number(folder: &Path) -> Option<u64> {
    let status = std::fs::read_to_string(folder.join("status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("NSpid:"))?.split_whitespace().last()?.parse().ok()
}

/// A row that did not change while it was read.
struct Seen {
    generation: u64,
    kind: u64,
    of: u64,
    of_generation: u64,
    calls: u64,
    cycles: u64,
    counter: u64,
    fields: Vec<String>,
}

/// `None` for a row that changes all the time, or was never used.
fn look(file: &File, number: usize) -> io::Result<Option<Seen>> {
    let at = (number * ROW) as u64;
    for _ in 0..LOOKS {
        let (mut bytes, mut again) = ([0; ROW], [0; 8]);
        file.read_exact_at(&mut bytes, at)?;
        file.read_exact_at(&mut again, at)?;
        let word = |index: usize| {
            bytes[8 * index..8 * index + 8]
                .iter()
                .rev()
                .fold(0_u64, |word, byte| word << 8 | u64::from(*byte))
        };
        let generation = word(0);
        if generation == 0 {
            return Ok(None);
        }
        if generation % 2 == 0 && generation == u64::from_le_bytes(again) {
            let fields = bytes[64..].split(|byte| *byte == 0).map(clean).collect();
            return Ok(Some(Seen {
                generation,
                kind: word(1),
                of: word(2),
                of_generation: word(3),
                calls: word(4),
                cycles: word(6),
                counter: word(7),
                fields,
            }));
        }
    }
    Ok(None)
}

/// Text that cannot move a terminal's cursor.
fn clean(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn export(row: &Seen) -> ObservedExport {
    let field = |index: usize| row.fields.get(index).cloned().unwrap_or_default();
    ObservedExport {
        name: field(0),
        version: field(1),
        server: field(2),
        policy: field(3),
        allowed: field(4),
        signature: field(5),
        bindings: Vec::new(),
    }
}

fn binding(row: &Seen, rate: Rate) -> ObservedBinding {
    let field = |index: usize| row.fields.get(index).cloned().unwrap_or_default();
    let counts = matches!(field(2).as_str(), "counted" | "timed").then(|| Counts {
        calls: row.calls,
        mean: (field(2) == "timed" && row.calls > 0).then(|| rate.duration(row.cycles / row.calls)),
    });
    ObservedBinding { client: field(0), policy: field(1), counts }
}

/// How long a cycle of the time-stamp counter takes.
#[derive(Clone, Copy)]
struct Rate {
    nanoseconds: u128,
    cycles: u128,
}

impl Rate {
    /// From the moment when the table was made to now: both processes read the same counter.
    fn since(head: &Seen) -> Rate {
        let now = clock_gettime(ClockId::Monotonic);
        let now = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        Rate {
            nanoseconds: now.saturating_sub(head.of_generation).into(),
            cycles: time_stamp().saturating_sub(head.counter).max(1).into(),
        }
    }

    fn duration(self, cycles: u64) -> Duration {
        Duration::from_nanos((u128::from(cycles) * self.nanoseconds / self.cycles) as u64)
    }
}
