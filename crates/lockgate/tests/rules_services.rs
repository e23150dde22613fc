//! Rules R20–R24: longjmp, unwinding, lifetimes, arguments, and what addresses show.

use crate::common::{Guest, host_sys, mappings, peek};
use lockgate::syscall::Grants;
use lockgate::{CallError, Domain, DomainOptions, FaultKind, HostFunction, Module, Pointer, Value};
use lockgate_abi::{gate, stack, window};
use std::sync::Arc;
use std::sync::mpsc::channel;

const JUMPS: &str = r#"
#include <setjmp.h>
#include <string.h>
static jmp_buf place;
static void leave(int n) { if (n) leave(n - 1); else longjmp(place, 42); __asm__ volatile(""); }
int jump(int depth) { int r = setjmp(place); if (!r) leave(depth); return r; }
int forged(long word, long value) { if (setjmp(place)) return 1; ((long *)place)[word] = value; longjmp(place, 1); }
"#;

/// R20: longjmp works, and a forged buffer reaches nothing but the domain. (Which labels and functions it reaches there:
/// `tests/resume`.)
#[test]
fn r20_a_forged_jump_reaches_nothing_but_the_domain() {
    let module = Guest::c_with(JUMPS, &["-O1", "-fno-optimize-sibling-calls"]).module();
    let domain = Domain::new(&module, DomainOptions::new()).unwrap();
    assert_eq!(domain.bind::<extern "C" fn(i32) -> i32>("jump").unwrap().call(50).unwrap(), 42);
    let host = host_sys::read_address_16 as fn() as usize as i64;
    for word in 0..8 {
        for value in [0, host, domain.base() as i64 + window::HEADER as i64, i64::MIN, -8] {
            let options = DomainOptions::new().time_limit(std::time::Duration::from_millis(100));
            let domain = crate::common::started(&module, options);
            let forged = domain.bind::<extern "C" fn(i64, i64) -> i32>("forged").unwrap();
            let mut result = Ok(0);
            assert!(host_sys::callee_saved_survive(|| result = forged.call(word, value)));
            if let Err(error) = result {
                assert!(error.fault().is_some(), "{error}");
            }
        }
    }
}

/// R21: the host's unwinder knows no frame of a module, so it cannot interpret what a module says about its frames;
/// panics stop at the gate. Red if the loader registers a module's `.eh_frame`.
#[test]
fn r21_the_hosts_unwinder_does_not_know_modules() {
    let host = HostFunction::new(|_: &Domain| -> () { panic!("through the gate?") });
    let domain = Guest::c("extern void host(void); int call_host(void) { host(); return 1; }")
        .gate("void host(void)")
        .domain_with(DomainOptions::new().gate("host", host));
    let text = domain.base() + window::IMAGE;
    for at in (text..text + domain.module().report().text_bytes).step_by(64) {
        assert!(!host_sys::unwinder_knows(at), "{at:#x} has unwind information in the host");
    }
    let error = domain.bind::<extern "C" fn() -> i32>("call_host").unwrap().call().unwrap_err();
    assert!(matches!(error, CallError::Panic(_)), "{error}");
}

/// R22: a domain whose handle is dropped while a thread is inside lives until the thread has left.
#[test]
fn r22_memory_stays_while_a_thread_is_inside() {
    let barrier = Arc::new(std::sync::Barrier::new(2));
    let inside = barrier.clone();
    let host = HostFunction::new(move |_: &Domain| {
        inside.wait(); // the thread is inside
        inside.wait(); // the handle is gone
    });
    let domain = Guest::c("extern void host(void); static int n = 5; int wait(void) { host(); return ++n; }")
        .gate("void host(void)")
        .domain_with(DomainOptions::new().gate("host", host));
    let wait = domain.bind::<extern "C" fn() -> i32>("wait").unwrap();
    let thread = std::thread::spawn(move || wait.call());
    barrier.wait();
    drop(domain);
    barrier.wait();
    assert_eq!(thread.join().unwrap().unwrap(), 6);
}

/// R22: what a thread's stacks held is gone when the thread is. Red if `Core::release` keeps the pages.
#[test]
fn r22_stacks_of_ended_threads_are_gone() {
    let domain = Guest::c(DEEP).domain();
    let deep = domain.bind::<extern "C" fn(i32) -> i32>("deep").unwrap();
    let accessible = || {
        let area = domain.base() + window::STACKS..domain.base() + window::CONTROL_END;
        mappings(area.start, area.end).into_iter().filter(|m| m.accessible()).count()
    };
    deep.call(1).unwrap();
    let alone = accessible();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            deep.call(100).unwrap();
            assert_eq!(accessible(), alone + 2);
        });
    });
    // The scope ends when the closure has; the thread's own clean-up may be a moment behind.
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while accessible() != alone && std::time::Instant::now() < end {
        std::thread::yield_now();
    }
    assert_eq!(accessible(), alone);
}

