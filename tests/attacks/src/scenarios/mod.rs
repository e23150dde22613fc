//! Attacks that take more of the host than one call: two domains, signals, resets, several threads. One file each.
//!
//! A scenario has the world, does what a host would do, and says how the attack ended; what it finds broken on the way is its error. Harm to
//! what the tripwires watch is found by the runner.
use crate::expect::Ending;
use crate::world::World;
use anyhow::Result;

mod bind_as_noted;
mod exit_word_of_another_binding;
mod trip_sys;

/// What a scenario is.
pub type Scenario = fn(&mut World) -> Result<Ending>;

/// By name, as `attack.toml` has it.
const ALL: &[(&str, Scenario)] = &[
    ("bind-as-noted", bind_as_noted::run),
    ("exit-word-of-another-binding", exit_word_of_another_binding::run),
    ("trip", trip_sys::run),
];

/// The scenario of that name.
pub fn find(name: &str) -> Option<Scenario> {
    ALL.iter().find(|(known, _)| *known == name).map(|(_, scenario)| *scenario)
}

/// All names.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, _)| *name)
}
