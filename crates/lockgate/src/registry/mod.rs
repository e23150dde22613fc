//! The registry: entry points by name, for clients that do not know who serves them (docs/registry.md).
//!
//! `request` what is exported and asked for; `principal` who asks and who may; `binder` from a request to a binding;
//! `restart` new instances under old names; `observe` how other processes see what `stats` counts.
mod binder;
mod observe;
mod principal;
mod request;
mod restart;

pub use crate::error::RegistryError;
pub use crate::version::Version;
pub use observe::{
    Counts, Observation, ObserveError, ObservedBinding, ObservedCalls, ObservedDomain, ObservedExport,
    Observer, observe,
};
pub use principal::{Allow, Principal, Token};
pub use request::{Export, Rebind, Request, Revoke};

use crate::binding::Binding;
use crate::call::Closed;
use crate::domain::{self, Core, Domain};
use crate::host::{Once, PerProcess, locked};
use crate::host_function::HostFunction;
use crate::nearest::{is_worth_it, nearest};
use crate::signature::{Asked, Signature};
use crate::stats::Row;
use binder::Bound;
use restart::Instance;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};

/// A set of names. Clones are the same registry.
///
/// A domain that exports lives until its last name is unexported, or [`remove`](Registry::remove)d with all of them.
#[derive(Clone, Default)]
pub struct Registry {
    /// Empty in a forked child: what serves there is in the parent.
    shared: Arc<PerProcess<Shared>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Something was exported.
    exported: Condvar,
}

#[derive(Default)]
struct State {
    /// By name and major version.
    entries: BTreeMap<(String, u16), Entry>,
    /// Domains that export, by name.
    instances: BTreeMap<String, Instance>,
    /// Who has names that were taken back.
    past: Vec<Past>,
}

/// What is known of a name that can no longer be bound, as long as a client has it: it can be revoked, and its domain restarted.
struct Past {
    name: String,
    /// `None`: functions of the host's.
    server: Option<Weak<Core>>,
    bound: Vec<Bound>,
}

impl Past {
    fn is_of(&self, core: &Arc<Core>) -> bool {
        self.server.as_ref().is_some_and(|server| server.as_ptr() == Arc::as_ptr(core))
    }
}

/// Something exported.
struct Entry {
    export: Export,
    /// Of the server's own name.
    signature: Signature,
    /// Whose word the signature is.
    said_by: Sayer,
    server: Server,
    row: Arc<Row>,
    bound: Vec<Bound>,
}

/// Who says a signature.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sayer {
    /// The host that exports, by a prototype.
    Host,
    /// The server's module, in its note.
    Module,
}

/// Who serves an entry.
#[derive(Clone)]
enum Server {
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

    /// Exports a function of `domain`.
    ///
    /// # Errors
    /// [`RegistryError`]: the name is taken, the domain has no such function, or neither the caller nor the module says its signature.
    pub fn export(&self, domain: &Domain, export: Export) -> Result<(), RegistryError> {
        let module = domain.module();
        let text = export.prototype.as_deref().unwrap_or(&export.name);
        let (said_by, signature) = match Asked::parse(text).map_err(crate::BindError::from)? {
            Asked::Prototype(signature) => (Sayer::Host, signature),
            Asked::Name(name) => {
                let found = module.export(name).ok_or_else(|| crate::BindError::missing(module, name))?;
                match found.signature.as_deref() {
                    Some(noted) => (Sayer::Module, noted.parse().map_err(crate::BindError::from)?),
                    None => return Err(RegistryError::NoSignature { name: export.name }),
                }
            }
        };
        // Binds once, so that a server that cannot be called is found now.
        Binding::new(domain.core().clone(), signature.clone(), export.policy)?;
        let mut state = self.state();
        let known = state.instances.get(domain.name());
        if known.is_some_and(|instance| !Arc::ptr_eq(&instance.core, domain.core())) {
            return Err(RegistryError::DomainTaken(domain.name().to_owned()));
        }
        state.enter(export, signature, said_by, Server::Domain(domain.core().clone()))?;
        let instance = || Instance::new(domain.core().clone());
        state.instances.entry(domain.name().to_owned()).or_insert_with(instance);
        drop(state);
        self.shared.exported.notify_all();
        Ok(())
    }

    /// Exports a function of the host to domains. The policy of `export` does not count: gates always protect the host.
    ///
    /// # Errors
    /// [`RegistryError::Taken`], [`RegistryError::Full`].
    pub fn export_host(
        &self,
        function: impl Into<HostFunction>,
        export: Export,
    ) -> Result<(), RegistryError> {
        let function = function.into();
        let signature = Signature { name: export.name.clone(), ..function.signature().clone() };
        // What is refused goes when the lock is free again: it may be the host's own code, which may ask the registry.
        let entered = self.state().enter(export, signature, Sayer::Host, Server::Host(function.clone()));
        entered?;
        self.shared.exported.notify_all();
        Ok(())
    }

