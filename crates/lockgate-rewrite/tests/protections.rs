//! The rewriter's output without one of its protections is refused: in everything that the tables of cases make, each place
//! where a protection of `protections.txt` stands loses it, one at a time, and the verifier must name the rule.

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic};
use lockgate_abi::code;
use lockgate_rewrite::{Options, rewrite_object};
use lockgate_verify::{Export, Module, Segment, verify};
use std::fmt::Write;

/// What happens to an instruction of a protection. Lengths stay, so that nothing else moves.
enum Fate {
    /// It stays: it is there to be recognised.
    Stays,
    /// Nops.
    Goes,
    /// Nops for the prefixes 65 67.
    LosesPrefixes,
    /// A nop for the prefix 67 alone: gs with an address of 64 bits.
    LosesAddressSize,
    /// The operand is on the stack that rsp points into, not on the data stack.
    LosesDistance,
    /// These bytes, and nops.
    Becomes(Vec<u8>),
}

struct Protection {
    title: String,
    /// One of these is what the verifier must say.
    rules: Vec<String>,
    /// Consecutive instructions: what happens to each, and how it is printed, `*` for any text.
    lines: Vec<(Fate, String)>,
}

fn protections() -> Vec<Protection> {
    let text = std::fs::read_to_string("protections.txt").expect("the list");
    let block = |block: &str| {
        let (head, body) = block.split_once('\n').expect("a title line");
        let (rules, title) = head.split_once(": ").expect("'RULE: what is missing'");
        let lines = body.lines().filter(|line| !line.trim().is_empty()).map(|line| {
            let (mark, pattern) = line.split_at(line.len().min(12));
            let fate = match mark.trim() {
                "" => Fate::Stays,
                "goes" => Fate::Goes,
                "prefixes" => Fate::LosesPrefixes,
                "address" => Fate::LosesAddressSize,
                "distance" => Fate::LosesDistance,
                hex => Fate::Becomes(
                    (0..hex.len())
                        .step_by(2)
                        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("bytes"))
                        .collect(),
                ),
            };
            (fate, pattern.trim().to_owned())
        });
        Protection {
            title: title.to_owned(),
            rules: rules.split(' ').map(str::to_owned).collect(),
            lines: lines.collect(),
        }
    };
    text.split("## ").skip(1).map(block).collect()
}

/// Whether `text` is `pattern`, in which `*` stands for anything.
fn is_like(text: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => text == pattern,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            (0..=text.len()).filter(|&at| text.is_char_boundary(at)).any(|at| is_like(&text[at..], rest))
        }),
    }
}

/// Does it to the instruction at `at`; false if it has nothing to lose.
fn apply(fate: &Fate, code: &mut [u8], instruction: &Instruction) -> bool {
    const NOP: u8 = 0x90;
    let at = instruction.ip() as usize;
    let bytes = &mut code[at..at + instruction.len()];
    match fate {
        Fate::Stays => {}
        Fate::Goes => bytes.fill(NOP),
        Fate::LosesPrefixes => {
            if !bytes.starts_with(&[0x65, 0x67]) {
                return false;
            }
            bytes[..2].fill(NOP);
        }
        Fate::LosesAddressSize => {
            if !bytes.starts_with(&[0x65, 0x67]) {
                return false;
            }
            bytes[..2].copy_from_slice(&[NOP, 0x65]);
        }
        // An address is no access.
        Fate::LosesDistance if instruction.mnemonic() == Mnemonic::Lea => return false,
        Fate::LosesDistance => {
            let Some(displacement) = (1..bytes.len().saturating_sub(3)).find(|&start| {
                let value = i32::from_le_bytes(bytes[start..start + 4].try_into().expect("four bytes"));
                value.wrapping_add(code::OFF as i32).unsigned_abs() <= code::MAX_MOVE
            }) else {
                return false;
            };
            let place = &mut bytes[displacement..displacement + 4];
            let value = i32::from_le_bytes((&*place).try_into().expect("four bytes"));
            place.copy_from_slice(&value.wrapping_add(code::OFF as i32).to_le_bytes());
        }
        Fate::Becomes(new) => {
            bytes.fill(NOP);
            bytes[..new.len()].copy_from_slice(new);
        }
    }
    true
}

/// Everything that the tables make, with its title; `f` is exported.
fn outputs() -> Vec<(String, Module)> {
    let mut outputs = Vec::new();
    for table in ["memory", "stack", "pointer", "branch", "switch", "string", "tls"] {
        let text = std::fs::read_to_string(format!("cases/{table}.txt")).expect("a table");
        for case in text.split("## ").skip(1) {
            let (title, body) = case.split_once('\n').expect("a title line");
            let source = body.split("--\n").next().unwrap_or_default();
            let object = crate::support::assemble(&format!(".globl f\n.type f,@function\nf:\n{source}\n"));
            let rewritten =
                rewrite_object(table, &object, &Options::default()).expect("accepted in cases.rs");
            let mut module = crate::support::module(&rewritten.bytes);
            module.exports.push(Export { name: "f".to_owned(), address: 0, signature: None });
            verify(&module).unwrap_or_else(|rejection| panic!("{table}, {title}: {rejection}"));
            outputs.push((format!("{table}, {title}"), module));
        }
    }
    outputs
}

#[test]
fn each_protection_is_needed() {
    let protections = protections();
    let mut found = vec![0; protections.len()];
    let mut failures = String::new();
    for (title, module) in outputs() {
        let code = module.segments[0].bytes.clone();
        let instructions: Vec<_> = Decoder::new(64, &code, DecoderOptions::NONE).iter().collect();
        let texts: Vec<_> = instructions.iter().map(crate::support::text).collect();
        for (protection, found) in protections.iter().zip(&mut found) {
            let length = protection.lines.len();
            for start in 0..texts.len().saturating_sub(length - 1) {
                let is_here = protection
                    .lines
                    .iter()
                    .zip(&texts[start..])
                    .all(|((_, pattern), text)| is_like(text, pattern));
                let mut bytes = code.clone();
                let changed = is_here
                    && protection
                        .lines
                        .iter()
                        .zip(&instructions[start..])
                        .all(|((fate, _), ins)| apply(fate, &mut bytes, ins));
                if !changed {
                    continue;
                }
                *found += 1;
                let mut segments = module.segments.clone();
                segments[0] = Segment { bytes, ..segments[0].clone() };
                let place =
                    format!("{title}, without {}, at {:#x}", protection.title, instructions[start].ip());
                match verify(&Module { segments, ..module.clone() }) {
                    Err(rejection) if protection.rules.iter().any(|rule| rule == rejection.rule) => {}
                    Err(rejection) => writeln!(failures, "{place}: refused for another reason: {rejection}")
                        .expect("a string"),
                    Ok(_) => writeln!(failures, "{place}: accepted").expect("a string"),
                }
            }
        }
    }
    for (protection, found) in protections.iter().zip(&found) {
        println!("{found:5} {}", protection.title);
        if *found == 0 {
            writeln!(failures, "no output of the tables has: {}", protection.title).expect("a string");
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// The host enters at exports: one that is no label is refused.
#[test]
fn exports_need_their_label() {
    for (title, mut module) in outputs() {
        let code = &mut module.segments[0].bytes;
        assert!(code.starts_with(&code::LABEL), "{title}: f has no label");
        code[..code::LABEL.len()].fill(0x90);
        let rule = verify(&module).map_err(|rejection| rejection.rule);
        assert_eq!(rule.err(), Some("V4"), "{title}");
    }
}
