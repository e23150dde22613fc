//! What is refused because it would do nothing, has no end, or may be taken for success: read and planned, nothing is written.

use lockgate_stubs::Client;
use lockgate_stubs::header::Source;
use std::path::Path;

/// What an annotation does not do, what has no end and what may be taken for success is refused, each with a remedy.
#[test]
fn what_would_do_nothing_is_refused() {
    const DEAD: &str = "what it returns when the library fails is not said";
    // The header, and what the message names (nothing: it is good).
    let cases: &[(&str, &str)] = &[
        // Text in an array without elements has no last byte, wherever that is said, and however deep it lies.
        (
            "struct r { int n; char t[0]; };\nLG_FIELD(struct r, t, LG_STRING);\nint f(struct r *r LG_OUT);",
            "there is no last byte",
        ),
        (
            "struct r { char t[0]; int n; };\nLG_FIELD(struct r, t, LG_STRING);\nint f(struct r *r LG_OUT);",
            "there is no last byte",
        ),
        (
            "struct r { int n; char t[0][4]; };\nLG_FIELD(struct r, t, LG_STRING);\nint f(struct r *r LG_OUT);",
            "there is no last byte",
        ),
        (
            "struct r { int n; char t[4][0]; };\nLG_FIELD(struct r, t, LG_STRING);\nint f(struct r *r LG_OUT);",
            "there is no last byte",
        ),
        (
            "struct i { char t[0] LG_STRING; };\nstruct r { int n; struct i i[2]; };\nconst struct r *g(void) LG_SIZE(1);\nint f(void);",
            "there is no last byte",
        ),
        (
            "typedef char name_t[0];\nLG_TYPE(name_t, LG_STRING);\nstruct r { int n; name_t t; };\nint f(struct r *r LG_OUT);",
            "there is no last byte",
        ),
        ("struct r { int n; char t[0] LG_BYTES; };\nint f(struct r *r LG_OUT);", ""),
        (
            "struct r { int n; char t[]; };\nint f(struct r *r LG_OUT);",
            "field t: what lies behind the structure",
        ),
        (
            "struct r { int n; char t[] LG_IN LG_SIZE(n); };\nint f(struct r *r LG_IN);",
            "field t: what lies behind the structure",
        ),
        (
            "struct r { int n; char t[] LG_STRING; };\nint f(struct r *r LG_IN);",
            "field t: what lies behind the structure",
        ),
        (
            "typedef char tail_t[];\nstruct r { int n; tail_t t LG_IGNORE; };\nint f(struct r *r LG_IN);",
            "field t: what lies behind the structure",
        ),
        // Zero is success to who asks for a status; nothing, to who counts.
        ("int f(void);\nunsigned get_status(void);", DEAD),
        ("int f(void);\ntypedef unsigned long CK_RV;\nCK_RV C_VerifyFinal(int n);", DEAD),
        ("int f(void);\n#include <stdint.h>\nuint32_t gss_verify_mic(int n);", DEAD),
        ("int f(void);\nunsigned char z_try(void);", DEAD),
        ("int f(void);\nsize_t verify(int n);", DEAD),
        ("int f(void);\nsize_t last_error(int n);", DEAD),
        ("int f(void);\nunsigned set_size(int n);", DEAD),
        ("int f(void);\nunsigned check_count(int n);", DEAD),
        ("int f(void);\nunsigned get_status(void) LG_ERROR(1);", ""),
        ("int f(void);\nLG_ERRORS(unsigned int, 0);\nunsigned get_status(void);", "tells how a call went"),
        (
            "int f(void);\nunsigned item_count(void);\ntypedef unsigned long z_size;\nz_size z_numItems(void);\nsize_t sizeof_z(int n);",
            "",
        ),
        // A size_t counts by its function's name only: what does something may return a code that is one.
        ("int f(void);\nsize_t z_read(int n);", DEAD),
        ("int f(void);\nsize_t z_set_size(int n);", DEAD),
        ("int f(void);\nsize_t z_setSize(int n);", DEAD),
        ("int f(void);\nsize_t z_reset(int n);", DEAD),
        ("int f(void);\nsize_t z_decompress(int n);", DEAD),
        ("int f(void);\nsize_t ZSTD_CCtx_setParameter(int n);", DEAD),
        ("int f(void);\nsize_t ZSTD_freeCCtx(int n);", DEAD),
        ("int f(void);\ntypedef unsigned long z_size;\nz_size z_there(void);", DEAD),
        ("int f(void);\nsize_t z_error_count(void);", DEAD),
        ("int f(void);\nLG_ERRORS(size_t, -1);\nsize_t z_reset(int n);", ""),
        // What is said does something there.
        (
            "struct r { int n; char *t; };\nLG_FIELD(struct r, t, LG_INOUT LG_SIZE(n) LG_STRING);\nint f(struct r *r LG_INOUT);",
            "LG_STRING and LG_SIZE on a field",
        ),
        (
            "struct r { int n; char *t; };\nLG_FIELD(struct r, t, LG_OUT LG_SIZE(n) LG_STRING LG_BORROWED LG_WRITTEN(n));\nint f(struct r *r LG_INOUT);",
            "LG_STRING and LG_SIZE on a field",
        ),
        (
            "int f(int (*c)(char *t LG_INOUT LG_STRING LG_SIZE(n), int n, void *d), void *d);",
            "LG_STRING has no effect",
        ),
        (
            "int f(int (*c)(const char *t LG_STRING LG_SIZE(n), int n, void *d), void *d);",
            "LG_STRING has no effect",
        ),
        ("int f(const char *t LG_IN LG_STRING LG_SIZE(n), int n);", "LG_STRING has no effect"),
        ("const char *g(int n) LG_STRING LG_SIZE(n);\nint f(void);", "LG_STRING has no effect"),
        ("int f(const char *t LG_IN LG_KEPT LG_SIZE(n), int n);", "LG_KEPT has no effect"),
        ("int f(const char *t LG_STRING LG_KEPT);", "LG_KEPT has no effect"),
        ("int f(const int *t LG_IN LG_KEPT);", "LG_KEPT has no effect"),
        ("struct h;\nint f(struct h *h LG_KEPT);", "LG_KEPT has no effect"),
        (
            "typedef const char *name_t;\nLG_TYPE(name_t, LG_KEPT);\nint f(name_t t LG_STRING);",
            "LG_KEPT has no effect",
        ),
        ("int f(const char *t LG_STRING LG_RELEASE);", "LG_RELEASE has no effect"),
        ("struct r { int n; };\nint f(struct r *r LG_IN LG_RELEASE);", "LG_RELEASE has no effect"),
        ("int f(const char *t LG_STRING LG_ZEROS);", "LG_ZEROS has no effect"),
        ("int f(void *t LG_IGNORE LG_IN LG_SIZE(4));", "LG_IN, LG_OUT or LG_INOUT has no effect"),
        (
            "int f(unsigned char **t LG_INOUT LG_ROWS(3) LG_SIZE(4) LG_WRITTEN(2));",
            "LG_WRITTEN has no effect",
        ),
        (
            "struct r { long n; };\nconst struct r *g(int count) LG_UNTIL(n) LG_SIZE(count);\nint f(void);",
            "LG_SIZE has no effect",
        ),
        (
            "union u { char t[8]; int n; };\nint f(union u *u LG_OUT);",
            "union u, field t: it may be text, or bytes",
        ),
        (
            "union u { char t[8] LG_STRING; int n; };\nint f(union u *u LG_OUT);",
            "text with an end (LG_STRING) among them",
        ),
        ("union u { char t[8] LG_BYTES; int n; };\nint f(union u *u LG_OUT);", ""),
        // A pointer in an integer would be the library's to change.
        (
            "#include <stdint.h>\nint f(int (*c)(uintptr_t user, int n), uintptr_t user);",
            "may be a pointer in an integer",
        ),
        ("#include <stdint.h>\nint f(int (*c)(intptr_t user));", "may be a pointer in an integer"),
        (
            "#include <stdint.h>\nstruct h;\nint f(struct h *h, uintptr_t user);",
            "may be a pointer in an integer",
        ),
        (
            "#include <stdint.h>\nstruct h;\nint f(void);\nuintptr_t g(struct h *h) LG_ERROR(0);",
            "may be a pointer in an integer",
        ),
        ("#include <stdint.h>\nint f(uintptr_t *to LG_OUT);", "may be a pointer in an integer"),
        (
            "#include <stdint.h>\ntypedef uintptr_t user_t;\nstruct r { int n; user_t user; };\nint f(struct r *r LG_OUT);",
            "may be a pointer in an integer",
        ),
        ("#include <stdint.h>\nint f(uintptr_t mask LG_NUMBER, intptr_t *to LG_OUT LG_NUMBER);", ""),
        (
            "#include <stdint.h>\nLG_TYPE(uintptr_t, LG_NUMBER);\nint f(int (*c)(uintptr_t n), uintptr_t n);",
            "",
        ),
        ("int f(int n LG_NUMBER);", "LG_NUMBER says nothing of"),
        // Arguments are where the platform says.
        ("int f(int (__attribute__((ms_abi)) *c)(int a, int b));", "another calling convention"),
        ("int f(int n) __attribute__((ms_abi));", "another calling convention"),
        (
            "typedef int (__attribute__((ms_abi)) *cb)(int a);\nstruct r { cb c; };\nint f(const struct r *r LG_IN);",
            "another calling convention",
        ),
        ("int f(int (__attribute__((sysv_abi)) *c)(int a, int b));", ""),
        // One thing is said once.
        ("int f(char *p LG_IN LG_SIZE(4) LG_SIZE(8));", "LG_SIZE is said twice"),
        ("int f(char *p LG_IN LG_SIZE(4));\nint f(char *p LG_IN LG_SIZE(8));", "LG_SIZE is said twice"),
        ("int f(char *p LG_IN LG_SIZE(4));\nint f(char *p LG_IN LG_SIZE(4));", ""),
        ("int f(void) LG_ERROR(-1);\nint f(void) LG_ERROR(-2);", "LG_ERROR is said twice"),
        ("LG_ERRORS(int, 3);\nint f(void);", "LG_ERRORS(int) is said twice"),
        (
            "struct s { char t[4]; };\nLG_FIELD(struct s, t, LG_STRING);\nLG_FIELD(struct s, t, LG_BYTES);\nint f(struct s *p LG_OUT);",
            "contradicts",
        ),
        // Names of the client's own.
        ("int f(int lgs);", "names like lgs"),
        ("int lgs(int x);", "names like lgs"),
        ("typedef int lgs_wide;\nint f(lgs_wide x);", "names like lgs_wide"),
        ("struct lgs_call { int x; };\nint f(struct lgs_call *p LG_IN);", "names like lgs_call"),
        ("int f(int x) __asm__(\"real_f\");", "another name in objects"),
        // A failure is a value of the result's type.
        ("int f(void) LG_ERROR(\"x\");", "a string is no `int`"),
        ("int f(void) LG_ERROR(0x100000000);", "a `int` does not hold it"),
        ("int f(void);\nunsigned char g(void) LG_ERROR(256);", "a `unsigned char` does not hold it"),
        ("#define FAR 70000\nint f(void);\nshort g(void) LG_ERROR(FAR);", "a `short` does not hold it"),
        ("int f(void);\nsize_t g(void) LG_ERROR(-1);\nconst char *h(void) LG_STRING LG_ERROR(\"x\");", ""),
        ("int f(void);\nstruct r { int a, b; };\nstruct r g(void) LG_ERROR({.a = -1});", ""),
        ("int f(void);\nint g(void) LG_ERROR(.a = -1);", "no constant"),
    ];
    let mut wrong = Vec::new();
    for (header, message) in cases {
        let begin = "#include <lockgate/annotations.h>\n#include <stddef.h>\nLG_DOMAIN(\"api\");\nLG_ERRORS(int, -1);\n";
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("api.h");
        std::fs::write(&path, format!("{begin}{header}\n")).expect("a file");
        let source =
            Source { header: path, annotations: Vec::new(), includes: Vec::new(), defines: Vec::new() };
        let (good, said) = match Client::of(&source, Path::new("api.lg")) {
            Ok(client) => (client.plan.refusals.is_empty(), client.explain()),
            Err(error) => (false, error.to_string()),
        };
        if good != message.is_empty() || !said.contains(message) {
            wrong.push(format!("{header}\n  good: {good}; {said}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
