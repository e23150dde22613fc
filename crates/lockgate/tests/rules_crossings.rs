//! Rules where a domain calls another: what each of them, and the host around both, finds afterwards.

use crate::common::{Guest, host_sys, peek, watchdog};
use lockgate::{CallError, Callback, Domain, DomainOptions, HostFunction, OnFailure, Pointer, Policy};
use lockgate_abi::{stack, window};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Calls its import, and nothing else: no x87, no MXCSR, no vectors.
const PLAIN: &str = "
    asks_host call_server
function where
    mov %rsp,%rax
    ret
";

/// The same with processor state of its own around the call.
const STATEFUL: &str = "
# Rounds towards zero, takes denormals as zeros, and leaves no exception masked.
function unmasked_mxcsr
    begins_frame
    movl $0x6040,-OFF(%rsp)
    ldmxcsr -OFF(%rsp)
    call *%gs:0x11080
    stmxcsr -OFF(%rsp)
    mov -OFF(%rsp),%ecx
    shl $32,%rcx
    or %rcx,%rax
    ends_frame_and_returns
# No exception masked, and one division by zero that nobody has waited for.
function unmasked_x87
    begins_frame
    fninit
    movw $0x0040,-OFF(%rsp)
    fldz
    fld1
    fdiv %st(1),%st
    fldcw -OFF(%rsp)
    call *%gs:0x11080
    fnstcw -OFF(%rsp)
    movzwl -OFF(%rsp),%ecx
    fninit
    shl $32,%rcx
    or %rcx,%rax
    ends_frame_and_returns
# What lies in the x87's registers after the call.
function read_x87
    begins_frame
    call *%gs:0x11080
    reads_x87
    ends_frame_and_returns
";

const SERVER: &str = "
function nothing
    ret
    asks_host call_host
";

const STATEFUL_SERVER: &str = "
function dirty
    pending_x87
    ret
function full
    fill_x87
    ret
function rounding
    sets_mxcsr 0xffc0
    ret
    fills_upper_halves
    control_words mxcsr, control
function x87_registers
    reads_x87
    ret
    asks_host call_host
";

/// x87 control words of a host that does not round to the nearest number.
const ROUNDING_TO_ZERO: u16 = 0x0f7f;
/// MXCSR that rounds towards zero.
const MXCSR_ROUNDING_TO_ZERO: u32 = 0x7f80;
const ROUNDING_TO_NEGATIVE: u16 = 0x077f;

/// Sums what a function makes of 0, 1, … n - 1.
const APPLY: &str = "
long apply(long (*f)(long), long n) { long s = 0; for (long i = 0; i < n; i++) s += f(i); return s; }
";

/// A domain that calls the host's `host` where `source` calls its import.
fn server(source: &str, host: impl Fn() + Send + Sync + 'static) -> Domain {
    let host = HostFunction::new(move |_: &Domain| host());
    Guest::assembly(source).gate("void host(void)").domain_with(DomainOptions::new().gate("host", host))
}

/// A domain whose import is to be linked.
fn client(source: &str) -> Domain {
    Guest::assembly(source).gate("long server(void)").domain()
}

/// Has `client` call `name` of `server` where it calls its import.
fn link(client: &Domain, server: &Domain, name: &str, policy: Policy) {
    link_import(client, "server", server, name, (policy, OnFailure::default()));
}

/// The same of the import with this name.
fn link_import(
    client: &Domain,
    import: &str,
    server: &Domain,
    name: &str,
    (policy, on_failure): (Policy, OnFailure),
) {
    let prototype = crate::common::said(client, import, name);
    client.link(import, server, &prototype, policy, on_failure).expect("the import is linked");
}

/// Calls an export, by the host's usual policy.
fn call(domain: &Domain, name: &str) -> u64 {
    domain.bind::<extern "C" fn() -> u64>(name).unwrap().call().unwrap()
}