    /// Takes every version of `name` back: it can be bound no more. Bindings stay.
    ///
    /// # Errors
    /// [`RegistryError::Unknown`].
    pub fn unexport(&self, name: &str) -> Result<(), RegistryError> {
        let mut state = self.state();
        let (taken, idle) = state.take(name);
        if taken.is_empty() {
            return Err(RegistryError::unknown_among(name, state));
        }
        let mut left = Vec::new();
        for entry in taken {
            left.push(state.keep(entry));
        }
        drop(state);
        idle.iter().for_each(Instance::end_starting);
        drop(left); // outside the lock: a domain may end here, and host code may go
        Ok(())
    }

    /// As [`unexport`](Registry::unexport), and calls through existing bindings return
    /// [`CallError::Revoked`](crate::CallError::Revoked) at once; those in progress finish or end, as asked. That is for all who have got the
    /// name, also before it was taken back, and exported again.
    ///
    /// # Errors
    /// [`RegistryError::Unknown`]: it is not exported, and no binding of it is left.
    pub fn revoke(&self, name: &str, calls: Revoke) -> Result<(), RegistryError> {
        let refused = {
            let name = name.to_owned();
            HostFunction::new(move |_: &Domain| {
                crate::call::end_with(crate::CallError::Revoked(name.clone()));
            })
        };
        let mut state = self.state();
        let (taken, idle) = state.take(name);
        let past: Vec<_> = state.past.extract_if(.., |past| past.name == name).collect();
        if taken.is_empty() && !past.iter().flat_map(|past| &past.bound).any(Bound::is_alive) {
            return Err(RegistryError::unknown_among(name, state));
        }
        let bound = || taken.iter().map(|entry| &entry.bound).chain(past.iter().map(|past| &past.bound));
        // Under the lock: an import that is linked once more, by another name to the same function perhaps, is so afterwards.
        let clients: Vec<_> = bound().flatten().filter_map(|bound| bound.take_back(&refused)).collect();
        drop(state);
        idle.iter().for_each(Instance::end_starting);
        bound().for_each(|bound| revoke(bound, calls));
        clients.iter().for_each(crate::domain::release_functions);
        Ok(())
    }

    /// Ends the domain called `name`: its exports are revoked, calls in it end, and it lets go of the domains that it
    /// calls, so that domains that call each other do not keep each other for ever.
    ///
    /// # Errors
    /// [`RegistryError::UnknownDomain`].
    pub fn remove(&self, name: &str) -> Result<(), RegistryError> {
        let mut state = self.state();
        let unknown = || RegistryError::UnknownDomain(name.to_owned());
        let instance = state.instances.remove(name).ok_or_else(unknown)?;
        let taken = take_if(&mut state.entries, |_, entry| entry.is_of(&instance.core));
        let past: Vec<_> = state.past.extract_if(.., |past| past.is_of(&instance.core)).collect();
        drop(state);
        // The kill ends what is inside.
        taken.iter().for_each(|entry| revoke(&entry.bound, Revoke::Finish));
        past.iter().for_each(|past| revoke(&past.bound, Revoke::Finish));
        domain::close(instance.core.clone());
        instance.end_starting();
        Ok(())
    }

    /// Names and versions, in order.
    pub fn names(&self) -> Vec<(String, Version)> {
        self.state().entries.values().map(|e| (e.export.name.clone(), e.export.version)).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
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
    fn unknown_among(name: &str, state: MutexGuard<'_, State>) -> RegistryError {
        let known = state.entries.keys().map(|(known, _)| known);
        let known: Vec<String> = known.filter(|known| is_worth_it(name, known)).cloned().collect();
        drop(state);
        RegistryError::unknown(name, &known)
    }

    /// Nothing is exported as `name`. No lock is held: `known` are copies.
    fn unknown(name: &str, known: &[String]) -> RegistryError {
        RegistryError::Unknown {
            name: name.to_owned(),
            near: nearest(name, known.iter().map(String::as_str)),
        }
    }
}

/// Takes the values out that `which` chooses.
fn take_if<K: Ord + Clone, V>(map: &mut BTreeMap<K, V>, which: impl Fn(&K, &V) -> bool) -> Vec<V> {
    let keys: Vec<K> =
        map.iter().filter(|(key, value)| which(key, value)).map(|(key, _)| key.clone()).collect();
    keys.iter().filter_map(|key| map.remove(key)).collect()
}

impl State {
    /// Takes every version of `name` out, and the domains that have no name any more, which are their owners' alone: to be dropped when the
    /// lock is free, for a domain may end then.
    fn take(&mut self, name: &str) -> (Vec<Entry>, Vec<Instance>) {
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
    fn keep(&mut self, mut entry: Entry) -> (Entry, Vec<Past>) {
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

    fn enter(
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
    fn is_of(&self, core: &Arc<Core>) -> bool {
        matches!(&self.server, Server::Domain(own) if Arc::ptr_eq(own, core))
    }
}

/// Takes functions of domains back.
fn revoke(bound: &[Bound], calls: Revoke) {
    for bound in bound {
        let Bound::Domain { binding, .. } = bound else { continue };
        let Some(binding) = binding.upgrade() else { continue };
        match calls {
            Revoke::Finish => binding.close(Closed::Revoked),
            Revoke::Stop => binding.stop(Closed::Revoked),
        }
    }
    // By an import that leads there a domain has passed memory on, too.
    crate::grant::wait_for_givers();
}