/// A function whose calls leave words on both stacks.
const DEEP: &str = "int deep(int n) { volatile int v[64]; v[0] = n; return n ? deep(n - 1) + v[0] : 0; }";

/// R22: the first thread's slot keeps the storage at its top for the next thread, and nothing below. Red if
/// `Core::release` keeps either stack's pages.
#[test]
fn r22_the_first_threads_stacks_are_empty_when_it_has_ended() {
    // The start block stays: the count of arguments, one argument, its end, then the environment.
    let source = format!("{DEEP} extern char **environ; char **start(void) {{ return environ - 3; }}");
    let module = Guest::c(&source).module();
    let first = std::thread::spawn(move || {
        let domain = Domain::new(&module, DomainOptions::new()).unwrap();
        domain.bind::<extern "C" fn(i32) -> i32>("deep").unwrap().call(100).unwrap();
        let start = domain.bind::<extern "C" fn() -> Pointer<u64>>("start").unwrap().call().unwrap();
        (domain, start.offset())
    });
    let (domain, start) = first.join().unwrap();
    let used = || {
        [start, window::CONTROL + stack::TOP].map(|top| {
            let words = peek(domain.base() + top - 0x8000, 0x1000).expect("the slot is mapped");
            words.into_iter().filter(|word| *word != 0).count()
        })
    };
    assert_eq!(used(), [0, 0], "words of a thread that has ended");
    let deep = domain.bind::<extern "C" fn(i32) -> i32>("deep").unwrap();
    assert_eq!(deep.call(100).unwrap(), 5050);
    assert!(used().iter().all(|words| *words > 20), "the test looks where words would be");
}

/// R22: a thread that was in a domain that is gone is not let into the next one in the same place with the old one's
/// stack. Red if `Core::drop` leaves the domain in slot tables.
#[test]
fn r22_slot_tables_forget_domains_that_are_gone() {
    type Work = Box<dyn FnOnce() + Send>;
    let module = Guest::c(DEEP).module();
    let (send, receive) = channel::<Work>();
    let (done, finished) = channel();
    let thread = std::thread::spawn(move || {
        for work in receive {
            work();
            done.send(()).expect("the test waits");
        }
    });
    let call = |domain: &Domain| {
        let deep = domain.bind::<extern "C" fn(i32) -> i32>("deep").unwrap();
        send.send(Box::new(move || assert_eq!(deep.call(1).expect("it is let in"), 1))).unwrap();
        finished.recv().expect("the thread lives");
    };
    let first = Domain::new(&module, DomainOptions::new()).unwrap();
    let base = first.base();
    call(&first);
    drop(first);
    // Other tests take strides, too: look for ours among a few.
    let domains: Vec<_> = (0..64).map(|_| Domain::new(&module, DomainOptions::new()).unwrap()).collect();
    call(domains.iter().find(|d| d.base() == base).expect("the stride is used again"));
    drop(send);
    thread.join().unwrap();
}

/// R22: thread slots are used again, and thread-local storage of the module follows the thread.
#[test]
fn r22_slots_are_used_again() {
    let domain = Guest::c(
        "static _Thread_local int n = 10; int *place(void) { return &n; } int count(void) { return ++n; }",
    )
    .domain();
    let count = domain.bind::<extern "C" fn() -> i32>("count").unwrap();
    assert_eq!(count.call().unwrap(), 11);
    for _ in 0..3 * stack::SLOTS {
        std::thread::scope(|scope| {
            scope.spawn(|| (11..14).for_each(|n| assert_eq!(count.call().unwrap(), n)));
        });
    }
    assert_eq!(count.call().unwrap(), 12);
}

/// R23: stack arguments of a host function are copied once; where they cannot be read, the call ends with a report. Red
/// if the gate copies without a guard: the host faults.
#[test]
fn r23_unreadable_arguments_end_the_call() {
    let prototype = format!("long host({})", crate::common::TEN_WORDS);
    let signature = prototype.parse().expect("a prototype");
    let host = HostFunction::dynamic(signature, |_, _| Ok(Value::Signed(0))).expect("a host function");
    let domain = Guest::assembly(crate::common::ASK_FROM_THE_TOP)
        .gate(&prototype)
        .domain_with(DomainOptions::new().gate("host", host));
    let error = crate::common::ask_from_the_top(&domain);
    let fault = error.fault().unwrap_or_else(|| panic!("{error}"));
    assert_eq!(fault.kind(), FaultKind::Gate);
    assert!(fault.reason().contains("arguments"), "{fault}");
}

