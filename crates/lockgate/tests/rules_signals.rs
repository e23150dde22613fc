//! Rules R11–R16: signals, faults, and what a host's handlers may do around domains.

use crate::common::{Guest, host_sys, in_child, watchdog};
use lockgate::{
    CallError, Domain, DomainOptions, Fault, FaultKind, Function, HostFunction, OnFailure, Policy,
};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Barrier, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

const SOURCE: &str = r#"
extern void host(void);
volatile long sink;
long spin(long n) { long s = 0; for (long i = 0; i < n; i++) s += sink++; return s; }
void crash(void) { *(volatile int *)8 = 1; }
int fine(void) { return 7; }
long where(void) { return (long)__builtin_frame_address(0); }
long thin(long n) { return n == 0 ? 0 : thin(n - 1) + sink; }
void call_host(void) { host(); }
static int kept;
static int *volatile at = &kept;
int call_host_then(int x) { host(); *at = x; return kept + 1; }
"#;

fn guest() -> Guest {
    Guest::c_with(SOURCE, &["-O1"]).gate("void host(void)")
}

/// A signal has one handler in a process: tests that install some for SIGTRAP or SIGUSR2 run one at a time.
fn own_handlers() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    // (Each installs its own, whatever one that has failed has left.)
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// R11: a handler installed behind the library's back, by a raw system call and without SA_ONSTACK, runs on the
/// alternate stack by the time a thread enters. Red without `check_handlers` in `attach`.
#[test]
fn r11_raw_handlers_are_repaired_before_a_thread_enters() {
    let _handlers = own_handlers();
    let domain = guest().domain();
    let fine = domain.bind::<extern "C" fn() -> i32>("fine").unwrap();
    let signal = libc::SIGRTMIN() + 3;
    host_sys::install_raw_handler(signal, false);
    assert!(!host_sys::runs_on_alternate_stack(signal));
    std::thread::scope(|scope| {
        scope.spawn(|| fine.call().unwrap());
    });
    assert!(host_sys::runs_on_alternate_stack(signal));
}

/// R11: handlers installed through libc get SA_ONSTACK at once. Red without the interposed `sigaction`.
#[test]
fn r11_handlers_installed_through_libc_run_on_the_alternate_stack() {
    let _handlers = own_handlers();
    let _module = guest().module();
    for signal in [libc::SIGUSR2, libc::SIGWINCH] {
        host_sys::install_handler(signal);
        assert!(host_sys::runs_on_alternate_stack(signal));
    }
}

/// R11: glibc installs SIGCANCEL's handler at the first pthread_cancel, without SA_ONSTACK. Red without
/// `settle_cancellation`: the handler is not there yet when handlers are checked.
#[test]
fn r11_cancellation_runs_on_the_alternate_stack() {
    let domain = guest().domain();
    domain.bind::<extern "C" fn() -> i32>("fine").unwrap().call().unwrap();
    const SIGCANCEL: i32 = 32;
    assert!(host_sys::runs_on_alternate_stack(SIGCANCEL));
    host_sys::cancel_a_thread();
    assert!(host_sys::runs_on_alternate_stack(SIGCANCEL));
}

/// R11, R12: a signal that interrupts a domain is handled on the alternate stack.
#[test]
fn r12_signals_in_domains_are_handled_on_the_alternate_stack() {
    let domain = guest().domain();
    let spin = domain.bind::<extern "C" fn(i64) -> i64>("spin").unwrap();
    let handled = host_sys::signal_storm(libc::SIGALRM, || {
        spin.call(50_000_000).unwrap();
    });
    assert!(handled > 3);
    let at = host_sys::last_handler_frame();
    let stride = domain.base()..domain.base() + lockgate_abi::window::STRIDE;
    assert!(!stride.contains(&at), "a handler ran at {at:#x}, inside the domain");
}

/// R12: a thread whose alternate stack was switched off, as Rust's own thread teardown does, gets it back before it
/// enters. Red without the interposed `sigaltstack`.
#[test]
fn r12_a_disabled_alternate_stack_is_restored() {
    let domain = guest().domain();
    let fine = domain.bind::<extern "C" fn() -> i32>("fine").unwrap();
    fine.call().unwrap();
    for disable in [host_sys::disable_alternate_stack as fn(), host_sys::use_a_small_alternate_stack] {
        disable();
        fine.call().unwrap();
        let size = host_sys::alternate_stack_size().expect("switched on again");
        assert!(size >= host_sys::signal_frame_size() + 16_384, "{size} bytes are too few");
    }
}

/// R12: the host's signals may all come at once, each interrupting the handler of the one before in its first instruction. Red if the
/// alternate stack has room for some of their frames only, or for none of what the handlers use.
#[test]
fn r12_all_signals_at_once_have_room() {
    let output = in_child("rules_signals::child_takes_all_signals_at_once");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("all came"), "{output:?}");
}

#[test]
#[ignore = "run by r12_all_signals_at_once_have_room"]
fn child_takes_all_signals_at_once() {
    let domain = guest().domain();
    let fine = domain.bind::<extern "C" fn() -> i32>("fine").unwrap();
    host_sys::on_plain_thread(|| {
        fine.call().unwrap();
        let (came, sent) = host_sys::all_signals_at_once();
        assert_eq!(came, sent);
        assert!(sent > 50, "{sent}");
        fine.call().unwrap();
        println!("all came");
    });
}

/// R12: what the host's handlers have as room, they have on the library's stack, too, and what overruns that meets a guard as wide as a
/// domain's. Red if the library's stack is as large as it needs itself, or one page is its guard.
#[test]
fn r12_the_alternate_stack_is_as_large_as_the_hosts() {
    const LARGE: usize = 4 << 20;
    let domain = guest().domain();
    let fine = domain.bind::<extern "C" fn() -> i32>("fine").unwrap();
    host_sys::on_plain_thread(|| {
        for size in [LARGE, 2 * LARGE] {
            host_sys::use_a_large_alternate_stack(size);
            fine.call().unwrap();
            assert!(host_sys::alternate_stack_size() >= Some(size), "{:?}", host_sys::alternate_stack_size());
            assert!(host_sys::guard_of_alternate_stack() >= lockgate_abi::stack::GUARD);
        }
    });
}

/// R12: a thread without an alternate stack calls first in a handler, or in a coroutine that a handler has switched to. When the handler
/// returns, the kernel takes the library's stack away: the next call sets it again. Red if the thread is let in as it is: its module's
/// recursion, which leaves no room for a signal's frame, ends the process.
#[test]
fn r12_an_alternate_stack_that_a_handlers_return_takes_away_is_set_again() {
    for child in ["child_calls_first_in_a_handler", "child_calls_first_in_a_coroutine"] {
        let output = in_child(&format!("rules_signals::{child}"));
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("it goes on"), "{child}: {output:?}");
    }
}

