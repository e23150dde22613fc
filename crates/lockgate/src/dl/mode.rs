//! How a library is opened.
use super::DlError;

/// What dlopen's flags say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mode {
    /// Every import is answered before the constructors run, or the library is not opened.
    pub now: bool,
    /// Other libraries' imports find its functions.
    pub global: bool,
    /// Only if it is open already.
    pub only_if_open: bool,
    /// It stays, however often it is closed.
    pub keep: bool,
}

/// `RTLD_DEEPBIND`: modules prefer their own symbols anyway.
const DEEPBIND: i32 = 8;

impl Mode {
    /// `RTLD_NOW`.
    pub const NOW: Mode = Mode { now: true, global: false, only_if_open: false, keep: false };
    /// `RTLD_LAZY`.
    pub const LAZY: Mode = Mode { now: false, ..Mode::NOW };

    /// Its functions are found by other libraries: `RTLD_GLOBAL`.
    pub const fn global(self) -> Mode {
        Mode { global: true, ..self }
    }

    /// What the flags of `dlfcn.h` mean.
    ///
    /// # Errors
    /// [`DlError::Flags`]: neither `RTLD_LAZY` nor `RTLD_NOW`, or bits that mean nothing to `dlopen`.
    pub fn from_flags(flags: i32) -> Result<Mode, DlError> {
        let known = libc::RTLD_LAZY
            | libc::RTLD_NOW
            | libc::RTLD_GLOBAL
            | libc::RTLD_NOLOAD
            | libc::RTLD_NODELETE
            | DEEPBIND;
        let has = |flag| flags & flag != 0;
        if flags & !known != 0 || !has(libc::RTLD_LAZY | libc::RTLD_NOW) {
            return Err(DlError::Flags(flags));
        }
        Ok(Mode {
            now: has(libc::RTLD_NOW),
            global: has(libc::RTLD_GLOBAL),
            only_if_open: has(libc::RTLD_NOLOAD),
            keep: has(libc::RTLD_NODELETE),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_dlopens() {
        for (flags, expected) in [
            (1, Some(Mode::LAZY)),
            (2, Some(Mode::NOW)),
            (3, Some(Mode::NOW)),
            (0x102, Some(Mode::NOW.global())),
            (2 | 4, Some(Mode { only_if_open: true, ..Mode::NOW })),
            (2 | 0x1000, Some(Mode { keep: true, ..Mode::NOW })),
            (2 | 8, Some(Mode::NOW)),
            (0, None),
            (0x100, None),
            (0x4002, None),
            (-1, None),
        ] {
            assert_eq!(Mode::from_flags(flags).ok(), expected, "{flags:#x}");
        }
    }
}
