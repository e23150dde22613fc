//! The note of states (`lockgate_abi::note::STATES`) for a linked text: where rsp is at the start of each region of code that no label
//! begins, derived from the code itself. The verifier checks the result; what cannot be derived is left out, and refused there.

use std::collections::HashMap;

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};
use lockgate_abi::code::LABEL;

use crate::leb128::push_uleb;

/// Where rsp is, in the terms of rule V3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// S(o).
    Constant(i64),
    /// C(b, d).
    Computed(i64, i64),
}

const ENTRY: State = State::Constant(0);

/// What a unit does that matters here.
enum Unit {
    Other,
    /// rsp moves.
    Move(i64),
    Open,
    Close,
    Branch(usize),
    Jump(usize),
    Call(usize),
    /// The jump of unit U4: offsets of its cases.
    Switch(Vec<usize>),
    /// Control does not go on.
    End,
}

/// The descriptor of the note for `text`, code at image-relative address 0. `word`: reads four bytes of the image.
pub fn states(text: &[u8], word: impl Fn(u64) -> Option<i32>) -> Vec<u8> {
    let mut scan = Scan::of(text, &word);
    scan.run();
    scan.note()
}

struct Scan {
    /// By instruction: its offset.
    starts: Vec<u32>,
    units: HashMap<u32, Unit>,
    /// By instruction: where rsp is before it, as far as it is known.
    before: Vec<Option<State>>,
    labels: Vec<bool>,
    work: Vec<u32>,
}

impl Scan {
    fn of(text: &[u8], word: &impl Fn(u64) -> Option<i32>) -> Scan {
        let mut scan = Scan {
            starts: Vec::with_capacity(text.len() / 4),
            units: HashMap::new(),
            before: Vec::new(),
            labels: Vec::new(),
            work: Vec::new(),
        };
        let mut decoder = Decoder::new(64, text, DecoderOptions::NONE);
        // The instructions before the present one, for unit U4.
        let mut last = [Instruction::default(); 5];
        let mut code = Instruction::default();
        while decoder.can_decode() {
            decoder.decode_out(&mut code);
            let number = scan.starts.len() as u32;
            let at = code.ip() as usize;
            scan.starts.push(code.ip() as u32);
            scan.labels.push(text[at..].starts_with(&LABEL));
            let unit = unit(&code, &text[at..code.next_ip() as usize], &last, word);
            if !matches!(unit, Unit::Other) {
                scan.units.insert(number, unit);
            }
            last.rotate_left(1);
            last[4] = code;
        }
        scan.before = vec![None; scan.starts.len()];
        scan
    }

    fn run(&mut self) {
        let calls = self.units.values().filter_map(|unit| match unit {
            Unit::Call(target) => Some(*target),
            _ => None,
        });
        let calls: Vec<usize> = calls.collect();
        self.arrive(0, ENTRY);
        for number in 0..self.starts.len() {
            if self.labels[number] {
                self.arrive(number, ENTRY);
            }
        }
        for target in calls {
            self.branch(target, ENTRY);
        }
        self.follow_all();
        for number in 1..self.starts.len() {
            if self.begins_region(number) && self.before[number].is_none() {
                self.arrive(number, self.led_to(number));
                self.follow_all();
            }
        }
    }

    fn follow_all(&mut self) {
        while let Some(number) = self.work.pop() {
            self.follow(number as usize);
        }
    }

    /// Control does not go on from the instruction before this one, and this one is no label.
    fn begins_region(&self, number: usize) -> bool {
        let ends =
            matches!(self.units.get(&(number as u32 - 1)), Some(Unit::Jump(_) | Unit::Switch(_) | Unit::End));
        ends && !self.labels[number]
    }

    /// The state of a region that nothing branches to: padding has that of what it leads to, a function that nothing calls its own.
    fn led_to(&self, number: usize) -> State {
        let region = (number..self.starts.len()).take_while(|&at| {
            at == number || matches!(self.units.get(&(at as u32 - 1)), None | Some(Unit::Other))
        });
        region.map(|at| self.before[at]).find(Option::is_some).flatten().unwrap_or(ENTRY)
    }

    fn arrive(&mut self, number: usize, state: State) {
        if let Some(before @ None) = self.before.get_mut(number) {
            *before = Some(state);
            self.work.push(number as u32);
        }
    }

    fn branch(&mut self, target: usize, state: State) {
        if let Ok(number) = self.starts.binary_search(&(target as u32)) {
            self.arrive(number, state);
        }
    }

