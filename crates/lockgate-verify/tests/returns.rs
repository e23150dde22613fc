//! The theorem of docs/returns.md, tried: programs that the verifier accepts run on a model of a control stack, whose adversary
//! rewrites every word below rsp after each step, wants rsp anywhere, takes branches as it likes and resumes where it may. Each `ret`
//! must pop the word that its own `call` pushed, and the report's table must lead from each return site to the word that is next.
//!
//! Programs are mostly right: a few of their numbers, targets and notes are wrong, and it is for the verifier to say which matter.

mod support;

use lockgate_abi::{gate, window};
use lockgate_verify::{Frames, Module, State, verify};
use std::collections::BTreeMap;
use support::{Placement, module};

const RUNS: u64 = 12;
const STEPS: u64 = 250;
/// Image address of the code.
const TEXT: u64 = 0x1000;

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        (!from.is_empty()).then(|| from[self.below(from.len())])
    }
}

/// What stands at one place of a program; targets are numbers of places.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Op {
    Label,
    Nop,
    /// Adds to rsp.
    Shift(i32),
    /// U2; its branch, and otherwise the next place.
    Open(usize),
    Close(i32),
    Call(usize),
    /// U1.
    CallLabel,
    JumpLabel,
    Branch(usize),
    Jump(usize),
    Return,
    Int3,
    Ud2,
    Resume,
}

impl Op {
    /// The bytes, and where in them is the distance to the target that it has.
    fn bytes(self) -> (Vec<u8>, Option<usize>) {
        let hex = support::bytes;
        let gate = |slot: u64| {
            [&[0x65, 0xff, 0x14, 0x25][..], &(window::GATE_TABLE as u32 + 8 * slot as u32).to_le_bytes()]
                .concat()
        };
        // U1 with its jne to the trap, which every program ends with.
        let checked = |last: u8| {
            let unit = "6567448b184181c30df0e1050f85000000004189c365674c031c250800010041ff";
            [hex(unit), vec![last]].concat()
        };
        match self {
            Op::Label => (hex("f30f1efa"), None),
            Op::Nop => (hex("90"), None),
            Op::Shift(by) if by % 16 == 0 => ([&hex("488da424")[..], &by.to_le_bytes()].concat(), None),
            Op::Shift(by) => ([&hex("4881c4")[..], &by.to_le_bytes()].concat(), None),
            Op::Open(_) => (hex("4931e34181e3f8ffff004931e34939e30f87000000004c87dc4c891c24"), Some(18)),
            Op::Close(d) => ([&hex("488ba424")[..], &d.to_le_bytes()].concat(), None),
            Op::Call(_) => (hex("e800000000"), Some(1)),
            Op::CallLabel => (checked(0xd3), Some(14)),
            Op::JumpLabel => (checked(0xe3), Some(14)),
            Op::Branch(_) => (hex("0f8500000000"), Some(2)),
            Op::Jump(_) => (hex("e900000000"), Some(1)),
            Op::Return => (hex("c3"), None),
            Op::Int3 => (hex("cc"), None),
            Op::Ud2 => (hex("0f0b"), None),
            Op::Resume => (gate(gate::RESUME), None),
        }
    }

    fn ends(self) -> bool {
        matches!(self, Op::JumpLabel | Op::Jump(_) | Op::Return | Op::Ud2)
    }
}

struct Program {
    ops: Vec<Op>,
    /// Image address of each place.
    addresses: Vec<u64>,
    module: Module,
}

