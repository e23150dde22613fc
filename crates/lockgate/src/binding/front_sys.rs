//! What raw function pointers lead to: thunks and headers that stay when their binding goes.
//!
//! A pointer that `dlsym` gave may be called at any time, by any thread, for as long as the process lives. So its thunk and its
//! header are never freed. When the domain is gone, the header leads to code that reports the call as failed, and nothing
//! else of it is looked at; when the same symbol of the same module is looked up again, the front is used again, so that a
//! host that opens and closes for ever needs no more memory.
use super::{Binding, Parts, PointerParts, Terms};
use crate::call::call_abi::Caller;
use crate::call::layout::{BindingHeader, Headers};
use crate::call::reporter::Reporter;
use crate::call::{self, AnyDomain, Thunk};
use crate::host::{Owner, PerProcess};
use crate::policy::Policy;
use crate::signature::{Plan, Signature, Type};
use rustix::io::Errno;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::ptr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Headers at a fixed place; where nothing else is said, the first one.
#[repr(transparent)]
pub(super) struct Header(UnsafeCell<Headers>);

// SAFETY: headers are shared between threads by design: what changes while others look is atomic.
unsafe impl Send for Header {}
// SAFETY: as above.
unsafe impl Sync for Header {}

impl Header {
    /// At a place of their own, for good. Their address alone says which header is which, and not every allocator that a program may be run with heeds
    /// an alignment as large as theirs (mimalloc 2.0.9 does not): this one does not ask for it.
    fn leak(headers: Headers) -> &'static Header {
        let room =
            Box::leak(Box::new([MaybeUninit::<u8>::uninit(); size_of::<Header>() + align_of::<Header>()]));
        let first = room.as_mut_ptr();
        // SAFETY: so far into the room there is room for headers, which lie there as they must.
        unsafe {
            let place = first.add(first.align_offset(align_of::<Header>())).cast::<Header>();
            place.write(Header(UnsafeCell::new(headers)));
            &*place
        }
    }
}

impl Deref for Header {
    type Target = BindingHeader;

    fn deref(&self) -> &BindingHeader {
        // SAFETY: it is written in `Front::revive` only, when no thread reads it.
        unsafe { &*self.0.get().cast::<BindingHeader>() }
    }
}

/// A thunk and the header that it leads to. They are made together and stay together, for good: code that bindings left is not
/// written again, because a forked child runs the same pages, and its function pointers must find what they found in the parent.
pub(super) struct Way {
    thunk: Thunk,
    header: &'static Header,
    owner: Owner,
}

/// Those that no binding has.
static FREE_WAYS: PerProcess<Mutex<Vec<(Thunk, &'static Header)>>> = PerProcess::new(Mutex::default);

fn free_ways() -> MutexGuard<'static, Vec<(Thunk, &'static Header)>> {
    FREE_WAYS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Way {
    /// One whose headers are these from now on.
    ///
    /// # Errors
    /// The kernel's, if there is no memory for code.
    pub(super) fn new(headers: Headers) -> Result<Arc<Way>, Errno> {
        let known = free_ways().pop();
        let (thunk, place) = match known {
            Some((thunk, place)) => {
                // SAFETY: no binding has it, so no caller may call through its thunk.
                unsafe { ptr::write(place.0.get(), headers) };
                (thunk, place)
            }
            None => {
                let place: &'static Header = Header::leak(headers);
                (Thunk::new(&raw const **place)?, place)
            }
        };
        Ok(Arc::new(Way { thunk, header: place, owner: Owner::this() }))
    }

    pub(super) fn header(&self) -> &'static Header {
        self.header
    }
}

impl Deref for Way {
    type Target = Thunk;

    fn deref(&self) -> &Thunk {
        &self.thunk
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        // A stale call traps. (A forked child's copy stays as it is: a call asks, and is refused.)
        if self.owner.may_drop() {
            self.header.proxy.store(self.thunk.trap(), Ordering::Release);
            free_ways().push((self.thunk, self.header));
        }
    }
}

/// A thunk and its header, for good.
#[derive(Clone)]
pub(crate) struct Front {
    thunk: Arc<Way>,
    header: &'static Header,
}

impl Front {
    /// The C function pointer.
    pub fn code(&self) -> *const () {
        self.thunk.code()
    }

    /// Makes the front lead to the procedure that `new` describes.
    pub(super) fn revive(self, new: Headers) -> (Arc<Way>, &'static Header) {
        let Front { thunk, header } = self;
        let old = header.0.get().cast::<BindingHeader>();
        let Headers([new, by_window]) = new;
        let _guard = call::retiring();
        // SAFETY: since the header was retired no thread can be in its proxy, and threads that come through its thunk read
        // `proxy`, `reporter` and, under the lock that is held, `retired` only. The reporter is the same symbol's, kept for good.
        unsafe {
            let (proxy, reporter) = ((*old).proxy.load(Ordering::Relaxed), (*old).reporter);
            let target = new.proxy.load(Ordering::Relaxed);
            new.proxy.store(proxy, Ordering::Relaxed);
            ptr::write(old.add(1), BindingHeader { reporter, ..by_window });
            ptr::write(old, BindingHeader { reporter, ..new });
            (*old).proxy.store(target, Ordering::Release);
        }
        (thunk, header)
    }
}

/// What is to be called through a pointer that stays callable for good.
pub(crate) struct RawFunctionPointer {
    /// In reports.
    pub name: String,
    /// Window offset of the procedure.
    pub address: u64,
    /// `None` if it is unknown.
    pub signature: Option<Signature>,
    pub plan: Plan,
    pub policy: Policy,
    pub reporter: Arc<Reporter>,
    /// What an earlier binding of the same procedure left.
    pub front: Option<Front>,
}

impl Binding {
    /// Binds a procedure for callers that have nothing but a pointer. The owner of the binding keeps a copy of its [`Front`] for
    /// good, and retires it.
    ///
    /// # Errors
    /// The kernel's, if there is no memory for code.
    pub fn raw(domain: Arc<dyn AnyDomain>, pointer: RawFunctionPointer) -> std::io::Result<Binding> {
        let RawFunctionPointer { name, address, signature, plan, policy, reporter, front } = pointer;
        let unknown = || Signature { name: String::new(), result: Type::Void, parameters: Vec::new() };
        let parts = Parts {
            address,
            generic: signature.is_none(),
            signature: Signature { name, ..signature.unwrap_or_else(unknown) },
            plan,
            terms: Terms::new(Caller::Host, policy.union(domain.terms().policy)),
            limit: domain.terms().time_limit,
            callers: None,
            queue: None,
            pointer: Some(PointerParts { reporter, front }),
        };
        Binding::make(domain, parts)
    }

    /// The part that stays.
    pub fn front(&self) -> Front {
        Front { thunk: self.thunk.clone(), header: self.header }
    }

    /// The binding ends, its pointer stays: calls through it fail from now on. No thread may be in the domain, nor past the
    /// admission of this binding's proxy.
    pub fn retire(self) {
        let guard = call::retiring();
        self.header.proxy.store(call::stale(), Ordering::Release);
        self.header.retired.store(true, Ordering::Release);
        drop(guard);
    }
}
