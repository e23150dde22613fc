//! DWARF expressions: what names rsp means the original's rsp, and is rewritten to it.
//!
//! rsp of rewritten code is a control address, `OFF + bias` above the value that the compiler meant
//! (`docs/code-model.md`); every other register holds what it held.

use std::ops::Range;

use gimli::{Encoding, EndianSlice, Expression, LittleEndian, Operation, Register, UnitOffset};
use lockgate_abi::code::OFF;

use crate::leb128::push_sleb;

/// DWARF's number of rsp (System V ABI for x86-64, figure 3.36).
pub(super) const RSP: u16 = 7;
/// DW_OP_breg7, the register-relative address of rsp.
const BREG_RSP: u8 = 0x77;
const STACK_VALUE: u8 = 0x9f;

/// What an expression's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A place, or a value: a register operation means the register itself.
    Location,
    /// A frame base or an address: a register operation means the register's contents.
    Address,
}

/// A change of an expression: `bytes` in place of `range`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) range: Range<usize>,
    pub(super) bytes: Vec<u8>,
}

/// A reference from an expression to an entry of its unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EntryRef {
    /// Offset of the entry in the unit.
    pub(super) entry: usize,
    /// The field, if it has a fixed size and can be changed in place.
    pub(super) field: Option<Range<usize>>,
}

impl EntryRef {
    /// The same reference of an expression that begins `distance` earlier.
    fn moved_by(self, distance: usize) -> Self {
        let field = self.field.map(|field| field.start + distance..field.end + distance);
        Self { field, ..self }
    }
}

/// What becomes of an expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Analysis {
    pub(super) edits: Vec<Edit>,
    pub(super) refs: Vec<EntryRef>,
}

/// Finds the changes of `code` where rsp has `bias`. The error says why there is no such expression.
pub(super) fn analyse(code: &[u8], encoding: Encoding, role: Role, bias: i64) -> Result<Analysis, String> {
    let expression = Expression(EndianSlice::new(code, LittleEndian));
    let mut operations = expression.operations(encoding);
    let mut found = Analysis::default();
    let mut branches = false;
    let mut start = 0;
    while let Some(operation) = operations.next().map_err(unreadable)? {
        let end = operations.offset_from(&expression);
        let mut replace = |bytes| found.edits.push(Edit { range: start..end, bytes });
        match operation {
            Operation::RegisterOffset { register: Register(RSP), offset, base_type: UnitOffset(0) } => {
                replace(rsp_relative(offset, bias));
            }
            Operation::RegisterOffset { register: Register(RSP), .. } => {
                return Err("has an expression that casts rsp".into());
            }
            Operation::Register { register: Register(RSP) } => {
                let mut bytes = rsp_relative(0, bias);
                if role == Role::Location {
                    bytes.push(STACK_VALUE);
                }
                replace(bytes);
            }
            Operation::EntryValue { expression } => {
                let inner = analyse(expression.slice(), encoding, Role::Location, 0)?;
                if !inner.edits.is_empty() {
                    return Err("has an expression of rsp at the entry of the function".into());
                }
                let within = end - expression.slice().len();
                found.refs.extend(inner.refs.into_iter().map(|reference| reference.moved_by(within)));
            }
            Operation::Bra { .. } | Operation::Skip { .. } => branches = true,
            _ => found.refs.extend(entry_ref(&operation, start..end)),
        }
        start = end;
    }
    if branches && !found.edits.is_empty() {
        return Err("has an expression that uses rsp and branches".into());
    }
    Ok(found)
}

fn unreadable(error: gimli::Error) -> String {
    format!("has an expression that cannot be read: {error}")
}

/// `code` where rsp has `bias`, for expressions that stand alone (call-frame information).
pub(super) fn rewritten(code: &[u8], bias: i64) -> Result<Vec<u8>, String> {
    let encoding = Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 4 };
    let analysis = analyse(code, encoding, Role::Address, bias)?;
    Ok(apply(code, &analysis.edits))
}

/// `code` with `edits` made.
pub(super) fn apply(code: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut out = Vec::with_capacity(code.len() + 4 * edits.len());
    let mut pos = 0;
    for edit in edits {
        out.extend_from_slice(&code[pos..edit.range.start]);
        out.extend_from_slice(&edit.bytes);
        pos = edit.range.end;
    }
    out.extend_from_slice(&code[pos..]);
    out
}

