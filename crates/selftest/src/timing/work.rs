//! Timed kernels of one knob each.

use std::fmt;

/// Threads of a block.
pub(super) const BLOCK: u32 = 256;

/// Blocks per multiprocessor of loops over the grid.
const BLOCKS_PER_SM: u64 = 16;

/// The source of all kernels.
pub(super) const SOURCE: &str = include_str!("kernels.cu");

/// A kernel and its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Waits, in nanoseconds.
    Spin(u64),
    /// Reads and writes so many floats, a multiple of 4.
    Relu(u64),
    /// Reads so many floats, a multiple of 4.
    Total(u64),
    /// Transposes a square matrix with sides of so many floats, a multiple of 32.
    Transpose(u64),
    /// Reads so many floats from scattered places and writes them; a power of two.
    Gather(u64),
    /// Computes so many dependent multiply-adds in every thread.
    Chain(u64),
}

impl Work {
    pub(super) fn kernel(self) -> &'static str {
        match self {
            Self::Spin(_) => "spin",
            Self::Relu(_) => "relu",
            Self::Total(_) => "total",
            Self::Transpose(_) => "transpose",
            Self::Gather(_) => "gather",
            Self::Chain(_) => "chain",
        }
    }

    /// The number that its kernel takes.
    pub(super) fn size(self) -> u64 {
        match self {
            Self::Spin(n)
            | Self::Relu(n)
            | Self::Total(n)
            | Self::Transpose(n)
            | Self::Gather(n)
            | Self::Chain(n) => n,
        }
    }

    /// The same kernel with a size that is larger by a factor, rounded up to what it can take.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sizes are far below 2^53"
    )]
    pub(super) fn scaled(self, factor: f64) -> Self {
        let by = |n: u64, unit: u64| ((n as f64 * factor).round() as u64).next_multiple_of(unit);
        match self {
            Self::Spin(n) => Self::Spin(by(n, 1)),
            Self::Relu(n) => Self::Relu(by(n, 4)),
            Self::Total(n) => Self::Total(by(n, 4)),
            Self::Transpose(n) => Self::Transpose(by(n, 32)),
            Self::Gather(n) => Self::Gather(by(n, 1).next_power_of_two()),
            Self::Chain(n) => Self::Chain(by(n, 1)),
        }
    }

    /// Floats that it reads.
    pub(super) fn n_in(self) -> u64 {
        match self {
            Self::Spin(_) | Self::Chain(_) => 0,
            Self::Relu(n) | Self::Total(n) | Self::Gather(n) => n,
            Self::Transpose(side) => side * side,
        }
    }

    /// Floats that it writes on a GPU of so many multiprocessors.
    pub(super) fn n_out(self, sm_count: u32) -> u64 {
        match self {
            Self::Spin(_) => 0,
            Self::Relu(n) | Self::Gather(n) => n,
            Self::Total(_) => u64::from(self.grid(sm_count)[0]),
            Self::Transpose(side) => side * side,
            Self::Chain(_) => u64::from(self.grid(sm_count)[0]) * u64::from(BLOCK),
        }
    }

    /// Blocks along x, y, z.
    pub(super) fn grid(self, sm_count: u32) -> [u32; 3] {
        let whole = BLOCKS_PER_SM * u64::from(sm_count);
        let flat = |n_threads: u64| {
            let blocks = n_threads.div_ceil(u64::from(BLOCK)).clamp(1, whole);
            [u32::try_from(blocks).unwrap_or(u32::MAX), 1, 1]
        };
        match self {
            Self::Spin(_) => [1; 3],
            Self::Relu(n) | Self::Total(n) => flat(n / 4),
            Self::Gather(n) => flat(n),
            Self::Chain(_) => flat(u64::MAX),
            Self::Transpose(side) => {
                let tiles = u32::try_from(side / 32).unwrap_or(u32::MAX);
                [tiles, tiles, 1]
            }
        }
    }

    /// Threads of a block along x, y, z.
    pub(super) fn block(self) -> [u32; 3] {
        match self {
            Self::Spin(_) => [1; 3],
            Self::Transpose(_) => [32, 8, 1],
            Self::Relu(_) | Self::Total(_) | Self::Gather(_) | Self::Chain(_) => [BLOCK, 1, 1],
        }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, n) = (self.kernel(), self.size());
        match self {
            Self::Spin(ns) => write!(f, "{name} {} us", *ns as f64 / 1e3),
            Self::Transpose(side) => write!(f, "{name} {side}x{side}"),
            Self::Chain(_) => write!(f, "{name} {n}"),
            Self::Relu(_) | Self::Total(_) | Self::Gather(_) if n >= 1 << 20 => {
                write!(f, "{name} {}M", n as f64 / f64::from(1 << 20))
            }
            Self::Relu(_) | Self::Total(_) | Self::Gather(_) => write!(f, "{name} {n}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_and_scaled() {
        assert_eq!(Work::Relu(16 << 20).to_string(), "relu 16M");
        assert_eq!(Work::Spin(2_500).to_string(), "spin 2.5 us");
        assert_eq!(Work::Relu(1000).scaled(1.02), Work::Relu(1020));
        assert_eq!(Work::Relu(1001).scaled(1.0), Work::Relu(1004));
        assert_eq!(Work::Relu(4).grid(132), [1, 1, 1]);
        assert_eq!(Work::Relu(1 << 30).grid(132), [2112, 1, 1]);
        assert_eq!(Work::Transpose(64).grid(132), [2, 2, 1]);
        assert_eq!((Work::Total(1 << 20).n_in(), Work::Total(1 << 20).n_out(2)), (1 << 20, 32));
    }
}
