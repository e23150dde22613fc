//! Functions that no symbol names: local symbols were stripped (`strip -x`, `ld -r -x`), or the compiler made none, as clang for the
//! resume function of `std::noop_coroutine()`.
//!
//! An address of code that is taken belongs to a function or to a label inside one. Control enters the two with different frames, so
//! it matters which it is. Symbols and unwind tables say where functions begin and end; where they are silent, code does: a label inside
//! a function has a jump through a pointer there that may lead to it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use iced_x86::{FlowControl, Mnemonic, OpKind, Register};

use crate::code::{Code, CodePlace, Key, Seems};
use crate::decode::{Ins, Text, mark};
use crate::dwarf;
use crate::elf::{Object, Symbol, reloc, sym};
use crate::encode::{R10, R11, Reg, number};
use crate::error::{Error, Reason};
use crate::frames::{ENTRY, Frames, State};
use crate::liveness::{Effect, Liveness};
use crate::stack::{self, constant_move, writes_rsp};
use crate::switch::Goto;

/// Most instructions of padding between two functions.
const LONGEST_PADDING: usize = 512;

/// Marks the functions. Places of which it cannot be told go into [`Code::unsure`].
pub(crate) fn mark(code: &mut Code, object: &Object) {
    let named = named(code, object);
    let taken = code.texts.iter().enumerate().flat_map(|(number, text)| {
        let taken = text.code.iter().enumerate().filter(|(_, ins)| ins.has(mark::TAKEN));
        taken.map(move |(index, _)| (number, index))
    });
    let places: BTreeSet<CodePlace> =
        named.iter().copied().chain(taken).filter(|&place| may_begin(code, place)).collect();
    let firsts = nameless_firsts(code, object, &named);
    if places.is_empty() && firsts.is_empty() {
        return;
    }
    let bodies = Bodies::of(object);
    let mut budget = 1_000_000 + 4 * code.texts.iter().map(|text| text.code.len()).sum::<usize>();
    let mut live = Liveness::new(HashSet::new());
    for place in firsts {
        if bodies.parts.contains_key(&key(code, place)) {
            code.unsure.push((place, Seems::LabelOfPart(None)));
        }
    }
    let (mut starts, mut rest) = (Vec::new(), Vec::new());
    for &place in &places {
        let at = key(code, place);
        if bodies.hold(at) {
            continue;
        }
        if let Some(&depth) = bodies.parts.get(&at) {
            code.unsure.push((place, Seems::LabelOfPart(depth)));
            continue;
        }
        let whole = leaves_whole(code, object, (&bodies, &places), place, &mut live, &mut budget);
        if bodies.begins.contains(&at) || whole != Some(false) && bodies.end_before(code, place) {
            starts.push(place);
        } else {
            rest.push((place, whole));
        }
    }
    for place in starts {
        code.mark(place, mark::LABEL | mark::FUNCTION);
    }
    let (mut functions, mut known, mut starts) = (HashMap::new(), HashMap::new(), Vec::new());
    for (place, whole) in rest {
        let text = &code.texts[place.0];
        let functions = functions.entry(place.0).or_insert_with(|| text.starts(mark::FUNCTION));
        let (first, end) = text.around(functions, place.1);
        let gotos = known.entry((place.0, first));
        let gotos = *gotos.or_insert_with(|| Gotos::of(code, &bodies, place.0, first..end, &mut live));
        let begins = begins_frame(text, place.1);
        let is_start = match whole {
            Some(whole) => whole && gotos < Gotos::Table,
            // What code takes may be a label that another function jumps to (`__builtin_setjmp`).
            None => gotos == Gotos::None && (named.contains(&place) || begins),
        };
        if is_start {
            starts.push(place);
        } else {
            let seems = if whole.unwrap_or(begins) { Seems::Function } else { Seems::Label };
            code.unsure.push((place, seems));
        }
    }
    for place in starts {
        code.mark(place, mark::LABEL | mark::FUNCTION);
    }
}

