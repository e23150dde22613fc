//! Functions of libraries that no module can have, and our own in their place.
//!
//! Rust's archives for musl have a `memmove` beside libc's, which copies backwards with the direction flag set. Nobody calls it where
//! libc has one, but it is there. A function is known by its name and by every byte, as a version of rustc has it.
//!
//! Boost.Context switches stacks in assembly, of which each version and each way to build it has its own. Its functions are known by their names,
//! and by being all that their object defines: the object is left without them, so that the linker takes those of the sysroot
//! (`sysroot/libc/fcontext.c`). So are libffi's, which return from a stack that they make of their caller's (`sysroot/libc/ffi.c`).

use crate::elf::{Object, Symbol, sym};
use crate::error::{Error, Reason};
use std::ops::Range;

/// What the name of compiler_builtins' `mem::memmove` holds, whatever the version makes of the rest.
const MEMMOVE: &str = "17compiler_builtins3mem7memmove";

/// The function as a version of rustc has it.
struct Known {
    code: &'static [u8],
    /// The part that copies backwards: from where rax and rsi are both ranges' starts, and rdx their length, to behind `cld`.
    backwards: Range<usize>,
}

const KNOWN: &[Known] =
    &[Known { code: RUSTC_1_88, backwards: 0x34..0x65 }, Known { code: RUSTC_1_95, backwards: 0x30..0x5f }];

/// `std; rep movsb; rep movsq; rep movsb; cld` where the ranges overlap, with a frame pointer.
const RUSTC_1_88: &[u8] = &[
    0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf9, 0x48, 0x29, 0xf1, 0x41, 0x89, 0xc1, 0x41,
    0xf7, 0xd9, 0x41, 0x83, 0xe1, 0x07, 0x4c, 0x39, 0xca, 0x4c, 0x0f, 0x42, 0xca, 0x49, 0x89, 0xd2, 0x4d,
    0x29, 0xca, 0x4d, 0x89, 0xd0, 0x49, 0xc1, 0xe8, 0x03, 0x41, 0x83, 0xe2, 0x07, 0x48, 0x39, 0xd1, 0x73,
    0x33, 0x48, 0x8d, 0x3c, 0x10, 0x48, 0xff, 0xcf, 0x48, 0x8d, 0x74, 0x16, 0xff, 0x4c, 0x89, 0xd1, 0xfd,
    0xf3, 0xa4, 0x48, 0x83, 0xee, 0x07, 0x48, 0x83, 0xef, 0x07, 0x4c, 0x89, 0xc1, 0xf3, 0x48, 0xa5, 0x45,
    0x85, 0xc9, 0x48, 0x83, 0xc6, 0x07, 0x48, 0x83, 0xc7, 0x07, 0x44, 0x89, 0xc9, 0xf3, 0xa4, 0xfc, 0x5d,
    0xc3, 0x4c, 0x89, 0xc9, 0x48, 0x89, 0xc7, 0xf3, 0xa4, 0x4c, 0x89, 0xc1, 0xf3, 0x48, 0xa5, 0x4c, 0x89,
    0xd1, 0xf3, 0xa4, 0x5d, 0xc3,
];

/// The same without.
const RUSTC_1_95: &[u8] = &[
    0x48, 0x89, 0xf8, 0x48, 0x89, 0xf9, 0x48, 0x29, 0xf1, 0x41, 0x89, 0xc1, 0x41, 0xf7, 0xd9, 0x41, 0x83,
    0xe1, 0x07, 0x4c, 0x39, 0xca, 0x4c, 0x0f, 0x42, 0xca, 0x49, 0x89, 0xd2, 0x4d, 0x29, 0xca, 0x4d, 0x89,
    0xd0, 0x49, 0xc1, 0xe8, 0x03, 0x41, 0x83, 0xe2, 0x07, 0x48, 0x39, 0xd1, 0x73, 0x30, 0x48, 0x8d, 0x3c,
    0x10, 0x48, 0xff, 0xcf, 0x48, 0x01, 0xd6, 0x48, 0xff, 0xce, 0x4c, 0x89, 0xd1, 0xfd, 0xf3, 0xa4, 0x48,
    0x83, 0xee, 0x07, 0x48, 0x83, 0xef, 0x07, 0x4c, 0x89, 0xc1, 0xf3, 0x48, 0xa5, 0x48, 0x83, 0xc6, 0x07,
    0x48, 0x83, 0xc7, 0x07, 0x44, 0x89, 0xc9, 0xf3, 0xa4, 0xfc, 0xc3, 0x4c, 0x89, 0xc9, 0x48, 0x89, 0xc7,
    0xf3, 0xa4, 0x4c, 0x89, 0xc1, 0xf3, 0x48, 0xa5, 0x4c, 0x89, 0xd1, 0xf3, 0xa4, 0xc3,
];

/// How each of them begins to copy backwards: `std; rep movsb`.
const STD: &[u8] = &[0xfd, 0xf3, 0xa4];

/// In the place of that part, byte by byte, with the same frame. rdx is not 0 there.
///
/// ```text
/// 1:  movzbl -1(%rsi,%rdx),%ecx
///     mov %cl,-1(%rax,%rdx)
///     dec %rdx
///     jnz 1b
///     jmp (behind the part)
/// ```
const LOOP: &[u8] =
    &[0x0f, 0xb6, 0x4c, 0x16, 0xff, 0x88, 0x4c, 0x10, 0xff, 0x48, 0xff, 0xca, 0x75, 0xf2, 0xeb];

