//! The same programs in real domains: loaded, called by a host that distrusts them, and called again. Nothing of the host, and nothing of another domain, may change.
//!
//! One module is made by the toolchain, with libc and all, and with room for code and for a switch table; each program is written into a copy of its file, which the
//! runtime then verifies and loads like any other. System calls and gates are the runtime's real ones.

use crate::adversarial::{Generator, Place, TABLE};
use crate::machine_asm::{Kept, call_kept, rudeness_is_noticed};
use crate::random::Random;
use anyhow::{Context, Result, ensure};
use lockgate::{Domain, DomainOptions, Policy, take_call_error};
use lockgate_toolchain::{Link, Sysroot, silent};
use object::{Object, ObjectSegment};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// What came of it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// Modules loaded.
    pub modules: u64,
    /// Modules that the verifier rejected (label bytes by chance).
    pub refused: u64,
    /// Calls.
    pub calls: u64,
    /// Calls that returned a value.
    pub returned: u64,
    /// Calls that ended in a fault, and why, in the runtime's words.
    pub faults: BTreeMap<String, u64>,
    /// Changes outside the domain.
    pub violations: u64,
    /// One example of each kind, with their number.
    pub kinds: BTreeMap<String, (u64, String)>,
}

impl Outcome {
    /// Adds what another process found.
    pub fn add(&mut self, other: Outcome) {
        self.modules += other.modules;
        self.refused += other.refused;
        self.calls += other.calls;
        self.returned += other.returned;
        self.violations += other.violations;
        for (reason, number) in other.faults {
            *self.faults.entry(reason).or_default() += number;
        }
        for (kind, (number, example)) in other.kinds {
            self.kinds.entry(kind).or_insert((0, example)).0 += number;
        }
    }

    fn violate(&mut self, kind: &str, example: String) {
        self.violations += 1;
        self.kinds.entry(kind.to_owned()).or_insert((0, example)).0 += 1;
    }
}

/// What the table is filled with.
const MARK: u8 = 0xab;
/// Room for a program.
const TEXT: usize = 8192;
/// A call may take this long: many programs are loops.
const LIMIT: Duration = Duration::from_millis(10);
/// The limit holds for the module's own start, too: on a busy machine it takes more than one attempt.
const ATTEMPTS: u32 = 100;
const CALLS: u64 = 3;

/// What the host and another domain have, and must have unchanged after each program.
struct Canaries {
    memory: Vec<Vec<u8>>,
    neighbour: Domain,
    words: lockgate::Pointer<u64>,
}

const NEIGHBOUR: &str = "
.text
.globl adversarial
.type adversarial,@function
adversarial: endbr64
lea 1(%rdi),%rax
ret
";
const BYTE: u8 = 0x5a;
const PATTERN: u64 = 0x5afe_5afe_5afe_5afe;
const WORDS: usize = 4096;

/// Loads and calls programs. In a process of its own.
///
/// # Errors
/// The toolchain or the runtime do not work here.
pub fn run(modules: u64, seed: u64) -> Result<Outcome> {
    let sysroot = Sysroot::ensure(&silent)?;
    // (It asks the processor, as code for several does: else it were not loaded where there is no AVX-512.)
    let room = format!(
        ".text\n.globl adversarial\n.type adversarial,@function\nadversarial: endbr64\n.fill {},1,0xcc\nasks: cpuid\nret\n.section .rodata\n.p2align 2\n.fill {},1,{MARK}\n",
        TEXT - 4,
        TABLE
    );
    let mut file = build(&sysroot, &room)?;
    let place = place(&file)?;
    let mut canaries = Canaries::new(&build(&sysroot, NEIGHBOUR)?)?;
    canaries.must_notice()?;
    let mut generator = Generator::new(seed);
    let mut outcome = Outcome::default();
    while outcome.modules < modules {
        let adversarial = generator.make(&place.code);
        file[place.text_at..place.text_at + TEXT].copy_from_slice(&adversarial.text);
        file[place.table_at..place.table_at + TABLE].copy_from_slice(&adversarial.table);
        match lockgate::Module::from_bytes(&file) {
            Ok(module) => outcome.program(&module, &mut generator.random)?,
            Err(lockgate::LoadError::Rejected { .. }) => {
                outcome.refused += 1;
                continue;
            }
            Err(error) => return Err(error.into()),
        }
        if let Some(what) = canaries.changed() {
            outcome.violate(what, format!("seed {seed}, module {}", outcome.modules));
        }
    }
    Ok(outcome)
}

/// Assembles and links, without rewriting.
fn build(sysroot: &Sysroot, source: &str) -> Result<Vec<u8>> {
    let folder = tempfile::tempdir()?;
    let (input, object, module) = (
        folder.path().join("adversarial.s"),
        folder.path().join("adversarial.o"),
        folder.path().join("adversarial.lg"),
    );
    std::fs::write(&input, source)?;
    let status = sysroot.tools().compiler().arg("-c").arg(&input).arg("-o").arg(&object).status()?;
    ensure!(status.success(), "the assembler ended with {status}");
    let mut link = Link::new(&module);
    link.verbatim(&object)?.export_all(true);
    link.run(sysroot, &silent)?;
    Ok(std::fs::read(module)?)
}

