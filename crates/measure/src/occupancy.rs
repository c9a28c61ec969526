//! How many blocks of a kernel fit on a multiprocessor at once, by its resources alone.
//!
//! Source: the arithmetic of `cuda_occupancy.h` (CUDA 13.1), for compute capability 7.0 and later.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Threads of a warp.
const WARP: u32 = 32;

/// Registers are handed to warps in portions of this many.
const REGISTER_UNIT: u32 = 256;

/// Most registers that an instruction can name.
const MAX_REGISTERS: u32 = 255;

/// Limits of one multiprocessor, all of them device attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Multiprocessor {
    /// Compute capability, major and minor.
    pub compute_capability: (u32, u32),
    /// How many there are.
    pub count: u32,
    /// Resident threads of one.
    pub max_threads: u32,
    /// Resident blocks of one.
    pub max_blocks: u32,
    /// Registers of one.
    pub registers: u32,
    /// Bytes of shared memory of one.
    pub shared_bytes: u32,
    /// Bytes of shared memory that the system takes of every block.
    pub reserved_shared_bytes: u32,
    /// Bytes of shared memory that a block can ask for at most.
    pub max_shared_bytes_per_block: u32,
    /// Threads of a block at most.
    pub max_threads_per_block: u32,
}

impl Multiprocessor {
    /// That of an H100 or H200.
    #[must_use]
    pub fn sm_90(count: u32) -> Self {
        Self {
            compute_capability: (9, 0),
            count,
            max_threads: 2048,
            max_blocks: 32,
            registers: 65_536,
            shared_bytes: 228 << 10,
            reserved_shared_bytes: 1024,
            max_shared_bytes_per_block: 227 << 10,
            max_threads_per_block: 1024,
        }
    }
}

/// Resources of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    /// Threads of a block.
    pub block_threads: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of shared memory of a block, static and dynamic.
    pub shared_bytes: u32,
}

/// The limiter of blocks on a multiprocessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limiter {
    /// Resident threads.
    Threads,
    /// Registers.
    Registers,
    /// Shared memory.
    SharedMemory,
    /// Resident blocks.
    Blocks,
}

impl Limiter {
    /// Its name in sentences.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Registers => "registers",
            Self::SharedMemory => "shared memory",
            Self::Blocks => "blocks",
        }
    }
}

/// The theoretical occupancy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Occupancy {
    /// Resident blocks of one multiprocessor; 0 if the kernel cannot be launched.
    pub blocks_per_sm: u32,
    /// Resident warps over the most there can be, 0 to 1.
    pub fraction: f64,
    /// The limiting resource.
    pub limiter: Limiter,
}

impl Occupancy {
    /// Computes it; `None` for a block without threads.
    #[must_use]
    pub fn of(sm: &Multiprocessor, kernel: &Resources) -> Option<Self> {
        if kernel.block_threads == 0 {
            return None;
        }
        let warps = kernel.block_threads.div_ceil(WARP);
        let max_warps = sm.max_threads / WARP;
        let by_threads =
            if kernel.block_threads > sm.max_threads_per_block { 0 } else { max_warps / warps };
        // The first of equal limits is named: limits that a kernel can change come before others.
        let limits = [
            (Limiter::Registers, by_registers(sm, kernel.registers, warps)),
            (Limiter::SharedMemory, by_shared(sm, kernel.shared_bytes)),
            (Limiter::Threads, by_threads),
            (Limiter::Blocks, sm.max_blocks),
        ];
        let (limiter, blocks_per_sm) = limits.into_iter().min_by_key(|(_, blocks)| *blocks)?;
        let fraction = f64::from(blocks_per_sm * warps) / f64::from(max_warps);
        Some(Self { blocks_per_sm, fraction, limiter })
    }

    /// Returns how often a grid fills the whole GPU; `None` if the kernel cannot be launched.
    #[must_use]
    pub fn waves(&self, sm: &Multiprocessor, grid_blocks: u64) -> Option<Waves> {
        let at_once = u64::from(self.blocks_per_sm) * u64::from(sm.count);
        (at_once > 0 && grid_blocks > 0).then(|| {
            let count = grid_blocks as f64 / at_once as f64;
            Waves { count, tail_efficiency: count / count.ceil() }
        })
    }
}

/// How a grid is spread over time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Waves {
    /// Blocks of the grid over blocks that run at once.
    pub count: f64,
    /// Share of the last wave's places that are used, over all waves: waves over whole waves.
    pub tail_efficiency: f64,
}

