//! Metrics as a picture: horizontal bars, one group per unit, SVG.

use crate::{Metric, Report};
use std::fmt::Write as _;

const ROW: usize = 22;
const LABELS: usize = 330;
const BARS: usize = 420;
const WIDTH: usize = LABELS + BARS + 110;

impl Report {
    /// The medians as an SVG picture, for `--plot`: metrics of the same unit share a scale; a thin line reaches to the
    /// 99th percentile where that fits.
    pub fn to_svg(&self) -> String {
        let mut units: Vec<&str> = Vec::new();
        for metric in &self.metrics {
            if !units.contains(&metric.unit) {
                units.push(metric.unit);
            }
        }
        let mut body = String::new();
        let mut y = ROW;
        for unit in units {
            let group: Vec<&Metric> = self.metrics.iter().filter(|metric| metric.unit == unit).collect();
            let largest = group.iter().map(|metric| metric.median).fold(f64::MIN_POSITIVE, f64::max);
            let _ = writeln!(body, r#"<text x="4" y="{y}" font-weight="bold">{unit}</text>"#);
            for metric in group {
                y += ROW;
                bar(&mut body, metric, y, BARS as f64 / largest);
            }
            y += 2 * ROW;
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{y}\" font-family=\"sans-serif\" font-size=\"13\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n"
        )
    }
}

/// One labelled bar whose base line is at `y`; `scale` is pixels per unit.
fn bar(body: &mut String, metric: &Metric, y: usize, scale: f64) {
    let Metric { name, median, p99, .. } = metric;
    let (length, reach) = (median * scale, (p99 * scale).min(BARS as f64));
    let (end, middle) = (LABELS as f64 + length.max(reach) + 6.0, y - 4);
    let _ = writeln!(body, r#"<text x="16" y="{y}">{name}</text>"#);
    let _ = writeln!(
        body,
        r##"<rect x="{LABELS}" y="{}" width="{length:.1}" height="14" fill="#4878a8"/>"##,
        y - 12
    );
    let _ = writeln!(
        body,
        r#"<line x1="{LABELS}" x2="{:.1}" y1="{middle}" y2="{middle}" stroke="black"/>"#,
        LABELS as f64 + reach
    );
    let _ = writeln!(body, r#"<text x="{end:.1}" y="{y}">{median:.3}</text>"#);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_of_one_unit_share_a_scale() {
        let metrics = vec![
            Metric::new("a", "ns", vec![2.0]),
            Metric::new("b", "ns", vec![4.0]),
            Metric::new("c", "s", vec![1.0]),
        ];
        let svg = Report::new(metrics).to_svg();
        let widths: Vec<&str> =
            svg.split("width=\"").skip(3).filter_map(|part| part.split('"').next()).collect();
        assert_eq!(widths, ["210.0", "420.0", "420.0"]);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    }
}
