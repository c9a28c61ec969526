//! Loads, stores and atomics of a warp.

use super::{
    Machine,
    copy::Copies,
    transfer::{Action, Pattern, Places, Region, places, transfer},
    warp::{Frame, Local, Warp},
};
use crate::{
    memory::{Memory, window_base, window_of},
    op::{Address, AtomicOp, D, MemoryOp, Place, Reg, W, Window},
    report::FaultKind,
};

/// What an operation sees of its warp.
pub(super) struct Registers<'w> {
    pub w: &'w mut [W],
    pub d: &'w mut [D],
    pub p: &'w mut [u32],
    pub carry: &'w mut u32,
    pub local: &'w mut Local,
    pub copies: &'w mut Copies,
    pub tid: &'w [W; 3],
    pub warp: u32,
    pub frame: Frame,
}

impl<'w> Registers<'w> {
    pub(super) fn new(warp: &'w mut Warp, frame: Frame) -> Self {
        let [w, d, p] = frame.base;
        Self {
            w: &mut warp.r32[w as usize..],
            d: &mut warp.r64[d as usize..],
            p: &mut warp.pred[p as usize..],
            carry: &mut warp.carry,
            local: &mut warp.local,
            copies: &mut warp.copies,
            tid: &warp.tid,
            warp: warp.index,
            frame,
        }
    }
}

/// A refused access: what, which lanes, where.
#[derive(Debug)]
pub(super) struct Refusal {
    pub kind: FaultKind,
    pub lanes: u32,
    /// Address of the first of them and the state space it belongs to.
    pub address: u64,
    pub place: Place,
    pub bytes: u32,
}

