//! P2 outside the runtime and the emitted C clients (`tree.rs` has those): which files of the other crates, of the PostgreSQL extension and of the
//! bindings' runtimes follow a pointer, and how often. What a domain can write is not among that: it is copied by the runtime's routines, or by
//! `fetch.h` before a binding sees it. One more place is red here, until it has been looked at and counted.
use crate::tree::without_comments;
use hygiene::{files, root};
use std::fs;

/// Part of the tree, how its files end, what in them follows a pointer or makes one of a number, and the files that do, with the number of places.
struct Part {
    folder: &'static str,
    ends: &'static [&'static str],
    words: &'static [&'static str],
    /// The same, if it stands in one line with `unsafe`: methods of raw pointers have names that others have, too.
    unsafe_words: &'static [&'static str],
    expected: &'static [(&'static str, usize)],
}

/// In Rust only `*_sys.rs` has unsafe code (`unsafe_code_lives_in_named_files`); casts without it follow nothing.
const RUST: [&str; 12] = [
    "from_raw_parts",
    "from_ptr(",
    "Box::from_raw",
    "copy_nonoverlapping",
    "ptr::read",
    "ptr::write",
    "read_unaligned(",
    "write_unaligned(",
    "read_volatile(",
    "write_volatile(",
    "write_bytes(",
    "(*at)",
];
const METHODS: [&str; 4] = [".read()", ".write(", ".as_ref()", ".as_mut()"];

const PARTS: [Part; 6] = [
    // Arguments of the program's: what is in a domain is named by numbers, and copied by the runtime.
    Part {
        folder: "crates/lockgate-c/src",
        ends: &["_sys.rs"],
        words: &RUST,
        unsafe_words: &METHODS,
        expected: &[
            ("async_sys.rs", 1),
            ("dl_memory_sys.rs", 1),
            ("dl_sys.rs", 2),
            ("link_sys.rs", 2),
            ("principal_sys.rs", 1),
            ("remote_pointer_sys.rs", 1),
            ("request_sys.rs", 2),
            ("text_sys.rs", 5),
            ("value_sys.rs", 2),
        ],
    },
    // Buffers and texts of Python's own.
    Part {
        folder: "crates/lockgate-python/src",
        ends: &["_sys.rs"],
        words: &RUST,
        unsafe_words: &METHODS,
        expected: &[("buffer_sys.rs", 4), ("interpreter_sys.rs", 2)],
    },
    // Copies that the client in C has made.
    Part {
        folder: "crates/lockgate-stubs/runtime/rust",
        ends: &[".rs"],
        words: &RUST,
        unsafe_words: &METHODS,
        expected: &[("support_sys.rs", 3)],
    },
    // The same.
    Part {
        folder: "crates/lockgate-stubs/runtime/cpp",
        ends: &[".hpp"],
        words: &[
            "reinterpret_cast<",
            "const_cast<",
            "static_cast<const void *const *>",
            "memcpy(",
            "memmove(",
            "strlen(",
        ],
        unsafe_words: &[],
        expected: &[("lockgate_stubs.hpp", 17)],
    },
    // The same.
    Part {
        folder: "crates/lockgate-stubs/runtime/python",
        ends: &[".py", ".c"],
        words: &[
            "string_at(",
            "wstring_at(",
            "cast(",
            "memmove(",
            "from_address(",
            "in_dll(",
            ".contents[",
            "memcpy(",
        ],
        unsafe_words: &[],
        expected: &[("support.py", 9)],
    },
    // `domain_read`, `domain_take` and the gates read what is in a domain; the others what these have taken, and PostgreSQL's own.
    Part {
        folder: "postgres/src",
        ends: &[".c", ".h"],
        words: &["lg_memory_", "->base", " *)(", "*(", "memcpy(", "memmove("],
        unsafe_words: &[],
        expected: &[
            ("ahead.h", 3),
            ("domains.c", 3),
            ("exchange.h", 1),
            ("gates.c", 6),
            ("modules.c", 2),
            ("procedure.c", 1),
            ("registers.c", 2),
            ("registers.h", 1),
            ("rows.c", 2),
            ("types.c", 7),
            ("types.h", 7),
            ("variable.c", 5),
        ],
    },
];

#[test]
fn other_parts_follow_pointers_in_named_places() {
    let mut wrong = Vec::new();
    for part in &PARTS {
        let folder = root().join(part.folder);
        let mut found: Vec<(String, usize)> = Vec::new();
        for path in files(part.folder, part.ends) {
            let name = path.strip_prefix(&folder).expect("inside").display().to_string();
            let places = part.places(&fs::read_to_string(&path).expect("readable source"));
            if places > 0 {
                found.push((name, places));
            }
        }
        found.sort();
        let expected: Vec<(String, usize)> =
            part.expected.iter().map(|(name, places)| ((*name).to_owned(), *places)).collect();
        if found != expected {
            wrong.push(format!("{}: {found:?}, not {expected:?}", part.folder));
        }
    }
    assert!(wrong.is_empty(), "who follows pointers:\n{}", wrong.join("\n"));
}

impl Part {
    /// Lines of code that follow a pointer.
    fn places(&self, text: &str) -> usize {
        let code = without_comments(text);
        let code = code.lines().map(|line| line.split("//").next().unwrap_or_default());
        let has = |line: &str, words: &[&str]| words.iter().any(|word| line.contains(word));
        code.filter(|line| has(line, self.words) || line.contains("unsafe") && has(line, self.unsafe_words))
            .count()
    }
}

/// Crates that see what domains say and have no unsafe code at all cannot follow a pointer.
#[test]
fn crates_without_unsafe_code_say_so() {
    for name in ["programs", "syscall", "symbols", "verify", "split", "outside", "rewrite", "toolchain"] {
        let file = root().join(format!("crates/lockgate-{name}/src/lib.rs"));
        let text = fs::read_to_string(&file).expect("a root file");
        assert!(text.contains("#![forbid(unsafe_code)]"), "{}", file.display());
    }
}

/// Libraries that others' programs load believe no variable of the environment of a program with more rights than its caller: they ask
/// `lockgate_kernel::variable`, or beside `is_privileged`. (Commands are started by those who set their environment.)
#[test]
fn libraries_ask_the_environment_in_named_places() {
    const LIBRARIES: [&str; 9] =
        ["", "-c", "-kernel", "-outside", "-programs", "-python", "-signature", "-symbols", "-syscall"];
    const NAMED: [&str; 2] = ["lockgate-kernel/src/environment_sys.rs", "lockgate/src/dl/search.rs"];
    let crates = root().join("crates");
    let mut found = Vec::new();
    for library in LIBRARIES {
        for path in files(format!("crates/lockgate{library}/src"), &[".rs"]) {
            let text = fs::read_to_string(&path).expect("readable source");
            let asks = |line: &str| {
                let code = line.split("//").next().unwrap_or_default();
                ["env::var", "libc::getenv", "libc::environ"].iter().any(|word| code.contains(word))
            };
            if text.lines().take_while(|line| !line.contains("#[cfg(test)]")).any(asks) {
                found.push(path.strip_prefix(&crates).expect("inside").display().to_string());
            }
        }
    }
    found.sort();
    assert_eq!(found, NAMED, "who asks the environment");
}
