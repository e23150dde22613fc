//! Where the original's rsp is before each instruction (rule V3), by data flow over a whole object.
//!
//! `E` is rsp at a function's entry. Mostly rsp is E minus a constant; where it is computed, the *frame word*, on the control stack
//! at or above rsp, holds E - 8 ([`FRAME`]). Frames with a frame pointer and a constant size stay constant: the analysis knows of registers
//! which of them hold E minus a constant.
//!
//! Nothing is guessed about rsp: what comes from memory makes the frame a computed one, whose rsp is the original's whatever that is. Only
//! where control leaves the function rsp has to be E again, as it is in all code that works, and is compared with it.
//!
//! This file follows control; `frames/step.rs` says what one instruction does.

mod step;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind};

use crate::code::{Code, CodePlace, Key, Through, is_relative};
use crate::decode::{Ins, Text, is_rsp, mark, memory_operand};
use crate::elf::Object;
use crate::encode::Reg;
use crate::landing::Pads;
use crate::liveness::Liveness;
use crate::stack::{Plan, effect};
use crate::switch::Switch;

/// What frame words hold: E minus this. Every computed frame begins at one place, so that all ways agree, and values of rsp may be
/// anything that a function can have in its frame.
pub(crate) const FRAME: i32 = 8;

/// Where rsp is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// E minus this.
    Constant(i32),
    /// Computed; the frame word lies this far above it.
    Computed(i32),
}

pub(crate) const ENTRY: State = State::Constant(0);

impl State {
    /// The state after rsp has moved by `by`.
    pub(crate) fn moved(self, by: i32) -> State {
        match self {
            State::Constant(o) => State::Constant(o.wrapping_sub(by)),
            State::Computed(d) => State::Computed(d.wrapping_sub(by)),
        }
    }

    /// Bytes up to the nearest word that is mapped for certain.
    pub(crate) fn depth(self) -> i32 {
        match self {
            State::Constant(o) | State::Computed(o) => o,
        }
    }

    /// As it is at branches and labels: rsp is not above a frame word.
    fn settled(self) -> State {
        match self {
            State::Computed(d) => State::Computed(d.max(0)),
            constant => constant,
        }
    }

    fn meets(self, other: State) -> State {
        match (self, other) {
            _ if self == other => self,
            (State::Constant(_), State::Constant(_)) | (State::Computed(_), State::Computed(_)) => {
                State::Computed(0)
            }
            // Where the frame word would lie above what is on the stack, it goes to rsp.
            (State::Computed(d), State::Constant(o)) | (State::Constant(o), State::Computed(d)) => {
                State::Computed(if o >= d + FRAME { d } else { 0 })
            }
        }
    }
}

/// What becomes of an instruction that sets rsp to something else than a constant distance from where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Set {
    /// It is E minus this afterwards.
    Constant(i32),
    /// The same, because the run of code that it is in leaves the function; compared with what the original sets it to.
    Leaves(i32),
    /// Computed.
    Computed,
    /// The run sets rsp once more before it uses it.
    Unused,
    /// The run ends with an indirect jump: control goes on in another frame (`__builtin_longjmp`).
    Resumes,
}

/// What the rewriter has to know of one code section.
#[derive(Debug, Default)]
pub(crate) struct TextFrames {
    /// By instruction: where rsp is before it; None where control does not come.
    pub(crate) before: Vec<Option<State>>,
    /// Instructions that control does not go on from, although they are no jumps: calls that do not return, mostly.
    pub(crate) stops: HashSet<u32>,
    pub(crate) sets: HashMap<u32, Set>,
    /// Probing loops that move rsp by a constant, by their first instruction, of [`CLASH_LOOP`]: the sum of the moves.
    pub(crate) loops: HashMap<u32, i32>,
    /// Indirect jumps that stay in the function, and whether they carry rsp to their label ([`crate::branch`]).
    pub(crate) gotos: HashMap<u32, bool>,
    /// The state at jumps of units U4, that of all their cases.
    pub(crate) switches: HashMap<u32, State>,
    /// Labels inside functions that indirect jumps bring rsp to.
    pub(crate) carried: HashSet<u32>,
    /// Starts of runs on the only way out of a function with a computed frame: how far below E the original's rsp has to be there.
    pub(crate) exits: HashMap<u32, i32>,
}

