//! Nothing imports upward: the order of crates, and of the modules in each, is `layers.txt`. It has the order of a module's own files, too, where
//! it names the module's folder.

use hygiene::{PICTURES, dependencies, dependencies_of_tests, files, layers, read, root, with_pictures};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What pointers lead to, in structures that assembly passes on: the type of a pointer that lies in a layer above, by file. Only their own
/// layer follows these pointers. (Without the types they could be taken for each other.)
const POINTEES: &[(&str, &[&str])] = &[(
    "crates/lockgate/src/call/layout.rs",
    &[
        "*const super::thread_sys::ThreadState",
        "*const super::instance::Instance",
        "*const super::info::Info",
    ],
)];

/// A file's code, without comments, tests and [`POINTEES`].
fn code(path: &Path) -> String {
    let mut text = fs::read_to_string(path).expect("a source file");
    let of_file = POINTEES.iter().filter(|(file, _)| root().join(file) == path);
    for pointee in of_file.flat_map(|(_, pointees)| *pointees) {
        assert_eq!(text.matches(pointee).count(), 1, "{}: one field is a {pointee}", path.display());
        text = text.replace(pointee, "");
    }
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// The first names of all paths that follow `prefix`, `crate::` for one, in groups in braces, too.
fn first_names(code: &str, prefix: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, _) in code.match_indices(prefix) {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        let rest = &code[at + prefix.len()..];
        let mut word = String::new();
        let mut depth = 0;
        // In a group, names of its own level only.
        let mut counts = true;
        for c in rest.chars() {
            if c.is_alphanumeric() || c == '_' {
                word.push(c);
                continue;
            }
            if !word.is_empty() {
                if counts && depth <= 1 {
                    names.insert(std::mem::take(&mut word));
                }
                word.clear();
                counts = false;
            }
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth <= 1 => counts = true,
                _ => (),
            }
            if depth == 0 {
                break;
            }
        }
        if depth == 0 && counts && !word.is_empty() {
            names.insert(word);
        }
    }
    names
}

/// The modules that files name by other names: `#[path = "..."] mod name;`, `use module as name;`.
fn other_names(lib: &str) -> BTreeMap<String, String> {
    let mut paths = BTreeMap::new();
    for piece in lib.split("use ").skip(1) {
        let Some((module, name)) = piece.split(';').next().and_then(|used| used.split_once(" as ")) else {
            continue;
        };
        let module = module.trim_start_matches("crate::").trim_start_matches("self::");
        if !module.contains("::") {
            paths.insert(name.trim().to_owned(), module.to_owned());
        }
    }
    for piece in lib.split("#[path = \"").skip(1) {
        let (path, rest) = piece.split_once('"').expect("a path ends");
        let name = rest.split("mod ").nth(1).and_then(|rest| rest.split(';').next()).expect("a module");
        let folder = path.split('/').next().unwrap_or_default();
        paths.insert(name.trim().to_owned(), folder.trim_end_matches(".rs").to_owned());
    }
    paths
}

/// What the root of a crate passes on, by name: `pub use module::{A, B};`.
fn passed_on(lib: &str, other_names: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for piece in lib.split("use ").skip(1) {
        let Some((path, _)) = piece.split_once(';') else { continue };
        let path = path.trim_start_matches("crate::").trim_start_matches("self::");
        let Some((module, rest)) = path.split_once("::") else { continue };
        for name in rest.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty()) {
            let module = other_names.get(module).map_or(module, String::as_str);
            names.insert(name.to_owned(), module.to_owned());
        }
    }
    names
}

/// What the root of a folder defines itself, by name: `struct A`, `pub(crate) fn b`, `type C`.
fn defined(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for line in code.lines().filter(|line| !line.starts_with([' ', '#', '}'])) {
        let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let kinds = ["struct", "enum", "union", "fn", "type", "trait", "const", "static", "macro_rules"];
        let found = words.iter().position(|word| kinds.contains(word));
        // (`const fn`)
        let behind = found.map(|at| words[at + 1..].iter().filter(|word| !word.is_empty()));
        names.extend(
            behind
                .and_then(|mut behind| behind.find(|word| !kinds.contains(*word)))
                .copied()
                .map(str::to_owned),
        );
    }
    names
}

