//! Which table each indirect jump of a switch goes through, as far as that can be shown: the register with the table's address holds
//! the same one by every way that leads to the jump.
//!
//! A compiler takes the address once, far from the jump, before a loop for instance, and uses the register for other things where the
//! loop is over. So what a switch leads to has to be known to know what its register holds: both are found together, from nothing, a
//! case being reached only when a jump through its table is.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use iced_x86::{FlowControl, Mnemonic};

use crate::code::{Code, CodePlace, Form, Key, Through, is_relative};
use crate::decode::{Text, mark};
use crate::elf::Object;
use crate::encode::Reg;
use crate::frames::Groups;
use crate::liveness::{Effect, Liveness};
use crate::stack::restores;
use crate::switch::{Goto, Shape, is_plain_pointer};

/// What a register holds.
#[derive(Debug, Clone, Copy)]
enum Value {
    /// No way leads here.
    Unreached,
    /// A table's address: the table's number, and one in [`Walk::taken`].
    Address(u32, u32),
    Unknown,
}

/// By text: the tables, by jump.
pub(crate) fn find(code: &Code, object: &Object) -> Vec<HashMap<u32, Through>> {
    let mut liveness: Vec<Liveness> = code.texts.iter().map(|_| Liveness::new(Default::default())).collect();
    let mut groups: Option<(Groups, Vec<Vec<bool>>)> = None;
    let mut walks: BTreeMap<usize, Walk<'_>> = BTreeMap::new();
    for (number, text) in code.texts.iter().enumerate() {
        for jump in 0..text.code.len() {
            if text.code[jump].code.flow_control() != FlowControl::IndirectBranch {
                continue;
            }
            let live = &mut liveness[number];
            let shape = Shape::of(text, jump, live).map(|shape| (Form::Distances, shape.load, shape.base));
            let goto = || Goto::of(text, jump, live).map(|goto| (Form::Addresses, goto.load, goto.base));
            let Some((form, load, base)) = shape.or_else(goto) else { continue };
            let (groups, _) = groups.get_or_insert_with(|| (Groups::of(code, object), entered(code)));
            let group = groups.at(code, (number, jump));
            let walk = walks.entry(group).or_insert_with(|| Walk::new(code, object));
            walk.add((number, jump), form, load, base);
        }
    }
    let mut found = vec![HashMap::new(); code.texts.len()];
    let Some((mut groups, entered)) = groups else { return found };
    for (number, text) in code.texts.iter().enumerate() {
        for &start in text.parts.iter().filter(|&&start| (start as usize) < text.code.len()) {
            let (start, end) = text.part_around(start as usize);
            if let Some(walk) = walks.get_mut(&groups.at(code, (number, start))) {
                walk.parts.push(Part { number, start, end, first: walk.nodes });
                walk.nodes += end - start;
            }
        }
    }
    for walk in walks.values_mut() {
        walk.run(&entered, &mut liveness);
        for (&(number, jump), &value) in &walk.held {
            if let Some(through) = walk.goes_through((number, jump), value) {
                found[number].insert(jump as u32, through);
            }
        }
    }
    found
}

/// By text and instruction: cases that unknown jumps of other functions may come to.
fn entered(code: &Code) -> Vec<Vec<bool>> {
    let mut entered: Vec<Vec<bool>> = code.texts.iter().map(|text| vec![false; text.code.len()]).collect();
    let function = |&(number, index): &CodePlace| (number, code.texts[number].function_around(index).0);
    let is_whole = |&(number, start): &CodePlace| code.texts[number].code[start].has(mark::FUNCTION);
    for table in code.tables.values() {
        let owners: BTreeSet<CodePlace> = table.owners.iter().map(function).collect();
        for place in table.targets.iter().filter(|place| place.1 < code.texts[place.0].code.len()) {
            let own = function(place);
            let others = owners.iter().any(|owner| *owner != own && is_whole(owner) && is_whole(&own));
            if owners.is_empty() || others {
                entered[place.0][place.1] = true;
            }
        }
    }
    entered
}

/// Places that some jumps go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Hub {
    /// The cases of a table.
    Table(Key),
    /// All cases that a jump in this part may know.
    Cases(usize),
    /// Those of them that are labels.
    Labels(usize),
}

/// A function, or what lies apart of several ones, cold.
#[derive(Debug, Clone, Copy)]
struct Part {
    number: usize,
    start: usize,
    end: usize,
    /// Number of its first node.
    first: usize,
}

