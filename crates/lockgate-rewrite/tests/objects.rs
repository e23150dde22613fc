//! What belongs to an object besides its instructions: groups, fragments, symbols, references between sections.

use lockgate_rewrite::{Error, Options, Rewritten, rewrite_object};
use object::{Object, ObjectComdat, ObjectSection, ObjectSymbol};

fn rewrite(source: &str) -> Vec<u8> {
    let rewritten = rewrite_object("object.o", &crate::support::assemble(source), &Options::default());
    rewritten.unwrap_or_else(|error| panic!("{error}")).bytes
}

#[test]
fn comdat_groups_are_kept() {
    let bytes = rewrite(
        "
    .section .text.inline,\"axG\",@progbits,inline,comdat
    .weak inline
    .type inline,@function
inline:
    call other
    jmp inline
",
    );
    let file = object::File::parse(&*bytes).expect("a readable object");
    let group = file.comdats().next().expect("the group");
    assert_eq!(group.name(), Ok("inline"));
    let names: Vec<_> = group
        .sections()
        .map(|index| file.section_by_index(index).expect("a member").name().expect("its name").to_owned())
        .collect();
    assert_eq!(names, [".text.inline", ".rela.text.inline"]);
    let listing = crate::support::listing(&bytes, ".text.inline");
    // A weak function may be replaced: calls of it stay the linker's.
    assert_eq!(listing[0], "endbr64");
    assert!(listing[1].ends_with("# other-4") && listing[2].ends_with("# inline-4"), "{listing:?}");
}

/// The linker joins `.init` sections: control falls from one into the next.
#[test]
fn fragments_fall_through() {
    let bytes = rewrite(
        "
    .section .init,\"ax\",@progbits
    .weak hook
    call *hook@GOTPCREL(%rip)
",
    );
    let listing = crate::support::listing(&bytes, ".init");
    let trap = listing.iter().position(|line| line == "ud2").expect("the check's trap");
    assert!(listing[trap - 1].starts_with("jmp "), "the end is reached past the trap: {listing:?}");
    assert_eq!(trap, listing.len() - 1);
}

#[test]
fn symbols_and_references_move_with_the_code() {
    let bytes = rewrite(
        "
    .globl first, second
    .type first,@function
    .type second,@function
first:
    push %rbx
    pop %rbx
    ret
    .size first,.-first
second:
    mov (%rdi),%rax
    ret
    .size second,.-second
    .type inner,@function
inner:
    ret
    .data
    .quad second
    .quad inner
    .quad .text+6
",
    );
    let file = object::File::parse(&*bytes).expect("a readable object");
    let place = |name: &str| {
        let symbol = file.symbols().find(|symbol| symbol.name() == Ok(name)).expect(name);
        (symbol.address(), symbol.size())
    };
    let (first, second, inner) = (place("first"), place("second"), place("inner"));
    assert_eq!((first.0, first.1), (0, second.0));
    assert_eq!(second.1, inner.0 - second.0);
    let text = file.section_by_name(".text").expect("code").data().expect("its bytes");
    for (address, _) in [first, second, inner] {
        assert_eq!(text[address as usize..][..4], lockgate_abi::code::LABEL);
    }
    let data = file.section_by_name(".data").expect("data");
    let targets: Vec<u64> = data
        .relocations()
        .map(|(_, reloc)| {
            let object::RelocationTarget::Symbol(symbol) = reloc.target() else { panic!("a symbol") };
            file.symbol_by_index(symbol).expect("a symbol").address().wrapping_add_signed(reloc.addend())
        })
        .collect();
    // `.text+6` is the `ret` of `second`, which as a target of pointers has a label of its own.
    assert_eq!(targets[..2], [second.0, inner.0]);
    assert_eq!(text[targets[2] as usize..][..4], lockgate_abi::code::LABEL);
    assert_eq!(text[targets[2] as usize + 4], 0xc3);
}

