//! Landing pads: places inside functions that the unwinder jumps to, found through the exception tables.
//! (Itanium C++ ABI, "Exception Handling Tables"; System V ABI, `.eh_frame`.)

use std::ops::Range;

use crate::code::CodePlace;
use crate::elf::{Object, Section};
use crate::leb128::take_uleb;

/// A landing pad, and the code whose calls end there.
struct Pad {
    place: CodePlace,
    /// Offsets in its section.
    calls: Range<u64>,
    /// The last end of its calls and of those of all pads before it.
    last: u64,
}

/// The landing pads of an object.
#[derive(Default)]
pub(crate) struct Pads {
    /// By text, ordered by the start of their calls.
    pads: Vec<Vec<Pad>>,
    /// By text, ordered: code at which there are arguments on the stack, and how many bytes.
    arguments: Vec<Vec<(Range<u64>, i32)>>,
}

impl Pads {
    /// `pads` with the code whose calls end there, `arguments` with the number of their text.
    pub(crate) fn new(
        texts: usize,
        pads: impl IntoIterator<Item = (CodePlace, Range<u64>)>,
        arguments: impl IntoIterator<Item = (usize, Range<u64>, i32)>,
    ) -> Pads {
        let mut new = Pads { pads: Vec::new(), arguments: vec![Vec::new(); texts] };
        new.pads.resize_with(texts, Vec::new);
        for (place, calls) in pads {
            new.pads[place.0].push(Pad { place, last: calls.end, calls });
        }
        for pads in &mut new.pads {
            pads.sort_by_key(|pad| (pad.calls.start, pad.calls.end, pad.place));
            for index in 1..pads.len() {
                pads[index].last = pads[index].last.max(pads[index - 1].last);
            }
        }
        for (text, code, bytes) in arguments {
            new.arguments[text].push((code, bytes));
        }
        for arguments in &mut new.arguments {
            arguments.sort_by_key(|(code, _)| code.start);
        }
        new
    }

    /// Where exceptions of a call at offset `start` of a text end, and the code whose calls end there with it.
    pub(crate) fn of_call(&self, text: usize, start: u64) -> impl Iterator<Item = (CodePlace, &Range<u64>)> {
        let pads = &self.pads[text];
        let before = &pads[..pads.partition_point(|pad| pad.calls.start <= start)];
        let reach = before.iter().rev().take_while(move |pad| pad.last > start);
        reach.filter(move |pad| pad.calls.contains(&start)).map(|pad| (pad.place, &pad.calls))
    }

    /// Bytes of arguments that are on the stack at a call, which the unwinder takes off.
    pub(crate) fn arguments(&self, text: usize, start: u64) -> i32 {
        let arguments = &self.arguments[text];
        let before = arguments.partition_point(|(code, _)| code.start <= start).checked_sub(1);
        before
            .map(|index| &arguments[index])
            .filter(|(code, _)| code.contains(&start))
            .map_or(0, |found| found.1)
    }
}

/// Every landing pad: section, offset, and the range of code, in the same section, whose calls may end there. Tables that make no sense
/// are left to the DWARF part, which refuses them.
pub(crate) fn pads(object: &Object) -> Vec<(usize, u64, Range<u64>)> {
    let mut pads = Vec::new();
    for section in object.sections.iter().filter(|section| section.name == ".eh_frame") {
        for (function, table) in areas(object, section) {
            let data = object.sections.get(table.0).map_or(&[][..], |section| &section.data);
            let Some(area) = usize::try_from(table.1).ok().and_then(|start| data.get(start..)) else {
                continue;
            };
            let landings = landings(area).unwrap_or_default();
            pads.extend(landings.into_iter().map(|(landing, calls)| {
                let at = |offset: u64| function.1.wrapping_add(offset);
                (function.0, at(landing), at(calls.start)..at(calls.end))
            }));
        }
    }
    pads
}