/// Names of symbols that an object may define, and one that it must.
type Symbols = (&'static [&'static [u8]], Option<&'static [u8]>);

/// Functions that the sysroot has, by the objects that define nothing else, each with a name by which what it has is known to be of the kind.
const OF_THE_SYSROOT: [Symbols; 3] = [
    (&[b"jump_fcontext", b"make_fcontext", b"ontop_fcontext"], None),
    // Those of libffi 3.3 and later: before, the flags of ffi_call_unix64 had another meaning.
    (
        &[
            b"ffi_call_unix64",
            b"ffi_closure_unix64",
            b"ffi_closure_unix64_sse",
            b"ffi_go_closure_unix64",
            b"ffi_go_closure_unix64_sse",
            b"ffi_closure_unix64_alt",
            b"ffi_closure_unix64_sse_alt",
            b"trampoline_code_table",
        ],
        Some(b"ffi_closure_unix64_sse"),
    ),
    (
        &[b"ffi_call_win64", b"ffi_closure_win64", b"ffi_go_closure_win64", b"ffi_closure_win64_alt"],
        Some(b"ffi_call_win64"),
    ),
];

const SWITCHES: &str = "it switches stacks, which makecontext and swapcontext do in a domain";

/// Libraries whose assembly cannot be rewritten, each by a name that its object has: why, and what else they offer.
const INSTEAD: [(&[u8], &str, &str); 3] = [
    (b"co_swap_function", SWITCHES, "compile libco's ucontext.c in place of libco.c"),
    (b"_mco_switch", SWITCHES, "compile minicoro with -DMCO_USE_UCONTEXT"),
    (
        b"ffi_call_unix64",
        "it returns from a stack that it makes of its caller's",
        "take libffi 3.3 or later, whose assembly the sysroot's own code replaces",
    ),
];

/// What the code is filled up with.
const INT3: u8 = 0xcc;

/// Puts ours in the place of what no module can have. Returns the names of the functions.
///
/// # Errors
/// The function is there as no known version of rustc has it.
pub(crate) fn replace(file: &str, object: &mut Object) -> Result<Vec<String>, Error> {
    let mut names = left_to_the_sysroot(object);
    for symbol in object.symbols.iter().filter(|symbol| is_memmove(symbol)) {
        let section = symbol.section().and_then(|section| object.sections.get_mut(section));
        let Some(section) = section.filter(|section| section.is_code()) else { continue };
        let start = usize::try_from(symbol.value).unwrap_or(usize::MAX);
        let rest = section.data.get_mut(start..).unwrap_or_default();
        let known = KNOWN.iter().find(|known| rest.starts_with(known.code));
        if let Some(known) = known.filter(|_| section.relocs.is_empty()) {
            let part = &mut rest[known.backwards.clone()];
            let distance = part.len() - LOOP.len() - 1;
            part.fill(INT3);
            part[..LOOP.len()].copy_from_slice(LOOP);
            part[LOOP.len()] = distance as u8;
            names.push(symbol.display_name());
            continue;
        }
        let length = usize::try_from(symbol.size).unwrap_or(usize::MAX).min(rest.len());
        if let Some(at) = rest[..length].windows(STD.len()).position(|bytes| bytes == STD) {
            let reason = Reason::new(
                "the memmove of Rust's library copies backwards, in code that no tried version of rustc makes",
                "build with a version that was tried, such as rustc 1.88 or 1.95 (cargo +1.95)",
            );
            return Err(Error::at(file, &section.name, symbol.value + at as u64, reason));
        }
    }
    Ok(names)
}

fn is_memmove(symbol: &Symbol) -> bool {
    symbol.kind == sym::FUNC && String::from_utf8_lossy(&symbol.name).contains(MEMMOVE)
}

/// Why the object is refused, if it is, and what its library offers instead; [`None`] if that is not known.
pub(crate) fn instead(object: &Object) -> Option<Reason> {
    let has = |name: &[u8]| object.symbols.iter().any(|symbol| symbol.name == name && !symbol.is_undefined());
    let (_, why, remedy) = INSTEAD.iter().find(|(name, ..)| has(name))?;
    Some(Reason::new(*why, *remedy))
}

/// Makes the functions undefined that the sysroot has, if the object defines nothing else. Returns their names.
fn left_to_the_sysroot(object: &mut Object) -> Vec<String> {
    let is_defined = |symbol: &&mut Symbol| symbol.binding != sym::LOCAL && !symbol.is_undefined();
    let mut defined: Vec<&mut Symbol> = object.symbols.iter_mut().filter(is_defined).collect();
    let is_all = |(names, mark): &(&[&[u8]], Option<&[u8]>)| {
        defined.iter().all(|symbol| names.contains(&&*symbol.name))
            && mark.is_none_or(|mark| defined.iter().any(|symbol| *symbol.name == *mark))
    };
    if !OF_THE_SYSROOT.iter().any(is_all) {
        return Vec::new();
    }
    let names: Vec<String> = defined.iter().map(|symbol| symbol.display_name()).collect();
    for symbol in &mut defined {
        (symbol.shndx, symbol.value, symbol.size, symbol.kind) = (0, 0, 0, sym::NOTYPE);
    }
    for section in object.sections.iter_mut().filter(|section| !names.is_empty() && section.is_code()) {
        section.data.fill(INT3);
        section.relocs.clear();
    }
    names
}
