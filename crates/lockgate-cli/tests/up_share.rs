//! Functions of programs of `lockgate up --share`, called from another process: the two do not trust each other.

use crate::common::text;
use crate::up::{Site, Up};
use lockgate::grant::{Consumer, Producer, Ring};
use lockgate::{CallError, FaultKind, Region, Registry, RegistryError, Rights, Value, Version};
use lockgate_programs::share::{Data, Offer, Query, Remote, RemoteError, RemoteFunction, ShareError, serve};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept, bind, listen, recvmsg,
    sendmsg, socket_with,
};
use std::fs;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// `tests/programs/share.c` as a module, built once.
static MODULE: LazyLock<PathBuf> = LazyLock::new(|| {
    let module = support::shared_folder().join("share.lg");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/share.c");
    let mut cc = Command::new(env!("CARGO_BIN_EXE_lockgate"));
    cc.args(["cc", "-w", "-O1", "-o"]).args([&module, &source]);
    for export in [
        "long count(long)",
        "long crash(long)",
        "long leave(long)",
        "long loop(long)",
        "long doze(long)",
        "long dozing(long)",
        "double mean(double, float, _Bool)",
        "struct { long a; double b; } twice(struct { long a; double b; })",
        "unsigned sum(const unsigned char *, size_t)",
        "int reverse(int, char *)",
        "int slow_reverse(long, int, char *)",
        "long told(long)",
        "long first(const long *, unsigned)",
    ] {
        cc.args(["--export", export]);
    }
    let built = cc.output().unwrap();
    assert!(built.status.success(), "{}", text(&built.stderr));
    module
});

const EXPORTS: &str = "exports = { count = { function = 'count', share = true, version = '1.2' }, hidden = 'count', \
    crash = { share = true }, leave = { share = true }, loop = { share = true, serialize = false }, \
    doze = { share = true, serialize = false }, dozing = { share = true, serialize = false }, \
    mean = { share = true }, twice = { share = true }, \
    sum = { share = 'unsigned sum(const unsigned char data[n], size_t n)' }, \
    reverse = { share = 'int reverse(int n, char text[n])' }, told = { share = true, serialize = false }, \
    slow_reverse = { share = 'int slow_reverse(long ms, int n, char text[n])', serialize = false }, \
    first = { share = 'long first(const long numbers[n], unsigned n)' } }";

const SUM: &str = "unsigned sum(const unsigned char data[n], size_t n)";

/// One that is up, with a program `a`, and its socket.
fn shared(more: &str) -> (Site, Up, PathBuf) {
    let site = Site::of(&format!("[programs.a]\nmodule = 'share.lg'\nthreads = 60\n{EXPORTS}\n{more}\n"));
    fs::copy(&*MODULE, site.path("share.lg")).unwrap();
    let mut up = site.up_with(&["--share", "shop"]);
    up.until("serves");
    let socket = site.path("run/lockgate/shop.share");
    let remote = Remote::connect(&socket).unwrap();
    // It takes calls from when its first thread sleeps.
    let count = remote.bind(&Query::newest("a.count"), "long count(long)").unwrap();
    while number(&count, 0).is_err() {}
    (site, up, socket)
}

fn number(function: &RemoteFunction, argument: i64) -> Result<i64, RemoteError> {
    match function.call(&mut [Value::Signed(argument).into()])? {
        Value::Signed(result) => Ok(result),
        other => panic!("{other}"),
    }
}

fn bound(remote: &Remote, name: &str) -> RemoteFunction {
    remote.bind(&Query::newest(format!("a.{name}")), &format!("long {name}(long)")).unwrap()
}

fn sum(remote: &Remote, bytes: &[u8]) -> Result<Value, RemoteError> {
    let sum = remote.bind(&Query::newest("a.sum"), SUM)?;
    sum.call(&mut [Data::Read(bytes), Value::Unsigned(bytes.len() as u64).into()])
}

