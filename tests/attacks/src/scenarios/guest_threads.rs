//! The module may start four threads. When its domain goes, they must be gone, too.
use crate::expect::Ending;
use crate::world::World;
use anyhow::{Context, Result};
use lockgate::Domain;

pub(super) fn run(world: &mut World) -> Result<Ending> {
    let domain = Domain::new(&world.module()?, world.options().max_guest_threads(4))?;
    let ending = world.attack(&domain)?;
    drop(domain);
    // For ever, if they stay: the runner's timeout has an end.
    while threads()? > 0 {
        std::thread::yield_now();
    }
    Ok(ending)
}

/// Threads of this process that modules have started.
fn threads() -> Result<usize> {
    let tasks = std::fs::read_dir("/proc/self/task").context("/proc is not mounted")?.flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    Ok(names.filter(|name| name.starts_with("lockgate-atta")).count())
}
