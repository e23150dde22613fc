//! Real programs with a shadow stack: SQLite, Lua, zstd, bzip2 and zlib of the corpus, in a domain, with a breakpoint at every `call` and every `ret` of the module.
//!
//! At each, the code is as it was built for one step, which the processor makes: a call must push the place behind it at rsp − 8, and a return pop the very word
//! that its own call pushed. Only *resume* (`longjmp`, unwinding) may leave calls out, and must come back with rsp = E of the right one (docs/returns.md).

use crate::shadow::{Broken, Shadow};
use crate::victim_sys::{BREAKPOINT, Registers, Stop, Victim, mark};
use anyhow::{Context, Result, bail, ensure};
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, OpKind};
use lockgate::syscall::{Access, Grants};
use lockgate::{DomainOptions, Module, Program};
use lockgate_abi::{code, gate, stack, window};
use lockgate_corpus::{Corpus, PROGRAMS};
use lockgate_toolchain::{Link, Sysroot, silent};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// What came of it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// Programs, by name, and what was seen of them.
    pub programs: BTreeMap<String, Seen>,
    /// Returns of all of them.
    pub returns: u64,
    /// Calls and returns that were not as they must be, and controls that were not noticed.
    pub violations: u64,
    /// One example of each kind.
    pub examples: Vec<String>,
}

/// Counts.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
pub struct Seen {
    /// Calls.
    pub calls: u64,
    /// Returns.
    pub returns: u64,
    /// *resume*: `longjmp`.
    pub resumes: u64,
    /// Deepest chain of calls.
    pub deepest: usize,
    /// Whether it was seen to its end.
    pub to_the_end: bool,
}

/// Programs and how much of each.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Small libraries only, which are compiled in seconds.
    pub small: bool,
    /// Calls and returns of each program at most.
    pub most: u64,
}

/// A program that throws at all depths, and has coroutines: its name, its source, and that of the library.
const LUA_THROWS: &str = "lua_throws";
const THROWS: &str = "bench/languages/lua/throws.c";
const LUA: &str = "lua";
/// Rounds of it.
const ROUNDS: &str = "200";
/// Compiled in seconds.
const SMALL: &[&str] = &[LUA, "bzip2"];

/// Runs the programs.
///
/// # Errors
/// The toolchain or the runtime do not work here, or processes cannot be traced.
pub fn run(effort: Effort) -> Result<Outcome> {
    let corpus = Corpus::locate()?;
    let sysroot = Sysroot::ensure(&silent)?;
    let folder = tempfile::tempdir()?;
    let mut outcome = Outcome::default();
    let throws = corpus.root().join(THROWS);
    let module = build(&corpus, &sysroot, folder.path(), LUA_THROWS, &throws, LUA)?;
    outcome.controls(&module)?;
    outcome.program(LUA_THROWS, &module, &[ROUNDS.to_owned()], effort.most)?;
    ensure!(outcome.programs[LUA_THROWS].resumes > 0, "no error was thrown: nothing is shown of resume");
    for program in PROGRAMS {
        let (_, driver, _) = corpus.program(program.name)?;
        let Some(library) = program.library.filter(|name| !effort.small || SMALL.contains(name)) else {
            continue;
        };
        let module = build(&corpus, &sysroot, folder.path(), program.driver, &driver, library)?;
        outcome.program(program.name, &module, &program.arguments(1), effort.most)?;
    }
    Ok(outcome)
}

