//! What the kernel says of the process's mappings.
use std::io::{self, BufRead, BufReader};
use std::ops::Range;

/// One mapping of the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub range: Range<u64>,
    /// `rwxs`: `s` for shared and `p` for private.
    rights: [u8; 4],
}

impl Mapping {
    /// Of a line of `/proc/self/maps` or a mapping's first line of `/proc/self/smaps` (proc_pid_maps(5)): `start-end rwxs …`.
    pub fn parse(line: &str) -> Option<Mapping> {
        let mut words = line.split(' ');
        let (start, end) = words.next()?.split_once('-')?;
        let address = |text| u64::from_str_radix(text, 16).ok();
        let rights = words.next()?.as_bytes().try_into().ok()?;
        Some(Mapping { range: address(start)?..address(end)?, rights })
    }

    /// Others can map the same pages: `MAP_SHARED`.
    pub fn is_shared(&self) -> bool {
        self.rights[3] == b's'
    }

    /// It cannot be read, written or run.
    pub fn is_closed(&self) -> bool {
        self.rights.starts_with(b"---")
    }
}

/// All mappings, in order.
///
/// # Errors
/// Without `/proc`.
pub(crate) fn mappings() -> io::Result<impl Iterator<Item = io::Result<Mapping>>> {
    let lines = BufReader::new(std::fs::File::open("/proc/self/maps")?).lines();
    Ok(lines.filter_map(|line| line.map(|line| Mapping::parse(&line)).transpose()))
}

/// The mapping that holds the address `at`.
///
/// # Errors
/// As [`mappings`].
pub(crate) fn mapping_at(at: u64) -> io::Result<Option<Mapping>> {
    mappings()?
        .find(|mapping| mapping.as_ref().map_or(true, |mapping| mapping.range.contains(&at)))
        .transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_understood() {
        for (line, expected) in [
            ("7f00-8f00 rw-s 00000000 00:01 5 /memfd:x (deleted)", Some((0x7f00..0x8f00, true))),
            (
                "55d0c0000000-55d0c0001000 r--p 00000000 08:01 7   /bin/x",
                Some((0x55d0c0000000..0x55d0c0001000, false)),
            ),
            ("nonsense", None),
            ("", None),
        ] {
            let parsed = Mapping::parse(line).map(|mapping| (mapping.range.clone(), mapping.is_shared()));
            assert_eq!(parsed, expected, "{line}");
        }
    }

    #[test]
    fn our_own_stack_is_private() {
        let local = 0_u8;
        let mapping = mapping_at(&raw const local as u64).unwrap().expect("a stack is mapped");
        assert!(!mapping.is_shared() && !mapping.is_closed());
        assert_eq!(mapping_at(0).unwrap(), None);
    }
}
