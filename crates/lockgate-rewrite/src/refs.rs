//! Who refers to which instruction: targets of branches, functions, labels whose address is taken, and the
//! tables of switches.

use std::collections::{BTreeMap, HashSet};

use iced_x86::{FlowControl, Mnemonic};

use crate::code::{Bases, Code, CodePlace, Form, Key, Table, is_relative};
use crate::decode::{Text, data_in_text, mark};
use crate::dwarf;
use crate::elf::{Object, Reloc, Symbol, reloc, shf, sym};
use crate::error::{Error, Reason};
use crate::labels;
use crate::landing::{self, Pads};
use crate::starts;

impl Code {
    /// Decodes the code of `object` and marks what refers to it.
    pub(crate) fn read(file: &str, object: &Object) -> Result<Code, Error> {
        let sections = (0..object.sections.len()).filter(|&index| object.sections[index].is_code());
        let texts: Vec<Text> =
            sections.map(|index| Text::decode(file, object, index)).collect::<Result<_, _>>()?;
        let mut by_section = vec![None; object.sections.len()];
        for (number, text) in texts.iter().enumerate() {
            by_section[text.section] = Some(number);
        }
        let mut code =
            Code { texts, by_section, bases: BTreeMap::new(), tables: BTreeMap::new(), unsure: Vec::new() };
        code.mark_symbols(file, object)?;
        code.bases = code.mark_code_references(file, object)?;
        starts::mark(&mut code, object);
        let listed = labels::find_tables(&mut code, object);
        code.mark_data_references(file, object, &listed)?;
        code.mark_scattered_switches();
        for text in &mut code.texts {
            text.functions = text.starts(mark::FUNCTION);
            text.parts = text.starts(mark::FUNCTION | mark::PART);
        }
        Ok(code)
    }

    /// Marks landing pads: indirect branches reach them.
    pub(crate) fn mark_pads(&mut self, file: &str, object: &Object) -> Result<Pads, Error> {
        let mut pads = Vec::new();
        for (section, offset, calls) in landing::pads(object) {
            let name = &object.sections[section].name;
            let place =
                self.place(section, offset as i64).map_err(|reason| Error::at(file, name, offset, reason))?;
            if let Some(place) = place {
                self.mark(place, mark::ENTRY | mark::LABEL | mark::PAD | mark::TAKEN);
                pads.push((place, calls));
            }
        }
        self.mark_starts();
        let arguments = if pads.is_empty() { Vec::new() } else { dwarf::arguments(object) };
        let arguments = arguments.into_iter().filter_map(|(section, code, bytes)| {
            Some((*self.by_section.get(section)?.as_ref()?, code, bytes))
        });
        Ok(Pads::new(self.texts.len(), pads, arguments))
    }

    /// What a section begins with is a function, unless other parts of one come there; or a landing pad does, behind padding, as none
    /// may stand at the first byte of what an exception table describes.
    fn mark_starts(&mut self) {
        for text in &mut self.texts {
            let padding = text.code.iter().take_while(|ins| ins.code.mnemonic() == Mnemonic::Nop).count();
            let begins_with_pad = text.code.get(padding).is_some_and(|ins| ins.has(mark::PAD));
            if let Some(first) = text.code.first_mut()
                && !begins_with_pad
                && !first.has(mark::OUTSIDE | mark::CASE)
            {
                first.marks |= mark::LABEL | mark::FUNCTION;
            }
        }
    }

