//! What a call keeps and clears in which a handler of the domain's own signals begins (docs/decisions/0080): what its window can touch, however
//! little the function can that was called, which the proxy goes by until then.
use super::classes::{self, CALLEE_SAVED, Class, SECRET};
use super::host_sys::{Place, Registers, probe};
use super::registers::{attack_the_callee, attack_the_caller};
use super::{PRESETS, bind};
use crate::common::{Guest, host_sys as host};
use lockgate::{Domain, FaultKind, Policy, take_call_error};

/// `touch` is all that is called; a fault in it leads to a function that `to_NAME` has chosen. `shows` says how much of the secret the handler has
/// found in its context.
const HANDLER: &str = r#"
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <ucontext.h>
static volatile greg_t next;
static volatile long found;
static void leads(int signal, siginfo_t *info, void *context) {
    ucontext_t *interrupted = context;
    long words[64];
    memcpy(words, interrupted->uc_mcontext.fpregs, sizeof words);
    for (int i = 0; i < 64; i++) found += words[i] == SECRET;
    if (!next) __builtin_trap();
    interrupted->uc_mcontext.gregs[REG_RIP] = next;
}
long handles(long n) { struct sigaction action = {.sa_sigaction = leads, .sa_flags = SA_SIGINFO}; return sigaction(SIGSEGV, &action, 0); }
long shows(long n) { long before = found; found = 0; return before; }
long touch(volatile long *at) { return *at; }
long to_trap(long n) { next = 0; return 0; }
"#;

/// Where the function faults.
const NOWHERE: u64 = 0x9000;

type Long = extern "C" fn(i64) -> i64;

fn function(name: &str, body: &str) -> String {
    let lines = body.replace('\n', "\\n ");
    format!(
        "__attribute__((naked)) void {name}(void) {{ __asm__(\"{lines}\\n ret\"); }}\nlong to_{name}(long n) {{ next = (greg_t){name}; return 0; }}\n"
    )
}

fn domain(functions: impl Iterator<Item = (String, String)>) -> Domain {
    let functions: String = functions.map(|(name, body)| function(&name, &body)).collect();
    let domain = Guest::c(&(HANDLER.replace("SECRET", &format!("{SECRET:#x}")) + &functions)).domain();
    assert_eq!(bind::<Long>(&domain, "handles", Policy::MUTUAL_DISTRUST).call(0).expect("a handler"), 0);
    domain
}

/// A call of `touch` that goes on at `name`, with these registers.
fn lead_to(domain: &Domain, name: &str, policy: Policy, before: Registers) -> Registers {
    let choose = bind::<Long>(domain, &format!("to_{name}"), Policy::MUTUAL_DISTRUST);
    assert_eq!(choose.call(0).expect("it is chosen"), 0);
    // Bound when there is a handler or not: its proxy is the same.
    let touch = bind::<extern "C" fn(u64) -> u64>(domain, "touch", policy);
    assert!(touch.proxy().parts.iter().all(|(_, part)| *part != "vector registers"), "it touches none");
    let after = probe(touch.as_ptr(), &before.with(Place::General(6), NOWHERE));
    let error = take_call_error();
    assert_eq!(error.map(|error| error.to_string()), None, "{name}, {policy}");
    after
}

fn shown(domain: &Domain) -> i64 {
    bind::<Long>(domain, "shows", Policy::MUTUAL_DISTRUST).call(0).expect("a number")
}

fn classes() -> Vec<Class> {
    let mut classes = classes::all();
    classes.retain(|class| {
        !matches!(class.place, Place::General(_)) || CALLEE_SAVED.contains(&class.name.as_str())
    });
    classes
}

/// The host's secrets are nothing for a handler, nor for what runs behind it. Red if what the function cannot touch is left as it is.
#[test]
fn secrets_of_the_caller() {
    let classes = classes();
    let domain = domain(classes.iter().map(|class| (format!("see_{}", class.name), class.read.clone())));
    for policy in PRESETS {
        let hides = policy.client.contains(lockgate::Properties::REGISTER_CONFIDENTIALITY);
        attack_the_caller(&classes, &[], policy, |class| {
            let before = Registers::new().with(class.place, SECRET);
            let seen = lead_to(&domain, &format!("see_{}", class.name), policy, before);
            assert!(!hides || shown(&domain) == 0, "{policy}: {} is in the handler's context", class.name);
            seen.get(Place::General(0))
        });
        shown(&domain);
    }
}

