//! `programs.redis.<command>.<how>`: one command of Redis with a value of three bytes, its answer compared: `called` through a function of a Redis that
//! runs as a program beside the caller (examples/redis), `unix_socket` by a connection to an ordinary one, `unix_socket_in_domain` to the one that is
//! also called, and `looked_up` the value alone, without a command around it. `programs.redis.<command>.ratio` is how many times as long as a call a round trip to the ordinary one takes on the same CPU,
//! round by round. `make redis` builds both.

use super::{TIMEOUT, left, ratio};
use crate::interleave::{Side, interleave};
use crate::preset::STRICTEST;
use crate::{Metric, Options, Pinned};
use anyhow::{Context as _, ensure};
use lockgate::syscall::{Access, Grants};
use lockgate::{Domain, DomainOptions, Module, Pointer, Program};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// Samples of a full run.
const ROUNDS: usize = 200;
/// Commands in one sample of each kind.
const CALLS: u32 = 1000;
const ROUND_TRIPS: u32 = 50;
/// Room for an answer.
const ROOM: usize = 4096;

/// Commands, and what is answered.
const COMMANDS: &[(&str, &[&str], &[u8])] = &[
    ("ping", &["PING"], b"+PONG\r\n"),
    ("set", &["SET", "key:000000000001", "xxx"], b"+OK\r\n"),
    ("get", &["GET", "key:000000000001"], b"$3\r\nxxx\r\n"),
];

/// A command as connections carry it.
fn request(arguments: &[&str]) -> String {
    let each = arguments.iter().map(|argument| format!("${}\r\n{argument}\r\n", argument.len()));
    format!("*{}\r\n", arguments.len()) + &each.collect::<String>()
}

/// An ordinary Redis, ended when dropped.
struct Native(Child);

