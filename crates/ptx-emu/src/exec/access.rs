//! Loads, stores and atomics of a warp.

use super::{
    Machine,
    bulk::Engine,
    cluster::{ClusterLanes, Holder},
    copy::Copies,
    sanitize::{
        taint::{Fate, Mark, Taint},
        unused::ReadAhead,
    },
    transfer::{Action, Pattern, Places, Region, places, transfer},
    warp::{Frame, Local, Warp},
};
use crate::{
    finding::{Finding, FindingKind},
    memory::{
        Memory, PENDING, own_shared, shared_address, shared_parts, shared_variable, window_base,
        window_of,
    },
    op::{Address, AtomicOp, D, MemoryOp, R, Reg, Rows, StateSpace, W, Window},
};

/// The part of a warp that an operation sees.
pub(super) struct Registers<'w> {
    pub rows: Rows<'w>,
    pub carry: &'w mut u32,
    pub local: &'w mut Local,
    pub copies: &'w mut Copies,
    pub engine: &'w mut Engine,
    pub taint: &'w mut Taint,
    pub cluster: &'w mut ClusterLanes,
    pub tid: &'w [W; 3],
    pub warp: u32,
    pub frame: Frame,
}

impl<'w> Registers<'w> {
    pub(super) fn new(warp: &'w mut Warp, frame: Frame) -> Self {
        let [w, d, p] = frame.base;
        Self {
            rows: Rows {
                w: &mut warp.r32[w as usize..],
                d: &mut warp.r64[d as usize..],
                p: &mut warp.pred[p as usize..],
            },
            carry: &mut warp.carry,
            local: &mut warp.local,
            copies: &mut warp.copies,
            engine: &mut warp.engine,
            taint: &mut warp.taint,
            cluster: &mut warp.cluster,
            tid: &warp.tid,
            warp: warp.index,
            frame,
        }
    }
}

impl Registers<'_> {
    /// The lanes in which a predicate holds, or does not if it is negated.
    #[inline(always)]
    pub(super) fn lanes_with(&self, predicate: R, negated: bool) -> u32 {
        let p = self.rows.p[predicate as usize];
        if negated { !p } else { p }
    }

    /// The values of a register; zeros for a predicate.
    #[inline]
    pub(super) fn row(&self, reg: Reg) -> D {
        match reg {
            Reg::W(r) => self.rows.w[r as usize].map(u64::from),
            Reg::D(r) => self.rows.d[r as usize],
            Reg::P(_) => [0; 32],
        }
    }
}

#[derive(Debug)]
pub(super) struct Refusal {
    pub kind: FindingKind,
    pub lanes: u32,
    /// Address of each lane, and the state space they belong to.
    pub at: D,
    pub place: StateSpace,
    pub bytes: u32,
}

impl Refusal {
    /// Address of the first lane refused.
    pub(super) fn address(&self) -> u64 {
        self.at[first(self.lanes)]
    }
}

pub(super) fn addresses(address: &Address, regs: &Registers<'_>) -> D {
    let mut out = address.base.map_or([0; 32], |base| regs.row(base));
    if address.offset != 0 {
        for a in &mut out {
            *a = a.wrapping_add(address.offset);
        }
    }
    out
}

pub(super) fn first(mask: u32) -> usize {
    mask.trailing_zeros() as usize & 31
}

/// The lanes of `mask`, lowest first.
pub(super) fn each_lane(mask: u32) -> impl Iterator<Item = usize> + Clone {
    (0..32).filter(move |i| (mask >> i) & 1 == 1)
}

/// The lanes of `mask` for which `test` holds.
pub(super) fn lanes(mask: u32, test: impl Fn(usize) -> bool) -> u32 {
    each_lane(mask).filter(|&i| test(i)).fold(0, |m, i| m | 1 << i)
}

/// Calls `f` with the lanes of `mask` split by `key`, lowest lane first.
fn split(mask: u32, key: impl Fn(usize) -> u64, mut f: impl FnMut(u32)) {
    let mut rest = mask;
    while rest != 0 {
        let wanted = key(first(rest));
        let part = lanes(rest, |i| key(i) == wanted);
        f(part);
        rest &= !part;
    }
}

