//! The modules that the other suites build: from an earlier run where it has built the very same, and anew where anything differs.

use crate::common::{Guest, recipe::Recipe, sysroot};
use std::process::Command;

fn answer(guest: Guest) -> i64 {
    let answer = guest.domain().bind::<extern "C" fn() -> i64>("answer").expect("an export");
    answer.call().expect("a number")
}

#[test]
fn a_recipe_is_made_once() {
    let recipe = |step: &str, what: &str| {
        let mut recipe = Recipe::new(sysroot());
        recipe.add(step, what);
        recipe
    };
    recipe("a step", "of this test's").kept(|| vec![1]);
    assert_eq!(recipe("a step", "of this test's").kept(|| panic!("it has been made")), [1]);
    for (step, what) in [
        ("a step", "of this test's, and more"),
        ("another step", "of this test's"),
        ("a stepof", " this test's"),
    ] {
        assert_eq!(recipe(step, what).kept(|| vec![2]), [2], "{step} {what}");
    }
}

/// Red if a test meets a module that another one has built: by another source, under other flags, of another object in the same file, or in
/// assembly that may not be rewritten.
#[test]
fn guests_that_differ_are_others() {
    let c = |source: &str, flags: &[&str]| answer(Guest::c_with(source, flags));
    assert_eq!(c("long answer(void) { return 1; }", &[]), 1);
    assert_eq!(c("long answer(void) { return 2; }", &[]), 2);
    assert_eq!(c("long answer(void) { return N; }", &["-DN=3"]), 3);
    assert_eq!(c("long answer(void) { return N; }", &["-DN=4"]), 4);
    assert_eq!(c("long answer(void) { return N; }", &["-DN=5"]), 5);
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (source, object) = (folder.path().join("guest.c"), folder.path().join("guest.o"));
    for number in [6, 7] {
        std::fs::write(&source, format!("long answer(void) {{ return {number}; }}")).expect("it is writable");
        let mut gcc: Command = sysroot().tools().compiler();
        assert!(gcc.arg("-c").arg(&source).arg("-o").arg(&object).status().expect("gcc runs").success());
        assert_eq!(answer(Guest::new().file(&object).expect("an object")), number);
    }
    let returns = "function answer\n mov $8,%eax\n ret";
    assert_eq!(answer(Guest::assembly(returns)), 8);
}

/// Red if what the linker is told is no part of the recipe.
#[test]
fn what_the_linker_is_told_counts() {
    let source = "long host(void); long answer(void) { return 1; }";
    let plain = || Guest::c(source);
    let first = plain().build();
    assert!(first == plain().build(), "the same is built twice");
    for (what, other) in [
        ("a prototype", plain().export("long answer(void)")),
        ("an import", plain().gate("long host(void)")),
        ("another import", plain().gate("long other(void)")),
        ("that others may join", plain().base()),
        ("more code", plain().and_assembly("function more\n ret")),
    ] {
        assert!(first != other.build(), "{what} makes no difference");
    }
}
