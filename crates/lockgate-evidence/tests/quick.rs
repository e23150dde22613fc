//! The bounded, seeded part of the evidence, as `make test` runs it; `make evidence` runs the long one.

use lockgate_evidence::decoders::{Decoder, Flow, Iced, State, View, Yaxpeax, Zydis};
use lockgate_evidence::difference::{Aspect, differences};
use lockgate_evidence::explained::Explanation;
use lockgate_evidence::{differential, operand_rule, rsp_rule};
use lockgate_toolchain::{Link, Sysroot, silent};
use lockgate_verify::{Operand, Reading};
use std::process::Command;

#[test]
fn other_decoders_agree_about_accepted_instructions() {
    let outcome =
        differential::run(differential::Effort { one_in: 4_000, code_one_in: 400, random: 100_000, seed: 1 })
            .unwrap();
    assert_eq!(outcome.disagreements, 0, "{:#?}", outcome.kinds);
    assert!(outcome.accepted > 200_000, "{outcome:#?}");
    assert!(outcome.sources.iter().all(|source| source.tried > 1_000), "{:#?}", outcome.sources);
}

#[test]
fn the_processor_does_what_the_verifier_says() {
    assert_nothing_is_caught("semantics", "semantics: 0 violations");
}

#[test]
fn random_accepted_programs_stay_inside() {
    assert_nothing_is_caught("programs", "programs: 0 violations");
}

#[test]
fn random_accepted_modules_leave_host_and_neighbours_alone() {
    assert_nothing_is_caught("domains", "domains: 0 violations");
}

#[test]
fn returns_of_real_programs_pop_their_own_words() {
    assert_nothing_is_caught("returns", "returns: 0 violations");
}

/// Standard output is the program's.
#[test]
fn a_program_of_ones_own_is_seen_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let sysroot = Sysroot::ensure(&silent).unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(
        path("greet.c"),
        "#include <stdio.h>\nint main(int n, char **v) { return puts(v[n - 1]) < 0; }\n",
    )
    .unwrap();
    let mut compile = sysroot.tools().compiler();
    compile.args(["-O2", "-c"]).arg(path("greet.c")).arg("-o").arg(path("greet.o"));
    assert!(compile.status().unwrap().success());
    let mut link = Link::new(path("greet.lg"));
    link.file(&path("greet.o")).unwrap();
    link.run(&sysroot, &silent).unwrap();
    let mut evidence = Command::new(env!("CARGO_BIN_EXE_evidence"));
    let output = evidence.arg("--observe").arg(path("greet.lg")).arg("hello").output().unwrap();
    let [said, report] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success() && said == "hello\n", "{said}{report}");
    assert!(report.contains(", to the end") && report.contains("returns: 0 violations"), "{report}");
}

/// Runs a part that needs processes of its own.
fn assert_nothing_is_caught(part: &str, result: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_evidence")).arg(part).output().unwrap();
    let text =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success() && text.contains(result), "{text}");
}

#[test]
fn accepted_operands_are_confined() {
    let outcome = operand_rule::run(200);
    assert_eq!(outcome.violations, 0, "{:#?}", outcome.examples);
    assert!(outcome.operands > 1_000_000 && outcome.accepted > 50_000, "{outcome:?}");
}

#[test]
fn accepted_changes_of_rsp_stay_in_the_slot() {
    let outcome = rsp_rule::run(3, 200);
    assert_eq!(outcome.violations, 0, "{:#?}", outcome.examples);
    assert!(outcome.sequences > 10_000 && outcome.accepted > 3_000, "{outcome:?}");
}

#[test]
fn every_explanation_is_needed() {
    let explanations = Explanation::all();
    assert!(!explanations.is_empty());
    for explanation in explanations {
        assert!(explanation.is_needed(), "explained.txt: the example does not show it: {explanation:?}");
    }
}

