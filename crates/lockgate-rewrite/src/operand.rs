//! Memory operands (rule V2): `gs` with 32-bit addresses, or a distance from rsp.

use iced_x86::{Instruction, Mnemonic, Register};

use crate::code::is_relative;
use crate::decode::{is_rsp, memory_operand};
use crate::elf::reloc;
use crate::emit::Target;
use crate::encode::{Bytes, MAX_LENGTH, Parts};
use crate::error::Reason;
use crate::returns_twice::{address_that_returns_twice, is_address_that_returns_twice};
use crate::rewriter::Rewriter;

/// How an operand's address is confined.
enum Form {
    /// No access to memory, or relative to rip: as it is.
    Plain,
    /// `%gs:` and a 32-bit address.
    Window,
}

impl Rewriter<'_> {
    /// Emits the operation `code`, encoded as `encoded`, with its memory operand confined. `code` is
    /// instruction `index` or a variant of it that keeps what follows the ModRM byte.
    pub(crate) fn operation(
        &mut self,
        index: usize,
        code: &Instruction,
        encoded: &[u8],
    ) -> Result<(), Reason> {
        let is_access =
            memory_operand(code).is_some() && !matches!(code.mnemonic(), Mnemonic::Lea | Mnemonic::Nop);
        // What `lea` computes is an offset in any segment.
        if code.segment_prefix() == Register::FS && (is_access || has_implicit_memory(code)) {
            return self.thread_local(index, code, encoded);
        }
        if is_access && self.options.strict_bounds && code.memory_base() != Register::RIP {
            let displacement = code.memory_displacement64() as i64;
            let stack_disp =
                if is_rsp(code.memory_base()) { Some(self.stack_disp(displacement)?) } else { None };
            self.check_operand(index, code, stack_disp)?;
        }
        self.confined(index, code, encoded)
    }

    /// The same without strict-bounds mode's check.
    pub(crate) fn confined(
        &mut self,
        index: usize,
        code: &Instruction,
        encoded: &[u8],
    ) -> Result<(), Reason> {
        let parts = Parts::of(encoded);
        refuse_absolute(&parts, code)?;
        if memory_operand(code).is_none() {
            let form = if has_implicit_memory(code) { Form::Window } else { Form::Plain };
            // Where there is no address, a prefix for its size is padding.
            return self.place(index, &Parts { address_size: false, ..parts }, form, parts.rest);
        }
        let accesses = !matches!(code.mnemonic(), Mnemonic::Lea | Mnemonic::Nop);
        let base = code.memory_base();
        if base == Register::RIP {
            return self.place(index, &parts, Form::Plain, parts.rest);
        }
        if base == Register::EIP {
            return Err(Reason::new(
                "an address relative to the low half of rip",
                "compile with the small code model",
            ));
        }
        if !is_rsp(base) {
            let form = if accesses { Form::Window } else { Form::Plain };
            return self.place(index, &parts, form, parts.rest);
        }
        let disp = self.stack_disp(code.memory_displacement64() as i64)?;
        let near = base == Register::RSP && code.memory_index() == Register::None && Self::is_near(disp);
        let (rest, field) = with_displacement(&parts, disp);
        if self.has_reloc(index, field) {
            return Err(Reason::new("a relocated displacement from rsp", "compile with -fPIE"));
        }
        self.place(
            index,
            &parts,
            if accesses && !near { Form::Window } else { Form::Plain },
            rest.as_slice(),
        )?;
        if near && accesses && crate::stack::is_probe(&self.text.code[index]) {
            self.probed();
        }
        Ok(())
    }

    /// Whether a relocation of instruction `index` has its field `back` bytes before the end.
    fn has_reloc(&self, index: usize, back: usize) -> bool {
        let end = self.text.code[index].code.next_ip();
        self.text.relocs(self.object, index).iter().any(|reloc| end - reloc.offset == back as u64)
    }

    /// Emits prefixes in canonical order, then `rest`; relocations keep their distance from the end.
    fn place(&mut self, index: usize, parts: &Parts<'_>, form: Form, rest: &[u8]) -> Result<(), Reason> {
        let mut out = Bytes::new();
        match form {
            Form::Window => out.extend(&[0x65, 0x67]),
            Form::Plain if parts.address_size => out.push(0x67),
            Form::Plain => (),
        }
        if parts.operand_size {
            out.push(0x66);
        }
        if parts.lock {
            out.push(0xf0);
        } else if parts.repeat != 0 {
            out.push(parts.repeat);
        }
        if parts.rex != 0 {
            out.push(parts.rex);
        }
        if out.len() + rest.len() > MAX_LENGTH {
            return Err(Reason::of_assembly(
                "the instruction would become longer than 15 bytes",
                "split it in two",
            ));
        }
        self.put(out);
        self.out.put(rest);
        self.relocations(index)
    }

    /// Carries the relocations of instruction `index` over to the instruction just emitted, which ends like it.
    pub(crate) fn relocations(&mut self, index: usize) -> Result<(), Reason> {
        let text = self.text;
        let ins = &text.code[index];
        let relocs = text.relocs(self.object, index);
        let mut relative = false;
        for reloc in relocs {
            let kind = match reloc.kind {
                reloc::NONE => continue,
                // The module's own block is the only one: local-dynamic is local-exec.
                reloc::DTPOFF32 => reloc::TPOFF32,
                kind if is_relative(kind) || matches!(kind, reloc::TPOFF32 | reloc::SIZE32) => kind,
                kind => return Err(absolute(kind)),
            };
            if is_address_that_returns_twice(self.object, reloc.symbol) {
                return Err(address_that_returns_twice());
            }
            let back = (ins.code.next_ip() - reloc.offset) as u32;
            relative |= is_relative(kind);
            let to_end = if is_relative(kind) { i64::from(back) } else { 0 };
            self.out.reloc(back, reloc.symbol, kind, reloc.addend, to_end);
        }
        if !relative && ins.code.is_ip_rel_memory_operand() {
            let target = text.at(ins.code.ip_rel_memory_address() as i64).ok_or_else(|| {
                Reason::of_assembly(
                    "an address relative to rip, outside the section",
                    "assemble it with a symbol",
                )
            })?;
            let parts = Parts::of(self.encoded(ins));
            let back = (parts.rest.len() - parts.modrm_at() - 1) as u32;
            self.out.field(back, Target::Entry(target as u32));
        }
        Ok(())
    }
}

