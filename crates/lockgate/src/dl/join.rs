//! Libraries that join another's domain: several modules, one heap (docs/dlopen.md).
//!
//! Such a module names the files that it was linked with, by their hashes: first the base, whose domain it joins, then others that
//! joined before. They are opened first, and stay open as long as it. Its symbols are then looked up, in the same order. All of them
//! are found, read and judged before it is the thread's turn to open: no other thread waits for a file, and no other file than the one
//! that was named runs in the domain.
//!
//! A file does not choose whose memory it shares: a base that the host has open is joined only if the host names it
//! ([`Options::into`](super::Options::into)), and one that was opened for a module that joins is that module's alone, even if the same file is
//! opened later.
use super::loaded::{Loaded, Scope};
use super::table::Pin;
use super::verdicts::{Found, Hash, Opened};
use super::{DlError, search};
use crate::domain::{JoinError, Target};
use crate::module::{Module, callable};
use crate::signature::{self, printable};
use lockgate_abi::window;
use lockgate_verify::{Join, Symbolic};
use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a module was linked with, and what that was: by hash. Else why there is no such file.
#[derive(Default)]
pub(super) struct Needed(HashMap<String, Result<Found, DlError>>);

/// Looks for files for one module: a domain has room for half as many.
const MOST: usize = 2 * window::JOINED;

impl Needed {
    /// Finds all that `module` needs. Which files, how many and how large they are is the module's word: all of them together are no more work
    /// than one file may be.
    pub fn of(module: &Found) -> Needed {
        let names = |from: &Found| {
            let join = from.module.parsed().join.iter();
            let names = join.flat_map(|join| join.modules.clone());
            names.map(|name| (from.opened.path().to_owned(), name)).collect::<Vec<(PathBuf, _)>>()
        };
        let mut needed = HashMap::new();
        let mut ahead = VecDeque::from(names(module));
        let (mut looks, mut bytes) = (MOST, lockgate_outside::LARGEST);
        while let Some((path, (hash, file))) = ahead.pop_front() {
            // (Another module may lie in another folder, where the file is.)
            if looks == 0 || needed.get(&hash).is_some_and(Result::is_ok) {
                continue;
            }
            looks -= 1;
            let found = find(&path, &hash, &file, &mut bytes);
            ahead.extend(found.iter().flat_map(names));
            needed.insert(hash, found);
        }
        Needed(needed)
    }

    /// Whether all is there that the module in `path` needs, by what else it needs, but for what is open. Before anything of it runs.
    ///
    /// # Errors
    /// Why there is no such file.
    pub fn check(&mut self, path: &Path, join: &Join, is_open: impl Fn(&str) -> bool) -> Result<(), DlError> {
        let named = |path: &Path, join: &Join| {
            let modules = join.modules.clone().into_iter();
            modules.map(|(hash, file)| (path.to_owned(), hash, file)).collect::<Vec<_>>()
        };
        let (mut ahead, mut seen) = (named(path, join), HashSet::new());
        while let Some((path, hash, file)) = ahead.pop() {
            if is_open(&hash) || !seen.insert(hash.clone()) {
                continue;
            }
            match self.0.get(&hash) {
                Some(Ok(found)) => {
                    let join = found.module.parsed().join.iter();
                    ahead.extend(join.flat_map(|join| named(found.opened.path(), join)));
                }
                _ => return self.take(&path, (&hash, &file)).map(drop),
            }
        }
        Ok(())
    }

    pub fn take(&mut self, path: &Path, (hash, file): (&str, &str)) -> Result<Found, DlError> {
        self.0.remove(hash).unwrap_or_else(|| Err(other(path, file)))
    }
}

/// The file with this hash that the module in `path` names, if that is no larger than what is left of `bytes`.
fn find(path: &Path, hash: &str, file: &str, bytes: &mut u64) -> Result<Found, DlError> {
    // The name is the module's word: nothing but a file beside it, or in the usual folders.
    let name = Path::new(file).file_name().ok_or_else(|| other(path, file))?;
    let beside = path.with_file_name(name);
    let place = if beside.is_file() { beside } else { search::find(Path::new(name))? };
    let opened = Opened::new(&place)?;
    let left = bytes.checked_sub(opened.size());
    *bytes = left.ok_or_else(|| JoinError::TooMuch { module: name_of(path), other: printable(file) })?;
    Found::of_these(opened, |found| is(*found, hash))?.ok_or_else(|| other(path, file))
}

/// Where a module goes.
pub(super) struct Home {
    pub base: Arc<Loaded>,
    /// Other libraries of the domain, whose symbols it uses.
    pub needed: Vec<Arc<Loaded>>,
}

pub(super) fn is(hash: Hash, named: &str) -> bool {
    *blake3::Hash::from(hash).to_hex() == *named
}

pub(super) fn other(path: &Path, file: &str) -> DlError {
    JoinError::Other { module: name_of(path), other: file.to_owned() }.into()
}

pub(super) fn name_of(path: &Path) -> String {
    printable(&path.file_name().unwrap_or_default().to_string_lossy())
}

/// What the symbols of `module` lead to; other libraries whose functions are among it are `held` open.
///
/// # Errors
/// [`DlError::Join`] if a module does not have one, or as something else; [`DlError::Imports`] for functions of the host.
pub(super) fn targets(
    library: &str,
    module: &Module,
    base: &Arc<Loaded>,
    needed: &[Arc<Loaded>],
    scope: &Scope,
    held: &mut Vec<Pin>,
) -> Result<Vec<Target>, DlError> {
    let symbols = module.parsed().join.iter().flat_map(|join| &join.symbols);
    let sources: Vec<&Loaded> = [base].into_iter().chain(needed).map(|loaded| &**loaded).collect();
    let mut missing = Vec::new();
    let mut targets = Vec::new();
    for symbol in symbols {
        if !symbol.of_host {
            targets.push(Target::Image(exported(library, symbol, &sources)?));
            continue;
        }
        match scope.gate(base.core(), &symbol.name, callable(symbol.signature.as_deref()), held) {
            Ok(gate) => targets.push(Target::Host(gate)),
            Err(why) => missing.push(format!("undefined symbol: {} ({why})", symbol.name)),
        }
    }
    if missing.is_empty() {
        Ok(targets)
    } else {
        Err(DlError::Imports { library: library.to_owned(), missing })
    }
}

/// Window offset of a symbol in the first of `sources` that has it.
fn exported(library: &str, symbol: &Symbolic, sources: &[&Loaded]) -> Result<u64, JoinError> {
    let (module, name) = (library.to_owned(), symbol.name.clone());
    let wrong =
        |what: String| JoinError::Type { module: library.to_owned(), symbol: symbol.name.clone(), what };
    for source in sources {
        if let Some(export) = source.module().export(&name) {
            let (exported, expected) =
                (source.module().callable(&name), callable(symbol.signature.as_deref()));
            if let (Some(exported), Some(expected)) = (exported, expected) {
                signature::agree(exported, &expected).map_err(|mismatch| wrong(mismatch.to_string()))?;
            }
            return Ok(source.image().at + export.address);
        }
        if let Some((at, _)) = source.image().object(&name) {
            return match symbol.signature {
                None => Ok(at),
                Some(_) => Err(wrong(format!("it is data of {}", source.name))),
            };
        }
    }
    let from = sources.iter().map(|source| source.name.as_str()).collect::<Vec<_>>().join(", ");
    Err(JoinError::Symbol { module, symbol: name, from })
}
