//! Rule V3, exhaustively: every short sequence of changes of rsp, touches and branches, against intervals of where rsp can be.
//!
//! The model knows the layout of a slot (guard, usable, guard; the data stack is its image at -OFF) and what instructions do to rsp; it does not know *moved*. It
//! follows all positions that rsp can have, as an interval of offsets in the slot:
//!
//! - where control can come from elsewhere (start, after branches), rsp is within T of the usable part;
//! - an access that went well shows that it lay in the usable part; one that did not ends the run;
//! - before each branch rsp has to be within T of the usable part again, and no access may leave the slot at any time.
//!
//! Statement: every sequence of up to the given length of the steps below that [`lockgate_verify::verify`] accepts keeps to that. Conversely, it
//! accepts exactly the sequences in which the sum of changes since the last touch is at most D, and 0 at branches.
//! By induction over the branches of a run, the statement carries over to whole programs of such pieces.

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
    /// Pairs of displacements, of a touch and of a later operand, for which the guards were found wide enough.
    pub pairs: u64,
    /// Accepted and unsafe, or not as the rule says.
    pub violations: u64,
    /// The first of them.
    pub examples: Vec<String>,
}

const OFF: i64 = code::OFF as i64;
const D: i64 = code::MAX_MOVE as i64;
const T: i64 = code::MAX_TOUCH as i64;
const A: i64 = code::MAX_ACCESS as i64;
const SLOT: i64 = stack::SLOT as i64;
/// The usable part of a slot.
const LOW: i64 = stack::GUARD as i64;
const HIGH: i64 = stack::TOP as i64;

/// One step of a sequence.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// rsp changes by a constant.
    Add(i64),
    /// rsp is aligned downwards to this power of two.
    Align(i64),
    /// So many bytes at this distance from rsp's image are accessed for sure.
    Touch(i64, i64),
    /// The same, but perhaps not accessed at all: no touch.
    Maybe(i64, i64),
    /// The control stack's top is read and written: `testb $0,(%rsp)`.
    Probe,
    Call,
    /// A conditional branch.
    Branch,
    /// A label.
    Label,
    /// `int3` or `ud2`, behind which a handler goes on.
    Trap,
    /// U2: any place of the slot, followed by a touch.
    Slot,
}

/// The steps: bounds of the rule and a little more, in every form that changes rsp.
fn steps() -> Vec<(Step, Vec<u8>)> {
    let imm = |value: i64| (value as i32).to_le_bytes().to_vec();
    let add = |n: i64| (Step::Add(n), [vec![0x48, 0x81, 0xc4], imm(n)].concat());
    let sub = |n: i64| (Step::Add(-n), [vec![0x48, 0x81, 0xec], imm(n)].concat());
    let lea = |n: i64| (Step::Add(n), [vec![0x48, 0x8d, 0xa4, 0x24], imm(n)].concat());
    let align = |n: i64| (Step::Align(n), [vec![0x48, 0x81, 0xe4], imm(-n)].concat());
    let load = |d| (Step::Touch(d, 8), [vec![0x48, 0x8b, 0x84, 0x24], imm(d - OFF)].concat());
    let masked =
        |d| (Step::Maybe(d, 64), [vec![0x62, 0xf1, 0x7c, 0x49, 0x11, 0x84, 0x24], imm(d - OFF)].concat());
    vec![
        add(8),
        sub(8),
        sub(D),
        add(D - 8),
        add(D + 8),
        (Step::Add(127 - 7), vec![0x48, 0x83, 0xc4, 120]),
        lea(-D / 2),
        lea(12),
        align(16),
        align(D),
        load(0),
        load(T),
        load(-T),
        (Step::Touch(-T, 64), [vec![0x62, 0xf1, 0x7c, 0x48, 0x11, 0x84, 0x24], imm(-T - OFF)].concat()),
        masked(0),
        masked(D),
        (Step::Maybe(-D, 1), [vec![0x0f, 0x18, 0x84, 0x24], imm(-D - OFF)].concat()),
        (Step::Probe, vec![0xf6, 0x04, 0x24, 0x00]),
        (Step::Call, vec![0xe8, 0, 0, 0, 0]),
        (Step::Branch, vec![0x75, 0x00]),
        (Step::Label, code::LABEL.to_vec()),
        (Step::Trap, vec![0xcc]),
        (Step::Trap, vec![0x0f, 0x0b]),
        (
            Step::Slot,
            [
                &[0x49, 0x31, 0xe3, 0x41, 0x81, 0xe3][..],
                &imm(SLOT - 8),
                &[0x4c, 0x31, 0xdc, 0x4c, 0x8b, 0x9c, 0x24],
                &imm(-OFF),
            ]
            .concat(),
        ),
    ]
}

