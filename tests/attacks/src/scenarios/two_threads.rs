//! While one thread of the host is in `attack`, another one calls `helper` all the time: what a system call looks at changes under its eyes.
use super::granted;
use crate::expect::Ending;
use crate::world::World;
use anyhow::Result;
use lockgate::Domain;
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) fn run(world: &mut World) -> Result<Ending> {
    granted::with_folders(world, |world, options| {
        let domain = Domain::new(&world.module()?, options)?;
        let helper = domain.bind::<extern "C" fn() -> i64>("helper")?;
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    if helper.call().is_err() {
                        break;
                    }
                }
            });
            let ending = world.attack(&domain);
            over.store(true, Ordering::Relaxed);
            ending
        })
    })
}
