//! What a domain was right after its initialisation, to return to it without running that again.
//!
//! Only pages that were written differ from the module's file or from zeros, and there are few of them: they
//! are copied back where they are. (Dropping them would cost a page fault each at the next use.)
use crate::module::Module;
use crate::space::{Memo, Services, Stride, written};
use lockgate_abi::{PAGE, code, window};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ops::Range;

/// More written pages than this go back to the kernel instead: a pooled domain does not keep a past user's appetite.
const KEPT_PAGES: usize = 64;
/// Bytes at the top of a stack whose pages stay where they were written. What is deeper goes back to the kernel, used or not: to be told which of a
/// megabyte's pages were used takes 1.4 µs, to have them dropped and to ask about these 0.8 ([0140](../../../../docs/decisions/0140-what-a-reset-asks.md)).
const NEAR_THE_TOP: u64 = 32 * PAGE;

/// Contents of a domain's memory at one moment, by window offset.
pub(super) struct Snapshot {
    pages: BTreeMap<u64, Box<[u8]>>,
    books: Memo,
    /// The first thread's data stack.
    stack: Range<u64>,
}

impl Snapshot {
    /// Copies what was written so far. No thread may run in the domain.
    ///
    /// # Errors
    /// The kernel's, if it does not say which pages were written; `EINVAL` if a file backs some of the memory.
    pub fn take(
        module: &Module,
        stride: &Stride,
        services: &Services,
        stack: Range<u64>,
    ) -> Result<Snapshot, Errno> {
        let books = services.memo().ok_or(Errno::INVAL)?;
        let mut pages = BTreeMap::new();
        for area in areas(module, &books, &stack) {
            for at in written(stride, &area)? {
                let mut page = vec![0; PAGE as usize];
                stride.read(at, &mut page)?;
                pages.insert(at, page.into_boxed_slice());
            }
        }
        Ok(Snapshot { pages, books, stack })
    }

    /// Makes the memory what it was. No thread may run in the domain.
    ///
    /// # Errors
    /// The kernel's; `EINVAL` if the domain gave back, or replaced by a file's, memory that the snapshot has.
    pub fn restore(&self, module: &Module, stride: &Stride, services: &Services) -> Result<(), Errno> {
        services.restore(stride, &self.books)?;
        // Return addresses of past calls tell what they did.
        let control = self.stack.start + u64::from(code::OFF)..self.stack.end + u64::from(code::OFF);
        for at in written(stride, &near_the_top(stride, &control)?)? {
            stride.blank(at, PAGE)?;
        }
        for area in areas(module, &self.books, &self.stack) {
            let asked = if area == self.stack { near_the_top(stride, &area)? } else { area.clone() };
            let pages = written(stride, &asked)?;
            if pages.len() > KEPT_PAGES {
                stride.discard(asked.start, asked.end - asked.start)?;
            } else {
                for at in pages.into_iter().filter(|at| !self.pages.contains_key(at)) {
                    self.blank(module, stride, at)?;
                }
            }
            for (at, page) in self.pages.range(area) {
                stride.write(*at, page)?;
            }
        }
        Ok(())
    }

    /// A page that the snapshot does not have: as the file has it, or zeros.
    fn blank(&self, module: &Module, stride: &Stride, at: u64) -> Result<(), Errno> {
        if at < module.image_end() { stride.discard(at, PAGE) } else { stride.blank(at, PAGE) }
    }
}

/// The part of a stack that is near its top; the rest is zeros again.
fn near_the_top(stride: &Stride, stack: &Range<u64>) -> Result<Range<u64>, Errno> {
    let start = stack.end.saturating_sub(NEAR_THE_TOP).max(stack.start);
    if start > stack.start {
        stride.discard(stack.start, start - stack.start)?;
    }
    Ok(start..stack.end)
}

/// Memory that the domain can write.
fn areas(module: &Module, books: &Memo, stack: &Range<u64>) -> Vec<Range<u64>> {
    module.image().data(window::IMAGE).chain(books.writable()).chain([stack.clone()]).collect()
}
