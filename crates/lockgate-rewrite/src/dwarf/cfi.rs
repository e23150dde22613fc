//! Call-frame instructions: the program of a CIE or FDE as a table of rows, and rows as a program again.
//!
//! A frame keeps its canonical frame address: the CFA of a rewritten frame is the address, *on the data
//! stack*, that the compiler meant, so that frame bases and saved registers stay as they were. What changes
//! is what refers to the control stack, `OFF` above (`docs/code-model.md`):
//!
//! - rsp is a control address: `CFA = rsp + N` becomes `rsp + N - bias - OFF` with the bias of
//!   rsp there ([`crate::map::SectionMap::biases`]);
//! - the return address lies at `CFA - 8 + OFF`;
//! - the caller's rsp is `CFA + OFF`.

use std::collections::BTreeMap;

use lockgate_abi::code::OFF;

use super::Malformed;
use super::bytes::Cursor;
use super::expr::{self, RSP};
use crate::leb128::{push_sleb, push_uleb};

/// DWARF's number of the return address (System V ABI for x86-64, figure 3.36).
const RETURN_ADDRESS: u16 = 16;

/// Data alignment factor of every CIE that is written: offsets of saved registers are multiples of 8.
pub(super) const DATA_ALIGN: i64 = -8;

/// How a frame's canonical frame address is found.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cfa {
    Register(u16, i64),
    Expression(Vec<u8>),
}

/// Where the caller's value of a register is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    Undefined,
    SameValue,
    Offset(i64),
    ValOffset(i64),
    Register(u16),
    Expression(Vec<u8>),
    ValExpression(Vec<u8>),
}

/// What holds from one address to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    cfa: Cfa,
    registers: BTreeMap<u16, Rule>,
    args_size: u64,
}

/// The numbers of a CIE that its instructions are scaled by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Factors {
    pub(super) code: u64,
    pub(super) data: i64,
}

/// A row and the code offset, relative to the start of the FDE, from which it holds.
pub(super) type Located = (u64, Row);

/// Runs the call-frame program in `code`, starting with `initial` (`None` for a CIE's own program).
pub(super) fn rows(
    code: &mut Cursor<'_>,
    factors: Factors,
    initial: Option<&Row>,
) -> Result<Vec<Located>, Malformed> {
    let start = initial.cloned().unwrap_or(Row {
        cfa: Cfa::Register(RSP, 8),
        registers: BTreeMap::new(),
        args_size: 0,
    });
    let mut machine = Machine { initial, factors, row: start, saved: Vec::new(), at: 0 };
    let mut rows: Vec<Located> = Vec::new();
    while !code.at_end() {
        let before = machine.at;
        machine.step(code)?;
        // A step moves on or changes the row, never both.
        if machine.at != before {
            rows.push((before, machine.row.clone()));
        }
    }
    rows.push((machine.at, machine.row));
    Ok(rows)
}

struct Machine<'a> {
    initial: Option<&'a Row>,
    factors: Factors,
    row: Row,
    saved: Vec<Row>,
    at: u64,
}

