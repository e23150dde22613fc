//! `.eh_frame` and `.debug_frame`: call-frame information re-emitted for moved code.

use std::collections::HashMap;
use std::ops::Range;

use super::bytes::Cursor;
use super::cfi::{self, DATA_ALIGN, Factors, Row};
use super::splice::{Splice, Spliced};
use super::{Context, Malformed, Section, Stats};
use crate::leb128::{push_sleb, push_uleb};
use crate::map::SectionMap;

/// DW_EH_PE_omit: no pointer.
const OMIT: u8 = 0xff;

/// Which of the two formats a section has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// `.eh_frame` (Linux Standard Base Core, chapter 10.6).
    Eh,
    /// `.debug_frame` (DWARF 5 §6.4.1).
    Debug,
}

/// A function's language-specific data area (the call-site table of exceptions), as its FDE names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LsdaRef {
    /// Section and offset of the area.
    pub(super) at: (usize, u64),
    /// Section and offset of the function's first byte.
    pub(super) function: (usize, u64),
}

/// A common information entry.
#[derive(Debug)]
struct Cie {
    factors: Factors,
    /// Offset of the code alignment factor, and of one past the data alignment factor.
    factors_at: Range<usize>,
    /// Offset of the first instruction.
    code: usize,
    /// Encoding of the FDEs' `pc_begin`.
    pointer: u8,
    /// Encoding of the FDEs' pointer to the language-specific data, or [`OMIT`].
    lsda: u8,
    /// FDEs carry augmentation data.
    augmented: bool,
    signal_frame: bool,
    row: Row,
}

/// A frame description entry.
#[derive(Debug)]
struct Fde {
    /// Section and offset of the first byte of code covered.
    start: (usize, u64),
    /// Bytes of code covered.
    len: u64,
    /// Offset and size of the field that holds `len`.
    len_at: Range<usize>,
    lsda: Option<LsdaRef>,
    /// Offset of the first instruction.
    code: usize,
}

/// An entry of the section, its length field included.
struct Entry {
    range: Range<usize>,
    id: Id,
}

enum Id {
    Terminator,
    Cie,
    /// Offset of its CIE.
    Fde(usize),
}

/// Offset of an entry's fields after length and identifier.
const BODY: usize = 8;

/// Re-emits a section of call-frame information.
pub(super) fn rewrite(
    section: &Section<'_>,
    format: Format,
    context: &Context<'_>,
    stats: &mut Stats,
) -> Result<Spliced, Malformed> {
    let mut splice = Splice::new(section);
    let mut cies = HashMap::new();
    for Entry { range, id } in entries(section, format, context)? {
        match id {
            Id::Terminator => splice.copy_to(range.end)?,
            Id::Cie => {
                let cie = read_cie(section, format, &range)?;
                let new_offset = splice.new_pos();
                let new_row = rewrite_cie(section, &cie, &range, &mut splice)?;
                cies.insert(range.start, (cie, new_offset, new_row));
            }
            Id::Fde(cie) => {
                let (cie, new_cie, new_row) =
                    cies.get(&cie).ok_or_else(|| Malformed::at(range.start, "names no CIE before it"))?;
                if cie.signal_frame {
                    // It describes a frame that a signal makes; none is ever on a domain's stack.
                    splice.replace_to(range.end, &[])?;
                    stats.signal_frames += 1;
                    continue;
                }
                let fde = read_fde(section, format, &range, cie, context)?;
                let new_offset = splice.new_pos();
                rewrite_fde(section, &range, cie, new_row, &fde, context, &mut splice)?;
                if format == Format::Eh {
                    let distance = (new_offset + 4 - new_cie) as u32;
                    splice.patch(new_offset + 4, &distance.to_le_bytes());
                }
                stats.frames += 1;
            }
        }
    }
    splice.finish()
}

/// The language-specific data areas that the FDEs of an `.eh_frame` refer to.
pub(super) fn lsdas(section: &Section<'_>, context: &Context<'_>) -> Result<Vec<LsdaRef>, Malformed> {
    let mut cies = HashMap::new();
    let mut found = Vec::new();
    for Entry { range, id } in entries(section, Format::Eh, context)? {
        match id {
            Id::Terminator => {}
            Id::Cie => {
                cies.insert(range.start, read_cie(section, Format::Eh, &range)?);
            }
            Id::Fde(cie) => {
                let cie =
                    cies.get(&cie).ok_or_else(|| Malformed::at(range.start, "names no CIE before it"))?;
                if cie.lsda != OMIT {
                    found.extend(read_fde(section, Format::Eh, &range, cie, context)?.lsda);
                }
            }
        }
    }
    Ok(found)
}

