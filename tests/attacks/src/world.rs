//! A host with something to lose, and what an attacker is told about it.
use crate::build;
use crate::common::{Guest, Mapping, host_sys, mappings, peek_bytes};
use crate::expect::Ending;
use crate::list::{Aim, Argument, Attack};
use anyhow::{Context, Result, bail, ensure};
use lockgate::{CallError, Domain, DomainOptions, FaultKind, Module, Pointer, Policy, take_call_error};
use lockgate_abi::window;
use lockgate_evidence::{Kept, call_kept};
use memchr::memmem;
use std::hash::{BuildHasher, Hasher};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Memory that an attacker gets for itself ([`Aim::Own`]), bytes.
pub const OWN: usize = 4096;
/// Sizes of the host's blocks of memory, bytes: the allocator keeps them in different places.
const SIZES: [usize; 6] = [64, 4096, 1 << 16, 1 << 18, 1 << 20, 1 << 12];
/// What the blocks hold.
pub const BYTE: u8 = 0x5a;
/// Words of the neighbour's memory that an attacker must not change.
const WORDS: usize = 512;
/// An offset in the window's null guard.
const NOTHING: u64 = 0x1230;
/// What the neighbour's memory holds.
const PATTERN: u64 = 0x5afe_5afe_5afe_5afe;

/// Everything around an attack: the host's secret, a neighbouring domain, files that nobody was granted.
pub struct World {
    /// The attack.
    pub attack: Attack,
    /// A word that no module can know, many times. Whoever has it has read the host's memory.
    pub secret: Box<[u64; OWN / 8]>,
    /// Memory that nobody uses.
    pub memory: Vec<Vec<u8>>,
    /// Another domain.
    pub neighbour: Neighbour,
    /// `outside/secret.txt`, which no domain may reach, beside `granted/`, which scenarios may grant.
    pub files: tempfile::TempDir,
    /// State of the caller that a call has changed.
    pub kept: Vec<Kept>,
    /// What the host computed on the x87, with all of its registers, after each call.
    pub x87_sums: Vec<f64>,
}

/// A domain that has nothing to do with the attack.
pub struct Neighbour {
    /// Itself.
    pub domain: Domain,
    words: Pointer<u64>,
}

/// Set if a module ever manages to run the host's code.
static REACHED: AtomicBool = AtomicBool::new(false);

/// A function of the host that it gives to nobody ([`Aim::Code`]).
pub extern "C" fn out_of_reach() -> i64 {
    REACHED.store(true, Ordering::SeqCst);
    0
}

impl World {
    /// The world of one attack.
    ///
    /// # Errors
    /// Domains do not work here.
    pub fn new(attack: Attack) -> Result<World> {
        let files = tempfile::tempdir()?;
        for folder in ["granted", "outside"] {
            std::fs::create_dir(files.path().join(folder))?;
            std::fs::write(files.path().join(folder).join("secret.txt"), folder)?;
        }
        let secret = std::collections::hash_map::RandomState::new().build_hasher().finish();
        let neighbour = Neighbour::new()?;
        let memory = SIZES.map(|size| vec![BYTE; size]).to_vec();
        Ok(World {
            attack,
            secret: Box::new([secret; OWN / 8]),
            memory,
            neighbour,
            files,
            kept: Vec::new(),
            x87_sums: Vec::new(),
        })
    }

    /// The attack's module, for scenarios whose modules are accepted.
    ///
    /// # Errors
    /// It was refused.
    pub fn module(&self) -> Result<Arc<Module>> {
        build::module(&self.attack)?.or_else(|ending| bail!("the module was to be accepted: {ending}"))
    }

    /// A domain of that module, with [`World::options`].
    ///
    /// # Errors
    /// It could not be created.
    pub fn domain(&self) -> Result<Domain> {
        Ok(Domain::new(&self.module()?, self.options())?)
    }

    /// Options of a domain as `attack.toml` says.
    pub fn options(&self) -> DomainOptions {
        DomainOptions::new()
            .name("attacker")
            .time_limit(Duration::from_millis(self.attack.description.call.time_limit))
    }

    /// Lets the module attack once, as `attack.toml` says.
    ///
    /// # Errors
    /// The function cannot be bound; or the module has got hold of the secret.
    pub fn attack(&mut self, domain: &Domain) -> Result<Ending> {
        let arguments = &self.attack.description.call.arguments;
        let needs_own = |argument: &Argument| matches!(argument, Argument::Aim(Aim::Own | Aim::Lucky));
        let mut own = 0;
        if arguments.iter().any(needs_own) {
            // The module's own allocator: it may be the attack.
            match domain.alloc_slice(&[0_u8; OWN]) {
                Ok(memory) => own = memory.address(),
                Err(error) => return Ok(Ending::Refused(error.to_string())),
            }
        }
        let mut words = [0; 6];
        ensure!(arguments.len() <= words.len(), "more than six arguments");
        for (word, argument) in words.iter_mut().zip(arguments) {
            *word = self.aim(*argument, domain, own);
        }
        let function = self.attack.description.call.function.clone();
        self.call(domain, &function, words)
    }

