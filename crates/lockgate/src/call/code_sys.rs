//! Memory for code made at run time: thunks and proxies.
//!
//! It lies in memory files that are mapped twice, once to write and once to run, so that no page is ever both.
use super::layout::BindingHeader;
use crate::host::{Owner, PerProcess, environment, locked, memory_file};
use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use rustix::mm::{self, Advice, MapFlags, MprotectFlags, MremapFlags, ProtFlags};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::mem::{ManuallyDrop, offset_of};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Code begins at multiples of this, bytes.
const ALIGN: usize = 16;
/// Processors fetch and decode code by lines of this length, bytes: where in a line a proxy begins is up to a nanosecond of each call
/// (docs/decisions/0137-proxies-begin-with-a-line.md).
const LINE: usize = 64;
/// Bytes of one memory file.
const CHUNK: usize = 256 << 10;
const TRAP: u8 = 0xcc;

/// A place for code: where to write it, where to run it.
#[derive(Clone, Copy)]
struct Place {
    write: usize,
    run: usize,
}

/// Places that code left, by length in bytes.
/// The memory files are shared with forked children, who make files of their own.
static FREE: PerProcess<Mutex<BTreeMap<usize, Vec<Place>>>> = PerProcess::new(Mutex::default);

/// Code that can be run; its place is used again after the drop.
pub(crate) struct Code {
    place: Place,
    length: usize,
    /// Where in its place it begins.
    start: usize,
    /// Whose it is: a forked child runs its parent's code and leaves it as it is.
    owner: Owner,
}

impl Code {
    /// Makes `bytes`, which must not depend on where they lie, executable.
    ///
    /// # Errors
    /// The kernel's, if there is no memory for code.
    pub fn new(bytes: &[u8]) -> Result<Code, Errno> {
        Code::beginning_at(bytes, ALIGN)
    }

    /// The same, at the beginning of a line: what each call runs takes as long wherever else code lies.
    ///
    /// # Errors
    /// As above.
    pub fn at_line(bytes: &[u8]) -> Result<Code, Errno> {
        Code::beginning_at(bytes, LINE)
    }

    fn beginning_at(bytes: &[u8], align: usize) -> Result<Code, Errno> {
        let length = bytes.len().next_multiple_of(ALIGN) + align - ALIGN;
        let place = take(length)?;
        let start = place.run.next_multiple_of(align) - place.run;
        let code = Code { place, length, start, owner: Owner::this() };
        let mut padded = vec![TRAP; start];
        padded.extend(bytes);
        padded.resize(length, TRAP);
        code.write(&padded);
        Ok(code)
    }

    /// Address of the first byte.
    pub fn address(&self) -> usize {
        self.place.run + self.start
    }

    /// The code.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: readable, `length` bytes of which the first `start` are no code, written only before any code has the value and after its drop.
        unsafe { std::slice::from_raw_parts(self.address() as *const u8, self.length - self.start) }
    }

    fn write(&self, bytes: &[u8]) {
        assert_eq!(bytes.len(), self.length);
        // SAFETY: the place is ours, writable, of this length; no thread runs it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.place.write as *mut u8, self.length) };
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        if !self.owner.may_drop() {
            return;
        }
        // A stale call traps.
        self.write(&vec![TRAP; self.length]);
        locked(&FREE).entry(self.length).or_default().push(self.place);
    }
}

/// A free place of `length` bytes: one of that very length, or a piece of the shortest longer one.
fn take(length: usize) -> Result<Place, Errno> {
    let mut free = locked(&FREE);
    let fitting = free.range(length..).find(|(_, places)| !places.is_empty()).map(|(fitting, _)| *fitting);
    let (found, place) = match fitting {
        Some(found) => (found, free.get_mut(&found).and_then(Vec::pop).ok_or(Errno::NOMEM)?),
        None => (CHUNK, map()?),
    };
    if found > length {
        let rest = Place { write: place.write + length, run: place.run + length };
        free.entry(found - length).or_default().push(rest);
    }
    Ok(place)
}

fn map() -> Result<Place, Errno> {
    let place = if environment::perf_map() { map_for_profilers()? } else { map_file()? };
    // A forked child never writes to its parent's code.
    // SAFETY: changes nothing here.
    unsafe { mm::madvise(place.write as *mut c_void, CHUNK, Advice::LinuxDontFork)? };
    let free = CHUNKS.iter().position(|chunk| chunk.load(Ordering::Relaxed) == 0).ok_or(Errno::NOMEM)?;
    WRITABLE[free].store(place.write, Ordering::Relaxed);
    CHUNKS[free].store(place.run, Ordering::Release);
    Ok(place)
}