/// Refuses what must be a function, and was taken for a label all the same: control would come there with a wrong frame.
pub(crate) fn refuse_unsure(file: &str, object: &Object, code: &Code, frames: &Frames) -> Result<(), Error> {
    for &((number, index), seems) in &code.unsure {
        let is_wrong = match (frames[number].before[index], seems) {
            (None, _) => true,
            (Some(state), Seems::LabelOfPart(depth)) => depth.map(State::Constant) != Some(state),
            (Some(state), Seems::Function) => state != ENTRY,
            (Some(_), Seems::Label) => false,
        };
        if is_wrong {
            let reason = Reason::new(
                "a pointer leads here, to a function or to a label inside one: no symbol and no unwind table tells which",
                "keep the object's local symbols (strip -x, strip --strip-unneeded and ld -x remove them), or compile it with \
                 -fasynchronous-unwind-tables",
            );
            return Err(code.texts[number].refuse(file, object, index, reason));
        }
    }
    Ok(())
}

/// The places of code that data names, but for cases of switches.
fn named(code: &Code, object: &Object) -> HashSet<CodePlace> {
    let mut named = HashSet::new();
    for (index, section) in object.sections.iter().enumerate() {
        if !section.is_loaded() || section.is_code() || dwarf::owns(section) {
            continue;
        }
        for (number, reloc) in section.relocs.iter().enumerate() {
            let Some((target, offset)) = object.resolve(reloc.symbol, reloc.addend) else { continue };
            let is_address = matches!(reloc.kind, reloc::ABS64 | reloc::PC32 | reloc::PC64);
            if is_address && code.table_base(object, index, &section.relocs, number).is_none() {
                named.extend(code.place(target, offset).ok().flatten());
            }
        }
    }
    named
}

/// What sections of code begin with, where data leads there and no symbol does.
fn nameless_firsts(code: &Code, object: &Object, named: &HashSet<CodePlace>) -> Vec<CodePlace> {
    let at_start = object.symbols.iter().filter(|symbol| symbol.kind != sym::SECTION && symbol.value == 0);
    let begun: HashSet<usize> = at_start.filter_map(Symbol::section).collect();
    let firsts = (0..code.texts.len()).map(|number| (number, 0));
    firsts.filter(|place| named.contains(place) && !begun.contains(&code.texts[place.0].section)).collect()
}

/// Whether code at a place makes room on the stack, as functions begin.
fn begins_frame(text: &Text, index: usize) -> bool {
    let is_label = text.code[index].code.mnemonic() == Mnemonic::Endbr64;
    text.code.get(index + usize::from(is_label)).is_some_and(|ins| stack::effect(ins).delta < 0)
}

/// Section and offset of a place.
fn key(code: &Code, (number, index): CodePlace) -> Key {
    let text = &code.texts[number];
    (text.section, text.code[index].start().into())
}

fn is_padding(ins: &Ins) -> bool {
    matches!(ins.code.mnemonic(), Mnemonic::Nop | Mnemonic::Int3)
}

/// The instruction behind the padding from `index` on.
fn behind_padding(text: &Text, index: usize) -> usize {
    let padding = text.code[index..].iter().take(LONGEST_PADDING).take_while(|ins| is_padding(ins));
    index + padding.count()
}

/// Whether a place is none whose nature is known, and control does not come there from the instruction above. (What a section begins
/// with is looked at by [`crate::refs`].)
fn may_begin(code: &Code, place: CodePlace) -> bool {
    let text = &code.texts[place.0];
    let is_known = code.has(place, mark::FUNCTION | mark::PART | mark::INNER);
    if place.1 == 0 || place.1 >= text.code.len() || is_known {
        return false;
    }
    let above = text.code[..place.1].iter().rev().take(LONGEST_PADDING).find(|ins| !is_padding(ins));
    above.is_none_or(|ins| {
        let is_call = matches!(ins.code.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
        ins.ends_flow() || is_call
    })
}

/// The jumps of some code that may lead to a label whose address is taken: indirect ones, but for those to a sum, as of switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gotos {
    None,
    /// They may be calls of other functions as well.
    Pointer,
    /// They take an entry of a table.
    Table,
}

