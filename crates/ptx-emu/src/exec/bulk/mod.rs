//! The asynchronous proxy: bulk copies, copies of tensors, and waits for them.
//!
//! A copy moves its bytes when it is issued. Bytes in shared memory are pending until a wait on
//! their mbarrier is let through ([`super::mbarrier`]); a source in shared memory counts as read
//! until the wait for the copy's group, where writes since the issue are found.

mod map;
mod memory;
mod tensor;
mod tile;

pub(super) use self::memory::Issue;
use self::memory::{Payload, Place};
use super::{
    Machine,
    access::{Registers, addresses, each_lane},
    cluster::Step,
    fault::Target,
    sanitize::races::Ranges,
    transfer::value_of,
    warp::{Frame, Warp},
    wgmma::Products,
};
use crate::{
    finding::FindingKind,
    memory::{own_shared, peer_shared},
    op::{BulkCopy, BulkOp, D, ElementCopy, R, Reduction, Reg, W, Way},
    report::LaunchError,
    tensor_map::Swizzle,
};
use std::ops::Range;

/// A copy out of shared memory that was not waited for.
#[derive(Debug)]
struct Source {
    lane: usize,
    /// Groups the lane had committed when it was issued.
    group: u32,
    range: Range<u64>,
    /// Number of the next record at its issue.
    number: u32,
    pc: u32,
}

/// The asynchronous operations of a warp.
#[derive(Debug, Default)]
pub(super) struct Engine {
    sources: Vec<Source>,
    /// Bulk groups each lane has committed.
    commits: W,
    pub products: Products,
}

impl Engine {
    /// Forgets everything, at the start of a block.
    pub(super) fn clear(&mut self) {
        self.sources.clear();
        self.commits = [0; 32];
        self.products.clear();
    }
}

/// Most copies out of shared memory that are kept until a wait.
const MAX_SOURCES: usize = 4096;

