//! The common loads and stores: all active lanes aligned and inside one variable, and every byte
//! read initialised. Whatever is unusual is left, undone, to [`super::access`].
//!
//! Lanes are looked at in groups of eight, since rows of threads are that wide at least: a group
//! whose lanes follow each other, or stand at one place, moves as a whole. A group's bounds are
//! those of the slice it takes.

use super::{
    Machine,
    access::{Home, Registers, first},
    transfer::{Pattern, Places},
    warp::{put_d, put_w},
};
use crate::{
    alu::simd::Task,
    memory::{INITIALISED, WRITTEN, shared_address, shared_parts, window_base, window_of},
    op::{D, MemoryOp, R, Reg, Register, StateSpace, W, Window},
};

/// Lanes that move together.
const GROUP: usize = 8;

/// Bytes and their marks, and the difference of offsets in them to a lane's base address.
pub(super) struct Span<'m> {
    pub data: &'m mut [u8],
    /// `None` if all bytes are initialised and nobody asks which are written.
    pub flags: Option<&'m mut [u8]>,
    pub delta: u64,
}

/// A number in memory and its form in a register.
trait Element {
    const BYTES: usize;
    type Value: Copy + Default;
    fn read(bytes: &[u8]) -> Self::Value;
    fn write(value: Self::Value, bytes: &mut [u8]);
}

macro_rules! element {
    ($t:ident, $value:ty, $as:ty) => {
        impl Element for $t {
            const BYTES: usize = size_of::<$t>();
            type Value = $value;

            #[inline(always)]
            fn read(bytes: &[u8]) -> $value {
                let mut le = [0; size_of::<$t>()];
                le.copy_from_slice(bytes);
                $t::from_le_bytes(le) as $as as $value
            }

            #[inline(always)]
            fn write(value: $value, bytes: &mut [u8]) {
                bytes.copy_from_slice(&(value as $t).to_le_bytes());
            }
        }
    };
}

element!(u8, u32, u32);
element!(i8, u32, i32);
element!(u16, u32, u32);
element!(i16, u32, i32);
element!(u32, u32, u32);
element!(u64, u64, u64);

#[inline(always)]
fn defined(flags: &[u8]) -> bool {
    let mut all = INITIALISED;
    for f in flags {
        all &= f;
    }
    all != 0
}

/// `len` bytes at an offset that may be any number.
#[inline(always)]
fn slice(bytes: &[u8], at: u64, len: usize) -> Option<&[u8]> {
    bytes.get(usize::try_from(at).ok()?..)?.get(..len)
}

#[inline(always)]
fn slice_mut(bytes: &mut [u8], at: u64, len: usize) -> Option<&mut [u8]> {
    bytes.get_mut(usize::try_from(at).ok()?..)?.get_mut(..len)
}

/// Whether lanes stand `step` bytes apart.
#[inline(always)]
pub(super) fn steps(at: &[u64], step: usize) -> bool {
    // A plain loop, which is inlined whatever its place.
    let mut differs = 0;
    for i in 0..at.len() {
        differs |= at[i] ^ at[0].wrapping_add((i * step) as u64);
    }
    differs == 0
}

/// The defined bytes at an aligned offset; `None` if anything is unusual.
#[inline(always)]
fn source<'m>(span: &'m Span<'_>, base: u64, align: usize, len: usize) -> Option<&'m [u8]> {
    let at = base.wrapping_add(span.delta);
    if at & (align as u64 - 1) != 0 {
        return None;
    }
    if let Some(flags) = &span.flags
        && !defined(slice(flags, at, len)?)
    {
        return None;
    }
    slice(span.data, at, len)
}

/// The bytes at an offset, marked as written.
#[inline(always)]
fn target<'m>(span: &'m mut Span<'_>, base: u64, len: usize) -> Option<&'m mut [u8]> {
    let at = base.wrapping_add(span.delta);
    if let Some(flags) = &mut span.flags {
        slice_mut(flags, at, len)?.fill(INITIALISED | WRITTEN);
    }
    slice_mut(span.data, at, len)
}

