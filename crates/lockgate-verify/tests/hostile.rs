//! The verifier against modules that no parser made, random code, and mutated code.

use crate::support::{Placement, module};
use lockgate_abi::window;
use lockgate_verify::{Export, Join, Module, Relocation, SegmentKind, State, Word, verify};
use proptest::prelude::*;

/// A change of a legal module that rule V0 forbids. [`Module`]'s fields are public: the verdict must not rest on
/// how a module was made.
type Change = (&'static str, fn(&mut Module));

const CHANGES: &[Change] = &[
    ("no code", |m| m.segments.clear()),
    ("code is not first", |m| m.segments[0].kind = SegmentKind::Constants),
    ("two code segments", |m| m.segments[1].kind = SegmentKind::Code),
    ("code behind data", |m| m.segments[2].kind = SegmentKind::Code),
    ("not page-aligned", |m| m.segments[0].address = 0x800),
    ("overlap", |m| m.segments[1].address = 0),
    ("overlap", |m| m.segments[2].address = 0x2000),
    ("not in order", |m| m.segments.swap(1, 2)),
    ("not whole pages", |m| m.segments[2].size -= 1),
    ("not whole pages, and the image ends there", |m| {
        m.segments[2].size -= 1;
        m.image_size -= 1;
    }),
    ("empty", |m| m.segments[2].size = 0),
    ("empty, and the image ends there", |m| {
        (m.segments[2].size, m.image_size) = (0, 0x3000);
        m.segments[2].bytes.clear();
    }),
    ("fewer bytes of code than are mapped", |m| m.segments[0].bytes.truncate(4095)),
    ("fewer bytes of constants than are mapped", |m| m.segments[1].bytes.truncate(4095)),
    ("more bytes of data than are mapped", |m| m.segments[2].bytes.resize(0xfe001, 0)),
    ("beyond IMAGE_MAX", |m| m.segments[2].size = 0x4000_0000),
    ("beyond IMAGE_MAX, as the image says", |m| {
        (m.segments[2].size, m.image_size) = (0x4000_0000, 0x4000_3000);
    }),
    ("beyond the address space", |m| m.segments[2].size = u64::MAX - 0xfff),
    ("around the end of the address space", |m| {
        (m.segments[2].size, m.image_size) = (u64::MAX - 0xfff, 0x2000);
    }),
    ("a larger image than its segments", |m| m.image_size += 0x1000),
    ("a smaller image than its segments", |m| m.image_size -= 0x1000),
    ("relocation of code", |m| m.relocations.push(Relocation { at: 0x1000, addend: 0 })),
    ("relocation of constants", |m| m.relocations.push(Relocation { at: 0x2ff8, addend: 0 })),
    ("relocation across constants and data", |m| m.relocations.push(Relocation { at: 0x2ffc, addend: 0 })),
    ("relocation of zeros", |m| m.relocations.push(Relocation { at: 0x3039, addend: 0 })),
    ("word in code", |m| m.join = word(0x1008)),
    ("word in zeros", |m| m.join = word(0x3039)),
    ("word nowhere", |m| m.join = word(u64::MAX - 3)),
    ("relocation nowhere", |m| m.relocations.push(Relocation { at: u64::MAX - 3, addend: 0 })),
];

/// What a module that joins a domain has from others: one word, at `at`.
fn word(at: u64) -> Option<Join> {
    Some(Join { modules: vec![], symbols: vec![], words: vec![Word { at, symbol: 0, addend: 0 }] })
}

#[test]
fn v0_holds_however_a_module_was_made() {
    let legal = module(&[0xc3], Placement::Followed);
    verify(&legal).unwrap();
    for (what, change) in CHANGES {
        let mut module = legal.clone();
        change(&mut module);
        assert_eq!(verify(&module).map_err(|rejection| rejection.rule), Err("V0"), "{what}");
    }
    // As large as can be.
    let mut whole = legal.clone();
    whole.image_size = window::IMAGE_MAX - window::IMAGE;
    whole.segments[2].size = whole.image_size - whole.segments[2].address;
    verify(&whole).unwrap();
    let mut module = legal;
    module.relocations.push(Relocation { at: 0x3038, addend: u64::MAX });
    module.join = word(0x3030);
    verify(&module).unwrap();
}

#[test]
fn v4_exports_are_labels() {
    let mut module = module(&crate::support::bytes("f30f1efac3"), Placement::Followed);
    let mut verdict = |address| {
        module.exports = vec![Export { name: "f".to_owned(), signature: None, address }];
        verify(&module).map(|_| ()).map_err(|rejection| (rejection.rule, rejection.address))
    };
    assert_eq!(verdict(0x1000), Ok(()));
    for address in [0x1004, 0x1001, 0xfff, 0x2000, 0x1ffd, 0, u64::MAX] {
        assert_eq!(verdict(address), Err(("V4", 0x1000)), "{address:#x}");
    }
}

/// cmp $1,%rax; ja out; lea table(%rip),%rcx; movslq (%rcx,%rax,4),%rdx; add %rcx,%rdx; jmp *%rdx; out: ud2
fn switch(at: u64, table: u64) -> Vec<u8> {
    let mut code = crate::support::bytes("4883f8017710488d0d");
    code.extend((table.wrapping_sub(at + 13) as u32).to_le_bytes());
    code.extend(crate::support::bytes("486314814801caffe20f0b"));
    code
}

/// A module with two switches, over tables of two entries at `tables`, which all go to the code's first byte.
fn switches(tables: [u64; 2], constants: u64) -> Module {
    let first = switch(0x1000, tables[0]);
    let second = switch(0x1000 + first.len() as u64, tables[1]);
    let mut module = module(&[first, second].concat(), Placement::Followed);
    let moved = constants - module.segments[1].address;
    module.segments[1].address += moved;
    module.segments[2].address += moved;
    module.image_size += moved;
    for table in tables {
        for entry in 0..2 {
            let at = (table - constants) as usize + 4 * entry;
            module.segments[1].bytes[at..at + 4]
                .copy_from_slice(&(0x1000_u32.wrapping_sub(table as u32)).to_le_bytes());
        }
    }
    module
}

/// Tables may lie side by side, be one, and be far away; they may not overlap.
#[test]
fn tables_are_disjoint_or_the_same() {
    // From far away, every byte of a distance counts.
    for constants in [0x2000, 0x5a000, 0x12_3000] {
        for (second, is_allowed) in [(0, true), (8, true), (24, true), (4, false)] {
            let verdict = verify(&switches([constants + 64, constants + 64 + second], constants));
            let verdict = verdict.map(|_| ()).map_err(|rejection| rejection.rule);
            assert_eq!(
                verdict,
                if is_allowed { Ok(()) } else { Err("V5") },
                "{second} bytes apart at {constants:#x}"
            );
        }
    }
}

/// Units have one entrance, their first byte, wherever they stand: a jump to any other byte of one is refused.
#[test]
fn units_have_one_entrance() {
    const NOP: u8 = 0x90;
    // What stands before it, the unit, and what stands behind it.
    let units = [
        ("U1", "", "6567448b184181c30df0e10575114189c365674c031c250800010041ffd3", ""),
        // In S(8), and closed again: the jump to its start is in S(8), too.
        ("U2", "4883ec08", "4931e34181e3f8ffff004931e34939e377114c87dc4c891c24", "488b2424"),
        ("U3", "", "89ff656748033c2508000100f348ab", ""),
    ];
    for (name, entry, unit, exit) in units {
        let (entry, unit, exit) =
            (crate::support::bytes(entry), crate::support::bytes(unit), crate::support::bytes(exit));
        for nops in (0..200).step_by(9) {
            for inside in 0..unit.len() {
                let before = nops + entry.len();
                let mut code = [&vec![NOP; nops], &entry[..], &unit[..], &exit[..], &[NOP, 0xe9]].concat();
                let distance = (before + inside) as i32 - (code.len() + 4) as i32;
                code.extend(distance.to_le_bytes());
                let verdict = verify(&module(&code, Placement::Followed)).map_err(|rejection| rejection.rule);
                let place = format!("{name} at {before}, jump to its byte {inside}");
                match inside {
                    0 => assert!(verdict.is_ok(), "{place}: {verdict:?}"),
                    _ => assert_eq!(verdict.err(), Some("V1"), "{place}"),
                }
            }
        }
    }
}

/// The label's bytes are found wherever they stand, and nowhere else: the search looks at eight bytes at a time, by arithmetic
/// that neighbours could disturb.
#[test]
fn labels_are_found_at_every_offset() {
    // nop; int3; xor %ecx,%ecx (odd bytes); jp to somewhere behind it (bytes that differ from the label's last in the highest bit)
    for neighbours in ["90909090909090", "cccccccccccccc", "31c931c931c931c9", "7a7a7a7a7a7a7a10"] {
        for before in 0..24 {
            let code = |immediate: &str| {
                let mov = crate::support::bytes(&format!("b8{immediate}{neighbours}"));
                [&vec![0x90; before], &mov[..], &[0x90; 160]].concat()
            };
            let verdict = |immediate| {
                let verdict = verify(&module(&code(immediate), Placement::Followed));
                verdict.map(|_| ()).map_err(|rejection| (rejection.rule, rejection.address))
            };
            // mov $LABEL,%eax, and with the last byte another one.
            let place = format!("{before} bytes before {neighbours}");
            assert_eq!(verdict("f30f1efa"), Err(("V4", 0x1001 + before as u64)), "{place}");
            assert_eq!(verdict("f30f1efb"), Ok(()), "{place}");
            assert_eq!(verdict("fafafafa"), Ok(()), "{place}");
        }
    }
}

/// The table of the report has every place behind a call, with the state there, and no other place.
#[test]
fn the_report_has_the_return_sites() {
    // sub $24,%rsp; call f; call *%gs:0x11088; U2; sub $8,%rsp; U1; mov 8(%rsp),%rsp; add $24,%rsp; ret; f: ret
    let parts = [
        ("4883ec18", None),
        ("e85a000000", Some(State::S { o: 24 })),
        ("65ff142588100100", Some(State::S { o: 24 })),
        ("4931e34181e3f8ffff004931e34939e377344c87dc4c891c24", None),
        ("4883ec08", None),
        ("6567448b184181c30df0e105751b4189c365674c031c250800010041ffd3", Some(State::C { b: 24, d: 8 })),
        ("488b642408", None),
        ("4883c418", None),
        ("c3", None),
        ("c3", None),
    ];
    let mut code = Vec::new();
    let mut sites = Vec::new();
    for (bytes, state) in parts {
        code.extend(crate::support::bytes(bytes));
        sites.extend(state.map(|state| (0x1000 + code.len() as u64, state)));
    }
    let call = 0x1000 + 9;
    let target = 0x1000 + code.len() as u64 - 1;
    code[5..9].copy_from_slice(&((target - call) as u32).to_le_bytes());
    let report = verify(&module(&code, Placement::Followed)).unwrap();
    assert_eq!(report.frames.iter().collect::<Vec<_>>(), sites);
    for address in 0..0x2100 {
        let expected = sites.iter().find(|(at, _)| *at == address).map(|(_, state)| *state);
        assert_eq!(report.frames.at(address), expected, "{address:#x}");
    }
}

#[test]
fn the_report_counts() {
    let report = verify(&module(&[0xc3], Placement::Followed)).unwrap();
    // ret, ud2, nop, ud2, and what fills the page.
    assert_eq!((report.text_bytes, report.instructions), (4096, 4 + (4096 - 8) + 1));
}

#[test]
fn the_report_is_serialised_for_json() {
    let report = verify(&module(&crate::support::bytes("65ff14250010010090"), Placement::Followed)).unwrap();
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["gates"], serde_json::json!([0]));
    assert_eq!(json["x87"], false);
}

/// Code of all accepted cases, one after another.
fn accepted() -> Vec<Vec<u8>> {
    let files = [
        include_str!("cases/v1-encoding.txt"),
        include_str!("cases/v2-memory.txt"),
        include_str!("cases/v3-rsp.txt"),
        include_str!("cases/v5-units.txt"),
    ];
    let lines = files.iter().flat_map(|text| text.lines()).filter_map(|line| line.strip_prefix("accept "));
    lines
        .map(|line| crate::support::bytes(line.split(" |").next().unwrap().split(' ').next_back().unwrap()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn random_code_gets_a_verdict(code in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = verify(&module(&code, Placement::Followed));
        let _ = verify(&module(&code, Placement::Last));
    }

    #[test]
    fn mutated_code_gets_a_verdict(
        picks in prop::collection::vec(any::<prop::sample::Index>(), 1..20),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        last in any::<bool>(),
    ) {
        let accepted = accepted();
        let mut code: Vec<u8> = picks.iter().flat_map(|pick| pick.get(&accepted).clone()).collect();
        for (place, byte) in changes {
            let place = place.index(code.len());
            code[place] = byte;
        }
        let _ = verify(&module(&code, if last { Placement::Last } else { Placement::Followed }));
    }
}
