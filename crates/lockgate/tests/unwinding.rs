//! Exceptions inside a domain, and what they cannot do to anybody else. (What programs see of them: `crates/lockgate-cli/tests/cxx`.)
mod common;

use common::Guest;
use lockgate::{CallError, Domain, DomainOptions, FaultKind, HostFunction, Module};
use std::sync::mpsc::channel;
use std::time::Duration;

const SOURCE: &str = r#"
volatile int sink;
struct Counted { ~Counted() { sink++; } };
__attribute__((noinline)) static int deep(int n) {
    Counted counted;
    volatile char room[n + 1];
    room[n] = n;
    if (n == 0) throw 5;
    return deep(n - 1) + room[n];
}
__attribute__((noinline)) static int never(int n) noexcept { return deep(n); }
extern "C" {
int host(int);
int go(int n) { try { return deep(n); } catch (int value) { return value + n; } }
int uncaught(int n) { return deep(n); }
int forbidden(int n) { try { return never(n); } catch (...) { return -1; } }
int around(int n) { try { return host(n); } catch (...) { return -7; } }
}
"#;

/// A domain in which `host` is `answer`.
fn guest() -> Option<Guest> {
    Guest::cxx(SOURCE, &["-O2", "-g1"]).map(|guest| guest.gate("int host(int)"))
}

fn start(file: &[u8], host: HostFunction) -> Result<Domain, lockgate::CreateError> {
    let module = Module::from_bytes(file).expect("a module that verifies");
    let options = DomainOptions::new().gate("host", host).time_limit(Duration::from_millis(200));
    Domain::new(&module, options)
}

fn no_host() -> HostFunction {
    HostFunction::new(|_: &Domain, _: i32| 0_i32)
}

/// Nothing that an exception meets lies beyond the call into the domain: not the host's frames, nor those of the call around it.
#[test]
fn an_exception_ends_at_the_call_into_the_domain() {
    let Some(guest) = guest() else { return };
    let file = guest.build();
    let (tell, told) = channel();
    let host = HostFunction::new(move |domain: &Domain, n: i32| -> i32 {
        let inner = domain.bind::<extern "C" fn(i32) -> i32>("uncaught").unwrap();
        tell.send(common::in_time(|| inner.call(n))).unwrap();
        let caught = domain.bind::<extern "C" fn(i32) -> i32>("go").unwrap();
        common::in_time(|| caught.call(n)).unwrap()
    });
    let domain = start(&file, host).unwrap();
    let around = domain.bind::<extern "C" fn(i32) -> i32>("around").unwrap();
    for n in [0, 1, 30] {
        let result = around.call(n);
        let CallError::Fault(fault) = told.recv().unwrap().unwrap_err() else { panic!("no fault") };
        assert_eq!(fault.kind(), FaultKind::Abort, "{fault:#}");
        // The place of the throw is in the report: nothing was unwound.
        let report = format!("{fault:#}");
        assert!(report.contains("deep") && report.contains("uncaught"), "{report}");
        match result {
            Ok(value) => assert_eq!(value, 5 + n),
            Err(error) => panic!("{error}"),
        }
    }
}

/// What may not throw ends the call where it does.
#[test]
fn functions_that_may_not_throw_end_the_call() {
    let Some(guest) = guest() else { return };
    let domain = start(&guest.build(), no_host()).unwrap();
    let forbidden = domain.bind::<extern "C" fn(i32) -> i32>("forbidden").unwrap();
    let CallError::Fault(fault) = common::in_time(|| forbidden.call(2)).unwrap_err() else {
        panic!("no fault")
    };
    assert_eq!(fault.kind(), FaultKind::Abort, "{fault:#}");
    assert!(format!("{fault:#}").contains("deep"), "{fault:#}");
}

/// Unwind tables are the module's own affair: whatever they hold, the call ends, and nobody else is harmed.
#[test]
fn damaged_tables_harm_the_domain_alone() {
    let Some(guest) = guest() else { return };
    let good = guest.build();
    let mut ended = [0; 2];
    for name in [".eh_frame_hdr", ".eh_frame", ".gcc_except_table"] {
        let (start_at, length) = section(&good, name);
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        for round in 0..60 {
            let mut bad = good.clone();
            // The last rounds damage all of it.
            for _ in 0..(1 << (round / 6)) {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                bad[start_at + (random >> 33) as usize % length] = (random >> 24) as u8;
            }
            let Ok(domain) = start(&bad, no_host()) else { continue };
            let go = domain.bind::<extern "C" fn(i32) -> i32>("go").unwrap();
            for n in [0, 3, 40] {
                match go.call(n) {
                    Ok(_) => ended[0] += 1,
                    Err(CallError::Fault(_)) => {
                        ended[1] += 1;
                        break;
                    }
                    Err(error) => panic!("{name} {round}: {error}"),
                }
            }
        }
    }
    assert!(ended.iter().all(|&times| times > 20), "{ended:?}");
    // Another domain of the same process is as it was.
    let domain = start(&good, no_host()).unwrap();
    let go = domain.bind::<extern "C" fn(i32) -> i32>("go").unwrap();
    assert_eq!(common::in_time(|| go.call(40)).unwrap(), 45);
}

/// Place and size in the file of a section.
fn section(file: &[u8], name: &str) -> (usize, usize) {
    use object::{Object as _, ObjectSection as _};
    let parsed = object::File::parse(file).unwrap();
    let (at, length) = parsed.section_by_name(name).unwrap().file_range().unwrap();
    (at as usize, length as usize)
}
