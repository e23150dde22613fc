//! Contexts of a domain (docs/returns.md): stacks on which its code runs in turn. A module has a number for each; where it goes on, and
//! whether it may, is known here alone.
//!
//! A context is suspended, or runs on one thread. Who wants to run it takes it by one compare-and-swap of its state, with the number that the state
//! has: no number comes twice. A context runs until its thread leaves it for another one. When the call ends meanwhile, the context is lost:
//! its frames are those of a call that is no more. Its stack is found again when the thread next wants one, or ends, or when
//! a caller finds none and the thread is in no call.
//!
//! Frames of a call itself are none of these: they are suspended while the call runs a context, and only that call may go back to them. So where they
//! go on is kept with the slot that they lie on, which is the thread's while they live.
use crate::report::NoContext;
use lockgate_abi::{context, stack};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a state is, in its lowest two bits. Above is who runs the context: the slot that the thread has in the domain; then a number.
/// All of it in one word: between two stores a context would seem to run on the thread that ran it before.
const FREE: u64 = 0;
const SUSPENDED: u64 = 1;
const RUNS: u64 = 2;
const KIND: u64 = 3;
const RUNNER: u32 = 2;
const NUMBER: u32 = RUNNER + context::SLOT_BITS;

/// The state of a context that the thread with the slot `home` has taken when it was in `suspended`.
fn running(suspended: u64, home: u32) -> u64 {
    suspended & !((1 << NUMBER) - 1) | u64::from(home) << RUNNER | RUNS
}

/// The thread that runs a context in this state, by the slot that it has in the domain.
fn runner(state: u64) -> Option<u32> {
    (state & KIND == RUNS).then_some((state >> RUNNER) as u32 & ((1 << context::SLOT_BITS) - 1))
}

/// What is known of a slot of the stacks.
#[derive(Debug, Default)]
struct Slot {
    /// The number is that of the suspension, or of the run.
    state: AtomicU64,
    /// The context's own number.
    life: AtomicU64,
    /// rsp of a suspended context: what it goes on at lies there.
    control: AtomicU64,
    /// Usable bytes; 0 if the slot is no context's. Changed under the lock of the domain's slots, as are the next two.
    size: AtomicU64,
    /// What the program takes for the context's stack.
    stack: (AtomicU64, AtomicU64),
    /// Of a call's own frames on this slot that are suspended: rsp, and the suspension's number. Only the thread that has the slot looks.
    own: (AtomicU64, AtomicU64),
}

impl Slot {
    fn is_free(&self) -> bool {
        self.state.load(Ordering::Acquire) & KIND == FREE
    }