#[test]
fn another_process_calls_by_name() {
    let (site, up, socket) = shared("");
    let remote = Remote::connect(&socket).unwrap();
    let count = bound(&remote, "count");
    assert_eq!((number(&count, 3).unwrap(), number(&count, 4).unwrap()), (3, 7));
    let mean = remote.bind(&Query::newest("a.mean"), "double mean(double, float, bool)").unwrap();
    let mut arguments = [Value::Double(1.5).into(), Value::Float(2.5).into(), Value::Unsigned(1).into()];
    assert_eq!(mean.call(&mut arguments).unwrap(), Value::Double(2.0));
    let pair = "struct { long a; double b; }";
    let twice = remote.bind(&Query::newest("a.twice"), &format!("{pair} twice({pair})")).unwrap();
    let bytes = |a: i64, b: f64| Value::Struct([a.to_ne_bytes(), b.to_ne_bytes()].concat());
    assert_eq!(twice.call(&mut [bytes(-3, 0.5).into()]).unwrap(), bytes(-6, 1.0));
    assert_eq!(sum(&remote, &[1, 2, 250]).unwrap(), Value::Unsigned(253));
    assert_eq!(sum(&remote, &[]).unwrap(), Value::Unsigned(0));
    assert_eq!(sum(&remote, &[1; 60_000]).unwrap(), Value::Unsigned(60_000));
    let reverse = remote.bind(&Query::newest("a.reverse"), "int reverse(int n, char text[n])").unwrap();
    let mut name = *b"gate";
    let result = reverse.call(&mut [Value::Signed(4).into(), Data::Written(&mut name)]).unwrap();
    assert_eq!((result, &name), (Value::Signed(4), b"etag"));
    let first = remote.bind(&Query::newest("a.first"), "long first(const long n[m], unsigned m)").unwrap();
    let numbers = (-5_i64).to_ne_bytes();
    let result = first.call(&mut [Data::Read(&numbers), Value::Unsigned(1).into()]);
    assert_eq!(result.unwrap(), Value::Signed(-5));
    // Each thread calls at once with others, on one connection.
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..500).for_each(|_| assert!(number(&count, 1).is_ok())));
        }
    });
    assert_eq!(number(&count, 0).unwrap(), 1507);
    let call = |arguments: &[&str]| site.ask_of_all("call", &[&["--at", "shop"], arguments].concat());
    let said = |output: Output| (output.status.code(), text(&output.stdout), text(&output.stderr));
    let (status, out, err) = said(call(&["a.count", "long count(long)", "-7"]));
    assert_eq!((status, &*out), (Some(0), "1500\n"), "{err}");
    let (status, out, err) = said(call(&["a.sum", SUM, "abc", "3"]));
    assert_eq!((status, &*out), (Some(0), "294\n"), "{err}");
    let (status, _, err) = said(call(&["a.crash", "long crash(long)", "0"]));
    assert!(status == Some(139) && err.contains("called at crash"), "{status:?} {err}");
    let (status, _, err) = said(call(&["--time-limit", "50ms", "a.doze", "long doze(long)", "60000"]));
    assert!(status == Some(124) && err.contains("the time limit passed"), "{status:?} {err}");
    let (status, _, err) = said(call(&["a.counts", "long counts(long)", "1"]));
    assert!(status == Some(2) && err.contains("nothing is exported as"), "{status:?} {err}");
    drop(up);
}

/// Errors of names and calls are those of a registry in the same process.
#[test]
fn a_client_sees_what_it_would_see_inside() {
    let (site, mut up, socket) = shared("[programs.b]\nmodule = 'share.lg'");
    let remote = Remote::connect(&socket).unwrap();
    let fails = |query: Query, prototype: &str| remote.bind(&query, prototype).map(drop).unwrap_err();
    let unknown = |error: &RemoteError| matches!(error, RemoteError::Bind(RegistryError::Unknown { .. }));
    assert!(unknown(&fails(Query::newest("a.nothing"), "long f(long)")));
    // It is exported, but not shared.
    assert!(unknown(&fails(Query::newest("a.hidden"), "long count(long)")));
    let late = fails(Query::newest("a.later").wait(Duration::from_millis(30)), "long f(long)");
    assert!(matches!(late, RemoteError::Bind(RegistryError::Late { .. })), "{late}");
    let version = fails(Query::new("a.count", Version::new(1, 3)), "long count(long)");
    assert!(version.to_string().contains("a.count is exported in version 1.2"), "{version}");
    assert!(remote.bind(&Query::new("a.count", Version::new(1, 1)), "long count(long)").is_ok());
    let signature = fails(Query::newest("a.count"), "long count(int)");
    let is_it = matches!(&signature, RemoteError::Bind(RegistryError::Signature { .. }));
    assert!(is_it && signature.to_string().contains("int64_t against int32_t"), "{signature}");
    for (name, other) in [
        ("a.sum", "unsigned f(unsigned char data[n], size_t n)"),
        ("a.sum", "unsigned f(const short data[n], size_t n)"),
        ("a.first", "long f(const double data[n], unsigned n)"),
        ("a.first", "long f(const struct { int a; float b; } data[n], unsigned n)"),
    ] {
        let buffers = fails(Query::newest(name), other);
        assert!(buffers.to_string().contains("has other buffers"), "{buffers}");
    }
    let pointer = fails(Query::newest("a.sum"), "unsigned sum(const unsigned char *, size_t)");
    assert!(matches!(pointer, RemoteError::Prototype(_)), "{pointer}");
    let crashed = number(&bound(&remote, "crash"), 8).unwrap_err();
    assert!(matches!(crashed, RemoteError::Fault { kind: FaultKind::Segv, .. }), "{crashed}");
    let left = number(&bound(&remote, "leave"), 3).unwrap_err();
    assert!(matches!(left, RemoteError::Fault { kind: FaultKind::Exit(3), .. }), "{left}");
    for wrong in [
        sum(&remote, &[1; 70_000]),
        bound(&remote, "count").call(&mut []),
        bound(&remote, "count").call(&mut [Value::Double(1.0).into()]),
        remote
            .bind(&Query::newest("a.sum"), SUM)
            .unwrap()
            .call(&mut [Data::Read(b"four"), Value::Unsigned(5).into()]),
    ] {
        assert!(matches!(wrong, Err(RemoteError::Call(CallError::Arguments(_)))), "{wrong:?}");
    }
    // A restart is the end of bindings that have not asked for more.
    let (once, again) = (bound(&remote, "count"), Query::newest("a.count").rebinds());
    let again = remote.bind(&again, "long count(long)").unwrap();
    let sums = |query: &Query| remote.bind(query, SUM).unwrap();
    let sums = [sums(&Query::newest("a.sum")), sums(&Query::newest("a.sum").rebinds())];
    number(&again, 5).unwrap();
    assert!(site.ask("restart", &["a"]).status.success());
    while number(&again, 1).is_err() {}
    assert!(number(&again, 0).unwrap() < 5, "it is another instance");
    let ended = number(&once, 1).unwrap_err();
    assert!(matches!(&ended, RemoteError::Call(CallError::Restarted(a)) if a == "a"), "{ended}");
    let [ended, goes_on] = sums.map(|sum| sum.call(&mut [Data::Read(b"a"), Value::Unsigned(1).into()]));
    assert!(matches!(ended, Err(RemoteError::Call(CallError::Restarted(_)))), "{ended:?}");
    assert_eq!(goes_on.unwrap(), Value::Unsigned(97));
    assert!(number(&bound(&remote, "count"), 1).is_ok(), "it is bound again");
    assert!(site.ask("stop", &["a"]).status.success());
    let killed = number(&again, 1).unwrap_err();
    assert!(matches!(&killed, RemoteError::Call(CallError::Killed(a)) if a == "a"), "{killed}");
    up.term();
    up.ends(0);
    // The process itself: as a domain that was killed.
    let gone = number(&again, 1).unwrap_err();
    let is_gone = matches!(&gone, RemoteError::Call(CallError::Killed(_)) | RemoteError::Closed(_));
    assert!(is_gone, "{gone}");
}

