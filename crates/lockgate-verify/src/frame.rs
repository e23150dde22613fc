//! Where rsp is: the states of rule V3, and the table of return sites that the report has of them.
//!
//! `E` is rsp at the entry of a function, the address of the word that its `ret` will pop.

use lockgate_abi::{code, stack};

/// What the verifier knows of rsp before a unit (rule V3). All numbers are multiples of 8, and at most a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum State {
    /// S(o): rsp = E - o.
    S {
        /// Bytes from rsp up to E.
        o: u32,
    },
    /// C(b, d): rsp was computed; the word at rsp + d, the *frame word*, holds E - b.
    C {
        /// Bytes from what the frame word holds up to E; at least 8, at most [`code::MAX_BASE`].
        b: u32,
        /// Bytes from rsp up to the frame word.
        d: u32,
    },
}

impl State {
    /// The state at every label and at the entry of every function: rsp = E.
    pub const ENTRY: State = State::S { o: 0 };

    /// Whether the numbers are multiples of 8 inside a slot, and b is not 0, since a frame word never holds E itself, nor more than there is
    /// below page 0's end.
    #[must_use]
    pub fn is_valid(self) -> bool {
        let fits = |bytes: u32| bytes.is_multiple_of(8) && u64::from(bytes) <= stack::SLOT;
        match self {
            State::S { o } => fits(o),
            State::C { b, d } => fits(b) && fits(d) && (8..=code::MAX_BASE).contains(&b),
        }
    }

    /// Bytes from rsp up to the nearest word that is known to be there: the return word, or the frame word.
    #[must_use]
    pub fn depth(self) -> u32 {
        match self {
            State::S { o } => o,
            State::C { d, .. } => d,
        }
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            State::S { o } => write!(f, "S({o})"),
            State::C { b, d } => write!(f, "C({b}, {d})"),
        }
    }
}

/// The return sites of an image: the places behind its calls, calls through units and gate calls, each with the state that the
/// function there is in. A word of a control stack that holds such a place was pushed by the call before it, so a walk from a
/// known rsp finds E, and there the return word of the function, whose place is in this table or in that of another image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// Image-relative address of the text.
    address: u64,
    /// In address order: offset in the text, and the state. Multiples of 8 are S(o); others, divided by 8, index `computed`.
    sites: Vec<(u32, u32)>,
    /// b and d of states C.
    computed: Vec<(u32, u32)>,
    /// For each [`BLOCK`] of the text the number of sites before it.
    index: Vec<u32>,
    /// Offsets of each `ud2` that an edge enters in another state than it has: nothing is known of rsp there. In order, once [`settled`](Frames::settled).
    unsure: Vec<u32>,
}

/// Bytes of text for which a look-up searches, one site after the other: a dozen calls at most, mostly three.
const BLOCK: u32 = 64;

/// What tells an index of `computed` from S(o).
const COMPUTED: u32 = 1;

