//! A host that knows nothing of the module binds its export with the very prototype that the module notes, as the Python package does.
use crate::expect::Ending;
use crate::world::World;
use anyhow::{Context, Result};

pub(super) fn run(world: &mut World) -> Result<Ending> {
    let domain = world.domain()?;
    let noted = domain.module().exports().find(|(name, _)| *name == "attack");
    let prototype = noted.and_then(|(_, prototype)| prototype).context("the module notes no prototype")?;
    Ok(match domain.bind_dynamic(prototype) {
        Ok(_) => Ending::Returned(0),
        Err(error) => Ending::Refused(error.to_string()),
    })
}
