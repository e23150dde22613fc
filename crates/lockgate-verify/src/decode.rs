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

/// A decoded instruction that is on the list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    /// Length, bytes.
    pub len: usize,
    /// Bits of [`flag`] of its form.
    pub flags: u32,
    /// Where its memory operand lies.
    pub memory: Memory,
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
    Rip(i32),
    /// `disp(%rsp)` without index; disp8 is already scaled.
    Stack(i32),
    /// Anything else: 64-bit registers or an absolute address.
    Other,
}

/// Why bytes are not an instruction of the list.
pub(crate) type Refusal = &'static str;

const NOT_LISTED: Refusal = "this encoding is not on the list of allowed instructions";
const PREFIXES: Refusal = "its prefixes are not canonical: [65 67] [66] [f0|f2|f3] [rex]";
const RESERVED: Refusal = "bits that this form does not use are not zero";
const TRUNCATED: Refusal = "it does not end before the segment";

/// Longest instruction, bytes (Intel SDM volume 2, 2.3.11).
const MAX_LEN: usize = 15;

/// The bytes from an instruction's first on, as many as one can have; zero beyond the end of the text.
struct Bytes {
    /// Those not yet taken, the next one lowest.
    rest: u128,
    /// Number of bytes taken.
    taken: usize,
}

