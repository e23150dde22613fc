//! Many programs in one process, each listening on a socket of its own, of which some crash all the time: the others answer on the connections that
//! they have, and what the process holds does not grow.
//!
//! Twenty by default, which crash once each; `make crowd PROGRAMS=1000 SECONDS=600` for more, of which one in a hundred crashes each second.

use crate::common::text;
use crate::up::{Site, Up};
use std::fmt::Write as _;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Variables in the environment: how many programs there are, and for how long they crash.
const PROGRAMS: &str = "LOCKGATE_CROWD_PROGRAMS";
const SECONDS: &str = "LOCKGATE_CROWD_SECONDS";

/// Far longer than an answer takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a restart may read of files and pipes, whatever the number of programs: its program's lines, and what tells of the crash.
const READS: u64 = 60;
const BYTES: u64 = 16 << 10;

fn number(variable: &str) -> Option<usize> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

/// What the process holds.
#[derive(Debug, Clone, Copy)]
struct Held {
    descriptors: usize,
    mappings: usize,
    threads: usize,
    resident_kib: u64,
    cpu_ms: u64,
}

impl Held {
    fn by(up: &Up) -> Held {
        let folder = format!("/proc/{}", up.id());
        let status = fs::read_to_string(format!("{folder}/status")).unwrap();
        let times = fs::read_to_string(format!("{folder}/stat")).unwrap();
        // After the name, which may have blanks: utime and stime are the 14th and the 15th of all (proc_pid_stat(5)).
        let times = times.rsplit(')').next().unwrap().split_whitespace().skip(11).take(2);
        let ticks: u64 = times.map(|time| time.parse::<u64>().unwrap()).sum();
        Held {
            descriptors: up.count("fd"),
            mappings: up.count("maps"),
            threads: up.count("task"),
            resident_kib: field(&status, "VmRSS:"),
            cpu_ms: ticks * 1000 / rustix::param::clock_ticks_per_second(),
        }
    }

    fn is_within(self, most: Held) -> bool {
        self.descriptors <= most.descriptors
            && self.threads <= most.threads
            && self.mappings <= most.mappings
            && self.resident_kib <= most.resident_kib
    }
}

/// A number in a text of lines of a name and a number.
fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// How often the process has read, and how many bytes.
fn reads(up: &Up) -> (u64, u64) {
    let io = fs::read_to_string(format!("/proc/{}/io", up.id())).unwrap();
    (field(&io, "syscr:"), field(&io, "rchar:"))
}

/// The programs, and a connection to each.
struct Crowd {
    site: Site,
    up: Up,
    streams: Vec<UnixStream>,
    /// Connections that ended, or gave a wrong answer, and whose program had not crashed.
    lost: usize,
    answers: u64,
    /// Of each restart, from the byte that crashes the program to the line that says that it is ready again.
    restarts: Vec<Duration>,
}

impl Crowd {
    fn start(count: usize) -> Crowd {
        let site = Site::of("");
        build(&site.path("crowd.lg"));
        let mut file = String::new();
        for program in 0..count {
            let socket = socket(&site, program);
            let socket = socket.display();
            write!(file, "[programs.p{program}]\nmodule = 'crowd.lg'\narguments = ['{socket}']\n").unwrap();
            write!(file, "listen = ['unix:{socket}']\nready = 'listening'\nrestart = 'on-fault'\n").unwrap();
        }
        fs::write(site.path("lockgate.toml"), file).unwrap();
        let mut up = site.up();
        for _ in 0..count {
            up.until(": ready");
        }
        let streams = (0..count).map(|program| connect(&site, program)).collect();
        Crowd { site, up, streams, lost: 0, answers: 0, restarts: Vec::new() }
    }

    /// These crash, and all others are asked meanwhile; then these again, when they are back.
    fn crash(&mut self, victims: &[usize]) {
        let Crowd { site, up, streams, lost, answers, restarts } = self;
        let start = Instant::now();
        for victim in victims {
            streams[*victim].write_all(b"X").unwrap();
        }
        thread::scope(|scope| {
            scope.spawn(|| {
                for (program, stream) in streams.iter_mut().enumerate() {
                    if victims.contains(&program) {
                        let ended = stream.read(&mut [0]);
                        assert!(is_over(&ended), "p{program} has not crashed: {ended:?}");
                    } else if gives_back(stream) {
                        *answers += 1;
                    } else {
                        *lost += 1;
                    }
                }
            });
            for _ in victims {
                up.until(": ready");
                restarts.push(start.elapsed());
            }
        });
        for victim in victims {
            streams[*victim] = connect(site, *victim);
            assert!(gives_back(&mut streams[*victim]), "p{victim} is ready, and does not answer");
        }
    }

