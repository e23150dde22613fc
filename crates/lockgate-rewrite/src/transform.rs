//! One object: decode, rewrite each code section, then move everything that refers to the code.

use crate::code::{Code, CodePlace, is_relative};
use crate::decode::mark;
use crate::elf::{Object, reloc, sym};
use crate::emit::Layout;
use crate::error::{Error, Reason};
use crate::liveness::Liveness;
use crate::map::AddressMap;
use crate::returns_twice::{address_that_returns_twice, is_address_that_returns_twice};
use crate::rewriter::Rewriter;
use crate::{
    Options, Rewritten, Stats, across, dwarf, empty, frames, in_progress, labels, missing_tables, notices,
    replaced, starts, switch, tables,
};

/// See [`crate::rewrite_object`].
pub(crate) fn rewrite(file: &str, bytes: &[u8], options: &Options) -> Result<Rewritten, Error> {
    let (object, _, stats) = transform(file, bytes, options)?;
    Ok(Rewritten { bytes: object.write(), stats: Stats { objects: 1, ..stats } })
}

/// The rewritten object, and where its code went.
pub(crate) fn transform(
    file: &str,
    bytes: &[u8],
    options: &Options,
) -> Result<(Object, AddressMap, Stats), Error> {
    let object = Object::read(file, bytes)?;
    let instead = replaced::instead(&object);
    transform_object(file, object, options).map_err(|error| match instead {
        Some(reason) => Error { reason, ..error },
        None => error,
    })
}

fn transform_object(
    file: &str,
    mut object: Object,
    options: &Options,
) -> Result<(Object, AddressMap, Stats), Error> {
    let mut stats = Stats { replaced: replaced::replace(file, &mut object)?, ..Stats::default() };
    refuse_unsupported(file, &object)?;
    replaced::refuse_switches(file, &object)?;
    empty::fill(&mut object);
    in_progress::list(&mut object);
    missing_tables::name_sections(file, &mut object)?;
    let notices = notices::take_out(&mut object);
    let mut code = Code::read(file, &object)?;
    notices.refuse_used(file, &object, &code)?;
    let pads = code.mark_pads(file, &object)?;
    let tables = tables::find(&code, &object);
    let across = across::find(file, &mut code, &object, &tables)?;
    let mut switches = switch::recover(&mut code, &tables, &across.keepers);
    let made = labels::recover(&mut code, &mut object, &pads, &across.keepers, &tables, &mut switches);
    let mut layouts = Vec::with_capacity(code.texts.len());
    let mut map = AddressMap::new(object.sections.len());
    let mut live: Vec<Liveness> = across.keepers.into_iter().map(Liveness::new).collect();
    let input = frames::Input {
        code: &code,
        object: &object,
        tables: &tables,
        switches: &switches.by_text,
        pads: &pads,
    };
    let frames = frames::find(&input, &mut live);
    starts::refuse_unsure(file, &object, &code, &frames)?;
    let ends_in_case = code.texts_that_end_in_cases();
    let by_text = switches.by_text.into_iter().zip(live).zip(across.waits);
    for (number, ((found, live), waits)) in by_text.enumerate() {
        let text = &code.texts[number];
        let mut rewriter = Rewriter::new(file, &object, (&code, number), &frames, live, options, &mut stats);
        rewriter.switches = found;
        rewriter.scattered = switches.scattered;
        rewriter.ends_in_case = ends_in_case.contains(&number);
        rewriter.waits = waits;
        let layout = rewriter.run()?;
        stats.text_in += text.index.len() as u64 - 1;
        stats.text_out += layout.bytes.len() as u64;
        map.set(text.section, layout.map.clone());
        layouts.push(layout);
    }
    move_data_references(file, &mut object, &code, &map)?;
    labels::fill(file, &mut object, &code, &made, &map)?;
    install(file, &mut object, &code, layouts, &map)?;
    missing_tables::add(&mut object, &code, &frames);
    let symbols = object.symbols.clone();
    move_symbols(&mut object, &map);
    let debug = dwarf::rewrite(file, &mut object, &symbols, &map)?;
    stats.debug_dropped.extend(debug.dropped.map(|reason| format!("{file}: {reason}")));
    Ok((object, map, stats))
}

/// Refuses kinds of objects that cannot work, before a look at their code.
fn refuse_unsupported(file: &str, object: &Object) -> Result<(), Error> {
    let has = |name: &str| object.sections.iter().any(|section| section.name == name);
    let has_code = object.sections.iter().any(|section| section.is_code());
    let is_lto = object.sections.iter().any(|section| section.name.starts_with(".gnu.lto_"));
    if is_lto && !has_code {
        let reason = Reason::new(
            "the object holds the compiler's intermediate code only",
            "compile with -ffat-lto-objects, or, if you trust its author, link with -flto",
        );
        return Err(Error::whole(file, reason));
    }
    if let Some(symbol) = object.symbols.iter().find(|symbol| symbol.name.starts_with(b"__regcall")) {
        let what =
            format!("{} is a __regcall function: its arguments may be in r10 and r11", symbol.display_name());
        return Err(Error::whole(file, Reason::new(what, "declare it without __regcall")));
    }
    for section in object.sections.iter().filter(|section| section.is_loaded() && !dwarf::owns(section)) {
        for reloc in &section.relocs {
            let symbol = &object.symbols[reloc.symbol as usize];
            if symbol.kind == sym::IFUNC && !symbol.is_undefined() {
                let what = format!("{} is chosen at start (ifunc, target_clones)", symbol.display_name());
                let remedy = "remove the attribute, or choose where the function is called: if (__builtin_cpu_supports(\"avx2\")) ...";
                return Err(Error::at(file, &section.name, reloc.offset, Reason::new(what, remedy)));
            }
        }
    }
    for section in object.sections.iter().filter(|section| section.is_loaded() && !section.is_code()) {
        let mut relocs = section.relocs.iter();
        if let Some(reloc) = relocs.find(|reloc| is_address_that_returns_twice(object, reloc.symbol))
            && !dwarf::owns(section)
        {
            return Err(Error::at(file, &section.name, reloc.offset, address_that_returns_twice()));
        }
    }
    if has(".note.GNU-split-stack") && !has(".note.GNU-no-split-stack") {
        return Err(Error::whole(file, Reason::new("a split stack", "compile without -fsplit-stack")));
    }
    Ok(())
}