/// Whether all lanes are active and `step` bytes apart.
#[inline(always)]
fn whole(base: &D, mask: u32, step: usize) -> bool {
    mask == u32::MAX && base[31].wrapping_sub(base[0]) == (31 * step) as u64 && steps(base, step)
}

/// Whether the eight lanes are active and `step` bytes apart.
#[inline(always)]
fn together(at: &[u64; GROUP], active: u32, step: usize) -> bool {
    active == 0xff && at[7].wrapping_sub(at[0]) == (7 * step) as u64 && steps(at, step)
}

#[inline(always)]
fn element<E: Element>(bytes: &[u8], i: usize) -> E::Value {
    E::read(&bytes[i * E::BYTES..][..E::BYTES])
}

#[inline(always)]
fn put<E: Element>(bytes: &mut [u8], i: usize, value: E::Value) {
    E::write(value, &mut bytes[i * E::BYTES..][..E::BYTES]);
}

/// Loads `N` elements per lane from where `base` points.
#[inline(always)]
fn gather<E: Element, const N: usize>(
    span: &Span<'_>,
    base: &D,
    mask: u32,
) -> Option<[[E::Value; 32]; N]> {
    let mut rows = [[E::Value::default(); 32]; N];
    let each = E::BYTES * N;
    if whole(base, mask, each) {
        let bytes = source(span, base[0], each, 32 * each)?;
        for i in 0..32 {
            for n in 0..N {
                rows[n][i] = element::<E>(bytes, i * N + n);
            }
        }
        return Some(rows);
    }
    if whole(base, mask, 0) {
        let bytes = source(span, base[0], each, each)?;
        for n in 0..N {
            rows[n].fill(element::<E>(bytes, n));
        }
        return Some(rows);
    }
    for (g, at) in base.as_chunks::<GROUP>().0.iter().enumerate() {
        let first = g * GROUP;
        let active = (mask >> first) & 0xff;
        if together(at, active, each) {
            let bytes = source(span, at[0], each, GROUP * each)?;
            for i in 0..GROUP {
                for n in 0..N {
                    rows[n][first + i] = element::<E>(bytes, i * N + n);
                }
            }
        } else if together(at, active, 0) {
            let bytes = source(span, at[0], each, each)?;
            for n in 0..N {
                rows[n][first..first + GROUP].fill(element::<E>(bytes, n));
            }
        } else {
            for i in 0..GROUP {
                if (active >> i) & 1 == 1 {
                    let bytes = source(span, at[i], each, each)?;
                    for n in 0..N {
                        rows[n][first + i] = element::<E>(bytes, n);
                    }
                }
            }
        }
    }
    Some(rows)
}

/// Whether `each` bytes of every active lane are aligned and within the span.
#[inline(always)]
fn fits(span: &Span<'_>, base: &D, mask: u32, each: usize) -> bool {
    let align = each as u64 - 1;
    if whole(base, mask, each) {
        let at = base[0].wrapping_add(span.delta);
        return at & align == 0 && slice(span.data, at, 32 * each).is_some();
    }
    let Some(limit) = span.data.len().checked_sub(each) else { return false };
    let head = base[first(mask)];
    let (mut all, mut over) = (0, 0);
    for i in 0..32 {
        let lane = if (mask >> i) & 1 == 1 { base[i] } else { head };
        let at = lane.wrapping_add(span.delta);
        all |= at;
        over |= (limit as u64).wrapping_sub(at);
    }
    // A set sign means below zero or beyond the limit.
    ((all | over) as i64) >= 0 && all & align == 0
}

