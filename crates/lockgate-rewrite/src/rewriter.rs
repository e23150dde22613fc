//! One code section, instruction by instruction. The subjects are in files of their own: `operand` (memory
//! operands), `pointer` (rsp), `branch`, `string`, `tls`.

use std::cell::Cell;
use std::collections::HashMap;

use iced_x86::{Code, EncodingKind, FlowControl, Instruction, Mnemonic, OpKind, Register};
use lockgate_abi::code::{LABEL, MAX_MOVE};
use lockgate_abi::gate;
use lockgate_abi::stack::SLOT;

use crate::across::Wait;
use crate::code::{Code as AllCode, CodePlace};
use crate::decode::{Ins, Text, is_rsp, mark};
use crate::elf::Object;
use crate::emit::{Emitter, Layout, Pos, Target};
use crate::encode::{self, Bytes, DISTANCE, R10, R11, RAX, Reg, TRAP};
use crate::error::{Error, Reason};
use crate::frames::{self, CLASH_LOOP, ENTRY, Frames, State, TextFrames};
use crate::liveness::Liveness;
use crate::returns_twice::JUMPED;
use crate::stack::{self, Plan};
use crate::switch::Switch;
use crate::{Options, Stats};

/// Bytes below the original's rsp that its red zone takes.
const RED_ZONE: i32 = 128;
/// Place below the original's rsp that probes write, bytes.
const SPILL: i32 = RED_ZONE + 8;

/// The rewriter's own places below the red zone: 8 bytes each, 16 apart, because a `pop` that fills memory moves the
/// original's rsp by 8 between the use of two of them.
#[derive(Clone, Copy)]
pub(crate) enum Slot {
    /// What probes write.
    Probe = 0,
    /// The scratch register's value.
    Scratch = 1,
    /// The value of a second one, taken while the first is in use.
    InnerScratch = 2,
    /// rax while flags are kept.
    Accumulator = 3,
    /// The flags.
    Flags = 4,
    /// r11 across a computed change of rsp, and rax meanwhile, twice.
    Carried = 5,
    Carrier = 6,
    SecondCarrier = 7,
    /// r11 and r10 on the way of an indirect jump inside a function.
    Kept = 8,
    KeptTarget = 9,
}
const _: () = assert!(
    stack::MAX_MERGED as u64 + (SPILL + 16 * (Slot::KeptTarget as i32) + 8) as u64
        <= lockgate_abi::stack::LIVE_BELOW
);
/// Registers that a checked jump takes for itself, and where they wait.
const KEPT: [(Reg, Slot); 2] = [(R11, Slot::Kept), (R10, Slot::KeptTarget)];
/// Most padding that full alignment of a loop and of a function is worth, bytes; where it would take more, a multiple of 8 has
/// to do (docs/appendix/measurements.md, "Code size").
const LOOP_PADDING: u32 = 10;
const FUNCTION_PADDING: u32 = 12;

/// The landing of a call that returns twice: a piece of code of its own.
pub(crate) struct Landing {
    pub(crate) label: u32,
    /// Behind the call; before it, if that is made once more.
    pub(crate) back: u32,
    pub(crate) calls_again: bool,
    pub(crate) state: State,
    /// Number of the call.
    pub(crate) owner: u32,
}

/// The rewriter of one code section.
pub(crate) struct Rewriter<'a> {
    pub(crate) file: &'a str,
    pub(crate) object: &'a Object,
    pub(crate) code: &'a AllCode,
    /// Number of the text.
    pub(crate) number: usize,
    pub(crate) text: &'a Text,
    frames: &'a Frames,
    pub(crate) options: &'a Options,
    pub(crate) data: &'a [u8],
    pub(crate) out: Emitter,
    pub(crate) live: Liveness,
    pub(crate) switches: HashMap<u32, Switch>,
    pub(crate) stats: &'a mut Stats,
    /// Where rsp is, minus where the original's would be.
    pub(crate) lag: i32,
    /// By how much the original's rsp moved in the current instruction.
    original_moved: i32,
    /// Where rsp is.
    pub(crate) real: State,
    /// How far rsp may be below the nearest word that is mapped for certain, bytes.
    pub(crate) moved: u32,
    /// Start of a run whose move of rsp has been made before it.
    pub(crate) moved_run: usize,
    /// Number of the current instruction, and of the one before which what is emitted now has its place.
    index: usize,
    pub(crate) at: usize,
    /// r11 holds the rsp of another function, which the run's indirect jump goes to.
    pub(crate) resuming: bool,
    /// The first thing that was found impossible in the current instruction.
    failure: Option<Reason>,
    /// Landings of calls that return twice, still to be placed.
    pub(crate) wanted_landings: Vec<Landing>,
    plan: Plan,
    /// Traps of checks, still to be placed: label, and number of the instruction that has the check.
    wanted_traps: Vec<(u32, u32)>,
    /// Whether indirect jumps may go into functions of other code sections.
    pub(crate) scattered: bool,
    /// Whether a switch has a case, one that cannot be, at the section's end.
    pub(crate) ends_in_case: bool,
    /// By call: what waits in the callee's return slot.
    pub(crate) waits: HashMap<u32, Wait>,
    /// By function and register: see [`Self::keeps`].
    kept: HashMap<(usize, Reg), bool>,
    /// Of the run of `nop`s that was looked at last: its first instruction that is known, and where it ends.
    padding: Cell<(usize, usize)>,
    /// Registers that hold something of the rewriter's own at the moment, by number.
    busy: u16,
    /// Instructions to leave out because an earlier one took them along.
    pub(crate) skip: usize,
    /// The gate that system calls go through.
    pub(crate) system_calls: u64,
}

