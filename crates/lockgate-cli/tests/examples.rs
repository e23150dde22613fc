//! `examples/stubs`, as its README says. (The others are tested where their languages are.)
#[path = "common/installed.rs"]
mod installed;

use installed::{corpus, prefix};
use lockgate_bench::command::done;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output, Stdio};

#[test]
fn a_makefile_protects_a_library() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    for entry in std::fs::read_dir(corpus().root().join("examples/stubs")).expect("the example").flatten() {
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).expect("a file");
    }
    let mut make = Command::new("make");
    make.arg(format!("LOCKGATE={}", env!("CARGO_BIN_EXE_lockgate"))).current_dir(folder.path());
    done(make.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig")).env_remove("MAKEFLAGS"))
        .expect("it makes both");

    let run = |program: &str, text: &str| -> Output {
        let mut command = Command::new(folder.path().join(program));
        command.current_dir(folder.path()).env("LD_LIBRARY_PATH", prefix().join("lib"));
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
        child.wait_with_output().expect("it ends")
    };
    let good = "width = 3\nheight = 4\n";
    let (plain, protected) = (run("plain", good), run("protected", good));
    assert_eq!(String::from_utf8_lossy(&plain.stdout), "width is 3\nheight is 4\n2 settings, width 3\n");
    assert_eq!((plain.status, plain.stdout), (protected.status, protected.stdout));
    let bad = "width = 3\nheight\n";
    assert_eq!(run("plain", bad).status.signal(), Some(11));
    let survived = run("protected", bad);
    assert_eq!(String::from_utf8_lossy(&survived.stdout), "these settings cannot be read\n");
    assert_eq!(survived.status.code(), Some(1));
}
