//! Calls in every shape of the System V ABI.
mod common;

use common::Guest;
use lockgate::{BindError, CallError, Dynamic, FaultKind, Value};

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
    assert_eq!(many.call(1, 2, 3, 4, 5, 6, 7, 8, 9.5, 10).unwrap(), 1 + 4 + 9 + 16 + 25 + 36 + 49 + 64 + 85 + 100);
    let swap = domain.bind::<extern "C" fn(Pair) -> Pair>("swap").unwrap();
    assert_eq!(swap.call(Pair { x: 1.0, n: 2 }).unwrap(), Pair { x: 2.0, n: 1 });
    let make = domain.bind::<extern "C" fn(i64) -> Big>("make").unwrap();
    assert_eq!(make.call(7).unwrap(), Big { a: 0, b: 7, c: 14, d: 21, e: 28 });
    let sum = domain.bind::<extern "C" fn(Big, i64) -> i64>("sum").unwrap();
    assert_eq!(sum.call(Big { a: 1, b: 2, c: 3, d: 4, e: 5 }, 100).unwrap(), 115);
    assert_eq!(domain.bind::<extern "C" fn(u8) -> u8>("byte").unwrap().call(255).unwrap(), 0);
}
