//! Domains call each other: arguments, recursion, function pointers, failures.

use crate::common::Guest;
use lockgate::{
    Allow, CallError, Domain, DomainOptions, Export, FaultKind, Function, HostFunction, OnFailure, Pointer,
    Policy, Principal, Registry, Request, ResetError, Revoke, Version,
};
use std::sync::Barrier;
use std::time::{Duration, Instant};

const PRESETS: [Policy; 4] =
    [Policy::INTEGRITY, Policy::MUTUAL_DISTRUST, Policy::SERVER_TRUSTED, Policy::MUTUAL_TRUST];

const SERVER: &str = r#"
struct pair { double x; long n; };
struct big { long v[5]; };
long add(long a, long b) { return a + b; }
float third(float x) { return x / 3; }
signed char negate(signed char c) { return -c; }
long many(long a, long b, long c, long d, long e, long f, long g, int h, double i, char j) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + (long)(9 * i) + 10 * j;
}
struct pair swap(struct pair p) { return (struct pair){p.n, p.x}; }
struct big make(long seed) { struct big b; for (int i = 0; i < 5; i++) b.v[i] = seed * i; return b; }
long sum(struct big b, long more) { long s = more; for (int i = 0; i < 5; i++) s += b.v[i]; return s; }
long poke(long *p) { *p = 1; return 0; }
static volatile long begun;
long forever(void) { for (begun++;;) __asm__ volatile(""); }
long has_begun(void) { return begun; }
long even(long n) { extern long odd(long); return n == 0 ? 1 : odd(n - 1); }
long twice(long (*f)(long), long x) { return f(f(x)); }
"#;

const CLIENT: &str = r#"
struct pair { double x; long n; };
struct big { long v[5]; };
long add(long, long); float third(float); signed char negate(signed char);
long many(long, long, long, long, long, long, long, int, double, char);
struct pair swap(struct pair); struct big make(long); long sum(struct big, long);
long poke(long *); long forever(void); long even(long);
long use_add(long a, long b) { long keep[8]; for (int i = 0; i < 8; i++) keep[i] = a + i; long r = add(a, b); for (int i = 0; i < 8; i++) r += keep[i] - a - i; return r; }
double use_third(double x) { return third((float)x) + x; }
long use_negate(long c) { return negate((signed char)c); }
long use_many(void) { return many(1, 2, 3, 4, 5, 6, 7, 8, 9.5, 10); }
double use_swap(double x, long n) { struct pair p = swap((struct pair){x, n}); return p.x * 1000 + p.n; }
long use_make(long seed) { struct big b = make(seed), c = make(seed + 1); return sum(b, 7) * 1000 + sum(c, 1); }
long use_poke(long at) { return poke((long *)at); }
long use_forever(void) { return forever(); }
long odd(long n) { return n == 0 ? 0 : even(n - 1); }
long call(long (*f)(long), long x) { return f(x) + 1; }
long increment(long x) { return x + 1; }
"#;

const IMPORTS: [(&str, &str); 10] = [
    ("add", "long add(long, long)"),
    ("third", "float third(float)"),
    ("negate", "signed char negate(signed char)"),
    ("many", "long many(long, long, long, long, long, long, long, int, double, char)"),
    ("swap", "struct { double x; long n; } swap(struct { double x; long n; })"),
    ("make", "struct { long v[5]; } make(long)"),
    ("sum", "long sum(struct { long v[5]; }, long)"),
    ("poke", "long poke(long *)"),
    ("forever", "long forever(void)"),
    ("even", "long even(long)"),
];

fn server(options: DomainOptions) -> Domain {
    crate::common::started(&Guest::c(SERVER).gate("long odd(long)").module(), options)
}

