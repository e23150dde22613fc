//! Whether what was read of a structure is all of it.

/// A member of a structure or union, as the compiler places it: bits.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// Where it begins.
    pub at: u64,
    /// How long it is.
    pub bits: u64,
    /// Of a bit-field: the size of the type that it is declared with.
    pub bit_field: Option<u64>,
}

/// What lies in a structure of `size` and `alignment`, in bits, that none of `members` accounts for: more than what aligns the next
/// of them, or the structure, is no padding, but something that was not read.
pub fn lost(members: &[Member], union: bool, size: u64, alignment: u64) -> Option<String> {
    // A bit-field begins where its type would fit, wherever the structure itself is aligned.
    let bit_fields = members.iter().filter_map(|member| member.bit_field).max().unwrap_or(0);
    let widest = alignment.max(bit_fields).max(8);
    let mut end = 0;
    for member in members {
        if union {
            if member.at != 0 {
                return Some(format!("a member of a union at byte {}", member.at / 8));
            }
        } else {
            // (The largest power of two that divides it is the most that it can be aligned to.)
            let aligned =
                if member.at == 0 { widest } else { widest.min(member.at & member.at.wrapping_neg()) };
            let step = if member.bit_field.is_some() { widest } else { aligned };
            if member.at < end || member.at - end >= step.max(1) && member.at > end {
                return Some(unread(end, member.at));
            }
        }
        end = end.max(member.at + member.bits);
        // One without a width fills what it is declared with.
        if member.bits == 0
            && let Some(unit @ 1..) = member.bit_field
        {
            end = end.next_multiple_of(unit);
        }
    }
    (end > size || size - end >= widest && size > end).then(|| unread(end, size))
}

fn unread(from: u64, to: u64) -> String {
    format!("the generator has read no field between byte {} and byte {}", from.div_ceil(8), to / 8)
}

#[cfg(test)]
mod tests {
    use super::{Member, lost};

    fn bytes(at: u64, size: u64) -> Member {
        Member { at: 8 * at, bits: 8 * size, bit_field: None }
    }

    fn is_whole(members: &[Member], union: bool, size: u64, alignment: u64) -> bool {
        lost(members, union, 8 * size, 8 * alignment).is_none()
    }

    #[test]
    fn padding_aligns_something() {
        // { char; double; char; }, the same packed, and aligned.
        assert!(is_whole(&[bytes(0, 1), bytes(8, 8), bytes(16, 1)], false, 24, 8));
        assert!(is_whole(&[bytes(0, 1), bytes(1, 8), bytes(9, 1)], false, 10, 1));
        assert!(is_whole(&[bytes(0, 1), bytes(16, 1)], false, 32, 16));
        assert!(is_whole(&[bytes(0, 4)], true, 8, 8) && is_whole(&[], false, 0, 1));
        // { int :3; int :0; int :2; char; }
        let bits = |at, bits| Member { at, bits, bit_field: Some(32) };
        assert!(is_whole(&[bits(0, 3), bits(3, 0), bits(32, 2), bytes(5, 1)], false, 8, 4));
    }

    #[test]
    fn what_is_not_read_is_missed() {
        // { int; (char *, size_t;) int; } and what is behind, before and in the place of fields.
        assert!(!is_whole(&[bytes(0, 4), bytes(24, 4)], false, 32, 8));
        assert!(!is_whole(&[bytes(0, 4)], false, 40, 8));
        assert!(!is_whole(&[bytes(8, 4)], false, 16, 8));
        assert!(!is_whole(&[bytes(0, 4), bytes(8, 4)], false, 12, 4));
        assert!(!is_whole(&[bytes(0, 8), bytes(4, 8)], false, 16, 8));
        assert!(!is_whole(&[], false, 8, 8) && !is_whole(&[bytes(0, 4)], true, 16, 8));
        assert!(!is_whole(&[bytes(4, 4)], true, 8, 4) && !is_whole(&[bytes(0, 16)], false, 8, 8));
    }
}