/// The names in a root beside those of its `mod` and `use` lines.
fn names_in_bodies(code: &str) -> BTreeSet<String> {
    let is_list = |item: &str| {
        // Attributes, and who may use it.
        let lines = item.lines().map(str::trim_start).filter(|line| !line.starts_with("#"));
        let item = lines.collect::<Vec<_>>().join("\n");
        let words: Vec<&str> = item.split_whitespace().take(2).collect();
        let is = |word: &&str| ["mod", "use"].contains(word);
        match words[..] {
            [first, second] if first.starts_with("pub") => is(&second),
            [first, ..] => is(&first),
            [] => true,
        }
    };
    let bodies = code.split_inclusive(';').filter(|item| !is_list(item));
    let words = bodies.flat_map(|item| item.split(|c: char| !c.is_alphanumeric() && c != '_'));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The sources that a line of the list is about: those of a crate, or a folder of them.
fn sources(name: &str) -> PathBuf {
    let folder = root().join(name);
    if folder.join("mod.rs").exists() { folder } else { folder.join("src") }
}

/// How files of a folder of sources name each other from the crate's root on.
fn path_of(source: &Path) -> String {
    let folders = source.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
    let inner = folders.skip_while(|part| part != "src").skip(1);
    ["crate".to_owned()].into_iter().chain(inner).map(|part| part + "::").collect()
}

/// How a file names modules of the folder that it is listed in: `super::` once for each step up, from its place below that folder.
fn way_up(below: &Path) -> String {
    let is_root = below.file_name().is_some_and(|name| name == "mod.rs");
    "super::".repeat(below.components().count() - usize::from(is_root))
}

/// The root of a folder, as its modules import it.
const ROOT: &str = "the folder's root";

/// By module: the others that it imports, and where.
fn imports(source: &Path) -> BTreeMap<String, BTreeMap<String, PathBuf>> {
    let roots = ["lib.rs", "main.rs", "mod.rs"];
    let lib = roots.into_iter().map(|name| source.join(name)).find(|path| path.exists());
    let lib = lib.expect("a crate, or a module, has a root");
    let lib = code(&lib);
    let bodies = names_in_bodies(&lib);
    let prefix = path_of(source.strip_prefix(root()).expect("in the tree"));
    let other_names = other_names(&lib);
    let passed_on = passed_on(&lib, &other_names);
    let of_root = defined(&lib);
    let files = files(source, &[".rs"]);
    let top = |path: &Path| {
        let first = path.strip_prefix(source).expect("below it").components().next().expect("a name");
        first.as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned()
    };
    let modules: BTreeSet<String> = files.iter().map(|path| top(path)).collect();
    // (A root that uses nothing of its modules lies below them all.)
    let passed = passed_on.iter().filter(|(_, module)| modules.contains(*module)).map(|(name, _)| name);
    let uses = modules.iter().chain(passed).any(|name| bodies.contains(name));
    let mut found: BTreeMap<String, BTreeMap<String, PathBuf>> = BTreeMap::new();
    for path in &files {
        let own = top(path);
        let below = path.strip_prefix(source).expect("below it").to_string_lossy();
        if ["lib", "main", "mod"].contains(&own.as_str()) || below.contains("tests") {
            continue;
        }
        let code = code(path);
        let mut names = first_names(&code, &prefix);
        names.extend(first_names(&code, &way_up(path.strip_prefix(source).expect("below it"))));
        let imported = found.entry(own.clone()).or_default();
        for name in names {
            let name = other_names.get(&name).unwrap_or(&name);
            let module = if modules.contains(name) { Some(name) } else { passed_on.get(name) };
            if module.is_none() && uses && of_root.contains(name) {
                imported.entry(ROOT.to_owned()).or_insert_with(|| path.clone());
            }
            if let Some(module) = module.filter(|module| modules.contains(*module) && **module != own) {
                imported.entry(module.clone()).or_insert_with(|| path.clone());
            }
        }
    }
    found
}

#[test]
fn names_behind_a_prefix_are_found() {
    let code =
        "use crate::{a::{x, y}, b, c as d};\nuse crate::e::f;\nlet g = crate::h::i(crate::j);\nmycrate::k";
    let names: Vec<String> = first_names(code, "crate::").into_iter().collect();
    assert_eq!(names, ["a", "b", "c", "e", "h", "j"]);
}

#[test]
fn folders_are_known_by_their_path() {
    assert_eq!(path_of(Path::new("crates/lockgate/src")), "crate::");
    assert_eq!(path_of(Path::new("crates/lockgate/src/call")), "crate::call::");
    let way_up = |below: &str| way_up(Path::new(below));
    assert_eq!(
        ["a.rs", "a/mod.rs", "a/b.rs"].map(way_up),
        ["super::", "super::", "super::super::"],
        "two steps from a file in a folder"
    );
    let found = imports(&sources("crates/lockgate/src/call"));
    assert!(found["gate_asm"].contains_key("service_sys"), "by a path in the code");
    assert!(found["instance"].contains_key("admission_sys"), "by an import");
    assert!(!found["layout"].contains_key("instance"), "a pointee is none");
}

#[test]
fn modules_are_known_by_their_other_names() {
    let lib = "#[path = \"a/b.rs\"]\nmod c;\nuse d_sys as d;\npub use d::E;\npub use f::{G as H};";
    let names = other_names(lib);
    assert_eq!(
        names.into_iter().map(|(name, module)| name + module.as_str()).collect::<Vec<_>>(),
        ["ca", "dd_sys"]
    );
    let passed_on = passed_on(lib, &other_names(lib));
    assert_eq!(passed_on.get("E").map(String::as_str), Some("d_sys"));
}

#[test]
fn what_a_root_defines_is_found() {
    let root = "mod h;\npub use a::B;\n#[derive(C)]\npub(crate) struct D {\n    e: F,\n}\npub const fn g() {}\nimpl I for D {\n    fn j() {}\n}";
    assert_eq!(defined(root).into_iter().collect::<Vec<_>>(), ["D", "g"]);
    let bodies = names_in_bodies(root);
    assert!(bodies.contains("F") && !bodies.contains("B") && !bodies.contains("h"), "{bodies:?}");
}

#[test]
fn modules_import_lower_layers_only() {
    let mut wrong = Vec::new();
    for (name, layers) in layers() {
        let source = sources(&name);
        let layer_of = |module: &str| layers.iter().position(|layer| layer.iter().any(|name| name == module));
        let found = imports(&source);
        for module in layers.iter().flatten().filter(|module| !found.contains_key(*module)) {
            wrong.push(format!("{name}: the list has a module `{module}`, the crate has none"));
        }
        for (module, imported) in &found {
            let Some(own) = layer_of(module) else {
                wrong.push(format!("{name}: the list does not have the module `{module}`"));
                continue;
            };
            for (other, path) in imported {
                if layer_of(other).is_none_or(|layer| layer >= own) {
                    let path = path.strip_prefix(root()).expect("in the tree").display();
                    wrong.push(format!(
                        "{name}: `{module}` imports `{other}`, which is no lower layer: {path}"
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn crates_depend_on_lower_crates_only() {
    let list = layers();
    let place = |name: &str| list.iter().position(|(path, _)| path.rsplit('/').next() == Some(name));
    let mut wrong = Vec::new();
    assert!(dependencies_of_tests()["lockgate-cli"].contains(&"lockgate-bench".to_owned()));
    for (name, dependencies) in dependencies().into_iter().chain(dependencies_of_tests()) {
        let Some(own) = place(&name) else {
            wrong.push(format!("the list does not have the crate {name}"));
            continue;
        };
        for other in dependencies {
            if place(&other).is_some_and(|other| other >= own) {
                wrong.push(format!("{name} depends on {other}, which does not come before it"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `make layers` draws them.
#[test]
fn pictures_show_the_list() {
    for page in PICTURES {
        let text = read(page);
        let is_drawn = with_pictures(&text) == text;
        assert!(is_drawn, "{page}: `make layers` draws its pictures as layers.txt is now");
    }
    let text = read("docs/layers.md");
    assert!(text.contains("<!-- layers of lockgate -->"), "docs/layers.md has no picture of the runtime");
}

/// ARCHITECTURE.md is read first: it has one picture, drawn from the list, and says in ten lines what a layer is. The rest has pages of its own.
#[test]
fn the_architecture_is_short() {
    let text = read("ARCHITECTURE.md");
    assert!(text.contains("<!-- layers of crates -->"), "ARCHITECTURE.md has no picture of the crates");
    assert_eq!(text.matches("```").count(), 2, "ARCHITECTURE.md has one picture: more go to docs/layers.md");
    let layers: Vec<&str> = text.split("\n## ").filter(|section| section.starts_with("Layer ")).collect();
    assert!(layers.len() >= 5, "only {} layers", layers.len());
    for layer in layers {
        let (heading, body) = layer.split_once('\n').expect("a heading ends");
        let lines = body.lines().filter(|line| !line.is_empty()).count();
        assert!(lines <= 10, "ARCHITECTURE.md: {heading:?} has {lines} lines, 10 at most");
    }
}