/// Contradictions are found, one for each aspect: `addl %ecx,-0x3f000000(%rsp)`, told wrongly.
#[test]
fn contradictions_are_noticed() {
    const ADD: [u8; 7] = [0x01, 0x8c, 0x24, 0, 0, 0, 0xc1];
    let ours = Reading::of(&ADD).unwrap();
    let right = Zydis::default().view(&ADD).unwrap();
    assert_eq!(differences(&ours, Some(&right)), []);
    type Change = fn(&mut View);
    let wrong: &[(Aspect, Change)] = &[
        (Aspect::Length, |view| view.len += 1),
        (Aspect::Memory, |view| view.operand = Operand::Stack(-0x3f00_0008)),
        (Aspect::Memory, |view| view.operand = Operand::None),
        (Aspect::Memory, |view| view.operand = Operand::Unconfined),
        (Aspect::Memory, |view| view.several = true),
        (Aspect::Size, |view| view.access = Some(8)),
        (Aspect::Written, |view| view.written = Some(1 << 4)),
        (Aspect::Flow, |view| view.flow = Flow::Jump(0)),
        (Aspect::State, |view| view.state = Some(State { x87: true, ..State::default() })),
        (Aspect::State, |view| view.state = Some(State { mask: true, ..State::default() })),
        (Aspect::State, |view| view.state = Some(State { ymm: true, ..State::default() })),
        (Aspect::State, |view| view.state = Some(State { evex: true, ..State::default() })),
        (Aspect::State, |view| view.state = Some(State { mxcsr_write: true, ..State::default() })),
        (Aspect::State, |view| view.state = Some(State { mxcsr_read: true, ..State::default() })),
        (Aspect::Probe, |view| view.certain = Some(false)),
    ];
    for (aspect, change) in wrong {
        let mut view = right.clone();
        change(&mut view);
        assert_eq!(differences(&ours, Some(&view)), [*aspect], "{view:?}");
    }
    assert_eq!(differences(&ours, None), [Aspect::Unknown]);
}

/// Each decoder tells control transfers apart.
#[test]
fn the_decoders_see_where_control_goes() {
    fn flow<D: Decoder + Default>(bytes: &[u8]) -> Flow {
        D::default().view(bytes).unwrap_or_else(|| panic!("{} does not know {bytes:02x?}", D::NAME)).flow
    }
    let cases: &[(&[u8], Flow)] = &[
        (&[0x75, 0xfe], Flow::Branch(-2)),
        (&[0xe2, 0x10], Flow::Branch(16)),
        (&[0xe3, 0x10], Flow::Branch(16)),
        (&[0x0f, 0x84, 0, 1, 0, 0], Flow::Branch(256)),
        (&[0xeb, 0x10], Flow::Jump(16)),
        (&[0xe9, 0, 0, 0, 0x80], Flow::Jump(-0x8000_0000)),
        (&[0xe8, 1, 0, 0, 0], Flow::Call(1)),
        (&[0xc3], Flow::Return),
        (&[0xcc], Flow::Trap),
        (&[0x0f, 0x0b], Flow::Trap),
        (&[0x41, 0xff, 0xd3], Flow::ThroughRegister(11, true)),
        (&[0xff, 0xe0], Flow::ThroughRegister(0, false)),
        (&[0x65, 0xff, 0x14, 0x25, 0, 0x10, 1, 0], Flow::CallThroughMemory),
        (&[0x0f, 0x05], Flow::Other),
        (&[0xcd, 0x80], Flow::Other),
        (&[0xc2, 8, 0], Flow::Other),
        (&[0xcb], Flow::Other),
        (&[0x01, 0xc8], Flow::Next),
    ];
    for (bytes, wanted) in cases {
        let found = [flow::<Zydis>(bytes), flow::<Yaxpeax>(bytes), flow::<Iced>(bytes)];
        assert_eq!(found, [*wanted; 3], "{bytes:02x?}");
    }
}
