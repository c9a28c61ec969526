//! Cases and prompts of a suite's ops.

use std::collections::BTreeMap;

use kgen_ops::suite::Suite;
use kgen_prompt::{PromptContext, Prompts, Rendered, Situation};
use kgen_record::{BaselineRequest, Case, DType, FeedbackSet, Precision, Target, TimingRequest};
use kgen_settings::TimingSettings;

use super::{BoxError, RunInputs};

#[derive(Debug)]
pub struct SuiteInputs {
    pub suite: Suite,
    /// Element types to judge in; empty takes all that the suite has.
    pub dtypes: Vec<DType>,
    pub prompts: Prompts,
    pub target: Target,
    /// How correct kernels are timed; `None` where they are not.
    pub timing: Option<TimingSettings>,
    /// Name of the baseline that decides speedup.
    pub baseline: String,
    pub baselines: BTreeMap<String, Vec<BaselineRequest>>,
    /// Speedup at which a kernel is good enough.
    pub target_speedup: f64,
    /// Compile variants per element type.
    pub max_variants: u32,
    pub precision: Precision,
    /// Whether plans may call libraries.
    pub libraries: bool,
    /// Whether kernels may include headers of CUTLASS.
    pub cutlass: bool,
    pub feedback: FeedbackSet,
    /// Tokens that a prompt may have, by kgen's estimate.
    pub prompt_tokens: u64,
}

impl SuiteInputs {
    fn dtypes(&self) -> Option<&[DType]> {
        (!self.dtypes.is_empty()).then_some(self.dtypes.as_slice())
    }
}

impl RunInputs for SuiteInputs {
    fn cases(&self, op: &str, seed: u64) -> Result<Vec<Case>, BoxError> {
        Ok(self.suite.cases(op, self.dtypes(), seed)?)
    }

    fn timing(&self, op: &str) -> Option<TimingRequest> {
        let settings = self.timing.as_ref()?;
        Some(TimingRequest {
            baselines: self.baselines.get(op).cloned().unwrap_or_default(),
            profile: settings.profile,
            l2: settings.l2,
            graph: settings.graph,
            do_bench: settings.do_bench,
            max_s: settings.max_s,
            side_by_side: None,
        })
    }

    fn prompt(&self, op: &str, situation: &Situation<'_>) -> Result<Rendered, BoxError> {
        let mut cases = self.suite.public_cases(op)?;
        cases.retain(|case| self.dtypes().is_none_or(|dtypes| dtypes.contains(&case.dtype)));
        let context = PromptContext {
            op: self.suite.op(op)?,
            cases: &cases,
            target: &self.target,
            can_time: self.timing.is_some(),
            baseline: &self.baseline,
            target_speedup: self.target_speedup,
            max_variants: self.max_variants,
            precision: self.precision,
            libraries: self.libraries,
            cutlass: self.cutlass,
            feedback: self.feedback,
            prompt_tokens: self.prompt_tokens,
        };
        Ok(self.prompts.render(&context, situation)?)
    }
}
