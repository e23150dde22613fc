//! What is emulated at all.
use crate::guest::Guest;
use lockgate_syscall::{COUNTED_TOGETHER, Class, TABLE, name};
use rustix::io::Errno;

/// Calls that would reach past the domain whatever was granted.
#[test]
fn dangerous_calls_do_not_exist() {
    let guest = Guest::bare();
    let dangerous = [
        libc::SYS_execve,
        libc::SYS_fork,
        libc::SYS_vfork,
        // (It exists. Without flags, as here, it is `fork`.)
        libc::SYS_clone,
        libc::SYS_clone3,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_mount,
        libc::SYS_chroot,
        libc::SYS_setuid,
        libc::SYS_capset,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_vmsplice,
        libc::SYS_open_by_handle_at,
        libc::SYS_name_to_handle_at,
        libc::SYS_personality,
        libc::SYS_seccomp,
        libc::SYS_modify_ldt,
        libc::SYS_pkey_mprotect,
        libc::SYS_remap_file_pages,
        libc::SYS_shmat,
        libc::SYS_reboot,
        libc::SYS_init_module,
        libc::SYS_rt_sigreturn,
    ];
    for number in dangerous {
        assert_eq!(guest.err(number, &[]), Errno::NOSYS, "system call {number}");
    }
    assert_eq!(guest.process.refused().len(), dangerous.len(), "each is counted");
    assert_eq!(guest.process.refused().iter().map(|(_, count)| count).sum::<u64>(), dangerous.len() as u64);
}

/// What programs try because they do well without is no news.
#[test]
fn refusals_that_are_expected_are_not_counted() {
    let guest = Guest::bare();
    for number in [
        libc::SYS_rseq,
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        libc::SYS_pidfd_open,
        libc::SYS_pidfd_send_signal,
        libc::SYS_pidfd_getfd,
    ] {
        assert_eq!(guest.err(number, &[]), Errno::NOSYS, "system call {number}");
    }
    for number in [libc::SYS_unshare, libc::SYS_setns] {
        assert_eq!(guest.err(number, &[0, libc::CLONE_NEWNET as u64]), Errno::PERM);
    }
    assert_eq!(guest.process.refused(), []);
}

#[test]
fn numbers_without_end_share_one_counter() {
    let guest = Guest::bare();
    for number in [COUNTED_TOGETHER as i64, 1 << 20, i64::MAX, -1, i64::MIN] {
        assert_eq!(guest.err(number, &[]), Errno::NOSYS);
    }
    assert_eq!(guest.process.refused(), [(COUNTED_TOGETHER, 5)]);
    // All that have a name are told apart, those behind the last of the table, too.
    let last = (0..COUNTED_TOGETHER).rev().find(|number| name(*number).is_some()).unwrap();
    assert!(last > TABLE[TABLE.len() - 1].number, "nothing lies behind the table");
    guest.err(last as i64, &[]);
    guest.err(libc::SYS_landlock_create_ruleset, &[]);
    let expected = [(libc::SYS_landlock_create_ruleset as u64, 1), (last, 1), (COUNTED_TOGETHER, 5)];
    assert_eq!(guest.process.refused(), expected);
    assert_eq!(name(COUNTED_TOGETHER), None);
}

/// Numbers and names agree with Linux's own list; ours are of those that it leaves free.
#[test]
fn numbers_are_linux() {
    for entry in TABLE {
        match entry.name.starts_with("lg_") {
            true => assert!((335..424).contains(&entry.number) && name(entry.number).is_none()),
            false => assert_eq!(name(entry.number), Some(entry.name)),
        }
    }
    assert_eq!(
        (name(libc::SYS_execve as u64), name(libc::SYS_socket as u64)),
        (Some("execve"), Some("socket"))
    );
    assert_eq!(name(u64::MAX), None);
}

/// The page that tells users what is emulated lists the table.
#[test]
fn documentation_lists_the_table() {
    let page = include_str!("../../../../docs/system-calls.md");
    for entry in TABLE {
        let class = match entry.class {
            Class::Own => "own",
            Class::Granted => "granted",
            Class::Refused => "refused",
        };
        let line = format!("| {} | `{}` | {class} |", entry.number, entry.name);
        assert!(page.contains(&line), "docs/system-calls.md lacks: {line}");
    }
    assert_eq!(page.lines().filter(|line| line.contains("| `")).count(), TABLE.len());
}

/// It also says of each other call of Linux's, once, why it is not there.
#[test]
fn documentation_lists_what_does_not_exist() {
    let page = include_str!("../../../../docs/system-calls.md");
    let (_, section) = page.split_once("\n## Calls that do not exist\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let mut listed: Vec<_> = section.split('`').skip(1).step_by(2).collect();
    listed.sort_unstable();
    let is_absent = |name: &&str| TABLE.iter().all(|entry| entry.name != *name);
    let mut absent: Vec<_> = (0..COUNTED_TOGETHER).filter_map(name).filter(is_absent).collect();
    absent.sort_unstable();
    assert_eq!(listed, absent);
}

/// With nothing granted, a call of class `Granted` finds nothing to work on.
#[test]
fn nothing_granted_nothing_reached() {
    let guest = Guest::bare();
    for entry in TABLE.iter().filter(|entry| entry.class == Class::Granted) {
        let path = guest.text("/etc/passwd");
        // Whether the first argument is taken for a descriptor or for a path, and the second for the rest.
        for arguments in
            [[path, path, path, 8, 0, 0], [0, path, path, 8, 0, 0], [-100i64 as u64, path, 0, 0, 0, 0]]
        {
            let outcome = guest.call(entry.number as i64, &arguments);
            let harmless = matches!(outcome, lockgate_syscall::Outcome::Return(value) if value < 0);
            // poll of no descriptors at all succeeds with nothing, and so does splice of no bytes.
            let is_nothing = entry.name.ends_with("poll") || ["splice", "tee"].contains(&entry.name);
            assert!(
                harmless || is_nothing && outcome == lockgate_syscall::Outcome::Return(0),
                "{}: {outcome:?}",
                entry.name
            );
        }
    }
}
