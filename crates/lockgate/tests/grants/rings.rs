//! Rings: order, wrap-around, and hostile peers on either side.
use super::Guest;
use crate::common::watchdog;
use lockgate::grant::{Ring, RingError};
use lockgate::{Domain, DomainOptions, FaultKind, Pointer, Region, Rights};
use lockgate_abi::PAGE;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::os::fd::AsFd;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <lockgate_ring.h>
static struct lg_ring in, out;
int open_in(void *at, unsigned capacity) { return lg_ring_open(&in, at, capacity, 8); }
int open_out(void *at, unsigned capacity) { return lg_ring_open(&out, at, capacity, 8); }
int push(long value) { return lg_ring_push(&out, &value); }
long pop(void) { long value = -1000; int got = lg_ring_pop(&in, &value); return got == 1 ? value : got - 100; }
/* Sends `count` squares, then waits until they were taken. */
int produce(long count) { for (long i = 0; i < count;) { long square = i * i; int r = lg_ring_push(&out, &square); if (r < 0) return r; i += r; } return 0; }
/* Takes numbers and sends them on, one more each. */
int echo(long count) { for (long i = 0; i < count; i++) { long v; int r; while ((r = lg_ring_pop(&in, &v)) == 0) ; if (r < 0) return r; v++; while ((r = lg_ring_push(&out, &v)) == 0) ; if (r < 0) return r; } return 0; }
/* The same, asleep in between. */
int relay(long count, long nanoseconds) { int r = 1; for (long i = 0; i < count && r == 1; i++) { long v; r = lg_ring_receive(&in, &v, nanoseconds); v++; if (r == 1) r = lg_ring_send(&out, &v, nanoseconds); } return r == 1 ? 0 : r - 1; }
int send_all(long count) { for (long i = 0; i < count; i++) if (lg_ring_send(&out, &i, -1) != 1) return 1; return 0; }
/* At a word of others, whatever it is. */
int sleep_at(_Atomic unsigned *word) { unsigned value = *word; word[1] = 1; return syscall(SYS_futex, word, 0, value, 0, 0, 0) ? -errno : 0; }
/* Locks of one domain's threads, in memory that others share. */
int prepare(pthread_mutex_t *mutex, int shared) { pthread_mutexattr_t how; pthread_mutexattr_init(&how); if (shared) pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED); return pthread_mutex_init(mutex, &how); }
int take_turns(pthread_mutex_t *mutex, long count) { static long inside; for (long i = 0; i < count; i++) { if (pthread_mutex_lock(mutex)) return 1; if (inside++) return 2; struct timespec brief = {0, 1000}; nanosleep(&brief, 0); inside--; pthread_mutex_unlock(mutex); } return 0; }
/* The same for one whose owner may end, and for locks that several domains share. */
int prepare_robust(pthread_mutex_t *mutex) { pthread_mutexattr_t how; pthread_mutexattr_init(&how); pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST); pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED); return pthread_mutex_init(mutex, &how); }
int lock(pthread_mutex_t *mutex) { return pthread_mutex_lock(mutex); }
int count_up(pthread_mutex_t *mutex, volatile long *counter, long count) { for (long i = 0; i < count; i++) { if (pthread_mutex_lock(mutex)) return 1; (*counter)++; pthread_mutex_unlock(mutex); } return 0; }
/* A hostile peer: all of the ring, indices included, with anything, for ever. */
void scribble(volatile unsigned *p, long words) { unsigned long r = 88172645463325252u; for (;;) for (long i = 0; i < words; i++) { r ^= r << 13; r ^= r >> 7; r ^= r << 17; p[i] = r; } }
"#;

fn module() -> Arc<lockgate::Module> {
    static MODULE: OnceLock<Arc<lockgate::Module>> = OnceLock::new();
    MODULE
        .get_or_init(|| Guest::c_with(SOURCE, &["-O2", "-std=c11", "-Wall", "-Wextra", "-Werror"]).module())
        .clone()
}

fn domain(name: &str) -> Domain {
    let options = DomainOptions::new().name(name).time_limit(std::time::Duration::from_secs(60));
    Domain::new(&module(), options).unwrap()
}

type Open = extern "C" fn(Pointer<u8>, u32) -> i32;

