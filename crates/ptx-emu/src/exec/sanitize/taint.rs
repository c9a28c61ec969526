//! Undefined values: registers nobody wrote and values read from bytes nobody wrote.
//!
//! Each lane of each register is defined or not. A value computed from an undefined one is
//! undefined; it is reported only where it matters: stored to global memory, used in an address or
//! to decide a branch. Stored to shared or local memory it makes the bytes uninitialised again.
//!
//! A warp is watched only from the moment an undefined value turns up in it: [`Taint::active`].

use std::collections::HashMap;

use super::super::{
    Machine,
    access::{Home, Refusal, Registers, each_lane, first},
    fault::Target,
    sync::shuffle_source,
    transfer::{Action, Places},
    warp::Warp,
};
use crate::{
    finding::{Finding, FindingKind, Other},
    lower::opcode,
    memory::{BufferId, INITIALISED, Memory, peer_shared},
    op::{D, MatrixOp, MemoryOp, Op, Reg, StateSpace, Use, WarpSyncKind, WarpSyncOp, visit},
};

/// Origin of a value from a register that was never written.
pub(in crate::exec) const NEVER_WRITTEN: u32 = u32::MAX;

/// Which lanes of a register are undefined, and the operation that brought that in.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::exec) struct Mark {
    pub lanes: u32,
    pub origin: u32,
}

/// The undefined values of a warp.
#[derive(Debug, Default)]
pub(in crate::exec) struct Taint {
    /// Whether there may be any.
    pub active: bool,
    w: Vec<Mark>,
    d: Vec<Mark>,
    p: Vec<Mark>,
}

impl Taint {
    /// Forgets everything, at the start of a block.
    pub(in crate::exec) fn clear(&mut self) {
        if self.active {
            for list in [&mut self.w, &mut self.d, &mut self.p] {
                list.fill(Mark::default());
            }
            self.active = false;
        }
    }

    fn slot(&mut self, base: [u32; 3], reg: Reg) -> &mut Mark {
        let (list, at) = match reg {
            Reg::W(r) => (&mut self.w, base[0] + r),
            Reg::D(r) => (&mut self.d, base[1] + r),
            Reg::P(r) => (&mut self.p, base[2] + r),
        };
        let at = at as usize;
        if at >= list.len() {
            list.resize(at + 1, Mark::default());
        }
        &mut list[at]
    }

    /// The mark of a register of the frame at `base`.
    pub(in crate::exec) fn of(&mut self, base: [u32; 3], reg: Reg) -> Mark {
        *self.slot(base, reg)
    }

    /// Replaces the mark's part for the lanes in `mask`.
    pub(in crate::exec) fn set(&mut self, base: [u32; 3], reg: Reg, mark: Mark, mask: u32) {
        let slot = self.slot(base, reg);
        slot.lanes = (slot.lanes & !mask) | (mark.lanes & mask);
        if mark.lanes & mask != 0 {
            slot.origin = mark.origin;
        }
    }

    /// Whether any value is undefined.
    pub(in crate::exec) fn any(&self) -> bool {
        [&self.w, &self.d, &self.p].into_iter().flatten().any(|mark| mark.lanes != 0)
    }

    /// Marks the lanes of a register as undefined from here on.
    pub(in crate::exec) fn mark(&mut self, base: [u32; 3], reg: Reg, lanes: u32, origin: u32) {
        self.active = true;
        self.set(base, reg, Mark { lanes, origin }, lanes);
    }
}

/// First reads of uninitialised bytes, by the operation that read.
pub(in crate::exec) type Origins = HashMap<u32, Finding>;

/// How an undefined value came to matter.
#[derive(Debug, Clone, Copy)]
pub(in crate::exec) enum Fate {
    Stored,
    Addresses,
    Decides,
}

impl Fate {
    fn text(self) -> &'static str {
        match self {
            Self::Stored => "is stored to global memory",
            Self::Addresses => "is used in an address",
            Self::Decides => "decides which way threads go",
        }
    }
}

