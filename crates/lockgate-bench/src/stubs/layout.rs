//! The same functions in other places.
//!
//! Which of a program's lines share a set of the instruction cache is an accident of where its functions lie, and decides about more
//! than what is measured (docs/decisions/0057). So programs are measured in several layouts: compiled with a section for each
//! function ([`FLAG`]), their functions in the order of the sources, but each layout begins with another one of them.

use crate::command::done;
use anyhow::Context as _;
use object::{Object as _, ObjectSection as _, SectionKind};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

/// The compiler's option that makes this possible.
pub const FLAG: &str = "-ffunction-sections";

/// The C source of what moves all behind it by `number` steps: 16 bytes of code, 352 of data, so that small programs, too, whose
/// few functions have few orders, lie differently in lines, pages and sets of the caches.
pub fn padding(number: usize) -> String {
    let mut source = format!("char lockgate_padding[{}] __attribute__((aligned(32)));\n", 352 * number + 1);
    for step in 0..number {
        let _ = writeln!(source, "__attribute__((aligned(16))) void lockgate_padding_{step}(void) {{}}");
    }
    source
}

/// Joins `objects` into one, `joined`, whose functions begin `number` / `of` of the way through theirs and go on from their end with
/// those before.
///
/// # Errors
/// A file that cannot be read or written, is no object, or has no function in a section of its own; the linker's.
pub fn turned(objects: &[PathBuf], number: usize, of: usize, joined: PathBuf) -> anyhow::Result<PathBuf> {
    let functions = functions(objects)?;
    anyhow::ensure!(functions.len() > of, "no functions to turn: {objects:?} were compiled without {FLAG}");
    let named = turn(functions, number, of).into_iter().map(|name| (name.clone(), name));
    join(&[], objects, named.collect(), joined)
}

/// The same behind the objects `before`, of programs however small.
///
/// # Errors
/// As [`turned`].
pub fn turned_behind(
    before: &[PathBuf],
    objects: &[PathBuf],
    number: usize,
    of: usize,
    joined: PathBuf,
) -> anyhow::Result<PathBuf> {
    let own = functions(objects)?;
    anyhow::ensure!(!own.is_empty(), "no functions to turn: {objects:?} were compiled without {FLAG}");
    let mut order = functions(before)?;
    order.extend(turn(own, number, of));
    // By one name for all, since linkers put what is called .text.startup first: main, in small programs all there is.
    let named = order.into_iter().enumerate().map(|(place, name)| (format!(".text.turned.{place}"), name));
    join(before, objects, named.collect(), joined)
}

fn turn(mut functions: Vec<String>, number: usize, of: usize) -> Vec<String> {
    let first = functions.len() * number / of;
    functions.rotate_left(first);
    functions
}

/// The sections of functions, in order.
fn functions(objects: &[PathBuf]) -> anyhow::Result<Vec<String>> {
    let mut functions: Vec<String> = Vec::new();
    for object in objects {
        let data = std::fs::read(object).with_context(|| format!("cannot read {}", object.display()))?;
        let file =
            object::File::parse(&*data).with_context(|| format!("{} is no object", object.display()))?;
        for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
            let name = section.name()?;
            // What gcc takes to be cold lies together, before all else, in every program.
            if name.starts_with(".text.") && !name.starts_with(".text.unlikely.") {
                functions.push(name.to_owned());
            }
        }
    }
    Ok(functions)
}

