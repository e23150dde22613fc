//! The libraries: which files of which package, with which flags.

use crate::{Corpus, Error};
use std::path::PathBuf;

/// One C library, ready to compile: every source with the same flags.
#[derive(Debug, Clone)]
pub struct Library {
    /// Short name: `sqlite`, `lua`, ….
    pub name: &'static str,
    /// C files, absolute, in alphabetical order.
    pub sources: Vec<PathBuf>,
    /// Include folders, absolute.
    pub includes: Vec<PathBuf>,
    /// Macros, `NAME` or `NAME=VALUE`.
    pub defines: &'static [&'static str],
}

impl Library {
    /// The `-I` and `-D` arguments for a compiler.
    pub fn flags(&self) -> Vec<String> {
        let includes = self.includes.iter().map(|folder| format!("-I{}", folder.display()));
        includes.chain(self.defines.iter().map(|define| format!("-D{define}"))).collect()
    }
}

/// Where a library's files lie in its package.
struct Entry {
    name: &'static str,
    package: &'static str,
    /// Folders of which every C file is compiled.
    folders: &'static [&'static str],
    /// File names in those folders that are not part of the library.
    without: &'static [&'static str],
    /// Include folders, in the package.
    includes: &'static [&'static str],
    defines: &'static [&'static str],
    /// Libraries whose headers this one includes (and which it must be linked with).
    needs: &'static [&'static str],
}

/// Names of all libraries.
pub const LIBRARIES: &[&str] = &["bzip2", "expat", "lua", "png", "sqlite", "zlib", "zstd"];

/// A second SQLite, that of its shell: not among [`LIBRARIES`], as it is the same code once more.
pub const SHELL: &str = "sqlite-shell";

const ENTRIES: &[Entry] = &[
    Entry {
        name: "bzip2",
        package: "bzip2-sys",
        folders: &["bzip2-1.0.8"],
        // Programs and tests.
        without: &["bzip2.c", "bzip2recover.c", "dlltest.c", "mk251.c", "spewG.c", "unzcrash.c"],
        includes: &["bzip2-1.0.8"],
        defines: &["BZ_NO_STDIO"],
        needs: &[],
    },
    Entry {
        name: "expat",
        package: "expat-sys",
        folders: &["expat/lib"],
        // Included by xmltok.c.
        without: &["xmltok_impl.c", "xmltok_ns.c"],
        includes: &["expat/lib"],
        // What its configure script finds on Linux.
        defines: &["HAVE_MEMMOVE", "BYTEORDER=1234", "XML_NS", "XML_DTD", "XML_CONTEXT_BYTES=1024"],
        needs: &[],
    },
    Entry {
        name: "lua",
        package: "lua-src",
        folders: &["lua-5.4.9"],
        without: &[],
        includes: &["lua-5.4.9"],
        defines: &["LUA_USE_POSIX"],
        needs: &[],
    },
    Entry {
        name: "png",
        package: "libpng-sys",
        folders: &["vendor"],
        without: &["example.c", "pngtest.c"],
        includes: &["vendor"],
        defines: &["PNG_INTEL_SSE_OPT=0"],
        needs: &["zlib"],
    },
    Entry {
        name: "sqlite",
        package: "libsqlite3-sys",
        folders: &["sqlite3"],
        without: &["wasm32-wasi-vfs.c"],
        includes: &["sqlite3"],
        defines: &[
            "SQLITE_THREADSAFE=0",
            "SQLITE_OMIT_LOAD_EXTENSION",
            "SQLITE_DEFAULT_MEMSTATUS=0",
            "SQLITE_ENABLE_FTS5",
            "SQLITE_ENABLE_RTREE",
            "SQLITE_ENABLE_MATH_FUNCTIONS",
        ],
        needs: &[],
    },
    Entry {
        name: SHELL,
        package: "sqlite3-src",
        folders: &["source"],
        without: &["shell.c"],
        includes: &["source"],
        defines: &["SQLITE_THREADSAFE=0", "SQLITE_OMIT_LOAD_EXTENSION", "SQLITE_ENABLE_FTS5"],
        needs: &[],
    },
    Entry {
        name: "zlib",
        package: "libz-sys",
        folders: &["src/zlib"],
        without: &[],
        includes: &["src/zlib"],
        defines: &["HAVE_UNISTD_H"],
        needs: &[],
    },
    Entry {
        name: "zstd",
        package: "zstd-sys",
        folders: &["zstd/lib/common", "zstd/lib/compress", "zstd/lib/decompress"],
        without: &[],
        includes: &["zstd/lib"],
        defines: &["ZSTD_DISABLE_ASM"],
        needs: &[],
    },
];

impl Corpus {
    /// The library `name` ([`LIBRARIES`] lists them). A library that needs another one (`png` needs `zlib`) has
    /// that one's include folders, but not its sources.
    pub fn library(&self, name: &str) -> Result<Library, Error> {
        let entry = ENTRIES.iter().find(|entry| entry.name == name).ok_or_else(|| Error::Unknown {
            kind: "library",
            name: name.to_owned(),
            known: LIBRARIES.join(", "),
        })?;
        let package = self.package(entry.package)?;
        let mut sources = Vec::new();
        for folder in entry.folders {
            let path = package.join(folder);
            let files = std::fs::read_dir(&path).map_err(|error| Error::Io { path: path.clone(), error })?;
            let mut found: Vec<PathBuf> = files
                .filter_map(|file| Some(file.ok()?.path()))
                .filter(|file| file.extension().is_some_and(|extension| extension == "c"))
                .filter(|file| !entry.without.iter().any(|name| file.ends_with(name)))
                .collect();
            found.sort();
            sources.append(&mut found);
        }
        let mut includes: Vec<PathBuf> = entry.includes.iter().map(|folder| package.join(folder)).collect();
        // Configuration headers of ours, for libraries whose configure script would make one.
        includes.push(self.root().join("corpus/include"));
        for needed in entry.needs {
            includes.append(&mut self.library(needed)?.includes);
        }
        Ok(Library { name: entry.name, sources, includes, defines: entry.defines })
    }
}