/// The module `name` of a driver and a library, unless it has been built.
fn build(
    corpus: &Corpus,
    sysroot: &Sysroot,
    folder: &Path,
    name: &str,
    driver: &Path,
    library: &str,
) -> Result<PathBuf> {
    let module = folder.join(name).with_extension("lg");
    if module.exists() {
        return Ok(module);
    }
    let library = corpus.library(library)?;
    let mut link = Link::new(&module);
    // Libraries have files of the same names.
    let folder = folder.join(library.name);
    std::fs::create_dir_all(&folder)?;
    for source in [driver].into_iter().chain(library.sources.iter().map(PathBuf::as_path)) {
        let object = folder.join(source.file_name().context("a file")?).with_extension("o");
        if !object.exists() || source == driver {
            let mut compile = sysroot.tools().compiler();
            compile.args(library.flags()).args(["-O2", "-c"]).arg(source).arg("-o").arg(&object);
            compile.arg(format!("-I{}", corpus.root().join("bench/programs").display()));
            lockgate_corpus::done(&mut compile)?;
        }
        link.file(&object)?;
    }
    link.run(sysroot, &silent)?;
    Ok(module)
}

/// Runs one program, a module and its arguments, with this process's standard streams, and sees so many calls and returns of it.
///
/// # Errors
/// It cannot be run, or traced.
pub fn observe(command: &[String], most: u64) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let (module, arguments) = command.split_first().context("a module")?;
    let observer = Observer::start(Path::new(module), arguments, Stdio::inherit())?;
    outcome.see(module, observer, most)?;
    Ok(outcome)
}

/// The child: makes a domain of the module in its arguments, to which the current folder is granted, and runs it when the tracer has seen that.
///
/// # Errors
/// It cannot be loaded, or ends with an error.
pub fn victim(command: &[String]) -> Result<ExitCode> {
    let module = Module::open(command.first().context("a module")?)?;
    let grants = Grants::default().standard_streams()?.directory("/", ".", Access::ReadWrite)?;
    let program = Program::new(&module, DomainOptions::new().grants(grants).arguments(command))?;
    mark();
    Ok(ExitCode::from(program.run().outcome? as u8))
}

/// A place with a breakpoint.
#[derive(Clone, Copy)]
enum Site {
    Call { length: u64, is_gate: bool, is_resume: bool },
    Return,
}

/// A gate call that has not come back: where it may.
struct Gate {
    /// rsp and r11 before it, and the address behind it.
    rsp: u64,
    address: u64,
    behind: u64,
    /// Behind the label that *resume* leads to.
    label: Option<u64>,
    /// Breakpoints at both, and what was there.
    places: Vec<(u64, u8)>,
}

/// A program that runs, and what is known of it.
struct Observer {
    victim: Victim,
    base: u64,
    sites: HashMap<u64, (Site, u8)>,
    shadow: Shadow,
    gate: Option<Gate>,
    seen: Seen,
    /// For the controls: the word of the return with this number is replaced.
    forge_at: Option<u64>,
}

/// How an observation ended.
type Seeing = std::result::Result<(), (Broken, String)>;

impl Outcome {
    /// Sees so many calls and returns of a program.
    fn program(&mut self, name: &str, module: &Path, arguments: &[String], most: u64) -> Result<()> {
        self.see(name, Observer::start(module, arguments, Stdio::null())?, most)
    }

    fn see(&mut self, name: &str, mut observer: Observer, most: u64) -> Result<()> {
        if let Err((broken, example)) = observer.observe(most).with_context(|| name.to_owned())? {
            self.violate(format!("{name}: {broken:?}: {example}"));
        }
        self.returns += observer.seen.returns;
        self.programs.insert(name.to_owned(), observer.seen);
        Ok(())
    }

    /// A return whose word was changed must be noticed. A harness that cannot fail proves nothing.
    fn controls(&mut self, module: &Path) -> Result<()> {
        for at in [10, 1_000] {
            let mut observer = Observer::start(module, &[ROUNDS.to_owned()], Stdio::null())?;
            observer.forge_at = Some(at);
            match observer.observe(10_000)? {
                Err((Broken::Return, _)) => (),
                other => self.violate(format!("a return to another place is not noticed: {other:?}")),
            }
        }
        Ok(())
    }

    fn violate(&mut self, example: String) {
        self.violations += 1;
        self.examples.push(example);
    }
}

