//! `wgmma`: asynchronous products of a warpgroup.
//!
//! A warp computes its 16 rows of a product when it issues it. The sums stay out of the registers
//! until the wait for the product's group; until then the registers count as undefined. Factors in
//! shared memory count as read until that wait, too, where writes since the issue are found.

mod layout;
mod product;
mod reads;
mod sums;

use self::{layout::Layout, product::ROWS, reads::Read, sums::Chain};
pub(super) use self::{product::Scratch, reads::Warpgroups};
use super::{
    Machine,
    access::{Refusal, Registers, each_lane},
    bulk::Issue,
    cluster::Step,
    fault::Target,
    sanitize::{races::Ranges, taint::Mark},
    warp::Wait,
};
use crate::{
    finding::{Finding, FindingKind},
    memory::{INITIALISED, PENDING},
    op::{
        Element, MatrixOp, Reg, StateSpace, W, WarpgroupFactor, WarpgroupOrder, WarpgroupProduct,
    },
    report::LaunchError,
};

/// A product that was not waited for.
#[derive(Debug)]
struct Pending {
    /// Groups committed when it was issued.
    group: u32,
    chain: u64,
    /// A in registers, as it was.
    a: Option<(Vec<u32>, [W; 4])>,
    pc: u32,
}

/// The products of a warp.
#[derive(Debug, Default)]
pub(super) struct Products {
    pending: Vec<Pending>,
    chains: Vec<Chain>,
    /// Chains begun, and products issued.
    begun: u64,
    issued: u64,
    commits: u32,
    /// A fence has ordered accesses to registers before the next product.
    fenced: bool,
    /// Sums as they were last put into registers.
    last: Option<Chain>,
    /// Undefined values were followed before the first of the pending products.
    followed: bool,
}

