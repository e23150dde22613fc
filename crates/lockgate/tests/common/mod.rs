//! Modules for tests: from C through the whole toolchain, or from assembly that is in the code model already.
#![allow(dead_code, reason = "each test program uses a part")]

pub mod host_sys;
pub mod recipe;

use lockgate::{CallError, CreateError, Domain, DomainOptions, FaultKind, Module};
use lockgate_toolchain::{CxxLibrary, Link, Sysroot, silent};
use recipe::Recipe;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub fn sysroot() -> &'static Sysroot {
    static SYSROOT: OnceLock<Sysroot> = OnceLock::new();
    SYSROOT.get_or_init(|| Sysroot::ensure(&silent).expect("the sysroot can be built"))
}

/// A module to be built.
pub struct Guest {
    steps: Vec<Step>,
}

/// What is done for it, in order.
enum Step {
    /// Compiles `source` in a file `name`, and adds the object: through the rewriter, or as it is if it is `verbatim`.
    Compile {
        command: Box<Command>,
        name: &'static str,
        source: String,
        verbatim: bool,
    },
    /// Adds an object or archive, through the rewriter.
    File(PathBuf),
    ExportAll,
    Export(String),
    Gate(String),
    Base,
    Join(PathBuf),
    /// Links the C++ library.
    Cxx,
}

impl Step {
    /// What the step adds to what the module is made of.
    fn add_to(&self, recipe: &mut Recipe) {
        match self {
            Step::Compile { command, name, source, verbatim } => {
                recipe.add("compile", format!("{command:?}")).add(name, source);
                recipe.add("verbatim", [u8::from(*verbatim)])
            }
            Step::File(path) => recipe.add("file", std::fs::read(path).expect("an input")),
            Step::ExportAll => recipe.add("export all", ""),
            Step::Export(prototype) => recipe.add("export", prototype),
            Step::Gate(prototype) => recipe.add("gate", prototype),
            Step::Base => recipe.add("base", ""),
            Step::Join(path) => recipe.add("join", std::fs::read(path).expect("a module")),
            Step::Cxx => recipe.add("C++", ""),
        };
    }

    /// Does it in `folder`.
    fn take(self, folder: &Path, link: &mut Link) {
        match self {
            Step::Compile { mut command, name, source, verbatim } => {
                let path = folder.join(name);
                std::fs::write(&path, source).expect("the scratch folder is writable");
                let object = path.with_extension("o");
                let output = command.arg("-c").arg(&path).arg("-o").arg(&object).output().expect("gcc runs");
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                match verbatim {
                    true => link.verbatim(&object).expect("an object"),
                    false => link.file(&object).expect("an object"),
                }
            }
            Step::File(path) => link.file(&path).expect("an object"),
            Step::ExportAll => link.export_all(true),
            Step::Export(prototype) => link.export(&prototype).expect("a prototype"),
            Step::Gate(prototype) => link.gate(&prototype).expect("a prototype"),
            Step::Base => link.base(true),
            Step::Join(path) => link.join(&path).expect("a module"),
            Step::Cxx => link.cxx(Some(CxxLibrary::default())),
        };
    }
}

