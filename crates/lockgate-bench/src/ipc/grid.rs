//! Times of calls for people: a line for each peer, a column for each size of the argument.

use super::{SIZES, series};
use crate::Report;
use crate::screen::{Cell, Paint, Screen};
use std::fmt::{self, Display};

/// Prints a report's `ipc.<peer>.<size>` metrics, the fastest peer at one byte first.
#[derive(Debug, Clone, Copy)]
pub struct Grid<'a>(pub &'a Report);

impl Display for Grid<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut series = series(self.0);
        series.sort_by(|(_, a), (_, b)| a[0].total_cmp(&b[0]));
        let row = |first: &str, cells: Vec<String>| {
            let cells = cells.into_iter().map(|text| Cell::number(Paint::Plain, text));
            std::iter::once(Cell::new(Paint::Plain, first)).chain(cells).collect()
        };
        let heading = row("", SIZES.iter().map(|size| bytes(*size)).collect());
        let peers =
            series.iter().map(|(peer, times)| row(peer, times.iter().map(|time| duration(*time)).collect()));
        let rows: Vec<Vec<Cell>> = std::iter::once(heading).chain(peers).collect();
        out.write_str(&Screen::new(false).render(&rows))
    }
}

/// A size with its unit.
pub fn bytes(size: usize) -> String {
    match size {
        size if size >= 1 << 20 => format!("{} MiB", size >> 20),
        size if size >= 1 << 10 => format!("{} KiB", size >> 10),
        size => format!("{size} B"),
    }
}

/// Nanoseconds with three significant figures and a unit.
pub fn duration(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        time if time >= 999_500.0 => (time / 1e6, "ms"),
        time if time >= 999.5 => (time / 1e3, "µs"),
        time => (time, "ns"),
    };
    let decimals = if value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::*;

    #[test]
    fn the_fastest_comes_first_and_columns_align() {
        let text = Grid(&report(&[("pipe", 1500.0), ("function", 1.5)])).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "               1 B    16 B  256 B   4 KiB  64 KiB   1 MiB");
        assert!(lines[1].starts_with("  function 1.50 ns 24.0 ns 384 ns 6.14 µs "), "{text}");
        assert!(lines[2].starts_with("  pipe     1.50 µs "), "{text}");
    }

    #[test]
    fn durations_have_three_figures() {
        let cases = [
            (0.5, "0.50 ns"),
            (9.999, "10.0 ns"),
            (999.4, "999 ns"),
            (999.9, "1.00 µs"),
            (1e6, "1.00 ms"),
            (1.5e8, "150 ms"),
        ];
        for (time, text) in cases {
            assert_eq!(duration(time), text);
        }
    }
}
