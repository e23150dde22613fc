//! Times of calls as a picture: one line for each peer, time over the argument's size, both logarithmic; SVG.
//!
//! Peers of one kind share a colour; a dashed line has its server on another CPU, a dotted
//! one its argument in memory that caller and callee have. The names at the left, each next to its line where
//! the lines are furthest apart, are the legend. Colours follow the reader's light or dark scheme.

use super::grid::{bytes, duration};
use super::{SIZES, series};
use crate::Report;
use std::fmt::{self, Display};

const WIDTH: f64 = 1060.0;
const HEIGHT: f64 = 620.0;
/// The axes' rectangle.
const LEFT: f64 = 336.0;
const RIGHT: f64 = 984.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 556.0;
/// Where names end, and how far apart they are at least.
const NAMES: f64 = 284.0;
const NAME_HEIGHT: f64 = 19.0;

/// Peers of one colour.
struct Kind {
    /// How the names of their metrics begin.
    prefix: &'static str,
    /// The same for people.
    name: &'static str,
    /// On light and on dark ground.
    colours: [&'static str; 2],
}

const KINDS: &[Kind] = &[
    Kind { prefix: "lockgate", name: "Lockgate", colours: ["#0b5fd0", "#5fb0ff"] },
    Kind { prefix: "function", name: "function", colours: ["#6b7280", "#a3abb8"] },
    Kind { prefix: "system_call", name: "system call", colours: ["#a16207", "#e0b04a"] },
    Kind { prefix: "wasmtime", name: "Wasmtime", colours: ["#be185d", "#f58bb8"] },
    Kind { prefix: "polling", name: "polling", colours: ["#0e7490", "#4fc9dc"] },
    Kind { prefix: "semaphore", name: "semaphore", colours: ["#15803d", "#5fd08a"] },
    Kind { prefix: "pipe", name: "pipe", colours: ["#c2410c", "#ff9a5c"] },
    Kind { prefix: "unix_socket", name: "UNIX socket", colours: ["#7e22ce", "#c79bff"] },
    Kind { prefix: "rpcgen_unix", name: "RPC by rpcgen", colours: ["#b91c1c", "#ff7b7b"] },
];

/// A report's `ipc.<peer>.<size>` medians as a picture.
#[derive(Debug, Clone, Copy)]
pub struct Chart<'a>(pub &'a Report);

impl Display for Chart<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let series = series(self.0);
        let axis = Axis::around(series.iter().flat_map(|(_, times)| times));
        writeln!(
            out,
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">"#
        )?;
        style(out)?;
        writeln!(out, r#"<rect class="ground" width="{WIDTH}" height="{HEIGHT}"/>"#)?;
        text(
            out,
            "title",
            24.0,
            30.0,
            "Time of one call, its argument written by the caller and read by the callee",
        )?;
        axis.draw(out)?;
        let mut starts: Vec<(usize, f64)> =
            series.iter().enumerate().map(|(index, (_, times))| (index, axis.y(times[0]))).collect();
        let names = spread(&mut starts);
        for ((index, start), name_y) in starts.into_iter().zip(names) {
            let (peer, times) = series[index];
            line(out, &axis, peer, &times, start, name_y)?;
        }
        writeln!(out, "</svg>")
    }
}

/// The vertical axis: whole decades.
struct Axis {
    /// Powers of ten, nanoseconds.
    low: i32,
    high: i32,
}