    /// Makes what is in `state` free; false if it is not in that any more.
    fn free(&self, state: u64) -> bool {
        self.state.compare_exchange(state, FREE, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

/// The table of a domain's contexts.
#[derive(Debug, Default)]
pub(crate) struct Contexts {
    /// None before the first one.
    slots: OnceLock<Box<[Slot]>>,
    numbers: AtomicU64,
}

/// Where to go on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    /// rsp.
    pub control: u64,
}

impl Contexts {
    fn slot(&self, slot: u32) -> Option<&Slot> {
        self.slots.get()?.get(slot as usize)
    }

    fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Usable bytes of the stacks in a slot that is a context's.
    pub fn size(&self, slot: u32) -> Option<u64> {
        self.slot(slot).map(|slot| slot.size.load(Ordering::Acquire)).filter(|&size| size != 0)
    }

    /// The slot that the thread has in the domain whose code runs on `slot`.
    pub fn home(&self, slot: u32) -> u32 {
        self.runner_on(slot).unwrap_or(slot)
    }

    /// The slot of the thread that runs a context on `slot`; [`None`] if no context runs there.
    fn runner_on(&self, slot: u32) -> Option<u32> {
        self.slot(slot).and_then(|known| runner(known.state.load(Ordering::Acquire)))
    }

    /// rsp of the frames that wait on the slot of the thread that runs a context on `slot`; [`None`] if `slot` is the thread's own.
    pub fn waits_for(&self, slot: u32) -> Option<u64> {
        let home = self.slot(self.runner_on(slot)?)?;
        Some(home.own.0.load(Ordering::Relaxed))
    }

    /// The word of the context that runs on `slot`.
    pub fn word(&self, slot: u32) -> u64 {
        let life = self.slot(slot).map_or(0, |known| known.life.load(Ordering::Relaxed));
        life << context::SLOT_BITS | u64::from(slot)
    }

    /// Whether there is a context on `slot`, and it is the one with this word.
    pub fn lives(&self, slot: u32, word: u64) -> bool {
        self.slot(slot).is_some_and(|known| !known.is_free()) && self.word(slot) == word
    }

    /// Takes what `word` says for the thread that runs on the slot `here`, in a call whose own frames lie on the slot `own`; [`None`] if it
    /// is what runs.
    pub fn take(&self, word: u64, here: u32, own: u32) -> Result<Option<Taken>, NoContext> {
        let (slot, number) = ((word & ((1 << context::SLOT_BITS) - 1)) as u32, word >> context::SLOT_BITS);
        if slot == 0 {
            if here == own {
                return if number == 0 { Ok(None) } else { Err(NoContext::Frames) };
            }
            // The call has left its frames by a switch, which stored this: there is no other way to another slot.
            let frames = &self.slot(own).ok_or(NoContext::Frames)?.own;
            let suspension = frames.1.load(Ordering::Relaxed);
            return match number == 0 || number == suspension {
                true => Ok(Some(Taken { control: frames.0.load(Ordering::Relaxed) })),
                false => Err(NoContext::Frames),
            };
        }
        let known = self.slot(slot).ok_or(NoContext::Gone)?;
        let state = known.state.load(Ordering::Acquire);
        let lives = known.life.load(Ordering::Acquire) == number;
        if slot == here && slot != own {
            return if lives { Ok(None) } else { Err(NoContext::Gone) };
        }
        match state & KIND {
            SUSPENDED if lives || state >> NUMBER == number => {}
            RUNS if lives || state >> NUMBER == number => return Err(NoContext::Runs),
            _ => return Err(NoContext::Gone),
        }
        // (What it says of the number and the life is about this state, which never comes again.)
        known
            .state
            .compare_exchange(state, running(state, self.home(here)), Ordering::AcqRel, Ordering::Relaxed)
            .map_err(|_| NoContext::Runs)?;
        Ok(Some(Taken { control: known.control.load(Ordering::Relaxed) }))
    }

    /// A call's own frames on `slot` are about to wait there, at `control`, until [`give_back`](Contexts::give_back) has given them a number. The
    /// thread may end in between, and then its last call [begins below them](Contexts::waits_for).
    pub fn frames_wait(&self, slot: u32, control: u64) {
        if let Some(known) = self.slot(slot) {
            known.own.0.store(control, Ordering::Relaxed);
        }
    }

    /// Gives `slot`, which the calling thread runs on, back: it goes on at `control`, or, with [`None`], never. `own`: its call's own
    /// frames lie there, and not a context's. Returns its word. From here on it may run on another thread.
    pub fn give_back(&self, slot: u32, own: bool, control: Option<u64>) -> u64 {
        let (number, Some(known)) = (self.number(), self.slot(slot)) else { return 0 };
        match control {
            Some(_) if own => known.own.1.store(number, Ordering::Relaxed),
            Some(control) => {
                known.control.store(control, Ordering::Relaxed);
                known.state.store(number << NUMBER | SUSPENDED, Ordering::Release);
            }
            None => known.state.store(FREE, Ordering::Release),
        }
        number << context::SLOT_BITS | if own { 0 } else { u64::from(slot) }
    }

    /// A word that is good for nothing.
    pub fn no_context(&self) -> u64 {
        self.number() << context::SLOT_BITS | ((1 << context::SLOT_BITS) - 1)
    }

    /// Drops what the thread with the slot `home` has run, but not what it runs on still. For that thread.
    pub fn drop_lost(&self, home: u32, is_in_use: impl Fn(u32) -> bool) {
        for (slot, known) in (0..).zip(self.slots.get().into_iter().flatten()) {
            let state = known.state.load(Ordering::Acquire);
            if runner(state) == Some(home) && !is_in_use(slot) {
                known.free(state);
            }
        }
    }

    /// Drops what threads run that are in no call: it is lost. They are looked at later than the states, none of which comes twice.
    pub fn drop_lost_of(&self, is_idle: impl Fn(u32) -> bool) {
        for known in self.slots.get().into_iter().flatten() {
            let state = known.state.load(Ordering::Acquire);
            if runner(state).is_some_and(&is_idle) {
                known.free(state);
            }
        }
    }

    /// Drops suspended contexts whose stacks the program has given to another one.
    pub fn drop_overlaid(&self, stack: &Range<u64>) {
        for known in self.slots.get().into_iter().flatten() {
            let state = known.state.load(Ordering::Acquire);
            let other = known.stack.0.load(Ordering::Relaxed)..known.stack.1.load(Ordering::Relaxed);
            if state & KIND == SUSPENDED && other.start < stack.end && stack.start < other.end {
                known.free(state);
            }
        }
    }

    /// Whether a context has the slot.
    pub fn holds(&self, slot: usize) -> bool {
        self.slot(slot as u32).is_some_and(|known| !known.is_free())
    }

    /// Slots of contexts, past and present, with their sizes.
    pub fn mapped(&self) -> impl Iterator<Item = (usize, u64)> {
        let size = |(slot, known): (usize, &Slot)| (slot, known.size.load(Ordering::Relaxed));
        self.slots.get().into_iter().flatten().enumerate().map(size).filter(|(_, size)| *size != 0)
    }

    /// The last slot that is no context's, and that `is_fit`, given its number and its size.
    pub fn last_free(&self, is_fit: impl Fn(usize, u64) -> bool) -> Option<usize> {
        let table = self.table();
        let is_fit =
            |at: &usize| table[*at].is_free() && is_fit(*at, table[*at].size.load(Ordering::Relaxed));
        (0..table.len()).rev().find(is_fit)
    }

    /// The stacks of a slot that is no context's are mapped, of so many usable bytes; or not, with 0.
    pub fn set_size(&self, slot: usize, size: u64) {
        self.table()[slot].size.store(size, Ordering::Release);
    }

    /// A slot that is no context's becomes one that is suspended, and goes on at `control`; the program takes `stack` for its stack.
    /// Returns its word.
    pub fn begin(&self, slot: usize, control: u64, stack: &Range<u64>) -> u64 {
        let known = &self.table()[slot];
        let (life, number) = (self.number(), self.number());
        known.life.store(life, Ordering::Relaxed);
        known.control.store(control, Ordering::Relaxed);
        known.stack.0.store(stack.start, Ordering::Relaxed);
        known.stack.1.store(stack.end, Ordering::Relaxed);
        known.state.store(number << NUMBER | SUSPENDED, Ordering::Release);
        number << context::SLOT_BITS | slot as u64
    }

    /// All slots: made now, if there was no context.
    fn table(&self) -> &[Slot] {
        self.slots.get_or_init(|| (0..stack::SLOTS).map(|_| Slot::default()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    /// A table with one suspended context, on the last slot. Its life's number is 1.
    fn with_one() -> Contexts {
        let table = Contexts::default();
        let slots = table.table();
        let (life, number) = (table.number(), table.number());
        slots[LAST as usize].life.store(life, Ordering::Relaxed);
        slots[LAST as usize].state.store(number << NUMBER | SUSPENDED, Ordering::Release);
        table
    }

    const LAST: u32 = stack::SLOTS as u32 - 1;
    const WORD: u64 = 1 << context::SLOT_BITS | LAST as u64;

    /// Threads take it all the time, give it back, and drop what they have lost. Red without compare-and-swap, or if who has it is told
    /// after it has been taken.
    #[test]
    fn one_thread_at_a_time_has_a_context() {
        const TIMES: u32 = 2_000_000;
        let begin = std::sync::Barrier::new(3);
        let (table, taken, broken) = (with_one(), AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for home in [0, 1, 2] {
                let (table, taken, broken, begin) = (&table, &taken, &broken, &begin);
                scope.spawn(move || {
                    let mut count = 0;
                    begin.wait();
                    while count < TIMES && !broken.load(Ordering::Relaxed) {
                        match table.take(WORD, home, home) {
                            Ok(Some(_)) => {
                                if taken.swap(true, Ordering::Relaxed) || table.home(LAST) != home {
                                    broken.store(true, Ordering::Relaxed);
                                }
                                count += 1;
                                taken.store(false, Ordering::Relaxed);
                                table.give_back(LAST, false, Some(count.into()));
                            }
                            Err(NoContext::Runs) => table.drop_lost(home, |_| false),
                            other => panic!("{other:?}"),
                        }
                    }
                });
            }
        });
        assert!(!broken.into_inner(), "two threads have had it");
    }

    #[test]
    fn words_are_good_for_what_they_are_about() {
        let table = with_one();
        let first = 2 << context::SLOT_BITS | u64::from(LAST);
        let take = |word, here| table.take(word, here, 0).map(|taken| taken.is_some());
        assert_eq!(take(first, 0), Ok(true));
        assert_eq!(table.word(LAST), WORD);
        // It runs: here, or for another thread.
        assert_eq!(take(WORD, LAST), Ok(false));
        assert_eq!((take(WORD, 1), take(first, 1)), (Err(NoContext::Runs), Err(NoContext::Runs)));
        // The call's own frames: suspended now, by what has led here.
        // (Where the thread ends now, its last call begins below them.)
        table.frames_wait(0, 0x1000);
        assert_eq!(table.waits_for(LAST), Some(0x1000));
        let frames = table.give_back(0, true, Some(0x1000));
        assert_eq!(take(frames, LAST), Ok(true));
        assert_eq!(
            (take(frames + (1 << context::SLOT_BITS), LAST), take(0, LAST)),
            (Err(NoContext::Frames), Ok(true))
        );
        // Another call has none that are suspended, whatever it says.
        assert_eq!(table.take(frames, 3, 3).map(|taken| taken.is_some()), Err(NoContext::Frames));
        let second = table.give_back(LAST, false, Some(0x2000));
        assert_eq!(take(first, 0), Err(NoContext::Gone));
        assert_eq!(table.take(second, 0, 0).unwrap().map(|taken| taken.control), Some(0x2000));
        assert_eq!(table.home(LAST), 0);
        // It is over.
        table.give_back(LAST, false, None);
        assert_eq!(
            (take(second, 0), take(WORD, 0), take(table.no_context(), 0)),
            (Err(NoContext::Gone), Err(NoContext::Gone), Err(NoContext::Gone))
        );
        // A thread's calls have ended in the midst of it.
        let table = with_one();
        table.take(WORD, 7, 7).unwrap();
        table.drop_lost(8, |_| false);
        table.drop_lost(7, |slot| slot == LAST);
        assert_eq!(table.take(WORD, 1, 1).map(drop), Err(NoContext::Runs));
        table.drop_lost(7, |_| false);
        assert_eq!(table.take(WORD, 1, 1).map(drop), Err(NoContext::Gone));
    }
}
