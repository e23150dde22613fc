//! What small arguments and results leave unused of their registers.
use super::classes::SECRET;
use super::host_sys::{Place, Registers, call_with_stack, look_at, look_at_stack, looked_at, probe};
use super::{PRESETS, around, bind, client, link};
use crate::common::Guest;
use lockgate::{Domain, DomainOptions, Policy, Properties};

const RAX: Place = Place::General(0);
const RDI: Place = Place::General(6);

/// A call by the host: what the probe finds.
type Probe = fn(&Domain, &str, Policy, &Registers) -> Registers;

/// The probe of a function type.
macro_rules! through {
    ($($function:tt)*) => {
        |domain, name, policy, before| {
            let function = bind::<extern "C" fn $($function)*>(domain, name, policy);
            probe(function.as_ptr(), &Registers::new()); // the thread is admitted
            probe(function.as_ptr(), before)
        }
    };
}

/// A type in C, calls with one argument or one result of it, and what a value of it leaves of the secret.
const INTEGERS: [(&str, Probe, Probe, u64); 7] = [
    ("unsigned char", through!((u8) -> u64), through!(() -> u8), SECRET as u8 as u64),
    ("signed char", through!((i8) -> u64), through!(() -> i8), SECRET as i8 as u32 as u64),
    ("unsigned short", through!((u16) -> u64), through!(() -> u16), SECRET as u16 as u64),
    ("short", through!((i16) -> u64), through!(() -> i16), SECRET as i16 as u32 as u64),
    ("int", through!((i32) -> u64), through!(() -> i32), SECRET as u32 as u64),
    ("unsigned", through!((u32) -> u64), through!(() -> u32), SECRET as u32 as u64),
    ("long", through!((i64) -> u64), through!(() -> i64), SECRET),
];

/// The same in a vector register: bits 0–63; nothing is left of the others.
const FLOATS: [(&str, Probe, Probe, u64); 2] = [
    ("float", through!((f32) -> u64), through!(() -> f32), SECRET as u32 as u64),
    ("double", through!((f64) -> u64), through!(() -> f64), SECRET),
];

/// How to read three parts of ymm0, and where the probe has them.
const PARTS: [(&str, &str, Place); 3] = [
    ("low", "vmovq %xmm0,%rax", Place::Vector(0, 0)),
    ("high", "vpextrq $1,%xmm0,%rax", Place::Vector(0, 1)),
    ("upper", "vextracti128 $1,%ymm0,%xmm0\n vmovq %xmm0,%rax", Place::Vector(0, 2)),
];

fn plant_rdi() -> String {
    format!("movabs ${SECRET:#x},%rdi")
}

fn plant_ymm0() -> String {
    format!("movabs ${SECRET:#x},%rax\n vmovq %rax,%xmm0\n vpbroadcastq %xmm0,%ymm0")
}

/// A callee that shows its arguments and leaves too much in its results.
fn server() -> Domain {
    let see = |(part, read, _): (&str, &str, Place)| format!("function see_{part}\n {read}\n ret\n");
    let leave = format!(
        "function leave_rax\n movabs ${SECRET:#x},%rax\n ret\nfunction leave_ymm0\n {}\n ret\n",
        plant_ymm0()
    );
    Guest::assembly(&format!("function see_rdi\n mov %rdi,%rax\n ret\n{leave}{}", PARTS.map(see).concat()))
        .domain()
}

/// What of `name`'s secret goes from one domain to another: `before` and `after` around its call by `prototype`.
fn across(server: &Domain, prototype: &str, name: &str, policy: Policy, before: &str, after: &str) -> u64 {
    let client = client(&around("use", before, after), prototype);
    link(&client, server, "server", name, policy);
    let function = bind::<extern "C" fn() -> u64>(&client, "use", Policy::MUTUAL_TRUST);
    function.call().unwrap();
    function.call().unwrap()
}

/// The same of a byte or 16-bit value that comes out of a domain: compilers of the other side may rely on its extension, so that the
/// value alone is left under any policy.
fn check_small(what: &str, policy: Policy, hidden: Properties, found: u64, value: u64) {
    if value >> 32 == 0 && matches!(value as u32 as i32, -0x8000..=0xffff) {
        assert_eq!(found, value, "{policy}: {what}: it is not extended");
    } else {
        check(what, policy, hidden, found, value);
    }
}

