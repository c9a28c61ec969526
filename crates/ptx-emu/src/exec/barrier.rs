//! Block barriers: who waits, when they open, and who waits for ever.

use super::{
    Machine,
    access::Registers,
    cluster::Step,
    fault::Target,
    simple::put_p,
    warp::{Group, Wait, Warp, put_w},
};
use crate::{
    finding::{FindingKind, Other, Severity},
    op::{BarrierKind, Op},
    report::LaunchError,
};

const N_BARRIERS: u32 = 16;

impl Machine<'_> {
    /// An operation at which threads synchronise: of the block at a barrier, or of the cluster.
    pub(super) fn rendezvous(
        &mut self,
        op: Op,
        regs: &mut Registers<'_>,
        pc: u32,
        mask: u32,
    ) -> Result<Step, LaunchError> {
        let index = match op {
            Op::Barrier(index) => index as usize,
            Op::Bulk(index) => return self.bulk_op(index, regs, pc, mask),
            Op::Cluster(index) => return self.cluster_op(index, regs, pc, mask),
            _ => return Ok(Step::Next),
        };
        let barrier = self.program.barriers[index];
        let lane = mask.trailing_zeros() as usize & 31;
        let id = regs.rows.w[barrier.id as usize][lane];
        let count = barrier.count.map(|c| regs.rows.w[c as usize][lane]);
        if id >= N_BARRIERS {
            let what = format!("barrier {id} is not there: a block has {N_BARRIERS}");
            return Err(self.fault_here(FindingKind::BarrierDivergence, &what, regs, pc, mask));
        }
        if matches!(barrier.kind, BarrierKind::Arrive) {
            let arrived = self.block.arrivals.entry(id).or_insert(0);
            *arrived = arrived.saturating_add(mask.count_ones());
            // Arrivals alone complete a barrier too; those who come later wait for the next phase.
            if count.is_some_and(|count| *arrived >= count) {
                *arrived = 0;
            }
            self.warp_arrived(id, regs.warp);
            return Ok(Step::Next);
        }
        Ok(Step::Wait(Wait::Block(id, count)))
    }

    /// Opens the barriers whose threads have all come; whether there were any.
    pub(super) fn release(&mut self, warps: &mut [Warp]) -> bool {
        let mut waiting: Vec<(u32, Option<u32>, u32)> = Vec::new();
        for warp in &*warps {
            for group in &warp.groups {
                if let Wait::Block(id, count) = group.wait {
                    let n = group.mask.count_ones();
                    // A warp that came whole counts as 32 threads where threads are counted.
                    let n = if count.is_some() && group.mask == warp.alive { 32 } else { n };
                    match waiting.iter_mut().find(|(i, ..)| *i == id) {
                        Some((_, c, total)) => {
                            *total += n;
                            *c = c.or(count);
                        }
                        None => waiting.push((id, count, n)),
                    }
                }
            }
        }
        let alive: u32 = warps.iter().map(|w| w.alive.count_ones()).sum();
        let mut any = false;
        for (id, count, total) in waiting {
            let arrived = self.block.arrivals.get(&id).copied().unwrap_or(0);
            // Threads that have exited do not hold a barrier of the whole block; a stated number of
            // threads must all come.
            if total + arrived >= count.unwrap_or(alive) {
                self.open(warps, id);
                self.block.arrivals.remove(&id);
                any = true;
            }
        }
        any
    }

    /// Lets the threads that wait at barrier `id` go on.
    fn open(&mut self, warps: &mut [Warp], id: u32) {
        let waits = |g: &Group| matches!(g.wait, Wait::Block(i, _) if i == id);
        let mut popc = 0;
        let mut threads = 0;
        // Those that have exited do nothing more that could be out of order.
        let there = |w: &&mut Warp| w.groups.is_empty() || w.groups.iter().any(waits);
        let met: Vec<u32> = warps.iter_mut().filter(there).map(|w| w.index).collect();
        self.warps_met(id, &met);
        self.check_places(warps, id);
        self.check_passed(warps, id);
        for warp in &mut *warps {
            for at in 0..warp.groups.len() {
                let group = &warp.groups[at];
                if !waits(group) {
                    continue;
                }
                let (frame, mask, pc) = (group.frame, group.mask, group.pc);
                threads += mask.count_ones();
                if let Op::Barrier(index) = self.program.ops[pc as usize]
                    && let BarrierKind::Popc(_, p, negated) | BarrierKind::Reduce(_, _, p, negated) =
                        self.program.barriers[index as usize].kind
                {
                    let regs = Registers::new(warp, frame);
                    let p = regs.rows.p[p as usize];
                    popc += ((if negated { !p } else { p }) & mask).count_ones();
                }
            }
        }
        for warp in warps {
            for at in 0..warp.groups.len() {
                if !waits(&warp.groups[at]) {
                    continue;
                }
                let (frame, mask, pc) =
                    (warp.groups[at].frame, warp.groups[at].mask, warp.groups[at].pc);
                if let Op::Barrier(index) = self.program.ops[pc as usize] {
                    let regs = Registers::new(warp, frame);
                    match self.program.barriers[index as usize].kind {
                        BarrierKind::Popc(d, ..) => {
                            put_w(&mut regs.rows.w[d as usize], &[popc; 32], mask);
                        }
                        BarrierKind::Reduce(all, d, ..) => {
                            let hit = if all { popc == threads } else { popc > 0 };
                            put_p(
                                &mut regs.rows.p[d as usize],
                                if hit { u32::MAX } else { 0 },
                                mask,
                            );
                        }
                        BarrierKind::Sync | BarrierKind::Arrive => {}
                    }
                }
                warp.groups[at].wait = Wait::None;
                warp.groups[at].penalty = 0;
                warp.groups[at].pc += 1;
            }
        }
    }

    /// Notes lanes at a fork, by the way they go: they may leave barriers behind.
    #[inline(never)]
    pub(super) fn forked(&mut self, warp: u32, pc: u32, ways: [u32; 2]) {
        let Some(left) = self.program.forks.get(&pc) else { return };
        for (lanes, barriers) in ways.into_iter().zip(left) {
            for barrier in barriers.iter().filter(|_| lanes != 0) {
                *self.block.passed.entry((warp, *barrier)).or_insert(0) |= lanes;
            }
        }
    }

    /// Threads that went past the barrier that opens now, and have exited: it opens for that alone.
    fn check_passed(&mut self, warps: &mut [Warp], id: u32) {
        if self.block.passed.is_empty() {
            return;
        }
        let mut found = Vec::new();
        for at in 0..warps.len() {
            for group in &warps[at].groups {
                if !matches!(group.wait, Wait::Block(i, None) if i == id) {
                    continue;
                }
                let passed = |w: &Warp| self.block.passed.get(&(w.index, group.pc)).copied();
                let gone = |w: &Warp| (passed(w).unwrap_or(0) & !w.alive).count_ones();
                let gone: u32 = warps.iter().map(gone).sum();
                if gone > 0 {
                    found.push((at, group.pc, group.mask, group.frame, gone));
                }
            }
        }
        let kind = FindingKind::BarrierDivergence;
        for (at, pc, mask, frame, gone) in found {
            let key = self.key(kind, pc, None);
            let n = u64::from(mask.count_ones());
            if self.sanitizer.findings.again(key, n, None) || self.sanitizer.findings.full() {
                continue;
            }
            let regs = Registers::new(&mut warps[at], frame);
            let plural = if gone == 1 {
                "thread that went past it has"
            } else {
                "threads that went past it have"
            };
            let what = format!("the barrier opens only because {gone} {plural} exited");
            let mut finding = self.finding(kind, &what, Target::default(), &regs, pc, mask);
            finding.severity = Severity::Warning;
            finding.hint =
                Some("let all threads of the block reach the same __syncthreads()".to_owned());
            self.keep(key, finding);
        }
    }

    /// The report of a block none of whose threads can move.
    pub(super) fn stuck(&self, warps: &mut [Warp]) -> LaunchError {
        let waiting = self.describe_all(warps);
        for warp in warps {
            for at in 0..warp.groups.len() {
                if warp.groups[at].wait != Wait::None {
                    let (frame, mask, pc) =
                        (warp.groups[at].frame, warp.groups[at].mask, warp.groups[at].pc);
                    let regs = Registers::new(warp, frame);
                    let what =
                        format!("barrier divergence, no thread of the block can go on: {waiting}");
                    return self.fault_here(FindingKind::BarrierDivergence, &what, &regs, pc, mask);
                }
            }
        }
        LaunchError::Deadlock { message: waiting, line: None, at_barrier: true }
    }

    /// Threads that wait at one barrier at different lines: the lanes of a warp must not, for the
    /// instruction is for whole warps; for warps it works, but hardly as it was meant.
    fn check_places(&mut self, warps: &mut [Warp], id: u32) {
        let mut first: Option<(usize, u32)> = None;
        for at in 0..warps.len() {
            for group in 0..warps[at].groups.len() {
                let Group { wait, pc, mask, frame, .. } = warps[at].groups[group];
                if !matches!(wait, Wait::Block(i, _) if i == id) {
                    continue;
                }
                let Some((warp, other)) = first else {
                    first = Some((at, pc));
                    continue;
                };
                let line = |pc: u32| self.program.place_of(pc).0;
                if pc == other || line(pc) == line(other) || (warp != at && id != 0) {
                    continue;
                }
                let regs = Registers::new(&mut warps[at], frame);
                self.report_places(&regs, pc, mask, other, warp == at);
            }
        }
    }

    fn report_places(
        &mut self,
        regs: &Registers<'_>,
        pc: u32,
        mask: u32,
        other: u32,
        same_warp: bool,
    ) {
        let kind = FindingKind::BarrierDivergence;
        let key = self.key(kind, pc, Some(other));
        if self.sanitizer.findings.again(key, u64::from(mask.count_ones()), None)
            || self.sanitizer.findings.full()
        {
            return;
        }
        let who = if same_warp { "threads of one warp" } else { "warps of the block" };
        let what = format!("{who} meet at different barriers");
        let mut finding = self.finding(kind, &what, Target::default(), regs, pc, mask);
        finding.severity = if same_warp { Severity::Error } else { Severity::Warning };
        let (line, instruction) = self.program.place_of(other);
        let what = "others wait".to_owned();
        finding.other = Some(Other { what, line, instruction, block: None, thread: None });
        finding.hint =
            Some("let all threads of the block reach the same __syncthreads()".to_owned());
        self.keep(key, finding);
    }
}
