//! Rules R7–R10: what lies on control stacks, and where returns lead.

use crate::common::{Guest, host_sys, mappings, peek, watchdog};
use lockgate::{Domain, DomainOptions, Function, FunctionType, HostFunction, Pointer};
use lockgate_abi::{PAGE, stack, window};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What the tests call.
const GUEST: &str = "
# Returns with nothing of the host's in any register.
function return_with_nothing
    .irp register,rax,rbx,rcx,rdx,rsi,rdi,rbp,r8,r9,r10,r11,r12,r13,r14,r15
    mov $-1,%\\register
    .endr
    ret
# A function that leaves return addresses n levels deep, 0x90 bytes for each, and goes to `bottom` there.
.macro digs name, bottom
function \\name
    test %edi,%edi
    je \\bottom
    dec %edi
    lea -0x88(%rsp),%rsp
    mov %rdi,-OFF(%rsp)
    call \\name
    lea 0x88(%rsp),%rsp
    mov %rdi,-OFF(%rsp)
    ret
.endm
    digs dig, nothing
    digs dig_then_host, call_host
function nothing
    ret
function call_host
    call *%gs:0x11080
    ret
function call_system
    mov $39,%eax
    call *%gs:0x11000
    ret
function where
    mov %rsp,%rax
    ret
";

fn guest() -> Guest {
    Guest::assembly(GUEST).gate("void host(void)")
}

/// Words of the first slot's control stack that are not zero, with their address.
fn control_words(domain: &Domain) -> Vec<(u64, u64)> {
    let top = domain.base() + window::CONTROL + stack::TOP;
    let low = top - (1 << 20);
    let words = peek(low, (top - low) as usize / 8).expect("the control stack is mapped");
    words.into_iter().enumerate().filter(|(_, w)| *w != 0).map(|(i, w)| (low + 8 * i as u64, w)).collect()
}

/// True if calls of the function return to `word`: it is where its proxy's exit begins.
fn is_exit<F: FunctionType>(function: &Function<F>, word: u64) -> bool {
    let proxy = function.proxy();
    let offset = word.wrapping_sub(proxy.address) as usize;
    offset < proxy.leave && proxy.part(offset) == "exit" && proxy.part(offset - 1) != "exit"
}

/// Words on the domain's control stack that are not addresses in its code, and where they lie.
fn foreign_words(domain: &Domain) -> Vec<(u64, u64)> {
    let text = domain.base() + window::IMAGE;
    let text = text..text + domain.module().report().text_bytes;
    control_words(domain).into_iter().filter(|(_, word)| !text.contains(word)).collect()
}

/// R7: after calls, gates of each kind, nesting and a storm of signals, the control stack holds verified return
/// addresses and one kind of value from outside: exit return addresses. Red if a gate pushes before it leaves the control stack, or
/// if handlers run without the alternate stack.
#[test]
fn r7_only_return_addresses_and_exit_returns() {
    let nested = HostFunction::new(|domain: &Domain| {
        domain.bind::<extern "C" fn(i32) -> i32>("dig").expect("an export").call(20).expect("it returns");
    });
    let domain = Guest::c_with(
        "#include <unistd.h>
         extern void host(void);
         volatile int sink;
         int dig(int n) { volatile int v[16]; v[0] = n; return n ? dig(n - 1) + v[0] : 0; }
         void call_host(void) { host(); sink++; }
         void call_back(void (*function)(void)) { function(); sink++; }
         void call_system(void) { sink = getpid(); }
         __attribute__((noinline)) static void leaf(int n) { volatile int v[16]; v[0] = n; }
         void spin(int n) { while (n--) leaf(n); }",
        &["-O1", "-fno-optimize-sibling-calls"],
    )
    .gate("void host(void)")
    .domain_with(DomainOptions::new().gate("host", nested.clone()));
    let dig = domain.bind::<extern "C" fn(i32) -> i32>("dig").unwrap();
    dig.call(200).unwrap();
    let call_host = domain.bind::<extern "C" fn()>("call_host").unwrap();
    call_host.call().unwrap();
    domain.bind::<extern "C" fn()>("call_system").unwrap().call().unwrap();
    let callback = domain.callback(nested).unwrap();
    let call_back = domain.bind::<extern "C" fn(Pointer<u8>)>("call_back").unwrap();
    call_back.call(callback.pointer()).unwrap();
    let spin = domain.bind::<extern "C" fn(i32)>("spin").unwrap();
    let handled = host_sys::signal_storm(libc::SIGALRM, || {
        spin.call(20_000_000).expect("signals do not end calls");
    });
    assert!(handled > 5, "only {handled} signals were handled");
    let foreign = foreign_words(&domain);
    assert!(foreign.len() > 1, "nested entries left their exit return addresses");
    for (at, word) in foreign {
        let exit = is_exit(&dig, word)
            || is_exit(&call_host, word)
            || is_exit(&call_back, word)
            || is_exit(&spin, word);
        assert!(exit, "{word:#x} on the control stack, at {at:#x}, is neither code nor an exit");
    }
}

