//! `lockgate cc`, `link` and `rewrite` as build systems and people call them.

use crate::common::{Shop, text};

const HELLO: &str = "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n";

/// `-c`, then the link; mixed sources and objects; a source from standard input; a response file; the default output.
#[test]
fn ways_to_a_program() {
    let shop = Shop::new();
    shop.write("main.c", HELLO);
    shop.write("other.c", "int other(void) { return 3; }\n");
    shop.write("response", "-O2 main.c\n'-o' fourth.lg\n");
    shop.lockgate("cc").args(["-O2", "-c", "main.c"]).run_quietly();
    shop.lockgate("cc").args(["main.o", "-o", "first.lg"]).run_quietly();
    shop.lockgate("cc")
        .args(["-MMD", "other.c", "main.o", "-lm", "-Wl,--gc-sections", "-pthread", "-osecond.lg"])
        .run_quietly();
    shop.lockgate("cc").args(["-x", "c", "-include", "main.c", "/dev/null", "-o", "third.lg"]).run_quietly();
    shop.lockgate("cc").arg("@response").run_quietly();
    shop.lockgate("cc").arg("main.c").run_quietly();
    for module in ["first.lg", "second.lg", "third.lg", "fourth.lg", "a.out"] {
        let output = shop.lockgate("run").arg(module).output();
        assert_eq!(text(&output.stdout), "hello\n", "{module}: {}", text(&output.stderr));
    }
}

/// A configure script's questions, a library with its own makefile, and a program that uses it.
#[test]
fn make_and_configure() {
    let shop = Shop::new();
    shop.write("lib.c", "int seven(void) { return 7; }\n");
    shop.write(
        "use.c",
        "#include <stdio.h>\nint seven(void);\nint main(void) { printf(\"%d\\n\", seven()); return 0; }\n",
    );
    let makefile = "CFLAGS = -O2\nprogram: use.o libseven.a\n\t$(CC) $(CFLAGS) use.o -L. -lseven -o $@\n\
                    libseven.a: lib.o\n\t$(AR) rc $@ lib.o\n";
    shop.write("Makefile", makefile);
    let cc = format!("CC={} cc", env!("CARGO_BIN_EXE_lockgate"));
    let make = shop.command("make").arg(cc).output().unwrap();
    assert!(make.status.success(), "{}", text(&make.stderr));
    assert_eq!(text(&shop.lockgate("run").arg("program").output().stdout), "7\n");

    for question in ["--version", "-v", "-dumpmachine", "-print-search-dirs"] {
        assert!(shop.lockgate("cc").arg(question).output().status.success(), "{question}");
    }
    shop.write("conftest.c", "#ifndef __x86_64__\n#error\n#endif\nint main(void) { return 0; }\n");
    shop.lockgate("cc").args(["-E", "conftest.c", "-o", "conftest.i"]).run_quietly();
    shop.lockgate("cc").args(["conftest.c", "-o", "/dev/null"]).run_quietly();
    let missing = shop.lockgate("cc").args(["conftest.c", "-lnosuchlibrary"]).fail();
    assert!(missing.contains("-lnosuchlibrary"), "{missing}");
}

/// Wherever `main` is, it becomes a module: never a program of the host's, which nothing confines.
#[test]
fn main_may_be_anywhere() {
    let shop = Shop::new();
    shop.write("main.c", HELLO);
    shop.write("other.c", "int other(void) { return 1; }\n");
    shop.lockgate("cc").args(["-c", "main.c", "other.c"]).run_quietly();
    shop.lockgate("cc").args(["-c", "-fvisibility=hidden", "main.c", "-o", "hidden.o"]).run_quietly();
    assert!(shop.command("ar").args(["rc", "libmm.a", "main.o"]).status().unwrap().success());
    for arguments in [
        &["-L.", "-lmm"][..],
        &["-L.", "-l:libmm.a"],
        &["-L.", "-Wl,-lmm"],
        &["-Wl,main.o"],
        &["-Xlinker", "main.o"],
        &["libmm.a"],
        &["other.o", "libmm.a"],
        &["hidden.o"],
    ] {
        shop.lockgate("cc").args(arguments).args(["-o", "m.lg"]).run_quietly();
        assert!(shop.lockgate("verify").arg("m.lg").output().status.success(), "{arguments:?}");
        let output = shop.lockgate("run").arg("m.lg").output();
        assert_eq!(text(&output.stdout), "hello\n", "{arguments:?}: {}", text(&output.stderr));
        std::fs::remove_file(shop.path("m.lg")).unwrap();
    }
    // Nothing to link is an error, too.
    let nothing = shop.lockgate("cc").args(["-lm", "-o", "m.lg"]).fail();
    assert!(nothing.contains("nothing to call") && !shop.path("m.lg").exists(), "{nothing}");
}

