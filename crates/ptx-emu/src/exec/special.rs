//! Special registers: their names and values.

use super::{Machine, access::Registers};
use crate::op::D;

/// A special register: its row in [`TABLE`], and its axis or number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Special {
    row: u8,
    index: u8,
}

struct Row {
    name: &'static str,
    /// Whether the name goes on with `.x`, `.y` or `.z`.
    has_axes: bool,
    value: fn(&Machine<'_>, &Registers<'_>, usize) -> D,
}

macro_rules! table {
    ($($name:literal $has_axes:literal $value:expr;)+) => {
        static TABLE: &[Row] = &[$(Row { name: $name, has_axes: $has_axes, value: $value }),+];
    };
}

table! {
    "%tid" true |_, r, axis| r.tid[axis].map(u64::from);
    "%ntid" true |m, _, axis| same(m.context.launch.block[axis]);
    "%ctaid" true |m, _, axis| same(m.block.at[axis]);
    "%nctaid" true |m, _, axis| same(m.context.launch.grid[axis]);
    "%laneid" false |_, _, _| lanes();
    "%warpid" false |_, r, _| same(r.warp);
    "%nwarpid" false |m, _, _| same(m.context.launch.block.iter().product::<u32>().div_ceil(32));
    "%smid" false |m, _, _| same(m.block.index as u32 % m.context.n_sm);
    "%nsmid" false |m, _, _| same(m.context.n_sm);
    "%gridid" false |_, _, _| same(1);
    "%lanemask_eq" false |_, _, _| lanes().map(|i| 1 << i);
    "%lanemask_lt" false |_, _, _| lanes().map(|i| (1 << i) - 1);
    "%lanemask_le" false |_, _, _| lanes().map(|i| (2 << i) - 1);
    "%lanemask_gt" false |_, _, _| lanes().map(|i| 0xffff_ffff & !((2 << i) - 1));
    "%lanemask_ge" false |_, _, _| lanes().map(|i| 0xffff_ffff & !((1 << i) - 1));
    "%clock" false |m, _, _| same(m.clock() as u32);
    "%clock_lo" false |m, _, _| same(m.clock() as u32);
    "%clock_hi" false |m, _, _| same((m.clock() >> 32) as u32);
    "%clock64" false |m, _, _| [m.clock(); 32];
    "%globaltimer" false |m, _, _| [m.clock(); 32];
    "%globaltimer_lo" false |m, _, _| same(m.clock() as u32);
    "%globaltimer_hi" false |m, _, _| same((m.clock() >> 32) as u32);
    "%dynamic_smem_size" false |m, _, _| same(m.context.launch.dynamic_smem);
    "%total_smem_size" false |m, _, _| same(m.block.shared.data.len() as u32);
    "%clusterid" true |m, _, axis| same(m.block.at[axis] / m.cluster.extents[axis]);
    "%nclusterid" true |m, _, axis| same(m.context.launch.grid[axis] / m.cluster.extents[axis]);
    "%cluster_ctaid" true |m, _, axis| same(m.block.at[axis] % m.cluster.extents[axis]);
    "%cluster_nctaid" true |m, _, axis| same(m.cluster.extents[axis]);
    "%cluster_ctarank" false |m, _, _| same(m.cluster.rank);
    "%cluster_nctarank" false |m, _, _| same(m.cluster.len());
    "%is_explicit_cluster" false |m, _, _| same(u32::from(m.cluster.explicit));
    "%envreg" false |m, _, number| same(match number {
        // Cooperative groups find the grid's workspace through these two.
        1 => (m.workspace_address() >> 32) as u32,
        2 => m.workspace_address() as u32,
        _ => 0,
    });
}

fn same(value: u32) -> D {
    [u64::from(value); 32]
}

fn lanes() -> D {
    std::array::from_fn(|lane| lane as u64)
}

impl Special {
    pub(crate) fn named(name: &str) -> Option<Self> {
        let (base, index, has_axes) = if let Some((base, axis)) = name.rsplit_once('.') {
            (base, ["x", "y", "z"].iter().position(|a| *a == axis)? as u8, true)
        } else if let Some(number) = name.strip_prefix("%envreg") {
            ("%envreg", number.parse().ok().filter(|n| *n < 32)?, false)
        } else {
            (name, 0, false)
        };
        let row = TABLE.iter().position(|row| row.name == base && row.has_axes == has_axes)?;
        Some(Self { row: row as u8, index })
    }

    fn row(self) -> &'static Row {
        &TABLE[self.row as usize]
    }

    /// Whether only a launch of the whole grid sets it.
    pub(crate) fn is_environment(self) -> bool {
        self.row().name == "%envreg"
    }

    /// Whether it differs from one read to the next.
    pub(super) fn is_clock(self) -> bool {
        self.row().name.contains("clock") || self.row().name.contains("timer")
    }

    pub(super) fn value(self, machine: &Machine<'_>, regs: &Registers<'_>) -> D {
        (self.row().value)(machine, regs, usize::from(self.index))
    }
}