/// Stores `N` elements per lane to where `base` points, lowest lane first; all [fit](fits).
#[inline(always)]
fn scatter<E: Element, const N: usize>(
    span: &mut Span<'_>,
    base: &D,
    mask: u32,
    rows: [&[E::Value; 32]; N],
) {
    let each = E::BYTES * N;
    if whole(base, mask, each) {
        let Some(bytes) = target(span, base[0], 32 * each) else { return };
        for i in 0..32 {
            for n in 0..N {
                put::<E>(bytes, i * N + n, rows[n][i]);
            }
        }
        return;
    }
    for (g, at) in base.as_chunks::<GROUP>().0.iter().enumerate() {
        let first = g * GROUP;
        let active = (mask >> first) & 0xff;
        if together(at, active, each) {
            let Some(bytes) = target(span, at[0], GROUP * each) else { return };
            for i in 0..GROUP {
                for n in 0..N {
                    put::<E>(bytes, i * N + n, rows[n][first + i]);
                }
            }
            continue;
        }
        for i in 0..GROUP {
            if (active >> i) & 1 == 1 {
                let Some(bytes) = target(span, at[i], each) else { return };
                for n in 0..N {
                    put::<E>(bytes, n, rows[n][first + i]);
                }
            }
        }
    }
}

/// Where the lanes' base addresses are.
#[derive(Clone, Copy)]
enum Base {
    /// In a 64-bit register.
    Row(R),
    /// In a 32-bit register.
    Narrow(R),
    /// There are none.
    Zero,
}

impl Base {
    #[inline(always)]
    fn of(m: &MemoryOp) -> Self {
        match m.address.base {
            Some(Reg::D(r)) => Self::Row(r),
            Some(Reg::W(r)) => Self::Narrow(r),
            Some(Reg::P(_)) | None => Self::Zero,
        }
    }

    #[inline(always)]
    fn lane(self, regs: &Registers<'_>, lane: usize) -> u64 {
        match self {
            Self::Row(r) => regs.rows.d[r as usize][lane],
            Self::Narrow(r) => u64::from(regs.rows.w[r as usize][lane]),
            Self::Zero => 0,
        }
    }
}

/// Addresses of lanes that have none.
static ZERO: D = [0; 32];

/// The base addresses of the lanes; `$wide` is the place for those of a 32-bit register. A macro,
/// so that all of it is compiled for the vector units of its place.
macro_rules! row {
    ($base:expr, $regs:expr, $wide:ident) => {
        match $base {
            Base::Row(r) => &$regs.rows.d[r as usize],
            Base::Narrow(r) => {
                $wide = widen(&$regs.rows.w[r as usize]);
                &$wide
            }
            Base::Zero => &ZERO,
        }
    };
}

#[inline(always)]
fn widen(row: &W) -> D {
    let mut wide = [0; 32];
    for i in 0..32 {
        wide[i] = u64::from(row[i]);
    }
    wide
}

