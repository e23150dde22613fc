//! Domains that pass memory on by themselves: to whom they are linked, never more than they have, and no longer.
use super::Guest;
use lockgate::grant::MAX_PASSED_ON;
use lockgate::{
    Allow, Arena, CallError, Domain, DomainOptions, Export, FaultKind, Grant, GrantError, OnFailure, Pointer,
    Policy, Principal, Rebind, Region, Registry, Request, Revoke, Rights, Version,
};
use lockgate_abi::PAGE;
use proptest::prelude::*;
use std::collections::BTreeMap;

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

/// Who may not call a domain any more gives it nothing, either: whether the host has taken the function back, or the domain that had it is another
/// one now and the import is over.
#[test]
fn a_revoked_import_passes_nothing_on() {
    let pair = Pair::new();
    let registry = Registry::new();
    let export = || Export::new("remote", Version::new(1, 0)).of("long load(long *)").allow(Allow::Everyone);
    let link = |rebind| {
        let request = Request::newest("remote").rebind(rebind);
        registry.link(&pair.giver, "remote_load", &Principal::nobody(), &request).unwrap();
    };
    for calls in [Revoke::Finish, Revoke::Stop] {
        registry.export(&pair.receiver, export()).unwrap();
        link(Rebind::No);
        let shared = region(7);
        let grant = pair.giver.grant(&shared, Rights::ReadWrite).unwrap();
        let at = grant.pointer::<i64>(0).unwrap();
        registry.revoke("remote", calls).unwrap();
        assert_eq!(pair.pass("pass_here", at, 8, READ), no(libc::ENOENT));
        pair.is_closed(at);
        // By another import that leads there it still may.
        pair.link();
        assert_eq!(pair.pass("pass_here", at, 8, READ), 0);
        assert_eq!(pair.load(at).unwrap(), 7);
    }
    for (rebind, wanted) in [(Rebind::No, no(libc::ENOENT)), (Rebind::Yes, 0)] {
        let registry = Registry::new();
        let old = super::domain("restarted");
        registry.export(&old, export()).unwrap();
        let request = Request::newest("remote").rebind(rebind);
        registry.link(&pair.giver, "remote_load", &Principal::nobody(), &request).unwrap();
        let new = registry.restart("restarted").unwrap();
        let shared = region(8);
        let grant = pair.giver.grant(&shared, Rights::Read).unwrap();
        assert_eq!(pair.pass("pass_here", grant.pointer(0).unwrap(), 8, READ), wanted);
        let there = Pointer::from_address(new.base() + shared.offset());
        assert_eq!(super::load(&new, there).ok(), (wanted == 0).then_some(8));
    }
}

/// Domains that call each other, and one region.
struct Circle {
    domains: Vec<Domain>,
    region: Region,
}

const CIRCLE: usize = 4;

impl Circle {
    fn new() -> Circle {
        let pass = (0..CIRCLE).map(|to| {
            format!(
                "long to_{to}(long *); long pass_to_{to}(long at, long rights) \
                 {{ return lg_pass_on((void *)at, 8, \"to_{to}\", rights) ? -errno : 0; }}\n\
                 long use_{to}(long *p) {{ return to_{to}(p); }}\n"
            )
        });
        let source = format!("#include <lockgate_grant.h>\n{}{}", super::SOURCE, pass.collect::<String>());
        let gates = (0..CIRCLE).map(|to| format!("long to_{to}(long *)"));
        let guest = gates.fold(Guest::c(&source), |guest, gate| guest.gate(&gate));
        let module = guest.module();
        let new = |n| Domain::new(&module, DomainOptions::new().name(format!("circle {n}"))).unwrap();
        let circle = Circle { domains: (0..CIRCLE).map(new).collect(), region: region(7) };
        (0..CIRCLE).for_each(|from| circle.link(from));
        circle
    }

    fn link(&self, from: usize) {
        (0..CIRCLE).filter(|to| *to != from).for_each(|to| self.link_to(from, to, to));
    }

    fn link_to(&self, from: usize, import: usize, to: usize) {
        let (import, load) = (format!("to_{import}"), "long load(long *)");
        let (from, to) = (&self.domains[from], &self.domains[to]);
        from.link(&import, to, load, Policy::MUTUAL_DISTRUST, OnFailure::default()).unwrap();
    }

    /// Nobody may be linked to it while it is reset.
    fn reset(&mut self, of: usize) {
        let others: Vec<_> = (0..CIRCLE).filter(|other| *other != of).collect();
        for from in &others {
            self.link_to(*from, of, (0..CIRCLE).find(|to| to != from && *to != of).unwrap());
        }
        self.domains[of].reset().unwrap();
        self.link(of);
        others.iter().for_each(|from| self.link_to(*from, of, of));
    }

