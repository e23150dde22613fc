//! What is written by hand in the library's machine code tells what unwinds the truth, between any two instructions: a handler of the host's may
//! come there and end its thread. Each function is followed along all its ways, with what registers and stack hold of the caller's, and at
//! each instruction its row in `.eh_frame` must lead to the same caller and the same registers of that caller's.
use gimli::{
    BaseAddresses, CfaRule, EhFrame, LittleEndian, Operation, RegisterRule, UnwindContext, UnwindSection,
};
use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, MemorySize, OpAccess,
    OpKind, Register,
};
use object::{Object, ObjectSection, ObjectSymbol};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// How far from something that is not known in numbers; `None` if it depends on the way that was taken.
type Value = Option<(String, i64)>;
type Bytes<'a> = gimli::EndianSlice<'a, LittleEndian>;

/// Those of the caller's that calls keep, as DWARF numbers them and as they are here.
const KEPT: [(u16, Register); 6] = [
    (3, Register::RBX),
    (6, Register::RBP),
    (12, Register::R12),
    (13, Register::R13),
    (14, Register::R14),
    (15, Register::R15),
];

/// Jumped to, with a frame that is made already. Who jumps there by name is checked.
const FRAME_IS_MADE: [&str; 5] =
    ["lockgate_exit", "lockgate_unwind", "lockgate_left", "lockgate_cross_slow", "lockgate_cross_failed"];

/// Whose caller is that of the outermost `lockgate_undisturbed` while they call.
const SEEN_ELSEWHERE: [&str; 1] = ["lockgate_disturbed"];

/// Their callers have saved it.
const BLOCK_IN_R15: [&str; 2] = ["lockgate_hold", "lockgate_let_in"];

/// Without a table: what unwinds knows the first two by their instructions, and the others are a handler's first one, with all signals held.
const WITHOUT: [&str; 3] = ["lockgate_host_sigreturn", "lockgate_handed_on", "lockgate_fronts"];

/// Its caller is the frame of a signal, where all registers are; once that has moved, the frame at the new place.
const FROM_SIGNAL: &str = "lockgate_on_plain";
const MOVED: &str = "the moved frame";

struct Row {
    from: u64,
    to: u64,
    cfa: CfaRule<usize>,
    rules: Vec<(u16, RegisterRule<usize>)>,
}

impl Row {
    fn rule(&self, register: u16) -> Option<&RegisterRule<usize>> {
        self.rules.iter().find(|(number, _)| *number == register).map(|(_, rule)| rule)
    }

    fn has_caller(&self) -> bool {
        self.rule(16) != Some(&RegisterRule::Undefined)
    }
}

struct Table {
    from: u64,
    to: u64,
    is_gate: bool,
    rows: Vec<Row>,
}

impl Table {
    fn row(&self, address: u64) -> &Row {
        self.rows.iter().find(|row| (row.from..row.to).contains(&address)).expect("a row for each address")
    }
}

/// Where the caller's frame ends, and what its registers hold.
#[derive(Clone, Debug, PartialEq)]
struct Caller {
    cfa: Value,
    kept: Vec<Value>,
}

#[derive(Clone, PartialEq)]
struct State {
    registers: Vec<Value>,
    memory: BTreeMap<(String, i64), Value>,
    caller: Option<Caller>,
}

fn index(register: Register) -> usize {
    register.full_register().number()
}

impl State {
    fn entry() -> State {
        let mut registers: Vec<Value> = vec![None; 16];
        for register in Register::values().filter(|register| register.is_gpr64()) {
            registers[index(register)] = Some((format!("{register:?}"), 0));
        }
        State { registers, memory: BTreeMap::new(), caller: None }
    }

    fn read(&self, address: &Value) -> Value {
        let address = address.clone()?;
        let unchanged = Some((format!("[{}{:+}]", address.0, address.1), 0));
        self.memory.get(&address).cloned().unwrap_or(unchanged)
    }

    fn write(&mut self, address: &Value, value: Value) {
        if let Some(address) = address {
            self.memory.insert(address.clone(), value);
        }
    }

