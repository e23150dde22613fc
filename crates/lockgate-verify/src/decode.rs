//! The decoder (rule V1): canonical prefixes, then the allow-list, then the operands.
//!
//! # One length on every processor
//! Rule V1 asks for a decoding in which Intel's and AMD's processors agree. They differ (review.md, C9 and D1) on
//! branches with 66, far transfers, `ud0`, `mov cr8` and `F3 REX.B 90`. None of these can be accepted here: a prefix
//! is legal only in the fixed order and only where the list has a form for it, branches take none at all, and the
//! others are not on the list. Nor can a bit that today's processors ignore be set: unused register bits, vvvv, W
//! and L must have the one value that the form has, so that a later processor cannot read more into them
//! (review.md, C13). `tests` compares random accepted instructions with iced-x86 as both vendors.

use crate::forms::{Form, Forms, Space, flag, row};

/// What the rules need to know about a decoded instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    /// Length, bytes.
    pub len: usize,
    /// Bits of [`flag`] of its form.
    pub flags: u32,
    /// What its form needs of the processor.
    pub needs: u64,
    /// Where its memory operand lies.
    pub memory: Memory,
    /// Displacement of the memory operand; of meaning where [`Memory`] says so.
    pub disp: i32,
    /// Largest access, bytes; 0 if it has no memory operand or only computes an address.
    pub access: u8,
    /// General registers that it writes, one bit each; implicit writes to rax, rcx and rdx are left out.
    pub written: u16,
    /// Coded as EVEX.
    pub evex: bool,
    /// EVEX: number of the mask register, 0 for none.
    pub mask: u8,
}

/// The address of a memory operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// None.
    None,
    /// Behind the prefixes 65 67, from any registers.
    Window,
    /// `disp(%rip)`; `disp` counts from the instruction's end.
    Rip,
    /// `disp(%rsp)` without index; disp8 is already scaled.
    Stack,
    /// Anything else: 64-bit registers or an absolute address.
    Other,
}

/// Why bytes are not an instruction of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    NotListed,
    Prefixes,
    Reserved,
    SameRegister,
    Truncated,
}

use Refusal::{NotListed, Prefixes, Reserved, SameRegister, Truncated};

impl From<Refusal> for String {
    fn from(refusal: Refusal) -> String {
        let text = match refusal {
            NotListed => "this encoding is not on the list of allowed instructions",
            Prefixes => "its prefixes are not canonical: [65 67] [66] [f0|f2|f3] [rex]",
            Reserved => "bits that this form does not use are not zero",
            SameRegister => "the vector registers that it names must differ",
            Truncated => "it does not end before the code does, or is longer than 15 bytes",
        };
        text.to_owned()
    }
}

/// Longest instruction, bytes (Intel SDM volume 2, 2.3.11).
const MAX_LEN: usize = 15;

/// Number of rbx.
const RBX: u8 = 3;

/// Decodes one instruction. What it finds is a field, not a result: it stays in registers that way.
pub(crate) struct Decoder<'a> {
    forms: &'a Forms,
    /// Bytes of text from the instruction's first on.
    room: usize,
    /// The first 16 of them in memory order, zero beyond the end of the text. Instructions have at most 15.
    bytes: u128,
    /// Bytes not yet taken, the next one lowest: at most eight follow 65 67 up to SIB.
    rest: u64,
    /// Number of bytes taken.
    taken: usize,
    /// Behind 65 67.
    window: bool,
    /// Behind F0.
    lock: bool,
    /// Has REX, VEX or EVEX: byte registers 4–7 are spl, bpl, sil, dil.
    rex: bool,
    extension: Extension,
    /// Complete when [`Decoder::run`] has succeeded.
    pub instruction: Instruction,
}

/// Register bits of REX, VEX and EVEX, each already in its place (8 or 16) of a register number.
#[derive(Clone, Copy, Default)]
struct Extension {
    /// R and R': added to ModRM.reg.
    reg: u8,
    /// X: added to the index; shifted once more, to ModRM.rm when it names a register.
    x: u8,
    /// B: added to the base or to ModRM.rm.
    b: u8,
    /// vvvv and V'.
    vvvv: u8,
}

