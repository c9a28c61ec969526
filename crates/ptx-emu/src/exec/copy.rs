//! `cp.async`: a copy reads its source at once and reaches its destination only at the wait that
//! covers it, so a kernel that forgets the wait sees the former bytes.

use super::{
    Machine,
    access::{Registers, addresses},
    sanitize::taint::Mark,
    transfer::Action,
    warp::{Frame, Warp},
};
use crate::{
    op::{Address, AsyncOp, D, MemoryOp, R, Reg, StateSpace, W},
    report::LaunchError,
};

/// A copy under way.
#[derive(Debug)]
struct Pending {
    /// Lanes whose part has not arrived.
    lanes: u32,
    /// Lanes that read uninitialised bytes.
    undefined: u32,
    to: D,
    words: [W; 4],
    bytes: u32,
    /// Groups each lane had committed when it was issued.
    group: W,
    pc: u32,
    /// Copies issued by the warp before.
    serial: u64,
}

/// An arrival on mbarriers that the copies before it will make.
#[derive(Debug)]
struct Arrival {
    lanes: u32,
    /// Address of each lane's mbarrier.
    at: D,
    place: StateSpace,
    /// Copies issued by the warp before.
    serial: u64,
    pc: u32,
}

/// The copies of a warp.
#[derive(Debug, Default)]
pub(super) struct Copies {
    pending: Vec<Pending>,
    /// Groups each lane has committed.
    commits: W,
    issued: u64,
    arrivals: Vec<Arrival>,
}

impl Copies {
    /// Forgets everything, at the start of a block.
    pub(super) fn clear(&mut self) {
        self.pending.clear();
        self.arrivals.clear();
        self.commits = [0; 32];
    }

    /// Notes that the copies of `lanes` so far are to arrive on the mbarriers at `at`.
    pub(super) fn track(&mut self, lanes: u32, at: D, place: StateSpace, pc: u32) {
        let serial = self.issued;
        self.arrivals.push(Arrival { lanes, at, place, serial, pc });
    }

    /// Whether copies are to arrive on mbarriers.
    pub(super) fn tracked(&self) -> bool {
        !self.arrivals.is_empty()
    }
}

/// Most copies of a warp that are under way at once.
const MAX_PENDING: usize = 4096;

fn access(store: bool, bytes: u32, count: u32, place: StateSpace, scratch: R) -> MemoryOp {
    MemoryOp {
        store,
        bytes,
        signed: false,
        volatile: false,
        release: false,
        address: Address { place, base: None, offset: 0 },
        regs: (0..count).map(|i| Some(Reg::W(scratch + i))).collect(),
    }
}

