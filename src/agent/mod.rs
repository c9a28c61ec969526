//! The loop: prompt, reply, evaluation, feedback, again.
//!
//! Each op has a state machine whose state is in the run directory: what comes next is a pure rule
//! over the finished attempts ([`Search`], [`Policy`]), and within an attempt a stage is done when
//! its file exists. A resumed run is therefore the same code started from other files. Ops run
//! concurrently, and so do attempts of an op where the strategy says so: calls of one overlap the
//! evaluation of another. Nothing here prints, compiles or launches.

mod attempt;
mod calls;
mod context;
mod event;
mod judging;
mod material;
mod op;
mod originals;
mod outcome;
mod plan;
mod plans;
mod run;
mod seeds;
mod sent;
mod strategy;

pub use context::Deps;
pub use event::{Event, PromptMatch};
pub use material::SuiteMaterial;
pub use outcome::{Error, OpEnd, OpOutcome, RunEnd, RunOutcome};
pub use plan::{BoxError, Judge, Llm, Material, PlannedOp, RunPlan, Source, Stop, StopHandle};
pub use run::run;
pub use strategy::{Ending, Policy, Search};

#[cfg(test)]
mod tests;
