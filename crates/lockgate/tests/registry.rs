//! The registry: names, versions, principals, revocation, restarts, what other processes see.

use crate::common::{Guest, in_time, processor_time, started, watchdog};
use lockgate::registry::{ObserveError, Observer, observe};
use lockgate::{
    Allow, CallError, Domain, DomainOptions, Dynamic, Export, FaultKind, HostFunction, OnFailure, Policy,
    Pool, Principal, Rebind, Registry, RegistryError, Request, Revoke, Token, Value, Version, Workers,
    take_call_error,
};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

type Long = extern "C" fn(i64) -> i64;
type Nothing = extern "C" fn() -> i64;

const SERVER: &str = r#"
#include <semaphore.h>
#include <time.h>
static long calls;
static volatile long runs;
long increment(long x) { return x + 1; }
long count(long by) { return calls += by; }
long forever(void) { for (runs = 1;;) __asm__ volatile(""); }
long running(void) { return runs; }
/* The same, asleep. */
long asleep(void) { struct timespec minute = {60, 0}; runs = 1; return nanosleep(&minute, 0); }
long waits(void) { static sem_t never; runs = 1; return sem_wait(&never); }
long crash(long at) { *(volatile long *)at = 1; return 0; }
"#;
const SERVED: [&str; 7] = [
    "long increment(long)",
    "long count(long)",
    "long forever(void)",
    "long running(void)",
    "long asleep(void)",
    "long waits(void)",
    "long crash(long)",
];

const V1: Version = Version::new(1, 0);

fn server(name: &str) -> Domain {
    let guest = SERVED.iter().fold(Guest::c(SERVER), |guest, prototype| guest.export(prototype));
    Domain::new(&guest.module(), DomainOptions::new().name(name)).expect("a domain")
}

fn everyone(name: &str) -> Export {
    Export::new(name, V1).allow(Allow::Everyone)
}

/// A registry with everything that the server has.
fn registry() -> Registry {
    let registry = Registry::new();
    let server = server("server");
    for name in ["increment", "count", "forever", "crash"] {
        registry.export(&server, everyone(name)).expect(name);
    }
    registry
}

fn bind(registry: &Registry, name: &str) -> Result<lockgate::Function<Long>, RegistryError> {
    registry.bind::<Long>(&Principal::nobody(), &Request::new(name, V1))
}

/// A domain whose imports come from the registry.
fn client(registry: &Registry, name: &str) -> Domain {
    let guest = Guest::c(
        "long increment(long), crash(long), count(long); long use_increment(long x) { return increment(x) * 10; }
         long use_crash(long x) { return crash(x) + 1; } long use_count(long x) { return count(x); }",
    );
    let guest = ["increment", "crash", "count"]
        .iter()
        .fold(guest, |guest, import| guest.gate(&format!("long {import}(long)")))
        .export("long use_increment(long)");
    let options = DomainOptions::new().name(name).registry(registry, Principal::domain(name));
    Domain::new(&guest.module(), options).expect("a domain")
}

#[test]
fn a_name_leads_to_a_function() {
    let registry = registry();
    assert_eq!(bind(&registry, "increment").unwrap().call(41).unwrap(), 42);
    let dynamic = registry.bind_dynamic(&Principal::nobody(), &Request::newest("increment")).unwrap();
    assert_eq!(dynamic.call(&[lockgate::Value::Signed(1)]).unwrap(), lockgate::Value::Signed(2));
    let other = Registry::new();
    assert!(matches!(bind(&other, "increment"), Err(RegistryError::Unknown { .. })), "registries are apart");
    assert_eq!(registry.names().len(), 4);
}

/// Another domain does not get a name by a newer version, or an older one; when it is free again, it does.
#[test]
fn a_name_stays_its_first_exporters_in_all_versions() {
    let registry = registry();
    let stranger = server("stranger");
    let newer = || Export::new("increment", Version::new(9, 0)).allow(Allow::Everyone);
    for _ in 0..2 {
        let taken = registry.export(&stranger, newer());
        assert!(matches!(&taken, Err(RegistryError::Taken { .. })), "{taken:?}");
    }
    registry.unexport("increment").unwrap();
    registry.export(&stranger, newer()).unwrap();
}

#[test]
fn what_cannot_be_bound_says_why() {
    let registry = registry();
    let server = server("another");
    let token = Token::new().unwrap();
    let secret = Export::new("secret", Version::new(2, 3)).of("increment");
    registry.export(&server, secret.allow(Allow::Token(token.clone()))).unwrap();
    let holder = Principal::nobody().with(&token);
    let forger = Principal::nobody().with(&Token::new().unwrap());
    let error = |principal: &Principal, request: &Request| {
        registry.bind::<Long>(principal, request).map(|_| ()).unwrap_err().to_string()
    };
    let nobody = Principal::nobody();
    let cases = [
        (error(&nobody, &Request::new("incremend", V1)), "did you mean \"increment\"?"),
        (error(&nobody, &Request::new("secret", Version::new(2, 0))), "nobody may not bind secret"),
        (error(&forger, &Request::new("secret", Version::new(2, 0))), "may not bind secret"),
        (error(&Principal::user(0), &Request::newest("secret")), "user 0 may not bind secret"),
        (
            error(&holder, &Request::new("secret", Version::new(2, 4))),
            "in version 2.3, not in one that serves 2.4",
        ),
        (error(&holder, &Request::new("secret", Version::new(3, 0))), "not in one that serves 3.0"),
        (error(&nobody, &Request::new("forever", V1)), "0 parameters against 1"),
    ];
    for (error, expected) in cases {
        assert!(error.contains(expected), "{error} does not say {expected}");
    }
    // A name that the client may not bind is not suggested to it.
    assert!(!error(&nobody, &Request::newest("secred")).contains("mean"));
    assert!(error(&holder, &Request::newest("secred")).contains("mean \"secret\""));
    assert_eq!(
        registry.bind::<Long>(&holder, &Request::new("secret", Version::new(2, 1))).unwrap().call(1).unwrap(),
        2
    );

    let taken = registry.export(&server, everyone("secret").of("increment"));
    assert!(taken.is_ok(), "another major version: {taken:?}");
    let again = Export::new("secret", Version::new(2, 9)).of("increment");
    assert!(matches!(registry.export(&server, again), Err(RegistryError::Taken { .. })));
    let namesake = self::server("another");
    let taken = registry.export(&namesake, everyone("fresh").of("increment"));
    assert!(matches!(taken, Err(RegistryError::DomainTaken(_))), "{taken:?}");
    let missing = registry.export(&server, everyone("increment2")).unwrap_err();
    assert!(missing.to_string().contains("mean \"increment\""), "{missing}");
    assert!(matches!(registry.unexport("nothing"), Err(RegistryError::Unknown { .. })));
    assert!(matches!(registry.remove("nobody"), Err(RegistryError::UnknownDomain(_))));
    assert!(matches!(registry.restart("nobody"), Err(RegistryError::UnknownDomain(_))));
    let silent = Guest::c("long quiet(void) { return 1; }").domain();
    assert!(matches!(registry.export(&silent, everyone("quiet")), Err(RegistryError::NoSignature { .. })));
}