impl Bytes {
    #[inline(always)]
    fn new(text: &[u8], at: usize) -> Bytes {
        let mut bytes = [0; 16];
        match text.get(at..at + 16) {
            Some(window) => bytes.copy_from_slice(window),
            None => bytes[..text.len() - at].copy_from_slice(&text[at..]),
        }
        Bytes { rest: u128::from_le_bytes(bytes), taken: 0 }
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

    #[inline(always)]
    fn take_i32(&mut self) -> i32 {
        let word = self.rest as u32;
        self.rest >>= 32;
        self.taken += 4;
        word as i32
    }
}

/// Register extension bits of REX, VEX and EVEX, each already in its place (8 or 16) of a register number.
#[derive(Clone, Copy, Default)]
struct Extension {
    /// R and R': added to ModRM.reg.
    reg: u8,
    /// X: added to the index; with a register operand, X times two: added to ModRM.rm.
    x: u8,
    /// B: added to the base or to ModRM.rm.
    b: u8,
    /// vvvv and V'.
    vvvv: u8,
}

/// What EVEX adds.
#[derive(Clone, Copy, Default)]
struct Evex {
    mask: u8,
    b: bool,
    zeroing: bool,
}

/// Decodes the instruction at `text[at..]`.
#[inline(always)]
pub(crate) fn decode(forms: &Forms, text: &[u8], at: usize) -> Result<Instruction, Refusal> {
    let mut bytes = Bytes::new(text, at);
    let window = bytes.peek() == 0x65;
    if window {
        bytes.take();
        if bytes.take() != 0x67 {
            return Err(PREFIXES);
        }
    }
    let instruction = match bytes.peek() {
        0xc5 | 0xc4 => vex(forms, bytes, window),
        0x62 => evex(forms, bytes, window),
        _ => legacy(forms, bytes, window),
    }?;
    if instruction.len > MAX_LEN || at + instruction.len > text.len() {
        return Err(TRUNCATED);
    }
    Ok(instruction)
}

#[inline(always)]
fn legacy(forms: &Forms, mut bytes: Bytes, window: bool) -> Result<Instruction, Refusal> {
    let mut pp = 0;
    if bytes.peek() == 0x66 {
        bytes.take();
        pp = 1;
    }
    let mut lock = false;
    if matches!(bytes.peek(), 0xf0 | 0xf2 | 0xf3) {
        match bytes.take() {
            0xf0 => lock = true,
            0xf2 => pp = if pp == 0 { 3 } else { 7 },
            _ => pp = if pp == 0 { 2 } else { 6 },
        }
    }
    let mut rex = 0;
    if bytes.peek() & 0xf0 == 0x40 {
        rex = bytes.take();
    }
    let mut map = 0;
    let mut opcode = bytes.take();
    if opcode == 0x0f {
        (map, opcode) = (1, bytes.take());
        if opcode == 0x38 || opcode == 0x3a {
            (map, opcode) = (2 + (opcode >> 1 & 1), bytes.take());
        }
    }
    let row = row(Space::Legacy, map, pp, rex >> 3 & 1, 0);
    let (index, &form) = forms.first(row, opcode);
    if form.flags & flag::MODRM != 0 {
        let ext = Extension { reg: rex << 1 & 8, x: rex << 2 & 8, b: rex << 3 & 8, vvvv: 0 };
        return modrm(forms, index, &form, bytes, window, ext, rex != 0, lock, None);
    }
    if form.flags == 0 {
        return Err(NOT_LISTED);
    }
    if lock {
        return Err(PREFIXES);
    }
    let mut len = bytes.taken + usize::from(form.imm);
    let mut written = if form.flags & flag::WRITE_RBX != 0 { 1 << RBX } else { 0 };
    if form.flags & flag::OPREG != 0 {
        if rex & 6 != 0 {
            return Err(RESERVED);
        }
        let register = opcode & 7 | rex << 3 & 8;
        if form.flags & flag::WRITE_OP != 0 {
            written |= register_bit(register, form.flags & flag::OP_BYTE != 0 && rex == 0);
        }
    } else if rex & 7 != 0 || rex == 0x40 {
        return Err(RESERVED);
    }
    let mut memory = Memory::None;
    if form.flags & flag::IMPLICIT != 0 {
        memory = if window { Memory::Window } else { Memory::Other };
        len += if form.flags & flag::MOFFS == 0 {
            0
        } else if window {
            4
        } else {
            8
        };
    } else if window {
        return Err(PREFIXES);
    }
    Ok(Instruction { len, flags: form.flags, memory, access: form.mem, written, evex: false, mask: 0 })
}

#[inline(always)]
fn vex(forms: &Forms, mut bytes: Bytes, window: bool) -> Result<Instruction, Refusal> {
    let short = bytes.take() == 0xc5;
    let p0 = bytes.take();
    let (map, p1) = if short { (1, p0) } else { (p0 & 31, bytes.take()) };
    if !matches!(map, 1..=3) {
        return Err(NOT_LISTED);
    }
    let rxb = if short { !p0 & 0x80 } else { !p0 & 0xe0 };
    let ext = Extension { reg: rxb >> 4 & 8, x: rxb >> 3 & 8, b: rxb >> 2 & 8, vvvv: !p1 >> 3 & 15 };
    let w = if short { 0 } else { p1 >> 7 };
    let row = row(Space::Vex, map, vector_prefix(p1), w, p1 >> 2 & 1);
    let (index, &form) = forms.first(row, bytes.take());
    vector(forms, index, &form, bytes, window, ext, None)
}

#[inline(always)]
fn evex(forms: &Forms, mut bytes: Bytes, window: bool) -> Result<Instruction, Refusal> {
    bytes.take();
    let (p0, p1, p2) = (bytes.take(), bytes.take(), bytes.take());
    if p0 & 8 != 0 || p1 & 4 == 0 || matches!(p0 & 7, 0 | 4 | 7) {
        return Err(NOT_LISTED);
    }
    let ext = Extension {
        reg: (!p0 >> 4 & 8) | (!p0 & 16),
        x: !p0 >> 3 & 8,
        b: !p0 >> 2 & 8,
        vvvv: (!p1 >> 3 & 15) | (!p2 << 1 & 16),
    };
    let evex = Evex { mask: p2 & 7, b: p2 & 16 != 0, zeroing: p2 & 0x80 != 0 };
    let opcode = bytes.take();
    let rounding = evex.b && bytes.peek() >= 0xc0;
    let mut length = p2 >> 5 & 3;
    // With rounding control, L'L is the rounding mode, and the vector is the longest that the form has.
    if rounding {
        let longest = row(Space::Evex, p0 & 7, vector_prefix(p1), p1 >> 7, 2);
        length = if forms.first(longest, opcode).1.flags != 0 { 2 } else { 0 };
    }
    let row = row(Space::Evex, p0 & 7, vector_prefix(p1), p1 >> 7, length);
    let (index, &form) = forms.first(row, opcode);
    vector(forms, index, &form, bytes, window, ext, Some(evex))
}

/// pp of VEX and EVEX in the order of [`row`]: none, 66, F3, F2.
#[inline(always)]
fn vector_prefix(p1: u8) -> u8 {
    p1 & 3
}

/// VEX and EVEX from the ModRM byte on; the few forms without one are `vzeroupper` and `vzeroall`.
#[inline(always)]
fn vector(
    forms: &Forms,
    index: usize,
    form: &Form,
    bytes: Bytes,
    window: bool,
    ext: Extension,
    evex: Option<Evex>,
) -> Result<Instruction, Refusal> {
    if form.flags & flag::MODRM != 0 {
        return modrm(forms, index, form, bytes, window, ext, true, false, evex);
    }
    if form.flags == 0 {
        return Err(NOT_LISTED);
    }
    if window {
        return Err(PREFIXES);
    }
    if ext.reg | ext.x | ext.b | ext.vvvv != 0 {
        return Err(RESERVED);
    }
    let memory = Memory::None;
    Ok(Instruction {
        len: bytes.taken,
        flags: form.flags,
        memory,
        access: 0,
        written: 0,
        evex: false,
        mask: 0,
    })
}

const RBX: u8 = 3;

/// The bit of a written general register. Without REX, byte registers 4–7 are ah, ch, dh, bh.
#[inline(always)]
fn register_bit(register: u8, high_byte: bool) -> u16 {
    1 << if high_byte { register & 3 } else { register & 15 }
}

#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "inlined into three callers")]
fn modrm(
    forms: &Forms,
    index: usize,
    form: &Form,
    mut bytes: Bytes,
    window: bool,
    ext: Extension,
    rex: bool,
    lock: bool,
    evex: Option<Evex>,
) -> Result<Instruction, Refusal> {
    let modrm = bytes.take();
    let form = if form.flags & flag::GROUP != 0 { forms.of_group(index, modrm) } else { form };
    let flags = form.flags;
    if flags == 0 {
        return Err(NOT_LISTED);
    }
    let reg = modrm >> 3 & 7 | ext.reg;
    let mut reserved = reg > form.reg_max;
    let mut written = 0;
    let mut memory = Memory::None;
    let mut access = form.mem;
    let mut index_register = None;
    if modrm >= 0xc0 {
        let rm = modrm & 7 | ext.b | ext.x << 1;
        reserved |= rm > form.rm_max;
        if form.rms >> (modrm & 7) & 1 == 0 || evex.is_some_and(|evex| evex.b && flags & flag::ROUNDING == 0)
        {
            return Err(NOT_LISTED);
        }
        if lock || window && flags & flag::IMPLICIT == 0 {
            return Err(PREFIXES);
        }
        if flags & flag::WRITE_RM != 0 {
            written |= register_bit(rm, flags & flag::RM_BYTE != 0 && !rex && rm < 8 && rm > 3);
        }
        if flags & flag::IMPLICIT != 0 {
            memory = if window { Memory::Window } else { Memory::Other };
        } else {
            access = 0;
        }
        if flags & flag::DISTINCT != 0 {
            index_register = Some(rm);
        }
    } else {
        if flags & flag::MEM == 0 || lock && flags & flag::LOCK == 0 {
            return Err(NOT_LISTED);
        }
        let mut shift = form.shift;
        if let Some(evex) = evex {
            if evex.b {
                (access, shift) = (form.bcst, form.bcst_shift);
            }
            if evex.b && form.bcst == 0 {
                return Err(NOT_LISTED);
            }
        }
        let (vsib, vsib_high) = (flags & flag::VSIB != 0, ext.vvvv & 16);
        let (address, index) = address(modrm, &mut bytes, ext, shift, vsib)?;
        index_register = index.map(|index| index | vsib_high);
        memory = if !window {
            address
        } else if matches!(address, Memory::Rip(_)) {
            return Err(PREFIXES);
        } else {
            Memory::Window
        };
    }
    let vvvv = if flags & flag::VSIB != 0 && evex.is_some() { ext.vvvv & 15 } else { ext.vvvv };
    reserved |= vvvv > form.vvvv_max;
    let mut mask = 0;
    if let Some(evex) = evex {
        mask = evex.mask;
        let no_mask = flags & flag::MASK == 0 && mask != 0 || flags & flag::NEEDMASK != 0 && mask == 0;
        let zeroing = flag::ZERO | if modrm >= 0xc0 { flag::ZERO_REGISTER } else { 0 };
        let no_zeroing = mask == 0 || flags & zeroing == 0;
        if no_mask || evex.zeroing && no_zeroing {
            return Err(NOT_LISTED);
        }
    }
    if reserved {
        return Err(RESERVED);
    }
    if flags & flag::DISTINCT != 0 && !distinct(form, reg, vvvv, index_register) {
        return Err("the vector registers that it names must differ");
    }
    if flags & flag::WRITES != 0 {
        if flags & flag::WRITE_REG != 0 {
            written |= register_bit(reg, flags & flag::REG_BYTE != 0 && !rex && reg > 3);
        }
        if flags & flag::WRITE_VVVV != 0 {
            written |= register_bit(vvvv, false);
        }
    }
    let len = bytes.taken + usize::from(form.imm);
    Ok(Instruction { len, flags, memory, access, written, evex: evex.is_some(), mask })
}

/// The address that ModRM, SIB and displacement give, and the number of its index register.
#[inline(always)]
fn address(
    modrm: u8,
    bytes: &mut Bytes,
    ext: Extension,
    shift: u8,
    vsib: bool,
) -> Result<(Memory, Option<u8>), Refusal> {
    let (mode, rm) = (modrm >> 6, modrm & 7);
    let (mut base, mut index) = (Some(rm | ext.b), None);
    if rm == 4 {
        let sib = bytes.take();
        base = Some(sib & 7 | ext.b);
        let register = sib >> 3 & 7 | ext.x;
        index = (vsib || register != 4).then_some(register);
    } else if vsib || ext.x != 0 {
        return Err(RESERVED);
    }
    if mode == 0 && base.is_some_and(|base| base & 7 == 5) {
        if ext.b != 0 {
            return Err(RESERVED);
        }
        base = None;
    }
    let disp = match mode {
        0 if base.is_some() => 0,
        1 => i32::from(bytes.take() as i8) << shift,
        _ => bytes.take_i32(),
    };
    let memory = match (base, index) {
        (None, _) if rm == 5 => Memory::Rip(disp),
        (Some(4), None) => Memory::Stack(disp),
        _ => Memory::Other,
    };
    Ok((memory, index))
}

/// Whether the vector registers that a DISTINCT form names differ; `other` is its index or its ModRM.rm.
fn distinct(form: &Form, reg: u8, vvvv: u8, other: Option<u8>) -> bool {
    let names_vvvv = form.vvvv_max != 0;
    let gather = form.flags & flag::VSIB != 0;
    other != Some(reg) && !(names_vvvv && (vvvv == reg || gather && other == Some(vvvv)))
}

#[cfg(test)]
mod tests;
