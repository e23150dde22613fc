//! Functions of libraries that no module can have, and our own in their place.
//!
//! Rust's archives for musl have a `memmove` beside libc's, which copies backwards with the direction flag set: no code calls it where
//! libc has one, but it is there. And their `fma`, which `f64::mul_add` and `cbrt` take, has a way for processors that have FMA4 and no FMA3, on none
//! of which a domain runs. A function is known by its name and by every byte, as a version of rustc has it.
//!
//! Boost.Context switches stacks in assembly, of which each version and each way to build it has its own. Its functions are known by their names,
//! and by being all that their object defines: the object is left without them, so that the linker takes those of the sysroot
//! (`sysroot/libc/fcontext.c`). So are libffi's, which return from a stack that they make of their caller's (`sysroot/libc/ffi.c`).

use crate::elf::{Object, Symbol, sym};
use crate::error::{Error, Reason};
use std::ops::Range;

/// A function of Rust's archives that has what no module can have.
struct Function {
    /// What its name holds, whatever a version makes of the rest.
    name: &'static str,
    /// The code as versions of rustc have it, and the part that goes.
    known: &'static [(&'static [u8], Range<usize>)],
    /// How each such part begins.
    sign: &'static [u8],
    /// What comes in its place, and is filled up with what does nothing.
    ours: &'static [u8],
    /// Why it is refused where it is otherwise.
    why: &'static str,
}

const FUNCTIONS: [Function; 3] = [
    Function {
        name: "17compiler_builtins3mem7memmove",
        // From where rax and rsi are both ranges' starts, and rdx their length, to behind `cld`.
        known: &[(MEMMOVE_1_88, 0x34..0x65), (MEMMOVE_1_95, 0x30..0x5f)],
        // `std; rep movsb`
        sign: &[0xfd, 0xf3, 0xa4],
        ours: LOOP,
        why: "the memmove of Rust's library copies backwards, in code that no tried version of rustc makes",
    },
    fma(
        "4arch3x863fma13fma_with_fma4",
        &[(FMA_1_88, 4..10), (FMA_1_95, 0..6)],
        &[0xc4, 0xe3, 0xf9, 0x6b],
        FMA3,
    ),
    fma(
        "4arch3x863fma14fmaf_with_fma4",
        &[(FMAF_1_88, 4..10), (FMAF_1_95, 0..6)],
        &[0xc4, 0xe3, 0xf9, 0x6a],
        FMAF3,
    ),
];

const fn fma(
    name: &'static str,
    known: &'static [(&'static [u8], Range<usize>)],
    sign: &'static [u8],
    ours: &'static [u8],
) -> Function {
    let why =
        "the fma of Rust's library has an instruction of FMA4, in code that no tried version of rustc makes";
    Function { name, known, sign, ours, why }
}

