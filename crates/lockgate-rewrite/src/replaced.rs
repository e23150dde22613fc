//! Functions of distributed archives that no module can have, and our own in their place.
//!
//! Rust's archives for musl have a `memmove` beside libc's, which copies backwards with the direction flag set. Nobody calls it where
//! libc has one, but it is there. A function is known by its name and by every byte; any other that does the same is refused as before.

use crate::elf::{Object, sym};

/// A function, and what stands in its place.
struct Replaced {
    /// What its name holds, whatever the compiler's version makes of the rest.
    name: &'static str,
    was: &'static [u8],
    /// Shorter, without references to other code, and with the same frame at each instruction: none.
    becomes: &'static [u8],
}

const REPLACED: &[Replaced] =
    &[Replaced { name: "17compiler_builtins3mem7memmove", was: MEMMOVE_OF_RUST, becomes: MEMMOVE }];

/// compiler_builtins' `mem::memmove`, as rustc 1.95 has it: `std; rep movsb; rep movsq; rep movsb; cld` where the ranges overlap.
const MEMMOVE_OF_RUST: &[u8] = &[
    0x48, 0x89, 0xf8, 0x48, 0x89, 0xf9, 0x48, 0x29, 0xf1, 0x41, 0x89, 0xc1, 0x41, 0xf7, 0xd9, 0x41, 0x83,
    0xe1, 0x07, 0x4c, 0x39, 0xca, 0x4c, 0x0f, 0x42, 0xca, 0x49, 0x89, 0xd2, 0x4d, 0x29, 0xca, 0x4d, 0x89,
    0xd0, 0x49, 0xc1, 0xe8, 0x03, 0x41, 0x83, 0xe2, 0x07, 0x48, 0x39, 0xd1, 0x73, 0x30, 0x48, 0x8d, 0x3c,
    0x10, 0x48, 0xff, 0xcf, 0x48, 0x01, 0xd6, 0x48, 0xff, 0xce, 0x4c, 0x89, 0xd1, 0xfd, 0xf3, 0xa4, 0x48,
    0x83, 0xee, 0x07, 0x48, 0x83, 0xef, 0x07, 0x4c, 0x89, 0xc1, 0xf3, 0x48, 0xa5, 0x48, 0x83, 0xc6, 0x07,
    0x48, 0x83, 0xc7, 0x07, 0x44, 0x89, 0xc9, 0xf3, 0xa4, 0xfc, 0xc3, 0x4c, 0x89, 0xc9, 0x48, 0x89, 0xc7,
    0xf3, 0xa4, 0x4c, 0x89, 0xc1, 0xf3, 0x48, 0xa5, 0x4c, 0x89, 0xd1, 0xf3, 0xa4, 0xc3,
];

/// The same, byte by byte where the destination lies behind the source:
///
/// ```text
///     mov %rdi,%rax
///     mov %rdx,%rcx
///     mov %rdi,%r8
///     sub %rsi,%r8
///     cmp %rdx,%r8
///     jb 1f
///     rep movsb
///     ret
/// 1:  movzbl -1(%rsi,%rcx),%edx
///     mov %dl,-1(%rdi,%rcx)
///     dec %rcx
///     jnz 1b
///     ret
/// ```
const MEMMOVE: &[u8] = &[
    0x48, 0x89, 0xf8, 0x48, 0x89, 0xd1, 0x49, 0x89, 0xf8, 0x49, 0x29, 0xf0, 0x49, 0x39, 0xd0, 0x72, 0x03,
    0xf3, 0xa4, 0xc3, 0x0f, 0xb6, 0x54, 0x0e, 0xff, 0x88, 0x54, 0x0f, 0xff, 0x48, 0xff, 0xc9, 0x75, 0xf2,
    0xc3,
];

/// What the code is filled up with.
const INT3: u8 = 0xcc;

/// Puts ours in the place of functions that no module can have. Returns their names.
pub(crate) fn replace(object: &mut Object) -> Vec<String> {
    let mut names = Vec::new();
    for symbol in object.symbols.iter().filter(|symbol| symbol.kind == sym::FUNC) {
        let name = String::from_utf8_lossy(&symbol.name);
        let Some(replaced) = REPLACED.iter().find(|replaced| name.contains(replaced.name)) else { continue };
        let section = symbol.section().and_then(|section| object.sections.get_mut(section));
        let Some(section) = section.filter(|section| section.is_code() && section.relocs.is_empty()) else {
            continue;
        };
        let start = symbol.value as usize;
        let code = start.checked_add(replaced.was.len()).and_then(|end| section.data.get_mut(start..end));
        let Some(code) = code.filter(|code| *code == replaced.was) else { continue };
        code.fill(INT3);
        code[..replaced.becomes.len()].copy_from_slice(replaced.becomes);
        names.push(symbol.display_name());
    }
    names
}
