//! Whole C programs, compiled natively and by `lockgate cc`: what they print and return must be the same.

use crate::common::{Shop, text};
use std::os::unix::process::ExitStatusExt;
use support::Part;

/// Flags of gcc, and of ours, which the native compiler does not get.
const FLAGS: &[&str] =
    &["-O0", "-O2", "-Os -fstack-protector-all", "-O3 -march=x86-64-v3", "-O2 -flto", STRICT_BOUNDS];

const STRICT_BOUNDS: &str = "--strict-bounds";

/// Standard output and exit status, natively and in a domain.
fn same_as_native(program: &str, arguments: &[&str]) {
    same_with(program, &[], &[arguments]);
}

/// The same for several runs, with options of `lockgate run`.
fn same_with(program: &str, options: &[&str], runs: &[&[&str]]) {
    same_as(&["musl-gcc", "-static"], program, options, runs);
}

/// The same; `native` compiles the program natively.
fn same_as(native_compiler: &[&str], program: &str, options: &[&str], runs: &[&[&str]]) {
    let shop = Shop::new();
    // (Half of the flags, and of the programs some have the others: none is left out in any run.)
    let part = Part::one_in(if program == "computed" { 1 } else { 2 }, format!("flags of {program}"));
    for (_, flags) in FLAGS.iter().enumerate().filter(|(index, _)| part.has(index + program.len())) {
        let source = Shop::program(program);
        let flags: Vec<&str> = flags.split(' ').collect();
        let native = shop.path("native");
        let status = shop
            .command(native_compiler[0])
            .args(&native_compiler[1..])
            .arg("-w")
            .args(flags.iter().filter(|flag| **flag != STRICT_BOUNDS))
            .arg(&source)
            .arg("-o")
            .arg(&native)
            .arg("-lm")
            .status();
        assert!(status.expect("a compiler runs (musl-gcc: package musl-tools)").success());
        shop.lockgate("cc").arg("-w").args(&flags).arg(&source).args(["-o", "program.lg"]).run_quietly();
        for arguments in runs {
            let native = shop.command(&native).args(*arguments).output().unwrap();
            let confined = shop.lockgate("run").args(options).arg("program.lg").args(*arguments).output();
            let complaints = text(&confined.stderr);
            assert_eq!(text(&confined.stdout), text(&native.stdout), "{program} {flags:?}: {complaints}");
            // As shells say it.
            let status = native.status.code().or_else(|| Some(128 + native.status.signal()?));
            assert_eq!(confined.status.code(), status, "{program} {flags:?} {arguments:?}: {complaints}");
        }
    }
}

#[test]
fn c_library() {
    same_as_native("libc", &["argument"]);
}

#[test]
fn memory_and_strings() {
    same_as_native("strings", &[]);
}

#[test]
fn threads_of_the_program() {
    let runs: [&[&str]; 4] = [&[], &["leave"], &["abandon"], &["crash"]];
    same_with("threaded", &["--threads", "8"], &runs);
}

#[test]
fn robust_mutexes() {
    same_with("robust", &["--threads", "8"], &[&[]]);
    let shop = Shop::new();
    shop.lockgate("cc").arg("-O2").arg(Shop::program("robust")).args(["-o", "robust.lg"]).run_quietly();
    let output = shop.lockgate("run").args(["--threads", "8", "robust.lg", "lost"]).output();
    let rounds = text(&output.stdout).matches("1 were told, 0 got it, 3 lost it").count();
    assert_eq!(rounds, 4, "{}{}", text(&output.stdout), text(&output.stderr));
}

/// Over every kind of address that can be granted.
#[test]
fn sockets_of_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server.sock");
    let path = path.to_str().unwrap();
    let granted = format!("unix:{path}");
    let mut options = vec!["--threads", "8"];
    for address in ["127.0.0.1:*", "[::1]:*", "udp:127.0.0.1:*", &granted] {
        options.extend(["--listen", address, "--connect", address]);
    }
    same_with("sockets", &options, &[&[path]]);
}

/// In a folder where it may make links and FIFOs.
#[test]
fn servers_calls() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    let granted = format!("{folder}:special");
    let options = ["--threads", "4", "--dir", &granted, "--connect", "localhost:80"];
    same_with("servers", &options, &[&[folder]]);
}

#[test]
fn thread_local_variables() {
    same_with("thread_local", &["--threads", "2"], &[&[]]);
}

#[test]
fn functions_that_return_twice() {
    same_as_native("setjmp", &[]);
}

/// musl has none of this: the other side is the system's C library.
#[test]
fn contexts_take_turns() {
    same_as(&["gcc"], "contexts", &[], &[&[]]);
}

/// It stops threads by signals, and finds what only their registers, stacks, red zones and contexts hold. Red if any of these is in no memory of the
/// module's, or not where the documents say.
#[test]
fn a_collector_finds_what_is_held() {
    same_as(&["gcc", "-pthread"], "collector", &["--threads", "8"], &[&[]]);
}