impl Gotos {
    /// In all of an object.
    fn of(code: &Code, bodies: &Bodies, number: usize, region: Range<usize>, live: &mut Liveness) -> Gotos {
        let text = &code.texts[number];
        let jumps = region.filter(|&at| text.code[at].code.flow_control() == FlowControl::IndirectBranch);
        let kinds = jumps.filter(|&at| !bodies.hold(key(code, (number, at)))).map(|at| {
            match Goto::of(text, at, live) {
                Some(_) => Gotos::Table,
                None if is_sum(text, at, live) => Gotos::None,
                None => Gotos::Pointer,
            }
        });
        kinds.max().unwrap_or(Gotos::None)
    }
}

/// Whether the register that `jump` goes through was added up right before.
fn is_sum(text: &Text, jump: usize, live: &mut Liveness) -> bool {
    let branch = &text.code[jump].code;
    if branch.op0_kind() != OpKind::Register {
        return false;
    }
    let target = number(branch.op0_register());
    for at in (0..jump).rev() {
        let ins = &text.code[at];
        if text.code[at + 1].has(mark::LABEL) || ins.code.flow_control() != FlowControl::Next {
            return false;
        }
        if live.writes(text, at, target) {
            return ins.code.mnemonic() == Mnemonic::Add;
        }
    }
    false
}

/// Where functions, and parts of them, begin and end, by symbols and unwind tables.
struct Bodies {
    /// By section, ordered: start, end, and the last end of those up to here.
    ranges: HashMap<usize, Vec<(u64, u64, u64)>>,
    ends: HashSet<Key>,
    /// Where the unwind tables have a function begin, and where a part with a frame.
    begins: HashSet<Key>,
    parts: HashMap<Key, Option<i32>>,
}

impl Bodies {
    fn of(object: &Object) -> Bodies {
        let mut bodies = Bodies {
            ranges: HashMap::new(),
            ends: HashSet::new(),
            begins: HashSet::new(),
            parts: HashMap::new(),
        };
        let functions = object.symbols.iter().filter(|symbol| matches!(symbol.kind, sym::FUNC | sym::IFUNC));
        for symbol in functions {
            if let Some(section) = symbol.section() {
                bodies.add(section, symbol.value, symbol.size);
            }
        }
        for frame in dwarf::frames(object) {
            let (section, start) = frame.start;
            bodies.add(section, start, frame.len);
            if frame.is_entry {
                bodies.begins.insert(frame.start);
            } else {
                bodies.parts.insert(frame.start, frame.depth);
            }
        }
        for ranges in bodies.ranges.values_mut() {
            ranges.sort_unstable();
            for index in 1..ranges.len() {
                ranges[index].2 = ranges[index].2.max(ranges[index - 1].2);
            }
        }
        bodies
    }

    fn add(&mut self, section: usize, start: u64, len: u64) {
        let end = start.saturating_add(len);
        if len > 0 {
            self.ranges.entry(section).or_default().push((start, end, end));
            self.ends.insert((section, end));
        }
    }

    /// Whether the place lies inside a function, behind its start.
    fn hold(&self, (section, offset): Key) -> bool {
        let Some(ranges) = self.ranges.get(&section) else { return false };
        let before = &ranges[..ranges.partition_point(|range| range.0 < offset)];
        before.last().is_some_and(|range| range.2 > offset)
    }

    /// Whether one ends right before `place`, or before the padding there.
    fn end_before(&self, code: &Code, place: CodePlace) -> bool {
        let text = &code.texts[place.0];
        let padding =
            text.code[..place.1].iter().rev().take(LONGEST_PADDING).take_while(|ins| is_padding(ins));
        let mut from = padding.map(Ins::start).chain([text.code[place.1].start()]);
        from.any(|at| self.ends.contains(&(text.section, at.into())))
    }
}

/// What is known on the way from a place: how far rsp is below where it was there, and how far rbp.
#[derive(Clone, Copy)]
struct Depth {
    rsp: Option<i32>,
    rbp: Option<i32>,
    /// By [`NOT_PASSED`]: whether the register was written.
    written: [bool; 2],
}

/// Registers in which no function is given anything. (r10 is that of nested functions.)
const NOT_PASSED: [Reg; 2] = [R10, R11];