#[test]
fn elements_come_out_in_order() {
    let region = Region::new(Ring::<u32>::size(8)).unwrap();
    let mut producer = Ring::<u32>::new(&region, 0, 8).unwrap().producer();
    let mut consumer = Ring::<u32>::open(&region, 0, 8).unwrap().consumer();
    let mut next = 0;
    for round in 0..1000_u32 {
        let mut pushed = 0;
        while producer.push(&(round * 8 + pushed)).unwrap() {
            pushed += 1;
        }
        assert_eq!(pushed, 8, "all of it, each time");
        for expected in 0..8 {
            assert_eq!(consumer.pop().unwrap().unwrap().trust("compared only"), round * 8 + expected);
            next += 1;
        }
        assert!(consumer.pop().unwrap().is_none());
    }
    assert_eq!(next, 8000);
}

#[test]
fn numbers_are_checked() {
    let region = Region::new(PAGE).unwrap();
    for capacity in [0, 3, 100, u32::MAX] {
        assert!(matches!(Ring::<u8>::new(&region, 0, capacity), Err(RingError::Capacity(_))), "{capacity}");
    }
    for (at, capacity) in [(0, 4096), (PAGE, 1), (4096 - 128, 1), (8, 1), (u64::MAX - 63, 1), (0, 1 << 31)] {
        assert!(
            matches!(Ring::<u64>::new(&region, at, capacity), Err(RingError::Grant(_))),
            "{at} {capacity}"
        );
    }
    assert!(matches!(Ring::<[u8; 0]>::new(&region, 0, 8), Err(RingError::NoElement)));
    Ring::<u64>::new(&region, 0, 256).unwrap();
}

#[test]
fn a_domain_produces_and_the_host_consumes() {
    let guest = domain("producer");
    let region = Region::new(Ring::<i64>::size(64)).unwrap();
    let mut consumer = Ring::<i64>::new(&region, 0, 64).unwrap().consumer();
    let grant = guest.grant(&region, Rights::ReadWrite).unwrap();
    assert_eq!(guest.bind::<Open>("open_out").unwrap().call(grant.pointer(0).unwrap(), 64).unwrap(), 0);
    let produce = guest.bind::<extern "C" fn(i64) -> i32>("produce").unwrap();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| produce.call(20_000));
        let mut expected = 0;
        while expected < 20_000 {
            if let Some(value) = consumer.pop().unwrap() {
                assert_eq!(value.trust("compared only"), expected * expected);
                expected += 1;
            } else {
                std::thread::yield_now();
            }
        }
        assert_eq!(call.join().unwrap().unwrap(), 0);
    });
    assert!(consumer.pop().unwrap().is_none());
}

/// Host to domain to domain to host, each a thread of its own; the domains have rings of their own between them.
#[test]
fn domains_talk_to_each_other() {
    const COUNT: i64 = 5000;
    let (first, second) = (domain("first"), domain("second"));
    let size = Ring::<i64>::size(32).next_multiple_of(64);
    let region = Region::new(3 * size).unwrap();
    let mut producer = Ring::<i64>::new(&region, 0, 32).unwrap().producer();
    drop(Ring::<i64>::new(&region, size, 32).unwrap());
    let mut consumer = Ring::<i64>::new(&region, 2 * size, 32).unwrap().consumer();
    let grant = first.grant(&region, Rights::ReadWrite).unwrap();
    let onward = grant.pass_on(&second, Rights::ReadWrite).unwrap();
    let open =
        |domain: &Domain, name, at| assert_eq!(domain.bind::<Open>(name).unwrap().call(at, 32).unwrap(), 0);
    open(&first, "open_in", grant.pointer(0).unwrap());
    open(&first, "open_out", grant.pointer(size).unwrap());
    open(&second, "open_in", onward.pointer(size).unwrap());
    open(&second, "open_out", onward.pointer(2 * size).unwrap());
    let echo = [&first, &second].map(|domain| domain.bind::<extern "C" fn(i64) -> i32>("echo").unwrap());
    std::thread::scope(|scope| {
        let calls = echo.map(|echo| scope.spawn(move || echo.call(COUNT)));
        let (mut sent, mut got) = (0, 0);
        while got < COUNT {
            if sent < COUNT && producer.push(&(sent * 10)).unwrap() {
                sent += 1;
            }
            match consumer.pop().unwrap() {
                Some(value) => {
                    assert_eq!(value.trust("compared only"), got * 10 + 2);
                    got += 1;
                }
                None => std::thread::yield_now(),
            }
        }
        for call in calls {
            assert_eq!(call.join().unwrap().unwrap(), 0);
        }
    });
}

