//! The commands, one file each.
pub mod bench;
pub mod call;
pub mod cargo;
pub mod cc;
pub mod completions;
pub mod control;
mod descriptors;
pub mod doctor;
mod domain;
#[allow(unsafe_code)]
mod ends_sys;
pub mod inspect;
pub mod link;
mod listing;
pub mod man;
pub mod output;
mod progress;
mod proxy;
pub mod ps;
pub mod rewrite;
pub mod run;
mod screen;
pub mod stubs;
pub mod top;
pub mod up;
pub mod verify;
