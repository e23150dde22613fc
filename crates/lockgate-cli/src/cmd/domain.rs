//! Options of the commands that run a domain, and what its faults mean for the exit status.

use super::output;
use anyhow::{Context as _, bail};
use lockgate::syscall::{Access, COUNTED_TOGETHER, Grants};
use lockgate::{DomainOptions, Fault};
use lockgate_abi::window;
use lockgate_kernel::Identity;
use lockgate_outside::{printable, printable_bytes};
use std::collections::{BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::ops::RangeInclusive;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// What a program may have, for `lockgate up` as well.
pub const THREADS: RangeInclusive<u32> = 0..=DomainOptions::MOST_GUEST_THREADS;
pub const DESCRIPTORS: RangeInclusive<u32> = 1..=DomainOptions::MOST_DESCRIPTORS;
pub const MAPPINGS: RangeInclusive<u32> = 1..=DomainOptions::MOST_MAPPINGS;

/// What it has if its user says nothing: more than a domain of a library, whose host knows how much it needs.
pub const MEMORY: Bytes = Bytes(1 << 30);
pub const STACK: Bytes = Bytes(8 << 20);
pub const MASK: Mask = Mask(DomainOptions::UMASK);

/// For clap.
const fn range(of: &RangeInclusive<u32>) -> RangeInclusive<i64> {
    *of.start() as i64..=*of.end() as i64
}

/// Limits and grants.
#[derive(clap::Args)]
pub struct Limits {
    /// Grant a host directory, as DIR or under another name; `:ro` for reading only, `:special` for symbolic links and FIFOs as well.
    /// Repeatable. A relative DIR has its absolute name in the domain, and the domain starts in the directory of the caller
    #[arg(long = "dir", value_name = "[GUEST=]DIR[:ro|:special]", value_parser = granted)]
    directories: Vec<Granted>,
    /// Let the program listen on an address: 127.0.0.1:6379, [::1]:8080, udp:127.0.0.1:53, unix:/run/x.sock; * is any address of the
    /// machine, or any port, and unix:* all sockets in granted directories. Repeatable
    #[arg(long = "listen", value_name = "ADDRESS")]
    listen: Vec<String>,
    /// Let the program connect, and send, to an address, which may be a name: example.org:443. Repeatable
    #[arg(long = "connect", value_name = "ADDRESS")]
    connect: Vec<String>,
    /// Set an environment variable, or pass one of the host's on. Repeatable
    #[arg(long = "env", value_name = "NAME[=VALUE]")]
    environment: Vec<OsString>,
    /// Start in this directory of the domain (default: the first granted one; where a relative DIR is granted, the directory of the caller)
    #[arg(long = "cwd", value_name = "GUEST")]
    current: Option<String>,
    #[command(flatten)]
    settings: Settings,
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(range(&THREADS)),
        help = format!("Threads that the program may start (pthread_create), at most {}", THREADS.end()))]
    threads: u32,
    #[arg(long, value_name = "N", default_value_t = DomainOptions::DESCRIPTORS, value_parser = clap::value_parser!(u32).range(range(&DESCRIPTORS)),
        help = format!("Descriptors that the program may have open at once, at most {}", DESCRIPTORS.end()))]
    descriptors: u32,
    #[arg(long, value_name = "N", default_value_t = DomainOptions::MAPPINGS, value_parser = clap::value_parser!(u32).range(range(&MAPPINGS)),
        help = format!("Separate mappings of memory that the program may have at once (mmap, mprotect), at most {}", MAPPINGS.end()))]
    mappings: u32,
    #[command(flatten)]
    report: Report,
}

/// What a program, or the domain of a call, begins with and may use: options here, keys in the file of `lockgate up`. (The threads, descriptors and mappings
/// of its programs count against the process's: `lockgate_programs` sets these.)
#[derive(clap::Args)]
pub struct Settings {
    /// File mode creation mask, octal, with which the program begins: 027. That of lockgate itself holds, too
    #[arg(long, value_name = "MODE", value_parser = mask, default_value_t = MASK)]
    pub umask: Mask,
    /// Stop the program or call after this wall-clock time: 500ms, 2s, 1m
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub time_limit: Option<Duration>,
    /// Stop the domain when its threads together have used this much CPU time, measured every few milliseconds: 500ms, 2s, 1m
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub cpu_limit: Option<Duration>,
    /// Limit the domain's memory: 64M, 2G
    #[arg(long, value_name = "SIZE", value_parser = memory, default_value_t = MEMORY)]
    pub memory_limit: Bytes,
    /// Stack of each thread
    #[arg(long, value_name = "SIZE", value_parser = size, default_value_t = STACK)]
    pub stack_size: Bytes,
}

