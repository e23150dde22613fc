//! Why names are not shared, or functions of others not called.
use lockgate::{CallError, FaultKind, RegistryError};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a name was not bound in another process, or a call there did not return.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// As in a registry of this process.
    #[error(transparent)]
    Bind(#[from] RegistryError),
    /// As for a domain of this process; one whose process has ended was killed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The domain faulted, or the call exceeded a time limit.
    #[error("{report}")]
    Fault {
        /// What ended the call.
        kind: FaultKind,
        /// What the other process says about it.
        report: String,
    },
    /// The prototype is none that another process can be called by, or none that it offers.
    #[error("{0}")]
    Prototype(String),
    /// The other process refuses, for a reason of its own.
    #[error("the process that serves this says: {0}")]
    Refused(String),
    /// There is no connection.
    #[error("cannot connect to {}: {source}", path.display())]
    Connect {
        /// The socket.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The other process has closed the connection: it has too many clients, or this user is none of them, or it has ended.
    #[error("{} has closed the connection: it ended, has too many clients, or takes none of this user", .0.display())]
    Closed(PathBuf),
    /// The other process has not answered in time, and the connection is closed, if it was asked anything: what it answers later would be taken for the answer of
    /// something else.
    #[error("{} has not answered within {limit:?}: connect again, or allow more time", path.display())]
    Late {
        /// The socket.
        path: PathBuf,
        /// How long it had.
        limit: Duration,
    },
    /// The other process does not keep to the protocol, or is of another version.
    #[error("the process that serves this is no server, or one of another version: {0}")]
    Nonsense(&'static str),
}

/// Why names are not offered to other processes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShareError {
    /// A process listens there already.
    #[error("{} is another process's: give this one a name of its own", .0.display())]
    Taken(PathBuf),
    /// No other process can call a function of this prototype.
    #[error("{name} cannot be shared: {why}")]
    Prototype {
        /// The name.
        name: String,
        /// Why not.
        why: String,
    },
    /// The kernel's.
    #[error("cannot listen on {}: {source}", path.display())]
    Listen {
        /// The socket.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}
