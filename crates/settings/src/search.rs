//! Sections of the search: its strategy, feedback, limits of spending, abilities of models.

use kgen_record::{Caps, FeedbackSet, Strategy};
use serde::{Deserialize, Serialize};

/// Section `search`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchSettings {
    pub strategy: Strategy,
    /// Candidates that `best-of` begins with, at least 1.
    pub samples: u32,
    /// Branches of `beam`, at least 1.
    pub width: u32,
    /// Rounds of `beam`, at least 1.
    pub depth: u32,
    /// Whether a first call names a bottleneck and a change before a second writes the code.
    pub planner: bool,
}

/// Section `feedback`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeedbackSettings {
    /// The kinds that models get.
    pub kinds: FeedbackSet,
    /// Tokens that a prompt may have by kgen's estimate, at least 1.
    pub prompt_tokens: u64,
}

/// Section `budget`; every cap is above 0.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetSettings {
    /// US dollars of the run.
    pub usd: Option<f64>,
    /// Input and output tokens of the run.
    pub tokens: Option<u64>,
    /// LLM calls of the run.
    pub calls: Option<u32>,
    /// Seconds of the run.
    pub seconds: Option<f64>,
    /// US dollars of each op.
    pub op_usd: Option<f64>,
    /// Input and output tokens of each op.
    pub op_tokens: Option<u64>,
    /// LLM calls of each op.
    pub op_calls: Option<u32>,
    /// Seconds of each op.
    pub op_seconds: Option<f64>,
}

impl BudgetSettings {
    #[must_use]
    pub const fn of_run(&self) -> Caps {
        Caps { usd: self.usd, tokens: self.tokens, calls: self.calls, seconds: self.seconds }
    }

    /// Returns the caps of each op.
    #[must_use]
    pub const fn of_op(&self) -> Caps {
        Caps {
            usd: self.op_usd,
            tokens: self.op_tokens,
            calls: self.op_calls,
            seconds: self.op_seconds,
        }
    }
}

/// How hard a model is to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    None,
    /// As little as can be.
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
    /// As hard as it can.
    Max,
}

impl Effort {
    /// Names of all values, as flags and providers spell them.
    pub const NAMES: &'static [&'static str] =
        &["none", "minimal", "low", "medium", "high", "xhigh", "max"];

    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LlmCache {
    #[default]
    Off,
    /// Replies are kept, none is taken.
    Record,
    /// Taken where there is one, else asked for and kept.
    Auto,
    /// Taken; a request without a kept reply is an error, and nothing is sent.
    Only,
}

/// A table `models.NAME`: abilities of a model. An absent ability is not checked.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSettings {
    /// Tokens of prompt and reply together.
    pub context_tokens: Option<u64>,
    /// Tokens of a reply.
    pub max_output_tokens: Option<u32>,
    /// Whether it takes a sampling temperature.
    pub temperature: Option<bool>,
    /// The efforts that it takes.
    pub efforts: Option<Vec<Effort>>,
    /// The values of `llm.thinking` that it takes; `tokens` stands for any number of them.
    pub thinking: Option<Vec<String>>,
    pub price: Option<PriceSettings>,
}

/// Prices of a model, in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceSettings {
    pub input: f64,
    /// Output tokens, reasoning included.
    pub output: f64,
    /// Input tokens read from the provider's cache; as `input` where not said.
    pub cache_read: Option<f64>,
    /// Input tokens written into the provider's cache; as `input` where not said.
    pub cache_write: Option<f64>,
}
