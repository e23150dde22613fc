//! What the domain costs of the kernel's mappings is counted afterwards.
use crate::common::mappings;
use crate::expect::Ending;
use crate::world::World;
use anyhow::{Result, ensure};
use lockgate_abi::window;

/// Far more than a domain needs; a small part of the process's 65,530.
const MOST: usize = 2200;

pub(super) fn run(world: &mut World) -> Result<Ending> {
    let domain = world.domain()?;
    let ending = world.attack(&domain)?;
    let count = mappings(domain.base(), domain.base() + window::STRIDE).len();
    ensure!(count <= MOST, "the domain has {count} mappings of the kernel");
    Ok(ending)
}