/// The mark of a result made of two values.
fn join(a: Mark, b: Mark) -> Mark {
    let origin = if a.lanes != 0 { a.origin } else { b.origin };
    Mark { lanes: a.lanes | b.lanes, origin }
}

/// Lanes in which undefined operands decide the result of a function of two predicates: not those
/// of `false && undefined`.
fn undecided(f: fn(u32, u32) -> u32, [(a, of_a), (b, of_b)]: [(u32, Mark); 2]) -> u32 {
    let (flipped_a, flipped_b) = (a ^ of_a.lanes, b ^ of_b.lanes);
    let is = f(a, b);
    (is ^ f(flipped_a, b)) | (is ^ f(a, flipped_b)) | (is ^ f(flipped_a, flipped_b))
}

impl Machine<'_> {
    /// Marks the registers that `function` may read before writing them, for the lanes entering.
    pub(in crate::exec) fn enter_undefined(
        &self,
        warp: &mut Warp,
        function: u32,
        base: [u32; 3],
        lanes: u32,
    ) {
        if self.sanitizer.checks.taint {
            for reg in self.program.undefined(function) {
                warp.taint.mark(base, *reg, lanes, NEVER_WRITTEN);
            }
        }
    }

    /// Carries marks from sources to destinations, before the operation runs. Loads, stores and
    /// atomics do that themselves.
    pub(in crate::exec) fn propagate(
        &mut self,
        op: Op,
        regs: &mut Registers<'_>,
        pc: u32,
        mask: u32,
    ) {
        let base = regs.frame.base;
        let program = self.program;
        if let Op::SelectW(d, a, b, p) | Op::SelectD(d, a, b, p) = op {
            let class = |r| if matches!(op, Op::SelectW(..)) { Reg::W(r) } else { Reg::D(r) };
            let choice = regs.rows.p[p as usize];
            let mut of = |reg, lanes| {
                let mark = regs.taint.of(base, reg);
                Mark { lanes: mark.lanes & lanes, ..mark }
            };
            let chosen = join(of(class(a), choice), of(class(b), !choice));
            let mark = join(chosen, of(Reg::P(p), u32::MAX));
            regs.taint.set(base, class(d), mark, mask);
            return;
        }
        let warpgroup = self.is_warpgroup(op);
        let memory = matches!(op, Op::Memory(_) | Op::Atomic(_) | Op::Async(_)) || warpgroup;
        let shuffled = self.shuffled(op, regs);
        let sparse = self.matrix_of(op).and_then(MatrixOp::sparse);
        let mut result = Mark::default();
        let mut reported = Vec::new();
        visit(program, op, &mut |role, reg| match role {
            Use::Read if warpgroup => {}
            Use::Read => {
                let mut mark = regs.taint.of(base, reg);
                if let Some(sparse) = sparse.filter(|s| reg == Reg::W(s.metadata)) {
                    mark.lanes &= sparse.lanes();
                }
                result = join(result, mark);
            }
            Use::Address | Use::Control => {
                let mark = regs.taint.of(base, reg);
                if mark.lanes & mask != 0 {
                    let fate = if role == Use::Address { Fate::Addresses } else { Fate::Decides };
                    reported.push((reg, mark, fate));
                    // Reported once; its consequences would say the same.
                    regs.taint.set(base, reg, Mark::default(), mask);
                }
            }
            Use::Write => {}
        });
        if let Op::P2(f, _, a, b) = op {
            result.lanes = undecided(
                f,
                [a, b].map(|p| (regs.rows.p[p as usize], regs.taint.of(base, Reg::P(p)))),
            );
        }
        result.origin = self.origin_of(result, regs, pc, mask);
        let whole = matches!(op, Op::WarpSync(_)) && result.lanes & mask != 0;
        let lanes = if whole { u32::MAX } else { result.lanes };
        visit(program, op, &mut |role, reg| {
            if role == Use::Write && !memory {
                regs.taint.set(base, reg, Mark { lanes, ..result }, mask);
            }
        });
        if let Some((to, mark)) = shuffled {
            regs.taint.set(base, to, mark, mask);
        }
        for (_, mark, fate) in reported {
            self.undefined_used(mark.origin, fate, regs, pc, mark.lanes & mask);
        }
    }

    /// Whether it is a product of the warpgroup, which keeps the marks of its accumulators itself.
    fn is_warpgroup(&self, op: Op) -> bool {
        matches!(self.matrix_of(op), Some(MatrixOp::WarpgroupProduct(_)))
    }

    fn matrix_of(&self, op: Op) -> Option<&MatrixOp> {
        let Op::WarpSync(index) = op else { return None };
        let WarpSyncKind::Matrix(index) = self.program.syncs[index as usize].kind else {
            return None;
        };
        Some(&self.program.matrices[index as usize])
    }

    /// Where a value comes from, seen by its reader at `pc`: the first operation that reads a
    /// register nobody wrote is the place to name.
    fn origin_of(&mut self, mark: Mark, regs: &Registers<'_>, pc: u32, mask: u32) -> u32 {
        if mark.origin != NEVER_WRITTEN || mark.lanes & mask == 0 {
            return mark.origin;
        }
        let kind = FindingKind::UninitialisedRegister;
        self.note_origin(pc, |machine| {
            let what = "an uninitialised variable is read";
            machine.finding(kind, what, Target::default(), regs, pc, mark.lanes & mask)
        });
        pc
    }

    /// A shuffle's result and its mark: a lane has the value of its source lane, so values that
    /// nobody reads do no harm.
    fn shuffled(&self, op: Op, regs: &mut Registers<'_>) -> Option<(Reg, Mark)> {
        let Op::WarpSync(index) = op else { return None };
        let WarpSyncKind::Shuffle(mode, to, _, a, b, c) = self.program.syncs[index as usize].kind
        else {
            return None;
        };
        let base = regs.frame.base;
        let given = regs.taint.of(base, Reg::W(a));
        let (at, clamp) = (regs.rows.w[b as usize], regs.rows.w[c as usize]);
        let from = |lane: u32| {
            let source = shuffle_source(mode, lane, at[lane as usize], clamp[lane as usize]).0;
            ((given.lanes >> source) & 1) << lane
        };
        let lanes = (0..32).map(from).fold(0, |all, lane| all | lane);
        let place = join(regs.taint.of(base, Reg::W(b)), regs.taint.of(base, Reg::W(c)));
        Some((Reg::W(to), join(Mark { lanes, ..given }, place)))
    }

    /// Keeps the finding of a first read of uninitialised bytes until the value is used.
    pub(in crate::exec) fn note_origin(&mut self, pc: u32, finding: impl FnOnce(&Self) -> Finding) {
        if !self.sanitizer.undefined.origins.contains_key(&pc) {
            let finding = finding(self);
            self.sanitizer.undefined.origins.insert(pc, finding);
        }
    }

    /// Reports that the value of `lanes` that came from `origin` matters at `pc`.
    pub(in crate::exec) fn undefined_used(
        &mut self,
        origin: u32,
        fate: Fate,
        regs: &Registers<'_>,
        pc: u32,
        lanes: u32,
    ) {
        if self.used_after_all(origin) {
            return;
        }
        let known = self.sanitizer.undefined.origins.get(&origin);
        let kind = known.map_or(FindingKind::UninitialisedRegister, |f| f.kind);
        let key = match known {
            Some(_) => self.key(kind, origin, None),
            None => self.key(kind, pc, None),
        };
        let n = u64::from(lanes.count_ones());
        if self.sanitizer.findings.again(key, n, None) || self.sanitizer.findings.full() {
            return;
        }
        let finding = if let Some(read) = known {
            let (line, instruction) = self.program.place_of(pc);
            let mut finding = read.clone();
            let at = line.map(|l| format!(" at line {l}")).unwrap_or_default();
            finding.message = format!(
                "{}; the value {}{at} by {}",
                read.message,
                fate.text(),
                opcode(&instruction)
            );
            finding.other = Some(Other {
                what: format!("the value {}", fate.text()),
                line,
                instruction,
                block: Some(self.block.at),
                thread: Some(regs.tid.map(|axis| axis[first(lanes)])),
            });
            finding.n_threads = n;
            finding
        } else {
            let what = format!("an uninitialised variable {}", fate.text());
            let target = Target::default();
            self.finding(kind, &what, target, regs, pc, lanes)
        };
        self.keep(key, finding);
    }

    /// Follows undefined values through an access that was done; gives the lanes whose reads are to
    /// be reported at once.
    pub(in crate::exec) fn track(
        &mut self,
        action: &Action<'_>,
        home: Home,
        places: &Places,
        regs: &mut Registers<'_>,
        mask: u32,
        done: Result<(), u32>,
    ) -> Result<(), u32> {
        match action {
            Action::Memory(m) if m.store => {
                self.track_store(m, home, places, regs, mask);
                Ok(())
            }
            Action::Memory(m) => {
                self.track_load(m, home, places, regs, mask, done.err().unwrap_or(0));
                Ok(())
            }
            Action::Atomic(a) => {
                let base = regs.frame.base;
                for reg in a.a.iter().chain(&a.b) {
                    let mark = regs.taint.of(base, *reg);
                    if mark.lanes & mask != 0 {
                        let lanes = mark.lanes & mask;
                        self.undefined_used(mark.origin, Fate::Stored, regs, self.pc, lanes);
                    }
                }
                for reg in a.dest.iter().flatten() {
                    regs.taint.set(base, *reg, Mark::default(), mask);
                }
                done
            }
            Action::Await(_) => done,
        }
    }

    fn track_store(
        &mut self,
        m: &MemoryOp,
        home: Home,
        places: &Places,
        regs: &mut Registers<'_>,
        mask: u32,
    ) {
        let base = regs.frame.base;
        let bytes = m.bytes as usize;
        let whole = self.sanitizer.undefined.stored;
        for (element, reg) in m.regs.iter().enumerate() {
            let mut mark = whole;
            if let (Some(reg), true) = (reg, whole.lanes == 0 && regs.taint.active) {
                mark = regs.taint.of(base, *reg);
            }
            let lanes = mark.lanes & mask;
            if lanes == 0 {
                continue;
            }
            if matches!(home, Home::Buffer(_)) {
                self.undefined_used(mark.origin, Fate::Stored, regs, self.pc, lanes);
                continue;
            }
            let origin = self.origin_of(mark, regs, self.pc, mask);
            for lane in each_lane(lanes) {
                let at = places.at[lane] + (element * bytes) as u64;
                self.origins_at(home, regs).insert(at, origin);
            }
            if let Some(flags) = self.flags(home, regs) {
                for lane in each_lane(lanes) {
                    let at = places.at[lane] as usize + element * bytes;
                    flags[at..at + bytes].iter_mut().for_each(|f| *f &= !INITIALISED);
                }
            }
        }
    }

    /// `dirty` are the lanes some of whose bytes are uninitialised.
    fn track_load(
        &mut self,
        m: &MemoryOp,
        home: Home,
        places: &Places,
        regs: &mut Registers<'_>,
        mask: u32,
        dirty: u32,
    ) {
        let base = regs.frame.base;
        let bytes = m.bytes as usize;
        self.sanitizer.undefined.loaded |= dirty;
        for (element, reg) in m.regs.iter().enumerate() {
            let Some(reg) = reg else { continue };
            let mut lanes = 0;
            if let (true, Some(flags)) = (dirty != 0, self.flags(home, regs)) {
                for lane in each_lane(dirty) {
                    let at = places.at[lane] as usize + element * bytes;
                    let defined = flags[at..at + bytes].iter().all(|f| f & INITIALISED != 0);
                    lanes |= u32::from(!defined) << lane;
                }
            }
            let mut origin = self.pc;
            if lanes != 0 {
                regs.taint.active = true;
                let at = places.at[first(lanes)] + (element * bytes) as u64;
                let stored = self.origins_at(home, regs).get(&at).copied();
                origin = stored.unwrap_or(origin);
                if stored.is_none() {
                    self.note_read(home, places, m.bytes * m.regs.len() as u32, regs, dirty);
                }
            }
            regs.taint.set(base, *reg, Mark { lanes, origin }, mask);
        }
    }

    /// Where the undefined values stored at the offsets of a home come from.
    fn origins_at<'o>(
        &'o mut self,
        home: Home,
        regs: &'o mut Registers<'_>,
    ) -> &'o mut HashMap<u64, u32> {
        if home == Home::Local { &mut regs.local.origins } else { &mut self.block.shared.origins }
    }

    /// Remembers the first read of uninitialised bytes by the operation under way.
    fn note_read(
        &mut self,
        home: Home,
        places: &Places,
        bytes: u32,
        regs: &Registers<'_>,
        dirty: u32,
    ) {
        let (place, at) = self.addresses_of(home, places, regs);
        let refusal =
            Refusal { kind: FindingKind::UninitialisedRead, lanes: dirty, at, place, bytes };
        let pc = self.pc;
        self.note_origin(pc, |machine| machine.refused(&refusal, regs, pc));
    }

    /// The addresses behind places, as a report names them.
    pub(in crate::exec) fn addresses_of(
        &self,
        home: Home,
        places: &Places,
        regs: &Registers<'_>,
    ) -> (StateSpace, D) {
        match home {
            Home::Buffer(index) => {
                let base = Memory::address(BufferId(index as u32));
                (StateSpace::Global, places.at.map(|at| base.wrapping_add(at)))
            }
            Home::Shared => (StateSpace::Shared, places.at.map(|at| self.shared_address_of(at))),
            Home::Peer(rank) => {
                let address = |at| peer_shared(self.shared_address_of(at), rank as u32);
                (StateSpace::Shared, places.at.map(address))
            }
            Home::Local => {
                let stride = regs.local.stride as u64;
                (
                    StateSpace::Local,
                    std::array::from_fn(|i| places.at[i].wrapping_sub(i as u64 * stride)),
                )
            }
            Home::Param => (StateSpace::Param, places.at),
        }
    }

    /// A shuffle gives the lanes that read one that does not take part an undefined value.
    pub(in crate::exec) fn mark_absent(
        &mut self,
        sync: &WarpSyncOp,
        regs: &mut Registers<'_>,
        pc: u32,
        absent: u32,
    ) {
        let WarpSyncKind::Shuffle(_, to, ..) = sync.kind else { return };
        if absent == 0 || !self.sanitizer.checks.taint {
            return;
        }
        regs.taint.mark(regs.frame.base, Reg::W(to), absent, pc);
        let kind = FindingKind::UninitialisedRegister;
        let what = "a shuffle reads a lane that does not take part";
        self.note_origin(pc, |machine| {
            machine.finding(kind, what, Target::default(), regs, pc, absent)
        });
    }

    /// A matrix operation, with the marks of its results: one undefined element makes all
    /// results undefined.
    pub(in crate::exec) fn matrix_tracked(
        &mut self,
        index: u32,
        regs: &mut Registers<'_>,
        pc: u32,
    ) {
        let matrix = &self.program.matrices[index as usize];
        let base = regs.frame.base;
        if regs.taint.active {
            let mut mark = Mark::default();
            matrix.visit(&mut |role, r| {
                if role == Use::Read {
                    mark = join(mark, regs.taint.of(base, r));
                }
            });
            self.sanitizer.undefined.stored = mark;
        }
        self.sanitizer.undefined.loaded = 0;
        self.sanitizer.undefined.ahead = None;
        self.matrix(index, regs, pc);
        self.sanitizer.undefined.stored = Mark::default();
        if self.sanitizer.undefined.loaded != 0 {
            let origin = self.sanitizer.undefined.ahead.unwrap_or(pc);
            matrix.visit(&mut |role, r| {
                if role == Use::Write {
                    regs.taint.mark(base, r, u32::MAX, origin);
                }
            });
        }
    }
}