impl Machine<'_> {
    /// One instruction (DWARF 5 §6.4.2).
    fn step(&mut self, code: &mut Cursor<'_>) -> Result<(), Malformed> {
        let start = code.pos();
        let op = code.u8()?;
        let low = u16::from(op & 0x3f);
        match op {
            0x40..=0x7f => self.advance(u64::from(low)),
            0x80..=0xbf => {
                let offset = code.uleb()? as i64;
                self.set(low, Rule::Offset(self.data(offset)));
            }
            0xc0..=0xff => self.restore(low),
            0x00 => {}
            0x02 => self.advance(code.uint(1)?),
            0x03 => self.advance(code.uint(2)?),
            0x04 => self.advance(code.uint(4)?),
            0x05 => {
                let (register, offset) = (register(code)?, code.uleb()? as i64);
                self.set(register, Rule::Offset(self.data(offset)));
            }
            0x06 => {
                let register = register(code)?;
                self.restore(register);
            }
            0x07 => self.set(register(code)?, Rule::Undefined),
            0x08 => self.set(register(code)?, Rule::SameValue),
            0x09 => self.set(register(code)?, Rule::Register(register(code)?)),
            0x0a => self.saved.push(self.row.clone()),
            0x0b => {
                let saved = self.saved.pop();
                self.row =
                    saved.ok_or_else(|| Malformed::at(start, "restores a state that it never saved"))?;
            }
            0x0c => self.row.cfa = Cfa::Register(register(code)?, code.uleb()? as i64),
            0x0d => self.row.cfa = Cfa::Register(register(code)?, self.cfa_offset(start)?),
            0x0e => self.row.cfa = Cfa::Register(self.cfa_register(start)?, code.uleb()? as i64),
            0x0f => self.row.cfa = Cfa::Expression(block(code)?),
            0x10 => self.set(register(code)?, Rule::Expression(block(code)?)),
            0x11 => {
                let (register, offset) = (register(code)?, code.sleb()?);
                self.set(register, Rule::Offset(self.data(offset)));
            }
            0x12 => self.row.cfa = Cfa::Register(register(code)?, self.data(code.sleb()?)),
            0x13 => self.row.cfa = Cfa::Register(self.cfa_register(start)?, self.data(code.sleb()?)),
            0x14 => {
                let (register, offset) = (register(code)?, code.uleb()? as i64);
                self.set(register, Rule::ValOffset(self.data(offset)));
            }
            0x15 => {
                let (register, offset) = (register(code)?, code.sleb()?);
                self.set(register, Rule::ValOffset(self.data(offset)));
            }
            0x16 => self.set(register(code)?, Rule::ValExpression(block(code)?)),
            0x2e => self.row.args_size = code.uleb()?,
            _ => {
                return Err(Malformed::at(start, format!("has an unknown call-frame instruction {op:#04x}")));
            }
        }
        Ok(())
    }

    fn advance(&mut self, delta: u64) {
        self.at = self.at.wrapping_add(delta.wrapping_mul(self.factors.code));
    }

    fn data(&self, factored: i64) -> i64 {
        factored.wrapping_mul(self.factors.data)
    }

    fn set(&mut self, register: u16, rule: Rule) {
        self.row.registers.insert(register, rule);
    }

    fn restore(&mut self, register: u16) {
        match self.initial.and_then(|row| row.registers.get(&register)) {
            Some(rule) => self.set(register, rule.clone()),
            None => {
                self.row.registers.remove(&register);
            }
        }
    }

    fn cfa_register(&self, at: usize) -> Result<u16, Malformed> {
        match self.row.cfa {
            Cfa::Register(register, _) => Ok(register),
            Cfa::Expression(_) => Err(Malformed::at(at, "changes the offset of a CFA expression")),
        }
    }

    fn cfa_offset(&self, at: usize) -> Result<i64, Malformed> {
        match self.row.cfa {
            Cfa::Register(_, offset) => Ok(offset),
            Cfa::Expression(_) => Err(Malformed::at(at, "changes the register of a CFA expression")),
        }
    }
}

fn register(code: &mut Cursor<'_>) -> Result<u16, Malformed> {
    let at = code.pos();
    u16::try_from(code.uleb()?).map_err(|_| Malformed::at(at, "names an impossible register"))
}

fn block(code: &mut Cursor<'_>) -> Result<Vec<u8>, Malformed> {
    let len = code.uleb()?;
    Ok(code.take(usize::try_from(len).unwrap_or(usize::MAX))?.to_vec())
}

impl Row {
    /// Bytes of arguments on the stack.
    pub(super) fn arguments(&self) -> u64 {
        self.args_size
    }

    /// Whether nothing is on the stack but the return address, as at a function's entry. (gas moves what is so at the start of a part into
    /// a CIE of its own.)
    pub(super) fn is_entry(&self) -> bool {
        self.cfa == Cfa::Register(RSP, 8) && self.registers.keys().all(|&register| register == RETURN_ADDRESS)
    }

    /// How far rsp is below where it was at the function's entry, if the row goes by rsp.
    pub(super) fn depth(&self) -> Option<i32> {
        match self.cfa {
            Cfa::Register(RSP, offset) => i32::try_from(offset - 8).ok(),
            _ => None,
        }
    }

    /// The row of the rewritten code, where rsp is `bias` bytes above the original's.
    /// The error is the reason why there is none.
    pub(super) fn rewritten(&self, bias: i64) -> Result<Row, String> {
        let off = i64::from(OFF);
        let cfa = match &self.cfa {
            Cfa::Register(RSP, offset) => Cfa::Register(RSP, offset - bias - off),
            Cfa::Register(register, offset) => Cfa::Register(*register, *offset),
            Cfa::Expression(code) => Cfa::Expression(expr::rewritten(code, bias)?),
        };
        let mut registers = BTreeMap::new();
        for (&register, rule) in &self.registers {
            let rule = match (register, rule) {
                (RSP, _) => return Err("has a rule of its own for rsp".into()),
                (RETURN_ADDRESS, Rule::Offset(offset)) => Rule::Offset(offset + off),
                (RETURN_ADDRESS, Rule::Undefined) => Rule::Undefined,
                (RETURN_ADDRESS, _) => return Err("keeps its return address outside its stack slot".into()),
                (_, Rule::Expression(code)) => Rule::Expression(expr::rewritten(code, bias)?),
                (_, Rule::ValExpression(code)) => Rule::ValExpression(expr::rewritten(code, bias)?),
                (_, rule) => rule.clone(),
            };
            registers.insert(register, rule);
        }
        registers.insert(RSP, Rule::ValOffset(off));
        Ok(Row { cfa, registers, args_size: self.args_size })
    }

