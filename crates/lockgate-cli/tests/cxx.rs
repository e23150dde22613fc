//! Programs in C++ (`tests/cxx`): what they print and return is the same natively and in a domain.

use crate::common::{Shop, in_time, text};
use lockgate::dl::{self, Library, Mode};
use lockgate::{Domain, DomainOptions, HostFunction, Module, Pointer};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use support::Part;

/// What the programs read.
const INPUT: &str = "a line\nanother";

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cxx").join(name).with_extension("cpp")
}

/// A compiler of C++.
struct Compiler {
    command: &'static str,
    /// The host's compiler and the driver get these alike.
    options: &'static [&'static str],
    /// And each of these in turn.
    sets: &'static [&'static str],
}

const GXX: Compiler = Compiler { command: "g++", options: &[], sets: &["-O2 -fno-plt"] };

/// The same for programs about frames, which each level makes others of.
const GXX_UNOPTIMISED: Compiler = Compiler { sets: &["-O0"], ..GXX };

/// For a program that takes long to compile.
const GXX_A_LITTLE: Compiler = Compiler { sets: &["-O1"], ..GXX };

const GXX_AT_OTHER_LEVELS: Compiler = Compiler { sets: &["-O0", "-O1", "-O3", "-Os"], ..GXX };

const CLANG: Compiler = Compiler { command: "clang++", options: &[], sets: &["-O2"] };

/// clang with its own library.
const LIBCXX: Compiler = Compiler { command: "clang++", options: &["-stdlib=libc++"], sets: &["-O1"] };

impl Compiler {
    /// Whether it is here, with its library.
    fn is_here(&self, test: &str) -> bool {
        let shop = Shop::new();
        shop.write("empty.cpp", "#include <cstddef>\n");
        let mut command = shop.command(self.command);
        command.args(self.options).args(["-E", "empty.cpp", "-o", "empty"]);
        let here = command.output().is_ok_and(|output| output.status.success());
        if !here {
            support::skipped(test, format!("no {} {}", self.command, self.options.join(" ")));
        }
        here
    }

    /// Compares the program `name`, which is given the folder `/folder`, or one natively.
    fn same(&self, name: &str) {
        self.same_with(name, |_| Vec::new());
    }

    /// The same of one that is linked with more. (The native program has each set of options, too: what is allocated, and so what some
    /// programs print, depends on them.)
    fn same_with(&self, name: &str, more: impl Fn(&Shop) -> Vec<String>) {
        if !self.is_here(name) {
            return;
        }
        let source = source(name);
        for set in self.sets {
            let shop = Shop::new();
            let more = more(&shop);
            let options: Vec<&str> =
                self.options.iter().copied().chain(["-std=c++20", "-w"]).chain(set.split(' ')).collect();
            let mut compiler = shop.command(self.command);
            compiler.args(&options).arg(&source).args(&more).args(["-pthread", "-o", "native"]);
            let compiled = compiler.output().expect("the compiler starts");
            assert!(compiled.status.success(), "{}", text(&compiled.stderr));
            let driver = shop.lockgate("c++").env("LOCKGATE_GXX", self.command);
            let driver = driver.args(&options).arg(&source).args(&more);
            driver.args(["-pthread", "-o", "module.lg"]).run_quietly();

            let [outside, inside] = ["outside", "inside"].map(|folder| {
                std::fs::create_dir(shop.path(folder)).expect("a folder");
                shop.path(folder)
            });
            let mut native = Command::new(shop.path("native"));
            native.arg(&outside);
            let mut domain = Command::new(env!("CARGO_BIN_EXE_lockgate"));
            domain.args(["run", "--threads=16", "--time-limit=120s", "--dir"]);
            domain.arg(format!("/folder={}", inside.display())).arg(shop.path("module.lg")).arg("/folder");
            let (native, domain) = (run(native), run(domain));
            let shown = |output: &Output| (text(&output.stdout), text(&output.stderr), output.status.code());
            let what = format!("{} {options:?} {}", self.command, source.display());
            assert_eq!(shown(&domain), shown(&native), "{what}");
            assert!(!native.stdout.is_empty(), "{what}: it prints nothing");
        }
    }
}

fn run(mut command: Command) -> Output {
    use std::io::Write as _;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    // A program that does not read has closed it, perhaps.
    let _ = input.write_all(INPUT.as_bytes());
    drop(input);
    child.wait_with_output().expect("it ends")
}

fn same(name: &str) {
    GXX.same(name);
}

/// One of `cases` in each run, all in `make thorough`: compiling the standard library's templates is what takes the time.
fn one_of_them_is_the_same(test: &str, cases: &[(Compiler, &str)]) {
    let part = Part::one_in(cases.len(), test);
    part.among(cases).for_each(|(compiler, name)| compiler.same(name));
}

/// The same of a program that is linked with more, which lies in its folder or is named there.
fn same_with(name: &str, more: impl Fn(&Shop) -> Vec<String>) {
    GXX.same_with(name, more);
}

#[test]
fn classes() {
    same("classes");
}

/// The locales are ours; what glibc has more than musl is asked of them.
#[test]
fn streams() {
    same("streams");
}

/// What else there is in the standard library.
#[test]
fn standard_library() {
    one_of_them_is_the_same(
        "the standard library",
        &[
            (GXX, "containers"),
            (GXX_A_LITTLE, "patterns"),
            (GXX, "threads"),
            (GXX, "files"),
            (GXX, "coroutines"),
        ],
    );
}

