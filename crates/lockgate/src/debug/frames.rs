//! How the frames of a module's functions lie on its stacks, from its call-frame information (`.eh_frame`).
//!
//! The bytes come from the module, so they may be hostile: rule R21. Of all that call-frame information can say, only
//! "this register, plus this number" and "saved there" are read; expressions are not evaluated, and what comes out is a
//! proposal that a backtrace checks (`backtrace.rs`). Descriptions longer than [`MAX_DESCRIPTION`] are left alone, so that
//! no look-up takes long.
use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, EhFrameOffset, LittleEndian, RegisterRule, UnwindContext,
    UnwindSection,
};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::elf;

/// Registers that frames have rules for: the sixteen general ones, by their DWARF numbers.
pub(super) const REGISTERS: usize = 16;
/// DWARF numbers.
pub(super) const RBX: usize = 3;
pub(super) const RBP: usize = 6;
pub(super) const RSP: usize = 7;
const RETURN_ADDRESS: u16 = 16;
/// Longest description of a function that is read, bytes.
const MAX_DESCRIPTION: usize = 64 << 10;

/// Where the code of a module has descriptions.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// By start: start, end, offset in the section.
    described: Vec<(u64, u64, usize)>,
}

/// A frame at one instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rules {
    /// The canonical frame address: a register, and what to add.
    pub(super) frame: (usize, i64),
    /// Where the return address lies, from the canonical frame address.
    pub(super) returns: i64,
    /// Registers of the caller.
    pub(super) caller: [Rule; REGISTERS],
}

/// What is known of one of the caller's registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    Unknown,
    Same,
    /// It is the canonical frame address plus this.
    Is(i64),
    /// It was saved there, from the canonical frame address.
    Saved(i64),
}

impl Frames {
    /// Finds the descriptions of the module in `elf`. What is malformed is left out.
    pub(crate) fn read(elf: &[u8]) -> Frames {
        // The reader is written not to panic; a report must not depend on it.
        catch_unwind(AssertUnwindSafe(|| index(elf))).ok().flatten().unwrap_or_default()
    }

    /// The frame of a function at `address`, relative to the image's start. `elf` is the file that was read.
    pub(crate) fn at(&self, elf: &[u8], address: u64) -> Option<Rules> {
        let after = self.described.partition_point(|(start, _, _)| *start <= address);
        let &(_, end, offset) = self.described.get(after.checked_sub(1)?)?;
        if address >= end {
            return None;
        }
        catch_unwind(AssertUnwindSafe(|| rules(elf, offset, address))).ok().flatten()
    }
}

fn table(elf: &[u8]) -> Option<(EhFrame<gimli::EndianSlice<'_, LittleEndian>>, BaseAddresses)> {
    let (address, bytes) = elf::loaded_section(elf, ".eh_frame")?;
    Some((EhFrame::new(bytes, LittleEndian), BaseAddresses::default().set_eh_frame(address)))
}

fn index(elf: &[u8]) -> Option<Frames> {
    let (table, bases) = table(elf)?;
    let mut described = Vec::new();
    // Common entries are read once: many descriptions may refer to a long one.
    let mut common = HashMap::new();
    let mut entries = table.entries(&bases);
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let fde = partial.parse(|table, bases, at| {
            common.entry(at.0).or_insert_with(|| table.cie_from_offset(bases, at)).clone()
        });
        let Ok(fde) = fde else { continue };
        if fde.entry_len() <= MAX_DESCRIPTION && fde.cie().entry_len() <= MAX_DESCRIPTION {
            let (start, length) = (fde.initial_address(), fde.len());
            described.push((start, start.saturating_add(length), fde.offset()));
        }
    }
    described.sort_unstable();
    Some(Frames { described })
}

fn rules(elf: &[u8], offset: usize, address: u64) -> Option<Rules> {
    let (table, bases) = table(elf)?;
    let fde = table.fde_from_offset(&bases, EhFrameOffset(offset), EhFrame::cie_from_offset).ok()?;
    let mut context = UnwindContext::new();
    let row = fde.unwind_info_for_address(&table, &bases, &mut context, address).ok()?;
    let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() else { return None };
    let Some(RegisterRule::Offset(returns)) = row.register(gimli::Register(RETURN_ADDRESS)) else {
        return None;
    };
    let caller = std::array::from_fn(|number| match row.register(gimli::Register(number as u16)) {
        Some(RegisterRule::Offset(at)) => Rule::Saved(at),
        Some(RegisterRule::ValOffset(value)) => Rule::Is(value),
        Some(RegisterRule::SameValue) => Rule::Same,
        // What calls preserve, if nothing is said (System V ABI for x86-64, 3.2.1): rbx, rbp, r12 to r15.
        None if matches!(number, RBX | RBP | 12..=15) => Rule::Same,
        _ => Rule::Unknown,
    });
    let register = usize::from(register.0);
    (register < REGISTERS).then_some(Rules { frame: (register, offset), returns, caller })
}
