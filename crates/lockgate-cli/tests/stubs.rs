//! `lockgate stubs`: programs of others with protected libraries, and what happens to them when the libraries attack.

use crate::installed::{BY_CALLS, corpus, prefix};
use crate::reading::lockgate;
use lockgate_bench::command::done;
use lockgate_bench::stubs::library::{Built, Kit, LIBRARIES, Library};
use std::collections::BTreeMap;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use support::Part;

const LOCKGATE: &str = env!("CARGO_BIN_EXE_lockgate");

/// `lockgate_stubs.h`'s numbers.
const FAULT: i32 = 2;
const POINTER: i32 = 3;
const LENGTH: i32 = 5;

fn kit() -> Kit<'static> {
    Kit { corpus: corpus(), lockgate: Path::new(LOCKGATE), prefix: prefix(), optimisation: "-O0", layouts: 1 }
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stubs").join(name)
}

fn library(name: &str) -> &'static Library {
    LIBRARIES.iter().find(|library| library.name == name).expect("in the table")
}

/// One run of a program in `folder`, with `input` as its standard input.
fn run(program: &Path, arguments: &[&str], folder: &Path, input: &[u8], module: Option<&Path>) -> Output {
    let input_file = folder.join("input");
    std::fs::write(&input_file, input).expect("a file");
    let mut command = Command::new(program);
    // Programs print their names.
    command
        .arg0("program")
        .args(arguments)
        .current_dir(folder)
        .stdin(std::fs::File::open(input_file).expect("just written"));
    if let Some(module) = module {
        command.env("LOCKGATE_ZLIB", module);
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().expect("it starts")
}

/// Runs both versions of a program: they exit, print and write the same.
fn same(built: &Built, program: &str, arguments: &[&str], files: &[(&str, &[u8])], input: &[u8]) {
    let runs = [&built.layouts[0].native[program], &built.protected[program]].map(|program| {
        let folder = tempfile::tempdir().expect("a scratch folder");
        for (name, contents) in files {
            std::fs::write(folder.path().join(name), contents).expect("a file");
        }
        let output = run(program, arguments, folder.path(), input, None);
        let mut names: Vec<_> = std::fs::read_dir(folder.path()).expect("a folder").flatten().collect();
        names.sort_by_key(|entry| entry.file_name());
        let written: Vec<_> =
            names.iter().map(|e| (e.file_name(), std::fs::read(e.path()).expect("a file"))).collect();
        (output.status.code(), output.stdout, String::from_utf8_lossy(&output.stderr).into_owned(), written)
    });
    let [plain, protected] = runs;
    assert_eq!(plain.0, protected.0, "{program} {arguments:?}: status; {}", protected.2);
    assert_eq!(plain.2, protected.2, "{program} {arguments:?}: errors");
    assert!(plain.1 == protected.1, "{program} {arguments:?}: output");
    assert!(plain.3 == protected.3, "{program} {arguments:?}: files");
}

/// The folder in which `make` makes what is called `name`: once for all tests that ask.
fn once(name: String, make: impl FnOnce(&Path)) -> PathBuf {
    static MADE: Mutex<BTreeMap<String, Arc<OnceLock<PathBuf>>>> = Mutex::new(BTreeMap::new());
    let place = Arc::clone(MADE.lock().expect("no panic").entry(name).or_default());
    let make = || {
        let folder = support::shared_folder();
        make(&folder);
        folder
    };
    place.get_or_init(make).clone()
}

/// The compiler of programs of our own. What a sanitizer finds ends the program: by itself, that of undefined behaviour goes on, and nothing
/// of it is in the program's status.
fn compiler(options: &[&str]) -> Command {
    let mut compiler = Command::new("gcc");
    compiler.args(["-std=gnu11", "-fsanitize-undefined-trap-on-error"]).args(BY_CALLS).args(options);
    compiler
}

/// Red if a program in which a sanitizer finds something goes on, and ends well: no test would hear of it.
#[test]
fn what_a_sanitizer_finds_ends_the_program() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = |name: &str| folder.path().join(name);
    let text = "#include <limits.h>\n#include <stdlib.h>\nint main(int count, char **words)\n{\n    (void)words;\n    \
                int sum = INT_MAX;\n    char *bytes = malloc(8);\n    free(bytes);\n    return ENDS;\n}\n";
    std::fs::write(path("host.c"), text).expect("a file");
    let [overflows, is_freed] = ["(sum += count) == 0", "bytes[count] == count + 1000"];
    for (sanitizers, ends) in [
        ("undefined", overflows),
        ("address,undefined", overflows),
        ("address", is_freed),
        ("address,undefined", is_freed),
    ] {
        let sanitizers = format!("-fsanitize={sanitizers}");
        for (ends, is_fine) in [("sum == 0", true), (ends, false)] {
            let mut compile = compiler(&["-O0", &sanitizers, &format!("-DENDS={ends}")]);
            done(compile.arg(path("host.c")).arg("-o").arg(path("host"))).expect("it compiles");
            let output = run(&path("host"), &[], folder.path(), b"", None);
            assert_eq!(output.status.success(), is_fine, "{sanitizers}, {ends}: {}", output.status);
        }
    }
}

/// Builds library and program of an API of our own, whose program checks everything itself.
fn synthetic(name: &str) {
    built(name, &["-O0", "-fsanitize=undefined"], &[]);
}

/// The folder with the module and the client of a library of our own.
fn of_our_own(name: &str, include: &str) -> PathBuf {
    once(name.to_owned(), |folder| {
        let (module, client) = (folder.join(name).with_extension("lg"), folder.join("client"));
        let mut stubs = lockgate();
        stubs.arg("stubs").arg(file(&format!("{name}.h"))).arg("-m").arg(&module).arg("-o").arg(&client);
        done(&mut stubs).expect("stubs");
        let mut link = lockgate();
        link.args(["cc", "-g", "-O1", include]).arg(file(&format!("{name}.c"))).arg("-o").arg(&module);
        done(link.arg("--exports").arg(client.join(format!("{name}.exports")))).expect("it links");
    })
}

fn built(name: &str, options: &[&str], arguments: &[&str]) -> String {
    let include = format!("-I{}", corpus().root().join("crates/lockgate-headers/include").display());
    let client = of_our_own(name, &include).join("client");
    let host = once(format!("{name} {options:?}"), |folder| {
        let mut compile = compiler(options);
        compile
            .args(["-Wall", "-Wextra", "-Werror"])
            .arg(&include)
            .arg("-I")
            .arg(&client)
            .arg("-I")
            .arg(file(""));
        compile.arg("-I").arg(prefix().join("include")).arg(file(&format!("{name}_host.c")));
        compile.arg(client.join(format!("{name}_client.c"))).arg("-o").arg(folder.join("host"));
        done(kit().link_with_library(&mut compile)).expect("it compiles");
    });
    let folder = tempfile::tempdir().expect("a scratch folder");
    let output = run(&host.join("host"), arguments, folder.path(), b"", None);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}\n{text}{}", output.status, String::from_utf8_lossy(&output.stderr));
    text.into_owned()
}

/// Whether a program is made as compilers make most programs, too: in one run of three.
fn is_optimised(name: &str) -> bool {
    Part::one_in(3, format!("{name} at -O2")).has(name.len())
}

/// The same as the compiler makes it of most programs, in one run of three.
fn optimised(name: &str, arguments: &[&str]) {
    if is_optimised(name) {
        built(name, &["-O2"], arguments);
    }
}

/// The same of three texts: what a test makes itself.
fn made(name: &str, options: &[&str], texts: [&str; 3]) {
    made_of(name, options, texts, &|exports| exports, &|_| {});
}

/// The same with what the test makes of the module's list of exports, and of the folder with the module.
fn made_of(
    name: &str,
    options: &[&str],
    texts: [&str; 3],
    exports: &dyn Fn(String) -> String,
    then: &dyn Fn(&Path),
) {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = |end: &str| folder.path().join(format!("{name}{end}"));
    for (end, text) in [".h", ".c", "_host.c"].iter().zip(texts) {
        std::fs::write(path(end), text).expect("a file");
    }
    let include = format!("-I{}", corpus().root().join("crates/lockgate-headers/include").display());
    let mut stubs = lockgate();
    stubs.arg("stubs").arg(path(".h")).arg("-m").arg(path(".lg")).arg("-o").arg(folder.path().join("client"));
    done(&mut stubs).expect("stubs");
    let list = folder.path().join(format!("client/{name}.exports"));
    let text = std::fs::read_to_string(&list).expect("a list");
    std::fs::write(&list, exports(text)).expect("a file");
    let mut link = lockgate();
    link.args(["cc", "-g", "-O1", "-w", &include]).arg(path(".c")).arg("-o").arg(path(".lg"));
    done(link.arg("--exports").arg(list)).expect("it links");
    then(folder.path());
    let mut compile = compiler(options);
    compile.arg(&include).arg("-I").arg(folder.path().join("client"));
    compile.arg("-I").arg(folder.path()).arg("-I").arg(prefix().join("include")).arg(path("_host.c"));
    compile.arg(folder.path().join(format!("client/{name}_client.c"))).arg("-o").arg(path(""));
    done(kit().link_with_library(&mut compile)).expect("it compiles");
    let output = run(&path(""), &[], folder.path(), b"", None);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}\n{text}{}", output.status, String::from_utf8_lossy(&output.stderr));
}

/// What the library leaves unwritten is as the program had it, as with the library itself: no bytes of earlier calls, and none of nobody's.
#[test]
fn what_is_left_unwritten_is_the_programs() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let host = folder.path().join("native");
    let mut compile = Command::new("gcc");
    compile
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(corpus().root().join("crates/lockgate-headers/include"));
    compile.arg("-I").arg(file("")).arg(file("unwritten.c")).arg(file("unwritten_host.c"));
    done(compile.arg("-o").arg(&host)).expect("it compiles");
    let native = run(&host, &[], folder.path(), b"", None);
    let native = String::from_utf8_lossy(&native.stdout).into_owned();
    assert!(native.contains("int -1 30\n") && native.contains("errno -1 1 -1 0 0 0\n"), "{native}");
    assert_eq!(built("unwritten", &["-O0"], &[]), native);
}

/// A library that has failed answers no question with yes, and no status with success; what it says is why.
#[test]
fn no_failure_is_an_answer() {
    let header = "#include <lockgate/annotations.h>\n#include <stdbool.h>\n#include <stddef.h>\nLG_DOMAIN(\"dead\", restart);\n\
                  struct pair { int status, value; };\nenum how { WELL, BADLY };\nstruct thing;\n\
                  LG_ERRORS(int, -1);\nLG_ERRORS(enum how, BADLY);\nint is_good(const char *text) LG_ERROR(0);\nint plain(const char *text);\n\
                  bool flag(const char *text);\nenum how how(const char *text);\nsize_t count(const char *text);\ndouble share(const char *text);\n\
                  float part(const char *text);\nconst char *name(const char *text);\nstruct pair pair(const char *text) LG_ERROR((struct pair){-1, 0});\n\
                  struct thing *make(const char *text);\nint use(struct thing *thing, int n);\nint with_errno(const char *text) LG_ERRNO;\n";
    let source = "#include <stdbool.h>\n#include <stddef.h>\nstruct pair { int status, value; };\n\
                  static int look(const char *text) { if (*text == '!') *(volatile int *)8 = 1; return 1; }\n\
                  int is_good(const char *t) { return look(t); }\nint plain(const char *t) { return look(t); }\nbool flag(const char *t) { return look(t); }\n\
                  int how(const char *t) { return look(t) - 1; }\nsize_t count(const char *t) { return look(t); }\ndouble share(const char *t) { return look(t); }\n\
                  float part(const char *t) { return look(t); }\nconst char *name(const char *t) { return look(t) ? \"name\" : 0; }\n\
                  struct pair pair(const char *t) { return (struct pair){look(t) - 1, 7}; }\nvoid *make(const char *t) { static long it; return look(t) ? &it : 0; }\n\
                  int use(int *thing, int n) { return *thing = n; }\nint with_errno(const char *t) { return look(t); }\n";
    let host = "#include <dead.h>\n#include <string.h>\n\
                int main(void)\n{\n    struct thing *old = make(\"good\");\n    \
                if (is_good(\"good\") != 1 || plain(\"\") != 1 || !flag(\"\") || how(\"\") != WELL || count(\"\") != 1 || share(\"\") != 1 || part(\"\") != 1)\n        return 1;\n    \
                if (!name(\"\") || pair(\"\").status || pair(\"\").value != 7 || !old || use(old, 3) != 3)\n        return 2;\n    \
                struct pair p = pair(\"!\");\n    double d = share(\"!\");\n    float f = part(\"!\");\n    \
                if (is_good(\"!\") || plain(\"!\") != -1 || flag(\"!\") || how(\"!\") != BADLY || count(\"!\") || d == d || f == f || name(\"!\") || p.status != -1 || with_errno(\"!\") != -1)\n        return 3;\n    \
                /* Why, of an old handle. */\n    \
                if (use(old, 1) != -1 || !strstr(lg_dead_error()->message, \"a domain that has ended\"))\n        return 4;\n    \
                /* A fault is told, also where there is no handle. */\n    \
                struct thing *none = make(\"!\");\n    if (none || use(none, 1) != -1 || strcmp(lg_dead_error()->function, \"use\") != 0)\n        return 5;\n    \
                struct lg_stub_error error;\n    lg_dead_take_error(&error);\n    \
                return use(none, 1) != -1 || strcmp(lg_dead_error()->function, \"use\") != 0 ? 6 : 0;\n}\n";
    made("dead", &["-O0"], [header, source, host]);
}

/// What the program's compiler concludes from a header is so with a client, too, or the call fails: that a result is not null, that two arguments
/// are one object, what a precision below 0 means.
#[test]
fn what_compilers_and_programs_go_by() {
    let header = "#include <lockgate/annotations.h>\n#include <stdarg.h>\nLG_DOMAIN(\"goby\");\nLG_ERRORS(int, -1);\n#define NEVER_NULL __attribute__((returns_nonnull))\n\
                  NEVER_NULL char *must(int x) LG_STRING LG_BORROWED;\n__attribute__((__returns_nonnull__)) char *also(int x) LG_STRING LG_BORROWED;\n\
                  int both(int *a LG_INOUT, int *b LG_INOUT);\nint add(int *a LG_INOUT, const int *b LG_IN LG_SIZE(n), int n);\n\
                  int fill(char *to LG_INOUT LG_SIZE(n), const char *from, int n);\nint halves(char *a LG_OUT LG_SIZE(n) LG_WRITTEN(n), char *b LG_OUT LG_SIZE(n) LG_WRITTEN(n), int n);\n\
                  int in_place(char *to LG_OUT LG_SIZE(n) LG_WRITTEN(n), const char *from LG_IN LG_SIZE(n), int n);\nint sizes(int *w LG_OUT, int *h LG_OUT);\n\
                  int vshow(const char *format, va_list list) LG_FORMAT(vshow, \"q\", \"z\");\nint show(const char *format, ...) LG_FORMAT(vshow, \"q\", \"z\");\n\
                  int (*chosen(int x))(int);\nint choose(int (**which)(int) LG_OUT);\n";
    let source = "#include <stdarg.h>\n#include <string.h>\nchar *must(int x) { if (x) __builtin_trap(); return \"x\"; }\nchar *also(int x) { return must(x); }\n\
                  int both(int *a, int *b) { *a += 1; *b += 10; return 0; }\nint add(int *a, const int *b, int n) { *a += b[n - 1]; *a += b[n - 1]; return 0; }\n\
                  int fill(char *to, const char *from, int n) { memset(to, *from, n); return 0; }\nint halves(char *a, char *b, int n) { memset(a, 'a', n); memset(b, 'b', n); return 0; }\n\
                  int in_place(char *to, const char *from, int n) { for (int i = 0; i < n; i++) to[i] = from[i] + 1; return 0; }\nint sizes(int *w, int *h) { *w = *h = 3; return 0; }\n\
                  int vshow(const char *f, va_list l) { (void)f; (void)va_arg(l, int); return (int)strlen(va_arg(l, const char *)); }\n\
                  int show(const char *f, ...) { va_list l; va_start(l, f); int n = vshow(f, l); va_end(l); return n; }\n\
                  int (*chosen(int x))(int) { (void)x; return 0; }\nint choose(int (**which)(int)) { *which = 0; return 0; }\n";
    let host = "#define _GNU_SOURCE 1\n#include <goby.h>\n#include <string.h>\n#include <sys/mman.h>\n\
                static int overlaps(void) { return strstr(lg_goby_error()->message, \"overlaps\") != 0; }\n\
                int main(void)\n{\n    if (strcmp(must(0), \"x\") != 0)\n        return 1;\n    char *text = must(1);\n    if (text)\n        return 2;\n    \
                text = also(1);\n    if (text)\n        return 3;\n    int one = 1, two = 1, row[2] = {1, 5};\n    \
                /* What is one object for the program is one for the library, and what only overlaps is refused. */\n    \
                if (both(&one, &two) || one != 2 || two != 11 || both(&one, &one) || one != 13)\n        return 4;\n    \
                if (add(&one, row, 2) || one != 23 || add(&row[1], row, 2) != -1 || !overlaps() || row[1] != 5 || add(&row[1], row, 1) || row[1] != 7)\n        return 5;\n    \
                if (add(&row[0], row, 1) || row[0] != 4)\n        return 13;\n    \
                char bytes[8] = \"abcdefg\";\n    if (fill(bytes, bytes + 1, 4) != -1 || !overlaps() || fill(bytes, bytes + 4, 4) || strcmp(bytes, \"eeeeefg\") != 0)\n        return 6;\n    \
                if (halves(bytes, bytes + 3, 4) != -1 || !overlaps() || halves(bytes, bytes + 4, 3) || memcmp(bytes, \"aaaebbb\", 8) != 0)\n        return 7;\n    \
                /* What a library does in place, and numbers that nobody wants, are as ever. */\n    \
                int unused;\n    if (in_place(bytes, bytes, 3) || memcmp(bytes, \"bbbebbb\", 8) != 0 || sizes(&unused, &unused) || unused != 3)\n        return 8;\n    \
                /* A text that does not end, up to memory that is not there. */\n    \
                char *page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);\n    \
                if (page == MAP_FAILED || mprotect(page + 4096, 4096, PROT_NONE))\n        return 9;\n    char *five = page + 4091;\n    memcpy(five, \"abcde\", 5);\n    \
                if (show(\"%.*s\", 5, five) != 5 || show(\"%.*s\", 3, five) != 3 || show(\"%.*s\", -9, \"text\") != 4)\n        return 10;\n    \
                if (show(\"%.*s\", -5, five) != -1 || !strstr(lg_goby_error()->message, \"precision below 0\"))\n        return 11;\n    \
                int (*which)(int) = 0;\n    return chosen(1) || choose(&which) || which ? 12 : 0;\n}\n";
    made("goby", &["-O2"], [header, source, host]);
}

/// A call that does not return does not, in whatever way the header says so and in whichever declaration, and what the library gives is where the
/// library says: compilers conclude nothing else.
#[test]
fn what_declarations_promise_to_compilers() {
    let header = "#include <lockgate/annotations.h>\n#include <stdnoreturn.h>\nLG_DOMAIN(\"promise\");\n#define DIES _Noreturn\n\
                  _Noreturn void one(int x);\nnoreturn void two(int x);\nDIES int three(int x) LG_ERROR(-1);\nvoid four(int x);\nvoid four(int x) __attribute__((__noreturn__));\n\
                  extern void five(int x) __attribute__((__noreturn__));\nvoid five(int x);\n\
                  struct noreturn_list { int n; };\nint length(const struct noreturn_list *list LG_IN) LG_ERROR(-1);\n\
                  void at_last(void (*handler)(int) __attribute__((__noreturn__)));\ntypedef void (*dead)(int) __attribute__((__noreturn__));\ndead handler(void);\nstruct deadly { int n; dead dead; };\nvoid deadly(struct deadly *d LG_INOUT);\nLG_FIELD(deadly, dead, LG_NULL);\n\
                  const float *floats(int n) __attribute__((assume_aligned(64))) LG_SIZE(n) LG_BORROWED;\n\
                  __attribute__((__alloc_align__(2))) const float *more(int n, int by) LG_SIZE(n) LG_BORROWED;\n";
    let source = "void one(int x) { if (x) __builtin_trap(); }\nvoid two(int x) { one(x); }\nint three(int x) { one(x); return x; }\nvoid four(int x) { one(x); }\nvoid five(int x) { one(x); }\n\
                  int length(const int *list) { return *list; }\nstatic void (*last)(int);\nvoid at_last(void (*handler)(int)) { last = handler; }\nvoid (*handler(void))(int) { return last; }\nstruct deadly;\nvoid deadly(struct deadly *d) { (void)d; }\n\
                  static float all[1024] __attribute__((aligned(64)));\nconst float *floats(int n) { (void)n; return all + 1; }\nconst float *more(int n, int by) { (void)by; return floats(n); }\n";
    let host = "#include <promise.h>\n#include <signal.h>\n#include <sys/wait.h>\n#include <unistd.h>\n\
                static void die(int which, int x)\n{\n    switch (which) {\n    case 1: one(x); break;\n    case 2: two(x); break;\n    case 3: three(x); break;\n    \
                case 4: four(x); break;\n    default: five(x); break;\n    }\n}\n\
                /* As compilers may go by it where they see the call. */\n\
                #define SUM(name, from) __attribute__((noinline)) static float name(void)\\\n{\\\n    const float *all = from;\\\n    float sums[64] = {0};\\\n    \
                for (int i = 0; all && i < 512; i += 64)\\\n        for (int j = 0; j < 64; j++)\\\n            sums[j] += all[i + j];\\\n    return all ? sums[5] : 1;\\\n}\n\
                SUM(first, floats(512))\nSUM(second, more(512, 64))\n\
                int main(void)\n{\n    for (int which = 1; which <= 5; which++)\n        for (int x = 0; x < 2; x++) {\n            \
                pid_t child = fork();\n            int status = 0;\n            if (!child) {\n                alarm(60);\n                die(which, x);\n                _exit(which);\n            }\n            \
                if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)\n                return which;\n        }\n    \
                /* (What its parameters and its result are says nothing of a function.) */\n    struct noreturn_list list = {5};\n    at_last(_exit);\n    \
                handler();\n    if (length(&list) != 5)\n        return 8;\n    \
                return first() ? 6 : second() ? 7 : 0;\n}\n";
    for options in [&["-O0"], &["-O3"]] {
        made("promise", options, [header, source, host]);
    }
}

/// A function that is declared to run nothing of the program's calls nothing back, whatever the library does: what the program's compiler has in
/// registers is so. The calls around it go on.
#[test]
fn what_compilers_keep_in_registers_stays_so() {
    let header = "#include <lockgate/annotations.h>\nLG_DOMAIN(\"silent\");\nLG_ERRORS(int, -1);\nstruct list;\n#define PURE pure\n#define NAMED(a, b) __attribute__((a##b))\n\
                  struct list *begin(int (*seen)(void *user, int n), void *user);\nvoid finish(struct list *l LG_RELEASE);\nint feed(struct list *l, int n);\n\
                  int counts(const struct list *l) __attribute__((pure));\nint length(const struct list *l) __attribute__((PURE));\nint first(const struct list *l) NAMED(__con, st__);\n\
                  int last(struct list *l) __attribute__((leaf, nothrow));\nint each(struct list *l, int (*seen)(void *user, int n), void *user);\n";
    let source = "#include <stdlib.h>\nstruct list { int (*seen)(void *, int); void *user; int n, quiet; };\n\
                  struct list *begin(int (*seen)(void *, int), void *user) { struct list *l = malloc(sizeof *l); *l = (struct list){seen, user, 0, 1}; return l; }\n\
                  void finish(struct list *l) { free(l); }\nint feed(struct list *l, int n) { l->n += n; l->quiet = n == 1; return l->seen(l->user, n); }\n\
                  int counts(struct list *l) { if (!l->quiet) l->seen(l->user, 100); return l->n; }\nint length(struct list *l) { return counts(l); }\nint first(struct list *l) { return counts(l); }\nint last(struct list *l) { return counts(l); }\n\
                  int each(struct list *l, int (*seen)(void *, int), void *user) { return seen(user, 1) + seen(user, 2); }\n";
    let host = "#include <silent.h>\n#include <stdlib.h>\n#include <string.h>\nstatic char *buffer;\nstatic struct list *list;\n\
                static int seen(void *user, int n) { (void)user; if (n == 100) { free(buffer); buffer = 0; } return n; }\n\
                static int nested(void *user, int n) { (void)user; return n + 10 * (counts(list) < 0); }\n\
                static int told(void) { return lg_silent_error()->kind == LG_STUB_CALLBACK && strstr(lg_silent_error()->message, \"declared to call back nothing\") != 0; }\n\
                #define TRY(call) do { buffer = malloc(16); buffer[0] = 'a'; if (call != -1 || !told() || !buffer) return __LINE__; buffer[1] = 'b'; free(buffer); } while (0)\n\
                int main(void)\n{\n    list = begin(seen, 0);\n    \
                /* Where the library is honest, it is heard. */\n    if (feed(list, 1) != 1 || counts(list) != 1 || last(list) != 1)\n        return 1;\n    \
                if (feed(list, 2) != 2)\n        return 2;\n    \
                TRY(counts(list));\n    TRY(length(list));\n    TRY(first(list));\n    TRY(last(list));\n    \
                /* One after it is called back, and one around it once more. */\n    if (feed(list, 3) != 3 || each(list, nested, 0) != 23)\n        return 3;\n    \
                finish(list);\n    return 0;\n}\n";
    for options in [&["-O0"], &["-O2"]] {
        made("silent", options, [header, source, host]);
    }
}

