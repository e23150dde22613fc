//! Types that procedures may take and return.
use super::{Plain, Pointer, Tainted, integer};
use crate::signature::Type;

/// A type that can be an argument of a procedure in a domain, or of a host function that a domain calls.
///
/// Not `bool`, `char`, references or enumerations: a domain can put any bits there.
///
/// ```compile_fail,E0277
/// # fn f(domain: &lockgate::Domain) {
/// domain.bind::<extern "C" fn(&'static u8)>("f"); // host memory means nothing in a domain
/// # }
/// ```
///
/// # Safety
/// The type is plain data laid out as [`c_type`](Argument::c_type) says: `repr(C)`, `repr(transparent)` or a number.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed to or from a domain",
    note = "use numbers, `Pointer<T>`, or a structure declared with `lockgate::structure!`"
)]
pub unsafe trait Argument: Copy + 'static {
    /// The type in C.
    fn c_type() -> Type;
}

/// A type that a procedure can return: an [`Argument`], the same [`Tainted`], or `()`.
///
/// ```compile_fail,E0277
/// # fn f(domain: &lockgate::Domain) {
/// domain.bind::<extern "C" fn() -> bool>("f"); // a bool must be 0 or 1
/// # }
/// ```
///
/// # Safety
/// As for [`Argument`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned by a domain",
    note = "use numbers, `Pointer<T>`, `Tainted<_>`, `()`, or a structure declared with `lockgate::structure!`"
)]
pub unsafe trait Returned: Copy + 'static {
    /// The type in C.
    fn c_type() -> Type;
}

macro_rules! integers {
    ($($kind:ty: $signed:expr),*) => { $(
        // SAFETY: a number.
        unsafe impl Argument for $kind {
            fn c_type() -> Type {
                integer::<$kind>($signed)
            }
        }
    )* };
}

integers!(u8: false, i8: true, u16: false, i16: true, u32: false, i32: true, u64: false, i64: true, usize: false, isize: true);

// SAFETY: a number.
unsafe impl Argument for f32 {
    fn c_type() -> Type {
        Type::Float
    }
}

// SAFETY: a number.
unsafe impl Argument for f64 {
    fn c_type() -> Type {
        Type::Double
    }
}

// SAFETY: a transparent u64.
unsafe impl<T: 'static> Argument for Pointer<T> {
    fn c_type() -> Type {
        Type::Pointer
    }
}

// SAFETY: as the argument.
unsafe impl<T: Argument> Returned for T {
    fn c_type() -> Type {
        <T as Argument>::c_type()
    }
}

// SAFETY: transparent.
unsafe impl<T: Argument> Returned for Tainted<T> {
    fn c_type() -> Type {
        <T as Argument>::c_type()
    }
}

// SAFETY: no data.
unsafe impl Returned for () {
    fn c_type() -> Type {
        Type::Void
    }
}

/// A field of a [`structure!`](crate::structure): plain data with a type in C.
///
/// # Safety
/// [`member`](Member::member) says what the type is: as many elements of that type in C take its size, and pass as it does.
pub unsafe trait Member: Plain {
    /// The type of one element in C, and the number of elements.
    fn member() -> (Type, usize);
}

// SAFETY: one element of the type that an argument says.
unsafe impl<T: Argument + Plain> Member for T {
    fn member() -> (Type, usize) {
        (T::c_type(), 1)
    }
}

/// Declares structures that can be passed by value and kept in a domain's memory.
///
/// ```
/// lockgate::structure! {
///     /// A point.
///     pub struct Point {
///         pub x: f64,
///         pub y: f64,
///     }
/// }
/// let _ = Point { x: 1.0, y: 2.0 };
/// ```
///
/// Fields are numbers, pointers and other such structures. Structures with padding are refused: the host's
/// memory would show through it.
///
/// ```compile_fail,E0080
/// lockgate::structure! { pub struct Padded { a: u8, b: u64 } }
/// ```
///
/// Attributes are passed on, but none may change the layout: it is the one that C has by default.
///
/// ```compile_fail,E0080
/// lockgate::structure! { #[repr(packed)] pub struct Packed { a: u8, b: u64 } }
/// ```
///
/// ```compile_fail,E0080
/// lockgate::structure! { #[repr(align(64))] pub struct Aligned { a: u64, b: u64, c: u64, d: u64, e: u64, f: u64, g: u64, h: u64 } }
/// ```
#[macro_export]
macro_rules! structure {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $kind:ty),+ $(,)? }) => {
        $(#[$meta])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy, PartialEq)]
        $vis struct $name { $($(#[$field_meta])* $field_vis $field: $kind),+ }

        // SAFETY: repr(C), fields are plain, and the constant below refuses padding.
        unsafe impl $crate::Plain for $name {}

        // SAFETY: repr(C), and the type in C is made from the fields' own.
        unsafe impl $crate::Argument for $name {
            fn c_type() -> $crate::signature::Type {
                $crate::signature::Type::Struct(vec![$({
                    let (kind, count) = <$kind as $crate::Member>::member();
                    $crate::signature::Field { kind, count }
                }),+])
            }
        }

        const _: () = {
            // (First: what is packed has no padding, and what is aligned may have some behind its fields.)
            let mut most = 1;
            $(if ::core::mem::align_of::<$kind>() > most {
                most = ::core::mem::align_of::<$kind>();
            })+
            assert!(
                ::core::mem::align_of::<$name>() == most,
                "the structure is packed or aligned: C lays it out otherwise, and so do domains"
            );
            assert!(
                0 $(+ ::core::mem::size_of::<$kind>())+ == ::core::mem::size_of::<$name>(),
                "the structure has padding: add fields that fill it"
            );
        };
    };
}
