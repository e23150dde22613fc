//! Everything that the generator writes, for every file of `share/stubs`, the examples, and headers that between them reach each
//! variant of the plan, as it was when somebody last looked at it: `tests/outputs/*.txt`.
//!
//! With `LOCKGATE_UPDATE=1` in the environment the files are written anew; what changed is then read in the version control system's
//! difference. The libraries' headers are short copies (`tests/headers`), so that it does not matter what is installed.

use lockgate_stubs::header::{self, Source};
use lockgate_stubs::plan::{self, Outcome, Passing, Plan};
use lockgate_stubs::{Client, emit};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two levels up").to_owned()
}

fn own(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// What a client is made of: a header, its annotations, the folder by which it is found, macros.
struct Case {
    name: &'static str,
    header: PathBuf,
    annotations: Option<PathBuf>,
    defines: &'static [&'static str],
}

/// Every file of `share/stubs`, with a copy of its header.
const LIBRARIES: [(&str, &str, &[&str]); 9] = [
    ("brotli_decode", "brotli/decode.h", &[]),
    ("brotli_encode", "brotli/encode.h", &[]),
    ("expat", "expat.h", &[]),
    ("lz4", "lz4.h", &[]),
    ("lz4frame", "lz4frame.h", &[]),
    ("png", "png.h", &[]),
    ("sqlite3", "sqlite3.h", &[]),
    ("zlib", "zlib.h", &["HAVE_UNISTD_H"]),
    ("zstd", "zstd.h", &[]),
];

/// Headers of the program's own tests, which say everything that a header may say.
const PROGRAMS: [&str; 10] =
    ["anew", "fresh", "jumpy", "keeper", "lives", "sly", "steps", "tricky", "unwritten", "words"];

fn cases() -> Vec<Case> {
    let libraries = LIBRARIES.map(|(name, header, defines)| Case {
        name,
        header: own("tests/headers").join(header),
        annotations: Some(root().join(format!("share/stubs/{name}.lg.h"))),
        defines,
    });
    let programs = PROGRAMS.map(|name| Case {
        name,
        header: root().join(format!("crates/lockgate-cli/tests/stubs/{name}.h")),
        annotations: None,
        defines: &[],
    });
    let example = Case {
        name: "ini",
        header: root().join("examples/stubs/ini.h"),
        annotations: Some(root().join("examples/stubs/ini.lg.h")),
        defines: &["INI=\"quoted\""],
    };
    let rest = Case { name: "rest", header: own("tests/headers/rest.h"), annotations: None, defines: &[] };
    libraries.into_iter().chain(programs).chain([example, rest]).collect()
}

impl Case {
    fn client(&self) -> Client {
        let source = Source {
            header: self.header.clone(),
            annotations: self.annotations.iter().cloned().collect(),
            includes: vec![own("tests/headers")],
            defines: self.defines.iter().map(|define| (*define).to_owned()).collect(),
        };
        let module = format!("{}.lg", self.name);
        Client::of(&source, Path::new(&module)).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }
}

/// Files as one text; paths of this tree are not part of it.
fn text_of(files: &[emit::File]) -> String {
    let mut text = String::new();
    for file in files {
        let _ = write!(text, "==== {}\n{}", file.name, file.text.replace(&*root().to_string_lossy(), "ROOT"));
    }
    text
}

/// What is the same in every client is read in `runtime/`.
fn is_generated(file: &emit::File) -> bool {
    const FIXED: [&str; 6] = [
        "lockgate_stubs.h",
        "lockgate_stubs.hpp",
        "lockgate_stubs_runtime.h",
        "build.rs",
        "src/support.rs",
        "_catching.c",
    ];
    !FIXED.iter().any(|fixed| file.name.ends_with(fixed))
}

