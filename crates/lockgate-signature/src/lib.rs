//! C prototypes, as far as calls are concerned: the language in which modules note what they export and import
//! (`lockgate_abi::note`), hosts say what they call, and the build driver tells what debug information knows.
//!
//! ```
//! let signature: lockgate_signature::Signature = "char *name(const struct item *, size_t)".parse()?;
//! assert_eq!(signature.to_string(), "void * name(void *, uint64_t)");
//! # Ok::<(), lockgate_signature::PrototypeError>(())
//! ```
#![forbid(unsafe_code)]

mod asked;
mod parse;
mod types;
mod words;

pub use asked::Asked;
pub use lockgate_outside::printable;
pub use parse::PrototypeError;
pub use types::{Field, Signature, Type};