/// Refusal of a relocation that makes code position dependent.
pub(crate) fn absolute(kind: u32) -> Reason {
    match kind {
        reloc::ABS32 | reloc::ABS32S => Reason::new(
            "the code holds an absolute 32-bit address: it was compiled without -fPIE",
            "compile with -fPIE or -fPIC (assemble with rip-relative operands)",
        ),
        reloc::ABS64 | reloc::GOTOFF64 | reloc::PC64 => Reason::new(
            "the code holds a 64-bit address: the large code model",
            "compile with -mcmodel=small -fPIE",
        ),
        kind => Reason::new(
            format!("a relocation of type {kind} in code is not supported"),
            "compile with the compiler's default code model and -fPIE",
        ),
    }
}

/// Instructions that access memory through a register that no operand names.
fn has_implicit_memory(code: &Instruction) -> bool {
    matches!(
        code.mnemonic(),
        Mnemonic::Xlatb
            | Mnemonic::Maskmovq
            | Mnemonic::Maskmovdqu
            | Mnemonic::Vmaskmovdqu
            | Mnemonic::Clzero
    )
}

/// The instruction's rest with a 32-bit displacement `disp`, and how far before the instruction's end the
/// old displacement started.
fn with_displacement(parts: &Parts<'_>, disp: i32) -> (Bytes, usize) {
    let modrm = parts.modrm_at();
    let rest = parts.rest;
    let old = match rest[modrm] >> 6 {
        0 => 0,
        1 => 1,
        _ => 4,
    };
    let start = modrm + 2;
    let mut out = Bytes::new();
    out.extend(&rest[..modrm]);
    out.push(rest[modrm] & 0x3f | 0x80);
    out.push(rest[modrm + 1]);
    out.extend(&disp.to_le_bytes());
    out.extend(&rest[start + old..]);
    (out, rest.len() - start)
}

/// Refuses `movabs`, which has an address where others have a ModRM byte.
pub(crate) fn refuse_absolute(parts: &Parts<'_>, code: &Instruction) -> Result<(), Reason> {
    if matches!(parts.rest[0], 0xa0..=0xa3) && memory_operand(code).is_some() {
        return Err(Reason::new(
            "an operand with a 64-bit absolute address",
            "compile with the small code model",
        ));
    }
    Ok(())
}
