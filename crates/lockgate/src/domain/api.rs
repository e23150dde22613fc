//! The handle of a domain.
use super::core::Core;
use super::limits::Usage;
use super::options::DomainOptions;
use super::rest;
use crate::binding::{Binding, CallLimit, Dynamic, Internal};
use crate::call::{OnFailure, admit_sys, signals_sys};
use crate::error::{AllocError, BindError, CallError, CreateError, LinkError, MemoryError, ResetError};
use crate::function::{Function, FunctionType};
use crate::memory::{Plain, Pointer, Tainted};
use crate::module::Module;
use crate::policy::Policy;
use crate::protection::Rights;
use crate::report::Fault;
use crate::signature::{Asked, Signature};
use lockgate_abi::symbol;
use std::any::Any;
use std::ffi::CString;
use std::sync::Arc;

/// One instance of a module, confined to its own memory.
///
/// Bindings keep the domain alive; when the last of them and this handle are gone, its memory goes back.
pub struct Domain {
    /// Only [`Domain::reset`] takes it out, for a moment.
    core: Option<Arc<Core>>,
}

/// Keeps a domain without being its handle, as bindings do: the domain does not end with this.
pub struct KeptDomain(Domain);

impl KeptDomain {
    pub(super) fn new(core: Arc<Core>) -> KeptDomain {
        KeptDomain(Domain::from_core(core))
    }
}

impl std::ops::Deref for KeptDomain {
    type Target = Domain;

    fn deref(&self) -> &Domain {
        &self.0
    }
}

impl Drop for KeptDomain {
    fn drop(&mut self) {
        self.0.core = None; // what is left is the handle of nothing, whose end ends nothing
    }
}

impl Drop for Domain {
    /// Threads of the module's own end with the handle, and none starts behind it: else they would keep the domain for ever.
    fn drop(&mut self) {
        if let Some(core) = self.core.as_ref().filter(|core| !core.is_inherited())
            && core.guest_threads().close()
        {
            core.kill();
        }
    }
}

impl Domain {
    /// Creates a domain and runs the module's initialisation in it, on the calling thread.
    ///
    /// # Errors
    /// [`CreateError`]: no space, options that cannot be met, or a fault during initialisation.
    pub fn new(module: &Arc<Module>, options: DomainOptions) -> Result<Domain, CreateError> {
        Domain::announced(module, options, |_| ())
    }

    /// The same; `starting` gets it before its constructors run, so that others can kill it meanwhile.
    pub(crate) fn announced(
        module: &Arc<Module>,
        options: DomainOptions,
        starting: impl FnOnce(&Arc<Core>),
    ) -> Result<Domain, CreateError> {
        let core = Core::new(module, options)?;
        starting(&core);
        core.start()?;
        Ok(Domain::from_core(core))
    }

    /// A new domain that remembers what it was after its start, for quick resets.
    pub(crate) fn for_pool(module: &Arc<Module>, options: DomainOptions) -> Result<Domain, CreateError> {
        let mut domain = Domain::new(module, options)?;
        domain.take_snapshot();
        Ok(domain)
    }

    /// Remembers what the domain is after its start, if no other handle has it.
    fn take_snapshot(&mut self) {
        let core = self.core.take().expect("present between calls");
        let core = rest::to_reset(core).map(|mut core| {
            core.take_snapshot();
            Arc::new(core)
        });
        self.core.insert(core.unwrap_or_else(|shared| shared)).remember();
    }

    /// The handle of a domain that exists.
    pub(crate) fn from_core(core: Arc<Core>) -> Domain {
        Domain { core: Some(core) }
    }

    /// A handle of its own, for code that has only borrowed one: until it is dropped, a reset is refused.
    pub fn keep(&self) -> KeptDomain {
        KeptDomain(Domain::from_core(self.core().clone()))
    }

    /// Name in reports.
    pub fn name(&self) -> &str {
        self.core().name()
    }

    /// The module.
    pub fn module(&self) -> &Arc<Module> {
        self.core().module()
    }

