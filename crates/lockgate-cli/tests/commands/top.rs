//! `lockgate top`: this very process, and one that measures itself, seen from another one.
use crate::commands::shop::{library, lockgate};
use lockgate::{Domain, DomainOptions, Module, Policy, Value};
use serde_json::Value as Json;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const LOCKGATE: &str = env!("CARGO_BIN_EXE_lockgate");

/// The domains called `name` of a look at `process`.
fn domains<'a>(look: &'a Json, process: u32, name: &str) -> Vec<&'a Json> {
    let processes = look["processes"].as_array().unwrap().iter();
    let process = processes.clone().find(|one| one["pid"] == process).expect("the process");
    process["domains"].as_array().unwrap().iter().filter(|domain| domain["name"] == name).collect()
}

#[test]
fn what_domains_have_done_is_shown() {
    let options = DomainOptions::new().name("\x1b[2Jbusy");
    let domain = Domain::new(&Module::open(library()).unwrap(), options).unwrap();
    let crash = domain.bind_dynamic("int crash(int *)").unwrap();
    for _ in 0..2 {
        assert!(crash.call(&[Value::Pointer(0)]).unwrap_err().fault().is_some());
    }
    let root = domain.bind_dynamic_with("double cube_root(double)", Policy::default().timed()).unwrap();
    for _ in 0..10 {
        root.call(&[Value::Double(27.0)]).unwrap();
    }
    let own = std::process::id();
    for arguments in [&["top", "--json", "-n", "1"][..], &["top", &own.to_string(), "--json", "--count", "1"]]
    {
        let look = lockgate(arguments).json();
        assert_eq!((&look["schema"], &look["seconds"]), (&1.into(), &0.0.into()));
        let [seen] = domains(&look, own, "?[2Jbusy")[..] else { panic!("one domain: {look}") };
        assert_eq!(
            (&seen["faults"], &seen["threads"], &seen["module"]),
            (&2.into(), &1.into(), &"library.lg".into())
        );
        let usage = domain.usage();
        assert_eq!(
            (&seen["memory"], &seen["memory_limit"]),
            (&usage.memory.into(), &usage.memory_limit.into())
        );
        assert_eq!((&seen["cpu_ns"], &seen["inside"]), (&Json::Null, &Json::Null), "nobody measures");
        let [binding] = &seen["bindings"].as_array().unwrap()[..] else { panic!("one is counted: {seen}") };
        assert_eq!((&binding["function"], &binding["calls"]), (&"cube_root".into(), &10.into()));
        assert!(binding["mean_ns"].as_u64().is_some_and(|mean| mean < 1_000_000), "{binding}");
    }
    let table = lockgate(&["top", &own.to_string(), "--batch", "-n", "2", "--delay", "0.01"]).out;
    assert!(!table.contains('\x1b') && table.matches("DOMAIN").count() == 2, "{table}");
    assert!(table.contains("cube_root") && table.contains(" calls, mean "), "{table}");
    drop((crash, root, domain));
    let look = lockgate(&["top", &own.to_string(), "--json", "-n", "1"]).json();
    assert_eq!(domains(&look, own, "?[2Jbusy").len(), 0, "{look}");
}

/// Names as long as they may be leave the numbers behind them alone, and begin as they do.
#[test]
fn numbers_stay_behind_long_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("{}.lg", "m".repeat(250)));
    std::fs::copy(library(), &path).unwrap();
    let name = "n".repeat(250);
    let options = DomainOptions::new().name(&name).memory_limit(64 << 20).measure_cpu_time();
    let domain = Domain::new(&Module::open(&path).unwrap(), options).unwrap();
    let look = lockgate(&["top", &std::process::id().to_string(), "--json", "-n", "1"]).json();
    let processes = look["processes"].as_array().unwrap();
    let mut domains = processes.iter().flat_map(|process| process["domains"].as_array().unwrap());
    let seen = domains.find(|seen| seen["name"].as_str().unwrap().starts_with("nnn")).expect("the domain");
    assert_eq!(seen["memory_limit"], domain.usage().memory_limit);
    assert!(seen["cpu_ns"].is_u64() && seen["inside"].is_u64(), "{seen}");
    for (field, whole) in [("name", &*name), ("module", &"m".repeat(250))] {
        let shown = seen[field].as_str().unwrap();
        let begins = shown.strip_suffix("…").expect("what is cut off says so");
        assert!(shown.len() > 200 && whole.starts_with(begins), "{field}: {shown}");
    }
}