impl Products {
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Parts of a factor that nobody wrote.
#[derive(Debug, Clone, Copy, Default)]
struct Undefined {
    /// Rows of A.
    rows: u32,
    /// Columns of B.
    columns: [u64; 4],
}

impl Machine<'_> {
    /// A warpgroup's operation, if it is one; false if not.
    pub(super) fn warpgroup(
        &mut self,
        index: u32,
        regs: &mut Registers<'_>,
        pc: u32,
    ) -> Result<bool, LaunchError> {
        let program = self.program;
        self.pc = pc;
        match &program.matrices[index as usize] {
            MatrixOp::WarpgroupProduct(op) => self.warpgroup_product(op, regs, pc)?,
            MatrixOp::Warpgroup(WarpgroupOrder::Fence) => regs.engine.products.fenced = true,
            MatrixOp::Warpgroup(WarpgroupOrder::Commit) => {
                let products = &mut regs.engine.products;
                products.commits += 1;
                self.block.shared.warpgroups.commit(regs.warp, products.commits);
                // Other warps may wait for this one.
                self.progress.changes += 1;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn warpgroup_product(
        &mut self,
        op: &WarpgroupProduct,
        regs: &mut Registers<'_>,
        pc: u32,
    ) -> Result<(), LaunchError> {
        self.progress.touched = true;
        let first = ROWS * (regs.warp as usize % 4);
        let keeps = regs.rows.p[op.scale_d.0 as usize] & 1 == 1;
        let keeps = keeps != op.scale_d.1;
        let mut undefined = Undefined::default();
        let mut scratch = std::mem::take(&mut self.wgmma);
        let mut held = None;
        let mut layouts = [None; 2];
        match &op.a {
            WarpgroupFactor::Registers(list) => {
                let values: [W; 4] = std::array::from_fn(|i| regs.rows.w[list[i] as usize]);
                scratch.registers_a(&values, op.a_element);
                if regs.taint.active {
                    undefined.rows = undefined_rows(list, regs);
                }
                held = self.sanitizer.checks.taint.then(|| (list.clone(), values));
            }
            WarpgroupFactor::Memory(descriptor) => {
                let layout = self.layout_of(*descriptor, op.transposed[0], 2, regs);
                layout.chunks(first, ROWS, &mut scratch.chunks);
                self.check_chunks(&mut scratch.chunks, "A", regs, pc);
                undefined.rows =
                    self.undefined_parts(&scratch.chunks, layout, ROWS, regs, pc)[0] as u32;
                scratch.load_a(&self.block.shared.data, layout, op.a_element);
                layouts[0] = Some(layout);
            }
        }
        if op.negate {
            scratch.negate();
        }
        scratch.selection = op.sparse.as_ref().map(|sparse| self.selection(sparse, regs, pc));
        undefined.rows |= scratch.selection.as_ref().map_or(0, |s| s.undefined);
        // A sparse A has half of the elements that B has along k.
        let wide = if op.sparse.is_some() { 4 } else { 2 };
        let layout = self.layout_of(op.b, op.transposed[1], wide, regs);
        if layout.is_split() {
            let why = "B's rows of 64 bytes under a swizzle of 32 bytes";
            return Err(self.unsupported(pc, why));
        }
        layout.chunks(0, op.n, &mut scratch.chunks);
        self.check_chunks(&mut scratch.chunks, "B", regs, pc);
        undefined.columns = self.undefined_parts(&scratch.chunks, layout, op.n, regs, pc);
        scratch.load_b(&self.block.shared.data, layout, op.n, op.b_element);
        layouts[1] = Some(layout);
        let chain = self.chain_of(op, keeps, regs, pc)?;
        let width = self.width;
        let Some(sums) = regs.engine.products.chains.iter_mut().find(|c| c.id == chain) else {
            return Ok(());
        };
        sums.undefined.join(undefined);
        if op.d.element == Element::S32 {
            scratch.add_integers(op.n, &mut sums.integers, op.saturate, width);
        } else {
            scratch.add(op.n, op.b_element, &mut sums.floats, width);
            sums.round();
        }
        sums.users += 1;
        self.wgmma = scratch;
        let mut number = 0;
        if let Some(races) = &mut self.sanitizer.races {
            races.advance();
            number = races.next();
        }
        let products = &mut regs.engine.products;
        let group = products.commits;
        products.pending.push(Pending { group, chain, a: held, pc });
        products.issued += 1;
        let (warp, serial, n) = (regs.warp, products.issued, op.n);
        let read = Read { warp, serial, group, layouts, n, number, pc };
        self.block.shared.warpgroups.reads.push(read);
        Ok(())
    }

    fn layout_of(
        &self,
        descriptor: u32,
        transposed: bool,
        wide: usize,
        regs: &Registers<'_>,
    ) -> Layout {
        Layout::new(regs.rows.d[descriptor as usize][0], transposed, wide)
    }

    /// Reports chunks outside the block's shared memory, and puts them to its start.
    fn check_chunks(&mut self, chunks: &mut [u64], factor: &str, regs: &Registers<'_>, pc: u32) {
        let bytes = self.layout.bytes;
        let outside = |at: u64| at as usize + 16 > bytes;
        if let Some(&first) = chunks.iter().find(|at| outside(**at)) {
            let kind = FindingKind::OutOfBoundsRead;
            let key = self.key(kind, pc, None);
            if !self.sanitizer.findings.again(key, 32, None) && !self.sanitizer.findings.full() {
                let what = format!(
                    "the descriptor of {factor} reaches byte {first} of shared memory, of which the \
                     block has {bytes} bytes"
                );
                let target = Target::default();
                let finding = self.finding(kind, &what, target, regs, pc, u32::MAX);
                self.keep(key, finding);
            }
            let end = (bytes as u64).saturating_sub(16) & !15;
            chunks.iter_mut().filter(|at| outside(**at)).for_each(|at| *at = end);
        }
        if self.block.shared.data.len() < 16 {
            self.block.shared.data.resize(16, 0);
            self.block.shared.flags.resize(16, 0);
        }
    }

    /// Looks at the marks of a factor's chunks: reports copies that were not waited for and missing
    /// fences; gives a bit for each row (column) with bytes that nobody wrote.
    fn undefined_parts(
        &mut self,
        chunks: &[u64],
        layout: Layout,
        rows: usize,
        regs: &Registers<'_>,
        pc: u32,
    ) -> [u64; 4] {
        const ALL: u128 = u128::from_le_bytes([INITIALISED; 16]);
        let mut bits = [0; 4];
        let mut pending = None;
        if self.sanitizer.checks.initialisation {
            let flags = &self.block.shared.flags;
            for (n, at) in chunks.iter().enumerate() {
                let Some(marks) = flags[*at as usize..].first_chunk::<16>() else { continue };
                if u128::from_le_bytes(*marks) & ALL == ALL {
                    continue;
                }
                if marks.iter().any(|mark| mark & PENDING != 0) {
                    pending = pending.or(Some(*at));
                    continue;
                }
                let (first, n) = if layout.is_transposed() {
                    (n / (8 * layout.wide) * 8, 8)
                } else {
                    (n / layout.wide, 1)
                };
                for row in first..(first + n).min(rows) {
                    bits[row / 64] |= 1 << (row % 64);
                }
            }
        }
        let issue = Issue { pc, lane: 0 };
        if let Some(at) = pending {
            let at = [self.shared_address_of(at); 32];
            let (kind, place) = (FindingKind::AsyncRead, StateSpace::Shared);
            let refusal = Refusal { kind, lanes: u32::MAX, at, place, bytes: 16 };
            self.sanitizer.refusals.push(refusal);
            self.record_refusals(regs, pc);
        }
        // All warps of a warpgroup read the same B.
        if rows == ROWS || regs.warp.is_multiple_of(4) {
            let ranges = Ranges { starts: chunks, bytes: 16 };
            self.check_sources(ranges, regs, issue);
        }
        bits
    }

    /// The chain of sums in the accumulators of a product.
    fn chain_of(
        &mut self,
        op: &WarpgroupProduct,
        keeps: bool,
        regs: &mut Registers<'_>,
        pc: u32,
    ) -> Result<u64, LaunchError> {
        let base = regs.frame.base;
        let products = &mut regs.engine.products;
        if let Some(chain) = products.chains.iter_mut().find(|c| c.is(base, &op.d)) {
            if !keeps {
                chain.reset();
            }
            return Ok(chain.id);
        }
        if products.chains.iter().any(|c| c.overlaps(base, &op.d)) {
            let why = "accumulators that overlap those of another product under way";
            return Err(self.unsupported(pc, why));
        }
        let first = products.begun == 0;
        products.begun += 1;
        let mut chain = Chain::new(products.begun, base, &op.d, op.n);
        let unfenced = !std::mem::take(&mut products.fenced);
        if keeps {
            chain.load(regs);
            if regs.taint.active {
                chain.marks = op.d.regs.iter().map(|r| regs.taint.of(base, Reg::W(*r))).collect();
            }
        }
        let changed = || {
            let last = regs.engine.products.last.as_ref();
            keeps && last.is_some_and(|last| last.differs(&chain))
        };
        if unfenced && (first || changed()) {
            let what = if first {
                "the first `wgmma.mma_async` of a warp without `wgmma.fence` before"
            } else {
                "accumulators were changed and no `wgmma.fence` orders that before this product"
            };
            self.report_warpgroup(what, "wgmma.fence.sync.aligned must come before", regs, pc);
        }
        let products = &mut regs.engine.products;
        if products.chains.is_empty() {
            products.followed = regs.taint.active;
        }
        let id = chain.id;
        products.chains.push(chain);
        if self.sanitizer.checks.taint {
            for r in &op.d.regs {
                regs.taint.mark(base, Reg::W(*r), u32::MAX, pc);
            }
            let kind = FindingKind::Wgmma;
            self.note_origin(pc, |machine| {
                let what = "an accumulator of `wgmma.mma_async` is read before \
                            `wgmma.wait_group`";
                let target = Target::default();
                let mut finding = machine.finding(kind, what, target, regs, pc, u32::MAX);
                finding.hint = Some(
                    "commit the products with wgmma.commit_group and wait for the group before the \
                     accumulators are used"
                        .to_owned(),
                );
                finding
            });
        }
        Ok(id)
    }

    fn report_warpgroup(&mut self, what: &str, hint: &str, regs: &Registers<'_>, pc: u32) {
        let kind = FindingKind::Wgmma;
        let key = self.key(kind, pc, None);
        if self.sanitizer.findings.again(key, 32, None) || self.sanitizer.findings.full() {
            return;
        }
        let mut finding: Finding = self.finding(kind, what, Target::default(), regs, pc, u32::MAX);
        finding.hint = Some(hint.to_owned());
        self.keep(key, finding);
    }

    /// Ends the products of the groups before the last `keep` ones, or waits for the other warps to
    /// issue them.
    pub(super) fn warpgroup_wait(
        &mut self,
        keep: u32,
        regs: &mut Registers<'_>,
        pc: u32,
    ) -> Result<Step, LaunchError> {
        let target = regs.engine.products.commits.saturating_sub(keep);
        if !self.block.shared.warpgroups.have(self.warps_of(regs.warp), target) {
            return Ok(Step::Wait(Wait::Warpgroup(self.progress.changes)));
        }
        self.end_reads(target, regs);
        let over = |p: &Pending| p.group < target;
        let pending = std::mem::take(&mut regs.engine.products.pending);
        let (done, rest): (Vec<_>, Vec<_>) = pending.into_iter().partition(over);
        regs.engine.products.pending = rest;
        for product in &done {
            self.end_product(product, regs);
            let chains = &mut regs.engine.products.chains;
            let Some(at) = chains.iter().position(|chain| chain.id == product.chain) else {
                continue;
            };
            chains[at].users -= 1;
            if chains[at].users > 0 {
                continue;
            }
            let chain = chains.swap_remove(at);
            if chain.base != regs.frame.base {
                let why = "the products were issued in another function";
                return Err(self.unsupported(pc, why));
            }
            self.end_chain(chain, product.pc, regs, pc);
        }
        Ok(Step::Next)
    }

    /// A in registers may be written from here on.
    fn end_product(&mut self, product: &Pending, regs: &Registers<'_>) {
        if let Some((list, values)) = &product.a
            && (0..4).any(|i| regs.rows.w[list[i] as usize] != values[i])
        {
            let what = "registers of A are changed while `wgmma.mma_async` may still read them";
            let hint = "wait with wgmma.wait_group before the registers are written again";
            self.report_warpgroup(what, hint, regs, product.pc);
        }
    }

    /// Puts the sums of a chain into its registers, at a wait.
    fn end_chain(&mut self, chain: Chain, issued: u32, regs: &mut Registers<'_>, pc: u32) {
        let base = regs.frame.base;
        if self.sanitizer.checks.taint {
            let written = chain.fragment.regs.iter().any(|r| {
                let mark = regs.taint.of(base, Reg::W(*r));
                mark.lanes != u32::MAX
            });
            if written {
                let what = "an accumulator of `wgmma.mma_async` is written before \
                            `wgmma.wait_group`";
                let hint = "wait for the group before the accumulators are written";
                self.report_warpgroup(what, hint, regs, issued);
            }
            let undefined = chain.undefined.any();
            if undefined {
                let kind = FindingKind::UninitialisedRead;
                let what = "a product of values that nobody wrote";
                self.note_origin(pc, |machine| {
                    machine.finding(kind, what, Target::default(), regs, issued, u32::MAX)
                });
            }
            for (n, r) in chain.fragment.regs.iter().enumerate() {
                let mut mark = chain.marks.get(n).copied().unwrap_or_default();
                if undefined {
                    let lanes = chain.undefined_lanes(n);
                    let origin = if mark.lanes == 0 { pc } else { mark.origin };
                    mark = Mark { lanes: mark.lanes | lanes, origin };
                }
                regs.taint.set(base, Reg::W(*r), Mark::default(), u32::MAX);
                if mark.lanes != 0 {
                    regs.taint.mark(base, Reg::W(*r), mark.lanes, mark.origin);
                }
            }
            let products = &regs.engine.products;
            if products.chains.is_empty() && !products.followed && !regs.taint.any() {
                regs.taint.active = false;
            }
        }
        chain.store(regs);
        regs.engine.products.last = Some(chain);
    }
}

/// Rows of A, by the lanes of its registers that hold undefined values.
fn undefined_rows(list: &[u32], regs: &mut Registers<'_>) -> u32 {
    let base = regs.frame.base;
    let mut rows = 0;
    for (n, r) in list.iter().enumerate() {
        let lanes = regs.taint.of(base, Reg::W(*r)).lanes;
        for lane in each_lane(lanes) {
            rows |= 1 << (lane / 4 + 8 * (n % 2));
        }
    }
    rows
}