/// Objects that were compiled with glibc's headers and checks: they have them in a domain, too.
#[test]
fn fortified_objects() {
    let shop = Shop::new();
    let flags = ["-O2", "-D_FORTIFY_SOURCE=2", "-D_GNU_SOURCE", "-w", "-fPIE", "-o", "fortified.o", "-c"];
    assert!(shop.command("gcc").args(flags).arg(Shop::program("fortified")).status().unwrap().success());
    let names = text(&shop.command("nm").args(["-u", "fortified.o"]).output().unwrap().stdout);
    for name in
        ["__strcpy_chk", "__vsnprintf_chk", "__sprintf_chk", "__asprintf_chk", "__read_chk", "__mbstowcs_chk"]
    {
        assert!(names.contains(name), "the compiler calls no {name}: {names}");
    }
    shop.lockgate("cc").args(["fortified.o", "-o", "fortified.lg"]).run_quietly();
    let good = shop.lockgate("run").arg("fortified.lg").output();
    let expected = "seven seven+ seven xxxxx 11 seven-s 1 5 5 1234 7<seven>\n5 seven\n";
    assert_eq!(text(&good.stdout), expected, "{}", text(&good.stderr));
    for overflow in ["s", "m", "p", "n", "c", "r", "w"] {
        let output =
            shop.lockgate("run").args(["fortified.lg", overflow, "a text that is too long"]).output();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(134), "{overflow}: {said}");
        assert!(said.contains("*** buffer overflow detected ***: terminated\n"), "{overflow}: {said}");
    }
}

/// Headers of the kernel's interface are there, as with any C library.
#[test]
fn headers_of_the_kernel() {
    let shop = Shop::new();
    shop.write("k.c", "#include <linux/types.h>\n#include <linux/limits.h>\n#include <asm/ioctl.h>\nint main(void) { return sizeof(__u32) - 4; }\n");
    shop.lockgate("cc").args(["k.c", "-o", "k.lg"]).run_quietly();
    assert_eq!(shop.lockgate("run").arg("k.lg").output().status.code(), Some(0));
}

/// What is at the output's place and no file gets the bytes and stays where it is.
#[test]
fn devices_stay() {
    let shop = Shop::new();
    shop.write("f.c", "int f(void) { return 1; }\n");
    shop.lockgate("cc").args(["-c", "f.c"]).run_quietly();
    std::os::unix::fs::symlink("/dev/null", shop.path("null")).unwrap();
    for (command, arguments) in [
        ("cc", &["-c", "f.c", "-o", "null"][..]),
        ("cc", &["f.c", "--export", "f", "-o", "null"]),
        ("link", &["f.o", "--export", "f", "-o", "null"]),
        ("rewrite", &["f.o", "-o", "null"]),
    ] {
        shop.lockgate(command).args(arguments).run_quietly();
        let kept = std::fs::read_link(shop.path("null")).expect("it is a link still");
        assert_eq!(kept.to_str(), Some("/dev/null"), "{command} {arguments:?}");
    }
}