    /// Calls a function of words as the most suspicious of hosts, and looks for the secret afterwards.
    ///
    /// # Errors
    /// As [`World::attack`].
    pub fn call(&mut self, domain: &Domain, function: &str, words: [u64; 6]) -> Result<Ending> {
        let prototype = format!("long {function}(long, long, long, long, long, long)");
        let function = domain.bind_dynamic_with(&prototype, Policy::MUTUAL_DISTRUST)?;
        let (value, kept) = call_kept(&function, &words);
        self.kept.push(kept);
        self.x87_sums.push(host_sys::x87_sum());
        ensure!(value != self.secret[0], "the module has returned the host's secret");
        let ending = match take_call_error() {
            None => Ending::Returned(value as i64),
            Some(error) => ending(error),
        };
        self.keep_secret(domain)?;
        Ok(ending)
    }

    /// Looks through all that the domain can read, and its control stacks.
    ///
    /// # Errors
    /// The secret is there.
    pub fn keep_secret(&self, domain: &Domain) -> Result<()> {
        let secret = self.secret[0].to_le_bytes();
        let readable = mappings(domain.base(), domain.base() + window::STRIDE).into_iter();
        for mapping in readable.filter(Mapping::accessible) {
            // Beyond the end of a granted file.
            let Some(bytes) = peek_bytes(mapping.start, (mapping.end - mapping.start) as usize) else {
                continue;
            };
            if let Some(at) = memmem::find(&bytes, &secret) {
                let offset = mapping.start - domain.base() + at as u64;
                bail!("the host's secret lies in the domain, at window offset {offset:#x}");
            }
        }
        Ok(())
    }

    fn aim(&self, argument: Argument, domain: &Domain, own: u64) -> u64 {
        let secret = self.secret.as_ptr() as u64;
        match argument {
            Argument::Number(number) => number as u64,
            Argument::Aim(Aim::Secret) => secret,
            Argument::Aim(Aim::Lucky) => secret & !0xffff_ffff | own & 0xffff_ffff,
            Argument::Aim(Aim::Unlucky) => secret & !0xffff_ffff | NOTHING,
            Argument::Aim(Aim::Code) => out_of_reach as extern "C" fn() -> i64 as usize as u64,
            Argument::Aim(Aim::Neighbour) => self.neighbour.words.address(),
            Argument::Aim(Aim::Own) => own,
            Argument::Aim(Aim::Window) => domain.base(),
        }
    }

    /// A folder of [`World::files`].
    pub fn folder(&self, name: &str) -> std::path::PathBuf {
        Path::new(self.files.path()).join(name)
    }

    /// Whether a module has run code of the host that it was not given.
    pub fn host_code_ran(&self) -> bool {
        REACHED.load(Ordering::SeqCst)
    }
}

/// What an error of a call means for the attack.
pub fn ending(error: CallError) -> Ending {
    let Some(fault) = error.fault() else { return Ending::Refused(error.to_string()) };
    // Whoever reports faults reads what the module says about itself: a hostile one lies.
    let report = format!("{fault:#}");
    let word = |value: serde_json::Value| value.as_str().map(str::to_owned);
    let json = serde_json::to_value(fault).unwrap_or_default();
    let kind = match fault.kind() {
        FaultKind::Exit(_) => "exit".to_owned(),
        FaultKind::Signal(_) => "signal".to_owned(),
        _ => word(json["kind"].clone()).unwrap_or_default(),
    };
    Ending::Fault {
        kind,
        reason: report.lines().next().unwrap_or_default().to_owned(),
        access: word(json["access"].clone()),
        function: fault.location().and_then(|place| place.function),
    }
}

impl Neighbour {
    fn new() -> Result<Neighbour> {
        const ANSWER: &str = "function answer\nlea 1(%rdi),%rax\nret\n";
        let module = build::load(&Guest::assembly(ANSWER).build())?;
        let module = module.or_else(|ending| bail!("the neighbour was to be accepted: {ending}"))?;
        let domain = Domain::new(&module, DomainOptions::new().name("neighbour"))?;
        let words = domain.alloc_slice(&[PATTERN; WORDS]).context("memory of the neighbour")?;
        Ok(Neighbour { domain, words })
    }

    /// Whether its memory is as it was.
    pub fn is_unharmed(&self) -> bool {
        let words = self.domain.read_slice(self.words, WORDS);
        words.is_ok_and(|words| words.check(|words| words.iter().all(|word| *word == PATTERN)).is_some())
    }

    /// Whether it still does its work.
    pub fn answers(&self) -> bool {
        let answer = self.domain.bind::<extern "C" fn(i64) -> i64>("answer");
        answer.is_ok_and(|answer| answer.call(41).is_ok_and(|value| value == 42))
    }

    /// Harms it, for controls.
    ///
    /// # Errors
    /// Its memory is gone.
    pub fn harm(&self) -> Result<()> {
        Ok(self.domain.write(self.words, 0)?)
    }
}
