//! What the Python half says of arguments and results, and the conversions of what fits in a register.
use crate::errors;
use lockgate::Value;
use lockgate::signature::{Signature, Type};
use pyo3::PyTraverseError;
use pyo3::exceptions::PyTypeError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyInt};

/// What the Python half gives for each kind: a code and an object.
pub type Given = (String, Option<Py<PyAny>>);

/// Kinds of the parameters of `signature`, and of its result, which comes last in `given`.
///
/// # Errors
/// As [`Kind::new`].
pub fn of_signature(signature: &Signature, given: Vec<Given>) -> PyResult<(Vec<Kind>, Kind)> {
    let types = signature.parameters.iter().chain([&signature.result]);
    let made = types.zip(given).map(|(kind, (code, object))| Kind::new(kind, &code, object));
    let mut kinds: Vec<Kind> = made.collect::<PyResult<_>>()?;
    let answer = kinds.pop().unwrap_or(Kind::Nothing);
    Ok((kinds, answer))
}

/// How an argument becomes words, or words become a result: a type of C with what Python makes of it.
pub enum Kind {
    /// Nothing: the result of a void function.
    Nothing,
    Integer {
        bytes: u8,
        signed: bool,
    },
    /// `_Bool`: any truth value.
    Bool,
    /// `char`: one byte of `bytes`.
    Char,
    Float,
    Double,
    /// An address. What is no address yet goes through the converter; everything does if that `decides`.
    Pointer {
        converter: Option<Py<PyAny>>,
        decides: bool,
    },
    /// A structure by value: an instance of this class.
    Struct {
        class: Py<PyAny>,
        size: usize,
    },
}

impl Kind {
    /// The kind of values of type `kind`, where `code` is `c` for characters, `?` for truth values, `!` for pointers whose converter
    /// decides what may be one, and empty otherwise.
    ///
    /// # Errors
    /// Types that cannot be converted with what is given.
    pub fn new(kind: &Type, code: &str, object: Option<Py<PyAny>>) -> PyResult<Kind> {
        Ok(match (kind, code) {
            (Type::Void, _) => Kind::Nothing,
            (Type::Bool, _) | (Type::Integer { bytes: 1, .. }, "?") => Kind::Bool,
            (Type::Integer { bytes: 1, .. }, "c") => Kind::Char,
            (Type::Integer { bytes, signed }, _) => Kind::Integer { bytes: *bytes, signed: *signed },
            (Type::Float, _) => Kind::Float,
            (Type::Double, _) => Kind::Double,
            (Type::Pointer, _) => Kind::Pointer { converter: object, decides: code == "!" },
            (Type::Struct(_), _) => match object {
                Some(class) => {
                    let size = kind.size();
                    // Two computations of one layout.
                    let own: usize = Python::attach(|py| {
                        py.import("ctypes")?.call_method1("sizeof", (&class,))?.extract()
                    })?;
                    if own != size {
                        let text =
                            format!("{kind} has {size} bytes in C, and its class {own}: pass a pointer");
                        return Err(PyTypeError::new_err(text));
                    }
                    Kind::Struct { class, size }
                }
                None => {
                    return Err(PyTypeError::new_err(format!(
                        "{kind} needs a ctypes.Structure in argtypes or restype"
                    )));
                }
            },
        })
    }