/// What is made goes through a link to where it leads, and takes the place of nothing that a process has open: `/dev/stdout` is such a
/// link, in a folder of the system's.
#[test]
fn links_stay() {
    let shop = Shop::new();
    shop.write("f.c", "int f(void) { return 1; }\n");
    shop.lockgate("cc").args(["-c", "f.c"]).run_quietly();
    for (command, arguments) in [
        ("cc", &["f.c", "--export", "f", "-o"][..]),
        ("link", &["f.o", "--export", "f", "-o"]),
        ("rewrite", &["f.o", "-o"]),
    ] {
        for to in ["/proc/self/fd/1", "/dev/stdout"] {
            let link = shop.path("link");
            std::os::unix::fs::symlink(to, &link).unwrap();
            let output = std::fs::File::create(shop.path("output")).unwrap();
            let done = shop.lockgate(command).args(arguments).arg("link").stdout(output).output();
            assert!(done.status.success(), "{command} to {to}: {}", text(&done.stderr));
            let written = std::fs::read(shop.path("output")).unwrap();
            assert!(written.starts_with(b"\x7fELF"), "{command} to {to}: {} bytes", written.len());
            assert_eq!(std::fs::read_link(&link).unwrap().to_str(), Some(to));
            std::fs::remove_file(link).unwrap();
        }
        let output = std::fs::File::create(shop.path("output")).unwrap();
        let done = shop.lockgate(command).args(arguments).arg("/proc/self/fd/1").stdout(output).output();
        assert!(done.status.success(), "{command}: {}", text(&done.stderr));
        assert!(std::fs::read(shop.path("output")).unwrap().starts_with(b"\x7fELF"), "{command}");
    }
}

/// Files that the compiler makes beside its output lie where gcc puts them, also when it links at once.
#[test]
fn files_beside_the_output_stay() {
    let shop = Shop::new();
    shop.write("f.c", "int f(void) { return 1; }\n");
    for (option, file) in [
        ("-save-temps", "m.lg-f.s"),
        ("-save-temps=obj", "m.lg-f.i"),
        ("-fstack-usage", "m.lg-f.su"),
        ("-gsplit-dwarf", "m.lg-f.dwo"),
    ] {
        let made = shop.lockgate("cc").args([option, "-g", "f.c", "--export", "f", "-o", "m.lg"]).output();
        assert!(made.status.success() && shop.path(file).exists(), "{option}: no {file}");
    }
}

/// Two values that gcc keeps in r10 and r11 across a call, where it sees that the callee leaves them alone, are refused.
#[test]
fn gcc_keeps_no_values_across_calls_in_registers_that_callees_may_change() {
    let shop = Shop::new();
    let asked = |more: &[&str]| {
        let options = ["-O3", "-Q", "--help=optimizers"].iter().chain(more);
        text(&shop.lockgate("cc").args(options).output().stdout)
    };
    let line = |said: String| said.lines().find(|line| line.contains("-fipa-ra ")).unwrap_or("").to_owned();
    assert!(line(asked(&[])).ends_with("[disabled]"));
    assert!(line(asked(&["-fipa-ra"])).ends_with("[enabled]"), "who asks for it has it");
}

