//! The build side as a whole: `lockgate link` of hostile objects and archives, with GNU ld behind the rewriter.
//!
//! A user who builds a module from objects of others must get a module that the verifier accepts, or a reason; at a price that has a limit
//! in time, memory and output; and find nothing else than that.

use crate::Target;
use crate::memory_sys::of_programs;
use lockgate_toolchain::{Error, Link, LinkOutcome, Sysroot, silent};
use lockgate_verify::{Module, verify};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The first byte says how the rest, an object or an archive, is linked.
pub const TARGET: Target = Target {
    name: "link",
    run: |input| run(input, |link, sysroot| link.run(sysroot, &silent)),
    longest: 16 << 10,
    // The sysroot's archives and the base are read, too.
    memory: 256 << 20,
    // Each starts the compiler and the linker.
    near: 40,
    tokens: &[
        b".note.lockgate\0",
        b".gnu.lto_\0",
        b".gnu.warning.\0",
        b".note.GNU-stack\0",
        b".init_array\0",
        b".tbss\0",
        b".bss\0",
        b".comment\0",
        b".group\0",
        b"_lg_init\0",
        b"_lg_main\0",
        b"main\0",
        b"memcpy\0",
        b"__libc\0",
        b"!<arch>\n",
        b"`\n",
        b"//              ",
        b"/               ",
    ],
};

/// Longest that a link may take on a machine that does much else; most bytes of the module, and of memory that a program needs which
/// the link has started.
const TIME: Duration = Duration::from_secs(20);
const OUTPUT: u64 = 192 << 20;
const PROGRAM: u64 = 1 << 30;
/// Most bytes of a message.
const MESSAGE: usize = 1 << 20;

struct Place {
    folder: tempfile::TempDir,
    sysroot: Sysroot,
    base: PathBuf,
}

/// Where objects are linked, and a base that they may join.
fn place() -> &'static Place {
    static PLACE: OnceLock<Place> = OnceLock::new();
    PLACE.get_or_init(|| {
        let sysroot = Sysroot::ensure(&silent).expect("the sysroot can be built");
        let folder = tempfile::tempdir().expect("a scratch folder");
        let base = folder.path().join("base.lg");
        // An archive without members: all of it is libc.
        let nothing = folder.path().join("nothing.a");
        std::fs::write(&nothing, "!<arch>\n").expect("the scratch folder is writable");
        let mut link = Link::new(&base);
        link.file(&nothing).and_then(|link| link.base(true).run(&sysroot, &silent)).expect("a base");
        Place { folder, sysroot, base }
    })
}

/// What links.
pub type Run = fn(&Link, &Sysroot) -> Result<LinkOutcome, Error>;

/// Links the input. Returns 1, or 2 if a module was made.
///
/// # Panics
/// What was made is no module; or it took too long, is too large, or is not all that was left.
pub fn run(input: &[u8], run: Run) -> u64 {
    let Some((&how, bytes)) = input.split_first() else { return 0 };
    let place = place();
    let folder = tempfile::tempdir_in(place.folder.path()).expect("a folder");
    let (file, output) = (folder.path().join("input.o"), folder.path().join("output.lg"));
    std::fs::write(&file, bytes).expect("the scratch folder is writable");
    let begun = Instant::now();
    let linked = prepared(how, &file, &output, place).and_then(|link| run(&link, &place.sysroot));
    let passed = begun.elapsed();
    assert!(passed < TIME, "it took {passed:?}");
    let most = of_programs();
    assert!(most <= PROGRAM, "a program needed {most} bytes of memory");
    let mut left: Vec<_> = std::fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    left.sort();
    match linked {
        Ok(_) => {
            assert_eq!(left, ["input.o", "output.lg"]);
            let module = std::fs::read(&output).expect("a module");
            assert!(module.len() as u64 <= OUTPUT, "{} bytes", module.len());
            let module = Module::parse(&module).unwrap_or_else(|error| panic!("no module: {error}"));
            verify(&module).unwrap_or_else(|rejection| panic!("a module that no host takes: {rejection}"));
            2
        }
        Err(error) => {
            assert_eq!(left, ["input.o"], "{error}");
            explained(&error);
            1
        }
    }
}

fn prepared(how: u8, file: &Path, output: &Path, place: &Place) -> Result<Link, Error> {
    let mut link = Link::new(output);
    let how = how % 8;
    if JOINING.contains(&how) {
        link.join(&place.base)?;
    }
    match how {
        VERBATIM => link.verbatim(file)?,
        _ => link.file(file)?,
    };
    link.gate("g")?;
    match how {
        // What archives hold is linked where it is asked for.
        3 | 4 | 6 => link.export("f")?,
        _ => link.export_all(true),
    };
    Ok(link)
}

/// Ways to link: into a module that joins the base; without the rewriter.
const JOINING: [u8; 2] = [5, 6];
const VERBATIM: u8 = 7;

/// A reason is a text of a length that a user reads. What the verifier rejects, the rewriter should not have made: but what
/// relocations of the input lead to is the input's affair, as it is in `rewriter`.
fn explained(error: &Error) {
    let text = error.to_string();
    assert!(!text.is_empty() && text.len() <= MESSAGE, "a message of {} bytes", text.len());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::controls::notices;

    #[test]
    fn a_linker_that_leaves_something_behind_is_noticed() {
        notices(&TARGET, |input| {
            run(input, |link, sysroot| {
                let outcome = link.run(sysroot, &silent)?;
                Err(Error::Usage(format!("{} bytes were written all the same", outcome.file_size)))
            })
        });
    }
}