/// What is not a register that holds values: the flags of MXCSR, and where the last instruction of the x87 unit was (R18).
#[test]
fn traces_of_the_caller() {
    let traces = [
        ("see_flags", "stmxcsr -8(%rsp)\n mov -8(%rsp),%eax\n and $0x3f,%eax"),
        ("see_environment", "fnstenv -64(%rsp)\n mov -64+12(%rsp),%eax\n or -64+20(%rsp),%eax\n fninit"),
    ];
    let domain = domain(traces.iter().map(|(name, body)| ((*name).to_owned(), (*body).to_owned())));
    for policy in PRESETS {
        for (name, _) in traces {
            assert_eq!(host::x87_sum(), 36.0);
            let seen = lead_to(&domain, name, policy, Registers::new().with(Place::Mxcsr, 0x1fbf));
            let (seen, flags) = (seen.get(Place::General(0)), seen.get(Place::Mxcsr) & 0x3f);
            if policy.client.contains(lockgate::Properties::REGISTER_CONFIDENTIALITY) {
                assert_eq!(seen, 0, "{policy}: {name}");
                assert_eq!(flags, 0x3f, "{policy}: the caller's flags are its own again");
            } else if name == "see_flags" {
                assert_eq!(seen, 0x3f, "{policy}: {name} is not asked for, but does not show");
            }
        }
    }
}

/// What is left by what a handler leads to is nothing for the host. Red if the call ends by the proxy that it has begun with.
#[test]
fn secrets_of_the_callee() {
    let classes = classes();
    let domain = domain(classes.iter().map(|class| (format!("leave_{}", class.name), class.plant.clone())));
    for policy in PRESETS {
        let plain: Vec<_> = classes.iter().filter(|class| !CALLEE_SAVED.contains(&&*class.name)).collect();
        for class in plain {
            let class = std::slice::from_ref(class);
            attack_the_callee(class, &[], policy, |class| {
                lead_to(&domain, &format!("leave_{}", class.name), policy, Registers::new()).get(class.place)
            });
        }
    }
}

/// R17: nor is the state that it leaves. Red if the caller's control words are not noted where the handler begins.
#[test]
fn the_hosts_state_is_clean() {
    let before = host::cpu_state();
    let state = [
        ("leave_control", "movw $0x0c7f,-8(%rsp)\n fldcw -8(%rsp)"),
        ("leave_full", "fninit\n fld1\n fld1\n fld1\n fld1\n fld1\n fld1\n fld1\n fld1"),
        ("leave_mxcsr", "movl $0x7f80,-8(%rsp)\n ldmxcsr -8(%rsp)"),
    ];
    let faulting = state.map(|(name, body)| (format!("end_{name}"), format!("{body}\n ud2")));
    let domain =
        domain(state.iter().map(|(name, body)| ((*name).to_owned(), (*body).to_owned())).chain(faulting));
    for policy in PRESETS {
        if !policy.client.contains(lockgate::Properties::CPU_STATE) {
            continue;
        }
        for (name, _) in state {
            lead_to(&domain, name, policy, Registers::new());
            assert_eq!(host::x87_sum(), 36.0, "{name}");
            assert_eq!(host::cpu_state(), before, "{name}");
        }
    }
    // Whatever the policy, where the call ends there.
    let touch = bind::<extern "C" fn(u64) -> u64>(&domain, "touch", Policy::MUTUAL_TRUST);
    for name in ["trap", "end_leave_control", "end_leave_mxcsr"] {
        let choose = bind::<Long>(&domain, &format!("to_{name}"), Policy::MUTUAL_DISTRUST);
        assert_eq!(choose.call(0).expect("it is chosen"), 0);
        let error = touch.call(NOWHERE).expect_err("it ends");
        assert_eq!(error.fault().expect("a fault").kind(), FaultKind::Ill, "{error}");
        assert_eq!(host::cpu_state(), before, "{name}");
        // Who has nothing but the pointer is told as well: the binding is found by the header that it has always had.
        probe(touch.as_ptr(), &Registers::new().with(Place::General(6), NOWHERE));
        let error = take_call_error().expect("it ends");
        assert_eq!(error.fault().map(lockgate::Fault::kind), Some(FaultKind::Ill), "{error}");
    }
}
