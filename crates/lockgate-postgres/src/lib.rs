//! The PostgreSQL extension in `postgres/`, built and tried: a private copy of the machine's PostgreSQL with the extension in it
//! ([`Installation`]), servers on it that no other user can reach ([`Server`]), sessions ([`Session`]), and modules ([`module`]).
//!
//! Nothing is written outside of temporary folders, and of the calling program's own folder, where the built extension is kept: it takes no
//! rights. As root, servers run as another user, because PostgreSQL refuses to run as root.
#![forbid(unsafe_code)]

mod held;
mod installation;
mod keeper;
mod modules;
mod server;
mod session;
mod soak;
mod user;

pub use held::Held;
pub use installation::Installation;
pub use lockgate_corpus::done;
pub use modules::{module, source};
pub use server::{Database, Server};
pub use session::Session;
pub use soak::{Soak, soak};

use std::path::PathBuf;

/// The root of the source tree.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}
