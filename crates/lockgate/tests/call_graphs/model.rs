//! What a program does, and what must come of it.
//!
//! A program is a number, its seed: everything that its frames do follows from it, in the same way here, in `guest.c`, in
//! `hostile.S` and in the host's frames.
use lockgate::{CallError, FaultKind, OnFailure, Policy, Properties};

/// Domains of a world.
pub const DOMAINS: usize = 5;
/// The one that computes under control words of its own.
pub const STATEFUL: usize = 1;
/// The one with wide registers.
pub const VECTORS: usize = 2;
/// The one that keeps nothing of the calling convention.
pub const HOSTILE: usize = 3;
/// The one that takes one caller at a time.
pub const EXCLUSIVE: usize = 4;
/// The host, as a caller.
pub const HOST: usize = DOMAINS;

/// Orders: the depth of calls below, and what frames may do.
pub const DEPTH: u64 = 0xff;
pub const CRASHES: u64 = 0x100;
pub const LOOPS: u64 = 0x200;
pub const SLEEPS: u64 = 0x400;

/// Bit of values that come from a call that failed.
pub const TAINT: u64 = 1 << 63;
const LOW: u64 = (1 << 40) - 1;

/// A number that depends on both.
pub fn mix(x: u64, y: u64) -> u64 {
    let x = (x ^ y.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_add(0x632b_e59b_d9b4_e019);
    let x = (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ x >> 32
}

/// How a call passes its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Plain,
    /// With arguments on the stack.
    Wide,
    /// With a structure on the stack and a result in memory.
    Grand,
    /// With floating-point numbers.
    Mixed,
    Host,
    /// Through a function pointer.
    Pointer,
}

pub const WAYS: [Way; 6] = [Way::Plain, Way::Wide, Way::Grand, Way::Mixed, Way::Host, Way::Pointer];

/// Whom the frame with this seed is, and how it is called.
pub fn target(seed: u64, ways: usize) -> (usize, Way) {
    let how = mix(seed, 3);
    let to = (how >> 8) as usize % DOMAINS;
    let way = WAYS[how as usize % ways];
    (to, if way == Way::Grand && to == HOSTILE { Way::Plain } else { way })
}

/// The seeds of what the frame with this seed calls.
pub fn children(seed: u64, order: u64, most: u64) -> impl Iterator<Item = u64> {
    let count = if order & DEPTH == 0 { 0 } else { mix(seed, 2) % most };
    (0..count).map(move |i| mix(seed, 16 + i))
}

/// What a frame has before its calls.
pub fn start(seed: u64, who: usize) -> u64 {
    mix(seed, who as u64) & LOW
}

/// A frame's value after a call that came back with `value`.
pub fn join(result: u64, value: u64) -> u64 {
    mix(result & LOW, value) & LOW | (result | value) & TAINT
}

pub fn decode(bits: u64) -> u64 {
    bits & (TAINT | LOW)
}

fn encode_double(value: u64) -> f64 {
    let low = (value & LOW) as f64;
    if value & TAINT != 0 { -low - 1.0 } else { low }
}

pub fn decode_double(double: f64) -> u64 {
    if double < 0.0 { decode(double.to_bits()) | TAINT } else { double as u64 }
}

/// Where a failure began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Root {
    Fault(usize, FaultKind),
    Deadlock(usize),
    Killed(usize),
    Busy(usize),
    Other(String),
}

/// How a call failed: the domains that ended with those that they called, outermost first, and the first cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    pub with: Vec<usize>,
    pub root: Root,
}

impl End {
    pub fn of(error: &CallError) -> End {
        let number = |name: &str| name[1..].parse().expect("domains are called d0, d1, …");
        let root = match error {
            CallError::Callee { domain, source, .. } => {
                let mut end = End::of(source);
                end.with.insert(0, number(domain));
                return end;
            }
            CallError::Fault(fault) => {
                let kind = match fault.kind() {
                    // Which of the two ends first is a matter of a frame's size.
                    FaultKind::ControlStackOverflow => FaultKind::StackOverflow,
                    kind => kind,
                };
                Root::Fault(number(fault.domain()), kind)
            }
            CallError::Deadlock(name) => Root::Deadlock(number(name)),
            CallError::Killed(name) => Root::Killed(number(name)),
            CallError::Busy(name, _) => Root::Busy(number(name)),
            other => Root::Other(other.to_string()),
        };
        End { with: Vec::new(), root }
    }

    /// What a host frame makes of it.
    pub fn value(&self) -> u64 {
        let kind = match self.root {
            Root::Fault(domain, kind) => {
                16 * domain as u64 + CRASH_KINDS.iter().position(|k| *k == kind).unwrap_or(9) as u64
            }
            _ => 1000,
        };
        let with = self.with.iter().fold(kind, |code, domain| code * 7 + *domain as u64 + 1);
        TAINT | with & LOW
    }

    /// True if kills, limits and the turns of other threads can end a call so.
    pub fn is_allowed(&self) -> bool {
        match &self.root {
            Root::Fault(_, kind) => {
                CRASH_KINDS.contains(kind) || matches!(kind, FaultKind::TimeOut | FaultKind::Killed)
            }
            Root::Other(_) => false,
            _ => true,
        }
    }
}

/// Of a frame's crash, by number.
const CRASH_KINDS: [FaultKind; 5] =
    [FaultKind::Segv, FaultKind::Ill, FaultKind::Fpe, FaultKind::StackOverflow, FaultKind::Gate];

