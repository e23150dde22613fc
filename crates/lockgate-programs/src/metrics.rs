//! Figures of programs that run, in Prometheus' text format (version 0.0.4), for every client that can connect to an address.
//!
//! Nothing is asked of the programs, and nothing can be changed here. One request a connection, with limits.

use crate::plan::State;
use crate::run::{Handle, Status};
use crate::server::{self, Accepting, Lock, Place, Socket};
use crate::spec::Address;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{RecvFlags, SendFlags, SocketType, recv, send};
use std::fmt::Write as _;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// Bytes of a request's head.
const REQUEST: usize = 8 << 10;

/// How long a request and its answer may take together.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A figure of a program; none where it does not run.
type Figure = fn(&Status) -> Option<f64>;

/// Name, type, meaning and value of each figure.
const FAMILIES: &[(&str, &str, &str, Figure)] = &[
    ("runs_total", "counter", "Runs that have begun.", |s| Some(s.totals.runs as f64)),
    ("restarts_total", "counter", "Restarts.", |s| Some(s.restarts as f64)),
    ("faults_total", "counter", "Runs that a crash, a limit or a kill has ended.", |s| {
        Some(s.totals.faults as f64)
    }),
    ("last_exit_status", "gauge", "Exit status of the last run that has ended.", |s| {
        Some(f64::from(s.end.as_ref()?.exit_status()))
    }),
    ("cpu_seconds_total", "counter", "CPU time of all runs.", |s| Some(s.totals.cpu_time.as_secs_f64())),
    ("memory_bytes", "gauge", "Memory of the domain: image, stacks, heap and mappings.", |s| {
        Some(s.usage?.memory as f64)
    }),
    ("memory_peak_bytes", "gauge", "The most memory since the run began.", |s| {
        Some(s.usage?.peak_memory as f64)
    }),
    ("memory_limit_bytes", "gauge", "The limit of memory.", |s| Some(s.usage?.memory_limit as f64)),
    ("threads", "gauge", "Threads that have a place in the domain.", |s| Some(f64::from(s.usage?.threads))),
    ("descriptors", "gauge", "Open descriptors.", |s| Some(f64::from(s.usage?.descriptors))),
    ("calls", "gauge", "Calls in progress, the one of its main function among them.", |s| {
        Some(f64::from(s.usage?.calls))
    }),
    ("written_lines_total", "counter", "Lines written to standard output and standard error.", |s| {
        Some(s.totals.written.lines as f64)
    }),
    ("written_bytes_total", "counter", "Bytes of these lines.", |s| Some(s.totals.written.bytes as f64)),
    (
        "denied_total",
        "counter",
        "What runs that have ended tried and was not granted, such as addresses.",
        |s| Some(s.totals.denied as f64),
    ),
    (
        "refused_system_calls_total",
        "counter",
        "System calls that do not exist for a program, in runs that have ended.",
        |s| Some(s.totals.refused_syscalls as f64),
    ),
];

/// All figures of these programs, as a scraper reads them.
pub fn text(programs: &[Status]) -> String {
    let mut text = String::new();
    let head = |text: &mut String, name: &str, kind: &str, help: &str| {
        let _ =
            write!(text, "# HELP lockgate_program_{name} {help}\n# TYPE lockgate_program_{name} {kind}\n");
    };
    head(&mut text, "state", "gauge", "1 for what the program is doing, 0 for what it could be doing.");
    for program in programs {
        for state in State::ALL {
            let is_it = u8::from(program.state == state);
            let (label, state) = (label(&program.name), state.name());
            let _ = writeln!(text, "lockgate_program_state{{program=\"{label}\",state=\"{state}\"}} {is_it}");
        }
    }
    for (name, kind, help, figure) in FAMILIES {
        head(&mut text, name, kind, help);
        for program in programs {
            if let Some(value) = figure(program) {
                let label = label(&program.name);
                let _ = writeln!(text, "lockgate_program_{name}{{program=\"{label}\"}} {value}");
            }
        }
    }
    text
}

/// A label's value, as the format wants it.
fn label(text: &str) -> String {
    text.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n")
}

/// An address at which figures can be had.
#[derive(Debug)]
pub struct Server {
    listener: Listener,
    socket: Option<Socket>,
}

#[derive(Debug)]
enum Listener {
    Tcp(TcpListener),
    Unix(OwnedFd),
}

impl Server {
    /// Listens on `address`; answers once it [serves](Server::serve). A UNIX socket at which none listens any more is replaced.
    ///
    /// # Errors
    /// The kernel's: the address is taken, or not this machine's.
    pub fn new(address: &Address) -> io::Result<Server> {
        Ok(match address {
            Address::Tcp(address) => {
                Server { listener: Listener::Tcp(TcpListener::bind(address)?), socket: None }
            }
            Address::Unix(path) => {
                // (Its mode is what the user's mask leaves: others may be meant to read figures.)
                let socket = server::unbound(SocketType::STREAM)?;
                match server::take_over(socket, path, &Lock::Beside)? {
                    Place::Own(listener, name) => {
                        Server { listener: Listener::Unix(listener), socket: Some(name) }
                    }
                    Place::Others(_) => return Err(Errno::ADDRINUSE.into()),
                }
            }
        })
    }

