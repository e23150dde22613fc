//! What the two processes say to each other on their socket, and of calls that fail. Neither believes it: texts are bounded and printed without what
//! a terminal obeys.

use super::RemoteError;
use super::shape::Shape;
use lockgate::signature::Mismatch;
use lockgate::{CallError, FaultKind, Holder, RegistryError, Version};
use serde::{Deserialize, Serialize};

/// Layout of messages and of memory.
pub const SCHEMA: u32 = 1;

/// Bytes of a message.
pub const MESSAGE: usize = 16 << 10;

/// Bytes of what is said of a call that failed.
pub const SAID: usize = 4096;

/// What a client asks for. Each is answered, but for `Unbind`.
#[derive(Debug, Serialize, Deserialize)]
pub enum Ask {
    Bind {
        schema: u32,
        name: String,
        version: Option<[u16; 2]>,
        rebind: bool,
        prototype: String,
    },
    Unbind {
        function: u32,
    },
    /// Memory for calls, and a thread that makes them.
    Line,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    Bound {
        function: u32,
        domain: String,
    },
    /// The memory comes along as a descriptor.
    Line,
    Refused(Refused),
}

/// Why something was not bound.
#[derive(Debug, Serialize, Deserialize)]
pub enum Refused {
    Unknown,
    Forbidden {
        principal: String,
    },
    Version {
        known: String,
    },
    /// The server's signature.
    Signature {
        signature: String,
    },
    Threads {
        limit: u32,
    },
    Other(String),
}

impl Refused {
    pub fn of(error: RegistryError) -> Refused {
        match error {
            RegistryError::Unknown { .. } => Refused::Unknown,
            RegistryError::Forbidden { principal, .. } => Refused::Forbidden { principal },
            RegistryError::Version { known, .. } => Refused::Version { known },
            RegistryError::Signature { mismatch, .. } => {
                Refused::Signature { signature: mismatch.module.to_string() }
            }
            other => Refused::Other(cut(&other.to_string())),
        }
    }

    /// The error that a registry of the client's own would give.
    pub fn error(self, name: &str, asked: Option<Version>, shape: &Shape) -> RemoteError {
        let name = name.to_owned();
        RemoteError::Bind(match self {
            Refused::Unknown => RegistryError::Unknown { name, near: None },
            Refused::Forbidden { principal } => {
                RegistryError::Forbidden { name, principal: told(&principal) }
            }
            Refused::Version { known } => {
                let asked = asked.unwrap_or(Version::new(0, 0));
                RegistryError::Version { name, asked, known: told(&known) }
            }
            Refused::Signature { signature } => match signature.parse() {
                Ok(module) => {
                    let mismatch = Box::new(Mismatch { module, host: shape.signature.clone() });
                    RegistryError::Signature { name, mismatch }
                }
                Err(_) => return RemoteError::Refused(format!("{name}: another signature")),
            },
            Refused::Threads { limit } => {
                return RemoteError::Call(CallError::Threads { domain: name, limit });
            }
            Refused::Other(why) => return RemoteError::Refused(told(&why)),
        })
    }
}

/// How a call ended that did not return.
#[derive(Debug, Serialize, Deserialize)]
pub enum Ended {
    Killed(String),
    Restarted(String),
    Revoked(String),
    Interrupted(String),
    CpuTime(String),
    Depth(String),
    NotBegun(String),
    Deadlock(String),
    Busy { domain: String, thread: u32, name: String },
    Threads { domain: String, limit: u32 },
    Arguments(String),
    Fault { kind: FaultKind, report: String },
    Other(String),
}

impl Ended {
    pub fn of(error: CallError) -> Ended {
        match error {
            CallError::Killed(domain) => Ended::Killed(cut(&domain)),
            CallError::Restarted(domain) => Ended::Restarted(cut(&domain)),
            CallError::Revoked(name) => Ended::Revoked(cut(&name)),
            CallError::Interrupted(domain) => Ended::Interrupted(cut(&domain)),
            CallError::CpuTime(domain) => Ended::CpuTime(cut(&domain)),
            CallError::Depth(domain) => Ended::Depth(cut(&domain)),
            CallError::NotBegun(domain) => Ended::NotBegun(cut(&domain)),
            CallError::Deadlock(domain) => Ended::Deadlock(cut(&domain)),
            CallError::Busy(domain, Holder { thread, name, .. }) => {
                Ended::Busy { domain: cut(&domain), thread, name: cut(&name) }
            }
            CallError::Threads { domain, limit } => Ended::Threads { domain: cut(&domain), limit },
            CallError::Arguments(what) => Ended::Arguments(cut(&what)),
            CallError::Fault(fault) => Ended::Fault { kind: fault.kind(), report: cut(&fault.to_string()) },
            other => Ended::Other(cut(&other.to_string())),
        }
    }

    pub fn error(self) -> RemoteError {
        RemoteError::Call(match self {
            Ended::Killed(domain) => CallError::Killed(told(&domain)),
            Ended::Restarted(domain) => CallError::Restarted(told(&domain)),
            Ended::Revoked(name) => CallError::Revoked(told(&name)),
            Ended::Interrupted(domain) => CallError::Interrupted(told(&domain)),
            Ended::CpuTime(domain) => CallError::CpuTime(told(&domain)),
            Ended::Depth(domain) => CallError::Depth(told(&domain)),
            Ended::NotBegun(domain) => CallError::NotBegun(told(&domain)),
            Ended::Deadlock(domain) => CallError::Deadlock(told(&domain)),
            Ended::Busy { domain, thread, name } => {
                CallError::Busy(told(&domain), Holder { thread, name: told(&name) })
            }
            Ended::Threads { domain, limit } => CallError::Threads { domain: told(&domain), limit },
            Ended::Arguments(what) => CallError::Arguments(told(&what)),
            Ended::Fault { kind, report } => {
                return RemoteError::Fault { kind, report: told(&report) };
            }
            Ended::Other(why) => return RemoteError::Refused(told(&why)),
        })
    }
}

/// As much of a text as is sent. (JSON may take six bytes for a character.)
fn cut(text: &str) -> String {
    text.chars().take(SAID / 16).collect()
}

/// A text of the other process's.
fn told(text: &str) -> String {
    lockgate::signature::printable(text).chars().take(SAID).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Red without the cleaning: a terminal obeys the other process.
    #[test]
    fn what_the_other_process_says_is_shown_clean() {
        let said = "a\u{1b}[2J\nlockgate: \u{202e}".repeat(1000);
        let shape = Shape::new("int f(void)").unwrap();
        for error in [
            Ended::Killed(said.clone()).error(),
            Ended::Other(said.clone()).error(),
            Ended::Fault { kind: FaultKind::Segv, report: said.clone() }.error(),
            Refused::Other(said.clone()).error("f", None, &shape),
            Refused::Version { known: said.clone() }.error("f", None, &shape),
            Refused::Forbidden { principal: said }.error("f", None, &shape),
        ] {
            let shown = error.to_string();
            assert!(!shown.contains(['\u{1b}', '\n', '\u{202e}']) && shown.len() < 2 * SAID, "{shown:?}");
        }
    }

    /// What is said of a call fits where it is put, whatever the domain is called.
    #[test]
    fn what_is_said_of_a_call_has_an_end() {
        let long = "\u{1}".repeat(100_000);
        let busy = CallError::Busy(long.clone(), Holder { thread: 1, name: long.clone() });
        for error in [CallError::Killed(long.clone()), CallError::Arguments(long), busy] {
            assert!(serde_json::to_vec(&Ended::of(error)).unwrap().len() <= SAID);
        }
    }
}
