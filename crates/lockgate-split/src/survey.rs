//! What one source defines and uses, and what its annotations say of that.
#![allow(non_upper_case_globals, reason = "the constants of libclang")]

use crate::error::Refusal;
use clang_sys::{
    CXCursor_AnnotateAttr, CXCursor_CompoundLiteralExpr, CXCursor_CompoundStmt, CXCursor_DeclRefExpr,
    CXCursor_FunctionDecl, CXCursor_UnaryOperator, CXCursor_UnexposedAttr, CXCursor_VarDecl, CXType_Pointer,
};
use lockgate_stubs::header::libclang_sys::{Bodies, Cursor};
use lockgate_stubs::header::model::Place;
use lockgate_stubs::header::{self, ReadError};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::path::Path;

/// Where something lives.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Home {
    /// In the program itself.
    Host,
    /// In this domain.
    Domain(String),
    /// Each part that needs it has a copy.
    Everywhere,
}

impl Home {
    fn of(name: &str) -> Home {
        if name == "*" { Home::Everywhere } else { Home::Domain(name.to_owned()) }
    }
}

impl fmt::Display for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Home::Host => f.write_str("the host"),
            Home::Domain(name) => write!(f, "domain {name}"),
            Home::Everywhere => f.write_str("LG_EVERYWHERE"),
        }
    }
}

/// A domain as a source speaks of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Domain {
    /// Its name.
    pub name: String,
    /// `time=1000`, `streams`, …
    pub options: Vec<String>,
    /// File and line of the `LG_DOMAIN`.
    pub place: (String, u32),
}

/// How far a definition is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linkage {
    /// In the whole program.
    External,
    /// In its source: `static`, or an inline function without a mark. Each part that uses it has it.
    Internal,
}

/// A function or variable that the source defines.
#[derive(Debug)]
pub struct Definition {
    pub name: String,
    pub place: Place,
    pub function: bool,
    pub linkage: Linkage,
    /// The source itself, no header, gives it an attribute by which something else than its name may lead to it: `constructor`, `section`, `used`.
    pub rooted: bool,
    pub home: Home,
    pub entry: bool,
    /// A variable that nothing writes.
    pub constant: bool,
    /// Offset of the declaration that defines it, and, maybe, others.
    pub declared: usize,
    /// Offset of its name.
    pub at: usize,
    /// The same of further definitions: a tentative one may come again, with a value.
    pub again: Vec<usize>,
    /// A function's body.
    pub body: Option<Range<usize>>,
    /// What it refers to.
    pub uses: Vec<Use>,
    /// Its own variables that keep their values from call to call.
    pub statics: Vec<(String, Place)>,
    /// Memory without a name that its value leads to, and that may be written: compound literals.
    pub nameless: Vec<Place>,
}

/// A reference to a function or variable outside functions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    pub name: String,
    pub place: Place,
    pub function: bool,
    pub constant: bool,
    /// A system header declares it, or the compiler defines it.
    pub system: bool,
}

/// A source, read.
#[derive(Debug, Default)]
pub struct Survey {
    pub definitions: Vec<Definition>,
    pub domains: Vec<Domain>,
    pub refusals: Vec<Refusal>,
}

/// What annotations say of one name.
#[derive(Debug, Default)]
struct Mark {
    home: Option<(Home, Place)>,
    entry: bool,
}

/// Reads the folded text of the source `origin`; libclang finds system headers by `arguments`.
///
/// # Errors
/// [`ReadError`].
pub fn survey(folded: &str, origin: &Path, arguments: Vec<String>) -> Result<Survey, ReadError> {
    let unit = header::parse(folded, origin, arguments, Bodies::Read)?;
    let mut survey = Survey::default();
    let own: Vec<Cursor<'_>> =
        unit.root().children().into_iter().filter(|c| c.offset().0 == header::UNIT).collect();
    let declarations: Vec<Cursor<'_>> = own.iter().copied().filter(|c| is_declaration(*c)).collect();
    let mut marks: BTreeMap<String, Mark> = BTreeMap::new();
    let mut numbers = BTreeSet::new();
    for cursor in &declarations {
        let name = cursor.name();
        let notes = header::notes(*cursor, &name)?;
        let mark = marks.entry(name.clone()).or_default();
        mark.entry |= notes.entry;
        if let Some((number, home)) = notes.home {
            numbers.insert(number);
            survey.mark(mark, &name, Home::of(&home), place(*cursor));
        }
    }
    let files = survey.abouts(&own, &numbers);
    // A file's home is that of what it declares or defines, unless that has one of its own.
    let mut by_file: BTreeMap<String, Mark> = BTreeMap::new();
    for cursor in &declarations {
        if let Some(home) = files.get(&cursor.presumed().0) {
            let name = cursor.name();
            survey.mark(by_file.entry(name.clone()).or_default(), &name, home.clone(), place(*cursor));
        }
    }
    for cursor in &declarations {
        let name = cursor.name();
        let mark = marks.get(&name);
        if let Some(mut definition) = definition(*cursor) {
            definition.rooted &= Path::new(&definition.place.file) == origin;
            let of_file = by_file.get(&name).and_then(|mark| mark.home.clone());
            let home = mark.and_then(|mark| mark.home.clone()).or(of_file);
            survey.define(
                definition,
                *cursor,
                home.map(|(home, _)| home),
                mark.is_some_and(|mark| mark.entry),
            );
        }
    }
    // (libclang does not say what a pragma does.)
    let weak: BTreeSet<&str> = folded.lines().filter_map(made_weak).collect();
    for definition in &mut survey.definitions {
        definition.constant &= !weak.contains(&*definition.name);
    }
    Ok(survey)
}