/// Red without the look at the connection: the caller waits until its time limit.
#[test]
fn a_call_ends_with_the_process_that_makes_it() {
    let (_site, up, socket) = shared("");
    let remote = Remote::connect_with(&socket, Duration::from_secs(30)).unwrap();
    let (doze, dozing) = (bound(&remote, "doze"), bound(&remote, "dozing"));
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| number(&doze, 600_000));
        while number(&dozing, 0).unwrap() == 0 {}
        drop(up); // by SIGKILL
        let killed = waits.join().unwrap().unwrap_err();
        assert!(matches!(&killed, RemoteError::Call(CallError::Killed(a)) if a == "a"), "{killed}");
    });
}

/// A call that is given up goes on there, and takes nothing from later ones: its answer is not theirs.
#[test]
fn a_call_ends_with_its_time_limit() {
    let (_site, up, socket) = shared("");
    let remote = Remote::connect_with(&socket, Duration::from_millis(600)).unwrap();
    let (doze, count) = (bound(&remote, "doze"), bound(&remote, "count"));
    let before = number(&count, 0).unwrap();
    let start = Instant::now();
    let late = number(&doze, 3000).unwrap_err();
    assert!(matches!(late, RemoteError::Fault { kind: FaultKind::TimeOut, .. }), "{late}");
    assert!(start.elapsed() < Duration::from_millis(2500), "{:?}", start.elapsed());
    for more in 1..50 {
        assert_eq!(number(&count, 1).unwrap(), before + more);
    }
    // Its buffers are its own there until it has ended, and the caller's are the caller's.
    let slow = remote
        .bind(&Query::newest("a.slow_reverse"), "int slow_reverse(long ms, int n, char text[n])")
        .unwrap();
    let mut text = *b"given";
    let given = text.iter().map(|byte| i64::from(*byte)).sum::<i64>();
    let mut arguments = [Value::Signed(1500).into(), Value::Signed(5).into(), Data::Written(&mut text)];
    let late = slow.call(&mut arguments).unwrap_err();
    assert!(matches!(late, RemoteError::Fault { kind: FaultKind::TimeOut, .. }), "{late}");
    let told = bound(&remote, "told");
    while number(&told, 0).unwrap() == 0 {
        assert_eq!(sum(&remote, b"other").unwrap(), Value::Unsigned(b"other".map(u64::from).iter().sum()));
    }
    assert_eq!((number(&told, 0).unwrap(), &text), (given, b"given"));
    // When it has ended there, its thread is free again.
    let dozing = bound(&remote, "dozing");
    while number(&dozing, 0).unwrap() > 0 {}
    // A process that does nothing at all, in a call, and where a call would get memory.
    let other = Remote::connect_with(&socket, Duration::from_millis(600)).unwrap();
    let first = bound(&other, "count");
    let process = rustix::process::Pid::from_raw(up.id() as i32).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::STOP).unwrap();
    // (Each thread stops when it next looks.)
    let has_stopped = |task: fs::DirEntry| {
        fs::read_to_string(task.path().join("status")).is_ok_and(|status| status.contains("State:\tT"))
    };
    while !fs::read_dir(format!("/proc/{}/task", up.id())).unwrap().all(|task| has_stopped(task.unwrap())) {}
    let start = Instant::now();
    let late = number(&count, 1).unwrap_err();
    assert!(matches!(late, RemoteError::Fault { kind: FaultKind::TimeOut, .. }), "{late}");
    let late = number(&first, 1).unwrap_err();
    assert!(matches!(late, RemoteError::Late { .. }), "{late}");
    // A binding has its own limit, or that of calls.
    for (remote, query) in [
        (Remote::connect_with(&socket, Duration::from_millis(200)).unwrap(), Query::newest("a.count")),
        (Remote::connect(&socket).unwrap(), Query::newest("a.count").time_limit(Duration::from_millis(200))),
    ] {
        let late = remote.bind(&query, "long count(long)").unwrap_err();
        assert!(matches!(late, RemoteError::Late { .. }), "{late}");
        assert!(late.to_string().contains("within 200ms"), "{late}");
    }
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
}

