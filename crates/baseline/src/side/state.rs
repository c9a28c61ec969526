//! How a GPU's Python process stands, as the pool sends it to the worker with each job.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use kgen_record::PythonFacts;
use serde::{Deserialize, Serialize};

/// The Python process as a job finds it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Side {
    /// The request does not need it.
    #[default]
    None,
    /// It listens.
    Ready(Ready),
    /// The request needs it, and it cannot be had.
    Unavailable {
        /// Why, in one line, with how to get the missing parts.
        reason: String,
    },
}

/// A Python process that listens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    /// Its Unix socket; it takes one client at a time.
    pub socket: PathBuf,
    /// The process.
    pub facts: Box<PythonFacts>,
    /// Raised by the worker when the process does not answer any more.
    #[serde(skip)]
    pub alarm: Alarm,
}

/// A flag that says the process must be replaced; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Alarm(Arc<AtomicBool>);

impl Alarm {
    /// Says that the process hangs, died or is out of step.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Release);
    }

    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl PartialEq for Alarm {
    /// All alarms are equal: they are no part of a process's identity.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Side {
    /// Returns whether the worker found the process in need of replacement.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        match self {
            Self::Ready(ready) => ready.alarm.is_raised(),
            Self::None | Self::Unavailable { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_survives_json_and_an_alarm_reaches_whoever_holds_a_clone() {
        let ready: Ready = serde_json::from_str(
            r#"{"socket":"/tmp/s","facts":{"python":"3.12.3","torch":"2.11.0+cu130","cuda":"13.0",
            "triton":null,"flag_gems":null,"device":"NVIDIA H200","uuid":"GPU-1","settings":
            {"matmul_tf32":false,"cudnn_tf32":false,"f16_reduced_reduction":true,
            "bf16_reduced_reduction":true,"matmul_precision":"highest","deterministic":false}}}"#,
        )
        .unwrap();
        let alarm = ready.alarm.clone();
        for side in [Side::None, Side::Ready(ready), Side::Unavailable { reason: "r".to_owned() }] {
            let text = serde_json::to_string(&side).unwrap();
            assert_eq!(serde_json::from_str::<Side>(&text).unwrap(), side);
            assert!(!side.is_broken());
            alarm.raise();
            assert_eq!(side.is_broken(), matches!(side, Side::Ready(_)));
            alarm.0.store(false, Ordering::Release);
        }
    }
}
