//! Programs that cannot be split, and what is said of them; a file that attacks bzip2.

/// A program: names and texts of its files.
type Program = &'static [(&'static str, &'static str)];

/// A source with a domain, `p`, and an entry, `enter`.
macro_rules! source {
    ($text:literal) => {
        concat!(
            "#include <lockgate/annotations.h>\nLG_DOMAIN(\"p\") LG_ENTRY int enter(int x) LG_ERROR(-1);\n",
            $text
        )
    };
}

/// One file, `a.c`.
macro_rules! one {
    ($text:literal) => {
        &[("a.c", source!($text))]
    };
}

/// A domain whose source calls `system`, with a header of its own, `p.h`, and a program, `b.c`, which does not say that it may.
macro_rules! forged {
    (("p.h", $header:literal), ("b.c", $program:literal) $(, ($name:literal, $more:literal))?) => {
        (
            &[
                ("p.h", source!($header)),
                $(($name, concat!("#include <lockgate/annotations.h>\n", $more)),)?
                (
                    "a.c",
                    "#include \"p.h\"\nint system(const char *);\nint enter(int x) { return x + system(\"id\"); }\n",
                ),
                (
                    "b.c",
                    concat!(
                        "#include <lockgate/annotations.h>\nint enter(int);\n",
                        $program,
                        "int main(void) { return enter(1); }\n"
                    ),
                ),
            ],
            &["domain p calls system() of the host, which is not LG_ENTRY"],
        )
    };
}