impl Program {
    /// One with few mistakes. It ends with `ud2`.
    fn new(random: &mut Random) -> Program {
        let mistakes = random.pick(&[12, 40, 1_000_000, 1_000_000]).unwrap_or_default();
        // It calls places that are as the caller is, which is right where frames begin, and nowhere else.
        let trusting = random.one_in(8);
        let count = 12 + random.below(40);
        let mut states = vec![State::ENTRY];
        let mut seen = vec![State::ENTRY];
        let mut notes: BTreeMap<usize, State> = BTreeMap::new();
        let mut ops = Vec::new();
        while ops.len() < count {
            let state = states[ops.len()];
            let (op, next) = Program::op(random, state, mistakes);
            let mut next = next;
            ops.push(op);
            if op.ends() {
                next = if random.one_in(2) { State::ENTRY } else { random.pick(&seen).unwrap() };
                if next != State::ENTRY || random.one_in(8) {
                    let wrong = State::S { o: 8 * random.below(4) as u32 };
                    notes.insert(ops.len(), if random.one_in(mistakes) { wrong } else { next });
                }
            }
            states.push(next);
            seen.push(next);
        }
        ops.push(Op::Ud2);
        let end = count;
        let targets = |state: State| -> Vec<usize> { (0..end).filter(|&i| states[i] == state).collect() };
        for i in 0..ops.len() {
            let any = random.below(end + 1);
            let to = |random: &mut Random, state: State| match random.one_in(mistakes) {
                true => any,
                false => random.pick(&targets(state)).filter(|_| !random.one_in(10)).unwrap_or(end),
            };
            ops[i] = match ops[i] {
                Op::Open(_) => Op::Open(to(random, states[i])),
                Op::Branch(_) => Op::Branch(to(random, states[i])),
                Op::Jump(_) => Op::Jump(to(random, states[i])),
                Op::Call(_) => {
                    let inside = trusting || random.one_in(mistakes);
                    Op::Call(to(random, if inside { states[i] } else { State::ENTRY }))
                }
                op => op,
            };
        }
        Program::assemble(ops, notes)
    }

    /// Something that may stand in `state`, mostly, and the state behind it if it is right.
    fn op(random: &mut Random, state: State, mistakes: usize) -> (Op, State) {
        let wrong = random.one_in(mistakes);
        let depth = state.depth() as i32;
        let by = |change: i32| match state {
            State::S { o } => State::S { o: (o as i32 - change).max(0) as u32 },
            State::C { b, d } => State::C { b, d: (d as i32 - change).max(0) as u32 },
        };
        let at_entry = state == State::ENTRY || wrong;
        match (random.below(16), state) {
            (0, _) if at_entry => (Op::Label, State::ENTRY),
            (1, _) if at_entry => (Op::Return, state),
            (2, _) if at_entry => (Op::JumpLabel, state),
            (3 | 4, _) => {
                let change = -8 * (1 + random.below(3) as i32);
                (Op::Shift(change), by(change))
            }
            (5 | 6, _) if depth > 0 || wrong => {
                let most = if wrong { 4 } else { depth as usize / 8 };
                let change = 8 * (1 + random.below(most) as i32);
                (Op::Shift(change), by(change))
            }
            (7 | 8, State::S { o }) if o > 0 || wrong => (Op::Open(0), State::C { b: o, d: 0 }),
            (9, State::C { b, d }) => {
                let (d, o) = match (wrong, random.below(2)) {
                    (false, _) => (d as i32, b),
                    (true, 0) => (8 * random.below(4) as i32, b),
                    (true, _) => (d as i32, 8 * random.below(4) as u32),
                };
                (Op::Close(d), State::S { o })
            }
            (9, State::S { o }) if wrong => (Op::Close(8 * random.below(3) as i32), State::S { o }),
            (10, _) => (Op::Call(0), state),
            (11, _) => (Op::CallLabel, state),
            (12, _) => (Op::Branch(0), state),
            (13, _) if random.one_in(2) => (Op::Jump(0), state),
            (14, _) if random.one_in(4) => (Op::Ud2, state),
            (14, _) if random.one_in(3) => (Op::Resume, state),
            (15, _) if random.one_in(2) => (Op::Int3, state),
            _ => (Op::Nop, state),
        }
    }

