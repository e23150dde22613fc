//! Address space: strides, what is mapped in them, and the memory services of modules.
mod ranges;
mod services;
mod stride_sys;
mod written;

pub(crate) use services::{Memo, Services, Usage};
pub(crate) use stride_sys::{Backing, MAX_STRIDES, Stride};
pub(crate) use written::written;