fn rsp_relative(offset: i64, bias: i64) -> Vec<u8> {
    let mut bytes = vec![BREG_RSP];
    push_sleb(&mut bytes, offset - bias - i64::from(OFF));
    bytes
}

/// The entry that `operation`, at `range`, refers to.
fn entry_ref(operation: &Operation<EndianSlice<'_, LittleEndian>>, range: Range<usize>) -> Option<EntryRef> {
    match *operation {
        Operation::Call { offset: gimli::DieReference::UnitRef(UnitOffset(entry)) }
        | Operation::ParameterRef { offset: UnitOffset(entry) } => {
            // All but the opcode: DW_OP_call2 has two bytes, the others four.
            Some(EntryRef { entry, field: Some(range.start + 1..range.end) })
        }
        Operation::Deref { base_type: UnitOffset(entry), .. }
        | Operation::RegisterOffset { base_type: UnitOffset(entry), .. }
        | Operation::TypedLiteral { base_type: UnitOffset(entry), .. }
        | Operation::Convert { base_type: UnitOffset(entry) }
        | Operation::Reinterpret { base_type: UnitOffset(entry) }
            if entry != 0 =>
        {
            Some(EntryRef { entry, field: None })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENCODING: Encoding = Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 5 };

    fn edited(code: &[u8], role: Role, bias: i64) -> Result<Vec<u8>, String> {
        analyse(code, ENCODING, role, bias).map(|analysis| apply(code, &analysis.edits))
    }

    /// rsp-relative addresses lose OFF and the bias; everything else stays.
    #[test]
    fn only_rsp_changes() {
        let minus_off = [0x80, 0x80, 0x80, 0x88, 0x7c];
        let cases: [(&[u8], Role, i64, Vec<u8>); 6] = [
            (&[0x77, 0], Role::Location, 0, [&[0x77], &minus_off[..]].concat()),
            (&[0x77, 24], Role::Location, 24, [&[0x77], &minus_off[..]].concat()),
            (&[0x92, 7, 0], Role::Location, 0, [&[0x77], &minus_off[..]].concat()),
            (&[0x57], Role::Location, 0, [&[0x77], &minus_off[..], &[0x9f]].concat()),
            (&[0x57], Role::Address, 0, [&[0x77], &minus_off[..]].concat()),
            (&[0x76, 8, 0x06, 0x9c], Role::Location, 8, vec![0x76, 8, 0x06, 0x9c]),
        ];
        for (code, role, bias, wanted) in cases {
            assert_eq!(edited(code, role, bias).unwrap(), wanted, "{code:x?}");
        }
    }

    #[test]
    fn what_cannot_be_said_is_an_error() {
        let entry_value_of_rsp = [0xa3, 1, 0x57, 0x9f];
        let branch_over_rsp = [0x31, 0x28, 2, 0, 0x77, 0];
        let truncated = [0x77];
        for code in [&entry_value_of_rsp[..], &branch_over_rsp, &truncated] {
            assert!(edited(code, Role::Location, 0).is_err(), "{code:x?}");
        }
    }

    #[test]
    fn references_to_entries_are_found() {
        let code = [0x71, 0, 0xa8, 0x2d, 0x9f];
        let refs = analyse(&code, ENCODING, Role::Location, 0).unwrap().refs;
        assert_eq!(refs, [EntryRef { entry: 0x2d, field: None }]);
        let parameter = [0xfa, 0x10, 0x32, 0, 0, 0x9f];
        let refs = analyse(&parameter, ENCODING, Role::Location, 0).unwrap().refs;
        assert_eq!(refs, [EntryRef { entry: 0x3210, field: Some(1..5) }]);
        let call2 = [0x31, 0x98, 0x25, 0x9f];
        let refs = analyse(&call2, ENCODING, Role::Location, 0).unwrap().refs;
        assert_eq!(refs, [EntryRef { entry: 0x9f25, field: Some(2..4) }]);
        let value_at_entry = [0x31, 0xa3, 5, 0xa8, 0x2d, 0x98, 0x10, 0x32, 0x9f];
        let refs = analyse(&value_at_entry, ENCODING, Role::Location, 0).unwrap().refs;
        let within = EntryRef { entry: 0x3210, field: Some(6..8) };
        assert_eq!(refs, [EntryRef { entry: 0x2d, field: None }, within]);
    }
}
