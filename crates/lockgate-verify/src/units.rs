//! The units of rules V3 and V5: sequences that are matched byte for byte around the one instruction that is legal
//! nowhere else. What precedes it in the unit is harmless by itself; what matters is that nothing
//! enters the unit between its first byte and that instruction (rule V1, checked by the caller).

use lockgate_abi::{code, header};

/// `add $-LABEL,%r11d`.
const COMPARE: [u8; 7] = {
    let [a, b, c, d] = code::LABEL_NEGATED.to_le_bytes();
    [0x41, 0x81, 0xc3, a, b, c, d]
};

/// `add %gs:HDR_W,%reg` with the given REX and ModRM bytes.
const fn add_window_base(rex: u8, modrm: u8) -> [u8; 10] {
    let [a, b, c, d] = (header::W as u32).to_le_bytes();
    [0x65, 0x67, rex, 0x03, modrm, 0x25, a, b, c, d]
}

const ADD_WINDOW_BASE_R11: [u8; 10] = add_window_base(0x4c, 0x1c);
/// `mov %edi,%edi; add %gs:HDR_W,%rdi`.
const CONFINE_RDI: (&[u8], &[u8]) = (&[0x89, 0xff], &add_window_base(0x48, 0x3c));
/// `mov %esi,%esi; add %gs:HDR_W,%rsi`.
const CONFINE_RSI: (&[u8], &[u8]) = (&[0x89, 0xf6], &add_window_base(0x48, 0x34));

/// Reads a text backwards. Each method consumes what it finds and gives `None` if it is not there.
struct Back<'a> {
    text: &'a [u8],
}

impl<'a> Back<'a> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (rest, last) = self.text.split_last_chunk::<N>()?;
        self.text = rest;
        Some(*last)
    }

    fn expect(&mut self, bytes: &[u8]) -> Option<()> {
        self.text = self.text.strip_suffix(bytes)?;
        Some(())
    }

    /// A conditional branch with the given condition, short or near, that `before` precedes.
    fn branch_after(&mut self, condition: u8, mut before: impl FnMut(&mut Back<'a>) -> bool) -> Option<()> {
        let mut short = Back { text: self.text };
        if short.bytes::<2>().is_some_and(|[opcode, _]| opcode == 0x70 | condition) && before(&mut short) {
            *self = short;
            return Some(());
        }
        let [escape, opcode, ..] = self.bytes::<6>()?;
        (escape == 0x0f && opcode == 0x80 | condition && before(self)).then_some(())
    }
}

/// U1, the checked indirect call or jump. `text` ends before the `call *%r11` or `jmp *%r11`; gives the unit's first
/// byte.
pub(crate) fn checked_branch(text: &[u8]) -> Option<usize> {
    const R11: u8 = 11;
    const RSP: u8 = 4;
    const NE: u8 = 5;
    let mut back = Back { text };
    back.expect(&ADD_WINDOW_BASE_R11)?;
    // mov %eT,%r11d
    let [rex, opcode, modrm] = back.bytes()?;
    let target = modrm >> 3 & 7 | (rex & 4) << 1;
    if !matches!(rex, 0x41 | 0x45) || opcode != 0x89 || modrm & 0xc7 != 0xc3 || target == R11 || target == RSP
    {
        return None;
    }
    back.branch_after(NE, |back| back.expect(&COMPARE).is_some())?;
    // mov %gs:(%eT),%r11d: r12 needs a SIB byte, rbp and r13 a displacement.
    let rex = 0x44 | target >> 3;
    let low = target & 7;
    match low {
        4 => back.expect(&[0x65, 0x67, rex, 0x8b, 0x1c, 0x24])?,
        5 => back.expect(&[0x65, 0x67, rex, 0x8b, 0x5d, 0x00])?,
        _ => back.expect(&[0x65, 0x67, rex, 0x8b, 0x18 | low])?,
    }
    Some(back.text.len())
}

/// U2 opens a computed frame: rsp moves down inside its own slot, and then the old rsp is stored where the new one is, the frame
/// word. r11 holds the wanted rsp, of which only the offset in the slot counts, and at the end the old rsp.
///
/// `xor %rsp,%r11; and $(SLOT-8),%r11d; xor %rsp,%r11; cmp %rsp,%r11`, then `ja` away, then `xchg %r11,%rsp; mov %r11,(%rsp)`.
const OPEN_BEFORE: [u8; 16] = {
    let [a, b, c, d] = code::SLOT_MASK.to_le_bytes();
    [0x49, 0x31, 0xe3, 0x41, 0x81, 0xe3, a, b, c, d, 0x49, 0x31, 0xe3, 0x49, 0x39, 0xe3]
};
const OPEN_AFTER: [u8; 7] = [0x4c, 0x87, 0xdc, 0x4c, 0x89, 0x1c, 0x24];

/// `ja`.
const ABOVE: u8 = 7;

