//! What libraries call of the host and of each other.
//!
//! An import is answered, in this order, by the options of the library's domain, by a service for this library, by one for all, by the first
//! library open with `RTLD_GLOBAL` that exports the name, by the registry that the options name.
use super::loaded::{Loaded, Scope, Services, runtime_symbol};
use super::service_sys::Service;
use super::table::Pin;
use super::{DlError, table};
use crate::binding::Binding;
use crate::call::{AnyDomain, Gate, OnFailure};
use crate::domain::{Core, release_functions};
use crate::error::CallError;
use crate::host::{Short, locked};
use crate::module::{Placed, callable};
use crate::signature::Signature;
use lockgate_verify::Import;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

static FOR_ALL: Mutex<Services> = Mutex::new(Services(BTreeMap::new()));

fn for_all() -> Short<MutexGuard<'static, Services>> {
    Short::new(|| locked(&FOR_ALL))
}

/// Offers a service to all libraries, those that are open already included: it answers imports that nothing has answered yet.
pub fn provide(service: Service) {
    for_all().0.insert(service.name().to_owned(), service);
}

/// Takes a service for all back, for imports that nothing has answered yet. True if there was one.
pub fn withdraw(name: &str) -> bool {
    for_all().0.remove(name).is_some()
}

impl Scope {
    /// Answers every import of `core`, with libraries that are `held` open from then on: this one is in no table yet.
    ///
    /// # Errors
    /// Name and reason of each that nothing answers.
    pub fn answer_all(&self, core: &Arc<Core>, held: &mut Vec<Pin>) -> Result<(), Vec<String>> {
        let imports = core.module().parsed().imports.iter();
        let missing = imports.filter_map(|import| {
            self.answer(core, import, held)
                .err()
                .map(|why| format!("undefined symbol: {} ({why})", import.name))
        });
        let missing: Vec<String> = missing.collect();
        if missing.is_empty() { Ok(()) } else { Err(missing) }
    }

    /// Answers the import of `core` that it has just called.
    ///
    /// # Errors
    /// [`CallError::Unanswered`].
    pub fn answer_slot(&self, core: &Arc<Core>, slot: u16) -> Result<(), CallError> {
        let import = core.module().parsed().imports.iter().find(|import| import.slot == slot);
        let name = import.map_or_else(|| format!("gate {slot}"), |import| import.name.clone());
        let mut held = Vec::new();
        let answered = import.map_or_else(
            || Err("the module has no such import".to_owned()),
            |import| self.answer(core, import, &mut held),
        );
        drop(held);
        answered.map_err(|why| CallError::Unanswered { library: self.library.clone(), import: name, why })
    }

    /// Offers a service to the library in this image alone. It replaces what has answered the import before.
    ///
    /// # Errors
    /// [`DlError::Service`]: the import is of another type.
    pub fn provide(&self, core: &Arc<Core>, image: &Placed, service: Service) -> Result<(), DlError> {
        let module = image.module.parsed();
        let answer = |noted: Option<Signature>| {
            let answer = service.answer(noted.as_ref()).map(|function| function.gate());
            answer.map_err(|why| DlError::Service(service.name().to_owned(), why))
        };
        if let Some(join) = &module.join {
            // It has words in place of imports, which the base may have by the same names.
            let symbols = join.symbols.iter().filter(|symbol| symbol.of_host).enumerate();
            for (number, symbol) in symbols.filter(|(_, symbol)| symbol.name == service.name()) {
                core.link_joined(image, number, answer(callable(symbol.signature.as_deref()))?);
            }
        } else if let Some(import) = module.imports.iter().find(|import| import.name == service.name()) {
            core.gates().set_import(import.slot, answer(callable(import.signature.as_deref()))?);
            // What answered it before.
            release_functions(core);
        }
        self.services().0.insert(service.name().to_owned(), service);
        Ok(())
    }

    /// What the host has said itself, or says meanwhile, stays.
    fn answer(&self, core: &Arc<Core>, import: &Import, held: &mut Vec<Pin>) -> Result<(), String> {
        if core.gates().is_answered(import.slot) {
            return Ok(());
        }
        match (self.gate(core, &import.name, callable(import.signature.as_deref()), held), &self.beyond) {
            (Ok(gate), _) => {
                core.gates().answer_import(import.slot, gate);
                Ok(())
            }
            (Err(_), Some(beyond)) => {
                beyond(&(core.clone() as Arc<dyn AnyDomain>), import.slot).map_err(|error| error.to_string())
            }
            (Err(why), None) => Err(why),
        }
    }

    /// What a function of the host that `core` calls by name is, as it was noted; a library whose function it is is `held` open.
    ///
    /// # Errors
    /// Why there is none.
    pub fn gate(
        &self,
        core: &Arc<Core>,
        name: &str,
        noted: Option<Signature>,
        held: &mut Vec<Pin>,
    ) -> Result<Gate, String> {
        let service = self.services().0.get(name).cloned();
        let service = service.or_else(|| for_all().0.get(name).cloned());
        match service {
            Some(service) => Ok(service.answer(noted.as_ref())?.gate()),
            None => self.cross(core, name, noted, held),
        }
    }

    /// The function of another library.
    fn cross(
        &self,
        core: &Arc<Core>,
        name: &str,
        noted: Option<Signature>,
        held: &mut Vec<Pin>,
    ) -> Result<Gate, String> {
        let exports =
            |loaded: &Arc<Loaded>| !Arc::ptr_eq(loaded.core(), core) && loaded.image().export(name).is_some();
        let known = table::global().into_iter().filter(|loaded| exports(loaded) && !runtime_symbol(name));
        // Another thread may be about to close it.
        let found = known.filter_map(|loaded| Some((Pin::new(loaded.id()).ok()?, loaded))).next();
        let (pin, server) = found.ok_or("no service, and no library open with RTLD_GLOBAL, has it")?;
        held.push(pin);
        let says = server.module().export(name).is_some_and(|export| export.signature.is_some());
        // One library's word alone would decide what is read and written of the other's memory.
        let signature = noted.filter(|_| says).ok_or_else(|| {
            format!(
                "{} exports it, but not both libraries have its signature: compile them with -g, or name the prototype when linking",
                server.name
            )
        })?;
        // A library that does not expect failures of what it calls does not have to go on after one.
        let on_failure = OnFailure::Propagate;
        let binding = Binding::for_domain(
            server.core().clone(),
            server.image(),
            signature,
            core,
            self.policy,
            on_failure,
        );
        let binding = binding.map_err(|error| error.to_string())?;
        let mut dependencies = locked(&self.dependencies);
        if !dependencies.iter().any(|known| Arc::ptr_eq(known, &server)) {
            dependencies.push(server);
        }
        Ok(Arc::new(binding).gate())
    }
}
