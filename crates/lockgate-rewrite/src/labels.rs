//! Tables of labels' addresses (`static const void *const table[] = {&&a, &&b, …}`): jumps through one become unit U4, by a table of
//! distances in a section of its own beside it.
//!
//! The labels stay labels, since the program may read the table as data, too. The unit goes past them: it closes no frame, and the
//! places behind the labels open none.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register};

use crate::code::{Code, CodePlace, Form, Key, Table, Through, is_relative};
use crate::decode::{Ins, Text, mark};
use crate::elf::{Made, Object, Reloc, Section, reloc, shf, sht, sym};
use crate::encode::{R11, RAX, Reg, number as number_of};
use crate::error::{Error, Reason};
use crate::landing::Pads;
use crate::liveness::{self, Liveness, is_clear};
use crate::map::AddressMap;
use crate::switch::{Goto, Switch, Switches, only_for};

/// How often jumps are left out that lack registers, and others looked at again, before none is made a unit: hostile objects have many.
const ROUNDS: usize = 8;
/// A table of one label is none.
const MIN_TABLE: usize = 2;

/// Finds the tables of labels: objects in constant data, whose address code takes, and which are labels' addresses from one
/// end to the other. The result is the places of their entries.
pub(crate) fn find_tables(code: &mut Code, object: &Object) -> HashSet<Key> {
    let mut sizes: Option<HashMap<Key, u64>> = None;
    let mut tables = Vec::new();
    for (&section, bases) in &code.bases {
        let data = &object.sections[section];
        if data.flags & shf::WRITE != 0 && !data.name.starts_with(".data.rel.ro") {
            continue;
        }
        let mut end = 0;
        for (&base, owners) in bases.range(..) {
            let first = data.relocs.partition_point(|reloc| reloc.offset < base);
            let label = |number: usize| {
                let reloc = data.relocs.get(first + number)?;
                let is_next = reloc.kind == reloc::ABS64 && reloc.offset == base + 8 * number as u64;
                let (text, offset) = object.resolve(reloc.symbol, reloc.addend).filter(|_| is_next)?;
                let place = code.place(text, offset).ok()??;
                let local = object.symbols[reloc.symbol as usize].binding == sym::LOCAL;
                let inside = !code.has(place, mark::FUNCTION | mark::INNER);
                let exists = place.1 < code.texts[place.0].code.len();
                (local && inside && exists).then_some(place)
            };
            if base < end || label(0).is_none() {
                continue;
            }
            let sizes = sizes.get_or_insert_with(|| objects(object));
            let Some(&size) = sizes.get(&(section, base)) else { continue };
            let entries = (size / 8) as usize;
            if !size.is_multiple_of(8) || entries < MIN_TABLE || entries > data.relocs.len() {
                continue;
            }
            let targets: Option<Vec<CodePlace>> = (0..entries).map(label).collect();
            if let Some(targets) = targets {
                end = base + size;
                let owners = owners.clone();
                tables.push((
                    (section, base),
                    Table { form: Form::Addresses, targets, owners, read_only: true },
                ));
            }
        }
    }
    let entries = |(&(section, base), table): (&Key, &Table)| {
        (0..table.targets.len() as u64).map(move |number| (section, base + 8 * number))
    };
    let listed = tables.iter().flat_map(|(key, table)| entries((key, table))).collect();
    code.tables.extend(tables);
    listed
}

/// Sizes of objects by their places.
fn objects(object: &Object) -> HashMap<Key, u64> {
    let data = object.symbols.iter().filter(|symbol| symbol.kind == sym::OBJECT && symbol.size > 0);
    data.filter_map(|symbol| Some(((symbol.section()?, symbol.value), symbol.size))).collect()
}

