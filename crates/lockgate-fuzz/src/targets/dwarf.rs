//! Debug information as fault reports read it, from sections that say anything at all.

use crate::Target;
use crate::elf::{self, Section};
use arbitrary::Unstructured;
use lockgate::debug::{SourcePlace, Symbols};

/// See [`check`].
pub const TARGET: Target = Target {
    name: "dwarf",
    run: |input| check(input, |symbols, address| symbols.frames(address, ROOM)),
    longest: 4096,
    memory: 4 << 20,
    near: 10_000,
    tokens: &[
        b"\x02\0\x05\x08",
        b"\x11\x01",
        b"\x1d\x01",
        b"\x2e\x01",
        b"\xff\xff\xff\xff",
        b"\0\x09\x02",
        b"\x0c\x07\x08",
    ],
};

/// Stack that names may take.
const ROOM: usize = 1 << 20;

/// What finds the frames at an address.
pub type Frames = fn(&Symbols, u64) -> Vec<SourcePlace>;

/// Sections of a file, in the order in which an input has them.
pub const SECTIONS: [&str; 8] = [
    ".debug_line",
    ".debug_line_str",
    ".debug_info",
    ".debug_abbrev",
    ".debug_str",
    ".debug_rnglists",
    ".symtab",
    ".strtab",
];

/// Reads a file with these sections, and names some of its addresses. Returns how many.
///
/// # Panics
/// A place that cannot be shown, or a reader's panic (which a report would survive).
pub fn check(input: &[u8], frames: Frames) -> u64 {
    let mut input = Unstructured::new(input);
    let mut sections = Vec::new();
    for name in SECTIONS {
        let length = usize::from(input.arbitrary::<u16>().unwrap_or_default()).min(input.len());
        sections.push(section(name, input.bytes(length).unwrap_or_default()));
    }
    let file = elf::file(elf::SHARED, &sections);
    let symbols = unwinding_is_a_panic(|| Symbols::read(&file));
    const ADDRESSES: [u64; 8] = [0, 1, 0x10, 0x17, 0x1000, 0x1234, 1 << 40, u64::MAX];
    for address in ADDRESSES {
        let frames = frames(&symbols, address);
        let outermost = frames.last().expect("at least the address itself");
        assert_eq!(
            *outermost,
            SourcePlace { file: outermost.file.clone(), line: outermost.line, ..symbols.at(address, ROOM) }
        );
        for place in &frames {
            for text in [&place.function, &place.file].into_iter().flatten() {
                assert!(!text.chars().any(char::is_control), "{text:?}");
            }
            assert!(place.line != Some(0) && place.to_string().len() < 2000);
        }
    }
    ADDRESSES.len() as u64
}

/// Readers that see hostile bytes catch their own panics. Here those count.
fn unwinding_is_a_panic<T>(read: impl FnOnce() -> T) -> T {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    static PANICS: AtomicU64 = AtomicU64::new(0);
    static HOOK: std::sync::Once = std::sync::Once::new();
    HOOK.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PANICS.fetch_add(1, Relaxed);
            hook(info);
        }));
    });
    let before = PANICS.load(Relaxed);
    let value = read();
    assert_eq!(PANICS.load(Relaxed), before, "a reader panicked");
    value
}

/// As linkers write them.
fn section<'n>(name: &'n str, contents: &[u8]) -> Section<'n> {
    Section { name, kind: elf::PROGBITS, contents: contents.to_vec(), ..Section::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::controls::notices;

    #[test]
    fn a_reader_that_makes_lines_up_is_noticed() {
        notices(&TARGET, |input| {
            check(input, |symbols, address| {
                let mut frames = symbols.frames(address, ROOM);
                if let Some(line) = &mut frames[0].line {
                    *line = 0;
                }
                frames
            })
        });
    }
}
