//! Where a thread's code of domains was interrupted by signals of their own ([decision 0080](../../../../docs/decisions/0080-signals-of-a-domain.md)):
//! registers, and the places on stacks that belong to them. In memory of the runtime's, which no module reads or writes.
//!
//! An interruption belongs to an entry: to be the innermost one, its number is in the entry's record, and each has that of the one before. A
//! record that is made anew has 0 there, so whatever has become of an entry, no thread goes back to what it was interrupted at.
use super::instance::Instance;
use super::layout::{EntryRecord, GATE, GateRecord, Going, Record};
use super::mapping_sys::Mapping;
use crate::report::RawFault;
use crate::space;
use crate::walk::{Activation, is_on_own_frames};
use lockgate_abi::stack;
use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::AtomicU64;

/// Bytes that a gate which keeps all of the module's state needs for XSAVEC, or XSAVE.
pub(super) static XSAVE_SIZE: AtomicU64 = AtomicU64::new(0);

/// Most that a domain has at once on a thread, in all calls there: less than there is, so that none takes what another one's handlers need.
const MOST: usize = 24;

/// Most that a thread has, in all domains.
const PLACES: usize = 4 * MOST;

/// How far a gate that asks has come with one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The thread is taken to its gate, which saves vectors.
    Interrupted,
    /// What comes next is to be found out.
    Asks,
    /// The handler begins.
    Begins,
    /// What was interrupted goes on.
    GoesOn,
}

/// One interruption.
#[repr(C)]
pub(super) struct Interruption {
    /// 0: free.
    pub number: u32,
    /// Of the same entry, the next one outwards.
    pub previous: u32,
    /// Of the gate that is about to begin the handler, or to go on.
    pub mark: u64,
    pub stage: Stage,
    /// Where the word lies that walks end with which begin in the handler, and that nothing returns to; the handler's return word is below.
    pub bottom: u64,
    /// The context that runs on that slot, or the call's own frames: its word ([`Contexts::word`](super::contexts::Contexts::word)), which
    /// no other context has.
    pub context: u64,
    /// Below what was interrupted: as if it had called something.
    pub control: u64,
    /// A call returns where it goes on: not an instruction that was interrupted, or is to begin.
    pub returns: bool,
    /// rsp at the entry of the function that was interrupted; 0: not known.
    pub entry: u64,
    /// How much of the data stack below `control` may be in use; [`None`]: not known, and no handler begins there.
    pub room: Option<u64>,
    /// Where the handler's copy of its `ucontext_t` lies.
    pub copy: u64,
    /// Its handler asks for the alternate stack that the thread has, and is told that it runs there.
    pub alternate: bool,
    /// Its handler has had what the stack keeps opened ([`reserve`](super::reserve)): who leaves the handler closes that.
    pub opened: bool,
    /// Where the module's registers are saved first: what is the caller's there, as `UNHIDDEN_*`.
    pub unhidden: u32,
    /// What an instruction has raised, and what a question for it is answered with.
    pub fault: Option<RawFault>,
    pub saved: Going,
    pub begins: Going,
}

impl Interruption {
    /// As if the function that was interrupted had called something there. (Unwinders look one byte before a return address, and a function may begin
    /// at the instruction that goes on.)
    pub fn activation(&self) -> Option<Activation> {
        let (site, rsp) = (self.saved.rip + u64::from(!self.returns), self.control + 8);
        (self.entry != 0).then_some(Activation { site, rsp, entry: self.entry })
    }
}

/// What is left of a call whose caller does not wait for it any more: all that another thread needs to go on with it.
pub(crate) struct Left {
    /// Registers and the place, as they were interrupted. (What its state leads to is gone: [`Left::state`].)
    pub(super) saved: Going,
    pub(super) state: Vec<u8>,
    pub(super) control: u64,
    pub(super) returns: bool,
    pub(super) room: u64,
    /// What an instruction has raised, for which no handler has begun yet.
    pub(super) fault: Option<RawFault>,
    /// The stack's reserve is open, for a handler that is to begin or has been left.
    pub(super) opened: bool,
    /// rsp where the call began, in the domain.
    pub entered: u64,
    /// What the thread's slot table had for the domain while its code ran.
    pub(super) place: u64,
    /// The call takes turns that it gives up while it sleeps.
    pub gives_up: bool,
    /// Milliseconds that its caller has waited.
    pub limit: u32,
    /// Name of its procedure.
    pub entry_point: String,
}