    /// For the collector.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self {
            Kind::Pointer { converter, .. } => visit.call(converter),
            Kind::Struct { class, .. } => visit.call(class),
            _ => Ok(()),
        }
    }

    /// The word of a value that is passed in one register and is no pointer or structure.
    ///
    /// # Errors
    /// The value is not of this kind, or does not fit.
    #[inline]
    pub fn word(&self, value: &Bound<'_, PyAny>) -> PyResult<u64> {
        match self {
            Kind::Integer { bytes, signed } => integer(value, *bytes, *signed),
            Kind::Double => Ok(real(value)?.to_bits()),
            Kind::Float => Ok(u64::from(single(value)?.to_bits())),
            Kind::Bool => Ok(u64::from(plain(value)?.is_truthy()?)),
            Kind::Char => character(value),
            Kind::Nothing | Kind::Pointer { .. } | Kind::Struct { .. } => {
                Err(PyTypeError::new_err("not a value of one register"))
            }
        }
    }

    /// The Python value of a result or argument in `words`, without its class: a structure is its bytes.
    ///
    /// # Errors
    /// No memory.
    #[inline]
    pub fn python<'py>(
        &self,
        py: Python<'py>,
        word: u64,
        words: impl FnOnce() -> Vec<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self {
            Kind::Nothing => py.None().into_bound(py),
            Kind::Integer { bytes, signed } => {
                let unused = 64 - u32::from(*bytes) * 8;
                if *signed {
                    (((word << unused) as i64) >> unused).into_pyobject(py)?.into_any()
                } else {
                    ((word << unused) >> unused).into_pyobject(py)?.into_any()
                }
            }
            Kind::Bool => (word as u8 != 0).into_pyobject(py)?.to_owned().into_any(),
            Kind::Char => PyBytes::new(py, &[word as u8]).into_any(),
            Kind::Float => PyFloat::new(py, f64::from(f32::from_bits(word as u32))).into_any(),
            Kind::Double => PyFloat::new(py, f64::from_bits(word)).into_any(),
            Kind::Pointer { .. } => match word & 0xffff_ffff {
                0 => py.None().into_bound(py),
                _ => word.into_pyobject(py)?.into_any(),
            },
            Kind::Struct { size, .. } => {
                let mut bytes: Vec<u8> = words().iter().flat_map(|word| word.to_le_bytes()).collect();
                bytes.truncate(*size);
                PyBytes::new(py, &bytes).into_any()
            }
        })
    }
}

/// Words of a runtime's value.
pub fn word_of(value: &Value) -> u64 {
    match value {
        Value::Signed(number) => *number as u64,
        Value::Unsigned(number) | Value::Pointer(number) => *number,
        Value::Float(number) => u64::from(number.to_bits()),
        Value::Double(number) => number.to_bits(),
        Value::Void | Value::Struct(_) => 0,
    }
}

fn integer(value: &Bound<'_, PyAny>, bytes: u8, signed: bool) -> PyResult<u64> {
    if bytes == 8 && !signed {
        return plain(value)?.extract();
    }
    let number: i64 = match value.extract() {
        Ok(number) => number,
        Err(_) => plain(value)?.extract()?,
    };
    let unused = 64 - u32::from(bytes) * 8;
    let fits = if signed {
        (number << unused) >> unused == number
    } else {
        number >= 0 && number >> (64 - unused) == 0
    };
    if fits { Ok(number as u64) } else { Err(too_large(value.py(), number, bytes, signed)) }
}

#[cold]
fn too_large(py: Python<'_>, number: i64, bytes: u8, signed: bool) -> PyErr {
    let kind = Type::Integer { bytes, signed };
    errors::plain(py, "ArgumentError", &format_args!("{number} does not fit {kind}"))
}

/// A number.
///
/// # Errors
/// It is none.
pub fn real(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    match value.extract() {
        Ok(number) => Ok(number),
        Err(_) => plain(value)?.extract(),
    }
}

/// A number of single precision.
///
/// # Errors
/// It is none, or does not fit.
pub fn single(value: &Bound<'_, PyAny>) -> PyResult<f32> {
    let number = real(value)?;
    let single = number as f32;
    if single.is_infinite() && number.is_finite() {
        return Err(errors::plain(
            value.py(),
            "ArgumentError",
            &format_args!("{number:e} does not fit float"),
        ));
    }
    Ok(single)
}

fn character(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    let value = plain(value)?;
    match value.cast::<PyBytes>() {
        Ok(bytes) if bytes.as_bytes().len() == 1 => Ok(u64::from(bytes.as_bytes()[0])),
        Ok(_) => Err(PyTypeError::new_err("a char is one byte")),
        Err(_) => value.extract::<u8>().map(u64::from),
    }
}

/// The value of a simple ctypes object; anything else as it is.
fn plain<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>() {
        return Ok(value.clone());
    }
    let simple = value.py().import("ctypes")?.getattr("_SimpleCData")?;
    if value.is_instance(&simple)? { value.getattr("value") } else { Ok(value.clone()) }
}