/// Where the bytes of an access live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    /// The buffer with this index.
    Buffer(usize),
    Shared,
    /// Shared memory of the block of the cluster with this rank.
    Peer(usize),
    Local,
    Param,
}

impl Machine<'_> {
    pub(super) fn memory_op(&mut self, m: &MemoryOp, regs: &mut Registers<'_>, pc: u32, mask: u32) {
        self.progress.waited |= m.volatile;
        self.progress.touched |= m.address.place != StateSpace::Param;
        self.progress.changes += u64::from(m.store);
        if m.volatile && self.program.fences && self.sanitizer.races.is_some() {
            let at = addresses(&m.address, regs);
            self.pc = pc;
            self.synchronise(&at, regs.warp, mask, (!m.store, m.store), m.release);
        }
        if !self.fast(m, regs, pc, mask) {
            self.reach(&Action::Memory(m), &m.address, regs, pc, mask);
        }
    }

    pub(super) fn atomic_op(&mut self, a: &AtomicOp, regs: &mut Registers<'_>, pc: u32, mask: u32) {
        self.progress.waited = true;
        self.progress.touched = true;
        if self.program.fences && self.sanitizer.races.is_some() {
            let at = addresses(&a.address, regs);
            self.pc = pc;
            self.synchronise(&at, regs.warp, mask, (true, true), a.release);
        }
        self.reach(&Action::Atomic(a), &a.address, regs, pc, mask);
    }

    /// Does the lawful part of an access and records the rest.
    fn reach(
        &mut self,
        action: &Action<'_>,
        address: &Address,
        regs: &mut Registers<'_>,
        pc: u32,
        mask: u32,
    ) {
        self.pc = pc;
        if regs.taint.active {
            self.check_address(address, regs, pc, mask);
        }
        if !self.quick(action, address, regs, mask) {
            let at = addresses(address, regs);
            self.act(action, address.place, &at, regs, mask);
        }
        if !self.sanitizer.refusals.is_empty() {
            self.record_refusals(regs, pc);
        }
    }

    /// The common case: all lanes in bounds and aligned in one variable. False if anything is
    /// unusual; then nothing was done.
    fn quick(
        &mut self,
        action: &Action<'_>,
        address: &Address,
        regs: &mut Registers<'_>,
        mask: u32,
    ) -> bool {
        let bytes = action.bytes();
        let lane = first(mask);
        let base = match address.base {
            Some(Reg::D(r)) => regs.rows.d[r as usize][lane],
            Some(Reg::W(r)) => u64::from(regs.rows.w[r as usize][lane]),
            _ => 0,
        };
        let head = base.wrapping_add(address.offset);
        let (place, window) = match address.place {
            StateSpace::Generic => match window_of(head) {
                Window::Global | Window::Const => (StateSpace::Global, 0),
                Window::Shared => (StateSpace::Shared, window_base(Window::Shared)),
                Window::Local => (StateSpace::Local, window_base(Window::Local)),
                Window::Param => (StateSpace::Param, window_base(Window::Param)),
            },
            place => (place, 0),
        };
        let (home, places) = match place {
            StateSpace::Global => {
                let Some((index, offset)) = self.memory.decode(head) else { return false };
                let buffer = &self.memory.buffers[index];
                if buffer.read_only && action.writes() {
                    return false;
                }
                let delta = (offset as u64).wrapping_sub(base);
                let size = buffer.data.len();
                (Home::Buffer(index), places(address, regs, mask, delta, size, bytes))
            }
            StateSpace::Shared => {
                let (slot, _) = shared_parts(head.wrapping_sub(window));
                let variable = self.layout.slots.get(slot).copied().flatten();
                let Some((start, size)) = variable else { return false };
                let origin = shared_address(slot, start).wrapping_add(window);
                let delta = address.offset.wrapping_sub(origin);
                let mut places = places(address, regs, mask, delta, size, bytes);
                if let Some(places) = &mut places {
                    for at in &mut places.at {
                        *at = at.wrapping_add(start as u64);
                    }
                }
                (Home::Shared, places)
            }
            StateSpace::Param if !action.writes() => {
                let delta = address.offset.wrapping_sub(window);
                (Home::Param, places(address, regs, mask, delta, self.context.params.len(), bytes))
            }
            StateSpace::Local | StateSpace::Frame => {
                let frame =
                    if place == StateSpace::Frame { u64::from(regs.frame.local) } else { 0 };
                let delta = address.offset.wrapping_sub(window).wrapping_add(frame);
                let code = &self.program.code[regs.frame.function as usize];
                let size = (regs.frame.local + code.frame_bytes) as usize;
                let mut places = places(address, regs, mask, delta, size, bytes);
                if let Some(places) = &mut places {
                    let stride = regs.local.stride as u64;
                    for (i, at) in places.at.iter_mut().enumerate() {
                        *at = at.wrapping_add(i as u64 * stride);
                    }
                    // An inactive lane stands at the first active one's place.
                    places.pattern = Pattern::Scattered;
                }
                (Home::Local, places)
            }
            StateSpace::Param | StateSpace::Generic => return false,
        };
        let Some(places) = places else { return false };
        if let Err(lanes) = self.perform(action, home, &places, regs, mask) {
            let at = addresses(address, regs);
            self.refuse(action, FindingKind::UninitialisedRead, place, &at, lanes);
        }
        true
    }

    fn refuse(
        &mut self,
        action: &Action<'_>,
        kind: FindingKind,
        place: StateSpace,
        at: &D,
        lanes: u32,
    ) {
        self.sanitizer.refusals.push(Refusal {
            kind,
            lanes,
            at: *at,
            place,
            bytes: action.bytes(),
        });
    }

    /// Resolves the addresses to bytes and acts on them; lanes that cannot be served are noted in
    /// `refusals` and read zeros.
    pub(super) fn act(
        &mut self,
        action: &Action<'_>,
        place: StateSpace,
        at: &D,
        regs: &mut Registers<'_>,
        mut mask: u32,
    ) {
        let bytes = action.bytes();
        // A window's base is a multiple of every access size, so alignment can be checked first.
        if bytes.is_power_of_two() {
            let odd = lanes(mask, |i| at[i] & u64::from(bytes - 1) != 0);
            if odd != 0 {
                self.refuse(action, FindingKind::Misaligned, place, at, odd);
                action.blank(regs, odd);
                mask &= !odd;
            }
        }
        if mask == 0 {
            return;
        }
        match place {
            StateSpace::Global => self.act_global(action, at, regs, mask),
            StateSpace::Shared => self.act_shared(action, at, regs, mask),
            StateSpace::Local | StateSpace::Frame | StateSpace::Param => {
                self.act_thread(action, place, at, regs, mask);
            }
            StateSpace::Generic => {
                let key = |i: usize| window_of(at[i]) as u64;
                split(mask, key, |part| {
                    let window = window_of(at[first(part)]);
                    let base = window_base(window);
                    let relative = at.map(|a| a.wrapping_sub(base));
                    match window {
                        Window::Global | Window::Const => self.act_global(action, at, regs, part),
                        Window::Shared => self.act_shared(action, &relative, regs, part),
                        Window::Local => {
                            self.act_thread(action, StateSpace::Local, &relative, regs, part);
                        }
                        Window::Param => {
                            self.act_thread(action, StateSpace::Param, &relative, regs, part);
                        }
                    }
                });
            }
        }
    }

    /// Acts at `offset(lane)` for the lanes where it lies within `[0, size)`; refuses the others.
    fn act_within(
        &mut self,
        action: &Action<'_>,
        (home, place, start, size): (Home, StateSpace, u64, usize),
        at: &D,
        offset: impl Fn(usize) -> u64,
        regs: &mut Registers<'_>,
        mut mask: u32,
    ) {
        let limit = size as i64 - i64::from(action.bytes());
        let out = lanes(mask, |i| !(0..=limit).contains(&(offset(i) as i64)));
        if out != 0 {
            self.refuse(action, action.bounds(), place, at, out);
            action.blank(regs, out);
            mask &= !out;
        }
        if mask == 0 {
            return;
        }
        let stride = if home == Home::Local { regs.local.stride as u64 } else { 0 };
        let places =
            std::array::from_fn(|i| start.wrapping_add(offset(i)).wrapping_add(i as u64 * stride));
        let places = Places::scattered(places, mask);
        if let Err(lanes) = self.perform(action, home, &places, regs, mask) {
            self.refuse(action, FindingKind::UninitialisedRead, place, at, lanes);
        }
    }

    fn act_global(&mut self, action: &Action<'_>, at: &D, regs: &mut Registers<'_>, mask: u32) {
        let slot = at[first(mask)] >> 40;
        if lanes(mask, |i| at[i] >> 40 != slot) != 0 {
            split(mask, |i| at[i] >> 40, |part| self.act_global(action, at, regs, part));
            return;
        }
        let Some((index, _)) = self.memory.decode(at[first(mask)]) else {
            let null = Memory::is_null(at[first(mask)]);
            let kind = if null { FindingKind::NullPointer } else { action.bounds() };
            self.refuse(action, kind, StateSpace::Global, at, mask);
            action.blank(regs, mask);
            return;
        };
        let buffer = &self.memory.buffers[index];
        let usable = buffer.live && !(buffer.read_only && action.writes());
        let size = if usable { buffer.data.len() } else { 0 };
        let base = Memory::address(crate::memory::BufferId(index as u32));
        let offset = |i: usize| at[i].wrapping_sub(base);
        let home = (Home::Buffer(index), StateSpace::Global, 0, size);
        self.act_within(action, home, at, offset, regs, mask);
    }

    fn act_shared(&mut self, action: &Action<'_>, at: &D, regs: &mut Registers<'_>, mask: u32) {
        let key = |i: usize| shared_variable(at[i]);
        if lanes(mask, |i| key(i) != key(first(mask))) != 0 {
            split(mask, key, |part| self.act_shared(action, at, regs, part));
            return;
        }
        let (slot, _) = shared_parts(at[first(mask)]);
        let (start, size) = self.layout.slots.get(slot).copied().flatten().unwrap_or((0, 0));
        let base = shared_address(slot, start);
        let offset = |i: usize| own_shared(at[i]).wrapping_sub(base);
        let home = match self.holder(at[first(mask)]) {
            Holder::Own => Home::Shared,
            Holder::Peer(rank) => {
                self.check_started(rank, regs, mask);
                Home::Peer(rank)
            }
            Holder::Exited(_) | Holder::None => {
                self.refuse(action, FindingKind::Cluster, StateSpace::Shared, at, mask);
                action.blank(regs, mask);
                return;
            }
        };
        let home = (home, StateSpace::Shared, start as u64, size);
        self.act_within(action, home, at, offset, regs, mask);
    }

    /// Local memory and parameters.
    fn act_thread(
        &mut self,
        action: &Action<'_>,
        place: StateSpace,
        at: &D,
        regs: &mut Registers<'_>,
        mask: u32,
    ) {
        let frame = if place == StateSpace::Frame { u64::from(regs.frame.local) } else { 0 };
        let code = &self.program.code[regs.frame.function as usize];
        let (home, size) = match place {
            StateSpace::Param if action.writes() => (Home::Param, 0),
            StateSpace::Param => (Home::Param, self.context.params.len()),
            _ => (Home::Local, (regs.frame.local + code.frame_bytes) as usize),
        };
        let offset = |i: usize| at[i].wrapping_add(frame);
        self.act_within(action, (home, place, 0, size), at, offset, regs, mask);
    }

    /// Reports an address made of an undefined value.
    fn check_address(&mut self, address: &Address, regs: &mut Registers<'_>, pc: u32, mask: u32) {
        let Some(base) = address.base else { return };
        let mark = regs.taint.of(regs.frame.base, base);
        if mark.lanes & mask != 0 {
            regs.taint.set(regs.frame.base, base, Mark::default(), mask);
            self.undefined_used(mark.origin, Fate::Addresses, regs, pc, mark.lanes & mask);
        }
    }

    /// Moves the bytes; the lanes whose reads of uninitialised ones are to be reported are the
    /// error.
    fn perform(
        &mut self,
        action: &Action<'_>,
        home: Home,
        places: &Places,
        regs: &mut Registers<'_>,
        mask: u32,
    ) -> Result<(), u32> {
        if self.observers.count.is_some() {
            self.count_access(action, home, places, mask);
        }
        let mut ahead = ReadAhead::default();
        if self.sanitizer.races.is_some() {
            ahead = self.watch(action, home, places, regs, mask);
        }
        let mut done = self.transfer(action, home, places, regs, mask);
        if let (Err(lanes), Home::Shared) = (done, home) {
            let (rest, pending) = self.check_pending(action, places, regs, lanes);
            (done, ahead) = (rest, ahead.and(pending));
        }
        if let (Err(lanes), Home::Buffer(index)) = (done, home)
            && self.memory.buffers[index].read_only
        {
            self.unset_constant(index, lanes, regs);
            done = Ok(());
        }
        if self.sanitizer.checks.taint {
            if done.is_err() || regs.taint.active || self.sanitizer.undefined.stored.lanes != 0 {
                done = self.track(action, home, places, regs, mask, done);
            }
            self.mark_read_ahead(action, regs, ahead);
            done
        } else if self.sanitizer.checks.initialisation && home != Home::Local {
            done
        } else {
            Ok(())
        }
    }

    /// Refuses the lanes that read bytes of an unfinished asynchronous copy, or has them followed;
    /// gives the others.
    fn check_pending(
        &mut self,
        action: &Action<'_>,
        places: &Places,
        regs: &Registers<'_>,
        dirty: u32,
    ) -> (Result<(), u32>, ReadAhead) {
        let mut ahead = ReadAhead::default();
        let bytes = action.bytes() as usize;
        let pending = lanes(dirty, |i| {
            let at = places.at[i] as usize;
            self.block.shared.flags[at..at + bytes].iter().any(|f| f & PENDING != 0)
        });
        if pending != 0 && self.sanitizer.checks.initialisation {
            let at = places.at.map(|at| self.shared_address_of(at));
            let (kind, place) = (FindingKind::AsyncRead, StateSpace::Shared);
            if self.follows(action, Home::Shared) {
                let bytes = action.bytes();
                let refusal = Refusal { kind, lanes: pending, at, place, bytes };
                let (key, range) = (self.key(kind, self.pc, None), self.range(&refusal));
                let pc = self.pc;
                ahead = self.read_ahead(key, pending, range, |machine| {
                    let finding = machine.refused(&refusal, regs, pc);
                    Finding { elements: range, ..finding }
                });
            } else {
                self.refuse(action, kind, place, &at, pending);
            }
        }
        let rest = dirty & !pending;
        (if rest == 0 { Ok(()) } else { Err(rest) }, ahead)
    }

    fn transfer(
        &mut self,
        action: &Action<'_>,
        home: Home,
        places: &Places,
        regs: &mut Registers<'_>,
        mask: u32,
    ) -> Result<(), u32> {
        let changes = &mut self.progress.changes;
        match home {
            Home::Buffer(index) => {
                let buffer = &mut self.memory.buffers[index];
                let region = Region { data: &mut buffer.data, flags: buffer.flags.as_deref_mut() };
                transfer(action, region, places, regs, mask, changes)
            }
            Home::Shared | Home::Peer(_) => {
                let shared = match home {
                    Home::Peer(rank) => &mut self.cluster.peers[rank].shared,
                    _ => &mut self.block.shared,
                };
                let region = Region { data: &mut shared.data, flags: Some(&mut shared.flags) };
                transfer(action, region, places, regs, mask, changes)
            }
            Home::Local => {
                // Taken out because the registers are borrowed beside them.
                let mut local = std::mem::take(regs.local);
                let region = Region { data: &mut local.bytes, flags: Some(&mut local.flags) };
                let done = transfer(action, region, places, regs, mask, &mut 0);
                *regs.local = local;
                done
            }
            Home::Param => {
                let region = Region { data: &mut self.context.params, flags: None };
                transfer(action, region, places, regs, mask, &mut 0)
            }
        }
    }

    /// Marks of the bytes at a home.
    pub(super) fn flags<'f>(
        &'f mut self,
        home: Home,
        regs: &'f mut Registers<'_>,
    ) -> Option<&'f mut Vec<u8>> {
        match home {
            Home::Buffer(index) => self.memory.buffers[index].flags.as_mut(),
            Home::Shared => Some(&mut self.block.shared.flags),
            Home::Peer(rank) => Some(&mut self.cluster.peers[rank].shared.flags),
            Home::Local => Some(&mut regs.local.flags),
            Home::Param => None,
        }
    }
}
