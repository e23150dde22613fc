//! Traces of memory that must not be there, looked for in every input's results: in steps, not byte by byte.

/// Whether `byte` stands `length` times in a row somewhere.
///
/// # Panics
/// `length` is 0.
#[must_use]
pub fn has_run(bytes: &[u8], byte: u8, length: usize) -> bool {
    // Every run of that length has a byte at a multiple of it.
    bytes.iter().enumerate().step_by(length).filter(|(_, found)| **found == byte).any(|(at, _)| {
        let before = bytes[..at].iter().rev().take_while(|found| **found == byte).count();
        let after = bytes[at..].iter().take_while(|found| **found == byte).count();
        before + after >= length
    })
}

/// Whether `needle`, which is not empty, stands somewhere.
///
/// # Panics
/// It is empty.
#[must_use]
pub fn has(bytes: &[u8], needle: &[u8]) -> bool {
    let mut starts = bytes.iter().enumerate().filter(|(_, found)| **found == needle[0]);
    starts.any(|(at, _)| bytes[at..].starts_with(needle))
}

#[cfg(test)]
mod tests {
    use super::{has, has_run};

    #[test]
    fn traces_are_found_wherever_they_are() {
        const LENGTH: usize = 5;
        for at in 0..20 {
            for length in 0..12 {
                let mut bytes = [b'.'; 32];
                bytes[at..at + length].fill(b'x');
                assert_eq!(has_run(&bytes, b'x', LENGTH), length >= LENGTH, "{at}, {length}");
                assert_eq!(has(&bytes, b"xxxxx"), length >= LENGTH, "{at}, {length}");
            }
        }
        assert!(!has_run(b"xxxx", b'x', LENGTH) && has_run(b"xxxxx", b'x', LENGTH));
        assert!(!has(b"xxxx", b"xxxxx") && !has(b"", b"x"));
    }
}
