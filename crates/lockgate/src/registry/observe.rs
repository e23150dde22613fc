//! Reading the table of another process.
//!
//! What is read was written by a process that may be hostile or half way through a change: every number is checked, text
//! is cleaned, and nothing is followed.
use crate::host::kept;
use crate::stats::generation::{self, Look};
use crate::stats::table_sys::{
    BINDING, BOUND, DOMAIN, EXPORT, LAYOUT, NAME, ROW, ROWS, server_reference, time_stamp,
};
use rustix::fs::{self, AtFlags, FileType, MemfdFlags, Mode, OFlags, SealFlags, Statx, StatxFlags};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// Looks at one row before it is given up: it changes all the time.
const LOOKS: usize = 100;

/// Looks in vain at a table's rows, all of them together: few change at once, unless its owner wants to keep the reader. Each row gets one look.
const BUDGET: usize = 1000;

/// Fields of a row that are looked at: an export's, which has most.
const FIELDS: usize = 6;

/// Why the exports of a process could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObserveError {
    /// No such process.
    #[error("there is no process {0}")]
    NoProcess(u32),
    /// Not the caller's to read.
    #[error("cannot read process {0}: you need the right to trace it (be its user, or have CAP_SYS_PTRACE)")]
    Permission(u32),
    /// It exports nothing.
    #[error(
        "process {0} has no registry of Lockgate (or none that its library made): it has exported nothing yet"
    )]
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

impl ObserveError {
    /// Whether it says something about the reader, who has no descriptors or no memory left, and nothing about the process.
    pub fn is_the_readers(&self) -> bool {
        let source = if let ObserveError::System { source, .. } = self { Some(source) } else { None };
        source.and_then(Errno::from_io_error).is_some_and(is_the_readers)
    }
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

/// A domain of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedDomain {
    /// Name; several domains may have the same.
    pub name: String,
    /// Name of its module.
    pub module: String,
    /// Which of the process's domains it is, as long as it lives: no other has the same number.
    pub id: u64,
    /// Memory in use, bytes.
    pub memory: u64,
    /// Its limit, bytes.
    pub memory_limit: u64,
    /// Calls that ended by a fault.
    pub faults: u64,
    /// Threads that have a place in it.
    pub threads: u32,
    /// Threads inside, a few milliseconds ago; `None` if its CPU time is not measured.
    pub inside: Option<u32>,
    /// CPU time used; `None` if it is not measured.
    pub cpu_time: Option<Duration>,
    /// Bindings whose calls are counted.
    pub calls: Vec<ObservedCalls>,
}

/// Calls through one binding to a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedCalls {
    /// Which binding it is, as long as it lives.
    pub id: u64,
    /// The function.
    pub function: String,
    /// Who bound it.
    pub client: String,
    /// Its calls.
    pub counts: Counts,
}

/// What a process is doing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observation {
    /// By name and version.
    pub exports: Vec<ObservedExport>,
    /// By name.
    pub domains: Vec<ObservedDomain>,
}

/// What the process `pid` exports, and who has bound it, as it is now.
///
/// # Errors
/// [`ObserveError`].
pub fn observe(pid: u32) -> Result<Vec<ObservedExport>, ObserveError> {
    Ok(Observer::new(pid)?.look()?.exports)
}

/// Looks at one process, again and again.
#[derive(Debug)]
pub struct Observer {
    pid: u32,
    /// The process's folder below /proc: that process, not one that gets its number later.
    folder: OwnedFd,
    /// Which of its descriptors the table is.
    number: OsString,
    file: File,
}

impl Observer {
    /// Finds the table of the process `pid`.
    ///
    /// # Errors
    /// [`ObserveError`].
    pub fn new(pid: u32) -> Result<Observer, ObserveError> {
        let system = |source| failed(pid, source);
        let folder = fs::open(format!("/proc/{pid}"), FOLDER, Mode::empty());
        let folder = folder.map_err(|error| match is_the_readers(error) {
            true => failed(pid, error.into()),
            false => ObserveError::NoProcess(pid),
        })?;
        let own = Own::of(&folder).map_err(system)?;
        for (number, file) in find(&folder, DESCRIPTORS).map_err(system)? {
            // Descriptors are handed from process to process: another process's table is not this one's.
            if !about(file.as_fd()).is_some_and(|about| own.may_have_made(about.stx_uid)) {
                continue;
            }
            let Some(head) = look(&file, 0, &mut { BUDGET }).map_err(system)? else { continue };
            if head.kind != LAYOUT {
                return Err(ObserveError::Layout { pid, found: head.kind });
            }
            // A forked child has its parent's table open, too.
            if Some(head.of) == own.number {
                return Ok(Observer { pid, folder, number, file });
            }
        }
        Err(ObserveError::None(pid))
    }