/// Whether code from `place` on returns with rsp where it was, as a function does; or, as the inside of one does, with another one, after it
/// has read what functions are not given, or in another function. `None` if it does none of this as far as can be seen.
fn leaves_whole(
    code: &Code,
    object: &Object,
    (bodies, places): (&Bodies, &BTreeSet<CodePlace>),
    place: CodePlace,
    live: &mut Liveness,
    budget: &mut usize,
) -> Option<bool> {
    let number = place.0;
    let text = &code.texts[number];
    let mut whole = None;
    let mut seen = HashSet::new();
    let mut work = vec![(place.1, Depth { rsp: Some(0), rbp: None, written: [false; 2] })];
    while let Some((index, mut depth)) = work.pop() {
        let Some(ins) = text.code.get(index) else { continue };
        if !seen.insert(index) {
            continue;
        }
        *budget = budget.checked_sub(1)?;
        let is_call = matches!(ins.code.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
        for (written, reg) in depth.written.iter_mut().zip(NOT_PASSED) {
            if !*written && live.effect(text, index, reg) == Effect::Reads {
                return Some(false);
            }
            *written |= is_call || live.writes(text, index, reg);
        }
        depth.apply(ins);
        let jumps = matches!(
            ins.code.flow_control(),
            FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch
        );
        let mut leaves = ins.code.flow_control() == FlowControl::Return;
        if jumps && ins.is_near_branch() {
            match code.branch_place(object, number, index) {
                Some(target) if target.1 >= code.texts[target.0].code.len() => (),
                Some(target) if code.has(target, mark::FUNCTION) => leaves = true,
                Some(target) if bodies.hold(key(code, target)) => return Some(false),
                Some(target) if target.0 == number => work.push((target.1, depth)),
                Some(_) => (),
                None => leaves = true,
            }
        }
        match depth.rsp {
            Some(below) if below < 0 || leaves && below > 0 => return Some(false),
            Some(0) if leaves => whole = Some(true),
            _ => (),
        }
        // Calls that do not return stand at the end of functions.
        let behind = behind_padding(text, index + 1);
        let ends = code.has((number, behind), mark::FUNCTION) || places.contains(&(number, behind));
        if !ins.ends_flow() && !ends {
            work.push((index + 1, depth));
        }
    }
    whole
}

impl Depth {
    fn apply(&mut self, ins: &Ins) {
        let code = &ins.code;
        let to_rbp = code.op_count() > 0
            && code.op0_kind() == OpKind::Register
            && code.op0_register().full_register() == Register::RBP;
        match code.mnemonic() {
            Mnemonic::Push => self.rsp = self.rsp.and_then(|below| below.checked_add(8)),
            Mnemonic::Pop => {
                self.rsp = self.rsp.and_then(|below| below.checked_sub(8));
                self.rbp = self.rbp.filter(|_| !to_rbp);
            }
            Mnemonic::Leave => (self.rsp, self.rbp) = (self.rbp.and_then(|below| below.checked_sub(8)), None),
            Mnemonic::Enter => (self.rsp, self.rbp) = (None, None),
            _ if writes_rsp(ins) => {
                self.rsp = match (constant_move(ins), code.mnemonic(), code.op1_kind()) {
                    (Some(by), ..) => self.rsp.and_then(|below| below.checked_sub(by)),
                    (_, Mnemonic::Mov, OpKind::Register) if code.op1_register() == Register::RBP => self.rbp,
                    (_, Mnemonic::Lea, _)
                        if code.memory_base() == Register::RBP && code.memory_index() == Register::None =>
                    {
                        let by = i32::try_from(code.memory_displacement64() as i64).ok();
                        self.rbp.zip(by).and_then(|(below, by)| below.checked_sub(by))
                    }
                    _ => None,
                }
            }
            Mnemonic::Mov
                if to_rbp && code.op1_kind() == OpKind::Register && code.op1_register() == Register::RSP =>
            {
                self.rbp = self.rsp;
            }
            Mnemonic::Cmp | Mnemonic::Test => (),
            _ if to_rbp => self.rbp = None,
            _ => (),
        }
    }
}
