//! Programs in C++ (`tests/cxx`): what they print and return is the same natively and in a domain.

mod common;

use common::{Shop, text};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// With each of these.
const OPTIONS: &[&str] = &["-O0", "-O2 -fno-plt"];

/// What the programs read.
const INPUT: &str = "a line\nanother";

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cxx").join(name).with_extension("cpp")
}

/// Whether g++ is here.
fn has_cxx() -> bool {
    let found = Command::new("g++").arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: no g++");
    }
    found
}

fn run(mut command: Command) -> Output {
    use std::io::Write as _;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    // A program that does not read has closed it, perhaps.
    let _ = input.write_all(INPUT.as_bytes());
    drop(input);
    child.wait_with_output().expect("it ends")
}

/// Compares the program `name`, which is given the folder `/folder`, or one natively.
fn same(name: &str) {
    if !has_cxx() {
        return;
    }
    for options in OPTIONS {
        let shop = Shop::new();
        let options: Vec<&str> = options.split(' ').chain(["-std=c++20", "-w"]).collect();
        let mut compiler = shop.command("g++");
        compiler.args(&options).arg(source(name)).args(["-pthread", "-o", "native"]);
        let compiled = compiler.output().expect("g++ starts");
        assert!(compiled.status.success(), "{}", text(&compiled.stderr));
        shop.lockgate("c++")
            .args(&options)
            .arg(source(name))
            .args(["-pthread", "-o", "module.lg"])
            .run_quietly();

        let [outside, inside] = ["outside", "inside"].map(|folder| {
            std::fs::create_dir(shop.path(folder)).expect("a folder");
            shop.path(folder)
        });
        let mut native = Command::new(shop.path("native"));
        native.arg(&outside);
        let mut domain = Command::new(env!("CARGO_BIN_EXE_lockgate"));
        domain.args(["run", "--threads=16", "--time-limit=120s", "--dir"]);
        domain.arg(format!("/folder={}", inside.display())).arg(shop.path("module.lg")).arg("/folder");
        let (native, domain) = (run(native), run(domain));
        let shown = |output: &Output| (text(&output.stdout), text(&output.stderr), output.status.code());
        assert_eq!(shown(&domain), shown(&native), "{name} {options:?}");
        assert!(!native.stdout.is_empty(), "{name} prints nothing");
    }
}

#[test]
fn classes() {
    same("classes");
}

#[test]
fn streams() {
    same("streams");
}

#[test]
fn containers() {
    same("containers");
}

#[test]
fn threads() {
    same("threads");
}

#[test]
fn files() {
    same("files");
}

#[test]
fn coroutines() {
    same("coroutines");
}

#[test]
fn exceptions() {
    same("exceptions");
}

#[test]
fn unwinding() {
    same("unwinding");
}

#[test]
fn unwinder() {
    same("unwinder");
}
