//! Evidence that the verifier is right, from outside it: other decoders, real processors, arithmetic. `docs/evidence.md` says what it shows.
//!
//! | to read, in this order | about |
//! |---|---|
//! | `differential.rs` | differential decoding: its sources and its count |
//! | `encodings.rs`, `archives.rs` | encodings, enumerated; code of the distribution |
//! | `decoders/`, `difference.rs`, `explained.rs` | what other decoders say, where they part from the verifier, and why |
//! | `semantics.rs` | accepted instructions, executed one by one |
//! | `single_steps.rs`, `adversarial.rs` | programs of random accepted code, single-stepped |
//! | `domains.rs` | the same in real domains |
//! | `real_code.rs`, `shadow.rs` | real programs with a shadow stack |
//! | `machine_sys.rs`, `machine_asm.rs` | a window and one step in it |
//! | `victim_sys.rs` | a child that is stopped where this process wants it to |
//! | `operand_rule.rs`, `rsp_rule.rs`, `text.rs` | rules V2 and V3, enumerated, against arithmetic |

pub mod adversarial;
pub mod archives;
pub mod decoders;
pub mod difference;
pub mod differential;
pub mod domains;
pub mod encodings;
pub mod explained;
mod machine_asm;
pub mod machine_sys;
pub mod operand_rule;
pub mod random;
pub mod real_code;
pub mod rsp_rule;
pub mod semantics;
pub mod shadow;
pub mod single_steps;
pub mod text;
pub mod victim_sys;

pub use machine_asm::{Kept, call_kept, rudeness_is_noticed};
