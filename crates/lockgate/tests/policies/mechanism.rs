//! What no policy gives up: stacks, return addresses, and arguments that are the callee's own copy.
use super::{PRESETS, bind, link};
use crate::common::Guest;
use lockgate::{Domain, DomainOptions, HostFunction, Module, Policy};
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

/// Returns that are forged: from another depth of the own stack than where the call's own word is, no module returns.
#[test]
fn forged_returns_are_refused() {
    let forged = |words: i64| {
        let rsp = 8 * words;
        let source = format!("function forge\n add ${rsp},%rsp\n mov %rax,-OFF(%rsp)\n ret\n");
        let file = Guest::assembly(&source).try_build_unverified().expect("a module");
        Module::from_bytes(&file).map(|_| ()).map_err(|error| error.to_string())
    };
    for words in [-64, -2, -1, 1, 8] {
        let refusal = forged(words).expect_err("it returns from elsewhere");
        assert!(refusal.contains("V3"), "{words}: {refusal}");
    }
    // What the others are refused for is the depth alone.
    assert_eq!(forged(0), Ok(()));
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
