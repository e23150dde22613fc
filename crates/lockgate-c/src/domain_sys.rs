//! Section "Domains" of the header.
use crate::c_string::c_string;
use crate::call::{guarded, made, value};
use crate::error::{Failure, Status};
use crate::handle::{Handle, Handled};
use crate::module_sys::ModuleObject;
use crate::options_sys::OptionsObject;
use crate::text_sys::put_part;
use lockgate::{AtThreadEnd, CallError, Domain, Pool, PooledDomain, ResetError, Usage};
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_void};
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard, TryLockError};

/// What `lg_domain` stands for.
pub struct DomainObject {
    /// Only a reset changes it.
    domain: RwLock<Option<Home>>,
    name: CString,
    /// It ends with the handle.
    closing: AtomicBool,
    /// Whose it is. What a forked child's parent was doing with it, its lock included, stays as it was.
    owner: lockgate::Owner,
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
}

impl Handled for DomainObject {
    const WHAT: &'static str = "a domain";
}

impl Drop for DomainObject {
    fn drop(&mut self) {
        let domain = self.domain.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Home::Own(domain)) = domain.filter(|_| *self.closing.get_mut()) {
            domain.close();
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
            domain: RwLock::new(Some(home)),
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
        let domain = self.domain.read().unwrap_or_else(PoisonError::into_inner);
        let gone = || Failure::new(Status::Killed, ENDED);
        body(domain.as_ref().ok_or_else(gone)?.domain())
    }
}

/// `LG_CALLER` of the header.
const CALLER: usize = 1;

impl Handle<DomainObject> {
    /// What `body` makes of the domain, or of the one that calls the host.
    pub(crate) fn with<R>(self, body: impl FnOnce(&Domain) -> Result<R, Failure>) -> Result<R, Failure> {
        if self.bits() == CALLER {
            let nobody =
                || Failure::argument("LG_CALLER means a domain only in a function that a domain has called");
            return lockgate::with_caller(body).ok_or_else(nobody)?;
        }
        self.get()?.with(body)
    }
}

/// Makes a domain.
#[unsafe(no_mangle)]
pub extern "C" fn lg_domain_new(
    module: Handle<ModuleObject>,
    options: Handle<OptionsObject>,
) -> Handle<DomainObject> {
    made(|| Ok(DomainObject::new(Domain::new(&module.get()?.module, options.options()?)?)))
}

/// Lets go of a domain.
#[unsafe(no_mangle)]
pub extern "C" fn lg_domain_free(domain: Handle<DomainObject>) -> i32 {
    crate::call::freed(domain)
}

/// Ends a domain for good.
#[unsafe(no_mangle)]
pub extern "C" fn lg_domain_close(domain: Handle<DomainObject>) -> i32 {
    guarded(|| {
        let object = domain.take()?;
        object.closing.store(true, Ordering::Release);
        object.with(|domain| {
            domain.kill();
            Ok(())
        })
    })
}

/// Ends all calls in progress and refuses new ones.
#[unsafe(no_mangle)]
pub extern "C" fn lg_domain_kill(domain: Handle<DomainObject>) -> i32 {
    guarded(|| {
        domain.with(|domain| {
            domain.kill();
            Ok(())
        })
    })
}

/// What a thread of the module's own did wrong that ended the domain.
#[unsafe(no_mangle)]
pub extern "C" fn lg_domain_guest_threads_fault(domain: Handle<DomainObject>) -> i32 {
    guarded(|| {
        domain.with(|domain| match domain.guest_threads_fault() {
            None => domain.guest_threads_error(|error| Err(Failure::from(error))).unwrap_or(Ok(())),
            Some(fault) => Err(Failure {
                status: Status::Fault,
                message: fault.to_string(),
                fault: Some(Box::new(fault)),
            }),
        })
    })
}

/// Returns a domain to its pristine image.
#[unsafe(no_mangle)]
pub extern "C" fn lg_domain_reset(domain: Handle<DomainObject>) -> i32 {
    guarded(|| {
        let object = domain.get()?;
        object.here()?;
        // SAFETY: `Resetting` keeps the object at least as long as the lock.
        let lock: &'static RwLock<Option<Home>> = unsafe { &*std::ptr::from_ref(&object.domain) };
        let place = match lock.try_write() {
            Ok(place) => place,
            Err(TryLockError::Poisoned(place)) => place.into_inner(),
            Err(TryLockError::WouldBlock) => {
                let name = object.name.to_string_lossy();
                return Err(Failure::new(
                    Status::InUse,
                    format!("domain {name} is being used: reset it afterwards"),
                ));
            }
        };
        let mut resetting = Resetting { place, _object: object.clone() };
        let home = resetting.place.take().ok_or_else(|| Failure::new(Status::Killed, ENDED))?;
        let mut domain = match home {
            Home::Own(domain) => domain,
            pooled => {
                *resetting.place = Some(pooled);
                return Err(Failure::argument(
                    "a pool resets its domains: free the handle, and take another",
                ));
            }
        };
        let _ends_here = resetting.begin();
        let done = domain.reset();
        // One that cannot be started again has ended.
        if !matches!(done, Err(ResetError::Create(_))) {
            RESETTING.with_borrow_mut(|all| {
                if let Some(innermost) = all.last_mut() {
                    *innermost.place = Some(Home::Own(domain));
                }
            });
        }
        Ok(done?)
    })
}

/// A reset, in which the module's constructors run: a function of the program's that they call may end the thread, out of the frame that
/// waits for them. Then the domain has ended, and nobody waits for the lock.
struct Resetting {
    place: RwLockWriteGuard<'static, Option<Home>>,
    _object: Arc<DomainObject>,
}

thread_local! {
    /// The thread's, innermost last. Left behind as [`AtThreadEnd`] says.
    static RESETTING: RefCell<ManuallyDrop<Vec<Resetting>>> = const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

static END: AtThreadEnd = AtThreadEnd::new(leave);

extern "C" fn leave(_: *mut c_void) {
    drop(RESETTING.with_borrow_mut(|resetting| std::mem::take(&mut **resetting)));
}

impl Resetting {
    fn begin(self) -> EndsHere {
        RESETTING.with_borrow_mut(|all| all.push(self));
        END.arm();
        EndsHere
    }
}

/// Ends the thread's innermost reset when the frame does.
struct EndsHere;

impl Drop for EndsHere {
    fn drop(&mut self) {
        drop(RESETTING.with_borrow_mut(|all| all.pop()));
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
        }
    }
}

/// What the domain uses now.
///
/// # Safety
/// `usage` is null or leads to `size` bytes that may be written.
#[unsafe(no_mangle)]
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