/// Threads of the other process, clients of a user, functions, bytes. Red without each limit.
#[test]
fn clients_take_what_they_may() {
    let (_site, up, socket) = shared("");
    // (Where the test fails, its calls end.)
    let remote = Remote::connect_with(&socket, Duration::from_secs(60)).unwrap();
    let (doze, dozing) = (bound(&remote, "doze"), bound(&remote, "dozing"));
    // Another client has its own.
    let other = Remote::connect(&socket).unwrap();
    let seen = bound(&other, "dozing");
    let killed = std::thread::scope(|scope| {
        let mut waiting = Vec::new();
        for more in 1..=4 {
            waiting.push(scope.spawn(|| number(&doze, 600_000)));
            while number(&seen, 0).unwrap() != more {}
        }
        let full = number(&dozing, 0).unwrap_err();
        assert!(matches!(&full, RemoteError::Call(CallError::Threads { limit: 4, .. })), "{full}");
        let mut many = Vec::new();
        let most = loop {
            let client = Remote::connect(&socket).unwrap();
            match client.bind(&Query::newest("a.count"), "long count(long)") {
                Ok(function) => many.push(function),
                Err(refused) => break refused,
            }
        };
        // (The one that `shared` has had may have its place still.)
        assert!(
            matches!(most, RemoteError::Closed(_)) && (5..=6).contains(&many.len()),
            "{} {most}",
            many.len()
        );
        many.clear();
        // Their places are free when the process has seen their end.
        let client = loop {
            let client = Remote::connect(&socket).unwrap();
            if client.bind(&Query::newest("a.count"), "long count(long)").is_ok() {
                break client;
            }
        };
        let mut functions = Vec::new();
        let most = loop {
            match client.bind(&Query::newest("a.count"), "long count(long)") {
                Ok(function) => functions.push(function),
                Err(refused) => break refused,
            }
            assert!(functions.len() <= 256);
        };
        assert!(functions.len() == 256 && most.to_string().contains("at most 256 functions"), "{most}");
        functions.truncate(255);
        while client.bind(&Query::newest("a.count"), "long count(long)").is_err() {}
        drop(up);
        waiting.into_iter().map(|waits| waits.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(killed.iter().all(Result::is_err), "{killed:?}");
}

/// A client that speaks for itself.
struct Raw {
    socket: OwnedFd,
}

type Request = [u64; 16];
type Answer = [u64; 4];

struct Memory {
    region: Region,
    requests: Producer<Request>,
    answers: Consumer<Answer>,
}

impl Raw {
    fn new(path: &Path) -> Raw {
        let socket = seqpacket();
        rustix::net::connect(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
        Raw { socket }
    }

    fn send(&self, message: &[u8]) -> bool {
        rustix::net::send(&self.socket, message, SendFlags::NOSIGNAL).is_ok()
    }

    /// Empty: the server has closed the connection.
    fn receive(&self) -> (String, Option<OwnedFd>) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let (mut with, mut bytes) = (RecvAncillaryBuffer::new(&mut space), [0; 65536]);
        let got =
            recvmsg(&self.socket, &mut [IoSliceMut::new(&mut bytes)], &mut with, RecvFlags::CMSG_CLOEXEC);
        let length = got.map_or(0, |got| got.bytes);
        let file = with.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut files) => files.next(),
            _ => None,
        });
        (text(&bytes[..length]), file)
    }

    fn bind(&self, name: &str, prototype: &str) -> u64 {
        let ask = serde_json::json!({ "Bind": {
            "schema": 1, "name": name, "version": null, "rebind": false, "prototype": prototype,
        }});
        assert!(self.send(ask.to_string().as_bytes()));
        let (answer, _) = self.receive();
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        answer["Bound"]["function"].as_u64().unwrap_or_else(|| panic!("{answer}"))
    }

    fn line(&self) -> OwnedFd {
        assert!(self.send(b"\"Line\""));
        let (answer, file) = self.receive();
        file.expect(&answer)
    }

    fn memory(&self) -> Memory {
        Memory::new(&self.line())
    }
}

fn seqpacket() -> OwnedFd {
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap()
}

const BYTES: u64 = 4096;
const ALL: u64 = BYTES + (64 << 10);

impl Memory {
    fn new(file: &OwnedFd) -> Memory {
        let region = Region::from_file(file, 0, ALL, Rights::ReadWrite).unwrap();
        Memory {
            requests: Ring::open(&region, 0, 2).unwrap().producer(),
            answers: Ring::open(&region, 1024, 2).unwrap().consumer(),
            region,
        }
    }

    fn call(&mut self, function: u64, words: &[u64]) -> Option<Answer> {
        let mut request = [0; 16];
        request[0] = 7 << 32 | function;
        request[1..=words.len()].copy_from_slice(words);
        assert!(self.requests.send(&request, Some(Duration::from_secs(10))).unwrap());
        let answer = self.answers.receive(Some(Duration::from_secs(2))).unwrap();
        answer.map(|answer| answer.trust("the test looks at it"))
    }
}

