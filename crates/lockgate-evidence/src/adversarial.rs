//! Random code, as adversarial as the rules permit: everything that the verifier accepts, in any order, with every unit, branches to wherever they may go, and rsp as far
//! astray as it may be.

use crate::decoders::Zydis;
use crate::encodings::{Slice, slices};
use crate::random::Random;
use lockgate_abi::{code, gate, header, window};
use lockgate_verify::{Operand, Reading};

/// Where the code will lie in its image.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Image address of the first byte.
    pub address: u64,
    /// Bytes to fill.
    pub size: usize,
    /// Image address of [`TABLE`] bytes of constants.
    pub table: u64,
    /// One past the image.
    pub image_end: u64,
}

/// Bytes of the table that switches go through.
pub const TABLE: usize = 4 * ENTRIES;
const ENTRIES: usize = 8;

/// Code and what it needs.
#[derive(Debug, Clone)]
pub struct Adversarial {
    /// The code.
    pub text: Vec<u8>,
    /// The table.
    pub table: Vec<u8>,
    /// Offsets of units: where jumps may go.
    pub starts: Vec<usize>,
    /// Those of them where rsp is what it was when the function was entered.
    pub entries: Vec<usize>,
    /// Offsets behind calls: what the control stack may hold, beside frame words.
    pub returns: Vec<usize>,
}

/// Where rsp is, as rule V3 has it: bytes up to the return word, or up to the frame word; what the frame word says; *moved*.
#[derive(Clone, Copy, Default)]
struct Stack {
    depth: u64,
    frame: Option<u64>,
    moved: u64,
}

impl Stack {
    fn is_entry(self) -> bool {
        self.state() == Stack::default().state()
    }

    fn state(self) -> (u64, Option<u64>) {
        (self.depth, self.frame)
    }

    fn down(&mut self, by: u64) {
        self.depth += by;
        self.moved = (self.moved + by).min(self.depth.saturating_sub(D));
    }

    fn up(&mut self, by: u64) {
        self.depth -= by;
        self.moved = self.moved.saturating_sub(by).min(self.depth.saturating_sub(D));
    }
}

/// Makes code.
pub struct Generator {
    /// What it is made from.
    pub random: Random,
    slices: Vec<Slice>,
    zydis: Zydis,
}

/// One unit, with what is not known before all have their places.
#[derive(Default)]
struct Unit {
    bytes: Vec<u8>,
    fixes: Vec<Fix>,
    returns: bool,
    /// Control does not go on behind it.
    ends: bool,
    /// Where rsp is before it.
    stack: Stack,
}

/// A displacement: where it lies in its unit, and from where it counts.
struct Fix {
    at: usize,
    from: usize,
    to: Target,
}

enum Target {
    /// A unit with rsp in the same place, in 32 bits.
    Unit,
    /// One that is near enough for 8 bits.
    Near,
    /// A unit where functions may begin, in 32 bits.
    Entry,
    /// A label, in 32 bits.
    Label,
    /// The trap at the end.
    Trap,
    /// The table.
    Table,
    /// So many bytes anywhere in the image.
    Image(u8),
}

const RSP: u8 = 4;
const R11: u8 = 11;
const D: u64 = code::MAX_MOVE as u64;
/// rsp goes no further down: all that is mapped of a stack in `single_steps`.
const DEEPEST: u64 = 2 << 20;
/// Where computed frames may be opened.
const BASES: std::ops::RangeInclusive<u64> = 8..=code::MAX_BASE as u64;
const OFF: i64 = code::OFF as i64;
const TRAP: [u8; 2] = [0x0f, 0x0b];
/// Longest unit.
const ROOM: usize = 64;

impl Generator {
    /// With this seed.
    #[must_use]
    pub fn new(seed: u64) -> Generator {
        Generator { random: Random::new(seed), slices: slices(), zydis: Zydis::default() }
    }