/// An image begins at a multiple of 128 KiB, and one that joins a domain at one of a page: what is to be more aligned cannot be.
#[test]
fn alignment_that_no_module_has_is_refused() {
    let shop = Shop::new();
    let link = |alignment: usize, more: &[&str]| {
        let source = format!(
            "#include <stdint.h>\nint x __attribute__((aligned({alignment})));\n\
             int off(void) {{ uintptr_t at = (uintptr_t)&x; __asm__(\"\" : \"+r\"(at)); return at % {alignment}; }}\n"
        );
        shop.write("aligned.c", &source);
        shop.lockgate("cc").args(["-O1", "-shared", "aligned.c", "-o", "aligned.lg"]).args(more).output()
    };
    let output = link(128 << 10, &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = shop.lockgate("call").args(["aligned.lg", "int off(void)"]).output();
    assert_eq!(text(&output.stdout), "0\n");
    let output = link(256 << 10, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("aligned to 262144 bytes"), "{}", text(&output.stderr));

    shop.write("base.c", "int base(void) { return 1; }\n");
    shop.lockgate("cc").args(["--base", "-shared", "base.c", "-o", "base.lg"]).run_quietly();
    assert!(link(4096, &["--join", "base.lg"]).status.success());
    assert_eq!(link(8192, &["--join", "base.lg"]).status.code(), Some(2));
}

/// A linker script, or another output, is not for the linker to say.
#[test]
fn layouts_are_refused() {
    let shop = Shop::new();
    shop.write("f.c", "int f(void) { return 1; }\n");
    for option in ["-Tscript.ld", "-Wl,-T,script.ld", "-Wl,--script=x", "-Wl,-o,x"] {
        let said = shop.lockgate("cc").args([option, "f.c", "--export", "f", "-o", "m.lg"]).fail();
        assert!(said.contains("layout of their own"), "{option}: {said}");
    }
}

/// gcc's own errors and exit status come through, and no module is made.
#[test]
fn compile_errors() {
    let shop = Shop::new();
    shop.write("bad.c", "int main(void) { return undeclared; }\n");
    for arguments in [vec!["-c", "bad.c"], vec!["bad.c", "-o", "bad.lg"]] {
        let output = shop.lockgate("cc").args(&arguments).output();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(text(&output.stderr).contains("undeclared"), "{}", text(&output.stderr));
    }
    assert!(!shop.path("bad.lg").exists());
}

/// GNU C's nested functions are fine, unless a pointer to one needs code on the stack.
#[test]
fn trampolines_are_refused() {
    let shop = Shop::new();
    let program =
        |body: &str| format!("int main(int n, char **v) {{ int f(int x) {{ return x - n; }} {body} }}");
    shop.write("direct.c", &program("return f(n);"));
    shop.lockgate("cc").args(["-O0", "direct.c", "-o", "direct.lg"]).run_quietly();
    assert_eq!(shop.lockgate("run").arg("direct.lg").output().status.code(), Some(0));
    shop.write("pointed.c", &program("int (*volatile p)(int) = f; return p(n);"));
    let output = shop.lockgate("cc").args(["-O0", "pointed.c", "-o", "pointed.lg"]).output();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("trampoline generated for nested function"));
}

#[test]
fn exports_and_gates_from_files() {
    let shop = Shop::new();
    shop.write("lib.c", "int host(int); int f(int x) { return host(x); } int g(void) { return 1; }\n");
    shop.write("api", "# the interface\nint f(int);\n\n// more\nint g(void)\n");
    shop.write("host", "int host(int)\n");
    shop.lockgate("cc").args(["-O2", "-c", "lib.c", "--exports=api"]).run_quietly();
    shop.lockgate("cc").args(["lib.o", "--exports", "api", "--gates=host", "-o", "lib.lg"]).run_quietly();
    shop.lockgate("link").args(["lib.o", "--export", "f", "--gate", "host", "-o", "link.lg"]).run_quietly();
    shop.lockgate("cc").args(["-shared", "lib.o", "--gate", "host", "-o", "shared.lg"]).run_quietly();
    for (module, names) in [("lib.lg", ["int f(int)", "int g(void)"]), ("shared.lg", ["f", "g"])] {
        let bytes = std::fs::read(shop.path(module)).unwrap();
        let module = lockgate_verify::Module::parse(&bytes).unwrap();
        for name in names {
            let noted = |export: &lockgate_verify::Export| {
                export.signature.as_deref().unwrap_or(&export.name) == name
            };
            assert!(module.exports.iter().any(noted), "{name}");
        }
    }
}