/// Calls first in `handler`.
fn calls_first(handler: fn()) {
    let domain = guest().domain();
    let fine = || domain.bind::<extern "C" fn() -> i32>("fine").unwrap();
    let thin = domain.bind::<extern "C" fn(i64) -> i64>("thin").unwrap();
    FROM_HANDLER.set(fine()).unwrap();
    host_sys::on_plain_thread(|| {
        host_sys::raise_with(libc::SIGUSR1, handler);
        assert_eq!(HANDLER_SAW.lock().unwrap().take().as_deref(), Some("entered"));
        assert_eq!(host_sys::alternate_stack_size(), None, "the handler's return has taken it away");
        let error = thin.call(i64::MAX).unwrap_err();
        assert_eq!(error.fault().map(Fault::kind), Some(FaultKind::ControlStackOverflow), "{error}");
        // From here on it stays, and calls do not look.
        fine().call().unwrap();
        host_sys::disable_alternate_stack_unseen();
        let again = FROM_HANDLER.get().unwrap();
        again.call().unwrap();
        assert_eq!(host_sys::alternate_stack_size(), None, "every call looks");
        println!("it goes on");
    });
}

#[test]
#[ignore = "run by r12_an_alternate_stack_that_a_handlers_return_takes_away_is_set_again"]
fn child_calls_first_in_a_handler() {
    let _watchdog = watchdog("a first call in a handler");
    calls_first(call_from_handler);
}

#[test]
#[ignore = "run by r12_an_alternate_stack_that_a_handlers_return_takes_away_is_set_again"]
fn child_calls_first_in_a_coroutine() {
    let _watchdog = watchdog("a first call in a coroutine");
    calls_first(|| {
        let [stack, _] = host_sys::coroutine_stacks(0);
        let mut coroutine = host_sys::Coroutine::new(stack, || {
            call_from_handler();
            // Deeper, and on a stack on which nothing was interrupted: still not known to stay.
            call_from_handler();
        });
        coroutine.resume();
    });
}

/// R13: a handler that interrupts the end of its thread, when the library has left that, calls no domain. Red if the thread is attached anew for
/// it as for a destructor.
#[test]
fn r13_handlers_that_interrupt_the_end_of_a_thread_are_refused() {
    let output = in_child("rules_signals::child_calls_while_its_thread_ends");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "run by r13_handlers_that_interrupt_the_end_of_a_thread_are_refused"]
fn child_calls_while_its_thread_ends() {
    let _watchdog = watchdog("calls while a thread ends");
    static SAW: Mutex<Vec<String>> = Mutex::new(Vec::new());
    static FINE: OnceLock<Function<extern "C" fn() -> i32>> = OnceLock::new();
    fn call() {
        let result = FINE.get().expect("set by the test").call();
        SAW.lock().unwrap().push(format!("{result:?}"));
    }
    let domain = guest().domain();
    FINE.set(domain.bind::<extern "C" fn() -> i32>("fine").unwrap()).unwrap();
    host_sys::on_plain_thread(|| {
        call();
        // A key that was made after the library's.
        host_sys::in_each_round_of_keys(|| host_sys::raise_with(libc::SIGUSR2, call));
    });
    let saw = SAW.lock().unwrap();
    assert_eq!(saw[0], "Ok(7)");
    assert!(
        saw.len() > 2 && saw[1..].iter().all(|saw| saw == "Err(SignalHandler)" || saw == "Err(ThreadEnding)"),
        "{saw:?}"
    );
    assert_eq!(saw[1], "Err(SignalHandler)");
}

/// R12: while a domain waits for a host function, its thread's alternate stack cannot be taken away.
#[test]
fn r12_the_alternate_stack_stays_while_a_domain_is_active() {
    let host = HostFunction::new(|_: &Domain| host_sys::disable_alternate_stack());
    let domain = guest().domain_with(DomainOptions::new().gate("host", host));
    domain.bind::<extern "C" fn()>("call_host").unwrap().call().unwrap();
    assert!(host_sys::alternate_stack_size().is_some());
}

/// Calls when the thread's own values are dropped.
struct CallsAtTheEnd(Function<extern "C" fn() -> i32>, Sender<Result<i32, CallError>>);

impl CallsAtTheEnd {
    fn call(&self) {
        self.1.send(self.0.call()).expect("the test waits");
    }
}

impl Drop for CallsAtTheEnd {
    fn drop(&mut self) {
        self.call();
    }
}

thread_local! {
    static AT_THE_END: RefCell<Option<CallsAtTheEnd>> = const { RefCell::new(None) };
    static IN_A_KEY: Cell<Option<&'static CallsAtTheEnd>> = const { Cell::new(None) };
}

/// R12: a thread that ends has given its record and its alternate stack back; proxies refuse it until it has new ones. Red if its block
/// still says that it may enter.
#[test]
fn r12_threads_that_have_left_are_refused() {
    let domain = guest().domain();
    let (send, receive) = channel();
    let fine = || domain.bind::<extern "C" fn() -> i32>("fine").unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Variables end before the thread leaves.
            AT_THE_END.set(Some(CallsAtTheEnd(fine(), send.clone())));
            assert_eq!(fine().call().unwrap(), 7);
            // A key that was made after the library's has its destructor called after the library's, in each round.
            IN_A_KEY.set(Some(Box::leak(Box::new(CallsAtTheEnd(fine(), send)))));
            host_sys::in_each_round_of_keys(|| IN_A_KEY.get().expect("set above").call());
        });
    });
    let results: Vec<_> = receive.iter().take(5).collect();
    assert!(matches!(results[..3], [Ok(7), Ok(7), Ok(7)]), "{results:?}");
    // When no other round is sure to come the thread could not leave any more.
    assert!(results[3..].iter().all(|result| matches!(result, Err(CallError::ThreadEnding))), "{results:?}");
}

static FROM_HANDLER: OnceLock<Function<extern "C" fn() -> i32>> = OnceLock::new();
static HANDLER_SAW: Mutex<Option<String>> = Mutex::new(None);

fn call_from_handler() {
    let result = FROM_HANDLER.get().expect("set by the test").call();
    let text = match result {
        Ok(_) => "entered".to_owned(),
        Err(CallError::SignalHandler) => "refused".to_owned(),
        Err(other) => other.to_string(),
    };
    *HANDLER_SAW.lock().unwrap() = Some(text);
}

