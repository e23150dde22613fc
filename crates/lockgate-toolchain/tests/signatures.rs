//! Signatures from debug information: what the notes say about functions that were exported by name.

use crate::common::Workshop;
use lockgate_toolchain::{CxxLibrary, Error, LinkOutcome, silent};

/// How people compile for debugging.
const FLAGS: &[&[&str]] = &[
    &["-g"],
    &["-g", "-O2"],
    &["-g", "-O2", "-gdwarf-4"],
    &["-g3", "-O2"],
    &["-g", "-O2", "-flto"],
    &["-g", "-O2", "-flto", "-ffat-lto-objects"],
    &["-g", "-Os", "-ffunction-sections", "-gz"],
];

/// Types that the functions below use.
const TYPES: &str = "
    #include <stdarg.h>
    #include <stdbool.h>
    #include <stddef.h>
    #include <stdint.h>
    #include <stdio.h>
    enum colour { RED, GREEN };
    enum sign { MINUS = -1, PLUS = 1 };
    enum wide { LOW, HIGH = 1L << 40 };
    enum __attribute__((packed)) small { TINY };
    typedef enum { ONE } unnamed;
    typedef struct point { int x; double y; } point_t;
    typedef const point_t fixed_point;
    struct deep { point_t at[2]; char name[3][4]; void (*f)(int); struct { short a, b; }; enum colour c; };
    typedef float vector3[3];
    struct vectors { vector3 v; bool ok; };
    struct list { struct list *next; fixed_point *p; };
    struct three { char a, b, c; };
    struct empty { };
    struct flexible { int n; char tail[]; };
    struct bits { int a : 3, b; };
    struct __attribute__((packed)) packed { char a; int b; };
    struct aligned { _Alignas(16) double a; double b; };
    struct long_double { long double a; };
    union either { int a; float b; };
    struct with_union { union either e; };
    typedef int lanes __attribute__((vector_size(16)));
    typedef int number; typedef number counter; typedef const counter limit;
    typedef void nothing; typedef int (*callback)(const char *, ...); typedef int plain(int);
    extern volatile int sink;
";

/// A definition of `f`, and what the notes say of it; nothing where the language of notes has no word for it.
const FUNCTIONS: &[(&str, Option<&str>)] = &[
    ("void f(void) { sink = 1; }", Some("void f(void)")),
    ("nothing f(short a, unsigned char b) { sink = a + b; }", Some("void f(short int, unsigned char)")),
    ("double f(float x, double y) { return x + y; }", Some("double f(float, double)")),
    ("bool f(bool x) { return !x; }", Some("_Bool f(_Bool)")),
    (
        "char f(signed char a, unsigned long long b) { return a + b; }",
        Some("char f(signed char, long long unsigned int)"),
    ),
    (
        "size_t f(uint8_t a, int64_t b, ptrdiff_t c) { return a + b + c; }",
        Some("size_t f(uint8_t, int64_t, ptrdiff_t)"),
    ),
    ("counter f(limit x, volatile number y) { return x + y; }", Some("int f(int, int)")),
    ("_Atomic int f(_Atomic long x) { return x; }", Some("int f(long int)")),
    (
        "const char *f(char *const a, const char **b, const void *c, void *restrict d) { return a + (b && c && d); }",
        Some("const char *f(char *, const char **, const void *, void *)"),
    ),
    (
        "FILE *f(FILE *a, struct list *b, unsigned *c) { return b && c ? a : 0; }",
        Some("FILE *f(FILE *, struct list *, unsigned int *)"),
    ),
    (
        "int f(fixed_point *p, struct unknown *q, long double *r) { return p->x + !q + !r; }",
        Some("int f(fixed_point *, struct unknown *, long double *)"),
    ),
    (
        "int f(char s[10], int m[][4], int n[3]) { return s[0] + m[1][2] + n[0]; }",
        Some("int f(char *, void *, int *)"),
    ),
    (
        "int f(callback g, plain h, plain *i) { return g(\"\") + h(1) + i(2); }",
        Some("int f(void *, plain *, plain *)"),
    ),
    (
        "int f(const char *s, va_list v) { return *s + va_arg(v, int); }",
        Some("int f(const char *, struct __va_list_tag *)"),
    ),
    (
        "int f(enum colour a, enum sign b, unnamed c) { return a + b + c; }",
        Some("int f(enum colour, enum sign, int)"),
    ),
    ("enum wide f(enum small a) { return a ? HIGH : LOW; }", Some("long unsigned int f(unsigned char)")),
    (
        "struct point f(point_t a, fixed_point b) { a.x += b.x; return a; }",
        Some("struct { int x; double y; } f(struct { int x; double y; }, struct { int x; double y; })"),
    ),
    (
        "int f(struct deep d) { return d.b; }",
        Some(
            "int f(struct { struct { int x; double y; } at[2]; char name[12]; void *f; \
             struct { short int a; short int b; } f3; enum colour c; })",
        ),
    ),
    (
        "float f(struct vectors x, struct list l) { return x.v[1] + !l.next; }",
        Some("float f(struct { float v[3]; _Bool ok; }, struct { struct list *next; fixed_point *p; })"),
    ),
    (
        "struct three f(struct three x) { x.a++; return x; }",
        Some("struct { char a; char b; char c; } f(struct { char a; char b; char c; })"),
    ),
    ("int f(int unused, float x) { return x; }", Some("int f(int, float)")),
    ("int f(int) __asm__(\"f\"); int f(int x) { return x; }", Some("int f(int)")),
    ("double g(double) __asm__(\"f\"); double g(double x) { return x; }", Some("double f(double)")),
    (
        "static int help(int x) { return x * sink; } int f(int x) { return help(x) + help(x + 1); }",
        Some("int f(int)"),
    ),
    ("int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }", Some("int f(int)")),
    // What the notes cannot say.
    ("int f() { return sink; }", None),
    ("int f(const char *s, ...) { return *s; }", None),
    ("int f(a, x) int a; float x; { return a + x; }", None),
    ("long double f(int x) { return x; }", None),
    ("int f(long double x) { return x; }", None),
    ("int f(__int128 x) { return x; }", None),
    ("float _Complex f(float x) { return x; }", None),
    ("int f(union either x) { return x.a; }", None),
    ("int f(struct with_union x) { return x.e.a; }", None),
    ("int f(struct long_double x) { return x.a; }", None),
    ("int f(struct bits x) { return x.a; }", None),
    ("int f(struct packed x) { return x.b; }", None),
    ("int f(struct aligned x) { return x.b; }", None),
    ("int f(struct empty x, int y) { return y; }", None),
    ("int f(struct flexible x) { return x.n; }", None),
    ("lanes f(lanes x) { return x; }", None),
    ("int g(int x) { return x; } double f(int) __attribute__((alias(\"g\")));", None),
    ("__asm__(\".globl f; .type f,@function; f: ret\"); int f(int);", None),
];

