//! Section "Domains" of the header.
use crate::c_string::c_string;
use crate::call::{guarded, made, value};
use crate::error::{Failure, Status};
use crate::fault_sys::Ended;
use crate::handle::{Handle, Handled};
use crate::module_sys::ModuleObject;
use crate::options_sys::OptionsObject;
use crate::text_sys::put_part;
use lockgate::{AtThreadEnd, CallError, Domain, Fault, KeptDomain, Pool, PooledDomain, ResetError, Usage};
use std::cell::Cell;
use std::ffi::{CString, c_char, c_void};
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard, TryLockError};

/// What `lg_domain` stands for.
pub struct DomainObject {
    /// Only a reset changes it, and holds the lock for moments, in which no other code runs.
    place: RwLock<Place>,
    name: CString,
    /// It ends with the handle.
    closing: AtomicBool,
    /// Whose it is. What a forked child's parent was doing with it, its lock included, stays as it was.
    owner: lockgate::Owner,
}

/// Where the domain is.
enum Place {
    Here(Home),
    /// A thread resets it, and has it. Other threads reach it only to kill it.
    Resetting(Resetting),
    /// It could not be started again.
    Ended,
}

/// What others know of a domain that is being reset.
#[derive(Default)]
struct Resetting {
    /// It, from when its constructors run.
    starting: Option<KeptDomain>,
    /// Another thread has ended it meanwhile.
    killed: AtomicBool,
}

impl Resetting {
    fn kill(&self) {
        self.killed.store(true, Ordering::Release);
        self.starting.as_deref().inspect(|domain| domain.kill());
    }
}

/// Whose domain it is.
enum Home {
    Own(Domain),
    Pooled(PooledDomain<Arc<Pool>>),
}

impl Home {
    fn domain(&self) -> &Domain {
        match self {
            Home::Own(domain) => domain,
            Home::Pooled(domain) => domain,
        }
    }

    /// The domain, which goes back to no pool.
    fn into_domain(self) -> Domain {
        match self {
            Home::Own(domain) => domain,
            Home::Pooled(domain) => domain.into_domain(),
        }
    }
}

impl Handled for DomainObject {
    const WHAT: &'static str = "a domain";
}

impl Drop for DomainObject {
    fn drop(&mut self) {
        let place =
            std::mem::replace(self.place.get_mut().unwrap_or_else(PoisonError::into_inner), Place::Ended);
        match place {
            Place::Here(home) if *self.closing.get_mut() => home.into_domain().close(),
            _ => (),
        }
    }
}

const ENDED: &str = "the domain could not be started again after a reset, and has ended";

impl DomainObject {
    pub(crate) fn new(domain: Domain) -> DomainObject {
        DomainObject::at(Home::Own(domain))
    }

    /// A pool's, which goes back when the last user of the handle is done.
    pub(crate) fn leased(domain: PooledDomain<Arc<Pool>>) -> DomainObject {
        DomainObject::at(Home::Pooled(domain))
    }

    fn at(home: Home) -> DomainObject {
        let name = c_string(home.domain().name());
        DomainObject {
            place: RwLock::new(Place::Here(home)),
            name,
            closing: AtomicBool::new(false),
            owner: lockgate::Owner::this(),
        }
    }

    /// # Errors
    /// [`Status::Forked`].
    fn here(&self) -> Result<(), Failure> {
        match self.owner.is_here() {
            true => Ok(()),
            false => Err(CallError::Forked.into()),
        }
    }

    /// What `body` makes of the domain.
    pub(crate) fn with<R>(&self, body: impl FnOnce(&Domain) -> Result<R, Failure>) -> Result<R, Failure> {
        self.here()?;
        match &*self.place.read().unwrap_or_else(PoisonError::into_inner) {
            Place::Here(home) => body(home.domain()),
            Place::Resetting(_) => Err(self.resetting()),
            Place::Ended => Err(ended()),
        }
    }

    /// # Errors
    /// [`Status::Forked`], [`Status::Killed`].
    fn kill(&self) -> Result<(), Failure> {
        self.here()?;
        match &*self.place.read().unwrap_or_else(PoisonError::into_inner) {
            Place::Here(home) => home.domain().kill(),
            Place::Resetting(resetting) => resetting.kill(),
            Place::Ended => return Err(ended()),
        }
        Ok(())
    }

    fn resetting(&self) -> Failure {
        let name = self.name.to_string_lossy();
        Failure::new(
            Status::Busy,
            format!(
                "domain {name} is being reset; functions that its constructors call reach it as LG_CALLER"
            ),
        )
    }

