//! Address space: strides, what is mapped in them, and the memory services of modules.
mod ranges;
mod services;
mod stride_sys;

pub(crate) use services::{Services, Usage};
pub(crate) use stride_sys::{Backing, MAX_STRIDES, Stride};
