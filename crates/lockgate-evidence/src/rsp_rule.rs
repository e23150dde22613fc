//! Rule V3, exhaustively: every short sequence of changes of rsp, probes, branches, computed frames and ends of ways, against where rsp can be.
//!
//! The model knows that the pages of a slot are contiguous from the return word, or the frame word, downwards, that guards follow, and what
//! instructions do to rsp; it does not know *moved*. It follows the worst case, relative to that word: where rsp is, and the lowest place that is known to be mapped.
//!
//! - Where control can come from elsewhere (behind branches), nothing is known but that rsp is within D of a mapped place.
//! - An access that went well shows that its place is mapped; one that did not ends the run.
//! - Before each branch rsp has to be within D of a mapped place again, and no push and no access to the control stack's image may leave the slot and its guard.
//! - At `ret` and labels rsp is E; what is popped, and what is loaded as a frame word, is what was stored as such.
//!
//! Statement: every sequence of up to the given length of the steps below that [`lockgate_verify::verify`] accepts keeps to that. Conversely, it
//! accepts exactly the sequences that the words of the rule accept. By induction over the branches of a run, the statement carries over to whole
//! programs of such pieces.

use crate::text::Text;
use lockgate_abi::{code, stack};
use serde::Serialize;

/// What came of it.
#[derive(Debug, Default, Serialize)]
pub struct Outcome {
    /// Sequences judged.
    pub sequences: u64,
    /// Accepted ones.
    pub accepted: u64,
    /// Pairs of displacements, of a probe and of a later operand, for which the guards were found wide enough.
    pub pairs: u64,
    /// Accepted and unsafe, or not as the rule says.
    pub violations: u64,
    /// The first of them.
    pub examples: Vec<String>,
}

const OFF: i64 = code::OFF as i64;
const D: i64 = code::MAX_MOVE as i64;
const T: i64 = code::MAX_PROBE as i64;
const BASE: i64 = code::MAX_BASE as i64;
const A: i64 = code::MAX_ACCESS as i64;
const SLOT: i64 = stack::SLOT as i64;
const GUARD: i64 = stack::GUARD as i64;
/// The usable part of a slot.
const LOW: i64 = stack::GUARD as i64;
const HIGH: i64 = stack::TOP as i64;

/// One step of a sequence.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// rsp changes by a constant.
    Add(i64),
    /// rsp is aligned downwards.
    Align,
    /// So many bytes at this distance from rsp's image are accessed for sure.
    Probe(i64, i64),
    /// The same, but perhaps not accessed at all: no probe.
    Maybe(i64, i64),
    /// The control stack's top is read and written: `testb $0,(%rsp)`.
    ControlProbe,
    /// Through a gate.
    Call,
    /// A conditional branch, to the next unit.
    Branch,
    /// A label.
    Label,
    /// `int3`, behind which a handler goes on.
    Int3,
    /// `ud2`, behind which no handler goes on.
    Ud2,
    Return,
    /// U2, whose branch goes back to its start.
    Open,
    /// The frame word is at this distance from rsp.
    Close(i64),
}