/// By text.
pub(crate) type Frames = Vec<TextFrames>;

/// Instructions of a probing loop of -fstack-clash-protection: `sub $n,%rsp; or $0,(%rsp); cmp %r,%rsp; jne` the first one.
pub(crate) const CLASH_LOOP: usize = 4;

/// Registers that callees keep: rbx, rbp, r12 to r15.
const CALLEE_SAVED: u16 = 1 << 3 | 1 << 5 | 0xf000;

/// Registers that are known to hold E minus a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Registers {
    known: u16,
    below: [i32; 16],
}

impl Registers {
    fn get(&self, reg: Reg) -> Option<i32> {
        (self.known >> reg & 1 != 0).then(|| self.below[usize::from(reg)])
    }

    fn set(&mut self, reg: Reg, below: Option<i32>) {
        self.known &= !(1 << reg);
        if let Some(below) = below {
            self.known |= 1 << reg;
            self.below[usize::from(reg)] = below;
        }
    }

    fn only(mut self, registers: u16) -> Registers {
        self.known &= registers;
        self
    }

    fn meets(mut self, other: &Registers) -> Registers {
        for reg in 0..16 {
            if self.get(reg) != other.get(reg) {
                self.set(reg, None);
            }
        }
        self
    }
}

/// What is known where control arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known {
    state: State,
    registers: Registers,
}

/// What the analysis looks at.
pub(crate) struct Input<'a> {
    pub(crate) code: &'a Code,
    pub(crate) object: &'a Object,
    /// By text.
    pub(crate) tables: &'a [HashMap<u32, Through>],
    pub(crate) switches: &'a [HashMap<u32, Switch>],
    pub(crate) pads: &'a Pads,
}

/// Finds the states. `live`: by text.
pub(crate) fn find(input: &Input<'_>, live: &mut [Liveness]) -> Frames {
    let texts = &input.code.texts;
    let mut first = vec![0];
    for text in texts {
        first.push(first[first.len() - 1] + text.code.len());
    }
    let nodes = first[texts.len()];
    let mut walk = Walk {
        input,
        live,
        groups: Groups::of(input.code, input.object),
        first,
        arrived: vec![None; nodes],
        work: Vec::new(),
        waiting: BTreeMap::new(),
        accepted: HashSet::new(),
        hubs: BTreeMap::new(),
        taken: Vec::new(),
        labels: HashMap::new(),
        jumps: BTreeMap::new(),
        pads: HashMap::new(),
        returning: OnceCell::new(),
        frames: texts.iter().map(|_| TextFrames::default()).collect(),
    };
    walk.run();
    walk.frames
}

/// Functions that belong together, because direct branches lead from the inside of one to that of another: parts of one.
pub(crate) struct Groups {
    /// By text: number of its first part.
    first: Vec<usize>,
    parent: Vec<usize>,
}

impl Groups {
    pub(crate) fn of(code: &Code, object: &Object) -> Groups {
        let exists = |place: &CodePlace| place.1 < code.texts[place.0].code.len();
        let mut first = vec![0];
        for text in &code.texts {
            first.push(first[first.len() - 1] + text.parts.len());
        }
        let mut groups = Groups { parent: (0..first[code.texts.len()]).collect(), first };
        for (number, text) in code.texts.iter().enumerate() {
            for (index, ins) in text.code.iter().enumerate() {
                let is_jump = matches!(
                    ins.code.flow_control(),
                    FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
                );
                if is_jump
                    && ins.is_near_branch()
                    && let Some(target) = code.branch_place(object, number, index)
                    && exists(&target)
                    && !code.has(target, mark::FUNCTION)
                {
                    groups.join(code, (number, index), target);
                }
            }
        }
        for table in code.tables.values() {
            for &place in table.targets.iter().filter(|place| exists(place)) {
                for &owner in &table.owners {
                    groups.join(code, owner, place);
                }
            }
        }
        groups
    }

    fn join(&mut self, code: &Code, one: CodePlace, other: CodePlace) {
        let (one, other) = (self.at(code, one), self.at(code, other));
        self.parent[one.max(other)] = one.min(other);
    }