/// R13: no entry from a signal handler, whether it interrupted a domain or not. Red without the comparison with the
/// alternate stack in the proxy.
#[test]
fn r13_calls_from_signal_handlers_are_refused() {
    let _watchdog = watchdog("calls from a signal handler");
    let host = HostFunction::new(|_: &Domain| host_sys::raise_with(libc::SIGUSR1, call_from_handler));
    let domain = guest().domain_with(DomainOptions::new().gate("host", host));
    FROM_HANDLER.set(domain.bind::<extern "C" fn() -> i32>("fine").unwrap()).unwrap();
    let saw = || HANDLER_SAW.lock().unwrap().take();
    host_sys::raise_with(libc::SIGUSR1, call_from_handler);
    assert_eq!(saw().as_deref(), Some("refused"), "outside");
    domain.bind::<extern "C" fn()>("call_host").unwrap().call().unwrap();
    assert_eq!(saw().as_deref(), Some("refused"), "inside a gate");
    assert_eq!(FROM_HANDLER.get().unwrap().call().unwrap(), 7, "the thread goes on");
}

/// R14: wherever the processor was when it noticed, the fault is the domain's whose entry is innermost. Red if
/// attribution goes by rip or si_addr.
#[test]
fn r14_faults_belong_to_the_innermost_entry() {
    let _watchdog = watchdog("faults of a domain");
    let module = Guest::assembly(
        "# An access that no address describes.
         function general_protection
            mov $8,%eax
            movaps %gs:1(%eax),%xmm0
            ret
         # A call on the guard: the call itself faults, rsp unmoved.
         function call_on_the_guard
            call call_on_the_guard
            ud2
         function past_the_end
            mov $0x7fffff,%eax
            mov %gs:-4(%eax),%eax
            ret",
    )
    .module();
    for name in ["general_protection", "call_on_the_guard", "past_the_end"] {
        let domain = Domain::new(&module, DomainOptions::new().name(name)).unwrap();
        let error = domain.bind::<extern "C" fn()>(name).unwrap().call().unwrap_err();
        let fault: &Fault = error.fault().unwrap();
        assert_eq!((fault.domain(), fault.entry_point()), (name, name), "{fault}");
    }
}

/// R14: a fault of host code is the host's, even while a domain waits for it: the process's own handler gets it.
#[test]
fn r14_host_faults_stay_the_hosts() {
    use std::os::unix::process::ExitStatusExt;
    let output = in_child("rules_signals::child_faults_in_a_gate");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("about to fault") && !text.contains("survived"), "{output:?}");
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{output:?}");
}

#[test]
#[ignore = "run by r14_host_faults_stay_the_hosts"]
fn child_faults_in_a_gate() {
    let _watchdog = watchdog("a fault of the host's");
    let host = HostFunction::new(|_: &Domain| {
        println!("about to fault");
        host_sys::read_address_16();
    });
    let domain = guest().domain_with(DomainOptions::new().gate("host", host));
    println!("survived: {:?}", domain.bind::<extern "C" fn()>("call_host").unwrap().call());
}

/// R14: a handler for one fault has had its fault, whoever puts the library's handler back afterwards. Red if what is known of that brings the
/// other back: it may be gone by then.
#[test]
fn r14_a_handler_for_one_fault_does_not_come_back() {
    use std::os::unix::process::ExitStatusExt;
    let output = in_child("rules_signals::child_faults_twice");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("once") && !text.contains("survived"), "{output:?}");
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{output:?}");
}

#[test]
#[ignore = "run by r14_a_handler_for_one_fault_does_not_come_back"]
fn child_faults_twice() {
    let _watchdog = watchdog("a fault of the host's");
    let domain = guest().domain();
    domain.bind::<extern "C" fn() -> i32>("fine").unwrap().call().unwrap();
    host_sys::skip_one_faulting_load();
    host_sys::read_address_16();
    println!("once");
    host_sys::handler_comes_and_goes(|| lockgate::claim_signals().unwrap());
    host_sys::read_address_16();
    println!("survived");
}

/// R14: a handler of the host that interrupts a domain and faults is the host's fault: the innermost record is the
/// domain's entry, but the code runs on the alternate stack. Red without that comparison.
#[test]
fn r14_faults_of_handlers_stay_the_hosts() {
    use std::os::unix::process::ExitStatusExt;
    let output = in_child("rules_signals::child_faults_in_a_handler");
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{output:?}");
}

#[test]
#[ignore = "run by r14_faults_of_handlers_stay_the_hosts"]
fn child_faults_in_a_handler() {
    let _watchdog = watchdog("a fault of a handler");
    let domain = guest().domain();
    let spin = domain.bind::<extern "C" fn(i64) -> i64>("spin").unwrap();
    spin.call(1).unwrap();
    host_sys::storm_of_faulting_handlers(libc::SIGALRM, || println!("{:?}", spin.call(1 << 40)));
}

/// R14: a fault signal that somebody sent says nothing about the domain that it finds: the host's handler gets it. Red
/// if attribution forgets `si_code`.
#[test]
fn r14_signals_that_were_sent_go_to_the_host() {
    let _handlers = own_handlers();
    let domain = guest().domain();
    let spin = domain.bind::<extern "C" fn(i64) -> i64>("spin").unwrap();
    let handled = host_sys::signal_storm(libc::SIGTRAP, || {
        spin.call(50_000_000).expect("nothing is wrong with the domain");
    });
    assert!(handled > 3);
}

/// R14: its handler runs with the mask that it has asked for, from its first instruction on: what that blocks comes later. Red if the
/// library's own handler has none.
#[test]
fn r14_a_signal_that_was_sent_has_its_handlers_mask() {
    let _handlers = own_handlers();
    let domain = guest().domain();
    domain.bind::<extern "C" fn() -> i32>("fine").unwrap().call().unwrap();
    // (Without, the other interrupts its first instruction.)
    for (masks, expected) in [(true, "Ffu"), (false, "uFf")] {
        assert_eq!(host_sys::both_at_once(libc::SIGFPE, libc::SIGUSR2, masks), expected);
    }
}

/// Handlers run on alternate stacks in the whole process, whether they have asked for that or not: a thread that calls no domain has room for them,
/// though Rust gives each thread a small one. Red without `leave_small_stack`: the handler overflows it, and the process ends.
#[test]
fn r11_threads_that_call_nothing_have_room_for_handlers() {
    let _handlers = own_handlers();
    let domain = guest().domain();
    domain.bind::<extern "C" fn() -> i32>("fine").unwrap().call().unwrap();
    for _ in 0..50 {
        let other = std::thread::spawn(|| host_sys::run_a_handler_that_needs_room(libc::SIGUSR1));
        assert_eq!(other.join().expect("a thread"), 12_000);
    }
    assert_eq!(host_sys::run_a_handler_that_needs_room(libc::SIGUSR1), 12_000);
}