    fn follow(&mut self, mut number: usize) {
        let mut state = self.before[number].expect("control arrives here");
        loop {
            match self.units.get(&(number as u32)) {
                None | Some(Unit::Other | Unit::Call(_)) => (),
                Some(&Unit::Move(by)) => {
                    state = match state {
                        State::Constant(o) => State::Constant(o - by),
                        State::Computed(b, d) => State::Computed(b, d - by),
                    }
                }
                Some(Unit::Open) => {
                    if let State::Constant(o) = state {
                        state = State::Computed(o, 0);
                    }
                }
                Some(Unit::Close) => {
                    if let State::Computed(b, _) = state {
                        state = State::Constant(b);
                    }
                }
                Some(&Unit::Branch(target)) => self.branch(target, state),
                Some(&Unit::Jump(target)) => return self.branch(target, state),
                Some(Unit::Switch(cases)) => {
                    for case in cases.clone() {
                        self.branch(case, state);
                    }
                    return;
                }
                Some(Unit::End) => return,
            }
            number += 1;
            match self.before.get_mut(number) {
                Some(before @ None) => *before = Some(state),
                _ => return,
            }
        }
    }

    fn note(&self) -> Vec<u8> {
        let mut note = Vec::new();
        let mut previous = 0;
        for number in 1..self.starts.len() {
            if !self.begins_region(number) {
                continue;
            }
            let Some(state) = self.before[number].filter(|&state| state != ENTRY && is_valid(state)) else {
                continue;
            };
            let at = self.starts[number];
            push_uleb(&mut note, u64::from(at - previous));
            previous = at;
            match state {
                State::Constant(o) => push_uleb(&mut note, 2 * (o as u64 / 8)),
                State::Computed(b, d) => {
                    push_uleb(&mut note, 2 * (b as u64 / 8) + 1);
                    push_uleb(&mut note, d as u64 / 8);
                }
            }
        }
        note
    }
}

fn is_valid(state: State) -> bool {
    let fits = |bytes: i64| bytes % 8 == 0 && (0..=lockgate_abi::stack::SLOT as i64).contains(&bytes);
    match state {
        State::Constant(o) => fits(o),
        State::Computed(b, d) => fits(b) && b > 0 && fits(d),
    }
}

fn unit(
    code: &Instruction,
    bytes: &[u8],
    last: &[Instruction; 5],
    word: &impl Fn(u64) -> Option<i32>,
) -> Unit {
    match code.flow_control() {
        FlowControl::Next => (),
        FlowControl::ConditionalBranch | FlowControl::XbeginXabortXend => {
            return Unit::Branch(code.near_branch64() as usize);
        }
        FlowControl::UnconditionalBranch => return Unit::Jump(code.near_branch64() as usize),
        FlowControl::Call => return Unit::Call(code.near_branch64() as usize),
        FlowControl::IndirectCall => return Unit::Other,
        FlowControl::Interrupt if code.mnemonic() == Mnemonic::Int3 => return Unit::Other,
        FlowControl::IndirectBranch => return cases(code, last, word).map_or(Unit::End, Unit::Switch),
        _ => return Unit::End,
    }
    let is_rsp = |operand: u32| {
        code.op_count() > operand
            && code.op_kind(operand) == OpKind::Register
            && code.op_register(operand) == Register::RSP
    };
    match code.code() {
        Code::Add_rm64_imm8 | Code::Add_rm64_imm32 if is_rsp(0) => Unit::Move(code.immediate(1) as i64),
        Code::Sub_rm64_imm8 | Code::Sub_rm64_imm32 if is_rsp(0) => Unit::Move(-(code.immediate(1) as i64)),
        Code::Lea_r64_m if is_rsp(0) => Unit::Move(code.memory_displacement64() as i64),
        Code::Mov_r64_rm64 if is_rsp(0) => Unit::Close,
        Code::Xchg_rm64_r64 if bytes == [0x4c, 0x87, 0xdc] => Unit::Open,
        _ => Unit::Other,
    }
}

/// The cases of unit U4 that ends with `jump`: `cmp $n,%rI; ja; lea tab(%rip),%rB; movslq; add; jmp`.
fn cases(
    jump: &Instruction,
    last: &[Instruction; 5],
    word: &impl Fn(u64) -> Option<i32>,
) -> Option<Vec<usize>> {
    let [compare, _, table, load, add] = last;
    let is_switch = jump.op0_kind() == OpKind::Register
        && compare.mnemonic() == Mnemonic::Cmp
        && compare.op1_kind() != OpKind::Register
        && table.mnemonic() == Mnemonic::Lea
        && table.is_ip_rel_memory_operand()
        && load.mnemonic() == Mnemonic::Movsxd
        && add.mnemonic() == Mnemonic::Add;
    if !is_switch {
        return None;
    }
    let table = table.ip_rel_memory_address();
    let case = |entry: u64| Some(table.wrapping_add_signed(word(table + 4 * entry)?.into()) as usize);
    (0..=compare.immediate(1)).map(case).collect()
}
