//! The host puts arguments where the module's allocator says.
use crate::expect::Ending;
use crate::world::World;
use anyhow::{Result, bail};

pub(super) fn run(world: &mut World) -> Result<Ending> {
    let domain = world.domain()?;
    world.attack(&domain)?;
    match domain.alloc_slice(&[0xa5_u8; 64]) {
        Err(error) => Ok(Ending::Refused(error.to_string())),
        Ok(at) => bail!("the host wrote its arguments to {:#x}", at.address()),
    }
}
