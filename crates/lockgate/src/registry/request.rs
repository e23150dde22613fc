//! What is exported, and what is asked for.
use super::principal::Allow;
use crate::binding::CallLimit;
use crate::call::OnFailure;
use crate::policy::Policy;
use crate::version::Version;
use std::time::Duration;

/// An entry point to be exported. No client may bind it until [`allow`](Export::allow) says which ones may.
#[derive(Debug, Clone)]
pub struct Export {
    pub(super) name: String,
    pub(super) version: Version,
    pub(super) prototype: Option<String>,
    pub(super) policy: Policy,
    pub(super) allow: Vec<Allow>,
    pub(super) serialize: bool,
}

impl Export {
    /// Exports the function of this name under this name.
    pub fn new(name: impl Into<String>, version: Version) -> Export {
        Export {
            name: name.into(),
            version,
            prototype: None,
            policy: Policy::MUTUAL_TRUST,
            allow: Vec::new(),
            serialize: true,
        }
    }

    /// The domain's function, by C prototype, or by name if the module's note has the signature. Without this, the
    /// function of the export's own name.
    pub fn of(mut self, prototype: impl Into<String>) -> Export {
        self.prototype = Some(prototype.into());
        self
    }

    /// What the server asks for in every call. Nothing by default.
    pub fn policy(mut self, policy: Policy) -> Export {
        self.policy = policy;
        self
    }

    /// Whether calls of it take a turn, where the domain lets one thread in at a time ([`DomainOptions::serialize`](crate::DomainOptions::serialize),
    /// [`exclusive`](crate::DomainOptions::exclusive)), as is so by default. Without it they may come at any time, in the middle of others' turns:
    /// for functions that are made for that. (A thread's first call of the domain takes a turn in any case, to make the thread known to the module.)
    pub fn serialize(mut self, serialize: bool) -> Export {
        self.serialize = serialize;
        self
    }

    /// Lets these, too, bind it.
    pub fn allow(mut self, who: Allow) -> Export {
        self.allow.push(who);
        self
    }
}

/// What becomes of a binding when its domain is restarted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Rebind {
    /// Later calls go to the new instance: for callers that keep no state in the server.
    Yes,
    /// Later calls return [`CallError::Restarted`](crate::CallError::Restarted), and [`Dynamic::newest`](crate::Dynamic::newest) is the
    /// function of the new instance: for callers whose arguments are made for one instance, so that no call enters another one with
    /// them. An import of a domain is as with `Yes`.
    OnRequest,
    /// Later calls return [`CallError::Restarted`](crate::CallError::Restarted).
    #[default]
    No,
}

/// What becomes of calls in progress when their binding is revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revoke {
    /// They finish.
    Finish,
    /// They end at once with [`CallError::Revoked`](crate::CallError::Revoked). Functions of the host finish; what the calls have called in
    /// other domains has a second to do so, and is stopped then.
    Stop,
}

/// What a client asks for.
#[derive(Debug, Clone)]
pub struct Request {
    pub(super) name: String,
    pub(super) version: Option<Version>,
    pub(super) wait: Duration,
    pub(super) policy: Policy,
    pub(super) rebind: Rebind,
    pub(super) on_failure: OnFailure,
    pub(super) limit: Option<CallLimit>,
}

impl Request {
    /// This major version of `name`, with at least this minor one.
    pub fn new(name: impl Into<String>, version: Version) -> Request {
        Request { version: Some(version), ..Request::newest(name) }
    }

    /// The newest version of `name` that has the client's signature.
    pub fn newest(name: impl Into<String>) -> Request {
        Request {
            name: name.into(),
            version: None,
            wait: Duration::ZERO,
            policy: Policy::default(),
            rebind: Rebind::default(),
            on_failure: OnFailure::default(),
            limit: None,
        }
    }

    /// Waits for the name to be exported, so long at most.
    pub fn wait(mut self, timeout: Duration) -> Request {
        self.wait = timeout;
        self
    }

    /// What the client asks for in every call.
    pub fn policy(mut self, policy: Policy) -> Request {
        self.policy = policy;
        self
    }

    /// What a restart of the server means for the binding.
    pub fn rebind(mut self, rebind: Rebind) -> Request {
        self.rebind = rebind;
        self
    }

    /// The name that is asked for.
    #[doc(hidden)]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version that is asked for; `None`: the newest.
    #[doc(hidden)]
    pub fn version(&self) -> Option<Version> {
        self.version
    }

    /// How long it waits.
    #[doc(hidden)]
    pub fn waiting(&self) -> Duration {
        self.wait
    }

    /// What a restart means for the binding.
    #[doc(hidden)]
    pub fn rebinding(&self) -> Rebind {
        self.rebind
    }

    /// The client's own time limit of calls, which says what becomes of a call that takes longer.
    pub fn within(mut self, limit: CallLimit) -> Request {
        self.limit = Some(limit);
        self
    }

    /// What a domain gets when its call fails.
    pub fn on_failure(mut self, on_failure: OnFailure) -> Request {
        self.on_failure = on_failure;
        self
    }
}
