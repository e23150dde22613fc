//! What programs export to each other: a registry of their own, in which they are the principals. Nothing can be called that was not said on both
//! sides.

use crate::error::{ProgramsError, no_program};
use crate::share;
use crate::spec::{Exported, Imported, Shared, Spec, registered};
use lockgate::{Allow, Domain, Export, KeptDomain, Principal, Program, Registry, RegistryError, Request};
use rustix::process::geteuid;

/// Which instances serve now.
pub struct Services<'a> {
    specs: &'a [Spec],
    registry: &'a Registry,
    served: Vec<Option<KeptDomain>>,
}

impl<'a> Services<'a> {
    pub fn new(specs: &'a [Spec], registry: &'a Registry) -> Services<'a> {
        Services { specs, registry, served: specs.iter().map(|_| None).collect() }
    }

    /// The new domain of a program serves its exports from now on, in place of the one before, which has ended: all of them, or none.
    ///
    /// # Errors
    /// [`ProgramsError::Export`].
    pub fn serve(&mut self, program: usize, domain: &Domain) -> Result<(), ProgramsError> {
        let spec = &self.specs[program];
        if spec.exports.is_empty() {
            return Ok(());
        }
        match &self.served[program] {
            Some(old) => {
                let replaced = self.registry.replace(old, domain);
                replaced.map_err(|error| failed(spec, &spec.exports[0], &error))?;
            }
            None => {
                let exported = spec.exports.iter().try_for_each(|export| self.export(spec, export, domain));
                exported.inspect_err(|_| {
                    // (If the first one has failed, there is none.)
                    let _ = self.registry.remove(&spec.name);
                })?;
            }
        }
        self.served[program] = Some(domain.keep());
        Ok(())
    }

    fn export(&self, spec: &Spec, export: &Exported, domain: &Domain) -> Result<(), ProgramsError> {
        let mut asked = Export::new(registered(&spec.name, &export.name), export.version)
            .of(&export.function)
            .policy(export.policy)
            .serialize(export.serialize)
            // The host's own.
            .allow(Allow::User(geteuid().as_raw()));
        for client in self.specs.iter().filter(|client| uses(client, spec, export)) {
            asked = asked.allow(Allow::Domain(client.name.clone()));
        }
        self.registry.export(domain, asked).map_err(|error| failed(spec, export, &error))
    }

    /// Whether other processes could bind an export by what it is shared as. (Where no module says its signature, the first client tells.)
    fn can_be_shared(&self, spec: &Spec, export: &Exported) -> Result<(), ProgramsError> {
        let request = Request::new(registered(&spec.name, &export.name), export.version);
        let own = Principal::user(geteuid().as_raw());
        let bound = match &export.shared {
            Shared::No => return Ok(()),
            Shared::Values => self.registry.bind_described(&own, &request),
            Shared::As(prototype) => {
                let signature = share::signature(prototype).map_err(|why| failed(spec, export, &why))?;
                self.registry.bind_signature(&own, &request, &signature)
            }
        };
        match bound {
            Ok(bound) if export.shared == Shared::Values => {
                share::check_values(bound.signature()).map_err(|why| failed(spec, export, &why))
            }
            Ok(_) | Err(RegistryError::NoSignature { .. }) => Ok(()),
            Err(error) => Err(failed(spec, export, &error)),
        }
    }

    /// What the new domain of a program imports leads to who serves it.
    ///
    /// # Errors
    /// [`ProgramsError::Import`].
    pub fn link(&self, program: usize, domain: &Domain) -> Result<(), ProgramsError> {
        let spec = &self.specs[program];
        spec.imports.iter().try_for_each(|import| self.import(spec, import, domain))
    }

    fn import(&self, spec: &Spec, import: &Imported, domain: &Domain) -> Result<(), ProgramsError> {
        let failed = |why: String| ProgramsError::Import {
            program: spec.name.clone(),
            import: import.import.clone(),
            why,
        };
        let programs = || self.specs.iter().map(|spec| spec.name.as_str());
        let Some(server) = self.specs.iter().find(|server| server.name == import.program) else {
            return Err(failed(no_program(&import.program, programs())));
        };
        // In each version that there is: the registry chooses.
        let mut exports = server.exports.iter().filter(|export| export.name == import.export).peekable();
        if exports.peek().is_none() {
            let near = lockgate::nearest(&import.export, server.exports.iter().map(|e| e.name.as_str()));
            let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            return Err(failed(format!("{} does not export {}{near}", import.program, import.export)));
        }
        if !exports.any(|export| uses(spec, server, export)) {
            return Err(failed(format!("{} exports {} to others only", server.name, import.export)));
        }
        let principal = Principal::domain(&spec.name);
        self.registry
            .link(domain, &import.import, &principal, &import.request())
            .map_err(|error| failed(error.to_string()))
    }

    /// Takes back all that is served.
    pub fn end(&mut self) {
        for (spec, served) in self.specs.iter().zip(&mut self.served) {
            if served.take().is_some() {
                // (Who has removed it has ended it.)
                let _ = self.registry.remove(&spec.name);
            }
        }
    }
}