/// The signal that comes first is the host's, too, if another one has sent it. Red if whatever was queued is a kick: the host's handler never runs.
#[test]
fn a_signal_that_the_host_queues_is_no_kick() {
    let _handlers = own_handlers();
    let domain = guest().domain();
    domain.bind::<extern "C" fn() -> i32>("fine").unwrap().call().unwrap();
    assert_eq!(host_sys::queued_to_itself(libc::SIGSYS, 0x5a5a), Some(0x5a5a));
}

/// A kick that waits behind a handler of the host's is blocked meanwhile, and waits whatever that handler asks for: neither the handler nor a child that
/// it forks knows of it, and if it leaves by a jump, the kick comes. Red if the thread's mask is all that says so: a program that is started from
/// there would be ended by what its own filter traps.
#[test]
fn nothing_is_left_of_a_kick_that_waits() {
    let seen = left_with_a_kick_behind(host_sys::Leaving::Jump);
    assert!(!seen.by_handler && !seen.by_child && !seen.let_through, "{seen:?}");
    assert!(!host_sys::sees_blocked(libc::SIGSYS));
}

/// It comes at once if the jump brings the mask back. Red if it waits once more when `siglongjmp` lets it through, on the handler's stack: the mask
/// that the jump takes along has SIGSYS blocked then until the next kick, which comes when the handler's time has passed once more.
#[test]
fn a_jump_with_its_mask_leaves_no_kick_behind() {
    // (Another kick may come in the instructions between the mask and the jump.)
    // (Each on a thread of its own: a call that was jumped out of is known by the next one only if that is not made from deeper.)
    let is_free = || {
        let behind = || left_with_a_kick_behind(host_sys::Leaving::JumpWithMask).behind;
        !std::thread::scope(|scope| scope.spawn(behind).join().unwrap())
    };
    assert!((0..3).any(|_| is_free()), "SIGSYS stays blocked");
}

/// The same of a jump behind which the handler's own signal is unblocked. Red if that changes nothing but what it asks for.
#[test]
fn what_unblocks_behind_a_jump_leaves_no_kick_behind() {
    let seen = left_with_a_kick_behind(host_sys::Leaving::JumpAndUnblock);
    assert!(!seen.behind, "{seen:?}");
}

/// A handler of the host's is in the way of the kick that ends a call, and leaves.
fn left_with_a_kick_behind(leaving: host_sys::Leaving) -> host_sys::SignalBehind {
    let _handlers = own_handlers();
    let _watchdog = watchdog("a kick that waits behind a handler");
    let source = "void stay(void) { for (;;) __asm__ volatile(\"pause\"); }";
    let options = DomainOptions::new().time_limit(Duration::from_millis(10));
    let domain = Guest::c(source).domain_with(options);
    let stay = domain.bind::<extern "C" fn()>("stay").unwrap();
    let work = || drop(stay.call());
    host_sys::leaves_with_a_signal_behind(libc::SIGUSR2, libc::SIGSYS, leaving, domain.base(), work)
}

/// R14: what it was sent with comes with it, also if it is sent while the library works for a call. Red if such signals are sent again by their
/// numbers alone.
#[test]
fn r14_a_signal_that_was_sent_keeps_its_value() {
    let _handlers = own_handlers();
    let source = "#include <sys/mman.h>
        long map(long n) {
            for (long i = 0; i < n; i++)
                munmap(mmap(0, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1 << 20);
            return n;
        }";
    let domain = Guest::c(source).domain();
    let map = domain.bind::<extern "C" fn(i64) -> i64>("map").unwrap();
    let [with, without] = host_sys::values_of_timer(libc::SIGTRAP, 50_000, 200, || {
        map.call(100).unwrap();
    });
    assert_eq!((without, with >= 200), (0, true), "{with} with it");
}

/// R14, R23: nor does it end a copy of the library's that it finds. Red if whatever signal interrupts a guarded instruction counts as its
/// fault: reads of memory that is there fail, and the kicks of a busy host make calls fail.
#[test]
fn r14_signals_that_were_sent_end_no_copy() {
    let _handlers = own_handlers();
    const WORDS: usize = 1 << 16;
    let source = format!("long large[{WORDS}]; long *where(void) {{ return large; }}");
    let domain = Guest::c(&source).domain();
    let at = domain.bind::<extern "C" fn() -> lockgate::Pointer<i64>>("where").unwrap().call().unwrap();
    let end = Instant::now() + Duration::from_millis(300);
    let handled = host_sys::signal_storm_every(libc::SIGTRAP, 50_000, || {
        while Instant::now() < end {
            drop(domain.read_slice(at, WORDS).expect("the memory is there"));
        }
    });
    assert!(handled > 100, "{handled} signals");
}

/// The host's own SIGSEGV handler is chained: it sees the host's faults and not the domains'.
#[test]
fn host_handlers_are_chained() {
    let output = in_child("rules_signals::child_handles_its_own_faults");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("domain fault: Segv") && text.contains("handled 1"), "{output:?}");
}

#[test]
#[ignore = "run by host_handlers_are_chained"]
fn child_handles_its_own_faults() {
    host_sys::skip_faulting_loads();
    let domain = guest().domain();
    let crash = domain.bind::<extern "C" fn()>("crash").unwrap();
    println!("domain fault: {:?}", crash.call().unwrap_err().fault().unwrap().kind());
    host_sys::read_address_16();
    println!("handled {}", host_sys::skipped_loads());
}

/// What a trap of the host's interrupts has been executed, so the library has the process end by it as it would without. Red if it counts on the
/// instruction that raises it again: the process goes on behind a breakpoint.
#[test]
fn traps_of_the_hosts_end_the_process() {
    use std::os::unix::process::ExitStatusExt;
    let output = in_child("rules_signals::child_traps");
    assert_eq!(output.status.signal(), Some(libc::SIGTRAP), "{output:?}");
}

#[test]
#[ignore = "run by traps_of_the_hosts_end_the_process"]
fn child_traps() {
    let domain = guest().domain();
    domain.bind::<extern "C" fn() -> i32>("fine").unwrap().call().unwrap();
    host_sys::trap();
}