/// What a line of preprocessed text makes weak.
fn made_weak(line: &str) -> Option<&str> {
    let mut words = line.trim_start().strip_prefix('#')?.split(|c: char| c.is_whitespace() || c == '=');
    let mut word = || words.find(|word| !word.is_empty());
    (word() == Some("pragma") && word() == Some("weak")).then(word)?
}

/// What an `LG_DOMAIN` says.
#[derive(Debug)]
pub struct About {
    pub name: String,
    pub options: Vec<String>,
    /// The same number is in the mark on the declaration behind it, if one follows.
    number: u32,
    /// An annotation stands before it, where it is this declaration's.
    lost: bool,
}

impl About {
    /// What the declaration `cursor` says, if it stands for an `LG_DOMAIN`.
    pub fn of(cursor: Cursor<'_>) -> Option<About> {
        if cursor.kind() != CXCursor_VarDecl || !cursor.name().starts_with("lockgate_about_") {
            return None;
        }
        let (mut name, mut options, mut number, mut lost) = (String::new(), Vec::new(), None, false);
        let attributes = cursor.children().into_iter().filter(|c| c.kind() == CXCursor_AnnotateAttr);
        for text in attributes.map(|attribute| attribute.name()) {
            match text.trim_start_matches("lockgate:").split_once(':') {
                Some(("library", library)) => name = library.to_owned(),
                Some(("number", text)) => number = text.parse().ok(),
                Some(("options", list)) => {
                    options =
                        list.split(',').map(|o| o.trim().to_owned()).filter(|o| !o.is_empty()).collect();
                }
                _ => lost = true,
            }
        }
        Some(About { name, options, number: number?, lost })
    }
}

impl Survey {
    /// Notes that `name` lives in `home`, if nothing else has been said.
    fn mark(&mut self, mark: &mut Mark, name: &str, home: Home, place: Place) {
        match &mark.home {
            Some((known, first)) if *known != home => self.refusals.push(Refusal {
                place,
                what: format!("{name} belongs to {home} here, and to {known} at {first}"),
                remedy: "give each function and variable one LG_DOMAIN".into(),
            }),
            Some(_) => {}
            None => mark.home = Some((home, place)),
        }
    }