/// R23: typed reads of memory that is not there are errors.
#[test]
fn r23_reads_and_writes_of_unmapped_memory_are_errors() {
    let domain = Guest::c("int f(void) { return 1; }").domain();
    for offset in [0, 8, window::HEADER - 8, 0x7000_0000, window::SIZE - 4, window::STACKS] {
        let pointer = Pointer::<u64>::from_address(domain.base() + offset);
        assert!(domain.read(pointer).is_err(), "{offset:#x}");
        assert!(domain.write(pointer, 1).is_err(), "{offset:#x}");
    }
    for offset in [window::HEADER, window::THUNKS, window::IMAGE] {
        let pointer = Pointer::<u64>::from_address(domain.base() + offset);
        assert!(domain.read(pointer).is_ok() && domain.write(pointer, 1).is_err(), "{offset:#x}");
    }
}

/// R23: system calls on memory that is not there, or not to be written, are errors of the call. Red without the
/// guarded copy or the guarded load: the host faults.
#[test]
fn r23_system_calls_on_unmapped_memory_are_errors() {
    let domain = Guest::c(
        "#include <errno.h>
         #include <unistd.h>
         long ask(long number, long a, long b, long c) { return syscall(number, a, b, c, 0) < 0 ? -errno : 0; }",
    )
    .domain();
    let ask = domain.bind::<extern "C" fn(i64, i64, i64, i64) -> i64>("ask").unwrap();
    for offset in [0, 0x7000_0000, window::STACKS, window::SIZE - 64] {
        let at = (domain.base() + offset) as i64;
        for (number, [a, b, c]) in [
            (libc::SYS_futex, [at, 0, 0]),
            (libc::SYS_clock_gettime, [0, at, 0]),
            (libc::SYS_getrandom, [at, 64, 0]),
            (libc::SYS_nanosleep, [at, 0, 0]),
        ] {
            let result = ask.call(number, a, b, c).unwrap();
            assert_eq!(result, -i64::from(libc::EFAULT), "system call {number} with {offset:#x}");
        }
    }
}

/// R23: what the kernel moves itself comes from the window, and goes to what the module may write there, wherever a pointer leads. Red if the
/// kernel gets the module's address as it is, or a part that goes on behind the window.
#[test]
fn r23_the_kernel_moves_bytes_to_memory_of_the_modules_alone() {
    let grants = Grants::default().connect("127.0.0.1:9").unwrap();
    let domain = Guest::c(
        "#define _GNU_SOURCE
         #include <errno.h>
         #include <string.h>
         #include <sys/epoll.h>
         #include <sys/eventfd.h>
         #include <sys/socket.h>
         #include <sys/uio.h>
         #include <unistd.h>
         static char bytes[8192];
         /* Of each call: 0, or its error; or what is wrong with it. */
         long ask(long which, char *at, long length) {
             static int ends[2], pair[2], set;
             static struct epoll_event event = {.events = EPOLLIN};
             struct iovec two[2] = {{at, length}, {bytes, 8}};
             struct msghdr message = {.msg_iov = two, .msg_iovlen = 2};
             if (!set) {
                 memset(bytes, 0x5a, sizeof bytes);
                 set = epoll_create1(0);
                 if (pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || set < 0) return 1;
                 if (epoll_ctl(set, EPOLL_CTL_ADD, eventfd(1, 0), &event)) return 2;
                 if (write(ends[1], bytes, 4096) != 4096 || write(pair[1], bytes, 4096) != 4096) return 3;
             }
             long done;
             switch (which) {
             case 0: done = read(ends[0], at, length); break;
             case 1: done = readv(ends[0], two, 2); break;
             case 2: done = recv(pair[0], at, length, 0); break;
             case 3: done = readv(pair[0], two, 2); break;
             case 4: done = recvmsg(pair[0], &message, 0); break;
             case 5: done = epoll_wait(set, (struct epoll_event *)at, length / sizeof event, 0); break;
             case 6: done = write(ends[1], at, length); break;
             case 7: done = writev(ends[1], two, 2); break;
             case 8: done = send(pair[1], at, length, 0); break;
             default: done = writev(pair[1], two, 2); break;
             }
             return done < 0 ? -errno : 0;
         }",
    )
    .domain_with(DomainOptions::new().grants(grants));
    let ask = domain.bind::<extern "C" fn(i64, u64, i64) -> i64>("ask").unwrap();
    let (written, read) = (0..6, 6..10);
    let hosts = vec![0x17_u8; 4096];
    let base = domain.base();
    let before = [window::HEADER, window::GATE_TABLE, window::THUNKS, window::IMAGE]
        .map(|offset| (offset, peek(base + offset, 8).unwrap()));
    for which in written.clone().chain(read.clone()) {
        for (offset, length) in [(0, 64), (0x7000_0000, 64), (window::STACKS, 64), (window::SIZE - 64, 4096)]
        {
            let result = ask.call(which, base + offset, length).unwrap();
            assert_eq!(result, -i64::from(libc::EFAULT), "call {which} with {offset:#x}");
        }
        // The host's own memory: the low half is an offset in the window, as it is for the module's instructions.
        let low = hosts.as_ptr().addr() as u64 % window::SIZE;
        let is_mapped = domain.read(Pointer::<u8>::from_address(base + low)).is_ok();
        let result = ask.call(which, hosts.as_ptr().addr() as u64, 64).unwrap();
        assert!(
            is_mapped || result == -i64::from(libc::EFAULT),
            "call {which} with the host's memory: {result}"
        );
        assert!(hosts.iter().all(|byte| *byte == 0x17), "call {which} wrote to the host's memory");
        // Control stacks lie behind the window.
        let result = ask.call(which, base + window::CONTROL, 64).unwrap();
        assert_eq!(result, -i64::from(libc::EFAULT), "call {which} with control stacks");
    }
    for (offset, words) in before {
        for which in written.clone() {
            let result = ask.call(which, base + offset, 64).unwrap();
            assert_eq!(result, -i64::from(libc::EFAULT), "call {which} with {offset:#x}");
            assert_eq!(peek(base + offset, 8).unwrap(), words, "call {which} wrote to {offset:#x}");
        }
    }
}

