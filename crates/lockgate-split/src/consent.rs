//! Who says what in a program: which file opens a function to domains or gives a domain files, and who included that file.
//!
//! Line markers do not tell, for `#line` is text as well, and preprocessed text does not say what a macro has made. So the source is
//! read once more as it lies on the disk. What counts is what is written literally: the name and `LG_ENTRY` in the file itself, the
//! file's name in the `#include`.

#![allow(non_upper_case_globals, reason = "the constants of libclang")]

use crate::survey::About;
use blake3::Hash;
use clang_sys::{
    CXCursor_AnnotateAttr, CXCursor_FunctionDecl, CXCursor_InclusionDirective, CXCursor_VarDecl,
};
use lockgate_stubs::header::libclang_sys::Cursor;
use lockgate_stubs::header::model::Place;
use lockgate_stubs::header::{self, ReadError};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// What a source and the files that it includes say literally.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Consent {
    /// All files that it is made of; the source itself is the first.
    files: Vec<File>,
    /// Which file includes which.
    includes: BTreeSet<(usize, usize)>,
    /// Functions that are declared `LG_ENTRY`.
    entries: Vec<(String, Written)>,
    /// Domains, each with an option that an `LG_DOMAIN` gives it.
    options: Vec<(String, String, Written)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct File {
    /// As the compiler names it.
    name: String,
    /// Without links on the way.
    path: PathBuf,
    /// Of its contents: a copy, or another link, is the same file.
    hash: String,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Written {
    file: usize,
    line: u32,
}

/// The files that the sources of one domain are made of.
#[derive(Debug, Default)]
pub struct Files<'c> {
    paths: BTreeSet<&'c Path>,
    hashes: BTreeSet<&'c str>,
}

impl<'c> Files<'c> {
    /// Adds those of a source.
    pub fn add(&mut self, consent: &'c Consent) {
        self.paths.extend(consent.files.iter().map(|file| file.path.as_path()));
        self.hashes.extend(consent.files.iter().map(|file| file.hash.as_str()));
    }

    fn has(&self, file: &File) -> bool {
        self.paths.contains(file.path.as_path()) || self.hashes.contains(file.hash.as_str())
    }
}

impl Consent {
    /// Where the source, as its author wrote it, declares the function `LG_ENTRY`: in itself, in a header that it includes itself, or
    /// in one that it includes by way of headers which are none of the domain's.
    pub fn opens(&self, function: &str, domain: &Files<'_>) -> Option<Place> {
        let reached = self.reached(domain);
        self.said(function).find(|written| reached.contains(&written.file)).map(|w| self.place(w))
    }

    /// The same, in none of the domain's files.
    pub fn opens_elsewhere(&self, function: &str, domain: &Files<'_>) -> Option<Place> {
        let reached = self.reached(domain);
        let own =
            |written: &Written| reached.contains(&written.file) && !domain.has(&self.files[written.file]);
        self.said(function).find(own).map(|w| self.place(w))
    }

    /// Where anything that it includes declares the function `LG_ENTRY`.
    pub fn mentions(&self, function: &str) -> Option<Place> {
        self.said(function).next().map(|written| self.place(written))
    }

    /// Whether the source gives the domain the option, as [`Consent::opens`] says.
    pub fn gives(&self, domain: &str, option: &str, files: &Files<'_>) -> bool {
        let reached = self.reached(files);
        let mut given = self.options.iter().filter(|(name, given, _)| name == domain && given == option);
        given.any(|(_, _, written)| reached.contains(&written.file))
    }

    fn said(&self, function: &str) -> impl Iterator<Item = Written> {
        self.entries.iter().filter(move |(name, _)| name == function).map(|(_, written)| *written)
    }

    fn place(&self, written: Written) -> Place {
        Place { file: self.files[written.file].name.clone(), line: written.line }
    }

    /// Files that are included by the source itself, or by one of these that is not the domain's.
    fn reached(&self, domain: &Files<'_>) -> BTreeSet<usize> {
        let mut reached = BTreeSet::from([0]);
        let mut waiting = vec![0];
        while let Some(from) = waiting.pop() {
            for &(_, to) in self.includes.range((from, 0)..=(from, usize::MAX)) {
                if reached.insert(to) && !domain.has(&self.files[to]) {
                    waiting.push(to);
                }
            }
        }
        reached
    }

    /// Whether all numbers in it are of files that it has: it was in an object.
    pub fn is_whole(&self) -> bool {
        let is = |file: usize| file < self.files.len();
        self.includes.iter().all(|&(from, to)| is(from) && is(to))
            && self.entries.iter().map(|(_, written)| written).all(|written| is(written.file))
            && self.options.iter().map(|(_, _, written)| written).all(|written| is(written.file))
    }
}

/// Reads `source` as libclang, with `arguments`, finds it. `others` are files that it is made of as gcc says, who may see others.
///
/// # Errors
/// [`ReadError`].
pub fn read(source: &Path, arguments: Vec<String>, others: &BTreeSet<PathBuf>) -> Result<Consent, ReadError> {
    let unit = header::parse_file(source, arguments)?;
    let mut reader = Reader::default();
    reader.file(&source.to_string_lossy());
    for cursor in unit.root().children() {
        reader.take(cursor);
    }
    for other in others {
        reader.file(&other.to_string_lossy());
    }
    Ok(reader.consent)
}

