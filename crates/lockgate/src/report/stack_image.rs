//! A copy of a thread's control stack in a domain, taken when a call ends: the next call overwrites them.
use crate::space::Stride;
use lockgate_abi::{stack, window};

/// Most bytes that are copied, from the innermost frame on.
const MOST: u64 = 32 << 10;
const WORD: u64 = 8;

/// Words of a control stack.
#[derive(Default)]
pub(crate) struct StackImage {
    /// Address of the first word.
    start: u64,
    words: Box<[u64]>,
    /// Where the outermost call began: the exit return address lies below.
    end: u64,
}

impl StackImage {
    /// Copies what lies between `rsp`, where the domain in `stride` has come to, and `entry`, where it began. Nothing is read
    /// outside of one slot of the domain's stacks, whatever the two say; what cannot be read is left out.
    ///
    /// `size` is that of the stacks, bytes: below is a guard, where an overflow has come to.
    pub(crate) fn take(stride: &Stride, size: u64, rsp: u64, entry: u64) -> StackImage {
        let slots =
            stride.base() + window::CONTROL..stride.base() + window::CONTROL + stack::SLOTS * stack::SLOT;
        if !slots.contains(&rsp) || !slots.contains(&entry) || rsp / stack::SLOT != entry / stack::SLOT {
            return StackImage::default();
        }
        let low = entry / stack::SLOT * stack::SLOT + stack::TOP - size;
        let start = (rsp & !(WORD - 1)).max(low);
        if start >= entry {
            return StackImage::default();
        }
        let offset = start - stride.base();
        let words = ((entry - start).min(MOST) / WORD) as usize;
        StackImage { start, words: stride.read_words(offset, words).unwrap_or_default(), end: entry }
    }

    /// The word at an address.
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        let offset = address.checked_sub(self.start).filter(|offset| offset % WORD == 0)?;
        self.words.get(usize::try_from(offset / WORD).ok()?).copied()
    }

    /// The address of the exit return address: the call ends with the return there.
    pub(super) fn exit(&self) -> u64 {
        self.end.wrapping_sub(WORD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Backing;
    use rustix::mm::ProtFlags;

    /// Whatever the registers of a module say, nothing is read but its own slot of the stacks, above its guard.
    #[test]
    fn only_the_stacks_are_read() {
        const SIZE: u64 = 64 << 10;
        let stride = Stride::take().unwrap();
        let top = stack::SLOT + stack::TOP; // of the second slot
        for area in [window::CONTROL, window::STACKS] {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            stride.map(area + top - SIZE, SIZE, access, Backing::Anonymous).unwrap();
        }
        let control = stride.base() + window::CONTROL;
        let entry = control + top - 8;
        let words = |rsp: u64, entry: u64| StackImage::take(&stride, SIZE, rsp, entry).words.len() as u64;
        let cases = [
            ("a frame", entry - 24, entry, 3),
            ("not aligned", entry - 21, entry, 3),
            ("an overflow into the guard", control + top - SIZE - 4096, entry, (SIZE - 8) / 8),
            ("no frame", entry, entry, 0),
            ("beyond the entry", entry + 8, entry, 0),
            ("another slot", control + stack::TOP - 64, entry, 0),
            ("the data stack", entry - u64::from(lockgate_abi::code::OFF) - 24, entry, 0),
            ("another domain's", entry - 24 - window::STRIDE, entry, 0),
            ("nowhere", 0, entry, 0),
            ("the end of the address space", u64::MAX, entry, 0),
            ("no entry", entry - 24, 0, 0),
            ("an entry out of the window", entry - 24, u64::MAX, 0),
        ];
        for (name, rsp, entry, expected) in cases {
            let expected = expected.min(MOST / WORD);
            assert_eq!(words(rsp, entry), expected, "{name}");
        }
        let image = StackImage::take(&stride, SIZE, entry - 24, entry);
        assert_eq!((image.word(entry - 24), image.word(entry - 8)), (Some(0), Some(0)));
        assert_eq!((image.word(entry - 32), image.word(entry), image.word(entry - 4)), (None, None, None));
    }
}
