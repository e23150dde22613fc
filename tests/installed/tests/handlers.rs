//! R11 to R16 against what is installed: handlers that come after the first call, by each function that installs them; calls of handlers; jumps over
//! domains; the host's registers and control words behind a call.
use installed::{Workshop, done, languages};
use std::process::Command;

/// Where the library is linked with, it stands in for libc's functions: handlers are right at once.
#[test]
fn handlers_of_a_program_that_is_linked_with_the_library() {
    done(Workshop::get().program("shared").args(["linked", "guest.lg"]));
}

#[test]
fn handlers_of_a_program_that_is_linked_with_the_archive() {
    done(Workshop::get().program("static").args(["linked", "guest.lg"]));
}

/// Where it came by `dlopen`, they are right behind a bind, a reset, a domain of a pool, a fault, and where it is asked for.
#[test]
fn handlers_of_a_program_whose_plugin_brings_the_library() {
    done(Workshop::get().loader().args(["late", "guest.lg"]));
}

/// The attacks that took hosts before returns were proved, on hosts that take away, in the middle of each call, all that the library has done about
/// signals: no return takes what the kernel has saved on the control stack.
#[test]
fn no_return_escapes_without_any_protection_of_signals() {
    for program in ["shared", "static"] {
        done(Workshop::get().program(program).args(["unprotected", "escape.lg"]));
    }
    done(Workshop::get().loader().args(["unprotected", "escape.lg"]));
}

/// As the same plugin, in a program that lives by handlers of its own.
fn in_language(host: Option<languages::Host>) {
    if let Some(program) = host {
        done(program(Workshop::get()).args(["foreign", "guest.lg"]));
    }
}

#[test]
fn handlers_of_a_go_program() {
    in_language(languages::go());
}

#[test]
fn handlers_of_a_java_program() {
    in_language(languages::java());
}

#[test]
fn handlers_of_a_node_program() {
    in_language(languages::node());
}

#[test]
fn handlers_of_a_perl_program() {
    in_language(languages::perl());
}

#[test]
fn handlers_of_a_php_program() {
    in_language(languages::php());
}

#[test]
fn handlers_of_a_ruby_program() {
    in_language(languages::ruby());
}

/// Python's `faulthandler` and an extension module's handlers are there, too.
#[test]
fn handlers_of_a_python_program() {
    in_language(languages::python());
}

/// Another allocator in place of the C library's, in a program that is linked with the library, and in one whose plugin brings it.
#[test]
fn handlers_of_a_program_with_another_allocator() {
    for (package, name) in languages::ALLOCATORS {
        let Some(allocator) = languages::allocator(package, name) else { continue };
        let with = |program: &mut Command| done(program.env("LD_PRELOAD", &allocator));
        with(Workshop::get().program("shared").args(["linked", "guest.lg"]));
        with(Workshop::get().loader().args(["late", "guest.lg"]));
    }
}