/// See [`super::arguments`].
pub(super) fn arguments(
    section: &Section<'_>,
    context: &Context<'_>,
) -> Result<Vec<(usize, Range<u64>, i32)>, Malformed> {
    let mut cies = HashMap::new();
    let mut found = Vec::new();
    for Entry { range, id } in entries(section, Format::Eh, context)? {
        let Id::Fde(cie) = id else {
            if matches!(id, Id::Cie) {
                cies.insert(range.start, read_cie(section, Format::Eh, &range)?);
            }
            continue;
        };
        let Some(cie) = cies.get(&cie).filter(|cie| cie.lsda != OMIT) else { continue };
        let fde = read_fde(section, Format::Eh, &range, cie, context)?;
        let mut cursor = Cursor::new(section.data, fde.code, range.end)?;
        let rows = cfi::rows(&mut cursor, cie.factors, Some(&cie.row))?;
        let ends = rows.iter().skip(1).map(|row| row.0).chain([fde.len]);
        for ((from, row), to) in rows.iter().zip(ends) {
            let bytes = i32::try_from(row.arguments()).unwrap_or(0);
            if bytes != 0 {
                let at = |offset: u64| fde.start.1.wrapping_add(offset);
                found.push((fde.start.0, at(*from)..at(to), bytes));
            }
        }
    }
    Ok(found)
}

/// See [`super::frames`].
pub(super) fn frames(
    section: &Section<'_>,
    format: Format,
    context: &Context<'_>,
) -> Result<Vec<super::Frame>, Malformed> {
    let mut cies = HashMap::new();
    let mut found = Vec::new();
    for Entry { range, id } in entries(section, format, context)? {
        let Id::Fde(cie) = id else {
            if matches!(id, Id::Cie) {
                cies.insert(range.start, read_cie(section, format, &range)?);
            }
            continue;
        };
        let Some(cie) = cies.get(&cie).filter(|cie| !cie.signal_frame) else { continue };
        let Ok(fde) = read_fde(section, format, &range, cie, context) else { continue };
        let mut cursor = Cursor::new(section.data, fde.code, range.end)?;
        let rows = cfi::rows(&mut cursor, cie.factors, Some(&cie.row))?;
        let first = rows.first().map(|row| &row.1);
        let (is_entry, depth) = (first.is_some_and(cfi::Row::is_entry), first.and_then(cfi::Row::depth));
        found.push(super::Frame { start: fde.start, len: fde.len, is_entry, depth });
    }
    Ok(found)
}

fn entries(section: &Section<'_>, format: Format, context: &Context<'_>) -> Result<Vec<Entry>, Malformed> {
    let mut entries = Vec::new();
    let mut pos = 0;
    while pos < section.data.len() {
        let mut cursor = Cursor::new(section.data, pos, section.data.len())?;
        let end = cursor.unit_end()?;
        let id = if end == pos + 4 {
            Id::Terminator
        } else {
            let field = cursor.pos();
            let value = cursor.u32()?;
            match (format, value) {
                (Format::Eh, 0) | (Format::Debug, 0xffff_ffff) => Id::Cie,
                (Format::Eh, distance) => Id::Fde(field.wrapping_sub(distance as usize)),
                (Format::Debug, offset) => match section.reloc_at(field) {
                    Some(reloc) => Id::Fde(context.target(reloc).map_or(usize::MAX, |(_, at)| at as usize)),
                    None => Id::Fde(offset as usize),
                },
            }
        };
        entries.push(Entry { range: pos..end, id });
        pos = end;
    }
    Ok(entries)
}