/// Where rsp can be: offsets in the slot, both ends included.
#[derive(Debug, Clone, Copy)]
struct Interval {
    low: i64,
    high: i64,
}

/// At starts and branches.
const ANYWHERE: Interval = Interval { low: LOW - T, high: HIGH + T };

impl Interval {
    fn inside(self, other: Interval) -> bool {
        self.low >= other.low && self.high <= other.high
    }

    /// `size` bytes at `rsp + distance` stay in the slot wherever rsp is.
    fn stays(self, distance: i64, size: i64) -> bool {
        self.low + distance >= 0 && self.high + distance + size <= SLOT
    }

    /// What is left after `size` bytes at `rsp + distance` were accessible.
    fn accessed(self, distance: i64, size: i64) -> Interval {
        Interval { low: self.low.max(LOW - distance), high: self.high.min(HIGH - size - distance) }
    }

    /// After a step; `None` if it may do what it must not.
    fn after(self, step: Step) -> Option<Interval> {
        let Interval { low, high } = self;
        match step {
            Step::Add(n) => Some(Interval { low: low + n, high: high + n }),
            Step::Align(n) => Some(Interval { low: low - (n - 8), high }),
            Step::Touch(distance, size) => self.stays(distance, size).then(|| self.accessed(distance, size)),
            Step::Maybe(distance, size) => self.stays(distance, size).then_some(self),
            Step::Probe => self.stays(0, 8).then(|| self.accessed(0, 8)),
            // It writes below rsp, and its `ret` reads there.
            Step::Call => self.stays(-8, 8).then(|| self.accessed(-8, 8)),
            Step::Branch => self.inside(ANYWHERE).then_some(ANYWHERE),
            Step::Label | Step::Trap => Some(self),
            Step::Slot => self.inside(ANYWHERE).then(|| Interval { low: 0, high: SLOT - 8 }.accessed(0, 8)),
        }
    }
}

/// The rule's own words, as a sum: `None` where they say no.
fn rule(moved: i64, step: Step) -> Option<i64> {
    match step {
        Step::Add(n) => (n % 8 == 0 && moved + n.abs() <= D).then_some(moved + n.abs()),
        Step::Align(n) => (moved + n <= D).then_some(moved + n),
        Step::Touch(distance, _) => (distance.abs() <= T).then_some(0),
        Step::Probe | Step::Call => Some(0),
        Step::Maybe(..) | Step::Label | Step::Trap => Some(moved),
        Step::Branch | Step::Slot => (moved == 0).then_some(0),
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
        let safe = all().try_fold(ANYWHERE, Interval::after).is_some();
        let by_rule = all().try_fold(0, rule).is_some();
        self.sequences += 1;
        self.accepted += u64::from(accepted);
        if accepted != by_rule || accepted && !safe {
            self.violate(|| {
                format!("accepted {accepted}, rule {by_rule}, safe {safe}: {:?}", all().collect::<Vec<_>>())
            });
        }
    }

    /// The guards' width, for every legal touch and every legal operand after a change of D in either direction.
    fn guards(&mut self, one_in: u64) {
        for touch in (-T..=T).step_by(one_in as usize) {
            let at = ANYWHERE.accessed(touch, 1);
            let ends = [at.low - D, at.high + D];
            for distance in -D..=D {
                let inside = ends.iter().all(|rsp| rsp + distance >= 0 && rsp + distance + A <= SLOT);
                // And `call` and `ret` of the same place.
                let control = ends.iter().all(|rsp| rsp - 8 >= 0 && rsp + 8 <= SLOT);
                self.pairs += 1;
                if !inside || !control {
                    self.violate(|| format!("touch at {touch}, operand at {distance}"));
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
