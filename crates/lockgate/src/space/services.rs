//! Memory services of a domain: brk and the mmap family, over its own heap and mmap area only.
//!
//! Header, gate table, code, constants, stacks and their guards lie outside `area`: no service can
//! name them (rules R2, R3). Nothing is ever unmapped, only made inaccessible (rule R1), and nothing becomes
//! executable (rule R4): [`Protection`] cannot say it.
//!
//! What a domain has is counted as the kernel counts it at worst: a process has 65,530 mappings by default, for all of its domains and
//! itself.
//!
//! A little of what a domain gives back is kept for its next request (docs/decisions/0049-kept-memory.md): allocators give back and
//! ask again all the time, and the kernel takes a microsecond for every page.
use super::ranges::Ranges;
use super::stride_sys::{Backing, Staged, Stride};
use super::written;
use crate::host::locked;
use crate::stats::{Gauge, Row};
use lockgate_abi::{PAGE, window};
use lockgate_syscall::{Placement, Protection, Resize};
use rustix::io::Errno;
use rustix::mm::ProtFlags;
use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut, Range};
use std::sync::{Arc, Mutex, MutexGuard};

/// Separate mappings of one domain, if its options say nothing else. The kernel may need two for each, what is mapped and what is not.
pub(crate) const MAPPINGS: u32 = 1024;
/// What options can say at most: the kernel's two for each are half of what a process has by default, so one domain alone never uses up
/// what the host and other domains live on.
pub(crate) const MAX_MAPPINGS: u32 = 16_384;

/// Bytes that a moved mapping's pages are copied by before the call's time limit is looked at.
const COPIED: u64 = 1 << 20;

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
    /// Bytes that the domain may have.
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
    /// Separate mappings that the domain may have.
    most: usize,
    ranges: Ranges,
    /// Those of them that a file backs, each mapping by itself: neighbours are two for the kernel, with equal rights, too.
    shared: Ranges,
    /// Those of them that hold a copy of a file: the kernel takes them for anonymous memory.
    copies: Ranges,
    /// Window offsets where the kernel may have two mappings for one piece of `ranges`, or of what is not mapped.
    seams: BTreeSet<u64>,
    /// Requests until it is worth the while to ask the kernel which of them there are.
    budget: u32,
    /// Not in `ranges`: the domain gave it back, and it stays mapped for the next request. Writable, with old contents; counts against the
    /// limit, but gives way to what the domain asks for.
    kept: Ranges,
    /// What the module could not write when a memo was made, of which there is no copy; and whether it has asked for a change of that since:
    /// it may have written it meanwhile, although it has the same rights again.
    constant: Ranges,
    constant_touched: bool,
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
    copies: Ranges,
    brk: u64,
    used: u64,
    peak: u64,
}

impl Memo {
    /// The ranges that the module could write.
    pub fn writable(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let pieces = self.ranges.all_pieces();
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
    /// Books of a domain whose image ends at window offset `image_end`, and that may have `limit` bytes in `mappings` separate mappings;
    /// published in `row`.
    pub fn new(image_end: u64, image_size: u64, limit: u64, mappings: u32, row: Option<Arc<Row>>) -> Self {
        let books = Books {
            most: mappings as usize,
            ranges: Ranges::default(),
            shared: Ranges::unmerged(),
            copies: Ranges::default(),
            kept: Ranges::default(),
            constant: Ranges::default(),
            constant_touched: false,
            seams: BTreeSet::new(),
            budget: 0,
            brk: image_end,
            used: image_size,
            peak: image_size,
            refused: 0,
        };
        Services { area: image_end..window::SHARED, limit, books: Mutex::new(books), row }
    }

    fn books(&self) -> Open<'_> {
        let books = locked(&self.books);
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
        // From the end, where a piece leaves the array without moving others.
        for range in mapped.into_iter().rev() {
            self.close(books, stride, range.clone())?;
            books.used -= range.end - range.start;
            books.ranges.remove(range);
        }
        let used = books.used;
        books.become_as(&Memo {
            ranges: Ranges::default(),
            copies: Ranges::default(),
            brk: self.area.start,
            used,
            peak: used,
        });
        (books.constant, books.constant_touched) = (Ranges::default(), false);
        Ok(())
    }

