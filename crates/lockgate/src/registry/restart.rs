//! A new instance of a domain under the names of the old one.
use super::RegistryError;
use super::bound::Bound;
use super::instance::Instance;
use super::request::Rebind;
use super::state::{Registry, Server, State};
use crate::binding::Binding;
use crate::call::{Closed, admit_sys};
use crate::domain::{Core, Domain};
use std::sync::Arc;
use std::time::Duration;

impl Registry {
    /// How often the domain called `name` may be restarted: `most` times in any time of this length. Three times a minute
    /// unless this says otherwise.
    ///
    /// # Errors
    /// [`RegistryError::UnknownDomain`].
    pub fn limit_restarts(&self, name: &str, most: usize, within: Duration) -> Result<(), RegistryError> {
        let mut state = self.state();
        let instance = state.instance(name)?;
        (instance.most, instance.within) = (most, within);
        Ok(())
    }

    /// Ends the domain called `name`, if it still lives, and puts a new one of the same module and options in its place.
    /// Its exports stay exported. Existing bindings go on, or are over, as each asked ([`Rebind`]); the new domain's
    /// imports come from the registry again, if its options say so, and are to be linked again if not.
    ///
    /// Returns the new domain. The old one's memory is given back when the last binding of it is gone: a rebound one keeps
    /// its instances' address space.
    ///
    /// # Errors
    /// [`RegistryError`]; the names stay with the old, dead domain then, if they were not taken back meanwhile
    /// ([`RegistryError::Removed`]).
    pub fn restart(&self, name: &str) -> Result<Domain, RegistryError> {
        // (Without the lock: the host's predicate is asked.)
        let old = self.state().instance(name)?.core.clone();
        admit_sys::may_start(&old).map_err(RegistryError::Caller)?;
        {
            let mut state = self.state();
            match state.instance_of(name, &old) {
                Some(instance) => instance.begin(name)?,
                None => {
                    state.instance(name)?;
                    return Err(RegistryError::Restarting(name.to_owned()));
                }
            }
        }
        let _mark = Mark { registry: self, name, old: &old };
        crate::domain::close(old.clone());
        // Without the lock: the module's initialisation runs, and may resolve imports here.
        let made = Domain::announced(old.module(), old.options().clone(), |new| {
            let has_place = match self.state().instance_of(name, &old) {
                Some(instance) => {
                    instance.starting = Arc::downgrade(new);
                    true
                }
                None => false,
            };
            if !has_place {
                new.kill();
            }
        });
        let mut state = self.state();
        let Some(instance) = state.instance_of(name, &old) else {
            drop(state);
            if let Ok(new) = made {
                crate::domain::close(new.core().clone());
            }
            return Err(RegistryError::Removed(name.to_owned()));
        };
        instance.end_restart();
        let new = made?;
        instance.core = new.core().clone();
        let left = state.hand_over(&old, new.core());
        drop(state);
        left.release();
        Ok(new)
    }
}

/// A restart that is on its way; no more when this goes, by a panic, too.
struct Mark<'a> {
    registry: &'a Registry,
    name: &'a str,
    old: &'a Arc<Core>,
}

impl Drop for Mark<'_> {
    fn drop(&mut self) {
        if let Some(instance) = self.registry.state().instance_of(self.name, self.old) {
            instance.end_restart();
        }
    }
}

impl Registry {
    /// Ends `old`, a domain that exports, and has `new`, another instance of its module with its name, serve what `old` exports. Existing bindings
    /// go on, or are over, as each asked ([`Rebind`]). For hosts that make the new domain themselves, as one makes a program's
    /// ([`Program`](crate::Program)); [`restart`](Registry::restart) makes one.
    ///
    /// # Errors
    /// [`RegistryError::UnknownDomain`]: `old` exports nothing, or `new` is no such instance. Nothing has changed.
    pub fn replace(&self, old: &Domain, new: &Domain) -> Result<(), RegistryError> {
        let unknown = || RegistryError::UnknownDomain(old.name().to_owned());
        let is_itself = Arc::ptr_eq(old.core(), new.core());
        if is_itself || !Arc::ptr_eq(old.module(), new.module()) || old.name() != new.name() {
            return Err(unknown());
        }
        let mut state = self.state();
        let instance = state.instance_of(old.name(), old.core()).ok_or_else(unknown)?;
        instance.core = new.core().clone();
        instance.end_restart();
        let left = state.hand_over(old.core(), new.core());
        drop(state);
        crate::domain::close(old.core().clone());
        left.release();
        Ok(())
    }
}

/// Bindings that were replaced, and domains whose functions were: what goes with them may be the host's own code, which may ask
/// the registry.
#[derive(Default)]
struct Left {
    bindings: Vec<Arc<Binding>>,
    clients: Vec<Arc<Core>>,
}

impl Left {
    fn release(self) {
        self.clients.iter().for_each(crate::domain::release_functions);
    }
}

impl State {
    fn instance(&mut self, name: &str) -> Result<&mut Instance, RegistryError> {
        self.instances.get_mut(name).ok_or_else(|| RegistryError::UnknownDomain(name.to_owned()))
    }

    /// By the object: another one may have the name now.
    fn instance_of(&mut self, name: &str, core: &Arc<Core>) -> Option<&mut Instance> {
        self.instances.get_mut(name).filter(|instance| Arc::ptr_eq(&instance.core, core))
    }

    /// Gives everything that `old` served to `new`; what is to go when the registry's lock is free again.
    fn hand_over(&mut self, old: &Arc<Core>, new: &Arc<Core>) -> Left {
        let mut left = Left::default();
        let entries = self.entries.values_mut().filter(|entry| entry.is_of(old)).map(|entry| {
            entry.server = Server::Domain(new.clone());
            &mut entry.bound
        });
        // Who has a name that was taken back has it all the same.
        let past = self.past.iter_mut().filter(|past| past.is_of(old)).map(|past| {
            past.server = Some(Arc::downgrade(new));
            &mut past.bound
        });
        for bound in entries.chain(past) {
            bound.retain_mut(|bound| {
                let Bound::Domain { binding, client, rebind } = bound else { return true };
                let Some(before) = binding.upgrade() else { return false };
                let again = || before.again(new.clone(), *rebind == Rebind::Yes).ok();
                let rebound = if *rebind == Rebind::No { None } else { again() };
                let Some(after) = rebound.map(Arc::new) else {
                    before.close(Closed::Restarted);
                    left.bindings.push(before);
                    return false;
                };
                *binding = Arc::downgrade(&after);
                match client.as_ref().and_then(|(core, slot)| Some((core.upgrade()?, *slot))) {
                    Some((core, slot)) => {
                        core.gates().replace_import(slot, &before.gate_entry(), after.gate());
                        left.clients.push(core);
                    }
                    None if *rebind == Rebind::OnRequest => before.end_for(after),
                    None => before.hand_on(after),
                }
                left.bindings.push(before);
                true
            });
        }
        left
    }
}
