//! mbarriers: eight bytes of shared memory on which threads and asynchronous copies arrive and
//! threads wait.
//!
//! Beside the bytes each block keeps a list of its live mbarriers and the bytes they must have, so
//! that one that was never initialised, or was overwritten, is noticed at its next use.

mod known;
mod state;
mod tx;

use std::collections::BTreeMap;

use self::state::Mbarrier;
use super::{
    Machine, Shared,
    access::{Registers, addresses, each_lane},
    cluster::{Holder, Step},
    simple::put_p,
    warp::{Group, Wait, Warp, put_d},
};
use crate::{
    finding::FindingKind,
    memory::{INITIALISED, WRITTEN, shared_parts, window_base, window_of},
    op::{Address, ArriveOp, Awaited, ClusterOp, D, MbarrierKind, Op, Reg, StateSpace, Window},
    report::LaunchError,
};

/// The live mbarriers of a block.
#[derive(Debug, Default)]
pub(super) struct Mbarriers {
    /// Their bytes by offset in its shared memory.
    live: BTreeMap<usize, u64>,
    landings: Vec<tx::Landing>,
    /// Those that no release has made known to other blocks.
    unknown: Vec<usize>,
}

impl Mbarriers {
    /// Forgets everything, at the start of a block.
    pub(super) fn clear(&mut self) {
        self.live.clear();
        self.landings.clear();
        self.unknown.clear();
    }
}

/// Where an mbarrier is: the block that has it, if not the running one, and the offset in its
/// shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spot {
    peer: Option<usize>,
    at: usize,
}

/// An mbarrier and the parity of one of its phases.
type Phase = (Spot, bool);

/// A phase as barriers are numbered: phases of one mbarrier differ by their parity, mbarriers from
/// barriers by the highest bit.
fn phase_key(parity: bool, at: usize) -> u32 {
    1 << 31 | u32::from(parity) << 23 | at as u32
}

/// The end of a lane's operation.
#[derive(Debug, Clone, Copy, Default)]
struct OperationResult {
    /// The phase waited for is complete.
    over: bool,
    /// The state before.
    state: u64,
    /// The phase arrived at or waited for.
    phase: Option<Phase>,
}

/// Why the bytes at a place are no mbarrier.
#[derive(Debug, Clone, Copy)]
enum Broken {
    Never,
    Overwritten,
}

/// `mbarrier.pending_count`: the arrivals that were pending before the one that returned `state`.
pub(super) fn pending_count(state: u64) -> u32 {
    Mbarrier::decode(state).map_or(0, |bar| bar.pending)
}

impl Shared {
    fn mbarrier(&self, at: usize) -> Result<Mbarrier, Broken> {
        let bits = *self.mbarriers.live.get(&at).ok_or(Broken::Never)?;
        let bytes = self.data.get(at..at + 8).ok_or(Broken::Never)?;
        if bytes != bits.to_le_bytes() {
            return Err(Broken::Overwritten);
        }
        Mbarrier::decode(bits).ok_or(Broken::Overwritten)
    }

    fn set_mbarrier(&mut self, at: usize, bar: Mbarrier) {
        let bits = bar.encode();
        self.mbarriers.live.insert(at, bits);
        self.data[at..at + 8].copy_from_slice(&bits.to_le_bytes());
        self.flags[at..at + 8].fill(INITIALISED | WRITTEN);
    }
}