    /// What is held when what has ended is gone: threads end, and the watcher reclaims, a moment after the next run is ready.
    fn settled(&self, most: Held) -> Held {
        let start = Instant::now();
        loop {
            let held = Held::by(&self.up);
            if held.is_within(most) || start.elapsed() > PATIENCE {
                return held;
            }
            thread::yield_now();
        }
    }
}

fn build(module: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/crowd.c");
    let mut lockgate = Command::new(env!("CARGO_BIN_EXE_lockgate"));
    let built = lockgate.args(["cc", "-O1", "-o"]).args([module, &source]).output().unwrap();
    assert!(built.status.success(), "{}", text(&built.stderr));
}

fn socket(site: &Site, program: usize) -> PathBuf {
    site.path(&format!("{program}.sock"))
}

fn connect(site: &Site, program: usize) -> UnixStream {
    let stream = UnixStream::connect(socket(site, program)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Whether a connection ended with its program.
fn is_over(read: &std::io::Result<usize>) -> bool {
    match read {
        Ok(count) => *count == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

fn gives_back(stream: &mut UnixStream) -> bool {
    let mut answer = [0; 5];
    stream.write_all(b"hello").is_ok() && stream.read_exact(&mut answer).is_ok() && answer == *b"hello"
}

#[test]
fn others_keep_their_connections_while_programs_crash() {
    let count = number(PROGRAMS).unwrap_or(20);
    let seconds = number(SECONDS);
    let at_once = (count / 100).max(1);
    // Each of them once, if it is not said for how long.
    let rounds = seconds.unwrap_or(count / at_once);
    // (A connection to each is a descriptor here.)
    rustix::process::setrlimit(rustix::process::Resource::Nofile, {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum }
    })
    .unwrap();

    let begin = Instant::now();
    let mut crowd = Crowd::start(count);
    let start = begin.elapsed();
    // From here on what it holds is compared.
    let warm = if seconds.is_some() { rounds.div_ceil(10) } else { rounds / 2 };
    let (mut before, mut read) = (Held::by(&crowd.up), (0, 0));
    println!("{count} programs were ready after {start:.1?}: {before:?}");
    let began = Instant::now();
    for round in 0..rounds {
        if round == warm {
            before = Held::by(&crowd.up);
            read = reads(&crowd.up);
        }
        let victims: Vec<usize> = (0..at_once).map(|nth| (round * at_once + nth) % count).collect();
        crowd.crash(&victims);
        if seconds.is_some() {
            // The pace, which nothing depends on.
            let due = began + Duration::from_secs(round as u64 + 1);
            thread::sleep(due.saturating_duration_since(Instant::now()));
        }
    }
    let took = began.elapsed();
    let (calls, bytes) = reads(&crowd.up);
    let crashes = rounds * at_once;
    let counted = (crashes - warm * at_once) as u64;
    // (What the allocator keeps for threads is chance. What each restart left would be far more.)
    let most = Held {
        mappings: before.mappings + (counted as usize / 2).min(64),
        resident_kib: before.resident_kib + (32 * counted).min(16 << 10),
        ..before
    };
    let after = crowd.settled(most);
    let (calls, bytes) = ((calls - read.0) / counted, (bytes - read.1) / counted);
    let mut restarts = crowd.restarts.clone();
    restarts.sort_unstable();
    println!("{crashes} crashes in {took:.0?}, {} answers, {} connections lost", crowd.answers, crowd.lost);
    println!(
        "restart: median {:.1?}, p99 {:.1?}, longest {:.1?}; it reads {calls} times, {bytes} bytes; with its share of answers, {:.1} ms of CPU",
        restarts[crashes / 2],
        restarts[(crashes * 99).div_ceil(100) - 1],
        restarts[crashes - 1],
        (after.cpu_ms - before.cpu_ms) as f64 / counted as f64
    );
    println!("before: {before:?}\nafter:  {after:?}");

    assert_eq!((crowd.lost, crowd.answers), (0, ((count - at_once) * rounds) as u64));
    assert!(calls <= READS && bytes <= BYTES, "a restart reads {calls} times, {bytes} bytes");
    assert!(after.is_within(most), "{most:?}");
    let listed: serde_json::Value =
        serde_json::from_slice(&crowd.site.ask_of_all("ps", &["--json"]).stdout).unwrap();
    let programs = listed["up"][0]["programs"].as_array().unwrap();
    assert!(programs.len() == count && programs.iter().all(|program| program["state"] == "running"));
    let restarted: u64 = programs.iter().map(|program| program["restarts"].as_u64().unwrap()).sum();
    assert_eq!(restarted, crashes as u64);
    let end = Instant::now();
    crowd.up.term();
    crowd.up.ends(0);
    println!("all ended in {:.1?}", end.elapsed());
}