/// Each with parts of the message. `link.h` is another name of `p.h`, `copy.h` a copy.
pub const CASES: &[(Program, &[&str])] = &[
    (
        one!(
            "LG_DOMAIN(\"p\") int inner(void) { return 1; }\nint enter(int x) { return x + inner(); }\nint main(void) { return inner(); }\n"
        ),
        &[
            "a.c:5: the host calls inner() of domain p, which is not LG_ENTRY, defined at a.c:3; mark it LG_ENTRY",
        ],
    ),
    (
        one!(
            "int outer(void) { return 1; }\nint enter(int x) { return x + outer(); }\nint main(void) { return enter(outer()); }\n"
        ),
        &[
            "a.c:4: domain p calls outer() of the host, which is not LG_ENTRY, defined at a.c:3",
            "LG_EVERYWHERE",
        ],
    ),
    (
        one!(
            "int enter(int x) { extern int elsewhere(void); return x + elsewhere(); }\nint main(void) { return enter(1); }\n"
        ),
        &["a.c:3: domain p calls elsewhere() of the host"],
    ),
    (
        one!(
            "typedef int (*cb)(void *d, int n);\nstruct pair { cb f; void *d LG_DATA; };\nLG_ENTRY int pairs(const struct pair *p LG_IN) LG_ERROR(-1);\nint pairs(const struct pair *p) { return p->f(p->d, 1); }\nLG_ENTRY int alone(void *d LG_DATA) LG_ERROR(-1);\nint alone(void *d) { return d != 0; }\nint enter(int x) { struct pair p = {0}; return pairs(&p) + alone(p.d); }\nint main(void) { return enter(1); }\n"
        ),
        &[
            "pairs, which the domain calls: it is given the program's own data",
            "alone, which the domain calls: it is given the program's own data",
            "LG_IGNORE",
        ],
    ),
    (
        &[(
            "a.c",
            "#include <lockgate/annotations.h>\nLG_ENTRY LG_DOMAIN(\"p\") int enter(int x) LG_ERROR(-1);\nint enter(int x) { return x; }\nint main(void) { return enter(1); }\n",
        )],
        &[
            "a.c:2: an annotation stands before LG_DOMAIN or LG_EVERYWHERE, and would do nothing there; write it behind",
        ],
    ),
    (
        one!(
            "#include <errno.h>\nLG_ENTRY int failing(int x) LG_ERRNO;\nint failing(int x) { errno = x; return -1; }\nint enter(int x) { return failing(x) < 0 ? errno : 0; }\nint main(void) { return enter(1); }\n"
        ),
        &[
            "failing, which the domain calls: LG_ERRNO: a function of the program's does not set the errno of the domain",
            "by the result",
        ],
    ),
    (
        one!(
            "int verbose;\nint enter(int x) { return x + verbose; }\nint main(void) { verbose = 1; return enter(1); }\n"
        ),
        &[
            "a.c:4: domain p uses variable verbose of the host, defined at a.c:3: they share no memory; pass it as a parameter",
        ],
    ),
    (
        one!(
            "LG_DOMAIN(\"p\") int state = 1;\nint enter(int x) { return x + state; }\nint main(void) { return state + enter(1); }\n"
        ),
        &["a.c:5: the host uses variable state of domain p"],
    ),
    (
        one!(
            "static int count;\nint enter(int x) { return x + count++; }\nint main(void) { return enter(count); }\n"
        ),
        &["a.c:3: variable count is used by the host and domain p, which share no memory; make it const"],
    ),
    (
        // Memory without a name that what is constant leads to, itself or by what it holds.
        one!(
            "static int *const count = (int[]){0};\nstruct state { int n; };\nstatic const struct { struct state *state; } all = {&(struct state){5}};\n\
             int enter(int x) { return x + *count + all.state->n++; }\nint main(void) { return enter(++*count) + all.state->n; }\n"
        ),
        &[
            "a.c:3: variable without a name that count leads to is used by the host and domain p, which share no memory",
            "a.c:5: variable without a name that all leads to is used by the host and domain p",
        ],
    ),
    (
        // What has no value of its own for good: another object's may stand in its place, or somebody changes it.
        one!(
            "const int limit __attribute__((weak)) = 5;\nint enter(int x) { return x + limit; }\nint main(void) { return enter(limit); }\n"
        ),
        &["a.c:4: domain p uses variable limit of the host"],
    ),
    (
        one!(
            "const int limit = 5;\n_Pragma(\"weak limit\")\nint enter(int x) { return x + limit; }\nint main(void) { return enter(limit); }\n"
        ),
        &["a.c:5: domain p uses variable limit of the host"],
    ),
    (
        one!(
            "static const volatile int ticks = 1;\nint enter(int x) { return x + ticks; }\nint main(void) { return enter(ticks); }\n"
        ),
        &["a.c:3: variable ticks is used by the host and domain p"],
    ),
    (
        // What the second definition leads to is as much of it as what the first one does.
        one!(
            "struct ops { int *n; };\nstatic int count;\nstatic const struct ops ops;\nstatic const struct ops ops = {&count};\n\
             int enter(int x) { return x + ++*ops.n; }\nint main(void) { return enter(count); }\n"
        ),
        &["a.c:4: variable count is used by the host and domain p"],
    ),
    (
        one!(
            "static int next(void) { static int last; return ++last; }\nint enter(int x) { return x + next(); }\nint main(void) { return enter(next()); }\n"
        ),
        &["a.c:3: variable last of next() is used by the host and domain p"],
    ),
    (
        one!(
            "LG_DOMAIN(\"p\") static int mine(void) { return 2; }\nint enter(int x) { return x + mine(); }\nint main(void) { return enter(mine()); }\n"
        ),
        &["a.c:3: mine belongs to domain p, but the host uses it"],
    ),
    (
        one!(
            "LG_ENTRY static int hidden(void) { return 2; }\nint enter(int x) { return x; }\nint main(void) { return enter(hidden()); }\n"
        ),
        &["a.c:3: hidden is static"],
    ),
    (
        one!(
            "LG_DOMAIN(\"p\") LG_ENTRY int number = 1;\nint enter(int x) { return x; }\nint main(void) { return enter(1); }\n"
        ),
        &["a.c:3: number is a variable: LG_ENTRY is for functions"],
    ),
    (
        one!(
            "LG_DOMAIN(\"q\") int enter(int x);\nint enter(int x) { return x; }\nint main(void) { return enter(1); }\n"
        ),
        &[
            "a.c:3: enter belongs to domain q here, and to domain p at a.c:2; give each function and variable one LG_DOMAIN",
        ],
    ),
    (
        one!(
            "LG_DOMAIN(\"p\");\nLG_DOMAIN(\"q\");\nint enter(int x) { return x; }\nint main(void) { return enter(1); }\n"
        ),
        &["a.c:4: this file belongs to domain q here, and to domain p at a.c:3"],
    ),
    (
        one!(
            "LG_DOMAIN(\"p\", time=1) int other(void);\nLG_DOMAIN(\"p\", time=2) int third(void);\nint enter(int x) { return x; }\nint main(void) { return enter(1); }\n"
        ),
        &["a.c:4: domain p has the options time=2 here, and time=1 at a.c:3"],
    ),
    (
        one!(
            "LG_DOMAIN(\"p\", tim=1) int other(void);\nint enter(int x) { return x; }\nint main(void) { return enter(1); }\n"
        ),
        &["a.c:3: domain p has an unknown option: tim=1; the options are memory=BYTES"],
    ),
    (
        &[(
            "a.c",
            "#include <lockgate/annotations.h>\nLG_DOMAIN(\"p\") int inner(void) { return 1; }\nint main(void) { return 0; }\n",
        )],
        &["a.c:2: domain p has no LG_ENTRY: no other part could call it"],
    ),
    (
        &[(
            "a.c",
            "#include <lockgate/annotations.h>\nLG_DOMAIN(\"a b\") LG_ENTRY int f(void) { return 1; }\nint main(void) { return f(); }\n",
        )],
        &["a.c:2: \"a b\" cannot be the name of a domain"],
    ),
    (
        one!(
            "LG_DOMAIN(\"P\") LG_ENTRY int other(int x) { return x; }\nint enter(int x) { return x; }\nint main(void) { return enter(other(1)); }\n"
        ),
        &["domains P and p have names that differ in case, - and _ only; give one of them another name"],
    ),
    (
        &[(
            "a.c",
            "#include <lockgate/annotations.h>\nLG_DOMAIN(\"perf_map\") LG_ENTRY int f(void) { return 1; }\nint main(void) { return f(); }\n",
        )],
        &["a.c:2: \"perf_map\" cannot be the name of a domain: the variable LOCKGATE_PERF_MAP"],
    ),
    (
        one!(
            "LG_DOMAIN(\"p\") LG_ENTRY int fill(int *to) { return *to; }\nint enter(int x) { return x; }\nint main(void) { int x = 1; return enter(fill(&x)); }\n"
        ),
        &["a function of domain p cannot be called soundly", "a.c:3: fill: parameter to"],
    ),
    (
        one!(
            "LG_ENTRY char *name(void) { return 0; }\nint enter(int x) { return x + (name() != 0); }\nint main(void) { return enter(1); }\n"
        ),
        &["a.c:3: name, which the domain calls: result: it returns `char *`"],
    ),
    // A source that does not know that it calls into a domain.
    (
        &[
            (
                "a.c",
                source!(
                    "LG_DOMAIN(\"p\") int inner(void) { return 1; }\nint enter(int x) { return x + inner(); }\n"
                ),
            ),
            ("b.c", "int inner(void);\nint enter(int);\nint main(void) { return enter(inner()); }\n"),
        ],
        &["uses inner of domain p, which is not LG_ENTRY"],
    ),
    // Two sources between which memory would be shared.
    (
        &[
            ("a.c", source!("extern int level;\nint enter(int x) { return x + level; }\n")),
            ("b.c", "int level;\nint enter(int);\nint main(void) { return enter(1); }\n"),
        ],
        &["a.c:4: domain p uses variable level of the host"],
    ),
    (one!("int enter(int x) { return x }\n"), &["a.c:3:"]),
    // Consent to what is the program's comes from the program, not from the domain's own source, or a header of its own.
    (
        &[
            (
                "a.c",
                source!(
                    "int system(const char *command LG_IN LG_STRING) LG_ENTRY;\nint enter(int x) { return x + system(\"id\"); }\n"
                ),
            ),
            (
                "b.c",
                "#include <lockgate/annotations.h>\nLG_ENTRY int enter(int);\nint main(void) { return enter(1); }\n",
            ),
        ],
        &[
            "a.c:4: domain p calls system() of the host, which is not LG_ENTRY",
            "in a source of the program's",
        ],
    ),
    (
        &[
            (
                "p.h",
                "#include <lockgate/annotations.h>\nLG_DOMAIN(\"p\") LG_ENTRY int enter(int x);\nint system(const char *command LG_IN LG_STRING) LG_ENTRY;\n",
            ),
            ("a.c", "#include \"p.h\"\nint enter(int x) { return x + system(\"id\"); }\n"),
            ("b.c", "#include \"p.h\"\nint main(void) { return enter(1); }\n"),
        ],
        &["a.c:2: domain p calls system() of the host"],
    ),
    (
        &[
            ("a.c", source!("int secret(void) LG_ENTRY;\nint enter(int x) { return x + secret(); }\n")),
            (
                "b.c",
                "#include <lockgate/annotations.h>\nLG_ENTRY int enter(int);\nint secret(void) { return 7; }\nint main(void) { return enter(1); }\n",
            ),
        ],
        &["a.c:4: domain p calls secret() of the host, which is not LG_ENTRY, defined at b.c:3"],
    ),
    // What a domain's header says is said by the domain, whatever line and file it claims to be.
    forged!(
        ("p.h", "#line 2 \"b.c\"\nint system(const char *command LG_IN LG_STRING) LG_ENTRY;\n"),
        ("b.c", "#include \"p.h\"\n")
    ),
    forged!(
        ("p.h", "# 2 \"b.c\" 1\nint system(const char *command LG_IN LG_STRING) LG_ENTRY;\n"),
        ("b.c", "#include \"p.h\"\n")
    ),
    // However the program includes it: by another way, by a link, as a copy.
    forged!(
        ("p.h", "int system(const char *command LG_IN LG_STRING) LG_ENTRY;\n"),
        ("b.c", "#include \"./p.h\"\n")
    ),
    forged!(
        ("p.h", "int system(const char *command LG_IN LG_STRING) LG_ENTRY;\n"),
        ("b.c", "#include \"link.h\"\n")
    ),
    forged!(
        ("p.h", "int system(const char *command LG_IN LG_STRING) LG_ENTRY;\n"),
        ("b.c", "#include \"copy.h\"\n")
    ),
    // By way of a domain's header, which the domain's own sources do not follow.
    forged!(
        ("p.h", "#ifdef PROGRAM\n#include \"more.h\"\n#endif\n"),
        ("b.c", "#define PROGRAM\n#include \"p.h\"\n"),
        ("more.h", "int system(const char *command LG_IN LG_STRING) LG_ENTRY;\n")
    ),
    forged!(
        ("p.h", "#define CONFIGURATION \"more.h\"\n"),
        ("b.c", "#include \"p.h\"\n#include CONFIGURATION\n"),
        ("more.h", "int system(const char *command LG_IN LG_STRING) LG_ENTRY;\n")
    ),
    // By macros that the program uses.
    forged!(
        ("p.h", "#define P_INIT int system(const char *command LG_IN LG_STRING) LG_ENTRY\n"),
        ("b.c", "#include \"p.h\"\nP_INIT;\n")
    ),
    forged!(
        ("p.h", "#define P_API LG_ENTRY\n"),
        ("b.c", "#include \"p.h\"\nint system(const char *command LG_IN LG_STRING) P_API;\n")
    ),
    forged!(
        ("p.h", "#define harmless system\n"),
        ("b.c", "#include \"p.h\"\nint harmless(const char *command LG_IN LG_STRING) LG_ENTRY;\n")
    ),
    forged!(
        (
            "p.h",
            "#undef LG_ENTRY\n#define LG_ENTRY LG_NOTE_(\"entry\"); int system(const char *command LG_IN LG_STRING) LG_NOTE_(\"entry\")\n"
        ),
        ("b.c", "#include \"p.h\"\nint other(int) LG_ENTRY;\n")
    ),
    // What libclang does not see is a domain's nevertheless.
    forged!(
        ("p.h", "#ifndef __clang__\n#include \"more.h\"\n#endif\n"),
        ("b.c", "#include \"more.h\"\n"),
        ("more.h", "int system(const char *command LG_IN LG_STRING) LG_ENTRY;\n")
    ),
    // A function's own source, too, has to say it itself.
    (
        &[
            (
                "p.h",
                "#include <lockgate/annotations.h>\nLG_DOMAIN(\"p\") LG_ENTRY int enter(int x);\n#ifdef PROGRAM\n#include \"more.h\"\n#endif\n",
            ),
            ("more.h", "int secret(void) LG_ENTRY;\n"),
            ("a.c", "#include \"p.h\"\nint secret(void);\nint enter(int x) { return x + secret(); }\n"),
            (
                "b.c",
                "#define PROGRAM\n#include \"p.h\"\nint secret(void) { return 7; }\nint main(void) { return enter(1); }\n",
            ),
        ],
        &[
            "a.c:3: domain p calls secret() of the host, which is not LG_ENTRY, defined at b.c:3 (more.h:1 cannot consent for the owner",
        ],
    ),
    // Nor is a weak definition the owner's.
    (
        &[
            (
                "a.c",
                source!(
                    "LG_ENTRY __attribute__((weak)) int secret(void) { return 1; }\nint enter(int x) { return x + secret(); }\n"
                ),
            ),
            ("b.c", "int enter(int);\nint secret(void) { return 7; }\nint main(void) { return enter(1); }\n"),
        ],
        &["a.c:4: domain p calls secret() of the host, which is not LG_ENTRY"],
    ),
    // A header opens nothing, whose ever it may be: one that only the program includes, either.
    forged!(
        ("p.h", "\n"),
        ("b.c", "#include \"more.h\"\n"),
        ("more.h", "int enter(int);\nint system(const char *command LG_IN LG_STRING) LG_ENTRY;\n")
    ),
    forged!(
        ("p.h", "\n"),
        ("b.c", "#include \"more.h\"\n"),
        ("more.h", "int system(const char *command LG_IN LG_STRING) LG_ENTRY;\n")
    ),
    // Nor does a macro that is given the words, nor one that has a mark mean another declaration.
    forged!(
        ("p.h", "#define P_DECLARE(...) __VA_ARGS__\n"),
        ("b.c", "#include \"p.h\"\nP_DECLARE(int system(const char *command LG_IN LG_STRING) LG_ENTRY;)\n")
    ),
    forged!(
        ("p.h", "#define P_BEGIN LG_NOTE_(\"entry\")\n"),
        (
            "b.c",
            "#include \"p.h\"\nP_BEGIN int system(const char *command LG_IN LG_STRING);\nint other(int) LG_ENTRY;\n"
        )
    ),
    // A header that the owner of a function includes does not open it either.
    (
        &[
            ("p.h", source!("int secret(void) LG_ENTRY;\n")),
            ("a.c", "#include \"p.h\"\nint enter(int x) { return x + secret(); }\n"),
            (
                "b.c",
                "#include \"p.h\"\nint secret(void) { return 7; }\nint main(void) { return enter(1); }\n",
            ),
        ],
        &[
            "a.c:2: domain p calls secret() of the host, which is not LG_ENTRY, defined at b.c:2 (p.h:3 cannot consent for the owner",
            "headers open nothing",
        ],
    ),
    // One domain's source says nothing for another domain.
    (
        &[
            ("a.c", source!("int system(const char *);\nint enter(int x) { return x + system(\"id\"); }\n")),
            (
                "q.c",
                "#include <lockgate/annotations.h>\nint system(const char *command LG_IN LG_STRING) LG_ENTRY;\nLG_DOMAIN(\"p\", streams) LG_ENTRY int enter(int x);\nLG_DOMAIN(\"q\") LG_ENTRY int other(int x) { return x; }\n",
            ),
            ("b.c", "int enter(int);\nint other(int);\nint main(void) { return enter(other(1)); }\n"),
        ],
        &[
            "a.c:4: domain p calls system() of the host, which is not LG_ENTRY",
            "q.c:3: only sources of domain p give it streams",
        ],
    ),
    // What crosses at a gate says who is called, and what crosses at an entry who calls.
    (
        &[
            (
                "a.c",
                source!("int show(long at, unsigned long n);\nint enter(int x) { return show(x, 6); }\n"),
            ),
            (
                "b.c",
                "#include <lockgate/annotations.h>\n#include <stddef.h>\nLG_ENTRY int enter(int);\nLG_ENTRY int show(const char *at LG_IN LG_SIZE(n), size_t n) { return at[n - 1]; }\nint main(void) { return enter(1); }\n",
            ),
        ],
        &["b.c:4: show() is declared differently here and in the sources of domain p, at a.c:3"],
    ),
    (
        &[
            (
                "a.c",
                source!(
                    "int show(const char *at LG_IN LG_SIZE(m), unsigned long n, unsigned long m);\nint enter(int x) { return show(\"\", 1, 1); }\n"
                ),
            ),
            (
                "b.c",
                "#include <lockgate/annotations.h>\n#include <stddef.h>\nLG_ENTRY int enter(int);\nLG_ENTRY int show(const char *at LG_IN LG_SIZE(n), size_t n, size_t m) { return at[n - m]; }\nint main(void) { return enter(1); }\n",
            ),
        ],
        &["b.c:4: show() is declared differently"],
    ),
    (
        &[
            (
                "a.c",
                "#include <lockgate/annotations.h>\nstruct s { long *at LG_INOUT LG_SIZE(9); };\nLG_DOMAIN(\"p\") LG_ENTRY int enter(struct s *s LG_INOUT) LG_ERROR(-1);\nint enter(struct s *s) { return s->at != 0; }\n",
            ),
            (
                "b.c",
                "#include <lockgate/annotations.h>\nstruct s { long *at LG_INOUT LG_SIZE(1); };\nLG_DOMAIN(\"p\") LG_ENTRY int enter(struct s *s LG_INOUT) LG_ERROR(-1);\nint main(void) { long x; struct s s = {&x}; return enter(&s); }\n",
            ),
        ],
        &["b.c:3: enter() is declared differently"],
    ),
    // The same declaration may have another meaning: behind the program's buffer lies what the domain would write to.
    (
        &[
            (
                "a.c",
                "#include <lockgate/annotations.h>\nenum { ROOM = 64 };\nLG_DOMAIN(\"p\") LG_ENTRY int enter(char *to LG_INOUT LG_SIZE(ROOM)) LG_ERROR(-1);\nint enter(char *to) { return to[ROOM - 1] = 1; }\n",
            ),
            (
                "b.c",
                "#include <lockgate/annotations.h>\nenum { ROOM = 16 };\nLG_DOMAIN(\"p\") LG_ENTRY int enter(char *to LG_INOUT LG_SIZE(ROOM)) LG_ERROR(-1);\nint main(void) { char to[ROOM] = {0}; return enter(to); }\n",
            ),
        ],
        &["b.c:3: enter() is declared differently"],
    ),
    // A gate leads to the function that it is called after.
    (
        &[
            (
                "a.c",
                source!(
                    "int harmless(const char *command LG_IN LG_STRING) __asm__(\"system\");\nint enter(int x) { return x + harmless(\"id\"); }\n"
                ),
            ),
            (
                "b.c",
                "#include <lockgate/annotations.h>\nint harmless(const char *command LG_IN LG_STRING) LG_ENTRY;\nint harmless(const char *command) { return !command; }\nint enter(int);\nint main(void) { return enter(1); }\n",
            ),
        ],
        &["a.c:3: harmless is called system in objects"],
    ),
    // Nor what a domain is given.
    (
        &[
            (
                "a.c",
                "#include <lockgate/annotations.h>\nLG_DOMAIN(\"p\", streams, directory=/etc, time=9) LG_ENTRY int enter(int x);\nint enter(int x) { return x; }\n",
            ),
            ("b.c", "int enter(int);\nint main(void) { return enter(1); }\n"),
        ],
        &[
            "a.c:2: only sources of domain p give it streams",
            "a.c:2: only sources of domain p give it directory=/etc",
        ],
    ),
    (
        &[
            (
                "p.h",
                "#include <lockgate/annotations.h>\n#define time streams, time\n#ifdef PROGRAM\n#include \"more.h\"\n#endif\n",
            ),
            ("more.h", "LG_DOMAIN(\"p\", streams, time=9) LG_ENTRY int enter(int x);\n"),
            ("a.c", "#include \"p.h\"\nLG_DOMAIN(\"p\") int enter(int x) { return x; }\n"),
            (
                "b.c",
                "#define PROGRAM\n#include \"p.h\"\nLG_DOMAIN(\"p\", time=9) int enter(int x);\nint main(void) { return enter(1); }\n",
            ),
        ],
        &["only sources of domain p give it streams"],
    ),
    // What the two C libraries lay out otherwise is nothing that both could speak of.
    (
        one!(
            "#include <regex.h>\nLG_DOMAIN(\"p\") LG_ENTRY int match(regmatch_t *m LG_OUT LG_SIZE(n) LG_WRITTEN(n), int n) LG_ERROR(-1);\nint match(regmatch_t *m, int n) { m[0].rm_so = n; return 0; }\nint enter(int x) { return x; }\nint main(void) { return enter(1); }\n"
        ),
        &["match: regmatch_t has 16 bytes (not 8) with the headers of the domain's C library"],
    ),
    (
        one!(
            "#include <sys/resource.h>\nLG_DOMAIN(\"p\") LG_ENTRY int usage(struct rusage *u LG_OUT) LG_ERROR(-1);\nint usage(struct rusage *u) { u->ru_maxrss = 1; return 0; }\nint enter(int x) { return x; }\nint main(void) { return enter(1); }\n"
        ),
        &["usage: struct rusage", "with the headers of the domain's C library"],
    ),
    (
        one!(
            "#include <regex.h>\nLG_DOMAIN(\"p\") LG_ENTRY int at(regoff_t *to LG_OUT) LG_ERROR(-1);\nint at(regoff_t *to) { *to = 1; return 0; }\nint enter(int x) { return x; }\nint main(void) { return enter(1); }\n"
        ),
        &["at: `regoff_t` has 8 bytes with the headers of the domain's C library"],
    ),
    (
        one!(
            "LG_DOMAIN(\"p\") LG_ENTRY const char *name(int n) __attribute__((returns_nonnull)) LG_STRING;\nconst char *name(int n) { return \"x\"; }\nint enter(int x) { return x; }\nint main(void) { return enter(1); }\n"
        ),
        &["name: result", "returns_nonnull"],
    ),
    (
        one!(
            "#include <stddef.h>\nLG_DOMAIN(\"p\") LG_ENTRY const char *name(int n) __attribute__((returns_nonnull)) LG_STRING LG_ERROR(NULL);\nconst char *name(int n) { return \"x\"; }\nint enter(int x) { return x; }\nint main(void) { return enter(1); }\n"
        ),
        &["name: result", "returns_nonnull"],
    ),
    (
        one!(
            "LG_DOMAIN(\"p\") LG_ENTRY const int *row(void) __attribute__((assume_aligned(64))) LG_SIZE(4);\nconst int *row(void) { static int all[4]; return all; }\nint enter(int x) { return x; }\nint main(void) { return enter(1); }\n"
        ),
        &["row: result", "assume_aligned"],
    ),
];