/// Macros of the header that are called like a function of the C library's, or like a word of C, have no meaning in the client's own text: its copies
/// are not measured by the library, and it calls none of its own stubs.
#[test]
fn macros_do_not_change_what_a_client_does() {
    let header = "#include <lockgate/annotations.h>\n#include <stdbool.h>\n#include <stdlib.h>\n#include <string.h>\nLG_DOMAIN(\"macros\");\nLG_ERRORS(int, -1);\n\
                  size_t macros_length(const char *text);\nint macros_set(const char *text);\nconst char *macros_name(int n);\n\
                  #undef strlen\n#define strlen(s) macros_length(s)\n#undef strnlen\n#define strnlen(s, n) macros_length(s)\n\
                  #undef memcpy\n#define memcpy(to, from, n) memset((to), 0, (n))\n#undef free\n#define free(p) abort()\n#undef bool\n#define bool char\n\
                  #undef true\n#define true 256\n#define while if\n#define volatile\n#define sizeof 1 ? 1 :\n";
    let source = "#include <stddef.h>\nsize_t macros_length(const char *t) { size_t n = 0; while (t[n]) n++; return n > 3 ? 3 : n; }\n\
                  int macros_set(const char *t) { int n = 0; while (t[n]) n++; return n; }\nconst char *macros_name(int n) { return n ? \"a name that is long\" : NULL; }\n";
    let host = "#include <macros.h>\n#undef while\n#undef sizeof\n#undef strlen\n\
                int main(void)\n{\n    if (macros_set(\"hello, world\") != 12)\n        return 1;\n    if (macros_length(\"abcdef\") != 3)\n        return 2;\n    \
                return strcmp(macros_name(1), \"a name that is long\") ? 3 : macros_name(0) ? 4 : 0;\n}\n";
    for options in [&["-O0"], &["-O2"]] {
        made("macros", options, [header, source, host]);
    }
}

/// A number below 0 says that a call has failed where the API's own failure is below 0, however that is written: what such a call sets is not
/// what the program goes by.
#[test]
fn failures_below_zero_are_below_zero_however_they_are_written() {
    let header = "#include <lockgate/annotations.h>\nLG_DOMAIN(\"below\");\n#define BAD (-1)\nenum { WORSE = -1 };\nstruct thing;\nstruct thing *make(void);\nvoid unmake(struct thing *t LG_RELEASE);\n\
                  #define BOTH(name, failure) int size_##name(struct thing *t, int *n LG_OUT) LG_ERROR(failure); \\\n    \
                  int read_##name(struct thing *t, char *out LG_INOUT LG_SIZE(lg_told(size_##name, t, n))) LG_ERROR(failure);\n\
                  BOTH(plain, -1)\nBOTH(macro, BAD)\nBOTH(enumerator, WORSE)\nBOTH(expression, 1 - 2)\nBOTH(cast, (signed char)255)\n";
    let source = "#include <string.h>\nstruct thing;\nstatic long all[4];\nstruct thing *make(void) { return (struct thing *)(all + 1); }\nvoid unmake(struct thing *t) { (void)t; }\n\
                  #define BOTH(name) int size_##name(struct thing *t, int *n) { static int calls; (void)t; *n = calls++ ? 64 : 4; return *n == 4 ? 0 : -2; } \\\n    \
                  int read_##name(struct thing *t, char *out) { (void)t; memset(out, 'A', 64); return 0; }\n\
                  BOTH(plain)\nBOTH(macro)\nBOTH(enumerator)\nBOTH(expression)\nBOTH(cast)\n";
    let host = "#include <below.h>\n#include <string.h>\n\
                #define TRY(name) { char bytes[64] = \"\"; int n = 0; struct thing *t = make(); \\\n    \
                if (size_##name(t, &n) || n != 4 || size_##name(t, &n) >= 0 || read_##name(t, bytes) >= 0 || memchr(bytes, 'A', 64)) \\\n        return which; \\\n    \
                unmake(t); which++; }\n\
                int main(void)\n{\n    int which = 1;\n    TRY(plain) TRY(macro) TRY(enumerator) TRY(expression) TRY(cast)\n    return 0;\n}\n";
    made("below", &["-O1"], [header, source, host]);
}

/// Arguments of a format that lie elsewhere, or are read otherwise, than the client's do are refused: a long double, wide characters.
#[test]
fn arguments_that_cannot_be_passed_on_are_refused() {
    let header = "#include <lockgate/annotations.h>\n#include <stdarg.h>\nLG_DOMAIN(\"wider\");\nLG_ERRORS(int, -1);\n\
                  int vshow(const char *format, va_list list) LG_FORMAT(vshow, \"q\", \"\");\nint show(const char *format, ...) LG_FORMAT(vshow, \"q\", \"\");\n";
    let source = "#include <stdarg.h>\n#include <stdio.h>\nint vshow(const char *f, va_list l) { char text[99]; return vsnprintf(text, sizeof text, f, l); }\n\
                  int show(const char *f, ...) { va_list l; va_start(l, f); int n = vshow(f, l); va_end(l); return n; }\n";
    let host = "#include <wider.h>\n#include <string.h>\n\
                static int told(void) { return lg_wider_error()->kind == LG_STUB_SIZE && strstr(lg_wider_error()->message, \"cannot be passed on\") != 0; }\n\
                int main(void)\n{\n    if (show(\"%d %d %d %d %Lf %s\", 1, 2, 3, 4, 1.5L, \"text\") != -1 || !told())\n        return 1;\n    \
                if (show(\"%.2La\", 1.5L) != -1 || !told() || show(\"%ls\", L\"wide\") != -1 || !told() || show(\"%5lq\", L\"wide\") != -1 || !told())\n        return 2;\n    \
                return show(\"%lf %ld %hhd %lld %s %zu\", 1.5, 2L, 3, 4LL, \"text\", (size_t)5) == 21 ? 0 : 3;\n}\n";
    made("wider", &["-O1"], [header, source, host]);
}

/// Members of structures and unions without a name cross like any other member: text is copied, numbers go both ways, and a `bool` is one.
#[test]
fn members_without_a_name_are_members() {
    let types = "struct s { int k; struct { const char *p LG_STRING LG_BORROWED; int n; _Bool b; char t[4] LG_STRING; }; union { int i; float f; }; int after; };\n";
    let header = format!(
        "#include <lockgate/annotations.h>\nLG_DOMAIN(\"inner\");\nLG_ERRORS(int, -1);\n{types}\
         int give(const struct s *s LG_IN);\nint take(struct s *s LG_OUT);\nconst struct s *look(int n) LG_BORROWED LG_SIZE(1);\nint far(struct s *s LG_OUT);\n"
    );
    let source = format!(
        "#define LG_STRING\n#define LG_BORROWED\n#include <string.h>\n{types}static struct s own = {{1, {{\"text\", 2, 1, \"abcd\"}}, {{3}}, 4}};\n\
         int give(const struct s *s) {{ return strcmp(s->p, \"host\") == 0 && s->k == 5 && s->n == 6 && s->b && s->i == 7 && s->after == 8; }}\n\
         int take(struct s *s) {{ *s = own; *(unsigned char *)&s->b = 0xee; return 0; }}\n\
         const struct s *look(int n) {{ own.n = n; return &own; }}\n\
         int far(struct s *s) {{ *s = own; s->p = (const char *)0x7fff12345678; return 0; }}\n"
    );
    let host = "#include <inner.h>\n#include <string.h>\n\
                static int same(const struct s *s, int n) { return s && s->k == 1 && strcmp(s->p, \"text\") == 0 && s->n == n && *(const unsigned char *)&s->b == 1 && strcmp(s->t, \"abc\") == 0 && s->i == 3 && s->after == 4; }\n\
                int main(void)\n{\n    struct s s = {.k = 5, .p = \"host\", .n = 6, .b = 1, .i = 7, .after = 8}, t = {0};\n    \
                if (give(&s) != 1)\n        return 1;\n    \
                if (take(&t) || !same(&t, 2))\n        return 2;\n    \
                if (!same(look(9), 9))\n        return 3;\n    \
                /* A pointer to somewhere else is none. */\n    \
                return far(&t) == -1 && lg_inner_error()->kind ? 0 : 4;\n}\n";
    made("inner", &["-O0"], [&header, &source, host]);
}

/// A structure without pointers is remembered like any other, whole; null where a buffer or its length could be is nothing that fails; a string is
/// read as far as the library reads it; and why there was no handle is told no longer than it is so.
#[test]
fn null_plain_and_short() {
    let header = "#include <lockgate/annotations.h>\n#include <stdarg.h>\nLG_DOMAIN(\"small\", restart);\nLG_ERRORS(int, -1);\n\
                  struct plain { char tag; long total; };\nunion both { int n; unsigned char bytes[8]; };\nstruct thing;\n\
                  int plain_begin(struct plain *plain LG_INOUT LG_KEPT);\nint plain_add(struct plain *plain LG_OUT LG_KEPT, int n);\n\
                  long plain_look(const struct plain *plain LG_IN LG_KEPT) LG_ERROR(-1);\nint plain_end(struct plain *plain LG_INOUT LG_KEPT LG_RELEASE);\n\
                  int both_keep(union both *both LG_INOUT LG_KEPT);\n\
                  int get(char *to LG_OUT LG_SIZE(room) LG_WRITTEN(*n) LG_NULLABLE, int room, unsigned *n LG_OUT LG_NULLABLE);\n\
                  int line(char *to LG_OUT LG_SIZE(room) LG_STRING LG_WRITTEN(room) LG_NULLABLE, int room);\n\
                  int vshow(const char *format, va_list list) LG_FORMAT(vshow, \"q\", \"z\");\nint show(const char *format, ...) LG_FORMAT(vshow, \"q\", \"z\");\n\
                  struct thing *make(const char *how);\nint use(struct thing *thing, const char *how);\nint fill(struct thing *thing, const char *with LG_IN LG_SIZE(n), int n);\n";
    let source = "#include <stdarg.h>\n#include <stddef.h>\n#include <string.h>\nstruct plain { char tag; long total; };\nunion both { int n; unsigned char bytes[8]; };\n\
                  static struct plain *known;\nint plain_begin(struct plain *p) { known = p; p->total += 1; return p->tag; }\n\
                  int plain_add(struct plain *p, int n) { if (p != known) return -1; p->total += n; return 0; }\n\
                  long plain_look(const struct plain *p) { return p == known ? p->total : -1; }\nint plain_end(struct plain *p) { p->tag = 'e'; return p != known; }\n\
                  int both_keep(union both *b) { int is = b->bytes[7]; b->bytes[7] = 9; return is; }\n\
                  int get(char *to, int room, unsigned *n) { if (to) memcpy(to, \"four\", 4); if (n) *n = 4; return !!to + 2 * !!n; }\n\
                  int line(char *to, int room) { if (to) strcpy(to, \"text\"); return room; }\n\
                  int vshow(const char *format, va_list list) { int n = va_arg(list, int); const char *t = va_arg(list, const char *); (void)n; return t ? (int)strlen(t) : -2; }\n\
                  int show(const char *format, ...) { va_list list; va_start(list, format); int n = vshow(format, list); va_end(list); return n; }\n\
                  void *make(const char *how) { static long it; if (*how == '!') *(volatile int *)8 = 1; return &it; }\n\
                  int use(void *thing, const char *how) { if (*how == '!') *(volatile int *)8 = 1; return thing != 0; }\nint fill(void *thing, const char *with, int n) { return thing && with && n; }\n";
    let host = "#include <small.h>\n#include <stdlib.h>\n#include <string.h>\n\
                #define CHECK(x) do { if (!(x)) return __LINE__; } while (0)\n\
                static const char *who(void) { return lg_small_error()->function; }\n\
                int main(void)\n{\n    struct plain plain = {'p', 5};\n    \
                CHECK(plain_begin(&plain) == 'p' && plain.total == 6);\n    CHECK(plain_add(&plain, 3) == 0 && plain.total == 9);\n    \
                CHECK(plain_look(&plain) == 9);\n    CHECK(plain_end(&plain) == 0 && plain.tag == 'e');\n    \
                union both both = {.bytes = {[7] = 7}};\n    CHECK(both_keep(&both) == 7 && both.bytes[7] == 9);\n    \
                char to[8] = \"......\";\n    unsigned n = 99;\n    \
                CHECK(get(to, 8, 0) == 3 && memcmp(to, \"four..\", 6) == 0);\n    CHECK(get(0, 0, &n) == 2 && n == 4);\n    \
                n = 99;\n    CHECK(get(0, 8, &n) == 2 && n == 4);\n    CHECK(get(0, 8, 0) == 2);\n    CHECK(line(0, 8) == 8 && line(to, 8) == 8 && strcmp(to, \"text\") == 0);\n    \
                char *five = malloc(5), *wide = malloc(4);\n    memcpy(five, \"abcde\", 5), memcpy(wide, \"\\303\\251\\303\\0\", 4);\n    \
                CHECK(show(\"%!.*q\", 5, five) == 5 && show(\"%!.*q\", 1, wide) == 2 && show(\"%.*q\", 3, five) == 3);\n    \
                struct thing *none = make(\"!\");\n    CHECK(!none && !strcmp(who(), \"make\"));\n    \
                CHECK(use(none, \"!\") == -1 && !strcmp(who(), \"use\"));\n    \
                CHECK(!make(\"!\") && fill(none, five, -1) == -1 && !strcmp(who(), \"make\"));\n    \
                CHECK(!make(\"!\") && use(none, \"\") == 0 && fill(none, five, -1) == -1 && !strcmp(who(), \"fill\"));\n    \
                CHECK(!make(\"!\") && make(\"\") && fill(none, five, -1) == -1 && !strcmp(who(), \"fill\"));\n    free(five), free(wide);\n    return 0;\n}\n";
    made("small", &["-O0", "-fsanitize=address"], [header, source, host]);
}

/// A structure that the library makes like another one has that one's buffers, whatever it had before; and making a domain is nothing that a
/// program finds in errno.
#[test]
fn a_copy_has_the_buffers_of_what_it_is_of() {
    let header = "#include <lockgate/annotations.h>\nLG_DOMAIN(\"like\");\nLG_ERRORS(int, -1);\n\
                  struct scan { const char *in LG_IN LG_SIZE(left) LG_CURSOR; unsigned left; long sum; void *user LG_IGNORE; };\n\
                  int scan_new(struct scan *scan LG_OUT LG_KEPT);\nint scan_next(struct scan *scan LG_INOUT LG_KEPT);\n\
                  int scan_copy(struct scan *to LG_OUT LG_KEPT, struct scan *from LG_OUT LG_KEPT, int how);\nint scan_end(struct scan *scan LG_OUT LG_KEPT LG_RELEASE);\n\
                  int number(int x) LG_ERRNO;\n";
    let source = "struct scan { const char *in; unsigned left; long sum; void *user; };\n\
                  int scan_new(struct scan *s) { s->sum = 0; return 0; }\nint scan_next(struct scan *s) { if (!s->left) return -1; s->sum += *s->in++; s->left--; return 0; }\n\
                  int scan_copy(struct scan *to, struct scan *from, int how)\n{\n    struct scan other = *to;\n    if (how)\n        *to = *from;\n    if (how == 2)\n        *from = other;\n    if (how == 3)\n        to->in = (const char *)0x7fff12345678;\n    return how == 4 ? -1 : 0;\n}\n\
                  int scan_end(struct scan *s) { (void)s; return 0; }\nint number(int x) { return x; }\n";
    let host = "#include <like.h>\n#include <errno.h>\n#include <string.h>\n\
                #define CHECK(x) do { if (!(x)) return __LINE__; } while (0)\n\
                int main(void)\n{\n    errno = EDOM;\n    CHECK(number(7) == 7 && errno == EDOM);\n    char text[] = \"abcdef\", other[] = \"xy\";\n    int mine, its;\n    \
                struct scan one = {.in = text, .left = 6, .user = &mine}, two;\n    CHECK(scan_new(&one) == 0 && scan_next(&one) == 0 && one.in == text + 1 && one.left == 5);\n    \
                /* Whatever lay there. */\n    memset(&two, 0x22, sizeof two);\n    CHECK(scan_copy(&two, &one, 1) == 0);\n    \
                CHECK(two.in == text + 1 && two.left == 5 && two.sum == 'a' && two.user == &mine && one.in == text + 1 && one.left == 5);\n    \
                CHECK(scan_next(&two) == 0 && two.in == text + 2 && two.sum == 'a' + 'b' && one.in == text + 1);\n    \
                two.in = other, two.left = 2, two.user = &its;\n    CHECK(scan_copy(&two, &one, 0) == 0 && two.in == other && two.left == 2 && two.user == &its);\n    \
                CHECK(scan_copy(&two, &one, 2) == 0 && two.in == text + 1 && two.left == 5 && two.user == &mine && one.in == other && one.left == 2 && one.user == &its);\n    \
                /* An address of the library's own is none of the program's, and what says that it has failed has copied nothing. */\n    \
                CHECK(scan_copy(&two, &one, 3) == 0 && two.in == text + 1 && two.left == 5);\n    \
                CHECK(scan_copy(&two, &one, 4) == -1 && two.in == text + 1 && two.left == 5);\n    \
                CHECK(scan_next(&one) == 0 && scan_next(&two) == 0);\n    return scan_end(&one) || scan_end(&two);\n}\n";
    made("like", &["-O0", "-fsanitize=address"], [header, source, host]);
}

/// A call with a structure in a callback of that structure's call: the library goes on with its own numbers, and hears of those that the program has changed.
#[test]
fn a_call_within_a_call_takes_nothing_back() {
    let header = "#include <lockgate/annotations.h>\nLG_DOMAIN(\"within\");\nLG_ERRORS(int, -1);\ntypedef int (*tick)(void *user);\n\
                  struct scan { const char *in LG_IN LG_SIZE(left) LG_CURSOR; unsigned left; long sum; int key; };\n\
                  int scan_new(struct scan *scan LG_OUT LG_KEPT);\nint scan_key(struct scan *scan LG_OUT LG_KEPT, int key);\nint scan_set(struct scan *scan LG_OUT LG_KEPT, int key);\n\
                  int scan_both(struct scan *scan LG_OUT LG_KEPT, tick calls, void *user LG_FOR_CALL);\nint scan_run(struct scan *scan LG_INOUT LG_KEPT, tick calls, void *user LG_FOR_CALL);\nint scan_end(struct scan *scan LG_OUT LG_KEPT LG_RELEASE);\n\
                  int scan_copy(struct scan *to LG_OUT LG_KEPT, struct scan *from LG_OUT LG_KEPT);\nstruct plain { char tag; short both; long total; };\nint plain_add(struct plain *plain LG_INOUT LG_KEPT, int n, tick calls LG_NULLABLE, void *user LG_FOR_CALL);\n\
                  int plain_end(struct plain *plain LG_INOUT LG_KEPT LG_RELEASE);\n";
    let source = "struct scan { const char *in; unsigned left; long sum; int key; };\ntypedef int (*tick)(void *);\n\
                  int scan_new(struct scan *s) { s->sum = 0; s->key = 1; return 0; }\nint scan_key(struct scan *s, int key) { s->key += key; return s->sum; }\nint scan_set(struct scan *s, int key) { s->key = key; return 0; }\n\
                  int scan_both(struct scan *s, tick tick, void *user) { s->key++; tick(user); s->key++; return 0; }\n\
                  static void half(struct scan *s) { for (int i = 0; i < 3 && s->left; i++, s->left--) s->sum += *s->in++ * s->key; }\n\
                  int scan_run(struct scan *s, tick tick, void *user) { half(s); int is = tick(user); half(s); return is; }\nint scan_end(struct scan *s) { s->sum = 0; return 0; }\n\
                  int scan_copy(struct scan *to, struct scan *from) { *to = *from; return 0; }\nstruct plain { char tag; short both; long total; };\nint plain_add(struct plain *p, int n, tick tick, void *user) { p->total += n; p->both += 1; return tick ? tick(user) : p->tag; }\n\
                  int plain_end(struct plain *p) { (void)p; return 0; }\n";
    let host = "#include <within.h>\n#include <string.h>\n\
                #define CHECK(x) do { if (!(x)) return __LINE__; } while (0)\n\
                static struct scan scan;\nstatic struct plain plain;\n\
                static int key(void *user) { scan.key += *(int *)user; return scan_key(&scan, 2); }\n\
                static int add(void *user) { plain.tag = 'b'; return plain_add(&plain, *(int *)user, 0, 0); }\nstatic int nothing(void *user) { (void)user; return 0; }\n\
                static int other(void *user) { scan.in = user; return 0; }\nstatic int twice(void *user) { return scan_copy(user, &scan) + scan_copy(user, &scan); }\n\
                static int next(void *user) { return scan_end(&scan) | scan_new(user); }\n\
                static int again(void *user) { scan.key = 5; scan_key(&scan, 0); scan.key = *(int *)user; return 0; }\nstatic int back(void *user) { return scan_set(&scan, *(int *)user); }\n\
                int main(void)\n{\n    int more = 3;\n    const char in[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};\n    \
                CHECK(scan_new(&scan) == 0);\n    scan.in = in, scan.left = 10;\n    \
                CHECK(scan_run(&scan, key, &more) == 3 && scan.key == 6 && scan.sum == 3 + 3 * 6 && scan.in == in + 6 && scan.left == 4);\n    \
                scan.sum = 0;\n    CHECK(scan_run(&scan, nothing, 0) == 0 && scan.sum == 4 * 6 && scan.left == 0);\n    \
                /* A copy is made of what the library has by then. */\n    struct scan twin = {0};\n    scan.in = in, scan.left = 10, scan.sum = 0;\n    \
                CHECK(scan_run(&scan, twice, &twin) == 0 && scan.sum == 36 && scan.left == 4 && scan.in == in + 6 && twin.sum == 18);\n    CHECK(twin.in == in + 3 && twin.left == 7);\n    \
                twin.in = in, twin.left = 1;\n    CHECK(scan_run(&twin, nothing, 0) == 0 && twin.sum == 24 && scan_end(&twin) == 0);\n    \
                /* What a call that failed has done is none of the program's numbers. */\n    scan.in = in, scan.left = 10, scan.sum = 5;\n    CHECK(scan_run(&scan, other, 0) == -1 && scan.sum == 5);\n    \
                scan.in = in, scan.left = 1;\n    CHECK(scan_run(&scan, nothing, 0) == 0 && scan.sum == 5 + 6);\n    \
                /* Each side has the other's last word, whichever call brought it. */\n    CHECK(scan_both(&scan, again, &more) == 0 && scan.key == 6 && scan_set(&scan, 1) == 0);\n    \
                CHECK(scan_run(&scan, again, &more) == 0 && scan.key == 3 && scan_set(&scan, 1) == 0);\n    \
                CHECK(scan_both(&scan, back, (int[]){0}) == 0 && scan.key == 1 && scan_both(&scan, nothing, 0) == 0 && scan.key == 3 && scan_set(&scan, 6) == 0);\n    \
                /* What a callback ends is the call's until that returns, and no other structure's. */\n    scan.in = in, scan.left = 10;\n    \
                CHECK(scan_run(&scan, next, &twin) == 0 && scan.sum == 18 && scan_key(&twin, 0) == 0 && twin.key == 1 && scan_end(&twin) == 0);\n    \
                plain.tag = 'a', plain.both = 255;\n    CHECK(plain_add(&plain, 4, add, &more) == 'b' && plain.tag == 'b' && plain.total == 7 && plain.both == 257);\n    \
                return plain_end(&plain);\n}\n";
    made("within", &["-O0", "-fsanitize=address"], [header, source, host]);
}

