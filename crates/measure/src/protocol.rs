//! The settings of `kgen-time/1`.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name and version of the protocol, stored with its measurements.
pub const PROTOCOL: &str = "kgen-time/1";

/// How much certainty is bought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// For ranking candidates in a loop.
    #[default]
    Screen,
    /// For a result that is looked at.
    Standard,
    /// For a claim: a fixed number of blocks in each of three fresh processes.
    Final,
}

impl Profile {
    /// All profiles, cheapest first.
    pub const ALL: [Self; 3] = [Self::Screen, Self::Standard, Self::Final];

    /// Its name on the command line and in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Screen => "screen",
            Self::Standard => "standard",
            Self::Final => "final",
        }
    }

    /// Fresh processes that each measure, so that the luck of one process (addresses,
    /// memory channels) is averaged over.
    #[must_use]
    pub fn n_processes(self) -> u32 {
        match self {
            Self::Screen | Self::Standard => 1,
            Self::Final => 3,
        }
    }

    /// Its numbers.
    #[must_use]
    pub fn params(self) -> Params {
        let (min_blocks, max_blocks, target_half_width, max_s, warm_up_ms) = match self {
            Self::Screen => (24, 384, Some(0.01), 2.0, 5.0),
            Self::Standard => (48, 512, Some(0.005), 10.0, 50.0),
            Self::Final => (48, 256, None, 15.0, 500.0),
        };
        let max_blocks_short = if self == Self::Screen { 64 } else { max_blocks };
        Params {
            min_blocks,
            max_blocks,
            max_blocks_short,
            target_half_width,
            max_s,
            warm_up_ms,
            width: 1,
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Profile {
    type Err = UnknownNameError;

    fn from_str(text: &str) -> Result<Self, UnknownNameError> {
        let found = Self::ALL.into_iter().find(|profile| profile.name() == text);
        found.ok_or_else(|| UnknownNameError {
            what: "profile",
            found: text.to_owned(),
            known: "screen, standard, final",
        })
    }
}

/// When sampling begins to count and when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// Blocks (4 positions each) before which it never ends, unless time is up.
    pub min_blocks: u32,
    /// Blocks at which it ends.
    pub max_blocks: u32,
    /// Blocks at which it ends for kernels of less than 20 µs.
    pub max_blocks_short: u32,
    /// It ends when the 99 % interval of the log ratio is at most this to each side of its middle and
    /// leaves no doubt about the verdict; `None` never ends early.
    pub target_half_width: Option<f64>,
    /// Seconds, all included, after which no further chunk begins.
    pub max_s: f64,
    /// Milliseconds of samples that are thrown away first.
    pub warm_up_ms: f64,
    /// Samples at each position of a block: 1 in one process, more where handing the GPU over from
    /// one process to another costs.
    pub width: u32,
}

/// Contents of the L2 cache when a sample begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum L2 {
    /// Nothing of its own: the cache is flushed before each sample.
    #[default]
    Cold,
    /// Data of the last launch.
    Hot,
}

impl FromStr for L2 {
    type Err = UnknownNameError;

    fn from_str(text: &str) -> Result<Self, UnknownNameError> {
        match text {
            "cold" => Ok(Self::Cold),
            "hot" => Ok(Self::Hot),
            _ => Err(UnknownNameError {
                what: "L2 state",
                found: text.to_owned(),
                known: "cold, hot",
            }),
        }
    }
}

/// The label of a number; only numbers of one mode are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// One call per sample between two events, L2 flushed before.
    #[default]
    Cold,
    /// One call per sample between two events, L2 as the last call left it.
    Hot,
    /// Calls in a CUDA graph, back to back over several argument sets; time per call is the
    /// difference of two lengths of graph, so that it holds no launch overhead.
    Graph,
}

impl Mode {
    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Hot => "hot",
            Self::Graph => "graph",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How L2 is flushed before a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flush {
    /// A buffer larger than L2 is overwritten, which leaves the cache full of dirty lines.
    #[default]
    Memset,
    /// A buffer larger than L2 is read, which leaves clean lines.
    Read,
    /// Not at all.
    None,
}

/// A name that is none of those known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownNameError {
    what: &'static str,
    found: String,
    known: &'static str,
}

impl fmt::Display for UnknownNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown {} `{}`; known are {}", self.what, self.found, self.known)
    }
}

impl std::error::Error for UnknownNameError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for profile in Profile::ALL {
            assert_eq!(profile.name().parse(), Ok(profile));
            let params = profile.params();
            assert!(params.min_blocks <= params.max_blocks);
        }
        let error = "quick".parse::<Profile>().unwrap_err().to_string();
        assert_eq!(error, "unknown profile `quick`; known are screen, standard, final");
        assert_eq!("hot".parse(), Ok(L2::Hot));
        assert!("warm".parse::<L2>().is_err());
    }
}