    /// Code for this place. It starts with a label.
    ///
    /// # Panics
    /// The place is too small.
    pub fn make(&mut self, place: &Place) -> Adversarial {
        let mut units = vec![Unit { bytes: code::LABEL.to_vec(), ..Unit::default() }];
        let mut size = code::LABEL.len();
        let mut stack = Stack::default();
        while size + ROOM + TRAP.len() < place.size {
            let before = stack;
            let unit = Unit { stack: before, ..self.unit(&mut stack) };
            if unit.ends {
                stack = Stack::default();
            }
            size += unit.bytes.len();
            units.push(unit);
        }
        assert!(size + TRAP.len() <= place.size, "{size} bytes of units in {}", place.size);
        self.lay_out(&units, place)
    }

    /// Any unit that is legal where rsp is, which it changes.
    fn unit(&mut self, stack: &mut Stack) -> Unit {
        match self.random.below(26) {
            0 | 1 => self.change(stack),
            2 => {
                stack.moved = 0;
                self.probe()
            }
            3 | 4 => self.back(stack),
            5 if stack.is_entry() => Unit { bytes: code::LABEL.to_vec(), ..Unit::default() },
            6 | 7 => {
                stack.moved = 0;
                Unit {
                    bytes: vec![0xe8, 0, 0, 0, 0],
                    fixes: vec![Fix { at: 1, from: 5, to: Target::Entry }],
                    returns: true,
                    ..Unit::default()
                }
            }
            8 if stack.is_entry() => Unit { bytes: vec![0xc3], ends: true, ..Unit::default() },
            8 => {
                stack.moved = 0;
                let slot = self.random.below(gate::SLOTS);
                let disp = ((window::GATE_TABLE + 8 * slot) as u32).to_le_bytes();
                Unit {
                    bytes: [&[0x65, 0xff, 0x14, 0x25][..], &disp].concat(),
                    returns: true,
                    ..Unit::default()
                }
            }
            9..=11 if stack.moved == 0 => self.branch(),
            12 | 13 if stack.moved == 0 => {
                let jumps = stack.is_entry() && self.random.one_in(2);
                self.checked_branch(jumps)
            }
            14 if stack.is_entry() => self.switch(),
            15 | 16 if stack.moved == 0 && stack.frame.is_none() && BASES.contains(&stack.depth) => {
                *stack = Stack { frame: Some(stack.depth), ..Stack::default() };
                self.open()
            }
            17 => self.string(),
            _ => self.computing(),
        }
    }

    /// A step down or up, often as large as it may be.
    fn change(&mut self, stack: &mut Stack) -> Unit {
        let up = self.random.one_in(3);
        let room = if up {
            stack.depth
        } else {
            (D - stack.moved)
                .max((2 * D).saturating_sub(stack.depth))
                .min(DEEPEST.saturating_sub(stack.depth))
        };
        let size = match self.random.below(6) {
            0 => room,
            1 => self.random.below(room + 1),
            _ => room.min(8 * self.random.below(4)),
        } & !7;
        if up {
            stack.up(size);
        } else {
            stack.down(size);
        }
        let size = if up { size as i64 } else { -(size as i64) };
        match self.random.below(3) {
            0 => stack_unit(&[0x48, 0x81, 0xec], -size),
            1 => stack_unit(&[0x48, 0x81, 0xc4], size),
            _ => stack_unit(&[0x48, 0x8d, 0xa4, 0x24], size),
        }
    }

    /// Back to where the function was entered, or to the frame word, or close.
    fn back(&mut self, stack: &mut Stack) -> Unit {
        match *stack {
            Stack { frame: Some(b), depth, .. } if self.random.one_in(2) => {
                *stack = Stack { depth: b, ..Stack::default() };
                stack_unit(&[0x48, 0x8b, 0xa4, 0x24], depth as i64)
            }
            Stack { depth, .. } => {
                stack.up(depth);
                stack_unit(&[0x48, 0x81, 0xc4], depth as i64)
            }
        }
    }

