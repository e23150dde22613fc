//! Opening: a library that is open already once more, or a new one, in a domain of its own or in that of the library that it joins.
use super::join::{self, Home, Needed, is, name_of, other};
use super::loaded::{Loaded, Scope, Services};
use super::table::{self, Hold, Look, Pin, Row};
use super::verdicts::{FileKey, Found, Hash, Opened};
use super::{DlError, Library, Mode, Options};
use crate::call::AnyDomain;
use crate::domain::{Core, Domain, JoinError};
use crate::module::Module;
use crate::signature::printable;
use lockgate_abi::window;
use lockgate_verify::Join;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Opens what was found: from here on no file is read.
///
/// # Errors
/// As [`Library::open`].
pub(super) fn open_found(
    found: Found,
    needed: &mut Needed,
    mode: Mode,
    options: &Options,
    how: Hold,
) -> Result<Arc<Loaded>, DlError> {
    let Found { opened, module, hash } = found;
    let path = opened.path();
    if mode.only_if_open {
        let known = open_again(&opened, Some(hash), mode, options)?;
        let closed = || DlError::NotOpen(printable(&path.to_string_lossy()));
        return known.ok_or_else(closed)?.loaded();
    }
    let join = module.parsed().join.as_ref();
    let mut home = None;
    // Goes when others may have their turns.
    let mut held = Vec::new();
    let loaded = loop {
        let turn = table::turn();
        match look(&opened, Some(hash), options, how)? {
            Look::Open(known) => return Ok(known),
            Look::Starts(id) => {
                drop(turn);
                table::wait(id, options.until)?;
            }
            Look::None if join.is_none() && options.into.is_some() => {
                return Err(JoinError::NotJoining(module.name().to_owned()).into());
            }
            // Held open until the library, which needs them, has started. Their constructors run now: others have their turns.
            Look::None if join.is_some() && home.is_none() => {
                drop(turn);
                home = join.map(|join| what_it_joins(path, join, needed, mode, options)).transpose()?;
            }
            Look::None => {
                let parts = (module.clone(), hash);
                let loaded = match &home {
                    Some(open) => joining(path, opened.key, parts, open.home(), options, &mut held)?,
                    None => alone(path, opened.key, parts, mode, options, &mut held)?,
                };
                // In the table before its constructors run: what they call may look for it.
                table::enter(&loaded, options.private, how);
                break loaded;
            }
        }
    };
    drop(held);
    if let Err(error) = loaded.start(options.until) {
        table::strike(loaded.id());
        return Err(error);
    }
    table::started(loaded.id());
    // Its constructors may have had it closed.
    drop(home);
    table::end_unneeded();
    table::find(loaded.id())
}

/// The library that is open from this file, held open once more: the same state of the file, or, with a hash, the same contents.
///
/// # Errors
/// [`DlError::Handle`].
fn look(opened: &Opened, hash: Option<Hash>, options: &Options, how: Hold) -> Result<Look, DlError> {
    let is_of_place = is_of_place(opened, options)?;
    // A process may have touched the file, or made a link to it, and left its contents alone.
    let is_it = |row: &Row| {
        is_of_place(row) && hash.map_or(row.loaded.file == opened.key, |hash| row.loaded.hash() == hash)
    };
    Ok(table::look(how, is_it))
}

/// Whether a library was made from this file, in whatever state that was, and is for a call that opens it with these options.
///
/// # Errors
/// [`DlError::Handle`].
fn is_of_place(opened: &Opened, options: &Options) -> Result<impl Fn(&Row) -> bool, DlError> {
    let into = options.into.map(Library::loaded).transpose()?;
    let (key, private) = (opened.key, options.private);
    Ok(move |row: &Row| {
        // What was made for one library is for no other, unless the host says that it wants the domain of that one.
        let is_there = match &into {
            Some(into) => row.loaded.shares_domain(into),
            None => !row.private && !private,
        };
        is_there && row.loaded.file.is_place_of(&key)
    })
}

/// The same for the host, as soon as its constructors have run. `None` if there is none.
///
/// # Errors
/// [`DlError::NotOpen`] if it was to be open, [`DlError::Handle`], [`DlError::Busy`], [`DlError::Ring`].
pub(super) fn open_again(
    opened: &Opened,
    hash: Option<Hash>,
    mode: Mode,
    options: &Options,
) -> Result<Option<Library>, DlError> {
    loop {
        match look(opened, hash, options, Hold::Host(mode))? {
            Look::Open(known) => return Ok(Some(Library::from_number(known.id()))),
            Look::Starts(id) => table::wait(id, options.until)?,
            Look::None => break,
        }
    }
    if mode.only_if_open && !table::any(is_of_place(opened, options)?) {
        return Err(DlError::NotOpen(printable(&opened.path().to_string_lossy())));
    }
    Ok(None)
}

/// A [`Home`], whose libraries are held open until this goes.
struct Open {
    base: Arc<Loaded>,
    needed: Vec<Arc<Loaded>>,
    held: Vec<Pin>,
}

impl Open {
    fn home(&self) -> Home {
        Home { base: self.base.clone(), needed: self.needed.clone() }
    }
}