impl Observer {
    /// A program before its first instruction, with breakpoints.
    fn start(module: &Path, arguments: &[String], output: Stdio) -> Result<Observer> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("--victim").arg(module).args(arguments).stdout(output);
        let victim = Victim::start(&mut command).context("tracing a child")?;
        loop {
            match victim.go_on(0)? {
                Stop::Breakpoint => break,
                Stop::Ended { .. } => bail!("the program could not be loaded"),
                Stop::Signal(_) | Stop::Step => (),
            }
        }
        let base = base(victim.id())?;
        let module = lockgate_verify::Module::parse(&std::fs::read(module)?)?;
        let mut observer = Observer {
            victim,
            base,
            sites: HashMap::new(),
            shadow: Shadow::default(),
            gate: None,
            seen: Seen::default(),
            forge_at: None,
        };
        for segment in
            module.segments.iter().filter(|segment| segment.kind == lockgate_verify::SegmentKind::Code)
        {
            observer.sites(base + window::IMAGE + segment.address, segment.size as usize)?;
        }
        Ok(observer)
    }

    /// Finds calls and returns in code as it is mapped, by iced-x86 alone.
    fn sites(&mut self, address: u64, size: usize) -> Result<()> {
        let mut code = vec![0; size];
        self.victim.read(address, &mut code)?;
        for instruction in &mut Decoder::with_ip(64, &code.clone(), address, DecoderOptions::NONE) {
            if let Some(site) = site(&instruction) {
                let first = &mut code[(instruction.ip() - address) as usize];
                self.sites.insert(instruction.ip(), (site, std::mem::replace(first, BREAKPOINT)));
            }
        }
        ensure!(!self.sites.is_empty(), "no calls in the module");
        Ok(self.victim.write(address, &code)?)
    }

    /// Goes on until so many calls and returns are seen, or the program ends.
    fn observe(&mut self, most: u64) -> Result<Seeing> {
        let mut signal = 0;
        while self.seen.calls + self.seen.returns < most {
            match self.victim.go_on(std::mem::take(&mut signal))? {
                Stop::Breakpoint => {
                    let at = self.victim.now()?.rip - 1;
                    self.victim.set_rip(at)?;
                    let mut result = self.back_from_gate()?;
                    if let (Ok(()), Some(&(site, byte))) = (result, self.sites.get(&at)) {
                        (signal, result) = self.transfer(site, byte)?;
                    }
                    if let Err(broken) = result {
                        let now = self.victim.now()?;
                        return Ok(Err((broken, format!("{:#x} to {now:x?}", at - self.base))));
                    }
                }
                Stop::Signal(number) => signal = number,
                Stop::Step => (),
                Stop::Ended { well } => {
                    ensure!(well, "the program has failed");
                    self.seen.to_the_end = true;
                    break;
                }
            }
        }
        Ok(Ok(()))
    }

    /// One call or return, by the processor, and a signal that came meanwhile.
    fn transfer(&mut self, site: Site, byte: u8) -> Result<(i32, std::result::Result<(), Broken>)> {
        let before = self.victim.registers()?;
        if matches!(site, Site::Return) && self.forge_at == Some(self.seen.returns) {
            self.forge(before.rsp)?;
        }
        self.victim.write(before.rip, &[byte])?;
        let signal = self.victim.step()?;
        self.victim.write(before.rip, &[BREAKPOINT])?;
        let now = self.victim.now()?;
        let Site::Call { length, is_gate, is_resume } = site else {
            self.seen.returns += 1;
            return Ok((signal, self.shadow.ret(before.rsp, now, exit_of(before.rsp))));
        };
        self.seen.calls += 1;
        let behind = before.rip + length;
        let result = self.shadow.call(before.rsp, behind, now, self.victim.word(now.rsp)?);
        self.seen.deepest = self.seen.deepest.max(self.shadow.depth());
        if is_gate {
            self.wait_behind(&before, behind, is_resume)?;
        }
        Ok((signal, result))
    }

    /// What a gate does is the host's code: breakpoints where it may come back.
    fn wait_behind(&mut self, before: &Registers, behind: u64, is_resume: bool) -> Result<()> {
        // Behind the label's bytes, which the service reads.
        let label = self.base + (before.r10 & u64::from(u32::MAX));
        let label = is_resume.then(|| label + code::LABEL.len() as u64);
        let address = (before.rsp & !(stack::SLOT - 1)) | (before.r11 & (stack::SLOT - 1));
        let mut places = Vec::new();
        for place in [Some(behind), label].into_iter().flatten() {
            let mut byte = [0];
            self.victim.read(place, &mut byte)?;
            self.victim.write(place, &[BREAKPOINT])?;
            places.push((place, byte[0]));
        }
        self.gate = Some(Gate { rsp: before.rsp, address, behind, label, places });
        Ok(())
    }

    /// If a gate call has come back: whether it was to where it must.
    fn back_from_gate(&mut self) -> Result<std::result::Result<(), Broken>> {
        let Some(gate) = self.gate.take() else { return Ok(Ok(())) };
        for (place, byte) in gate.places.into_iter().rev() {
            self.victim.write(place, &[byte])?;
        }
        let now = self.victim.now()?;
        if Some(now.rip) == gate.label {
            self.seen.resumes += 1;
            return Ok(self.shadow.resumed(gate.address, now, exit_of(gate.rsp)));
        }
        // Anywhere else: the call has ended there, and another one has begun, which no program of these does.
        let is_behind = now.rip == gate.behind;
        Ok(self.shadow.ret(gate.rsp - 8, now, u64::MAX).and(if is_behind {
            Ok(())
        } else {
            Err(Broken::Exit)
        }))
    }

    /// Replaces the word that is about to be popped by the one of the caller's caller.
    fn forge(&self, rsp: u64) -> Result<()> {
        let word = self.victim.word(rsp)?;
        let other = self.sites.iter().find_map(|(&at, &(site, _))| match site {
            Site::Call { length, .. } if at + length != word => Some(at + length),
            _ => None,
        });
        self.victim.write(rsp, &other.context("another call")?.to_le_bytes())?;
        Ok(())
    }
}

