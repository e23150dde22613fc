//! Rules R7–R10: what lies on control stacks, and where returns lead.
mod common;

use common::{Guest, host_sys, mappings, peek};
use lockgate::{Domain, DomainOptions, FaultKind, HostFunction};
use lockgate_abi::{stack, window};

/// Return addresses and exit words that were left behind are returned to, from wherever the module likes.
const STALE: &str = "
# Moves rsp by rdi inside its slot (unit U2) and returns to whatever lies there.
function move_and_return
    mov %rsp,%r11
    add %rdi,%r11
    xor %rsp,%r11
    and $0xfffff8,%r11d
    xor %r11,%rsp
    mov -OFF(%rsp),%r11
    ret
# Leaves return addresses n levels deep.
function dig
    test %edi,%edi
    je 1f
    dec %edi
    lea -0x88(%rsp),%rsp
    mov %rdi,-OFF(%rsp)
    call dig
    lea 0x88(%rsp),%rsp
    mov %rdi,-OFF(%rsp)
1:  ret
function call_host
    call *%gs:0x11080
    ret
function spin
    mov $20000000,%eax
1:  call 2f
    dec %eax
    jne 1b
    ret
2:  lea -0x40(%rsp),%rsp
    mov %rdi,-OFF(%rsp)
    lea 0x40(%rsp),%rsp
    mov %rdi,-OFF(%rsp)
    ret
";

fn guest() -> Guest {
    Guest::assembly(STALE).gate("void host(void)")
}

/// Words of the first slot's control stack that are not zero, with their address.
fn control_words(domain: &Domain) -> Vec<(u64, u64)> {
    let top = domain.base() + window::CONTROL + stack::TOP;
    let low = top - (1 << 20);
    let words = peek(low, (top - low) as usize / 8).expect("the control stack is mapped");
    words.into_iter().enumerate().filter(|(_, w)| *w != 0).map(|(i, w)| (low + 8 * i as u64, w)).collect()
}

/// R7: after calls, gates, nesting and a storm of signals, the control stack holds verified return addresses and
/// one value from outside: the exit word. Red if a gate pushes before it leaves the control stack, or if handlers
/// run without the alternate stack.
#[test]
fn r7_only_return_addresses_and_one_exit_word() {
    let nested = HostFunction::new(|domain: &Domain| {
        domain.bind::<extern "C" fn(i32)>("dig").expect("an export").call(20).expect("it returns");
    });
    let domain = guest().domain_with(DomainOptions::new().gate("host", nested));
    domain.bind::<extern "C" fn(i32)>("dig").unwrap().call(200).unwrap();
    domain.bind::<extern "C" fn()>("call_host").unwrap().call().unwrap();
    let spin = domain.bind::<extern "C" fn()>("spin").unwrap();
    let handled = host_sys::signal_storm(|| spin.call().expect("signals do not end calls"));
    assert!(handled > 5, "only {handled} signals were handled");
    let text = domain.base() + window::IMAGE;
    let text = text..text + domain.module().report().text_bytes;
    let mut foreign: Vec<u64> =
        control_words(&domain).into_iter().map(|(_, w)| w).filter(|w| !text.contains(w)).collect();
    foreign.sort_unstable();
    foreign.dedup();
    assert_eq!(
        foreign.len(),
        1,
        "words on the control stack that are neither code nor the exit: {foreign:x?}"
    );
}

/// R8: exit words of earlier and deeper entries lead to the one exit, which takes everything from the record of
/// the call in progress: attack C5 of review.md. Red if the exit word is a place in the proxy's own frame or
/// the continuation is taken from anywhere but the record.
#[test]
fn r8_stale_exit_words_return_properly() {
    let nested = HostFunction::new(|domain: &Domain| {
        // Leaves an exit word in the middle of the outer call's stack.
        domain.bind::<extern "C" fn(i32)>("dig").expect("an export").call(3).expect("it returns");
    });
    let domain = guest().domain_with(DomainOptions::new().gate("host", nested));
    domain.bind::<extern "C" fn()>("call_host").unwrap().call().unwrap();
    let exit = control_words(&domain).last().expect("an exit word").1;
    let top = domain.base() + window::CONTROL + stack::EXIT_WORD;
    let words = control_words(&domain);
    let stale: Vec<u64> =
        words.iter().filter(|(at, w)| *w == exit && *at < top - 512).map(|(at, _)| *at).collect();
    assert!(!stale.is_empty(), "the nested entry left its exit word");
    let entry = words.iter().rfind(|(_, w)| *w == exit).expect("the outermost exit word").0;
    let jump = domain.bind::<extern "C" fn(i64)>("move_and_return").unwrap();
    for at in stale {
        let distance = at as i64 - entry as i64;
        let kept = host_sys::callee_saved_survive(|| jump.call(distance).expect("an ordinary return"));
        assert!(kept, "the host's registers changed after a return through the word at {at:#x}");
    }
}

/// R8 for every word of the stack: whatever is returned to, the call ends as a return or a fault.
#[test]
fn r8_every_word_is_harmless() {
    let domain = guest().domain_with(DomainOptions::new().time_limit(std::time::Duration::from_millis(50)));
    let dig = domain.bind::<extern "C" fn(i32)>("dig").unwrap();
    dig.call(30).unwrap();
    let jump = domain.bind::<extern "C" fn(i64)>("move_and_return").unwrap();
    for distance in (-4800..=64).step_by(8) {
        match jump.call(distance) {
            Ok(()) => {}
            Err(error) => assert!(error.fault().is_some(), "{distance}: {error}"),
        }
    }
    dig.call(30).expect("the domain goes on");
}

/// R9: above the exit word there are only zeros, and a zero is not a return address. Red if anything is written
/// above the exit word, or it is not the topmost word in use.
#[test]
fn r9_nothing_lies_above_the_exit_word() {
    let domain = guest().domain();
    domain.bind::<extern "C" fn(i32)>("dig").unwrap().call(10).unwrap();
    let words = control_words(&domain);
    let top = domain.base() + window::CONTROL + stack::TOP;
    let (highest, _) = *words.last().expect("words");
    let jump = domain.bind::<extern "C" fn(i64)>("move_and_return").unwrap();
    for at in (highest + 8..top).step_by(8) {
        let error = jump.call(at as i64 - highest as i64).expect_err("a return through zero");
        assert_eq!(error.fault().unwrap().kind(), FaultKind::Segv, "{error}");
    }
}

/// R10: slots of different domains are at least a guard apart.
#[test]
fn r10_control_stacks_of_domains_are_far_apart() {
    let module = guest().module();
    let domains: Vec<_> = (0..4).map(|_| Domain::new(&module, DomainOptions::new()).unwrap()).collect();
    for domain in &domains {
        domain.bind::<extern "C" fn(i32)>("dig").unwrap().call(1).unwrap();
        let control = domain.base() + window::CONTROL..domain.base() + window::CONTROL_END;
        let usable: Vec<_> =
            mappings(control.start, control.end).into_iter().filter(|m| m.rights.starts_with("rw")).collect();
        assert_eq!(usable.len(), 1, "{usable:x?}");
        assert!(
            usable[0].start >= control.start + stack::GUARD && usable[0].end + stack::GUARD <= control.end
        );
    }
}
