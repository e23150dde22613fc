//! gdb on a process that is stopped inside a domain, and on core files: functions, lines, arguments, locals, and backtraces
//! that cross the gates between hosts and modules (crates/lockgate/gdb/lockgate.py).

use crate::cargo::{Package, can_build};
use crate::common::{Shop, text};
use crate::installed::prefix;
use lockgate::{Domain, DomainOptions, HostFunction, Module, OnFailure, Policy};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::LazyLock;
use support::one_of;

/// Where a line of `programs/debugged.c` is marked with `mark`.
fn line(mark: &str) -> usize {
    line_of(&std::fs::read_to_string(Shop::program("debugged")).unwrap(), mark)
}

/// Where a line of `source` is marked with `mark`.
fn line_of(source: &str, mark: &str) -> usize {
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

/// The program as cargo builds it, with lines.
const LOCKGATE: &str = env!("CARGO_BIN_EXE_lockgate");

/// The program as it is installed, without lines, and of others' crates without names: gdb reads all of a program's symbols whenever it starts, and
/// takes half as long for a tenth of them.
fn installed() -> &'static str {
    static INSTALLED: LazyLock<String> = LazyLock::new(|| {
        let program = support::shared_folder().join("lockgate");
        let mut strip = std::process::Command::new("strip");
        let kept = ["--keep-symbol=main", "--keep-symbol=*lockgate*"];
        strip.args(["--strip-all", "--wildcard"]).args(kept).arg("-o").arg(&program).arg(LOCKGATE);
        assert!(strip.status().expect("binutils are installed: scripts/setup.sh").success());
        program.into_os_string().into_string().expect("text")
    });
    &INSTALLED
}

/// What gdb says to `commands`, debugging `lockgate ARGUMENTS`, with the script given by hand.
fn gdb(shop: &Shop, commands: &str, arguments: &[&str]) -> String {
    gdb_of(shop, installed(), commands, arguments)
}

/// The same, debugging any program.
fn gdb_of(shop: &Shop, program: &str, commands: &str, arguments: &[&str]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lockgate/gdb/lockgate.py");
    let script = format!("source {}\n", script.display());
    let arguments = [&["--args", program], arguments].concat();
    gdb_itself(shop, &["set auto-load off"], &format!("{script}{commands}"), &arguments)
}

/// What gdb says to `commands`, with the script that `program` brings along.
fn gdb_alone(shop: &Shop, program: &str, commands: &str, rest: &[&str]) -> String {
    let first = format!("add-auto-load-safe-path {program}");
    gdb_itself(shop, &[&first], commands, rest)
}

/// What gdb says to the commands `first`, to the program that it is given with `rest`, and to `commands`.
fn gdb_itself(shop: &Shop, first: &[&str], commands: &str, rest: &[&str]) -> String {
    gdb_of_files(shop, first, &[commands.to_owned()], rest).concat()
}

/// What gdb says to each of `runs`, which are commands and arguments of `lockgate`, one after the other. (It takes longer to read the program's
/// symbols than to run it.)
fn gdb_in_turn(shop: &Shop, runs: &[(&str, &[&str])]) -> Vec<String> {
    const MARK: &str = "=== the next run ===";
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lockgate/gdb/lockgate.py");
    let files = runs.iter().map(|(commands, arguments)| {
        let arguments: Vec<String> = arguments.iter().map(|argument| format!("'{argument}'")).collect();
        let mark = format!("echo {MARK}\\n\npython gdb.write(\"{MARK}\\n\", gdb.STDERR)\n");
        format!("{mark}set args {}\n{commands}", arguments.join(" "))
    });
    let files: Vec<String> = [format!("source {}\n", script.display())].into_iter().chain(files).collect();
    let [said, errors] = gdb_of_files(shop, &["set auto-load off"], &files, &[installed()]);
    let [each, errors] = [&said, &errors].map(|said| said.split(MARK).skip(1).collect::<Vec<_>>());
    assert_eq!(each.len(), runs.len(), "gdb ends in the last run that it began: {said}");
    assert_eq!(each.len(), errors.len(), "{said}");
    each.iter().zip(errors).map(|(said, errors)| format!("{said}{errors}")).collect()
}

/// What gdb says, and writes as errors, to files with these commands; one goes on where another ended with an error.
fn gdb_of_files(shop: &Shop, first: &[&str], files: &[String], rest: &[&str]) -> [String; 2] {
    // (To the C library's main, in whose place newer versions take Rust's for the outermost function.)
    let always = "set pagination off\nset confirm off\nset breakpoint pending on\nset width 0\nset style enabled off\nset backtrace past-main on\n";
    let files = files.iter().enumerate().flat_map(|(number, commands)| {
        let file = shop.write(&format!("commands{number}.gdb"), &format!("{always}{commands}"));
        ["-x".into(), file.into_os_string()]
    });
    let output = shop
        .command("gdb")
        .args(["-nx", "-q", "-batch"])
        .args(first.iter().flat_map(|first| ["-iex", first]))
        .args(files)
        .args(rest)
        .env_remove("DEBUGINFOD_URLS")
        .env("PATH", path())
        .stdin(Stdio::null())
        .output()
        .expect("gdb is installed: scripts/setup.sh");
    [text(&output.stdout), text(&output.stderr)]
}

