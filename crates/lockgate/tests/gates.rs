//! Domains call the host: imports, callbacks, nesting, panics.

use crate::common::Guest;
use lockgate::{
    BindError, CallError, Callback, CreateError, Domain, DomainOptions, FaultKind, HostFunction, Pointer,
    Value,
};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

const SOURCE: &str = r#"
#include <stdlib.h>
extern long host(long a, long b, long c, long d, long e, long f, long g, double x, int h);
extern double scale(double);
long ask(void) { return host(1, 2, 3, 4, 5, 6, 7, 8.0, 9); }
double twice(double x) { return scale(scale(x)); }
long apply(long (*f)(long), long n) { long s = 0; for (long i = 0; i < n; i++) s += f(i); return s; }
static int ascending(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
void sort(int *v, size_t n, int (*order)(const void *, const void *)) { qsort(v, n, sizeof *v, order ? order : ascending); }
extern long recurse(long);
long down(long n) { volatile long keep[16]; for (int i = 0; i < 16; i++) keep[i] = n; long r = n ? recurse(n - 1) : 0; for (int i = 0; i < 16; i++) r += keep[i] - n; return r + n; }
long many(long (*f)(long, long, long, long, long, long, long, long), long x) { return f(x, 1, 2, 3, 4, 5, 6, 7); }
"#;

const GATES: [&str; 3] = [
    "long host(long, long, long, long, long, long, long, double, int)",
    "double scale(double)",
    "long recurse(long)",
];

fn guest() -> Guest {
    GATES.iter().fold(Guest::c(SOURCE), |guest, gate| guest.gate(gate))
}

extern "C" fn host(a: i64, b: i64, c: i64, d: i64, e: i64, f: i64, g: i64, x: f64, h: i32) -> i64 {
    a + 10 * b
        + 100 * c
        + 1000 * d
        + 10_000 * e
        + 100_000 * f
        + 1_000_000 * g
        + x as i64 * 10_000_000
        + i64::from(h) * 100_000_000
}

type Host = extern "C" fn(i64, i64, i64, i64, i64, i64, i64, f64, i32) -> i64;

#[test]
fn imports_reach_the_host_with_stack_arguments() {
    let scale = HostFunction::new(|_: &Domain, x: f64| x * 1.5);
    let domain = guest().domain_with(DomainOptions::new().gate("host", host as Host).gate("scale", scale));
    assert_eq!(domain.bind::<extern "C" fn() -> i64>("ask").unwrap().call().unwrap(), 987_654_321);
    assert_eq!(domain.bind::<extern "C" fn(f64) -> f64>("twice").unwrap().call(4.0).unwrap(), 9.0);
}

#[test]
fn imports_are_checked() {
    let module = guest().module();
    let wrong = HostFunction::new(|_: &Domain, x: i32| x);
    let error = Domain::new(&module, DomainOptions::new().gate("scale", wrong)).unwrap_err();
    assert!(matches!(error, CreateError::Import { .. }), "{error}");
    let unknown = HostFunction::new(|_: &Domain| ());
    let error = Domain::new(&module, DomainOptions::new().gate("skale", unknown)).unwrap_err().to_string();
    assert!(error.contains("it imports: host, scale, recurse"), "{error}");
}

#[test]
fn an_import_without_a_function_ends_the_call() {
    let domain = guest().domain();
    let error = domain.bind::<extern "C" fn() -> i64>("ask").unwrap().call().unwrap_err();
    assert_eq!(error.fault().unwrap().kind(), FaultKind::Gate, "{error}");
    assert!(error.to_string().contains("ask"), "{error}");
}

#[test]
fn callbacks_are_function_pointers() {
    let domain = guest().domain();
    let seen = Arc::new(AtomicI64::new(0));
    let counter = seen.clone();
    let square = HostFunction::new(move |_: &Domain, x: i64| {
        counter.fetch_add(1, Ordering::Relaxed);
        x * x
    });
    let callback = domain.callback(square).unwrap();
    let apply = domain.bind::<extern "C" fn(Pointer<()>, i64) -> i64>("apply").unwrap();
    assert_eq!(apply.call(callback.pointer(), 10).unwrap(), 285);
    assert_eq!(seen.load(Ordering::Relaxed), 10);
    extern "C" fn sum(a: i64, b: i64, c: i64, d: i64, e: i64, f: i64, g: i64, h: i64) -> i64 {
        a + b + c + d + e + f + 10 * g + 100 * h
    }
    type Sum = extern "C" fn(i64, i64, i64, i64, i64, i64, i64, i64) -> i64;
    let callback = domain.callback(sum as Sum).unwrap();
    let many = domain.bind::<extern "C" fn(Pointer<()>, i64) -> i64>("many").unwrap();
    assert_eq!(many.call(callback.pointer(), 1000).unwrap(), 1000 + 15 + 60 + 700);
}

#[test]
fn callbacks_read_the_domain() {
    let domain = guest().domain();
    let order = HostFunction::new(|domain: &Domain, a: Pointer<i32>, b: Pointer<i32>| -> i32 {
        let value = |p| domain.read(p).expect("qsort passes its array").trust("any order is an order");
        value(b).cmp(&value(a)) as i32
    });
    let callback = domain.callback(order).unwrap();
    let values = domain.alloc_slice(&[3, 1, 2, 9, 7]).unwrap();
    let sort = domain.bind::<extern "C" fn(Pointer<i32>, usize, Pointer<()>)>("sort").unwrap();
    sort.call(values, 5, callback.pointer()).unwrap();
    assert_eq!(domain.read_slice(values, 5).unwrap().trust("printed only"), [9, 7, 3, 2, 1]);
    sort.call(values, 5, Pointer::NULL).unwrap();
    assert_eq!(domain.read_slice(values, 5).unwrap().trust("printed only"), [1, 2, 3, 7, 9]);
}

#[test]
fn a_dropped_callback_ends_the_call() {
    let domain = guest().domain();
    let callback = domain.callback(HostFunction::new(|_: &Domain, x: i64| x)).unwrap();
    let pointer: Pointer<()> = callback.pointer();
    drop(callback);
    let apply = domain.bind::<extern "C" fn(Pointer<()>, i64) -> i64>("apply").unwrap();
    assert_eq!(apply.call(pointer, 1).unwrap_err().fault().unwrap().kind(), FaultKind::Gate);
    let all: Vec<Callback> = (0..1024)
        .map(|_| domain.callback(HostFunction::new(|_: &Domain, x: i64| x)).expect("1,024 callbacks"))
        .collect();
    assert!(domain.callback(HostFunction::new(|_: &Domain| ())).is_none());
    assert_eq!(apply.call(all[1023].pointer(), 3).unwrap(), 3);
}

/// A domain whose import calls it again, and the error of the innermost call.
fn recursive() -> (Domain, Arc<Mutex<Option<CallError>>>) {
    let last = Arc::new(Mutex::new(None));
    let errors = last.clone();
    let recurse = HostFunction::new(move |domain: &Domain, n: i64| {
        let down = domain.bind::<extern "C" fn(i64) -> i64>("down").expect("an export");
        down.call(n).unwrap_or_else(|error| {
            *errors.lock().unwrap() = Some(error);
            0
        })
    });
    (guest().domain_with(DomainOptions::new().gate("recurse", recurse)), last)
}

#[test]
fn calls_nest() {
    let (domain, _) = recursive();
    let down = domain.bind::<extern "C" fn(i64) -> i64>("down").unwrap();
    assert_eq!(down.call(50).unwrap(), 50 * 51 / 2);
}

#[test]
fn endless_nesting_is_refused_before_the_host_overflows() {
    let (domain, error) = recursive();
    let down = domain.bind::<extern "C" fn(i64) -> i64>("down").unwrap();
    down.call(1_000_000).expect("the innermost call fails, the others return");
    let error = error.lock().unwrap().take();
    assert!(matches!(error, Some(CallError::TooDeep)), "{error:?}");
    assert_eq!(down.call(3).unwrap(), 6);
}

#[test]
fn a_panic_in_a_host_function_is_the_error_of_the_call() {
    let scale = HostFunction::new(|_: &Domain, x: f64| -> f64 { panic!("no scale for {x}") });
    let domain = guest().domain_with(DomainOptions::new().gate("scale", scale));
    let twice = domain.bind::<extern "C" fn(f64) -> f64>("twice").unwrap();
    for _ in 0..3 {
        let Err(CallError::Panic(panic)) = twice.call(1.0) else { panic!("an error") };
        assert_eq!(panic.to_string(), "no scale for 1");
    }
}

#[test]
fn a_nested_fault_ends_the_inner_call_only() {
    let inner = Guest::c("void crash(void) { *(volatile int *)0 = 0; }").domain();
    let crash = inner.bind::<extern "C" fn()>("crash").unwrap();
    let scale = HostFunction::new(move |_: &Domain, x: f64| {
        assert_eq!(crash.call().unwrap_err().fault().unwrap().kind(), FaultKind::Segv);
        x + 1.0
    });
    let domain = guest().domain_with(DomainOptions::new().gate("scale", scale));
    assert_eq!(domain.bind::<extern "C" fn(f64) -> f64>("twice").unwrap().call(1.0).unwrap(), 3.0);
}

#[test]
fn domains_call_each_other_through_the_host() {
    let worker = Guest::c("double area(double r) { return 3 * r * r; }").domain();
    let area = worker.bind::<extern "C" fn(f64) -> f64>("area").unwrap();
    let scale = HostFunction::new(move |_: &Domain, x: f64| area.call(x).expect("it returns"));
    let domain = guest().domain_with(DomainOptions::new().gate("scale", scale));
    assert_eq!(domain.bind::<extern "C" fn(f64) -> f64>("twice").unwrap().call(1.0).unwrap(), 27.0);
}

/// The prototype of the host's function, a C function `go` that calls it, what the host must get and what it returns.
type Dynamic<'a> = (&'a str, &'a str, Vec<Value>, Value);

/// Every place that an argument or a result can have.
fn dynamic_cases() -> Vec<Dynamic<'static>> {
    let structure = |words: &[u64]| Value::Struct(words.iter().flat_map(|word| word.to_le_bytes()).collect());
    let eight = (1..=8).map(Value::Signed);
    vec![
        ("void host(void)", "void host(void); void go(void) { host(); }", vec![], Value::Void),
        (
            "int host(signed char, unsigned short, float, double, void *)",
            "int host(signed char, unsigned short, float, double, void *);
             int go(void) { return host(-3, 65535, 1.5f, -2.5, 0); }",
            vec![
                Value::Signed(-3),
                Value::Unsigned(65535),
                Value::Float(1.5),
                Value::Double(-2.5),
                Value::Pointer(0),
            ],
            Value::Signed(-7),
        ),
        (
            "double host(long, long, long, long, long, long, long, long, double)",
            "double host(long, long, long, long, long, long, long, long, double);
             double go(void) { return host(1, 2, 3, 4, 5, 6, 7, 8, 0.25); }",
            eight.chain([Value::Double(0.25)]).collect(),
            Value::Double(0.5),
        ),
        (
            "struct { double x; long n; } host(struct { double x; long n; }, struct { long v[3]; })",
            "struct pair { double x; long n; }; struct big { long v[3]; };
             struct pair host(struct pair, struct big);
             struct pair go(void) { return host((struct pair){0.5, 2}, (struct big){{1, 2, 3}}); }",
            vec![structure(&[0.5_f64.to_bits(), 2]), structure(&[1, 2, 3])],
            structure(&[4.0_f64.to_bits(), 7]),
        ),
    ]
}

