//! Programs in C that use the library as theirs does: every function, every error, hostile modules. Each is compiled as
//! C99 and as C++17 without a warning.

use crate::common::{Language, compiler, done, program};
use std::path::Path;
use std::process::Command;
use support::Part;

const PROGRAMS: [&str; 20] = [
    "modules",
    "calls",
    "domains",
    "detached",
    "memory",
    "callbacks",
    "grants",
    "arenas",
    "registry",
    "remote",
    "alone",
    "covered",
    "handlers",
    "plain_handlers",
    "threads",
    "hosts",
    "jumps",
    "forks",
    "dlopen",
    "lies",
];

/// Compiles `tests/c/NAME.c` and runs it among the modules; as C++ some of them, and in `make thorough` all.
fn passes(name: &str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name).with_extension("c");
    let folder = tempfile::tempdir().expect("a scratch folder");
    let index = PROGRAMS.iter().position(|program| *program == name).expect("it is one of them");
    let as_cpp = Part::one_in(3, "programs as C++").has(index);
    for language in [Language::C99, Language::Cpp17].into_iter().take(1 + usize::from(as_cpp)) {
        let binary = folder.path().join(format!("{name}-{language:?}"));
        program(language, &source, &binary, &[]);
        done(Command::new(&binary).current_dir(crate::common::modules()));
    }
}

/// A program that is linked with the archive, and a plugin of it with the shared library.
#[test]
fn two_copies_of_the_library_live_in_one_process() {
    let source = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name);
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (plugin, host) = (folder.path().join("plugin.so"), folder.path().join("host"));
    program(Language::C99, &source("plugin.c"), &plugin, &["-shared", "-fPIC"]);
    let mut compiler = crate::common::compiler(Language::C99);
    compiler.arg("-Wno-pedantic").arg(source("two.c")).arg("-o").arg(&host);
    compiler.args(["-x", "none"]).arg(crate::common::installed().join("lib/liblockgate.a"));
    done(compiler.args(["-lm", "-lpthread", "-ldl"]));
    done(Command::new(&host).arg(&plugin).current_dir(crate::common::modules()));
}

#[test]
fn modules() {
    passes("modules");
}

#[test]
fn calls() {
    passes("calls");
}

#[test]
fn domains() {
    passes("domains");
}

#[test]
fn detached() {
    passes("detached");
}

#[test]
fn memory() {
    passes("memory");
}

#[test]
fn callbacks() {
    passes("callbacks");
}

#[test]
fn grants() {
    passes("grants");
}

#[test]
fn arenas() {
    passes("arenas");
}

#[test]
fn registry() {
    passes("registry");
}

#[test]
fn remote() {
    passes("remote");
}

#[test]
fn alone() {
    passes("alone");
}

#[test]
fn covered() {
    passes("covered");
}

#[test]
fn handlers() {
    passes("handlers");
}

/// Red without `leave_small_stack`: the handler writes over what lies beside its thread's alternate stack.
#[test]
fn plain_handlers() {
    passes("plain_handlers");
}

#[test]
fn threads() {
    passes("threads");
}

#[test]
fn hosts() {
    passes("hosts");
}

#[test]
fn jumps() {
    passes("jumps");
}

#[test]
fn forks() {
    passes("forks");
}

#[test]
fn dlopen() {
    passes("dlopen");
}

#[test]
fn lies() {
    passes("lies");
}

/// Where the program's compiler makes other structures and enumerations than the library has, it says so.
#[test]
fn structures_are_those_of_the_library() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let source = folder.path().join("source.c");
    for (text, options, good) in [
        ("", [].as_slice(), true),
        ("", &["-fpack-struct=8"], true),
        ("", &["-fpack-struct"], false),
        ("", &["-fpack-struct=4"], false),
        ("", &["-fshort-enums"], false),
        ("#pragma pack(push, 2)\n", &[], false),
    ] {
        std::fs::write(&source, format!("{text}#include <lockgate.h>\n")).expect("a file");
        for language in [Language::C99, Language::Cpp17] {
            let mut compiler = compiler(language);
            compiler.args(options).arg("-fsyntax-only").arg(&source);
            let output = compiler.output().expect("a compiler");
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.success(), good, "{language:?} {options:?} {text}: {said}");
            assert!(good || said.contains("lg_structures_are_as_in_the_library"), "{said}");
        }
    }
}
