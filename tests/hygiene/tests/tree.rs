//! The rules that the tree keeps about itself: each test reads the files of the repository.

use hygiene::{files, read, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn metadata() -> serde_json::Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(root())
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

/// The root file of a target.
fn source(target: &serde_json::Value) -> PathBuf {
    fs::canonicalize(target["src_path"].as_str().expect("a path")).expect("a file")
}

#[test]
fn every_dependency_has_a_licence_we_can_ship() {
    const ALLOWED: [&str; 12] = [
        "0BSD",
        "MIT",
        "Apache-2.0",
        "Apache-2.0 WITH LLVM-exception",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSL-1.0",
        "CC0-1.0",
        "ISC",
        "MIT-0",
        "Unicode-3.0",
        "Zlib",
    ];
    for package in metadata()["packages"].as_array().expect("packages") {
        let name = package["name"].as_str().unwrap_or_default();
        let licence = package["license"].as_str().unwrap_or_default();
        // One acceptable alternative of each OR, every part of each AND.
        let fine = licence.replace('/', " OR ").split(" AND ").all(|all| {
            all.split(" OR ").any(|one| {
                ALLOWED.contains(&one.trim_matches(|c: char| " ()".contains(c))) || one.trim() == "Unlicense"
            })
        });
        // Its own files stay under it; what links with them does not come under it.
        let by_file = licence == "MPL-2.0" && ["dynasm", "dynasmrt"].contains(&name);
        assert!(fine || by_file, "{name}: licence {licence:?} is not on the list");
    }
}

#[test]
fn dependencies_come_from_the_registry_and_are_justified() {
    let justified = read("docs/dependencies.md");
    let metadata = metadata();
    for package in metadata["packages"].as_array().expect("packages") {
        let source = package["source"].as_str();
        assert!(
            source.is_none_or(|s| s.starts_with("registry+")),
            "{}: not from the registry: {source:?}",
            package["name"]
        );
        if source.is_some() {
            continue; // only our own crates' direct dependencies are ours to justify
        }
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let name = dependency["name"].as_str().unwrap_or_default();
            if dependency["path"].is_null() {
                assert!(
                    justified.contains(&format!("`{name}`")),
                    "docs/dependencies.md does not name `{name}`"
                );
                assert_ne!(dependency["req"], "*", "{name}: a dependency needs a version");
            }
        }
    }
}

/// Every entry of the workspace is used by a member, every dependency by its package's sources, every justification
/// by a manifest.
#[test]
fn no_dependency_is_left_over() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    let mut used = BTreeSet::new();
    for package in packages.iter().filter(|package| package["source"].is_null()) {
        let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
        let folder = manifest.parent().expect("has a folder");
        // (A package of tests compiles a library that lies beside its folder.)
        let mut folders = BTreeSet::from([fs::canonicalize(folder).expect("a folder")]);
        let targets = package["targets"].as_array().expect("targets").iter();
        folders.extend(targets.map(|target| source(target).parent().expect("a folder").to_owned()));
        let files = folders.iter().flat_map(|folder| files(folder, &[".rs"]));
        let sources: String = files.filter_map(|path| fs::read_to_string(path).ok()).collect();
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let name = dependency["name"].as_str().unwrap_or_default();
            let called = dependency["rename"].as_str().unwrap_or(name).replace('-', "_");
            // Nothing compiles it: `the_python_package_shares_what_tests_have_compiled` says what it is for.
            let is_for_its_features = dependency["kind"] == "build" && !folder.join("build.rs").exists();
            assert!(
                is_for_its_features || sources.contains(&called),
                "{}: no source uses {name}",
                manifest.display()
            );
            used.insert(name.to_owned());
        }
    }
    let manifest = read("Cargo.toml");
    let entries = manifest.split("[workspace.dependencies]").nth(1).expect("dependencies");
    for line in entries.lines().skip(1).take_while(|line| !line.starts_with('[')) {
        if let Some((name, _)) = line.split_once('=').filter(|_| !line.starts_with('#')) {
            assert!(used.contains(name.trim()), "Cargo.toml: no member uses {}", name.trim());
        }
    }
    let justified = read("docs/dependencies.md");
    for row in justified.lines().filter(|line| line.starts_with("| `")) {
        let names = row.split('|').nth(1).expect("a cell");
        for name in names.split(',').map(|name| name.trim().trim_matches('`')) {
            assert!(used.contains(name), "docs/dependencies.md: nothing depends on {name}");
        }
    }
}

/// The crates that cargo builds for these packages, each with its features.
fn crates_and_features(packages: &[&str]) -> BTreeSet<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--locked", "--prefix=none", "--format={p} {f}"]).args(packages);
    let output = cargo.current_dir(root()).output().expect("cargo tree runs");
    assert!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| line.trim_end_matches(" (*)").to_owned())
        .collect()
}

