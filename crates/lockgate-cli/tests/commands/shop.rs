//! Runs `lockgate` and makes the modules that the tests share.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

/// What one command came to.
pub struct Ran {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    fn of(output: Output) -> Ran {
        Ran {
            status: output.status.code().expect("lockgate itself is never killed by a signal"),
            out: String::from_utf8(output.stdout).expect("text"),
            err: String::from_utf8(output.stderr).expect("text"),
        }
    }

    /// Checks status and standard output.
    #[track_caller]
    pub fn gives(&self, status: i32, out: &str) -> &Ran {
        assert_eq!((self.status, self.out.as_str()), (status, out), "standard error: {}", self.err);
        self
    }

    /// Checks status and parts of standard error.
    #[track_caller]
    pub fn fails(&self, status: i32, parts: &[&str]) -> &Ran {
        assert_eq!(self.status, status, "{}{}", self.out, self.err);
        for part in parts {
            assert!(self.err.contains(part), "{part:?} is not in: {}", self.err);
        }
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self
    }

    /// Standard output as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}{}", self.out, self.err))
    }
}

/// `lockgate` with `arguments`, in no particular folder.
pub fn command(arguments: &[impl AsRef<OsStr>]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockgate"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs `lockgate arguments…`.
pub fn lockgate(arguments: &[impl AsRef<OsStr>]) -> Ran {
    Ran::of(command(arguments).output().expect("lockgate starts"))
}

/// Compiles C to a module with `lockgate cc`.
pub fn build(source: &Path, module: &Path, arguments: &[&str]) {
    let ran = Ran::of(
        command(&["cc", "-g", "-O1", "-o"])
            .arg(module)
            .arg(source)
            .args(arguments)
            .output()
            .expect("lockgate starts"),
    );
    assert_eq!(ran.status, 0, "{}{}", ran.out, ran.err);
}

/// Modules made from `tests/programs`, once.
pub struct Modules {
    /// Functions, all but one with prototypes in the notes.
    pub library: PathBuf,
    /// A whole program.
    pub program: PathBuf,
}

/// Prototypes and names of `library.c`.
const EXPORTS: &[&str] = &[
    "double cube_root(double)",
    "float half(float)",
    "int divide(int, int)",
    "unsigned char low_byte(long)",
    "int negated(_Bool)",
    "char *shout(char *)",
    "unsigned long distance(const char *, const char *)",
    "struct { int x; double y; } point(int, double)",
    "void *same(void *)",
    "void nothing(void)",
    "int crash(int *)",
    "int recurse(int)",
    "void loop(void)",
    "void nap(void)",
    "void give_up(void)",
    "void leave(int)",
    "void say(const char *)",
    "int mount_nothing(void)",
    "skip", // noted from its debug information
    "unnoted",
];

pub static MODULES: LazyLock<Modules> = LazyLock::new(|| {
    let folder = support::shared_folder();
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let library = folder.join("library.lg");
    let exports: Vec<&str> = EXPORTS.iter().flat_map(|export| ["--export", export]).collect();
    build(&programs.join("library.c"), &library, &[&exports[..], &["-lm"]].concat());
    let program = folder.join("program.lg");
    build(&programs.join("program.c"), &program, &[]);
    Modules { library, program }
});

/// Path of the library as text.
pub fn library() -> &'static str {
    MODULES.library.to_str().expect("a path in UTF-8")
}

/// Path of the program as text.
pub fn program() -> &'static str {
    MODULES.program.to_str().expect("a path in UTF-8")
}
