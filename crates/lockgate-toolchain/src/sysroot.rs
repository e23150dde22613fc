//! The rewritten C library, start code and linker script that every module is linked with (docs/sysroot.md).

use crate::cache::{Cache, Key};
use crate::input::Input;
use crate::{CxxLibrary, Error, Progress, glue, process, tools::Tools};
use lockgate_abi::{code, context, gate, stack, window};
use lockgate_rewrite::Options;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// A source file of `sysroot/`.
pub(crate) struct Source {
    /// Path in the folder `sysroot`.
    pub(crate) path: &'static str,
    pub(crate) text: &'static str,
}

macro_rules! source {
    ($path:literal) => {
        $crate::sysroot::Source { path: $path, text: include_str!(concat!("../sysroot/", $path)) }
    };
}
pub(crate) use source;

/// Sources that others include.
pub(crate) const HEADERS: &[Source] = &[
    source!("libc/musl.h"),
    source!("libc/bytes.h"),
    source!("libc/biased.h"),
    source!("libc/call.h"),
    source!("libc/context.h"),
    source!("libc/fortify.h"),
    source!("libc/frames.h"),
    source!("start/start.h"),
];

/// Objects of every module, then that of programs only. Those in assembly are in the code model already.
const START: &[Source] = &[
    source!("start/zero.S"),
    source!("start/init.c"),
    source!("start/fini.c"),
    source!("start/thread.c"),
    source!("start/memory.c"),
    source!("start/main.c"),
];

/// Objects of a module that joins a domain.
const JOIN: &[Source] = &[source!("start/zero.S"), source!("start/join.c")];

/// Our own members of libc.a.
const LIBC: &[Source] = &[
    source!("libc/setjmp.S"),
    source!("libc/thread_area.S"),
    source!("libc/ucontext.S"),
    source!("libc/context.c"),
    source!("libc/fcontext_jump.S"),
    source!("libc/fcontext.c"),
    source!("libc/ffi.c"),
    source!("libc/process.c"),
    source!("libc/exit.c"),
    source!("libc/addresses.c"),
    source!("libc/dlerror.c"),
    source!("libc/signal.S"),
    source!("libc/dlsym.c"),
    source!("libc/glibc.c"),
    source!("libc/backtrace.c"),
    source!("libc/frames.c"),
    source!("libc/unwind.c"),
    source!("libc/unwind_c.c"),
    source!("libc/unwind_entry.S"),
    source!("libc/malloc.c"),
    source!("libc/memmove.c"),
    source!("libc/memcmp.c"),
    source!("libc/memchr.c"),
    source!("libc/strlen.c"),
    source!("libc/strcspn.c"),
    source!("libc/lock.c"),
    source!("libc/atomic.c"),
    source!("libc/lockfile.c"),
    source!("libc/mutex.c"),
    source!("libc/rwlock.c"),
    source!("libc/once.c"),
    source!("libc/all_threads.c"),
    source!("libc/thread_cancel.c"),
    source!("libc/thread_exit.c"),
    source!("libc/thread_join.c"),
    source!("libc/thread_stack.c"),
    source!("libc/timer_start.c"),
    source!("libc/fortify_fail.c"),
    source!("libc/fortify_string.c"),
    source!("libc/fortify_stdio.c"),
    source!("libc/fortify_system.c"),
];

/// Members of musl's libc.a that ours replace (docs/sysroot.md says why), without `.lo` or `.o`; of those that have one name,
/// the one that defines a symbol. tlsdesc has no replacement: only a dynamic linker uses it.
const REPLACED: &[&str] = &[
    "__lock",
    "__lockfile",
    "__set_thread_area",
    "__unmapself",
    "__wait",
    "calloc",
    "clone:__clone",
    "dlerror",
    "dlsym",
    "exit",
    "free:free",
    "longjmp",
    "memchr",
    "memcmp",
    "memcpy",
    "membarrier",
    "memmove",
    "pthread_cancel",
    "pthread_getattr_np",
    "pthread_join",
    "pthread_mutex_lock",
    "pthread_mutex_trylock",
    "pthread_mutex_unlock",
    "pthread_once",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock",
    "realloc:realloc",
    "restore",
    "setjmp",
    "siglongjmp",
    "sigsetjmp",
    "strcspn",
    "strlen",
    "synccall",
    TIMERS,
    "tlsdesc",
    "vfork",
];