/// How many processes have domains is for others to say: `top` says so where it cannot look at all of them. Red if they are passed over like
/// processes that may not be read.
#[test]
fn processes_beyond_the_limit_of_files_are_counted() {
    let mut children: Vec<_> = (0..8)
        .map(|_| {
            let mut command = Command::new(LOCKGATE);
            command.args(["call", library(), "void loop(void)"]).stdout(Stdio::null());
            command.spawn().unwrap()
        })
        .collect();
    let look = |limit: &str| {
        let script = format!("{limit} exec \"$0\" top --json -n 1");
        let output = Command::new("sh").args(["-c", &script, LOCKGATE]).output().unwrap();
        let line = String::from_utf8(output.stdout).unwrap();
        serde_json::from_str::<serde_json::Value>(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    };
    let shown = |look: &serde_json::Value| {
        let pids = look["processes"].as_array().unwrap().iter().filter_map(|process| process["pid"].as_u64());
        let pids: Vec<u64> = pids.collect();
        children.iter().filter(|child| pids.contains(&child.id().into())).count()
    };
    while shown(&look("")) < children.len() {}
    let few = look("ulimit -n 16;");
    assert!(few["unseen"].as_u64().unwrap() > 0 && shown(&few) < children.len(), "{few}");
    // What may be raised is.
    let raised = look("ulimit -S -n 16;");
    assert_eq!((raised["unseen"].as_u64(), shown(&raised)), (Some(0), children.len()), "{raised}");
    for child in &mut children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// A process told by its environment measures everything.
#[test]
fn measured_by_its_user() {
    let mut child = Command::new(LOCKGATE)
        .args(["call", library(), "void loop(void)"])
        .env("LOCKGATE_MEASURE", "1")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let pid = child.id().to_string();
    let end = Instant::now() + Duration::from_secs(60);
    let busy = loop {
        assert!(Instant::now() < end, "its CPU time is never seen");
        let ran = lockgate(&["top", &pid, "--json", "-n", "2", "--delay", "0.05"]);
        let look = ran.out.lines().last().and_then(|line| serde_json::from_str::<Json>(line).ok());
        let Some(look) = look.filter(|_| ran.status == 0) else { continue };
        if let [domain] = domains(&look, child.id(), "library.lg")[..]
            && domain["inside"] == 1
            && domain["cpu_percent"].as_f64().is_some_and(|percent| percent > 0.0)
        {
            break domain.clone();
        }
    };
    child.kill().unwrap();
    child.wait().unwrap();
    let bindings = busy["bindings"].as_array().unwrap();
    let binding = bindings.iter().find(|binding| binding["function"] == "loop").expect("counted");
    assert_eq!((&binding["calls"], &binding["client"]), (&1.into(), &"host".into()));
    lockgate(&["top", &pid, "-n", "1"]).fails(2, &[&format!("there is no process {pid}")]);
}

/// A reader that goes away ends it.
#[test]
fn pipes_end_it() {
    let command = format!("{LOCKGATE} top --delay 0.01 | head -n 1");
    let output = Command::new("sh").args(["-c", &command]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

/// On a terminal: the other page, a key that sorts, a key that ends it, and the page from before.
#[test]
fn on_a_terminal() {
    let domain = Domain::new(&Module::open(library()).unwrap(), DomainOptions::new()).unwrap();
    for end in ["q", "\x03"] {
        let command = format!("{LOCKGATE} top {} --delay 0.05", std::process::id());
        let mut terminal = Terminal::new(&command);
        let mut keys = terminal.child.stdin.take().unwrap();
        terminal.read_until("\x1b[?1049h");
        terminal.read_until(", by cpu");
        std::io::Write::write_all(&mut keys, b"m").unwrap();
        terminal.read_until(", by memory");
        std::io::Write::write_all(&mut keys, end.as_bytes()).unwrap();
        terminal.read_until("\x1b[?1049l");
        assert!(terminal.child.wait().unwrap().success());
    }
    drop(domain);
}

/// A signal that ends it leaves the terminal as it was, at once, and ends it still.
#[test]
fn signals_leave_the_terminal_as_it_was() {
    for (signal, status) in [("TERM", 143), ("HUP", 129), ("INT", 130)] {
        // Whoever runs the tests may ignore signals (nohup, jobs of a shell), and what is ignored stays so.
        let top = format!("env --default-signal=INT,TERM,HUP {LOCKGATE} top --delay 3600");
        let command = format!("sh -c 'echo PID $$ .; exec {top}'; echo status $?; stty -a; echo END");
        let mut terminal = Terminal::new(&command);
        let said = terminal.read_until(", by cpu");
        let pid = said.split_once("PID ").unwrap().1.split_once(' ').unwrap().0;
        assert!(Command::new("kill").args(["-s", signal, pid]).status().unwrap().success());
        let said = terminal.read_until("END");
        let after = said.split_once("\x1b[?25h\x1b[?1049l").expect("the page from before").1;
        assert!(after.contains(&format!("status {status}")), "{after}");
        for mode in ["icanon", "isig", "echo"] {
            assert!(after.split_whitespace().any(|word| word == mode), "{mode}: {after}");
        }
        drop(terminal.child.stdin.take());
        terminal.child.wait().unwrap();
    }
}

#[test]
fn mistakes_are_told() {
    lockgate(&["top", "-n", "0"]).fails(2, &["0 is not in 1.."]);
    lockgate(&["top", "4294967295"]).fails(2, &["there is no process 4294967295"]);
    lockgate(&["top", "--delay", "0"]).fails(2, &["it must be between 0.01 and 3600"]);
    lockgate(&["top", "--sort", "size"]).fails(2, &["invalid value 'size'"]);
}

/// A command on a terminal, and what it has written there.
struct Terminal {
    child: Child,
    out: ChildStdout,
    said: String,
}

impl Terminal {
    fn new(command: &str) -> Terminal {
        let mut child = Command::new("script") // of util-linux: makes a terminal
            .args(["-qec", command, "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("script is installed (bsdutils)");
        let out = child.stdout.take().unwrap();
        Terminal { child, out, said: String::new() }
    }

    /// All that was written, once `wanted` is there.
    fn read_until(&mut self, wanted: &str) -> String {
        while !self.said.contains(wanted) {
            let mut bytes = [0; 4096];
            let read = std::io::Read::read(&mut self.out, &mut bytes).unwrap();
            assert!(read > 0, "no {wanted:?} in {}", self.said);
            self.said += &String::from_utf8_lossy(&bytes[..read]);
        }
        self.said.clone()
    }
}