    /// The group of the function around `place`.
    pub(crate) fn at(&mut self, code: &Code, place: CodePlace) -> usize {
        let mut group = self.first[place.0] + code.texts[place.0].part_of(place.1);
        while self.parent[group] != group {
            self.parent[group] = self.parent[self.parent[group]];
            group = self.parent[group];
        }
        group
    }
}

impl Input<'_> {
    fn ins(&self, place: CodePlace) -> Option<&Ins> {
        self.code.texts[place.0].code.get(place.1)
    }

    /// The instruction at which control is after the padding from `index` on.
    fn behind_padding(&self, number: usize, mut index: usize) -> usize {
        let code = &self.code.texts[number].code;
        while code.get(index).is_some_and(|ins| ins.code.mnemonic() == Mnemonic::Nop && !ins.has(mark::LABEL))
        {
            index += 1;
        }
        index
    }

    fn is_inner_label(&self, place: CodePlace) -> bool {
        self.ins(place).is_some_and(|ins| ins.has(mark::ENTRY) && !ins.has(mark::FUNCTION | mark::INNER))
    }
}

struct Walk<'a, 'b> {
    input: &'a Input<'a>,
    live: &'b mut [Liveness],
    groups: Groups,
    first: Vec<usize>,
    /// By node, an instruction of all: what is known where control arrives other than from the instruction before it.
    arrived: Vec<Option<Known>>,
    work: Vec<CodePlace>,
    /// Calls before labels, which may not return: what is known behind them.
    waiting: BTreeMap<CodePlace, Known>,
    /// Those that do return.
    accepted: HashSet<CodePlace>,
    /// The state at all jumps through a table, and at all its cases; and these.
    hubs: BTreeMap<Key, (Known, BTreeSet<CodePlace>)>,
    /// Labels inside functions whose address code takes, and all that indirect jumps may come to, by group.
    taken: Vec<CodePlace>,
    labels: HashMap<usize, Vec<CodePlace>>,
    /// Indirect jumps by group.
    jumps: BTreeMap<CodePlace, Known>,
    /// What is known at the calls that may end at a landing pad, and whether at one that throws for certain.
    pads: HashMap<CodePlace, (Known, bool)>,
    /// Symbols that come back from calls, when they were asked for.
    returning: OnceCell<HashSet<u32>>,
    frames: Frames,
}

impl Walk<'_, '_> {
    fn run(&mut self) {
        self.taken = self.taken();
        for place in self.inner_labels() {
            self.labels.entry(self.groups.at(self.input.code, place)).or_default().push(place);
        }
        for number in 0..self.input.code.texts.len() {
            for index in 0..self.input.code.texts[number].code.len() {
                if self.input.code.texts[number].code[index].has(mark::FUNCTION) {
                    self.arrive((number, index), &Known { state: ENTRY, registers: Registers::default() });
                }
            }
        }
        loop {
            while let Some(place) = self.work.pop() {
                self.follow(place, false);
            }
            let news = self.meet_cases()
                || self.accept_calls()
                || self.enter_pads()
                || self.follow_jumps()
                || self.enter_labels();
            if !news {
                break;
            }
        }
        for (number, frames) in self.frames.iter_mut().enumerate() {
            let calls = self.waiting.keys().filter(|call| call.0 == number && !self.accepted.contains(call));
            frames.stops.extend(calls.map(|call| call.1 as u32));
            frames.before = vec![None; self.input.code.texts[number].code.len()];
        }
        for number in 0..self.input.code.texts.len() {
            for index in 0..self.input.code.texts[number].code.len() {
                if self.arrived[self.first[number] + index].is_some() {
                    self.follow((number, index), true);
                }
            }
        }
        let carries = self.groups_that_carry();
        for place in self.jumps.clone().into_keys() {
            if self.is_goto(place) {
                let group = self.groups.at(self.input.code, place);
                self.frames[place.0].gotos.insert(place.1 as u32, carries.contains(&group));
            }
        }
        for place in self.inner_labels() {
            let group = self.groups.at(self.input.code, place);
            if carries.contains(&group) {
                self.frames[place.0].carried.insert(place.1 as u32);
            }
        }
    }