impl Settings {
    /// Options with these, and nothing else.
    pub fn options(&self) -> DomainOptions {
        let options = DomainOptions::new().memory_limit(self.memory_limit.0).stack_size(self.stack_size.0);
        let options = options.umask(self.umask.0);
        let options = self.time_limit.into_iter().fold(options, DomainOptions::time_limit);
        self.cpu_limit.into_iter().fold(options, DomainOptions::cpu_limit)
    }
}

/// A number of bytes, shown as users write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(u64);

impl std::fmt::Display for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let units = [(1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
        let (unit, name) =
            units.into_iter().find(|(unit, _)| self.0.is_multiple_of(*unit)).unwrap_or((1, ""));
        write!(f, "{}{name}", self.0 / unit)
    }
}

/// A file mode creation mask, shown in octal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mask(u32);

impl std::fmt::Display for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:03o}", self.0)
    }
}

/// How faults are reported.
#[derive(Clone, Copy, clap::Args)]
pub struct Report {
    /// Form of a fault's report on standard error: one line, with the functions in progress, or everything as JSON
    #[arg(long = "report", value_name = "FORM", value_enum, default_value_t = Form::Full)]
    form: Form,
}

impl Report {
    /// The text of a fault, of `program` if it is one of several, without the end of its last line.
    pub fn of(self, fault: &Fault, program: Option<&str>) -> String {
        let program = program.map_or(String::new(), |program| format!("{program}: "));
        match self.form {
            Form::Line => format!("lockgate: {program}{fault}"),
            Form::Full => format!("lockgate: {program}{fault:#}"),
            // (For programs, which take it as it is.)
            Form::Json => serde_json::to_string(fault).unwrap_or_else(|_| fault.to_string()),
        }
    }
}

/// Form of a fault's report.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Form {
    Line,
    Full,
    Json,
}

/// One `--dir`.
#[derive(Clone)]
pub struct Granted {
    guest: String,
    host: String,
    access: Access,
    /// It was given by a path that starts here.
    relative: bool,
}

/// Grants directories.
///
/// # Errors
/// One is given twice, or cannot be granted.
pub fn directories(mut grants: Grants, directories: &[Granted]) -> anyhow::Result<Grants> {
    for (number, Granted { guest, host, access, .. }) in directories.iter().enumerate() {
        let same = |other: &&Granted| Path::new(&other.guest) == Path::new(guest);
        if let Some(other) = directories[..number].iter().find(same) {
            bail!(
                "{guest} is given twice, as {} and as {host}: give each directory of the domain once",
                other.host
            );
        }
        grants = grants.directory(guest, host, *access)?;
    }
    Ok(grants)
}

/// Has the domain start in the directory `current`; without one, in this one where a relative path is granted.
///
/// # Errors
/// `current` leads nowhere.
pub fn start_in(grants: Grants, directories: &[Granted], current: Option<&str>) -> anyhow::Result<Grants> {
    if let Some(current) = current
        && !leads_somewhere(directories, Path::new(current))
    {
        bail!("no granted directory has this name: grant one");
    }
    let here = || {
        let here = std::env::current_dir().ok()?;
        directories.iter().any(|granted| granted.relative).then(|| here.to_str().map(str::to_owned))?
    };
    Ok(match current.map(str::to_owned).or_else(here) {
        Some(current) => grants.current_directory(&current),
        None => grants,
    })
}

/// Whether a granted directory has this name in the domain, or one beneath it has.
fn leads_somewhere(directories: &[Granted], current: &Path) -> bool {
    directories.iter().any(|granted| {
        let inner = current.strip_prefix(&granted.guest);
        inner.is_ok_and(|inner| Path::new(&granted.host).join(inner).is_dir())
    })
}

