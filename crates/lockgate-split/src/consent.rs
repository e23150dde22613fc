//! What a source says literally: which functions it opens to domains, and which rights it gives them.
//!
//! Headers say nothing here. Whose a header is nothing can tell, for a domain's author may write any that the program includes; a
//! source's own text is its author's. Line markers do not tell where something is written, for `#line` is text as well, and
//! preprocessed text does not say what a macro has made. So the source is read once more as it lies on the disk.

#![allow(non_upper_case_globals, reason = "the constants of libclang")]

use crate::survey::About;
use clang_sys::{CXCursor_AnnotateAttr, CXCursor_FunctionDecl, CXCursor_VarDecl};
use lockgate_stubs::header::libclang_sys::Cursor;
use lockgate_stubs::header::model::Place;
use lockgate_stubs::header::{self, ReadError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

/// What a source says in its own text.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Consent {
    /// Functions that it declares `LG_ENTRY`, and where.
    entries: Vec<(String, (String, u32))>,
    /// The same in headers and by macros, which is no consent but may have been meant.
    elsewhere: Vec<(String, (String, u32))>,
    /// Domains, each with an option that an `LG_DOMAIN` gives it.
    options: Vec<(String, String)>,
}

impl Consent {
    /// Where the source declares the function `LG_ENTRY`.
    pub fn opens(&self, function: &str) -> Option<Place> {
        said(&self.entries, function)
    }

    /// Where something else that it includes does.
    pub fn mentions(&self, function: &str) -> Option<Place> {
        said(&self.elsewhere, function)
    }

    /// Whether the source gives the domain the option.
    pub fn gives(&self, domain: &str, option: &str) -> bool {
        self.options.iter().any(|(name, given)| name == domain && given == option)
    }
}

fn said(entries: &[(String, (String, u32))], function: &str) -> Option<Place> {
    entries.iter().find(|(name, _)| name == function).map(|(_, at)| Place { file: at.0.clone(), line: at.1 })
}

/// Reads `source` as libclang, with `arguments`, finds it.
///
/// # Errors
/// [`ReadError`].
pub fn read(source: &Path, arguments: Vec<String>) -> Result<Consent, ReadError> {
    let unit = header::parse_file(source, arguments)?;
    let text =
        lockgate_outside::read(source).map_err(|error| ReadError::Io { path: source.to_owned(), error })?;
    let name = source.to_string_lossy().into_owned();
    let mut reader = Reader { consent: Consent::default(), name, text };
    for cursor in unit.root().children() {
        match cursor.kind() {
            CXCursor_FunctionDecl => reader.function(cursor),
            CXCursor_VarDecl => reader.domain(cursor),
            _ => {}
        }
    }
    Ok(reader.consent)
}

struct Reader {
    consent: Consent,
    /// The source, as libclang calls it.
    name: String,
    text: Vec<u8>,
}

impl Reader {
    /// A function that is called so, and `LG_ENTRY`, in one declaration of the source's text.
    fn function(&mut self, cursor: Cursor<'_>) {
        let name = cursor.name();
        let attributes = cursor.children().into_iter().filter(|c| c.kind() == CXCursor_AnnotateAttr);
        for entry in attributes.filter(|attribute| attribute.name() == "lockgate:entry") {
            match (self.word(cursor, &name), self.word(entry, "LG_ENTRY")) {
                (Some(at), Some(mark)) if !self.ends_between(at, mark) => {
                    let before = &self.text[..at];
                    let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
                    let place = (self.name.clone(), u32::try_from(line).unwrap_or(u32::MAX));
                    self.consent.entries.push((name.clone(), place));
                }
                _ => {
                    let (file, line) = cursor.location();
                    let file = file.strip_prefix("./").unwrap_or(&file).to_owned();
                    self.consent.elsewhere.push((name.clone(), (file, line)));
                }
            }
        }
    }

    /// Whether a declaration ends between two offsets.
    fn ends_between(&self, one: usize, other: usize) -> bool {
        let between = self.text.get(one.min(other)..one.max(other)).unwrap_or_default();
        between.iter().any(|byte| b";{}".contains(byte))
    }

    /// A domain whose name and options stand in its `LG_DOMAIN`.
    fn domain(&mut self, cursor: Cursor<'_>) {
        let Some(about) = About::of(cursor) else { return };
        let Some(at) = self.word(cursor, "LG_DOMAIN") else { return };
        let arguments = self.text[at..].split(|&byte| byte == b')').next().unwrap_or_default();
        let squeezed = |text: &[u8]| -> String {
            String::from_utf8_lossy(text).chars().filter(|c| !c.is_whitespace()).collect()
        };
        let arguments = squeezed(arguments);
        let mut arguments = arguments.trim_start_matches("LG_DOMAIN(").split(',');
        if arguments.next() != Some(&format!("\"{}\"", about.name)) {
            return;
        }
        let arguments: BTreeSet<&str> = arguments.collect();
        for option in about.options {
            if arguments.contains(&*squeezed(option.as_bytes())) {
                self.consent.options.push((about.name.clone(), option));
            }
        }
    }

    /// The offset in the source at which `cursor` is written, if `word` stands there: what a macro makes is written where the macro is.
    fn word(&self, cursor: Cursor<'_>, word: &str) -> Option<usize> {
        let (name, at) = cursor.written();
        if name != self.name {
            return None;
        }
        let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
        let before = at.checked_sub(1).and_then(|before| self.text.get(before));
        let behind = self.text.get(at..)?.strip_prefix(word.as_bytes())?.first();
        (!before.is_some_and(is_of_word) && !behind.is_some_and(is_of_word)).then_some(at)
    }
}

/// The options of gcc's that say what a source's text is, for libclang.
pub fn options(options: &[String]) -> Vec<String> {
    const WITH_VALUE: [&str; 9] =
        ["-I", "-D", "-U", "-isystem", "-iquote", "-idirafter", "-include", "-imacros", "-isysroot"];
    const ALONE: [&str; 3] = ["-ansi", "-nostdinc", "-funsigned-char"];
    let mut taken = Vec::new();
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        if WITH_VALUE.contains(&option.as_str()) {
            taken.push(option.clone());
            taken.extend(rest.next().cloned());
        } else if ALONE.contains(&option.as_str())
            || option.starts_with("-std=")
            || WITH_VALUE.iter().any(|with| option.starts_with(with))
        {
            taken.push(option.clone());
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_text_are_taken() {
        let given = ["-O2", "-I", "x", "-Dy=1", "-march=native", "-std=c11", "-include", "z.h", "-g"];
        let taken = options(&given.map(str::to_owned));
        assert_eq!(taken, ["-I", "x", "-Dy=1", "-std=c11", "-include", "z.h"]);
    }
}
