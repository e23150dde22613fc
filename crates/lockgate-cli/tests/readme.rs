//! The README's quick start, and those of docs/start, do what they say, as they are written there.

use crate::common::{Shop, text};

const README: &str = include_str!("../../../README.md");
const START_C: &str = include_str!("../../../docs/start/c.md");
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

#[test]
fn the_quick_starts_work() {
    let shop = Shop::new();
    let is_code = |line: &&str| line.starts_with("    ");
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
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_lockgate")).parent().expect("a folder");
    let path = std::env::join_paths(
        [program.to_owned()].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let mut shell = shop.command("sh");
    let output = shell.args(["-eu", "-c", &commands]).env("PATH", path.unwrap()).output().unwrap();
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
    // Paths in the example are relative; no other test runs in this process.
    std::env::set_current_dir(shop.path("")).unwrap();
    let report = rust_example().unwrap();
    assert!(report.contains("crash") && report.contains("cube.c:3"), "{report}");
}
