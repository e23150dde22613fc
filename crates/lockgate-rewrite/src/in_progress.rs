//! What a language's library keeps of the exceptions and panics that are in progress on a thread. A call that is ended in its midst leaves that as it
//! is; the thread's next call is to begin with what a new thread has. So the object that has it gets a table of where it is, which
//! `sysroot/start/thread.c` reads (`_lg_thread_mend`).

use crate::elf::{Object, Reloc, Section, reloc, shf, sht, sym};

/// What the name of a thread-local variable holds that is zeros on a new thread: of Rust's std, how many panics there are, and whether one is
/// in its hook, whatever the version makes of the rest of the name; of the handler of `std::terminate` (`sysroot/c++/terminate.cpp`), whether the
/// thread is in there.
const VARIABLES: [&str; 2] = ["11panic_count17LOCAL_PANIC_COUNT", "_lg_terminating"];

/// The function of C++'s libraries that returns where the exceptions are which are caught and thrown: the C++ ABI says what lies there.
const FUNCTION: &[u8] = b"__cxa_get_globals_fast";

/// The table: an entry is where it is, in four bytes, from the thread pointer or from there on, and the size of a variable, or 0 for the function.
const TABLE: &str = ".lockgate.in_progress";
const ENTRY: usize = 8;

/// No variable of the kind is larger, bytes.
const MOST: u64 = 64;

/// Adds the table to an object that defines any of them, before its code is looked at: the function is called by its address.
pub(crate) fn list(object: &mut Object) {
    let mut data = Vec::new();
    let mut relocs = Vec::new();
    for (number, symbol) in (0..).zip(&object.symbols) {
        let Some(section) = symbol.section().and_then(|section| object.sections.get(section)) else {
            continue;
        };
        let is_variable = symbol.kind == sym::TLS
            && section.kind == sht::NOBITS
            && (1..=MOST).contains(&symbol.size)
            && VARIABLES.iter().any(|name| String::from_utf8_lossy(&symbol.name).contains(name));
        let is_function = symbol.kind == sym::FUNC && section.is_code() && symbol.name == FUNCTION;
        let (kind, size) = match (is_variable, is_function) {
            (true, _) => (reloc::TPOFF32, symbol.size as u32),
            (_, true) => (reloc::PC32, 0),
            _ => continue,
        };
        relocs.push(Reloc { offset: data.len() as u64, symbol: number, kind, addend: 0 });
        data.extend([0; ENTRY - size_of::<u32>()]);
        data.extend(size.to_le_bytes());
    }
    if relocs.is_empty() {
        return;
    }
    let index = object.sections.len();
    object.sections.push(Section {
        name: TABLE.into(),
        kind: sht::PROGBITS,
        flags: shf::ALLOC,
        align: 4,
        data,
        relocs,
        ..Section::default()
    });
    object.ensure_reloc_section(index);
}
