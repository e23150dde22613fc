//! Files that cannot be read or written.
use crate::commands::shop::{library, lockgate};
use std::process::Command;

#[test]
fn missing_files_are_named() {
    for command in [&["verify"][..], &["inspect"], &["call"], &["run"]] {
        let arguments =
            [command, &["/nowhere/m.lg"], if command == ["call"] { &["f"] } else { &[] }].concat();
        let status = if command == ["run"] { 125 } else { 2 };
        lockgate(&arguments).fails(status, &["cannot read /nowhere/m.lg", "No such file or directory"]);
    }
    lockgate(&["verify", "/"]).fails(2, &["cannot read /", "Is a directory"]);
}

#[test]
fn causes_are_told_once() {
    let err = lockgate(&["run", "/nowhere/m.lg"]).err;
    assert_eq!(err.matches("No such file").count(), 1, "{err}");
}

#[test]
fn unwritable_outputs_are_named() {
    lockgate(&["man", "/dev/null/man"]).fails(2, &["cannot write manual pages to /dev/null/man"]);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = crate::commands::shop::command(&["inspect", library()]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("cannot write to standard output") && err.contains("No space left"), "{err}");
}

/// `lockgate inspect m.lg | head -1` ends quietly.
#[test]
fn a_reader_that_leaves_is_no_error() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = crate::commands::shop::command(&["inspect", library(), "--disassemble"])
        .stdout(writer)
        .output()
        .unwrap();
    assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]));
}

/// No command waits for the other end of a pipe, reads a device to its end, or takes memory for a file that is larger than memory.
#[test]
fn what_is_no_file_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for name in ["pipe", "pipe.o", "pipe.h"] {
        assert!(Command::new("mkfifo").arg(at(name)).status().unwrap().success());
    }
    for name in ["large", "large.o", "large.h"] {
        // It takes no room.
        std::fs::File::create(at(name)).unwrap().set_len(1 << 42).unwrap();
    }
    std::os::unix::fs::symlink("/dev/zero", at("device")).unwrap();
    std::fs::write(at("main.c"), "int main(void) { return 0; }\n").unwrap();
    let module = library().to_owned();
    for (name, what) in [
        ("pipe", "not an ordinary file"),
        ("device", "not an ordinary file"),
        ("large", "the file has 4398046511104 bytes, at most 1073741824 are allowed"),
    ] {
        let file = at(name);
        let object = if name == "device" { file.clone() } else { at(&format!("{name}.o")) };
        let header = if name == "device" { file.clone() } else { at(&format!("{name}.h")) };
        let (output, main) = (at("output"), at("main.c"));
        for arguments in [
            &["verify", &file][..],
            &["inspect", &file],
            &["call", &file, "f"],
            &["run", &file],
            &["rewrite", &file, "-o", &output],
            &["link", &file, "-o", &output],
            &["link", "--verbatim", &file, "-o", &output],
            &["link", "--join", &file, &module, "-o", &output],
            &["cc", &object, "-o", &output],
            &["cc", &main, "--exports", &file, "-o", &output],
            &["cc", "--split", &main, &object, "-o", &output],
            &["stubs", &header, "-m", "m.lg", "-o", &output],
        ] {
            let mut command = Command::new("timeout");
            command.args(["30", env!("CARGO_BIN_EXE_lockgate")]).args(arguments);
            let ran = command.stdin(std::process::Stdio::null()).output().unwrap();
            let said = String::from_utf8_lossy(&ran.stderr);
            let status = if arguments[0] == "run" { 125 } else { 2 };
            assert_eq!(ran.status.code(), Some(status), "{arguments:?}: {said}");
            assert!(said.contains(what), "{arguments:?}: {said}");
        }
    }
}

/// Names of files and texts of modules are shown, and not obeyed: no escape sequences, no lines of their own.
#[test]
fn what_others_named_is_cleaned() {
    let folder = tempfile::tempdir().unwrap();
    let hostile = "\x1b]0;owned\x07\nlockgate: all is well\u{9b}2J";
    let source = folder.path().join("m.c");
    let text = "const char *title(void) { return \"\\033]0;owned\\007\\033[2Jred\\ttab\\nline\"; }\nint crash(int *p) { return *p; }\n";
    std::fs::write(&source, text).unwrap();
    let module = folder.path().join(format!("{hostile}.lg"));
    crate::commands::shop::build(
        &source,
        &module,
        &["--export", "const char *title(void)", "--export", "int crash(int *)"],
    );
    let module = module.to_str().unwrap();
    let missing = format!("{module}.nowhere");
    let damaged = folder.path().join(format!("{hostile}.damaged"));
    std::fs::write(&damaged, "x").unwrap();
    let damaged = damaged.to_str().unwrap();
    lockgate(&["call", module, "title"]).gives(0, "?]0;owned??[2Jred\ttab\nline\n");
    for arguments in [
        &["call", module, "crash", "0"][..],
        &["call", "--report", "line", module, "crash", "0"],
        &["call", module, "nowhere"],
        &["call", &missing, "crash", "0"],
        &["run", module],
        &["run", &missing],
        &["verify", module],
        &["verify", &missing],
        &["verify", damaged],
        &["inspect", module],
        &["inspect", module, "--disassemble=nowhere"],
        &["inspect", damaged],
        &["link", damaged, "-o", "/dev/null"],
        &["rewrite", damaged, "-o", "/dev/null"],
    ] {
        let ran = lockgate(arguments);
        let said = format!("{}{}", ran.out, ran.err);
        let obeyed = said.chars().find(|&c| c.is_control() && c != '\n' && c != '\t');
        assert_eq!(obeyed, None, "{arguments:?}: {said:?}");
        assert!(!said.lines().any(|line| line.starts_with("lockgate: all is well")), "{arguments:?}: {said}");
    }
}

/// A module does not take the place of what it is made of, under whatever name.
#[test]
fn nothing_is_written_over_its_own_input() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let source = "int f(void) { return 1; }\n";
    std::fs::write(at("f.c"), source).unwrap();
    std::fs::hard_link(at("f.c"), at("f.lg")).unwrap();
    assert_eq!(lockgate(&["cc", "-c", &at("f.c"), "-o", &at("f.o")]).status, 0);
    let object = std::fs::read(at("f.o")).unwrap();
    for arguments in [
        &["cc", &at("f.c"), "-o", &at("f.c"), "--export", "f"][..],
        &["cc", &at("f.c"), "-o", &at("f.lg"), "--export", "f"],
        &["link", &at("f.o"), "-o", &at("f.o"), "--export", "f"],
        &["rewrite", &at("f.o"), "-o", &at("f.o")],
    ] {
        let ran = lockgate(arguments);
        assert!(
            ran.status != 0 && ran.err.contains("give the output (-o) another name"),
            "{arguments:?}: {}",
            ran.err
        );
    }
    assert_eq!(std::fs::read_to_string(at("f.c")).unwrap(), source);
    assert_eq!(std::fs::read(at("f.o")).unwrap(), object);
}
