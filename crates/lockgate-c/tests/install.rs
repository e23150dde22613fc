//! The library as its users get it: installed below DESTDIR, found by pkg-config and CMake from outside of the tree; the examples, and the
//! README's program.

use crate::common::{built, done, installed, module, root};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use support::one_of;

const PREFIX: &str = "/opt/lockgate";

/// Where libraries are, below a prefix: of its own, and of a system with a folder for each architecture.
const LIBRARIES: [&str; 2] = ["lib", "lib/x86_64-linux-gnu"];

/// Of [`LIBRARIES`], the one that this run takes (all in `make thorough`).
fn libraries() -> Vec<&'static str> {
    one_of(LIBRARIES, "folders of libraries").collect()
}

/// A folder into which the library was installed for [`PREFIX`], for all tests that want the same.
fn staged(libraries: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(support::shared_folder).join(libraries.replace('/', "-"));
    std::fs::create_dir_all(&folder).expect("the shared folder is writable");
    // (It does nothing where it has been done.)
    let mut script = Command::new(root().join("scripts/install-library.sh"));
    done(script.arg(built()).args([PREFIX, libraries]).env("DESTDIR", &folder));
    folder
}

/// Where PREFIX is /usr, a header of libc's stays libc's.
#[test]
fn only_our_own_headers_are_installed() {
    for libraries in libraries() {
        let include = staged(libraries).join(PREFIX.trim_start_matches('/')).join("include");
        let mut names: Vec<String> = std::fs::read_dir(include)
            .expect("headers are there")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
            .collect();
        names.sort();
        assert_eq!(
            names,
            [
                "lockgate",
                "lockgate.h",
                "lockgate.hpp",
                "lockgate_grant.h",
                "lockgate_pg.h",
                "lockgate_ring.h"
            ]
        );
    }
}

fn example(name: &str) -> PathBuf {
    root().join("examples").join(name)
}

#[test]
fn pkg_config_finds_it_and_a_program_runs() {
    libraries().into_iter().for_each(by_pkg_config);
}

fn by_pkg_config(libraries: &str) {
    let staged = staged(libraries);
    let at = staged.join(PREFIX.trim_start_matches('/'));
    let pkg_config = |arguments: &[&str]| {
        let mut command = Command::new("pkg-config");
        command
            .args(arguments)
            .arg("lockgate")
            .env("PKG_CONFIG_LIBDIR", at.join(libraries).join("pkgconfig"));
        done(command.env("PKG_CONFIG_SYSROOT_DIR", &staged))
    };
    assert_eq!(pkg_config(&["--modversion"]).trim(), env!("CARGO_PKG_VERSION"));
    let text =
        std::fs::read_to_string(at.join(libraries).join("pkgconfig/lockgate.pc")).expect("a pkg-config file");
    assert!(text.starts_with(&format!("prefix={PREFIX}\n")), "DESTDIR leaves no trace: {text}");
    let outside = tempfile::tempdir().expect("a scratch folder");
    module(outside.path(), "words.lg", &example("c/words.c"), &["int host_progress(int)"]);
    let shared = pkg_config(&["--cflags", "--libs"]);
    let fixed = pkg_config(&["--static", "--cflags", "--libs"]).replace("-llockgate", "-l:liblockgate.a");
    for (name, flags) in [("shared", shared), ("static", fixed)] {
        let binary = outside.path().join(name);
        let mut gcc = Command::new("gcc");
        gcc.args(["-Wall", "-Wextra", "-Werror", "-g", "-o"]).arg(&binary).arg(example("c/host.c"));
        done(gcc.args(flags.split_whitespace()));
        let mut host = Command::new(&binary);
        host.current_dir(outside.path()).args(["words.lg", "some words of a text"]);
        let said = done(host.env("LD_LIBRARY_PATH", at.join(libraries)));
        assert!(said.contains("5 words, 2 reports"), "{said}");
        assert!(said.contains("the last word begins with t"), "{said}");
        let mut host = Command::new(&binary);
        host.current_dir(outside.path())
            .args(["words.lg", "oneword"])
            .env("LD_LIBRARY_PATH", at.join(libraries));
        let said = done(&mut host);
        assert!(said.contains("1 words") && said.contains("the program goes on"), "{said}");
    }
}

#[test]
fn cmake_finds_it_and_both_libraries_link() {
    libraries().into_iter().for_each(by_cmake);
}