    fn write(&self) -> RwLockWriteGuard<'_, Place> {
        self.place.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the domain for a reset.
    ///
    /// # Errors
    /// [`Status::InUse`], [`Status::Killed`], [`Status::Argument`].
    fn take_to_reset(&self) -> Result<Domain, Failure> {
        let in_use = || {
            let name = self.name.to_string_lossy();
            Failure::new(Status::InUse, format!("a thread is using domain {name}: reset it afterwards"))
        };
        let mut place = match self.place.try_write() {
            Ok(place) => place,
            Err(TryLockError::Poisoned(place)) => place.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(in_use()),
        };
        match &*place {
            Place::Here(Home::Own(_)) => (),
            Place::Here(Home::Pooled(_)) => {
                return Err(Failure::argument(
                    "a pool resets its domains: free the handle, and take another",
                ));
            }
            Place::Resetting(_) => return Err(self.resetting()),
            Place::Ended => return Err(ended()),
        }
        match std::mem::replace(&mut *place, Place::Resetting(Resetting::default())) {
            Place::Here(Home::Own(domain)) => Ok(domain),
            _ => unreachable!("it was looked at"),
        }
    }

    /// The domain's constructors are going to run.
    fn starting(&self, domain: KeptDomain) {
        if let Place::Resetting(resetting) = &mut *self.write() {
            resetting.starting = Some(domain);
            if *resetting.killed.get_mut() {
                resetting.kill();
            }
        }
    }

    /// The reset has ended; without a domain, the domain has ended, too.
    fn settle(&self, domain: Option<Domain>) {
        let mut place = self.write();
        let next = domain.map_or(Place::Ended, |domain| Place::Here(Home::Own(domain)));
        let Place::Resetting(resetting) = std::mem::replace(&mut *place, next) else { return };
        match &*place {
            Place::Here(home) => {
                // Before it could be reached, perhaps.
                if resetting.killed.load(Ordering::Acquire) {
                    home.domain().kill();
                }
                // Before another thread resets it.
                drop(resetting);
            }
            _ => {
                drop(place);
                resetting.kill();
            }
        }
    }
}

fn ended() -> Failure {
    Failure::new(Status::Killed, ENDED)
}

/// `LG_CALLER` of the header.
const CALLER: usize = 1;

impl Handle<DomainObject> {
    /// What `body` makes of the domain, or of the one that calls the host.
    pub(crate) fn with<R>(self, body: impl FnOnce(&Domain) -> Result<R, Failure>) -> Result<R, Failure> {
        if self.bits() == CALLER {
            let none =
                || Failure::argument("LG_CALLER means a domain only in a function that a domain has called");
            let body = |domain: &Domain| match domain.is_inherited() {
                true => Err(CallError::Forked.into()),
                false => body(domain),
            };
            return lockgate::with_caller(body).ok_or_else(none)?;
        }
        self.get()?.with(body)
    }
}

/// Makes a domain.
pub extern "C" fn lg_domain_new(
    module: Handle<ModuleObject>,
    options: Handle<OptionsObject>,
) -> Handle<DomainObject> {
    made(|| Ok(DomainObject::new(Domain::new(&module.get()?.module, options.options()?)?)))
}

/// Lets go of a domain.
pub extern "C" fn lg_domain_free(domain: Handle<DomainObject>) -> i32 {
    crate::call::freed(domain)
}

/// Ends a domain for good.
pub extern "C" fn lg_domain_close(domain: Handle<DomainObject>) -> i32 {
    guarded(|| {
        let object = domain.take()?;
        object.closing.store(true, Ordering::Release);
        match object.kill() {
            Err(failure) if failure.status == Status::Killed => Ok(()), // one that could not be started again
            killed => killed,
        }
    })
}

/// Ends all calls in progress and refuses new ones.
#[unsafe(no_mangle)]
pub extern "C" fn lg_domain_kill(domain: Handle<DomainObject>) -> i32 {
    guarded(|| {
        if domain.bits() == CALLER {
            return domain.with(|domain| {
                domain.kill();
                Ok(())
            });
        }
        domain.get()?.kill()
    })
}

/// What a thread of the module's own did wrong that ended the domain.
#[unsafe(no_mangle)]
pub extern "C" fn lg_domain_guest_threads_fault(domain: Handle<DomainObject>) -> i32 {
    guarded(|| {
        domain.with(|domain| match domain.guest_threads_fault() {
            None => domain.guest_threads_error(|error| Err(Failure::from(error))).unwrap_or(Ok(())),
            Some(fault) => Err(faulted(fault)),
        })
    })
}

