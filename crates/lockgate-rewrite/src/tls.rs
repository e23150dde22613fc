//! Thread-local storage: `%fs:` operands and the dynamic models' calls become accesses through the thread pointer
//! that the thread's own data stack holds.

use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind, Register};

use crate::decode::{Ins, mark, memory_operand};
use crate::elf::reloc;
use crate::encode::{self, Bytes, Parts, RAX, Reg};
use crate::error::Reason;
use crate::liveness::Effect;
use crate::rewriter::Rewriter;

impl Rewriter<'_> {
    /// Emits `code`, encoded as `encoded`, which accesses memory through `%fs:`. It is instruction `index` or a variant of it with the
    /// same address.
    pub(crate) fn thread_local(
        &mut self,
        index: usize,
        code: &Instruction,
        encoded: &[u8],
    ) -> Result<(), Reason> {
        let base = code.memory_base();
        if base == Register::RIP || crate::decode::is_rsp(base) {
            return Err(Reason::of_assembly(
                "a thread-local access relative to rip or rsp",
                "load the offset into a register",
            ));
        }
        let parts = Parts::of(encoded);
        crate::operand::refuse_absolute(&parts, code)?;
        if parts.address_size {
            return Err(Reason::of_assembly(
                "a thread-local access with a 32-bit address",
                "use 64-bit registers in its address",
            ));
        }
        if memory_operand(code).is_none() || code.is_vsib() || code.mnemonic() == Mnemonic::Xlatb {
            return Err(Reason::of_assembly(
                "an instruction for which thread-local storage is another segment",
                "load the thread pointer first",
            ));
        }
        // A load's own destination serves as the scratch register unless it takes part in the address.
        if matches!(code.mnemonic(), Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd)
            && code.op0_kind() == OpKind::Register
            && code.op0_register().is_gpr()
            && code.op0_register().size() >= 4
            && self.live.effect(self.text, index, encode::number(code.op0_register())) == Effect::Overwrites
        {
            return self.through(index, code, encoded, encode::number(code.op0_register()));
        }
        self.with_scratch(index, |this, reg| this.through(index, code, encoded, reg))
    }

    /// The same, with the thread pointer in `reg`.
    fn through(&mut self, index: usize, code: &Instruction, encoded: &[u8], reg: Reg) -> Result<(), Reason> {
        self.thread_pointer(index, reg);
        let (base, indexed) = (code.memory_base(), code.memory_index());
        // The word at the thread pointer is the thread pointer.
        if base == Register::None
            && indexed == Register::None
            && code.memory_displacement64() == 0
            && self.text.relocs(self.object, index).is_empty()
            && code.mnemonic() == Mnemonic::Mov
            && code.op0_kind() == OpKind::Register
            && encode::number(code.op0_register()) == reg
            && code.op0_register().size() == 8
        {
            return Ok(());
        }
        // The address: thread pointer + base + index.
        if base != Register::None {
            self.put(encode::lea_sum(reg, reg, encode::number(base), 1));
        }
        if indexed != Register::None {
            let scale = code.memory_index_scale() as u8;
            self.put(encode::lea_sum(reg, reg, encode::number(indexed), scale));
        }
        self.with_base(index, code, encoded, reg)
    }

    /// The same, with `reg` as its only address register.
    fn with_base(
        &mut self,
        index: usize,
        code: &Instruction,
        encoded: &[u8],
        reg: Reg,
    ) -> Result<(), Reason> {
        let mut code = *code;
        let base = code.memory_base();
        code.set_segment_prefix(Register::None);
        code.set_memory_base(crate::liveness::REGISTERS[usize::from(reg)]);
        code.set_memory_index(Register::None);
        code.set_memory_index_scale(1);
        let parts = Parts::of(encoded);
        if parts.is_vector_encoded() {
            return self.vector_with_base(index, code);
        }
        let modrm = parts.modrm_at();
        let old = parts.rest[modrm];
        let has_sib = old & 7 == 4;
        let disp_at = modrm + 1 + usize::from(has_sib);
        let disp_len = match old >> 6 {
            0 if base == Register::None => 4,
            0 => 0,
            1 => 1,
            _ => 4,
        };
        let mut encoded = Bytes::new();
        if parts.operand_size {
            encoded.push(0x66);
        }
        if parts.lock {
            encoded.push(0xf0);
        } else if parts.repeat != 0 {
            encoded.push(parts.repeat);
        }
        let rex = parts.rex & 0x4c | reg >> 3;
        if parts.rex != 0 || reg >> 3 != 0 {
            encoded.push(0x40 | rex);
        }
        encoded.extend(&parts.rest[..modrm]);
        encoded.push(0x80 | old & 0x38 | reg & 7);
        if reg & 7 == 4 {
            encoded.push(0x24);
        }
        encoded.extend(&(code.memory_displacement64() as i32).to_le_bytes());
        encoded.extend(&parts.rest[disp_at + disp_len..]);
        self.confined(index, &code, encoded.as_slice())
    }

    /// The same for VEX and EVEX encodings, by encoding anew; they carry no relocation but of the displacement.
    fn vector_with_base(&mut self, index: usize, mut code: Instruction) -> Result<(), Reason> {
        code.set_memory_displ_size(8);
        self.confined(index, &code, encode::anew(&code)?.as_slice())
    }

    /// Puts the thread pointer into `reg`, before instruction `index`.
    fn thread_pointer(&mut self, index: usize, reg: Reg) {
        let flags_free = self.live.flags_free(self.text, index);
        for bytes in encode::thread_pointer(reg, flags_free) {
            self.put(bytes);
        }
        self.stats.thread_pointers += 1;
    }

    /// The instruction sequences of the general- and local-dynamic models and of descriptors, which the linker would relax.
    /// Returns how many instructions after `index` belong to the sequence, or `None` if none starts here.
    pub(crate) fn dynamic_tls(&mut self, index: usize) -> Result<Option<usize>, Reason> {
        let text = self.text;
        let relocs = text.relocs(self.object, index);
        let Some(first) = relocs.iter().find(|reloc| {
            matches!(reloc.kind, reloc::TLSGD | reloc::TLSLD | reloc::GOTPC32_TLSDESC | reloc::TLSDESC_CALL)
        }) else {
            return Ok(None);
        };
        let broken = || {
            Reason::new("an unknown sequence of thread-local storage", "compile with -ftls-model=local-exec")
        };
        let is_call = |ins: &Ins| {
            matches!(ins.code.flow_control(), FlowControl::Call | FlowControl::IndirectCall)
                && !ins.has(mark::LABEL)
        };
        if memory_operand(&text.code[index].code).is_none()
            || text.code[index].code.mnemonic() != Mnemonic::Lea
            || !text.code.get(index + 1).is_some_and(is_call)
        {
            return Err(broken());
        }
        if first.kind == reloc::GOTPC32_TLSDESC {
            // lea x@tlsdesc(%rip),%rax becomes mov $x@tpoff,%rax; the call that follows is left out.
            self.out.put(&[0x48, 0xc7, 0xc0, 0, 0, 0, 0]);
            self.out.reloc(4, first.symbol, reloc::TPOFF32, first.addend + 4, 0);
            let next = text.relocs(self.object, index + 1);
            return if next.iter().any(|reloc| reloc.kind == reloc::TLSDESC_CALL) {
                Ok(Some(1))
            } else {
                Err(broken())
            };
        }
        let next = text.relocs(self.object, index + 1);
        let calls_resolver =
            next.iter().any(|reloc| self.object.symbols[reloc.symbol as usize].name == b"__tls_get_addr");
        if !calls_resolver {
            return Err(broken());
        }
        self.thread_pointer(index, RAX);
        if first.kind == reloc::TLSGD {
            self.out.put(&[0x48, 0x8d, 0x80, 0, 0, 0, 0]); // lea x@tpoff(%rax),%rax
            self.out.reloc(4, first.symbol, reloc::TPOFF32, first.addend + 4, 0);
        }
        Ok(Some(1))
    }
}
