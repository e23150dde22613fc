//! The C++ library of modules: the compiler's libstdc++ or libc++ and what it calls of glibc's that musl has not, rewritten when the first
//! module in C++ is linked (docs/sysroot.md).

use crate::cache::Key;
use crate::input::Input;
use crate::sysroot::{HEADERS, Source, archive, read, rename, source, write};
use crate::{CxxLibrary, Error, Progress, Sysroot};
use lockgate_rewrite::Options;
use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// How a library is made ready for modules.
struct Recipe {
    /// Its archives.
    theirs: &'static [&'static str],
    /// The archive of our own members.
    ours: &'static str,
    /// These: what it is linked with; some stand in for its own.
    sources: &'static [Source],
    /// Functions of glibc's that it calls and looks behind: they are ours for it, and musl's for all others (`c++/locale.c`).
    renamed: &'static [(&'static str, &'static str)],
    /// Members that ours stand in for.
    replaced: &'static [&'static str],
}

const LIBSTDCXX: Recipe = Recipe {
    theirs: &["libstdc++.a"],
    ours: "liblockgate-c++.a",
    sources: &[
        source!("c++/arc4random.c"),
        source!("c++/clocks.c"),
        source!("c++/dso_handle.c"),
        source!("c++/locale.c"),
        source!("c++/sendfile.c"),
        source!("c++/single_threaded.c"),
        source!("c++/terminate.cpp"),
        source!("c++/thread_atexit.c"),
    ],
    renamed: &[
        ("__newlocale", "_lg_newlocale"),
        ("__duplocale", "_lg_duplocale"),
        ("__freelocale", "_lg_freelocale"),
        ("__nl_langinfo_l", "_lg_nl_langinfo_l"),
    ],
    replaced: &["vterminate.o"],
};

const LIBCXX: Recipe = Recipe {
    theirs: &["libc++.a", "libc++abi.a"],
    ours: "liblockgate-libc++.a",
    sources: &[
        source!("c++/dso_handle.c"),
        source!("c++/locale.c"),
        source!("c++/sendfile.c"),
        source!("c++/thread_atexit.c"),
        source!("libc++/abort_message.c"),
        source!("libc++/glibc.c"),
    ],
    renamed: &[
        ("newlocale", "_lg_newlocale"),
        ("freelocale", "_lg_freelocale"),
        ("strerror_r", "_lg_strerror_r"),
    ],
    replaced: &["abort_message.cpp.o"],
};

impl CxxLibrary {
    fn recipe(self) -> &'static Recipe {
        match self {
            CxxLibrary::Libstdcxx => &LIBSTDCXX,
            CxxLibrary::Libcxx => &LIBCXX,
        }
    }

    /// The archives to link with before those of the sysroot, in the order in which they are searched: the library, and our members
    /// before musl's; from the cache, or made there: a few seconds, once.
    ///
    /// # Errors
    /// [`Error::Missing`] if the library is not installed; [`Error::Rewrite`] if it cannot be rewritten.
    pub(crate) fn archives(self, sysroot: &Sysroot, progress: Progress<'_>) -> Result<Vec<PathBuf>, Error> {
        let recipe = self.recipe();
        let paths = self.installed(sysroot)?;
        let mut key = Key::new("c++");
        key.add(sysroot.folder().as_os_str().as_encoded_bytes());
        // It compiles our members.
        key.add(sysroot.tools().gxx().as_os_str().as_encoded_bytes());
        for path in &paths {
            key.add(&read(path)?);
        }
        let make = |folder: &Path| recipe.build(sysroot, folder, &paths, progress);
        let folder = sysroot.cache().entry(&key, make)?;
        Ok(recipe.theirs.iter().chain([&recipe.ours]).map(|name| folder.join(name)).collect())
    }

    /// Its archives where the compiler has them.
    fn installed(self, sysroot: &Sysroot) -> Result<Vec<PathBuf>, Error> {
        let mut paths = Vec::new();
        for name in self.recipe().theirs {
            // Debian has libc++abi.a only where libc++.a really lies.
            let beside = paths.first().and_then(|first: &PathBuf| first.canonicalize().ok());
            let beside = beside.map(|first| first.with_file_name(name)).filter(|path| path.is_file());
            paths.push(beside.map_or_else(|| sysroot.tools().cxx_archive(self, name), Ok)?);
        }
        Ok(paths)
    }

    /// Names of its functions and objects, for modules that contain all of it.
    pub(crate) fn symbols(self, sysroot: &Sysroot, progress: Progress<'_>) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        for archive in self.archives(sysroot, progress)? {
            let archive = Input::read(&archive)?;
            names.extend(archive.functions());
            names.extend(archive.data());
        }
        Ok(names)
    }
}

