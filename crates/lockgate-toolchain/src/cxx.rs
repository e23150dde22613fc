//! The C++ library of modules: the compiler's libstdc++ and what it calls of glibc's that musl has not, rewritten when the first module
//! in C++ is linked (docs/sysroot.md).

use crate::cache::Key;
use crate::sysroot::{HEADERS, Source, compile, read, source, write};
use crate::{Error, Progress, Sysroot, process};
use std::path::{Path, PathBuf};

/// Our own members, which libstdc++ is linked with.
const OURS: &[Source] = &[
    source!("c++/arc4random.c"),
    source!("c++/clocks.c"),
    source!("c++/dso_handle.c"),
    source!("c++/exit.c"),
    source!("c++/locale.c"),
    source!("c++/sendfile.c"),
    source!("c++/single_threaded.c"),
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

/// Names of the archives: our members, and libstdc++.
const ARCHIVES: [&str; 2] = ["liblockgate-c++.a", "libstdc++.a"];

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
    let [ours, theirs] = ARCHIVES;
    let (tools, options) = (sysroot.tools(), sysroot.options());
    for source in HEADERS.iter().chain(OURS) {
        write(&folder.join(source.path), source.text.as_bytes())?;
    }
    for source in OURS {
        compile(tools, options, folder, source)?;
    }
    process::run(tools.ar()?.current_dir(folder).args(["rcD", ours]).args(OURS.iter().map(Source::object)))?;

    let renamed = folder.join(theirs);
    let mut objcopy = tools.binutil("objcopy")?;
    objcopy.arg("--enable-deterministic-archives");
    objcopy.args(RENAMED.iter().map(|(from, to)| format!("--redefine-sym={from}={to}")));
    process::run(objcopy.arg(library).arg(&renamed))?;
    let mut tell = |done: usize, members: usize| {
        progress("rewriting the C++ library", done as u64, members as u64);
    };
    let rewritten = lockgate_rewrite::rewrite_archive(theirs, &read(&renamed)?, options, &mut tell)?;
    write(&renamed, &rewritten.bytes)
}
