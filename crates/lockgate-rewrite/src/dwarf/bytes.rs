//! Little-endian reading with bounds, and the variable-length integers of DWARF.

use super::Malformed;

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
        let start = self.pos;
        let mut value = 0u64;
        for shift in (0..).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift < 64 && (bits << shift) >> shift == bits {
                value |= bits << shift;
            } else if bits != 0 {
                return Err(Malformed::at(start, "has an integer of more than 64 bits"));
            }
            if byte & 0x80 == 0 {
                break;
            }
        }
        Ok(value)
    }

    pub(super) fn sleb(&mut self) -> Result<i64, Malformed> {
        let start = self.pos;
        let mut value = 0i64;
        let mut shift = 0;
        loop {
            let byte = self.u8()?;
            if shift >= 64 {
                return Err(Malformed::at(start, "has an integer of more than 64 bits"));
            }
            value |= i64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                if shift < 64 && byte & 0x40 != 0 {
                    value |= -1 << shift;
                }
                return Ok(value);
            }
        }
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

/// Appends `value` as ULEB128.
pub(super) fn push_uleb(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            return out.push(byte);
        }
        out.push(byte | 0x80);
    }
}

/// Appends `value` as SLEB128.
pub(super) fn push_sleb(out: &mut Vec<u8>, mut value: i64) {
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        let sign = byte & 0x40 != 0;
        if (value == 0 && !sign) || (value == -1 && sign) {
            return out.push(byte);
        }
        out.push(byte | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_length_integers_read_back() {
        for value in [0, 1, -1, 63, 64, -64, -65, 127, 128, i64::from(i32::MIN), i64::MAX, i64::MIN] {
            let mut signed = Vec::new();
            push_sleb(&mut signed, value);
            let mut unsigned = Vec::new();
            push_uleb(&mut unsigned, value as u64);
            assert_eq!(Cursor::new(&signed, 0, signed.len()).unwrap().sleb().unwrap(), value);
            assert_eq!(Cursor::new(&unsigned, 0, unsigned.len()).unwrap().uleb().unwrap(), value as u64);
        }
    }

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