    fn mark_symbols(&mut self, file: &str, object: &Object) -> Result<(), Error> {
        for symbol in &object.symbols {
            let Some(section) = symbol.section() else { continue };
            if symbol.kind == sym::SECTION || symbol.kind == sym::FILE {
                continue;
            }
            let place = self.place(section, symbol.value as i64).map_err(|reason| {
                let what = format!("symbol {}: {}", symbol.display_name(), reason.what);
                Error::at(
                    file,
                    &object.sections[section].name,
                    symbol.value,
                    Reason::new(what, reason.remedy),
                )
            })?;
            let Some(place) = place else { continue };
            if symbol.kind == sym::OBJECT {
                let what = format!("symbol {} is data", symbol.display_name());
                return Err(Error::at(
                    file,
                    &object.sections[section].name,
                    symbol.value,
                    data_in_text(&what),
                ));
            }
            let global = symbol.binding != sym::LOCAL;
            let function = matches!(symbol.kind, sym::FUNC | sym::IFUNC);
            let is_cold_part = !global && symbol.name.windows(5).any(|part| part == b".cold");
            let is_inner = symbol.kind == sym::NOTYPE && lies_inside(object, section, symbol.value);
            let mut marks = mark::LABEL;
            if is_inner {
                marks |= mark::INNER;
            } else if global || function && !is_cold_part {
                marks |= mark::FUNCTION;
            } else if function {
                marks |= mark::PART;
            }
            if global {
                marks |= mark::ENTRY;
            }
            let is_even = symbol.value.is_multiple_of(2) && object.sections[section].align >= 2;
            if function && is_even && may_be_member(&symbol.name) {
                marks |= mark::EVEN;
            }
            self.mark(place, marks);
        }
        Ok(())
    }

    /// Marks what instructions refer to. Returns the places in data whose address code takes: table bases.
    fn mark_code_references(&mut self, file: &str, object: &Object) -> Result<BTreeMap<usize, Bases>, Error> {
        let mut bases: BTreeMap<usize, Bases> = BTreeMap::new();
        for number in 0..self.texts.len() {
            for index in 0..self.texts[number].code.len() {
                let text = &self.texts[number];
                let ins = &text.code[index];
                let flow = ins.code.flow_control();
                let near = ins.is_near_branch();
                let relocs = text.relocs(object, index);
                let mut referred: Option<(usize, i64)> = None;
                if let Some(reloc) = relocs.iter().find(|reloc| is_relative(reloc.kind)) {
                    let to_end = ins.code.next_ip() as i64 - reloc.offset as i64;
                    referred = object.resolve(reloc.symbol, reloc.addend + to_end);
                } else if near {
                    referred = Some((text.section, ins.code.near_branch64() as i64));
                } else if ins.code.is_ip_rel_memory_operand() {
                    referred = Some((text.section, ins.code.ip_rel_memory_address() as i64));
                }
                let Some((section, offset)) = referred else { continue };
                let refuse = |reason| text.refuse(file, object, index, reason);
                let Some(place) = self.place(section, offset).map_err(refuse)? else {
                    if matches!(ins.code.mnemonic(), Mnemonic::Lea) && offset >= 0 {
                        let places = bases.entry(section).or_default().entry(offset as u64).or_default();
                        places.push((number, index));
                    }
                    continue;
                };
                if near {
                    let stays = place.0 == number && place.1 < text.code.len() && stays_here(object, relocs);
                    let is_call = flow == FlowControl::Call;
                    // A function that never returns may be called by the one right before it.
                    let is_function = |symbol: &Symbol| {
                        symbol.kind == sym::FUNC
                            && symbol.section() == Some(section)
                            && symbol.value as i64 == offset
                    };
                    let to_next = is_call && place == (number, index + 1);
                    if to_next && !object.symbols.iter().any(is_function) {
                        return Err(refuse(Reason::new(
                            "a call of the next instruction reads its own return address",
                            "compile for 64-bit code, which needs no such call to find its own address",
                        )));
                    }
                    let outside = if place.0 == number { 0 } else { mark::OUTSIDE };
                    self.mark(
                        place,
                        if is_call { mark::LABEL | mark::FUNCTION } else { mark::LABEL | outside },
                    );
                    if stays {
                        self.texts[number].code[index].target = place.1 as u32;
                    } else if !is_call && !self.has(place, mark::FUNCTION) {
                        self.mark((number, index), mark::LEAVES);
                    }
                } else if ins.code.mnemonic() == Mnemonic::Lea || !relocs.is_empty() && is_got(relocs) {
                    self.mark(place, mark::LABEL | mark::ENTRY | mark::TAKEN);
                } else {
                    return Err(refuse(data_in_text("the instruction reads a code section as data")));
                }
            }
        }
        Ok(bases)
    }

