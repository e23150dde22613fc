//! What other processes see of a process that forks. One test: the child may not find locks held by other tests' threads.

use crate::common::Guest;
use crate::common::host_sys::in_fork;
use lockgate::DomainOptions;
use lockgate::registry::Observer;

/// The child shares the table of domains with its parent: what it drops, the parent still has.
#[test]
fn a_forked_child_unlists_nothing() {
    let options = DomainOptions::new().name("kept");
    let guest = Guest::c("int one(void) { return 1; }").module();
    let mut domain = Some(lockgate::Domain::new(&guest, options).unwrap());
    let listed = || {
        let seen = Observer::new(std::process::id()).unwrap().look().unwrap();
        seen.domains.iter().filter(|domain| domain.name == "kept" && domain.memory > 0).count()
    };
    assert_eq!(listed(), 1);
    assert!(in_fork(|| {
        drop(domain.take());
        true
    }));
    assert_eq!(listed(), 1);
    drop(domain.take());
    assert_eq!(listed(), 0);
}