/// What a callback writes to an object that its call has stays, as far as the library leaves it: numbers as wholes, whoever else has the bytes beside them.
#[test]
fn what_a_callback_writes_stays() {
    let declared = "typedef int (*tick)(void *user);\nstruct in { short s; unsigned char c[4]; };\nstruct num { int a, b, c; struct in in; };\n\
                    struct box { unsigned char *bytes; unsigned n; long sum; };\nstruct kept { const char *in; unsigned left; long sum; int key; };\n\
                    struct bits { int n; _Bool seen[5]; unsigned mode : 8, : 3, rest : 2; int last; };\nstruct nest { short k; struct bits in; unsigned flag : 1; };\ntypedef struct own own;\n";
    let header = "#include <lockgate/annotations.h>\nLG_DOMAIN(\"stays\");\nLG_ERRORS(int, -1);\n@\
                  LG_FIELD(struct in, c, LG_BYTES);\nLG_FIELD(struct box, bytes, LG_INOUT LG_SIZE(n));\nLG_FIELD(struct kept, in, LG_IN LG_CURSOR LG_SIZE(left));\n\
                  int put(struct num *num LG_INOUT, tick calls, void *user LG_FOR_CALL);\nint give(struct num *num LG_OUT, tick calls, void *user LG_FOR_CALL);\n\
                  int fill(unsigned char *bytes LG_INOUT LG_SIZE(n), unsigned n, int *many LG_INOUT, tick calls, void *user LG_FOR_CALL);\n\
                  int words(int *all LG_INOUT LG_SIZE(n), unsigned n, char *text LG_INOUT LG_STRING LG_SIZE(16), tick calls, void *user LG_FOR_CALL);\n\
                  int boxed(struct box *box LG_INOUT, tick calls, void *user LG_FOR_CALL);\nint kept(struct kept *kept LG_INOUT LG_KEPT, tick calls, void *user LG_FOR_CALL);\n\
                  int over(struct kept *kept LG_OUT LG_KEPT LG_RELEASE);\nint bits(struct nest *nest LG_INOUT, tick calls, void *user LG_FOR_CALL);\n\
                  own *own_new(void);\nvoid own_free(own *own LG_RELEASE);\nint other(own **at LG_INOUT, int anew, tick calls, void *user LG_FOR_CALL);\n"
        .replace('@', declared);
    let source = "#include <stdlib.h>\n@int put(struct num *n, tick calls, void *u) { n->a++; calls(u); n->a++; n->in.c[1]++; return 0; }\n\
                  int give(struct num *n, tick calls, void *u) { n->a = 7; calls(u); n->c = 8; return 0; }\n\
                  int fill(unsigned char *b, unsigned n, int *many, tick calls, void *u) { b[0]++; int is = calls(u); b[n - 1]++; return is + *many; }\n\
                  int words(int *all, unsigned n, char *text, tick calls, void *u) { all[0] = 0x102; calls(u); text[1] = 'X'; return all[n - 1]; }\n\
                  int boxed(struct box *x, tick calls, void *u) { x->bytes[0]++; calls(u); x->bytes[1]++; return 0; }\n\
                  int kept(struct kept *k, tick calls, void *u) { k->sum += k->key; calls(u); k->sum++; return k->key; }\nint over(struct kept *k) { return k->sum; }\n\
                  int bits(struct nest *n, tick calls, void *u) { n->in.mode = 7; n->flag = 1; calls(u); n->in.rest++; return n->in.mode; }\n\
                  struct own { int one; };\nown *own_new(void) { return calloc(1, sizeof(own)); }\nvoid own_free(own *o) { free(o); }\n\
                  int other(own **o, int anew, tick calls, void *u) { if (anew) *o = calloc(1, sizeof(own)); calls(u); return 0; }\n"
        .replace('@', declared);
    let host = "#include <stays.h>\n#include <string.h>\n#define CHECK(x) do { if (!(x)) return __LINE__; } while (0)\n\
                static struct num num = {.in = {.c = {1, 1, 1, 1}}};\nstatic unsigned char bytes[100000], some[3];\nstatic int many = 4, all[3];\nstatic char text[16] = \"abcd\";\n\
                static struct box box;\nstatic struct kept it;\nstatic int calls;\nstatic struct nest nest;\nstatic own *mine;\n\
                static int bit(void *user) { (void)user; nest.k = 4, nest.in.n = 5, nest.in.seen[4] = 1, nest.in.last = 6; return 1; }\n\
                static int exchange(void *user) { mine = user; return 1; }\n\
                static int turn(void *user)\n{\n    if (calls++ == 0 && user)\n        fill(bytes + 1, 99998, &many, turn, 0);\n    num.b += 5, num.in.s = 3, num.in.c[2] = 9;\n    \
                bytes[3] += 9, many += 2, all[0] = 0x2ff, all[1] = 6, text[2] = 'Y', some[0] = 50, some[1] = 60, some[2] = 70, it.key = 30;\n    return 1;\n}\n\
                int main(void)\n{\n    CHECK(put(&num, turn, 0) == 0 && num.a == 2 && num.b == 5 && num.in.s == 3);\n    \
                CHECK(num.in.c[0] == 1 && num.in.c[1] == 2 && num.in.c[2] == 9);\n    CHECK(give(&num, turn, 0) == 0 && num.a == 7 && num.b == 10 && num.c == 8);\n    \
                /* A call within the call has written there, and before it the program. */\n    memset(bytes, 0, sizeof bytes), many = 4, calls = 0;\n    \
                CHECK(fill(bytes, 100000, &many, turn, &num) == 5 && bytes[0] == 1 && bytes[1] == 1 && bytes[3] == 18 && bytes[99998] == 1 && bytes[99999] == 1 && many == 8);\n    \
                all[0] = 0x100, all[1] = 0, strcpy(text, \"abcd\");\n    CHECK(words(all, 3, text, turn, 0) == 0 && all[0] == 0x102 && all[1] == 6 && !strcmp(text, \"aXYd\"));\n    \
                box.bytes = some, box.n = 3, some[0] = 1, some[1] = 1, some[2] = 1;\n    CHECK(boxed(&box, turn, 0) == 0 && some[0] == 2 && some[1] == 2 && some[2] == 70);\n    \
                /* The library hears of it by the next call. */\n    it.in = text, it.key = 20;\n    CHECK(kept(&it, turn, 0) == 20 && it.key == 30 && it.sum == 21);\n    \
                CHECK(kept(&it, turn, 0) == 30 && it.sum == 52 && over(&it) == 52);\n    \
                /* Bit-fields are numbers apart from what is beside them. */\n    CHECK(bits(&nest, bit, 0) == 7 && nest.in.mode == 7 && nest.in.rest == 1 && nest.flag == 1);\n    \
                CHECK(nest.k == 4 && nest.in.n == 5 && nest.in.seen[4] == 1 && nest.in.last == 6);\n    \
                /* Handles are as numbers. */\n    own *one = own_new(), *two = own_new();\n    CHECK(one && two);\n    mine = one;\n    CHECK(other(&mine, 0, exchange, two) == 0 && mine == two);\n    \
                CHECK(other(&mine, 1, exchange, one) == 0 && mine && mine != one && mine != two);\n    own_free(mine), own_free(one), own_free(two);\n    return 0;\n}\n";
    made("stays", &["-O0", "-fsanitize=address"], [&header, &source, host]);
}

/// The same of the functions of a stream of the program's own, where the library has no other function to call.
#[test]
fn what_a_streams_function_writes_stays() {
    let header = "#include <lockgate/annotations.h>\n#include <stdio.h>\nLG_DOMAIN(\"flows\");\nLG_ERRORS(int, -1);\nstruct num { int a, b; };\n\
                  int put(FILE *file, struct num *num LG_INOUT, int buffered);\n";
    let source = "#include <stdio.h>\nstruct num { int a, b; };\nint put(FILE *f, struct num *n, int buffered) {\n    \
                  n->a = buffered ? setvbuf(f, 0, _IOFBF, 64) : 1;\n    n->a++;\n    return fwrite(\"text\", 1, 4, f) == 4 ? 0 : 1;\n}\n";
    let host = "#define _GNU_SOURCE\n#include <flows.h>\n#define CHECK(x) do { if (!(x)) return __LINE__; } while (0)\nstatic struct num num;\n\
                static ssize_t more(void *cookie, const char *bytes, size_t n) { (void)cookie, (void)bytes; num.b += (int)n; return (ssize_t)n; }\n\
                int main(void)\n{\n    FILE *file = fopencookie(0, \"w\", (cookie_io_functions_t){.write = more});\n    CHECK(file && setvbuf(file, 0, _IONBF, 0) == 0);\n    \
                CHECK(put(file, &num, 0) == 0 && num.a == 2 && num.b == 4);\n    \
                /* What the library has in a buffer of its own, the stream gets when the call ends. */\n    \
                CHECK(put(file, &num, 1) == 0 && num.a == 1 && num.b == 8);\n    return 0;\n}\n";
    made("flows", &["-O0", "-fsanitize=address"], [header, source, host]);
}

/// An object that a callback frees is written when the call ends: the client cannot know, and AddressSanitizer says it.
#[test]
fn what_a_callback_frees_is_the_calls() {
    let header = "#include <lockgate/annotations.h>\nLG_DOMAIN(\"frees\");\nLG_ERRORS(int, -1);\ntypedef int (*tick)(void *user);\nstruct num { int a, b; };\n\
                  int put(struct num *num LG_OUT, tick calls, void *user LG_FOR_CALL);\n";
    let source = "struct num { int a, b; };\nint put(struct num *n, int (*calls)(void *), void *user) { n->a = 1; return calls(user); }\n";
    let host = "#define _GNU_SOURCE\n#include <frees.h>\n#include <stdlib.h>\n#include <string.h>\n#include <sys/wait.h>\n#include <unistd.h>\n\
                #define CHECK(x) do { if (!(x)) return __LINE__; } while (0)\nstatic struct num *num;\n\
                static int gives_it_up(void *user) { free(user); return 0; }\nstatic int nothing(void *user) { (void)user; return 0; }\n\
                static int child(int (*calls)(void *), char *said, size_t most)\n{\n    int ends[2], status = 0;\n    ssize_t got;\n    size_t n = 0;\n    if (pipe(ends) != 0)\n        return -1;\n    \
                pid_t own = fork();\n    if (own == 0) {\n        dup2(ends[1], 2), close(ends[0]), close(ends[1]);\n        num = calloc(1, sizeof *num);\n        _exit(put(num, calls, num) != 0);\n    }\n    \
                close(ends[1]);\n    while ((got = read(ends[0], said + n, most - n - 1)) > 0)\n        n += (size_t)got;\n    said[n] = 0, close(ends[0]);\n    \
                return waitpid(own, &status, 0) == own && WIFEXITED(status) ? WEXITSTATUS(status) : -1;\n}\n\
                int main(void)\n{\n    static char said[1 << 16];\n    CHECK(child(nothing, said, sizeof said) == 0 && !*said);\n    \
                CHECK(child(gives_it_up, said, sizeof said) == 1 && strstr(said, \"heap-use-after-free\") && strstr(said, \"gives_it_up\"));\n    return 0;\n}\n";
    made("frees", &["-O0", "-fsanitize=address"], [header, source, host]);
}

/// A release may say by its result that the library has the handle still. If it has not, its next handle may be at the same address.
#[test]
fn what_a_release_says_holds_up_no_other_handle() {
    let declared = "typedef struct own own;\ntypedef struct two two;\ntypedef int (*tick)(void *user);\n";
    let header = "#include <lockgate/annotations.h>\nLG_DOMAIN(\"says\");\nLG_ERRORS(int, -1);\n@own *own_new(void);\n_Bool own_free(own *own LG_RELEASE);\n\
                  int own_on(own *own, tick calls, void *user);\nint own_go(own *own);\ntwo *two_new(void);\nint two_free(two *two LG_RELEASE);\n\
                  int two_on(two *two, tick calls, void *user);\nint two_go(two *two);\n"
        .replace('@', declared);
    let source = "@struct own { tick calls; void *user; };\nstruct two { tick calls; void *user; };\nstatic struct own one;\nstatic struct two two_;\n\
                  own *own_new(void) { return &one; }\n_Bool own_free(own *o) { o->calls = 0; return 1; }\nint own_on(own *o, tick calls, void *user) { o->calls = calls, o->user = user; return 0; }\n\
                  int own_go(own *o) { return o->calls(o->user); }\ntwo *two_new(void) { return &two_; }\nint two_free(two *o) { (void)o; return 19; }\n\
                  int two_on(two *o, tick calls, void *user) { o->calls = calls, o->user = user; return 0; }\nint two_go(two *o) { return o->calls(o->user); }\n"
        .replace('@', declared);
    let host = "#include <says.h>\n#define CHECK(x) do { if (!(x)) return __LINE__; } while (0)\nstatic int number(void *user) { return *(int *)user; }\n\
                int main(void)\n{\n    int first = 1, second = 2;\n    for (int i = 0; i < 3; i++) {\n        own *own = own_new();\n        \
                CHECK(own && own_on(own, number, &first) == 0 && own_go(own) == 1 && own_free(own) && own_go(own) == -1);\n        \
                two *two = two_new();\n        CHECK(two && two_on(two, number, &first) == 0 && two_go(two) == 1 && two_free(two) == 19);\n    }\n    \
                /* The library may have it, and then it is as good as before; but what was given for it has ended. */\n    two *two = two_new();\n    \
                CHECK(two_on(two, number, &first) == 0 && !two_new() && two_free(two) == 19 && two_go(two) == -1);\n    CHECK(two_on(two, number, &first) == 0 && two_go(two) == 1);\n    \
                /* Given anew, it is another, and the first is none. */\n    struct two *other = two_new();\n    \
                CHECK(other && other != two && two_go(two) == -1 && two_go(other) == -1 && two_on(other, number, &second) == 0 && two_go(other) == 2 && two_go(two) == -1);\n    \
                CHECK(!two_new() && two_free(other) == 19);\n    return 0;\n}\n";
    made("says", &["-O0", "-fsanitize=address"], [&header, &source, host]);
}

/// Handles may lie side by side in an array of the library's, four bytes apart; what no structure can be aligned to is refused, and said.
#[test]
fn handles_are_four_bytes_apart() {
    let header = "#include <lockgate/annotations.h>\nLG_DOMAIN(\"four\");\nLG_ERRORS(int, -1);\nstruct slot;\n\
                  struct slot *slot_new(int value);\nint slot_value(struct slot *slot);\nvoid slot_free(struct slot *slot LG_RELEASE);\nstruct slot *slot_odd(void);\n";
    let source = "struct slot { int value; };\nstatic struct slot all[64];\nstatic int used;\n\
                  struct slot *slot_new(int value) { all[used].value = value; return &all[used++]; }\nint slot_value(struct slot *slot) { return slot->value; }\n\
                  void slot_free(struct slot *slot) { slot->value = -2; }\nvoid *slot_odd(void) { return (char *)all + 2; }\n";
    let host = "#include <four.h>\n#include <string.h>\n#define CHECK(x) do { if (!(x)) return __LINE__; } while (0)\n\
                int main(void)\n{\n    struct slot *slots[64];\n    for (int i = 0; i < 64; i++)\n        CHECK(slots[i] = slot_new(100 + i));\n    \
                for (int i = 0; i < 64; i += 2)\n        slot_free(slots[i]);\n    for (int i = 0; i < 64; i++)\n        \
                CHECK(slot_value(slots[i]) == (i % 2 ? 100 + i : -1));\n    \
                CHECK(!slot_odd() && strstr(lg_four_error()->message, \"no multiple of 4\"));\n    return 0;\n}\n";
    made("four", &["-O0"], [header, source, host]);
}

/// A client for whose compiler a type, a number or what a function promises is another than for the generator does not compile.
#[test]
fn a_client_is_compiled_with_the_types_that_were_read() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let header = "#include <lockgate/annotations.h>\n#include <stddef.h>\nLG_DOMAIN(\"asread\");\nLG_ERRORS(int, -1);\n\
                  #ifdef WIDE\ntypedef long cell;\n#else\ntypedef int cell;\n#endif\n\
                  #ifdef OLD\ntypedef unsigned char flag;\n#else\ntypedef _Bool flag;\n#endif\n\
                  #ifdef UNSIGNED\ntypedef unsigned ordinal;\n#else\ntypedef int ordinal;\n#endif\n\
                  #ifdef SMALLER\n#define ROOM 64\n#define BAD (-7)\nenum { PLACES = 64 };\n#else\n#define ROOM 512\n#define BAD (-1)\nenum { PLACES = 512 };\n#endif\n\
                  struct one { int n; };\nstruct two { int n[64]; };\n\
                  #ifdef OTHERS\ntypedef double real;\ntypedef struct two which;\ntypedef long *place;\ntypedef long element;\n\
                  #else\ntypedef float real;\ntypedef struct one which;\ntypedef int *place;\ntypedef int element;\n#endif\n\
                  struct holder { element *items; int n; };\nLG_FIELD(holder, items, LG_IN LG_SIZE(n));\nint holds(struct holder *h LG_INOUT);\n\
                  real scales(real x);\nint sums(const real *all LG_IN LG_SIZE(n), int n);\nint sets(which *which LG_INOUT);\nint counts_on(place p LG_INOUT LG_SIZE(n), int n);\n\
                  /* What libclang does not read, though it is there for the compiler of the program. */\n\
                  #ifdef ENDS\n#define FOR_GCC(x) __attribute__((x))\n#else\n#define FOR_GCC(x)\n#endif\nstruct thing;\n\
                  #if ENDS == 1\nvoid dies(int x) FOR_GCC(noreturn);\n#elif ENDS == 2\nstruct thing *gives(void) FOR_GCC(returns_nonnull);\n\
                  #elif ENDS == 3\nint counts(int x) FOR_GCC(const);\n#elif ENDS == 4\nint counts(int x) FOR_GCC(leaf);\n#elif ENDS == 5\nstruct thing *gives(void) FOR_GCC(assume_aligned(64));\n#endif\n\
                  void dies(int x);\nstruct thing *gives(void);\nint counts(int x);\n\
                  int fills(char *to LG_OUT LG_SIZE(ROOM) LG_WRITTEN(ROOM));\nint places(char *to LG_OUT LG_SIZE(PLACES) LG_WRITTEN(PLACES));\nint code(int x) LG_ERROR(BAD);\n\
                  struct flags { flag one, some[3]; };\nint flags(struct flags *flags LG_OUT);\nint ordinals(ordinal *n LG_OUT);\n\
                  enum kind { SMALL = 1, LARGE = 200 };\nstruct pair { char c; enum kind kind; };\nstruct wide { int a; double b; };\n\
                  enum kind kind(enum kind kind) LG_ERROR(SMALL);\nint pair(struct pair *pair LG_OUT);\nint wide(struct wide *wide LG_INOUT);\n\
                  int cells(cell *cells LG_INOUT LG_SIZE(n), int n);\nint letters(wchar_t *text LG_INOUT LG_SIZE(n), int n);\n";
    std::fs::write(folder.path().join("asread.h"), header).expect("a file");
    let client = folder.path().join("client");
    let mut stubs = lockgate();
    stubs.arg("stubs").arg(folder.path().join("asread.h")).args(["-m", "asread.lg", "-o"]).arg(&client);
    done(&mut stubs).expect("stubs");
    for (option, named) in [
        ("-O1", None),
        ("-funsigned-char", None),
        ("-fshort-enums", Some("enum kind is another type than `lockgate stubs` has read")),
        ("-fpack-struct", Some("struct pair is another type than `lockgate stubs` has read")),
        ("-fpack-struct=4", Some("struct wide is another type than `lockgate stubs` has read")),
        ("-fshort-wchar", Some("wchar_t is another type than `lockgate stubs` has read")),
        ("-DWIDE", Some("cell is another type than `lockgate stubs` has read")),
        ("-DOLD", Some("struct flags is another type than `lockgate stubs` has read")),
        ("-DUNSIGNED", Some("ordinal is another type than `lockgate stubs` has read")),
        ("-DSMALLER", Some("ROOM is another number than `lockgate stubs` has read")),
        ("-DSMALLER", Some("BAD is another number than `lockgate stubs` has read")),
        ("-DSMALLER", Some("PLACES is another number than `lockgate stubs` has read")),
        ("-DOTHERS", Some("scales is declared with other types than `lockgate stubs` has read")),
        ("-DOTHERS", Some("sums is declared with other types than `lockgate stubs` has read")),
        ("-DOTHERS", Some("sets is declared with other types than `lockgate stubs` has read")),
        ("-DOTHERS", Some("counts_on is declared with other types than `lockgate stubs` has read")),
        (
            "-DOTHERS",
            Some("struct holder, field items, is declared with other types than `lockgate stubs` has read"),
        ),
        ("-DENDS=1", Some("dies is declared noreturn here, and `lockgate stubs` has not read that")),
        ("-DENDS=2", Some("gives is declared returns_nonnull here, and `lockgate stubs` has not read that")),
        (
            "-DENDS=3",
            Some("counts is declared pure, const or leaf here, and `lockgate stubs` has not read that"),
        ),
        (
            "-DENDS=4",
            Some("counts is declared pure, const or leaf here, and `lockgate stubs` has not read that"),
        ),
        (
            "-DENDS=5",
            Some(
                "gives is declared assume_aligned or alloc_align here, and `lockgate stubs` has not read that",
            ),
        ),
    ] {
        let mut compile = Command::new("gcc");
        compile
            .args(["-std=gnu11", "-w", "-fsyntax-only", option])
            .arg("-I")
            .arg(&client)
            .arg("-I")
            .arg(folder.path());
        compile.arg(format!("-I{}", corpus().root().join("crates/lockgate-headers/include").display()));
        compile.arg("-I").arg(prefix().join("include")).arg(client.join("asread_client.c"));
        let output = compile.output().expect("gcc");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), named.is_none(), "{option}: {said}");
        if let Some(named) = named {
            assert!(said.contains(named), "{option}: {said}");
        }
    }
}

/// A structure that the library remembers for a handle ends with it, is what was given for that handle, and may be const; and a function in it takes what is said of it.
#[test]
fn what_is_kept_for_a_handle_ends_with_it() {
    let header = "#include <lockgate/annotations.h>\n#include <stddef.h>\nLG_DOMAIN(\"kept\");\nLG_ERRORS(int, -1);\n\
                  struct ops { int (*number)(void *user, const char *text, size_t n); long what, room[4000]; };\nstruct parser;\n\
                  LG_FIELD_CALLBACK(struct ops, number, (void *user, const char *text LG_SIZE(n), size_t n));\n\
                  struct parser *begin(const struct ops *ops LG_KEPT, void *user LG_DATA);\nint go(struct parser *p, const char *text);\n\
                  int change(struct parser *p, const struct ops *ops LG_IN LG_KEPT);\nvoid finish(struct parser *p LG_RELEASE);\n";
    let source = "#include <stdlib.h>\n#include <string.h>\nstruct ops { int (*number)(void *, const char *, size_t); long what, room[4000]; };\n\
                  struct parser { const struct ops *ops; void *user; };\n\
                  void *begin(const struct ops *ops, void *user) { struct parser *p = malloc(sizeof *p); *p = (struct parser){ops, user}; return ops->what < 0 ? 0 : p; }\n\
                  int go(struct parser *p, const char *text) { return p->ops->number(p->user, text, strlen(text)) + (int)p->ops->what; }\n\
                  int change(struct parser *p, const struct ops *ops) { p->ops = ops; return 0; }\nvoid finish(struct parser *p) { free(p); }\n";
    let host = "#include <kept.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nstatic int user;\n\
                static int one(void *data, const char *text, size_t n) { return data == &user && n == 2 && memcmp(text, \"42\", 2) == 0 ? 1 : -100; }\n\
                static int two(void *data, const char *text, size_t n) { return 2 * one(data, text, n); }\n\
                int main(void)\n{\n    struct ops first = {.number = one, .what = 10}, second = {.number = two, .what = 20};\n    \
                struct parser *stays = begin(&first, &user), *other = begin(&second, &user);\n    \
                if (go(stays, \"42\") != 11 || go(other, \"42\") != 22)\n        return 1;\n    \
                /* More than there is room for at a time, at as many places, and where none was made. */\n    \
                enum { ALL = 36000 };\n    struct ops *all = calloc(ALL, sizeof *all);\n    \
                for (int i = 0; i < ALL; i++) {\n            all[i].number = two;\n            all[i].what = i % 5 ? i : -1;\n            \
                struct parser *p = begin(&all[i], &user);\n            if (!p != !(i % 5) || (p && go(p, \"42\") != 2 + i)) {\n                \
                printf(\"%d %s\\n\", i, lg_kept_error()->message);\n                return 2;\n            }\n            finish(p);\n        }\n    \
                if (go(stays, \"42\") != 11 || change(stays, &second) || go(stays, \"42\") != 22)\n        return 3;\n    \
                finish(other);\n    return go(stays, \"42\") != 22;\n}\n";
    made("kept", &["-O0"], [header, source, host]);
}