    /// At a distance from rsp that is often the largest.
    fn probe(&mut self) -> Unit {
        const FORMS: [&[u8]; 5] = [
            &[0x48, 0x8b, 0x84, 0x24],
            &[0x48, 0x89, 0x84, 0x24],
            &[0x00, 0xac, 0x24],
            &[0x0f, 0x11, 0x8c, 0x24],
            &[0xc5, 0xfe, 0x7f, 0x94, 0x24],
        ];
        let t = i64::from(code::MAX_PROBE);
        let distance = match self.random.below(4) {
            0 => t,
            1 => -t,
            _ => self.random.below(2 * t as u64 + 1) as i64 - t,
        };
        match self.random.below(6) {
            5 => Unit { bytes: vec![0xf6, 0x04, 0x24, 0x00], ..Unit::default() },
            form => stack_unit(FORMS[form as usize], distance - OFF),
        }
    }

    fn branch(&mut self) -> Unit {
        match self.random.below(6) {
            0 => Unit {
                bytes: vec![0xe9, 0, 0, 0, 0],
                fixes: vec![Fix { at: 1, from: 5, to: Target::Unit }],
                ends: true,
                ..Unit::default()
            },
            1 => {
                let opcode = *self.random.of(&[0xe0, 0xe1, 0xe2, 0xe3, 0xeb, 0x72]);
                Unit {
                    bytes: vec![opcode, 0],
                    fixes: vec![Fix { at: 1, from: 2, to: Target::Near }],
                    ends: opcode == 0xeb,
                    ..Unit::default()
                }
            }
            _ => {
                let opcode = 0x80 | self.random.below(16) as u8;
                Unit {
                    bytes: vec![0x0f, opcode, 0, 0, 0, 0],
                    fixes: vec![Fix { at: 2, from: 6, to: Target::Unit }],
                    ..Unit::default()
                }
            }
        }
    }

    /// U1, often with a target that passes.
    fn checked_branch(&mut self, jumps: bool) -> Unit {
        let target = loop {
            match self.random.below(16) as u8 {
                RSP | R11 => (),
                register => break register,
            }
        };
        let (high, low) = (target >> 3, target & 7);
        let mut unit = Unit::default();
        if !self.random.one_in(4) {
            // lea label(%rip),%rT, which is no part of the unit.
            unit.bytes.extend([0x48 | high << 2, 0x8d, low << 3 | 5, 0, 0, 0, 0]);
            unit.fixes.push(Fix { at: 3, from: 7, to: Target::Label });
        }
        unit.bytes.extend([0x65, 0x67, 0x44 | high, 0x8b]);
        unit.bytes.extend(match low {
            4 => vec![0x1c, 0x24],
            5 => vec![0x5d, 0],
            _ => vec![0x18 | low],
        });
        unit.bytes.extend([0x41, 0x81, 0xc3]);
        unit.bytes.extend(code::LABEL_NEGATED.to_le_bytes());
        unit.bytes.extend([0x0f, 0x85, 0, 0, 0, 0]);
        unit.fixes.push(Fix { at: unit.bytes.len() - 4, from: unit.bytes.len(), to: Target::Trap });
        unit.bytes.extend([0x41 | high << 2, 0x89, 0xc3 | low << 3]);
        unit.bytes.extend([0x65, 0x67, 0x4c, 0x03, 0x1c, 0x25]);
        unit.bytes.extend((header::W as u32).to_le_bytes());
        (unit.returns, unit.ends) = (!jumps, jumps);
        unit.bytes.extend([0x41, 0xff, if unit.returns { 0xd3 } else { 0xe3 }]);
        unit
    }

