//! Refusals: what could not be rewritten exactly, where it is and how to fix it.

use std::fmt;

/// Why an input was refused: what is wrong with it and what its owner can do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// What is wrong, a phrase without a full stop.
    pub what: String,
    /// What to do about it, a sentence without a full stop.
    pub remedy: String,
}

impl Reason {
    /// A reason from its two parts.
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Reason { what: what.into(), remedy: remedy.into() }
    }

    /// What compilers make of no C: assembly that was written by hand.
    pub(crate) fn of_assembly(what: impl Into<String>, remedy: &str) -> Self {
        let remedy = format!(
            "in the assembly there (asm in a C file, or a .s file) {remedy}, or build the portable C version that most libraries have"
        );
        Reason::new(what, remedy)
    }

    /// A file that breaks its own format.
    pub fn malformed(what: impl Into<String>) -> Self {
        Reason::new(what, "the file is damaged or truncated: build it again")
    }
}

/// Place of a refusal inside an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Name of the section.
    pub section: String,
    /// Offset in the section, bytes.
    pub offset: u64,
    /// The function there, if a symbol says.
    pub function: Option<String>,
    /// The instruction there, disassembled (AT&T syntax), if the place is one.
    pub instruction: Option<String>,
}

/// An input that cannot be rewritten exactly. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// The object's name; for members of archives `archive(member)`.
    pub file: String,
    /// Where in the object, unless the object as a whole is meant.
    pub place: Option<Box<Place>>,
    /// Why, and what to do.
    pub reason: Reason,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot rewrite {}", self.file)?;
        if let Some(place) = &self.place {
            if let Some(function) = &place.function {
                write!(f, ", function {function}")?;
            }
            let section = lockgate_outside::printable(&place.section);
            write!(f, ", section {section} at {:#x}", place.offset)?;
            if let Some(instruction) = &place.instruction {
                write!(f, " (`{instruction}`)")?;
            }
        }
        write!(f, ": {}. To fix it: {}.", self.reason.what, self.reason.remedy)
    }
}

impl Error {
    /// A refusal of the object as a whole.
    pub fn whole(file: impl Into<String>, reason: Reason) -> Self {
        Error { file: file.into(), place: None, reason }
    }

    /// A refusal at `section` + `offset`.
    pub fn at(file: impl Into<String>, section: impl Into<String>, offset: u64, reason: Reason) -> Self {
        let place = Place { section: section.into(), offset, function: None, instruction: None };
        Error { file: file.into(), place: Some(Box::new(place)), reason }
    }
}