/// `std; rep movsb; rep movsq; rep movsb; cld` where the ranges overlap, with a frame pointer.
const MEMMOVE_1_88: &[u8] = &[
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
const MEMMOVE_1_95: &[u8] = &[
    0x48, 0x89, 0xf8, 0x48, 0x89, 0xf9, 0x48, 0x29, 0xf1, 0x41, 0x89, 0xc1, 0x41, 0xf7, 0xd9, 0x41, 0x83,
    0xe1, 0x07, 0x4c, 0x39, 0xca, 0x4c, 0x0f, 0x42, 0xca, 0x49, 0x89, 0xd2, 0x4d, 0x29, 0xca, 0x4d, 0x89,
    0xd0, 0x49, 0xc1, 0xe8, 0x03, 0x41, 0x83, 0xe2, 0x07, 0x48, 0x39, 0xd1, 0x73, 0x30, 0x48, 0x8d, 0x3c,
    0x10, 0x48, 0xff, 0xcf, 0x48, 0x01, 0xd6, 0x48, 0xff, 0xce, 0x4c, 0x89, 0xd1, 0xfd, 0xf3, 0xa4, 0x48,
    0x83, 0xee, 0x07, 0x48, 0x83, 0xef, 0x07, 0x4c, 0x89, 0xc1, 0xf3, 0x48, 0xa5, 0x48, 0x83, 0xc6, 0x07,
    0x48, 0x83, 0xc7, 0x07, 0x44, 0x89, 0xc9, 0xf3, 0xa4, 0xfc, 0xc3, 0x4c, 0x89, 0xc9, 0x48, 0x89, 0xc7,
    0xf3, 0xa4, 0x4c, 0x89, 0xc1, 0xf3, 0x48, 0xa5, 0x4c, 0x89, 0xd1, 0xf3, 0xa4, 0xc3,
];

/// In the place of the part that copies backwards, byte by byte, with the same frame. rdx is not 0 there.
///
/// ```text
/// 1:  movzbl -1(%rsi,%rdx),%ecx
///     mov %cl,-1(%rax,%rdx)
///     dec %rdx
///     jnz 1b
/// ```
const LOOP: &[u8] = &[0x0f, 0xb6, 0x4c, 0x16, 0xff, 0x88, 0x4c, 0x10, 0xff, 0x48, 0xff, 0xca, 0x75, 0xf2];

/// `vfmaddsd %xmm2,%xmm1,%xmm0,%xmm0; ret`, with a frame pointer and without.
const FMA_1_88: &[u8] = &[0x55, 0x48, 0x89, 0xe5, 0xc4, 0xe3, 0xf9, 0x6b, 0xc2, 0x10, 0x5d, 0xc3];
const FMA_1_95: &[u8] = &[0xc4, 0xe3, 0xf9, 0x6b, 0xc2, 0x10, 0xc3];
/// `vfmaddss %xmm2,%xmm1,%xmm0,%xmm0; ret`, likewise.
const FMAF_1_88: &[u8] = &[0x55, 0x48, 0x89, 0xe5, 0xc4, 0xe3, 0xf9, 0x6a, 0xc2, 0x10, 0x5d, 0xc3];
const FMAF_1_95: &[u8] = &[0xc4, 0xe3, 0xf9, 0x6a, 0xc2, 0x10, 0xc3];
/// `vfmadd213sd %xmm2,%xmm1,%xmm0`: the same number.
const FMA3: &[u8] = &[0xc4, 0xe2, 0xf1, 0xa9, 0xc2];
/// `vfmadd213ss %xmm2,%xmm1,%xmm0`
const FMAF3: &[u8] = &[0xc4, 0xe2, 0x71, 0xa9, 0xc2];

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

/// Libraries whose assembly switches stacks, each by a name that its object has, and what else they offer. They are refused though each of their
/// instructions can be rewritten: the first switch would end the call.
const SWITCHING: [(&[u8], &str); 2] = [
    (b"co_swap_function", "compile libco's ucontext.c in place of libco.c"),
    (
        b"_mco_switch",
        "compile minicoro with -DMCO_USE_UCONTEXT, and without the check of the stack in mco_yield (docs/building-modules.md, \
         \"From C sources\")",
    ),
];

/// libffi, where its assembly cannot be rewritten: why, and what else there is.
const OLD_LIBFFI: (&[u8], &str, &str) = (
    b"ffi_call_unix64",
    "it returns from a stack that it makes of its caller's",
    "take libffi 3.3 or later, whose assembly the sysroot's own code replaces",
);

/// What fills code up where it is not run.
const INT3: u8 = 0xcc;
const NOP: u8 = 0x90;

/// Puts ours in the place of what no module can have. Returns the names of the functions.
///
/// # Errors
/// The function is there as no known version of rustc has it.
pub(crate) fn replace(file: &str, object: &mut Object) -> Result<Vec<String>, Error> {
    let mut names = left_to_the_sysroot(object);
    for symbol in object.symbols.iter().filter(|symbol| symbol.kind == sym::FUNC) {
        let name = String::from_utf8_lossy(&symbol.name);
        let Some(function) = FUNCTIONS.iter().find(|function| name.contains(function.name)) else { continue };
        let section = symbol.section().and_then(|section| object.sections.get_mut(section));
        let Some(section) = section.filter(|section| section.is_code()) else { continue };
        let start = usize::try_from(symbol.value).unwrap_or(usize::MAX);
        let rest = section.data.get_mut(start..).unwrap_or_default();
        let known = function.known.iter().find(|(code, _)| rest.starts_with(code));
        if let Some((_, part)) = known.filter(|_| section.relocs.is_empty()) {
            let part = &mut rest[part.clone()];
            part.fill(NOP);
            part[..function.ours.len()].copy_from_slice(function.ours);
            names.push(symbol.display_name());
            continue;
        }
        let length = usize::try_from(symbol.size).unwrap_or(usize::MAX).min(rest.len());
        if let Some(at) = rest[..length].windows(function.sign.len()).position(|bytes| bytes == function.sign)
        {
            let remedy = "build with a version that was tried, such as rustc 1.88 or 1.95 (cargo +1.95)";
            let reason = Reason::new(function.why, remedy);
            return Err(Error::at(file, &section.name, symbol.value + at as u64, reason));
        }
    }
    Ok(names)
}

/// Why the object is refused, if it is, and what its library offers instead; [`None`] if that is not known.
pub(crate) fn instead(object: &Object) -> Option<Reason> {
    let (name, why, remedy) = OLD_LIBFFI;
    let has = object.symbols.iter().any(|symbol| symbol.name == name && !symbol.is_undefined());
    has.then(|| Reason::new(why, remedy))
}

/// Refuses a library's assembly that switches stacks.
///
/// # Errors
/// The object has it.
pub(crate) fn refuse_switches(file: &str, object: &Object) -> Result<(), Error> {
    for symbol in &object.symbols {
        // (A compiled function of the library's may have the name, too: minicoro's other variant, where it is inlined in most places.)
        let is_compiled = symbol.binding == sym::LOCAL && symbol.kind == sym::FUNC;
        let Some((_, remedy)) = SWITCHING.iter().find(|(name, _)| symbol.name == *name && !is_compiled)
        else {
            continue;
        };
        let Some(section) = symbol.section().and_then(|section| object.sections.get(section)) else {
            continue;
        };
        if section.is_code() {
            return Err(Error::at(file, &section.name, symbol.value, Reason::new(SWITCHES, *remedy)));
        }
    }
    Ok(())
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
