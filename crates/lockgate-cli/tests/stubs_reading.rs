//! `lockgate stubs`, the side that reads: what a header and its annotations say, and what they do not.

use crate::reading::{Said, explained, lockgate};
use std::path::{Path, PathBuf};
use std::process::Command;
use support::Part;

const LOCKGATE: &str = env!("CARGO_BIN_EXE_lockgate");

/// A folder with files, in which headers are read.
struct Headers {
    folder: tempfile::TempDir,
}

impl Headers {
    fn new(files: &[(&str, &str)]) -> Headers {
        let headers = Headers { folder: tempfile::tempdir().expect("a scratch folder") };
        for (name, text) in files {
            let path = headers.path(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        headers
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `lockgate stubs --explain`.
    fn explain(&self, header: &str, annotations: &[&Path]) -> Said {
        explained(&self.path(header), annotations)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// An annotation that says something of nothing is an error that names it and its line, whatever it is about.
#[test]
fn annotations_of_nothing_are_errors() {
    let header = "#pragma once\n#include <stddef.h>\nstruct thing;\ntypedef struct { int n; char *at; } pair_t;\ntypedef int code_t;\n\
                  typedef struct thing *thing_t;\ntypedef void (*told_t)(void *data, const char *text);\n\
                  code_t fill(thing_t thing, char *to LG_INOUT LG_SIZE(size), size_t size, size_t other);\n\
                  int hear(told_t told, void *data);\nvoid pairs(pair_t *pair LG_IN);\nLG_FIELD(pair_t, at, LG_IN LG_SIZE(n));\n\
                  #define ROOM 16\nenum { PLACES = 4 };\nLG_ERRORS(int, -1);\nLG_ERRORS(code_t, -1);\n";
    // The annotation's line, what the message names (nothing: it is good).
    let cases: &[(&str, &str)] = &[
        (
            "code_t fill(thing_t thing, char *to LG_INOUT LG_SIZE(size), size_t size, size_t other) LG_ERROR(-1);",
            "",
        ),
        (
            "code_t fill(thing_t thing, char *to LG_INOUT LG_SIZE(ROOM * PLACES), size_t size, size_t other);",
            "to: LG_SIZE is given twice, with different arguments",
        ),
        ("code_t fill(thing_t a, char *b LG_INOUT LG_SIZE(c), size_t c, size_t d);", ""),
        ("LG_TYPE(code_t, LG_IGNORE);", ""),
        ("LG_ERRORS(code_t, -7);", "LG_ERRORS(code_t) is given twice"),
        ("typedef void (*told_t)(void *data, const char *text LG_NULLABLE);", ""),
        (
            "code_t fil(thing_t thing, char *to LG_INOUT LG_SIZE(size), size_t size, size_t other);",
            "fil: the header declares no such function; fill may be meant",
        ),
        ("int unheard_of(int n) LG_ERROR(-1);", "unheard_of: the header declares no such function"),
        (
            "typedef void (*tolt_t)(void *data, const char *text LG_NULLABLE);",
            "tolt_t: the header declares no such type; told_t may be meant",
        ),
        (
            "LG_TYPE(code, LG_IGNORE);",
            "LG_TYPE(code): there is no type of this name (structures go by that of a typedef)",
        ),
        ("LG_TYPE(struct thing, LG_OPAQUE);", "LG_TYPE(struct thing): there is no type of this name"),
        ("LG_TYPE(wchar_t, LG_IGNORE);", "LG_TYPE(wchar_t): no function of this header uses this type"),
        ("LG_TYPE(pair_t, LG_INOUT);", "LG_TYPE(pair_t): only pointers to it are used"),
        ("LG_ERRORS(long, -1);", "LG_ERRORS(long): no function has a result of this type"),
        ("LG_FIELD(pair_t, m, LG_IGNORE);", "LG_FIELD(pair_t, m): there is no such field"),
        (
            "code_t fill(thing_t thing, char *to LG_INOUT LG_SIZE(size) LG_WRITTEN(sise), size_t size, size_t other);",
            "`sise` in an expression is neither beside it nor an integer constant",
        ),
        (
            "code_t fill(thing_t thing, char *to LG_INOUT LG_SIZE(size) LG_WRITTEN(nothing), size_t size, size_t other);",
            "`nothing` in an expression",
        ),
        (
            "code_t fill(thing_t thing, char *to LG_INOUT LG_SIZE(size), size_t other, size_t size);",
            "fill: parameter 3 is called other here, and that is another one in the header",
        ),
        (
            "code_t fill(thing_t thing, char *to LG_INOUT LG_SIZE(size), size_t size LG_RELEASE, size_t other);",
            "parameter size: refused: LG_RELEASE says nothing of a parameter of type `size_t`",
        ),
        (
            "code_t fill(thing_t thing LG_ERROR(1), char *to LG_INOUT LG_SIZE(size), size_t size, size_t other);",
            "LG_ERROR says nothing of a parameter",
        ),
        (
            "code_t fill(thing_t thing, char *to LG_INOUT LG_SIZE(size), size_t size, size_t other) LG_STRING;",
            "LG_STRING says nothing of a result of type `code_t`",
        ),
        (
            "void pairs(pair_t *pair LG_IN) LG_ERROR(-1);",
            "LG_ERROR says nothing of a function without a result",
        ),
        ("int hear(told_t told LG_SIZE(4), void *data);", "LG_SIZE says nothing of a parameter"),
        (
            "typedef void (*told_t)(void *data LG_RELEASE, const char *text);",
            "LG_RELEASE says nothing of a callback's parameter",
        ),
        ("LG_FIELD(pair_t, at, LG_RELEASE);", "LG_RELEASE says nothing of a field"),
        ("LG_FIELD(pair_t, n, LG_STRING);", "LG_STRING says nothing of a field of type `int`"),
        ("extern int variable LG_OUT;", "LG_OUT on `variable`: nothing is read here"),
        ("static inline int own(int *p LG_OUT) { return *p; }", "LG_OUT on `p`: nothing is read here"),
    ];
    for (annotation, message) in cases {
        let notes = format!("#include \"api.h\"\nLG_DOMAIN(\"api\");\n{annotation}\n");
        let headers = Headers::new(&[
            ("api.h", &format!("#include <lockgate/annotations.h>\n{header}")),
            ("api.lg.h", &notes),
        ]);
        let output = headers.explain("api.h", &[&headers.path("api.lg.h")]);
        let said = output.out + &output.err;
        if message.is_empty() {
            assert_eq!(output.status, 0, "{annotation}\n{said}");
            continue;
        }
        assert_ne!(output.status, 0, "{annotation}\n{said}");
        assert!(said.contains(message), "{annotation}\n{said}");
        // What is wrong with the annotation itself has its line; what it says of a declaration, that one's.
        assert!(output.status == 1 || said.contains("api.lg.h:3: "), "{annotation}\n{said}");
    }
}

/// What is wrong with an annotation of a structure's field is no less an error.
#[test]
fn annotations_of_fields_are_read() {
    let header = |field: &str| {
        format!(
            "#include <lockgate/annotations.h>\nstruct s {{\n    int n;\n    {field};\n}};\nvoid f(struct s *s LG_IN);\n"
        )
    };
    let wrong = Headers::new(&[("api.h", &header("char *text LG_IN LG_SIZE(n +)"))]);
    let said = wrong.explain("api.h", &[]).err;
    assert!(said.contains("api.h:4: text: LG_SIZE(n +)"), "{said}");
    let callback = Headers::new(&[(
        "api.h",
        &header("int (*take)(void *data, const char *text LG_SIZE(size), int size)"),
    )]);
    let said = callback.explain("api.h", &[]).out;
    assert!(
        said.contains("text: memory, copied out: size elements of 1 bytes, never null [LG_SIZE(size)]"),
        "{said}"
    );
}

/// An untyped pointer beside a callback is data where nothing else can be meant; else the message names what decides it.
#[test]
fn an_untyped_pointer_beside_a_callback_may_be_memory() {
    let cases: &[(&str, &str)] = &[
        ("int each(call_t call, void *data)", ""),
        ("int each(void *data, call_t call)", ""),
        ("int each(call_t call, void *, int (*other)(int))", ""),
        ("int each(call_t call, void *data, enum how how)", ""),
        ("int each(const void *in LG_IN LG_SIZE(n), size_t n, call_t call, void *data)", ""),
        (
            "int each(const void *in, size_t n, call_t call, void *data LG_DATA)",
            "in: refused: it may be the program's own data, which the callback gets back, or memory: it is const",
        ),
        (
            "int each(const void *in LG_IN LG_SIZE(n), size_t n, void *out, size_t m, call_t call, void *data)",
            "parameter out: refused: it may be the program's own data, which the callback gets back, or memory: there is data, too",
        ),
        (
            "int each(call_t call, void *to, size_t size)",
            "parameter to: refused: it may be the program's own data, which the callback gets back, or memory: size may be its length",
        ),
        ("int each(int length, call_t call, void *to)", "memory: length may be its length"),
        ("int each(call_t call, void *out)", "memory: its name says so"),
        ("int each(void *to, int how, call_t call)", "memory: how may be its length"),
        ("int each(void *to, enum how how, call_t call)", "memory: it does not stand beside the callback"),
        ("int each(void *to, int (*progress)(int percent))", "memory: no callback takes any"),
        (
            "int each(void *to, int (*more)(const void *part LG_SIZE(n), int n))",
            "memory: no callback takes any",
        ),
    ];
    for (declaration, message) in cases {
        let header = format!(
            "#include <lockgate/annotations.h>\nLG_ERRORS(int, -1);\n#include <stddef.h>\nenum how {{ A, B }};\ntypedef int (*call_t)(void *data, int n);\n{declaration};\n"
        );
        let headers = Headers::new(&[("api.h", &header)]);
        let said = headers.explain("api.h", &[]).out;
        if message.is_empty() {
            assert!(
                said.contains("the program's own data: a number to the library"),
                "{declaration}\n{said}"
            );
        } else {
            assert!(
                said.contains(message) && said.contains("annotate it with LG_DATA if it is data"),
                "{declaration}\n{said}"
            );
        }
    }
}

/// A handle shows zeros: what the header itself reads in programs is no handle.
#[test]
fn structures_that_the_header_looks_into_are_no_handles() {
    let header = |reader: &str| {
        format!(
            "#pragma once\ntypedef struct node {{ struct node *next; int type; unsigned long count; }} node_t;\nstruct other {{ int size; }};\n{reader}\n\
             node_t *first(void);\nint free_node(node_t *node);\nint other(struct other *other);\n"
        )
    };
    let notes = |more: &str| {
        format!(
            "#include \"api.h\"\nLG_ERRORS(int, -1);\nLG_TYPE(node_t, LG_OPAQUE{more});\nint other(struct other *other LG_IN);\n"
        )
    };
    let look = |reader: &str, more: &str| {
        let headers = Headers::new(&[("api.h", &header(reader)), ("api.lg.h", &notes(more))]);
        let output = headers.explain("api.h", &[&headers.path("api.lg.h")]);
        output.out + &output.err
    };
    let readers = [
        (
            "static inline node_t *keep(node_t *n) { if (n) n->count++; return n; }",
            "inline function `keep`",
            "reads `count` of a `node_t`, and",
        ),
        ("#define TYPE(node) ((node)->type)", "macro `TYPE`", "reads `type` of a `node_t`, it seems, and"),
        (
            "#define EACH(n, all) \\\n    for (n = (all); n; n = n -> next)",
            "macro `EACH`",
            "reads `next` of a `node_t`, it seems, and",
        ),
    ];
    for (reader, who, what) in readers {
        let said = look(reader, "");
        for function in ["first: result", "free_node: parameter node"] {
            let line = said.lines().find(|line| line.starts_with(&format!("{function}: refused: ")));
            assert!(
                line.is_some_and(|line| line.contains(who)
                    && line.contains(what)
                    && line.contains("LG_ZEROS")),
                "{reader}: {function}\n{said}"
            );
        }
        let said = look(reader, " LG_ZEROS");
        assert!(
            said.contains("a handle of type `struct node`") && !said.contains("refused"),
            "{reader}\n{said}"
        );
    }
    for reader in [
        "static inline int size(struct other *o) { return o->size; }",
        "#define SIZE(o) ((o)->size)",
        "#define NAME \"a->type\" /* a->next */",
    ] {
        let said = look(reader, "");
        assert!(
            said.contains("a handle of type `struct node`") && !said.contains("refused"),
            "{reader}\n{said}"
        );
    }
}

/// What lies beside a header is found, but not in place of what the compiler has: libgit2 has a `stdint.h` for another one.
#[test]
fn the_systems_headers_come_before_what_lies_beside() {
    let headers = Headers::new(&[
        ("git/stdint.h", "#error for another compiler\n"),
        ("git/common.h", "#include <stdint.h>\n#include <inttypes.h>\n"),
        ("git/own.h", "typedef uint32_t mode_bits;\n"),
        (
            "git/blob.h",
            "#include \"common.h\"\n#include <own.h>\nint size_of(uint64_t number, mode_bits bits);\n",
        ),
        ("git.h", "#include \"git/common.h\"\nstruct blob;\n"),
    ]);
    let output = headers.explain("git/blob.h", &[]);
    assert!(output.out.contains("size_of"), "{}", output.err);
    // A header that only includes others has nothing to protect: that is said, not passed over.
    let output = headers.explain("git.h", &[]);
    assert!(output.err.contains("git.h declares no function itself"), "{}", output.err);
    assert_eq!(output.status, 2);
}

/// What a function gives to the program to keep says how it is freed: nothing of the library's is taken for a piece of the program's heap.
#[test]
fn what_is_to_be_freed_is_said() {
    let cases: &[(&str, &str)] = &[
        ("const char *give(void) LG_STRING;", ""),
        ("char *give(void) LG_STRING LG_BORROWED;", ""),
        ("char *give(void) LG_STRING LG_FREED(free);", ""),
        ("char *give(void) LG_STRING LG_FREED(give_back);\nvoid give_back(char *text LG_INSIDE);", ""),
        ("struct point { int x; };\nstruct point *give(int n) LG_IN LG_SIZE(n) LG_FREED(free);", ""),
        (
            "char *give(void) LG_STRING;",
            "give: result: no annotation says whether the program frees it, and how",
        ),
        ("void *give(int n) LG_SIZE(n);", "give: result: no annotation says whether the program frees it"),
        (
            "int give(char **text LG_OUT LG_STRING);",
            "give: parameter text: no annotation says whether the program frees it",
        ),
        (
            "struct point { int x; };\nstruct point *give(void) LG_IN;",
            "give: result: no annotation says whether the program frees it",
        ),
        (
            "const char **give(void) LG_STRINGS;",
            "give: result: no annotation says whether the program frees it",
        ),
        (
            "struct box { char *text; };\nLG_FIELD(struct box, text, LG_OUT LG_STRING);\nvoid give(struct box *box LG_OUT);",
            "struct box, field text: no annotation says whether the program frees it",
        ),
        (
            "struct box { char *text; };\nLG_FIELD(struct box, text, LG_OUT LG_STRING LG_FREED(free));\nvoid give(struct box *box LG_OUT);",
            "LG_FREED(free): a field cannot be moved",
        ),
        (
            "struct box { char *text; };\nLG_FIELD(struct box, text, LG_OUT LG_STRING LG_FREED(give_back));\nvoid give(struct box *box LG_OUT);\nvoid give_back(char *text LG_INSIDE);",
            "LG_FREED(give_back): a field cannot be moved",
        ),
        ("void *give(int n) LG_OUT LG_SIZE(n) LG_LENT;", ""),
        (
            "void *give(int n) LG_OUT LG_SIZE(n) LG_FREED(give_back);\nvoid give_back(void *memory LG_INSIDE);",
            "",
        ),
        (
            "void *give(int n) LG_OUT LG_SIZE(n) LG_BORROWED;",
            "give: result: the program writes memory that stays the library's",
        ),
        (
            "char *give(void) LG_STRING LG_FREED(fre);",
            "LG_FREED: fre() is no function of this header, nor free",
        ),
        (
            "char *give(void) LG_STRING LG_FREED(other);\nint other(int n);",
            "LG_FREED: other() takes nothing of the library's back",
        ),
        (
            "const char **give(void) LG_STRINGS LG_FREED(free);",
            "LG_FREED(free): the copy is not one piece of memory",
        ),
        (
            "void *give(int n) LG_OUT LG_SIZE(n) LG_FREED(free);",
            "LG_FREED(free): the copy is not one piece of memory, or the program writes it",
        ),
        (
            "const char **give(void) LG_STRINGS LG_FREED(give_back);\nvoid give_back(const char **all LG_INSIDE);",
            "LG_FREED(give_back): the stub copies data with pointers to memory of its own",
        ),
        (
            "struct thing;\nstruct thing *give(void) LG_FREED(free);",
            "LG_FREED: it is no copy of the library's memory",
        ),
        ("int give(void) LG_FREED(free);", "LG_FREED says nothing of a result of type `int`"),
        ("char *give(void) LG_STRING LG_FREED(free) LG_BORROWED;", "LG_FREED contradicts LG_BORROWED"),
    ];
    for (declaration, message) in cases {
        let headers =
            Headers::new(&[("api.h", &format!("#include <lockgate/annotations.h>\n{declaration}\n"))]);
        let output = headers.explain("api.h", &[]);
        let said = (output.out + &output.err).replace("refused: ", "");
        if message.is_empty() {
            assert_eq!(output.status, 0, "{declaration}\n{said}");
        } else {
            assert!(output.status != 0 && said.contains(message), "{declaration}\n{said}");
        }
    }
}

/// A header that programs include by a folder's name has its client there; arrays whose size is another parameter are pointers.
#[test]
fn headers_lie_where_programs_include_them() {
    let headers = Headers::new(&[(
        "include/lib/api.h",
        "#include <lockgate/annotations.h>\n#include <stddef.h>\nsize_t sum(size_t n, const int numbers[n] LG_IN LG_SIZE(n)) LG_ERROR(0);\n",
    )]);
    let write = |includes: &[&str], out: &str| {
        let mut command = lockgate();
        command
            .arg("stubs")
            .arg(headers.path("include/lib/api.h"))
            .args(["-m", "api.lg", "-o"])
            .arg(headers.path(out));
        for folder in includes {
            command.arg("-I").arg(headers.path(folder));
        }
        let output = command.output().expect("it runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
        std::fs::read_to_string(headers.path(out).join("api_client.c")).expect("the client")
    };
    let client = write(&["include"], "one");
    assert!(headers.path("one/lib/api.h").is_file() && client.contains("#include \"lib/api.h\""), "{client}");
    assert!(client.contains("(sum)(size_t n, const int *numbers)"), "{client}");
    for includes in [&["include", "include/lib"] as &[&str], &[]] {
        let client = write(includes, "two");
        assert!(headers.path("two/api.h").is_file() && client.contains("#include \"api.h\""), "{client}");
    }
}

/// What a header says in words is text on a line, in generated sources and on a terminal. Red if it is written as it came.
/// (A terminal's escape as it is, and not by its number, which libclang has refused in annotations since version 17.)
#[test]
fn reasons_stay_on_their_line() {
    let header = "#pragma once\n_Bool good(int);\nint bad(void *) LG_OMIT(\"two\\nlines \x1b[31m\");\n";
    let headers = Headers::new(&[("api.h", header)]);
    for language in ["c", "rust", "python"] {
        let out = headers.path(language);
        let mut command = lockgate();
        command
            .arg("stubs")
            .arg(headers.path("api.h"))
            .args(["-l", language, "-m", "api.lg", "-o"])
            .arg(&out);
        let ran = command.output().expect("it runs");
        assert!(ran.status.success(), "{}", text(&ran.stderr));
        let mut folders = vec![out];
        let mut said = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let written = text(&std::fs::read(&path).expect("a file"));
                said += written.matches("two?lines ?[31m").count();
                assert!(!written.contains("two\n") && !written.contains('\x1b'), "{path:?}");
            }
        }
        assert!(said > 0, "{language}: the reason is nowhere");
    }
}

/// Names that clients, languages or the environment take for something else are refused, with what to do.
#[test]
fn names_that_are_taken() {
    let cases: &[(&str, &str, &str)] = &[
        ("a.h", "_Bool f(void);\n", ""),
        ("a.h", "int lgs_call(int x);\n", "lgs_call is Lockgate's own name in clients"),
        ("a.h", "int lg_last_error(void);\n", "lg_last_error is Lockgate's own name"),
        ("a.h", "int f(int lg_result);\n", "lg_result is Lockgate's own name"),
        (
            "a.h",
            "_Bool f(void);\nLG_DOMAIN(\"measure\", time=5);\n",
            "the variable LOCKGATE_MEASURE of the environment",
        ),
        (
            "a.h",
            "_Bool f(void);\nLG_DOMAIN(\"x_client\");\n",
            "the variable LOCKGATE_X_CLIENT of the environment",
        ),
        ("perf-map.h", "_Bool f(void);\n", "\"perf-map\" cannot be the name of a domain"),
        ("2d.h", "_Bool f(void);\n", "\"2d\" cannot be the name of a domain"),
        ("a b.h", "_Bool f(void);\n", "\"a b\" cannot be the name of a domain"),
        ("cache.h", "_Bool f(void);\nLG_DOMAIN(\"stash\");\n", ""),
        (
            "a.h",
            "struct place { int x; };\n_Bool place(struct place *of LG_OUT);\n",
            "would be called place in Python",
        ),
        ("a.h", "_Bool def(void);\n_Bool def_(void);\n", "would be called def_ in Python"),
    ];
    for (name, header, message) in cases {
        let headers = Headers::new(&[(name, &format!("#include <lockgate/annotations.h>\n{header}"))]);
        let mut command = lockgate();
        command.arg("stubs").arg(headers.path(name)).args(["-l", "python", "-m", "m.lg", "-o"]);
        let output = command.arg(headers.path("out")).output().expect("it runs");
        let errors = text(&output.stderr);
        assert_eq!(output.status.success(), message.is_empty(), "{header}: {errors}");
        assert!(errors.contains(message), "{header}: {errors}");
        assert_eq!(headers.path("out").exists(), message.is_empty(), "{header}: written");
    }
}

/// A header that would take the compiler's library for ever, or all memory, or its life, is an error that says so.
#[test]
fn headers_without_end() {
    // (Each of these took more than a minute, or 4 GiB.)
    let levels = |count: u32, first: &str, level: &dyn Fn(u32) -> String| {
        first.to_owned() + &(1..=count).map(level).collect::<String>()
    };
    let begin = "#include <stdbool.h>\n#include <lockgate/annotations.h>\n";
    let nested = |i: u32| format!("struct s{i} {{ struct s{0} a, b; }};\n", i - 1);
    let bools = levels(14, &format!("{begin}struct s0 {{ bool b; }};\n"), &nested)
        + "void run(struct s14 *s LG_INOUT);\n";
    let plain = levels(30, &format!("{begin}struct s0 {{ int b; }};\n"), &nested)
        + "void run(struct s30 *s LG_INOUT);\n";
    let macros =
        levels(30, "#define A0 1+1\n", &|i| format!("#define A{i} A{0}+A{0}\n", i - 1)) + "int f(int);\n";
    let cases: &[(&str, &str)] = &[
        (&bools, "there are more than 4096 fields of type bool"),
        (&plain, "more than 100000 structures in it"),
        (&macros, "a.h to its end: "),
        (
            "#include \"pipe\"\nint f(int);\n",
            "a.h to its end: it includes a file that cannot be read to its end",
        ),
        ("#include \"/dev/zero\"\nint f(int);\n", "a.h"),
    ];
    // (To fill 4 GiB takes as long as everything else here.)
    let filled = Part::one_in(4, "headers that fill all memory").has(0);
    for (header, message) in cases.iter().filter(|(header, _)| filled || !header.contains("/dev/zero")) {
        let headers = Headers::new(&[("a.h", header)]);
        assert!(Command::new("mkfifo").arg(headers.path("pipe")).status().expect("it runs").success());
        let output = lockgate().arg("stubs").arg(headers.path("a.h")).arg("--explain").output();
        let output = output.expect("it runs");
        let errors = text(&output.stderr) + &text(&output.stdout);
        let name = &header[..header.len().min(40)];
        assert_eq!(output.status.success(), message.is_empty(), "{name:?}: {errors}");
        assert!(errors.contains(message), "{name:?}: {errors}");
    }
}

/// Work grows with a header's length, not with its square: a second for a thousand functions would be that, on any machine.
#[test]
fn many_functions() {
    let used = |count: u32, options: &str| {
        let function = |i| format!("/* does {i} */\n_Bool f{i}(int a, int n{i});\n#define C{i} {i}\n");
        let headers = Headers::new(&[("a.h", &(0..count).map(function).collect::<String>())]);
        let mut command = Command::new("sh");
        command.args(["-c", "\"$@\" > /dev/null && times", "sh", LOCKGATE, "stubs"]).arg(headers.path("a.h"));
        let output = command.arg("-o").arg(headers.path("out")).args(options.split(' ')).output();
        let output = output.expect("it runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
        // The second line is of the children: `0m1.250000s 0m0.500000s`, user's and system's.
        let times = text(&output.stdout);
        let seconds = |word: &str| -> f64 {
            let (minutes, seconds) = word.trim_end_matches('s').split_once('m').expect("minutes");
            60.0 * minutes.parse::<f64>().expect("a number") + seconds.parse::<f64>().expect("a number")
        };
        times.lines().nth(1).expect("two lines").split(' ').map(seconds).sum::<f64>()
    };
    let all = ["--explain", "-m m.lg", "-m m.lg -l cpp", "-m m.lg -l python", "-m m.lg -l rust"];
    let part = Part::one_in(all.len(), "what is written of many functions");
    for options in part.among(&all) {
        let (few, many) = (used(2_000, options), used(16_000, options));
        let what = "eight times as many functions took";
        assert!(many < 16.0 * few.max(0.5), "{options}: {what} {few} and {many} seconds");
    }
}

/// A client's files take no other's place, and none of each other's.
#[test]
fn files_of_others_stay() {
    let headers = Headers::new(&[("a.h", "_Bool f(int);\n"), ("lockgate_stubs.h", "_Bool g(int);\n")]);
    let stubs = |header: &str, folder: &str, languages: &[&str]| {
        let mut command = lockgate();
        command.arg("stubs").arg(headers.path(header)).args(["-m", "m.lg", "-o"]).arg(headers.path(folder));
        let output = command.args(languages).output().expect("it runs");
        (output.status.success(), text(&output.stderr))
    };
    let all = ["-l", "c", "-l", "python", "-l", "rust"];
    for _ in 0..2 {
        assert_eq!(stubs("a.h", "out", &all), (true, String::new()), "its own files are written again");
    }
    let (works, errors) = stubs("a.h", ".", &[]);
    assert!(!works && errors.contains("it is there, and lockgate stubs did not write it"), "{errors}");
    assert!(!headers.path("a_client.c").exists(), "nothing is written");
    let (works, errors) = stubs("lockgate_stubs.h", "other", &[]);
    assert!(!works && errors.contains("two files of the client would have this name"), "{errors}");
    for name in ["a_client.c", "a.exports", "Cargo.toml", "src/lib.rs", "a_protected.py"] {
        let folder = headers.path("third");
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, "mine\n").expect("a file");
        let (works, errors) = stubs("a.h", "third", &all);
        assert!(!works && errors.contains(name), "{name}: {errors}");
        assert_eq!(std::fs::read(&path).expect("it is there"), b"mine\n");
        std::fs::remove_dir_all(folder).expect("it goes");
    }
}

/// What is copied into a client is a value, and options have one reading.
#[test]
fn values_and_options() {
    let cases: &[(&str, &str)] = &[
        ("int f(int) LG_ERROR(-1);\nLG_DOMAIN(\"a\", time=5, directory=., directory=/etc:ro);\n", ""),
        ("int f(int) LG_ERROR(system(\"id\"));\n", "system(\"id\") is no constant"),
        ("int f(int) LG_ERROR(0; } int g(void) { return 1);\n", "is no constant"),
        ("int f(int);\nLG_ERRORS(int, ({ 1; }));\n", "is no constant"),
        (
            "#include <stdarg.h>\nvoid v(const char *f, va_list l);\nvoid f(const char *f, ...) LG_FORMAT(v, \"s\\\"); system(\\\"id\", \"\");\n",
            "LG_FORMAT(v,s\"); system(\"id,)",
        ),
        (
            "void f(void *p LG_IN LG_SIZE(1), void (*d)(void *) LG_DISPOSE(p, system(\"id\")));\n",
            "system(\"id\") is no constant",
        ),
        ("char *f(int) LG_FREED(g(1));\n", "LG_FREED(g(1)): expected names of C"),
        ("int f(int);\nLG_DOMAIN(\"a\", time=5, time=6);\n", "the option time is given twice"),
        (
            "int f(int);\nLG_DOMAIN(\"a\", directory=x, directory=x:ro);\n",
            "the option directory is given twice",
        ),
        ("int f(int);\nLG_DOMAIN(\"a\", stack=1);\n", "\"stack=1\" is no option of a domain"),
        ("int f(int);\nLG_DOMAIN(\"a\", memory=64K);\n", "\"memory=64K\" is no option of a domain"),
    ];
    for (header, message) in cases {
        let headers = Headers::new(&[("a.h", &format!("#include <lockgate/annotations.h>\n{header}"))]);
        let output = headers.explain("a.h", &[]);
        let errors = output.err;
        assert_eq!(output.status == 0, message.is_empty(), "{header}: {errors}");
        assert!(errors.contains(message), "{header}: {errors}");
    }
}