/// Where programs are looked for, the one of these tests first.
fn path() -> std::ffi::OsString {
    let own = Path::new(LOCKGATE).parent().expect("a folder").to_owned();
    let others = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([own].into_iter().chain(std::env::split_paths(&others))).expect("folders of a path")
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
    for flags in one_of(PLAIN, "stopped_in_a_module") {
        let shop = Shop::new();
        module(&shop, flags);
        let commands = format!(
            "break debugged.c:{sum}\nrun\ninfo args\nbacktrace\np points[1]\nup\np depth\np points[2].x\n"
        );
        let said = gdb_of(&shop, LOCKGATE, &commands, &["call", "debugged.lg", "int measure(int)", "2"]);
        let mut wanted = strings(&["Breakpoint 1", "area (points=0x"]);
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
            "crates/lockgate/src/binding",
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
    for flags in one_of(flags, "optimised_code") {
        let shop = Shop::new();
        module(&shop, &[flags, &["-fno-optimize-sibling-calls"]].concat());
        let commands = "break area\nrun\ninfo args\nbacktrace\np points[1]\nfinish\n";
        let said = gdb(&shop, commands, &["call", "debugged.lg", "int measure(int)", "3"]);
        let wanted = [
            "Breakpoint 1",
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

/// C++: names with scopes, template arguments and parameters, members, references; and from the throw of an exception to its handler.
#[test]
fn cxx() {
    let source = std::fs::read_to_string(Shop::program("till").with_extension("cpp")).unwrap();
    let [sum, add, throw, pay, caught] =
        ["SUM", "ADD", "THROW", "PAY", "CAUGHT"].map(|mark| line_of(&source, mark));
    let frames = |functions: &[(&str, usize)]| -> Vec<String> {
        let ours =
            functions.iter().flat_map(|(name, line)| [format!("{name}("), format!(") at till.cpp:{line}\n")]);
        ours.chain(strings(&["in lockgate proxy", " in main ("])).collect()
    };
    for flags in one_of([["-g", "-O0"], ["-gdwarf-4", "-O0"]], "cxx") {
        let shop = Shop::new();
        shop.write("till.cpp", &source);
        let options = ["till.cpp", "-o", "till.lg", "--export", "int pay(int)"];
        shop.lockgate("c++").args(flags).args(options).run_quietly();
        let commands = format!(
            "break till.cpp:{sum}\nrun\nbacktrace\np item\np *this\nup\np taken\np sum\nptype sum\nup\np items._M_impl._M_finish - items._M_impl._M_start\n\
             delete\ncatch throw\nbreak till.cpp:{caught}\ncontinue\nbacktrace\ncontinue\ncontinue\n"
        );
        let said = gdb(&shop, &commands, &["call", "till.lg", "pay", "60"]);
        let mut wanted = strings(&["Breakpoint 1", "shop::Sum<long>::add (this=0x"]);
        wanted.extend(frames(&[
            ("#0  shop::Sum<long>::add", sum),
            ("in shop::Till::pay", add),
            ("in pay", pay),
        ]));
        wanted.extend(strings(&[
            "{price = 60, count = 2}",
            "{total = 0}",
            " = 100\n",
            "{total = 0}",
            "T add(const std::vector<shop::Item",
            " = 2\n",
        ]));
        wanted.push("Catchpoint".to_owned());
        wanted.extend(frames(&[("in shop::Till::pay", throw), ("in pay", pay)]));
        wanted.push(format!(", pay (price=60) at till.cpp:{caught}\n"));
        assert_in_order(&said, &wanted);
    }
}

/// Functions that the compiler inlined are frames of gdb's, with their names and arguments, up to the function that they are in, and on to the host.
#[test]
fn inlined_functions() {
    let source = "\
#define NEAR __attribute__((always_inline))
namespace shop {
struct Item { long price; long count; };
template <class T> struct Sum {
    T total = 0;
    NEAR void add(const Item &item) {
        volatile long before = total; // (gdb counts a function as not yet called at its very first instruction.)
        total = before + item.price * *(volatile const long *)&item.count; // ADD
    }
};
NEAR long pay(const Item *items, int count) {
    Sum<long> sum;
    volatile int rest = count;
    for (int number = 0; number < rest; number++)
        sum.add(items[number]); // EACH
    return sum.total;
}
}
extern \"C\" long crash(long price) { return price + shop::pay(reinterpret_cast<const shop::Item *>(price), 2); } // CRASH
";
    for flags in one_of([["-g", "-O2"], ["-gdwarf-4", "-O1"]], "inlined_functions") {
        let shop = Shop::new();
        shop.write("near.cpp", source);
        let options = ["-w", "near.cpp", "-o", "near.lg", "--export", "long crash(long)"];
        shop.lockgate("c++").args(flags).args(options).run_quietly();
        let said = gdb(&shop, "run\nbacktrace\nup\nup\ninfo frame\n", &["call", "near.lg", "crash", "8"]);
        let at = |mark: &str| format!(") at near.cpp:{}\n", line_of(source, mark));
        let mut wanted = strings(&["received signal SIGSEGV", "#0  ", " in shop::Sum<long>::add ("]);
        wanted.extend([
            at("ADD"),
            "#1  shop::pay (".to_owned(),
            at("EACH"),
            "#2  crash".to_owned(),
            "(price=8".to_owned(),
            at("CRASH"),
        ]);
        wanted.extend(strings(&["in lockgate proxy", " in main (", "source language c++"]));
        assert_in_order(&said, &wanted);
    }
}

/// Rust: names with paths and type arguments, members, references; and from a panic to what has caught it.
#[test]
fn rust() {
    if !can_build("gdb of Rust in a domain") {
        return;
    }
    let source = include_str!("cargo/till.rs");
    let [sum, add, panic, pay, again, caught] =
        ["SUM", "ADD", "PANIC", "PAY", "TRY", "CAUGHT"].map(|mark| line_of(source, mark));
    let package = Package::new("till", "", "src/main.rs", source);
    let module = package.module("till");
    let commands = format!(
        "break main.rs:{sum}\nrun\nbacktrace\np *item\np *self\nup\np sum\np items.length\ndelete\n\
         break rust_panic\nbreak main.rs:{caught}\ncontinue\nbacktrace\ncontinue\np both\ncontinue\n"
    );
    let said = gdb(package.shop(), &commands, &["run", module.to_str().expect("text")]);
    let at = |line: usize| format!(") at src/main.rs:{line}\n");
    let mut wanted = strings(&["Breakpoint 1", "#0  till::shop::Sum<i64>::add (self=0x"]);
    wanted.extend([
        at(sum),
        "in till::shop::pay (items=".to_owned(),
        at(add),
        "in till::main (".to_owned(),
        at(pay),
    ]);
    wanted.extend(strings(&["in lockgate proxy", " in main ("]));
    wanted
        .extend(strings(&["till::shop::Item {price: 60, count: 1}\n", "till::shop::Sum<i64> {total: 0}\n"]));
    wanted.extend(strings(&["till::shop::Sum<i64> {total: 0}\n", " = 1\n"]));
    wanted.extend([
        "in till::shop::pay (items=".to_owned(),
        at(panic),
        "in till::main::{closure#0} (".to_owned(),
    ]);
    wanted.extend([at(again), "in till::main (".to_owned(), at(again)]);
    wanted.extend(strings(&["in lockgate proxy", " in main ("]));
    wanted.push(format!(", till::main () at src/main.rs:{caught}\n"));
    wanted.extend(strings(&["::Err(", "60 true\n"]));
    assert_in_order(&said, &wanted);
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
    for flags in one_of(flags, "every_instruction") {
        let shop = Shop::new();
        module(&shop, &[&["-g"], flags].concat());
        let commands = format!("source {}\n", script.display());
        let said = gdb(&shop, &commands, &["call", "debugged.lg", "int measure(int)", "1"]);
        let steps = said.lines().find_map(|line| line.strip_prefix("STEPS ")?.parse::<u32>().ok());
        assert!(steps.is_some_and(|steps| steps > 80) && !said.contains("LOST"), "{flags:?}:\n{said}");
    }
}

/// Code without frame information, called through a pointer, at each of its instructions: where it has just called, so that return addresses of its
/// own lie on the stack, below and above rsp; where rsp moves by a constant; and where a frame of unknown size is opened and closed.
const BARE: &str = "
    .globl bare
    .type bare, @function
bare:
    endbr64
    push %rbx
    push %rbp
    mov %rsp, %rbp
    call leaf
    sub $64, %rsp
    mov $48, %ebx
    and $-16, %rsp
    sub %rbx, %rsp
    movl $1, (%rsp)
    mov %rbp, %rsp
    pop %rbp
    pop %rbx
    ret
    .size bare, .-bare
    .globl leaf
    .type leaf, @function
leaf:
    ret
    .size leaf, .-leaf
    .section .note.GNU-stack
";

#[test]
fn frames_of_code_without_information() {
    let shop = Shop::new();
    shop.write("bare.s", BARE);
    shop.write(
        "caller.c",
        "extern void bare(void);\nvoid (*volatile at)(void) = bare;\nint calls_bare(int x) { at(); return x; }\n",
    );
    shop.lockgate("cc").args(["-c", "bare.s", "-o", "bare.o"]).run_quietly();
    let whole = ["-O1", "-g", "caller.c", "bare.o", "-o", "bare.lg", "--export", "calls_bare"];
    shop.lockgate("cc").args(whole).run_quietly();
    const STEPS: usize = 60;
    let script = "
import gdb
while True:
    names = []
    frame = gdb.newest_frame()
    while frame is not None and len(names) < 4:
        names.append(str(frame.name()))
        frame = frame.older()
    if 'bare' not in names and 'leaf' not in names:
        break
    print('AT', *names)
    gdb.execute('stepi', to_string=True)
";
    shop.write("steps.py", script);
    let arguments = ["call", "bare.lg", "int calls_bare(int)", "1"];
    let said =
        gdb(&shop, "break calls_bare\nrun\nbreak *bare+4\ndelete 1\ncontinue\nsource steps.py\n", &arguments);
    let steps: Vec<_> = said.lines().filter_map(|line| line.strip_prefix("AT ")).collect();
    assert!((15..STEPS).contains(&steps.len()), "{said}");
    for step in steps {
        let step = step.strip_prefix("leaf ").unwrap_or(step);
        assert!(step.starts_with("bare calls_bare "), "{step}:\n{said}");
    }

    // The same without the program that knows: no frame is made up.
    let path = std::env::join_paths(std::env::split_paths(&path()).skip(1)).unwrap();
    let without = format!("python os.environ['PATH'] = {:?}\n", path.to_str().expect("text"));
    let said = gdb(
        &shop,
        &format!("{without}break calls_bare\nrun\nbreak *bare+4\ndelete 1\ncontinue\nbacktrace\n"),
        &arguments,
    );
    assert_in_order(&said, &strings(&["#0 ", " in bare ()"]));
    assert!(!said.contains("#1 ") && said.contains("put the program `lockgate` into PATH"), "{said}");
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
    let cases = ["0", "1", "2", "3", "4", "5"];
    let calls = cases.map(|case| ["call", "traps.lg", "int fail(int)", case]);
    let runs: Vec<(&str, &[&str])> =
        calls.iter().map(|call| ("run\nbacktrace\ncontinue\n", &call[..])).collect();
    for (case, said) in gdb_in_turn(&shop, &runs).into_iter().enumerate() {
        let line = source.lines().position(|line| line.ends_with(&format!("// CASE {case}"))).unwrap() + 1;
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

    let commands = "break tell\nrun\nbreak lockgate_syscall\ncontinue\nbacktrace\n";
    let said = gdb_of(&shop, LOCKGATE, commands, &["run", "debugged.lg"]);
    let wanted = [strings(&["Breakpoint 2", "in lockgate_gate_syscall"]), frames.clone()].concat();
    assert_in_order(&said, &wanted);

    // From the gate's first instruction on: the switch of stacks, the making of the record.
    const STEPS: usize = 12;
    let steps = "stepi\nbacktrace\n".repeat(STEPS);
    let commands =
        format!("break tell\nrun\nbreak lockgate_gate_syscall_as_call\ncontinue\nbacktrace\n{steps}");
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
    // The stub of libc's system calls is the third of the stubs, which are 0xe000 below the image; back to it from the gate.
    let commands = "break tell\nrun\nset $stub = ((unsigned long)$pc & ~0x1ffffffffUL) + 0x12020\nbreak *$stub\ncontinue\nbacktrace\nstepi\nbacktrace\n";
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

/// Python says nothing if a name of the script's is given twice, and the first meaning is lost.
#[test]
fn no_name_of_the_script_is_given_twice() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lockgate/gdb/lockgate.py");
    let script = std::fs::read_to_string(script).unwrap();
    let mut names = Vec::new();
    for line in script.lines().filter(|line| !line.starts_with(' ')) {
        let (given, word) = match line.split_once(" = ") {
            Some((given, _)) => (given, given),
            None => (line, line.strip_prefix("def ").or(line.strip_prefix("class ")).unwrap_or_default()),
        };
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        if given.chars().all(|c| is_name(c) || matches!(c, ',' | ' ')) {
            names.extend(word.split(", ").map(str::to_owned));
        } else if let Some(end) = word.find(|c| !is_name(c)).filter(|&end| end > 0) {
            names.push(word[..end].to_owned());
        }
    }
    names.retain(|name| !name.is_empty());
    assert!(names.len() > 100 && names.contains(&"NO_WORD".to_owned()), "{names:?}");
    names.sort_unstable();
    let twice: Vec<_> = names.windows(2).filter(|two| two[0] == two[1]).map(|two| &two[0]).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

/// The program brings the script along. gdb loads it where it is allowed to, and else says what to write where.
#[test]
fn the_script_comes_with_the_program() {
    let shop = Shop::new();
    module(&shop, &["-g", "-O1"]);
    let arguments = ["--args", installed(), "call", "debugged.lg", "int crash(int)", "0"];
    let said = gdb_alone(&shop, installed(), "run\nbacktrace\ninfo lockgate\n", &arguments);
    let wanted =
        ["area (points=", "in crash (", " in main (", "domain debugged.lg: module debugged.lg, window 0x"];
    assert_in_order(&said, &strings(&wanted));
    assert_in_order(&said, &strings(&["(symbols loaded)\n", "host -> debugged.lg: crash\n"]));

    let said = gdb_itself(&shop, &[], "run\nbacktrace\ninfo lockgate\n", &arguments);
    let program = installed();
    let declined = format!("File \"{program}\" auto-loading has been declined");
    assert!(said.contains(&declined) && !said.contains("in crash ("), "{said}");
    assert!(said.contains(&format!("add-auto-load-safe-path {program}\n")), "{said}");
}

const SPINNING: &str = r#"
#include <unistd.h>
volatile int go = 1;
__attribute__((noinline)) int spin(int *count) { while (go) if (++*count == 1000) write(1, "ready\n", 6); return *count; }
__attribute__((noinline)) int middle(int n) { int local = n + 41; return spin(&local) + 1; }
int main(int argc, char **argv) { return middle(argc) + 1; }
"#;

/// A core file is opened when the process is gone. Modules' names and lines are in it, because their files are, in the host's
/// memory; their code need not be.
#[test]
fn core_files() {
    let shop = Shop::new();
    shop.write("spin.c", SPINNING);
    shop.lockgate("cc").args(["-g", "-O0", "spin.c", "-o", "spin.lg"]).run_quietly();
    let commands = "break spin\nrun\ngcore gdb.core\nkill\n";
    gdb(&shop, commands, &["run", "spin.lg"]);
    check_core(&shop, &shop.path("gdb.core"));

    for filter in ["0x33", "0x1"] {
        match abort(&shop, filter) {
            Some(core) => check_core(&shop, &core),
            None => eprintln!("this machine hands core files to a program: only gdb's own was looked at"),
        }
    }
}

fn check_core(shop: &Shop, core: &Path) {
    let commands = "backtrace\nframe function middle\np n\ninfo lockgate\n";
    let said = gdb_alone(shop, installed(), commands, &[installed(), core.to_str().unwrap()]);
    let wanted = ["spin (count=", "at spin.c:4\n", "in middle (n=", "at spin.c:5\n", "in main (argc=1, "];
    assert_in_order(&said, &strings(&wanted));
    let wanted =
        ["in lockgate proxy", " in main (", "$1 = 1", "domain spin.lg: ", "host -> spin.lg: _lg_main\n"];
    assert_in_order(&said, &strings(&wanted));
}

/// The core file of a process that was aborted while a domain ran, with the kernel's filter set (core(5)); `None` if the
/// kernel does not write such files.
fn abort(shop: &Shop, filter: &str) -> Option<PathBuf> {
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
    if pattern.starts_with(['|', '/']) {
        return None;
    }
    let program = installed();
    let shell = format!(
        "ulimit -c unlimited && echo {filter} > /proc/self/coredump_filter && exec {program} run spin.lg"
    );
    let mut child = shop.command("sh").args(["-c", &shell]).stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::ABORT).unwrap();
    child.wait().unwrap();
    let mut entries = std::fs::read_dir(shop.path("")).unwrap().map(|entry| entry.unwrap().path());
    let core = entries.find(|path| path.file_name().unwrap().to_str().unwrap().starts_with("core"))?;
    let kept = shop.path(&format!("{filter}.core"));
    std::fs::rename(core, &kept).unwrap();
    Some(kept)
}

const SERVER: &str = r#"
__attribute__((noinline)) int fail(int *p) {
    return *p + 1; // FAIL
}
int inner(int n) { return fail((int *)(long)(n - n)) + 1; }
"#;

/// `host` leads to the host, `inner` to the other domain.
const CLIENT: &str = r#"
int host(int); int inner(int);
__attribute__((noinline)) int ask(int n) {
    return (n > 0 ? host(n) : inner(n)) + 1; // ASK
}
int outer(int n) { return ask(n) + 1; }
"#;

/// The program that gdb debugs: a host whose domain calls another, through the host or at once.
#[test]
#[ignore = "run under gdb by `calls_in_every_direction`"]
fn host_of_two() {
    let options = |name: &str| DomainOptions::new().name(name);
    let server = Domain::new(&Module::open("server.lg").unwrap(), options("server")).unwrap();
    let inner = server.bind::<extern "C" fn(i32) -> i32>("inner").unwrap();
    let host = HostFunction::new(move |_: &Domain, n: i32| inner.call(n).map_or(-1, |n| n));
    let client =
        Domain::new(&Module::open("client.lg").unwrap(), options("client").gate("host", host)).unwrap();
    client.link("inner", &server, "int inner(int)", Policy::default(), OnFailure::default()).unwrap();
    let outer = client.bind::<extern "C" fn(i32) -> i32>("outer").unwrap();
    for through_the_host in [1, 0] {
        assert_eq!(outer.call(through_the_host).unwrap(), 1); // -1 comes back
    }
}

#[test]
fn calls_in_every_direction() {
    let own_place = |source: &str, mark: &str| {
        1 + source.lines().position(|line| line.ends_with(&format!("// {mark}"))).unwrap()
    };
    let fail = format!(" at server.c:{}\n", own_place(SERVER, "FAIL"));
    let ask = format!(" at client.c:{}\n", own_place(CLIENT, "ASK"));
    let program = std::env::current_exe().unwrap();
    let program = program.to_str().unwrap();
    let arguments =
        ["--args", program, "--exact", "gdb::host_of_two", "--ignored", "--nocapture", "--test-threads", "1"];
    let flags = [&["-O0"][..], &["-O2", "-fno-optimize-sibling-calls"]];
    for flags in one_of(flags, "calls_in_every_direction") {
        let shop = Shop::new();
        shop.write("server.c", SERVER);
        shop.write("client.c", CLIENT);
        let prototype = "int inner(int)";
        shop.lockgate("cc")
            .args(["-g", "server.c", "-o", "server.lg", "--export", prototype])
            .args(flags)
            .run_quietly();
        let imports = ["--export", "int outer(int)", "--gate", "int host(int)", "--gate", prototype];
        shop.lockgate("cc")
            .args(["-g", "client.c", "-o", "client.lg"])
            .args(imports)
            .args(flags)
            .run_quietly();

        let both = "backtrace\ninfo lockgate\n";
        let said = gdb_alone(&shop, program, &format!("run\n{both}continue\n{both}continue\n"), &arguments);
        let stops: Vec<&str> = said.split("received signal SIGSEGV").skip(1).collect();
        assert_eq!(stops.len(), 2, "{said}");
        for (stop, through_the_host) in stops.iter().zip([true, false]) {
            let mut wanted = strings(&["fail (p="]);
            wanted.push(fail.clone());
            wanted.push("in inner (n=".to_owned());
            if through_the_host {
                wanted.extend(strings(&[
                    "in lockgate proxy",
                    "gdb::host_of_two::{closure",
                    "in lockgate_gate_",
                ]));
            }
            wanted.push("in ask (n=".to_owned());
            wanted.push(ask.clone());
            wanted.extend(strings(&["in outer (n=", "in lockgate proxy", "gdb::host_of_two"]));
            wanted.extend(strings(&[
                "domain client: ",
                "domain server: ",
                "host -> client: outer -> server: inner\n",
            ]));
            assert_in_order(stop, &wanted);
        }
        assert!(said.contains("test host_of_two ... ok") || said.contains("1 passed"), "{said}");
    }
}

const THREADED: &str = r#"
#include <pthread.h>
__attribute__((noinline)) int work(int *p) { return *p + 1; }
static void *begin(void *p) { return (void *)(long)(work(p) + 1); }
int main(void) { int n = 1; pthread_t t; pthread_create(&t, 0, begin, &n); void *r; pthread_join(t, &r); return (int)(long)r; }
"#;

/// A thread that a module has started itself.
#[test]
fn threads_of_modules() {
    let shop = Shop::new();
    shop.write("threaded.c", THREADED);
    shop.lockgate("cc").args(["-g", "-O1", "-pthread", "threaded.c", "-o", "threaded.lg"]).run_quietly();
    let commands = "break work\nrun\nbacktrace\ninfo lockgate\nthread apply all backtrace\n";
    let arguments = ["--args", installed(), "run", "--threads", "2", "threaded.lg"];
    let said = gdb_alone(&shop, installed(), commands, &arguments);
    let mut wanted = strings(&["work (p=0x", "#0  work (p=", "in begin (p=", "in lockgate proxy"]);
    wanted.extend(strings(&["host -> threaded.lg: _lg_main", "host -> threaded.lg: _lg_thread_start\n"]));
    wanted.extend(strings(&["in main () at threaded.c:5\n", "in lockgate proxy", " in main ("]));
    assert_in_order(&said, &wanted);
}

/// What gdb makes of names and tables itself, behind what the script lets through, is no text for terminals either: characters that a name
/// has as numbers (Ada's, Rust's), the middle of a character of several bytes, what it reads otherwise than the script would.
#[test]
fn nothing_that_gdb_makes_of_names_is_obeyed() {
    let names = [
        "pkg__evilU1bU9bx",
        "evilW001b_W009b",
        "evilWW0000001bx",
        "_RNvC1au18a31mEVILX_0ha4300g",
        "_ZN9evil$u7f$x17h0123456789abcdefE",
    ];
    let shop = Shop::new();
    let modules: Vec<String> = (0..names.len()).map(|n| format!("evil{n}.lg")).collect();
    for (name, module) in names.iter().zip(&modules) {
        let source = format!(
            "int evil(int *p) __asm__(\"{name}\");\n__attribute__((noinline)) int evil(int *p) {{ return *p + 1; }}\n\
             int crash(int *p) {{ return evil(p) + 1; }}\n"
        );
        shop.write("evil.c", &source);
        let arguments = ["-O1", "-fno-ipa-cp", "-fno-ipa-sra", "evil.c", "-o", module];
        shop.lockgate("cc").args(arguments).args(["--export", "int crash(int *)"]).run_quietly();
    }
    for said in crashes(&shop, "run\nbacktrace\n", &modules) {
        assert!(said.contains("SIGSEGV") && said.contains("evil") | said.contains("EVIL"), "{said:?}");
        let obeyed = said.chars().find(|&c| c.is_control() && c != '\n' && c != '\t');
        assert_eq!(obeyed, None, "{said:?}");
    }
}

/// What gdb says to `commands` where the function `crash` of each of `modules` is called.
fn crashes(shop: &Shop, commands: &str, modules: &[String]) -> Vec<String> {
    let calls: Vec<_> =
        modules.iter().map(|module| ["call", module.as_str(), "int crash(int *)", "0"]).collect();
    let runs: Vec<(&str, &[&str])> = calls.iter().map(|call| (commands, &call[..])).collect();
    gdb_in_turn(shop, &runs)
}

/// gdb sees of a module what it may show, and runs nothing that comes with it; one that is damaged takes nothing from the others.
#[test]
fn nothing_of_a_modules_runs_in_the_debugger() {
    let shop = Shop::new();
    let marker = shop.path("owned");
    let script = format!(
        "__asm__(\".pushsection .debug_gdb_scriptz, \\\"\\\",@progbits\\n.byte 4\\n.ascii \\\"evil\\\\n\\\"\\n\
         .ascii \\\"open('{}', 'w')\\\\n\\\"\\n.byte 0\\n.popsection\\n\");\n\
         void __jit_debug_register_code(void) {{}}\nstruct {{ int v, a; void *r, *f; }} __jit_debug_descriptor = {{1}};\n\
         int crash(int *p) {{ return *p; }}\n",
        marker.display()
    );
    shop.write("evil.c", &script);
    let exports =
        ["--export", "crash", "--export", "__jit_debug_register_code", "--export", "__jit_debug_descriptor"];
    shop.lockgate("cc").args(["-g", "-O1", "evil.c", "-o", "evil.lg"]).args(exports).run_quietly();
    // The link leaves the section out; a module of somebody else's has it.
    let mut bytes = std::fs::read(shop.path("evil.lg")).unwrap();
    let name = b".debug_gdb_scriptz";
    let at = bytes.windows(name.len()).position(|window| window == name).expect("the section's name");
    bytes[at + name.len() - 1] = b's';
    std::fs::write(shop.path("evil.lg"), &bytes).unwrap();
    let arguments = ["--args", installed(), "call", "evil.lg", "int crash(int *)", "0"];
    let commands = "run\nbacktrace\ninfo lockgate\ninfo symbol __jit_debug_register_code\n";
    let said = gdb_itself(&shop, &["add-auto-load-safe-path /"], commands, &arguments);
    let unknown = "No symbol matches __jit_debug_register_code.";
    assert_in_order(&said, &strings(&["crash (p=", "(symbols loaded)\n", unknown]));
    assert!(!marker.exists(), "gdb ran a module's script: {said}");

    // Frame information that makes no sense; then sections that lie outside the file, as the verifier does not look at them.
    for damage in [Damage::Frames, Damage::Sections] {
        std::fs::write(shop.path("damaged.lg"), damage.done(&bytes)).unwrap();
        let arguments = ["--args", installed(), "call", "damaged.lg", "int crash(int *)", "0"];
        let said = gdb_itself(&shop, &["add-auto-load-safe-path /"], commands, &arguments);
        assert_in_order(&said, &strings(&["SIGSEGV", "domain damaged.lg: module damaged.lg"]));
        assert!(
            !said.contains("Traceback") && !said.contains("Python Exception") && !marker.exists(),
            "{said}"
        );
    }
}

/// Names of a module's are shown, and not obeyed: of local symbols, of source files, of functions and variables in whatever form debug
/// information has them.
#[test]
fn names_of_a_modules_are_no_text_for_terminals() {
    for version in ["-gdwarf-5", "-gdwarf-4"] {
        let shop = Shop::new();
        // Names of five bytes are written where they are used, longer ones in tables.
        shop.write(
            "names.c",
            "#line 3 \"file_of_names.c\"\n\
             static __attribute__((noinline)) int qZz(int *qYz, int the_longer_parameter) { return *qYz + the_longer_parameter; }\n\
             int crash(int *p) { return qZz(p, 7) + 1; }\n",
        );
        shop.write("local.s", ".text\n.type local_symbol, @function\nlocal_symbol: ret\n");
        shop.lockgate("cc").args(["-c", "local.s"]).run_quietly();
        let arguments = [
            version,
            "local.o",
            "-O1",
            "-fno-ipa-cp",
            "-fno-ipa-sra",
            "names.c",
            "-o",
            "plain.lg",
            "--export",
            "int crash(int *)",
        ];
        shop.lockgate("cc").args(arguments).run_quietly();
        let mut bytes = std::fs::read(shop.path("plain.lg")).unwrap();
        let mut replace = |from: &[u8], to: &[u8]| {
            assert_eq!(from.len(), to.len());
            let places: Vec<usize> =
                (0..bytes.len() - from.len()).filter(|&at| bytes[at..].starts_with(from)).collect();
            assert!(!places.is_empty(), "{}", String::from_utf8_lossy(from));
            places.into_iter().for_each(|at| bytes[at..][..to.len()].copy_from_slice(to));
        };
        replace(b"qZz\0", b"\x1bcz\0");
        replace(b"qYz\0", b"\x1bcz\0");
        replace(b"the_longer_parameter\0", b"the\x1b[2J\xc2\x9bm_parameter\0");
        replace(b"file_of_names.c\0", b"file\x1b]0;own\x07a.c\0");
        replace(b"local_symbol\0", b"local\x1b[31m_l\0");
        std::fs::write(shop.path("names.lg"), bytes).unwrap();
        let commands =
            "run\nbacktrace\ninfo source\ninfo functions ^local\nframe 1\ninfo locals\ninfo frame\n";
        let said = gdb(&shop, commands, &["call", "names.lg", "int crash(int *)", "0"]);
        assert_in_order(&said, &strings(&["?cz (?cz=0x", "the?[2J??m_parameter=", "file?]0;own?a.c:"]));
        assert!(said.contains("local?[31m_l"), "{said}");
        let obeyed = said.chars().find(|&c| c.is_control() && c != '\n' && c != '\t');
        assert_eq!(obeyed, None, "{said:?}");
    }
}

/// A module that has the names of the runtime: of its list of modules, with an entry that comes after itself and says of a file that it is
/// longer than all memory, and of the function where gdb stops.
const PRETENDER: &str = r#"
struct entry { unsigned long next, before, image, file, size, module, module_size, domain, domain_size; };
static char name[] = "I am the host";
struct entry one;
static volatile struct { unsigned long version, first; long block; } lockgate_debug_modules = {2, 0, 0};
__attribute__((noinline)) void lockgate_debug_changed(void) { __asm__ volatile(""); }
__attribute__((noinline)) void lockgate_crossing(void) { __asm__ volatile(""); }
int crash(int *p) {
    one = (struct entry){(unsigned long)&one, 0, 0x20000, 0, 1ul << 46, (unsigned long)name, 13, (unsigned long)name, 13};
    lockgate_debug_modules.first = (unsigned long)&one;
    lockgate_debug_changed();
    lockgate_crossing();
    return *p;
}
"#;

/// The runtime's names are looked up where the runtime is, whatever a module calls its own.
#[test]
fn names_of_the_runtimes_are_the_hosts() {
    let shop = Shop::new();
    shop.write("pretender.c", PRETENDER);
    let arguments = ["-g", "-O1", "pretender.c", "-o", "pretender.lg", "--export", "crash"];
    shop.lockgate("cc").args(arguments).run_quietly();
    let commands = "run\nbacktrace\ninfo lockgate\n";
    let arguments = ["call", "pretender.lg", "int crash(int *)", "0"];
    let said = gdb(&shop, commands, &arguments);
    let wanted = ["SIGSEGV", "crash (p=0x0)", "in lockgate proxy", " in main ("];
    assert_in_order(&said, &strings(&wanted));
    let wanted = [
        "domain pretender.lg: module pretender.lg, window 0x",
        "(symbols loaded)\n",
        "pretender.lg: crash\n",
    ];
    assert_in_order(&said, &strings(&wanted));
    assert!(!said.contains("I am the host") && !said.contains("Traceback"), "{said}");
}

/// The sections of an ELF file, to change them.
struct Sections {
    bytes: Vec<u8>,
    headers: Vec<Vec<u8>>,
    names: Vec<u8>,
    names_at: usize,
}

impl Sections {
    fn of(bytes: Vec<u8>) -> Sections {
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
        let half = |at: usize| usize::from(u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()));
        let (table, names_at) = (number(40), half(62));
        let headers: Vec<Vec<u8>> =
            (0..half(60)).map(|index| bytes[table + 64 * index..][..64].to_vec()).collect();
        let names =
            bytes[number(table + 64 * names_at + 24)..][..number(table + 64 * names_at + 32)].to_vec();
        Sections { bytes, headers, names, names_at }
    }

    fn name_of(&self, index: usize) -> usize {
        u32::from_le_bytes(self.headers[index][..4].try_into().unwrap()) as usize
    }

    fn find(&self, name: &str) -> usize {
        let name = format!("{name}\0");
        (0..self.headers.len()).find(|&i| self.names[self.name_of(i)..].starts_with(name.as_bytes())).unwrap()
    }

    fn set_name(&mut self, index: usize, at: usize) {
        self.headers[index][..4].copy_from_slice(&(at as u32).to_le_bytes());
    }

    /// Where its contents are.
    fn set_place(&mut self, index: usize, offset: usize, size: usize) {
        self.headers[index][24..32].copy_from_slice(&(offset as u64).to_le_bytes());
        self.headers[index][32..40].copy_from_slice(&(size as u64).to_le_bytes());
    }

    fn place(&self, index: usize) -> std::ops::Range<usize> {
        let number =
            |at: usize| u64::from_le_bytes(self.headers[index][at..at + 8].try_into().unwrap()) as usize;
        number(24)..number(24) + number(32)
    }

    /// Puts `names` before the names; those of all sections stay what they are.
    fn names_first(&mut self, names: &[u8]) {
        for index in 0..self.headers.len() {
            let at = self.name_of(index) + names.len();
            self.set_name(index, at);
        }
        self.names.splice(0..0, names.iter().copied());
    }

    /// Gives the section other contents, behind all others.
    fn replace(&mut self, name: &str, contents: &[u8]) {
        let (index, at) = (self.find(name), self.bytes.len());
        self.bytes.extend_from_slice(contents);
        self.set_place(index, at, contents.len());
    }

    /// Where the headers will lie: the names are written before them.
    fn table(&mut self) -> usize {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&self.names.clone());
        self.set_place(self.names_at, at, self.names.len());
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        self.bytes.len()
    }

    fn done(mut self) -> Vec<u8> {
        let table = self.bytes.len();
        self.bytes[40..48].copy_from_slice(&(table as u64).to_le_bytes());
        self.bytes[60..62].copy_from_slice(&(self.headers.len() as u16).to_le_bytes());
        self.bytes.extend(self.headers.concat());
        self.bytes
    }
}

/// A section that lies over another one's header would make something else of it as it is cleaned, and many that lie over each other are a lot to
/// clean.
#[test]
fn no_section_is_two() {
    let shop = Shop::new();
    // (A name of three bytes is written where it is used.)
    shop.write("two.c", "int abc(int *p) { return *p; }\nint crash(int *p) { return abc(p) + 1; }\n");
    let arguments = ["-g", "-O0", "two.c", "-o", "plain.lg", "--export", "crash"];
    shop.lockgate("cc").args(arguments).run_quietly();
    let plain = std::fs::read(shop.path("plain.lg")).unwrap();
    let said = |file: Vec<u8>| {
        std::fs::write(shop.path("two.lg"), file).unwrap();
        gdb(&shop, "run\nbacktrace\ninfo lockgate\n", &["call", "two.lg", "int crash(int *)", "0"])
    };

    // `.debug_info` is called `.debug_ranges`, which is not looked into, until a control character in its header becomes '?', 0x3f.
    let mut file = Sections::of(plain.clone());
    let (info, names) = (file.find(".debug_info"), file.find(".debug_str"));
    let mut first = b"\0.debug_ranges\0".to_vec();
    first.resize(0x3f, b'.');
    *first.last_mut().unwrap() = 0;
    first.extend_from_slice(b".debug_info\0");
    file.names_first(&first);
    let place = file.place(info);
    let hidden: Vec<usize> = place.filter(|&at| file.bytes[at..].starts_with(b"abc\0")).collect();
    assert!(!hidden.is_empty());
    hidden.into_iter().for_each(|at| file.bytes[at..at + 3].copy_from_slice(b"\x1bc!"));
    file.set_name(info, 1);
    // The true table of names comes behind the one that lies over the header.
    file.headers.push(file.headers[names].clone());
    let table = file.table();
    file.set_place(names, table + 64 * info, 4);
    let shown = said(file.done());
    assert!(shown.contains("SIGSEGV") && !shown.contains('\x1b'), "{shown:?}");

    // Two have one name, each in a place of its own.
    let mut file = Sections::of(plain.clone());
    file.headers.push(file.headers[file.find(".debug_str")].clone());
    file.replace(".debug_str", b"another\0");
    file.table();
    let shown = said(file.done());
    assert!(shown.contains("no symbols of two.lg: its file is damaged"), "{shown}");

    let mut file = Sections::of(plain);
    let names = file.find(".debug_str");
    let at = file.bytes.len();
    file.bytes.resize(at + (4 << 20), 1);
    file.set_place(names, at, 4 << 20);
    file.headers.resize(40_000, file.headers[names].clone());
    file.table();
    let shown = said(file.done());
    assert!(shown.contains("no symbols of two.lg: its file is damaged"), "{shown}");
}

#[derive(Clone, Copy)]
enum Damage {
    Frames,
    Sections,
}

impl Damage {
    fn done(self, module: &[u8]) -> Vec<u8> {
        let mut bytes = module.to_vec();
        let number = |at: usize| u64::from_le_bytes(module[at..at + 8].try_into().unwrap()) as usize;
        let half = |at: usize| usize::from(u16::from_le_bytes(module[at..at + 2].try_into().unwrap()));
        let (table, count, names) = (number(40), half(60), half(62));
        let headers = (0..count).map(|index| table + 64 * index);
        match self {
            Damage::Frames => {
                let name = |header: usize| {
                    &module[number(table + 64 * names + 24) + number(header) as u32 as usize..]
                };
                let frames =
                    headers.clone().find(|&header| name(header).starts_with(b".eh_frame\0")).unwrap();
                bytes[number(frames + 24)..][..4].copy_from_slice(&0x7fff_fff0_u32.to_le_bytes());
            }
            Damage::Sections => {
                headers.skip(1).for_each(|header| {
                    bytes[header + 32..header + 40].copy_from_slice(&u64::MAX.to_le_bytes())
                });
            }
        }
        bytes
    }
}

/// The sections of a module's debug information, made by hand: one unit of version 4, whose code is all code, and in it `entries`.
fn with_entries(plain: &[u8], abbreviations: &[u8], entries: &[u8]) -> Vec<u8> {
    with_unit(plain, (&[(0x03, 0x08)], b"unit\0"), abbreviations, entries)
}

/// The same, with attributes of the unit's own, and their values.
fn with_unit(plain: &[u8], own: (&[(u64, u64)], &[u8]), abbreviations: &[u8], entries: &[u8]) -> Vec<u8> {
    let mut file = Sections::of(plain.to_vec());
    let mut all = abbreviation(1, 0x11, true, &[own.0, &[(0x11, 0x01), (0x12, 0x07)]].concat());
    all.extend_from_slice(abbreviations);
    all.push(0);
    let code = [0x10_u64.to_le_bytes(), 0x10_0000_u64.to_le_bytes()].concat();
    let unit = [&4_u16.to_le_bytes()[..], &[0; 4], &[8, 1], own.1, &code, entries, &[0]].concat();
    let length = u32::try_from(unit.len()).unwrap().to_le_bytes();
    file.replace(".debug_abbrev", &all);
    file.replace(".debug_info", &[&length[..], &unit].concat());
    for rest in [".debug_aranges", ".debug_line"] {
        file.replace(rest, &[]);
    }
    file.table();
    file.done()
}

/// Where the entries begin: behind lengths, numbers, the unit's name and its code.
const FIRST: usize = 4 + 8 + 5 + 16;

/// An abbreviation: its number, tag, whether it has children, and its attributes with their forms.
fn abbreviation(number: u64, tag: u64, children: bool, attributes: &[(u64, u64)]) -> Vec<u8> {
    let mut bytes = [leb(number), leb(tag), vec![children.into()]].concat();
    for &(name, form) in attributes {
        bytes.extend([leb(name), leb(form)].concat());
    }
    bytes.extend([0, 0]);
    bytes
}

fn leb(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// A module with debug information, to be changed.
fn plain_module(shop: &Shop) -> Vec<u8> {
    shop.write("plain.c", "int crash(int *p) { return *p; }\n");
    let arguments = ["-g", "-O1", "plain.c", "-o", "plain.lg", "--export", "crash"];
    shop.lockgate("cc").args(arguments).run_quietly();
    std::fs::read(shop.path("plain.lg")).unwrap()
}

/// A function with one argument, whose type is the entry behind it, and then `types`, which are told where they begin.
fn function_with(types: impl Fn(u32) -> Vec<u8>) -> Vec<u8> {
    let mut entries = [&[2][..], b"fn\0", &0x10_u64.to_le_bytes(), &0x10_0000_u64.to_le_bytes()].concat();
    // Its frame is where rsp points, and the argument there.
    entries.extend([1, 0x57]);
    let at = u32::try_from(FIRST + entries.len() + 3 + 4 + 3 + 1).unwrap();
    entries.extend([&[3][..], b"x\0", &at.to_le_bytes(), &[2, 0x91, 0], &[0]].concat());
    entries.extend(types(at));
    entries
}

/// gdb ends of what it does not expect: types that consist of themselves, chains and nests that are deeper than its stack, a line table
/// without a range, unknown instructions. Of such a module there are functions' names, and the program can be debugged.
#[test]
fn debug_information_that_ends_gdb_is_left_out() {
    let shop = Shop::new();
    let plain = plain_module(&shop);
    let abbreviations = [
        abbreviation(2, 0x2e, true, &[(0x03, 0x08), (0x11, 0x01), (0x12, 0x07), (0x40, 0x18)]),
        abbreviation(3, 0x05, false, &[(0x03, 0x08), (0x49, 0x13), (0x02, 0x18)]),
        abbreviation(4, 0x26, false, &[(0x49, 0x13)]),
        abbreviation(5, 0x13, true, &[(0x03, 0x08), (0x0b, 0x0b)]),
        abbreviation(6, 0x0d, false, &[(0x03, 0x08), (0x49, 0x13), (0x38, 0x0b)]),
        abbreviation(7, 0x0b, true, &[(0x11, 0x01), (0x12, 0x07), (0x03, 0x08)]),
        abbreviation(8, 0x2e, false, &[(0x31, 0x13), (0x11, 0x01), (0x12, 0x07)]),
        abbreviation(9, 0x24, false, &[(0x03, 0x08), (0x0b, 0x0b), (0x3e, 0x0b)]),
        abbreviation(10, 0x21, false, &[(0x49, 0x13), (0x2f, 0x0b)]),
        abbreviation(11, 0x2e, false, &[(0x31, 0x0b), (0x11, 0x01), (0x12, 0x07)]),
    ]
    .concat();
    let int = b"\x09int\0\x04\x05";
    let made = |entries: &[u8]| with_entries(&plain, &abbreviations, entries);
    let code = [0x10_u64.to_le_bytes(), 0x10_0000_u64.to_le_bytes()].concat();
    let back = |at: usize| [&[8][..], &u32::try_from(at).unwrap().to_le_bytes(), &code].concat();
    let block = [&[7][..], &code, b"n\0"].concat();
    let around = [&[2][..], b"fn\0", &code, &[1, 0x57], &block.repeat(60_000), &[0].repeat(60_001)].concat();
    let changed = |section: &str, at: &dyn Fn(&[u8]) -> Vec<usize>, value: u8| {
        let mut file = Sections::of(plain.clone());
        let place = file.place(file.find(section));
        at(&plain[place.clone()]).into_iter().for_each(|at| file.bytes[place.start + at] = value);
        file.bytes
    };
    // Entries of the frames' section that others share have a text "zR", two factors, a register, a length, and how pointers are written; then
    // instructions.
    let encodings = |frames: &[u8]| -> Vec<usize> {
        let shared = (0..frames.len()).filter(|&at| frames[at..].starts_with(b"zR\0"));
        shared.map(|at| at + 7).collect()
    };
    let instructions = |frames: &[u8]| encodings(frames).into_iter().map(|at| at + 1).collect();
    // An entry that leads to one in a second unit, where it leads to the one behind it.
    let twice = {
        let end = FIRST + 5 + int.len() + 1;
        let unit = |to: usize| {
            let unit = [&[4][..], &u32::try_from(to).unwrap().to_le_bytes(), int].concat();
            let file = Sections::of(made(&unit));
            file.bytes[file.place(file.find(".debug_info"))].to_vec()
        };
        let mut file = Sections::of(made(&[]));
        file.replace(".debug_info", &[unit(end + FIRST + 5), unit(FIRST + 5)].concat());
        file.table();
        file.done()
    };
    // A range, and its type, which has no size.
    let range = [&[10][..], &u32::try_from(FIRST + 6).unwrap().to_le_bytes(), &[3], b"\x05s\0\0\0"].concat();
    let based = [&b"unit\0"[..], &[0; 8]].concat();
    let cases: [(&str, Vec<u8>, &str); 16] = [
        (
            "a constant that is itself",
            made(&function_with(|at| [&[4][..], &at.to_le_bytes()].concat())),
            "back to itself",
        ),
        (
            "a structure in itself",
            made(&function_with(|at| [&[5][..], b"s\0\x08\x06m\0", &at.to_le_bytes(), &[0, 0]].concat())),
            "back to itself",
        ),
        (
            "a long chain",
            made(&function_with(|at| {
                let one = |number: u32| [&[4][..], &(at + 5 * number).to_le_bytes()].concat();
                [(1..=60_000).flat_map(one).collect(), b"\x09int\0\x04\x05".to_vec()].concat()
            })),
            "lead too far",
        ),
        ("functions from each other", made(&[back(FIRST + 21), back(FIRST)].concat()), "back to itself"),
        ("a deep nest", made(&around), "too deep"),
        ("no range of lines", changed(".debug_line", &|_| vec![4 + 2 + 2 + 4 + 4], 0), "no range"),
        ("addresses of 3 bytes", changed(".debug_info", &|_| vec![7], 3), "another size"),
        ("an entry without an end", made(b"\x05s\0\x08"), "within an entry"),
        ("entries behind the unit's", made(&[&[0][..], int].concat()), "not one entry"),
        ("a unit of another kind", changed(".debug_info", &|_| vec![6], 3), "not one entry"),
        ("a way to another unit", twice, "out of its unit"),
        ("a range of nothing", made(&range), ""),
        (
            "a place of another form",
            with_unit(&plain, (&[(0x03, 0x08), (0x74, 0x01)], &based), &abbreviations, int),
            "",
        ),
        ("an origin that is a number", made(&[&[11, 8][..], &code].concat()), ""),
        ("an unknown instruction", changed(".eh_frame", &instructions, 0x17), ""),
        ("pointers of an unknown kind", changed(".eh_frame", &encodings, 0x0f), ""),
    ];
    let modules: Vec<String> = (0..cases.len()).map(|case| format!("bad{case}.lg")).collect();
    for (module, (_, file, _)) in modules.iter().zip(&cases) {
        std::fs::write(shop.path(module), file).unwrap();
    }
    let said = crashes(&shop, "run\nbacktrace\n", &modules);
    for ((module, said), (name, _, refused)) in modules.iter().zip(said).zip(cases) {
        assert_in_order(&said, &strings(&["SIGSEGV", "#0 ", "crash (", "in lockgate proxy", " in main ("]));
        let wanted = format!("lockgate: no debug information of {module}: ");
        assert_eq!(said.contains(&wanted), !refused.is_empty(), "{name}: {said}");
        assert!(said.contains(refused), "{name}: {said}");
        assert!(!said.contains("Dwarf Error"), "{name}: {said}");
    }
}

/// A file in which an ordinary section has become one of debug information, with these contents.
fn with_section(file: Vec<u8>, name: &str, contents: &[u8]) -> Vec<u8> {
    let mut file = Sections::of(file);
    file.names_first(format!("\0{name}\0").as_bytes());
    let unused = file.find(".comment");
    file.set_name(unused, 1);
    file.replace(name, contents);
    file.table();
    file.done()
}

/// Debug information leads to names, addresses, lists and lines in other sections. Where they are not there, gdb shows no backtrace at all, reads
/// on behind the section, or ends, and leaves its breakpoint in the program.
#[test]
fn what_debug_information_leads_to_is_there() {
    let shop = Shop::new();
    let plain = plain_module(&shop);
    let abbreviations = [
        abbreviation(2, 0x24, false, &[(0x03, 0x0e), (0x0b, 0x0b), (0x3e, 0x0b)]),
        abbreviation(3, 0x24, false, &[(0x03, 0x25), (0x0b, 0x0b), (0x3e, 0x0b)]),
        abbreviation(4, 0x34, false, &[(0x03, 0x08), (0x11, 0x29)]),
        abbreviation(5, 0x34, false, &[(0x03, 0x08), (0x3a, 0x22)]),
        abbreviation(6, 0x0b, false, &[(0x55, 0x17)]),
        abbreviation(7, 0x34, false, &[(0x03, 0x08), (0x02, 0x18)]),
    ]
    .concat();
    let size = |name: &str| {
        let file = Sections::of(plain.clone());
        file.place(file.find(name)).len()
    };
    let made = |entries: &[u8]| with_entries(&plain, &abbreviations, entries);
    let based = |base: u64, number: u32, entries: &[u8]| {
        let own = [&b"unit\0"[..], &number.to_le_bytes()].concat();
        with_unit(&plain, (&[(0x03, 0x08), (base, 0x06)], &own), &abbreviations, entries)
    };
    let without = |file: Vec<u8>, name: &str| {
        let mut file = Sections::of(file);
        let index = file.find(name);
        file.headers[index][4..8].fill(0);
        file.table();
        file.done()
    };
    let mut endless = Sections::of(plain.clone());
    let last = endless.place(endless.find(".debug_str")).end - 1;
    endless.bytes[last] = b'A';
    let lines = {
        let mut file = Sections::of(plain.clone());
        let lines = file.bytes[file.place(file.find(".debug_line"))].to_vec();
        file = Sections::of(based(0x10, 4, &[]));
        file.replace(".debug_line", &lines);
        file.table();
        file.done()
    };
    let outside = u32::try_from(size(".debug_str")).unwrap().to_le_bytes();
    let offsets = [[0; 8], [0, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f]].concat();
    let third = b"\x03\x00\x04\x05";
    let cases: [(&str, Vec<u8>, &str); 14] = [
        ("a name outside", made(&[&[2][..], &outside, &[4, 5]].concat()), "a name lies outside its section"),
        ("names without an end", endless.done(), "its names have no end"),
        ("no names", without(plain.clone(), ".debug_str"), "it is damaged"),
        ("a number without a table", made(third), "there is no table"),
        (
            "numbers of names, and no names",
            without(with_section(based(0x72, 8, third), ".debug_str_offsets", &offsets), ".debug_str"),
            "it is damaged",
        ),
        (
            "a number of a name outside",
            with_section(based(0x72, 8, b"\x03\x01\x04\x05"), ".debug_str_offsets", &offsets),
            "a name lies outside its section",
        ),
        (
            "a number outside a table",
            with_section(based(0x72, 8, b"\x03\x02\x04\x05"), ".debug_str_offsets", &offsets),
            "a table lies outside its section",
        ),
        ("an address without a table", made(b"\x04x\0\x00"), "there is no table"),
        ("a list without a table", made(b"\x05x\0\x00"), "there is no table"),
        ("a list without its section", based(0x8c, 12, b"\x05x\0\x00"), "there is no table"),
        (
            "a list outside a table",
            with_section(
                based(0x8c, 12, b"\x05x\0\x01"),
                ".debug_loclists",
                &[[0; 8], [1, 0, 0, 0, 0, 0, 0, 0], [0; 8]].concat(),
            ),
            "a number outside its table",
        ),
        (
            "ranges without an end",
            with_section(made(b"\x06\0\0\0\0"), ".debug_ranges", &[1; 32]),
            "ends in the middle",
        ),
        ("lines in the middle", lines, "lines begin in the middle"),
        // It becomes an expression without a result.
        ("a place by a number", made(b"\x07x\0\x02\xa1\x00"), ""),
    ];
    let modules: Vec<String> = (0..cases.len()).map(|case| format!("leading{case}.lg")).collect();
    for (module, (_, file, _)) in modules.iter().zip(&cases) {
        std::fs::write(shop.path(module), file).unwrap();
    }
    let said = crashes(&shop, "run\nbacktrace\ninfo lockgate\n", &modules);
    for ((module, said), (name, _, refused)) in modules.iter().zip(said).zip(&cases) {
        assert_in_order(&said, &strings(&["SIGSEGV", "#0 ", "crash (", "in lockgate proxy", " in main ("]));
        let wanted = format!("lockgate: no debug information of {module}: ");
        assert_eq!(said.contains(&wanted), !refused.is_empty(), "{name}: {said}");
        assert!(said.contains(refused) && !said.contains("Exception"), "{name}: {said}");
    }

    // Without any of these looks another gdb, which has no program to leave a breakpoint in, ends in this one's place.
    let unlooked = "python clean_debug_information = lambda *_: None\nrun\nbacktrace\n";
    for said in crashes(&shop, unlooked, &[modules[0].clone(), modules[4].clone()]) {
        assert!(said.contains(": gdb does not come to its end"), "{said}");
        assert_in_order(&said, &strings(&["SIGSEGV", "in crash (", " in main ("]));
    }
}

/// The gdb that reads a module's file first has 4 GiB of memory. In its place: a program that waits for this limit, which `ulimit` says in KiB.
#[test]
fn what_reads_a_file_first_has_little_memory() {
    let shop = Shop::new();
    plain_module(&shop);
    shop.write("reader.sh", "#!/bin/sh\nuntil [ \"$(ulimit -v)\" = 4194304 ]; do :; done\necho all of it\n");
    let reader = shop.path("reader");
    let commands = format!(
        "shell cp reader.sh reader && chmod +x reader\npython os.readlink = lambda _: '{}'\nrun\nbacktrace\n",
        reader.display()
    );
    let said = gdb(&shop, &commands, &["call", "plain.lg", "int crash(int *)", "0"]);
    assert_in_order(&said, &strings(&["SIGSEGV", "crash (p=0x0) at plain.c:1", " in main ("]));
}

/// A table of symbols that gdb would take for none, or that would have it read elsewhere, is left out. Whatever gdb says of a module's file, the
/// program goes on, and can be debugged.
#[test]
fn damaged_tables_of_symbols_are_left_out() {
    let shop = Shop::new();
    let plain = plain_module(&shop);
    let changed = |name: &str, at: usize, with: &[u8]| {
        let mut file = Sections::of(plain.clone());
        let index = file.find(name);
        file.headers[index][at..at + with.len()].copy_from_slice(with);
        file.table();
        file.done()
    };
    let written = |name: &str, at: &dyn Fn(usize) -> usize, with: &[u8]| {
        let mut file = Sections::of(plain.clone());
        let place = file.place(file.find(name));
        let at = place.start + at(place.len());
        file.bytes[at..at + with.len()].copy_from_slice(with);
        file.bytes
    };
    const SIZE: usize = 32;
    const INFO: usize = 44;
    let cases = [
        (changed(".symtab", SIZE, &1_u64.to_le_bytes()), "their table is damaged"),
        (changed(".symtab", INFO, &u32::MAX.to_le_bytes()), "their table is damaged"),
        (written(".symtab", &|_| 24 + 6, &[0xff, 0xff]), "that is not there"),
        (written(".symtab", &|_| 24, &[0xff, 0xff, 0xff, 0x7f]), "that is not there"),
        (written(".strtab", &|size| size - 1, b"A"), "their names have no end"),
    ];
    let modules: Vec<String> = (0..cases.len()).map(|case| format!("nameless{case}.lg")).collect();
    for (module, (file, _)) in modules.iter().zip(&cases) {
        std::fs::write(shop.path(module), file).unwrap();
    }
    let all = "run\nbacktrace\ninfo lockgate\ncontinue\n";
    let ends = ["SIGSEGV", "crash (p=0x0) at plain.c:1", " in main (", "domain nameless", "exited with code"];
    for (said, (_, refused)) in crashes(&shop, all, &modules).iter().zip(&cases) {
        assert_in_order(said, &strings(&ends));
        assert!(said.contains("lockgate: no symbols of nameless") && said.contains(refused), "{said}");
    }

    // gdb's error where nobody has looked before, and errors of the script's.
    let broken = [
        ("clean_symbols, is_read = (lambda *_: None), (lambda _: True)", "can't read symbols"),
        ("understood = None", "lockgate: no symbols of nameless0.lg: 'NoneType'"),
        ("registered = None", "lockgate: no symbols: 'NoneType'"),
    ];
    for (broken, wanted) in broken {
        let commands = format!("python {broken}\nrun\nbacktrace\ncontinue\n");
        let said = gdb(&shop, &commands, &["call", &modules[0], "int crash(int *)", "0"]);
        assert_in_order(&said, &strings(&["SIGSEGV", "#0 ", "exited with code"]));
        assert!(said.contains(wanted), "{said}");
    }
}

/// gdb computes where arguments are as soon as it shows a frame. It computes no expression that goes back, refers to itself or divides by what may
/// be -1, wherever that is: in an entry, in a list, in the frame's own, or in what frames are found by.
#[test]
fn expressions_come_to_an_end() {
    let shop = Shop::new();
    let plain = plain_module(&shop);
    let abbreviations = [
        abbreviation(2, 0x2e, true, &[(0x03, 0x08), (0x11, 0x01), (0x12, 0x07), (0x40, 0x18)]),
        abbreviation(3, 0x05, false, &[(0x03, 0x08), (0x49, 0x13), (0x02, 0x18)]),
        abbreviation(4, 0x05, false, &[(0x03, 0x08), (0x49, 0x13), (0x02, 0x17)]),
        abbreviation(5, 0x24, false, &[(0x03, 0x08), (0x0b, 0x0b), (0x3e, 0x0b)]),
        abbreviation(6, 0x01, true, &[(0x49, 0x13)]),
        abbreviation(7, 0x21, false, &[(0x2f, 0x18)]),
        abbreviation(8, 0x05, false, &[(0x03, 0x08), (0x49, 0x13), (0x02, 0x17), (0x4a, 0x17)]),
    ]
    .concat();
    let block = |code: &[u8]| [&leb(code.len() as u64)[..], code].concat();
    // The function, its frame, its argument (its abbreviation, and where it is), and its type, an int; or what is before that.
    let function = |frame: &[u8], argument: (u8, &[u8]), types: &dyn Fn(u32) -> Vec<u8>| {
        let code = [0x10_u64.to_le_bytes(), 0x10_0000_u64.to_le_bytes()].concat();
        let start = [&[2][..], b"fn\0", &code, &block(frame), &[argument.0], b"x\0"].concat();
        let at = FIRST + start.len() + 4 + argument.1.len() + 1;
        let at = u32::try_from(at).unwrap();
        let entries = [&start[..], &at.to_le_bytes(), argument.1, &[0], &types(at)].concat();
        with_entries(&plain, &abbreviations, &entries)
    };
    let int = |_: u32| b"\x05int\0\x04\x05".to_vec();
    let (frame, place) = (&[0x57][..], &[0x91, 0][..]);
    let back = [0x30, 0x2f, 0xfc, 0xff];
    // The least number, divided by -1.
    let division = [&[0x0e][..], &i64::MIN.to_le_bytes(), &[0x31, 0x1f, 0x1b, 0x9f]].concat();
    let in_place = |code: &[u8]| function(frame, (3, &block(code)), &int);
    let argument_at = u32::try_from(FIRST + 4 + 16 + 6).unwrap();
    let itself = [&[0xfd][..], &argument_at.to_le_bytes()].concat();
    let list = |argument: (u8, &[u8])| {
        let entry =
            [&0_u64.to_le_bytes()[..], &0x10_0000_u64.to_le_bytes(), &[4, 0], &back, &[0; 16]].concat();
        with_section(function(frame, argument, &int), ".debug_loc", &entry)
    };
    // The second one begins where the first one's expression ends.
    let in_each_other = [0_u32.to_le_bytes(), 22_u32.to_le_bytes()].concat();
    let count = |at: u32| {
        let array =
            [&[6][..], &(at + 8 + back.len() as u32).to_le_bytes(), &[7], &block(&back), &[0]].concat();
        [array, int(at)].concat()
    };
    // Without its sign, the distance leads to the end.
    let long = [&[0x96, 0x2f, 0xfc, 0xff][..], &[0x96; 0xfffc]].concat();
    let cases: [(&str, Vec<u8>, &str); 10] = [
        ("a jump back", in_place(&back), "x=<error"),
        ("a jump back in a long expression", in_place(&long), "x=<error"),
        ("a jump into an instruction", in_place(&[0x2f, 1, 0, 0x0c, 0x2f, 0xfd, 0xff, 0]), "x=<error"),
        ("a division", in_place(&division), "x=<error"),
        ("a division by a number that is there", in_place(&[0x38, 0x32, 0x1b, 0x9f]), "x=4"),
        ("a frame of a variable", function(&itself, (3, &block(place)), &int), "x=<error"),
        ("a list", list((4, &[0; 4])), "x=<error"),
        ("a list in another", list((8, &in_each_other)), "lists of expressions overlap"),
        ("the end of an array", function(frame, (3, &block(place)), &count), "(x=...)"),
        (
            "a complex number of five bytes",
            function(frame, (3, &block(place)), &|_| b"\x05z\0\x05\x03".to_vec()),
            "complex numbers",
        ),
    ];
    let modules: Vec<String> = (0..cases.len()).map(|case| format!("endless{case}.lg")).collect();
    for (module, (_, file, _)) in modules.iter().zip(&cases) {
        std::fs::write(shop.path(module), file).unwrap();
    }
    let said = crashes(&shop, "run\nbacktrace\n", &modules);
    for (said, (name, _, wanted)) in said.iter().zip(cases) {
        assert_in_order(said, &strings(&["SIGSEGV", "#0 ", " in main ("]));
        assert!(said.contains(wanted), "{name}: {said}");
    }
}

/// gdb looks for frames that calls at functions' ends have left out: along all ways by such calls, which double with each.
#[test]
fn calls_at_functions_ends_are_not_followed() {
    let shop = Shop::new();
    let mut source = "__attribute__((noipa)) int crash(int *p) { __asm__(\"\"); return *p; }\n".to_owned();
    for level in (0..40).rev() {
        for name in ["a", "b"] {
            let next =
                |name| if level == 39 { "crash(p)".to_owned() } else { format!("{name}{}(p)", level + 1) };
            source += &format!(
                "__attribute__((noipa)) int {name}{level}(int *p) {{ __asm__(\"# {name}\"); if (p) return {}; return {}; }}\n",
                next("a"),
                next("b")
            );
        }
    }
    source += "int go(int *p) { int got = a0(p); __asm__(\"\"); return got + 1; }\n";
    shop.write("ends.c", &source);
    shop.lockgate("cc").args(["-g", "-O2", "-shared", "ends.c", "-o", "ends.lg"]).run_quietly();
    let said = gdb(&shop, "run\nbacktrace\n", &["call", "ends.lg", "int go(int *)", "0"]);
    assert_in_order(&said, &strings(&["SIGSEGV", "crash (p=", " in go (p=", " in main ("]));
}

/// Some attributes need no bytes where they are, but time.
#[test]
fn debug_information_costs_little_time() {
    let shop = Shop::new();
    let plain = plain_module(&shop);
    let many = abbreviation(2, 0x4109, false, &[(0x3f, 0x19); 256]);
    std::fs::write(shop.path("wide.lg"), with_entries(&plain, &many, &[2].repeat(500_000))).unwrap();
    let said = gdb(&shop, "run\nbacktrace\n", &["call", "wide.lg", "int crash(int *)", "0"]);
    assert!(said.contains("no debug information of wide.lg: its entries have too many attributes"), "{said}");
    assert_in_order(&said, &strings(&["SIGSEGV", "in crash (", " in main ("]));
}

/// Names of C++ and Rust refer to what they have said before, and may double with each letter: gdb demangles each symbol's, without a limit, and
/// what debug information calls anything. It gets those that are short when they are written out.
#[test]
fn names_that_double_are_not_written_out() {
    let shop = Shop::new();
    let digit = |number: usize| char::from_digit(number as u32, 36).unwrap().to_ascii_uppercase();
    let cxx =
        (0..14).fold("_Z1f1aIccE".to_owned(), |name, number| format!("{name}S_IS{0}_S{0}_E", digit(number)));
    let mut rust = ("INvC1a1fTaaE".to_owned(), 8);
    for _ in 0..14 {
        let (name, last) = &rust;
        let [high, low] = [(last - 1) / 62, (last - 1) % 62].map(|number| {
            let digits = ('0'..='9').chain('a'..='z').chain('A'..='Z');
            digits.clone().nth(number).unwrap()
        });
        let number = if high == '0' { format!("{low}_") } else { format!("{high}{low}_") };
        rust = (format!("{name}TB{number}B{number}E"), name.len());
    }
    let rust = format!("_R{}E", rust.0);
    let source = format!(
        "int one(int x) __asm__(\"{cxx}\"), two(int x) __asm__(\"{rust}\"), three(int x) __asm__(\"_ZN3foo3barEi\");
         int one(int x) {{ return x + 1; }} int two(int x) {{ return x + 2; }} int three(int x) {{ return x + 3; }}
         int {cxx}x(int x) {{ return x + 4; }} struct {cxx}y {{ int n; }} y;
         int crash(int *p) {{ return *p; }}\n"
    );
    shop.write("double.c", &source);
    let commands = "run\nbacktrace\ninfo functions Z1f1a\\|RINvC1a\\|foo\ninfo types IS0_\n";
    for (flags, module) in [(&["-g"][..], "double.lg"), (&[], "doubleless.lg")] {
        shop.lockgate("cc").args(flags).args(["-O1", "-shared", "double.c", "-o", module]).run_quietly();
        let said = gdb(&shop, commands, &["call", module, "int crash(int *)", "0"]);
        assert_in_order(&said, &strings(&["SIGSEGV", "crash (", " in main ("]));
        let longest = said.lines().map(str::len).max().unwrap();
        assert!(longest < 10_000, "{longest}");
        let wanted = match flags == ["-g"] {
            true => vec![format!("int ?{}x(int)", &cxx[1..]), format!("struct ?{}y", &cxx[1..])],
            false => vec![format!("?{}", &cxx[1..]), format!("?{}", &rust[1..]), "foo::bar(int)".to_owned()],
        };
        for wanted in wanted {
            assert!(said.contains(&wanted), "{wanted}: {said}");
        }
    }
}

/// A module's debug information names files: where the rest of it is (which gdb would read and show as it is), and its sources, which gdb
/// opens wherever it stops. It finds sources by the last part of their names, where its user has told it to look.
#[test]
fn no_file_of_a_modules_choice_is_opened() {
    let shop = Shop::new();
    let plain = plain_module(&shop);
    let run = |commands: &str, module: &str| gdb(&shop, commands, &["call", module, "int crash(int *)", "0"]);
    let own = [0x2130, 0x76].map(|name| {
        let own = ([(name, 0x08), (0x2131, 0x07)], [&b"/else/where\0"[..], &7_u64.to_le_bytes()].concat());
        let module = format!("split{name}.lg");
        std::fs::write(shop.path(&module), with_unit(&plain, (&own.0, &own.1), &[], &[])).unwrap();
        module
    });
    for said in crashes(&shop, "run\nbacktrace\n", &own) {
        assert!(said.contains("in crash (") && !said.contains("DWO"), "{said}");
    }

    let elsewhere = Shop::new();
    elsewhere.write("secret.txt", "what was not for you\nnor this\n");
    let path = elsewhere.path("secret.txt");
    let above = Path::new("..").join(path.strip_prefix(shop.path("").parent().unwrap()).unwrap());
    let mut named = Vec::new();
    for (path, version) in
        [(&path, "-gdwarf-5"), (&above, "-gdwarf-5"), (&path, "-gdwarf-4"), (&above, "-gdwarf-4")]
    {
        let source = format!("#line 1 \"{}\"\nint crash(int *p) {{ return *p; }}\n", path.display());
        shop.write("named.c", &source);
        named.push(format!("named{}.lg", named.len()));
        let arguments = [version, "-O1", "named.c", "-o", &named[named.len() - 1], "--export", "crash"];
        shop.lockgate("cc").args(arguments).run_quietly();
    }
    for said in crashes(&shop, "run\nlist\ninfo source\n", &named) {
        assert!(said.contains("secret.txt:1") && !said.contains("not for you"), "{said}");
    }
    let told = format!("directory {}\nrun\n", elsewhere.path("").display());
    for (said, module) in crashes(&shop, &told, &named).iter().zip(&named) {
        assert!(said.contains("1\twhat was not for you"), "{module}: {said}");
    }

    // A function that is to be asked which function it is: gdb would call it.
    let mut file = Sections::of(plain);
    let (symbols, names) = (file.place(file.find(".symtab")), file.place(file.find(".strtab")));
    let is_crash = |at: &usize| {
        let name = u32::from_le_bytes(file.bytes[*at..*at + 4].try_into().unwrap()) as usize;
        file.bytes[names.start + name..].starts_with(b"crash\0")
    };
    let symbol = symbols.step_by(24).find(is_crash).unwrap();
    file.bytes[symbol + 4] = file.bytes[symbol + 4] & 0xf0 | 10;
    for section in [".debug_info", ".debug_abbrev", ".debug_line", ".debug_aranges"] {
        file.replace(section, &[]);
    }
    file.table();
    std::fs::write(shop.path("asked.lg"), file.done()).unwrap();
    let said = run("run\nbacktrace\nprint crash\n", "asked.lg");
    assert!(said.contains("<text variable, no debug info>") && !said.contains("gnu-indirect"), "{said}");
}

/// The program that gdb debugs: a host that opens one module after another, of the same size, in the same place.
#[test]
#[ignore = "run under gdb by `names_are_those_of_the_module_that_is_there`"]
fn host_of_many() {
    for name in ["one", "two", "three"].repeat(4) {
        let module = Module::open(format!("{name}.lg")).unwrap();
        let domain = Domain::new(&module, DomainOptions::new().name(name)).unwrap();
        let crash = domain.bind::<extern "C" fn(i32) -> i32>("crash").unwrap();
        drop(module);
        crash.call(0).unwrap_err();
        drop(crash);
        domain.close();
    }
}

#[test]
fn names_are_those_of_the_module_that_is_there() {
    let shop = Shop::new();
    for name in ["alpha", "delta", "omega"] {
        // The size of all is that of the padding, more or less: the files are of the same.
        shop.write(
            "same.c",
            &format!(
                "int *p; const char pad[300000] = {{1}}; const char *get(void) {{ return pad; }}\n\
                 __attribute__((noinline)) int {name}_fails(int n) {{ return *p + n; }}\n\
                 int crash(int n) {{ return {name}_fails(n) + 1; }}\n"
            ),
        );
        let file = match name {
            "alpha" => "one.lg",
            "delta" => "two.lg",
            _ => "three.lg",
        };
        let arguments = ["-g", "-O1", "same.c", "-o", file, "--export", "int crash(int)"];
        shop.lockgate("cc").args(arguments).run_quietly();
    }
    let sizes = ["one.lg", "two.lg", "three.lg"].map(|file| shop.path(file).metadata().unwrap().len());
    assert!(sizes.iter().all(|size| *size == sizes[0]), "{sizes:?}");
    let program = std::env::current_exe().unwrap();
    let program = program.to_str().unwrap();
    let arguments = ["--exact", "gdb::host_of_many", "--ignored", "--nocapture", "--test-threads", "1"];
    let commands = format!("run\n{}", "frame\ncontinue\n".repeat(12));
    let said = gdb_of(&shop, program, &commands, &arguments);
    let stops: Vec<&str> = said.split("received signal SIGSEGV").skip(1).collect();
    assert_eq!(stops.len(), 12, "{said}");
    for (stop, name) in stops.iter().zip(["alpha", "delta", "omega"].repeat(4)) {
        assert!(stop.contains(&format!("{name}_fails (")), "{name}: {said}");
    }
}

/// A host in C has the library, and the names that the script looks for, only when it is loaded. What the script finds nothing with until then
/// must not be for gdb the end of `run`.
#[test]
fn hosts_with_the_shared_library() {
    let shop = Shop::new();
    shop.write("late.c", "int crash(int *p) { return *p; }\n");
    shop.lockgate("cc").args(["-g", "-O0", "-shared", "late.c", "-o", "late.lg"]).run_quietly();
    let host = "#include <lockgate.h>\nint main(void)\n{\n    lg_domain *domain = lg_domain_new(lg_module_open(\"late.lg\"), 0);\n    \
                lg_function *crash = lg_bind(domain, \"int crash(int *)\", LG_DEFAULT);\n    \
                return ((int (*)(int *))lg_function_pointer(crash))(0);\n}\n";
    shop.write("host.c", host);
    let library = prefix().join("lib");
    let mut compile = shop.command("gcc");
    compile.args(["-g", "host.c", "-o", "host", "-I"]).arg(prefix().join("include"));
    compile.arg("-L").arg(&library).arg("-llockgate").arg(format!("-Wl,-rpath,{}", library.display()));
    assert!(compile.status().expect("gcc starts").success());
    let said = gdb_of(&shop, "./host", "break crash\nrun\nbacktrace\ndelete\ncontinue\nbacktrace\n", &[]);
    let wanted = [
        "Breakpoint 1",
        "in main () at host.c:6",
        "received signal SIGSEGV",
        "crash (p=0x0) at late.c:1",
        "in main () at host.c:6",
    ];
    assert_in_order(&said, &strings(&wanted));
}

/// The program that gdb debugs: a host whose calls all go well.
#[test]
#[ignore = "run under gdb by `healthy_programs_do_not_stop`"]
fn host_without_a_fault() {
    for _ in 0..40 {
        let domain = Domain::new(&Module::open("well.lg").unwrap(), DomainOptions::new()).unwrap();
        let first = domain.bind::<extern "C" fn(i32) -> i32>("first").unwrap();
        assert_eq!(first.call(1).unwrap(), 2);
        drop(first);
        domain.close();
    }
    // A thread that is told to leave a domain is told by a signal.
    let module = Module::open("well.lg").unwrap();
    let domain =
        Domain::new(&module, DomainOptions::new().time_limit(std::time::Duration::from_millis(50))).unwrap();
    domain.bind::<extern "C" fn()>("spin").unwrap().call().unwrap_err();
}

/// gdb stops at no signal that is the runtime's own affair: at reads through a gs whose window has gone, and where a thread is told something.
#[test]
fn healthy_programs_do_not_stop() {
    let shop = Shop::new();
    shop.write(
        "well.c",
        "int first(int n) { return n + 1; }\nvolatile int on = 1;\nvoid spin(void) { while (on) ; }\n",
    );
    let exports = ["--export", "int first(int)", "--export", "void spin(void)"];
    shop.lockgate("cc").args(["-O1", "well.c", "-o", "well.lg"]).args(exports).run_quietly();
    let program = std::env::current_exe().unwrap();
    let program = program.to_str().unwrap();
    let arguments =
        ["--exact", "gdb::host_without_a_fault", "--ignored", "--nocapture", "--test-threads", "1"];
    let said = gdb_of(&shop, program, "run\n", &arguments);
    assert!(said.contains("1 passed") && !said.contains("received signal"), "{said}");

    // How the user handles it stays.
    let commands = "handle SIG64 nostop print pass\nrun\ninfo signals SIG64\ninfo signals SIGSYS\n";
    let said = gdb_of(&shop, program, commands, &arguments);
    for expected in [["SIG64", "No", "Yes", "Yes"], ["SIGSYS", "No", "No", "Yes"]] {
        let handled = said.lines().rfind(|line| line.starts_with(expected[0])).unwrap_or_default();
        assert_eq!(handled.split_whitespace().take(4).collect::<Vec<_>>(), expected, "{said}");
    }
}

/// Folders have any names.
#[test]
fn folders_for_copies_have_any_names() {
    let shop = Shop::new();
    module(&shop, &["-g", "-O1"]);
    let folder = shop.path("my \"own\" folder; #1");
    std::fs::create_dir(&folder).unwrap();
    let commands = format!(
        "python import os, tempfile; tempfile.tempdir = {:?}\nrun\nbacktrace\n",
        folder.to_str().unwrap()
    );
    let said = gdb(&shop, &commands, &["call", "debugged.lg", "int crash(int)", "0"]);
    assert_in_order(&said, &strings(&["SIGSEGV", "area (points=", "in crash (", " in main ("]));
}
