//! R11, R14 in a server: languages that are loaded after the first call, and install handlers of faults.

use crate::common::{built, installation, modules, server, watchdog};
use lockgate_postgres::{Database, done};
use std::path::Path;
use std::process::Command;

/// Whether the machine's PostgreSQL has a language.
pub(crate) fn has(language: &str) -> bool {
    let control = format!("{language}.control");
    let there = [Path::new("/usr/share/postgresql"), installation().folder()]
        .iter()
        .any(|root| found(root, &control, 6));
    if !there {
        support::skipped(
            format_args!("handlers of {language}"),
            "PostgreSQL has no such language here (Debian: postgresql-plperl-NN, postgresql-plpython3-NN)",
        );
    }
    there
}

/// Whether a file of this name lies in a folder, so many levels down.
fn found(folder: &Path, name: &str, levels: u32) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    levels > 0
        && entries.into_iter().any(|entry| {
            entry.file_name() == name || entry.path().is_dir() && found(&entry.path(), name, levels - 1)
        })
}

/// Installs a module, and declares functions of it.
fn install(database: &Database<'_>, module: &str, file: &Path, functions: &[&str]) {
    database.install(module, file).unwrap();
    let declare = |function: &&str| {
        let name = function.split('(').next().expect("a name");
        format!("CREATE FUNCTION {function} LANGUAGE lgc AS '{module}.{name}' STRICT;")
    };
    database.run(&database.user(), &functions.iter().map(declare).collect::<String>()).unwrap();
}

/// A module's faults are errors that Lockgate reports, whichever language the server has loaded since its first call.
fn after(language: &str, database: &str, statement: &str) {
    if !has(language) {
        return;
    }
    let database = server().database(database).unwrap();
    database.run("postgres", &format!("CREATE EXTENSION {language}")).unwrap();
    let functions = ["fine(integer) RETURNS integer", "fault(integer) RETURNS integer"];
    install(&database, "hostile", &modules().join("hostile.lg"), &functions);
    let mut session = database.session("postgres").unwrap();
    // Both are bound here: a bind has the handlers looked at, too.
    let fine = session.run("SELECT fine(7), fault(100)").unwrap();
    assert!(!fine.contains("ERROR"), "{fine}");
    let said = session.run(statement).unwrap();
    assert!(!said.contains("ERROR"), "{said}");
    // The division first: any fault has the handlers looked at again.
    for fault in [2, 0, 1, 3, 4, 5, 6, 7, 8] {
        let said = session.run(&format!("SELECT fault({fault})")).unwrap();
        // (The server's own handler says \"floating-point exception\", without a module.)
        assert!(!said.contains("floating-point exception") && !said.contains("server closed"), "{said}");
        assert_eq!(session.run("SELECT fine(7), fault(100)").unwrap(), fine);
    }
    let process = session.run("SELECT pg_backend_pid()").unwrap();
    assert!(Path::new(&format!("/proc/{process}")).exists(), "the session's process lives");
}

#[test]
fn faults_of_modules_after_pl_perl_was_loaded() {
    after("plperl", "perl", "DO $$ my $x = 1; $$ LANGUAGE plperl");
}

#[test]
fn faults_of_modules_after_pl_python_was_loaded() {
    after("plpython3u", "python", "DO $$ x = 1 $$ LANGUAGE plpython3u");
}

