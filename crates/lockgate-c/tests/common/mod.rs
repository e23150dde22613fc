//! Programs in C for tests: the library installed as users have it, modules to call, compilers.
#![allow(dead_code, reason = "each test program uses a part")]

use lockgate_toolchain::{Link, Sysroot, silent};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The root of the source tree.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the tree is there")
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// The same; it must succeed.
pub fn done(command: &mut Command) -> String {
    lockgate_corpus::done(command).unwrap_or_else(|error| panic!("{error:#}"))
}

/// The folder in which cargo has just put the library.
pub fn built() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    test.parent().expect("a folder").to_owned()
}

/// Where the library is installed for all tests of this build, those of other packages as well.
pub fn installed() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lockgate");
        done(Command::new(root().join("scripts/install-library.sh")).arg(built()).arg(&prefix));
        prefix
    })
}

/// A folder with modules: `guest.lg`, `hostile.lg`, `client.lg`, `liar.lg`, `wild.lg`, `start.lg`, `first.lg`, `program.lg`, `refused.lg`, `garbage.lg`.
pub fn modules() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(make_modules)
}

fn make_modules() -> PathBuf {
    let folder = support::shared_folder();
    let source = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name);
    let gates = ["int host_add(int, int)", "void host_note(const char *)"];
    module(&folder, "guest.lg", &source("guest.c"), &gates);
    module(&folder, "hostile.lg", &source("hostile.c"), &["int host_measure(const char *)"]);
    module(&folder, "client.lg", &source("client.c"), &["int remote(int)"]);
    module(&folder, "wild.lg", &source("wild.c"), &[]);
    module(&folder, "liar.lg", &source("liar.c"), &[]);
    module(&folder, "start.lg", &source("start.c"), &[]);
    module(&folder, "first.lg", &source("first.c"), &["int host_add(int, int)"]);
    module(&folder, "program.lg", &source("program.c"), &[]);
    linked(&folder, "base.lg", &source("base.c"), |link| {
        link.base(true);
    });
    let base = folder.join("base.lg");
    linked(&folder, "part.lg", &source("part.c"), |link| {
        link.join(&base).expect("a base");
    });
    let mut bytes = std::fs::read(folder.join("guest.lg")).expect("just built");
    const LABEL: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
    let label = bytes.windows(4).position(|window| window == LABEL).expect("functions have labels");
    bytes[label..label + 4].copy_from_slice(&[0x0f, 0x05, 0x90, 0x90]); // syscall
    std::fs::write(folder.join("refused.lg"), bytes).expect("the folder is writable");
    std::fs::write(folder.join("garbage.lg"), "no module").expect("the folder is writable");
    folder
}

/// Builds a module from C that exports everything, with the signatures of its debug information.
pub fn module(folder: &Path, name: &str, source: &Path, gates: &[&str]) {
    linked(folder, name, source, |link| {
        for gate in gates {
            link.gate(gate).expect("a prototype");
        }
    });
}

/// The same with other options of the link.
fn linked(folder: &Path, name: &str, source: &Path, options: impl FnOnce(&mut Link)) {
    static SYSROOT: OnceLock<Sysroot> = OnceLock::new();
    let sysroot = SYSROOT.get_or_init(|| Sysroot::ensure(&silent).expect("the sysroot can be built"));
    let output = folder.join(name);
    let object = output.with_extension("o");
    done(sysroot.tools().compiler().args(["-O1", "-g", "-c"]).arg(source).arg("-o").arg(&object));
    let mut link = Link::new(&output);
    link.file(&object).expect("an object").export_all(true);
    options(&mut link);
    if let Err(error) = link.run(sysroot, &silent) {
        panic!("{error}");
    }
}

/// The languages in which a program in C must compile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    C99,
    Cpp17,
}

/// A compiler that takes no warning.
pub fn compiler(language: Language) -> Command {
    let (program, arguments) = match language {
        Language::C99 => ("gcc", ["-std=c99", "-D_GNU_SOURCE", "-x", "c"]),
        Language::Cpp17 => ("g++", ["-std=c++17", "-Wno-missing-field-initializers", "-x", "c++"]),
    };
    let mut compiler = Command::new(program);
    compiler.args(arguments).args(["-O0", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]);
    compiler.arg("-I").arg(installed().join("include"));
    compiler
}

/// Compiles a program and links it with the shared library.
pub fn program(language: Language, source: &Path, output: &Path, flags: &[&str]) {
    let library = installed().join("lib");
    let run_path = format!("-Wl,-rpath,{}", library.display());
    let mut compiler = compiler(language);
    compiler.args(flags).arg(source).arg("-o").arg(output).arg("-L").arg(&library);
    done(compiler.args(["-llockgate", "-lpthread", &run_path]));
}
