//! Proxies: any signature, any policy, from the host into a domain, from domain to domain, and from a domain to the host. Every register is
//! chosen on one side and written down on the other.

use crate::Target;
use crate::probe_asm::{Registers, WORDS, probe};
use arbitrary::{Result, Unstructured};
use lockgate::signature::{Field, Place, Plan, Register, Signature, Type};
use lockgate::{
    Domain, DomainOptions, Function, HostFunction, Module, OnFailure, Pointer, Policy, Properties, Value,
};
use lockgate_abi::{code, header};
use lockgate_evidence::random::Random;
use lockgate_toolchain::{Link, Sysroot, silent};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// See [`check`].
pub const TARGET: Target = Target {
    name: "proxy",
    run: |input| {
        thread_local!(static WORLD: World = World::new());
        WORLD.with(|world| check(input, world, |journey| journey))
    },
    longest: 96,
    // The first input builds the domains.
    memory: 64 << 20,
    near: 5000,
    tokens: &[],
};

/// Domains whose functions write registers down. The lean server has no instruction that touches more than xmm and general registers,
/// so that its proxies may do less.
pub struct World {
    full: Server,
    lean: Server,
    client: Server,
    /// Has the client call what it has in r10.
    through: Function<extern "C" fn()>,
}

/// A domain, and where it writes registers down.
struct Server {
    domain: Domain,
    area: u64,
}

impl Server {
    fn new(module: &Arc<Module>, options: DomainOptions) -> Server {
        let domain = Domain::new(module, options).expect("a domain");
        let place =
            domain.bind_with::<extern "C" fn() -> u64>("place", Policy::INTEGRITY).expect("an export");
        let area = place.call().expect("it returns");
        Server { domain, area }
    }
}

/// Numbers in [`Registers::general`].
const ARGUMENTS: [usize; 6] = [6, 5, 2, 1, 7, 8];
const RESULTS: [usize; 2] = [0, 2];
const CALLEE_SAVED: [usize; 6] = [3, 4, 11, 12, 13, 14];
/// The way to a gate, and back from it, takes these.
const OF_THE_WAY: [usize; 3] = [0, 9, 10];
const RDI: usize = 6;
const R10: usize = 9;
/// The direction from domain to domain.
const BETWEEN: u8 = 2;
/// Offsets in what `place` of `proxy.s` names: four sets of registers, two pieces of a stack.
const SEEN: u64 = 0;
const GIVE: u64 = SEEN + REGISTERS;
const OUT: u64 = GIVE + REGISTERS;
const BACK: u64 = OUT + REGISTERS;
const SEEN_STACK: u64 = BACK + REGISTERS;
const GIVE_STACK: u64 = SEEN_STACK + STACK;
const ROOM: u64 = GIVE_STACK + STACK;
/// What `put` writes and `get` reads.
const REGISTERS: u64 = 640;
const STACK: u64 = 256;

impl World {
    fn new() -> World {
        let full = module("ymm", "vmovups", 1);
        let client = Server::new(&full, DomainOptions::new().name("client"));
        let through = client.domain.bind_with("through", Policy::MUTUAL_DISTRUST).expect("an export");
        let limit = Duration::from_secs(10);
        let lean = DomainOptions::new().name("lean").time_limit(limit);
        World {
            full: Server::new(&full, DomainOptions::new().name("full")),
            lean: Server::new(&module("xmm", "movups", 0), lean),
            client,
            through,
        }
    }
}

fn module(vector: &str, mov: &str, state: u8) -> Arc<Module> {
    let sysroot = Sysroot::ensure(&silent).expect("the sysroot can be built");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (input, object, file) =
        (folder.path().join("p.s"), folder.path().join("p.o"), folder.path().join("p.lg"));
    let source = include_str!("proxy.s").replace("VECTOR", vector).replace("MOVE", mov);
    let constants = format!(".set STATE,{state}\n.set OFF,{}\n.set W,{}\n", code::OFF, header::W);
    std::fs::write(&input, constants + &source).expect("a file");
    let status = sysroot.tools().compiler().arg("-c").arg(&input).arg("-o").arg(&object).status();
    assert!(status.expect("gcc runs").success(), "gcc takes the assembly");
    let mut link = Link::new(&file);
    link.verbatim(&object).expect("an object").export_all(true);
    link.run(&sysroot, &silent).expect("it can be linked");
    Module::open(&file).expect("it verifies")
}