fn identity(path: &Path) -> Option<Identity> {
    path.metadata().ok().map(|seen| Identity::from(&seen))
}

/// The folder of the sockets by which running programs are controlled, as it is now.
struct Control {
    place: PathBuf,
    /// The folder, if there is one yet.
    own: Option<Identity>,
    /// It and the directories above it.
    above: HashSet<Identity>,
    /// What is in it.
    sockets: HashSet<Identity>,
}

impl Control {
    fn find() -> Option<Control> {
        let place = lockgate_programs::control::place()?;
        let own = identity(&place);
        let above = place.ancestors().filter_map(identity).collect();
        let entries = std::fs::read_dir(&place).into_iter().flatten();
        let sockets = entries.filter_map(|entry| identity(&entry.ok()?.path())).collect();
        Some(Control { place, own, above, sockets })
    }

    /// Whether this is the folder, something in it, or one of its sockets elsewhere: by a mount, or by a second name.
    fn has(&self, path: &Path) -> bool {
        let is_within = path.ancestors().any(|above| self.own.is_some() && identity(above) == self.own);
        is_within || identity(path).is_some_and(|identity| self.sockets.contains(&identity))
    }

    /// Whether a way leads from this directory down to the folder: its own, or by something that is mounted there.
    fn is_below(&self, directory: &Path) -> bool {
        let leads = |path: &Path| {
            identity(path)
                .is_some_and(|identity| self.above.contains(&identity) || self.sockets.contains(&identity))
        };
        leads(directory) || mounts().iter().any(|mount| mount.starts_with(directory) && leads(mount))
    }
}

/// Where something is mounted (proc_pid_mountinfo(5)).
fn mounts() -> Vec<PathBuf> {
    let table = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    let places =
        table.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    places.map(|place| PathBuf::from(OsString::from_vec(without_octal(place)))).collect()
}