fn client(server: &Domain, policy: Policy, on_failure: OnFailure) -> Domain {
    let guest = IMPORTS.iter().fold(Guest::c(CLIENT), |guest, (_, prototype)| guest.gate(prototype));
    let client = Domain::new(&guest.module(), DomainOptions::new().name("client")).expect("a domain");
    for (name, prototype) in IMPORTS {
        client
            .link(name, server, prototype, policy, on_failure)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    server.link("odd", &client, "long odd(long)", policy, on_failure).expect("odd is linked");
    client
}

#[test]
fn values_cross_in_every_shape_and_policy() {
    for policy in PRESETS.into_iter().chain([Policy::MUTUAL_DISTRUST.timed()]) {
        let server = server(DomainOptions::new().name("server"));
        let client = client(&server, policy, OnFailure::default());
        let long = |name: &str, x: i64| {
            let f = client.bind_with::<extern "C" fn(i64) -> i64>(name, policy).expect(name);
            f.call(x).unwrap_or_else(|error| panic!("{policy}: {name}: {error}"))
        };
        let add = client.bind::<extern "C" fn(i64, i64) -> i64>("use_add").unwrap();
        for i in 0..100 {
            assert_eq!(add.call(i, -40).unwrap(), i - 40, "{policy}");
        }
        let third = client.bind::<extern "C" fn(f64) -> f64>("use_third").unwrap();
        assert_eq!(third.call(3.0).unwrap(), 4.0, "{policy}");
        assert_eq!(long("use_negate", 100), -100, "{policy}");
        assert_eq!(long("use_many", 0), 1 + 4 + 9 + 16 + 25 + 36 + 49 + 64 + 85 + 100, "{policy}");
        let swap = client.bind::<extern "C" fn(f64, i64) -> f64>("use_swap").unwrap();
        assert_eq!(swap.call(3.0, 2).unwrap(), 2003.0, "{policy}");
        assert_eq!(long("use_make", 3), 37_041, "{policy}");
        // From one to the other and back, as deep as that.
        assert_eq!((long("odd", 100), long("odd", 101)), (0, 1), "{policy}");
    }
}

/// A thread's first call of a domain is admitted the slow path, which keeps all arguments. Each has a thread of its own.
#[test]
fn a_threads_first_call_of_a_domain_has_all_its_arguments() {
    let server = server(DomainOptions::new().name("server"));
    let client = client(&server, Policy::MUTUAL_TRUST, OnFailure::default());
    let add = client.bind::<extern "C" fn(i64, i64) -> i64>("use_add").unwrap();
    let many = client.bind::<extern "C" fn() -> i64>("use_many").unwrap();
    let make = client.bind::<extern "C" fn(i64) -> i64>("use_make").unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(add.call(20, 3).unwrap(), 23));
        scope.spawn(|| assert_eq!(many.call().unwrap(), 1 + 4 + 9 + 16 + 25 + 36 + 49 + 64 + 85 + 100));
        scope.spawn(|| assert_eq!(make.call(3).unwrap(), 37_041));
    });
}

/// A server that does not write all of its result, or is taken for another type by somebody: the caller gets zeros, not what the server's
/// earlier calls have left there.
#[test]
fn room_for_results_is_cleared_where_a_side_asks_for_it() {
    let server = Guest::c(
        "long login(long x) { volatile char deep[3000]; for (int i = 0; i < 3000; i++) deep[i] = 'S'; return deep[x]; }
         int short_answer(void) { return 7; }",
    )
    .domain();
    let prototype = "struct { char bytes[2800]; } short_answer(void)";
    let client = Guest::c(
        "struct big { char bytes[2800]; };
         struct big short_answer(void);
         long secrets(void) { struct big b = short_answer(); long n = 0; for (int i = 0; i < 2800; i++) n += b.bytes[i] == 'S'; return n; }",
    )
    .gate(prototype)
    .domain();
    let login = server.bind::<extern "C" fn(i64) -> i64>("login").unwrap();
    let secrets = client.bind::<extern "C" fn() -> i64>("secrets").unwrap();
    let server_asks =
        Policy { server: lockgate::Properties::REGISTER_CONFIDENTIALITY, ..Policy::MUTUAL_TRUST };
    for (policy, is_clear) in
        [(Policy::MUTUAL_TRUST, false), (server_asks, true), (Policy::MUTUAL_DISTRUST, true)]
    {
        login.call(3).unwrap();
        client.link("short_answer", &server, prototype, policy, OnFailure::default()).unwrap();
        assert_eq!(secrets.call().unwrap() == 0, is_clear, "{policy}");
        login.call(3).unwrap();
        let direct = server.bind_dynamic_with(prototype, policy).unwrap().call(&[]).unwrap();
        let lockgate::Value::Struct(bytes) = direct else { panic!("{direct:?}") };
        assert_eq!(!bytes.contains(&b'S'), is_clear, "{policy}, for the host");
    }
}