    /// The instructions that make `self` of `previous`; `initial` is the row of the CIE, or `None` if they
    /// are for the CIE itself (then `previous` is ignored).
    pub(super) fn emit(
        &self,
        previous: Option<&Row>,
        initial: Option<&Row>,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        if previous.is_none_or(|previous| previous.cfa != self.cfa) {
            self.cfa.emit(previous.map(|previous| &previous.cfa), out)?;
        }
        for (&register, rule) in &self.registers {
            if previous.and_then(|previous| previous.registers.get(&register)) == Some(rule) {
                continue;
            }
            if initial.and_then(|initial| initial.registers.get(&register)) == Some(rule) {
                emit_restore(register, out);
            } else {
                rule.emit(register, out)?;
            }
        }
        for &register in previous.iter().flat_map(|previous| previous.registers.keys()) {
            if !self.registers.contains_key(&register) {
                emit_restore(register, out);
            }
        }
        if previous.map_or(0, |previous| previous.args_size) != self.args_size {
            out.push(0x2e);
            push_uleb(out, self.args_size);
        }
        Ok(())
    }
}

impl Cfa {
    fn emit(&self, previous: Option<&Cfa>, out: &mut Vec<u8>) -> Result<(), String> {
        match self {
            Cfa::Register(register, offset) => {
                let same = matches!(previous, Some(Cfa::Register(before, _)) if before == register);
                let (plain, signed) = if same { (0x0e, 0x13) } else { (0x0c, 0x12) };
                out.push(if *offset < 0 { signed } else { plain });
                if !same {
                    push_uleb(out, u64::from(*register));
                }
                match *offset {
                    0.. => push_uleb(out, *offset as u64),
                    _ => push_sleb(out, factored(*offset)?),
                }
            }
            Cfa::Expression(code) => {
                out.push(0x0f);
                push_block(out, code);
            }
        }
        Ok(())
    }
}

impl Rule {
    fn emit(&self, register: u16, out: &mut Vec<u8>) -> Result<(), String> {
        let (op, number) = match self {
            Rule::Offset(offset) => match (factored(*offset)?, register) {
                (factor @ 0.., 0..=0x3f) => {
                    out.push(0x80 | register as u8);
                    push_uleb(out, factor as u64);
                    return Ok(());
                }
                (factor, _) => (0x11, Some(factor)),
            },
            Rule::ValOffset(offset) => (0x15, Some(factored(*offset)?)),
            Rule::Undefined => (0x07, None),
            Rule::SameValue => (0x08, None),
            Rule::Register(_) => (0x09, None),
            Rule::Expression(_) => (0x10, None),
            Rule::ValExpression(_) => (0x16, None),
        };
        out.push(op);
        push_uleb(out, u64::from(register));
        match self {
            Rule::Register(from) => push_uleb(out, u64::from(*from)),
            Rule::Expression(code) | Rule::ValExpression(code) => push_block(out, code),
            _ => number.into_iter().for_each(|number| push_sleb(out, number)),
        }
        Ok(())
    }
}

/// Appends the shortest instruction that advances by `delta` bytes of code (code alignment factor 1).
pub(super) fn emit_advance(delta: u64, out: &mut Vec<u8>) {
    match delta {
        0 => {}
        1..0x40 => out.push(0x40 | delta as u8),
        0x40..0x100 => out.extend([0x02, delta as u8]),
        0x100..0x1_0000 => {
            out.push(0x03);
            out.extend((delta as u16).to_le_bytes());
        }
        _ => {
            out.push(0x04);
            out.extend((delta as u32).to_le_bytes());
        }
    }
}

fn emit_restore(register: u16, out: &mut Vec<u8>) {
    if register <= 0x3f {
        out.push(0xc0 | register as u8);
    } else {
        out.push(0x06);
        push_uleb(out, u64::from(register));
    }
}

fn push_block(out: &mut Vec<u8>, code: &[u8]) {
    push_uleb(out, code.len() as u64);
    out.extend_from_slice(code);
}

fn factored(offset: i64) -> Result<i64, String> {
    if offset % DATA_ALIGN != 0 {
        return Err(format!("saves a register at {offset:+#x}, which is not a multiple of 8"));
    }
    Ok(offset / DATA_ALIGN)
}
