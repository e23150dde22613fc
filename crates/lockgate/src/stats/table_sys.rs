//! The table of exports, bindings and domains that other processes can read.
//!
//! It is a memory file of rows, found by its name among the process's descriptors: who may open it there is who may
//! trace the process. Proxies count calls in the rows themselves, so that a reader sees live numbers and costs the
//! process nothing. Only this process can ever write to it. Exports and bindings have rows of their own, so that many
//! domains do not crowd them out; a domain that finds none is not listed.
//!
//! The first row describes the table. A row's first word is odd while the row changes, and another number afterwards.
use super::{NoRow, Traffic, generation};
use crate::host::{Owner, PerProcess, locked, memory_file};
use rustix::fs::{self, MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{self, MapFlags, ProtFlags};
use rustix::time::{ClockId, clock_gettime};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

/// Name of the memory file.
pub(crate) const NAME: &str = "lockgate-registry";
/// Bytes of a row.
pub(crate) const ROW: usize = 512;
/// Rows of exports and bindings, the first included.
pub(crate) const BOUND: usize = 8192;
/// All rows: those of domains follow.
pub(crate) const ROWS: usize = BOUND + 8192;
/// Bytes of text in a row: fields that end with zeros.
pub(crate) const TEXT: usize = ROW - 64;
/// Version of this layout, and of nothing else.
pub(crate) const LAYOUT: u64 = 2;
/// What a row holds.
pub(crate) const EXPORT: u64 = 1;
pub(crate) const BINDING: u64 = 2;
pub(crate) const DOMAIN: u64 = 3;

/// What a domain's row counts, by its place among the row's numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Gauge {
    /// Bytes.
    Memory,
    /// Calls that ended by a fault.
    Faults,
    /// CPU time, nanoseconds, if it is measured.
    Cpu,
    /// In the low half threads that have a place in the domain, in the high half those inside at the last sample.
    Threads,
}

/// Which of a binding's numbers is its domain's row: number in the low half, low half of its generation above.
const SERVER: usize = 3;

/// One row.
#[repr(C, align(64))]
pub(crate) struct Cells {
    pub(crate) generation: AtomicU64,
    /// 0, [`EXPORT`] or [`BINDING`]; in the first row the layout.
    pub(crate) kind: u64,
    /// Of a binding: number of its export's row, and the row's generation then. In the first row: process id, and
    /// the time in ns for which `counter` holds.
    pub(crate) of: u64,
    pub(crate) of_generation: u64,
    /// Of a binding: [`Traffic`], and the row of the domain called. Of a domain: by [`Gauge`]. In the first row the last one
    /// is a value of the time-stamp counter.
    numbers: [AtomicU64; NUMBERS],
    pub(crate) text: [u8; TEXT],
}

/// Numbers of a row.
const NUMBERS: usize = 4;

const _: () = assert!(size_of::<Cells>() == ROW && size_of::<Traffic>() <= NUMBERS * 8);

struct Table {
    rows: *mut Cells,
    free: Mutex<Vec<usize>>,
    /// The same for domains.
    free_domains: Mutex<Vec<usize>>,
    /// What readers open.
    _file: OwnedFd,
}

// SAFETY: rows are written by their owners only, see `Row`.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

static MADE: PerProcess<OnceLock<Result<Table, Errno>>> = PerProcess::new(OnceLock::new);

/// True if some of `range` is the table.
pub(crate) fn is_table(range: &Range<u64>) -> bool {
    let Some(Ok(table)) = MADE.get().get() else { return false };
    let start = table.rows.addr() as u64;
    start < range.end && range.start < start + (ROWS * ROW) as u64
}

fn table() -> Result<&'static Table, NoRow> {
    MADE.get_or_init(make).as_ref().map_err(|error| NoRow::Memory(*error))
}

fn make() -> Result<Table, Errno> {
    let size = (ROWS * ROW) as u64;
    let file = memory_file(NAME, MemfdFlags::ALLOW_SEALING, MemfdFlags::NOEXEC_SEAL, size)?;
    let rights = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping where the kernel likes, kept for good.
    let rows = unsafe { mm::mmap(std::ptr::null_mut(), ROWS * ROW, rights, MapFlags::SHARED, &file, 0)? };
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::FUTURE_WRITE | SealFlags::SEAL;
    fs::fcntl_add_seals(&file, seals)?;
    let rows = rows.cast::<Cells>();
    let now = clock_gettime(ClockId::Monotonic);
    // SAFETY: the first row, which no other thread writes; mapped memory of zeros is a valid row.
    unsafe {
        (*rows).of = u64::from(std::process::id());
        (*rows).of_generation = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        (*rows).numbers[NUMBERS - 1].store(time_stamp(), Ordering::Relaxed);
        (*rows).kind = LAYOUT;
        (*rows).generation.store(2, Ordering::Release);
    }
    let free = Mutex::new((1..BOUND).rev().collect());
    Ok(Table { rows, free, free_domains: Mutex::new((BOUND..ROWS).rev().collect()), _file: file })
}

