//! Modules' names and lines where debuggers (`registry_sys`) and profilers (`perf_map`) look for them.
pub(crate) mod perf_map;
mod registry_sys;

pub(crate) use registry_sys::{ProcessFacts, Registration, Site, abandon, sites};
