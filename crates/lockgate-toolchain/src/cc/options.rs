//! The options of compilers' command lines, as tables: those of gcc and clang, and ours.

/// gcc then does something else than link.
pub(super) const NOT_LINKING: &[&str] = &[
    "-c",
    "-S",
    "-E",
    "-M",
    "-MM",
    "-fsyntax-only",
    "-r",
    "-###",
    "--help",
    "--version",
    "--target-help",
    "-dumpmachine",
    "-dumpversion",
    "-dumpfullversion",
    "-dumpspecs",
];

/// Our own options, with what the value is, and what help says of them. There are no others.
pub const OPTIONS: &[(&str, &str, &str)] = &[
    ("--export", "PROTOTYPE", "a function that the host may call: its C prototype, or its name alone"),
    ("--exports", "FILE", "the same, one a line; # and // begin comments"),
    ("--export-all", "", "every global function of the objects (-shared means the same)"),
    ("--declared", "", "exports and gates that the objects declare (Rust's crate lockgate-guest)"),
    ("--gate", "PROTOTYPE", "a function of the host that the module calls"),
    ("--gates", "FILE", "the same, one a line"),
    ("--for", "postgres", "a module for PostgreSQL: exports all, may call what lockgate_pg.h declares"),
    ("--base", "", "a module whose domains others may join: it has all of libc"),
    ("--join", "BASE.lg", "a module that joins domains of that one"),
    ("--strict-bounds", "", "wild pointers trap at the instruction that uses them"),
    ("--verbatim", "FILE", "an object in the code model already: verified, not rewritten"),
    ("--keep-rejected", "", "keep a module that the verifier rejects, as OUTPUT.rejected"),
];

/// File names that gcc compiles; it takes everything else for an object or archive.
pub(super) const SOURCES: &[&str] = &[
    "c", "i", "ii", "m", "mi", "h", "s", "S", "sx", "C", "cc", "cp", "cpp", "cxx", "c++", "CPP", "hh", "H",
    "hpp",
];

/// Those of sources in C++.
pub(super) const CXX: &[&str] = &["ii", "C", "cc", "cp", "cpp", "cxx", "c++", "CPP", "hh", "H", "hpp"];

/// Options of the compiler whose value is the next argument.
pub(super) const WITH_VALUE: &[&str] = &[
    "-I",
    "-D",
    "-U",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "-MF",
    "-MT",
    "-MQ",
    "-Xpreprocessor",
    "-Xassembler",
    "--param",
    "-aux-info",
    "-A",
    "-B",
    "-imultilib",
    "-imultiarch",
    "-dumpbase",
    "-dumpbase-ext",
    "-dumpdir",
    "--sysroot",
    "-wrapper",
    "-specs",
    // clang's
    "-target",
    "-Xclang",
    "-mllvm",
];

/// Options about kinds of programs that a module is none of; build systems pass them without asking.
pub(super) const IGNORED: &[&str] = &[
    "-static",
    "-static-pie",
    "-pie",
    "-no-pie",
    "-rdynamic",
    "-static-libgcc",
    "-shared-libgcc",
    "-static-libstdc++",
    "-nostdlib",
    "-nostartfiles",
    "-nodefaultlibs",
    "-no-canonical-prefixes",
];

/// What gcc says in long, too. Unknown here, `--compile` would link, and the value of `--output` would be an input.
pub(super) const IN_LONG: &[(&str, &str, Long)] = &[
    ("--all-warnings", "-Wall", Long::Alone),
    ("--ansi", "-ansi", Long::Alone),
    ("--assemble", "-S", Long::Alone),
    ("--assert", "-A", Long::Value),
    ("--comments", "-C", Long::Alone),
    ("--comments-in-macros", "-CC", Long::Alone),
    ("--compile", "-c", Long::Alone),
    ("--debug", "-g", Long::Attached),
    ("--define-macro", "-D", Long::Value),
    ("--dependencies", "-M", Long::Alone),
    ("--dump", "-d", Long::Joined),
    ("--dumpbase", "-dumpbase", Long::Value),
    ("--dumpbase-ext", "-dumpbase-ext", Long::Value),
    ("--dumpdir", "-dumpdir", Long::Value),
    ("--entry", "-e", Long::Value),
    ("--extra-warnings", "-Wextra", Long::Alone),
    ("--for-assembler", "-Xassembler", Long::Value),
    ("--for-linker", "-Xlinker", Long::Value),
    ("--force-link", "-u", Long::Value),
    ("--imacros", "-imacros", Long::Value),
    ("--include", "-include", Long::Value),
    ("--include-barrier", "-I-", Long::Alone),
    ("--include-directory", "-I", Long::Value),
    ("--include-directory-after", "-idirafter", Long::Value),
    ("--include-prefix", "-iprefix", Long::Value),
    ("--include-with-prefix", "-iwithprefix", Long::Value),
    ("--include-with-prefix-after", "-iwithprefix", Long::Value),
    ("--include-with-prefix-before", "-iwithprefixbefore", Long::Value),
    ("--language", "-x", Long::Value),
    ("--library-directory", "-L", Long::Value),
    ("--no-canonical-prefixes", "-no-canonical-prefixes", Long::Alone),
    ("--no-line-commands", "-P", Long::Alone),
    ("--no-pie", "-no-pie", Long::Alone),
    ("--no-standard-includes", "-nostdinc", Long::Alone),
    ("--no-standard-libraries", "-nostdlib", Long::Alone),
    ("--no-warnings", "-w", Long::Alone),
    ("--optimize", "-O", Long::Attached),
    ("--output", "-o", Long::Value),
    ("--pie", "-pie", Long::Alone),
    ("--prefix", "-B", Long::Value),
    ("--preprocess", "-E", Long::Alone),
    ("--print-missing-file-dependencies", "-MG", Long::Alone),
    ("--print-file-name", "-print-file-name=", Long::Joined),
    ("--print-prog-name", "-print-prog-name=", Long::Joined),
    ("--profile", "-p", Long::Alone),
    ("--shared", "-shared", Long::Alone),
    ("--specs", "-specs", Long::Value),
    ("--static", "-static", Long::Alone),
    ("--static-pie", "-static-pie", Long::Alone),
    ("--std", "-std=", Long::Joined),
    ("--trace-includes", "-H", Long::Alone),
    ("--undefine-macro", "-U", Long::Value),
    ("--user-dependencies", "-MM", Long::Alone),
    ("--verbose", "-v", Long::Alone),
    ("--write-dependencies", "-MD", Long::Alone),
    ("--write-user-dependencies", "-MMD", Long::Alone),
];

/// What follows the long form of an option.
#[derive(Clone, Copy)]
pub(super) enum Long {
    Alone,
    /// A value behind `=`, or as the next argument.
    Value,
    /// The same; the short form has it attached.
    Joined,
    /// Perhaps a value behind `=`; the short form has it attached.
    Attached,
}

/// Choices of linkers and libraries, which a module is not linked with.
pub(super) const CHOICES: &[&str] = &["-fuse-ld=", "-rtlib=", "--rtlib=", "-unwindlib=", "--unwindlib="];
