//! Values that live in r10 or r11 across a call, although the calling convention lets the callee change both.
//!
//! A compiler keeps one there where it sees that the callee leaves the register alone (-fipa-ra), even if it then calls through a
//! pointer, or where it was told that functions save it (-fcall-saved-r10). The rewriter takes both registers for itself, in checked
//! branches for instance. So such a value waits in the callee's return slot of the data stack, which no callee uses.
//!
//! The slot has eight bytes. Two values share it if only the low half of each is wanted: LLVM merges ways of which some leave both
//! registers undefined, so that both seem to live across the calls of those ways.

use std::collections::{HashMap, HashSet};

use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};

use crate::code::{Code, Through};
use crate::decode::{Ins, Text, mark, memory_operand};
use crate::elf::{Object, reloc, sym};
use crate::encode::{R10, R11, Reg};
use crate::error::{Error, Reason};
use crate::liveness::Liveness;
use crate::returns_twice::returns_twice;
use crate::switch::is_plain_pointer;

/// A function: its text and its number there.
type Function = (usize, usize);

/// The registers in question, and their bits in a set of [`Lanes`]: the low byte, the next one, the rest of the low half, and the high
/// half.
const REGISTERS: [(Reg, Lanes); 2] = [(R10, 0b0000_1111), (R11, 0b1111_0000)];
const BYTE: Lanes = 0b0001_0001;
const WORD: Lanes = 0b0011_0011;
const LOW_HALF: Lanes = 0b0111_0111;
const ALL: Lanes = 0b1111_1111;

/// Parts of r10 and r11: a byte set by `sete` and read again is a value of its own.
type Lanes = u8;

/// What waits in a callee's return slot.
#[derive(Clone, Copy)]
pub(crate) enum Wait {
    One(Reg),
    /// The low halves of r10 and of r11, of which the high ones are wanted no more.
    LowHalves,
}

/// What the rewriter has to do about one object.
pub(crate) struct Across {
    /// By text and call: what waits in the callee's return slot.
    pub(crate) waits: Vec<HashMap<u32, Wait>>,
    /// By text: functions, by their first instructions, whose callers read r11 when they come back.
    pub(crate) keepers: Vec<HashSet<usize>>,
}

/// Finds the values. Marks the calls across which r11's is kept. `tables`: see [`crate::tables::find`].
///
/// # Errors
/// Two values at one call, of which one is wider than 32 bits.
pub(crate) fn find(
    file: &str,
    code: &mut Code,
    object: &Object,
    tables: &[HashMap<u32, Through>],
) -> Result<Across, Error> {
    let texts = code.texts.len();
    let mut across = Across { waits: vec![HashMap::new(); texts], keepers: vec![HashSet::new(); texts] };
    let mut graph = Graph::of(code, object, tables);
    graph.spread(code);
    let flow = Flow::of(code, object, tables, &graph);
    let live = flow.live();
    let mut without_value = [Seen::default(), Seen::default()];
    let (mut results, mut spared) = (Vec::new(), Vec::new());
    for (&(number, index), call) in &graph.calls {
        let lanes = live[number][index];
        let mut waits = None;
        let several = REGISTERS.into_iter().all(|(_, bits)| lanes & bits != 0);
        // What `sete` left of earlier values, above the bytes that it sets again later.
        let torn = several && call.by_memory && lanes & BYTE == 0;
        for ((reg, bits), seen) in REGISTERS.into_iter().zip(&mut without_value) {
            if lanes & bits == 0
                || torn
                || several && flow.is_garbage(&live, &graph, (number, index), bits, seen)
            {
                continue;
            }
            match call.callee {
                Some(callee) if graph.results(call) & bits != 0 => {
                    results.extend((reg == R11).then_some(callee));
                }
                // The rewriter takes r10 for the targets of branches alone.
                Some(callee) if reg == R10 && !graph.of[&callee].takes_r10 => (),
                _ if graph.kept(code, (number, index), call) & bits == 0 => {
                    // Control does not come back, mostly. There are conventions by which every function keeps r10, though.
                    waits = waits.or((reg == R10).then_some((Wait::One(reg), false)));
                }
                _ if matches!(waits, Some((_, true))) && lanes & !LOW_HALF == 0 => {
                    waits = Some((Wait::LowHalves, true));
                }
                _ if matches!(waits, Some((_, true))) => {
                    let reason = Reason::new(
                        "values live in r10 and in r11 across this call",
                        "compile with -fno-ipa-ra and -maccumulate-outgoing-args, and without -fcall-saved-r10 and -fcall-saved-r11",
                    );
                    return Err(code.texts[number].refuse(file, object, index, reason));
                }
                _ => waits = Some((Wait::One(reg), true)),
            }
        }
        if let Some((wait, _)) = waits {
            across.waits[number].insert(index as u32, wait);
            if matches!(wait, Wait::One(R11) | Wait::LowHalves) {
                spared.push((number, index));
            }
        }
    }
    for call in spared {
        code.mark(call, mark::SPARES_R11);
    }
    // What returns a value in r11 may have it from another function.
    while let Some(function) = results.pop() {
        let (number, index) = function;
        if across.keepers[number].insert(code.texts[number].functions[index] as usize) {
            results.extend(&graph.of[&function].callees);
        }
    }
    Ok(across)
}