    fn assemble(ops: Vec<Op>, notes: BTreeMap<usize, State>) -> Program {
        let mut code = Vec::new();
        let mut addresses = Vec::new();
        let mut fixes = Vec::new();
        for op in &ops {
            addresses.push(TEXT + code.len() as u64);
            let (bytes, distance) = op.bytes();
            let target = match *op {
                Op::Open(to) | Op::Call(to) | Op::Branch(to) | Op::Jump(to) => to,
                _ => ops.len() - 1,
            };
            fixes.extend(distance.map(|distance| (code.len() + distance, target)));
            code.extend(bytes);
        }
        for (at, target) in fixes {
            let distance = addresses[target] as i64 - (TEXT as i64 + at as i64 + 4);
            code[at..at + 4].copy_from_slice(&(distance as i32).to_le_bytes());
        }
        let states = notes.into_iter().map(|(place, state)| (addresses[place], state)).collect();
        let module = Module { states, ..module(&code, Placement::Followed) };
        Program { ops, addresses, module }
    }
}

/// A control stack, what is known of it that the program cannot change, and the adversary.
struct Machine<'a> {
    program: &'a Program,
    frames: &'a Frames,
    random: Random,
    rsp: u64,
    /// From [`LOW`] to [`TOP`].
    words: Vec<u64>,
    labels: Vec<usize>,
    /// Return words that are still to be popped: where they were pushed, and what they say.
    live: Vec<(u64, u64)>,
    pushed: u64,
    returned: u64,
}

const TOP: u64 = 0x10_0000;
const LOW: u64 = TOP - 0x1000;
/// What marks return words; their low half is a place of the program.
const WORD: u64 = 1 << 63;