impl Axis {
    /// The fewest decades that hold all `times`.
    fn around<'a>(times: impl Iterator<Item = &'a f64> + Clone) -> Self {
        let low = times.clone().copied().fold(f64::MAX, f64::min).log10().floor() as i32;
        let high = times.copied().fold(0.0, f64::max).log10().ceil() as i32;
        Self { low, high: high.max(low + 1) }
    }

    fn y(&self, time: f64) -> f64 {
        let share = (time.log10() - f64::from(self.low)) / f64::from(self.high - self.low);
        BOTTOM - share * (BOTTOM - TOP)
    }

    fn draw(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for power in self.low..=self.high {
            let (time, y) = (10_f64.powi(power), self.y(10_f64.powi(power)));
            writeln!(out, r#"<path class="grid" d="M{LEFT} {y:.1}H{RIGHT}"/>"#)?;
            let label = duration(time);
            let label = label.replace(".00", "").replace(".0", "");
            text(out, "tick", RIGHT + 10.0, y + 4.0, &label)?;
        }
        for size in SIZES {
            writeln!(out, r#"<path class="grid" d="M{x:.1} {TOP}V{BOTTOM}"/>"#, x = x(size))?;
            text(out, "tick middle", x(size), BOTTOM + 20.0, &bytes(size))?;
        }
        text(out, "tick middle", (LEFT + RIGHT) / 2.0, BOTTOM + 46.0, "size of the argument")
    }
}

fn x(size: usize) -> f64 {
    let share = (size as f64).log2() / (SIZES[SIZES.len() - 1] as f64).log2();
    LEFT + share * (RIGHT - LEFT)
}

/// Sorts the lines' `starts` from top to bottom and finds a height for each name: as near to its line as the names above and below
/// it allow.
fn spread(starts: &mut [(usize, f64)]) -> Vec<f64> {
    starts.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    // Names that would overlap form a block, centred on the mean of its lines' starts.
    let mut blocks: Vec<Vec<f64>> = Vec::new();
    let top = |block: &[f64]| {
        let (count, height) = (block.len() as f64, block.len() as f64 * NAME_HEIGHT);
        let middle = block.iter().sum::<f64>() / count;
        (middle - height / 2.0).clamp(TOP - NAME_HEIGHT / 2.0, (BOTTOM + NAME_HEIGHT / 2.0 - height).max(TOP))
    };
    for (_, start) in starts.iter() {
        let mut block = vec![*start];
        while let Some(above) =
            blocks.pop_if(|above| top(above) + above.len() as f64 * NAME_HEIGHT > top(&block))
        {
            block.splice(0..0, above);
        }
        blocks.push(block);
    }
    let heights = |block: &Vec<f64>| {
        let first = top(block) + NAME_HEIGHT / 2.0;
        (0..block.len()).map(move |index| first + index as f64 * NAME_HEIGHT)
    };
    blocks.iter().flat_map(heights).collect()
}

/// The line of `peer`, which begins at height `start`, and its name at height `name_y`.
fn line(
    out: &mut fmt::Formatter<'_>,
    axis: &Axis,
    peer: &str,
    times: &[f64],
    start: f64,
    name_y: f64,
) -> fmt::Result {
    let class =
        KINDS.iter().map(|kind| kind.prefix).find(|prefix| peer.starts_with(prefix)).unwrap_or("other");
    let dashes = match peer {
        peer if peer.ends_with("_other_cpu") => " dashed",
        peer if peer.contains("_by_") => " dotted",
        _ => "",
    };
    let points: Vec<(f64, f64)> =
        SIZES.iter().zip(times).map(|(size, time)| (x(*size), axis.y(*time))).collect();
    let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
    writeln!(out, r#"<g class="{class}{dashes}">"#)?;
    writeln!(out, r#"<path class="line" d="M{}"/>"#, path.join("L"))?;
    let (near, far) = (LEFT - 6.0, NAMES + 6.0);
    writeln!(out, r#"<path class="leader" d="M{far} {name_y:.1}H{:.1}L{near} {start:.1}"/>"#, far + 16.0)?;
    let name = name(peer);
    for ((x, y), (size, time)) in points.iter().zip(SIZES.iter().zip(times)) {
        let (size, time) = (bytes(*size), duration(*time));
        let title = format!("<title>{name}, {size}: {time}</title>");
        writeln!(out, r#"<circle cx="{x:.1}" cy="{y:.1}" r="3">{title}</circle>"#)?;
    }
    text(out, "name end", NAMES, name_y + 4.5, &name)?;
    writeln!(out, "</g>")
}

/// A peer's name for people: `pipe_same_cpu` is "pipe, same CPU".
fn name(peer: &str) -> String {
    let kind = KINDS.iter().find_map(|kind| Some((kind.name, peer.strip_prefix(kind.prefix)?)));
    let (kind, variant) = kind.unwrap_or((peer, ""));
    kind.to_owned()
        + &variant.replacen('_', ", ", 1).replace("_by_", ", by ").replace('_', " ").replace("cpu", "CPU")
}

fn text(out: &mut fmt::Formatter<'_>, class: &str, x: f64, y: f64, text: &str) -> fmt::Result {
    writeln!(out, r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{text}</text>"#)
}

/// The style sheet: a colour for each kind, in both schemes.
fn style(out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let colours = |ground: usize| {
        let rule = |kind: &Kind| format!(".{}{{color:{}}}", kind.prefix, kind.colours[ground]);
        KINDS.iter().map(rule).collect::<String>()
    };
    writeln!(
        out,
        "<style>\n\
         text{{font:13px system-ui,sans-serif;fill:#1f2937}} .title{{font-size:17px;font-weight:600}}\n\
         .end{{text-anchor:end}} .middle{{text-anchor:middle}} .tick{{fill:#4b5563}} .name{{fill:currentColor}}\n\
         .ground{{fill:#fff}} .grid{{stroke:#e5e7eb;fill:none}} .line{{stroke:currentColor;stroke-width:2;fill:none}}\n\
         .leader{{stroke:currentColor;opacity:.6;fill:none}} circle{{fill:currentColor}}\n\
         \n\
         .dashed .line,.dashed .leader{{stroke-dasharray:6 4}} .dotted .line,.dotted .leader{{stroke-dasharray:2 4}} .lockgate .line{{stroke-width:3.5}} .lockgate .name{{font-weight:600}}\n\
         .other{{color:#1f2937}}{light}\n\
         @media(prefers-color-scheme:dark){{text{{fill:#e5e7eb}}.tick{{fill:#9ca3af}}.name{{fill:currentColor}}.ground{{fill:#111827}}\
         .grid{{stroke:#2b3648}}.other{{color:#e5e7eb}}{dark}}}\n\
         </style>",
        light = colours(0),
        dark = colours(1),
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::*;

    const PEERS: &[(&str, f64)] = &[
        ("function", 1.5),
        ("lockgate_integrity", 4.0),
        ("lockgate_integrity_by_grant", 3.0),
        ("pipe_same_cpu", 900.0),
        ("pipe_other_cpu", 901.0),
    ];

    /// Every element of `xml` is closed by its own name, in order.
    fn is_well_formed(xml: &str) -> bool {
        let mut open = Vec::new();
        for tag in xml.split('<').skip(1) {
            let Some((tag, text)) = tag.split_once('>') else { return false };
            let name = tag.split(' ').next().unwrap_or_default();
            if text.contains('&') || tag.matches('"').count() % 2 != 0 {
                return false;
            }
            match name.strip_prefix('/') {
                Some(name) if open.pop() != Some(name) => return false,
                None if !tag.ends_with('/') => open.push(name),
                _ => {}
            }
        }
        open.is_empty()
    }

    #[test]
    fn every_series_has_its_line_points_and_name() {
        let svg = Chart(&report(PEERS)).to_string();
        assert!(is_well_formed(&svg), "{svg}");
        assert!(!is_well_formed(&svg.replacen("</g>", "", 1)));
        assert_eq!(svg.matches(r#"class="line""#).count(), PEERS.len());
        assert_eq!(svg.matches("<circle").count(), PEERS.len() * SIZES.len());
        for name in [
            "function",
            "Lockgate, integrity",
            "Lockgate, integrity, by grant",
            "pipe, same CPU",
            "pipe, other CPU",
        ] {
            assert_eq!(svg.matches(&format!(">{name}</text>")).count(), 1, "{name}");
        }
        assert_eq!(svg.matches(r#"class="pipe dashed""#).count(), 1);
        assert_eq!(svg.matches(r#"class="lockgate dotted""#).count(), 1);
    }

    #[test]
    fn axes_cover_all_times() {
        let report = report(PEERS);
        let axis =
            Axis::around(series(&report).iter().flat_map(|(_, times)| times).collect::<Vec<_>>().into_iter());
        assert_eq!((axis.low, axis.high), (0, 9));
        assert_eq!((axis.y(1.0), axis.y(1e9)), (BOTTOM, TOP));
        assert_eq!((x(1), x(1 << 20)), (LEFT, RIGHT));
    }

    #[test]
    fn names_keep_their_distance_and_their_order() {
        let mut starts: Vec<(usize, f64)> =
            [300.0, 301.0, 100.0, 302.0, 555.0, 556.0].into_iter().enumerate().collect();
        let names = spread(&mut starts);
        assert_eq!(starts.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [2, 0, 1, 3, 4, 5]);
        assert_eq!(names[0], 100.0, "a name without neighbours is at its line");
        assert!(names.windows(2).all(|pair| pair[1] - pair[0] >= NAME_HEIGHT - 1e-9), "{names:?}");
        assert!(names.iter().all(|y| (TOP..=BOTTOM).contains(y)), "{names:?}");
    }
}