impl Guest {
    /// How C is compiled unless a test says otherwise.
    pub const FLAGS: &'static [&'static str] = &["-O2", "-g1"];

    /// Nothing yet.
    pub fn new() -> Guest {
        Guest { steps: Vec::new() }
    }

    fn and(mut self, step: Step) -> Guest {
        self.steps.push(step);
        self
    }

    /// Compiles a source with these flags, which `command` does not have yet.
    fn compiled(
        self,
        mut command: Command,
        name: &'static str,
        source: &str,
        flags: &[&str],
        verbatim: bool,
    ) -> Guest {
        command.args(flags);
        self.and(Step::Compile { command: Box::new(command), name, source: source.to_owned(), verbatim })
    }

    /// From C; every global function is exported, by name alone unless [`Guest::export`] says more: `-g1` knows lines, but
    /// no types, so that a test may bind a function as it likes.
    pub fn c(source: &str) -> Guest {
        Guest::c_with(source, Guest::FLAGS)
    }

    /// The same, with these flags of gcc.
    pub fn c_with(source: &str, flags: &[&str]) -> Guest {
        let gcc = sysroot().tools().compiler();
        Guest::new().compiled(gcc, "guest.c", source, flags, false).and(Step::ExportAll)
    }

    /// From C++, if there is a compiler; every global function is exported.
    pub fn cxx(source: &str, flags: &[&str]) -> Option<Guest> {
        let Ok(command) = sysroot().tools().cxx_compiler(true, CxxLibrary::default()) else {
            support::skipped("a module in C++", "there is no g++");
            return None;
        };
        let guest = Guest::new().compiled(command, "guest.cc", source, flags, false);
        Some(guest.and(Step::ExportAll).and(Step::Cxx))
    }

    /// From assembly in the code model: verified, not rewritten.
    pub fn assembly(source: &str) -> Guest {
        Guest::new().assembled("guest.S", source).and(Step::ExportAll)
    }

    /// Adds assembly in the code model: verified, not rewritten.
    pub fn and_assembly(self, source: &str) -> Guest {
        self.assembled("assembly.S", source)
    }

    fn assembled(self, name: &'static str, source: &str) -> Guest {
        let text = format!("{}\n{source}\n", MACROS);
        self.compiled(sysroot().tools().compiler(), name, &text, &[], true)
    }

    /// Adds an object or archive, through the rewriter, whatever is in it.
    pub fn file(self, path: &Path) -> Result<Guest, lockgate_toolchain::Error> {
        Link::new("").file(path)?;
        Ok(self.and(Step::File(path.to_owned())).and(Step::ExportAll))
    }

    /// Notes a prototype.
    pub fn export(self, prototype: &str) -> Guest {
        self.and(Step::Export(prototype.to_owned()))
    }

    /// Imports a host function.
    pub fn gate(self, prototype: &str) -> Guest {
        self.and(Step::Gate(prototype.to_owned()))
    }

    /// Others may join its domains.
    pub fn base(self) -> Guest {
        self.and(Step::Base)
    }

    /// It joins the domain of the first of these modules. C needs `-fPIC`.
    pub fn join(mut self, modules: &[&Path]) -> Guest {
        self.steps.extend(modules.iter().map(|module| Step::Join((*module).to_owned())));
        self
    }

    /// The module's file, from an earlier run if there is one with the same recipe.
    pub fn build(self) -> Vec<u8> {
        let mut recipe = Recipe::new(sysroot());
        self.steps.iter().for_each(|step| step.add_to(&mut recipe));
        recipe.kept(|| self.try_build().unwrap_or_else(|error| panic!("{error}")))
    }

    /// The same, or why there is none; made anew each time.
    pub fn try_build(self) -> Result<Vec<u8>, lockgate_toolchain::Error> {
        let folder = tempfile::tempdir().expect("a scratch folder");
        self.link(folder.path()).run(sysroot(), &silent)?;
        Ok(std::fs::read(folder.path().join("guest.lg")).expect("a module"))
    }

    /// The module's file, also if the verifier rejects it.
    pub fn try_build_unverified(self) -> Result<Vec<u8>, lockgate_toolchain::Error> {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let name = match self.link(folder.path()).keep_rejected(true).run(sysroot(), &silent) {
            Err(lockgate_toolchain::Error::Rejected { .. }) => "guest.lg.rejected",
            Err(error) => return Err(error),
            Ok(_) => "guest.lg",
        };
        Ok(std::fs::read(folder.path().join(name)).expect("a module"))
    }

    fn link(self, folder: &Path) -> Link {
        let mut link = Link::new(folder.join("guest.lg"));
        self.steps.into_iter().for_each(|step| step.take(folder, &mut link));
        link
    }

    /// The verified module.
    pub fn module(self) -> Arc<Module> {
        Module::from_bytes(&self.build()).expect("a module that verifies")
    }

    /// A domain with default options.
    pub fn domain(self) -> Domain {
        self.domain_with(DomainOptions::new())
    }

    /// A domain.
    pub fn domain_with(self, options: DomainOptions) -> Domain {
        started(&self.module(), options.name("guest"))
    }
}

/// How often what a busy machine has cut short is tried again.
const TRIES: usize = 1000;

fn ran_out_of_time(error: &CallError) -> bool {
    error.fault().is_some_and(|fault| fault.kind() == FaultKind::TimeOut)
}

/// A domain. Its start, too, is within the time limit of its calls, which on a busy machine may pass before the module has had a processor:
/// another one then.
pub fn started(module: &Arc<Module>, options: DomainOptions) -> Domain {
    for _ in 0..TRIES {
        match Domain::new(module, options.clone()) {
            Err(CreateError::Start { source, .. }) if ran_out_of_time(&source) => {}
            made => return made.expect("a domain"),
        }
    }
    panic!("no domain starts within its time limit");
}

/// A call that needs a small part of its time limit, and may be made again: again, if a busy machine has let the limit pass.
pub fn in_time<T>(call: impl Fn() -> Result<T, CallError>) -> Result<T, CallError> {
    for _ in 0..TRIES {
        match call() {
            Err(error) if ran_out_of_time(&error) => {}
            ended => return ended,
        }
    }
    panic!("no call ends within its time limit");
}

