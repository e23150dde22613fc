//! A user of whose signals as many wait as may (RLIMIT_SIGPENDING) is sent no more of the kernel's: the library starts nevertheless.
use crate::common::own_test;
use lockgate::{LoadError, Module};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::process::Stdio;

/// Processes, and how many at a time: only where its thread is there in time could the library's start wait for a signal.
const PROCESSES: usize = 240;
const AT_ONCE: usize = 8;

#[test]
#[ignore = "run by the other test"]
fn starts() {
    setrlimit(Resource::Sigpending, Rlimit { current: Some(0), maximum: Some(0) }).expect("a lower limit");
    assert!(matches!(Module::from_bytes(b"no module"), Err(LoadError::Parse { .. })));
}

#[test]
fn the_library_starts_where_no_signal_can_be_sent() {
    for _ in 0..PROCESSES / AT_ONCE {
        let all: Vec<_> = (0..AT_ONCE)
            .map(|_| {
                let mut command = own_test("no_signals_left::starts");
                command.arg("--ignored").stdout(Stdio::null());
                command.spawn().expect("it starts")
            })
            .collect();
        for mut child in all {
            assert!(child.wait().expect("it ends").success());
        }
    }
}