impl<'a> Rewriter<'a> {
    pub(crate) fn new(
        file: &'a str,
        object: &'a Object,
        (code, number): (&'a AllCode, usize),
        frames: &'a Frames,
        live: Liveness,
        options: &'a Options,
        stats: &'a mut Stats,
    ) -> Self {
        let text = &code.texts[number];
        let data = &object.sections[text.section].data[..];
        let as_calls = options.system_calls_as_calls && !code.texts.iter().any(Text::has_vectors);
        let system_calls = if as_calls { gate::SYSCALL_AS_CALL } else { gate::SYSCALL };
        Rewriter {
            file,
            object,
            code,
            number,
            text,
            frames,
            options,
            data,
            out: Emitter::new(text.code.len(), data.len()),
            live,
            switches: HashMap::new(),
            stats,
            lag: 0,
            original_moved: 0,
            real: ENTRY,
            moved: 0,
            moved_run: usize::MAX,
            index: 0,
            at: 0,
            resuming: false,
            failure: None,
            wanted_landings: Vec::new(),
            plan: Plan::default(),
            wanted_traps: Vec::new(),
            scattered: false,
            ends_in_case: false,
            waits: HashMap::new(),
            kept: HashMap::new(),
            padding: Cell::new((0, 0)),
            busy: 0,
            skip: 0,
            system_calls,
        }
    }

    /// Rewrites the section.
    pub(crate) fn run(mut self) -> Result<Layout, Error> {
        let text = self.text;
        for index in 0..text.code.len() {
            self.index = index;
            if index == self.plan.end {
                if self.leaves_function(index) {
                    self.place_traps_aside();
                }
                self.plan = Plan::run(text, index);
                if index == self.moved_run {
                    self.plan.by = 0;
                }
            }
            self.out.start();
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            self.arrive(index);
            self.pad(index);
            let result = self.one(index);
            let failure = self.failure.take();
            let result = result.and_then(|()| failure.map_or(Ok(()), Err));
            result.map_err(|reason| text.refuse(self.file, self.object, index, reason))?;
            if self.stops(index) {
                self.place_traps();
            }
            self.out.end();
            self.original_moved = 0;
            self.out.set_bias(self.lag);
        }
        self.finish();
        self.out.start();
        if self.ends_in_case && !frames::joins_next(self.object, text) {
            self.out.put(&TRAP);
        }
        self.stats.instructions += text.code.len() as u64;
        let starts = text.code.iter().map(Ins::start).chain([self.data.len() as u32]);
        Ok(self.out.layout(starts, self.data.len()))
    }

    /// Emits one instruction, with what belongs before and behind it.
    fn one(&mut self, index: usize) -> Result<(), Reason> {
        self.at = index;
        let ins = &self.text.code[index];
        let Some(state) = self.mine().before[index] else {
            self.unreached(index);
            return Ok(());
        };
        // A frame that was opened anew further up has its word there from then on.
        let follows = self.real == state.moved(self.lag)
            || matches!(state.moved(self.lag), State::Computed(d) if d < 0);
        if !follows {
            let (at, real, lag) = (ins.start(), self.real, self.lag);
            debug_assert!(
                false,
                "the original's state at {at:#x} is {state:?}, the new one {real:?} at {lag}"
            );
            return Err(lost());
        }
        self.label(index, state)?;
        if let Some(&by) = self.mine().loops.get(&(index as u32)) {
            self.plan = Plan { at: index, by: 0, end: index + CLASH_LOOP };
            self.move_original(by);
            self.skip = CLASH_LOOP - 1;
            return self.go_on(index + CLASH_LOOP - 1);
        }
        if let Some(&below) = self.mine().exits.get(&(index as u32)) {
            let by = std::mem::take(&mut self.plan.by);
            self.begin_exit(index, below, by);
        }
        if index == self.plan.at && self.plan.by != 0 {
            let flags_free = self.live.flags_free(self.text, index);
            self.move_rsp(self.plan.by, flags_free);
        }
        if !ins.has(mark::ABSORBED) && !self.is_padding(index) {
            let start = self.out.pos();
            self.instruction(index)?;
            self.refuse_hidden_label(index, start)?;
        }
        self.go_on(index)
    }

    /// Behind instruction `index`: what control needs that goes on to the next one, or a trap if it does not.
    fn go_on(&mut self, index: usize) -> Result<(), Reason> {
        let ins = &self.text.code[index];
        self.at = index + 1;
        if self.mine().stops.contains(&(index as u32)) {
            self.out.put(&TRAP);
            return Ok(());
        }
        if index + 1 == self.plan.end && index + 1 != self.moved_run && !self.stops(index) {
            self.catch_up();
        }
        let Some(next) = self.text.code.get(index + 1).filter(|_| !self.stops(index)) else { return Ok(()) };
        if next.has(mark::LABEL)
            && !ins.has(mark::ABSORBED)
            && let Some(state) = frames::at(self.code, self.frames, (self.number, index + 1))
        {
            self.settle(false);
            if !frames::ends_all(&next.code) {
                self.become_state(state, Some(index + 1))?;
            }
        }
        Ok(())
    }

    /// Control comes to instruction `index` other than from the one before it, or may do so.
    fn arrive(&mut self, index: usize) {
        let goes_on = index > 0 && !self.stops(index - 1) && self.mine().before[index - 1].is_some();
        let Some(state) = self.mine().before[index] else { return };
        if !goes_on || self.text.code[index].has(mark::LABEL) {
            debug_assert!(self.lag == 0 || !goes_on, "rsp is its original at every label");
            self.lag = 0;
            self.out.set_bias(0);
            self.real = state;
            self.moved = if state.depth() <= MAX_MOVE as i32 { state.depth() as u32 } else { 0 };
        }
    }

    /// What the analysis knows of this text.
    pub(crate) fn mine(&self) -> &'a TextFrames {
        &self.frames[self.number]
    }

