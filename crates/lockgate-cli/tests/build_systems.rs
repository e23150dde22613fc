//! Real projects, built by their own build systems with `lockgate cc` as the compiler.

use crate::common::{Shop, text};
use std::path::Path;
use std::process::Command;

const CC: &str = concat!("CC=", env!("CARGO_BIN_EXE_lockgate"), " cc");

/// A package of the corpus, copied: building writes into its folder.
fn copy(shop: &Shop, package: &str, folder: &str) {
    let corpus = lockgate_corpus::Corpus::locate().unwrap();
    let from = corpus.package(package).unwrap().join(folder);
    run(Command::new("cp").arg("-r").arg(from).arg(shop.path("project")));
    run(Command::new("chmod").args(["-R", "u+w"]).arg(shop.path("project")));
}

fn run(command: &mut Command) {
    let output = command.output().expect("the program exists");
    assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
}

/// bzip2's makefile makes the whole program, which then packs and unpacks files of a granted folder.
#[test]
fn bzip2_with_make() {
    let shop = Shop::new();
    copy(&shop, "bzip2-sys", "bzip2-1.0.8");
    let project = shop.path("project");
    run(Command::new("make").current_dir(&project).args(["-s", "CFLAGS=-w -O2", CC, "libbz2.a", "bzip2"]));
    let original = std::fs::read(project.join("bzip2.c")).unwrap();
    let bzip2 = |arguments: &[&str]| {
        let grant = format!("/work={}", project.display());
        let run = shop.lockgate("run").args(["--dir", &grant, "--cwd", "/work"]);
        run.arg(project.join("bzip2")).args(arguments).output()
    };
    let packed = bzip2(&["--keep", "bzip2.c"]);
    assert!(packed.status.success(), "{}", text(&packed.stderr));
    assert!(std::fs::metadata(project.join("bzip2.c.bz2")).unwrap().len() < original.len() as u64 / 2);
    assert!(bzip2(&["--decompress", "--stdout", "bzip2.c.bz2"]).stdout == original);
}

/// expat's configure script (autoconf and libtool) finds the C library's functions; its makefile makes the archive.
#[test]
#[ignore = "half a minute; part of `make evidence`"]
fn expat_with_configure() {
    let shop = Shop::new();
    copy(&shop, "expat-sys", "expat");
    let project = shop.path("project");
    let configure = ["configure", "--host=x86_64-lockgate-linux-gnu", "--disable-shared", CC];
    run(Command::new("sh").current_dir(&project).args(configure));
    let found = std::fs::read_to_string(project.join("expat_config.h")).unwrap();
    assert!(found.contains("#define HAVE_MEMMOVE 1"), "{found}");
    run(Command::new("make").current_dir(&project).args(["-s", "CFLAGS=-w -O2", CC, "buildlib"]));
    assert!(Path::exists(&project.join(".libs/libexpat.a")));

    let program = "#include <expat.h>\n#include <string.h>\nint main(void) { const char *x = \"<a><b/></a>\";\n\
                   return XML_Parse(XML_ParserCreate(0), x, strlen(x), 1) == XML_STATUS_OK ? 7 : 1; }\n";
    shop.write("use.c", program);
    let link = ["-Iproject/lib", "use.c", "-Lproject/.libs", "-lexpat", "-o", "use.lg"];
    shop.lockgate("cc").args(link).run_quietly();
    assert_eq!(shop.lockgate("run").arg("use.lg").output().status.code(), Some(7));
}
