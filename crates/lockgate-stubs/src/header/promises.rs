//! What a header promises of its functions to other compilers than the one that reads it here: to C++'s, to those that optimise, to gcc.
//! Programs are compiled by any of them, and what one of them goes by is true of the client.
#![allow(non_upper_case_globals, reason = "the constants of libclang")]
use super::libclang_sys::{Bodies, Cursor};
use super::model::{Functions, Prototype};
use super::parse::unit;
use clang_sys::{CXCursor_FunctionDecl, CXCursor_LinkageSpec, CXCursor_UnexposedDecl};
use std::path::Path;

/// What a compiler concludes from a declaration, beyond types.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Promises {
    noreturn: bool,
    never_null: bool,
    aligned: bool,
    silent: bool,
    format: bool,
    made: bool,
}

impl Promises {
    /// What `cursor`, which declares a function, promises.
    pub fn of(cursor: Cursor<'_>) -> Promises {
        Promises {
            noreturn: cursor.is_noreturn(),
            never_null: cursor.is_never_null(),
            aligned: cursor.is_aligned(),
            silent: cursor.is_silent(),
            format: cursor.is_format(),
            made: cursor.is_made(),
        }
    }

    /// A promise that was made before stays.
    pub fn add_to(self, prototype: &mut Prototype) {
        prototype.noreturn |= self.noreturn;
        prototype.never_null |= self.never_null;
        prototype.aligned |= self.aligned;
        prototype.silent |= self.silent;
        prototype.format |= self.format;
        prototype.made |= self.made;
    }
}

/// What libclang is told to read as others do.
const READERS: [&[&str]; 3] = [
    &["-D__OPTIMIZE__=1", "-U__clang__", "-U__llvm__", "-fgnuc-version=12.0"],
    &["-xc++", "-std=gnu++17", "-D__OPTIMIZE__=1"],
    &["-xc++", "-std=gnu++17", "-D__OPTIMIZE__=1", "-U__clang__", "-U__llvm__", "-fgnuc-version=12.0"],
];

/// Adds what the header promises of `functions` where others read it. What does not parse there, no program of that kind includes.
pub fn of_others(functions: &mut Functions, header: &Path, text: &str, arguments: &[String]) {
    for reader in READERS {
        let others = reader.iter().map(|&argument| argument.to_owned());
        let arguments = arguments.iter().cloned().chain(others).collect();
        let Ok(unit) = unit(text, header, arguments, Bodies::Skipped) else { continue };
        add(functions, unit.root());
    }
}

fn add(functions: &mut Functions, of: Cursor<'_>) {
    for cursor in of.children() {
        match cursor.kind() {
            CXCursor_FunctionDecl => {
                if let Some(function) = functions.named_mut(&cursor.name()) {
                    Promises::of(cursor).add_to(&mut function.prototype);
                }
            }
            // extern "C"
            CXCursor_LinkageSpec | CXCursor_UnexposedDecl => add(functions, cursor),
            _ => {}
        }
    }
}