    /// The books as they are, to come back to. `None` if a file backs some of the memory: its contents are not the domain's alone.
    pub fn memo(&self) -> Option<Memo> {
        let mut books = self.books();
        let own = books.shared.len() == 0;
        let mut constant = Ranges::default();
        for (range, rights) in books.ranges.all_pieces() {
            if rights != Protection::ReadWrite {
                constant.insert(range, rights);
            }
        }
        (books.constant, books.constant_touched) = (constant, false);
        own.then(|| Memo {
            ranges: books.ranges.clone(),
            copies: books.copies.clone(),
            brk: books.brk,
            used: books.used,
            peak: books.peak,
        })
    }

    /// Gives back what the domain mapped since `memo` was made.
    ///
    /// # Errors
    /// `EINVAL` if it gave back, changed the rights of, or put a file in the place of, what it had then, or changed anything of what it could
    /// not write, even if that is as it was; else the kernel's.
    pub fn restore(&self, stride: &Stride, memo: &Memo) -> Result<(), Errno> {
        let mut open = self.books();
        let books = &mut *open;
        let same = memo.ranges.all().all(|range| {
            let own = books.shared.mapped(range.clone()) == 0;
            own && books.ranges.pieces(range.clone()).eq(memo.ranges.pieces(range))
        });
        if !same || books.constant_touched {
            return Err(Errno::INVAL);
        }
        books.let_go(stride)?;
        let mapped: Vec<_> = books.ranges.all().collect();
        for range in mapped.into_iter().rev() {
            for gap in memo.ranges.gaps(range) {
                self.close(books, stride, gap.clone())?;
                books.ranges.remove(gap);
            }
        }
        books.become_as(memo);
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

    /// Maps zeros or a file, shared; returns the window offset. See [`lockgate_syscall::Memory::map`] for the
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
                // A page of the reservation's own stays above a file: what was a file's becomes one mapping with it when the file goes.
                let apart = if matches!(backing, Backing::Anonymous | Backing::Copy) { 0 } else { PAGE };
                let gap = || books.ranges.highest_gap(lowest, length + apart);
                free(wish).or_else(|| books.fitting(length + apart)).or_else(gap).ok_or(Errno::NOMEM)?
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

    /// The copy of a file is in its place, [`Backing::Copy`]: it gets the rights that the books have for it, whichever thread has changed them
    /// meanwhile.
    ///
    /// # Errors
    /// The kernel's; the copy is gone then.
    pub fn copied(&self, stride: &Stride, at: u64, length: u64) -> Result<(), Errno> {
        let mut books = self.books();
        let range = self.range(at, self.whole_pages(length)?)?;
        let mut pieces = books.ranges.pieces(range.clone());
        let settled = pieces.try_for_each(|(piece, rights)| {
            stride.protect(piece.start, piece.end - piece.start, rights)?;
            if rights == Protection::None {
                stride.hide(piece.start, piece.end - piece.start);
            }
            Ok(())
        });
        drop(pieces);
        settled.or_else(|error| self.take_away(&mut books, stride, range).and(Err(error)))
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
            books.make_room(stride, &self.area)?;
        }
        books.allow(&range, |ranges| ranges.insert(range.clone(), rights))?;
        books.touch(&range);
        stride.protect(range.start, range.end - range.start, rights)?;
        match rights {
            Protection::None => stride.hide(range.start, range.end - range.start),
            _ => stride.show(range.start, range.end - range.start),
        }
        books.met(&range, rights, true);
        books.ranges.insert(range, rights);
        Ok(())
    }

    /// Lets the contents go; `lazily`, if they are worth it.
    ///
    /// # Errors
    /// `EINVAL` for what holds the copy of a file: what the file has now is unknown.
    pub fn discard(&self, stride: &Stride, at: u64, length: u64, lazily: bool) -> Result<(), Errno> {
        let mut books = self.books();
        if length == 0 {
            return Ok(());
        }
        let range = self.range(at, self.whole_pages(length)?)?;
        if books.copies.mapped(range.clone()) > 0 {
            return Err(Errno::INVAL);
        }
        if lazily && length < FREED {
            return Ok(());
        }
        books.touch(&range);
        for (piece, _) in books.ranges.pieces(range) {
            stride.discard(piece.start, piece.end - piece.start)?;
        }
        Ok(())
    }

