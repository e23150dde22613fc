//! Rule V2, exhaustively: every way to name memory, against arithmetic that knows nothing of the rule.
//!
//! Statement: for some forms of each kind of encoding, every prefix sequence below, every REX, every ModRM and SIB byte, and displacements around every bound
//! (for rsp: every displacement within 4D of -OFF), whatever [`lockgate_verify::verify`] accepts accesses, *for all register contents*, only
//!
//! - `[W, W + 4 GiB + A)`, or
//! - if it is relative to rip, the image, or
//! - if it is relative to rsp, the data-stack slot of the thread, its guards included, provided that rsp is where rule V3 leaves it ([`crate::rsp_rule`]).
//!
//! Conversely it accepts each of these that the rule's text allows.

use crate::text::{CODE, IMAGE_END, Text};
use lockgate_abi::{code, stack};
use serde::Serialize;

/// What came of it.
#[derive(Debug, Default, Serialize)]
pub struct Outcome {
    /// Operands judged.
    pub operands: u64,
    /// Accepted ones.
    pub accepted: u64,
    /// Accepted, but not confined; or confined as the rule says, and refused.
    pub violations: u64,
    /// The first of them.
    pub examples: Vec<String>,
}

/// A form: bytes before ModRM (REX goes before them), bytes behind the displacement, and what it does.
struct Form {
    opcode: &'static [u8],
    immediate: &'static [u8],
    access: u64,
    /// Its own prefix, before REX.
    prefix: &'static [u8],
    /// Coded with VEX or EVEX: its register bits are in its bytes, and REX is illegal.
    vector: bool,
    /// What an 8-bit displacement counts.
    scale: i64,
    /// Bits of a string: legal with no memory operand.
    never: bool,
}

const PLAIN: Form =
    Form { opcode: &[], immediate: &[], access: 0, prefix: &[], vector: false, scale: 1, never: false };

/// One for each path through the decoder: sizes 1 to 64, with and without immediate, every kind of prefix.
const FORMS: &[Form] = &[
    Form { opcode: &[0x3b], access: 4, ..PLAIN },
    Form { opcode: &[0x88], access: 1, ..PLAIN },
    Form { opcode: &[0xc7], immediate: &[1, 2, 3, 4], access: 4, ..PLAIN },
    Form { opcode: &[0x0f, 0x10], access: 16, ..PLAIN },
    Form { opcode: &[0x0f, 0x3a, 0x0f], immediate: &[5], access: 16, prefix: &[0x66], ..PLAIN },
    Form { opcode: &[0x0f, 0xb1], access: 4, prefix: &[0xf0], ..PLAIN },
    Form { opcode: &[0xd9], access: 28, ..PLAIN },
    Form { opcode: &[0x0f, 0xa3], never: true, ..PLAIN },
    Form { opcode: &[0xc5, 0xfc, 0x10], access: 32, vector: true, ..PLAIN },
    Form { opcode: &[0x62, 0xf1, 0x7c, 0x48, 0x10], access: 64, vector: true, scale: 64, ..PLAIN },
    Form { opcode: &[0x62, 0xf1, 0x7c, 0x58, 0x58], access: 4, vector: true, scale: 4, ..PLAIN },
];

/// Before the form's own prefix.
const PREFIXES: &[&[u8]] = &[
    &[],
    &[0x65, 0x67],
    &[0x65],
    &[0x67],
    &[0x67, 0x65],
    &[0x64],
    &[0x64, 0x67],
    &[0x3e],
    &[0x65, 0x67, 0x64],
    &[0x65, 0x65, 0x67],
];

const RSP: u8 = 4;
const OFF: i64 = code::OFF as i64;
const D: i64 = code::MAX_MOVE as i64;

