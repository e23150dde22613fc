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
        for at in written(stride, &control)? {
            stride.blank(at, PAGE)?;
        }
        for area in areas(module, &self.books, &self.stack) {
            let pages = written(stride, &area)?;
            if pages.len() > KEPT_PAGES {
                stride.discard(area.start, area.end - area.start)?;
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

/// Memory that the domain can write.
fn areas(module: &Module, books: &Memo, stack: &Range<u64>) -> Vec<Range<u64>> {
    module.image().data(window::IMAGE).chain(books.writable()).chain([stack.clone()]).collect()
}
