//! See docs/.
pub mod debug;
pub mod syscall;