/// Makes units U4 of the jumps through tables of labels, where that is possible. The result: by table, the section that is made for
/// its distances, to be filled by [`fill`]. Numbers of symbols change. `keepers`: see [`crate::across::Across`].
pub(crate) fn recover(
    code: &mut Code,
    object: &mut Object,
    pads: &Pads,
    keepers: &[HashSet<usize>],
    tables: &[HashMap<u32, Through>],
    switches: &mut Switches,
) -> BTreeMap<Key, Made> {
    let mut gotos = candidates(code, object, tables);
    let (mut chosen, mut closed) = (BTreeMap::new(), Vec::new());
    for round in 0.. {
        if gotos.is_empty() || round == ROUNDS {
            return BTreeMap::new();
        }
        let flow = Flow::of(code, object, (pads, keepers), tables, &gotos);
        chosen = flow.choose(&gotos);
        if chosen.len() == gotos.len() {
            closed = flow.closed(object, tables, &gotos);
            break;
        }
        // The others read their tables' addresses.
        gotos.retain(|place, _| chosen.contains_key(place));
    }
    let used: BTreeSet<Key> = gotos.values().map(|(_, through)| through.table).collect();
    let section = Section {
        name: ".rodata.labels".into(),
        kind: sht::PROGBITS,
        flags: shf::ALLOC,
        align: 4,
        ..Section::default()
    };
    let Some(made) = object.add_sections(used.len(), &section) else { return BTreeMap::new() };
    let made: BTreeMap<Key, Made> = used.into_iter().zip(made).collect();
    let mut liveness = Liveness::new(HashSet::new());
    for (&(number, jump), &(goto, through)) in &gotos {
        let (base, target) = chosen[&(number, jump)];
        let text = &code.texts[number];
        let mut absorbed = Vec::from_iter((goto.load != jump).then_some(goto.load));
        if base == goto.base
            && through.from.0 == number
            && only_for(text, through.from.1, jump, &[goto.load], base, &mut liveness)
        {
            absorbed.push(through.from.1);
        }
        for index in absorbed {
            code.mark((number, index), mark::ABSORBED);
        }
        let switch = Switch {
            index: goto.index,
            base,
            target,
            entries: code.tables[&through.table].targets.len() as u32,
            table_from: through.from,
            otherwise: None,
            distances: Some(made[&through.table].symbol),
        };
        switches.by_text[number].insert(jump as u32, switch);
    }
    for table in closed {
        for target in code.tables[&table].targets.clone() {
            if !code.has(target, mark::TAKEN) {
                code.unmark(target, mark::ENTRY);
            }
        }
    }
    made
}

/// Fills the tables of distances, once it is known where the labels are: past them.
pub(crate) fn fill(
    file: &str,
    object: &mut Object,
    code: &Code,
    made: &BTreeMap<Key, Made>,
    map: &AddressMap,
) -> Result<(), Error> {
    for (&(section, base), made) in made {
        let listed = &object.sections[section];
        let first = listed.relocs.partition_point(|reloc| reloc.offset < base);
        let targets = &code.tables[&(section, base)].targets;
        let distance = |(number, (entry, target)): (usize, (&Reloc, &CodePlace))| {
            let text = &code.texts[target.0];
            let body = map.section(text.section)?.body(text.code[target.1].start().into())?;
            let origin = map.origin(object, entry.symbol)?;
            let offset = 4 * number as u64;
            let addend = body as i64 - origin + offset as i64;
            Some(Reloc { offset, symbol: entry.symbol, kind: reloc::PC32, addend })
        };
        let entries = listed.relocs[first..].iter().zip(targets).enumerate();
        let relocs: Option<Vec<Reloc>> = entries.map(distance).collect();
        let relocs = relocs.ok_or_else(|| {
            let reason = Reason::malformed("a label inside an instruction");
            Error::at(file, &listed.name, base, reason)
        })?;
        object.sections[made.section].data = vec![0; 4 * relocs.len()];
        object.sections[made.section].relocs = relocs;
        object.ensure_reloc_section(made.section);
    }
    Ok(())
}