fn by_cmake(libraries: &str) {
    let staged = staged(libraries);
    let at = staged.join(PREFIX.trim_start_matches('/'));
    let outside = tempfile::tempdir().expect("a scratch folder");
    module(outside.path(), "checksum.lg", &example("cpp/checksum.c"), &[]);
    let build = outside.path().join("build");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(example("cpp")).arg("-B").arg(&build);
    done(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", at.display())));
    done(Command::new("cmake").arg("--build").arg(&build));
    for name in ["host", "host_static"] {
        let said = done(Command::new(build.join(name)).arg("checksum.lg").current_dir(outside.path()));
        assert!(
            said.contains("checksum 11e60398") && said.contains("two") && said.contains("no name: "),
            "{said}"
        );
    }
    let wrong = outside.path().join("wrong");
    std::fs::create_dir(&wrong).expect("a scratch folder");
    let text =
        "cmake_minimum_required(VERSION 3.16)\nproject(wrong C)\nfind_package(lockgate 0.2 REQUIRED)\n";
    std::fs::write(wrong.join("CMakeLists.txt"), text).expect("a scratch folder");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(&wrong).arg("-B").arg(wrong.join("build"));
    let output = crate::common::run(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", at.display())));
    assert!(!output.status.success(), "version 0.1 does not do for 0.2");
}

/// What stands in for libc's functions about signals (rules R11, R12): visible, and in the shared library without a version.
const INTERPOSED: [&str; 17] = [
    "__sysv_signal",
    "bsd_signal",
    "pthread_sigmask",
    "sigaction",
    "sigaltstack",
    "sigblock",
    "siggetmask",
    "sighold",
    "sigignore",
    "siginterrupt",
    "signal",
    "sigprocmask",
    "sigrelse",
    "sigset",
    "sigsetmask",
    "ssignal",
    "sysv_signal",
];

#[test]
fn nothing_but_the_interface_is_visible() {
    let symbols = |arguments: &[&str], file: &str| {
        done(Command::new("nm").args(arguments).arg(installed().join("lib").join(file)))
    };
    let shared = symbols(&["-D", "--defined-only", "--with-symbol-versions"], "liblockgate.so");
    let mut count = 0;
    let mut interposed = Vec::new();
    for line in shared.lines() {
        let (kind, name) = line[17..].split_once(' ').expect("address, kind, name");
        if INTERPOSED.contains(&name) {
            interposed.push(name);
            continue;
        }
        let is_version = kind == "A" && name == "LOCKGATE_0.1@@LOCKGATE_0.1" || name == "LOCKGATE_0.1";
        assert!(is_version || name.starts_with("lg_") && name.ends_with("@@LOCKGATE_0.1"), "{line}");
        count += 1;
    }
    assert!(count > 120, "only {count} symbols");
    assert_eq!(interposed, INTERPOSED);
    let mut interposed = 0;
    for line in symbols(&["-g", "--defined-only"], "liblockgate.a").lines().filter(|line| line.len() > 19) {
        interposed += usize::from(INTERPOSED.contains(&&line[19..]));
        assert!(line[19..].starts_with("lg_") || INTERPOSED.contains(&&line[19..]), "{line}");
    }
    assert_eq!(interposed, INTERPOSED.len());
    let dynamic = done(Command::new("readelf").arg("-d").arg(installed().join("lib/liblockgate.so")));
    assert!(dynamic.contains("[liblockgate.so.0]") && !dynamic.contains("TEXTREL"), "{dynamic}");
}

/// glibc has some 1,664 bytes of static thread-local storage for libraries that are opened late. A program's copy and a plugin's, built for
/// tests, take 1,296 of them. Red where what a thread has of its own lies there, instead of in boxes: they took all of it, and on some machines more.
/// So it is where a thread's block asks for a cache line of its own: what the order of linking puts before it then costs up to 63 bytes more.
#[test]
fn two_copies_leave_thread_local_storage_to_other_libraries() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let plugin = folder.path().join("plugin.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/plugin.c");
    let mut compiler = crate::common::compiler(crate::common::Language::C99);
    compiler.args(["-Wno-pedantic", "-fPIC", "-shared"]).arg(source).arg("-o").arg(&plugin);
    compiler.args(["-x", "none"]).arg(installed().join("lib/liblockgate.a"));
    done(compiler.args(["-lm", "-lpthread", "-ldl"]));
    let block = |library: &Path| -> u64 {
        let headers = done(Command::new("readelf").arg("-lW").arg(library));
        let segment = headers.lines().find(|line| line.trim_start().starts_with("TLS ")).expect("a segment");
        let number = |index: usize| {
            let word = segment.split_whitespace().nth(index).expect("its fields");
            u64::from_str_radix(word.trim_start_matches("0x"), 16).expect("a number")
        };
        number(5).next_multiple_of(number(7)) // size in memory, alignment
    };
    let blocks = [installed().join("lib/liblockgate.so"), plugin].map(|library| block(&library));
    assert!(blocks.iter().sum::<u64>() <= 1_408, "{blocks:?}");
}

/// What the README's section has in its blocks of code, indented by four.
fn readme(heading: &str) -> String {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("a README");
    let (_, rest) = readme.split_once(&format!("\n## {heading}\n")).expect("the heading");
    rest.split("\n## ").next().expect("a section").to_owned()
}

/// The first block of code in `text` that its fence says is of `language`.
fn block(text: &str, language: &str) -> String {
    let (_, rest) = text.split_once(&format!("```{language}\n")).expect("a program");
    rest.split("```").next().expect("split gives one part").to_owned()
}

/// Compiles a program, runs it beside the module `cube.lg` of the README, and returns what it said.
fn beside_cube(language: crate::common::Language, text: &str) -> String {
    let module_source = readme("Quick start: C");
    let (_, rest) = module_source.split_once("cat > cube.c <<'EOF'\n").expect("cube.c");
    let cube: String =
        rest.lines().take_while(|line| line.trim() != "EOF").map(|line| format!("{line}\n")).collect();
    let folder = tempfile::tempdir().expect("a scratch folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("the scratch folder is writable");
        path
    };
    module(folder.path(), "cube.lg", &write("cube.c", &cube), &[]);
    let binary = folder.path().join("program");
    crate::common::program(language, &write("program.c", text), &binary, &["-Wno-unused-result"]);
    done(Command::new(&binary).current_dir(folder.path()))
}

#[test]
fn the_program_of_the_readme_runs() {
    let said = beside_cube(crate::common::Language::C99, &block(&readme("Quick start: embedding in C"), "c"));
    assert!(said.starts_with("3\n") && said.contains("cube.c:"), "{said}");
}

#[test]
fn the_program_of_the_page_on_cpp_runs() {
    let page = std::fs::read_to_string(root().join("docs/start/cpp.md")).expect("the page");
    let said = beside_cube(crate::common::Language::Cpp17, &block(&page, "cpp"));
    assert!(said.starts_with("3\n") && said.contains("cube.c:"), "{said}");
}
