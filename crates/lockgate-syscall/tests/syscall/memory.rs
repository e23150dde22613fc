//! brk and the mmap family.
use crate::guest::{BASE, Guest, PAGE};
use lockgate_syscall::{Access, Grants};
use rustix::io::Errno;

const RW: u64 = (libc::PROT_READ | libc::PROT_WRITE) as u64;
const READ: u64 = libc::PROT_READ as u64;
const PRIVATE: u64 = libc::MAP_PRIVATE as u64;
const ANON: u64 = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;

#[test]
fn brk_moves_or_stays() {
    let guest = Guest::bare();
    let end = guest.ok(libc::SYS_brk, &[0]);
    assert_eq!(guest.ok(libc::SYS_brk, &[end + 100]), end + 100);
    assert_eq!(guest.ok(libc::SYS_brk, &[u64::MAX]), end + 100);
}

/// Every way to ask for executable memory.
#[test]
fn nothing_becomes_executable() {
    let guest = Guest::bare();
    let page = guest.ok(libc::SYS_mmap, &[0, PAGE, RW, ANON, u64::MAX, 0]);
    for exec in [libc::PROT_EXEC as u64, RW | libc::PROT_EXEC as u64, READ | libc::PROT_EXEC as u64] {
        assert_eq!(guest.err(libc::SYS_mmap, &[0, PAGE, exec, ANON, u64::MAX, 0]), Errno::PERM);
        assert_eq!(guest.err(libc::SYS_mprotect, &[page, PAGE, exec]), Errno::PERM);
    }
    let grows = libc::PROT_GROWSDOWN as u64 | RW;
    assert_eq!(guest.err(libc::SYS_mprotect, &[page, PAGE, grows]), Errno::INVAL);
    assert_eq!(guest.err(libc::SYS_mprotect, &[page, PAGE, 1 << 40 | READ]), Errno::INVAL);
}

#[test]
fn bad_ranges_are_refused() {
    let guest = Guest::bare();
    let fixed = ANON | libc::MAP_FIXED as u64;
    assert_eq!(guest.err(libc::SYS_mmap, &[0, 0, RW, ANON, u64::MAX, 0]), Errno::INVAL);
    assert_eq!(guest.err(libc::SYS_mmap, &[0, u64::MAX, RW, ANON, u64::MAX, 0]), Errno::NOMEM);
    assert_eq!(guest.err(libc::SYS_mmap, &[BASE + 1, PAGE, RW, fixed, u64::MAX, 0]), Errno::INVAL);
    assert_eq!(guest.err(libc::SYS_munmap, &[BASE + 8, PAGE]), Errno::INVAL);
    assert_eq!(guest.err(libc::SYS_munmap, &[BASE, u64::MAX - 10]), Errno::NOMEM);
    assert_eq!(guest.err(libc::SYS_mprotect, &[BASE + 8, PAGE, READ]), Errno::INVAL);
    assert_eq!(guest.err(libc::SYS_mremap, &[BASE, PAGE, PAGE, 4]), Errno::INVAL);
    let grows = ANON | libc::MAP_GROWSDOWN as u64;
    assert_eq!(guest.err(libc::SYS_mmap, &[0, PAGE, RW, grows, u64::MAX, 0]), Errno::INVAL);
}

#[test]
fn private_file_mapping_is_a_copy() {
    let host = tempfile::tempdir().unwrap();
    let text: Vec<u8> = (0..PAGE + 10).map(|i| i as u8).collect();
    std::fs::write(host.path().join("f"), &text).unwrap();
    let guest = Guest::with_data(host.path(), Access::ReadWrite);
    let fd = guest.open("/data/f", libc::O_RDWR);
    let at = guest.ok(libc::SYS_mmap, &[0, 2 * PAGE, READ, PRIVATE, fd, 0]);
    std::fs::write(host.path().join("f"), "gone").unwrap();
    assert_eq!(guest.get(at, text.len()), text);
    assert_eq!(guest.get(at + text.len() as u64, 4), [0; 4], "past the end it is zero");
    guest.ok(libc::SYS_munmap, &[at, 2 * PAGE]);
}

