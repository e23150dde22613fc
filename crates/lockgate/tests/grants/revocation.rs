//! When rights end: revocation while threads use them, resets, the end of domains and regions.
use super::{domain, faulted, host_sys, load, module, store};
use lockgate::{
    CallError, Domain, DomainOptions, Export, FaultKind, GrantError, Pointer, Pool, Region, Registry, Rights,
    Version,
};
use lockgate_abi::{PAGE, window};

/// A thread counts in shared memory for ever. When `revoke` has returned, the count stands still, and the call ends with
/// a fault. Red if the mapping is replaced later than that, or not at all.
#[test]
fn revocation_is_complete_when_it_returns() {
    let domain = domain("counter");
    let region = Region::new(PAGE).unwrap();
    let count = domain.bind::<extern "C" fn(Pointer<i64>)>("count").unwrap();
    for round in 0..50 {
        let grant = domain.grant(&region, Rights::ReadWrite).unwrap();
        let at = grant.pointer::<i64>(0).unwrap();
        std::thread::scope(|scope| {
            let call = scope.spawn(|| count.call(at));
            let start = host_sys::word(&region, 0);
            while host_sys::word(&region, 0) < start + 10 * round {
                std::hint::spin_loop();
            }
            grant.revoke();
            let last = host_sys::word(&region, 0);
            for _ in 0..1000 {
                assert_eq!(host_sys::word(&region, 0), last, "a write after the revocation");
            }
            faulted(call.join().unwrap(), at);
        });
    }
}

/// The same for a downgrade.
#[test]
fn a_downgrade_is_complete_when_it_returns() {
    let domain = domain("counter");
    let region = Region::new(PAGE).unwrap();
    let count = domain.bind::<extern "C" fn(Pointer<i64>)>("count").unwrap();
    for _ in 0..20 {
        let grant = domain.grant(&region, Rights::ReadWrite).unwrap();
        let at = grant.pointer::<i64>(0).unwrap();
        std::thread::scope(|scope| {
            let call = scope.spawn(|| count.call(at));
            let start = host_sys::word(&region, 0);
            while host_sys::word(&region, 0) < start + 100 {
                std::hint::spin_loop();
            }
            grant.downgrade(Rights::Read).unwrap();
            let last = host_sys::word(&region, 0);
            for _ in 0..1000 {
                assert_eq!(host_sys::word(&region, 0), last, "a write after the downgrade");
            }
            faulted(call.join().unwrap(), at);
        });
    }
}

/// Nothing that is written after the revocation is read by the domain.
#[test]
fn a_reader_sees_nothing_that_comes_later() {
    let domain = domain("reader");
    let seen = Region::new(PAGE).unwrap();
    let see = domain.grant(&seen, Rights::ReadWrite).unwrap();
    let watch = domain.bind::<extern "C" fn(Pointer<i64>, Pointer<i64>)>("watch").unwrap();
    for _ in 0..20 {
        let secret = Region::new(PAGE).unwrap();
        let words = secret.slice::<i64>(0, 1).unwrap();
        let grant = domain.grant(&secret, Rights::Read).unwrap();
        let at = grant.pointer::<i64>(0).unwrap();
        words.write(0, &[1]).unwrap();
        seen.slice::<i64>(0, 1).unwrap().write(0, &[0]).unwrap();
        let into = see.pointer(0).unwrap();
        std::thread::scope(|scope| {
            let call = scope.spawn(|| watch.call(at, into));
            while host_sys::word(&seen, 0) != 1 {
                std::hint::spin_loop();
            }
            drop(grant);
            words.write(0, &[0x5ec7e7]).unwrap();
            faulted(call.join().unwrap(), at);
        });
        assert_eq!(host_sys::word(&seen, 0), 1, "the domain read what was written after the revocation");
    }
}

