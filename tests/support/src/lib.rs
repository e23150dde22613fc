//! What tests of several packages need.
#![forbid(unsafe_code)]

mod random;
mod registers_asm;

pub use random::Random;

use std::fmt::Display;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

/// `make test` names a file in this variable, empties it first and shows it last.
const FILE: &str = "LOCKGATE_SKIPPED";

/// Says that `what` was left out on this machine, and why: past the capture of a test's output, which is not shown when the test passes.
///
/// # Panics
/// If the file that `make test` shows cannot be written.
pub fn skipped(what: impl Display, why: impl Display) {
    let line = format!("SKIPPED {what}: {why}\n");
    // (Only the macros of the standard library are captured.)
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os(FILE) {
        let file = fs::OpenOptions::new().create(true).append(true).open(&path);
        // One write: lines of several programs do not mix.
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        written.unwrap_or_else(|error| panic!("{FILE}={}: {error}", path.display()));
    }
}

/// Whether there is a `program` on this machine, which setup does not install; says that `what` was left out if not.
///
/// # Panics
/// If the file that `make test` shows cannot be written.
pub fn is_there(program: &str, what: impl Display) -> bool {
    let there = Command::new(program).arg("--version").stdin(Stdio::null()).output().is_ok();
    if !there {
        skipped(what, format_args!("there is no {program}"));
    }
    there
}

/// Makes a program that a test starts: a copy, by a process of its own. What is open here for writing is open in each process, too, that another test
/// starts meanwhile, until that has become its program; Linux does not start a program that is open for writing.
///
/// # Panics
/// If it cannot be made.
pub fn copy_program(from: &Path, to: &Path) {
    let copied = Command::new("install").args(["-m", "755", "--"]).args([from, to]).status();
    assert!(copied.is_ok_and(|status| status.success()), "{}", to.display());
}

/// The same of a script.
///
/// # Panics
/// If it cannot be made.
pub fn write_script(path: &Path, text: &str) {
    let written = path.with_extension("text");
    fs::write(&written, text).unwrap_or_else(|error| panic!("{}: {error}", written.display()));
    copy_program(&written, path);
}

/// `make thorough` sets this variable: tests that take a part of their cases take all of them.
const THOROUGH: &str = "LOCKGATE_THOROUGH";

/// The part that another run took, to take it again.
const PART: &str = "LOCKGATE_PART";

/// Whether tests do all that they can, however long that takes (`make thorough`).
pub fn thorough() -> bool {
    std::env::var_os(THOROUGH).is_some()
}

/// The part of a test's cases that this run takes: another with each run, so that runs together take all of them; all at once in
/// `make thorough`.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    number: usize,
    of: usize,
}

impl Part {
    /// One in `of` of the cases of `what`. A failed test's output says how to take the same part again.
    ///
    /// # Panics
    /// If `LOCKGATE_PART` is no number, or `of` is 0.
    pub fn one_in(of: usize, what: impl Display) -> Part {
        if thorough() {
            return Part { number: 0, of: 1 };
        }
        let number = match std::env::var(PART) {
            Ok(number) => number.parse().unwrap_or_else(|_| panic!("{PART}={number} is no number")),
            // (A second is a new part, and there is nothing to keep between runs.)
            Err(_) => SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.as_secs()),
        };
        let number = usize::try_from(number % of as u64).expect("below a usize");
        println!("{what}: one case in {of}; the same ones with {PART}={number}, all with {THOROUGH}=1");
        Part { number, of }
    }

    /// Whether the case `index` is in it.
    pub fn has(self, index: usize) -> bool {
        index % self.of == self.number
    }

    /// Those of `cases` that are in it.
    pub fn among<I: IntoIterator>(self, cases: I) -> impl Iterator<Item = I::Item> {
        cases.into_iter().enumerate().filter_map(move |(index, case)| self.has(index).then_some(case))
    }
}

/// One of `cases` of `what` in each run, all in `make thorough`.
pub fn one_of<T, const N: usize>(cases: [T; N], what: impl Display) -> impl Iterator<Item = T> {
    Part::one_in(N, what).among(cases)
}

/// The user whose rights [`with_other_rights`] gives a program.
const OTHER: u32 = 65534;

/// Gives a program to another user, set-user-ID, and what else is named as it is; whether it then runs with that user's rights. Says that `what` was
/// left out if not: this user may not give files away, or the file system does not heed the bit.
///
/// # Panics
/// If the mode of a file cannot be set, or the file that `make test` shows cannot be written.
pub fn with_other_rights(program: &Path, belongings: &[&Path], what: impl Display) -> bool {
    use std::os::unix::fs::{PermissionsExt as _, chown};
    let folder = program.parent().expect("a program in a folder");
    let probe = folder.join("whose");
    copy_program("/usr/bin/id".as_ref(), &probe);
    let give = |path: &&Path| chown(path, Some(OTHER), None).is_ok();
    let given = belongings.iter().chain([&program, &probe.as_path()]).all(give);
    if !given {
        skipped(what, "this user may not give files to another");
        return false;
    }
    let set =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    set(folder, 0o755);
    set(program, 0o4755);
    set(&probe, 0o4755);
    let user = Command::new(&probe)
        .arg("-u")
        .output()
        .is_ok_and(|said| said.stdout == format!("{OTHER}\n").as_bytes());
    if !user {
        skipped(what, format_args!("set-user-ID programs in {} have no other rights", folder.display()));
    }
    user
}