#[test]
fn waiting_ends_with_the_export_or_the_deadline() {
    let registry = Registry::new();
    let begun = Instant::now();
    let late = Request::new("increment", V1).wait(Duration::from_millis(20));
    let error = registry.bind::<Long>(&Principal::nobody(), &late).unwrap_err();
    assert!(matches!(error, RegistryError::Late { .. }), "{error}");
    assert!(begun.elapsed() >= Duration::from_millis(20));
    let patient = Request::new("increment", V1).wait(Duration::from_secs(60));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| registry.bind::<Long>(&Principal::nobody(), &patient));
        registry.export(&server("server"), everyone("increment")).unwrap();
        assert_eq!(waiting.join().unwrap().unwrap().call(1).unwrap(), 2);
    });
}

#[test]
fn imports_are_found_at_their_first_call() {
    let registry = Registry::new();
    let client = client(&registry, "client");
    let increment = client.bind::<Long>("use_increment").unwrap();
    for _ in 0..2 {
        let error = increment.call(1).unwrap_err();
        let CallError::Import { domain, import, source } = &error else { panic!("{error}") };
        assert_eq!((domain.as_str(), import.as_str()), ("client", "increment"));
        assert!(matches!(**source, RegistryError::Unknown { .. }), "{source}");
    }
    let server = server("server");
    registry.export(&server, Export::new("increment", V1).allow(Allow::Domain("client".to_owned()))).unwrap();
    assert_eq!(increment.call(1).unwrap(), 20, "the next call looks again");
    let stranger = self::client(&registry, "stranger");
    let error = stranger.bind::<Long>("use_increment").unwrap().call(1).unwrap_err();
    let CallError::Import { source, .. } = &error else { panic!("{error}") };
    assert!(matches!(**source, RegistryError::Forbidden { .. }), "{source}");
}

#[test]
fn the_host_exports_to_domains() {
    let registry = Registry::new();
    registry.export_host(HostFunction::new(|_: &Domain, x: i64| x + 100), everyone("increment")).unwrap();
    let wrong = HostFunction::new(|_: &Domain, x: f64| x);
    registry.export_host(wrong, everyone("count")).unwrap();
    let client = client(&registry, "client");
    let increment = client.bind::<Long>("use_increment").unwrap();
    assert_eq!(increment.call(1).unwrap(), 1010);
    let error = client.bind::<Long>("use_count").unwrap().call(1).unwrap_err();
    let said = "the module has `int64_t count(int64_t)`, the host asks for `double count(double)`";
    assert!(error.to_string().contains(said), "{error}");
    assert!(matches!(bind(&registry, "increment"), Err(RegistryError::HostFunction(_))));
    registry.revoke("increment", Revoke::Finish).unwrap();
    let error = increment.call(1).unwrap_err();
    assert!(matches!(&error, CallError::Revoked(name) if name == "increment"), "{error}");
}

#[test]
fn unexport_ends_binding_and_revoke_ends_bindings() {
    let registry = registry();
    let increment = bind(&registry, "increment").unwrap();
    registry.unexport("increment").unwrap();
    assert!(matches!(bind(&registry, "increment"), Err(RegistryError::Unknown { .. })));
    assert_eq!(increment.call(1).unwrap(), 2);
    let count = bind(&registry, "count").unwrap();
    let client = client(&registry, "client");
    registry
        .link(
            &client,
            "count",
            &Principal::nobody(),
            &Request::newest("count").on_failure(OnFailure::Return(7)),
        )
        .unwrap();
    let through = client.bind::<Long>("use_count").unwrap();
    assert_eq!((count.call(1).unwrap(), through.call(1).unwrap()), (1, 2));
    registry.revoke("count", Revoke::Finish).unwrap();
    let error = count.call(1).unwrap_err();
    assert!(matches!(&error, CallError::Revoked(name) if name == "count"), "{error}");
    assert_eq!(through.call(1).unwrap(), 7);
    // Other entries of the same domain are not touched.
    assert!(bind(&registry, "crash").unwrap().call(0).unwrap_err().fault().is_some());
}

/// A function of the host's has two names, and an import is linked to the one, then to the other. Red if the first name takes it away.
#[test]
fn a_name_takes_back_what_it_gave_last() {
    let registry = Registry::new();
    let function = HostFunction::new(|_: &Domain, x: i64| x + 1);
    for name in ["ask", "ask.again"] {
        registry.export_host(function.clone(), everyone(name)).unwrap();
    }
    let client =
        Guest::c("long ask(long); long use(long x) { return ask(x); }").gate("long ask(long)").domain();
    let call = || client.bind::<Long>("use").unwrap().call(1);
    for name in ["ask", "ask.again"] {
        registry.link(&client, "ask", &Principal::nobody(), &Request::newest(name)).unwrap();
        assert_eq!(call().unwrap(), 2);
    }
    registry.revoke("ask", Revoke::Finish).unwrap();
    assert_eq!(call().unwrap(), 2);
    registry.revoke("ask.again", Revoke::Finish).unwrap();
    assert!(matches!(call(), Err(CallError::Revoked(_))));
}

/// A name takes back what it gave, and not what another name gives at the same time: these may be one function.
#[test]
fn a_name_takes_back_nothing_that_another_gives_meanwhile() {
    const ROUNDS: usize = 20;
    let _watchdog = watchdog("a name that is taken back while another is linked");
    let registry = Registry::new();
    let function = HostFunction::new(|_: &Domain, x: i64| x + 1);
    registry.export_host(function.clone(), everyone("ask.again")).unwrap();
    let guest = Guest::c("long ask(long); long use(long x) { return ask(x); }").gate("long ask(long)");
    let module = guest.module();
    // The last one is that of the test: a revocation reaches it when it has been at the others.
    let clients: Vec<_> = (0..100).map(|_| Domain::new(&module, DomainOptions::new()).unwrap()).collect();
    let client = &clients[clients.len() - 1];
    let link = |client: &Domain, name: &str| {
        registry.link(client, "ask", &Principal::nobody(), &Request::newest(name)).unwrap();
    };
    let call = client.bind::<Long>("use").unwrap();
    for round in 0..ROUNDS {
        registry.export_host(function.clone(), everyone("ask")).unwrap();
        clients.iter().for_each(|client| link(client, "ask"));
        std::thread::scope(|scope| {
            let revoking = scope.spawn(|| registry.revoke("ask", Revoke::Finish).unwrap());
            while registry.names().len() > 1 {
                std::thread::yield_now();
            }
            link(client, "ask.again");
            revoking.join().unwrap();
        });
        assert_eq!(call.call(1).unwrap(), 2, "round {round}");
    }
    registry.revoke("ask.again", Revoke::Finish).unwrap();
    assert!(matches!(call.call(1), Err(CallError::Revoked(_))));
}

