//! Who may do what: rights, passing on, downgrades, and the errors.
use super::{Guest, domain, faulted, load, module, store};
use lockgate::grant::MAX_GRANTS;
use lockgate::{Domain, DomainOptions, GrantError, Pointer, Region, Rights};
use lockgate_abi::{PAGE, window};

#[test]
fn what_one_side_writes_the_others_read() {
    let (first, second) = (domain("first"), domain("second"));
    let region = Region::new(PAGE).unwrap();
    let words = region.slice::<i64>(0, 8).unwrap();
    let one = first.grant(&region, Rights::ReadWrite).unwrap();
    let two = second.grant(&region, Rights::ReadWrite).unwrap();
    words.write(0, &[41]).unwrap();
    assert_eq!(load(&first, one.pointer(0).unwrap()).unwrap(), 41);
    store(&first, one.pointer(8).unwrap(), 42).unwrap();
    assert_eq!(load(&second, two.pointer(8).unwrap()).unwrap(), 42);
    store(&second, two.pointer(16).unwrap(), 43).unwrap();
    let read = words.copy_in(0..3).unwrap();
    assert_eq!(read.trust("compared only"), [41, 42, 43]);
}

/// One offset in every window: a pointer that one domain stores is good in the other.
#[test]
fn pointers_into_regions_mean_the_same_in_every_window() {
    let (first, second) = (domain("first"), domain("second"));
    let filler = Region::new(3 * PAGE).unwrap();
    let _only_in_the_first = first.grant(&filler, Rights::Read).unwrap();
    let region = Region::new(PAGE).unwrap();
    let one = first.grant(&region, Rights::ReadWrite).unwrap();
    let two = second.grant(&region, Rights::ReadWrite).unwrap();
    let target = one.pointer::<i64>(64).unwrap();
    assert_eq!(target.offset(), two.pointer::<i64>(64).unwrap().offset());
    assert!((window::SHARED..window::SHARED_END).contains(&region.offset()));
    store(&first, target, 77).unwrap();
    store(&first, one.pointer(0).unwrap(), target.address() as i64).unwrap();
    let follow = second.bind::<extern "C" fn(Pointer<u64>) -> Pointer<i64>>("follow").unwrap();
    let followed = follow.call(two.pointer(0).unwrap()).unwrap();
    assert_eq!(load(&second, followed).unwrap(), 77, "the first domain's pointer works in the second");
}

#[test]
fn a_read_only_grant_is_read_only() {
    let domain = domain("reader");
    let region = Region::new(PAGE).unwrap();
    let grant = domain.grant(&region, Rights::Read).unwrap();
    let at = grant.pointer(0).unwrap();
    assert_eq!(load(&domain, at).unwrap(), 0);
    faulted(store(&domain, at, 1), at);
    assert_eq!(super::host_sys::word(&region, 0), 0);
    // Nor through the host: as a domain's memory it is read-only, too.
    assert!(domain.write(at, 1).is_err());
    // Nor with an emulated system call as the hand.
    let source = "#include <sys/random.h>\n#include <errno.h>
        long draw(void *p) { return getrandom(p, 8, 0) < 0 ? -errno : 0; }";
    let other = Guest::c(source).domain();
    let grant = other.grant(&region, Rights::Read).unwrap();
    let draw = other.bind::<extern "C" fn(Pointer<i64>) -> i64>("draw").unwrap();
    assert_eq!(draw.call(grant.pointer(0).unwrap()).unwrap(), -i64::from(libc::EFAULT));
    assert_eq!(super::host_sys::word(&region, 0), 0);
}

#[test]
fn nobody_without_a_grant_sees_it() {
    let (owner, other) = (domain("owner"), domain("other"));
    let region = Region::new(PAGE).unwrap();
    let grant = owner.grant(&region, Rights::ReadWrite).unwrap();
    let at = grant.pointer::<i64>(0).unwrap();
    faulted(load(&other, at), at);
    // Beyond the region's end nothing is mapped either, whatever else is shared.
    let neighbour = Region::new(PAGE).unwrap();
    let _grant = owner.grant(&neighbour, Rights::ReadWrite).unwrap();
    let beyond = at.add(PAGE / 8);
    faulted(load(&owner, beyond), beyond);
}

