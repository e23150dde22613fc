//! What a domain's own memory services can do to granted memory: nothing. Each attack goes through without the bound of
//! `Services` at the shared region.
use super::{domain, faulted, host_sys, load, store};
use lockgate::{Domain, GrantError, Pointer, Region, Rights};
use lockgate_abi::{PAGE, window};
use std::os::unix::fs::MetadataExt as _;

const RW: i64 = 3;
const FIXED: i64 = 0x10;
const NO_REPLACE: i64 = 0x10_0000;
const EPERM: i64 = -1;
const EINVAL: i64 = -22;

fn ask(domain: &Domain, name: &str, [a, b, c, d]: [i64; 4]) -> i64 {
    type Four = extern "C" fn(i64, i64, i64, i64) -> i64;
    domain.bind::<Four>(name).unwrap().call(a, b, c, d).unwrap()
}

/// Every service, on a read-only grant, its edges, and the empty part of the shared region.
#[test]
fn memory_services_cannot_touch_the_shared_region() {
    let guest = domain("attacker");
    let region = Region::new(4 * PAGE).unwrap();
    region.slice::<i64>(0, 1).unwrap().write(0, &[7]).unwrap();
    let grant = guest.grant(&region, Rights::Read).unwrap();
    let at = grant.pointer::<i64>(0).unwrap();
    let page = PAGE as i64;
    let first = at.address() as i64;
    let shared = (guest.base() + window::SHARED) as i64;
    let own = ask(&guest, "map", [0, page, RW, 0]);
    assert!(own > 0);
    for place in [first, first + page, first - page, first + 4 * page, shared, shared - page + 2 * page] {
        let attacks: [(&str, [i64; 4], i64); 11] = [
            ("rights", [place, page, RW, 0], EPERM),
            ("rights", [place, page, 0, 0], EPERM),
            ("map", [place, page, RW, FIXED], EPERM),
            ("map", [place, page, RW, NO_REPLACE], EPERM),
            ("unmap", [place, page, 0, 0], EPERM),
            ("forget", [place, page, libc::MADV_DONTNEED.into(), 0], EPERM),
            ("forget", [place, page, libc::MADV_FREE.into(), 0], EPERM),
            ("move", [place, page, 2 * page, 0], EPERM),
            ("move", [place, 2 * page, page, 0], EPERM),
            ("move_to", [place, page, own, 0], EINVAL),
            ("move_to", [own, page, place, 0], EINVAL),
        ];
        for (name, arguments, answer) in attacks {
            assert_eq!(ask(&guest, name, arguments), answer, "{name}{arguments:x?}");
        }
    }
    // From the domain's own area into the shared region: the heap's end, a mapping that straddles the border.
    assert_eq!(ask(&guest, "map", [shared - page, 2 * page, RW, FIXED]), EPERM);
    ask(&guest, "heap", [first + 4 * page, 0, 0, 0]);
    assert_eq!(
        ask(&guest, "map", [first, page, RW, 0]) & 0xffff_ffff & !0x7fff_ffff,
        0,
        "a wish is only a wish"
    );
    assert_eq!(load(&guest, at).unwrap(), 7, "still there");
    faulted(store(&guest, at, 8), at);
    let accessible: Vec<_> =
        crate::common::mappings(guest.base() + window::SHARED, guest.base() + window::SHARED_END)
            .into_iter()
            .filter(crate::common::Mapping::accessible)
            .collect();
    assert_eq!(accessible.len(), 1, "{accessible:x?}");
    assert_eq!(accessible[0].rights, "r--s");
}

