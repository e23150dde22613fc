//! `scripts/setup.sh` on machines that lack something: what it says must be what to do.

use std::path::Path;
use std::process::Command;

/// Programs of the system that the script itself uses.
const TOOLS: [&str; 8] = ["sh", "sed", "sort", "tr", "dirname", "mktemp", "cat", "rm"];

/// A program that exists: its name and its shell script.
type Stub = (&'static str, &'static str);

/// Runs the script where only `stubs` exist beside the tools. Exit status and output.
fn setup(stubs: &[Stub]) -> (bool, String) {
    setup_for(&[], stubs)
}

/// The same for what `arguments` name.
fn setup_for(arguments: &[&str], stubs: &[Stub]) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    for tool in TOOLS {
        let found = ["/bin", "/usr/bin"].map(|place| Path::new(place).join(tool));
        let found = found.iter().find(|path| path.exists()).expect(tool);
        std::os::unix::fs::symlink(found, folder.path().join(tool)).unwrap();
    }
    for (name, script) in stubs {
        support::write_script(&folder.path().join(name), &format!("#!/bin/sh\n{script}\n"));
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/setup.sh");
    let output =
        Command::new("/bin/sh").arg(script).args(arguments).env("PATH", folder.path()).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    (output.status.success(), text)
}

const CARGO: Stub = ("cargo", "echo 'cargo 1.99.0 (x)'");
const USER: Stub = ("id", "echo 1000");
const ROOT: Stub = ("id", "echo 0");
const NOTHING: &str = "exit 0";

#[test]
fn what_is_missing_is_named() {
    let cases: &[(&str, &[Stub], &[&str])] = &[
        ("no Rust", &[], &["no Rust toolchain", "install Rust 1.88 or later (https://rustup.rs)"]),
        (
            "old Rust",
            &[("cargo", "echo 'cargo 1.63.0 (fd9c4297c 2022-07-01)'")],
            &["1.63.0", "too old", "1.88"],
        ),
        (
            "no default",
            &[("cargo", "echo 'rustup could not choose a version' >&2; exit 1")],
            &["rustup could not"],
        ),
        ("no apt", &[CARGO, USER], &["no apt-get here", " gcc ", "musl-tools", "gdb"]),
        (
            "no root",
            &[CARGO, USER, ("apt-get", NOTHING)],
            &[
                "as root, run: apt-get update && apt-get install -y --no-install-recommends binutils cmake g++ gcc gdb ",
            ],
        ),
        (
            "sudo asks",
            &[CARGO, USER, ("apt-get", NOTHING), ("sudo", "exit 1")],
            &["as root, run: apt-get update"],
        ),
        (
            "no network",
            &[
                CARGO,
                ROOT,
                ("apt-get", "echo 'Temporary failure resolving'; exit 100"),
                ("env", "exec \"$@\""),
            ],
            &["setup: installing", "Temporary failure resolving", "could not install these", "musl-tools"],
        ),
        (
            "installed elsewhere",
            &[CARGO, ROOT, ("apt-get", NOTHING), ("env", NOTHING)],
            &["still not where they belong: ", "gcc"],
        ),
    ];
    for (what, stubs, parts) in cases {
        let (success, text) = setup(stubs);
        assert!(!success, "{what}: {text}");
        for part in *parts {
            assert!(text.contains(part), "{what}: {part:?} is not in: {text}");
        }
    }
}