    /// Its address, where that is TCP: port 0 has become one.
    pub fn address(&self) -> Option<SocketAddr> {
        match &self.listener {
            Listener::Tcp(listener) => listener.local_addr().ok(),
            Listener::Unix(_) => None,
        }
    }

    /// Answers from now on, on a thread of its own, until what is returned is dropped. The name of a UNIX socket goes with that.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn serve(self, handle: Handle) -> io::Result<Accepting> {
        let Server { listener, socket } = self;
        let listener = match listener {
            Listener::Tcp(listener) => listener.into(),
            Listener::Unix(listener) => listener,
        };
        let answer = move |connection: OwnedFd| {
            let _ = reply(&connection, || text(&handle.status()));
        };
        server::serve("lockgate-metrics", listener, socket, |_| true, answer)
    }
}

/// Answers one request.
fn reply(connection: &OwnedFd, figures: impl FnOnce() -> String) -> io::Result<()> {
    let until = Instant::now() + TIMEOUT;
    let request = head(connection, until)?;
    let mut words = request.split(|byte| byte.is_ascii_whitespace());
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split(|byte| *byte == b'?').next().unwrap_or_default();
    let (status, kind, body) = match (method, path) {
        (b"GET" | b"HEAD", b"/metrics") => ("200 OK", "text/plain; version=0.0.4; charset=utf-8", figures()),
        (b"GET" | b"HEAD", _) => ("404 Not Found", "text/plain", "Figures are at /metrics.\n".to_owned()),
        _ => ("405 Method Not Allowed", "text/plain", "Figures can be read: GET /metrics.\n".to_owned()),
    };
    let length = body.len();
    let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
    let mut answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{allow}Connection: close\r\n\r\n"
    );
    if method != b"HEAD" {
        answer += &body;
    }
    let mut rest = answer.as_bytes();
    while !rest.is_empty() {
        set_socket_timeout(connection, Timeout::Send, Some(left(until)?))?;
        match send(connection, rest, SendFlags::NOSIGNAL) {
            Ok(sent) => rest = &rest[sent..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// A request's lines, up to the empty one.
fn head(connection: &OwnedFd, until: Instant) -> io::Result<Vec<u8>> {
    let mut request = Vec::new();
    let mut bytes = [0; 1024];
    loop {
        set_socket_timeout(connection, Timeout::Recv, Some(left(until)?))?;
        match recv(connection, &mut bytes, RecvFlags::empty()) {
            Ok((0, _)) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok((count, _)) => request.extend(&bytes[..count]),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if request.windows(4).any(|end| end == b"\r\n\r\n") || request.windows(2).any(|end| end == b"\n\n") {
            return Ok(request);
        }
        if request.len() > REQUEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
}

/// What is left of the time, never zero, which would be for ever.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left < Duration::from_millis(1) { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;

    /// What a request is answered.
    fn answer(request: &[u8]) -> String {
        let (mut one, other) = UnixStream::pair().unwrap();
        one.write_all(request).unwrap();
        one.shutdown(std::net::Shutdown::Write).unwrap();
        let _ = reply(&other.into(), || "figures\n".to_owned());
        let mut text = String::new();
        // (What is closed with bytes that were not read ends with an error.)
        let _ = one.read_to_string(&mut text);
        text
    }

    #[test]
    fn figures_are_at_one_place_and_are_read_only() {
        let text = answer(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\nfigures\n"), "{text}");
        assert!(answer(b"GET /metrics?a=b HTTP/1.0\n\n").contains("Content-Length: 8\r\n"));
        let text = answer(b"HEAD /metrics HTTP/1.1\r\n\r\n");
        assert!(text.contains("Content-Length: 8\r\n") && text.ends_with("\r\n\r\n"), "{text}");
        assert!(answer(b"GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(answer(b"POST /metrics HTTP/1.1\r\n\r\n").contains("405 Method Not Allowed\r\n"));
    }

    #[test]
    fn what_is_no_request_gets_no_answer() {
        assert_eq!(answer(b""), "");
        assert_eq!(answer(b"GET /metrics HTTP/1.1\r\n"), "");
        assert_eq!(answer(&vec![b'a'; 2 * REQUEST]), "");
        assert!(answer(b"\r\n\r\n").starts_with("HTTP/1.1 405 "));
    }

    #[test]
    fn names_cannot_forge_figures() {
        let name = "a\"} 1\nlockgate_program_threads{program=\"b";
        assert_eq!(label(name), "a\\\"} 1\\nlockgate_program_threads{program=\\\"b");
        assert_eq!(label(r"\"), r"\\");
    }
}