/// Red if `remove` takes the entry itself only.
#[test]
fn everybody_who_has_it_from_there_loses_it() {
    let domains: Vec<_> = ["a", "b", "c", "d", "e"].map(domain).into();
    let region = Region::new(PAGE).unwrap();
    let a = domains[0].grant(&region, Rights::ReadWrite).unwrap();
    let b = a.pass_on(&domains[1], Rights::ReadWrite).unwrap();
    let c = b.pass_on(&domains[2], Rights::Read).unwrap();
    let d = c.pass_on(&domains[3], Rights::Read).unwrap();
    let e = domains[4].grant(&region, Rights::Read).unwrap();
    let places: Vec<Pointer<i64>> = [&a, &b, &c, &d, &e].iter().map(|g| g.pointer(0).unwrap()).collect();
    for (domain, at) in domains.iter().zip(&places) {
        load(domain, *at).unwrap();
    }
    b.revoke();
    for index in [1, 2, 3] {
        faulted(load(&domains[index], places[index]), places[index]);
    }
    for index in [0, 4] {
        load(&domains[index], places[index]).expect("theirs is not from there");
    }
    for stale in [&c, &d] {
        assert!(matches!(stale.pointer::<i64>(0), Err(GrantError::Revoked { .. })));
        assert!(matches!(stale.rights(), Err(GrantError::Revoked { .. })));
        assert!(matches!(stale.downgrade(Rights::Read), Err(GrantError::Revoked { .. })));
        assert!(matches!(stale.pass_on(&domains[1], Rights::Read), Err(GrantError::Revoked { .. })));
    }
    // A stale handle has no power over a later grant of the same region.
    let again = a.pass_on(&domains[2], Rights::Read).unwrap();
    drop(c);
    load(&domains[2], again.pointer(0).unwrap()).expect("the new grant stands");
}

/// Windows keep their reservation: what was shared is inaccessible, not a hole (rule R1).
#[test]
fn no_hole_is_left_behind() {
    let domain = domain("guest");
    let region = Region::new(16 * PAGE).unwrap();
    let host = host_sys::Mapping::shared(4 * PAGE as usize);
    let alias = host.share(0, 4 * PAGE, Rights::Read).unwrap();
    for _ in 0..10 {
        for region in [&region, &alias] {
            let grant = domain.grant(region, Rights::Read).unwrap();
            grant.revoke();
        }
        let (start, end) = (domain.base(), domain.base() + window::STRIDE);
        let mut covered = start;
        for mapping in crate::common::mappings(start, end) {
            assert!(mapping.start <= covered, "a hole at {covered:#x}, before {mapping:x?}");
            covered = mapping.end;
        }
        assert!(covered >= end);
    }
}

fn shared_mappings(domain: &Domain) -> usize {
    let (start, end) = (domain.base() + window::SHARED, domain.base() + window::SHARED_END);
    crate::common::mappings(start, end).into_iter().filter(crate::common::Mapping::accessible).count()
}

/// Red without `end_domain` in `Core::reset`.
#[test]
fn a_reset_takes_all_grants() {
    let other = domain("other");
    let mut reset = domain("reset");
    let region = Region::new(PAGE).unwrap();
    let grant = reset.grant(&region, Rights::ReadWrite).unwrap();
    let onward = grant.pass_on(&other, Rights::Read).unwrap();
    let at = grant.pointer::<i64>(0).unwrap();
    store(&reset, at, 1).unwrap();
    let passed = onward.pointer::<i64>(0).unwrap();
    load(&other, passed).unwrap();
    reset.reset().expect("grants do not hold a domain back");
    assert_eq!(shared_mappings(&reset), 0);
    faulted(load(&reset, at), at);
    faulted(load(&other, passed), passed);
    assert!(matches!(grant.rights(), Err(GrantError::Revoked { .. })));
    let fresh = reset.grant(&region, Rights::Read).expect("the region can be granted anew");
    drop(grant);
    load(&reset, fresh.pointer(0).unwrap()).expect("the old handle has no power over the new grant");
}

/// Red without `end_domain` in the quick way of `Core::reset`.
#[test]
fn a_pooled_domain_comes_back_without_grants() {
    let module = module();
    let pool = Pool::new(&module, DomainOptions::new(), 1);
    let region = Region::new(PAGE).unwrap();
    let mut base = None;
    for _ in 0..3 {
        let domain = pool.take().unwrap();
        assert_eq!(*base.get_or_insert(domain.base()), domain.base(), "the same domain each time");
        assert_eq!(shared_mappings(&domain), 0);
        let grant = domain.grant(&region, Rights::ReadWrite).unwrap();
        let at = grant.pointer(0).unwrap();
        store(&domain, at, 1).unwrap();
        // The user keeps the handle, or leaks it: it does not matter.
        std::mem::forget(grant);
        drop(domain);
        let domain = pool.take().unwrap();
        faulted(load(&domain, at), at);
    }
}

/// A domain that was closed, removed or restarted has ended, though somebody keeps a function of it: what it passed on ends with it. Red if that
/// waits for the end of its memory.
#[test]
fn what_an_ended_domain_passed_on_goes_though_its_functions_are_kept() {
    for end in 0..3 {
        let region = Region::new(PAGE).unwrap();
        let registry = Registry::new();
        let (giver, other) = (domain("giver"), domain("other"));
        let kept = giver.bind::<extern "C" fn(Pointer<i64>) -> i64>("load").unwrap();
        let given = giver.grant(&region, Rights::Read).unwrap();
        let passed_on = given.pass_on(&other, Rights::Read).unwrap();
        let export = Export::new("load", Version::new(1, 0)).of("long load(void *)");
        registry.export(&giver, export).unwrap();
        match end {
            0 => giver.close(),
            1 => registry.remove("giver").unwrap(),
            _ => drop(registry.restart("giver").unwrap()),
        }
        assert!(lockgate::until_reclaimed(std::time::Duration::from_secs(60)));
        for grant in [&given, &passed_on] {
            assert!(matches!(grant.rights(), Err(GrantError::Revoked { .. })), "{end}");
        }
        drop(kept);
    }
}