impl Table {
    /// The free rows among which `number` belongs.
    fn free(&self, of_domains: bool) -> MutexGuard<'_, Vec<usize>> {
        let free = if of_domains { &self.free_domains } else { &self.free };
        locked(free)
    }
}

/// The processor's time-stamp counter, which durations are counted in.
pub(crate) fn time_stamp() -> u64 {
    // SAFETY: every x86-64 processor has it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// A row in use: it is given back when dropped.
#[derive(Debug)]
pub(crate) struct Row {
    number: usize,
    cells: *const Cells,
    /// Whose table it is in: a forked child has the memory of its parent's, too.
    owner: Owner,
}

// SAFETY: after `new` only the atomics of the row are used.
unsafe impl Send for Row {}
// SAFETY: as above.
unsafe impl Sync for Row {}

impl Row {
    /// Lists an export. Text that does not fit is cut off.
    ///
    /// # Errors
    /// [`NoRow::Full`], or no memory for the table.
    pub(crate) fn export(fields: &[&str]) -> Result<Arc<Row>, NoRow> {
        Row::new(EXPORT, None, fields, 0)
    }

    /// Lists a binding `of` an export, or of a function that is none.
    ///
    /// # Errors
    /// As [`export`](Row::export).
    pub(crate) fn binding(of: Option<&Row>, fields: &[&str]) -> Result<Arc<Row>, NoRow> {
        Row::new(BINDING, of, fields, 0)
    }

    /// The same for an import of a domain's. How many there are is for modules to say, which do not trust each other: half of the rows are not
    /// for them, and one that finds no other is not listed.
    ///
    /// # Errors
    /// No memory for the table.
    pub(crate) fn import(of: &Row, fields: &[&str]) -> Result<Option<Arc<Row>>, NoRow> {
        match Row::new(BINDING, Some(of), fields, BOUND / 2) {
            Err(NoRow::Full(_)) => Ok(None),
            made => made.map(Some),
        }
    }

    /// Lists a domain.
    ///
    /// # Errors
    /// As [`export`](Row::export).
    pub(crate) fn domain(fields: &[&str]) -> Result<Arc<Row>, NoRow> {
        Row::new(DOMAIN, None, fields, 0)
    }

    /// `spared`: so many rows are to be left.
    fn new(kind: u64, of: Option<&Row>, fields: &[&str], spared: usize) -> Result<Arc<Row>, NoRow> {
        let table = table()?;
        let number = {
            let mut free = table.free(kind == DOMAIN);
            if free.len() > spared { free.pop() } else { None }
        };
        let number = number.ok_or(NoRow::Full(BOUND - 1))?;
        let text = fitted(fields);
        let (of, of_generation) = of.map_or((0, 0), |row| (row.number as u64, row.generation()));
        // SAFETY: a row that was free is this thread's alone.
        let cells = unsafe {
            let cells = table.rows.add(number);
            generation::change(&(*cells).generation, || {
                (*cells).kind = kind;
                (*cells).of = of;
                (*cells).of_generation = of_generation;
                (*cells).numbers = Default::default();
                (*cells).text = text;
            });
            cells
        };
        Ok(Arc::new(Row { number, cells, owner: Owner::this() }))
    }

    /// A row of the parent's, which a forked child leaves alone.
    fn is_inherited(&self) -> bool {
        !self.owner.may_drop()
    }

    /// Where calls are counted: stays in place for good.
    pub(crate) fn traffic(&self) -> &Traffic {
        // SAFETY: mapped for good; a `Traffic` is as many atomics as a row begins its numbers with.
        unsafe { &*(&raw const (*self.cells).numbers).cast() }
    }

    fn numbers(&self) -> &[AtomicU64; NUMBERS] {
        // SAFETY: mapped for good; atomics.
        unsafe { &(*self.cells).numbers }
    }

    /// Publishes a domain's number.
    pub(crate) fn set(&self, gauge: Gauge, value: u64) {
        if self.is_inherited() {
            return;
        }
        self.numbers()[gauge as usize].store(value, Ordering::Relaxed);
    }

    /// Counts one more.
    pub(crate) fn count(&self, gauge: Gauge) {
        if self.is_inherited() {
            return;
        }
        self.numbers()[gauge as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Publishes one half of [`Gauge::Threads`].
    pub(crate) fn set_threads(&self, inside: bool, value: u32) {
        if self.is_inherited() {
            return;
        }
        let shift = if inside { 32 } else { 0 };
        let kept = !(u64::from(u32::MAX) << shift);
        let change = |old: u64| Some(old & kept | u64::from(value) << shift);
        let _ = self.numbers()[Gauge::Threads as usize].fetch_update(
            Ordering::Relaxed,
            Ordering::Relaxed,
            change,
        );
    }

    /// Says which domain a binding leads to.
    pub(crate) fn serve(&self, domain: Option<&Row>) {
        if self.is_inherited() {
            return;
        }
        let reference = domain.map_or(0, |row| server_reference(row.number as u64, row.generation()));
        self.numbers()[SERVER].store(reference, Ordering::Relaxed);
    }

    fn generation(&self) -> u64 {
        // SAFETY: as above.
        unsafe { (*self.cells).generation.load(Ordering::Relaxed) }
    }
}

impl Drop for Row {
    fn drop(&mut self) {
        if self.is_inherited() {
            return;
        }
        let cells = self.cells.cast_mut();
        // SAFETY: the row is ours until it is in the list.
        unsafe { generation::change(&(*cells).generation, || (*cells).kind = 0) };
        if let Ok(table) = table() {
            table.free(self.number >= BOUND).push(self.number);
        }
    }
}

/// What a field ends in that is not whole.
const CUT: &str = "…";

/// The field, in so many bytes, which says if that is not all of it: a list of principals without its end is another list.
fn cut(field: &mut Vec<u8>, most: usize) {
    if field.len() <= most {
        return;
    }
    let is_start = |at: &usize| field.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80);
    let end = (0..=most.saturating_sub(CUT.len())).rev().find(is_start).unwrap_or(0);
    field.truncate(end);
    field.extend(CUT.bytes().take(most - end));
}

/// The fields one after another, each with a zero behind it. Where they do not fit, the longest are cut off: numbers and short words
/// stay whole behind whatever names.
fn fitted(fields: &[&str]) -> [u8; TEXT] {
    let bytes = |field: &str| -> Vec<u8> { field.bytes().filter(|byte| *byte != 0).collect() };
    let mut fields: Vec<Vec<u8>> = fields.iter().map(|field| bytes(field)).collect();
    let room = TEXT - fields.len();
    let fits = |most: &usize| fields.iter().map(|field| field.len().min(*most)).sum::<usize>() <= room;
    let most = (0..=room).rev().find(fits).unwrap_or(0);
    fields.iter_mut().for_each(|field| cut(field, most));
    let mut text = [0; TEXT];
    let joined = fields.into_iter().flat_map(|field| field.into_iter().chain([0]));
    for (to, from) in text.iter_mut().zip(joined) {
        *to = from;
    }
    text
}

/// How a binding's row names the row of its domain.
pub(crate) fn server_reference(number: u64, generation: u64) -> u64 {
    generation << 32 | number
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(fields: &[&str]) -> Vec<String> {
        let text = fitted(fields);
        let fields = text.split(|byte| *byte == 0).take(fields.len());
        fields.map(|field| String::from_utf8(field.to_vec()).expect("whole letters")).collect()
    }

    /// Who reads a list of principals must not take its beginning for all of it.
    #[test]
    fn what_is_cut_off_says_so() {
        let whole = ["name", "1.0", "host", "everyone"];
        assert_eq!(shown(&whole), whole);
        let allowed = "user 1000, ".repeat(100) + "everyone";
        for name in ["short", &"ü".repeat(300)] {
            let shown = shown(&[name, "1.0", &allowed]);
            assert_eq!((shown.len(), shown[1].as_str()), (3, "1.0"));
            for (shown, whole) in [(&shown[0], name), (&shown[2], &allowed)] {
                let cut = shown.strip_suffix(CUT);
                assert!(shown == whole || cut.is_some_and(|cut| cut.len() > 50 && whole.starts_with(cut)));
            }
            assert!(shown[2].ends_with(CUT));
        }
    }
}