impl Native {
    fn start(program: &Path, socket: &Path, cpu: usize) -> anyhow::Result<Native> {
        let mut command = Command::new("taskset");
        command.args(["-c", &cpu.to_string()]).arg(program).args(arguments(socket)).stdout(Stdio::null());
        Ok(Native(command.spawn().context("cannot start redis-server")?))
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        // It has nothing to keep.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server on a socket alone, that saves nothing.
fn arguments(socket: &Path) -> [String; 10] {
    let socket = socket.display().to_string();
    let debug = "--enable-debug-command"; // which waits in the middle of a command
    ["--port", "0", "--save", "", "--appendonly", "no", debug, "yes", "--unixsocket", &socket]
        .map(str::to_owned)
}

/// Connects, once the server listens.
fn connect(socket: &Path) -> anyhow::Result<UnixStream> {
    let until = Instant::now() + TIMEOUT;
    loop {
        match UnixStream::connect(socket) {
            Ok(stream) => return Ok(stream),
            Err(error) if Instant::now() > until => return Err(error).context("no Redis listens"),
            Err(_) => std::thread::yield_now(),
        }
    }
}

/// Measures every command in every way; none if there is no Redis.
pub fn measure(options: &Options, folder: &Path, pinned: &Pinned) -> anyhow::Result<Option<Vec<Metric>>> {
    let (native, module) = (left("redis/native/src/redis-server")?, left("redis/redis-call.lg")?);
    let (Some(native), Some(module)) = (native, module) else { return Ok(None) };
    let module = Module::open(module)?;
    let socket = |name: &str| folder.join(name).with_extension("sock");

    let (own, ordinary, other) = (socket("own"), socket("ordinary"), socket("other"));
    let _beside = Native::start(&native, &ordinary, pinned.cpu())?;
    let elsewhere = pinned.other().map(|cpu| Native::start(&native, &other, cpu)).transpose()?;
    let guest = folder.to_str().context("a temporary folder's name is text")?;
    let grants = Grants::default()
        .directory(guest, folder, Access::ReadWrite)?
        .listen(&format!("unix:{}", own.display()))?;
    let arguments = ["redis-server".to_owned()].into_iter().chain(arguments(&own));
    let program = Program::new(
        &module,
        DomainOptions::new()
            .name("redis")
            .grants(grants)
            .arguments(arguments)
            .max_guest_threads(8)
            .descriptor_limit(20_000)
            .serialize(TIMEOUT),
    )?;
    let (domain, signals) = (program.domain(), program.signals());
    std::thread::scope(|scope| {
        let runs = scope.spawn(|| program.run());
        let measured = (|| {
            let streams =
                [("unix_socket_same_cpu", ordinary), ("unix_socket_in_domain_same_cpu", own)].into_iter();
            let streams =
                streams.chain(elsewhere.as_ref().map(|_| ("unix_socket_other_cpu_sleeping", other)));
            let streams = streams.map(|(how, socket)| anyhow::Ok((how, connect(&socket)?)));
            let streams: Vec<(&str, UnixStream)> = streams.collect::<anyhow::Result<_>>()?;
            ensure!(signals.wait_until_begun(), "Redis has ended");
            commands_are_whole(&domain)?;
            compare(options, &domain, &streams)
        })();
        signals.send(libc::SIGTERM as u32);
        let end = runs.join().expect("a program does not panic");
        ensure!(measured.is_err() || end.outcome.is_ok(), "Redis failed: {end:?}");
        measured.map(Some)
    })
}

/// What calls see of commands that wait in their middle, that would block, and of a user that is deleted.
fn commands_are_whole(domain: &Domain) -> anyhow::Result<()> {
    let (one, other) = (Called::new(domain)?, Called::new(domain)?);
    let says = |who: &Called<'_>, command: &str, answer: &str| {
        who.run(format!("{command}\r\n").as_bytes(), |reply| ensure_same(command, reply, answer.as_bytes()))
    };
    says(&one, "SET key:000000000001 000", "+OK\r\n")?;
    says(&one, "MULTI", "+OK\r\n")?;
    for command in ["SET key:000000000001 111", "DEBUG SLEEP 0.1", "SET key:000000000001 xxx"] {
        says(&one, command, "+QUEUED\r\n")?;
    }
    std::thread::scope(|scope| {
        let looks = scope.spawn(|| {
            loop {
                match other.looked_up()? {
                    value if value == *b"000" => std::thread::yield_now(),
                    value => return anyhow::Ok(value),
                }
            }
        });
        says(&one, "EXEC", "*3\r\n+OK\r\n+OK\r\n+OK\r\n")?;
        let value = looks.join().expect("it does not panic")?;
        ensure!(value == *b"xxx", "a call has looked into the middle of a transaction: {value:?}");
        anyhow::Ok(())
    })?;
    says(&one, "WAIT 1 1000", ":0\r\n")?;
    says(&one, "PING", "+PONG\r\n")?;
    says(&one, "ACL SETUSER guest on nopass allkeys allcommands", "+OK\r\n")?;
    says(&other, "AUTH guest any", "+OK\r\n")?;
    says(&one, "ACL DELUSER guest", ":1\r\n")?;
    ensure!(other.answer(b"PING\r\n")? == -1, "a user that has been deleted has commands");
    Ok(())
}

fn compare(
    options: &Options,
    domain: &Domain,
    streams: &[(&str, UnixStream)],
) -> anyhow::Result<Vec<Metric>> {
    let called = Called::new(domain)?;
    let mut sides = Vec::new();
    for (name, arguments, answer) in COMMANDS {
        let command = |reply: &[u8]| ensure_same(name, reply, answer);
        let call = &called;
        let sizes: Vec<i64> = arguments.iter().map(|argument| argument.len() as i64).collect();
        let bytes = arguments.concat();
        sides.push(Side::repeated(format!("programs.redis.{name}.called_same_cpu"), CALLS, move || {
            call.command(&sizes, bytes.as_bytes(), |reply| command(reply))
        }));
        for (how, stream) in streams {
            let request = request(arguments);
            sides.push(Side::repeated(format!("programs.redis.{name}.{how}"), ROUND_TRIPS, move || {
                let (mut stream, mut reply) = (stream, [0; ROOM]);
                stream.write_all(request.as_bytes())?;
                let length = stream.read(&mut reply)?;
                command(&reply[..length])
            }));
        }
    }
    let get = &called;
    sides.push(Side::repeated("programs.redis.get.looked_up_same_cpu", CALLS, move || {
        ensure_same("get", &get.looked_up()?, b"xxx")
    }));
    let samples = interleave("redis", options, ROUNDS, sides)?;
    let ways = samples.len() / COMMANDS.len();
    let ratios = samples
        .chunks(ways)
        .zip(COMMANDS)
        .map(|(ways, (name, ..))| ratio(format!("programs.redis.{name}.ratio"), &ways[1], &ways[0]));
    // (Of `get`, the last command.)
    let socket = &samples[samples.len() - ways];
    let looked_up =
        ratio("programs.redis.get.looked_up.ratio".to_owned(), socket, &samples[samples.len() - 1]);
    Ok(ratios.chain([looked_up]).chain(samples.iter().map(|samples| samples.metric("ns"))).collect())
}

fn ensure_same(command: &str, reply: &[u8], expected: &[u8]) -> anyhow::Result<()> {
    ensure!(reply == expected, "{command} answered {:?}", String::from_utf8_lossy(reply));
    Ok(())
}

type Call = extern "C" fn(Pointer<u8>, Pointer<u8>, i64, Pointer<u8>, i64) -> i64;

type OneCommand = extern "C" fn(Pointer<u8>, i64, Pointer<i64>, Pointer<u8>, Pointer<u8>, i64) -> i64;

type Get = extern "C" fn(Pointer<u8>, i64, Pointer<u8>, i64) -> i64;

/// The functions of `examples/redis/call.c`, with room for requests and answers in the domain.
struct Called<'a> {
    domain: &'a Domain,
    call: lockgate::Function<Call>,
    command: lockgate::Function<OneCommand>,
    get: lockgate::Function<Get>,
    client: Pointer<u8>,
    place: Pointer<u8>,
    sizes: Pointer<i64>,
}