/// One call: what the caller had, what the callee saw, what the callee left, what the caller found.
#[derive(Debug, Clone, Default)]
pub struct Journey {
    before: Registers,
    before_stack: Vec<u64>,
    seen: Registers,
    seen_stack: Vec<u64>,
    give: Registers,
    after: Registers,
}

/// Something that happens to registers on the way: nothing, unless an oracle is tested.
pub type Way = fn(Journey) -> Journey;

/// One signature, one policy, one direction. Returns 1, or 0 if there is no such call.
///
/// # Panics
/// Something did not arrive, or something arrived that should not.
pub fn check(input: &[u8], world: &World, way: Way) -> u64 {
    let mut input = Unstructured::new(input);
    let Ok((signature, policy, direction, seed)) = choose(&mut input) else { return 0 };
    let Ok(plan) = Plan::new(&signature) else { return 0 };
    // There is room for no more on either side.
    if plan.stack_words as usize > WORDS - 2 || plan.result_size > 248 {
        return 0;
    }
    let direction = direction % 4;
    let call = Call { world, signature, plan, policy, direction, random: Random::new(seed) };
    match direction {
        0 => call.host_calls(&world.full, 4, way),
        1 => call.host_calls(&world.lean, 2, way),
        BETWEEN => call.domain_calls(way),
        _ => call.domain_calls_host(),
    }
}

fn choose(input: &mut Unstructured<'_>) -> Result<(Signature, Policy, u8, u64)> {
    let direction = input.arbitrary()?;
    let policy = Policy {
        client: properties(input)?,
        server: properties(input)?,
        counted: input.arbitrary()?,
        timed: input.arbitrary()?,
    };
    let policy = Policy { counted: policy.counted || policy.timed, ..policy };
    let seed = input.arbitrary::<u16>()?.into();
    let result = if input.ratio(1, 4)? { Type::Void } else { kind(input, 2)? };
    let parameters = (0..input.int_in_range(0..=12)?).map(|_| kind(input, 2)).collect::<Result<_>>()?;
    Ok((Signature { name: "see".into(), result, parameters }, policy, direction, seed))
}

fn properties(input: &mut Unstructured<'_>) -> Result<Properties> {
    let bits = input.arbitrary::<u8>()?;
    let all = [Properties::REGISTER_INTEGRITY, Properties::REGISTER_CONFIDENTIALITY, Properties::CPU_STATE];
    let chosen = all.into_iter().enumerate().filter(|(bit, _)| bits >> bit & 1 != 0);
    Ok(chosen.fold(Properties::NONE, |sum, (_, one)| sum | one))
}

fn kind(input: &mut Unstructured<'_>, depth: u8) -> Result<Type> {
    let integer = |bytes, signed| Type::Integer { bytes, signed };
    Ok(match input.int_in_range(0..=if depth == 0 { 9 } else { 11 })? {
        0 => integer(1, true),
        1 => integer(1, false),
        2 => integer(2, true),
        3 => integer(2, false),
        4 => integer(4, true),
        5 => integer(4, false),
        6 => integer(8, true),
        7 => Type::Pointer,
        8 => Type::Float,
        9 => Type::Double,
        _ => {
            let field = |input: &mut Unstructured<'_>| {
                Ok(Field { kind: kind(input, depth - 1)?, count: input.int_in_range(1..=3)? })
            };
            Type::Struct((0..input.int_in_range(1..=3)?).map(|_| field(input)).collect::<Result<_>>()?)
        }
    })
}

struct Call<'w> {
    world: &'w World,
    signature: Signature,
    plan: Plan,
    policy: Policy,
    direction: u8,
    random: Random,
}

