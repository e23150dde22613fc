//! Oracles, by name.

use crate::memory_sys;
use crate::mutate::Mutator;
use std::path::{Path, PathBuf};

/// One oracle.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name: of its file in `fuzz/fuzz_targets` and of its folder in `fuzz/corpus`.
    pub name: &'static str,
    /// Lets the part work on an input. Returns how many operations it came to: calls, lines, modules.
    ///
    /// # Panics
    /// The outcome is wrong.
    pub run: fn(&[u8]) -> u64,
    /// Longest useful input, bytes.
    pub longest: usize,
    /// Most memory that it may need: this, and [`PER_BYTE`] for each byte of the input.
    pub memory: usize,
    /// Inputs near the corpus that `make test` tries: a second or two.
    pub near: usize,
    /// Words of the format.
    pub tokens: &'static [&'static [u8]],
}

/// See [`Target::memory`].
pub const PER_BYTE: usize = 1024;

impl Target {
    /// Runs it, and looks at the memory that it needed.
    ///
    /// # Panics
    /// The outcome is wrong.
    pub fn execute(&self, input: &[u8]) -> u64 {
        let mut operations = 0;
        let peak = memory_sys::peak(|| operations = (self.run)(input));
        let limit = self.memory + PER_BYTE * input.len();
        assert!(
            peak <= limit,
            "{} bytes of input needed {peak} bytes of memory (at most {limit})",
            input.len()
        );
        operations
    }

    /// Where its corpus lies.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(self.name)
    }

    /// Its corpus, in the order of the files' names.
    ///
    /// # Panics
    /// It cannot be read, or is empty.
    #[must_use]
    pub fn corpus(&self) -> Vec<Vec<u8>> {
        let folder = self.folder();
        let entries =
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder").path()).collect();
        paths.sort();
        let corpus: Vec<_> = paths.iter().map(|path| std::fs::read(path).expect("a file")).collect();
        assert!(!corpus.is_empty(), "{}: no inputs", folder.display());
        corpus
    }

    /// `number` inputs near the corpus; the same for the same seed.
    #[must_use]
    pub fn mutator<'c>(&self, corpus: &'c [Vec<u8>], seed: u64) -> Mutator<'c> {
        Mutator::new(corpus, self.tokens, self.longest, seed)
    }
}

/// Controls: an oracle that notices nothing proves nothing.
#[cfg(test)]
pub(crate) mod controls {
    use super::Target;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Panics unless `sabotaged`, the oracle over a part that was broken on purpose, objects to some input of the corpus or near it.
    #[track_caller]
    pub(crate) fn notices(target: &Target, sabotaged: impl Fn(&[u8]) -> u64) {
        const NEAR: usize = 2000;
        let corpus = target.corpus();
        let mut mutator = target.mutator(&corpus, 1);
        let near = (0..NEAR).map(|_| mutator.input());
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| ()));
        let noticed = corpus
            .iter()
            .cloned()
            .chain(near)
            .any(|input| catch_unwind(AssertUnwindSafe(|| sabotaged(&input))).is_err());
        std::panic::set_hook(hook);
        assert!(noticed, "{}: the oracle noticed nothing", target.name);
    }
}