    fn plus(&self, register: Register, offset: i64) -> Value {
        self.registers[index(register)].clone().map(|(base, at)| (base, at.wrapping_add(offset)))
    }

    fn set(&mut self, register: Register, value: Value) {
        self.registers[index(register)] = value;
    }

    fn address(&self, instruction: &Instruction) -> Value {
        let at = instruction.memory_displacement64() as i64;
        let simple = instruction.memory_index() == Register::None;
        match (instruction.segment_prefix(), instruction.memory_base()) {
            (Register::None, base) if simple && base.is_gpr64() => self.plus(base, at),
            (Register::FS, Register::None) if simple => Some(("fs".into(), at)),
            (Register::FS, base) if simple => match self.plus(base, at)? {
                (number, at) if number.is_empty() => Some(("fs".into(), at)),
                _ => None,
            },
            _ => None,
        }
    }

    fn push(&mut self, value: Value) {
        self.set(Register::RSP, self.plus(Register::RSP, -8));
        self.write(&self.plus(Register::RSP, 0), value);
    }

    fn pop(&mut self) -> Value {
        let value = self.read(&self.plus(Register::RSP, 0));
        self.set(Register::RSP, self.plus(Register::RSP, 8));
        value
    }

    /// What is so on both ways.
    fn join(&mut self, other: &State) -> bool {
        let before = self.clone();
        for (mine, its) in self.registers.iter_mut().zip(&other.registers) {
            if mine != its {
                *mine = None;
            }
        }
        let places: BTreeSet<_> = before.memory.keys().chain(other.memory.keys()).cloned().collect();
        for place in places {
            let address = Some(place.clone());
            let (mine, its) = (before.read(&address), other.read(&address));
            self.memory.insert(place, if mine == its { mine } else { None });
        }
        *self != before
    }
}

struct Library {
    tables: BTreeMap<String, Table>,
    symbols: BTreeMap<String, u64>,
    text: Vec<(u64, Vec<u8>)>,
    frames: Vec<u8>,
    frames_at: u64,
}

fn by_number(number: u16) -> Register {
    const NUMBERS: [Register; 8] = [
        Register::RAX,
        Register::RDX,
        Register::RCX,
        Register::RBX,
        Register::RSI,
        Register::RDI,
        Register::RBP,
        Register::RSP,
    ];
    match number {
        0..8 => NUMBERS[usize::from(number)],
        8..16 => Register::R8 + u32::from(number - 8),
        _ => panic!("no such register: {number}"),
    }
}

/// The names of the functions that the library's sources have in assembly.
fn written_by_hand(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("the sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            written_by_hand(&path, names);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source");
            let types = text.lines().filter_map(|line| line.trim().strip_prefix(".type "));
            names.extend(types.filter_map(|line| line.strip_suffix(",@function")).map(str::to_owned));
        }
    }
}

impl Library {
    /// As it is linked into this program.
    fn of_this_program(names: &BTreeSet<String>) -> Library {
        let program = std::fs::read("/proc/self/exe").expect("this program");
        let file = object::File::parse(&*program).expect("an ELF file");
        let symbols: BTreeMap<String, u64> = file
            .symbols()
            .filter_map(|symbol| Some((symbol.name().ok()?.to_owned(), symbol.address())))
            .filter(|(name, _)| name.starts_with("lockgate_"))
            .collect();
        let section = file.section_by_name(".eh_frame").expect("unwind tables");
        let (frames, frames_at) = (section.data().expect("its bytes").to_vec(), section.address());
        let text = file.section_by_name(".text").expect("code");
        let text = vec![(text.address(), text.data().expect("its bytes").to_vec())];
        let mut library = Library { tables: BTreeMap::new(), symbols, text, frames, frames_at };
        let wanted: BTreeMap<u64, &String> = names
            .iter()
            .map(|name| (*library.symbols.get(name).unwrap_or_else(|| panic!("{name} is not linked")), name))
            .collect();
        let bases = BaseAddresses::default().set_eh_frame(library.frames_at);
        let section = EhFrame::new(&library.frames, LittleEndian);
        let mut context = UnwindContext::new();
        let mut tables = BTreeMap::new();
        let mut entries = section.entries(&bases);
        while let Some(entry) = entries.next().expect("an entry of the table") {
            let gimli::CieOrFde::Fde(partial) = entry else { continue };
            let fde = partial.parse(EhFrame::cie_from_offset).expect("an entry");
            let Some(name) = wanted.get(&fde.initial_address()) else { continue };
            let mut rows = Vec::new();
            let mut each = fde.rows(&section, &bases, &mut context).expect("rows");
            while let Some(row) = each.next_row().expect("a row") {
                rows.push(Row {
                    from: row.start_address(),
                    to: row.end_address(),
                    cfa: row.cfa().clone(),
                    rules: row.registers().map(|(register, rule)| (register.0, rule.clone())).collect(),
                });
            }
            let (from, to) = (fde.initial_address(), fde.initial_address() + fde.len());
            let table = Table { from, to, is_gate: fde.is_signal_trampoline(), rows };
            tables.insert((*name).clone(), table);
        }
        library.tables = tables;
        library
    }

