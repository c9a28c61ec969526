//! The work of a launch in numbers that hold on any GPU: no times, no cache hits.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Instructions of one kind or line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Executed {
    /// Instructions times active threads.
    pub lanes: u64,
    /// Instructions issued by warps.
    pub warps: u64,
}

impl Executed {
    /// Active threads of a warp, on average, out of 32.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a mean for people")]
    pub fn active_lanes(&self) -> f64 {
        self.lanes as f64 / self.warps.max(1) as f64
    }
}

/// Accesses to global memory in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Traffic {
    /// Instructions issued by warps.
    pub requests: u64,
    /// 32-byte sectors touched, counted once per request.
    pub sectors: u64,
    /// Bytes asked for by threads.
    pub bytes: u64,
    /// Different bytes touched in the whole launch: the traffic of a perfect kernel.
    pub unique_bytes: u64,
}

/// Accesses to shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SharedTraffic {
    /// Instructions issued by warps with at most four bytes per thread.
    pub requests: u64,
    /// Passes these take: the most different words that fall into one of the 32 banks. One per
    /// request where there are no conflicts.
    pub wavefronts: u64,
    /// Instructions with wider accesses, whose passes are not counted.
    pub wide_requests: u64,
}

/// Atomic operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Atomics {
    /// Instructions issued by warps.
    pub requests: u64,
    /// Operations by threads.
    pub lanes: u64,
    /// Operations at the same address as another one of the same instruction.
    pub collisions: u64,
}

/// The work of a launch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Counters {
    /// All instructions.
    pub total: Executed,
    /// By mnemonic.
    pub by_kind: BTreeMap<String, Executed>,
    /// By line of the kernel file; instructions of unknown lines are left out.
    pub by_line: BTreeMap<u32, Executed>,
    /// Loads from global memory.
    pub global_loads: Traffic,
    /// Stores to global memory.
    pub global_stores: Traffic,
    /// Loads and stores of shared memory.
    pub shared: SharedTraffic,
    /// Atomic operations on global and shared memory.
    pub atomics: Atomics,
    /// Times that a warp came to a block barrier.
    pub barriers: u64,
    /// Branches in which a warp's threads parted.
    pub divergent_branches: u64,
}