/// A module of Python without what each begins with.
fn without_support(mut file: emit::File) -> emit::File {
    if !file.name.ends_with(".py") {
        return file;
    }
    let support = std::fs::read_to_string(own("runtime/python/support.py")).expect("support.py");
    let last = support.trim_end().lines().next_back().expect("a line");
    let at = file.text.rfind(last).expect("the module begins with support.py") + last.len();
    file.text.replace_range(..at, "[support.py]");
    file
}

fn outputs(case: &Case) -> String {
    let mut client = case.client();
    let c: Vec<emit::File> = client.c().into_iter().filter(is_generated).collect();
    let bindings = |files: Vec<emit::File>| {
        files.into_iter().filter(|file| is_generated(file) && !file.name.starts_with("client/"))
    };
    // (Functions and types that have one name are refused.)
    let or_why = |language: &str, files: Result<Vec<emit::File>, String>| match files {
        Ok(files) => text_of(&bindings(files).map(without_support).collect::<Vec<_>>()),
        Err(reason) => format!("==== {language}: {reason}\n"),
    };
    let rust = match client.rust() {
        Ok(files) => text_of(&bindings(files).collect::<Vec<_>>()),
        Err(reason) => format!("==== Rust: {reason}\n"),
    };
    let cpp = or_why("C++", client.cpp());
    let python = or_why("Python", client.python());
    let mut text = format!("==== explain\n{}", client.explain().replace(&*root().to_string_lossy(), "ROOT"));
    text += &[text_of(&c), cpp, rust, python].concat();
    client.failing_stub();
    let with_failing_stubs = client.c();
    let source = with_failing_stubs.iter().find(|file| file.name.ends_with("_client.c")).expect("a client");
    let (_, failing_stubs) = source.text.rsplit_once("lgs_failing_stub").map_or(("", ""), |_| {
        source
            .text
            .split_once("#pragma GCC diagnostic ignored \"-Wunused-parameter\"")
            .expect("failing stubs")
    });
    let _ = write!(text, "==== failing stubs{failing_stubs}");
    text
}

/// The side of a program one domain of which is part of it: with gates.
fn host_side() -> (Plan, String) {
    let declarations = std::fs::read_to_string(own("tests/headers/parts.h")).expect("parts.h");
    let declarations = format!("#define LOCKGATE_STUBS 1\n{}{declarations}", lockgate_stubs::ANNOTATIONS_H);
    let names = ["part_sum", "part_name", "part_item", "part_log", "part_ask"];
    let names: BTreeSet<String> = names.map(str::to_owned).into();
    let header =
        header::read_text(&declarations, Path::new("parts.h"), names, Vec::new()).expect("parts.h is read");
    let gates = ["part_log", "part_ask"].map(str::to_owned).into();
    let plan = plan::plan_domain(&header, "parts", &["memory=16M".to_owned()], &gates);
    assert!(plan.refusals.is_empty(), "{:?}", plan.refusals);
    let files = emit::c::domain(&plan, "parts", "/* The program's declarations. */\n");
    let files: Vec<emit::File> = files.into_iter().filter(is_generated).collect();
    let lists = [emit::c::exported(&plan), vec!["imports".to_owned()], emit::c::imported(&plan)].concat();
    let text = format!("{}==== exports\n{}\n", text_of(&files), lists.join("\n"));
    (plan, text)
}

fn compare(name: &str, text: &str) {
    let path = own("tests/outputs").join(format!("{name}.txt"));
    if std::env::var_os("LOCKGATE_UPDATE").is_some() {
        std::fs::create_dir_all(own("tests/outputs")).expect("a folder");
        std::fs::write(&path, text).expect("a file");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = expected.lines().zip(text.lines()).enumerate().find(|(_, (then, now))| then != now);
    if let Some((number, (then, now))) = differs {
        panic!("{name}.txt:{}:\n  was {then}\n  is  {now}\nLOCKGATE_UPDATE=1 writes it anew", number + 1);
    }
    assert_eq!(expected.len(), text.len(), "{name}.txt: one ends earlier");
}

#[test]
fn outputs_are_as_they_were_read() {
    for case in cases() {
        compare(case.name, &outputs(&case));
    }
    compare("parts", &host_side().1);
}

/// Rust that writes clients, and how many of its lines are code: no comments, no tests, no empty lines.
fn emitters(folder: &Path) -> Vec<(PathBuf, Vec<String>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            all.extend(emitters(&path));
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
        all.push((path, code.lines().filter(is_code).map(str::to_owned).collect()));
    }
    all
}

