//! The boundary: what a stub does, step by step.
//!
//! The plan is lowered to a small tree of [`Step`]s and [`Value`]s, which a printer writes down as it stands and knows nothing about.
//! Everything that security rests on is decided here, once. A stub is made of [`Phases`](stub::Phases), whose order, and what stands between
//! them, only [`Phases::steps`](stub::Phases::steps) says. What a domain can have written is a [`Raw`](copy_out::Raw), of which
//! [`CopyOut`](copy_out::CopyOut) alone makes a value.
//!
//! Clients in other languages stand on this one (decision 0040): only what is written here talks with a domain.
pub mod callback;
mod copy_in;
pub mod copy_out;
pub mod declare;
mod given;
pub mod record;
pub mod size;
mod steps;
pub mod stub;

pub use steps::{Function, Step, Value};
