//! The device asked for, as people write it.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The device asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum DeviceChoice {
    /// A GPU if there is one, else the emulator.
    Auto,
    Emu,
    /// A GPU by its index among the visible ones.
    Cuda(u32),
    /// Several GPUs by their indices among the visible ones.
    Gpus(GpuSet),
    AllGpus,
}

impl DeviceChoice {
    /// Returns the choice of exactly these GPUs; `None` for no GPU, or an index beyond the largest
    /// that a set holds.
    #[must_use]
    pub fn of_gpus(indices: impl IntoIterator<Item = u32>) -> Option<Self> {
        let mut indices: Vec<u32> = indices.into_iter().collect();
        indices.sort_unstable();
        indices.dedup();
        match indices[..] {
            [] => None,
            [only] => Some(Self::Cuda(only)),
            _ => GpuSet::of(&indices).map(Self::Gpus),
        }
    }

    /// Returns the number of GPUs; 1 where that is not decided yet.
    #[must_use]
    pub fn n_gpus(self) -> usize {
        match self {
            Self::Emu => 0,
            Self::Gpus(set) => set.indices().count(),
            Self::Auto | Self::Cuda(_) | Self::AllGpus => 1,
        }
    }

    /// Returns the index of the GPU for work that takes one: the first of those chosen.
    #[must_use]
    pub fn first_gpu(self) -> u32 {
        match self {
            Self::Cuda(index) => index,
            Self::Gpus(set) => set.indices().next().unwrap_or(0),
            Self::Auto | Self::Emu | Self::AllGpus => 0,
        }
    }
}

/// Indices of at least two GPUs, each below 64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GpuSet(u64);

impl GpuSet {
    /// One more than the largest index.
    pub const LIMIT: u32 = u64::BITS;

    fn of(indices: &[u32]) -> Option<Self> {
        let bits = indices.iter().map(|&index| 1u64.checked_shl(index));
        bits.sum::<Option<u64>>().map(Self)
    }

    /// Returns the indices, ascending.
    pub fn indices(self) -> impl Iterator<Item = u32> {
        (0..Self::LIMIT).filter(move |index| self.0 >> index & 1 == 1)
    }
}

/// A text that names no device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown device `{0}` (known: auto, emu, cuda for all GPUs, cuda:0, cuda:0,cuda:1, ...)")]
pub struct UnknownDeviceError(String);

impl FromStr for DeviceChoice {
    type Err = UnknownDeviceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownDeviceError(text.to_owned());
        let gpu = |part: &str| part.trim().strip_prefix("cuda:")?.parse::<u32>().ok();
        match text {
            "auto" => Ok(Self::Auto),
            "emu" => Ok(Self::Emu),
            "cuda" | "cuda:all" => Ok(Self::AllGpus),
            _ => {
                let indices: Option<Vec<u32>> = text.split(',').map(gpu).collect();
                indices.and_then(Self::of_gpus).ok_or_else(unknown)
            }
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Emu => f.write_str("emu"),
            Self::Cuda(index) => write!(f, "cuda:{index}"),
            Self::Gpus(set) => {
                let names: Vec<String> =
                    set.indices().map(|index| format!("cuda:{index}")).collect();
                f.write_str(&names.join(","))
            }
            Self::AllGpus => f.write_str("cuda"),
        }
    }
}

impl TryFrom<String> for DeviceChoice {
    type Error = UnknownDeviceError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<DeviceChoice> for String {
    fn from(choice: DeviceChoice) -> Self {
        choice.to_string()
    }
}
