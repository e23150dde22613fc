//! `examples/stubs`, as its README says, and the plugin of docs/start/c.md. (The others are tested where their languages are.)

use crate::installed::{corpus, prefix};
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

/// The page's own commands, one after the other.
#[test]
fn a_plugin_has_an_interface_of_ones_own() {
    let page = include_str!("../../../docs/start/c.md");
    let (_, chapter) = page.split_once("\n## A plugin interface of your own\n").expect("the chapter");
    let lines = chapter.lines().take_while(|line| !line.starts_with("## "));
    let commands: String =
        lines.filter_map(|line| line.strip_prefix("    ")).map(|line| format!("{line}\n")).collect();
    let folder = tempfile::tempdir().expect("a scratch folder");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_lockgate")).parent().expect("a folder");
    let path = std::env::var("PATH").expect("a path");
    let mut shell = Command::new("sh");
    shell.args(["-eu", "-c", &commands]).current_dir(folder.path());
    shell.env("PATH", format!("{}:{path}", program.display()));
    shell.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig")).env("LD_LIBRARY_PATH", prefix().join("lib"));
    let output = shell.output().expect("it runs");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    let lines: Vec<&str> = out.lines().collect();
    let [_, one, report, two] = lines[..] else { panic!("{out}{err}") };
    assert_eq!((one, two), ("ONE", "TWO"), "{out}");
    assert!(report.contains("filter_line") && report.contains("upper.c:10"), "{out}");
}
