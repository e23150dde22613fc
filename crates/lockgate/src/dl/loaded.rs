//! A library while it is open, and its end.
use super::fronts::{self, Meaning, Pointer};
use super::handle::Object;
use super::service_sys::Service;
use super::verdicts::{FileKey, Hash};
use super::{DlError, Options};
use crate::binding::{Binding, Internal, RawFunctionPointer, within_registers};
use crate::call::failure_sys::{self, Failure};
use crate::call::reporter::{self, Reporter};
use crate::call::{Closed, watch};
use crate::callback::Callback;
use crate::domain::{self, Core, Domain, Resolver};
use crate::error::{BindError, CallError, CreateError, MemoryError};
use crate::grant::{Grant, Rights};
use crate::host::locked;
use crate::module::Module;
use crate::module::Placed;
use crate::nearest::nearest;
use crate::policy::Policy;
use crate::signature::{Plan, PrototypeError, Signature};
use lockgate_abi::{code, symbol, window};
use lockgate_verify::SegmentKind;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Number of the next library.
pub(super) static NEXT: AtomicU64 = AtomicU64::new(1);

/// Time that constructors have whose time is over: they end, and their error says why.
const LEAST: Duration = Duration::from_millis(1);

/// Symbols of the runtime in every module, which are none of the library's own.
pub(super) fn runtime_symbol(name: &str) -> bool {
    const OURS: [&str; 10] = [
        symbol::INIT,
        symbol::FINI,
        symbol::MAIN,
        symbol::THREAD_INIT,
        symbol::THREAD_EXIT,
        symbol::THREAD_RENEW,
        symbol::THREAD_MEND,
        symbol::THREAD_START,
        symbol::ALLOC,
        symbol::FREE,
    ];
    OURS.contains(&name)
}

/// Services by name.
#[derive(Debug, Default)]
pub(super) struct Services(pub BTreeMap<String, Service>);

impl Services {
    /// Those of `other`, too.
    pub fn add(&mut self, other: &Services) {
        self.0.extend(other.0.iter().map(|(name, service)| (name.clone(), service.clone())));
    }
}

/// What one library's imports are answered with.
pub(super) struct Scope {
    pub library: String,
    pub policy: Policy,
    /// What the domain's options have find the imports that nothing else answers.
    pub beyond: Option<Arc<Resolver>>,
    pub services: Mutex<Services>,
    /// Libraries that it calls.
    pub dependencies: Mutex<Vec<Arc<Loaded>>>,
}

impl Scope {
    pub fn services(&self) -> MutexGuard<'_, Services> {
        locked(&self.services)
    }
}

/// A library and what it was opened with.
pub(super) struct Loaded {
    id: u64,
    pub name: String,
    pub file: FileKey,
    hash: Hash,
    pub domain: Arc<Domain>,
    image: Placed,
    /// The library whose domain this one joined.
    base: Option<Arc<Loaded>>,
    /// Pointers of libraries that joined this one's domain and were closed: they end with the domain, or are given out again.
    left: Mutex<HashMap<Meaning, Vec<Entry>>>,
    pub scope: Arc<Scope>,
    options: Options,
    failure: Mutex<Option<u64>>,
    /// Pointers that were given out; `None` when the library is gone.
    entries: Mutex<Option<HashMap<Meaning, Entry>>>,
    /// Services that it may call through pointers.
    callbacks: Mutex<Vec<Callback>>,
    /// Addresses of the host, and what makes them accessible.
    exposed: Mutex<Vec<(u64, Grant)>>,
}

/// A function that was looked up.
struct Entry {
    binding: Binding,
    pointer: Pointer,
}

impl Loaded {
    /// A library whose constructors have not run yet.
    pub fn make(
        name: String,
        file: FileKey,
        hash: Hash,
        (domain, image, base): (Arc<Domain>, Placed, Option<Arc<Loaded>>),
        scope: Arc<Scope>,
        options: &Options,
    ) -> Arc<Loaded> {
        Arc::new(Loaded {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            name,
            file,
            hash,
            domain,
            image,
            base,
            left: Mutex::default(),
            scope,
            failure: Mutex::new(options.failure),
            options: options.clone(),
            entries: Mutex::new(Some(HashMap::new())),
            callbacks: Mutex::default(),
            exposed: Mutex::default(),
        })
    }

    pub fn id(&self) -> u64 {
        self.id
    }

    pub fn hash(&self) -> Hash {
        self.hash
    }