/// Impossible indices of the other side, for the host: an error, and nothing outside the ring changes or is read. Red
/// without the check in `Ring::filled`.
#[test]
fn impossible_indices_are_refused_by_the_host() {
    const CAPACITY: u32 = 4;
    let region = Region::new(PAGE).unwrap();
    let all = region.slice::<u32>(0, 1024).unwrap();
    let at = 1024;
    let words = |byte: u64| (at + byte) / 4;
    for bad in [1, 5, 1000, 1 << 31, u32::MAX - 5] {
        all.write(0, &vec![0xAAAA_AAAA; 1024]).unwrap();
        let mut producer = Ring::<u64>::new(&region, at, CAPACITY).unwrap().producer();
        // The consumer claims to have taken what was never there.
        all.write(words(0), &[bad]).unwrap();
        match producer.push(&0x5555) {
            Err(RingError::Corrupted { claimed, capacity: CAPACITY }) => {
                assert_eq!(claimed, 0_u32.wrapping_sub(bad))
            }
            other => panic!("{bad}: {other:?}"),
        }
        let mut consumer = Ring::<u64>::new(&region, at, CAPACITY).unwrap().consumer();
        // The producer claims to have put in more than there is room.
        all.write(words(64), &[bad.max(5)]).unwrap();
        assert!(matches!(consumer.pop(), Err(RingError::Corrupted { .. })), "{bad}");
        let after = all.copy_in(0..1024).unwrap().trust("compared only");
        let ring = words(0) as usize..words(Ring::<u64>::size(CAPACITY)) as usize;
        let outside = after.iter().enumerate().filter(|(index, _)| !ring.contains(index));
        assert!(outside.clone().count() > 900);
        for (index, word) in outside {
            assert_eq!(*word, 0xAAAA_AAAA, "word {index}");
        }
    }
}

/// The same for a domain, by the C header.
#[test]
fn impossible_indices_are_refused_by_a_domain() {
    const CAPACITY: u32 = 4;
    let guest = domain("guest");
    let region = Region::new(PAGE).unwrap();
    let all = region.slice::<u32>(0, 1024).unwrap();
    let grant = guest.grant(&region, Rights::ReadWrite).unwrap();
    let at = 1024;
    let open = |name| guest.bind::<Open>(name).unwrap().call(grant.pointer(at).unwrap(), CAPACITY).unwrap();
    let push = guest.bind::<extern "C" fn(i64) -> i32>("push").unwrap();
    let pop = guest.bind::<extern "C" fn() -> i64>("pop").unwrap();
    for bad in [5_u32, 1000, 1 << 31, u32::MAX - 5] {
        all.write(0, &vec![0xAAAA_AAAA; 1024]).unwrap();
        Ring::<u64>::new(&region, at, CAPACITY).unwrap();
        assert_eq!((open("open_in"), open("open_out")), (0, 0));
        all.write(at / 4, &[bad]).unwrap();
        assert_eq!(push.call(1).unwrap(), -1, "{bad}");
        all.write(at / 4 + 16, &[bad]).unwrap();
        assert_eq!(pop.call().unwrap(), -101, "{bad}");
        let after = all.copy_in(0..1024).unwrap().trust("compared only");
        let ring = (at / 4) as usize..(at / 4 + Ring::<u64>::size(CAPACITY) / 4) as usize;
        for (index, word) in after.iter().enumerate().filter(|(index, _)| !ring.contains(index)) {
            assert_eq!(*word, 0xAAAA_AAAA, "word {index}");
        }
    }
    assert_eq!(guest.bind::<Open>("open_in").unwrap().call(grant.pointer(at).unwrap(), 3).unwrap(), -1);
}