    /// Address of the window: what the module's pointers start from.
    pub fn base(&self) -> u64 {
        self.core().base()
    }

    /// Memory in use, bytes: image, stacks, heap, mappings.
    pub fn memory_used(&self) -> u64 {
        self.core().memory().used
    }

    /// What the domain uses now: readable at any time, from any thread.
    pub fn usage(&self) -> Usage {
        self.core().usage()
    }

    /// Number of calls in progress in the domain, on all threads; those that wait for the host or another domain count.
    pub fn threads_inside(&self) -> usize {
        crate::call::thread_sys::calls_in(self.base()) // a forked child has none in its parent's
    }

    /// System calls that the module tried and that do not exist for it: number and how often. Those from
    /// [`COUNTED_TOGETHER`](lockgate_syscall::COUNTED_TOGETHER) on count as that.
    pub fn refused_syscalls(&self) -> Vec<(u64, u64)> {
        self.core().here().map(|core| core.process().refused()).unwrap_or_default()
    }

    /// What the module tried that was not granted, such as `connect to 10.0.0.1:80`, and how often.
    pub fn denied(&self) -> Vec<(String, u64)> {
        self.core().here().map(|core| core.process().denied()).unwrap_or_default()
    }

    /// Binds the export `name` as a function of type `F`:
    /// `domain.bind::<extern "C" fn(f64) -> f64>("cbrt")`.
    ///
    /// # Errors
    /// [`BindError`]: no such export, or the module's note says another signature.
    pub fn bind<F: FunctionType>(&self, name: &str) -> Result<Function<F>, BindError> {
        self.bind_with(name, Policy::default())
    }

    /// The same, with a policy of the caller's choice; what the domain asks for is added.
    ///
    /// # Errors
    /// As [`bind`](Domain::bind).
    pub fn bind_with<F: FunctionType>(&self, name: &str, policy: Policy) -> Result<Function<F>, BindError> {
        let binding = Binding::new(self.core().clone(), F::signature(name), policy)?;
        Ok(Function::new(Arc::new(binding)))
    }

    /// The same, for calls within a time limit of the caller's own, which says what becomes of a call that takes longer. The domain's own
    /// [`time_limit`](DomainOptions::time_limit) counts if it is shorter.
    ///
    /// # Errors
    /// As [`bind`](Domain::bind).
    pub fn bind_within<F: FunctionType>(
        &self,
        name: &str,
        policy: Policy,
        limit: CallLimit,
    ) -> Result<Function<F>, BindError> {
        let binding = Binding::within(self.core().clone(), F::signature(name), policy, limit)?;
        Ok(Function::new(Arc::new(binding)))
    }

    /// Binds by a C prototype (`double cbrt(double)`), for signatures known at run time only. The name alone is
    /// enough if the module's note has the prototype, and arguments and result travel in registers: the module's word never decides
    /// what a call does to the host's memory.
    ///
    /// # Errors
    /// As [`bind`](Domain::bind), and for prototypes that cannot be understood.
    pub fn bind_dynamic(&self, prototype: &str) -> Result<Dynamic, BindError> {
        self.bind_dynamic_with(prototype, Policy::default())
    }

    /// The same, with a policy of the caller's choice; what the domain asks for is added.
    ///
    /// # Errors
    /// As [`bind_dynamic`](Domain::bind_dynamic).
    pub fn bind_dynamic_with(&self, prototype: &str, policy: Policy) -> Result<Dynamic, BindError> {
        self.bind_signature(self.asked(prototype)?, policy)
    }

    /// The same, for calls within a time limit of the caller's own: see [`bind_within`](Domain::bind_within).
    ///
    /// # Errors
    /// As [`bind_dynamic`](Domain::bind_dynamic).
    pub fn bind_dynamic_within(
        &self,
        prototype: &str,
        policy: Policy,
        limit: CallLimit,
    ) -> Result<Dynamic, BindError> {
        self.bind_signature_within(self.asked(prototype)?, policy, limit)
    }

