//! Cost of LLM calls, and its limits.

use std::{fmt, iter::Sum, ops::AddAssign};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tokens, dollars and time of some calls. Spends add up: those of an attempt's calls to the
/// attempt's, those of attempts to an op's and a run's.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Spend {
    /// Calls that were sent, lost ones included.
    pub calls: u32,
    /// Calls, and tries of calls, that brought no reply and may have been billed.
    pub lost_calls: u32,
    /// Input tokens, cached ones included.
    pub input_tokens: u64,
    /// Input tokens read from the provider's cache.
    pub cache_read_tokens: u64,
    /// Input tokens written into the provider's cache.
    pub cache_write_tokens: u64,
    /// Output tokens, reasoning included.
    pub output_tokens: u64,
    /// Output tokens spent on reasoning.
    pub reasoning_tokens: u64,
    /// Calls whose tokens the provider did not report.
    pub unreported: u32,
    /// US dollars of the calls whose tokens and price are known.
    pub usd: f64,
    /// Tokens at most of unreported and lost calls: their worst case.
    pub assumed_tokens: u64,
    /// US dollars at most of unreported and lost calls: their worst case.
    pub assumed_usd: f64,
    /// Calls whose price is unknown.
    pub unpriced: u32,
    /// Wall time of the calls, in seconds; calls that were open at once count each.
    pub seconds: f64,
}

impl Spend {
    /// Returns the cost in US dollars, as far as it is known; `None` where a call's price is not.
    #[must_use]
    pub fn cost(&self) -> Option<f64> {
        (self.unpriced == 0).then_some(self.usd)
    }

    /// Returns input and output tokens together, as far as they were reported.
    #[must_use]
    pub const fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Returns the tokens that count towards a cap, worst cases included.
    #[must_use]
    pub const fn charged_tokens(&self) -> u64 {
        self.tokens().saturating_add(self.assumed_tokens)
    }

    /// Returns the US dollars that count towards a cap, worst cases included.
    #[must_use]
    pub fn charged_usd(&self) -> f64 {
        self.usd + self.assumed_usd
    }
}

impl AddAssign for Spend {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.lost_calls += other.lost_calls;
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cache_read_tokens = self.cache_read_tokens.saturating_add(other.cache_read_tokens);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(other.cache_write_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(other.reasoning_tokens);
        self.unreported += other.unreported;
        self.usd += other.usd;
        self.assumed_tokens = self.assumed_tokens.saturating_add(other.assumed_tokens);
        self.assumed_usd += other.assumed_usd;
        self.unpriced += other.unpriced;
        self.seconds += other.seconds;
    }
}

impl Sum for Spend {
    fn sum<I: Iterator<Item = Self>>(spends: I) -> Self {
        let mut sum = Self::default();
        spends.for_each(|spend| sum += spend);
        sum
    }
}

/// Limits of spending; `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Caps {
    pub usd: Option<f64>,
    /// Input and output tokens.
    pub tokens: Option<u64>,
    pub calls: Option<u32>,
    /// Wall time, in seconds.
    pub seconds: Option<f64>,
}

impl Caps {
    /// Returns one of the limits, in the unit of its kind.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "limits are shown with a few digits")]
    pub fn limit(&self, kind: CapKind) -> Option<f64> {
        match kind {
            CapKind::Usd => self.usd,
            CapKind::Tokens => self.tokens.map(|tokens| tokens as f64),
            CapKind::Calls => self.calls.map(f64::from),
            CapKind::Seconds => self.seconds,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cap {
    pub scope: CapScope,
    pub kind: CapKind,
    /// The limit, in the unit of its kind.
    pub limit: f64,
}

/// The scope of a [`Cap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapScope {
    Run,
    /// Every op by itself.
    Op,
}

/// The unit of a [`Cap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapKind {
    Usd,
    /// Input and output tokens.
    Tokens,
    Calls,
    /// Seconds of wall time.
    Seconds,
}

impl fmt::Display for Cap {
    /// Writes for example `20 LLM calls per op` or `$5 per run`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = self.limit;
        match self.kind {
            CapKind::Usd => write!(f, "${limit}"),
            CapKind::Tokens => write!(f, "{limit} tokens"),
            CapKind::Calls if limit <= 1.0 => write!(f, "{limit} LLM call"),
            CapKind::Calls => write!(f, "{limit} LLM calls"),
            CapKind::Seconds => write!(f, "{limit} s"),
        }?;
        f.write_str(match self.scope {
            CapScope::Run => " per run",
            CapScope::Op => " per op",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Cap, CapKind, CapScope, Spend};

    #[test]
    fn one_unpriced_call_makes_the_cost_unknown() {
        let priced = Spend { calls: 1, usd: 0.5, ..Spend::default() };
        let unpriced = Spend { calls: 1, unpriced: 1, ..Spend::default() };
        let sum = |spends: &[Spend]| spends.iter().copied().sum::<Spend>();
        assert_eq!(sum(&[priced, priced]).cost(), Some(1.0));
        assert_eq!(sum(&[priced, unpriced]).cost(), None);
        assert_eq!(sum(&[]).cost(), Some(0.0));
    }

    #[test]
    fn caps_are_read_aloud() {
        let cap = |scope, kind, limit| Cap { scope, kind, limit }.to_string();
        assert_eq!(cap(CapScope::Run, CapKind::Usd, 2.5), "$2.5 per run");
        assert_eq!(cap(CapScope::Op, CapKind::Calls, 1.0), "1 LLM call per op");
    }
}