/// R7: calls between domains write nothing but return addresses on the caller's control stack, those that are
/// admitted for the first time and those with stack arguments and results in memory included. Red if a crossing works
/// on the caller's stack.
#[test]
fn r7_crossings_leave_the_callers_control_stack_at_once() {
    let server = Guest::c(
        "struct big { long v[5]; };
         struct big make(long a, long b, long c, long d, long e, long f, long g) { return (struct big){a, b, c, d, e + f + g}; }",
    )
    .domain();
    let prototype = "struct { long v[5]; } make(long, long, long, long, long, long, long)";
    let client = Guest::c(
        "struct big { long v[5]; };
         struct big make(long, long, long, long, long, long, long);
         long use(void) { struct big b = make(1, 2, 3, 4, 5, 6, 7); return b.v[0] + b.v[4]; }",
    )
    .gate(prototype)
    .domain();
    link_import(&client, "make", &server, "make", (Policy::MUTUAL_DISTRUST, OnFailure::default()));
    assert_eq!(call(&client, "use"), 19);
    let top = client.base() + window::CONTROL + stack::TOP;
    let words = peek(top - (1 << 18), 1 << 15).expect("the control stack is mapped");
    let text = client.base() + window::IMAGE;
    let text = text..text + client.module().report().text_bytes;
    let mut foreign: Vec<u64> = words.into_iter().filter(|w| *w != 0 && !text.contains(w)).collect();
    foreign.sort_unstable();
    foreign.dedup();
    assert_eq!(foreign.len(), 1, "neither code nor the exit: {foreign:x?}");
}

/// R8, R9, R19: after a call of another domain the caller goes on in its own window, at its own place on its stack.
/// Red if the way back leaves gs, the slot or the record.
#[test]
fn r8_r9_callers_go_on_where_they_were() {
    let _watchdog = watchdog("calls between domains");
    let server =
        Guest::c("long server(void) { return 7; } void crash(void) { *(volatile int *)8 = 1; }").domain();
    let client = Guest::c_with(
        "long server(void);
         static long kept;
         static long *volatile at = &kept;
         long use(long x) { long got = server(); *at = x; return kept + got; }
         long where(void) { return (long)__builtin_frame_address(0); }
         void crash(void) { *(volatile int *)8 = 1; }",
        &["-O1"],
    )
    .gate("long server(void)")
    .domain();
    let use_it = client.bind::<extern "C" fn(i64) -> i64>("use").unwrap();
    let top = call(&client, "where");
    for (name, got) in [("server", 7), ("crash", 77)] {
        client
            .link(
                "server",
                &server,
                &crate::common::said(&client, "server", name),
                Policy::MUTUAL_TRUST,
                OnFailure::Return(77),
            )
            .unwrap();
        for x in 0..100 {
            assert_eq!(use_it.call(x).unwrap(), x + got, "{name}");
        }
        assert_eq!(call(&client, "where"), top, "{name}: calls start at the top again");
        let error = client.bind::<extern "C" fn()>("crash").unwrap().call().unwrap_err();
        assert_eq!(error.fault().expect("a fault").domain(), "guest", "{name}");
    }
}

/// R8: a failure that ends the caller's call, too, goes to the caller's own caller. Red if it goes by the callee's
/// record.
#[test]
fn r8_failures_that_end_the_caller_go_to_its_caller() {
    let _watchdog = watchdog("a failure that ends two calls");
    let server = Guest::c("void crash(void) { *(volatile int *)8 = 1; }").domain();
    let client = client(PLAIN);
    let top = call(&client, "where");
    client
        .link(
            "server",
            &server,
            &crate::common::said(&client, "server", "crash"),
            Policy::MUTUAL_TRUST,
            OnFailure::Propagate,
        )
        .unwrap();
    let call_server = client.bind::<extern "C" fn()>("call_server").unwrap();
    for _ in 0..3 {
        let error = call_server.call().unwrap_err();
        assert!(matches!(error, CallError::Callee { .. }), "{error}");
        assert_eq!(call(&client, "where"), top, "calls start at the top again");
    }
}

