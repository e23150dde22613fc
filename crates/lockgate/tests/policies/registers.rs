//! Register integrity and confidentiality: a secret in each register, either way, at each kind of call.
use super::classes::{self, CALLEE_SAVED, Class, SECRET};
use super::host_sys::{Place, Registers, litter, litterer, probe};
use super::{PRESETS, around, bind, client, link};
use crate::common::Guest;
use lockgate::{Domain, DomainOptions, HostFunction, OnFailure, Policy, Properties};
use lockgate_abi::window;

/// `see_X` returns what X held at its start; `leave_X` returns with the secret in X.
fn server(classes: &[Class]) -> Domain {
    let functions = classes.iter().map(|Class { name, plant, read, .. }| {
        format!("function see_{name}\n {read}\n ret\nfunction leave_{name}\n {plant}\n ret\n")
    });
    Guest::assembly(&functions.collect::<String>()).domain()
}

/// The same on the caller's side: `carry_X` calls with the secret in X, `find_X` returns what X holds after the call, `keep_X`
/// what a call has made of its own secret in X.
fn caller(classes: &[Class], prototype: &str) -> Domain {
    let functions = classes.iter().map(|Class { name, plant, read, .. }| {
        [
            around(&format!("carry_{name}"), plant, ""),
            around(&format!("find_{name}"), "", read),
            around(&format!("keep_{name}"), plant, read),
        ]
        .concat()
    });
    client(&functions.collect::<String>(), prototype)
}

/// The caller's secrets are nothing for a callee: `see(class)` is what the callee saw.
pub fn attack_the_caller(classes: &[Class], always: &[&str], policy: Policy, see: impl Fn(&Class) -> u64) {
    for class in classes {
        let (name, seen) = (&class.name, see(class));
        if always.contains(&name.as_str()) {
            assert_ne!(seen, SECRET, "{policy}: no proxy leaves {name} as it is");
        } else if policy.client.contains(Properties::REGISTER_CONFIDENTIALITY) {
            assert_eq!(seen, 0, "{policy}: something shows in {name}");
        } else {
            assert_eq!(seen, SECRET, "{policy}: {name} is not asked for, but does not show");
        }
    }
}

/// The callee's secrets are nothing for a caller.
pub fn attack_the_callee(classes: &[Class], always: &[&str], policy: Policy, find: impl Fn(&Class) -> u64) {
    for class in classes {
        let (name, found) = (&class.name, find(class));
        if policy.server.contains(Properties::REGISTER_CONFIDENTIALITY) || always.contains(&name.as_str()) {
            assert_ne!(found, SECRET, "{policy}: the callee's {name} shows");
        } else if policy == Policy::MUTUAL_TRUST {
            assert_eq!(found, SECRET, "{policy}: {name} is not asked for, but does not show");
        }
    }
}

/// Red if `general registers`, `vector registers`, `zmm16-31`, `mask registers` or `x87 registers` is missing on the way in.
#[test]
fn hosts_secrets_in_registers() {
    let classes = classes::all();
    let server = server(&classes);
    for policy in PRESETS {
        attack_the_caller(&classes, &["rax", "r10", "r11"], policy, |class| {
            let see = bind::<extern "C" fn() -> u64>(&server, &format!("see_{}", class.name), policy);
            probe(see.as_ptr(), &Registers::new()); // the thread is admitted
            let before = Registers::new().with(class.place, SECRET);
            probe(see.as_ptr(), &before).get(Place::General(0))
        });
    }
}

/// The same on the way out.
#[test]
fn domains_secrets_for_the_host() {
    let classes = classes::all();
    let server = server(&classes);
    for policy in PRESETS {
        attack_the_callee(&classes, &["rcx", "r10", "r11"], policy, |class| {
            let leave = bind::<extern "C" fn()>(&server, &format!("leave_{}", class.name), policy);
            // Rust's own calls would take what a trusted callee leaves for theirs.
            probe(leave.as_ptr(), &Registers::new());
            probe(leave.as_ptr(), &Registers::new()).get(class.place)
        });
    }
}

/// From a domain to another. The way from the caller to its gate takes rax, r10 and r11.
#[test]
fn clients_secrets_for_another_domain() {
    let classes = classes::all();
    let (server, client) = (server(&classes), caller(&classes, "long server(void)"));
    for policy in PRESETS {
        attack_the_caller(&classes, &["rax", "r10", "r11"], policy, |Class { name, .. }| {
            link(&client, &server, "server", &format!("see_{name}"), policy);
            let carry = bind::<extern "C" fn() -> u64>(&client, &format!("carry_{name}"), Policy::INTEGRITY);
            carry.call().unwrap();
            carry.call().unwrap()
        });
    }
}