    /// Where rsp is at a place of the object.
    pub(crate) fn state_at(&self, place: CodePlace) -> Option<State> {
        frames::at(self.code, self.frames, place)
    }

    /// Whether control does not go on from instruction `index`, in the code that is made.
    fn stops(&self, index: usize) -> bool {
        let ins = &self.text.code[index];
        let index = index as u32;
        self.mine().stops.contains(&index)
            || frames::is_trap(&ins.code)
            || ins.ends_flow() && ins.code.mnemonic() != Mnemonic::Int3 && !ins.has(mark::ABSORBED)
    }

    /// Where control does not come is one trap for each stretch, with the label of what has one.
    fn unreached(&mut self, index: usize) {
        let ins = &self.text.code[index];
        if self.is_padding(index) {
            return;
        }
        let continues = index > 0
            && self.mine().before[index - 1].is_none()
            && !self.is_padding(index - 1)
            && !ins.has(mark::LABEL);
        if continues {
            return;
        }
        if ins.has(mark::ENTRY) {
            self.out.put(&LABEL);
            self.stats.labels += 1;
        }
        self.out.put(&TRAP);
        self.place_traps();
    }

    /// Ends the section: the last traps, and one where control would go on.
    fn finish(&mut self) {
        let Some(last) = self.text.code.len().checked_sub(1) else { return };
        let is_open = !self.stops(last) && self.mine().before[last].is_some();
        if is_open {
            // Only the linker knows what follows.
            self.place_traps_aside();
        }
        self.place_traps();
        self.out.end();
    }