/// Debug information that cannot be kept is named, from objects and from archives, cached or not.
#[test]
fn dropped_debug_information() {
    let shop = Shop::new();
    // Large enough that compressing it pays.
    let functions = (0..40).map(|i| format!("int f{i}(struct s{i} *p) {{ return p->a{i}; }}\n"));
    let types = (0..40).map(|i| format!("struct s{i} {{ int a{i}; double b{i}; }};\n"));
    shop.write("big.c", &types.chain(functions).collect::<String>());
    shop.write("main.c", HELLO);
    shop.lockgate("cc").args(["-g", "-c", "main.c"]).run_quietly();
    for (flag, reason) in [("-gz", "is compressed"), ("-gsplit-dwarf", "is split")] {
        shop.lockgate("cc").args(["-g", flag, "-c", "big.c"]).run_quietly();
        let warning = |name: &str| format!("lockgate: warning: debug information dropped: {name}: ");
        let output = shop.lockgate("cc").args(["main.o", "big.o", "-o", "m.lg"]).output();
        let told = text(&output.stderr);
        assert!(output.status.success() && output.stdout.is_empty(), "{told}");
        assert!(told.starts_with(&warning("big.o")) && told.contains(reason), "{flag}: {told}");
        assert_eq!(told.lines().count(), 1, "{told}");
        assert_eq!(text(&shop.lockgate("run").arg("m.lg").output().stdout), "hello\n");
        for archive in ["libone.a", "libtwo.a"] {
            let ar = shop.command("ar").args(["rcD", archive, "big.o"]).status().unwrap();
            assert!(ar.success());
            let output = shop.lockgate("link").args(["main.o", archive, "-o", "m.lg", "--json"]).output();
            let told = text(&output.stderr);
            assert!(told.starts_with(&warning(&format!("{archive}(big.o)"))), "{flag}: {told}");
            let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            let dropped = json["debug_dropped"].as_array().unwrap();
            assert!(dropped.len() == 1 && told.contains(dropped[0].as_str().unwrap()), "{json}");
            assert!(json["report"]["text_bytes"].as_u64().unwrap() > json["text_out"].as_u64().unwrap());
        }
    }
}

/// Gathers are the one kind of access that `--strict-bounds` does not check: it says how many there are.
#[test]
fn gathers_are_told() {
    let shop = Shop::new();
    let source = "#include <immintrin.h>\nvoid f(int *to, const int *from, __m256i at) {\n\
                  _mm256_storeu_si256((void *)to, _mm256_i32gather_epi32(from, at, 4)); }\n";
    shop.write("gather.c", source);
    shop.lockgate("cc").args(["-O2", "-mavx2", "-c", "gather.c"]).run_quietly();
    assert!(shop.command("ar").args(["rcD", "libg.a", "gather.o"]).status().unwrap().success());
    shop.lockgate("link").args(["gather.o", "--export", "f", "-o", "m.lg"]).run_quietly();
    for (input, times) in [("gather.o", 1), ("libg.a", 1), ("libg.a", 2)] {
        let output = shop
            .lockgate("link")
            .args([input, "--strict-bounds", "--export", "f", "-o", "m.lg", "--json"])
            .output();
        let told = text(&output.stderr);
        assert!(
            told.contains("warning: --strict-bounds") && told.contains(" 1 gathers"),
            "{input} {times}: {told}"
        );
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(json["unchecked_vectors"], 1, "{json}");
    }
}

/// A machine without gcc or musl: the message says what to install.
#[test]
fn nothing_installed() {
    let shop = Shop::new();
    shop.write("main.c", HELLO);
    for (name, value) in [("LOCKGATE_GCC", "/nowhere/gcc"), ("LOCKGATE_MUSL", "/nowhere/musl")] {
        for arguments in [vec!["-c", "main.c"], vec!["main.c"]] {
            let message = shop.lockgate("cc").args(arguments).env(name, value).fail();
            assert!(
                message.contains("/nowhere/") && message.contains("apt-get install gcc musl-dev"),
                "{message}"
            );
        }
    }
}

/// A musl whose inside may differ from what the sysroot's members expect is refused, not tried.
#[test]
fn another_musl() {
    let shop = Shop::new();
    for folder in ["musl/include", "musl/lib"] {
        std::fs::create_dir_all(shop.path(folder)).unwrap();
    }
    shop.write("musl/include/features.h", "");
    shop.write("version.c", "const char __libc_version[] = \"1.3.0\";\n");
    shop.write("main.c", HELLO);
    assert!(shop.command("gcc").args(["-c", "version.c"]).status().unwrap().success());
    assert!(shop.command("ar").args(["rc", "musl/lib/libc.a", "version.o"]).status().unwrap().success());
    let message =
        shop.lockgate("cc").args(["-c", "version.c", "-o", "x.o"]).env("LOCKGATE_MUSL", "musl").output();
    assert!(message.status.success(), "compiling needs headers only");
    let message = shop.lockgate("cc").arg("version.o").env("LOCKGATE_MUSL", "musl").fail();
    assert!(message.contains("musl 1.2.2 to 1.2.5 (this one is 1.3.0)"), "{message}");
}