impl Call<'_> {
    fn host_calls(mut self, server: &Server, vectors: usize, way: Way) -> u64 {
        let Server { domain: server, area } = server;
        let Ok(function) = server.bind_signature(self.signature.clone(), self.policy) else { return 0 };
        let mut memory = [0_u64; 32];
        let (mut before, stack, give) = (self.registers(), self.stack(), self.registers());
        if self.plan.result == Place::Memory {
            before.general[RDI] = memory.as_mut_ptr() as u64;
        }
        put(server, area + GIVE, &give);
        // A thread that enters for the first time is admitted by other code than a proxy's.
        probe(&function, &before, &stack);
        let after = probe(&function, &before, &stack);
        assert_eq!(lockgate::take_call_error().map(|error| error.to_string()), None, "{self:?}");
        assert!(after.unbalanced == 0 && !after.backwards, "{self:?}: {after:x?}");
        let rest = self.plan.result_size as usize / 8 + 1;
        assert!(
            memory.get(rest..).unwrap_or_default().iter().all(|word| *word == 0),
            "{self:?}: beyond the result"
        );
        let journey = Journey {
            before,
            before_stack: stack.to_vec(),
            seen: get(server, area + SEEN),
            seen_stack: words(server, area + SEEN_STACK),
            give,
            after: after.registers,
        };
        self.judge(&way(journey), vectors);
        1
    }

    fn domain_calls(mut self, way: Way) -> u64 {
        let Server { domain: client, area: ours } = &self.world.client;
        let Server { domain: server, area: theirs } = &self.world.full;
        // The export has no signature of its own: the prototype says it.
        let prototype = self.signature.to_string();
        let Ok(pointer) = client.function_pointer(server, &prototype, self.policy, OnFailure::default())
        else {
            return 0;
        };
        let (mut before, stack, give) = (self.registers(), self.stack(), self.registers());
        before.general[R10] = pointer.pointer::<u8>().address();
        if self.plan.result == Place::Memory {
            before.general[RDI] = ours + ROOM;
        }
        put(client, ours + OUT, &before);
        client.write_slice(Pointer::from_address(ours + GIVE_STACK), &stack).expect("the client's data");
        put(server, theirs + GIVE, &give);
        for _ in 0..2 {
            self.world.through.call().unwrap_or_else(|error| panic!("{self:?}: {error}"));
        }
        let journey = Journey {
            before,
            before_stack: stack.to_vec(),
            seen: get(server, theirs + SEEN),
            seen_stack: words(server, theirs + SEEN_STACK),
            give,
            after: get(client, ours + BACK),
        };
        self.judge(&way(journey), 4);
        1
    }

    /// The host's function takes values apart by the signature: they have to be those of the registers.
    fn domain_calls_host(mut self) -> u64 {
        let Server { domain: client, area: ours } = &self.world.client;
        let taken = Arc::new(Mutex::new(Vec::new()));
        let returned = value(&self.signature.result, &mut self.random);
        let function = HostFunction::dynamic(self.signature.clone(), {
            let (taken, returned) = (taken.clone(), returned.clone());
            move |_, arguments| {
                *taken.lock().expect("no panic") = arguments.to_vec();
                Ok(returned.clone())
            }
        });
        let Some(callback) = function.ok().and_then(|function| client.callback(function)) else { return 0 };
        let (mut before, stack) = (self.registers(), self.stack());
        before.general[R10] = callback.pointer::<u8>().address();
        put(client, ours + OUT, &before);
        client.write_slice(Pointer::from_address(ours + GIVE_STACK), &stack).expect("the client's data");
        self.world.through.call().unwrap_or_else(|error| panic!("{self:?}: {error}"));
        let after = get(client, ours + BACK);
        let places = self.signature.parameters.iter().zip(&self.plan.parameters);
        let expected: Vec<_> =
            places.map(|(kind, place)| bytes_at(&before, &stack, place, kind.size(), ARGUMENTS)).collect();
        let taken = taken.lock().expect("no panic");
        let sizes = self.signature.parameters.iter().map(Type::size);
        let taken: Vec<_> = taken.iter().zip(sizes).map(|(value, size)| bytes_of(value, size)).collect();
        assert_eq!(taken, expected, "{self:?}");
        let found =
            bytes_at(&after, &[], &self.plan.result, self.signature.result.size(), [0, 2, 0, 0, 0, 0]);
        assert_eq!(found, bytes_of(&returned, self.signature.result.size()), "{self:?}");
        for number in CALLEE_SAVED {
            assert_eq!(after.general[number], before.general[number], "{self:?}: register {number}");
        }
        1
    }

    /// Arguments and results arrive; what a policy keeps is kept, what it hides is hidden.
    fn judge(&self, journey: &Journey, vectors: usize) {
        let Journey { before, before_stack, seen, seen_stack, give, after } = journey;
        let (client, server) = (self.policy.client, self.policy.server);
        let (mut carrying, mut carrying_vectors) = (vec![], vec![]);
        if self.plan.result == Place::Memory {
            carrying.push(RDI);
            assert_eq!(after.general[0], before.general[RDI], "{self:?}: where the result lies");
        }
        for (kind, place) in self.signature.parameters.iter().zip(&self.plan.parameters) {
            let (sent, got) = (
                bytes_at(before, before_stack, place, kind.size(), ARGUMENTS),
                bytes_at(seen, seen_stack, place, kind.size(), ARGUMENTS),
            );
            assert_eq!(got, sent, "{self:?}: {kind} at {place:?}");
            note(place, ARGUMENTS, &mut carrying, &mut carrying_vectors);
        }
        let (mut results, mut result_vectors) = (vec![], vec![]);
        if let Place::Registers(_) = &self.plan.result {
            let size = self.signature.result.size();
            let order = [RESULTS[0], RESULTS[1], 0, 0, 0, 0];
            let (sent, got) = (
                bytes_at(give, &[], &self.plan.result, size, order),
                bytes_at(after, &[], &self.plan.result, size, order),
            );
            assert_eq!(got, sent, "{self:?}: the result");
            note(&self.plan.result, order, &mut results, &mut result_vectors);
        } else {
            results.push(RESULTS[0]);
        }
        if client.contains(Properties::REGISTER_INTEGRITY) {
            for number in CALLEE_SAVED {
                assert_eq!(
                    after.general[number], before.general[number],
                    "{self:?}: register {number} was not kept"
                );
            }
        }
        if client.contains(Properties::REGISTER_CONFIDENTIALITY) {
            for (kind, place) in self.signature.parameters.iter().zip(&self.plan.parameters) {
                assert!(
                    !shows_more(place, kind.size(), before, seen, ARGUMENTS),
                    "{self:?}: behind {kind} at {place:?}"
                );
            }
            self.hidden("the caller's", before, seen, (&carrying, &carrying_vectors), vectors);
        }
        if server.contains(Properties::REGISTER_CONFIDENTIALITY) {
            let (size, order) = (self.signature.result.size(), [RESULTS[0], RESULTS[1], 0, 0, 0, 0]);
            assert!(!shows_more(&self.plan.result, size, give, after, order), "{self:?}: behind the result");
            self.hidden("the callee's", give, after, (&results, &result_vectors), vectors);
        }
        const CONTROL: u64 = 0xffc0;
        if vectors == 4 && client.contains(Properties::CPU_STATE) {
            assert_eq!(after.mxcsr & CONTROL, before.mxcsr & CONTROL, "{self:?}: MXCSR of the caller");
        }
        // The host follows the calling convention towards its own domains (docs/policies.md).
        if self.direction == BETWEEN && server.contains(Properties::CPU_STATE) {
            assert_eq!(seen.mxcsr & CONTROL, 0x1f80, "{self:?}: MXCSR for the callee");
        }
    }

    fn hidden(
        &self,
        whose: &str,
        secret: &Registers,
        shown: &Registers,
        (general, vector): (&[usize], &[usize]),
        vectors: usize,
    ) {
        for number in (0..15).filter(|number| !general.contains(number) && !OF_THE_WAY.contains(number)) {
            assert_ne!(
                shown.general[number], secret.general[number],
                "{self:?}: {whose} register {number} shows"
            );
        }
        for number in 0..16 {
            let first = if vector.contains(&number) { 1 } else { 0 };
            for word in first..vectors {
                let (shown, secret) = (shown.vectors[number][word], secret.vectors[number][word]);
                assert_ne!(shown, secret, "{self:?}: {whose} xmm{number}, word {word}, shows");
            }
        }
    }

    /// Different in every word, never small.
    fn registers(&mut self) -> Registers {
        let mut word = || self.random.word() | 0x0101_0101_0101_0101;
        let mut registers = Registers { general: std::array::from_fn(|_| word()), ..Registers::default() };
        registers.vectors = std::array::from_fn(|_| std::array::from_fn(|_| word()));
        const ROUNDING: u64 = 0x6000;
        registers.mxcsr = 0x1f80 | word() & ROUNDING;
        registers
    }

    fn stack(&mut self) -> [u64; WORDS] {
        std::array::from_fn(|_| self.random.word())
    }
}