/// What the host links while a thread looks for the same import stays: the first call finds out where it leads, and does not say so.
#[test]
fn a_first_call_does_not_undo_a_link() {
    let _watchdog = watchdog("a first call that waits for a registry in demand");
    let (registry, server) = (registry(), server("linked"));
    // With so much to copy the registry is in use all the time, and a first call waits for it.
    for number in 0..100 {
        let function = HostFunction::new(|_: &Domain, x: i64| x);
        registry.export_host(function, everyone(&format!("{number}{}", "0".repeat(200_000)))).unwrap();
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let over = Over(&is_over);
        let others = scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                assert_eq!(registry.names().len(), 104);
            }
        });
        for round in 0..30 {
            let domain = client(&registry, "first");
            let ask = domain.bind::<Long>("use_count").unwrap();
            let first = scope.spawn(move || ask.call(round).unwrap());
            while domain.threads_inside() == 0 && !first.is_finished() {
                std::thread::yield_now();
            }
            let prototype = "long increment(long)";
            domain.link("count", &server, prototype, Policy::default(), OnFailure::default()).unwrap();
            first.join().unwrap();
            let ask = domain.bind::<Long>("use_count").unwrap();
            assert_eq!(ask.call(round).unwrap(), round + 1, "round {round}");
        }
        drop(over);
        others.join().unwrap();
    });
}

/// Ends what goes on until then, also when what follows fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Taking a name back does not make who has it forgotten: a later revocation reaches them, whether the name is exported again or not, and so does a
/// restart. Red if that goes with the export.
#[test]
fn who_has_a_name_that_was_taken_back_is_not_forgotten() {
    let registry = Registry::new();
    let server = server("server");
    let export = || registry.export(&server, everyone("increment")).unwrap();
    let ask = HostFunction::new(|_: &Domain, x: i64| x + 100);
    let client = Guest::c("long increment(long); long use(long x) { return increment(x); }");
    let client = client.gate("long increment(long)").domain();
    let through = client.bind::<Long>("use").unwrap();
    // Functions of the host's, too.
    registry.export_host(ask, everyone("increment")).unwrap();
    registry.link(&client, "increment", &Principal::nobody(), &Request::newest("increment")).unwrap();
    registry.unexport("increment").unwrap();
    assert_eq!(through.call(1).unwrap(), 101);
    registry.revoke("increment", Revoke::Finish).unwrap();
    assert!(matches!(through.call(1), Err(CallError::Revoked(_))));
    export();
    let first = bind(&registry, "increment").unwrap();
    registry.unexport("increment").unwrap();
    export();
    let second = bind(&registry, "increment").unwrap();
    registry.revoke("increment", Revoke::Stop).unwrap();
    for (which, bound) in [("before", &first), ("after", &second)] {
        assert!(matches!(bound.call(1), Err(CallError::Revoked(_))), "{which}");
    }
    assert!(matches!(registry.revoke("increment", Revoke::Stop), Err(RegistryError::Unknown { .. })));
    export();
    let third = bind(&registry, "increment").unwrap();
    registry.unexport("increment").unwrap();
    registry.revoke("increment", Revoke::Stop).unwrap();
    assert!(matches!(third.call(1), Err(CallError::Revoked(_))));
    // Restarts.
    registry.export(&server, everyone("count")).unwrap();
    export();
    let request = |rebind| Request::new("increment", V1).rebind(rebind);
    let [goes_on, ends] = [Rebind::Yes, Rebind::No].map(|rebind| {
        let bound = registry.bind::<Long>(&Principal::nobody(), &request(rebind));
        bound.unwrap()
    });
    registry.unexport("increment").unwrap();
    registry.restart("server").unwrap();
    assert_eq!(goes_on.call(1).unwrap(), 2);
    assert!(matches!(ends.call(1), Err(CallError::Restarted(_))));
    registry.restart("server").unwrap();
    assert_eq!(goes_on.call(1).unwrap(), 2);
    registry.remove("server").unwrap();
    assert!(matches!(goes_on.call(1), Err(CallError::Revoked(_))));
    // Nobody has it any more.
    drop((first, second, third, goes_on, ends));
    assert!(matches!(registry.revoke("increment", Revoke::Stop), Err(RegistryError::Unknown { .. })));
}

#[test]
fn revocation_reaches_threads_that_call_all_the_time() {
    let _watchdog = crate::common::watchdog("calls that go on after the revocation");
    for calls in [Revoke::Finish, Revoke::Stop] {
        let registry = registry();
        let client = client(&registry, "client");
        let (begun, wrong) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let revoked = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (registry, client, begun, wrong, revoked) =
                    (&registry, &client, &begun, &wrong, &revoked);
                scope.spawn(move || {
                    let direct = bind(registry, "increment").unwrap();
                    let through = client.bind::<Long>("use_increment").unwrap();
                    for round in 0_i64.. {
                        let after = revoked.load(Ordering::SeqCst);
                        let (result, expected) = match thread % 2 {
                            0 => (direct.call(round), round + 1),
                            _ => (through.call(round), (round + 1) * 10),
                        };
                        match result {
                            Ok(value) if value == expected && !after => {}
                            Ok(-10) if thread % 2 == 1 => return,
                            Err(CallError::Revoked(name)) if name == "increment" => return,
                            other => {
                                eprintln!("{thread} {round} {after}: {other:?}");
                                wrong.fetch_add(1, Ordering::SeqCst);
                                return;
                            }
                        }
                        if round == 1000 {
                            begun.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                });
            }
            while begun.load(Ordering::SeqCst) < 4 {
                std::thread::yield_now();
            }
            registry.revoke("increment", calls).unwrap();
            revoked.store(true, Ordering::SeqCst);
        });
        assert_eq!(wrong.into_inner(), 0, "{calls:?}");
    }
}

#[test]
fn calls_in_progress_end_when_asked() {
    let _watchdog = crate::common::watchdog("a call that goes on after the revocation");
    ["forever", "asleep", "waits"].into_iter().for_each(ends_when_asked);
}

fn ends_when_asked(name: &str) {
    let registry = Registry::new();
    let server = server("server");
    registry.export(&server, everyone(name)).unwrap();
    let forever = registry.bind::<Nothing>(&Principal::nobody(), &Request::newest(name)).unwrap();
    let count = server.bind::<Long>("count").unwrap();
    let running = server.bind::<Nothing>("running").unwrap();
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            let result = forever.call();
            // The thread is as good as before.
            assert_eq!(count.call(1).unwrap(), 1);
            result
        });
        // (A call that is only about to begin would be refused, whatever is asked for.)
        while running.call().unwrap() == 0 {
            std::thread::yield_now();
        }
        registry.revoke(name, Revoke::Stop).unwrap();
        let error = inside.join().unwrap().unwrap_err();
        assert!(matches!(&error, CallError::Revoked(revoked) if revoked == name), "{error}");
    });
}