#[test]
fn rewrite_one_object() {
    let shop = Shop::new();
    shop.write("main.c", HELLO);
    shop.lockgate("cc").args(["-c", "main.c"]).run_quietly();
    shop.lockgate("rewrite").args(["main.o", "-o", "rewritten.o"]).run_quietly();
    shop.lockgate("link").args(["--verbatim", "rewritten.o", "-o", "main.lg"]).run_quietly();
    assert_eq!(text(&shop.lockgate("run").arg("main.lg").output().stdout), "hello\n");
    shop.write("broken.o", "not an object");
    assert!(shop.lockgate("rewrite").args(["broken.o", "-o", "x.o"]).fail().contains("broken.o"));
    assert!(!shop.path("x.o").exists());
}

/// What is made takes the place of nothing that it is made of, whatever name that has, and nothing of it is touched.
#[test]
fn inputs_stay() {
    let shop = Shop::new();
    shop.write("s.c", HELLO);
    shop.write("list", "main\n");
    std::fs::hard_link(shop.path("s.c"), shop.path("t.c")).unwrap();
    std::os::unix::fs::symlink("s.c", shop.path("u.c")).unwrap();
    let cases: &[&[&str]] = &[
        &["s.c", "-o", "s.c"],
        &["s.c", "-o", "t.c"],
        &["t.c", "-o", "u.c"],
        &["s.c", "--exports", "list", "-o", "list"],
        &["s.c", "--gates", "list", "-o", "./list"],
        &["--split", "s.c", "-o", "s.c"],
        &["--split", "s.c", "-o", "t.c"],
        &["--split", "-c", "s.c", "-o", "t.c"],
        &["--split", "-c", "s.c", "-o", "u.c"],
    ];
    for arguments in cases {
        let message = shop.lockgate("cc").args(*arguments).fail();
        assert!(
            message.contains("would overwrite this input: give the output (-o) another name"),
            "{arguments:?}: {message}"
        );
        for (name, contents) in [("s.c", HELLO), ("t.c", HELLO), ("list", "main\n")] {
            assert_eq!(std::fs::read_to_string(shop.path(name)).unwrap(), contents, "{arguments:?}: {name}");
        }
    }
}

/// Files of dependencies of what is linked at once lie where gcc puts them.
#[test]
fn dependencies_of_a_link() {
    let shop = Shop::new();
    shop.write("own.h", "");
    shop.write("s.c", &format!("#include \"own.h\"\n{HELLO}"));
    for (arguments, file, target) in [
        (&["-MMD", "s.c", "-o", "prog.lg"][..], "prog.d", "prog.lg:"),
        (&["-MD", "s.c"], "a-s.d", "a.out:"),
        (&["-MMD", "-MF", "x.d", "-MT", "that", "s.c", "-o", "prog.lg"], "x.d", "that:"),
    ] {
        for split in [false, true] {
            let cc = shop.lockgate("cc");
            let cc = if split { cc.arg("--split") } else { cc };
            cc.args(arguments).run_quietly();
            let rule = std::fs::read_to_string(shop.path(file))
                .unwrap_or_else(|_| panic!("{arguments:?} {split}: no {file}"));
            assert!(rule.starts_with(target) && rule.contains("own.h"), "{arguments:?} {split}: {rule}");
            std::fs::remove_file(shop.path(file)).unwrap();
        }
    }
}

