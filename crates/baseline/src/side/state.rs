//! How the processes beside a GPU's worker stand, as the pool sends it to the worker with each job.

use std::{
    collections::BTreeMap,
    fmt,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use kgen_record::{Adapter, AdapterFacts, PythonFacts, UnknownAdapterError};
use serde::{Deserialize, Serialize};

/// The program of a process beside the workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Sidecar {
    /// PyTorch and other libraries in Python.
    Python,
    Adapter(Adapter),
}

/// The name of [`Sidecar::Python`].
const PYTHON: &str = "python";

impl fmt::Display for Sidecar {
    /// As messages name its process.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Python => f.write_str("the Python process"),
            Self::Adapter(adapter) => f.write_str(adapter.program()),
        }
    }
}

impl From<Sidecar> for String {
    fn from(program: Sidecar) -> Self {
        match program {
            Sidecar::Python => PYTHON.to_owned(),
            Sidecar::Adapter(adapter) => adapter.name().to_owned(),
        }
    }
}

impl TryFrom<String> for Sidecar {
    type Error = UnknownAdapterError;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        if name == PYTHON { Ok(Self::Python) } else { Ok(Self::Adapter(name.parse()?)) }
    }
}

/// A process's description of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Facts {
    Python(Box<PythonFacts>),
    Adapter(AdapterFacts),
}

impl Facts {
    /// Returns the UUID of the process's GPU.
    #[must_use]
    pub fn uuid(&self) -> Option<&str> {
        match self {
            Self::Python(facts) => facts.uuid.as_deref(),
            Self::Adapter(facts) => facts.uuid.as_deref(),
        }
    }
}

/// The processes as a job finds them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sides(BTreeMap<Sidecar, Side>);

impl Sides {
    /// Returns how a program's process stands.
    #[must_use]
    pub fn of(&self, program: Sidecar) -> &Side {
        self.0.get(&program).unwrap_or(&Side::None)
    }

    /// Returns the programs whose processes the worker found in need of replacement.
    #[must_use]
    pub fn broken(&self) -> Vec<Sidecar> {
        let broken = self.0.iter().filter(|(_, side)| side.is_broken());
        broken.map(|(program, _)| *program).collect()
    }

    /// Returns the programs whose processes listen.
    pub fn ready(&self) -> impl Iterator<Item = Sidecar> + '_ {
        let ready = self.0.iter().filter(|(_, side)| matches!(side, Side::Ready(_)));
        ready.map(|(program, _)| *program)
    }
}

impl FromIterator<(Sidecar, Side)> for Sides {
    fn from_iter<I: IntoIterator<Item = (Sidecar, Side)>>(sides: I) -> Self {
        Self(sides.into_iter().collect())
    }
}

impl From<Side> for Sides {
    /// Returns a Python process alone.
    fn from(python: Side) -> Self {
        Self::from_iter([(Sidecar::Python, python)])
    }
}

/// A process as a job finds it.
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

/// A process that listens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    /// Its Unix socket; it takes one client at a time.
    pub socket: PathBuf,
    /// The process.
    pub facts: Facts,
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

    #[test]
    fn adapters_stand_beside_the_python_process() {
        let ready: Ready = serde_json::from_str(
            r#"{"socket":"/tmp/s","facts":{"library":"candle","version":"0.11.1","device":"NVIDIA H200",
            "uuid":"GPU-1"}}"#,
        )
        .unwrap();
        assert_eq!(ready.facts.uuid(), Some("GPU-1"));
        let candle = Sidecar::Adapter(Adapter::Candle);
        let alarm = ready.alarm.clone();
        let sides = Sides::from_iter([(candle, Side::Ready(ready)), (Sidecar::Python, Side::None)]);
        let text = serde_json::to_string(&sides).unwrap();
        assert!(text.starts_with(r#"{"python":"#), "{text}");
        assert_eq!(serde_json::from_str::<Sides>(&text).unwrap(), sides);
        assert_eq!(*sides.of(Sidecar::Adapter(Adapter::Burn)), Side::None);
        assert_eq!((sides.ready().collect(), sides.broken()), (vec![candle], vec![]));
        alarm.raise();
        assert_eq!(sides.broken(), [candle]);
    }
}