    /// U4 with registers of its own, often behind something that makes the index small.
    fn switch(&mut self) -> Unit {
        const R10: u8 = 10;
        let index = *self.random.of(&[0_u8, 1, 6, 9, 15]);
        let mut unit = Unit::default();
        let (high, low) = (index >> 3, index & 7);
        if !self.random.one_in(4) {
            unit.bytes.extend([0x48 | high, 0x83, 0xe0 | low, ENTRIES as u8 - 1]);
        }
        let last = self.random.below(ENTRIES as u64) as u8;
        unit.bytes.extend([0x48 | high, 0x83, 0xf8 | low, last]);
        unit.bytes.extend([0x0f, 0x87, 0, 0, 0, 0]);
        unit.fixes.push(Fix { at: unit.bytes.len() - 4, from: unit.bytes.len(), to: Target::Unit });
        unit.bytes.extend([0x4c, 0x8d, (R10 & 7) << 3 | 5, 0, 0, 0, 0]);
        unit.fixes.push(Fix { at: unit.bytes.len() - 4, from: unit.bytes.len(), to: Target::Table });
        // movslq (%r10,%rI,4),%r11; add %r10,%r11; jmp *%r11
        unit.bytes.extend([
            0x4d | high << 1,
            0x63,
            0x1c,
            0x82 | low << 3,
            0x4d,
            0x01,
            0xd3,
            0x41,
            0xff,
            0xe3,
        ]);
        unit.ends = true;
        unit
    }

    /// U2, often with a place near by, sometimes above rsp.
    fn open(&mut self) -> Unit {
        let mut unit = Unit::default();
        if !self.random.one_in(4) {
            let near = self.random.below(1 << 17) as i64 - if self.random.one_in(8) { 0 } else { 1 << 17 };
            // lea near(%rsp),%r11, which is no part of the unit.
            unit.bytes.extend([0x4c, 0x8d, 0x9c, 0x24]);
            unit.bytes.extend((near as i32).to_le_bytes());
        }
        unit.bytes.extend([0x49, 0x31, 0xe3, 0x41, 0x81, 0xe3]);
        unit.bytes.extend(code::SLOT_MASK.to_le_bytes());
        unit.bytes.extend([0x49, 0x31, 0xe3, 0x49, 0x39, 0xe3, 0x0f, 0x87, 0, 0, 0, 0]);
        let to = if self.random.one_in(2) { Target::Unit } else { Target::Trap };
        unit.fixes.push(Fix { at: unit.bytes.len() - 4, from: unit.bytes.len(), to });
        unit.bytes.extend([0x4c, 0x87, 0xdc, 0x4c, 0x89, 0x1c, 0x24]);
        unit
    }

    /// U3: any string instruction, often of few elements.
    fn string(&mut self) -> Unit {
        let opcode = *self.random.of(&[0xa4_u8, 0xa5, 0xa6, 0xa7, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf]);
        let mut bytes = Vec::new();
        if !self.random.one_in(8) {
            bytes.push(0xb9);
            bytes.extend((self.random.below(40) as u32).to_le_bytes());
        }
        // The destination first: the unit is read backwards from the instruction.
        let confine: [(bool, [u8; 2], [u8; 3]); 2] = [
            (!matches!(opcode, 0xac | 0xad), [0x89, 0xff], [0x48, 0x03, 0x3c]),
            (matches!(opcode, 0xa4..=0xa7 | 0xac | 0xad), [0x89, 0xf6], [0x48, 0x03, 0x34]),
        ];
        for (_, truncate, add) in confine.into_iter().filter(|(used, ..)| *used) {
            bytes.extend(truncate);
            bytes.extend([0x65, 0x67]);
            bytes.extend(add);
            bytes.push(0x25);
            bytes.extend((header::W as u32).to_le_bytes());
        }
        let wide = opcode & 1 != 0 && self.random.one_in(2);
        match self.random.below(3) {
            0 => bytes.push(0xf3),
            1 if matches!(opcode, 0xa6 | 0xa7 | 0xae | 0xaf) => bytes.push(0xf2),
            _ => (),
        }
        bytes.extend(wide.then_some(0x48));
        bytes.push(opcode);
        Unit { bytes, ..Unit::default() }
    }

