//! Instructions that read or set rsp itself: pushes and pops, frames, computed stack pointers (rule V3).

use iced_x86::{Instruction, Mnemonic, OpKind, Register, RflagsBits};
use lockgate_abi::code::MAX_MOVE;

use crate::decode::{is_rsp, memory_operand};
use crate::emit::Target;
use crate::encode::{self, Bytes, DISTANCE, Parts, R11, RAX, RBP, Reg};
use crate::error::Reason;
use crate::liveness::{Effect, REGISTERS};
use crate::rewriter::{Rewriter, Slot};
use crate::stack;

/// Largest constant change of rsp, bytes: a thread's stack with its guards.
const LARGEST_MOVE: u32 = lockgate_abi::stack::SLOT as u32;

/// Numbers of operations in the group of opcodes 81 and 83.
const AND: u8 = 4;

/// Condition `e`: low half of the opcode.
const EQUAL: u8 = 4;

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
        self.touched();
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
            self.touched();
            self.original_moves(8);
            return Ok(());
        }
        self.with_scratch(index, |this, reg| {
            this.put(encode::load(reg, slot));
            this.touched();
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
        self.computed(index, |this| {
            this.put(encode::lea(R11, RBP, 8));
            Ok(Stack::Data)
        })?;
        self.put(encode::load(RBP, -8 - DISTANCE as i32));
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
        self.touched();
        self.put(encode::lea_stack(RBP, frame));
        self.original_moves(-8);
        self.move_original(-(code.immediate(0) as i32));
        Ok(())
    }

    /// The original's rsp moves by `by`, however far: in steps, each touched.
    fn move_original(&mut self, by: i32) {
        self.catch_up();
        // While rsp is on its way, the rewriter's own places, which count from the original's, are out of reach.
        self.touch_if_moved(false);
        self.original_moves(by);
        while self.lag.unsigned_abs() > MAX_MOVE {
            let step = MAX_MOVE as i32 * -self.lag.signum();
            // The touch lies below the new rsp, not below the original's.
            self.move_rsp(step, false);
            self.touch_here();
        }
        self.catch_up();
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
            return Err(Reason::of_assembly("it writes a part of rsp", "use the 64-bit register"));
        }
        let source = (code.op_count() == 2).then(|| code.op1_kind());
        match (code.mnemonic(), source) {
            (Mnemonic::And, Some(OpKind::Immediate8to64 | OpKind::Immediate32to64)) => {
                self.align_rsp(index, code.immediate(1) as i64)
            }
            (Mnemonic::Mov, Some(OpKind::Register)) => {
                let from = encode::number(code.op1_register());
                self.computed(index, |this| {
                    if from != R11 {
                        this.put(encode::copy(true, from, R11));
                    }
                    Ok(Stack::Data)
                })
            }
            (Mnemonic::Mov | Mnemonic::Lea, Some(OpKind::Memory)) => self.computed(index, |this| {
                let (code, encoded) = with_register(&code, 0, R11)?;
                this.operation(index, &code, encoded.as_slice())?;
                Ok(Stack::Data)
            }),
            (Mnemonic::Add | Mnemonic::Sub, Some(OpKind::Register))
                if code.op1_register() == Register::R11 =>
            {
                self.computed(index, |this| {
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
                self.computed(index, |this| {
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
        self.catch_up();
        if size <= i64::from(MAX_MOVE) {
            self.moved_up_to(size as u32);
            self.put(encode::arithmetic_immediate(AND, mask as i32, encode::RSP));
            return Ok(());
        }
        self.computed(index, |this| {
            this.put(encode::copy(true, encode::RSP, R11));
            this.put(encode::arithmetic_immediate(AND, mask as i32, R11));
            Ok(Stack::Control)
        })
    }

    /// Unit U2: `value` leaves rsp's new offset in r11 and says in which stack it counts.
    fn computed(
        &mut self,
        index: usize,
        value: impl FnOnce(&mut Self) -> Result<Stack, Reason>,
    ) -> Result<(), Reason> {
        self.settle(false);
        let text = self.text;
        let is_free = index + 1 < text.code.len() && self.live.r11_free(text, index + 1);
        if index + 1 < text.code.len() && !self.live.flags_free(text, index + 1) {
            if is_free {
                self.computed_keeping_flags(index, value)?;
            } else {
                self.carry_r11_and_flags(index, value)?;
            }
            self.stats.computed_rsp += 1;
            return Ok(());
        }
        if is_free {
            value(self)?;
            self.put(encode::set_rsp());
        } else if let Some(other) = self.register_free_across(index) {
            self.put(encode::copy(true, R11, other));
            self.busy_with(other, |this, _| value(this))?;
            self.put(encode::set_rsp());
            self.put(encode::copy(true, other, R11));
        } else {
            self.carry_r11(value)?;
        }
        self.stats.computed_rsp += 1;
        Ok(())
    }

    /// Unit U2 where the arithmetic flags must survive: they wait in rax, and rax below the red zone of the new rsp.
    fn computed_keeping_flags(
        &mut self,
        index: usize,
        value: impl FnOnce(&mut Self) -> Result<Stack, Reason>,
    ) -> Result<(), Reason> {
        // The flags of the change itself are another matter.
        if self.text.code[index].code.rflags_modified() != RflagsBits::NONE {
            return Err(flags_in_the_way());
        }
        let slot = self.slot(Slot::Accumulator);
        let to_data = match value(self)? {
            Stack::Data => DISTANCE as i32,
            Stack::Control => 0,
        };
        self.put(encode::store_at(RAX, R11, slot + to_data));
        self.out.put(&encode::FLAGS_TO_RAX);
        self.put(encode::set_rsp());
        self.out.put(&encode::FLAGS_FROM_RAX);
        self.put(encode::load(RAX, slot));
        Ok(())
    }

    /// The same where r11 lives on too. It waits in two places of the old rsp, of which rax and the flags, in their places of the new
    /// one, spare at least one.
    fn carry_r11_and_flags(
        &mut self,
        index: usize,
        value: impl FnOnce(&mut Self) -> Result<Stack, Reason>,
    ) -> Result<(), Reason> {
        if self.text.code[index].code.rflags_modified() != RflagsBits::NONE {
            return Err(flags_in_the_way());
        }
        let [first, second] = [Slot::Carried, Slot::SecondCarrier].map(|slot| self.slot(slot));
        let [rax, flags] = [Slot::Accumulator, Slot::Flags].map(|slot| self.slot(slot));
        self.put(encode::store(R11, first));
        self.put(encode::store(R11, second));
        let to_data = match value(self)? {
            Stack::Data => DISTANCE as i32,
            Stack::Control => 0,
        };
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
        self.put(encode::set_rsp());
        self.put(encode::load(RAX, flags));
        self.out.put(&encode::FLAGS_FROM_RAX);
        self.put(encode::load(RAX, rax));
        self.put(encode::load(R11, first));
        Ok(())
    }

    /// Unit U2 when no register is free: r11 goes by memory, below the red zone of the old rsp and then of the new one. rax,
    /// which carries it there, is kept in two places, for one may be where r11 goes.
    fn carry_r11(&mut self, value: impl FnOnce(&mut Self) -> Result<Stack, Reason>) -> Result<(), Reason> {
        let r11_slot = self.slot(Slot::Carried);
        let [rax_slot, second_slot] = [Slot::Carrier, Slot::SecondCarrier].map(|slot| self.slot(slot));
        self.put(encode::store(R11, r11_slot));
        let to_data = match value(self)? {
            Stack::Data => DISTANCE as i32,
            Stack::Control => 0,
        };
        self.put(encode::store(RAX, rax_slot));
        self.put(encode::store(RAX, second_slot));
        self.put(encode::load(RAX, r11_slot));
        self.put(encode::store_at(RAX, R11, r11_slot + to_data));
        // Whether that place was the first of rax.
        self.put(encode::lea_stack_sized(false, RAX, rax_slot - r11_slot - to_data));
        self.out.put(&[0x44, 0x39, 0xd8]); // cmp %r11d,%eax
        self.put(encode::load(RAX, rax_slot));
        self.put(encode::load_if_equal(RAX, second_slot));
        self.put(encode::set_rsp());
        self.put(encode::load(R11, r11_slot));
        Ok(())
    }

    /// A register but r11 that instruction `index` does not use and that is free after it.
    fn register_free_across(&mut self, index: usize) -> Option<Reg> {
        let text = self.text;
        if index + 1 >= text.code.len() {
            return None;
        }
        [RAX, 1, 2, 6, 7, 8, 9, 10].into_iter().find(|&reg| {
            self.live.effect(text, index, reg) == Effect::None && self.live.free(text, index + 1, reg)
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
        if matches!(code.mnemonic(), Mnemonic::Xchg | Mnemonic::Xadd | Mnemonic::Cmpxchg) {
            return Err(Reason::of_assembly("rsp is exchanged", "set rsp with mov"));
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
