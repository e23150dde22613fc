//! Python's buffer protocol: memory of other objects that is passed to domains, and memory shared with domains that other
//! objects (numpy's arrays, memoryviews) use in place.
use crate::held::Held;
use crate::{errors, interpreter_sys};
use lockgate_kernel::locked;
use pyo3::exceptions::{PyBufferError, PyMemoryError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView};
use std::ffi::{CStr, c_char, c_int};
use std::mem::MaybeUninit;
use std::ptr;
use std::slice;
use std::sync::Mutex;

/// The bytes of a Python object, which keeps them in place as long as this lives; some do not ([`View::has_moved`]).
pub struct View {
    source: Source,
    owner: Option<Owner>,
}

/// Whose memory may be elsewhere in spite of those who look at it: ctypes' objects (`ctypes.resize`), numpy's arrays.
struct Owner {
    object: Py<PyAny>,
    at: usize,
    length: usize,
}

enum Source {
    /// A buffer that was asked for, in a place of its own: some exporters remember its address.
    Buffer(Box<ffi::Py_buffer>),
    /// Bytes with the terminating zero that Python keeps behind them.
    Text { _bytes: Py<PyBytes>, at: *const u8, length: usize },
}

// SAFETY: views are made, copied from and to, and dropped with the GIL held; while it is not, no thread uses them.
unsafe impl Send for View {}
// SAFETY: as above.
unsafe impl Sync for View {}

