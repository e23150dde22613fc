//! Domains at rest: what idle domains give back when the kernel has no mappings left for more.
//!
//! A process has 65,530 kernel mappings by default (`vm.max_map_count`). A domain takes nine, four of them for the stacks of its
//! first thread and what lies between. While no thread is inside, the stacks hold nothing but the first thread's storage at the
//! top: program arguments and the thread pointer. So a domain at rest keeps a copy of that and has no stacks; the next call
//! finds no slot for its thread, takes the slow path in, and gets them back with their contents.
//!
//! No thread is inside if the calling thread alone has a slot, is in no call of the domain, and would start its next one at the top of
//! the slot; or if no thread has one. (Where the thread's next call would start does not tell by itself: while a domain's code runs it is the place
//! where that began, and a handler of the host's that has interrupted the code gets here.) Other threads' domains are left alone: they may be
//! entering at this moment.
use super::core::Core;
use super::slots::{RestingStorage, Slots, resting};
use crate::call::thread_sys;
use crate::host::{Once, PerProcess, end_process, locked};
use crate::space::Stride;
use lockgate_syscall::Protection;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// Domains that rest at once: room for a thousand mappings more.
const BATCH: usize = 256;
/// Kernel mappings of a domain, and of one at rest, if its module has mapped nothing.
const MAPPINGS: usize = 9;
const MAPPINGS_AT_REST: usize = 5;

/// Domains that have stacks, or had, by number.
static DOMAINS: PerProcess<Mutex<BTreeMap<u32, Listed>>> = PerProcess::new(Mutex::default);
/// A domain, and who may put it to rest: the thread with this kernel id, which has its first slot, or any that comes. Others do not even
/// look: to hold a domain for a moment would keep its owner from resetting it.
struct Listed {
    core: Weak<Core>,
    owner: Option<i32>,
}

fn domains() -> MutexGuard<'static, BTreeMap<u32, Listed>> {
    locked(&DOMAINS)
}

/// The first slot of a domain has got an owner, a thread.
pub(super) fn enlist(core: &Arc<Core>, owner: i32) {
    domains().insert(core.id(), Listed { core: Arc::downgrade(core), owner: Some(owner) });
}

/// The watcher looks at a domain, which it holds meanwhile.
static LOOKING: PerProcess<Mutex<()>> = PerProcess::new(Mutex::default);

fn looking() -> MutexGuard<'static, ()> {
    locked(&LOOKING)
}

/// Has `look` look at the domain with this number, if it has been entered: for the watcher, which looks at domains without a thread inside, too.
/// [`to_reset`] waits for it.
pub(super) fn look_at<T>(id: u32, look: impl FnOnce(&Core) -> T) -> Option<T> {
    let looking = looking();
    let core = domains().get(&id)?.core.upgrade()?;
    let result = look(&core);
    // If we are the last to hold it, no thread waits to reset it; and what goes with it may want to reset others.
    let last = Arc::into_inner(core);
    drop(looking);
    drop(last);
    Some(result)
}

/// The domain, if only the caller holds it. The watcher lets go of it first.
///
/// # Errors
/// The domain.
pub(super) fn to_reset(core: Arc<Core>) -> Result<Core, Arc<Core>> {
    Arc::try_unwrap(core).or_else(|core| {
        let _looking = looking();
        Arc::try_unwrap(core)
    })
}

/// That thread has ended.
pub(super) fn orphan(id: u32) {
    if let Some(listed) = domains().get_mut(&id) {
        listed.owner = None;
    }
}

/// A domain goes.
pub(super) fn strike(id: u32) {
    domains().remove(&id);
}

/// Does `work`, again as long as the kernel lacks mappings for it and idle domains can give some back.
///
/// # Errors
/// Those of `work`.
pub(super) fn with_room<T>(mut work: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    if crowded() {
        make_room();
    }
    loop {
        match work() {
            Err(Errno::NOMEM) if make_room() => {}
            done => return done,
        }
    }
}

/// True if domains have seven eighths of all mappings: the rest is the host's, whose own allocations fail at the limit.
fn crowded() -> bool {
    static LIMIT: Once<usize> = Once::new();
    let most = *LIMIT.get(|| {
        let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap_or_default();
        limit.trim().parse().unwrap_or(usize::MAX)
    });
    let (all, resting) = (domains().len(), resting());
    let mappings = all.saturating_sub(resting) * MAPPINGS + resting * MAPPINGS_AT_REST;
    mappings > most / 8 * 7
}

/// Puts idle domains to rest; false if there are none. Allocates nothing but what [`RestingStorage`] does: at the limit that fails.
fn make_room() -> bool {
    let own = thread_sys::current().map(|thread| thread.tid);
    let mut rested = 0;
    let mut next = 0;
    while rested < BATCH {
        // The lock is free while a domain is looked at: if we are the last to hold it, it strikes itself off.
        let found = domains()
            .range(next..)
            .find(|(_, listed)| listed.owner.is_none() || listed.owner == own)
            .map(|(id, listed)| (*id, listed.core.upgrade()));
        let Some((id, core)) = found else { break };
        rested += usize::from(core.is_some_and(|core| core.rest()));
        next = id + 1;
    }
    rested > 0
}