/// What EVEX adds.
#[derive(Clone, Copy)]
struct Evex {
    mask: u8,
    /// Broadcast, or rounding control.
    b: bool,
    zeroing: bool,
}

/// Whether the byte is a prefix other than 65, 67 and REX: one look instead of seven comparisons, which are in vain for most instructions.
#[inline(always)]
fn is_prefix(byte: u8) -> bool {
    const PREFIXES: [bool; 256] = {
        let (mut table, mut i, all) = ([false; 256], 0, [0x62, 0x66, 0xc4, 0xc5, 0xf0, 0xf2, 0xf3]);
        while i < all.len() {
            table[all[i]] = true;
            i += 1;
        }
        table
    };
    PREFIXES[byte as usize]
}

impl<'a> Decoder<'a> {
    /// A decoder of the instruction at `text[at..]`.
    #[inline(always)]
    pub(crate) fn new(forms: &'a Forms, text: &[u8], at: usize) -> Decoder<'a> {
        let text = &text[at..];
        let bytes = match text.first_chunk() {
            Some(bytes) => u128::from_le_bytes(*bytes),
            None => text.iter().rev().fold(0, |rest, &byte| rest << 8 | u128::from(byte)),
        };
        let instruction = Instruction {
            len: 0,
            flags: 0,
            needs: 0,
            memory: Memory::None,
            disp: 0,
            access: 0,
            written: 0,
            evex: false,
            mask: 0,
        };
        Decoder {
            forms,
            room: text.len(),
            bytes,
            rest: bytes as u64,
            taken: 0,
            window: false,
            lock: false,
            rex: false,
            extension: Extension::default(),
            instruction,
        }
    }

    /// Decodes.
    #[inline(always)]
    pub(crate) fn run(&mut self) -> Result<(), Refusal> {
        // Most of what is on the list elsewhere, control transfers, is not looked up here in vain.
        if matches!(self.peek(), 0x70..=0x7f | 0xe8..=0xeb | 0xc3) {
            return Err(NotListed);
        }
        self.form_and_operands()?;
        if self.instruction.len > MAX_LEN || self.instruction.len > self.room {
            return Err(Truncated);
        }
        Ok(())
    }

    #[inline(always)]
    fn form_and_operands(&mut self) -> Result<(), Refusal> {
        if self.peek() == 0x65 {
            if self.rest as u16 != 0x6765 {
                return Err(Prefixes);
            }
            (self.window, self.taken, self.rest) = (true, 2, (self.bytes >> 16) as u64);
        }
        let mut pp = 0;
        if is_prefix(self.peek()) {
            match self.peek() {
                0xc4 | 0xc5 => return self.vex(),
                0x62 => return self.evex(),
                _ => pp = self.prefixes(),
            }
        }
        self.legacy(pp)
    }

    /// 66, then F0, F2 or F3: the number that the list's rows have for them.
    #[inline(always)]
    fn prefixes(&mut self) -> u8 {
        let mut pp = 0;
        if self.peek() == 0x66 {
            self.take();
            pp = 1;
        }
        if matches!(self.peek(), 0xf0 | 0xf2 | 0xf3) {
            match self.take() {
                0xf0 => self.lock = true,
                0xf2 => pp = if pp == 0 { 3 } else { 7 },
                _ => pp = if pp == 0 { 2 } else { 6 },
            }
        }
        pp
    }

    /// The next byte, still to be taken.
    #[inline(always)]
    fn peek(&self) -> u8 {
        self.rest as u8
    }

    #[inline(always)]
    fn take(&mut self) -> u8 {
        let byte = self.peek();
        self.rest >>= 8;
        self.taken += 1;
        byte
    }

    /// The displacement behind ModRM and SIB.
    #[inline(always)]
    fn displacement(&mut self, size: usize) -> i32 {
        let bytes = (self.bytes >> (8 * self.taken)) as i32;
        self.taken += size;
        if size == 1 { i32::from(bytes as i8) } else { bytes }
    }

    /// From REX on.
    #[inline(always)]
    fn legacy(&mut self, pp: u8) -> Result<(), Refusal> {
        let mut rex = 0;
        if self.peek() & 0xf0 == 0x40 {
            rex = self.take();
        }
        let mut map = 0;
        let mut opcode = self.take();
        if opcode == 0x0f {
            (map, opcode) = (1, self.take());
            if opcode == 0x38 || opcode == 0x3a {
                (map, opcode) = (2 + (opcode >> 1 & 1), self.take());
            }
        }
        let (index, form) = self.forms.first(row(Space::Legacy, map, pp, rex >> 3 & 1, 0), opcode);
        if form.flags & flag::MODRM != 0 {
            self.rex = rex != 0;
            self.extension = Extension { reg: rex << 1 & 8, x: rex << 2 & 8, b: rex << 3 & 8, vvvv: 0 };
            return self.modrm(index, form, None);
        }
        if form.flags == 0 {
            return Err(NotListed);
        }
        self.no_modrm(form, opcode, rex)
    }

    /// The legacy forms without a ModRM byte.
    #[inline(always)]
    fn no_modrm(&mut self, form: &Form, opcode: u8, rex: u8) -> Result<(), Refusal> {
        if self.lock || self.window && form.flags & flag::IMPLICIT == 0 {
            return Err(Prefixes);
        }
        let in_opcode = form.flags & flag::OPREG != 0;
        if rex & if in_opcode { 6 } else { 7 } != 0 || !in_opcode && rex == 0x40 {
            return Err(Reserved);
        }
        let instruction = &mut self.instruction;
        instruction.len = self.taken + usize::from(form.imm);
        (instruction.flags, instruction.needs) = (form.flags, form.needs);
        if form.flags & flag::WRITE_OP != 0 {
            let high = form.flags & flag::RM_BYTE != 0 && rex == 0;
            instruction.written = register_bit(opcode & 7 | rex << 3 & 8, high);
        }
        if form.flags & flag::WRITE_RBX != 0 {
            instruction.written = 1 << RBX;
        }
        if form.flags & flag::IMPLICIT != 0 {
            instruction.memory = if self.window { Memory::Window } else { Memory::Other };
            instruction.access = form.mem;
        }
        if form.flags & flag::MOFFS != 0 {
            instruction.len += if self.window { 4 } else { 8 };
        }
        Ok(())
    }

    #[inline(always)]
    fn vex(&mut self) -> Result<(), Refusal> {
        let short = self.take() == 0xc5;
        let p0 = self.take();
        let (map, p1) = if short { (1, p0) } else { (p0 & 31, self.take()) };
        if !matches!(map, 1..=3) {
            return Err(NotListed);
        }
        let rxb = if short { !p0 & 0x80 } else { !p0 & 0xe0 };
        self.extension =
            Extension { reg: rxb >> 4 & 8, x: rxb >> 3 & 8, b: rxb >> 2 & 8, vvvv: !p1 >> 3 & 15 };
        let w = if short { 0 } else { p1 >> 7 };
        let opcode = self.take();
        let (index, form) = self.forms.first(row(Space::Vex, map, p1 & 3, w, p1 >> 2 & 1), opcode);
        self.vector(index, form, None)
    }

    #[inline(always)]
    fn evex(&mut self) -> Result<(), Refusal> {
        self.take();
        let (p0, p1, p2) = (self.take(), self.take(), self.take());
        if p0 & 8 != 0 || p1 & 4 == 0 || matches!(p0 & 7, 0 | 4 | 7) {
            return Err(NotListed);
        }
        self.extension = Extension {
            reg: (!p0 >> 4 & 8) | (!p0 & 16),
            x: !p0 >> 3 & 8,
            b: !p0 >> 2 & 8,
            vvvv: (!p1 >> 3 & 15) | (!p2 << 1 & 16),
        };
        let evex = Evex { mask: p2 & 7, b: p2 & 16 != 0, zeroing: p2 & 0x80 != 0 };
        let opcode = self.take();
        let row_of_length = |l| row(Space::Evex, p0 & 7, p1 & 3, p1 >> 7, l);
        let mut length = p2 >> 5 & 3;
        if evex.b && self.peek() >= 0xc0 {
            // Rounding control: L'L is the mode, and the vector is the longest that the form has.
            length = if self.forms.first(row_of_length(2), opcode).1.flags != 0 { 2 } else { 0 };
        }
        let (index, form) = self.forms.first(row_of_length(length), opcode);
        self.vector(index, form, Some(evex))
    }

    /// VEX and EVEX from the ModRM byte on; the few forms without one are `vzeroupper` and `vzeroall`.
    #[inline(always)]
    fn vector(&mut self, index: usize, form: &Form, evex: Option<Evex>) -> Result<(), Refusal> {
        self.rex = true;
        if form.flags & flag::MODRM != 0 {
            return self.modrm(index, form, evex);
        }
        if form.flags == 0 {
            return Err(NotListed);
        }
        if self.window {
            return Err(Prefixes);
        }
        let Extension { reg, x, b, vvvv } = self.extension;
        if reg | x | b | vvvv != 0 {
            return Err(Reserved);
        }
        (self.instruction.len, self.instruction.flags) = (self.taken, form.flags);
        Ok(())
    }

    /// Everything from the ModRM byte on.
    #[inline(always)]
    fn modrm(&mut self, index: usize, form: &Form, evex: Option<Evex>) -> Result<(), Refusal> {
        let modrm = self.take();
        let form = if form.flags & flag::GROUP != 0 { self.forms.of_group(index, modrm) } else { form };
        if form.flags == 0 {
            return Err(NotListed);
        }
        let reg = modrm >> 3 & 7 | self.extension.reg;
        let mut vvvv = self.extension.vvvv;
        if form.flags & flag::VSIB != 0 && evex.is_some() {
            vvvv &= 15; // V' extends the index
        }
        if reg > form.reg_max || vvvv > form.vvvv_max {
            return Err(Reserved);
        }
        // A second vector register, besides reg and vvvv.
        let other = if modrm >= 0xc0 {
            Some(self.register_operand(form, modrm, evex)?)
        } else {
            self.memory_operand(form, modrm, evex)?
        };
        if let Some(evex) = evex {
            self.masking(form, modrm, evex)?;
        }
        if form.flags & flag::DISTINCT != 0 && !distinct(form, reg, vvvv, other) {
            return Err(SameRegister);
        }
        let instruction = &mut self.instruction;
        if form.flags & flag::WRITE_REG != 0 {
            instruction.written |= register_bit(reg, form.flags & flag::REG_BYTE != 0 && !self.rex);
        }
        if form.flags & flag::WRITE_VVVV != 0 {
            instruction.written |= register_bit(vvvv, false);
        }
        instruction.len = self.taken + usize::from(form.imm);
        (instruction.flags, instruction.needs) = (form.flags, form.needs);
        Ok(())
    }

    /// ModRM.rm as a register: its number.
    #[inline(always)]
    fn register_operand(&mut self, form: &Form, modrm: u8, evex: Option<Evex>) -> Result<u8, Refusal> {
        let rm = modrm & 7 | self.extension.b | self.extension.x << 1;
        let implicit = form.flags & flag::IMPLICIT != 0;
        if form.rms >> (modrm & 7) & 1 == 0
            || evex.is_some_and(|evex| evex.b && form.flags & flag::ROUNDING == 0)
        {
            return Err(NotListed);
        }
        if rm > form.rm_max {
            return Err(Reserved);
        }
        if self.lock || self.window && !implicit {
            return Err(Prefixes);
        }
        if form.flags & flag::WRITE_RM != 0 {
            self.instruction.written = register_bit(rm, form.flags & flag::RM_BYTE != 0 && !self.rex);
        }
        if implicit {
            self.instruction.memory = if self.window { Memory::Window } else { Memory::Other };
            self.instruction.access = form.mem;
        }
        Ok(rm)
    }

    /// ModRM.rm as an address: the number of the vector register that it names, if its index is one.
    #[inline(always)]
    fn memory_operand(&mut self, form: &Form, modrm: u8, evex: Option<Evex>) -> Result<Option<u8>, Refusal> {
        let broadcast = evex.is_some_and(|evex| evex.b);
        if form.flags & flag::MEM == 0
            || self.lock && form.flags & flag::LOCK == 0
            || broadcast && form.bcst == 0
        {
            return Err(NotListed);
        }
        let (access, shift) = if broadcast { (form.bcst, form.bcst_shift) } else { (form.mem, form.shift) };
        let vsib = form.flags & flag::VSIB != 0;
        let index = self.address(modrm, shift, vsib)?;
        if self.window {
            if self.instruction.memory == Memory::Rip {
                return Err(Prefixes);
            }
            self.instruction.memory = Memory::Window;
        }
        self.instruction.access = access;
        Ok(index.filter(|_| vsib).map(|index| index | self.extension.vvvv & 16))
    }

    /// Takes SIB and displacement; gives the number of the index register.
    #[inline(always)]
    fn address(&mut self, modrm: u8, shift: u8, vsib: bool) -> Result<Option<u8>, Refusal> {
        let (mode, rm) = (modrm >> 6, modrm & 7);
        let (mut base, mut index) = (rm | self.extension.b, None);
        if rm == 4 {
            let sib = self.take();
            base = sib & 7 | self.extension.b;
            let register = sib >> 3 & 7 | self.extension.x;
            index = (vsib || register != 4).then_some(register);
        } else if vsib || self.extension.x != 0 {
            return Err(Reserved);
        }
        let has_base = mode != 0 || base & 7 != 5;
        if !has_base && self.extension.b != 0 {
            return Err(Reserved);
        }
        self.instruction.disp = match mode {
            0 if has_base => 0,
            1 => self.displacement(1) << shift,
            _ => self.displacement(4),
        };
        self.instruction.memory = if !has_base && rm == 5 {
            Memory::Rip
        } else if base == 4 && index.is_none() {
            Memory::Stack
        } else {
            Memory::Other
        };
        Ok(index)
    }

    /// EVEX.aaa and EVEX.z.
    #[inline(always)]
    fn masking(&mut self, form: &Form, modrm: u8, evex: Evex) -> Result<(), Refusal> {
        let may_zero = flag::ZERO | if modrm >= 0xc0 { flag::ZERO_REGISTER } else { 0 };
        let mask_fits = match evex.mask {
            0 => form.flags & flag::NEEDMASK == 0 && !evex.zeroing,
            _ => form.flags & flag::MASK != 0 && (!evex.zeroing || form.flags & may_zero != 0),
        };
        if !mask_fits {
            return Err(NotListed);
        }
        (self.instruction.evex, self.instruction.mask) = (true, evex.mask);
        Ok(())
    }
}

/// The bit of a written general register. `byte` without REX: registers 4–7 are ah, ch, dh, bh.
#[inline(always)]
fn register_bit(register: u8, byte: bool) -> u16 {
    1 << if byte { register & 3 } else { register & 15 }
}

/// Whether the vector registers that a DISTINCT form names differ; `other` is its vector index or its ModRM.rm.
#[cold]
fn distinct(form: &Form, reg: u8, vvvv: u8, other: Option<u8>) -> bool {
    let names_vvvv = form.vvvv_max != 0;
    let gather = form.flags & flag::VSIB != 0;
    other != Some(reg) && !(names_vvvv && (vvvv == reg || gather && other == Some(vvvv)))
}

#[cfg(test)]
mod tests;
