//! Who and where the module believes to be.
use crate::guest::{BASE, Guest};
use lockgate_syscall::{Outcome, Thread};
use rustix::io::Errno;

#[test]
fn the_process_is_the_hosts_and_all_else_is_always_the_same() {
    let guest = Guest::bare();
    let pid = guest.ok(libc::SYS_getpid, &[]);
    assert_eq!(pid, u64::from(std::process::id()), "the process that started a program finds it by that");
    let tid = guest.ok(libc::SYS_gettid, &[]);
    assert_eq!(tid, pid, "the first thread has the process's number");
    assert_eq!(guest.ok(libc::SYS_set_tid_address, &[0]), tid);
    let other = guest.call_as(
        libc::SYS_gettid,
        &[],
        Thread { slot: 3, deadline: None, stopped: || false, detaches: false },
    );
    assert_eq!(other, Outcome::Return(tid as i64 + 3));
    let ids = [libc::SYS_getuid, libc::SYS_geteuid, libc::SYS_getgid, libc::SYS_getegid];
    assert_eq!(ids.map(|number| guest.ok(number, &[])), [65534; 4]);
}

/// Each of the three is four bytes, and the same as what `getuid` says.
#[test]
fn real_effective_and_saved_are_the_same() {
    let guest = Guest::bare();
    for number in [libc::SYS_getresuid, libc::SYS_getresgid] {
        let ids = [(); 3].map(|()| guest.put(&[0xff; 8]));
        assert_eq!(guest.ok(number, &ids), 0);
        assert_eq!(ids.map(|at| guest.word(at)), [0xffff_ffff << 32 | 65534; 3], "system call {number}");
    }
}

#[test]
fn uname_tells_nothing_of_the_host() {
    let guest = Guest::bare();
    let at = guest.room(6 * 65);
    guest.ok(libc::SYS_uname, &[at]);
    let fields: Vec<_> = guest
        .get(at, 6 * 65)
        .chunks(65)
        .map(|field| String::from_utf8(field.split(|b| *b == 0).next().unwrap().to_vec()).unwrap())
        .collect();
    assert_eq!(fields[0], "Linux");
    assert_eq!(fields[1], "lockgate");
    assert_eq!(fields[4], "x86_64");
}

#[test]
fn sysinfo_shows_the_quota() {
    let guest = Guest::bare();
    let at = guest.room(112);
    guest.ok(libc::SYS_sysinfo, &[at]);
    assert_eq!(guest.word(at + 32), 64 << 20, "all memory is the quota");
    assert_eq!(guest.word(at + 40), 63 << 20, "free is what is left of it");
    assert_eq!(guest.get(at + 104, 4), 1u32.to_le_bytes(), "in bytes");
}

#[test]
fn limits_are_the_domains_and_fixed() {
    let guest = Guest::bare();
    let at = guest.room(16);
    guest.ok(libc::SYS_getrlimit, &[libc::RLIMIT_NOFILE.into(), at]);
    assert_eq!(guest.word(at), 256);
    guest.ok(libc::SYS_prlimit64, &[0, libc::RLIMIT_STACK.into(), 0, at]);
    assert_eq!(guest.word(at), lockgate_abi::stack::MAX_SIZE);
    assert_eq!(guest.err(libc::SYS_prlimit64, &[1, libc::RLIMIT_NOFILE.into(), 0, at]), Errno::SRCH);
    assert_eq!(guest.err(libc::SYS_getrlimit, &[16, at]), Errno::INVAL);
}

#[test]
fn segment_bases_belong_to_the_host() {
    const ARCH_SET_GS: u64 = 0x1001;
    const ARCH_SET_FS: u64 = 0x1002;
    let guest = Guest::bare();
    for code in [ARCH_SET_GS, ARCH_SET_FS] {
        assert_eq!(guest.err(libc::SYS_arch_prctl, &[code, 0]), Errno::PERM);
    }
}

#[test]
fn exit_ends_the_call_with_the_low_byte() {
    let guest = Guest::bare();
    for (status, seen) in [(0, 0), (3, 3), (256 + 7, 7), (-1i64 as u64, 255)] {
        assert_eq!(guest.call(libc::SYS_exit_group, &[status]), Outcome::Exit(seen));
        assert_eq!(guest.call(libc::SYS_exit, &[status]), Outcome::Exit(seen));
    }
}

#[test]
fn random_bytes_are_random_and_bounded() {
    let guest = Guest::bare();
    let (one, two) = (guest.room(64), guest.room(64));
    assert_eq!(guest.ok(libc::SYS_getrandom, &[one, 64, 0]), 64);
    assert_eq!(guest.ok(libc::SYS_getrandom, &[two, 64, 0]), 64);
    assert_ne!(guest.get(one, 64), guest.get(two, 64));
    assert_eq!(guest.ok(libc::SYS_getrandom, &[one, u64::MAX, 0]), 256, "a short answer, as Linux may give");
    assert_eq!(guest.err(libc::SYS_getrandom, &[one, 8, 0x100]), Errno::INVAL);
}

#[test]
fn one_processor() {
    let guest = Guest::bare();
    let at = guest.room(128);
    assert_eq!(guest.ok(libc::SYS_sched_getaffinity, &[0, 128, at]), 8);
    assert_eq!(guest.word(at), 1);
    guest.ok(libc::SYS_sched_yield, &[]);
    // The thread is always on that one, each answer is four bytes, and null asks for none.
    let (processor, node) = (guest.put(&[0xff; 8]), guest.put(&[0xff; 8]));
    guest.ok(libc::SYS_getcpu, &[processor, node, BASE - 1]);
    assert_eq!((guest.word(processor), guest.word(node)), (0xffff_ffff << 32, 0xffff_ffff << 32));
    guest.ok(libc::SYS_getcpu, &[0, 0, 0]);
}

/// Null is no error to it, unlike to the calls of `hostile.rs`.
#[test]
fn getcpu_writes_nowhere_else() {
    let guest = Guest::bare();
    for bad in [1, BASE - 4, BASE + (4 << 20) - 3, &guest as *const Guest as u64, u64::MAX, 1 << 47] {
        assert_eq!(guest.err(libc::SYS_getcpu, &[bad, 0, 0]), Errno::FAULT, "{bad:#x}");
        assert_eq!(guest.err(libc::SYS_getcpu, &[0, bad, 0]), Errno::FAULT, "{bad:#x}");
    }
}

/// libc has a lock there, which others wait for: a program's first thread takes it in `pthread_exit`.
#[test]
fn the_word_that_a_thread_names_is_cleared_when_it_exits() {
    let guest = Guest::bare();
    let at = guest.put(&7_u64.to_le_bytes());
    guest.ok(libc::SYS_set_tid_address, &[at]);
    assert_eq!(guest.call(libc::SYS_exit_group, &[1]), Outcome::Exit(1));
    assert_eq!(guest.word(at), 7, "all ends, and no thread waits");
    assert_eq!(guest.call(libc::SYS_exit, &[1]), Outcome::Exit(1));
    assert_eq!(guest.word(at), 0);
    // Once; and null takes it back.
    let other = guest.put(&7_u64.to_le_bytes());
    guest.ok(libc::SYS_set_tid_address, &[other]);
    guest.ok(libc::SYS_set_tid_address, &[0]);
    assert_eq!(guest.call(libc::SYS_exit, &[1]), Outcome::Exit(1));
    assert_eq!((guest.word(other), guest.word(at)), (7, 0));
}
