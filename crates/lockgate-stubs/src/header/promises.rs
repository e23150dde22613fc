//! What a header promises of its functions to compilers.
use super::libclang_sys::Cursor;
use super::model::Prototype;

/// What a compiler concludes from a declaration, beyond types.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Promises {
    noreturn: bool,
    never_null: bool,
    aligned: bool,
    silent: bool,
    format: bool,
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
        }
    }

    /// Whoever promised something before, it stays so.
    pub fn add_to(self, prototype: &mut Prototype) {
        prototype.noreturn |= self.noreturn;
        prototype.never_null |= self.never_null;
        prototype.aligned |= self.aligned;
        prototype.silent |= self.silent;
        prototype.format |= self.format;
    }
}
