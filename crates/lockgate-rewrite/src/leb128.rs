//! The variable-length integers of DWARF and of our own notes, LEB128: seven bits a byte, the lowest first.

/// Why bytes are no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bad {
    /// The bytes end before the number does.
    Truncated,
    /// It has more than 64 bits.
    TooLarge,
}

/// Appends a number without a sign.
pub(crate) fn push_uleb(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            return out.push(byte);
        }
        out.push(byte | 0x80);
    }
}

/// Appends a number with a sign.
pub fn push_sleb(out: &mut Vec<u8>, mut value: i64) {
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

/// Takes a number without a sign from the front. It may be written longer than needed.
pub(crate) fn take_uleb(rest: &mut &[u8]) -> Result<u64, Bad> {
    let mut value = 0u64;
    for shift in (0..).step_by(7) {
        let byte = take(rest)?;
        let bits = u64::from(byte & 0x7f);
        if shift < 64 && (bits << shift) >> shift == bits {
            value |= bits << shift;
        } else if bits != 0 {
            return Err(Bad::TooLarge);
        }
        if byte & 0x80 == 0 {
            break;
        }
    }
    Ok(value)
}

/// Takes a number with a sign from the front.
pub(crate) fn take_sleb(rest: &mut &[u8]) -> Result<i64, Bad> {
    let mut value = 0i64;
    let mut shift = 0;
    loop {
        let byte = take(rest)?;
        if shift >= 64 {
            return Err(Bad::TooLarge);
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

fn take(rest: &mut &[u8]) -> Result<u8, Bad> {
    let (first, tail) = rest.split_first().ok_or(Bad::Truncated)?;
    *rest = tail;
    Ok(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back() {
        for value in [0, 1, -1, 63, 64, -64, -65, 127, 128, i64::from(i32::MIN), i64::MAX, i64::MIN] {
            let (mut signed, mut unsigned) = (Vec::new(), Vec::new());
            push_sleb(&mut signed, value);
            push_uleb(&mut unsigned, value as u64);
            for bytes in [&mut signed, &mut unsigned] {
                bytes.push(0xee);
            }
            let (mut signed, mut unsigned) = (&signed[..], &unsigned[..]);
            assert_eq!(take_sleb(&mut signed), Ok(value));
            assert_eq!(take_uleb(&mut unsigned), Ok(value as u64));
            assert_eq!((signed, unsigned), (&[0xee][..], &[0xee][..]));
        }
    }

    /// The standard's own examples (DWARF 5, 7.6), and zeros that a linker has left room with.
    #[test]
    fn numbers_are_written_as_the_standard_says() {
        let unsigned: &[(u64, &[u8])] =
            &[(2, &[2]), (127, &[127]), (128, &[0x80, 1]), (12857, &[0xb9, 0x64])];
        for (value, bytes) in unsigned {
            let mut out = Vec::new();
            push_uleb(&mut out, *value);
            assert_eq!(out, *bytes);
        }
        let signed: &[(i64, &[u8])] = &[(2, &[2]), (-2, &[0x7e]), (127, &[0xff, 0]), (-129, &[0xff, 0x7e])];
        for (value, bytes) in signed {
            let mut out = Vec::new();
            push_sleb(&mut out, *value);
            assert_eq!(out, *bytes);
        }
        assert_eq!(take_uleb(&mut &[&[0x82][..], &[0x80; 10], &[0]].concat()[..]), Ok(2));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        assert_eq!(take_uleb(&mut &[][..]), Err(Bad::Truncated));
        assert_eq!(take_uleb(&mut &[0x80, 0x80][..]), Err(Bad::Truncated));
        assert_eq!(take_uleb(&mut &[0xff; 11][..]), Err(Bad::TooLarge));
        // The tenth byte has room for one bit.
        let tenth = |last: u8| take_uleb(&mut &[&[0x80; 9][..], &[last]].concat()[..]);
        assert_eq!((tenth(1), tenth(2)), (Ok(1 << 63), Err(Bad::TooLarge)));
        assert_eq!(take_sleb(&mut &[0x80][..]), Err(Bad::Truncated));
        assert_eq!(take_sleb(&mut &[0xff; 11][..]), Err(Bad::TooLarge));
    }
}
