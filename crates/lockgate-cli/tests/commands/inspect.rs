//! `lockgate inspect`.
use crate::shop::{library, lockgate, program};

#[test]
fn everything_is_shown_by_default() {
    let ran = lockgate(&["inspect", library()]);
    for part in [
        "exports (",
        "  double cube_root(double)\n",
        "  const char *skip(const char *, unsigned int)\n",
        "imports (0)",
        "verified",
        "ABI version 1",
        "library.c",
    ] {
        assert!(ran.out.contains(part), "{part:?} is not in: {}", ran.out);
    }
    assert!(!ran.out.contains("endbr64"), "code only when asked for");
}

#[test]
fn selections() {
    let exports = lockgate(&["inspect", library(), "--exports"]).out;
    assert!(exports.contains("cube_root") && !exports.contains("imports"));
    let json = lockgate(&["inspect", library(), "--json", "--exports"]).json();
    let names: Vec<_> = json["exports"].as_array().unwrap().iter().map(|export| &export["name"]).collect();
    assert!(names.contains(&&"unnoted".into()));
    assert!(json.get("report").is_none());
    let notes = lockgate(&["inspect", library(), "--json", "--notes"]).json();
    assert_eq!(notes["notes"]["segments"][0]["kind"], "code");
    assert_eq!(notes["notes"]["sources"][0]["blake3"].as_str().unwrap().len(), 64);
}

#[test]
fn disassembly_names_units() {
    let crash = lockgate(&["inspect", library(), "--disassemble=crash"]).out;
    assert!(crash.contains("<crash>:"), "{crash}");
    let with = |unit: &str, text: &str| {
        crash.lines().any(|line| line.split_whitespace().nth(2) == Some(unit) && line.contains(text))
    };
    assert!(with("label", "endbr64"), "{crash}");
    assert!(with("M1", "%gs:("), "{crash}");
    let all = lockgate(&["inspect", program(), "--json", "--disassemble"]).json();
    let lines = all["disassembly"].as_array().unwrap();
    for unit in ["label", "M1", "M2", "M3", "M4", "U1", "U3", "U4", "V3"] {
        assert!(lines.iter().any(|line| line["unit"] == unit), "a C library has {unit}");
    }
    let gate = lines.iter().find(|line| line["unit"] == "M4").unwrap();
    assert_eq!(gate["gate"], "gate 0: system call");
}

/// Nothing that touches memory, moves the stack pointer or jumps by register goes without a unit.
#[test]
fn every_dangerous_instruction_has_a_unit() {
    let all = lockgate(&["inspect", program(), "--json", "--disassemble"]).json();
    for line in all["disassembly"].as_array().unwrap() {
        let text = line["text"].as_str().unwrap();
        let memory =
            text.replace("st(", "").contains('(') && !text.starts_with("lea") && !text.starts_with("nop");
        let indirect = text.contains("*%");
        assert!(!(memory || indirect) || line["unit"] != "", "{line}");
    }
}

#[test]
fn unknown_functions_are_an_error() {
    lockgate(&["inspect", library(), "--disassemble=nowhere"])
        .fails(2, &["has no function \"nowhere\"", "--exports"]);
}