    fn instruction(&self, address: u64) -> Instruction {
        let (at, bytes) = &self.text[0];
        let rest = &bytes[(address - at) as usize..];
        Decoder::with_ip(64, &rest[..rest.len().min(15)], address, DecoderOptions::NONE).decode()
    }

    fn evaluate(&self, state: &State, expression: &gimli::UnwindExpression<usize>) -> Value {
        let section = EhFrame::new(&self.frames, LittleEndian);
        let expression: gimli::Expression<Bytes<'_>> = expression.get(&section).expect("an expression");
        let encoding = gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 4 };
        let mut operations = expression.operations(encoding);
        let mut top: Value = None;
        while let Some(operation) = operations.next().expect("an operation") {
            top = match operation {
                Operation::RegisterOffset { register, offset, .. } => {
                    state.plus(by_number(register.0), offset)
                }
                Operation::Deref { .. } => state.read(&top),
                Operation::PlusConstant { value } => top.map(|(base, at)| (base, at + value as i64)),
                other => panic!("an operation that the library does not use: {other:?}"),
            };
        }
        top
    }

    /// Whom what unwinds finds.
    fn caller(&self, state: &State, row: &Row) -> Caller {
        let cfa = match &row.cfa {
            CfaRule::RegisterAndOffset { register, offset } => state.plus(by_number(register.0), *offset),
            CfaRule::Expression(expression) => self.evaluate(state, expression),
        };
        let kept = KEPT.map(|(number, register)| match row.rule(number) {
            None | Some(RegisterRule::SameValue | RegisterRule::Undefined) => state.plus(register, 0),
            Some(RegisterRule::Offset(offset)) => {
                state.read(&cfa.clone().map(|(base, at)| (base, at + offset)))
            }
            Some(RegisterRule::Expression(expression)) => state.read(&self.evaluate(state, expression)),
            Some(other) => panic!("a rule that the library does not use: {other:?}"),
        });
        Caller { cfa, kept: kept.into() }
    }
}

