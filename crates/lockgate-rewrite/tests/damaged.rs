//! Damaged and foreign inputs: an error that says what is wrong, never a crash.

mod support;

use lockgate_rewrite::{Options, rewrite_archive, rewrite_object};

const SOURCE: &str = "
    .globl f
    .type f,@function
f:  push %rbx
    mov (%rdi),%rbx
    lea 5f(%rip),%rdx
    movslq (%rdx,%rbx,4),%rax
    add %rdx,%rax
    jmp *%rax
1:  call *%rsi
2:  pop %rbx
    ret
    .size f,.-f
    .section .rodata
5:  .long 1b-5b, 2b-5b, 1b-5b, 2b-5b
    .section .data.rel,\"aw\"
    .quad f, f+2
";

fn rewrite(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let rewritten = rewrite_object("damaged.o", bytes, &Options::default());
    rewritten.map(|rewritten| rewritten.bytes).map_err(|error| error.to_string())
}

/// Every byte of an object flipped in several ways, and the object cut off at every length.
#[test]
fn no_damage_crashes() {
    let object = support::assemble(&SOURCE.replace(", f+2", ""));
    assert!(rewrite(&object).is_ok());
    let (mut refused, mut accepted) = (0, 0);
    for at in 0..object.len() {
        for flip in [0x01, 0x10, 0x80, 0xff] {
            let mut damaged = object.clone();
            damaged[at] ^= flip;
            match rewrite(&damaged) {
                Ok(_) => accepted += 1,
                Err(message) => {
                    assert!(message.contains("damaged.o") && message.contains("To mend it: "), "{message}");
                    refused += 1;
                }
            }
        }
        assert!(rewrite(&object[..at]).is_err(), "cut off after {at} bytes of {}", object.len());
    }
    assert!(refused > 100 && accepted > 100, "{refused} refused, {accepted} accepted");
}

#[test]
fn foreign_inputs_are_named() {
    let object = support::assemble(SOURCE.replace(", f+2", "").as_str());
    let patched = |at: usize, value: u8| {
        let mut patched = object.clone();
        patched[at] = value;
        patched
    };
    let cases: [(&str, Vec<u8>, &str); 8] = [
        ("text", b"hello".to_vec(), "not an ELF object"),
        ("empty", Vec::new(), "not an ELF object"),
        ("32 bits", patched(4, 1), "not for 64-bit x86-64"),
        ("big endian", patched(5, 2), "not for 64-bit x86-64"),
        ("AArch64", patched(18, 183), "machine 183"),
        ("executable", patched(16, 2), "a linked file"),
        ("bitcode", b"BC\xc0\xde1234".to_vec(), "LLVM bitcode"),
        ("header only", object[..64].to_vec(), "ends in the middle"),
    ];
    for (name, bytes, expected) in cases {
        let message = rewrite(&bytes).expect_err(name);
        assert!(message.contains(expected), "{name}: {message}");
    }
}

#[test]
fn a_pointer_into_an_instruction_is_refused() {
    let message = rewrite(&support::assemble(SOURCE)).expect_err("f+2 is no instruction");
    assert!(message.contains("section .data.rel at 0x8"), "{message}");
    assert!(message.contains("middle of an instruction"), "{message}");
}

#[test]
fn archives_that_are_none() {
    for (bytes, expected) in [
        (&b"!<thin>\na.o/"[..], "cannot rewrite lib.a"),
        (b"!<arch>\nnonsense", "not a readable archive"),
        (b"", "not a readable archive"),
    ] {
        let outcome = rewrite_archive("lib.a", bytes, &Options::default(), &mut |_, _| {});
        let message = outcome.expect_err("no archive").to_string();
        assert!(message.contains(expected), "{message}");
    }
}

/// Link-time optimisation's objects hold no code to rewrite.
#[test]
fn intermediate_code_is_refused() {
    let object = support::compile("int f(int a) { return a + 1; }", &["-O2", "-flto"]);
    let message = rewrite(&object).expect_err("slim LTO object");
    assert!(message.contains("intermediate code") && message.contains("-ffat-lto-objects"), "{message}");
    let fat = support::compile("int f(int a) { return a + 1; }", &["-O2", "-flto", "-ffat-lto-objects"]);
    assert!(rewrite(&fat).is_ok());
}