/// Between two modules neither's word alone counts.
#[test]
fn both_sides_say_the_signature_or_the_host_does() {
    let source = "struct big { char bytes[64]; }; long f(long x) { return x + 1; } struct big g(void) { return (struct big){0}; }";
    let noted = Guest::c_with(source, &["-O2", "-g"]).domain();
    let silent = Guest::c(source).domain();
    let importing = "long f(long); long use(long x) { return f(x); }";
    let client = |gate: &str| Guest::c(importing).gate(gate).domain();
    let link = |client: &Domain, server: &Domain, name: &str| {
        client.link("f", server, name, Policy::default(), OnFailure::default())
    };
    let says = client("long f(long)");
    let quiet = client("f");
    link(&says, &noted, "f").expect("both say the same");
    for (client, server) in [(&says, &silent), (&quiet, &noted), (&quiet, &silent)] {
        let error = link(client, server, "f").unwrap_err();
        assert!(matches!(error, lockgate::LinkError::NoSignature(..)), "{error}");
        link(client, server, "long f(long)").expect("the host says it");
        assert_eq!(client.bind::<extern "C" fn(i64) -> i64>("use").unwrap().call(1).unwrap(), 2);
    }
    assert!(link(&says, &silent, "int f(int)").is_err(), "the import's note narrows");
    assert!(link(&quiet, &noted, "int f(int)").is_err(), "the export's, too");
    let error = says.function_pointer(&noted, "f", Policy::default(), OnFailure::default()).map(|_| ());
    assert!(matches!(error, Err(lockgate::LinkError::NoPrototype(_))), "{error:?}");
}

#[test]
fn function_pointers_lead_into_other_domains() {
    let server = server(DomainOptions::new().name("server"));
    let client = client(&server, Policy::MUTUAL_DISTRUST, OnFailure::default());
    let third = Guest::c("long triple(long x) { return 3 * x; }").export("long triple(long)").domain();
    let twice = server.bind::<extern "C" fn(Pointer<u8>, i64) -> i64>("twice").unwrap();
    let triple = server
        .function_pointer(&third, "long triple(long)", Policy::default(), OnFailure::default())
        .unwrap();
    assert_eq!(twice.call(triple.pointer(), 5).unwrap(), 45);
    // The client calls the server, which calls the client back, which calls the third domain.
    let increment = server
        .function_pointer(&client, "long increment(long)", Policy::default(), OnFailure::default())
        .unwrap();
    assert_eq!(twice.call(increment.pointer(), 5).unwrap(), 7);
    let call = client.bind::<extern "C" fn(Pointer<u8>, i64) -> i64>("call").unwrap();
    let to_server =
        client.function_pointer(&server, "long even(long)", Policy::default(), OnFailure::default());
    assert_eq!(call.call(to_server.unwrap().pointer(), 8).unwrap(), 2);
    let stale = triple.pointer::<u8>();
    drop(triple);
    let fault = twice.call(stale, 5).unwrap_err();
    assert_eq!(fault.fault().map(lockgate::Fault::kind), Some(FaultKind::Gate), "{fault}");
}

#[test]
fn a_failure_is_the_callers_to_handle() {
    for policy in PRESETS {
        let server = server(DomainOptions::new().name("server").time_limit(Duration::from_millis(250)));
        let client = client(&server, policy, OnFailure::Return(77));
        let poke = client.bind_with::<extern "C" fn(i64) -> i64>("use_poke", policy).unwrap();
        let add = client.bind_with::<extern "C" fn(i64, i64) -> i64>("use_add", policy).unwrap();
        // (A busy machine may let the limit pass.)
        let sum = |a, b| (0..1000).map(|_| add.call(a, b).unwrap()).find(|sum| *sum != 77);
        for _ in 0..50 {
            assert_eq!(poke.call(0).unwrap(), 77, "{policy}");
            assert_eq!(sum(1, 2), Some(3), "{policy}");
        }
        let forever = client.bind_with::<extern "C" fn() -> i64>("use_forever", policy).unwrap();
        assert_eq!(forever.call().unwrap(), 77, "{policy}");
        assert_eq!(sum(3, 4), Some(7), "{policy}");
    }
}

#[test]
fn a_failure_ends_the_caller_too_if_the_link_says_so() {
    let server = server(DomainOptions::new().name("server"));
    let client = client(&server, Policy::MUTUAL_TRUST, OnFailure::Propagate);
    let poke = client.bind_with::<extern "C" fn(i64) -> i64>("use_poke", Policy::MUTUAL_TRUST).unwrap();
    let error = poke.call(0).unwrap_err();
    let CallError::Callee { domain, source, .. } = &error else { panic!("{error}") };
    assert_eq!(domain, "client");
    let fault = source.fault().expect("a fault");
    assert_eq!((fault.domain(), fault.entry_point(), fault.kind()), ("server", "poke", FaultKind::Segv));
    let add = client.bind::<extern "C" fn(i64, i64) -> i64>("use_add").unwrap();
    assert_eq!(add.call(1, 2).unwrap(), 3);
}

