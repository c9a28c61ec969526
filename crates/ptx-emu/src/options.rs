//! How a launch is run: its checks, counters, blocks and limits.

/// Checks of a launch beside bounds and alignment, which always are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checks {
    /// Reads of bytes that nobody wrote.
    pub initialisation: bool,
    /// Undefined values, from registers or memory, are followed to a store, branch or address, and
    /// only then reported. Without it a read of uninitialised bytes is reported where it stands.
    pub taint: bool,
    /// Unordered accesses of threads to shared and global memory.
    pub races: bool,
    /// The first NaN and the first infinity made of finite operands.
    pub numerics: bool,
}

impl Checks {
    /// Everything.
    pub const FULL: Self = Self { initialisation: true, taint: true, races: true, numerics: true };
    /// Bounds, alignment and initialisation.
    pub const MEMORY: Self =
        Self { initialisation: true, taint: false, races: false, numerics: false };
    /// Bounds and alignment, which cannot be switched off.
    pub const BOUNDS: Self =
        Self { initialisation: false, taint: false, races: false, numerics: false };
}

impl Default for Checks {
    fn default() -> Self {
        Self::FULL
    }
}

/// Which blocks of a grid run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Blocks {
    /// All.
    #[default]
    All,
    /// These, by linear index (x fastest).
    Only(Vec<u64>),
    /// The first and last ones, the corners and edges of the grid, and some drawn from a seed, so
    /// many in all: a look at a grid too large to run.
    Sample {
        /// Blocks to run, at most.
        count: usize,
        /// Seed of the draw.
        seed: u64,
    },
}

/// Limits of a launch.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Instructions times active threads.
    pub lane_instructions: u64,
    /// Bytes of device `printf` that are kept.
    pub printf_bytes: usize,
    /// Findings that are kept; further occurrences of a kept one only count.
    pub findings: usize,
    /// Lane instructions a launch may still run after its first error.
    pub after_error: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            lane_instructions: 20_000_000_000,
            printf_bytes: 64 << 10,
            findings: 32,
            after_error: 50_000_000,
        }
    }
}

/// How a launch is run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Host threads to run blocks on, where that cannot change the result; 0 stands for as many as
    /// there are cores.
    pub threads: usize,
    /// The checks.
    pub checks: Checks,
    /// Whether the report carries counters.
    pub counters: bool,
    /// Whether the report carries the coverage.
    pub coverage: bool,
    /// Which blocks run.
    pub blocks: Blocks,
    /// Whether the launch is cooperative; if absent, it is where the kernel asks for that. In one that
    /// is not, cooperative groups' barrier of the whole grid traps.
    pub cooperative: Option<bool>,
    /// Whether the launch may begin before the one before it has ended (programmatic stream
    /// serialisation). A host's write, fill or free between the two makes it wait for the end.
    pub dependent: bool,
    /// The limits.
    pub limits: Limits,
}