impl Frames {
    /// The state behind a call; `address` is image-relative. `None`: no call ends there.
    ///
    /// It allocates nothing and never waits: a few comparisons, whatever the module.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<State> {
        let offset = u32::try_from(address.checked_sub(self.address)?).ok()?;
        let first = *self.index.get((offset / BLOCK) as usize)? as usize;
        let &(at, state) = self.sites.get(first..)?.iter().find(|&&(at, _)| at >= offset)?;
        if at == offset { self.state(state) } else { None }
    }

    /// The last return site at an offset of the text, or before it, and the state there.
    pub(crate) fn last(&self, offset: u32) -> Option<(u32, State)> {
        let behind = self.sites.partition_point(|&(at, _)| at <= offset);
        let &(at, state) = self.sites.get(behind.checked_sub(1)?)?;
        Some((at, self.state(state)?))
    }

    /// All return sites in address order: image-relative address and state.
    pub fn iter(&self) -> impl Iterator<Item = (u64, State)> + '_ {
        self.sites.iter().filter_map(|&(at, state)| Some((self.address + u64::from(at), self.state(state)?)))
    }

    fn state(&self, packed: u32) -> Option<State> {
        if packed & 7 == 0 {
            return Some(State::S { o: packed });
        }
        let &(b, d) = self.computed.get((packed / 8) as usize)?;
        Some(State::C { b, d })
    }

    /// True if control comes to the `ud2` at an offset of the text in several states.
    pub(crate) fn is_unsure(&self, offset: u32) -> bool {
        self.unsure.binary_search(&offset).is_ok()
    }

    /// An edge enters the `ud2` at an offset in another state.
    pub(crate) fn doubt(&mut self, offset: u32) {
        self.unsure.push(offset);
    }

    /// All edges have been seen.
    pub(crate) fn settled(mut self) -> Frames {
        self.unsure.sort_unstable();
        self.unsure.dedup();
        self
    }

    /// An empty table for a text at an image-relative address.
    pub(crate) fn new(address: u64) -> Frames {
        Frames { address, ..Frames::default() }
    }

    /// Adds a site behind all that are there.
    pub(crate) fn push(&mut self, offset: u32, state: State) {
        let block = (offset / BLOCK) as usize;
        while self.index.len() <= block {
            self.index.push(self.sites.len() as u32);
        }
        let packed = match state {
            State::S { o } => o,
            State::C { b, d } => {
                if self.computed.last() != Some(&(b, d)) {
                    self.computed.push((b, d));
                }
                (self.computed.len() as u32 - 1) * 8 + COMPUTED
            }
        };
        self.sites.push((offset, packed));
    }
}

/// What is known of an address in the code of a module that is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where rsp is before the unit that the address lies in. `None` at a `ud2` that control enters in several states: which of them it is in
    /// is not known there.
    pub state: Option<State>,
    /// Whether the unit begins there: inside one, registers and flags are what its own instructions have made of them, and V2 and V5 count on
    /// that. Between two units nothing is known of any register but rsp.
    pub begins: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_found_and_nothing_else_is() {
        let mut frames = Frames::new(0x1000);
        let state = |i: u32| match i % 3 {
            0 => State::S { o: 8 * i },
            1 => State::C { b: 8, d: 8 * (i / 100) },
            _ => State::C { b: 8 * i, d: 0 },
        };
        // Near each other, at ends of blocks, and far away from each other.
        let offsets: Vec<u32> = (5..700).step_by(5).chain([767, 768, 1023, 5000, 5119, 5120]).collect();
        for (i, &offset) in (0..).zip(&offsets) {
            frames.push(offset, state(i));
        }
        for offset in 0..6000 {
            let expected = (0..).zip(&offsets).find(|(_, at)| **at == offset).map(|(i, _)| state(i));
            assert_eq!(frames.at(0x1000 + u64::from(offset)), expected, "{offset}");
        }
        for outside in [0, 5, 0xfff, u64::MAX, 0x1_0000_1005] {
            assert_eq!(frames.at(outside), None, "{outside:#x}");
        }
        assert_eq!(Frames::default().at(0), None);
        let all: Vec<_> = frames.iter().collect();
        assert_eq!(all.len(), offsets.len());
        assert_eq!(all[1], (0x100a, State::C { b: 8, d: 0 }));
    }

    #[test]
    fn states_have_bounds() {
        let slot = stack::SLOT as u32;
        for (state, valid) in [
            (State::S { o: 0 }, true),
            (State::S { o: slot }, true),
            (State::S { o: slot + 8 }, false),
            (State::S { o: 4 }, false),
            (State::C { b: 8, d: 0 }, true),
            (State::C { b: 0, d: 0 }, false),
            (State::C { b: 8, d: 4 }, false),
            (State::C { b: 12, d: 0 }, false),
            (State::C { b: 4088, d: slot }, true),
            (State::C { b: 4096, d: 0 }, false),
            (State::C { b: 8, d: slot + 8 }, false),
        ] {
            assert_eq!(state.is_valid(), valid, "{state}");
        }
    }
}