/// Where the exit return address of an outermost call lies, for rsp in its slot.
fn exit_of(rsp: u64) -> u64 {
    (rsp & !(stack::SLOT - 1)) + stack::EXIT_RETURN
}

/// What an instruction is, if it calls or returns.
fn site(instruction: &Instruction) -> Option<Site> {
    const GATES: u64 = window::GATE_TABLE;
    let length = instruction.len() as u64;
    match instruction.flow_control() {
        FlowControl::Call => Some(Site::Call { length, is_gate: false, is_resume: false }),
        FlowControl::IndirectCall => {
            let is_gate = instruction.code() == Code::Call_rm64 && instruction.op0_kind() == OpKind::Memory;
            let is_resume = is_gate && instruction.memory_displacement64() == GATES + 8 * gate::RESUME;
            Some(Site::Call { length, is_gate, is_resume })
        }
        FlowControl::Return => Some(Site::Return),
        _ => None,
    }
}

/// The window that a process has: where it has the image of a module.
fn base(process: u32) -> Result<u64> {
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps"))?;
    let holds_image = |line: &str| {
        let (range, rest) = line.split_once(' ')?;
        let (from, to) = range.split_once('-')?;
        let [from, to] = [from, to].map(|text| u64::from_str_radix(text, 16).unwrap_or(0));
        let base = from & !(window::STRIDE - 1);
        let image = base + window::IMAGE;
        (rest.as_bytes().get(2) == Some(&b'x')
            && from >= base + window::THUNKS
            && (from..to).contains(&image))
        .then_some(base)
    };
    maps.lines().find_map(holds_image).context("the child has no window")
}
