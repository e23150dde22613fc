//! What a call keeps and clears follows what the function that was bound can touch, where that can be told (rule V6): however a function
//! comes to what touches state, its calls look after that state.
use super::classes::{self, CALLEE_SAVED, Class};
use super::host_sys::{Place, Registers, probe};
use super::registers::{attack_the_callee, attack_the_caller};
use super::{PRESETS, around, bind};
use crate::common::{Guest, host_sys as host};
use lockgate::{Domain, DomainOptions, HostFunction, Policy};

/// `BODY` leaves or reads state. How control comes there from the function `NAME`, and whether by direct branches only.
const WAYS: [(&str, bool, &str); 10] = [
    ("itself", true, "function NAME\n BODY\n ret\n"),
    ("called", true, "function NAME\n call 1f\n ret\n 1: BODY\n ret\n"),
    ("two_below", true, "function NAME\n call 1f\n ret\n 1: call 2f\n ret\n 2: BODY\n ret\n"),
    ("tail", true, "function NAME\n call 1f\n ret\n 1: jmp 2f\n ud2\n 2: BODY\n ret\n"),
    ("branch", true, "function NAME\n xor %eax,%eax\n jz 1f\n ret\n 1: BODY\n ret\n"),
    (
        "recursion",
        true,
        "function NAME\n mov $3,%r8d\n NAME_again: dec %r8d\n jz 1f\n call NAME_other\n ret\n 1: BODY\n ret
         NAME_other: jmp NAME_again\n ud2\n",
    ),
    ("behind_a_call", true, "function NAME\n call 1f\n function NAME_next\n BODY\n ret\n 1: ret\n"),
    (
        "table",
        true,
        "function NAME\n mov $1,%eax\n cmp $1,%rax\n ja 2f\n lea NAME_table(%rip),%r11\n movslq (%r11,%rax,4),%rax\n add %r11,%rax
         jmp *%rax\n 1: BODY\n ret\n 2: ud2
         .section .rodata\n .balign 4\n NAME_table: .long 2b - NAME_table, 1b - NAME_table\n .text\n",
    ),
    (
        "pointer",
        false,
        "function NAME\n lea NAME_at(%rip),%rax
         .byte 0x65,0x67,0x44,0x8b,0x18,0x41,0x81,0xc3,0x0d,0xf0,0xe1,0x05 # U1
         jne 2f\n .byte 0x41,0x89,0xc3,0x65,0x67,0x4c,0x03,0x1c,0x25,0x08,0x00,0x01,0x00\n jmp *%r11\n 2: ud2
         function NAME_at\n BODY\n ret\n",
    ),
    // By way of the host, which calls another function of the domain.
    ("host", false, ""),
];

fn function(way: &str, name: &str, body: &str) -> String {
    way.replace("NAME", name).replace("BODY", body)
}

/// Classes of registers that no way changes itself.
fn classes() -> Vec<Class> {
    let mut classes = classes::all();
    classes.retain(|class| {
        !matches!(class.place, Place::General(_)) || CALLEE_SAVED.contains(&class.name.as_str())
    });
    classes
}

/// `see_X`, `leave_X` as in `registers.rs`, by `way`; and a function that touches nothing.
fn server(way: &str, classes: &[Class]) -> Domain {
    let functions = classes.iter().map(|Class { name, plant, read, .. }| {
        function(way, &format!("see_{name}"), read) + &function(way, &format!("leave_{name}"), plant)
    });
    Guest::assembly(&(functions.collect::<String>() + "function plain\n ret\n")).domain()
}

/// The caller's secrets, and the callee's, by each way. Red if one of them is not followed.
#[test]
fn secrets_in_registers() {
    let classes = classes();
    for (name, _, way) in WAYS.into_iter().filter(|(_, _, way)| !way.is_empty()) {
        let server = server(way, &classes);
        for policy in PRESETS {
            eprintln!("{name}, {policy}");
            attack_the_caller(&classes, &[], policy, |class| {
                let see = bind::<extern "C" fn() -> u64>(&server, &format!("see_{}", class.name), policy);
                probe(see.as_ptr(), &Registers::new());
                let before = Registers::new().with(class.place, classes::SECRET);
                probe(see.as_ptr(), &before).get(Place::General(0))
            });
            attack_the_callee(&classes, &[], policy, |class| {
                let leave = bind::<extern "C" fn()>(&server, &format!("leave_{}", class.name), policy);
                probe(leave.as_ptr(), &Registers::new());
                probe(leave.as_ptr(), &Registers::new()).get(class.place)
            });
        }
    }
}

