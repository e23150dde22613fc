//! Bindings that `lockgate stubs` makes for C++, Rust and Python: of real libraries, and of one that attacks.

use crate::installed::{corpus, prefix};
use crate::reading::lockgate;
use lockgate_bench::command::done;
use lockgate_bench::stubs::library::LIBRARIES;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::Part;

/// Programs in Rust, by library.
const PROGRAMS: &[(&str, &str)] = &[
    ("tricky", include_str!("bindings/tricky.rs")),
    ("anew", include_str!("bindings/anew.rs")),
    ("sly", include_str!("bindings/sly.rs")),
    ("keeper", include_str!("bindings/keeper.rs")),
    ("words", include_str!("bindings/words.rs")),
    ("numbers", include_str!("bindings/numbers.rs")),
    ("owned", include_str!("bindings/owned.rs")),
    ("abrupt", include_str!("bindings/abrupt.rs")),
    ("zlib", include_str!("bindings/zlib.rs")),
    ("expat", include_str!("bindings/expat.rs")),
    ("sqlite", include_str!("bindings/sqlite.rs")),
];

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

#[derive(Clone, Copy, PartialEq)]
enum Language {
    Rust,
    Cpp,
    Python,
}

const LANGUAGES: [Language; 3] = [Language::Rust, Language::Cpp, Language::Python];

/// A library whose bindings are made, and programs in each language that use them.
struct Bindings {
    name: &'static str,
    folder: tempfile::TempDir,
    /// What the bindings were made with.
    options: Vec<std::ffi::OsString>,
    flags: Vec<String>,
    objects: Vec<PathBuf>,
}

/// A command that bindings say, but for its `-O2`: half of what these tests took was that. (`stubs` has clients at -O2, too.)
fn unoptimised(command: &str) -> String {
    assert!(command.contains(" -O2 "), "{command}");
    command.replace(" -O2 ", " -O0 ")
}

impl Bindings {
    /// Bindings of the library with this header, in a folder of their own, and its module. With `partial`, functions that
    /// cannot be protected, or that the library's build does not have, are left out.
    fn new(
        name: &'static str,
        header: &Path,
        options: &[String],
        flags: Vec<String>,
        sources: &[PathBuf],
        partial: bool,
    ) -> Bindings {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = |name: &str| folder.path().join(name);
        let object = |source: &PathBuf| {
            let object =
                path(source.file_name().expect("a name").to_str().expect("text")).with_extension("o");
            let mut compile = lockgate();
            compile.args(["cc", "-g", "-O0", "-w"]).args(&flags).arg("-c").arg(source).arg("-o").arg(&object);
            done(&mut compile).map(|_| object).expect("it compiles")
        };
        let objects: Vec<PathBuf> = sources.iter().map(object).collect();
        let mut stubs = lockgate();
        stubs.arg("stubs").arg(header).args(options).arg("-m").arg(path("module.lg"));
        if partial {
            stubs
                .arg("--partial")
                .args(objects.iter().flat_map(|object| [Path::new("--defined-in"), object]));
        }
        let options = stubs.get_args().map(std::ffi::OsStr::to_owned).collect();
        done(stubs.args(["-l", "rust", "-l", "python", "-o"]).arg(path("bindings"))).expect("bindings");
        let bindings = Bindings { name, folder, options, flags, objects };
        if !bindings.objects.is_empty() {
            bindings.link(&bindings.objects, &[], &bindings.path("module.lg"));
        }
        bindings
    }

    /// Those of a library of the corpus.
    fn of_corpus(name: &'static str) -> Bindings {
        let main = corpus().library(name).expect("in the corpus");
        Bindings::of_some_of(name, &main.sources)
    }