impl Left {
    /// rsp below all that is in use there: where a thread that is to go on with it comes in.
    pub fn below(&self) -> u64 {
        (self.control - self.room) & !15
    }
}

// SAFETY: the one pointer in it leads nowhere, and is not followed.
unsafe impl Send for Left {}

/// Those of a thread: its own affair, and that of the signal handlers that run on it.
#[derive(Default)]
pub(super) struct Interruptions {
    memory: UnsafeCell<Option<Mapping>>,
    last: Cell<u32>,
}

impl Interruptions {
    fn all(&self) -> impl Iterator<Item = *mut Interruption> {
        // SAFETY: the thread's own; set once.
        let start =
            unsafe { (*self.memory.get()).as_ref() }.map(|memory| memory.start().cast::<Interruption>());
        start.into_iter().flat_map(|start| (0..PLACES).map(move |index| start.wrapping_add(index)))
    }

    /// The one with this number.
    pub fn numbered(&self, number: u32) -> Option<*mut Interruption> {
        // SAFETY: in the mapping, which starts as zeros: all free.
        self.all().find(|&one| number != 0 && unsafe { (*one).number } == number)
    }

    /// Those of the entry with this record, innermost first.
    pub fn of(&self, record: *const EntryRecord) -> impl Iterator<Item = *mut Interruption> {
        // SAFETY: the caller's own live record.
        let first = self.numbered(unsafe { (*record).interruption });
        // (A number leads outwards to older ones, so this ends.)
        // SAFETY: as in `numbered`.
        std::iter::successors(first, |&one| unsafe {
            self.numbered((*one).previous).filter(|&next| (*next).number < (*one).number)
        })
    }

    /// The one that the gate with this mark is about.
    pub fn at_gate(&self, mark: u64) -> Option<*mut Interruption> {
        // SAFETY: as in `numbered`.
        self.all().find(|&one| unsafe { (*one).number != 0 && (*one).mark == mark })
    }

    /// Whether [`begin`](Interruptions::begin) finds a place. Async-signal-safe.
    ///
    /// # Safety
    /// As for that.
    pub unsafe fn have_room(
        &self,
        records: impl Iterator<Item = *const Record>,
        base: u64,
        state: usize,
    ) -> bool {
        // SAFETY: as the caller says.
        unsafe { self.place(records, base, state) }.is_some()
    }

    /// A new one, of no entry yet, with room for vectors, for the domain with the window base `base`; [`None`]: there are too many. Those that
    /// belong to no entry any more, and to no gate, are free. Async-signal-safe.
    ///
    /// # Safety
    /// On the thread itself, with its records; `state` is how much room vectors need, a multiple of 64.
    pub unsafe fn begin(
        &self,
        records: impl Iterator<Item = *const Record>,
        base: u64,
        state: usize,
    ) -> Option<*mut Interruption> {
        // SAFETY: as the caller says; the thread's own.
        unsafe {
            let (one, vectors) = self.place(records, base, state)?;
            self.renumber(one)?;
            (*one).saved.state = vectors;
            Some(one)
        }
    }

