//! Instructions that read or set rsp itself: pushes and pops, frames, computed stack pointers (rule V3).

use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind, Register, RflagsBits};

use lockgate_abi::code::MAX_MOVE;

use crate::decode::{is_rsp, memory_operand};
use crate::emit::Target;
use crate::encode::{self, Bytes, DISTANCE, Parts, R11, RAX, RBP, Reg};
use crate::error::Reason;
use crate::frames::{ENTRY, FRAME, Set, State, uses_rsp};
use crate::liveness::{Effect, REGISTERS};
use crate::rewriter::{Rewriter, Slot};
use crate::stack::{self, Plan};

/// Largest constant change of rsp, bytes: a thread's stack with its guards.
const LARGEST_MOVE: u32 = lockgate_abi::stack::SLOT as u32;

/// Numbers of operations in the group of opcodes 81 and 83.
const AND: u8 = 4;

/// Conditions `e`, `ne`, `a`: low halves of the opcodes.
const EQUAL: u8 = 4;
const NOT_EQUAL: u8 = 5;
const ABOVE: u8 = 7;

/// The stack that an address points into.
enum Stack {
    Data,
    Control,
}

impl Rewriter<'_> {
    /// `push`: a store one slot below the original's rsp.
    pub(crate) fn push(&mut self, index: usize) -> Result<(), Reason> {
        let code = self.text.code[index].code;
        if code.stack_pointer_increment() != -8 {
            return Err(Reason::of_assembly("a push of 16 bits", "push whole 64-bit words"));
        }
        let slot = self.stack_disp(-8)?;
        match code.op0_kind() {
            OpKind::Register if is_rsp(code.op0_register()) => {
                let value = self.stack_disp(0)?;
                self.with_scratch(index, |this, reg| {
                    this.put(encode::lea_stack(reg, value));
                    this.put(encode::store(reg, slot));
                    Ok(())
                })?;
            }
            OpKind::Register => self.put(encode::store(encode::number(code.op0_register()), slot)),
            OpKind::Memory => self.with_scratch(index, |this, reg| {
                this.load_operand(index, reg, true)?;
                this.put(encode::store(reg, slot));
                Ok(())
            })?,
            _ => {
                self.put(encode::store_immediate(code.immediate(0) as i32, slot));
                self.relocations(index)?;
            }
        }
        self.probed();
        self.original_moves(-8);
        Ok(())
    }

    /// `pop`: a load from the original's rsp.
    pub(crate) fn pop(&mut self, index: usize) -> Result<(), Reason> {
        let code = self.text.code[index].code;
        if code.stack_pointer_increment() != 8 {
            return Err(Reason::of_assembly("a pop of 16 bits", "pop whole 64-bit words"));
        }
        let slot = self.stack_disp(0)?;
        if code.op0_kind() == OpKind::Register {
            if is_rsp(code.op0_register()) {
                return Err(Reason::of_assembly(
                    "it sets rsp from the stack",
                    "restore rsp with mov or leave",
                ));
            }
            self.put(encode::load(encode::number(code.op0_register()), slot));
            self.probed();
            self.original_moves(8);
            return Ok(());
        }
        self.with_scratch(index, |this, reg| {
            this.put(encode::load(reg, slot));
            this.probed();
            // The address counts from rsp after the pop.
            this.original_moves(8);
            this.access_operand(index, 0x89, reg, true)?;
            Ok(())
        })
    }

    /// Loads the memory operand of `push`, `call` or `jmp` into `reg`; `wide` for 64 bits.
    pub(crate) fn load_operand(&mut self, index: usize, reg: Reg, wide: bool) -> Result<(), Reason> {
        self.access_operand(index, 0x8b, reg, wide)
    }

    /// Emits `mov` between `reg` and the memory operand of a one-operand instruction of the input.
    fn access_operand(&mut self, index: usize, opcode: u8, reg: Reg, wide: bool) -> Result<(), Reason> {
        let ins = &self.text.code[index];
        let parts = Parts::of(self.encoded(ins));
        let mut encoded = Bytes::new();
        if parts.address_size {
            encoded.push(0x67);
        }
        let rex = 0x40 | u8::from(wide) << 3 | reg >> 3 << 2 | parts.rex & 3;
        if rex != 0x40 {
            encoded.push(rex);
        }
        encoded.push(opcode);
        encoded.push(parts.rest[1] & 0xc7 | (reg & 7) << 3);
        encoded.extend(&parts.rest[2..]);
        self.operation(index, &ins.code, encoded.as_slice())
    }

    /// `leave`: rsp from rbp, then rbp from the stack.
    pub(crate) fn leave(&mut self, index: usize) -> Result<(), Reason> {
        if self.mine().sets.get(&(index as u32)) == Some(&Set::Unused) {
            self.out.put(&encode::LOAD_FRAME_POINTER);
            return Ok(());
        }
        self.set(index, |this| {
            this.put(encode::lea(R11, RBP, 8));
            Ok(Stack::Data)
        })?;
        let slot = self.stack_disp(-8)?;
        self.put(encode::load(RBP, slot));
        Ok(())
    }

    /// `enter $size, $0`.
    pub(crate) fn enter(&mut self, index: usize) -> Result<(), Reason> {
        let code = self.text.code[index].code;
        if code.immediate(1) & 31 != 0 {
            return Err(Reason::of_assembly("a frame with display", "use enter with nesting level 0"));
        }
        if !code.immediate(0).is_multiple_of(8) {
            return Err(parts_of_words());
        }
        let frame = self.stack_disp(-8)?;
        self.put(encode::store(RBP, frame));
        self.probed();
        self.put(encode::lea_stack(RBP, frame));
        self.original_moves(-8);
        self.move_original(-(code.immediate(0) as i32));
        Ok(())
    }

    /// The original's rsp moves by `by`, however far.
    pub(crate) fn move_original(&mut self, by: i32) {
        self.catch_up();
        self.original_moves(by);
        self.lower(by, false);
    }

    /// An instruction whose first operand is rsp and that writes it.
    pub(crate) fn set_rsp(&mut self, index: usize) -> Result<(), Reason> {
        let ins = &self.text.code[index];
        let code = ins.code;
        if let Some(by) = stack::constant_move(ins) {
            if by % 8 != 0 {
                return Err(parts_of_words());
            }
            if by.unsigned_abs() > LARGEST_MOVE {
                let what = format!("it moves rsp by {by} bytes, and a stack has {LARGEST_MOVE} at most");
                return Err(Reason::new(what, "allocate large objects on the heap"));
            }
            if code.mnemonic() != Mnemonic::Lea && self.live.flags_read_next(self.text, index + 1) {
                return Err(Reason::new("the flags of a move of rsp are used", "compare addresses with cmp"));
            }
            if by.abs() > stack::MAX_MERGED {
                self.move_original(by);
            } else {
                self.original_moves(by);
            }
            return Ok(());
        }
        if code.op0_register() != Register::RSP {
            return Err(if code.op0_kind() == OpKind::Register && is_rsp(code.op0_register()) {
                Reason::of_assembly("it writes a part of rsp", "use the 64-bit register")
            } else {
                unknown_set()
            });
        }
        let source = (code.op_count() == 2).then(|| code.op1_kind());
        match (code.mnemonic(), source) {
            (Mnemonic::And, Some(OpKind::Immediate8to64 | OpKind::Immediate32to64)) => {
                self.align_rsp(index, code.immediate(1) as i64)
            }
            (Mnemonic::Mov, Some(OpKind::Register)) => {
                let from = encode::number(code.op1_register());
                self.set(index, |this| {
                    if from != R11 {
                        this.put(encode::copy(true, from, R11));
                    }
                    Ok(Stack::Data)
                })
            }
            (Mnemonic::Mov | Mnemonic::Lea, Some(OpKind::Memory)) => self.set(index, |this| {
                let (code, encoded) = with_register(&code, 0, R11)?;
                this.operation(index, &code, encoded.as_slice())?;
                Ok(Stack::Data)
            }),
            (Mnemonic::Add | Mnemonic::Sub, Some(OpKind::Register))
                if code.op1_register() == Register::R11 =>
            {
                self.set(index, |this| {
                    if code.mnemonic() == Mnemonic::Sub {
                        this.out.put(&[0x49, 0xf7, 0xdb]); // neg %r11
                    }
                    this.out.put(&[0x49, 0x01, 0xe3]); // add %rsp,%r11
                    Ok(Stack::Control)
                })
            }
            (Mnemonic::Add | Mnemonic::Sub | Mnemonic::And, Some(OpKind::Register | OpKind::Memory))
                if self.live.effect(self.text, index, R11) == Effect::None =>
            {
                self.set(index, |this| {
                    this.put(encode::copy(true, encode::RSP, R11));
                    let (code, encoded) = with_register(&code, 0, R11)?;
                    this.busy_with(R11, |this, _| this.operation(index, &code, encoded.as_slice()))?;
                    Ok(Stack::Control)
                })
            }
            _ => Err(Reason::of_assembly(
                "rsp is set in a way that the rewriter does not know",
                "set rsp with mov, lea, add, sub or and",
            )),
        }
    }

    /// `and $mask,%rsp`.
    fn align_rsp(&mut self, index: usize, mask: i64) -> Result<(), Reason> {
        let size = mask.wrapping_neg();
        if size < 8 || size & (size - 1) != 0 {
            return Err(Reason::of_assembly(
                "rsp is masked with something else than an alignment",
                "align rsp with and $-2^k",
            ));
        }
        if matches!(self.real, State::Constant(o) if o < FRAME) && Plan::behind(self.text, index) > -FRAME {
            return Err(Reason::of_assembly(
                "it aligns rsp where nothing is on the stack yet",
                "push something before rsp is aligned, or right behind",
            ));
        }
        self.set(index, |this| {
            this.put(encode::copy(true, encode::RSP, R11));
            this.put(encode::arithmetic_immediate(AND, mask as i32, R11));
            Ok(Stack::Control)
        })
    }

    /// rsp is set to what `value` leaves in r11.
    fn set(
        &mut self,
        index: usize,
        value: impl FnOnce(&mut Self) -> Result<Stack, Reason>,
    ) -> Result<(), Reason> {
        let set = *self.mine().sets.get(&(index as u32)).ok_or_else(unknown_set)?;
        let by = Plan::behind(self.text, index);
        match set {
            Set::Constant(below) => {
                self.close();
                let flags_free = self.live.flags_free(self.text, index + 1);
                let State::Constant(real) = self.real else { return Err(unknown_set()) };
                // Where the original's is afterwards, and the run behind leaves it.
                self.lag = below - real;
                self.lower_or_raise(by - self.lag, flags_free);
            }
            Set::Leaves(below) => {
                if !self.live.flags_free(self.text, index + 1) {
                    return Err(flags_in_the_way());
                }
                self.catch_up();
                if self.live.r11_free(self.text, index + 1) {
                    let to_control = distance(value(self)?);
                    self.leave_to(below, by, to_control)?;
                } else {
                    self.carry_r11(by, value, |this, to_control| this.leave_to(below, by, to_control))?;
                }
            }
            Set::Computed => {
                self.catch_up();
                self.computed(index, by, value)?;
            }
            // The run's indirect jump takes it from r11.
            Set::Resumes => {
                self.catch_up();
                let text = self.text;
                let mut at = index + 1;
                while text.code[at].code.flow_control() == FlowControl::Next {
                    if self.live.effect(text, at, R11) != Effect::None || uses_rsp(&text.code[at].code) {
                        return Err(unknown_set());
                    }
                    at += 1;
                }
                value(self)?;
                self.resuming = true;
                return Ok(());
            }
            Set::Unused => return Err(unknown_set()),
        }
        self.moved_run = index + 1;
        self.out.set_bias(self.lag);
        Ok(())
    }

    /// The frame is closed and rsp, of which r11 holds what the original sets it to in code that works, is `below` E; it moves on by `by`.
    fn leave_to(&mut self, below: i32, by: i32, to_control: i32) -> Result<(), Reason> {
        self.close();
        let State::Constant(real) = self.real else { return Err(unknown_set()) };
        self.lag = below - real;
        self.move_rsp(by - self.lag, true);
        self.put(encode::lea_r11_narrow(to_control + by));
        self.compare_rsp();
        Ok(())
    }

    /// On the only way out of a function with a computed frame: rsp has to be `below` E, or this traps, and moves on by `by`.
    pub(crate) fn begin_exit(&mut self, index: usize, below: i32, by: i32) {
        self.sparing_r11(index, |this| {
            this.put(encode::lea_stack(R11, by - this.lag));
            this.close();
            this.lag = below - FRAME;
            this.move_rsp(by - this.lag, true);
            this.compare_rsp();
        });
    }

    /// The original's rsp stays what it is, and so does r11, if it is not free before instruction `index`: a caller may read it, or seem to.
    fn sparing_r11(&mut self, index: usize, leave: impl FnOnce(&mut Self)) {
        let waits = !self.live.r11_free(self.text, index);
        if waits {
            self.put(encode::store(R11, self.slot(Slot::Carried)));
        }
        leave(self);
        if waits {
            self.put(encode::load(R11, self.slot(Slot::Carried)));
        }
    }

    /// Moves rsp by a constant, up or down.
    fn lower_or_raise(&mut self, by: i32, flags_free: bool) {
        if by < 0 { self.lower(by, flags_free) } else { self.move_rsp(by, flags_free) }
    }

    /// Traps unless rsp is what the low half of r11 says.
    fn compare_rsp(&mut self) {
        let trap = self.trap();
        self.out.put(&[0x41, 0x39, 0xe3]); // cmp %esp,%r11d
        self.out.conditional(NOT_EQUAL, trap);
    }

    /// Closes a computed frame: rsp is what its frame word says.
    pub(crate) fn close(&mut self) {
        if let State::Computed(d) = self.real {
            self.put(encode::close(d));
            self.real = State::Constant(FRAME);
            self.moved = 0;
        }
    }

    /// Before control leaves the function with the original's rsp, of which nothing is known but that it is E in code that works: makes it E.
    pub(crate) fn leave_frame(&mut self) -> Result<(), Reason> {
        if let State::Computed(_) = self.real {
            self.sparing_r11(self.at, |this| {
                this.put(encode::lea_stack(R11, -this.lag));
                this.close();
                this.lag = FRAME;
                this.move_rsp(FRAME, true);
                this.lag = 0;
                this.out.set_bias(0);
                this.compare_rsp();
            });
            return Ok(());
        }
        self.catch_up();
        if self.real != ENTRY {
            return Err(leaves_with_frame());
        }
        Ok(())
    }

    /// Unit U2, with r11 holding the wanted rsp, in either stack: all that is open is closed first.
    pub(crate) fn open_unit(&mut self) {
        self.close();
        if let State::Constant(o) = self.real {
            let (lag, bias) = (self.lag, o - FRAME);
            if bias < 0 {
                self.lower(bias, true);
            } else {
                self.move_rsp(bias, true);
            }
            self.lag = lag;
        }
        self.put(encode::confine_rsp());
        let trap = self.trap();
        self.out.conditional(ABOVE, trap);
        self.out.put(&encode::OPEN);
        self.real = State::Computed(0);
        self.moved = 0;
        self.stats.computed_rsp += 1;
    }

    /// rsp, which is the original's, becomes what it is in `state`; what is live before instruction `at` stays, everything if that is
    /// not known.
    pub(crate) fn become_state(&mut self, state: State, at: Option<usize>) -> Result<(), Reason> {
        let d = match (self.real, state) {
            (real, state) if real == state => return Ok(()),
            // A probe on a longer way down would write into the frame.
            (State::Constant(o), State::Computed(d)) if o >= d + FRAME && d <= MAX_MOVE as i32 => d,
            (State::Computed(_), State::Computed(d)) if d <= MAX_MOVE as i32 => d,
            _ => return Err(ways_differ()),
        };
        self.opened(at, None, d, |this| {
            this.put(encode::lea_stack(R11, 0));
            Ok(Stack::Control)
        })?;
        self.move_rsp(-d, false);
        Ok(())
    }

    /// Moves rsp up beyond the frame word.
    pub(crate) fn reopen(&mut self, by: i32) -> Result<(), Reason> {
        let (lag, at) = (self.lag, self.at);
        debug_assert!(lag <= 0, "the original's rsp is not below");
        // Places that are free below rsp are so below the original's, which may be far away; but not below where rsp goes, if the
        // original's does not go there yet.
        self.lag = 0;
        let (first, then) = if lag < 0 { (by, 0) } else { (0, by) };
        self.opened(Some(at), None, then, |this| {
            this.put(encode::lea_stack(R11, first));
            Ok(Stack::Control)
        })?;
        self.lag = lag + by;
        self.out.set_bias(self.lag);
        Ok(())
    }

    /// Unit U2 for an instruction that sets rsp to what `value` says; `by` more is added.
    fn computed(
        &mut self,
        index: usize,
        by: i32,
        value: impl FnOnce(&mut Self) -> Result<Stack, Reason>,
    ) -> Result<(), Reason> {
        self.lag = 0;
        self.opened(Some(index + 1), Some(index), by, value)?;
        self.lag = by;
        Ok(())
    }

    /// Opens a frame with rsp `by` above what `value`, which leaves it in r11, says. What is live before instruction `at` survives.
    /// `index`: the instruction that `value` executes. Afterwards rsp is `by` above the original's.
    fn opened(
        &mut self,
        at: Option<usize>,
        index: Option<usize>,
        by: i32,
        value: impl FnOnce(&mut Self) -> Result<Stack, Reason>,
    ) -> Result<(), Reason> {
        let text = self.text;
        let at = at.filter(|&at| at < text.code.len());
        let is_free = at.is_some_and(|at| self.live.r11_free(text, at));
        let flags_free = at.is_some_and(|at| self.live.flags_free(text, at));
        match (is_free, flags_free) {
            (true, true) => {
                value(self)?;
                self.enter_opened(by);
            }
            (true, false) => self.computed_keeping_flags(index, by, value)?,
            (false, false) => self.carry_r11_and_flags(index, by, value)?,
            (false, true) => match self.register_free_across(at, index) {
                Some(other) => {
                    self.put(encode::copy(true, R11, other));
                    self.busy_with(other, |this, _| value(this))?;
                    self.enter_opened(by);
                    self.put(encode::copy(true, other, R11));
                }
                None => self.carry_r11(by, value, |this, _| {
                    this.enter_opened(by);
                    Ok(())
                })?,
            },
        }
        Ok(())
    }

    /// The unit, with r11 holding what the original's rsp shall be.
    fn enter_opened(&mut self, by: i32) {
        if by != 0 {
            self.put(encode::lea(R11, R11, by));
        }
        self.open_unit();
        self.lag = by;
        self.out.set_bias(self.lag);
    }

    /// Unit U2 where the arithmetic flags must survive: they wait in rax, and rax below the red zone of the new rsp.
    fn computed_keeping_flags(
        &mut self,
        index: Option<usize>,
        by: i32,
        value: impl FnOnce(&mut Self) -> Result<Stack, Reason>,
    ) -> Result<(), Reason> {
        self.refuse_own_flags(index)?;
        let slot = self.slot(Slot::Accumulator);
        let to_data = distance(value(self)?);
        self.put(encode::store_at(RAX, R11, slot + to_data));
        self.out.put(&encode::FLAGS_TO_RAX);
        self.enter_opened(by);
        self.out.put(&encode::FLAGS_FROM_RAX);
        self.put(encode::load(RAX, slot - by));
        Ok(())
    }

    /// The flags of the change itself are another matter.
    fn refuse_own_flags(&self, index: Option<usize>) -> Result<(), Reason> {
        match index {
            Some(index) if self.text.code[index].code.rflags_modified() != RflagsBits::NONE => {
                Err(flags_in_the_way())
            }
            _ => Ok(()),
        }
    }

    /// The same where r11 lives on too. It waits in two places of the old rsp, of which rax and the flags, in their places of the new
    /// one, spare at least one.
    fn carry_r11_and_flags(
        &mut self,
        index: Option<usize>,
        by: i32,
        value: impl FnOnce(&mut Self) -> Result<Stack, Reason>,
    ) -> Result<(), Reason> {
        self.refuse_own_flags(index)?;
        let [first, second] = [Slot::Carried, Slot::SecondCarrier].map(|slot| self.slot(slot));
        let [rax, flags] = [Slot::Accumulator, Slot::Flags].map(|slot| self.slot(slot));
        self.put(encode::store(R11, first));
        self.put(encode::store(R11, second));
        let to_data = distance(value(self)?);
        self.put(encode::store_at(RAX, R11, rax + to_data));
        self.out.put(&encode::FLAGS_TO_RAX);
        self.put(encode::store_at(RAX, R11, flags + to_data));
        let (lost, found) = (self.out.new_label(), self.out.new_label());
        for slot in [rax, flags] {
            self.put(encode::lea_stack_sized(false, RAX, first - slot - to_data));
            self.out.put(&[0x44, 0x39, 0xd8]); // cmp %r11d,%eax
            self.out.conditional(EQUAL, Target::Made(lost));
        }
        self.put(encode::load(RAX, first));
        self.out.jump(Target::Made(found));
        self.out.place(lost);
        self.put(encode::load(RAX, second));
        self.out.place(found);
        self.put(encode::store_at(RAX, R11, first + to_data));
        self.enter_opened(by);
        let [first, rax, flags] = [first, rax, flags].map(|slot| slot - by);
        self.put(encode::load(RAX, flags));
        self.out.put(&encode::FLAGS_FROM_RAX);
        self.put(encode::load(RAX, rax));
        self.put(encode::load(R11, first));
        Ok(())
    }

    /// rsp changes, as `change` says, where no register is free: r11 goes by memory, below the red zone of the old rsp and then of the new one. rax,
    /// which carries it there, is kept in two places, for one may be where r11 goes.
    fn carry_r11(
        &mut self,
        by: i32,
        value: impl FnOnce(&mut Self) -> Result<Stack, Reason>,
        change: impl FnOnce(&mut Self, i32) -> Result<(), Reason>,
    ) -> Result<(), Reason> {
        let r11_slot = self.slot(Slot::Carried);
        let [rax_slot, second_slot] = [Slot::Carrier, Slot::SecondCarrier].map(|slot| self.slot(slot));
        self.put(encode::store(R11, r11_slot));
        let to_data = distance(value(self)?);
        self.put(encode::store(RAX, rax_slot));
        self.put(encode::store(RAX, second_slot));
        self.put(encode::load(RAX, r11_slot));
        self.put(encode::store_at(RAX, R11, r11_slot + to_data));
        // Whether that place was the first of rax.
        self.put(encode::lea_stack_sized(false, RAX, rax_slot - r11_slot - to_data));
        self.out.put(&[0x44, 0x39, 0xd8]); // cmp %r11d,%eax
        self.put(encode::load(RAX, rax_slot));
        self.put(encode::load_if_equal(RAX, second_slot));
        change(self, to_data)?;
        self.put(encode::load(R11, r11_slot - by));
        Ok(())
    }

    /// A register but r11 that instruction `index` does not use and that is free before instruction `at`.
    fn register_free_across(&mut self, at: Option<usize>, index: Option<usize>) -> Option<Reg> {
        let text = self.text;
        let at = at?;
        [RAX, 1, 2, 6, 7, 8, 9, 10].into_iter().find(|&reg| {
            !self.is_busy(reg)
                && index.is_none_or(|index| self.live.effect(text, index, reg) == Effect::None)
                && self.live.free(text, at, reg)
        })
    }

    /// An instruction that reads rsp as a value: it gets the data stack's address instead.
    pub(crate) fn read_rsp(&mut self, index: usize) -> Result<(), Reason> {
        let ins = &self.text.code[index];
        let code = ins.code;
        let value = self.stack_disp(0)?;
        // mov %rsp,%reg needs no register of its own.
        if code.mnemonic() == Mnemonic::Mov
            && code.op0_kind() == OpKind::Register
            && matches!(code.op1_register(), Register::RSP | Register::ESP)
        {
            let reg = encode::number(code.op0_register());
            self.put(encode::lea_stack_sized(code.op1_register() == Register::RSP, reg, value));
            return Ok(());
        }
        self.with_scratch(index, |this, reg| {
            this.put(encode::lea_stack(reg, value));
            let mut changed = (code, Bytes::new());
            for operand in 0..code.op_count() {
                if code.op_kind(operand) == OpKind::Register && is_rsp(code.op_register(operand)) {
                    changed = with_register(&changed.0, operand, reg)?;
                }
            }
            this.operation(index, &changed.0, changed.1.as_slice())
        })
    }
}

