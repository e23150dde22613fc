//! `lockgate stubs`, without the search for libclang in each process, or without any process.
#![allow(dead_code, reason = "each test program uses a part")]

use lockgate_stubs::Client;
use lockgate_stubs::header::{Source, libclang_sys};
use lockgate_toolchain::Tools;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, OnceLock};
use support::Part;

/// `lockgate`, which is told where libclang is: to look for it takes as long as to read a small header.
pub fn lockgate() -> Command {
    static LIBCLANG: OnceLock<PathBuf> = OnceLock::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockgate"));
    command.env("LIBCLANG_PATH", LIBCLANG.get_or_init(|| libclang_sys::path().expect("libclang")));
    command
}

/// What one reading came to.
pub struct Said {
    /// As the program's: 0; 1 if a function is refused; 2 if the header cannot be read.
    pub status: i32,
    /// The explanation.
    pub out: String,
    /// Why the header cannot be read.
    pub err: String,
    /// What is refused, and why.
    pub refused: String,
}

/// What `lockgate stubs HEADER -a ANNOTATIONS… --explain` says, by its own functions: to start and to load libclang takes the program longer than
/// a small header. The program itself says the same of one header in twelve.
///
/// # Panics
/// If it does not.
pub fn explained(header: &Path, annotations: &[&Path]) -> Said {
    static PROGRAM: LazyLock<Part> =
        LazyLock::new(|| Part::one_in(12, "headers that the program reads, too"));
    let said = read(header, annotations);
    let length = |path: &&Path| std::fs::read(path).map_or(0, |text| text.len());
    if PROGRAM.has([header].iter().chain(annotations).map(length).sum()) {
        let mut program = lockgate();
        program.arg("stubs").arg(header).arg("--explain");
        let output = program.args(annotations.iter().flat_map(|path| [Path::new("-a"), path])).output();
        let output = output.expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        let status = (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned());
        assert_eq!(status, (Some(said.status), said.out.clone()), "{errors}");
        assert!(errors.contains(&said.err), "{errors}\n{}", said.err);
    }
    said
}

/// The same, without the program.
pub fn read(header: &Path, annotations: &[&Path]) -> Said {
    let annotations = annotations.iter().map(|path| (*path).to_owned()).collect();
    let source = Source { header: header.to_owned(), annotations, ..Source::default() };
    let client = Client::of(&source, Path::new("/m.lg")).and_then(|mut client| {
        client.hold_against(&source, &inside())?;
        Ok(client)
    });
    match client {
        Ok(client) => {
            let refused: String = client.plan.refusals.iter().map(|refusal| format!("{refusal}\n")).collect();
            let status = i32::from(!refused.is_empty());
            Said { status, out: client.explain(), err: String::new(), refused }
        }
        Err(error) => Said { status: 2, out: String::new(), err: error.to_string(), refused: String::new() },
    }
}

/// By which arguments libclang finds the headers of the domain's C library.
fn inside() -> Vec<String> {
    static TOOLS: LazyLock<Tools> = LazyLock::new(|| Tools::find().expect("the tools"));
    let folders = TOOLS.header_folders();
    let folders = folders.iter().map(|folder| format!("-idirafter{}", folder.display()));
    std::iter::once("-nostdinc".to_owned()).chain(folders).collect()
}