/// U2, if `text[at..]` starts with its `xchg %r11,%rsp`: the unit's first byte and its end.
pub(crate) fn open(text: &[u8], at: usize) -> Option<(usize, usize)> {
    text[at..].strip_prefix(&OPEN_AFTER)?;
    let mut back = Back { text: &text[..at] };
    back.branch_after(ABOVE, |back| back.expect(&OPEN_BEFORE).is_some())?;
    Some((back.text.len(), at + OPEN_AFTER.len()))
}

/// `mov d(%rsp),%rsp`, which closes a computed frame: d.
pub(crate) fn close(instruction: &[u8]) -> Option<i32> {
    match *instruction {
        [0x48, 0x8b, 0x24, 0x24] => Some(0),
        [0x48, 0x8b, 0x64, 0x24, d] => Some(i32::from(d as i8)),
        [0x48, 0x8b, 0xa4, 0x24, a, b, c, d] => Some(i32::from_le_bytes([a, b, c, d])),
        _ => None,
    }
}

/// U3: gives the first byte of the unit that confines the registers of a string instruction; `text` ends before it.
pub(crate) fn string(text: &[u8], source: bool, destination: bool) -> Option<usize> {
    let mut back = Back { text };
    for (used, (truncate, add)) in [(source, CONFINE_RSI), (destination, CONFINE_RDI)] {
        if used {
            back.expect(add)?;
            back.expect(truncate)?;
        }
    }
    Some(back.text.len())
}

/// U4, a bounded jump through a table of displacements.
pub(crate) struct Switch {
    /// The unit's first byte.
    pub start: usize,
    /// End of the unit.
    pub end: usize,
    /// Displacement of the table from the end of the `lea`.
    pub table: i32,
    /// End of the `lea`.
    pub table_base: usize,
    /// The largest index.
    pub last: u32,
}

/// U4, if `text[at..]` starts with its `movslq (%rB,%rI,4),%rX`.
pub(crate) fn switch(text: &[u8], at: usize) -> Option<Switch> {
    const RSP: u8 = 4;
    let &[rex, opcode, modrm, sib] = text[at..].first_chunk()?;
    let target = modrm >> 3 & 7 | (rex & 4) << 1;
    let index = sib >> 3 & 7 | (rex & 2) << 2;
    let base = sib & 7 | (rex & 1) << 3;
    // rbp and r13 need a displacement as base.
    let (form, load) = if base & 7 == 5 { (0x44, 5) } else { (0x04, 4) };
    let is_load = rex & 0xf8 == 0x48
        && opcode == 0x63
        && modrm & 0xc7 == form
        && sib & 0xc0 == 0x80
        && (load == 4 || text.get(at + 4) == Some(&0));
    // The base has to keep the table's address until the sum is made, and the index its bound until the load.
    if !is_load || [base, index, target].contains(&RSP) || base == index || base == target {
        return None;
    }
    // add %rB,%rX; jmp *%rX
    let add = [0x48 | base >> 3 << 2 | target >> 3, 0x01, 0xc0 | (base & 7) << 3 | target & 7];
    let jump = [0x41, 0xff, 0xe0 | target & 7];
    let jump = if target < 8 { &jump[1..] } else { &jump };
    text[at + load..].strip_prefix(&add)?.strip_prefix(jump)?;
    let end = at + load + add.len() + jump.len();
    // lea table(%rip),%rB
    let mut back = Back { text: &text[..at] };
    let table_base = at;
    let [lea_rex, 0x8d, lea_modrm, a, b, c, d] = back.bytes()? else { return None };
    if (lea_rex, lea_modrm) != (0x48 | base >> 3 << 2, 0x05 | (base & 7) << 3) {
        return None;
    }
    let mut last = None;
    back.branch_after(ABOVE, |back| {
        last = bound(back, index);
        last.is_some()
    })?;
    Some(Switch {
        start: back.text.len(),
        end,
        table: i32::from_le_bytes([a, b, c, d]),
        table_base,
        last: last?,
    })
}

/// `cmp $n,%rI` with an immediate of one or four bytes; gives n if it is not negative.
fn bound(back: &mut Back<'_>, index: u8) -> Option<u32> {
    let (rex, modrm) = (0x48 | index >> 3, 0xf8 | index & 7);
    let mut short = Back { text: back.text };
    if let Some([a, 0x83, c, n @ 0..=0x7f]) = short.bytes()
        && (a, c) == (rex, modrm)
    {
        *back = short;
        return Some(n.into());
    }
    let [a, b, c, d] = back.bytes()?;
    let n = u32::try_from(i32::from_le_bytes([a, b, c, d])).ok()?;
    // The accumulator has a form of its own.
    if index == 0 && back.expect(&[0x48, 0x3d]).is_some() {
        return Some(n);
    }
    back.expect(&[rex, 0x81, modrm])?;
    Some(n)
}
