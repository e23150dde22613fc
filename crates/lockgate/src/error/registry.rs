//! Why the registry refused.
use super::{BindError, CallError, CreateError};
use crate::stats::NoRow;
use crate::version::Version;
use std::time::Duration;

/// Why something was not exported, bound or restarted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// No such name.
    #[error("nothing is exported as {name:?}{}", near.as_ref().map_or(String::new(), |n| format!("; did you mean {n:?}?")))]
    Unknown {
        /// The name asked for.
        name: String,
        /// The most similar name that the client may bind.
        near: Option<String>,
    },
    /// The name was not exported in time.
    #[error("nothing was exported as {name:?} within {} ms", timeout.as_millis())]
    Late {
        /// The name asked for.
        name: String,
        /// How long the client waited.
        timeout: Duration,
    },
    /// The client may not bind it.
    #[error("{principal} may not bind {name}; the exporter decides which principals may")]
    Forbidden {
        /// The name asked for.
        name: String,
        /// Who asked.
        principal: String,
    },
    /// Other versions only.
    #[error("{name} is exported in version {known}, not in one that serves {asked}")]
    Version {
        /// The name asked for.
        name: String,
        /// The version asked for.
        asked: Version,
        /// What there is.
        known: String,
    },
    /// The signatures differ.
    #[error("{name}: {mismatch}")]
    Signature {
        /// The name asked for.
        name: String,
        /// The difference: the exporter's signature is called the module's.
        mismatch: Box<crate::signature::Mismatch>,
    },
    /// No side says the signature, or, between two domains, only one.
    #[error(
        "{name}: its signature is not known on both sides: export it with a prototype, or compile the modules of both sides with -g"
    )]
    NoSignature {
        /// The name.
        name: String,
    },
    /// The name is another exporter's, or exported in this major version already.
    #[error("{name} is exported in version {known} already; unexport that first")]
    Taken {
        /// The name.
        name: String,
        /// The version that has it.
        known: Version,
    },
    /// Another domain has this name here.
    #[error("another domain called {0} exports here; give domains names of their own")]
    DomainTaken(String),
    /// No domain of this name exports here.
    #[error("no domain called {0} exports here")]
    UnknownDomain(String),
    /// The domain was removed, or lost its last name, while it was restarted.
    #[error(
        "the domain called {0} was taken out of the registry while it was restarted: nothing was put in its place"
    )]
    Removed(String),
    /// The module has no such import.
    #[error("domain {domain}: the module imports no function {import:?}; it imports: {known}")]
    Import {
        /// The domain.
        domain: String,
        /// The import asked for.
        import: String,
        /// What there is.
        known: String,
    },
    /// A function of the host, which the host need not bind.
    #[error("{0} is a function of the host: call it directly; only domains bind it")]
    HostFunction(String),
    /// A name that cannot be shown.
    #[error("cannot export {0:?}: a name has at least one character, and none that controls a terminal")]
    Name(String),
    /// All places are taken.
    #[error("all {0} places for exports and bindings are taken; drop bindings that are no longer needed")]
    Full(usize),
    /// The registry that the domain was made with has been dropped.
    #[error("the registry that the domain was made with is gone; keep it, or use the process's")]
    Gone,
    /// The domain fails too often.
    #[error("domain {domain} was restarted {most} times within {} s; fix the module first", within.as_secs())]
    TooOften {
        /// The domain.
        domain: String,
        /// Restarts allowed.
        most: usize,
        /// In this time.
        within: Duration,
    },
    /// A restart is in progress, on another thread or further up on this one.
    #[error("domain {0} is being restarted already")]
    Restarting(String),
    /// The entry point could not be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The calling thread cannot call a domain now. Nothing has changed.
    #[error(transparent)]
    Caller(CallError),
    /// The new instance could not be made.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The table that other processes read could not be made.
    #[error("no memory for the table of exports: {0}")]
    Memory(std::io::Error),
}

impl From<NoRow> for RegistryError {
    fn from(no: NoRow) -> RegistryError {
        match no {
            NoRow::Full(rows) => RegistryError::Full(rows),
            NoRow::Memory(error) => RegistryError::Memory(error.into()),
        }
    }
}
