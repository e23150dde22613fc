//! `lockgate inspect`.
use crate::commands::shop::{command, library, lockgate, program};
use std::process::Command;

#[test]
fn everything_is_shown_by_default() {
    let ran = lockgate(&["inspect", library()]);
    for part in [
        "exports (",
        "  double cube_root(double)\n",
        "  const char *skip(const char *, unsigned int)\n",
        "imports (0)",
        "verified",
        "ABI version 4",
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
    let lockgates = names.iter().filter(|name| name.as_str().unwrap().starts_with("_lg_")).count();
    let counted = format!("exports ({}, and {lockgates} of Lockgate's)\n", names.len() - lockgates);
    assert!(lockgates > 0 && exports.starts_with(&counted), "{counted}{exports}");
    assert!(json.get("report").is_none());
    let notes = lockgate(&["inspect", library(), "--json", "--notes"]).json();
    assert_eq!(notes["notes"]["segments"][0]["kind"], "code");
    assert_eq!(notes["notes"]["sources"][0]["blake3"].as_str().unwrap().len(), 64);
}

#[test]
fn disassembly_names_units() {
    let crash = lockgate(&["inspect", library(), "--disassemble=crash"]).out;
    // A name that a script left empty is none, and not all.
    lockgate(&["inspect", library(), "--disassemble="]).fails(2, &["a value is required for '--disassemble"]);
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
    assert_eq!(gate["gate"], "gate 2: system call");
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

/// The headings of a proxy's listing.
fn parts(listing: &str) -> Vec<&str> {
    listing.lines().skip(2).filter(|line| !line.starts_with([' ', '>']) && !line.is_empty()).collect()
}

#[test]
fn proxies_have_what_their_policy_asks_for() {
    let listing = |policy: &str| {
        let ran = lockgate(&["inspect", library(), "--proxy", "cube_root", "--policy", policy]);
        ran.gives(0, &ran.out);
        ran.out
    };
    let (trust, distrust) = (listing("mutual-trust"), listing("mutual-distrust"));
    assert!(trust.starts_with("double cube_root(double), from the host to "), "{trust}");
    assert!(trust.contains(": mutual trust\n"), "{trust}");
    for part in ["admission", "frame", "record", "entry", "the procedure returns", "return"] {
        assert!(parts(&trust).contains(&part) && parts(&distrust).contains(&part), "{part}: {trust}");
    }
    for part in ["vector registers", "general registers", "callee-saved registers"] {
        assert!(!parts(&trust).contains(&part) && parts(&distrust).contains(&part), "{part}: {distrust}");
    }
    for text in ["%fs:thread.top", "binding.admission(%r11)", "entry.binding(%r10)", "wrgsbase %r10"] {
        assert!(trust.contains(text), "{text}: {trust}");
    }
    assert_eq!(distrust, lockgate(&["inspect", library(), "--proxy", "cube_root"]).out);
}

#[test]
fn proxies_between_modules_and_by_prototype() {
    let prototype = "double cube_root(double)";
    let crossing = lockgate(&["inspect", library(), "--proxy", prototype, "--from", program()]).out;
    for part in ["caller's gate", "admission back", "no return"] {
        assert!(parts(&crossing).contains(&part), "{part}: {crossing}");
    }
    for text in ["gate.control", "function.context", "entry.host(%r10)"] {
        assert!(crossing.contains(text), "{text}: {crossing}");
    }
    let json = lockgate(&["inspect", library(), "--proxy", prototype, "--json"]).json();
    assert!(json.get("exports").is_none(), "only what was asked for");
    let proxy = &json["proxy"];
    assert_eq!((&proxy["policy"], &proxy["caller"]), (&"mutual distrust".into(), &"the host".into()));
    let lines = proxy["instructions"].as_array().unwrap();
    let bytes: usize = lines.iter().map(|line| line["bytes"].as_str().unwrap().len() / 2).sum();
    assert_eq!(proxy["bytes"], bytes);
    assert!(lines.iter().all(|line| line["part"] != ""), "{proxy}");
    assert!(lines.iter().any(|line| line["after_return"] == true && line["text"] == "ret"), "{proxy}");
}

#[test]
fn proxies_of_nothing_are_errors() {
    for (prototype, parts) in [
        ("nowhere", &["nowhere"][..]),
        ("int nowhere(void)", &["exports no function \"nowhere\"", "--exports"]),
        ("unnoted", &["has no signature of unnoted"]),
    ] {
        lockgate(&["inspect", library(), "--proxy", prototype]).fails(2, parts);
    }
    lockgate(&["inspect", library(), "--policy", "integrity"]).fails(2, &["--proxy"]);
}

/// docs/policies.md shows real proxies: each block that begins with a command is what that prints, with `…` for what it leaves
/// out.
#[test]
fn the_page_on_policies_shows_real_proxies() {
    const PAGE: &str = include_str!("../../../../docs/policies.md");
    if !std::arch::is_x86_feature_detected!("avx") {
        return support::skipped(
            "the_page_on_policies_shows_real_proxies",
            "they are those of processors with AVX",
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let mut checked = 0;
    for block in PAGE.split("```").skip(1).step_by(2) {
        let (_language, block) = block.split_once('\n').unwrap();
        let (first, shown) = block.split_once('\n').unwrap();
        if let Some(name) = first.strip_prefix("// ") {
            let source = folder.path().join(name);
            std::fs::write(&source, shown).unwrap();
            crate::commands::shop::build(&source, &source.with_extension("lg"), &["-shared"]);
        } else if let Some(command) = first.strip_prefix("$ lockgate ") {
            let arguments: Vec<_> = command.split('\'').enumerate().flat_map(words).collect();
            let ran = crate::commands::shop::command(&arguments).current_dir(folder.path()).output().unwrap();
            let out = String::from_utf8(ran.stdout).unwrap();
            let mut rest = out.as_str();
            for piece in shown.split("…\n") {
                let at = rest.find(piece).unwrap_or_else(|| panic!("{command} prints no {piece}but {out}"));
                rest = &rest[at + piece.len()..];
            }
            checked += 1;
        }
    }
    assert!(checked >= 4, "{checked} listings");
}

/// The words of a command's pieces between quotation marks: every other piece is one word.
fn words((number, piece): (usize, &str)) -> Vec<&str> {
    if number % 2 == 1 { vec![piece] } else { piece.split_whitespace().collect() }
}

/// A function for each instruction: what has to be looked up for a line does not grow with the number of lines.
#[test]
fn a_module_of_nothing_but_symbols_is_listed_soon() {
    const SYMBOLS: usize = 300_000;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut source = String::from(".globl f\n.type f,@function\nf: endbr64\n");
    for number in 0..SYMBOLS {
        source += &format!("s{number}: nop\n.type s{number},@function\n");
    }
    source += "lea d(%rip),%rax\nret\n.data\n.globl d\nd: .quad 0\n";
    std::fs::write(at("many.s"), source).unwrap();
    let assembled = Command::new("as").arg(at("many.s")).arg("-o").arg(at("many.o")).status();
    assert!(assembled.expect("binutils").success());
    let mut link = command(&["link", "--export", "long f(long)", "-o"]);
    let linked = link.arg(at("many.lg")).arg("--verbatim").arg(at("many.o")).status();
    assert!(linked.unwrap().success());
    // It took twenty seconds of the processor's time. (That of a busy machine is others', too.)
    let script = "ulimit -t 10 && exec \"$0\" inspect \"$1\" --disassemble";
    let mut shell = Command::new("sh");
    let listed =
        shell.args(["-c", script, env!("CARGO_BIN_EXE_lockgate")]).arg(at("many.lg")).output().unwrap();
    let listing = String::from_utf8_lossy(&listed.stdout);
    assert!(listed.status.success(), "{}: {}", listed.status, String::from_utf8_lossy(&listed.stderr));
    assert!(listing.contains(&format!("<s{}>:", SYMBOLS - 1)));
}

/// What is shown of code is made as it is read, not all at once: a file may have very much of it. Units are those of all of the code.
#[test]
fn code_is_shown_as_it_is_read() {
    const NOPS: usize = 400_000;
    const CALLS: usize = 2_000;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let calls = "p();\n".repeat(CALLS);
    let source = format!(
        "int long_one(int x) {{ __asm__ volatile(\".rept {NOPS}\\n\\tnop\\n\\t.endr\"); return x; }}
         void (*volatile p)(void);\nvoid caller(void) {{\n{calls}}}\n"
    );
    std::fs::write(at("long.c"), source).unwrap();
    let built = command(&["cc", "-O1", "-shared", "-o"]).arg(at("long.lg")).arg(at("long.c")).status();
    assert!(built.unwrap().success());
    // All at once it took 200 bytes for each byte of code.
    let script = "ulimit -v 80000 && exec \"$0\" inspect \"$2\" $1 --disassemble=long_one | wc -l";
    for form in ["", "--json"] {
        let mut shell = Command::new("sh");
        let shown =
            shell.args(["-c", script, env!("CARGO_BIN_EXE_lockgate"), form]).arg(at("long.lg")).output();
        let shown = shown.unwrap();
        let lines: usize = String::from_utf8_lossy(&shown.stdout).trim().parse().unwrap();
        assert!(lines > NOPS, "{form}: {lines}: {}", String::from_utf8_lossy(&shown.stderr));
    }
    let long = at("long.lg");
    let all = lockgate(&["inspect", long.to_str().unwrap(), "--json", "--disassemble=caller"]).json();
    let units: Vec<_> = all["disassembly"].as_array().unwrap().iter().map(|line| &line["unit"]).collect();
    let of_calls = units.iter().filter(|unit| **unit == "U1").count();
    assert_eq!(of_calls, 6 * CALLS, "a unit has six instructions, wherever it stands");
}

/// Names that double with each letter are given up, each after some time: that is no longer taken when there are very many.
#[test]
fn names_of_exports_take_little_time_together() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let digit = |number: usize| char::from_digit(number as u32, 36).unwrap().to_ascii_uppercase();
    let doubled =
        (0..20).fold(String::from("1aIccE"), |name, number| format!("{name}S_IS{0}_S{0}_E", digit(number)));
    let shown = |many: usize| {
        let mut source = String::new();
        for number in 0..many {
            source += &format!("int e{number}(void) __asm__(\"_Z5f{number:04}{doubled}\");\n");
            source += &format!("int e{number}(void) {{ return {number}; }}\n");
        }
        source += "int last(void) __asm__(\"_Z9last_namev\"); int last(void) { return 1; }\n";
        std::fs::write(at("names.c"), source).unwrap();
        let built =
            command(&["cc", "-O1", "-shared", "-o"]).arg(at("names.lg")).arg(at("names.c")).status().unwrap();
        assert!(built.success());
        let shown = lockgate(&["inspect", at("names.lg").to_str().unwrap(), "--exports"]).out;
        assert!(shown.contains("_Z9last_namev"));
        shown.contains("last_name()")
    };
    assert!(shown(10) && !shown(1100));
}
