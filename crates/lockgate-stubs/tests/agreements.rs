//! Two declarations of one function, one of which the stub is made from: where they differ in what the program or its compiler relies upon, they do not
//! agree. Each pair is red where that part is not compared.

use lockgate_stubs::header::model::Header;
use lockgate_stubs::header::read_text;
use lockgate_stubs::plan::{Plan, agree, plan};
use std::path::Path;

/// What the declarations say of `f`, `drop`, `look` and `tell`.
fn header_of(text: &str) -> Header {
    let names = ["f", "drop", "look", "tell"].map(str::to_owned).into();
    let text = format!("#define LOCKGATE_STUBS 1\n#include <lockgate/annotations.h>\n{text}");
    read_text(&text, Path::new("f.c"), names, headers()).unwrap()
}

/// Whether these declarations of `f` agree, seen from both sides.
fn agree_on_f(one: &str, other: &str) -> bool {
    let read = |text: &str| {
        let header = header_of(text);
        let refusals = plan(&header).refusals;
        assert!(refusals.is_empty(), "{}", refusals[0]);
        header
    };
    let (one, other) = (read(one), read(other));
    let both = [agree(&one, &other, "f", false), agree(&other, &one, "f", false)];
    assert_eq!(both[0], both[1]);
    both[0].expect("both declare f")
}

fn headers() -> Vec<String> {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lockgate-headers/include");
    vec![format!("-I{}", include.display())]
}

#[test]
fn what_the_program_relies_on_is_compared() {
    const FREES: &str = "void drop(void *p LG_INSIDE);\nint look(const void *p LG_INSIDE) LG_ERROR(-1);\n";
    let after = |before: &str, text: &str| format!("{before}{text}");
    let pairs: &[(&str, &str, &str)] = &[
        // How long something is that an enumerator says: the stub would write behind the program's buffer.
        (
            "an enumerator",
            "enum { N = 64 };\nint f(char *b LG_INOUT LG_SIZE(N)) LG_ERROR(-1);",
            "enum { N = 16 };\nint f(char *b LG_INOUT LG_SIZE(N)) LG_ERROR(-1);",
        ),
        // How large a number is at most that the program takes for a place.
        (
            "a bound",
            "int f(int *n LG_OUT) LG_ERROR(-1);",
            "int f(int *n LG_OUT LG_AT_MOST(10)) LG_ERROR(-1);",
        ),
        // When what the program was given ends.
        (
            "who frees",
            &after(FREES, "int f(char **s LG_OUT LG_STRING LG_FREED(look)) LG_ERROR(-1);"),
            &after(FREES, "int f(char **s LG_OUT LG_STRING LG_FREED(drop)) LG_ERROR(-1);"),
        ),
        (
            "who frees the result",
            &after(FREES, "char *f(void) LG_STRING LG_FREED(look);"),
            &after(FREES, "char *f(void) LG_STRING LG_FREED(drop);"),
        ),
        (
            "whose it is",
            &after(FREES, "int f(char **s LG_OUT LG_STRING LG_BORROWED) LG_ERROR(-1);"),
            &after(FREES, "int f(char **s LG_OUT LG_STRING LG_FREED(drop)) LG_ERROR(-1);"),
        ),
        (
            "whose a handle is",
            "struct h;\nint f(struct h **h LG_OUT LG_BORROWED) LG_ERROR(-1);",
            "struct h;\nint f(struct h **h LG_OUT) LG_ERROR(-1);",
        ),
        // How much of it goes back.
        (
            "how much goes back",
            "int f(void *p LG_INSIDE LG_SIZE(64)) LG_ERROR(-1);",
            "int f(void *p LG_INSIDE LG_SIZE(16)) LG_ERROR(-1);",
        ),
        // What the program's compiler goes by.
        (
            "never null",
            "const char *f(void) LG_STRING;",
            "__attribute__((returns_nonnull)) const char *f(void) LG_STRING;",
        ),
        ("it returns", "void f(int n);", "__attribute__((noreturn)) void f(int n);"),
        (
            "it calls back nothing",
            "int f(int n) LG_ERROR(-1);",
            "__attribute__((pure)) int f(int n) LG_ERROR(-1);",
        ),
    ];
    for (what, ours, theirs) in pairs {
        assert!(agree_on_f(ours, ours) && agree_on_f(theirs, theirs), "{what}: it agrees with itself");
    }
    let alike = pairs.iter().filter(|(_, ours, theirs)| agree_on_f(ours, theirs)).map(|(what, ..)| *what);
    assert_eq!(alike.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn what_each_side_may_call_as_it_likes_is_not() {
    for (ours, theirs) in [
        ("int f(int n) LG_ERROR(-1);", "typedef int number;\nnumber f(number) LG_ERROR(-2);"),
        // A direction that the type says already, and the name of a number that nothing speaks of.
        (
            "int f(const char *s LG_STRING) LG_ERROR(-1);",
            "int f(const char *t LG_IN LG_STRING) LG_ERROR(-1);",
        ),
        // A string is one without the word.
        ("int f(const char *s) LG_ERROR(-1);", "int f(const char *s LG_STRING) LG_ERROR(-1);"),
        // An enumerator of which nothing is said.
        (
            "enum { N = 1 };\nint f(char *b LG_INOUT LG_SIZE(n), int n) LG_ERROR(-1);",
            "enum { N = 2 };\nint f(char *b LG_INOUT LG_SIZE(n), int n) LG_ERROR(-1);",
        ),
        ("LG_ENTRY int f(int n) LG_ERROR(-1);", "LG_DOMAIN(\"p\") LG_ENTRY int f(int n) LG_ERROR(-1);"),
    ] {
        assert!(agree_on_f(ours, theirs), "{ours} against {theirs}");
    }
}

/// A function that is refused at its last step has left nothing in the plan: no type of handles, nothing to remember, no function that frees. Red where
/// only callbacks and structures are taken back.
#[test]
fn what_a_refused_function_has_brought_goes_with_it() {
    // (No annotation says what the stubs return when the library fails.)
    for text in [
        "struct h;\nint f(struct h *h);",
        "void drop(void *p LG_INSIDE);\nint f(char **s LG_OUT LG_STRING LG_FREED(drop));",
        "struct h;\nint tell(struct h *h) LG_ERROR(0);\nint f(struct h *h, char *b LG_INOUT LG_SIZE(lg_told(tell, h, lg_result)));",
        "struct h;\nstruct r { int n; struct h *h; };\nint f(struct r *r LG_INOUT, int (*g)(int n));",
    ] {
        let refused = plan(&header_of(text));
        assert_eq!(refused.refusals.iter().map(|refusal| &*refusal.function).collect::<Vec<_>>(), ["f"]);
        let kept = plan(&header_of(&text.replace("int f(", "void f(")));
        assert!(kept.refusals.is_empty(), "{}", kept.refusals[0]);
        let without = plan(&header_of(text.rsplit_once('\n').unwrap_or_default().0));
        let of = |plan: &Plan| {
            let types = (plan.callbacks.len(), plan.records.len());
            (types, plan.handles.clone(), plan.told.clone(), plan.freers.clone())
        };
        assert_eq!(of(&refused), of(&without), "{text}");
        assert_ne!(of(&kept), of(&without), "{text}: it brings something");
    }
}