#[test]
fn a_restarted_domain_serves_those_that_rebind() {
    let registry = registry();
    let nobody = Principal::nobody();
    let rebinds = |rebind| Request::newest("count").rebind(rebind);
    let rebinding = registry.bind::<Long>(&nobody, &rebinds(Rebind::Yes)).unwrap();
    let dead = registry.bind::<Long>(&nobody, &rebinds(Rebind::No)).unwrap();
    let crash = registry.bind::<Long>(&nobody, &Request::newest("crash").rebind(Rebind::Yes)).unwrap();
    let client = client(&registry, "client");
    registry.link(&client, "count", &nobody, &rebinds(Rebind::Yes)).unwrap();
    let through = client.bind::<Long>("use_count").unwrap();
    assert_eq!([rebinding.call(5).unwrap(), dead.call(1).unwrap(), through.call(1).unwrap()], [5, 6, 7]);
    for round in 0..3 {
        let before = crash.call(16).unwrap_err();
        let new = registry.restart("server").unwrap();
        // A pristine image: nothing is counted yet.
        assert_eq!([rebinding.call(5).unwrap(), through.call(1).unwrap()], [5, 6], "round {round}");
        let error = dead.call(1).unwrap_err();
        assert!(matches!(&error, CallError::Restarted(name) if name == "server"), "{error}");
        // The report is about the instance that ran.
        let fault = crash.call(16).unwrap_err();
        let (before, fault) = (before.fault().unwrap(), fault.fault().unwrap());
        assert_eq!((fault.address(), fault.instruction()), (before.address(), before.instruction()));
        assert_eq!(fault.address(), Some(16), "{fault}");
        assert_eq!(new.threads_inside(), 0);
    }
    let error = registry.restart("server").unwrap_err();
    assert!(matches!(error, RegistryError::TooOften { most: 3, .. }), "{error}");
    registry.limit_restarts("server", 4, Duration::from_secs(60)).unwrap();
    registry.restart("server").unwrap();
    assert_eq!(rebinding.call(5).unwrap(), 5);
    registry.revoke("count", Revoke::Finish).unwrap();
    assert!(matches!(rebinding.call(5).unwrap_err(), CallError::Revoked(_)), "through every instance");
}

/// A server outlives its names after a restart, too. Red if what a restart has started is taken for what is starting still.
#[test]
fn a_restarted_server_outlives_its_last_name() {
    let registry = registry();
    let nobody = Principal::nobody();
    let new = registry.restart("server").unwrap();
    let increment = registry.bind::<Long>(&nobody, &Request::newest("increment")).unwrap();
    for (name, _) in registry.names() {
        registry.unexport(&name).unwrap();
    }
    assert_eq!(increment.call(1).unwrap(), 2);
    assert_eq!(new.bind::<Long>("increment").unwrap().call(1).unwrap(), 2);
}

/// A way to call one function.
type Call<'a> = &'a dyn Fn(i64) -> Result<i64, CallError>;

/// The server, `f` of it as the host has it, and a domain that has nothing to do with them.
fn rebound() -> (Registry, Dynamic, Domain) {
    let source = "long f(long x) {
        if (x == 1) *(volatile long *)16 = 1;
        if (x == 2) for (;;) __asm__ volatile(\"\");
        return x + 1; }";
    let module = Guest::c(source).export("long f(long)").module();
    // (A restart must not take it, on a busy machine either.)
    let options = DomainOptions::new().name("server").time_limit(Duration::from_millis(100));
    let server = started(&module, options);
    let registry = Registry::new();
    registry.export(&server, everyone("f")).unwrap();
    let dynamic = registry.bind_dynamic(&Principal::nobody(), &Request::new("f", V1).rebind(Rebind::Yes));
    (registry, dynamic.unwrap(), Domain::new(&module, DomainOptions::new().name("other")).unwrap())
}

fn by_pointer(pointer: *const (), x: i64) -> Result<i64, CallError> {
    let result = crate::common::host_sys::call_by_pointer(pointer, x);
    take_call_error().map_or(Ok(result), Err)
}

fn integer(value: Value) -> i64 {
    if let Value::Signed(number) = value { number } else { panic!("{value}") }
}