impl std::fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const DIRECTIONS: [&str; 4] =
            ["from the host", "from the host to a lean domain", "from domain to domain", "to the host"];
        write!(f, "{}, {}, {}", self.signature, DIRECTIONS[usize::from(self.direction)], self.policy)
    }
}

/// Notes the registers of a place.
fn note(place: &Place, order: [usize; 6], general: &mut Vec<usize>, vectors: &mut Vec<usize>) {
    let Place::Registers(registers) = place else { return };
    for register in registers {
        match register {
            Register::Integer(number) => general.push(order[usize::from(*number)]),
            Register::Vector(number) => vectors.push(usize::from(*number)),
        }
    }
}

/// The bytes of a value in its place. `order`: numbers of the integer registers.
fn bytes_at(registers: &Registers, stack: &[u64], place: &Place, size: usize, order: [usize; 6]) -> Vec<u8> {
    let words: Vec<u64> = match place {
        Place::Registers(places) => places
            .iter()
            .map(|place| match place {
                Register::Integer(number) => registers.general[order[usize::from(*number)]],
                Register::Vector(number) => registers.vectors[usize::from(*number)][0],
            })
            .collect(),
        Place::Stack(at) => stack[*at as usize..][..size.div_ceil(8)].to_vec(),
        Place::Memory => vec![],
    };
    let mut bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
    bytes.truncate(size);
    bytes
}

