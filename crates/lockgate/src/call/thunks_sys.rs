//! Thunks: 16 bytes of code per binding, `mov $binding,%r11; jmp *PROXY(%r11)`.
//!
//! They live in memory files that are mapped twice, once to write and once to run, so that no page is
//! ever both.
use super::layout::BindingHeader;
use rustix::fs::{self, MemfdFlags};
use rustix::io::Errno;
use rustix::mm::{self, MapFlags, ProtFlags};
use std::mem::offset_of;
use std::sync::Mutex;

const SIZE: usize = 16;
/// Bytes of one memory file: 4,096 thunks.
const CHUNK: usize = 64 << 10;

/// A free place: where to write it, where to run it.
#[derive(Clone, Copy)]
struct Place {
    write: usize,
    run: usize,
}

static FREE: Mutex<Vec<Place>> = Mutex::new(Vec::new());

/// One binding's thunk; its place is used again after the drop.
pub(crate) struct Thunk(Place);

impl Thunk {
    /// Makes the thunk of `binding`, which must not move while the thunk can be called.
    ///
    /// # Errors
    /// The kernel's, if there is no memory for code.
    pub fn new(binding: *const BindingHeader) -> Result<Thunk, Errno> {
        let mut free = FREE.lock().unwrap_or_else(|e| e.into_inner());
        if free.is_empty() {
            grow(&mut free)?;
        }
        let place = free.pop().ok_or(Errno::NOMEM)?;
        let mut code = [0xcc_u8; SIZE];
        code[..2].copy_from_slice(&[0x49, 0xbb]);
        code[2..10].copy_from_slice(&(binding as u64).to_le_bytes());
        code[10..14].copy_from_slice(&[0x41, 0xff, 0x63, offset_of!(BindingHeader, proxy) as u8]);
        // SAFETY: the place is ours, 16 writable bytes; nobody runs it yet.
        unsafe { (place.write as *mut [u8; SIZE]).write(code) };
        Ok(Thunk(place))
    }

    /// The code: a C function with the bound procedure's signature.
    pub fn code(&self) -> *const () {
        self.0.run as *const ()
    }
}

impl Drop for Thunk {
    fn drop(&mut self) {
        // SAFETY: as in `new`; a stale call of the thunk traps.
        unsafe { (self.0.write as *mut [u8; SIZE]).write([0xcc; SIZE]) };
        FREE.lock().unwrap_or_else(|e| e.into_inner()).push(self.0);
    }
}

fn grow(free: &mut Vec<Place>) -> Result<(), Errno> {
    let file = fs::memfd_create("lockgate-thunks", MemfdFlags::CLOEXEC | MemfdFlags::EXEC)
        .or_else(|_| fs::memfd_create("lockgate-thunks", MemfdFlags::CLOEXEC))?;
    fs::ftruncate(&file, CHUNK as u64)?;
    let map = |access| {
        // SAFETY: new mappings where the kernel likes; they live as long as the process.
        unsafe { mm::mmap(std::ptr::null_mut(), CHUNK, access, MapFlags::SHARED, &file, 0) }
    };
    let write = map(ProtFlags::READ | ProtFlags::WRITE)? as usize;
    let run = map(ProtFlags::READ | ProtFlags::EXEC)? as usize;
    free.extend((0..CHUNK).step_by(SIZE).rev().map(|at| Place { write: write + at, run: run + at }));
    Ok(())
}

const _: () = assert!(offset_of!(BindingHeader, proxy) < 128);