impl<'a> Called<'a> {
    fn new(domain: &'a Domain) -> anyhow::Result<Self> {
        let client =
            domain.bind_with::<extern "C" fn() -> Pointer<u8>>("redis_open", STRICTEST.policy)?.call()?;
        let call = domain.bind_with("redis_call", STRICTEST.policy)?;
        let command = domain.bind_with("redis_command", STRICTEST.policy)?;
        let get = domain.bind_with("redis_get", STRICTEST.policy)?;
        let (place, sizes) = (domain.alloc(ROOM)?, domain.alloc(ROOM)?);
        Ok(Self { domain, call, command, get, client, place, sizes })
    }

    /// Runs a command, whose answer lies in the domain then: its length.
    fn answer(&self, request: &[u8]) -> anyhow::Result<i64> {
        self.domain.write_slice(self.place, request)?;
        Ok(self.call.call(self.client, self.place, request.len() as i64, self.place, ROOM as i64)?)
    }

    /// Runs a command as a connection carries it, and lets `look` see the answer.
    fn run(&self, request: &[u8], look: impl Fn(&[u8]) -> anyhow::Result<()>) -> anyhow::Result<()> {
        self.see(self.answer(request)?, look)
    }

    /// The same for a command whose arguments have these sizes, one behind another.
    fn command(
        &self,
        sizes: &[i64],
        arguments: &[u8],
        look: impl Fn(&[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        self.domain.write_slice(self.sizes, sizes)?;
        self.domain.write_slice(self.place, arguments)?;
        let (place, room) = (self.place, ROOM as i64);
        let length = self.command.call(self.client, sizes.len() as i64, self.sizes, place, place, room)?;
        self.see(length, look)
    }

    /// An answer of this length.
    fn see(&self, length: i64, look: impl Fn(&[u8]) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let mut reply = [0; ROOM];
        let reply = usize::try_from(length).ok().and_then(|length| reply.get_mut(..length));
        let reply = reply.context("an impossible length")?;
        self.domain.read_into(self.place, reply)?;
        look(reply)
    }

    /// Looks a value up without a command.
    fn looked_up(&self) -> anyhow::Result<[u8; 3]> {
        let (key, mut value) = (b"key:000000000001", [0; 3]);
        self.domain.write_slice(self.place, key)?;
        let length = self.get.call(self.place, key.len() as i64, self.place, ROOM as i64)?;
        ensure!(length == value.len() as i64, "an impossible length");
        self.domain.read_into(self.place, &mut value)?;
        Ok(value)
    }
}
