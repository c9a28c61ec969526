//! The loop: prompt, reply, evaluation, feedback, again.
//!
//! Each op has a state machine whose state is in the run directory: the next step is a pure rule
//! over the finished attempts ([`Search`], [`Policy`]), and within an attempt a stage is done when
//! its file exists. A resumed run is therefore the same code started from other files. Ops run
//! concurrently, and so do attempts of an op where the strategy says so: calls of one overlap the
//! evaluation of another. Nothing here prints, compiles or launches.

mod analysis_queue;
mod attempt;
mod calls;
mod context;
mod duplicates;
mod evaluate;
mod event;
mod op;
mod outcome;
mod run;
mod seeds;
mod spec;
mod strategy;
mod suite_inputs;

pub use context::Deps;
pub use event::{Event, PromptMatch};
pub use outcome::{Error, OpEnd, OpOutcome, RunEnd, RunOutcome};
pub use run::run;
pub use seeds::fresh as fresh_seed;
pub use spec::{
    BoxError, CandidateSource, EvaluationService, Llm, RunInputs, RunOp, RunSpec, Shutdown,
    ShutdownHandle,
};
pub use strategy::{Ending, Policy, Search};
pub use suite_inputs::SuiteInputs;

#[cfg(test)]
mod tests;