/// What is known of a function, then of it and of all that it calls.
#[derive(Default)]
struct Known {
    callees: Vec<Function>,
    /// Registers that it writes.
    writes: Lanes,
    /// Registers that it uses, and those that it puts on the stack before any other use, to restore them perhaps.
    uses: Lanes,
    stores: Lanes,
    /// Registers that it takes from the stack.
    loads: Lanes,
    /// Registers that it changes for good: they hold a result, or nothing.
    results: Lanes,
    /// Calls what the compiler could not see into.
    unknown: bool,
    /// Has branches for whose target the rewriter takes r10, or that may lead anywhere.
    takes_r10: bool,
}

struct Call {
    caller: Function,
    /// None for pointers, and for functions of other objects.
    callee: Option<Function>,
    indirect: bool,
    /// Through a pointer in an object, as calls of virtual functions are: no compiler knows the callee.
    by_memory: bool,
}

/// Who calls whom, as far as the object shows it.
struct Graph {
    of: HashMap<Function, Known>,
    /// By text and instruction.
    calls: std::collections::BTreeMap<(usize, usize), Call>,
}

impl Graph {
    fn of(code: &Code, object: &Object, tables: &[HashMap<u32, Through>]) -> Graph {
        let mut graph = Graph { of: HashMap::new(), calls: std::collections::BTreeMap::new() };
        for (number, text) in code.texts.iter().enumerate() {
            for function in 0..text.functions.len() {
                let start = text.functions[function] as usize;
                let end = text.functions.get(function + 1).map_or(text.code.len(), |&next| next as usize);
                let mut known = Known::default();
                for index in start..end {
                    graph.look_at(code, object, tables, ((number, function), index), &mut known);
                }
                let last = text.code[start..end].iter().rfind(|ins| ins.code.mnemonic() != Mnemonic::Nop);
                if end < text.code.len() && last.is_some_and(|last| !last.ends_flow()) {
                    known.callees.push((number, function + 1));
                }
                known.callees.sort_unstable();
                known.callees.dedup();
                graph.of.insert((number, function), known);
            }
        }
        graph
    }