/// Lengths that lead out of the memory, or wrap around; functions that are not there; a number of words that no prototype has.
#[test]
fn requests_are_judged() {
    let (_site, _up, socket) = shared("");
    let raw = Raw::new(&socket);
    let sum = raw.bind("a.sum", SUM);
    let mut memory = raw.memory();
    assert_eq!(memory.call(sum, &[0, 4]).unwrap()[..3], [7 << 32, 0, 0]);
    for length in [(64 << 10) + 1, 1 << 32, 1 << 63, u64::MAX, u64::MAX - 4095] {
        let answer = memory.call(sum, &[0, length]).unwrap();
        assert_eq!(answer[0], 7 << 32 | 1, "{length:#x}");
    }
    for function in [1, 255, 1 << 20, 0xffff_fffe] {
        // It ends the memory.
        let mut memory = raw.memory();
        assert!(memory.call(function, &[]).is_none(), "{function}");
    }
    assert!(memory.call(sum, &[0, 4]).is_some());
}

/// A client that writes to all of its memory all the time, while its calls are made. What it does is its own trouble.
#[test]
fn a_client_may_write_to_its_memory_at_any_time() {
    let (_site, _up, socket) = shared("");
    let honest = Remote::connect(&socket).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = fastrand::Rng::with_seed(27);
            while !is_over.load(Ordering::Relaxed) {
                let raw = Raw::new(&socket);
                let functions =
                    [raw.bind("a.sum", SUM), raw.bind("a.reverse", "int reverse(int n, char text[n])")];
                let mut memory = raw.memory();
                for _ in 0..20_000 {
                    let mut request = [0; 16];
                    request[0] = functions[random.usize(0..2)];
                    request[1] = random.u64(0..1 << 17);
                    request[2] = random.u64(0..1 << 17);
                    if random.bool() {
                        let _ = memory.requests.push(&request);
                        let _ = memory.requests.wake();
                    }
                    // Anywhere: indices, words at which it sleeps, elements, bytes.
                    let near = if random.bool() { 2048 } else { ALL };
                    let at = random.u64(0..near / 4) * 4;
                    let word = if random.bool() { random.u32(..) } else { random.u32(0..4) };
                    memory.region.slice::<u32>(at, 1).unwrap().write(0, &[word]).unwrap();
                    if random.u8(..) == 0 {
                        let _ = memory.region.wake(at);
                    }
                }
            }
        });
        let bytes: Vec<u8> = (0..1000_u32).map(|n| n as u8).collect();
        let right: u64 = bytes.iter().map(|byte| u64::from(*byte)).sum();
        for _ in 0..2000 {
            assert_eq!(sum(&honest, &bytes).unwrap(), Value::Unsigned(right));
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

/// The last close of a descriptor may wait for as long as its sender likes, on the thread that has received it: none is taken, also not on a connection
/// that nothing has been read from yet. Red where the kernel is not asked for that.
#[test]
fn no_client_sends_descriptors() {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
    if (numbers.next(), numbers.next()) < (Some(6), Some(16)) {
        println!("SKIPPED: Linux {release} sends descriptors to every socket");
        return;
    }
    let (_site, _up, socket) = shared("");
    let file = fs::File::open("/dev/null").unwrap();
    let client = Raw::new(&socket);
    for _ in 0..2 {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut with = SendAncillaryBuffer::new(&mut space);
        let files = [file.as_fd()];
        assert!(with.push(SendAncillaryMessage::ScmRights(&files)));
        let sent = sendmsg(&client.socket, &[IoSlice::new(b"x")], &mut with, SendFlags::NOSIGNAL);
        assert_eq!(sent, Err(rustix::io::Errno::PERM));
        client.bind("a.count", "long count(long)"); // it has been accepted now
    }
}

fn threads(up: &Up, name: &str) -> usize {
    let tasks = fs::read_dir(format!("/proc/{}/task", up.id())).unwrap();
    let names = tasks.filter_map(|task| fs::read_to_string(task.unwrap().path().join("comm")).ok());
    names.filter(|found| found.trim_end() == name).count()
}

/// Clients that move the threads which wait for their calls to another word, where no wake finds them, and end. Red where such a thread sleeps without a
/// time.
#[test]
fn a_client_keeps_no_thread_asleep() {
    let (_site, up, socket) = shared("");
    let folder = tempfile::tempdir().unwrap();
    let moves = folder.path().join("moves");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/moves.c");
    assert!(Command::new("cc").arg("-o").args([&moves, &source]).status().unwrap().success());
    let clients: Vec<_> = (0..4).map(|_| Raw::new(&socket)).collect();
    for client in &clients {
        let file = client.line();
        let moved = Command::new(&moves).stdin(Stdio::from(file)).status().unwrap();
        assert!(moved.success(), "{moved}");
    }
    drop(clients);
    let start = Instant::now();
    while (threads(&up, "lockgate-client"), threads(&up, "lockgate-caller")) != (0, 0) {
        assert!(start.elapsed() < Duration::from_secs(20), "threads of clients that have ended stay");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(number(&bound(&Remote::connect(&socket).unwrap(), "count"), 1).is_ok());
}

/// Messages that are none, and clients that end wherever they are. Nothing of them is left, and others are served.
#[test]
fn nothing_is_left_of_clients() {
    let (_site, up, socket) = shared("");
    let honest = Remote::connect(&socket).unwrap();
    let count = bound(&honest, "count");
    number(&count, 1).unwrap();
    let left = || ["fd", "task", "maps"].map(|of| up.count(of));
    // (Its thread has closed the memory that it sent when it answers once more.)
    drop(bound(&honest, "count"));
    // The process has seen the end of those before.
    while (threads(&up, "lockgate-client"), threads(&up, "lockgate-caller")) != (1, 1) {}
    let before = left();
    let settles = || {
        let start = Instant::now();
        while left()[..2] != before[..2] {
            assert!(start.elapsed() < Duration::from_secs(20), "{before:?} {:?}", left());
            std::thread::yield_now();
        }
    };
    let messages: [&[u8]; 6] = [b"", b"{", b"null", b"\"Line\"x", &[0xff; 100], &[b'['; 40_000]];
    for message in messages {
        let raw = Raw::new(&socket);
        raw.send(message);
        let (answer, _) = raw.receive();
        assert!(answer.is_empty(), "{answer}");
    }
    let raw = Raw::new(&socket);
    let long = "long f(struct { ".repeat(500);
    let ask = serde_json::json!({ "Bind": {
        "schema": 1, "name": "a.sum", "version": [65535, 65535], "rebind": true, "prototype": long,
    }});
    raw.send(ask.to_string().as_bytes());
    assert!(raw.receive().0.contains("Refused"));
    drop(raw);
    for step in 0..40 {
        let raw = Raw::new(&socket);
        match step % 5 {
            0 => continue,
            1 => drop(raw.send(b"\"Line\"")),
            2 => drop(raw.memory()),
            3 => {
                // In the middle of a call.
                let (doze, mut memory) = (raw.bind("a.doze", "long doze(long)"), raw.memory());
                assert!(
                    memory.requests.push(&[doze, 300, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap()
                );
                memory.requests.wake().unwrap();
            }
            _ => {
                // It takes no answers.
                for _ in 0..50 {
                    raw.send(b"{\"Bind\":{\"schema\":1,\"name\":\"x\",\"version\":null,\"rebind\":false,\"prototype\":\"int f(void)\"}}");
                }
            }
        }
        assert!(number(&count, 1).is_ok());
        drop(raw);
        settles();
    }
    let connect = |times: u32| {
        for _ in 0..times {
            let client = Remote::connect(&socket).unwrap();
            match client.bind(&Query::newest("a.count"), "long count(long)") {
                Ok(count) => drop(number(&count, 1).unwrap()),
                // (Places of those before are not free yet.)
                Err(error) => assert!(matches!(error, RemoteError::Closed(_)), "{error}"),
            }
        }
        settles();
        left()[2]
    };
    // (Stacks of threads and arenas of allocators are made when they are first needed, some tens.)
    let maps = connect(300);
    let more = connect(if support::thorough() { 10_000 } else { 1_000 });
    assert!(more <= maps + 64, "mappings: {maps}, {more}");
}

/// A server that lies, or does nothing: the client gets an error, in its time.
#[test]
fn a_server_may_answer_anything() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("liar");
    let listener = seqpacket();
    bind(&listener, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    listen(&listener, 8).unwrap();
    let bound = br#"{"Bound":{"function":0,"domain":"a"}}"#;
    let good = (ALL, SealFlags::SHRINK | SealFlags::GROW);
    let lies: [(&str, Sent, Lie); 16] = [
        ("bound", None, Lie::Binds(b"{}")),
        ("bound", None, Lie::Binds(b"")),
        ("bound", None, Lie::Binds(b"\"Line\"")),
        ("line", None, Lie::Nothing),
        ("line", Some((ALL, SealFlags::GROW)), Lie::Nothing),
        ("line", Some((ALL, SealFlags::SHRINK)), Lie::Nothing),
        ("line", Some((BYTES, good.1)), Lie::Nothing),
        ("line", Some((1 << 40, good.1)), Lie::Nothing),
        ("call", Some(good), Lie::Closes),
        ("call", Some(good), Lie::Nothing),
        ("call", Some(good), Lie::Answers([[9 << 32, 0, 1, 1]; 2])),
        ("call", Some(good), Lie::Answers([[1 << 32 | 7, 0, 1, 1]; 2])),
        ("call", Some(good), Lie::Answers([[1 << 32 | 1, u64::MAX, 1, 1]; 2])),
        ("call", Some(good), Lie::Answers([[1 << 32 | 1, 4096, 1, 1]; 2])),
        ("again", Some(good), Lie::Answers([[1 << 32, 0, 5, 0]; 2])),
        ("call", Some(good), Lie::Index(77)),
    ];
    for (step, memory, lie) in lies {
        std::thread::scope(|scope| {
            let listener = &listener;
            let lie = &lie;
            let serves = scope.spawn(move || {
                let socket = Raw { socket: accept(listener).unwrap() };
                socket.receive();
                if let Lie::Binds(answer) = lie {
                    socket.send(answer);
                    return socket.receive();
                }
                socket.send(bound);
                socket.receive();
                let file = memory.map(|(length, seals)| {
                    let file = memfd_create("lie", MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC).unwrap();
                    ftruncate(&file, length).unwrap();
                    fcntl_add_seals(&file, seals).unwrap();
                    file
                });
                send_with(&socket.socket, b"\"Line\"", file.as_ref());
                if let Some(file) = file.filter(|_| step != "line") {
                    let region = Region::from_file(&file, 0, ALL, Rights::ReadWrite).unwrap();
                    let mut answers = Ring::<Answer>::open(&region, 1024, 2).unwrap().producer();
                    match lie {
                        Lie::Answers(all) => all.iter().for_each(|answer| {
                            assert!(answers.push(answer).unwrap());
                            answers.wake().unwrap();
                        }),
                        Lie::Index(index) => {
                            region.slice::<u32>(1024 + 64, 1).unwrap().write(0, &[*index]).unwrap();
                        }
                        Lie::Closes => return (String::new(), None),
                        _ => {}
                    }
                }
                socket.receive()
            });
            let remote = Remote::connect_with(&path, Duration::from_millis(200)).unwrap();
            let start = Instant::now();
            let called = remote.bind(&Query::newest("a.count"), "long count(long)").and_then(|count| {
                let first = number(&count, 1);
                if step == "again" { first.and_then(|_| number(&count, 1)) } else { first }
            });
            let error = called.expect_err("it was believed");
            assert!(start.elapsed() < Duration::from_secs(3), "{step} {lie:?}");
            let right = match (&error, lie) {
                (RemoteError::Closed(_), Lie::Binds(b"")) => true,
                (RemoteError::Call(CallError::Killed(_)), Lie::Closes) => true,
                (RemoteError::Fault { kind: FaultKind::TimeOut, .. }, Lie::Nothing) => step == "call",
                (RemoteError::Nonsense(_), _) => true,
                _ => false,
            };
            assert!(right, "{step} {lie:?}: {error}");
            drop(remote);
            serves.join().unwrap();
        });
    }
}

/// Length and seals of the memory that is sent.
type Sent = Option<(u64, SealFlags)>;

#[derive(Debug)]
enum Lie {
    Nothing,
    Closes,
    Binds(&'static [u8]),
    /// Before it was asked.
    Answers([Answer; 2]),
    Index(u32),
}

fn send_with(socket: &OwnedFd, message: &[u8], file: Option<&OwnedFd>) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut with = SendAncillaryBuffer::new(&mut space);
    let files: Vec<_> = file.iter().map(|file| file.as_fd()).collect();
    if !files.is_empty() {
        with.push(SendAncillaryMessage::ScmRights(&files));
    }
    sendmsg(socket, &[IoSlice::new(message)], &mut with, SendFlags::NOSIGNAL).unwrap();
}

/// The kernel says who asks, and all clients together are not too many. Red without the principal of the peer.
#[test]
fn another_user_may_bind_nothing() {
    if !rustix::process::geteuid().is_root() {
        return support::skipped("another user's client", "only root can be another user");
    }
    let (site, _up, socket) = shared("");
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    // The folder and the mode of the socket keep others out; here they do not.
    for open in [site.path("."), site.path("run"), site.path("run/lockgate"), socket.clone()] {
        fs::set_permissions(open, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let bind = |remote: &Remote| remote.bind(&Query::newest("a.count"), "long count(long)").map(drop);
    let clients_of = |user: u32| {
        let of_user = || {
            // (Of this thread alone.)
            let (root, user) = (rustix::process::Uid::ROOT, rustix::process::Uid::from_raw(user));
            rustix::thread::set_thread_res_uid(root, user, root).unwrap();
            let clients: Vec<_> = (0..8).map(|_| Remote::connect(&socket).unwrap()).collect();
            let refused: Vec<_> =
                clients.iter().map(|client| bind(client).unwrap_err().to_string()).collect();
            (clients, refused)
        };
        std::thread::scope(|scope| scope.spawn(of_user).join().unwrap())
    };
    let mut clients = Vec::new();
    for user in 65531..65535 {
        let (of_user, refused) = clients_of(user);
        let forbidden = format!("user {user} may not bind a.count");
        // (The connection that `shared` has had may have its place still.)
        assert!(refused.iter().take(7).all(|refused| refused.contains(&forbidden)), "{refused:#?}");
        clients.extend(of_user);
    }
    // All places are theirs now.
    let full: Vec<_> = (0..2).map(|_| Remote::connect(&socket).unwrap()).collect();
    assert!(full.iter().any(|client| matches!(bind(client), Err(RemoteError::Closed(_)))));
}

/// A name is one process's at a time; what ended without taking its socket away is no process. Other files stay what they are.
#[test]
fn a_name_is_one_process_s() {
    let (site, up, socket) = shared("");
    let other = Site::of(&format!("[programs.a]\nmodule = 'share.lg'\n{EXPORTS}\n"));
    fs::copy(&*MODULE, other.path("share.lg")).unwrap();
    let path = socket.to_str().unwrap().to_owned();
    let refused = other.up_with(&["--share", &path]).ends(125);
    assert!(refused.iter().any(|line| line.contains("is another process's")), "{refused:#?}");
    drop(up); // by SIGKILL: its socket stays
    assert!(socket.exists());
    let mut next = other.up_with(&["--share", &path]);
    next.until("serves");
    assert!(Remote::connect(&socket).is_ok());
    next.term();
    next.ends(0);
    assert!(!socket.exists());
    // All that may read the folder may lock it, for ever.
    let folder = fs::File::open(other.path(".")).unwrap();
    folder.lock().unwrap();
    let path = other.path("mine");
    drop(serve(&Registry::new(), &path, Offer::new().name("x")).unwrap());
    use std::os::unix::fs::MetadataExt as _;
    assert_eq!(fs::metadata(other.path("mine.lock")).unwrap().mode() & 0o777, 0o600);
    let lock = fs::File::open(other.path("mine.lock")).unwrap();
    lock.lock().unwrap();
    let refused = serve(&Registry::new(), &path, Offer::new().name("x")).unwrap_err();
    assert!(refused.to_string().contains("mine.lock, the lock of those"), "{refused}");
    let file = other.path("file");
    fs::write(&file, "mine").unwrap();
    let refused = serve(&Registry::new(), &file, Offer::new().name("x")).unwrap_err();
    assert!(matches!(refused, ShareError::Listen { .. }), "{refused}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    let nothing = Site::of("[programs.a]\nmodule = 'share.lg'\nexports = { count = 'count' }\n");
    fs::copy(&*MODULE, nothing.path("share.lg")).unwrap();
    let refused = nothing.up_with(&["--share", "x"]).ends(125);
    assert!(refused.iter().any(|line| line.contains("has the key share")), "{refused:#?}");
    drop(site);
}

/// `--check` and the start say where no client could bind, by file and line. Red without the comparison: they say that all is well.
#[test]
fn what_no_client_could_bind_is_a_mistake() {
    let site = Site::of("");
    fs::copy(&*MODULE, site.path("share.lg")).unwrap();
    for (share, expected) in [
        ("'unsigned sum(const short data[n], size_t n)'", None),
        ("'unsigned sum(const unsigned char data[n], unsigned n)'", Some("uint64_t against uint32_t")),
        ("'long sum(const unsigned char data[n], size_t n)'", Some("uint32_t against int64_t")),
        ("'unsigned sum(const unsigned char *data, size_t n)'", Some("is a pointer")),
        ("true", Some("is a pointer")),
    ] {
        let file =
            format!("[programs.a]\nmodule = 'share.lg'\n[programs.a.exports]\nsum = {{ share = {share} }}\n");
        fs::write(site.path("lockgate.toml"), file).unwrap();
        let check = site.ask("up", &["--check"]);
        let err = text(&check.stderr);
        // (The note has no types behind pointers.)
        assert_eq!(check.status.success(), expected.is_none(), "{share}: {err}");
        if let Some(expected) = expected {
            assert!(err.contains("lockgate.toml:4: ") && err.contains(expected), "{share}: {err}");
        }
    }
}

/// What the page has its reader write and run: the blocks of code are its files, the indented lines its commands.
#[test]
fn the_start_of_the_page_works() {
    const CALLS: &str = include_str!("../../../docs/program-calls.md");
    const PAGE: &str = include_str!("../../../docs/sharing.md");
    let block = |page: &'static str, begins: &str| {
        let block = page.split("```").find(|block| block.contains(begins)).expect(begins);
        block.split_once('\n').expect("a language").1
    };
    let site = Site::of(block(PAGE, "[programs.store]"));
    fs::write(site.path("store.c"), block(CALLS, "// store.c")).unwrap();
    fs::write(site.path("codec.c"), block(PAGE, "// codec.c")).unwrap();
    let (_, start) = PAGE.split_once("\n## Start\n").unwrap();
    let (start, _) = start.split_once("\n## ").unwrap();
    let commands: Vec<&str> = start.lines().filter_map(|line| line.strip_prefix("    lockgate ")).collect();
    let run = |command: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec \"$0\" {command}"), env!("CARGO_BIN_EXE_lockgate")]);
        let run = shell.current_dir(site.path("")).env("XDG_RUNTIME_DIR", site.path("run")).output().unwrap();
        assert!(run.status.success(), "{command}: {}", text(&run.stderr));
        text(&run.stdout)
    };
    let (builds, others): (Vec<&str>, Vec<&str>) =
        commands.into_iter().partition(|command| command.starts_with("cc "));
    let (ups, calls): (Vec<&str>, Vec<&str>) =
        others.into_iter().partition(|command| command.starts_with("up "));
    assert_eq!((builds.len(), ups, calls.len()), (2, vec!["up --share shop shop.toml"], 2));
    for command in builds {
        run(command);
    }
    let mut up = site.up_with(&["--share", "shop"]);
    up.until_all(&["store: started", "codec: started"]);
    // A program takes calls from when its first thread sleeps.
    let remote = Remote::connect(site.path("run/lockgate/shop.share")).unwrap();
    let take = || remote.bind(&Query::newest("store.take"), "long take(long)");
    while take().is_err() {}
    let crc = "uint32_t crc(const uint8_t data[n], size_t n)";
    while remote.bind(&Query::newest("codec.crc"), crc).is_err() {}
    let answers: Vec<String> = calls.into_iter().map(run).collect();
    let left: i64 = answers[0].trim().parse().expect("a number");
    assert!((70..1000).contains(&left), "{answers:?}"); // (100 at first, and 10 more each second)
    assert_eq!(answers[1], "3421780262\n");
    assert!(start.contains("prints 3421780262"));
    up.term();
    up.ends(0);
}