/// Red if one dependency has other features there: `make test` then compiles lockgate, and all that lies between, once more.
#[test]
fn the_python_package_shares_what_tests_have_compiled() {
    // As pip has it for the newest interpreters; for older ones, nothing is compiled in tests.
    let manifest = read("pyproject.toml");
    let how = "no-default-features = true\n\
               features = [{ feature = \"pyo3/abi3-py311\", python-version = \">=3.11\" }]\n";
    assert!(manifest.contains(how), "pyproject.toml builds the package in another way");
    let how = ["--package=lockgate-python", "--no-default-features", "--features=pyo3/abi3-py311"];
    let package = crates_and_features(&[&how[..], &["--edges=normal,build"]].concat());
    assert!(package.iter().any(|line| line.starts_with("lockgate v")), "{package:?}");
    let is_other = |line: &&String| !line.starts_with("lockgate-python v");
    let all = crates_and_features(&["--workspace"]);
    let others: Vec<_> = package.difference(&all).filter(is_other).collect();
    assert!(others.is_empty(), "only the Python package has these features: {others:#?}");
}

/// What cargo compiles to be linked in and what to be run while it compiles (procedural macros, build scripts), for these packages and what
/// they depend on; those of the tests of `with_tests` as well.
struct Compiled {
    linked: BTreeSet<String>,
    run: BTreeSet<String>,
}

impl Compiled {
    fn of(metadata: &serde_json::Value, packages: &[&str], with_tests: bool) -> Compiled {
        let array = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
        let id = |value: &serde_json::Value| value.as_str().expect("an id").to_owned();
        let is_macro = |package: &serde_json::Value| {
            array(&package["targets"]).iter().any(|target| target["kind"][0] == "proc-macro")
        };
        let all = array(&metadata["packages"]);
        let macros: BTreeSet<_> = all.iter().filter(|p| is_macro(p)).map(|p| id(&p["id"])).collect();
        let nodes: BTreeMap<_, _> =
            array(&metadata["resolve"]["nodes"]).iter().map(|node| (id(&node["id"]), node.clone())).collect();
        let roots = all.iter().filter(|p| packages.contains(&p["name"].as_str().expect("a name")));
        let mut to_do: Vec<_> = roots.map(|p| (id(&p["id"]), false, with_tests)).collect();
        let mut compiled = Compiled { linked: BTreeSet::new(), run: BTreeSet::new() };
        while let Some((package, is_run, is_tested)) = to_do.pop() {
            let set = if is_run { &mut compiled.run } else { &mut compiled.linked };
            if !set.insert(package.clone()) && !is_tested {
                continue;
            }
            for dependency in array(&nodes[&package]["deps"]) {
                for kind in array(&dependency["dep_kinds"]) {
                    let its = id(&dependency["pkg"]);
                    let run = is_run || macros.contains(&its) || kind["kind"] == "build";
                    if kind["kind"] != "dev" || is_tested {
                        to_do.push((its, run, false));
                    }
                }
            }
        }
        compiled
    }
}

/// Whether a crate, and each that it depends on, has the same features wherever it is used: else it is compiled for macros by itself.
fn has_one_form(metadata: &serde_json::Value, forms: &BTreeSet<String>, id: &str) -> bool {
    let (_, version) = id.split_once('#').expect("an id ends with name and version");
    let start = version.replace('@', " v") + " ";
    let nodes = metadata["resolve"]["nodes"].as_array().expect("nodes");
    let node = nodes.iter().find(|node| node["id"] == id).expect("a package of the graph");
    let mut dependencies = node["deps"].as_array().expect("dependencies").iter();
    forms.iter().filter(|form| form.starts_with(&start)).count() == 1
        && dependencies.all(|it| has_one_form(metadata, forms, it["pkg"].as_str().expect("an id")))
}

/// Red if a crate that procedural macros use is linked in as well for the tests, and not for the package, or the other way round: such a crate
/// is compiled for both at once, and in another way, and what is built on it with it.
#[test]
fn the_python_package_shares_what_macros_have_compiled() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    let members = packages.iter().filter(|package| package["source"].is_null());
    let members: Vec<&str> = members.filter_map(|package| package["name"].as_str()).collect();
    let [all, package] = [(&members[..], true), (&["lockgate-python"][..], false)]
        .map(|(packages, with_tests)| Compiled::of(&metadata, packages, with_tests));
    assert!(package.run.iter().any(|id| id.contains("syn@2")), "{:?}", package.run);
    let forms = crates_and_features(&["--workspace"]);
    let differs = |id: &&String| {
        all.linked.contains(*id) != package.linked.contains(*id) && has_one_form(&metadata, &forms, id)
    };
    let differ: Vec<_> = package.run.iter().filter(differs).collect();
    assert!(differ.is_empty(), "compiled once more for the Python package: {differ:#?}");
}