/// A call that fails is heard as a failure: no size builds on what an earlier one said, nor does an error jump to where an earlier one led.
#[test]
fn what_was_heard_before_a_failure_counts_no_more() {
    let header = "#include <lockgate/annotations.h>\nLG_ERRORS(int, -1);\n#include <setjmp.h>\n#include <stddef.h>\ntypedef struct thing thing;\n\
                  typedef void (*jumper)(jmp_buf env LG_JUMP, int value);\nthing *thing_new(void);\nvoid thing_free(thing *t LG_RELEASE);\n\
                  jmp_buf *thing_jump(thing *t, jumper by, size_t size) LG_JUMP_BUFFER(t);\nint thing_stop(thing *t LG_JUMPS);\n\
                  size_t thing_size(thing *t, int how);\nvoid thing_wide(thing *t, int n);\n\
                  int thing_both(thing *t, int how, unsigned *w LG_OUT, unsigned *h LG_OUT);\n\
                  int thing_fill(thing *t, unsigned char *p LG_INOUT LG_SIZE(lg_told(thing_size, t, lg_result)));\n\
                  int thing_row(thing *t, unsigned char *p LG_INOUT LG_SIZE(lg_told(thing_both, t, w)));\n\
                  int thing_said(thing *t, unsigned char *p LG_INOUT LG_SIZE(lg_told(thing_wide, t, n)));\n\
                  int thing_put(thing *t, const char *p LG_IN LG_SIZE(lg_told(thing_wide, t, lg_called) ? 64 : 8));\n";
    let source = "#include <string.h>\n#include <stddef.h>\nstatic long h[64]; static int made, jumps; static char env[256];\n\
                  static int crash(int how) { if (how) *(volatile int *)8 = 1; return how; }\n\
                  void *thing_new(void) { return h + 8 * made++; }\nvoid thing_free(void *t) {}\n\
                  void *thing_jump(void *t, void *by, size_t size) { crash(jumps++); return env; }\nint thing_stop(void *t) { return crash(1); }\n\
                  size_t thing_size(void *t, int how) { crash(how); return 64; }\nvoid thing_wide(void *t, int n) { crash(n < 0); }\n\
                  int thing_both(void *t, int how, unsigned *w, unsigned *h) { crash(how); if (w) *w = 64; if (h) *h = 1; return 0; }\n\
                  int thing_fill(void *t, unsigned char *p) { memset(p, 'x', 64); return 1; }\n\
                  int thing_row(void *t, unsigned char *p) { memset(p, 'x', 64); return 1; }\n\
                  int thing_said(void *t, unsigned char *p) { return 1; }\nint thing_put(void *t, const char *p) { return 1; }\n";
    let host = "#include <heard.h>\n#include <lockgate_stubs.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
                #define CHECK(x) do { if (!(x)) { printf(\"line %d: %s; %s\\n\", __LINE__, #x, lg_heard_error()->message); return 1; } } while (0)\n\
                #define REFUSED(x) CHECK((x) == -1 && lg_heard_error()->kind == LG_STUB_SIZE)\n\
                int main(void)\n{\n    setbuf(stdout, NULL);\n    thing *t = thing_new();\n    unsigned w = 0, h = 0;\n    unsigned char *room = malloc(64);\n    char line[64] = \"\";\n\
                    CHECK(thing_put(t, line) == 1);\n    CHECK(thing_size(t, 0) == 64 && thing_fill(t, room) == 1);\n\
                    CHECK(thing_both(t, 0, &w, &h) == 0 && w == 64 && thing_row(t, room) == 1);\n\
                    /* The program asked for nothing: what it knows is what it heard before. */\n\
                    CHECK(thing_both(t, 0, NULL, &h) == 0 && thing_row(t, room) == 1 && thing_both(t, 1, NULL, &h) == -1 && thing_row(t, room) == 1);\n\
                    thing_wide(t, 64);\n    CHECK(thing_said(t, room) == 1 && thing_put(t, line) == 1);\n\
                    size_t size = thing_size(t, 1);\n    w = 0;\n    CHECK(size == 0);\n    CHECK(thing_both(t, 1, &w, &h) == -1 && w == 0);\n    thing_wide(t, -1);\n\
                    room = realloc(room, 8);\n    memset(room, 'o', 8);\n\
                    REFUSED(thing_fill(t, room));\n    REFUSED(thing_row(t, room));\n    REFUSED(thing_said(t, room));\n    REFUSED(thing_put(t, line));\n\
                    CHECK(memcmp(room, \"oooooooo\", 8) == 0);\n\
                    thing *other = thing_new();\n    thing_wide(other, -1);\n    REFUSED(thing_put(other, line));\n\
                    room = realloc(room, 64);\n    CHECK(thing_size(t, 0) == 64 && thing_fill(t, room) == 1 && thing_put(other, line) == -1);\n\
                    jmp_buf *env = thing_jump(t, longjmp, sizeof(jmp_buf));\n    CHECK(env);\n    if (setjmp(*env)) {\n        puts(\"jumped to a jmp_buf of an earlier call\");\n        return 1;\n    }\n\
                    volatile int lands = 0;\n    if ((lands = setjmp(*thing_jump(t, longjmp, sizeof(jmp_buf)))) == 0)\n        thing_stop(t);\n    CHECK(lands == 1);\n    free(room);\n    thing_free(t);\n    thing_free(other);\n    return 0;\n}\n";
    made("heard", &["-O0", "-fsanitize=address", "-fsanitize-recover=address"], [header, source, host]);
}

/// Whatever frames a callback leaves by a jump or by its thread's end, the domain restarts.
#[test]
fn a_size_that_is_left_holds_up_no_restart() {
    let header = "#include <lockgate/annotations.h>\nLG_ERRORS(int, -1);\n#include <stddef.h>\nLG_DOMAIN(\"left\", restart);\ntypedef struct thing thing;\n\
                  typedef int (*visit)(void *data, int n);\nthing *thing_new(void);\nint thing_set(thing *t, visit f, void *data LG_DATA);\n\
                  size_t thing_size(thing *t);\nconst void *thing_get(thing *t) LG_SIZE(thing_size(t));\nint thing_crash(int really);\n";
    let source = "#include <stddef.h>\nstatic long h[8]; static int (*f)(void *, int); static void *data;\nvoid *thing_new(void) { f = 0; return h; }\n\
                  int thing_set(void *t, int (*g)(void *, int), void *d) { f = g, data = d; return 0; }\n\
                  size_t thing_size(void *t) { if (f) f(data, 1); return 8; }\nvoid *thing_get(void *t) { return h; }\n\
                  int thing_crash(int really) { if (really) *(volatile int *)8 = 1; return 1; }\n";
    let host = "#include <left.h>\n#include <pthread.h>\n#include <setjmp.h>\n#include <stdio.h>\n#include <unistd.h>\n\
                static _Thread_local jmp_buf back; static int how, fine;\n\
                static int f(void *data, int n)\n{\n    fine += *(const char *)data == 'd';\n    if (how == 1)\n        longjmp(back, 1);\n    if (how == 2)\n        pthread_exit(0);\n    return n;\n}\n\
                static void *work(void *unused)\n{\n    thing *t = thing_new();\n    thing_set(t, f, \"data\");\n    if (!setjmp(back))\n        thing_get(t);\n    return unused;\n}\n\
                int main(void)\n{\n    /* (What hangs ends.) */\n    alarm(60);\n    for (how = 0; how < 3; how++) {\n        pthread_t thread;\n        pthread_create(&thread, 0, work, 0);\n        pthread_join(thread, 0);\n        \
                if (fine != how + 1 || thing_crash(1) != -1 || thing_crash(0) != 1)\n            return how + 1;\n    }\n    /* The same thread. */\n    how = 1;\n    work(0);\n    return thing_crash(1) == -1 && thing_crash(0) == 1 ? 0 : 4;\n}\n";
    made("left", &["-O2"], [header, source, host]);
}

/// A thread that is cancelled while a release waits for a callback takes no lock along.
#[test]
fn a_release_that_is_cancelled_hangs_nobody() {
    let header = "#include <lockgate/annotations.h>\nLG_ERRORS(int, -1);\ntypedef struct thing thing;\ntypedef struct part part;\n\
                  typedef void (*visit)(void *data, int n);\nthing *thing_new(void);\npart *thing_part(thing *t);\n\
                  void thing_free(thing *t LG_RELEASE);\nint thing_set(thing *t, visit f, void *data LG_DATA);\nint part_run(part *p);\n";
    let source = "static long h[64]; static int made; static void (*f)(void *, int); static void *data;\nvoid *thing_new(void) { return h + 8 * made++; }\n\
                  void *thing_part(void *t) { return thing_new(); }\nvoid thing_free(void *t) {}\n\
                  int thing_set(void *t, void (*g)(void *, int), void *d) { f = g, data = d; return 0; }\nint part_run(void *p) { f(data, 1); return 1; }\n";
    let host = "#include <cancel.h>\n#include <dirent.h>\n#include <pthread.h>\n#include <semaphore.h>\n#include <stdio.h>\n#include <string.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n\
                static thing *t; static part *p; static sem_t in, on; static volatile int releaser;\n\
                static void f(void *data, int n)\n{\n    (void)data, (void)n;\n    sem_post(&in);\n    sem_wait(&on);\n}\n\
                static void *run(void *unused)\n{\n    return part_run(p) == 1 ? unused : \"failed\";\n}\n\
                static void *release(void *unused)\n{\n    releaser = (int)syscall(SYS_gettid);\n    thing_free(t);\n    pthread_testcancel();\n    return unused;\n}\n\
                /* The thread sleeps in a futex: it waits. */\n\
                static int waits(void)\n{\n    char path[64], text[64] = \"\";\n    snprintf(path, sizeof path, \"/proc/self/task/%d/syscall\", releaser);\n    FILE *file = releaser ? fopen(path, \"r\") : 0;\n    \
                if (file) {\n        fgets(text, sizeof text, file);\n        fclose(file);\n    }\n    return strncmp(text, \"202 \", 4) == 0;\n}\n\
                int main(void)\n{\n    alarm(60);\n    sem_init(&in, 0, 0);\n    sem_init(&on, 0, 0);\n    t = thing_new();\n    p = thing_part(t);\n    thing_set(t, f, \"data\");\n    \
                pthread_t runs, releases;\n    pthread_create(&runs, 0, run, 0);\n    sem_wait(&in);\n    pthread_create(&releases, 0, release, 0);\n    while (!waits())\n        sched_yield();\n    \
                pthread_cancel(releases);\n    for (int i = 0; i < 1000; i++)\n        sched_yield();\n    sem_post(&on);\n    void *first, *second;\n    pthread_join(releases, &second);\n    pthread_join(runs, &first);\n    \
                return second == PTHREAD_CANCELED && !first && thing_new() ? 0 : 1;\n}\n";
    made("cancel", &["-O0"], [header, source, host]);
}

/// Of two pointers each goes to the callback that it stands beside, and to no other; one goes to all callbacks of its call.
#[test]
fn data_goes_to_the_callback_beside_it() {
    let header = "#include <lockgate/annotations.h>\nLG_ERRORS(int, -1);\ntypedef struct thing thing;\ntypedef int (*reader)(void *data, const char *text LG_STRING);\n\
                  typedef int (*writer)(void *data, int n);\nthing *thing_new(void);\n\
                  int copy(reader r, void *rdata LG_DATA, writer w, void *wdata LG_DATA, int how);\n\
                  int copied(thing *t, void *rdata LG_DATA, reader r, void *wdata LG_DATA, writer w, int how);\n\
                  int brief(thing *t, reader r, void *rdata LG_DATA LG_FOR_CALL, writer w, void *wdata LG_DATA LG_FOR_CALL, int how);\n\
                  int both(thing *t, reader r, writer w, void *data LG_DATA, int how);\n\
                  struct ops { reader r; void *rdata; writer w; void *wdata; };\nLG_FIELD(struct ops, rdata, LG_DATA);\nLG_FIELD(struct ops, wdata, LG_DATA);\n\
                  int set(thing *t, const struct ops *ops LG_IN);\nint go(thing *t, int how);\n";
    let source = "typedef int (*reader)(void *, const char *); typedef int (*writer)(void *, int);\nstruct ops { reader r; void *rdata; writer w; void *wdata; };\n\
                  static struct ops o; static long h[64]; static int made;\nvoid *thing_new(void) { return h + 8 * made++; }\n\
                  int go(void *t, int how) { return how == 0 ? o.r(o.rdata, \"r\") : how == 1 ? o.w(o.wdata, 1) : how == 2 ? o.r(o.wdata, \"r\") : how == 3 ? o.w(o.rdata, 1) : o.w(0, 1); }\n\
                  int set(void *t, const struct ops *ops) { o = *ops; return 0; }\n\
                  int copy(reader r, void *rd, writer w, void *wd, int how) { o = (struct ops){r, rd, w, wd}; return go(0, how); }\n\
                  int copied(void *t, void *rd, reader r, void *wd, writer w, int how) { return copy(r, rd, w, wd, how); }\n\
                  int brief(void *t, reader r, void *rd, writer w, void *wd, int how) { return copy(r, rd, w, wd, how); }\n\
                  int both(void *t, reader r, writer w, void *d, int how) { return copy(r, d, w, d, how); }\n";
    let host = "#include <pairs.h>\n#include <lockgate_stubs.h>\n#include <stdio.h>\n\
                #define CHECK(x) do { if (!(x)) { printf(\"line %d: %s; %s\\n\", __LINE__, #x, lg_pairs_error()->message); return 1; } } while (0)\n\
                static char one, two;\nstatic int wrong;\n\
                static int rd(void *data, const char *text)\n{\n    wrong += data != &one || *text != 'r';\n    return 10;\n}\n\
                static int wr(void *data, int n)\n{\n    wrong += data != &two;\n    return 20 * n;\n}\n\
                static int any(void *data, int n)\n{\n    wrong += data != &one;\n    return 30 * n;\n}\n\
                int main(void)\n{\n    static const int right[] = {10, 20, -1, -1, -1};\n    for (int how = 0; how < 5; how++) {\n        \
                CHECK(copy(rd, &one, wr, &two, how) == right[how]);\n        CHECK(copied(thing_new(), &one, rd, &two, wr, how) == right[how]);\n        \
                CHECK(brief(thing_new(), rd, &one, wr, &two, how) == right[how]);\n        struct ops ops = {rd, &one, wr, &two};\n        thing *t = thing_new();\n        \
                CHECK(set(t, &ops) == 0 && go(t, how) == right[how]);\n    }\n    thing *t = thing_new();\n    CHECK(both(t, rd, any, &one, 0) == 10 && both(t, rd, any, &one, 1) == 30 && both(t, 0, any, &one, 1) == 30);\n    \
                /* Given for two, it is not given for a third. */\n    CHECK(both(thing_new(), rd, any, &one, 1) == 30 && both(thing_new(), rd, 0, &one, 0) == 10);\n    CHECK(wrong == 0);\n    return 0;\n}\n";
    made("pairs", &["-O0", "-fsanitize=address,undefined"], [header, source, host]);
    // An order that says nothing.
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("api.h");
    let text = "#include <lockgate/annotations.h>\ntypedef int (*visit)(void *data, int n);\n\
                int walk(visit f, void *one LG_DATA, void *two LG_DATA, visit g);\n";
    std::fs::write(&path, text).expect("a file");
    let mut stubs = lockgate();
    stubs.arg("stubs").arg(&path).args(["-m", "/m.lg", "-o"]).arg(folder.path().join("client"));
    let said = done(&mut stubs).expect_err("it is refused").to_string();
    assert!(said.contains("which callback gets which of the program's data"), "{said}");
}

/// One pointer in a structure is for the functions in it, as one among parameters is: not for those that came alone, nor for another structure's. What comes with
/// functions that are null is for none.
#[test]
fn data_in_a_structure_is_for_its_functions() {
    let header = "#include <lockgate/annotations.h>\nLG_ERRORS(int, -1);\ntypedef struct thing thing;\ntypedef int (*reader)(void *data, int n);\n\
                  struct one { void *data; reader r; };\nstruct two { reader r; int n; void *data; };\nLG_FIELD(struct one, data, LG_DATA);\nLG_FIELD(struct two, data, LG_DATA);\n\
                  thing *thing_new(void);\nint set_one(thing *t, const struct one *o LG_IN);\nint set_two(thing *t, const struct two *o LG_IN);\n\
                  int set_user(thing *t, void *user LG_DATA);\nint set_event(thing *t, reader r);\nint set_both(thing *t, reader r, void *data LG_DATA);\nint go(thing *t, int function, int data);\n";
    let source = "#include <lockgate/annotations.h>\n#include \"within.h\"\nstatic reader f[4]; static void *d[4]; static long h[64]; static int made;\n\
                  thing *thing_new(void) { return (thing *)(h + 8 * made++); }\nint set_one(thing *t, const struct one *o) { f[0] = o->r, d[0] = o->data; return 0; }\n\
                  int set_two(thing *t, const struct two *o) { f[1] = o->r, d[1] = o->data; return 0; }\nint set_user(thing *t, void *user) { d[2] = user; return 0; }\n\
                  int set_event(thing *t, reader r) { f[2] = r; return 0; }\nint set_both(thing *t, reader r, void *data) { f[3] = r, d[3] = data; return 0; }\n\
                  int go(thing *t, int function, int data) { return f[function](d[data], 1); }\n";
    let host = "#include <within.h>\n#include <lockgate_stubs.h>\n#include <stdio.h>\n\
                #define CHECK(x) do { if (!(x)) { printf(\"line %d: %s; %s\\n\", __LINE__, #x, lg_within_error()->message); return 1; } } while (0)\n\
                static char first, second, user, none;\n\
                static int one(void *data, int n)\n{\n    return data == &first ? n : 99;\n}\n\
                static int two(void *data, int n)\n{\n    return data == &second ? 2 * n : 99;\n}\n\
                static int event(void *data, int n)\n{\n    return data == &user ? 3 * n : 99;\n}\n\
                int main(void)\n{\n    thing *t = thing_new();\n    struct one o = {&first, one};\n    struct two w = {two, 0, &second};\n    \
                CHECK(set_one(t, &o) == 0 && set_two(t, &w) == 0 && set_user(t, &user) == 0 && set_event(t, event) == 0 && set_both(t, 0, &none) == 0);\n    \
                for (int f = 0; f < 3; f++)\n        for (int d = 0; d < 4; d++)\n            CHECK(go(t, f, d) == (f == d ? f + 1 : -1));\n    return 0;\n}\n";
    made("within", &["-O0"], [header, source, host]);
}

/// A string in a structure that the program passes stays the program's where the library leaves it, or moves on within it: no copy, over which the next one would
/// be copied, and which the program could not free. Where a call says that it has failed, pointers that it has left are the program's, and none of them is missing.
#[test]
fn pointers_in_structures_that_are_left_are_the_programs() {
    let header = "#include <lockgate/annotations.h>\nLG_ERRORS(int, -1);\ntypedef struct thing thing;\n\
                  struct line { const char *at LG_STRING LG_BORROWED; int n; };\nstruct told { const char *name LG_STRING LG_BORROWED; thing *of LG_BORROWED; void *user LG_DATA; int n; };\n\
                  thing *thing_new(void);\nint go_on(struct line *l LG_INOUT, int by);\nint set(struct line *l LG_INOUT);\nint tell(thing *t, struct told *o LG_OUT, int how);\nint give(thing *t, const struct told *o LG_IN);\n";
    let source = "#include <lockgate/annotations.h>\n#include \"places.h\"\nstatic long h[8]; static struct told had;\nthing *thing_new(void) { return (thing *)h; }\n\
                  int go_on(struct line *l, int by) { l->n++; if (l->at) l->at += by; return 0; }\nint set(struct line *l) { l->at = \"set\"; return 0; }\nint give(thing *t, const struct told *o) { had = *o; return 0; }\n\
                  int tell(thing *t, struct told *o, int how) { if (how == 1) *o = (struct told){0}; if (how == 2) *o = (struct told){\"told\", t, had.user, 3}; return how == 2 ? 0 : how == 3 ? 0 : -3; }\n";
    let host = "#include <places.h>\n#include <lockgate_stubs.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
                #define CHECK(x) do { if (!(x)) { printf(\"line %d: %s; %s\\n\", __LINE__, #x, lg_places_error()->message); return 1; } } while (0)\n\
                int main(void)\n{\n    char *first = strdup(\"first\"), *second = strdup(\"second\"), *third = strdup(\"third\");\n    struct line a = {first, 1}, b = {second, 1}, c = {third, 1}, none = {0, 1};\n    \
                CHECK(go_on(&a, 0) == 0 && go_on(&b, 0) == 0 && a.at == first && b.at == second && a.n == 2);\n    CHECK(go_on(&b, 3) == 0 && go_on(&c, 5) == 0 && go_on(&a, 1) == 0);\n    \
                CHECK(b.at == second + 3 && c.at == third + 5 && a.at == first + 1 && !strcmp(b.at, \"ond\"));\n    \
                /* Behind its end is not within it; nothing is nothing. */\n    CHECK(go_on(&c, 1) == -1 || c.at != third + 6);\n    CHECK(go_on(&none, 0) == 0 && !none.at && none.n == 2);\n    \
                CHECK(set(&a) == 0 && !strcmp(a.at, \"set\"));\n    free(first), free(second), free(third);\n    \
                thing *t = thing_new();\n    char user;\n    struct told own = {\"own\", t, &user, 7}, o = own;\n    CHECK(t && give(t, &own) == 0);\n    CHECK(tell(t, &o, 0) == -3 && o.name == own.name && o.of == t && o.user == &user && o.n == 7);\n    \
                CHECK(tell(t, &o, 1) == -3 && !o.name && !o.of && !o.user && !o.n);\n    o = own;\n    CHECK(tell(t, &o, 2) == 0 && !strcmp(o.name, \"told\") && o.of == t && o.user == &user && o.n == 3);\n    \
                /* Done, and a name is missing. */\n    CHECK(tell(t, &o, 3) == -1 && lg_places_error()->kind == LG_STUB_NULL);\n    return 0;\n}\n";
    made("places", &["-O0", "-fsanitize=address,undefined"], [header, source, host]);
}

/// How much of a buffer is written is never more than there is: in a structure of the library's, too, and in one that has the program's own buffer, which the library
/// has not got, it is what the program says.
#[test]
fn what_fields_say_was_written_is_there() {
    let header = "#include <lockgate/annotations.h>\n#include <stddef.h>\nLG_ERRORS(int, -1);\n\
                  struct out { size_t n; char *data LG_OUT LG_SIZE(n) LG_WRITTEN(used); size_t used; };\nstruct in { size_t n; const long *data LG_IN LG_SIZE(n) LG_WRITTEN(used) LG_BORROWED; size_t used; };\n\
                  int get(struct out *o LG_OUT, size_t used);\nint fail(struct out *o LG_OUT, size_t used) LG_ERROR(-3);\nconst struct in *show(size_t used) LG_SIZE(1);\n\
                  int call(int (*f)(void *user, const struct in *in LG_IN), void *user LG_DATA, size_t used);\n";
    let source = "#include <lockgate/annotations.h>\n#include \"filled.h\"\nstatic long buffer[4]; static struct in it = {4, buffer, 0};\n\
                  int get(struct out *o, size_t used) { o->used = used; o->n = used; return 0; }\nint fail(struct out *o, size_t used) { o->used = used; return -3; }\n\
                  const struct in *show(size_t used) { it.used = used; return &it; }\nint call(int (*f)(void *, const struct in *), void *user, size_t used) { return f(user, show(used)); }\n";
    let host = "#include <filled.h>\n#include <lockgate_stubs.h>\n#include <stdio.h>\n\
                #define CHECK(x) do { if (!(x)) { printf(\"line %d: %s; %s\\n\", __LINE__, #x, lg_filled_error()->message); return 1; } } while (0)\n\
                static int each(void *user, const struct in *in)\n{\n    (void)user;\n    return (int)in->used;\n}\n\
                int main(void)\n{\n    char own[16];\n    struct out o = {sizeof own, own, 3};\n    CHECK(get(&o, 60000) == 0 && o.n == sizeof own && o.data == own && o.used == 3);\n    \
                CHECK(fail(&o, 60000) == -3 && o.used == 3);\n    const struct in *i = show(4);\n    CHECK(i && i->used == 4 && i->n == 4);\n    \
                CHECK(!show(5) && lg_filled_error()->kind == LG_STUB_LENGTH);\n    CHECK(!show((size_t)1 << 40) && !show((size_t)-1));\n    \
                CHECK(call(each, 0, 4) == 4 && call(each, 0, 5) == -1);\n    return 0;\n}\n";
    made("filled", &["-O0"], [header, source, host]);
}

/// Data in a structure that the library gives is what the program gave in that field, or to the functions that the field names: what it gave elsewhere is of
/// another kind.
#[test]
fn data_comes_back_in_the_field_that_it_was_given_in() {
    let header = "#include <lockgate/annotations.h>\nLG_ERRORS(int, -1);\ntypedef struct thing thing;\ntypedef int (*event)(void *data, int n);\n\
                  struct leaf { int n; void *user LG_DATA; };\nstruct other { int n; void *user LG_DATA; };\nstruct named { int n; void *user LG_DATA LG_GIVEN(on); };\n\
                  thing *thing_new(void);\nint on(thing *t, event f, void *data LG_DATA);\nint put(thing *t, const struct leaf *l LG_IN, void *alone LG_DATA);\nint put_other(thing *t, const struct other *o LG_IN);\nint which(int n);\n\
                  int get(thing *t, struct leaf *l LG_OUT);\nconst struct leaf *show(thing *t) LG_SIZE(1);\nconst struct named *show_named(thing *t) LG_SIZE(1);\nint walk(thing *t, int (*f)(void *data, const struct leaf *l LG_IN), void *data LG_DATA);\n";
    let source = "#include <lockgate/annotations.h>\n#include \"kinds.h\"\nstatic long h[8]; static void *had[4]; static int now;\nthing *thing_new(void) { return (thing *)h; }\nint which(int n) { now = n; return 0; }\n\
                  int on(thing *t, event f, void *data) { had[1] = data; return 0; }\nint put(thing *t, const struct leaf *l, void *alone) { had[0] = l->user, had[3] = alone; return 0; }\nint put_other(thing *t, const struct other *o) { had[2] = o->user; return 0; }\n\
                  int get(thing *t, struct leaf *l) { l->user = had[now]; return 0; }\nstatic struct leaf leaf; static struct named named;\nconst struct leaf *show(thing *t) { leaf.user = had[now]; return &leaf; }\n\
                  const struct named *show_named(thing *t) { named.user = had[now]; return &named; }\nint walk(thing *t, int (*f)(void *, const struct leaf *), void *data) { return f(data, show(t)); }\n";
    let host = "#include <kinds.h>\n#include <lockgate_stubs.h>\n#include <stdio.h>\n\
                #define CHECK(x) do { if (!(x)) { printf(\"line %d, %d: %s; %s\\n\", __LINE__, n, #x, lg_kinds_error()->message); return 1; } } while (0)\n\
                static char given[4];\nstatic int event_of(void *data, int n)\n{\n    (void)data;\n    return n;\n}\nstatic int each(void *data, const struct leaf *l)\n{\n    (void)data;\n    return l->user == &given[0] ? 1 : 99;\n}\n\
                int main(void)\n{\n    int n = 0;\n    thing *t = thing_new();\n    struct leaf l = {1, &given[0]};\n    struct other o = {1, &given[2]};\n    CHECK(on(t, event_of, &given[1]) == 0 && put(t, &l, &given[3]) == 0 && put_other(t, &o) == 0);\n    \
                for (n = 0; n < 4; n++) {\n        struct leaf out = {0, 0};\n        CHECK(which(n) == 0 && get(t, &out) == (n ? -1 : 0) && out.user == (n ? 0 : &given[0]));\n        const struct leaf *shown = show(t);\n        \
                CHECK(n ? !shown && lg_kinds_error()->kind == LG_STUB_DATA : shown && shown->user == &given[0]);\n        CHECK(walk(t, each, 0) == (n ? -1 : 1));\n        const struct named *named = show_named(t);\n        \
                CHECK(n == 1 ? named && named->user == &given[1] : !named);\n    }\n    return 0;\n}\n";
    made("kinds", &["-O0"], [header, source, host]);
}

/// A function that came with data does not come back alone: the library would say which of them the program calls with which data. One that came without does.
/// What a callback is given that its author has annotated with `LG_IGNORE` is zero, whatever the library has there.
#[test]
fn functions_that_came_with_data_stay_with_it() {
    let header = "#include <lockgate/annotations.h>\nLG_ERRORS(int, -1);\ntypedef struct thing thing;\ntypedef int (*event)(void *data);\ntypedef void (*done)(void *p);\nstruct at { event f; };\nstruct pair { int a, b; };\n\
                  thing *thing_new(void);\nint on(thing *t, event f, void *data);\nint alone(thing *t, event f);\nevent give(thing *t, int n);\nint put(thing *t, int n, event *f LG_OUT);\nint fill(thing *t, int n, struct at *at LG_OUT);\n\
                  int each(thing *t, int (*f)(void *data, void *own LG_IGNORE, done end LG_IGNORE, struct pair p LG_IGNORE, int n), void *data);\n";
    let source = "#include <lockgate/annotations.h>\n#include \"loose.h\"\nstatic long h[8]; static event had[2];\nthing *thing_new(void) { return (thing *)h; }\n\
                  int on(thing *t, event f, void *data) { had[0] = f; return 0; }\nint alone(thing *t, event f) { had[1] = f; return 0; }\nevent give(thing *t, int n) { return had[n]; }\n\
                  int put(thing *t, int n, event *f) { *f = had[n]; return 0; }\nint fill(thing *t, int n, struct at *at) { at->f = had[n]; return 0; }\n\
                  int each(thing *t, int (*f)(void *, void *, done, struct pair, int), void *data) { struct pair p = {7, 8}; return f(data, (void *)0x4141414141414141, (done)0x4242424242424242, p, 5); }\n";
    let host = "#include <loose.h>\n#include <lockgate_stubs.h>\n#include <stdio.h>\n\
                #define CHECK(x) do { if (!(x)) { printf(\"line %d: %s; %s\\n\", __LINE__, #x, lg_loose_error()->message); return 1; } } while (0)\n#define REFUSED(x) CHECK((x) && lg_loose_error()->kind == LG_STUB_CALLBACK)\n\
                static int one(void *data)\n{\n    return *(char *)data;\n}\nstatic int other(void *data)\n{\n    return *(long *)data != 0;\n}\n\
                static int sees(void *data, void *own, done end, struct pair p, int n)\n{\n    return !own && !end && !p.a && !p.b && *(char *)data == 3 ? n : 99;\n}\n\
                int main(void)\n{\n    static char data = 3;\n    thing *t = thing_new();\n    event f = 0;\n    struct at at = {0};\n    CHECK(on(t, one, &data) == 0 && alone(t, other) == 0);\n    \
                REFUSED(!give(t, 0));\n    REFUSED(put(t, 0, &f) == -1 && !f);\n    REFUSED(fill(t, 0, &at) == -1 && !at.f);\n    CHECK(give(t, 1) == other && put(t, 1, &f) == 0 && f == other && fill(t, 1, &at) == 0 && at.f == other);\n    \
                CHECK(each(t, sees, &data) == 5);\n    return 0;\n}\n";
    made("loose", &["-O0"], [header, source, host]);
}

/// What only looks (it takes its handles as `const`) says the same again, until something may have changed them: a program that asks once for each row that it
/// makes room for, or at each end of a loop, goes by one answer what it has made for another.
#[test]
fn what_only_looks_says_the_same_again() {
    let header = "#include <lockgate/annotations.h>\n#include <stddef.h>\nLG_ERRORS(int, -1);\nLG_ERRORS(size_t, 0);\ntypedef struct image image;\ntypedef struct extra extra;\n\
                  image *image_new(void);\nextra *extra_new(const image *i);\nsize_t row(const image *i, const extra *e, int plane);\nint sizes(const image *i, int *rows LG_OUT);\nsize_t next(image *i);\n\
                  void scale(image *i, int by);\nint add(const image *i, extra *e);\nint lie(int how);\nvoid each(image *i, void (*f)(void *data), void *data);\n\
                  int read_all(const image *i, unsigned char **rows LG_INOUT LG_ROWS(lg_told(sizes, i, rows)) LG_SIZE(lg_told(row, i, lg_result)));\nint read_next(image *i, unsigned char *to LG_INOUT LG_SIZE(lg_told(next, i, lg_result)));\n";
    let source = "#include <lockgate/annotations.h>\n#include \"looks.h\"\nstatic long h[8]; static int more, factor = 1, added;\nimage *image_new(void) { return (image *)h; }\nextra *extra_new(const image *i) { return (extra *)&h[4]; }\n\
                  int lie(int how) { more = how; return 0; }\nsize_t row(const image *i, const extra *e, int plane) { return 16 * factor + plane + added + more; }\nint sizes(const image *i, int *rows) { *rows = 2 + added + more; return more > 1 ? -1 : 0; }\n\
                  size_t next(image *i) { return 8 * ++factor; }\nvoid scale(image *i, int by) { factor *= by; }\nint add(const image *i, extra *e) { return ++added; }\n\
                  void each(image *i, void (*f)(void *), void *data) { f(data); factor++; f(data); }\nint read_all(const image *i, unsigned char **rows) { return 0; }\nint read_next(image *i, unsigned char *to) { return 0; }\n";
    let host = "#include <looks.h>\n#include <lockgate_stubs.h>\n#include <stdio.h>\n\
                #define CHECK(x) do { if (!(x)) { printf(\"line %d: %s; %s\\n\", __LINE__, #x, lg_looks_error()->message); return 1; } } while (0)\n#define REFUSED(x) CHECK((x) && lg_looks_error()->kind == LG_STUB_LENGTH)\n\
                static image *i;\nstatic extra *e;\nstatic size_t heard[2];\nstatic void asks(void *data)\n{\n    heard[(*(int *)data)++] = row(i, e, 0);\n}\n\
                int main(void)\n{\n    unsigned char all[3][64], *rows[3] = {all[0], all[1], all[2]};\n    int n = 0, calls = 0;\n    i = image_new(), e = extra_new(i);\n    \
                CHECK(row(i, e, 0) == 16 && row(i, e, 0) == 16 && row(i, e, 3) == 19 && row(i, e, 3) == 19 && sizes(i, &n) == 0 && n == 2 && sizes(i, &n) == 0);\n    CHECK(read_all(i, rows) == 0);\n    \
                CHECK(lie(1) == 0);\n    REFUSED(row(i, e, 3) == 0);\n    CHECK(read_all(i, rows) == -1);\n    REFUSED(sizes(i, &n) == -1 && n == 2);\n    CHECK(lie(0) == 0 && row(i, e, 3) == 19);\n    \
                CHECK(lie(2) == 0 && sizes(i, &n) == -1 && lie(1) == 0);\n    REFUSED(sizes(i, &n) == -1);\n    CHECK(lie(0) == 0 && sizes(i, &n) == 0 && read_all(i, rows) == 0);\n    \
                scale(i, 2);\n    CHECK(row(i, e, 3) == 35 && row(i, e, 3) == 35 && add(i, e) == 1 && row(i, e, 3) == 36 && lie(1) == 0);\n    REFUSED(row(i, e, 3) == 0);\n    CHECK(lie(0) == 0);\n    \
                each(i, asks, &calls);\n    CHECK(heard[0] == 33 && heard[1] == 49);\n    CHECK(next(i) == 32 && next(i) == 40 && read_next(i, all[0]) == 0);\n    return 0;\n}\n";
    made("looks", &["-O0"], [header, source, host]);
}

/// The library does not give a handle a second time for which anything is remembered: what is lent to the first one's user, where its errors jump to and what its
/// callbacks get would be the second one's, too, and end with it.
#[test]
fn what_is_remembered_is_one_handles() {
    let host = |name: &str, again: &str| {
        format!(
            "#include <{name}.h>\n#include <lockgate_stubs.h>\n#include <stdio.h>\n\
             #define CHECK(x) do {{ if (!(x)) {{ printf(\"line %d: %s; %s\\n\", __LINE__, #x, lg_{name}_error()->message); return 1; }} }} while (0)\n\
             #define ONCE(new) CHECK(new && !new && lg_{name}_error()->kind == LG_STUB_HANDLE)\nint main(void)\n{{\n{again}    return 0;\n}}\n"
        )
    };
    let header = "#include <lockgate/annotations.h>\n#include <stddef.h>\nLG_ERRORS(int, -1);\ntypedef int (*event)(void *data, int n);\nstruct ops { event f; void *data; };\n\
                  struct sink { event f; void *data; };\ntypedef int (*filler)(void *user, struct sink *s LG_OUT);\n\
                  struct lent *lent_new(void);\nstruct lent *lent_second(void);\nint lent_end(struct lent **l LG_INOUT LG_RELEASE);\nchar *lent_room(struct lent *l, size_t n) LG_LENT LG_SIZE(n);\n\
                  struct with *with_new(const struct ops *o LG_IN);\nstruct filled *filled_new(void);\nint filled_on(struct filled *f, filler by);\n\
                  struct behind *behind_new(void);\nint behind_set(struct behind **b LG_INOUT LG_BORROWED, event f, void *data LG_DATA);\n\
                  struct plain *plain_new(void);\nint plain_use(struct plain *p);\n";
    let source = "#include <lockgate/annotations.h>\n#include \"twice.h\"\nstatic long h[64]; static char room[64];\nstruct lent *lent_new(void) { return (void *)h; }\nstruct lent *lent_second(void) { return (void *)(h + 40); }\nint lent_end(struct lent **l) { *l = (void *)h; return 0; }\n\
                  char *lent_room(struct lent *l, size_t n) { return room; }\nstruct with *with_new(const struct ops *o) { return (void *)(h + 8); }\n\
                  struct filled *filled_new(void) { return (void *)(h + 16); }\nint filled_on(struct filled *f, filler by) { return 0; }\n\
                  struct behind *behind_new(void) { return (void *)(h + 24); }\nint behind_set(struct behind **b, event f, void *data) { return 0; }\n\
                  struct plain *plain_new(void) { return (void *)(h + 32); }\nint plain_use(struct plain *p) { return 0; }\n";
    let again = "    struct ops o = {0};\n    ONCE(lent_new());\n    struct lent *second = lent_second(), *ends = second;\n    CHECK(second && lent_end(&ends) == -1 && lg_twice_error()->kind == LG_STUB_HANDLE && ends == second);\n    ONCE(with_new(&o));\n    ONCE(filled_new());\n    ONCE(behind_new());\n    CHECK(plain_new() == plain_new());\n";
    made("twice", &["-O0"], [header, source, &host("twice", again)]);
    // Nothing but errors that jump.
    let header = "#include <lockgate/annotations.h>\n#include <setjmp.h>\n#include <stddef.h>\ntypedef struct thing thing;\ntypedef void (*jumper)(jmp_buf env LG_JUMP, int value);\n\
                  thing *thing_new(void);\njmp_buf *thing_jump(thing *t, jumper by, size_t size) LG_JUMP_BUFFER(t);\n";
    let source = "static long h[64];\nvoid *thing_new(void) { return h; }\nvoid *thing_jump(void *t, void *by, unsigned long size) { return h; }\n";
    made("jumps", &["-O0"], [header, source, &host("jumps", "    ONCE(thing_new());\n")]);
}

/// What the client itself asks the library, where its errno is, is no call of the program's: the library gets nothing there that the call before was given, and
/// does not jump.
#[test]
fn the_clients_own_questions_are_nobodys_calls() {
    let header = "#include <lockgate/annotations.h>\n#include <setjmp.h>\n#include <stddef.h>\nLG_ERRORS(int, -1);\ntypedef struct thing thing;\n\
                  typedef int (*event)(void *data, int n);\ntypedef void (*jumper)(jmp_buf env LG_JUMP, int value);\n\
                  thing *thing_new(void);\nint thing_on(thing *t, event f, void *data LG_DATA);\njmp_buf *thing_jump(thing *t, jumper by, size_t size) LG_JUMP_BUFFER(t);\n\
                  int thing_fail(thing *t LG_JUMPS, int how);\nint other(int n) LG_ERRNO;\n\
                  int thing_length(thing *t) LG_ERROR(0);\nconst void *thing_copy(thing *t, thing *as, char **name LG_OUT LG_STRING LG_FREED(free)) LG_SIZE(thing_length(as));\n";
    let source = "#include <lockgate/annotations.h>\n#include \"asked.h\"\nstatic long h[64]; static int made, mode, number; static event f; static void *data; static jumper jump; static jmp_buf env[2];\n\
                  thing *thing_new(void) { return (thing *)(h + 8 * made++); }\nint thing_on(thing *t, event e, void *d) { f = e, data = d; return 0; }\n\
                  jmp_buf *thing_jump(thing *t, jumper by, size_t size) { jump = by; return &env[(long *)t != h]; }\n\
                  int thing_fail(thing *t, int how) { mode = how; if (how == 3) *(volatile int *)8 = 1; return 0; }\nint other(int n) { mode = n ? n : mode; return -1; }\n\
                  int thing_length(thing *t) { return 8; }\nconst void *thing_copy(thing *t, thing *as, char **name) { mode = 4; *name = \"name\"; return h + 32; }\n\
                  void frex(void *of) { int now = mode; mode = 0; if (now == 4) f(data, 1); }\n\
                  int *__errno_locatioX(void) { int now = mode; mode = 0; if (now == 1) f(data, 1); if (now == 2) jump(env[0], 7); return &number; }\n";
    let host = "#include <asked.h>\n#include <lockgate_stubs.h>\n#include <stdio.h>\n\
                #define CHECK(x) do { if (!(x)) { printf(\"line %d: %s; %s\\n\", __LINE__, #x, lg_asked_error()->message); return 1; } } while (0)\n\
                static int heard;\nstatic int event_of(void *data, int n)\n{\n    (void)data;\n    heard += n;\n    return 0;\n}\n\
                static int gone;\n\
                static __attribute__((noinline)) int in_use(thing *t, int how)\n{\n    if (setjmp(*thing_jump(t, longjmp, sizeof(jmp_buf))))\n        return gone ? 99 : 7;\n    return thing_fail(t, how);\n}\n\
                int main(void)\n{\n    thing *one = thing_new(), *two = thing_new();\n    CHECK(thing_on(one, event_of, \"one\") == 0);\n    \
                /* Before the call, and after it. */\n    CHECK(in_use(one, 1) == 0 && other(0) == -1 && lg_asked_error()->kind == LG_STUB_DATA);\n    \
                CHECK(other(1) == -1 && lg_asked_error()->kind == LG_STUB_DATA && heard == 0);\n    \
                CHECK(in_use(one, 2) == 0);\n    gone = 1;\n    CHECK(other(0) == -1 && lg_asked_error()->kind == LG_STUB_JUMP);\n    \
                gone = 0;\n    CHECK(in_use(two, 3) == 7);\n    \
                /* To free what a call gave belongs to that, whatever was asked for its size. */\n    char *name = NULL;\n    CHECK(!thing_copy(two, one, &name) && lg_asked_error()->kind == LG_STUB_DATA && heard == 0);\n    return 0;\n}\n";
    let named = |folder: &Path| {
        // (A linker would not have second functions of these names.)
        let module = folder.join("asked.lg");
        let mut bytes = std::fs::read(&module).expect("a module");
        let names: [(&[u8], &[u8]); 2] = [(b"__errno_locatioX", b"__errno_location"), (b"frex", b"free")];
        for (from, to) in names {
            for at in 0..bytes.len() - from.len() {
                if bytes[at..].starts_with(from) {
                    bytes[at..at + to.len()].copy_from_slice(to);
                }
            }
        }
        std::fs::write(&module, bytes).expect("a file");
    };
    let exports =
        |text: String| text.replace("__errno_location", "__errno_locatioX").replace(" free(", " frex(");
    made_of("asked", &["-O1"], [header, source, host], &exports, &named);
}

/// A buffer that a structure leads to comes back as its type says, as one that a parameter leads to: a bool is 0 or 1, and text in a structure ends.
#[test]
fn buffers_behind_fields_are_what_their_types_say() {
    let header = "#include <lockgate/annotations.h>\n#include <stdbool.h>\nLG_ERRORS(int, -1);\nstruct record { bool set; char name[8] LG_STRING; };\n\
                  struct out { bool *flags LG_OUT LG_SIZE(left) LG_CURSOR; unsigned left; struct record *records LG_OUT LG_SIZE(n) LG_WRITTEN(n); unsigned n; };\n\
                  int fill(struct out *o LG_INOUT, unsigned n);\nint later(void);\n";
    let source = "#include <lockgate/annotations.h>\n#include \"fields.h\"\n#include <string.h>\nstatic char *last;\nint later(void) { *last = 0x55; return 0; }\n\
                  int fill(struct out *o, unsigned n) { last = (char *)o->flags; memset(o->flags, 0xee, n); o->flags += n; o->left -= n; memset(o->records, 'A', n * sizeof *o->records); o->n = n; return 0; }\n";
    let host = "#include <fields.h>\n#include <lockgate_stubs.h>\n#include <stdio.h>\n#include <string.h>\n\
                #define CHECK(x) do { if (!(x)) { printf(\"line %d: %s; %s\\n\", __LINE__, #x, lg_fields_error()->message); return 1; } } while (0)\n\
                int main(void)\n{\n    bool flags[3] = {0};\n    struct record records[3] = {0};\n    struct out o = {flags, 3, records, 3};\n    \
                CHECK(fill(&o, 2) == 0 && o.flags == flags + 2 && o.left == 1 && o.n == 2);\n    CHECK(memcmp(flags, \"\\1\\1\", 3) == 0);\n    \
                for (int i = 0; i < 2; i++)\n        CHECK(memcmp(&records[i].set, \"\\1\", 1) == 0 && strcmp(records[i].name, \"AAAAAAA\") == 0);\n    \
                o = (struct out){lg_fields_alloc(8), 2, records, 1};\n    CHECK(o.flags && fill(&o, 1) == 0 && later() == 0 && memcmp(o.flags - 1, \"\\1\", 1) == 0);\n    return 0;\n}\n";
    made("fields", &["-O0"], [header, source, host]);
}

/// A format's conversions take a width and a precision, however large, and no more: there is no room for others. Of no object there is nothing to dispose of.
#[test]
fn what_formats_take_and_what_is_disposed_of() {
    let header = "#include <lockgate/annotations.h>\n#include <stdarg.h>\n#include <stddef.h>\nLG_ERRORS(int, -1);\ntypedef struct thing thing;\nthing *thing_new(void);\n\
                  int print(char *out LG_OUT LG_SIZE(n) LG_WRITTEN(lg_result), size_t n, const char *format, ...) LG_FORMAT(vprint, \"\", \"\") LG_AT_MOST(n);\n\
                  int vprint(char *out LG_OUT LG_SIZE(n) LG_WRITTEN(lg_result), size_t n, const char *format, va_list list) LG_FORMAT(vprint, \"\", \"\") LG_AT_MOST(n);\n\
                  int length(const char *format, ...) LG_FORMAT(vlength, \"\", \"\");\nint vlength(const char *format, va_list list) LG_FORMAT(vlength, \"\", \"\");\n\
                  typedef void (*disposer)(void *of);\n#define COPY ((disposer)-1)\nint put(thing *t, const char *text LG_IN LG_SIZE(n), int n, disposer done LG_DISPOSE(text, COPY));\n";
    let source = "#include <lockgate/annotations.h>\n#include \"taken.h\"\n#include <stdio.h>\n#include <string.h>\nstatic long h[8];\n\
                  int vprint(char *out, size_t n, const char *format, va_list list) { return vsnprintf(out, n, format, list); }\n\
                  int vlength(const char *format, va_list list) { return strlen(va_arg(list, const char *)); }\nint print(char *out, size_t n, const char *format, ...) { return -1; }\n\
                  int length(const char *format, ...) { return -1; }\nthing *thing_new(void) { return (thing *)h; }\nint put(thing *t, const char *text, int n, disposer done) { return n; }\n";
    let host = "#include <taken.h>\n#include <lockgate_stubs.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
                #define CHECK(x) do { if (!(x)) { printf(\"line %d: %s; %s\\n\", __LINE__, #x, lg_taken_error()->message); return 1; } } while (0)\n\
                static int disposed;\nstatic void dispose(void *of)\n{\n    disposed += of ? 1 : 100;\n}\n\
                int main(void)\n{\n    char out[32] = \"\";\n    CHECK(print(out, 32, \"%*.*s|%-*d|\", 4, 2, \"abc\", 3, 7) == 9 && memcmp(out, \"  ab|7  |\", 9) == 0);\n    \
                enum { LARGE = 17 << 20, STARS = 1 << 20 };\n    char *text = malloc(LARGE + 1);\n    memset(text, 'x', LARGE);\n    text[LARGE] = 0;\n    \
                CHECK(length(\"%.999999999s\", text) == LARGE && length(\"%.99999999999999999999s\", text) == LARGE && length(\"%.16777217s\", text) == 16777217);\n    \
                memset(text, '*', STARS);\n    text[0] = '%', text[STARS] = 0;\n    CHECK(print(out, 32, text) == -1 && lg_taken_error()->kind == LG_STUB_SIZE);\n    \
                CHECK(print(out, 32, \"%***d\", 1, 2, 3, 4) == -1 && strcmp(lg_taken_error()->what, \"format\") == 0);\n    \
                thing *t = thing_new();\n    CHECK(put(t, \"a\", 1, dispose) == 1 && disposed == 1);\n    CHECK(put(t, NULL, 0, dispose) == 0 && disposed == 1);\n    free(text);\n    return 0;\n}\n";
    made("taken", &["-O0", "-fsanitize=address"], [header, source, host]);
}

/// A handle that the program passes by a pointer, to have it ended, is that of the call: callbacks get its data, and errors jump to its jmp_buf.
#[test]
fn a_handle_behind_a_pointer_is_the_calls() {
    let header = "#include <lockgate/annotations.h>\nLG_ERRORS(int, -1);\n#include <setjmp.h>\n#include <stddef.h>\ntypedef struct thing thing;\n\
                  typedef int (*visit)(void *data, thing *t, const char *text LG_STRING);\ntypedef void (*jumper)(jmp_buf env LG_JUMP, int value);\n\
                  thing *thing_new(visit f, void *data LG_DATA);\njmp_buf *thing_jump(thing *t, jumper by, size_t size) LG_JUMP_BUFFER(t);\n\
                  void thing_destroy(thing **t LG_INOUT LG_RELEASE);\nvoid thing_both(thing **t LG_INOUT LG_RELEASE, thing **u LG_INOUT LG_RELEASE);\n\
                  void thing_fail(thing **t LG_INOUT LG_RELEASE LG_JUMPS, int how);\nint thing_use(thing *t);\n";
    let source = "static long h[64]; static int made; static char env[256]; static void (*jump)(void *, int);\n\
                  static struct { int (*f)(void *, void *, const char *); void *data; } all[8];\n\
                  void *thing_new(int (*f)(void *, void *, const char *), void *data) { all[made].f = f, all[made].data = data; return h + 8 * made++; }\n\
                  static void say(void *t, const char *text) { int i = ((long *)t - h) / 8; all[i].f(all[i].data, t, text); }\n\
                  void *thing_jump(void *t, void *by, unsigned long size) { jump = by; return env; }\nint thing_use(void *t) { return 1; }\n\
                  void thing_destroy(void **t) { say(*t, \"destroy\"); *t = 0; }\n\
                  void thing_both(void **t, void **u) { if (t) say(*t, \"both\"), *t = 0; else say(*u, \"second\"); *u = 0; }\n\
                  void thing_fail(void **t, int how) { if (how == 1) *(volatile int *)8 = 1; if (how == 2) jump(env, 7); *t = 0; }\n";
    let host = "#include <behind.h>\n#include <lockgate_stubs.h>\n#include <stdio.h>\n#include <string.h>\n\
                #define CHECK(x) do { if (!(x)) { printf(\"line %d: %s; %s\\n\", __LINE__, #x, lg_behind_error()->message); return 1; } } while (0)\n\
                static thing *t, *u; static char one, two; static int heard;\n\
                static int f(void *data, thing *of, const char *text)\n{\n    heard += data == &one && of == t ? 1 : data == &two && of == u ? 10 : 1000;\n    heard += strcmp(text, \"second\") == 0 ? 100 : 0;\n    return 0;\n}\n\
                int main(void)\n{\n    setbuf(stdout, NULL);\n    t = thing_new(f, &one), u = thing_new(f, &two);\n    thing *old = t;\n    thing_destroy(&t);\n    CHECK(heard == 0 || !t);\n    CHECK(!t && thing_use(old) == -1);\n    \
                /* (The program's variable still had it when it was asked.) */\n    CHECK(heard == 1);\n    t = thing_new(f, &one);\n    thing_both(&t, &u);\n    CHECK(!t && !u && heard == 2);\n    u = thing_new(f, &two);\n    \
                thing_both(NULL, &u);\n    CHECK(!u && heard == 112);\n    for (volatile int how = 1; how < 3; how++) {\n        t = thing_new(f, &one);\n        jmp_buf *env = thing_jump(t, longjmp, sizeof(jmp_buf));\n        CHECK(env);\n        \
                volatile int jumped = 0, by = setjmp(*env);\n        if (by)\n            jumped = by;\n        else\n            thing_fail(&t, how == 1 ? 2 : 1);\n        CHECK(jumped == (how == 1 ? 7 : 1));\n    }\n    return 0;\n}\n";
    made("behind", &["-O0"], [header, source, host]);
}

/// What a call was given is what is judged when it returns, whatever callbacks of the program's have put in its place meanwhile: another buffer in a structure,
/// another handle in a variable.
#[test]
fn what_a_call_was_given_is_what_is_judged() {
    let header = "#include <lockgate/annotations.h>\nLG_ERRORS(int, -1);\ntypedef int (*event)(void *user, int what);\n\
                  struct stream { char *out LG_OUT LG_SIZE(left) LG_CURSOR; unsigned left; const char *in LG_IN LG_SIZE(more); unsigned more; event flush; void *user LG_DATA; };\n\
                  int stream_run(struct stream *s LG_INOUT, int n);\ntypedef struct thing thing;\nthing *thing_new(void);\n\
                  int thing_on(thing *t, event f, void *user);\nthing *thing_child(thing *t);\nint thing_fire(thing *t);\nvoid thing_destroy(thing **t LG_INOUT LG_RELEASE);\n";
    let source = "#include <lockgate/annotations.h>\n#include \"given.h\"\n#include <string.h>\nstatic long h[64]; static int made; static event f; static void *user;\n\
                  int stream_run(struct stream *s, int n) { memset(s->out, 'x', n); s->out += n; s->left -= n; return s->flush(s->user, n); }\n\
                  thing *thing_new(void) { return (thing *)(h + 8 * made++); }\nint thing_on(thing *t, event e, void *u) { f = e; user = u; return 0; }\n\
                  thing *thing_child(thing *t) { return thing_new(); }\nint thing_fire(thing *t) { return f(user, 2); }\n\
                  void thing_destroy(thing **t) { f(user, 1); *t = 0; }\n";
    let host = "#include <given.h>\n#include <lockgate_stubs.h>\n#include <stdio.h>\n#include <string.h>\n\
                #define CHECK(x) do { if (!(x)) { printf(\"line %d: %s; %s\\n\", __LINE__, #x, lg_given_error()->message); return 1; } } while (0)\n\
                static struct stream s;\nstatic char large[64], small[8];\nstatic int how;\n\
                static int flush(void *data, int n)\n{\n    (void)data, (void)n;\n    if (how == 1)\n        s.out = small, s.left = 8;\n    if (how == 2)\n        s.left = 64;\n    \
                if (how == 3)\n        s.in = small;\n    return 0;\n}\n\
                static thing *t;\nstatic int one, heard;\n\
                static int on(void *data, int what)\n{\n    if (what == 1)\n        t = NULL;\n    heard += what == 2 && data == &one;\n    return 0;\n}\n\
                int main(void)\n{\n    for (how = 0; how < 4; how++) {\n        s = (struct stream){large, 32, large, 4, flush, &one};\n        int status = stream_run(&s, 16);\n        \
                if (how == 0)\n            CHECK(status == 0 && s.out == large + 16 && s.left == 16);\n        \
                if (how == 1)\n            CHECK(status == -1 && s.out == small && s.left == 8 && strcmp(lg_given_error()->what, \"out\") == 0);\n        \
                if (how == 2)\n            CHECK(status == -1 && s.out == large && strcmp(lg_given_error()->what, \"out\") == 0);\n        \
                if (how == 3)\n            CHECK(status == -1 && s.in == small && strcmp(lg_given_error()->what, \"in\") == 0);\n    }\n    \
                t = thing_new();\n    CHECK(thing_on(t, on, &one) == 0);\n    thing *child = thing_child(t), *old = t;\n    CHECK(thing_fire(child) == 0 && heard == 1);\n    \
                thing_destroy(&t);\n    CHECK(!t && thing_on(old, on, &one) == -1);\n    CHECK(thing_fire(child) == -1 && heard == 1);\n    return 0;\n}\n";
    made("given", &["-O0"], [header, source, host]);
    if is_optimised("given") {
        made("given", &["-O2", "-Wall", "-Wextra", "-Werror"], [header, source, host]);
    }
}

/// Sizes and bounds that speak of a structure's fields go, after the call, by what the library has written there: the program does.
#[test]
fn sizes_go_by_the_structure_that_comes_back() {
    let header = "#include <lockgate/annotations.h>\n#include <stdbool.h>\n#include <stddef.h>\nLG_ERRORS(int, -1);\nstruct size { size_t room, used; };\n\
                  struct full { const char *name LG_STRING; size_t used; bool more; };\n\
                  const char *size_get(struct size *s LG_OUT, size_t used) LG_SIZE(s->used);\nconst char *size_full(struct full *s LG_OUT, size_t used) LG_SIZE(s->used);\n\
                  int size_fill(struct size *s LG_INOUT, char *out LG_OUT LG_SIZE(s->room) LG_WRITTEN(s->used), size_t used);\n\
                  int size_most(int *n LG_OUT LG_AT_MOST(s->used), struct size *s LG_OUT, size_t used, int is);\n";
    let source = "#include <lockgate/annotations.h>\n#include \"sizes.h\"\n#include <string.h>\nstatic char text[64];\n\
                  const char *size_get(struct size *s, size_t used) { memset(text, 'g', 64); s->used = used; return text; }\n\
                  const char *size_full(struct full *s, size_t used) { memset(text, 'f', 64); *(struct full *)s = (struct full){\"name\", used, true}; return text; }\n\
                  int size_fill(struct size *s, char *out, size_t used) { memset(out, 'x', used < 16 ? used : 16); s->used = used; return 0; }\n\
                  int size_most(int *n, struct size *s, size_t used, int is) { s->used = used; *n = is; return 0; }\n";
    let host = "#include <sizes.h>\n#include <lockgate_stubs.h>\n#include <stdio.h>\n#include <string.h>\n\
                #define CHECK(x) do { if (!(x)) { printf(\"line %d: %s; %s\\n\", __LINE__, #x, lg_sizes_error()->message); return 1; } } while (0)\n\
                int main(void)\n{\n    struct size s = {16, 0};\n    const char *text = size_get(&s, 16);\n    CHECK(text && s.used == 16 && memcmp(text, \"gggggggggggggggg\", 16) == 0);\n    \
                s.used = 3;\n    text = size_get(&s, (size_t)1 << 40);\n    CHECK(!text && s.used == 3);\n    struct full f = {0};\n    text = size_full(&f, 16);\n    \
                CHECK(text && f.used == 16 && f.more && strcmp(f.name, \"name\") == 0 && memcmp(text, \"ffffffffffffffff\", 16) == 0);\n    \
                f.used = 1;\n    CHECK(!size_full(&f, (size_t)1 << 40) && f.used == 1);\n    char out[17] = \"................\";\n    s = (struct size){16, 1};\n    \
                CHECK(size_fill(&s, out, 4) == 0 && s.used == 4 && strcmp(out, \"xxxx............\") == 0);\n    CHECK(size_fill(&s, out, 17) == -1 && s.used == 4);\n    \
                int n = 0;\n    s.used = 1;\n    CHECK(size_most(&n, &s, 5, 4) == 0 && n == 4 && s.used == 5);\n    s.used = 9;\n    CHECK(size_most(&n, &s, 5, 6) == -1 && n == 4);\n    return 0;\n}\n";
    made("sizes", &["-O0", "-fsanitize=undefined"], [header, source, host]);
    if is_optimised("sizes") {
        made("sizes", &["-O2", "-Wall", "-Wextra", "-Werror"], [header, source, host]);
    }
}

/// A domain that cannot be begun anew at one call is begun at the next that finds it possible.
#[test]
fn a_restart_that_fails_is_tried_again() {
    let header = "#include <lockgate/annotations.h>\nLG_DOMAIN(\"again\", restart, directory=.);\nLG_ERRORS(int, -1);\nint same(int n);\nint crash(void);\n";
    let source = "#include <stdlib.h>\n#include <unistd.h>\n__attribute__((constructor)) static void begin(void) { if (access(\"bad\", F_OK) == 0) abort(); }\n\
                  int same(int n) { return n; }\nint crash(void) { return *(volatile int *)8; }\n";
    let host = "#include <again.h>\n#include <lockgate_stubs.h>\n#include <stdio.h>\n#include <unistd.h>\n\
                #define CHECK(x) do { if (!(x)) { printf(\"line %d: %s; %s\\n\", __LINE__, #x, lg_again_error()->message); return 1; } } while (0)\n\
                int main(void)\n{\n    CHECK(same(3) == 3 && crash() == -1);\n    fclose(fopen(\"bad\", \"w\"));\n    for (int i = 0; i < 3; i++) {\n        \
                CHECK(same(4) == -1 && lg_again_error()->kind == LG_STUB_START);\n    }\n    unlink(\"bad\");\n    \
                CHECK(same(5) == 5 && crash() == -1 && same(6) == 6);\n    return 0;\n}\n";
    made("again", &["-O0"], [header, source, host]);
}

/// What a client passes is its own again when a call returns, whatever the call was bound with. Red without the option of the client's domain.
#[test]
fn no_call_of_a_client_goes_on_without_its_caller() {
    let header = "#include <lockgate/annotations.h>\n#include <stddef.h>\nLG_ERRORS(int, -1);\nint fill(unsigned char *bytes LG_SIZE(size) LG_INOUT, size_t size, int spins);\n";
    let source = "#include <stddef.h>\nint fill(unsigned char *bytes, size_t size, int spins) { while (spins) __asm__ volatile(\"\"); for (size_t i = 0; i < size; i++) bytes[i]++; return 1; }\n";
    let host = "#include <left.h>\n#include <lockgate.h>\n#include <lockgate_stubs.h>\n#include <stdio.h>\n#include <string.h>\n\
                #define CHECK(x) do { if (!(x)) { printf(\"line %d: %s; %s\\n\", __LINE__, #x, lg_left_error()->message); return 1; } } while (0)\n\
                static lg_domain *clients; static int bound;\n\
                lg_function *__wrap_lg_bind(lg_domain *domain, const char *prototype, lg_policy policy);\n\
                lg_function *__wrap_lg_bind(lg_domain *domain, const char *prototype, lg_policy policy)\n{\n    clients = domain, bound++;\n    return lg_bind_within(domain, prototype, policy, 1000, LG_DETACH);\n}\n\
                int main(void)\n{\n    unsigned char bytes[100] = {1};\n    CHECK(fill(bytes, sizeof bytes, 0) == 1 && bytes[0] == 2 && bound > 0);\n    \
                for (int i = 0; i < 2; i++) {\n        CHECK(fill(bytes, sizeof bytes, 1) == -1 && lg_left_error()->kind == LG_STUB_FAULT);\n        \
                CHECK(lg_take_call_error() == LG_OK && lg_last_fault() && lg_last_fault()->kind == LG_FAULT_TIME_OUT);\n    }\n    \
                lg_usage usage;\n    CHECK(lg_domain_usage(clients, &usage, sizeof usage) == LG_OK && usage.detached + usage.detached_ended == 0);\n    \
                CHECK(fill(bytes, sizeof bytes, 0) == 1 && bytes[0] == 3 && bytes[99] == 2);\n    return 0;\n}\n";
    made("left", &["-O0", "-Wl,--wrap=lg_bind"], [header, source, host]);
}

/// What a stream of the program's does not take, the library hears of.
#[test]
fn the_library_hears_of_what_could_not_be_written() {
    let header = "#include <lockgate/annotations.h>\nLG_ERRORS(int, -7);\n#include <stdio.h>\nint say(FILE *f);\nint put(FILE *f);\n";
    let source = "#include <stdio.h>\nint say(FILE *f) { return fprintf(f, \"%s\", \"text\") + 10 * !!ferror(f); }\nint put(FILE *f) { return (int)fwrite(\"text\", 1, 4, f) + 10 * !!ferror(f); }\n";
    let host = "#include <full.h>\n#include <lockgate_stubs.h>\nint main(void)\n{\n    FILE *full = fopen(\"/dev/full\", \"w\"), *reads = fopen(\"/dev/null\", \"r\"), *all = tmpfile();\n    \
                setvbuf(full, NULL, _IONBF, 0);\n    int n[] = {say(full), put(full), say(reads), put(reads), say(all), put(all)};\n    \
                printf(\"%d %d %d %d %d %d\\n\", n[0], n[1], n[2], n[3], n[4], n[5]);\n    return n[0] != 9 || n[1] != 10 || n[2] != 9 || n[3] != 10 || n[4] != 4 || n[5] != 4;\n}\n";
    made("full", &["-O0"], [header, source, host]);
}

/// The library's stream is the program's: its indicators, what the library pushes back, and what it writes through a buffer.
#[test]
fn a_stream_has_what_the_programs_has() {
    let folder = corpus().root().join("crates/lockgate-cli/tests/stubs");
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a file");
    made("lending", &["-O0"], [&text("lending.h"), &text("lending.c"), &text("lending_host.c")]);
}

/// In a forked child, where no call of a library that does not restart succeeds, errors jump as everywhere.
#[test]
fn errors_jump_in_a_forked_child() {
    let header = "#include <lockgate/annotations.h>\nLG_ERRORS(int, -1);\n#include <setjmp.h>\n#include <stddef.h>\nLG_DOMAIN(\"child\"RESTART);\ntypedef struct thing thing;\n\
                  typedef void (*jumper)(jmp_buf env LG_JUMP, int value);\nthing *thing_new(void);\nvoid thing_free(thing *t LG_RELEASE);\n\
                  jmp_buf *thing_jump(thing *t, jumper by, size_t size) LG_JUMP_BUFFER(t);\nint thing_use(thing *t LG_JUMPS);\n";
    let source = "static long h[64]; static int made; static char env[256];\nvoid *thing_new(void) { return h + 8 * made++; }\nvoid thing_free(void *t) {}\n\
                  void *thing_jump(void *t, void *by, unsigned long size) { return env; }\nint thing_use(void *t) { return 1; }\n";
    let host = "#include <child.h>\n#include <stdio.h>\n#include <sys/wait.h>\n#include <unistd.h>\n\
                int main(void)\n{\n    thing *t = thing_new();\n    jmp_buf *env = thing_jump(t, longjmp, sizeof(jmp_buf));\n    if (!env)\n        return 1;\n    \
                pid_t child = fork();\n    volatile int jumped = 0, by = setjmp(*env);\n    if (by)\n        jumped += by;\n    else\n        jumped += 10 * thing_use(t);\n    if (!child) {\n        \
                thing_free(t);\n        _exit(jumped == 1 ? 0 : 2);\n    }\n    int status = 0;\n    waitpid(child, &status, 0);\n    if (jumped != 10 || status)\n        printf(\"jumped %d, child %x\\n\", jumped, status);\n    \
                return jumped != 10 || status;\n}\n";
    for restart in ["", ", restart"] {
        made("child", &["-O0"], [&header.replace("RESTART", restart), source, host]);
    }
}

/// Sizes and bounds that ask each other: the first call would never end.
#[test]
fn sizes_in_a_ring_are_refused() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("api.h");
    let head = "#include <lockgate/annotations.h>\n#include <stddef.h>\ntypedef struct thing thing;\nthing *thing_new(void);\n";
    let refused = |text: &str| {
        std::fs::write(&path, format!("{head}{text}")).expect("a file");
        let mut stubs = lockgate();
        stubs.arg("stubs").arg(&path).args(["-m", "/m.lg", "-o"]).arg(folder.path().join("client"));
        done(&mut stubs).err().map(|error| error.to_string()).unwrap_or_default()
    };
    for (text, way) in [
        ("size_t own(thing *t) LG_AT_MOST(own(t));", "own asks own"),
        ("size_t a(thing *t) LG_AT_MOST(b(t));\nsize_t b(thing *t) LG_AT_MOST(a(t));", "a asks b asks a"),
        (
            "size_t a(thing *t) LG_AT_MOST(b(t) + 1);\nsize_t b(thing *t) LG_AT_MOST(2 * c(t));\n\
             size_t c(thing *t) LG_AT_MOST(a(t) ? 1 : 2);",
            "b asks c asks a asks b",
        ),
        (
            "size_t n(thing *t, const char *p LG_INSIDE LG_SIZE(m(t, p)));\nsize_t m(thing *t, const char *p LG_INSIDE LG_SIZE(n(t, p)));",
            "n asks m asks n",
        ),
    ] {
        let said = refused(text);
        assert!(said.contains("depends on itself") && said.contains(way), "{text}\n{said}");
    }
    let chain = "LG_ERRORS(size_t, 0);\nsize_t a(thing *t) LG_AT_MOST(b(t));\nsize_t b(thing *t) LG_AT_MOST(c(t) + c(t));\nsize_t c(thing *t);\n\
                 const void *get(thing *t) LG_SIZE(a(t) + b(t));\n";
    assert_eq!(refused(chain), "");
    let said = refused("int put(thing *t, const char *text LG_STRING LG_JUMPS);");
    assert!(said.contains("LG_JUMPS stands on something"), "{said}");
}

/// The library's formatted output reaches the program's file, empty writes included.
#[test]
fn formatted_output_reaches_the_programs_file() {
    let header = "#include <lockgate/annotations.h>\nLG_ERRORS(int, -1);\n#include <stdio.h>\nint print(FILE *f, int n);\n";
    let source = "#include <stdio.h>\nint print(FILE *f, int n) { return fprintf(f, \"%d and %s;\", n, \"text\") + fprintf(f, \"plain\") + (fwrite(\"\", 1, 0, f) == 0) + (fread(0, 1, 0, f) == 0); }\n";
    let host = "#include <print.h>\n#include <lockgate_stubs.h>\n#include <string.h>\nint main(void)\n{\n    FILE *f = tmpfile();\n    char text[64] = \"\";\n    \
                int n = print(f, 42);\n    rewind(f);\n    puts(lg_print_error()->message);\n    return n == 19 && fgets(text, sizeof text, f) && strcmp(text, \"42 and text;plain\") == 0 ? 0 : 1;\n}\n";
    made("print", &["-O0"], [header, source, host]);
}

/// A callback fills no more than the library may have, and nothing that it has not.
#[test]
fn callbacks_fill_no_more_than_the_library_has() {
    let header = "#include <lockgate/annotations.h>\nLG_ERRORS(int, -1);\n#include <stddef.h>\nLG_DOMAIN(\"filled\", memory=64M);\n\
                  typedef int (*reader)(void *data, unsigned char *buffer LG_OUT LG_SIZE(n), size_t n);\nint fill(reader r, void *data LG_DATA, size_t n);\n";
    let source = "#include <stddef.h>\nstatic char room[65536];\nint fill(int (*r)(void *, void *, size_t), void *data, size_t n) { return r(data, room, n); }\n";
    let host = "#include <filled.h>\n#include <lockgate_stubs.h>\n#include <string.h>\nstatic int calls;\n\
                static int rd(void *data, unsigned char *buffer, size_t n)\n{\n    calls += data != 0;\n    memset(buffer, 1, n);\n    return 7;\n}\n\
                int main(void)\n{\n    if (fill(rd, &calls, 65536) != 7 || calls != 1)\n        return 1;\n    \
                if (fill(rd, &calls, 1500000000) != -1 || calls != 1 || lg_filled_error()->kind != LG_STUB_LENGTH)\n        return 2;\n    \
                if (fill(rd, &calls, 60000000) != -1 || calls != 1 || lg_filled_error()->kind != LG_STUB_POINTER)\n        return 3;\n    return 0;\n}\n";
    made("filled", &["-O0"], [header, source, host]);
}

/// A library that gives memory at ever other addresses fills no more of the program's than it may have; other threads have their own, and what was given stays.
#[test]
fn copies_of_answers_count_as_the_librarys_memory() {
    let header = "#include <lockgate/annotations.h>\nLG_DOMAIN(\"places\", memory=16M);\nconst unsigned char *place(unsigned n) LG_SIZE(8);\nconst char *text(unsigned n) LG_STRING;\n";
    let source = "#include <sys/mman.h>\nstatic char *at, *last;\nchar *text(unsigned n)\n{\n    if (last)\n        munmap(last, 4096);\n    \
                  int flags = MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0);\n    last = mmap(at ? at - (unsigned long)n * 4096 : 0, 4096, PROT_READ | PROT_WRITE, flags, -1, 0);\n    \
                  at = at ? at : last;\n    if (last == MAP_FAILED)\n        return last = 0;\n    return __builtin_strcpy(last, \"a text\");\n}\nvoid *place(unsigned n) { return text(n); }\n";
    let host = "#include <places.h>\n#include <lockgate_stubs.h>\n#include <pthread.h>\n#include <stdio.h>\n#include <string.h>\n\
                static void *given(void *texts)\n{\n    unsigned long n = 0;\n    const void *first = texts ? (const void *)text(0) : place(0), *now = first;\n    \
                while (now && n < 100000 && memcmp(now, \"a text\", 7) == 0)\n        now = texts ? (const void *)text(++n) : place(++n);\n    \
                printf(\"%lu %s\\n\", n, lg_places_error()->message);\n    if (now || lg_places_error()->kind != LG_STUB_MEMORY || !first || memcmp(first, \"a text\", 7) != 0 || !place(0))\n        return (void *)1;\n    \
                return (void *)(n * 4096);\n}\n\
                int main(void)\n{\n    for (int i = 0; i < 2; i++) {\n        pthread_t thread;\n        void *bytes;\n        \
                if (pthread_create(&thread, 0, given, i ? \"\" : 0) || pthread_join(thread, &bytes) || bytes != (void *)(16 << 20))\n            return 1 + i;\n    }\n    return 0;\n}\n";
    made("places", &["-O0"], [header, source, host]);
}

/// However many types of handles there are, each is another.
#[test]
fn more_types_of_handles_than_a_byte_counts() {
    use std::fmt::Write as _;
    let (mut header, mut source) =
        ("#include <lockgate/annotations.h>\n".to_owned(), "static long h[600];\n".to_owned());
    for n in 1..=260 {
        let _ = writeln!(header, "struct h{n}; struct h{n} *make{n}(void);");
        let _ = writeln!(source, "void *make{n}(void) {{ return h + 2 * {n}; }}");
        if [1, 256, 257].contains(&n) {
            let _ = writeln!(header, "int look{n}(struct h{n} *h) LG_ERROR(-7);");
            let _ = writeln!(source, "int look{n}(void *h) {{ return h ? {n} : 0; }}");
        }
    }
    let host = "#include <types.h>\nint main(void)\n{\n    static char garbage[64] __attribute__((aligned(64)));\n\
                    struct h1 *one = make1();\n    struct h256 *last = make256();\n    return one && look1(one) == 1 && look256(last) == 256 && \
                    look257((struct h257 *)one) == -7 && look256((struct h256 *)one) == -7 && look256((struct h256 *)garbage) == -7 ? 0 : 1;\n}\n";
    made("types", &["-O0"], [&header, &source, host]);
}

/// Stubs are told apart by their frames: a linker that puts one into another does not make them one.
#[test]
fn stubs_have_frames_of_their_own() {
    let header = "#include <lockgate/annotations.h>\nLG_ERRORS(int, -1);\n#include <stddef.h>\nstruct th;\nstruct th *mk(void);\n\
                  const char *blob(struct th *t) LG_SIZE(8);\nsize_t blob_len(struct th *t, const char *key);\n\
                  int put(struct th *t, const char *key, const void *p LG_INSIDE LG_SIZE(blob_len(t, key)), const char *more);\n";
    let source = "#include <string.h>\nstatic long h[8];\nvoid *mk(void) { return h; }\nconst char *blob(void *t) { return t; }\n\
                  size_t blob_len(void *t, const char *k) { return 8; }\n\
                  int put(void *t, const char *k, const void *p, const char *more) { return !strcmp(k, \"key\") && !strcmp(more, \"more\"); }\n";
    let host = "#include <frames.h>\nint main(void)\n{\n    struct th *t = mk();\n    const char *p = blob(t);\n    int good = 0;\n    \
                for (int i = 0; i < 3; i++)\n        good += put(t, \"key\", p, \"more\");\n    return good == 3 ? 0 : 1;\n}\n";
    for options in [["-O2", "-flto"], ["-Os", "-flto"]] {
        made("frames", &options, [header, source, host]);
    }
}

#[test]
fn everything_that_a_header_may_say() {
    synthetic("tricky");
}

/// Answers that change between two looks, another's data, ends that are not there, booleans that are neither.
#[test]
fn what_is_concluded_from_answers() {
    synthetic("sly");
}

/// Errors that jump, sizes that other functions told, rows, streams.
/// AddressSanitizer has variables elsewhere than on the stack: calls within callbacks are told from calls that were left nevertheless.
#[test]
fn nested_calls_are_known_with_a_sanitizer() {
    built("sly", &["-O0", "-fsanitize=address"], &["nested"]);
}

/// What the program frees is a piece of its own heap, whatever the library has built around its answer; a sanitizer knows each.
#[test]
fn what_the_program_frees_is_its_own() {
    built("keeper", &["-O0", "-fsanitize=address,undefined"], &[]);
    optimised("keeper", &[]);
}

/// What the program owns, fills or is lent is nowhere near any answer, whatever address the library gives.
#[test]
fn no_answer_lies_over_what_is_the_programs() {
    built("keeper", &["-O0", "-fsanitize=address,undefined"], &["owned"]);
    optimised("keeper", &["owned"]);
}

/// A buffer that is filled in several calls comes back as far as its structure says, and no structure says more than there is.
#[test]
fn what_a_field_says_was_written() {
    built("keeper", &["-O0", "-fsanitize=address,undefined"], &["fill"]);
}

/// What the program gives ends with the call or the handle that it was given for, on every thread and in a child.
#[test]
fn consent_ends_with_its_giver() {
    built("lives", &["-O0", "-fsanitize=address,undefined"], &[]);
}

/// A domain that restarts takes nothing along, and waits for no callback.
#[test]
fn nothing_outlives_a_restart() {
    built("anew", &["-O0", "-fsanitize=address,undefined"], &[]);
}

/// Arrays of handles stay as long as other answers do.
#[test]
fn arrays_of_handles_stay() {
    built("fresh", &["-O0", "-fsanitize=address,undefined"], &["handles"]);
}

/// No answer ends, or has gaps, in the middle of an earlier one that the program still goes by.
#[test]
fn no_answer_shortens_an_earlier_one() {
    built("fresh", &["-O0", "-fsanitize=address,undefined"], &["shorter"]);
}

/// A call from a signal handler's stack, or a coroutine's, is refused, and frees nothing of what it has interrupted.
#[test]
fn frames_of_other_stacks_go_on() {
    built("fresh", &["-O0"], &["stacks"]);
}

/// The program's jmp_buf is one for each handle, whatever the library answers, and whether it does.
#[test]
fn a_handle_has_one_jmp_buf() {
    built("fresh", &["-O0"], &["jumps"]);
    optimised("fresh", &["jumps"]);
}

/// What several functions tell is the least of it; a call that says itself that it has failed tells nothing, and other threads hear their own.
#[test]
fn facts_are_the_least_that_was_heard() {
    built("fresh", &["-O0", "-fsanitize=address,undefined"], &["facts"]);
}

/// Strings that come in pairs are an even number.
#[test]
fn pairs_are_pairs() {
    built("fresh", &["-O0", "-fsanitize=address,undefined"], &["pairs"]);
}

/// Which of the program's functions is called with which of its data is the program's to say.
#[test]
fn functions_and_data_stay_together() {
    built("fresh", &["-O0", "-fsanitize=address,undefined"], &["given"]);
}

/// How far a pointer moved, and how much is left, agree.
#[test]
fn what_is_left_agrees_with_what_was_moved_over() {
    built("fresh", &["-O0", "-fsanitize=address,undefined"], &["moved"]);
}

/// A program may close a plugin that has a client in it, while threads go on that have used it.
#[test]
fn a_client_may_be_unloaded() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = |name: &str| folder.path().join(name);
    let texts = [
        (
            "api.h",
            "#include <lockgate/annotations.h>\n#include <stddef.h>\nunsigned api_sum(const unsigned char *p LG_IN LG_SIZE(n), size_t n) LG_ERROR(0);\n",
        ),
        (
            "api.c",
            "#include <stddef.h>\nunsigned api_sum(const unsigned char *p, size_t n) { unsigned s = 0; while (n--) s += *p++; return s; }\n",
        ),
        (
            "plugin.c",
            "#include <api.h>\nunsigned plugin(const unsigned char *p, size_t n) { return api_sum(p, n); }\n",
        ),
        (
            "host.c",
            "#include <dlfcn.h>\n#include <pthread.h>\n#include <stdio.h>\n#include <string.h>\nstatic pthread_barrier_t both;\nstatic void *plugin;\n\
             static void *work(void *unused)\n{\n    unsigned (*sum)(const unsigned char *, size_t) = dlsym(plugin, \"plugin\");\n    unsigned char bytes[100];\n    memset(bytes, 1, sizeof bytes);\n    \
             unsigned is = sum(bytes, sizeof bytes);\n    pthread_barrier_wait(&both);\n    pthread_barrier_wait(&both);\n    return is == 100 ? unused : \"wrong\";\n}\n\
             int main(int count, char **arguments)\n{\n    pthread_t thread;\n    void *wrong;\n    (void)count;\n    pthread_barrier_init(&both, 0, 2);\n    if (!(plugin = dlopen(arguments[1], RTLD_NOW)))\n        return 2;\n    \
             pthread_create(&thread, 0, work, 0);\n    pthread_barrier_wait(&both);\n    dlclose(plugin);\n    pthread_barrier_wait(&both);\n    pthread_join(thread, &wrong);\n    return wrong != 0;\n}\n",
        ),
    ];
    for (name, text) in texts {
        std::fs::write(path(name), text).expect("a file");
    }
    let include = format!("-I{}", corpus().root().join("crates/lockgate-headers/include").display());
    let mut stubs = lockgate();
    done(stubs.arg("stubs").arg(path("api.h")).arg("-m").arg(path("api.lg")).arg("-o").arg(path("client")))
        .expect("stubs");
    let mut link = lockgate();
    link.args(["cc", "-g", "-O1"]).arg(path("api.c")).arg("-o").arg(path("api.lg"));
    done(link.arg("--exports").arg(path("client/api.exports"))).expect("it links");
    let mut compile = Command::new("gcc");
    compile
        .args(["-O0", "-fPIC", "-shared", &include, "-I"])
        .arg(path("client"))
        .arg("-I")
        .arg(folder.path());
    compile.arg("-I").arg(prefix().join("include")).arg(path("plugin.c")).arg(path("client/api_client.c"));
    done(kit().link_with_library(compile.arg("-o").arg(path("plugin.so")))).expect("it compiles");
    done(Command::new("gcc").arg(path("host.c")).arg("-o").arg(path("host")).arg("-lpthread"))
        .expect("it compiles");
    let output = Command::new(path("host")).arg(path("plugin.so")).output().expect("it starts");
    assert!(output.status.success(), "{}", output.status);
}

/// Text in a structure ends there, whatever the library has written.
#[test]
fn text_in_structures_ends_there() {
    built("fresh", &["-O0", "-fsanitize=address,undefined"], &["texts"]);
}

/// A stream that was left in the middle is not used again: the library's lock on it is held for good.
#[test]
fn a_stream_that_was_left_holds_up_no_other() {
    built("fresh", &["-O0"], &["left"]);
}

/// What went in comes back, text may have a bound in place of an end, and what a library forgets is given no more.
#[test]
fn what_goes_in_and_what_is_forgotten() {
    synthetic("given");
}

#[test]
fn jumps_rows_and_streams() {
    synthetic("jumpy");
}

/// A program of ours prints the same with a library, built in `folder`, as with its client.
fn same_answers(built: &Built, library: &Library, folder: &Path) {
    let source = file(&format!("{}_answers.c", library.client));
    let native = std::fs::read_dir(folder.join("native")).expect("a folder").flatten();
    let native: Vec<_> =
        native.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "o")).collect();
    let runs = ["native", "client"].map(|way| {
        let program = folder.join(format!("answers-{way}"));
        let mut compile = Command::new("gcc");
        compile.args(["-O0", "-Wall", "-Wextra", "-Werror"]);
        if way == "client" {
            compile.arg("-I").arg(&built.client);
        }
        compile.args(corpus().library(library.name).expect(library.name).flags());
        compile.args(library.defines.iter().map(|define| format!("-D{define}"))).arg(&source);
        let linked = match way {
            "client" => kit().link_with_library(compile.arg(folder.join("client.o"))),
            _ => compile.args(&native).args(["-lm", "-lpthread"]),
        };
        done(linked.arg("-o").arg(&program)).expect("it compiles");
        let own = tempfile::tempdir().expect("a scratch folder");
        let output = run(&program, &[], own.path(), b"", None);
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    });
    let [native, client] = runs;
    assert_eq!(native.0, Some(0), "{}", native.1);
    assert_eq!(client, native);
}