/// The jumps through tables of labels that may become units.
fn candidates(
    code: &Code,
    object: &Object,
    tables: &[HashMap<u32, Through>],
) -> BTreeMap<CodePlace, (Goto, Through)> {
    let mut gotos = BTreeMap::new();
    // Parts of a group that the linker may leave out cannot be named from outside.
    let in_group = |place: &CodePlace| object.sections[code.texts[place.0].section].flags & shf::GROUP != 0;
    for (number, tables) in tables.iter().enumerate() {
        let mut liveness = Liveness::new(HashSet::new());
        for (&jump, &through) in tables {
            let table = &code.tables[&through.table];
            let place = (number, jump as usize);
            if table.form == Form::Addresses
                && !in_group(&place)
                && !table.targets.iter().any(in_group)
                && let Some(goto) = Goto::of(&code.texts[number], jump as usize, &mut liveness)
            {
                gotos.insert(place, (goto, through));
            }
        }
    }
    gotos
}

/// Parts of registers: bit n is the low byte of register n, bit 16 + n the rest of it. And one bit more for the low byte of rax, where
/// calls of functions with any number of arguments read it.
type Lanes = u64;
const COUNT: Lanes = 1 << 32;
const ALL: Lanes = 0x1_ffff_ffff;
/// rdi, rsi, rdx, rcx, r8, r9, and r10, the static chain.
const ARGUMENTS: Lanes = COUNT | whole(0b0111_1100_0110);
/// rdx, rbx, rsp, rbp, r12 to r15, and rax, as far as it is not what an indirect jump has left there.
const RESULTS: Lanes = COUNT | whole(0b1111_0000_0011_1100);
/// What an unknown place may read.
const ELSEWHERE: Lanes = ALL & !whole(1 << RAX);
/// Registers for units, the best ones first.
const CHOICE: [Reg; 14] = [1, 2, 6, 7, 8, 9, RAX, R11, 3, 5, 12, 13, 14, 15];

const fn whole(registers: u16) -> Lanes {
    registers as Lanes | (registers as Lanes) << 16
}

fn with_count(lanes: Lanes) -> Lanes {
    lanes | if lanes & 1 << RAX != 0 { COUNT } else { 0 }
}

/// What an instruction reads, overwrites for certain without a look, and writes in any way.
fn effect(info: &mut InstructionInfoFactory, code: &Instruction) -> [Lanes; 3] {
    let [mut reads, mut overwrites, mut writes] = [0; 3];
    for used in info.info(code).used_registers() {
        let register = used.register();
        if !register.is_gpr() {
            continue;
        }
        let (low, rest): (Lanes, Lanes) = (1 << number_of(register), 0x1_0000 << number_of(register));
        let is_high = matches!(register, Register::AH | Register::CH | Register::DH | Register::BH);
        let (looks, fills) = match register.size() {
            1 if is_high => (rest, 0),
            1 => (low, low),
            2 => (low | rest, low),
            _ => (low | rest, low | rest),
        };
        match used.access() {
            OpAccess::Write => {
                overwrites |= fills;
                writes |= low | rest;
            }
            OpAccess::CondWrite => writes |= low | rest,
            OpAccess::Read | OpAccess::CondRead => reads |= looks,
            OpAccess::ReadWrite | OpAccess::ReadCondWrite => {
                reads |= looks;
                writes |= low | rest;
            }
            OpAccess::None | OpAccess::NoMemAccess => (),
        }
    }
    if is_clear(code) {
        let register = whole(1 << number_of(code.op0_register()));
        reads &= !register;
        overwrites |= register;
    }
    [with_count(reads), with_count(overwrites & !reads), writes]
}

/// Which registers are read later, before they are overwritten, from the targets of the tables on.
struct Flow<'a> {
    code: &'a Code,
    /// By place: its node.
    nodes: HashMap<CodePlace, u32>,
    /// By node: the registers that are read from there on.
    live: Vec<Lanes>,
}

/// What one instruction does.
#[derive(Default, Clone)]
struct Node {
    reads: Lanes,
    overwrites: Lanes,
    returns: bool,
    after: Vec<u32>,
}

