//! What a domain has said on its standard error, for the report of a call that it ends by `abort`: code that aborts says why before,
//! an assertion, a panic of Rust, an exception of C++. It goes nowhere else, and nothing is decided by it.

/// Bytes of what a module says of its end that are shown.
pub(super) const LONGEST_WORDS: usize = 400;

/// How much of what was said last is kept, and of one message, bytes.
const KEPT: usize = 1024;
const LONGEST: usize = 600;

/// How Rust's panics begin, and what stands before the place.
const THREAD: &[u8] = b"thread '";
const PANICKED: &[u8] = b" panicked at ";
/// Panics that say only that another one got to where none may go.
const SECOND: [&[u8]; 2] =
    [b"panic in a function that cannot unwind", b"panic in a destructor during cleanup"];
/// What follows a panic's message.
const NOTES: [&[u8]; 2] = [b"note: ", b"stack backtrace:"];
/// What Rust says when a panic goes on to be an abort.
const ENDS: [&[u8]; 4] = [
    b"thread '",
    b"thread caused ",
    b"thread panicked while ",
    b"fatal runtime error: failed to initiate panic",
];
/// How C++'s library begins.
const TERMINATE: &[u8] = b"terminate called";

/// The end of what a domain has written to its standard error.
#[derive(Default)]
pub(super) struct LastWords {
    tail: Vec<u8>,
    /// The last panic of Rust: what it writes behind its message may be long.
    panic: Vec<u8>,
    /// The message goes on.
    panics: bool,
    /// What the module wants the error to say instead.
    pub(super) words: Option<String>,
}

impl LastWords {
    /// Hears what is written.
    pub fn hear(&mut self, bytes: &[u8]) {
        let (bytes, end) = (&bytes[..bytes.len().min(KEPT)], &bytes[bytes.len().saturating_sub(KEPT)..]);
        let begins_line = self.tail.last().is_none_or(|&last| last == b'\n');
        self.tail.extend_from_slice(end);
        let over = self.tail.len().saturating_sub(KEPT);
        self.tail.drain(..over);
        if find(bytes, PANICKED).is_some() {
            let is_second = SECOND.iter().any(|second| find(bytes, second).is_some());
            self.panics = !is_second || self.panic.is_empty();
            if self.panics {
                let start = rfind(&self.tail, THREAD).unwrap_or(0);
                self.panic = self.tail[start..].to_vec();
            }
        } else if self.panics {
            self.panics = !NOTES.iter().any(|note| bytes.starts_with(note));
            if self.panics {
                self.panic.extend_from_slice(bytes);
            }
        }
        // Words that are none of a panic's: it was caught, and something else has happened since.
        if !self.panics && begins_line && is_news(bytes) {
            self.panic.clear();
        }
        self.panic.truncate(LONGEST);
    }

    /// Why it called `abort`, to stand behind that.
    pub fn reason(self) -> Option<String> {
        let said = || self.message().map(|said| format!("; its last message: {said}"));
        self.words.as_ref().map(|words| format!(": {words}")).or_else(said)
    }

    /// The last message, in one line: a panic if nothing was said since, else what C++ says of an exception, else the last line that is
    /// no note on the one before.
    fn message(&self) -> Option<String> {
        let said = match rfind(&self.tail, TERMINATE) {
            _ if !self.panic.is_empty() => &self.panic[..],
            Some(start) => &self.tail[start..],
            None => {
                let lines = || {
                    self.tail.split(|&byte| byte == b'\n').rev().filter(|line| !line.trim_ascii().is_empty())
                };
                let told = lines().find(|line| !begins_with(line, &NOTES));
                told.or_else(|| lines().next()).unwrap_or_default()
            }
        };
        let said = String::from_utf8_lossy(&said[..said.len().min(LONGEST)]);
        let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
        let line = lines.fold(String::new(), |text, line| match text.as_str() {
            "" => line.to_owned(),
            before if before.ends_with(':') => text + " " + line,
            _ => text + "; " + line,
        });
        (!line.is_empty()).then(|| lockgate_outside::printable(&line))
    }
}

