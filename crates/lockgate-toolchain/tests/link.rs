//! The link: what goes in, what comes out, what is refused.

use crate::common::Workshop;
use lockgate_toolchain::Error;
use lockgate_verify::Module;
use object::{Object as _, ObjectSymbol as _};

/// A program, a library and everything a module says about itself.
#[test]
fn modules_describe_themselves() {
    let shop = Workshop::new();
    let object = shop.compile(
        "int host(const char *); int ask(void) { return host(\"x\"); } double f(double x) { return x; }",
    );
    let mut link = shop.link();
    link.file(&object).unwrap();
    link.export("int ask(void)").unwrap().export("f").unwrap().gate("int host(const char *)").unwrap();
    link.run(&shop.sysroot, &lockgate_toolchain::silent).unwrap();
    let module = shop.module();
    let export = |name: &str| module.exports.iter().find(|export| export.name == name).expect(name);
    assert_eq!(export("ask").signature.as_deref(), Some("int ask(void)"));
    assert_eq!(export("f").signature, None);
    let threads = ["_lg_thread_init", "_lg_thread_exit", "_lg_thread_renew", "_lg_thread_mend"];
    for name in ["_lg_init", "_lg_fini", "_lg_alloc", "_lg_free"].into_iter().chain(threads) {
        export(name);
    }
    assert!(module.exports.iter().all(|export| export.name != "_lg_main"), "a library has no main");
    assert_eq!(module.imports.len(), 1);
    assert_eq!((module.imports[0].name.as_str(), module.imports[0].slot), ("host", 16));
    assert_eq!(module.imports[0].signature.as_deref(), Some("int host(const char *)"));
    let hash = blake3::hash(&std::fs::read(&object).unwrap()).to_hex().to_string();
    assert_eq!(module.sources, [(hash, object.to_string_lossy().into_owned())]);
}

/// What the linker script provides is the inputs' own if they define it. Red if ld reads the script before the inputs.
#[test]
fn functions_may_have_names_that_linker_scripts_provide() {
    let shop = Workshop::new();
    let names = ["end", "edata", "etext"];
    shop.link_source(
        "int end(void) { return 1; } int edata(void) { return 2; } int etext(void) { return 3; }",
        &names,
    )
    .unwrap();
    let exports = shop.module().exports;
    assert!(names.iter().all(|name| exports.iter().any(|export| export.name == *name)));
}

/// Where threads start comes with `clone`, and nothing of pthread_create into a module that starts none.
#[test]
fn threads_come_with_what_starts_them() {
    let starts = "#include <pthread.h>\nint f(pthread_t *t, void *(*g)(void *)) { return pthread_create(t, 0, g, 0); }";
    for (source, has_threads) in [("int f(void) { return 1; }", false), (starts, true)] {
        let shop = Workshop::new();
        shop.link_source(source, &["f"]).unwrap();
        let exported = shop.module().exports.iter().any(|export| export.name == "_lg_thread_start");
        assert_eq!(exported, has_threads, "{source}");
        assert_eq!(symbol(&shop, "pthread_create").is_some(), has_threads, "{source}");
    }
}

/// pthread_key_create's member of libc.a brings empty functions for the lock of the thread list, both at one address; host threads
/// enter such a module, too, and need the real ones.
#[test]
fn the_lock_of_the_thread_list_is_real() {
    let key = "#include <pthread.h>\nint f(pthread_key_t *key) { return pthread_key_create(key, 0); }";
    let shop = Workshop::new();
    shop.link_source(key, &["f"]).unwrap();
    let [lock, unlock] = ["__tl_lock", "__tl_unlock"].map(|name| symbol(&shop, name).expect(name));
    assert_ne!(lock, unlock);
}

/// Of a large table that programs touch in one or two places, all pages but those stay unused, unless it lies between other variables: they
/// would be on one page before it and on one behind, and both would be each domain's.
#[test]
fn the_allocators_table_is_behind_all_variables() {
    let shop = Workshop::new();
    shop.link_source("#include <stdlib.h>\nlong f(void) { return (long)malloc(8); }", &["f"]).unwrap();
    let file = std::fs::read(shop.output()).expect("a module");
    let file = object::File::parse(&*file).expect("an ELF file");
    let table = symbol(&shop, "class_of_chunk").expect("the table");
    let variables =
        file.symbols().filter(|symbol| symbol.size() > 0 && symbol.kind() == object::SymbolKind::Data);
    let behind: Vec<_> =
        variables.filter(|variable| variable.address() > table).map(|v| v.name().unwrap()).collect();
    assert!(behind.is_empty(), "{behind:?}");
}

