//! A logical call and the parts of its reply, free of any provider's wire format.

use std::fmt;

use kgen_record::AttemptId;
use serde::{Deserialize, Serialize};

/// Names one call within a run: the attempt and the number of the call within it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallKey {
    pub attempt: AttemptId,
    /// Number of the call within the attempt, from 1.
    pub call: u32,
}

impl fmt::Display for CallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.call_{}", self.attempt, self.call)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// To say the change to make.
    Plan,
    /// To be a kernel file.
    #[default]
    Code,
}

/// One question to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Which call of the run it is.
    pub key: CallKey,
    /// The system prompt; may be empty.
    pub system: String,
    pub prompt: String,
    /// Most tokens the reply may have, reasoning included.
    pub max_tokens: u32,
    pub turn: Turn,
    /// Tells apart calls that may have equal prompts: the branch of the search.
    pub sample: u32,
    /// Sampling temperature; sent only if the user set one, because newer models refuse it.
    pub temperature: Option<f64>,
}

/// Marks a reply that was kept from an equal request; its tokens and its cost are those of then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cached {
    /// When it was kept, RFC 3339, UTC.
    pub kept_at: String,
    /// Wall time it took then.
    pub seconds: f64,
}

/// Marks a reply that was read from a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replayed {
    /// Whether the recorded prompt is not the one of this call.
    pub prompt_differs: bool,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Finish {
    Stop,
    /// The token limit cut it off.
    Length,
    Refusal {
        /// Its or the provider's words, where given.
        reason: Option<String>,
    },
    /// The provider's filter cut it off.
    ContentFilter,
    /// A reason this version of kgen does not know; treated as [`Finish::Stop`].
    Other {
        name: String,
    },
}

/// Tokens of a call; `None` is "not reported".
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// All input tokens, cached ones included.
    pub input: Option<u64>,
    /// Input tokens read from the provider's cache.
    pub cache_read: Option<u64>,
    /// Input tokens written into the provider's cache.
    pub cache_write: Option<u64>,
    /// All output tokens, reasoning included.
    pub output: Option<u64>,
    /// Output tokens spent on reasoning.
    pub reasoning: Option<u64>,
    /// Cost in US dollars, where the provider says so itself.
    pub cost_usd: Option<f64>,
}
