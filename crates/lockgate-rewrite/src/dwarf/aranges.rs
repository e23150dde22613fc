//! `.debug_aranges` (DWARF 5 §6.1.2): the lengths of address ranges, changed in place.

use super::bytes::Cursor;
use super::splice::{Splice, Spliced};
use super::{Context, Edge, Malformed, Section};

/// Re-emits a section of address ranges.
pub(super) fn rewrite(section: &Section<'_>, context: &Context<'_>) -> Result<Spliced, Malformed> {
    let mut splice = Splice::new(section);
    let mut pos = 0;
    while pos < section.data.len() {
        let mut cursor = Cursor::new(section.data, pos, section.data.len())?;
        let end = cursor.unit_end()?;
        cursor.take(6)?;
        if (cursor.u8()?, cursor.u8()?) != (8, 0) {
            return Err(Malformed::at(pos, "has addresses that are not 8 bytes"));
        }
        // Tuples start at a multiple of their own size from the start of the set.
        let header = cursor.pos() - pos;
        cursor.take(header.next_multiple_of(16) - header)?;
        while cursor.pos() < end {
            let at = cursor.pos();
            let (_, len) = (cursor.uint(8)?, cursor.uint(8)?);
            let Some(target) = section.reloc_at(at).and_then(|reloc| context.target(reloc)) else { continue };
            if let Some((start, end)) = context.range(at, target, len, Edge::Entry)? {
                splice.copy_to(at + 8)?;
                splice.replace_to(at + 16, &(end - start).to_le_bytes())?;
            }
        }
        pos = end;
    }
    splice.finish()
}