/// What is between `r#"` and `"#` is as the client has it.
fn without_raw(line: &str) -> String {
    let (mut kept, mut rest) = (String::new(), line);
    while let Some((before, raw)) = rest.split_once("r#\"") {
        kept += before;
        rest = raw.split_once("\"#").map_or("", |(_, behind)| behind);
    }
    kept + rest
}

/// Code of clients is written as it will be read: in templates, in raw strings, or step by step by a printer.
#[test]
fn no_code_of_clients_is_escaped() {
    let emitters = emitters(&own("src/emit"));
    assert!(emitters.len() > 30, "{} files", emitters.len());
    let mut escaped = Vec::new();
    for (path, line) in emitters.iter().flat_map(|(path, code)| code.iter().map(move |line| (path, line))) {
        // (An end of a line by itself puts lines together; what escapes texts of headers is no code of clients.)
        if line.contains(".replace('\\\\', r\"\\\\\")") {
            continue;
        }
        let line = without_raw(line).replace(r#""\n""#, "").replace(r"'\n'", "");
        if [r#"\""#, r"\n", "{{"].iter().any(|escape| line.contains(escape)) {
            escaped.push(format!("{}: {line}", path.display()));
        }
    }
    assert!(escaped.is_empty(), "{escaped:#?}");
}

/// docs/decisions/0087-a-fourth-language.md
#[test]
fn a_fourth_language_takes_500_lines() {
    let lines: usize = emitters(&own("src/emit/cpp")).iter().map(|(_, code)| code.len()).sum();
    assert!((300..=500).contains(&lines), "the emitter of C++ has {lines} lines of code");
}

/// Writes the client with everything that it can have to the folder. The path of its source.
fn client_in(case: &Case, folder: &Path) -> PathBuf {
    let mut client = case.client();
    client.failing_stub();
    let files = client.c();
    lockgate_stubs::write(folder, &files).expect("the client is written");
    let source = files.iter().find(|file| file.name.ends_with("_client.c")).expect("a client");
    folder.join(&source.name)
}

/// Whether a source is what the standard says, and what the compiler says of it.
fn compile(compiler: &str, standard: &str, case: &Case, folder: &Path, source: &Path) -> (bool, String) {
    let mut command = Command::new(compiler);
    let flags = ["-pedantic-errors", "-Werror=deprecated-declarations", "-fsyntax-only"];
    command.arg(standard).args(flags).arg("-I").arg(folder);
    // (The libraries' own headers are the system's, for the compiler: they are not so strict.)
    command.arg("-isystem").arg(own("tests/headers"));
    command.arg("-isystem").arg(case.header.parent().expect("a folder"));
    command.arg("-I").arg(root().join("crates/lockgate-headers/include"));
    let output = command.arg(source).output().expect("the compiler starts");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A client is compiled with the flags of the library's programs, which may ask for plain C99 and nothing else. What programs include is
/// C89.
#[test]
fn clients_are_c99() {
    let clang = support::is_there("clang", "clients compiled by clang");
    for case in &cases() {
        let folder = lockgate_outside::Folder::new().expect("a scratch folder");
        let source = client_in(case, folder.path());
        let program = folder.path().join("program.c");
        let text = "#include <lockgate.h>\n#include <lockgate/annotations.h>\n#include \"lockgate_stubs.h\"\nextern int nothing;\n";
        std::fs::write(&program, text).expect("a file");
        // (What clang says otherwise shows where all kinds of results and callbacks are.)
        let both = clang && ["sly", "rest"].contains(&case.name);
        for compiler in &["gcc", "clang"][..1 + usize::from(both)] {
            for (standard, file) in [("-std=c99", &source), ("-std=c89", &program)] {
                let (compiles, said) = compile(compiler, standard, case, folder.path(), file);
                assert!(compiles, "{}: {compiler} {standard} {}: {said}", case.name, file.display());
            }
        }
    }
}

/// As C89 it is refused in so many words.
#[test]
fn clients_are_not_c89() {
    let case = &cases()[0];
    let folder = lockgate_outside::Folder::new().expect("a scratch folder");
    let (compiles, said) = compile("gcc", "-std=gnu89", case, folder.path(), &client_in(case, folder.path()));
    assert!(!compiles && said.contains("compile this file as C99 or later"), "{said}");
}

/// A variant that no header reaches is one whose output nobody has read.
#[test]
fn each_variant_of_the_plan_is_reached() {
    let mut reached = BTreeSet::new();
    let plans = cases().iter().map(|case| case.client().plan).chain([host_side().0]).collect::<Vec<_>>();
    for plan in &plans {
        for function in &plan.functions {
            function.parameters.iter().for_each(|passing| self::passing(passing, &mut reached));
            outcome(&function.result, "result", &mut reached);
        }
        for callback in plan.callbacks.values().chain(&plan.gates) {
            callback.parameters.iter().for_each(|out| outcome(out, "callback", &mut reached));
        }
        for field in plan.records.values().flat_map(|record| &record.fields) {
            reached.insert(format!("field, in: {}", word(&field.passing)));
            outcome(&field.outcome, "field, out", &mut reached);
        }
    }
    let reached: String = reached.into_iter().map(|variant| variant + "\n").collect();
    compare("variants", &reached);
}

/// The variant's name.
fn word(variant: &impl std::fmt::Debug) -> String {
    let text = format!("{variant:?}");
    text.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default().to_owned()
}

fn passing(passing: &Passing, reached: &mut BTreeSet<String>) {
    let more = match passing {
        Passing::Buffer(buffer) | Passing::Scalar(buffer) | Passing::Cursor(buffer) => {
            format!(" reads={} writes={} bools={}", buffer.reads, buffer.writes, buffer.bools.is_some())
        }
        Passing::Record { kept, release, buffer, .. } => {
            format!(" kept={kept} release={release} many={}", buffer.size.is_some())
        }
        Passing::Rows { strings, .. } => format!(" strings={strings}"),
        Passing::Stream { kept } => format!(" kept={kept}"),
        Passing::Handle { release, data, .. } => format!(" release={release} data={data}"),
        Passing::Inside { release } => format!(" release={release}"),
        Passing::Data { kept, for_call, .. } => format!(" kept={kept} for_call={for_call}"),
        Passing::Pointer { before, after } => {
            outcome(after, "set", reached);
            format!(" before={}", before.is_some())
        }
        Passing::Value
        | Passing::Null
        | Passing::Ignore
        | Passing::String { .. }
        | Passing::Callback { .. }
        | Passing::Dispose { .. } => String::new(),
    };
    reached.insert(format!("parameter: {}{more}", word(passing)));
}

fn outcome(outcome: &Outcome, of: &str, reached: &mut BTreeSet<String>) {
    reached.insert(format!("{of}: {}", word(outcome)));
}

/// An annotations file includes the header that was asked for, not one of the same name that is installed.
#[test]
fn a_header_in_a_named_folder_is_found_before_the_systems() {
    let folder = own("tests/headers/own");
    let source = Source {
        header: folder.join("regex.h"),
        // (Not beside it: there it would be found first.)
        annotations: vec![own("tests/headers/notes/regex.lg.h")],
        includes: vec![folder],
        defines: Vec::new(),
    };
    let client = Client::of(&source, Path::new("regex.lg")).unwrap_or_else(|error| panic!("{error}"));
    assert!(client.plan.refusals.is_empty(), "{:?}", client.plan.refusals);
    assert_eq!(client.plan.functions.len(), 1);
}