/// For assembly guests: the offset of the data stack, functions with labels, and what several of them do.
const MACROS: &str = "
#define OFF 0x3f000000
.macro function name
.globl \\name
.type \\name,@function
\\name: endbr64
.endm
# All eight registers of the x87 stack are in use afterwards.
.macro fill_x87
.rept 8
fld1
.endr
.endm
# The control words become these.
.macro sets_mxcsr word
movl $\\word,-8-OFF(%rsp)
ldmxcsr -8-OFF(%rsp)
.endm
.macro sets_x87_control word
movw $\\word,-8-OFF(%rsp)
fldcw -8-OFF(%rsp)
.endm
# All that lies in the x87's registers, ored.
.macro reads_x87
fninit
movq %mm0,%rax
.irp number,1,2,3,4,5,6,7
movq %mm\\number,%rcx
or %rcx,%rax
.endr
emms
.endm
# A division by zero is pending in the x87, under a control word that does not mask it, below so many values.
.macro pending_x87 control=0x0040, values=6
fninit
movw $\\control,-8-OFF(%rsp)
fldz
fld1
fdiv %st(1),%st
.rept \\values
fld1
.endr
fldcw -8-OFF(%rsp)
.endm
# Functions of these names that return MXCSR, and the x87 control word.
.macro control_words mxcsr, control
function \\mxcsr
stmxcsr -8-OFF(%rsp)
mov -8-OFF(%rsp),%eax
ret
function \\control
fnstcw -8-OFF(%rsp)
movzwl -8-OFF(%rsp),%eax
ret
.endm
# A function that leaves something in the upper halves of vectors, and one that asks the processor, so that it is loaded where there is no AVX.
.macro fills_upper_halves
function asks
cpuid
ret
function upper_halves
vpcmpeqd %ymm0,%ymm0,%ymm0
ret
.endm
# The smallest frame of a function that calls another one; and its end.
.macro begins_frame
lea -8(%rsp),%rsp
mov %rax,-OFF(%rsp)
.endm
.macro ends_frame_and_returns
lea 8(%rsp),%rsp
mov %rcx,-OFF(%rsp)
ret
.endm
# A function that calls the first import, and this function of the module before, if any.
.macro asks_host name, first
function \\name
begins_frame
.ifnb \\first
call \\first
.endif
call *%gs:0x11080
ends_frame_and_returns
.endm
.text
";

/// How many steps the tests of random programs take together: as LOCKGATE_RANDOM_STEPS says, or a few.
pub fn random_steps(few: u64) -> u64 {
    std::env::var("LOCKGATE_RANDOM_STEPS").map_or(few, |steps| steps.parse().expect("a number of steps"))
}

/// What this thread has used of a processor: on a busy machine, less than the time that has passed.
pub fn processor_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// One line of /proc/self/maps.
#[derive(Debug, Clone)]
pub struct Mapping {
    pub start: u64,
    pub end: u64,
    /// `r`, `w`, `x`, `p` or dashes.
    pub rights: String,
    pub path: String,
}

impl Mapping {
    pub fn accessible(&self) -> bool {
        !self.rights.starts_with("---")
    }
}

/// The mappings of this process that overlap `[start, end)`, in order.
pub fn mappings(start: u64, end: u64) -> Vec<Mapping> {
    let text = std::fs::read_to_string("/proc/self/maps").expect("/proc is mounted");
    let parse = |line: &str| {
        let mut words = line.split_whitespace();
        let (from, to) = words.next()?.split_once('-')?;
        let hex = |text| u64::from_str_radix(text, 16).ok();
        let rights = words.next()?.to_owned();
        Some(Mapping {
            start: hex(from)?,
            end: hex(to)?,
            rights,
            path: words.nth(3).unwrap_or_default().to_owned(),
        })
    };
    text.lines().filter_map(parse).filter(|m| m.end > start && m.start < end).collect()
}

/// What the kernel says of the mapping at `address` behind `name` (proc_pid_smaps(5)); nothing, if there is no such mapping.
pub fn detail(address: u64, name: &str) -> String {
    let text = std::fs::read_to_string("/proc/self/smaps").expect("/proc is mounted");
    let mut inside = false;
    for line in text.lines() {
        if let Some((start, rest)) = line.split_once('-')
            && let (Ok(start), Some(end)) = (u64::from_str_radix(start, 16), rest.split(' ').next())
            && let Ok(end) = u64::from_str_radix(end, 16)
        {
            inside = (start..end).contains(&address);
        }
        if inside && let Some(detail) = line.strip_prefix(name) {
            return detail.trim().to_owned();
        }
    }
    String::new()
}