impl<'a> Flow<'a> {
    fn of(
        code: &'a Code,
        object: &Object,
        (pads, keepers): (&Pads, &[HashSet<usize>]),
        tables: &[HashMap<u32, Through>],
        gotos: &BTreeMap<CodePlace, (Goto, Through)>,
    ) -> Flow<'a> {
        let loads: HashMap<CodePlace, Goto> =
            gotos.iter().map(|(place, (goto, _))| ((place.0, goto.load), *goto)).collect();
        let mut flow = Flow { code, nodes: HashMap::new(), live: Vec::new() };
        let (mut nodes, mut places): (Vec<Node>, Vec<CodePlace>) = (Vec::new(), Vec::new());
        let mut info = InstructionInfoFactory::new();
        let (mut written, mut results) = (0, HashMap::new());
        for (_, through) in gotos.values() {
            let table = &code.tables[&through.table];
            let taken = table.owners.iter().map(|&(number, index)| (number, index + 1));
            for place in table.targets.iter().copied().chain(taken).filter(|&place| exists(code, place)) {
                flow.node(place, &mut places);
            }
        }
        let mut done = 0;
        while done < places.len() {
            let place = places[done];
            let (number, index) = place;
            let text = &code.texts[number];
            let ins = &text.code[index];
            let [reads, overwrites, writes] = effect(&mut info, &ins.code);
            let mut node = Node { reads, overwrites, ..Node::default() };
            written |= writes;
            let mut goes_on = false;
            let mut to: Vec<CodePlace> = Vec::new();
            match ins.code.flow_control() {
                _ if ins.code.mnemonic() == Mnemonic::Syscall => {
                    node.reads |= ARGUMENTS | whole(1 << RAX);
                    goes_on = true;
                }
                FlowControl::Next => {
                    if let Some(goto) = loads.get(&place) {
                        node.reads = with_count(whole(1 << goto.index));
                    }
                    goes_on = true;
                }
                FlowControl::Call | FlowControl::IndirectCall => {
                    node.reads |= ARGUMENTS;
                    node.overwrites = if gives_rax(code, object, place, &mut results) {
                        COUNT | whole(1 << RAX)
                    } else {
                        0
                    };
                    goes_on = true;
                    let start = u64::from(ins.start());
                    to.extend(pads.of_call(number, start).map(|(pad, _)| pad));
                }
                FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
                    goes_on = ins.code.flow_control() == FlowControl::ConditionalBranch;
                    match code.branch_place(object, number, index) {
                        Some(target) if exists(code, target) && !code.has(target, mark::FUNCTION) => {
                            to.push(target);
                        }
                        _ => node.reads |= ELSEWHERE,
                    }
                }
                FlowControl::Return => node.returns = true,
                FlowControl::IndirectBranch => {
                    let through = tables[number].get(&(index as u32));
                    let table = through.map(|through| &code.tables[&through.table]);
                    if let Some(goto) = loads.get(&place) {
                        node.reads = with_count(whole(1 << goto.index));
                    }
                    match table {
                        Some(table) if table.form == Form::Distances || gotos.contains_key(&place) => {
                            to.extend(table.targets.iter().filter(|&&target| exists(code, target)));
                        }
                        _ => node.reads |= ELSEWHERE,
                    }
                }
                FlowControl::Interrupt if ins.code.mnemonic() == Mnemonic::Int3 => goes_on = true,
                FlowControl::Interrupt | FlowControl::Exception => (),
                _ => node.reads |= ELSEWHERE,
            }
            if goes_on {
                let next = (number, behind_padding(text, index + 1));
                let is_call =
                    matches!(ins.code.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
                if exists(code, next) && !code.has(next, mark::FUNCTION) {
                    to.push((number, index + 1));
                } else if !is_call {
                    node.reads |= ELSEWHERE;
                }
                // What a function ends with is a call that does not return.
            }
            node.after = to.into_iter().map(|place| flow.node(place, &mut places)).collect();
            nodes.push(node);
            done += 1;
        }
        // A caller of the same object may know which registers a function never writes.
        let kept = if keepers.iter().all(HashSet::is_empty) { 0 } else { whole(1 << R11) };
        let results = RESULTS | ELSEWHERE & !written | kept;
        for node in nodes.iter_mut().filter(|node| node.returns) {
            node.reads |= results;
        }
        flow.solve(&nodes);
        flow
    }

    fn node(&mut self, place: CodePlace, places: &mut Vec<CodePlace>) -> u32 {
        *self.nodes.entry(place).or_insert_with(|| {
            places.push(place);
            places.len() as u32 - 1
        })
    }

    fn solve(&mut self, nodes: &[Node]) {
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
        for (number, node) in nodes.iter().enumerate() {
            for &after in &node.after {
                before[after as usize].push(number as u32);
            }
        }
        self.live = nodes.iter().map(|node| node.reads).collect();
        let mut work: Vec<u32> = (0..nodes.len() as u32).collect();
        while let Some(number) = work.pop() {
            let live = self.live[number as usize];
            for &previous in &before[number as usize] {
                let known = &mut self.live[previous as usize];
                let more = live & !nodes[previous as usize].overwrites & !*known;
                if more != 0 {
                    *known |= more;
                    work.push(previous);
                }
            }
        }
    }

    /// The tables that nothing but units reads: each address that code takes of one is in a register that no other code reads, and no other
    /// jump is there that could go to a label.
    fn closed(
        &self,
        object: &Object,
        tables: &[HashMap<u32, Through>],
        gotos: &BTreeMap<CodePlace, (Goto, Through)>,
    ) -> Vec<Key> {
        let is_other = |&(number, index): &CodePlace| {
            let is_known = || {
                let through = tables[number].get(&(index as u32));
                through.is_some_and(|through| self.code.tables[&through.table].form == Form::Distances)
            };
            self.code.texts[number].code[index].code.flow_control() == FlowControl::IndirectBranch
                && !gotos.contains_key(&(number, index))
                && !is_known()
        };
        if self.nodes.keys().any(is_other) {
            return Vec::new();
        }
        let mut used: BTreeMap<Key, BTreeSet<CodePlace>> = BTreeMap::new();
        for (_, through) in gotos.values() {
            let owners = &self.code.tables[&through.table].owners;
            used.entry(through.table).or_insert_with(|| owners.iter().copied().collect());
        }
        let is_unread = |&(number, index): &CodePlace| {
            let register = self.code.texts[number].code[index].code.op0_register();
            let live = self.nodes.get(&(number, index + 1)).map(|&node| self.live[node as usize]);
            live.is_some_and(|live| live & whole(1 << number_of(register)) == 0)
        };
        used.retain(|_, owners| owners.iter().all(is_unread));
        let function = |&(number, index): &CodePlace| {
            let (start, end) = self.code.texts[number].function_around(index);
            (number, start, end)
        };
        used.retain(|table, owners| {
            let places = self.code.tables[table].targets.iter().chain(owners.iter());
            let functions: BTreeSet<_> = places.map(function).collect();
            let mut jumps = functions
                .into_iter()
                .flat_map(|(number, start, end)| (start..end).map(move |at| (number, at)));
            !jumps.any(|place| is_other(&place))
        });
        let size = |table: &Key| 8 * self.code.tables[table].targets.len() as u64;
        // The table that the byte at an offset of a section belongs to.
        let around = |used: &BTreeMap<Key, BTreeSet<CodePlace>>, section: usize, offset: i64| {
            let offset = u64::try_from(offset).ok()?;
            let (&table, _) = used.range(..=(section, offset)).next_back()?;
            (table.0 == section && offset < table.1 + size(&table)).then_some(table)
        };
        for symbol in object.symbols.iter().filter(|symbol| symbol.binding != sym::LOCAL) {
            let table = symbol.section().and_then(|section| around(&used, section, symbol.value as i64));
            table.map(|table| used.remove(&table));
        }
        for section in object.sections.iter().filter(|section| section.is_loaded() && !section.is_code()) {
            for reloc in &section.relocs {
                let place = object.resolve(reloc.symbol, reloc.addend);
                let table = place.and_then(|(section, offset)| around(&used, section, offset));
                table.map(|table| used.remove(&table));
            }
        }
        for (number, text) in self.code.texts.iter().enumerate() {
            for (index, ins) in text.code.iter().enumerate() {
                for reloc in text.relocs(object, index) {
                    let to_end = if is_relative(reloc.kind) { ins.code.next_ip() - reloc.offset } else { 0 };
                    let place = object.resolve(reloc.symbol, reloc.addend + to_end as i64);
                    let table = place.and_then(|(section, offset)| around(&used, section, offset));
                    if let Some(table) = table.filter(|table| !used[table].contains(&(number, index))) {
                        used.remove(&table);
                    }
                }
            }
        }
        used.into_keys().collect()
    }

    /// By jump: registers for the table's address and for the target, if there are any.
    fn choose(&self, gotos: &BTreeMap<CodePlace, (Goto, Through)>) -> BTreeMap<CodePlace, (Reg, Reg)> {
        let mut live: HashMap<Key, Lanes> = HashMap::new();
        for (_, through) in gotos.values() {
            live.entry(through.table).or_insert_with(|| {
                let targets = &self.code.tables[&through.table].targets;
                targets.iter().fold(0, |live, target| live | self.live[self.nodes[target] as usize])
            });
        }
        let choice = |goto: &Goto, live: Lanes| {
            // What the jump itself leaves in rax is no number of arguments.
            let is_free = |reg: Reg| {
                let own = reg == goto.index || Some(reg) == goto.target;
                live & (whole(1 << reg) | if reg == RAX && !own { COUNT } else { 0 }) == 0
            };
            let other = |than: [Reg; 2]| CHOICE.into_iter().find(|reg| is_free(*reg) && !than.contains(reg));
            let target = goto.target.or(Some(goto.index)).filter(|&reg| is_free(reg));
            let target = match goto.target {
                Some(_) => target?,
                None => target.or_else(|| other([goto.base, goto.index]))?,
            };
            let base = match is_free(goto.base) && goto.base != target {
                true => goto.base,
                false => other([target, goto.index])?,
            };
            Some((base, target))
        };
        let chosen = gotos
            .iter()
            .filter_map(|(&place, (goto, through))| Some((place, choice(goto, live[&through.table])?)));
        chosen.collect()
    }
}

fn exists(code: &Code, place: CodePlace) -> bool {
    place.1 < code.texts[place.0].code.len()
}

/// Whether a call overwrites rax: all do that leave the object, others if the function writes it. What else calls change is not
/// counted on: compilers know what functions of the same object keep.
fn gives_rax(
    code: &Code,
    object: &Object,
    (number, index): CodePlace,
    known: &mut HashMap<CodePlace, bool>,
) -> bool {
    if code.texts[number].code[index].code.flow_control() == FlowControl::IndirectCall {
        return true;
    }
    let callee = code.branch_place(object, number, index).filter(|&callee| exists(code, callee));
    let Some((number, start)) = callee else { return true };
    *known.entry((number, start)).or_insert_with(|| {
        let text = &code.texts[number];
        let mut info = InstructionInfoFactory::new();
        (start..text.function_around(start).1).any(|at| liveness::writes(&mut info, &text.code[at].code, RAX))
    })
}

/// The instruction that control is at behind the padding from `index` on.
fn behind_padding(text: &Text, index: usize) -> usize {
    let is_padding = |ins: &&Ins| ins.code.mnemonic() == Mnemonic::Nop && !ins.has(mark::LABEL);
    index + text.code[index..].iter().take_while(is_padding).count()
}
