//! Several programs as domains of one process: they start in order, each when what it depends on is ready; one that crashes is restarted while the
//! others serve; what they write comes out line by line, with their names; and they end in order.
//!
//! ```no_run
//! use lockgate::{DomainOptions, Module, syscall::Grants};
//! use lockgate_programs::{Programs, Restart, Spec};
//!
//! let mut programs = Programs::new();
//! let server = Module::open("server.lg")?;
//! let grants = Grants::default().listen("127.0.0.1:6379")?;
//! programs.add(Spec::new("server", &server, DomainOptions::new(), grants).restart(Restart::OnFault))?;
//! let client = Module::open("client.lg")?;
//! let grants = Grants::default().connect("127.0.0.1:6379")?;
//! programs.add(Spec::new("client", &client, DomainOptions::new(), grants).depends_on(["server"]))?;
//! let ends = programs.run(&lockgate_programs::Quiet)?;
//! assert!(ends.first_failure().is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `plan` decides, and knows no threads and no clock; `run` does what it says. `lockgate up` is a face of this crate (docs/programs.md,
//! decision 0096).
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

pub mod control;
mod error;
mod limits;
mod logs;
pub mod metrics;
mod plan;
mod probe;
mod run;
mod server;
mod service;
pub mod share;
mod spec;

pub use error::ProgramsError;
pub use logs::{LINE, Line, Stream, TAIL, Volume};
pub use plan::State;
pub use run::{End, Ends, Event, Handle, NOT_STARTED, Observer, Programs, Quiet, Status, Totals, status_of};
pub use server::Accepting;
pub use spec::{Address, BackOff, Exported, Imported, Ready, Restart, Shared, Spec};