    pub fn core(&self) -> &Arc<Core> {
        self.domain.core()
    }

    pub fn module(&self) -> &Arc<Module> {
        &self.image.module
    }

    pub fn image(&self) -> &Placed {
        &self.image
    }

    /// Whether both are in one domain.
    pub fn shares_domain(&self, other: &Loaded) -> bool {
        Arc::ptr_eq(self.core(), other.core())
    }

    /// The library whose domain this one is in: itself, or the one that it joined.
    pub fn home(self: &Arc<Loaded>) -> Arc<Loaded> {
        self.base.clone().unwrap_or_else(|| self.clone())
    }

    pub fn dependencies(&self) -> Vec<Arc<Loaded>> {
        locked(&self.scope.dependencies).clone()
    }

    fn entries(&self) -> MutexGuard<'_, Option<HashMap<Meaning, Entry>>> {
        locked(&self.entries)
    }

    pub fn exposed(&self) -> MutexGuard<'_, Vec<(u64, Grant)>> {
        locked(&self.exposed)
    }

    /// # Errors
    /// [`DlError::Memory`]: not all in the library's window.
    pub fn owns(&self, at: u64, length: usize, access: &'static str) -> Result<(), DlError> {
        let offset = at.wrapping_sub(self.core().base());
        match offset.checked_add(length as u64) {
            Some(end) if end <= window::SIZE => Ok(()),
            _ => Err(MemoryError::Inaccessible { domain: self.name.clone(), offset, length, access }.into()),
        }
    }

    pub fn callback(&self, service: &Service) -> Result<u64, DlError> {
        let wrong = |what: &str| DlError::Service(service.name().to_owned(), what.to_owned());
        let function = service.answer(None).map_err(|what| wrong(&what))?;
        let callback =
            self.domain.callback(function).ok_or_else(|| wrong("no function pointers are left"))?;
        let address = callback.pointer::<u8>().address();
        locked(&self.callbacks).push(callback);
        Ok(address)
    }

    /// What calls of `symbol`, or of everything, return when they fail. False if `symbol` was not looked up.
    pub fn set_failure(&self, symbol: Option<&str>, value: u64) -> bool {
        let chosen = |meaning: &Meaning| symbol.is_none_or(|symbol| meaning.symbol == symbol);
        let mut found = symbol.is_none();
        for (_, entry) in self.entries().iter().flatten().filter(|(meaning, _)| chosen(meaning)) {
            entry.pointer.reporter.set_value(value);
            found = true;
        }
        if symbol.is_none() {
            *self.failure() = Some(value);
        }
        found
    }

    fn failure(&self) -> MutexGuard<'_, Option<u64>> {
        locked(&self.failure)
    }

    /// The shorter of the domain's time limit and the library's timeout.
    fn timeout(&self) -> Duration {
        self.core().terms().time_limit.map_or(self.options.timeout, |limit| limit.min(self.options.timeout))
    }

    /// Runs `work`, which is told how long it may take, while the watcher is awake.
    fn within<T>(&self, limit: Duration, work: impl FnOnce(Duration) -> T) -> std::io::Result<T> {
        let _awake = watch::Interest::new(true, None, false)?;
        Ok(work(limit))
    }

    /// Constructors, which must have ended by then.
    pub fn start(&self, until: Option<Instant>) -> Result<(), DlError> {
        let left = |until: Instant| until.saturating_duration_since(Instant::now()).max(LEAST);
        let limit = until.map_or(self.timeout(), |until| self.timeout().min(left(until)));
        let started = self.within(limit, |limit| match &self.base {
            None => self.core().start_within(Some(limit)),
            Some(_) => self
                .run(symbol::INIT, limit)
                .map_err(|source| CreateError::Start { name: self.name.clone(), source: Box::new(source) }),
        });
        let no_watcher = |source| CreateError::Space { name: self.name.clone(), source };
        Ok(started.map_err(no_watcher)??)
    }

    /// Runs a procedure of the runtime's, if the module has it.
    fn run(&self, procedure: &str, limit: Duration) -> Result<(), CallError> {
        match Binding::internal(
            self.core().clone(),
            procedure,
            Internal { image: Some(&self.image), ..Internal::within(limit) },
        ) {
            Some(binding) => binding.map_err(CallError::Memory)?.invoke(&[]).map(|_| ()),
            None => Ok(()),
        }
    }

    /// Destructors. The library is in the table no more. Nothing of this takes longer than the timeout, once for the wait for an exclusive
    /// domain's place, once again when its calls have been ended, and for the run.
    pub fn finish(&self) {
        if self.core().is_killed() {
            return;
        }
        let run = || self.within(self.timeout(), |limit| self.run(symbol::FINI, limit));
        let mut done = run();
        if let Ok(Err(CallError::Busy(..))) = done {
            // A thread has the place of an exclusive domain, for good perhaps: what is in progress ends now, as it would afterwards.
            self.entries()
                .iter()
                .flat_map(HashMap::values)
                .for_each(|entry| entry.binding.stop(Closed::Unloaded));
            done = run();
        }
        let error = match done {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error,
            Err(error) => CallError::Memory(error),
        };
        failure_sys::tell(Failure { library: self.name.clone(), symbol: symbol::FINI.to_owned(), error });
    }

    /// Ends the domain: it takes no more calls, and when no thread is inside any more, its memory goes. A library that joined another's
    /// domain only leaves it: its own calls end, and its memory stays as long as the domain (rule R5).
    pub fn end(self: Arc<Loaded>) {
        if let Some(base) = &self.base {
            let left_by = base.take_over(self.entries().take().unwrap_or_default());
            self.core().leave(&self.image, left_by);
            self.exposed().clear();
        }
        locked(&self.scope.dependencies).clear();
        if self.base.is_some() {
            return;
        }
        for entry in self.entries().iter().flat_map(HashMap::values) {
            entry.binding.close(Closed::Unloaded);
        }
        let core = self.core().clone();
        domain::close_then(core, move || self.reclaim());
    }

    /// No thread is inside, nor on the way.
    fn reclaim(&self) {
        let left = std::mem::take(&mut *self.left());
        let left = left
            .into_iter()
            .flat_map(|(meaning, entries)| entries.into_iter().map(move |entry| (meaning.clone(), entry)));
        for (meaning, Entry { binding, pointer }) in self.entries().take().into_iter().flatten().chain(left) {
            binding.retire();
            fronts::give_back(meaning, pointer);
        }
    }

    fn left(&self) -> MutexGuard<'_, HashMap<Meaning, Vec<Entry>>> {
        locked(&self.left)
    }

    /// Keeps what leads into a library that leaves the domain: threads may be on their way there. Returns the headers of these bindings.
    fn take_over(&self, entries: HashMap<Meaning, Entry>) -> Vec<usize> {
        let (mut left, mut headers) = (self.left(), Vec::new());
        for (meaning, entry) in entries {
            entry.binding.stop(Closed::Unloaded);
            headers.push(entry.binding.header_address());
            left.entry(meaning).or_default().push(entry);
        }
        headers
    }

    /// What led to the same function before the library left, called as it would be now.
    fn entry_again(&self, meaning: &Meaning, address: u64) -> Option<Entry> {
        let base = self.base.as_ref()?;
        let policy = self.options.policy.union(self.core().terms().policy);
        let mut left = base.left();
        let entries = left.get_mut(meaning)?;
        let is_same =
            |entry: &Entry| (entry.binding.procedure(), entry.binding.policy()) == (address, policy);
        let at = entries.iter().position(is_same)?;
        Some(entries.swap_remove(at))
    }

    pub fn has(&self, name: &str) -> bool {
        self.object(name).is_some() || (self.module().export(name).is_some() && !runtime_symbol(name))
    }

    pub fn object(&self, name: &str) -> Option<Object> {
        let (at, size) = self.image.object(name)?;
        Some(Object { address: self.core().base() + at, size })
    }

    /// An exported object, if the host may write there, as it will: the library's word alone says that it is no code and no constant.
    ///
    /// # Errors
    /// [`DlError::Memory`]; [`DlError::Symbol`], [`DlError::IsFunction`] if there is none.
    pub fn writable_object(&self, name: &str) -> Result<Object, DlError> {
        let object = self.object(name).ok_or_else(|| match self.has(name) {
            true => DlError::IsFunction { library: self.name.clone(), symbol: name.to_owned() },
            false => self.no_symbol(name),
        })?;
        let length = usize::try_from(object.size).unwrap_or(usize::MAX).max(1);
        self.domain.check(
            crate::memory::Pointer::<u8>::from_address(object.address),
            length,
            Rights::ReadWrite,
        )?;
        Ok(object)
    }

    pub fn no_symbol(&self, name: &str) -> DlError {
        let known = self.module().exports().map(|(name, _)| name).filter(|name| !runtime_symbol(name));
        DlError::Symbol { library: self.name.clone(), symbol: name.to_owned(), near: nearest(name, known) }
    }

    pub fn function(&self, name: &str, asked: Option<Signature>) -> Result<*const (), DlError> {
        let Some(export) = self.module().export(name).filter(|_| !runtime_symbol(name)) else {
            return Err(match self.object(name) {
                Some(Object { size, .. }) => {
                    DlError::IsData { library: self.name.clone(), symbol: name.to_owned(), size }
                }
                None => self.no_symbol(name),
            });
        };
        let noted = self.module().callable(name);
        match (noted, &asked) {
            (Some(noted), Some(asked)) => BindError::unless_agreed(&self.name, name, noted, asked)?,
            // What only the library says must not decide what a call does to the host's memory; what no call could be made by is no less.
            (Some(noted), None) => within_registers(&self.name, noted, "Library::function (lg_dlsym_typed)")?,
            (None, _) => {}
        }
        let signature = asked.or_else(|| noted.cloned());
        self.pointer(name, export.address, signature)
    }

    pub fn function_at(&self, address: u64, signature: Option<Signature>) -> Result<*const (), DlError> {
        let wrong = || DlError::NoFunction { library: self.name.clone(), address };
        let offset = address.checked_sub(self.core().base() + self.image.at).ok_or_else(wrong)?;
        let segments = self.module().parsed().segments.iter();
        let mut code = segments.filter(|segment| segment.kind == SegmentKind::Code);
        let within = code.any(|code| {
            code.address <= offset && offset + code::LABEL.len() as u64 <= code.address + code.size
        });
        let mut label = [0; code::LABEL.len()];
        // Where the label's bytes are in code, there is a label (rule V4).
        let read = within && self.core().stride().read(self.image.at + offset, &mut label).is_ok();
        if !read || label != code::LABEL {
            return Err(wrong());
        }
        let exports = &self.module().parsed().exports;
        let named = exports.iter().find(|export| export.address == offset && !runtime_symbol(&export.name));
        let name = named.map_or_else(|| format!("{offset:#x}"), |export| export.name.clone());
        self.pointer(&name, offset, signature)
    }

    /// The pointer to the function at `address` of the image.
    fn pointer(&self, name: &str, address: u64, signature: Option<Signature>) -> Result<*const (), DlError> {
        let stack_words = self.options.stack_bytes.div_ceil(8);
        let abi = signature.as_ref().map_or_else(|| format!("{stack_words} words"), Signature::to_string);
        let meaning = Meaning { module: self.hash, library: self.name.clone(), symbol: name.to_owned(), abi };
        let mut entries = self.entries();
        let entries = entries.as_mut().ok_or(DlError::Handle)?;
        if let Some(known) = entries.get(&meaning) {
            return Ok(known.pointer.front.code());
        }
        let address = self.image.at + address;
        let value = self.failure().unwrap_or_else(|| reporter::value_by_type(signature.as_ref()));
        if let Some(entry) = self.entry_again(&meaning, address) {
            entry.pointer.reporter.set_value(value);
            entry.binding.reopen();
            let code = entry.pointer.front.code();
            entries.insert(meaning, entry);
            return Ok(code);
        }
        let plan = match &signature {
            Some(signature) => Plan::new(signature).map_err(|what| PrototypeError {
                prototype: signature.to_string(),
                what,
                at: 1,
            }),
            None => Ok(Plan::without_signature(stack_words)),
        };
        let plan = plan.map_err(BindError::from)?;
        let old = fronts::take(&meaning);
        let reporter = match &old {
            Some(old) => old.reporter.clone(),
            None => Arc::new(Reporter::new(&self.name, name, plan.result_size, signature.as_ref(), value)),
        };
        reporter.set_value(value);
        let front = old.as_ref().map(|old| old.front.clone());
        let parts = RawFunctionPointer {
            name: name.to_owned(),
            address,
            signature,
            plan,
            policy: self.options.policy,
            reporter: reporter.clone(),
            front,
        };
        let binding = match (Binding::raw(self.core().clone(), parts), &old) {
            (Ok(binding), _) => binding,
            (Err(error), old) => {
                old.iter().for_each(|old| fronts::give_back(meaning.clone(), (*old).clone()));
                return Err(BindError::Memory(error).into());
            }
        };
        let pointer = Pointer { front: binding.front(), reporter };
        if old.is_none() {
            fronts::enlist(pointer.clone());
        }
        let code = pointer.front.code();
        entries.insert(meaning, Entry { binding, pointer });
        Ok(code)
    }
}
