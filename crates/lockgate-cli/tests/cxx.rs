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

/// An uncaught exception ends the call: the error says what it was, and where it was thrown, with names as the source has them.
#[test]
fn an_uncaught_exception_is_reported() {
    if !has_cxx() {
        return;
    }
    let shop = Shop::new();
    let source = "\
#include <stdexcept>
#include <string>
namespace shop {
struct Closed : std::runtime_error {
    using std::runtime_error::runtime_error;
};
struct Till {
    __attribute__((noinline)) int pay(const std::string &who) { throw Closed(\"no money for \" + who); }
};
}
extern \"C\" int pay(const char *who) { return shop::Till().pay(who); }
extern \"C\" int number(int n) { throw n; }
extern \"C\" int never(int n) noexcept { return n ? throw n : 0; }
int twice(int n) { return 2 * n; }
namespace shop {
int half(int n) { return n / 2; }
int half(double n) { return static_cast<int>(n / 2); }
}
";
    shop.write("till.cpp", source);
    let exports =
        ["int pay(const char *)", "int number(int)", "int never(int)", "int twice(int)", "shop::half(int)"];
    let exports = exports.iter().flat_map(|export| ["--export", export]);
    shop.lockgate("c++").args(["-g", "-O2", "-w", "till.cpp", "-o", "till.lg"]).args(exports).run_quietly();
    let call = |arguments: &[&str]| shop.lockgate("call").arg("till.lg").args(arguments).output();

    let error = text(&call(&["int pay(const char *)", "joe"]).stderr);
    let said = "the module called abort: an uncaught exception: shop::Closed: no money for joe";
    assert!(error.contains(said), "{error}");
    assert!(error.contains("shop::Till::pay") && error.contains("till.cpp:8"), "{error}");
    let error = text(&call(&["int number(int)", "7"]).stderr);
    assert!(error.contains("an uncaught exception: int;"), "{error}");
    let error = text(&call(&["int never(int)", "7"]).stderr);
    assert!(error.contains("an uncaught exception: int;"), "{error}");

    assert_eq!(text(&call(&["int twice(int)", "21"]).stdout).trim(), "42");
    assert_eq!(text(&call(&["int _ZN4shop4halfEi(int)", "42"]).stdout).trim(), "21");
    let several = shop.lockgate("c++").args(["till.cpp", "-o", "x.lg", "--export", "shop::half"]).fail();
    assert!(several.contains("shop::half(int); shop::half(double)"), "{several}");
    let none = shop.lockgate("c++").args(["till.cpp", "-o", "x.lg", "--export", "shop::quarter(int)"]).fail();
    assert!(none.contains("nothing to export: shop::quarter(int)"), "{none}");
}

#[test]
fn unwinding() {
    same("unwinding");
}

#[test]
fn unwinder() {
    same("unwinder");
}
