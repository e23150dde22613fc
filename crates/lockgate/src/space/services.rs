//! Memory services of a domain: brk and the mmap family, over its own heap and mmap area only.
//!
//! Header, gate table, code, constants, stacks and their guards lie outside `area`: no service can
//! name them (rules R2, R3). Nothing is ever unmapped, only made inaccessible (rule R1), and nothing becomes
//! executable (rule R4): [`Protection`] cannot say it.
//!
//! A little of what a domain gives back is kept for its next request (docs/decisions/0049-kept-memory.md): allocators give back and
//! ask again all the time, and the kernel takes a microsecond for every page.
use super::ranges::Ranges;
use super::stride_sys::{Backing, Stride};
use crate::registry::{Gauge, Row};
use crate::syscall::{Placement, Protection};
use lockgate_abi::{PAGE, window};
use rustix::io::Errno;
use rustix::mm::ProtFlags;
use std::ops::{Deref, DerefMut, Range};
use std::sync::{Arc, Mutex, MutexGuard};

/// Largest number of separate mappings of one domain: the process has 65,530 of them by default.
const MAX_MAPPINGS: usize = 1024;

/// Largest piece of memory that is kept when a domain gives it back, and most that is kept of one domain, in bytes.
const KEPT_PIECE: u64 = 2 << 20;
const KEPT: u64 = 4 << 20;
/// Least length of memory, in bytes, that `MADV_FREE` gives back. musl's allocator frees single pages so; each would cost a system call
/// of the host's and a page fault at its next use.
const FREED: u64 = 64 << 10;

/// The memory that a domain asked for and got.
#[derive(Debug)]
pub(crate) struct Services {
    /// Where services work: from the image's end to the shared region.
    area: Range<u64>,
    limit: u64,
    books: Mutex<Books>,
    /// Where other processes read how much is used.
    row: Option<Arc<Row>>,
}

/// The books, open; what is used is published when they are closed.
struct Open<'a> {
    books: MutexGuard<'a, Books>,
    row: Option<&'a Row>,
}

impl Deref for Open<'_> {
    type Target = Books;

    fn deref(&self) -> &Books {
        &self.books
    }
}

impl DerefMut for Open<'_> {
    fn deref_mut(&mut self) -> &mut Books {
        &mut self.books
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if let Some(row) = self.row {
            row.set(Gauge::Memory, self.books.used);
        }
    }
}

#[derive(Debug)]
struct Books {
    ranges: Ranges,
    /// Those of them that a file backs.
    shared: Ranges,
    /// None of them: what the domain gave back and the kernel does not know of yet. Writable, with old contents; counts against the
    /// limit, but gives way to what the domain asks for.
    kept: Ranges,
    /// End of the brk heap, any byte.
    brk: u64,
    /// Bytes that count against the limit: image, stacks, heap, mappings.
    used: u64,
    /// The most that `used` ever was.
    peak: u64,
    /// Bytes of the last request that the limit refused.
    refused: u64,
}

/// What [`Services::memo`] remembers: the books of a domain whose memory is all its own.
pub(crate) struct Memo {
    ranges: Ranges,
    brk: u64,
    used: u64,
    peak: u64,
}

impl Memo {
    /// The ranges that the module could write.
    pub fn writable(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let pieces = self.ranges.all().flat_map(|range| self.ranges.pieces(range));
        pieces.filter(|(_, rights)| *rights == Protection::ReadWrite).map(|(range, _)| range)
    }
}

/// What a domain's memory comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Usage {
    pub limit: u64,
    pub used: u64,
    /// The most that it ever was.
    pub peak: u64,
    /// Bytes of the last request that the limit refused; 0 if none was.
    pub refused: u64,
}

impl Services {
    /// Books of a domain whose image ends at window offset `image_end`; published in `row`.
    pub fn new(image_end: u64, image_size: u64, limit: u64, row: Option<Arc<Row>>) -> Self {
        let books = Books {
            ranges: Ranges::default(),
            shared: Ranges::default(),
            kept: Ranges::default(),
            brk: image_end,
            used: image_size,
            peak: image_size,
            refused: 0,
        };
        Services { area: image_end..window::SHARED, limit, books: Mutex::new(books), row }
    }