/// Boost.Context as the system has it: fibers that throw, are unwound, and run functions on top of others.
#[test]
fn boost() {
    let headers = Path::new("/usr/include/boost");
    let found = Command::new("g++").arg("--print-file-name=libboost_context.a").output();
    let archive = found.map(|output| text(&output.stdout).trim().to_owned()).unwrap_or_default();
    if !headers.join("context/fiber.hpp").exists() || !Path::new(&archive).is_absolute() {
        return support::skipped("Boost.Context in a domain", "libboost-context-dev is not installed");
    }
    same_with("boost", |shop| {
        // Apart from the system's other headers.
        std::fs::create_dir(shop.path("include")).expect("a folder");
        std::os::unix::fs::symlink(headers, shop.path("include/boost")).expect("a link");
        vec!["-Iinclude".to_owned(), archive.clone()]
    });
}

/// The same interface beneath Boost's classes, by a program of ours, with assembly in the place of Boost's: it runs wherever there is g++.
#[test]
fn contexts_of_assembly() {
    let assembly = source("fcontext").with_extension("s");
    same_with("fcontext", |_| vec![assembly.display().to_string()]);
}

/// Atomic objects of 16 bytes and of sizes that need a lock, between threads. Red if what is read comes in two halves, or no lock is taken.
#[test]
fn atomics() {
    for compiler in [GXX, CLANG] {
        compiler.same_with("atomics", |_| vec!["-latomic".to_owned()]);
    }
    if !GXX.is_here("atomics") {
        return;
    }
    // gcc calls functions for small sizes, too, if it is told to.
    let calls = Compiler { sets: &["-O2 -fno-inline-atomics"], ..GXX };
    calls.same_with("atomics", |_| vec!["-latomic".to_owned()]);
}

#[test]
fn exceptions() {
    one_of_them_is_the_same("exceptions", &[(GXX, "exceptions"), (GXX_UNOPTIMISED, "exceptions")]);
}

/// Which handler takes an exception, and what is destroyed on the way.
#[test]
fn catching() {
    one_of_them_is_the_same(
        "catching",
        &[(GXX, "catching"), (GXX_UNOPTIMISED, "catching"), (CLANG, "catching")],
    );
}

/// A library of others, as crates.io has it, which `make test` uses in any case: Cargo fetches its sources. (`make systems` has more of them.)
#[test]
fn snappy_of_crates_io() {
    const TEST: &str = "snappy_of_crates_io";
    if !GXX.is_here(TEST) {
        return;
    }
    let shop = Shop::new();
    std::fs::create_dir(shop.path("src")).expect("a folder");
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cxx/snappy");
    for file in ["Cargo.toml", "Cargo.lock", "src/lib.rs", "packs.cpp"] {
        std::fs::copy(here.join(file), shop.path(file)).expect("a file");
    }
    let mut cargo = shop.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let fetched = cargo.args(["vendor", "--locked"]).output().expect("it starts");
    if !fetched.status.success() {
        return support::skipped(TEST, format!("Cargo cannot fetch it: {}", text(&fetched.stderr)));
    }
    // Its build script does so.
    let folder = "vendor/snappy_src/snappy";
    let header =
        std::fs::read_to_string(shop.path(&format!("{folder}/snappy-stubs-public.h.in"))).expect("a header");
    let header = header.replace("${HAVE_SYS_UIO_H_01}", "1");
    let header = ["MAJOR", "MINOR", "PATCH"]
        .iter()
        .fold(header, |header, part| header.replace(&format!("${{PROJECT_VERSION_{part}}}"), "1"));
    shop.write("snappy-stubs-public.h", &header);
    let sources =
        ["snappy", "snappy-sinksource", "snappy-stubs-internal"].map(|name| format!("{folder}/{name}.cc"));
    let given = |command: &mut Command, out: &str| {
        command
            .args(["-std=c++17", "-O2", "-w", "packs.cpp", "-I.", "-I", folder])
            .args(&sources)
            .args(["-o", out]);
        let compiled = command.output().expect("it starts");
        assert!(compiled.status.success(), "{}", text(&compiled.stderr));
    };
    given(&mut shop.command("g++"), "native");
    given(shop.command(env!("CARGO_BIN_EXE_lockgate")).arg("c++"), "module.lg");
    let native = shop.command("./native").output().expect("it runs");
    let domain = shop.lockgate("run").arg("module.lg").output();
    assert!(native.status.success() && domain.status.success(), "{}", text(&domain.stderr));
    assert_eq!(text(&domain.stdout), text(&native.stdout));
    assert_eq!(
        text(&native.stdout).lines().filter(|line| line.ends_with(" 1")).count(),
        54,
        "it unpacks what it packs"
    );
}

/// (Compiling the standard library's headers is what takes the time.)
#[test]
#[ignore = "minutes"]
fn other_levels() {
    for name in [
        "classes",
        "streams",
        "containers",
        "patterns",
        "threads",
        "files",
        "coroutines",
        "exceptions",
        "catching",
        "unwinding",
    ] {
        GXX_AT_OTHER_LEVELS.same(name);
    }
}