/// Displacements of 32 bits: around -OFF and OFF, around the image, and the ends of the range.
fn displacements() -> Vec<i32> {
    let around = [
        -OFF,
        -OFF - D,
        -OFF + D,
        -OFF - D - 64,
        -OFF + D + 64,
        OFF,
        0,
        IMAGE_END as i64 - CODE as i64,
        -(CODE as i64),
        i64::from(i32::MIN) + 2,
        i64::from(i32::MAX) - 2,
        D,
        -D,
    ];
    let mut all: Vec<i32> =
        around.iter().flat_map(|&centre| (centre - 2..=centre + 2).map(|disp| disp as i32)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Where the bytes of an operand lie, by the processor manuals alone.
#[derive(Debug, PartialEq, Eq)]
enum Reach {
    /// In the window, whatever registers hold.
    Window,
    /// At this distance from rip at the instruction's end.
    Rip(i64),
    /// At this distance from rsp.
    Rsp(i64),
    /// Anywhere.
    Anywhere,
}

/// An encoding taken apart.
struct Operand<'a> {
    prefixes: &'a [u8],
    rex: u8,
    modrm: u8,
    sib: u8,
    disp: i64,
}

impl Operand<'_> {
    /// SDM volume 2, tables 2-2, 2-3 and 2-5; the bits X and B of VEX and EVEX are zero here.
    fn reach(&self) -> Reach {
        let narrow = self.prefixes.contains(&0x67);
        // The last of several segment overrides counts; all but fs and gs are ignored.
        let segment = self.prefixes.iter().rev().find(|byte| matches!(byte, 0x64 | 0x65 | 0x3e));
        let (mode, rm) = (self.modrm >> 6, self.modrm & 7);
        let has_sib = rm == 4;
        let rip = mode == 0 && rm == 5;
        let index = has_sib.then_some(self.sib >> 3 & 7 | self.rex << 2 & 8).filter(|&index| index != 4);
        let base = if has_sib { self.sib & 7 } else { rm };
        let no_base = has_sib && mode == 0 && base == 5;
        match segment {
            // Truncated to 32 bits before gs's base is added. What is relative to eip is so, too.
            Some(0x65) if narrow => Reach::Window,
            Some(0x64 | 0x65) => Reach::Anywhere,
            _ if narrow => Reach::Anywhere,
            _ if rip => Reach::Rip(self.disp),
            _ if index.is_none() && !no_base && base | self.rex << 3 & 8 == RSP => Reach::Rsp(self.disp),
            _ => Reach::Anywhere,
        }
    }
}

/// rsp is this far from its usable slot at most (rule V3, proved in `rsp_rule`): T after a probe, D more before the next one.
const ASTRAY: i64 = code::MAX_PROBE as i64 + D;

/// Whether `access` bytes at `reach` are confined.
fn confined(reach: &Reach, len: usize, access: u64) -> bool {
    let access = access as i64;
    match *reach {
        Reach::Window => access <= code::MAX_ACCESS.into(),
        Reach::Rip(disp) => {
            let target = CODE as i64 + len as i64 + disp;
            target >= 0 && target + access <= IMAGE_END as i64
        }
        Reach::Rsp(disp) => {
            let (low, high) = (stack::GUARD as i64 - ASTRAY, stack::TOP as i64 + ASTRAY);
            low + disp + OFF >= 0 && high + disp + OFF + access <= stack::SLOT as i64
        }
        Reach::Anywhere => false,
    }
}

/// Judges every operand, or one in `one_in` of them.
#[must_use]
pub fn run(one_in: u64) -> Outcome {
    let mut outcome = Outcome::default();
    let mut text = Text::default();
    let displacements = displacements();
    let mut number = 0_u64;
    for form in FORMS {
        for prefix in PREFIXES {
            for rex in (0x3f..0x50).filter(|&rex| rex == 0x3f || !form.vector) {
                for modrm in 0..0xc0 {
                    for sib in if modrm & 7 == 4 { 0..=255 } else { 0..=0 } {
                        let no_base = modrm & 0xc7 == 5 || modrm & 0xc7 == 4 && sib & 7 == 5;
                        let values: &[i32] = match modrm >> 6 {
                            0 if !no_base => &[0],
                            1 => &[-128, -1, 0, 1, 127],
                            _ => &displacements,
                        };
                        for disp in values {
                            number += 1;
                            if number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 < (1 << 32) / one_in {
                                outcome.judge(&mut text, form, prefix, rex, (modrm, sib), *disp);
                            }
                        }
                    }
                }
            }
        }
    }
    // Every displacement from rsp within 4D of -OFF.
    for disp in (-OFF - 4 * D..=-OFF + 4 * D).step_by(one_in as usize) {
        for form in FORMS.iter().filter(|form| form.prefix.is_empty()) {
            outcome.judge(&mut text, form, &[], 0x3f, (0x84, 0x24), disp as i32);
        }
    }
    outcome
}