#[test]
fn rights_only_shrink() {
    let (first, second, third) = (domain("first"), domain("second"), domain("third"));
    let region = Region::new(PAGE).unwrap();
    let one = first.grant(&region, Rights::ReadWrite).unwrap();
    let two = one.pass_on(&second, Rights::Read).unwrap();
    let upgrade = |result: Result<_, GrantError>| match result {
        Err(GrantError::Upgrade { asked: Rights::ReadWrite, held: Rights::Read }) => {}
        other => panic!("{other:?}"),
    };
    upgrade(two.pass_on(&third, Rights::ReadWrite).map(drop));
    upgrade(two.downgrade(Rights::ReadWrite));
    let three = two.pass_on(&third, Rights::Read).unwrap();
    for (domain, grant) in [(&second, &two), (&third, &three)] {
        let at = grant.pointer(0).unwrap();
        assert_eq!(grant.rights().unwrap(), Rights::Read);
        assert_eq!(load(domain, at).unwrap(), 0);
        faulted(store(domain, at, 1), at);
    }
    upgrade(three.downgrade(Rights::ReadWrite));
    store(&first, one.pointer(0).unwrap(), 5).unwrap();
}

/// Red if `downgrade` changes the books only, or this window only.
#[test]
fn a_downgrade_reaches_everybody_who_has_it_from_there() {
    let (first, second, third) = (domain("first"), domain("second"), domain("third"));
    let region = Region::new(PAGE).unwrap();
    let one = first.grant(&region, Rights::ReadWrite).unwrap();
    let two = one.pass_on(&second, Rights::ReadWrite).unwrap();
    let three = two.pass_on(&third, Rights::ReadWrite).unwrap();
    store(&third, three.pointer(0).unwrap(), 3).unwrap();
    two.downgrade(Rights::Read).unwrap();
    for (domain, grant) in [(&second, &two), (&third, &three)] {
        let at = grant.pointer(0).unwrap();
        assert_eq!(load(domain, at).unwrap(), 3);
        faulted(store(domain, at, 4), at);
        assert_eq!(grant.rights().unwrap(), Rights::Read);
    }
    store(&first, one.pointer(0).unwrap(), 5).expect("the giver keeps its own");
}

#[test]
fn a_domain_has_a_region_once() {
    let (first, second) = (domain("first"), domain("second"));
    let region = Region::new(PAGE).unwrap();
    let one = first.grant(&region, Rights::Read).unwrap();
    let overlap = |result: Result<_, GrantError>, name: &str| match result {
        Err(GrantError::Overlap { domain, offset }) => {
            assert_eq!((domain.as_str(), offset), (name, region.offset()));
        }
        other => panic!("{other:?}"),
    };
    overlap(first.grant(&region, Rights::ReadWrite).map(drop), "first");
    let two = one.pass_on(&second, Rights::Read).unwrap();
    overlap(two.pass_on(&first, Rights::Read).map(drop), "first");
    overlap(second.grant(&region, Rights::Read).map(drop), "second");
    assert_eq!(load(&first, one.pointer(0).unwrap()).unwrap(), 0, "a refusal changes nothing");
}

#[test]
fn the_number_of_grants_is_limited() {
    let domain = domain("greedy");
    let regions: Vec<_> = (0..=MAX_GRANTS).map(|_| Region::new(PAGE).unwrap()).collect();
    let mut grants: Vec<_> =
        regions[..MAX_GRANTS].iter().map(|r| domain.grant(r, Rights::Read).unwrap()).collect();
    let last = &regions[MAX_GRANTS];
    assert!(matches!(domain.grant(last, Rights::Read), Err(GrantError::TooMany { .. })));
    grants.pop();
    let grant = domain.grant(last, Rights::Read).expect("there is room again");
    assert_eq!(load(&domain, grant.pointer(0).unwrap()).unwrap(), 0);
}

/// Regions belong to the host: they do not count against the memory limit.
#[test]
fn grants_cost_no_quota() {
    let domain = Domain::new(&module(), DomainOptions::new().memory_limit(4 << 20)).unwrap();
    load(&domain, domain.alloc(1).unwrap()).unwrap();
    let before = domain.memory_used();
    let region = Region::new(64 << 20).unwrap();
    let grant = domain.grant(&region, Rights::ReadWrite).unwrap();
    store(&domain, grant.pointer((64 << 20) - 8).unwrap(), 1).unwrap();
    assert_eq!(domain.memory_used(), before);
}

#[test]
fn pointers_are_checked_against_the_region() {
    let domain = domain("guest");
    let region = Region::new(PAGE).unwrap();
    let grant = domain.grant(&region, Rights::Read).unwrap();
    for at in [PAGE - 7, PAGE, u64::MAX - 3, 4] {
        assert!(matches!(grant.pointer::<i64>(at), Err(GrantError::Range { .. })), "{at}");
    }
    grant.pointer::<i64>(PAGE - 8).unwrap();
    grant.pointer::<[i64; 512]>(0).unwrap();
}