    /// A free one, and the room for its vectors.
    unsafe fn place(
        &self,
        records: impl Iterator<Item = *const Record>,
        base: u64,
        state: usize,
    ) -> Option<(*mut Interruption, *const u8)> {
        const { assert!(size_of::<Interruption>() < ROOM) };
        // SAFETY: the thread's own; no other thread is in here: what interrupts it enters no domain. Live records.
        unsafe {
            let memory = &mut *self.memory.get();
            if memory.is_none() {
                *memory = Mapping::new(PLACES * (ROOM + state)).ok();
            }
            let start = memory.as_ref()?.start();
            let mut used = [false; PLACES];
            let mut use_it = |one: *mut Interruption| {
                used[one.offset_from_unsigned(start.cast::<Interruption>())] = true;
            };
            for record in records {
                if (*record).is_entry() {
                    self.of(record.cast()).for_each(&mut use_it);
                } else if (*record).kind == GATE {
                    self.at_gate((*record.cast::<GateRecord>()).mark).into_iter().for_each(&mut use_it);
                }
            }
            let mut own = 0;
            for (one, is_used) in self.all().zip(used) {
                if !is_used {
                    (*one).number = 0;
                } else if space::base_of((*one).control) == base {
                    own += 1;
                }
            }
            if own >= MOST {
                return None;
            }
            // (No interruption has a number any more then.)
            if self.all().all(|one| (*one).number == 0) {
                self.last.set(0);
            }
            let index = self.all().position(|one| (*one).number == 0)?;
            let vectors = start.wrapping_byte_add(PLACES * ROOM + index * state).cast::<u8>();
            Some((start.cast::<Interruption>().wrapping_add(index), vectors.cast_const()))
        }
    }

    /// It is the newest one: its handler is to begin, perhaps once more, after others have that were interrupted since. [`None`]: there are no
    /// numbers left.
    pub fn renumber(&self, one: *mut Interruption) -> Option<()> {
        self.last.set(self.last.get().checked_add(1)?);
        // SAFETY: as in `numbered`.
        unsafe { (*one).number = self.last.get() };
        Some(())
    }

    /// Takes one out of those of its entry.
    ///
    /// # Safety
    /// The entry's record.
    pub unsafe fn unlink(&self, record: *mut EntryRecord, one: *mut Interruption) {
        // SAFETY: as the caller says.
        unsafe {
            if (*record).interruption == (*one).number {
                (*record).interruption = (*one).previous;
            } else if let Some(inner) = self.of(record).find(|&other| (*other).previous == (*one).number) {
                (*inner).previous = (*one).previous;
            }
        }
    }

    /// Takes those out of the entry with this record, of a call of `domain`, whose handlers ran on contexts that are no more: nothing leads back to
    /// them. Async-signal-safe.
    ///
    /// # Safety
    /// The record of the thread's innermost entry.
    pub unsafe fn drop_gone(&self, record: *mut EntryRecord, domain: &Instance) {
        // SAFETY: the entry's record; as in `numbered`.
        let is_gone = |one: &*mut Interruption| unsafe {
            let bottom = (**one).bottom;
            !is_on_own_frames(bottom, (*record).control)
                && !domain.contexts().lives(domain.slot_of(bottom), (**one).context)
        };
        while let Some(one) = self.of(record).find(is_gone) {
            // SAFETY: as the caller says.
            unsafe { self.unlink(record, one) };
        }
    }

    /// Those of the entry with this record whose handlers run on the stack that `at` lies on, a domain's. (The slot may have been another
    /// context's since: what was interrupted there is gone.)
    pub fn on(
        &self,
        record: *const EntryRecord,
        domain: &Instance,
        at: u64,
    ) -> impl Iterator<Item = *mut Interruption> {
        let context = domain.contexts().word(domain.slot_of(at));
        // SAFETY: as in `numbered`.
        let is_there = move |one: &*mut Interruption| unsafe {
            (**one).bottom / stack::SLOT == at / stack::SLOT && (**one).context == context
        };
        self.of(record).filter(is_there)
    }
}

/// Bytes of a place.
const ROOM: usize = 640;

#[cfg(test)]
mod tests {
    use super::*;

    /// However many there were on a thread. Red if numbers do not begin anew when none is in use.
    #[test]
    fn numbers_are_never_used_up() {
        let thread = Interruptions::default();
        thread.last.set(u32::MAX);
        // SAFETY: on the thread itself, which has no records.
        let one = unsafe { thread.begin(std::iter::empty(), 0, 64) }.expect("a place");
        // SAFETY: as in `numbered`.
        assert_eq!(unsafe { (*one).number }, 1);
    }
}
