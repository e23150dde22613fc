//! Functions made at random, of pieces that do all that can be done to rsp: what the rewriter accepts, the verifier accepts too, and
//! the states that [`lockgate_rewrite::states`] derives are enough for it.

use fastrand::Rng;
use std::fmt::Write;

use lockgate_rewrite::{Options, rewrite_object};

/// Pieces without labels: what moves rsp, sets it, looks at it, and what is between.
const PIECES: &[&str] = &[
    "push %rbx",
    "push %r12",
    "pop %rbx",
    "pop %r12",
    "sub $24,%rsp",
    "add $24,%rsp",
    "lea 8(%rsp),%rsp",
    "lea -40(%rsp),%rsp",
    "sub $0x12000,%rsp",
    "add $0x12000,%rsp",
    "push %rbp; mov %rsp,%rbp",
    "leave",
    "mov %rbp,%rsp",
    "lea -16(%rbp),%rsp",
    "sub %rax,%rsp",
    "sub %r11,%rsp",
    "and $-32,%rsp",
    "mov %rsp,%rbx",
    "mov %rbx,%rsp",
    "mov %rsp,%r11",
    "mov %r11,%rsp",
    "mov %rsp,-24(%rbp)",
    "mov -24(%rbp),%rsp",
    "mov 8(%rsp),%rsp",
    "lea 8(%rsp),%r10",
    "lea -8(%r10),%rsp",
    "mov 8(%rsp),%rax",
    "mov %rdi,-8(%rsp)",
    "lea (%rsp,%rax,4),%rdi",
    "cmp %rax,%rdi",
    "sbb %ecx,%ecx",
    "add %r11,%rax",
    "mov %rdi,%r11",
    "call external",
    "call *%rax",
    "call *8(%rsp)",
    "call setjmp@PLT",
    "rep stosb",
    "int3",
    "syscall",
    "lea 1f(%rip),%rax; jmp *%rax; 1: nop",
];

/// Ways to go elsewhere: `L` is a label of the function.
const JUMPS: &[&str] =
    &["jmp L", "je L", "ja L", "jrcxz L", "ret", "jmp external", "jne external", "ud2", "jmp *%rax", "hlt"];

fn function(random: &mut Rng) -> String {
    let labels = 1 + random.usize(..5);
    let mut source = String::from(".globl f\n.type f,@function\nf:\n");
    // Most frames are sensible.
    let (open, close) = match random.usize(..5) {
        0 => ("push %rbp; mov %rsp,%rbp; push %rbx; sub $24,%rsp", "lea -8(%rbp),%rsp; pop %rbx; pop %rbp"),
        1 => ("push %rbp; mov %rsp,%rbp; sub %rdi,%rsp", "leave"),
        2 => (
            "lea 8(%rsp),%r10; and $-32,%rsp; push -8(%r10); push %rbp; mov %rsp,%rbp; push %r10; sub $40,%rsp",
            "mov -8(%rbp),%r10; leave; lea -8(%r10),%rsp",
        ),
        3 => ("push %rbx; push %r12; sub $40,%rsp", "add $40,%rsp; pop %r12; pop %rbx"),
        _ => ("", ""),
    };
    writeln!(source, "{open}").expect("a string");
    for label in 0..labels {
        writeln!(source, ".L{label}:").expect("a string");
        for _ in 0..random.usize(..6) {
            let piece = PIECES[random.usize(..PIECES.len())];
            writeln!(source, "{piece}").expect("a string");
        }
        let jump = JUMPS[random.usize(..JUMPS.len())];
        // Targets are other places, mostly.
        let target = format!(".L{}", random.usize(..labels));
        let name = if jump.contains("external") { jump.to_owned() } else { jump.replace('L', &target) };
        if jump == "ret" {
            writeln!(source, "{close}").expect("a string");
        }
        writeln!(source, "{name}").expect("a string");
    }
    writeln!(source, "{close}\nret\n.size f,.-f\n").expect("a string");
    source
}