/// What an instruction does to registers and memory.
fn step(state: &mut State, instruction: &Instruction, factory: &mut InstructionInfoFactory) {
    let lost = |register: Register| Some((format!("{:x}:{register:?}", instruction.ip()), 0));
    let is =
        |operand: u32, kind: OpKind| instruction.op_count() > operand && instruction.op_kind(operand) == kind;
    let whole = |operand: u32| is(operand, OpKind::Register) && instruction.op_register(operand).is_gpr64();
    match instruction.code() {
        Code::Push_r64 => state.push(state.plus(instruction.op0_register(), 0)),
        Code::Pop_r64 => {
            let value = state.pop();
            state.set(instruction.op0_register(), value);
        }
        Code::Leaveq => {
            state.set(Register::RSP, state.plus(Register::RBP, 0));
            let value = state.pop();
            state.set(Register::RBP, value);
        }
        Code::Mov_r64_rm64 | Code::Mov_rm64_r64 if whole(0) && whole(1) => {
            state.set(instruction.op0_register(), state.plus(instruction.op1_register(), 0));
        }
        Code::Mov_r64_rm64 => {
            let address = state.address(instruction);
            let value = state.read(&address).or_else(|| lost(instruction.op0_register()));
            state.set(instruction.op0_register(), value);
        }
        Code::Mov_rm64_r64 => {
            let address = state.address(instruction);
            state.write(&address, state.plus(instruction.op1_register(), 0));
        }
        Code::Mov_rm64_imm32 | Code::Mov_r64_imm64 if whole(0) => {
            state.set(instruction.op0_register(), Some((String::new(), instruction.immediate(1) as i64)));
        }
        Code::Lea_r64_m => {
            let value = state.address(instruction).or_else(|| lost(instruction.op0_register()));
            state.set(instruction.op0_register(), value);
        }
        Code::Add_rm64_imm8 | Code::Add_rm64_imm32 | Code::Add_RAX_imm32 if whole(0) => {
            let value = state.plus(instruction.op0_register(), instruction.immediate(1) as i64);
            state.set(instruction.op0_register(), value);
        }
        Code::Sub_rm64_imm8 | Code::Sub_rm64_imm32 | Code::Sub_RAX_imm32 if whole(0) => {
            let value = state.plus(instruction.op0_register(), -(instruction.immediate(1) as i64));
            state.set(instruction.op0_register(), value);
        }
        _ if instruction.is_call_near() || instruction.is_call_near_indirect() => {
            for register in (0..16).map(|number| Register::RAX + number).filter(|&register| {
                register != Register::RSP && !KEPT.iter().any(|&(_, kept)| kept == register)
            }) {
                state.set(register, lost(register));
            }
            if let Some((base, at)) = state.plus(Register::RSP, 0) {
                state.memory.retain(|place, _| place.0 != base || place.1 >= at);
                for below in 1..=64 {
                    state.memory.insert((base.clone(), at - 8 * below), None); // the callee's
                }
            }
        }
        _ => {
            let info = factory.info(instruction).clone();
            let changes = |access: OpAccess| {
                !matches!(
                    access,
                    OpAccess::None | OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess
                )
            };
            for used in info.used_registers().iter().filter(|used| changes(used.access())) {
                if used.register().is_gpr() {
                    state.set(used.register(), lost(used.register().full_register()));
                }
            }
            for used in info.used_memory().iter().filter(|used| changes(used.access())) {
                if used.memory_size() != MemorySize::Unknown && used.index() == Register::None {
                    let address = state.address(instruction);
                    state.write(&address, None);
                }
            }
        }
    }
}

struct Follow<'a> {
    library: &'a Library,
    name: &'a str,
    table: &'a Table,
    states: BTreeMap<u64, State>,
    wrong: BTreeSet<String>,
}