/// Bytes of a name in which the kernel has written some as a backslash and three octal digits.
fn without_octal(mut name: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let [first, rest @ ..] = name {
        let digits = rest.get(..3).filter(|_| *first == b'\\').and_then(|digits| str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(escaped.unwrap_or(*first));
        name = if escaped.is_some() { &rest[3..] } else { rest };
    }
    bytes
}

/// Refuses to grant, by way of directories and addresses, the sockets by which running programs are controlled.
///
/// # Errors
/// They would be.
pub fn keep_control(
    directories: &[Granted],
    listen: &[impl AsRef<str>],
    connect: &[impl AsRef<str>],
) -> anyhow::Result<()> {
    let Some(control) = Control::find() else { return Ok(()) };
    let own = || format!("{} has the sockets by which lockgate up is controlled", control.place.display());
    let addresses = || listen.iter().map(AsRef::as_ref).chain(connect.iter().map(AsRef::as_ref));
    for path in addresses().filter_map(|address| address.strip_prefix("unix:")).filter(|path| *path != "*") {
        let path = Path::new(path);
        let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
        if control.has(path) || folder.is_some_and(|folder| control.has(&folder)) {
            bail!("{} cannot be granted: {}", printable(&path.to_string_lossy()), own());
        }
    }
    let has_all_sockets = addresses().any(|address| address == "unix:*");
    for granted in directories {
        let Ok(directory) = Path::new(&granted.host).canonicalize() else { continue };
        if control.has(&directory) {
            bail!("{} cannot be granted: {}", printable(&granted.host), own());
        }
        if has_all_sockets && control.is_below(&directory) {
            bail!(
                "{} and unix:* cannot be granted together: {}; name the sockets, or grant another directory",
                printable(&granted.host),
                own()
            );
        }
    }
    Ok(())
}

/// A variable of the environment: NAME=VALUE, or NAME, which passes one of the host's on.
///
/// # Errors
/// It has no name, or there is no such variable.
pub fn variable(variable: &OsStr) -> anyhow::Result<(String, OsString)> {
    let shown = || printable_bytes(variable.as_bytes());
    let mut parts = variable.as_bytes().splitn(2, |byte| *byte == b'=');
    let name = str::from_utf8(parts.next().unwrap_or_default())
        .with_context(|| format!("{}: the name is not UTF-8", shown()))?;
    if name.is_empty() {
        bail!("{}: the variable has no name", shown());
    }
    let value = match parts.next() {
        Some(value) => OsStr::from_bytes(value).to_owned(),
        None => std::env::var_os(name).with_context(|| {
            format!("{}: there is no such variable; give a value with =", printable(name))
        })?,
    };
    Ok((name.to_owned(), value))
}

impl Limits {
    /// Grants of the directories and addresses.
    pub fn grants(&self) -> anyhow::Result<Grants> {
        keep_control(&self.directories, &self.listen, &self.connect)?;
        let mut grants = directories(Grants::default(), &self.directories).context("--dir")?;
        let current = self.current.as_deref();
        grants = start_in(grants, &self.directories, current)
            .with_context(|| format!("--cwd {}", printable(current.unwrap_or_default())))?;
        for address in &self.listen {
            grants = grants.listen(address).context("--listen")?;
        }
        for address in &self.connect {
            grants = grants.connect(address).context("--connect")?;
        }
        Ok(grants)
    }

    pub fn time_limit(&self) -> Option<Duration> {
        self.settings.time_limit
    }

    /// Options with these limits and environment, and with `grants`.
    pub fn options(&self, grants: Grants) -> anyhow::Result<DomainOptions> {
        let mut options = self.settings.options().grants(grants).max_guest_threads(self.threads);
        options = options.descriptor_limit(self.descriptors).mapping_limit(self.mappings);
        let mut names = BTreeSet::new();
        for given in &self.environment {
            let (name, value) = variable(given).context("--env")?;
            if !names.insert(name.clone()) {
                bail!("--env: {} is given twice", printable(&name));
            }
            options = options.environment(&name, value);
        }
        Ok(options)
    }

    /// Reports a fault on standard error.
    pub fn report(&self, fault: &Fault) {
        output::tell(self.report.of(fault, None));
    }

    /// Says what option a program lacks that asked in vain for threads, on standard error.
    pub fn report_threads(&self, module: &str, refused: u64) {
        if refused > 0 {
            output::tell(line_of_threads(module, &format!("--threads {}", self.threads), refused));
        }
    }
}

/// Explains the statuses below, for `--help`.
pub const EXIT_STATUS_OF_FAULTS: &str = "124 the time limit passed; 128+N the domain was \
stopped as signal N would stop a process: 132 illegal instruction or a jump to something that is not a function, 133 padding reached, \
134 abort, 135 bus error, 136 arithmetic, 137 memory limit, CPU time limit or killed, 139 memory or stack, 159 a call of a \
host function that was not offered";

/// The exit status that tells of a fault.
pub fn status_of(fault: &Fault) -> ExitCode {
    ExitCode::from(lockgate_programs::status_of(fault.kind()))
}

/// How often.
fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// A program asked in vain for more threads than `limit` says.
pub fn line_of_threads(module: &str, limit: &str, refused: u64) -> String {
    format!("lockgate: {module}: it may start no more threads than {limit}; tried {}", times(refused))
}

/// Lists the system calls that a module tried in vain, on standard error.
pub fn report_refused(module: &str, refused: &[(u64, u64)]) {
    lines_of_refused(module, refused).into_iter().for_each(output::tell);
}

/// The same, as lines.
pub fn lines_of_refused(module: &str, refused: &[(u64, u64)]) -> Vec<String> {
    let line = |(number, count): &(u64, u64)| {
        let times = times(*count);
        let more = match lockgate::syscall::name(*number) {
            Some(name) => format!(" ({name})"),
            None if *number == COUNTED_TOGETHER => " or above".to_owned(),
            None => String::new(),
        };
        format!("lockgate: {module}: system call {number}{more} does not exist for modules; tried {times}")
    };
    refused.iter().map(line).collect()
}

/// Lists what a module tried that was not granted, on standard error.
pub fn report_denied(module: &str, denied: &[(String, u64)]) {
    lines_of_denied(module, denied, ["--listen", "--connect"]).into_iter().for_each(output::tell);
}

/// The same, as lines; `grants`: what would have granted it to be reached, and to reach others.
pub fn lines_of_denied(module: &str, denied: &[(String, u64)], grants: [&str; 2]) -> Vec<String> {
    let [listen, connect] = grants;
    let line = |(what, count): &(String, u64)| {
        let option = match what.split(' ').next() {
            Some("listen") => format!("{listen} grants that"),
            Some("connect") => format!("{connect} grants that"),
            _ => format!("{listen} and {connect} grant addresses"),
        };
        format!("lockgate: {module} may not {what}: {option}; tried {}", times(*count))
    };
    denied.iter().map(line).collect()
}

/// A directory, as `--dir` has it.
pub fn granted(text: &str) -> anyhow::Result<Granted> {
    let (text, access) = match (text.strip_suffix(":ro"), text.strip_suffix(":special")) {
        (Some(text), _) => (text, Access::ReadOnly),
        (None, Some(text)) => (text, Access::Special),
        (None, None) => (text, Access::ReadWrite),
    };
    let (guest, host) = text.split_once('=').unwrap_or((text, text));
    if let Some(writable) = text.strip_suffix(":rw").filter(|_| !Path::new(host).exists()) {
        granted(writable)?; // what is wrong with that comes first: the advice below must hold
        bail!("a directory may be written to unless :ro is behind it: write {writable}");
    }
    if guest.starts_with('/') {
        return Ok(Granted { guest: guest.to_owned(), host: host.to_owned(), access, relative: false });
    }
    if text.contains('=') {
        let named = Path::new(guest).components().all(|part| matches!(part, Component::Normal(_)));
        let advice =
            if named { format!("/{guest}={host}") } else { format!("{host} alone, or /NAME={host}") };
        bail!("the name in the domain must start with /: write {advice}");
    }
    // Under the name that it has from here: the domain begins here, too, so that the same relative paths work.
    let climbs = Path::new(host).components().any(|part| part == Component::ParentDir);
    let absolute = if climbs { std::fs::canonicalize(host) } else { std::path::absolute(host) };
    let absolute = absolute.with_context(|| format!("cannot open {host}"))?;
    let guest =
        absolute.to_str().with_context(|| format!("the path of {host} is not UTF-8: write /NAME={host}"))?;
    Ok(Granted { guest: guest.to_owned(), host: host.to_owned(), access, relative: true })
}

/// A time that is long enough for a limit.
pub fn time(text: &str) -> anyhow::Result<Duration> {
    let time = any_time(text)?;
    if time < Duration::from_millis(1) {
        bail!("the shortest limit is 1ms");
    }
    Ok(time)
}

/// A time, which may be zero.
pub fn any_time(text: &str) -> anyhow::Result<Duration> {
    let (number, unit) = number_and_unit(text)?;
    let milliseconds = match unit {
        "ms" => number,
        "s" | "" => number * 1e3,
        "m" | "min" => number * 60e3,
        _ => bail!("unknown unit {unit:?}: use ms, s or m"),
    };
    Duration::try_from_secs_f64(milliseconds / 1e3).context("too long")
}

/// A number of bytes that a domain can have.
pub fn memory(text: &str) -> anyhow::Result<Bytes> {
    let size = size(text)?;
    if size.0 > window::SIZE {
        bail!("a domain has at most {}, about 2G of it for its heap", Bytes(window::SIZE));
    }
    Ok(size)
}

/// A number of bytes.
pub fn size(text: &str) -> anyhow::Result<Bytes> {
    let (number, unit) = number_and_unit(text)?;
    let unit = match unit {
        "" => 1,
        "K" | "k" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        _ => bail!("unknown unit {unit:?}: use K, M or G"),
    };
    Ok(Bytes((number * f64::from(unit)) as u64))
}

/// A file mode creation mask: octal, as in a shell.
pub fn mask(text: &str) -> anyhow::Result<Mask> {
    let is_octal = !text.is_empty() && text.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
    let mask = is_octal.then(|| u32::from_str_radix(text, 8).ok()).flatten();
    mask.filter(|mask| *mask <= DomainOptions::MOST_UMASK)
        .map(Mask)
        .with_context(|| format!("it must be an octal number between 0 and {:o}", DomainOptions::MOST_UMASK))
}

fn number_and_unit(text: &str) -> anyhow::Result<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 =
        text[..end].parse().with_context(|| format!("{text:?} does not start with a number"))?;
    Ok((number, &text[end..]))
}