/// Links one source with `f` exported.
fn link(shop: &Workshop, sources: &[&str], flags: &[&str], export: &str) -> Result<LinkOutcome, Error> {
    let mut link = shop.link();
    for (number, source) in sources.iter().enumerate() {
        let path = shop.write(&format!("part{number}.c"), format!("{TYPES}{source}\n").as_bytes());
        link.file(&shop.gcc(&path, flags))?;
    }
    flags.iter().for_each(|flag| {
        link.lto_option(*flag);
    });
    link.export(export)?;
    link.run(&shop.sysroot, &silent)
}

/// What the module says about `f`.
fn noted(shop: &Workshop) -> Option<String> {
    shop.module().exports.into_iter().find(|export| export.name == "f").expect("f is exported").signature
}

const SINK: &str = "volatile int sink;";

#[test]
fn functions_are_noted_as_they_are() {
    let shop = Workshop::new();
    for (source, expected) in FUNCTIONS {
        for flags in [FLAGS[0], FLAGS[1]] {
            link(&shop, &[&format!("{source}\n{SINK}")], flags, "f")
                .unwrap_or_else(|error| panic!("{source}: {error}"));
            assert_eq!(noted(&shop).as_deref(), *expected, "{flags:?} {source}");
        }
    }
}

/// One object with many functions, under every set of flags.
#[test]
fn flags_make_no_difference() {
    let shop = Workshop::new();
    let mut source = TYPES.to_owned();
    let mut expected = Vec::new();
    for (number, (function, signature)) in FUNCTIONS.iter().enumerate() {
        // Each function under a name of its own.
        let rename = |text: &str| {
            let words = text.replace(" f(", &format!(" f{number}(")).replace("*f(", &format!("*f{number}("));
            words.replace("\"f\"", &format!("\"f{number}\"")).replace(" g(", &format!(" g{number}("))
        };
        let is_assembly = function.contains("__asm__(\".globl") || function.contains("help(");
        if !is_assembly && !function.contains("alias(") && !function.contains("callback g") {
            source += &format!("{}\n", rename(function));
            expected.push((format!("f{number}"), signature.map(rename)));
        }
    }
    let path = shop.write("all.c", source.as_bytes());
    let sink = shop.write("sink.c", SINK.as_bytes());
    for flags in FLAGS {
        let mut link = shop.link();
        link.file(&shop.gcc(&path, flags)).unwrap().file(&shop.gcc(&sink, flags)).unwrap();
        for flag in *flags {
            link.lto_option(*flag);
        }
        for (name, _) in &expected {
            link.export(name).unwrap();
        }
        link.run(&shop.sysroot, &silent).unwrap();
        let module = shop.module();
        for (name, signature) in &expected {
            let export = module.exports.iter().find(|export| export.name == *name).expect(name);
            assert_eq!(export.signature, *signature, "{flags:?}");
        }
    }
}