/// A walk through functions that belong together.
struct Walk<'a> {
    code: &'a Code,
    object: &'a Object,
    /// Ascending.
    parts: Vec<Part>,
    nodes: usize,
    /// The registers that hold tables' addresses.
    registers: Vec<Reg>,
    /// By an instruction that loads an entry: its jump.
    loads: BTreeMap<CodePlace, CodePlace>,
    /// By jump: which of `registers` holds the table's address, what it is known to hold, and the form of the table.
    bases: HashMap<CodePlace, usize>,
    held: BTreeMap<CodePlace, Value>,
    forms: HashMap<CodePlace, Form>,
    /// Addresses that are taken, with the instruction's number in this list; numbers of tables.
    taken: Vec<Through>,
    numbers: HashMap<CodePlace, Value>,
    tables: HashMap<Key, u32>,
    /// By node and register: what it holds before.
    values: Vec<Value>,
    /// The same on the way to several places, from all jumps that go there.
    hubs: BTreeMap<Hub, Vec<Value>>,
    work: Vec<CodePlace>,
}

impl<'a> Walk<'a> {
    fn new(code: &'a Code, object: &'a Object) -> Self {
        Walk {
            code,
            object,
            parts: Vec::new(),
            nodes: 0,
            registers: Vec::new(),
            loads: BTreeMap::new(),
            bases: HashMap::new(),
            held: BTreeMap::new(),
            forms: HashMap::new(),
            taken: Vec::new(),
            numbers: HashMap::new(),
            tables: HashMap::new(),
            values: Vec::new(),
            hubs: BTreeMap::new(),
            work: Vec::new(),
        }
    }

    fn add(&mut self, jump: CodePlace, form: Form, load: usize, base: Reg) {
        let known = self.registers.iter().position(|&reg| reg == base);
        let base = known.unwrap_or_else(|| {
            self.registers.push(base);
            self.registers.len() - 1
        });
        self.loads.insert((jump.0, load), jump);
        self.bases.insert(jump, base);
        self.held.insert(jump, Value::Unreached);
        self.forms.insert(jump, form);
    }

    fn run(&mut self, entered: &[Vec<bool>], liveness: &mut [Liveness]) {
        self.values = vec![Value::Unreached; self.nodes * self.registers.len()];
        let unknown = vec![Value::Unknown; self.registers.len()];
        for part in self.parts.clone() {
            let text = &self.code.texts[part.number];
            let entered = &entered[part.number][part.start..part.end];
            for (at, &entered) in (part.start..).zip(entered) {
                let ins = &text.code[at];
                // What is only in tables of labels is reached from the labels' own function.
                let marked = ins.has(mark::FUNCTION | mark::TAKEN)
                    || ins.has(mark::ENTRY) && !ins.has(mark::CASE)
                    || at == 0 && !ins.has(mark::OUTSIDE | mark::CASE);
                if marked || entered {
                    self.arrive((part.number, at), &unknown);
                }
            }
        }
        self.follow(liveness);
        // Code that nothing seems to lead to.
        for ((number, load), jump) in self.loads.clone() {
            if matches!(self.held[&jump], Value::Unreached) {
                let text = &self.code.texts[number];
                let start = text.part_around(load).0;
                let ends = |&at: &usize| at == start || text.code[at - 1].ends_flow();
                let first = (start..=load).rev().find(ends).unwrap_or(load);
                self.arrive((number, first), &unknown);
                self.follow(liveness);
            }
        }
    }