/// R11, R14: a handler that was installed by a raw system call after the library's own, as an interpreter that loads the library late
/// does, gets the host's faults and not the domains'; it runs once, also if it puts back what it found and raises its signal
/// again. Red without `put_in_front`, and if ours has one address (it would run for ever).
#[test]
fn handlers_installed_past_the_library_are_put_behind_it() {
    use std::os::unix::process::ExitStatusExt;
    for child in ["child_claims_signals", "child_claims_signals_by_a_new_thread"] {
        let output = in_child(&format!("rules_signals::{child}"));
        let text = String::from_utf8_lossy(&output.stdout);
        let lines: Vec<&str> =
            text.lines().filter(|line| ["domain", "reported"].iter().any(|w| line.contains(w))).collect();
        // The handler gets the host's fault alone, which comes second.
        let [of_domain, reported] = lines[..] else { panic!("{child}: {output:?}") };
        assert!(
            of_domain.ends_with("domain fault: Segv") && reported.ends_with("reported"),
            "{child}: {output:?}"
        );
        assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{child}: {output:?}");
    }
}

/// A domain's fault, then one of the host's, with a handler that came late; `claim` is what has it put behind ours.
fn fault_with_a_late_handler(claim: impl FnOnce(&Domain)) {
    let _watchdog = watchdog("two faults");
    let domain = guest().domain();
    let crash = domain.bind::<extern "C" fn()>("crash").unwrap();
    host_sys::report_faults_once();
    claim(&domain);
    println!("domain fault: {:?}", crash.call().unwrap_err().fault().unwrap().kind());
    host_sys::read_address_16();
}

#[test]
#[ignore = "run by handlers_installed_past_the_library_are_put_behind_it"]
fn child_claims_signals() {
    fault_with_a_late_handler(|_| lockgate::claim_signals().unwrap());
}

#[test]
#[ignore = "run by handlers_installed_past_the_library_are_put_behind_it"]
fn child_claims_signals_by_a_new_thread() {
    fault_with_a_late_handler(|domain| {
        let fine = domain.bind::<extern "C" fn() -> i32>("fine").unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| fine.call().unwrap());
        });
    });
}

/// The same of handlers for faults other than SIGSEGV, where the library stands in for `sigaction`: each bind has the next call look at one of
/// them, by turns. Red if they are never looked at, or not by turns.
#[test]
fn handlers_for_other_faults_are_put_behind_it_by_turns() {
    let output = in_child("rules_signals::child_binds_until_all_are_behind");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "run by handlers_for_other_faults_are_put_behind_it_by_turns"]
fn child_binds_until_all_are_behind() {
    const OTHERS: [i32; 5] = [libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];
    let domain = guest().domain();
    domain.bind::<extern "C" fn() -> i32>("fine").unwrap().call().unwrap();
    for signal in OTHERS {
        host_sys::install_raw_handler(signal, true);
    }
    for looks in 0..=OTHERS.len() {
        let in_front = OTHERS.into_iter().filter(|&signal| host_sys::has_raw_handler(signal)).count();
        assert!(in_front <= OTHERS.len() - looks, "{in_front} after {looks} looks");
        domain.bind::<extern "C" fn() -> i32>("fine").unwrap().call().unwrap();
    }
}

/// A module's own code runs before a thread's first call: the kernel would end the process at its fault. Red if what the thread has blocked
/// stays so until it has entered.
#[test]
fn r12_a_thread_that_blocks_all_lets_faults_through_before_its_first_call() {
    let output = in_child("rules_signals::child_enters_with_all_blocked");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "run by r12_a_thread_that_blocks_all_lets_faults_through_before_its_first_call"]
fn child_enters_with_all_blocked() {
    // The next thread's start writes to the entry of the list of threads that the first one's points to (musl's `struct pthread`).
    let source =
        "#include <pthread.h>\nint fine(void) { ((volatile long *)pthread_self())[3] = 8; return 1; }";
    let domain = Guest::c(source).domain();
    let fine = domain.bind::<extern "C" fn() -> i64>("fine").unwrap();
    assert_eq!(fine.call().unwrap(), 1, "the first thread needs none");
    std::thread::scope(|scope| {
        let enters = scope.spawn(|| {
            host_sys::block_past_the_library();
            fine.call().unwrap_err().to_string()
        });
        let error = enters.join().expect("no panic");
        assert!(error.contains("_lg_thread_init"), "{error}");
    });
}

/// The same where a function of the host's has blocked them meanwhile, which the thread's own start has called. Red if what was blocked before that
/// is believed.
#[test]
fn r12_what_is_blocked_within_a_threads_start_is_looked_at() {
    let output = in_child("rules_signals::child_blocks_all_within_a_start");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "run by r12_what_is_blocked_within_a_threads_start_is_looked_at"]
fn child_blocks_all_within_a_start() {
    let other = guest().domain();
    let crash = other.bind::<extern "C" fn()>("crash").unwrap();
    let ends = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let told = ends.clone();
    let host: HostFunction = HostFunction::new(move |_: &Domain, _: i32| {
        host_sys::block_past_the_library();
        told.lock().unwrap().push(crash.call().unwrap_err().fault().map(|fault| fault.kind()));
        0
    });
    // musl's lock of its list of threads, in a module that has one of its own.
    let source = "int host(int); static int starts; __attribute__((visibility(\"hidden\"))) void __tl_lock(void) { if (starts) host(0); } __attribute__((visibility(\"hidden\"))) void __tl_unlock(void) {} int fine(void) { return starts = 1; }";
    let module = Guest::c(source).gate("int host(int)").module();
    let domain = Domain::new(&module, DomainOptions::new().gate("host", host)).unwrap();
    let fine = domain.bind::<extern "C" fn() -> i32>("fine").unwrap();
    assert_eq!(fine.call().unwrap(), 1);
    std::thread::scope(|scope| scope.spawn(|| fine.call().unwrap()).join().expect("no panic"));
    // When the thread begins, and when it ends.
    assert_eq!(*ends.lock().unwrap(), [Some(FaultKind::Segv); 2]);
}

/// A bind looks at the mask, wherever it is made: the next way into a domain's code is the gate's way back. Red if the thread's next call alone looks.
#[test]
fn r12_what_is_blocked_before_a_bind_in_a_gate_is_looked_at() {
    let output = in_child("rules_signals::child_blocks_all_and_binds_in_a_gate");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "run by r12_what_is_blocked_before_a_bind_in_a_gate_is_looked_at"]
fn child_blocks_all_and_binds_in_a_gate() {
    let other = guest().domain();
    let host: HostFunction = HostFunction::new(move |_: &Domain, x: i32| {
        host_sys::block_past_the_library();
        other.bind::<extern "C" fn()>("crash").unwrap();
        x
    });
    let source = "int host(int); int ends(int x) { return *(volatile int *)(long)(host(x) & 8); }";
    let module = Guest::c(source).gate("int host(int)").module();
    let domain = Domain::new(&module, DomainOptions::new().gate("host", host)).unwrap();
    let ends = domain.bind::<extern "C" fn(i32) -> i32>("ends").unwrap();
    let error = ends.call(8).unwrap_err();
    assert_eq!(error.fault().map(|fault| fault.kind()), Some(FaultKind::Segv), "{error}");
}