    /// The process as it is now.
    ///
    /// # Errors
    /// [`ObserveError`]: the process has ended, or runs another program.
    pub fn look(&self) -> Result<Observation, ObserveError> {
        // The file outlives the process that wrote it, and the program.
        let is_there = Path::new(&within(&self.folder, "stat")).exists();
        if !is_there {
            return Err(ObserveError::NoProcess(self.pid));
        }
        let link = within(&self.folder, "fd").join(&self.number);
        let there = fs::open(link, LOOK, Mode::empty()).ok().and_then(|there| about(there.as_fd()));
        let identity = |seen: Statx| (seen.stx_dev_major, seen.stx_dev_minor, seen.stx_ino);
        if there.map(identity) != about(self.file.as_fd()).map(identity) {
            return Err(ObserveError::None(self.pid));
        }
        rows(&self.file).map_err(|source| failed(self.pid, source))
    }
}

/// How something is opened that may be anything, to look at it.
const LOOK: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
const FOLDER: OFlags = LOOK.union(OFlags::DIRECTORY);

/// The path of what is called `name` in an open folder.
fn within(folder: &OwnedFd, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{name}", folder.as_raw_fd()))
}

/// What is known of a file without asking the process that serves it.
fn about(file: BorrowedFd<'_>) -> Option<Statx> {
    fs::statx(file, "", AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC, StatxFlags::BASIC_STATS).ok()
}

fn rows(file: &File) -> io::Result<Observation> {
    let mut budget = BUDGET;
    let Some(head) = look(file, 0, &mut budget)? else { return Ok(Observation::default()) };
    let rate = Rate::since(&head);
    let mut all = Observation::default();
    let (mut exports, mut domains) = (HashMap::new(), HashMap::new());
    let mut bindings = Vec::new();
    // Rows are used in order: behind one that never was there are no others of its kind.
    let used = |numbers: Range<usize>| {
        numbers.map_while(|number| is_used(file, number).transpose().map(|used| used.map(|()| number)))
    };
    for number in used(1..BOUND).chain(used(BOUND..ROWS)) {
        let number = number?;
        let Some(row) = look(file, number, &mut budget)? else { continue };
        match row.kind {
            EXPORT => {
                exports.insert((number as u64, row.generation), all.exports.len());
                all.exports.push(export(&row));
            }
            BINDING => bindings.push((number as u64, row)),
            DOMAIN => {
                let reference = server_reference(number as u64, row.generation);
                domains.insert(reference, all.domains.len());
                all.domains.push(domain(&row, reference));
            }
            _ => {}
        }
    }
    for (number, row) in bindings {
        // Without its export or domain: that is gone meanwhile, or never was.
        if let Some(place) = exports.get(&(row.of, row.of_generation)) {
            all.exports[*place].bindings.push(binding(&row, rate));
        }
        if let Some(place) = domains.get(&row.numbers[3])
            && let Some(counts) = counts(&row, rate)
        {
            let (id, function) = (server_reference(number, row.generation), row.field(3));
            all.domains[*place].calls.push(ObservedCalls { id, function, client: row.field(0), counts });
        }
    }
    all.exports.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    all.domains.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
    Ok(all)
}

fn failed(pid: u32, source: io::Error) -> ObserveError {
    match source.kind() {
        io::ErrorKind::PermissionDenied => ObserveError::Permission(pid),
        _ => ObserveError::System { pid, source },
    }
}

/// Descriptors by the table's name that are looked at: a process has one, and those of the processes that it was forked from, of which there
/// is no end of address space for more.
const CANDIDATES: usize = 1024;

/// Descriptors of a process that are looked at: it may have a million, and share them with thousands of others.
const DESCRIPTORS: usize = 1 << 16;

/// The tables among the descriptors of the process in `folder`, and their numbers.
fn find(folder: &OwnedFd, most: usize) -> io::Result<Vec<(OsString, File)>> {
    let name = format!("/memfd:{NAME} (deleted)");
    let is_named = |path: &PathBuf| {
        // A descriptor may be closed meanwhile.
        std::fs::read_link(path).is_ok_and(|target| target == Path::new(&name))
    };
    let mut left = std::fs::read_dir(within(folder, "fd"))?;
    let paths = left.by_ref().take(most).filter_map(|entry| Some(entry.ok()?.path()));
    let mut found = Vec::new();
    for path in paths.filter(is_named).take(CANDIDATES) {
        let Some(number) = path.file_name() else { continue };
        found.extend(table_at(&path)?.map(|file| (number.to_owned(), file)));
    }
    if found.is_empty() && left.next().is_some() {
        let what =
            format!("it has more than {most} descriptors, and no registry of Lockgate is among the first");
        return Err(io::Error::other(what));
    }
    Ok(found)
}