fn join(
    before: &[PathBuf],
    objects: &[PathBuf],
    functions: Vec<(String, String)>,
    joined: PathBuf,
) -> anyhow::Result<PathBuf> {
    let mut script = String::from("SECTIONS {\n");
    for (new, name) in &functions {
        let _ = writeln!(script, "  \"{new}\" 0 : {{ *({name}) }}");
    }
    script += "}\n";
    let script_path = joined.with_extension("ld");
    std::fs::write(&script_path, script)?;
    let mut join = Command::new("ld");
    done(join.arg("-r").arg("-T").arg(script_path).args(before).args(objects).arg("-o").arg(&joined))?;
    Ok(joined)
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::ObjectSymbol as _;
    use std::path::Path;

    /// Compiles two files of three functions each; the program prints 21.
    fn objects(folder: &Path, flags: &[&str]) -> Vec<PathBuf> {
        let sources = [
            "static int same(void) { return 1; } int a(void) { return same(); } int b(void) { return 2; }",
            "#include <stdio.h>\nint a(void); int b(void);\n\
             static int same(void) { return 18; } int main(void) { printf(\"%d\\n\", a() + b() + same()); }",
        ];
        let object = |(number, source): (usize, &&str)| {
            let (file, object) = (folder.join(format!("{number}.c")), folder.join(format!("{number}.o")));
            std::fs::write(&file, source).unwrap();
            done(Command::new("gcc").args(["-O0", "-c"]).args(flags).arg(file).arg("-o").arg(&object))
                .unwrap();
            object
        };
        sources.iter().enumerate().map(object).collect()
    }

    #[test]
    fn every_layout_begins_with_another_function_and_does_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let objects = objects(folder.path(), &[FLAG]);
        let mut firsts = Vec::new();
        for number in 0..3 {
            let object = turned(&objects, number, 3, folder.path().join("joined.o")).unwrap();
            let program = folder.path().join("program");
            done(Command::new("gcc").arg(object).arg("-o").arg(&program)).unwrap();
            assert_eq!(done(&mut Command::new(&program)).unwrap(), "21\n");
            let data = std::fs::read(&program).unwrap();
            let file = object::File::parse(&*data).unwrap();
            let ours =
                file.symbols().filter(|symbol| matches!(symbol.name(), Ok("a" | "b" | "main" | "same")));
            let first = ours.min_by_key(|symbol| symbol.address()).unwrap();
            firsts.push(first.name().unwrap().to_owned());
        }
        assert_eq!(firsts, ["same", "a", "same"], "in order: same a b same main");
    }

    #[test]
    fn what_lies_behind_padding_is_moved_and_does_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let source = "#include <stdio.h>\nint counted; int main(void) { printf(\"%d\\n\", counted + 21); }";
        let compile = |name: &str, source: &str| {
            let file = folder.path().join(name);
            std::fs::write(&file, source).unwrap();
            let object = file.with_extension("o");
            done(Command::new("gcc").args(["-O2", FLAG, "-c"]).arg(file).arg("-o").arg(&object)).unwrap();
            object
        };
        let own = compile("own.c", source);
        let mut places = Vec::new();
        for number in 0..3 {
            let before = compile("padding.c", &padding(number));
            let joined = folder.path().join("joined.o");
            let object = turned_behind(&[before], std::slice::from_ref(&own), number, 3, joined).unwrap();
            let program = folder.path().join("program");
            done(Command::new("gcc").arg("-no-pie").arg(object).arg("-o").arg(&program)).unwrap();
            assert_eq!(done(&mut Command::new(&program)).unwrap(), "21\n");
            let data = std::fs::read(&program).unwrap();
            let file = object::File::parse(&*data).unwrap();
            let address = |name| file.symbols().find(|symbol| symbol.name() == Ok(name)).unwrap().address();
            places.push((address("main"), address("counted")));
        }
        let moved = |one: (u64, u64), other: (u64, u64)| (other.0 - one.0, other.1 - one.1);
        assert_eq!(moved(places[0], places[1]).0, 16, "{places:?}");
        assert_eq!(moved(places[1], places[2]).0, 16, "{places:?}");
        assert_eq!(moved(places[1], places[2]).1, 352, "{places:?}");
    }

    #[test]
    fn objects_whose_functions_cannot_be_told_apart_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let objects = objects(folder.path(), &[]);
        let error = turned(&objects, 1, 3, folder.path().join("joined.o")).unwrap_err().to_string();
        assert!(error.contains(FLAG), "{error}");
        assert!(turned(&[folder.path().join("0.c")], 0, 1, folder.path().join("joined.o")).is_err());
    }
}
