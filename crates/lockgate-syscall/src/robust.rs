//! Robust futexes of a thread that ends.
use super::Memory;
use super::waits::Waits;
use lockgate_abi::window;
use rustix::io::Errno;

/// Most futexes of one robust list that are set free: Linux's `ROBUST_LIST_LIMIT`.
const ROBUST: usize = 2048;

/// Marks the futexes on the list at `head` that the thread `owner` still holds as a dead owner's, and wakes who waits for them. The
/// list is the module's: what of it cannot be read is left alone.
pub(super) fn release_robust(waits: &Waits, memory: &dyn Memory, head: u64, owner: u32) {
    let word = |at: u64| -> Result<u64, Errno> {
        let mut bytes = [0; 8];
        memory.read(at, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    };
    // The lowest bit tells that a futex inherits priorities.
    let walk = || -> Result<(), Errno> {
        let (distance, pending) = (word(head.wrapping_add(8))?, word(head.wrapping_add(16))? & !1);
        let futex = |entry: u64| entry.wrapping_add(distance);
        let mut entry = word(head)? & !1;
        for _ in 0..ROBUST {
            if entry == head {
                break;
            }
            // The next one first: who gets this one may take it off the list.
            let next = word(entry)? & !1;
            if entry != pending {
                reclaim(waits, memory, futex(entry), owner)?;
            }
            entry = next;
        }
        if pending == 0 { Ok(()) } else { reclaim(waits, memory, futex(pending), owner) }
    };
    let _ = walk();
}

/// Sets one futex free, if `owner` holds it.
fn reclaim(waits: &Waits, memory: &dyn Memory, at: u64, owner: u32) -> Result<(), Errno> {
    let held = |word: u32| word & libc::FUTEX_TID_MASK == owner;
    if !held(memory.load_u32(at)?) {
        return Ok(());
    }
    // Other threads change it meanwhile only to say that there are waiters: it says so in any case, and all of them look again.
    let dead = libc::FUTEX_OWNER_DIED | libc::FUTEX_WAITERS;
    let free = || memory.write(at, &dead.to_le_bytes());
    waits.wake(at & (window::SIZE - 1), Waits::ANY, usize::MAX, None, free)?;
    memory.wake_shared(at);
    Ok(())
}