fn zlib_and_its_own_programs() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let kit = kit();
    let built = kit.build(library("zlib"), folder.path()).expect("zlib");
    same_answers(&built, library("zlib"), folder.path());
    let text: Vec<u8> = (0..400_000_u32).flat_map(|n| (n.wrapping_mul(n) % 977).to_le_bytes()).collect();
    same(&built, "example", &[], &[], b"");
    same(&built, "minigzip", &[], &[], &text);
    same(&built, "minigzip", &["-9", "text"], &[("text", &text)], b"");
    same(&built, "minigzip", &["-d", "none.gz"], &[], b"");
    assert_eq!(built.module_variable, "LOCKGATE_ZLIB", "what run() gives the program a module by");
    same(&built, "zpipe", &[], &[], &text);
    let packed = run(&built.layouts[0].native["zpipe"], &[], folder.path(), &text, None).stdout;
    same(&built, "zpipe", &["-d"], &[], &packed);
    same(&built, "zpipe", &["-d"], &[], &packed[..packed.len() / 2]);
    same(&built, "zpipe", &["-d"], &[], b"no compressed data");
    let zipped = run(&built.layouts[0].native["minigzip"], &[], folder.path(), &text, None).stdout;
    same(&built, "minigzip", &["-d"], &[], &zipped);

    // The same client, hostile libraries: nothing that they do is a crash of the program, and every error has its kind.
    let weak: Vec<PathBuf> = built
        .objects
        .iter()
        .map(|object| {
            let weak = folder.path().join("weak").join(object.file_name().expect("a name"));
            std::fs::create_dir_all(weak.parent().expect("a folder")).expect("a folder");
            done(Command::new("objcopy").arg("--weaken").arg(object).arg(&weak)).expect("objcopy");
            weak
        })
        .collect();
    let flags = corpus().library("zlib").expect("zlib").flags();
    let host = folder.path().join("host");
    let mut compile = Command::new("gcc");
    compile.args(["-O0", "-I"]).arg(&built.client).args(&flags).arg(file("zlib_host.c"));
    compile.arg(folder.path().join("client.o")).arg("-o").arg(&host);
    done(kit.link_with_library(&mut compile)).expect("it compiles");
    let lines = run(&host, &["lines"], folder.path(), b"", None);
    assert_eq!(String::from_utf8_lossy(&lines.stdout), "2: the last line\nthe program's");
    let expected = [(1, POINTER), (2, LENGTH), (3, POINTER), (4, FAULT)];
    for (attack, kind) in expected {
        let module = folder.path().join(format!("hostile{attack}.lg"));
        let mut link = lockgate();
        link.args(["cc", "-g", "-O1", "-w"]).args(&flags).arg(format!("-DATTACK={attack}"));
        link.arg(file("hostile_zlib.c")).args(&weak).arg("-o").arg(&module);
        done(link.arg("--exports").arg(built.client.join("zlib.exports"))).expect("it links");
        // (Its other functions use its own inflate, and would wait for ever: that is what time limits are for.)
        let arguments: &[&str] = if attack == 2 { &["uncompress"] } else { &[] };
        let output = run(&host, arguments, folder.path(), b"", Some(&module));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "attack {attack}: {}", output.status);
        assert!(
            text.starts_with(&format!("inflate -2 {kind} ")) && text.contains("untouched"),
            "attack {attack}: {text}"
        );
        if attack == 2 {
            assert!(text.contains("uncompress -2 1"), "attack {attack}: {text}");
            assert!(text.contains("uncompress2 -2 1"), "attack {attack}: {text}");
        }
        if attack != 2 {
            let output = run(&built.protected["minigzip"], &["-d"], folder.path(), &zipped, Some(&module));
            assert_eq!(output.status.signal(), None, "attack {attack}");
            assert_ne!(output.status.code(), Some(0), "attack {attack}: minigzip noticed nothing");
        }
    }
}

