//! The text of one part of a program: a source with only this part's definitions in it.

use crate::error::Refusal;
use crate::survey::{Definition, Home, Linkage, Survey, Use};
use crate::text;
use std::collections::BTreeSet;
use std::ops::Range;

/// What a part has of a source.
#[derive(Debug)]
pub struct Part<'s> {
    /// The part: [`Home::Everywhere`] stands for domains of other sources.
    pub home: Home,
    survey: &'s Survey,
    /// Definitions that it has, by their numbers.
    kept: BTreeSet<usize>,
}

impl<'s> Part<'s> {
    /// All parts that `survey` defines something of; the host is one always, and the first.
    pub fn all(survey: &'s Survey) -> Vec<Part<'s>> {
        let wanted =
            |d: &&Definition| d.linkage == Linkage::External || d.rooted && d.home != Home::Everywhere;
        let wanted = survey.definitions.iter().filter(wanted);
        let homes: BTreeSet<&Home> = wanted.map(|d| &d.home).filter(|home| **home != Home::Host).collect();
        let homes = std::iter::once(Home::Host).chain(homes.into_iter().cloned());
        let mut parts: Vec<Part<'_>> = homes.map(|home| Part::of(survey, home)).collect();
        // The host has all that no domain needs; a domain what may be needed though nothing names it: constructors, for one.
        for (number, definition) in survey.definitions.iter().enumerate() {
            let known = parts.iter().skip(1).any(|part| part.kept.contains(&number));
            let own = |part: &&mut Part<'_>| match &part.home {
                Home::Host => part.may_have(definition),
                home => definition.rooted && definition.home == *home,
            };
            if definition.linkage == Linkage::Internal
                && !known
                && let Some(part) = parts.iter_mut().find(own)
            {
                part.keep(number);
            }
        }
        parts
    }

    fn of(survey: &'s Survey, home: Home) -> Part<'s> {
        let mut part = Part { home, survey, kept: BTreeSet::new() };
        for (number, definition) in survey.definitions.iter().enumerate() {
            if definition.linkage == Linkage::External && part.may_have(definition) {
                part.keep(number);
            }
        }
        part
    }

    /// Whether the definition's home allows it to be in this part.
    fn may_have(&self, definition: &Definition) -> bool {
        definition.home == self.home || definition.home == Home::Everywhere
    }

    /// Keeps a definition, and what it uses of the source's own.
    fn keep(&mut self, number: usize) {
        let mut waiting = vec![number];
        while let Some(number) = waiting.pop() {
            if !self.kept.insert(number) {
                continue;
            }
            for used in &self.survey.definitions[number].uses {
                let own = |d: &Definition| {
                    d.name == used.name
                        && (d.linkage == Linkage::Internal || d.constant && d.home == Home::Host)
                };
                waiting.extend(self.survey.definitions.iter().position(own));
            }
        }
    }

    /// Definitions that this part has.
    pub fn definitions(&self) -> impl Iterator<Item = &'s Definition> {
        self.kept.iter().map(|&number| &self.survey.definitions[number])
    }

    /// What it uses of other sources, each once.
    pub fn uses(&self) -> Vec<&'s Use> {
        let has = |name: &str| self.definitions().any(|d| d.name == name);
        let mut uses: Vec<&Use> = Vec::new();
        for used in self.definitions().flat_map(|d| &d.uses) {
            if !used.system && !has(&used.name) && !uses.iter().any(|known| known.name == used.name) {
                uses.push(used);
            }
        }
        uses
    }

    /// The source's preprocessed text (`folded` is the same with system headers folded), with this part's definitions only.
    pub fn text(&self, original: &str, folded: &str) -> String {
        let mut bytes = original.as_bytes().to_vec();
        let mut scanned = folded.as_bytes().to_vec();
        for (number, definition) in self.survey.definitions.iter().enumerate() {
            let Some(body) = definition.body.clone() else { continue };
            undefine(&mut scanned, body.clone());
            if !self.kept.contains(&number) {
                undefine(&mut bytes, body);
            }
        }
        let mut made_extern = Vec::new();
        for (piece, variables) in variables(self.survey, &scanned) {
            if variables.iter().any(|variable| self.definitions().any(|kept| std::ptr::eq(kept, *variable))) {
                continue;
            }
            made_extern.extend(declare(&mut bytes, &scanned, piece, variables[0].linkage));
        }
        text::erase_notes(&mut bytes);
        insert(bytes, made_extern, "extern ")
    }
}