    /// Those of a library of which only these sources are compiled; of none, there is no module.
    fn of_some_of(name: &'static str, sources: &[PathBuf]) -> Bindings {
        let library = LIBRARIES.iter().find(|library| library.name == name).expect("in the table");
        let main = corpus().library(name).expect("in the corpus");
        let mut flags = main.flags();
        flags.extend(library.defines.iter().map(|define| format!("-D{define}")));
        let headers = main.includes.iter().map(|include| include.join(library.header));
        let header = headers.into_iter().find(|path| path.is_file()).expect("the header");
        let annotations = corpus().root().join("share/stubs").join(library.annotations);
        let mut options = vec!["-a".to_owned(), annotations.display().to_string()];
        options.extend(flags.iter().filter(|flag| flag.starts_with("-I") || flag.starts_with("-D")).cloned());
        Bindings::new(library.client, &header, &options, flags, sources, library.partial)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn link(&self, objects: &[PathBuf], options: &[&str], module: &Path) {
        let mut link = lockgate();
        link.args(["cc", "-g", "-O0", "-w"]).args(options).args(&self.flags).args(objects).arg("-lm");
        let exports = self.path("bindings/client").join(self.name).with_extension("exports");
        done(link.arg("-o").arg(module).arg("--exports").arg(exports)).expect("it links");
    }

    /// A program in Rust that has the bindings' crate as a dependency.
    fn rust(&self) -> PathBuf {
        let (package, name) = (self.path("program"), self.name);
        std::fs::create_dir_all(package.join("src")).expect("a folder");
        let manifest = format!(
            "[package]\nname = \"program\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
             {name}-protected = {{ path = \"../bindings\" }}\n\n[profile.dev]\ndebug = false\n"
        );
        std::fs::write(package.join("Cargo.toml"), manifest).expect("a file");
        let (_, text) = PROGRAMS.iter().find(|(own, _)| *own == name).expect("a program");
        std::fs::write(package.join("src/main.rs"), text).expect("a file");
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--offline", "--quiet"]).current_dir(&package);
        build
            .env("CARGO_TARGET_DIR", self.path("target"))
            .env("CARGO_INCREMENTAL", "0")
            .env("RUSTFLAGS", "-Dwarnings")
            .env_remove("CARGO_ENCODED_RUSTFLAGS");
        build.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"));
        done(&mut build).expect("bindings that compile without a warning");
        self.path("target/debug/program")
    }

    /// Makes the program in C++ by the commands that the bindings' header says.
    fn cpp(&self) {
        let (name, folder) = (self.name, self.path("cpp"));
        let mut stubs = lockgate();
        // (Where C++ has a name for itself, no header that declares it can be included.)
        stubs.args(&self.options).args(["-D", "WORDS_FOR_CPP", "-l", "cpp", "-o"]).arg(&folder);
        done(&mut stubs).expect("bindings");
        let header = std::fs::read_to_string(folder.join(format!("{name}.hpp"))).expect("a header");
        let source = file("bindings").join(name).with_extension("cpp");
        let said = |compiler: &str| {
            let said = header.lines().find_map(|line| line.strip_prefix("//     ")?.strip_prefix(compiler));
            let said = said.unwrap_or_else(|| panic!("{compiler}: the header does not say how"));
            said.replace("FOLDER", &folder.to_string_lossy())
                .replace("program.cpp", &source.to_string_lossy())
        };
        let run = |command: String| {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(command).current_dir(self.folder.path());
            done(shell.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig")))
                .expect("it compiles without a warning");
        };
        run(unoptimised(&format!("cc {}", said("cc "))));
        let (said, strict) = (said("c++ "), "-Wall -Wextra -Werror");
        run(format!("c++ {said} -o {name}-cpp {strict}"));
        // (Each kind of thing is in one of these.)
        if ["tricky", "zlib"].contains(&name) {
            let others = [("g++", "c++20"), ("clang++", "c++17"), ("clang++", "c++20")];
            for (compiler, standard) in support::one_of(others, "compilers of C++") {
                if !support::is_there(compiler, format_args!("{name}.hpp in {compiler}")) {
                    continue;
                }
                let flags = said
                    .split(&*source.to_string_lossy())
                    .next()
                    .expect("the first")
                    .replace("c++17", standard);
                let source = source.display();
                run(format!(
                    "{compiler} {flags} {source} -fsyntax-only {strict} $(pkg-config --cflags lockgate)"
                ));
            }
        }
    }

    /// The client that the module for Python loads: made by the command that it says itself while that is missing.
    fn python(&self) {
        let import = format!("import {}_protected", self.name);
        let mut python = Command::new("python3");
        python.args(["-c", &import]).current_dir(self.path("bindings"));
        let output = python.output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let (_, command) =
            said.split_once("make it: ").unwrap_or_else(|| panic!("no client, no word: {said}"));
        let mut make = Command::new("sh");
        make.args(["-c", &unoptimised(command)]).env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"));
        done(&mut make).expect("the client compiles");
    }

    /// Runs the program in Python.
    fn run_python(&self, arguments: &[&str], module: Option<&Path>) {
        let mut python = Command::new("python3");
        python.arg(file("bindings").join(self.name).with_extension("py")).args(arguments);
        python.env("PYTHONPATH", self.path("bindings")).env("PYTHONDONTWRITEBYTECODE", "1");
        self.run(python.env("LD_LIBRARY_PATH", prefix().join("lib")), module);
    }

    /// Makes the program in C++ if it is not there yet, and runs it.
    fn run_cpp(&self, arguments: &[&str], module: Option<&Path>) {
        let program = self.path(&format!("{}-cpp", self.name));
        if !program.exists() {
            self.cpp();
        }
        let mut program = Command::new(program);
        self.run(program.args(arguments).env("LD_LIBRARY_PATH", prefix().join("lib")), module);
    }

    fn run(&self, command: &mut Command, module: Option<&Path>) {
        let variable = format!("LOCKGATE_{}", self.name.to_uppercase());
        command.envs(module.map(|module| (variable, module)));
        done(command.current_dir(self.folder.path())).expect("it runs");
    }

    /// All programs come to their ends.
    fn pass(&self) {
        self.pass_in(&LANGUAGES);
    }

    /// Those in the languages `always` do, and one in another, in turn.
    fn pass_with(&self, always: &[Language]) -> Vec<Language> {
        let others: Vec<_> = LANGUAGES.into_iter().filter(|language| !always.contains(language)).collect();
        let part = Part::one_in(others.len(), format!("languages of {}", self.name));
        let languages: Vec<_> = always.iter().copied().chain(part.among(others)).collect();
        self.pass_in(&languages);
        languages
    }

    fn pass_in(&self, languages: &[Language]) {
        for language in languages {
            match language {
                Language::Rust => self.run(&mut Command::new(self.rust()), None),
                Language::Cpp => self.run_cpp(&[], None),
                Language::Python => {
                    self.python();
                    self.run_python(&[], None);
                }
            }
        }
    }
}

/// Those of a library of our own.
fn synthetic(name: &'static str) -> Bindings {
    let include = format!("-I{}", corpus().root().join("crates/lockgate-headers/include").display());
    let header = file(&format!("stubs/{name}.h"));
    let sources = [file(&format!("stubs/{name}.c"))];
    Bindings::new(name, &header, std::slice::from_ref(&include), vec![include.clone()], &sources, false)
}

#[test]
fn everything_that_a_header_may_say() {
    synthetic("tricky").pass();
}

/// Memory that is lent shorter than was asked for, errors that a finaliser could swallow, numbers that do not fit.
#[test]
fn names_that_languages_have() {
    synthetic("words").pass_with(&[Language::Python]);
}

/// Failures that errno explains, however C writes them; constants that no other language writes as C does.
#[test]
fn values_that_an_api_says() {
    synthetic("numbers").pass_with(&[Language::Python]);
}

/// What a domain that has ended leaves to the program: calls from its callbacks, and handles, whose errors say why.
#[test]
fn domains_that_are_begun_anew() {
    synthetic("anew").pass_with(&[Language::Python]);
}

#[test]
fn what_is_concluded_from_answers() {
    synthetic("sly").pass_with(&[Language::Cpp]);
}

/// Strings and memory that programs in C free.
#[test]
fn what_is_to_be_freed() {
    synthetic("keeper").pass_with(&[Language::Cpp]);
}

/// Calls that the program upsets from within: by panics, moves, what a function owns, what another thread gives back.
#[test]
fn calls_that_end_abruptly() {
    synthetic("abrupt").pass_in(&[Language::Rust, Language::Cpp]);
}

/// Handles that a call may replace, and functions that belong to what a call makes.
#[test]
fn whose_handles_are() {
    synthetic("owned").pass_with(&[Language::Python]);
}

/// Python: arguments are all checked before anything is stored, and signal handlers, finalisers and other callbacks come between
/// the steps of a call without changing what it says.
#[test]
fn steps_of_a_call_in_python() {
    let bindings = synthetic("steps");
    bindings.python();
    bindings.run_python(&[], None);
}

#[test]
fn zlib() {
    let zlib = Bindings::of_corpus("zlib");
    let languages = zlib.pass_with(&[]);
    // The same bindings, hostile libraries.
    let weak = |object: &PathBuf| {
        let weak = object.with_extension("weak.o");
        done(Command::new("objcopy").arg("--weaken").arg(object).arg(&weak)).expect("objcopy");
        weak
    };
    let weak: Vec<PathBuf> = zlib.objects.iter().map(weak).collect();
    for (attack, kind) in [(1, "Pointer"), (2, "Length"), (3, "Pointer"), (4, "Fault")] {
        let module = zlib.path(&format!("hostile{attack}.lg"));
        let objects: Vec<PathBuf> =
            std::iter::once(file("stubs/hostile_zlib.c")).chain(weak.clone()).collect();
        zlib.link(&objects, &[&format!("-DATTACK={attack}")], &module);
        for language in &languages {
            match language {
                Language::Rust => {
                    zlib.run(Command::new(zlib.path("target/debug/program")).arg(kind), Some(&module));
                }
                Language::Cpp => zlib.run_cpp(&[kind], Some(&module)),
                Language::Python => zlib.run_python(&[kind], Some(&module)),
            }
        }
    }
}

#[test]
fn expat() {
    Bindings::of_corpus("expat").pass_with(&[Language::Python]);
}

/// Bindings of the largest header; in one of four runs, with the library, which takes as long to compile as all others.
#[test]
fn sqlite() {
    if Part::one_in(4, "SQLite's library").has(0) {
        Bindings::of_corpus("sqlite").pass_with(&[]);
    } else {
        Bindings::of_some_of("sqlite", &[]).python();
    }
}