/// Larger libraries: one in each run.
#[test]
fn libraries_and_their_own_programs() {
    let all = [
        zlib_and_its_own_programs,
        expat_and_its_own_programs,
        png_and_its_own_programs,
        sqlite_and_its_shell,
    ];
    let part = Part::one_in(all.len(), "libraries and their own programs");
    for library in part.among(all) {
        library();
    }
}

fn expat_and_its_own_programs() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let built = kit().build(library("expat"), folder.path()).expect("expat");
    same_answers(&built, library("expat"), folder.path());
    // Every program of expat's steps over two attributes at a time.
    let client = std::fs::read_to_string(built.client.join("expat_client.c")).expect("the client");
    assert!(client.contains("LGS_PAIRS"), "attributes need not be pairs");
    let document: &[u8] = b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n<!DOCTYPE doc [ <!ELEMENT doc ANY>\
        <!ATTLIST doc x CDATA \"default\"> <!ENTITY e \"text\"> <!NOTATION n SYSTEM \"seen\"> <!ENTITY u SYSTEM \"pic\" NDATA n>\
        <!ENTITY other SYSTEM \"other.xml\"> ]>\n<doc y=\"1\" xmlns:z=\"urn:z\"><!-- c --><a b=\"&lt;\">&e; \xe9</a><?pi data?>\
        <![CDATA[ raw <> ]]><z:q z:w=\"1\"/>&other;</doc>";
    let files: &[(&str, &[u8])] = &[
        ("d.xml", document),
        ("other.xml", b"<other>in</other>"),
        ("bad.xml", b"<a><b></a>"),
        ("none.xml", b""),
    ];
    for options in ["-d .", "-m -d .", "-n -d .", "-c -d .", "-x -d .", "-r -d .", "-p -s", "-w -d ."] {
        let mut arguments: Vec<&str> = options.split(' ').collect();
        arguments.extend(["d.xml", "bad.xml", "none.xml"]);
        same(&built, "xmlwf", &arguments, files, b"");
    }
    same(&built, "elements", &[], &[], b"<a><b x='1'><c/></b>text</a>");
    same(&built, "outline", &[], &[], b"<a><b x='1' y='2'><c/></b>text</a>");
    same(&built, "outline", &[], &[], b"<a><b x='1'></a>");
}