/// An uncaught exception ends the call: the error says what it was, and where it was thrown, with names as the source has them.
#[test]
fn an_uncaught_exception_is_reported() {
    if !GXX.is_here("an_uncaught_exception_is_reported") {
        return;
    }
    let shop = Shop::new();
    let source = "\
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
namespace shop {
struct Closed : std::runtime_error {
    using std::runtime_error::runtime_error;
};
struct Till {
    __attribute__((noinline)) int pay(const std::string &who) { throw Closed(\"no money for \" + who); }
};
}
extern \"C\" int pay(const char *who) { return shop::Till().pay(who); }
extern \"C\" int number(int n) { throw n; }
extern \"C\" int table(int n) { throw std::map<std::string, std::vector<std::string>>(); }
extern \"C\" int never(int n) noexcept { return n ? throw n : 0; }
extern \"C\" int active(void) { return std::current_exception() != nullptr; }
extern \"C\" int gives_up(int n) { if (n) std::fputs(\"no more\\n\", stderr); std::abort(); }
int twice(int n) { return 2 * n; }
namespace shop {
int half(int n) { return n / 2; }
int half(double n) { return static_cast<int>(n / 2); }
}
";
    shop.write("till.cpp", source);
    let exports = [
        "int pay(const char *)",
        "int number(int)",
        "int table(int)",
        "int never(int)",
        "int active(void)",
        "int gives_up(int)",
        "int twice(int)",
        "shop::half(int)",
    ];
    let exports = exports.iter().flat_map(|export| ["--export", export]);
    shop.lockgate("c++").args(["-g", "-O2", "-w", "till.cpp", "-o", "till.lg"]).args(exports).run_quietly();
    let call = |arguments: &[&str]| shop.lockgate("call").arg("till.lg").args(arguments).output();

    let error = text(&call(&["int pay(const char *)", "joe"]).stderr);
    let said = "the module called abort: an uncaught exception: shop::Closed: no money for joe";
    assert!(error.contains(said), "{error}");
    assert!(error.contains("shop::Till::pay") && error.contains("till.cpp:13"), "{error}");
    let error = text(&call(&["int number(int)", "7"]).stderr);
    assert!(error.contains("an uncaught exception: int; at number"), "{error}");
    let error = text(&call(&["int table(int)", "7"]).stderr);
    let said = "an uncaught exception: std::map<std::__cxx11::basic_string<…>, std::vector<…>, std::less<…>, std::allocator<…> >; at table";
    assert!(error.contains(said), "{error}");
    let error = text(&call(&["int never(int)", "7"]).stderr);
    assert!(error.contains("an uncaught exception: int;"), "{error}");

    // The next one in the same domain, too, and nothing is left of the first.
    let module = Module::open(shop.path("till.lg")).expect("a module");
    let domain = Domain::new(&module, DomainOptions::default()).expect("a domain");
    let number = domain.bind::<extern "C" fn(i32) -> i32>("number").expect("it is exported");
    let active = domain.bind::<extern "C" fn() -> i32>("active").expect("it is exported");
    for n in 1..4 {
        let error = number.call(n).expect_err("it throws").to_string();
        assert!(error.contains("an uncaught exception: int;"), "{n}: {error}");
        assert_eq!(active.call().expect("it returns"), 0, "{n}");
    }
    // Words are told once.
    let gives_up = domain.bind::<extern "C" fn(i32) -> i32>("gives_up").expect("it is exported");
    let ends = [1, 0].map(|n| gives_up.call(n).expect_err("it aborts").to_string());
    assert!(ends[0].contains("its last message: no more;"), "{}", ends[0]);
    assert!(!ends[1].contains("message"), "{}", ends[1]);

    assert_eq!(text(&call(&["int twice(int)", "21"]).stdout).trim(), "42");
    assert_eq!(text(&call(&["int _ZN4shop4halfEi(int)", "42"]).stdout).trim(), "21");
    let several = shop.lockgate("c++").args(["till.cpp", "-o", "x.lg", "--export", "shop::half"]).fail();
    assert!(several.contains("shop::half(int); shop::half(double)"), "{several}");
    let none = shop.lockgate("c++").args(["till.cpp", "-o", "x.lg", "--export", "shop::quarter(int)"]).fail();
    assert!(none.contains("nothing to export: shop::quarter(int)"), "{none}");
}

#[test]
fn unwinding() {
    same("unwinding");
    GXX_UNOPTIMISED.same("unwinding");
}

#[test]
fn frames_that_differ_where_ways_meet() {
    same("frames");
    GXX_AT_OTHER_LEVELS.same("frames");
    CLANG.same("frames");
    Compiler { sets: &["-O0", "-Os"], ..CLANG }.same("frames");
}

/// Functions that the compiler inlined have the names that they would have as functions of their own: scopes, template arguments, parameters.
/// Red if a report takes the names in the source, `add` and `operator()`.
#[test]
fn inlined_functions_have_their_whole_names() {
    let source = "\
#define NEAR __attribute__((always_inline))
namespace shop {
template <class T> struct Sum {
    T total;
    NEAR explicit Sum(const int *start) : total(*start) {} // START
    NEAR T add(const int *price) { return total += *price; } // ADD
};
NEAR inline long pay(const int *price) {
    static const int nothing = 0;
    auto twice = [price](int from) NEAR {
        Sum<long> sum(&nothing);
        return from + sum.add(price); // TWICE
    };
    return twice(2); // PAY
}
namespace {
struct Hidden {
    NEAR static long sell(const int *price) { return pay(price) + 1; } // HIDDEN
};
NEAR long sell_much(int much, const int *price) {
    auto adds = [price](int more) NEAR {
        return more + Hidden::sell(price); // ADDS
    };
    return adds(much); // MUCH
}
}
}
extern \"C\" long pays(const int *price) { return shop::sell_much(3, price); } // PAYS
extern \"C\" long starts(const int *price) { return shop::Sum<long>(price).total; } // STARTS
";
    let line =
        |mark: &str| 1 + source.lines().position(|line| line.ends_with(&format!("// {mark}"))).unwrap();
    let frame = |number: usize, name: &str, mark: &str| {
        format!("   {number}: {name} at till.cpp:{}, inlined\n", line(mark))
    };
    let cases = [
        (GXX, "-O2 -g"),
        (GXX, "-O1 -gdwarf-3"),
        (GXX, "-O2 -gdwarf-2"),
        (CLANG, "-O2 -g"),
        (CLANG, "-O1 -gdwarf-4"),
    ];
    for (compiler, flags) in &cases {
        if !compiler.is_here("inlined_functions_have_their_whole_names") {
            continue;
        }
        let shop = Shop::new();
        shop.write("till.cpp", source);
        let driver = shop.lockgate("c++").env("LOCKGATE_GXX", compiler.command).args(flags.split(' '));
        driver.args(["-w", "-shared", "till.cpp", "-o", "till.lg"]).run_quietly();
        let said = |function: &str| {
            let output = shop.lockgate("call").args(["till.lg", function, "0"]).output();
            text(&output.stderr).lines().fold(String::new(), |all, line| all + line + "\n")
        };
        let trace = said("long pays(const int *)");
        assert!(trace.contains(&frame(0, "shop::Sum<long>::add(int const*)", "ADD")), "{flags}: {trace}");
        let is_there = |number: usize, name: &str, mark: &str| {
            let start = format!("   {number}: {name}");
            let end = format!(" at till.cpp:{}, inlined", line(mark));
            trace.lines().any(|line| line.starts_with(&start) && line.ends_with(&end))
        };
        let pay = "shop::pay(int const*)";
        assert!(
            is_there(1, &format!("{pay}::{{lambda(int)#1}}::operator()(int) const"), "TWICE"),
            "{flags}: {trace}"
        );
        assert!(is_there(2, pay, "PAY"), "{flags}: {trace}");
        // (gcc makes no name for the linker of what the linker does not see, and there are no parameters then.)
        assert!(is_there(3, "shop::(anonymous namespace)::Hidden::sell", "HIDDEN"), "{flags}: {trace}");
        let (hidden, class) = ("shop::(anonymous namespace)::sell_much", "::(anonymous class)::operator()");
        let lambda = match compiler.command == GXX.command {
            true => format!("{hidden}{class}"),
            false => format!("{hidden}(int, int const*)::"),
        };
        assert!(is_there(4, &lambda, "ADDS"), "{flags}: {trace}");
        assert!(is_there(5, hidden, "MUCH"), "{flags}: {trace}");
        assert!(trace.contains("   6: pays+0x"), "{flags}: {trace}");
        let trace = said("long starts(const int *)");
        assert!(trace.contains(&frame(0, "shop::Sum<long>::Sum(int const*)", "START")), "{flags}: {trace}");
    }
}

/// Objects without unwind tables get some. Of an inline function, and of a weak one that another takes the place of, there are several copies;
/// if the tables of two of them were one function's, exceptions would pass none.
#[test]
fn functions_that_are_there_twice_have_tables_of_their_own() {
    let shop = Shop::new();
    shop.write(
        "inline.h",
        "template <class T> __attribute__((noinline)) T square(T x) { return x * x + 1; }\n",
    );
    for (file, function, more) in [
        ("one.cpp", "one", "extern \"C\" __attribute__((weak)) int hook() { return 1; }"),
        ("two.cpp", "two", "extern \"C\" int hook() { return 2; }"),
    ] {
        shop.write(
            file,
            &format!(
                "#include \"inline.h\"\n{more}\nint {function}(int x) {{ return square(x) + hook(); }}\n"
            ),
        );
    }
    shop.write(
        "main.cpp",
        "#include <cstdio>\n#include <stdexcept>\nint one(int), two(int);\nint main() {\n\
         try { throw std::runtime_error(\"caught\"); }\n\
         catch (const std::exception &error) { std::printf(\"%s %d\\n\", error.what(), one(1) + two(2)); }\n}\n",
    );
    let without = ["-O1", "-fno-asynchronous-unwind-tables", "-fno-exceptions", "-c", "one.cpp", "two.cpp"];
    shop.lockgate("c++").args(without).run_quietly();
    shop.lockgate("c++").args(["-O1", "main.cpp", "one.o", "two.o", "-o", "main.lg"]).run_quietly();
    let output = shop.lockgate("run").arg("main.lg").output();
    assert_eq!(text(&output.stdout), "caught 11\n", "{}", text(&output.stderr));
}

/// gcc would have a table for the cold part of `main` that counts from elsewhere: natively the `catch` there is not found. Red if it is asked for one.
#[test]
fn a_cold_catch_is_found() {
    if !GXX.is_here("a_cold_catch_is_found") {
        return;
    }
    let shop = Shop::new();
    let source = "\
#include <cstdio>
[[gnu::noinline]] static void end(int n) { throw static_cast<long>(n); }
int main(int count, char **) {
    if (count > 1) {
        try { end(1); } catch (long) { std::puts(\"caught\"); }
    }
}
";
    shop.write("cold.cpp", source);
    shop.lockgate("c++").args(["-O2", "-fno-reorder-functions", "cold.cpp", "-o", "cold.lg"]).run_quietly();
    let output = shop.lockgate("run").args(["cold.lg", "throws"]).output();
    assert_eq!(text(&output.stdout), "caught\n", "{}", text(&output.stderr));
}

/// A base has all of libc, and with it the whole of what C++ has in its place. What joins it catches its exceptions.
#[test]
fn a_base_in_cxx() {
    if !GXX.is_here("a_base_in_cxx") {
        return;
    }
    let shop = Shop::new();
    let base = "\
#include <stdexcept>
#include <string>
void fail(int n) { throw std::out_of_range(std::to_string(n)); }
extern \"C\" int caught(int n) { try { fail(n); } catch (const std::exception &e) { return e.what()[0]; } return 0; }
";
    shop.write("base.cpp", base);
    let plugin = "\
#include <cstdlib>
#include <exception>
void fail(int n);
static char caught_here(int n) { try { fail(n); } catch (const std::exception &e) { return e.what()[0]; } return 0; }
__attribute__((constructor)) static void begin() { if (caught_here(8) != '8') std::abort(); }
";
    shop.write("plugin.cpp", plugin);
    shop.lockgate("c++").args(["-O2", "--base", "base.cpp", "-o", "base.lg"]).run_quietly();
    let joins = ["-O2", "-shared", "--join", "base.lg", "plugin.cpp", "-o", "plugin.lg"];
    shop.lockgate("c++").args(joins).run_quietly();
    let module = Module::open(shop.path("base.lg")).expect("a module");
    let domain = Domain::new(&module, DomainOptions::default()).expect("a domain");
    let caught = domain.bind::<extern "C" fn(i32) -> i32>("caught").expect("it is exported");
    assert_eq!(caught.call(7).expect("it returns"), i32::from(b'7'));
    let options = dl::Options::default();
    let base = Library::open(shop.path("base.lg"), Mode::NOW, &options).expect("a library");
    Library::open(shop.path("plugin.lg"), Mode::NOW, &options.into(base))
        .expect("it catches what the base throws");
}

/// By `pthread_exit`, and cancelled wherever they wait: in functions of musl's, which has no unwind tables of its own.
#[test]
fn ends_of_threads() {
    same("thread_ends");
}

/// Whoever is unwound has its registers.
#[test]
fn exceptions_of_handlers() {
    same("handlers");
}

#[test]
fn unwinder() {
    same("unwinder");
}

/// Options that programs in C++ are compiled with.
#[test]
fn options() {
    const SETS: [&str; 4] = [
        "-fno-exceptions -fno-rtti -static-libstdc++ -static-libgcc",
        "-std=c++23 -g3 -O2 -D_FORTIFY_SOURCE=2 -D_GLIBCXX_ASSERTIONS -fvisibility=hidden",
        "-fsanitize=undefined -fsanitize-undefined-trap-on-error -O1",
        "-O2 -flto",
    ];
    let cases: Vec<_> = SETS.chunks(1).map(|sets| (Compiler { sets, ..GXX }, "plain")).collect();
    one_of_them_is_the_same("options", &cases);
}

/// Static objects of two sources and of an archive's member: in each in its order, the sources in the link's order, those with a priority before
/// all others, and destroyed the other way round. Natively it is the same.
#[test]
fn static_objects_of_several_sources() {
    if !GXX.is_here("static_objects_of_several_sources") {
        return;
    }
    let shop = Shop::new();
    shop.write(
        "said.h",
        "#include <cstdio>\nstruct Said { const char *name; explicit Said(const char *n) : name(n) { std::printf(\"+%s\\n\", name); }\n\
         ~Said() { std::printf(\"-%s\\n\", name); } };\nSaid &lazy();\nextern Said shared;\n",
    );
    let source = |name: &str, more: &str| {
        let text = format!(
            "#include \"said.h\"\nstatic Said first(\"{name} first\");\nstatic Said early __attribute__((init_priority(2000))) (\"{name} early\");\n\
             template <class T> struct Once {{ static Said said; }};\ntemplate <class T> Said Once<T>::said(\"of a template\");\n\
             inline Said common(\"of all\");\n{more}static Said last(\"{name} last\");\n"
        );
        shop.write(&format!("{name}.cpp"), &text);
    };
    source("one", "Said *use_one() { lazy(); return &Once<int>::said; }\n");
    source(
        "two",
        "Said &lazy() { static Said said(\"lazy\"); return said; }\nSaid *use_two() { return &Once<int>::said; }\n",
    );
    source("member", "Said shared(\"shared\");\n");
    shop.write(
        "main.cpp",
        "#include \"said.h\"\nSaid *use_one();\nSaid *use_two();\nstatic Said own(use_one()->name);\n\
         int main() { std::printf(\"main %d %s\\n\", use_one() == use_two(), shared.name); }\n",
    );
    let build = |order: [&str; 3]| {
        let mut native = shop.command("g++");
        native.args(["-std=c++20", "-c", "member.cpp", "-o", "member.o"]);
        assert!(native.status().expect("g++ starts").success());
        assert!(
            shop.command("ar").args(["rc", "libmember.a", "member.o"]).status().expect("ar starts").success()
        );
        let rest = ["libmember.a", "-o"];
        let mut native = shop.command("g++");
        native.args(["-std=c++20", "-O1"]).args(order).args(rest).arg("native");
        assert!(native.status().expect("g++ starts").success());
        shop.lockgate("c++")
            .args(["-std=c++20", "-O1"])
            .args(order)
            .args(rest)
            .arg("module.lg")
            .run_quietly();
        let native = shop.command("./native").output().expect("it runs");
        let domain = shop.lockgate("run").arg("module.lg").output();
        assert_eq!(text(&domain.stdout), text(&native.stdout), "{order:?}");
        assert!(native.status.success() && domain.status.success(), "{}", text(&domain.stderr));
        text(&native.stdout)
    };
    let orders = [["one.cpp", "two.cpp", "main.cpp"], ["main.cpp", "two.cpp", "one.cpp"]].map(build);
    assert_ne!(orders[0], orders[1], "the order of the link is what makes it");
    assert!(orders[0].starts_with("+one early\n") && orders[0].ends_with("early\n"), "{}", orders[0]);
}

/// Undefined behaviour that `-fsanitize=undefined` finds is a trap at its line; a wrong virtual call, which only its library would find, is not
/// looked for.
#[test]
fn undefined_behaviour_traps() {
    if !GXX.is_here("undefined_behaviour_traps") {
        return;
    }
    let shop = Shop::new();
    let source = "\
#include <vector>
extern \"C\" int sum(int n) {
    std::vector<int> values{n, 1};
    return values[0] + values[1];
}
";
    shop.write("sum.cpp", source);
    let options = ["-g", "-O1", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"];
    shop.lockgate("c++").args(options).args(["sum.cpp", "-o", "sum.lg", "--export", "sum"]).run_quietly();
    // The debug information says what it takes.
    let call = |number: &str| shop.lockgate("call").args(["sum.lg", "sum", number]).output();
    assert_eq!(text(&call("41").stdout).trim(), "42");
    let error = text(&call("2147483647").stderr);
    assert!(error.contains("a trap of the compiler") && error.contains("sum.cpp:4"), "{error}");
}

/// Sanitizers call libraries of the compiler's that modules do not have: the error says with which options there is nothing to call.
#[test]
fn sanitizers_without_traps_are_refused_with_a_remedy() {
    let shop = Shop::new();
    shop.write("sum.cpp", "extern \"C\" int sum(int *values, int n) { return values[n] + n; }\n");
    for (option, symbol, remedy) in [
        ("-fsanitize=undefined", "__ubsan_handle_", "-fsanitize-undefined-trap-on-error"),
        ("-fsanitize=address", "__asan_", "compile without -fsanitize=address"),
        ("-fsanitize=thread", "__tsan_", "compile without -fsanitize=address, thread"),
        ("-fsanitize=undefined,address", "__asan_", "compile without -fsanitize=address"),
    ] {
        let options = ["-O1", option, "sum.cpp", "-o", "sum.lg", "--export", "sum"];
        let error = shop.lockgate("c++").args(options).fail();
        let is_said = error.contains("undefined: ") && error.contains(symbol) && error.contains(remedy);
        assert!(is_said && !error.contains("--gate"), "{option}: {error}");
    }
}

/// Symbols that are missing are named as the source has them.
#[test]
fn missing_functions_have_readable_names() {
    if !GXX.is_here("missing_functions_have_readable_names") {
        return;
    }
    let shop = Shop::new();
    shop.write("half.cpp", "namespace shop { int half(int); }\nint main() { return shop::half(2); }\n");
    let error = shop.lockgate("c++").args(["half.cpp", "-o", "half.lg"]).fail();
    assert!(error.contains("undefined: shop::half(int);"), "{error}");
}

/// clang++ compiles, with libstdc++.
#[test]
fn clang() {
    let cases = ["threads", "exceptions", "classes", "unwinding"].map(|name| (CLANG, name));
    one_of_them_is_the_same("clang", &cases);
}

/// clang says of classes how they are passed, so that the note of a function that takes them has a type.
#[test]
fn clang_says_how_classes_are_passed() {
    if !CLANG.is_here("clang_says_how_classes_are_passed") {
        return;
    }
    let shop = Shop::new();
    let source = "\
struct point { int x; double y; };
struct copied { int x; copied(const copied &); };
extern \"C\" point same(point p) { return p; }
extern \"C\" int other(copied c) { return c.x; }
";
    shop.write("points.cpp", source);
    let options =
        ["-g", "-gdwarf-5", "-O1", "points.cpp", "-o", "points.lg", "--export", "same", "--export", "other"];
    shop.lockgate("c++").env("LOCKGATE_GXX", CLANG.command).args(options).run_quietly();
    let said = text(&shop.lockgate("inspect").args(["--exports", "points.lg"]).output().stdout);
    assert!(said.contains("struct { int x; double y; } same(struct { int x; double y; })"), "{said}");
    assert!(said.lines().any(|line| line.ends_with("  other")), "{said}");
}

/// The resume function of `std::noop_coroutine()` has no symbol with clang, and no unwind table.
#[test]
fn clangs_coroutines_end_in_none() {
    if !CLANG.is_here("clangs_coroutines_end_in_none") {
        return;
    }
    let shop = Shop::new();
    let source = "#include <cstdio>\nint main() { __builtin_coro_resume(__builtin_coro_noop()); puts(\"resumed\"); }\n";
    shop.write("none.cpp", source);
    for level in ["-O0", "-O2"] {
        let driver = shop.lockgate("c++").env("LOCKGATE_GXX", CLANG.command);
        driver.args([level, "-std=c++20", "none.cpp", "-o", "none.lg"]).run_quietly();
        let ran = shop.lockgate("run").arg("none.lg").output();
        assert_eq!(text(&ran.stdout), "resumed\n", "{level}: {}", text(&ran.stderr));
    }
}

/// It has no options that name the files beside its output, which gcc has.
#[test]
fn clang_makes_files_beside_the_output() {
    if !CLANG.is_here("clang_makes_files_beside_the_output") {
        return;
    }
    let shop = Shop::new();
    shop.write("f.cpp", "extern \"C\" int f() { return 1; }\n");
    for option in ["-save-temps", "-gsplit-dwarf"] {
        let driver = shop.lockgate("c++").env("LOCKGATE_GXX", CLANG.command);
        let made = driver.args([option, "-g", "f.cpp", "--export", "f", "-o", "f.lg"]).output();
        assert!(made.status.success(), "{option}: {}", text(&made.stderr));
    }
    assert!(shop.path("f.ii").exists(), "clang keeps it in the current folder");
}

/// clang's own library.
#[test]
fn libcxx() {
    let cases = ["streams", "threads", "files", "exceptions", "classes", "unwinding"];
    let cases = cases.map(|name| (LIBCXX, name));
    one_of_them_is_the_same("libcxx", &cases);
}

/// An exception that ends a call takes nothing from the call that this one is nested in, or from other threads, and what ends its handler leaves
/// nothing for the next one. Red if all exceptions of the thread are forgotten, or if threads share the text or the flag of the handler.
#[test]
fn an_uncaught_exception_is_its_calls_own() {
    if !GXX.is_here("an_uncaught_exception_is_its_calls_own") {
        return;
    }
    let shop = Shop::new();
    let source = "\
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
struct Faults : std::exception {
    int does;
    const char *what() const noexcept override {
        if (does) __builtin_trap();
        return \"it does not\";
    }
};
struct Calls : std::exception {
    int (*host)(int);
    const char *what() const noexcept override { return host(0) ? \"it called\" : \"?\"; }
};
struct Recurs : std::exception {
    const char *what() const noexcept override { throw *this; }
};
struct Asks {
    int (*host)(int);
    int *uncaught;
    ~Asks() { host(5), *uncaught = std::uncaught_exceptions(); }
};
extern \"C\" int number(int n) { throw n; }
extern \"C\" int aborts(int n) { std::abort(); }
extern \"C\" int recurs(int n) { throw Recurs(); }
extern \"C\" int calls(int (*host)(int)) {
    Calls calls;
    calls.host = host;
    throw calls;
}
extern \"C\" int nested(int way) {
    switch (way) {
    case 1: throw;
    case 2: std::terminate();
    case 3: try { throw 5; } catch (int) { throw 6L; }
    case 4: try { throw 5; } catch (int) { throw; }
    case 5: try { throw 5; } catch (int) { [] () noexcept { throw 6L; }(); }
    }
    throw 7;
}
extern \"C\" int says(int n) { throw std::runtime_error(\"number \" + std::to_string(n) + \".\"); }
extern \"C\" int faults(int n) {
    Faults faults;
    faults.does = n;
    throw faults;
}
extern \"C\" int handles(int (*host)(int)) {
    try {
        throw std::runtime_error(\"mine\");
    } catch (const std::exception &) {
        for (int way = 0; way < 6; way++) if (!host(way)) return -way;
        try {
            throw;
        } catch (const std::exception &exception) {
            return exception.what() == std::string(\"mine\");
        } catch (int n) {
            return n;
        }
    }
}
extern \"C\" int unwinds(int (*host)(int)) {
    int uncaught = 0;
    try {
        Asks asks{host, &uncaught};
        throw 7;
    } catch (int n) {
        return 10 * uncaught + n;
    }
}
";
    shop.write("own.cpp", source);
    let exports = [
        "int number(int)",
        "int aborts(int)",
        "int recurs(int)",
        "int nested(int)",
        "int says(int)",
        "int faults(int)",
        "int calls(void *)",
        "int handles(void *)",
        "int unwinds(void *)",
    ];
    let exports = exports.iter().flat_map(|export| ["--export", export]);
    shop.lockgate("c++").args(["-g", "-O1", "-w", "own.cpp", "-o", "own.lg"]).args(exports).run_quietly();
    let module = Module::open(shop.path("own.lg")).expect("a module");
    let domain = Domain::new(&module, DomainOptions::default()).expect("a domain");
    let bind = |name| domain.bind::<extern "C" fn(i32) -> i32>(name).expect("it is exported");
    let (number, says, faults) = (bind("number"), bind("says"), bind("faults"));

    let throws = bind("nested");
    let host = domain.callback(HostFunction::new(move |_: &Domain, way: i32| {
        i32::from(throws.call(way).expect_err("it throws").to_string().contains("an uncaught exception: "))
    }));
    let host = host.expect("a callback");
    for (name, expected) in [("handles", 1), ("unwinds", 17)] {
        let outer = domain.bind::<extern "C" fn(Pointer<u8>) -> i32>(name).expect("it is exported");
        assert_eq!(outer.call(host.pointer()).expect(name), expected, "{name}");
    }

    let calls = domain.bind::<extern "C" fn(Pointer<u8>) -> i32>("calls").expect("it is exported");
    let error = calls.call(host.pointer()).expect_err("it throws").to_string();
    assert!(error.contains("an uncaught exception: Calls: it called;"), "{error}");
    let error = bind("recurs").call(1).expect_err("what() throws").to_string();
    assert!(error.contains("terminate called recursively"), "{error}");

    // (With the same frames, that of a handler that a fault has ended is the next one's.)
    let faulted = || faults.call(1).expect_err("what() faults").to_string();
    for _ in 0..2 {
        let error = faulted();
        assert!(error.contains("illegal instruction"), "{error}");
    }
    let error = faults.call(0).expect_err("it throws").to_string();
    assert!(error.contains("an uncaught exception: Faults: it does not;"), "{error}");
    faulted();
    let error = bind("aborts").call(1).expect_err("it aborts").to_string();
    assert!(error.contains("the module called abort;"), "{error}");
    faulted();
    let error = number.call(5).expect_err("it throws").to_string();
    assert!(error.contains("an uncaught exception: int;"), "{error}");

    std::thread::scope(|scope| {
        for thread in 0..3 {
            let says = &says;
            scope.spawn(move || {
                for n in (thread * 1000..).take(100) {
                    let error = says.call(n).expect_err("it throws").to_string();
                    assert!(error.contains(&format!(": number {n}.")), "{n}: {error}");
                }
            });
        }
    });
}

/// The error of a call says what libc++abi says of an exception that nobody catches.
#[test]
fn libcxx_names_an_uncaught_exception() {
    if !LIBCXX.is_here("libcxx_names_an_uncaught_exception") {
        return;
    }
    let shop = Shop::new();
    let source = "\
#include <stdexcept>
namespace shop {
struct Closed : std::runtime_error {
    using std::runtime_error::runtime_error;
};
}
extern \"C\" int pay(int sum) {
    if (sum > 3) throw shop::Closed(\"no money\");
    return sum;
}
";
    shop.write("pay.cpp", source);
    let options = ["-stdlib=libc++", "-g", "-O1", "pay.cpp", "-o", "pay.lg", "--export", "int pay(int)"];
    shop.lockgate("c++").env("LOCKGATE_GXX", LIBCXX.command).args(options).run_quietly();
    let call = |sum: &str| shop.lockgate("call").args(["pay.lg", "int pay(int)", sum]).output();
    assert_eq!(text(&call("3").stdout).trim(), "3");
    let error = text(&call("4").stderr);
    let said = "the module called abort: terminating with uncaught exception of type shop::Closed: no money";
    assert!(error.contains(said) && error.contains("pay.cpp:8"), "{error}");
}

/// A call that is ended in a catch leaves the next one no exception: libc++abi keeps it where no name says so, but tells where that is.
#[test]
fn libcxx_forgets_exceptions_of_calls_that_were_ended() {
    if !LIBCXX.is_here("libcxx_forgets_exceptions_of_calls_that_were_ended") {
        return;
    }
    let shop = Shop::new();
    let source = "\
#include <exception>
extern \"C\" int hangs(int n) { try { throw n; } catch (int) { for (;;) __asm__ volatile(\"\"); } }
extern \"C\" int active(int n) { return std::current_exception() != nullptr; }
extern \"C\" int catches(int n) { try { throw n; } catch (int sum) { return sum; } }
";
    shop.write("hangs.cpp", source);
    let exports = ["int hangs(int)", "int active(int)", "int catches(int)"];
    let exports = exports.iter().flat_map(|export| ["--export", export]);
    let options = ["-stdlib=libc++", "-O1", "-w", "hangs.cpp", "-o", "hangs.lg"];
    shop.lockgate("c++").env("LOCKGATE_GXX", LIBCXX.command).args(options).args(exports).run_quietly();
    let module = Module::open(shop.path("hangs.lg")).expect("a module");
    let options = DomainOptions::default().time_limit(Duration::from_millis(500));
    let domain = Domain::new(&module, options).expect("a domain");
    let bind = |name| domain.bind::<extern "C" fn(i32) -> i32>(name).expect("it is exported");
    for n in 1..4 {
        bind("hangs").call(n).expect_err("it ends");
        let again = |name| in_time(|| bind(name).call(n)).expect("it returns");
        assert_eq!((again("active"), again("catches")), (0, n));
    }
}

/// `LOCKGATE_GCC` may name a clang, for C; its choices of linkers and libraries are taken, and g++ says that libc++ is none of its own.
#[test]
fn clang_compiles_c_too() {
    if !CLANG.is_here("clang_compiles_c_too") {
        return;
    }
    let shop = Shop::new();
    shop.write("root.c", "#include <math.h>\ndouble root(double x) { return cbrt(x); }\n");
    let options =
        ["-g", "-O2", "-shared", "-fuse-ld=lld", "-rtlib=compiler-rt", "root.c", "-lm", "-o", "root.lg"];
    shop.lockgate("cc").env("LOCKGATE_GCC", "clang").args(options).run_quietly();
    assert_eq!(text(&shop.lockgate("call").args(["root.lg", "root", "27"]).output().stdout).trim(), "3");
    shop.write("words.cpp", "#include <string>\nint main() { return std::string().size(); }\n");
    let error = shop.lockgate("c++").args(["-stdlib=libc++", "words.cpp", "-o", "words.lg"]).fail();
    assert!(error.contains("LOCKGATE_GXX=clang++"), "{error}");
}