/// Checks what is left of the secret: the value alone if `hidden`, all of it under mutual trust.
fn check(what: &str, policy: Policy, hidden: Properties, found: u64, value: u64) {
    if hidden.contains(Properties::REGISTER_CONFIDENTIALITY) {
        assert_eq!(found, value, "{policy}: {what}: more than the value shows, or less");
    } else if policy == Policy::MUTUAL_TRUST {
        assert_eq!(found, SECRET, "{policy}: {what} is trimmed, though nobody asks for it");
    }
}

/// Red if `trim` does nothing on the way in.
#[test]
fn arguments_show_no_more_than_their_value() {
    let server = server();
    let secret = Registers::new().with(RDI, SECRET);
    for policy in PRESETS {
        for (name, see, _, value) in INTEGERS {
            let seen = see(&server, "see_rdi", policy, &secret).get(RAX);
            check(name, policy, policy.client, seen, value);
            let prototype = format!("long server({name})");
            let seen = across(&server, &prototype, "see_rdi", policy, &plant_rdi(), "");
            check_small(&format!("{name} of a domain"), policy, policy.client, seen, value);
        }
    }
}

/// Of a domain's arguments for the host's functions, which clang and rustc take to be extended. Red without `lockgate_gate_small`.
#[test]
fn the_hosts_functions_get_extended_arguments() {
    const TYPES: [(&str, u64); 6] = [
        ("_Bool", 1),
        ("unsigned char", SECRET as u8 as u64),
        ("signed char", SECRET as i8 as u32 as u64),
        ("unsigned short", SECRET as u16 as u64),
        ("short", SECRET as i16 as u32 as u64),
        ("long", SECRET),
    ];
    let plant: String =
        ["rdi", "rsi", "rdx", "rcx", "r8", "r9"].map(|reg| format!("movabs ${SECRET:#x},%{reg}\n ")).concat();
    for (name, value) in TYPES {
        for count in 1..=6 {
            let list = vec![name; count].join(", ");
            // With an argument on the stack, too, which has a way of its own.
            for more in ["", ", long, long, long, long, long, long, long"] {
                let prototype = format!("long server({list}{more})");
                let client = Guest::assembly(&around("use", &plant, ""))
                    .gate(&prototype)
                    .domain_with(DomainOptions::new().gate("server", look_at(&prototype)));
                let function = bind::<extern "C" fn() -> u64>(&client, "use", Policy::MUTUAL_TRUST);
                function.call().unwrap();
                for (number, found) in (0..count).zip(looked_at()) {
                    assert_eq!(found, value, "{prototype}: argument {number}");
                }
            }
        }
    }
}

/// Three words of arguments on the stack, one of which is not full, and what its value leaves of the secret there.
const ON_THE_STACK: [(&str, usize, u64); 8] = [
    ("_Bool, long, long", 0, 1),
    ("unsigned char, long, long", 0, SECRET as u8 as u64),
    ("long, signed char, long", 1, SECRET as u8 as u64),
    ("long, long, short", 2, SECRET as u16 as u64),
    ("int, long, long", 0, SECRET as u32 as u64),
    ("long, struct { char bytes[3]; }, long", 1, SECRET & 0xff_ffff),
    ("struct { char bytes[20]; }", 2, SECRET as u32 as u64),
    ("long, long, long", 1, SECRET),
];