    fn look_at(
        &mut self,
        code: &Code,
        object: &Object,
        tables: &[HashMap<u32, Through>],
        (caller, index): (Function, usize),
        known: &mut Known,
    ) {
        let text = &code.texts[caller.0];
        let ins = &text.code[index];
        let place = (caller.0, index);
        // For a jump to the inside of a function, the label restores r10.
        known.takes_r10 |= ins.has(mark::ENTRY) && !ins.has(mark::FUNCTION);
        match ins.code.flow_control() {
            FlowControl::Next => {
                for (reg, bits) in REGISTERS {
                    known.writes |= if writes(&ins.code, reg) { bits } else { 0 };
                    known.loads |= if loads(&ins.code, reg) { bits } else { 0 };
                    if known.uses & bits == 0 && uses(&ins.code, reg) {
                        known.uses |= bits;
                        known.stores |= if stores(&ins.code, reg) { bits } else { 0 };
                    }
                }
            }
            FlowControl::IndirectCall => {
                match named(code, object, place) {
                    // rustc and -fno-plt call this way what other objects could define, and the linker makes it a direct call.
                    Named::Defined(callee) => {
                        if callee != caller {
                            known.callees.push(callee);
                        }
                        self.calls.insert(
                            place,
                            Call { caller, callee: Some(callee), indirect: false, by_memory: false },
                        );
                    }
                    by => {
                        let indirect = by == Named::Pointer;
                        known.takes_r10 |= takes_r10(ins);
                        known.unknown |= !indirect;
                        let by_memory =
                            ins.code.op0_kind() == OpKind::Memory && !ins.code.is_ip_rel_memory_operand();
                        self.calls.insert(place, Call { caller, callee: None, indirect, by_memory });
                    }
                }
            }
            // A computed goto, or a jump to another function's frame: r10 is theirs. A switch has registers of its own.
            FlowControl::IndirectBranch => {
                known.takes_r10 |= takes_r10(ins) || !tables[caller.0].contains_key(&(index as u32));
            }
            FlowControl::Call if ins.code.mnemonic() == Mnemonic::Syscall => known.unknown = true,
            FlowControl::Call | FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch
                if ins.is_near_branch() =>
            {
                let is_call = ins.code.flow_control() == FlowControl::Call;
                let callee = match code.branch_place(object, caller.0, index) {
                    Some((other, target)) if target < code.texts[other].code.len() => {
                        Some((other, code.texts[other].function_of(target)))
                    }
                    _ => None,
                };
                match callee {
                    Some(callee) if callee != caller => known.callees.push(callee),
                    Some(_) => (),
                    None => {
                        known.unknown = true;
                        known.takes_r10 = true;
                    }
                }
                if is_call {
                    self.calls.insert(place, Call { caller, callee, indirect: false, by_memory: false });
                }
            }
            _ => (),
        }
    }

    /// A function does what its callees do.
    fn spread(&mut self, code: &Code) {
        let mut callers: HashMap<Function, Vec<Function>> = HashMap::new();
        for (&caller, known) in &self.of {
            for &callee in &known.callees {
                callers.entry(callee).or_default().push(caller);
            }
        }
        // A cold part counts on what its function has put on the stack.
        for (&(number, function), callers) in &callers {
            let start = code.texts[number].functions[function] as usize;
            if code.texts[number].code.get(start).is_some_and(|ins| !ins.has(mark::FUNCTION)) {
                let stores = callers.iter().fold(0, |stores, caller| stores | self.of[caller].stores);
                self.of.get_mut(&(number, function)).expect("a function").stores |= stores;
            }
        }
        self.forget_what_stays_on_the_stack(code);
        for known in self.of.values_mut() {
            known.results = known.writes & !known.stores;
        }
        let mut work: Vec<Function> = self.of.keys().copied().collect();
        while let Some(callee) = work.pop() {
            let known = &self.of[&callee];
            let (results, unknown, takes_r10) = (known.results, known.unknown, known.takes_r10);
            for &caller in callers.get(&callee).into_iter().flatten() {
                let known = self.of.get_mut(&caller).expect("every caller is a function");
                let before = (known.results, known.unknown, known.takes_r10);
                known.results |= results;
                known.unknown |= unknown;
                known.takes_r10 |= takes_r10;
                if before != (known.results, known.unknown, known.takes_r10) {
                    work.push(caller);
                }
            }
        }
    }

    /// What neither a function nor its cold parts take from the stack again was not put there to be restored. GCC makes a push of any
    /// register that holds nothing out of `sub $8,%rsp` where code is to be small.
    fn forget_what_stays_on_the_stack(&mut self, code: &Code) {
        let mut parts: HashMap<Function, Vec<Function>> = HashMap::new();
        for (&function, known) in &self.of {
            for &(number, part) in &known.callees {
                let text = &code.texts[number];
                let start = text.functions[part] as usize;
                if text.code.get(start).is_some_and(|ins| !ins.has(mark::FUNCTION)) {
                    parts.entry(function).or_default().push((number, part));
                    parts.entry((number, part)).or_default().push(function);
                }
            }
        }
        let mut seen = HashSet::new();
        let functions: Vec<Function> = self.of.keys().copied().collect();
        for function in functions {
            let (mut whole, mut next) = (Vec::new(), vec![function]);
            while let Some(function) = next.pop() {
                if seen.insert(function) {
                    whole.push(function);
                    next.extend(parts.get(&function).into_iter().flatten());
                }
            }
            let loads = whole.iter().fold(0, |loads, function| loads | self.of[function].loads);
            for function in whole {
                self.of.get_mut(&function).expect("a function").stores &= loads;
            }
        }
    }