    /// Looks whether all is mapped; with `wait`, waits until what was written to shared files is on the disk.
    ///
    /// # Errors
    /// `ENOMEM` for what is not mapped, which is found before anything is written; the kernel's.
    pub fn sync(&self, stride: &Stride, at: u64, length: u64, wait: bool) -> Result<(), Errno> {
        let range = self.range(at, self.whole_pages(length)?)?;
        let books = self.books();
        if books.ranges.mapped(range.clone()) != range.end - range.start {
            return Err(Errno::NOMEM);
        }
        let files: Vec<_> = books.shared.pieces(range).map(|(file, _)| file).collect();
        // The disk takes its time, and other threads map meanwhile. What they put there instead is the domain's as well.
        drop(books);
        match wait {
            true => files.into_iter().try_for_each(|file| stride.sync(file.start, file.end - file.start)),
            false => Ok(()),
        }
    }

    /// Resizes a mapping; returns its window offset. Where it has to move its pages are copied, while `go_on` lets it: the kernel's own
    /// way to move them empties the new place first and can then fail.
    ///
    /// # Errors
    /// `ENOMEM`, `EFAULT` as Linux says; `EINTR` if `go_on` did not let it.
    pub fn remap(
        &self,
        stride: &Stride,
        Resize { at, length, new_length, may_move }: Resize,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<u64, Errno> {
        let mut books = self.books();
        let (length, new) = (self.whole_pages(length)?, self.whole_pages(new_length)?);
        let range = self.range(at, length)?;
        let rights = books.ranges.rights(&range).ok_or(Errno::FAULT)?;
        if new > length && books.shared.mapped(range.clone()) + books.copies.mapped(range.clone()) > 0 {
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
        // What cannot be read cannot be copied.
        if !may_move || rights == Protection::None {
            return Err(Errno::NOMEM);
        }
        let area = self.brk_reserve(&books)..self.area.end;
        let to = books.ranges.highest_gap(area, new).ok_or(Errno::NOMEM)?;
        self.place(&mut books, stride, to..to + new, Protection::ReadWrite, Backing::Anonymous)?;
        // Other threads of the domain need not wait for the copy. If they change either place meanwhile that is between them.
        drop(books);
        let moved = copy(stride, &range, to, go_on).and_then(|()| match rights {
            Protection::ReadWrite => Ok(()),
            _ => self.protect(stride, to, new, rights),
        });
        let mut books = self.books();
        match moved {
            Ok(()) => self.take_away(&mut books, stride, range).map(|()| to),
            Err(error) => {
                self.take_away(&mut books, stride, to..to + new)?;
                Err(error)
            }
        }
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
        books.touch(&range);
        if let Err(error) = self.back(books, stride, range.clone(), rights, backing) {
            // What was there may be gone.
            books.used -= length - books.ranges.mapped(range);
            return Err(error);
        }
        match backing {
            Backing::Shared(..) => books.shared.insert(range.clone(), rights),
            // With rights of their own, neighbours are one piece.
            Backing::Copy => books.copies.insert(range.clone(), Protection::Read),
            _ => books.copies.remove(range.clone()),
        }
        books.met(&range, rights, matches!(backing, Backing::Copy));
        books.ranges.insert(range, rights);
        Ok(())
    }

    /// Puts memory where the books will have it. If that fails they have what is left of the old.
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
        // Filled by the caller, who then lets the kernel know the rights.
        let copy = matches!(backing, Backing::Copy);
        let readable = rights != Protection::None;
        if (anonymous || copy)
            && rights == Protection::ReadWrite
            && books.kept.mapped(range.clone()) == length
        {
            stride.blank(range.start, length)?;
            books.kept.remove(range);
            return Ok(());
        }
        if anonymous
            && readable
            && books.ranges.rights(&range) == Some(rights)
            && books.shared.mapped(range.clone()) + books.copies.mapped(range.clone()) == 0
        {
            return stride.discard(range.start, length);
        }
        let access = match rights {
            _ if copy => ProtFlags::READ | ProtFlags::WRITE,
            Protection::None => ProtFlags::empty(),
            Protection::Read => ProtFlags::READ,
            Protection::ReadWrite => ProtFlags::READ | ProtFlags::WRITE,
        };
        if books.used + books.kept.bytes() > self.limit || books.within_mappings().is_err() {
            books.make_room(stride, &self.area)?;
        }
        books.within_mappings()?;
        // Whatever may be refused is refused before anything goes.
        let staged = match backing {
            Backing::Shared(file, from) => Some(Staged::shared(length, access, file, from)?),
            _ => None,
        };
        if books.ranges.mapped(range.clone()) + books.kept.mapped(range.clone()) > 0 {
            self.close(books, stride, range.clone())?;
            books.copies.remove(range.clone());
            books.ranges.remove(range.clone());
        }
        match staged {
            Some(staged) => stride.adopt(staged, range.start),
            None => stride.map(range.start, length, access, backing),
        }
    }

    fn take_away(&self, books: &mut Books, stride: &Stride, range: Range<u64>) -> Result<(), Errno> {
        if range.is_empty() || books.ranges.mapped(range.clone()) == 0 {
            return Ok(());
        }
        books.touch(&range);
        if books.may_keep(&range) {
            books.kept.insert(range.clone(), Protection::ReadWrite);
        } else {
            let change = |ranges: &mut Ranges| ranges.remove(range.clone());
            if books.allow(&range, change).is_err() {
                // (What is kept stays: this call must not need room of others, for it is what gives some back.)
                books.look_again(stride, &self.area);
                books.allow(&range, change)?;
            }
            self.close(books, stride, range.clone())?;
        }
        books.used -= books.ranges.mapped(range.clone());
        books.copies.remove(range.clone());
        books.ranges.remove(range);
        Ok(())
    }

    /// Makes a place inaccessible, whatever is there.
    fn close(&self, books: &mut Books, stride: &Stride, range: Range<u64>) -> Result<(), Errno> {
        stride.clear(range.start, range.end - range.start)?;
        books.kept.remove(range.clone());
        let files: Vec<_> = books.shared.pieces(range.clone()).map(|(file, _)| file).collect();
        for file in &files {
            stride.settle(file.start, file.end - file.start)?;
        }
        books.shared.remove(range.clone());
        if !Stride::united() {
            let gone: Vec<u64> = books.seams.range(range.start..=range.end).copied().collect();
            for seam in gone {
                books.seams.remove(&seam);
            }
            return Ok(());
        }
        for file in files {
            // Between two files it is one mapping, but none with what was there, or will be there.
            let beside = |at: u64| books.shared.mapped(at..at + PAGE) > 0;
            if beside(file.start - PAGE) && beside(file.end) {
                books.seams.extend([file.start, file.end]);
            }
        }
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
    /// Something of `range` changes: its rights, or what is there.
    fn touch(&mut self, range: &Range<u64>) {
        self.constant_touched |= self.constant.mapped(range.clone()) > 0;
    }

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
        if self.mappings(&self.ranges, 0) < self.most { Ok(()) } else { Err(Errno::NOMEM) }
    }

    /// Mappings, at worst, if `ranges` are what is mapped; each may be two for the kernel, with what is behind it, or between two files.
    /// (Copies of files are none of the kernel's business, but their list must end somewhere: `cuts` is what it grows by.)
    fn mappings(&self, ranges: &Ranges, cuts: usize) -> usize {
        let own = ranges.len().max(self.copies.len() + cuts);
        own + self.kept.len() + self.shared.len() + self.seams.len()
    }

    /// Whether a change may be made: one that leaves more mappings than there were, and too many, is not.
    ///
    /// # Errors
    /// `ENOMEM`, as Linux says.
    fn allow(&self, changed: &Range<u64>, change: impl FnOnce(&mut Ranges)) -> Result<(), Errno> {
        // A file that is cut in two is two.
        let both = |ranges: &Ranges, at: u64| usize::from(ranges.mapped(at - PAGE..at + PAGE) == 2 * PAGE);
        let cut = |ranges: &Ranges| both(ranges, changed.start) + both(ranges, changed.end);
        let files = cut(&self.shared);
        // No change leaves more than two more.
        if self.mappings(&self.ranges, 0) + 2 + files <= self.most {
            return Ok(());
        }
        let mut after = self.ranges.clone();
        change(&mut after);
        let (now, then) = (self.mappings(&self.ranges, 0), self.mappings(&after, cut(&self.copies)) + files);
        if then <= now.max(self.most) { Ok(()) } else { Err(Errno::NOMEM) }
    }

    /// Notes where the kernel may keep two mappings although the books will have one: on both sides of `range`, which gets `rights`, if it
    /// was there `before`, else where the second neighbour begins. The kernel joins all that has been cut out of one mapping.
    fn met(&mut self, range: &Range<u64>, rights: Protection, before: bool) {
        if Stride::united() {
            return;
        }
        let same = |at: u64| self.ranges.rights(&(at..at + PAGE)) == Some(rights);
        let (below, above) = (same(range.start - PAGE), same(range.end));
        if below && (before || above) {
            self.seams.insert(range.start);
        }
        if above && before {
            self.seams.insert(range.end);
        }
        if before {
            self.seams.extend(self.ranges.pieces(range.clone()).map(|(piece, _)| piece.start).skip(1));
        }
    }

    /// Asks the kernel which seams there are in `area`, if that may help: it keeps fewer mappings apart than it might.
    fn look_again(&mut self, stride: &Stride, area: &Range<u64>) {
        const BUDGET: u32 = 256;
        if self.budget > 0 {
            self.budget -= 1;
            return;
        }
        let Ok(borders) = stride.borders() else { return };
        let known: BTreeSet<u64> = [&self.ranges, &self.kept, &self.shared]
            .into_iter()
            .flat_map(Ranges::all)
            .flat_map(|range| [range.start, range.end])
            .collect();
        let seams = borders.into_iter().filter(|at| area.contains(at) && !known.contains(at));
        self.seams = seams.collect();
        // A domain that makes many does not gain by it that the kernel is asked each time.
        self.budget = if self.mappings(&self.ranges, 0) > self.most / 4 * 3 { BUDGET } else { 0 };
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

    /// Makes the books those of `memo`; no file backs memory then, and nothing is kept.
    fn become_as(&mut self, memo: &Memo) {
        // Each field by its name: a new one needs a decision here. Seams and what the kernel was asked are the kernel's, not the domain's; what is
        // constant is the callers' affair.
        let Books {
            most: _,
            ranges,
            shared,
            copies,
            seams: _,
            budget: _,
            kept,
            constant: _,
            constant_touched: _,
            brk,
            used,
            peak,
            refused,
        } = self;
        (*ranges, *copies) = (memo.ranges.clone(), memo.copies.clone());
        (*shared, *kept) = (Ranges::unmerged(), Ranges::default());
        (*brk, *used, *peak, *refused) = (memo.brk, memo.used, memo.peak, 0);
    }

    /// Gives way to what the domain asks for: what is kept goes, and if that is not enough, the kernel is asked what it has joined.
    fn make_room(&mut self, stride: &Stride, area: &Range<u64>) -> Result<(), Errno> {
        self.let_go(stride)?;
        if self.within_mappings().is_err() {
            self.look_again(stride, area);
        }
        Ok(())
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

/// Copies the pages of `from` that were written to `to`, a piece at a time.
fn copy(stride: &Stride, from: &Range<u64>, to: u64, go_on: &mut dyn FnMut() -> bool) -> Result<(), Errno> {
    for start in (from.start..from.end).step_by(COPIED as usize) {
        if !go_on() {
            return Err(Errno::INTR);
        }
        let piece = start..from.end.min(start + COPIED);
        let skip = |at: u64| to + (at - from.start);
        match written(stride, &piece) {
            Ok(pages) => {
                for run in pages.chunk_by(|a, b| a + PAGE == *b) {
                    stride.copy(run[0], skip(run[0]), run.len() as u64 * PAGE)?;
                }
            }
            Err(_) => stride.copy(piece.start, skip(piece.start), piece.end - piece.start)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages whose rights differ from their neighbours', and holes, are mappings of the kernel as any other. What is mapped can be given
    /// back whatever there is.
    #[test]
    fn pages_cannot_be_told_apart_without_end() {
        let stride = Stride::take().expect("address space");
        for (holes, most) in [(false, MAPPINGS), (true, MAPPINGS), (false, 100), (true, 4000), (false, 4000)]
        {
            let pages = 4 * u64::from(most);
            let services = Services::new(window::IMAGE, 0, pages * PAGE, most, None);
            let heap = services
                .map(&stride, 0, pages * PAGE, Placement::Anywhere, Protection::ReadWrite, Backing::Anonymous)
                .expect("within the limit");
            let change = |page: u64| match holes {
                false => services.protect(&stride, heap + page * PAGE, PAGE, Protection::Read),
                true => services.unmap(&stride, heap + page * PAGE, PAGE),
            };
            let refused = (0..pages).step_by(2).find_map(|page| change(page).err());
            assert_eq!(refused, Some(Errno::NOMEM), "holes: {holes}");
            let books = services.books();
            let count = books.mappings(&books.ranges, 0);
            assert!(
                (most as usize - 2..=most as usize).contains(&count),
                "{count} of {most}, holes: {holes}"
            );
            drop(books);
            services.unmap(&stride, heap, pages * PAGE).expect("everything at once");
            assert_eq!(services.usage().used, 0);
        }
    }

    /// A domain that filled every field of the books comes back to those of a new one, by either reset.
    #[test]
    fn a_reset_leaves_nothing_in_the_books() {
        crate::call::prepare().expect("a host for domains");
        let stride = Stride::take().expect("address space");
        let services = Services::new(window::IMAGE, 0, 1 << 20, MAPPINGS, None);
        let map = |at, placement, backing| {
            services.map(&stride, at, 4 * PAGE, placement, Protection::ReadWrite, backing)
        };
        let text = |services: &Services| format!("{:?}", *services.books());
        let file = rustix::fs::memfd_create("shared", rustix::fs::MemfdFlags::CLOEXEC).expect("a file");
        rustix::fs::ftruncate(&file, 4 * PAGE).expect("room");
        use rustix::fd::AsFd;
        let fill = || {
            let shared = map(0, Placement::Anywhere, Backing::Shared(file.as_fd(), 0)).expect("room");
            map(0, Placement::Anywhere, Backing::Copy).expect("room");
            let kept = map(0, Placement::Anywhere, Backing::Anonymous).expect("room");
            services.unmap(&stride, kept, 4 * PAGE).expect("mapped");
            assert_eq!(services.brk(&stride, window::IMAGE + PAGE), window::IMAGE + PAGE);
            services.charge(2 << 20).expect_err("over the limit");
            let books = services.books();
            assert!(books.copies.len() > 0);
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

    /// A copy that there is no room for in the books leaves what it should replace; one that is made has the rights that were asked for.
    #[test]
    fn a_refused_copy_has_replaced_nothing() {
        crate::call::prepare().expect("a host for domains");
        let stride = Stride::take().expect("address space");
        let services = Services::new(window::IMAGE, 0, 64 << 20, MAPPINGS, None);
        let map = |at, length, placement, rights, backing| {
            services.map(&stride, at, length, placement, rights, backing)
        };
        let anonymous = |length| {
            let backing = Backing::Anonymous;
            map(0, length, Placement::Anywhere, Protection::ReadWrite, backing).expect("room")
        };
        let (at, split) = (anonymous(8 * PAGE), anonymous(4 * u64::from(MAPPINGS) * PAGE));
        stride.write(at, &[7; 8 * PAGE as usize]).expect("writable");
        let copy = || map(at + PAGE, PAGE, Placement::Fixed, Protection::Read, Backing::Copy);
        let cut = |page: u64| services.protect(&stride, split + 2 * page * PAGE, PAGE, Protection::Read);
        let cuts = (1..).find(|page| cut(*page).is_err()).expect("a limit");
        let zeros = |page: u64| {
            let at = split + 2 * page * PAGE;
            map(at, PAGE, Placement::Fixed, Protection::Read, Backing::Anonymous)
        };
        let cuts = (cuts..).find(|page| zeros(*page).is_err()).expect("a limit");
        assert_eq!(copy(), Err(Errno::NOMEM));
        let mut bytes = [0; PAGE as usize];
        stride.read(at + PAGE, &mut bytes).expect("readable");
        assert_eq!(bytes, [7; PAGE as usize]);
        let around = |page| services.protect(&stride, split + 2 * page * PAGE, PAGE, Protection::ReadWrite);
        (1..cuts).for_each(|page| around(page).expect("fewer pieces"));
        assert_eq!(copy(), Ok(at + PAGE));
        stride.write(at + PAGE, &[8; PAGE as usize]).expect("its maker writes");
        services.copied(&stride, at + PAGE, PAGE).expect("the kernel's consent");
        assert_eq!(stride.write(at + PAGE, &[9]), Err(Errno::FAULT));
        // Its contents do not go, and it does not grow by zeros.
        for lazily in [false, true] {
            assert_eq!(services.discard(&stride, at, 2 * PAGE, lazily), Err(Errno::INVAL));
        }
        stride.read(at + PAGE, &mut bytes).expect("readable");
        assert_eq!(bytes, [8; PAGE as usize]);
        let grown = Resize { at: at + PAGE, length: PAGE, new_length: 2 * PAGE, may_move: true };
        assert_eq!(services.remap(&stride, grown, &mut || true), Err(Errno::NOMEM));
        // What takes its place is no copy.
        map(at + PAGE, PAGE, Placement::Fixed, Protection::Read, Backing::Anonymous).expect("room");
        services.discard(&stride, at, 2 * PAGE, false).expect("all of it the domain's own");
        stride.read(at, &mut bytes).expect("readable");
        assert_eq!(bytes, [0; PAGE as usize]);
    }

    /// The list of copies ends with that of mappings, although the kernel knows nothing of it.
    #[test]
    fn copies_cannot_be_told_apart_without_end() {
        let stride = Stride::take().expect("address space");
        let services = Services::new(window::IMAGE, 0, 64 << 20, MAPPINGS, None);
        let (pages, rights) = (4 * u64::from(MAPPINGS), Protection::ReadWrite);
        let map =
            |at, length, placement, backing| services.map(&stride, at, length, placement, rights, backing);
        let at = map(0, pages * PAGE, Placement::Anywhere, Backing::Copy).expect("room");
        let zeros = |page: u64| map(at + page * PAGE, PAGE, Placement::Fixed, Backing::Anonymous);
        assert!((0..pages).step_by(2).any(|page| zeros(page) == Err(Errno::NOMEM)));
        let copies = services.books().copies.len();
        assert!(copies <= MAPPINGS as usize + 2, "{copies}");
        services.unmap(&stride, at, pages * PAGE).expect("everything at once");
        assert_eq!(services.books().copies.len(), 0);
    }

    /// Moving takes as long as its pages are many: it stops where it must, and has changed nothing then.
    #[test]
    fn a_move_stops_halfway() {
        let stride = Stride::take().expect("address space");
        let services = Services::new(window::IMAGE, 0, 64 << 20, MAPPINGS, None);
        let size = 8 * COPIED;
        let map = |length, rights| {
            services.map(&stride, 0, length, Placement::Anywhere, rights, Backing::Anonymous).expect("room")
        };
        let (_above, at) = (map(PAGE, Protection::Read), map(size, Protection::ReadWrite));
        stride.write(at + size - 8, &[7; 8]).expect("writable");
        let before = services.usage().used;
        let mut pieces = 0;
        let mut twice = || {
            pieces += 1;
            pieces <= 2
        };
        let doubled = Resize { at, length: size, new_length: 2 * size, may_move: true };
        assert_eq!(services.remap(&stride, doubled, &mut twice), Err(Errno::INTR));
        assert_eq!((pieces, services.usage().used), (3, before));
        let to = services.remap(&stride, doubled, &mut || true).expect("room");
        let mut bytes = [0; 8];
        stride.read(to + size - 8, &mut bytes).expect("readable");
        assert_eq!((bytes, services.usage().used), ([7; 8], before + size));
    }

    /// A page that goes under the host's hands is an error of the request, not the host's fault.
    #[test]
    fn r23_memory_is_emptied_as_far_as_it_goes() {
        crate::call::prepare().expect("a host for domains");
        let stride = Stride::take().expect("address space");
        let (at, rights) = (window::IMAGE, ProtFlags::READ | ProtFlags::WRITE);
        stride.map(at, 2 * PAGE, rights, Backing::Anonymous).expect("memory");
        stride.write(at, &[1; 2 * PAGE as usize]).expect("writable");
        assert_eq!(stride.blank(at + PAGE, 2 * PAGE), Err(Errno::FAULT));
        let mut bytes = [2; 2 * PAGE as usize];
        stride.read(at, &mut bytes).expect("readable");
        assert_eq!(bytes.iter().map(|byte| usize::from(*byte)).sum::<usize>(), PAGE as usize);
    }
}
