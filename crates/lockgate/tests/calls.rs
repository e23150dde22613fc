//! Calls in every shape of the System V ABI.

use crate::common::Guest;
use lockgate::{BindError, CallError, Dynamic, Policy, Value};

const SOURCE: &str = r#"
#include <string.h>
void nothing(void) {}
long add(long a, long b) { return a + b; }
double half(double x) { return x / 2; }
float third(float x) { return x / 3; }
long many(long a, long b, long c, long d, long e, long f, long g, int h, double i, char j) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + (long)(9 * i) + 10 * j;
}
struct pair { double x; long n; };
struct pair swap(struct pair p) { return (struct pair){p.n, p.x}; }
struct big { long v[5]; };
struct big make(long seed) { struct big b; for (int i = 0; i < 5; i++) b.v[i] = seed * i; return b; }
long sum(struct big b, long more) { long s = more; for (int i = 0; i < 5; i++) s += b.v[i]; return s; }
int compare(int a, int b) { return a - b; }
unsigned char byte(unsigned char c) { return c + 1; }
static long counter;
long count(void) { return ++counter; }
"#;

lockgate::structure! {
    struct Pair { x: f64, n: i64 }
}
lockgate::structure! {
    struct Big { a: i64, b: i64, c: i64, d: i64, e: i64 }
}

#[test]
fn typed_calls() {
    let domain = Guest::c(SOURCE).domain();
    domain.bind::<extern "C" fn()>("nothing").unwrap().call().unwrap();
    let add = domain.bind::<extern "C" fn(i64, i64) -> i64>("add").unwrap();
    assert_eq!(add.call(40, 2).unwrap(), 42);
    assert_eq!(add.call(i64::MAX, 1).unwrap(), i64::MIN);
    assert_eq!(domain.bind::<extern "C" fn(f64) -> f64>("half").unwrap().call(3.0).unwrap(), 1.5);
    assert_eq!(domain.bind::<extern "C" fn(f32) -> f32>("third").unwrap().call(3.0).unwrap(), 1.0);
    type Many = extern "C" fn(i64, i64, i64, i64, i64, i64, i64, i32, f64, i8) -> i64;
    let many = domain.bind::<Many>("many").unwrap();
    assert_eq!(
        many.call(1, 2, 3, 4, 5, 6, 7, 8, 9.5, 10).unwrap(),
        1 + 4 + 9 + 16 + 25 + 36 + 49 + 64 + 85 + 100
    );
    let swap = domain.bind::<extern "C" fn(Pair) -> Pair>("swap").unwrap();
    assert_eq!(swap.call(Pair { x: 1.0, n: 2 }).unwrap(), Pair { x: 2.0, n: 1 });
    let make = domain.bind::<extern "C" fn(i64) -> Big>("make").unwrap();
    assert_eq!(make.call(7).unwrap(), Big { a: 0, b: 7, c: 14, d: 21, e: 28 });
    let sum = domain.bind::<extern "C" fn(Big, i64) -> i64>("sum").unwrap();
    assert_eq!(sum.call(Big { a: 1, b: 2, c: 3, d: 4, e: 5 }, 100).unwrap(), 115);
    assert_eq!(domain.bind::<extern "C" fn(u8) -> u8>("byte").unwrap().call(255).unwrap(), 0);
}

/// Where in a line of the processor's a proxy begins is up to a nanosecond of each call, and was up to what else had been made before: calls with
/// more protection could take less time than those with less. Red if code lies where there is room.
#[test]
fn proxies_begin_with_a_line() {
    let domain = Guest::c(SOURCE).domain();
    let presets = [Policy::MUTUAL_TRUST, Policy::SERVER_TRUSTED, Policy::INTEGRITY, Policy::MUTUAL_DISTRUST];
    for policy in presets {
        let add = domain.bind_with::<extern "C" fn(i64, i64) -> i64>("add", policy).unwrap();
        let half = domain.bind_with::<extern "C" fn(f64) -> f64>("half", policy).unwrap();
        for (address, bytes) in
            [(add.proxy().address, add.proxy().bytes), (half.proxy().address, half.proxy().bytes)]
        {
            assert_eq!(address % 64, 0, "{policy}");
            assert_ne!(bytes[0], 0xcc, "{policy}: a trap, where code would begin without the line");
        }
        assert_eq!((add.call(40, 2).unwrap(), half.call(3.0).unwrap()), (42, 1.5));
    }
}

