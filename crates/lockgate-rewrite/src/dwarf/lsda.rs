//! `.gcc_except_table`: the call-site tables of functions that catch or clean up, re-emitted for moved code.
//! (Itanium C++ ABI, "Exception Handling Tables"; the layout is that of gcc's `except.cc`.)

use super::bytes::Cursor;
use super::frame::LsdaRef;
use super::splice::{Splice, Spliced};
use super::{Context, Malformed, Section, Stats};
use crate::leb128::push_uleb;

const OMIT: u8 = 0xff;
const ULEB128: u8 = 0x01;
const UDATA4: u8 = 0x03;

/// Re-emits a section of language-specific data areas; `areas` are those that FDEs name, in any order.
pub(super) fn rewrite(
    section: &Section<'_>,
    areas: &[LsdaRef],
    context: &Context<'_>,
    stats: &mut Stats,
) -> Result<Spliced, Malformed> {
    let mut areas: Vec<&LsdaRef> = areas.iter().filter(|area| area.at.0 == section.index).collect();
    areas.sort_by_key(|area| area.at.1);
    areas.dedup();
    let mut splice = Splice::new(section);
    for area in areas {
        rewrite_area(section, area, context, &mut splice, stats)?;
    }
    splice.finish()
}

/// Re-emits the header and the call sites of one area; its action and type tables, which name no code, are
/// copied with what follows.
fn rewrite_area(
    section: &Section<'_>,
    area: &LsdaRef,
    context: &Context<'_>,
    splice: &mut Splice<'_>,
    stats: &mut Stats,
) -> Result<(), Malformed> {
    let at = area.at.1 as usize;
    let (code_section, function) = area.function;
    let map =
        context.code(code_section).ok_or_else(|| Malformed::at(at, "describes bytes that are not code"))?;
    let off_boundary = |old: u64| {
        Malformed::at(at, format!("has a call site inside the instruction at {old:#x} of its code"))
    };

    let mut cursor = Cursor::new(section.data, at, section.data.len())?;
    if cursor.u8()? != OMIT {
        return Err(Malformed::at(at, "has a base for landing pads"));
    }
    let types_encoding = cursor.u8()?;
    let header_end = cursor.pos();
    let types = match types_encoding {
        OMIT => None,
        _ => Some(cursor.uleb()?.saturating_add(cursor.pos() as u64)),
    };
    let encoding = cursor.u8()?;
    let sites_len = cursor.uleb()? as usize;
    let sites_start = cursor.pos();
    cursor.take(sites_len)?;
    let sites_end = cursor.pos();

    let new_function = map.start(function).ok_or_else(|| off_boundary(function))?;
    let mut sites = Cursor::new(section.data, sites_start, sites_end)?;
    let mut new_sites = Vec::new();
    while !sites.at_end() {
        let mut field = || match encoding {
            ULEB128 => sites.uleb(),
            UDATA4 => sites.uint(4),
            _ => Err(Malformed::at(at, "has an unknown encoding of call sites")),
        };
        let (start, len, landing) = (field()?, field()?, field()?);
        let action = sites.uleb()?;
        let start = function.wrapping_add(start);
        let end = start.wrapping_add(len);
        let new_start = map.start(start).ok_or_else(|| off_boundary(start))?;
        let new_end = map.end(end).ok_or_else(|| off_boundary(end))?;
        let new_landing = match landing {
            0 => 0,
            _ => {
                let landing = function.wrapping_add(landing);
                map.start(landing).ok_or_else(|| off_boundary(landing))? - new_function
            }
        };
        for value in [new_start - new_function, new_end.saturating_sub(new_start), new_landing, action] {
            push_uleb(&mut new_sites, value);
        }
        stats.call_sites += 1;
    }

    splice.copy_to(header_end)?;
    let mut table = vec![ULEB128];
    push_uleb(&mut table, new_sites.len() as u64);
    table.extend(new_sites);
    let mut head = Vec::new();
    if let Some(types) = types {
        // The distance counts from the end of its own field to the end of the type table.
        let tail = types.checked_sub(sites_end as u64);
        let tail = tail.ok_or_else(|| Malformed::at(at, "has its type table before its call sites"))?;
        push_uleb(&mut head, table.len() as u64 + tail);
    }
    head.extend(table);
    splice.replace_to(sites_end, &head)
}
