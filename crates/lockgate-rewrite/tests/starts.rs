//! Functions that no symbol names: what tells them from labels inside functions.

use lockgate_rewrite::{Options, rewrite_object};

/// The new code of `source`, whose data points to `.Lplace`, or the refusal.
fn rewrite(source: &str) -> Result<Vec<String>, String> {
    let source = format!("{source}\n.data\n.quad .Lplace\n");
    let rewritten = rewrite_object("starts.o", &crate::support::assemble(&source), &Options::default());
    rewritten.map(|made| crate::support::listing(&made.bytes, ".text")).map_err(|error| error.to_string())
}

/// What follows the last label.
fn behind_label(source: &str) -> Vec<String> {
    let mut listing = rewrite(source).unwrap_or_else(|error| panic!("{error}"));
    let label = listing.iter().rposition(|line| line == "endbr64").expect("a label");
    listing.split_off(label + 1)
}

/// A function with a computed goto, and its label.
const GOTO: &str = ".data\n.quad .Llabel\n.text\n.globl f\n.type f,@function\n\
    f: push %rbx\njmp *(%rdx,%rsi,8)\n.Llabel: pop %rbx\nret\n";
/// One that does not say how it leaves.
const ENDLESS: &str = "push %rbx\n1: call *%rdi\njmp 1b\n";

#[test]
fn a_function_begins_where_an_unwind_table_does() {
    let error = rewrite(&format!("{GOTO}.Lplace: {ENDLESS}")).expect_err("nothing tells");
    assert!(error.contains("no symbol and no unwind table tells which"), "{error}");
    for sections in [".eh_frame", ".debug_frame"] {
        let code = behind_label(&format!(
            ".cfi_sections {sections}\n{GOTO}.Lplace: .cfi_startproc\n{ENDLESS}.cfi_endproc\n"
        ));
        assert!(code[1].starts_with("mov %rbx,"), "rbx is saved, no frame is opened: {code:?}");
    }
}

/// gcc's cold parts have tables of their own. They begin with the function's frame.
#[test]
fn a_part_with_a_frame_is_no_function() {
    let part = ".Lplace: .cfi_startproc\n.cfi_def_cfa_offset 16\npop %rbx\nret\n.cfi_endproc\n";
    let code = behind_label(&format!("{GOTO}{part}"));
    assert!(code[0].starts_with("sub $8,%rsp"), "the label opens the frame: {code:?}");
}

/// Where control comes there with another frame than their tables say, or by a jump that nothing shows, the link is refused. Red if the label has
/// the frame of the code above it, which another function is.
#[test]
fn a_part_has_the_frame_of_its_table() {
    let part = |depth: u32| {
        format!(
            ".Lplace: .cfi_startproc\n.cfi_def_cfa_offset {depth}\nmov 8(%rsp),%rax\npop %rbx\nret\n.cfi_endproc\n"
        )
    };
    assert!(rewrite(&format!("{GOTO}{}", part(16))).is_ok());
    let error = rewrite(&format!("{GOTO}{}", part(96))).expect_err("another frame");
    assert!(error.contains("no symbol and no unwind table tells which"), "{error}");
    // Above it a function that does not come back; the goto is elsewhere.
    let die =
        ".section .text.unlikely,\"ax\"\n.globl die\n.type die,@function\ndie: push %rbx\ncall longjmp\n";
    let error = rewrite(&format!("{GOTO}{die}{}", part(96))).expect_err("a part of f, with the frame of die");
    assert!(error.contains(".text.unlikely"), "{error}");
    // What a section begins with, too.
    let first = ".section .text.unlikely.f,\"ax\"\n";
    let error = rewrite(&format!("{GOTO}{first}{}", part(16))).expect_err("no function begins with a frame");
    assert!(error.contains(".text.unlikely.f"), "{error}");
}

/// Symbols have the last word on what lies inside a function.
#[test]
fn no_function_begins_inside_another() {
    let inside = ".Lplace: .cfi_startproc\npop %rbx\nret\n.cfi_endproc\n.size f,.-f\n";
    let code = behind_label(&format!("{GOTO}{inside}"));
    assert!(code[0].starts_with("sub $8,%rsp"), "the label opens the frame: {code:?}");
}

/// clang's `std::noop_coroutine()` has neither symbol nor unwind table.
#[test]
fn a_function_begins_behind_the_end_of_another() {
    let first = ".globl g\n.type g,@function\ng: ret\n.size g,.-g\n.p2align 4\n";
    let code = behind_label(&format!("{GOTO}.size f,.-f\n{first}.Lplace: {ENDLESS}jmp *(%rdx,%rsi,8)\n"));
    assert!(code[1].starts_with("mov %rbx,"), "rbx is saved, no frame is opened: {code:?}");
}

/// Where only the code is there to tell, a function returns with rsp where it was.
#[test]
fn code_that_leaves_as_a_function_does_is_one() {
    let jump = ".globl f\n.type f,@function\nf: push %rbx\npop %rax\nmov (%rdx),%rax\njmp *%rax\n";
    let function = behind_label(&format!("{jump}.Lplace: push %rbx\npop %rbx\nret\n"));
    assert_eq!(function, ["mov %rbx,-0x3f000008(%rsp)", "mov -0x3f000008(%rsp),%rbx", "ret"]);
    // No function is given anything in r11.
    let label =
        behind_label(".globl f\nf: mov $5,%r11d\nmov (%rdx),%rax\njmp *%rax\n.Lplace: mov %r11d,%eax\nret\n");
    assert!(label[0].ends_with(",%r11"), "the label restores r11: {label:?}");
}

/// Among the labels of computed gotos, a function could be one of them: its link is refused, with the place, rather than its call.
#[test]
fn what_may_be_both_is_refused() {
    let label = behind_label(&format!("{GOTO}.Lplace: pop %rbx\nret\n"));
    assert!(label[0].starts_with("sub $8,%rsp"), "the label opens the frame: {label:?}");
    let error = rewrite(&format!("{GOTO}.Lplace: push %rbp\npop %rbp\nret\n")).expect_err("may be both");
    assert!(error.contains("section .text at 0x6 (`push %rbp`)"), "{error}");
}
