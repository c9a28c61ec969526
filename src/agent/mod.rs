//! The loop: prompt, reply, evaluation, feedback, again.
//!
//! Each op has a state machine whose state is in the run directory: what comes next is a pure rule
//! over the finished attempts ([`Policy`]), and within an attempt a stage is done when its file
//! exists. A resumed run is therefore the same code started from other files. Ops run
//! concurrently, so the calls of one overlap the evaluation of another. Nothing here prints,
//! compiles or launches.

mod attempt;
mod context;
mod decide;
mod event;
mod judging;
mod material;
mod op;
mod outcome;
mod plan;
mod run;
mod seeds;

pub use context::Deps;
pub use decide::{Ending, Policy};
pub use event::{Event, PromptMatch};
pub use material::SuiteMaterial;
pub use outcome::{Error, OpEnd, OpOutcome, RunEnd, RunOutcome};
pub use plan::{
    Ask, Best, BoxError, Judge, Last, Llm, Material, PlannedOp, RunPlan, Source, Stop, StopHandle,
};
pub use run::{calls_spent, run};

#[cfg(test)]
mod tests;