/// Threads that put a late handler behind the library's at the same time do not put the library's own there: the host's next fault would
/// go round in circles. Red if a thread that comes second takes what it finds for the late handler.
#[test]
fn a_late_handler_is_put_behind_by_one_thread_only() {
    let output = in_child("rules_signals::child_claims_with_two_threads");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "run by a_late_handler_is_put_behind_by_one_thread_only"]
fn child_claims_with_two_threads() {
    const THREADS: usize = 2;
    /// Where both share a processor, with others, a round takes milliseconds.
    const ENOUGH: Duration = Duration::from_secs(10);
    let _watchdog = watchdog("threads that claim signals");
    let _domain = guest().domain();
    host_sys::report_faults_once();
    let (together, ready) = (Barrier::new(THREADS), AtomicUsize::new(0));
    let (begun, over) = (Instant::now(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for number in 0..THREADS {
            let (together, ready, over) = (&together, &ready, &over);
            scope.spawn(move || {
                for round in 1..=10_000 {
                    if together.wait().is_leader() {
                        over.store(begun.elapsed() > ENOUGH, Ordering::Release);
                        host_sys::install_faults_handler_again();
                    }
                    // Within some nanoseconds of each other: a barrier wakes one after the other.
                    ready.fetch_add(1, Ordering::AcqRel);
                    while ready.load(Ordering::Acquire) < round * THREADS {
                        std::hint::spin_loop();
                    }
                    if over.load(Ordering::Acquire) {
                        break;
                    }
                    lockgate::claim_signals().unwrap();
                    together.wait();
                    assert!(host_sys::faults_handler_is_known(), "round {round}, thread {number}");
                }
            });
        }
    });
}

/// R15: after a fault, the host has its own MXCSR, x87 and flags again, whatever the module had set. Red if the frame
/// keeps the domain's state and the proxy's way out leaves it.
#[test]
fn r15_faults_resume_with_the_hosts_state() {
    let domain = Guest::assembly(
        "function dirty_then_crash
            movl $0x9fc0,-8-OFF(%rsp)
            ldmxcsr -8-OFF(%rsp)
            movw $0x0040,-8-OFF(%rsp)
            fldcw -8-OFF(%rsp)
            fldz
            fldz
            fld1
            cmp %eax,%eax
            xor %eax,%eax
            mov %gs:8(%eax),%eax
            ret",
    )
    .domain();
    let crash = domain.bind::<extern "C" fn()>("dirty_then_crash").unwrap();
    let check = || {
        let before = host_sys::cpu_state();
        for _ in 0..3 {
            assert_eq!(crash.call().unwrap_err().fault().unwrap().kind(), FaultKind::Segv);
            assert_eq!(host_sys::cpu_state(), before);
            assert_eq!(host_sys::x87_sum(), 36.0, "the register stack is empty");
        }
    };
    check();
    const ROUNDING_TO_ZERO: u16 = 0x0f7f;
    host_sys::with_x87_control(ROUNDING_TO_ZERO, check);
}

/// R15: a fault in a nested domain leaves the inner window's gs: the gate restores the outer's. Red without the
/// comparison in the gate.
#[test]
fn r15_gs_is_the_outer_domains_after_a_fault_in_an_inner_one() {
    let inner = guest().domain();
    let host = HostFunction::new(move |_: &Domain| {
        inner.bind::<extern "C" fn()>("crash").unwrap().call().expect_err("a null pointer");
    });
    let outer = guest().domain_with(DomainOptions::new().gate("host", host));
    let then = outer.bind::<extern "C" fn(i32) -> i32>("call_host_then").unwrap();
    for x in 0..100 {
        assert_eq!(then.call(x).unwrap(), x + 1);
    }
}

/// R16: a host function that longjmps over domains leaves records, slots and gs behind; the next calls repair them. Red
/// without `repair` (the next call asks to be admitted for ever), or if it leaves the thread's place on the stack where
/// the gate put it.
#[test]
fn r16_longjmp_over_domains_is_repaired() {
    let host = HostFunction::new(|_: &Domain| host_sys::jump_out());
    let domain = guest().domain_with(DomainOptions::new().gate("host", host));
    let call_host = domain.bind::<extern "C" fn()>("call_host").unwrap();
    let fine = domain.bind::<extern "C" fn() -> i32>("fine").unwrap();
    let _watchdog = watchdog("calls after a jump over a domain");
    let place = domain.bind::<extern "C" fn() -> i64>("where").unwrap();
    let top = place.call().unwrap();
    for _ in 0..5_000 {
        assert!(host_sys::jumped_out(|| drop(call_host.call())), "the host function jumps");
    }
    assert_eq!(fine.call().unwrap(), 7);
    assert_eq!(place.call().unwrap(), top, "calls start at the top again");
}

#[inline(never)]
fn in_a_deeper_frame<R>(work: impl FnOnce() -> R) -> R {
    let room = std::hint::black_box([0_u8; 1 << 16]);
    let result = work();
    std::hint::black_box(&room);
    result
}

/// The same from a frame that is deeper, where the frames of the call that was left have been overwritten; what the host function had said of its
/// call goes with that. Red if marks are not looked at, or not before a domain is made.
#[test]
fn r16_a_jump_out_of_a_call_that_was_ended_is_found_by_its_frame() {
    let _watchdog = watchdog("domains made after a jump");
    let host = HostFunction::new(|_: &Domain| {
        assert!(lockgate::end_call("it goes on elsewhere"));
        host_sys::jump_out()
    });
    let domain = guest().domain_with(DomainOptions::new().gate("host", host));
    let call_host = domain.bind::<extern "C" fn()>("call_host").unwrap();
    let fine = domain.bind::<extern "C" fn() -> i32>("fine").unwrap();
    assert!(host_sys::jumped_out(|| drop(call_host.call())), "the host function jumps");
    in_a_deeper_frame(|| drop(guest().domain()));
    assert_eq!(domain.usage().calls, 0);
    assert!(host_sys::jumped_out(|| drop(call_host.call())), "the host function jumps");
    assert_eq!(in_a_deeper_frame(|| fine.call()).expect("nothing has ended it"), 7);
    assert_eq!(domain.usage().calls, 0);
}