#[test]
fn the_callers_limit_bounds_all_it_calls() {
    let server = server(DomainOptions::new().name("server").time_limit(Duration::from_secs(60)));
    let guest = IMPORTS.iter().fold(Guest::c(CLIENT), |guest, (_, prototype)| guest.gate(prototype));
    let options = DomainOptions::new().name("client").time_limit(Duration::from_millis(30));
    let client = crate::common::started(&guest.module(), options);
    client
        .link(
            "forever",
            &server,
            &crate::common::said(&client, "forever", "forever"),
            Policy::default(),
            OnFailure::Return(5),
        )
        .unwrap();
    let error = client.bind::<extern "C" fn() -> i64>("use_forever").unwrap().call().unwrap_err();
    let fault = error.fault().unwrap_or_else(|| panic!("{error}"));
    assert_eq!((fault.domain(), fault.kind()), ("client", FaultKind::TimeOut));
}

#[test]
fn a_killed_server_fails_fast_and_a_killed_client_leaves() {
    let server = server(DomainOptions::new().name("server"));
    let client = client(&server, Policy::MUTUAL_DISTRUST, OnFailure::Return(77));
    let forever = client.bind::<extern "C" fn() -> i64>("use_forever").unwrap();
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| forever.call());
        while server.threads_inside() == 0 {
            std::thread::yield_now();
        }
        server.kill();
        assert_eq!(inside.join().expect("no panic").unwrap(), 77);
    });
    let add = client.bind::<extern "C" fn(i64, i64) -> i64>("use_add").unwrap();
    assert_eq!(add.call(1, 2).unwrap(), 77);
    client.kill();
    assert!(matches!(add.call(1, 2).unwrap_err(), CallError::Killed(name) if name == "client"));
}

/// A call that a killed domain has made in another goes on for a while, and no longer: it is stopped there, and nothing of the other ends with it.
#[test]
fn what_a_killed_client_has_called_has_a_second() {
    let server = server(DomainOptions::new().name("server"));
    let forever = |client: &Domain| client.bind::<extern "C" fn() -> i64>("use_forever").unwrap();
    let begun = server.bind::<extern "C" fn() -> i64>("has_begun").unwrap();
    let within = |client: &Domain| {
        let (call, before) = (forever(client), begun.call().unwrap());
        std::thread::scope(|scope| {
            let inside = scope.spawn(move || call.call());
            while begun.call().unwrap() == before {
                std::thread::yield_now();
            }
            let killed = Instant::now();
            client.kill();
            let ended = inside.join().expect("no panic").unwrap_err();
            assert!(
                matches!(&ended, CallError::Fault(fault) if fault.kind() == FaultKind::Killed),
                "{ended}"
            );
            killed.elapsed()
        })
    };
    for _ in 0..2 {
        let took = within(&client(&server, Policy::MUTUAL_DISTRUST, OnFailure::Return(77)));
        // (Not at once, or the server would be left in the middle of what takes it a moment.)
        assert!(took >= Duration::from_millis(900), "{took:?}");
    }
    assert_eq!(server.threads_inside(), 0);
    let add = server.bind::<extern "C" fn(i64, i64) -> i64>("add").unwrap();
    assert_eq!(add.call(1, 2).unwrap(), 3);
}

/// So has what is called from a domain that was killed so before, and reset. Red if what the thread was told that time counts: the call ends at
/// once.
#[test]
fn what_is_called_from_where_one_was_killed_has_a_second() {
    let _watchdog = crate::common::watchdog("a call that was made from a domain that was killed");
    let server = server(DomainOptions::new().name("server"));
    let begun = server.bind::<extern "C" fn() -> i64>("has_begun").unwrap();
    let forever = server.bind::<extern "C" fn() -> i64>("forever").unwrap();
    let host = HostFunction::new(move |_: &Domain, x: i64| {
        assert!(forever.call().is_err_and(|error| error.fault().is_some()));
        x
    });
    let guest = Guest::c("long host(long); long via(long x) { return host(x); }").gate("long host(long)");
    let mut client = Domain::new(&guest.module(), DomainOptions::new().gate("host", host)).expect("a domain");
    for _ in 0..2 {
        let before = begun.call().unwrap();
        let killed = std::thread::scope(|scope| {
            let killer = scope.spawn(|| {
                while begun.call().unwrap() == before {
                    std::thread::yield_now();
                }
                let killed = Instant::now();
                client.kill();
                killed
            });
            let via = client.bind::<extern "C" fn(i64) -> i64>("via").unwrap();
            let ended = via.call(1).unwrap_err();
            assert!(ended.fault().is_some_and(|fault| fault.kind() == FaultKind::Killed), "{ended}");
            killer.join().expect("no panic")
        });
        assert!(killed.elapsed() >= Duration::from_millis(900), "{:?}", killed.elapsed());
        // (The watcher may have a look at it.)
        while let Err(error) = client.reset() {
            assert!(matches!(error, ResetError::InUse(_)), "{error}");
            std::thread::yield_now();
        }
    }
}