/// Finds, or opens, what the module in the file `path` was linked with.
///
/// # Errors
/// [`DlError::Join`] if there is something else under these names; and as [`Library::open`].
fn what_it_joins(
    path: &Path,
    join: &Join,
    needed: &mut Needed,
    mode: Mode,
    options: &Options,
) -> Result<Open, DlError> {
    let given = options.into.map(Library::loaded).transpose()?.map(|loaded| loaded.home());
    let (hash, file) = &join.modules[0];
    let mut held = Vec::new();
    let base = match given {
        Some(given) if is(given.hash(), hash) => {
            let is_open = |hash: &str| {
                table::any(|row| is(row.loaded.hash(), hash) && row.loaded.shares_domain(&given))
            };
            needed.check(path, join, is_open)?;
            held.push(Pin::new(given.id())?);
            given
        }
        Some(_) => return Err(other(path, file)),
        None if table::any(|row| !row.private && is(row.loaded.hash(), hash)) => {
            return Err(JoinError::Uninvited { module: name_of(path), base: file.clone() }.into());
        }
        None => {
            needed.check(path, join, |_| false)?;
            let alone = Options { into: None, private: true, ..options.clone() };
            find_or_open(path, (hash, file), needed, mode, &alone, &mut held)?
        }
    };
    let mut open = Open { base, needed: Vec::new(), held };
    // Each waits for the next one, on this thread's stack.
    let depth = options.depth + 1;
    if depth > window::JOINED {
        return Err(JoinError::TooDeep(name_of(path)).into());
    }
    let inside =
        Options { into: Some(Library::from_number(open.base.id())), depth, private: true, ..options.clone() };
    for (hash, file) in &join.modules[1..] {
        let found = find_or_open(path, (hash, file), needed, mode, &inside, &mut open.held)?;
        open.needed.push(found);
    }
    Ok(open)
}

/// The library made from the file with this hash, in the domain that `options` name, or a new one.
fn find_or_open(
    path: &Path,
    (hash, file): (&str, &str),
    needed: &mut Needed,
    mode: Mode,
    options: &Options,
    held: &mut Vec<Pin>,
) -> Result<Arc<Loaded>, DlError> {
    let domain = options.into.map(Library::loaded).transpose()?;
    let is_it = |loaded: &Loaded| {
        is(loaded.hash(), hash) && domain.as_ref().is_some_and(|domain| loaded.shares_domain(domain))
    };
    loop {
        match table::look(Hold::Pin, |row| is_it(&row.loaded)) {
            Look::Open(found) => {
                held.push(Pin::of(found.id()));
                return Ok(found);
            }
            Look::Starts(id) => table::wait(id, options.until)?,
            Look::None => break,
        }
    }
    let found = needed.take(path, (hash, file))?;
    let mode = Mode { now: mode.now, ..Mode::LAZY };
    let opened = open_found(found, needed, mode, options, Hold::Pin)?;
    held.push(Pin::of(opened.id()));
    Ok(opened)
}

/// The library's name, and its domain's.
fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| printable(&name.to_string_lossy()))
}

/// A library in a domain of its own, whose constructors have not run yet. What answers its imports is `held` open until it is in the table itself.
fn alone(
    path: &Path,
    key: FileKey,
    (module, hash): (Arc<Module>, Hash),
    mode: Mode,
    options: &Options,
    held: &mut Vec<Pin>,
) -> Result<Arc<Loaded>, DlError> {
    let name = file_name(path);
    let domain = match options.domain.is_named() {
        true => options.domain.clone(),
        false => options.domain.clone().name(&name),
    };
    let scope = Arc::new(Scope {
        library: name.clone(),
        policy: options.policy,
        beyond: domain.found_by(),
        services: Mutex::new(Services::default()),
        dependencies: Mutex::default(),
    });
    let answers = scope.clone();
    let resolver =
        move |domain: &Arc<dyn AnyDomain>, slot| answers.answer_slot(&Core::shared(domain.clone()), slot);
    let core = Core::new(&module, domain.resolver(Arc::new(resolver)))?;
    if mode.now {
        let unanswered = |missing| DlError::Imports { library: name.clone(), missing };
        scope.answer_all(&core, held).map_err(unanswered)?;
    }
    let image = core.image();
    let domain = Arc::new(Domain::from_core(core));
    Ok(Loaded::make(name, key, hash, (domain, image, None), scope, options))
}

/// A module in the domain of another library, whose constructors have not run yet.
///
/// # Errors
/// [`DlError::Join`], [`DlError::Imports`].
fn joining(
    path: &Path,
    key: FileKey,
    (module, hash): (Arc<Module>, Hash),
    home: Home,
    options: &Options,
    held: &mut Vec<Pin>,
) -> Result<Arc<Loaded>, DlError> {
    let name = file_name(path);
    let Home { base, needed } = home;
    let mut services = Services::default();
    services.add(&base.scope.services());
    let scope = Arc::new(Scope {
        library: name.clone(),
        policy: options.policy,
        beyond: None,
        services: Mutex::new(services),
        dependencies: Mutex::new([base.clone()].into_iter().chain(needed.iter().cloned()).collect()),
    });
    let targets = join::targets(&name, &module, &base, &needed, &scope, held)?;
    let image = base.core().join(&module, targets)?;
    let domain = base.domain.clone();
    Ok(Loaded::make(name, key, hash, (domain, image, Some(base)), scope, options))
}