#[test]
fn functions_known_at_run_time_get_and_return_every_kind_of_value() {
    for (prototype, source, expected, result) in dynamic_cases() {
        let given = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (given.clone(), result.clone());
        let host = HostFunction::dynamic(prototype.parse().unwrap(), move |_, values| {
            seen.lock().unwrap().extend_from_slice(values);
            Ok(answer.clone())
        });
        let options = DomainOptions::new().gate("host", host.unwrap());
        let domain = Guest::c(source).gate(prototype).domain_with(options);
        let (kind, _) = prototype.split_once("host").unwrap();
        let go = domain.bind_dynamic(&format!("{kind} go(void)")).unwrap();
        assert_eq!(go.call(&[]).unwrap(), result, "{prototype}");
        assert_eq!(*given.lock().unwrap(), expected, "{prototype}");
    }
}

/// What a function fails with, or panics with, ends the call, and comes to the caller as it is. A result that is none is a
/// panic, too.
#[test]
fn what_ends_a_function_known_at_run_time_ends_the_call() {
    let source = "double scale(double); double go(double x) { return scale(x) + 1; }";
    let prototype = "double scale(double)";
    for (number, expected) in [(0.0, "sent"), (1.0, "thrown"), (2.0, "Void is no result of double (double)")]
    {
        let scale = HostFunction::dynamic(prototype.parse().unwrap(), |_, values| match values {
            [Value::Double(0.0)] => Err(Box::new("sent")),
            [Value::Double(1.0)] => panic!("thrown"),
            _ => Ok(Value::Void),
        });
        let options = DomainOptions::new().gate("scale", scale.unwrap());
        let domain = Guest::c(source).gate(prototype).domain_with(options);
        let go = domain.bind::<extern "C" fn(f64) -> f64>("go").unwrap();
        let Err(CallError::Panic(panic)) = go.call(number) else { panic!("an error") };
        assert!(panic.to_string().starts_with(&expected[..4]), "{panic}, not {expected}");
    }
}

/// A result in memory would be written where the domain says.
#[test]
fn functions_known_at_run_time_cannot_return_in_memory() {
    let big = "struct { long v[3]; } host(void)".parse().unwrap();
    let error = HostFunction::dynamic(big, |_, _| Ok(Value::Void)).unwrap_err();
    assert!(matches!(error, BindError::Prototype(_)) && error.to_string().contains("in memory"), "{error}");
}