fn read_cie(section: &Section<'_>, format: Format, range: &Range<usize>) -> Result<Cie, Malformed> {
    let at = |reason: &'static str| Malformed::at(range.start, reason);
    let mut cursor = Cursor::new(section.data, range.start + BODY, range.end)?;
    let version = cursor.u8()?;
    let augmentation = cursor.cstr()?;
    match (format, version) {
        (_, 1 | 3) => {}
        (Format::Debug, 4) if cursor.u8()? == 8 && cursor.u8()? == 0 => {}
        _ => return Err(at("has an unknown version of the call-frame format")),
    }
    let factors_start = cursor.pos();
    let factors = Factors { code: cursor.uleb()?, data: cursor.sleb()? };
    let factors_at = factors_start..cursor.pos();
    let return_address = if version == 1 { u64::from(cursor.u8()?) } else { cursor.uleb()? };
    if return_address != 16 {
        return Err(at("returns through a register that is not rip"));
    }
    let absolute = 0x00;
    let (mut pointer, mut lsda, mut signal_frame) = (absolute, OMIT, false);
    let augmented = augmentation.first() == Some(&b'z');
    if augmented {
        let len = cursor.uleb()?;
        let end = cursor.pos().saturating_add(len as usize);
        for letter in &augmentation[1..] {
            match letter {
                b'R' => pointer = cursor.u8()?,
                b'L' => lsda = cursor.u8()?,
                b'P' => {
                    let encoding = cursor.u8()?;
                    cursor
                        .take(pointer_size(encoding).ok_or_else(|| at("has an unknown pointer encoding"))?)?;
                }
                b'S' => signal_frame = true,
                _ => return Err(at("has an unknown augmentation")),
            }
        }
        if cursor.pos() != end {
            return Err(at("has augmentation data of an unexpected size"));
        }
    } else if !augmentation.is_empty() {
        return Err(at("has an unknown augmentation"));
    }
    let code = cursor.pos();
    let mut rows = cfi::rows(&mut cursor, factors, None)?;
    let (0, Some((0, row))) = (rows.len() - 1, rows.pop()) else {
        return Err(at("advances in its initial instructions"));
    };
    Ok(Cie { factors, factors_at, code, pointer, lsda, augmented, signal_frame, row })
}

fn rewrite_cie(
    section: &Section<'_>,
    cie: &Cie,
    range: &Range<usize>,
    splice: &mut Splice<'_>,
) -> Result<Row, Malformed> {
    let refused = |reason| Malformed::at(range.start, reason);
    let new_offset = splice.new_pos();
    splice.copy_to(cie.factors_at.start)?;
    let mut factors = Vec::new();
    push_uleb(&mut factors, 1);
    push_sleb(&mut factors, DATA_ALIGN);
    splice.replace_to(cie.factors_at.end, &factors)?;
    splice.copy_to(cie.code)?;
    forbid_relocs(section, cie.code..range.end)?;
    let row = cie.row.rewritten(0).map_err(refused)?;
    let mut code = Vec::new();
    row.emit(None, None, &mut code).map_err(refused)?;
    splice.replace_to(range.end, &code)?;
    end_entry(new_offset, splice);
    Ok(row)
}

fn read_fde(
    section: &Section<'_>,
    format: Format,
    range: &Range<usize>,
    cie: &Cie,
    context: &Context<'_>,
) -> Result<Fde, Malformed> {
    let at = |reason: &'static str| Malformed::at(range.start, reason);
    let size = match format {
        Format::Eh => pointer_size(cie.pointer).ok_or_else(|| at("has an unknown pointer encoding"))?,
        Format::Debug => 8,
    };
    let begin = range.start + BODY;
    let reloc = section.reloc_at(begin).ok_or_else(|| at("has no relocation for its first address"))?;
    let start = context.target(reloc).ok_or_else(|| at("describes code that is not in this file"))?;
    let len_at = begin + size..begin + 2 * size;
    let mut cursor = Cursor::new(section.data, len_at.start, range.end)?;
    let len = cursor.uint(size)?;
    let mut lsda = None;
    if cie.augmented {
        let len = cursor.uleb()? as usize;
        let data = cursor.pos();
        cursor.take(len)?;
        if cie.lsda != OMIT {
            lsda = section.reloc_at(data).and_then(|reloc| context.target(reloc));
        }
    }
    let lsda = lsda.map(|at| LsdaRef { at, function: start });
    Ok(Fde { start, len, len_at, lsda, code: cursor.pos() })
}

fn rewrite_fde(
    section: &Section<'_>,
    range: &Range<usize>,
    cie: &Cie,
    initial: &Row,
    fde: &Fde,
    context: &Context<'_>,
    splice: &mut Splice<'_>,
) -> Result<(), Malformed> {
    let refused = |reason: String| Malformed::at(range.start, reason);
    let (code_section, old_start) = fde.start;
    let map =
        context.code(code_section).ok_or_else(|| refused("describes bytes that are not code".into()))?;
    let off_boundary =
        |at: u64| refused(format!("has a boundary inside the instruction at {at:#x} of its code"));
    let start = map.start(old_start).ok_or_else(|| off_boundary(old_start))?;
    let old_end = old_start.wrapping_add(fde.len);
    let end = map.end(old_end).ok_or_else(|| off_boundary(old_end))?;

    let new_offset = splice.new_pos();
    splice.copy_to(fde.len_at.start)?;
    splice.replace_to(fde.len_at.end, &(end - start).to_le_bytes()[..fde.len_at.len()])?;
    splice.copy_to(fde.code)?;
    forbid_relocs(section, fde.code..range.end)?;

    let mut cursor = Cursor::new(section.data, fde.code, range.end)?;
    let mut rows = Vec::new();
    for (offset, row) in cfi::rows(&mut cursor, cie.factors, Some(&cie.row))? {
        let old = old_start.wrapping_add(offset);
        // A row holds as soon as the instruction before it is complete.
        let new = if offset == 0 { Some(start) } else { map.end(old) };
        rows.push((new.ok_or_else(|| off_boundary(old))?, row));
    }
    let code = emit_rows(&rows, map, start, end, initial).map_err(refused)?;
    splice.replace_to(range.end, &code)?;
    end_entry(new_offset, splice);
    Ok(())
}