/// R24: nothing that the runtime puts into a window is an address of the host: header, gate table, thunks, constants and
/// data hold addresses of the window at most. (What callers leave in registers is another matter: the `integrity` policy
/// does not hide it.) Red if thunks or the gate table hold code addresses of the library.
#[test]
fn r24_readable_memory_shows_no_host_address() {
    let bytes = Guest::c("int f(void) { return 1; }").build();
    let domain = crate::common::started(&Module::from_bytes(&bytes).unwrap(), DomainOptions::new());
    domain.bind::<extern "C" fn() -> i32>("f").unwrap().call().unwrap();
    // (Where some other domain lies is a round number: constants of the C library's are that, too.)
    let is_the_modules = |word: u64| bytes.windows(8).any(|own| own == word.to_le_bytes());
    let (start, end) = (domain.base(), domain.base() + window::STACKS);
    let host = mappings(0x1_0000, 1 << 47);
    let is_host = |word: u64| {
        !(start..start + window::STRIDE).contains(&word)
            && host.iter().any(|m| m.accessible() && (m.start..m.end).contains(&word))
    };
    let mut words = 0;
    for mapping in mappings(start, end).into_iter().filter(|m| m.rights.starts_with('r')) {
        let from = mapping.start.max(start);
        // Unaligned places, too: thunks are code.
        for shift in 0..8 {
            let count = (mapping.end - from) as usize / 8 - 1;
            for (index, word) in peek(from + shift, count).unwrap().into_iter().enumerate() {
                words += 1;
                assert!(
                    !is_host(word) || is_the_modules(word),
                    "{word:#x} at {:#x}",
                    from + shift - start + 8 * index as u64
                );
            }
        }
    }
    assert!(words > 50_000);
    let table = peek(start + window::GATE_TABLE, gate::SLOTS as usize).unwrap();
    assert!(table.iter().all(|word| (start + window::THUNKS..start + window::IMAGE).contains(word)));
}

/// Every byte of a small module flipped: refused, or harmless. Never a crash of the host.
#[test]
fn flipped_modules_are_refused_or_harmless() {
    let bytes = Guest::c("int f(void) { return 1; }").build();
    let step = bytes.len() / 400 + 1;
    for at in (0..bytes.len()).step_by(step) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0xff;
        let Ok(module) = Module::from_bytes(&flipped) else { continue };
        let options = DomainOptions::new().time_limit(std::time::Duration::from_millis(50));
        let Ok(domain) = Domain::new(&module, options) else { continue };
        if let Ok(f) = domain.bind::<extern "C" fn() -> i32>("f") {
            drop(f.call());
        }
    }
}