/// Back from another domain. The way back takes rcx, rsi, rdi, r10 and r11.
#[test]
fn servers_secrets_for_another_domain() {
    let classes = classes::all();
    let (server, client) = (server(&classes), caller(&classes, "void server(void)"));
    for policy in PRESETS {
        attack_the_callee(
            &classes,
            &["rcx", "rsi", "rdi", "r10", "r11"],
            policy,
            |Class { name, .. }| {
                link(&client, &server, "server", &format!("leave_{name}"), policy);
                let find =
                    bind::<extern "C" fn() -> u64>(&client, &format!("find_{name}"), Policy::INTEGRITY);
                find.call().unwrap();
                find.call().unwrap()
            },
        );
    }
}

/// Register integrity. Red without `callee-saved registers`.
#[test]
fn clobbered_registers() {
    const OWN: u64 = 0x0123_4567_89ab_cdef;
    let mut classes = classes::all();
    classes.retain(|class| CALLEE_SAVED.contains(&class.name.as_str()));
    let server = server(&classes);
    let client = CALLEE_SAVED.iter().map(|name| {
        around(&format!("keep_{name}"), &format!("movabs ${OWN:#x},%{name}"), &format!("mov %{name},%rax"))
    });
    let client = super::client(&client.collect::<String>(), "void server(void)");
    for policy in PRESETS {
        for Class { name, place, .. } in &classes {
            let leave = bind::<extern "C" fn()>(&server, &format!("leave_{name}"), policy);
            probe(leave.as_ptr(), &Registers::new());
            let after = probe(leave.as_ptr(), &Registers::new().with(*place, OWN)).get(*place);
            link(&client, &server, "server", &format!("leave_{name}"), policy);
            let keep = bind::<extern "C" fn() -> u64>(&client, &format!("keep_{name}"), Policy::INTEGRITY);
            let kept = [after, keep.call().unwrap(), keep.call().unwrap()];
            if policy.client.contains(Properties::REGISTER_INTEGRITY) {
                assert_eq!(kept, [OWN; 3], "{policy}: {name} is not the caller's any more");
            } else if policy == Policy::MUTUAL_TRUST {
                assert_eq!(kept, [SECRET; 3], "{policy}: {name} is restored, though nobody asks for it");
            }
        }
    }
}

/// What the proxy itself has had in registers is nothing for the callee either (R24), above all not where secrets are no
/// property and the registers stay as they are. Red without `keep_registers`.
#[test]
fn no_address_of_the_hosts_in_registers() {
    let mut classes = classes::all();
    classes.retain(|class| matches!(class.place, Place::General(_)));
    let (server, client) = (server(&classes), caller(&classes, "long server(void)"));
    let window = server.base()..server.base() + window::STRIDE;
    for policy in PRESETS.into_iter().flat_map(|policy| [policy, policy.counted(), policy.timed()]) {
        for Class { name, place, .. } in &classes {
            let see = bind::<extern "C" fn() -> u64>(&server, &format!("see_{name}"), policy);
            see.call().unwrap();
            let from_host = probe(see.as_ptr(), &Registers::new()).get(Place::General(0));
            link(&client, &server, "server", &format!("see_{name}"), policy);
            let find = bind::<extern "C" fn() -> u64>(&client, &format!("carry_{name}"), Policy::INTEGRITY);
            for seen in [from_host, find.call().unwrap(), find.call().unwrap()] {
                assert!(
                    seen == 0 || seen == SECRET || window.contains(&seen),
                    "{policy}: {name} holds {seen:#x}, at {place:?}"
                );
            }
        }
    }
}

