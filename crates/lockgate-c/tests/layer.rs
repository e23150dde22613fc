//! The C++ layer: it works, and misuse of it does not compile.

mod common;
use common::{Language, compiler, done, modules, program, run};
use std::path::Path;
use std::process::Command;

/// Builds a program of `tests/c`, in which undefined behaviour traps, and runs it where the modules are.
fn works(name: &str) {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let binary = folder.path().join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name).with_extension("cpp");
    program(
        Language::Cpp17,
        &source,
        &binary,
        &["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"],
    );
    done(Command::new(&binary).current_dir(modules()));
}

#[test]
fn the_layer_works() {
    works("layer");
}

#[test]
fn values_places_and_callbacks() {
    works("tainted");
}

/// A program with `statement` in it.
fn source(statement: &str) -> String {
    format!(
        "enum Loose {{ one }};\n\
         struct Host {{ char *text; int number; }};\n\
         struct Liar {{ char *text; }};\n\
         template <> inline constexpr auto lockgate::fields<Liar> = lockgate::members(&Liar::text);\n\
         struct Named {{ int shown, hidden; }};\n\
         template <> inline constexpr auto lockgate::fields<Named> = lockgate::members(&Named::shown);\n\
         int plain_argument(int number) {{ return number; }}\n\
         int host_argument(char *text) {{ return *text; }}\n\
         void f(lockgate::Domain &domain, lockgate::Function<int(int)> &same, lockgate::pointer<char> text) {{\n\
         int numbers[3];\n(void)domain, (void)same, (void)text, (void)numbers;\n{statement}\n}}\n"
    )
}

#[test]
fn misuse_does_not_compile() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("misuse.cpp");
    // The header is compiled once.
    let header = folder.path().join("before.hpp");
    std::fs::write(&header, "#include <lockgate.hpp>\n#include <cstdio>\n#include <cstring>\n")
        .expect("the scratch folder is writable");
    let compiled = folder.path().join("before.hpp.gch");
    done(
        compiler(Language::Cpp17)
            .args(["-x", "c++-header", "-fno-new-ttp-matching", "-c", "-o"])
            .args([&compiled, &header]),
    );
    let compile = |statement: &str| {
        std::fs::write(&path, source(statement)).expect("the scratch folder is writable");
        let mut compiler = compiler(Language::Cpp17);
        let output = run(compiler
            .args(["-fsyntax-only", "-Wno-unused", "-Wno-unused-result", "-fno-new-ttp-matching", "-include"])
            .args([&header, &path])
            .env("LC_ALL", "C"));
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (fine, message) = compile("int x = same(1).trust(\"\"); (void)x;");
    assert!(fine, "the rest of the program compiles: {message}");
    let table = include_str!("misuse.txt");
    let cases = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let (mut count, mut wrong) = (0, String::new());
    for case in cases {
        let (statement, expected) = case.split_once(" | ").expect("statement | message");
        let (compiled, message) = compile(statement);
        let says = message.contains(expected) || message.replace(['‘', '’'], "'").contains(expected);
        if compiled || !says {
            wrong += &format!("{statement}: expected {expected:?}, got: {message}\n");
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count > 15, "only {count} cases");
}