/// `make test` builds the demo by itself in the midst of the workspace, so that it shares what the tests are made of: without the packages that
/// ask for all of the benchmarks. Red if it leaves out another, and then compiles what the tests have as well or compiles nothing new; or if
/// packages ask for different features of a crate, so that the demo could lack one of them where it is built alone.
#[test]
fn the_demo_is_built_with_what_it_asks_for() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages").iter();
    let (mut with_all, mut asked) = (BTreeSet::from(["lockgate-bench"]), BTreeMap::new());
    for package in packages.filter(|package| package["source"].is_null()) {
        let name = package["name"].as_str().expect("a name");
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let of = dependency["name"].as_str().expect("a name");
            let features: BTreeSet<_> = dependency["features"]
                .as_array()
                .expect("features")
                .iter()
                .flat_map(|f| f.as_str())
                .collect();
            let features = (features, dependency["uses_default_features"].as_bool());
            // (No package of the demo's has what is named for its features: `the_python_package_shares_what_tests_have_compiled`.)
            if dependency["path"].is_null() && dependency["kind"] != "build" {
                asked.entry(of).or_insert(BTreeMap::new()).insert(features, name);
            } else if of == "lockgate-bench" && features.0.contains("all") {
                with_all.insert(name);
            }
        }
    }
    asked.retain(|_, asked| asked.len() > 1);
    assert!(asked.is_empty(), "features of one crate that differ: {asked:#?}");
    let makefile = read("Makefile");
    let line =
        makefile.lines().find(|line| line.ends_with("--bin lockgate-demo --locked --quiet")).expect("a line");
    let left_out = line.split("--exclude ").skip(1).filter_map(|rest| rest.split(' ').next());
    assert_eq!(left_out.collect::<BTreeSet<_>>(), with_all, "{line}");
}

/// A source file that no `mod` names is not compiled: it rots.
#[test]
fn every_source_file_belongs_to_a_target() {
    let metadata = metadata();
    let mut reached = BTreeSet::new();
    for package in metadata["packages"].as_array().expect("packages") {
        if package["source"].is_null() {
            for target in package["targets"].as_array().expect("targets") {
                let root = PathBuf::from(target["src_path"].as_str().expect("a path"));
                let folder = root.parent().expect("has a folder").to_owned();
                reach(root, &folder, &mut reached);
            }
        }
    }
    // Packages outside the workspace (corpus/) are not known to it.
    let members: BTreeSet<PathBuf> = metadata["packages"]
        .as_array()
        .expect("packages")
        .iter()
        .map(|package| PathBuf::from(package["manifest_path"].as_str().expect("a path")))
        .collect();
    let is_member = |path: &Path| {
        let manifest =
            path.ancestors().map(|folder| folder.join("Cargo.toml")).find(|manifest| manifest.exists());
        manifest.is_some_and(|manifest| members.contains(&manifest))
    };
    let orphans: Vec<PathBuf> =
        files("", &[".rs"]).into_iter().filter(|path| !reached.contains(path) && is_member(path)).collect();
    assert!(orphans.is_empty(), "no target compiles {orphans:#?}");
    assert!(reached.len() > 100, "only {} files were found", reached.len());
}

/// Adds a file and the modules that it declares; those lie in `folder`.
fn reach(path: PathBuf, folder: &Path, reached: &mut BTreeSet<PathBuf>) {
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let own = path.parent().expect("has a folder").to_owned();
    if !reached.insert(path) {
        return;
    }
    let mut elsewhere = None;
    for line in text.lines().map(str::trim) {
        // Text of programs that are compiled elsewhere.
        if let Some((_, name)) = line.split_once("include_str!(\"")
            && let Some((name, _)) = name.split_once(".rs\")")
        {
            reached.insert(normal(&own.join(name).with_extension("rs")));
        }
        if let Some(path) = line.strip_prefix("#[path = \"").and_then(|rest| rest.split('"').next()) {
            elsewhere = Some(own.join(path));
        }
        let declared =
            line.split_once("mod ").filter(|(before, _)| before.is_empty() || before.starts_with("pub"));
        let Some(name) = declared.and_then(|(_, name)| name.strip_suffix(';')) else { continue };
        match elsewhere.take() {
            Some(path) => {
                let path = normal(&path);
                let folder = path.parent().expect("has a folder").to_owned();
                reach(path, &folder, reached);
            }
            None => {
                let file = folder.join(name).with_extension("rs");
                let file = if file.exists() { file } else { folder.join(name).join("mod.rs") };
                reach(file, &folder.join(name), reached);
            }
        }
    }
}

