//! Each oracle on its corpus and near it: a bounded, seeded part of what `scripts/fuzz.sh` does.

use lockgate_fuzz::memory_sys::Counting;
use lockgate_fuzz::{TARGETS, Target};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

#[global_allocator]
static MEMORY: Counting = Counting;

/// No input takes this long, however busy the machine.
const HANG: Duration = Duration::from_secs(300);

/// One after the other: the memory that each needs is counted for the whole process.
#[test]
fn nothing_is_found_near_the_corpora() {
    for target in TARGETS {
        let corpus = target.corpus();
        let mut mutator = target.mutator(&corpus, 1);
        let (tell, told) = channel();
        let mut operations = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(move || watch(target, &told));
            let near = std::iter::repeat_with(|| mutator.input()).take(target.near);
            for input in corpus.iter().cloned().chain(near) {
                tell.send(input.clone()).expect("somebody watches");
                operations.push(target.execute(&input));
            }
            drop(tell);
            println!("{}: {} inputs", target.name, corpus.len() + target.near);
        });
        if target.name == "module" {
            // One operation is a module that was refused, as all are that were made for an earlier version of the code model.
            let called = operations[..corpus.len()].iter().filter(|operations| **operations > 1).count();
            assert!(called >= 10, "of {} modules in the corpus only {called} are called", corpus.len());
        }
    }
}

/// Aborts the test if an input takes too long, and says which.
fn watch(target: &Target, told: &std::sync::mpsc::Receiver<Vec<u8>>) {
    let mut last = Vec::new();
    loop {
        match told.recv_timeout(HANG) {
            Ok(input) => last = input,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                let hex: String = last.iter().map(|byte| format!("{byte:02x}")).collect();
                eprintln!("{}: not over after {HANG:?}: {hex}", target.name);
                std::process::abort();
            }
        }
    }
}

/// The files of `fuzz/` are those of the list, and corpora stay small.
#[test]
fn every_oracle_has_its_program_and_a_small_corpus() {
    const LARGEST: u64 = 200 << 10;
    let folder = |name: &str| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(name);
    let names = |path| {
        let entries = std::fs::read_dir(path).expect("a folder");
        let stem = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.expect("an entry").path().file_stem()?.to_str().map(str::to_owned)
        };
        entries.filter_map(stem).collect::<std::collections::BTreeSet<_>>()
    };
    let listed = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert_eq!(names(folder("fuzz_targets")), listed);
    assert_eq!(names(folder("corpus")), listed);
    for target in TARGETS {
        let size: u64 = target.corpus().iter().map(|input| input.len() as u64).sum();
        assert!(size <= LARGEST, "{}: {size} bytes", target.name);
        let program = std::fs::read_to_string(folder("fuzz_targets").join(target.name).with_extension("rs"));
        assert!(program.expect("a program").contains(&format!("\"{}\"", target.name)));
    }
}
