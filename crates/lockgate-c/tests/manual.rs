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
