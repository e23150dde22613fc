//! gdb on a process that is stopped inside a domain: functions, lines, arguments, locals, and backtraces that cross the
//! gates between host and module (share/gdb/lockgate.py).

mod common;

use common::{Shop, text};
use std::path::Path;

/// Where a line of `programs/debugged.c` is marked with `mark`.
fn line(mark: &str) -> usize {
    let source = std::fs::read_to_string(Shop::program("debugged")).unwrap();
    source.lines().position(|line| line.ends_with(&format!("// {mark}"))).unwrap() + 1
}

/// A module of `programs/debugged.c`.
fn module(shop: &Shop, flags: &[&str]) {
    shop.write("debugged.c", &std::fs::read_to_string(Shop::program("debugged")).unwrap());
    shop.lockgate("cc")
        .args(["debugged.c", "-o", "debugged.lg", "--export", "measure", "--export", "crash"])
        .args(flags)
        .run_quietly();
}

/// What gdb says to `commands`, debugging `lockgate ARGUMENTS`.
fn gdb(shop: &Shop, commands: &str, arguments: &[&str]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../share/gdb/lockgate.py");
    let always = "set pagination off\nset confirm off\nset breakpoint pending on\nset width 0\nset style enabled off\n";
    let commands = shop.write("commands.gdb", &format!("{always}{commands}"));
    let output = shop
        .command("gdb")
        .args(["-nx", "-q", "-batch", "-iex", "set auto-load off", "-x"])
        .arg(script)
        .arg("-x")
        .arg(commands)
        .args(["--args", env!("CARGO_BIN_EXE_lockgate")])
        .args(arguments)
        .env_remove("DEBUGINFOD_URLS")
        .stdin(std::process::Stdio::null())
        .output()
        .expect("gdb is installed: scripts/setup.sh");
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

/// Asserts that `wanted` occur in `said`, in this order.
fn assert_in_order(said: &str, wanted: &[String]) {
    let mut rest = said;
    for wanted in wanted {
        let Some(at) = rest.find(wanted.as_str()) else {
            panic!("no {wanted:?}, in this place, in:\n{said}")
        };
        rest = &rest[at + wanted.len()..];
    }
}

fn strings(wanted: &[&str]) -> Vec<String> {
    wanted.iter().map(|&text| text.to_owned()).collect()
}

/// Flags under which arguments and locals are all there, and flags under which the code is as in real use.
const PLAIN: [&[&str]; 2] = [&["-g", "-O0"], &["-gdwarf-4", "-O0", "-ffunction-sections"]];

#[test]
fn stopped_in_a_module() {
    let [sum, last, descent] = ["SUM", "LAST", "DESCENT"].map(line);
    for flags in PLAIN {
        let shop = Shop::new();
        module(&shop, flags);
        let commands = format!(
            "break debugged.c:{sum}\nrun\ninfo args\nbacktrace\np points[1]\nup\np depth\np points[2].x\n"
        );
        let said = gdb(&shop, &commands, &["call", "debugged.lg", "int measure(int)", "2"]);
        let mut wanted = strings(&["hit Breakpoint 1", "area (points=0x"]);
        wanted.push(", count=3, name=0x".to_owned());
        wanted.push(format!("at debugged.c:{sum}"));
        wanted.push(format!("{sum}\t        total += points[i].x * points[i].y; // SUM"));
        wanted.extend(strings(&["count = 3", "\"shape\"", "#0  area ("]));
        wanted.push("in descend (depth=0, name=0x".to_owned());
        wanted.push(format!("\"shape\") at debugged.c:{last}"));
        for depth in [1, 2] {
            wanted.push(format!("in descend (depth={depth}, name=0x"));
            wanted.push(format!("\"shape\") at debugged.c:{descent}"));
        }
        // Through the gate, to the host's main.
        wanted.extend(strings(&[
            "in measure (depth=2) at debugged.c:",
            "in lockgate proxy",
            "lockgate::binding",
            " in main (",
        ]));
        wanted.extend(strings(&["{x = 3, y = 4}", "#1 ", " = 0\n", " = 5\n"]));
        assert_in_order(&said, &wanted);
    }
}

/// Optimised code: breakpoints at functions are met by direct calls, too, and arguments are there.
#[test]
fn optimised_code() {
    let flags: [&[&str]; 3] =
        [&["-g", "-O2"], &["-g", "-O3", "-march=x86-64-v3"], &["-g3", "-Og", "-fcf-protection=full"]];
    for flags in flags {
        let shop = Shop::new();
        module(&shop, &[flags, &["-fno-optimize-sibling-calls"]].concat());
        let commands = "break area\nrun\ninfo args\nbacktrace\np points[1]\nfinish\n";
        let said = gdb(&shop, commands, &["call", "debugged.lg", "int measure(int)", "3"]);
        let wanted = [
            "hit Breakpoint 1",
            "area (points=",
            "count = 3\n",
            "#0  area (",
            "in descend (",
            "in measure (",
            "in lockgate proxy",
            " in main (",
            "{x = 3, y = 4}",
            "in descend (",
            "Value returned is $2 = 14",
        ];
        assert_in_order(&said, &strings(&wanted));
    }
}

/// The backtrace is whole at every single instruction of a call, in prologues and epilogues, too.
#[test]
fn every_instruction() {
    let flags: [&[&str]; 4] = [
        &["-O0"],
        &["-O2", "-fno-optimize-sibling-calls"],
        &["-Os", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"],
        &["-O1", "-fstack-protector-all", "-fstack-clash-protection"],
    ];
    let script = Shop::program("steps").with_extension("py");
    for flags in flags {
        let shop = Shop::new();
        module(&shop, &[&["-g"], flags].concat());
        let commands = format!("source {}\n", script.display());
        let said = gdb(&shop, &commands, &["call", "debugged.lg", "int measure(int)", "1"]);
        let steps = said.lines().find_map(|line| line.strip_prefix("STEPS ")?.parse::<u32>().ok());
        assert!(steps.is_some_and(|steps| steps > 80) && !said.contains("LOST"), "{flags:?}:\n{said}");
    }
}

/// A fault of the module, seen by gdb before the runtime.
#[test]
fn faults() {
    let fault = line("FAULT");
    let shop = Shop::new();
    module(&shop, &["-g", "-O1"]);
    let said = gdb(&shop, "run\nbacktrace\n", &["call", "debugged.lg", "int crash(int)", "0"]);
    let mut wanted = strings(&["received signal SIGSEGV", "area (points="]);
    wanted.push(format!("name=name@entry=0x0) at debugged.c:{fault}\n"));
    wanted.extend(strings(&["in descend (", "in crash (", "in lockgate proxy", " in main ("]));
    assert_in_order(&said, &wanted);
}

/// A failed check of the code model: its trap lies elsewhere, but has its check's line and frames. The program gets the
/// signal when it goes on, and reports as ever.
#[test]
fn failed_checks() {
    let source = std::fs::read_to_string(Shop::program("traps")).unwrap();
    let shop = Shop::new();
    shop.write("traps.c", &source);
    shop.lockgate("cc")
        .args(["traps.c", "-o", "traps.lg", "--export", "fail", "-w", "-g", "-O2"])
        .args(["-fno-inline", "-fno-optimize-sibling-calls"])
        .run_quietly();
    for case in 0..6 {
        let line = source.lines().position(|line| line.ends_with(&format!("// CASE {case}"))).unwrap() + 1;
        let arguments = ["call", "traps.lg", "int fail(int)", &case.to_string()];
        let said = gdb(&shop, "run\nbacktrace\ncontinue\n", &arguments);
        let mut wanted = strings(&["received signal SIG", "fail (which="]);
        wanted.push(format!(" at traps.c:{line}\n"));
        wanted.extend(strings(&["in lockgate proxy", " in main (", "lockgate: domain traps.lg"]));
        assert_in_order(&said, &wanted);
    }
}

/// Host code that a module called: the backtrace goes host, module, host. At every step through the stub and the gate,
/// the module's frames are found.
#[test]
fn stopped_in_a_gate() {
    let gate = line("GATE");
    let shop = Shop::new();
    module(&shop, &["-g", "-O1"]);
    let mut frames = vec!["in tell (text=".to_owned(), format!(" at debugged.c:{gate}")];
    frames.extend(strings(&["in main (argc=", "in lockgate proxy", " in main ("]));

    let commands = "break tell\nrun\nbreak lockgate::call::gate_sys::lockgate_syscall\ncontinue\nbacktrace\n";
    let said = gdb(&shop, commands, &["run", "debugged.lg"]);
    let wanted = [strings(&["hit Breakpoint 2", "in lockgate_gate_syscall"]), frames.clone()].concat();
    assert_in_order(&said, &wanted);

    // From the gate's first instruction on: the switch of stacks, the making of the record.
    const STEPS: usize = 12;
    let steps = "stepi\nbacktrace\n".repeat(STEPS);
    let commands = format!("break tell\nrun\nbreak lockgate_gate_syscall\ncontinue\nbacktrace\n{steps}");
    let said = gdb(&shop, &commands, &["run", "debugged.lg"]);
    let backtraces: Vec<&str> = said.split("\n#0 ").skip(1).collect();
    assert_eq!(backtraces.len(), 1 + STEPS, "{said}");
    for backtrace in backtraces {
        assert_in_order(backtrace, &frames);
    }
}

/// The few instructions of the runtime that have no frame information of their own.
#[test]
fn stopped_in_stubs_and_thunks() {
    let shop = Shop::new();
    module(&shop, &["-g", "-O1"]);
    // The system call's stub is at the start of the stubs, 0xe000 below the image; back to it from the gate.
    let commands = "break tell\nrun\nset $stub = ((unsigned long)$pc & ~0x1ffffffffUL) + 0x12000\nbreak *$stub\ncontinue\nbacktrace\nstepi\nbacktrace\n";
    let said = gdb(&shop, commands, &["run", "debugged.lg"]);
    let backtraces: Vec<&str> = said.split("\n#0 ").skip(1).collect();
    assert_eq!(backtraces.len(), 2, "{said}");
    for backtrace in backtraces {
        assert_in_order(
            backtrace,
            &strings(&["in tell (text=", "in main (argc=", "in lockgate proxy", " in main ("]),
        );
    }
}
