//! Hosts under AddressSanitizer, UndefinedBehaviorSanitizer, ThreadSanitizer and valgrind: nothing is reported of what the library does, and what
//! the host does wrong is reported still (docs/debugging.md).

use crate::common::{Language, done, modules, program, root, run};
use std::path::{Path, PathBuf};
use std::process::Command;
use support::Part;

const PROGRAMS: [&str; 9] =
    ["modules", "calls", "domains", "memory", "callbacks", "grants", "registry", "threads", "hosts"];

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name).with_extension("c")
}

/// A program, built with a tool's flags, among the modules.
fn build(folder: &Path, name: &str, flags: &[&str]) -> Command {
    let binary = folder.join(name);
    program(Language::C99, &source(name), &binary, flags);
    in_modules(&binary)
}

/// The same; the library is linked statically.
fn build_statically(folder: &Path, name: &str, flags: &[&str]) -> Command {
    let binary = folder.join(name);
    let mut compiler = crate::common::compiler(Language::C99);
    compiler.args(flags).arg(source(name)).arg("-o").arg(&binary);
    compiler.args(["-x", "none"]).arg(crate::common::installed().join("lib/liblockgate.a"));
    done(compiler.args(["-lm", "-lpthread", "-ldl"]));
    in_modules(&binary)
}

fn in_modules(binary: &Path) -> Command {
    let mut command = Command::new(binary);
    let suppressions = root().join("share/c/tsan.supp");
    command.current_dir(modules()).env("TSAN_OPTIONS", format!("suppressions={}", suppressions.display()));
    command
}

/// Programs, all of them in `make thorough`, are clean under a sanitizer, and it finds the bug called `bug`.
fn clean(flags: &[&str], bug: &str, report: &str) {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let part = Part::one_in(3, flags[0]);
    for (index, name) in PROGRAMS.iter().enumerate() {
        if part.has(index) {
            done(&mut build(folder.path(), name, flags));
        }
    }
    let output = run(build(folder.path(), "host_bug", flags).arg(bug));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains(report), "{}: {said}", output.status);
}

/// Nor does it find anything where the library is linked statically.
fn clean_statically(flags: &[&str]) {
    let folder = tempfile::tempdir().expect("a scratch folder");
    done(&mut build_statically(folder.path(), "threads", flags));
}

#[test]
fn hosts_are_clean_under_address_sanitizer() {
    let flags = ["-fsanitize=address"];
    clean(&flags, "a", "heap-buffer-overflow");
    clean_statically(&flags);
}

#[test]
fn hosts_are_clean_under_undefined_behaviour_sanitizer() {
    let flags = ["-fsanitize=undefined", "-fno-sanitize-recover=all"];
    clean(&flags, "u", "signed integer overflow");
    clean_statically(&flags);
}

/// (Only with the shared library, which the suppressions know by its name.)
#[test]
fn hosts_are_clean_under_thread_sanitizer() {
    clean(&["-fsanitize=thread"], "t", "data race");
}

/// valgrind's processor has no FSGSBASE, so that no domain runs there: hosts get an error.
#[test]
fn hosts_get_an_error_under_valgrind_and_are_clean() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let host = build(folder.path(), "no_machine", &[]);
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"]);
    done(valgrind.arg(host.get_program()).current_dir(modules()));
}
