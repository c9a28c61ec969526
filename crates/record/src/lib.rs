//! The shared vocabulary as plain data: requests to the judge and its answers.
//!
//! Nothing here computes, prints or touches a file; every other module may know this one, and it
//! knows none of them.

mod adapter;
pub mod convolution;
mod coverage;
pub mod evaluation;
pub mod feedback;
pub mod finding;
pub mod gemm;
mod hex;
pub mod ids;
pub mod implementation;
pub mod plan;
pub mod profile;
pub mod request;
pub mod sandbox;
pub mod search;
pub mod speedups;
pub mod spend;
pub mod split;
pub mod target;
pub mod tensor_map;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod timing;
pub mod verdict;

pub use kgen_ops::record::{
    Arg, ArgValue, Case, CaseClass, DType, Gen, HostTensor, InputDistribution, List,
    MatrixStructure, TensorArg, TensorSpec, WindowAxis, number, tensor,
};

pub use kgen_measure::{
    Comparison, Energy, Flag, L2, Memory, Mode, Profile, Session, TimeVerdict, Timing, Usage,
    roofline::Roofline,
};

pub use adapter::{Adapter, AdapterFacts, UnknownAdapterError};
pub use convolution::Convolution;
pub use coverage::{Coverage, Gap, GapKind, Grids};
pub use evaluation::{
    CaseOutcome, CaseResult, Evaluation, FullSize, LaunchCounters, OtherRules, Stage, StageTime,
    StepTime,
};
pub use feedback::{FeedbackKind, FeedbackSet, UnknownFeedbackError};
pub use finding::{
    Diagnostic, ElementDiff, Fault, Finding, LaunchFacts, Mismatch, RelatedAccess, Resources,
    Severity, SourceSpan,
};
pub use gemm::{BufferOffset, Gemm, Matrix};
pub use hex::hex;
pub use ids::{AttemptId, OpKey, RunId};
pub use implementation::{
    Implementation, LibraryUse, PythonFacts, PythonKind, PythonSettings, UnknownPythonKindError,
};
pub use plan::{
    BufferRef, LaunchAttributes, ParamAxis, ParamType, PlanArg, ResolvedPlan, Scratch, Signature,
    Step, View,
};
pub use profile::{KernelProfile, ProfileRequest, RawOutput};
pub use request::{Emulation, EvalRequest, Limits, Precision, Sanitize};
pub use sandbox::Sandbox;
pub use search::Strategy;
pub use speedups::speedups;
pub use spend::{Cap, CapKind, CapScope, Caps, Spend};
pub use split::Split;
pub use target::Target;
pub use timing::{BaselineRequest, BaselineTiming, CaseTiming, SideBySide, Speedup, TimingRequest};
pub use verdict::{Level, Verdict};
