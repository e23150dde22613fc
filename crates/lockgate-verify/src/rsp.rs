//! Rule V3: what is known of rsp before every unit, along the text, and at both ends of every edge.
//!
//! The pass goes through the text once and carries a [`State`] from unit to unit. Where it changes, the change is logged; when the
//! text is read, each edge is judged by the log: the state at its target must be the one that it leaves with.

use crate::frame::State;
use crate::reject::{Judged, broken};
use lockgate_abi::{code, stack};

/// What is known of rsp before the next unit, and what was known before the units so far.
pub(crate) struct Rsp<'a> {
    /// What the module says of starts of regions and the pass has not come to: image-relative address, state.
    notes: &'a [(u64, State)],
    /// Image-relative address of the text.
    address: u64,
    state: State,
    /// How much further than D rsp may be below the lowest word that is known to be mapped.
    moved: u32,
    /// In address order: units from this offset on have this state. The first one is what every function begins with.
    changes: Vec<(u32, State)>,
    /// For each [`BLOCK`] of the text the number of changes before its first byte.
    index: Vec<u32>,
}

/// The state that an edge leaves with: index of the log.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Leaving(u32);

impl Leaving {
    /// By a `call`: the callee begins with E = rsp.
    pub(crate) const CALL: Leaving = Leaving(0);
}

/// Bytes of text; as many units at most may change the state there, which bounds a look-up.
const BLOCK: usize = 64;