/// A section and an offset in it.
type Place = (usize, u64);

/// Function and exception table of each frame description that has a table: the targets of its first relocation, the
/// function's start, and of one into `.gcc_except_table`.
fn areas(object: &Object, section: &Section) -> Vec<(Place, Place)> {
    let mut areas = Vec::new();
    let mut relocs = section.relocs.iter().peekable();
    let mut at = 0u64;
    while let Some(length) = section.data.get(at as usize..at as usize + 4) {
        let length = u32::from_le_bytes(length.try_into().expect("four bytes"));
        let end = at + 4 + u64::from(length);
        let mut function = None;
        while let Some(reloc) = relocs.next_if(|reloc| reloc.offset < end) {
            let place = object.resolve(reloc.symbol, reloc.addend);
            let Some(place) = place.and_then(|(section, at)| Some((section, u64::try_from(at).ok()?))) else {
                continue;
            };
            if reloc.offset == at + 8 {
                function = Some(place);
            } else if object.sections[place.0].name.starts_with(".gcc_except_table")
                && let Some(function) = function
            {
                areas.push((function, place));
            }
        }
        if length == 0 {
            break;
        }
        at = end;
    }
    areas
}

/// The landing pads of one table with their calls, relative to the function's start.
fn landings(area: &[u8]) -> Option<Vec<(u64, Range<u64>)>> {
    const OMIT: u8 = 0xff;
    const ULEB128: u8 = 0x01;
    const UDATA4: u8 = 0x03;
    let mut rest = area;
    if byte(&mut rest)? != OMIT {
        return None;
    }
    if byte(&mut rest)? != OMIT {
        take_uleb(&mut rest).ok()?;
    }
    let encoding = byte(&mut rest)?;
    let size = usize::try_from(take_uleb(&mut rest).ok()?).ok()?;
    let mut sites = rest.get(..size)?;
    let mut landings = Vec::new();
    while !sites.is_empty() {
        let mut field = || match encoding {
            ULEB128 => take_uleb(&mut sites).ok(),
            UDATA4 => {
                let (value, rest) = sites.split_first_chunk()?;
                sites = rest;
                Some(u64::from(u32::from_le_bytes(*value)))
            }
            _ => None,
        };
        let (start, size, landing) = (field()?, field()?, field()?);
        take_uleb(&mut sites).ok()?;
        if landing != 0 {
            landings.push((landing, start..start.saturating_add(size)));
        }
    }
    Some(landings)
}

fn byte(rest: &mut &[u8]) -> Option<u8> {
    let (first, tail) = rest.split_first()?;
    *rest = tail;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables of a hostile object may overlap; each call has all the pads whose code it lies in, and no other.
    #[test]
    fn a_call_has_its_pads() {
        let ranges = [
            (10, 0..100),
            (11, 5..10),
            (12, 5..6),
            (13, 40..50),
            (14, 40..40),
            (15, 90..95),
            (16, 200..u64::MAX),
        ];
        let pads = Pads::new(1, ranges.iter().map(|(place, calls)| ((0, *place), calls.clone())), []);
        for call in (0..250).chain([u64::MAX - 1, u64::MAX]) {
            let mut found: Vec<usize> = pads.of_call(0, call).map(|(place, _)| place.1).collect();
            found.sort_unstable();
            let wanted = ranges.iter().filter(|(_, calls)| calls.contains(&call)).map(|(place, _)| *place);
            assert_eq!(found, wanted.collect::<Vec<_>>(), "{call}");
        }
    }

    #[test]
    fn arguments_count_where_they_are() {
        let pads = Pads::new(2, [], [(1, 40..50, 16), (1, 10..20, 8)]);
        let found = [9, 10, 19, 20, 45].map(|call| pads.arguments(1, call));
        assert_eq!(found, [0, 8, 8, 0, 16]);
        assert_eq!(pads.arguments(0, 10), 0);
    }
}
