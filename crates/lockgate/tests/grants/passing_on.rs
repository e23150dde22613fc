//! Domains that pass memory on by themselves: to whom they are linked, never more than they have, and no longer.
use super::Guest;
use lockgate::grant::MAX_PASSED_ON;
use lockgate::{
    Arena, CallError, Domain, DomainOptions, FaultKind, Grant, GrantError, OnFailure, Pointer, Policy,
    Region, Rights,
};
use lockgate_abi::PAGE;

const GIVER: &str = r#"
#include <lockgate_grant.h>
long remote_load(volatile long *p);
long pass(long at, long size, const char *function, long rights) { return lg_pass_on((void *)at, size, function, rights) ? -errno : 0; }
long pass_here(long at, long size, long rights) { return pass(at, size, "remote_load", rights); }
long pass_elsewhere(long at, long size, long rights) { return pass(at, size, "not_linked", rights); }
long pass_own_function(long at, long size, long rights) { return pass(at, size, "pass", rights); }
long pass_to_nowhere(long at, long size, long rights) { (void)at; (void)size; return pass(at, size, (const char *)8, rights); }
long sum(volatile long *p) { if (lg_pass_on((void *)p, sizeof *p, "remote_load", LG_PASS_READ) && errno != EEXIST) return -errno; return remote_load(p); }
"#;

/// A domain, and one that it calls.
struct Pair {
    giver: Domain,
    receiver: Domain,
}

impl Pair {
    fn new() -> Pair {
        let receiver = super::domain("receiver");
        let prototype = "long remote_load(long *)";
        let module = Guest::c(GIVER).gate(prototype).gate("long not_linked(long)").module();
        let giver = Domain::new(&module, DomainOptions::new().name("giver")).unwrap();
        let pair = Pair { giver, receiver };
        pair.link();
        pair
    }

    fn link(&self) {
        let (load, policy) = ("long load(long *)", Policy::MUTUAL_DISTRUST);
        self.giver.link("remote_load", &self.receiver, load, policy, OnFailure::default()).unwrap();
    }

    /// What the giver's module is told when it passes on what lies at `at`.
    fn pass(&self, how: &str, at: Pointer<i64>, size: i64, rights: i64) -> i64 {
        let pass = self.giver.bind::<extern "C" fn(i64, i64, i64) -> i64>(how).unwrap();
        pass.call(at.address() as i64, size, rights).unwrap()
    }

    /// The receiver's pointer to the same place.
    fn there(&self, at: Pointer<i64>) -> Pointer<i64> {
        Pointer::from_address(self.receiver.base() + at.offset())
    }

    fn load(&self, at: Pointer<i64>) -> Result<i64, CallError> {
        super::load(&self.receiver, self.there(at))
    }

    fn is_closed(&self, at: Pointer<i64>) {
        let error = self.load(at).expect_err("it has none of it");
        assert_eq!(error.fault().map(lockgate::Fault::kind), Some(FaultKind::Segv), "{error}");
    }
}

fn region(value: i64) -> Region {
    let region = Region::new(PAGE).unwrap();
    region.slice::<i64>(0, 1).unwrap().write(0, &[value]).unwrap();
    region
}

const READ: i64 = 1;
const WRITE: i64 = 3;

fn no(error: i32) -> i64 {
    -i64::from(error)
}

#[test]
fn a_module_passes_on_what_it_has() {
    let pair = Pair::new();
    let region = region(7);
    let grant = pair.giver.grant(&region, Rights::Read).unwrap();
    let at = grant.pointer::<i64>(0).unwrap();
    pair.is_closed(at);
    let sum = pair.giver.bind::<extern "C" fn(Pointer<i64>) -> i64>("sum").unwrap();
    assert_eq!((sum.call(at).unwrap(), sum.call(at).unwrap()), (7, 7));
    assert_eq!(pair.load(at).unwrap(), 7);
    // It ends with the giver's.
    grant.revoke();
    pair.is_closed(at);
    // Also where that was lent for the call.
    let lent = pair.giver.lend(&region, Rights::Read, |lent| sum.call(lent.pointer(0).unwrap()));
    assert_eq!(lent.unwrap().unwrap(), 7);
    pair.is_closed(at);
}