/// Registers go to warps, and each of the four parts of a multiprocessor has its own quarter.
fn by_registers(sm: &Multiprocessor, registers: u32, warps: u32) -> u32 {
    if registers == 0 {
        return sm.max_blocks;
    }
    let per_warp = (registers * WARP).next_multiple_of(REGISTER_UNIT);
    let is_launchable =
        registers <= MAX_REGISTERS && warps.next_multiple_of(4) * per_warp <= sm.registers;
    let per_quarter = sm.registers / 4 / per_warp;
    if is_launchable { per_quarter * 4 / warps } else { 0 }
}

fn by_shared(sm: &Multiprocessor, shared_bytes: u32) -> u32 {
    let unit = if sm.compute_capability.0 == 7 { 256 } else { 128 };
    if shared_bytes > sm.max_shared_bytes_per_block {
        return 0;
    }
    let per_block = (shared_bytes + sm.reserved_shared_bytes).next_multiple_of(unit);
    sm.shared_bytes.checked_div(per_block).unwrap_or(sm.max_blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(block_threads: u32, registers: u32, shared_bytes: u32) -> (u32, Limiter) {
        let kernel = Resources { block_threads, registers, shared_bytes };
        let found = Occupancy::of(&Multiprocessor::sm_90(132), &kernel).unwrap();
        (found.blocks_per_sm, found.limiter)
    }

    #[test]
    fn limits_are_those_of_the_occupancy_calculator() {
        assert_eq!(of(256, 32, 0), (8, Limiter::Registers));
        assert_eq!(of(256, 16, 0), (8, Limiter::Threads));
        assert_eq!(of(256, 64, 0), (4, Limiter::Registers));
        assert_eq!(of(256, 40, 0), (6, Limiter::Registers));
        assert_eq!(of(32, 16, 0), (32, Limiter::Blocks));
        assert_eq!(of(1024, 64, 0), (1, Limiter::Registers));
        assert_eq!(of(128, 32, 100 << 10), (2, Limiter::SharedMemory));
        assert_eq!(of(128, 32, 227 << 10), (1, Limiter::SharedMemory));
        // A block that asks for more than there is cannot be launched.
        assert_eq!(of(1024, 128, 0), (0, Limiter::Registers));
        assert_eq!(of(128, 32, 228 << 10), (0, Limiter::SharedMemory));
        assert_eq!(of(2048, 32, 0).0, 0);
    }

    #[test]
    fn limits_are_those_that_a_profiler_reports() {
        // Nsight Compute 2025.3.1 on an H200: threads, registers, static shared memory, grid; the
        // smallest of its block limits, theoretical occupancy in per cent, waves. It reports the
        // shared memory that the launch chose; the most there is limits none of these.
        for (threads, registers, shared, grid, blocks, percent, waves) in [
            (256, 16, 0, 65_536, 8, 100.0, 62.06),
            (256, 26, 128, 4096, 8, 100.0, 3.88),
            (1024, 32, 0, 264, 2, 100.0, 1.0),
            (32, 16, 0, 1, 32, 50.0, 0.0),
            (1024, 16, 4096, 16_384, 2, 100.0, 62.06),
        ] {
            let kernel = Resources { block_threads: threads, registers, shared_bytes: shared };
            let sm = Multiprocessor::sm_90(132);
            let found = Occupancy::of(&sm, &kernel).unwrap();
            assert_eq!(found.blocks_per_sm, blocks, "{kernel:?}");
            assert!((found.fraction * 100.0 - percent).abs() < 1e-9, "{kernel:?}");
            let count = found.waves(&sm, grid).unwrap().count;
            assert!((count - waves).abs() < 0.005, "{kernel:?}: {count}");
        }
        // Its limits by registers alone, with 8, 4 and 32 warps to a block.
        let sm = Multiprocessor::sm_90(132);
        assert_eq!([by_registers(&sm, 16, 8), by_registers(&sm, 26, 8)], [16, 8]);
        assert_eq!([by_registers(&sm, 32, 32), by_registers(&sm, 16, 1)], [2, 128]);
    }

    #[test]
    fn waves_count_the_tail() {
        let sm = Multiprocessor::sm_90(132);
        let kernel = Resources { block_threads: 256, registers: 64, shared_bytes: 0 };
        let found = Occupancy::of(&sm, &kernel).unwrap();
        assert!((found.fraction - 0.5).abs() < 1e-12);
        let waves = found.waves(&sm, 792).unwrap();
        assert!((waves.count - 1.5).abs() < 1e-12 && (waves.tail_efficiency - 0.75).abs() < 1e-12);
        assert_eq!(found.waves(&sm, 0), None);
    }
}