/// The same of a function that was taken back with its calls. Red if only domains count: the call never ends.
#[test]
fn what_a_revoked_call_has_called_has_a_second() {
    let _watchdog = crate::common::watchdog("a call that was made from one that was revoked");
    let server = server(DomainOptions::new().name("server"));
    let client = client(&server, Policy::MUTUAL_DISTRUST, OnFailure::Return(77));
    let registry = Registry::new();
    let export = Export::new("use_forever", Version::new(1, 0)).of("long use_forever(void)");
    let export = export.allow(Allow::Everyone);
    registry.export(&client, export).unwrap();
    let forever = registry
        .bind::<extern "C" fn() -> i64>(&Principal::nobody(), &Request::newest("use_forever"))
        .unwrap();
    let begun = server.bind::<extern "C" fn() -> i64>("has_begun").unwrap();
    let before = begun.call().unwrap();
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| forever.call());
        while begun.call().unwrap() == before {
            std::thread::yield_now();
        }
        let revoked = Instant::now();
        registry.revoke("use_forever", Revoke::Stop).unwrap();
        let ended = inside.join().expect("no panic").unwrap_err();
        assert!(matches!(&ended, CallError::Revoked(name) if name == "use_forever"), "{ended}");
        assert!(revoked.elapsed() >= Duration::from_millis(900), "{:?}", revoked.elapsed());
    });
    assert_eq!((server.threads_inside(), client.threads_inside()), (0, 0));
    // Nothing of either ends with it.
    let add = server.bind::<extern "C" fn(i64, i64) -> i64>("add").unwrap();
    assert_eq!(add.call(1, 2).unwrap(), 3);
    let through = client.bind::<extern "C" fn(i64, i64) -> i64>("use_add").unwrap();
    assert_eq!(through.call(1, 2).unwrap(), 3);
}

#[test]
fn an_exclusive_domain_takes_turns() {
    let options = DomainOptions::new().name("server").exclusive(None);
    let server = Guest::c(
        "static volatile long inside; long visit(long n) { if (inside) return -1; inside = 1; for (long i = 0; i < n; i++) __asm__ volatile(\"\"); inside = 0; return n; } long (*again)(long); long nest(long (*f)(long)) { return f(1); } void crash(void) { *(volatile char *)0 = 1; }",
    )
    .domain_with(options);
    let visit = server.bind::<extern "C" fn(i64) -> i64>("visit").unwrap();
    let crash = server.bind::<extern "C" fn()>("crash").unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for round in 0..200 {
                    assert_eq!(visit.call(2000).unwrap(), 2000);
                    if round % 50 == 0 {
                        crash.call().unwrap_err();
                    }
                }
            });
        }
    });
    let visit_again = visit.clone();
    let again = HostFunction::new(move |_: &Domain, n: i64| match visit_again.call(n) {
        Err(CallError::Deadlock(_)) => 99_i64,
        _ => 0,
    });
    let again = server.callback(again).unwrap();
    let nest = server.bind::<extern "C" fn(Pointer<u8>) -> i64>("nest").unwrap();
    assert_eq!(nest.call(again.pointer()).unwrap(), 99);
}

type Nothing = extern "C" fn() -> i64;

/// A domain that lets one thread in at a time, for which others do not wait long; a function that never returns, and one that does.
fn exclusive_server() -> (Domain, Function<Nothing>, Function<Nothing>) {
    let options = DomainOptions::new().exclusive(Duration::from_millis(10));
    let server =
        Guest::c("long forever(void) { for (;;) __asm__ volatile(\"\"); } long one(void) { return 1; }")
            .domain_with(options);
    let forever = server.bind("forever").unwrap();
    let one = server.bind("one").unwrap();
    (server, forever, one)
}

