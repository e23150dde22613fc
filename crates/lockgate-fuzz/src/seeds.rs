//! Where corpora begin: small inputs that the parts accept, so that mutations start from something.

use crate::module_file::ModuleFile;
use crate::targets::dwarf;
use anyhow::{Context, Result, bail, ensure};
use lockgate_abi::PAGE;
use lockgate_evidence::adversarial::{Generator, Place};
use lockgate_evidence::random::Random;
use object::{Object, ObjectSection};
use std::process::Command;

/// The first inputs of the oracle of this name.
///
/// # Errors
/// gcc is not there, or does not work.
pub fn of(target: &str) -> Result<Vec<Vec<u8>>> {
    match target {
        "verifier" => Ok(programs()),
        "module" => Ok(modules()),
        "proxy" | "stubs" | "marshal" => Ok(choices()),
        "syscalls" => Ok(system_calls()),
        "rewriter" => objects(),
        "archive" => archives(),
        "code" => code(),
        "link" => links(),
        "dwarf" => debug_information(),
        "signature" | "annotation" | "split_text" | "share_messages" => Ok(texts(target)),
        "share_memory" => Ok(calls()),
        _ => bail!("no seeds for '{target}'"),
    }
}

fn texts(target: &str) -> Vec<Vec<u8>> {
    let texts: &[&str] = match target {
        "signature" => &[
            "double cbrt(double)\nint f(void)\nunsigned long long int f();\n",
            "void f(struct { char a[2][3]; void (*g)(int); } s, unsigned long)\n",
            "struct { double x; int n; } f(struct { float f0; float f1; } p, const char *q[])\n",
            "const char *f(const char *const *s, size_t n, enum color c, union u *v, int (*cmp)(const void *, const void *))\n",
            "struct { struct { int8_t f0[3]; } f0; } f(struct { struct { long a; } b; double c; }, _Bool, float, short, uint16_t)\n",
        ],
        "annotation" => &[
            "in\nsize:n * 4\nnullable\n",
            "inout\nsize:*n\nwritten:lg_result < 0 ? 0 : lg_result\nkept\n",
            "string\nerror:-1\npolicy:LG_INTEGRITY\nat_most:strlen(s) + s->n % 3\n",
            "callback\nhome:3:parser\nentry\nformat:vf,q,w\n",
            "out\nrows:f(a, b) && !c || -d >= 0x10\ndispose:f,1\n",
            "size:lg_told(f, h, lg_result)\n",
        ],
        // (The first letter says what it is: d what a client asks, a what a server answers, b how a call ended, c a prototype.)
        "share_messages" => &[
            "d{\"Bind\":{\"schema\":1,\"name\":\"a.sum\",\"version\":[1,2],\"rebind\":true,\"prototype\":\"unsigned sum(const unsigned char data[n], size_t n)\"}}",
            "d{\"Unbind\":{\"function\":3}}",
            "d\"Line\"",
            "a{\"Bound\":{\"function\":0,\"domain\":\"a\"}}",
            "a{\"Refused\":\"Unknown\"}",
            "a{\"Refused\":{\"Signature\":{\"signature\":\"long f(struct { char a[2]; } s)\"}}}",
            "a{\"Refused\":{\"Version\":{\"known\":\"1.2\\u001b[2J\"}}}",
            "a{\"Refused\":{\"Threads\":{\"limit\":4}}}",
            "b{\"Fault\":{\"kind\":{\"Exit\":3},\"report\":\"domain a\\n\\u202e\"}}",
            "b{\"Busy\":{\"domain\":\"a\",\"thread\":7,\"name\":\"b\"}}",
            "b{\"Killed\":\"a\"}",
            "cvoid scale(unsigned n, double v[static n], double by, const struct { int a; float b; } w[m], short m)",
            "cstruct { long a, b; } f(struct { int x; } s, int n, char text[n])",
        ],
        _ => &[
            "# 1 \"a.c\"\n# 1 \"/usr/include/stdio.h\" 1 3 4\nint puts(const char *);\n# 2 \"a.c\" 2\nint main(void);\n",
            "# 7 \"a.h\"\nstruct s { int a; };\n\nint f(int (*g)(char c)) ;\nchar a[2] = {';', '\"'}, *b = \"=;\", c;\n",
            "int f(char *p __attribute__((annotate(\"lockgate:\" \"size:(n)\")))) ;\n#define x\nint y = 3;\n",
            "# 1 \"\u{fc}.c\"\n# 1 \"/usr/include/\u{fc}.h\" 1 3\nint x;\n# 2 \"\u{fc}.c\" 2\nint y;\n",
        ],
    };
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// Calls with their answers, and one that writes in between.
fn calls() -> Vec<Vec<u8>> {
    let honest =
        [[1, 7, 0, 5], [2, 0, 0, 0], [4, 0, 0, 0], [5, 9, 0, 3], [1, 200, 0, 9], [2, 0, 0, 1], [4, 0, 0, 0]];
    let indices =
        [[1, 7, 0, 5], [0, 16, 0, 9], [2, 0, 0, 0], [0, 0, 1, 200], [4, 0, 0, 0], [3, 1, 0, 1], [4, 0, 0, 0]];
    let full =
        [[1, 1, 0, 0], [1, 2, 0, 0], [1, 3, 0, 0], [2, 0, 0, 0], [2, 0, 0, 1], [2, 0, 0, 0], [4, 0, 0, 0]];
    [honest, indices, full].map(|operations| operations.concat()).into()
}

/// Code as adversarial as the rules permit, and single units.
fn programs() -> Vec<Vec<u8>> {
    const SEEDS: u64 = 40;
    let mut generator = Generator::new(1);
    let place = |size| Place { address: PAGE, size, table: 2 * PAGE, image_end: 0x10_0000 };
    // What one rule alone refuses: a label's bytes as a constant, and an unchecked jump.
    const REFUSED: [&[u8]; 2] = [&[0xb8, 0xf3, 0x0f, 0x1e, 0xfa, 0xc3], &[0xff, 0xe0]];
    let programs = (0..SEEDS).map(|number| generator.make(&place(96 + 16 * number as usize)).text);
    programs.chain(REFUSED.map(<[u8]>::to_vec)).collect()
}

/// Modules with everything that a file can have, and domains that can be made of them.
fn modules() -> Vec<Vec<u8>> {
    use lockgate_abi::note;
    // f: endbr64; lea 1(%rdi),%rax; ret
    const ADDS: [u8; 9] = [0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8d, 0x47, 0x01, 0xc3];
    // f: endbr64; mov %gs:(%edi),%rax; jmp .
    const HANGS: [u8; 11] = [0xf3, 0x0f, 0x1e, 0xfa, 0x65, 0x67, 0x48, 0x8b, 0x07, 0xeb, 0xfe];
    // f: endbr64; call *%gs:gate 0; ret
    const CALLS: [u8; 13] = [0xf3, 0x0f, 0x1e, 0xfa, 0x65, 0xff, 0x14, 0x25, 0x00, 0x10, 0x01, 0x00, 0xc3];
    const SOURCE: &str = "abababababababababababababababababababababababababababababababab  f.c\n";
    let plain = ModuleFile { code: ADDS.to_vec(), room: 64, ..ModuleFile::default() };
    let files = [
        plain.clone(),
        ModuleFile { notes: vec![(note::EXPORTS, "long f(long)"), (note::SOURCES, SOURCE)], ..plain.clone() },
        ModuleFile {
            notes: vec![(note::IMPORTS, "16 void *host_log(const char *)\n17 tick")],
            ..plain.clone()
        },
        ModuleFile { relocations: vec![(0x70, 0x1000), (0x78, 0)], ..plain.clone() },
        ModuleFile { thread_local: true, code: CALLS.to_vec(), ..plain.clone() },
        ModuleFile { code: HANGS.to_vec(), notes: vec![(note::EXPORTS, "f")], ..plain },
    ];
    files.iter().map(ModuleFile::build).collect()
}

/// Each call with arguments that suit it, as [`crate::targets::syscalls`] takes them apart: small numbers, paths, places, flags.
fn system_calls() -> Vec<Vec<u8>> {
    const CURRENT: u8 = 241;
    const PLACE: u8 = 104;
    const FLAGS: u8 = 186;
    let index = |name: &str| {
        lockgate::syscall::TABLE.iter().position(|entry| entry.name == name).unwrap_or(255) as u8
    };
    let open_and = |path: u8, flags: u8, call: &str| {
        // No memory of its own; openat(AT_FDCWD, path, flags, 0644, 0, 0), then the call on what that gave, with 0x200 bytes at a place.
        let mut seed =
            vec![0, index("openat"), CURRENT, 64 + path, FLAGS, flags, 0, 0, 0, FLAGS, 0xa4, 1, 0, 0, 0, 0];
        seed.extend([index(call), 255, PLACE, 0, 2, FLAGS, 0x40, 0, 0, 0, 0, 0, 0]);
        seed
    };
    let mut seeds = Vec::new();
    for path in 0..20 {
        seeds.push(open_and(path, 0, "read"));
    }
    for call in [
        "write",
        "pwritev",
        "readv",
        "getdents64",
        "ftruncate",
        "fstat",
        "fsync",
        "dup",
        "fcntl",
        "lseek",
        "flock",
        "fchmod",
        "sendfile",
    ] {
        seeds.push(open_and(1, 0x42, call));
        seeds.push(open_and(0, 0, call));
    }
    // socket(family, type, 0), then bind or connect, with each address; listen, accept.
    const ADDRESS: u8 = 232;
    for (number, family) in [2, 2, 10, 2, 2, 2, 1, 1, 1].into_iter().enumerate() {
        for kind in [1, 2] {
            for call in ["bind", "connect"] {
                let mut seed = vec![0, index("socket"), family, kind, 0, 0, 0, 0];
                let length = if family == 1 { 128 } else { 28 };
                seed.extend([index(call), 255, ADDRESS + number as u8, FLAGS, length, 0, 0, 0, 0, 0, 0]);
                for call in ["listen", "accept4", "sendto"] {
                    seed.extend([
                        index(call),
                        0,
                        PLACE,
                        0,
                        2,
                        8,
                        0,
                        ADDRESS + number as u8,
                        FLAGS,
                        length,
                        0,
                        0,
                        0,
                    ]);
                }
                seeds.push(seed);
            }
        }
    }
    for entry in 0..lockgate::syscall::TABLE.len() as u8 {
        // With numbers, with a path and a place, with two paths.
        seeds.push(vec![
            0,
            entry,
            3,
            2,
            1,
            0,
            0,
            0,
            entry,
            64 + entry % 20,
            PLACE,
            0,
            2,
            8,
            0,
            0,
            0,
            entry,
            CURRENT,
            65,
            CURRENT,
            70,
            0,
            0,
        ]);
        // Somewhere in memory, for a page.
        seeds.push(vec![
            0,
            entry,
            0,
            FLAGS,
            0,
            16,
            0,
            0,
            3,
            226 + 5,
            5,
            0,
            0,
            entry,
            255,
            FLAGS,
            0,
            16,
            0,
            0,
            1,
            0,
            0,
            0,
        ]);
    }
    seeds
}

/// Any bytes: each of them is a choice.
fn choices() -> Vec<Vec<u8>> {
    let mut random = Random::new(1);
    let choices = |first: u8| {
        let rest = (0..40 + 8 * usize::from(first % 8)).map(|_| random.word() as u8);
        [first].into_iter().chain(rest).collect()
    };
    (0..60).map(choices).collect()
}

const SOURCES: [&str; 5] = [
    "int f(int a) { return a + 1; }",
    "extern int g(const char *); static int n; int f(int a) { n += a; return g(\"text\") + n; } int (*p)(int) = f;",
    "int f(int a, int *b) { switch (a) { case 0: return *b; case 1: return 7; case 2: return a * 3; case 3: *b = 2; return 9; case 4: return 11; \
     case 5: return a / 3; } return -1; }",
    "#include <string.h>\n_Thread_local int t; double f(double *a, int n, char *s) { double sum = 0; for (int i = 0; i < n; i++) sum += a[i]; \
     memset(s, 0, 512); t += n; return sum; }",
    "int g(char *); int f(int n) { char a[n]; char b[70000]; int r = g(a) + g(b); __builtin_memcpy(a, b, 200); return r + __builtin_popcount(r); }",
];

/// The object that gcc makes of a program in C.
fn compile(source: &str, flags: &[&str]) -> Result<Vec<u8>> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("a.c"), source)?;
    let mut gcc = Command::new("gcc");
    gcc.current_dir(&folder).args(["-c", "-w", "a.c", "-o", "a.o"]).args(flags);
    let status = gcc.status().context("starting gcc: scripts/setup.sh installs it")?;
    ensure!(status.success(), "gcc ended with {status}");
    Ok(std::fs::read(folder.path().join("a.o"))?)
}