/// Of a toolchain that `rustup` has installed: what a machine lacks after that is no reason to stop.
#[test]
fn tests_have_a_std_for_domains_in_rust() {
    let asked = "setup: rustup target add x86_64-unknown-linux-musl";
    let version = "setup: rustup toolchain install 1.88.0 --target x86_64-unknown-linux-musl";
    let rustc = ("rustc", "echo /nowhere");
    for (part, rustup, parts) in [
        (
            "test",
            "echo \"rustup: $*\"",
            &[asked, "rustup: --quiet target add x86_64-unknown-linux-musl", version][..],
        ),
        (
            "test",
            "exit 1",
            &[
                asked,
                "setup: no std for x86_64-unknown-linux-musl: tests of Rust",
                version,
                "setup: no Rust 1.95.0 for",
            ],
        ),
        ("demo", "echo \"rustup: $*\"", &[]),
        ("check", "echo \"rustup: $*\"", &[]),
    ] {
        let (_, text) = setup_for(&[part], &[CARGO, USER, rustc, ("rustup", rustup)]);
        assert!(text.contains("no apt-get here"), "{part}: it goes on: {text}");
        for part in parts {
            assert!(text.contains(part), "{part:?} is not in: {text}");
        }
        assert_eq!(text.contains("rustup"), !parts.is_empty(), "{part}: {text}");
    }
    let listed = "[ \"$*\" = 'toolchain list' ] && echo 1.88.0-x && echo '1.95.0-x (default)' || echo asked";
    let (_, text) = setup_for(&["test"], &[CARGO, USER, ("rustc", "echo /"), ("rustup", listed)]);
    assert!(!text.contains("asked"), "it is there: {text}");
    let (_, text) = setup_for(&["test"], &[CARGO, USER, rustc]);
    assert!(!text.contains("rustup"), "a toolchain from elsewhere: {text}");
}

#[test]
fn each_part_installs_what_it_needs() {
    for (part, needs) in [
        ("demo", &["musl-tools"][..]),
        ("python", &["musl-tools", "python3-venv"]),
        ("docs", &["musl-tools", "mandoc"]),
        ("check", &["musl-tools", "g++", "cmake"]),
        ("test", &["musl-tools", "g++", "cmake", "python3-venv", "gdb", "valgrind"]),
    ] {
        let (success, text) = setup_for(&[part], &[CARGO, USER]);
        assert!(!success, "{part}: {text}");
        for package in ["musl-tools", "g++", "cmake", "python3-venv", "gdb", "valgrind", "mandoc"] {
            let named = text.split_whitespace().any(|word| word == package);
            assert_eq!(named, needs.contains(&package), "{part}, {package}: {text}");
        }
    }
    let (success, text) = setup_for(&["demos"], &[CARGO]);
    assert!(!success && text.contains("no such part: demos"), "{text}");
}

/// The machine that runs these tests has what `make check` needs; it may lack what `make test` needs beyond that, which this must not install.
#[test]
fn nothing_is_said_when_all_is_there() {
    let output = Command::new("sh")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/setup.sh"))
        .arg("check")
        .output()
        .unwrap();
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
}

/// Programs that tests use where they are, and that setup does not install.
const OPTIONAL: [&str; 11] =
    ["clang", "clang++", "fish", "gdc", "gfortran", "gnatbind", "groff", "javac", "node", "zig", "zsh"];

/// A machine may have none of them: a test that uses one asks for it, and says what it leaves out.
#[test]
fn tests_ask_for_programs_that_setup_does_not_install() {
    let is_test = |path: &Path| path.components().any(|part| part.as_os_str() == "tests");
    let (mut wrong, mut count) = (Vec::new(), 0);
    for path in hygiene::files("", &[".rs"]).iter().filter(|path| is_test(path)) {
        let text = std::fs::read_to_string(path).unwrap();
        for line in text.lines().filter(|line| line.trim_start().starts_with("eprintln!(")) {
            if ["left out", "skipped"].iter().any(|word| line.contains(word)) {
                wrong.push(format!(
                    "{}: nobody sees this, support::skipped(…) is seen: {line}",
                    path.display()
                ));
            }
        }
        let used = |program: &&&str| text.contains(&format!("\"{program}\""));
        let Some(program) = OPTIONAL.iter().find(used) else { continue };
        count += 1;
        if !["is_there(", "is_here(", "skipped("].iter().any(|asked| text.contains(asked)) {
            wrong.push(format!("{} uses {program}, and never asks for it", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 6, "only {count} files use one");
}