impl<'a> Machine<'a> {
    fn new(program: &'a Program, frames: &'a Frames, seed: u64) -> Machine<'a> {
        let exit = WORD;
        let mut words = vec![0; ((TOP - LOW) / 8 + 1) as usize];
        words[((TOP - LOW) / 8) as usize] = exit;
        let labels = (0..program.ops.len()).filter(|&place| program.ops[place] == Op::Label).collect();
        Machine {
            labels,
            program,
            frames,
            random: Random(seed),
            rsp: TOP,
            words,
            live: vec![(TOP, exit)],
            pushed: 0,
            returned: 0,
        }
    }

    /// The word at an address; what is no word of the stack reads as zero.
    fn word(&self, at: u64) -> u64 {
        let number =
            at.checked_sub(LOW).filter(|skip| skip.is_multiple_of(8)).map(|skip| (skip / 8) as usize);
        number.and_then(|number| self.words.get(number)).copied().unwrap_or(0)
    }

    fn set(&mut self, at: u64, word: u64) {
        if let Some(skip) = at.checked_sub(LOW)
            && let Some(place) = self.words.get_mut((skip / 8) as usize)
        {
            *place = word;
        }
    }

    /// Whoever gets to write below rsp: signals, debuggers, other calls.
    fn adversary(&mut self) {
        for at in (self.rsp.saturating_sub(80)..self.rsp).step_by(8) {
            let garbage = match self.random.below(3) {
                0 if !self.live.is_empty() => self.live[self.random.below(self.live.len())].1,
                1 => TOP - 8 * self.random.below(30) as u64,
                _ => 0,
            };
            self.set(at, garbage);
        }
    }

    fn label(&mut self) -> Option<usize> {
        self.random.pick(&self.labels)
    }

    /// Pushes a word to return to `place` with; `false`: the guard stops it.
    fn push(&mut self, place: usize) -> bool {
        self.rsp -= 8;
        self.pushed += 1;
        let word = WORD | self.pushed << 32 | place as u64;
        self.set(self.rsp, word);
        self.live.push((self.rsp, word));
        self.rsp > LOW
    }

    /// The word that the table says is the next to be popped, behind a call that ended at `place`.
    fn entry(&self, place: usize) -> Option<u64> {
        match self.frames.at(self.program.addresses[place])? {
            State::S { o } => Some(self.rsp + u64::from(o)),
            State::C { b, d } => self.word(self.rsp + u64::from(d)).checked_add(b.into()),
        }
    }

    /// Runs from some label. `Err`: what was broken.
    fn run(&mut self) -> Result<u64, String> {
        let Some(mut place) = self.label() else { return Ok(0) };
        for step in 0..STEPS {
            let next = place + 1;
            place = match self.program.ops[place] {
                Op::Label | Op::Nop | Op::Int3 => next,
                Op::Shift(by) => {
                    self.rsp = self.rsp.wrapping_add_signed(by.into());
                    next
                }
                Op::Open(away) => {
                    let wanted = self.rsp - 32 + 8 * self.random.below(9) as u64;
                    if wanted > self.rsp {
                        away
                    } else {
                        let old = std::mem::replace(&mut self.rsp, wanted);
                        self.adversary();
                        self.set(self.rsp, old);
                        next
                    }
                }
                Op::Close(d) => {
                    self.rsp = self.word(self.rsp.wrapping_add_signed(d.into()));
                    if !(LOW..=TOP).contains(&self.rsp) {
                        return Err(format!("rsp is {:#x} behind place {place}", self.rsp));
                    }
                    next
                }
                Op::Call(to) => {
                    if !self.push(next) {
                        return Ok(step);
                    }
                    to
                }
                Op::CallLabel => {
                    let Some(label) = self.label().filter(|_| self.push(next)) else { return Ok(step) };
                    label
                }
                Op::JumpLabel => match self.label() {
                    Some(label) => label,
                    None => return Ok(step),
                },
                Op::Branch(to) => {
                    if self.random.one_in(2) {
                        to
                    } else {
                        next
                    }
                }
                Op::Jump(to) => to,
                Op::Return => {
                    let popped = (self.rsp, self.word(self.rsp));
                    let own = self.live.pop();
                    if own != Some(popped) {
                        return Err(format!("ret at place {place} pops {popped:x?}, not {own:x?}"));
                    }
                    self.returned += 1;
                    let Some(&(entry, _)) = self.live.last() else { return Ok(step) };
                    self.rsp += 8;
                    let site = (popped.1 & 0xffff_ffff) as usize;
                    if self.entry(site) != Some(entry) {
                        return Err(format!(
                            "the table says {:x?} behind place {site}, not {entry:#x}",
                            self.entry(site)
                        ));
                    }
                    site
                }
                Op::Ud2 => return Ok(step),
                Op::Resume => {
                    let Some(label) = self.label() else { return Ok(step) };
                    let kept = 1 + self.random.below(self.live.len());
                    self.live.truncate(kept);
                    self.rsp = self.live[kept - 1].0;
                    label
                }
            };
            if self.rsp < LOW {
                return Ok(step);
            }
            if self.rsp > TOP {
                return Err(format!("rsp is {:#x} before place {place}", self.rsp));
            }
            self.adversary();
        }
        Ok(STEPS)
    }
}

#[test]
fn each_return_pops_its_own_word() {
    try_programs(0..10_000);
}

/// 10^8 steps.
#[test]
#[ignore = "minutes"]
fn each_return_pops_its_own_word_for_long() {
    try_programs(10_000..180_000);
}

fn try_programs(numbers: std::ops::Range<u64>) {
    let programs = numbers.end - numbers.start;
    let (mut accepted, mut refused, mut steps, mut returns) = (0, 0, 0, 0);
    for number in numbers {
        let mut random = Random(number);
        let program = Program::new(&mut random);
        let Ok(report) = verify(&program.module) else {
            refused += 1;
            continue;
        };
        accepted += 1;
        for run in 0..RUNS {
            let mut machine = Machine::new(&program, &report.frames, number * RUNS + run);
            match machine.run() {
                Ok(taken) => steps += taken,
                Err(what) => {
                    panic!("program {number}: {what}\n{:?}\n{:?}", program.ops, program.module.states)
                }
            }
            returns += machine.returned;
        }
    }
    println!("{accepted} programs accepted, {refused} refused, {steps} steps, {returns} returns");
    assert!(accepted > programs / 3 && refused > programs / 10, "{accepted} accepted, {refused} refused");
    assert!(steps > 20 * accepted && returns > accepted, "{steps} steps, {returns} returns");
}