/// A peer that writes anything everywhere in its ring, all the time, while the host pushes and pops: nothing outside the ring changes, and what comes
/// out was in the ring.
#[test]
fn a_scribbling_peer_cannot_lead_the_host_out_of_the_ring() {
    const CAPACITY: u32 = 8;
    let guest = domain("hostile");
    // The ring has a page of its own; the host keeps what matters right behind it.
    let region = Region::new(2 * PAGE).unwrap();
    let guard = region.slice::<u32>(PAGE, 1024).unwrap();
    guard.write(0, &vec![0x600D_600D; 1024]).unwrap();
    let at = PAGE - Ring::<u64>::size(CAPACITY);
    let grant = guest.grant(&region, Rights::ReadWrite).unwrap();
    let scribble = guest.bind::<extern "C" fn(Pointer<u32>, i64)>("scribble").unwrap();
    let (target, words) = (grant.pointer(at).unwrap(), (PAGE - at) as i64 / 4);
    std::thread::scope(|scope| {
        let call = scope.spawn(|| scribble.call(target, words));
        let (mut refused, mut done) = (0, 0);
        for _ in 0..20_000 {
            let mut producer = Ring::<u64>::open(&region, at, CAPACITY).unwrap().producer();
            let mut consumer = Ring::<u64>::open(&region, at, CAPACITY).unwrap().consumer();
            for _ in 0..4 {
                match producer.push(&0xBAD0_BAD0_BAD0_BAD0) {
                    Ok(_) => done += 1,
                    Err(RingError::Corrupted { .. }) => refused += 1,
                    Err(other) => panic!("{other}"),
                }
                match consumer.pop() {
                    Ok(_) => done += 1,
                    Err(RingError::Corrupted { .. }) => refused += 1,
                    Err(other) => panic!("{other}"),
                }
            }
        }
        assert!(refused > 1000 && done + refused == 160_000, "{refused} refused, {done} done");
        grant.revoke();
        call.join().unwrap().expect_err("the grant has gone");
    });
    let after = guard.copy_in(0..1024).unwrap().trust("compared only");
    assert!(after.iter().all(|word| *word == 0x600D_600D), "something behind the ring was overwritten");
}

/// A ring whose grant is revoked: the host's end goes on, for the memory is its own.
#[test]
fn the_hosts_end_outlives_the_grant() {
    let guest = domain("guest");
    let region = Region::new(Ring::<i64>::size(4)).unwrap();
    let mut consumer = Ring::<i64>::new(&region, 0, 4).unwrap().consumer();
    let grant = guest.grant(&region, Rights::ReadWrite).unwrap();
    guest.bind::<Open>("open_out").unwrap().call(grant.pointer(0).unwrap(), 4).unwrap();
    let push = guest.bind::<extern "C" fn(i64) -> i32>("push").unwrap();
    assert_eq!(push.call(17).unwrap(), 1);
    grant.revoke();
    push.call(18).expect_err("the grant has gone");
    assert_eq!(consumer.pop().unwrap().unwrap().trust("compared only"), 17);
    assert!(consumer.pop().unwrap().is_none());
}

/// A thread that sleeps for what comes, on each of both sides in turn: the host's, woken by the domain, and the domain's, woken by the host.
#[test]
fn both_sides_sleep_until_the_other_wakes_them() {
    let _watchdog = watchdog("rings whose sides sleep");
    let guest = domain("sleeper");
    let size = Ring::<i64>::size(2).next_multiple_of(64);
    let region = Region::new(2 * size).unwrap();
    let mut producer = Ring::<i64>::new(&region, 0, 2).unwrap().producer();
    let mut consumer = Ring::<i64>::new(&region, size, 2).unwrap().consumer();
    let grant = guest.grant(&region, Rights::ReadWrite).unwrap();
    for (name, at) in [("open_in", 0), ("open_out", size)] {
        assert_eq!(guest.bind::<Open>(name).unwrap().call(grant.pointer(at).unwrap(), 2).unwrap(), 0);
    }
    let relay = guest.bind::<extern "C" fn(i64, i64) -> i32>("relay").unwrap();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| relay.call(2000, -1));
        for number in 0..2000 {
            assert!(producer.send(&number, None).unwrap());
            assert_eq!(consumer.receive(None).unwrap().unwrap().trust("compared only"), number + 1);
        }
        assert_eq!(call.join().unwrap().unwrap(), 0);
    });
    // All at once: each side is full, or empty, most of the time.
    std::thread::scope(|scope| {
        let call = scope.spawn(|| relay.call(20_000, -1));
        let sends =
            scope.spawn(|| (0..20_000).for_each(|number| assert!(producer.send(&number, None).unwrap())));
        for number in 0..20_000 {
            assert_eq!(consumer.receive(None).unwrap().unwrap().trust("compared only"), number + 1);
        }
        sends.join().unwrap();
        assert_eq!(call.join().unwrap().unwrap(), 0);
    });
}

