//! Notices of authors that stand in code. OpenSSL's assembly has a string behind the functions of each file, which nothing reads.

use crate::code::Code;
use crate::decode::data_in_text;
use crate::elf::{Object, Symbol, sym};
use crate::error::Error;
use std::ops::Range;

/// What a notice becomes: traps, one a byte.
const INT3: u8 = 0xcc;
/// Printable characters before the zero that make a string: no code that anything reaches looks like that.
const LEAST: usize = 16;

/// Sections, where each had a notice, and up to where the next function begins.
pub(crate) struct Notices(Vec<(usize, Range<usize>)>);

/// Makes traps of strings that begin right behind the end of a function.
pub(crate) fn take_out(object: &mut Object) -> Notices {
    let functions = object.symbols.iter().filter(|symbol| symbol.kind == sym::FUNC && symbol.size > 0);
    let ends =
        functions.filter_map(|symbol| Some((symbol.section()?, symbol.value.checked_add(symbol.size)?)));
    let mut found = Vec::new();
    for (number, end) in ends {
        let Some(section) = object.sections.get(number).filter(|section| section.is_code()) else { continue };
        let start = usize::try_from(end).unwrap_or(usize::MAX);
        let bytes = section.data.get(start..).unwrap_or_default();
        let length = bytes.iter().take_while(|byte| matches!(byte, b' '..=b'~')).count();
        if length >= LEAST && bytes.get(length) == Some(&0) {
            found.push((number, start..start + length + 1));
        }
    }
    for (number, range) in &mut found {
        let data = &mut object.sections[*number].data;
        data[range.clone()].fill(INT3);
        let is_next = |symbol: &&Symbol| symbol.kind == sym::FUNC && symbol.section() == Some(*number);
        let starts =
            object.symbols.iter().filter(is_next).filter_map(|symbol| usize::try_from(symbol.value).ok());
        range.end = starts.filter(|&start| start >= range.end).min().unwrap_or(data.len());
    }
    Notices(found)
}

impl Notices {
    /// Refuses a string if something refers to it, or to what lies behind it: constants are read there, or it is code after all.
    pub(crate) fn refuse_used(&self, file: &str, object: &Object, code: &Code) -> Result<(), Error> {
        for (section, range) in &self.0 {
            let Some(number) = code.by_section[*section] else { continue };
            let text = &code.texts[number];
            let is_used = |at: &usize| text.at(*at as i64).is_some_and(|index| text.code[index].marks != 0);
            if let Some(at) = range.clone().find(is_used) {
                let reason = data_in_text("a string behind a function, or what follows it, is referred to");
                return Err(Error::at(file, &object.sections[*section].name, at as u64, reason));
            }
        }
        Ok(())
    }
}
