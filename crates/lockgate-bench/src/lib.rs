//! Lockgate's benchmarks. Each module measures one family of metrics and returns them; SPECIFICATION.md says what
//! they target, [`Report`] prints them as a table or as JSON.
//!
//! Method, for all of them: the sides of a comparison are interleaved in one run, after a warm-up, on one CPU; a metric is the
//! median of many samples and shows its minimum and 99th percentile beside it.

// What only other families use.
#![cfg_attr(not(feature = "all"), allow(dead_code, unused_imports))]

pub mod calls;
#[cfg(feature = "all")]
pub mod capi;
pub mod command;
#[cfg(feature = "all")]
pub mod create;
#[cfg(feature = "all")]
pub mod dlopen;
#[cfg(feature = "all")]
pub mod evidence;
#[cfg(feature = "all")]
pub mod ipc;
#[cfg(feature = "all")]
pub mod languages;
#[cfg(feature = "all")]
pub mod overhead;
#[cfg(feature = "all")]
pub mod postgres;
#[cfg(feature = "all")]
pub mod python;
#[cfg(feature = "all")]
pub mod rewrite;
#[cfg(feature = "all")]
pub mod running;
#[cfg(feature = "all")]
pub mod soak;
#[cfg(feature = "all")]
pub mod split;
#[cfg(feature = "all")]
pub mod stubs;
#[cfg(feature = "all")]
pub mod verify;

#[cfg(feature = "all")]
mod child_sys;
#[cfg(feature = "all")]
mod code_size;
mod contexts_sys;
mod dlopen_sys;
mod gs_sys;
#[cfg(feature = "all")]
mod installed;
mod interleave;
mod machine;
mod metric;
mod objects;
mod pin;
#[cfg(feature = "all")]
mod plot;
mod preset;
#[cfg(feature = "all")]
mod programs;
mod progress;
pub mod screen;
#[cfg(feature = "all")]
mod sides;
mod signals_sys;
mod table;
mod target;

#[cfg(feature = "all")]
pub use installed::install;
pub use metric::{Metric, Report};
pub use pin::Pinned;
pub use table::Table;
pub use target::Target;

/// How to measure.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Few samples: shows that everything works, proves no target.
    pub quick: bool,
    /// Of the families whose metrics are statements or programs, only those whose names begin so.
    pub only: Option<String>,
}

impl Options {
    /// Those of `all` that are asked for, by their metrics' names.
    ///
    /// # Errors
    /// None is.
    fn chosen<'a, T>(&self, all: &'a [T], name: impl Fn(&T) -> &str) -> anyhow::Result<Vec<&'a T>> {
        let is_wanted = |one: &&T| self.only.as_ref().is_none_or(|only| name(one).starts_with(only.as_str()));
        let chosen: Vec<&T> = all.iter().filter(is_wanted).collect();
        if let (true, Some(only)) = (chosen.is_empty(), &self.only) {
            let names: Vec<&str> = all.iter().map(name).collect();
            anyhow::bail!("no metric begins with '{only}'; there are {}", names.join(", "));
        }
        Ok(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn what_is_chosen_begins_with_the_prefix() {
        let all = ["a.x", "a.y", "b.x"];
        let chosen = |only: Option<&str>| {
            let options = Options { only: only.map(str::to_owned), ..Options::default() };
            options.chosen(&all, |name| name).map(|chosen| chosen.into_iter().copied().collect::<Vec<_>>())
        };
        assert_eq!(chosen(None).unwrap(), all);
        assert_eq!(chosen(Some("a.")).unwrap(), ["a.x", "a.y"]);
        assert!(chosen(Some("x")).unwrap_err().to_string().contains("a.x, a.y, b.x"));
    }
}