/// A file for bzip2 whose only block says that a byte repeats 0x90000000 times: without the checks of CVE-2010-0405 that is a negative
/// number, and what follows is written far away.
pub fn hostile_bzip2() -> Vec<u8> {
    let mut bits: Vec<bool> = Vec::new();
    let mut put = |value: u64, count: u32| bits.extend((0..count).rev().map(|bit| value >> bit & 1 == 1));
    put(u64::from_be_bytes(*b"\0\0\0\0BZh9"), 32);
    put(0x3141_5926_5359, 48);
    // Checksum, not randomised, where the block starts.
    put(0, 32 + 1 + 24);
    // The bytes in use, `a` and `b`: their row of 16, and their places in it.
    put(1 << (15 - 6), 16);
    put(1 << (15 - 1) | 1 << (15 - 2), 16);
    // Two tables, one selector, for the first of them; each of the four symbols has two bits.
    put(2, 3);
    put(1, 15);
    put(0, 1);
    for _ in 0..2 {
        put(2, 5);
        put(0, 4);
    }
    // `a` as often as that, in digits 1 and 2 of base 2, lowest first.
    let mut repeats = 0x9000_0000_u64;
    while repeats > 0 {
        let digit = 2 - repeats % 2;
        put(digit - 1, 2);
        repeats = (repeats - digit) / 2;
    }
    // `b` twice, the block's end, the file's.
    put(2, 2);
    put(0, 2);
    put(3, 2);
    put(0x1772_4538_5090, 48);
    put(0, 32);
    let byte =
        |bits: &[bool]| bits.iter().enumerate().fold(0, |byte, (n, &bit)| byte | u8::from(bit) << (7 - n));
    bits.chunks(8).map(byte).collect()
}
