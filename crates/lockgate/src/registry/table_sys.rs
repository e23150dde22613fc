//! The table of exports and bindings that other processes can read.
//!
//! It is a memory file of rows, found by its name among the process's descriptors: who may open it there is who may
//! trace the process. Proxies count calls in the rows themselves, so that a reader sees live numbers and costs the
//! process nothing. Nobody but this process can ever write to it.
//!
//! The first row describes the table. A row's first word is odd while the row changes, and another number afterwards.
use super::error::RegistryError;
use crate::call::layout::Traffic;
use rustix::fs::{self, MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{self, MapFlags, ProtFlags};
use rustix::time::{ClockId, clock_gettime};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, OnceLock};

/// Name of the memory file.
pub(super) const NAME: &str = "lockgate-registry";
/// Bytes of a row.
pub(super) const ROW: usize = 512;
/// Rows, the first included.
pub(super) const ROWS: usize = 8192;
/// Bytes of text in a row: fields that end with zeros.
pub(super) const TEXT: usize = ROW - 64;
/// Version of this layout, and of nothing else.
pub(super) const LAYOUT: u64 = 1;
/// What a row holds.
pub(super) const EXPORT: u64 = 1;
pub(super) const BINDING: u64 = 2;

/// One row.
#[repr(C, align(64))]
pub(super) struct Cells {
    pub(super) generation: AtomicU64,
    /// 0, [`EXPORT`] or [`BINDING`]; in the first row the layout.
    pub(super) kind: u64,
    /// Of a binding: number of its export's row, and the row's generation then. In the first row: process id, and
    /// the time in ns for which `counter` holds.
    pub(super) of: u64,
    pub(super) of_generation: u64,
    pub(super) traffic: Traffic,
    /// In the first row: a value of the time-stamp counter.
    pub(super) counter: u64,
    pub(super) text: [u8; TEXT],
}

const _: () = assert!(size_of::<Cells>() == ROW);

struct Table {
    rows: *mut Cells,
    free: Mutex<Vec<usize>>,
    /// What readers open.
    _file: OwnedFd,
}

// SAFETY: rows are written by their owners only, see `Row`.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

fn table() -> Result<&'static Table, RegistryError> {
    static MADE: OnceLock<Result<Table, Errno>> = OnceLock::new();
    MADE.get_or_init(make).as_ref().map_err(|error| RegistryError::Memory((*error).into()))
}

fn make() -> Result<Table, Errno> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file =
        fs::memfd_create(NAME, flags | MemfdFlags::NOEXEC_SEAL).or_else(|_| fs::memfd_create(NAME, flags))?;
    fs::ftruncate(&file, (ROWS * ROW) as u64)?;
    let rights = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping where the kernel likes, kept for good.
    let rows = unsafe { mm::mmap(std::ptr::null_mut(), ROWS * ROW, rights, MapFlags::SHARED, &file, 0)? };
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::FUTURE_WRITE | SealFlags::SEAL;
    fs::fcntl_add_seals(&file, seals)?;
    let rows = rows.cast::<Cells>();
    let now = clock_gettime(ClockId::Monotonic);
    // SAFETY: the first row, which nobody else writes; mapped memory of zeros is a valid row.
    unsafe {
        (*rows).of = u64::from(std::process::id());
        (*rows).of_generation = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        (*rows).counter = time_stamp();
        (*rows).kind = LAYOUT;
        (*rows).generation.store(2, Ordering::Release);
    }
    Ok(Table { rows, free: Mutex::new((1..ROWS).rev().collect()), _file: file })
}

/// The processor's time-stamp counter, which durations are counted in.
pub(super) fn time_stamp() -> u64 {
    // SAFETY: every x86-64 processor has it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// A row in use: it is given back when dropped.
pub(crate) struct Row {
    number: usize,
    cells: *const Cells,
}

// SAFETY: after `new` only the atomics of the row are used.
unsafe impl Send for Row {}
// SAFETY: as above.
unsafe impl Sync for Row {}

impl Row {
    /// Lists an export, or a binding `of` one. Text that does not fit is cut off.
    ///
    /// # Errors
    /// [`RegistryError::Full`], or no memory for the table.
    pub(super) fn new(of: Option<&Row>, fields: &[&str]) -> Result<Arc<Row>, RegistryError> {
        let table = table()?;
        let number = table.free.lock().unwrap_or_else(|e| e.into_inner()).pop();
        let number = number.ok_or(RegistryError::Full(ROWS - 1))?;
        let mut text = [0; TEXT];
        let joined = fields.iter().flat_map(|field| field.bytes().filter(|b| *b != 0).chain([0]));
        for (to, from) in text[..TEXT - fields.len()].iter_mut().zip(joined) {
            *to = from;
        }
        let kind = if of.is_some() { BINDING } else { EXPORT };
        let (of, of_generation) = of.map_or((0, 0), |row| (row.number as u64, row.generation()));
        // SAFETY: a row that was free is this thread's alone.
        let cells = unsafe {
            let cells = table.rows.add(number);
            change(cells, |cells| {
                (*cells).kind = kind;
                (*cells).of = of;
                (*cells).of_generation = of_generation;
                (*cells).traffic = Traffic::default();
                (*cells).text = text;
            });
            cells
        };
        Ok(Arc::new(Row { number, cells }))
    }

    /// Where calls are counted: stays in place for good.
    pub(crate) fn traffic(&self) -> &Traffic {
        // SAFETY: mapped for good; atomics.
        unsafe { &(*self.cells).traffic }
    }

    fn generation(&self) -> u64 {
        // SAFETY: as above.
        unsafe { (*self.cells).generation.load(Ordering::Relaxed) }
    }
}

impl Drop for Row {
    fn drop(&mut self) {
        // SAFETY: the row is ours until it is in the list.
        unsafe { change(self.cells.cast_mut(), |cells| (*cells).kind = 0) };
        if let Ok(table) = table() {
            table.free.lock().unwrap_or_else(|e| e.into_inner()).push(self.number);
        }
    }
}

/// Changes a row so that readers notice.
///
/// # Safety
/// The row is the caller's.
unsafe fn change(cells: *mut Cells, change: impl FnOnce(*mut Cells)) {
    // SAFETY: as the caller says.
    let generation = unsafe { &(*cells).generation };
    generation.fetch_add(1, Ordering::AcqRel);
    fence(Ordering::SeqCst);
    change(cells);
    generation.fetch_add(1, Ordering::Release);
}
