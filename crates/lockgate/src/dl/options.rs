//! What a library may have, and what its callers get.
use super::Library;
use crate::domain::DomainOptions;
use crate::host::end_after;
use crate::policy::Policy;
use std::time::{Duration, Instant};

/// Most bytes of stack arguments that a function without a signature may be given.
pub const MAX_STACK_BYTES: u32 = 4096;

/// Options of a library: those of its domain, and how its functions are called.
#[derive(Debug, Clone)]
pub struct Options {
    pub(super) domain: DomainOptions,
    pub(super) policy: Policy,
    pub(super) stack_bytes: u32,
    pub(super) failure: Option<u64>,
    pub(super) timeout: Duration,
    pub(super) into: Option<Library>,
    /// When the constructors that are run must have ended: of one opening, all of them.
    pub(super) until: Option<Instant>,
    /// How many libraries wait for this one to be opened.
    pub(super) depth: usize,
    /// It is opened for one of these, and for no other module.
    pub(super) private: bool,
}

impl Default for Options {
    /// A domain with the usual limits, mutual distrust, no stack bytes, failure by type, a timeout of ten seconds.
    fn default() -> Options {
        Options {
            domain: DomainOptions::new(),
            policy: Policy::default(),
            stack_bytes: 0,
            failure: None,
            timeout: Duration::from_secs(10),
            into: None,
            until: None,
            depth: 0,
            private: false,
        }
    }
}

impl Options {
    /// Limits and grants of the library's domain.
    pub fn domain(self, domain: DomainOptions) -> Options {
        Options { domain, ..self }
    }

    /// The domain of a library that is open, in place of one of its own: for modules that were linked to join that library
    /// (`lockgate cc --join`). Limits and grants are those of the domain then. Without this, what such a module was linked
    /// with is opened for it alone: others who open the same files get their own. If the host has the base open, that is an error: a file
    /// does not choose whose memory it shares.
    pub fn into(self, library: Library) -> Options {
        Options { into: Some(library), ..self }
    }

    /// What the host asks for in calls of the library.
    pub fn policy(self, policy: Policy) -> Options {
        Options { policy, ..self }
    }

    /// Bytes of the caller's stack that functions without a signature get as their stack arguments: those from the seventh integer
    /// and the ninth floating-point argument on. None by default, since whatever lies on the caller's stack there is copied, be it
    /// an argument or not. At most [`MAX_STACK_BYTES`], rounded up to whole words.
    pub fn stack_bytes(self, bytes: u32) -> Options {
        Options { stack_bytes: bytes, ..self }
    }

    /// What a call that fails returns, whatever the function's type: these bits, in every register that can hold a result.
    /// Otherwise it is, by type, -1, a null pointer or not a number (`docs/dlopen.md`).
    pub fn failure(self, value: u64) -> Options {
        Options { failure: Some(value), ..self }
    }

    /// How long the constructors may take of all that is opened at once, and how long a library's destructors, if the domain has no shorter
    /// time limit.
    pub fn timeout(self, timeout: Duration) -> Options {
        Options { timeout, ..self }
    }

    /// The same for constructors that begin now.
    pub(super) fn begun(&self) -> Options {
        Options { until: end_after(self.timeout), ..self.clone() }
    }
}
