//! Real C libraries, whole, through compiler, rewriter, linker and verifier, with the flags that people use.

use crate::common::Workshop;
use lockgate_corpus::{Corpus, LIBRARIES};
use lockgate_toolchain::{Link, Sysroot, silent};
use support::Part;

/// The flag sets that every library must pass: zlib with some of them in each run.
const FLAGS: &[&str] = &[
    "-O0",
    "-Os -fstack-protector-all",
    "-O3 -march=x86-64-v4",
    "-O2 -fcf-protection=full -fstack-clash-protection",
    "-O2 -g -fno-plt",
    "-O2 -flto",
    "-O2",
    "-Os",
    "-O2 -fcf-protection=full",
    "-O2 -fstack-protector-all",
    "-O2 -fstack-clash-protection",
    "-O2 -fno-plt",
    "-O2 -g",
];

/// Compiles a library's sources and links all of their functions into a module, which is verified.
fn build(shop: &Workshop, corpus: &Corpus, name: &str, flags: &str, sysroot: &Sysroot) {
    let mut link = Link::new(shop.output());
    link.export_all(true);
    flags.split(' ').for_each(|flag| {
        link.lto_option(flag);
    });
    for name in [name].into_iter().chain((name == "png").then_some("zlib")) {
        let library = corpus.library(name).unwrap();
        let arguments: Vec<String> = flags.split(' ').map(str::to_owned).chain(library.flags()).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        for source in &library.sources {
            link.file(&shop.gcc(source, &arguments)).unwrap();
        }
    }
    if name == "bzip2" {
        // What a program that uses bzip2 without stdio defines.
        link.gate("void bz_internal_error(int)").unwrap();
    }
    let outcome = link.run(sysroot, &silent).unwrap_or_else(|error| panic!("{name} {flags}: {error}"));
    let growth = outcome.text_out as f64 / outcome.text_in as f64;
    let mode = if shop.module().strict_bounds { "--strict-bounds" } else { "" };
    println!("{name:8} {flags:30} {mode:10} {:8} bytes of text, {growth:.2} times gcc's", outcome.text_in);
    assert!(outcome.report.text_bytes > outcome.text_out, "the C library is verified too");
}

#[test]
fn every_flag_set_on_a_small_library() {
    let corpus = Corpus::locate().unwrap();
    let shop = Workshop::new();
    let part = Part::one_in(5, "zlib's sets of flags");
    for flags in part.among(FLAGS) {
        build(&shop, &corpus, "zlib", flags, &shop.sysroot);
    }
}

#[test]
fn every_other_library_once() {
    let corpus = Corpus::locate().unwrap();
    let shop = Workshop::new();
    let part = Part::one_in(4, "other libraries");
    let others = [("bzip2", "-O2 -flto"), ("expat", "-O2"), ("lua", "-O3 -march=x86-64-v4"), ("png", "-O2")];
    for (name, flags) in part.among(others) {
        build(&shop, &corpus, name, flags, &shop.sysroot);
    }
}

#[test]
fn strict_bounds() {
    let corpus = Corpus::locate().unwrap();
    let shop = Workshop::new();
    let sysroot = Sysroot::ensure_strict_bounds(&silent).unwrap();
    for name in support::one_of(["zlib", "lua"], "libraries with strict bounds") {
        build(&shop, &corpus, name, "-O2", &sysroot);
        assert!(shop.module().strict_bounds);
    }
}

/// Every library with every flag set: twelve minutes on two busy processors, most of them gcc's.
#[test]
#[ignore = "long; part of `make evidence`"]
fn the_whole_matrix() {
    let corpus = Corpus::locate().unwrap();
    let shop = Workshop::new();
    let strict_bounds = Sysroot::ensure_strict_bounds(&silent).unwrap();
    for name in LIBRARIES {
        for flags in FLAGS {
            build(&shop, &corpus, name, flags, &shop.sysroot);
        }
        build(&shop, &corpus, name, "-O2 -g", &strict_bounds);
    }
}