const FLAGS: [&[&str]; 4] = [
    &["-O2", "-fno-asynchronous-unwind-tables", "-fcf-protection=none"],
    &["-O0", "-fPIC"],
    &["-O2", "-g", "-mavx2", "-ffunction-sections"],
    &["-Os", "-g", "-gdwarf-4", "-fexceptions"],
];

fn objects() -> Result<Vec<Vec<u8>>> {
    SOURCES.iter().flat_map(|source| FLAGS.iter().map(move |flags| compile(source, flags))).collect()
}

fn archives() -> Result<Vec<Vec<u8>>> {
    let folder = tempfile::tempdir()?;
    for (number, source) in SOURCES.iter().enumerate() {
        let object = compile(source, FLAGS[0])?;
        std::fs::write(folder.path().join(format!("m{number}.o")), &object)?;
        std::fs::write(folder.path().join(format!("member_with_a_long_name_{number}.o")), &object)?;
    }
    let archive = |members: &[&str]| {
        let path = folder.path().join("a.a");
        let _ = std::fs::remove_file(&path);
        let status = Command::new("ar").current_dir(&folder).args(["rcs", "a.a"]).args(members).status();
        ensure!(status.context("starting ar")?.success(), "ar failed");
        Ok(std::fs::read(&path)?)
    };
    [
        &["m0.o"][..],
        &["m0.o", "m1.o"],
        &["member_with_a_long_name_0.o"],
        &["m2.o", "member_with_a_long_name_1.o"],
    ]
    .iter()
    .map(|members| archive(members))
    .collect()
}

