//! The C++ layer: it works, and misuse of it does not compile.

use crate::common::{Language, compiler, done, modules, program, run};
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

/// A program with each of `statements` in a function and a file of its own.
fn source(statements: &[&str]) -> String {
    let common = "enum Loose { one };\n\
         struct Host { char *text; int number; };\n\
         struct Liar { char *text; };\n\
         template <> inline constexpr auto lockgate::fields<Liar> = lockgate::members(&Liar::text);\n\
         struct Named { int shown, hidden; };\n\
         template <> inline constexpr auto lockgate::fields<Named> = lockgate::members(&Named::shown);\n\
         enum Loose8 : short { first };\n\
         struct Made { Made(int from) : number(from) {} int number; };\n\
         struct Several { bool operator()(int n) { return n < 9; } bool operator()(std::optional<long>) { return true; } };\n\
         struct Template { template <typename T = void> bool operator()(int n) { return n < 9; } };\n\
         struct Deduces { template <typename T> bool operator()(std::optional<T>) { return true; } bool operator()(int) { return true; } };\n\
         struct Converts { using F = bool(int); static bool small(int n) { return n < 9; } operator F *() const { return small; } };\n\
         bool variadic(int number, ...) { return number < 10; }\n\
         int plain_argument(int number) { return number; }\n\
         int host_argument(char *text) { return *text; }\n";
    let functions = statements.iter().enumerate().map(|(number, statement)| {
        format!(
            "#line 1 \"{number}\"\n\
             void f{number}(lockgate::Domain &domain, lockgate::Function<int(int)> &same, lockgate::pointer<char> text) {{\n\
             int numbers[3];\n(void)domain, (void)same, (void)text, (void)numbers;\n{statement}\n}}\n"
        )
    });
    common.to_owned() + &functions.collect::<String>()
}

/// Of the messages about a program with `count` statements, those about each: where a message's place is in the header, the lines before it say
/// for which statement.
fn messages_about_each(said: &str, count: usize) -> Vec<String> {
    let mut messages = vec![String::new(); count];
    let mut about = None;
    for line in said.lines() {
        about = line.split_once(':').and_then(|(file, _)| file.parse::<usize>().ok()).or(about);
        if let Some(number) = about {
            messages[number] += line;
            messages[number] += "\n";
        }
    }
    messages
}

#[test]
fn misuse_does_not_compile() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("misuse.cpp");
    // The header is compiled once.
    let header = folder.path().join("before.hpp");
    std::fs::write(&header, "#include <lockgate.hpp>\n#include <complex>\n#include <cstdio>\n#include <cstring>\n#include <optional>\n")
        .expect("the scratch folder is writable");
    let compiled = folder.path().join("before.hpp.gch");
    done(
        compiler(Language::Cpp17)
            .args(["-x", "c++-header", "-fno-new-ttp-matching", "-c", "-o"])
            .args([&compiled, &header]),
    );
    let compile = |statements: &[&str]| {
        std::fs::write(&path, source(statements)).expect("the scratch folder is writable");
        let mut compiler = compiler(Language::Cpp17);
        let output = run(compiler
            .args(["-fsyntax-only", "-Wno-unused", "-Wno-unused-result", "-fno-new-ttp-matching", "-include"])
            .args([&header, &path])
            .env("LC_ALL", "C"));
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (fine, message) = compile(&["int x = same(1).trust(\"\"); (void)x;"]);
    assert!(fine, "the rest of the program compiles: {message}");
    let table = include_str!("misuse.txt");
    let cases: Vec<(&str, &str)> = table
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|case| case.split_once(" | ").expect("statement | message"))
        .collect();
    let says = |message: &str, expected: &str| {
        message.contains(expected) || message.replace(['‘', '’'], "'").contains(expected)
    };
    // All at once. A template that several want is complained of once: those are tried alone.
    let statements: Vec<&str> = cases.iter().map(|(statement, _)| *statement).collect();
    let messages = messages_about_each(&compile(&statements).1, cases.len());
    let mut wrong = String::new();
    for ((statement, expected), message) in cases.iter().zip(messages) {
        if message.contains(" error: ") && says(&message, expected) {
            continue;
        }
        let (compiled, message) = compile(&[statement]);
        if compiled || !says(&message, expected) {
            wrong += &format!("{statement}: expected {expected:?}, got: {message}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(cases.len() > 15, "only {} cases", cases.len());
}
