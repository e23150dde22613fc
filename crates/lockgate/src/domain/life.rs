//! The life of a domain: it is mapped, started, reset, and ends.
use super::core::Core;
use super::guest_threads::GuestThreads;
use super::options::{DomainOptions, imports};
use super::slots::READ_WRITE;
use super::snapshot::Snapshot;
use super::{reclaim, release_leftovers, rest, start, watched};
use crate::call::call_abi::StateUsage;
use crate::call::gs_sys;
use crate::call::layout::component;
use crate::call::meter::Meter;
use crate::call::thread_sys;
use crate::call::{self, GateTables, Instance, Parts, attachment_sys, watch};
use crate::error::CreateError;
use crate::host::PerProcess;
use crate::module::Module;
use crate::space::{Backing, Services, Stride};
use crate::stats::Row;
use crate::symbols::perf_map;
use crate::{grant, handle};
use lockgate_abi::{ABI_VERSION, gate, header, window};
use lockgate_syscall::Process;
use rustix::io::Errno;
use std::sync::{Arc, Mutex};
use std::time::Duration;

impl Core {
    /// Maps a new domain; nothing of it has run yet.
    pub fn new(module: &Arc<Module>, options: DomainOptions) -> Result<Arc<Core>, CreateError> {
        let name = if options.name.is_empty() { module.name().to_owned() } else { options.name.clone() };
        attachment_sys::has_room()
            .map_err(|source| CreateError::Start { name: name.clone(), source: Box::new(source) })?;
        Core::mapped(name, module, options)
    }

    /// Never inlined: the caller has looked whether there is stack for this frame.
    #[inline(never)]
    fn mapped(name: String, module: &Arc<Module>, options: DomainOptions) -> Result<Arc<Core>, CreateError> {
        watch::serve(watch::Domains {
            reclaim,
            release_leftovers,
            end_for_cpu_time: watched::end_for_cpu_time,
            interrupt_waits: watched::interrupt_waits,
            look_at_timers: watched::look_at_timers,
            count_time: watched::count_time,
            has_signals: watched::has_signals,
            wakes: watched::wakes,
        });
        options.check(&name)?;
        let imports = imports(&name, module, &options.gates)?;
        let imports = imports.iter().map(|(slot, function)| (*slot, function.gate()));
        let resolver = options.imports.clone().map(|imports| imports.0);
        let import_count = module.parsed().imports.iter().map(|import| usize::from(import.slot) + 1).max();
        let import_count = import_count.unwrap_or_default();
        if let Some(join) = &module.parsed().join {
            return Err(CreateError::Joins { name, base: join.modules[0].1.clone() });
        }
        let usage = match options.full_xstate {
            true => StateUsage::all(),
            false => StateUsage::of(module.report()),
        };
        let image = module.parsed().image_size;
        let needed = image + 2 * options.terms.stack_size;
        if needed > options.memory_limit {
            return Err(CreateError::Limit { name, needed, limit: options.memory_limit });
        }
        let space = |error: Errno| CreateError::Space { name: name.clone(), source: error.into() };
        let stride = rest::with_room(|| {
            let stride = Stride::take()?;
            module.image().map(&stride, window::IMAGE, &[])?;
            write_header(&stride, module, &options)?;
            Ok(stride)
        });
        let stride = stride.map_err(space)?;
        let no_watcher = |source| CreateError::Threads { what: format!("domain {name}"), threads: 1, source };
        let measured = if options.is_measured() { "measured" } else { "" };
        let limit = options.memory_limit.to_string();
        let row = Row::domain(&[&name, module.name(), &limit, measured]).ok();
        perf_map::list_module(stride.base(), &name, || module.symbols());
        let meter = options.is_measured().then(|| {
            let (base, id) = (stride.base(), stride.index());
            Arc::new(Meter::new(base, id, options.limits.cpu_time, row.clone()))
        });
        let (timed, asks) = (options.terms.time_limit.is_some(), options.terms.stop_if.is_some());
        let watch = watch::Interest::new(timed, meter, asks).map_err(no_watcher)?;
        let listing = module.list_for_debuggers(stride.base() + window::IMAGE, &name, call::for_debuggers());
        Ok(Arc::new(Core {
            _listing: listing,
            joined: Mutex::default(),
            instance: Instance::new(Parts {
                name,
                module,
                usage,
                terms: options.terms.clone(),
                stride,
                books: Services::new(
                    module.memory_start(),
                    image,
                    options.memory_limit,
                    options.limits.mappings,
                    row.clone(),
                ),
                process: new_process(module, &options),
                gates: GateTables::new(imports, import_count, resolver.is_some(), saved_components(usage)),
                row,
            }),
            resolver,
            options,
            slots: Mutex::default(),
            snapshot: None,
            guest_threads: GuestThreads::default(),
            watch,
        }))
    }