    /// The registers in which a call may give results, or in which it leaves nothing. A caller that puts one on the stack may be of
    /// those that restore it, and expect that of others.
    fn results(&self, call: &Call) -> Lanes {
        call.callee.map_or(0, |callee| self.of[&callee].results & !self.of[&call.caller].stores)
    }

    /// The registers that a caller can count on to be kept: the compiler saw into the callee, or the caller is itself of those that
    /// restore the register. By some conventions all functions keep r10 (preserve_most): then the caller goes on right behind the
    /// call, which no other way reaches.
    fn kept(&self, code: &Code, (number, index): (usize, usize), call: &Call) -> Lanes {
        let seen = call.indirect || call.callee.is_some_and(|callee| !self.of[&callee].unknown);
        let next = code.texts[number].code.get(index + 1);
        let comes_back = next.is_some_and(|next| !next.has(mark::LABEL));
        match seen {
            true => ALL,
            false => self.of[&call.caller].stores | if comes_back { REGISTERS[0].1 } else { 0 },
        }
    }
}

/// Whether the target of an indirect branch has to come into a register before its check.
fn takes_r10(ins: &Ins) -> bool {
    ins.code.op0_kind() != OpKind::Register
        || crate::encode::is_reserved_target(crate::encode::number(ins.code.op0_register()))
}

/// What an indirect call calls.
#[derive(PartialEq, Eq)]
enum Named {
    /// A function of this object, through the global offset table.
    Defined(Function),
    /// One of another object.
    Undefined,
    Pointer,
}

fn named(code: &Code, object: &Object, (number, index): (usize, usize)) -> Named {
    let text = &code.texts[number];
    let is_got = |kind| matches!(kind, reloc::GOTPCREL | reloc::GOTPCRELX | reloc::REX_GOTPCRELX);
    let got = |index| text.relocs(object, index).iter().find(|reloc| is_got(reloc.kind));
    let Some(reloc) = got(index) else {
        let loaded = loaded(text, index).and_then(got);
        let is_undefined = loaded.is_some_and(|reloc| object.symbols[reloc.symbol as usize].is_undefined());
        return if is_undefined { Named::Undefined } else { Named::Pointer };
    };
    let symbol = &object.symbols[reloc.symbol as usize];
    if symbol.is_undefined() {
        return Named::Undefined;
    }
    if symbol.binding == sym::WEAK {
        // Another object's may take its place.
        return Named::Pointer;
    }
    let addend = reloc.addend + (text.code[index].code.next_ip() - reloc.offset) as i64;
    let place = object
        .resolve(reloc.symbol, addend)
        .and_then(|(section, offset)| code.place(section, offset).ok()?);
    match place {
        Some((other, target)) if target < code.texts[other].code.len() => {
            Named::Defined((other, code.texts[other].function_of(target)))
        }
        _ => Named::Pointer,
    }
}

/// How far before a call its target may be loaded: beyond that, it counts as any pointer.
const NEAR: usize = 100;