/// Without debug information there is a name, and with a prototype that agrees there is that.
#[test]
fn what_the_caller_gives() {
    let shop = Workshop::new();
    let source = "point_t f(enum colour c, const char *s) { return (point_t){c + *s}; }";
    let expanded = "struct { int x; double y; } f(enum colour, const char *)";
    let flags = &["-g", "-O2"][..];
    for (flags, export, expected) in [
        (&["-O2"][..], "f", None),
        (&["-O2"], "int f(int)", Some("int f(int)")),
        (flags, "f", Some(expanded)),
        (
            flags,
            "struct { int x; double y; } f(int, char *)",
            Some("struct { int x; double y; } f(int, char *)"),
        ),
        (
            flags,
            "struct p { int a; double b; } f(unsigned c, void *s)",
            Some("struct p { int a; double b; } f(unsigned c, void *s)"),
        ),
        // Names of types mean nothing outside the source.
        (flags, "point_t f(enum colour c, const char *s)", Some(expanded)),
        (flags, "struct point f(enum colour c, const char *s)", Some(expanded)),
    ] {
        link(&shop, &[source], flags, export).unwrap_or_else(|error| panic!("{export}: {error}"));
        assert_eq!(noted(&shop).as_deref(), expected, "{flags:?} {export}");
    }
}

/// A prototype that is wrong is refused, with both in the message.
#[test]
fn contradictions_are_errors() {
    let shop = Workshop::new();
    for (source, found, wrong) in [
        ("int f(int x, int y) { return x + y; }", "int f(int, int)", "int f(int)"),
        ("int f(int x) { return x; }", "int f(int)", "unsigned f(int)"),
        ("int f(int x) { return x; }", "int f(int)", "int f(long)"),
        ("double f(double x) { return x; }", "double f(double)", "double f(float)"),
        ("void f(char *x) { *x = 1; }", "void f(char *)", "int f(char *)"),
        ("int f(enum colour c) { return c; }", "int f(enum colour)", "int f(char)"),
        (
            "int f(point_t p) { return p.x; }",
            "int f(struct { int x; double y; })",
            "int f(struct { int x; float y; })",
        ),
    ] {
        let error = link(&shop, &[source], &["-g", "-O2"], wrong).expect_err(wrong);
        assert!(matches!(&error, Error::Contradiction { .. }), "{error}");
        let message = error.to_string();
        assert!(message.contains(found) && message.contains(wrong), "{message}");
        assert!(!shop.output().exists(), "a module was left behind");
    }
}

/// Other units that use, shadow or replace the function do not matter, as long as they agree.
#[test]
fn functions_of_many_units() {
    let shop = Workshop::new();
    let definition = "double f(double x, float y) { return x + y; }";
    let noted_as = Some("double f(double, float)");
    let cases: &[(&[&str], Option<&str>)] = &[
        (&[definition, "double f(double, float); double g(void) { return f(1, 2); }"], noted_as),
        // Declared wrongly elsewhere.
        (&[definition, "int f(int); int g(void) { return f(1); }"], noted_as),
        (
            &["static int f(int x) { return x * sink; } int g(int x) { return f(x); }", definition, SINK],
            noted_as,
        ),
        (&["__attribute__((weak)) double f(double a, float b) { return a - b; }", definition], noted_as),
        // Which one would it be?
        (&["__attribute__((weak)) int f(int x) { return x; }", definition], None),
        (&[definition, "__attribute__((weak)) int f(int x) { return x; }"], None),
    ];
    for (sources, expected) in cases {
        link(&shop, sources, &["-g", "-O2"], "f").unwrap_or_else(|error| panic!("{sources:?}: {error}"));
        assert_eq!(noted(&shop).as_deref(), *expected, "{sources:?}");
    }
    // An archive's member, and a function that only part of the definitions know.
    let path = shop.write("member.c", format!("{TYPES}{definition}").as_bytes());
    let object = shop.gcc(&path, &["-g"]);
    let archive = shop.folder.path().join("libm.a");
    let ar = std::process::Command::new("ar").arg("rcs").arg(&archive).arg(&object).status().unwrap();
    assert!(ar.success());
    let mut link = shop.link();
    link.file(&archive).unwrap().export("f").unwrap();
    link.run(&shop.sysroot, &silent).unwrap();
    assert_eq!(noted(&shop).as_deref(), noted_as);
    let weak = shop.write("weak.c", b"__attribute__((weak)) double f(double a, float b) { return a - b; }");
    let mut link = shop.link();
    link.file(&object).unwrap().file(&shop.gcc(&weak, &[])).unwrap().export("f").unwrap();
    link.run(&shop.sysroot, &silent).unwrap();
    assert_eq!(noted(&shop), None);
}

