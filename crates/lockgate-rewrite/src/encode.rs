//! Encodings: the parts of an instruction's bytes, and the instructions that the rewriter adds.
//! (Intel SDM vol. 2, chapter 2; registers are numbered as in ModRM and REX.)

use iced_x86::{Encoder, Instruction, Register};
use lockgate_abi::code::{LABEL_NEGATED, OFF, SLOT_MASK};
use lockgate_abi::stack::SLOT;
use lockgate_abi::{header, window};

use crate::error::Reason;

/// Number of a general register in encodings.
pub(crate) type Reg = u8;

pub(crate) const RAX: Reg = 0;
pub(crate) const RSP: Reg = 4;
pub(crate) const RBP: Reg = 5;
pub(crate) const RSI: Reg = 6;
pub(crate) const RDI: Reg = 7;
pub(crate) const R10: Reg = 10;
pub(crate) const R11: Reg = 11;

/// Whether `reg` cannot be used as the target register of unit U1.
pub(crate) fn is_reserved_target(reg: Reg) -> bool {
    matches!(reg, R11 | RSP)
}

/// `lahf; seto %al`: the arithmetic flags, in ax.
pub(crate) const FLAGS_TO_RAX: [u8; 4] = [0x9f, 0x0f, 0x90, 0xc0];
/// `add $0x7f,%al; sahf`: the flags again (the addition overflows if al was 1).
pub(crate) const FLAGS_FROM_RAX: [u8; 3] = [0x04, 0x7f, 0x9e];

/// Distance of the stacks, as a displacement.
pub(crate) const DISTANCE: i64 = OFF as i64;

/// Number of the 64-bit register that `register` is or is part of.
pub(crate) fn number(register: Register) -> Reg {
    register.full_register() as u8 - Register::RAX as u8
}

/// `ud2`.
pub(crate) const TRAP: [u8; 2] = [0x0f, 0x0b];

/// Longest legal instruction, bytes.
pub(crate) const MAX_LENGTH: usize = 15;

/// The parts of an encoded instruction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts<'a> {
    pub(crate) operand_size: bool,
    pub(crate) address_size: bool,
    pub(crate) lock: bool,
    /// 0xf2, 0xf3 or 0.
    pub(crate) repeat: u8,
    /// REX byte or 0.
    pub(crate) rex: u8,
    /// Opcode (or VEX/EVEX prefix) to end.
    pub(crate) rest: &'a [u8],
}

impl<'a> Parts<'a> {
    /// Takes the bytes of one instruction apart.
    pub(crate) fn of(bytes: &'a [u8]) -> Parts<'a> {
        let mut parts =
            Parts { operand_size: false, address_size: false, lock: false, repeat: 0, rex: 0, rest: bytes };
        let mut at = 0;
        loop {
            let rex = std::mem::take(&mut parts.rex);
            match bytes[at] {
                0x66 => parts.operand_size = true,
                0x67 => parts.address_size = true,
                0xf0 => parts.lock = true,
                repeat @ (0xf2 | 0xf3) => parts.repeat = repeat,
                0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 => (),
                // Without effect if another prefix follows (AMD64 Manual, volume 3, 1.2.7).
                rex @ 0x40..=0x4f => parts.rex = rex,
                _ => {
                    parts.rex = rex;
                    break;
                }
            }
            at += 1;
        }
        Parts { rest: &bytes[at..], ..parts }
    }

    /// Offset in `rest` of the ModRM byte, for instructions that have one.
    pub(crate) fn modrm_at(&self) -> usize {
        match self.rest {
            [0xc5, ..] => 3,
            [0xc4, ..] => 4,
            [0x62, ..] => 5,
            [0x0f, 0x38 | 0x3a, ..] => 3,
            [0x0f, ..] => 2,
            _ => 1,
        }
    }

    /// Whether registers 16–31 or vector lengths come with a VEX or EVEX prefix.
    pub(crate) fn is_vector_encoded(&self) -> bool {
        matches!(self.rest[0], 0xc4 | 0xc5 | 0x62)
    }
}

/// A short run of encoded bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes {
    bytes: [u8; 24],
    len: u8,
}

