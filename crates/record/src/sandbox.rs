//! How far the workers of an evaluation were shut in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// State of the sandbox that an evaluation ran in: the worse of its workers' states.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Sandbox {
    /// Everything held that the kind of worker can have.
    #[default]
    On,
    /// Something was missing.
    Partly {
        /// Each missing part, with its reason.
        missing: Vec<String>,
    },
    /// It was turned off.
    Off,
}

impl Sandbox {
    #[must_use]
    pub const fn is_on(&self) -> bool {
        matches!(self, Self::On)
    }

    /// Returns the state of a sandbox that lacks these parts.
    #[must_use]
    pub fn lacking(missing: Vec<String>) -> Self {
        if missing.is_empty() { Self::On } else { Self::Partly { missing } }
    }

    /// Takes in the state of another worker of the same evaluation.
    pub fn join(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Self::Off, _) | (_, Self::On) => {}
            (Self::Partly { missing }, Self::Partly { missing: theirs }) => {
                for part in theirs {
                    if !missing.contains(part) {
                        missing.push(part.clone());
                    }
                }
            }
            (Self::On | Self::Partly { .. }, _) => *self = other.clone(),
        }
    }

    /// Returns the sentence for people; `None` where nothing is to be said.
    #[must_use]
    pub fn remark(&self) -> Option<String> {
        match self {
            Self::On => None,
            Self::Partly { missing } => Some(format!("sandbox: without {}", missing.join(", "))),
            Self::Off => Some("sandbox: off".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worse_state_wins() {
        let partly = |parts: &[&str]| {
            Sandbox::lacking(parts.iter().map(|part| (*part).to_owned()).collect())
        };
        for (first, second, joined) in [
            (Sandbox::On, Sandbox::On, Sandbox::On),
            (Sandbox::On, partly(&["a"]), partly(&["a"])),
            (partly(&["a"]), Sandbox::On, partly(&["a"])),
            (partly(&["a"]), partly(&["a", "b"]), partly(&["a", "b"])),
            (partly(&["a"]), Sandbox::Off, Sandbox::Off),
            (Sandbox::Off, partly(&["a"]), Sandbox::Off),
        ] {
            let mut state = first;
            state.join(&second);
            assert_eq!(state, joined);
        }
        assert_eq!(partly(&["a", "b"]).remark().unwrap(), "sandbox: without a, b");
    }
}