/// R8: the exit takes everything from the record of the call in progress, nothing from registers. (That a callee returns to its own
/// exit return address is the verifier's: docs/returns.md.) Red if it takes anything from elsewhere.
#[test]
fn r8_exits_take_everything_from_the_record() {
    let _watchdog = watchdog("returns with nothing in registers");
    let nested = HostFunction::new(|domain: &Domain| {
        let inner = domain.bind::<extern "C" fn()>("return_with_nothing").expect("an export");
        assert!(host_sys::callee_saved_survive(|| inner.call().expect("an ordinary return")));
    });
    let domain = guest().domain_with(DomainOptions::new().gate("host", nested));
    let outer = domain.bind::<extern "C" fn()>("call_host").unwrap();
    let alone = domain.bind::<extern "C" fn()>("return_with_nothing").unwrap();
    for _ in 0..3 {
        for call in [&outer, &alone] {
            assert!(host_sys::callee_saved_survive(|| call.call().expect("an ordinary return")));
        }
    }
}

/// R9: above the exit return address there are only zeros. Red if anything is written above the exit return address, or it is not the topmost word in use.
#[test]
fn r9_nothing_lies_above_the_exit_return() {
    let domain = guest().domain();
    let dig = domain.bind::<extern "C" fn(i32)>("dig").unwrap();
    dig.call(10).unwrap();
    let (_, highest) = *control_words(&domain).last().expect("words");
    assert!(is_exit(&dig, highest), "{highest:#x} is the highest word");
}

/// R9: a call back into a domain that waits for the host starts below the domain's live frames. Red if the gate
/// leaves the thread's place on the stack where it is.
#[test]
fn r9_nested_entries_start_below_live_frames() {
    const LEVELS: i32 = 4;
    let live = |domain: &Domain, top: u64| -> Vec<_> {
        let frames = top - 0x90 * LEVELS as u64..=top;
        control_words(domain).into_iter().filter(|(at, _)| frames.contains(at)).collect()
    };
    let top = Arc::new(AtomicU64::new(0));
    let outer = top.clone();
    let nested = HostFunction::new(move |domain: &Domain| {
        let top = outer.load(Ordering::Relaxed);
        let before = live(domain, top);
        assert!(before.len() > LEVELS as usize, "{before:x?}");
        domain.bind::<extern "C" fn(i32)>("dig").expect("an export").call(20).expect("it returns");
        assert_eq!(live(domain, top), before, "the nested call wrote among live frames");
    });
    let domain = guest().domain_with(DomainOptions::new().gate("host", nested));
    top.store(domain.bind::<extern "C" fn() -> u64>("where").unwrap().call().unwrap(), Ordering::Relaxed);
    domain.bind::<extern "C" fn(i32)>("dig_then_host").unwrap().call(LEVELS).unwrap();
}

/// R9: when nothing is live, calls start at the top again, however the call before ended. Red if a gate does not
/// give the thread's place back.
#[test]
fn r9_calls_start_at_the_top_again() {
    let panics = Arc::new(AtomicBool::new(false));
    let panicking = panics.clone();
    let host = HostFunction::new(move |_: &Domain| assert!(!panicking.load(Ordering::Relaxed)));
    let domain = guest().domain_with(DomainOptions::new().gate("host", host));
    let place = domain.bind::<extern "C" fn() -> u64>("where").unwrap();
    let top = place.call().unwrap();
    for (name, panic) in [("call_system", false), ("call_host", false), ("call_host", true)] {
        panics.store(panic, Ordering::Relaxed);
        let result = domain.bind::<extern "C" fn()>(name).unwrap().call();
        assert_eq!(result.is_err(), panic, "{name}: {result:?}");
        assert_eq!(place.call().unwrap(), top, "{name}, panic: {panic}");
    }
}

/// R10: around every usable control stack, of any thread of any domain, lies a guard. Red if slots are packed.
#[test]
fn r10_control_stacks_are_far_apart() {
    let module = guest().module();
    let largest = || DomainOptions::new().stack_size(stack::MAX_SIZE).memory_limit(1 << 30);
    assert!(Domain::new(&module, largest().stack_size(stack::MAX_SIZE + PAGE)).is_err());
    let domains: Vec<_> = (0..4).map(|_| Domain::new(&module, largest()).unwrap()).collect();
    let enter = || {
        for domain in &domains {
            domain.bind::<extern "C" fn(i32)>("dig").unwrap().call(1).unwrap();
        }
    };
    let usable = |start, end| mappings(start, end).into_iter().filter(|m| m.accessible());
    let check = || {
        enter();
        for domain in &domains {
            let control = domain.base() + window::CONTROL..domain.base() + window::CONTROL_END;
            let stacks: Vec<_> = usable(control.start, control.end).collect();
            assert_eq!(stacks.len(), 2, "one for each thread: {stacks:x?}");
            for stack in stacks {
                let near = usable(stack.start - stack::GUARD, stack.end + stack::GUARD).count();
                assert_eq!(near, 1, "something lies within a guard's length of {stack:x?}");
            }
        }
    };
    enter();
    std::thread::scope(|scope| {
        scope.spawn(check);
    });
}