/// Definitions in C++ may lie in namespaces and apart from their declarations. gcc does not say of a class how it is passed.
#[test]
fn functions_in_cxx() {
    const TYPES: &str = "
        struct point { int x; double y; };
        struct further : point { int z; };
        struct copied { copied(const copied &); int x; };
        struct counted { int x; int count() const { return x; } };
        struct till { int count(int) __asm__(\"f\"); int sum; virtual ~till(); };
        enum class colour : unsigned char { red };
        enum class size { small };
    ";
    let shop = Workshop::new();
    for (source, expected) in [
        ("extern \"C\" int f(int x) { return x; }", Some("int f(int)")),
        ("namespace a { namespace b { extern \"C\" int f(int x) { return x; } } }", Some("int f(int)")),
        (
            "extern \"C\" bool f(bool x, const char *s, unsigned long n) { return x && s[n]; }",
            Some("bool f(bool, const char *, long unsigned int)"),
        ),
        (
            "extern \"C\" int f(colour c, size s) { return int(c) + int(s); }",
            Some("int f(unsigned char, enum size)"),
        ),
        (
            "extern \"C\" int &f(copied &c, const point &p, int &&n) { return c.x += p.x + n; }",
            Some("int *f(struct copied *, const struct point *, int *)"),
        ),
        ("int till::count(int n) { return sum += n; } till::~till() {}", Some("int f(struct till *, int)")),
        ("namespace a { int g(int) __asm__(\"f\"); } int a::g(int x) { return x; }", Some("int f(int)")),
        ("extern \"C\" point f(point p) { return p; }", None),
        ("extern \"C\" int f(copied c) { return c.x; }", None),
        ("extern \"C\" int f(further x) { return x.z; }", None),
        ("extern \"C\" int f(counted x) { return x.count(); }", None),
        ("extern \"C\" int f(int copied::*member) { return member != nullptr; }", None),
        ("extern \"C\" int f(const char *s, ...) { return *s; }", None),
    ] {
        for flags in [&["-g"][..], &["-g", "-O2", "-gz"]] {
            let path = shop.write("f.cc", format!("{TYPES}{source}\n").as_bytes());
            let mut link = shop.link();
            link.cxx(Some(CxxLibrary::default())).file(&shop.gcc(&path, flags)).unwrap().export("f").unwrap();
            link.run(&shop.sysroot, &silent).unwrap_or_else(|error| panic!("{source}: {error}"));
            assert_eq!(noted(&shop).as_deref(), expected, "{flags:?} {source}");
        }
    }
}

/// What an object's sections claim to hold is memory only in proportion to the object: compressed zeros would be gigabytes.
#[test]
fn compressed_sections_hold_little() {
    let shop = Workshop::new();
    let zeros = "__asm__(\".pushsection .debug_str,\\\"MS\\\",@progbits,1\\n.zero 8 << 20\\n.popsection\");";
    let source = format!("{zeros}\nint f(int x) {{ return x; }}");
    for (flags, expected) in [(&["-g"][..], Some("int f(int)")), (&["-g", "-gz"], None)] {
        link(&shop, &[&source], flags, "f").unwrap();
        assert_eq!(noted(&shop).as_deref(), expected, "{flags:?}");
    }
}

/// Other languages pass some things differently, and type units are not read: no word is better than a wrong one.
#[test]
fn only_what_can_be_relied_upon() {
    let shop = Workshop::new();
    for (name, source, flags) in [
        ("f.s", ".globl f; .type f,@function; f: ret; .size f,.-f", &["-g"][..]),
        ("f.c", "struct s { int x; }; int f(struct s s) { return s.x; }", &["-g", "-fdebug-types-section"]),
        ("f.c", "int f(int x) { return x; }", &["-g", "-gsplit-dwarf"]),
        ("f.c", "int f(int x) { return x; }", &["-g1"]),
        ("f.cc", "extern \"C\" int f(int x) { return x; }", &["-g1"]),
        ("f.cc", "struct s { int x; }; extern \"C\" int f(s x) { return x.x; }", &["-g", "-gdwarf-4"]),
    ] {
        let path = shop.write(name, format!("{source}\n").as_bytes());
        let mut link = shop.link();
        link.file(&shop.gcc(&path, flags)).unwrap().export("f").unwrap();
        link.run(&shop.sysroot, &silent).unwrap();
        assert_eq!(noted(&shop), None, "{source} {flags:?}");
    }
}
