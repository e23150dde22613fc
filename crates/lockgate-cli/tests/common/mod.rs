//! A scratch folder and the `lockgate` program.
#![allow(dead_code, reason = "each test program uses a part")]

use lockgate::{CallError, FaultKind};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Where one test works.
pub struct Shop(tempfile::TempDir);

impl Shop {
    pub fn new() -> Shop {
        Shop(tempfile::tempdir().expect("a scratch folder"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).expect("the scratch folder is writable");
        path
    }

    /// A program of `tests/programs`.
    pub fn program(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name).with_extension("c")
    }

    /// A command that runs in the scratch folder.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.0.path());
        command
    }

    /// `lockgate COMMAND`.
    pub fn lockgate(&self, command: &str) -> Invocation {
        let mut lockgate = self.command(env!("CARGO_BIN_EXE_lockgate"));
        lockgate.arg(command);
        Invocation(lockgate)
    }
}

/// A call that needs a small part of its time limit, and may be made again: again, if a busy machine has let the limit pass.
pub fn in_time<T>(call: impl Fn() -> Result<T, CallError>) -> Result<T, CallError> {
    let ran_out = |error: &CallError| error.fault().is_some_and(|fault| fault.kind() == FaultKind::TimeOut);
    for _ in 0..1000 {
        match call() {
            Err(error) if ran_out(&error) => {}
            ended => return ended,
        }
    }
    panic!("no call ends within its time limit");
}

/// One run of `lockgate`.
pub struct Invocation(Command);

impl Invocation {
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.0.arg(argument);
        self
    }

    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.0.args(arguments);
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    pub fn stdout(mut self, file: std::fs::File) -> Self {
        self.0.stdout(file);
        self
    }

    pub fn output(mut self) -> Output {
        self.0.output().expect("lockgate runs")
    }

    /// Runs; it must succeed and say nothing.
    pub fn run_quietly(self) {
        let output = self.output();
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!((text(&output.stdout), text(&output.stderr)), (String::new(), String::new()));
    }

    /// Runs; it must fail. Its standard error.
    pub fn fail(self) -> String {
        let output = self.output();
        assert!(!output.status.success(), "it succeeded: {}", text(&output.stdout));
        text(&output.stderr)
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
