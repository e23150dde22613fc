//! From a request to a binding.
use super::RegistryError;
use super::bound::Bound;
use super::principal::Principal;
use super::request::Request;
use super::state::{Entry, Registry, Sayer, Server, Shared, State};
use crate::binding::{Binding, Dynamic, Wishes, measured, within_registers};
use crate::call::Gate;
use crate::domain::{Core, Domain, DomainOptions, release_functions};
use crate::error::CallError;
use crate::function::{Function, FunctionType};
use crate::host::{PerProcess, end_after};
use crate::host_function::HostFunction;
use crate::nearest::is_worth_it;
use crate::policy::Policy;
use crate::signature::{self, Signature};
use crate::stats::Row;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// For whom something is bound.
#[derive(Clone, Copy)]
struct Client<'a> {
    principal: &'a Principal,
    /// Domain and import.
    import: Option<(&'a Arc<Core>, u16)>,
    /// The domain calls the import for the first time: nothing is to be replaced.
    is_first_call: bool,
}

/// What a client says of the signature.
#[derive(Clone, Copy)]
enum Asked<'a> {
    By(&'a Signature),
    /// Takes it from the exporter, and believes nothing that could harm it.
    Nothing,
    /// Whatever it is: the client gives arguments and result their room by it.
    Anything,
}

impl<'a> Asked<'a> {
    fn of(signature: Option<&'a Signature>) -> Asked<'a> {
        signature.map_or(Asked::Nothing, Asked::By)
    }
}

impl Registry {
    /// Binds a function of a domain for the host.
    ///
    /// # Errors
    /// [`RegistryError`] says what is missing, forbidden or different.
    pub fn bind<F: FunctionType>(
        &self,
        principal: &Principal,
        request: &Request,
    ) -> Result<Function<F>, RegistryError> {
        let signature = F::signature(&request.name);
        self.bind_for_host(principal, request, Asked::By(&signature)).map(Function::new)
    }

    /// Binds for the host with the exporter's signature: if the exporting host gave the prototype, or arguments and result travel in registers. A
    /// module's note alone never decides what a call does to the host's memory.
    ///
    /// # Errors
    /// As [`bind`](Registry::bind).
    pub fn bind_dynamic(&self, principal: &Principal, request: &Request) -> Result<Dynamic, RegistryError> {
        self.bind_for_host(principal, request, Asked::Nothing).map(Dynamic::new)
    }

    /// Binds for the host by the exporter's signature, also if only its module's note gives it: see [`Domain::bind_described`].
    ///
    /// # Errors
    /// As [`bind`](Registry::bind).
    pub fn bind_described(&self, principal: &Principal, request: &Request) -> Result<Dynamic, RegistryError> {
        self.bind_for_host(principal, request, Asked::Anything).map(Dynamic::described)
    }

    /// Binds for the host by `signature`, the client's own; its name does not count.
    ///
    /// # Errors
    /// As [`bind`](Registry::bind).
    pub fn bind_signature(
        &self,
        principal: &Principal,
        request: &Request,
        signature: &Signature,
    ) -> Result<Dynamic, RegistryError> {
        self.bind_for_host(principal, request, Asked::By(signature)).map(Dynamic::new)
    }

    fn bind_for_host(
        &self,
        principal: &Principal,
        request: &Request,
        asked: Asked<'_>,
    ) -> Result<Arc<Binding>, RegistryError> {
        match self.answer(Client { principal, import: None, is_first_call: false }, request, asked)? {
            Answer::Binding(binding) => Ok(binding),
            Answer::Host(_) => Err(RegistryError::HostFunction(request.name.clone())),
        }
    }