impl Bytes {
    /// No bytes.
    pub(crate) fn new() -> Self {
        Bytes { bytes: [0; 24], len: 0 }
    }

    /// Appends one byte.
    pub(crate) fn push(&mut self, byte: u8) {
        self.bytes[usize::from(self.len)] = byte;
        self.len += 1;
    }

    /// Appends bytes.
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        self.bytes[usize::from(self.len)..][..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len() as u8;
    }

    /// The bytes.
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Number of bytes.
    pub(crate) fn len(&self) -> usize {
        usize::from(self.len)
    }
}

/// Padding of `size` bytes: the fewest canonical `nop`s.
pub(crate) fn nops(mut size: usize, out: &mut Vec<u8>) {
    const NOPS: [&[u8]; 9] = [
        &[0x90],
        &[0x66, 0x90],
        &[0x0f, 0x1f, 0x00],
        &[0x0f, 0x1f, 0x40, 0x00],
        &[0x0f, 0x1f, 0x44, 0x00, 0x00],
        &[0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00],
        &[0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00],
        &[0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
        &[0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
    ];
    while size > 0 {
        let step = size.min(NOPS.len());
        out.extend_from_slice(NOPS[step - 1]);
        size -= step;
    }
}

fn rex(wide: bool, reg: Reg, index: Reg, base: Reg) -> u8 {
    0x40 | u8::from(wide) << 3 | reg >> 3 << 2 | index >> 3 << 1 | base >> 3
}

/// `opcode reg, disp(%rsp)` with a 32-bit displacement; `wide` for 64-bit operands.
fn rsp_form(wide: bool, opcode: u8, reg: Reg, disp: i32) -> Bytes {
    let mut out = Bytes::new();
    let prefix = rex(wide, reg, 0, 0);
    if prefix != 0x40 {
        out.push(prefix);
    }
    out.extend(&[opcode, 0x84 | (reg & 7) << 3, 0x24]);
    out.extend(&disp.to_le_bytes());
    out
}

/// `mov %reg, disp(%rsp)`, 64 bits.
pub(crate) fn store(reg: Reg, disp: i32) -> Bytes {
    rsp_form(true, 0x89, reg, disp)
}

/// `mov disp(%rsp), %reg`, 64 bits.
pub(crate) fn load(reg: Reg, disp: i32) -> Bytes {
    rsp_form(true, 0x8b, reg, disp)
}

/// `mov %reg, disp(%rsp)`, 32 bits.
pub(crate) fn store_low_half(reg: Reg, disp: i32) -> Bytes {
    rsp_form(false, 0x89, reg, disp)
}

/// `mov disp(%rsp), %reg`, 32 bits.
pub(crate) fn load_low_half(reg: Reg, disp: i32) -> Bytes {
    rsp_form(false, 0x8b, reg, disp)
}

/// `cmove disp(%rsp), %reg`, 64 bits.
pub(crate) fn load_if_equal(reg: Reg, disp: i32) -> Bytes {
    let mut out = Bytes::new();
    out.extend(&[rex(true, reg, 0, 0), 0x0f, 0x44, 0x84 | (reg & 7) << 3, 0x24]);
    out.extend(&disp.to_le_bytes());
    out
}

/// `lea disp(%rsp), %reg`, 64 bits.
pub(crate) fn lea_stack(reg: Reg, disp: i32) -> Bytes {
    rsp_form(true, 0x8d, reg, disp)
}

/// `lea disp(%rsp), %reg`, 64 bits if `wide`, else 32.
pub(crate) fn lea_stack_sized(wide: bool, reg: Reg, disp: i32) -> Bytes {
    rsp_form(wide, 0x8d, reg, disp)
}

/// `movq $value, disp(%rsp)`, sign-extended.
pub(crate) fn store_immediate(value: i32, disp: i32) -> Bytes {
    let mut out = rsp_form(true, 0xc7, 0, disp);
    out.extend(&value.to_le_bytes());
    out
}

/// `mov %eax, disp(%rsp)`: a probe that needs no register and leaves the flags.
pub(crate) fn probe(disp: i32) -> Bytes {
    rsp_form(false, 0x89, RAX, disp)
}

/// Moves rsp by `by`: `lea`, or the shorter `add`/`sub` if the flags are free.
pub(crate) fn move_rsp(by: i32, flags_free: bool) -> Bytes {
    let mut out = Bytes::new();
    if flags_free {
        // -128 fits a byte where 128 does not.
        let (digit, amount) = if by < 0 && by != i32::MIN || by == 128 { (0xec, -by) } else { (0xc4, by) };
        match i8::try_from(amount) {
            Ok(amount) => out.extend(&[0x48, 0x83, digit, amount as u8]),
            Err(_) => {
                out.extend(&[0x48, 0x81, digit]);
                out.extend(&amount.to_le_bytes());
            }
        }
    } else {
        match i8::try_from(by) {
            Ok(by) => out.extend(&[0x48, 0x8d, 0x64, 0x24, by as u8]),
            Err(_) => {
                out.extend(&[0x48, 0x8d, 0xa4, 0x24]);
                out.extend(&by.to_le_bytes());
            }
        }
    }
    out
}

/// `mov %from, %to`; `wide` for 64 bits.
pub(crate) fn copy(wide: bool, from: Reg, to: Reg) -> Bytes {
    let mut out = Bytes::new();
    let prefix = rex(wide, from, 0, to);
    if prefix != 0x40 {
        out.push(prefix);
    }
    out.extend(&[0x89, 0xc0 | (from & 7) << 3 | to & 7]);
    out
}

/// `lea disp(%base), %reg` for any base but rsp and r12.
pub(crate) fn lea(reg: Reg, base: Reg, disp: i32) -> Bytes {
    let mut out = Bytes::new();
    out.extend(&[rex(true, reg, 0, base), 0x8d]);
    match i8::try_from(disp) {
        Ok(disp) => out.extend(&[0x40 | (reg & 7) << 3 | base & 7, disp as u8]),
        Err(_) => {
            out.push(0x80 | (reg & 7) << 3 | base & 7);
            out.extend(&disp.to_le_bytes());
        }
    }
    out
}

/// `mov %gs:(%ebp), %rbp`.
pub(crate) const LOAD_FRAME_POINTER: [u8; 6] = [0x65, 0x67, 0x48, 0x8b, 0x6d, 0x00];

/// `lea disp(%r11), %r11d`.
pub(crate) fn lea_r11_narrow(disp: i32) -> Bytes {
    let mut out = Bytes::new();
    out.extend(&[0x45, 0x8d, 0x9b]);
    out.extend(&disp.to_le_bytes());
    out
}

/// `mov %reg, %gs:disp(%ebase)`, 64 bits, for any base but rsp and r12.
pub(crate) fn store_at(reg: Reg, base: Reg, disp: i32) -> Bytes {
    let mut out = Bytes::new();
    out.extend(&[0x65, 0x67, rex(true, reg, 0, base), 0x89, 0x80 | (reg & 7) << 3 | base & 7]);
    out.extend(&disp.to_le_bytes());
    out
}

/// The bytes of an instruction that is a variant of the input's.
pub(crate) fn anew(code: &Instruction) -> Result<Bytes, Reason> {
    let mut encoder = Encoder::new(64);
    encoder
        .encode(code, code.ip())
        .map_err(|error| Reason::new(format!("no encoding: {error}"), "rewrite this line"))?;
    let mut out = Bytes::new();
    out.extend(&encoder.take_buffer());
    Ok(out)
}

/// `lea (%base,%index,scale), %reg`; `scale` is 1, 2, 4 or 8.
pub(crate) fn lea_sum(reg: Reg, base: Reg, index: Reg, scale: u8) -> Bytes {
    let sib = (scale.trailing_zeros() as u8) << 6 | (index & 7) << 3 | base & 7;
    let mut out = Bytes::new();
    out.extend(&[rex(true, reg, index, base), 0x8d, 0x44 | (reg & 7) << 3, sib, 0]);
    out
}

/// First instructions of unit U1: `mov %gs:(%eT),%r11d; add $-LABEL,%r11d`; the `jne trap` follows.
pub(crate) fn check_label(target: Reg) -> (Bytes, Bytes) {
    let mut load = Bytes::new();
    load.extend(&[0x65, 0x67, rex(false, R11, 0, target), 0x8b]);
    match target & 7 {
        RSP => load.extend(&[0x1c, 0x24]),
        RBP => load.extend(&[0x5d, 0x00]),
        low => load.push(0x18 | low),
    }
    let mut add = Bytes::new();
    add.extend(&[0x41, 0x81, 0xc3]);
    add.extend(&LABEL_NEGATED.to_le_bytes());
    (load, add)
}

/// `add %gs:W, %reg`: makes an offset an address.
pub(crate) fn add_window_base(reg: Reg) -> Bytes {
    let mut out = Bytes::new();
    out.extend(&[0x65, 0x67, rex(true, reg, 0, 0), 0x03, 0x04 | (reg & 7) << 3, 0x25]);
    out.extend(&(header::W as u32).to_le_bytes());
    out
}

/// First instructions of unit U2 after r11 holds the wanted rsp, in either stack: `xor %rsp,%r11; and $(SLOT-8),%r11d; xor %rsp,%r11;
/// cmp %rsp,%r11`. The `ja trap` follows, then [`OPEN`].
pub(crate) fn confine_rsp() -> Bytes {
    let mut out = Bytes::new();
    out.extend(&[0x49, 0x31, 0xe3, 0x41, 0x81, 0xe3]);
    out.extend(&SLOT_MASK.to_le_bytes());
    out.extend(&[0x49, 0x31, 0xe3, 0x49, 0x39, 0xe3]);
    out
}

/// The rest of unit U2: `xchg %r11,%rsp; mov %r11,(%rsp)`.
pub(crate) const OPEN: [u8; 7] = [0x4c, 0x87, 0xdc, 0x4c, 0x89, 0x1c, 0x24];

/// `mov disp(%rsp),%rsp`: closes a computed frame.
pub(crate) fn close(disp: i32) -> Bytes {
    let mut out = Bytes::new();
    match i8::try_from(disp) {
        Ok(0) => out.extend(&[0x48, 0x8b, 0x24, 0x24]),
        Ok(disp) => out.extend(&[0x48, 0x8b, 0x64, 0x24, disp as u8]),
        Err(_) => {
            out.extend(&[0x48, 0x8b, 0xa4, 0x24]);
            out.extend(&disp.to_le_bytes());
        }
    }
    out
}

/// `call *%gs:slot`: a gate call.
pub(crate) fn gate(slot: u64) -> Bytes {
    let mut out = Bytes::new();
    out.extend(&[0x65, 0xff, 0x14, 0x25]);
    out.extend(&((window::GATE_TABLE + 8 * slot) as u32).to_le_bytes());
    out
}

/// `add $value, %reg`, 64 bits; or another operation of the same group by its number `operation`.
pub(crate) fn arithmetic_immediate(operation: u8, value: i32, reg: Reg) -> Bytes {
    let mut out = Bytes::new();
    out.push(rex(true, 0, 0, reg));
    let modrm = 0xc0 | operation << 3 | reg & 7;
    match i8::try_from(value) {
        Ok(value) => out.extend(&[0x83, modrm, value as u8]),
        Err(_) => {
            out.extend(&[0x81, modrm]);
            out.extend(&value.to_le_bytes());
        }
    }
    out
}

/// `shr $32, %reg`.
pub(crate) fn shift_upper_half(reg: Reg) -> Bytes {
    let mut out = Bytes::new();
    out.extend(&[rex(true, 0, 0, reg), 0xc1, 0xe8 | reg & 7, 32]);
    out
}

/// `cmp %gs:W_HIGH, %reg`, 32 bits.
pub(crate) fn compare_window_high(reg: Reg) -> Bytes {
    let mut out = Bytes::new();
    out.extend(&[0x65, 0x67]);
    if reg >= 8 {
        out.push(rex(false, reg, 0, 0));
    }
    out.extend(&[0x3b, 0x04 | (reg & 7) << 3, 0x25]);
    out.extend(&(header::W_HIGH as u32).to_le_bytes());
    out
}

/// `cmp $value, %reg`, 64 bits: the bound of unit U4.
pub(crate) fn compare_immediate(reg: Reg, value: i32) -> Bytes {
    arithmetic_immediate(7, value, reg)
}

/// `lea 0(%rip), %reg`; the field ends the instruction.
pub(crate) fn lea_rip(reg: Reg) -> Bytes {
    let mut out = Bytes::new();
    out.extend(&[rex(true, reg, 0, 0), 0x8d, 0x05 | (reg & 7) << 3, 0, 0, 0, 0]);
    out
}

/// The rest of unit U4 once `base` holds the table: `movslq (%rB,%rI,4),%rX; add %rB,%rX; jmp *%rX`.
pub(crate) fn table_jump(base: Reg, index: Reg, target: Reg) -> [Bytes; 3] {
    let mut load = Bytes::new();
    load.extend(&[rex(true, target, index, base), 0x63]);
    let sib = 0x80 | (index & 7) << 3 | base & 7;
    if base & 7 == RBP {
        load.extend(&[0x44 | (target & 7) << 3, sib, 0]);
    } else {
        load.extend(&[0x04 | (target & 7) << 3, sib]);
    }
    let mut add = Bytes::new();
    add.extend(&[rex(true, base, 0, target), 0x01, 0xc0 | (base & 7) << 3 | target & 7]);
    let mut jump = Bytes::new();
    if target >= 8 {
        jump.push(0x41);
    }
    jump.extend(&[0xff, 0xe0 | target & 7]);
    [load, add, jump]
}

/// The thread pointer into `reg` (docs/code-model.md, "Thread-local storage"), without a change of flags unless they are free.
pub(crate) fn thread_pointer(reg: Reg, flags_free: bool) -> Vec<Bytes> {
    let (low, high) = (reg & 7, reg >> 3);
    let short = |prefix: Option<u8>, rest: &[u8]| {
        let mut out = Bytes::new();
        prefix.iter().for_each(|&prefix| out.push(prefix));
        out.extend(rest);
        out
    };
    let extended = (high != 0).then_some(0x41);
    let copy_rsp = short(extended, &[0x89, 0xe0 | low]);
    let mut read = Bytes::new();
    read.extend(&[0x65, 0x67, rex(true, reg, 0, reg), 0x8b]);
    if low == RSP {
        read.extend(&[0x84 | low << 3, 0x24]);
    } else {
        read.push(0x80 | low << 3 | low);
    }
    read.extend(&lockgate_abi::stack::THREAD_POINTER_DISP.to_le_bytes());
    if flags_free {
        let mut mask = if reg == RAX { short(None, &[0x25]) } else { short(extended, &[0x81, 0xe0 | low]) };
        mask.extend(&(SLOT as u32).wrapping_neg().to_le_bytes());
        return vec![copy_rsp, mask, read];
    }
    const { assert!(SLOT == 1 << 24) };
    let swap = short(extended, &[0x0f, 0xc8 | low]);
    let extend = short((reg >= 4).then(|| rex(false, reg, 0, reg)), &[0x0f, 0xb6, 0xc0 | low << 3 | low]);
    vec![copy_rsp, swap, extend, swap, read]
}
