//! What libraries call: services of the host, and each other.
use super::File;
use crate::common::Guest;
use crate::dl::host_sys::{call, service};
use lockgate::dl::{self, DlError, Library, Mode, Options};
use lockgate::{Allow, Domain, DomainOptions, Export, HostFunction, Principal, Registry, Version};
use std::sync::atomic::{AtomicU64, Ordering};

extern "C" fn add_one(x: i64) -> i64 {
    x + 1
}

extern "C" fn add_two(x: i64) -> i64 {
    x + 2
}

/// A library that imports `name` and calls it in `ask`.
fn client(file: &str, name: &str) -> File {
    let source = format!("long {name}(long);\nlong ask(long x) {{ return 10 * {name}(x); }}");
    File::new(file, Guest::c_with(&source, &["-O2", "-g"]).gate(&format!("long {name}(long)")))
}

#[test]
fn services_answer_imports() {
    let file = client("client.so", "service_a");
    let refused = Library::open(&file.path, Mode::NOW, &Options::default()).unwrap_err();
    let text = refused.to_string();
    assert!(
        matches!(refused, DlError::Imports { .. }) && text.contains("undefined symbol: service_a"),
        "{text}"
    );

    dl::provide(service("long service_a(long)", add_one as *const ()));
    let library = file.open();
    let ask = library.function("ask").unwrap();
    assert_eq!(call(ask, 3), 40);
    library.provide(service("service_a", add_two as *const ())).unwrap();
    assert_eq!(call(ask, 3), 50, "a service of its own, from now on");
    assert!(dl::withdraw("service_a") && !dl::withdraw("service_a"));
    library.close().unwrap();
}

#[test]
fn lazy_imports_are_answered_at_their_first_call() {
    let file = client("lazy.so", "service_b");
    let library = file.open_with(Mode::LAZY, &Options::default());
    let ask = library.function("ask").unwrap();
    assert_eq!(call(ask, 3), -1);
    let failure = dl::take_failure().expect("nothing answered").to_string();
    assert!(failure.contains("lazy.so called service_b"), "{failure}");
    dl::provide(service("service_b", add_one as *const ()));
    assert_eq!(call(ask, 3), 40, "offered after the load");
    library.close().unwrap();
}

/// What the options of its domain say of an import is what it is, at once or at its first call, whatever else has the name.
#[test]
fn what_the_options_answer_is_answered() {
    dl::provide(service("long service_o(long)", add_two as *const ()));
    for name in ["service_o", "service_p"] {
        for mode in [Mode::NOW, Mode::LAZY] {
            let file = client("answered.so", name);
            let own = HostFunction::new(|_: &Domain, x: i64| x + 1);
            let library =
                file.open_with(mode, &Options::default().domain(DomainOptions::new().gate(name, own)));
            assert_eq!(call(library.function("ask").unwrap(), 3), 40, "{name} {mode:?}");
            library.close().unwrap();
        }
    }
    assert!(dl::withdraw("service_o"));
}

/// A registry in the options of its domain answers what nothing else does.
#[test]
fn a_registry_in_the_options_answers_what_nothing_else_does() {
    let registry = Registry::new();
    for name in ["service_q", "service_r"] {
        let export = Export::new(name, Version::new(1, 0)).allow(Allow::Everyone);
        registry.export_host(HostFunction::new(|_: &Domain, x: i64| x + 1), export).unwrap();
    }
    dl::provide(service("long service_r(long)", add_two as *const ()));
    let options = || Options::default().domain(DomainOptions::new().registry(&registry, Principal::nobody()));
    for mode in [Mode::NOW, Mode::LAZY] {
        for (name, expected) in [("service_q", 40), ("service_r", 50)] {
            let library = client("registered.so", name).open_with(mode, &options());
            assert_eq!(call(library.function("ask").unwrap(), 3), expected, "{name} {mode:?}");
            library.close().unwrap();
        }
    }
    let file = client("unregistered.so", "service_s");
    let refused = Library::open(&file.path, Mode::NOW, &options()).unwrap_err().to_string();
    assert!(refused.contains("undefined symbol: service_s"), "{refused}");
    assert!(dl::withdraw("service_r"));
}

