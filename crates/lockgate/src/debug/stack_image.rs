//! A copy of a thread's two stacks in a domain, taken when a call ends: the next call overwrites them.
use crate::space::Stride;
use lockgate_abi::{code, stack, window};

/// Most bytes of each stack that are copied, from the innermost frame on.
const MOST: u64 = 32 << 10;
const WORD: u64 = 8;

/// Words of a control stack and of the same part of its data stack.
#[derive(Default)]
pub(crate) struct StackImage {
    /// Address of the first word of the control stack.
    start: u64,
    control: Box<[u64]>,
    data: Box<[u64]>,
    /// Where the outermost call began: the exit word lies below.
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
        let copy = |from: u64| stride.read_words(from, words).unwrap_or_default();
        StackImage { start, control: copy(offset), data: copy(offset - code::OFF as u64), end: entry }
    }

    /// The word at an address of either stack.
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        let at = |start: u64, words: &[u64]| {
            let offset = address.checked_sub(start).filter(|offset| offset % WORD == 0)?;
            words.get(usize::try_from(offset / WORD).ok()?).copied()
        };
        let data = self.start.wrapping_sub(code::OFF as u64);
        at(self.start, &self.control).or_else(|| at(data, &self.data))
    }

    /// The address of the exit word: the call ends with the return there.
    pub(super) fn exit(&self) -> u64 {
        self.end.wrapping_sub(WORD)
    }

    /// Whether `address` is a word of the control stack in this copy.
    pub(super) fn is_control(&self, address: u64) -> bool {
        (self.start..self.start + self.control.len() as u64 * WORD).contains(&address)
    }

    /// Addresses and values of the control stack's words that are not zero.
    pub(super) fn control(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let words = (self.start..).step_by(WORD as usize).zip(self.control.iter().copied());
        words.filter(|(_, word)| *word != 0)
    }

    /// Whether the outermost frames are missing.
    pub(super) fn is_cut(&self) -> bool {
        self.start + (self.control.len() as u64) * WORD < self.end
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
        stride.write(window::STACKS + top - 16, &7_u64.to_le_bytes()).unwrap();
        let control = stride.base() + window::CONTROL;
        let entry = control + top - 8;
        let words = |rsp: u64, entry: u64| {
            let image = StackImage::take(&stride, SIZE, rsp, entry);
            (image.control.len() as u64, image.data.len() as u64, image.is_cut())
        };
        let cases = [
            ("a frame", entry - 24, entry, 3),
            ("not aligned", entry - 21, entry, 3),
            ("an overflow into the guard", control + top - SIZE - 4096, entry, (SIZE - 8) / 8),
            ("no frame", entry, entry, 0),
            ("beyond the entry", entry + 8, entry, 0),
            ("another slot", control + stack::TOP - 64, entry, 0),
            ("the data stack", entry - u64::from(code::OFF) - 24, entry, 0),
            ("another domain's", entry - 24 - window::STRIDE, entry, 0),
            ("nowhere", 0, entry, 0),
            ("the end of the address space", u64::MAX, entry, 0),
            ("no entry", entry - 24, 0, 0),
            ("an entry out of the window", entry - 24, u64::MAX, 0),
        ];
        for (name, rsp, entry, expected) in cases {
            let expected = expected.min(MOST / WORD);
            let (control, data, cut) = words(rsp, entry);
            assert_eq!((control, data), (expected, expected), "{name}");
            assert_eq!(cut, expected == MOST / WORD, "{name}");
        }
        let image = StackImage::take(&stride, SIZE, entry - 24, entry);
        assert_eq!(image.word(entry - 8 - u64::from(code::OFF)), Some(7));
        assert_eq!((image.word(entry - 32), image.word(entry), image.word(entry - 4)), (None, None, None));
    }
}
