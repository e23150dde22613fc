//! One server for the tests of a program, and the modules of `postgres/test/modules`.
#![allow(dead_code, reason = "each test program uses a part")]

use lockgate_postgres::{Installation, Server, module, source};
use lockgate_toolchain::{Link, Sysroot, silent};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;
use tempfile::TempDir;

/// PostgreSQL with the extension.
pub fn installation() -> &'static Installation {
    static INSTALLATION: OnceLock<Installation> = OnceLock::new();
    INSTALLATION.get_or_init(|| Installation::new().unwrap())
}

/// The server that all tests of the program share. It is stopped by [`Stop`].
pub fn server() -> &'static Server<'static> {
    static SERVER: OnceLock<Server<'static>> = OnceLock::new();
    SERVER.get_or_init(|| Server::start(installation(), "").unwrap())
}

/// While it lives, a test may take this long.
#[must_use]
pub struct Watchdog {
    /// Its end tells the thread that waits for it.
    _end: Sender<()>,
}

/// For functions that never end where the protection is missing: the test program is aborted then, after far longer than any test takes.
pub fn watchdog(test: &str) -> Watchdog {
    const LIMIT: Duration = Duration::from_secs(600);
    let (_end, ended) = channel();
    let test = test.to_owned();
    std::thread::spawn(move || {
        if ended.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
            eprintln!("{test}: not over after {LIMIT:?}");
            std::process::abort();
        }
    });
    Watchdog { _end }
}

/// A folder with modules, readable by everybody: `types.lg`, `rows.lg`, `queries.lg`, `triggers.lg`, `hostile.lg`; `stranger.lg`, which imports what there is not; `forged.lg`,
/// in which somebody has put a system call.
pub fn modules() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let make = || {
        let folder = tempfile::Builder::new().prefix("modules-").tempdir_in(installation().folder()).unwrap();
        fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        for name in ["types", "rows", "queries", "triggers", "hostile"] {
            module(&source(name), folder.path()).unwrap();
        }
        stranger(folder.path());
        forge(&folder.path().join("types.lg"), &folder.path().join("forged.lg"));
        folder
    };
    FOLDER.get_or_init(make).path()
}

/// A module that differs from `types.lg` in what `counted()` returns: 1000 more.
pub fn changed_types() -> &'static PathBuf {
    static MODULE: OnceLock<PathBuf> = OnceLock::new();
    let make = || {
        let text = fs::read_to_string(source("types")).unwrap();
        built("changed", &text.replace("return calls; }", "return calls + 1000; }"))
    };
    MODULE.get_or_init(make)
}

/// The module of a source, in a file that everybody can read.
pub fn built(name: &str, source: &str) -> PathBuf {
    let file = modules().join(name).with_extension("c");
    fs::write(&file, source).unwrap();
    module(&file, modules()).unwrap()
}

fn stranger(folder: &Path) {
    let sysroot = Sysroot::ensure(&silent).unwrap();
    let object = folder.join("stranger.o");
    let mut compiler = sysroot.tools().compiler();
    assert!(compiler.arg("-c").arg(source("stranger")).arg("-o").arg(&object).status().unwrap().success());
    let mut link = Link::new(folder.join("stranger.lg"));
    link.file(&object).unwrap().export_all(true);
    link.gate("int host_secret(void)").unwrap();
    link.run(&sysroot, &silent).unwrap();
}

/// Puts `syscall` behind the first label.
fn forge(from: &Path, to: &Path) {
    const LABEL: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
    let mut bytes = fs::read(from).unwrap();
    let at = bytes.windows(4).position(|window| window == LABEL).unwrap();
    bytes[at + 4..at + 6].copy_from_slice(&[0x0f, 0x05]);
    fs::write(to, bytes).unwrap();
}
