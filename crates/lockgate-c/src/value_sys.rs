//! `struct lg_value`: arguments and results whose types are known at run time only.
use crate::error::Failure;
use crate::text_sys::{slice, slice_mut};
use lockgate::Value;
use std::ffi::c_void;

/// `struct lg_value`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CValue {
    kind: i32,
    contents: Contents,
}

#[repr(C)]
#[derive(Clone, Copy)]
union Contents {
    signed: i64,
    unsigned: u64,
    float: f32,
    double: f64,
    pointer: *mut c_void,
    bytes: Bytes,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Bytes {
    at: *mut c_void,
    size: usize,
}

const VOID: i32 = 0;
const SIGNED: i32 = 1;
const UNSIGNED: i32 = 2;
const FLOAT: i32 = 3;
const DOUBLE: i32 = 4;
const POINTER: i32 = 5;
const STRUCT: i32 = 6;

/// The values of an array.
///
/// # Errors
/// An unknown kind, or a structure without bytes.
///
/// # Safety
/// Structures lead to their bytes.
pub(crate) unsafe fn read_values(values: &[CValue]) -> Result<Vec<Value>, Failure> {
    // SAFETY: the kind says which member was written; all bits are values of each.
    let read = |value: &CValue| unsafe {
        Ok(match value.kind {
            SIGNED => Value::Signed(value.contents.signed),
            UNSIGNED => Value::Unsigned(value.contents.unsigned),
            FLOAT => Value::Float(value.contents.float),
            DOUBLE => Value::Double(value.contents.double),
            POINTER => Value::Pointer(value.contents.pointer as u64),
            STRUCT => {
                let Bytes { at, size } = value.contents.bytes;
                Value::Struct(slice(at.cast::<u8>().cast_const(), size, "a structure's bytes")?.to_vec())
            }
            other => {
                return Err(Failure::argument(format!(
                    "{other} is no type of an argument: LG_SIGNED … LG_STRUCT"
                )));
            }
        })
    };
    values.iter().map(read).collect()
}

/// Puts a result where the program wants it: nowhere, if that is null.
///
/// # Errors
/// No room for a structure.
///
/// # Safety
/// `place` is null or to be written. For a structure, it has room for it already.
pub(crate) unsafe fn put_value(place: *mut CValue, value: Value) -> Result<(), Failure> {
    if place.is_null() {
        return Ok(());
    }
    let (kind, contents) = match value {
        Value::Void => (VOID, Contents { unsigned: 0 }),
        Value::Signed(signed) => (SIGNED, Contents { signed }),
        Value::Unsigned(unsigned) => (UNSIGNED, Contents { unsigned }),
        Value::Float(float) => (FLOAT, Contents { float }),
        Value::Double(double) => (DOUBLE, Contents { double }),
        Value::Pointer(address) => (POINTER, Contents { pointer: address as *mut c_void }),
        Value::Struct(bytes) => {
            // SAFETY: the caller's room.
            let room = unsafe { (*place).contents.bytes };
            if room.size < bytes.len() {
                let (needed, given) = (bytes.len(), room.size);
                return Err(Failure::argument(format!(
                    "the result has {needed} bytes, there is room for {given}"
                )));
            }
            // SAFETY: as above.
            unsafe {
                slice_mut(room.at.cast::<u8>(), bytes.len(), "room for the result")?.copy_from_slice(&bytes)
            };
            (STRUCT, Contents { bytes: Bytes { at: room.at, size: bytes.len() } })
        }
    };
    // SAFETY: the caller's place.
    unsafe { place.write(CValue { kind, contents }) };
    Ok(())
}
