//! What exported functions take and return, as the debug information of their objects says.
//!
//! A host that binds a function is checked against the module's note. Where the driver was given only a name, the note
//! is made from DWARF (`dwarf` reads it, `procedure` spells it as C); where it was given a prototype, that must not
//! contradict DWARF. What the language of notes cannot express, or what two definitions disagree about, stays unknown:
//! no signature is better than a wrong one (docs/decisions/0018-signatures-from-debug-information.md).

mod dwarf;
mod procedure;

use crate::{Error, Prototype, input::Input};
use lockgate_signature::Signature;
use procedure::Procedure;
use std::collections::{BTreeMap, BTreeSet};

/// Completes the exports that are names only, and checks those that are prototypes.
///
/// # Errors
/// [`Error::Contradiction`].
pub(crate) fn complete<'a>(
    exports: &mut [Prototype],
    inputs: impl Iterator<Item = &'a Input>,
) -> Result<(), Error> {
    let names: BTreeSet<String> = exports.iter().map(|export| export.name().to_owned()).collect();
    let known = known(&names, inputs);
    for export in exports {
        let name = export.name();
        let Some(procedure) = known.get(name) else { continue };
        let Some(found) = procedure.prototype(name) else { continue };
        match export.text().parse::<Signature>() {
            Ok(given) if procedure.agrees(&given) => (),
            Ok(_) => return Err(Error::Contradiction { given: export.text().to_owned(), found }),
            // A name alone, or types whose names mean nothing outside the source.
            Err(_) => *export = Prototype::parse(&found)?,
        }
    }
    Ok(())
}

/// The types of those functions about which all objects that define them agree.
fn known<'a>(
    names: &BTreeSet<String>,
    inputs: impl Iterator<Item = &'a Input>,
) -> BTreeMap<String, Procedure> {
    let mut known = Statements::default();
    for object in inputs.flat_map(Input::objects) {
        let defined: BTreeSet<String> =
            Input::defined_functions(&object).filter(|name| names.contains(name)).collect();
        if defined.is_empty() {
            continue;
        }
        let mut told = Statements::default();
        for (name, procedure) in dwarf::procedures(&object, &defined).unwrap_or_default() {
            told.add(name, procedure);
        }
        for name in defined {
            let procedure = told.0.remove(&name).flatten();
            known.add(name, procedure);
        }
    }
    known.0.into_iter().filter_map(|(name, procedure)| Some((name, procedure?))).collect()
}

/// What was said about each function; `None` once something unknown or different was said as well.
#[derive(Default)]
struct Statements(BTreeMap<String, Option<Procedure>>);

impl Statements {
    fn add(&mut self, name: String, procedure: Option<Procedure>) {
        let said = self.0.entry(name).or_insert_with(|| procedure.clone());
        let agree = match (&said, &procedure) {
            (Some(one), Some(other)) => one.agrees(&other.signature("")),
            _ => false,
        };
        if !agree {
            *said = None;
        }
    }
}