    /// Runs the module's initialisation on the calling thread.
    #[inline(never)] // as `mapped`
    pub fn start(self: &Arc<Core>) -> Result<(), CreateError> {
        self.start_within(self.terms().time_limit)
    }

    /// The same, in no more than `limit`. The watcher must be awake. A domain that could not start ends: threads that the start has begun and
    /// names that the host has exported for it would go on in a domain that the host does not have.
    pub fn start_within(self: &Arc<Core>, limit: Option<Duration>) -> Result<(), CreateError> {
        let begun = start::run(self, limit);
        begun.map_err(|source| {
            if Arc::strong_count(self) > 1 {
                self.kill();
            }
            CreateError::Start { name: self.name().to_owned(), source: Box::new(source) }
        })
    }

    /// Back to what the domain was after its start, before any module joined (none joins domains that are reset): `self` has no other owner, so no thread is inside. The domain goes
    /// to `keep` in any case. True if it had a snapshot, which it has no more: the start has run again, and has made other things.
    ///
    /// # Errors
    /// As for a new domain. It is not to be used then.
    #[inline(never)] // as `mapped`
    pub fn reset(mut self, keep: impl FnOnce(Arc<Core>)) -> Result<bool, CreateError> {
        grant::end_domain(self.id());
        handle::end_domain(self.id());
        let restored = self.restore();
        let is_stale = !restored && self.snapshot.take().is_some();
        let emptied = if restored { Ok(()) } else { self.empty() };
        self.renew(restored);
        let core = Arc::new(self);
        keep(core.clone());
        emptied.map_err(|error| CreateError::Space { name: core.name().to_owned(), source: error.into() })?;
        if restored {
            core.remember();
        } else {
            core.start()?;
        }
        Ok(is_stale)
    }

    /// Remembers what the start has made, for quick resets; without it they run the module's start again, as where a function of the host's that
    /// the start has called gave the domain something that only a start can ask for: shared memory, or what an import leads to.
    #[inline(never)] // as `mapped`
    pub fn take_snapshot(&mut self) {
        let (start, length) = self.stack_range(0);
        let was_given = grant::has_any(self.id()) || self.gates().are_linked_by_host() || self.has_reserve(0);
        let started = self.process().started().filter(|_| !was_given);
        self.snapshot = started.and_then(|started| {
            let stack = start..start + length;
            let memory = Snapshot::take(self.module(), self.stride(), &self.books, stack).ok()?;
            Some((memory, started))
        });
    }

    /// The quick reset: possible if there is a snapshot, and only the calling thread has entered. It must have left by returns: records of
    /// calls that a jump has left are looked at later, when they would lead to the next user.
    fn restore(&mut self) -> bool {
        if self.wake().is_err() {
            return false;
        }
        let own = thread_sys::current().filter(|thread| !thread.has_calls_in(self.base()));
        let own = own.map(|thread| thread.tid);
        self.drop_reserve(0);
        let alone = matches!(self.slots().owners.as_slice(), [owner] if owner.is_some() && *owner == own)
            && self.contexts().mapped().next().is_none();
        let snapshot = self.snapshot.as_ref().filter(|_| alone && !self.is_killed());
        snapshot
            .filter(|_| !self.has_reserve(0))
            .is_some_and(|(memory, _)| memory.restore(self.module(), self.stride(), &self.books).is_ok())
    }