/// The path without `..`, so that it compares equal.
fn normal(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn unsafe_code_lives_in_named_files() {
    let here = file!();
    let mut offenders = BTreeSet::new();
    for path in files("", &[".rs"]) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Where the compiler forbids it, it is text: of generated code.
        let forbids = |folder: &Path| {
            fs::read_to_string(folder.join("mod.rs"))
                .is_ok_and(|text| text.contains("#![forbid(unsafe_code)]"))
        };
        if name.ends_with("_sys.rs")
            || name.ends_with("_asm.rs")
            || here.ends_with(&name)
            || path.ancestors().skip(1).any(forbids)
        {
            continue;
        }
        let text = fs::read_to_string(&path).expect("readable source");
        let code = text.lines().map(|l| l.split("//").next().unwrap_or_default());
        // `extern "C" fn` types and the `#![forbid(unsafe_code)]` attribute are not unsafe code.
        if code.into_iter().any(|l| {
            ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern", "asm!("]
                .iter()
                .any(|word| l.contains(word))
        }) {
            offenders.insert(path.strip_prefix(root()).expect("inside the tree").display().to_string());
        }
    }
    assert!(offenders.is_empty(), "unsafe code outside *_sys.rs and *_asm.rs: {offenders:#?}");
}

/// Short routines that stand beside the only code that enters them: apart, each would need one more name for the linker that leads to a higher
/// layer (docs/decisions/0078-layers-of-the-call-path.md).
const BESIDE_THEIR_CODE: [&str; 7] = [
    "crates/lockgate-c/src/region_sys.rs",
    "crates/lockgate-c/src/remote_pointer_sys.rs",
    "crates/lockgate/src/call/fronts_sys.rs",
    "crates/lockgate/src/call/plain_handlers_sys.rs",
    "crates/lockgate/src/call/signals_sys.rs",
    "crates/lockgate/src/dynamic_callback_sys.rs",
    "crates/lockgate/src/symbols/registry_sys.rs",
];

/// Routines in assembly have files of their own, but for those and the programs that test.
#[test]
fn routines_in_assembly_live_in_named_files() {
    let of_crates = files("crates", &[".rs"]).into_iter().filter(|path| {
        let path = path.to_string_lossy();
        path.contains("/src/") && !path.ends_with("_asm.rs")
    });
    let is_routine = |path: &PathBuf| {
        let text = fs::read_to_string(path).expect("readable source");
        text.lines()
            .map(|line| line.split("//").next().unwrap_or_default())
            .any(|code| ["global_asm!", "naked_asm!"].iter().any(|word| code.contains(word)))
    };
    let found = of_crates.filter(is_routine);
    let found = found.map(|path| path.strip_prefix(root()).expect("inside the tree").display().to_string());
    assert_eq!(found.collect::<BTreeSet<_>>(), BESIDE_THEIR_CODE.map(str::to_owned).into());
}

/// Files below `crates/lockgate/src` that copy from or to windows (P2), by the routines of `copy_asm.rs`, which a fault only ends.
const COPIES: [&str; 12] = [
    "call/emit.rs",
    "call/gate_asm.rs",
    // The word that a gate returns by.
    "call/gate_sys.rs",
    "call/proxy_asm.rs",
    "call/resume_sys.rs",
    "call/signal_frames_sys.rs",
    "call/signalled_sys.rs",
    // Other threads' blocks, which may be gone; no domain writes these.
    "call/thread_sys.rs",
    "copy_asm.rs",
    "grant/memory_sys.rs",
    "memory/copy_sys.rs",
    "space/stride_sys.rs",
];

/// Files there that take a number for an address of the host's own, or read one as it is: records, frames and blocks of threads, code, what the
/// kernel wrote for a signal's handler, arguments of the host's functions. No window: a domain changes what it has while that is looked at.
const ADDRESSES: [&str; 36] = [
    "binding/invoke_sys.rs",
    "call/admission_sys.rs",
    "call/admit_sys.rs",
    "call/alternate_sys.rs",
    "call/code_sys.rs",
    "call/context_sys.rs",
    "call/crossing_sys.rs",
    "call/emit.rs",
    "call/failure_sys.rs",
    "call/fronts_sys.rs",
    "call/gate_sys.rs",
    "call/handover_sys.rs",
    "call/interrupt_sys.rs",
    "call/must_end_sys.rs",
    "call/places_sys.rs",
    "call/plain_handlers_sys.rs",
    "call/proxy_asm.rs",
    "call/repair_sys.rs",
    "call/resume_sys.rs",
    "call/service_sys.rs",
    "call/signal_frames_sys.rs",
    "call/signalled_sys.rs",
    "call/signals_sys.rs",
    "call/thread_sys.rs",
    "call/turn_sys.rs",
    "call/undisturbed_sys.rs",
    "callback_sys.rs",
    "copy_asm.rs",
    "dl/service_sys.rs",
    "dynamic_callback_sys.rs",
    "host/fork_sys.rs",
    "host/threads_sys.rs",
    "host_function_sys.rs",
    "memory/plain_sys.rs",
    "space/stride_sys.rs",
    "symbols/registry_sys.rs",
];

/// Memory that a domain can write is read in named places: another one is red here, until somebody has looked at it and named it.
#[test]
fn the_runtime_reads_windows_in_named_places() {
    let own = root().join("crates/lockgate/src");
    let naming = |words: &[&str]| -> Vec<String> {
        let names = |path: &PathBuf| {
            let text = fs::read_to_string(path).expect("readable source");
            let code: Vec<_> = text.lines().map(|l| l.split("//").next().unwrap_or_default()).collect();
            words.iter().any(|word| code.iter().any(|line| line.contains(word)))
        };
        let all = files(&own, &[".rs"]).into_iter().filter(names);
        let mut all: Vec<String> =
            all.map(|path| path.strip_prefix(&own).expect("inside").display().to_string()).collect();
        all.sort();
        all
    };
    let copies = [
        "lockgate_copy",
        "lockgate_load",
        "lockgate_peek",
        "copy_from_host",
        "copy_to_host",
        "copy_either_way",
    ];
    assert_eq!(naming(&copies), COPIES, "who copies from windows");
    let addresses = [
        " as *const ",
        " as *mut ",
        "copy_nonoverlapping",
        "from_raw_parts",
        "read_unaligned(",
        "write_unaligned(",
        "read_volatile(",
        "write_volatile(",
        "write_bytes(",
    ];
    assert_eq!(naming(&addresses), ADDRESSES, "who takes numbers for addresses");
}

/// The same of clients that the generator emits. There a place in a window is a number, or of an incomplete type, which C does not follow; what is
/// left are casts, and functions that take any pointer.
#[test]
fn clients_read_windows_in_one_file() {
    let mut casts = Vec::new();
    let mut wrong = Vec::new();
    let mut places = 0;
    let mut all = files("crates/lockgate-stubs/runtime", &[".h"]);
    all.sort();
    for path in all {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let text = without_comments(&fs::read_to_string(&path).expect("readable source"));
        casts.push((name.clone(), text.matches("*)(uintptr_t)").count()));
        if name == "fetch.h" {
            continue;
        }
        for line in text.lines() {
            for place in [".here", "->here", "kept->stage", "lgs_far("] {
                for (at, _) in line.match_indices(place) {
                    let is_word = |c: char| c == '_' || c.is_alphanumeric();
                    if place.ends_with(is_word) && line[at + place.len()..].starts_with(is_word) {
                        continue;
                    }
                    places += 1;
                    // Back to where the expression begins, and whose argument it is.
                    let before = line[..at].trim_end_matches(|c| c == '.' || is_word(c));
                    let cast = before.trim_end().ends_with("*)");
                    if cast || !GIVEN_TO.contains(&call_around(before)) {
                        wrong.push(format!("{name}: {}", line.trim()));
                    }
                }
            }
        }
    }
    casts.retain(|(_, count)| *count > 0);
    // In fetch.h of places in the window; elsewhere of the program's own memory, whose `const` goes.
    let expected =
        [("data.h", 1), ("fetch.h", 5), ("mirror.h", 1), ("piece.h", 1), ("rows.h", 1), ("stage.h", 3)];
    assert_eq!(casts, expected.map(|(name, count)| (name.to_owned(), count)), "casts of numbers to pointers");
    assert!(wrong.is_empty(), "what a domain can write leaves fetch.h: {wrong:#?}");
    assert!(places > 30, "only {places} places");
}

/// What may be given a place in a window: no call, what looks at the address alone, and what fetch.h has.
const GIVEN_TO: [&str; 9] = [
    "",
    "if",
    "while",
    "lgs_fetch",
    "lgs_put",
    "lgs_clear",
    "lgs_far",
    "__atomic_load_n",
    "__atomic_store_n",
];

/// The name before the innermost parenthesis that is open at the end of `text`.
fn call_around(text: &str) -> &str {
    let mut depth = 0;
    for (at, c) in text.char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' if depth == 0 => {
                let name = &text[..at];
                let word = |c: char| c == '_' || c.is_alphanumeric();
                return name[name.trim_end().trim_end_matches(word).len()..].trim_end();
            }
            '(' => depth -= 1,
            _ => {}
        }
    }
    ""
}

