//! Names that are exported, and taken back.
use super::RegistryError;
use super::bound::Bound;
use super::instance::Instance;
use super::request::{Export, Revoke};
use super::state::{Registry, Sayer, Server, take_if};
use crate::binding::Binding;
use crate::call::Closed;
use crate::domain::{self, Domain};
use crate::host_function::HostFunction;
use crate::signature::{Asked, Signature};
use std::sync::Arc;

impl Registry {
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
