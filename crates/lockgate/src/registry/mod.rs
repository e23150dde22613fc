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
use crate::host::{Once, PerProcess};
use crate::host_function::HostFunction;
use crate::nearest::{is_worth_it, nearest};
use crate::signature::Signature;
use crate::stats::Row;
use binder::Bound;
use restart::Instance;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

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
    /// [`RegistryError`]: the name is taken, the domain has no such function, or nobody says its signature.
    pub fn export(&self, domain: &Domain, export: Export) -> Result<(), RegistryError> {
        let module = domain.module();
        let text = export.prototype.as_deref().unwrap_or(&export.name).trim();
        let (said_by, prototype) = if text.contains('(') {
            (Sayer::Host, text)
        } else {
            let found = module.export(text).ok_or_else(|| crate::BindError::missing(module, text))?;
            match found.signature.as_deref() {
                Some(noted) => (Sayer::Module, noted),
                None => return Err(RegistryError::NoSignature { name: export.name }),
            }
        };
        let signature: Signature = prototype.parse().map_err(crate::BindError::from)?;
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

    /// Exports a function of the host to domains. What it asks for does not count: gates always protect the host.
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

    /// Takes every version of `name` back: nobody binds it any more. Bindings stay.
    ///
    /// # Errors
    /// [`RegistryError::Unknown`].
    pub fn unexport(&self, name: &str) -> Result<(), RegistryError> {
        self.take(name).map(drop)
    }

    /// As [`unexport`](Registry::unexport), and calls through existing bindings return
    /// [`CallError::Revoked`](crate::CallError::Revoked) at once; those in progress finish or end, as asked.
    ///
    /// # Errors
    /// [`RegistryError::Unknown`].
    pub fn revoke(&self, name: &str, calls: Revoke) -> Result<(), RegistryError> {
        for entry in self.take(name)? {
            entry.revoke(calls);
        }
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
        drop(state);
        for entry in &taken {
            entry.revoke(Revoke::Finish); // the kill ends what is inside
        }
        domain::close(&instance.core);
        Ok(())
    }

    /// Names and versions, in order.
    pub fn names(&self) -> Vec<(String, Version)> {
        self.state().entries.values().map(|e| (e.export.name.clone(), e.export.version)).collect()
    }

    fn take(&self, name: &str) -> Result<Vec<Entry>, RegistryError> {
        let mut state = self.state();
        let taken = take_if(&mut state.entries, |(known, _), _| known == name);
        if taken.is_empty() {
            let known = state.entries.keys().map(|(known, _)| known);
            let known: Vec<String> = known.filter(|known| is_worth_it(name, known)).cloned().collect();
            drop(state);
            return Err(RegistryError::unknown(name, &known));
        }
        let State { entries, instances } = &mut *state;
        // A domain without a name is its owner's alone.
        let idle =
            take_if(instances, |_, instance| !entries.values().any(|entry| entry.is_of(&instance.core)));
        drop(state);
        drop(idle); // outside the lock: a domain may end here
        Ok(taken)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Registry").field(&self.names()).finish()
    }
}

impl RegistryError {
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
        // A name is its first exporter's in all versions: whoever asks for the newest one must not get a stranger.
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

    fn revoke(&self, calls: Revoke) {
        for bound in &self.bound {
            match bound {
                Bound::Domain { binding, .. } => {
                    let Some(binding) = binding.upgrade() else { continue };
                    match calls {
                        Revoke::Finish => binding.close(Closed::Revoked),
                        Revoke::Stop => binding.stop(Closed::Revoked),
                    }
                }
                Bound::Host { client, slot, function, .. } => {
                    let Some(client) = client.upgrade() else { continue };
                    let name = self.export.name.clone();
                    let refuse = HostFunction::new(move |_: &Domain| {
                        crate::call::end_with(crate::CallError::Revoked(name.clone()));
                    });
                    client.gates().replace_import(*slot, &function.entry(), refuse.gate());
                    crate::domain::release_functions(&client);
                }
            }
        }
    }
}
