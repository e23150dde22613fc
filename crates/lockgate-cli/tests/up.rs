//! `lockgate up`: several programs as domains of one process, as a user's shell and a manager of services see it. Nothing here waits for time to
//! pass: a test waits for the line that says what it waits for.

use crate::common::text;
use lockgate::syscall::Grants;
use lockgate::{DomainOptions, Module};
use lockgate_programs::{Event, Line, Observer, Programs, ProgramsError, Ready, Spec, State};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, PipeReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{LazyLock, Mutex};

/// `tests/programs/service.c` as a module, built once.
static SERVICE: LazyLock<PathBuf> = LazyLock::new(|| {
    let module = support::shared_folder().join("service.lg");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/service.c");
    let built = Command::new(env!("CARGO_BIN_EXE_lockgate"))
        .args(["cc", "-w", "-g", "-O1", "-o"])
        .args([&module, &source])
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", text(&built.stderr));
    module
});

/// A folder with a file, a module, and a place for sockets of control.
pub(crate) struct Site(tempfile::TempDir);

impl Site {
    /// `programs`: what stands below each `[programs.NAME]`, where `module` is the service unless it is said.
    fn new(programs: &[(&str, &str)]) -> Site {
        let site = Site::of(&file(programs));
        fs::copy(&*SERVICE, site.path("service.lg")).unwrap();
        site
    }

