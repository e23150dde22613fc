//! Processor state: what a side leaves in x87 and MXCSR, and what it can read there of the other.
use super::host_sys::{Place, Registers, probe};
use super::{PRESETS, around, bind, client, link};
use crate::common::{Guest, host_sys as host};
use lockgate::{Domain, Policy, Properties};

const RAX: Place = Place::General(0);
/// Another rounding, exceptions unmasked, all status flags set.
const MXCSR: u32 = 0x607f & !0x40;
/// Another rounding and precision, exceptions masked.
const CONTROL: u16 = 0x0c7f;

const SERVER: &str = "
function leave_mxcsr
    sets_mxcsr 0x603f
    ret
function leave_control
    sets_x87_control 0x0c7f
    ret
# The register stack is full afterwards.
function leave_full
    fill_x87
    ret
function leave_environment
    fninit
    fldz
    fstp %st
    ret
    control_words see_mxcsr, see_control
function see_environment
    fnstenv -64-OFF(%rsp)
    mov -64+12-OFF(%rsp),%eax
    ret
# Whether the register stack is empty: 1 + 2 needs two places.
function see_full
    fnstenv -64-OFF(%rsp)
    movzwl -64+8-OFF(%rsp),%eax
    xor $0xffff,%eax
    fninit
    ret
";

/// What a caller does before and after: plants its own, reads what is there.
const PIECES: [(&str, &str, &str); 4] = [
    (
        "mxcsr",
        "movl $0x603f,-8-OFF(%rsp)\n ldmxcsr -8-OFF(%rsp)",
        "stmxcsr -8-OFF(%rsp)\n mov -8-OFF(%rsp),%eax",
    ),
    (
        "control",
        "movw $0x0c7f,-8-OFF(%rsp)\n fldcw -8-OFF(%rsp)",
        "fnstcw -8-OFF(%rsp)\n movzwl -8-OFF(%rsp),%eax\n fninit",
    ),
    (
        "full",
        "fninit\n fld1\n fld1\n fld1\n fld1\n fld1\n fld1\n fld1\n fld1",
        "fnstenv -64-OFF(%rsp)\n movzwl -64+8-OFF(%rsp),%eax\n xor $0xffff,%eax\n fninit",
    ),
    ("environment", "fninit\n fldz\n fstp %st", "fnstenv -64-OFF(%rsp)\n mov -64+12-OFF(%rsp),%eax\n fninit"),
];

fn server() -> Domain {
    Guest::assembly(SERVER).domain()
}

fn caller() -> Domain {
    let functions = PIECES.map(|(name, plant, read)| {
        around(&format!("carry_{name}"), plant, "fninit") + &around(&format!("find_{name}"), "", read)
    });
    client(&functions.concat(), "long server(void)")
}

/// What `name` of `client` comes to, with its import answered by `function`.
fn across(client: &Domain, server: &Domain, name: &str, function: &str, policy: Policy) -> u64 {
    link(client, server, "server", function, policy);
    // The host asks for its own state, whatever the two domains do to each other's.
    let call = bind::<extern "C" fn() -> u64>(client, name, Policy::INTEGRITY);
    call.call().unwrap();
    call.call().unwrap()
}

/// The state is the client's own again. Red without `x87`, `mxcsr` or `upper halves` on the way out.
#[test]
fn clients_have_their_own_state_again() {
    let (server, client) = (server(), caller());
    for policy in PRESETS {
        let asked = policy.client.contains(Properties::CPU_STATE);
        let nobody = policy == Policy::MUTUAL_TRUST;
        for (name, clean, dirty) in
            [("mxcsr", 0x1f80, 0x603f), ("control", 0x37f, 0x0c7f), ("full", 0, 0xffff)]
        {
            let found = across(&client, &server, &format!("find_{name}"), &format!("leave_{name}"), policy);
            if asked {
                assert_eq!(found, clean, "{policy}: the server's {name} stays");
            } else if nobody {
                assert_eq!(found, dirty, "{policy}: {name} is put right, though nobody asks for it");
            }
        }
        let leave = |name: &str| {
            bind::<extern "C" fn()>(&server, name, policy).call().unwrap();
            let found = host::cpu_state();
            host::reset_cpu_state();
            found
        };
        let clean = host::cpu_state();
        let (mxcsr, control) = (leave("leave_mxcsr"), leave("leave_control"));
        if asked {
            assert_eq!((mxcsr, control), (clean, clean), "{policy}");
        } else if nobody {
            assert_eq!((mxcsr.0, control.1), (MXCSR & !0x3f, CONTROL), "{policy}");
        }
    }
}

/// A server starts with clean state. Red without fresh state on the way in. (The host is trusted to have it clean.)
#[test]
fn servers_start_with_clean_state() {
    let (server, client) = (server(), caller());
    for policy in PRESETS {
        for (name, clean, dirty) in
            [("mxcsr", 0x1f80, 0x603f), ("control", 0x37f, 0x0c7f), ("full", 0, 0xffff)]
        {
            let found = across(&client, &server, &format!("carry_{name}"), &format!("see_{name}"), policy);
            if policy.server.contains(Properties::CPU_STATE) {
                assert_eq!(found, clean, "{policy}: the client's {name} is there");
            } else if policy == Policy::MUTUAL_TRUST {
                assert_eq!(found, dirty, "{policy}: {name} is clean, though nobody asks for it");
            }
        }
    }
}

/// Status flags tell what a caller has computed. Red without `mxcsr_hide_flags`.
#[test]
fn mxcsr_status_flags() {
    const FLAGS: u64 = 0x3f;
    let (server, client) = (server(), caller());
    let before = Registers::new().with(Place::Mxcsr, 0x1f80 | FLAGS);
    for policy in PRESETS {
        let see = bind::<extern "C" fn() -> u64>(&server, "see_mxcsr", policy);
        see.call().unwrap();
        let seen = [
            probe(see.as_ptr(), &before).get(RAX) & FLAGS,
            across(&client, &server, "carry_mxcsr", "see_mxcsr", policy) & FLAGS,
        ];
        if policy.client.contains(Properties::REGISTER_CONFIDENTIALITY) {
            assert_eq!(seen, [0; 2], "{policy}");
        } else if policy == Policy::MUTUAL_TRUST {
            assert_eq!(seen, [FLAGS; 2], "{policy}");
        }
    }
}

/// The x87 environment says where the other side's last instruction was (R18). Red without `fninit`, either way.
#[test]
fn x87_environment() {
    let (server, client) = (server(), caller());
    for policy in PRESETS {
        let see = bind::<extern "C" fn() -> u64>(&server, "see_environment", policy);
        see.call().unwrap();
        host::x87_sum();
        let of_the_host = see.call().unwrap();
        let of_the_client = across(&client, &server, "carry_environment", "see_environment", policy);
        if policy.client.contains(Properties::REGISTER_CONFIDENTIALITY) {
            assert_eq!([of_the_host, of_the_client], [0; 2], "{policy}");
        } else if policy == Policy::MUTUAL_TRUST {
            assert!(of_the_host != 0 && of_the_client != 0, "{policy}: {of_the_host:#x} {of_the_client:#x}");
        }
        let of_the_server = across(&client, &server, "find_environment", "leave_environment", policy);
        if policy.server.contains(Properties::REGISTER_CONFIDENTIALITY) {
            assert_eq!(of_the_server, 0, "{policy}");
        } else if policy == Policy::MUTUAL_TRUST {
            assert_ne!(of_the_server, 0, "{policy}");
        }
    }
}
