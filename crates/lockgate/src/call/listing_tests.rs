//! Proxies contain nothing that was not asked for: every part belongs to the mechanism, the signature, an option or a property,
//! and instructions of each kind are where such a part is, and nowhere else.
use super::call_abi::{CallAbi, Caller, Processor, StateUsage, Values};
use super::emit::{self, Emitted};
use crate::copy_asm::BOOL_MASK;
use crate::policy::{Policy, Properties};
use iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};

const PRESETS: [Policy; 4] =
    [Policy::INTEGRITY, Policy::MUTUAL_DISTRUST, Policy::SERVER_TRUSTED, Policy::MUTUAL_TRUST];

/// Proxies are made for a named processor here, not for the one at hand.
const ZEN_4: Processor = Processor { avx512: true };
const ZEN_3: Processor = Processor { avx512: false };

/// Who asks for a part.
type Asked = fn(&CallAbi) -> bool;

/// Every part's name, and what asks for it.
const PARTS: [(&str, Asked); 30] = [
    // The mechanism: always, or always in calls from the host or from a domain.
    ("admission", |_| true),
    ("admission, the slow path", |_| true),
    ("frame", |_| true),
    ("record", |_| true),
    ("control words", |s| s.callee.x87 || s.callee.mxcsr_write),
    ("entry", |_| true),
    ("exit", |_| true),
    ("exit of another entry", |_| true),
    ("return", |_| true),
    ("admission of nested calls", |s| s.caller == Caller::Host),
    ("another window", |s| s.caller == Caller::Host),
    ("caller's gate", |s| s.caller != Caller::Host),
    ("admission back", |s| s.caller != Caller::Host),
    ("no return", |s| s.caller != Caller::Host),
    // Signature and options.
    ("stack arguments", |s| s.stack),
    ("result in memory", |s| s.memory),
    ("time limit", |s| s.limited),
    ("exclusive domain", |s| s.exclusive),
    ("count", |s| s.policy.counted),
    ("time", |s| s.policy.timed),
    // Properties.
    ("callee-saved registers", |s| client(s, Properties::REGISTER_INTEGRITY) || secret(s)),
    ("general registers", secret),
    ("vector registers", secret),
    ("upper halves", |s| (s.callee.upper && client(s, Properties::CPU_STATE)) || beyond(s).upper),
    ("zmm16-31", |s| (s.callee.evex && secret(s)) || beyond(s).evex),
    ("mask registers", |s| (s.callee.mask && secret(s)) || beyond(s).mask),
    ("x87 registers", |s| (s.callee.x87 && secret(s)) || beyond(s).x87),
    ("x87", x87),
    ("x87, when it was changed", x87),
    ("mxcsr", mxcsr),
];

fn client(abi: &CallAbi, property: Properties) -> bool {
    abi.policy.client.contains(property)
}

fn server(abi: &CallAbi, property: Properties) -> bool {
    abi.policy.server.contains(property)
}

/// Either side has secrets.
fn secret(abi: &CallAbi) -> bool {
    let secrets = Properties::REGISTER_CONFIDENTIALITY;
    client(abi, secrets) || server(abi, secrets)
}

/// What a calling domain's module can touch; nothing in calls from the host, which looks after its own.
fn calling(abi: &CallAbi) -> StateUsage {
    match abi.caller {
        Caller::Host => StateUsage::default(),
        Caller::Domain(usage) => usage,
    }
}

/// What the callee's module can touch and a calling domain's cannot: kept whatever the policy says.
fn beyond(abi: &CallAbi) -> StateUsage {
    match abi.caller {
        Caller::Host => StateUsage::default(),
        Caller::Domain(usage) => abi.callee.beyond(usage),
    }
}

fn x87(abi: &CallAbi) -> bool {
    let (caller, callee) = (calling(abi), abi.callee);
    let own_again = (callee.x87 && client(abi, Properties::CPU_STATE)) || beyond(abi).x87;
    let clean = caller.x87 && (server(abi, Properties::CPU_STATE) || !callee.x87);
    let environment = callee.x87_environment && client(abi, Properties::REGISTER_CONFIDENTIALITY);
    let forgotten = caller.x87_environment && callee.x87 && server(abi, Properties::REGISTER_CONFIDENTIALITY);
    own_again || clean || environment || forgotten || beyond(abi).x87_environment
}

