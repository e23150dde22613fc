//! What protocols between threads are made of that do without a lock, or mix atomics with one. `tests/models` compiles the files that
//! use this module over loom's versions of the same things, which try every order of threads that the memory model permits.
pub(crate) use lockgate_kernel::barrier;
pub(crate) use rustix::thread::futex;
pub(crate) use std::sync::{Mutex, MutexGuard, OnceLock, atomic};
pub(crate) use std::time::Instant;
