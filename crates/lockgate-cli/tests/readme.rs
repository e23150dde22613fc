//! The README's quick start, and those of docs/start, do what they say, as they are written there.

use crate::cargo::{CARGOS, can_build};
use crate::common::{Shop, text};
use std::path::Path;
use std::process::Output;

const README: &str = include_str!("../../../README.md");
const START_C: &str = include_str!("../../../docs/start/c.md");
const START_CPP: &str = include_str!("../../../docs/start/cpp.md");
const START_RUST: &str = include_str!("../../../docs/start/rust.md");

/// The example of docs/start/rust.md; the test compares it with the page, word for word.
#[rustfmt::skip]
fn rust_example() -> Result<String, Box<dyn std::error::Error>> {
    // The page begins
    use lockgate::{Domain, DomainOptions, Module, Pointer};

    fn report_of_crash() -> Result<String, Box<dyn std::error::Error>> {
        let module = Module::open("cube.lg")?;                       // verified once, here
        let domain = Domain::new(&module, DomainOptions::default())?; // microseconds
        let cube_root = domain.bind::<extern "C" fn(f64) -> f64>("cube_root")?;
        assert_eq!(cube_root.call(27.0)?, 3.0);                      // nanoseconds
        let crash = domain.bind::<extern "C" fn(Pointer<i32>) -> i32>("crash")?;
        let error = crash.call(Pointer::NULL).unwrap_err();
        Ok(error.to_string())                                        // what happened, and where
    }

    fn main() -> Result<(), Box<dyn std::error::Error>> {
        println!("{}", report_of_crash()?);
        Ok(())
    }
    // The page ends
    main()?;
    report_of_crash()
}

/// What follows a heading of a page, up to the next one.
fn chapter(page: &'static str, heading: &str) -> &'static str {
    let (_, rest) = page.split_once(&format!("\n## {heading}\n")).expect(heading);
    rest.split("\n## ").next().expect("split gives one part")
}

/// Lines without the four spaces before them; empty lines may have none.
fn unindented<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or(line))).collect()
}

fn is_code(line: &&str) -> bool {
    line.starts_with("    ")
}

/// Runs lines of a shell's in a folder, where `lockgate` is the program that is tested; the first that fails is the last.
fn run(shop: &Shop, commands: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_lockgate")).parent().expect("a folder");
    let path = std::env::var_os("PATH").expect("a path");
    let path = std::env::join_paths([program.to_owned()].into_iter().chain(std::env::split_paths(&path)));
    let mut shell = shop.command("sh");
    shell.args(["-eu", "-c", commands]).env("PATH", path.expect("a path")).output().expect("sh")
}

#[test]
fn the_quick_starts_work() {
    let shop = Shop::new();
    // One of the commands crashes a function on purpose.
    let expects_fault = |line: &str| line.starts_with("lockgate call cube.lg 'int crash");
    let pages = [chapter(README, "Quick start: C"), chapter(START_C, "A program in a domain")];
    let commands: String = unindented(pages.iter().flat_map(|page| page.lines()).filter(is_code))
        .lines()
        .map(|line| match line.split_once(" #") {
            Some((command, _)) if expects_fault(line) => format!("{command} || echo status $?\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    let output = run(&shop, &commands);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 4, "{out}");
    assert!(lines[0].starts_with("cube.lg: verified: "), "{out}");
    assert_eq!(lines[1..], ["3", "status 139", "hello from a domain"]);
    assert!(err.contains("cube.c:3") && err.contains("entered at crash"), "{err}");

    let example = START_RUST.split("```").find(|block| block.starts_with("rust\nuse lockgate::"));
    let example = example.expect("a block of code");
    let here = include_str!("readme.rs").lines();
    let here = here.skip_while(|line| line.trim() != "// The page begins").skip(1);
    let here = unindented(here.take_while(|line| line.trim() != "// The page ends"));
    assert_eq!(example.strip_prefix("rust\n"), Some(&*here), "the page and this file differ");
    // Paths in the example are relative, and a process has one folder for all of its tests: so another process runs it.
    let own = std::env::current_exe().expect("the test program's path");
    let mut example = shop.command(own.to_str().expect("text"));
    let output = example
        .args(["--ignored", "--nocapture", "--exact", "readme::the_example_in_rust"])
        .output()
        .unwrap();
    let out = text(&output.stdout);
    assert!(output.status.success(), "{out}{}", text(&output.stderr));
    assert!(out.contains("1 passed") && out.contains("crash") && out.contains("cube.c:3"), "{out}");
}

#[test]
#[ignore = "run by the_quick_starts_work, where cube.lg is"]
fn the_example_in_rust() {
    println!("{}", rust_example().unwrap());
}

/// The first block of the pages on C++ and Rust: a source, what builds it, and a call.
#[test]
fn modules_of_the_pages_on_languages_are_called() {
    let block = |page, heading| {
        let lines = chapter(page, heading).lines();
        unindented(lines.skip_while(|line| !is_code(line)).take_while(is_code))
    };
    let shop = Shop::new();
    let output = run(&shop, &block(START_CPP, "A module in C++"));
    assert_eq!(text(&output.stdout), "2\n", "{}", text(&output.stderr));

    if !can_build("modules_of_the_pages_on_languages_are_called") {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the repository");
    let apart = format!("unset {}; export CARGO_NET_OFFLINE=true\n", CARGOS.join(" "));
    let shop = Shop::new();
    let output = run(&shop, &(apart.clone() + &block(START_RUST, "A module in Rust")));
    assert_eq!(text(&output.stdout), "2\n", "{}", text(&output.stderr));

    let apart = apart + &format!("export SOURCES='{}'\n", root.display());
    let shop = Shop::new();
    let output = run(&shop, &(apart + &block(START_RUST, "A module that declares its types")));
    assert_eq!(text(&output.stdout), "3\n", "{}", text(&output.stderr));
}