/// Red without `end_domain` in `Core::drop`.
#[test]
fn the_end_of_a_domain_revokes_what_it_passed_on() {
    let (first, second) = (domain("first"), domain("second"));
    let region = Region::new(PAGE).unwrap();
    let one = first.grant(&region, Rights::Read).unwrap();
    let two = one.pass_on(&second, Rights::Read).unwrap();
    let at = two.pointer::<i64>(0).unwrap();
    load(&second, at).unwrap();
    drop(first);
    faulted(load(&second, at), at);
    assert!(matches!(one.rights(), Err(GrantError::Revoked { .. })));
    assert!(matches!(two.rights(), Err(GrantError::Revoked { .. })));
}

/// The stride of a domain that is gone is empty, also for grants whose handle outlives it.
#[test]
fn the_next_domain_in_the_stride_has_nothing_of_it() {
    let region = Region::new(PAGE).unwrap();
    let first = domain("first");
    let base = first.base();
    let grant = first.grant(&region, Rights::ReadWrite).unwrap();
    let at = grant.pointer::<i64>(0).unwrap();
    drop(first);
    let domains: Vec<_> = (0..64).map(|_| domain("next")).collect();
    if let Some(next) = domains.iter().find(|d| d.base() == base) {
        faulted(load(next, at), at);
        let fresh = next.grant(&region, Rights::Read).unwrap();
        drop(grant);
        load(next, fresh.pointer(0).unwrap()).expect("the old handle has no power over the new grant");
    }
}

#[test]
fn a_grant_keeps_its_region() {
    let domain = domain("guest");
    let region = Region::new(PAGE).unwrap();
    region.slice::<i64>(0, 1).unwrap().write(0, &[9]).unwrap();
    let grant = domain.grant(&region, Rights::ReadWrite).unwrap();
    let offset = region.offset();
    drop(region);
    let _others: Vec<_> = (0..8).map(|_| Region::new(PAGE).unwrap()).collect();
    assert_eq!(load(&domain, grant.pointer(0).unwrap()).unwrap(), 9);
    assert_eq!(grant.region().offset(), offset);
}

/// A kill does not take grants, but the domain cannot use them any more; its drop takes them.
#[test]
fn a_killed_domain_ends_at_a_shared_loop() {
    let domain = domain("counter");
    let region = Region::new(PAGE).unwrap();
    let grant = domain.grant(&region, Rights::ReadWrite).unwrap();
    let count = domain.bind::<extern "C" fn(Pointer<i64>)>("count").unwrap();
    let at = grant.pointer(0).unwrap();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| count.call(at));
        while host_sys::word(&region, 0) == 0 {
            std::hint::spin_loop();
        }
        domain.kill();
        let error = call.join().unwrap().unwrap_err();
        assert_eq!(error.fault().map(lockgate::Fault::kind), Some(FaultKind::Killed), "{error}");
    });
    assert!(matches!(load(&domain, at), Err(CallError::Killed(_))));
}

/// Grants of many threads at once: every handle does what it says, and nothing is left.
#[test]
fn threads_grant_and_revoke_at_the_same_time() {
    let domains: Vec<_> = ["a", "b", "c", "d"].map(domain).into();
    std::thread::scope(|scope| {
        for (index, domain) in domains.iter().enumerate() {
            let next = &domains[(index + 1) % domains.len()];
            scope.spawn(move || {
                for round in 0..200 {
                    let region = Region::new(PAGE * (1 + round % 5)).unwrap();
                    let grant = domain.grant(&region, Rights::ReadWrite).unwrap();
                    let onward = grant.pass_on(next, Rights::Read).unwrap();
                    let (here, there) = (grant.pointer(0).unwrap(), onward.pointer(0).unwrap());
                    store(domain, here, 7).unwrap();
                    assert_eq!(load(next, there).unwrap(), 7);
                    match round % 3 {
                        0 => drop((grant, onward)),
                        1 => drop((onward, grant)),
                        _ => std::mem::forget(onward),
                    }
                }
            });
        }
    });
    for domain in &domains {
        assert_eq!(shared_mappings(domain), 0, "nothing is left, for the givers have gone");
    }
}
