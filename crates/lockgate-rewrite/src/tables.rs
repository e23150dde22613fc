//! Which table each indirect jump of a switch goes through, as far as that can be shown: the register with the table's address holds
//! the same one by every way that leads to the jump.
//!
//! A compiler takes the address once, far from the jump, before a loop for instance, and uses the register for other things where the
//! loop is over. So what a switch leads to has to be known to know what its register holds: both are found together, from nothing, a
//! case being reached only when a jump through its table is.

use std::collections::{BTreeMap, HashMap};

use iced_x86::{FlowControl, Mnemonic};

use crate::decode::{NONE, Text, mark};
use crate::elf::Object;
use crate::encode::Reg;
use crate::liveness::{Effect, Liveness};
use crate::refs::{Code, CodePlace, is_relative};
use crate::switch::{Shape, is_plain_pointer};

/// Section and offset of a table.
pub(crate) type Key = (usize, u64);

/// A table that a jump goes through, and an instruction that takes its address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Through {
    pub(crate) table: Key,
    pub(crate) from: u32,
}

/// What a register holds.
#[derive(Debug, Clone, Copy)]
enum Value {
    /// No way leads here.
    Unreached,
    Address(Through),
    Unknown,
}

impl Value {
    /// What is held where ways with `self` and `other` meet, if that is something else than `self`.
    fn meets(self, other: Value) -> Option<Value> {
        match (self, other) {
            (_, Value::Unreached) | (Value::Unknown, _) => None,
            (Value::Unreached, _) => Some(other),
            (Value::Address(one), Value::Address(other)) if one.table == other.table => None,
            (Value::Address(_), _) => Some(Value::Unknown),
        }
    }
}

/// By text: the tables, by jump.
pub(crate) fn find(code: &Code, object: &Object) -> Vec<HashMap<u32, Through>> {
    let entered = entered(code);
    let cases = code.tables.iter().map(|(&key, table)| {
        let mut places = table.targets.clone();
        places.sort_unstable();
        places.dedup();
        (key, places)
    });
    let cases: BTreeMap<Key, Vec<CodePlace>> = cases.collect();
    let mut found = Vec::with_capacity(code.texts.len());
    for (number, text) in code.texts.iter().enumerate() {
        let mut liveness = Liveness::new(Default::default());
        let mut by_jump = HashMap::new();
        let is_jump = |&at: &usize| text.code[at].code.flow_control() == FlowControl::IndirectBranch;
        let mut jumps = (0..text.code.len()).filter(is_jump).peekable();
        while let Some(&first) = jumps.peek() {
            let (start, end) = text.function_around(first);
            let mut walk = Walk {
                code,
                object,
                number,
                text,
                start,
                end,
                cases: &cases,
                registers: Vec::new(),
                loads: HashMap::new(),
                bases: HashMap::new(),
                held: HashMap::new(),
                values: Vec::new(),
                hubs: BTreeMap::new(),
                work: Vec::new(),
            };
            while let Some(jump) = jumps.next_if(|&jump| jump < end) {
                if let Some(shape) = Shape::of(text, jump, &mut liveness) {
                    walk.add(jump, &shape);
                }
            }
            if !walk.bases.is_empty() {
                walk.run(&entered[number], &mut liveness);
            }
            let table = |(jump, value)| match value {
                Value::Address(through) => walk.goes_through(through).then_some((jump as u32, through)),
                _ => None,
            };
            by_jump.extend(walk.held.iter().filter_map(|(&jump, &value)| table((jump, value))));
        }
        found.push(by_jump);
    }
    found
}

/// By text and instruction: places that something may come to other than from the function's own code, as far as marks do not say it.
fn entered(code: &Code) -> Vec<Vec<bool>> {
    let mut entered: Vec<Vec<bool>> = code.texts.iter().map(|text| vec![false; text.code.len()]).collect();
    for (text, entered) in code.texts.iter().zip(&mut entered) {
        for (index, ins) in text.code.iter().enumerate() {
            let target = ins.target as usize;
            if target < entered.len() && text.function_of(target) != text.function_of(index) {
                entered[target] = true;
            }
        }
    }
    let function = |&(number, index): &CodePlace| (number, code.texts[number].function_of(index));
    for table in code.tables.values() {
        let mut owners = table.owners.iter().map(function);
        let owner = owners.next().filter(|owner| owners.all(|other| other == *owner));
        for place in table.targets.iter().filter(|place| place.1 < code.texts[place.0].code.len()) {
            if owner != Some(function(place)) {
                entered[place.0][place.1] = true;
            }
        }
    }
    entered
}

/// A walk through one function.
struct Walk<'a> {
    code: &'a Code,
    object: &'a Object,
    number: usize,
    text: &'a Text,
    start: usize,
    end: usize,
    cases: &'a BTreeMap<Key, Vec<CodePlace>>,
    /// The registers that hold tables' addresses.
    registers: Vec<Reg>,
    /// By an instruction that loads an entry: its jump.
    loads: HashMap<usize, usize>,
    /// By jump: which of `registers` holds the table's address, and what it is known to hold.
    bases: HashMap<usize, usize>,
    held: HashMap<usize, Value>,
    /// By instruction and register: what it holds before.
    values: Vec<Value>,
    /// The same on the way to the cases of a table, from all jumps through it; to all cases from jumps through any.
    hubs: BTreeMap<Option<Key>, Vec<Value>>,
    work: Vec<usize>,
}