/// R16, R10: what a jump has left on record leads nowhere when its domain is gone: not to another thread's stack in the domain that has its
/// place now. Red if records are not told that a domain is left.
#[test]
fn r16_what_a_jump_has_left_ends_with_its_domain() {
    let _watchdog = watchdog("a domain in the place of one that was jumped out of");
    let place = |domain: &Domain| domain.bind::<extern "C" fn() -> i64>("where").unwrap().call().unwrap();
    let in_the_same_place = |deeper: bool| {
        let host = HostFunction::new(|_: &Domain| host_sys::jump_out());
        let first = guest().domain_with(DomainOptions::new().gate("host", host));
        let call_host = first.bind::<extern "C" fn()>("call_host").unwrap();
        let jumped = in_a_deeper_frame(|| host_sys::jumped_out(|| drop(call_host.call())));
        assert!(jumped, "the host function jumps");
        let base = first.base();
        drop((call_host, first));
        let (send, receive) = channel();
        let done = Barrier::new(2);
        std::thread::scope(|scope| {
            // Who makes a domain has its first stack.
            let other = scope.spawn(|| {
                let second = Arc::new(guest().domain());
                let at = place(&second);
                send.send(second).expect("the test waits");
                done.wait();
                at
            });
            let second = receive.recv().expect("a domain");
            // From a frame that is deeper than the record's, which counts as alive there, or from one that is not, as a new domain's is.
            let deep = || in_a_deeper_frame(|| in_a_deeper_frame(|| place(&second)));
            let first = if deeper { deep() } else { place(&second) };
            drop(guest().domain());
            let own = [first, place(&second)];
            done.wait();
            let other = other.join().unwrap();
            assert!(!own.contains(&other), "two threads on one stack: {own:x?} and {other:x}");
            second.base() == base
        })
    };
    for deeper in [false, true] {
        assert!((0..100).any(|_| in_the_same_place(deeper)), "no domain got the place of the one before it");
    }
}

/// R16: a time limit goes with the call that was jumped over, and the next call has its own. Red if `repair` leaves the
/// old one in force: nothing stops the next call then.
#[test]
fn r16_time_limits_end_with_calls_that_were_jumped_over() {
    let _watchdog = watchdog("an endless call after a jump over one with a time limit");
    let host = HostFunction::new(|_: &Domain| host_sys::jump_out());
    let limit = std::time::Duration::from_millis(50);
    let domain = guest().domain_with(DomainOptions::new().gate("host", host).time_limit(limit));
    let call_host = domain.bind::<extern "C" fn()>("call_host").unwrap();
    assert!(host_sys::jumped_out(|| drop(call_host.call())), "the host function jumps");
    let spin = domain.bind::<extern "C" fn(i64) -> i64>("spin").unwrap();
    let error = spin.call(i64::MAX).unwrap_err();
    assert_eq!(error.fault().unwrap().kind(), FaultKind::TimeOut, "{error}");
}

/// R16: a thread that has left a call by a jump is not kicked for that call for ever: neither when its limit has passed, nor when its
/// domain is ended, or one that has called it. Red without `note_left`: no wait of the thread's is over in time until it next calls.
#[test]
fn r16_a_thread_that_has_jumped_is_left_alone() {
    const LIMIT: Duration = Duration::from_millis(20);
    let server = |options: DomainOptions| {
        guest().domain_with(options.gate("host", HostFunction::new(|_: &Domain| host_sys::jump_out())))
    };
    let jumps = |entered: &Domain, function: &str| {
        let call_host = entered.bind::<extern "C" fn()>(function).unwrap();
        assert!(host_sys::jumped_out(|| drop(call_host.call())), "the host function jumps");
    };
    let is_left_alone = |what: &str| {
        let begin = Instant::now();
        // (On a busy machine the first kick may come late; it may come between two waits, too, and then nobody sees it.)
        let (mut left_alone, mut kicked) = (0, false);
        while begin.elapsed() < 20 * LIMIT || left_alone == 0 || !kicked && begin.elapsed() < 100 * LIMIT {
            match host_sys::is_left_alone(100) {
                true => left_alone += 1,
                false => kicked = true,
            }
            assert!(begin.elapsed() < Duration::from_secs(20), "kicked for ever: {what}");
        }
    };
    jumps(&server(DomainOptions::new().time_limit(LIMIT)), "call_host");
    is_left_alone("a limit has passed");
    let ended = server(DomainOptions::new());
    jumps(&ended, "call_host");
    ended.kill();
    is_left_alone("its domain is ended");
    let source = "void call_host(void); void call_server(void) { call_host(); __asm__ volatile(\"\"); }";
    let client = Guest::c(source).gate("void call_host(void)").export("void call_server(void)").domain();
    let (server, policy) = (server(DomainOptions::new()), Policy::default());
    client.link("call_host", &server, "void call_host(void)", policy, OnFailure::Return(0)).unwrap();
    jumps(&client, "call_server");
    client.kill();
    is_left_alone("what has called it is ended");
}

const WAITS: &str = r#"
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
static int word;
long wait_word(void) { return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0); }
long wake_word(long n) { return syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, n, 0, 0, 0); }
long nothing(void) { return 0; }
"#;

/// R16: a handler jumps out of a service that waits: at once, with signals and cancellation as they were; and who was woken in its place is woken.
/// Red if a wait holds signals back, or if what a jump has left in a queue stays there.
#[test]
fn r16_a_jump_out_of_a_wait_takes_no_wake_up() {
    let _handlers = own_handlers();
    type Wait = extern "C" fn() -> i64;
    let _watchdog = watchdog("a wait that a handler cannot leave, or a wake-up that is lost");
    let domain = Guest::c(WAITS).domain();
    let wait = domain.bind::<Wait>("wait_word").unwrap();
    let wake = domain.bind::<extern "C" fn(i64) -> i64>("wake_word").unwrap();
    let nothing = domain.bind::<Wait>("nothing").unwrap();
    nothing.call().unwrap();
    host_sys::jump_out_at(libc::SIGUSR2);
    let own = host_sys::thread_number();
    std::thread::scope(|scope| {
        scope.spawn(move || host_sys::send_asleep(own, libc::SIGUSR2));
        assert!(host_sys::jumped_out(|| drop(wait.call())), "the handler jumps");
        assert_eq!(host_sys::left_behind(libc::SIGUSR2), "");
        nothing.call().unwrap();
        let (tell, told) = channel();
        let wait = &wait;
        let other = scope.spawn(move || {
            tell.send(host_sys::thread_number()).unwrap();
            wait.call()
        });
        // Nothing comes of the signal there.
        host_sys::send_asleep(told.recv().unwrap(), libc::SIGURG);
        while wake.call(1).unwrap() == 0 {
            std::thread::yield_now();
        }
        assert_eq!(other.join().unwrap().unwrap(), 0);
    });
}

thread_local! {
    static JUMPS: Cell<bool> = const { Cell::new(false) };
}