/// Why an export of a program's is not there.
fn failed(program: &Spec, export: &Exported, why: &impl ToString) -> ProgramsError {
    ProgramsError::Export { program: program.name.clone(), export: export.name.clone(), why: why.to_string() }
}

/// Whether each export has a name of its own in the registry, and all programs are there to which something is exported.
///
/// # Errors
/// [`ProgramsError::Export`].
pub fn check_exports(specs: &[Spec]) -> Result<(), ProgramsError> {
    let is_missing = |client: &&String| !specs.iter().any(|spec| spec.name == **client);
    for (program, export) in specs.iter().flat_map(|spec| spec.exports.iter().map(move |e| (spec, e))) {
        // (Names of programs may have dots: export c of program a.b would be export b.c of program a.)
        if export.name.contains('.') {
            return Err(failed(program, export, &"the name of an export has no dots"));
        }
        if let Shared::As(prototype) = &export.shared {
            share::signature(prototype).map_err(|why| failed(program, export, &why))?;
        }
        if let Some(missing) = export.to.iter().flatten().find(is_missing) {
            let known = specs.iter().map(|spec| spec.name.as_str());
            return Err(failed(program, export, &no_program(missing, known)));
        }
    }
    Ok(())
}

/// Whether `client` imports this export of `server`'s, and may.
fn uses(client: &Spec, server: &Spec, export: &Exported) -> bool {
    let may = export.to.as_ref().is_none_or(|to| to.contains(&client.name));
    let asks = |import: &Imported| import.program == server.name && import.export == export.name;
    may && client.imports.iter().any(asks)
}

/// Whether all exports and imports fit together: as they will be made, in domains in which nothing runs.
///
/// # Errors
/// [`ProgramsError::Domain`], [`ProgramsError::Export`], [`ProgramsError::Import`].
pub fn check(specs: &[Spec]) -> Result<(), ProgramsError> {
    let registry = Registry::new();
    let mut services = Services::new(specs, &registry);
    let mut made = Vec::new();
    for (program, spec) in specs.iter().enumerate() {
        let is_part = !spec.exports.is_empty() || !spec.imports.is_empty();
        // (What keeps another's domain from being made is told when that is to be started.)
        let domain = match is_part {
            true => Some(Program::new(&spec.module, spec.options(spec.grants.clone())).map_err(|error| {
                ProgramsError::Domain { program: spec.name.clone(), why: error.to_string() }
            })?),
            false => None,
        };
        if let Some(domain) = &domain {
            services.serve(program, &domain.domain())?;
            spec.exports.iter().try_for_each(|export| services.can_be_shared(spec, export))?;
        }
        made.push(domain);
    }
    let link = |(program, domain): (usize, &Option<Program>)| match domain {
        Some(domain) => services.link(program, &domain.domain()),
        None => Ok(()),
    };
    let linked = made.iter().enumerate().try_for_each(link);
    services.end();
    linked
}