pub fn without_comments(text: &str) -> String {
    let mut rest = text;
    let mut out = String::new();
    while let Some((code, comment)) = rest.split_once("/*") {
        out += code;
        rest = comment.split_once("*/").map_or("", |(_, rest)| rest);
    }
    out + rest
}

/// `Instant + Duration` panics where no clock gets. A time that somebody else chose is added by `checked_add`; our own constants are small.
#[test]
fn times_that_others_choose_are_added_with_care() {
    let mut offenders = BTreeSet::new();
    for path in files("crates", &[".rs"]) {
        if !path.components().any(|part| part.as_os_str() == "src") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("readable source");
        let sum = |line: &str| {
            let added = line.split_once("Instant::now() + ")?.1;
            Some(!added.starts_with(|c: char| c.is_ascii_uppercase()) || added.starts_with("Duration"))
        };
        if text.lines().any(|line| sum(line).unwrap_or(false)) {
            offenders.insert(path.strip_prefix(root()).expect("inside the tree").display().to_string());
        }
    }
    assert!(offenders.is_empty(), "a time is added that may be any: {offenders:#?}");
}

#[test]
fn the_verifier_forbids_unsafe_code_and_does_not_know_the_rewriter() {
    let folder = root().join("crates/lockgate-verify");
    let lib = fs::read_to_string(folder.join("src/lib.rs")).expect("lib.rs");
    assert!(lib.contains("#![forbid(unsafe_code)]"));
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("Cargo.toml");
    assert!(!manifest.contains("lockgate-rewrite"), "the verifier may not depend on the rewriter");
}