    fn at(&self, of: usize, region: &Region) -> Pointer<i64> {
        Pointer::from_address(self.domains[of].base() + region.offset())
    }

    fn pass_region(&self, from: usize, to: usize, region: &Region, rights: Rights) -> i64 {
        let rights = if rights == Rights::Read { READ } else { WRITE };
        let pass = self.domains[from].bind::<extern "C" fn(i64, i64) -> i64>(&format!("pass_to_{to}"));
        pass.unwrap().call(self.at(from, region).address() as i64, rights).unwrap()
    }

    fn pass(&self, from: usize, to: usize, rights: Rights) -> i64 {
        self.pass_region(from, to, &self.region, rights)
    }

    /// What the domain can do.
    fn rights(&self, of: usize) -> Option<Rights> {
        let (domain, at) = (&self.domains[of], self.at(of, &self.region));
        let reads = super::load(domain, at).is_ok();
        let writes = super::store(domain, at, 7).is_ok();
        assert!(reads || !writes);
        reads.then_some(if writes { Rights::ReadWrite } else { Rights::Read })
    }
}

/// What one domain gives does not depend on what another one gives.
#[test]
fn each_giver_gives_for_itself() {
    let circle = Circle::new();
    let give = |to: usize, rights| circle.domains[to].grant(&circle.region, rights).unwrap();
    // 0 gives 2 less than 1 does, first and last.
    let (zero, one) = (give(0, Rights::Read), give(1, Rights::ReadWrite));
    assert_eq!(circle.pass(0, 2, Rights::Read), 0);
    assert_eq!(circle.pass(1, 2, Rights::ReadWrite), 0);
    assert_eq!(circle.rights(2), Some(Rights::ReadWrite));
    assert_eq!(circle.pass(1, 2, Rights::Read), no(libc::EEXIST));
    zero.revoke();
    assert_eq!(circle.rights(2), Some(Rights::ReadWrite));
    let zero = give(0, Rights::Read);
    assert_eq!(circle.pass(0, 2, Rights::Read), 0);
    one.revoke();
    assert_eq!(circle.rights(2), Some(Rights::Read));
    zero.revoke();
    assert_eq!(circle.rights(2), None);
    // None uses up what another one may give.
    let many: Vec<Region> = (0..=MAX_PASSED_ON as i64).map(region).collect();
    let grants = |of: usize| -> Vec<Grant> {
        many.iter().map(|one| circle.domains[of].grant(one, Rights::Read).unwrap()).collect()
    };
    let _held = (grants(0), grants(1));
    let passed = many.iter().map(|one| circle.pass_region(0, 2, one, Rights::Read)).collect::<Vec<_>>();
    assert_eq!((passed[MAX_PASSED_ON - 1], passed[MAX_PASSED_ON]), (0, no(libc::ENOSPC)));
    assert_eq!(circle.pass_region(1, 2, &many[MAX_PASSED_ON], Rights::Read), 0);
}

/// Two domains that give to each other do not keep each other's right.
#[test]
fn nobody_has_it_from_itself() {
    let circle = Circle::new();
    let grant = circle.domains[0].grant(&circle.region, Rights::ReadWrite).unwrap();
    for (from, to) in [(0, 1), (1, 2), (2, 1), (2, 0), (1, 0)] {
        assert_eq!(circle.pass(from, to, Rights::ReadWrite), 0, "{from} to {to}");
    }
    grant.downgrade(Rights::Read).unwrap();
    assert_eq!([0, 1, 2].map(|of| circle.rights(of)), [Some(Rights::Read); 3]);
    grant.revoke();
    assert_eq!([0, 1, 2].map(|of| circle.rights(of)), [None; 3]);
}