    fn instruction(&mut self, index: usize) -> Result<(), Reason> {
        let ins = &self.text.code[index];
        let code = &ins.code;
        refuse_forbidden(ins)?;
        if code.mnemonic() == Mnemonic::Syscall {
            self.system_call();
            return Ok(());
        }
        if code.flow_control() != FlowControl::Next {
            return self.branch(index);
        }
        match code.mnemonic() {
            Mnemonic::Push => return self.push(index),
            Mnemonic::Pop => return self.pop(index),
            Mnemonic::Leave => return self.leave(index),
            Mnemonic::Enter => return self.enter(index),
            Mnemonic::Hlt => {
                self.out.put(&TRAP);
                return Ok(());
            }
            // Without a shadow stack, and domains have none, these leave the register as it is. The instruction that moves one is
            // not reached then.
            Mnemonic::Rdsspd | Mnemonic::Rdsspq if !stack::writes_rsp(ins) => return Ok(()),
            Mnemonic::Incsspd | Mnemonic::Incsspq => {
                self.out.put(&TRAP);
                return Ok(());
            }
            // endbr32 means nothing in 64-bit code.
            Mnemonic::Nop | Mnemonic::Endbr32 => {
                self.nop(ins);
                return Ok(());
            }
            // Labels are where control can be led to, [`Rewriter::label`]; the input's may stand in the middle of a frame.
            Mnemonic::Endbr64 => return Ok(()),
            // What compilers for AMD's processors write for `fstp %st(0)`, and no manual lists.
            Mnemonic::Ffreep if code.op0_register() == Register::ST0 => {
                self.out.put(&[0xdd, 0xd8]);
                return Ok(());
            }
            _ => (),
        }
        if let Some(usual) = usual_form(code) {
            return self.operation(index, &usual, encode::anew(&usual)?.as_slice());
        }
        if stack::writes_rsp(ins) {
            return self.set_rsp(index);
        }
        if (0..code.op_count()).any(|n| code.op_kind(n) == OpKind::Register && is_rsp(code.op_register(n))) {
            return self.read_rsp(index);
        }
        if code.is_string_instruction() {
            return self.string(index);
        }
        if let Some(skipped) = self.dynamic_tls(index)? {
            self.skip = skipped;
            return Ok(());
        }
        let encoded = self.encoded(ins);
        self.operation(index, code, encoded)
    }

    /// Refuses an instruction whose code, from `start` on, holds the label's bytes as a constant: control could be led into it
    /// (rule V4).
    fn refuse_hidden_label(&self, index: usize, start: Pos) -> Result<(), Reason> {
        let ins = &self.text.code[index];
        let flow = ins.code.flow_control();
        // Others have labels of their own behind them, and no constants.
        let has_constants =
            matches!(flow, FlowControl::Next | FlowControl::IndirectCall | FlowControl::IndirectBranch);
        let mut code = self.out.since(start).windows(LABEL.len());
        if has_constants && code.any(|bytes| bytes == LABEL) {
            let what = "a constant in it has the bytes of the entry label (f3 0f 1e fa)";
            return Err(Reason::new(
                what,
                "compute the constant at run time, from its complement for instance",
            ));
        }
        Ok(())
    }

