//! Reports name the functions that were in progress, with their lines, through everything that compilers and call paths do.

use crate::common::Guest;
use lockgate::debug::{Backtrace, DomainFrames};
use lockgate::{CallError, Domain, DomainOptions, Fault, HostFunction, Policy};
use std::time::{Duration, Instant};

const SOURCE: &str = r#"
#include <stdlib.h>
#include <string.h>
#define FAR __attribute__((noinline, noclone))
volatile int sink;
static inline __attribute__((always_inline)) int load(int *p) {
    return *(volatile int *)p; // LOAD
}
static inline __attribute__((always_inline)) int twice(int *p) {
    return 2 * load(p); // TWICE
}
FAR int direct(int *p) {
    return twice(p) + 1; // DIRECT
}
FAR int down(int n, int *p) {
    if (n > 0) return down(n - 1, p) + 1; // DOWN
    return direct(p) + 1; // LAST
}
int recursion(void) { return down(2, 0) + 1; }
FAR int room(int n, int *p) { volatile char bytes[n]; bytes[n - 1] = 1; return direct(p) + bytes[n - 1]; }
int variable_frame(void) { return room(3000, 0) + 1; }
FAR int aligned_room(int *p) { _Alignas(64) volatile char bytes[300]; bytes[0] = 1; return direct(p) + bytes[0]; }
int aligned_frame(void) { return aligned_room(0) + 1; }
FAR int many(int *p, int a, int b, int c, int d, int e, int f, int g, int h) { return direct(p) + a + b + c + d + e + f + g + h; }
int stack_arguments(void) { return many(0, 1, 2, 3, 4, 5, 6, 7, 8) + 1; }
static int compare(const void *a, const void *b) { if (*(const int *)a == 3) abort(); return *(const int *)a - *(const int *)b; }
FAR int sort(int n) { int v[9]; for (int i = 0; i < n; i++) v[i] = n - i; qsort(v, n, sizeof *v, compare); return v[0]; }
int through_the_library(void) { return sort(5) + 1; }
FAR void copy(char *to, unsigned long n) { memcpy(to, "text", n); sink++; }
int in_the_library(void) { copy((char *)16, sink + 4); return sink; }
static int (*volatile pointer)(int *) = direct;
FAR int indirect(int *p) { return pointer(p) + 1; }
int through_a_pointer(void) { return indirect(0) + 1; }
// Leaves return addresses all over the stack before it calls; `hole` keeps a frame full of them.
FAR int litter(int n) { volatile int m = n; return n == 0 ? 0 : litter(n - 1) + m; }
FAR int hole(int *p) { volatile char bytes[4000]; bytes[0] = 1; return direct(p) + bytes[0]; }
int among_stale_ones(void) { sink += litter(200); return hole(0) + 1; }
FAR int spin(void) { for (;;) sink++; }
int forever(void) { return spin() + 1; }
int deep(int n) { volatile char bytes[100]; bytes[0] = n; return deep(n + 1) + bytes[0]; }
int host(void);
FAR int ask(void) { return host() + 1; }
int outer(void) { return ask() + 1; }
"#;

/// Functions, innermost first, that each entry point is in when it ends. Those of the C library are left out: they are the
/// distribution's.
const CASES: &[(&str, &[&str])] = &[
    ("recursion", &["load", "twice", "direct", "down", "down", "down", "recursion"]),
    ("variable_frame", &["load", "twice", "direct", "room", "variable_frame"]),
    ("aligned_frame", &["load", "twice", "direct", "aligned_room", "aligned_frame"]),
    ("stack_arguments", &["load", "twice", "direct", "many", "stack_arguments"]),
    ("through_the_library", &["compare", "sort", "through_the_library"]),
    ("in_the_library", &["copy", "in_the_library"]),
    ("through_a_pointer", &["load", "twice", "direct", "indirect", "through_a_pointer"]),
    ("among_stale_ones", &["load", "twice", "direct", "hole", "among_stale_ones"]),
    ("forever", &["spin", "forever"]),
];

const LIBRARY: [&str; 7] = ["raise", "__restore_sigs", "abort", "sift", "trinkle", "__qsort_r", "memmove"];