    /// The signature that a prototype says, or the module's note of a name.
    fn asked(&self, prototype: &str) -> Result<Signature, BindError> {
        let name = match Asked::parse(prototype)? {
            Asked::Prototype(signature) => return Ok(signature),
            Asked::Name(name) => name,
        };
        Binding::by_name(self.module(), name, "Domain::bind or bind_dynamic (lg_bind)")?
            .ok_or_else(|| self.unbound(name))
    }

    /// Binds by what the module itself says of the export `name`: for [`Dynamic::call`] and [`Dynamic::call_frame`] alone, where one
    /// description gives arguments and result their room on both sides, so that a lie in it does no harm. There is no function
    /// pointer ([`Dynamic::as_ptr`]).
    ///
    /// # Errors
    /// As [`bind_dynamic`](Domain::bind_dynamic).
    pub fn bind_described(&self, name: &str, policy: Policy) -> Result<Dynamic, BindError> {
        let noted = self.module().export_with_note(name.trim())?.and_then(|(_, noted)| noted);
        let signature = noted.ok_or_else(|| self.unbound(name.trim()))?;
        Binding::new(self.core().clone(), signature.clone(), policy)
            .map(|binding| Dynamic::described(Arc::new(binding)))
    }

    /// Why a name of which no note says a signature cannot be bound.
    fn unbound(&self, name: &str) -> BindError {
        let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        match name.parse::<Signature>() {
            Err(what_is_missing) if !is_name || self.module().export(name).is_some() => {
                what_is_missing.into()
            }
            _ => BindError::missing(self.module(), name),
        }
    }

    /// Binds by a parsed signature and a policy.
    ///
    /// # Errors
    /// As [`bind`](Domain::bind).
    pub fn bind_signature(&self, signature: Signature, policy: Policy) -> Result<Dynamic, BindError> {
        Binding::new(self.core().clone(), signature, policy).map(|binding| Dynamic::new(Arc::new(binding)))
    }

    /// The same, for calls within a time limit of the caller's own: see [`bind_within`](Domain::bind_within).
    ///
    /// # Errors
    /// As [`bind`](Domain::bind).
    pub fn bind_signature_within(
        &self,
        signature: Signature,
        policy: Policy,
        limit: CallLimit,
    ) -> Result<Dynamic, BindError> {
        let binding = Binding::within(self.core().clone(), signature, policy, limit)?;
        Ok(Dynamic::new(Arc::new(binding)))
    }

    /// Answers the import `import` of this domain's module with `server`'s export `name`: from then on the domain calls the
    /// other one directly, on the caller's thread. Properties that either side asks for are enforced.
    ///
    /// The signature is the host's, if `name` is a prototype; the modules' notes, where there are any, must agree with it. With a name
    /// alone, import and export must both have one, and the same.
    ///
    /// The other domain stays until this one ends, or is reset: after that, the import is what the domain was made with.
    ///
    /// # Errors
    /// [`LinkError`].
    pub fn link(
        &self,
        import: &str,
        server: &Domain,
        name: &str,
        policy: Policy,
        on_failure: OnFailure,
    ) -> Result<(), LinkError> {
        let forked = |_| BindError::Forked(self.name().to_owned());
        self.core().here().map_err(forked)?;
        let module = self.module();
        let missing = || LinkError::Import {
            domain: self.name().to_owned(),
            import: import.to_owned(),
            known: module.imports().map(|(name, _)| name).collect::<Vec<_>>().join(", "),
        };
        let found = module.parsed().imports.iter().find(|i| i.name == import).ok_or_else(missing)?;
        let noted = found.signature.as_deref().map(str::parse::<Signature>).transpose();
        let noted = noted.map_err(BindError::from)?;
        let signature = match Asked::parse(name).map_err(BindError::from)? {
            Asked::Prototype(asked) => {
                if let Some(noted) = &noted {
                    BindError::unless_agreed(module.name(), import, noted, &asked)?;
                }
                asked
            }
            Asked::Name(name) => {
                let Some(export) = server.module().export(name) else {
                    return Err(BindError::missing(server.module(), name).into());
                };
                match noted {
                    // `of_export` compares it with the export's.
                    Some(noted) if export.signature.is_some() => Signature { name: name.to_owned(), ..noted },
                    _ => return Err(LinkError::NoSignature(import.to_owned(), name.to_owned())),
                }
            }
        };
        let (callee, image) = (server.core().clone(), server.core().image());
        let binding = Binding::for_domain(callee, &image, signature, self.core(), policy, on_failure)?;
        self.core().gates().set_import(found.slot, Arc::new(binding).gate());
        // What answered it before.
        super::release_functions(self.core());
        Ok(())
    }