#[test]
fn landing_pads_are_labels() {
    let source = "
int may_throw(int);
void done(int *);
int f(int a) { int kept __attribute__((cleanup(done))) = a; return may_throw(a) + kept; }
";
    let object = crate::support::compile(source, &["-O2", "-fexceptions"]);
    let rewritten = rewrite_object("f.o", &object, &Options::default()).expect("C with clean-ups");
    let labels: usize = [".text", ".text.unlikely", ".text.cold"]
        .iter()
        .map(|section| {
            crate::support::listing(&rewritten.bytes, section)
                .iter()
                .filter(|line| *line == "endbr64")
                .count()
        })
        .sum();
    assert!(labels >= 2, "the function and its landing pad");
}

/// Of a function that never runs to its end, compilers leave nothing; where each has a section of its own, that is empty. It traps.
#[test]
fn functions_without_instructions_trap() {
    let source = "void nothing(void) { __builtin_unreachable(); }\nvoid (*pointer)(void) = nothing;\n\
        int f(int a) { if (a) nothing(); return a + 1; }\n";
    for tables in ["-fasynchronous-unwind-tables", "-fno-asynchronous-unwind-tables"] {
        let object = crate::support::compile(source, &["-O1", "-ffunction-sections", tables]);
        let rewritten = rewrite_object("f.o", &object, &Options::default()).expect("right C");
        let code = crate::support::listing(&rewritten.bytes, ".text.nothing");
        assert_eq!(code, ["endbr64", "ud2"], "{tables}");
    }
}

/// Where the compiler was content with a multiple of 8, because 16 was too far for it, 16 may be near in the new code, which is
/// longer: by the label here.
#[test]
fn a_loop_is_aligned_by_the_compilers_rule_not_as_it_came_out() {
    let loop_at = |before: &str| {
        let bytes = rewrite(&format!(
            "
    .text
    .p2align 4
    .globl count
    .type count,@function
count:
    .rept 4
    lea 1(%rdi),%rdi
    .endr
    {before}
    .p2align 4,,10
    .p2align 3
1:  dec %rdi
    jne 1b
    ret
    .size count,.-count
"
        ));
        let instructions = crate::support::instructions(&bytes, ".text");
        let back = instructions.iter().find(|instruction| instruction.is_jcc_short()).expect("the loop");
        back.near_branch_target()
    };
    // 18 bytes, 22 with the label: 10 to the next multiple of 16.
    assert_eq!(loop_at("inc %eax"), 32);
    // 21 with it: 11 are too many.
    assert_eq!(loop_at("clc"), 24);
}