impl View {
    /// The bytes of `object`, writable if it allows that.
    ///
    /// # Errors
    /// It has no buffer; the buffer is not contiguous, or holds pointers of the host.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<View> {
        let mut view = View::asked(object, ffi::PyBUF_C_CONTIGUOUS | ffi::PyBUF_FORMAT)?;
        view.check(object)?;
        if view.is_writable() && view.has_code(|code, _| b"uw".contains(&code)) {
            let text = "this memory holds characters, and a domain may write values that are not characters: pass encoded bytes";
            return Err(PyTypeError::new_err(text));
        }
        view.owner = Owner::of(object)?;
        Ok(view)
    }

    /// Whether the bytes are where they were, and as many. What the program runs meanwhile (conversions, callbacks) may move them.
    pub fn has_moved(&self, py: Python<'_>) -> bool {
        let moved = |owner: &Owner| extent(owner.object.bind(py)).ok() != Some((owner.at, owner.length));
        self.owner.as_ref().is_some_and(moved)
    }

    /// A copy of the bytes of `object`, in C's order if they do not lie in a row, for a domain.
    ///
    /// # Errors
    /// It has no buffer; the buffer holds pointers of the host.
    pub fn copied(object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
        let view = View::asked(object, ffi::PyBUF_FULL_RO)?;
        view.check(object)?;
        // (What repeats in memory may be longer than memory.)
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(view.length()).map_err(|_| {
            PyMemoryError::new_err(format!("there is no memory for a copy of {} bytes", view.length()))
        })?;
        bytes.resize(view.length(), 0);
        let Source::Buffer(buffer) = &view.source else { unreachable!("it was asked for") };
        // SAFETY: the buffer is held, and as long as the copy.
        let done = unsafe {
            let order = b'C' as c_char;
            // (Declared as what is not changed, or not, with and without the stable ABI.)
            let view = (&raw const **buffer).cast_mut();
            ffi::PyBuffer_ToContiguous(bytes.as_mut_ptr().cast(), view, buffer.len, order)
        };
        if done == 0 { Ok(bytes) } else { Err(PyErr::fetch(object.py())) }
    }

    /// The buffer of `object`, writable if it allows that.
    fn asked(object: &Bound<'_, PyAny>, flags: c_int) -> PyResult<View> {
        let mut buffer = Box::new(MaybeUninit::<ffi::Py_buffer>::zeroed());
        // SAFETY: a live object; the buffer is filled if the call succeeds.
        let done = unsafe {
            let writable =
                ffi::PyObject_GetBuffer(object.as_ptr(), buffer.as_mut_ptr(), flags | ffi::PyBUF_WRITABLE);
            if writable == 0 {
                true
            } else {
                ffi::PyErr_Clear();
                ffi::PyObject_GetBuffer(object.as_ptr(), buffer.as_mut_ptr(), flags) == 0
            }
        };
        if !done {
            let error = PyErr::fetch(object.py());
            // SAFETY: a live object.
            let text = if unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } != 0 {
                format!(
                    "{}: pass contiguous memory of plain numbers (numpy.ascontiguousarray, view)",
                    error.value(object.py())
                )
            } else {
                let kind = object.get_type();
                let what = "pass None, bytes, a buffer, byref(…) or a lockgate.Pointer";
                format!("{} cannot be passed as a pointer: {what}", kind.name()?)
            };
            return Err(PyTypeError::new_err(text));
        }
        // SAFETY: filled; the box only changes its type.
        let buffer = unsafe { Box::from_raw(Box::into_raw(buffer).cast::<ffi::Py_buffer>()) };
        Ok(View { source: Source::Buffer(buffer), owner: None })
    }

    /// Refuses memory that the exporter says has pointers in it, and what ctypes' types say that its buffers do not.
    fn check(&self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        if self.holds_pointers() {
            let text = "this memory holds addresses of the host: a domain must not see them, nor may Python follow what \
                        a domain writes there; use lockgate.Address";
            return Err(PyTypeError::new_err(text));
        }
        if self.may_hide() {
            let plain = object.py().import("lockgate._types")?.getattr("plain")?;
            interpreter_sys::call(&plain, (object,), None)?;
        }
        Ok(())
    }

    /// True if there may be more in it than its format says: ctypes says of unions and packed structures that they are bytes.
    fn may_hide(&self) -> bool {
        let Source::Buffer(buffer) = &self.source else { return false };
        self.has_code(|code, _| code == b'{' || code == b'B' && buffer.itemsize != 1)
    }

    /// The bytes and a terminating zero.
    pub fn text(bytes: &Bound<'_, PyBytes>) -> View {
        let content = bytes.as_bytes();
        let (at, length) = (content.as_ptr(), content.len() + 1);
        View { source: Source::Text { _bytes: bytes.clone().unbind(), at, length }, owner: None }
    }

    /// True if the exporter says that there are Python objects, pointers or functions in it (PEP 3118).
    fn holds_pointers(&self) -> bool {
        let complex = |code: u8, next: Option<u8>| code == b'Z' && matches!(next, Some(b'f' | b'd' | b'g'));
        self.has_code(|code, next| b"O&zZX".contains(&code) && !complex(code, next))
    }

    /// True if its format has a code, with the one behind that, for which this is true.
    fn has_code(&self, is: impl Fn(u8, Option<u8>) -> bool) -> bool {
        let Source::Buffer(buffer) = &self.source else { return false };
        if buffer.format.is_null() {
            return false;
        }
        // SAFETY: a C string, as long as the buffer is held.
        let format = unsafe { CStr::from_ptr(buffer.format) }.to_bytes();
        // Names of fields stand between colons.
        let codes: Vec<u8> = format.split(|b| *b == b':').step_by(2).flatten().copied().collect();
        (0..codes.len()).any(|at| is(codes[at], codes.get(at + 1).copied()))
    }

    /// Address of the first byte.
    pub fn address(&self) -> usize {
        match &self.source {
            Source::Buffer(buffer) => buffer.buf as usize,
            Source::Text { at, .. } => *at as usize,
        }
    }

    /// Number of bytes.
    pub fn length(&self) -> usize {
        match &self.source {
            Source::Buffer(buffer) => buffer.len as usize,
            Source::Text { length, .. } => *length,
        }
    }

    /// Whether they may be changed.
    pub fn is_writable(&self) -> bool {
        matches!(&self.source, Source::Buffer(buffer) if buffer.readonly == 0)
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        if self.length() == 0 {
            return &[];
        }
        // SAFETY: the exporter holds so many bytes there as long as this lives; the GIL keeps others from changing
        // them while we look.
        unsafe { slice::from_raw_parts(self.address() as *const u8, self.length()) }
    }

    /// The bytes, to be changed.
    ///
    /// # Panics
    /// If they may not be.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        assert!(self.is_writable());
        if self.length() == 0 {
            return &mut [];
        }
        // SAFETY: as above, and the exporter allows it.
        unsafe { slice::from_raw_parts_mut(self.address() as *mut u8, self.length()) }
    }

    /// What a domain has left there becomes what the elements may be: of truth values each is 0 or 1, by which others index.
    pub fn settle(&mut self) {
        let Source::Buffer(buffer) = &self.source else { return };
        if buffer.itemsize != 1 || !self.has_code(|code, _| code == b'?') {
            return;
        }
        for byte in self.bytes_mut() {
            *byte = u8::from(*byte != 0);
        }
    }

    /// The bytes as words, the last one filled up with zeros.
    pub fn words(&self, words: &mut [u64]) {
        for (word, bytes) in words.iter_mut().zip(self.bytes().chunks(8)) {
            let mut all = [0; 8];
            all[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(all);
        }
    }
}

