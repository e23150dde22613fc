//! Little-endian reading with bounds.

use super::Malformed;
use crate::leb128::{Bad, take_sleb, take_uleb};

/// A read position in a section's bytes.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    pos: usize,
    end: usize,
}

impl<'a> Cursor<'a> {
    /// Reads `bytes[start..end]`; positions stay offsets into `bytes`.
    pub(super) fn new(bytes: &'a [u8], start: usize, end: usize) -> Result<Self, Malformed> {
        if start > end || end > bytes.len() {
            return Err(Malformed::at(start, "reaches beyond the end of its section"));
        }
        Ok(Self { bytes, pos: start, end })
    }

    pub(super) fn pos(&self) -> usize {
        self.pos
    }

    pub(super) fn at_end(&self) -> bool {
        self.pos >= self.end
    }

    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let end = self.pos.checked_add(len).filter(|&end| end <= self.end);
        let end = end.ok_or_else(|| Malformed::at(self.pos, "is truncated"))?;
        let slice = &self.bytes[self.pos..end];
        self.pos = end;
        Ok(slice)
    }

    /// An unsigned integer of 1 to 8 bytes.
    pub(super) fn uint(&mut self, size: usize) -> Result<u64, Malformed> {
        let mut word = [0; 8];
        word[..size].copy_from_slice(self.take(size)?);
        Ok(u64::from_le_bytes(word))
    }

    pub(super) fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.take(1)?[0])
    }

    pub(super) fn u16(&mut self) -> Result<u16, Malformed> {
        Ok(self.uint(2)? as u16)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(self.uint(4)? as u32)
    }

    pub(super) fn uleb(&mut self) -> Result<u64, Malformed> {
        self.number(take_uleb)
    }

    pub(super) fn sleb(&mut self) -> Result<i64, Malformed> {
        self.number(take_sleb)
    }

    fn number<T>(&mut self, take: impl Fn(&mut &'a [u8]) -> Result<T, Bad>) -> Result<T, Malformed> {
        let mut rest = &self.bytes[self.pos..self.end];
        let value = take(&mut rest).map_err(|bad| match bad {
            Bad::Truncated => Malformed::at(self.end, "is truncated"),
            Bad::TooLarge => Malformed::at(self.pos, "has an integer of more than 64 bits"),
        })?;
        self.pos = self.end - rest.len();
        Ok(value)
    }

    /// A zero-terminated string, without the zero.
    pub(super) fn cstr(&mut self) -> Result<&'a [u8], Malformed> {
        let rest = &self.bytes[self.pos..self.end];
        let len = rest.iter().position(|&b| b == 0);
        let len = len.ok_or_else(|| Malformed::at(self.pos, "has an unterminated string"))?;
        let text = self.take(len)?;
        self.pos += 1;
        Ok(text)
    }

    /// The length field that starts a unit or an entry, and the offset of one past what it counts.
    /// The 64-bit format is refused: no compiler for x86-64 emits it.
    pub(super) fn unit_end(&mut self) -> Result<usize, Malformed> {
        let start = self.pos;
        let len = self.u32()?;
        if len >= 0xffff_fff0 {
            return Err(Malformed::at(start, "uses the 64-bit DWARF format"));
        }
        let end = self.pos + len as usize;
        if end > self.end {
            return Err(Malformed::at(start, "reaches beyond the end of its section"));
        }
        Ok(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_short_is_an_error() {
        assert!(Cursor::new(&[0x80, 0x80], 0, 2).unwrap().uleb().is_err());
        assert!(Cursor::new(&[0xff; 11], 0, 11).unwrap().uleb().is_err());
        assert!(Cursor::new(&[0xff; 11], 0, 11).unwrap().sleb().is_err());
        assert!(Cursor::new(b"abc", 0, 3).unwrap().cstr().is_err());
        assert!(Cursor::new(&[4, 0, 0, 0, 1], 0, 5).unwrap().unit_end().is_err());
        assert!(Cursor::new(&[], 1, 1).is_err());
    }
}