/// Functions of musl's that ours of the same name call (`libc/addresses.c`, `libc/malloc.c`, `libc/thread_exit.c`), and those by which it takes locks of its
/// own as modules take theirs (`libc/rwlock.c`).
const RENAMED: &[(&str, &str)] = &[
    ("getaddrinfo", "__lg_addresses"),
    ("malloc_usable_size", "__lg_usable_size"),
    ("pthread_exit", "__lg_exit_thread"),
    ("pthread_rwlock_rdlock", "__pthread_rwlock_rdlock"),
    ("pthread_rwlock_wrlock", "__pthread_rwlock_wrlock"),
];

/// Members of libgcc.a that are left out, without `.o`: gcc's split stacks, which no module has.
const SPLIT_STACKS: &[&str] = &["generic-morestack", "generic-morestack-thread", "morestack"];

/// What musl's timer_create calls instead (`libc/timer_start.c`): its member is among ours.
const TIMERS: &str = "timer_create";
const OF_TIMERS: &[(&str, &str)] =
    &[("pthread_barrier_init", "__lg_meeting"), ("pthread_barrier_wait", "__lg_meet")];

const SCRIPT: Source = source!("module.ld");

/// How our sources are compiled: before there is a thread pointer no stack protector works, and no loop of memmove may
/// become a call of memmove. Exceptions pass functions that call a program's.
const FLAGS: &[&str] = &[
    "-O2",
    "-I.",
    "-ffreestanding",
    "-fexceptions",
    "-fno-stack-protector",
    "-fno-tree-loop-distribute-patterns",
];

/// The same for C++.
const CXX_FLAGS: &[&str] = &["-O2", "-std=c++17", "-I.", "-fno-stack-protector"];

/// Libraries that are part of musl's libc.a or of what we have beside it, or empty.
const LIBRARIES: &[&str] = &[
    "atomic", "c", "crypt", "dl", "gcc", "gcc_eh", "gcc_s", "m", "pthread", "resolv", "rt", "unwind", "util",
    "xnet",
];

/// Versions of musl whose inside `sysroot/libc/musl.h` describes, and whose allocator `malloc.c` has
/// behind it: 1.2.2 to 1.2.5.
const MUSL: RangeInclusive<u32> = 2..=5;

/// The rewritten sysroot, ready to link with.
#[derive(Debug, Clone)]
pub struct Sysroot {
    tools: Tools,
    cache: Cache,
    options: Options,
    folder: PathBuf,
}

impl Sysroot {
    /// Takes the sysroot from the user's cache, or builds it there: a few seconds, once.
    ///
    /// # Errors
    /// [`Error::Missing`] if gcc or musl is not installed; [`Error::Rewrite`] if this musl cannot be rewritten.
    pub fn ensure(progress: Progress<'_>) -> Result<Sysroot, Error> {
        Sysroot::ensure_in(Cache::open()?, Options::default(), progress)
    }

    /// A sysroot for modules in which wild pointers trap at the instruction that uses them.
    ///
    /// # Errors
    /// As [`Sysroot::ensure`].
    pub fn ensure_strict_bounds(progress: Progress<'_>) -> Result<Sysroot, Error> {
        Sysroot::ensure_in(Cache::open()?, Options { strict_bounds: true, ..Options::default() }, progress)
    }