/// The instruction that loads the register that a call goes through, if control comes from there to the call and no other way.
fn loaded(text: &Text, call: usize) -> Option<usize> {
    if text.code[call].code.op0_kind() != OpKind::Register {
        return None;
    }
    let target = text.code[call].code.op0_register().full_register();
    let mut info = InstructionInfoFactory::new();
    for index in (call.saturating_sub(NEAR)..call).rev() {
        let (ins, next) = (&text.code[index], &text.code[index + 1]);
        if next.has(mark::LABEL | mark::FUNCTION | mark::ENTRY | mark::CASE | mark::PAD) || ins.ends_flow() {
            return None;
        }
        let is_call = matches!(ins.code.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
        if is_call && !KEPT_BY_CALLEES.contains(&target) {
            return None;
        }
        let writes = info.info(&ins.code).used_registers().iter().any(|used| {
            used.register().full_register() == target
                && !matches!(used.access(), OpAccess::Read | OpAccess::CondRead)
        });
        if writes {
            let loads = ins.code.mnemonic() == Mnemonic::Mov && ins.code.op0_register() == target;
            return loads.then_some(index);
        }
    }
    None
}

const KEPT_BY_CALLEES: [Register; 6] =
    [Register::RBX, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];

fn is(register: Register, reg: Reg) -> bool {
    register.is_gpr() && crate::encode::number(register) == reg
}

fn uses(code: &Instruction, reg: Reg) -> bool {
    (0..code.op_count()).any(|n| code.op_kind(n) == OpKind::Register && is(code.op_register(n), reg))
        || memory_operand(code).is_some() && (is(code.memory_base(), reg) || is(code.memory_index(), reg))
}

fn writes(code: &Instruction, reg: Reg) -> bool {
    code.op_count() > 0
        && code.op0_kind() == OpKind::Register
        && is(code.op0_register(), reg)
        && !matches!(code.mnemonic(), Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Push | Mnemonic::Bt)
}

/// Whether `code` puts `reg` on the stack.
fn stores(code: &Instruction, reg: Reg) -> bool {
    match code.mnemonic() {
        Mnemonic::Push => code.op0_kind() == OpKind::Register && is(code.op0_register(), reg),
        Mnemonic::Mov => {
            code.op0_kind() == OpKind::Memory
                && code.op1_kind() == OpKind::Register
                && code.op1_register().size() == 8
                && is(code.op1_register(), reg)
                && matches!(code.memory_base(), Register::RSP | Register::RBP)
        }
        _ => false,
    }
}

/// Whether `code` takes `reg` from the stack.
fn loads(code: &Instruction, reg: Reg) -> bool {
    match code.mnemonic() {
        Mnemonic::Pop => code.op0_kind() == OpKind::Register && is(code.op0_register(), reg),
        Mnemonic::Mov => {
            code.op1_kind() == OpKind::Memory
                && code.op0_kind() == OpKind::Register
                && code.op0_register().size() == 8
                && is(code.op0_register(), reg)
                && matches!(code.memory_base(), Register::RSP | Register::RBP)
        }
        _ => false,
    }
}

/// Liveness of the two registers in a whole object, where calls do not change what their callees leave.
struct Flow<'a> {
    code: &'a Code,
    /// By text: its first node.
    first: Vec<usize>,
    /// By node: what it reads, what it overwrites, and what it writes in any way, if it is no call.
    reads: Vec<Lanes>,
    kills: Vec<Lanes>,
    writes: Vec<Lanes>,
    /// Target and source of each branch inside a function, sorted.
    branches: Vec<(u32, u32)>,
    /// Other indirect jumps by function, and whether they go through a whole pointer: never to a case of a switch.
    jumps: HashMap<(Function, bool), Vec<u32>>,
}