/// By whichever way a call comes to the instance that serves now: who has made it is told how it ended, and can call others afterwards.
#[test]
fn callers_are_told_of_failures_in_every_instance() {
    let workers = Workers::new(1, 2).unwrap();
    for (early, restarts) in [(true, 0), (true, 1), (false, 1), (true, 2), (false, 2)] {
        let (registry, dynamic, other) = rebound();
        let request = Request::new("f", V1).rebind(Rebind::Yes);
        let typed = registry.bind::<Long>(&Principal::nobody(), &request).unwrap();
        let give = || [dynamic.as_ptr(), typed.as_ptr()];
        let given = early.then(give);
        let mut served = None;
        for _ in 0..restarts {
            served = Some(registry.restart("server").unwrap());
        }
        let given = given.unwrap_or_else(give);
        let others = other.bind::<Long>("f").unwrap();
        let ways: [(&str, Call<'_>); 6] = [
            ("a pointer", &|x| by_pointer(given[0], x)),
            ("a typed function's pointer", &|x| by_pointer(given[1], x)),
            ("a value", &|x| dynamic.call(&[Value::Signed(x)]).map(integer)),
            ("a typed function", &|x| typed.call(x)),
            ("a worker", &|x| dynamic.call_async(&workers, vec![Value::Signed(x)])?.wait().map(integer)),
            ("a typed function's worker", &|x| typed.call_async(&workers, x)?.wait()),
        ];
        let ended = |way, x| {
            let (way, call): (&str, Call<'_>) = way;
            let what = format!("{way}, asked for early: {early}, after {restarts} restarts: f({x})");
            // (2 is what uses its time up.)
            let called = if x == 2 { call(x) } else { in_time(|| call(x)) };
            let error = called.expect_err(&what);
            assert_eq!(others.call(5).unwrap_or_else(|error| panic!("{what}: {error}")), 6);
            other.alloc::<i64>(1).unwrap_or_else(|error| panic!("{what}: {error}"));
            (what, error)
        };
        for way in ways {
            let (what, error) = ended(way, 1);
            assert_eq!(error.fault().and_then(|fault| fault.address()), Some(16), "{what}: {error}");
            let (what, error) = ended(way, 2);
            let kind = error.fault().map(|fault| fault.kind());
            assert!(matches!(kind, Some(FaultKind::TimeOut)), "{what}: {error}");
            assert_eq!(in_time(|| way.1(7)).unwrap(), 8, "{what}");
        }
        for way in ways.iter().filter(|_| served.is_some()) {
            served.as_ref().unwrap().kill();
            let (what, error) = ended(*way, 7);
            assert!(matches!(error, CallError::Killed(_)), "{what}: {error}");
        }
    }
}

/// A pointer to the function of one instance tells why a call failed, whether or not others' had been given out, or are gone.
#[test]
fn a_pointer_outlives_those_to_earlier_instances() {
    for early in [true, false] {
        let (registry, first, _other) = rebound();
        if early {
            first.as_ptr();
        }
        registry.restart("server").unwrap();
        let next = first.newest().unwrap();
        let pointer = next.as_ptr();
        let error = in_time(|| first.call(&[Value::Signed(1)])).expect_err("the same instance");
        assert_eq!(error.fault().and_then(|fault| fault.address()), Some(16), "{error}");
        drop(first);
        let error = in_time(|| by_pointer(pointer, 1)).unwrap_err();
        assert_eq!(error.fault().and_then(|fault| fault.address()), Some(16), "{error}");
    }
}

/// The calls of a domain that wait for workers are counted together, from before a restart or not.
#[test]
fn calls_by_rebound_functions_wait_in_the_queue_of_their_instance() {
    let (registry, rebound, _other) = rebound();
    let new = registry.restart("server").unwrap();
    let workers = Workers::new(1, 1).unwrap();
    let (begun, begins) = std::sync::mpsc::channel();
    let (goes_on, waits) = std::sync::mpsc::channel::<()>();
    let busy = new.spawn_call(&workers, move || {
        begun.send(()).unwrap();
        Ok(waits.recv().is_err())
    });
    begins.recv().unwrap();
    let waiting = rebound.call_async(&workers, vec![Value::Signed(7)]).unwrap();
    let full = new.bind::<Long>("f").unwrap().call_async(&workers, 7);
    assert!(matches!(full, Err(CallError::QueueFull { limit: 1, .. })), "{full:?}");
    drop(goes_on);
    assert!(busy.unwrap().wait().unwrap());
    assert_eq!(waiting.wait().unwrap(), Value::Signed(8));
}

/// Arguments that are made for one instance must not enter the next one: who asks for its function gets that, and no call goes there by itself.
#[test]
fn a_call_by_a_handle_of_one_instance_enters_no_other() {
    let registry = registry();
    registry.limit_restarts("server", 100, Duration::from_secs(1)).unwrap();
    let request = Request::newest("count").rebind(Rebind::OnRequest);
    let signature = "long count(long)".parse().unwrap();
    let first = registry.bind_signature(&Principal::nobody(), &request, &signature).unwrap();
    let count = |function: &Dynamic| function.call(&[Value::Signed(1)]);
    assert_eq!(count(&first).unwrap(), Value::Signed(1));
    assert!(first.newest().is_none());
    let mut latest = first.clone();
    for _ in 0..3 {
        let new = registry.restart("server").unwrap();
        let next = first.newest().unwrap();
        for old in [&first, &latest] {
            assert!(matches!(count(old), Err(CallError::Restarted(_))));
            assert_ne!(old.base(), new.base());
        }
        assert_eq!((count(&next).unwrap(), next.base()), (Value::Signed(1), new.base()));
        latest = next;
    }
    registry.revoke("count", Revoke::Finish).unwrap();
    assert!(matches!(count(&first.newest().unwrap()), Err(CallError::Revoked(_))));
    assert!(matches!(count(&first), Err(CallError::Restarted(_))));
}

#[test]
fn restarts_under_fire_answer_right_or_fail() {
    let _watchdog = crate::common::watchdog("calls that do not rebind");
    let registry = registry();
    registry.limit_restarts("server", 1000, Duration::from_secs(1)).unwrap();
    let done = AtomicBool::new(false);
    let answered = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let request = Request::newest("increment").rebind(Rebind::Yes);
                let increment = registry.bind::<Long>(&Principal::nobody(), &request).unwrap();
                let mut round = 0;
                while !done.load(Ordering::SeqCst) {
                    round += 1;
                    match increment.call(round) {
                        Ok(value) => {
                            assert_eq!(value, round + 1);
                            answered.fetch_add(1, Ordering::SeqCst);
                        }
                        Err(CallError::Killed(_)) => {}
                        Err(error) => assert!(error.fault().is_some(), "{error}"),
                    }
                }
                assert_eq!(increment.call(1).unwrap(), 2, "rebound at last");
            });
        }
        for _ in 0..20 {
            let before = answered.load(Ordering::SeqCst);
            while answered.load(Ordering::SeqCst) < before + 100 {
                std::thread::yield_now();
            }
            registry.restart("server").unwrap();
        }
        done.store(true, Ordering::SeqCst);
    });
}

#[test]
fn every_thread_in_a_crashed_server_comes_back_to_its_caller() {
    let _watchdog = crate::common::watchdog("calls that go on in a killed domain");
    let registry = Registry::new();
    let server = server("server");
    registry.export(&server, everyone("forever")).unwrap();
    let guest = Guest::c("long forever(void); long middle(void) { return forever() + 1; }")
        .gate("long forever(void)");
    let options = DomainOptions::new().name("middle").registry(&registry, Principal::nobody());
    let middle = Domain::new(&guest.export("long middle(void)").module(), options).unwrap();
    registry.export(&middle, everyone("middle")).unwrap();
    let guest =
        Guest::c("long middle(void); long outer(void) { return middle() * 2; }").gate("long middle(void)");
    let options = DomainOptions::new().name("outer").registry(&registry, Principal::nobody());
    let outer = Domain::new(&guest.module(), options).unwrap();
    let outer_function = outer.bind::<Nothing>("outer").unwrap();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| outer_function.call())).collect();
        while server.threads_inside() < 3 {
            std::thread::yield_now();
        }
        server.kill();
        for thread in threads {
            // The nearest living caller gets -1, adds one, and its caller goes on as usual.
            assert_eq!(thread.join().unwrap().unwrap(), 0);
        }
    });
    assert_eq!((middle.threads_inside(), outer.threads_inside()), (0, 0));
    registry.restart("server").unwrap();
}

#[test]
#[ignore = "looks at address space that other tests would use: for a process of its own, see below"]
fn domains_in_a_circle() {
    let base = || {
        let registry = Registry::new();
        let odd = Guest::c("long even(long n); long odd(long n) { return n ? even(n - 1) : 0; }")
            .gate("long even(long)");
        let even = Guest::c("long odd(long n); long even(long n) { return n ? odd(n - 1) : 1; }")
            .gate("long odd(long)");
        let options = |name: &str| DomainOptions::new().name(name).registry(&registry, Principal::nobody());
        let odd = Domain::new(&odd.export("long odd(long)").module(), options("odd")).unwrap();
        let even = Domain::new(&even.export("long even(long)").module(), options("even")).unwrap();
        registry.export(&odd, everyone("odd")).unwrap();
        registry.export(&even, everyone("even")).unwrap();
        let function = bind(&registry, "odd").unwrap();
        assert_eq!((function.call(7).unwrap(), function.call(8).unwrap()), (1, 0));
        let bases = [odd.base(), even.base()];
        drop((odd, even, function));
        registry.remove("odd").unwrap();
        registry.remove("even").unwrap();
        bases
    };
    let ends = Instant::now() + Duration::from_secs(30);
    let bases = base();
    let mapped = |base: u64| {
        crate::common::mappings(base, base + (8 << 30)).iter().any(crate::common::Mapping::accessible)
    };
    while bases.iter().any(|base| mapped(*base)) {
        assert!(Instant::now() < ends, "still mapped: {bases:x?}");
        std::thread::yield_now();
    }
}