/// How one calls another.
#[derive(Debug, Clone, Copy)]
pub struct Edge {
    pub policy: Policy,
    pub on_failure: OnFailure,
}

/// All edges of a world.
#[derive(Debug)]
pub struct Edges(u64);

impl Edges {
    pub fn new(seed: u64) -> Edges {
        Edges(seed)
    }

    /// The edge of calls of `to` by `from` in this way.
    pub fn edge(&self, from: usize, to: usize, way: Way) -> Edge {
        let random = mix(mix(self.0, from as u64), (to * 8) as u64 + way as u64);
        let properties = |bits: u64| {
            [Properties::REGISTER_INTEGRITY, Properties::REGISTER_CONFIDENTIALITY, Properties::CPU_STATE]
                .into_iter()
                .enumerate()
                .filter(|(bit, _)| bits >> bit & 1 != 0)
                .fold(Properties::NONE, |all, (_, one)| all | one)
        };
        let presets =
            [Policy::MUTUAL_TRUST, Policy::INTEGRITY, Policy::SERVER_TRUSTED, Policy::MUTUAL_DISTRUST];
        let mut policy = match random % 8 {
            preset @ 0..4 => presets[preset as usize],
            _ => Policy {
                client: properties(random >> 8),
                server: properties(random >> 11),
                ..Policy::MUTUAL_TRUST
            },
        };
        policy.counted = random >> 16 & 3 == 0;
        policy.timed = random >> 18 & 3 == 0;
        if to == HOSTILE {
            policy = policy.union(Policy::INTEGRITY);
        } else if from == HOST && to == STATEFUL {
            // Else what the host's functions find is what that domain computes with.
            policy.client |= Properties::CPU_STATE;
        }
        let on_failure = match random >> 24 & 1 {
            0 => OnFailure::Propagate,
            _ => OnFailure::Return((-1.0 - (random >> 32 & 0xff) as f64).to_bits()),
        };
        Edge { policy, on_failure }
    }

    /// What a call of `domain` by the host must come to if nothing happens but crashes. `inside` are the domains whose
    /// frames are live.
    pub fn predict(&self, domain: usize, seed: u64, order: u64, inside: &mut Vec<usize>) -> Result<u64, End> {
        if domain == EXCLUSIVE && inside.contains(&domain) {
            return Err(End { with: Vec::new(), root: Root::Deadlock(domain) });
        }
        inside.push(domain);
        let end = if domain == HOSTILE {
            self.predict_hostile(seed, order, inside)
        } else {
            self.predict_frame(domain, seed, order, inside)
        };
        inside.pop();
        end
    }

    fn predict_frame(
        &self,
        domain: usize,
        seed: u64,
        order: u64,
        inside: &mut Vec<usize>,
    ) -> Result<u64, End> {
        let children: Vec<_> = children(seed, order, 4).collect();
        let chance = mix(seed, 4);
        let crash = (order & CRASHES != 0 && chance.is_multiple_of(8))
            .then(|| (chance / 8 % (children.len() as u64 + 1)) as usize);
        let kind = CRASH_KINDS[(mix(seed, 8) % 5) as usize];
        let mut result = start(seed, domain);
        for (index, child) in children.iter().enumerate() {
            if crash == Some(index) {
                return Err(fault(domain, kind));
            }
            let value = self.predict_call(domain, *child, order - 1, inside)?;
            result = join(result, value);
        }
        if crash.is_some() { Err(fault(domain, kind)) } else { Ok(result) }
    }

    fn predict_call(
        &self,
        domain: usize,
        seed: u64,
        order: u64,
        inside: &mut Vec<usize>,
    ) -> Result<u64, End> {
        let (to, way) = target(seed, WAYS.len());
        if way == Way::Host {
            return Ok(self.predict_host(seed, order, inside));
        }
        match self.predict(to, seed, order, inside) {
            Ok(value) => Ok(through(way, value)),
            Err(mut end) => match self.edge(domain, to, way).on_failure {
                OnFailure::Return(bits) if way == Way::Mixed => Ok(decode_double(f64::from_bits(bits))),
                OnFailure::Return(bits) => Ok(decode(bits)),
                OnFailure::Propagate => {
                    end.with.insert(0, domain);
                    Err(end)
                }
            },
        }
    }

    fn predict_hostile(&self, seed: u64, order: u64, inside: &mut Vec<usize>) -> Result<u64, End> {
        match seed & 3 {
            2 if order & CRASHES != 0 => Err(fault(HOSTILE, FaultKind::Ill)),
            3 if order & DEPTH != 0 => Ok(self.predict_host(seed.wrapping_add(1), order - 1, inside)),
            _ => Ok(seed & LOW),
        }
    }

    /// The value of a host frame.
    pub fn predict_host(&self, seed: u64, order: u64, inside: &mut Vec<usize>) -> u64 {
        children(seed, order, 3).fold(start(seed, HOST), |result, child| {
            let (to, way) = target(child, 4);
            let value = match self.predict(to, child, order - 1, inside) {
                Ok(value) => through(way, value),
                Err(end) => end.value(),
            };
            join(result, value)
        })
    }
}

fn fault(domain: usize, kind: FaultKind) -> End {
    End { with: Vec::new(), root: Root::Fault(domain, kind) }
}

/// What a value is after its way back.
fn through(way: Way, value: u64) -> u64 {
    match way {
        Way::Mixed => decode_double(encode_double(value)),
        _ => value,
    }
}