/// A new folder for what all tests of this program share. Nothing that is static is dropped at a program's end; so what programs have left that
/// ended before goes now.
///
/// # Panics
/// If there cannot be one.
pub fn shared_folder() -> PathBuf {
    let program = std::env::current_exe().expect("the test program's path");
    // target/debug/deps/PROGRAM
    let target = program.ancestors().nth(3).expect("a program that cargo has built");
    let folders = target.join("tmp/shared");
    fs::create_dir_all(&folders).unwrap_or_else(|error| panic!("{}: {error}", folders.display()));
    for left in fs::read_dir(&folders).into_iter().flatten().flatten() {
        let process = left.file_name().into_string().unwrap_or_default();
        let process = process.split('-').next().unwrap_or_default();
        if !Path::new("/proc").join(process).exists() {
            // (Another program may do the same now.)
            let _ = fs::remove_dir_all(left.path());
        }
    }
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let own = folders.join(format!("{}-{number}", std::process::id()));
    let _ = fs::remove_dir_all(&own); // of a process that had this number before
    fs::create_dir(&own).unwrap_or_else(|error| panic!("{}: {error}", own.display()));
    own
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Output;

    fn child(name: &str, variable: &Path) -> Output {
        let own = std::env::current_exe().expect("the test program's path");
        let mut child = Command::new(own);
        child.args(["--ignored", "--nocapture", "--exact", name]).env(FILE, variable);
        let output = child.output().expect("the test program runs");
        assert!(output.status.success(), "{output:?}");
        output
    }

    #[test]
    fn what_is_skipped_is_seen_although_the_test_passes() {
        let file = shared_folder().join("skipped");
        let own = std::env::current_exe().expect("the test program's path");
        let mut child = Command::new(own);
        child.args(["--ignored", "--exact", "tests::child_that_skips"]).env(FILE, &file);
        let output = child.output().expect("the test program runs");
        assert!(output.status.success(), "{output:?}");
        let lines = "SKIPPED a part: there is no such thing\nSKIPPED another: the same\n";
        assert_eq!(String::from_utf8_lossy(&output.stderr), lines);
        assert_eq!(fs::read_to_string(&file).expect("the file"), lines);
    }

    #[test]
    #[ignore = "run by what_is_skipped_is_seen_although_the_test_passes"]
    fn child_that_skips() {
        skipped("a part", "there is no such thing");
        skipped("another", "the same");
    }

    #[test]
    fn parts_together_are_all_cases() {
        for of in 1..5 {
            let mut taken: Vec<usize> = Vec::new();
            for number in 0..of {
                let part = Part { number, of };
                taken.extend(part.among(0..20));
            }
            taken.sort_unstable();
            assert_eq!(taken, (0..20).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_part_is_taken_again_and_all_of_them_at_once() {
        let own = std::env::current_exe().expect("the test program's path");
        let part = |variables: &[(&str, &str)]| {
            let mut child = Command::new(&own);
            child.args(["--ignored", "--nocapture", "--exact", "tests::child_that_takes_a_part"]);
            child.env_remove(THOROUGH).env_remove(PART).envs(variables.iter().copied());
            let said =
                String::from_utf8(child.output().expect("the test program runs").stdout).expect("text");
            let line = said.lines().find(|line| line.starts_with("takes ")).map(str::to_owned);
            line.unwrap_or_else(|| panic!("{said}"))
        };
        assert_eq!(part(&[(PART, "6")]), "takes [2, 6]");
        assert_eq!(part(&[(PART, "6"), (THOROUGH, "1")]), "takes [0, 1, 2, 3, 4, 5, 6, 7]");
        assert_eq!(part(&[]).split(',').count(), 2);
    }

    #[test]
    #[ignore = "run by a_part_is_taken_again_and_all_of_them_at_once"]
    fn child_that_takes_a_part() {
        println!("takes {:?}", Part::one_in(4, "numbers").among(0..8).collect::<Vec<_>>());
    }

    #[test]
    fn shared_folders_go_when_the_next_program_asks() {
        let theirs = || {
            let output = child("tests::child_with_a_folder", Path::new("/dev/null"));
            let said = String::from_utf8(output.stdout).expect("text");
            let path = said.lines().find_map(|line| line.strip_prefix("folder ")).expect("a folder");
            PathBuf::from(path)
        };
        let (own, first) = (shared_folder(), theirs());
        assert!(first.is_dir() && own.is_dir());
        let second = theirs();
        assert!(!first.exists() && second.is_dir() && own.is_dir() && shared_folder() != own);
        let _ = fs::remove_dir_all(second);
    }

    #[test]
    #[ignore = "run by shared_folders_go_when_the_next_program_asks"]
    fn child_with_a_folder() {
        println!("folder {}", shared_folder().display());
    }
}