    fn books(&self) -> Open<'_> {
        let books = self.books.lock().unwrap_or_else(|e| e.into_inner());
        Open { books, row: self.row.as_deref() }
    }

    /// Quota and use.
    pub fn usage(&self) -> Usage {
        let books = self.books();
        Usage { limit: self.limit, used: books.used, peak: books.peak, refused: books.refused }
    }

    /// Counts `bytes` that the runtime itself maps for the domain.
    ///
    /// # Errors
    /// `ENOMEM` over the limit.
    pub fn charge(&self, bytes: u64) -> Result<(), Errno> {
        self.books().charge(bytes, self.limit)
    }

    /// Takes bytes of [`charge`](Services::charge) back.
    pub fn refund(&self, bytes: u64) {
        self.books().used -= bytes;
    }

    /// Gives back everything that the domain mapped.
    ///
    /// # Errors
    /// The kernel's.
    pub fn reset(&self, stride: &Stride) -> Result<(), Errno> {
        let mut open = self.books();
        let books = &mut *open;
        books.let_go(stride)?;
        let mapped: Vec<_> = books.ranges.all().collect();
        for range in mapped {
            stride.clear(range.start, range.end - range.start)?;
            books.used -= range.end - range.start;
            books.ranges.remove(range);
        }
        // Every field by its name: whoever adds one says here what a reset makes of it.
        let Books { ranges, shared, kept, brk, used, peak, refused } = books;
        (*ranges, *shared, *kept) = <(Ranges, Ranges, Ranges)>::default();
        (*brk, *peak, *refused) = (self.area.start, *used, 0);
        Ok(())
    }

    /// The books as they are, to come back to. `None` if a file backs some of the memory: its contents are not the domain's alone.
    pub fn memo(&self) -> Option<Memo> {
        let books = self.books();
        let own = books.shared.len() == 0;
        own.then(|| Memo { ranges: books.ranges.clone(), brk: books.brk, used: books.used, peak: books.peak })
    }

    /// Gives back what the domain mapped since `memo` was made.
    ///
    /// # Errors
    /// `EINVAL` if it gave back, changed the rights of, or put a file in the place of, what it had then; else the kernel's.
    pub fn restore(&self, stride: &Stride, memo: &Memo) -> Result<(), Errno> {
        let mut open = self.books();
        let books = &mut *open;
        let same = memo.ranges.all().all(|range| {
            let own = books.shared.mapped(range.clone()) == 0;
            own && books.ranges.pieces(range.clone()).eq(memo.ranges.pieces(range))
        });
        if !same {
            return Err(Errno::INVAL);
        }
        books.let_go(stride)?;
        let mapped: Vec<_> = books.ranges.all().collect();
        for range in mapped {
            for gap in memo.ranges.gaps(range) {
                stride.clear(gap.start, gap.end - gap.start)?;
                books.ranges.remove(gap);
            }
        }
        // Every field by its name: whoever adds one says here what a reset makes of it.
        let Books { ranges, shared, kept, brk, used, peak, refused } = books;
        (*ranges, *shared, *kept) = (memo.ranges.clone(), Ranges::default(), Ranges::default());
        (*brk, *used, *peak, *refused) = (memo.brk, memo.used, memo.peak, 0);
        Ok(())
    }

    /// Linux's `brk`: the window offset of the new end, or of the old one if that cannot be.
    pub fn brk(&self, stride: &Stride, to: u64) -> u64 {
        let mut books = self.books();
        if to < self.area.start || to > self.area.end {
            return books.brk;
        }
        let (old, new) = (books.brk.next_multiple_of(PAGE), to.next_multiple_of(PAGE));
        let done = if new > old {
            let clear = books.ranges.mapped(old..new) == 0;
            if clear {
                self.place(&mut books, stride, old..new, Protection::ReadWrite, Backing::Anonymous)
            } else {
                Err(Errno::NOMEM)
            }
        } else {
            self.take_away(&mut books, stride, new..old)
        };
        if done.is_ok() {
            books.brk = to;
        }
        books.brk
    }

    /// Maps zeros or a file, shared; returns the window offset. See [`crate::syscall::Memory::map`] for the
    /// errors.
    pub fn map(
        &self,
        stride: &Stride,
        at: u64,
        length: u64,
        placement: Placement,
        rights: Protection,
        backing: Backing<'_>,
    ) -> Result<u64, Errno> {
        let mut books = self.books();
        let length = self.whole_pages(length)?;
        let start = match placement {
            Placement::Anywhere => {
                let wish = at.next_multiple_of(PAGE);
                let free = |at| {
                    let range = self.range(at, length).ok()?;
                    (books.ranges.mapped(range.clone()) == 0 && range.start >= self.brk_reserve(&books))
                        .then_some(at)
                };
                let lowest = self.brk_reserve(&books)..self.area.end;
                let gap = || books.ranges.highest_gap(lowest, length);
                free(wish).or_else(|| books.fitting(length)).or_else(gap).ok_or(Errno::NOMEM)?
            }
            Placement::Fixed => at,
            Placement::FixedNoReplace => {
                if books.ranges.mapped(self.range(at, length)?) > 0 {
                    return Err(Errno::EXIST);
                }
                at
            }
        };
        let range = self.range(start, length)?;
        self.place(&mut books, stride, range, rights, backing)?;
        Ok(start)
    }

    /// Takes `[at, at + length)` away.
    pub fn unmap(&self, stride: &Stride, at: u64, length: u64) -> Result<(), Errno> {
        let mut books = self.books();
        let range = self.range(at, self.whole_pages(length)?)?;
        self.take_away(&mut books, stride, range)
    }

    /// Changes rights.
    pub fn protect(&self, stride: &Stride, at: u64, length: u64, rights: Protection) -> Result<(), Errno> {
        let mut books = self.books();
        if length == 0 {
            return Ok(());
        }
        let range = self.range(at, self.whole_pages(length)?)?;
        if books.ranges.mapped(range.clone()) != range.end - range.start {
            return Err(Errno::NOMEM);
        }
        if books.within_mappings().is_err() {
            books.let_go(stride)?;
        }
        books.allow(|ranges| ranges.insert(range.clone(), rights))?;
        stride.protect(range.start, range.end - range.start, rights)?;
        books.ranges.insert(range, rights);
        Ok(())
    }

    /// Lets the contents go; `lazily`, if they are worth it.
    pub fn discard(&self, stride: &Stride, at: u64, length: u64, lazily: bool) -> Result<(), Errno> {
        let books = self.books();
        if length == 0 {
            return Ok(());
        }
        let range = self.range(at, self.whole_pages(length)?)?;
        if lazily && length < FREED {
            return Ok(());
        }
        for (piece, _) in books.ranges.pieces(range) {
            stride.discard(piece.start, piece.end - piece.start)?;
        }
        Ok(())
    }

    /// Resizes a mapping; returns its window offset.
    pub fn remap(
        &self,
        stride: &Stride,
        at: u64,
        length: u64,
        new: u64,
        may_move: bool,
    ) -> Result<u64, Errno> {
        let mut books = self.books();
        let (length, new) = (self.whole_pages(length)?, self.whole_pages(new)?);
        let range = self.range(at, length)?;
        let rights = books.ranges.rights(&range).ok_or(Errno::FAULT)?;
        if new > length && books.shared.mapped(range.clone()) > 0 {
            // What follows is more of the file, not zeros: the module maps it again.
            return Err(Errno::NOMEM);
        }
        if new <= length {
            self.take_away(&mut books, stride, range.start + new..range.end)?;
            return Ok(at);
        }
        if let Ok(tail) = self.range(range.end, new - length)
            && books.ranges.mapped(tail.clone()) == 0
        {
            self.place(&mut books, stride, tail, rights, Backing::Anonymous)?;
            return Ok(at);
        }
        if !may_move {
            return Err(Errno::NOMEM);
        }
        let area = self.brk_reserve(&books)..self.area.end;
        let to = books.ranges.highest_gap(area, new).ok_or(Errno::NOMEM)?;
        self.place(&mut books, stride, to..to + new, rights, Backing::Anonymous)?;
        // The kernel moves pages, and none is left to be kept: what is kept is copied.
        if books.may_keep(&range) {
            stride.copy(range.start, to, length)?;
        } else {
            stride.relocate(range.start, to, length)?;
        }
        self.take_away(&mut books, stride, range)?;
        Ok(to)
    }

    /// mmap keeps clear of some room for brk to grow, as kernels do.
    fn brk_reserve(&self, books: &Books) -> u64 {
        let room = (self.area.end - self.area.start) / 4;
        (self.area.start + room).next_multiple_of(PAGE).max(books.brk.next_multiple_of(PAGE))
    }

    fn place(
        &self,
        books: &mut Books,
        stride: &Stride,
        range: Range<u64>,
        rights: Protection,
        backing: Backing<'_>,
    ) -> Result<(), Errno> {
        let length = range.end - range.start;
        let replaced = books.ranges.mapped(range.clone());
        books.charge(length - replaced, self.limit)?;
        let done = self.back(books, stride, range.clone(), rights, backing);
        match done {
            Ok(()) => {
                match backing {
                    Backing::Shared(..) => books.shared.insert(range.clone(), rights),
                    _ => books.shared.remove(range.clone()),
                }
                books.ranges.insert(range, rights);
            }
            Err(_) => books.used -= length - replaced,
        }
        done
    }

    /// Puts memory where the books will have it.
    fn back(
        &self,
        books: &mut Books,
        stride: &Stride,
        range: Range<u64>,
        rights: Protection,
        backing: Backing<'_>,
    ) -> Result<(), Errno> {
        let length = range.end - range.start;
        let anonymous = matches!(backing, Backing::Anonymous);
        if anonymous && rights == Protection::ReadWrite && books.kept.mapped(range.clone()) == length {
            stride.blank(range.start, length)?;
            books.kept.remove(range);
            return Ok(());
        }
        let access = match rights {
            Protection::None => ProtFlags::empty(),
            Protection::Read => ProtFlags::READ,
            Protection::ReadWrite => ProtFlags::READ | ProtFlags::WRITE,
        };
        if books.used + books.kept.bytes() > self.limit || books.within_mappings().is_err() {
            books.let_go(stride)?;
        }
        books.within_mappings()?;
        stride.map(range.start, length, access, backing)?;
        books.kept.remove(range);
        Ok(())
    }

    fn take_away(&self, books: &mut Books, stride: &Stride, range: Range<u64>) -> Result<(), Errno> {
        if range.is_empty() || books.ranges.mapped(range.clone()) == 0 {
            return Ok(());
        }
        if books.may_keep(&range) {
            books.kept.insert(range.clone(), Protection::ReadWrite);
        } else {
            books.allow(|ranges| ranges.remove(range.clone()))?;
            stride.clear(range.start, range.end - range.start)?;
            books.kept.remove(range.clone());
        }
        books.used -= books.ranges.mapped(range.clone());
        books.shared.remove(range.clone());
        books.ranges.remove(range);
        Ok(())
    }

    fn whole_pages(&self, length: u64) -> Result<u64, Errno> {
        match length {
            0 => Err(Errno::INVAL),
            length if length > window::SIZE => Err(Errno::NOMEM),
            length => Ok(length.next_multiple_of(PAGE)),
        }
    }

    /// `[at, at + length)` if that is the module's to map.
    fn range(&self, at: u64, length: u64) -> Result<Range<u64>, Errno> {
        if !at.is_multiple_of(PAGE) {
            return Err(Errno::INVAL);
        }
        match at.checked_add(length) {
            Some(end) if at >= self.area.start && end <= self.area.end => Ok(at..end),
            _ => Err(Errno::PERM),
        }
    }
}