    /// A sysroot in a cache of the caller's choice.
    ///
    /// # Errors
    /// As [`Sysroot::ensure`].
    pub fn ensure_in(cache: Cache, options: Options, progress: Progress<'_>) -> Result<Sysroot, Error> {
        let tools = Tools::find()?;
        let mut key = Key::new("sysroot");
        key.add(&[options.strict_bounds.into()]);
        key.add(process::run(tools.compiler().arg("--version"))?.as_bytes());
        let archives = Archives { libc: read(&tools.libc())?, libgcc: read(tools.libgcc())? };
        key.add(&archives.libc).add(&archives.libgcc);
        let build = Build { tools: &tools, options: &options, archives: &archives, progress };
        let folder = cache.entry(&key, |folder| build.run(folder))?;
        Ok(Sysroot { tools, cache, options, folder })
    }

    /// The compiler that the sysroot was built with.
    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    pub(crate) fn cache(&self) -> &Cache {
        &self.cache
    }

    /// How the sysroot was rewritten, and everything linked with it must be.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Its place in the cache, whose name stands for all that it is made from.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The linker script.
    pub(crate) fn script(&self) -> PathBuf {
        self.folder.join(SCRIPT.path)
    }

    /// The objects of `start/` that a module begins with: a program, a library, or one that joins a domain.
    pub(crate) fn start_files(&self, is_program: bool, joins: bool) -> impl Iterator<Item = PathBuf> {
        let count = START.len() - usize::from(!is_program);
        let files = if joins { JOIN } else { &START[..count] };
        files.iter().map(|source| self.folder.join(source.object()))
    }

    /// Our own members of libc, the C library, the compiler's library.
    pub fn archives(&self) -> impl Iterator<Item = PathBuf> {
        [OURS, "libc.a", "libgcc.a"].into_iter().map(|name| self.folder.join(name))
    }

    /// The compiler's library alone: its functions keep no state, and each module has its own.
    pub(crate) fn compiler_library(&self) -> PathBuf {
        self.folder.join("libgcc.a")
    }

    /// Names of the functions and objects of libc that programs may use.
    pub(crate) fn libc_names(&self) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        for archive in [OURS, "libc.a"] {
            let archive = Input::read(&self.folder.join(archive))?;
            names.extend(archive.functions());
            names.extend(archive.data());
        }
        Ok(names)
    }

    /// Whether every module is linked with `-lname` anyway.
    pub(crate) fn has_library(name: &str) -> bool {
        LIBRARIES.contains(&name)
    }
}

/// The archive of our own members of libc.
const OURS: &str = "liblockgate.a";

struct Archives {
    libc: Vec<u8>,
    libgcc: Vec<u8>,
}

/// One build of the sysroot.
struct Build<'a> {
    tools: &'a Tools,
    options: &'a Options,
    archives: &'a Archives,
    progress: Progress<'a>,
}

impl Build<'_> {
    fn run(&self, folder: &Path) -> Result<(), Error> {
        check_version(&self.archives.libc)?;
        let total = (self.archives.libc.len() + self.archives.libgcc.len()) as u64;
        for source in HEADERS.iter().chain(START).chain(JOIN).chain(LIBC).chain([&SCRIPT]) {
            write(&folder.join(source.path), source.text.as_bytes())?;
        }
        write(&folder.join("code-model.h"), code_model().as_bytes())?;
        for source in START.iter().chain(JOIN) {
            compile(self.tools, self.options, folder, source)?;
        }
        archive(self.tools, self.options, folder, OURS, LIBC)?;

        let renamed = folder.join("libc.a");
        rename(self.tools, RENAMED, &self.tools.libc(), &renamed)?;
        let libc = read(&renamed)?;
        self.adapt(folder, &libc, TIMERS, OF_TIMERS)?;
        let archives = [("libc.a", &libc, REPLACED), ("libgcc.a", &self.archives.libgcc, SPLIT_STACKS)];
        let mut before = 0;
        for (name, bytes, left_out) in archives {
            let exclude = members(bytes).flat_map(|(name, _)| excluded(&name, left_out)).collect();
            let options = Options { exclude, system_calls_as_calls: true, ..self.options.clone() };
            let mut tell = |done: usize, members: usize| {
                let share = bytes.len() as u64 * done as u64 / members.max(1) as u64;
                (self.progress)("rewriting the C library", before + share, total);
            };
            let rewritten = lockgate_rewrite::rewrite_archive(name, bytes, &options, &mut tell)?;
            write(&folder.join(name), &rewritten.bytes)?;
            before += bytes.len() as u64;
        }
        Ok(())
    }

    /// A copy of a member of libc's among ours, in which functions have other names.
    fn adapt(&self, folder: &Path, libc: &[u8], member: &str, names: &[(&str, &str)]) -> Result<(), Error> {
        let object = folder.join(member).with_extension("o");
        for (_, bytes) in members(libc).filter(|(name, _)| stem(name) == member) {
            write(&object, bytes)?;
            rename(self.tools, names, &object, &object)?;
            let options = Options { system_calls_as_calls: true, ..self.options.clone() };
            let rewritten = lockgate_rewrite::rewrite_object(member, &read(&object)?, &options)?;
            write(&object, &rewritten.bytes)?;
            process::run(self.tools.ar()?.current_dir(folder).args(["rD", OURS]).arg(&object))?;
        }
        Ok(())
    }
}