/// What the host and modules do, one after the other.
#[derive(Debug, Clone)]
enum Step {
    Grant(usize, Rights),
    PassGrant(usize, usize, Rights),
    Downgrade(usize),
    Revoke(usize),
    Pass(usize, usize, Rights),
    Reset(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let rights = || prop_oneof![Just(Rights::Read), Just(Rights::ReadWrite)];
    let two = || (0..CIRCLE, 1..CIRCLE).prop_map(|(from, by)| (from, (from + by) % CIRCLE));
    prop_oneof![
        3 => (0..CIRCLE, rights()).prop_map(|(to, rights)| Step::Grant(to, rights)),
        3 => (two(), rights()).prop_map(|((from, to), rights)| Step::PassGrant(from, to, rights)),
        1 => (0..CIRCLE).prop_map(Step::Downgrade),
        2 => (0..CIRCLE).prop_map(Step::Revoke),
        8 => (two(), rights()).prop_map(|((from, to), rights)| Step::Pass(from, to, rights)),
        1 => (0..CIRCLE).prop_map(Step::Reset),
    ]
}

/// Who may do what, found anew after each step: the rules of docs/grants.md, and no books of who has it from whom.
#[derive(Default)]
struct Rules {
    /// By domain: what the host grants, and from whose grant.
    host: [Option<(Rights, Option<usize>)>; CIRCLE],
    /// By giver and receiver.
    given: BTreeMap<(usize, usize), Rights>,
    now: [Option<Rights>; CIRCLE],
}

impl Rules {
    /// What the step answers if a module takes it.
    fn answer(&self, from: usize, to: usize, rights: Rights) -> i64 {
        let granted = self.host[to].map_or(Rights::ReadWrite, |host| host.0);
        match self.now[from] {
            None => no(libc::EFAULT),
            Some(held) if rights > held.min(granted) => no(libc::EACCES),
            Some(_) if self.given.get(&(from, to)) >= Some(&rights) => no(libc::EEXIST),
            Some(_) => 0,
        }
    }

    fn end_host(&mut self, of: usize) {
        if self.host[of].take().is_some() {
            let children = (0..CIRCLE).filter(|to| self.host[*to].is_some_and(|host| host.1 == Some(of)));
            children.collect::<Vec<_>>().into_iter().for_each(|to| self.end_host(to));
        }
    }

    fn lower(&mut self, of: usize) {
        if let Some(host) = &mut self.host[of] {
            host.0 = Rights::Read;
            let children = (0..CIRCLE).filter(|to| self.host[*to].is_some_and(|host| host.1 == Some(of)));
            children.collect::<Vec<_>>().into_iter().for_each(|to| self.lower(to));
        }
    }

    fn settle(&mut self) {
        let mut now = self.host.map(|host| host.map(|host| host.0));
        for _ in 0..CIRCLE {
            for ((from, to), rights) in &self.given {
                let given = now[*from].map(|held| held.min(*rights));
                if self.host[*to].is_none() {
                    now[*to] = now[*to].max(given);
                }
            }
        }
        self.now = now;
        self.given.retain(|(from, to), rights| {
            let most = self.host[*to].map_or(Rights::ReadWrite, |host| host.0);
            let held = now[*from];
            *rights = (*rights).min(most).min(held.unwrap_or(Rights::Read));
            held.is_some()
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever is given and taken in whichever order, each domain can do what the rules say, and no more.
    #[test]
    fn rights_are_those_of_the_rules(steps in prop::collection::vec(step(), 1..40)) {
        let mut circle = Circle::new();
        let mut rules = Rules::default();
        let mut grants: [Option<Grant>; CIRCLE] = Default::default();
        for step in steps {
            match step {
                Step::Grant(to, rights) => {
                    let grant = circle.domains[to].grant(&circle.region, rights);
                    prop_assert_eq!(grant.is_ok(), rules.host[to].is_none());
                    if let Ok(grant) = grant {
                        grants[to] = Some(grant);
                        rules.host[to] = Some((rights, None));
                    }
                }
                Step::PassGrant(from, to, rights) => {
                    let Some(grant) = &grants[from] else { continue };
                    let passed = grant.pass_on(&circle.domains[to], rights);
                    let may = rules.host[from].is_some_and(|host| host.0 >= rights) && rules.host[to].is_none();
                    prop_assert_eq!(passed.is_ok(), may);
                    if let Ok(passed) = passed {
                        grants[to] = Some(passed);
                        rules.host[to] = Some((rights, Some(from)));
                    }
                }
                Step::Downgrade(of) => {
                    let Some(grant) = &grants[of] else { continue };
                    prop_assert_eq!(grant.downgrade(Rights::Read).is_ok(), rules.host[of].is_some());
                    rules.lower(of);
                }
                Step::Revoke(of) => {
                    grants[of] = None;
                    rules.end_host(of);
                }
                Step::Pass(from, to, rights) => {
                    let wanted = rules.answer(from, to, rights);
                    prop_assert_eq!(circle.pass(from, to, rights), wanted);
                    if wanted == 0 {
                        rules.given.insert((from, to), rights);
                    }
                }
                Step::Reset(of) => {
                    circle.reset(of);
                    rules.end_host(of);
                    rules.given.retain(|(_, to), _| *to != of);
                }
            }
            rules.settle();
            for (of, grant) in grants.iter().enumerate() {
                prop_assert_eq!(circle.rights(of), rules.now[of], "domain {}", of);
                let granted = grant.as_ref().and_then(|grant| grant.rights().ok());
                prop_assert_eq!(granted, rules.host[of].map(|host| host.0));
            }
        }
    }
}