fn mxcsr(abi: &CallAbi) -> bool {
    let (caller, callee) = (calling(abi), abi.callee);
    let own_again = (callee.mxcsr_write && client(abi, Properties::CPU_STATE)) || beyond(abi).mxcsr_write;
    let clean = caller.mxcsr_write && (server(abi, Properties::CPU_STATE) || !callee.mxcsr_write);
    let flags = callee.mxcsr_read && client(abi, Properties::REGISTER_CONFIDENTIALITY);
    own_again || clean || flags || beyond(abi).mxcsr_read
}

/// Everything that a verifier's report may say.
fn reports() -> impl Iterator<Item = StateUsage> {
    (0..256_u32).map(|bits| {
        let bit = |n: u32| bits >> n & 1 == 1;
        let (x87_environment, evex) = (bit(0), bit(1));
        StateUsage {
            x87: x87_environment || bit(2),
            x87_environment,
            mxcsr_write: bit(3),
            mxcsr_read: bit(4),
            upper: evex || bit(5),
            evex,
            mask: evex || bit(6),
            vector: evex || bit(5) || bit(7),
        }
    })
}

fn abi(caller: Caller, callee: StateUsage, policy: Policy) -> CallAbi {
    CallAbi {
        caller,
        callee,
        processor: ZEN_4,
        policy,
        arguments: Values::default(),
        results: Values::default(),
        stack: false,
        masks: None,
        memory: false,
        limited: false,
        depth: false,
        exclusive: false,
        generic: false,
        reports: false,
    }
}

/// Call ABIs of all presets and reports, from the host, from modules that can touch nothing, the same, or everything; and all
/// combinations of properties and options for some of them.
fn abis() -> Vec<CallAbi> {
    let everything = reports().last().expect("the last report has it all");
    let mut abis = Vec::new();
    for policy in PRESETS {
        for callee in reports() {
            let callers = [
                Caller::Host,
                Caller::Domain(StateUsage::default()),
                Caller::Domain(callee),
                Caller::Domain(everything),
            ];
            abis.extend(callers.map(|caller| abi(caller, callee, policy)));
        }
    }
    let all = [Properties::REGISTER_INTEGRITY, Properties::REGISTER_CONFIDENTIALITY, Properties::CPU_STATE];
    let properties = |bits: usize| {
        let chosen = all.into_iter().enumerate().filter(|(n, _)| bits >> n & 1 == 1);
        chosen.fold(Properties::NONE, |sum, (_, property)| sum | property)
    };
    for bits in 0..64 {
        let policy =
            Policy { client: properties(bits & 7), server: properties(bits >> 3), ..Policy::MUTUAL_TRUST };
        for caller in [Caller::Host, Caller::Domain(everything)] {
            let plain = abi(caller, everything, policy);
            abis.extend([
                plain,
                CallAbi { stack: true, policy: policy.counted(), ..plain },
                CallAbi { stack: true, masks: Some(&[0xff, BOOL_MASK]), ..plain },
                CallAbi { memory: true, policy: policy.timed(), ..plain },
                CallAbi { limited: true, exclusive: true, ..plain },
                CallAbi { policy: policy.counted(), ..plain },
                CallAbi { policy: policy.timed(), ..plain },
                CallAbi { stack: true, memory: true, ..plain },
                CallAbi { memory: true, ..plain },
            ]);
        }
    }
    abis
}

/// The instructions of a proxy, each with its part.
fn instructions(proxy: &Emitted) -> Vec<(Instruction, &'static str)> {
    let decoder = Decoder::with_ip(64, &proxy.bytes, 0, DecoderOptions::NONE);
    decoder
        .into_iter()
        .map(|instruction| {
            assert!(!instruction.is_invalid(), "at {:#x} of {:02x?}", instruction.ip(), proxy.bytes);
            let at = instruction.ip() as usize;
            let part = proxy.parts.iter().rev().find(|(start, _)| *start <= at).expect("a part").1;
            (instruction, part)
        })
        .collect()
}

fn registers(instruction: &Instruction) -> impl Iterator<Item = Register> {
    (0..instruction.op_count())
        .filter(|operand| instruction.op_kind(*operand) == OpKind::Register)
        .map(|operand| instruction.op_register(operand))
}