impl Span<'_> {
    #[inline(always)]
    fn load_w<E: Element<Value = u32>, const N: usize>(
        &self,
        base: Base,
        regs: &mut Registers<'_>,
        to: [R; N],
        mask: u32,
    ) -> Option<()> {
        let wide;
        let rows = gather::<E, N>(self, row!(base, regs, wide), mask)?;
        for n in 0..N {
            put_w(&mut regs.rows.w[to[n] as usize], &rows[n], mask);
        }
        Some(())
    }

    #[inline(always)]
    fn load_d<const N: usize>(
        &self,
        base: Base,
        regs: &mut Registers<'_>,
        to: [R; N],
        mask: u32,
    ) -> Option<()> {
        let wide;
        let rows = gather::<u64, N>(self, row!(base, regs, wide), mask)?;
        for n in 0..N {
            put_d(&mut regs.rows.d[to[n] as usize], &rows[n], mask);
        }
        Some(())
    }

    /// Loads; `None` if anything is unusual.
    #[inline(always)]
    fn load(&self, m: &MemoryOp, regs: &mut Registers<'_>, mask: u32) -> Option<()> {
        use Register::{D, W};
        let base = Base::of(m);
        match (m.regs.as_slice(), m.bytes) {
            (&[Some(W(a))], 4) => self.load_w::<u32, 1>(base, regs, [a], mask),
            (&[Some(W(a)), Some(W(b))], 4) => self.load_w::<u32, 2>(base, regs, [a, b], mask),
            (&[Some(W(a)), Some(W(b)), Some(W(c)), Some(W(e))], 4) => {
                self.load_w::<u32, 4>(base, regs, [a, b, c, e], mask)
            }
            (&[Some(W(a))], 2) if m.signed => self.load_w::<i16, 1>(base, regs, [a], mask),
            (&[Some(W(a))], 2) => self.load_w::<u16, 1>(base, regs, [a], mask),
            (&[Some(W(a))], 1) if m.signed => self.load_w::<i8, 1>(base, regs, [a], mask),
            (&[Some(W(a))], 1) => self.load_w::<u8, 1>(base, regs, [a], mask),
            (&[Some(D(a))], 8) => self.load_d(base, regs, [a], mask),
            (&[Some(D(a)), Some(D(b))], 8) => self.load_d(base, regs, [a, b], mask),
            _ => None,
        }
    }

    /// Stores to places that fit.
    #[inline(always)]
    fn store(&mut self, m: &MemoryOp, regs: &Registers<'_>, mask: u32) {
        use Register::{D, W};
        let wide;
        let at = row!(Base::of(m), regs, wide);
        match (m.regs.as_slice(), m.bytes) {
            (&[Some(W(a))], 4) => scatter::<u32, 1>(self, at, mask, [&regs.rows.w[a as usize]]),
            (&[Some(W(a)), Some(W(b))], 4) => {
                let rows = [&regs.rows.w[a as usize], &regs.rows.w[b as usize]];
                scatter::<u32, 2>(self, at, mask, rows);
            }
            (&[Some(W(a)), Some(W(b)), Some(W(c)), Some(W(e))], 4) => {
                let rows = [
                    &regs.rows.w[a as usize],
                    &regs.rows.w[b as usize],
                    &regs.rows.w[c as usize],
                    &regs.rows.w[e as usize],
                ];
                scatter::<u32, 4>(self, at, mask, rows);
            }
            (&[Some(W(a))], 2) => scatter::<u16, 1>(self, at, mask, [&regs.rows.w[a as usize]]),
            (&[Some(W(a))], 1) => scatter::<u8, 1>(self, at, mask, [&regs.rows.w[a as usize]]),
            (&[Some(D(a))], 8) => scatter::<u64, 1>(self, at, mask, [&regs.rows.d[a as usize]]),
            (&[Some(D(a)), Some(D(b))], 8) => {
                scatter::<u64, 2>(
                    self,
                    at,
                    mask,
                    [&regs.rows.d[a as usize], &regs.rows.d[b as usize]],
                );
            }
            _ => {}
        }
    }
}

/// The lanes' places, as the detector of races wants them.
#[inline(always)]
fn places(variable: Variable, base: Base, delta: u64, regs: &Registers<'_>) -> (Home, Places) {
    let (home, start) = match variable {
        Variable::Buffer(index) => (Home::Buffer(index), 0),
        Variable::Shared(start, _) => (Home::Shared, start as u64),
        Variable::Param => (Home::Param, 0),
    };
    let delta = delta.wrapping_add(start);
    let wide;
    let base: &D = row!(base, regs, wide);
    let mut at = [0; 32];
    for i in 0..32 {
        at[i] = base[i].wrapping_add(delta);
    }
    (home, Places { at, pattern: Pattern::Scattered })
}

/// Whether [`Span::store`] knows the form.
fn is_common_store(m: &MemoryOp) -> bool {
    use Register::{D, W};
    match m.regs.as_slice() {
        [Some(W(_))] => matches!(m.bytes, 1 | 2 | 4),
        [Some(W(_)), Some(W(_))] | [Some(W(_)), Some(W(_)), Some(W(_)), Some(W(_))] => m.bytes == 4,
        [Some(D(_))] | [Some(D(_)), Some(D(_))] => m.bytes == 8,
        _ => false,
    }
}

/// A variable that lanes access.
#[derive(Debug, Clone, Copy)]
enum Variable {
    /// The buffer with this index.
    Buffer(usize),
    /// So many bytes from an offset in the block's shared memory.
    Shared(usize, usize),
    Param,
}

/// [`Machine::try_fast`] as a task.
struct TryFast<'a, 'm, 'w> {
    machine: &'a mut Machine<'m>,
    m: &'a MemoryOp,
    regs: &'a mut Registers<'w>,
    mask: u32,
}