#[test]
fn functions_see_who_called_them() {
    let shop = Shop::new();
    for flags in [
        "-O0",
        "-O1 -fno-optimize-sibling-calls",
        "-O2 -fno-optimize-sibling-calls -fno-inline -fno-ipa-icf -fno-ipa-sra",
    ] {
        let source = Shop::program("backtrace");
        shop.lockgate("cc").args(flags.split(' ')).arg(&source).args(["-o", "program.lg"]).run_quietly();
        let output = shop.lockgate("run").arg("program.lg").output();
        let expected = "1 1 1 1 1\n100\n95\n-95\n0\n[0x12ab]\n[0x0]\n[0xffffffffffffffff]\n";
        assert_eq!(text(&output.stdout), expected, "{flags}: {}", text(&output.stderr));
    }
}

#[test]
fn functions_that_probe_their_callers_frames() {
    same_as_native("probed", &[]);
}

/// libffi as the system has it, whose assembly the sysroot's own code replaces.
#[test]
fn functions_of_types_that_are_known_at_run_time() {
    let shop = Shop::new();
    let found = shop.command("gcc").arg("--print-file-name=libffi.a").output().expect("gcc runs");
    let archive = text(&found.stdout).trim().to_owned();
    let source = Shop::program("ffi");
    let mut compile = shop.command("gcc");
    compile.args(["-w", "-M"]).arg(&source);
    let headers = text(&compile.output().expect("gcc runs").stdout);
    let header = |name: &str| headers.split_whitespace().find(|path| path.ends_with(name)).map(str::to_owned);
    let (Some(header), Some(target), true) =
        (header("/ffi.h"), header("/ffitarget.h"), archive.starts_with('/'))
    else {
        return support::skipped("libffi in a domain", "libffi-dev is not installed");
    };
    // Apart from the system's other headers.
    std::fs::create_dir(shop.path("include")).expect("a folder");
    for path in [header, target] {
        let name = std::path::Path::new(&path).file_name().expect("a file").to_owned();
        std::os::unix::fs::symlink(&path, shop.path("include").join(name)).expect("a link");
    }
    let native = shop.path("native");
    let mut compile = shop.command("gcc");
    let status = compile.args(["-O2", "-w"]).arg(&source).args([&archive, "-o"]).arg(&native).status();
    assert!(status.expect("gcc runs").success());
    shop.lockgate("cc")
        .args(["-O2", "-w", "-Iinclude"])
        .arg(&source)
        .args([&archive, "-o", "program.lg"])
        .run_quietly();
    let native = shop.command(&native).output().expect("the program runs");
    let confined = shop.lockgate("run").arg("--quiet").arg("program.lg").output();
    assert!(native.status.success() && confined.status.success(), "{}", text(&confined.stderr));
    assert_eq!(text(&confined.stdout), text(&native.stdout));
    assert!(text(&native.stdout).contains("many 1785"), "{}", text(&native.stdout));
}

#[test]
fn functions_that_do_not_return() {
    same_as_native("unreturned", &[]);
}

#[test]
fn computed_stack_pointers_spare_every_register() {
    same_as_native("carried", &[]);
}

#[test]
fn computed_jumps_and_jumps_out_of_the_function_are_told_apart() {
    same_as_native("gotos", &[]);
}

#[test]
fn computed_jumps_spare_every_register() {
    same_as_native("computed", &[]);
}

/// What a domain has none of fails with an error that the program sees, and Lockgate says so.
#[test]
fn unsupported_calls() {
    let shop = Shop::new();
    shop.lockgate("cc").arg("-w").arg(Shop::program("unsupported")).args(["-o", "program.lg"]).run_quietly();
    let output = shop.lockgate("run").arg("program.lg").output();
    let expected = ["pthread_create", "fork", "vfork", "clone", "system", "popen", "dlsym"]
        .map(|call| format!("{call} 1\n"))
        .concat();
    assert_eq!(text(&output.stdout), expected + "still here\n");
    assert!(output.status.success());
    assert!(text(&output.stderr).contains("system call 57"), "fork is reported: {}", text(&output.stderr));
}

/// A jmp_buf is the module's own data; whatever it holds, longjmp stays inside and the host goes on.
#[test]
fn forged_jump_buffers() {
    let shop = Shop::new();
    shop.lockgate("cc").arg("-O2").arg(Shop::program("forged")).args(["-o", "program.lg"]).run_quietly();
    for attack in [
        "honest",
        "landing-data",
        "landing-code",
        "landing-null",
        "landing-host",
        "rsp-null",
        "rsp-top",
        "rsp-odd",
    ] {
        let output = shop.lockgate("run").args(["program.lg", attack]).output();
        let (code, message) = (output.status.code(), text(&output.stderr));
        // The unit that sets rsp aligns it, too.
        if attack == "honest" || attack == "rsp-odd" {
            assert_eq!(code, Some(7), "{message}");
        } else {
            // Stopped by a fault that Lockgate reports: no status of the program's, no signal to `lockgate` itself.
            assert!(code.is_some_and(|code| code > 128), "{attack}: {code:?} {message}");
            assert!(message.contains("program.lg"), "{attack}: {message}");
        }
    }
}