/// The table behind a link of another process, whose text any process can forge: anything may be there, and its owner may be waiting for
/// a reader to open it. So it is looked at without being opened, in a way that asks no process; what is a memory file of the right
/// size is opened without waiting; and only one that can no longer be changed or truncated is read.
///
/// # Errors
/// The reader's own: he has no descriptors left, or no memory.
fn table_at(link: &Path) -> io::Result<Option<File>> {
    let own = |error: Errno| if is_the_readers(error) { Err(error.into()) } else { Ok(None) };
    let looked_at = match fs::open(link, LOOK, Mode::empty()) {
        Ok(file) => file,
        Err(error) => return own(error),
    };
    let Some((theirs, ours)) = about(looked_at.as_fd()).zip(memory_file().and_then(about)) else {
        return Ok(None);
    };
    // All memory files lie in one file system of the kernel's, which cannot be mounted.
    let place = |seen: &Statx| (seen.stx_dev_major, seen.stx_dev_minor);
    let is_file = FileType::from_raw_mode(theirs.stx_mode.into()) == FileType::RegularFile;
    if place(&theirs) != place(&ours) || !is_file || theirs.stx_size != (ROWS * ROW) as u64 {
        return Ok(None);
    }
    let again = format!("/proc/self/fd/{}", looked_at.as_raw_fd());
    // Else a process that holds a lease on it has us wait.
    let file = match fs::open(again, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()) {
        Ok(file) => file,
        Err(error) => return own(error),
    };
    let seals = fs::fcntl_get_seals(&file).unwrap_or(SealFlags::empty());
    Ok(seals.contains(SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL).then(|| File::from(file)))
}

/// Whether an error says something about the reader, not about what is read.
fn is_the_readers(error: Errno) -> bool {
    matches!(error, Errno::MFILE | Errno::NFILE | Errno::NOMEM)
}

/// A memory file of this process's own, to compare with.
fn memory_file() -> Option<BorrowedFd<'static>> {
    static MADE: OnceLock<Option<OwnedFd>> = OnceLock::new();
    let make = || fs::memfd_create("lockgate-observer", MemfdFlags::CLOEXEC).and_then(kept).ok();
    MADE.get_or_init(make).as_ref().map(OwnedFd::as_fd)
}

/// What the kernel says of a process.
#[derive(Default)]
struct Own {
    /// Its number in its own namespace, as it wrote it itself.
    number: Option<u64>,
    /// Whose it is: real, effective, saved, for files.
    users: Vec<u32>,
}

impl Own {
    /// # Errors
    /// The reader's own: see [`table_at`].
    fn of(folder: &OwnedFd) -> io::Result<Own> {
        match std::fs::read_to_string(within(folder, "status")) {
            Ok(text) => Ok(Own::read(&text)),
            Err(error) if Errno::from_io_error(&error).is_some_and(is_the_readers) => Err(error),
            Err(_) => Ok(Own::default()),
        }
    }

    fn read(status: &str) -> Own {
        let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("");
        Own {
            number: line("NSpid:").split_whitespace().last().and_then(|number| number.parse().ok()),
            users: line("Uid:").split_whitespace().filter_map(|user| user.parse().ok()).collect(),
        }
    }

    /// Whether it may have made a memory file that is this user's: root made it where it has given its rights up since.
    fn may_have_made(&self, user: u32) -> bool {
        user == 0 || self.users.contains(&user)
    }
}

/// A row that did not change while it was read.
struct Seen {
    generation: u64,
    kind: u64,
    of: u64,
    of_generation: u64,
    numbers: [u64; 4],
    fields: Vec<String>,
}

impl Seen {
    fn field(&self, index: usize) -> String {
        self.fields.get(index).cloned().unwrap_or_default()
    }
}

/// `None` for a row that never was used.
fn is_used(file: &File, number: usize) -> io::Result<Option<()>> {
    let mut generation = [0; 8];
    file.read_exact_at(&mut generation, (number * ROW) as u64)?;
    Ok((generation != [0; 8]).then_some(()))
}