    fn empty(&mut self) -> Result<(), Errno> {
        self.leave_all();
        self.module().image().reset(self.stride(), window::IMAGE, &[])?;
        let slots = std::mem::take(self.slots.get_mut().unwrap_or_else(|e| e.into_inner()));
        for (slot, owner) in slots.owners.iter().enumerate() {
            // Slots of threads that ended are unmapped already, but for the first.
            if owner.is_some() || (slot == 0 && slots.first_parked) {
                self.unmap_stacks(slot, self.stack_size())?;
                self.books.refund(2 * self.stack_size());
            }
        }
        for (slot, size) in self.contexts().mapped() {
            self.unmap_stacks(slot, size)?;
            self.books.refund(2 * size);
        }
        // Last: from here on what is in use is the most that ever was.
        self.books.reset(self.stride())?;
        Ok(())
    }

    /// Everything of a domain but its memory becomes that of a new one. Every field is named: who adds one says here what a reset
    /// makes of it. `restored`: it is as it was after its start.
    fn renew(&mut self, restored: bool) {
        let Core {
            // What the domain was made of and with.
            _listing: _,
            options,
            resolver: _,
            snapshot,
            // Domains that others join are not reset.
            joined: _,
            // Stacks: `restore` or `empty`.
            slots: _,
            // What is left is the last user's.
            instance,
            guest_threads,
            watch,
        } = self;
        let new = new_process(instance.module(), options);
        instance.renew(match snapshot.as_ref().filter(|_| restored) {
            Some((_, started)) => new.with_start(started),
            None => new,
        });
        *guest_threads = GuestThreads::default();
        if let Some(meter) = watch.meter() {
            meter.reset();
        }
    }

    /// Takes the domain out of every thread's slot table. No thread is inside: none is to be told to leave.
    fn leave_all(&self) {
        watch::forget_kill(self.base());
        thread_sys::listed().leave(self.id(), self.base());
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        if self.is_inherited() {
            return; // it lives on in the parent
        }
        rest::strike(self.id());
        gs_sys::leave_window(self.base());
        self.leave_all();
        grant::end_domain(self.id());
        handle::end_domain(self.id());
    }
}

fn new_process(module: &Arc<Module>, options: &DomainOptions) -> Process {
    static NUMBER: PerProcess<u32> = PerProcess::new(std::process::id);
    Process::of_host(*NUMBER, options.grants.clone())
        .with_descriptors(options.limits.descriptors)
        .with_stacks(options.terms.stack_size)
        .with_umask(options.umask)
        .with_own_file(module.clone())
}

/// State components that a system call must keep for a domain that can touch this.
fn saved_components(usage: StateUsage) -> u64 {
    let mut mask = component::SSE;
    if usage.x87 {
        mask |= component::X87;
    }
    if usage.upper {
        mask |= component::AVX;
    }
    if usage.mask {
        mask |= component::AVX512;
    }
    mask & call::components()
}

/// Header page and gate table: written, then read-only for good (rule R3). They hold no address but W's (R24).
fn write_header(stride: &Stride, module: &Module, options: &DomainOptions) -> Result<(), Errno> {
    let length = window::GATE_TABLE_END - window::HEADER;
    stride.map(window::HEADER, length, READ_WRITE, Backing::Anonymous)?;
    let mut bytes = vec![0_u8; length as usize];
    let mut put = |at: u64, value: u64| {
        let at = (at - window::HEADER) as usize;
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    };
    put(header::MAGIC, u64::from(header::MAGIC_VALUE) | u64::from(ABI_VERSION) << 32);
    put(header::W, stride.base());
    put(header::IMAGE_END, module.image_end());
    put(header::MEMORY_LIMIT, options.memory_limit);
    for slot in 0..gate::SLOTS {
        put(window::GATE_TABLE + 8 * slot, stride.base() + crate::call::thunks::gate_thunk(slot));
    }
    stride.write(window::HEADER, &bytes)?;
    stride.protect(window::HEADER, length, lockgate_syscall::Protection::Read)?;
    if options.seal {
        stride.seal(window::HEADER, length);
        for (at, length) in module.image().fixed(window::IMAGE) {
            stride.seal(at, length);
        }
    }
    Ok(())
}
