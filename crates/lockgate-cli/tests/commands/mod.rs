//! The commands, as a user's shell sees them: output, errors, exit statuses.
mod shop;

mod call;
mod errors;
mod help;
mod inspect;
mod ps;
mod run;
mod sqlite;
mod top;
mod verify;