/// `None` for a row that changes all the time, or was never used. Takes from `budget` what it looks in vain.
fn look(file: &File, number: usize, budget: &mut usize) -> io::Result<Option<Seen>> {
    let at = (number * ROW) as u64;
    let generation = || {
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, at).map(|()| u64::from_le_bytes(bytes))
    };
    let rest = || {
        let mut bytes = [0; ROW];
        file.read_exact_at(&mut bytes, at).map(|()| bytes)
    };
    for _ in 0..LOOKS {
        let (generation, bytes) = match generation::look(generation, rest)? {
            Look::Never => return Ok(None),
            Look::Changing if *budget == 0 => return Ok(None),
            Look::Changing => {
                *budget -= 1;
                continue;
            }
            Look::Seen(generation, bytes) => (generation, bytes),
        };
        let word = |index: usize| {
            bytes[8 * index..8 * index + 8]
                .iter()
                .rev()
                .fold(0_u64, |word, byte| word << 8 | u64::from(*byte))
        };
        let fields = bytes[64..].split(|byte| *byte == 0).take(FIELDS);
        let fields = fields.map(lockgate_outside::printable_bytes).collect();
        return Ok(Some(Seen {
            generation,
            kind: word(1),
            of: word(2),
            of_generation: word(3),
            numbers: std::array::from_fn(|index| word(4 + index)),
            fields,
        }));
    }
    Ok(None)
}

fn export(row: &Seen) -> ObservedExport {
    let field = |index| row.field(index);
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
    ObservedBinding { client: row.field(0), policy: row.field(1), counts: counts(row, rate) }
}

fn counts(row: &Seen, rate: Rate) -> Option<Counts> {
    let [calls, _, cycles, _] = row.numbers;
    let counted = row.field(2);
    matches!(counted.as_str(), "counted" | "timed").then(|| Counts {
        calls,
        mean: (counted == "timed" && calls > 0 && cycles > 0).then(|| rate.duration(cycles / calls)),
    })
}