/// Objects and archives behind what [`crate::targets::link`] asks first: each alone, and joining a base.
fn links() -> Result<Vec<Vec<u8>>> {
    const ALL: [u8; 2] = [0, 5];
    const ONE: [u8; 2] = [3, 6];
    let objects =
        SOURCES.iter().map(|source| Ok((ALL, compile(source, FLAGS[0])?))).collect::<Result<Vec<_>>>()?;
    let archives = archives()?.into_iter().map(|archive| (ONE, archive));
    let inputs = objects.into_iter().chain(archives);
    Ok(inputs.flat_map(|(ways, input)| ways.map(|how| [&[how][..], &input].concat())).collect())
}

/// Code of objects behind what [`crate::targets::code`] asks first.
fn code() -> Result<Vec<Vec<u8>>> {
    let mut seeds = Vec::new();
    for object in objects()? {
        let file = object::File::parse(&*object)?;
        for section in file.sections().filter(|section| section.kind() == object::SectionKind::Text) {
            seeds.push(section.data()?.to_vec());
        }
    }
    seeds.extend(programs());
    seeds.retain(|code| !code.is_empty() && code.len() <= 700);
    // No symbols, no relocations, no table; then the code.
    Ok(seeds.into_iter().map(|code| [&[0, 0, 0], &code[..]].concat()).collect())
}