impl<'a> Rsp<'a> {
    pub(crate) fn new(notes: &'a [(u64, State)], address: u64, text: usize) -> Rsp<'a> {
        let (state, index) = (State::ENTRY, Vec::with_capacity(text / BLOCK + 1));
        Rsp { notes, address, state, moved: 0, changes: vec![(0, state)], index }
    }

    /// The state before the next unit.
    #[inline(always)]
    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// For an edge from the next unit.
    #[inline(always)]
    pub(crate) fn leaving(&self) -> Leaving {
        Leaving(self.changes.len() as u32 - 1)
    }

    /// A region starts: control does not come here from the unit before. The state is what the module's note says, E if it says
    /// nothing. Every edge to here finds rsp at most D below a mapped word.
    #[inline(always)]
    pub(crate) fn region(&mut self, at: usize) -> Judged {
        let state = match self.notes.split_first() {
            Some((&(address, state), rest)) if address == self.address + at as u64 => {
                if !state.is_valid() {
                    return broken("V3", at, format!("the STATES note has {state} here, which cannot be"));
                }
                self.notes = rest;
                state
            }
            _ => State::ENTRY,
        };
        self.moved = 0;
        if state != self.state {
            self.enter(at, state);
        }
        Ok(())
    }

    /// When the text is read: all notes were about starts of regions.
    pub(crate) fn finish(&self) -> Result<(), u64> {
        self.notes.first().map_or(Ok(()), |&(address, _)| Err(address))
    }

    /// The pass begins behind a call, where this is known.
    pub(crate) fn begin(&mut self, state: State) {
        self.enter(0, state);
    }

    /// Units from `at` on have another state.
    fn enter(&mut self, at: usize, state: State) {
        while self.index.len() <= at / BLOCK {
            self.index.push(self.changes.len() as u32);
        }
        self.changes.push((at as u32, state));
        self.state = state;
    }

    /// V3b: the unit `at..end` adds `change` to rsp.
    pub(crate) fn shift(&mut self, at: usize, end: usize, change: i64) -> Judged {
        if change % 8 != 0 {
            return broken("V3", at, "rsp changes by something else than a multiple of 8");
        }
        let depth = i64::from(self.state.depth()) - change;
        if depth < 0 {
            return broken(
                "V3",
                at,
                format!("rsp comes to lie {} bytes above what {} allows", -depth, self.state),
            );
        }
        if depth > stack::SLOT as i64 {
            return broken("V3", at, "rsp moves by more than a slot");
        }
        let depth = depth as u32;
        let moved = (i64::from(self.moved) - change).max(0) as u32;
        // As far as D below the return word, or the frame word, nothing else need be known.
        self.moved = moved.min(depth.saturating_sub(code::MAX_MOVE));
        if self.moved > code::MAX_MOVE {
            return broken("V3", at, format!("rsp moves by {moved} bytes without a probe"));
        }
        let state = match self.state {
            State::S { .. } => State::S { o: depth },
            State::C { b, .. } => State::C { b, d: depth },
        };
        self.enter(end, state);
        Ok(())
    }

    /// V3d: the unit that ends at `end` has computed rsp and stored the old one there.
    pub(crate) fn open(&mut self, at: usize, end: usize) -> Judged {
        match self.state {
            // With o = 0 the frame word would take the place of the return word. In a forked child it may have become 0.
            State::S { o } if (8..=code::MAX_BASE).contains(&o) => {
                self.moved = 0;
                self.enter(end, State::C { b: o, d: 0 });
                Ok(())
            }
            state => broken(
                "V3",
                at,
                format!("a computed frame is opened where rsp is {state}, not S(8) to S({})", code::MAX_BASE),
            ),
        }
    }

    /// V3e: the unit `at..end` loads rsp from `distance(%rsp)`.
    pub(crate) fn close(&mut self, at: usize, end: usize, distance: i32) -> Judged {
        match self.state {
            State::C { b, d } if i64::from(d) == i64::from(distance) => {
                self.moved = 0;
                self.enter(end, State::S { o: b });
                Ok(())
            }
            state => broken(
                "V3",
                at,
                format!("rsp is loaded from another place than a frame word: rsp is {state}"),
            ),
        }
    }

    /// The page of rsp, or one at most D away from it, is known to be mapped.
    #[inline(always)]
    pub(crate) fn probe(&mut self) {
        self.moved = 0;
    }

    /// V3: before every branch.
    #[inline(always)]
    pub(crate) fn unprobed(&self, at: usize) -> Judged {
        match self.moved {
            0 => Ok(()),
            moved => {
                broken("V3", at, format!("rsp moved by {moved} bytes and was not probed before this branch"))
            }
        }
    }

    /// V3: where a function is entered or left.
    #[inline(always)]
    pub(crate) fn at_entry(&self, at: usize, what: &str) -> Judged {
        match self.state {
            State::ENTRY => Ok(()),
            state => broken("V3", at, format!("{what} where rsp is {state}, not S(0)")),
        }
    }

    /// V3, when the text is read: an edge from the unit at `at` to the one at `target`, which exists. `ud2` takes any state; the result is
    /// whether this is the one that the target has.
    #[inline(always)]
    pub(crate) fn edge(&self, text: &[u8], at: usize, leaving: Leaving, target: usize) -> Judged<bool> {
        let (leaves, expects) = (self.changes[leaving.0 as usize].1, self.before(target));
        if leaves == expects || text[target..].starts_with(&code::UD2) {
            return Ok(leaves == expects);
        }
        let target = self.address + target as u64;
        broken("V3", at, format!("rsp is {leaves} where it goes to {target:#x}, and {expects} there"))
    }

    /// V3, when the text is read: the jump at `at` shares the table that was checked for a jump in another state.
    pub(crate) fn same(&self, at: usize, leaving: Leaving, checked: Leaving) -> Judged {
        let (leaves, expects) = (self.changes[leaving.0 as usize].1, self.changes[checked.0 as usize].1);
        if leaves == expects {
            return Ok(());
        }
        broken("V3", at, format!("rsp is {leaves}, and {expects} where another jump uses the same table"))
    }

    /// The state before the unit at an offset.
    pub(crate) fn before(&self, at: usize) -> State {
        let known = self.index.get(at / BLOCK).map_or(self.changes.len(), |&number| number as usize);
        let later = self.changes[known..].iter().take_while(|(from, _)| *from as usize <= at);
        later.last().unwrap_or(&self.changes[known.saturating_sub(1)]).1
    }
}
