//! Functions by name for programs of other processes: [`serve`] offers what a registry has on a UNIX socket, [`Remote`] binds it and calls.
//!
//! ```no_run
//! use lockgate::{Registry, Value};
//! use lockgate_programs::share::{Data, Offer, Query, Remote, serve};
//!
//! // One process:
//! let offer = Offer::new().function("codec.crc", "uint32_t crc(uint32_t, const uint8_t data[n], size_t n)");
//! let _served = serve(Registry::process(), "/run/codec.share", offer)?;
//! // Another one:
//! let codec = Remote::connect("/run/codec.share")?;
//! let crc = codec.bind(&Query::newest("codec.crc"), "uint32_t crc(uint32_t, const uint8_t data[n], size_t n)")?;
//! let sum = crc.call(&mut [Value::Unsigned(0).into(), Data::Read(b"bytes"), Value::Unsigned(5).into()])?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `shape` what a prototype says of a call; `line` the memory that carries calls; `wire` what the socket carries; `server`, `client` the two sides, which do
//! not trust each other (docs/sharing.md, decision 0127).

mod client;
mod error;
#[doc(hidden)]
pub mod line;
mod server;
#[doc(hidden)]
pub mod shape;
#[doc(hidden)]
pub mod wire;

#[doc(hidden)]
pub use client::judged;
pub use client::{Data, Query, Remote, RemoteFunction};
pub use error::{RemoteError, ShareError};
pub use server::{Limits, Offer, Served, serve};
pub use shape::Buffer;

use lockgate::signature::Signature;

/// The signature of a function that is shared by this prototype.
///
/// # Errors
/// Why it cannot be.
pub(crate) fn signature(prototype: &str) -> Result<Signature, String> {
    shape::Shape::new(prototype).map(|shape| shape.signature)
}

/// Whether a function of this signature takes and returns values alone.
///
/// # Errors
/// Why not.
pub(crate) fn check_values(signature: &Signature) -> Result<(), String> {
    shape::Shape::without_buffers(signature.clone()).map(drop)
}