#[derive(Default)]
struct Reader {
    consent: Consent,
    numbers: HashMap<String, Option<usize>>,
    by_path: BTreeMap<PathBuf, usize>,
    /// What is in each file.
    texts: Vec<Vec<u8>>,
}

impl Reader {
    /// The number of the file that the compiler calls `name`, if there is such a file.
    fn file(&mut self, name: &str) -> Option<usize> {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = Path::new(name).canonicalize().ok().and_then(|path| {
            if let Some(&number) = self.by_path.get(&path) {
                return Some(number);
            }
            let text = lockgate_outside::read(&path).ok()?;
            let number = self.texts.len();
            let hash: Hash = blake3::hash(&text);
            let name = name.strip_prefix("./").unwrap_or(name).to_owned();
            self.consent.files.push(File { name, path: path.clone(), hash: hash.to_hex().to_string() });
            self.texts.push(text);
            self.by_path.insert(path, number);
            Some(number)
        });
        self.numbers.insert(name.to_owned(), number);
        number
    }

    fn take(&mut self, cursor: Cursor<'_>) {
        match cursor.kind() {
            CXCursor_InclusionDirective => self.include(cursor),
            CXCursor_FunctionDecl => self.function(cursor),
            CXCursor_VarDecl => self.domain(cursor),
            _ => {}
        }
    }

    /// An `#include` that names a file itself, not by a macro, which may be anybody's.
    fn include(&mut self, cursor: Cursor<'_>) {
        let Some(to) = cursor.included().and_then(|name| self.file(&name)) else { return };
        let (name, _) = cursor.written();
        let from = match name.as_str() {
            // The command line's `-include`.
            "" | "<built-in>" | "<command line>" => 0,
            name => {
                let Some(from) = self.file(name) else { return };
                let text = self.texts[from].get(cursor.extent()).unwrap_or_default();
                if !matches!(text.trim_ascii_end().last(), Some(b'"' | b'>')) {
                    return;
                }
                from
            }
        };
        self.consent.includes.insert((from, to));
    }

    /// A function that is called so in the very text that calls it `LG_ENTRY`, too.
    fn function(&mut self, cursor: Cursor<'_>) {
        let name = cursor.name();
        let attributes = cursor.children().into_iter().filter(|c| c.kind() == CXCursor_AnnotateAttr);
        for entry in attributes.filter(|attribute| attribute.name() == "lockgate:entry") {
            if let (Some(at), Some(mark)) = (self.word(cursor, &name), self.word(entry, "LG_ENTRY"))
                && at.file == mark.file
            {
                self.consent.entries.push((name.clone(), at));
            }
        }
    }

    /// A domain whose name and options stand in its `LG_DOMAIN`.
    fn domain(&mut self, cursor: Cursor<'_>) {
        let Some(about) = About::of(cursor) else { return };
        let Some(at) = self.word(cursor, "LG_DOMAIN") else { return };
        let text = &self.texts[at.file][cursor.written().1..];
        let arguments = text.split(|&byte| byte == b')').next().unwrap_or_default();
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
                self.consent.options.push((about.name.clone(), option, at));
            }
        }
    }

    /// Where `cursor` is written, if `word` stands there.
    fn word(&mut self, cursor: Cursor<'_>, word: &str) -> Option<Written> {
        let (name, at) = cursor.written();
        let file = self.file(&name)?;
        let text = &self.texts[file];
        let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        let behind = text.get(at..)?.strip_prefix(word.as_bytes())?.first();
        if before.is_some_and(is_of_word) || behind.is_some_and(is_of_word) {
            return None;
        }
        let line = 1 + text[..at].iter().filter(|&&byte| byte == b'\n').count();
        Some(Written { file, line: u32::try_from(line).ok()? })
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

/// The files in a rule for make as gcc writes it (`-MD`): what stands behind the colon.
pub fn dependencies(rule: &str) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    let mut word = String::new();
    let mut behind_colon = false;
    let mut characters = rule.chars().chain(['\n']).peekable();
    while let Some(c) = characters.next() {
        match (c, characters.peek()) {
            ('\\', Some('\n')) => {
                characters.next();
            }
            ('\\', Some(' ' | '#' | '\t' | ':' | '\\')) => word.extend(characters.next()),
            ('$', Some('$')) => word.extend(characters.next()),
            (':', Some(' ' | '\n')) if !behind_colon => {
                behind_colon = true;
                word.clear();
            }
            (c, _) if c.is_whitespace() => {
                if behind_colon && !word.is_empty() {
                    files.insert(PathBuf::from(std::mem::take(&mut word)));
                }
            }
            (c, _) => word.push(c),
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_make_name_files() {
        let files = dependencies("a.o: a.c /usr/include/x.h \\\n b\\ c.h d$$e.h \\\n  f\\#.h\n");
        let expected = ["/usr/include/x.h", "a.c", "b c.h", "d$e.h", "f#.h"];
        assert_eq!(files, expected.map(PathBuf::from).into());
    }

    #[test]
    fn options_of_the_text_are_taken() {
        let given = ["-O2", "-I", "x", "-Dy=1", "-march=native", "-std=c11", "-include", "z.h", "-g"];
        let taken = options(&given.map(str::to_owned));
        assert_eq!(taken, ["-I", "x", "-Dy=1", "-std=c11", "-include", "z.h"]);
    }
}
