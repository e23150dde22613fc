//! The tree's files; the order of its crates and modules, and pictures of it; its findings, counted. See `tests/`, which hold the tree to its own rules.
#![forbid(unsafe_code)]

pub mod findings;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The tree.
///
/// # Panics
/// If this crate is somewhere else.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two levels up")
}

/// The text of a file, by its path in the tree.
///
/// # Panics
/// If it cannot be read.
pub fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files of a folder of the tree, and of those in it, whose names end in one of `ends`, in order. What was built, and what begins with a dot,
/// is left out.
///
/// # Panics
/// If a folder cannot be read.
pub fn files(folder: impl AsRef<Path>, ends: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if !name.starts_with('.') && name != "target" && name != "build" {
                    folders.push(path);
                }
            } else if ends.iter().any(|end| name.ends_with(end)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A crate, by its folder in the tree, and its layers: what others rest on comes first.
pub type Layered = (String, Vec<Vec<String>>);

/// What `layers.txt` says.
///
/// # Panics
/// If it cannot be read, or has a line that is no layer.
pub fn layers() -> Vec<Layered> {
    let text = read("tests/hygiene/layers.txt");
    let mut crates: Vec<Layered> = Vec::new();
    for line in text.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix("    ") {
            None => crates.push((line.to_owned(), Vec::new())),
            Some(modules) => {
                let is_name = |name: &str| name.chars().all(|c| c.is_alphanumeric() || c == '_');
                let modules: Vec<String> = modules.split_whitespace().map(str::to_owned).collect();
                let wrong = modules.iter().find(|name| !is_name(name));
                assert!(wrong.is_none(), "layers.txt: {wrong:?} is no module: a layer is a list of names");
                crates.last_mut().expect("a crate comes first").1.push(modules);
            }
        }
    }
    crates
}

/// The documents with pictures.
pub const PICTURES: [&str; 2] = ["ARCHITECTURE.md", "docs/layers.md"];

/// The names of what the library of a crate depends on, as its manifest lists it: for each folder of `crates/`.
///
/// # Panics
/// If the folder, or a manifest, cannot be read.
pub fn dependencies() -> BTreeMap<String, Vec<String>> {
    listed("dependencies")
}

/// The same of its tests alone.
///
/// # Panics
/// As [`dependencies`].
pub fn dependencies_of_tests() -> BTreeMap<String, Vec<String>> {
    listed("dev-dependencies")
}

fn listed(section: &str) -> BTreeMap<String, Vec<String>> {
    let heading = format!("{section}]");
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root().join("crates")).expect("the crates") {
        let entry = entry.expect("an entry");
        let Ok(manifest) = fs::read_to_string(entry.path().join("Cargo.toml")) else { continue };
        let section = manifest.split("\n[").find(|part| part.starts_with(&heading)).unwrap_or_default();
        let names = section.lines().map(|line| line.split(['.', ' ', '=']).next().unwrap_or_default());
        found.insert(
            entry.file_name().to_string_lossy().into_owned(),
            names.skip(1).map(str::to_owned).collect(),
        );
    }
    found
}

/// The crates as layers: each lies right above the highest one that it depends on. In a layer they have the order of the list.
fn crate_layers() -> Vec<Vec<String>> {
    let dependencies = dependencies();
    let mut levels: BTreeMap<String, usize> = BTreeMap::new();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (path, _) in layers() {
        let Some(name) = path.strip_prefix("crates/").filter(|name| !name.contains('/')) else { continue };
        let below = dependencies[name].iter().filter_map(|other| levels.get(other));
        let level = below.max().map_or(0, |level| level + 1);
        levels.insert(name.to_owned(), level);
        rows.resize(rows.len().max(level + 1), Vec::new());
        rows[level].push(name.strip_prefix("lockgate-").unwrap_or(name).to_owned());
    }
    rows
}

/// `text`, a document, with each picture as the list has it now: between a line that names the crate (or `crates`, for all of them) and a line
/// that ends the picture.
///
/// # Panics
/// If a picture does not end, or is of a crate that the list does not have.
pub fn with_pictures(text: &str) -> String {
    const BEGIN: &str = "<!-- layers of ";
    const END: &str = "<!-- end of layers -->";
    let list = layers();
    let mut parts = text.split(BEGIN);
    let mut all = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" -->").expect("a name ends");
        let (_, rest) = rest.split_once(END).expect("a picture ends");
        let known = list.iter().find(|(known, _)| known.rsplit('/').next() == Some(name));
        let drawn = match known {
            Some((_, layers)) => picture(layers),
            None if name == "crates" => picture(&crate_layers()),
            None => panic!("the list does not have {name}"),
        };
        all += &format!("{BEGIN}{name} -->\n```text\n{drawn}```\n{END}{rest}");
    }
    all
}

/// A tower of layers: each rests on those below it. Modules whose files say that they have unsafe code or assembly lose that ending, if no
/// other has the rest of the name.
fn picture(layers: &[Vec<String>]) -> String {
    const WIDTH: usize = 74;
    let line = |left, right| format!("{left}{}{right}\n", "─".repeat(WIDTH + 2));
    let short = |name: &str| name.trim_end_matches("_sys").trim_end_matches("_asm").to_owned();
    let alike = |name: &str| layers.iter().flatten().filter(|other| short(other) == short(name)).count();
    let shown = |name: &String| if alike(name) > 1 { name.clone() } else { short(name) };
    let rows = layers.iter().rev().map(|layer| {
        let names: Vec<String> = layer.iter().map(shown).collect();
        wrapped(&names, WIDTH).iter().map(|text| format!("│ {text:WIDTH$} │\n")).collect::<String>()
    });
    let rows: Vec<String> = rows.collect();
    line('┌', '┐') + &rows.join(&line('├', '┤')) + &line('└', '┘')
}

/// Names in lines of at most `width` characters.
fn wrapped(names: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for name in names {
        match lines.last_mut().filter(|line| line.len() + 2 + name.len() <= width) {
            Some(line) => *line += &format!("  {name}"),
            None => lines.push(name.clone()),
        }
    }
    lines
}