/// Anonymous memory, where `perf` looks for names (docs/debugging.md), also mapped twice.
fn map_for_profilers() -> Result<Place, Errno> {
    let map = |access, flags| {
        // SAFETY: new mappings that replace nothing; they live as long as the process.
        unsafe { mm::mmap_anonymous(std::ptr::null_mut(), CHUNK, access, flags) }
    };
    let write = map(ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED)?;
    let run = map(ProtFlags::empty(), MapFlags::PRIVATE)?;
    // SAFETY: of shared memory, a size of 0 asks for a second mapping, here over the place just taken.
    unsafe {
        mm::mremap_fixed(write, 0, CHUNK, MremapFlags::MAYMOVE, run)?;
        mm::mprotect(run, CHUNK, MprotectFlags::READ | MprotectFlags::EXEC)?;
    }
    Ok(Place { write: write as usize, run: run as usize })
}

fn map_file() -> Result<Place, Errno> {
    let file = memory_file("lockgate-code", MemfdFlags::empty(), MemfdFlags::EXEC, CHUNK as u64)?;
    let map = |access| {
        // SAFETY: new mappings that replace nothing; they live as long as the process.
        unsafe { mm::mmap(std::ptr::null_mut(), CHUNK, access, MapFlags::SHARED, &file, 0) }
    };
    let write = map(ProtFlags::READ | ProtFlags::WRITE)? as usize;
    Ok(Place { write, run: map(ProtFlags::READ | ProtFlags::EXEC)? as usize })
}

/// Where code lies, for signal handlers; 0 where nothing does yet.
static CHUNKS: [AtomicUsize; 1 << 12] = [const { AtomicUsize::new(0) }; 1 << 12];

/// Where each of them is written, which no fault handler asks for.
static WRITABLE: [AtomicUsize; CHUNKS.len()] = [const { AtomicUsize::new(0) }; CHUNKS.len()];

/// True if some of `range` is code made here, or where it is written: an attacker who could write there would be the host.
pub(crate) fn is_code(range: &Range<u64>) -> bool {
    let made = CHUNKS
        .iter()
        .zip(&WRITABLE)
        .map(|(run, write)| [run.load(Ordering::Acquire), write.load(Ordering::Relaxed)]);
    let overlaps = |at: usize| (at as u64) < range.end && range.start < (at + CHUNK) as u64;
    made.take_while(|[run, _]| *run != 0).flatten().any(overlaps)
}

/// True if `address` is in code made here. Takes no lock.
pub(super) fn contains(address: usize) -> bool {
    CHUNKS
        .iter()
        .map(|chunk| chunk.load(Ordering::Acquire))
        .take_while(|&chunk| chunk != 0)
        .any(|chunk| (chunk..chunk + CHUNK).contains(&address))
}

/// A binding's thunk: `mov $binding,%r11; jmp *PROXY(%r11)`.
#[derive(Clone, Copy)]
pub(crate) struct Thunk(usize);

impl Thunk {
    /// Bytes of one.
    pub const SIZE: usize = 16;

    /// Makes the thunk of `binding`, which never moves: the thunk stays.
    ///
    /// # Errors
    /// As [`Code::new`].
    pub fn new(binding: *const BindingHeader) -> Result<Thunk, Errno> {
        let mut jump = [TRAP; Thunk::SIZE];
        jump[..2].copy_from_slice(&[0x49, 0xbb]);
        jump[2..10].copy_from_slice(&(binding as u64).to_le_bytes());
        jump[10..14].copy_from_slice(&[0x41, 0xff, 0x63, offset_of!(BindingHeader, proxy) as u8]);
        Code::new(&jump).map(|code| Thunk(ManuallyDrop::new(code).address()))
    }

    /// Address of a trap, for what leads nowhere.
    pub fn trap(self) -> usize {
        self.0 + Thunk::SIZE - 1
    }

    /// The code: a C function with the bound procedure's signature.
    pub fn code(self) -> *const () {
        self.0 as *const ()
    }
}

const _: () = assert!(offset_of!(BindingHeader, proxy) < 128);
