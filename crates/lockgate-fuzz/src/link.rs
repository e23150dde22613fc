//! A linker for one object: the image that the verifier judges.
//!
//! Code first, then constants, then data. What the object does not define lies at the code's first byte, which is a function.

use lockgate_abi::PAGE;
use lockgate_abi::code::UD2;
use lockgate_evidence::text;
use lockgate_verify::{Module, Segment, SegmentKind, State};
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionKind};
use std::collections::BTreeMap;

/// An object in its place.
pub struct Linked {
    /// The module.
    pub module: Module,
    /// Addresses of the fields that relocations filled: what is there is the input's own wish.
    pub fields: Vec<u64>,
}

/// Larger images are not linked.
const LARGEST: u64 = 1 << 20;
/// What an undefined symbol is: a function that returns.
const UNDEFINED: [u8; 5] = [0xf3, 0x0f, 0x1e, 0xfa, 0xc3];

/// Links `object`. `None` if it has no code, or more of anything than an image has room for.
///
/// # Panics
/// It is not readable.
#[must_use]
pub fn link(object: &[u8]) -> Option<Linked> {
    let file = object::File::parse(object).unwrap_or_else(|error| panic!("not an object any more: {error}"));
    let mut places = BTreeMap::new();
    let mut segments: Vec<Segment> = Vec::new();
    let mut address = 0;
    for kind in [SegmentKind::Code, SegmentKind::Constants, SegmentKind::Data] {
        let mut bytes = if kind == SegmentKind::Code { UNDEFINED.to_vec() } else { vec![0] };
        for section in file.sections().filter(|section| kind_of(section) == Some(kind)) {
            let align = section.align().clamp(1, PAGE).next_power_of_two();
            let start = (bytes.len() as u64).next_multiple_of(align);
            if start.checked_add(section.size())? > LARGEST {
                return None;
            }
            bytes.resize(start as usize, 0xcc);
            places.insert(section.index().0, address + start);
            match section.data().expect("contents inside the file") {
                [] => bytes.resize((start + section.size()) as usize, 0),
                data => bytes.extend_from_slice(data),
            }
        }
        let end = bytes.len();
        // The last page ends with a trap, behind whatever a section or its alignment leaves.
        bytes.resize(((end + UD2.len()) as u64).next_multiple_of(PAGE) as usize, 0);
        if kind == SegmentKind::Code {
            pad(&mut bytes[end..]);
        }
        let size = bytes.len() as u64;
        segments.push(Segment { kind, address, size, bytes });
        address += size;
    }
    let mut fields = Vec::new();
    for section in file.sections() {
        let Some(&place) = places.get(&section.index().0) else { continue };
        for (at, relocation) in section.relocations() {
            let RelocationTarget::Symbol(index) = relocation.target() else { continue };
            let Ok(symbol) = file.symbol_by_index(index) else { continue };
            let base = symbol.section_index().and_then(|index| places.get(&index.0)).copied();
            let value = base.map_or(0, |base| base.wrapping_add(symbol.address()));
            let at = place.wrapping_add(at);
            let distance = value.wrapping_add_signed(relocation.addend()).wrapping_sub(at);
            let segment = segments.iter_mut().rev().find(|segment| segment.address <= at)?;
            let offset = (at - segment.address) as usize;
            if relocation.size() == 32
                && let Some(field) = segment.bytes.get_mut(offset..offset + 4)
            {
                field.copy_from_slice(&(distance as u32).to_le_bytes());
            }
            fields.push(at);
        }
    }
    let states = states(&segments);
    Some(Linked { module: Module { states, ..text::module(segments, address, 0) }, fields })
}

/// Fills what follows code up to the end of its page: traps, as far as an instruction may reach that is cut off, then few and long
/// instructions (the verifier reads all of them, for each input), and the trap that ends a way.
pub fn pad(rest: &mut [u8]) {
    const LONGEST: usize = 15;
    /// `movabs $0,%rax`
    const MOVE: [u8; 10] = [0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0];
    rest.fill(0xcc);
    let end = rest.len().saturating_sub(UD2.len()).max(LONGEST);
    if let Some(moves) = rest.get_mut(LONGEST..end) {
        moves.chunks_exact_mut(MOVE.len()).for_each(|place| place.copy_from_slice(&MOVE));
    }
    if let Some(end) = rest.last_chunk_mut() {
        *end = UD2;
    }
}

fn kind_of(section: &object::Section<'_, '_>) -> Option<SegmentKind> {
    match section.kind() {
        SectionKind::Text => Some(SegmentKind::Code),
        SectionKind::ReadOnlyData | SectionKind::ReadOnlyString | SectionKind::ReadOnlyDataWithRel => {
            Some(SegmentKind::Constants)
        }
        SectionKind::Data | SectionKind::UninitializedData => Some(SegmentKind::Data),
        _ => None,
    }
}

/// What the note says of the code's regions, as the build side would write it.
fn states(segments: &[Segment]) -> Vec<(u64, State)> {
    let word = |address: u64| {
        let segment = segments.iter().rev().find(|segment| segment.address <= address)?;
        let at = (address - segment.address) as usize;
        Some(i32::from_le_bytes(segment.bytes.get(at..at + 4)?.try_into().ok()?))
    };
    let note = lockgate_rewrite::states(&segments[0].bytes, word);
    let mut numbers = note
        .split_inclusive(|byte| byte & 0x80 == 0)
        .map(|number| number.iter().rev().fold(0, |value: u64, byte| value << 7 | u64::from(byte & 0x7f)));
    let (mut states, mut address) = (Vec::new(), 0);
    while let (Some(distance), Some(tag)) = (numbers.next(), numbers.next()) {
        address += distance;
        let first = (tag / 2 * 8) as u32;
        let state = match tag % 2 {
            0 => State::S { o: first },
            _ => State::C { b: first, d: (numbers.next().unwrap_or_default() * 8) as u32 },
        };
        states.push((address, state));
    }
    states
}