    fn node(&self, place: CodePlace) -> usize {
        self.first[place.0] + place.1
    }

    fn inner_labels(&self) -> Vec<CodePlace> {
        let texts = self.input.code.texts.iter().enumerate();
        let places = texts.flat_map(|(number, text)| (0..text.code.len()).map(move |index| (number, index)));
        places.filter(|&place| self.input.is_inner_label(place)).collect()
    }

    /// Groups in which a label that indirect jumps may reach has a computed frame.
    fn groups_that_carry(&mut self) -> BTreeSet<usize> {
        let labels = self.inner_labels();
        let computed =
            |&place: &CodePlace| matches!(self.frames[place.0].before[place.1], Some(State::Computed(_)));
        let labels: Vec<CodePlace> = labels.into_iter().filter(computed).collect();
        labels.into_iter().map(|place| self.groups.at(self.input.code, place)).collect()
    }

    /// Control arrives at `place`.
    fn arrive(&mut self, place: CodePlace, known: &Known) {
        let Some(ins) = self.input.ins(place) else { return };
        let node = self.node(place);
        let known = Known { state: known.state.settled(), ..*known };
        let is_function = ins.has(mark::FUNCTION);
        let met = match &self.arrived[node] {
            // What is inside of the function before sees to it that it comes here with rsp = E, or not at all.
            Some(_) if is_function => return,
            None if is_function => Known { state: ENTRY, registers: Registers::default() },
            None => known,
            Some(before) if ends_all(&ins.code) => *before,
            Some(before) => Known {
                state: before.state.meets(known.state),
                registers: before.registers.meets(&known.registers),
            },
        };
        if self.arrived[node] != Some(met) {
            self.arrived[node] = Some(met);
            self.work.push(place);
        }
    }

    /// Takes the calls before labels for such as return, where that is so: the label has the very state, or a computed one, or none
    /// yet. Says whether there were any.
    fn accept_calls(&mut self) -> bool {
        let calls: Vec<(CodePlace, Known)> =
            self.waiting.iter().map(|(&call, &known)| (call, known)).collect();
        // By function.
        let mut unreached: BTreeMap<(usize, usize), (CodePlace, Known, bool)> = BTreeMap::new();
        let mut found = false;
        for (call, known) in calls {
            if self.accepted.contains(&call) {
                continue;
            }
            let label = (call.0, self.input.behind_padding(call.0, call.1 + 1));
            let Some(ins) = self.input.ins(label) else { continue };
            let there = match self.arrived[self.node(label)] {
                _ if ins.has(mark::FUNCTION) => Some(ENTRY),
                arrived => arrived.map(|arrived| arrived.state),
            };
            let returns = match (known.state.settled(), there) {
                _ if ins.has(mark::PART) => false,
                (_, None) => {
                    let ends = self.ends_program(call);
                    let function = (call.0, self.input.code.texts[call.0].function_of(call.1));
                    let first = unreached.entry(function).or_insert((call, known, ends));
                    if first.2 && !ends {
                        *first = (call, known, ends);
                    }
                    false
                }
                (state, Some(there)) if state == there => true,
                _ if ins.has(mark::FUNCTION) || self.ends_program(call) => false,
                // What has computed a frame does not go on where there is none.
                (State::Computed(_), Some(ENTRY)) => false,
                (State::Constant(_), Some(State::Constant(_))) => {
                    self.is_set_first(label) || self.returns_elsewhere(call)
                }
                _ => true,
            };
            if returns {
                self.accept(call, &known);
                found = true;
            }
        }
        if !found {
            found = !unreached.is_empty();
            for (call, known, _) in unreached.into_values() {
                self.accept(call, &known);
            }
        }
        found
    }

    /// Whether what is called is known by its name not to return.
    fn ends_program(&self, (number, index): CodePlace) -> bool {
        const NAMES: [&[u8]; 10] = [
            b"abort",
            b"exit",
            b"_exit",
            b"_Exit",
            b"longjmp",
            b"__assert_fail",
            b"__stack_chk_fail",
            b"__cxa_throw",
            b"__cxa_rethrow",
            b"_Unwind_Resume",
        ];
        let relocs = self.input.code.texts[number].relocs(self.input.object, index);
        relocs.iter().any(|reloc| NAMES.contains(&&self.input.object.symbols[reloc.symbol as usize].name[..]))
    }