/// Where a program goes.
struct Room {
    code: Place,
    /// Offsets in the file.
    text_at: usize,
    table_at: usize,
}

fn place(file: &[u8]) -> Result<Room> {
    let module = lockgate_verify::Module::parse(file)?;
    let function = module
        .exports
        .iter()
        .find(|export| export.name == "adversarial")
        .context("the module exports no 'adversarial'")?;
    let find = |segment: &lockgate_verify::Segment| {
        let at = segment.bytes.windows(TABLE).position(|bytes| bytes.iter().all(|byte| *byte == MARK))?;
        Some(segment.address + at as u64)
    };
    let (address, table) =
        (function.address, module.segments.iter().find_map(find).context("the module has no table")?);
    let elf = object::File::parse(file)?;
    let offset = |address: u64| {
        let segments = elf.segments();
        let offset = |segment: object::Segment<'_, '_>| {
            let (at, size) = segment.file_range();
            let skip = address.checked_sub(segment.address()).filter(|skip| *skip < size)?;
            Some((at + skip) as usize)
        };
        segments.into_iter().find_map(offset).context("a symbol outside all segments")
    };
    Ok(Room {
        text_at: offset(address)?,
        table_at: offset(table)?,
        code: Place { address, size: TEXT, table, image_end: module.image_size },
    })
}

impl Outcome {
    fn program(&mut self, module: &std::sync::Arc<lockgate::Module>, random: &mut Random) -> Result<()> {
        self.modules += 1;
        let options = DomainOptions::new().name("adversarial").time_limit(LIMIT);
        let mut domain = Domain::new(module, options.clone());
        for _ in 1..ATTEMPTS {
            match domain {
                Ok(_) => break,
                Err(_) => domain = Domain::new(module, options.clone()),
            }
        }
        let domain = domain?;
        let function = domain.bind_dynamic_with(
            "long adversarial(long, long, long, long, long, long)",
            Policy::MUTUAL_DISTRUST,
        )?;
        const HEAP: usize = 1 << 16;
        let heap = domain.alloc::<u8>(HEAP).map_or(0, |pointer| pointer.address());
        for _ in 0..CALLS {
            let arguments = std::array::from_fn(|_| match random.below(6) {
                0 => random.word(),
                1 => random.below(1 << 32),
                2..=4 => heap + random.below(HEAP as u64),
                _ => random.below(256),
            });
            let (_, kept) = call_kept(&function, &arguments);
            self.calls += 1;
            if kept != Kept::default() {
                self.violate("registers of the host", format!("{kept:x?} after {arguments:x?}"));
            }
            match take_call_error() {
                None => self.returned += 1,
                Some(error) => {
                    let reason = error
                        .fault()
                        .map_or_else(|| "other".to_owned(), |fault| format!("{:?}", fault.kind()));
                    *self.faults.entry(reason).or_default() += 1;
                }
            }
        }
        Ok(())
    }
}

impl Canaries {
    fn new(neighbour: &[u8]) -> Result<Canaries> {
        const SIZES: [usize; 6] = [64, 4096, 1 << 16, 1 << 18, 1 << 20, 1 << 12];
        let neighbour =
            Domain::new(&lockgate::Module::from_bytes(neighbour)?, DomainOptions::new().name("neighbour"))?;
        let words = neighbour.alloc_slice(&[PATTERN; WORDS])?;
        Ok(Canaries { memory: SIZES.map(|size| vec![BYTE; size]).to_vec(), neighbour, words })
    }

    /// Every canary notices: a harness that cannot fail proves nothing.
    fn must_notice(&mut self) -> Result<()> {
        ensure!(self.changed().is_none() && rudeness_is_noticed(), "registers or canaries are not watched");
        let last = self.memory.last_mut().and_then(|memory| memory.last_mut()).context("memory")?;
        *last ^= 1;
        ensure!(self.changed() == Some("memory of the host"), "a changed byte of the host is not noticed");
        self.memory.iter_mut().flatten().for_each(|byte| *byte = BYTE);
        self.neighbour.write(self.words, 0)?;
        ensure!(
            self.changed() == Some("memory of another domain"),
            "a changed word of another domain is not noticed"
        );
        self.neighbour.write(self.words, PATTERN)?;
        Ok(())
    }

    /// What is not as it was.
    fn changed(&self) -> Option<&'static str> {
        if self.memory.iter().any(|memory| *memory != vec![BYTE; memory.len()]) {
            return Some("memory of the host");
        }
        let words = self.neighbour.read_slice(self.words, WORDS);
        if !words.is_ok_and(|words| words.check(|words| **words == [PATTERN; WORDS]).is_some()) {
            return Some("memory of another domain");
        }
        let answer = self
            .neighbour
            .bind::<extern "C" fn(i64) -> i64>("adversarial")
            .ok()
            .and_then(|f| f.call(41).ok());
        (answer != Some(42)).then_some("another domain's code")
    }
}