impl Recipe {
    fn build(
        &self,
        sysroot: &Sysroot,
        folder: &Path,
        libraries: &[PathBuf],
        progress: Progress<'_>,
    ) -> Result<(), Error> {
        let (tools, options) = (sysroot.tools(), sysroot.options());
        for source in HEADERS.iter().chain(self.sources) {
            write(&folder.join(source.path), source.text.as_bytes())?;
        }
        archive(tools, options, folder, self.ours, self.sources)?;
        for (&name, library) in self.theirs.iter().zip(libraries) {
            let renamed = folder.join(name);
            rename(tools, self.renamed, library, &renamed)?;
            let mut tell = |done: usize, members: usize| {
                progress("rewriting the C++ library", done as u64, members as u64);
            };
            let exclude = self.replaced.iter().map(|&name| name.to_owned()).collect();
            let options = Options { exclude, ..options.clone() };
            let rewritten = lockgate_rewrite::rewrite_archive(name, &read(&renamed)?, &options, &mut tell)?;
            write(&renamed, &rewritten.bytes)?;
        }
        Ok(())
    }
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
    // Inputs are untrusted: each of their names is looked at once, and not for each of the others.
    let symbols: HashSet<&str> = functions.iter().map(String::as_str).collect();
    let readable = LazyCell::new(|| {
        let mut readable: HashMap<String, Vec<(String, String)>> = HashMap::new();
        for (symbol, there) in matching(functions, |_| true) {
            // (No name has a parenthesis.)
            let name = there.find('(').map(|end| without_spaces(&there[..end]));
            readable.entry(name.unwrap_or_default()).or_default().push((symbol, there));
        }
        readable
    });
    let mut aliases = Vec::new();
    for name in names.filter(|name| !symbols.contains(name)) {
        let found = one(readable.get(name).cloned().unwrap_or_default(), name)?;
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
    let named = mangled.filter_map(|symbol| {
        Some((symbol.clone(), lockgate_outside::demangled(symbol, lockgate_outside::ROOM)?))
    });
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// Objects and archives are untrusted, and have as many names as there is room for. Red if each is compared with each: a minute.
    #[test]
    fn many_names_take_little_time() {
        const MANY: usize = 100_000;
        let plain = (0..MANY).map(|n| format!("function{n}"));
        let functions: Vec<String> = plain.chain((0..MANY / 10).map(|n| format!("_Z9name{n:05}i"))).collect();
        let absent: Vec<String> = (0..MANY / 50).map(|n| format!("absent{n}")).collect();
        let start = Instant::now();
        let names = functions.iter().chain(&absent).map(String::as_str);
        assert!(aliases(&functions, names).unwrap().is_empty());
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    }

    #[test]
    fn functions_of_cxx_are_found_by_their_names() {
        let functions = ["_Z3addii", "_ZN5shape4areaEv", "plain"].map(str::to_owned);
        let found = aliases(&functions, ["add", "plain", "area", "shape"].into_iter()).unwrap();
        assert_eq!(found, [("add".to_owned(), "_Z3addii".to_owned())]);
        let functions = ["_Z3addii", "_Z3addd"].map(str::to_owned);
        assert!(
            aliases(&functions, ["add"].into_iter()).unwrap_err().to_string().contains("several functions")
        );
    }

    /// With its parameters, or without if there is one only; spaces do not count. Red if a part of a name will do, or one of several is taken.
    #[test]
    fn functions_in_scopes_are_found_by_their_readable_names() {
        let functions = ["_ZN4shop4halfEi", "_ZN4shop4halfEd", "_ZN4shop7quarterERKi", "half"];
        let functions = functions.map(str::to_owned);
        let found = |name: &str| symbol(&functions, name).map_err(|error| error.to_string());
        assert_eq!(found("shop::half(int)").unwrap(), "_ZN4shop4halfEi");
        assert_eq!(found("shop::half( double )").unwrap(), "_ZN4shop4halfEd");
        for name in ["shop::quarter", "shop::quarter(int const&)", "shop::quarter(int const &)"] {
            assert_eq!(found(name).unwrap(), "_ZN4shop7quarterERKi", "{name}");
        }
        assert!(found("shop::half").unwrap_err().contains("shop::half(int); shop::half(double)"));
        for name in ["shop::quart", "shop::quarter(int)", "quarter", "shop::half()"] {
            assert!(found(name).unwrap_err().contains(&format!("nothing to export: {name}")), "{name}");
        }
    }
}