/// The steps: bounds of the rule and a little more, in every form that changes rsp.
fn steps() -> Vec<(Step, Vec<u8>)> {
    let imm = |value: i64| (value as i32).to_le_bytes().to_vec();
    let add = |n: i64| (Step::Add(n), [vec![0x48, 0x81, 0xc4], imm(n)].concat());
    let sub = |n: i64| (Step::Add(-n), [vec![0x48, 0x81, 0xec], imm(n)].concat());
    let lea = |n: i64| (Step::Add(n), [vec![0x48, 0x8d, 0xa4, 0x24], imm(n)].concat());
    let load = |d| (Step::Probe(d, 8), [vec![0x48, 0x8b, 0x84, 0x24], imm(d - OFF)].concat());
    let masked =
        |d| (Step::Maybe(d, 64), [vec![0x62, 0xf1, 0x7c, 0x49, 0x11, 0x84, 0x24], imm(d - OFF)].concat());
    let open = [
        &[0x49, 0x31, 0xe3, 0x41, 0x81, 0xe3][..],
        &imm(SLOT - 8),
        // Its branch ends 18 bytes behind its start.
        &[0x49, 0x31, 0xe3, 0x49, 0x39, 0xe3, 0x77, -18_i8 as u8],
        &[0x4c, 0x87, 0xdc, 0x4c, 0x89, 0x1c, 0x24],
    ];
    vec![
        add(8),
        sub(8),
        sub(D),
        add(D),
        sub(D + 8),
        (Step::Add(127 - 7), vec![0x48, 0x83, 0xc4, 120]),
        (Step::Add(-120), vec![0x48, 0x83, 0xec, 120]),
        lea(-D / 2),
        lea(12),
        (Step::Align, vec![0x48, 0x83, 0xe4, 0xf0]),
        load(0),
        load(T),
        load(-T),
        (Step::Probe(-T, 64), [vec![0x62, 0xf1, 0x7c, 0x48, 0x11, 0x84, 0x24], imm(-T - OFF)].concat()),
        masked(D),
        (Step::Maybe(-D, 1), [vec![0x0f, 0x18, 0x84, 0x24], imm(-D - OFF)].concat()),
        (Step::ControlProbe, vec![0xf6, 0x04, 0x24, 0x00]),
        (Step::Call, vec![0x65, 0xff, 0x14, 0x25, 0x00, 0x10, 0x01, 0x00]),
        (Step::Branch, vec![0x75, 0x00]),
        (Step::Label, code::LABEL.to_vec()),
        (Step::Int3, vec![0xcc]),
        (Step::Ud2, vec![0x0f, 0x0b]),
        (Step::Return, vec![0xc3]),
        (Step::Open, open.concat()),
        (Step::Close(0), vec![0x48, 0x8b, 0x24, 0x24]),
        (Step::Close(8), vec![0x48, 0x8b, 0x64, 0x24, 8]),
    ]
}

/// The worst case, relative to the word that rsp is counted from: the return word, or the frame word.
#[derive(Debug, Clone, Copy)]
struct Place {
    rsp: i64,
    /// The lowest place that is known to be mapped. What lies between it and the word is mapped as well.
    mapped: i64,
    /// If it is a frame word: where the rsp that it holds was, relative to the return word.
    frame: Option<i64>,
}

/// At starts of regions, and where functions begin.
const ENTRY: Place = Place { rsp: 0, mapped: 0, frame: None };

impl Place {
    /// `size` bytes at `rsp + distance` are in the slot or in the guard below it.
    fn stays(self, distance: i64, size: i64) -> bool {
        // Upwards from E there are at least the words above the topmost exit return address, and the guard.
        self.mapped - (self.rsp + distance) <= GUARD && self.rsp + distance + size <= GUARD
    }

    /// What is known after bytes at `rsp + distance` were accessible.
    fn accessed(self, distance: i64) -> Place {
        Place { mapped: self.mapped.min(self.rsp + distance), ..self }
    }

    /// After a step; `None` if it may do what it must not.
    fn after(self, step: Step) -> Option<Place> {
        let near = self.mapped - self.rsp <= D;
        match step {
            // What is above the word may be pushed over by the next call.
            Step::Add(n) => (self.rsp + n <= 0 && n % 8 == 0).then_some(Place { rsp: self.rsp + n, ..self }),
            Step::Align => None,
            Step::Probe(distance, size) => self.stays(distance, size).then(|| self.accessed(distance)),
            Step::Maybe(distance, size) => self.stays(distance, size).then_some(self),
            Step::ControlProbe => self.stays(0, 8).then(|| self.accessed(0)),
            // It writes below rsp, and its `ret` reads there.
            Step::Call => self.stays(-8, 8).then(|| self.accessed(-8)),
            // Others may come here that know less.
            Step::Branch => near.then_some(Place { mapped: (self.rsp + D).min(0), ..self }),
            Step::Label => (self.rsp == 0 && self.frame.is_none()).then_some(self),
            Step::Int3 => Some(self),
            Step::Ud2 => Some(ENTRY),
            Step::Return => (self.rsp == 0 && self.frame.is_none()).then_some(ENTRY),
            // Near, so that rsp is in its own slot; not onto the return word; and with 0 in place of the old rsp, E is still on page 0.
            Step::Open => (near && self.rsp < 0 && -self.rsp <= BASE && self.frame.is_none())
                .then_some(Place { frame: Some(self.rsp), ..ENTRY }),
            Step::Close(distance) => (self.rsp + distance == 0).then_some(self.frame)?.map(|rsp| Place {
                rsp,
                mapped: rsp,
                frame: None,
            }),
        }
    }
}

