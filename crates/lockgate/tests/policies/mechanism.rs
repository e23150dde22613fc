//! What no policy gives up: stacks, return addresses, and arguments that are the callee's own copy.
use super::common::{Guest, host_sys, patience};
use super::{PRESETS, bind, link};
use lockgate::{Domain, DomainOptions, HostFunction, Policy};
use lockgate_abi::{code, stack, window};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

const MARK: u64 = 0x3a5c_91e7_d264_8fb1;

/// A callee that is given its caller's stack address writes around it: what it reaches is its own window.
#[test]
fn frames_are_out_of_reach() {
    const SOURCE: &str = "
        long smash(char *at) { for (long i = -512; i < 512; i++) ((volatile char *)at)[i] = -1; return 1; }
        long smash_quietly(char *at) { (void)at; return 1; }";
    const CLIENT: &str = "
        long smash(char *);
        long use(void) { volatile long frame[16]; for (int i = 0; i < 16; i++) frame[i] = i;
          smash((char *)frame); long s = 0; for (int i = 0; i < 16; i++) s += frame[i]; return s; }";
    let server = Guest::c(SOURCE).domain();
    let client = Guest::c(CLIENT).gate("long smash(char *)").domain();
    for policy in PRESETS {
        let frame = [MARK; 16];
        let smash = bind::<extern "C" fn(u64) -> i64>(&server, "smash", policy);
        // It may hit one of its own guards: then the call fails, and the host's frame is as it was.
        let _ = smash.call((&raw const frame) as u64);
        assert_eq!(std::hint::black_box(frame), [MARK; 16], "{policy}");
        link(&client, &server, "smash", "smash", policy);
        let used = bind::<extern "C" fn() -> i64>(&client, "use", policy).call().unwrap();
        assert_eq!(used, 120, "{policy}");
    }
    // The same address is the callee's own data where it is its own: the attack does write.
    let own = Guest::c(&format!("{SOURCE}\n{CLIENT}")).domain();
    assert_ne!(bind::<extern "C" fn() -> i64>(&own, "use", Policy::INTEGRITY).call().unwrap(), 120);
}

/// Returns that are forged: from every depth of the own stack, through stale words, the call ends as a return to its own
/// caller or as a fault.
#[test]
fn forged_returns_end_the_call() {
    let _patience = patience("forged returns");
    let source: String = (-64..=8)
        .filter(|words| *words != 0)
        .map(|words: i64| {
            format!(
                "function forge_{}\n lea {}(%rsp),%rsp\n mov %rax,-OFF(%rsp)\n ret\n",
                words + 64,
                8 * words
            )
        })
        .collect();
    let server = Guest::assembly(&source)
        .domain_with(DomainOptions::new().time_limit(std::time::Duration::from_millis(50)));
    let client = super::client(&super::around("use", "", ""), "long server(void)");
    let numbers = || (0..=72).filter(|number| *number != 64).map(|number| format!("forge_{number}"));
    // Rust's own registers are at stake only where the callee is not trusted with them.
    for policy in [Policy::INTEGRITY, Policy::MUTUAL_DISTRUST] {
        for name in numbers() {
            let forge = bind::<extern "C" fn()>(&server, &name, policy);
            let kept = host_sys::callee_saved_survive(|| match forge.call() {
                Ok(()) => {}
                Err(error) => assert!(error.fault().is_some(), "{policy}, {name}: {error}"),
            });
            assert!(kept, "{policy}: {name}");
        }
    }
    for policy in PRESETS {
        for name in numbers() {
            link(&client, &server, "server", &name, policy);
            bind::<extern "C" fn() -> i64>(&client, "use", Policy::INTEGRITY)
                .call()
                .unwrap_or_else(|error| panic!("{policy}: {name}: {error}"));
        }
    }
}

/// Overwrites, from another thread, each word of the data stacks of the domain at `base` that is `MARK`; how many there were.
fn rewrite_marks(base: u64) -> u64 {
    let memory = std::fs::OpenOptions::new().read(true).write(true).open("/proc/self/mem").unwrap();
    let top = base + window::CONTROL + stack::TOP - u64::from(code::OFF);
    let attack = || {
        let mut marks = 0;
        for at in (top - (1 << 15)..top).step_by(8) {
            let mut word = [0; 8];
            if memory.read_exact_at(&mut word, at).is_ok() && u64::from_le_bytes(word) == MARK {
                memory.write_all_at(&[0xff; 8], at).unwrap();
                marks += 1;
            }
        }
        marks
    };
    std::thread::scope(|scope| scope.spawn(attack).join().unwrap())
}

/// Arguments on the stack, structures among them, are the callee's: the caller's other threads cannot change them any more.
#[test]
fn arguments_cannot_be_rewritten() {
    const TYPES: &str = "struct big { long v[4]; };";
    let victim: Arc<OnceLock<u64>> = Arc::default();
    let marks = Arc::new(AtomicU64::new(0));
    let meddle = HostFunction::new({
        let (victim, marks) = (victim.clone(), marks.clone());
        move |_: &Domain| {
            marks.fetch_add(rewrite_marks(*victim.get().expect("set below")), Ordering::Relaxed);
        }
    });
    let server = Guest::c(&format!(
        "{TYPES} void meddle(void);
         long hold(long a, long b, long c, long d, long e, long f, long last, struct big s) {{
           long before = last ^ s.v[0] ^ s.v[3]; meddle();
           return *(volatile long *)&last == {MARK} && *(volatile long *)&s.v[0] == {MARK} && *(volatile long *)&s.v[3] == {MARK} && before == {MARK}; }}"
    ))
    .gate("void meddle(void)")
    .domain_with(DomainOptions::new().gate("meddle", meddle));
    let prototype = "long hold(long, long, long, long, long, long, long, struct { long v[4]; })";
    let client = Guest::c(&format!(
        "{TYPES} long hold(long, long, long, long, long, long, long, struct big);
         long use(void) {{ struct big s = {{{{ {MARK}, 1, 2, {MARK} }}}}; return hold(1, 2, 3, 4, 5, 6, {MARK}, s); }}"
    ))
    .gate(prototype)
    .domain();
    assert!(victim.set(client.base()).is_ok());
    for policy in PRESETS {
        link(&client, &server, "hold", "hold", policy);
        let held = bind::<extern "C" fn() -> i64>(&client, "use", policy).call().unwrap();
        assert_eq!(held, 1, "{policy}: the callee's arguments changed");
        assert!(marks.swap(0, Ordering::Relaxed) >= 3, "{policy}: the caller's own were not found");
    }
}
