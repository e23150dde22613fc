//! What is said of single functions beyond the cases of `cases/v6-functions.txt`: how far is looked, and in what.

use crate::support::{Placement, elf::FileBuilder, module};
use lockgate_verify::{Functions, Module, verify};

const LABEL: &str = "f30f1efa";
/// `fld1; ret`.
const X87: &str = "d9e8c3";

/// A module of `text`, and `constants` behind it.
fn large(text: &str, constants: Vec<u8>) -> Module {
    let module = crate::support::large(crate::support::bytes(text), constants);
    verify(&module).expect("a module that is accepted");
    module
}

/// 1024 instructions are looked at, and not one more; nor is half of a larger function taken for all of it.
#[test]
fn large_functions_are_not_told() {
    let told = |nops: usize| {
        let module = large(&(LABEL.to_owned() + &"90".repeat(nops) + X87), vec![0; 4096]);
        Functions::of(&module).report(0).map(|report| report.x87)
    };
    assert_eq!(told(0), Some(true));
    assert_eq!(told(1024 - 3), Some(true));
    assert_eq!(told(1024 - 2), None);
    assert_eq!(told(100_000), None);
}

/// Entries of tables count as instructions do: a table of a million is no work.
#[test]
fn large_tables_are_not_looked_at() {
    // endbr64; cmp $last,%rax; ja 1f; lea table(%rip),%rcx; movslq (%rcx,%rax,4),%rdx; add %rcx,%rdx; jmp *%rdx; 1: ret
    let told = |last: u32| {
        let mut text = LABEL.to_owned() + "483d" + &hex(&last.to_le_bytes()) + "7710488d0d";
        let constants = 4096_u32;
        text += &hex(&(constants - 19).to_le_bytes());
        text += "486314814801caffe2c3";
        let entries = (last as usize + 1) * 4;
        let mut table = 0_u32.wrapping_sub(constants).to_le_bytes().repeat(last as usize + 1);
        table.resize(entries.next_multiple_of(4096), 0);
        Functions::of(&large(&text, table)).report(0).is_some()
    };
    // With six instructions, 1024.
    assert!(told(0) && told(1017));
    assert!(!told(1018) && !told(1023) && !told(1024) && !told(1_000_000));
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What is found in a file is what is found in the module that it is parsed to.
#[test]
fn files_and_their_modules_say_the_same() {
    for code in ["f30f1efac3", "f30f1efad9e8c3", "f30f1efa65ff142500100100c3"] {
        let file = FileBuilder { code: crate::support::bytes(code), ..FileBuilder::default() }.build();
        let module = Module::parse(&file).expect("a module");
        let in_file = Functions::in_file(&file).expect("a module");
        for at in [0, 4, 5, 4095, 4096, 1 << 40, u64::MAX] {
            let expected = Functions::of(&module).report(at);
            assert_eq!(in_file.report(at), expected, "{code} at {at:#x}");
            assert_eq!(expected.is_some(), at == 0 && !code.contains("65ff"), "{code} at {at:#x}");
        }
    }
    assert!(Functions::in_file(b"\x7fELF").is_none());
}

/// Whatever the bytes are, accepted or not: an answer, and no panic.
#[test]
fn anything_may_be_asked() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let pieces =
        ["90", "c3", "d9e8", "eb", "74", "e8", "0f", "486314814801caffe2", "4883f80377", "488d0d", LABEL];
    for _ in 0..20_000 {
        let mut text = LABEL.to_owned();
        while text.len() < 200 {
            match random() % 16 {
                piece @ 0..11 => text += pieces[piece as usize],
                _ => text += &hex(&random().to_le_bytes()[..1 + (random() % 4) as usize]),
            }
        }
        let module = module(&crate::support::bytes(&text), Placement::Followed);
        let _ = Functions::of(&module).report(0x1000);
    }
}