/// Addresses of the 32 lanes.
pub(super) fn addresses(address: &Address, regs: &Registers<'_>) -> D {
    let mut out = match address.base {
        Some(Reg::D(r)) => regs.d[r as usize],
        Some(Reg::W(r)) => regs.w[r as usize].map(u64::from),
        _ => [0; 32],
    };
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

/// The lanes of `mask` for which `test` holds.
pub(super) fn lanes(mask: u32, test: impl Fn(usize) -> bool) -> u32 {
    (0..32).filter(|&i| (mask >> i) & 1 == 1 && test(i)).fold(0, |m, i| m | 1 << i)
}

/// Calls `f` with the lanes of `mask` split by `key`, lowest lane first.
fn split<E>(
    mask: u32,
    key: impl Fn(usize) -> u64,
    mut f: impl FnMut(u32) -> Result<(), E>,
) -> Result<(), E> {
    let mut rest = mask;
    while rest != 0 {
        let wanted = key(first(rest));
        let part = lanes(rest, |i| key(i) == wanted);
        f(part)?;
        rest &= !part;
    }
    Ok(())
}

impl Machine<'_> {
    pub(super) fn memory_op(
        &mut self,
        m: &MemoryOp,
        regs: &mut Registers<'_>,
        mask: u32,
    ) -> Result<(), Refusal> {
        self.waited |= m.volatile;
        self.touched |= m.address.place != Place::Param;
        self.changes += u64::from(m.store);
        let action = Action::Memory(m);
        if self.quick(&action, &m.address, regs, mask) {
            return Ok(());
        }
        let at = addresses(&m.address, regs);
        self.act(&action, m.address.place, at, regs, mask)
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
            Some(Reg::D(r)) => regs.d[r as usize][lane],
            Some(Reg::W(r)) => u64::from(regs.w[r as usize][lane]),
            _ => 0,
        };
        let head = base.wrapping_add(address.offset);
        let (place, window) = match address.place {
            Place::Generic => match window_of(head) {
                Window::Global | Window::Const => (Place::Global, 0),
                Window::Shared => (Place::Shared, window_base(Window::Shared)),
                Window::Local => (Place::Local, window_base(Window::Local)),
                Window::Param => (Place::Param, window_base(Window::Param)),
            },
            place => (place, 0),
        };
        match place {
            Place::Global => {
                let Some((index, offset)) = self.memory.decode(head) else { return false };
                let buffer = &mut self.memory.buffers[index];
                if buffer.read_only && action.writes() {
                    return false;
                }
                let delta = (offset as u64).wrapping_sub(base);
                let size = buffer.data.len();
                let Some(places) = places(address, regs, mask, delta, size, bytes) else {
                    return false;
                };
                let region = Region { data: &mut buffer.data, flags: buffer.flags.as_deref_mut() };
                transfer(action, region, &places, regs, mask, &mut self.changes).is_ok()
            }
            Place::Shared => {
                let slot = head.wrapping_sub(window) >> 24;
                let variable = usize::try_from(slot).ok().and_then(|s| self.shared_map.get(s));
                let Some((start, size)) = variable.copied().flatten() else { return false };
                let origin = (slot << 24 | 1 << 23).wrapping_add(window);
                let delta = address.offset.wrapping_sub(origin);
                let Some(mut places) = places(address, regs, mask, delta, size, bytes) else {
                    return false;
                };
                for at in &mut places.at {
                    *at = at.wrapping_add(start as u64);
                }
                let region =
                    Region { data: &mut self.shared.data, flags: Some(&mut self.shared.flags) };
                transfer(action, region, &places, regs, mask, &mut self.changes).is_ok()
            }
            Place::Param if !action.writes() => {
                let delta = address.offset.wrapping_sub(window);
                let size = self.params.len();
                let Some(places) = places(address, regs, mask, delta, size, bytes) else {
                    return false;
                };
                let region = Region { data: &mut self.params, flags: None };
                transfer(action, region, &places, regs, mask, &mut self.changes).is_ok()
            }
            Place::Local | Place::Frame => {
                let frame = if place == Place::Frame { u64::from(regs.frame.local) } else { 0 };
                let delta = address.offset.wrapping_sub(window).wrapping_add(frame);
                let code = &self.program.code[regs.frame.function as usize];
                let size = (regs.frame.local + code.frame_bytes) as usize;
                let Some(mut places) = places(address, regs, mask, delta, size, bytes) else {
                    return false;
                };
                let stride = regs.local.stride as u64;
                for (i, at) in places.at.iter_mut().enumerate() {
                    *at = at.wrapping_add(i as u64 * stride);
                }
                // An inactive lane stands at the first active one's place.
                places.pattern = Pattern::Scattered;
                let mut taken = std::mem::take(&mut regs.local.bytes);
                let region = Region { data: &mut taken, flags: None };
                let done = transfer(action, region, &places, regs, mask, &mut 0);
                regs.local.bytes = taken;
                done.is_ok()
            }
            Place::Param | Place::Generic => false,
        }
    }

    pub(super) fn atomic_op(
        &mut self,
        a: &AtomicOp,
        regs: &mut Registers<'_>,
        mask: u32,
    ) -> Result<(), Refusal> {
        self.waited = true;
        self.touched = true;
        let action = Action::Atomic(a);
        if self.quick(&action, &a.address, regs, mask) {
            return Ok(());
        }
        let at = addresses(&a.address, regs);
        self.act(&action, a.address.place, at, regs, mask)
    }

    /// Resolves the addresses to bytes and acts on them.
    pub(super) fn act(
        &mut self,
        action: &Action<'_>,
        place: Place,
        at: D,
        regs: &mut Registers<'_>,
        mask: u32,
    ) -> Result<(), Refusal> {
        let bytes = action.bytes();
        let low = at
            .iter()
            .enumerate()
            .fold(0, |m, (i, a)| m | if (mask >> i) & 1 == 1 { *a } else { 0 });
        // A window's base is a multiple of every access size, so alignment can be checked first.
        if bytes.is_power_of_two() && low & u64::from(bytes - 1) != 0 {
            let odd = lanes(mask, |i| at[i] & u64::from(bytes - 1) != 0);
            return Err(Refusal {
                kind: FaultKind::Misaligned,
                lanes: odd,
                address: at[first(odd)],
                place,
                bytes,
            });
        }
        match place {
            Place::Global => self.act_global(action, &at, regs, mask),
            Place::Shared => self.act_shared(action, &at, regs, mask),
            Place::Local | Place::Frame | Place::Param => {
                self.act_thread(action, place, at, regs, mask)
            }
            Place::Generic => {
                let key = |i: usize| window_of(at[i]) as u64;
                split(mask, key, |part| {
                    let window = window_of(at[first(part)]);
                    let base = window_base(window);
                    let relative = at.map(|a| a.wrapping_sub(base));
                    match window {
                        Window::Global | Window::Const => self.act_global(action, &at, regs, part),
                        Window::Shared => self.act_shared(action, &relative, regs, part),
                        Window::Local => {
                            self.act_thread(action, Place::Local, relative, regs, part)
                        }
                        Window::Param => {
                            self.act_thread(action, Place::Param, relative, regs, part)
                        }
                    }
                })
            }
        }
    }

    fn act_global(
        &mut self,
        action: &Action<'_>,
        at: &D,
        regs: &mut Registers<'_>,
        mask: u32,
    ) -> Result<(), Refusal> {
        let slot = at[first(mask)] >> 40;
        let mut differs = 0;
        for i in 0..32 {
            differs |= if (mask >> i) & 1 == 1 { (at[i] >> 40) ^ slot } else { 0 };
        }
        if differs != 0 {
            return split(mask, |i| at[i] >> 40, |part| self.act_global(action, at, regs, part));
        }
        let bytes = action.bytes();
        let refuse = |kind, lanes| Refusal {
            kind,
            lanes,
            address: at[first(lanes)],
            place: Place::Global,
            bytes,
        };
        let Some((index, _)) = self.memory.decode(at[first(mask)]) else {
            let null = Memory::is_null(at[first(mask)]);
            return Err(refuse(if null { FaultKind::NullPointer } else { action.bounds() }, mask));
        };
        let buffer = &mut self.memory.buffers[index];
        if !buffer.live || (buffer.read_only && action.writes()) {
            return Err(refuse(action.bounds(), mask));
        }
        let base = Memory::address(crate::memory::BufferId(index as u32));
        let mut offsets = [0_u64; 32];
        let limit = (buffer.data.len() as u64).wrapping_sub(u64::from(bytes)) as i64;
        let mut bad = false;
        for i in 0..32 {
            let offset = at[i].wrapping_sub(base) as i64;
            let active = (mask >> i) & 1 == 1;
            bad |= active & ((offset < 0) | (offset > limit));
            offsets[i] = offset as u64;
        }
        if bad {
            let out = |i: usize| !(0..=limit).contains(&(at[i].wrapping_sub(base) as i64));
            return Err(refuse(action.bounds(), lanes(mask, out)));
        }
        let region = Region { data: &mut buffer.data, flags: buffer.flags.as_deref_mut() };
        let done = transfer(
            action,
            region,
            &Places::scattered(offsets, mask),
            regs,
            mask,
            &mut self.changes,
        );
        done.map_err(|lanes| refuse(FaultKind::UninitialisedRead, lanes))
    }

    fn act_shared(
        &mut self,
        action: &Action<'_>,
        at: &D,
        regs: &mut Registers<'_>,
        mask: u32,
    ) -> Result<(), Refusal> {
        let bytes = action.bytes();
        let mut offsets = [0_u64; 32];
        let slot = at[first(mask)] >> 24;
        let variable = usize::try_from(slot).ok().and_then(|s| self.shared_map.get(s));
        let (start, size) = variable.copied().flatten().unwrap_or((0, 0));
        let limit = size as i64 - i64::from(bytes);
        let base = slot << 24 | 1 << 23;
        let mut bad = false;
        for i in 0..32 {
            let offset = at[i].wrapping_sub(base) as i64;
            let active = (mask >> i) & 1 == 1;
            bad |= active & ((offset < 0) | (offset > limit));
            offsets[i] = (start as u64).wrapping_add(offset as u64);
        }
        if bad {
            let other = lanes(mask, |i| at[i] >> 24 != slot);
            if other != 0 {
                let key = |i: usize| at[i] >> 24;
                return split(mask, key, |part| self.act_shared(action, at, regs, part));
            }
            let out = |i: usize| !(0..=limit).contains(&(at[i].wrapping_sub(base) as i64));
            let lanes = lanes(mask, out);
            return Err(Refusal {
                kind: action.bounds(),
                lanes,
                address: at[first(lanes)],
                place: Place::Shared,
                bytes,
            });
        }
        let region = Region { data: &mut self.shared.data, flags: Some(&mut self.shared.flags) };
        let done = transfer(
            action,
            region,
            &Places::scattered(offsets, mask),
            regs,
            mask,
            &mut self.changes,
        );
        done.map_err(|lanes| Refusal {
            kind: FaultKind::UninitialisedRead,
            lanes,
            address: at[first(lanes)],
            place: Place::Shared,
            bytes,
        })
    }

    /// Local memory and parameters.
    fn act_thread(
        &mut self,
        action: &Action<'_>,
        place: Place,
        at: D,
        regs: &mut Registers<'_>,
        mask: u32,
    ) -> Result<(), Refusal> {
        let bytes = action.bytes();
        let at = match place {
            Place::Frame => at.map(|a| a.wrapping_add(u64::from(regs.frame.local))),
            _ => at,
        };
        let param = place == Place::Param;
        let code = &self.program.code[regs.frame.function as usize];
        let size =
            if param { self.params.len() } else { (regs.frame.local + code.frame_bytes) as usize };
        let end = (size as u64).wrapping_sub(u64::from(bytes)) as i64;
        let out = |i: usize| !(0..=end).contains(&(at[i] as i64));
        let bad = lanes(mask, out);
        if bad != 0 || (param && action.writes()) {
            let lanes = if bad != 0 { bad } else { mask };
            return Err(Refusal {
                kind: action.bounds(),
                lanes,
                address: at[first(lanes)],
                place,
                bytes,
            });
        }
        let mut offsets = [0_u64; 32];
        let stride = if param { 0 } else { regs.local.stride };
        for i in 0..32 {
            offsets[i] = at[i].wrapping_add((i * stride) as u64);
        }
        // The bytes are taken out because the registers are borrowed beside them.
        let mut taken =
            std::mem::take(if param { &mut self.params } else { &mut regs.local.bytes });
        let region = Region { data: &mut taken, flags: None };
        let mut ignored = 0;
        let done =
            transfer(action, region, &Places::scattered(offsets, mask), regs, mask, &mut ignored);
        if param {
            self.params = taken;
        } else {
            regs.local.bytes = taken;
        }
        done.map_err(|lanes| Refusal {
            kind: FaultKind::UninitialisedRead,
            lanes,
            address: at[first(lanes)],
            place,
            bytes,
        })
    }
}