impl Books {
    fn charge(&mut self, bytes: u64, limit: u64) -> Result<(), Errno> {
        match self.used.checked_add(bytes) {
            Some(used) if used <= limit => {
                self.used = used;
                self.peak = self.peak.max(used);
                Ok(())
            }
            _ => {
                self.refused = bytes;
                Err(Errno::NOMEM)
            }
        }
    }

    fn within_mappings(&self) -> Result<(), Errno> {
        if self.ranges.len() + self.kept.len() < MAX_MAPPINGS { Ok(()) } else { Err(Errno::NOMEM) }
    }

    /// Whether a change may be made: one that leaves more mappings than there were, and too many, is not.
    ///
    /// # Errors
    /// `ENOMEM`, as Linux says.
    fn allow(&self, change: impl FnOnce(&mut Ranges)) -> Result<(), Errno> {
        let most = MAX_MAPPINGS.saturating_sub(self.kept.len());
        // No change leaves more than two more.
        if self.ranges.len() + 2 <= most {
            return Ok(());
        }
        let mut after = self.ranges.clone();
        change(&mut after);
        if after.len() <= self.ranges.len().max(most) { Ok(()) } else { Err(Errno::NOMEM) }
    }

    /// Whether all of `range` is the domain's own writable memory, and little enough to be kept.
    fn may_keep(&self, range: &Range<u64>) -> bool {
        let length = range.end - range.start;
        length <= KEPT_PIECE
            && self.within_mappings().is_ok()
            && self.kept.bytes() + length <= KEPT
            && self.shared.mapped(range.clone()) == 0
            && self.ranges.rights(range) == Some(Protection::ReadWrite)
    }

