//! Metrics for people: one aligned line each.

use crate::screen::{Cell, Paint, Screen};
use crate::target::{Target, used};
use crate::{Metric, Report};
use std::fmt::{self, Display, Write as _};

/// Prints a report as a table; colours only if `colour`.
#[derive(Debug, Clone, Copy)]
pub struct Table<'a> {
    /// What to print.
    pub report: &'a Report,
    /// Only metrics whose names begin so.
    pub prefix: &'a str,
    /// Whether the output shows ANSI colours.
    pub colour: bool,
}

impl Report {
    /// The report as a table for standard output: in colour as [`Screen::of_stdout`] says.
    pub fn table(&self) -> Table<'_> {
        self.table_of("")
    }

    /// The metrics whose names begin with `prefix` as such a table.
    pub fn table_of<'a>(&'a self, prefix: &'a str) -> Table<'a> {
        Table { report: self, prefix, colour: Screen::of_stdout().is_coloured() }
    }
}

impl Display for Table<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let screen = Screen::new(self.colour);
        let (text, number) =
            (|text: &str| Cell::new(Paint::Plain, text), |text: &str| Cell::number(Paint::Plain, text));
        let [median, min, p99, max] = ["median", "min", "p99", "max"].map(number);
        let mut rows = vec![vec![
            text("metric"),
            median,
            min,
            p99,
            max,
            text("unit"),
            number("samples"),
            text("target"),
        ]];
        for metric in self.report.metrics.iter().filter(|metric| metric.name.starts_with(self.prefix)) {
            let Metric { name, unit, median, min, p99, max, samples, .. } = metric;
            let [median, min, p99, max] = [median, min, p99, max].map(|value| number(&figure(*value)));
            let (samples, remarks) = (number(&samples.to_string()), text(&self.remarks(metric, &screen)?));
            rows.push(vec![text(name), median, min, p99, max, text(unit), samples, remarks]);
        }
        out.write_str(&screen.render(&rows))
    }
}

impl Table<'_> {
    /// The target, whether it is met, and the ratios.
    fn remarks(&self, metric: &Metric, screen: &Screen) -> Result<String, fmt::Error> {
        let mut text = String::new();
        match Target::of(&metric.name) {
            Some(Target::AtMost(limit)) => write!(text, "≤ {limit} ")?,
            Some(Target::AtLeast(limit)) => write!(text, "≥ {limit} ")?,
            None => {}
        }
        match used(metric) {
            Some(share) if share <= 1.0 => text += &screen.paint(Paint::Good, "met "),
            Some(share) => text += &screen.paint(Paint::Bad, &format!("missed: {share:.2} × the target ")),
            None => {}
        }
        for (other, ratio) in &metric.ratios {
            write!(text, "({ratio:.2} × {other}) ")?;
        }
        Ok(text)
    }
}

/// Four significant figures for small numbers, whole ones for large numbers.
fn figure(value: f64) -> String {
    match value.abs() {
        size if size >= 1000.0 => format!("{value:.0}"),
        size if size >= 100.0 => format!("{value:.1}"),
        size if size >= 10.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_figures_target_and_ratio() {
        let native = Metric::new("calls.native_indirect", "ns", vec![1.25]);
        let call = Metric::new("calls.host_to_domain.integrity", "ns", vec![7.5]).against(&native);
        let report = Report::new(vec![native, call]);
        let text = Table { report: &report, prefix: "", colour: false }.to_string();
        let line = text.lines().nth(2).unwrap();
        assert!(line.starts_with("  calls.host_to_domain.integrity  7.500 "), "{text}");
        assert!(line.ends_with("≤ 5 missed: 1.50 × the target (6.00 × calls.native_indirect)"), "{text}");
        assert!(!text.contains('\x1b'));
        assert!(
            Table { report: &report, prefix: "", colour: true }.to_string().contains("\x1b[31mmissed: 1.50")
        );
        let part = Table { report: &report, prefix: "calls.native", colour: false }.to_string();
        assert_eq!(part.lines().count(), 2, "{part}");
    }
}