/// Compiles some of our sources, which are in `folder`, into the archive `name` there.
pub(crate) fn archive(
    tools: &Tools,
    options: &Options,
    folder: &Path,
    name: &str,
    sources: &[Source],
) -> Result<(), Error> {
    for source in sources {
        compile(tools, options, folder, source)?;
    }
    let objects = sources.iter().map(Source::object);
    process::run(tools.ar()?.current_dir(folder).args(["rcD", name]).args(objects)).map(drop)
}

/// A copy of an archive in which functions have other names.
pub(crate) fn rename(tools: &Tools, names: &[(&str, &str)], archive: &Path, to: &Path) -> Result<(), Error> {
    let mut objcopy = tools.binutil("objcopy")?;
    objcopy.arg("--enable-deterministic-archives");
    objcopy.args(names.iter().map(|(from, to)| format!("--redefine-sym={from}={to}")));
    process::run(objcopy.arg(archive).arg(to)).map(drop)
}

/// Compiles one of our sources, which is in `folder`. C is rewritten like any other; assembly is in the code model already.
fn compile(tools: &Tools, options: &Options, folder: &Path, source: &Source) -> Result<(), Error> {
    let object = folder.join(source.object());
    let (mut command, flags) = match source.path.ends_with(".cpp") {
        true => (tools.cxx_compiler(true, CxxLibrary::default())?, CXX_FLAGS),
        false => (tools.compiler(), FLAGS),
    };
    command.current_dir(folder).args(flags).args(["-c", source.path, "-o"]).arg(&object);
    process::run(&mut command)?;
    if !source.path.ends_with(".S") {
        let options = Options { system_calls_as_calls: true, ..options.clone() };
        let rewritten = lockgate_rewrite::rewrite_object(source.path, &read(&object)?, &options)?;
        write(&object, &rewritten.bytes)?;
    }
    Ok(())
}

impl Source {
    /// Name of its object, in the sysroot's folder.
    pub(crate) fn object(&self) -> String {
        let name = self.path.rsplit('/').next().unwrap_or(self.path);
        format!("{}.o", stem(name))
    }
}

/// What our assembly needs, as C macros: constants, and the start of a function that never moves rsp, for unwinders.
fn code_model() -> String {
    let constants = [
        ("OFF", i64::from(code::OFF)),
        ("SYSCALL", (window::GATE_TABLE + 8 * gate::SYSCALL) as i64),
        ("RESUME", (window::GATE_TABLE + 8 * gate::RESUME) as i64),
        ("CONTEXT", context::CALL as i64),
        ("CONTEXT_SELF", context::SELF as i64),
        ("CONTEXT_CREATE", context::CREATE as i64),
        ("CONTEXT_SWITCH", context::SWITCH as i64),
        ("CONTEXT_LEAVE", context::LEAVE as i64),
        ("CONTEXT_END", context::END as i64),
        ("THREAD_POINTER_DISP", stack::THREAD_POINTER_DISP.into()),
        ("WINDOW_SIZE", window::SIZE as i64),
        ("JOINED", window::JOINED as i64),
        ("STACKS", window::STACKS as i64),
        ("STACK_SLOT", stack::SLOT as i64),
        ("STACK_TOP", stack::TOP as i64),
    ]
    .map(|(name, value)| format!("#define LG_{name} {value}\n"));
    format!("{}#define LG_FUNCTION_START {}\n", constants.concat(), glue::leaf_frame())
}

