//! Programs that are mostly right: a few of their numbers, targets and notes are wrong, and it is for the verifier to say which matter.
use crate::support::{Placement, module};
use lockgate_abi::{gate, window};
use lockgate_verify::{Module, State};
use std::collections::BTreeMap;
use support::Random;

/// Image addresses of the code, and of the tables.
const TEXT: u64 = 0x1000;
const TABLES: u64 = 0x2100;
/// Tables of a program, and entries of each.
const TABLE_COUNT: usize = 2;
const ENTRIES: usize = 2;
/// The constants' place in [`module`]'s image.
const CONSTANTS: (usize, u64) = (1, 0x2000);

/// What stands at one place of a program; targets are numbers of places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
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
    /// U4: through this table, or to this place.
    Switch(usize, usize),
    Return,
    Int3,
    Ud2,
    Resume,
    /// The gate of system calls, behind which the host does what it may: it comes back, calls the domain again, or goes on in another context.
    Gate,
}

impl Op {
    /// The bytes, and where in them is the distance to the target that it has.
    fn bytes(self) -> (Vec<u8>, Option<usize>) {
        let hex = crate::support::bytes;
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
            Op::Switch(..) => (hex("4883f8010f8700000000488d0d00000000486314814801caffe2"), Some(6)),
            Op::Return => (hex("c3"), None),
            Op::Int3 => (hex("cc"), None),
            Op::Ud2 => (hex("0f0b"), None),
            Op::Resume => (gate(gate::RESUME), None),
            Op::Gate => (gate(gate::SYSCALL), None),
        }
    }

    fn ends(self) -> bool {
        matches!(self, Op::JumpLabel | Op::Jump(_) | Op::Switch(..) | Op::Return | Op::Ud2)
    }

    /// Where in the bytes of a [`Op::Switch`] the distance of its table is, from behind that.
    const TABLE_AT: usize = 13;
}

/// A rule of the verifier's that a program goes by as if it were not there: in some programs the mistake has to be made again and again, or
/// a verifier without the rule is not found out.
#[derive(Clone, Copy, PartialEq)]
enum Habit {
    /// Calls lead to places that are as the caller is, which is right where frames begin, and nowhere else.
    CallsInside,
    /// Switches use any table, which is right where both have one state.
    SharedTables,
    /// Frames are opened at E, too.
    OpensAtEntry,
    /// Close loads any word.
    ClosesAnywhere,
    /// Close leads to E.
    ClosesToEntry,
    /// rsp rises above E, and above frame words.
    Rises,
    /// `int3` ends a way.
    EndsByInt3,
    /// Labels stand anywhere.
    LabelsInside,
}

const HABITS: [Habit; 8] = [
    Habit::CallsInside,
    Habit::SharedTables,
    Habit::OpensAtEntry,
    Habit::ClosesAnywhere,
    Habit::ClosesToEntry,
    Habit::Rises,
    Habit::EndsByInt3,
    Habit::LabelsInside,
];

pub struct Program {
    pub ops: Vec<Op>,
    /// Image address of each place.
    pub addresses: Vec<u64>,
    /// Where switches go to.
    pub tables: [[usize; ENTRIES]; TABLE_COUNT],
    pub module: Module,
}

impl Program {
    /// One with few mistakes. It ends with `ud2`.
    pub fn new(random: &mut Random) -> Program {
        let mistakes = random.pick(&[12, 40, 1_000_000, 1_000_000]).unwrap_or_default();
        let habit = HABITS.get(random.below(2 * HABITS.len())).copied();
        let has = |which| habit == Some(which);
        let count = 12 + random.below(40);
        let mut states = vec![State::ENTRY];
        let mut seen = vec![State::ENTRY];
        let mut notes: BTreeMap<usize, State> = BTreeMap::new();
        let mut ops = Vec::new();
        while ops.len() < count {
            let state = states[ops.len()];
            let (op, next) = Program::op(random, state, mistakes, habit);
            let mut next = next;
            ops.push(op);
            if op.ends() || op == Op::Int3 && has(Habit::EndsByInt3) {
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
        let mut tables = [[end; ENTRIES]; TABLE_COUNT];
        let mut states_of_tables = [None; TABLE_COUNT];
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
                Op::Switch(table, _) => {
                    let used = states_of_tables[table];
                    if used.is_none() {
                        states_of_tables[table] = Some(states[i]);
                        tables[table] = [(); ENTRIES].map(|()| to(random, states[i]));
                    }
                    let is_right = used.is_none_or(|state| state == states[i]);
                    match is_right || has(Habit::SharedTables) || random.one_in(mistakes) {
                        true => Op::Switch(table, to(random, states[i])),
                        false => Op::Jump(to(random, states[i])),
                    }
                }
                Op::Call(_) => {
                    let inside = has(Habit::CallsInside) || random.one_in(mistakes);
                    Op::Call(to(random, if inside { states[i] } else { State::ENTRY }))
                }
                op => op,
            };
        }
        Program::assemble(ops, tables, notes)
    }