impl<'a> Flow<'a> {
    fn of(code: &'a Code, object: &Object, tables: &[HashMap<u32, Through>], graph: &Graph) -> Flow<'a> {
        let mut first = vec![0];
        for text in &code.texts {
            first.push(first[first.len() - 1] + text.code.len());
        }
        let nodes = first[first.len() - 1];
        let mut flow = Flow {
            code,
            first,
            reads: vec![0; nodes],
            kills: vec![0; nodes],
            writes: vec![0; nodes],
            branches: Vec::new(),
            jumps: HashMap::new(),
        };
        let mut info = InstructionInfoFactory::new();
        for (number, text) in code.texts.iter().enumerate() {
            for (index, ins) in text.code.iter().enumerate() {
                let node = flow.first[number] + index;
                (flow.reads[node], flow.kills[node], flow.writes[node]) = if ins.code.mnemonic()
                    == Mnemonic::Syscall
                {
                    (REGISTERS[0].1, REGISTERS[1].1, REGISTERS[1].1)
                } else if text.relocs(object, index).iter().any(|reloc| returns_twice(object, reloc.symbol)) {
                    (0, ALL, 0)
                } else {
                    effect(&mut info, &ins.code)
                };
                if let Some(call) = graph.calls.get(&(number, index)) {
                    flow.kills[node] |= graph.results(call) | !graph.kept(code, (number, index), call) & ALL;
                }
                flow.branch(object, number, index, ins);
            }
        }
        flow.jumps(tables);
        flow.branches.sort_unstable();
        flow
    }

    fn branch(&mut self, object: &Object, number: usize, index: usize, ins: &Ins) {
        let text = &self.code.texts[number];
        let node = (self.first[number] + index) as u32;
        match ins.code.flow_control() {
            FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch if ins.is_near_branch() => {
                let Some((other, target)) = self.code.branch_place(object, number, index) else { return };
                let Some(to) = self.code.texts[other].code.get(target) else { return };
                let stays = other == number && text.function_of(target) == text.function_of(index);
                if stays || !to.has(mark::FUNCTION) {
                    self.branches.push(((self.first[other] + target) as u32, node));
                }
            }
            _ => (),
        }
    }

    /// Indirect jumps: those through a table that can be shown go to its cases, others to any label of their function. A tail call
    /// through a pointer takes none that is but a case.
    fn jumps(&mut self, tables: &[HashMap<u32, Through>]) {
        // Hostile objects have many jumps through one large table.
        let mut budget = 1_000_000 + 4 * self.reads.len();
        for (number, text) in self.code.texts.iter().enumerate() {
            let mut liveness = Liveness::new(HashSet::new());
            for (index, ins) in text.code.iter().enumerate() {
                if ins.code.flow_control() != FlowControl::IndirectBranch {
                    continue;
                }
                let node = (self.first[number] + index) as u32;
                let through = tables[number].get(&(index as u32));
                match through.and_then(|through| self.code.tables.get(&through.table)) {
                    Some(table) if table.targets.len() <= budget => {
                        budget -= table.targets.len();
                        let cases = table.targets.iter();
                        let cases = cases.filter(|case| case.1 < self.code.texts[case.0].code.len());
                        self.branches.extend(cases.map(|case| ((self.first[case.0] + case.1) as u32, node)));
                    }
                    _ => {
                        let plain = is_plain_pointer(text, index, &mut liveness);
                        let function = (number, text.function_of(index));
                        self.jumps.entry((function, plain)).or_default().push(node);
                    }
                }
            }
        }
    }

    /// The instruction of a node.
    fn place(&self, node: u32) -> (usize, usize) {
        let number = self.first.partition_point(|&first| first <= node as usize) - 1;
        (number, node as usize - self.first[number])
    }

    /// Adds the nodes from which control comes to an instruction, but for indirect jumps to any label.
    fn before(&self, number: usize, index: usize, before: &mut Vec<u32>) {
        let text = &self.code.texts[number];
        let node = (self.first[number] + index) as u32;
        if let Some(previous) = index.checked_sub(1) {
            let code = &text.code[previous];
            let returns = !text.code[index].has(mark::FUNCTION)
                || code.code.flow_control() != FlowControl::Call
                    && code.code.flow_control() != FlowControl::IndirectCall;
            if (!code.ends_flow() || code.code.mnemonic() == Mnemonic::Int3) && returns {
                before.push(node - 1);
            }
        }
        let from = self.branches.partition_point(|pair| pair.0 < node);
        before.extend(self.branches[from..].iter().take_while(|pair| pair.0 == node).map(|pair| pair.1));
    }

    /// Whether what is live of a register after a call, of which `bits` are the lanes, was never written: a compiler copies a whole
    /// register of which it has set the low byte and wants no more. `seen`: where no value comes, from earlier questions.
    fn is_garbage(
        &self,
        live: &[Vec<Lanes>],
        graph: &Graph,
        call: (usize, usize),
        bits: Lanes,
        seen: &mut Seen,
    ) -> bool {
        let wanted = live[call.0][call.1] & bits;
        if wanted & BYTE != 0 {
            return false;
        }
        let mut work = vec![call];
        let mut before = Vec::new();
        while let Some(place) = work.pop() {
            let (number, index) = place;
            if !seen.places.insert((place, wanted)) {
                continue;
            }
            let ins = &self.code.texts[number].code[index];
            let node = self.first[number] + index;
            if self.writes[node] & wanted != 0 {
                return false;
            }
            if let Some(call) = graph.calls.get(&place) {
                if graph.results(call) & wanted != 0 {
                    return false;
                }
                if self.kills[node] & wanted == wanted {
                    // Its callee may change the register, so no value lives there.
                    continue;
                }
            }
            // Who passes a value passes its low byte.
            let passed = self.reads[node] | live[number][index] & !self.kills[node];
            if ins.has(mark::FUNCTION | mark::ENTRY) && passed & bits & BYTE != 0 {
                return false;
            }
            before.clear();
            self.before(number, index, &mut before);
            let function = (number, self.code.texts[number].function_of(index));
            if ins.has(mark::ENTRY | mark::CASE) && seen.functions.insert((function, wanted)) {
                let jumps = [false, true].into_iter().filter_map(|plain| self.jumps.get(&(function, plain)));
                before.extend(jumps.flatten());
            }
            if ins.has(mark::OUTSIDE) && seen.scattered.insert(wanted) {
                before.extend(self.jumps.values().flatten());
            }
            work.extend(before.iter().map(|&node| self.place(node)));
        }
        true
    }

    /// By text: what is live after each instruction.
    fn live(&self) -> Vec<Vec<Lanes>> {
        let mut live: Vec<Vec<Lanes>> = self.code.texts.iter().map(|text| vec![0; text.code.len()]).collect();
        let mut work: Vec<(usize, usize)> = Vec::new();
        for (number, text) in self.code.texts.iter().enumerate() {
            work.extend(
                (0..text.code.len())
                    .filter(|&at| self.reads[self.first[number] + at] != 0)
                    .map(|at| (number, at)),
            );
        }
        // What the labels of a function want, and the cases of switches that lie in several sections.
        let mut at_labels: HashMap<(Function, bool), Lanes> = HashMap::new();
        let mut scattered = 0;
        let mut before = Vec::new();
        while let Some((number, index)) = work.pop() {
            let text = &self.code.texts[number];
            let ins = &text.code[index];
            let node = self.first[number] + index;
            let wanted = self.reads[node] | live[number][index] & !self.kills[node];
            before.clear();
            self.before(number, index, &mut before);
            if ins.has(mark::ENTRY | mark::CASE) && !ins.has(mark::FUNCTION) {
                let function = (number, text.function_of(index));
                for plain in [false, true].into_iter().filter(|plain| !plain || ins.has(mark::ENTRY)) {
                    let known = at_labels.entry((function, plain)).or_default();
                    if wanted & !*known != 0 {
                        *known |= wanted;
                        before.extend(self.jumps.get(&(function, plain)).into_iter().flatten());
                    }
                }
                if ins.has(mark::OUTSIDE) && wanted & !scattered != 0 {
                    scattered |= wanted;
                    before.extend(self.jumps.values().flatten());
                }
            }
            for &node in &before {
                let (number, index) = self.place(node);
                if wanted & !live[number][index] != 0 {
                    live[number][index] |= wanted;
                    work.push((number, index));
                }
            }
        }
        live
    }
}

/// Where no value comes, by the lanes asked for.
#[derive(Default)]
struct Seen {
    places: HashSet<((usize, usize), Lanes)>,
    functions: HashSet<(Function, Lanes)>,
    scattered: HashSet<Lanes>,
}

/// What an instruction reads of the two registers, what it overwrites, and what it writes in any way.
fn effect(info: &mut InstructionInfoFactory, code: &Instruction) -> (Lanes, Lanes, Lanes) {
    if !REGISTERS.iter().any(|&(reg, _)| uses(code, reg)) {
        return (0, 0, 0);
    }
    let (mut reads, mut kills, mut writes) = (0, 0, 0);
    for used in info.info(code).used_registers() {
        let Some((_, bits)) = REGISTERS.into_iter().find(|&(reg, _)| is(used.register(), reg)) else {
            continue;
        };
        let lanes = match used.register().size() {
            1 => BYTE,
            2 => WORD,
            // What writes the low half clears the high one.
            4 if matches!(used.access(), OpAccess::Read | OpAccess::CondRead) => LOW_HALF,
            _ => ALL,
        };
        if !matches!(used.access(), OpAccess::Read | OpAccess::CondRead) {
            writes |= bits & lanes;
        }
        match used.access() {
            OpAccess::Write => kills |= bits & lanes,
            OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite => {
                reads |= bits & lanes;
            }
            OpAccess::CondWrite | OpAccess::None | OpAccess::NoMemAccess => (),
        }
    }
    // `sbb r,r` reads the carry alone.
    let same = code.op_count() == 2
        && code.op1_kind() == OpKind::Register
        && code.op0_register() == code.op1_register();
    if same
        && matches!(code.mnemonic(), Mnemonic::Xor | Mnemonic::Sub | Mnemonic::Sbb)
        && code.op0_register().size() >= 4
    {
        kills |= reads;
        reads = 0;
    }
    (reads, kills, writes)
}