/// The address of a symbol of the linked module.
fn symbol(shop: &Workshop, name: &str) -> Option<u64> {
    let file = std::fs::read(shop.output()).expect("a module");
    let file = object::File::parse(&*file).expect("an ELF file");
    file.symbols().find(|symbol| symbol.name() == Ok(name)).map(|symbol| symbol.address())
}

#[test]
fn programs_have_an_entry() {
    let shop = Workshop::new();
    shop.link_source("int main(void) { return 0; }", &[]).unwrap();
    assert!(shop.module().exports.iter().any(|export| export.name == "_lg_main"));
}

/// Same inputs, same bytes, in another folder and with a cold cache of rewritten archives too.
#[test]
fn output_is_stable() {
    let source = "#include <stdio.h>\n#include <stdlib.h>\nint main(int c, char **v) { printf(\"%d\\n\", atoi(v[c - 1])); return 0; }";
    let modules = [Workshop::new(), Workshop::new()].map(|shop| {
        shop.link_source(source, &[]).unwrap();
        let mut module = std::fs::read(shop.output()).unwrap();
        // The notes name the object, whose folder differs.
        let folder = shop.folder.path().to_string_lossy().into_owned();
        let at = module
            .windows(folder.len())
            .position(|bytes| bytes == folder.as_bytes())
            .expect("the source's path");
        module[at..at + folder.len()].fill(b'-');
        module
    });
    assert!(modules[0] == modules[1], "two links of the same inputs differ");
}

/// Whatever is wrong, the error says what, and nothing is left behind.
#[test]
fn refusals() {
    for (source, exports, expected) in [
        (
            "int f(void) { extern int g(void), h(void); return g() + h() + g(); }",
            vec!["f"],
            "undefined: g, h; add the object",
        ),
        ("int f(void) { return 1; }", vec!["f", "nope"], "nothing to export: nope;"),
        ("static int x = 1; int *f(void) { return &x; }", vec!["f", "x"], "nothing to export: x;"),
        ("int f(void) { return 1; }", vec![], "nothing to call"),
        (
            "__attribute__((section(\"odd\"), used)) static int x = 1; int f(void) { return 1; }",
            vec!["f"],
            "",
        ),
    ] {
        let shop = Workshop::new();
        let result = shop.link_source(source, &exports);
        if expected.is_empty() {
            result.unwrap();
            continue;
        }
        let message = result.expect_err(source).to_string();
        assert!(message.contains(expected), "{source}: {message}");
        assert!(!shop.output().exists(), "{source}: a module was left behind");
    }
}

#[test]
fn inputs_that_are_no_objects() {
    let shop = Workshop::new();
    let object = std::fs::read(shop.compile("int f(void) { return 1; }")).unwrap();
    let patched = |at: usize, value: u8| {
        let mut bytes = object.clone();
        bytes[at] = value;
        bytes
    };
    for (bytes, expected) in [
        (b"hello".to_vec(), "neither a 64-bit ELF object nor an archive"),
        (Vec::new(), "neither a 64-bit ELF object nor an archive"),
        (b"!<thin>\nx".to_vec(), "thin archive"),
        (b"BC\xc0\xdexxxx".to_vec(), "LLVM intermediate code"),
        (patched(4, 1), "a 32-bit object"),
        (patched(18, 183), "made for ELF machine 183"),
        (patched(16, 3), "shared library or program"),
        (patched(16, 2), "not a relocatable object"),
        (object[..32].to_vec(), "neither a 64-bit ELF object"),
    ] {
        let path = shop.write("input.o", &bytes);
        let message = shop.link().file(&path).expect_err(expected).to_string();
        assert!(message.contains(expected) && message.contains("input.o"), "{message}");
    }
}