#[test]
fn who_sleeps_in_vain_goes_on_in_time() {
    let guest = domain("sleeper");
    let region = Region::new(PAGE).unwrap();
    let soon = Duration::from_millis(2);
    let mut producer = Ring::<i64>::new(&region, 0, 1).unwrap().producer();
    let mut consumer = Ring::<i64>::open(&region, 0, 1).unwrap().consumer();
    assert!(consumer.receive(Some(soon)).unwrap().is_none());
    assert!(producer.send(&1, Some(soon)).unwrap());
    assert!(!producer.send(&2, Some(soon)).unwrap(), "it is full");
    assert!(consumer.receive(Some(Duration::ZERO)).unwrap().is_some());
    let grant = guest.grant(&region, Rights::ReadWrite).unwrap();
    Ring::<i64>::new(&region, 0, 2).unwrap();
    assert_eq!(guest.bind::<Open>("open_in").unwrap().call(grant.pointer(0).unwrap(), 2).unwrap(), 0);
    let relay = guest.bind::<extern "C" fn(i64, i64) -> i32>("relay").unwrap();
    assert_eq!(relay.call(1, 2_000_000).unwrap(), -1, "LG_RING_WAIT");
    assert_eq!(relay.call(1, 0).unwrap(), -1);
}

/// A time limit, the call's stop, the domain's end, the end of the grant: whoever sleeps at a word of others goes, as from any wait.
#[test]
fn sleeps_end_with_their_calls() {
    let _watchdog = watchdog("sleeps at shared words");
    let region = Region::new(PAGE).unwrap();
    let short = DomainOptions::new().time_limit(Duration::from_millis(20));
    let limited = crate::common::started(&module(), short);
    let grant = limited.grant(&region, Rights::ReadWrite).unwrap();
    let sleep = |domain: &Domain| domain.bind::<extern "C" fn(Pointer<u32>) -> i32>("sleep_at").unwrap();
    let error = sleep(&limited).call(grant.pointer(0).unwrap()).unwrap_err();
    assert_eq!(error.fault().unwrap().kind(), FaultKind::TimeOut);
    let word = region.slice::<u32>(4, 1).unwrap();
    for _ in 0..50 {
        let guest = domain("killed");
        let grant = guest.grant(&region, Rights::ReadWrite).unwrap();
        let (function, at) = (sleep(&guest), grant.pointer(0).unwrap());
        word.write(0, &[0]).unwrap();
        std::thread::scope(|scope| {
            let call = scope.spawn(|| function.call(at));
            // Short of the sleep, or in it.
            while word.get(0).unwrap().trust("a flag of the test's") == 0 {
                std::thread::yield_now();
            }
            guest.kill();
            assert!(call.join().unwrap().is_err());
        });
    }
    word.write(0, &[0]).unwrap();
    // Who loses the right to the word does not sleep there for long.
    let guest = domain("deprived");
    let grant = guest.grant(&region, Rights::ReadWrite).unwrap();
    let (function, at) = (sleep(&guest), grant.pointer(0).unwrap());
    std::thread::scope(|scope| {
        let call = scope.spawn(|| function.call(at));
        while word.get(0).unwrap().trust("a flag of the test's") == 0 {
            std::thread::yield_now();
        }
        grant.revoke();
        assert_eq!(call.join().unwrap().unwrap(), -rustix::io::Errno::FAULT.raw_os_error());
    });
}

/// An event loop's way: the descriptor says when there may be something.
#[test]
fn a_descriptor_is_told_of_what_comes() {
    let guest = domain("sender");
    let region = Region::new(Ring::<i64>::size(4)).unwrap();
    let mut consumer = Ring::<i64>::new(&region, 0, 4).unwrap().consumer();
    let grant = guest.grant(&region, Rights::ReadWrite).unwrap();
    assert_eq!(guest.bind::<Open>("open_out").unwrap().call(grant.pointer(0).unwrap(), 4).unwrap(), 0);
    let event = eventfd(0, EventfdFlags::NONBLOCK).unwrap();
    consumer.notify(Some(event.as_fd())).unwrap();
    let send_all = guest.bind::<extern "C" fn(i64) -> i32>("send_all").unwrap();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| send_all.call(10_000));
        let mut expected = 0;
        while expected < 10_000 {
            match consumer.pop().unwrap() {
                Some(value) => {
                    assert_eq!(value.trust("compared only"), expected);
                    expected += 1;
                    consumer.wake().unwrap();
                }
                None if consumer.arm().unwrap() => {
                    let mut fds = [PollFd::new(&event, PollFlags::IN)];
                    let minute = Timespec { tv_sec: 60, tv_nsec: 0 };
                    // (Kicks of other tests' domains come here, too.)
                    let told = rustix::io::retry_on_intr(|| poll(&mut fds, Some(&minute)));
                    assert_eq!(told.unwrap(), 1, "it is told");
                    rustix::io::read(&event, &mut [0; 8]).unwrap();
                }
                None => {}
            }
        }
        assert_eq!(call.join().unwrap().unwrap(), 0);
    });
    consumer.notify(None).unwrap();
    assert!(consumer.arm().unwrap());
    assert_eq!(send_all.call(1).unwrap(), 0);
    assert!(rustix::io::read(&event, &mut [0; 8]).is_err(), "nobody asks any more");
}

