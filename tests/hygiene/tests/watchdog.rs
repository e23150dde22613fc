//! `scripts/watchdog.sh`, under which `make test` runs each test program: nothing changes for one that ends, and one that hangs is ended
//! with the name of the test and a backtrace.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Output};

fn watched(seconds: u32, program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/watchdog.sh");
    let mut command = Command::new(script);
    command.env("HANG", seconds.to_string()).arg(program).args(arguments);
    command.output().expect("the script runs")
}

#[test]
fn a_program_that_ends_is_left_alone() {
    let output = watched(600, "sh", &["-c", "echo said; echo complained >&2; exit 3"]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!((&*output.stdout, &*output.stderr), (&b"said\n"[..], &b"complained\n"[..]));
    // The program has no child that it did not start.
    let output =
        watched(600, "sh", &["-c", "read -r children </proc/$$/task/$$/children; echo \"[$children]\""]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "[]\n");
}

#[test]
fn child_processes_that_hang_end_with_the_tests_name_and_a_backtrace() {
    let own = std::env::current_exe().expect("the test program's path");
    let output = watched(2, own, &["--ignored", "--exact", "watchdog::child_that_hangs"]);
    assert_eq!(output.status.signal(), Some(9), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("not over after 2 seconds"), "{said}");
    assert!(said.contains("the test that hangs: watchdog::child_that_hangs\n"), "{said}");
    assert!(!said.contains("the test that hangs: watchdog::child_processes"), "{said}");
    // (gdb is among what `scripts/setup.sh` installs.)
    assert!(said.contains("child_that_hang") && said.contains("#0 "), "{said}");
    let sleeper = said.lines().find(|line| line.starts_with("process ") && line.ends_with("sleep 1000 "));
    let sleeper = sleeper.and_then(|line| line.split([' ', ':']).nth(1)).expect("what the test has started");
    // It ends with it; its number may live on as a zombie until its parent's parent looks.
    let state = || std::fs::read_to_string(format!("/proc/{sleeper}/stat")).unwrap_or_default();
    while state().contains(" (sleep) ") && !state().contains(" (sleep) Z ") {
        std::thread::yield_now();
    }
}

#[test]
#[ignore = "run by child_processes_that_hang_end_with_the_tests_name_and_a_backtrace"]
fn child_that_hangs() {
    let _ = Command::new("sleep").arg("1000").status();
}