    /// Bytes of an instruction of the input.
    pub(crate) fn encoded(&self, ins: &Ins) -> &'a [u8] {
        &self.data[ins.start() as usize..ins.end() as usize]
    }

    // ---- labels, padding, traps

    /// The entry label, if indirect branches come here. Those that come to the inside of a function have closed its frame, which is
    /// opened here.
    fn label(&mut self, index: usize, state: State) -> Result<(), Reason> {
        let ins = &self.text.code[index];
        if !ins.has(mark::ENTRY) {
            return Ok(());
        }
        let is_inside = !ins.has(mark::FUNCTION);
        if ins.has(mark::INNER) && is_inside && state != ENTRY {
            return self.refuse_to_enter(index);
        }
        let carried = self.mine().carried.contains(&(index as u32));
        // Unwinders bring nothing in these registers.
        let is_pad = ins.has(mark::PAD) && !carried;
        let kept = KEPT.map(|(reg, slot)| {
            (!is_pad && (carried || self.is_inside_with(index, reg))).then_some((reg, slot))
        });
        let is_piece = is_inside && (state != ENTRY || carried || kept.iter().any(Option::is_some));
        let over = self.out.new_label();
        if is_piece && index > 0 && !self.stops(index - 1) && self.mine().before[index - 1].is_some() {
            self.out.jump(Target::Made(over));
            self.out.restart();
        }
        self.out.put(&LABEL);
        self.stats.labels += 1;
        if is_piece {
            self.real = ENTRY;
            self.moved = 0;
            let from = if ins.has(mark::PAD) { R11 } else { RAX };
            self.open_at_label(state, from)?;
            for (reg, slot) in kept.into_iter().flatten() {
                self.put(encode::load(reg, self.slot(slot)));
            }
            if carried && from == RAX {
                self.put(encode::load(RAX, self.slot(Slot::Accumulator)));
            }
        }
        self.out.place(over);
        self.out.start_body();
        Ok(())
    }

    /// Code that enters a function at a global label inside it knows nothing of its frame.
    fn refuse_to_enter(&mut self, index: usize) -> Result<(), Reason> {
        let over = self.out.new_label();
        if index > 0 && !self.stops(index - 1) && self.mine().before[index - 1].is_some() {
            self.out.jump(Target::Made(over));
            self.out.restart();
        }
        self.out.put(&LABEL);
        self.out.put(&TRAP);
        self.out.place(over);
        self.out.start_body();
        Ok(())
    }

    /// Behind a label at which rsp is E: brings it where it is in `state`, which is the address in `from` if that is computed.
    pub(crate) fn open_at_label(&mut self, state: State, from: Reg) -> Result<(), Reason> {
        match state {
            State::Constant(o) => {
                self.lag = o;
                self.out.set_bias(o);
                self.lower(-o, true);
            }
            State::Computed(d) => {
                if from != R11 {
                    self.put(encode::copy(true, from, R11));
                }
                if d != 0 {
                    self.put(encode::lea(R11, R11, d));
                }
                self.open_unit();
                self.lag = d;
                self.lower(-d, true);
            }
        }
        Ok(())
    }

    /// Whether instruction `index` is a place inside a function that indirect jumps reach with a value in `reg`, r11 or r10: they
    /// keep it in a slot, for their check needs the register.
    fn is_inside_with(&mut self, index: usize, reg: Reg) -> bool {
        let text = self.text;
        let ins = &text.code[index];
        let is_inside = ins.has(mark::ENTRY) && !ins.has(mark::FUNCTION);
        is_inside
            && if reg == R11 {
                !self.live.r11_free(text, index)
            } else {
                self.live.r10_at_labels(text, index)
            }
    }

    /// Before an indirect jump: keeps r11 and r10 for the places inside the function that restore them.
    pub(crate) fn keep_scratch(&mut self, index: usize) {
        for (reg, slot) in KEPT {
            if self.keeps(index, reg) {
                self.put(encode::store(reg, self.slot(slot)));
            }
        }
    }

    /// Whether places inside the function restore `reg`, r11 or r10, that indirect jump `index` may go to.
    pub(crate) fn keeps(&mut self, index: usize, reg: Reg) -> bool {
        let (start, end) = self.text.function_around(index);
        if let Some(&known) = self.kept.get(&(start, reg)) {
            return known;
        }
        let keeps = self.scattered || (start..end).any(|at| self.is_inside_with(at, reg));
        self.kept.insert((start, reg), keeps);
        keeps
    }

    /// Alignment padding: the whole run of `nop`s that ends here becomes one, at its first instruction; a
    /// function that happens to need none gets its alignment too.
    fn pad(&mut self, index: usize) {
        let text = self.text;
        let alignment = self.object.sections[text.section].align;
        let reached = index == 0 || !text.code[index - 1].ends_flow();
        if self.is_padding(index) {
            if index > 0 && self.is_padding(index - 1) && !text.code[index].has(mark::LABEL) {
                return;
            }
            let end = self.padding_end(index);
            let at = text.code.get(end).map_or(self.data.len() as u32, Ins::start);
            // Where the compiler was content with 8, 16 was too far for it (-falign-loops=16:11:8). Here it may be near.
            let to = if at.is_multiple_of(32) && at - text.code[index].start() >= 16 { 32 } else { 16 };
            // What control falls into is a loop, mostly. Other targets of jumps gain nothing that their padding would not
            // cost in code.
            let function = text.code.get(end).is_none_or(|ins| ins.has(mark::FUNCTION));
            let limit = if function {
                FUNCTION_PADDING
            } else if reached {
                LOOP_PADDING
            } else {
                0
            };
            self.out.align(to.min(alignment.max(1) as u32), limit);
            if text.code[index].has(mark::LABEL) {
                self.out.restart();
            }
        } else if text.code[index].has(mark::FUNCTION)
            && index > 0
            && !self.is_padding(index - 1)
            && text.code[index].start().is_multiple_of(16)
            && alignment >= 16
        {
            self.out.align(16, FUNCTION_PADDING);
            self.out.restart();
        } else if text.code[index].has(mark::EVEN) && index > 0 && !self.is_padding(index - 1) {
            self.out.align(2, 1);
            self.out.restart();
        }
    }

    /// Whether instruction `index` belongs to a run of `nop`s that ends at a multiple of 8.
    fn is_padding(&self, index: usize) -> bool {
        if self.text.code[index].code.mnemonic() != Mnemonic::Nop
            || self.object.sections[self.text.section].align < 8
        {
            return false;
        }
        let end = self.padding_end(index);
        self.text.code.get(end).map_or(self.data.len() as u32, Ins::start).is_multiple_of(8)
    }

    /// Where the run of `nop`s with `index` in it ends. Each `nop` of the run asks; it is looked for once.
    fn padding_end(&self, index: usize) -> usize {
        let (from, end) = self.padding.get();
        if (from..end).contains(&index) {
            return end;
        }
        let is_end = |ins: &Ins| ins.code.mnemonic() != Mnemonic::Nop || ins.has(mark::LABEL);
        let rest = &self.text.code[index + 1..];
        let end = index + 1 + rest.iter().position(is_end).unwrap_or(rest.len());
        self.padding.set((index, end));
        end
    }

    /// A `nop` that is no padding keeps its length.
    fn nop(&mut self, ins: &Ins) {
        let mut nops = Vec::new();
        encode::nops(ins.code.len(), &mut nops);
        self.out.put(&nops);
    }

    /// Where a check of the current instruction jumps when it fails: a trap of its own, so that a report can tell one
    /// check from the other.
    pub(crate) fn trap(&mut self) -> Target {
        let label = self.out.new_label();
        self.wanted_traps.push((label, self.out.instruction()));
        Target::Made(label)
    }

    /// Places the traps and the landings wanted so far, where control does not come.
    pub(crate) fn place_traps(&mut self) {
        let (lag, real, moved) = (self.lag, self.real, self.moved);
        let mut landings = std::mem::take(&mut self.wanted_landings).into_iter().peekable();
        // In the order of their instructions. Landings open frames, which may want traps.
        while !self.wanted_traps.is_empty() || landings.peek().is_some() {
            for (label, owner) in std::mem::take(&mut self.wanted_traps) {
                while let Some(landing) = landings.next_if(|landing| landing.owner < owner) {
                    self.place_landing(&landing);
                }
                let start = self.out.pos();
                self.out.place(label);
                self.out.put(&TRAP);
                self.out.outlier(owner, start);
            }
            for landing in landings.by_ref() {
                self.place_landing(&landing);
            }
        }
        (self.lag, self.real, self.moved) = (lag, real, moved);
        self.out.set_bias(lag);
    }

    fn place_landing(&mut self, landing: &Landing) {
        let start = self.out.pos();
        self.out.place(landing.label);
        self.out.put(&LABEL);
        (self.real, self.moved) = (ENTRY, 0);
        let slot = self.open_at_label(landing.state, R11).and_then(|()| self.stack_disp(-8));
        if let (Ok(slot), true) = (&slot, landing.calls_again) {
            self.put(encode::store_immediate(JUMPED, *slot));
        }
        self.failure = self.failure.take().or(slot.err());
        self.out.jump(Target::Made(landing.back));
        self.out.outlier(landing.owner, start);
    }

    /// Places them where control comes, and leads it past them.
    fn place_traps_aside(&mut self) {
        if self.wanted_traps.is_empty() && self.wanted_landings.is_empty() {
            return;
        }
        self.settle(false);
        let over = self.out.new_label();
        self.out.jump(Target::Made(over));
        self.place_traps();
        self.out.place(over);
        self.out.end();
    }

    /// Whether control falls, as far as can be seen, out of a function before instruction `index`: after a call that does
    /// not return, mostly. The function's traps belong before this place.
    fn leaves_function(&self, index: usize) -> bool {
        if index > 0 && (self.stops(index - 1) || self.mine().before[index - 1].is_none()) {
            return false;
        }
        let code = &self.text.code;
        let next = if self.is_padding(index) { self.padding_end(index) } else { index };
        code.get(next).is_some_and(|ins| ins.has(mark::FUNCTION))
    }

    // ---- the stack pointer

    /// Displacement from rsp of the data at `disp` from the original's rsp.
    pub(crate) fn stack_disp(&self, disp: i64) -> Result<i32, Reason> {
        i32::try_from(disp - i64::from(self.lag) - DISTANCE).map_err(|_| {
            Reason::new(
                "an operand more than 1 GiB away from rsp",
                "make the object that it accesses smaller",
            )
        })
    }

    /// Whether `disp`, from [`Self::stack_disp`], may be an operand without the `gs` prefix.
    pub(crate) fn is_near(disp: i32) -> bool {
        (i64::from(disp) + DISTANCE).abs() <= i64::from(MAX_MOVE)
    }

    /// Moves rsp. Where that is not possible, the instruction fails.
    pub(crate) fn move_rsp(&mut self, by: i32, flags_free: bool) {
        if by == 0 {
            return;
        }
        match self.real.moved(by) {
            State::Constant(o) if o < 0 => return self.fail(above_entry()),
            State::Computed(d) if d < 0 => {
                let reopened = self.reopen(by);
                self.failure = self.failure.take().or(reopened.err());
                return;
            }
            moved if moved.depth() > SLOT as i32 => return self.fail(larger_than_a_slot(moved.depth())),
            moved => {
                if by < 0 && self.moved + by.unsigned_abs() > MAX_MOVE {
                    self.probe(false);
                }
                self.put(encode::move_rsp(by, flags_free));
                self.real = moved;
            }
        }
        self.moved = match by {
            1.. => self.moved.saturating_sub(by.unsigned_abs()),
            _ => self.moved + by.unsigned_abs(),
        };
        self.moved = self.moved.min(self.real.depth() as u32);
        self.lag += by;
        self.out.set_bias(self.lag + self.original_moved);
    }

    /// The current instruction cannot be rewritten.
    pub(crate) fn fail(&mut self, reason: Reason) {
        self.failure.get_or_insert(reason);
    }

    /// Records that the original's rsp moves here.
    pub(crate) fn original_moves(&mut self, by: i32) {
        self.lag -= by;
        self.original_moved += by;
    }

    /// Brings rsp to where the original's is.
    pub(crate) fn catch_up(&mut self) {
        self.move_rsp(-self.lag, false);
    }

    /// Before a branch: rsp is the original's, and near a word that is mapped for certain. `flags_free`: no later instruction reads the flags.
    pub(crate) fn settle(&mut self, flags_free: bool) {
        self.catch_up();
        self.probe_if_moved(flags_free);
    }

    /// An access that was just emitted probes the stack.
    pub(crate) fn probed(&mut self) {
        self.moved = 0;
    }

    /// Probes the stack: reads the word at rsp if the flags are free, else writes below the red zone, where
    /// nothing lives.
    fn probe(&mut self, flags_free: bool) {
        if flags_free {
            self.out.put(&[0xf6, 0x04, 0x24, 0x00]); // testb $0,(%rsp)
        } else {
            // On its way rsp may be far above the original's, in a frame that is not in use yet.
            let near = self.slot(Slot::Probe);
            let here = -SPILL - DISTANCE as i32;
            self.put(encode::probe(if Self::is_near(near) { near } else { here }));
        }
        self.stats.probes += 1;
        self.moved = 0;
    }

    /// Moves rsp, however far, in steps, each probed; the original's is `self.lag` away, and stays.
    pub(crate) fn lower(&mut self, by: i32, flags_free: bool) {
        let mut rest = by;
        while rest < -(MAX_MOVE as i32) {
            self.move_rsp(-(MAX_MOVE as i32), flags_free);
            self.probe(flags_free);
            rest += MAX_MOVE as i32;
        }
        self.move_rsp(rest, flags_free);
        self.probe_if_moved(flags_free);
    }

    /// Displacement from rsp of one of the rewriter's own places.
    pub(crate) fn slot(&self, slot: Slot) -> i32 {
        -SPILL - 16 * slot as i32 - self.lag - DISTANCE as i32
    }

    /// Probes the stack if rsp may be far below the nearest mapped word; rsp stays where it is.
    pub(crate) fn probe_if_moved(&mut self, flags_free: bool) {
        if self.moved != 0 && self.real.depth() > MAX_MOVE as i32 {
            self.probe(flags_free);
        }
    }

    /// Appends bytes.
    pub(crate) fn put(&mut self, bytes: Bytes) {
        self.out.put(bytes.as_slice());
    }

    // ---- registers for the rewriter's own use

    /// Runs `body` with a register that instruction `index` does not use and whose value survives.
    pub(crate) fn with_scratch(
        &mut self,
        index: usize,
        body: impl FnOnce(&mut Self, Reg) -> Result<(), Reason>,
    ) -> Result<(), Reason> {
        if let Some(reg) = self.free_register(index) {
            return self.busy_with(reg, body);
        }
        let text = self.text;
        let unused = [RAX, 1, 2, 3, 6, 7, 8, 9, 10, R11].into_iter().find(|&reg| {
            self.is_for(index, reg) && self.live.effect(text, index, reg) == crate::liveness::Effect::None
        });
        let reg = unused.ok_or_else(no_register)?;
        let slot = self.slot(if self.busy == 0 { Slot::Scratch } else { Slot::InnerScratch });
        self.put(encode::store(reg, slot));
        self.busy_with(reg, body)?;
        self.put(encode::load(reg, slot));
        Ok(())
    }

    /// A register that is free before instruction `index`, r11 if possible.
    pub(crate) fn free_register(&mut self, index: usize) -> Option<Reg> {
        let text = self.text;
        [R11, RAX, 1, 2, 6, 7, 8, 9, 10]
            .into_iter()
            .find(|&reg| self.is_for(index, reg) && self.live.free(text, index, reg))
    }

    /// Whether nothing is in `reg` of the rewriter's own, and it can stand in instruction `index`: behind the REX prefix that r8 to r11
    /// take, ah to bh would mean other registers.
    fn is_for(&self, index: usize, reg: Reg) -> bool {
        self.busy >> reg & 1 == 0 && (reg < 8 || !crate::decode::has_high_byte(&self.text.code[index].code))
    }

    /// Whether something of the rewriter's own is in `reg`.
    pub(crate) fn is_busy(&self, reg: Reg) -> bool {
        self.busy >> reg & 1 != 0
    }

    /// Runs `body` with `reg` reserved: nothing that it emits takes the register for itself.
    pub(crate) fn busy_with<T>(&mut self, reg: Reg, body: impl FnOnce(&mut Self, Reg) -> T) -> T {
        self.busy |= 1 << reg;
        let result = body(self, reg);
        self.busy &= !(1 << reg);
        result
    }

    /// Runs `body`, whose code changes the arithmetic flags, so that they survive.
    pub(crate) fn keeping_flags(
        &mut self,
        body: impl FnOnce(&mut Self) -> Result<(), Reason>,
    ) -> Result<(), Reason> {
        let (rax_slot, flags_slot) = (self.slot(Slot::Accumulator), self.slot(Slot::Flags));
        self.put(encode::store(RAX, rax_slot));
        self.out.put(&encode::FLAGS_TO_RAX);
        self.put(encode::store(RAX, flags_slot));
        self.put(encode::load(RAX, rax_slot));
        body(self)?;
        self.put(encode::store(RAX, rax_slot));
        self.put(encode::load(RAX, flags_slot));
        self.out.put(&encode::FLAGS_FROM_RAX);
        self.put(encode::load(RAX, rax_slot));
        Ok(())
    }
}

