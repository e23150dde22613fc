//! `stubs.*`: programs that use protected libraries against the same programs with the libraries themselves.
//!
//! The programs are unchanged; a sample is the ratio of the CPU times of two whole processes that ran in turns of a tenth of a second,
//! start-up (loading and verifying the module) included. Both must write the same. In each round the library's functions lie in another
//! order, the same one on both sides.

pub mod layout;
pub mod library;

use crate::child_sys::run_both;
use crate::command::done;
use crate::{Metric, Options, Pinned, Report, progress};
use anyhow::ensure;
use library::{Built, Kit, LIBRARIES};
use lockgate_corpus::Corpus;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// Rounds of a full run, and of a quick one.
const ROUNDS: (usize, usize) = (9, 3);
/// A quick run has this fraction of the data.
const QUICK: usize = 8;

/// What a program is made to do: a line of the shell, in which `$P` is the program. Files named `out*` must be the same.
struct Work {
    metric: &'static str,
    library: &'static str,
    program: &'static str,
    line: &'static str,
}

const WORK: &[Work] = &[
    Work {
        metric: "stubs.zlib",
        library: "zlib",
        program: "minigzip",
        line: "$P <text >out.gz && $P -d <out.gz >out && echo done",
    },
    Work { metric: "stubs.copied", library: "zlib", program: "shared", line: "$P own $TIMES" },
    Work { metric: "stubs.shared", library: "zlib", program: "shared", line: "$P shared $TIMES" },
    Work { metric: "stubs.expat", library: "expat", program: "xmlwf", line: "$P -r $DOCUMENTS && echo done" },
    Work {
        metric: "stubs.expat_events",
        library: "expat",
        program: "xmlwf",
        line: "mkdir -p events && $P -r -d events document.xml && mv events/document.xml out.xml && rmdir events && echo done",
    },
    Work {
        metric: "stubs.png",
        library: "png",
        program: "pngtest",
        line: "$P image.png out.png >out.txt && echo done",
    },
    Work {
        metric: "stubs.png_pixels",
        library: "png",
        program: "png2pnm",
        line: "$P image.png out.pnm && echo done",
    },
    Work { metric: "stubs.sqlite", library: "sqlite", program: "sqlite", line: "$P $SCALE" },
];

/// Measures; `lockgate` is the program to build with, beside which the library was built or installed.
pub fn measure(options: &Options, lockgate: &Path) -> anyhow::Result<Report> {
    let works = options.chosen(WORK, |work| work.metric)?;
    let corpus = Corpus::locate()?;
    let folder = tempfile::tempdir()?;
    let prefix = crate::installed::library(corpus.root(), folder.path())?;
    let rounds = if options.quick { ROUNDS.1 } else { ROUNDS.0 };
    let kit = Kit { corpus: &corpus, lockgate, prefix: &prefix, optimisation: "-O2", layouts: rounds };
    let mut built: Vec<(&str, Built)> = Vec::new();
    let building = progress::bar("build", 0);
    for library in LIBRARIES.iter().filter(|library| works.iter().any(|work| work.library == library.name)) {
        building.set_message(library.name);
        let own = folder.path().join(library.name);
        std::fs::create_dir_all(&own)?;
        built.push((library.name, kit.build(library, &own)?));
    }
    building.finish_and_clear();

    let share = if options.quick { QUICK } else { 1 };
    let sides = ["plain", "protected"].map(|side| folder.path().join(side));
    for side in &sides {
        std::fs::create_dir_all(side)?;
        std::fs::write(side.join("text"), text((64 << 20) / share))?;
        std::fs::write(side.join("document.xml"), document(800_000 / share))?;
        std::fs::write(side.join("image.ppm"), photograph(3072, 2048 / share))?;
        if let Some((_, png)) = built.iter().find(|(name, _)| *name == "png") {
            done(
                Command::new(&png.layouts[0].native["pnm2png"])
                    .args(["image.ppm", "image.png"])
                    .current_dir(side),
            )?;
        }
    }
    let (scale, times) = ((240 / share).to_string(), (8000 / share).to_string());
    let documents = ["document.xml"; 8].join(" ");
    let _pinned = Pinned::here()?;
    let bar = progress::bar("stubs", ((rounds + 1) * works.len()) as u64);
    let mut ratios = vec![Vec::new(); works.len()];
    for round in 0..=rounds {
        for (work, ratios) in works.iter().zip(&mut ratios) {
            bar.set_message(work.metric);
            let built = built.iter().find(|(name, _)| *name == work.library).map(|(_, built)| built);
            let built = built.expect("the tables agree");
            // Each round has its own layout of the library, the same for both sides.
            let layout = &built.layouts[round % rounds];
            let programs = [&layout.native[work.program], &built.protected[work.program]];
            let mut commands = [0, 1].map(|side| {
                let mut command = Command::new("sh");
                command.args(["-c", work.line]).current_dir(&sides[side]);
                command.env("P", programs[side]).env("SCALE", &scale).env("TIMES", &times);
                command.env("DOCUMENTS", &documents).env(&built.module_variable, &layout.module);
                command
            });
            let [plain, protected] = run_both(round, &mut commands)?;
            let outputs = [plain.output, protected.output];
            ensure!(outputs[0] == outputs[1], "{}: the outputs differ: {outputs:?}", work.metric);
            // The first round warms up.
            if round > 0 {
                ratios.push(protected.seconds / plain.seconds);
            } else {
                same_files(work.metric, &sides[0], &sides[1])?;
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let metrics = works.iter().zip(ratios).map(|(work, ratios)| Metric::new(work.metric, "ratio", ratios));
    let mut metrics: Vec<Metric> = metrics.collect();
    for (name, built) in &built {
        let lines = vec![built.annotation_lines as f64];
        metrics.push(Metric::new(format!("stubs.annotations.{name}"), "count", lines));
    }
    Ok(Report::new(metrics))
}

/// What both sides wrote is the same.
fn same_files(metric: &str, plain: &Path, protected: &Path) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(plain)? {
        let name = entry?.file_name();
        let other = protected.join(&name);
        let same = std::fs::read(plain.join(&name))? == std::fs::read(&other)?;
        ensure!(same, "{metric}: {} differs", other.display());
    }
    Ok(())
}

/// Words in an order that repeats late: compresses about as well as prose.
pub fn text(length: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(length + 16);
    let mut state = 1_u64;
    while text.len() < length {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut word = (state >> 33) % 5000 * 7919;
        for _ in 0..3 + (state >> 60) % 6 {
            text.push(b'a' + (word % 26) as u8);
            word = word / 26 + 17;
        }
        text.push(b' ');
    }
    text.truncate(length);
    text
}

/// A picture in 24 bits, PPM: gradients with a little noise, which compress about as well as a photograph.
fn photograph(width: usize, height: usize) -> Vec<u8> {
    let mut picture = format!("P6\n{width} {height}\n255\n").into_bytes();
    let mut state = 1_u64;
    for y in 0..height {
        for x in 0..width {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let noise = (state >> 61) as usize;
            picture.extend([1, 2, 3].map(|colour| (x * y / 64 + x / 8 * colour + noise) as u8));
        }
    }
    picture
}

/// An XML document of so many elements.
fn document(elements: usize) -> String {
    let mut text = String::from("<?xml version=\"1.0\"?>\n<root>\n");
    for n in 0..elements {
        let _ = writeln!(
            text,
            "<item id=\"{n}\" kind=\"k{}\"><name>Name number {n}</name><text>some words &amp; more of them, {}</text><!-- {n} --></item>",
            n % 7,
            n * 31 % 1009
        );
    }
    text + "</root>\n"
}