/// Has `copy` copy memory that nothing can change from now on. False if that cannot be done: the memory can be written as before.
///
/// # Errors
/// It cannot, and the memory stays as it is.
fn copied_still(
    mut protect: impl FnMut(Protection) -> Result<(), Errno>,
    copy: impl FnOnce() -> Result<(), Errno>,
) -> Result<bool, Errno> {
    match protect(Protection::Read).and_then(|()| copy()) {
        Ok(()) => Ok(true),
        // (What protects may have done so in part.)
        Err(_) => protect(Protection::ReadWrite).map(|()| false),
    }
}

impl Core {
    /// Gives the stacks back if no thread is inside. True if it did.
    fn rest(&self) -> bool {
        // A domain whose slots are being changed is not idle, and may be waiting for this very room.
        let Ok(mut slots) = self.slots.try_lock() else { return false };
        let Some((first, others)) = slots.owners.split_first() else { return false };
        if slots.resting.is_some() || others.iter().any(Option::is_some) || self.has_reserve(0) {
            return false;
        }
        let thread = thread_sys::current();
        let own = thread.filter(|thread| *first == Some(thread.tid));
        let idle = match own {
            Some(thread) => {
                let is_inside = thread_sys::is_inside(thread) || thread.has_calls_in(self.base());
                !is_inside && thread.place(self.id()) == self.entry_rsp(&slots, 0)
            }
            None => first.is_none() && slots.first_parked,
        };
        let storage = self.storage(&slots);
        let (data, length) = self.stack_range(0);
        let Some(mut kept) = RestingStorage::new((storage.end - storage.start) as usize).filter(|_| idle)
        else {
            return false;
        };
        // A thread of the host's that writes there from now on waits for the domain to wake.
        let protect = |rights| self.stride().protect(data, length, rights);
        match copied_still(protect, || self.stride().read(storage.start, &mut kept.0)) {
            Ok(true) => {}
            Ok(false) => return false,
            // The next call would fault at its first write, and the module be blamed for it.
            Err(error) => end_process(format_args!(
                "cannot make the stacks of domain {} writable: {error}",
                self.name()
            )),
        }
        if let Some(thread) = own {
            thread.set_slot(self.id(), 0);
        }
        slots.resting = Some(kept);
        self.unmap_stacks(0, self.stack_size()).is_ok()
    }

    /// The host's own access to the window: what it looks for may lie on a stack that rests.
    ///
    /// # Errors
    /// `EFAULT`; for a domain at rest, the kernel's.
    pub fn reach(&self, mut access: impl FnMut(&Stride) -> Result<(), Errno>) -> Result<(), Errno> {
        access(self.stride()).or_else(|_| self.wake().and_then(|()| access(self.stride())))
    }

    /// Brings the stacks of a domain at rest back.
    ///
    /// # Errors
    /// The kernel's. The domain rests on.
    pub(super) fn wake(&self) -> Result<(), Errno> {
        self.wake_slots(&mut self.slots())
    }

    pub(super) fn wake_slots(&self, slots: &mut Slots) -> Result<(), Errno> {
        if let Some(kept) = slots.resting.take() {
            let storage = self.storage(slots);
            // The kernel may have kept some of them when the domain went to rest.
            let woken = with_room(|| {
                let size = self.stack_size();
                self.unmap_stacks(0, size).and_then(|()| self.map_both_stacks(0, size))
            })
            .and_then(|()| self.stride().write(storage.start, &kept.0));
            if woken.is_err() {
                slots.resting = Some(kept);
            }
            return woken;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was not copied is writable as before, or said not to be. Red where a domain counts as at rest that has its stacks, and cannot write them.
    #[test]
    fn what_is_not_copied_is_as_before() {
        for (first, copy, second, result, rights) in [
            (true, true, true, Ok(true), Protection::Read),
            (true, false, true, Ok(false), Protection::ReadWrite),
            (true, false, false, Err(Errno::NOMEM), Protection::Read),
            (false, true, true, Ok(false), Protection::ReadWrite),
            (false, true, false, Err(Errno::NOMEM), Protection::ReadWrite),
        ] {
            let mut has = Protection::ReadWrite;
            let mut works = [first, second].into_iter();
            let to = |works: bool| if works { Ok(()) } else { Err(Errno::NOMEM) };
            let protect = |rights| to(works.next().unwrap()).inspect(|()| has = rights);
            assert_eq!(copied_still(protect, || to(copy)), result);
            assert_eq!(has, rights);
        }
    }
}
