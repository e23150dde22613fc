//! `lockgate cc --split`: one program, several domains.

use crate::common::{Shop, text};
use crate::installed::{corpus, prefix};
use lockgate_bench::command::done;
use lockgate_bench::split;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use support::{Part, one_of};

mod refusals;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/split").join(name)
}

/// Where the archive lies without debug information, which the linker would copy into each program.
fn library() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = support::shared_folder();
        let archive = prefix().join("lib/liblockgate.a");
        done(Command::new("objcopy").arg("--strip-debug").arg(archive).arg(folder.join("liblockgate.a")))
            .expect("a copy");
        folder
    })
}

/// `lockgate cc --split` in the shop's folder.
fn split_by_us(shop: &Shop) -> Command {
    let mut command = shop.command(env!("CARGO_BIN_EXE_lockgate"));
    command.args(["cc", "--split"]).env("LOCKGATE_LIBRARY", library());
    command
}

/// gcc with the annotations' header.
fn by_gcc(shop: &Shop) -> Command {
    let mut command = shop.command("gcc");
    command.arg("-I").arg(corpus().root().join("crates/lockgate-headers/include"));
    command
}

fn output(command: &mut Command) -> Output {
    command.output().expect("it starts")
}

/// Exit status, output and errors of a program.
fn outcome(command: &mut Command) -> (Option<i32>, String, String) {
    let output = output(command);
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// A program of several files with two domains, one of which calls the other: the same as a plain program, until its bug bites.
#[test]
fn several_files_and_domains() {
    let shop = Shop::new();
    let sources = ["main", "reader", "sums", "util"].map(|name| file(&format!("several/{name}.c")));
    let warnings = ["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror"];
    for optimisation in ["-O0", "-O2"] {
        done(by_gcc(&shop).args(warnings).args([optimisation, "-o", "plain"]).args(&sources))
            .expect("it compiles");
        done(split_by_us(&shop).args(warnings).args([optimisation, "-g", "-o", "split"]).args(&sources))
            .expect("it splits");
        let good = ["1 2 3", "", "20 * 30*", "abc7"];
        let [by_gcc, by_us] =
            ["plain", "split"].map(|name| outcome(shop.command(shop.path(name)).args(good)));
        assert_eq!(by_gcc, by_us, "{optimisation}");
        assert!(by_gcc.1.contains("0: 2 numbers, sum 184900"), "{by_gcc:?}");
        let digits = "1".repeat(100_000);
        let hostile = ["12", &digits, "13 14"];
        let (status, said, _) = outcome(shop.command(shop.path("split")).args(hostile));
        assert_eq!(status, Some(0), "{said}");
        assert!(said.contains("\n-7: 0 numbers, sum 0, 2+\n"), "the hostile one: {said}");
        assert!(said.ends_with("0: 2 numbers, sum 27, 6+\n0 1 9, 1 calls\n"), "begun again: {said}");
        let (status, ..) = outcome(shop.command(shop.path("plain")).args(hostile));
        assert_eq!(status, None, "the plain program is killed by a signal");
    }
}

/// What the compiler defines is nobody's function: a domain calls nothing there.
#[test]
fn functions_of_the_compiler_are_no_calls_out() {
    let shop = Shop::new();
    let source = "#include <lockgate/annotations.h>\n#include <alloca.h>\n#include <math.h>\n#include <stdarg.h>\n#include <string.h>\n\
                  static int sum(int n, ...) { va_list l; va_start(l, n); int s = 0; while (n--) s += va_arg(l, int); va_end(l); return s; }\n\
                  LG_DOMAIN(\"made\") int made_f(double x) LG_ENTRY LG_ERROR(-1);\n\
                  static int count;\n\
                  int made_f(double x)\n{\n    char *room = alloca(16);\n    memset(room, 1, 16);\n    __sync_fetch_and_add(&count, 1);\n    \
                  return sum(2, 3, 4) + (isnan(x) ? 1 : 0) + (__builtin_expect(x > 2, 1) ? 10 : 0) + room[3] + __builtin_popcount(3) + count;\n}\n\
                  int main(void) { return made_f(3) != 21; }\n";
    std::fs::write(
        shop.path("made.c"),
        source.replace("static int count;", "LG_DOMAIN(\"made\") static int count;"),
    )
    .expect("a file");
    done(split_by_us(&shop).args(["-O1", "-o", "split", "made.c", "-lm"])).expect("it splits");
    assert_eq!(outcome(shop.command(shop.path("split")).args([""; 0])).0, Some(0));
}

/// What nothing names is a domain's nevertheless: static constructors, and what a section has. So with a source that has nothing else.
#[test]
fn what_nothing_names_is_the_domains() {
    let shop = Shop::new();
    let write = |name: &str, text: &str| std::fs::write(shop.path(name), text).expect("a file");
    write(
        "b.h",
        "#include <lockgate/annotations.h>\nLG_DOMAIN(\"b\") LG_ENTRY int b_sum(void) LG_ERROR(-1);\nLG_DOMAIN(\"b\") void b_add(int n);\n",
    );
    write(
        "b.c",
        "#include \"b.h\"\nLG_DOMAIN(\"b\");\nstatic int sum;\n__attribute__((constructor)) static void begin(void) { sum += 1; }\n\
         static void also(void) { sum += 10; }\nstatic void (*table[])(void) __attribute__((section(\".init_array\"), used)) = {also};\n\
         void b_add(int n) { sum += n; }\nint b_sum(void) { return sum; }\n",
    );
    write(
        "c.c",
        "#include \"b.h\"\nLG_DOMAIN(\"b\");\n__attribute__((constructor)) static void begin(void) { b_add(100); }\n",
    );
    let main = "#include \"b.h\"\nstatic int own;\n__attribute__((constructor)) static void begin(void) { own++; }\nint main(void) { return own == 1 ? b_sum() : 0; }\n";
    write("main.c", main);
    done(by_gcc(&shop).args(["-o", "plain", "main.c", "b.c", "c.c"])).expect("it compiles");
    done(split_by_us(&shop).args(["-O1", "-o", "split", "main.c", "b.c", "c.c"])).expect("it splits");
    for program in ["plain", "split"] {
        assert_eq!(outcome(shop.command(shop.path(program)).args([""; 0])).0, Some(111), "{program}");
    }
}

/// Macros that name themselves, and those that a source has done away with, are not expanded where gcc has done all that is to be done.
#[test]
fn macros_are_expanded_once() {
    let shop = Shop::new();
    let write = |name: &str, text: &str| std::fs::write(shop.path(name), text).expect("a file");
    write(
        "b.h",
        "#include <lockgate/annotations.h>\n#include <signal.h>\n#undef SIGUSR2\nstruct own { int SIGUSR2; };\n\
         LG_DOMAIN(\"b\") LG_ENTRY int b_own(const struct own *own LG_IN) LG_ERROR(-1);\n",
    );
    let acts = "#include \"b.h\"\n#include <string.h>\n#include <stdio.h>\n\
                PLACE static volatile int n;\nPLACE static void count(int s) { n += s == SIGUSR1; }\n\
                PLACE static int acts(void) { struct sigaction a; memset(&a, 0, sizeof a); a.sa_handler = count; sigaction(SIGUSR1, &a, 0); raise(SIGUSR1); return n; }\n";
    let source = |place: &str, rest: &str| acts.replace("PLACE", place) + rest;
    write(
        "b.c",
        &source("LG_DOMAIN(\"b\")", "int b_own(const struct own *own) { return own->SIGUSR2 + acts(); }\n"),
    );
    write(
        "main.c",
        &source("", "int main(void) { struct own own = {5}; return 10 * b_own(&own) + acts(); }\n"),
    );
    done(by_gcc(&shop).args(["-o", "plain", "main.c", "b.c"])).expect("it compiles");
    done(split_by_us(&shop).args(["-O1", "-o", "split", "main.c", "b.c"])).expect("it splits");
    for program in ["plain", "split"] {
        assert_eq!(outcome(shop.command(shop.path(program)).args([""; 0])).0, Some(61), "{program}");
    }
}

/// A handle may be a structure that only the domain's sources define.
#[test]
fn a_structure_that_only_the_domain_defines_is_a_handle() {
    let shop = Shop::new();
    let write = |name: &str, text: &str| std::fs::write(shop.path(name), text).expect("a file");
    let header = "#include <lockgate/annotations.h>\ntypedef struct thing thing;\nLG_DOMAIN(\"b\") LG_ENTRY thing *thing_new(int n)OPAQUE;\n\
                  LG_DOMAIN(\"b\") LG_ENTRY int thing_number(const thing *t OPAQUE) LG_ERROR(-1);\n";
    write(
        "b.c",
        "#include \"b.h\"\n#include <stdlib.h>\nLG_DOMAIN(\"b\");\nstruct thing { int n; char *text; };\n\
         thing *thing_new(int n) { thing *t = calloc(1, sizeof *t); t->n = n; return t; }\nint thing_number(const thing *t) { return t->n; }\n",
    );
    write("main.c", "#include \"b.h\"\nint main(void) { return thing_number(thing_new(7)); }\n");
    write("b.h", &header.replace("OPAQUE", " LG_OPAQUE"));
    done(split_by_us(&shop).args(["-O1", "-o", "split", "main.c", "b.c"])).expect("it splits");
    assert_eq!(outcome(shop.command(shop.path("split")).args([""; 0])).0, Some(7));
    write("b.h", &header.replace("OPAQUE", ""));
    let (_, _, said) = outcome(split_by_us(&shop).args(["-O1", "-o", "split", "main.c", "b.c"]));
    assert!(said.contains("needs LG_OPAQUE"), "{said}");
}

/// What a domain gives a function of the program's, arrays of strings and data in structures among it, is judged as what callbacks are given; data is what the program
/// gave in that field.
#[test]
fn functions_of_the_program_are_given_arrays_and_fields() {
    let shop = Shop::new();
    let write = |name: &str, text: &str| std::fs::write(shop.path(name), text).expect("a file");
    write(
        "b.h",
        "#include <lockgate/annotations.h>\nstruct leaf { int n; void *user LG_DATA; };\nint strings(const char **all LG_STRINGS) LG_ERROR(-2);\nint leaf(const struct leaf *l LG_IN) LG_ERROR(-3);\n\
         LG_DOMAIN(\"b\") LG_ENTRY int b_strings(int n) LG_ERROR(-1);\nLG_DOMAIN(\"b\") LG_ENTRY int b_leaf(const struct leaf *l LG_IN, void *other LG_DATA, int which) LG_ERROR(-1);\n",
    );
    write(
        "b.c",
        "#include \"b.h\"\nLG_DOMAIN(\"b\");\nint b_strings(int n) { const char *all[] = {\"a\", \"bc\", 0}; return n ? strings((const char **)8) : strings(all); }\n\
         int b_leaf(const struct leaf *l, void *other, int which) { struct leaf own = {l->n, which ? other : l->user}; return leaf(&own); }\n",
    );
    write(
        "main.c",
        "#include \"b.h\"\n#include <string.h>\nstatic char right, wrong;\nLG_ENTRY int strings(const char **all);\nint strings(const char **all) { int n = 0; for (; *all; all++) n += strlen(*all); return n; }\n\
         LG_ENTRY int leaf(const struct leaf *l);\nint leaf(const struct leaf *l) { return l->user == &right ? l->n : 99; }\n\
         int main(void) {\n    struct leaf l = {4, &right};\n    return b_strings(0) == 3 && b_strings(1) == -1 && b_leaf(&l, &wrong, 0) == 4 && b_leaf(&l, &wrong, 1) == -1 ? 77 : 1;\n}\n",
    );
    done(split_by_us(&shop).args(["-O1", "-o", "split", "main.c", "b.c"])).expect("it splits");
    assert_eq!(outcome(shop.command(shop.path("split")).args([""; 0])).0, Some(77));
}

/// While a domain is made its constructors may call the program, which may not call the domain: the thread would wait for itself. Such a call fails, the others
/// do not.
#[test]
fn a_domain_that_is_being_made_is_not_called() {
    let shop = Shop::new();
    let write = |name: &str, text: &str| std::fs::write(shop.path(name), text).expect("a file");
    let header = "#include <lockgate/annotations.h>\nLG_DOMAIN(\"b\", time=5000OPTION) LG_ENTRY int b_number(int crash) LG_ERROR(-1);\n\
                  LG_DOMAIN(\"b\") LG_ENTRY int b_two(void) LG_ERROR(-1);\nint tell(void) LG_ERROR(-2);\n";
    write(
        "b.c",
        "#include \"b.h\"\nLG_DOMAIN(\"b\") static int told;\nLG_DOMAIN(\"b\") static __attribute__((constructor)) void begin(void) { told = tell(); }\n\
         LG_DOMAIN(\"b\") int b_number(int crash) { if (crash) *(volatile int *)8 = 1; return told; }\nLG_DOMAIN(\"b\") int b_two(void) { return 2; }\n",
    );
    write(
        "main.c",
        "#include \"b.h\"\n#include <unistd.h>\nLG_ENTRY int tell(void);\nextern void *lg_b_alloc(unsigned long);\nstatic int told;\n\
         int tell(void) { told++; return lg_b_alloc(8) ? 5 : 10 + b_two(); }\n\
         int main(void) {\n    alarm(60);\n    int first = b_number(0), second = b_two(), crash = b_number(1), third = b_number(0);\n    \
         return first == 9 && second == 2 && crash == -1 && third == 9 ? 100 + told : 1;\n}\n",
    );
    for (option, times) in [("", 1), (", restart", 2)] {
        write("b.h", &header.replace("OPTION", option));
        done(split_by_us(&shop).args(["-O1", "-o", "split", "main.c", "b.c"])).expect("it splits");
        assert_eq!(outcome(shop.command(shop.path("split")).args([""; 0])).0, Some(100 + times), "{option}");
    }
}

/// Options that change what gcc writes beside code, or who sees it, change no answer, and those that change types are refused.
#[test]
fn options_of_compilers_change_no_answer() {
    let shop = Shop::new();
    shop.write(
        "option.c",
        "#include <lockgate/annotations.h>\n#include <stdio.h>\nenum kind { SMALL = 1, LARGE = 200 };\nstruct pair { enum kind kind; char c; int n; };\n\
         LG_DOMAIN(\"option\") LG_ENTRY int grow(struct pair *pair LG_INOUT LG_SIZE(2), enum kind kind) LG_ERROR(-1);\n\
         int grow(struct pair *pair, enum kind kind) { pair[1].kind = kind; pair[1].n += pair[0].n; return sizeof *pair; }\n\
         int main(void)\n{\n    struct pair pairs[3] = {{SMALL, 2, 3}, {SMALL, 5, 6}, {SMALL, 7, 8}};\n    int size = grow(pairs, LARGE);\n    \
         return !(size == (int)sizeof *pairs && pairs[1].kind == LARGE && pairs[1].c == 5 && pairs[1].n == 9 && pairs[2].kind == SMALL && pairs[2].n == 8);\n}\n",
    );
    let all = [&["-g3"][..], &["-ggdb3", "-fvisibility=hidden"]];
    for options in one_of(all, "options_of_compilers_change_no_answer") {
        done(split_by_us(&shop).args(["-O1", "-o", "split", "option.c"]).args(options)).expect("it splits");
        assert_eq!(outcome(&mut shop.command(shop.path("split"))).0, Some(0), "{options:?}");
    }
}

/// Options that decide types are those of a source's own compilation, wherever the link happens: stubs made for other types would copy
/// more than the program's objects have.
#[test]
fn the_types_of_a_source_are_those_that_it_is_compiled_with() {
    let shop = Shop::new();
    shop.write(
        "api.h",
        "#include <lockgate/annotations.h>\nstruct base { int size; };\n#ifdef EMBEDDED\nstruct whole { struct base; };\n#else\n\
         struct whole { int size; };\n#endif\n\
         LG_DOMAIN(\"sums\") LG_ENTRY int sum(const unsigned char *of LG_IN LG_SIZE(n), char n, struct whole *whole LG_OUT) LG_ERROR(-1);\n",
    );
    shop.write(
        "sums.c",
        "#include \"api.h\"\nint sum(const unsigned char *of, char n, struct whole *whole)\n{\n    int all = 0;\n    for (int i = 0; i < n; i++)\n        \
         all += of[i];\n    whole->size = all;\n    return all;\n}\n",
    );
    shop.write(
        "more.c",
        "#include \"api.h\"\nLG_DOMAIN(\"sums\") LG_ENTRY int more(int x) LG_ERROR(-1);\nint more(int x) { return x; }\n",
    );
    shop.write(
        "main.c",
        "#include \"api.h\"\nint main(void)\n{\n    unsigned char ones[200];\n    for (int i = 0; i < 200; i++)\n        ones[i] = 1;\n    \
         struct whole whole = {0};\n    return !(sum(ones, (char)200, &whole) == 200 && whole.size == 200);\n}\n",
    );
    let compile = |source: &str, options: &[&str]| {
        std::fs::remove_file(shop.path(source).with_extension("o")).ok();
        outcome(split_by_us(&shop).args(["-O1", "-c", source]).args(options))
    };
    let link = |objects: &[&str]| outcome(split_by_us(&shop).args(["-o", "split"]).args(objects));
    let read = ["-funsigned-char", "-fms-extensions", "-DEMBEDDED"];
    for source in ["sums.c", "more.c", "main.c"] {
        assert_eq!(compile(source, &read).0, Some(0), "{source}");
    }
    let all = ["sums.o", "more.o", "main.o"];
    // (The link has none of the options.)
    assert_eq!(link(&all).0, Some(0));
    assert_eq!(outcome(&mut shop.command(shop.path("split"))).0, Some(0));
    for (source, message) in [
        ("main.c", "compile main.c and that domain's sources with the same options"),
        (
            "more.c",
            "more.c:3: of the options that decide types, this source of domain sums is compiled with none, and sums.c with -funsigned-char",
        ),
    ] {
        assert_eq!(compile(source, &[]).0, Some(0), "{source}");
        let (status, _, said) = link(&all);
        assert!(status != Some(0) && said.contains(message), "{source}: {said}");
        compile(source, &read);
    }
    for option in [
        "-fshort-enums",
        "-fshort-wchar",
        "-fpack-struct",
        "-fpack-struct=2",
        "-fsso-struct=big-endian",
        "-fpcc-struct-return",
        "-funsigned-bitfields",
        "-mms-bitfields",
        "-mabi=ms",
        "-mlong-double-64",
    ] {
        let (status, _, said) = compile("main.c", &[option]);
        assert!(
            status != Some(0) && said.contains(&format!("main.c: {option} makes other types than")),
            "{option}: {said}"
        );
        assert!(!shop.path("main.o").exists(), "{option}: an object is there");
    }
}

/// What the two C libraries lay out alike crosses, under whatever names they have for padding.
#[test]
fn types_that_both_libraries_have_cross() {
    let shop = Shop::new();
    shop.write(
        "times.c",
        "#include <lockgate/annotations.h>\n#include <sys/resource.h>\n#include <sys/socket.h>\n#include <sys/stat.h>\n#include <sys/time.h>\n#include <sys/uio.h>\n#include <time.h>\n\
         LG_DOMAIN(\"times\") LG_ENTRY int later(struct timespec *at LG_INOUT, const struct timeval *by LG_IN, struct rlimit limit) LG_ERROR(-1);\n\
         LG_DOMAIN(\"times\") LG_ENTRY long large(const struct stat *of LG_IN, socklen_t n, time_t t, off_t o) LG_ERROR(-1);\n\
         int later(struct timespec *at, const struct timeval *by, struct rlimit limit)\n{\n    at->tv_sec += by->tv_sec;\n    at->tv_nsec += by->tv_usec;\n    return (int)limit.rlim_max;\n}\n\
         long large(const struct stat *of, socklen_t n, time_t t, off_t o) { return of->st_size + n + t + o; }\n\
         int main(void)\n{\n    struct timespec at = {1, 2};\n    int most = later(&at, &(struct timeval){3, 4}, (struct rlimit){5, 6});\n    \
         long size = large(&(struct stat){.st_size = 7}, 1, 2, 3);\n    return !(most == 6 && at.tv_sec == 4 && at.tv_nsec == 6 && size == 13);\n}\n",
    );
    done(split_by_us(&shop).args(["-O1", "-D_GNU_SOURCE", "-o", "split", "times.c"])).expect("it splits");
    assert_eq!(outcome(&mut shop.command(shop.path("split"))).0, Some(0));
}

/// `main`, an entry, and what both use, in one file.
#[test]
fn one_file() {
    let shop = Shop::new();
    for optimisation in one_of(["-O0", "-O3"], "one_file") {
        done(by_gcc(&shop).args([optimisation, "-o", "plain"]).arg(file("one_file.c"))).expect("it compiles");
        done(split_by_us(&shop).args([optimisation, "-o", "split"]).arg(file("one_file.c")))
            .expect("it splits");
        let arguments = ["1 2 3 4", " x7", ""];
        let [plain, split] =
            ["plain", "split"].map(|name| outcome(shop.command(shop.path(name)).args(arguments)));
        assert_eq!(plain, split, "{optimisation}");
        assert!(plain.1.ends_with("2, 100\n"), "{plain:?}");
        let symbols = done(Command::new("nm").arg(shop.path("split"))).expect("it has symbols");
        assert!(
            symbols.contains(" weights\n") && !symbols.contains(" called\n"),
            "each variable is on its side"
        );
    }
}

/// A size asks an entry that the program itself does not call; and -flto is the program's affair.
#[test]
fn sizes_that_ask_entries_and_lto() {
    let shop = Shop::new();
    shop.write(
        "r.h",
        "#include <lockgate/annotations.h>\nint get_len(const char *key LG_IN LG_STRING) LG_ERROR(-1);\n\
         const char *get(const char *key LG_IN LG_STRING) LG_SIZE(get_len(key));\n",
    );
    shop.write(
        "main.c",
        "#include \"r.h\"\nint main(void)\n{\n    const char *p = get(\"key\");\n    return p ? p[7] : 9;\n}\n",
    );
    shop.write(
        "parser.c",
        "#include <string.h>\n#include \"r.h\"\nLG_DOMAIN(\"parser\", time=1000) LG_ENTRY int get_len(const char *key) { return 8; }\n\
         LG_DOMAIN(\"parser\", time=1000) LG_ENTRY const char *get(const char *key)\n{\n    \
         static char bytes[8];\n    bytes[7] = strcmp(key, \"key\") == 0 ? 3 : 4;\n    return bytes;\n}\n",
    );
    let all = [&["-O1"] as &[&str], &["-O2", "-flto"]];
    for options in one_of(all, "sizes_that_ask_entries_and_lto") {
        done(split_by_us(&shop).args(options).args(["main.c", "parser.c", "-o", "split"]))
            .expect("it splits");
        assert_eq!(outcome(&mut shop.command(shop.path("split"))).0, Some(3), "{options:?}");
    }
}

/// Objects travel through `-c`, `ar` and `ld -r`, dependencies are written, and what has no annotations is gcc's own.
#[test]
fn objects_travel() {
    let shop = Shop::new();
    for name in ["main", "reader", "sums", "util"] {
        let source = file(&format!("several/{name}.c"));
        done(split_by_us(&shop).args(["-O1", "-MMD", "-MP", "-c"]).arg(source)).expect("it compiles");
        let depends = std::fs::read_to_string(shop.path(&format!("{name}.d"))).expect("dependencies");
        assert!(
            depends.contains(&format!("{name}.o:")) && depends.contains("reader.h") == (name != "util"),
            "{depends}"
        );
    }
    done(shop.command("ld").args(["-r", "reader.o", "sums.o", "-o", "both.o"])).expect("ld -r");
    done(shop.command("ar").args(["rcs", "libparts.a", "both.o", "util.o"])).expect("ar");
    done(split_by_us(&shop).args(["main.o", "-L.", "-lparts", "-o", "program"])).expect("it links");
    let (status, said, _) = outcome(shop.command(shop.path("program")).arg("4 5"));
    assert!(status == Some(0) && said.contains("0: 2 numbers, sum 9, 4+"), "{said}");

    shop.write("own.c", "int main(void) { return 3; }\n");
    done(split_by_us(&shop).args(["-c", "own.c", "-o", "ours.o"])).expect("it compiles");
    done(by_gcc(&shop).args(["-c", "own.c", "-o", "theirs.o"])).expect("it compiles");
    let [ours, theirs] =
        ["ours.o", "theirs.o"].map(|name| std::fs::read(shop.path(name)).expect("an object"));
    assert!(ours == theirs, "an object without annotations is as gcc makes it");
    done(split_by_us(&shop).args(["ours.o", "-o", "own"])).expect("it links");
    assert_eq!(outcome(&mut shop.command(shop.path("own"))).0, Some(3));
}

/// A domain of the program's own that attacks it: the stubs' checks stand between.
#[test]
fn attacks() {
    let shop = Shop::new();
    done(split_by_us(&shop).args(["-O1", "-g", "-w", "-o", "attacked"]).arg(file("attacks.c")))
        .expect("it splits");
    let (status, said, errors) = outcome(&mut shop.command(shop.path("attacked")));
    assert_eq!(status, Some(0), "{said}{errors}");
    assert_eq!(said, include_str!("split/attacks.txt"));
}

/// What would not be the same program any more is refused: where, what, and what to do.
#[test]
fn refused() {
    let part = Part::one_in(3, "sources that are refused");
    for (files, expected) in part.among(refusals::CASES) {
        let shop = Shop::new();
        let mut sources = Vec::new();
        for (name, source) in *files {
            shop.write(name, source);
            sources.extend(name.ends_with(".c").then_some(*name));
        }
        std::os::unix::fs::symlink("p.h", shop.path("link.h")).expect("a link");
        if shop.path("p.h").exists() {
            std::fs::copy(shop.path("p.h"), shop.path("copy.h")).expect("a copy");
        }
        let output = output(split_by_us(&shop).args(["-w", "-O1", "-o", "program"]).args(&sources));
        let errors = text(&output.stderr);
        assert!(!output.status.success(), "{files:?} is not refused");
        assert!(!shop.path("program").exists(), "{files:?}: something was made");
        for part in *expected {
            assert!(errors.contains(part), "{files:?}: no {part:?} in: {errors}");
        }
    }
}

/// What no program could load is not made. Without domains it is gcc's, as ever.
#[test]
fn shared_libraries_are_refused() {
    let shop = Shop::new();
    let library = ["-w", "-fPIC", "-shared", "-o", "library.so"];
    let output = output(split_by_us(&shop).args(library).arg(file("attacks.c")));
    let errors = text(&output.stderr);
    assert!(!output.status.success() && !shop.path("library.so").exists(), "{errors}");
    assert!(errors.contains("a shared library cannot be split (-shared; it has domain "), "{errors}");
    shop.write("plain.c", "int one(void) { return 1; }\n");
    done(split_by_us(&shop).args(library).arg("plain.c")).expect("it links");
    assert!(shop.path("library.so").exists());
}

/// Only the side that a function belongs to opens a gate to it, and the link says which gates there are.
#[test]
fn gates_are_listed() {
    let shop = Shop::new();
    shop.write("p.h", "#include <lockgate/annotations.h>\nLG_DOMAIN(\"p\", time=1000) LG_ENTRY int enter(const char *text LG_IN LG_STRING) LG_ERROR(-1);\n");
    let inner = "#include \"p.h\"\nint system(const char *);\nint native(void) { return 1; }\nint enter(const char *text) { return system(text); }\n";
    shop.write("p.c", inner);
    shop.write("main.c", "#include \"p.h\"\nint system(const char *command LG_IN LG_STRING) LG_ENTRY;\nint main(void) { return enter(\"exit 3\") == 3 << 8 ? 0 : 1; }\n");
    let listed =
        output(split_by_us(&shop).args(["--list-gates", "-O1", "-w", "-o", "program", "main.c", "p.c"]));
    assert!(listed.status.success(), "{}", text(&listed.stderr));
    assert_eq!(
        text(&listed.stdout),
        "domain p: time=1000\n  entry enter\n  gate system, opened at main.c:2\n  not confined: native, defined at p.c:3\n"
    );
    assert_eq!(outcome(&mut shop.command(shop.path("program"))).0, Some(0));
}

/// A source is what `-x` says, and what is linked is not; standard input is a source like any other.
#[test]
fn languages_of_sources() {
    let shop = Shop::new();
    for (name, source) in [("one.txt", "one_file.c"), ("one.c", "one_file.c")] {
        std::fs::copy(file(source), shop.path(name)).unwrap();
    }
    shop.write("other.c", "int other;\n");
    let all = [
        &["-x", "c", "one.c", "other.c"][..],
        &["-x", "c", "one.txt", "-x", "none", "other.c"],
        &["-xc", "one.txt", "other.c"],
    ];
    for arguments in one_of(all, "languages_of_sources") {
        done(split_by_us(&shop).args(["-O1", "-o", "split"]).args(arguments)).expect("it splits");
        let symbols = done(Command::new("nm").arg(shop.path("split"))).expect("it has symbols");
        assert!(symbols.contains("parser_module"), "{arguments:?}: nothing was split");
    }
    let one = std::fs::File::open(shop.path("one.c")).unwrap();
    let mut command = split_by_us(&shop);
    done(command.args(["-O1", "-x", "c", "-", "-o", "split"]).stdin(one)).expect("it splits");
    let symbols = done(Command::new("nm").arg(shop.path("split"))).expect("it has symbols");
    assert!(symbols.contains("parser_module"), "standard input was not split");
}

/// An object appears when it is whole; what else is at its place stays, whether the source can be split or not.
#[test]
fn outputs_that_are_no_files() {
    let shop = Shop::new();
    shop.write("bad.c", "#include <lockgate/annotations.h>\nstatic int n;\nLG_DOMAIN(\"p\") LG_ENTRY int f(int x) { return n += x; }\nint g(void) { return n; }\n");
    std::os::unix::fs::symlink("/dev/null", shop.path("null")).unwrap();
    let good = file("one_file.c");
    for (source, works) in [(good.as_path(), true), (Path::new("bad.c"), false)] {
        let output = output(split_by_us(&shop).args(["-w", "-c", "-o", "null"]).arg(source));
        assert_eq!(output.status.success(), works, "{}", text(&output.stderr));
        assert!(std::fs::read_link(shop.path("null")).is_ok(), "{}: it is gone", source.display());
    }
    shop.write("kept.o", "an older object");
    assert!(!output(split_by_us(&shop).args(["-w", "-c", "bad.c", "-o", "kept.o"])).status.success());
    assert_eq!(std::fs::read(shop.path("kept.o")).unwrap(), b"an older object", "nothing half-made is left");
}

/// What C allows is gcc's to say: old programs are split, whatever later versions of libclang call an error. Red without `-Wno-everything`: with
/// libclang 14 for `return`, with 16 and later for everything else here, too.
#[test]
fn what_gcc_takes_is_taken() {
    let shop = Shop::new();
    let source = "#include <lockgate/annotations.h>\nLG_DOMAIN(\"p\") LG_ENTRY int enter(int x) LG_ERROR(-1);\n\
                  static *implied;\nstatic void take(int *p) { *p += 1; }\nstatic int none(void) { return 1; }\n\
                  static void call(void (*f)(int)) { f(1); }\n\
                  LG_DOMAIN(\"p\") twice(int x) { if (x) return 2 * x; return; }\n\
                  int enter(int x) { long n = x; char *s = 5; int i = s; take(&n); call(none); return n + i + twice(1); }\n\
                  static void nothing(void) { return 1; }\n\
                  int main(void) { nothing(); puts(implied ? \"\" : \"old\"); return enter(1); }\n";
    shop.write("old.c", source);
    // (gcc 14 wants to be asked; gcc 12 says that it need not be.)
    let options = ["-w", "-fpermissive", "-O1", "-o"];
    done(by_gcc(&shop).args(options).args(["plain", "old.c"])).expect("gcc takes it");
    done(split_by_us(&shop).args(options).args(["split", "old.c"])).expect("it splits");
    let [plain, split] = ["plain", "split"].map(|name| outcome(&mut shop.command(shop.path(name))));
    assert_eq!(plain, (Some(9), "old\n".to_owned(), String::new()));
    assert_eq!(split, plain);
}

/// The example, as its comment says.
#[test]
fn the_example() {
    let shop = Shop::new();
    let folder = corpus().root().join("examples/split/settings");
    let sources = ["main.c", "settings.c"].map(|name| folder.join(name));
    done(by_gcc(&shop).args(["-Wall", "-Wextra", "-o", "plain"]).args(&sources)).expect("it compiles");
    done(split_by_us(&shop).args(["-Wall", "-Wextra", "-g", "-o", "split"]).args(&sources))
        .expect("it splits");
    let good = ["port = 8080\nworkers=4\n", "", "colour = 3"];
    let [plain, split] = ["plain", "split"].map(|name| outcome(shop.command(shop.path(name)).args(good)));
    assert_eq!(plain, split);
    let long = format!("{} = 1\n", "x".repeat(1 << 16));
    let (status, said, _) = outcome(shop.command(shop.path("split")).args([&long, good[0]]));
    assert_eq!(status, Some(0));
    assert_eq!(said, "these settings are not to be trusted\n2 settings: port 8080, 4 workers\n");
}

/// bzip2 as its authors publish it, with a few annotations: its own build and tests, then a file that attacks a known hole. (Compiling it with
/// optimisation is what would take the time.)
#[test]
fn bzip2_survives_its_history() {
    let shop = Shop::new();
    let published = corpus().package("bzip2-sys").expect("in the corpus").join("bzip2-1.0.8");
    let unoptimised = ["CFLAGS=-Wall -Winline -O0 -g -D_FILE_OFFSET_BITS=64"];
    let variables = if support::thorough() { &[][..] } else { &unoptimised };
    let build = |name: &str, compiler: &str| {
        let patches = [split::ANNOTATIONS, split::HOLE];
        split::bzip2(corpus(), &shop.path(name), compiler, variables, &patches, library())
            .expect("its own tests pass")
    };
    let compiler = format!("{} cc --split", env!("CARGO_BIN_EXE_lockgate"));
    let plain = build(
        "plain",
        &format!("gcc -I{}", corpus().root().join("crates/lockgate-headers/include").display()),
    );
    let split = build("split", &compiler);

    for name in ["sample1", "sample2"] {
        std::fs::copy(published.join(name).with_extension("bz2"), shop.path(name).with_extension("bz2"))
            .expect("a copy");
    }
    std::fs::write(shop.path("hostile.bz2"), refusals::hostile_bzip2()).expect("a file");
    let files = ["-tv", "sample1.bz2", "hostile.bz2", "sample2.bz2"];
    let (_, _, errors) = outcome(shop.command(&plain).args(files));
    assert!(
        errors.contains("Caught a SIGSEGV")
            && errors.contains("not processed")
            && !errors.contains("sample2.bz2: ok"),
        "{errors}"
    );
    let (status, _, errors) = outcome(shop.command(&split).args(files));
    assert_eq!(status, Some(2), "{errors}");
    for line in ["sample1.bz2: ok", "hostile.bz2: data integrity", "sample2.bz2: ok"] {
        assert!(errors.contains(line), "{line}: {errors}");
    }
}