/// What the last call did wrong that went on without its caller.
#[unsafe(no_mangle)]
pub extern "C" fn lg_domain_detached_fault(domain: Handle<DomainObject>) -> i32 {
    guarded(|| domain.with(|domain| domain.detached_fault().map_or(Ok(()), |fault| Err(faulted(fault)))))
}

/// A fault that no call tells.
fn faulted(fault: Fault) -> Failure {
    let message = fault.to_string();
    Failure { status: Status::Fault, message, fault: Some(Ended::Here(Box::new(fault))) }
}

/// Returns a domain to its pristine image.
pub extern "C" fn lg_domain_reset(domain: Handle<DomainObject>) -> i32 {
    guarded(|| {
        let object = domain.get()?;
        object.here()?;
        let mut domain = object.take_to_reset()?;
        let mut ends_here = EndsHere::begin(object.clone());
        let done = domain.reset_with(|domain| object.starting(domain));
        // One that cannot be started again has ended.
        if !matches!(done, Err(ResetError::Create(_))) {
            ends_here.domain = Some(domain);
        }
        drop(ends_here);
        Ok(done?)
    })
}

/// What a thread resets, innermost last.
type Resets = Vec<Arc<DomainObject>>;

thread_local! {
    /// What the thread resets, innermost last. The module's constructors run in it: a function of the program's that they call may end
    /// the thread, out of the frame that waits for them. Then the domain has ended. Left behind as [`AtThreadEnd`] says.
    /// (In a box, since static thread-local storage is scarce.)
    static RESETTING: Cell<Option<ManuallyDrop<Box<Resets>>>> = const { Cell::new(None) };
}

static END: AtThreadEnd = AtThreadEnd::new(leave);

extern "C" fn leave(_: *mut c_void) {
    let left = RESETTING.take().map(ManuallyDrop::into_inner).unwrap_or_default();
    left.iter().rev().for_each(|object| object.settle(None));
}

/// Ends the thread's innermost reset when the frame does.
struct EndsHere {
    domain: Option<Domain>,
}

impl EndsHere {
    fn begin(object: Arc<DomainObject>) -> EndsHere {
        let mut all = RESETTING.take().unwrap_or_default();
        all.push(object);
        RESETTING.set(Some(all));
        END.arm();
        EndsHere { domain: None }
    }
}

impl Drop for EndsHere {
    fn drop(&mut self) {
        let Some(mut all) = RESETTING.take() else { return };
        let innermost = all.pop();
        RESETTING.set(Some(all));
        if let Some(object) = innermost {
            object.settle(self.domain.take());
        }
    }
}

/// Name of the domain.
#[unsafe(no_mangle)]
pub extern "C" fn lg_domain_name(domain: Handle<DomainObject>) -> *const c_char {
    value(ptr::null(), || Ok(domain.get()?.name.as_ptr()))
}

/// Address of the window.
#[unsafe(no_mangle)]
pub extern "C" fn lg_domain_base(domain: Handle<DomainObject>) -> u64 {
    value(0, || domain.with(|domain| Ok(domain.base())))
}

/// `struct lg_usage`.
#[repr(C)]
pub struct CUsage {
    memory: u64,
    peak_memory: u64,
    memory_limit: u64,
    cpu_time_ns: u64,
    has_cpu_time: i32,
    threads: u32,
    descriptors: u32,
    calls: u32,
    detached: u32,
    detached_ended: u64,
    detached_failed: u64,
    detached_settled: u64,
}

impl From<Usage> for CUsage {
    fn from(usage: Usage) -> CUsage {
        CUsage {
            memory: usage.memory,
            peak_memory: usage.peak_memory,
            memory_limit: usage.memory_limit,
            cpu_time_ns: usage.cpu_time.map_or(0, |time| time.as_nanos() as u64),
            has_cpu_time: usage.cpu_time.is_some().into(),
            threads: usage.threads,
            descriptors: usage.descriptors,
            calls: usage.calls,
            detached: usage.detached,
            detached_ended: usage.detached_ended,
            detached_failed: usage.detached_failed,
            detached_settled: usage.detached_settled,
        }
    }
}

/// What the domain uses now.
///
/// # Safety
/// `usage` is null or leads to `size` bytes that may be written.
pub unsafe extern "C" fn lg_domain_usage(
    domain: Handle<DomainObject>,
    usage: *mut CUsage,
    size: usize,
) -> i32 {
    guarded(|| {
        let now = domain.with(|domain| Ok(CUsage::from(domain.usage())))?;
        // SAFETY: the caller's structure, of the size that its header says.
        unsafe { put_part(usage, now, size, "usage") }
    })
}
