//! What the driver uses of the machine: gcc and g++ or clang, GNU ld, musl's headers and archive, libgcc, libstdc++ or libc++.

use crate::cache::{Cache, Key};
use crate::process::INSTALL;
use crate::{CxxLibrary, Error, process};
use lockgate_headers::{
    ANNOTATIONS_H, EXECINFO_H, LOCKGATE_GRANT_H, LOCKGATE_H, LOCKGATE_PG_H, LOCKGATE_RING_H, LOCKGATE_STUBS_H,
};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where distributions put musl: headers, archive.
const MUSL: &[(&str, &str)] = &[
    ("/usr/include/x86_64-linux-musl", "/usr/lib/x86_64-linux-musl"),
    ("/usr/x86_64-linux-musl/include", "/usr/x86_64-linux-musl/lib64"),
    ("/usr/lib/musl/include", "/usr/lib/musl/lib"),
    ("/usr/local/musl/include", "/usr/local/musl/lib"),
];

/// Our own headers for modules, and for programs of which they are parts: names and texts.
const HEADERS: &[(&str, &str)] = &[
    ("lockgate_ring.h", LOCKGATE_RING_H),
    ("lockgate_grant.h", LOCKGATE_GRANT_H),
    ("lockgate_pg.h", LOCKGATE_PG_H),
    ("execinfo.h", EXECINFO_H),
    ("lockgate/annotations.h", ANNOTATIONS_H),
    ("lockgate.h", LOCKGATE_H),
    ("lockgate_stubs.h", LOCKGATE_STUBS_H),
    ("c++/pthread.h", include_str!("../sysroot/include/c++/pthread.h")),
    ("c++/sys/single_threaded.h", include_str!("../sysroot/include/c++/sys/single_threaded.h")),
    ("c++/bits/ctype_base.h", include_str!("../sysroot/include/c++/bits/ctype_base.h")),
    ("c++/bits/os_defines.h", include_str!("../sysroot/include/c++/bits/os_defines.h")),
    ("libc++/__config", include_str!("../sysroot/include/libc++/__config")),
    ("libc++/__locale", include_str!("../sysroot/include/libc++/__locale")),
];

/// Headers of the kernel's interface, which musl has none of: their folders, and where distributions put them.
const KERNEL: &[(&str, &[&str])] = &[
    ("linux", &["/usr/include/linux"]),
    ("asm", &["/usr/include/x86_64-linux-gnu/asm", "/usr/include/asm"]),
    ("asm-generic", &["/usr/include/asm-generic"]),
];

/// The compilers, their folders, musl's and ours.
#[derive(Debug, Clone)]
pub struct Tools {
    /// For sources of modules.
    cc: Compiler,
    /// For everything else, the sysroot among it.
    gcc: Compiler,
    libgcc: PathBuf,
    musl_include: PathBuf,
    musl_lib: PathBuf,
    /// [`HEADERS`], in the user's cache.
    own_include: PathBuf,
}

/// A command that compiles C.
#[derive(Debug, Clone)]
struct Compiler {
    program: PathBuf,
    /// The folder of its own headers.
    include: PathBuf,
}

impl Compiler {
    fn find(program: PathBuf) -> Result<Compiler, Error> {
        let include = gcc_file(&program, "include")?;
        Ok(Compiler { program, include })
    }

    /// clang has its headers in a folder `clang/VERSION/include`.
    fn is_clang(&self) -> bool {
        self.include.components().any(|part| part.as_os_str() == "clang")
    }
}

impl Tools {
    /// Finds them. `LOCKGATE_GCC` names another compiler command, `LOCKGATE_MUSL` a folder with musl's `include` and
    /// `lib`. Where the former is a clang it compiles sources; the sysroot is gcc's.
    ///
    /// # Errors
    /// [`Error::Missing`] says what to install.
    pub fn find() -> Result<Tools, Error> {
        const GCC: &str = "gcc";
        let cc = Compiler::find(std::env::var_os("LOCKGATE_GCC").unwrap_or_else(|| GCC.into()).into())?;
        let (musl_include, musl_lib) = musl(std::env::var_os("LOCKGATE_MUSL"))?;
        let gcc = if cc.is_clang() { Compiler::find(GCC.into())? } else { cc.clone() };
        let libgcc = gcc_file(&gcc.program, "libgcc.a")?;
        let own_include = headers()?;
        Ok(Tools { cc, gcc, libgcc, musl_include, musl_lib, own_include })
    }

    /// `gcc` with musl's and our headers instead of the host's, making position-independent code; arguments follow.
    pub fn compiler(&self) -> Command {
        self.command(&self.gcc)
    }

