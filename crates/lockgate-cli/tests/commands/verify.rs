//! `lockgate verify`.
use crate::commands::shop::{library, lockgate, program};

#[test]
fn good_modules_are_verified() {
    for module in [library(), program()] {
        let ran = lockgate(&["verify", module]);
        assert_eq!(ran.status, 0, "{}", ran.err);
        assert!(ran.out.starts_with(&format!("{module}: verified: ")), "{}", ran.out);
        assert!(!ran.out.contains('\x1b'), "no colour where there is no terminal");
    }
}

#[test]
fn json_carries_the_report() {
    let json = lockgate(&["verify", "--json", library()]).json();
    assert_eq!(json["verdict"], "verified");
    assert_eq!(json["report"]["gates"][0], 0, "system calls use gate 0");
    assert!(json["report"]["instructions"].as_u64().unwrap() > 1000);
}

/// One changed instruction: `crash` gets a store without its confinement.
#[test]
fn a_changed_instruction_is_rejected_with_its_place() {
    let mut bytes = std::fs::read(library()).unwrap();
    let listing = lockgate(&["inspect", library(), "--json", "--disassemble=crash"]).json();
    let store = listing["disassembly"].as_array().unwrap().iter().find(|line| line["unit"] == "M1").unwrap();
    let code: Vec<u8> = hex(store["bytes"].as_str().unwrap());
    // Code starts at the file's second page or later; the whole function is unique enough to find it.
    let whole: Vec<u8> = listing["disassembly"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|line| hex(line["bytes"].as_str().unwrap()))
        .collect();
    let function = bytes.windows(whole.len()).position(|window| window == whole).unwrap();
    let at = function + whole.windows(code.len()).position(|window| window == code).unwrap();
    assert_eq!(bytes[at..at + 2], [0x65, 0x67]);
    bytes[at..at + 2].fill(0x90);
    let folder = tempfile::tempdir().unwrap();
    let evil = folder.path().join("evil.lg");
    std::fs::write(&evil, bytes).unwrap();
    let evil = evil.to_str().unwrap();

    let ran = lockgate(&["verify", evil]);
    assert_eq!(ran.status, 1);
    assert!(ran.out.contains("rejected by rule V2"), "{}", ran.out);
    assert!(ran.out.contains("in crash+"), "{}", ran.out);
    let json = lockgate(&["verify", "--json", evil]).json();
    assert_eq!((&json["verdict"], &json["rejection"]["rule"]), (&"rejected".into(), &"V2".into()));
    assert!(json["function"].as_str().unwrap().starts_with("crash+"));
    // Nothing runs it.
    lockgate(&["call", evil, "double cube_root(double)", "27"]).fails(2, &["the verifier rejects", "V2"]);
    lockgate(&["run", evil]).fails(125, &["the verifier rejects", "V2"]);
    let report = lockgate(&["inspect", evil, "--report"]);
    assert!(report.out.contains("rejected: V2"), "{}", report.out);
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

#[test]
fn what_is_no_module_is_said_to_be_none() {
    let folder = tempfile::tempdir().unwrap();
    let module = std::fs::read(library()).unwrap();
    let changed = |at: usize, byte: u8| {
        let mut bytes = module.clone();
        bytes[at] = byte;
        bytes
    };
    // Byte 4 is the ELF class, byte 18 the machine, byte 16 the type.
    let cases: &[(&str, Vec<u8>, &str)] = &[
        ("text", b"#!/bin/sh\necho hello\n".to_vec(), "not an ELF file"),
        ("empty", Vec::new(), "ELF"),
        ("cut", module[..module.len() / 2].to_vec(), ""),
        ("head", module[..100].to_vec(), ""),
        ("class", changed(4, 1), ""),
        ("arm", changed(18, 183), "machine"),
        ("object", changed(16, 1), ""),
    ];
    for (name, bytes, part) in cases {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let path = path.to_str().unwrap();
        let ran = lockgate(&["verify", path]);
        assert_eq!(ran.status, 1, "{name}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains("not a module") && ran.out.contains(part), "{name}: {}", ran.out);
        assert_eq!(lockgate(&["verify", "--json", path]).json()["verdict"], "not-a-module");
        lockgate(&["inspect", path]).fails(2, &["is not a module", part]);
        lockgate(&["call", path, "f"]).fails(2, &["is not a module", part]);
        lockgate(&["run", path]).fails(125, &["is not a module", part]);
    }
}
