//! Evidence that the verifier is right, from outside it: other decoders, real processors, arithmetic. `docs/evidence.md` says what it shows.
//!
//! | to read, in this order | about |
//! |---|---|
//! | `differential.rs` | differential decoding: its sources and its count |
//! | `encodings.rs`, `archives.rs` | encodings, enumerated; code of the distribution |
//! | `decoders/`, `difference.rs`, `explained.rs` | what other decoders say, where they part from the verifier, and why |

pub mod archives;
pub mod decoders;
pub mod difference;
pub mod differential;
pub mod encodings;
pub mod explained;
mod machine_asm;
pub mod machine_sys;
pub mod operand_rule;
pub mod random;
pub mod rsp_rule;
pub mod semantics;
pub mod text;