/// What the callee does to x87 and MXCSR, by each way.
const STATE: [(&str, &str); 3] = [
    ("control", "movw $0x0c7f,-8-OFF(%rsp)\n fldcw -8-OFF(%rsp)"),
    ("full", "fill_x87"),
    ("mxcsr", "movl $0x7f80,-8-OFF(%rsp)\n ldmxcsr -8-OFF(%rsp)"),
];

/// R17 by each way. Red if one of them is not followed.
#[test]
fn the_hosts_state_is_clean() {
    let before = host::cpu_state();
    for (name, _, way) in WAYS {
        let functions = STATE.map(|(state, body)| match name {
            "host" => {
                around(&format!("leave_{state}"), "", "")
                    + &function(WAYS[0].2, &format!("again_{state}"), body)
            }
            _ => function(way, &format!("leave_{state}"), body),
        });
        // The host's function calls the domain's next ones, and trusts them with its state.
        let next = HostFunction::new(|domain: &Domain| {
            for (state, _) in STATE {
                bind::<extern "C" fn()>(domain, &format!("again_{state}"), Policy::MUTUAL_TRUST)
                    .call()
                    .unwrap();
            }
        });
        let options = DomainOptions::new().gate("server", next);
        let domain = Guest::assembly(&functions.concat()).gate("void server(void)").domain_with(options);
        for (state, _) in STATE {
            bind::<extern "C" fn()>(&domain, &format!("leave_{state}"), Policy::INTEGRITY).call().unwrap();
            assert_eq!(host::x87_sum(), 36.0, "{name}: {state}");
            assert_eq!(host::cpu_state(), before, "{name}: {state}");
        }
    }
}

/// A fault in the function is no way out, either: what it has changed until then is put right.
#[test]
fn the_hosts_state_is_clean_after_a_fault() {
    let before = host::cpu_state();
    let classes = classes();
    let faulting = |body: &str| format!("{body}\n ud2");
    let functions =
        STATE.iter().map(|(state, body)| function(WAYS[2].2, &format!("leave_{state}"), &faulting(body)));
    let secrets = classes
        .iter()
        .map(|class| function(WAYS[2].2, &format!("leave_{}", class.name), &faulting(&class.plant)));
    let domain = Guest::assembly(&functions.chain(secrets).collect::<String>()).domain();
    for (state, _) in STATE {
        for policy in [Policy::INTEGRITY, Policy::MUTUAL_TRUST] {
            bind::<extern "C" fn()>(&domain, &format!("leave_{state}"), policy).call().unwrap_err();
            assert_eq!(host::cpu_state(), before, "{policy}: {state}");
            if policy == Policy::INTEGRITY {
                assert_eq!(host::x87_sum(), 36.0, "{state}");
            }
        }
    }
    // Callee-saved registers are the caller's after a fault, whatever the policy.
    attack_the_callee(&classes, &CALLEE_SAVED, Policy::MUTUAL_DISTRUST, |class| {
        let leave =
            bind::<extern "C" fn()>(&domain, &format!("leave_{}", class.name), Policy::MUTUAL_DISTRUST);
        probe(leave.as_ptr(), &Registers::new()).get(class.place)
    });
}

/// A function that can be told from its module has a proxy of its own, one that can leave what direct branches reach has its module's.
#[test]
fn functions_have_the_proxies_that_they_need() {
    const EVERYTHING: &str =
        "vpxord %zmm17,%zmm17,%zmm17\n kxorw %k1,%k1,%k1\n fld1\n fstp %st\n ldmxcsr -8-OFF(%rsp)\n cpuid";
    const STATE: [&str; 6] =
        ["vector registers", "zmm16-31", "mask registers", "x87 registers", "x87", "mxcsr"];
    let prototype = "void server(void)";
    for (name, is_told, way) in WAYS.into_iter().filter(|(_, _, way)| !way.is_empty()) {
        let source = function(way, "bare", "nop") + "function everything\n" + EVERYTHING + "\n ret\n";
        let domain = Guest::assembly(&(source + &around("asks", "", "")))
            .gate(prototype)
            .domain_with(DomainOptions::new().gate("server", HostFunction::new(|_: &Domain| ())));
        let parts = |export: &str| {
            let function =
                domain.bind_dynamic_with(&format!("void {export}(void)"), Policy::MUTUAL_DISTRUST).unwrap();
            let listing = function.proxy();
            STATE.map(|part| listing.parts.iter().any(|(_, found)| *found == part))
        };
        let avx512 = super::host_sys::avx512();
        let all = [true, avx512, avx512, true, true, true];
        assert_eq!(parts("bare"), if is_told { [false; 6] } else { all }, "{name}");
        assert_eq!(parts("everything"), all, "{name}");
        assert_eq!(parts("asks"), all, "a function that calls the host");
    }
}
