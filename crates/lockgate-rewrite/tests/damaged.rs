//! Damaged and foreign inputs: an error that says what is wrong, never a crash.

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
    let object = crate::support::assemble(&SOURCE.replace(", f+2", ""));
    assert!(rewrite(&object).is_ok());
    let (mut refused, mut accepted) = (0, 0);
    for at in 0..object.len() {
        for flip in [0x01, 0x10, 0x80, 0xff] {
            let mut damaged = object.clone();
            damaged[at] ^= flip;
            match rewrite(&damaged) {
                Ok(_) => accepted += 1,
                Err(message) => {
                    assert!(message.contains("damaged.o") && message.contains("To fix it: "), "{message}");
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
    let object = crate::support::assemble(SOURCE.replace(", f+2", "").as_str());
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

/// Linkers and other readers would take another symbol table than the rewriter.
#[test]
fn symbol_tables_that_readers_disagree_about_are_refused() {
    let object = crate::support::assemble(SOURCE.replace(", f+2", "").as_str());
    let word = |at: usize| u64::from_le_bytes(object[at..at + 8].try_into().expect("eight bytes")) as usize;
    let (table, count) = (word(40), usize::from(object[60]));
    let headers = (0..count).map(|index| table + 64 * index);
    let of_kind =
        |kind: u8| headers.clone().find(|at| object[at + 4] == kind).expect("a section of the kind");
    let patched = |at: usize, value: u8| {
        let mut patched = object.clone();
        patched[at] = value;
        rewrite(&patched).expect_err("refused")
    };
    let (progbits, symtab, rela) = (of_kind(1), of_kind(2), of_kind(4));
    assert!(patched(progbits + 4, 2).contains("two symbol tables"));
    for table in [symtab, rela] {
        assert!(patched(table + 56, 0).contains("a size of their own"));
    }
}

#[test]
fn a_pointer_into_an_instruction_is_refused() {
    let message = rewrite(&crate::support::assemble(SOURCE)).expect_err("f+2 is no instruction");
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
    let object = crate::support::compile("int f(int a) { return a + 1; }", &["-O2", "-flto"]);
    let message = rewrite(&object).expect_err("slim LTO object");
    assert!(message.contains("intermediate code") && message.contains("-ffat-lto-objects"), "{message}");
    let fat =
        crate::support::compile("int f(int a) { return a + 1; }", &["-O2", "-flto", "-ffat-lto-objects"]);
    assert!(rewrite(&fat).is_ok());
}

/// Sections that share their bytes, and names that share theirs, would need memory out of all proportion to the file.
#[test]
fn what_overlaps_is_refused() {
    let object = crate::support::assemble("f: ret");
    let headers = u64::from_le_bytes(object[40..48].try_into().expect("eight bytes")) as usize;
    // The first section becomes the whole file.
    let mut overlapping = object.clone();
    overlapping[headers + 64 + 24..][..8].fill(0);
    overlapping[headers + 64 + 32..][..8].copy_from_slice(&(object.len() as u64).to_le_bytes());
    let message = rewrite(&overlapping).expect_err("two sections in one place");
    assert!(message.contains("sections overlap"), "{message}");
    // The table of sections lies at the end of addresses.
    let mut nowhere = object.clone();
    nowhere[40..48].copy_from_slice(&(u64::MAX - 2).to_le_bytes());
    assert!(rewrite(&nowhere).expect_err("no section table").contains("ends in the middle"));
    // An alignment that is 0 in 32 bits.
    let mut far = object.clone();
    far[headers + 64 + 48..][..8].copy_from_slice(&(1_u64 << 32).to_le_bytes());
    assert!(rewrite(&far).expect_err("no such alignment").contains("is aligned to 4294967296 bytes"));
    // Names are kept in something else.
    let names = usize::from(u16::from_le_bytes([object[62], object[63]]));
    let mut nameless = object.clone();
    nameless[headers + 64 * names + 4] = 1;
    let message = rewrite(&nameless).expect_err("names in no string table");
    assert!(message.contains("names are not in a string table"), "{message}");
}

/// Members may be called what they like: the header of each has 16 bytes for it.
#[test]
fn names_of_members_are_bytes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("a.o"), crate::support::assemble(".globl f\nf: ret")).expect("a file");
    for name in ["\u{fc}\u{fc}.o", "a b.o", "exactly_15_byte"] {
        std::fs::copy(folder.path().join("a.o"), folder.path().join(name)).expect("a copy");
        let archive = folder.path().join("l.a");
        let _ = std::fs::remove_file(&archive);
        crate::support::run(
            "ar",
            &["rcs", archive.to_str().expect("UTF-8"), folder.path().join(name).to_str().expect("UTF-8")],
        );
        let bytes = std::fs::read(&archive).expect("an archive");
        let rewritten =
            rewrite_archive("l.a", &bytes, &Options::default(), &mut |_, _| {}).expect("rewritten");
        let read = object::read::archive::ArchiveFile::parse(&*rewritten.bytes).expect("an archive");
        let names: Vec<_> = read.members().map(|member| member.expect("a member").name().to_vec()).collect();
        assert_eq!(names, [name.as_bytes()], "{name}");
    }
}

/// A REX prefix before another prefix counts for nothing: what follows is read as the processor reads it.
#[test]
fn prefixes_without_effect() {
    let source = "f: .byte 0x49, 0x48, 0x8b, 0x04, 0x24\n ret"; // rex.WB rex.W mov (%rsp),%rax
    let listing = |source: &str| {
        let bytes = rewrite(&crate::support::assemble(source)).expect("rewritten");
        crate::support::listing(&bytes, ".text")
    };
    assert_eq!(listing(source), listing("f: mov (%rsp),%rax\n ret"));
}

/// Thread-local variables lie in no code.
#[test]
fn a_thread_local_variable_in_code_is_refused() {
    let object = crate::support::assemble(
        ".globl f\n.text\nf: mov %fs:t@tpoff,%eax\n ret\n.section .tdata,\"awT\"\n.globl t\nt: .long 1\n",
    );
    // The symbol moves from .tdata to .text, the first section.
    let headers = u64::from_le_bytes(object[40..48].try_into().expect("eight bytes")) as usize;
    let symbols =
        (0..).map(|section| headers + 64 * section).find(|at| object[at + 4] == 2).expect("a symbol table");
    let field = |at: usize| u64::from_le_bytes(object[at..at + 8].try_into().expect("eight bytes")) as usize;
    let (start, size) = (field(symbols + 24), field(symbols + 32));
    let variable = (start..start + size).step_by(24).find(|at| object[at + 4] == 0x16).expect("a variable");
    let mut object = object.clone();
    object[variable + 6] = 1;
    let message = rewrite(&object).expect_err("a variable in code");
    assert!(message.contains("to code"), "{message}");
}

/// Debug information may name an attribute's form before its value, which makes fields longer than their forms: who patches them
/// writes over the form, or more than a number has. It is left out with a warning.
#[test]
fn forms_that_stand_before_their_values_drop_the_debug_information() {
    // A type of the unit's first entry, by a reference of the form: DW_FORM_ref8, ref4, ref_udata.
    let with = |abbreviation: &str, reference: &str| {
        let source = format!(
            ".text\nf: push %rbx\n pop %rbx\n ret
            .section .debug_abbrev,\"\",@progbits
            .uleb128 1, 0x11\n .byte 1\n .uleb128 0, 0
            .uleb128 2, 0x16\n .byte 0\n .uleb128 0x49, {abbreviation}, 0, 0
            .uleb128 0
            .section .debug_info,\"\",@progbits
        0:  .long 2f-1f
        1:  .value 5\n .byte 1, 8\n .long .debug_abbrev
            .uleb128 1
        3:  .uleb128 2\n {reference}
            .uleb128 0
        2:"
        );
        let object = crate::support::assemble(&source);
        rewrite_object("damaged.o", &object, &Options::default()).expect("code").stats.debug_dropped.concat()
    };
    for (abbreviation, reference) in [
        ("0x13", ".long 3b-0b"),
        ("0x14", ".quad 3b-0b"),
        ("0x11", ".byte 3b-0b"),
        ("0x15", ".uleb128 3b-0b"),
    ] {
        assert_eq!(with(abbreviation, reference), "", "{reference}");
        let why = with("0x16", &format!(".byte {abbreviation}\n {reference}"));
        assert!(why.contains("an attribute whose form stands before its value"), "{reference}: {why}");
    }
}

/// Inputs for which a look ahead at each instruction would cost the square of their length: minutes, were it so.
#[test]
fn long_inputs_take_no_longer_than_they_are_long() {
    let nops = |between: &str| {
        format!(".text\n.p2align 4\n{}ret\n", format!(".fill 20000,1,0x90\n{between}").repeat(20))
    };
    let jump = |n: usize| format!("lea t{n}(%rip),%rax\nmov (%rax,%rdi,8),%rax\njmp *%rax\n");
    let gotos = |functions: usize| {
        let function = |n: usize| {
            let labels: String = (0..600).map(|label| format!("l{n}_{label}: {}", jump(n))).collect();
            let table: String = (0..600).map(|label| format!(".quad l{n}_{label}\n")).collect();
            format!(
                ".text\n.globl f{n}\n.type f{n},@function\nf{n}:\n{}{labels}ret\n.size f{n},.-f{n}\n\
                 .section .data.rel.ro,\"aw\"\nt{n}:\n{table}",
                jump(n)
            )
        };
        (0..functions).map(function).collect::<String>()
    };
    for (what, source) in [
        ("a run of nops", nops("")),
        ("runs of nops", nops("ret\n")),
        ("computed gotos in one function", gotos(1)),
        ("computed gotos in many", gotos(30)),
    ] {
        let object = crate::support::assemble(&source);
        let (done, finished) = std::sync::mpsc::channel();
        std::thread::spawn(move || done.send(rewrite(&object)));
        let result = finished.recv_timeout(std::time::Duration::from_secs(60));
        assert!(result.is_ok(), "{what}: not done in a minute");
    }
}