/// After a revocation nothing brings the memory back.
#[test]
fn a_revoked_place_stays_closed() {
    let guest = domain("attacker");
    let region = Region::new(PAGE).unwrap();
    let grant = guest.grant(&region, Rights::ReadWrite).unwrap();
    let at = grant.pointer::<i64>(0).unwrap();
    grant.revoke();
    let place = at.address() as i64;
    for (name, arguments) in [
        ("rights", [place, PAGE as i64, RW, 0]),
        ("map", [place, PAGE as i64, RW, FIXED]),
        ("forget", [place, PAGE as i64, libc::MADV_DONTNEED.into(), 0]),
    ] {
        assert_eq!(ask(&guest, name, arguments), EPERM, "{name}");
    }
    faulted(load(&guest, at), at);
}

/// R4: what is shared never runs, whatever lies in it, and no file behind it makes it so.
#[test]
fn shared_memory_never_runs() {
    let guest = domain("attacker");
    let region = Region::new(PAGE).unwrap();
    // endbr64; mov $1,%eax; ret
    region.slice::<u8>(0, 10).unwrap().write(0, &[0xf3, 0x0f, 0x1e, 0xfa, 0xb8, 1, 0, 0, 0, 0xc3]).unwrap();
    let host = host_sys::Mapping::shared(PAGE as usize);
    let alias = host.share(0, PAGE, Rights::ReadWrite).unwrap();
    let _grants =
        [guest.grant(&region, Rights::ReadWrite).unwrap(), guest.grant(&alias, Rights::ReadWrite).unwrap()];
    let shared = crate::common::mappings(guest.base() + window::SHARED, guest.base() + window::SHARED_END);
    assert!(shared.iter().all(|m| !m.rights.contains('x')), "{shared:x?}");
    assert_eq!(shared.iter().filter(|m| m.rights == "rw-s").count(), 2, "{shared:x?}");
    let caller = super::Guest::c("long run(long (*f)(void)) { return f(); }").domain();
    let grant = caller.grant(&region, Rights::ReadWrite).unwrap();
    let run = caller.bind::<extern "C" fn(Pointer<i64>) -> i64>("run").unwrap();
    let error = run.call(grant.pointer(0).unwrap()).unwrap_err();
    assert_eq!(error.fault().map(lockgate::Fault::kind), Some(lockgate::FaultKind::Segv), "{error}");
}

/// Device and file behind the host's mapping that begins at `address`.
fn file_behind(address: *mut u8) -> (u64, u64) {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let start = format!("{:x}-", address as u64);
    let line = maps.lines().find(|line| line.starts_with(&start)).unwrap();
    let mut fields = line.split_whitespace().skip(3);
    let (major, minor) = fields.next().unwrap().split_once(':').unwrap();
    let number = |text| u32::from_str_radix(text, 16).unwrap();
    (libc::makedev(number(major), number(minor)), fields.next().unwrap().parse().unwrap())
}

/// A region needs no descriptor, granted or not: whoever makes a host have many of them takes none from it, and nobody finds a file that he
/// could cut or write.
#[test]
fn no_descriptor_leads_to_a_region() {
    let guest = domain("victim");
    let region = Region::new(PAGE).unwrap();
    let _grant = guest.grant(&region, Rights::ReadWrite).unwrap();
    let file = file_behind(region.host_address());
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    // (Other tests close theirs meanwhile.)
    let files: Vec<_> = descriptors.filter_map(|entry| std::fs::metadata(entry.path()).ok()).collect();
    assert!(!files.is_empty());
    assert!(files.iter().all(|open| (open.dev(), open.ino()) != file));
}

/// A domain's own memory is not the host's to share: it would stay shared when the domain gives it back.
#[test]
fn windows_are_no_host_memory() {
    let guest = domain("victim");
    let region = Region::new(PAGE).unwrap();
    let _grant = guest.grant(&region, Rights::ReadWrite).unwrap();
    for offset in [window::HEADER, window::IMAGE, region.offset(), window::CONTROL, window::STRIDE - PAGE] {
        let shared = host_sys::share((guest.base() + offset) as *mut u8, PAGE, Rights::Read);
        assert!(matches!(shared, Err(GrantError::Window { .. })), "{offset:#x}: {shared:?}");
    }
}
