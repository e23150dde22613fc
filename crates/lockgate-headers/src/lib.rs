//! Lockgate's headers as text, for the crates that write them beside what they make.
//!
//! `include/` is what programs of users include; it is installed. `built-in/` is for modules and for generated clients alone, which get it
//! from `lockgate cc` and `lockgate stubs`: `execinfo.h` stands in for a header of libc's.
#![forbid(unsafe_code)]

/// The C library.
pub const LOCKGATE_H: &str = include_str!("../include/lockgate.h");
/// The C++ layer over it.
pub const LOCKGATE_HPP: &str = include_str!("../include/lockgate.hpp");
/// What annotated sources and headers say of their functions.
pub const ANNOTATIONS_H: &str = include_str!("../include/lockgate/annotations.h");
/// Functions of PostgreSQL for modules.
pub const LOCKGATE_PG_H: &str = include_str!("../include/lockgate_pg.h");
/// Queues in shared memory, for both sides.
pub const LOCKGATE_RING_H: &str = include_str!("../include/lockgate_ring.h");
/// Passing shared memory on, for modules.
pub const LOCKGATE_GRANT_H: &str = include_str!("../include/lockgate_grant.h");
/// `backtrace` inside a domain: musl has no such header.
pub const EXECINFO_H: &str = include_str!("../built-in/execinfo.h");
/// What generated clients tell their programs.
pub const LOCKGATE_STUBS_H: &str = include_str!("../built-in/lockgate_stubs.h");