/// R9: a domain that is called back by the one that it called starts below its live frames. Red if the crossing leaves
/// the caller's place on its stack where it is.
#[test]
fn r9_callbacks_of_other_domains_start_below_live_frames() {
    let _watchdog = watchdog("calls back from another domain");
    let server = Guest::c("extern long back(long); long server(void) { return back(20) + 1; }")
        .gate("long back(long)")
        .domain();
    let client = Guest::c_with(
        "long server(void);
         long deep(long n) { volatile long v[4]; v[0] = n; long r = n ? deep(n - 1) : server(); return r + v[0]; }
         long back(long n) { volatile long v[8]; v[0] = n; return n ? back(n - 1) * 1 + v[0] : 5; }",
        &["-O1", "-fno-optimize-sibling-calls"],
    )
    .gate("long server(void)")
    .domain();
    link(&client, &server, "server", Policy::MUTUAL_TRUST);
    server
        .link(
            "back",
            &client,
            &crate::common::said(&server, "back", "back"),
            Policy::MUTUAL_TRUST,
            OnFailure::default(),
        )
        .unwrap();
    let deep = client.bind::<extern "C" fn(i64) -> i64>("deep").unwrap();
    assert_eq!(deep.call(10).unwrap(), 55 + 210 + 5 + 1);
}

/// R17: what a domain cannot touch itself is as its caller left it when another, which it trusts, has changed it: the
/// host asked that domain's proxy for nothing. Red without the state that crossings keep in any case.
#[test]
fn r17_state_stays_the_hosts_through_domains_that_cannot_touch_it() {
    let server = server(STATEFUL_SERVER, || ());
    let client = client(PLAIN);
    let before = host_sys::cpu_state();
    for name in ["dirty", "full", "rounding", "upper_halves"] {
        if name == "upper_halves" && !std::is_x86_feature_detected!("avx2") {
            support::skipped(format_args!("r17, {name}"), "this processor lacks AVX2");
            continue;
        }
        link(&client, &server, name, Policy::MUTUAL_TRUST);
        call(&client, "call_server");
        assert_eq!(host_sys::x87_sum(), 36.0, "{name}");
        assert_eq!(host_sys::cpu_state(), before, "{name}");
        assert!(!host_sys::upper_vector_halves_are_used(), "{name}");
    }
}

/// R17: nor do they carry secrets past it: what the host left in the x87's registers is gone when a domain can read
/// them, and what that domain left, when another one can.
#[test]
fn r17_registers_are_cleared_behind_domains_that_cannot_touch_them() {
    let reader = server(STATEFUL_SERVER, || ());
    let middle = client(PLAIN);
    link(&middle, &reader, "x87_registers", Policy::MUTUAL_TRUST);
    for _ in 0..2 {
        assert_eq!(host_sys::x87_sum(), 36.0);
        assert_eq!(call(&middle, "call_server"), 0, "the host's numbers show");
    }
    link(&middle, &reader, "full", Policy::MUTUAL_TRUST);
    let outer = client(STATEFUL);
    link(&outer, &middle, "call_server", Policy::MUTUAL_TRUST);
    for _ in 0..2 {
        assert_eq!(call(&outer, "read_x87"), 0, "the inner domain's numbers show");
    }
}