#[test]
fn an_exclusive_domain_that_stays_busy_refuses() {
    let (server, forever, one) = exclusive_server();
    let ready = Barrier::new(2);
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            // What a thread's first call sets up is done: the next call is the only one.
            assert_eq!(one.call().unwrap(), 1);
            ready.wait();
            forever.call()
        });
        ready.wait();
        while server.threads_inside() == 0 {
            std::thread::yield_now();
        }
        assert!(matches!(one.call().unwrap_err(), CallError::Busy(..)));
        server.kill();
        assert!(inside.join().expect("no panic").is_err());
    });
}

/// A thread that ends leaves a module's clean-up undone if the domain refuses it. The process goes on.
#[test]
fn a_thread_ends_while_a_domain_that_it_knows_is_busy() {
    let (server, forever, one) = exclusive_server();
    std::thread::scope(|scope| {
        let ending = scope.spawn(|| {
            assert_eq!(one.call().unwrap(), 1);
            let inside = scope.spawn(|| forever.call());
            while server.threads_inside() == 0 {
                std::thread::yield_now();
            }
            inside
        });
        let inside = ending.join().expect("no panic");
        server.kill();
        assert!(inside.join().expect("no panic").is_err());
    });
}

#[test]
fn two_exclusive_domains_do_not_lock_each_other_up() {
    let source = "long wait(long (*f)(void)) { return f(); } long leaf(void) { return 1; }";
    let one = Guest::c(source).domain_with(DomainOptions::new().name("one").exclusive(None));
    let two = Guest::c(source).domain_with(DomainOptions::new().name("two").exclusive(None));
    let barrier = std::sync::Arc::new(Barrier::new(2));
    let refusals = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for (own, other) in [(&one, &two), (&two, &one)] {
            let (barrier, refusals) = (barrier.clone(), &refusals);
            scope.spawn(move || {
                let leaf = other.bind::<extern "C" fn() -> i64>("leaf").unwrap();
                let meet = HostFunction::new(move |_: &Domain| {
                    barrier.wait();
                    i64::from(matches!(leaf.call(), Err(CallError::Deadlock(_))))
                });
                let meet = own.callback(meet).unwrap();
                let wait = own.bind::<extern "C" fn(Pointer<u8>) -> i64>("wait").unwrap();
                refusals.fetch_add(
                    wait.call(meet.pointer()).unwrap() as usize,
                    std::sync::atomic::Ordering::SeqCst,
                );
            });
        }
    });
    assert_eq!(refusals.into_inner(), 1, "one gives way, the other goes on");
}

/// A caller that was asked to look at its state while its callee ran, and goes on, finds its result.
#[test]
fn results_in_memory_come_back_whatever_is_pending() {
    const PROTOTYPE: &str = "struct { long v[5]; } slow(long)";
    let server = Guest::c(
        "struct big { long v[5]; };
         struct big slow(long seed) {
             struct big b;
             for (int i = 0; i < 5; i++) b.v[i] = seed * i;
             for (int i = 0; i < 20000; i++) __asm__ volatile(\"\");
             return b;
         }",
    )
    .domain();
    let client = Guest::c(
        "struct big { long v[5]; };
         struct big slow(long);
         long use_slow(long seed) {
             struct big b;
             for (int i = 0; i < 5; i++) b.v[i] = -1;
             b = slow(seed);
             for (int i = 0; i < 5; i++) if (b.v[i] != seed * i) return -1;
             return seed;
         }",
    )
    .gate(PROTOTYPE)
    .domain();
    client.link("slow", &server, PROTOTYPE, Policy::INTEGRITY, OnFailure::Propagate).expect("slow is linked");
    let others: Vec<_> = (0..40).map(|_| Guest::c("long one(void) { return 1; }").domain()).collect();
    let use_slow = client.bind::<extern "C" fn(i64) -> i64>("use_slow").unwrap();
    let ended = std::sync::atomic::AtomicBool::new(false);
    let started = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(use_slow.call(1).unwrap(), 1);
            started.wait();
            let mut seed = 2;
            while !ended.load(std::sync::atomic::Ordering::Acquire) {
                assert_eq!(use_slow.call(seed).unwrap(), seed);
                seed += 1;
            }
        });
        started.wait();
        // Each end of a domain has all threads look.
        others.iter().for_each(Domain::kill);
        while others.iter().any(|domain| domain.threads_inside() > 0) {
            std::thread::yield_now();
        }
        ended.store(true, std::sync::atomic::Ordering::Release);
    });
}