#[test]
fn domains_that_call_each_other_go_when_removed() {
    let output = crate::common::in_child("registry::domains_in_a_circle");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "as above"]
fn domain_that_exports_where_it_imports() {
    let registry = Registry::new();
    let client = client(&registry, "client");
    let base = client.base();
    registry.export(&client, everyone("use_increment")).unwrap();
    drop(client);
    let late = Guest::c("long increment(long); long use(long x) { return increment(x); }")
        .gate("long increment(long)");
    let options = DomainOptions::new().registry(&registry, Principal::nobody());
    let late = Domain::new(&late.module(), options).unwrap();
    drop(registry);
    assert!(crate::common::mappings(base, base + (8 << 30)).iter().all(|mapping| !mapping.accessible()));
    let error = late.bind::<Long>("use").unwrap().call(1).unwrap_err();
    assert!(
        matches!(&error, CallError::Import { source, .. } if matches!(**source, RegistryError::Gone)),
        "{error}"
    );
}

#[test]
fn a_registry_goes_with_what_it_keeps() {
    let output = crate::common::in_child("registry::domain_that_exports_where_it_imports");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_closed_domain_is_closed_for_all_threads() {
    let domain = server("server");
    let other = server("other");
    let count = domain.bind::<Long>("count").unwrap();
    let elsewhere = other.bind::<Long>("count").unwrap();
    let (closed, ready) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
    std::thread::scope(|scope| {
        let user = scope.spawn(|| {
            count.call(1).unwrap();
            elsewhere.call(1).unwrap();
            ready.wait();
            closed.wait();
            // The first call afterwards goes to a living domain: that must not open the closed one.
            elsewhere.call(1).unwrap();
            count.call(1)
        });
        ready.wait();
        domain.close();
        closed.wait();
        let error = user.join().unwrap().unwrap_err();
        assert!(matches!(error, CallError::Killed(_)), "{error}");
    });
}

/// A thread's place in a domain outlives the close: bindings that are made later must not lead there.
#[test]
fn a_binding_made_too_late_is_closed() {
    let (domain, other) = (server("server"), server("other"));
    let elsewhere = other.bind::<Long>("count").unwrap();
    domain.bind::<Long>("count").unwrap().call(1).unwrap();
    domain.kill();
    let late = domain.bind::<Long>("count").unwrap();
    // The thread was told of the kill, and its next call looks for the reason: not this one's, then.
    elsewhere.call(1).unwrap();
    assert!(matches!(late.call(1), Err(CallError::Killed(_))));
}

/// The server's constructor asks for a restart while one is in progress.
#[test]
fn one_restart_at_a_time() {
    let _watchdog = crate::common::watchdog("restarts within restarts");
    let registry = Registry::new();
    let answers = Arc::new(Mutex::new(Vec::new()));
    let (weak, told) = (registry.clone(), answers.clone());
    let again = HostFunction::new(move |_: &Domain| {
        told.lock().unwrap().push(weak.restart("server").map(drop).map_err(|error| error.to_string()));
    });
    registry.export_host(again, everyone("again")).unwrap();
    let source = "void again(void); __attribute__((constructor)) static void begin(void) { again(); }
        long increment(long n) { return n + 1; }";
    let module = Guest::c(source).gate("void again(void)").export("long increment(long)").module();
    let options = DomainOptions::new().name("server").registry(&registry, Principal::domain("server"));
    registry.export(&Domain::new(&module, options).unwrap(), everyone("increment")).unwrap();
    registry.restart("server").unwrap();
    let answers = answers.lock().unwrap();
    let [Err(first), Err(second)] = &answers[..] else { panic!("{answers:?}") };
    assert!(first.contains("server"), "no such domain yet: {first}");
    assert!(second.contains("being restarted already"), "{second}");
    assert_eq!(bind(&registry, "increment").unwrap().call(1).unwrap(), 2);
}

/// While the new instance starts, which takes the registry's lock from nobody, its names may be taken back and given to somebody else.
#[test]
fn a_restart_puts_nothing_in_the_place_of_another() {
    let _watchdog = crate::common::watchdog("a domain removed while it is restarted");
    let registry = Registry::new();
    let other = Arc::new(server("server"));
    let rounds = AtomicUsize::new(0);
    let (inside, stranger) = (registry.clone(), other.clone());
    let begin = HostFunction::new(move |_: &Domain| {
        if rounds.fetch_add(1, Ordering::Relaxed) == 1 {
            inside.remove("server").unwrap();
            inside.export(&stranger, everyone("count")).unwrap();
        }
    });
    registry.export_host(begin, everyone("begun")).unwrap();
    let source = "void begun(void); __attribute__((constructor)) static void begin(void) { begun(); }
        long increment(long n) { return n + 1; }";
    let module = Guest::c(source).gate("void begun(void)").export("long increment(long)").module();
    let options = DomainOptions::new().name("server").registry(&registry, Principal::domain("server"));
    registry.export(&Domain::new(&module, options).unwrap(), everyone("increment")).unwrap();
    let error = registry.restart("server").unwrap_err();
    assert!(matches!(error, RegistryError::Removed(_)), "{error}");
    let names: Vec<String> = registry.names().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["begun", "count"], "nothing comes back");
    let count = bind(&registry, "count").unwrap();
    assert_eq!(count.call(5).unwrap(), 5, "the stranger serves what he exports");
    registry.remove("server").unwrap();
    assert!(
        count.call(1).is_err() && bind(&registry, "count").is_err(),
        "by his name he is found, and nobody else"
    );
}