/// The parts that may hold an instruction which touches more than general registers, or pops any; none for others.
fn home(instruction: &Instruction) -> Option<&'static [&'static str]> {
    let any = |test: fn(Register) -> bool| registers(instruction).any(test);
    let high = |register: Register| register.is_vector_register() && register.number() >= 16;
    match instruction.mnemonic() {
        Mnemonic::Vzeroupper => Some(&["upper halves"]),
        Mnemonic::Ldmxcsr => Some(&["mxcsr"]),
        Mnemonic::Stmxcsr => Some(&["mxcsr", "control words"]),
        Mnemonic::Fnclex => Some(&["x87 registers"]),
        Mnemonic::Emms => Some(&["x87", "x87 registers"]),
        Mnemonic::Fninit | Mnemonic::Fldcw => Some(&["x87", "x87, when it was changed"]),
        Mnemonic::Fnstcw => Some(&["x87", "control words"]),
        Mnemonic::Rdtsc => Some(&["time"]),
        Mnemonic::Pop => Some(&["callee-saved registers", "stack arguments", "exclusive domain"]),
        _ if any(Register::is_mm) => Some(&["x87 registers"]),
        _ if any(high) => Some(&["zmm16-31"]),
        _ if any(Register::is_vector_register) => Some(&["vector registers"]),
        _ if any(Register::is_k) => Some(&["mask registers"]),
        _ => None,
    }
}

/// True if the instruction clears a register, or what a value leaves of it.
fn clears(instruction: &Instruction) -> bool {
    let same = instruction.op_count() == 2 && instruction.op0_register() == instruction.op1_register();
    instruction.mnemonic() == Mnemonic::Xor && same && instruction.op0_register() != Register::None
}

#[test]
fn every_part_is_asked_for() {
    for abi in abis() {
        for (_, name) in emit::proxy(&abi).parts {
            let (_, asked) =
                PARTS.iter().find(|(part, _)| *part == name).unwrap_or_else(|| panic!("{name}?"));
            assert!(asked(&abi), "nobody asks for {name:?} in {abi:?}");
        }
    }
}

/// Nothing of a part hides under another's name.
#[test]
fn instructions_are_in_parts_of_their_kind() {
    for abi in abis() {
        for (instruction, part) in instructions(&emit::proxy(&abi)) {
            if let Some(homes) = home(&instruction) {
                assert!(homes.contains(&part), "{instruction} is in {part:?} of {abi:?}");
            }
            // What the mechanism clears are the registers that it has had host addresses in (R24), and flags of its own.
            const OWN: [Register; 5] =
                [Register::EAX, Register::R10D, Register::R11D, Register::ESI, Register::ECX];
            if clears(&instruction) && part != "general registers" {
                let number = instruction.op0_register();
                assert!(
                    OWN.contains(&number) || part == "result in memory",
                    "{instruction} is in {part:?} of {abi:?}"
                );
            }
        }
    }
}

/// Callees find in callee-saved registers what the caller had there, or zeros: nothing that the proxy has kept there (R24).
#[test]
fn callees_find_nothing_of_proxies_in_callee_saved_registers() {
    // Places in the frame, as the pushes of "frame" make them.
    const PLACES: [(Register, u64); 6] = [
        (Register::R15, 8),
        (Register::R14, 16),
        (Register::R13, 24),
        (Register::R12, 32),
        (Register::RBX, 40),
        (Register::RBP, 48),
    ];
    let mut factory = InstructionInfoFactory::new();
    let mut changed = [0; PLACES.len()];
    for abi in abis() {
        let code = instructions(&emit::proxy(&abi));
        let is_call =
            |one: &Instruction| one.mnemonic() == Mnemonic::Call && one.op0_register() == Register::R11;
        let call = code.iter().position(|(one, _)| is_call(one)).expect("the callee's call");
        for (at, (register, place)) in PLACES.into_iter().enumerate() {
            let mut writes = |one: &Instruction| {
                let used = factory.info(one).used_registers();
                used.iter().any(|used| {
                    let reads = [OpAccess::None, OpAccess::Read, OpAccess::CondRead, OpAccess::NoMemAccess];
                    used.register().full_register() == register && !reads.contains(&used.access())
                })
            };
            let Some((last, part)) = code[..call].iter().rev().find(|(one, _)| writes(one)) else { continue };
            let is_load = last.mnemonic() == Mnemonic::Mov && last.op1_kind() == OpKind::Memory;
            let from_frame = is_load
                && (last.memory_base(), last.memory_index()) == (Register::RSP, Register::None)
                && last.memory_displacement64() == place;
            let is_popped = last.mnemonic() == Mnemonic::Pop && *part == "exclusive domain";
            assert!(from_frame || is_popped || clears(last), "{last} is the last of {register:?} in {abi:?}");
            changed[at] += 1;
        }
    }
    // r13 and r14 are in no piece; all are cleared where they are secrets.
    assert!(changed.iter().all(|&times| times > 0), "{changed:?}");
}