fn png_and_its_own_programs() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let kit = kit();
    let built = kit.build(library("png"), folder.path()).expect("png");
    // How many rows there are programs hear from two functions.
    let client = std::fs::read_to_string(built.client.join("png_client.c")).expect("the client");
    let rows = client.split("lgs_r_image =").nth(1).and_then(|rest| rest.lines().next()).expect("rows");
    assert!(rows.contains("png_get_IHDR") && rows.contains("png_get_image_height"), "{rows}");
    let client =
        |name: &str| std::fs::read(corpus().root().join("corpus/clients/png").join(name)).expect("a file");
    let image = client("pngtest.png");
    let mut broken = image.clone();
    broken[image.len() / 2] ^= 0x10;
    let files: &[(&str, &[u8])] =
        &[("pngtest.png", &image), ("broken.png", &broken), ("cut.png", &image[..3000]), ("none.png", b"")];
    same(&built, "pngtest", &[], files, b"");
    for options in ["-m pngtest.png pngtest.png", "broken.png out.png", "cut.png out.png", "none.png out.png"]
    {
        same(&built, "pngtest", &options.split(' ').collect::<Vec<_>>(), files, b"");
    }
    for name in ["pngtest.png", "broken.png", "cut.png", "none.png"] {
        for format in ["", "-raw", "-noraw"] {
            let arguments: Vec<&str> =
                [format, name, "out.pnm"].into_iter().filter(|a| !a.is_empty()).collect();
            same(&built, "png2pnm", &arguments, files, b"");
        }
    }
    same(&built, "png2pnm", &["-alpha", "alpha.pgm", "pngtest.png", "out.pnm"], files, b"");
    for image in [
        b"P5 3 2 255\nabcdef".as_slice(),
        b"P6 1 2 255\nabcdef",
        b"P4 9 2\n\x81\0\x7e\x80",
        b"P1 2 2 1 0 0 1",
        b"P5 3 2",
    ] {
        same(&built, "pnm2png", &["in.pnm", "out.png"], &[("in.pnm", image)], b"");
    }

    // A program of ours: the progressive reader, user transformations and chunks; and libraries that attack it.
    let flags: Vec<String> =
        ["png", "zlib"].iter().flat_map(|name| corpus().library(name).expect(name).flags()).collect();
    let host = |name: &str, client: &[&Path], objects: &[PathBuf]| {
        let path = folder.path().join(name);
        let mut compile = Command::new("gcc");
        compile.args(["-O0", "-Wall", "-Wextra", "-Werror"]);
        for folder in client {
            compile.arg("-I").arg(folder);
        }
        compile.args(&flags).arg(file("png_host.c")).args(objects).arg("-o").arg(&path);
        done(kit.link_with_library(&mut compile).arg("-lm")).expect("it compiles");
        path
    };
    let objects = |folder_name: &str| -> Vec<PathBuf> {
        let native = std::fs::read_dir(folder.path().join(folder_name)).expect("a folder").flatten();
        native.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "o")).collect()
    };
    let plain = host("host-plain", &[], &objects("native"));
    let protected = host("host", &[&built.client], &[folder.path().join("client.o")]);
    for image in [&image, &broken, &image[..3000]] {
        let [plain, protected] =
            [&plain, &protected].map(|program| run(program, &[], folder.path(), image, None));
        assert_eq!(
            plain.status.code(),
            protected.status.code(),
            "{}",
            String::from_utf8_lossy(&protected.stderr)
        );
        assert_eq!(String::from_utf8_lossy(&plain.stdout), String::from_utf8_lossy(&protected.stdout));
    }
}

/// SQLite, with a program that measures it, and with its own shell: most of what that can do, from standard input, with files.
fn sqlite_and_its_shell() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let built = kit().build(library(lockgate_corpus::SHELL), folder.path()).expect("sqlite and its shell");
    same_answers(&built, library(lockgate_corpus::SHELL), folder.path());
    let exports = std::fs::read_to_string(built.client.join("sqlite.exports")).expect("a list");
    assert!(!exports.contains(" sqlite3_auto_extension("), "it casts the function that it takes");
    same(&built, "sqlite", &["2"], &[], b"");
    let script = std::fs::read(file("shell.sql")).expect("a file");
    same(&built, "shell", &[], &[], &script);
    same(&built, "shell", &["-bail"], &[], b"create table t(a);\ninsert into nosuch values(1);\nselect 1;\n");
    same(
        &built,
        "shell",
        &[
            "-csv",
            "-header",
            "new.db",
            "create table t(a, b); insert into t values(1, 'x,y'), (2, null); select * from t",
        ],
        &[],
        b"",
    );
    same(&built, "shell", &["bad.db", ".tables"], &[("bad.db", b"this is no database, but longer than a header of one would be, by far, ever so far, far far far far far")], b"");
    // What the program would have to implement for the library (virtual tables) has no stub: SQL that needs it fails, and nothing else.
    let output = run(
        &built.protected["shell"],
        &[],
        folder.path(),
        b"select * from generate_series(1,3);\nselect 7;\n",
        None,
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout), "7\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("generate_series"));
}