/// From there to the control stack.
fn distance(stack: Stack) -> i32 {
    match stack {
        Stack::Data => DISTANCE as i32,
        Stack::Control => 0,
    }
}

fn parts_of_words() -> Reason {
    let what = "it moves rsp by something else than a multiple of 8 bytes";
    Reason::of_assembly(what, "keep the stack in whole 64-bit words")
}

fn flags_in_the_way() -> Reason {
    Reason::new(
        "the flags are used across a computed change of rsp",
        "in C, compile with -fno-omit-frame-pointer, or with another -O level than this; in assembly, test again after the change",
    )
}

fn unknown_set() -> Reason {
    Reason::of_assembly(
        "rsp is set in a way that the rewriter does not know",
        "set rsp with mov, lea, add, sub, and or leave, and leave functions with it where they began",
    )
}

fn leaves_with_frame() -> Reason {
    Reason::of_assembly(
        "control leaves the function with something of it left on the stack, or with the return address taken away (a retpoline, a jump by \
         push and ret, another calling convention)",
        "bring rsp back to where the function began before ret and before jumps to other functions",
    )
}

fn ways_differ() -> Reason {
    Reason::of_assembly(
        "two ways that meet here have different stacks, one of them without a frame",
        "make rsp the same on both ways, or keep 8 bytes on the stack",
    )
}

/// `code` with register `reg` as operand `operand`, in the size that the operand had, and its encoding.
pub(crate) fn with_register(
    code: &Instruction,
    operand: u32,
    reg: Reg,
) -> Result<(Instruction, Bytes), Reason> {
    let old = code.op_register(operand);
    let register = REGISTERS[usize::from(reg)];
    let register = match old.size() {
        8 => register,
        4 => register.full_register32(),
        size => {
            return Err(Reason::of_assembly(
                format!("it uses the low {size} bytes of rsp"),
                "copy rsp to another register first",
            ));
        }
    };
    let mut changed = *code;
    changed.set_op_register(operand, register);
    let bytes = encode::anew(&changed)?;
    debug_assert!(memory_operand(code).is_none() || changed.memory_base() == code.memory_base());
    Ok((changed, bytes))
}
