//! A module that joins a domain: what it does not define itself, the domain's base does, other modules that joined, or the host.

use crate::{Error, Prototype};
use lockgate_outside::printable;
use lockgate_verify::Module;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A module that others may take symbols from.
#[derive(Debug, Clone)]
pub(crate) struct Provider {
    /// Of its file.
    pub hash: blake3::Hash,
    pub name: String,
    module: Module,
    /// Names of its objects.
    data: BTreeSet<String>,
}

/// A symbol that something else defines, as the notes say it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub name: String,
    /// Its prototype, or its name.
    pub text: String,
    pub of_host: bool,
}

/// Where the symbols come from that nothing in a link defines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Foreign {
    pub words: Vec<Word>,
    /// Names of the functions among them: they are called through thunks.
    pub functions: Vec<String>,
    /// Weak symbols without a definition: their address is zero.
    pub absent: Vec<String>,
}

/// A symbol that the inputs use and nothing defines.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Undefined {
    pub name: String,
    /// Nothing needs to define it.
    pub weak: bool,
}

impl Provider {
    /// Reads a module file.
    ///
    /// # Errors
    /// [`Error::Io`], or [`Error::Input`] if it is no module.
    pub fn read(path: &Path) -> Result<Provider, Error> {
        let bytes = lockgate_outside::read(path).map_err(Error::io("read", path))?;
        let module = Module::parse(&bytes)
            .map_err(|error| Error::input(printable(&path.to_string_lossy()), error.to_string()))?;
        let name = path.file_name().map_or_else(String::new, |name| printable(&name.to_string_lossy()));
        let data = module.data_symbols.iter().map(|(object, _, _)| object.clone()).collect();
        Ok(Provider { hash: blake3::hash(&bytes), name, module, data })
    }

    /// Its function or object with this name: `Some(None)` is an object, `Some(Some(line))` a function as its note has it.
    fn defines(&self, name: &str) -> Option<Option<&str>> {
        if let Ok(at) = self.module.exports.binary_search_by(|export| export.name.as_str().cmp(name)) {
            let export = &self.module.exports[at];
            return Some(Some(export.signature.as_deref().unwrap_or(&export.name)));
        }
        self.data.contains(name).then_some(None)
    }
}

/// # Errors
/// [`Error::Usage`] if the modules cannot be joined in this order.
pub(crate) fn check(providers: &[Provider]) -> Result<(), Error> {
    let Some((base, others)) = providers.split_first() else { return Ok(()) };
    if !base.module.base {
        return Err(Error::Usage(format!(
            "--join {}: the first one must be a base, whose domain is joined: link it with --base",
            base.name
        )));
    }
    let hash = base.hash.to_hex();
    let joins = |module: &Module| module.join.as_ref().is_some_and(|join| join.modules[0].0 == *hash);
    match others.iter().find(|other| !joins(&other.module)) {
        Some(stranger) => Err(Error::Usage(format!(
            "--join {}: it does not join {}, or another build of it: link it again with --join {0}",
            stranger.name, base.name
        ))),
        None => Ok(()),
    }
}

/// Looks the undefined symbols of a link up: gates first, then the modules in their order. What none of them has is left to the linker.
pub(crate) fn look_up(undefined: &[Undefined], gates: &[Prototype], providers: &[Provider]) -> Foreign {
    let mut foreign = Foreign::default();
    let names: BTreeSet<&Undefined> = undefined.iter().collect();
    let gates: BTreeMap<&str, &Prototype> = gates.iter().map(|gate| (gate.name(), gate)).collect();
    for Undefined { name, weak } in names {
        let gate = gates.get(&**name);
        let found = providers.iter().find_map(|provider| provider.defines(name));
        let text = match (gate, found) {
            (Some(gate), _) => gate.text(),
            (None, Some(function)) => function.unwrap_or(name),
            (None, None) if *weak => {
                foreign.absent.push(name.clone());
                continue;
            }
            (None, None) => continue,
        };
        foreign.words.push(Word { name: name.clone(), text: text.to_owned(), of_host: gate.is_some() });
        if gate.is_some() || matches!(found, Some(Some(_))) {
            foreign.functions.push(name.clone());
        }
    }
    foreign
}