/// Whether a line that begins so says something new: traces are indented.
fn is_news(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|byte| !byte.is_ascii_whitespace())
        && !begins_with(bytes, &NOTES)
        && !begins_with(bytes, &ENDS)
}

fn begins_with(bytes: &[u8], any: &[&[u8]]) -> bool {
    any.iter().any(|start| bytes.starts_with(start))
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn rfind(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).rposition(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::{KEPT, LONGEST, LastWords};

    fn said(writes: &[&str]) -> Option<String> {
        let mut words = LastWords::default();
        writes.iter().for_each(|write| words.hear(write.as_bytes()));
        words.message()
    }

    #[test]
    fn messages() {
        let panic = "\nthread 'main' (7) panicked at src/lib.rs:3:5:\nno such key\n";
        let second = "\nthread 'main' (7) panicked at core/src/panicking.rs:1:1:\npanic in a function that cannot unwind\n";
        let expected = "thread 'main' (7) panicked at src/lib.rs:3:5: no such key";
        let trace = "   0: some::function\n".repeat(200);
        let pieces = [
            "\nthread '",
            "main",
            "' (7)",
            " panicked at ",
            "src/lib.rs:3:5:\n",
            "no such ",
            "key",
            "\n",
            "note: run",
            " with",
        ];
        for (writes, expected) in [
            (
                &["loading\n", "Assertion failed: x > 0 (a.c: f: 3)\n"][..],
                "Assertion failed: x > 0 (a.c: f: 3)",
            ),
            (&["no newline"], "no newline"),
            (&[panic], expected),
            (
                &[
                    "log\n",
                    panic,
                    "note: run with `RUST_BACKTRACE=1`\n",
                    second,
                    "stack backtrace:\n",
                    &trace,
                ],
                expected,
            ),
            (&pieces, expected),
            (
                &[second],
                "thread 'main' (7) panicked at core/src/panicking.rs:1:1: panic in a function that cannot unwind",
            ),
            (
                &[
                    "terminate called after throwing an instance of '",
                    "std::runtime_error",
                    "'\n",
                    "  what():  ",
                    "no",
                    "\n",
                ],
                "terminate called after throwing an instance of 'std::runtime_error'; what():  no",
            ),
            (&["\x1b[2J\n"], "?[2J"),
            (
                &[
                    panic,
                    "note: run with `RUST_BACKTRACE=1`\n",
                    second,
                    "thread caused non-unwinding panic. aborting.\n",
                ],
                expected,
            ),
            (&[panic, "note: run with `RUST_BACKTRACE=1`\n", "the disk is full\n"], "the disk is full"),
            (
                &["memory allocation of ", "8", " bytes failed\n", "note: run with `RUST_BACKTRACE=1`\n"],
                "memory allocation of 8 bytes failed",
            ),
            (&["note: alone\n"], "note: alone"),
        ] {
            assert_eq!(said(writes).as_deref(), Some(expected), "{writes:?}");
        }
        assert_eq!(said(&[]), None);
        assert_eq!(said(&["\n", " \n"]), None);
    }

    /// Of a message in one long piece the beginning is kept.
    #[test]
    fn long_messages() {
        let message =
            said(&["thread 'a' (1)", " panicked at ", "a.rs:1:1:\n", &"0123456789".repeat(1000), "\n"])
                .unwrap();
        assert!(message.starts_with("thread 'a' (1) panicked at a.rs:1:1: 0123456789012"), "{message}");
    }

    /// However much is written, little of it is kept.
    #[test]
    fn little_is_kept() {
        let mut words = LastWords::default();
        for _ in 0..100 {
            words.hear(b"thread 'x' panicked at ");
            words.hear(&[b'x'; 10_000]);
        }
        assert!(words.tail.len() <= KEPT && words.panic.len() <= LONGEST);
        assert!(words.message().is_some_and(|message| message.len() <= 2 * LONGEST));
    }
}