/// Words of this process's memory, whatever its rights; `None` where nothing is mapped.
pub fn peek(at: u64, words: usize) -> Option<Vec<u64>> {
    let bytes = peek_bytes(at, words * 8)?;
    Some(bytes.chunks_exact(8).map(|w| u64::from_le_bytes(w.try_into().expect("eight bytes"))).collect())
}

/// Bytes of this process's memory, likewise.
pub fn peek_bytes(at: u64, length: usize) -> Option<Vec<u8>> {
    use std::os::unix::fs::FileExt;
    let file = std::fs::File::open("/proc/self/mem").expect("/proc is mounted");
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, at).ok()?;
    Some(bytes)
}

/// While it lives, the test program may take this long to come to the end of an attack.
#[must_use]
pub struct Watchdog {
    /// Its end tells the thread that waits for it.
    _end: Sender<()>,
}

/// For attacks that never come back where the protection is missing, not even to a panic: the test program is
/// aborted then, after far longer than any test takes.
pub fn watchdog(attack: &'static str) -> Watchdog {
    // Less than the mutants' limit, at which a test counts as hung. A sanitizer looks after each of a stride's pages.
    const LIMIT: Duration = Duration::from_secs(if cfg!(lockgate_sanitized) { 600 } else { 60 });
    let (_end, ended) = channel();
    std::thread::spawn(move || {
        if ended.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
            eprintln!("{attack}: not over after {LIMIT:?}");
            std::process::abort();
        }
    });
    Watchdog { _end }
}

/// A process of this test program's that runs the test `name`, `suite::test`, alone.
///
/// Panics if there is none: the program would run no test, and succeed.
pub fn own_test(name: &str) -> Command {
    static TESTS: OnceLock<String> = OnceLock::new();
    let program = std::env::current_exe().expect("the test program's path");
    let tests = TESTS.get_or_init(|| {
        let list = Command::new(&program).args(["--list", "--format", "terse"]).output();
        String::from_utf8(list.expect("the test program runs").stdout).expect("names")
    });
    let is_there = tests.lines().any(|line| line.strip_suffix(": test") == Some(name));
    assert!(is_there, "there is no test {name}");
    let mut command = Command::new(program);
    command.args(["--exact", name, "--test-threads", "1"]);
    command
}

/// Runs the test `name`, which is ignored in ordinary runs, in a process of its own.
pub fn in_child(name: &str) -> std::process::Output {
    own_test(name).args(["--ignored", "--nocapture"]).output().expect("the test program runs")
}

/// C functions that tell whether frames stay what they are: each of `deep`, a name and what it calls, has live frames during that and
/// says if they have changed; `smash` overwrites all that it finds below it; `where` says how deep the stack is.
#[allow(dead_code, reason = "not every test looks at frames")]
pub fn frames(deep: &[(&str, &str)]) -> String {
    let mut source = "
        __attribute__((noinline)) long smash(long x) {
            volatile long hole[100];
            for (int i = 0; i < 100; i++) hole[i] = 0x5a5a5a5a;
            return x < 20 ? smash(x + 1) : hole[x];
        }
        long where(void) { return (long)__builtin_frame_address(0); }"
        .to_owned();
    for (name, call) in deep {
        source += &format!(
            "
        long {name}(long x) {{
            volatile long kept[8];
            for (int i = 0; i < 8; i++) kept[i] = x + i;
            long sum = {call};
            for (int i = 0; i < 8; i++) sum += kept[i] != x + i;
            return sum;
        }}"
        );
    }
    source
}

/// Calls the first import from an outermost function, whose stack arguments are ten words. On a thread's stacks that is not the domain's
/// first there is no room for so many: they end in the guard.
#[allow(dead_code, reason = "not every test has such arguments")]
pub const ASK_FROM_THE_TOP: &str = "function ask
        call *%gs:0x11080
        ret";

/// The argument of that import.
#[allow(dead_code, reason = "as above")]
pub const TEN_WORDS: &str = "struct { long words[10]; }";

/// Asks on a thread of its own: how that ended.
#[allow(dead_code, reason = "as above")]
pub fn ask_from_the_top(client: &Domain) -> CallError {
    let ask = client.bind::<extern "C" fn() -> i64>("ask").expect("an export");
    std::thread::spawn(move || ask.call().expect_err("arguments in the guard")).join().expect("no panic")
}

/// The prototype of a server's `name` for `client`'s import, as the import's note has it: what a host says where the server's module says
/// nothing.
#[allow(dead_code, reason = "not every test links")]
pub fn said(client: &Domain, import: &str, name: &str) -> String {
    let module = client.module();
    let noted = module.imports().find(|(known, _)| *known == import).and_then(|(_, noted)| noted);
    let noted: lockgate::signature::Signature = noted.expect("a noted import").parse().expect("a prototype");
    lockgate::signature::Signature { name: name.to_owned(), ..noted }.to_string()
}
