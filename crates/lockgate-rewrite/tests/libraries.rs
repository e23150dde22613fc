//! The libraries that every module links: all of musl and libgcc, but for listed members.

use std::process::Command;

use lockgate_rewrite::{Options, Stats, rewrite_archive};
use object::read::archive::ArchiveFile;

/// Members that are refused, and why: each has a version of our own, or belongs to a feature that is refused.
const MUSL: [(&str, &str); 4] = [
    ("clone.lo", "above the return address"),
    ("memmove.lo", "backwards"),
    ("sigsetjmp.lo", "above the return address"),
    ("vfork.lo", "above the return address"),
];
const LIBGCC: [(&str, &str); 3] = [
    ("generic-morestack.o", "split stack"),
    ("generic-morestack-thread.o", "split stack"),
    ("morestack.o", "split stack"),
];

fn libc() -> Vec<u8> {
    let candidates = [
        "/usr/lib/x86_64-linux-musl/libc.a",
        "/usr/x86_64-linux-musl/lib64/libc.a",
        "/usr/lib/musl/lib/libc.a",
    ];
    let found = candidates.iter().find_map(|path| std::fs::read(path).ok());
    found.unwrap_or_else(|| panic!("none of {candidates:?}: install musl-dev"))
}

fn compiler_library() -> Vec<u8> {
    let output = Command::new("gcc").arg("-print-libgcc-file-name").output();
    let output = output.unwrap_or_else(|error| panic!("cannot run gcc: {error}; install gcc"));
    let path = String::from_utf8(output.stdout).expect("a path");
    std::fs::read(path.trim()).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Rewrites `archive` with and without the members that must be refused.
fn check(name: &str, archive: &[u8], refused: &[(&str, &str)]) -> (Vec<u8>, Stats) {
    let mut options = Options::default();
    for (member, reason) in refused {
        let others = refused.iter().map(|(other, _)| other.to_string()).filter(|other| other != member);
        let all_but_one = Options { exclude: others.collect(), ..Options::default() };
        let error = rewrite_archive(name, archive, &all_but_one, &mut |_, _| {}).expect_err("a refusal");
        assert_eq!(error.file, format!("{name}({member})"));
        assert!(error.to_string().contains(reason), "{error}");
        options.exclude.push(member.to_string());
    }
    let mut last = (0, 0);
    let rewritten = rewrite_archive(name, archive, &options, &mut |done, total| {
        assert!(done >= last.0 && done <= total, "progress {done} of {total} after {last:?}");
        last = (done, total);
    });
    let rewritten = rewritten.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(last.0, last.1, "the last report is complete");
    let again = rewrite_archive(name, archive, &options, &mut |_, _| {}).expect("the same archive");
    assert!(again.bytes == rewritten.bytes, "{name}: two runs differ");
    (rewritten.bytes, rewritten.stats)
}

/// Every member that stands alone obeys the verifier, but for its calls of others.
fn verify_members(archive: &[u8]) {
    let members = ArchiveFile::parse(archive).expect("a readable archive");
    let mut judged = 0;
    for member in members.members() {
        let member = member.expect("a member");
        let object = member.data(archive).expect("its contents");
        if crate::support::listing(object, ".text").is_empty() && !has_code(object) {
            continue;
        }
        if let Err(rejection) = lockgate_verify::verify(&crate::support::module(object)) {
            panic!("{}: {rejection}", String::from_utf8_lossy(member.name()));
        }
        judged += 1;
    }
    assert!(judged > 40, "only {judged} members have code");
}

fn has_code(object: &[u8]) -> bool {
    use object::{Object, ObjectSection, SectionKind};
    let file = object::File::parse(object).expect("a readable object");
    file.sections().any(|section| section.kind() == SectionKind::Text && section.size() > 0)
}

#[test]
fn musl() {
    let archive = libc();
    let (rewritten, stats) = check("libc.a", &archive, &MUSL);
    assert!(stats.objects > 1300 && stats.instructions > 90_000, "{stats:?}");
    assert!(stats.text_out < stats.text_in * 3 / 2, "{stats:?}");
    verify_members(&rewritten);
}

#[test]
fn libgcc() {
    let archive = compiler_library();
    let (rewritten, stats) = check("libgcc.a", &archive, &LIBGCC);
    assert!(stats.objects > 200 && stats.instructions > 100_000, "{stats:?}");
    verify_members(&rewritten);
}

#[test]
fn archives_keep_their_index() {
    let archive = libc();
    let exclude = MUSL.iter().map(|(member, _)| member.to_string()).collect();
    let options = Options { exclude, ..Options::default() };
    let rewritten = rewrite_archive("libc.a", &archive, &options, &mut |_, _| {}).expect("musl");
    let file = ArchiveFile::parse(&*rewritten.bytes).expect("a readable archive");
    let symbols = file.symbols().expect("a symbol index").expect("a symbol index");
    let offset = symbols
        .map(|symbol| symbol.expect("a symbol"))
        .find(|symbol| symbol.name() == b"printf")
        .expect("printf is indexed")
        .offset();
    let member = file.member(offset).expect("the member of printf");
    assert_eq!(member.name(), b"printf.lo");
}