#[test]
fn shared_mappings_are_of_opened_files_only() {
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("f"), "text").unwrap();
    let stream = std::fs::File::options().read(true).write(true).open(host.path().join("f")).unwrap();
    let grants = Grants::default()
        .directory("/data", host.path(), Access::ReadWrite)
        .and_then(|grants| grants.stdin(stream.into()))
        .unwrap();
    let guest = Guest::new(grants);
    let shared = libc::MAP_SHARED as u64;
    let fd = guest.open("/data/f", libc::O_RDWR);
    let at = guest.ok(libc::SYS_mmap, &[0, PAGE, RW, shared, fd, 0]);
    assert_eq!(guest.get(at, 5), b"text\0");
    // Its host descriptor can write, but only reading was granted.
    assert_eq!(guest.err(libc::SYS_mmap, &[0, PAGE, READ, shared, 0, 0]), Errno::NODEV);
    assert_eq!(guest.err(libc::SYS_mmap, &[0, PAGE, READ, 0, fd, 0]), Errno::INVAL, "no kind of sharing");
}

#[test]
fn unreadable_files_and_bad_offsets_are_refused() {
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("f"), "text").unwrap();
    let guest = Guest::with_data(host.path(), Access::ReadWrite);
    let fd = guest.open("/data/f", libc::O_RDWR);
    let write_only = guest.open("/data/f", libc::O_WRONLY);
    let folder = guest.open("/data", libc::O_RDONLY);
    for flags in [PRIVATE, libc::MAP_SHARED as u64] {
        assert_eq!(guest.err(libc::SYS_mmap, &[0, PAGE, READ, flags, write_only, 0]), Errno::ACCESS);
        assert_eq!(guest.err(libc::SYS_mmap, &[0, PAGE, READ, flags, fd, 1]), Errno::INVAL);
        assert_eq!(guest.err(libc::SYS_mmap, &[0, PAGE, READ, flags, fd, !(PAGE - 1)]), Errno::OVERFLOW);
        assert_eq!(guest.err(libc::SYS_mmap, &[0, PAGE, READ, flags, folder, 0]), Errno::NODEV);
    }
}

/// The same number is a descriptor of the host's: the domain's table knows nothing of it.
#[test]
fn host_descriptors_cannot_be_mapped() {
    let secret = tempfile::tempfile().unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&secret) as u64;
    let guest = Guest::new(Grants::default());
    assert_eq!(guest.err(libc::SYS_mmap, &[0, PAGE, READ, PRIVATE, number, 0]), Errno::BADF);
}

#[test]
fn msync_takes_what_linux_takes() {
    let guest = Guest::bare();
    let page = guest.ok(libc::SYS_mmap, &[0, 2 * PAGE, RW, ANON, u64::MAX, 0]);
    let [wait, later, also] = [libc::MS_SYNC, libc::MS_ASYNC, libc::MS_INVALIDATE].map(|flag| flag as u64);
    for flags in [0, wait, later, also, wait | also, later | also] {
        guest.ok(libc::SYS_msync, &[page, PAGE + 1, flags]);
    }
    guest.ok(libc::SYS_msync, &[page, 0, wait]);
    for flags in [wait | later, 8, 1 << 31] {
        assert_eq!(guest.err(libc::SYS_msync, &[page, PAGE, flags]), Errno::INVAL, "{flags:#x}");
    }
    assert_eq!(guest.err(libc::SYS_msync, &[page + 1, 0, wait]), Errno::INVAL);
    assert_eq!(guest.err(libc::SYS_msync, &[page, u64::MAX, wait]), Errno::NOMEM);
    guest.ok(libc::SYS_munmap, &[page + PAGE, PAGE]);
    assert_eq!(guest.err(libc::SYS_msync, &[page, 2 * PAGE, later]), Errno::NOMEM);
}

#[test]
fn advice_drops_or_does_nothing() {
    let guest = Guest::bare();
    let at = guest.put(&[7; 8]);
    let page = at & !(PAGE - 1);
    guest.ok(libc::SYS_madvise, &[page, PAGE, libc::MADV_WILLNEED as u64]);
    assert_eq!(guest.word(at), 0x0707_0707_0707_0707);
    guest.ok(libc::SYS_madvise, &[page, PAGE, libc::MADV_DONTNEED as u64]);
    assert_eq!(guest.word(at), 0);
    assert_eq!(guest.err(libc::SYS_madvise, &[page, PAGE, libc::MADV_HWPOISON as u64]), Errno::INVAL);
}
