//! The other dlopen, and calls through raw function pointers.
use anyhow::{Context as _, ensure};
use std::ffi::{CString, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Command;

/// An ordinary shared library, closed when dropped.
pub struct Plain(*mut c_void);

impl Plain {
    /// Compiles it from one C file, and opens it.
    pub fn compile(source: &Path, output: &Path) -> anyhow::Result<Plain> {
        let mut gcc = Command::new("gcc");
        let status = gcc.args(["-O2", "-w", "-shared", "-fPIC", "-o"]).arg(output).arg(source).status()?;
        ensure!(status.success(), "{gcc:?}: {status}");
        Plain::open(output)
    }

    /// Opens it.
    pub fn open(path: &Path) -> anyhow::Result<Plain> {
        let name = CString::new(path.as_os_str().as_bytes())?;
        // SAFETY: a library that the benchmark has compiled itself.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
        ensure!(!handle.is_null(), "dlopen of {} failed", path.display());
        Ok(Plain(handle))
    }

    /// The address of a function.
    pub fn function(&self, name: &str) -> anyhow::Result<*const ()> {
        let text = CString::new(name)?;
        // SAFETY: the handle is open.
        let symbol = unsafe { libc::dlsym(self.0, text.as_ptr()) };
        (!symbol.is_null()).then_some(symbol.cast_const().cast()).with_context(|| format!("no symbol {name}"))
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        // SAFETY: the handle is open, and nothing of the library is used any more.
        unsafe { libc::dlclose(self.0) };
    }
}

/// Calls `long f(long)`.
#[inline(always)]
pub fn call(pointer: *const (), argument: i64) -> i64 {
    // SAFETY: the benchmark looks up functions of this type only.
    unsafe { std::mem::transmute::<*const (), extern "C" fn(i64) -> i64>(pointer)(argument) }
}
