//! The names that there are, who serves them, and to whom they were given.
use super::bound::Bound;
use super::instance::Instance;
use super::request::Export;
use super::{RegistryError, Version};
use crate::domain::Core;
use crate::host::{Once, PerProcess, locked};
use crate::host_function::HostFunction;
use crate::nearest::{is_worth_it, nearest};
use crate::signature::Signature;
use crate::stats::Row;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};

/// A set of names. Clones are the same registry.
///
/// A domain that exports lives until its last name is unexported, or [`remove`](Registry::remove)d with all of them.
#[derive(Clone, Default)]
pub struct Registry {
    /// Empty in a forked child: what serves there is in the parent.
    pub(super) shared: Arc<PerProcess<Shared>>,
}

#[derive(Default)]
pub(super) struct Shared {
    pub(super) state: Mutex<State>,
    /// Something was exported.
    pub(super) exported: Condvar,
}

#[derive(Default)]
pub(super) struct State {
    /// By name and major version.
    pub(super) entries: BTreeMap<(String, u16), Entry>,
    /// Domains that export, by name.
    pub(super) instances: BTreeMap<String, Instance>,
    /// Who has names that were taken back.
    pub(super) past: Vec<Past>,
}

/// What is known of a name that can no longer be bound, as long as a client has it: it can be revoked, and its domain restarted.
pub(super) struct Past {
    pub(super) name: String,
    /// `None`: functions of the host's.
    pub(super) server: Option<Weak<Core>>,
    pub(super) bound: Vec<Bound>,
}

impl Past {
    pub(super) fn is_of(&self, core: &Arc<Core>) -> bool {
        self.server.as_ref().is_some_and(|server| server.as_ptr() == Arc::as_ptr(core))
    }
}

/// Something exported.
pub(super) struct Entry {
    pub(super) export: Export,
    /// Of the server's own name.
    pub(super) signature: Signature,
    /// Whose word the signature is.
    pub(super) said_by: Sayer,
    pub(super) server: Server,
    pub(super) row: Arc<Row>,
    pub(super) bound: Vec<Bound>,
}

/// Who says a signature.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sayer {
    /// The host that exports, by a prototype.
    Host,
    /// The server's module, in its note.
    Module,
}

/// Who serves an entry.
#[derive(Clone)]
pub(super) enum Server {
    Domain(Arc<Core>),
    Host(HostFunction),
}

impl Server {
    /// Whether a name of the one is a name of the other.
    fn is_same(&self, other: &Server) -> bool {
        match (self, other) {
            (Server::Domain(one), Server::Domain(other)) => Arc::ptr_eq(one, other),
            (Server::Host(_), Server::Host(_)) => true,
            _ => false,
        }
    }
}

impl Registry {
    /// An empty one.
    pub fn new() -> Registry {
        Registry::default()
    }

    /// The process's own: for parts of a program that know nothing of each other.
    pub fn process() -> &'static Registry {
        static PROCESS: Once<Registry> = Once::new();
        PROCESS.get(Registry::new)
    }

    /// Names and versions, in order.
    pub fn names(&self) -> Vec<(String, Version)> {
        self.state().entries.values().map(|e| (e.export.name.clone(), e.export.version)).collect()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.shared.state)
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Registry").field(&self.names()).finish()
    }
}

impl RegistryError {
    /// Nothing is exported as `name`, among what `state` has.
    pub(super) fn unknown_among(name: &str, state: MutexGuard<'_, State>) -> RegistryError {
        let known = state.entries.keys().map(|(known, _)| known);
        let known: Vec<String> = known.filter(|known| is_worth_it(name, known)).cloned().collect();
        drop(state);
        RegistryError::unknown(name, &known)
    }

    /// Nothing is exported as `name`. No lock is held: `known` are copies.
    pub(super) fn unknown(name: &str, known: &[String]) -> RegistryError {
        RegistryError::Unknown {
            name: name.to_owned(),
            near: nearest(name, known.iter().map(String::as_str)),
        }
    }
}

/// Takes the values out that `which` chooses.
pub(super) fn take_if<K: Ord + Clone, V>(map: &mut BTreeMap<K, V>, which: impl Fn(&K, &V) -> bool) -> Vec<V> {
    let keys: Vec<K> =
        map.iter().filter(|(key, value)| which(key, value)).map(|(key, _)| key.clone()).collect();
    keys.iter().filter_map(|key| map.remove(key)).collect()
}

impl State {
    /// Takes every version of `name` out, and the domains that have no name any more, which are their owners' alone: to be dropped when the
    /// lock is free, for a domain may end then.
    pub(super) fn take(&mut self, name: &str) -> (Vec<Entry>, Vec<Instance>) {
        let taken = take_if(&mut self.entries, |(known, _), _| known == name);
        let State { entries, instances, .. } = self;
        let is_idle = |_: &String, instance: &Instance| {
            let has_had = taken.iter().any(|entry| entry.is_of(&instance.core));
            has_had && !entries.values().any(|entry| entry.is_of(&instance.core))
        };
        let idle = take_if(instances, is_idle);
        (taken, idle)
    }

    /// Remembers who has an entry that was taken out. What is left of it, and of what no client has any more, is to be dropped when the lock is free.
    pub(super) fn keep(&mut self, mut entry: Entry) -> (Entry, Vec<Past>) {
        let gone = self.past.extract_if(.., |past| !past.bound.iter().any(Bound::is_alive)).collect();
        let bound: Vec<_> = std::mem::take(&mut entry.bound).into_iter().filter(Bound::is_alive).collect();
        if !bound.is_empty() {
            let server = match &entry.server {
                Server::Domain(core) => Some(Arc::downgrade(core)),
                Server::Host(_) => None,
            };
            self.past.push(Past { name: entry.export.name.clone(), server, bound });
        }
        (entry, gone)
    }

    pub(super) fn enter(
        &mut self,
        export: Export,
        signature: Signature,
        said_by: Sayer,
        server: Server,
    ) -> Result<(), RegistryError> {
        if export.name.is_empty() || export.name.contains(char::is_control) {
            return Err(RegistryError::Name(export.name));
        }
        let key = (export.name.clone(), export.version.major);
        // A name is its first exporter's in all versions: a client that asks for the newest one must not get a stranger.
        let versions = (export.name.clone(), 0)..=(export.name.clone(), u16::MAX);
        let taken = |known: &&Entry| known.export.version.major == key.1 || !known.server.is_same(&server);
        if let Some(known) = self.entries.range(versions).map(|(_, entry)| entry).find(taken) {
            return Err(RegistryError::Taken { name: export.name, known: known.export.version });
        }
        let allowed: Vec<_> = export.allow.iter().map(ToString::to_string).collect();
        let served = match &server {
            Server::Domain(core) => format!("domain {}", core.name()),
            Server::Host(_) => "host".to_owned(),
        };
        let row = Row::export(&[
            &export.name,
            &export.version.to_string(),
            &served,
            &export.policy.to_string(),
            &allowed.join(", "),
            &signature.to_string(),
        ])?;
        self.entries.insert(key, Entry { export, signature, said_by, server, row, bound: Vec::new() });
        Ok(())
    }
}

impl Entry {
    pub(super) fn is_of(&self, core: &Arc<Core>) -> bool {
        matches!(&self.server, Server::Domain(own) if Arc::ptr_eq(own, core))
    }
}