    /// Answers the import `import` of `domain`'s module with what `request` asks for.
    ///
    /// # Errors
    /// As [`bind`](Registry::bind), and [`RegistryError::Import`].
    pub fn link(
        &self,
        domain: &Domain,
        import: &str,
        principal: &Principal,
        request: &Request,
    ) -> Result<(), RegistryError> {
        let module = domain.module();
        let unknown = || RegistryError::Import {
            domain: domain.name().to_owned(),
            import: import.to_owned(),
            known: module.imports().map(|(name, _)| name).collect::<Vec<_>>().join(", "),
        };
        let found = module.parsed().imports.iter().find(|i| i.name == import).ok_or_else(unknown)?;
        let signature = noted(found.signature.as_deref())?;
        let client = Client { principal, import: Some((domain.core(), found.slot)), is_first_call: false };
        self.answer(client, request, Asked::of(signature.as_ref()))?;
        // What answered it before: the host may link again and again.
        release_functions(domain.core());
        Ok(())
    }

    /// Binds what an import asks for.
    fn import(&self, client: Client<'_>, name: &str, signature: Option<&str>) -> Result<(), RegistryError> {
        self.answer(client, &Request::newest(name), Asked::of(noted(signature)?.as_ref())).map(drop)
    }

    /// For domains, which the registry may keep.
    fn downgrade(&self) -> WeakRegistry {
        WeakRegistry(Arc::downgrade(&self.shared))
    }

