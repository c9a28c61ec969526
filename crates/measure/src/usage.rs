//! Memory, energy and clock of a call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Device memory of one call, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// Inputs, outputs and workspace at once.
    pub peak: u64,
    /// The part beyond inputs and outputs.
    pub workspace: u64,
}

/// Energy of calls back to back, by the counter of the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Energy {
    /// Millijoules per call.
    pub per_call_mj: f64,
    /// Mean power over the run, in watts.
    pub power_w: f64,
    /// Calls that it is the mean of.
    pub n_calls: u64,
    /// Seconds that they took.
    pub seconds: f64,
}

impl Energy {
    /// Divides the energy of a run by its calls and its time; `None` where one of them is not positive.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a run has far fewer than 2^53 calls")]
    pub fn of(millijoules: f64, n_calls: u64, seconds: f64) -> Option<Self> {
        let is_run = n_calls > 0 && seconds > 0.0 && millijoules > 0.0;
        is_run.then(|| Self {
            per_call_mj: millijoules / n_calls as f64,
            power_w: millijoules / 1e3 / seconds,
            n_calls,
            seconds,
        })
    }
}

/// Memory, energy and clock of an implementation in one case, as far as they were measured.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Device memory of one call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// Energy of calls back to back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
    /// Median clock of the multiprocessors while it was timed, in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_mhz: Option<f64>,
}

impl Usage {
    /// Returns whether nothing was measured.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_is_of_calls_that_took_time() {
        let energy = Energy::of(3_000.0, 100, 2.0).unwrap();
        assert!((energy.per_call_mj - 30.0).abs() < 1e-12 && (energy.power_w - 1.5).abs() < 1e-12);
        assert_eq!((Energy::of(1.0, 0, 1.0), Energy::of(1.0, 1, 0.0)), (None, None));
        // A counter that has not moved measures nothing.
        assert_eq!(Energy::of(0.0, 1, 1.0), None);
    }
}
