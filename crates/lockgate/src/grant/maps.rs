//! What the kernel says of the host's own mappings.
use std::io::{self, BufRead, BufReader};
use std::ops::Range;

/// One mapping of the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostMapping {
    pub range: Range<u64>,
    /// Others can map the same pages: `MAP_SHARED`.
    pub shared: bool,
}

/// The mapping that holds the address `at`.
///
/// # Errors
/// Without `/proc`.
pub(super) fn mapping_at(at: u64) -> io::Result<Option<HostMapping>> {
    for line in BufReader::new(std::fs::File::open("/proc/self/maps")?).lines() {
        if let Some(mapping) = parse(&line?).filter(|mapping| mapping.range.contains(&at)) {
            return Ok(Some(mapping));
        }
    }
    Ok(None)
}

/// A line of `/proc/self/maps` (proc_pid_maps(5)): `start-end rwxs …`, `s` for shared and `p` for private.
fn parse(line: &str) -> Option<HostMapping> {
    let mut words = line.split(' ');
    let (start, end) = words.next()?.split_once('-')?;
    let address = |text| u64::from_str_radix(text, 16).ok();
    let shared = words.next()?.ends_with('s');
    Some(HostMapping { range: address(start)?..address(end)?, shared })
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
            let expected = expected.map(|(range, shared)| HostMapping { range, shared });
            assert_eq!(parse(line), expected, "{line}");
        }
    }

    #[test]
    fn our_own_stack_is_private() {
        let local = 0_u8;
        let mapping = mapping_at(&raw const local as u64).unwrap().expect("a stack is mapped");
        assert!(!mapping.shared);
        assert_eq!(mapping_at(0).unwrap(), None);
    }
}
