//! Attacks that take more of the host than one call: two domains, signals, resets, several threads. One file each.
//!
//! A scenario has the world, does what a host would do, and says how the attack ended; what it finds broken on the way is its error. Harm to
//! what the tripwires watch is found by the runner.
use crate::expect::Ending;
use crate::world::World;
use anyhow::Result;

mod bind_as_noted;
mod few_mappings;
pub mod granted;
mod guest_threads;
mod hostile_allocator;
mod names;
mod recursion_through_the_host;
mod registers_sys;
mod trip_sys;
mod two_threads;
mod used_before;

/// What a scenario is.
pub type Scenario = fn(&mut World) -> Result<Ending>;

/// By name, as `attack.toml` has it.
const ALL: &[(&str, Scenario)] = &[
    ("after-a-reset", used_before::after_a_reset),
    ("bind-as-noted", bind_as_noted::run),
    ("few-mappings", few_mappings::run),
    ("granted", granted::run),
    ("host-uses-the-x87", registers_sys::after_the_x87),
    ("hostile-allocator", hostile_allocator::run),
    ("names-a-name-for-others", names::for_others),
    ("names-look-alike", names::look_alikes),
    ("names-squatting", names::squatting),
    ("next-domain", used_before::next_domain),
    ("next-thread", used_before::next_thread),
    ("own-threads", guest_threads::run),
    ("recursion-through-the-host", recursion_through_the_host::run),
    ("secrets-in-registers", registers_sys::with_secrets),
    ("trip", trip_sys::run),
    ("two-threads", two_threads::run),
];

/// The scenario of that name.
pub fn find(name: &str) -> Option<Scenario> {
    ALL.iter().find(|(known, _)| *known == name).map(|(_, scenario)| *scenario)
}

/// All names.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, _)| *name)
}