/// Red if words of stack arguments are copied whole.
#[test]
fn stack_arguments_show_no_more_than_their_value() {
    let see = |word: usize| format!("function see_{word}\n mov {}-OFF(%rsp),%rax\n ret\n", 8 + 8 * word);
    let server = Guest::assembly(&[0, 1, 2].map(see).concat()).domain();
    for (list, word, value) in ON_THE_STACK {
        let prototype = |name: &str| format!("long {name}(long, long, long, long, long, long, {list})");
        let name = format!("see_{word}");
        let source = format!(
            "long server();
             long use(void) {{
                 long secret = {SECRET:#x};
                 return ((long (*)(long, long, long, long, long, long, long, long, long))server)(
                     1, 2, 3, 4, 5, 6, secret, secret, secret);
             }}"
        );
        for policy in PRESETS {
            let function = server.bind_dynamic_with(&prototype(&name), policy).expect("it can be bound");
            call_with_stack(function.as_ptr(), 0); // the thread is admitted
            let seen = call_with_stack(function.as_ptr(), SECRET);
            check(list, policy, policy.client, seen, value);
            let client = Guest::c(&source).gate(&prototype("server")).domain();
            link(&client, &server, "server", &name, policy);
            let call = bind::<extern "C" fn() -> u64>(&client, "use", Policy::MUTUAL_TRUST);
            call.call().unwrap();
            assert_eq!(call.call().unwrap(), value, "{policy}: {list} of a domain");
        }
        let host = look_at_stack(&prototype("server"));
        let client = Guest::c(&source)
            .gate(&prototype("server"))
            .domain_with(DomainOptions::new().gate("server", host));
        bind::<extern "C" fn() -> u64>(&client, "use", Policy::MUTUAL_TRUST).call().unwrap();
        assert_eq!(looked_at()[word], value, "{list} for the host");
    }
}

/// Red if vector registers that carry arguments stay whole.
#[test]
fn floating_point_arguments_show_no_more_than_their_value() {
    let server = server();
    for policy in PRESETS {
        for (name, see, _, low) in FLOATS {
            for ((part, _, place), value) in PARTS.into_iter().zip([low, 0, 0]) {
                let (what, function) = (format!("{name}, {part}"), format!("see_{part}"));
                let seen = see(&server, &function, policy, &Registers::new().with(place, SECRET)).get(RAX);
                check(&what, policy, policy.client, seen, value);
                let prototype = format!("long server({name})");
                let seen = across(&server, &prototype, &function, policy, &plant_ymm0(), "");
                check(&format!("{what}, of a domain"), policy, policy.client, seen, value);
            }
        }
    }
}

/// Red if `trim` does nothing on the way out.
#[test]
fn results_show_no_more_than_their_value() {
    let server = server();
    for policy in PRESETS {
        for (name, _, leave, value) in INTEGERS {
            let found = leave(&server, "leave_rax", policy, &Registers::new()).get(RAX);
            check_small(name, policy, policy.server, found, value);
            let prototype = format!("{name} server(void)");
            let found = across(&server, &prototype, "leave_rax", policy, "", "");
            check_small(&format!("{name} for a domain"), policy, policy.server, found, value);
        }
    }
}

/// A `_Bool` is 0 or 1 on the other side, whatever byte it was.
#[test]
fn truth_values_are_0_or_1() {
    let server = server();
    for policy in PRESETS {
        for (before, value) in [("", 1), ("xor %edi,%edi\n mov $0x300,%edi", 0)] {
            let plant = if before.is_empty() { plant_rdi() } else { before.to_owned() };
            assert_eq!(
                across(&server, "long server(_Bool)", "see_rdi", policy, &plant, ""),
                value,
                "{policy}"
            );
        }
        assert_eq!(across(&server, "_Bool server(void)", "leave_rax", policy, "", ""), 1, "{policy}");
        let function = server.bind_dynamic_with("_Bool leave_rax(void)", policy).expect("it can be bound");
        probe(function.as_ptr(), &Registers::new()); // the thread is admitted
        assert_eq!(probe(function.as_ptr(), &Registers::new()).get(RAX), 1, "{policy}");
    }
}

/// Red if vector registers that carry results stay whole.
#[test]
fn floating_point_results_show_no_more_than_their_value() {
    let server = server();
    for policy in PRESETS {
        for (name, _, leave, low) in FLOATS {
            for ((part, read, place), value) in PARTS.into_iter().zip([low, 0, 0]) {
                let what = format!("{name}, {part}");
                let found = leave(&server, "leave_ymm0", policy, &Registers::new()).get(place);
                check(&what, policy, policy.server, found, value);
                let prototype = format!("{name} server(void)");
                let found = across(&server, &prototype, "leave_ymm0", policy, "", read);
                check(&format!("{what}, for a domain"), policy, policy.server, found, value);
            }
        }
    }
}

/// Structures by value end anywhere in a register: what lies behind them is not theirs.
#[test]
fn behind_the_ends_of_structures() {
    let server = server();
    for policy in PRESETS {
        for size in 1..=8_u32 {
            let value = SECRET & u64::MAX >> (64 - 8 * size);
            let structure = format!("struct {{ char bytes[{size}]; }}");
            let call = |prototype: &str, before: &Registers| {
                let function = server.bind_dynamic_with(prototype, policy).expect("it can be bound");
                probe(function.as_ptr(), &Registers::new()); // the thread is admitted
                probe(function.as_ptr(), before).get(RAX)
            };
            let before = Registers::new().with(RDI, SECRET);
            let seen = call(&format!("long see_rdi({structure})"), &before);
            check(&format!("{structure} as an argument"), policy, policy.client, seen, value);
            let found = call(&format!("{structure} leave_rax(void)"), &Registers::new());
            check_small(&format!("{structure} as a result"), policy, policy.server, found, value);
        }
    }
}