/// Sections of debug information, as [`crate::targets::dwarf`] takes them apart.
fn debug_information() -> Result<Vec<Vec<u8>>> {
    let inline = "static inline __attribute__((always_inline)) int g(int *p) { return *p + 1; } int f(int *p) { return g(p) + g(p + 1); }";
    let mut seeds = Vec::new();
    for flags in
        [&["-g", "-O2"][..], &["-g", "-gdwarf-4", "-O2"], &["-g1", "-O0"], &["-g", "-O2", "-gdwarf64"]]
    {
        for source in [SOURCES[0], inline] {
            let folder = tempfile::tempdir()?;
            std::fs::write(folder.path().join("a.c"), source)?;
            let mut gcc = Command::new("gcc");
            gcc.current_dir(&folder)
                .args(["-nostdlib", "-static-pie", "-Wl,-e,f", "-Wl,-Ttext=0", "a.c", "-o", "a"])
                .args(flags);
            ensure!(gcc.status().context("starting gcc")?.success(), "gcc failed");
            let bytes = std::fs::read(folder.path().join("a"))?;
            let file = object::File::parse(&*bytes)?;
            let mut seed = Vec::new();
            for name in dwarf::SECTIONS {
                let contents = file.section_by_name(name).map_or(Ok(&[][..]), |section| section.data())?;
                seed.extend((contents.len() as u16).to_le_bytes());
                seed.extend(contents);
            }
            seeds.push(seed);
        }
    }
    Ok(seeds)
}