/// R17: a server that asks for clean state finds it, whatever its caller had; the host's functions that it calls
/// find the host's; the caller has its own again. Red without fresh state on the way in.
#[test]
fn r17_servers_start_with_clean_state() {
    let before = host_sys::cpu_state();
    let server = server(STATEFUL_SERVER, move || {
        assert_eq!(host_sys::x87_sum(), 36.0);
        assert_eq!(host_sys::cpu_state(), before);
    });
    let client = client(STATEFUL);
    for (caller, callee, seen, own) in
        [("unmasked_mxcsr", "mxcsr", 0x1f80, 0x6040), ("unmasked_x87", "control", 0x37f, 0x0040)]
    {
        link(&client, &server, callee, Policy::SERVER_TRUSTED);
        assert_eq!(call(&client, caller), own << 32 | seen, "{caller}");
        assert_eq!(host_sys::cpu_state(), before, "{caller}");
        link(&client, &server, "call_host", Policy::SERVER_TRUSTED);
        assert_eq!(call(&client, caller) >> 32, own, "{caller}");
        // Behind a domain that cannot have changed it, and asked nobody for anything.
        let middle = self::client(PLAIN);
        link(&middle, &server, callee, Policy::SERVER_TRUSTED);
        link(&client, &middle, "call_server", Policy::MUTUAL_TRUST);
        assert_eq!(call(&client, caller), own << 32 | seen, "{caller}, behind another domain");
    }
}

/// R17 for host functions that a second domain calls: they find the host's state, whether or not that domain could
/// touch it, and whatever the two domains think of each other.
#[test]
fn r17_host_functions_find_the_hosts_state_behind_two_domains() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    for policy in [Policy::SERVER_TRUSTED, Policy::MUTUAL_DISTRUST, Policy::INTEGRITY, Policy::MUTUAL_TRUST] {
        for source in [SERVER, STATEFUL_SERVER] {
            let sees = seen.clone();
            let server = server(source, move || sees.lock().unwrap().push(host_sys::cpu_state()));
            let client = client(STATEFUL);
            link(&client, &server, "call_host", policy);
            for control in [0x37f, ROUNDING_TO_ZERO] {
                host_sys::with_x87_control(control, || {
                    let before = host_sys::cpu_state();
                    for name in ["unmasked_mxcsr", "unmasked_x87"] {
                        call(&client, name);
                        let found = seen.lock().unwrap().drain(..).collect::<Vec<_>>();
                        assert_eq!(
                            found,
                            [before],
                            "{policy}, {name}, stateful: {}",
                            source == STATEFUL_SERVER
                        );
                    }
                });
            }
        }
    }
}

/// R17: the same behind a third domain, which is called by one that was given clean state. Red if gates go by what the
/// calling domain's own module, or its caller's, can touch.
#[test]
fn r17_host_functions_find_the_hosts_state_behind_three_domains() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    for policy in [Policy::SERVER_TRUSTED, Policy::MUTUAL_DISTRUST, Policy::INTEGRITY, Policy::MUTUAL_TRUST] {
        let sees = seen.clone();
        let server = server(SERVER, move || sees.lock().unwrap().push(host_sys::cpu_state()));
        let (middle, client) = (client(PLAIN), client(STATEFUL));
        link(&middle, &server, "call_host", policy);
        link(&client, &middle, "call_server", policy);
        let check = || {
            let before = host_sys::cpu_state();
            for name in ["unmasked_mxcsr", "unmasked_x87"] {
                call(&client, name);
                assert_eq!(seen.lock().unwrap().drain(..).collect::<Vec<_>>(), [before], "{policy}, {name}");
                assert_eq!(host_sys::cpu_state(), before, "{policy}, {name}");
            }
        };
        host_sys::with_x87_control(ROUNDING_TO_ZERO, check);
        host_sys::with_mxcsr(MXCSR_ROUNDING_TO_ZERO, check);
    }
}

