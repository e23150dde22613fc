//! Functions of the C library that return twice: `setjmp` and its kin.

use crate::elf::Object;
use crate::error::Reason;

/// Functions that return twice: their caller hands them a labelled landing.
const RETURNS_TWICE: [&[u8]; 7] =
    [b"setjmp", b"_setjmp", b"__setjmp", b"sigsetjmp", b"__sigsetjmp", b"vfork", b"getcontext"];

/// Whether `symbol` names a function of the C library that returns twice.
pub(crate) fn returns_twice(object: &Object, symbol: u32) -> bool {
    RETURNS_TWICE.contains(&&object.symbols[symbol as usize].name[..])
}

/// Whether `symbol` names one of them that a landing calls once more, with [`JUMPED`] in the place of a landing: there it brings back the mask
/// of signals, and returns what it finds in eax. Before the jump, a signal that waits would be handled above the frames that the jump leaves.
pub(crate) fn brings_back_a_mask(object: &Object, symbol: u32) -> bool {
    [&b"sigsetjmp"[..], b"__sigsetjmp"].contains(&&object.symbols[symbol as usize].name[..])
}

/// See [`brings_back_a_mask`]. No landing has this address.
pub(crate) const JUMPED: i32 = 1;

/// Whether a reference to `symbol` that is no call of it takes the address of a function that returns twice: what then calls it
/// does not know that it has to hand over a landing. The C library's `vfork` never returns twice.
pub(crate) fn is_address_that_returns_twice(object: &Object, symbol: u32) -> bool {
    let name = &object.symbols[symbol as usize];
    name.is_undefined() && name.name != b"vfork" && returns_twice(object, symbol)
}

pub(crate) fn address_that_returns_twice() -> Reason {
    Reason::new(
        "it takes the address of a function that returns twice",
        "call setjmp by its name, in the function that handles its result: it cannot work through a pointer; clang makes one of several \
         calls with -fno-plt: compile without",
    )
}

pub(crate) fn jump_that_returns_twice() -> Reason {
    Reason::new(
        "a jump to a function that returns twice",
        "call setjmp in the function that handles its result, not in one that only passes it on",
    )
}