impl Follow<'_> {
    fn demand(&mut self, holds: bool, at: u64, what: String) {
        if !holds {
            let name = self.name;
            let instruction = self.library.instruction(at);
            self.wrong.insert(format!("{name}+{:#x}: {instruction}: {what}", at - self.table.from));
        }
    }

    /// Checks the row of an instruction that may be the next one.
    fn check(&mut self, at: u64, state: &mut State, elsewhere: Option<&Elsewhere>) {
        let row = self.table.row(at);
        if !row.has_caller() {
            return;
        }
        let found = self.library.caller(state, row);
        let Some(caller) = &state.caller else {
            if state.plus(Register::RSP, 0) == Some((MOVED.into(), 0)) {
                let begins = found.cfa == Some((MOVED.into(), 8));
                self.demand(begins, at, format!("{:?}, not behind {MOVED}", found.cfa));
            }
            state.caller = Some(found);
            return;
        };
        if self.name == FROM_SIGNAL {
            let (found, caller) = (found.cfa, caller.cfa.clone());
            return self.demand(found == caller, at, format!("{found:?}, not {caller:?}"));
        }
        if let Some(elsewhere) = elsewhere.filter(|_| SEEN_ELSEWHERE.contains(&self.name)) {
            let holder = state.plus(Register::RBX, 0);
            let is_there = row.cfa == elsewhere.cfa && holder.is_some() && holder == elsewhere.frame;
            if is_there || self.library.instruction(at).flow_control() == FlowControl::IndirectCall {
                let same = is_there && row.rules == elsewhere.rules;
                return self.demand(same, at, "not as lockgate_undisturbed's frame is".into());
            }
        }
        let (mut found, caller) = (found, caller.clone());
        if BLOCK_IN_R15.contains(&self.name) {
            found.kept[5] = caller.kept[5].clone();
        }
        self.demand(found == caller, at, format!("{found:?}, not {caller:?}"));
    }

    fn run(&mut self, from: u64, elsewhere: Option<&Elsewhere>) {
        let mut factory = InstructionInfoFactory::new();
        let mut open = vec![(from, State::entry())];
        while let Some((at, mut state)) = open.pop() {
            let instruction = self.library.instruction(at);
            let bytes = instruction.len() as u64;
            let known = self.states.contains_key(&at);
            if let Some(known) = self.states.get_mut(&at) {
                if !known.join(&state) {
                    continue;
                }
                state = known.clone();
            }
            // The frames of a call's crossings lie one above the other, and each is the caller's in turn.
            let is_chain = self.name == "lockgate_left" && instruction.code() == Code::Cmp_rm64_imm8;
            if is_chain && known {
                continue;
            }
            let to_next = self.name == "lockgate_left" && instruction.code() == Code::Jmp_rel8_64;
            if !to_next {
                self.check(at, &mut state, elsewhere);
            }
            if is_chain {
                state.set(Register::RSP, Some(("a frame".into(), 0)));
                state.memory.clear();
                state.caller = Some(self.library.caller(&state, self.table.row(at)));
            }
            self.states.insert(at, state.clone());
            let to = instruction.near_branch_target();
            let flow = instruction.flow_control();
            if flow == FlowControl::Return || flow == FlowControl::IndirectBranch {
                let end = state.caller.as_ref().and_then(|caller| caller.cfa.clone());
                let place = state.plus(Register::RSP, 8);
                let leaves = flow == FlowControl::Return || !FRAME_IS_MADE.contains(&self.name);
                let open_end = !self.table.row(at).has_caller();
                self.demand(
                    !leaves || open_end || place == end,
                    at,
                    format!("leaves at {place:?}, not {end:?}"),
                );
                continue;
            }
            let mut after = state.clone();
            step(&mut after, &instruction, &mut factory);
            let loads = instruction.code() == Code::Mov_r64_rm64 && instruction.op1_kind() == OpKind::Memory;
            if self.name == FROM_SIGNAL && loads && instruction.op0_register() == Register::RSP {
                after.set(Register::RSP, Some((MOVED.into(), 0)));
                after.caller = None;
            }
            if matches!(flow, FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch) {
                if (self.table.from..self.table.to).contains(&to) {
                    open.push((to, after.clone()));
                } else {
                    self.leave(at, to, &after);
                }
            }
            if flow != FlowControl::UnconditionalBranch && at + bytes < self.table.to {
                open.push((at + bytes, after));
            }
        }
    }

    /// A jump into another function: it has the same caller there, unless it is a gate's end of the whole call.
    fn leave(&mut self, at: u64, to: u64, state: &State) {
        let Some((name, table)) =
            self.library.tables.iter().find(|(_, table)| (table.from..table.to).contains(&to))
        else {
            return self.demand(false, at, "leads to what has no table".into());
        };
        let row = table.row(to);
        if row.has_caller() && !(self.table.is_gate && name == "lockgate_left") {
            let found = self.library.caller(state, row).cfa;
            let caller = state.caller.as_ref().and_then(|caller| caller.cfa.clone());
            self.demand(found == caller, at, format!("in {name} {found:?}, not {caller:?}"));
        }
    }
}

/// The frame that `lockgate_undisturbed` has noted, as it is while handlers are held: rbx points to it.
struct Elsewhere {
    frame: Value,
    cfa: CfaRule<usize>,
    rules: Vec<(u16, RegisterRule<usize>)>,
}