    /// Something that may stand in `state`, mostly, and the state behind it if it is right.
    fn op(random: &mut Random, state: State, mistakes: usize, habit: Option<Habit>) -> (Op, State) {
        let wrong = random.one_in(mistakes);
        let has = |which| habit == Some(which);
        let depth = state.depth() as i32;
        let by = |change: i32| match state {
            State::S { o } => State::S { o: (o as i32 - change).max(0) as u32 },
            State::C { b, d } => State::C { b, d: (d as i32 - change).max(0) as u32 },
        };
        let at_entry = state == State::ENTRY || wrong;
        match (random.below(16), state) {
            (0, _) if at_entry || has(Habit::LabelsInside) => (Op::Label, state),
            (1, _) if at_entry => (Op::Return, state),
            (2, _) if at_entry => (Op::JumpLabel, state),
            (3 | 4, _) => {
                let change = -8 * (1 + random.below(3) as i32);
                (Op::Shift(change), by(change))
            }
            (5 | 6, _) if depth > 0 || wrong || has(Habit::Rises) => {
                let most = if wrong || has(Habit::Rises) { 4 } else { depth as usize / 8 };
                let change = 8 * (1 + random.below(most) as i32);
                (Op::Shift(change), by(change))
            }
            (7 | 8, State::S { o }) if o > 0 || wrong || has(Habit::OpensAtEntry) => {
                (Op::Open(0), State::C { b: o, d: 0 })
            }
            (9, State::C { b, d }) => {
                let (d, o) = match (wrong, random.below(2)) {
                    (false, _) if has(Habit::ClosesAnywhere) => (8 * random.below(4) as i32, b),
                    (false, _) if has(Habit::ClosesToEntry) => (d as i32, 0),
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
            (13, _) => (Op::Switch(random.below(TABLE_COUNT), 0), state),
            (14, _) if random.one_in(4) => (Op::Ud2, state),
            (14, _) if random.one_in(3) => (Op::Resume, state),
            (14, _) => (Op::Gate, state),
            (15, _) if random.one_in(2) => (Op::Int3, state),
            _ => (Op::Nop, state),
        }
    }

    fn assemble(
        ops: Vec<Op>,
        tables: [[usize; ENTRIES]; TABLE_COUNT],
        notes: BTreeMap<usize, State>,
    ) -> Program {
        let mut code = Vec::new();
        let mut addresses = Vec::new();
        let mut fixes = Vec::new();
        for op in &ops {
            addresses.push(TEXT + code.len() as u64);
            let (bytes, distance) = op.bytes();
            let target = match *op {
                Op::Open(to) | Op::Call(to) | Op::Branch(to) | Op::Jump(to) | Op::Switch(_, to) => to,
                _ => ops.len() - 1,
            };
            fixes.extend(distance.map(|distance| (code.len() + distance, target)));
            let at = code.len() + Op::TABLE_AT;
            code.extend(bytes);
            if let Op::Switch(table, _) = *op {
                let distance = table_address(table) as i64 - (TEXT as i64 + at as i64 + 4);
                code[at..at + 4].copy_from_slice(&(distance as i32).to_le_bytes());
            }
        }
        for (at, target) in fixes {
            let distance = addresses[target] as i64 - (TEXT as i64 + at as i64 + 4);
            code[at..at + 4].copy_from_slice(&(distance as i32).to_le_bytes());
        }
        let states = notes.into_iter().map(|(place, state)| (addresses[place], state)).collect();
        let mut module = Module { states, ..module(&code, Placement::Followed) };
        let constants = &mut module.segments[CONSTANTS.0];
        assert_eq!(constants.address, CONSTANTS.1, "the constants");
        for (number, table) in tables.iter().enumerate() {
            let address = table_address(number);
            let entries = table.iter().map(|&to| (addresses[to] as i64 - address as i64) as i32);
            let bytes: Vec<u8> = entries.flat_map(i32::to_le_bytes).collect();
            let at = (address - CONSTANTS.1) as usize;
            constants.bytes[at..at + bytes.len()].copy_from_slice(&bytes);
        }
        Program { ops, addresses, tables, module }
    }
}

fn table_address(number: usize) -> u64 {
    TABLES + (number * ENTRIES * 4) as u64
}