    /// An instruction that computes, with its operand where it may be.
    fn computing(&mut self) -> Unit {
        loop {
            let slice = if self.random.one_in(2) { &self.slices[0] } else { self.random.of(&self.slices) };
            let bytes = slice.get(self.random.below(slice.len()));
            let Some(reading) = Reading::of(&bytes) else { continue };
            if reading.control.is_some() || reading.written >> RSP & 1 != 0 {
                continue;
            }
            let mut unit = Unit { bytes: bytes[..reading.len].to_vec(), ..Unit::default() };
            if reading.access == 0 {
                return unit;
            }
            let disp_at = self.zydis.place(&bytes).and_then(|place| place.disp32_at);
            match (reading.operand, disp_at) {
                (Operand::Window | Operand::None, _) => (),
                (Operand::Relative(_), Some(at)) => {
                    unit.fixes.push(Fix { at, from: reading.len, to: Target::Image(reading.access) });
                }
                (Operand::Stack(_), Some(at)) => {
                    let distance = self.random.below(2 * D + 1) as i64 - D as i64;
                    unit.bytes[at..at + 4].copy_from_slice(&((distance - OFF) as i32).to_le_bytes());
                }
                _ => continue,
            }
            return unit;
        }
    }

    /// Puts units one after the other and fills in displacements.
    fn lay_out(&mut self, units: &[Unit], place: &Place) -> Adversarial {
        let mut starts = Vec::new();
        let mut text = Vec::new();
        for unit in units {
            starts.push(text.len());
            text.extend(&unit.bytes);
        }
        let trap = text.len();
        starts.push(trap);
        text.extend(TRAP);
        // Control does not go on from what fills the rest.
        let rest = place.size - text.len();
        text.resize(place.size, if rest == 1 { 0xc3 } else { 0xcc });
        if rest > 1 {
            text[place.size - TRAP.len()..].copy_from_slice(&TRAP);
        }
        let same = |unit: &Unit| -> Vec<usize> {
            let of = units.iter().zip(&starts).filter(|(other, _)| other.stack.state() == unit.stack.state());
            of.map(|(_, start)| *start).chain([trap]).collect()
        };
        let entries = same(&Unit::default());
        let labels: Vec<usize> = units
            .iter()
            .zip(&starts)
            .filter(|(unit, _)| unit.bytes == code::LABEL)
            .map(|(_, start)| *start)
            .collect();
        let mut returns = Vec::new();
        for (unit, &start) in units.iter().zip(&starts) {
            returns.extend(unit.returns.then_some(start + unit.bytes.len()));
            for fix in &unit.fixes {
                let from = (start + fix.from) as i64;
                let at = start + fix.at;
                let disp = match fix.to {
                    Target::Unit => *self.random.of(&same(unit)) as i64 - from,
                    Target::Entry => *self.random.of(&entries) as i64 - from,
                    Target::Label => *self.random.of(&labels) as i64 - from,
                    Target::Trap => trap as i64 - from,
                    Target::Table => place.table as i64 - place.address as i64 - from,
                    Target::Image(access) => {
                        let target = self.random.below(place.image_end - u64::from(access) + 1);
                        target as i64 - place.address as i64 - from
                    }
                    Target::Near => {
                        let near: Vec<i64> = same(unit)
                            .iter()
                            .map(|&start| start as i64 - from)
                            .filter(|disp| i8::try_from(*disp).is_ok())
                            .collect();
                        text[at] = *self.random.of(&near) as u8;
                        continue;
                    }
                };
                text[at..at + 4].copy_from_slice(&(disp as i32).to_le_bytes());
            }
        }
        let entry = |_| (place.address as i64 + *self.random.of(&entries) as i64 - place.table as i64) as i32;
        let table = (0..ENTRIES).map(entry).flat_map(i32::to_le_bytes).collect();
        Adversarial { text, table, starts, entries, returns }
    }
}

fn stack_unit(form: &[u8], imm: i64) -> Unit {
    Unit { bytes: [form, &(imm as i32).to_le_bytes()].concat(), ..Unit::default() }
}
