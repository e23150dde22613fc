//! Where regions come from, and what cannot be one.
use super::host_sys::{Mapping, share, word};
use super::{domain, faulted, load, store};
use lockgate::{FaultKind, GrantError, Region, Rights};
use lockgate_abi::{PAGE, window};
use std::io::Write;
use std::os::fd::AsFd;

fn memory_file(pages: u64) -> std::fs::File {
    let file = rustix::fs::memfd_create("host", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    let file = std::fs::File::from(file);
    file.set_len(pages * PAGE).unwrap();
    file
}

#[test]
fn sizes_are_checked() {
    assert!(matches!(Region::new(0), Err(GrantError::Empty)));
    assert!(matches!(Region::new(u64::MAX), Err(GrantError::NoRoom { .. })));
    assert!(matches!(Region::new(window::SHARED_END - window::SHARED), Err(GrantError::NoRoom { .. })));
    assert_eq!(Region::new(1).unwrap().length(), PAGE);
    assert_eq!(Region::new(PAGE + 1).unwrap().length(), 2 * PAGE);
}

/// Room is given back with the region.
#[test]
fn room_is_used_again() {
    for _ in 0..100 {
        let large = Region::new(64 << 20).unwrap();
        large.slice::<u8>(0, 1).unwrap().write(0, &[1]).unwrap();
    }
}

#[test]
fn host_memory_can_be_shared_where_it_is() {
    let guest = domain("guest");
    let host = Mapping::shared(4 * PAGE as usize);
    host.set_word(PAGE as usize, 11);
    let region = host.share(PAGE as usize, 2 * PAGE, Rights::ReadWrite).unwrap();
    let grant = guest.grant(&region, Rights::ReadWrite).unwrap();
    assert_eq!(load(&guest, grant.pointer(0).unwrap()).unwrap(), 11);
    store(&guest, grant.pointer(PAGE).unwrap(), 12).unwrap();
    assert_eq!(host.word(2 * PAGE as usize), 12);
    host.set_word(PAGE as usize, 13);
    assert_eq!(load(&guest, grant.pointer(0).unwrap()).unwrap(), 13);
    // Only that part: what the host has before and behind is not there.
    let after = grant.pointer::<i64>(0).unwrap().add(2 * PAGE / 8);
    faulted(load(&guest, after), after);
    // The pages outlive the host's own mapping of them.
    drop(host);
    assert_eq!(load(&guest, grant.pointer(0).unwrap()).unwrap(), 13);
    assert_eq!(word(&region, 0), 13);
}

/// A read-only part of host memory is never writable in the window. Red if the rights are set after the mapping is
/// there, or not at all.
#[test]
fn host_memory_can_be_shared_read_only() {
    let guest = domain("guest");
    let host = Mapping::shared(PAGE as usize);
    let region = host.share(0, PAGE, Rights::Read).unwrap();
    assert!(matches!(guest.grant(&region, Rights::ReadWrite), Err(GrantError::Upgrade { .. })));
    let grant = guest.grant(&region, Rights::Read).unwrap();
    let at = grant.pointer(0).unwrap();
    host.set_word(0, 3);
    assert_eq!(load(&guest, at).unwrap(), 3);
    faulted(store(&guest, at, 4), at);
    assert!(matches!(region.slice::<i64>(0, 1).unwrap().write(0, &[4]), Err(GrantError::Upgrade { .. })));
    assert_eq!(host.word(0), 3);
    // The same where the host may grant more.
    let region = host.share(0, PAGE, Rights::ReadWrite).unwrap();
    let grant = guest.grant(&region, Rights::Read).unwrap();
    let at = grant.pointer(0).unwrap();
    faulted(store(&guest, at, 4), at);
    assert_eq!(host.word(0), 3);
}

#[test]
fn what_is_not_the_hosts_to_share_is_refused() {
    let private = Mapping::private(2 * PAGE as usize);
    assert!(matches!(private.share(0, PAGE, Rights::Read), Err(GrantError::Private { .. })));
    let shared = Mapping::shared(2 * PAGE as usize);
    for (at, length) in [(1, PAGE), (0, PAGE - 1), (8, 8), (0, 1)] {
        let refused = shared.share(at, length, Rights::Read);
        assert!(matches!(refused, Err(GrantError::Unaligned { .. })), "{at} {length}: {refused:?}");
    }
    assert!(matches!(shared.share(0, 0, Rights::Read), Err(GrantError::Empty)));
    let absent = share(0x1000 as *mut u8, PAGE, Rights::Read);
    assert!(matches!(absent, Err(GrantError::NotMapped { .. })), "{absent:?}");
    let end = share(usize::MAX.wrapping_sub(4095) as *mut u8, 2 * PAGE, Rights::Read);
    assert!(matches!(end, Err(GrantError::NotMapped { .. })), "{end:?}");
}

/// The kernel would go on behind the end of a mapping with what the file has there. Red without the look at
/// /proc/self/maps.
#[test]
fn no_more_than_the_mapping_is_shared() {
    let file = memory_file(4);
    let mapped = Mapping::of_file(file.as_fd(), 2 * PAGE as usize);
    let beyond = mapped.share(PAGE as usize, 2 * PAGE, Rights::Read);
    assert!(matches!(beyond, Err(GrantError::NotMapped { .. })), "{beyond:?}");
    mapped.share(0, 2 * PAGE, Rights::Read).unwrap();
}

#[test]
fn files_can_be_shared() {
    let guest = domain("guest");
    let file = memory_file(3);
    let mapped = Mapping::of_file(file.as_fd(), 3 * PAGE as usize);
    let region = Region::from_file(&file, PAGE, PAGE, Rights::ReadWrite).unwrap();
    let grant = guest.grant(&region, Rights::ReadWrite).unwrap();
    store(&guest, grant.pointer(8).unwrap(), 21).unwrap();
    assert_eq!(mapped.word(PAGE as usize + 8), 21);
    // The host may write, this domain not.
    let reader = domain("reader");
    let grant = reader.grant(&region, Rights::Read).unwrap();
    assert_eq!(load(&reader, grant.pointer(8).unwrap()).unwrap(), 21);
    let at = grant.pointer(8).unwrap();
    faulted(store(&reader, at, 22), at);
    for (from, length) in [(PAGE, 3 * PAGE), (4 * PAGE, PAGE)] {
        let refused = Region::from_file(&file, from, length, Rights::Read);
        assert!(matches!(refused, Err(GrantError::File { .. })), "{refused:?}");
    }
    assert!(matches!(Region::from_file(&file, 0, 0, Rights::Read), Err(GrantError::Empty)));
    let refused = Region::from_file(&file, 7, PAGE, Rights::Read);
    assert!(matches!(refused, Err(GrantError::Unaligned { .. })), "{refused:?}");
}

/// A descriptor without the right to write does not get it here.
#[test]
fn a_read_only_descriptor_stays_read_only() {
    let mut named = tempfile::NamedTempFile::new().unwrap();
    named.write_all(&[5; PAGE as usize]).unwrap();
    let file = std::fs::File::open(named.path()).unwrap();
    let refused = Region::from_file(&file, 0, PAGE, Rights::ReadWrite);
    assert!(matches!(refused, Err(GrantError::Upgrade { .. })), "{refused:?}");
    let region = Region::from_file(&file, 0, PAGE, Rights::Read).unwrap();
    let guest = domain("guest");
    let grant = guest.grant(&region, Rights::Read).unwrap();
    assert_eq!(load(&guest, grant.pointer(0).unwrap()).unwrap(), 0x0505_0505_0505_0505);
}

/// R6: neither devices nor the kernel's own file systems.
#[test]
fn only_ordinary_files_are_shared() {
    for path in ["/dev/zero", "/proc/self/mem", "/proc/self/maps", "/tmp"] {
        let file = std::fs::File::open(path).unwrap();
        let refused = Region::from_file(&file, 0, PAGE, Rights::Read);
        assert!(matches!(refused, Err(GrantError::File { .. })), "{path}: {refused:?}");
    }
}

/// Somebody cuts the file: an error here, a fault of the call there, and the process goes on.
#[test]
fn a_file_that_is_cut_is_an_error_not_a_crash() {
    let guest = domain("guest");
    let file = memory_file(1);
    let region = Region::from_file(&file, 0, PAGE, Rights::ReadWrite).unwrap();
    let words = region.slice::<i64>(0, 512).unwrap();
    words.write(0, &[1]).unwrap();
    let grant = guest.grant(&region, Rights::ReadWrite).unwrap();
    let at = grant.pointer(0).unwrap();
    assert_eq!(load(&guest, at).unwrap(), 1);
    file.set_len(0).unwrap();
    assert!(matches!(words.get(0), Err(GrantError::Lost { .. })));
    assert!(matches!(words.write(0, &[2]), Err(GrantError::Lost { .. })));
    let error = load(&guest, at).unwrap_err();
    assert_eq!(error.fault().unwrap().kind(), FaultKind::Bus, "{error}");
}

/// Errors say what, where, and how to mend.
#[test]
fn errors_read_well() {
    let private = Mapping::private(PAGE as usize).share(0, PAGE, Rights::Read).unwrap_err().to_string();
    assert!(private.contains("private to the host") && private.contains("Region::new"), "{private}");
    let guest = domain("guest");
    let region = Region::new(PAGE).unwrap();
    let _grant = guest.grant(&region, Rights::Read).unwrap();
    let twice = guest.grant(&region, Rights::Read).unwrap_err().to_string();
    assert!(twice.contains("domain guest has the region at offset 0x"), "{twice}");
}

/// What a descriptor is not open for cannot be shared with it, and the error says so.
#[test]
fn descriptors_without_the_rights_are_told_apart() {
    let named = tempfile::NamedTempFile::new().unwrap();
    named.as_file().set_len(PAGE).unwrap();
    let open = |flags| rustix::fs::open(named.path(), flags, rustix::fs::Mode::empty()).unwrap();
    for flags in [rustix::fs::OFlags::PATH, rustix::fs::OFlags::WRONLY] {
        for rights in [Rights::Read, Rights::ReadWrite] {
            let refused = Region::from_file(open(flags), 0, PAGE, rights);
            assert!(matches!(refused, Err(GrantError::File { .. })), "{flags:?}: {refused:?}");
        }
    }
    use rustix::fs::{MemfdFlags, SealFlags};
    let sealed = rustix::fs::memfd_create("sealed", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    rustix::fs::ftruncate(&sealed, PAGE).unwrap();
    rustix::fs::fcntl_add_seals(&sealed, SealFlags::FUTURE_WRITE).unwrap();
    let refused = Region::from_file(&sealed, 0, PAGE, Rights::ReadWrite);
    assert!(matches!(refused, Err(GrantError::Upgrade { .. })), "{refused:?}");
    Region::from_file(&sealed, 0, PAGE, Rights::Read).unwrap();
}

/// Whoever could write what the library itself has mapped shared would write the code of calls.
#[test]
fn the_librarys_own_memory_is_not_shared() {
    let guest = domain("guest");
    let region = Region::new(PAGE).unwrap();
    let grant = guest.grant(&region, Rights::ReadWrite).unwrap();
    store(&guest, grant.pointer(0).unwrap(), 1).unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let own: Vec<_> = maps
        .lines()
        .filter(|line| line.contains("memfd:lockgate-code") || line.contains("memfd:lockgate-registry"))
        .collect();
    assert!(own.len() >= 3, "code to run and to write, and the table: {maps}");
    for line in own {
        let start = u64::from_str_radix(line.split('-').next().unwrap(), 16).unwrap();
        let refused = share(start as *mut u8, PAGE, Rights::ReadWrite);
        assert!(matches!(refused, Err(GrantError::NotMapped { .. })), "{line}: {refused:?}");
    }
}
