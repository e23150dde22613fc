//! `struct lg_value`: arguments and results whose types are known at run time only.
use crate::error::Failure;
use crate::text_sys::{slice, slice_mut};
use lockgate::Value;
use lockgate::signature::{Signature, Type};
use std::ffi::c_void;

/// `struct lg_value`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CValue {
    kind: i32,
    contents: Contents,
    /// Of a structure: the program's, never written. Of an array for another process.
    bytes: Bytes,
}

#[repr(C)]
#[derive(Clone, Copy)]
union Contents {
    signed: i64,
    unsigned: u64,
    float: f32,
    double: f64,
    pointer: *mut c_void,
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
const BUFFER: i32 = 7;

impl CValue {
    /// Where an array is, and its bytes, if the value is one (`LG_BUFFER`).
    pub(crate) fn array(&self) -> Option<(*mut u8, usize)> {
        (self.kind == BUFFER).then_some((self.bytes.at.cast(), self.bytes.size))
    }
}

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
                let Bytes { at, size } = value.bytes;
                let bytes = slice(at.cast::<u8>().cast_const(), size, "a structure's bytes")?;
                let mut copy = Vec::new();
                copy.try_reserve_exact(size).map_err(|_| {
                    Failure::argument(format!("there is no memory for a structure's {size} bytes"))
                })?;
                copy.extend_from_slice(bytes);
                Value::Struct(copy)
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

/// Where a result goes: what the program said before the call, which no result changes.
pub(crate) struct ResultPlace {
    /// Null: nowhere.
    at: *mut CValue,
    bytes: Bytes,
}

/// What the program expects of a call, if that is what the function returns.
///
/// # Errors
/// It expects something else, or gives a structure room of another size.
///
/// # Safety
/// `at` is null, or to be read and written until [`put`](ResultPlace::put); for a structure it leads to room.
pub(crate) unsafe fn result_place(
    at: *mut CValue,
    kind: &Type,
    signature: Option<&Signature>,
) -> Result<ResultPlace, Failure> {
    if at.is_null() {
        return Ok(ResultPlace { at, bytes: Bytes { at: std::ptr::null_mut(), size: 0 } });
    }
    // SAFETY: the caller's promise; the union is not looked at.
    let (said, bytes) = unsafe { ((*at).kind, (*at).bytes) };
    let (number, name) = number(kind);
    let what = || signature.map_or_else(|| "the work".to_owned(), |signature| format!("`{signature}`"));
    if said != number {
        return Err(Failure::argument(format!(
            "the result of {} is {name} ({number}), result->type says {said}: set it to what you expect before the call",
            what()
        )));
    }
    if number == STRUCT && (bytes.at.is_null() || bytes.size != kind.size()) {
        return Err(Failure::argument(format!(
            "the result of {} has {} bytes, result->bytes is room for {}",
            what(),
            kind.size(),
            if bytes.at.is_null() { 0 } else { bytes.size }
        )));
    }
    Ok(ResultPlace { at, bytes })
}

/// The kind of values of a type.
fn number(kind: &Type) -> (i32, &'static str) {
    match kind {
        Type::Void => (VOID, "LG_VOID"),
        Type::Integer { signed: true, .. } => (SIGNED, "LG_SIGNED"),
        Type::Bool | Type::Integer { signed: false, .. } => (UNSIGNED, "LG_UNSIGNED"),
        Type::Float => (FLOAT, "LG_FLOAT"),
        Type::Double => (DOUBLE, "LG_DOUBLE"),
        Type::Pointer => (POINTER, "LG_POINTER"),
        Type::Struct(_) => (STRUCT, "LG_STRUCT"),
    }
}

impl ResultPlace {
    /// Puts a result where the program wants it.
    ///
    /// # Errors
    /// None that [`result_place`] has not found already.
    ///
    /// # Safety
    /// What was promised there still holds.
    pub unsafe fn put(self, value: Value) -> Result<(), Failure> {
        if self.at.is_null() {
            return Ok(());
        }
        let contents = match value {
            Value::Void => return Ok(()),
            Value::Signed(signed) => Contents { signed },
            Value::Unsigned(unsigned) => Contents { unsigned },
            Value::Float(float) => Contents { float },
            Value::Double(double) => Contents { double },
            Value::Pointer(address) => Contents { pointer: address as *mut c_void },
            Value::Struct(bytes) => {
                let room = self.bytes.size.min(bytes.len());
                // SAFETY: the program's room, as it said before the call.
                let to = unsafe { slice_mut(self.bytes.at.cast::<u8>(), room, "room for the result")? };
                to.copy_from_slice(&bytes[..room]);
                return Ok(());
            }
        };
        // SAFETY: the program's place; its other fields are its own.
        unsafe { (&raw mut (*self.at).contents).write(contents) };
        Ok(())
    }
}