impl Machine<'_> {
    pub(super) fn async_op(&mut self, index: u32, regs: &mut Registers<'_>, pc: u32, mask: u32) {
        let program = self.program;
        match &program.copies[index as usize] {
            AsyncOp::Commit => {
                for (lane, commits) in regs.copies.commits.iter_mut().enumerate() {
                    *commits += (mask >> lane) & 1;
                }
            }
            AsyncOp::Wait { pending, scratch } => {
                let commits = regs.copies.commits;
                let covered =
                    |copy: &Pending, i: usize| copy.group[i].saturating_add(*pending) < commits[i];
                self.arrive_copies(covered, *scratch, regs, mask);
            }
            AsyncOp::WaitAll { scratch } => self.arrive_copies(|_, _| true, *scratch, regs, mask),
            AsyncOp::Copy { to, from, bytes, size, scratch } => {
                let source = addresses(from, regs);
                let to = addresses(to, regs);
                let sizes = size.map_or([*bytes; 32], |r| regs.rows.w[r as usize]);
                self.sanitizer.undefined.loaded = 0;
                let words = self.read_source(source, sizes, *bytes, *scratch, regs, pc, mask);
                let undefined = self.sanitizer.undefined.loaded;
                self.act(&Action::Await(*bytes), StateSpace::Shared, &to, regs, mask);
                let refused = self.sanitizer.refusals.iter().fold(0, |m, r| m | r.lanes);
                self.record_refusals(regs, pc);
                self.last_copy = Some(pc);
                let group = regs.copies.commits;
                let lanes = mask & !refused;
                let serial = regs.copies.issued;
                regs.copies.issued += 1;
                let bytes = *bytes;
                let copy = Pending { lanes, undefined, to, words, bytes, group, pc, serial };
                regs.copies.pending.push(copy);
                if regs.copies.pending.len() > MAX_PENDING {
                    // Copies that nobody waits for arrive some time all the same.
                    let old = |copy: &Pending, _| copy.serial + MAX_PENDING as u64 / 2 < serial;
                    self.arrive_copies(old, *scratch, regs, u32::MAX);
                }
            }
        }
    }

    /// Delivers the copies that are to arrive on mbarriers, and makes them arrive: at the end of
    /// the warp's turn, so that a thread that does not wait sees the former bytes.
    pub(super) fn land(&mut self, warp: &mut Warp) -> Result<(), LaunchError> {
        // Registers to work in, behind those of all functions.
        let base = warp.r32.len();
        warp.r32.resize(base + 4, [0; 32]);
        let regs =
            &mut Registers::new(warp, Frame { base: [base as u32, 0, 0], ..Frame::default() });
        for r in 0..4 {
            regs.taint.set(regs.frame.base, Reg::W(r), Mark::default(), u32::MAX);
        }
        let mut done = Ok(());
        for arrival in std::mem::take(&mut regs.copies.arrivals) {
            let before = |copy: &Pending, _| copy.serial < arrival.serial;
            self.arrive_copies(before, 0, regs, arrival.lanes);
            let Arrival { lanes, at, place, pc, .. } = arrival;
            done = done.and_then(|()| self.arrive_on_mbarriers(lanes, &at, place, regs, pc));
        }
        warp.r32.truncate(base);
        done
    }

    /// The source bytes of each lane, as words; those past a lane's size are zero.
    #[expect(clippy::too_many_arguments, reason = "the instruction's operands")]
    fn read_source(
        &mut self,
        source: D,
        sizes: W,
        bytes: u32,
        scratch: R,
        regs: &mut Registers<'_>,
        pc: u32,
        mask: u32,
    ) -> [W; 4] {
        self.progress.touched = true;
        self.pc = pc;
        let mut words = [[0_u32; 32]; 4];
        let whole = (0..32).filter(|i| sizes[*i] >= bytes).fold(0, |m, i| m | 1 << i) & mask;
        if whole != 0 {
            let m = access(false, 4, bytes / 4, StateSpace::Global, scratch);
            self.act(&Action::Memory(&m), StateSpace::Global, &source, regs, whole);
            for (w, word) in words.iter_mut().enumerate().take(bytes as usize / 4) {
                let loaded = regs.rows.w[scratch as usize + w];
                *word = std::array::from_fn(|i| if (whole >> i) & 1 == 1 { loaded[i] } else { 0 });
            }
        }
        for byte in 0..bytes {
            let lanes = (0..32).filter(|i| sizes[*i] > byte && sizes[*i] < bytes);
            let lanes = lanes.fold(0_u32, |m, i| m | 1 << i) & mask;
            if lanes == 0 {
                continue;
            }
            let m = access(false, 1, 1, StateSpace::Global, scratch);
            let at = source.map(|a| a.wrapping_add(u64::from(byte)));
            self.act(&Action::Memory(&m), StateSpace::Global, &at, regs, lanes);
            for lane in (0..32).filter(|i| (lanes >> i) & 1 == 1) {
                let loaded = regs.rows.w[scratch as usize][lane];
                words[byte as usize / 4][lane] |= loaded << (8 * (byte % 4));
            }
        }
        self.record_refusals(regs, pc);
        words
    }

    /// Delivers the copies of `mask`'s lanes that are covered.
    fn arrive_copies(
        &mut self,
        covered: impl Fn(&Pending, usize) -> bool,
        scratch: R,
        regs: &mut Registers<'_>,
        mask: u32,
    ) {
        let mut list = std::mem::take(&mut regs.copies.pending);
        for copy in &mut list {
            let ready = (0..32).fold(0_u32, |m, i| m | u32::from(covered(copy, i)) << i);
            let ready = ready & copy.lanes & mask;
            if ready == 0 {
                continue;
            }
            copy.lanes &= !ready;
            regs.rows.w[scratch as usize..scratch as usize + 4].copy_from_slice(&copy.words);
            let m = access(true, 4, copy.bytes / 4, StateSpace::Shared, scratch);
            self.progress.changes += 1;
            self.pc = copy.pc;
            self.sanitizer.undefined.stored = Mark { lanes: copy.undefined, origin: copy.pc };
            self.act(&Action::Memory(&m), StateSpace::Shared, &copy.to, regs, ready);
            self.sanitizer.undefined.stored = Mark::default();
            self.record_refusals(regs, copy.pc);
        }
        list.retain(|copy| copy.lanes != 0);
        regs.copies.pending = list;
    }
}
