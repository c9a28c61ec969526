//! The shared vocabulary as plain data: what is asked of the judge and what it answers.
//!
//! Nothing here computes, prints or touches a file; every other module may know this one, and it
//! knows none of them.

pub mod case;
pub mod dtype;
pub mod evaluation;
pub mod finding;
pub mod ids;
pub mod number;
pub mod plan;
pub mod request;
pub mod target;
pub mod tensor;
pub mod verdict;

pub use case::{Arg, ArgValue, Case, CaseClass, Family, Gen, TensorArg};
pub use dtype::DType;
pub use evaluation::{
    CaseResult, CaseTiming, Evaluation, LaunchCounters, OtherRules, Outcome, Speedup, Stage,
    StageTime, Timing,
};
pub use finding::{
    Diagnostic, ElementDiff, Fault, Finding, Mismatch, Place, Resources, Severity, SourceSpan,
};
pub use ids::{AttemptId, OpKey, RunId};
pub use plan::{
    BufferRef, ParamAxis, ParamType, PlanArg, ResolvedPlan, Scratch, Signature, Step, View,
};
pub use request::{Emulation, EvalRequest, Limits, Sanitize, TimingRequest};
pub use target::Target;
pub use tensor::{HostTensor, TensorSpec};
pub use verdict::{Level, Verdict};
