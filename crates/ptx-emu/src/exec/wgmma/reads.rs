//! Factors in shared memory that products of warpgroups may still read.
//!
//! A product is one operation of four warps: when one of them has waited for it, all of it is done. So
//! a wait lets a warp go on only when the others have issued the products, too, and ends the reads of
//! all four. The manual speaks of the executing threads' groups alone, but CUTLASS lets a single thread
//! of a warpgroup give a stage back to the producer right behind its own wait: a stricter rule would accuse
//! such kernels.

use super::{
    super::{Machine, access::Registers, bulk::Issue, sanitize::races::Ranges},
    layout::Layout,
    product::ROWS,
};

/// Number of a warpgroup among the barriers that order its warps.
const KEY: u32 = 1 << 30;

/// Factors of a warp's part of a product.
#[derive(Debug)]
pub(super) struct Read {
    pub warp: u32,
    /// Products that the warp issued before.
    pub serial: u64,
    /// Groups that it committed before.
    pub group: u32,
    pub layouts: [Option<Layout>; 2],
    /// Columns of B.
    pub n: usize,
    /// Number of the next record at its issue.
    pub number: u32,
    pub pc: u32,
}

/// The products of a block's warpgroups.
#[derive(Debug, Default)]
pub(in crate::exec) struct Warpgroups {
    /// Groups that each warp committed.
    commits: Vec<u32>,
    pub(super) reads: Vec<Read>,
}

impl Warpgroups {
    /// Forgets everything, at the start of a block.
    pub(in crate::exec) fn clear(&mut self) {
        self.commits.clear();
        self.reads.clear();
    }

    pub(super) fn commit(&mut self, warp: u32, commits: u32) {
        let at = warp as usize;
        self.commits.resize(self.commits.len().max(at + 1), 0);
        self.commits[at] = commits;
    }

    /// Whether the warps of a warpgroup have all committed so many groups.
    pub(super) fn have(&self, warps: std::ops::Range<u32>, groups: u32) -> bool {
        let commits = |warp: u32| self.commits.get(warp as usize).copied().unwrap_or(0);
        warps.into_iter().all(|warp| commits(warp) >= groups)
    }
}

impl Machine<'_> {
    /// The warps of the warpgroup of a warp.
    pub(super) fn warps_of(&self, warp: u32) -> std::ops::Range<u32> {
        let threads: u32 = self.context.launch.block.iter().product();
        let first = warp / 4 * 4;
        first..(first + 4).min(threads.div_ceil(32))
    }

    /// Ends the reads of a warpgroup's products of the groups below `target`.
    pub(super) fn end_reads(&mut self, target: u32, regs: &Registers<'_>) {
        if self.sanitizer.races.is_none() {
            self.block.shared.warpgroups.reads.clear();
            return;
        }
        let warps = self.warps_of(regs.warp);
        let reads = std::mem::take(&mut self.block.shared.warpgroups.reads);
        let over = |read: &Read| warps.contains(&read.warp) && read.group < target;
        let (mut done, rest): (Vec<_>, Vec<_>) = reads.into_iter().partition(over);
        self.block.shared.warpgroups.reads = rest;
        let key = KEY | (regs.warp / 4);
        if !done.is_empty() {
            // Of the four warps' reads of one B the earliest stands for all.
            done.sort_by_key(|read| (read.serial, read.number));
            let mut last = None;
            for read in &done {
                let first = ROWS * (read.warp as usize % 4);
                let repeated = last.replace(read.serial) == Some(read.serial);
                let b = read.layouts[1].filter(|_| !repeated);
                self.end_factor(read.layouts[0], (first, ROWS), read, regs);
                self.end_factor(b, (0, read.n), read, regs);
            }
            self.lanes_met(regs.warp);
            self.warp_arrived(key, regs.warp);
        }
        if let Some(races) = &mut self.sanitizer.races {
            self.block.order.hear(key, regs.warp);
            races.advance();
        }
    }

    fn end_factor(
        &mut self,
        layout: Option<Layout>,
        (first, rows): (usize, usize),
        read: &Read,
        regs: &Registers<'_>,
    ) {
        let Some(layout) = layout else { return };
        let mut chunks = std::mem::take(&mut self.wgmma.chunks);
        layout.chunks(first, rows, &mut chunks);
        let bytes = self.layout.bytes;
        chunks.retain(|at| *at as usize + 16 <= bytes);
        let issue = Issue { pc: read.pc, lane: 0 };
        let ranges = Ranges { starts: &chunks, bytes: 16 };
        self.end_sources(ranges, read.number, regs, issue);
        self.wgmma.chunks = chunks;
    }
}