    /// Allocates room for `count` values with the module's own allocator.
    ///
    /// # Errors
    /// [`AllocError`].
    pub fn alloc<T: Plain>(&self, count: usize) -> Result<Pointer<T>, AllocError> {
        self.core().here()?;
        let module = || self.module().name().to_owned();
        let size = count.saturating_mul(size_of::<T>());
        let Some(allocator) = Binding::internal(self.core().clone(), symbol::ALLOC, Internal::default())
        else {
            return Err(AllocError::NoAllocator(module()));
        };
        let results = allocator.map_err(CallError::Memory)?.invoke(&[size as u64])?;
        let offset = results.integers[0] & 0xffff_ffff;
        if offset == 0 {
            return Err(AllocError::NoMemory { domain: self.name().to_owned(), size });
        }
        Ok(Pointer::from_address(self.base() + offset))
    }

    /// Frees what [`alloc`](Domain::alloc) gave.
    ///
    /// # Errors
    /// [`AllocError`], if the module's allocator is missing or faults.
    pub fn free<T: Plain>(&self, pointer: Pointer<T>) -> Result<(), AllocError> {
        self.core().here()?;
        let Some(free) = Binding::internal(self.core().clone(), symbol::FREE, Internal::default()) else {
            return Err(AllocError::NoAllocator(self.module().name().to_owned()));
        };
        free.map_err(CallError::Memory)?.invoke(&[pointer.address()])?;
        Ok(())
    }

    /// Allocates a copy of `values`.
    ///
    /// # Errors
    /// [`AllocError`].
    pub fn alloc_slice<T: Plain>(&self, values: &[T]) -> Result<Pointer<T>, AllocError> {
        let pointer = self.alloc(values.len().max(1))?;
        self.write_slice(pointer, values)?;
        Ok(pointer)
    }

    /// Allocates a copy of `text` with its terminating zero.
    ///
    /// # Errors
    /// [`AllocError`].
    pub fn alloc_string(&self, text: &std::ffi::CStr) -> Result<Pointer<u8>, AllocError> {
        self.alloc_slice(text.to_bytes_with_nul())
    }

    /// Reads one value, once: the module may change it meanwhile, the copy stays.
    ///
    /// # Errors
    /// [`MemoryError`] if it is not readable memory of the domain.
    pub fn read<T: Plain>(&self, at: Pointer<T>) -> Result<Tainted<T>, MemoryError> {
        let mut value = [T::zero()];
        self.read_bytes(at.offset(), T::bytes_mut(&mut value))?;
        let [value] = value;
        Ok(Tainted::new(value))
    }

    /// Writes one value.
    ///
    /// # Errors
    /// [`MemoryError`] if it is not writable memory of the domain.
    pub fn write<T: Plain>(&self, at: Pointer<T>, value: T) -> Result<(), MemoryError> {
        self.write_slice(at, &[value])
    }

    /// Reads `count` values.
    ///
    /// # Errors
    /// As [`read`](Domain::read).
    pub fn read_slice<T: Plain>(&self, at: Pointer<T>, count: usize) -> Result<Tainted<Vec<T>>, MemoryError> {
        // Nothing larger than the window is allocated, whatever the module made the host believe.
        let length = count.saturating_mul(size_of::<T>());
        if length as u64 > lockgate_abi::window::SIZE {
            return Err(self.inaccessible(at.offset(), length, "readable"));
        }
        let mut values = vec![T::zero(); count];
        self.read_bytes(at.offset(), T::bytes_mut(&mut values))?;
        Ok(Tainted::new(values))
    }