/// The slow path has a call begin again, so that only admission may go there: behind it is the point of no return.
#[test]
fn only_admission_goes_to_the_slow_path() {
    const ADMISSION: [&str; 5] = [
        "admission",
        "depth limit",
        "exclusive domain",
        "admission of nested calls",
        "admission, the slow path",
    ];
    for abi in abis() {
        let proxy = emit::proxy(&abi);
        let code = instructions(&proxy);
        let part_at = |ip| code.iter().find(|(instruction, _)| instruction.ip() == ip).expect("a target").1;
        let mut to_slow = 0;
        for (instruction, part) in &code {
            if instruction.op_count() == 1 && instruction.op0_kind() == OpKind::NearBranch64 {
                let target = part_at(instruction.near_branch64());
                to_slow += usize::from(target == "admission, the slow path");
                assert!(
                    ADMISSION.contains(part) || !ADMISSION.contains(&target),
                    "{instruction} in {part:?} goes to {target:?} of {abi:?}"
                );
            }
        }
        assert!(to_slow > 1, "{abi:?}");
        let behind = proxy.parts.iter().skip_while(|(_, name)| *name != "record");
        let mut behind = behind.take_while(|(at, _)| *at < proxy.leave);
        assert_eq!(behind.find(|(_, name)| ADMISSION.contains(name)), None, "{abi:?}");
    }
}

/// The presets in words, so that the tables above cannot be wrong together: what each has, and has not, from the host.
#[test]
fn presets_have_their_parts_and_no_others() {
    const SECRETS: [&str; 5] =
        ["general registers", "vector registers", "zmm16-31", "mask registers", "x87 registers"];
    const STATE: [&str; 3] = ["x87", "mxcsr", "upper halves"];
    const SAVED: [&str; 1] = ["callee-saved registers"];
    let parts = |callee, policy| {
        emit::proxy(&abi(Caller::Host, callee, policy))
            .parts
            .into_iter()
            .map(|(_, name)| name)
            .collect::<Vec<_>>()
    };
    let everything = reports().last().expect("the last report has it all");
    for (policy, has, has_not) in [
        (Policy::MUTUAL_TRUST, vec![], [&SECRETS[..], &STATE, &SAVED].concat()),
        (Policy::INTEGRITY, [&STATE[..], &SAVED].concat(), SECRETS.to_vec()),
        (Policy::MUTUAL_DISTRUST, [&SECRETS[..], &STATE, &SAVED].concat(), vec![]),
        (Policy::SERVER_TRUSTED, [&SECRETS[..], &SAVED].concat(), STATE.to_vec()),
    ] {
        let found = parts(everything, policy);
        for part in has {
            assert!(found.contains(&part), "{policy} has no {part:?}: {found:?}");
        }
        for part in has_not {
            assert!(!found.contains(&part), "{policy} has {part:?}: {found:?}");
        }
    }
    let plain = parts(StateUsage::default(), Policy::MUTUAL_DISTRUST);
    for part in ["zmm16-31", "mask registers", "x87 registers", "x87", "mxcsr", "upper halves"] {
        assert!(!plain.contains(&part), "the module cannot touch it: {part:?}");
    }
}

/// Proxies have no instruction that the processor lacks which they are made for, whatever the modules on both sides name.
#[test]
fn processors_get_what_they_have() {
    use iced_x86::EncodingKind::EVEX;
    let everything = reports().last().expect("the last report has it all");
    for processor in [ZEN_4, ZEN_3] {
        let mut has_avx512 = false;
        for policy in PRESETS {
            for caller in [
                Caller::Host,
                Caller::Domain(StateUsage::default()),
                Caller::Domain(everything.on(processor)),
            ] {
                let abi = CallAbi { processor, ..abi(caller, everything.on(processor), policy) };
                let Emitted { bytes, .. } = emit::proxy(&abi);
                for instruction in &mut Decoder::new(64, &bytes, DecoderOptions::NONE) {
                    // Mask registers are named by VEX forms.
                    let masks =
                        (0..instruction.op_count()).any(|operand| instruction.op_register(operand).is_k());
                    has_avx512 |= instruction.code().encoding() == EVEX || masks;
                }
            }
        }
        assert_eq!(has_avx512, processor.avx512);
    }
}