/// Another extension, whose handlers of SIGINT count and call the one before them: `chain(0)` and `chain(1)` install one each, `replace()`
/// one that calls nobody else's; `strike(which)` says how often that one is called by a signal, or -1 if the server does not hear of it.
const CHAIN: &str = r#"
    #include "postgres.h"
    #include "fmgr.h"
    #include "miscadmin.h"
    #include "tcop/tcopprot.h"
    #include <signal.h>
    PG_MODULE_MAGIC;
    static void (*before[2])(int);
    static volatile sig_atomic_t counts[2];
    static void zero(int number) { counts[0]++; before[0](number); }
    static void one(int number) { counts[1]++; before[1](number); }
    static void alone(int number) { StatementCancelHandler(number); }
    static void (*put(void (*handler)(int)))(int) {
        struct sigaction action;
        sigaction(SIGINT, NULL, &action);
        void (*old)(int) = action.sa_handler;
        action.sa_handler = handler;
        sigaction(SIGINT, &action, NULL);
        return old;
    }
    PG_FUNCTION_INFO_V1(chain);
    Datum chain(PG_FUNCTION_ARGS) {
        int which = PG_GETARG_INT32(0);
        before[which] = put(which ? one : zero);
        PG_RETURN_VOID();
    }
    PG_FUNCTION_INFO_V1(replace);
    Datum replace(PG_FUNCTION_ARGS) { put(alone); PG_RETURN_VOID(); }
    PG_FUNCTION_INFO_V1(strike);
    Datum strike(PG_FUNCTION_ARGS) {
        int which = PG_GETARG_INT32(0), was = counts[which];
        raise(SIGINT);
        bool heard = QueryCancelPending;
        QueryCancelPending = false;
        PG_RETURN_INT32(heard ? counts[which] - was : -1);
    }
"#;

/// Makes the library of another extension, of this source, and declares functions of it.
fn extend(database: &Database<'_>, name: &str, text: &str, functions: &[&str]) {
    let source = modules().join(name).with_extension("c");
    std::fs::write(&source, text).unwrap();
    let library = source.with_extension("so");
    let config = std::env::var("PG_CONFIG").unwrap_or_else(|_| "pg_config".to_owned());
    let headers = done(Command::new(config).arg("--includedir-server")).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O2", "-I", headers.trim_end()]);
    done(compiler.arg(&source).arg("-o").arg(&library)).unwrap();
    let declare = |function| format!("CREATE FUNCTION {function} LANGUAGE c AS '{}';", library.display());
    database.run("postgres", &functions.iter().map(declare).collect::<String>()).unwrap();
}

/// Another extension's handlers stand before ours and call it, again and again: a signal comes to each of them once, and to the server in the end.
#[test]
fn handlers_that_call_ours_are_called_once() {
    let _watchdog = watchdog("chains");
    let database = server().database("chains").unwrap();
    let functions = ["fine(integer) RETURNS integer", "forever(integer) RETURNS integer"];
    install(&database, "hostile", &modules().join("hostile.lg"), &functions);
    let functions =
        ["chain(integer) RETURNS void", "replace() RETURNS void", "strike(integer) RETURNS integer"];
    extend(&database, "chain", CHAIN, &functions);
    let mut session = database.session("postgres").unwrap();
    assert_eq!(session.run("SELECT fine(1)").unwrap(), "2");
    // What is installed, whether we look at it then, and how often a signal comes to each.
    let steps = [
        ("SELECT chain(0)", false, "1 0"),
        ("SELECT 1", true, "1 0"),
        ("SELECT chain(1)", false, "1 1"),
        ("SELECT 1", true, "1 1"),
        ("SELECT chain(0)", true, "1 1"),
        // (This one calls the other itself, which has its own place, too.)
        ("SELECT chain(0); SELECT chain(1);", true, "2 1"),
        // (Who calls nobody hides those behind, with us or without.)
        ("SELECT replace()", true, "0 0"),
        ("SELECT chain(1)", true, "0 1"),
    ];
    for (install, look, each) in steps {
        session.run(install).unwrap();
        if look {
            // The next call makes a domain.
            session.run("DISCARD ALL; SELECT fine(1);").unwrap();
        }
        let counts = session.run("SELECT strike(0) || ' ' || strike(1)").unwrap();
        assert_eq!(counts, each, "{install}, look: {look}");
        let said =
            session.run("SET statement_timeout = 300; SELECT forever(0); RESET statement_timeout").unwrap();
        assert_eq!(said, "ERROR:  canceling statement due to statement timeout", "{install}");
    }
}