/// R15, R17: a call that fails leaves its caller's control words as they were, whatever they were, whether or not the module
/// can change them, in every protocol: a module that is trusted to put them back has not come to that. Red if a fault
/// resumes with those of a new thread, or the module's.
#[test]
fn r15_r17_control_words_survive_failures() {
    const WORDS: &str = "
function fault
    sets_mxcsr 0xffc0
    fninit
    fld1
    fldcw -8-OFF(%rsp)
    ud2
function end_in_gate
    sets_mxcsr 0xffc0
    fninit
    begins_frame
    movl $0xf7f,-OFF(%rsp)
    fldcw -OFF(%rsp)
    call *%gs:0x11080
    ends_frame_and_returns
";
    const NO_WORDS: &str = "
function fault
    ud2
    asks_host end_in_gate
";
    for source in [WORDS, NO_WORDS] {
        let domain =
            server(source, || std::panic::resume_unwind(Box::new("a host function that does not return")));
        for policy in
            [Policy::MUTUAL_TRUST, Policy::INTEGRITY, Policy::SERVER_TRUSTED, Policy::MUTUAL_DISTRUST]
        {
            for name in ["fault", "end_in_gate"] {
                let fails = domain.bind_with::<extern "C" fn()>(name, policy).unwrap();
                for control in [0x37f, ROUNDING_TO_NEGATIVE] {
                    host_sys::with_x87_control(control, || {
                        let before = host_sys::cpu_state();
                        fails.call().unwrap_err();
                        assert_eq!(host_sys::cpu_state(), before, "{policy}, {name}, {control:#x}");
                        assert_eq!(host_sys::x87_sum(), 36.0, "{policy}, {name}");
                    });
                }
            }
        }
    }
}

/// R23: a result in memory lands in the caller's own window, whatever the caller says. Red if the upper half of the
/// address counts.
#[test]
fn r23_results_in_memory_stay_in_the_callers_window() {
    let server = Guest::c(
        "struct big { long v[5]; }; struct big make(void) { return (struct big){{1, 2, 3, 4, 5}}; }",
    )
    .domain();
    let prototype = "struct { long v[5]; } make(void)";
    let client = Guest::assembly(
        "
# The result's place: the red zone's address, with something else above it.
function use
    lea -0x48(%rsp),%rsp
    mov %rax,-OFF(%rsp)
    lea -OFF(%rsp),%rdi
    mov $0x500000000,%rax
    add %rax,%rdi
    call *%gs:0x11080
    mov 0x20-OFF(%rsp),%rax
    lea 0x48(%rsp),%rsp
    mov %rcx,-OFF(%rsp)
    ret
",
    )
    .gate(prototype)
    .domain();
    link_import(&client, "make", &server, "make", (Policy::MUTUAL_TRUST, OnFailure::Return(0)));
    assert_eq!(call(&client, "use"), 5);
}

/// R23: a caller whose stack arguments cannot be read has taken an exclusive callee by then: it is free again. Red if the failed crossing
/// keeps it: the next caller waits for ever.
#[test]
fn r23_unreadable_arguments_leave_no_exclusive_domain_taken() {
    let prototype = &format!("long add({})", crate::common::TEN_WORDS);
    let source = "struct ten { long words[10]; }; long add(struct ten ten) { return ten.words[9]; }
        long free(void) { return 1; }";
    let server = Guest::c(source)
        .export(prototype)
        .export("long free(void)")
        .domain_with(DomainOptions::new().exclusive(None));
    let client = Guest::assembly(crate::common::ASK_FROM_THE_TOP).gate(prototype).domain();
    let said = crate::common::said(&client, "add", "add");
    client.link("add", &server, &said, Policy::default(), OnFailure::Propagate).expect("an import");
    let _watchdog = crate::common::watchdog("a domain that nobody sets free");
    let error = crate::common::ask_from_the_top(&client);
    let fault = error.fault().unwrap_or_else(|| panic!("{error}"));
    assert!(fault.reason().contains("arguments"), "{fault}");
    let free = server.bind::<extern "C" fn() -> i64>("free").unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(free.call().unwrap(), 1));
    });
}