/// Ways to compile; the last has no frame information at all.
const FLAGS: [&[&str]; 7] = [
    &["-O0"],
    &["-O1"],
    &["-O2"],
    &["-O3", "-march=x86-64-v3"],
    &["-Os", "-ffunction-sections", "-gdwarf-4"],
    &["-O2", "-fno-omit-frame-pointer", "-fstack-protector-all"],
    &["-O2", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"],
];

fn guest(flags: &[&str]) -> Guest {
    Guest::c_with(SOURCE, &[&["-g", "-fno-optimize-sibling-calls", "-fno-partial-inlining"], flags].concat())
        .gate("int host(void)")
}

fn domain(flags: &[&str]) -> Domain {
    let unused: HostFunction = HostFunction::new(|_: &Domain| 0_i32);
    guest(flags).domain_with(DomainOptions::new().gate("host", unused).time_limit(Duration::from_millis(400)))
}

fn fault(domain: &Domain, entry_point: &str) -> Box<Fault> {
    let function = domain.bind::<extern "C" fn() -> i32>(entry_point).unwrap();
    let ended =
        if entry_point == "forever" { function.call() } else { crate::common::in_time(|| function.call()) };
    let error = ended.expect_err(entry_point);
    match error {
        CallError::Fault(fault) => fault,
        other => panic!("{entry_point}: {other}"),
    }
}

/// Names of functions, without what compilers add to them.
fn names(call: &DomainFrames) -> Vec<&str> {
    let names = call.frames.iter().map(|frame| frame.place.function.as_deref().unwrap_or("?"));
    names.map(|name| name.split('.').next().unwrap_or_default()).collect()
}

fn line(mark: &str) -> Option<u32> {
    let index = SOURCE.lines().position(|line| line.ends_with(&format!("// {mark}")));
    index.map(|index| index as u32 + 1)
}

#[test]
fn every_function_is_there() {
    for flags in FLAGS {
        let domain = domain(flags);
        for (entry_point, expected) in CASES {
            let backtrace = fault(&domain, entry_point).backtrace();
            let call = &backtrace.calls[0];
            let found: Vec<_> = names(call).into_iter().filter(|name| !LIBRARY.contains(name)).collect();
            assert_eq!(found, *expected, "{entry_point} {flags:?}\n{backtrace}");
            assert!(call.complete && backtrace.calls.len() == 1, "{flags:?}\n{backtrace}");
        }
    }
}

/// Inlined functions, as `addr2line -i` shows them: each with the line that it has come to.
#[test]
fn lines_are_those_of_the_calls() {
    for flags in [&["-O0"][..], &["-O1"], &["-O2", "-gdwarf-4"]] {
        let backtrace = fault(&domain(flags), "recursion").backtrace();
        let frames = &backtrace.calls[0].frames;
        let lines: Vec<_> = frames.iter().map(|frame| frame.place.line).collect();
        let expected = ["LOAD", "TWICE", "DIRECT", "LAST", "DOWN", "DOWN"].map(line);
        assert_eq!(lines[..6], expected, "{flags:?}\n{backtrace}");
        let inlined: Vec<_> = frames.iter().map(|frame| frame.inlined).collect();
        assert_eq!(inlined[..4], [true, true, false, false], "{flags:?}\n{backtrace}");
        assert!(
            frames.iter().all(|frame| frame.place.file.as_deref() == Some("guest.c")
                || frame.place.file.as_ref().is_some_and(|file| file.ends_with("/guest.c"))),
            "{backtrace}"
        );
    }
}

/// Overflows of both stacks: what is kept is bounded, and says so.
#[test]
fn endless_recursion_is_cut_short() {
    let domain = domain(&["-O1"]);
    let deep = domain.bind::<extern "C" fn(i32) -> i32>("deep").unwrap();
    let error = crate::common::in_time(|| deep.call(0)).unwrap_err();
    let started = Instant::now();
    let backtrace = error.fault().unwrap().backtrace();
    // (A debug build needs milliseconds; without an end it would be minutes.)
    assert!(started.elapsed() < Duration::from_secs(60));
    let call = &backtrace.calls[0];
    assert!(!call.complete && (20..2000).contains(&call.frames.len()), "{backtrace}");
    assert!(names(call).iter().all(|name| *name == "deep"), "{backtrace}");
    assert!(backtrace.to_string().contains("not kept"), "{backtrace}");
}

/// A host function between two domains, and a call from domain to domain: the report goes on outwards.
#[test]
fn domains_that_the_call_was_nested_in() {
    let inner = domain(&["-O2"]);
    let recursion = inner.bind::<extern "C" fn() -> i32>("recursion").unwrap();
    let (tell, told) = std::sync::mpsc::channel::<Backtrace>();
    let host: HostFunction = HostFunction::new(move |_: &Domain| {
        tell.send(recursion.call().unwrap_err().fault().unwrap().backtrace()).unwrap();
        0_i32
    });
    for flags in [&["-O2"][..], &["-O0"]] {
        let options = DomainOptions::new().name("between").gate("host", host.clone());
        let between = Domain::new(&guest(flags).module(), options).unwrap();
        assert_eq!(between.bind::<extern "C" fn() -> i32>("outer").unwrap().call().unwrap(), 2);
        check_nested(&told.recv().unwrap());
    }

    for flags in [&["-O2"][..], &["-O0"]] {
        let client = Guest::c_with(
            "int recursion(void); __attribute__((noinline)) int ask(void) { return recursion() + 1; }\nint outer(void) { return ask() + 1; }",
            &[&["-g"], flags].concat(),
        );
        let client = client.gate("int recursion(void)").domain_with(DomainOptions::new());
        let propagate = lockgate::OnFailure::Propagate;
        client
            .link(
                "recursion",
                &inner,
                &crate::common::said(&client, "recursion", "recursion"),
                Policy::default(),
                propagate,
            )
            .unwrap();
        let error = client.bind::<extern "C" fn() -> i32>("outer").unwrap().call().unwrap_err();
        let CallError::Callee { source, .. } = &error else { panic!("{error}") };
        check_nested(&source.fault().unwrap().backtrace());
    }
}

fn check_nested(backtrace: &Backtrace) {
    let [inner, outer] = backtrace.calls.as_slice() else { panic!("{backtrace}") };
    assert_eq!(names(inner).last(), Some(&"recursion"), "{backtrace}");
    assert_eq!((inner.entry_point.as_str(), outer.entry_point.as_str()), ("recursion", "outer"));
    let found = names(outer);
    assert_eq!(found[found.len() - 2..], ["ask", "outer"], "{backtrace}");
    assert!(inner.complete && outer.complete, "{backtrace}");
}

/// `{}` stays one line, `{:#}` has the backtrace, JSON has everything.
#[test]
fn forms_of_a_report() {
    let fault = fault(&domain(&["-O1"]), "recursion");
    assert_eq!(fault.to_string().lines().count(), 1);
    let full = format!("{fault:#}");
    assert!(full.starts_with(&fault.to_string()), "{full}");
    let wanted = [
        "   0: load at ",
        ", inlined\n",
        "   2: direct+0x",
        "   5: down+0x",
        "      entered at recursion, domain ",
    ];
    let mut rest = full.as_str();
    for wanted in wanted {
        let at = rest.find(wanted).unwrap_or_else(|| panic!("no {wanted:?} in its place in {full}"));
        rest = &rest[at + wanted.len()..];
    }
    let json = serde_json::to_value(&*fault).unwrap();
    assert_eq!(
        (json["schema"].as_u64(), json["kind"].as_str(), json["access"].as_str()),
        (Some(1), Some("segv"), Some("read"))
    );
    let call = &json["backtrace"][0];
    assert_eq!((call["entry_point"].as_str(), call["complete"].as_bool()), (Some("recursion"), Some(true)));
    assert_eq!(call["frames"][0]["function"].as_str(), Some("load"));
    assert_eq!(call["frames"][0]["line"].as_u64(), line("LOAD").map(u64::from));
}

/// A fault in a library without debug information names the line that called it; Rust's own library counts as such a one.
#[test]
fn the_line_of_a_caller_stands_in_for_a_library_without_lines() {
    let domain = domain(&["-O1"]);
    for (entry_point, caller) in [("in_the_library", "copy"), ("through_the_library", "compare")] {
        let text = fault(&domain, entry_point).to_string();
        let at = SOURCE.lines().position(|line| line.contains(&format!(" {caller}("))).unwrap() + 1;
        let (_, said) = text.split_once(", in a call by ").unwrap_or_else(|| panic!("{text}"));
        assert!(said.starts_with(&format!("{caller}+0x")) && said.ends_with(&format!(":{at}")), "{text}");
    }
    let text = fault(&domain, "recursion").to_string();
    assert!(text.ends_with(&format!(":{}", line("LOAD").unwrap())), "{text}");
}

/// A module's frame and debug information is anybody's: with any byte of it wrong, the report comes, soon, and its first line
/// is still right about the instruction.
#[test]
fn damaged_information_is_harmless() {
    let good = guest(&["-O2"]).build();
    let elf = object_sections(&good);
    for name in [".eh_frame", ".debug_info", ".debug_abbrev", ".debug_rnglists"] {
        let (start, length) = elf
            .iter()
            .find(|(found, _, _)| found == name)
            .map(|(_, start, length)| (*start, *length))
            .unwrap();
        let step = (length / 60).max(1);
        for at in (start..start + length).step_by(step) {
            let mut bad = good.clone();
            bad[at] ^= 0x55;
            let module = lockgate::Module::from_bytes(&bad).unwrap();
            let unused: HostFunction = HostFunction::new(|_: &Domain| 0_i32);
            let domain = Domain::new(&module, DomainOptions::new().gate("host", unused)).unwrap();
            let fault = fault(&domain, "variable_frame");
            let report = format!("{fault:#}");
            assert!(report.lines().count() < 300, "{name} at {at}: {report}");
            assert_eq!(fault.location().unwrap().function.as_deref(), Some("direct"), "{name} at {at}");
        }
    }
}

/// Name, file offset and length of the sections of a module.
fn object_sections(elf: &[u8]) -> Vec<(String, usize, usize)> {
    let number = |at: usize, bytes: usize| {
        elf[at..at + bytes].iter().rev().fold(0_usize, |number, byte| number << 8 | usize::from(*byte))
    };
    let (table, count, names) = (number(40, 8), number(60, 2), number(62, 2));
    let names = number(table + 64 * names + 24, 8);
    (0..count)
        .map(|index| table + 64 * index)
        .map(|header| {
            let name: Vec<u8> =
                elf[names + number(header, 4)..].iter().copied().take_while(|byte| *byte != 0).collect();
            (String::from_utf8(name).unwrap(), number(header + 24, 8), number(header + 32, 8))
        })
        .collect()
}

/// Functions without a name, or any information of their own, whose frames are computed, among stale return addresses that fit better
/// than the live ones. `crash` faults where its frame is made in part, `overflow` in the unit that opens one.
const BARE: &str = "
.macro on number, what:vararg
    cmp $\\number,%edi
    jne 1f
    \\what
1:
.endm
function crash
    lea -8(%rsp),%rsp
    lea -32(%rsp),%rsp
    mov %gs:8(%eax),%eax
    lea 40(%rsp),%rsp
    ret
function overflow
    lea -24(%rsp),%rsp
    lea -0x100000(%rsp),%r11
    open_frame
    mov (%rsp),%rsp
    lea 24(%rsp),%rsp
    ret
function stop
    int3
    ret
function spin
    jmp spin
    ud2
function litter
    lea -8(%rsp),%rsp
    dec %edi
    js 1f
    call litter
    call leaf
1:  lea 8(%rsp),%rsp
    ret
function leaf
    ret
# through(function's number)
function through
    lea -8(%rsp),%rsp
    mov %edi,-OFF(%rsp)
    mov $100,%edi
    call litter
    mov -OFF(%rsp),%edi
    lea 8(%rsp),%rsp
    lea -2048(%rsp),%rsp
    call computed
    lea 2048(%rsp),%rsp
    ret
function computed
    lea -40(%rsp),%rsp
    lea -0x400(%rsp),%r11
    open_frame
    lea -16(%rsp),%rsp
    xor %eax,%eax
    on 0, call crash
    on 1, call overflow
    on 2, call stop
    on 3, call spin
    on 4, call *%gs:0x11080
    mov 16(%rsp),%rsp
    lea 40(%rsp),%rsp
    ret
trap: ud2
";

/// Nothing is guessed. Red if a frame is what the words of the stack look like.
#[test]
fn frames_are_exact_without_any_information() {
    let file = crate::bare::module(BARE, "16 long host(long)\n");
    let parsed = lockgate_verify::Module::parse(&file).unwrap();
    let mut functions: Vec<(u64, &str)> =
        parsed.exports.iter().map(|export| (export.address, export.name.as_str())).collect();
    functions.sort();
    let module = lockgate::Module::from_bytes(&file).unwrap();
    let end = HostFunction::new(|_: &Domain, _: i64| -> i64 { panic!("of the test's") });
    let options = DomainOptions::new().gate("host", end).time_limit(Duration::from_millis(400));
    let domain = Domain::new(&module, options.stack_size(256 << 10)).unwrap();
    let through = domain.bind::<extern "C" fn(i64) -> i64>("through").unwrap();
    let expected: [&[&str]; 4] = [
        &["crash", "computed", "through"],
        &["overflow", "computed", "through"],
        &["stop", "computed", "through"],
        &["spin", "computed", "through"],
    ];
    for (number, expected) in (0..).zip(expected) {
        let ended = match expected[0] {
            "spin" => through.call(number),
            _ => crate::common::in_time(|| through.call(number)),
        };
        let CallError::Fault(fault) = ended.unwrap_err() else { panic!("{expected:?}") };
        let backtrace = fault.backtrace();
        let name = |address: u64| functions[functions.partition_point(|(at, _)| *at <= address) - 1].1;
        let found: Vec<_> = backtrace.calls[0].frames.iter().map(|frame| name(frame.address)).collect();
        assert_eq!(found, expected, "{fault:#}");
        assert!(backtrace.calls[0].complete, "{fault:#}");
    }
}