#[test]
fn a_service_of_another_type_is_refused() {
    dl::provide(service("double service_c(double)", add_one as *const ()));
    let file = client("typed.so", "service_c");
    let error = Library::open(&file.path, Mode::NOW, &Options::default()).unwrap_err().to_string();
    assert!(error.contains("service of another type"), "{error}");
    let large = service_error("struct { long a; long b; long c; } f(void)");
    assert!(large.contains("would go where the library chooses"), "{large}");
    assert!(service_error("int f(").contains("expected"), "a prototype that does not parse");
    assert!(service_error("").contains("service ``"), "no name");
}

fn service_error(prototype: &str) -> String {
    // SAFETY: it is never called.
    crate::dl::host_sys::try_service(prototype).unwrap_err().to_string()
}

#[test]
fn libraries_call_each_other() {
    let server = File::c(
        "server.so",
        "long serve_d(long x) { return *(volatile int *)(x == 13 ? 0 : (long)&(int){7}) + x; }",
    );
    let file = client("caller.so", "serve_d");
    let opened = server.open();
    let local = Library::open(&file.path, Mode::NOW, &Options::default());
    assert!(local.is_err(), "the server's functions are local");
    opened.close().unwrap();

    let opened = server.open_with(Mode::NOW.global(), &Options::default());
    let library = file.open();
    let ask = library.function("ask").unwrap();
    assert_eq!(call(ask, 3), 100);
    opened.close().unwrap();
    assert_eq!(call(ask, 3), 100, "it stays as long as it is called");
    assert_eq!(server.open(), opened, "and is the same when it is opened meanwhile");
    opened.close().unwrap();
    assert_eq!(call(ask, 13), -1, "a crash of the server ends the call");
    let failure = dl::take_failure().expect("a failure");
    assert_eq!(failure.library, "caller.so");
    assert!(failure.to_string().contains("null pointer"), "{failure}");
    assert_eq!(call(ask, 3), 100, "and nothing else");
    library.close().unwrap();
    assert!(matches!(opened.symbol("serve_d"), Err(DlError::Handle)), "gone with its caller");
}

#[test]
fn a_ring_of_libraries_goes_together() {
    let source = |own: &str, other: &str| {
        format!("long {other}(long);\nlong {own}(long x) {{ return x == 0 ? 0 : 1 + {other}(x - 1); }}")
    };
    let guest = |own: &str, other: &str| {
        Guest::c_with(&source(own, other), &["-O2", "-g"]).gate(&format!("long {other}(long)"))
    };
    let (ping, pong) =
        (File::new("ping.so", guest("ping_e", "pong_e")), File::new("pong.so", guest("pong_e", "ping_e")));
    let ping = ping.open_with(Mode::LAZY.global(), &Options::default());
    let pong = pong.open_with(Mode::LAZY.global(), &Options::default());
    let function = ping.function("ping_e").unwrap();
    assert_eq!(call(function, 10), 10, "to and fro");
    ping.close().unwrap();
    assert_eq!(call(function, 10), 10, "pong calls it");
    pong.close().unwrap();
    assert_eq!(call(function, 10), -1);
    assert!(matches!(ping.symbol("ping_e"), Err(DlError::Handle)));
}

static CALLER: AtomicU64 = AtomicU64::new(0);

extern "C" fn who_calls() -> i64 {
    CALLER.store(Library::caller().map_or(0, Library::number), Ordering::SeqCst);
    1
}

#[test]
fn constructors_may_call_services_which_know_the_caller() {
    dl::provide(service("long who_calls(void)", who_calls as *const ()));
    let guest = Guest::c_with(
        "long who_calls(void);\nstatic long told;\n__attribute__((constructor)) static void start(void) { told = who_calls(); }\nlong was_told(void) { return told; }",
        &["-O2", "-g"],
    );
    let file = File::new("calling.so", guest.gate("long who_calls(void)"));
    let library = file.open();
    assert_eq!(call(library.function("was_told").unwrap(), 0), 1);
    assert_eq!(CALLER.load(Ordering::SeqCst), library.number());
    assert_eq!(Library::caller(), None, "outside of services");
    library.close().unwrap();
}
