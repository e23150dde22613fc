//! One attack, in the process that calls this: it may well be the process's last.
use crate::build;
use crate::expect::Ending;
use crate::list::Attack;
use crate::scenarios;
use crate::tripwires::Tripwires;
use crate::world::World;
use anyhow::{Context, Result};
use lockgate::{Domain, Module};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What came of an attack.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// What it has changed outside its domain.
    pub harm: Vec<String>,
}

/// Lets an attack happen.
///
/// # Errors
/// It could not be tried, or a scenario found that a protection does not hold.
pub fn run(attack: Attack) -> Result<Outcome> {
    if let Some(name) = attack.description.scenario.clone() {
        let scenario = scenarios::find(&name).with_context(|| format!("there is no scenario {name:?}"))?;
        return within(World::new(attack)?, scenario);
    }
    match build::module(&attack)? {
        Ok(module) => within(World::new(attack)?, |world| call(world, &module)),
        // Whoever is refused before there is a domain has met nothing that it could harm.
        Err(ending) => Ok(Outcome { ending, harm: Vec::new() }),
    }
}

/// Looks for harm after `attack`.
fn within(mut world: World, attack: impl FnOnce(&mut World) -> Result<Ending>) -> Result<Outcome> {
    let tripwires = Tripwires::new(&world)?;
    let ending = attack(&mut world)?;
    Ok(Outcome { ending, harm: tripwires.changed(&world)? })
}

/// What happens to modules without a scenario: they are loaded and called.
fn call(world: &mut World, module: &Arc<Module>) -> Result<Ending> {
    match Domain::new(module, world.options()) {
        Ok(domain) => world.attack(&domain),
        Err(error) => Ok(Ending::Refused(error.to_string())),
    }
}