    /// Whether what is called comes back from other calls, behind which code can only go on. Asked in functions with landing pads: clang leaves
    /// arguments of calls on the stack there, of which no table tells, and ways from two pads meet with stacks of different sizes.
    fn returns_elsewhere(&self, call: CodePlace) -> bool {
        let text = &self.input.code.texts[call.0];
        let function = text.function_of(call.1);
        let has_pads = self.pads.keys().any(|pad| pad.0 == call.0 && text.function_of(pad.1) == function);
        let returning = || self.returning.get_or_init(|| self.returning());
        has_pads && self.called(call).is_some_and(|symbol| returning().contains(&symbol))
    }

    /// The symbol that a call names.
    fn called(&self, (number, index): CodePlace) -> Option<u32> {
        let text = &self.input.code.texts[number];
        let is_call = text.code[index].code.flow_control() == FlowControl::Call;
        is_call.then(|| text.relocs(self.input.object, index).first()).flatten().map(|reloc| reloc.symbol)
    }

    /// What is called where no other way leads to the code behind.
    fn returning(&self) -> HashSet<u32> {
        let places = self.input.code.texts.iter().enumerate();
        let calls = places.flat_map(|(number, text)| (0..text.code.len()).map(move |index| (number, index)));
        let returns = |&(number, index): &CodePlace| {
            let behind = self.input.behind_padding(number, index + 1);
            self.input.ins((number, behind)).is_some_and(|next| !next.has(mark::LABEL))
        };
        calls.filter(returns).filter_map(|call| self.called(call)).collect()
    }

    fn accept(&mut self, call: CodePlace, known: &Known) {
        self.accepted.insert(call);
        self.arrive((call.0, call.1 + 1), known);
    }

    /// Lets control come to landing pads. Says whether that was news.
    fn enter_pads(&mut self) -> bool {
        for (place, (known, _)) in self.pads.clone() {
            self.arrive(place, &known);
        }
        !self.work.is_empty()
    }

    /// Lets indirect jumps go to the labels of their groups: those of functions with a frame, and where nothing else comes to a label,
    /// the others, too, most of which leave the function. Says whether that was news.
    fn follow_jumps(&mut self) -> bool {
        let exits = self.exits_of_labels();
        for (jump, known) in self.jumps.clone() {
            if self.is_goto(jump) {
                let group = self.groups.at(self.input.code, jump);
                for label in self.labels.get(&group).cloned().unwrap_or_default() {
                    if exits.get(&label).is_none_or(|&state| state == known.state) {
                        self.arrive(label, &known);
                    }
                }
            }
        }
        if !self.work.is_empty() {
            return true;
        }
        for (jump, known) in self.jumps.clone() {
            let group = self.groups.at(self.input.code, jump);
            for label in self.labels.get(&group).cloned().unwrap_or_default() {
                if self.arrived[self.node(label)].is_none() {
                    self.arrive(label, &known);
                }
            }
        }
        !self.work.is_empty()
    }

    /// The state at labels whose only way on leads out of the function, where an indirect jump of the group has that very state: the jumps
    /// with other frames do not go there (assembly with a table of jumps before its frame, and others inside).
    fn exits_of_labels(&mut self) -> HashMap<CodePlace, State> {
        let mut states: HashMap<usize, Vec<State>> = HashMap::new();
        for (&jump, known) in &self.jumps {
            states.entry(self.groups.at(self.input.code, jump)).or_default().push(known.state);
        }
        states.retain(|_, states| states.iter().any(|state| state != &states[0]));
        let mut exits = HashMap::new();
        for (group, states) in states {
            for &label in self.labels.get(&group).into_iter().flatten() {
                let state = self.way_out(label).map(State::Constant);
                exits.extend(state.filter(|state| states.contains(state)).map(|state| (label, state)));
            }
        }
        exits
    }

    /// Whether indirect jump `place` stays in its function: only such have a frame.
    fn is_goto(&mut self, place: CodePlace) -> bool {
        let group = self.groups.at(self.input.code, place);
        self.jumps[&place].state != ENTRY && self.labels.contains_key(&group)
    }

