//! What can be published is whole: each crate has its own files, depends on crates that are published as well, and says what it is.

use hygiene::{files, read, root};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The members of the workspace, by name.
fn members() -> BTreeMap<String, serde_json::Value> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--locked", "--no-deps"]).current_dir(root());
    let output = cargo.output().expect("cargo metadata runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    packages
        .iter()
        .map(|package| (package["name"].as_str().expect("a name").to_owned(), package.clone()))
        .collect()
}

/// `publish = false` is an empty list of registries.
fn is_published(package: &serde_json::Value) -> bool {
    package["publish"].is_null()
}

fn folder(package: &serde_json::Value) -> PathBuf {
    Path::new(package["manifest_path"].as_str().expect("a path")).parent().expect("a folder").to_owned()
}

#[test]
fn what_users_need_is_published() {
    let published: Vec<String> =
        members().into_iter().filter(|(_, package)| is_published(package)).map(|(name, _)| name).collect();
    assert_eq!(
        published,
        [
            "lockgate",
            "lockgate-abi",
            "lockgate-c",
            "lockgate-cli",
            "lockgate-guest",
            "lockgate-headers",
            "lockgate-kernel",
            "lockgate-outside",
            "lockgate-programs",
            "lockgate-rewrite",
            "lockgate-signature",
            "lockgate-split",
            "lockgate-stubs",
            "lockgate-symbols",
            "lockgate-syscall",
            "lockgate-toolchain",
            "lockgate-verify",
        ]
    );
}

#[test]
fn published_crates_depend_on_published_ones() {
    let members = members();
    for (name, package) in members.iter().filter(|(_, package)| is_published(package)) {
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let (other, is_test) =
                (dependency["name"].as_str().unwrap_or_default(), dependency["kind"] == "dev");
            let Some(target) = members.get(other) else { continue };
            // A test's dependency without a version is left out of the package.
            let exact = format!("={}", target["version"].as_str().expect("a version"));
            let is_left_out = is_test && dependency["req"] == "*";
            assert!(is_left_out || is_published(target), "{name} depends on {other}, which is not published");
            assert!(
                is_left_out || dependency["req"] == *exact,
                "{name} depends on {other} {}",
                dependency["req"]
            );
        }
    }
}

#[test]
fn published_crates_say_what_they_are() {
    for (name, package) in members().iter().filter(|(_, package)| is_published(package)) {
        for field in ["description", "license", "rust_version"] {
            assert!(package[field].as_str().is_some_and(|text| !text.is_empty()), "{name} has no {field}");
        }
        for field in ["keywords", "categories"] {
            assert!(!package[field].as_array().expect(field).is_empty(), "{name} has no {field}");
        }
        let folder = folder(package);
        assert_eq!(package["readme"], "README.md", "{name}");
        let readme = fs::read_to_string(folder.join("README.md")).expect("a README");
        assert!(readme.starts_with(&format!("# {name}\n")), "{name}: {readme}");
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let own = fs::read(folder.join(licence)).unwrap_or_default();
            assert_eq!(own, fs::read(root().join(licence)).unwrap(), "{name} has not the text of {licence}");
        }
    }
}

/// A package has the files of its folder only, without `tests`.
#[test]
fn published_crates_include_their_own_files_only() {
    let mut seen = 0;
    for (name, package) in members().iter().filter(|(_, package)| is_published(package)) {
        let folder = folder(package).canonicalize().expect("the crate is there");
        for path in files(folder.join("src"), &[".rs"]) {
            let text = fs::read_to_string(&path).expect("a source");
            // The folder that a program was built in means nothing where it runs; a folder in the package is there when it is built.
            const OWN: &str = "env!(\"CARGO_MANIFEST_DIR\")";
            for (at, _) in text.match_indices(OWN) {
                let included = text[..at].ends_with("include_str!(concat!(");
                let inside =
                    text[at + OWN.len()..].strip_prefix(", \"/").and_then(|rest| rest.split('"').next());
                let kept =
                    inside.is_some_and(|inside| !inside.contains("..") && folder.join(inside).is_dir());
                assert!(included && kept, "{}: names its own folder", path.display());
            }
            for start in ["include_str!(\"", "include_bytes!(\"", "include_str!(concat!(\"", "#[path = \""] {
                for (at, _) in text.match_indices(start) {
                    let named = text[at + start.len()..].split('"').next().expect("split gives one part");
                    let file = path.parent().expect("a folder").join(named);
                    let file =
                        file.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", file.display()));
                    let inside = file.strip_prefix(&folder);
                    let is_packaged = inside.is_ok_and(|inside| !inside.starts_with("tests"));
                    assert!(
                        is_packaged,
                        "{name}: {} includes {named}, which is not in the package",
                        path.display()
                    );
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 30, "only {seen} files are included");
}

/// `make release-check` asks the same of what is built; here it is what the profile promises.
#[test]
fn versions_agree() {
    let version = members()["lockgate"]["version"].as_str().expect("a version").to_owned();
    let changes = read("debian/changelog");
    assert!(
        changes.starts_with(&format!("lockgate ({version}) ")),
        "debian/changelog is not about {version}"
    );
}

/// `make lint` leaves their documentation out, and no other's.
#[test]
fn the_makefile_lists_what_is_not_published() {
    let text = read("Makefile").replace("\\\n", " ");
    let list = text.lines().find_map(|line| line.strip_prefix("UNPUBLISHED = ")).expect("the list");
    let expected = members();
    let expected =
        expected.iter().filter(|(_, package)| !is_published(package)).map(|(name, _)| name.as_str());
    assert_eq!(list.split_whitespace().collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}