    /// Follows what has arrived.
    fn follow(&mut self, liveness: &mut [Liveness]) {
        while let Some(place) = self.work.pop() {
            let (number, at) = place;
            let text = &self.code.texts[number];
            let live = &mut liveness[number];
            let Some(first) = self.first(place) else { continue };
            let mut values = self.values[first..first + self.registers.len()].to_vec();
            if let Some(&jump) = self.loads.get(&place) {
                self.held.insert(jump, values[self.bases[&jump]]);
                if jump != place {
                    self.work.push(jump);
                }
            }
            let ins = &text.code[at];
            if ins.code.flow_control() == FlowControl::IndirectBranch {
                if self.bases.contains_key(&place) || !is_plain_pointer(text, at, live) {
                    self.jump(place, &values);
                } else if !leaves(text, at) {
                    self.arrive_at(Hub::Labels(self.part(place)), &values);
                }
                continue;
            }
            for (column, value) in values.iter_mut().enumerate() {
                let reg = self.registers[column];
                let is_call =
                    matches!(ins.code.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
                if is_call && !is_callee_saved(reg) {
                    *value = Value::Unknown;
                } else if live.writes(text, at, reg) {
                    *value = match live.effect(text, at, reg) {
                        Effect::Overwrites => self.taken_at(place),
                        _ => Value::Unknown,
                    };
                }
            }
            if !ins.ends_flow() {
                self.arrive((number, at + 1), &values);
            }
            let branches = matches!(
                ins.code.flow_control(),
                FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
            );
            if branches && let Some(target) = self.code.branch_place(self.object, number, at) {
                self.arrive(target, &values);
            }
        }
    }

    /// What the instruction at `place` leaves in the register that it overwrites.
    fn taken_at(&mut self, place: CodePlace) -> Value {
        if let Some(&known) = self.numbers.get(&place) {
            return known;
        }
        let Some(through) = address(self.code, self.object, place) else { return Value::Unknown };
        let next = self.tables.len() as u32;
        let table = *self.tables.entry(through.table).or_insert(next);
        let value = Value::Address(table, self.taken.len() as u32);
        self.taken.push(through);
        self.numbers.insert(place, value);
        value
    }

    /// Number of the part that holds a place.
    fn part(&self, place: CodePlace) -> usize {
        self.parts.partition_point(|part| (part.number, part.start) <= place).saturating_sub(1)
    }

    /// Where the values before the instruction at `place` begin, if it is one of these functions'.
    fn first(&self, place: CodePlace) -> Option<usize> {
        let part = self.parts.get(self.part(place))?;
        let inside = part.number == place.0 && (part.start..part.end).contains(&place.1);
        inside.then(|| (part.first + place.1 - part.start) * self.registers.len())
    }

    /// Control comes to `place` with these values.
    fn arrive(&mut self, place: CodePlace, values: &[Value]) {
        let Some(first) = self.first(place) else { return };
        if meet(&mut self.values[first..first + values.len()], values) {
            self.work.push(place);
        }
    }

    /// An indirect jump with these values.
    fn jump(&mut self, jump: CodePlace, values: &[Value]) {
        let hub = match self.held.get(&jump) {
            Some(Value::Unreached) => return,
            Some(&value) => self.goes_through(jump, value).map(|through| Hub::Table(through.table)),
            None => None,
        };
        self.arrive_at(hub.unwrap_or_else(|| Hub::Cases(self.part(jump))), values);
    }

    /// Control comes to all places of a hub.
    fn arrive_at(&mut self, key: Hub, values: &[Value]) {
        let none = || vec![Value::Unreached; values.len()];
        let hub = self.hubs.entry(key).or_insert_with(none);
        if !meet(hub, values) {
            return;
        }
        let values = hub.clone();
        let is_whole = |part: &Part| self.code.texts[part.number].code[part.start].has(mark::FUNCTION);
        match key {
            Hub::Table(table) => {
                for &case in &self.code.tables[&table].targets {
                    self.arrive(case, &values);
                }
            }
            Hub::Cases(own) | Hub::Labels(own) => {
                let all = !is_whole(&self.parts[own]);
                let parts = self.parts.iter().enumerate();
                let parts = parts.filter(|(number, part)| all || *number == own || !is_whole(part));
                for part in parts.map(|(_, part)| *part).collect::<Vec<_>>() {
                    for at in part.start..part.end {
                        let ins = &self.code.texts[part.number].code[at];
                        if ins.has(mark::CASE) && (matches!(key, Hub::Cases(_)) || ins.has(mark::ENTRY)) {
                            self.arrive((part.number, at), &values);
                        }
                    }
                }
            }
        }
    }

    /// The table that a jump goes through, if the register holds such a one, of the form that it takes, and the module does not write it.
    fn goes_through(&self, jump: CodePlace, value: Value) -> Option<Through> {
        let Value::Address(_, number) = value else { return None };
        let through = self.taken[number as usize];
        let table = self.code.tables.get(&through.table)?;
        (table.read_only && table.form == self.forms[&jump]).then_some(through)
    }
}

/// The address that the `lea` at `place` takes.
fn address(code: &Code, object: &Object, place: CodePlace) -> Option<Through> {
    let text = &code.texts[place.0];
    let ins = &text.code[place.1];
    if ins.code.mnemonic() != Mnemonic::Lea {
        return None;
    }
    let relocs = text.relocs(object, place.1);
    let reloc = relocs.iter().find(|reloc| is_relative(reloc.kind))?;
    let to_end = ins.code.next_ip() as i64 - reloc.offset as i64;
    let (section, offset) = object.resolve(reloc.symbol, reloc.addend + to_end)?;
    Some(Through { table: (section, u64::try_from(offset).ok()?), from: place })
}

/// Whether `values` changed when `others` met them.
fn meet(values: &mut [Value], others: &[Value]) -> bool {
    let mut changed = false;
    for (value, &other) in values.iter_mut().zip(others) {
        let both = match (*value, other) {
            (_, Value::Unreached) | (Value::Unknown, _) => continue,
            (Value::Unreached, _) => other,
            (Value::Address(one, _), Value::Address(other, _)) if one == other => continue,
            (Value::Address(..), _) => Value::Unknown,
        };
        *value = both;
        changed = true;
    }
    changed
}

/// Whether the straight run that ends with indirect jump `jump` gives registers back to the caller: it is a tail call.
fn leaves(text: &Text, jump: usize) -> bool {
    let run = (0..jump).rev().take_while(|&at| {
        text.code[at].code.flow_control() == FlowControl::Next && !text.code[at + 1].has(mark::LABEL)
    });
    run.into_iter().any(|at| restores(&text.code[at]))
}

fn is_callee_saved(reg: Reg) -> bool {
    matches!(reg, 3 | 5 | 12..=15)
}