/// Another extension, which takes away, in the middle of a module's call, what the library has done about signals: the server's handler of arithmetic
/// faults comes in front, by a system call that no code of the library's hears of, and without an alternate stack. It leaves the call by a jump.
const BARE: &str = r#"
    #define _GNU_SOURCE
    #include "postgres.h"
    #include "fmgr.h"
    #include "tcop/tcopprot.h"
    #include <signal.h>
    #include <sys/syscall.h>
    #include <unistd.h>
    PG_MODULE_MAGIC;
    struct action { void *handler; unsigned long flags; void *restorer; unsigned long mask; };
    static char *of_server;
    static volatile int on_control_stack;
    static void handle(int number) {
        char here;
        long distance = &here - of_server;
        on_control_stack += distance > 1L << 30 || distance < -(1L << 30);
        FloatExceptionHandler(number);
    }
    PG_FUNCTION_INFO_V1(unprotect);
    Datum unprotect(PG_FUNCTION_ARGS) {
        char here;
        stack_t none = {.ss_flags = SS_DISABLE};
        struct action like, new;
        of_server = &here;
        syscall(SYS_sigaltstack, &none, NULL);
        syscall(SYS_rt_sigaction, SIGSEGV, NULL, &like, 8);
        new = (struct action){(void *)handle, 0x04000000 | SA_NODEFER, like.restorer, 0};
        syscall(SYS_rt_sigaction, SIGFPE, &new, NULL, 8);
        PG_RETURN_VOID();
    }
    /* Where no return may lead. */
    static void escaped(void) { _exit(77); }
    PG_FUNCTION_INFO_V1(target);
    Datum target(PG_FUNCTION_ARGS) { PG_RETURN_INT64((int64)escaped); }
    PG_FUNCTION_INFO_V1(came);
    Datum came(PG_FUNCTION_ARGS) { PG_RETURN_INT32(on_control_stack); }
"#;

/// Faults with the target in every register, and makes frames of all depths over what is left of the handler's frame.
const ESCAPE: &str = r#"
    #include <lockgate_pg.h>
    #include <alloca.h>
    #define FAR __attribute__((noinline, noclone))
    #define EVERYWHERE "mov %rdi,%rax\n mov %rdi,%rbx\n mov %rdi,%rbp\n mov %rdi,%rdx\n mov %rdi,%rsi\n mov %rdi,%r8\n mov %rdi,%r9\n" \
        "mov %rdi,%r10\n mov %rdi,%r11\n mov %rdi,%r12\n mov %rdi,%r13\n mov %rdi,%r14\n mov %rdi,%r15\n"
    __asm__(".text\n.globl split\n.type split,@function\nsplit:" EVERYWHERE "xor %ecx,%ecx\n xor %edx,%edx\n div %ecx\n ud2\n.size split,.-split\n");
    void split(int64_t target);
    FAR static int64_t leaf(int64_t x) { __asm__ volatile("" : "+r"(x)); return x; }
    FAR static int64_t computed(int64_t depth) { volatile char *room = alloca(depth); return leaf(room != 0) + 0 * depth; }
    int64_t divide(int64_t target) { lg_pg_query("SELECT unprotect()", 0, 0); split(target); return 0; }
    int64_t fall(int32_t deepest)
    {
        int64_t right = 0;
        for (int64_t depth = 8; depth <= deepest; depth += 8) right += computed(depth);
        return right;
    }
"#;

/// The way into a server that was open before returns were proved. Red if a return takes a word that the handler's frame has left: the session's process ends,
/// and the server with it.
#[test]
fn a_handler_in_front_leaves_nothing_to_return_to() {
    let _watchdog = watchdog("handlers in front");
    let database = server().database("bare").unwrap();
    let functions = ["divide(bigint) RETURNS bigint", "fall(integer) RETURNS bigint"];
    install(&database, "escape", &built("escape", ESCAPE), &functions);
    let functions = ["unprotect() RETURNS void", "target() RETURNS bigint", "came() RETURNS integer"];
    extend(&database, "bare", BARE, &functions);
    let mut session = database.session("postgres").unwrap();
    assert_eq!(session.run("SELECT fall(8192)").unwrap(), "1024");
    const TIMES: usize = 50;
    for time in 0..TIMES {
        let said = session.run("SELECT divide(target())").unwrap();
        assert!(said.contains("floating-point exception"), "{time}: {said}");
        assert_eq!(session.run("SELECT fall(8192)").unwrap(), "1024", "{time}");
    }
    assert_eq!(session.run("SELECT came()").unwrap(), TIMES.to_string(), "handlers on the control stack");
}