/// Whatever ends the program, its folders go.
#[test]
fn signals_leave_nothing_behind() {
    let shop = Shop::new();
    std::fs::create_dir(shop.path("scratch")).unwrap();
    let fifo = shop.command("mkfifo").arg("pipe").status().unwrap();
    assert!(fifo.success());
    shop.write("s.c", "#include \"pipe\"\nint main(void) { return 0; }\n");
    shop.write("h.h", "#include \"pipe\"\nint f(int);\n");
    let ours = || {
        let entries = std::fs::read_dir(shop.path("scratch")).unwrap().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("lockgate-")).count()
    };
    let wait_for = |what: &str, done: &dyn Fn() -> bool| {
        let begun = std::time::Instant::now();
        while !done() {
            assert!(begun.elapsed().as_secs() < 60, "{what}: {} folders are there", ours());
            std::thread::yield_now();
        }
    };
    for command in [
        &["cc", "s.c", "-o", "s.lg"][..],
        &["cc", "--split", "s.c", "-o", "s"],
        &["stubs", "h.h", "--explain"],
    ] {
        for signal in ["-INT", "-TERM", "-HUP", "-KILL"] {
            let what = format!("{command:?} {signal}");
            // Whoever runs the tests may ignore signals (nohup, jobs of a shell), and what is ignored stays so.
            let mut lockgate = shop.command("env");
            lockgate.args(["--default-signal=INT,TERM,HUP", env!("CARGO_BIN_EXE_lockgate")]);
            lockgate.args(command).env("TMPDIR", shop.path("scratch"));
            let mut lockgate = lockgate.stderr(std::process::Stdio::null()).spawn().unwrap();
            wait_for(&what, &|| ours() > 0);
            let id = lockgate.id().to_string();
            assert!(shop.command("kill").args([signal, &id]).status().unwrap().success());
            assert_eq!(lockgate.wait().unwrap().code(), None, "{what}");
            wait_for(&what, &|| ours() == 0);
            // Who still waits for the file reads nothing from it.
            let options = std::os::unix::fs::OpenOptionsExt::custom_flags(
                std::fs::OpenOptions::new().write(true),
                0o4000,
            )
            .open(shop.path("pipe"));
            drop(options);
        }
    }
}

/// `link` says in whose place functions of ours stand, in text and as JSON: those of objects, and those of archives, also where these come from the
/// cache. Red if either way says nothing, or the cache keeps no names.
#[test]
fn what_was_replaced_is_said() {
    let shop = Shop::new();
    // Known by its name: ours is taken, whatever the code is.
    let function =
        |name: &str| format!(".globl {name}\n.type {name},@function\n{name}: mov %rdi,%rsp\nret\n");
    shop.write("switch.s", &(function("jump_fcontext") + ".section .note.GNU-stack\n"));
    shop.write("start.s", &(function("make_fcontext") + ".section .note.GNU-stack\n"));
    shop.write(
        "main.c",
        "void *jump_fcontext(void *, void *);\nvoid *f(void *to) { return jump_fcontext(to, 0); }\n",
    );
    let assembled = shop.command("gcc").args(["-c", "switch.s", "start.s", "main.c"]).status();
    assert!(assembled.expect("gcc starts").success());
    let archived = shop.command("ar").args(["rc", "libstart.a", "start.o"]).status();
    assert!(archived.expect("ar starts").success());
    let link = |inputs: &[&str], how: &str| {
        let output = shop
            .lockgate("link")
            .args(inputs)
            .args(["--export", "f", "-o", "module.lg", how])
            .env("LOCKGATE_CACHE", shop.path("cache"))
            .output();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let inputs = ["main.o", "switch.o", "libstart.a"];
    // The second link finds the archive in the cache.
    for _ in 0..2 {
        let said = link(&inputs, "--verbose");
        let replaced: Vec<&str> = said.lines().filter(|line| line.contains("ours stands")).collect();
        let line = |name: &str| format!("module.lg: ours stands in the place of {name}");
        assert_eq!(replaced, [line("jump_fcontext"), line("make_fcontext")], "{said}");
        let made: serde_json::Value = serde_json::from_str(&link(&inputs, "--json")).expect("JSON");
        assert_eq!(made["replaced"], serde_json::json!(["jump_fcontext", "make_fcontext"]), "{made}");
    }
    // Nothing was replaced: nothing is said.
    shop.write("plain.c", "int f(void) { return 1; }\n");
    assert!(shop.command("gcc").args(["-c", "plain.c"]).status().expect("gcc starts").success());
    assert!(!link(&["plain.o"], "--verbose").contains("ours stands"));
    let made: serde_json::Value = serde_json::from_str(&link(&["plain.o"], "--json")).expect("JSON");
    assert_eq!(made["replaced"], serde_json::json!([]), "{made}");
}