#[test]
fn calls_by_prototype() {
    let domain = Guest::c(SOURCE).domain();
    let bind = |prototype: &str| -> Dynamic { domain.bind_dynamic(prototype).expect(prototype) };
    let many = "long many(long, long, long, long, long, long, long, int, double, char)";
    let words: Vec<_> = (1..=7).map(Value::Signed).collect();
    let mut arguments = words.clone();
    arguments.extend([Value::Signed(8), Value::Double(9.5), Value::Signed(10)]);
    assert_eq!(bind(many).call(&arguments).unwrap(), Value::Signed(389));
    let pair = "struct { double x; long n; }";
    let bytes = |x: f64, n: i64| Value::Struct([x.to_le_bytes(), n.to_le_bytes()].concat());
    assert_eq!(bind(&format!("{pair} swap({pair})")).call(&[bytes(1.0, 2)]).unwrap(), bytes(2.0, 1));
    let big = |v: [i64; 5]| Value::Struct(v.iter().flat_map(|n| n.to_le_bytes()).collect());
    let made = bind("struct { long v[5]; } make(long)").call(&[Value::Signed(7)]).unwrap();
    assert_eq!(made, big([0, 7, 14, 21, 28]));
    let sum = bind("long sum(struct { long v[5]; }, long)");
    assert_eq!(sum.call(&[big([1, 2, 3, 4, 5]), Value::Signed(100)]).unwrap(), Value::Signed(115));
    assert_eq!(bind("void nothing(void)").call(&[]).unwrap(), Value::Void);
    assert_eq!(bind("float third(float)").call(&[Value::Float(6.0)]).unwrap(), Value::Float(2.0));
    assert_eq!(
        bind("int compare(int, int)").call(&[Value::Signed(1), Value::Signed(3)]).unwrap(),
        Value::Signed(-2)
    );
}

#[test]
fn wrong_arguments_are_refused() {
    let domain = Guest::c(SOURCE).domain();
    let byte = domain.bind_dynamic("unsigned char byte(unsigned char)").unwrap();
    for arguments in
        [&[][..], &[Value::Signed(256)], &[Value::Signed(-1)], &[Value::Double(1.0)], &[Value::Void]]
    {
        let error = byte.call(arguments).unwrap_err();
        assert!(matches!(error, CallError::Arguments(_)), "{arguments:?}: {error}");
    }
}

#[test]
fn bindings_are_checked() {
    let domain = Guest::c(SOURCE).export("double half(double)").export("long add(long a, long b)").domain();
    let error = domain.bind::<extern "C" fn(i32) -> f64>("half").unwrap_err();
    assert!(matches!(error, BindError::Signature { .. }));
    let text = error.to_string();
    assert!(text.contains("parameter 1: double against int32_t"), "{text}");
    let text = domain.bind::<extern "C" fn(i64) -> i64>("add").unwrap_err().to_string();
    assert!(text.contains("2 parameters against 1"), "{text}");
    let text = domain.bind::<extern "C" fn()>("hafl").unwrap_err().to_string();
    assert!(text.contains("did you mean \"half\""), "{text}");
    let text = domain.bind_dynamic("int printf(const char *, ...)").unwrap_err().to_string();
    assert!(text.contains("variable arguments"), "{text}");
    assert_eq!(domain.bind_dynamic("half").unwrap().call(&[Value::Double(3.0)]).unwrap(), Value::Double(1.5));
}

/// Data is each domain's own, code is shared.
#[test]
fn domains_do_not_share_data() {
    let module = Guest::c(SOURCE).module();
    let domains: Vec<_> =
        (0..3).map(|_| lockgate::Domain::new(&module, Default::default()).unwrap()).collect();
    for (number, domain) in domains.iter().enumerate() {
        let count = domain.bind::<extern "C" fn() -> i64>("count").unwrap();
        for expected in 1..=number as i64 + 1 {
            assert_eq!(count.call().unwrap(), expected);
        }
    }
}

/// A binding keeps its domain alive.
#[test]
fn functions_outlive_the_handle() {
    let add = Guest::c(SOURCE).domain().bind::<extern "C" fn(i64, i64) -> i64>("add").unwrap();
    assert_eq!(add.call(1, 2).unwrap(), 3);
}