/// Code of the attacker's own choice reaches the verifier, and nothing else.
#[test]
fn a_rejected_module_is_not_left_behind() {
    let shop = Workshop::new();
    let object = shop.assemble("f: endbr64; push %rax; pop %rax; ret; .globl f; .type f,@function");
    for kept in [false, true] {
        let mut link = shop.link();
        link.verbatim(&object).unwrap().export("f").unwrap();
        link.keep_rejected(kept);
        let error = link.run(&shop.sysroot, &lockgate_toolchain::silent).unwrap_err();
        assert!(matches!(&error, Error::Rejected { rejection, .. } if rejection.rule == "V1"), "{error}");
        assert!(!shop.output().exists());
        assert_eq!(shop.folder.path().join("module.lg.rejected").exists(), kept);
    }
}

/// Nor is it written where somebody has put a pipe: that would be waited for.
#[test]
fn a_rejected_module_is_kept_in_a_file() {
    let shop = Workshop::new();
    let object = shop.assemble("f: endbr64; push %rax; pop %rax; ret; .globl f; .type f,@function");
    let pipe = shop.folder.path().join("module.lg.rejected");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("it starts").success());
    let mut link = shop.link();
    link.verbatim(&object).unwrap().export("f").unwrap();
    link.keep_rejected(true);
    let error = link.run(&shop.sysroot, &lockgate_toolchain::silent).unwrap_err();
    assert!(matches!(&error, Error::Io { path, .. } if *path == pipe), "{error}");
}

