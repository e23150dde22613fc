//! The C++ library of modules: the compiler's libstdc++ and what it calls of glibc's that musl has not, rewritten when the first module
//! in C++ is linked (docs/sysroot.md).

use crate::cache::Key;
use crate::sysroot::{HEADERS, Source, archive, read, source, write};
use crate::{Error, Progress, Sysroot, process};
use lockgate_rewrite::Options;
use std::path::{Path, PathBuf};

/// Our own members, which libstdc++ is linked with; some stand in for its own.
const OURS: &[Source] = &[
    source!("c++/arc4random.c"),
    source!("c++/clocks.c"),
    source!("c++/dso_handle.c"),
    source!("c++/exit.c"),
    source!("c++/locale.c"),
    source!("c++/sendfile.c"),
    source!("c++/single_threaded.c"),
    source!("c++/terminate.cpp"),
    source!("c++/thread_atexit.c"),
];

/// Functions of glibc's that libstdc++ calls and looks behind: they are ours for it, and musl's for all others (`c++/locale.c`).
const RENAMED: &[(&str, &str)] = &[
    ("__newlocale", "_lg_newlocale"),
    ("__duplocale", "_lg_duplocale"),
    ("__freelocale", "_lg_freelocale"),
    ("__nl_langinfo_l", "_lg_nl_langinfo_l"),
];

/// What `-l` calls libstdc++, or a part of it.
const LIBRARIES: &[&str] = &["stdc++", "stdc++fs", "supc++"];

/// Members of libstdc++ that ours stand in for.
const REPLACED: &[&str] = &["vterminate.o"];

/// Names of the archives, in the order in which they are searched: libstdc++, and our members before musl's.
const ARCHIVES: [&str; 2] = ["libstdc++.a", "liblockgate-c++.a"];

/// Whether `-lname` is in [`archives`].
pub(crate) fn is_library(name: &str) -> bool {
    LIBRARIES.contains(&name)
}

/// The archives to link with before those of the sysroot; from the cache, or made there: a few seconds, once.
///
/// # Errors
/// [`Error::Missing`] if libstdc++ is not installed; [`Error::Rewrite`] if it cannot be rewritten.
pub(crate) fn archives(sysroot: &Sysroot, progress: Progress<'_>) -> Result<[PathBuf; 2], Error> {
    let path = sysroot.tools().libstdcxx()?;
    let library = read(&path)?;
    let mut key = Key::new("c++");
    key.add(sysroot.folder().as_os_str().as_encoded_bytes()).add(&library);
    let folder = sysroot.cache().entry(&key, |folder| build(sysroot, folder, &path, progress))?;
    Ok(ARCHIVES.map(|name| folder.join(name)))
}

fn build(sysroot: &Sysroot, folder: &Path, library: &Path, progress: Progress<'_>) -> Result<(), Error> {
    let [theirs, ours] = ARCHIVES;
    let (tools, options) = (sysroot.tools(), sysroot.options());
    for source in HEADERS.iter().chain(OURS) {
        write(&folder.join(source.path), source.text.as_bytes())?;
    }
    archive(tools, options, folder, ours, OURS)?;

    let renamed = folder.join(theirs);
    let mut objcopy = tools.binutil("objcopy")?;
    objcopy.arg("--enable-deterministic-archives");
    objcopy.args(RENAMED.iter().map(|(from, to)| format!("--redefine-sym={from}={to}")));
    process::run(objcopy.arg(library).arg(&renamed))?;
    let mut tell = |done: usize, members: usize| {
        progress("rewriting the C++ library", done as u64, members as u64);
    };
    let exclude = REPLACED.iter().map(|&name| name.to_owned()).collect();
    let options = Options { exclude, ..options.clone() };
    let rewritten = lockgate_rewrite::rewrite_archive(theirs, &read(&renamed)?, &options, &mut tell)?;
    write(&renamed, &rewritten.bytes)
}

/// Whether an export is named as C++ names what is in a scope.
pub(crate) fn is_scoped(name: &str) -> bool {
    let head = name.split('(').next().unwrap_or_default();
    head.contains("::")
}

/// The symbol among `functions` of the function that `name` names: with its parameters, or without if there is one only.
///
/// # Errors
/// [`Error::MissingExports`], or [`Error::Usage`] if there are several.
pub(crate) fn symbol(functions: &[String], name: &str) -> Result<String, Error> {
    let wanted = without_spaces(name);
    let found = matching(functions, |there| there == wanted || starts(there, &wanted));
    one(found, name)?.ok_or_else(|| Error::MissingExports(vec![name.to_owned()]))
}

/// Names that are none of `functions`' symbols, but those of functions of C++ in no scope; and their symbols.
///
/// # Errors
/// [`Error::Usage`] if there are several with one name.
pub(crate) fn aliases<'n>(
    functions: &[String],
    names: impl Iterator<Item = &'n str>,
) -> Result<Vec<(String, String)>, Error> {
    let mut aliases = Vec::new();
    for name in names.filter(|name| !functions.iter().any(|function| function == name)) {
        let found = one(matching(functions, |there| starts(there, name)), name)?;
        aliases.extend(found.map(|symbol| (name.to_owned(), symbol)));
    }
    Ok(aliases)
}

/// Whether a readable name is `name` with parameters.
fn starts(there: &str, name: &str) -> bool {
    there.strip_prefix(name).is_some_and(|rest| rest.starts_with('('))
}

/// Symbols of the functions of C++ whose readable names, without spaces, are as they should be, and these.
fn matching(functions: &[String], is: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let mangled = functions.iter().filter(|function| function.starts_with("_Z"));
    let named = mangled.filter_map(|symbol| Some((symbol.clone(), lockgate_outside::demangled(symbol)?)));
    named.filter(|(_, name)| is(&without_spaces(name))).collect()
}

/// # Errors
/// [`Error::Usage`] if there are several.
fn one(found: Vec<(String, String)>, name: &str) -> Result<Option<String>, Error> {
    if found.len() > 1 {
        let names: Vec<String> = found.into_iter().map(|(_, name)| name).collect();
        return Err(Error::Usage(format!(
            "--export {name}: several functions have this name: {}",
            names.join("; ")
        )));
    }
    Ok(found.into_iter().next().map(|(symbol, _)| symbol))
}

fn without_spaces(name: &str) -> String {
    name.chars().filter(|c| !c.is_whitespace()).collect()
}