fn domain(row: &Seen, id: u64) -> ObservedDomain {
    let [memory, faults, cpu, threads] = row.numbers;
    let is_measured = row.field(3) == "measured";
    ObservedDomain {
        name: row.field(0),
        module: row.field(1),
        id,
        memory,
        memory_limit: row.field(2).parse().unwrap_or(0),
        faults,
        threads: threads as u32,
        inside: is_measured.then_some((threads >> 32) as u32),
        cpu_time: is_measured.then(|| Duration::from_nanos(cpu)),
        calls: Vec::new(),
    }
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
            cycles: time_stamp().saturating_sub(head.numbers[3]).max(1).into(),
        }
    }

    fn duration(self, cycles: u64) -> Duration {
        Duration::from_nanos((u128::from(cycles) * self.nanoseconds / self.cycles) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// A link's text says nothing about what is behind it, and its owner may wait for a reader to open that.
    #[test]
    fn only_memory_files_of_the_right_shape_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let behind =
            |file: &OwnedFd| table_at(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd()))).unwrap();
        let made = |name: &str| folder.path().join(name);
        fs::mknodat(fs::CWD, made("fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        let fifo = fs::open(made("fifo"), OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).unwrap();
        assert!(behind(&fifo).is_none(), "an open would wait for a writer");
        let size = (ROWS * ROW) as u64;
        let ordinary = fs::open(made("file"), OFlags::RDWR | OFlags::CREATE, Mode::RWXU).unwrap();
        fs::ftruncate(&ordinary, size).unwrap();
        assert!(behind(&ordinary).is_none(), "an ordinary file");
        let memory = |size, seals| {
            let file = fs::memfd_create(NAME, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
            fs::ftruncate(&file, size).unwrap();
            fs::fcntl_add_seals(&file, seals).unwrap();
            file
        };
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        assert!(behind(&memory(size, SealFlags::GROW)).is_none(), "it could be truncated while it is read");
        assert!(behind(&memory(size - 1, seals)).is_none(), "of another size");
        assert!(behind(&memory(size, seals)).is_some());
    }

    /// The last of many generations has all its ancestors' tables open, before its own.
    #[test]
    fn a_table_is_found_behind_those_of_ancestors() {
        let ancestors: Vec<OwnedFd> = (0..100)
            .map(|_| {
                let file = fs::memfd_create(NAME, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
                fs::ftruncate(&file, (ROWS * ROW) as u64).unwrap();
                fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL).unwrap();
                file
            })
            .collect();
        let own = fs::open("/proc/self", FOLDER, Mode::empty()).unwrap();
        let found = find(&own, DESCRIPTORS).unwrap();
        let is_found = |of: &OwnedFd| found.iter().any(|(number, _)| *number == *of.as_raw_fd().to_string());
        assert!(ancestors.iter().all(is_found), "{} of 100", found.len());
        // Behind standard input, output and errors.
        let error = find(&own, 3).unwrap_err().to_string();
        assert!(error.contains("more than 3 descriptors"), "{error}");
    }

    /// Others hand servers what looks like the servers' own.
    #[test]
    fn another_users_table_is_no_processs_own() {
        let own =
            Own::read("Name:\tx\nPid:\t70\nNSpid:\t70\t3\nUid:\t1000\t1001\t1001\t1002\nGid:\t5\t5\t5\t5\n");
        assert_eq!((own.number, own.users.as_slice()), (Some(3), &[1000, 1001, 1001, 1002][..]));
        let made_by = |user| own.may_have_made(user);
        assert!(made_by(0) && made_by(1000) && made_by(1002) && !made_by(5) && !made_by(1003));
        assert!(!Own::read("").may_have_made(7));
    }

    /// A table is looked at as long as the process has it: another program, or another process with its number, has its own.
    #[test]
    fn what_a_process_no_longer_has_is_not_looked_at() {
        let table = || {
            let file = fs::memfd_create(NAME, MemfdFlags::CLOEXEC).unwrap();
            fs::ftruncate(&file, (ROWS * ROW) as u64).unwrap();
            file
        };
        let own = fs::open("/proc/self", FOLDER, Mode::empty()).unwrap();
        let mut there = table();
        let number = OsString::from(there.as_raw_fd().to_string());
        let file = File::from(there.try_clone().unwrap());
        let mut observer = Observer { pid: std::process::id(), folder: own, number, file };
        assert!(observer.look().is_ok());
        rustix::io::dup2(table(), &mut there).unwrap();
        assert!(matches!(observer.look(), Err(ObserveError::None(_))));
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        observer.folder = fs::open(format!("/proc/{}", child.id()), FOLDER, Mode::empty()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        // Though there is a process with the number.
        assert!(matches!(observer.look(), Err(ObserveError::NoProcess(_))));
    }

    /// A table all of whose rows seem to change has its reader look a thousand times more, not a million times.
    #[test]
    fn nobody_keeps_the_reader() {
        let mut file = tempfile::tempfile().unwrap();
        let mut row = [0; ROW];
        row[0] = 1;
        (0..ROWS).for_each(|_| file.write_all(&row).unwrap());
        let mut budget = LOOKS + 5;
        assert!(look(&file, 1, &mut budget).unwrap().is_none());
        assert_eq!(budget, 5);
        for number in 2..ROWS {
            assert!(look(&file, number, &mut budget).unwrap().is_none());
            assert_eq!(budget, 0);
        }
        let seen = rows(&file).unwrap();
        assert_eq!((seen.exports.len(), seen.domains.len()), (0, 0));
    }

    /// A row may be all ends of fields: the reader keeps those that mean something.
    #[test]
    fn a_row_has_few_fields() {
        let mut file = tempfile::tempfile().unwrap();
        let mut row = [0; ROW];
        row[0] = 2;
        row[64..].iter_mut().step_by(2).for_each(|byte| *byte = b'x');
        file.write_all(&row).unwrap();
        let seen = look(&file, 0, &mut { BUDGET }).unwrap().unwrap();
        assert_eq!(seen.fields, ["x"; FIELDS]);
    }

    /// The other process writes what it likes: any numbers, any text, references to anything.
    #[test]
    fn a_table_of_garbage_is_harmless() {
        let mut seed = 1_u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as u8
        };
        let mut bytes: Vec<u8> = (0..ROWS * ROW).map(|_| random()).collect();
        for (number, row) in bytes.chunks_exact_mut(ROW).enumerate() {
            row[0] &= !1; // not in the middle of a change
            row[8..16].copy_from_slice(&[1 + number as u8 % 3, 0, 0, 0, 0, 0, 0, 0]);
            if number % 7 == 0 {
                row[64..].fill(b'\x1b');
            }
        }
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        let seen = rows(&file).unwrap();
        assert!(seen.exports.len() > 1000 && seen.domains.len() > 1000);
        let texts = seen.exports.iter().map(|export| &export.name);
        assert!(
            !texts.chain(seen.domains.iter().map(|domain| &domain.name)).any(|text| text.contains('\x1b'))
        );

        assert_eq!(
            lockgate_outside::printable_bytes("a\u{202e}b\u{2028}c\x1b[2J\u{9b}d".as_bytes()),
            "a?b?c?[2J?d"
        );

        // Cut off in the middle of a row.
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes[..ROW + 9]).unwrap();
        assert!(rows(&file).is_err());
    }
}