    /// Binds, or waits until there is something to bind. A domain has it as its import then.
    fn answer(
        &self,
        client: Client<'_>,
        request: &Request,
        asked: Asked<'_>,
    ) -> Result<Answer, RegistryError> {
        let signature = if let Asked::By(signature) = asked { Some(signature) } else { None };
        let end = end_after(request.wait);
        let mut replaced = Vec::new();
        let mut state = self.state();
        loop {
            match state.find(client.principal, request, signature) {
                Ok(entry) => {
                    entry.may_be_believed(client, asked)?;
                    let (answer, bound) = entry.bind(client, request)?;
                    let key = (entry.export.name.clone(), entry.export.version.major);
                    if let Some((core, slot)) = client.import {
                        if client.is_first_call && !core.gates().answer_import(slot, answer.gate()) {
                            // The host has said meanwhile where it leads, or another thread has called it. What was bound goes without the lock.
                            drop(state);
                            return Ok(answer);
                        }
                        // Under the lock: what takes bindings back or replaces them finds this one in its place. Under whatever name the import
                        // had a function of the host's before, that is not taken away from it any more: this may be the same one.
                        if !client.is_first_call {
                            core.gates().set_import(slot, answer.gate());
                        }
                        let State { entries, past, .. } = &mut *state;
                        let of_entries = entries.values_mut().map(|entry| &mut entry.bound);
                        for all in of_entries.chain(past.iter_mut().map(|past| &mut past.bound)) {
                            replaced.extend(all.extract_if(.., |bound| bound.is_hosts_for(core, slot)));
                        }
                    }
                    if let Some(entry) = state.entries.get_mut(&key) {
                        entry.bound.push(bound);
                    }
                    drop(state);
                    drop(replaced); // outside the lock: it may be the host's own code
                    return Ok(answer);
                }
                Err(RegistryError::Unknown { name, .. }) => {
                    let left = end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
                    if request.wait.is_zero() {
                        let known = state.like(client.principal, &name);
                        drop(state);
                        return Err(RegistryError::unknown(&name, &known));
                    }
                    if left.is_zero() {
                        return Err(RegistryError::Late { name, timeout: request.wait });
                    }
                    let waited = self.shared.exported.wait_timeout(state, left);
                    state = waited.unwrap_or_else(|e| e.into_inner()).0;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// What a request leads to.
enum Answer {
    Binding(Arc<Binding>),
    Host(HostFunction),
}

impl Answer {
    fn gate(&self) -> Gate {
        match self {
            Answer::Binding(binding) => binding.clone().gate(),
            Answer::Host(function) => function.gate(),
        }
    }
}

/// A registry that is there as long as another owner keeps it.
#[derive(Debug, Clone)]
struct WeakRegistry(Weak<PerProcess<Shared>>);

impl WeakRegistry {
    /// What an import is that `domain` has just called for the first time.
    ///
    /// # Errors
    /// [`CallError::Import`].
    pub fn resolve(&self, principal: &Principal, domain: &Arc<Core>, slot: u16) -> Result<(), CallError> {
        let imports = &domain.module().parsed().imports;
        let import = imports.iter().find(|import| import.slot == slot);
        let (name, signature) =
            import.map_or(("", None), |import| (import.name.as_str(), import.signature.as_deref()));
        let client = Client { principal, import: Some((domain, slot)), is_first_call: true };
        let found = match self.0.upgrade() {
            Some(shared) => Registry { shared }.import(client, name, signature),
            None => Err(RegistryError::Gone),
        };
        found.map_err(|error| CallError::Import {
            domain: domain.name().to_owned(),
            import: name.to_owned(),
            source: Box::new(error),
        })
    }
}

/// The signature in an import's note, if it has one.
fn noted(text: Option<&str>) -> Result<Option<Signature>, RegistryError> {
    Ok(text.map(str::parse).transpose().map_err(crate::BindError::from)?)
}

impl State {
    /// Names of about the length of `name` that the principal may bind.
    fn like(&self, principal: &Principal, name: &str) -> Vec<String> {
        let like = self.entries.values().filter(|entry| is_worth_it(name, &entry.export.name));
        like.filter(|entry| entry.admits(principal)).map(|entry| entry.export.name.clone()).collect()
    }

    /// The entry that serves `request`, newest first.
    fn find(
        &mut self,
        principal: &Principal,
        request: &Request,
        signature: Option<&Signature>,
    ) -> Result<&mut Entry, RegistryError> {
        let name = &request.name;
        let versions = (name.clone(), 0)..=(name.clone(), u16::MAX);
        let known: Vec<_> = self.entries.range(versions.clone()).map(|(_, entry)| entry).collect();
        if known.is_empty() {
            return Err(RegistryError::Unknown { name: name.clone(), near: None });
        }
        // A principal that may bind nothing of that name learns nothing of it.
        let known: Vec<_> = known.into_iter().filter(|entry| entry.admits(principal)).collect();
        if known.is_empty() {
            return Err(RegistryError::Forbidden { name: name.clone(), principal: principal.to_string() });
        }
        let serving = |entry: &&&Entry| {
            request.version.is_none_or(|asked| {
                let version = entry.export.version;
                version.major == asked.major && version.minor >= asked.minor
            })
        };
        let agrees = |entry: &Entry| match signature {
            // A function of the host's is not what a module has.
            Some(signature) if matches!(entry.server, Server::Host(_)) => {
                signature::agree(signature, &entry.signature)
            }
            Some(signature) => signature::agree(&entry.signature, signature),
            None => Ok(()),
        };
        let mut refused = None;
        let mut chosen = None;
        for entry in known.iter().rev().filter(serving) {
            match agrees(entry) {
                Ok(()) => {
                    chosen = Some(entry.export.version.major);
                    break;
                }
                Err(mismatch) => refused = refused.or(Some(mismatch)),
            }
        }
        let Some(major) = chosen else {
            return Err(match (refused, request.version) {
                (Some(mismatch), _) => RegistryError::Signature { name: name.clone(), mismatch },
                (None, asked) => RegistryError::Version {
                    name: name.clone(),
                    asked: asked.expect("every entry serves a request without a version"),
                    known: known.iter().map(|e| e.export.version.to_string()).collect::<Vec<_>>().join(", "),
                },
            });
        };
        Ok(self.entries.get_mut(&(name.clone(), major)).expect("found above"))
    }
}

impl Entry {
    fn admits(&self, principal: &Principal) -> bool {
        self.export.allow.iter().any(|allow| allow.admits(principal))
    }

    /// Whether the signature is more than the server's own word, where it says what is read and written of the client's memory.
    ///
    /// # Errors
    /// [`RegistryError::NoSignature`], [`BindError::NeedsPrototype`](crate::BindError::NeedsPrototype).
    fn may_be_believed(&self, client: Client<'_>, asked: Asked<'_>) -> Result<(), RegistryError> {
        match (self.said_by, asked, client.import) {
            // What was asked for has been compared.
            (Sayer::Host, ..) | (_, Asked::By(_) | Asked::Anything, _) => Ok(()),
            (Sayer::Module, Asked::Nothing, Some(_)) => {
                Err(RegistryError::NoSignature { name: self.export.name.clone() })
            }
            (Sayer::Module, Asked::Nothing, None) => {
                let instead = "Registry::bind (lg_registry_bind_as)";
                Ok(within_registers(&self.export.name, &self.signature, instead)?)
            }
        }
    }

    /// Binds for a client that may, to whom it is given once the rest of it is written down here.
    fn bind(&mut self, client: Client<'_>, request: &Request) -> Result<(Answer, Bound), RegistryError> {
        self.bound.retain(Bound::is_alive);
        let policy = self.export.policy.union(request.policy);
        let name = match client.import {
            Some((core, _)) => format!("domain {} as {}", core.name(), client.principal),
            None => client.principal.to_string(),
        };
        match &self.server {
            Server::Domain(core) => {
                let enforced = policy.union(core.terms().policy);
                let row = self.list(&name, Some(enforced), client.import.is_some())?;
                let (core, signature) = (core.clone(), self.signature.clone());
                let caller = client.import.map(|(core, _)| &***core);
                let Request { on_failure, limit, .. } = *request;
                let wishes = Wishes { policy, on_failure, limit };
                let concurrent = !self.export.serialize;
                let binding = Binding::listed(core, signature, caller, wishes, row, concurrent)?;
                let binding = Arc::new(binding);
                let client = client.import.map(|(core, slot)| (Arc::downgrade(core), slot));
                let (weak, rebind) = (Arc::downgrade(&binding), request.rebind);
                Ok((Answer::Binding(binding), Bound::Domain { binding: weak, client, rebind }))
            }
            Server::Host(function) => {
                if let Some((core, slot)) = client.import {
                    let _row = self.list(&name, None, true)?;
                    let (client, function) = (Arc::downgrade(core), function.clone());
                    let bound = Bound::Host { client, slot, function: function.clone(), _row };
                    return Ok((Answer::Host(function), bound));
                }
                Err(RegistryError::HostFunction(request.name.clone()))
            }
        }
    }

    /// A row for a binding; `policy` is `None` for functions of the host. An import may have none.
    fn list(
        &self,
        client: &str,
        policy: Option<Policy>,
        is_import: bool,
    ) -> Result<Option<Arc<Row>>, RegistryError> {
        let (enforced, counted) = match policy.map(measured) {
            Some(policy) if policy.timed => (policy.to_string(), "timed"),
            Some(policy) if policy.counted => (policy.to_string(), "counted"),
            Some(policy) => (policy.to_string(), ""),
            None => ("gate".to_owned(), ""),
        };
        let fields = [client, &enforced, counted, &self.export.name];
        Ok(match is_import {
            true => Row::import(&self.row, &fields)?,
            false => Some(Row::binding(Some(&self.row), &fields)?),
        })
    }
}

impl DomainOptions {
    /// Finds the module's imports, but for those that [`gate`](DomainOptions::gate) answers, in `registry`, each at its first
    /// call, as `principal` may. The newest version with the import's signature is taken.
    ///
    /// An import that is not found ends the call with [`CallError::Import`](crate::CallError::Import); the next
    /// call looks again. The domain does not keep the registry.
    pub fn registry(self, registry: &Registry, principal: Principal) -> Self {
        let registry = registry.downgrade();
        self.resolver(Arc::new(move |domain, slot| {
            registry.resolve(&principal, &Core::shared(domain.clone()), slot)
        }))
    }
}