/// Whether something of the secret shows in what the last register of a value of `size` bytes has besides it.
fn shows_more(place: &Place, size: usize, secret: &Registers, shown: &Registers, order: [usize; 6]) -> bool {
    let (Place::Registers(registers), 1..) = (place, size % 8) else { return false };
    let word = |all: &Registers| match registers.last() {
        Some(Register::Integer(number)) => all.general[order[usize::from(*number)]] >> (8 * (size % 8)),
        Some(Register::Vector(number)) => all.vectors[usize::from(*number)][0] >> (8 * (size % 8)),
        None => 0,
    };
    word(secret) != 0 && word(shown) == word(secret)
}

/// A value of this type.
fn value(kind: &Type, random: &mut Random) -> Value {
    let word = random.word();
    match kind {
        Type::Void => Value::Void,
        Type::Bool => Value::Unsigned(word & 1),
        Type::Integer { bytes, signed: true } => Value::Signed((word as i64) >> (64 - 8 * bytes)),
        Type::Integer { bytes, signed: false } => Value::Unsigned(word >> (64 - 8 * bytes)),
        Type::Float => Value::Float(f32::from_bits(word as u32 >> 2)),
        Type::Double => Value::Double(f64::from_bits(word >> 2)),
        Type::Pointer => Value::Pointer(word),
        Type::Struct(_) => Value::Struct((0..kind.size()).map(|_| random.word() as u8).collect()),
    }
}

/// The first `size` bytes of a value.
fn bytes_of(value: &Value, size: usize) -> Vec<u8> {
    let mut bytes = match value {
        Value::Void => vec![],
        Value::Signed(number) => number.to_le_bytes().to_vec(),
        Value::Unsigned(number) | Value::Pointer(number) => number.to_le_bytes().to_vec(),
        Value::Float(number) => number.to_bits().to_le_bytes().to_vec(),
        Value::Double(number) => number.to_bits().to_le_bytes().to_vec(),
        Value::Struct(bytes) => bytes.clone(),
    };
    bytes.truncate(size);
    bytes
}

fn put(domain: &Domain, at: u64, registers: &Registers) {
    let vectors = registers.vectors.iter().flatten();
    let words: Vec<u64> =
        registers.general.iter().chain([&registers.mxcsr]).chain(vectors).copied().collect();
    domain.write_slice(Pointer::from_address(at), &words).expect("the domain's data");
}

fn get(domain: &Domain, at: u64) -> Registers {
    let mut bytes = [0; REGISTERS as usize];
    domain.read_into(Pointer::from_address(at), &mut bytes).expect("the domain's data");
    let mut words =
        bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")));
    let mut next = || words.next().expect("640 bytes");
    Registers {
        general: std::array::from_fn(|_| next()),
        mxcsr: next(),
        vectors: std::array::from_fn(|_| std::array::from_fn(|_| next())),
    }
}

fn words(domain: &Domain, at: u64) -> Vec<u64> {
    let mut bytes = [0; 8 * WORDS];
    domain.read_into(Pointer::from_address(at), &mut bytes).expect("the domain's data");
    bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::controls::notices;

    /// Each changes one register on the way.
    const SABOTAGES: [(&str, Way); 5] = [
        ("an argument", |mut journey| {
            journey.seen.general[RDI] ^= 1;
            journey
        }),
        ("a word of the stack", |mut journey| {
            journey.seen_stack[0] ^= 1;
            journey
        }),
        ("a register that is the caller's", |mut journey| {
            journey.after.general[CALLEE_SAVED[5]] ^= 1;
            journey
        }),
        ("a register of the caller that shows", |mut journey| {
            journey.seen.vectors[15][1] = journey.before.vectors[15][1];
            journey
        }),
        ("a register of the callee that shows", |mut journey| {
            journey.after.general[8] = journey.give.general[8];
            journey
        }),
    ];

    #[test]
    fn what_happens_on_the_way_is_noticed() {
        let world = World::new();
        for (what, way) in SABOTAGES {
            println!("{what}");
            notices(&TARGET, |input| check(input, &world, way));
        }
    }
}
