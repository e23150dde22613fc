//! See docs/.
pub mod syscall;
