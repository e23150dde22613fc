//! String instructions: unit U3, whose pointers are made addresses of the window first (rules V2, V5).

use iced_x86::{Mnemonic, OpKind, Register};

use crate::emit::Target;
use crate::encode::{self, Parts, RDI, RSI, Reg};
use crate::error::Reason;
use crate::rewriter::Rewriter;

/// `jrcxz`.
const JRCXZ: u8 = 0xe3;

impl Rewriter<'_> {
    /// A string instruction.
    pub(crate) fn string(&mut self, index: usize) -> Result<(), Reason> {
        let text = self.text;
        let code = text.code[index].code;
        let kinds = [code.op0_kind(), code.op1_kind()];
        let is_narrow = |kind: &OpKind| {
            matches!(
                kind,
                OpKind::MemorySegSI | OpKind::MemorySegESI | OpKind::MemoryESDI | OpKind::MemoryESEDI
            )
        };
        if kinds.iter().any(is_narrow) {
            return Err(Reason::of_assembly(
                "a string instruction with 32-bit addresses",
                "use 64-bit addresses",
            ));
        }
        if code.segment_prefix() != Register::None
            && !matches!(code.segment_prefix(), Register::DS | Register::ES | Register::CS | Register::SS)
        {
            return Err(Reason::of_assembly(
                "a string instruction on another segment",
                "load the thread pointer first",
            ));
        }
        self.catch_up();
        let pointers = [(OpKind::MemoryESRDI, RDI), (OpKind::MemorySegRSI, RSI)];
        let pointers: Vec<Reg> =
            pointers.into_iter().filter(|(kind, _)| kinds.contains(kind)).map(|(_, reg)| reg).collect();
        let repeats = code.has_rep_prefix() || code.has_repne_prefix();
        self.check_string(index, &pointers, repeats)?;
        let compares = matches!(
            code.mnemonic(),
            Mnemonic::Cmpsb
                | Mnemonic::Cmpsw
                | Mnemonic::Cmpsd
                | Mnemonic::Cmpsq
                | Mnemonic::Scasb
                | Mnemonic::Scasw
                | Mnemonic::Scasd
                | Mnemonic::Scasq
        );
        if compares && repeats && !self.live.flags_free(text, index) {
            // Zero repetitions leave the flags as they were.
            self.settle(false);
            let over = self.out.new_label();
            self.out.counted(None, JRCXZ, Target::Made(over));
            self.unit(index, &kinds, true);
            self.out.place(over);
        } else if compares || self.live.flags_free(text, index + 1) {
            self.unit(index, &kinds, compares);
        } else {
            self.keeping_flags(|this| {
                this.unit(index, &kinds, false);
                Ok(())
            })?;
        }
        self.stats.strings += 1;
        Ok(())
    }

    fn unit(&mut self, index: usize, kinds: &[OpKind], compares: bool) {
        let mut confine = |reg: Reg, low: u8| {
            self.out.put(&[0x89, low]); // mov %edi,%edi
            self.put(encode::add_window_base(reg));
        };
        if kinds.contains(&OpKind::MemoryESRDI) {
            confine(RDI, 0xff);
        }
        if kinds.contains(&OpKind::MemorySegRSI) {
            confine(RSI, 0xf6);
        }
        let ins = &self.text.code[index];
        let parts = Parts::of(self.encoded(ins));
        if parts.operand_size {
            self.out.put(&[0x66]);
        }
        if parts.repeat != 0 {
            // Only comparisons tell the two repeat prefixes apart.
            self.out.put(&[if compares { parts.repeat } else { 0xf3 }]);
        }
        if parts.rex & 8 != 0 {
            self.out.put(&[0x48]);
        }
        self.out.put(parts.rest);
    }
}