    /// Where `length` bytes of what is kept are: in the smallest piece that has them.
    fn fitting(&self, length: u64) -> Option<u64> {
        let size = |range: &Range<u64>| range.end - range.start;
        self.kept.all().filter(|range| size(range) >= length).min_by_key(size).map(|range| range.start)
    }

    /// Makes what is kept inaccessible.
    fn let_go(&mut self, stride: &Stride) -> Result<(), Errno> {
        let kept: Vec<_> = self.kept.all().collect();
        for range in kept {
            stride.clear(range.start, range.end - range.start)?;
            self.kept.remove(range);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages whose rights differ from their neighbours', and holes, are mappings of the kernel as any other. What is mapped can be given
    /// back whatever there is.
    #[test]
    fn pages_cannot_be_told_apart_without_end() {
        const PAGES: u64 = 4 * MAX_MAPPINGS as u64;
        let stride = Stride::take().expect("address space");
        for holes in [false, true] {
            let services = Services::new(window::IMAGE, 0, PAGES * PAGE, None);
            let heap = services
                .map(&stride, 0, PAGES * PAGE, Placement::Anywhere, Protection::ReadWrite, Backing::Anonymous)
                .expect("within the limit");
            let change = |page: u64| match holes {
                false => services.protect(&stride, heap + page * PAGE, PAGE, Protection::Read),
                true => services.unmap(&stride, heap + page * PAGE, PAGE),
            };
            let refused = (0..PAGES).step_by(2).find_map(|page| change(page).err());
            assert_eq!(refused, Some(Errno::NOMEM), "holes: {holes}");
            assert!(services.books().ranges.len() <= MAX_MAPPINGS);
            services.unmap(&stride, heap, PAGES * PAGE).expect("everything at once");
            assert_eq!(services.usage().used, 0);
        }
    }

    /// A domain that filled every field of the books comes back to those of a new one, by either reset.
    #[test]
    fn a_reset_leaves_nothing_in_the_books() {
        crate::call::signals_sys::install();
        let stride = Stride::take().expect("address space");
        let services = Services::new(window::IMAGE, 0, 1 << 20, None);
        let map = |at, placement, backing| {
            services.map(&stride, at, 4 * PAGE, placement, Protection::ReadWrite, backing)
        };
        let text = |services: &Services| format!("{:?}", *services.books());
        let file = rustix::fs::memfd_create("shared", rustix::fs::MemfdFlags::CLOEXEC).expect("a file");
        rustix::fs::ftruncate(&file, 4 * PAGE).expect("room");
        use rustix::fd::AsFd;
        let fill = || {
            let shared = map(0, Placement::Anywhere, Backing::Shared(file.as_fd(), 0)).expect("room");
            let kept = map(0, Placement::Anywhere, Backing::Anonymous).expect("room");
            services.unmap(&stride, kept, 4 * PAGE).expect("mapped");
            assert_eq!(services.brk(&stride, window::IMAGE + PAGE), window::IMAGE + PAGE);
            services.charge(2 << 20).expect_err("over the limit");
            let books = services.books();
            assert!(books.shared.len() > 0 && books.kept.len() > 0 && books.ranges.len() > 0);
            assert!(books.used > 0 && books.peak > books.used && books.refused > 0);
            shared
        };
        let new = text(&services);
        fill();
        services.reset(&stride).expect("the kernel's consent");
        assert_eq!(text(&services), new);
        // The quick one, of a domain that had memory at its start.
        let heap = map(0, Placement::Anywhere, Backing::Anonymous).expect("room");
        let started = text(&services);
        let memo = services.memo().expect("nothing of a file's");
        let shared = fill();
        assert!(services.memo().is_none(), "what lies in a file is no snapshot");
        services.restore(&stride, &memo).expect("the same memory");
        assert_eq!(text(&services), started);
        assert!(stride.read(shared, &mut [0]).is_err(), "the file is gone");
        map(heap, Placement::Fixed, Backing::Shared(file.as_fd(), 0)).expect("in its place");
        assert_eq!(services.restore(&stride, &memo), Err(Errno::INVAL), "a file lies where the heap was");
        services.reset(&stride).expect("the kernel's consent");
        assert_eq!(text(&services), new);
    }

    /// A page that goes under the host's hands is an error of the request, not the host's fault.
    #[test]
    fn r23_memory_is_emptied_as_far_as_it_goes() {
        crate::call::signals_sys::install();
        let stride = Stride::take().expect("address space");
        let (at, rights) = (window::IMAGE, ProtFlags::READ | ProtFlags::WRITE);
        stride.map(at, 2 * PAGE, rights, Backing::Anonymous).expect("memory");
        stride.write(at, &[1; 2 * PAGE as usize]).expect("writable");
        assert_eq!(stride.blank(at + PAGE, 2 * PAGE), Err(Errno::FAULT));
        let mut bytes = [2; 2 * PAGE as usize];
        stride.read(at, &mut bytes).expect("readable");
        assert_eq!(bytes.iter().map(|byte| usize::from(*byte)).sum::<usize>(), PAGE as usize);
    }

    /// Rule R1: not even until the old place is taken away, because another thread of the host may map at any moment.
    #[test]
    fn moved_pages_leave_no_hole() {
        let stride = Stride::take().expect("address space");
        let [from, to] = [0, 16 * PAGE].map(|skip| window::IMAGE + skip);
        stride.map(from, PAGE, ProtFlags::READ, Backing::Anonymous).expect("room");
        stride.map(to, PAGE, ProtFlags::READ, Backing::Anonymous).expect("room");
        stride.relocate(from, to, PAGE).expect("room");
        let maps = std::fs::read_to_string("/proc/self/maps").expect("/proc is mounted");
        let range = |line: &str| {
            let (start, end) = line.split(' ').next()?.split_once('-')?;
            Some(u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?)
        };
        let left = stride.base() + from;
        assert!(maps.lines().filter_map(range).any(|range| range.contains(&left)), "a hole:\n{maps}");
    }
}