/// The verifier is read in one sitting by those who judge it: its code without tests, comments and empty lines is at most so long
/// (docs/decisions/0109).
#[test]
fn the_verifier_can_be_read_in_one_sitting() {
    const MOST: usize = 2_820;
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    let is_source = |path: &&PathBuf| !path.ends_with("decode/tests.rs");
    let code: usize = files("crates/lockgate-verify/src", &[".rs"])
        .iter()
        .filter(is_source)
        .map(|path| {
            let source = fs::read_to_string(path).expect("a source");
            source.lines().take_while(|line| *line != "#[cfg(test)]").filter(is_code).count()
        })
        .sum();
    assert!((2_000..=MOST).contains(&code), "the verifier has {code} lines of code");
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut wrong = Vec::new();
    let mut anchors = 0;
    for path in files("", &[".md"]) {
        let text = fs::read_to_string(&path).expect("readable document");
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split(')').next().unwrap_or_default();
            if target.contains("://") {
                continue;
            }
            let (target, anchor) = target.split_once('#').unwrap_or((target, ""));
            let full = match target {
                "" => path.clone(),
                _ => path.parent().expect("has a folder").join(target),
            };
            if !full.exists() {
                wrong.push(format!("{}: broken link to {target}", path.display()));
            } else if !anchor.is_empty() {
                anchors += 1;
                let goal = fs::read_to_string(&full).expect("readable document");
                if !goal.lines().any(|line| line.starts_with('#') && slug(line) == anchor) {
                    wrong.push(format!("{}: {target} has no heading #{anchor}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(anchors >= 20, "only {anchors} links to headings");
}

/// Documents name files that are there: a Rust file by the end of its path, others from the root or from a crate's folder; or from their
/// own. (Decisions and
/// the like tell what was; a name in capitals stands for any.)
#[test]
fn documents_name_files_that_exist() {
    const HISTORY: [&str; 3] = ["docs/decisions", "docs/appendix", "CHANGELOG.md"];
    const FOLDERS: [&str; 10] = [
        "bench/",
        "corpus/",
        "crates/",
        "debian/",
        "demo/",
        "docs/",
        "fuzz/",
        "postgres/",
        "scripts/",
        "tests/",
    ];
    let is_path = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
    let stands_for_any = |text: &str| ["NAME", "AREA"].iter().any(|any| text.contains(any));
    let crates = fs::read_dir(root().join("crates")).expect("the crates");
    let mut places: Vec<PathBuf> = crates.map(|entry| entry.expect("a crate").path()).collect();
    places.push(root().to_owned());
    let sources = files("", &[".rs"]);
    let (mut wrong, mut count) = (Vec::new(), 0);
    for page in files("", &[".md"]) {
        let name = page.strip_prefix(root()).expect("in the tree");
        if HISTORY.iter().any(|history| name.starts_with(history)) {
            continue;
        }
        let text = fs::read_to_string(&page).expect("readable document");
        for (number, line) in (1..).zip(text.lines()) {
            let quoted = line.split('`').skip(1).step_by(2);
            for text in quoted.filter(|text| is_path(text) && !stands_for_any(text)) {
                let is_rust = text.ends_with(".rs");
                if !is_rust && !FOLDERS.iter().any(|folder| text.starts_with(folder)) {
                    continue;
                }
                count += 1;
                let beside = page.parent().expect("has a folder").join(text).exists();
                let found = match is_rust {
                    true => sources.iter().any(|source| source.ends_with(text)),
                    false => places.iter().any(|place| place.join(text).exists()),
                };
                if !beside && !found {
                    wrong.push(format!("{}:{number}: there is no {text}", name.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 500, "only {count} names of files");
}

/// docs/tests.md has a row for each crate with test programs and suites: those of the quick lane, then those that tests/lanes/slow.txt keeps
/// out of it.
/// (Unit tests, of a library or of programs, may stand among them.)
#[test]
fn the_page_of_tests_lists_every_test_program() {
    let list = read("tests/lanes/slow.txt");
    let slow: BTreeSet<(&str, &str)> = list
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(' '))
        .map(|(package, rest)| (package, rest.split(' ').next().unwrap_or_default()))
        .collect();
    let page = read("docs/tests.md");
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<BTreeSet<_>>();
    let mut rows: BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)> = BTreeMap::new();
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').collect();
        let [_, package, quick, others, _] = cells[..] else {
            panic!("docs/tests.md: no three cells: {row}")
        };
        rows.insert(package.trim().trim_matches('`').to_owned(), (names(quick), names(others)));
    }
    let mut wrong = Vec::new();
    for package in metadata()["packages"].as_array().expect("packages") {
        let own = |key: &str| package[key].as_str().expect("text").to_owned();
        let is_ours = own("manifest_path").starts_with(root().to_str().expect("UTF-8"));
        if !is_ours || package["source"].is_string() {
            continue;
        }
        let name = own("name");
        let (mut quick, mut others, mut units) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::from(["lib".to_owned()]));
        for target in package["targets"].as_array().expect("targets") {
            let program = target["name"].as_str().expect("a name").to_owned();
            if !target["kind"].as_array().expect("kinds").iter().any(|kind| kind == "test") {
                units.insert(program);
                continue;
            }
            let suites = if program == SUITES {
                let modules = modules(Path::new(target["src_path"].as_str().expect("a path")));
                let with_tests = modules.into_iter().filter(|(_, text)| text.contains("#[test]"));
                with_tests.map(|(name, _)| name).collect()
            } else {
                vec![program]
            };
            for suite in suites {
                match slow.contains(&(&name, &suite)) || slow.contains(&(&name, "*")) {
                    true => others.insert(suite),
                    false => quick.insert(suite),
                };
            }
        }
        let listed = rows.remove(&name).unwrap_or_default();
        // (A program may have the name of a test.)
        let units = &(&units - &quick) - &others;
        let both = (&listed.0 - &units, &listed.1 - &units);
        if both != (quick.clone(), others.clone()) {
            wrong.push(format!("{name}: the tree has {quick:?} and {others:?}, the page {both:?}"));
        }
    }
    assert!(wrong.is_empty(), "docs/tests.md:\n{}", wrong.join("\n"));
    assert!(rows.is_empty(), "docs/tests.md has crates that the tree does not have: {:?}", rows.keys());
}

/// The test target whose modules are suites (tests/lanes).
const SUITES: &str = "suites";

/// The modules that a program's root file names, each with the text of its files.
fn modules(file: &Path) -> Vec<(String, String)> {
    let folder = file.parent().expect("it lies in a folder");
    let text = fs::read_to_string(file).expect("a root file");
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    let modules = text.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    let module = |name: &str| {
        let own = read(&folder.join(name).with_extension("rs"));
        let parts = folder.join(name);
        let parts = if parts.is_dir() { files(&parts, &[".rs"]) } else { Vec::new() };
        let all = parts.iter().map(|part| read(part));
        (name.to_owned(), all.fold(own, |all, part| all + &part))
    };
    modules.map(module).collect()
}

/// A file of tests that its program's root file does not name is not compiled, and its tests are missed by nobody.
#[test]
fn every_file_of_tests_is_in_a_program() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages").iter();
    let targets = packages.flat_map(|package| package["targets"].as_array().expect("targets"));
    let path = |target: &serde_json::Value| PathBuf::from(target["src_path"].as_str().expect("a path"));
    let roots: BTreeSet<PathBuf> = targets.clone().map(path).collect();
    let mut programs = 0;
    for file in targets.filter(|target| target["name"] == SUITES).map(path) {
        programs += 1;
        let named: BTreeSet<String> = modules(&file).into_iter().map(|(name, _)| name).collect();
        for entry in fs::read_dir(file.parent().expect("a folder")).expect("a folder") {
            let path = entry.expect("an entry").path();
            let is_module = path.extension().is_some_and(|e| e == "rs") || path.join("mod.rs").exists();
            let name = path.file_stem().expect("a name").to_str().expect("UTF-8");
            let is_listed = !is_module || roots.contains(&path) || named.contains(name);
            assert!(is_listed, "{} does not name {}", file.display(), path.display());
        }
    }
    assert!(programs >= 10, "only {programs} programs of suites");
}

/// Programs and libraries without tests are not built as test programs (`test = false`): a test that somebody adds there would not run.
#[test]
fn what_is_not_tested_has_no_tests() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages").iter();
    let packages = packages.filter(|package| package["source"].is_null());
    let targets = packages.clone().flat_map(|package| package["targets"].as_array().expect("targets"));
    // (Unit tests of two libraries are targets of the packages of their tests.)
    let tests: BTreeSet<_> = targets.filter(|target| target["kind"][0] == "test").map(source).collect();
    let mut without = 0;
    for package in packages {
        let targets = package["targets"].as_array().expect("targets").iter();
        let is_program =
            |target: &&serde_json::Value| target["kind"][0] != "test" && target["kind"][0] != "custom-build";
        let (tested, others): (Vec<_>, Vec<_>) = targets
            .filter(is_program)
            .partition(|target| target["test"] == true || tests.contains(&source(target)));
        without += others.len();
        // (Modules belong to the library, or to the only program.)
        let roots = others.iter().map(|target| Path::new(target["src_path"].as_str().expect("a path")));
        let files: Vec<PathBuf> = match tested[..] {
            [] => roots.flat_map(|root| files(root.parent().expect("a folder"), &[".rs"])).collect(),
            _ => roots.map(Path::to_owned).collect(),
        };
        for file in files {
            let text = fs::read_to_string(&file).expect("a source");
            assert!(!text.contains("#[test]"), "{}: its tests do not run (test = false)", file.display());
        }
    }
    assert!(without >= 15, "only {without} programs and libraries without tests");
}

/// The anchor of a heading, as GitHub and mdBook make it.
fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// `make docs` shows each page: decisions are listed by themselves, and docs/README.md says what is where.
#[test]
fn every_page_is_in_the_site() {
    let summary = read("site/SUMMARY.md");
    let pages = files("docs", &[".md"]);
    assert!(pages.len() > 30, "only {} pages", pages.len());
    for path in &pages {
        let path = path.strip_prefix(root()).expect("inside the tree").display().to_string();
        let is_decision = path.strip_prefix("docs/decisions/").is_some_and(|name| name != "README.md");
        let is_shown = summary.contains(&format!("](../{path})"));
        assert!(is_decision || is_shown, "site/SUMMARY.md does not name {path}");
    }
}

/// Whether an output gets colours is one question, `anstream`'s: no program reads the variables that are about it.
#[test]
fn colours_are_asked_for_in_one_way() {
    let sources: Vec<_> = ["crates", "demo"].iter().flat_map(|folder| files(folder, &[".rs"])).collect();
    let text = |path: &PathBuf| fs::read_to_string(path).expect("a source");
    let is_test = |path: &PathBuf| path.components().any(|part| part.as_os_str() == "tests");
    let programs = sources.iter().filter(|path| !is_test(path));
    let (asking, reading): (Vec<_>, Vec<_>) = (
        programs.clone().filter(|path| text(path).contains("AutoStream::choice(")).collect(),
        programs.filter(|path| text(path).contains("\"NO_COLOR\"")).collect(),
    );
    assert_eq!(asking.len(), 2, "one of the program's, one of the benchmarks': {asking:?}");
    assert!(reading.is_empty(), "these read NO_COLOR themselves: {reading:?}");
}

/// The site has the parts of docs/README.md, under the same names (behind a colon a heading there may say more), and in each the pages of that part.
#[test]
fn the_site_has_the_parts_of_the_index() {
    let (index, summary) = (read("docs/README.md"), read("site/SUMMARY.md"));
    let name = |part: &str| part.split(['\n', ':']).next().unwrap_or_default().trim().to_owned();
    let parts: Vec<&str> = index.split("\n## ").skip(1).collect();
    let shown: Vec<&str> = summary.split("\n# ").skip(1).collect();
    let names = |parts: &[&str]| parts.iter().map(|part| name(part)).collect::<Vec<_>>();
    assert!(parts.len() >= 4, "docs/README.md has {:?}", names(&parts));
    assert_eq!(names(&parts), names(&shown), "docs/README.md and site/SUMMARY.md");
    for (part, shown) in parts.iter().zip(&shown) {
        for link in part.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = link.strip_prefix("../").map_or(format!("docs/{link}"), str::to_owned);
            let is_page = path.ends_with(".md") && !path.contains('#');
            let is_shown = shown.contains(&format!("](../{path})"));
            assert!(!is_page || is_shown, "site/SUMMARY.md: {path} is not in {:?}", name(part));
        }
    }
}

#[test]
fn every_target_names_a_metric_that_the_benchmarks_know() {
    let text = read("SPECIFICATION.md");
    let sources: String = files("", &[".rs"]).iter().filter_map(|p| fs::read_to_string(p).ok()).collect();
    let mut targets = 0;
    for line in text.lines().filter(|l| l.starts_with("| `")) {
        let metric = line.split('`').nth(1).unwrap_or_default();
        targets += 1;
        assert!(sources.contains(metric), "SPECIFICATION.md: no source names the metric {metric}");
    }
    assert!(targets >= 8, "SPECIFICATION.md lists only {targets} targets");
}