impl Walk<'_> {
    fn add(&mut self, jump: usize, shape: &Shape) {
        let known = self.registers.iter().position(|&reg| reg == shape.base);
        let base = known.unwrap_or_else(|| {
            self.registers.push(shape.base);
            self.registers.len() - 1
        });
        self.loads.insert(shape.load, jump);
        self.bases.insert(jump, base);
        self.held.insert(jump, Value::Unreached);
    }

    fn run(&mut self, entered: &[bool], liveness: &mut Liveness) {
        self.values = vec![Value::Unreached; (self.end - self.start) * self.registers.len()];
        let unknown = vec![Value::Unknown; self.registers.len()];
        for (at, ins) in self.text.code.iter().enumerate().take(self.end).skip(self.start) {
            let marked = ins.has(mark::FUNCTION | mark::ENTRY | mark::OUTSIDE);
            if at == self.start || marked || entered[at] {
                self.arrive(at, &unknown);
            }
        }
        self.follow(liveness);
        // Code that nothing seems to lead to.
        let mut loads: Vec<(usize, usize)> = self.loads.iter().map(|(&load, &jump)| (load, jump)).collect();
        loads.sort_unstable();
        for (load, jump) in loads {
            if matches!(self.held[&jump], Value::Unreached) {
                let ends = |&at: &usize| at == self.start || self.text.code[at - 1].ends_flow();
                let first = (self.start..=load).rev().find(ends).unwrap_or(load);
                self.arrive(first, &unknown);
                self.follow(liveness);
            }
        }
    }

    /// Follows what has arrived.
    fn follow(&mut self, liveness: &mut Liveness) {
        while let Some(at) = self.work.pop() {
            let mut values = self.before(at).to_vec();
            if let Some(&jump) = self.loads.get(&at) {
                self.held.insert(jump, values[self.bases[&jump]]);
                self.work.push(jump);
            }
            let ins = &self.text.code[at];
            if ins.code.flow_control() == FlowControl::IndirectBranch {
                if self.bases.contains_key(&at) || !is_plain_pointer(self.text, at, liveness) {
                    self.jump(at, &values);
                }
                continue;
            }
            for (column, value) in values.iter_mut().enumerate() {
                let reg = self.registers[column];
                let is_call =
                    matches!(ins.code.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
                if is_call && !is_callee_saved(reg) {
                    *value = Value::Unknown;
                } else if liveness.writes(self.text, at, reg) {
                    let address = match liveness.effect(self.text, at, reg) {
                        Effect::Overwrites => self.address(at),
                        _ => None,
                    };
                    *value = address.map_or(Value::Unknown, Value::Address);
                }
            }
            if !ins.ends_flow() {
                self.arrive(at + 1, &values);
            }
            if ins.target != NONE && ins.code.flow_control() != FlowControl::Call {
                self.arrive(ins.target as usize, &values);
            }
        }
    }

    fn before(&self, at: usize) -> &[Value] {
        let first = (at - self.start) * self.registers.len();
        &self.values[first..first + self.registers.len()]
    }

    /// Control comes to `at` with these values.
    fn arrive(&mut self, at: usize, values: &[Value]) {
        if !(self.start..self.end).contains(&at) {
            return;
        }
        let first = (at - self.start) * self.registers.len();
        if meet(&mut self.values[first..first + values.len()], values) {
            self.work.push(at);
        }
    }

    /// An indirect jump with these values.
    fn jump(&mut self, jump: usize, values: &[Value]) {
        let key = match self.held.get(&jump) {
            Some(Value::Unreached) => return,
            Some(&Value::Address(through)) if self.goes_through(through) => Some(through.table),
            _ => None,
        };
        let none = || vec![Value::Unreached; values.len()];
        let hub = self.hubs.entry(key).or_insert_with(none);
        if !meet(hub, values) {
            return;
        }
        let values = hub.clone();
        match key {
            Some(table) => {
                let (cases, number) = (&self.cases[&table], self.number);
                let from = cases.partition_point(|&place| place < (number, self.start));
                let to = cases.partition_point(|&place| place < (number, self.end));
                for &(_, case) in &cases[from..to] {
                    self.arrive(case, &values);
                }
            }
            None => {
                for at in self.start..self.end {
                    if self.text.code[at].has(mark::CASE) {
                        self.arrive(at, &values);
                    }
                }
            }
        }
    }

    /// Whether there is such a table, and the module cannot write it.
    fn goes_through(&self, through: Through) -> bool {
        self.code.tables.get(&through.table).is_some_and(|table| table.read_only)
    }

    /// The address that the `lea` at `at` takes.
    fn address(&self, at: usize) -> Option<Through> {
        let ins = &self.text.code[at];
        if ins.code.mnemonic() != Mnemonic::Lea {
            return None;
        }
        let relocs = self.text.relocs(self.object, at);
        let reloc = relocs.iter().find(|reloc| is_relative(reloc.kind))?;
        let to_end = ins.code.next_ip() as i64 - reloc.offset as i64;
        let (section, offset) = self.object.resolve(reloc.symbol, reloc.addend + to_end)?;
        Some(Through { table: (section, u64::try_from(offset).ok()?), from: at as u32 })
    }
}

/// Whether `values` changed when `others` met them.
fn meet(values: &mut [Value], others: &[Value]) -> bool {
    let mut changed = false;
    for (value, &other) in values.iter_mut().zip(others) {
        if let Some(both) = value.meets(other) {
            *value = both;
            changed = true;
        }
    }
    changed
}

fn is_callee_saved(reg: Reg) -> bool {
    matches!(reg, 3 | 5 | 12..=15)
}