/// The program of an FDE: a row wherever the original has one or where the bias of rsp changes.
fn emit_rows(
    rows: &[(u64, Row)],
    map: &SectionMap,
    start: u64,
    end: u64,
    initial: &Row,
) -> Result<Vec<u8>, String> {
    let biases = map.biases();
    let mut outliers = map.outliers();
    outliers = &outliers[outliers.partition_point(|outlier| u64::from(outlier.end) <= start)..];
    let mut next_bias = biases.partition_point(|&(at, _)| u64::from(at) <= start);
    let mut bias = map.bias_at(start);
    let mut next_row = 0;
    let mut row = &rows[0].1;
    let mut code = Vec::new();
    let mut previous = initial.clone();
    let mut located = start;
    let mut at = start;
    loop {
        while let Some((_, next)) = rows.get(next_row).filter(|&&(from, _)| from <= at) {
            row = next;
            next_row += 1;
        }
        while let Some(&(_, next)) = biases.get(next_bias).filter(|&&(from, _)| u64::from(from) <= at) {
            bias = next;
            next_bias += 1;
        }
        outliers = &outliers[outliers.partition_point(|outlier| u64::from(outlier.end) <= at)..];
        let outlier = outliers.first().filter(|outlier| u64::from(outlier.start) <= at);
        let new = match outlier {
            // As where it belongs to.
            Some(outlier) => row_at(rows, map, outlier.owner.into()).rewritten(0)?,
            None => row.rewritten(bias.into())?,
        };
        if new != previous {
            cfi::emit_advance(at - located, &mut code);
            located = at;
            new.emit(Some(&previous), Some(initial), &mut code)?;
            previous = new;
        }
        let next_row = rows.get(next_row).map(|row| row.0);
        let next_bias = biases.get(next_bias).map(|bias| u64::from(bias.0));
        let edges = outliers.iter().take(1).flat_map(|outlier| [outlier.start.into(), outlier.end.into()]);
        match edges.chain(next_row).chain(next_bias).filter(|&next| next > at).min() {
            Some(next) if next < end => at = next,
            _ => return Ok(code),
        }
    }
}

/// The row that holds at the instruction at old offset `old`.
fn row_at<'a>(rows: &'a [(u64, Row)], map: &SectionMap, old: u64) -> &'a Row {
    let at = map.start(old).unwrap_or_default();
    let after = rows.partition_point(|&(from, _)| from <= at);
    &rows[after.saturating_sub(1)].1
}

/// Pads the entry at `new_offset` to a multiple of 8 bytes with DW_CFA_nop and sets its length.
fn end_entry(new_offset: usize, splice: &mut Splice<'_>) {
    let len = splice.new_pos() - new_offset;
    splice.insert(&[0; 7][..len.next_multiple_of(8) - len]);
    splice.patch_length(new_offset);
}

fn forbid_relocs(section: &Section<'_>, range: Range<usize>) -> Result<(), Malformed> {
    let first = section.relocs.partition_point(|r| r.offset < range.start as u64);
    match section.relocs.get(first).filter(|r| r.offset < range.end as u64) {
        Some(reloc) => {
            Err(Malformed::at(reloc.offset as usize, "has a relocation in call-frame instructions"))
        }
        None => Ok(()),
    }
}

/// Size of a pointer by its DW_EH_PE encoding; variable-length and aligned ones are not used on x86-64.
fn pointer_size(encoding: u8) -> Option<usize> {
    match encoding & 0x7f {
        0x50 => None,
        encoding => match encoding & 0x0f {
            0x00 | 0x04 | 0x0c => Some(8),
            0x03 | 0x0b => Some(4),
            0x02 | 0x0a => Some(2),
            _ => None,
        },
    }
}