/// Boost.Context's functions are the sysroot's, whatever their code; what an object has besides is not left out.
#[test]
fn boosts_contexts_give_way() {
    let code = "lea -0x38(%rsp),%rsp\nmov %rsp,%rax\nmov %rdi,%rsp\nmov 0x38(%rsp),%r8\nlea 0x40(%rsp),%rsp\njmp *%r8";
    let function = |name: &str| {
        format!(".globl {name}\n.type {name},@function\n{name}: {code}\n.size {name},.-{name}\n")
    };
    let rewrite =
        |text: &str| rewrite_object("object.o", &crate::support::assemble(text), &Options::default());
    let defined = |object: &[u8]| {
        let file = object::File::parse(object).unwrap();
        let symbols = file.symbols().filter(|symbol| symbol.is_definition() && symbol.is_global());
        symbols.map(|symbol| symbol.name().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let both = function("jump_fcontext") + &function("make_fcontext");
    let rewritten = rewrite(&both).expect("they give way");
    assert_eq!(rewritten.stats.replaced, ["jump_fcontext", "make_fcontext"]);
    assert_eq!(defined(&rewritten.bytes), Vec::<String>::new());
    for other in ["swap_fcontext", "jump_fcontext2"] {
        let error = rewrite(&(both.clone() + &function(other))).expect_err("it sets rsp").to_string();
        assert!(error.contains("mov %rdi,%rsp"), "{error}");
    }
}

/// libffi's ffi_call is the sysroot's where the names tell that it is of a version which calls it as the sysroot's is called; an older one is
/// refused, and told which to take.
#[test]
fn libffis_calls_give_way() {
    // As libffi 3.4 has it, without most of the registers and kinds of results.
    let code = "movq (%rsp),%r10\nleaq (%rdi,%rsi),%rax\nmovq %rbp,16(%rax)\nmovq %r10,24(%rax)\nmovq %rax,%rbp\n\
        movq %rdi,%r10\nmovq %r8,%r11\nmovl 0xb0(%r10),%eax\ntestl %eax,%eax\njnz 3f\n2: leaq 0xb8(%r10),%rsp\npopq %r10\n\
        call *%r11\nleaq 24(%rbp),%rsp\nmovq 16(%rbp),%rbp\nret\n3: movdqa 0x30(%r10),%xmm0\njmp 2b";
    let functions = |names: &[&str]| {
        let function = |name: &&str| {
            format!(".globl {name}\n.type {name},@function\n{name}: {code}\n.size {name},.-{name}\n")
        };
        crate::support::assemble(&names.iter().map(function).collect::<String>())
    };
    let rewrite = |names: &[&str]| rewrite_object("object.o", &functions(names), &Options::default());
    let new = ["ffi_call_unix64", "ffi_closure_unix64", "ffi_closure_unix64_sse"];
    assert_eq!(rewrite(&new).expect("it gives way").stats.replaced, new);
    assert_eq!(rewrite(&["ffi_call_win64"]).expect("it gives way").stats.replaced, ["ffi_call_win64"]);
    let error = rewrite(&new[..2]).expect_err("an older version").to_string();
    assert!(error.contains("libffi 3.3"), "{error}");
}

/// A library that has another way is refused with it, and not with what its assembly does that no module's may.
#[test]
fn switches_of_stacks_are_refused_with_what_their_library_offers() {
    let minicoro = ".globl _mco_switch\n.type _mco_switch,@function\n_mco_switch: lea 0x3d(%rip),%rax\n\
        mov %rax,(%rdi)\nmov %rsp,8(%rdi)\nmov 8(%rsi),%rsp\nmov (%rsi),%rdx\njmp *%rdx\n";
    // As it is: each instruction can be rewritten, and the first switch would be a trap.
    let whole = ".globl _mco_wrap_main\n.type _mco_wrap_main,@function\n_mco_wrap_main: movq %r13,%rdi\njmpq *%r12\n\
        .globl _mco_switch\n.type _mco_switch,@function\n_mco_switch: leaq 0x3d(%rip),%rax\nmovq %rax,(%rdi)\nmovq %rsp,8(%rdi)\n\
        movq %rbp,16(%rdi)\nmovq %rbx,24(%rdi)\nmovq %r12,32(%rdi)\nmovq %r13,40(%rdi)\nmovq %r14,48(%rdi)\nmovq %r15,56(%rdi)\n\
        movq 56(%rsi),%r15\nmovq 48(%rsi),%r14\nmovq 40(%rsi),%r13\nmovq 32(%rsi),%r12\nmovq 24(%rsi),%rbx\nmovq 16(%rsi),%rbp\n\
        movq 8(%rsi),%rsp\njmpq *(%rsi)\nret\n";
    let libco = "co_swap_function:\n.byte 0x48,0x89,0x26,0x48,0x8b,0x27,0x58,0xff,0xe0\n.zero 32\n";
    let cases = [
        (minicoro, "with -DMCO_USE_UCONTEXT"),
        (whole, "with -DMCO_USE_UCONTEXT"),
        (libco, "libco's ucontext.c"),
    ];
    for (text, remedy) in cases {
        let refused = rewrite_object("object.o", &crate::support::assemble(text), &Options::default());
        let error = refused.expect_err("it sets rsp").to_string();
        assert!(error.contains("it switches stacks") && error.contains(remedy), "{error}");
    }
}

/// compiler_builtins' memmove, of Rust's archives for musl: as rustc 1.95 has it.
const MEMMOVE: &str = "
    mov %rdi,%rax
    mov %rdi,%rcx
    sub %rsi,%rcx
    mov %eax,%r9d
    neg %r9d
    and $7,%r9d
    cmp %r9,%rdx
    cmovb %rdx,%r9
    mov %rdx,%r10
    sub %r9,%r10
    mov %r10,%r8
    shr $3,%r8
    and $7,%r10d
    cmp %rdx,%rcx
    jae 1f
    lea (%rax,%rdx,1),%rdi
    dec %rdi
    add %rdx,%rsi
    dec %rsi
    mov %r10,%rcx
    std
    rep movsb
    sub $7,%rsi
    sub $7,%rdi
    mov %r8,%rcx
    rep movsq
    add $7,%rsi
    add $7,%rdi
    mov %r9d,%ecx
    rep movsb
    cld
    ret
1:  mov %r9,%rcx
    mov %rax,%rdi
    rep movsb
    mov %r8,%rcx
    rep movsq
    mov %r10,%rcx
    rep movsb
    ret
";

/// The same as rustc 1.88 has it.
fn memmove_of_an_older_rustc() -> String {
    let text = MEMMOVE.replacen("mov %rdi,%rax", "push %rbp\n    mov %rsp,%rbp\n    mov %rdi,%rax", 1);
    let text = text.replacen("add %rdx,%rsi\n    dec %rsi", "lea -1(%rsi,%rdx,1),%rsi", 1);
    let text = text.replacen("rep movsq\n    add", "rep movsq\n    test %r9d,%r9d\n    add", 1);
    text.replace("    ret", "    pop %rbp\n    ret")
}

/// An object with this function alone, rewritten.
fn function(name: &str, code: &str) -> Result<Rewritten, Error> {
    let text = format!(
        ".globl {name}\n.hidden {name}\n.type {name},@function\n{name}:\n{code}\n.size {name},.-{name}\n"
    );
    rewrite_object("object.o", &crate::support::assemble(&text), &Options::default())
}

/// What no module can have, and nobody calls, gives way to ours: by its name and every byte, else it is refused.
#[test]
fn rusts_memmove_gives_way() {
    let name = "_RNvNtCskiztjUJ2uJD_17compiler_builtins3mem7memmove";
    for code in [MEMMOVE, &memmove_of_an_older_rustc()] {
        let rewritten = function(name, code).expect("it gives way");
        assert_eq!(rewritten.stats.replaced, [name]);
        let listing = crate::support::listing(&rewritten.bytes, ".text");
        assert!(listing.iter().all(|line| line != "std"), "{listing:?}");
    }
    // What others have, or is not the same to the last byte, stays, and is refused for the flag.
    let other = MEMMOVE.replacen("and $7,%r9d", "and $3,%r9d", 1);
    for (name, code, said) in [("memmove", MEMMOVE, "`std`"), (name, &other, "rustc 1.88 or 1.95")] {
        let error = function(name, code).expect_err("no code may set the direction flag").to_string();
        assert!(error.contains(said), "{error}");
    }
}

/// Likewise what only processors take that have FMA4 and no FMA3.
#[test]
fn rusts_fma_gives_way() {
    for (name, opcode, ours) in
        [("13fma_with_fma4", "6b", "vfmadd213sd"), ("14fmaf_with_fma4", "6a", "vfmadd213ss")]
    {
        let name = format!("_RNvNtCskiztjUJ2uJD_17compiler_builtins4math9libm_math4arch3x863fma{name}");
        let code = format!(".byte 0xc4,0xe3,0xf9,0x{opcode},0xc2,0x10\nret");
        let older = format!("push %rbp\nmov %rsp,%rbp\n{}", code.replace("ret", "pop %rbp\nret"));
        for code in [&code, &older] {
            let rewritten = function(&name, code).expect("it gives way");
            assert_eq!(rewritten.stats.replaced, [&*name]);
            let listing = crate::support::listing(&rewritten.bytes, ".text");
            assert!(listing.iter().any(|line| line.starts_with(ours)), "{listing:?}");
            assert!(listing.iter().all(|line| !line.starts_with("vfmadds")), "{listing:?}");
        }
        let error = function(&name, &code.replace("0xc2", "0xc1")).expect_err("it is another").to_string();
        assert!(error.contains("rustc 1.88 or 1.95"), "{error}");
    }
}
