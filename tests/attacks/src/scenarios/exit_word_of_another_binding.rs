//! A nested call, of a binding that trusts its callee with the registers, leaves its exit word in the middle of the control stack. A later call, of a
//! host that trusts nobody, returns through that word (R8).
use crate::expect::Ending;
use crate::world::World;
use anyhow::{Result, ensure};
use lockgate::{Domain, HostFunction, Policy};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) fn run(world: &mut World) -> Result<Ending> {
    let place = Arc::new(AtomicU64::new(0));
    let noted = place.clone();
    let nested = HostFunction::new(move |domain: &Domain| {
        let place = domain.bind_with::<extern "C" fn() -> u64>("place", Policy::MUTUAL_TRUST);
        noted.store(place.expect("an export").call().expect("it returns"), Ordering::Relaxed);
    });
    let domain = Domain::new(&world.module()?, world.options().gate("host", nested))?;
    domain.bind::<extern "C" fn()>("call_host")?.call()?;
    let place = place.load(Ordering::Relaxed);
    ensure!(place != 0, "there was no nested call");
    world.call(&domain, "attack", [place, 0, 0, 0, 0, 0])
}
