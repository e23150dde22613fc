//! Branches, direct and indirect: tail calls, units U1 and U4, system calls (rule V5).

use iced_x86::{FlowControl, Mnemonic, OpKind, Register};
use lockgate_abi::gate;

use crate::across::Wait;
use crate::code::CodePlace;
use crate::decode::{Ins, NONE, memory_operand};
use crate::elf::{Reloc, reloc, sym};
use crate::emit::Target;
use crate::encode::{self, Bytes, R10, R11, RAX, Reg, TRAP};
use crate::error::Reason;
use crate::frames::{self, ENTRY, State};
use crate::liveness::Effect;
use crate::operand::absolute;
use crate::returns_twice::{brings_back_a_mask, jump_that_returns_twice, returns_twice};
use crate::rewriter::{Landing, Rewriter, Slot};
use crate::switch::Switch;

/// Condition `ne`, `a`: low half of the opcode.
const NOT_EQUAL: u8 = 5;
const ABOVE: u8 = 7;

/// Encodes a move between a register and a place at a distance from rsp.
type Encoder = fn(Reg, i32) -> Bytes;

impl Rewriter<'_> {
    /// An instruction that may not go on to the next one.
    pub(crate) fn branch(&mut self, index: usize) -> Result<(), Reason> {
        let ins = &self.text.code[index];
        let code = &ins.code;
        match code.flow_control() {
            FlowControl::Return => {
                if code.op_count() > 0 {
                    return Err(Reason::of_assembly(
                        "a return that removes arguments",
                        "use the System V calling convention",
                    ));
                }
                if self.overwrites_return_address(index) {
                    return Err(Reason::new(
                        "the function overwrites its return address (a retpoline, or a jump by push and ret)",
                        "compile without -mindirect-branch and -mfunction-return; in assembly, jump with jmp",
                    ));
                }
                self.leave_frame()?;
                self.out.put(&[0xc3]);
                Ok(())
            }
            FlowControl::Call if ins.is_near_branch() => self.waiting(index, |this| this.call(index)),
            FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch if ins.is_near_branch() => {
                self.jump(index)
            }
            FlowControl::IndirectCall => self.waiting(index, |this| this.indirect(index)),
            FlowControl::IndirectBranch => self.indirect(index),
            FlowControl::Interrupt | FlowControl::Exception => match code.mnemonic() {
                Mnemonic::Int3 => {
                    self.out.put(&[0xcc]);
                    Ok(())
                }
                Mnemonic::Ud0 | Mnemonic::Ud1 | Mnemonic::Ud2 => {
                    self.settle(false);
                    self.out.put(&TRAP);
                    Ok(())
                }
                _ => Err(unknown_branch()),
            },
            _ => Err(unknown_branch()),
        }
    }

    /// A system call becomes the call of its gate.
    pub(crate) fn system_call(&mut self) {
        self.catch_up();
        self.put(encode::gate(self.system_calls));
        self.probed();
    }

    /// Whether the straight run that ends with return `index` stores to the return address's slot.
    fn overwrites_return_address(&self, index: usize) -> bool {
        let mut depth = 0i64;
        for at in (0..index).rev() {
            let ins = &self.text.code[at];
            let effect = crate::stack::effect(ins);
            if effect.ends || self.text.code[at + 1].has(crate::decode::mark::LABEL) {
                return false;
            }
            // `depth`: the original's rsp after `at`, minus that at the return.
            let before = depth - i64::from(effect.delta);
            let code = &ins.code;
            let stores = match code.mnemonic() {
                Mnemonic::Push => depth == 0,
                Mnemonic::Mov => {
                    code.op0_kind() == OpKind::Memory
                        && code.memory_base() == Register::RSP
                        && code.memory_index() == Register::None
                        && before + code.memory_displacement64() as i64 == 0
                }
                _ => false,
            };
            if stores {
                return true;
            }
            depth = before;
        }
        false
    }

    /// The relocation of a direct branch, if it has one.
    fn branch_reloc(&self, index: usize) -> Result<Option<Reloc>, Reason> {
        match self.text.relocs(self.object, index) {
            [] => Ok(None),
            [reloc] if matches!(reloc.kind, reloc::PC32 | reloc::PLT32) => Ok(Some(*reloc)),
            [reloc, ..] => Err(absolute(reloc.kind)),
        }
    }

    fn call(&mut self, index: usize) -> Result<(), Reason> {
        let target = self.text.code[index].target;
        let reloc = self.branch_reloc(index)?;
        let landing = match reloc {
            Some(reloc) if returns_twice(self.object, reloc.symbol) => {
                self.hand_over_landing(index, reloc.symbol)?
            }
            _ => None,
        };
        self.catch_up();
        if let Some(reloc) = reloc.filter(|_| target == NONE) {
            if self.is_weak_undefined(reloc.symbol) {
                self.load_got(reloc.symbol);
                self.checked(R10, true);
            } else {
                self.refuse_thunk(reloc.symbol)?;
                self.out.put(&[0xe8, 0, 0, 0, 0]);
                self.out.reloc(4, reloc.symbol, reloc::PLT32, reloc.addend, 4);
            }
        } else {
            self.local_target(target)?;
            self.out.call(Target::Body(target));
        }
        self.probed();
        self.land(landing);
        Ok(())
    }

    /// Emits a call by `call`; values that live across it in r10 or r11 wait in the callee's return slot.
    fn waiting(
        &mut self,
        index: usize,
        call: impl FnOnce(&mut Self) -> Result<(), Reason>,
    ) -> Result<(), Reason> {
        let Some(&wait) = self.waits.get(&(index as u32)) else { return call(self) };
        self.move_waiting(wait, (encode::store, encode::store_low_half))?;
        call(self)?;
        self.move_waiting(wait, (encode::load, encode::load_low_half))
    }

    /// Moves what waits to or from the callee's return slot, by the encoders of whole registers and of their low halves.
    fn move_waiting(&mut self, wait: Wait, (whole, low_half): (Encoder, Encoder)) -> Result<(), Reason> {
        let moves = match wait {
            Wait::One(reg) => vec![whole(reg, self.stack_disp(-8)?)],
            Wait::LowHalves => vec![low_half(R10, self.stack_disp(-8)?), low_half(R11, self.stack_disp(-4)?)],
        };
        for bytes in moves {
            self.put(bytes);
            self.probed();
        }
        Ok(())
    }

    /// Control comes back here from the landing of a call that returns twice, if it was one.
    fn land(&mut self, back: Option<u32>) {
        if let Some(back) = back {
            self.out.place(back);
        }
    }

    /// Stores the address of a landing in the callee's return slot. The landing is a piece of code elsewhere, which opens the frame and
    /// goes on behind the call: the result is the label for that place. One that calls `symbol` once more goes on before the call, here.
    fn hand_over_landing(&mut self, index: usize, symbol: u32) -> Result<Option<u32>, Reason> {
        self.catch_up();
        let (label, back) = (self.out.new_label(), self.out.new_label());
        let slot = self.stack_disp(-8)?;
        self.put(encode::lea_rip(R11));
        self.out.field(4, Target::Made(label));
        self.put(encode::store(R11, slot));
        self.probed();
        let calls_again = brings_back_a_mask(self.object, symbol);
        self.wanted_landings.push(Landing {
            label,
            back,
            calls_again,
            state: self.real,
            owner: index as u32,
        });
        if calls_again {
            self.out.place(back);
            return Ok(None);
        }
        Ok(Some(back))
    }

    fn jump(&mut self, index: usize) -> Result<(), Reason> {
        let text = self.text;
        let ins = &text.code[index];
        let reloc = self.branch_reloc(index)?;
        if reloc.is_some_and(|reloc| returns_twice(self.object, reloc.symbol)) {
            return Err(jump_that_returns_twice());
        }
        let condition = condition(ins);
        let place = self.code.branch_place(self.object, self.number, index);
        if self.runs_out(index, place) {
            self.settle(false);
            match condition {
                Some(Condition::Always) => self.out.put(&TRAP),
                Some(Condition::If(condition)) => {
                    let trap = self.trap();
                    self.out.conditional(condition, trap);
                }
                None => {
                    let trap = self.trap();
                    self.counted(index, trap);
                }
            }
            return Ok(());
        }
        let inside = place.filter(|place| self.code.texts[place.0].code.len() > place.1);
        // Other objects' code is a function's start.
        let state = inside.map_or(Some(ENTRY), |place| self.state_at(place));
        let Some(state) = state else { return Err(unknown_branch()) };
        let ends = inside.is_some_and(|place| frames::ends_all(&self.code.texts[place.0].code[place.1].code));
        if matches!(condition, Some(Condition::Always))
            && !ends
            && state == ENTRY
            && self.real != ENTRY.moved(self.lag)
        {
            // Out of the function.
            self.leave_frame()?;
        }
        self.settle(false);
        if self.real == state || ends {
            return self.go(index, reloc, condition);
        }
        // The frame changes on the way.
        let over = self.out.new_label();
        let before = (self.lag, self.real, self.moved);
        match condition {
            Some(Condition::Always) => (),
            Some(Condition::If(condition)) => self.out.conditional(condition ^ 1, Target::Made(over)),
            None => {
                let taken = self.out.new_label();
                self.counted(index, Target::Made(taken));
                self.out.jump(Target::Made(over));
                self.out.place(taken);
            }
        }
        let at = inside.filter(|place| place.0 == self.number).map(|place| place.1);
        if state == ENTRY {
            self.leave_frame()?
        } else {
            self.become_state(state, at)?
        }
        self.go(index, reloc, Some(Condition::Always))?;
        (self.lag, self.real, self.moved) = before;
        self.out.set_bias(self.lag);
        self.out.place(over);
        Ok(())
    }

    /// Whether jump `index`, to `place`, goes with a frame to where its function ends: what clang -O0 has behind a call that throws, and gcc
    /// for a case that cannot be; it is never executed.
    fn runs_out(&self, index: usize, place: Option<CodePlace>) -> bool {
        let text = self.text;
        let target = match place {
            Some((number, target)) => Some(target).filter(|_| number == self.number),
            None if text.relocs(self.object, index).is_empty() => {
                text.at(text.code[index].code.near_branch64() as i64)
            }
            None => None,
        };
        target == Some(text.function_around(index).1)
            && self.real != ENTRY.moved(self.lag)
            && !frames::joins_next(self.object, text)
    }

    /// The jump itself, with rsp as its target has it.
    fn go(&mut self, index: usize, reloc: Option<Reloc>, condition: Option<Condition>) -> Result<(), Reason> {
        let ins = &self.text.code[index];
        if let Some(reloc) = reloc.filter(|_| ins.target == NONE) {
            let over = self.out.new_label();
            let Some(condition) = condition else {
                return Err(Reason::of_assembly(
                    "a counting jump to another section",
                    "use a conditional jump",
                ));
            };
            self.refuse_thunk(reloc.symbol)?;
            match condition {
                Condition::Always if self.is_weak_undefined(reloc.symbol) => {
                    self.load_got(reloc.symbol);
                    self.checked(R10, false);
                }
                Condition::If(condition) if self.is_weak_undefined(reloc.symbol) => {
                    self.out.conditional(condition ^ 1, Target::Made(over));
                    self.load_got(reloc.symbol);
                    self.checked(R10, false);
                }
                Condition::Always => {
                    self.out.put(&[0xe9, 0, 0, 0, 0]);
                    self.out.reloc(4, reloc.symbol, reloc::PLT32, reloc.addend, 4);
                }
                Condition::If(condition) => {
                    self.out.put(&[0x0f, 0x80 | condition, 0, 0, 0, 0]);
                    self.out.reloc(4, reloc.symbol, reloc::PLT32, reloc.addend, 4);
                }
            }
            self.out.place(over);
            return Ok(());
        }
        self.local_target(ins.target)?;
        let target = Target::Body(ins.target);
        match condition {
            Some(Condition::Always) => self.out.jump(target),
            Some(Condition::If(condition)) => self.out.conditional(condition, target),
            None => self.counted(index, target),
        }
        Ok(())
    }

    /// `jrcxz` or its like, as instruction `index` is one.
    fn counted(&mut self, index: usize, target: Target) {
        let bytes = self.encoded(&self.text.code[index]);
        let prefix = bytes.contains(&0x67).then_some(0x67);
        self.out.counted(prefix, bytes[bytes.len() - 2], target);
    }

    /// Checks that a branch inside the section goes to one of its instructions.
    fn local_target(&self, target: u32) -> Result<(), Reason> {
        if (target as usize) < self.text.code.len() {
            return Ok(());
        }
        Err(Reason::of_assembly(
            "a branch to the end of the section, or out of it",
            "assemble it with a symbol as target",
        ))
    }

    fn indirect(&mut self, index: usize) -> Result<(), Reason> {
        let ins = &self.text.code[index];
        let code = ins.code;
        let is_call = code.flow_control() == FlowControl::IndirectCall;
        if !matches!(code.mnemonic(), Mnemonic::Call | Mnemonic::Jmp)
            || code.is_call_far_indirect()
            || code.is_jmp_far_indirect()
        {
            return Err(unknown_branch());
        }
        if let Some(&switch) = self.switches.get(&(index as u32)) {
            self.settle(true);
            if let Some(&state) = self.mine().switches.get(&(index as u32)) {
                self.become_state(state, Some(index))?;
            }
            if switch.distances.is_none() {
                self.keep_scratch(index);
            }
            return self.switch(switch);
        }
        if let &[reloc] = self.text.relocs(self.object, index)
            && matches!(reloc.kind, reloc::GOTPCREL | reloc::GOTPCRELX | reloc::REX_GOTPCRELX)
        {
            return self.through_got(index, reloc.symbol, is_call);
        }
        if std::mem::take(&mut self.resuming) {
            return self.resume(index);
        }
        // A jump with a frame stays in its function: others have none left.
        let goto = self.mine().gotos.get(&(index as u32)).copied();
        if is_call || goto.is_some() {
            self.settle(true);
        }
        let carries = goto == Some(true);
        if !is_call {
            if carries {
                for (reg, slot) in [(R10, Slot::KeptTarget), (R11, Slot::Kept), (RAX, Slot::Accumulator)] {
                    self.put(encode::store(reg, self.slot(slot)));
                }
            } else {
                self.keep_scratch(index);
            }
        }
        let target = match code.op0_kind() {
            OpKind::Register if carries => {
                self.put(encode::copy(true, encode::number(code.op0_register()), R10));
                R10
            }
            OpKind::Register if !encode::is_reserved_target(encode::number(code.op0_register())) => {
                encode::number(code.op0_register())
            }
            OpKind::Register if code.op0_register() == Register::R11 => {
                let target = self.target_register(index)?;
                self.put(encode::copy(self.options.strict_bounds, R11, target));
                target
            }
            OpKind::Memory => {
                let target = if carries { R10 } else { self.target_register(index)? };
                self.load_operand(index, target, self.options.strict_bounds)?;
                target
            }
            _ => return Err(unknown_branch()),
        };
        if carries {
            let here = self.stack_disp(0)?;
            self.put(encode::lea_stack(RAX, here));
        }
        match goto {
            _ if is_call => (),
            Some(_) => self.close_frame(),
            None => self.leave_frame()?,
        }
        self.checked(target, is_call);
        self.stats.checked_branches += 1;
        Ok(())
    }

    /// Before a jump to a label inside the function, which opens the frame again: rsp is E.
    fn close_frame(&mut self) {
        self.close();
        let State::Constant(o) = self.real else { return };
        self.move_rsp(o, true);
        self.lag = 0;
    }

    /// An indirect jump into another function, whose rsp is in r11 (`__builtin_longjmp`): the runtime finds its frame.
    fn resume(&mut self, index: usize) -> Result<(), Reason> {
        let code = self.text.code[index].code;
        match code.op0_kind() {
            OpKind::Register if code.op0_register() == Register::R10 => (),
            OpKind::Register if !encode::is_reserved_target(encode::number(code.op0_register())) => {
                self.put(encode::copy(true, encode::number(code.op0_register()), R10));
            }
            OpKind::Memory if !self.uses(index, Register::R11) => self.load_operand(index, R10, true)?,
            _ => return Err(unknown_branch()),
        }
        // A label with a computed frame looks for rsp in rax, others in r11.
        self.put(encode::copy(true, R11, RAX));
        self.put(encode::gate(gate::RESUME));
        self.out.put(&TRAP);
        Ok(())
    }

    /// A branch through the global offset table. The linker would make it direct where it can; here it
    /// always can, but for weak functions that may be missing.
    fn through_got(&mut self, index: usize, symbol: u32, is_call: bool) -> Result<(), Reason> {
        self.refuse_thunk(symbol)?;
        if self.is_weak_undefined(symbol) {
            if is_call {
                self.catch_up();
            } else {
                self.leave_frame()?;
            }
            self.load_got(symbol);
            self.checked(R10, is_call);
            return Ok(());
        }
        let landing = match returns_twice(self.object, symbol) {
            true if !is_call => return Err(jump_that_returns_twice()),
            true => self.hand_over_landing(index, symbol)?,
            false => None,
        };
        if is_call {
            self.catch_up();
        } else {
            self.leave_frame()?;
        }
        self.out.put(&[if is_call { 0xe8 } else { 0xe9 }, 0, 0, 0, 0]);
        self.out.reloc(4, symbol, reloc::PLT32, -4, 4);
        if is_call {
            self.probed();
        }
        self.land(landing);
        Ok(())
    }

    /// A register for the target of an indirect branch through memory: r10, which carries nothing but the static chain of
    /// nested functions, unless the code before the branch sets it for that. What a computed goto carries in it is kept for the label.
    fn target_register(&mut self, index: usize) -> Result<Reg, Reason> {
        let text = self.text;
        for at in (index.saturating_sub(24)..index).rev() {
            let flow = text.code[at].code.flow_control();
            if flow != FlowControl::Next || text.code[at + 1].has(crate::decode::mark::LABEL) {
                break;
            }
            match self.live.effect(text, at, R10) {
                Effect::Reads => break,
                Effect::Overwrites
                    if (memory_operand(&text.code[index].code).is_none()
                        || !self.uses(index, Register::R10))
                        && !self.is_computed_goto(index) =>
                {
                    return Err(Reason::new(
                        "a call through a pointer in memory that passes a static chain in r10",
                        "make the nested function an ordinary one with one more argument, and compile without -fno-trampolines; \
                         or load the pointer into a variable: void (*volatile f)() = ...",
                    ));
                }
                Effect::Overwrites => break,
                Effect::None => (),
            }
        }
        Ok(R10)
    }

    /// Whether indirect jump `index` may go to labels of its function that read r10, and none but those: a jump out of the function
    /// takes the frame down first.
    fn is_computed_goto(&mut self, index: usize) -> bool {
        let text = self.text;
        if text.code[index].code.flow_control() != FlowControl::IndirectBranch || !self.keeps(index, R10) {
            return false;
        }
        let run = (0..index).rev().take_while(|&at| {
            text.code[at].code.flow_control() == FlowControl::Next
                && !text.code[at + 1].has(crate::decode::mark::LABEL)
        });
        !run.into_iter().any(|at| {
            let ins = &text.code[at];
            matches!(ins.code.mnemonic(), Mnemonic::Leave) || crate::stack::effect(ins).delta > 0
        })
    }

    fn uses(&self, index: usize, register: Register) -> bool {
        let code = &self.text.code[index].code;
        code.memory_base() == register || code.memory_index() == register
    }

    /// Unit U1: to the label at the address in `target`.
    pub(crate) fn checked(&mut self, target: Reg, is_call: bool) {
        debug_assert_eq!(self.lag, 0, "rsp is settled");
        self.probe_if_moved(true);
        self.check_target(target, R11);
        let trap = self.trap();
        let (load, add) = encode::check_label(target);
        self.put(load);
        self.put(add);
        self.out.conditional(NOT_EQUAL, trap);
        self.put(encode::copy(false, target, R11));
        self.put(encode::add_window_base(R11));
        self.out.put(&[0x41, 0xff, if is_call { 0xd3 } else { 0xe3 }]);
        if is_call {
            self.probed();
        }
    }

    /// Unit U4: through a table of known size.
    fn switch(&mut self, switch: Switch) -> Result<(), Reason> {
        let otherwise = switch.otherwise.map_or_else(|| self.trap(), Target::Body);
        self.put(encode::compare_immediate(switch.index, switch.entries as i32 - 1));
        self.out.conditional(ABOVE, otherwise);
        self.put(encode::lea_rip(switch.base));
        if let Some(symbol) = switch.distances {
            self.out.reloc(4, symbol, reloc::PC32, -4, 4);
            self.table_jump(switch);
            return Ok(());
        }
        let (number, index) = switch.table_from;
        let text = &self.code.texts[number];
        let from = &text.code[index];
        let relocs = text.relocs(self.object, index);
        let reloc =
            relocs.iter().find(|reloc| crate::code::is_relative(reloc.kind)).ok_or_else(unknown_branch)?;
        // The field of this `lea` ends its instruction, wherever that of the original's was.
        let to_end = (from.code.next_ip() - reloc.offset) as i64;
        self.out.reloc(4, reloc.symbol, reloc::PC32, reloc.addend + to_end - 4, 4);
        self.table_jump(switch);
        Ok(())
    }

    fn table_jump(&mut self, switch: Switch) {
        for bytes in encode::table_jump(switch.base, switch.index, switch.target) {
            self.put(bytes);
        }
        self.stats.switches += 1;
    }

    /// Loads a weak symbol's address, 0 if nothing defines it, into r10.
    fn load_got(&mut self, symbol: u32) {
        self.out.put(&[0x4c, 0x8b, 0x15, 0, 0, 0, 0]); // mov symbol@GOTPCREL(%rip),%r10
        self.out.reloc(4, symbol, reloc::REX_GOTPCRELX, -4, 4);
    }

    fn is_weak_undefined(&self, symbol: u32) -> bool {
        let symbol = &self.object.symbols[symbol as usize];
        symbol.is_undefined() && symbol.binding == sym::WEAK
    }

    /// Refuses compilers' thunks that jump by overwriting a return address, and calls for more stack.
    fn refuse_thunk(&self, symbol: u32) -> Result<(), Reason> {
        let name = &self.object.symbols[symbol as usize].name;
        if name.starts_with(b"__x86_indirect_thunk") || name.starts_with(b"__x86_return_thunk") {
            return Err(Reason::new(
                "a retpoline",
                "compile without -mindirect-branch and -mfunction-return",
            ));
        }
        if name.starts_with(b"__morestack") {
            return Err(Reason::new("a split stack", "compile without -fsplit-stack"));
        }
        Ok(())
    }
}

/// When a direct jump is taken; [`None`] stands for the counting jumps.
enum Condition {
    Always,
    If(u8),
}

fn condition(ins: &Ins) -> Option<Condition> {
    if ins.code.flow_control() == FlowControl::UnconditionalBranch {
        return Some(Condition::Always);
    }
    use iced_x86::ConditionCode as C;
    let number = match ins.code.condition_code() {
        C::o => 0,
        C::no => 1,
        C::b => 2,
        C::ae => 3,
        C::e => 4,
        C::ne => 5,
        C::be => 6,
        C::a => 7,
        C::s => 8,
        C::ns => 9,
        C::p => 10,
        C::np => 11,
        C::l => 12,
        C::ge => 13,
        C::le => 14,
        C::g => 15,
        C::None => return None,
    };
    // `loope` and `loopne` have conditions too.
    let is_loop = matches!(ins.code.mnemonic(), Mnemonic::Loop | Mnemonic::Loope | Mnemonic::Loopne);
    (!is_loop).then_some(Condition::If(number))
}

fn unknown_branch() -> Reason {
    Reason::of_assembly("a branch that no domain may take", "use ordinary calls, jumps and returns")
}
