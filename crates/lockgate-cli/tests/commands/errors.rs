//! Files that cannot be read or written.
use crate::shop::{library, lockgate};

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
    let output = crate::shop::command(&["inspect", library()]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("cannot write to standard output") && err.contains("No space left"), "{err}");
}

/// `lockgate inspect m.lg | head -1` ends quietly.
#[test]
fn a_reader_that_leaves_is_no_error() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output =
        crate::shop::command(&["inspect", library(), "--disassemble"]).stdout(writer).output().unwrap();
    assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]));
}