    /// The same for sources of modules: clang, where that was named.
    pub(crate) fn source_compiler(&self) -> Command {
        self.command(&self.cc)
    }

    fn command(&self, compiler: &Compiler) -> Command {
        let mut command = Command::new(&compiler.program);
        if !compiler.is_clang() {
            // A nested function whose address is taken needs code on the stack, which is never executable: better said now.
            command.arg("-Werror=trampolines");
            // Values in r10 and r11 across calls: one is saved at a cost, and two are refused (`across` in the rewriter).
            command.arg("-fno-ipa-ra");
        }
        command.args(["-fPIE", "-nostdinc", "-idirafter"]).arg(&self.musl_include);
        for folder in [&compiler.include, &self.own_include] {
            command.arg("-idirafter").arg(folder);
        }
        command
    }

    /// The same for sources in C++, among others; or `g++`, for which every source is one.
    ///
    /// # Errors
    /// [`Error::Missing`] if the compiler or the library's headers are not installed.
    pub fn cxx_compiler(&self, every_source: bool, library: CxxLibrary) -> Result<Command, Error> {
        let mut folders = vec![self.own_include.join(library.own_headers())];
        folders.extend(self.cxx_headers(library)?);
        // Compilers search these for sources in C++ alone, behind -isystem and before -idirafter.
        const FOLDERS: &str = "CPLUS_INCLUDE_PATH";
        if let Some(more) = std::env::var_os(FOLDERS) {
            let more = std::env::split_paths(&more).filter(|folder| !folder.as_os_str().is_empty());
            folders.splice(0..0, more);
        }
        let folders =
            std::env::join_paths(folders).map_err(|error| Error::Usage(format!("{FOLDERS}: {error}")))?;
        let mut command = match every_source {
            true => self.command(&Compiler::find(self.gxx()).map_err(|_| self.no_cxx(library))?),
            false => self.source_compiler(),
        };
        command.env(FOLDERS, folders);
        Ok(command)
    }

    /// Whether the compiler of sources has options that name the files beside its output: gcc, and no clang. `every_source` is one in C++.
    pub(crate) fn names_dumps(&self, every_source: bool) -> Result<bool, Error> {
        let is_clang = match every_source {
            true => Compiler::find(self.gxx()).map_err(|_| self.no_cxx(CxxLibrary::default()))?.is_clang(),
            false => self.cc.is_clang(),
        };
        Ok(!is_clang)
    }

    /// `g++`: `LOCKGATE_GXX`, or what belongs to `LOCKGATE_GCC`.
    pub(crate) fn gxx(&self) -> PathBuf {
        if let Some(command) = std::env::var_os("LOCKGATE_GXX") {
            return command.into();
        }
        let name = self.cc.program.file_name().unwrap_or_default().to_string_lossy();
        let name = match self.cc.is_clang() {
            true => name.replacen("clang", "clang++", 1),
            false => name.replacen("gcc", "g++", 1),
        };
        self.cc.program.with_file_name(name)
    }

    /// The folders of the library's headers, as g++ or clang++ says them.
    fn cxx_headers(&self, library: CxxLibrary) -> Result<Vec<PathBuf>, Error> {
        let mut command = Command::new(self.gxx());
        command.env("LC_ALL", "C").args(["-E", "-v", "-x", "c++", "/dev/null"]);
        // g++ knows no option for its own.
        command.args((library == CxxLibrary::Libcxx).then_some("-stdlib=libc++"));
        let said = process::output(&mut command).map_err(|_| self.no_cxx(library))?;
        let said = String::from_utf8_lossy(&said.stderr);
        let folders = said.lines().skip_while(|line| !line.starts_with("#include <...>")).skip(1);
        let folders = folders.take_while(|line| line.starts_with(' ')).map(|line| Path::new(line.trim()));
        let is_cxx = |folder: &&Path| folder.components().any(|part| part.as_os_str() == "c++");
        let folders: Vec<PathBuf> = folders.filter(is_cxx).map(Path::to_owned).collect();
        if folders.is_empty() { Err(self.no_cxx(library)) } else { Ok(folders) }
    }

    /// An archive of the C++ library.
    ///
    /// # Errors
    /// [`Error::Missing`] if it is not installed.
    pub(crate) fn cxx_archive(&self, library: CxxLibrary, name: &str) -> Result<PathBuf, Error> {
        gcc_file(&self.gxx(), name).map_err(|_| self.no_cxx(library))
    }