/// The rule's own words: *moved*, o or d, and b; `None` where they say no.
#[derive(Debug, Clone, Copy, Default)]
struct Rule {
    moved: i64,
    depth: i64,
    b: Option<i64>,
}

impl Rule {
    fn after(self, step: Step) -> Option<Rule> {
        let at_entry = self.depth == 0 && self.b.is_none();
        let still = Rule { moved: 0, ..self };
        match step {
            Step::Add(n) => {
                let depth = self.depth - n;
                let moved = (self.moved - n).max(0).min((depth - D).max(0));
                (n % 8 == 0 && (0..=SLOT).contains(&depth) && moved <= D).then_some(Rule {
                    moved,
                    depth,
                    ..self
                })
            }
            Step::Align => None,
            Step::Probe(distance, _) => (distance.abs() <= T).then_some(still),
            Step::ControlProbe | Step::Call => Some(still),
            Step::Maybe(..) | Step::Int3 => Some(self),
            Step::Label => at_entry.then_some(self),
            Step::Ud2 => Some(Rule::default()),
            Step::Return => at_entry.then_some(Rule::default()),
            Step::Branch => (self.moved == 0).then_some(self),
            Step::Open => (self.moved == 0 && self.b.is_none() && (8..=BASE).contains(&self.depth))
                .then_some(Rule { b: Some(self.depth), ..Rule::default() }),
            Step::Close(distance) => {
                self.b.filter(|_| distance == self.depth).map(|depth| Rule { depth, ..Rule::default() })
            }
        }
    }
}

/// Judges all sequences of up to `length` steps, and one in `one_in` of the pairs of displacements.
#[must_use]
pub fn run(length: usize, one_in: u64) -> Outcome {
    let mut outcome = Outcome::default();
    let (steps, mut text) = (steps(), Text::default());
    let mut chosen = vec![0; length];
    for length in 1..=length {
        let chosen = &mut chosen[..length];
        chosen.fill(0);
        loop {
            let sequence: Vec<_> = chosen.iter().map(|&i: &usize| &steps[i]).collect();
            outcome.judge(&mut text, &sequence);
            // Count on, in the base of the number of steps.
            let Some(place) = chosen.iter().position(|&digit| digit + 1 < steps.len()) else { break };
            chosen[..place].fill(0);
            chosen[place] += 1;
        }
    }
    outcome.guards(one_in);
    outcome
}

impl Outcome {
    fn judge(&mut self, text: &mut Text, sequence: &[&(Step, Vec<u8>)]) {
        // Every sequence ends with a branch: what follows relies on rsp.
        let bytes: Vec<u8> =
            sequence.iter().flat_map(|(_, bytes)| bytes).chain(&[0x75, 0x00]).copied().collect();
        let all = || sequence.iter().map(|(step, _)| *step).chain([Step::Branch]);
        let accepted = text.verify(&bytes).is_ok();
        let safe = all().try_fold(ENTRY, Place::after).is_some();
        let by_rule = all().try_fold(Rule::default(), Rule::after).is_some();
        self.sequences += 1;
        self.accepted += u64::from(accepted);
        if accepted != by_rule || accepted && !safe {
            self.violate(|| {
                format!("accepted {accepted}, rule {by_rule}, safe {safe}: {:?}", all().collect::<Vec<_>>())
            });
        }
    }

    /// The guards' width, for every legal probe and every legal operand after D more downwards. Upwards E is the limit.
    fn guards(&mut self, one_in: u64) {
        for probe in (-T..=T).step_by(one_in as usize) {
            // The probed byte is usable, and so is all between it and E.
            let ends = [LOW - probe.max(0) - D, HIGH - 8];
            for distance in -D..=D {
                let inside = ends.iter().all(|rsp| rsp + distance >= 0 && rsp + distance + A <= SLOT);
                // And `call` and `ret` of the same place.
                let control = ends.iter().all(|rsp| rsp - 8 >= 0 && rsp + 8 <= SLOT);
                self.pairs += 1;
                if !inside || !control {
                    self.violate(|| format!("probe at {probe}, operand at {distance}"));
                }
            }
        }
    }

    fn violate(&mut self, example: impl FnOnce() -> String) {
        self.violations += 1;
        if self.examples.len() < 20 {
            self.examples.push(example());
        }
    }
}
