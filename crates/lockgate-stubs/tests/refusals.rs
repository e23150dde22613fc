//! What is refused because it would do nothing, has no end, or may be taken for success: read and planned, nothing is written.

use lockgate_stubs::Client;
use lockgate_stubs::header::Source;
use lockgate_stubs::header::model::Prototype;
use std::path::Path;

/// What an annotation does not do, what has no end and what may be taken for success is refused, each with a remedy.
#[test]
fn what_would_do_nothing_is_refused() {
    const DEAD: &str = "no annotation says what the stub returns when the library fails";
    // The header, and what the message names (nothing: it is good).
    let cases: &[(&str, &str)] = &[
        // A pointer by which functions of all types are passed.
        ("int f(void (*g)(void));", "may be the type of a function without parameters"),
        ("int f(void (*g)(void) LG_CALLBACK);", ""),
        ("typedef void any(void);\nint f(any *g);", "may be the type of a function without parameters"),
        (
            "typedef void (*any)(void);\nany f(int n);\nint g(int n);",
            "may be the type of a function without parameters",
        ),
        ("typedef void (*done)(void);\nLG_TYPE(done, LG_CALLBACK);\nint f(done g);", ""),
        (
            "struct r { int n; void (*g)(void); };\nint f(const struct r *r LG_IN);",
            "may be the type of a function without parameters",
        ),
        (
            "int f(void (*g)(void (*h)(void), void *d), void *d);",
            "may be the type of a function without parameters",
        ),
        ("int f(int (*g)(void));", ""),
        // By value and behind a pointer.
        (
            "struct i { int n; };\nstruct s { struct i all[2]; };\nint f(struct s s);",
            "an array of pointers, structures or arrays",
        ),
        (
            "struct s { int all[2][2]; };\nint f(const struct s *s LG_IN);",
            "an array of pointers, structures or arrays",
        ),
        ("struct i { int n[2]; };\nstruct s { struct i one; };\nint f(struct s s);", ""),
        // A function of the program's sets the program's errno.
        (
            "typedef int (*cb)(int n) LG_ERRNO;\nint f(cb g);",
            "LG_ERRNO: a function of the program's does not set the errno",
        ),
        // A handle that lives on may have the stream, too.
        ("#include <stdio.h>\nstruct h;\nint f(struct h *h, FILE *s);", "a FILE beside a handle"),
        (
            "#include <stdio.h>\nstruct h;\nstruct h *f(FILE *s);\nint g(struct h *h);",
            "a FILE beside a handle",
        ),
        (
            "#include <stdio.h>\nstruct h;\nstruct h *f(FILE *s LG_FOR_CALL);\nint g(struct h *h, FILE *s LG_KEPT);",
            "",
        ),
        ("#include <stdio.h>\nstruct h;\nint f(struct h *h LG_RELEASE, FILE *s);", ""),
        ("#include <stdio.h>\nint f(FILE *s LG_FOR_CALL);", "LG_FOR_CALL, but no handle"),
        // An array without elements is what GNU C calls that without a length, wherever it stands, and however deep.
        (
            "struct r { int n; char t[0]; };\nint f(struct r *r LG_OUT);",
            "field t: only its author knows how much lies",
        ),
        (
            "struct r { int n; int v[0]; };\nint f(struct r *r LG_IN);",
            "field v: only its author knows how much lies",
        ),
        ("struct r { int n; int v[0][4]; };\nint f(struct r *r LG_IN);", "field v: only its author knows"),
        ("struct r { int n; int v[4][0]; };\nint f(struct r *r LG_IN);", "field v: only its author knows"),
        ("struct r { double v[0]; int n; };\nint f(struct r r);", "field v: only its author knows"),
        (
            "struct r { int n; char t[0]; };\nLG_FIELD(struct r, t, LG_BYTES);\nint f(struct r *r LG_OUT);",
            "field t: only its author knows how much lies",
        ),
        (
            "struct i { int n; int v[0]; };\nunion r { struct i i[2]; int n; };\nint f(union r *r LG_IN);",
            "struct i, field v: only its author knows how much lies",
        ),
        (
            "struct r { int n; struct { int m; int v[0]; }; };\nint f(struct r *r LG_IN);",
            "field v: only its author knows how much lies",
        ),
        (
            "typedef char name_t[0];\nLG_TYPE(name_t, LG_STRING);\nstruct r { int n; name_t t; };\nint f(struct r *r LG_OUT);",
            "field t: only its author knows how much lies",
        ),
        (
            "struct r { int n; char t[]; };\nint f(struct r *r LG_OUT);",
            "field t: only its author knows how much lies",
        ),
        (
            "struct r { int n; char t[] LG_IN LG_SIZE(n); };\nint f(struct r *r LG_IN);",
            "field t: only its author knows how much lies",
        ),
        (
            "struct r { int n; char t[] LG_STRING; };\nint f(struct r *r LG_IN);",
            "field t: only its author knows how much lies",
        ),
        (
            "typedef char tail_t[];\nstruct r { int n; tail_t t LG_IGNORE; };\nint f(struct r *r LG_IN);",
            "field t: only its author knows how much lies",
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
            "int f(void);\n#define NONE (0x0)\nLG_ERRORS(unsigned int, NONE);\nunsigned get_status(void);",
            "tells how a call went",
        ),
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
        // Memory that the library can change at any time is passed in place if nothing is concluded from it.
        ("int f(void);\nvoid g(const char *b LG_IN LG_SIZE(n) LG_SHARED, int n);", ""),
        ("int f(char *t LG_INOUT LG_STRING LG_SIZE(n) LG_SHARED, int n);", "LG_SHARED contradicts LG_STRING"),
        ("int f(int *n LG_OUT LG_SHARED);", "LG_SHARED says nothing of a parameter"),
        ("int f(const char *t LG_STRING LG_SHARED);", "LG_SHARED"),
        ("struct h;\nint f(struct h *h LG_SHARED);", "LG_SHARED says nothing of a parameter"),
        ("int f(int n LG_SHARED);", "LG_SHARED says nothing of a parameter"),
        ("const char *g(int n) LG_SIZE(n) LG_SHARED;\nint f(void);", "LG_SHARED says nothing of a result"),
        (
            "struct r { int n; char *b LG_IN LG_SIZE(n) LG_SHARED; };\nint f(struct r *r LG_IN);",
            "LG_SHARED says nothing of a field",
        ),
        (
            "int f(int (*c)(char *b LG_INOUT LG_SIZE(n) LG_SHARED, int n, void *d), void *d);",
            "LG_SHARED says nothing of a callback",
        ),
        (
            "struct r { int n; };\nint f(struct r *r LG_INOUT LG_SIZE(n) LG_SHARED, int n);",
            "LG_SHARED has no effect",
        ),
        ("int f(char **rows LG_INOUT LG_ROWS(n) LG_SIZE(8) LG_SHARED, int n);", "LG_SHARED has no effect"),
        ("#include <stdbool.h>\nint f(bool *b LG_INOUT LG_SIZE(n) LG_SHARED, int n);", "a bool in memory"),
        (
            "int f(const int *n LG_IN LG_SIZE(1) LG_SHARED, char *b LG_OUT LG_SIZE(*n) LG_WRITTEN(*n));",
            "LG_SHARED, but what the annotations of b say depends on it",
        ),
        (
            "int f(void);\nconst char *g(const int *n LG_IN LG_SIZE(1) LG_SHARED) LG_SIZE(*n);",
            "LG_SHARED, but what the function's own annotations say",
        ),
        ("int f(const int *t LG_IN LG_KEPT);", "LG_KEPT has no effect"),
        ("struct h;\nint f(struct h *h LG_KEPT);", "LG_KEPT has no effect"),
        (
            "typedef const char *name_t;\nLG_TYPE(name_t, LG_KEPT);\nint f(name_t t LG_STRING);",
            "LG_KEPT has no effect",
        ),
        ("int f(const char *t LG_STRING LG_RELEASE);", "LG_RELEASE has no effect"),
        (
            "struct h;\nint g(void);\n_Bool f(struct h *h LG_RELEASE) LG_ERROR(1);",
            "`true` would say that it has not",
        ),
        ("struct h;\nint g(void);\n_Bool f(struct h *h LG_RELEASE) LG_ERROR(0);", ""),
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
            "one is a bool or text with an end (LG_STRING)",
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
        // A pointer that the library moves on through a buffer, and the number that says how much of that is left.
        ("int f(const char **in LG_IN LG_CURSOR LG_SIZE(*n), size_t *n LG_INOUT);", ""),
        ("int f(double **out LG_OUT LG_CURSOR LG_SIZE(*n), int *n LG_INOUT);", ""),
        ("int f(const char **in LG_IN LG_CURSOR LG_SIZE(n), size_t n);", "LG_CURSOR, but no number that"),
        (
            "int f(const char **in LG_IN LG_CURSOR LG_SIZE(*n), size_t *n LG_OUT);",
            "LG_CURSOR, but no number that",
        ),
        (
            "int f(const char **in LG_IN LG_CURSOR LG_SIZE(*n), size_t *n LG_IN);",
            "LG_CURSOR, but no number that",
        ),
        (
            "int f(char **io LG_INOUT LG_CURSOR LG_SIZE(*n), size_t *n LG_INOUT);",
            "either reads the buffer or writes it",
        ),
        (
            "int f(const char **out LG_OUT LG_CURSOR LG_SIZE(*n), size_t *n LG_INOUT);",
            "either reads the buffer or",
        ),
        (
            "int f(_Bool **out LG_OUT LG_CURSOR LG_SIZE(*n), size_t *n LG_INOUT);",
            "something else than numbers",
        ),
        ("int f(char *in LG_IN LG_CURSOR LG_SIZE(*n), size_t *n LG_INOUT);", "LG_CURSOR says nothing of"),
        // Arguments are where the platform says.
        ("int f(int (__attribute__((ms_abi)) *c)(int a, int b));", "another calling convention"),
        ("int f(int n) __attribute__((ms_abi));", "another calling convention"),
        (
            "typedef int (__attribute__((ms_abi)) *cb)(int a);\nstruct r { cb c; };\nint f(const struct r *r LG_IN);",
            "another calling convention",
        ),
        ("int f(int (__attribute__((sysv_abi)) *c)(int a, int b));", ""),
        // One thing is said once.
        ("int f(char *p LG_IN LG_SIZE(4) LG_SIZE(8));", "LG_SIZE is given twice"),
        ("int f(char *p LG_IN LG_SIZE(4));\nint f(char *p LG_IN LG_SIZE(8));", "LG_SIZE is given twice"),
        ("int f(char *p LG_IN LG_SIZE(4));\nint f(char *p LG_IN LG_SIZE(4));", ""),
        ("int f(void) LG_ERROR(-1);\nint f(void) LG_ERROR(-2);", "LG_ERROR is given twice"),
        ("LG_ERRORS(int, 3);\nint f(void);", "LG_ERRORS(int) is given twice"),
        ("int f(char *p LG_IN LG_INOUT LG_SIZE(4));", "LG_INOUT contradicts LG_IN"),
        ("int f(char *p LG_INOUT LG_SIZE(4));\nint f(char *p LG_IN);", "LG_IN contradicts LG_INOUT"),
        (
            "char *f(char *a LG_STRING, char *b LG_STRING) LG_WITHIN(a) LG_WITHIN(b);",
            "LG_WITHIN is given twice",
        ),
        (
            "char *f(char *a LG_STRING, char *b LG_STRING) LG_WITHIN(a);\nchar *f(char *a, char *b) LG_WITHIN(b);",
            "LG_WITHIN is given twice",
        ),
        (
            "void a(void *p LG_INSIDE);\nvoid b(void *p LG_INSIDE);\nvoid *f(void) LG_SIZE(1) LG_FREED(a) LG_FREED(b);",
            "LG_FREED is given twice",
        ),
        (
            "typedef char *text_t;\nint f(text_t t LG_IN);\nLG_TYPE(text_t, LG_SIZE(4));\nLG_TYPE(text_t, LG_SIZE(8));",
            "text_t: LG_SIZE is given twice",
        ),
        (
            "typedef void (*cb)(const char *p LG_SIZE(4));\ntypedef void (*cb)(const char *p LG_SIZE(8));\nint f(cb c);",
            "p: LG_SIZE is given twice",
        ),
        (
            "struct s { void (*c)(const char *p LG_SIZE(4)); };\nLG_FIELD_CALLBACK(struct s, c, (const char *p LG_SIZE(8)));\n\
             int f(const struct s *s LG_IN);",
            "p: LG_SIZE is given twice",
        ),
        (
            "struct s { char t[4]; };\nLG_FIELD(struct s, t, LG_STRING);\nLG_FIELD(struct s, t, LG_BYTES);\nint f(struct s *p LG_OUT);",
            "contradicts",
        ),
        // Names of the client's own.
        ("int f(int lgs);", "lgs is Lockgate's own name"),
        ("int lgs(int x);", "lgs is Lockgate's own name"),
        ("typedef int lgs_wide;\nint f(lgs_wide x);", "lgs_wide is Lockgate's own name"),
        ("struct lgs_call { int x; };\nint f(struct lgs_call *p LG_IN);", "lgs_call is Lockgate's own name"),
        ("int f(int x) __asm__(\"real_f\");", "another name in objects"),
        // Members of structures and unions without a name are members, with what is said of them.
        (
            "struct r { int k; struct { char *p; int n; }; };\nint f(struct r *r LG_OUT);",
            "struct r, field p: it may be a string",
        ),
        (
            "struct r { int k; struct { struct { void *p; }; int n; }; };\nint f(const struct r *r LG_IN);",
            "struct r, field p",
        ),
        (
            "struct r { int k; union { char *p; long n; }; };\nLG_FIELD(struct r, p, LG_STRING LG_BORROWED);\nint f(const struct r *r LG_IN);",
            "is in use, and some fields are pointers",
        ),
        (
            "struct r { const char *name LG_STRING; union { struct { int a; char *p; }; long n; }; };\nint f(const struct r *r LG_IN);",
            "is in use, and some fields are pointers",
        ),
        (
            "union r { long n; struct { int a; char *p; }; };\nint f(union r *r LG_IN);",
            "some fields are pointers",
        ),
        (
            "struct r { int k; union { _Bool b; int n; }; };\nint f(struct r *r LG_OUT);",
            "one is a bool or text",
        ),
        (
            "struct r { int k; union { char t[4] LG_STRING; int n; }; };\nint f(struct r *r LG_OUT);",
            "one is a bool or text",
        ),
        (
            "struct r { int k; struct { char t[4]; }; };\nint f(struct r *r LG_OUT);",
            "struct r, field t: it may be text",
        ),
        (
            "struct r { int k; struct { char *p; int n : 3; }; };\nint f(struct r *r LG_IN);",
            "has bit-fields beside pointers",
        ),
        (
            "struct r { int k; struct { int z; }; };\nstatic inline int z(struct r *r) { return r->z; }\nint f(struct r *r LG_OPAQUE);",
            "reads `z` of a `struct r`",
        ),
        (
            "struct r { int k; struct { const char *p; int z; }; union { int a; float b; }; };\nLG_FIELD(struct r, p, LG_STRING LG_BORROWED);\nint f(const struct r *r LG_IN);\nint g(struct r *r LG_OUT);",
            "",
        ),
        // What crosses by value lies where its prototype says.
        (
            "struct __attribute__((packed)) t { char a; double b; };\nint f(struct t t);",
            "it lies at 1, not at 8",
        ),
        (
            "struct __attribute__((packed)) t { float a; char b; };\nint f(struct t t);",
            "5 bytes and is aligned to 1",
        ),
        (
            "struct __attribute__((packed)) t { int a; int b; };\nint f(struct t t);",
            "8 bytes and is aligned to 1, not 8 and 4",
        ),
        (
            "#pragma pack(push, 4)\nstruct t { int a; double b; };\n#pragma pack(pop)\nint f(void);\nstruct t g(void) LG_ERROR({0});",
            "it lies at 4, not at 8",
        ),
        (
            "struct __attribute__((aligned(16))) t { long a, b; };\nint f(struct t t);",
            "is aligned to 16, not 16 and 8",
        ),
        (
            "struct t { char a; char b __attribute__((aligned(8))); };\nint f(int (*c)(struct t t, void *d), void *d);",
            "it lies at 8, not at 1",
        ),
        (
            "typedef int far_t __attribute__((aligned(16)));\nstruct t { int a; far_t b; };\nint f(struct t t);",
            "it lies at 16, not at 4",
        ),
        (
            "struct __attribute__((packed)) i { char a; int b; };\nstruct t { struct i i; short s; };\nint f(struct t t LG_IGNORE);",
            "it lies at 1, not at 4",
        ),
        (
            "struct t { struct { double d; char c; }; char e; };\nint f(struct t t);",
            "it lies at 16, not at 9",
        ),
        (
            "struct t { struct { int a; float b; }; char c; };\nint f(struct t t);\nstruct t g(void) LG_ERROR({.a = -1});",
            "",
        ),
        // What a client could not say when it starts, no stub asks for.
        ("union t { long a; double b; };\nint f(union t t);", "it cannot be passed by value"),
        ("typedef union { long a; double b; } tt;\nint f(tt t);", "it cannot be passed by value"),
        ("typedef union { long a; double b; } time_t;\nint f(time_t t);", "it cannot be passed by value"),
        (
            "struct t { int k; union { int a; float b; }; };\nint f(struct t t);",
            "it cannot be passed by value",
        ),
        (
            "union u { long a; double b; };\nstruct t { union u u; float f; };\nunion u g(void) LG_ERROR({0});\nint f(struct t t);",
            "it cannot be passed by value",
        ),
        ("struct t { int a : 3; unsigned b : 5; };\nint f(struct t t);", "it cannot be passed by value"),
        ("struct t { };\nint f(struct t t);", "it cannot be passed by value"),
        (
            "struct e { };\nstruct t { struct e e; int a; };\nint f(struct t t);",
            "it cannot be passed by value",
        ),
        ("int f(long double x LG_IGNORE);", "could not declare it"),
        ("union t { long a; double b; };\nint f(union t *t LG_INOUT);", ""),
        // An array is as many elements as something says, and not one.
        (
            "int z(void);\nvoid f(int x[4] LG_INOUT);",
            "it is declared as an array of 4, and no annotation says how many elements cross; add LG_SIZE(4)",
        ),
        ("int f(const int x[static 4] LG_IN);", "add LG_SIZE(4)"),
        ("typedef double vec[3];\nint f(const vec v LG_IN);", "add LG_SIZE(3)"),
        ("int f(int n, int x[n] LG_OUT);", "it is declared as an array, and"),
        ("int f(int x[] LG_INOUT);", "it is declared as an array, and"),
        ("int f(const char x[8]);", "or LG_STRING if it ends with a zero"),
        ("struct s { int a; };\nint f(struct s x[3] LG_INOUT);", "add LG_SIZE(3)"),
        ("struct h;\nint f(struct h *x[3] LG_OUT);", "leave the function out"),
        ("int f(const char *x[3] LG_OUT);", "leave the function out"),
        ("int f(int *x);\nint f(int x[4] LG_INOUT);", "add LG_SIZE(4)"),
        (
            "typedef void (*cb)(void *user, const int v[4] LG_IN);\nint f(cb c, void *user LG_DATA);",
            "parameter v: it is declared as an array of 4",
        ),
        ("int f(int x[4] LG_INOUT LG_SIZE(4), const char t[8] LG_STRING, int one[1] LG_OUT);", ""),
        ("typedef void (*cb)(void *user, const int v[4] LG_SIZE(4));\nint f(cb c, void *user LG_DATA);", ""),
        // An enumeration is an integer of the size and the sign that C says, and nothing while it has no enumerators.
        ("enum e;\nint f(enum e *e LG_OUT);", "which is incomplete"),
        (
            "int z(void);\nenum __attribute__((packed)) e { A = 1, B = 200 };\nenum e f(enum e e) LG_ERROR(B);",
            "",
        ),
        ("int z(void);\nenum e { A = 1, B = 0x8000000000000000u };\nenum e f(enum e e) LG_ERROR(B);", ""),
        ("int z(void);\nenum e { A = 0, B = 0x80000000u };\nenum e f(enum e e) LG_ERROR(B);", ""),
        ("int z(void);\nenum e { A, B };\nenum e f(enum e e) LG_ERROR(-1);", ""),
        // What would make a client that does not compile.
        (
            "typedef int size;\nint f(size size, const char *p LG_IN LG_SIZE(size));",
            "hides the type of this name",
        ),
        (
            "struct s { const char *const t; };\nLG_FIELD(struct s, t, LG_STRING);\nint f(const struct s *s LG_IN);",
            "field t: a pointer that is const itself",
        ),
        (
            "struct s { const int k; const char *t; };\nLG_FIELD(struct s, t, LG_STRING);\nint f(struct s *s LG_INOUT);",
            "with const fields",
        ),
        (
            "struct s { const int k; const char *t; };\nLG_FIELD(struct s, t, LG_STRING);\nint f(const struct s *s LG_IN);",
            "",
        ),
        (
            "int z(void);\nvoid f(char *p LG_OUT LG_SIZE(n) LG_WRITTEN(lg_result), int n);",
            "lg_result, but the function returns no number",
        ),
        ("int gr\u{f6}sse(int n);", "its name has characters that prototypes cannot have"),
        // What is said of a bit-field, or in a union, says something.
        (
            "struct s { unsigned a : 3; };\nLG_FIELD(struct s, a, LG_AT_MOST(3));\nint f(struct s *s LG_INOUT);",
            "LG_AT_MOST says nothing of a field",
        ),
        (
            "union u { int a; float b; };\nLG_FIELD(union u, a, LG_AT_MOST(3));\nint f(union u *u LG_INOUT);",
            "LG_AT_MOST says nothing of a field",
        ),
        // A failure is a value of the result's type.
        ("int f(void) LG_ERROR(\"x\");", "a string is no `int`"),
        ("int f(void) LG_ERROR(0x100000000);", "a `int` does not hold it"),
        ("int f(void) LG_ERROR(65536 * 65536);", "a `int` does not hold it"),
        ("int f(void) LG_ERROR(1.5);", "a `int` does not hold it"),
        ("int f(void) LG_ERROR(1 / (2 - 2));", "it comes to no number"),
        // What the library gives would say what printf reads and writes of the program's memory.
        (
            "const char *f(const char *t) __attribute__((format_arg(1)));\nint g(void);",
            "its result is a format to the program's compiler",
        ),
        (
            "#define AS_GIVEN(n) __format_arg__(n)\nconst char *f(const char *t);\nconst char *f(const char *t) __attribute__((AS_GIVEN(1)));\nint g(void);",
            "its result is a format to the program's compiler",
        ),
        (
            "#ifndef __clang__\nconst char *f(const char *t) __attribute__((format_arg(1)));\n#endif\nconst char *f(const char *t);\nint g(void);",
            "its result is a format to the program's compiler",
        ),
        // A declaration's attributes are the stub's, too, which is ordinary C and called by the program.
        ("int f(int n) __attribute__((naked));\nint g(void);", "an attribute says how the compiler makes it"),
        (
            "int f(void) __attribute__((__constructor__));\nint g(void);",
            "an attribute says how the compiler makes it",
        ),
        (
            "int f(void) __attribute__((destructor(200)));\nint g(void);",
            "an attribute says how the compiler makes it",
        ),
        (
            "int f(int n) __attribute__((no_caller_saved_registers));\nint g(void);",
            "an attribute says how the compiler makes it",
        ),
        (
            "int f(int n);\n#ifndef __clang__\nint f(int n) __attribute__((naked));\n#endif\nint g(void);",
            "an attribute says how the compiler makes it",
        ),
        // Nobody writes the end of wide text.
        ("struct r { wchar_t t[8]; };\nint f(struct r *r LG_OUT);", "whose end nothing writes"),
        (
            "#include <uchar.h>\ntypedef char16_t unit;\nstruct i { unit t[8]; };\nstruct r { struct i i; };\nint f(struct r *r LG_INOUT);",
            "field i.t: it may be wide text",
        ),
        ("struct r { wchar_t t[8]; };\nLG_FIELD(r, t, LG_BYTES);\nint f(struct r *r LG_OUT);", ""),
        ("struct r { wchar_t t[8]; };\nint f(const struct r *r LG_IN);", ""),
        // One object is taken for another only if any bytes are a value of both.
        (
            "struct r { const char *s LG_STRING LG_BORROWED; };\nstruct r *f(char *b LG_INOUT LG_SIZE(n), int n) LG_WITHIN(b);\nint g(void);",
            "LG_WITHIN(b): to take `char` for `struct r`",
        ),
        (
            "struct r { const char *s LG_STRING LG_BORROWED; };\nint f(char *b LG_INOUT LG_SIZE(n), int n, struct r **r LG_OUT LG_WITHIN(b));",
            "LG_WITHIN(b): to take `char` for `struct r`",
        ),
        (
            "struct r { char *s LG_STRING LG_BORROWED; int n; };\nint *f(struct r *r LG_INOUT) LG_WITHIN(r);\nint g(void);",
            "LG_WITHIN(r): to take `struct r` for `int`",
        ),
        ("_Bool *f(char *b LG_INOUT LG_SIZE(n), int n) LG_WITHIN(b);\nint g(void);", "LG_WITHIN(b): to take"),
        ("char **f(char *b LG_INOUT LG_SIZE(n), int n) LG_WITHIN(b);\nint g(void);", "LG_WITHIN(b): to take"),
        (
            "struct r { int n; _Bool b; };\nstruct r *f(char *b LG_INOUT LG_SIZE(n), int n) LG_WITHIN(b);\nint g(void);",
            "LG_WITHIN(b): to take",
        ),
        (
            "struct r { int n, m; };\nstruct r *f(char *b LG_INOUT LG_SIZE(n), int n) LG_WITHIN(b);\nint g(void);",
            "",
        ),
        (
            "struct r { int n; _Bool b; };\nstruct r *f(struct r *r LG_INOUT LG_SIZE(n), int n) LG_WITHIN(r);\nint g(void);",
            "",
        ),
        // What only a function knows.
        (
            "int f(int (*c)(void *d, const char *b LG_SIZE(n), int n, const char *p LG_WITHIN(b)), void *d);",
            "LG_WITHIN(b): what a callback is given lies in nothing",
        ),
        (
            "struct r { int n; const char *b LG_SIZE(n) LG_IN; const char **p LG_OUT LG_WITHIN(b); };\nconst struct r *f(void) LG_SIZE(1);\nint g(void);",
            "field p: LG_WITHIN(b): a field lies in nothing",
        ),
        (
            "struct r { char *s LG_STRING LG_FREED(free); };\nint f(int (*c)(void *d, const struct r *r LG_IN), void *d);",
            "LG_FREED(free): a field cannot be moved",
        ),
        (
            "typedef char *own;\nLG_TYPE(own, LG_STRING LG_FREED(free));\nown g(void);\nint f(int (*c)(void *d, own s), void *d);",
            "LG_FREED(free): what a callback is given cannot be moved",
        ),
        // The library may put another string there, which the program would free as its own.
        (
            "struct r { char *s LG_STRING; };\nint f(struct r *r LG_INOUT);",
            "field s: no annotation says whether the program frees it",
        ),
        ("struct r { char *s LG_STRING LG_BORROWED; };\nint f(struct r *r LG_INOUT);", ""),
        ("struct r { const char *s LG_STRING; };\nint f(struct r *r LG_INOUT);", ""),
        ("struct r { char *s LG_STRING; };\nint f(struct r *r LG_IN);", ""),
        // A function that came with data belongs to that.
        (
            "struct h;\ntypedef int (*event)(void *d);\nint f(struct h *h, event e, void *d);\nevent g(struct h *h);",
            "the library gives functions of type event, which the program gives with data only",
        ),
        (
            "struct h;\ntypedef int (*event)(void *d);\nstruct r { event e; };\nint f(struct h *h, event e, void *d);\nint g(struct h *h, event *e LG_OUT);",
            "which the program gives with data only",
        ),
        (
            "struct h;\ntypedef int (*event)(void *d);\nstruct r { event e; void *d; };\nint f(struct h *h, const struct r *r LG_IN);\nint g(struct h *h, int (*c)(event e));",
            "which the program gives with data only",
        ),
        (
            "struct h;\ntypedef int (*event)(void *d);\nint f(struct h *h, event e, void *d);\nint a(event e);\nevent g(struct h *h);",
            "",
        ),
        // What bounds is not what is bounded.
        ("int f(int *n LG_INOUT LG_AT_MOST(*n));", "LG_AT_MOST speaks of what it bounds"),
        ("int f(int *n LG_OUT LG_AT_MOST(m + *n), int m);", "LG_AT_MOST speaks of what it bounds"),
        ("int f(int *n LG_OUT LG_AT_MOST(other));", "`other` in an expression is neither beside it"),
        ("int f(int *n LG_INOUT LG_AT_MOST(m), int m);", ""),
        (
            "struct r { unsigned end : 1, n : 3; };\nconst struct r *f(void) LG_UNTIL(end);\nint g(void);",
            "or that is a bit-field",
        ),
        ("LG_DOMAIN(\"api\", streams);\nint f(void);", "LG_DOMAIN(api) is said twice"),
        ("LG_DOMAIN(\"other\");\nint f(void);", "LG_DOMAIN(other) is said twice, and LG_DOMAIN(api)"),
        ("LG_DOMAIN(\"api\");\nint f(void);", ""),
        // What is said of a type counts where a name of it declares something, or is not accepted.
        (
            "typedef int of(const char *t LG_IN LG_SIZE(4));\nof f;\nint f(const char *t LG_IN LG_SIZE(8));",
            "LG_SIZE is given twice, with different arguments",
        ),
        (
            "typedef int of(const char *t LG_IN LG_SIZE(n), int n);\nof f;\nint f(const char *t, int m);",
            "`n` in an expression is neither beside it",
        ),
        (
            "int f(const char *t LG_IN LG_SIZE(4));\n__typeof__(f) g;",
            "a type that is declared by `typeof`, where no annotation is read",
        ),
        (
            "typedef int c(void *d, const char *t LG_SIZE(4));\nint f(__typeof__(c) *e, void *d);",
            "a type that is declared by `typeof`",
        ),
        (
            "typedef int c(void *d, const char *t LG_SIZE(4));\ntypedef __typeof__(c) e;\nint f(e *g, void *d);",
            "a type that is declared by `typeof`",
        ),
        (
            "typedef int c(void *d, const char *t LG_SIZE(4));\ntypedef c *e;\ntypedef int (*e)(void *d, const char *t LG_SIZE(8));\nint f(e g, void *d);",
            "LG_SIZE is given twice, with different arguments",
        ),
        ("int f(int n) LG_ERROR(-n);", "`n` is a parameter"),
        ("int f(void);\ndouble g(double worst) LG_ERROR(worst);", "`worst` is a parameter"),
        ("enum { n = -7 };\nint f(int m) LG_ERROR(3 - n * 2 == 17 ? n : -1);", ""),
        ("int f(void) LG_ERROR(sizeof(int));\nint g(int n) LG_ERROR((signed char)200);", ""),
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

/// Fields lie where C has them, also in structures that are packed or aligned by hand; what a language cannot write so is bytes.
/// The client of a header of which nothing is refused.
fn accepted(header: &str) -> Client {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("api.h");
    std::fs::write(&path, header).expect("a file");
    let source = Source { header: path, annotations: Vec::new(), includes: Vec::new(), defines: Vec::new() };
    let client = Client::of(&source, Path::new("api.lg")).expect("it reads");
    assert!(client.plan.refusals.is_empty(), "{:?}", client.plan.refusals);
    client
}

/// What is said of the parameters of a function's type counts for whatever is declared by a name of that: functions, pointers, further names.
#[test]
fn what_is_said_of_a_type_counts_for_its_names() {
    let client = accepted(
        "#include <lockgate/annotations.h>\nLG_DOMAIN(\"api\");\nLG_ERRORS(int, -1);\ntypedef struct h h;\n\
         typedef int takes(h *x, const char *tag LG_IN LG_SIZE(4));\ntakes take;\ntypedef takes takes_too;\ntakes_too take_too LG_AT_MOST(7);\n\
         typedef int ends(h *x LG_RELEASE);\nends h_free;\ntypedef int runs(h *x, void *user LG_DATA LG_FOR_CALL, int (*f)(void *u));\nruns run;\n\
         typedef const char *gives(h *x) LG_SIZE(8);\ngives give;\n\
         typedef int event(void *u, const char *text LG_SIZE(64));\ntypedef event *pointer;\ntypedef pointer again;\nint on(h *x, again f, void *u);\nstruct s { pointer f; void *u; };\nint put(h *x, const struct s *s LG_IN);\n",
    );
    let said = client.explain();
    for (part, times) in [
        ("tag: a buffer: 4 bytes, copied in", 2),
        ("at most 7 [LG_AT_MOST(7)]", 1),
        ("x: a handle of type `struct h`, whose life ends", 1),
        ("user: the program's own data: a number to the library, for this call", 1),
        ("result: memory, copied out: 8 elements of 1 bytes", 1),
        ("text: memory, copied out: 64 elements of 1 bytes", 2),
    ] {
        assert_eq!(said.matches(part).count(), times, "{part}:\n{said}");
    }
}

/// What a language would take for one name is refused, with the name: Python lets the last of two win without a word, and reads two spellings
/// of a letter as one; Rust has other names for types than C.
#[test]
fn names_that_are_one_to_a_language_are_refused() {
    let why = |declarations: &str, rust: bool| {
        let head = "#include <lockgate/annotations.h>\nLG_DOMAIN(\"api\");\nLG_ERRORS(int, -1);\n";
        let client = accepted(&format!("{head}{declarations}\n"));
        match if rust { client.rust() } else { client.python() } {
            Ok(_) => "accepted".to_owned(),
            Err(reason) => reason,
        }
    };
    let struct_of = |fields: &str| format!("struct r {{ {fields} }};\nint f(struct r *r LG_OUT);");
    let cases = [
        // Of the header's own letters.
        (struct_of("int \u{fb01};"), "other characters than ASCII's", "other characters than ASCII's"),
        ("enum e { A = 1, \u{212f} = 2 };\nint f(enum e x);".into(), "other characters", "other characters"),
        (
            "struct \u{212f} { int a; };\nint f(struct \u{212f} *r LG_OUT);".into(),
            "other characters",
            "other characters",
        ),
        ("int f(int \u{fb01}, int fi);".into(), "other characters", "other characters"),
        // Constants are no part of what functions need.
        ("#define \u{fb01}X 1\n#define fiX 2\nint f(int x);".into(), "accepted", "accepted"),
        // Of those that words of the language, and underscores, lead to.
        (struct_of("int x_; int _x;"), "would be called x_", "accepted"),
        ("int f(int x_, int _x);".into(), "would be called x_", "accepted"),
        (
            "typedef struct h h;\nint end(h *h LG_RELEASE);\nvoid *f(h *h, int contents, int n) LG_LENT LG_SIZE(n);"
                .into(),
            "would be called contents",
            "would be called contents",
        ),
        ("int f(int fn, int fn_);".into(), "accepted", "would be called fn_"),
        (struct_of("int def; int def_;"), "would be called def_", "accepted"),
        (struct_of("int fn; int fn_;"), "accepted", "would be called fn_"),
        ("enum e { _B = 1, B_ = 2 };\nint f(enum e x);".into(), "would be called B_", "accepted"),
        (
            "struct my_type { int a; };\nstruct MyType { int a; };\nint f(struct my_type *a LG_OUT, struct MyType *b LG_OUT);"
                .into(),
            "accepted",
            "would be called MyType",
        ),
        (
            "typedef struct handle handle;\nhandle *make(void);\nvoid end(handle *h LG_RELEASE);\n\
             enum Handle { H = 1 };\nint f(enum Handle h);"
                .into(),
            "accepted",
            "would be called Handle",
        ),
        (
            "union bits { int a; float b; };\nint Bits(union bits *b LG_INOUT);".into(),
            "accepted",
            "would be called Bits",
        ),
    ];
    for (declarations, python, rust) in cases {
        let (from_python, from_rust) = (why(&declarations, false), why(&declarations, true));
        assert!(from_python.contains(python), "Python: {declarations}\n{from_python}");
        assert!(from_rust.contains(rust), "Rust: {declarations}\n{from_rust}");
    }
}

#[test]
fn bindings_lay_structures_out_as_c_does() {
    let header = "#include <lockgate/annotations.h>\nLG_DOMAIN(\"api\");\nLG_ERRORS(int, -1);\n\
                  struct __attribute__((packed, aligned(4))) s { short a; int b; };\nint f(struct s *s LG_OUT);\n\
                  struct u { short a; short b __attribute__((aligned(4))); int c; };\nint g(struct u *u LG_OUT);\n\
                  #pragma pack(push, 2)\nstruct w { short a; int b; short c; double d; };\n#pragma pack(pop)\nint h(struct w *w LG_OUT);\n\
                  struct __attribute__((aligned(16))) x { int a; };\nint i(struct x *x LG_OUT);\n\
                  struct y { int k; union { int a; double b; }; };\nint j(struct y *y LG_OUT);\n\
                  struct __attribute__((packed, aligned(4))) z { short a; const char *t LG_STRING; };\nint k(const struct z *z LG_IN);\n\
                  struct __attribute__((aligned(64))) l { int a; };\nint l(struct l *l LG_OUT);\n";
    let client = accepted(header);
    let text = |files: &[lockgate_stubs::emit::File], end: &str| -> String {
        files.iter().filter(|file| file.name.ends_with(end)).map(|file| file.text.as_str()).collect()
    };
    let (rust, python) =
        (text(&client.rust().expect("names"), ".rs"), text(&client.python().expect("names"), ".py"));
    // The whole of a type, from its layout on.
    for (own, layout) in [
        ("S(pub [u8; 8]);", "#[repr(C, align(4))]"),
        ("U(pub [u8; 12]);", "#[repr(C, align(4))]"),
        ("W {", "#[repr(C, packed(2))]"),
        ("X {", "#[repr(C, align(16))]"),
        ("Y(pub [u8; 16]);", "#[repr(C, align(8))]"),
    ] {
        let at = rust.find(&format!("pub struct {own}")).unwrap_or_else(|| panic!("{own} is not in\n{rust}"));
        let before = rust[..at].rfind("#[repr").expect("a layout");
        assert!(rust[before..at].starts_with(layout), "{own}: {}", &rust[before..at]);
    }
    for line in [
        "offset_of!(W, b) == 2);",
        "offset_of!(W, d) == 8);",
        "align_of::<W>() == 2);",
        "align_of::<X>() == 16);",
        "size_of::<S>() == 8);",
    ] {
        assert!(rust.contains(line), "{line} is not in\n{rust}");
    }
    for none in ["k", "l"] {
        assert!(!rust.contains(&format!("pub fn {none}(")), "{none} has a form in\n{rust}");
    }
    // Python itself says where its fields are.
    let class = |name: &str| {
        let from = python.find(&format!("class {name}(")).unwrap_or_else(|| panic!("no {name} in\n{python}"));
        let end = python[from..].find("\n    ]\n").expect("the end of its fields");
        format!("{}\n    ]\n", &python[from..from + end])
    };
    let classes: String = ["s", "u", "w", "x", "y"].map(class).concat();
    let program = format!(
        "import ctypes\n_Structure = ctypes.Structure\n{classes}\n\
         assert (s.a.offset, s.b.offset, ctypes.sizeof(s)) == (0, 2, 8)\n\
         assert (u.a.offset, u.b.offset, u.c.offset, ctypes.sizeof(u)) == (0, 4, 8, 12)\n\
         assert (w.b.offset, w.c.offset, w.d.offset, ctypes.sizeof(w)) == (2, 6, 8, 16)\n\
         assert (x.a.offset, ctypes.sizeof(x), ctypes.sizeof(y)) == (0, 16, 16)\n"
    );
    let output = std::process::Command::new("python3").args(["-c", &program]).output().expect("Python");
    assert!(output.status.success(), "{}{program}", String::from_utf8_lossy(&output.stderr));
}

/// The text that libclang reads includes the header by its path.
#[test]
fn a_path_that_no_source_can_include_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = tempfile::tempdir().expect("a scratch folder");
    for name in [&b"a\"b.h"[..], b"a\nb.h", b"a\xffb.h"] {
        let header = folder.path().join(std::ffi::OsStr::from_bytes(name));
        std::fs::write(&header, "int f(int x);\n").expect("a file");
        let source = Source { header, ..Source::default() };
        let said = Client::of(&source, Path::new("x.lg")).expect_err("it is refused").to_string();
        assert!(said.contains("no source can include it"), "{said}");
    }
}

/// The namespace of a binding for C++ is no word of C++'s, and nothing that the headers have.
#[test]
fn namespaces_are_names() {
    for (name, space) in
        [("class", "class_"), ("int", "int_"), ("std", "std_"), ("errno", "errno_"), ("shapes", "shapes")]
    {
        let header = format!(
            "#include <lockgate/annotations.h>\nLG_DOMAIN(\"{name}\");\nint f(int x) LG_ERROR(-1);\n"
        );
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("api.h");
        std::fs::write(&path, header).expect("a file");
        let source =
            Source { header: path, annotations: Vec::new(), includes: Vec::new(), defines: Vec::new() };
        let client = Client::of(&source, Path::new("api.lg")).expect("it reads");
        let files = client.cpp().expect("it has a form");
        let header = &files.iter().find(|file| file.name == format!("{name}.hpp")).expect("the header").text;
        assert!(header.contains(&format!("\nnamespace {space} {{\n")), "{name}: {header}");
    }
}

/// A function of which compilers know that it does not jump does not, though its handle has a `jmp_buf`.
#[test]
fn what_is_pure_does_not_jump() {
    let header = "#include <lockgate/annotations.h>\n#include <setjmp.h>\nLG_DOMAIN(\"api\");\nLG_ERRORS(int, -1);\nstruct engine;\n\
                  typedef void (*engine_jump)(jmp_buf env LG_JUMP, int value);\n\
                  jmp_buf *own(struct engine *e, engine_jump jump) LG_JUMP_BUFFER(e);\nstruct engine *begin(void);\nvoid finish(struct engine *e LG_RELEASE);\n\
                  int count(struct engine *e LG_JUMPS);\nint length(struct engine *e LG_JUMPS) __attribute__((pure));\nint size(struct engine *e LG_JUMPS) __attribute__((leaf));\n";
    let client = accepted(header);
    let jumps = client.plan.functions.iter().filter(|function| function.jumps.is_some());
    assert_eq!(jumps.map(|function| &*function.name).collect::<Vec<_>>(), ["count"]);
}

/// What a header promises to other compilers than libclang's of C, programs are compiled by: C++'s, those that optimise, gcc.
#[test]
fn what_is_promised_to_others_is_promised() {
    let header = "#include <lockgate/annotations.h>\nLG_DOMAIN(\"api\");\nLG_ERRORS(int, -1);\nstruct engine;\n\
                  #ifdef __cplusplus\n#define FOR_CPP(x) [[x]]\n#define C(x) extern \"C\" x\n#else\n#define FOR_CPP(x)\n#define C(x) x\n#endif\n\
                  #ifdef __OPTIMIZE__\n#define FAST(x) __attribute__((x))\n#else\n#define FAST(x)\n#endif\n\
                  #ifdef __clang__\n#define GCC(x)\n#else\n#define GCC(x) __attribute__((x))\n#endif\n\
                  C(FOR_CPP(noreturn) void dies(int x);)\nC(void dies_with_gcc(int x) GCC(noreturn);)\n\
                  #ifdef __cplusplus\nextern \"C\" {\n#endif\nint counts(struct engine *e) FAST(pure);\nstruct engine *begin(void) GCC(returns_nonnull);\n\
                  FOR_CPP(gnu::assume_aligned(64)) const int *all(int n) LG_SIZE(n) LG_BORROWED;\nint length(struct engine *e);\nvoid finish(struct engine *e LG_RELEASE);\n\
                  #ifdef __cplusplus\n}\n#endif\n";
    let client = accepted(header);
    let promised = |of: fn(&Prototype) -> bool| {
        let functions = client.plan.functions.iter().filter(|function| of(&function.prototype));
        functions.map(|function| &*function.name).collect::<Vec<_>>()
    };
    assert_eq!(promised(|prototype| prototype.noreturn), ["dies", "dies_with_gcc"]);
    assert_eq!(promised(|prototype| prototype.silent), ["counts"]);
    assert_eq!(promised(|prototype| prototype.never_null), ["begin"]);
    assert_eq!(promised(|prototype| prototype.aligned), ["all"]);
}