/// R24: a crossing's own registers do not show where the host's records, tables and code are. One function for
/// each register that a callee may change.
#[test]
fn r24_registers_after_a_crossing_show_no_host_address() {
    let registers = ["rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"];
    let source: String = registers
        .iter()
        .map(|register| {
            format!(
                "function see_{register}\n begins_frame\n call *%gs:0x11080\n mov %{register},%rax\n ends_frame_and_returns\n"
            )
        })
        .collect();
    let server = Guest::assembly(
        "function server\n .irp r,ecx,edx,esi,edi,r8d,r9d,r10d,r11d\n xor %\\r,%\\r\n .endr\n ret\n",
    )
    .domain();
    let client = client(&source);
    link(&client, &server, "server", Policy::MUTUAL_TRUST);
    let stride = client.base()..client.base() + window::STRIDE;
    for register in registers {
        for _ in 0..2 {
            let value = call(&client, &format!("see_{register}"));
            assert!(value >> 32 == 0 || stride.contains(&value), "{register}: {value:#x} is the host's");
        }
    }
}

/// A caller that trusts its callee to keep callee-saved registers has them again, and the callee sees nothing else in them: also at
/// the first call, which is admitted the slow path.
#[test]
fn r24_callee_saved_registers_pass_through_a_crossing() {
    for register in ["rbx", "rbp", "r12", "r13", "r14", "r15"] {
        let client = client(&format!(
            "function use\n begins_frame\n mov $0x1234,%{register}\n call *%gs:0x11080\n \
             sub $0x1234,%{register}\n add %{register},%rax\n ends_frame_and_returns\n"
        ));
        let server =
            Guest::assembly(&format!("function server\n mov %{register},%rax\n add $1,%rax\n ret\n"))
                .domain();
        link(&client, &server, "server", Policy::MUTUAL_TRUST);
        let check = || {
            for round in 0..3 {
                assert_eq!(call(&client, "use"), 0x1235, "{register}, call {round}");
            }
        };
        check();
        // A thread that neither domain knows.
        std::thread::scope(|scope| {
            scope.spawn(check);
        });
    }
}

/// Set when the context of the test below is gone.
static GONE: AtomicBool = AtomicBool::new(false);

/// What a function needs while it runs.
struct Context;

impl Context {
    fn check(&self) {
        assert!(!GONE.load(Ordering::Relaxed), "the function's context is gone");
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        GONE.store(true, Ordering::Relaxed);
    }
}

/// R22: what a gate led to stays whole while a thread is in it, though its number leads elsewhere meanwhile. Red if a
/// removed callback's function goes at once.
#[test]
fn r22_functions_stay_while_a_thread_is_in_their_gate() {
    let domain = Guest::c(APPLY).domain();
    let slot: Arc<Mutex<Option<Callback>>> = Arc::default();
    let (other, context) = (slot.clone(), Context);
    let first = HostFunction::new(move |domain: &Domain, x: i64| {
        if x == 0 {
            // The number is free, and taken again when all others have been.
            let gone = other.lock().unwrap().take().expect("the callback that runs");
            let was = gone.pointer::<u8>();
            drop(gone);
            come_and_go(domain);
            context.check();
            let next = || domain.callback(HostFunction::new(|_: &Domain, x: i64| 10 * x));
            let same = std::iter::from_fn(next).find(|next| next.pointer::<u8>() == was);
            *other.lock().unwrap() = same;
        }
        x
    });
    let callback = domain.callback(first).unwrap();
    let pointer = callback.pointer::<u8>();
    *slot.lock().unwrap() = Some(callback);
    let apply = domain.bind::<extern "C" fn(Pointer<u8>, i64) -> i64>("apply").unwrap();
    assert_eq!(apply.call(pointer, 3).unwrap(), 30, "the second function's answers");
}

/// So many functions come and go that the domain looks for those that it can let go of.
fn come_and_go(domain: &Domain) {
    for number in 0..100_i64 {
        drop(
            domain
                .callback(HostFunction::new(move |_: &Domain, x: i64| x + number))
                .expect("a number is free"),
        );
    }
}