impl Owner {
    /// The one of `object`'s memory, if it may move it.
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Owner>> {
        static CDATA: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = object.py();
        let own = match object.is_instance_of::<PyMemoryView>() {
            true => object.getattr("obj")?,
            false => object.clone(),
        };
        // (It does not move what has a view. It is what most programs pass, and has no `resize` that could be found.)
        if own.is_exact_instance_of::<PyByteArray>() {
            return Ok(None);
        }
        let class = || PyResult::Ok(py.import("ctypes")?.getattr("Array")?.getattr("__base__")?.unbind());
        if !own.is_instance(CDATA.get_or_try_init(py, class)?.bind(py))? && !own.hasattr("resize")? {
            return Ok(None);
        }
        let (at, length) = extent(&own)?;
        Ok(Some(Owner { object: own.unbind(), at, length }))
    }
}

/// Where the buffer of `object` begins, and its length.
fn extent(object: &Bound<'_, PyAny>) -> PyResult<(usize, usize)> {
    let mut buffer = MaybeUninit::<ffi::Py_buffer>::zeroed();
    // SAFETY: a live object; what is filled is released at once.
    unsafe {
        if ffi::PyObject_GetBuffer(object.as_ptr(), buffer.as_mut_ptr(), ffi::PyBUF_FULL_RO) != 0 {
            return Err(PyErr::fetch(object.py()));
        }
        let found = buffer.assume_init_ref();
        let found = (found.buf as usize, found.len as usize);
        ffi::PyBuffer_Release(buffer.as_mut_ptr());
        Ok(found)
    }
}

impl Drop for View {
    fn drop(&mut self) {
        if let Source::Buffer(buffer) = &mut self.source {
            // SAFETY: held since `of`; views are dropped with the GIL.
            unsafe { ffi::PyBuffer_Release(&mut **buffer) };
        }
    }
}

/// Memory that can be shared with domains: whole pages of zeros at first. It supports the buffer protocol:
/// ``memoryview(region)`` and ``numpy.frombuffer(region)`` use it in place.
///
/// Domains that have it may change it at any time: copy what you check.
#[pyclass(frozen, module = "lockgate")]
pub struct Region(lockgate::Region, Mutex<Option<Held>>);

impl Region {
    pub fn inner(&self) -> &lockgate::Region {
        &self.0
    }

    /// Ends a grant with this object.
    pub fn end_with(&self, grant: Held) {
        *locked(&self.1) = Some(grant);
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if let Some(grant) = self.1.get_mut().unwrap_or_else(|e| e.into_inner()) {
            grant.revoke();
        }
    }
}

#[pymethods]
impl Region {
    #[new]
    fn new(py: Python<'_>, length: u64) -> PyResult<Region> {
        let made = lockgate::Region::new(length).map_err(|error| errors::grant(py, error))?;
        Ok(Region(made, Mutex::default()))
    }

    fn __len__(&self) -> usize {
        self.0.length() as usize
    }

    /// Offset of the first byte in every domain that has it.
    #[getter]
    fn offset(&self) -> u64 {
        self.0.offset()
    }

    /// Where this process has it mapped.
    #[getter]
    fn host_address(&self) -> usize {
        self.0.host_address() as usize
    }

    fn __repr__(&self) -> String {
        format!("<lockgate.Region of {} bytes>", self.0.length())
    }

    // SAFETY: the interpreter gives a view to be filled, and keeps `slf`, which keeps the memory, as long as that is used.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let region = &slf.get().0;
        // SAFETY: the view is the caller's; the memory lives as long as the object that the view holds.
        let done = unsafe {
            if view.is_null() {
                return Err(PyBufferError::new_err("no view"));
            }
            (*view).obj = ptr::null_mut();
            let (at, length) = (region.host_address().cast(), region.length() as isize);
            ffi::PyBuffer_FillInfo(view, slf.as_ptr(), at, length, 0, flags)
        };
        if done == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}