/// Headers and annotations that cannot be: each is refused, with a place, a reason and a remedy.
#[test]
fn what_is_not_sound_is_refused() {
    let cases: &[(&str, &[&str])] = &[
        ("int f(int", &["does not parse", "expected"]),
        ("#include <no/such/header.h>", &["does not parse", "no/such/header.h"]),
        // The module's C library is another one than the program's.
        (
            "#include <regex.h>\nint f(regmatch_t *m LG_OUT LG_SIZE(n) LG_WRITTEN(n), int n) LG_ERROR(-1);",
            &["f: regmatch_t has 16 bytes (not 8) with the headers of the domain's C library"],
        ),
        (
            "#include <sys/resource.h>\nstruct own { int n; struct rusage u; };\nint f(struct own *own LG_OUT) LG_ERROR(-1);",
            &["f: struct own has"],
        ),
        (
            "#include <regex.h>\nint f(int (*c)(const regoff_t *at LG_SIZE(1), void *d), void *d) LG_ERROR(-1);",
            &["f: `const regoff_t` has 8 bytes"],
        ),
        (
            "int f(int *p);",
            &["f: parameter p", "no annotation says what `int *` leads to", "LG_IN, LG_OUT or LG_INOUT"],
        ),
        ("int f(char *p);", &["may be a string, a buffer", "LG_STRING"]),
        ("int f(void *p LG_OUT);", &["how large", "LG_SIZE"]),
        ("int f(int n LG_OUT);", &["is no pointer", "remove"]),
        (
            "typedef int (*c)(char *p LG_OUT LG_SIZE(9) LG_WRITTEN(lg_result), void *d);\nint f(c cb, void *d);",
            &["parameter p", "LG_WRITTEN", "LG_SIZE"],
        ),
        ("int f(const char *p LG_OUT LG_SIZE(3));", &["const", "LG_IN is meant"]),
        ("int f(char *p LG_IN LG_OUT);", &["LG_OUT contradicts LG_IN"]),
        ("int f(char *p LG_STRING LG_OPAQUE);", &["contradicts"]),
        ("void f(const char *p LG_RESET);", &["LG_RESET has no effect on this `const char *`"]),
        (
            "struct own { const char *text; int n; };\nLG_FIELD(struct own, text, LG_STRING LG_SIZE(n));\nvoid f(struct own *own LG_IN);",
            &["text of a structure ends with a zero"],
        ),
        ("int f(char *p LG_IN LG_SIZE(n n), int n);", &["LG_SIZE(n n)", "at character 3"]),
        (
            "int f(char *p LG_IN LG_SIZE(q), char *q LG_STRING);",
            &["`q` in an expression is no integer", "*q"],
        ),
        ("int f(char *p LG_IN LG_SIZE(g(1)));", &["g() is no function of this header"]),
        // What the library says when it is asked is no end of what the program has, fills, frees or follows.
        ("int g(int n);\nint f(char *p LG_OUT LG_SIZE(g(1)));", &["parameter p", "asks g()", "lg_told"]),
        ("int g(int n);\nint f(char *p LG_IN LG_SIZE(1 + g(1)));", &["parameter p", "asks g()"]),
        ("int g(int n);\nint f(char **p LG_IN LG_ROWS(g(1)) LG_STRING);", &["parameter p", "asks g()"]),
        (
            "struct s { int n; };\nint g(int n);\nint f(struct s *s LG_IN LG_SIZE(g(1)));",
            &["parameter s", "asks g()"],
        ),
        ("int g(int n);\nconst char **f(int n) LG_SIZE(g(n)) LG_BORROWED;", &["f: result", "asks g()"]),
        (
            "struct s { const char *name LG_STRING; };\nint g(int n);\nconst struct s *f(int n) LG_SIZE(g(n));",
            &["f: result", "asks g()"],
        ),
        (
            "struct s { int n; _Bool b; };\nint g(int n);\nconst struct s *f(int n) LG_SIZE(g(n));",
            &["f: result", "asks g()"],
        ),
        ("int g(int n);\nconst _Bool *f(int n) LG_SIZE(g(n));", &["f: result", "asks g()"]),
        ("int g(int n);\nchar *f(int n) LG_SIZE(g(n)) LG_FREED(free);", &["f: result", "asks g()"]),
        ("struct h;\nint g(struct h *h);\nchar *f(struct h *h) LG_LENT LG_SIZE(g(h));", &["asks g()"]),
        (
            "struct h;\nint g(int n);\nint f(int (*c)(struct h **all LG_SIZE(g(n)), int n, void *d), void *d);",
            &["parameter all", "asks g()"],
        ),
        (
            "int g(int n);\nint f(int (*c)(char *p LG_OUT LG_SIZE(g(n)), int n, void *d), void *d);",
            &["parameter p", "asks g()"],
        ),
        (
            "int g(int n);\nint f(int (*c)(const int *p LG_SIZE(g(n)), const char *q LG_SIZE(*p), int n, void *d), void *d);",
            &["parameter p", "asks g()"],
        ),
        (
            "int g(int n);\nint f(const int **p LG_OUT LG_SIZE(g(1)) LG_FREED(free));",
            &["parameter p", "asks g()"],
        ),
        ("double g(int n);\nconst int *f(int n) LG_SIZE(g(n));", &["g() in an expression gives no integer"]),
        // What is given for a call is data, a callback's, and not for longer.
        (
            "struct h;\nint f(struct h *h, int *p LG_IN LG_FOR_CALL);",
            &["LG_FOR_CALL", "for the program's own data only"],
        ),
        ("struct h;\nint f(struct h *h, void *p LG_DATA LG_FOR_CALL);", &["LG_FOR_CALL", "no callback"]),
        (
            "typedef int (*c)(void *d);\nint f(c cb, void *d LG_DATA LG_KEPT LG_FOR_CALL);",
            &["LG_FOR_CALL contradicts LG_KEPT"],
        ),
        ("int f(int n LG_FOR_CALL);", &["LG_FOR_CALL says nothing of a parameter"]),
        ("int f(const char *s, ...);", &["variable arguments", "LG_PRINTF"]),
        // Which function is called with which data is nothing that the library says, nor for which function data was given.
        (
            "struct h;\nstruct s { void (*f)(void *d); void *d; };\nLG_FIELD(struct s, d, LG_DATA);\nint f(struct h *h, const struct s *s LG_IN) LG_ERROR(-1);\nconst struct s *g(struct h *h) LG_SIZE(1);",
            &["g: its structures", "functions of the program's and data", "LG_IGNORE"],
        ),
        (
            "struct h;\nstruct s { void (*f)(void *d); void *d; };\nLG_FIELD(struct s, d, LG_DATA);\nint f(struct h *h, struct s *s LG_OUT) LG_ERROR(-1);",
            &["f: its structures", "LG_IGNORE"],
        ),
        (
            "struct h;\ntypedef void (*g)(void *d);\nvoid on(struct h *h, g f, void *d LG_DATA);\nint f(struct h *h, int (*e)(void *d, g f, void *fd LG_DATA), void *d LG_DATA) LG_ERROR(-1);",
            &["f: what it gives", "and data for them beside them", "LG_IGNORE"],
        ),
        (
            "struct h;\ntypedef void (*g)(void *d);\nstruct s { g f; };\nstruct u { void *d LG_DATA; };\nint in(struct h *h, const struct s *s LG_IN, const struct u *u LG_IN) LG_ERROR(-1);\nint f(struct h *h, struct s *s LG_OUT, struct u *u LG_OUT) LG_ERROR(-1);",
            &["f: what it gives", "LG_IGNORE"],
        ),
        (
            "struct h;\nvoid a(struct h *h, void *d LG_DATA);\nvoid b(struct h *h, void *d LG_DATA);\nstruct s { void *d LG_DATA; };\nconst struct s *f(struct h *h) LG_SIZE(1);",
            &[
                "f: its structures",
                "struct s.d: no annotation says which of the program's data it gives back",
                "what a() got, or b()",
                "LG_GIVEN",
            ],
        ),
        (
            "struct h;\nvoid a(struct h *h, void *d LG_DATA);\nvoid b(struct h *h);\nstruct s { void *d LG_DATA LG_GIVEN(b); };\nconst struct s *f(struct h *h) LG_SIZE(1);",
            &["f: its structures", "no data (LG_DATA) to b()"],
        ),
        (
            "struct h;\nvoid a(struct h *h, void *d LG_DATA);\nvoid b(struct h *h, void *d LG_DATA);\nvoid *f(struct h *h) LG_DATA;",
            &["f: result", "what a() got, or b()", "LG_GIVEN"],
        ),
        (
            "struct h;\nvoid a(struct h *h, void *d LG_DATA);\nvoid b(struct h *h);\nvoid *f(struct h *h) LG_DATA LG_GIVEN(b);",
            &["f: result", "no data (LG_DATA) to b()"],
        ),
        ("struct h;\nconst char *f(struct h *h) LG_STRING LG_PAIRS;", &["LG_PAIRS says nothing of"]),
        (
            "struct h;\nint f(struct h *h, int n LG_AT_MOST(lg_told(f, h, n, f)));",
            &["once for each function"],
        ),
        ("#include <setjmp.h>\nint f(jmp_buf e LG_OUT);", &["a jmp_buf", "LG_OMIT"]),
        // What is left unwritten would be bytes of earlier calls.
        ("int f(char *p LG_OUT LG_SIZE(n), int n);", &["f: parameter p", "LG_WRITTEN(n)", "LG_INOUT"]),
        ("int f(char *p LG_OUT LG_STRING LG_SIZE(9));", &["f: parameter p", "LG_WRITTEN(n)"]),
        ("int f(int *p LG_OUT LG_SIZE(*n), int *n LG_INOUT);", &["f: parameter p", "LG_WRITTEN(n)"]),
        ("struct s { int n; };\nint f(struct s *s LG_OUT LG_SIZE(2));", &["f: parameter s", "LG_WRITTEN(n)"]),
        (
            "int f(unsigned char **p LG_OUT LG_ROWS(3) LG_SIZE(4));",
            &["f: parameter p", "how much of it the library writes", "LG_INOUT"],
        ),
        (
            "struct s { int n; char *at; };\nLG_FIELD(struct s, at, LG_OUT LG_SIZE(n));\nint f(struct s *s LG_INOUT);",
            &["struct s, field at", "LG_WRITTEN(n)"],
        ),
        // No value stands for a failure that a program would take for an answer.
        ("int f(void);", &["f: result", "LG_ERROR(value)", "LG_ERRORS(int, value)"]),
        ("char f(void);", &["f: result", "LG_ERRORS(char, value)"]),
        ("typedef long long number;\nnumber f(void);", &["f: result", "LG_ERRORS(number, value)"]),
        (
            "enum how { WELL, BADLY };\nenum how f(void);",
            &["f: result", "often success", "LG_ERRORS(enum how, value)"],
        ),
        ("typedef unsigned my_status;\nmy_status f(void);", &["f: result", "0 is success to some callers"]),
        ("struct s { int n; };\nstruct s f(void);", &["f: result", "zeros in a structure"]),
        ("LG_ERRORS(int, -1);\nint is_good(int n);\nint g(void);", &["is_good: result", "asks a question"]),
        // Text ends, bytes need not.
        (
            "struct s { int n; char name[8]; };\nint f(struct s *s LG_OUT);",
            &["struct s, field name", "LG_STRING", "LG_BYTES"],
        ),
        (
            "struct in { char name[8]; };\nstruct s { struct in in; };\nconst struct s *f(void) LG_SIZE(1);",
            &["f: result: struct s, field in.name", "LG_BYTES"],
        ),
        (
            "struct s { char name[8]; };\nint f(int (*c)(struct s s));",
            &["parameter s: struct s, field name", "LG_BYTES"],
        ),
        ("struct s { int n LG_BYTES; };\nint f(struct s *s LG_IN);", &["LG_BYTES says nothing of"]),
        // A stub says what it takes by name.
        ("int f(struct { int n; } *p LG_IN);", &["f: parameter p", "a structure without a name"]),
        ("int f(struct { int n; } p);", &["f: parameter p", "a structure without a name"]),
        ("int f(union { int n; long m; } *p LG_OUT);", &["f: parameter p", "without a name"]),
        ("struct { int n; } *f(void) LG_SIZE(1);", &["f: result", "a structure without a name"]),
        (
            "struct s { struct { int n; } *part; int n; };\nLG_FIELD(struct s, part, LG_IN LG_SIZE(n));\nint f(struct s *s LG_IN);",
            &["struct s, field part", "without a name"],
        ),
        // What a field's function takes.
        (
            "struct s { int (*c)(void *d, const char *t, int n); };\nLG_FIELD_CALLBACK(struct s, c, (void *d, const char *t LG_SIZE(n)));\nint f(struct s *s LG_IN);",
            &["LG_FIELD_CALLBACK(struct s, c)", "takes other parameters"],
        ),
        (
            "struct s { int c; };\nLG_FIELD_CALLBACK(struct s, c, (void *d));\nint f(struct s *s LG_IN);",
            &["LG_FIELD_CALLBACK(struct s, c)", "no pointer to a function"],
        ),
        // Names that mean something in the program, or in the stub itself.
        ("int close(int fd);", &["the C library has a function of this name", "LG_OMIT"]),
        ("int f(const char *strlen);", &["the stub itself uses strlen"]),
        // Only callbacks fill what goes back.
        (
            "struct t { const char *c; };\nstruct s { int n; struct t *t LG_OUT; };\nconst struct s *f(void) LG_SIZE(1);",
            &["struct s, field t", "only a callback is given"],
        ),
        (
            "struct t { const char *c; };\nstruct t *f(void) LG_OUT LG_BORROWED;",
            &["f: result", "only a callback is given"],
        ),
        ("#include <stdarg.h>\nint f(va_list v);", &["f: parameter v"]),
        ("void *f(void);", &["result", "LG_SIZE", "LG_OPAQUE"]),
        ("struct s { int n; char *p; };\nint f(struct s *s LG_INOUT);", &["struct s, field p", "LG_STRING"]),
        ("union u { int n; char *p; };\nint f(union u *u LG_IN);", &["only the program knows"]),
        (
            "struct in { char *p; };\nunion u { int n; struct in in[2]; };\nint f(union u *u LG_OUT);",
            &["only the program knows"],
        ),
        (
            "struct in { char *p; };\nstruct s { unsigned n : 3; struct in in; };\nint f(struct s *s LG_OUT);",
            &["struct s has bit-fields beside pointers"],
        ),
        ("struct s { int n; };\nint f(struct s *s);", &["reads or writes `struct s`", "LG_OPAQUE"]),
        (
            "struct s { const char *name LG_STRING; };\nint f(struct s *s LG_OUT LG_SIZE(n), int n);",
            &["an array of structures with pointers is not copied back"],
        ),
        (
            "typedef struct h h LG_OPAQUE;\nint f(h **all LG_OUT LG_SIZE(n), int n);",
            &["an array of them is not copied back", "remove LG_SIZE"],
        ),
        ("int f(char *(*give)(int));", &["callback", "which the library would use"]),
        (
            "struct s { const char *name LG_STRING; };\nint f(int (*fill)(struct s *s LG_OUT));",
            &["struct s, field name", "which the library would use after it"],
        ),
        (
            "struct s { const int *v LG_IN LG_SIZE(n); int n; };\nint f(int (*fill)(struct s *s LG_OUT));",
            &["struct s, field v", "which the library would use after it"],
        ),
        (
            "char *f(char *out LG_OUT LG_STRING LG_SIZE(n) LG_WRITTEN(n), unsigned long n) LG_SIZE(strlen(out)) LG_BORROWED;",
            &["strlen(out)", "one number before, and another afterwards"],
        ),
        (
            "int f(int *head LG_INOUT LG_SIZE(4), char *body LG_OUT LG_SIZE(n) LG_WRITTEN(*head), int n);",
            &["*head", "one number before, and another afterwards"],
        ),
        ("int f(long double x);", &["long double cannot be passed"]),
        ("int f(char **p LG_IN);", &["arrays of pointers cannot be passed in"]),
        ("char *f(char *p LG_STRING) LG_WITHIN(q);", &["LG_WITHIN names no pointer q"]),
        (
            "unsigned f(void) LG_ERROR(0) LG_POLICY(TRUST);",
            &["LG_POLICY: TRUST is no policy", "MUTUAL_DISTRUST"],
        ),
        ("int f(int *p LG_IN LG_SIZE(lg_told(g, p, lg_result)));", &["g() is no function of this header"]),
        ("int g(int n);\nint f(int *p LG_IN LG_SIZE(lg_told(g, p, lg_result)));", &["`p` is no handle"]),
        (
            "struct h;\nint g(struct h *h);\nint f(struct h *h, char *p LG_IN LG_SIZE(lg_told(g, h, height)));",
            &["g() has no number height", "lg_called"],
        ),
        ("int f(char **p LG_IN LG_ROWS(3));", &["no annotation says what the pointers of LG_ROWS lead to"]),
        ("int f(int *p LG_IN LG_ROWS(3) LG_SIZE(1));", &["leads to no pointers"]),
        ("#include <setjmp.h>\njmp_buf *f(int n) LG_JUMP_BUFFER(n);", &["names no handle n"]),
        (
            "#include <setjmp.h>\nstruct h;\nvoid f(struct h *h, void (*jump)(jmp_buf env LG_JUMP));",
            &["does not take a jmp_buf and an int"],
        ),
        ("int f(const char *s, ...) LG_FORMAT(vf, \"\", \"\");", &["vf() is no function"]),
        ("int f(int n, ...) LG_FORMAT(f, \"\", \"\");", &["no format is followed"]),
        (
            "struct s { int n; };\nint f(struct s *s LG_IN, char *p LG_IN LG_SIZE(s->m));",
            &["s->m in an expression is no integer"],
        ),
        // A structure that leads to itself is no plainer for it.
        (
            "struct s { void (*f)(struct s v); };\nint f(struct s *s LG_IN);",
            &["struct s, field f", "pointers in it and is passed by value"],
        ),
        (
            "struct s { int n; struct s *part LG_IN LG_SIZE(n); };\nint f(struct s *s LG_IN);",
            &["struct s, field part", "structures behind pointers"],
        ),
        (
            "struct s;\ntypedef void (*cb)(struct s *v LG_INOUT);\nstruct s { cb f; };\nint f(struct s *s LG_IN);",
            &["callback cb", "pointers in it and is passed by value or written"],
        ),
        // What was planned for `f` is not there for `g`.
        (
            "struct s;\ntypedef void (*cb)(struct s *v LG_IN);\nstruct s { cb f; char *p; };\nint f(struct s *s LG_IN);\nint g(cb c);",
            &["f: parameter s: struct s, field p", "g: parameter c: callback cb"],
        ),
        ("LG_FIELD(struct none, f, LG_IN);\nint f(void);", &["there is no such field"]),
        // What has two readings is not guessed.
        (
            "#include <stddef.h>\nunsigned f(const char *data, size_t len);",
            &[
                "f: parameter data",
                "a string, or a buffer whose length is len",
                "LG_STRING",
                "LG_IN LG_SIZE(len)",
            ],
        ),
        ("int f(int size, int flags, const char *data);", &["whose length is size"]),
        ("int f(const char *data, int *n LG_INOUT, int length);", &["whose length is length"]),
        ("const char *f(int *length LG_OUT);", &["f: result", "whose length is *length"]),
        ("int f(void (*cb)(const char *data, int count));", &["parameter data", "whose length is count"]),
        (
            "struct s { const char *p; int n; };\nint f(struct s *s LG_IN);",
            &["struct s, field p", "length is n"],
        ),
        // What an annotation names is what it takes.
        (
            "struct s { char name[32] LG_STRING; int n; };\nconst struct s *f(void) LG_UNTIL(name);",
            &["LG_UNTIL(name)", "no number and no pointer"],
        ),
        ("struct s { int n; };\nconst struct s *f(void) LG_UNTIL(m);", &["struct s has no field m"]),
        ("int f(void *p LG_DATA LG_SHOWN(h), int h);", &["LG_SHOWN names no handle h"]),
        // A stream of the library's belongs to one domain.
        (
            "#include <stdio.h>\nLG_DOMAIN(\"f\", restart);\nint f(FILE *file);",
            &["f: parameter file", "LG_DOMAIN says restart"],
        ),
        (
            "int f(void (*cb)(const char *a LG_SIZE(strlen(b)), const char *b LG_SIZE(strlen(a))));",
            &["depends on itself"],
        ),
        (
            "union u { int n; _Bool b; };\nint f(union u *u LG_OUT);",
            &["only the program knows", "one is a bool or text"],
        ),
    ];
    let folder = tempfile::tempdir().expect("a scratch folder");
    let header = folder.path().join("api.h");
    let mut wrong = Vec::new();
    let program = Part::one_in(12, "headers that the program refuses, too");
    for (index, (text, expected)) in cases.iter().enumerate() {
        std::fs::write(&header, format!("#include <lockgate/annotations.h>\n{text}\n")).expect("a file");
        let said = crate::reading::read(&header, &[]);
        assert_ne!(said.status, 0, "{text}: accepted");
        let mut messages = vec![said.err + &said.refused];
        if program.has(index) {
            let mut stubs = lockgate();
            stubs.arg("stubs").arg(&header).args(["-m", "x.lg", "-o"]).arg(folder.path().join("client"));
            let output = stubs.output().expect("it starts");
            assert!(!output.status.success(), "{text}: accepted");
            assert!(!folder.path().join("client").exists(), "{text}: something was written");
            messages.push(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        for message in messages {
            if !expected.iter().all(|part| message.contains(part)) {
                wrong.push(format!("{text}: {message}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Annotations are nothing to an ordinary compiler.
#[test]
fn annotations_vanish() {
    let include = format!("-I{}", corpus().root().join("crates/lockgate-headers/include").display());
    let mut compile = Command::new("gcc");
    compile.args(["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", &include]);
    done(compile.arg("-xc").arg(file("tricky.h"))).expect("gcc sees no annotations");
}

/// What crosses, and how that was decided: by an annotation, by one of the type, or by a rule.
#[test]
fn decisions_are_explained() {
    let include = format!("-I{}", corpus().root().join("crates/lockgate-headers/include").display());
    let mut command = lockgate();
    let text =
        done(command.arg("stubs").arg(file("sly.h")).arg(include).arg("--explain")).expect("an explanation");
    for line in [
        "sly_search\n    base: struct entry: n elements of 64 bytes, copied in [LG_IN LG_SIZE(n)]",
        "    result: a place within base, with 1 elements of 64 bytes behind it [LG_WITHIN(base)]",
        "    text: a string, copied in [LG_STRING]",
        "    box: a handle of type `struct box` [rule: a pointer to an incomplete structure is a handle]",
        "    box: a handle of type `struct box`, which handlers get in place of data [LG_DATA]",
        "    file: a stream, for this call [LG_FOR_CALL]",
        "    user: the program's own data: a number to the library [rule: an untyped pointer beside a callback is",
        "    if it fails: returns -1 [LG_ERROR]",
        "    if it fails: returns 0 [rule for its type]",
        "sly_piece, which the library calls\n    bytes: memory, copied out: *n elements of 1 bytes",
        "struct view, field by field\n    bytes: in: a buffer: *n bytes",
    ] {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
}

/// What is said of a callback's parameters counts, however its type is named and wherever it is said.
#[test]
fn annotations_of_callbacks_count_wherever_they_stand() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let said = "void *buffer LG_OUT LG_SIZE(size), size_t size, void *data";
    let plain = "void *buffer, size_t size, void *data";
    let cases = [
        // The header names the type, the annotations spell it out.
        (
            format!("typedef size_t (*more_t)({plain});\nint load(more_t more, void *data);"),
            format!("int load(size_t (*more)({said}), void *data);"),
        ),
        // A type of functions, to which the parameter is a pointer.
        (
            format!("typedef size_t more_f({plain});\nint load(more_f *more, void *data);"),
            format!("typedef size_t more_f({said});"),
        ),
        (
            format!("typedef size_t more_f({plain});\nint load(more_f *more, void *data);"),
            format!("int load(size_t (*more)({said}), void *data);"),
        ),
        // No name at all.
        (
            format!("int load(size_t (*more)({plain}), void *data);"),
            format!("int load(size_t (*more)({said}), void *data);"),
        ),
    ];
    for (header, annotations) in cases {
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("a scratch folder");
            path
        };
        let api = write("load.h", &format!("#pragma once\n#include <stddef.h>\n{header}\n"));
        let notes = write(
            "load.lg.h",
            &format!(
                "#include \"load.h\"\n#include <lockgate/annotations.h>\nLG_DOMAIN(\"load\", time=1000);\nLG_ERRORS(int, -1);\n{annotations}\n"
            ),
        );
        let text = crate::reading::explained(&api, &[&notes]).out;
        assert!(text.contains("[LG_OUT LG_SIZE(size)]"), "{header}\n{annotations}\n{text}");
    }
    // What is said of types counts for parameters of a type that is written at the pointer itself, a structure's field among them.
    let header = folder.path().join("types.h");
    let text = "#include <lockgate/annotations.h>\nLG_DOMAIN(\"types\", time=1000);\ntypedef unsigned place;\n\
        LG_TYPE(place, LG_AT_MOST(7));\ntypedef int wide __attribute__((aligned(64)));\n\
        int each(void (*see)(void *data, place at, const wide *p LG_IN LG_SIZE(1)), void *data LG_DATA) LG_ERROR(-1);\n";
    std::fs::write(&header, text).expect("a scratch folder");
    let explained = crate::reading::explained(&header, &[]).out;
    assert!(explained.contains("LG_AT_MOST(7) of the type place"), "{explained}");
    let client = folder.path().join("client");
    let mut generator = crate::reading::lockgate();
    generator.arg("stubs").arg(&header).args(["-m", "types.lg", "-o"]).arg(&client);
    assert!(generator.status().expect("it starts").success());
    let client = std::fs::read_to_string(client.join("types_client.c")).expect("a client");
    assert!(client.contains("__alignof__(*(const wide *)0)"), "{client}");
}

/// What these declarations of real libraries' mean, they do not say: nothing is guessed.
#[test]
fn what_has_two_readings_is_refused() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let header = folder.path().join("vague.h");
    let declarations = [
        // (Two readings, else one of them.)
        (true, "packet", "int packet(const unsigned char *data)"),
        (true, "mapping", "int mapping(int streams, const signed char *mapping)"),
        (true, "checksum", "const unsigned char *checksum(struct entry *entry, int type)"),
        (true, "host_hash", "const char *host_hash(struct entry *entry, int type)"),
        (true, "send_bytes", "int send_bytes(struct entry *entry, const char *raw)"),
        (true, "by_tag", "int by_tag(struct entry *entry, const char *tag, const char *tag_end)"),
        (
            true,
            "set_write",
            "void set_write(struct entry *entry, int (*write)(void *data, const void *memory, unsigned long n), void *data)",
        ),
        (
            true,
            "set_read",
            "void set_read(struct entry *entry, long (*read)(void *data, void *memory, long n), void *data)",
        ),
        (
            true,
            "set_order",
            "void set_order(struct entry *entry, int (*order)(const void *a, const void *b))",
        ),
        // The library keeps the pointer, or the letters; it points into what it was given, or tells something.
        (true, "EntrySetFileName", "const char *EntrySetFileName(struct entry *entry, const char *name)"),
        (false, "EntryFileName", "const char *EntryFileName(struct entry *entry)"),
        (true, "set_label", "int set_label(struct entry *entry, const char *label)"),
        (false, "get_label", "const char *get_label(struct entry *entry)"),
        (true, "set_language", "void set_language(const char *language)"),
        (false, "set_told", "int set_told(struct entry *entry, const char *told LG_STRING)"),
        (false, "told", "const char *told(struct entry *entry)"),
        (true, "language", "const char *language(void)"),
        (true, "GetErrorPtr", "const char *GetErrorPtr(void)"),
        (true, "error_position", "const char *error_position(struct entry *entry)"),
        (true, "last_message", "const char *last_message(void)"),
        (true, "next_word", "const char *next_word(const char *text)"),
        (false, "next_told", "const char *next_told(const char *text) LG_STRING"),
        (false, "next_name", "const char *next_name(struct entry *entry, const char *name)"),
        (true, "number", "int number(const char *text, const char **end LG_OUT)"),
        (
            true,
            "number_at",
            "int number_at(struct entry *entry, const char *text, const char **endptr LG_OUT)",
        ),
        (true, "split", "int split(const char *text, const char **word LG_OUT)"),
        (false, "split_told", "int split_told(const char *text, const char **end LG_OUT LG_STRING)"),
        (false, "look_up", "int look_up(struct entry *entry, const char *key, const char **value LG_OUT)"),
        (true, "parsed", "int parsed(struct entry *entry, struct parsed *parsed LG_OUT)"),
        (
            true,
            "set_parse",
            "void set_parse(struct entry *entry, int (*parse)(void *data, const char *rest), void *data)",
        ),
        (false, "last_told", "const char *last_told(void) LG_STRING"),
        (false, "version_string", "const char *version_string(void)"),
        (false, "set_name", "int set_name(struct entry *entry, const char *name)"),
        (false, "set_range", "int set_range(struct entry *entry, const char *first, const char *last)"),
        (
            false,
            "set_tries",
            "void set_tries(struct entry *entry, int (*more)(void *data, int tries), void *data)",
        ),
        (
            false,
            "set_change",
            "void set_change(struct entry *entry, int (*change)(void *from, void *to), void *data)",
        ),
    ];
    let text: String = declarations.iter().map(|(_, _, declaration)| format!("{declaration};\n")).collect();
    let before = "#include <lockgate/annotations.h>\nLG_ERRORS(int, -1);\nstruct entry;\nstruct parsed { int n; const char *tail LG_OUT; };\n";
    std::fs::write(&header, format!("{before}{text}")).expect("a file");
    let text = crate::reading::explained(&header, &[]).out;
    for (vague, name, declaration) in declarations {
        let refused =
            text.lines().any(|line| line.starts_with(&format!("{name}: ")) && line.contains("refused: "));
        let taken = text.lines().any(|line| line == name);
        assert!(refused == vague && taken != vague, "{declaration}:\n{text}");
    }
}

/// Memory that a domain can write is looked at in one place: neither the other parts of the runtime nor what is emitted for any header makes a
/// pointer of an address inside, follows shared memory, or says that it is volatile.
#[test]
fn nothing_else_looks_at_what_a_domain_can_write() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let client = |name: &str, header: &Path, options: &[String]| {
        let out = folder.path().join(name);
        let mut stubs = lockgate();
        stubs.arg("stubs").arg(header).args(options).args(["--partial", "-m", "none.lg", "-o"]).arg(&out);
        done(&mut stubs).expect("stubs");
        let sources = std::fs::read_dir(&out).expect("a folder").flatten().map(|entry| entry.path());
        let text = sources.filter(|path| path.to_string_lossy().ends_with("_client.c"));
        text.map(|path| (name.to_owned(), std::fs::read_to_string(path).expect("a file"))).collect::<Vec<_>>()
    };
    let include = vec![format!("-I{}", corpus().root().join("crates/lockgate-headers/include").display())];
    let mut texts = Vec::new();
    for name in ["tricky", "jumpy", "sly"] {
        texts.extend(client(name, &file(&format!("{name}.h")), &include));
    }
    for library in LIBRARIES {
        let main = corpus().library(library.name).expect("in the corpus");
        let header =
            main.includes.iter().map(|include| include.join(library.header)).find(|path| path.is_file());
        let annotations = corpus().root().join("share/stubs").join(library.annotations);
        let mut options = vec!["-a".to_owned(), annotations.display().to_string()];
        options.extend(
            main.flags().iter().filter(|flag| flag.starts_with("-I") || flag.starts_with("-D")).cloned(),
        );
        options.extend(library.defines.iter().map(|define| format!("-D{define}")));
        texts.extend(client(library.client, &header.expect("the header"), &options));
    }
    let runtime = corpus().root().join("crates/lockgate-stubs/runtime");
    for entry in std::fs::read_dir(runtime).expect("a folder").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".h") && name != "fetch.h" {
            texts.push((name, std::fs::read_to_string(entry.path()).expect("a file")));
        }
    }
    assert!(texts.len() > 20, "{} texts", texts.len());
    // Addresses inside are followed by nobody; `struct lgs_far` has no members, and is cast from and to nowhere else.
    let inside = [
        "lg_memory_copy",
        "lg_memory_read",
        "lg_memory_write",
        "volatile",
        "(void *)lgs_a",
        "*)lgs_u_",
        "lgs_far *)(",
    ];
    let here = [".here[", "->here[", "*lgs_b_", ")lgs_b_", "*block.here", "*block->here"];
    for (name, text) in &texts {
        let used = |(_, line): &(usize, &str)| !line.starts_with("#undef ");
        for (number, line) in text.lines().enumerate().filter(used) {
            for wrong in inside.iter().chain(&here) {
                assert!(!line.contains(wrong), "{name}:{}: `{wrong}` in {line}", number + 1);
            }
            // A number becomes a pointer only as the value of a function of the runtime's that has checked it.
            for cast in line.match_indices("(uintptr_t)").map(|(at, found)| &line[at + found.len()..]) {
                let word: String = cast.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let raw = word.starts_with("lgs_a") && word[5..].parse::<u32>().is_ok()
                    || word.starts_with("lgs_u_")
                    || word == "lg_result";
                assert!(!raw, "{name}:{}: {line}", number + 1);
            }
        }
    }
}

/// Whoever starts a program that has other rights than they have does not choose its module. Where the test may not give a file to another user, what
/// is emitted is looked at, and the rest is said to be left out.
#[test]
fn programs_with_other_rights_choose_their_module_themselves() {
    let runtime = corpus().root().join("crates/lockgate-stubs/runtime");
    for entry in std::fs::read_dir(&runtime).expect("a folder").flatten() {
        let Ok(text) = std::fs::read_to_string(entry.path()) else { continue };
        let asks = |line: &&str| line.contains("getenv(") || line.contains("os.environ");
        for line in text.lines().filter(asks) {
            assert!(line.contains("secure_getenv("), "{}: {line}", entry.path().display());
        }
    }
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("api.h"), "const char *version(void);\n").expect("a file");
    let mut stubs = lockgate();
    stubs.arg("stubs").arg(path("api.h")).arg("-m").arg(path("api.lg")).arg("-o").arg(path("client"));
    done(&mut stubs).expect("stubs");
    for (name, answer) in [("api", "genuine"), ("evil", "evil")] {
        let source = path(name).with_extension("c");
        std::fs::write(&source, format!("const char *version(void) {{ return \"{answer}\"; }}\n"))
            .expect("a file");
        let mut link = lockgate();
        link.args(["cc", "-g", "-O1"]).arg(source).arg("-o").arg(path(name).with_extension("lg"));
        done(link.arg("--exports").arg(path("client/api.exports"))).expect("it links");
    }
    let main = "#include <api.h>\n#include <stdio.h>\n#include <sys/auxv.h>\nint main(void) { const char *v = version(); printf(\"%s %s\\n\", v ? v : \"none\", getauxval(AT_SECURE) ? \"secure\" : \"plain\"); }\n";
    std::fs::write(path("main.c"), main).expect("a file");
    let mut compile = Command::new("gcc");
    compile
        .args(["-O0", "-I"])
        .arg(path("client"))
        .arg("-I")
        .arg(folder.path())
        .arg("-I")
        .arg(prefix().join("include"));
    compile.arg(path("main.c")).arg(path("client/api_client.c")).arg("-o").arg(path("program"));
    done(kit().link_with_library(&mut compile)).expect("it compiles");
    let answer = |program: &mut Command| {
        let output = program.env("LOCKGATE_API", path("evil.lg")).output().expect("it starts");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_eq!(answer(&mut Command::new(path("program"))), "evil plain");
    let belongings = ["api.lg", "evil.lg"].map(path);
    let belongings = belongings.each_ref().map(PathBuf::as_path);
    let what =
        "programs_with_other_rights_choose_their_module_themselves: a program with another user's rights";
    if support::with_other_rights(&path("program"), &belongings, what) {
        assert_eq!(answer(&mut Command::new(path("program"))), "genuine secure");
    }
}

/// Annotations fit versions of a library before some of its functions, and headers that have several names, as distributions install them.
#[test]
fn annotations_fit_what_distributions_install() {
    let read = |header: &Path, annotations: &str, options: &[&str]| {
        let out = tempfile::tempdir().expect("a scratch folder");
        let mut stubs = lockgate();
        stubs.arg("stubs").arg(header).arg("-a").arg(corpus().root().join("share/stubs").join(annotations));
        stubs.args(options).args(["--partial", "-m", "/m.lg", "-o"]).arg(out.path());
        done(&mut stubs).unwrap_or_else(|error| panic!("{}: {error}", header.display()));
    };
    // Text that is younger, and what was there before.
    let before: &[(&str, &[(&str, &str)])] = &[
        (
            "png",
            &[(
                "include \"pngconf.h\"",
                "include \"pngconf.h\"\n#undef PNG_cICP_SUPPORTED\n#undef PNG_cLLI_SUPPORTED\n#undef PNG_mDCV_SUPPORTED",
            )],
        ),
        (
            "zlib",
            &[
                ("#define ZLIB_VERNUM ", "#define ZLIB_VERNUM 0x12d0 //"),
                ("deflateUsed", "younger_"),
                ("compress_z", "younger_z"),
                ("compress2_z", "younger2_z"),
            ],
        ),
    ];
    for (name, changes) in before {
        let main = corpus().library(name).expect("in the corpus");
        let flags = main.flags();
        let folders: Vec<&str> = flags.iter().filter_map(|flag| flag.strip_prefix("-I")).collect();
        let folder = tempfile::tempdir().expect("a scratch folder");
        std::fs::create_dir_all(folder.path().join("version")).expect("a folder");
        let mut changed = 0;
        for entry in folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder")).flatten()
        {
            let file = entry.file_name().to_string_lossy().into_owned();
            if file == "scripts" {
                let _ = std::os::unix::fs::symlink(entry.path(), folder.path().join("version/scripts"));
            }
            if file.ends_with(".h") {
                let text =
                    String::from_utf8_lossy(&std::fs::read(entry.path()).expect("a file")).into_owned();
                let older = changes.iter().fold(text.clone(), |text, (from, to)| text.replace(from, to));
                changed += usize::from(older != text);
                std::fs::write(folder.path().join("version").join(&file), older).expect("a file");
                let _ =
                    std::os::unix::fs::symlink(Path::new("version").join(&file), folder.path().join(&file));
            }
        }
        assert!(changed > 0, "{name}: nothing in it is younger");
        let library = library(name);
        let defines: Vec<String> = library.defines.iter().map(|define| format!("-D{define}")).collect();
        let options: Vec<&str> = defines.iter().map(String::as_str).collect();
        read(&folder.path().join(library.header), library.annotations, &options);
    }
    let installed = [
        ("png.h", "png.lg.h"),
        ("zlib.h", "zlib.lg.h"),
        ("expat.h", "expat.lg.h"),
        ("sqlite3.h", "sqlite3.lg.h"),
        ("lz4.h", "lz4.lg.h"),
        ("lz4frame.h", "lz4frame.lg.h"),
        ("zstd.h", "zstd.lg.h"),
        ("brotli/encode.h", "brotli_encode.lg.h"),
        ("brotli/decode.h", "brotli_decode.lg.h"),
    ];
    let part = Part::one_in(3, "installed headers");
    for (index, (header, annotations)) in installed.into_iter().enumerate() {
        let header = Path::new("/usr/include").join(header);
        if part.has(index) && header.is_file() {
            read(&header, annotations, &[]);
        }
    }
}