/// Refuses a musl whose inside may differ from what `libc/musl.h` says.
fn check_version(libc: &[u8]) -> Result<(), Error> {
    let version =
        members(libc).find(|(name, _)| stem(name) == "version").and_then(|(_, object)| version(object));
    let known = version.as_deref().and_then(|version| version.strip_prefix("1.2.")?.parse::<u32>().ok());
    if known.is_some_and(|patch| MUSL.contains(&patch)) {
        return Ok(());
    }
    Err(Error::Missing {
        what: format!(
            "musl 1.2.{} to 1.2.{} (this one is {})",
            MUSL.start(),
            MUSL.end(),
            version.as_deref().unwrap_or("unknown")
        ),
        remedy: "install one of these and name it with LOCKGATE_MUSL".to_owned(),
    })
}

/// The version string in musl's version.o.
fn version(object: &[u8]) -> Option<String> {
    use object::{Object as _, ObjectSection as _};
    let file = object::File::parse(object).ok()?;
    let section =
        file.section_by_name(".rodata.__libc_version").or_else(|| file.section_by_name(".rodata"))?;
    let bytes = section.data().ok()?.split(|&byte| byte == 0).next()?;
    Some(String::from_utf8_lossy(bytes).into_owned())
}

/// Names and contents of an archive's members.
fn members(archive: &[u8]) -> impl Iterator<Item = (String, &[u8])> {
    let parsed = object::read::archive::ArchiveFile::parse(archive).ok();
    parsed.into_iter().flat_map(|archive| archive.members()).filter_map(move |member| {
        let member = member.ok()?;
        Some((String::from_utf8_lossy(member.name()).into_owned(), member.data(archive).ok()?))
    })
}

/// What the rewriter is told of the member `name`, if it may be one of `left_out`.
fn excluded(name: &str, left_out: &[&str]) -> Vec<String> {
    let own = left_out.iter().filter(|entry| entry.split(':').next() == Some(stem(name)));
    own.map(|entry| entry.split_once(':').map_or(name.to_owned(), |(_, symbol)| format!("{name}:{symbol}")))
        .collect()
}

fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    lockgate_outside::read(path).map_err(Error::io("read", path))
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    }
    std::fs::write(path, bytes).map_err(Error::io("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SectionKind};

    /// What musl waits by, and its members that do. The runtime knows who waits for a lock of libc's (docs/limits.md): by `__lock` and
    /// `__lockfile`, which are not listed, and where it says so here.
    const WAITS: &[(&str, &str)] = &[
        // Known by their words (`libc/lock.c`), or by how they are called: pthread_create also has a new thread wait for its maker.
        ("__wait", "pthread_create vmlock"),
        // Known by these names (`libc/rwlock.c`), of which the last two are made the first two ([`RENAMED`]).
        ("__pthread_rwlock_rdlock", "pthread_key_create"),
        ("__pthread_rwlock_wrlock", "pthread_key_create"),
        ("pthread_rwlock_rdlock", "aio lock_ptc"),
        ("pthread_rwlock_wrlock", "aio lock_ptc"),
        // What is a module's own.
        (
            "__wait",
            "pthread_barrier_destroy pthread_barrier_wait pthread_cond_destroy pthread_cond_timedwait",
        ),
        ("__timedwait", "pthread_mutex_timedlock pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock"),
        ("__timedwait_cp", "aio_suspend pthread_cond_timedwait sem_timedwait"),
        ("__pthread_mutex_timedlock", "mtx_timedlock"),
        ("mtx_timedlock", "mtx_lock"),
        ("pthread_mutex_lock", "pthread_cond_timedwait"),
        ("__pthread_cond_timedwait", "cnd_timedwait"),
        ("cnd_timedwait", "cnd_wait"),
        ("pthread_cond_timedwait", "pthread_cond_wait"),
        ("sem_timedwait", "sem_wait"),
        ("__pthread_once", "call_once"),
        ("__pthread_join", "pthread_detach thrd_join"),
        // A thread that libc has started for the caller, or is about to: a wait that only the caller's own time limit ends.
        ("pthread_barrier_wait", "mq_notify"),
        ("pthread_join", "mq_notify"),
        ("sem_wait", "aio mq_notify"),
        ("__wait", "aio"),
        ("pthread_cond_wait", "aio"),
        ("pthread_mutex_lock", "aio"),
        // Where all waits end, and wakes.
        (FUTEX, "__timedwait pthread_barrier_wait pthread_cond_timedwait pthread_mutex_timedlock"),
        (FUTEX, "pthread_cond_broadcast pthread_cond_destroy pthread_cond_signal pthread_create"),
        (FUTEX, "pthread_mutexattr_setprotocol pthread_rwlock_unlock sem_post vmlock"),
        (FUTEX, "aio fgetc fputc getc getchar putc putchar"),
    ];
    /// The system call itself.
    const FUTEX: &str = "futex";
    /// Further names of these.
    const OTHERS: &[&str] = &[
        "__pthread_mutex_lock",
        "pthread_mutex_timedlock",
        "__pthread_rwlock_timedrdlock",
        "__pthread_rwlock_timedwrlock",
        "pthread_rwlock_timedrdlock",
        "pthread_rwlock_timedwrlock",
        "pthread_once",
        "pthread_timedjoin_np",
        "mtx_lock",
        "cnd_wait",
    ];

    /// Whether code has the number of the system call as an operand: `mov $202, register` or `push $202`.
    fn has_futex(code: &[u8]) -> bool {
        const NUMBER: [u8; 4] = [202, 0, 0, 0];
        let loads = |before: &[u8]| matches!(before, [_, 0xb8..=0xbf | 0x68] | [0xc7, 0xc0..=0xc7]);
        code.windows(6).any(|bytes| loads(&bytes[..2]) && bytes[2..] == NUMBER)
    }

    /// A lock of libc's that an ended call holds is a fault for a thread that waits for it. Red if musl, of whichever version, waits in a place
    /// that was not looked at.
    #[test]
    fn all_waits_of_musls_are_known() {
        let tools = Tools::find().expect("a compiler and musl");
        let archive = read(&tools.libc()).expect("musl's archive");
        let is_listed = |name: &str, member: &str| {
            WAITS.iter().any(|(wait, whose)| *wait == name && whose.split(' ').any(|one| one == member))
        };
        let is_wait = |name: &str| WAITS.iter().any(|(wait, _)| *wait == name) || OTHERS.contains(&name);
        let (mut unknown, mut seen) = (Vec::new(), 0);
        for (name, bytes) in members(&archive) {
            let member = stem(&name);
            if REPLACED.iter().any(|entry| entry.split(':').next() == Some(member)) {
                continue;
            }
            let file = object::File::parse(bytes).expect("an object");
            let code = file.sections().filter(|section| section.kind() == SectionKind::Text);
            let calls = code.into_iter().any(|section| has_futex(section.data().expect("its bytes")));
            let names = file.symbols().filter(|symbol| symbol.is_undefined());
            let names = names.filter_map(|symbol| symbol.name().ok()).filter(|name| is_wait(name));
            for wait in names.chain(calls.then_some(FUTEX)) {
                seen += 1;
                if !is_listed(wait, member) {
                    unknown.push(format!("{member}: {wait}"));
                }
            }
        }
        assert!(unknown.is_empty() && seen > 30, "{seen}, and {unknown:?}");
    }
}
