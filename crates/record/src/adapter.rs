//! Adapters: programs beside kgen that run ops of libraries outside of Python.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A library that an adapter brings.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Adapter {
    Candle,
    Burn,
}

impl Adapter {
    pub const ALL: [Self; 2] = [Self::Candle, Self::Burn];

    /// Returns the library's name on the command line, in records and tables, and in the protocol.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Candle => "candle",
            Self::Burn => "burn",
        }
    }

    /// Returns the name of the program.
    #[must_use]
    pub const fn program(self) -> &'static str {
        match self {
            Self::Candle => "kgen-candle",
            Self::Burn => "kgen-burn",
        }
    }
}

impl fmt::Display for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no [`Adapter`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no adapter of `{0}` (known: candle, burn)")]
pub struct UnknownAdapterError(String);

impl FromStr for Adapter {
    type Err = UnknownAdapterError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|adapter| adapter.name() == text);
        known.ok_or_else(|| UnknownAdapterError(text.to_owned()))
    }
}

/// An adapter, as it describes itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AdapterFacts {
    /// The library.
    pub library: Adapter,
    /// Its version.
    pub version: String,
    /// Name of the device it computes on.
    pub device: String,
    /// UUID of that GPU, as the driver spells it.
    pub uuid: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_known_by_name() {
        for adapter in Adapter::ALL {
            assert_eq!(adapter.name().parse(), Ok(adapter));
            assert_eq!(serde_json::to_value(adapter).unwrap(), adapter.name());
            assert_eq!(adapter.program(), format!("kgen-{adapter}"));
        }
        assert!("jax".parse::<Adapter>().is_err());
    }
}