    pub(crate) fn of(text: &str) -> Site {
        use std::os::unix::fs::PermissionsExt as _;
        let site = Site(tempfile::tempdir().unwrap());
        fs::create_dir(site.path("run")).unwrap();
        fs::set_permissions(site.path("run"), fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(site.path("lockgate.toml"), text).unwrap();
        site
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `lockgate COMMAND FOLDER ARGUMENTS...`, for which signals do what they do where nothing ignores them: the tests may run in the background.
    /// (A shell cannot undo that. Perl belongs to each Debian.)
    fn command(&self, command: &str, arguments: &[&str]) -> Command {
        let mut lockgate = Command::new("perl");
        lockgate.args(["-e", "$SIG{$_} = 'DEFAULT' for qw(HUP INT QUIT); exec @ARGV or die $!"]);
        lockgate.arg(env!("CARGO_BIN_EXE_lockgate")).arg(command).arg(self.0.path()).args(arguments);
        lockgate.env("XDG_RUNTIME_DIR", self.path("run")).stdin(Stdio::null());
        lockgate
    }

    pub(crate) fn ask(&self, command: &str, arguments: &[&str]) -> Output {
        self.command(command, arguments).output().unwrap()
    }

    /// `lockgate COMMAND ARGUMENTS...`, which asks all that are up here.
    pub(crate) fn ask_of_all(&self, command: &str, arguments: &[&str]) -> Output {
        let mut lockgate = Command::new(env!("CARGO_BIN_EXE_lockgate"));
        lockgate.arg(command).args(arguments).env("XDG_RUNTIME_DIR", self.path("run")).output().unwrap()
    }

    /// Runs it to its end: exit status, standard output, standard error.
    pub(crate) fn ended(&self) -> (i32, String, String) {
        let output = self.ask("up", &[]);
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    }

    pub(crate) fn up(&self) -> Up {
        self.up_with(&[])
    }

    pub(crate) fn up_with(&self, arguments: &[&str]) -> Up {
        let (reader, writer) = std::io::pipe().unwrap();
        let child = self.command("up", arguments).stdout(writer.try_clone().unwrap()).stderr(writer).spawn();
        Up { child: child.unwrap(), lines: BufReader::new(reader), said: Vec::new() }
    }

    /// What `lockgate ps` says of a program.
    fn status(&self, program: &str) -> serde_json::Value {
        let mut ps = Command::new(env!("CARGO_BIN_EXE_lockgate"));
        let output = ps.args(["ps", "--json"]).env("XDG_RUNTIME_DIR", self.path("run")).output().unwrap();
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let programs = json["up"][0]["programs"].as_array().cloned().unwrap_or_default();
        programs.into_iter().find(|known| known["name"] == program).unwrap_or_default()
    }
}

fn file(programs: &[(&str, &str)]) -> String {
    let table = |(name, body): &(&str, &str)| {
        let module = if body.contains("module =") { "" } else { "module = 'service.lg'\n" };
        format!("[programs.{name}]\n{module}{body}\n")
    };
    programs.iter().map(table).collect()
}

/// One that runs, and what it has said so far, on both streams.
pub(crate) struct Up {
    child: Child,
    lines: BufReader<PipeReader>,
    said: Vec<String>,
}

impl Up {
    /// Waits for a line that ends so.
    #[track_caller]
    pub(crate) fn until(&mut self, end: &str) -> &mut Up {
        loop {
            let mut line = Vec::new();
            let count = self.lines.read_until(b'\n', &mut line).unwrap();
            assert!(count > 0, "{end:?} was never said: {:#?}", self.said);
            self.said.push(text(&line).trim_end().to_owned());
            if self.said.last().is_some_and(|line| line.ends_with(end)) {
                return self;
            }
        }
    }

    /// All lines until now.
    pub(crate) fn said(&self) -> &[String] {
        &self.said
    }

    /// Waits for lines that end so, in any order.
    #[track_caller]
    pub(crate) fn until_all(&mut self, ends: &[&str]) -> &mut Up {
        let mut missing = ends.to_vec();
        while !missing.is_empty() {
            self.until("");
            let last = self.said.last().cloned().unwrap_or_default();
            missing.retain(|end| !last.ends_with(end));
        }
        self
    }

    fn signal(&mut self, signal: rustix::process::Signal) -> &mut Up {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).unwrap();
        self
    }

    pub(crate) fn term(&mut self) -> &mut Up {
        self.signal(rustix::process::Signal::TERM)
    }

    /// Reads the rest, and waits for its end.
    pub(crate) fn wait(mut self) -> (ExitStatus, Vec<String>) {
        let mut rest = Vec::new();
        self.lines.read_to_end(&mut rest).unwrap();
        self.said.extend(text(&rest).lines().map(str::to_owned));
        (self.child.wait().unwrap(), std::mem::take(&mut self.said))
    }

    #[track_caller]
    pub(crate) fn ends(self, status: i32) -> Vec<String> {
        let (ended, said) = self.wait();
        assert_eq!(ended.code(), Some(status), "{said:#?}");
        said
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// How many entries a folder of the process's has, or lines a file.
    pub(crate) fn count(&self, of: &str) -> usize {
        let path = format!("/proc/{}/{of}", self.child.id());
        match fs::read_dir(&path) {
            Ok(entries) => entries.count(),
            Err(_) => fs::read_to_string(path).unwrap().lines().count(),
        }
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        // (Where a test has failed.)
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The place of the line that ends so.
#[track_caller]
fn at(said: &[String], end: &str) -> usize {
    let found = said.iter().position(|line| line.ends_with(end));
    found.unwrap_or_else(|| panic!("{end:?} is not in {said:#?}"))
}

/// Each line comes before the next.
#[track_caller]
fn in_order(said: &[String], ends: &[&str]) {
    let places: Vec<usize> = ends.iter().map(|end| at(said, end)).collect();
    assert!(places.is_sorted(), "{places:?} {said:#?}");
}

/// A port that nobody has.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A server at a port, and more about it.
fn server(port: u16, more: &str) -> String {
    format!("arguments = ['echo', '{port}']\nlisten = ['127.0.0.1:{port}']\n{more}")
}

/// What a server gives back; nothing if it has crashed.
fn echo(stream: &mut TcpStream, bytes: &[u8]) -> Vec<u8> {
    stream.write_all(bytes).unwrap();
    let mut answer = vec![0; bytes.len()];
    match stream.read_exact(&mut answer) {
        Ok(()) => answer,
        Err(_) => Vec::new(),
    }
}

#[test]
fn programs_start_when_what_they_depend_on_is_ready() {
    let port = free_port();
    let site = Site::new(&[
        ("last", "arguments = ['waits', 'last']\ndepends_on = ['listener', 'speaker']"),
        ("listener", &server(port, "ready = 'listening'\ndepends_on = ['speaker']")),
        ("speaker", "arguments = ['waits', 'speaker']\nready = { line = 'is there' }"),
    ]);
    let mut up = site.up();
    up.until("last is there").term();
    let said = up.ends(0);
    in_order(
        &said,
        &["speaker: started", "speaker: ready", "listener: started", "listener: ready", "last: started"],
    );
    // (A program's lines and what is told of it come by two ways: which of them is first is not said.)
    in_order(&said, &["speaker: started", "speaker is there"]);
}

#[test]
fn a_program_whose_dependency_ends_unready_is_not_started() {
    let site = Site::new(&[
        ("early", "arguments = ['says', 'x']\nready = { line = 'never' }"),
        ("late", "arguments = ['waits', 'late']\ndepends_on = ['early']"),
    ]);
    let (status, out, err) = site.ended();
    assert_eq!((status, out.as_str()), (125, "early | x\n"), "{err}");
    assert!(err.contains("late: not started: early ended before it was ready"), "{err}");
}

#[test]
fn all_end_in_the_reverse_order_of_their_dependencies() {
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::INT] {
        let site = Site::new(&[
            ("one", "arguments = ['waits', 'one']"),
            ("two", "arguments = ['waits', 'two']\ndepends_on = ['one']"),
            ("three", "arguments = ['waits', 'three']\ndepends_on = ['two']"),
        ]);
        let mut up = site.up();
        up.until_all(&["one is there", "two is there", "three is there"]).signal(signal);
        let said = up.ends(0);
        in_order(
            &said,
            &[
                "three: signal 15",
                "three: ended",
                "two: signal 15",
                "two: ended",
                "one: signal 15",
                "one: ended",
            ],
        );
    }
}

#[test]
fn a_crash_of_one_leaves_the_others_serving() {
    let (first, second) = (free_port(), free_port());
    let site = Site::new(&[
        ("first", &server(first, "ready = { line = 'serving' }\nrestart = 'on-fault'")),
        ("second", &server(second, "ready = { line = 'serving' }\ndepends_on = ['first']")),
    ]);
    let mut up = site.up();
    up.until("second: ready");
    let mut steady = TcpStream::connect(("127.0.0.1", second)).unwrap();
    assert_eq!(echo(&mut steady, b"before"), b"before");
    for _ in 0..3 {
        let mut stream = TcpStream::connect(("127.0.0.1", first)).unwrap();
        assert_eq!(echo(&mut stream, b"hello"), b"hello");
        assert_eq!(echo(&mut stream, b"X"), b"", "it has crashed");
        assert_eq!(echo(&mut steady, b"meanwhile"), b"meanwhile");
        up.until("first: ready");
    }
    assert_eq!(site.status("first")["restarts"], 3);
    assert_eq!(site.status("second")["restarts"], 0);
    assert_eq!(echo(&mut steady, b"after"), b"after");
    drop(steady);
    up.term();
    let said = up.ends(0);
    assert!(said.iter().any(|line| line.contains("service.c:")), "the crash is reported: {said:#?}");
}

#[test]
fn policies_say_who_comes_back() {
    let site = Site::new(&[
        ("never", "arguments = ['crash']"),
        ("fault", "arguments = ['status', '3']\nrestart = 'on-fault'"),
        ("keeper", "arguments = ['waits', 'keeper']"),
        ("always", "arguments = ['says', 'again']\nrestart = 'always'\nrestart_delay = '0ms'"),
    ]);
    let mut up = site.up();
    for _ in 0..4 {
        up.until("always: starts again");
    }
    while site.status("never")["state"] != "failed" || site.status("fault")["state"] != "failed" {}
    assert_eq!(site.status("never")["exit_status"], 139);
    assert_eq!(site.status("keeper")["state"], "running");
    up.term();
    let (status, said) = up.wait();
    assert!([Some(139), Some(3)].contains(&status.code()), "{status} {said:#?}");
    assert!(
        !said
            .iter()
            .any(|line| line.ends_with("never: starts again") || line.ends_with("fault: starts again"))
    );
}

#[test]
fn what_does_not_end_in_its_time_is_killed() {
    let site = Site::new(&[("deaf", "arguments = ['ignores']\nstop_timeout = '10ms'")]);
    let mut up = site.up();
    up.until("| deaf").term();
    let said = up.ends(137);
    in_order(&said, &["deaf: killed, because it did not end within 10ms (stop_timeout)", "deaf: killed"]);
}

#[test]
fn a_second_signal_kills_at_once() {
    let site = Site::new(&[("deaf", "arguments = ['ignores']\nstop_timeout = '60m'")]);
    let mut up = site.up();
    up.until("| deaf").term().term();
    // (Two that come at the same time are one.)
    while site.status("deaf")["state"] == "running" {}
    up.term();
    up.ends(137);
}

#[test]
fn the_exit_status_is_that_of_the_first_that_failed() {
    let cases: [(&[(&str, &str)], i32); 7] = [
        (&[("a", "arguments = ['status', '0']"), ("b", "arguments = ['says']")], 0),
        (&[("a", "arguments = ['status', '0']"), ("b", "arguments = ['status', '7']")], 7),
        (&[("a", "arguments = ['crash']")], 139),
        (&[("a", "arguments = ['waits', 'a']\ntime_limit = '1ms'")], 124),
        (&[("a", "arguments = ['endless']\ncpu_limit = '10ms'")], 137),
        (&[("a", "arguments = ['threads']")], 4),
        (&[("a", "memory_limit = '64K'")], 125),
    ];
    for (programs, expected) in cases {
        let (status, _, err) = Site::new(programs).ended();
        assert_eq!(status, expected, "{programs:?}: {err}");
    }
    let site = Site::new(&[
        ("first", "arguments = ['status', '5']\nready = { line = 'x' }"),
        ("second", "arguments = ['status', '6']\ndepends_on = ['first']"),
    ]);
    assert_eq!(site.ended().0, 5);
}

#[test]
fn threads_that_a_program_may_not_start_are_told_of() {
    let (_, _, err) = Site::new(&[("a", "arguments = ['threads']")]).ended();
    assert!(err.contains("lockgate: a: it may start no more threads than its threads, 0; tried"), "{err}");
}

#[test]
fn a_program_that_ends_badly_when_it_is_asked_to_has_failed() {
    for (status, expected) in [(0, 0), (143, 0), (9, 9)] {
        let site = Site::new(&[("a", &format!("arguments = ['waits', 'a', '{status}']"))]);
        let mut up = site.up();
        up.until("a is there").term();
        up.ends(expected);
    }
    let site = Site::new(&[("plain", "arguments = ['plain']")]);
    let mut up = site.up();
    up.until("| plain").term();
    assert!(up.ends(0).iter().any(|line| line.ends_with("plain: ended by SIGTERM")));
}

#[test]
fn sighup_goes_to_those_that_have_handlers() {
    let site = Site::new(&[("a", "arguments = ['waits', 'a']"), ("b", "arguments = ['plain']")]);
    let mut up = site.up();
    up.until_all(&["a is there", "| plain"]).signal(rustix::process::Signal::HUP).until("a: signal 1");
    assert_eq!(site.status("b")["state"], "running");
    up.term();
    up.ends(0);
    let site = Site::new(&[("b", "arguments = ['plain']")]);
    let mut up = site.up();
    up.until("| plain").signal(rustix::process::Signal::HUP);
    up.ends(0);
}

#[test]
fn programs_have_what_the_file_gives_them_and_nothing_else() {
    let site = Site::new(&[
        ("pid", "arguments = ['pid']"),
        ("given", "arguments = ['variable', 'A']\nenvironment = ['A=from the file']"),
        ("passed", "arguments = ['variable', 'B']\nenvironment = ['B']"),
        ("empty", "arguments = ['variable', 'B']"),
        ("folder", "arguments = ['folder']\ndirectories = ['run']"),
        (
            "placed",
            "arguments = ['folder']\ndirectories = ['/a=run', '/b=.:ro']\nworking_directory = '/b/run'",
        ),
        ("unnamed", "arguments = ['name']"),
        ("named", "arguments = ['name']\nargv0 = 'another name'"),
        ("mask", "arguments = ['mask']"),
        ("masked", "arguments = ['mask']\numask = '027'"),
    ]);
    let up =
        site.command("up", &[]).env("B", "from outside").stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let up = up.unwrap();
    let pid = up.id();
    let out = text(&up.wait_with_output().unwrap().stdout);
    let here = site.0.path().canonicalize().unwrap();
    for line in [
        &format!("pid     | {pid}"),
        "given   | from the file",
        "passed  | from outside",
        "empty   | none",
        &format!("folder  | {}", here.display()),
        "placed  | /b/run",
        "unnamed | service.lg",
        "named   | another name",
        "mask    | 022",
        "masked  | 027",
    ] {
        assert!(out.lines().any(|said| said == line), "{line:?} is not in {out}");
    }
}

/// Names stand in front of whole lines, and no program writes another's.
#[test]
fn lines_have_names_and_nothing_that_terminals_obey() {
    let site = Site::new(&[
        ("rude", "arguments = ['rude']"),
        ("longer-name", "arguments = ['says', \"two\\nlines\", 'three']\ndepends_on = ['rude']"),
    ]);
    let (status, out, err) = site.ended();
    assert_eq!(status, 0, "{err}");
    let mut lines: Vec<&str> = out.lines().collect();
    lines.sort_unstable();
    let expected = [
        "longer-name | lines",
        "longer-name | three",
        "longer-name | two",
        "rude        | ?",
        "rude        | first?[2K?[31mother | hello",
    ];
    assert_eq!(lines, expected);
    assert!(err.contains("longer-name | done\n") && !err.contains('\u{1b}'), "{err}");
}

#[test]
fn no_line_is_lost_where_they_are_read() {
    let site = Site::new(&[("many", "arguments = ['lines', '50000']")]);
    let (status, out, _) = site.ended();
    assert_eq!((status, out.lines().count()), (0, 50_000));
    assert!(out.ends_with("many | line 49999\n"));
}

/// One writes without end, in one line, and nobody reads what it writes: others serve, and all can be ended.
#[test]
fn others_serve_while_one_writes_and_nobody_reads() {
    let port = free_port();
    let site =
        Site::new(&[("writer", "arguments = ['endless']"), ("server", &server(port, "ready = 'listening'"))]);
    let mut child = site.command("up", &[]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    while site.status("server")["state"] != "running" {}
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    for _ in 0..100 {
        assert_eq!(echo(&mut stream, b"hello"), b"hello");
    }
    drop(stream);
    let kept = site.ask("logs", &["writer"]);
    assert!(kept.stdout.len() <= (64 << 10) + 4096, "{}", kept.stdout.len());
    assert!(text(&kept.stdout).lines().all(|line| line.len() <= (8 << 10) + 64), "a line has an end");
    assert!(site.ask("stop", &[]).status.success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn programs_serve_on_when_the_reader_has_gone_away() {
    let port = free_port();
    let site =
        Site::new(&[("writer", "arguments = ['endless']"), ("server", &server(port, "ready = 'listening'"))]);
    let mut up = site.up();
    up.until("server: ready");
    let (reader, _) = std::io::pipe().unwrap();
    drop(std::mem::replace(&mut up.lines, BufReader::new(reader)));
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    assert_eq!(echo(&mut stream, b"hello"), b"hello");
    drop(stream);
    assert!(site.ask("stop", &[]).status.success());
    assert_eq!(up.child.wait().unwrap().code(), Some(0));
}

/// What an observer was told.
#[derive(Default)]
struct Told(Mutex<Vec<String>>);

impl Observer for Told {
    fn event(&self, program: &str, event: &Event<'_>) {
        let told = match event {
            Event::Ended(end, _) => format!("{program} {end}"),
            event => format!("{program} {event:?}"),
        };
        self.0.lock().unwrap().push(told);
    }

    fn line(&self, program: &str, line: &Line) {
        self.0.lock().unwrap().push(format!("{program} {}", text(&line.bytes)));
    }
}

/// What is answered where metrics are, as a scraper reads it: value by series. Red where the format is broken.
fn scraped(mut stream: impl Read + Write) -> BTreeMap<String, f64> {
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
    let (mut series, mut family) = (BTreeMap::new(), String::new());
    for line in body.lines() {
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect("a type");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            family = name.to_owned();
        } else if !line.starts_with("# HELP ") {
            let (name, value) = line.rsplit_once(' ').expect("a value");
            assert!(name.starts_with(&format!("{family}{{program=\"")), "{line} in {family}");
            assert!(series.insert(name.to_owned(), value.parse().unwrap()).is_none(), "{line} twice");
        }
    }
    series
}

#[test]
fn metrics_tell_what_each_program_uses_and_how_often_it_failed() {
    let (first, second, metrics) = (free_port(), free_port(), free_port());
    let site = Site::new(&[
        ("first", &server(first, "ready = { line = 'serving' }\nrestart = 'on-fault'\nrestart_delay = '0s'")),
        ("second", &server(second, "ready = { line = 'serving' }\ndepends_on = ['first']")),
    ]);
    let toml = fs::read_to_string(site.path("lockgate.toml")).unwrap();
    fs::write(site.path("lockgate.toml"), format!("metrics = '127.0.0.1:{metrics}'\n{toml}")).unwrap();
    let mut up = site.up();
    up.until("second: ready");
    let scrape = || scraped(TcpStream::connect(("127.0.0.1", metrics)).unwrap());
    let of = |series: &BTreeMap<String, f64>, name: &str, program: &str| {
        series.get(&format!("lockgate_program_{name}{{program=\"{program}\"}}")).copied()
    };
    let before = scrape();
    for name in
        ["memory_bytes", "memory_peak_bytes", "descriptors", "threads", "calls", "written_bytes_total"]
    {
        assert!(of(&before, name, "first") > Some(0.0), "{name}: {before:#?}");
    }
    assert_eq!(of(&before, "memory_limit_bytes", "first"), Some((1_u64 << 30) as f64));
    assert_eq!(of(&before, "last_exit_status", "first"), None);
    let running = "lockgate_program_state{program=\"first\",state=\"running\"}";
    assert_eq!(before[running], 1.0);
    assert_eq!(before[&running.replace("running", "failed")], 0.0);
    for _ in 0..3 {
        let mut stream = TcpStream::connect(("127.0.0.1", first)).unwrap();
        assert_eq!(echo(&mut stream, b"X"), b"", "it has crashed");
        up.until("first: ready");
    }
    let after = scrape();
    let counts = |program: &str| {
        ["runs_total", "restarts_total", "faults_total"]
            .map(|name| of(&after, name, program).expect("a count"))
    };
    assert_eq!((counts("first"), counts("second")), ([4.0, 3.0, 3.0], [1.0, 0.0, 0.0]));
    assert_eq!(of(&after, "last_exit_status", "first"), Some(139.0));
    let lines = |series| of(series, "written_lines_total", "first").expect("a count");
    assert!(lines(&after) >= lines(&before) + 3.0, "{before:#?}\n{after:#?}");
    let status = site.status("first");
    assert_eq!((&status["runs"], &status["faults"]), (&4.into(), &3.into()), "{status}");
    assert!(status["memory"].as_u64() > Some(0) && status["threads"].as_u64() > Some(0), "{status}");
    // CPU time only ever grows, also over the ends of runs.
    let mut used = 0.0;
    for crash in 4..=20 {
        let mut stream = TcpStream::connect(("127.0.0.1", first)).unwrap();
        assert_eq!(echo(&mut stream, b"X"), b"");
        loop {
            let series = scrape();
            let now = of(&series, "cpu_seconds_total", "first").expect("it is measured");
            assert!(now >= used, "{now} after {used}");
            used = now;
            if of(&series, "restarts_total", "first") == Some(f64::from(crash)) {
                break;
            }
        }
        up.until("first: ready");
    }
    // (Samples of it are some milliseconds apart.)
    let mut stream = TcpStream::connect(("127.0.0.1", first)).unwrap();
    while of(&scrape(), "cpu_seconds_total", "first") == Some(used) {
        assert_eq!(echo(&mut stream, b"work"), b"work");
    }
    drop(stream);
    up.term();
    up.ends(0);
}

/// Who asks and does not read, or asks without end, keeps no other from being answered; an address that is taken is a mistake, one that was left is
/// not.
#[test]
fn metrics_are_there_for_others_whatever_one_does() {
    let site = Site::new(&[("waits", "arguments = ['waits', 'it']\nready = { line = 'there' }")]);
    let toml = fs::read_to_string(site.path("lockgate.toml")).unwrap();
    let socket = site.path("metrics.sock");
    fs::write(site.path("lockgate.toml"), format!("metrics = 'unix:{}'\n{toml}", socket.display())).unwrap();
    drop(UnixListener::bind(&socket).unwrap());
    let mut up = site.up();
    up.until("waits: ready");
    let silent = UnixStream::connect(&socket).unwrap();
    let mut endless = UnixStream::connect(&socket).unwrap();
    while endless.write_all(&[b'a'; 4096]).is_ok() {}
    assert!(!scraped(UnixStream::connect(&socket).unwrap()).is_empty());
    drop(silent);
    let second = Site::new(&[("waits", "arguments = ['waits', 'it']")]);
    fs::write(second.path("lockgate.toml"), format!("metrics = 'unix:{}'\n{toml}", socket.display()))
        .unwrap();
    let (status, _, said) = second.ended();
    assert!(status == 125 && said.contains("metrics: cannot listen on unix:"), "{said}");
    up.term();
    up.ends(0);
    assert!(!socket.exists(), "its name goes with it");
}

/// What has the name of the metrics' socket is a user's, if it is no socket: before the programs run, and at their end. Red if what refuses a
/// connection is removed, or whatever has the name in the end.
#[test]
fn a_file_at_the_address_of_metrics_is_kept() {
    let site = Site::new(&[("waits", "arguments = ['waits', 'it']\nready = { line = 'there' }")]);
    let toml = fs::read_to_string(site.path("lockgate.toml")).unwrap();
    let address = site.path("metrics.sock");
    fs::write(site.path("lockgate.toml"), format!("metrics = 'unix:{}'\n{toml}", address.display())).unwrap();
    fs::write(&address, "a user's").unwrap();
    let (status, _, said) = site.ended();
    assert!(status == 125 && said.contains("metrics: cannot listen on unix:"), "{said}");
    assert_eq!(fs::read_to_string(&address).unwrap(), "a user's");
    fs::remove_file(&address).unwrap();
    let mut up = site.up();
    up.until("waits: ready");
    fs::remove_file(&address).unwrap();
    fs::write(&address, "a user's").unwrap();
    up.term();
    up.ends(0);
    assert_eq!(fs::read_to_string(&address).unwrap(), "a user's");
}

/// Without the command: several programs in a process that does other things as well.
#[test]
fn rust_has_the_same() {
    let module = Module::open(&*SERVICE).unwrap();
    let spec = |name: &str, arguments: &[&str]| {
        let arguments = ["service"].iter().chain(arguments);
        Spec::new(name, &module, DomainOptions::new().arguments(arguments), Grants::default())
    };
    let mut programs = Programs::new();
    programs.add(spec("crash", &["crash"]).depends_on(["waits"])).unwrap();
    programs.add(spec("waits", &["waits", "it"]).ready(Ready::Line("there".to_owned()))).unwrap();
    assert!(matches!(programs.add(spec("waits", &[])), Err(ProgramsError::Twice(_))));
    let (handle, told) = (programs.handle(), Told::default());
    let ends = std::thread::scope(|scope| {
        let runs = scope.spawn(|| programs.run(&told).unwrap());
        handle.restart(vec!["waits".to_owned()]).unwrap();
        assert!(handle.stop(vec!["nothing".to_owned()]).is_err());
        while handle.status().iter().any(|status| status.name == "crash" && status.state != State::Failed) {}
        handle.close();
        runs.join().unwrap()
    });
    assert_eq!((ends.exit_status(), ends.first_failure().unwrap().name.as_str()), (139, "crash"));
    assert_eq!(ends.programs()[1].state, State::Stopped);
    assert!(handle.status().is_empty() && handle.stop(Vec::new()).is_ok(), "they are over");
    let told = told.0.into_inner().unwrap();
    // (A line makes its program ready before all who listen have been told it.)
    in_order(&told, &["waits Ready", "crash Started", "crash about to crash"]);
    assert!(told.iter().any(|told| told == "waits it is there"), "{told:?}");
    assert!(told.iter().any(|told| told.contains("write to a null pointer")), "{told:?}");
}

/// Asks for the end of all when the first has started.
struct EndsAtOnce(lockgate_programs::Handle);

impl Observer for EndsAtOnce {
    fn event(&self, _: &str, event: &Event<'_>) {
        if matches!(event, Event::Started) {
            self.0.close();
        }
    }

    fn line(&self, _: &str, _: &Line) {}
}

/// Many take a while to start, and a request to end does not wait for them.
#[test]
fn a_request_to_end_is_heard_while_programs_start() {
    let module = Module::open(&*SERVICE).unwrap();
    let mut programs = Programs::new();
    for name in ["a", "b", "c"] {
        let options = DomainOptions::new().arguments(["service", "plain"]);
        programs.add(Spec::new(name, &module, options, Grants::default())).unwrap();
    }
    let observer = EndsAtOnce(programs.handle());
    let ends = programs.run(&observer).unwrap();
    let runs: Vec<u64> = ends.programs().iter().map(|program| program.totals.runs).collect();
    assert_eq!(runs, [1, 0, 0]);
}

/// Whatever `lockgate run` can be told of a domain, a file can say of a program.
#[test]
fn every_limit_of_run_has_a_key() {
    let help =
        Command::new(env!("CARGO_BIN_EXE_lockgate")).args(["run", "--help"]).output().expect("it starts");
    let help = text(&help.stdout);
    let options = help.lines().filter_map(|line| {
        let line = line.trim_start();
        let line =
            line.strip_prefix("-").and_then(|rest| rest.split_once(", ")).map_or(line, |(_, long)| long);
        line.strip_prefix("--")?.split(' ').next()
    });
    let options: BTreeSet<&str> = options.collect();
    assert!(options.contains("mappings") && options.len() > 10, "{options:?}");
    for option in options {
        let key = match option {
            "dir" => "directories".to_owned(),
            "env" => "environment".to_owned(),
            "cwd" => "working_directory".to_owned(),
            // About the command itself.
            "help" | "version" | "quiet" | "report" | "no-streams" => continue,
            other => other.replace('-', "_"),
        };
        let site = Site::new(&[("a", &format!("{key} = true"))]);
        let said = text(&site.ask("up", &["--check"]).stderr);
        assert!(said.contains(&key) && !said.contains("has no key"), "--{option}: {said}");
    }
}

/// A key that only the source names cannot be found.
#[test]
fn every_key_is_in_the_help_and_on_the_page() {
    let site = Site::new(&[("a", "nothing_alike = 1")]);
    let said = text(&site.ask("up", &["--check"]).stderr);
    let (_, keys) = said.trim_end().split_once("it may have ").expect("the keys");
    let keys: Vec<&str> = keys.split(", ").collect();
    assert!(keys.len() > 20 && keys.contains(&"turn_timeout"), "{keys:?}");
    let help = text(&site.ask_of_all("up", &["--help"]).stdout);
    let help: BTreeSet<&str> = help.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/programs.md")).unwrap();
    for key in keys {
        assert!(help.contains(key), "lockgate up --help does not name the key {key}");
        assert!(page.contains(&format!("`{key}`")), "docs/programs.md does not name the key {key}");
    }
}

/// Every field wrong, each with its line, and what would be right.
#[test]
fn mistakes_are_told_with_their_lines() {
    let cases: &[(&str, usize, &str)] = &[
        ("", 1, "the file has no programs: begin one with [programs.NAME]"),
        ("x = ", 1, "expected"),
        ("\n[program.a]", 2, "the file has no key program: did you mean programs?"),
        ("programs = 3", 1, "programs must be a table"),
        ("\nmetrics = 3", 2, "metrics: an integer instead of a string"),
        (
            "metrics = '127.0.0.1'",
            1,
            "metrics: \"127.0.0.1\": metrics are at an address with a port, or at unix:PATH",
        ),
        (
            "metrics = '127.0.0.1:9464'\n[programs.a]\nmodule = 'service.lg'\nlisten = ['127.0.0.1:9464']",
            4,
            "listen 127.0.0.1:9464: metrics listens on 127.0.0.1:9464, too",
        ),
        ("[programs]", 1, "the file has no programs"),
        ("[programs]\na = 3", 2, "a must be a table: write [programs.a]"),
        ("[programs.'a b']\nmodule = 'service.lg'", 1, "no name of a program"),
        ("[programs.'-a']\nmodule = 'service.lg'", 1, "no name of a program"),
        ("[programs.a]\nmodule = 'service.lg'\n[programs.a]", 3, "duplicate key"),
        ("[programs.a]\n\nmodul = 'service.lg'", 3, "program a has no key modul: did you mean module?"),
        ("[programs.a]\nmodule = 'service.lg'\nzzzzzzzzzz = 1", 3, "it may have module, arguments"),
        ("[programs.a]\narguments = []", 1, "program a has no module"),
        ("[programs.a]\nmodule = 3", 2, "module: an integer instead of a string"),
        ("[programs.a]\nmodule = 'missing.lg'", 2, "missing.lg"),
        ("[programs.a]\nmodule = 'lockgate.toml'", 2, "lockgate.toml"),
        ("@arguments = 'x'", 3, "arguments: a string instead of a list of strings"),
        ("@arguments = [\n'x',\n3]", 5, "arguments: an integer instead of a string"),
        ("@arguments = [\"\\u0000\"]", 1, "zero"),
        ("@environment = ['=x']", 3, "environment: =x: the variable has no name"),
        ("@environment = ['A=1', 'A=2']", 3, "environment: A is given twice"),
        ("@environment = ['LOCKGATE_NO_SUCH']", 3, "there is no such variable"),
        ("@environment = { A = 1 }", 3, "environment: a table instead of a list of strings"),
        ("@directories = ['/a=missing']", 3, "directories: cannot grant the directory missing"),
        ("@directories = ['/a=.', '/a=/usr']", 3, "directories: /a is given twice"),
        ("@directories = ['a=.']", 3, "must start with /"),
        ("@directories = ['/p=/proc']", 3, "cannot grant the directory /proc"),
        (
            "@working_directory = '/nowhere'",
            3,
            "working_directory /nowhere: no granted directory has this name",
        ),
        ("@umask = '1000'", 3, "umask: \"1000\": it must be an octal number between 0 and 777"),
        ("@argv0 = 3", 3, "argv0: an integer instead of a string"),
        ("@umask = 22", 3, "umask: an integer instead of a string"),
        ("@listen = ['127.0.0.1']", 3, "listen: cannot grant the address"),
        ("@listen = '127.0.0.1:1'", 3, "listen: a string instead of a list of strings"),
        ("@connect = ['127.0.0.1:0']", 3, "connect: cannot grant the address"),
        ("@memory_limit = '0'", 1, "the memory limit is 0; raise it"),
        ("@stack_size = '8G'", 1, "stack size 8589934592 is not a multiple"),
        ("@memory_limit = 5", 3, "memory_limit: an integer instead of a string"),
        ("@memory_limit = '5X'", 3, "memory_limit: \"5X\": unknown unit \"X\": use K, M or G"),
        ("@memory_limit = '5G'", 3, "about 2G of it for its heap"),
        ("@stack_size = 'x'", 3, "does not start with a number"),
        ("@threads = 63", 3, "threads: 63 is not between 0 and 62"),
        ("@threads = -1", 3, "threads: -1 is not between 0 and 62"),
        ("@threads = '3'", 3, "threads: a string instead of a number"),
        ("@descriptors = 0", 3, "descriptors: 0 is not between 1 and 65536"),
        ("@descriptors = 65537", 3, "between 1 and 65536"),
        ("@mappings = 0", 3, "mappings: 0 is not between 1 and 16384"),
        ("@mappings = 16385", 3, "between 1 and 16384"),
        ("@time_limit = '0s'", 3, "the shortest limit is 1ms"),
        ("@cpu_limit = '3 days'", 3, "use ms, s or m"),
        ("@restart = 'sometimes'", 3, "\"never\", \"on-fault\" or \"always\""),
        ("@restart = true", 3, "restart: a boolean instead of a string"),
        ("@restart_delay = 'soon'", 3, "restart_delay: \"soon\""),
        ("@restart_delay_max = 1", 3, "restart_delay_max: an integer instead of a string"),
        ("@restart_reset = ''", 3, "restart_reset"),
        ("@restart_delay = '1m'", 3, "restart_delay 60s is longer than restart_delay_max 30s"),
        ("@stop_timeout = '-1s'", 3, "stop_timeout"),
        ("@depends_on = ['b']", 3, "depends_on: a depends on b, which is not a program of this file"),
        ("@depends_on = 'a'", 3, "depends_on: a string instead of a list of strings"),
        ("@depends_on = ['a']", 3, "in a circle: a -> a"),
        ("@ready = 'soon'", 3, "it must be \"started\", \"listening\" or { line = \"TEXT\" }"),
        ("@ready = { line = '' }", 3, "or { line = \"TEXT\" }"),
        ("@ready = { lime = 'x' }", 3, "ready has no key lime: did you mean line?"),
        (
            "@ready = 'listening'\nlisten = ['udp:127.0.0.1:9', 'unix:*', '127.0.0.1:0']",
            3,
            "ready: listen has no address",
        ),
        ("@depends_on = ['cache']\n[programs.cached]\nmodule = 'service.lg'", 3, "one is called cached"),
        (
            "@depends_on = ['b']\n[programs.b]\nmodule = 'service.lg'\ndepends_on = ['c']\n[programs.c]\n\
             module = 'service.lg'\ndepends_on = ['b']",
            6,
            "in a circle: b -> c -> b",
        ),
        (
            "@listen = ['127.0.0.1:7000']\n[programs.b]\nmodule = 'service.lg'\nlisten = [\n'127.0.0.1:7000']",
            7,
            "listen 127.0.0.1:7000: a listens on 127.0.0.1:7000, too",
        ),
        (
            "@listen = ['*:7000']\n[programs.b]\nmodule = 'service.lg'\nlisten = ['tcp:[::1]:7000']",
            6,
            "listen tcp:[::1]:7000: a listens on *:7000",
        ),
        (
            "@listen = ['127.0.0.1:*']\n[programs.b]\nmodule = 'service.lg'\nlisten = ['localhost:7000']",
            6,
            "listen localhost:7000: a listens on 127.0.0.1:*",
        ),
    ];
    let site = Site::new(&[]);
    for (body, line, expected) in cases {
        let body = body.replace('@', "[programs.a]\nmodule = 'service.lg'\n");
        fs::write(site.path("lockgate.toml"), &body).unwrap();
        for arguments in [&["--check"][..], &[]] {
            let ran = site.ask("up", arguments);
            let err = text(&ran.stderr);
            assert_eq!(ran.status.code(), Some(125), "{body}: {err}");
            let place = format!("lockgate.toml:{line}: ");
            assert!(err.contains(&place) && err.contains(expected), "{body}: {expected:?} at {place}: {err}");
            assert_eq!(err.lines().count(), 1, "{err}");
        }
    }
    // However long the value is.
    for body in ["ready = '@'", "connect = ['@']", "@ = 1", "environment = ['=@']", "restart = '@'"] {
        let body = body.replace('@', &"x".repeat(100_000));
        fs::write(site.path("lockgate.toml"), format!("[programs.a]\nmodule = 'service.lg'\n{body}"))
            .unwrap();
        let (_, _, err) = site.ended();
        assert!(err.contains("lockgate.toml:3: ") && err.len() < 5_000, "{}", err.len());
    }
    fs::remove_file(site.path("lockgate.toml")).unwrap();
    assert!(site.ended().2.contains("lockgate.toml: No such file"));
}

/// Addresses that are not in each other's way.
#[test]
fn programs_may_listen_side_by_side() {
    let site = Site::new(&[
        (
            "a",
            "arguments = ['says']\nlisten = ['127.0.0.1:7000', 'udp:127.0.0.1:7000', '127.0.0.1:*', 'unix:*']",
        ),
        ("b", "arguments = ['says']\nlisten = ['127.0.0.2:*', '[::1]:7000', '*:0', 'unix:*']"),
    ]);
    assert!(site.ask("up", &["--check"]).status.success());
    let pairs = [
        ("127.0.0.1:80", "tcp:127.0.0.1:80", false),
        ("127.0.0.1:80", "0.0.0.0:80", false),
        ("*:80", "[::1]:80", false),
        ("[::]:80", "*:80", false),
        ("localhost:80", "127.0.0.1:80", false),
        ("127.0.0.1:*", "127.0.0.1:80", false),
        ("*:*", "[::1]:80", false),
        ("127.0.0.1:*", "*:80", false),
        ("udp:127.0.0.1:*", "udp:localhost:53", false),
        ("[::ffff:127.0.0.1]:80", "127.0.0.1:80", false),
        ("unix:/usr/x.sock", "unix:/usr/x.sock", false),
        ("127.0.0.1:80", "127.0.0.1:81", true),
        ("127.0.0.1:80", "127.0.0.2:80", true),
        ("127.0.0.1:80", "udp:127.0.0.1:80", true),
        ("127.0.0.1:*", "127.0.0.1:*", true),
        ("127.0.0.1:*", "127.0.0.1:0", true),
        ("127.0.0.1:*", "127.0.0.2:80", true),
        ("*:0", "*:0", true),
        ("unix:/usr/x.sock", "unix:/usr/y.sock", true),
        ("unix:*", "unix:/usr/y.sock", true),
    ];
    for (one, other, side_by_side) in pairs {
        for (one, other) in [(one, other), (other, one)] {
            let listen = |address: &str| format!("listen = ['{address}']");
            fs::write(site.path("lockgate.toml"), file(&[("a", &listen(one)), ("b", &listen(other))]))
                .unwrap();
            let check = site.ask("up", &["--check"]);
            let err = text(&check.stderr);
            assert_eq!(check.status.success(), side_by_side, "{one} {other}: {err}");
            assert!(side_by_side || err.contains(&format!("a listens on {one}")), "{err}");
        }
    }
}

#[test]
fn a_taken_port_is_the_programs_own_failure() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let site = Site::new(&[
        ("late", &server(port, "")),
        ("other", "arguments = ['waits', 'other']\ndepends_on = ['late']"),
    ]);
    let mut up = site.up();
    up.until_all(&["late: exit status 3", "other is there"]);
    assert_eq!(site.status("other")["state"], "running");
    up.term();
    assert!(up.ends(3).iter().any(|line| line.contains("late  | cannot listen: Address in use")));
}

#[test]
fn fifty_programs_run_at_once() {
    let names: Vec<String> = (0..50).map(|number| format!("program-{number}")).collect();
    let bodies: Vec<String> = names.iter().map(|name| format!("arguments = ['waits', '{name}']")).collect();
    let programs: Vec<_> =
        names.iter().zip(&bodies).map(|(name, body)| (name.as_str(), body.as_str())).collect();
    let site = Site::new(&programs);
    let mut up = site.up();
    let there: Vec<String> = names.iter().map(|name| format!("| {name} is there")).collect();
    up.until_all(&there.iter().map(String::as_str).collect::<Vec<_>>()).term();
    let said = up.ends(0);
    assert_eq!(said.iter().filter(|line| line.ends_with(": ended")).count(), 50);
}

/// A server that has threads, pipes and connections crashes 200 times.
#[test]
fn crashes_and_restarts_leak_nothing() {
    let port = free_port();
    let more =
        "ready = { line = 'serving' }\nrestart = 'on-fault'\nrestart_delay = '0ms'\ndirectories = ['/d=.']";
    let site = Site::new(&[("server", &server(port, more)), ("other", "arguments = ['waits', 'other']")]);
    let mut up = site.up();
    up.until_all(&["server: ready", "other is there"]);
    let mut counts = Vec::new();
    for crash in 0..210 {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        assert_eq!(echo(&mut stream, b"X"), b"");
        up.until("server: ready");
        if crash % 200 == 9 {
            counts.push(["fd", "maps", "task"].map(|of| up.count(of)));
        }
    }
    // What has just ended may not be gone yet, the first time or the second: of 200 that leak each leaves something.
    for (before, after) in counts[0].iter().zip(counts[1]) {
        assert!(after < before + 30, "{counts:?}");
    }
    assert_eq!(site.status("server")["restarts"], 210);
    up.term();
    up.ends(0);
}

#[test]
fn programs_are_stopped_and_restarted_by_name() {
    let site = Site::new(&[
        ("one", "arguments = ['waits', 'one']\nready = { line = 'there' }"),
        ("two", "arguments = ['waits', 'two']"),
    ]);
    let mut up = site.up();
    up.until_all(&["one is there", "two is there"]);
    assert!(site.ask("stop", &["one"]).status.success());
    up.until("one: ended");
    assert_eq!(
        (&site.status("one")["state"], &site.status("two")["state"]),
        (&"stopped".into(), &"running".into())
    );
    assert!(site.ask("restart", &["one"]).status.success());
    assert_eq!(site.status("one")["state"], "running", "it is ready when the command returns");
    up.until("one: ready");
    assert!(site.ask("restart", &["two"]).status.success());
    assert_eq!(site.status("two")["restarts"], 1);
    let refused = site.ask("restart", &["tow"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("no program is called tow; one is called two"));
    let logs = text(&site.ask("logs", &["one"]).stdout);
    assert_eq!(logs, "one | one is there\none | one: signal 15\none | one is there\n");
    let twice = site.ask("up", &[]);
    assert_eq!(twice.status.code(), Some(125));
    assert!(text(&twice.stderr).contains(&format!("is up already, in process {}", up.child.id())));
    let top = |form: &str| {
        let mut top = Command::new(env!("CARGO_BIN_EXE_lockgate"));
        top.args(["top", &up.child.id().to_string(), form, "-n", "1"]);
        top.env("XDG_RUNTIME_DIR", site.path("run")).output().unwrap().stdout
    };
    let shown = text(&top("--batch"));
    assert!(shown.starts_with("1 process, "), "{shown}");
    assert!(shown.contains("program two: running, 1 restart") && !shown.contains("1 restarts"), "{shown}");
    let top: serde_json::Value = serde_json::from_slice(&top("--json")).unwrap();
    let domains = top["processes"][0]["domains"].as_array().unwrap();
    assert!(["one", "two"].iter().all(|name| domains.iter().any(|domain| domain["name"] == *name)), "{top}");
    assert_eq!(top["processes"][0]["programs"][1]["restarts"], 1, "{top}");
    assert!(site.ask("stop", &[]).status.success());
    up.ends(0);
    let gone = site.ask("stop", &[]);
    assert!(text(&gone.stderr).contains("is not up"), "{}", text(&gone.stderr));
    assert_eq!(fs::read_dir(site.path("run/lockgate")).unwrap().count(), 1, "its socket has gone");
}

/// One that was stopped by SIGSTOP, and for which as many connections wait as there is room for, is up. Red where a connection that is refused
/// counts as no process: then the same programs run twice, and the first ones can never be asked again.
#[test]
fn a_process_that_was_stopped_keeps_its_name() {
    let site = Site::new(&[("a", "arguments = ['waits', 'a']")]);
    let mut up = site.up();
    up.until("is there");
    up.signal(rustix::process::Signal::STOP);
    while !is_stopped(up.child.id()) {}
    let folder = fs::read_dir(site.path("run/lockgate")).unwrap();
    let mut names = folder.map(|entry| entry.unwrap().path());
    let socket = names.find(|path| path.extension().is_some_and(|end| end == "sock")).unwrap();
    let waiting: Vec<_> = std::iter::from_fn(|| connected_at_once(&socket)).collect();
    for command in ["up", "stop", "logs"] {
        let asked = site.ask(command, &[]);
        let err = text(&asked.stderr);
        assert!(!asked.status.success() && err.contains("takes no more connections"), "{command}: {err}");
    }
    drop(waiting);
    up.signal(rustix::process::Signal::CONT);
    let mut asked = site.ask("stop", &[]);
    // (It has to accept those first that have gone. Of too many at once it closes some without an answer.)
    let has_others =
        |err: &str| ["takes no more connections", "does not answer"].iter().any(|why| err.contains(why));
    while has_others(&text(&asked.stderr)) {
        asked = site.ask("stop", &[]);
    }
    assert!(asked.status.success(), "{}", text(&asked.stderr));
    up.ends(0);
}

/// Whether all threads of a process are stopped.
fn is_stopped(process: u32) -> bool {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    tasks.map(|task| fs::read_to_string(task.unwrap().path().join("stat")).unwrap_or_default()).all(|stat| {
        // (Behind the name, which may have spaces and brackets.)
        stat.rsplit(") ").next().is_some_and(|behind| behind.starts_with('T'))
    })
}

/// A connection, if there is room for one that waits.
fn connected_at_once(socket: &Path) -> Option<std::os::fd::OwnedFd> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let own = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
    connect(&own, &SocketAddrUnix::new(socket).unwrap()).ok().map(|()| own)
}

/// One that was stopped by SIGSTOP answers nothing: whoever asks learns that, and that nothing has ended.
#[test]
fn who_asks_a_process_that_was_stopped_is_told() {
    let site = Site::new(&[("a", "arguments = ['waits', 'a']")]);
    let mut up = site.up();
    up.until("is there");
    up.signal(rustix::process::Signal::STOP);
    for command in ["stop", "logs"] {
        let asked = site.ask(command, &[]);
        let err = text(&asked.stderr);
        assert!(!asked.status.success() && err.contains("does not answer"), "{command}: {err}");
    }
    up.signal(rustix::process::Signal::CONT);
    // (It may have ended by the request of the first.)
    up.term();
    up.wait();
}

/// With the process all programs end, those that were named, too. Red if that counts only where none was named.
#[test]
fn who_stops_a_program_is_not_told_of_the_end_as_a_failure() {
    let site = Site::new(&[("a", "arguments = ['ignores']")]);
    let mut up = site.up();
    up.until("deaf");
    std::thread::scope(|scope| {
        let stops = scope.spawn(|| site.ask("stop", &["a"]));
        while site.status("a")["state"] != "stopping" {}
        up.signal(rustix::process::Signal::KILL);
        let stopped = stops.join().unwrap();
        assert!(stopped.status.success(), "{}", text(&stopped.stderr));
    });
}

/// What is no request gets an error, and nothing that only a request may ask for.
#[test]
fn what_is_not_understood_is_not_answered() {
    let site = Site::new(&[("a", "arguments = ['waits', 'a']")]);
    let mut up = site.up();
    up.until("is there");
    let mut sockets = fs::read_dir(site.path("run/lockgate")).unwrap().map(|entry| entry.unwrap().path());
    let socket = sockets.find(|path| path.extension().is_some_and(|e| e == "sock")).unwrap();
    for request in [
        r#"{"schema": 1, "wish": "dance", "programs": []}"#,
        r#"{"schema": 2, "wish": "status", "programs": []}"#,
        "x",
    ] {
        let answer = answered(&socket, Some(&site.path("run/lockgate")), request);
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        assert!(answer["error"].is_string() && answer["programs"].as_array().unwrap().is_empty(), "{answer}");
    }
    up.term();
    up.ends(0);
}

/// What is answered to a request with which this folder is sent along.
fn answered(socket: &Path, folder: Option<&Path>, request: &str) -> String {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    use std::os::fd::AsFd as _;
    let mut stream = UnixStream::connect(socket).unwrap();
    let folder = folder.map(|folder| fs::File::open(folder).unwrap());
    let descriptors: Vec<_> = folder.iter().map(|folder| folder.as_fd()).collect();
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut with = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        assert!(with.push(SendAncillaryMessage::ScmRights(&descriptors)));
    }
    let sent = sendmsg(&stream, &[std::io::IoSlice::new(request.as_bytes())], &mut with, SendFlags::NOSIGNAL);
    assert_eq!(sent.unwrap(), request.len());
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    // (A connection that is closed before its bytes were read is reset.)
    let _ = stream.read_to_string(&mut answer);
    answer
}

/// A domain that has reached a socket of control, by a link that was made after its grants, say, is not answered: it cannot send descriptors.
#[test]
fn who_asks_sends_the_folder() {
    let site = Site::new(&[("a", "arguments = ['waits', 'a']")]);
    let mut up = site.up();
    up.until("is there");
    let folder = site.path("run/lockgate");
    let mut sockets = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let socket = sockets.find(|path| path.extension().is_some_and(|e| e == "sock")).unwrap();
    let request = r#"{"schema": 1, "wish": "status", "programs": []}"#;
    for other in [None, Some(site.path("run")), Some(folder.join("lock"))] {
        assert_eq!(answered(&socket, other.as_deref(), request), "", "{other:?}");
    }
    assert!(answered(&socket, Some(&folder), request).contains("\"name\":\"a\""));
    up.term();
    up.ends(0);
}

/// A program that crashes again and again, and is asked to end before it comes back, has not ended well.
#[test]
fn a_program_that_only_crashed_has_failed() {
    let site = Site::new(&[(
        "a",
        "arguments = ['crash']\nrestart = 'on-fault'\nrestart_delay = '60m'\nrestart_delay_max = '60m'",
    )]);
    let mut up = site.up();
    up.until("starts again in 3600s").term();
    up.ends(139);
}

#[test]
fn a_restart_that_fails_says_so() {
    let site = Site::new(&[
        ("bad", "arguments = ['status', '9']\nready = { line = 'never' }"),
        ("brief", "arguments = ['says', 'x']\nready = { line = 'never' }"),
        (
            "crash",
            "arguments = ['crash']\nready = { line = 'never' }\nrestart = 'always'\nrestart_delay = '60m'\nrestart_delay_max = '60m'",
        ),
        ("keeper", "arguments = ['waits', 'keeper']"),
    ]);
    let mut up = site.up();
    up.until_all(&["bad: exit status 9", "brief: ended", "starts again in 3600s", "keeper is there"]);
    assert!(text(&site.ask("restart", &["brief"]).stderr).contains("brief: exit status 0"));
    assert_eq!(site.status("crash")["state"], "restarting");
    let failed = site.ask("restart", &["bad"]);
    assert_eq!(failed.status.code(), Some(2));
    assert!(text(&failed.stderr).contains("bad: exit status 9"), "{}", text(&failed.stderr));
    up.term();
    up.ends(9);
}

/// A process that was killed leaves its socket, which the next one takes.
#[test]
fn a_socket_that_is_left_is_taken() {
    let site = Site::new(&[("a", "arguments = ['waits', 'a']")]);
    let mut up = site.up();
    up.until("a is there").signal(rustix::process::Signal::KILL);
    drop(up.wait());
    assert!(text(&site.ask("stop", &[]).stderr).contains("is not up"));
    let mut up = site.up();
    up.until("a is there");
    assert!(site.ask("stop", &[]).status.success());
    up.ends(0);
}

/// Where others could put another socket in place of ours there is none, and programs run all the same.
#[test]
fn sockets_of_control_are_in_private_folders_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let open = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let site = Site::new(&[("a", "arguments = ['says']")]);
    fs::create_dir(site.path("run/lockgate")).unwrap();
    for (run, own, said) in [
        (0o777, 0o700, "no folder for control sockets"),
        (0o700, 0o755, "not a folder that only you may enter"),
    ] {
        open(&site.path("run"), run);
        open(&site.path("run/lockgate"), own);
        let (status, _, err) = site.ended();
        assert!(status == 0 && err.contains(said), "{status} {err}");
    }
    fs::remove_dir(site.path("run/lockgate")).unwrap();
    std::os::unix::fs::symlink("/tmp", site.path("run/lockgate")).unwrap();
    assert!(site.ended().2.contains("not a folder that only you may enter"));
}

/// What has the name of the lock there is neither waited for nor followed. Red if a FIFO is opened as a file is: lockgate up never begins.
#[test]
fn what_is_in_the_lock_s_place_holds_nobody_up() {
    let site = Site::new(&[("a", "arguments = ['says']")]);
    let folder = site.path("run/lockgate");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let (lock, victim) = (folder.join("lock"), site.path("victim"));
    rustix::fs::mknodat(rustix::fs::CWD, &lock, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let is_told = |said: String| said.contains("lock, the lock of those that begin to listen");
    assert!(is_told(site.ended().2));
    fs::remove_file(&lock).unwrap();
    std::os::unix::fs::symlink(&victim, &lock).unwrap();
    assert!(is_told(site.ended().2) && !victim.exists());
}

/// No grant gives the sockets of control away, of this process or of another.
#[test]
fn no_domain_gets_at_sockets_of_control() {
    let site = Site::new(&[("a", "arguments = ['says']")]);
    fs::create_dir(site.path("run/lockgate")).unwrap();
    let run = site.path("run");
    let (run, here) = (run.display(), site.0.path().display());
    let both = "cannot be granted together";
    let cases = [
        (format!("directories = ['/r={run}']\nconnect = ['unix:*']"), both),
        (format!("directories = ['/r={here}:ro']\nconnect = ['unix:*']"), both),
        (format!("directories = ['/r={run}']\nlisten = ['unix:*']"), both),
        (format!("directories = ['/r={run}/lockgate']"), "by which lockgate up is controlled"),
        (format!("connect = ['unix:{run}/lockgate/x.sock']"), "by which lockgate up is controlled"),
        (format!("listen = ['unix:{run}/../run/lockgate/x.sock']"), "by which lockgate up is controlled"),
    ];
    for (body, expected) in &cases {
        fs::write(site.path("lockgate.toml"), file(&[("a", body)])).unwrap();
        let (status, _, err) = site.ended();
        assert!(status == 125 && err.contains(expected), "{body}: {err}");
    }
    // A socket's other name is the socket; so is the folder in another place the folder.
    let _there = std::os::unix::net::UnixListener::bind(site.path("run/lockgate/x.sock")).unwrap();
    fs::hard_link(site.path("run/lockgate/x.sock"), site.path("second.sock")).unwrap();
    for name in ["folder", "above/run"] {
        fs::create_dir_all(site.path(name)).unwrap();
    }
    let mounted = [
        (format!("connect = ['unix:{here}/second.sock']"), "by which lockgate up is controlled"),
        (format!("connect = ['unix:{here}/folder/x.sock']"), "by which lockgate up is controlled"),
        (
            format!("listen = ['unix:{here}/above/run/lockgate/new.sock']"),
            "by which lockgate up is controlled",
        ),
        (format!("directories = ['/r={here}/folder']"), "by which lockgate up is controlled"),
        (format!("directories = ['/r={here}/above/run']\nconnect = ['unix:*']"), both),
        (format!("directories = ['/r={here}/above']\nconnect = ['unix:*']"), both),
        (format!("directories = ['/r={here}/service']\nconnect = ['unix:*']"), both),
    ];
    let mount = "mount --bind run/lockgate folder && mount --bind run above/run && mkdir service && touch service/x && \
                 mount --bind run/lockgate/x.sock service/x && touch ready";
    for (body, expected) in &mounted {
        fs::write(site.path("lockgate.toml"), file(&[("a", body)])).unwrap();
        let script = format!("{mount}; exec \"$0\" up .");
        let mut up = Command::new("unshare");
        up.args(["-rm", "sh", "-c", &script, env!("CARGO_BIN_EXE_lockgate")]).current_dir(site.0.path());
        let refused = up.env("XDG_RUNTIME_DIR", site.path("run")).output().unwrap();
        if !site.path("ready").exists() {
            support::skipped("no_domain_gets_at_sockets_of_control", format_args!("no mounts may be made"));
            break;
        }
        fs::remove_file(site.path("ready")).unwrap();
        fs::remove_dir_all(site.path("service")).unwrap();
        let err = text(&refused.stderr);
        assert!(refused.status.code() == Some(125) && err.contains(expected), "{body}: {err}");
    }
    let mut run = Command::new(env!("CARGO_BIN_EXE_lockgate"));
    let folder = format!("/r={here}");
    run.args(["run", "--dir", &folder, "--connect", "unix:*"]).arg(&*SERVICE);
    let refused = run.env("XDG_RUNTIME_DIR", site.path("run")).output().unwrap();
    assert!(refused.status.code() == Some(125) && text(&refused.stderr).contains(both));
}

/// A program with more rights than its caller does not let the caller choose where it looks for sockets, not even among its own folders. Red where
/// `XDG_RUNTIME_DIR` is believed all the same.
#[test]
fn programs_with_other_rights_choose_their_sockets_themselves() {
    let site = Site::of("[programs]\n");
    let program = site.path("lockgate");
    support::copy_program(env!("CARGO_BIN_EXE_lockgate").as_ref(), &program);
    let ask = || {
        let mut stop = Command::new(&program);
        let asked = stop.arg("stop").arg(site.path("lockgate.toml")).env("XDG_RUNTIME_DIR", site.path("run"));
        text(&asked.output().unwrap().stderr)
    };
    let refused = "no folder for control sockets";
    assert!(!ask().contains(refused), "an ordinary program: {}", ask());
    let belongings = ["run", "lockgate.toml"].map(|name| site.path(name));
    let belongings = belongings.each_ref().map(PathBuf::as_path);
    if support::with_other_rights(
        &program,
        &belongings,
        "programs_with_other_rights_choose_their_sockets_themselves",
    ) {
        assert!(ask().contains(refused), "{}", ask());
    }
}

/// Limits of the machine are told before anything starts.
#[test]
fn what_the_machine_lacks_is_told_at_the_start() {
    let site = Site::new(&[
        ("a", "arguments = ['says', 'it']\ndescriptors = 5000"),
        ("b", "arguments = ['says', 'it']\nthreads = 8"),
        ("c", "arguments = ['says', 'it']"),
    ]);
    for (limit, expected) in [
        (
            "-n 100",
            "3 programs together need 5047 descriptors, and this process may have 100: raise ulimit -n",
        ),
        ("-v 20000000", "3 programs together need 25769803776 bytes of address space"),
    ] {
        let script = format!("ulimit {limit}; exec \"$0\" up \"$1\"");
        let ran = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_lockgate")])
            .arg(site.0.path())
            .env("XDG_RUNTIME_DIR", site.path("run"))
            .output()
            .unwrap();
        assert_eq!(ran.status.code(), Some(125));
        assert!(text(&ran.stderr).contains(expected) && ran.stdout.is_empty(), "{}", text(&ran.stderr));
    }
    // Each promised mapping may be two of the kernel's.
    let most = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    let most: usize = most.trim().parse().unwrap();
    if most > 20 * 32_768 {
        let test = "what_the_machine_lacks_is_told_at_the_start";
        return support::skipped(test, format_args!("the kernel gives a process {most} mappings"));
    }
    let names: Vec<String> = (0..=most / 32_768).map(|n| format!("m{n}")).collect();
    let table = |name| (name, "arguments = ['says', 'it']\nmappings = 16384");
    let many: Vec<_> = names.iter().map(|name| table(name.as_str())).collect();
    let (status, said, told) = Site::new(&many).ended();
    assert!(status == 125 && said.is_empty(), "{status}: {said}");
    assert!(told.contains("kernel mappings") && told.contains("raise vm.max_map_count"), "{told}");
    // And so do those of each program, and of its thread: 23.
    let names: Vec<String> = (0..=most / 23).map(|n| format!("m{n}")).collect();
    let many: Vec<_> = names.iter().map(|name| (name.as_str(), "arguments = ['says', 'it']")).collect();
    let (status, said, told) = Site::new(&many).ended();
    assert!(status == 125 && said.is_empty() && told.contains("kernel mappings"), "{status}: {said} {told}");
}