impl Machine<'_> {
    pub(super) fn mbarrier(
        &mut self,
        kind: MbarrierKind,
        address: &Address,
        regs: &mut Registers<'_>,
        pc: u32,
        mask: u32,
    ) -> Result<Step, LaunchError> {
        let at = addresses(address, regs);
        self.progress.touched = true;
        self.pc = pc;
        let waits = matches!(kind, MbarrierKind::Wait(..));
        // A relaxed operation orders nothing, but behind a fence it does; none is let off here.
        let orders = matches!(
            kind,
            MbarrierKind::Wait(..) | MbarrierKind::Arrive(_) | MbarrierKind::Complete(_)
        );
        let (mut done, mut states, mut phases) = (0, [0; 32], [None; 32]);
        for lane in each_lane(mask) {
            match self.on_mbarrier(kind, address.place, at[lane], regs, lane) {
                Ok(outcome) => {
                    done |= u32::from(outcome.over) << lane;
                    states[lane] = outcome.state;
                    phases[lane] = outcome.phase.filter(|_| orders && (!waits || outcome.over));
                }
                Err(why) => {
                    let (place, lanes) = (address.place, 1 << lane);
                    return Err(self.mbarrier_fault(&why, place, at[lane], regs, pc, lanes));
                }
            }
        }
        self.order_phases(&phases, regs.warp, waits);
        match kind {
            // Suspended until memory changes, or nothing else can run; see `time_out`.
            MbarrierKind::Wait(..) if done == 0 => {
                return Ok(Step::Wait(Wait::Mbarrier(self.progress.changes)));
            }
            MbarrierKind::Wait(to, _) => put_p(&mut regs.rows.p[to as usize], done, mask),
            MbarrierKind::Arrive(ArriveOp { state: Some(to), .. }) => {
                put_d(&mut regs.rows.d[to as usize], &states, mask);
            }
            MbarrierKind::CopyArrive(_) => regs.copies.track(mask, at, address.place, pc),
            _ => {}
        }
        self.progress.changes += u64::from(!waits);
        Ok(Step::Next)
    }

    /// Informs the race detector of the order that arriving at phases, or passing them, gave.
    fn order_phases(&mut self, phases: &[Option<Phase>; 32], warp: u32, passed: bool) {
        if self.sanitizer.races.is_none() {
            return;
        }
        for lane in 0..32 {
            let Some((spot, parity)) = phases[lane] else { continue };
            if phases[..lane].contains(&phases[lane]) {
                continue;
            }
            let key = phase_key(parity, spot.at);
            if passed {
                self.mbarrier_passed(key, warp);
            } else {
                self.mbarrier_arrived(key, spot.peer, warp);
            }
        }
    }

    /// Makes each lane arrive once on its mbarrier.
    pub(super) fn arrive_on_mbarriers(
        &mut self,
        lanes: u32,
        at: &D,
        place: StateSpace,
        regs: &mut Registers<'_>,
        pc: u32,
    ) -> Result<(), LaunchError> {
        self.progress.changes += 1;
        self.pc = pc;
        let arrive =
            ArriveOp { state: None, count: None, expect: None, drop: false, incomplete: false };
        let kind = MbarrierKind::Arrive(arrive);
        let mut phases = [None; 32];
        for lane in each_lane(lanes) {
            match self.on_mbarrier(kind, place, at[lane], regs, lane) {
                Ok(outcome) => phases[lane] = outcome.phase,
                Err(why) => {
                    return Err(self.mbarrier_fault(&why, place, at[lane], regs, pc, 1 << lane));
                }
            }
        }
        self.order_phases(&phases, regs.warp, false);
        Ok(())
    }

    fn mbarrier_fault(
        &self,
        why: &str,
        place: StateSpace,
        address: u64,
        regs: &Registers<'_>,
        pc: u32,
        lanes: u32,
    ) -> LaunchError {
        let what = format!("{why}: {}", self.mbarrier_name(place, address));
        self.fault_here(FindingKind::Mbarrier, &what, regs, pc, lanes)
    }

    /// One lane's operation.
    fn on_mbarrier(
        &mut self,
        kind: MbarrierKind,
        place: StateSpace,
        address: u64,
        regs: &Registers<'_>,
        lane: usize,
    ) -> Result<OperationResult, String> {
        let spot = self.spot(place, address)?;
        if matches!(kind, MbarrierKind::Wait(..)) && spot.peer.is_some() {
            return Err("a wait for an mbarrier of another block".to_owned());
        }
        let w = |r: u32| regs.rows.w[r as usize][lane];
        let found = self.shared_of(spot.peer).mbarrier(spot.at);
        let initialises = matches!(kind, MbarrierKind::Init(_));
        if found.is_ok() != initialises && !matches!(kind, MbarrierKind::Invalidate) {
            self.watch_mbarrier(spot.peer, spot.at, regs, lane, initialises);
        }
        let shared = self.shared_of(spot.peer);
        if let MbarrierKind::Init(count) = kind {
            if found.is_ok() {
                return Err("a second `mbarrier.init` without `mbarrier.inval`".to_owned());
            }
            let bar = Mbarrier::new(w(count)).map_err(|misuse| misuse.to_string())?;
            shared.set_mbarrier(spot.at, bar);
            shared.mbarriers.unknown.push(spot.at);
            return Ok(OperationResult::default());
        }
        self.check_known(spot, (place, address), regs, lane);
        let shared = self.shared_of(spot.peer);
        let mut bar = found.map_err(|broken| match broken {
            Broken::Never => "not an initialised mbarrier".to_owned(),
            Broken::Overwritten => "an mbarrier whose bytes were overwritten".to_owned(),
        })?;
        let (state, phase) = (bar.encode(), Some((spot, bar.parity)));
        let done = match kind {
            MbarrierKind::Init(_) | MbarrierKind::CopyArrive(true) => Ok(()),
            MbarrierKind::Invalidate => {
                shared.mbarriers.live.remove(&spot.at);
                shared.flags[spot.at..spot.at + 8].fill(0);
                return Ok(OperationResult::default());
            }
            MbarrierKind::Expect(bytes) => bar.expect(w(bytes)),
            MbarrierKind::Complete(bytes) => bar.complete(w(bytes)),
            MbarrierKind::CopyArrive(false) => bar.add_pending(),
            MbarrierKind::Arrive(arrive) => {
                let expected = arrive.expect.map_or(Ok(()), |bytes| bar.expect(w(bytes)));
                let parity = bar.parity;
                let arrived =
                    expected.and_then(|()| bar.arrive(arrive.count.map_or(1, w), arrive.drop));
                match arrived {
                    Ok(()) if arrive.incomplete && bar.parity != parity => {
                        Err(state::MbarrierError::Completes)
                    }
                    other => other,
                }
            }
            MbarrierKind::Wait(_, awaited) => {
                let parity = match awaited {
                    Awaited::Parity(r) => w(r) & 1 == 1,
                    Awaited::State(r) => {
                        let state = Mbarrier::decode(regs.rows.d[r as usize][lane]);
                        state.ok_or("a state that no arrival returned")?.parity
                    }
                };
                let over = bar.is_over(parity);
                if over && !shared.mbarriers.landings.is_empty() {
                    shared.land(spot.at, parity);
                }
                return Ok(OperationResult { over, state, phase: Some((spot, parity)) });
            }
        };
        done.and_then(|()| bar.settled()).map_err(|misuse| misuse.to_string())?;
        shared.set_mbarrier(spot.at, bar);
        Ok(OperationResult { over: false, state, phase })
    }

    /// Lets the threads that wait for mbarriers go on as if the time that hardware suspends them
    /// were over.
    pub(super) fn time_out(&self, warps: &mut [Warp]) {
        for warp in warps {
            for at in 0..warp.groups.len() {
                let group = &mut warp.groups[at];
                if !matches!(group.wait, Wait::Mbarrier(_)) {
                    continue;
                }
                group.wait = Wait::None;
                let (frame, mask, pc) = (group.frame, group.mask, group.pc);
                group.pc += 1;
                let Op::Cluster(index) = self.program.ops[pc as usize] else { continue };
                if let ClusterOp::Mbarrier(MbarrierKind::Wait(done, _), _) =
                    self.program.cluster_ops[index as usize]
                {
                    put_p(&mut Registers::new(warp, frame).rows.p[done as usize], 0, mask);
                }
            }
        }
    }

    /// The wait of the first lane of a group.
    pub(super) fn awaited_mbarrier(&self, warp: &Warp, group: &Group) -> Option<String> {
        let Op::Cluster(index) = self.program.ops[group.pc as usize] else { return None };
        let ClusterOp::Mbarrier(_, address) = &self.program.cluster_ops[index as usize] else {
            return None;
        };
        let lane = group.mask.trailing_zeros() as usize & 31;
        let [w, d, _] = group.frame.base;
        let base = match address.base {
            Some(Reg::W(r)) => u64::from(warp.r32[(w + r) as usize][lane]),
            Some(Reg::D(r)) => warp.r64[(d + r) as usize][lane],
            _ => 0,
        };
        Some(self.mbarrier_name(address.place, base.wrapping_add(address.offset)))
    }

    /// The offset in the window of shared memory.
    fn window_offset(place: StateSpace, address: u64) -> Option<u64> {
        match place {
            StateSpace::Generic if window_of(address) != Window::Shared => None,
            StateSpace::Generic => Some(address.wrapping_sub(window_base(Window::Shared))),
            _ => Some(address),
        }
    }

    fn spot(&self, place: StateSpace, address: u64) -> Result<Spot, String> {
        let at = Self::window_offset(place, address);
        let at = at.ok_or("an mbarrier outside shared memory")?;
        let peer = match self.holder(at) {
            Holder::Own => None,
            Holder::Peer(rank) => Some(rank),
            Holder::Exited(rank) => return Err(format!("block {rank} of the cluster has exited")),
            Holder::None => return Err("no block of the cluster has this address".to_owned()),
        };
        let (slot, offset) = shared_parts(at);
        let (start, size) = self.layout.slots.get(slot).copied().flatten().unwrap_or((0, 0));
        match usize::try_from(offset) {
            Ok(at) if at % 8 != 0 => Err("an mbarrier at no multiple of 8 bytes".to_owned()),
            Ok(at) if at >= start && at + 8 <= start + size => Ok(Spot { peer, at }),
            _ => Err("an mbarrier outside its array".to_owned()),
        }
    }

    /// Array and index of the mbarrier at an address, and its open waits.
    pub(super) fn mbarrier_name(&self, place: StateSpace, address: u64) -> String {
        let Some(at) = Self::window_offset(place, address) else {
            return format!("address 0x{address:x}");
        };
        let (slot, offset) = shared_parts(at);
        let (start, _) = self.layout.slots.get(slot).copied().flatten().unwrap_or((0, 0));
        let mut text = match self.shared_label(slot) {
            Some((label, element)) => {
                let from = offset - start as i64;
                // An array of bytes, or of pairs of words, holds an mbarrier in every eight.
                let element = element.max(8) as i64;
                format!("`{label}`[{}]", from.div_euclid(element))
            }
            None => format!("address 0x{at:x}"),
        };
        let bar = match self.holder(at) {
            Holder::Own => usize::try_from(offset).ok().map(|at| self.block.shared.mbarrier(at)),
            Holder::Peer(rank) | Holder::Exited(rank) => {
                text = format!("{text} of block {rank} of the cluster");
                let peer = &self.cluster.peers[rank].shared;
                usize::try_from(offset).ok().map(|at| peer.mbarrier(at))
            }
            Holder::None => None,
        };
        if let Some(Ok(bar)) = bar {
            let Mbarrier { pending, expected, tx, parity } = bar;
            let phase = u32::from(parity);
            text = format!(
                "{text} (phase parity {phase}, {pending} of {expected} arrivals and {tx} bytes \
                 pending)"
            );
        }
        text
    }
}
