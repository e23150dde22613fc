//! How everything crosses the boundary: one decision for each parameter, result and field, or a refusal.
//!
//! Two points of view. What goes *in*, from the program to the library, is a [`Passing`]; what comes *out* is an
//! [`Outcome`], which may be anything and is checked. The parameters of callbacks are outcomes, their results go in.
//!
//! `model` is the plan, `planner` what all that make it have, `functions` plans a function, step by step; the others decide one thing each.
mod by_value;
mod contract;
mod effects;
mod failure;
mod functions;
mod keep;
mod layout;
mod model;
mod outcome;
mod pairs;
mod passing;
mod places;
mod planner;
mod record;
mod sizes;
mod texts;

pub use by_value::prototype;
pub use contract::agree;
pub use functions::{plan, plan_domain};
pub use model::{
    Buffer, CallbackPlan, Count, FieldPlan, Formatted, FunctionPlan, LeftOut, Outcome, Passing, Plan,
    RecordPlan, Refusal, Vague,
};
pub use passing::handle_name;
use planner::{No, OMIT, Planner, is_of_platform, no, or_omit};
pub use record::TEXT;
