//! Strict-bounds mode: the upper half of an address is compared with the window's before the address is used, so that
//! a wild pointer traps at the instruction that uses it instead of being truncated into the window.
//! (Wahbe et al. 1993, §3.1, "segment matching".)
//!
//! Not checked, because they cannot leave the stack, the image or the thread's block: addresses relative to
//! rsp, rip and the thread pointer. Gathers and scatters are truncated, not checked: one check for each lane would
//! cost more than the lanes loaded one by one. `Stats::unchecked_vectors` counts them, and the driver tells.

use iced_x86::{Code, Encoder, Instruction, MemoryOperand, Register};

use crate::decode::is_rsp;
use crate::emit::Target;
use crate::encode::{self, Reg, TRAP};
use crate::error::Reason;
use crate::liveness::REGISTERS;
use crate::rewriter::Rewriter;

/// Condition `e`: low half of the opcode.
const EQUAL: u8 = 4;
/// `jrcxz`.
const JRCXZ: u8 = 0xe3;

impl Rewriter<'_> {
    /// Checks the address of the memory operand of `code`, a variant of instruction `index`. An address from
    /// rsp counts `stack_disp` from it.
    pub(crate) fn check_operand(
        &mut self,
        index: usize,
        code: &Instruction,
        stack_disp: Option<i32>,
    ) -> Result<(), Reason> {
        let (base, indexed) = (code.memory_base(), code.memory_index());
        let is_narrow = |register: Register| register != Register::None && register.size() != 8;
        if !self.options.strict_bounds {
            return Ok(());
        }
        if code.is_vsib() {
            self.stats.unchecked_vectors += 1;
            return Ok(());
        }
        if is_narrow(base) || is_narrow(indexed) {
            return Ok(());
        }
        if is_rsp(base) && indexed == Register::None {
            return Ok(());
        }
        let disp = stack_disp.map_or(code.memory_displacement64() as i64, i64::from);
        let memory = MemoryOperand::with_base_index_scale_displ_size(
            base,
            indexed,
            code.memory_index_scale(),
            disp,
            if disp == 0 && base != Register::None { 0 } else { 1 },
        );
        self.check(index, |this, reg| {
            let lea = Instruction::with2(Code::Lea_r64_m, REGISTERS[usize::from(reg)], memory);
            let mut encoder = Encoder::new(64);
            let encoded = lea.and_then(|lea| encoder.encode(&lea, 0));
            encoded.map_err(|error| {
                Reason::new(format!("no encoding: {error}"), "build without --strict-bounds")
            })?;
            this.out.put(&encoder.take_buffer());
            Ok(())
        })
    }

    /// Checks the pointers of a string instruction, unless it repeats zero times.
    pub(crate) fn check_string(
        &mut self,
        index: usize,
        pointers: &[Reg],
        repeats: bool,
    ) -> Result<(), Reason> {
        if !self.options.strict_bounds {
            return Ok(());
        }
        let over = self.out.new_label();
        if repeats {
            self.settle(false);
            self.out.counted(None, JRCXZ, Target::Made(over));
        }
        for &pointer in pointers {
            self.check(index, |this, reg| {
                this.put(encode::copy(true, pointer, reg));
                Ok(())
            })?;
        }
        self.out.place(over);
        Ok(())
    }

    /// Checks the address that `address` leaves in the register that it is given; flags and registers survive.
    fn check(
        &mut self,
        index: usize,
        address: impl FnOnce(&mut Self, Reg) -> Result<(), Reason>,
    ) -> Result<(), Reason> {
        let flags_free = self.live.flags_free(self.text, index);
        self.probe_if_moved(flags_free);
        let body = |this: &mut Self| {
            this.with_scratch(index, |this, reg| {
                address(this, reg)?;
                this.compare_upper_half(reg);
                Ok(())
            })
        };
        if flags_free { body(self) } else { self.keeping_flags(body) }
    }

    /// Checks the target of unit U1; changes flags and `scratch`.
    pub(crate) fn check_target(&mut self, target: Reg, scratch: Reg) {
        if self.options.strict_bounds {
            self.put(encode::copy(true, target, scratch));
            self.compare_upper_half(scratch);
        }
    }

    /// Traps unless the upper half of the address in `reg` is the window's.
    fn compare_upper_half(&mut self, reg: Reg) {
        let over = self.out.new_label();
        self.put(encode::shift_upper_half(reg));
        self.put(encode::compare_window_high(reg));
        self.out.conditional(EQUAL, Target::Made(over));
        self.out.put(&TRAP);
        self.out.place(over);
        self.stats.pointer_checks += 1;
    }
}