/// What a host's function leaves is nothing for the domain that called it. Red without `HIDES`.
#[test]
fn host_functions_secrets() {
    let classes = classes::all();
    let find: String =
        classes.iter().map(|Class { name, read, .. }| around(&format!("find_{name}"), "", read)).collect();
    let host = HostFunction::new(|_: &Domain| litter(SECRET));
    let options = DomainOptions::new().gate("server", host);
    let domain = Guest::assembly(&find).gate("void server(void)").domain_with(options);
    for policy in PRESETS {
        let mut shown = Vec::new();
        for Class { name, .. } in &classes {
            let find = bind::<extern "C" fn() -> u64>(&domain, &format!("find_{name}"), policy);
            if find.call().unwrap() == SECRET {
                shown.push(name.as_str());
            }
        }
        if policy.client.contains(Properties::REGISTER_CONFIDENTIALITY) {
            assert!(shown.is_empty(), "{policy}: {shown:?}");
        } else {
            // The library's own code after the closure uses some of the others.
            for number in 2..16 {
                for part in ["xmm?_low", "xmm?_high", "ymm?_high"] {
                    let name = part.replace('?', &number.to_string());
                    assert!(shown.contains(&name.as_str()), "{policy}: {name} is not among {shown:?}");
                }
            }
            let of_avx512 = |name: &&str| name.starts_with("zmm") || name.starts_with('k');
            let count = shown.iter().filter(|name| of_avx512(name)).count();
            assert_eq!(count, if super::host_sys::avx512() { 32 + 8 } else { 0 }, "{policy}: {shown:?}");
        }
    }
}

/// What a domain finds in a register after its call of a host's function that leaves the secret in every one: nothing, neither of the
/// function's nor of the gate's own. Red without `HIDES`, or if the gate leaves what it has had in rsi or r10, or x87 registers.
#[test]
fn host_functions_leave_nothing_but_results() {
    let classes = classes::all();
    let find: String =
        classes.iter().map(|Class { name, read, .. }| around(&format!("find_{name}"), "", read)).collect();
    let domain = |prototype: &str| {
        let options = DomainOptions::new().gate("server", litterer(prototype, SECRET));
        Guest::assembly(&find).gate(prototype).domain_with(options)
    };
    let found = |domain: &Domain, name: &str, policy| {
        let find = bind::<extern "C" fn() -> u64>(domain, &format!("find_{name}"), policy);
        find.call().unwrap();
        find.call().unwrap()
    };
    let nothing = domain("void server(void)");
    let policies =
        PRESETS.into_iter().filter(|policy| policy.client.contains(Properties::REGISTER_CONFIDENTIALITY));
    for policy in policies {
        for Class { name, .. } in &classes {
            assert_eq!(found(&nothing, name, policy), 0, "{policy}: {name}");
        }
        let half = SECRET & 0xffff_ffff;
        for (prototype, name, value) in [
            ("long server(void)", "rax", SECRET),
            ("long server(void)", "rdx", 0),
            ("int server(void)", "rax", half),
            ("unsigned short server(void)", "rax", SECRET & 0xffff),
            ("short server(void)", "rax", u64::from(SECRET as i16 as i32 as u32)),
            ("signed char server(void)", "rax", u64::from(SECRET as i8 as i32 as u32)),
            ("unsigned char server(void)", "rax", SECRET & 0xff),
            ("_Bool server(void)", "rax", 1),
            ("float server(void)", "xmm0_low", half),
            ("float server(void)", "xmm0_high", 0),
            ("float server(void)", "rax", 0),
            ("double server(void)", "xmm0_low", SECRET),
            ("double server(void)", "ymm0_high", 0),
            ("struct { long a; int b; } server(void)", "rax", SECRET),
            ("struct { long a; int b; } server(void)", "rdx", SECRET),
            ("struct { int a[3]; } server(void)", "rdx", half),
            ("struct { float a; } server(void)", "xmm0_low", half),
        ] {
            assert_eq!(found(&domain(prototype), name, policy), value, "{policy}: {name} after {prototype}");
        }
    }
}

/// A crossing that fails shows its caller nothing of what the library's own code has left in registers, whatever the policy. Red if r8,
/// or a vector register, is not cleared.
#[test]
fn failed_crossings_show_nothing_of_the_hosts() {
    let classes = classes::all();
    let free = |name: &str| {
        let values = ["rax", "rdx", "xmm0_low", "xmm1_low"];
        !values.contains(&name) && !CALLEE_SAVED.contains(&name)
    };
    let server = Guest::assembly("function server\n ud2\n").domain_with(DomainOptions::new());
    let client = caller(&classes, "void server(void)");
    let window = client.base()..client.base() + window::STRIDE;
    for policy in PRESETS {
        let said = crate::common::said(&client, "server", "server");
        client.link("server", &server, &said, policy, OnFailure::Return(7)).unwrap();
        for Class { name, .. } in classes.iter().filter(|class| free(&class.name)) {
            let find = bind::<extern "C" fn() -> u64>(&client, &format!("find_{name}"), Policy::INTEGRITY);
            // Its own window's address is no secret.
            for found in [find.call().unwrap(), find.call().unwrap()] {
                assert!(found == 0 || window.contains(&found), "{policy}: {found:#x} in {name}");
            }
        }
    }
}