    /// Labels that nothing comes to: another function jumps there, and brings rsp with it, if any (`__builtin_setjmp`, labels of nested
    /// functions). Says whether there were any.
    fn enter_labels(&mut self) -> bool {
        let known = Known { state: State::Computed(0), registers: Registers::default() };
        for label in self.taken.clone() {
            if self.arrived[self.node(label)].is_none() {
                self.arrive(label, &known);
            }
        }
        !self.work.is_empty()
    }

    /// Labels inside functions whose address code takes.
    fn taken(&self) -> Vec<CodePlace> {
        let input = self.input;
        let mut taken = Vec::new();
        for (number, text) in input.code.texts.iter().enumerate() {
            for (index, ins) in
                text.code.iter().enumerate().filter(|(_, ins)| ins.code.mnemonic() == Mnemonic::Lea)
            {
                let relocs = text.relocs(input.object, index);
                let place = if let Some(reloc) = relocs.iter().find(|reloc| is_relative(reloc.kind)) {
                    let to_end = ins.code.next_ip() as i64 - reloc.offset as i64;
                    let target = input.object.resolve(reloc.symbol, reloc.addend + to_end);
                    target.and_then(|(section, offset)| input.code.place(section, offset).ok().flatten())
                } else if ins.code.is_ip_rel_memory_operand() {
                    text.at(ins.code.ip_rel_memory_address() as i64).map(|target| (number, target))
                } else {
                    None
                };
                taken.extend(place.filter(|&place| input.is_inner_label(place)));
            }
        }
        taken
    }

    /// Follows control from a place that it arrives at. `record`: for the last time.
    fn follow(&mut self, place: CodePlace, record: bool) {
        let (number, mut index) = place;
        let Some(mut known) = self.arrived[self.node(place)] else { return };
        let text = &self.input.code.texts[number];
        let (mut is_start, mut run_end) = (true, index);
        loop {
            if index >= run_end {
                run_end = Plan::run(text, index).end;
            }
            if record {
                self.frames[number].before[index] = Some(known.state);
            }
            if is_start && let Some(below) = self.exit(number, index, &known) {
                known.state = State::Constant(below);
                if record {
                    self.frames[number].exits.insert(index as u32, below);
                }
            }
            is_start = effect(&text.code[index]).ends;
            let ins = &text.code[index];
            let next = index + 1;
            if let Some((by, target)) = self.clash_loop(number, index, &known) {
                if record {
                    self.frames[number].loops.insert(index as u32, by);
                    for inside in 1..CLASH_LOOP {
                        self.frames[number].before[index + inside] = Some(known.state.moved(by));
                    }
                }
                known.state = State::Constant(target);
                index += CLASH_LOOP;
            } else {
                // A run ends here, and rsp catches up with the original's.
                if effect(ins).ends {
                    known.state = known.state.settled();
                }
                let before = known;
                let set = self.apply((number, index), &mut known);
                // Or here.
                if set.is_none() && next == run_end {
                    known.state = known.state.settled();
                }
                if let Some(set) = set.filter(|_| record) {
                    self.frames[number].sets.insert(index as u32, set);
                }
                if !self.flow((number, index), &before, &known, record) {
                    return;
                }
                index = next;
            }
            let Some(ins_there) = text.code.get(index) else {
                if record && !ins.ends_flow() && !joins_next(self.input.object, text) {
                    self.frames[number].stops.insert(index as u32 - 1);
                }
                return;
            };
            if ins_there.has(mark::FUNCTION) {
                if record && known.state.settled() != ENTRY {
                    self.stop_before(number, index);
                }
                return;
            }
            if ins_there.has(mark::LABEL) || self.arrived[self.node((number, index))].is_some() {
                if !record {
                    self.arrive((number, index), &known);
                }
                return;
            }
        }
    }

    /// A run that takes down more than what lies below the frame word, where nothing but the way out follows: where rsp is then.
    fn exit(&mut self, number: usize, index: usize, known: &Known) -> Option<i32> {
        let State::Computed(d) = known.state else { return None };
        let text = &self.input.code.texts[number];
        let by = Plan::run(text, index).by;
        let below = self.way_out((number, index)).filter(|&below| below >= by && by > d.max(0))?;
        self.live[number].flags_free(text, index).then_some(below)
    }