#[test]
fn what_is_accepted_is_verified() {
    let cases: u64 = std::env::var("LOCKGATE_CASES").map_or(300, |text| text.parse().expect("a number"));
    let first: u64 = std::env::var("LOCKGATE_SEED").map_or(1, |text| text.parse().expect("a number"));
    let (mut accepted, mut failures) = (0, String::new());
    for seed in first..first + cases {
        let source = function(&mut Rng::with_seed(seed));
        let object = crate::support::assemble(&source);
        for strict_bounds in [false, true] {
            let options = Options { strict_bounds, ..Options::default() };
            let outcome = std::panic::catch_unwind(|| rewrite_object("f.o", &object, &options));
            let Ok(outcome) = outcome else {
                writeln!(failures, "seed {seed}: a panic\n{source}").expect("a string");
                continue;
            };
            let Ok(rewritten) = outcome else { continue };
            accepted += 1;
            if let Err(rejection) = lockgate_verify::verify(&crate::support::module(&rewritten.bytes)) {
                let listing = crate::support::listing(&rewritten.bytes, ".text").join("\n    ");
                writeln!(failures, "seed {seed}: {rejection}\n{source}\n    {listing}").expect("a string");
            }
        }
        if failures.len() > 20_000 {
            break;
        }
    }
    assert!(failures.is_empty(), "{failures}");
    assert!(accepted * 5 > cases, "{accepted} of {cases} were accepted");
}

/// Landing pads are entered with rsp = E, too, and open the frame of the call that threw.
#[test]
fn landing_pads_open_their_frames() {
    const SOURCE: &str = "
        struct Guard { ~Guard(); };
        void use(char *, int);
        int many(int, int, int, int, int, int, int, int);
        int constant(int n) { Guard g; try { return many(n, 1, 2, 3, 4, 5, 6, 7) + n; } catch (int e) { return e; } catch (...) { return 1; } }
        int variable(int n) { Guard g; char b[n]; try { use(b, n); return b[0]; } catch (int e) { return e + b[1]; } }
        int aligned(int n) { Guard g; alignas(64) char b[64]; for (int i = 0; i < n; i++) try { use(b, i); } catch (int e) { n -= e; } return b[n]; }
        int loop(int n) { int s = 0; for (int i = 1; i < n; i++) { Guard g; char b[i]; use(b, i); s += b[0]; } return s; }
    ";
    for level in ["-O0", "-O1", "-O2", "-O3", "-Os"] {
        let object = crate::support::compile(SOURCE, &["-x", "c++", "-fPIE", "-fno-rtti", level]);
        let rewritten = rewrite_object("f.o", &object, &Options::default())
            .unwrap_or_else(|error| panic!("{level}: {error}"));
        let verdict = lockgate_verify::verify(&crate::support::module(&rewritten.bytes));
        verdict.unwrap_or_else(|rejection| panic!("{level}: {rejection}"));
        assert!(rewritten.stats.labels > 4, "{level}: pads have labels: {}", rewritten.stats.labels);
    }
}

/// What a section begins with is a function, with or without a symbol: a branch to there has to have rsp = E.
#[test]
fn sections_begin_with_functions() {
    let rewrite = |source: &str| {
        let object = crate::support::assemble(&format!(
            "{source}\n.globl f\n.type f,@function\nf: call external\nret\n"
        ));
        rewrite_object("f.o", &object, &Options::default())
    };
    let rewritten = rewrite("1: dec %edi; jne 1b; ret").expect("accepted");
    lockgate_verify::verify(&crate::support::module(&rewritten.bytes)).expect("verified");
    let message = rewrite("1: push %rbx; dec %edi; jne 1b; pop %rbx; ret").expect_err("refused").to_string();
    assert!(message.contains("something of it left on the stack"), "{message}");
}

/// A global label inside a function, as profilers and tables of exceptions have them, is passed by, and cannot be entered.
#[test]
fn global_labels_inside_of_functions() {
    let object = crate::support::assemble(
        ".globl f, inside\n.type f,@function\nf: push %rbx\ncall external\ninside: call external\npop %rbx\nret\n.size f,.-f\n",
    );
    let rewritten = rewrite_object("f.o", &object, &Options::default()).expect("accepted");
    lockgate_verify::verify(&crate::support::module(&rewritten.bytes)).expect("verified");
    let listing = crate::support::listing(&rewritten.bytes, ".text");
    let label = listing.iter().rposition(|line| line == "endbr64").expect("the label");
    assert!(listing[label - 1].starts_with("jmp ") && listing[label + 1] == "ud2", "{listing:?}");
    assert!(listing[label + 2].starts_with("call "), "{listing:?}");
}