/// Each attempt fails, and the other domain has nothing.
#[test]
fn never_more_than_it_has_and_to_nobody_else() {
    let pair = Pair::new();
    let (shared, own) = (region(7), region(8));
    let grant = pair.giver.grant(&shared, Rights::Read).unwrap();
    let _others = pair.receiver.grant(&own, Rights::Read).unwrap();
    let at = grant.pointer::<i64>(0).unwrap();
    let page = PAGE as i64;
    let of_receiver = Pointer::from_address(pair.giver.base() + own.offset());
    let attempts = [
        ("pass_here", at, 8, WRITE, libc::EACCES),
        ("pass_here", at, page + 1, READ, libc::EFAULT),
        ("pass_here", at, -1, READ, libc::EFAULT),
        ("pass_here", at, i64::MIN, READ, libc::EFAULT),
        ("pass_here", at.add(512), 0, READ, libc::EFAULT),
        ("pass_here", at.add(511), 9, READ, libc::EFAULT),
        ("pass_here", Pointer::from_address(at.address() - 8), 8, READ, libc::EFAULT),
        (
            "pass_here",
            Pointer::from_address(pair.giver.base() + lockgate_abi::window::IMAGE),
            8,
            READ,
            libc::EFAULT,
        ),
        ("pass_here", of_receiver, 8, READ, libc::EFAULT),
        ("pass_here", Pointer::NULL, 8, READ, libc::EFAULT),
        ("pass_here", at, 8, 0, libc::EINVAL),
        ("pass_here", at, 8, 2, libc::EINVAL),
        ("pass_here", at, 8, 7, libc::EINVAL),
        ("pass_elsewhere", at, 8, READ, libc::ENOENT),
        ("pass_own_function", at, 8, READ, libc::ENOENT),
        ("pass_to_nowhere", at, 8, READ, libc::EFAULT),
    ];
    for (how, place, size, rights, error) in attempts {
        assert_eq!(pair.pass(how, place, size, rights), no(error), "{how} {place:?} {size} {rights}");
        pair.is_closed(at);
    }
    // With the right to read the other domain reads, and no more.
    assert_eq!(pair.pass("pass_here", at, page, READ), 0);
    assert_eq!(pair.pass("pass_here", at, 8, READ), no(libc::EEXIST));
    assert_eq!(pair.load(at).unwrap(), 7);
    assert!(super::store(&pair.receiver, pair.there(at), 9).is_err());
    // A right that shrinks shrinks there, too.
    let (more, writable) = (region(1), region(2));
    let _read = pair.giver.grant(&more, Rights::Read).unwrap();
    let grant = pair.giver.grant(&writable, Rights::ReadWrite).unwrap();
    let at = grant.pointer::<i64>(0).unwrap();
    assert_eq!(pair.pass("pass_here", at, 8, WRITE), 0);
    super::store(&pair.receiver, pair.there(at), 9).unwrap();
    grant.downgrade(Rights::Read).unwrap();
    assert!(super::store(&pair.receiver, pair.there(at), 9).is_err());
    assert_eq!(pair.load(at).unwrap(), 9);
}

/// What the host gives takes the place of what a domain has passed on, and a domain cannot fill the places of another.
#[test]
fn the_host_comes_first() {
    let pair = Pair::new();
    let shared = region(7);
    let given = pair.giver.grant(&shared, Rights::Read).unwrap();
    let at = given.pointer::<i64>(0).unwrap();
    assert_eq!(pair.pass("pass_here", at, 8, READ), 0);
    let hosts = pair.receiver.grant(&shared, Rights::ReadWrite).unwrap();
    super::store(&pair.receiver, pair.there(at), 8).unwrap();
    given.revoke();
    assert_eq!(pair.load(at).unwrap(), 8, "the host has given it, too");
    hosts.revoke();
    pair.is_closed(at);

    let regions: Vec<Region> = (0..=MAX_PASSED_ON).map(|n| region(n as i64)).collect();
    let grants: Vec<Grant> = regions.iter().map(|one| pair.giver.grant(one, Rights::Read).unwrap()).collect();
    let passed: Vec<i64> =
        grants.iter().map(|one| pair.pass("pass_here", one.pointer(0).unwrap(), 8, READ)).collect();
    assert_eq!(passed.iter().filter(|passed| **passed == 0).count(), MAX_PASSED_ON);
    assert_eq!(passed.last(), Some(&no(libc::ENOSPC)));
    let own: Vec<Region> = (0..lockgate::grant::MAX_GRANTS).map(|_| region(0)).collect();
    let held: Result<Vec<Grant>, GrantError> =
        own.iter().map(|one| pair.receiver.grant(one, Rights::Read)).collect();
    assert_eq!(held.unwrap().len(), lockgate::grant::MAX_GRANTS, "the host has all of its places");
}

/// A domain that has ended is given nothing, and one that is reset or ends takes what it passed on with it.
#[test]
fn it_ends_with_either_domain() {
    let mut pair = Pair::new();
    let shared = region(7);
    let grant = pair.giver.grant(&shared, Rights::Read).unwrap();
    let at = grant.pointer::<i64>(0).unwrap();
    assert_eq!(pair.pass("pass_here", at, 8, READ), 0);
    pair.giver.reset().unwrap();
    pair.is_closed(at);
    // (It has no links then.)
    pair.link();
    let _grant = pair.giver.grant(&shared, Rights::Read).unwrap();
    assert_eq!(pair.pass("pass_here", at, 8, READ), 0);
    assert_eq!(pair.load(at).unwrap(), 7);
    pair.receiver.kill();
    drop(pair.receiver);
    let pass = pair.giver.bind::<extern "C" fn(i64, i64, i64) -> i64>("pass_here").unwrap();
    let again = pass.call(at.address() as i64, 8, READ).unwrap();
    assert!([libc::EEXIST, libc::ENOENT].map(no).contains(&again), "{again}");
}

/// An arena is passed on as a whole; the host closes it everywhere.
#[test]
fn an_arena_is_passed_on() {
    let pair = Pair::new();
    let arena = Arena::new(PAGE).unwrap();
    arena.open(&pair.giver, Rights::ReadWrite).unwrap();
    let block = arena.alloc(8).unwrap();
    let at = block.pointer::<i64>(&pair.giver).unwrap();
    assert_eq!(pair.pass("pass_here", at, 8, READ), 0);
    assert_eq!(pair.load(at).unwrap(), 0);
    // A pointer of the host's needs the host's word.
    assert!(matches!(block.pointer::<i64>(&pair.receiver), Err(GrantError::NotOpen { .. })));
    arena.close();
    pair.is_closed(at);
}