impl Outcome {
    fn judge(
        &mut self,
        text: &mut Text,
        form: &Form,
        prefix: &[u8],
        rex: u8,
        (modrm, sib): (u8, u8),
        disp: i32,
    ) {
        let mut bytes = [prefix, form.prefix].concat();
        if rex != 0x3f {
            bytes.push(rex);
        }
        bytes.extend(form.opcode);
        bytes.push(modrm);
        if modrm & 7 == 4 {
            bytes.push(sib);
        }
        let no_base = modrm & 0xc7 == 5 || modrm & 0xc7 == 4 && sib & 7 == 5;
        let disp = match modrm >> 6 {
            0 if !no_base => 0,
            1 => {
                bytes.push(disp as u8);
                i64::from(disp as i8) * form.scale
            }
            _ => {
                bytes.extend(disp.to_le_bytes());
                disp.into()
            }
        };
        bytes.extend(form.immediate);
        let verdict = text.verify(&bytes);
        let operand = Operand { prefixes: prefix, rex: if rex == 0x3f { 0 } else { rex }, modrm, sib, disp };
        let reach = operand.reach();
        let access = if rex & 8 != 0 && rex != 0x3f && form.access == 4 { 8 } else { form.access };
        self.operands += 1;
        self.accepted += u64::from(verdict.is_ok());
        // `mov $imm,mem` and the x87's group have one digit each here; a REX.W of its own is another form.
        let confined = confined(&reach, bytes.len(), access) && !form.never;
        let allowed = confined
            && canonical(prefix)
            && in_the_rule(&reach)
            && digit_fits(form, modrm)
            && !ignored_bits(&operand, form);
        let wrong = verdict.is_ok() && !confined || verdict.is_err() && allowed;
        if wrong {
            self.violations += 1;
            if self.examples.len() < 20 {
                self.examples.push(format!("{bytes:02x?}: {reach:?}, {verdict:?}"));
            }
        }
    }
}

fn canonical(prefix: &[u8]) -> bool {
    prefix.is_empty() || prefix == [0x65, 0x67]
}

/// The rule is narrower for rsp than the guards are wide: |disp + OFF| ≤ D.
fn in_the_rule(reach: &Reach) -> bool {
    !matches!(reach, Reach::Rsp(disp) if (disp + OFF).abs() > D)
}

/// Whether the group's digit is the one meant.
fn digit_fits(form: &Form, modrm: u8) -> bool {
    match form.opcode {
        [0xc7] => modrm >> 3 & 7 == 0,
        // fnstenv
        [0xd9] => modrm >> 3 & 7 == 6,
        _ => true,
    }
}

/// Rule V1 refuses bits that have no meaning: R beside a digit, X without an index, B without a base; W where a form has none; eip.
fn ignored_bits(operand: &Operand<'_>, form: &Form) -> bool {
    let Operand { prefixes, rex, modrm, sib, .. } = *operand;
    let has_sib = modrm & 7 == 4;
    let no_base = modrm & 0xc7 == 5 || modrm & 0xc7 == 4 && sib & 7 == 5;
    let group = matches!(form.opcode, [0xc7] | [0xd9]);
    let no_w = !matches!(form.opcode, [0x3b] | [0xc7] | [0x0f, 0xb1]);
    rex & 4 != 0 && group
        || rex & 2 != 0 && !has_sib
        || rex & 1 != 0 && no_base
        || rex & 8 != 0 && no_w
        || !prefixes.is_empty() && modrm & 0xc7 == 5
}