    /// Copies bytes out, once, into a buffer of the caller's own. They are the domain's words: check them before use.
    ///
    /// # Errors
    /// As [`read`](Domain::read).
    pub fn read_into(&self, at: Pointer<u8>, into: &mut [u8]) -> Result<(), MemoryError> {
        self.read_bytes(at.offset(), into)
    }

    /// Writes `values`.
    ///
    /// # Errors
    /// As [`write`](Domain::write); a prefix may have been written.
    pub fn write_slice<T: Plain>(&self, at: Pointer<T>, values: &[T]) -> Result<(), MemoryError> {
        self.here()?;
        let bytes = T::bytes(values);
        let written = self.core().reach(|stride| stride.write(at.offset(), bytes));
        written.map_err(|_| self.inaccessible(at.offset(), bytes.len(), "writable"))
    }

    /// Whether `length` bytes from `at` are memory of the domain, its grants included, that can be read, and written if `rights` say
    /// so. Other than [`read`](Domain::read), which takes the low half of the address as the module does, this looks at all of
    /// it: a pointer that passes may be used where addresses are the host's. The domain may unmap the memory at any time.
    ///
    /// # Errors
    /// [`MemoryError::Inaccessible`].
    pub fn check(&self, at: Pointer<u8>, length: usize, rights: Rights) -> Result<(), MemoryError> {
        self.here()?;
        let access = match rights {
            Rights::Read => "readable",
            Rights::ReadWrite => "writable",
        };
        let end = (at.address().wrapping_sub(self.base())).checked_add(length as u64);
        if end.is_none_or(|end| end > lockgate_abi::window::SIZE) {
            return Err(self.inaccessible(at.address(), length, access));
        }
        let writable = rights == Rights::ReadWrite;
        let probed = self.core().reach(|stride| stride.probe(at.offset(), length, writable));
        probed.map_err(|_| self.inaccessible(at.offset(), length, access))
    }

    /// Reads a string of at most `limit` bytes, without its terminating zero.
    ///
    /// # Errors
    /// [`MemoryError`] if no zero is found before the limit or the end of readable memory.
    pub fn read_string(&self, at: Pointer<u8>, limit: usize) -> Result<Tainted<CString>, MemoryError> {
        const STEP: u64 = 256;
        let mut text = Vec::new();
        let mut offset = at.offset();
        while text.len() <= limit {
            // Up to the next boundary, so that no page beyond the string's last is touched.
            let mut piece = vec![0; (STEP - offset % STEP) as usize];
            self.read_bytes(offset, &mut piece)?;
            if let Some(end) = piece.iter().position(|&b| b == 0) {
                text.extend(&piece[..end]);
                let text = CString::new(text).ok().filter(|text| text.as_bytes().len() <= limit);
                return text.map(Tainted::new).ok_or_else(|| self.unterminated(at, limit));
            }
            offset += piece.len() as u64;
            text.extend(piece);
        }
        Err(self.unterminated(at, limit))
    }

    /// Ends all calls in progress in the domain, on any thread, and refuses new ones. One that is in a call of another domain ends when that
    /// does, which is stopped if it takes longer than a second.
    pub fn kill(&self) {
        self.core().kill();
    }

    /// Ends the domain for good: as [`kill`](Domain::kill), and it lets go of the domains that it calls when no
    /// thread is inside any more. Domains that call each other keep each other alive until one of them is closed.
    ///
    /// What the host's functions own is dropped on the thread of the library's that ends overdue calls, if nothing else keeps the domain: no limit
    /// holds while a destructor waits there.
    pub fn close(mut self) {
        // (A child's copy has nothing that ends.)
        if let Some(core) = self.core.take_if(|core| !core.is_inherited()) {
            super::close(core);
        }
    }

    /// What a thread of the module's own did wrong that ended the domain, if one did: no call tells, as none was in progress there.
    pub fn guest_threads_fault(&self) -> Option<Fault> {
        self.core().guest_threads().fault()
    }