/// What only a server's module says of its functions decides nothing about the memory of those who call it.
#[test]
fn a_servers_word_is_not_the_clients() {
    let source = "struct big { char bytes[64]; };
        struct big init(void) { struct big all = {\"MMMM\"}; return all; }
        long run(long a, long b, long c, long d, long e, long f, long g) { return a + g; }
        long small(long x) { return x; }";
    let server = Guest::c_with(source, &["-O2", "-g"]).domain();
    let registry = Registry::new();
    for name in ["init", "run", "small"] {
        registry.export(&server, everyone(name)).unwrap();
    }
    let said = "struct { char bytes[64]; } init(void)";
    registry.export(&server, everyone("said").of(said)).unwrap();
    let nobody = Principal::nobody();
    for name in ["init", "run"] {
        let error = registry.bind_dynamic(&nobody, &Request::newest(name)).map(|_| ()).unwrap_err();
        assert!(matches!(error, RegistryError::Bind(lockgate::BindError::NeedsPrototype { .. })), "{error}");
        assert!(error.to_string().contains("lg_registry_bind_as"), "{error}");
        // Who gives everything its room by what the server says may do so, and gets no function pointer.
        let described = registry.bind_described(&nobody, &Request::newest(name)).unwrap();
        let pointer = std::panic::AssertUnwindSafe(|| described.as_ptr());
        assert!(std::panic::catch_unwind(pointer).is_err());
    }
    assert!(registry.bind_dynamic(&nobody, &Request::newest("small")).is_ok());
    assert!(registry.bind_dynamic(&nobody, &Request::newest("said")).is_ok(), "the host says so");
    let signature = said.parse().unwrap();
    assert!(registry.bind_signature(&nobody, &Request::newest("init"), &signature).is_ok());
    // A domain whose module says nothing.
    let client = Guest::c("long small(long); long use(long x) { return small(x); }").gate("small").domain();
    let error = registry.link(&client, "small", &nobody, &Request::newest("small")).unwrap_err();
    assert!(matches!(error, RegistryError::NoSignature { .. }), "{error}");
    registry.export(&server, everyone("small.said").of("long small(long)")).unwrap();
    registry.link(&client, "small", &nobody, &Request::newest("small.said")).unwrap();
    assert_eq!(client.bind::<Long>("use").unwrap().call(7).unwrap(), 7);
}

/// A module may ask for a name of any length; others bind meanwhile.
#[test]
fn names_that_nobody_has_cost_no_time() {
    let registry = Registry::new();
    let server = server("server");
    for number in 0..500 {
        registry
            .export(&server, everyone(&format!("tenant.service.function.{number:05}")).of("count"))
            .unwrap();
    }
    let name = "a".repeat(100_000);
    let source = format!("void {name}(void); void go(void) {{ {name}(); }}");
    let guest = Guest::c(&source).gate(&format!("void {name}(void)"));
    let options = DomainOptions::new().name("hostile").registry(&registry, Principal::nobody());
    let hostile = Domain::new(&guest.module(), options).unwrap();
    let go = hostile.bind::<extern "C" fn()>("go").unwrap();
    // Comparing letter by letter, each with each, took four seconds of the processor's time. (That of the machine is others', too.)
    let begun = processor_time();
    assert!(matches!(go.call(), Err(CallError::Import { .. })));
    let took = processor_time() - begun;
    assert!(took < Duration::from_secs(1), "{took:?}");
}

#[test]
#[ignore = "the other process of the next test"]
fn process_to_look_at() {
    let registry = Registry::new();
    let server = server("server");
    registry.export(&server, everyone("increment").policy(Policy::MUTUAL_DISTRUST)).unwrap();
    registry
        .export(
            &server,
            Export::new("count", Version::new(3, 1)).allow(Allow::Domain("cli\u{1b}ent".to_owned())),
        )
        .unwrap();
    let host = || HostFunction::new(|_: &Domain, x: i64| x);
    for name in ["", "from\u{1b}host", "two\nlines"] {
        assert!(matches!(registry.export_host(host(), everyone(name)), Err(RegistryError::Name(_))));
    }
    registry.export_host(host(), everyone("from.host")).unwrap();
    let request = Request::newest("increment").policy(Policy::MUTUAL_TRUST.timed());
    let increment = registry.bind::<Long>(&Principal::user(7), &request).unwrap();
    for i in 0..1000 {
        increment.call(i).unwrap();
    }
    println!("\nready");
    std::io::stdin().lines().next();
}

#[test]
fn another_process_sees_names_bindings_and_counts() {
    assert!(matches!(observe(u32::MAX), Err(ObserveError::NoProcess(_))));
    let mut child = crate::common::own_test("registry::process_to_look_at")
        .args(["--ignored", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "ready"));
    let exports = observe(child.id()).unwrap();
    let names: Vec<_> =
        exports.iter().map(|e| (e.name.as_str(), e.version.as_str(), e.server.as_str())).collect();
    let expected = [
        ("count", "3.1", "domain server"),
        ("from.host", "1.0", "host"),
        ("increment", "1.0", "domain server"),
    ];
    assert_eq!(names, expected);
    assert_eq!((exports[0].allowed.as_str(), exports[0].bindings.len()), ("domain cli?ent", 0));
    assert_eq!(exports[2].policy, "mutual distrust");
    let [binding] = &exports[2].bindings[..] else { panic!("{exports:?}") };
    assert_eq!((binding.client.as_str(), binding.policy.as_str()), ("user 7", "mutual distrust, timed"));
    let counts = binding.counts.expect("counted");
    assert_eq!(counts.calls, 1000);
    let mean = counts.mean.expect("timed");
    assert!(mean > Duration::ZERO && mean < Duration::from_secs(1), "{mean:?}");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert!(matches!(observe(child.id()), Err(ObserveError::NoProcess(_))));
}

#[test]
#[ignore = "takes half of the places in the table: for a process of its own, see below"]
fn places_of_imports() {
    let registry = registry();
    // As many as a module may have, but for some.
    let names: Vec<String> = (0..480).map(|number| format!("host_{number}")).collect();
    for name in &names {
        let function = HostFunction::new(|_: &Domain, x: i64| x);
        registry.export_host(function, everyone(name)).unwrap();
    }
    let declared: String = names.iter().map(|name| format!("long {name}(long);\n")).collect();
    let calls: String = names.iter().map(|name| format!(" + {name}(x)")).collect();
    let source = format!("{declared} long all(long x) {{ return 0{calls}; }}");
    let gates = names.iter().map(|name| format!("long {name}(long)"));
    let module = gates.fold(Guest::c(&source), |guest, gate| guest.gate(&gate)).module();
    let options = || DomainOptions::new().registry(&registry, Principal::nobody());
    let clients: Vec<Domain> = (0..20).map(|_| Domain::new(&module, options()).unwrap()).collect();
    for client in &clients {
        assert_eq!(client.bind::<Long>("all").unwrap().call(1).unwrap(), 480);
    }
    // There are places for others, and none of those imports is refused, though not all are listed.
    let kept: Vec<_> = (0..1000).map(|_| bind(&registry, "increment").expect("a place")).collect();
    registry.export(&server("other"), everyone("other.count").of("long count(long)")).expect("a place");
    drop(kept);
}

/// How much hostile modules import is no matter to those who bind. Red if imports may have all places.
#[test]
fn imports_leave_places_for_others() {
    let output = crate::common::in_child("registry::places_of_imports");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "takes every place in the table: for a process of its own, see below"]
fn all_places() {
    let registry = registry();
    let mut kept = Vec::new();
    let error = loop {
        match bind(&registry, "increment") {
            Ok(function) => kept.push(function),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, RegistryError::Full(_)), "{error}");
    assert!(kept.len() > 4000);
    kept.truncate(1);
    let again = bind(&registry, "increment").expect("places are given back");
    assert_eq!((again.call(1).unwrap(), kept[0].call(2).unwrap()), (2, 3));
    // What this process sees of itself is what others would.
    assert_eq!(observe(std::process::id()).unwrap()[3].bindings.len(), 2);
}

#[test]
fn too_many_bindings_are_refused() {
    let output = crate::common::in_child("registry::all_places");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// What others see of a pool's domain is its user's. Red if faults of the last one stay.
#[test]
fn faults_are_those_of_the_domains_user() {
    let guest = SERVED.iter().fold(Guest::c(SERVER), |guest, prototype| guest.export(prototype));
    let pool = Pool::new(&guest.module(), DomainOptions::new().name("faulty"), 1);
    let faults = || {
        let seen = Observer::new(std::process::id()).unwrap().look().unwrap();
        let own: Vec<_> = seen.domains.iter().filter(|seen| seen.name == "faulty").collect();
        assert_eq!(own.len(), 1);
        own[0].faults
    };
    let user = pool.take().unwrap();
    user.bind::<Long>("crash").unwrap().call(0).unwrap_err();
    assert_eq!(faults(), 1);
    drop(user);
    assert_eq!((pool.ready(), faults()), (1, 0));
}

/// A host that links an import again and again, as after each end of its server, keeps what the last link needs.
#[test]
fn what_a_link_replaces_is_let_go_of() {
    let registry = Registry::new();
    registry.export_host(HostFunction::new(|_: &Domain, x: i64| x + 1), everyone("increment")).unwrap();
    let client = client(&registry, "links");
    let link = |name| registry.link(&client, name, &Principal::nobody(), &Request::newest(name));
    // More than there are places.
    for _ in 0..10_000 {
        link("increment").expect("one place is enough");
    }
    let seen = observe(std::process::id()).unwrap();
    let places = seen.iter().filter(|export| export.name == "increment").flat_map(|export| &export.bindings);
    assert_eq!(places.filter(|binding| binding.client.starts_with("domain links as ")).count(), 1);
    let use_increment = client.bind::<Long>("use_increment").unwrap();
    assert_eq!(use_increment.call(4).unwrap(), 50);
    let servers = || {
        let seen = Observer::new(std::process::id()).unwrap().look().unwrap();
        seen.domains.iter().filter(|domain| domain.name == "linked again").count()
    };
    for round in 0..10 {
        let server = server("linked again");
        if round % 2 == 0 {
            let (policy, on_failure) = (Policy::default(), OnFailure::default());
            client.link("count", &server, "long count(long)", policy, on_failure).unwrap();
        } else {
            registry.export(&server, everyone("count")).unwrap();
            link("count").unwrap();
            registry.unexport("count").unwrap();
        }
        let use_count = client.bind::<Long>("use_count").unwrap();
        assert_eq!(use_count.call(5).unwrap(), 5, "round {round}: a new one");
        drop(server);
        assert_eq!(servers(), 1, "round {round}: servers that nobody calls");
    }
}

/// A function of the host's that a constructor calls ends the thread that restarts: nobody is at it any more.
#[test]
fn a_restart_whose_thread_ends_is_over() {
    static ENDS: AtomicBool = AtomicBool::new(false);
    extern "C" fn asks(x: i64) -> i64 {
        i64::from(ENDS.swap(false, Ordering::SeqCst)) + x - 1
    }
    let source = "long asks(long);
        void hook(long);
        __attribute__((constructor)) static void begin(void) { if (asks(1)) hook(7); }
        long f(long x) { return x + 1; }";
    let guest = Guest::c(source).export("long f(long)").gate("long asks(long)").gate("void hook(long)");
    let options = DomainOptions::new()
        .name("server")
        .gate("asks", asks as extern "C" fn(i64) -> i64)
        .gate("hook", crate::common::host_sys::thread_exit());
    let domain = Domain::new(&guest.module(), options).expect("a domain");
    let registry = Registry::new();
    registry.export(&domain, everyone("f")).unwrap();
    ENDS.store(true, Ordering::SeqCst);
    let ended = crate::common::host_sys::on_plain_thread(|| drop(registry.restart("server")));
    assert_eq!(ended, 7, "it ended in the constructor's gate");
    let new = registry.restart("server").expect("nobody is at it");
    assert_eq!(new.bind::<Long>("f").unwrap().call(1).unwrap(), 2);
}

/// Constructors of a restart that loop end with the name of the domain, however it is taken back. Red if nothing but a time limit ends them.
#[test]
fn a_restart_ends_with_what_it_restarts() {
    let _watchdog = crate::common::watchdog("constructors that loop");
    let source = "long starts(long);
        __attribute__((constructor)) static void begin(void) { if (starts(1)) for (;;) __asm__ volatile(\"\"); }
        long f(long x) { return x + 1; }";
    let module = Guest::c(source).export("long f(long)").gate("long starts(long)").module();
    for end in 0..3 {
        let (started, starts) = std::sync::mpsc::channel();
        let (started, times) = (Mutex::new(started), AtomicUsize::new(0));
        let function = HostFunction::new(move |_: &Domain, _: i64| -> i64 {
            started.lock().unwrap().send(()).unwrap();
            (times.fetch_add(1, Ordering::SeqCst) > 0).into()
        });
        let options = DomainOptions::new().name("server").gate("starts", function);
        let registry = Registry::new();
        registry.export(&Domain::new(&module, options).unwrap(), everyone("f")).unwrap();
        starts.recv().unwrap();
        std::thread::scope(|scope| {
            let restart = scope.spawn(|| registry.restart("server"));
            starts.recv().unwrap();
            match end {
                0 => registry.remove("server").unwrap(),
                1 => registry.unexport("f").unwrap(),
                _ => registry.revoke("f", Revoke::Finish).unwrap(),
            }
            assert!(matches!(restart.join().unwrap(), Err(RegistryError::Removed(_))), "{end}");
        });
    }
}

/// What is refused may be code of the host's own, which asks the registry when it goes.
#[test]
fn what_an_export_refuses_goes_without_the_registrys_lock() {
    let _watchdog = crate::common::watchdog("a function that asks the registry when it goes");
    struct Asks(Registry, Arc<AtomicUsize>);
    impl Drop for Asks {
        fn drop(&mut self) {
            self.1.store(self.0.names().len(), Ordering::SeqCst);
        }
    }
    let registry = registry();
    let seen = Arc::new(AtomicUsize::new(0));
    let asks = Asks(registry.clone(), seen.clone());
    let function = HostFunction::new(move |_: &Domain, x: i64| x + asks.1.load(Ordering::SeqCst) as i64);
    assert!(matches!(registry.export_host(function, everyone("count")), Err(RegistryError::Taken { .. })));
    assert_eq!(seen.load(Ordering::SeqCst), 4);
}

#[test]
fn a_domain_that_serves_is_not_replaced_by_itself() {
    let registry = Registry::new();
    let server = server("server");
    registry.export(&server, everyone("increment")).expect("increment");
    let increment = bind(&registry, "increment").expect("it is there");
    assert!(matches!(registry.replace(&server, &server), Err(RegistryError::UnknownDomain(_))));
    assert_eq!(increment.call(1).expect("nothing has changed"), 2);
}