fn follow(
    library: &Library,
    name: &str,
    elsewhere: Option<&Elsewhere>,
) -> (BTreeMap<u64, State>, BTreeSet<String>) {
    let table = &library.tables[name];
    let (states, wrong) = (BTreeMap::new(), BTreeSet::new());
    let mut follow = Follow { library, name, table, states, wrong };
    let inside = library.symbols.values().filter(|&&at| (table.from..table.to).contains(&at));
    for from in inside.copied().collect::<BTreeSet<u64>>() {
        if follow.states.contains_key(&from) {
            continue; // a place on the way
        }
        if !FRAME_IS_MADE.contains(&name) {
            let CfaRule::RegisterAndOffset { register, offset } = &table.row(from).cfa else {
                panic!("{name} does not begin as a function does");
            };
            assert_eq!((register.0, *offset), (7, 8), "{name} does not begin as a function does");
        }
        follow.run(from, elsewhere);
    }
    (follow.states, follow.wrong)
}

/// Red if a push, or anything else that moves a frame, is not told of at the very next instruction.
#[test]
fn tables_of_what_is_written_by_hand_hold_between_any_two_instructions() {
    // All of the library's code is linked in for these.
    std::hint::black_box((lockgate::Domain::new as fn(_, _) -> _, ()));
    let nothing = "void nothing(void)".parse().expect("a prototype");
    drop(std::hint::black_box(lockgate::HostFunction::dynamic(nothing, |_, _| {
        unreachable!("nobody calls it")
    })));
    let mut names = BTreeSet::new();
    written_by_hand(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../src"), &mut names);
    let library = Library::of_this_program(&names);
    let without: Vec<&str> =
        names.iter().map(String::as_str).filter(|&name| !library.tables.contains_key(name)).collect();
    println!("{} functions, without a table of their own: {without:?}", names.len());

    // Where the frame is noted, and that it is once no handler comes: the first thing then.
    let from = library.symbols["lockgate_held_from"];
    let (held, mut wrong) = follow(&library, "lockgate_hold", None);
    let store = library.instruction(from);
    let is_noted = store.code() == Code::Mov_rm64_r64 && store.op1_register() == Register::RBX;
    assert!(is_noted, "lockgate_held_from begins with {store}");
    let noted = held[&from].address(&store);
    assert!(noted.is_some(), "{store}");

    let (states, _) = follow(&library, "lockgate_undisturbed_call", None);
    let undisturbed = &library.tables["lockgate_undisturbed_call"];
    let at = states
        .keys()
        .copied()
        .find(|&at| {
            let instruction = library.instruction(at);
            instruction.is_call_near() && instruction.near_branch_target() == library.symbols["lockgate_hold"]
        })
        .expect("a call of lockgate_hold");
    let row = undisturbed.row(at);
    let CfaRule::RegisterAndOffset { register, offset } = row.cfa else { panic!("an expression") };
    assert_eq!(register.0, 7);
    assert_eq!(states[&at].plus(Register::RBX, 0), states[&at].plus(Register::RSP, 0));
    let cfa = CfaRule::RegisterAndOffset { register: gimli::Register(3), offset };
    let elsewhere = Elsewhere { frame: held[&from].read(&noted), cfa, rules: row.rules.clone() };

    let mut instructions = 0;
    for name in &names {
        if library.tables.contains_key(name) {
            let (states, found) = follow(&library, name, Some(&elsewhere));
            instructions += states.len();
            wrong.extend(found);
        } else {
            let at = library.symbols[name];
            let covered = library.tables.values().any(|table| (table.from..table.to).contains(&at));
            assert!(covered || WITHOUT.contains(&name.as_str()), "{name} has no table");
        }
    }
    println!("{instructions} instructions");
    assert!(instructions > 500, "{instructions}");
    let wrong: Vec<String> = wrong.into_iter().collect();
    assert!(wrong.is_empty(), "{} rows:\n{}", wrong.len(), wrong.join("\n"));
}