    /// Control does not come to function `index` from above: the instruction before its padding stops.
    fn stop_before(&mut self, number: usize, index: usize) {
        let code = &self.input.code.texts[number].code;
        let mut at = index - 1;
        while at > 0 && code[at].code.mnemonic() == Mnemonic::Nop && !code[at].has(mark::LABEL) {
            self.frames[number].before[at] = None;
            at -= 1;
        }
        self.frames[number].stops.insert(at as u32);
    }

    /// Where control goes from `place` other than to the next instruction; whether it goes on there.
    fn flow(&mut self, place: CodePlace, before: &Known, after: &Known, record: bool) -> bool {
        let (number, index) = place;
        let input = self.input;
        let text = &input.code.texts[number];
        let ins = &text.code[index];
        if matches!(ins.code.mnemonic(), Mnemonic::Syscall) {
            return true;
        }
        match ins.code.flow_control() {
            FlowControl::Next => !is_trap(&ins.code),
            FlowControl::ConditionalBranch => {
                self.branch(place, after, record);
                true
            }
            FlowControl::UnconditionalBranch => {
                self.branch(place, after, record);
                false
            }
            FlowControl::Call | FlowControl::IndirectCall => {
                if !record {
                    self.throw(place, after);
                }
                self.comes_back(place, after, record)
            }
            FlowControl::Interrupt if ins.code.mnemonic() == Mnemonic::Int3 => {
                self.comes_back(place, after, record)
            }
            FlowControl::IndirectBranch => {
                let through = input.tables[number].get(&(index as u32));
                let switch = input.switches[number].get(&(index as u32));
                match (switch, through) {
                    (Some(switch), Some(through)) => {
                        if record {
                            let state = self.hubs.get(&through.table).map_or(before.state, |hub| hub.0.state);
                            self.frames[number].switches.insert(index as u32, state.settled());
                        } else {
                            self.switch(number, switch, through.table, before);
                        }
                    }
                    _ if !record => {
                        let known = Known { state: before.state.settled(), ..*before };
                        let known = match self.jumps.get(&place) {
                            Some(there) => Known {
                                state: there.state.meets(known.state),
                                registers: there.registers.meets(&known.registers),
                            },
                            None => known,
                        };
                        self.jumps.insert(place, known);
                    }
                    _ => (),
                }
                false
            }
            _ => false,
        }
    }

    /// The target of a direct branch.
    fn branch(&mut self, place: CodePlace, known: &Known, record: bool) {
        if !record && let Some(target) = self.input.code.branch_place(self.input.object, place.0, place.1) {
            self.arrive(target, known);
        }
    }

    /// Whether control goes on behind a call or a breakpoint, as far as is known now.
    fn comes_back(&mut self, place: CodePlace, known: &Known, record: bool) -> bool {
        let label = self.input.behind_padding(place.0, place.1 + 1);
        let next = self.input.ins((place.0, label));
        if next.is_some_and(|next| !next.has(mark::LABEL)) {
            return true;
        }
        if record && next.is_some() {
            return self.accepted.contains(&place)
                && self.arrived[self.node((place.0, place.1 + 1))].is_none();
        }
        if next.is_some() {
            let known = Known { state: known.state.settled(), ..*known };
            self.waiting.insert(place, known);
            if self.accepted.contains(&place) {
                self.arrive((place.0, place.1 + 1), &known);
            }
        } else if joins_next(self.input.object, &self.input.code.texts[place.0]) {
            return true;
        } else {
            self.frames[place.0].stops.insert(place.1 as u32);
        }
        false
    }