/// A module that calls the host where a thread comes to it for the first time, once it is armed: libc's own start of a thread takes this lock, if it is
/// there.
const CALLS_AT_A_THREADS_START: &str = "void host(void);
    static int armed;
    static __thread int mine = 5;
    void when_locked(void) { if (armed) host(); }
    void when_unlocked(void) {}
    __asm__(\".text\\n.globl __tl_lock,__tl_unlock\\n.hidden __tl_lock,__tl_unlock\\n.type __tl_lock,@function\\n.type __tl_unlock,@function\\n\"
            \"__tl_lock: jmp when_locked\\n.size __tl_lock,.-__tl_lock\\n\"
            \"__tl_unlock: jmp when_unlocked\\n.size __tl_unlock,.-__tl_unlock\");
    int own(void) { return mine; }
    int arm(int x) { armed = x; return x; }";

/// R16: a function of the host's jumps that the module's code calls when a thread first comes to the domain. No handler comes meanwhile, so that
/// a jump that keeps the mask leaves signals blocked, but to the thread's next call only. Red if nobody finds out that the work is gone.
#[test]
fn r16_a_jump_out_of_a_threads_start_is_repaired() {
    let _watchdog = watchdog("a call behind a jump");
    let host = HostFunction::new(|_: &Domain| {
        if JUMPS.take() {
            host_sys::jump_out();
        }
    });
    let guest = Guest::c(CALLS_AT_A_THREADS_START).gate("void host(void)").export("int arm(int)");
    let domain = guest.domain_with(DomainOptions::new().gate("host", host));
    let arm = domain.bind::<extern "C" fn(i32) -> i32>("arm").unwrap();
    arm.call(1).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            JUMPS.set(true);
            assert!(host_sys::jumped_out(|| drop(arm.call(1))), "the host function jumps");
            assert_eq!(arm.call(1).unwrap(), 1);
            assert_eq!(host_sys::left_behind(libc::SIGUSR2), "");
        });
    });
}

/// R16: it jumps and brings the mask back, as `siglongjmp` does. What is done for the thread's next call of another domain, deeper on the stack, is
/// not interrupted either; what the program has blocked since stays blocked; and the thread begins anew in the domain that it has left. Red if the
/// thread goes on to be one for which handlers wait, or if its beginning counts as finished.
#[test]
fn r16_a_jump_with_its_mask_out_of_a_threads_start_leaves_no_hold() {
    #[inline(never)]
    fn deeper(pages: u32, work: &mut dyn FnMut()) {
        let mut page = std::hint::black_box([0_u8; 4096]);
        match pages {
            0 => work(),
            _ => deeper(pages - 1, work),
        }
        std::hint::black_box(&mut page);
    }
    const OTHERS: u64 = 1 << (libc::SIGTERM - 1) | 1 << (libc::SIGUSR1 - 1) | 1 << (libc::SIGALRM - 1);
    let _watchdog = watchdog("a call behind a jump");
    let masks = Arc::new(std::sync::Mutex::new(Vec::new()));
    let told = masks.clone();
    let host = HostFunction::new(move |_: &Domain| {
        told.lock().unwrap().push(host_sys::mask() & OTHERS);
        if JUMPS.take() {
            host_sys::jump_out();
        }
    });
    let guest = Guest::c(CALLS_AT_A_THREADS_START).gate("void host(void)").export("int arm(int)");
    let module = guest.export("int own(void)").module();
    let [left, other] =
        [(); 2].map(|()| Domain::new(&module, DomainOptions::new().gate("host", host.clone())).unwrap());
    let arm = |domain: &Domain| domain.bind::<extern "C" fn(i32) -> i32>("arm").unwrap();
    let [arm, arm_other] = [arm(&left), arm(&other)];
    let own = left.bind::<extern "C" fn() -> i32>("own").unwrap();
    arm.call(1).unwrap();
    arm_other.call(1).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let before = host_sys::mask();
            JUMPS.set(true);
            assert!(host_sys::jumped_out(|| drop(arm.call(1))), "the host function jumps");
            host_sys::set_mask(before);
            deeper(16, &mut || assert_eq!(arm_other.call(2).unwrap(), 2));
            assert_eq!(*masks.lock().unwrap(), [OTHERS; 2], "handlers wait while a thread begins");
            assert_eq!(host_sys::mask(), before);
            let blocked = before | 1 << (libc::SIGTERM - 1);
            host_sys::set_mask(blocked);
            assert_eq!(own.call().unwrap(), 5, "as the module's initialiser says");
            assert_eq!(masks.lock().unwrap().len(), 3, "the thread began once more");
            assert_eq!(host_sys::mask(), blocked);
            assert_eq!(host_sys::left_behind(libc::SIGTERM), "");
        });
    });
}

/// R16: it jumps out of work of the library's, which asks it whether a call is to end: signals come again from the next call on. Red if nobody
/// finds out that the work is gone.
#[test]
fn r16_a_jump_out_of_a_stop_predicate_is_repaired() {
    let _watchdog = watchdog("a call behind a jump");
    let host = HostFunction::new(|_: &Domain| {
        host_sys::interrupt_and_wait(1);
        JUMPS.set(true);
    });
    let options = DomainOptions::new().gate("host", host).stop_if(|| {
        if JUMPS.take() {
            host_sys::jump_out();
        }
        false
    });
    let domain = guest().domain_with(options);
    let call_host = domain.bind::<extern "C" fn()>("call_host").unwrap();
    let fine = domain.bind::<extern "C" fn() -> i32>("fine").unwrap();
    assert!(host_sys::jumped_out(|| drop(call_host.call())), "the question jumps");
    assert_eq!(fine.call().unwrap(), 7);
    assert_eq!(host_sys::left_behind(libc::SIGUSR2), "");
}

/// R16, R19: jumping out of a nested domain into the host function of an outer one leaves the inner window's gs: the
/// gate restores the outer's. Red without the comparison in the gate.
#[test]
fn r16_r19_gs_is_the_outer_domains_after_a_jump_out_of_an_inner_one() {
    let jump = HostFunction::new(|_: &Domain| host_sys::jump_out());
    let inner = Arc::new(guest().domain_with(DomainOptions::new().gate("host", jump)));
    let other = inner.clone();
    let host = HostFunction::new(move |_: &Domain| {
        let call_host = other.bind::<extern "C" fn()>("call_host").unwrap();
        assert!(host_sys::jumped_out(|| drop(call_host.call())));
    });
    let outer = guest().domain_with(DomainOptions::new().gate("host", host));
    let then = outer.bind::<extern "C" fn(i32) -> i32>("call_host_then").unwrap();
    for x in 0..100 {
        assert_eq!(then.call(x).unwrap(), x + 1);
    }
    assert_eq!(inner.bind::<extern "C" fn() -> i32>("fine").unwrap().call().unwrap(), 7);
}