    /// The fault of the last call that went on without its caller ([`Expiry::Detach`](crate::Expiry::Detach)) and ended by one: no call tells.
    pub fn detached_fault(&self) -> Option<Fault> {
        self.core().guest_threads().books().detached.fault.as_deref().cloned()
    }

    /// The same, and what else may have ended it there: what `look` makes of it.
    pub fn guest_threads_error<R>(&self, look: impl FnOnce(&CallError) -> R) -> Option<R> {
        self.core().guest_threads().error(look)
    }

    /// How many bindings, callbacks, exports, threads of the module's own and calls of workers keep the domain, beside this handle:
    /// who knows of fewer knows that [`reset`](Domain::reset) would be refused, before dropping them.
    pub fn holders(&self) -> usize {
        Arc::strong_count(self.core()) - 1
    }

    /// True in a forked child of the process that made it.
    #[doc(hidden)]
    pub fn is_inherited(&self) -> bool {
        self.core().is_inherited()
    }

    /// Returns the domain to its pristine image and starts it again. Every binding and callback must be gone, so
    /// that no thread is inside.
    ///
    /// # Errors
    /// [`ResetError`].
    pub fn reset(&mut self) -> Result<(), ResetError> {
        self.reset_with(|_| ())
    }

    /// The same; `starting` gets the domain before its constructors run, so that others can [kill](Domain::kill) it
    /// meanwhile. A later reset is refused as long as that is kept.
    ///
    /// # Errors
    /// As [`reset`](Domain::reset).
    pub fn reset_with(&mut self, starting: impl FnOnce(KeptDomain)) -> Result<(), ResetError> {
        if self.core().is_inherited() {
            return Err(ResetError::Forked(self.name().to_owned()));
        }
        admit_sys::may_start(self.core()).map_err(ResetError::Caller)?;
        self.begin_again(starting)
    }

    /// Never inlined: the caller has looked whether there is stack for this frame.
    #[inline(never)]
    fn begin_again(&mut self, starting: impl FnOnce(KeptDomain)) -> Result<(), ResetError> {
        signals_sys::look_again();
        let core = self.core.take().expect("present between calls");
        // Threads that ended meanwhile may hold it for a moment, too: that counts as in use.
        match rest::to_reset(core) {
            Ok(core) => {
                let is_stale = Core::reset(core, |core| {
                    self.core = Some(core);
                    starting(self.keep());
                })?;
                if is_stale {
                    self.take_snapshot();
                }
                Ok(())
            }
            Err(core) => Err(ResetError::InUse(self.core.insert(core).name().to_owned())),
        }
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        self.core.as_ref().expect("present between calls")
    }

    fn here(&self) -> Result<(), MemoryError> {
        self.core().here().map(drop).map_err(|_| MemoryError::Forked(self.name().to_owned()))
    }

    fn read_bytes(&self, offset: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        self.here()?;
        let length = into.len();
        let copied = self.core().reach(|stride| stride.read(offset, into));
        copied.map_err(|_| self.inaccessible(offset, length, "readable"))
    }

    fn inaccessible(&self, offset: u64, length: usize, access: &'static str) -> MemoryError {
        MemoryError::Inaccessible { domain: self.name().to_owned(), offset, length, access }
    }

    fn unterminated(&self, at: Pointer<u8>, limit: usize) -> MemoryError {
        MemoryError::Unterminated { domain: self.name().to_owned(), offset: at.offset(), limit }
    }
}

impl std::fmt::Debug for Domain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Domain")
            .field("name", &self.name())
            .field("base", &self.base())
            .finish_non_exhaustive()
    }
}

impl Dynamic {
    /// The domain that takes calls now: another instance after a restart that the binding survived. For callers that put arguments into its
    /// memory: this keeps it alive, and does not end it.
    pub fn domain(&self) -> KeptDomain {
        let serving: Arc<dyn Any + Send + Sync> = self.binding.serving().clone();
        KeptDomain::new(serving.downcast().expect("nothing else is a domain"))
    }
}