    fn no_cxx(&self, library: CxxLibrary) -> Error {
        let (what, remedy) = match library {
            CxxLibrary::Libstdcxx => (
                "with libstdc++ (headers and libstdc++.a)",
                "install it: apt-get install g++ (Debian, Ubuntu), dnf install gcc-c++ libstdc++-static (Fedora), or name it with \
                 LOCKGATE_GXX",
            ),
            CxxLibrary::Libcxx => (
                "with libc++ (headers, libc++.a and libc++abi.a)",
                "it is clang's library: apt-get install clang libc++-dev libc++abi-dev (Debian, Ubuntu), and LOCKGATE_GXX=clang++",
            ),
        };
        Error::Missing { what: format!("{} {what}", self.gxx().display()), remedy: remedy.to_owned() }
    }

    /// The folders of [`Tools::compiler`], in the order in which it searches them.
    pub fn header_folders(&self) -> [&Path; 3] {
        [&self.musl_include, &self.gcc.include, &self.own_include]
    }

    /// `gcc` as it is.
    pub fn gcc(&self) -> Command {
        Command::new(&self.gcc.program)
    }

    /// Folder of our own headers for modules, which annotated programs include, too.
    pub fn headers(&self) -> &Path {
        &self.own_include
    }

    /// A program of binutils that belongs to `gcc`.
    ///
    /// # Errors
    /// [`Error::Missing`] if gcc cannot be started.
    pub fn binutil(&self, name: &str) -> Result<Command, Error> {
        self.program(name)
    }

    /// The linker that gcc would use.
    pub(crate) fn ld(&self) -> Result<Command, Error> {
        self.program("ld")
    }

    /// The archiver that belongs to it.
    pub(crate) fn ar(&self) -> Result<Command, Error> {
        self.program("ar")
    }

    fn program(&self, name: &str) -> Result<Command, Error> {
        let path = process::run(self.gcc().arg(format!("-print-prog-name={name}")))?;
        Ok(Command::new(path.trim()))
    }

    /// musl's `libc.a`.
    pub(crate) fn libc(&self) -> PathBuf {
        self.musl_lib.join("libc.a")
    }

    /// gcc's `libgcc.a`.
    pub(crate) fn libgcc(&self) -> &Path {
        &self.libgcc
    }
}

/// A folder with [`HEADERS`], and links to those of [`KERNEL`] that are there.
fn headers() -> Result<PathBuf, Error> {
    let mut key = Key::new("headers");
    let kernel = KERNEL.iter().filter_map(|(name, places)| {
        places.iter().find(|place| Path::new(place).is_dir()).map(|place| (*name, *place))
    });
    let kernel: Vec<(&str, &str)> = kernel.collect();
    for (name, place) in &kernel {
        key.add(name.as_bytes()).add(place.as_bytes());
    }
    for (name, text) in HEADERS {
        key.add(name.as_bytes()).add(text.as_bytes());
    }
    Cache::open()?.entry(&key, |folder| {
        HEADERS.iter().try_for_each(|(name, text)| {
            let path = folder.join(name);
            let parent = path.parent().unwrap_or(folder);
            std::fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
            std::fs::write(&path, text).map_err(Error::io("write", &path))
        })?;
        kernel.iter().try_for_each(|(name, place)| {
            let path = folder.join(name);
            std::os::unix::fs::symlink(place, &path).map_err(Error::io("create", &path))
        })
    })
}

fn musl(prefix: Option<OsString>) -> Result<(PathBuf, PathBuf), Error> {
    let candidates: Vec<(PathBuf, PathBuf)> = match &prefix {
        Some(prefix) => vec![(Path::new(prefix).join("include"), Path::new(prefix).join("lib"))],
        None => MUSL.iter().map(|(include, lib)| (include.into(), lib.into())).collect(),
    };
    let whole = |(include, lib): &(PathBuf, PathBuf)| {
        include.join("features.h").is_file() && lib.join("libc.a").is_file()
    };
    candidates.iter().find(|candidate| whole(candidate)).cloned().ok_or_else(|| Error::Missing {
        what: format!(
            "musl (headers and libc.a; looked in {})",
            candidates
                .iter()
                .map(|(include, _)| include.display().to_string())
                .collect::<Vec<_>>()
                .join(", ")
        ),
        remedy: INSTALL.to_owned(),
    })
}

/// Where gcc has one of its own files.
fn gcc_file(gcc: &Path, name: &str) -> Result<PathBuf, Error> {
    let path = PathBuf::from(process::run(Command::new(gcc).arg(format!("-print-file-name={name}")))?.trim());
    // gcc prints the bare name of what it does not have.
    if !path.is_absolute() {
        let what = format!("{name} of {}", gcc.display());
        return Err(Error::Missing { what, remedy: INSTALL.to_owned() });
    }
    Ok(path)
}