impl Machine<'_> {
    pub(super) fn bulk_op(
        &mut self,
        index: u32,
        regs: &mut Registers<'_>,
        pc: u32,
        mask: u32,
    ) -> Result<Step, LaunchError> {
        let program = self.program;
        self.pc = pc;
        match &program.bulks[index as usize] {
            BulkOp::Copy(copy) => self.bulk_copy(copy, regs, pc, mask)?,
            BulkOp::Tensor(copy) => self.tensor_copy(copy, regs, pc, mask)?,
            BulkOp::Element(copy) => self.element_copy(copy, regs, pc, mask)?,
            BulkOp::Replace(op) => self.replace(op, regs, pc, mask)?,
            BulkOp::CopyMap(to, from) => self.copy_map(to, from, regs, pc, mask),
            BulkOp::Commit => {
                for lane in each_lane(mask) {
                    regs.engine.commits[lane] += 1;
                }
            }
            BulkOp::Wait(pending) => self.bulk_wait(*pending, regs, mask),
            BulkOp::WaitProducts(pending) => return self.warpgroup_wait(*pending, regs, pc),
            BulkOp::Fence => {
                self.publish_mbarriers();
                if let Some(races) = &mut self.sanitizer.races {
                    self.block.order.fence_proxy(regs.warp, races.next());
                    races.advance();
                }
            }
        }
        Ok(Step::Next)
    }

    /// Ends the reads of the groups before the last `pending` ones.
    fn bulk_wait(&mut self, pending: u32, regs: &mut Registers<'_>, mask: u32) {
        let commits = regs.engine.commits;
        let over = |source: &Source| {
            (mask >> source.lane) & 1 == 1
                && source.group.saturating_add(pending) < commits[source.lane]
        };
        let sources = std::mem::take(&mut regs.engine.sources);
        let (done, rest): (Vec<_>, Vec<_>) = sources.into_iter().partition(over);
        regs.engine.sources = rest;
        for source in done {
            let issue = Issue { pc: source.pc, lane: source.lane };
            self.end_source(&source, regs, issue);
        }
    }

    fn end_source(&mut self, source: &Source, regs: &Registers<'_>, issue: Issue) {
        let Range { start, end } = source.range;
        let ranges = Ranges { starts: &[start], bytes: end - start };
        self.end_sources(ranges, source.number, regs, issue);
    }

    /// Notes a copy out of the block's shared memory.
    fn keep_source(&mut self, range: Range<u64>, regs: &mut Registers<'_>, issue: Issue) {
        let Some(races) = &mut self.sanitizer.races else { return };
        // Writes of the same operations from here on are later ones.
        races.advance();
        let number = races.next();
        let Issue { pc, lane } = issue;
        let group = regs.engine.commits[lane];
        regs.engine.sources.push(Source { lane, group, range, number, pc });
        if regs.engine.sources.len() > MAX_SOURCES {
            regs.engine.sources.remove(0);
        }
    }

    /// Reports copies that still read the shared memory of a block that ends.
    pub(super) fn end_async(&mut self, warps: &mut [Warp]) {
        for warp in warps {
            let sources = std::mem::take(&mut warp.engine.sources);
            let Some(source) = sources.into_iter().next() else { continue };
            let regs = &Registers::new(warp, Frame::default());
            let issue = Issue { pc: source.pc, lane: source.lane };
            self.end_source(&source, regs, issue);
            let kind = FindingKind::SharedRace;
            let key = self.key(kind, source.pc, None);
            if self.sanitizer.findings.again(key, 1, None) || self.sanitizer.findings.full() {
                continue;
            }
            let what = "the block ends while an asynchronous copy may still read its shared memory";
            let lanes = 1 << source.lane;
            let target = Target::default();
            let mut finding = self.finding(kind, what, target, regs, source.pc, lanes);
            finding.hint = Some(
                "commit the copy with cp.async.bulk.commit_group, and let the thread that issued it \
                 wait with cp.async.bulk.wait_group.read 0 before it exits"
                    .to_owned(),
            );
            self.keep(key, finding);
        }
    }

    /// The addresses of the same place in the blocks that a mask names.
    fn ranks(
        &self,
        mask: Option<u32>,
        address: u64,
        regs: &Registers<'_>,
        issue: Issue,
    ) -> Result<Vec<u64>, LaunchError> {
        let Some(mask) = mask else { return Ok(vec![address]) };
        let blocks = self.cluster.len();
        let mask = mask & 0xffff;
        if mask >> blocks != 0 || mask == 0 {
            let what = format!("the multicast mask 0x{mask:x} in a cluster of {blocks} blocks");
            let lanes = 1 << issue.lane;
            return Err(self.fault_here(FindingKind::Cluster, &what, regs, issue.pc, lanes));
        }
        let own = own_shared(address);
        let ranks = (0..blocks).filter(|rank| (mask >> rank) & 1 == 1);
        Ok(ranks.map(|rank| peer_shared(own, rank)).collect())
    }

    fn bulk_copy(
        &mut self,
        copy: &BulkCopy,
        regs: &mut Registers<'_>,
        pc: u32,
        mask: u32,
    ) -> Result<(), LaunchError> {
        let (to, from) = (addresses(&copy.to, regs), addresses(&copy.from, regs));
        let bars = copy.bar.map(|bar| addresses(&bar, regs));
        self.progress.touched = true;
        for lane in each_lane(mask) {
            let issue = Issue { pc, lane };
            let bytes = regs.rows.w[copy.bytes as usize][lane];
            if !bytes.is_multiple_of(16) {
                let what = format!("a bulk copy of {bytes} bytes, which is no multiple of 16");
                let kind = FindingKind::Misaligned;
                return Err(self.fault_here(kind, &what, regs, pc, 1 << lane));
            }
            let ranks = copy.ranks.map(|r| regs.rows.w[r as usize][lane]);
            let Some(payload) = self.bulk_source(copy.way, from[lane], bytes, regs, issue) else {
                continue;
            };
            if copy.way == Way::Store {
                let part = 0..payload.data.len();
                self.put_global((to[lane], 16), &payload, part, copy.reduction, regs, issue);
                continue;
            }
            let Some(bars) = bars else { continue };
            let places = self.ranks(ranks, to[lane], regs, issue)?;
            let bars = self.ranks(ranks, bars[lane], regs, issue)?;
            for (to, bar) in places.into_iter().zip(bars) {
                self.deliver(&payload, (to, bar), Swizzle::None, copy.reduction, regs, issue)?;
            }
        }
        Ok(())
    }

    /// The bytes that a copy reads.
    fn bulk_source(
        &mut self,
        way: Way,
        from: u64,
        bytes: u32,
        regs: &mut Registers<'_>,
        issue: Issue,
    ) -> Option<Payload> {
        let n = bytes as usize;
        if way == Way::Load {
            let mut payload = Payload::zeros(n);
            self.take_global(from, 16, &mut payload, 0..n, regs, issue);
            return Some(payload);
        }
        let place = self.shared_place(from, u64::from(bytes), 16, false, regs, issue)?;
        let payload = self.take_shared(place, n, Swizzle::None, regs, issue);
        // A copy to a peer reads until its phase completes, which nobody here need wait for.
        if way == Way::Store {
            self.keep_source(place.at as u64..(place.at + n) as u64, regs, issue);
        }
        Some(payload)
    }

    /// Puts bytes into shared memory and completes them on an mbarrier there.
    fn deliver(
        &mut self,
        payload: &Payload,
        (to, bar): (u64, u64),
        swizzle: Swizzle,
        reduction: Option<Reduction>,
        regs: &Registers<'_>,
        issue: Issue,
    ) -> Result<(), LaunchError> {
        let n = payload.data.len();
        let span = swizzle.span();
        let align = if span.is_some() { 128 } else { 16 };
        let whole = (n as u64).next_multiple_of(span.unwrap_or(16));
        let place = self.shared_place(to, whole, align, true, regs, issue);
        let mut range = 0..0;
        if let Some(place) = place {
            range = place.at..place.at + whole as usize;
            match reduction {
                None => self.put_shared(payload, place, swizzle, regs, issue),
                Some(reduction) => self.combine_shared(payload, place, reduction, regs, issue),
            }
        }
        self.complete_tx(bar, range, n as u32, regs, issue.pc, issue.lane)
    }

    fn element_copy(
        &mut self,
        copy: &ElementCopy,
        regs: &mut Registers<'_>,
        pc: u32,
        mask: u32,
    ) -> Result<(), LaunchError> {
        let (to, bars) = (addresses(&copy.to, regs), addresses(&copy.bar, regs));
        let bytes = copy.bytes as usize * copy.values.len();
        self.progress.touched = true;
        for lane in each_lane(mask) {
            let issue = Issue { pc, lane };
            let values = copy.values.iter().map(|reg| value_of(*reg, regs, lane, copy.bytes));
            let data = values.flat_map(|v| v.to_le_bytes().into_iter().take(copy.bytes as usize));
            let payload = Payload { data: data.collect(), ..Payload::zeros(bytes) };
            let align = bytes as u64;
            let place = self.shared_place(to[lane], bytes as u64, align, true, regs, issue);
            let mut range = 0..0;
            if let Some(place) = place {
                range = place.at..place.at + bytes;
                match copy.reduction {
                    None => self.put_shared(&payload, place, Swizzle::None, regs, issue),
                    Some(r) => self.combine_shared(&payload, place, r, regs, issue),
                }
            }
            self.complete_tx(bars[lane], range, bytes as u32, regs, pc, lane)?;
        }
        Ok(())
    }
}

/// The value of one lane of a register.
fn lane_value(reg: Reg, regs: &Registers<'_>, lane: usize) -> u64 {
    value_of(reg, regs, lane, if matches!(reg, Reg::D(_)) { 8 } else { 4 })
}

/// The signed values of one lane of 32-bit registers.
fn signed(list: &[R], regs: &Registers<'_>, lane: usize) -> Vec<i64> {
    list.iter().map(|r| i64::from(regs.rows.w[*r as usize][lane] as i32)).collect()
}

/// Addresses of an operand that may be missing.
fn optional(address: Option<crate::op::Address>, regs: &Registers<'_>) -> Option<D> {
    address.map(|address| addresses(&address, regs))
}

/// The range of a place.
fn range_of(place: Place, bytes: usize) -> Range<u64> {
    place.at as u64..(place.at + bytes) as u64
}