fn above_entry() -> Reason {
    Reason::of_assembly(
        "rsp is above the return address, or not where the function began when it ends",
        "return with ret to where the function was called, and leave the return address where it is",
    )
}

/// The analysis of rsp and what became of the code disagree: a mistake here, of which nothing but this refusal may come.
fn lost() -> Reason {
    Reason::new(
        "the stack pointer cannot be followed to here",
        "report this with the object, and compile the function with another -O level meanwhile, or without variable-length arrays and alloca",
    )
}

/// The frame is `depth` bytes deep.
pub(crate) fn larger_than_a_slot(depth: i32) -> Reason {
    let what =
        format!("it brings rsp {depth} bytes below where the function began, and a stack has {SLOT} at most");
    Reason::new(what, "allocate large objects on the heap")
}

/// No register can be had for the rewriter's own use.
fn no_register() -> Reason {
    Reason::new("no register is free here for the rewritten code", "compile the source with -ffixed-r11")
}

/// The form that the verifier knows, if `code` is a move between three registers in the form of a store: assemblers write that one if
/// it is shorter by a byte.
fn usual_form(code: &Instruction) -> Option<Instruction> {
    let usual = match code.code() {
        Code::VEX_Vmovss_xmm_xmm_xmm_0F11 => Code::VEX_Vmovss_xmm_xmm_xmm,
        Code::VEX_Vmovsd_xmm_xmm_xmm_0F11 => Code::VEX_Vmovsd_xmm_xmm_xmm,
        _ => return None,
    };
    let mut changed = *code;
    changed.set_code(usual);
    Some(changed)
}