impl Task for TryFast<'_, '_, '_> {
    type Output = Option<()>;

    #[inline(always)]
    fn run(self) -> Option<()> {
        self.machine.try_fast(self.m, self.regs, self.mask)
    }
}

impl Machine<'_> {
    /// Does a common load or store. False if anything is unusual; then nothing was done.
    #[inline]
    pub(super) fn fast(
        &mut self,
        m: &MemoryOp,
        regs: &mut Registers<'_>,
        pc: u32,
        mask: u32,
    ) -> bool {
        if regs.taint.active
            || self.sanitizer.undefined.stored.lanes != 0
            || self.observers.count.is_some()
        {
            return false;
        }
        self.pc = pc;
        let width = self.width;
        width.widely(TryFast { machine: self, m, regs, mask }).is_some()
    }

    #[inline(always)]
    fn try_fast(&mut self, m: &MemoryOp, regs: &mut Registers<'_>, mask: u32) -> Option<()> {
        let base = Base::of(m);
        let (variable, delta) = self.variable(m, base.lane(regs, first(mask)))?;
        if !m.store {
            let watched = self.sanitizer.races.is_some();
            let places = if watched { Some(places(variable, base, delta, regs)) } else { None };
            let checked = self.sanitizer.checks.initialisation || self.sanitizer.checks.taint;
            let mut span = self.span(variable, delta);
            if !checked {
                span.flags = None;
            }
            span.load(m, regs, mask)?;
            if let Some((home, places)) = places {
                self.look_for_races(m, home, &places, regs, mask);
            }
            return Some(());
        }
        let span = self.span(variable, delta);
        let each = m.bytes as usize * m.regs.len();
        let wide;
        if !is_common_store(m) || !fits(&span, row!(base, regs, wide), mask, each) {
            return None;
        }
        if self.sanitizer.races.is_some() {
            let (home, places) = places(variable, base, delta, regs);
            self.look_for_races(m, home, &places, regs, mask);
        }
        self.span(variable, delta).store(m, regs, mask);
        Some(())
    }

    /// Where the lane with this base address accesses, and the number to add to base addresses to
    /// get offsets there.
    #[inline(always)]
    fn variable(&self, m: &MemoryOp, base: u64) -> Option<(Variable, u64)> {
        let head = base.wrapping_add(m.address.offset);
        let (place, window) = match m.address.place {
            StateSpace::Generic => match window_of(head) {
                Window::Global | Window::Const => (StateSpace::Global, 0),
                Window::Shared => (StateSpace::Shared, window_base(Window::Shared)),
                Window::Local | Window::Param => return None,
            },
            place => (place, 0),
        };
        match place {
            StateSpace::Global => {
                let (index, offset) = self.memory.decode(head)?;
                if m.store && self.memory.buffers[index].read_only {
                    return None;
                }
                Some((Variable::Buffer(index), (offset as u64).wrapping_sub(base)))
            }
            StateSpace::Shared => {
                let own = head.wrapping_sub(window);
                let (slot, _) = shared_parts(own);
                let (start, size) = self.layout.slots.get(slot).copied().flatten()?;
                // Another block's address gives an offset outside.
                let origin = shared_address(slot, start).wrapping_add(window);
                Some((Variable::Shared(start, size), m.address.offset.wrapping_sub(origin)))
            }
            StateSpace::Param if !m.store => Some((Variable::Param, m.address.offset)),
            StateSpace::Param | StateSpace::Local | StateSpace::Frame | StateSpace::Generic => None,
        }
    }

    #[inline(always)]
    fn span(&mut self, variable: Variable, delta: u64) -> Span<'_> {
        match variable {
            Variable::Buffer(index) => {
                let buffer = &mut self.memory.buffers[index];
                Span { data: &mut buffer.data, flags: buffer.flags.as_deref_mut(), delta }
            }
            Variable::Shared(start, size) => {
                let data = &mut self.block.shared.data[start..start + size];
                let flags = &mut self.block.shared.flags[start..start + size];
                Span { data, flags: Some(flags), delta }
            }
            Variable::Param => Span { data: &mut self.context.params, flags: None, delta },
        }
    }
}