/// R22: a thread that runs the domain's code may have read a table, and show it in its records only later.
#[test]
fn r22_functions_stay_while_a_thread_runs_the_domains_code() {
    let _watchdog = watchdog("a function that nobody lets go of");
    let source = "static volatile int on; long is_on(void) { return on; } \
                  long spin(void) { on = 1; for (;;) __asm__ volatile(\"\"); }";
    let domain = Guest::c(source).domain();
    let spin = domain.bind::<extern "C" fn() -> i64>("spin").unwrap();
    let is_on = domain.bind::<extern "C" fn() -> i64>("is_on").unwrap();
    let token = Arc::new(());
    let kept = token.clone();
    let callback = domain.callback(HostFunction::new(move |_: &Domain| drop(kept.clone()))).unwrap();
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| spin.call());
        // (One that is let in has not begun, and holds nothing yet.)
        while is_on.call().expect("it returns") == 0 {
            std::thread::yield_now();
        }
        drop(callback);
        come_and_go(&domain);
        assert_eq!(
            Arc::strong_count(&token),
            2,
            "the function is gone while a thread may be about to call it"
        );
        domain.kill();
        inside.join().unwrap().unwrap_err();
    });
    while Arc::strong_count(&token) > 1 {
        std::thread::yield_now();
    }
}

/// Nothing stays of functions that a living domain can no longer call, nor of domains that they led to.
#[test]
fn r22_functions_are_let_go_of_in_the_end() {
    let domain = Guest::c(APPLY).domain();
    let token = Arc::new(());
    for _ in 0..1000 {
        let kept = token.clone();
        domain.callback(HostFunction::new(move |_: &Domain| drop(kept.clone()))).expect("a number is free");
    }
    assert!(Arc::strong_count(&token) < 50, "{} functions are kept", Arc::strong_count(&token));
    let kept = token.clone();
    let options = DomainOptions::new().gate("host", HostFunction::new(move |_: &Domain| drop(kept.clone())));
    let source = "void host(void); long one(long x) { if (!x) host(); return x; }";
    let server = Guest::c(source).gate("void host(void)").domain_with(options);
    let pointer = domain.function_pointer(&server, "long one(long)", Policy::default(), OnFailure::default());
    let pointer = pointer.unwrap();
    let apply = domain.bind::<extern "C" fn(Pointer<u8>, i64) -> i64>("apply").unwrap();
    assert_eq!(apply.call(pointer.pointer(), 2).unwrap(), 1);
    drop((server, pointer));
    assert_eq!(Arc::strong_count(&token), 1, "the domain that was called stays");
}

/// A gate goes by one entry, from its code to its context, though callbacks come and go under one number meanwhile: a
/// function never finds another's context.
#[test]
fn r22_functions_find_their_own_context() {
    let _watchdog = watchdog("callbacks that come and go");
    let domain = Guest::c(APPLY).domain();
    let ones = || {
        HostFunction::new({
            let own = [1_i64; 8];
            move |_: &Domain, _: i64| i64::from(own == [1; 8])
        })
    };
    let twos = || {
        HostFunction::new({
            let own = [2_i64; 8];
            move |_: &Domain, _: i64| i64::from(own == [2; 8])
        })
    };
    // All numbers are taken but one.
    let mut all: Vec<Callback> = std::iter::from_fn(|| domain.callback(ones())).collect();
    let pointer = all.pop().expect("there are some").pointer::<u8>();
    let apply = domain.bind::<extern "C" fn(Pointer<u8>, i64) -> i64>("apply").unwrap();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                for function in [ones(), twos()] {
                    let callback = domain.callback(function).expect("a number is free");
                    assert_eq!(callback.pointer::<u8>(), pointer, "one number is used again and again");
                }
            }
        });
        let mut through = 0;
        while through < 2000 {
            match apply.call(pointer, 100) {
                Ok(sum) => {
                    assert_eq!(sum, 100, "a function found another's context");
                    through += 1;
                }
                // Nobody had the number at some moment.
                Err(error) => assert!(matches!(error, CallError::Fault(_)), "{error}"),
            }
        }
        ended.store(true, Ordering::Relaxed);
    });
}