/// New addend of a relocation to `symbol` whose target was at `old` in the symbol's section.
fn new_addend(object: &Object, map: &AddressMap, number: u32, old: i64) -> Option<i64> {
    let symbol = &object.symbols[number as usize];
    let section = symbol.section()?;
    Some(map.moved(section, old)? - map.origin(object, number)?)
}

/// Relocations of data that point into code, those of switch tables included.
fn move_data_references(file: &str, object: &mut Object, code: &Code, map: &AddressMap) -> Result<(), Error> {
    for index in 0..object.sections.len() {
        let section = &object.sections[index];
        if map.section(index).is_some() || dwarf::owns(section) || section.relocs.is_empty() {
            continue;
        }
        let mut relocs = section.relocs.clone();
        for (number, entry) in relocs.iter_mut().enumerate() {
            let Some(target) = object.symbols[entry.symbol as usize].section() else { continue };
            if map.section(target).is_none() {
                continue;
            }
            let base = code.table_base(object, index, &section.relocs, number);
            let from_base = base.map_or(0, |base| (entry.offset - base) as i64);
            let old = object.symbols[entry.symbol as usize].value as i64 + entry.addend - from_base;
            let addend = new_addend(object, map, entry.symbol, old).ok_or_else(|| {
                let reason = Reason::malformed("a reference to the inside of an instruction");
                Error::at(file, &section.name, entry.offset, reason)
            })?;
            entry.addend = addend + from_base;
        }
        object.sections[index].relocs = relocs;
    }
    Ok(())
}

/// Puts the new code in place of the old.
fn install(
    file: &str,
    object: &mut Object,
    code: &Code,
    layouts: Vec<Layout>,
    map: &AddressMap,
) -> Result<(), Error> {
    for (text, layout) in code.texts.iter().zip(layouts) {
        let mut relocs = Vec::with_capacity(layout.relocs.len());
        for entry in &layout.relocs {
            let mut addend = entry.addend;
            if let Some((section, old)) = object.resolve(entry.symbol, entry.addend + entry.to_end)
                && map.section(section).is_some()
            {
                let refuse = |what: String| {
                    let name = &object.sections[text.section].name;
                    Error::at(file, name, u64::from(entry.offset), Reason::malformed(what))
                };
                // Absolute ones are refused before; what is left is thread-local, and no code.
                if !is_relative(entry.kind) {
                    return Err(refuse(format!("a relocation of type {} to code", entry.kind)));
                }
                // Branches to the inside of a function pass by its label, which opens the frame for those that come without.
                let body = map.section(section).filter(|_| is_branch_inside(code, entry.kind, section, old));
                let moved = match body {
                    Some(map) => {
                        u64::try_from(old).ok().and_then(|old| map.body(old)).map(|body| body as i64)
                    }
                    None => map.moved(section, old),
                };
                let moved = moved.and_then(|moved| Some(moved - map.origin(object, entry.symbol)?));
                addend = moved.ok_or_else(|| refuse("a reference to the inside of an instruction".into()))?
                    - entry.to_end;
            }
            relocs.push(crate::elf::Reloc {
                offset: u64::from(entry.offset),
                symbol: entry.symbol,
                kind: entry.kind,
                addend,
            });
        }
        relocs.sort_by_key(|entry| entry.offset);
        if !relocs.is_empty() {
            object.ensure_reloc_section(text.section);
        }
        let section = &mut object.sections[text.section];
        section.data = layout.bytes;
        section.relocs = relocs;
    }
    Ok(())
}

/// Whether a relocation is of a branch that goes to a label inside a function.
fn is_branch_inside(code: &Code, kind: u32, section: usize, old: i64) -> bool {
    let place = || code.place(section, old).ok().flatten();
    let is_inside = |&place: &CodePlace| code.has(place, mark::ENTRY) && !code.has(place, mark::FUNCTION);
    kind == reloc::PLT32 && place().filter(is_inside).is_some()
}

fn move_symbols(object: &mut Object, map: &AddressMap) {
    for symbol in &mut object.symbols {
        let Some(map) = symbol.section().and_then(|section| map.section(section)) else { continue };
        if symbol.kind == sym::SECTION {
            continue;
        }
        let Some(start) = map.start(symbol.value) else { continue };
        let end = map.end(symbol.value + symbol.size).unwrap_or(start);
        if symbol.size > 0 {
            symbol.size = end.saturating_sub(start);
        }
        symbol.value = start;
    }
}