    /// A call throws: rsp is there as it was before its arguments came on the stack.
    ///
    /// Compilers note how many arguments there are at calls that throw alone, and a note holds up to the next one. So other calls between
    /// two that end at a pad say nothing of its frame; the last one of each range throws, since the range ends with it.
    fn throw(&mut self, call: CodePlace, known: &Known) {
        let text = &self.input.code.texts[call.0];
        let start = u64::from(text.code[call.1].start());
        let pads = self.input.pads;
        let mut ends = pads.of_call(call.0, start).peekable();
        if ends.peek().is_none() {
            return;
        }
        let calls = |ins: &&Ins| ins.code.is_call_near() || ins.code.is_call_near_indirect();
        let next = text.code[call.1 + 1..].iter().find(calls).map(|ins| u64::from(ins.start()));
        for (pad, calls) in ends {
            let throws = next.is_none_or(|next| !calls.contains(&next));
            let state = known.state.settled().moved(pads.arguments(call.0, start));
            let known = Known { state: state.settled(), registers: known.registers.only(CALLEE_SAVED) };
            let met = match self.pads.get(&pad) {
                None => known,
                Some((there, before)) => Known {
                    state: match (there.state, known.state) {
                        (State::Constant(one), State::Constant(other)) => {
                            State::Constant(match (before, throws) {
                                (true, false) => one,
                                (false, true) => other,
                                _ => one.min(other),
                            })
                        }
                        (one, other) => one.meets(other),
                    },
                    registers: there.registers.meets(&known.registers),
                },
            };
            let throws = throws || self.pads.get(&pad).is_some_and(|before| before.1);
            self.pads.insert(pad, (met, throws));
        }
    }

    /// A jump of unit U4: all cases have one state, and so have all jumps through the table.
    fn switch(&mut self, number: usize, switch: &Switch, table: Key, known: &Known) {
        let known = Known { state: known.state.settled(), ..*known };
        let targets = &self.input.code.tables[&table].targets;
        let (met, cases) =
            self.hubs.entry(table).or_insert_with(|| (known, targets.iter().copied().collect()));
        cases.extend(switch.otherwise.map(|otherwise| (number, otherwise as usize)));
        met.state = met.state.meets(known.state);
        met.registers = met.registers.meets(&known.registers);
        let (met, cases) = (*met, cases.clone());
        for case in cases {
            self.arrive(case, &met);
        }
    }

    /// What makes one case of a table a computed one makes all. Says whether that was news.
    fn meet_cases(&mut self) -> bool {
        for table in self.hubs.keys().copied().collect::<Vec<_>>() {
            let (before, cases) = &self.hubs[&table];
            let (mut met, cases) = (*before, cases.clone());
            for &case in &cases {
                if let Some(there) = self.input.ins(case).and_then(|_| self.arrived[self.node(case)]) {
                    met.state = met.state.meets(there.state);
                }
            }
            for case in cases {
                self.arrive(case, &met);
            }
            self.hubs.get_mut(&table).expect("a known table").0 = met;
        }
        !self.work.is_empty()
    }
}

/// Instructions that become a trap, although control goes on behind them by the manual.
pub(crate) fn is_trap(code: &Instruction) -> bool {
    matches!(code.mnemonic(), Mnemonic::Hlt | Mnemonic::Incsspd | Mnemonic::Incsspq)
}

/// Instructions that become a trap behind which no handler goes on, and which takes rsp wherever it is: ways need not agree there.
pub(crate) fn ends_all(code: &Instruction) -> bool {
    matches!(code.mnemonic(), Mnemonic::Ud0 | Mnemonic::Ud1 | Mnemonic::Ud2 | Mnemonic::Hlt)
}

/// Whether the linker puts another object's code right behind a section, into which control falls.
pub(crate) fn joins_next(object: &Object, text: &Text) -> bool {
    matches!(&object.sections[text.section].name[..], ".init" | ".fini")
}

/// Whether rsp is an operand, or part of one.
pub(crate) fn uses_rsp(code: &Instruction) -> bool {
    code.mnemonic() == Mnemonic::Push
        || (0..code.op_count()).any(|n| code.op_kind(n) == OpKind::Register && is_rsp(code.op_register(n)))
        || memory_operand(code).is_some() && is_rsp(code.memory_base())
}

/// The state at a place that a direct branch goes to.
pub(crate) fn at(code: &Code, frames: &Frames, place: CodePlace) -> Option<State> {
    let ins = code.texts[place.0].code.get(place.1)?;
    if ins.has(mark::FUNCTION) { Some(ENTRY) } else { frames[place.0].before[place.1] }
}
