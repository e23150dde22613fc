//! The manual pages say what the header says.

use lockgate_c::manual::{HEADER, Page, pages};
use std::collections::BTreeSet;
use std::process::Command;

fn page(file: &str) -> Page {
    let found = pages().into_iter().find(|page| page.file == file);
    found.unwrap_or_else(|| panic!("no page {file}"))
}

/// Functions that the header declares at the beginning of a line.
fn declared() -> Vec<&'static str> {
    let names =
        HEADER.lines().filter(|line| !line.starts_with([' ', '#', '/', '}']) && !line.starts_with("typedef"));
    names
        .filter_map(|line| line.split('(').next()?.rsplit([' ', '*']).next())
        .filter(|n| n.starts_with("lg_"))
        .collect()
}

#[test]
fn every_function_has_a_page_with_its_declaration_and_description() {
    let declared = declared();
    assert!(declared.len() > 120, "only {} functions", declared.len());
    for function in declared {
        let reference = page(&format!("{function}.3")).text;
        let target = reference
            .strip_prefix(".so man3/")
            .and_then(|rest| rest.strip_suffix('\n'))
            .expect("a reference");
        let text = page(target).text;
        let (synopsis, description) = text.split_once(".SH DESCRIPTION").expect("both sections");
        assert!(synopsis.contains(&format!("{function}(")), "{target}: the synopsis has no {function}");
        assert!(description.contains(&format!("{function}(")), "{target}: the description has no {function}");
    }
}

/// A second page of the same name would be written over the first.
#[test]
fn each_page_is_there_once() {
    let mut seen = BTreeSet::new();
    for Page { file, .. } in pages() {
        assert!(seen.insert(file.clone()), "{file} is there twice");
    }
}

/// Not functions alone: what policies there are, too.
#[test]
fn sections_without_functions_have_pages() {
    let text = page("lockgate_policies.3").text;
    assert!(text.contains("LG_MUTUAL_DISTRUST"), "{text}");
    assert!(page("lockgate.3").text.contains(".BR lockgate_policies (3),"));
}

#[test]
fn the_overview_tells_the_conventions() {
    let text = page("lockgate.3").text;
    for part in [
        ".BR lockgate_ring.h (3),",
        ".SH CONVENTIONS",
        ".SH HOSTS",
        "lg_take_call_error",
        ".BR lockgate_domains (3),",
        "longjmp",
        "EINTR",
    ] {
        assert!(text.contains(part), "lockgate(3) has no {part}");
    }
}

/// Of the other headers, too: rings, PostgreSQL, annotations and the C++ layer have a page each, with all that they declare and its description.
#[test]
fn the_other_headers_have_pages() {
    let headers = [
        ("lockgate_ring.h.3", lockgate_headers::LOCKGATE_RING_H, "lg_ring_"),
        ("lockgate_pg.h.3", lockgate_headers::LOCKGATE_PG_H, "lg_pg_"),
    ];
    for (file, header, start) in headers {
        let text = page(file).text;
        let lines =
            header.lines().filter(|line| line.starts_with("static inline ") || line.starts_with("extern "));
        let names = lines.filter_map(|line| line.split('(').next()?.rsplit([' ', '*']).next());
        let names: BTreeSet<&str> = names.filter(|name| name.starts_with(start)).collect();
        assert!(names.len() >= 4, "only {names:?}");
        for name in names {
            assert!(text.contains(&format!("{name}(")), "{file} has no {name}");
            assert_eq!(page(&format!("{name}.3")).text, format!(".so man3/{file}\n"));
        }
    }

    let text = page("lockgate_annotations.h.3").text;
    let public =
        |line: &&str| line.starts_with("#define LG_") && !line.contains("_(") || line.contains("LG_NOTE_(\"");
    let macros = lockgate_headers::ANNOTATIONS_H.lines().filter(public);
    let names = macros.filter_map(|line| line.strip_prefix("#define ")?.split(['(', ' ']).next());
    let names: BTreeSet<&str> = names.filter(|name| !name.ends_with('_') && *name != "LG_NOTE").collect();
    assert!(names.len() > 40, "only {names:?}");
    for name in names.iter().filter(|name| **name != "LG_HOME") {
        assert!(text.lines().any(|line| line.split('(').next() == Some(name)), "no page has {name}");
    }

    let text = page("lockgate.hpp.3").text;
    for declared in [
        "class Error",
        "class tainted\n",
        "class Options\n",
        "class Domain\n",
        "bind(const std::string &name, lg_policy policy = LG_DEFAULT) const",
    ] {
        let declared = declared.replace("class tainted", "class [[nodiscard]] tainted");
        assert!(text.contains(&declared), "lockgate.hpp(3) has no {declared:?}");
    }
    assert!(!text.contains("detail::Place "), "what is inside is not shown");
    assert!(!text.contains("private:") && !text.contains("return done("), "bodies are not shown");
}

#[test]
fn man_finds_nothing_to_complain_about() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    // (Setup does not install it: the pages are text without.)
    if !support::is_there("groff", "man_finds_nothing_to_complain_about") {
        return;
    }
    for Page { file, text } in pages().into_iter().filter(|page| !page.text.starts_with(".so")) {
        let path = folder.path().join(&file);
        std::fs::write(&path, text).expect("the scratch folder is writable");
        let output =
            crate::common::run(Command::new("groff").args(["-man", "-Tutf8", "-ww", "-z"]).arg(&path));
        let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && complaints.is_empty(), "{file}: {complaints}");
    }
}