/// The declarations of a source, one by one: functions without bodies, variables without values.
pub fn interface(survey: &Survey, folded: &str) -> Vec<(lockgate_stubs::header::model::Place, String)> {
    let mut bytes = folded.as_bytes().to_vec();
    for body in survey.definitions.iter().filter_map(|d| d.body.clone()) {
        undefine(&mut bytes, body);
    }
    let scanned = bytes.clone();
    let mut made_extern = BTreeSet::new();
    for (piece, variables) in variables(survey, &scanned) {
        made_extern.extend(declare(&mut bytes, &scanned, piece, variables[0].linkage));
    }
    let declaration = |piece: text::Piece| {
        let text = String::from_utf8_lossy(&bytes[piece.range.clone()]);
        let storage = if made_extern.contains(&piece.range.start) { "extern " } else { "" };
        (piece.place, format!("{storage}{}", text::normal(&text)))
    };
    let mut declarations = text::pieces(&scanned).into_iter().map(declaration).collect();
    text::keep_needed(&mut declarations);
    declarations
}

/// Makes the definition of variables at `piece` a declaration, `extern` even if it was static: a static table would want the functions that
/// are in it. Where `extern` is still to be put, if there is no word that it can replace.
fn declare(text: &mut [u8], scanned: &[u8], piece: Range<usize>, linkage: Linkage) -> Option<usize> {
    for value in text::initialisers(scanned, piece.clone()) {
        text::erase(text, value);
    }
    match text::find(&scanned[piece.clone()], b"static") {
        Some(at) if linkage == Linkage::Internal => {
            text[piece.start + at..][..b"static".len()].copy_from_slice(b"extern");
            None
        }
        _ => Some(piece.start),
    }
}

/// Makes a function's definition a declaration.
fn undefine(text: &mut [u8], body: Range<usize>) {
    let start = body.start;
    text::erase(text, body);
    text[start] = b';';
}

/// The declarations that define variables of `survey`, each with its variables.
fn variables<'s>(survey: &'s Survey, scanned: &[u8]) -> Vec<(Range<usize>, Vec<&'s Definition>)> {
    let pieces = text::pieces(scanned).into_iter().map(|piece| piece.range);
    let variables = |piece: Range<usize>| {
        let is_here = |d: &&Definition| {
            !d.function && std::iter::once(&d.at).chain(&d.again).any(|at| piece.contains(at))
        };
        let inside = survey.definitions.iter().filter(is_here).collect::<Vec<_>>();
        (!inside.is_empty()).then_some((piece, inside))
    };
    pieces.filter_map(variables).collect()
}

/// Inserts `word` at each of the offsets, once.
fn insert(text: Vec<u8>, mut offsets: Vec<usize>, word: &str) -> String {
    offsets.sort_unstable();
    offsets.dedup();
    let mut result = Vec::with_capacity(text.len() + offsets.len() * word.len());
    let mut from = 0;
    for offset in offsets {
        result.extend_from_slice(&text[from..offset]);
        result.extend_from_slice(word.as_bytes());
        from = offset;
    }
    result.extend_from_slice(&text[from..]);
    String::from_utf8_lossy(&result).into_owned()
}

/// What would not be the same with these parts apart: memory of the source's own that would exist twice, and code that would
/// run elsewhere than its annotation says.
pub fn refusals(parts: &[Part<'_>]) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    let Some(survey) = parts.first().map(|part| part.survey) else { return refusals };
    for (number, definition) in survey.definitions.iter().enumerate() {
        let having: Vec<&Part<'_>> = parts.iter().filter(|part| part.kept.contains(&number)).collect();
        if definition.linkage == Linkage::Internal
            && definition.home != Home::Host
            && let Some(stranger) = having.iter().find(|part| !part.may_have(definition))
        {
            refusals.push(Refusal {
                place: definition.place.clone(),
                what: format!(
                    "{} belongs to {}, but {} uses it",
                    definition.name,
                    definition.home,
                    part_name(stranger)
                ),
                remedy: "remove its LG_DOMAIN, or mark it LG_EVERYWHERE, if each part may have a copy".into(),
            });
        }
        if having.len() < 2 || definition.home == Home::Everywhere {
            continue;
        }
        let whose = having.iter().map(|part| part_name(part)).collect::<Vec<_>>().join(" and ");
        let written = !definition.function && !definition.constant && definition.linkage == Linkage::Internal;
        let own = written.then(|| (definition.name.clone(), definition.place.clone()));
        let within = definition
            .statics
            .iter()
            .map(|(name, place)| (format!("{name} of {}()", definition.name), place.clone()));
        let nameless = definition.nameless.iter();
        let nameless = nameless
            .map(|place| (format!("without a name that {} leads to", definition.name), place.clone()));
        for (name, place) in own.into_iter().chain(within).chain(nameless) {
            refusals.push(Refusal {
                place,
                what: format!("variable {name} is used by {whose}, which share no memory"),
                remedy: "make it const, pass it as a parameter, or mark it LG_EVERYWHERE, if each part may have a copy".into(),
            });
        }
    }
    refusals
}

fn part_name(part: &Part<'_>) -> String {
    match &part.home {
        Home::Everywhere => "what is LG_EVERYWHERE".to_owned(),
        home => home.to_string(),
    }
}