    /// Takes the declarations that stand for `LG_DOMAIN`: domains with their options, and the homes of whole files. Those with
    /// `numbers` stand before a declaration.
    fn abouts(&mut self, own: &[Cursor<'_>], numbers: &BTreeSet<u32>) -> BTreeMap<String, Home> {
        let mut files: BTreeMap<String, (Home, Place)> = BTreeMap::new();
        for about in own {
            let Some(About { name, options, number, lost }) = About::of(*about) else { continue };
            let home = Home::of(&name);
            let (file, line) = about.presumed();
            let here = Place { file: file.clone(), line };
            if lost {
                self.refusals.push(Refusal {
                    place: here.clone(),
                    what:
                        "an annotation stands before LG_DOMAIN or LG_EVERYWHERE, and would do nothing there"
                            .into(),
                    remedy: "write it behind".into(),
                });
            }
            if !numbers.contains(&number) {
                match files.get(&file) {
                    Some((known, first)) if *known != home => self.refusals.push(Refusal {
                        place: here.clone(),
                        what: format!("this file belongs to {home} here, and to {known} at {first}"),
                        remedy: "put LG_DOMAIN before the functions of one of them".into(),
                    }),
                    _ => {
                        files.insert(file.clone(), (home.clone(), here.clone()));
                    }
                }
            }
            if home == Home::Everywhere {
                continue;
            }
            if let Err(what) = lockgate_stubs::name::check(&name) {
                let remedy = "give it one that can".to_owned();
                self.refusals.push(Refusal { place: here, what, remedy });
                continue;
            }
            self.domains.push(Domain { name, options, place: (file, line) });
        }
        files.into_iter().map(|(file, (home, _))| (file, home)).collect()
    }

    /// Adds what `cursor` defines.
    fn define(&mut self, mut definition: Definition, cursor: Cursor<'_>, home: Option<Home>, entry: bool) {
        let refuse = |what: &str, remedy: &str| Refusal {
            place: definition.place.clone(),
            what: format!("{} {what}", definition.name),
            remedy: remedy.to_owned(),
        };
        if entry && !definition.function {
            self.refusals
                .push(refuse("is a variable: LG_ENTRY is for functions", "pass its value as a parameter"));
        }
        if entry && cursor.is_static() {
            self.refusals
                .push(refuse("is static, and no other part can call it", "remove `static`, or LG_ENTRY"));
        }
        if home.is_some() && !cursor.is_static() {
            definition.linkage = Linkage::External;
        }
        definition.home = home.unwrap_or(Home::Host);
        definition.entry = entry;
        for found in cursor.descendants() {
            match found.kind() {
                CXCursor_DeclRefExpr => definition.uses.extend(reference(found)),
                CXCursor_VarDecl if found.is_static() && !is_constant(found) => {
                    definition.statics.push((found.name(), place(found)));
                }
                _ => {}
            }
        }
        if !definition.function {
            cursor.children().into_iter().for_each(|child| nameless(child, false, &mut definition.nameless));
        }
        let together = |other: &&Definition| {
            !other.function && other.declared == definition.declared && other.home != definition.home
        };
        if !definition.function
            && let Some(other) = self.definitions.iter().find(together)
        {
            self.refusals.push(Refusal {
                place: definition.place.clone(),
                what: format!(
                    "one declaration has {} of {} and {} of {}",
                    other.name, other.home, definition.name, definition.home
                ),
                remedy: "declare each alone".into(),
            });
        }
        // A tentative definition may come again, and what it leads to with it.
        match self.definitions.iter_mut().find(|known| known.name == definition.name) {
            None => self.definitions.push(definition),
            Some(known) => {
                known.again.push(definition.at);
                known.uses.append(&mut definition.uses);
                known.nameless.append(&mut definition.nameless);
                known.constant &= definition.constant;
                known.rooted |= definition.rooted;
            }
        }
    }
}

/// A function or variable of the source or of what it includes.
fn is_declaration(cursor: Cursor<'_>) -> bool {
    matches!(cursor.kind(), CXCursor_FunctionDecl | CXCursor_VarDecl)
        && !cursor.name().starts_with("lockgate_about_")
}

/// What `cursor` defines, if it does, without marks and uses.
fn definition(cursor: Cursor<'_>) -> Option<Definition> {
    let function = cursor.kind() == CXCursor_FunctionDecl;
    let body = cursor.children().into_iter().find(|c| c.kind() == CXCursor_CompoundStmt).map(|c| c.extent());
    if function && body.is_none() || !function && cursor.is_extern() {
        return None;
    }
    let internal = cursor.is_static() || function && cursor.is_inline();
    let attributed = cursor.children().iter().any(|child| child.kind() == CXCursor_UnexposedAttr);
    Some(Definition {
        name: cursor.name(),
        place: place(cursor),
        function,
        rooted: attributed,
        linkage: if internal { Linkage::Internal } else { Linkage::External },
        home: Home::Host,
        entry: false,
        constant: !function && is_constant(cursor),
        declared: cursor.extent().start,
        at: cursor.offset().1,
        again: Vec::new(),
        body,
        uses: Vec::new(),
        statics: Vec::new(),
        nameless: Vec::new(),
    })
}

/// The function or variable outside functions that an expression names.
fn reference(expression: Cursor<'_>) -> Option<Use> {
    let to = expression.referenced()?;
    let function = to.kind() == CXCursor_FunctionDecl;
    if !(function || to.kind() == CXCursor_VarDecl && (to.is_of_file() || to.is_extern())) {
        return None;
    }
    Some(Use {
        name: to.name(),
        place: place(expression),
        function,
        constant: !function && is_constant(to),
        system: to.offset().0 != header::UNIT || function && is_of_compiler(&to.name()),
    })
}

/// Compound literals in the value of a variable outside functions that something points to (`led_to`), unless they are constant: each is an object as long
/// as the program.
fn nameless(expression: Cursor<'_>, led_to: bool, found: &mut Vec<Place>) {
    if expression.kind() == CXCursor_CompoundLiteralExpr && led_to && !is_constant(expression) {
        found.push(place(expression));
    }
    let points = expression.kind() == CXCursor_UnaryOperator
        || expression.kind_of_value().canonical().kind() == CXType_Pointer;
    for child in expression.children() {
        nameless(child, led_to || points, found);
    }
}

/// A function that no object defines: the compiler itself knows what it does.
fn is_of_compiler(name: &str) -> bool {
    ["__builtin_", "__sync_", "__atomic_"].iter().any(|begin| name.starts_with(begin))
}

/// The variable, or each of its elements, is `const`, nothing outside the program changes it (`volatile`), and no other definition
/// takes its place (weak).
fn is_constant(variable: Cursor<'_>) -> bool {
    let mut kind = variable.kind_of_value().canonical();
    loop {
        let element = kind.element();
        if kind.is_volatile() || variable.is_weak() {
            return false;
        }
        if kind.is_const() || element.spelling().is_empty() {
            return kind.is_const();
        }
        kind = element.canonical();
    }
}

fn place(cursor: Cursor<'_>) -> Place {
    let (file, line) = cursor.presumed();
    Place { file, line }
}
