//! What a process has asked the kernel to do about signals, in a form that handlers may hold: each action is kept once, for good.
//!
//! `sigaction` and its like may be called in a handler, which has interrupted whatever it has: this very search, or `malloc`. So nothing here
//! waits, and memory comes from the kernel.
use super::kernel_signals_sys::Action;
use super::mapping_sys::Mapping;
use lockgate_abi::PAGE;
use rustix::io::Errno;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// The one that came last.
static LAST: AtomicPtr<Kept> = AtomicPtr::new(ptr::null_mut());

struct Kept {
    action: Action,
    before: *const Kept,
}

/// The one copy of an action that lives forever.
///
/// # Errors
/// The kernel's: there is no memory for it.
pub(super) fn kept(action: Action) -> Result<&'static Action, Errno> {
    let (mut own, mut looked) = (None, ptr::null());
    loop {
        let last = LAST.load(Ordering::Acquire);
        let mut at = last.cast_const();
        while at != looked {
            // SAFETY: complete before it was published, and there for good.
            let kept: &'static Kept = unsafe { &*at };
            if kept.action == action {
                return Ok(&kept.action); // (A place of our own is lost: another thread has brought the same, just now.)
            }
            at = kept.before;
        }
        looked = last;
        let new = match own {
            Some(new) => new,
            None => *own.insert(place()?),
        };
        // SAFETY: a place that no other thread has.
        unsafe { new.write(Kept { action, before: last }) };
        if LAST.compare_exchange(last, new, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            // SAFETY: as above.
            return Ok(unsafe { &(*new).action });
        }
    }
}

/// Places on a page, behind the number of those that are taken.
const PLACES: usize = PAGE as usize / size_of::<Kept>() - 1;

/// A place that no other thread has.
fn place() -> Result<*mut Kept, Errno> {
    static PAGES: AtomicPtr<AtomicUsize> = AtomicPtr::new(ptr::null_mut());
    loop {
        let page = PAGES.load(Ordering::Acquire);
        // SAFETY: a page that stays mapped begins with this number.
        let taken = unsafe { page.as_ref() }.map_or(PLACES, |taken| taken.fetch_add(1, Ordering::AcqRel));
        if taken < PLACES {
            // SAFETY: on that page.
            return Ok(unsafe { page.cast::<Kept>().add(1 + taken) });
        }
        let new = Mapping::new(PAGE as usize)?;
        if PAGES.compare_exchange(page, new.start().cast(), Ordering::AcqRel, Ordering::Acquire).is_ok() {
            let _ = ManuallyDrop::new(new); // it stays
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PLACES, kept};
    use crate::call::kernel_signals_sys::Action;
    use std::ptr;

    /// All that ask for the same action, on whatever thread, have the same copy of it; there are more than a page has.
    #[test]
    fn an_action_is_kept_once() {
        fn asked(mask: u64) -> usize {
            let action = Action { handler: 0x5eed, flags: 0, restorer: 0, mask };
            let found = kept(action).expect("memory");
            assert!(*found == action);
            ptr::from_ref(found) as usize
        }
        let all = || (0..3 * PLACES as u64).map(asked).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(all)).collect();
        let found: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("it ends")).collect();
        assert!(found.iter().all(|others| *others == found[0]));
    }
}
