//! Values that cross the border of a domain.

use core::ffi::{CStr, c_char};

/// A value that host and module pass to each other in calls.
///
/// # Safety
/// `Raw` is passed as the C type [`C`](Value::C).
pub unsafe trait Value: Sized {
    /// As it is passed.
    type Raw;
    /// Its type in C.
    const C: &'static str;

    /// The value.
    ///
    /// # Safety
    /// A pointer points to what its type says, for as long as the value is used.
    unsafe fn from_raw(raw: Self::Raw) -> Self;

    /// As it is passed.
    fn into_raw(self) -> Self::Raw;
}

macro_rules! plain {
    ($($type:ty => $c:literal,)*) => {$(
        // SAFETY: the same type in both languages.
        unsafe impl Value for $type {
            type Raw = $type;
            const C: &'static str = $c;

            unsafe fn from_raw(raw: $type) -> $type {
                raw
            }

            fn into_raw(self) -> $type {
                self
            }
        }
    )*};
}

plain! {
    () => "void",
    i8 => "int8_t",
    u8 => "uint8_t",
    i16 => "int16_t",
    u16 => "uint16_t",
    i32 => "int32_t",
    u32 => "uint32_t",
    i64 => "int64_t",
    u64 => "uint64_t",
    isize => "int64_t",
    usize => "uint64_t",
    f32 => "float",
    f64 => "double",
}

// SAFETY: `_Bool`, of which only the lowest byte is passed.
unsafe impl Value for bool {
    type Raw = u8;
    const C: &'static str = "_Bool";

    unsafe fn from_raw(raw: u8) -> bool {
        raw != 0
    }

    fn into_raw(self) -> u8 {
        self.into()
    }
}

// SAFETY: a pointer in both languages.
unsafe impl<T> Value for *const T {
    type Raw = *const T;
    const C: &'static str = "const void *";

    unsafe fn from_raw(raw: *const T) -> *const T {
        raw
    }

    fn into_raw(self) -> *const T {
        self
    }
}

// SAFETY: a pointer in both languages.
unsafe impl<T> Value for *mut T {
    type Raw = *mut T;
    const C: &'static str = "void *";

    unsafe fn from_raw(raw: *mut T) -> *mut T {
        raw
    }

    fn into_raw(self) -> *mut T {
        self
    }
}

// SAFETY: a pointer to a text, or none.
unsafe impl<'a> Value for Option<&'a CStr> {
    type Raw = *const c_char;
    const C: &'static str = "const char *";

    unsafe fn from_raw(raw: *const c_char) -> Option<&'a CStr> {
        // SAFETY: the caller vouches for what is not null.
        (!raw.is_null()).then(|| unsafe { CStr::from_ptr(raw) })
    }

    fn into_raw(self) -> *const c_char {
        self.map_or(core::ptr::null(), CStr::as_ptr)
    }
}

// SAFETY: a pointer to a text.
unsafe impl<'a> Value for &'a CStr {
    type Raw = *const c_char;
    const C: &'static str = "const char *";

    /// # Panics
    /// Of a null pointer: `Option<&CStr>` takes one.
    unsafe fn from_raw(raw: *const c_char) -> &'a CStr {
        // SAFETY: as the caller's.
        let text = unsafe { <Option<&CStr> as Value>::from_raw(raw) };
        text.expect("a text is a null pointer; a parameter of type Option<&CStr> takes that")
    }

    fn into_raw(self) -> *const c_char {
        self.as_ptr()
    }
}