/// A module that joins a domain has no libc, and no gates of its own; what it cannot have is refused by name.
#[test]
fn modules_that_join() {
    let shop = Workshop::new();
    let place = |name: &str| shop.folder.path().join(name);
    let link =
        |name: &str, source: &str, flags: &[&str], joins: &[&str], base: bool| -> Result<Module, Error> {
            let source = shop.write("input.c", source.as_bytes());
            let mut link = lockgate_toolchain::Link::new(place(name));
            link.file(&shop.gcc(&source, &[&["-O2", "-g"], flags].concat()))?.export_all(true).base(base);
            for module in joins {
                link.join(&place(module))?;
            }
            link.gate("long host_log(long)")?;
            link.run(&shop.sysroot, &lockgate_toolchain::silent)
                .map(|_| Module::parse(&std::fs::read(place(name)).unwrap()).unwrap())
        };
    let base = "long shared = 7; long half(long x) { return x / 2; }";
    let pic = &["-fPIC"];
    let base_module = link("base.lg", base, &[], &[], true).unwrap();
    assert!(base_module.base && base_module.join.is_none());
    for name in ["half", "malloc", "cbrt", "pthread_create", "qsort", "_lg_alloc"] {
        assert!(base_module.exports.iter().any(|export| export.name == name), "{name}");
    }
    let source = "#include <stdio.h>
        long half(long), host_log(long); extern long shared;
        long f(long x) { printf(\"%ld\", x); return half(x) + shared + host_log(x); }";
    let module = link("part.lg", source, pic, &["base.lg"], false).unwrap();
    let join = module.join.as_ref().expect("it joins");
    let symbol = |name: &str| join.symbols.iter().find(|symbol| symbol.name == name).expect(name);
    assert_eq!(symbol("half").signature.as_deref(), Some("long int half(long int)"));
    assert_eq!(
        (symbol("host_log").of_host, symbol("printf").of_host, symbol("shared").of_host),
        (true, false, false)
    );
    assert!(module.imports.is_empty() && module.exports.iter().all(|export| export.name != "malloc"));
    assert_eq!(
        join.modules,
        [(
            blake3::hash(&std::fs::read(place("base.lg")).unwrap()).to_hex().to_string(),
            "base.lg".to_owned()
        )]
    );
    let report = lockgate_verify::verify(&module).unwrap();
    assert!(report.gates.is_empty() && report.text_bytes < 8192, "{report:?}");
    // Functions need no -fPIC; objects do, because their place is not known.
    link("plain.lg", "long half(long); long f(long x) { return half(x); }", &[], &["base.lg"], false)
        .unwrap();
    for (source, joins, base, flags, expected) in [
        (
            "extern long shared; long f(void) { return shared; }",
            &["base.lg"][..],
            false,
            &[][..],
            "recompile with -fPIC",
        ),
        ("__thread long own; long f(void) { return own++; }", &["base.lg"], false, pic, "thread-local: own;"),
        (
            "extern __thread long of_base; long f(void) { return of_base; }",
            &["base.lg"],
            false,
            pic,
            "thread-local: of_base;",
        ),
        (
            "long nobody(void); long f(void) { return nobody(); }",
            &["base.lg"],
            false,
            pic,
            "undefined: nobody;",
        ),
        ("long f(void) { return 1; }", &["part.lg"], false, pic, "must be a base"),
        ("long f(void) { return 1; }", &["base.lg", "base.lg"], false, pic, "does not join base.lg"),
        ("long f(void) { return 1; }", &["base.lg"], true, pic, "is no base"),
    ] {
        let error = link("refused.lg", source, flags, joins, base).expect_err(expected).to_string();
        assert!(error.contains(expected), "'{error}' does not say '{expected}'");
    }
    assert!(!place("refused.lg").exists());
    // A module that joined another build of the base.
    link("base.lg", "long shared = 8; long half(long x) { return x / 2; }", &[], &[], true).unwrap();
    let error =
        link("refused.lg", "long f(void) { return 1; }", pic, &["base.lg", "part.lg"], false).unwrap_err();
    assert!(error.to_string().contains("or another build of it"), "{error}");
}

/// Output that cannot be written does not destroy what is there.
#[test]
fn unwritable_output() {
    let shop = Workshop::new();
    let object = shop.compile("int f(void) { return 1; }");
    let mut link = lockgate_toolchain::Link::new(shop.folder.path().join("no/such/folder/m.lg"));
    link.file(&object).unwrap().export("f").unwrap();
    let message = link.run(&shop.sysroot, &lockgate_toolchain::silent).unwrap_err().to_string();
    assert!(message.contains("cannot write") && message.contains("m.lg"), "{message}");
}

/// A weak function that nothing defines: its address is null, and a call of it is a trap, not a linkage table.
#[test]
fn absent_weak_functions() {
    let shop = Workshop::new();
    let source = "int absent(void) __attribute__((weak)); int f(void) { return absent ? absent() : 7; }";
    shop.link_source(source, &["f"]).unwrap();
}

/// Sections of one's own, thread-local and common variables, constructors and tables of pointers find their places.
#[test]
fn unusual_sections() {
    let shop = Workshop::new();
    let source = "
        __thread int counter = 5, zero;
        int common __attribute__((common));
        __attribute__((section(\"mine\"))) int writable = 1;
        __attribute__((section(\"mine_ro\"))) const int constant = 2;
        extern int __start_mine, __stop_mine;
        static int called;
        __attribute__((constructor)) static void start(void) { called = 1; }
        static const char *const names[] = { \"a\", \"b\" };
        const char *f(int i) { return names[i]; }
        long g(void) { return counter + zero + common + writable + constant + called + (&__stop_mine - &__start_mine); }";
    shop.link_source(source, &["f", "g"]).unwrap();
    let module = shop.module();
    let (_, initialised, size, _) = module.tls.expect("thread-local storage");
    // 8 of the source, and what malloc has for each thread.
    assert_eq!((initialised, size), (4, 24));
}

/// Any number of processes may build the sysroot at once; each gets a whole one.
#[test]
fn the_cache_is_shared_safely() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let cache = lockgate_toolchain::Cache::at(folder.path());
                let options = lockgate_rewrite::Options::default();
                lockgate_toolchain::Sysroot::ensure_in(cache, options, &lockgate_toolchain::silent).unwrap();
            });
        }
    });
    let entries: Vec<_> = folder.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(entries.len(), 1, "one entry, no leftovers: {entries:?}");
}

/// Every function of the C library and of the compiler's, not only those that programs happen to use.
#[test]
fn the_whole_sysroot_is_verified() {
    let shop = Workshop::new();
    let object = shop.compile("int main(void) { return 0; }");
    let strict_bounds =
        lockgate_toolchain::Sysroot::ensure_strict_bounds(&lockgate_toolchain::silent).unwrap();
    for sysroot in [&shop.sysroot, &strict_bounds] {
        let mut link = shop.link();
        link.file(&object).unwrap().ld_option("--whole-archive");
        for archive in sysroot.archives() {
            link.verbatim(&archive).unwrap();
        }
        let outcome = link.run(sysroot, &lockgate_toolchain::silent).unwrap();
        assert!(outcome.report.text_bytes > 1 << 20, "{} bytes", outcome.report.text_bytes);
    }
}

/// What the notes say is read back by the one parser.
#[test]
fn the_file_is_what_the_loader_expects() {
    let shop = Workshop::new();
    shop.link_source("int f(void) { return 1; }", &["f"]).unwrap();
    let bytes = std::fs::read(shop.output()).unwrap();
    let module = Module::parse(&bytes).unwrap();
    assert!(module.segments.windows(2).all(|pair| pair[0].address + pair[0].size <= pair[1].address));
    let (address, count) = module.program_headers;
    let constants = &module.segments[1];
    let at = (address - constants.address) as usize;
    let size = usize::from(count) * 56;
    assert_eq!(constants.bytes[at..at + size], bytes[64..64 + size], "the program headers are mapped");
}

/// Functions that are chosen at start are refused by name, with what to write instead, also where another object calls them.
#[test]
fn chosen_functions() {
    let chosen = "static int one(void) { return 1; } static void *which(void) { return one; }\n\
                  int chosen(void) __attribute__((ifunc(\"which\")));";
    let caller = "int chosen(void); int f(void) { return chosen(); }";
    let (shop, other) = (Workshop::new(), Workshop::new());
    for sources in [vec![format!("{chosen} {caller}")], vec![chosen.to_owned(), caller.to_owned()]] {
        let mut link = shop.link();
        for (shop, source) in [&shop, &other].into_iter().zip(&sources) {
            link.file(&shop.compile(source)).unwrap();
        }
        let error = link
            .export("f")
            .unwrap()
            .run(&shop.sysroot, &lockgate_toolchain::silent)
            .unwrap_err()
            .to_string();
        assert!(error.contains("chosen") && error.contains("__builtin_cpu_supports"), "{error}");
    }
}

/// Where the headers of an object's sections lie whose names contain `part`.
fn headers_of(object: &[u8], part: &str) -> Vec<usize> {
    use object::ObjectSection as _;
    let table = u64::from_le_bytes(object[40..48].try_into().unwrap()) as usize;
    let file = object::File::parse(object).unwrap();
    let named = file.sections().filter(|section| section.name().is_ok_and(|name| name.contains(part)));
    let headers: Vec<usize> = named.map(|section| table + 64 * section.index().0).collect();
    assert!(!headers.is_empty());
    headers
}

/// A few bytes of alignment, or zeros among data, do not become gigabytes: the link is refused before anything is so large.
#[test]
fn padding_has_a_limit() {
    const FUNCTION: &str = ".text\n.globl f\n.type f,@function\nf: mov %edi,%eax\nret\n";
    let shop = Workshop::new();
    // Sections of one byte, and the alignment that their headers claim: assemblers would pad their own output.
    let hostile = [
        (".section .n1,\"\",@progbits\n.byte 1\n.section .n2,\"\",@progbits\n.byte 1\n", 1u64 << 30),
        (".section .data.n1,\"aw\",@progbits\n.byte 1\n", 1 << 28),
        (".section .text.n1,\"ax\",@progbits\nret\n", 1 << 28),
        (".section .data.n1,\"aw\",@nobits\n.skip 0x30000000\n.data\n.quad 1\n", 8),
    ];
    for (sections, align) in hostile {
        let mut object = std::fs::read(shop.assemble(&format!("{FUNCTION}{sections}"))).unwrap();
        for at in headers_of(&object, ".n") {
            object[at + 48..at + 56].copy_from_slice(&align.to_le_bytes());
        }
        let object = shop.write("hostile.o", &object);
        for verbatim in [false, true] {
            let mut link = shop.link();
            match verbatim {
                true => link.verbatim(&object).unwrap(),
                false => link.file(&object).unwrap(),
            };
            let error =
                link.export("f").unwrap().run(&shop.sysroot, &lockgate_toolchain::silent).unwrap_err();
            assert!(error.to_string().contains("padding"), "{sections}: {error}");
        }
    }
    // What programs have is linked: pieces of 128 KiB, where images begin, and as much zeroed memory as an image holds.
    let usual = ".data\n.p2align 17\n.quad 1\n.bss\n.p2align 17\n.skip 0x10000000\n";
    let object = shop.assemble(&format!("{FUNCTION}{usual}"));
    let mut link = shop.link();
    link.file(&object).unwrap().export("f").unwrap();
    let outcome = link.run(&shop.sysroot, &lockgate_toolchain::silent).unwrap();
    assert!(outcome.file_size < 16 << 20, "{} bytes", outcome.file_size);
}

/// Objects whose headers are damaged, by chance but always the same: each is linked, or refused, soon, and what comes out is not large.
#[test]
fn damaged_objects_cost_little() {
    let shop = Workshop::new();
    let source = "int data = 5; static int zero[10]; const char *text = \"x\"; _Thread_local int own;\n\
                  int f(int x) { switch (x) { case 0: return data; case 1: return zero[x]; case 2: return text[0];\n\
                  case 3: return own++; case 4: return 9; } return 0; }";
    let object = std::fs::read(shop.compile(source)).unwrap();
    let headers = u64::from_le_bytes(object[40..48].try_into().unwrap()) as usize;
    let mut state = 1u64;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit
    };
    let mut linked = 0;
    for round in 0..60 {
        let mut damaged = object.clone();
        for _ in 0..1 + below(3) {
            // Three of four times in the section headers, where sizes are.
            let at =
                if below(4) == 0 { below(object.len()) } else { headers + below(object.len() - headers) };
            damaged[at] = [0, 1, 2, 0x10, 0x40, 0x7f, 0x80, 0xff][below(8)];
        }
        let path = shop.write("damaged.o", &damaged);
        let mut link = shop.link();
        let Ok(link) = link.file(&path) else { continue };
        link.export("f").unwrap();
        let begin = std::time::Instant::now();
        if let Ok(outcome) = link.run(&shop.sysroot, &lockgate_toolchain::silent) {
            linked += 1;
            assert!(outcome.file_size < 128 << 20, "round {round}: {} bytes", outcome.file_size);
        }
        assert!(begin.elapsed() < std::time::Duration::from_secs(60), "round {round}: {:?}", begin.elapsed());
    }
    assert!(linked > 5, "only {linked} damaged objects could be linked");
}

/// The name of a symbol is no text of a program: nothing of the builder's gets into a module by it, or on the command line of ld.
#[test]
fn names_of_symbols_are_no_text() {
    let shop = Workshop::new();
    let secret = shop.write("secret", b"the builder's own");
    let base = shop.folder.path().join("base.lg");
    let mut link = lockgate_toolchain::Link::new(&base);
    link.file(&shop.compile("int half(int x) { return x / 2; }")).unwrap().base(true);
    link.run(&shop.sysroot, &lockgate_toolchain::silent).unwrap();
    let source = "__asm__(\".weak NAME; .section .named,\\\"\\\",@progbits; .quad NAME; .text\"); int f(int x) { return x + 1; }";
    let include = format!("x\n.incbin \"{}\"\n#", secret.display());
    let names = [
        &include,
        "x\n.fill 100000000\n#",
        "x\"; }; { global: \"*",
        "*",
        ".",
        "1f",
        "a b",
        "x=1",
        "-T",
        "x\x1b[2J",
    ];
    for name in names {
        let object = shop.compile(source);
        let mut rename = std::process::Command::new("objcopy");
        let renamed =
            rename.arg(format!("--redefine-sym=NAME={name}")).arg(&object).status().expect("objcopy runs");
        assert!(renamed.success(), "{name:?}");
        for joins in [true, false] {
            let mut link = shop.link();
            if joins {
                link.join(&base).unwrap();
            }
            let message = link.file(&object).expect_err(name).to_string();
            assert!(
                message.contains("cannot be the name of a symbol") && message.contains("input.o"),
                "{message}"
            );
            assert!(!message.contains('\x1b'), "{message:?}");
        }
        // Where it is known already that objects are whole.
        let archive = shop.folder.path().join("lib.a");
        let _ = std::fs::remove_file(&archive);
        let made =
            std::process::Command::new("ar").arg("rc").args([&archive, &object]).status().expect("ar runs");
        assert!(made.success());
        assert!(shop.link().file(&archive).is_err(), "{name:?} in an archive");
    }
}

/// The compiler does what intermediate code says, so it sees none that nobody has vouched for.
#[test]
fn intermediate_code_is_compiled_when_that_was_asked_for() {
    let shop = Workshop::new();
    let secret = shop.write("secret", b"the builder's own");
    let source = format!(
        "__asm__(\".section .rodata; .globl stolen; stolen: .incbin \\\"{}\\\"; .text\"); extern const char stolen[]; \
         const char *f(void) {{ return stolen; }}",
        secret.display()
    );
    let source = shop.write("evil.c", source.as_bytes());
    let object = shop.gcc(&source, &["-O2", "-flto"]);
    let link = |options: &[&str]| {
        let mut link = shop.link();
        link.file(&object).unwrap().export("f").unwrap();
        for option in options {
            link.lto_option(*option);
        }
        link.run(&shop.sysroot, &lockgate_toolchain::silent)
    };
    for options in [&[][..], &["-O2"], &["-flto", "-fno-lto"]] {
        let message = link(options).expect_err("it is refused").to_string();
        assert!(
            message.contains("evil.o") && message.contains("give -flto if you trust its author"),
            "{message}"
        );
        assert!(!shop.output().exists());
    }
    link(&["-O2", "-flto"]).unwrap();
    // Machine code beside it is linked as such.
    let fat = shop.gcc(&source, &["-O2", "-flto", "-ffat-lto-objects"]);
    let mut fat_link = shop.link();
    fat_link.file(&fat).unwrap().export("f").unwrap();
    fat_link.run(&shop.sysroot, &lockgate_toolchain::silent).unwrap();
}

/// More exports than a command line holds, in each kind of module.
#[test]
fn as_many_exports_as_there_are() {
    const COUNT: usize = 1_500;
    let shop = Workshop::new();
    let name = |number: usize| format!("f{number:01500}");
    let function = |name: String| format!(".globl {name}; .type {name},@function; {name}: ret\n");
    let source: String = (0..COUNT).map(|number| function(name(number))).collect();
    let object = shop.assemble(&source);
    let base = shop.folder.path().join("base.lg");
    for kind in ["plain", "base", "joins"] {
        let mut link = if kind == "base" { lockgate_toolchain::Link::new(&base) } else { shop.link() };
        link.file(&object).unwrap().export_all(true).base(kind == "base");
        if kind == "joins" {
            link.join(&base).unwrap();
        }
        link.run(&shop.sysroot, &lockgate_toolchain::silent)
            .unwrap_or_else(|error| panic!("{kind}: {error}"));
        let output = if kind == "base" { base.clone() } else { shop.output() };
        let module = Module::parse(&std::fs::read(output).unwrap()).unwrap();
        assert!(
            module.exports.iter().filter(|export| export.name.starts_with('f')).count() >= COUNT,
            "{kind}"
        );
    }
}

/// What a module says of itself, the linker writes: an input's notes would stand among them, and were blamed on the output.
#[test]
fn notes_of_inputs_are_refused() {
    for note in [
        "",
        ".long 9, 0xffffff, 2; .asciz \\\"Lockgate\\\"",
        ".long 9, 1, 2; .asciz \\\"Lockgate\\\"; .fill 3; .byte 102",
    ] {
        let shop = Workshop::new();
        let source = format!(
            "__asm__(\".pushsection .note.lockgate,\\\"a\\\",@note\\n {note}\\n .popsection\");\nint f(void) {{ return 1; }}"
        );
        let error = shop.link_source(&source, &["f"]).unwrap_err().to_string();
        assert!(error.contains("input.o: it has a section .note.lockgate"), "{error}");
        assert!(!shop.output().exists());
    }
    // Readers go by the owner: the section's name may be any, and its type. Half a note may be the beginning of another object's.
    let input_line = ".long 9, 3, 4; .asciz \\\"Lockgate\\\"; .balign 4; .ascii \\\"abc\\\"; .balign 4";
    for (section, note) in [
        (".note.foo,\\\"a\\\",@note", input_line),
        (".notes,\\\"a\\\",@note", input_line),
        (".note.foo,\\\"a\\\",@progbits", input_line),
        (".note.gnu.property,\\\"a\\\",@note\\n .balign 8", input_line),
        (".note.ABI-tag,\\\"a\\\",@note\\n .balign 4", ".long 4, 16, 1; .asciz \\\"GNU\\\"; .long 0"),
    ] {
        let shop = Workshop::new();
        let source = format!(
            "__asm__(\".pushsection {section}\\n {note}\\n .popsection\");\nint f(void) {{ return 1; }}"
        );
        let error = shop.link_source(&source, &["f"]).unwrap_err().to_string();
        assert!(error.contains("input.o: it has a section .note"), "{section}: {error}");
    }
}

/// Others on the machine neither read what is made on the way nor write what ld reads there.
#[test]
fn work_folders_are_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = lockgate_toolchain::work_folder().unwrap();
    assert_eq!(folder.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
}