    /// Cases of switches whose parts are in several code sections, as of functions with cold parts.
    fn mark_scattered_switches(&mut self) {
        let scattered = self.tables.values().filter(|table| !table.is_in_one_text());
        let cases: Vec<CodePlace> = scattered.flat_map(|table| table.targets.iter().copied()).collect();
        for place in cases {
            self.mark(place, mark::OUTSIDE);
        }
    }

    /// `listed`: places in data that are entries of tables of labels.
    fn mark_data_references(
        &mut self,
        file: &str,
        object: &Object,
        listed: &HashSet<Key>,
    ) -> Result<(), Error> {
        for (index, section) in object.sections.iter().enumerate() {
            if !section.is_loaded() || section.is_code() || crate::dwarf::owns(section) {
                continue;
            }
            for (number, reloc) in section.relocs.iter().enumerate() {
                let base = self.table_base(object, index, &section.relocs, number);
                let from_base = base.map_or(0, |base| (reloc.offset - base) as i64);
                let Some((target, offset)) = object.resolve(reloc.symbol, reloc.addend - from_base) else {
                    continue;
                };
                let place = self.place(target, offset);
                let place = place.map_err(|reason| Error::at(file, &section.name, reloc.offset, reason))?;
                let Some(place) = place else { continue };
                match (reloc.kind, base) {
                    (reloc::PC32, Some(base)) => {
                        self.mark(place, mark::LABEL | mark::CASE);
                        let read_only = section.flags & shf::WRITE == 0;
                        let table = self.tables.entry((index, base));
                        let table = table.or_insert_with(|| {
                            let owners = self.bases.get(&index).and_then(|bases| bases.get(&base));
                            Table {
                                form: Form::Distances,
                                targets: Vec::new(),
                                owners: owners.cloned().unwrap_or_default(),
                                read_only,
                            }
                        });
                        table.targets.push(place);
                    }
                    (reloc::ABS64, _) if listed.contains(&(index, reloc.offset)) => {
                        self.mark(place, mark::LABEL | mark::ENTRY | mark::CASE);
                    }
                    (reloc::ABS64 | reloc::PC32 | reloc::PC64, _) => {
                        self.mark(place, mark::LABEL | mark::ENTRY | mark::TAKEN)
                    }
                    (kind, _) => {
                        let reason = Reason::new(
                            format!("a relocation of type {kind} to code"),
                            "compile with -fPIE or -fPIC and the small code model",
                        );
                        return Err(Error::at(file, &section.name, reloc.offset, reason));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Whether an offset lies inside a function, behind its start.
fn lies_inside(object: &Object, section: usize, offset: u64) -> bool {
    object.symbols.iter().any(|symbol| {
        symbol.kind == sym::FUNC
            && symbol.section() == Some(section)
            && symbol.value < offset
            && offset < symbol.value.saturating_add(symbol.size)
    })
}

/// Whether a branch through these relocations may be resolved inside the section: no other definition of
/// its target can replace this one.
fn stays_here(object: &Object, relocs: &[Reloc]) -> bool {
    relocs.iter().all(|reloc| object.symbols[reloc.symbol as usize].binding != sym::WEAK)
}

fn is_got(relocs: &[Reloc]) -> bool {
    relocs.iter().any(|reloc| matches!(reloc.kind, reloc::GOTPCREL | reloc::GOTPCRELX | reloc::REX_GOTPCRELX))
}

/// Whether a name of C++ may be that of a member function: it is in a scope (Itanium C++ ABI, 5.1.3).
fn may_be_member(name: &[u8]) -> bool {
    name.starts_with(b"_ZN") || name.starts_with(b"_ZZ")
}
