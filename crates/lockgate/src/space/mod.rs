//! Address space: strides, what is mapped in them, and the memory services of modules.
mod exchange_sys;
mod ranges;
mod services;
mod shared;
mod stride_sys;
mod written_sys;

pub(crate) use services::{MAPPINGS, MAX_MAPPINGS, Memo, Services, Usage};
pub(crate) use shared::SharedRange;
pub(crate) use stride_sys::{
    Backing, MAX_STRIDES, Staged, Stride, abandon, in_a_stride, index_of, is_inherited,
};
pub(crate) use written_sys::written;

/// The base of the window whose stride `address` is in.
pub(crate) const fn base_of(address: u64) -> u64 {
    address - address % lockgate_abi::window::STRIDE
}