/// Refuses what no domain may execute.
fn refuse_forbidden(ins: &Ins) -> Result<(), Reason> {
    use Mnemonic::*;
    let code = &ins.code;
    let what = match code.mnemonic() {
        Hlt => return Ok(()),
        Std => "it makes string instructions run backwards",
        Pushf | Pushfq | Popf | Popfq => "it moves the flags register to or from the stack",
        Iret | Iretd | Iretq | Retf | Sysenter | Sysexit | Sysret | Int | Int1 | Into | Lss | Lfs | Lgs => {
            "it leaves the program in another way than by the system call instruction"
        }
        Rdfsbase | Rdgsbase | Wrfsbase | Wrgsbase | Swapgs => "it reads or writes a segment base",
        Fxsave | Fxsave64 | Fxrstor | Fxrstor64 | Xsave | Xsave64 | Xsavec | Xsavec64 | Xsaveopt
        | Xsaveopt64 | Xrstor | Xrstor64 | Fnsave | Frstor => {
            "it saves or restores the whole state of the processor"
        }
        Xbegin | Xabort | Xend | Xtest => "transactions are not available in a domain",
        Bt | Bts | Btr | Btc if code.op0_kind() == OpKind::Memory && code.op1_kind() == OpKind::Register => {
            return Err(Reason::new(
                "a bit offset in a register reaches beyond the memory operand",
                "hide the mask from the compiler, which makes this of an atomic operation with it: asm(\"\" : \"+r\"(mask))",
            ));
        }
        Outsb | Outsw | Outsd | Insb | Insw | Insd => "it accesses a port",
        _ if code.is_privileged() => "it is a privileged instruction",
        // Their encodings are no processor's of today.
        _ if matches!(code.encoding(), EncodingKind::XOP | EncodingKind::D3NOW | EncodingKind::MVEX) => {
            "it belongs to an extension that current processors do not have"
        }
        _ if code.segment_prefix() == Register::GS => "gs belongs to Lockgate",
        _ if code.op_count() > 0
            && (0..code.op_count()).any(|n| {
                code.op_kind(n) == OpKind::Register && code.op_register(n).is_segment_register()
            }) =>
        {
            "it reads or writes a segment register"
        }
        _ => return Ok(()),
    };
    Err(Reason::new(
        what,
        "use the portable C version of this code, or an intrinsic that needs no such instruction",
    ))
}