/// Locks wait and wake by the same kind of futex, which in such memory are two.
#[test]
fn locks_of_one_domain_work_in_shared_memory() {
    let _watchdog = watchdog("locks in shared memory");
    let guest = domain("locker");
    let region = Region::new(PAGE).unwrap();
    let grant = guest.grant(&region, Rights::ReadWrite).unwrap();
    let prepare = guest.bind::<extern "C" fn(Pointer<u8>, i32) -> i32>("prepare").unwrap();
    let turns = guest.bind::<extern "C" fn(Pointer<u8>, i64) -> i32>("take_turns").unwrap();
    for shared in [0, 1] {
        let at = grant.pointer(64 * shared as u64).unwrap();
        assert_eq!(prepare.call(at, shared).unwrap(), 0);
        std::thread::scope(|scope| {
            let calls = [(); 3].map(|()| scope.spawn(|| turns.call(at, 200)));
            calls.into_iter().for_each(|call| assert_eq!(call.join().unwrap().unwrap(), 0));
        });
    }
}

/// The next one is told, although it sleeps in the kernel and not in the domain's own table.
#[test]
fn a_dead_owners_lock_in_shared_memory_is_handed_on() {
    let _watchdog = watchdog("a robust lock in shared memory");
    let guest = domain("owner");
    let region = Region::new(PAGE).unwrap();
    let grant = guest.grant(&region, Rights::ReadWrite).unwrap();
    let at = grant.pointer::<u8>(0).unwrap();
    let [prepare, lock] =
        ["prepare_robust", "lock"].map(|name| guest.bind::<extern "C" fn(Pointer<u8>) -> i32>(name).unwrap());
    assert_eq!(prepare.call(at).unwrap(), 0);
    let word = region.slice::<i32>(4, 1).unwrap();
    let (locked, ends) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
    let (lock, locked, ends) = (&lock, &locked, &ends);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            assert_eq!(lock.call(at).unwrap(), 0);
            locked.wait();
            ends.wait();
        });
        locked.wait();
        let waits = scope.spawn(move || lock.call(at));
        // (The highest bit says that somebody waits.)
        while word.get(0).unwrap().trust("a word of libc's") >= 0 {
            std::thread::yield_now();
        }
        ends.wait();
        assert_eq!(waits.join().unwrap().unwrap(), libc::EOWNERDEAD);
    });
}

/// Each domain has one thread, for which libc takes locks without an atomic operation, but not those.
#[test]
fn domains_share_a_lock() {
    let _watchdog = watchdog("a lock of two domains");
    let region = Region::new(PAGE).unwrap();
    let both = ["one", "other"].map(domain);
    let grants = both.each_ref().map(|domain| domain.grant(&region, Rights::ReadWrite).unwrap());
    let at = |grant: &lockgate::Grant| (grant.pointer::<u8>(0).unwrap(), grant.pointer::<i64>(1024).unwrap());
    let prepare = both[0].bind::<extern "C" fn(Pointer<u8>, i32) -> i32>("prepare").unwrap();
    assert_eq!(prepare.call(at(&grants[0]).0, 1).unwrap(), 0);
    std::thread::scope(|scope| {
        for (domain, grant) in both.iter().zip(&grants) {
            scope.spawn(move || {
                let count =
                    domain.bind::<extern "C" fn(Pointer<u8>, Pointer<i64>, i64) -> i32>("count_up").unwrap();
                let (mutex, counter) = at(grant);
                assert_eq!(count.call(mutex, counter, 2_000_000).unwrap(), 0);
            });
        }
    });
    let counted = region.slice::<i64>(1024, 1).unwrap().get(0).unwrap().trust("compared only");
    assert_eq!(counted, 4_000_000);
}
