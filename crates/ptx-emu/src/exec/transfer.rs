//! Moves bytes between registers and memory once the lanes' places are known to be good.

use super::{
    access::{Registers, first, lanes},
    simple::put,
    warp::{put_d, put_w},
};
use crate::{
    finding::FindingKind,
    memory::{INITIALISED, PENDING, WRITTEN},
    op::{Address, AtomicKind, AtomicOp, D, MemoryOp, Reg, W},
};

/// Bytes that can be accessed and how they are marked.
pub(super) struct Region<'m> {
    pub data: &'m mut [u8],
    pub flags: Option<&'m mut [u8]>,
}

/// How the places of the lanes relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
    /// Each lane's bytes follow those of the lane before; all lanes are active.
    Consecutive,
    /// All lanes at one place.
    Uniform,
    /// Anything else.
    Scattered,
}

/// Offsets of the 32 lanes in a region.
pub(super) struct Places {
    pub at: D,
    pub pattern: Pattern,
}

impl Places {
    /// Places in any pattern; inactive lanes get that of the first active one.
    pub(super) fn scattered(at: D, mask: u32) -> Self {
        let head = at[first(mask)];
        let at = std::array::from_fn(|i| if (mask >> i) & 1 == 1 { at[i] } else { head });
        Self { at, pattern: Pattern::Scattered }
    }
}

/// The action at the resolved places.
pub(super) enum Action<'o> {
    Memory(&'o MemoryOp),
    Atomic(&'o AtomicOp),
    /// So many bytes will be written by an asynchronous copy; until then they hold nothing.
    Await(u32),
}

impl Action<'_> {
    #[inline]
    pub(super) fn bytes(&self) -> u32 {
        match self {
            Self::Memory(m) => m.bytes * m.regs.len() as u32,
            Self::Atomic(a) => a.bytes * a.a.len() as u32,
            Self::Await(bytes) => *bytes,
        }
    }

    #[inline]
    pub(super) fn writes(&self) -> bool {
        match self {
            Self::Memory(m) => m.store,
            Self::Atomic(_) | Self::Await(_) => true,
        }
    }

    /// Gives the lanes of a load that cannot be served zeros.
    pub(super) fn blank(&self, regs: &mut Registers<'_>, lanes: u32) {
        let dest = match self {
            Self::Memory(m) if !m.store => &m.regs,
            Self::Memory(_) | Self::Await(_) => return,
            Self::Atomic(a) => &a.dest,
        };
        dest.iter().flatten().for_each(|to| put(regs, *to, &[0; 32], lanes));
    }

    pub(super) fn bounds(&self) -> FindingKind {
        if self.writes() { FindingKind::OutOfBoundsWrite } else { FindingKind::OutOfBoundsRead }
    }
}

/// Offsets `base + delta` of all lanes, if those of the active ones are multiples of the access and
/// within `size`. Inactive lanes get the offset of the first active one.
#[inline]
pub(super) fn places(
    address: &Address,
    regs: &Registers<'_>,
    mask: u32,
    delta: u64,
    size: usize,
    bytes: u32,
) -> Option<Places> {
    let mut at = match address.base {
        Some(Reg::D(r)) => regs.rows.d[r as usize],
        Some(Reg::W(r)) => regs.rows.w[r as usize].map(u64::from),
        _ => [0; 32],
    };
    if mask != u32::MAX {
        let head = at[first(mask)];
        for i in 0..32 {
            at[i] = if (mask >> i) & 1 == 1 { at[i] } else { head };
        }
    }
    let limit = (size as u64).wrapping_sub(u64::from(bytes));
    if (limit as i64) < 0 {
        return None;
    }
    let head = at[0].wrapping_add(delta);
    // Any sign bit means out of bounds: negative, or beyond the limit.
    let (mut out, mut low, mut scattered, mut differs) = (0, 0, 0, 0);
    for i in 0..32 {
        let offset = at[i].wrapping_add(delta);
        out |= offset | limit.wrapping_sub(offset);
        low |= offset;
        scattered |= offset ^ head.wrapping_add(i as u64 * u64::from(bytes));
        differs |= offset ^ head;
        at[i] = offset;
    }
    let unaligned = bytes.is_power_of_two() && low & u64::from(bytes - 1) != 0;
    if (out as i64) < 0 || unaligned {
        return None;
    }
    let pattern = if scattered == 0 && mask == u32::MAX {
        Pattern::Consecutive
    } else if differs == 0 {
        Pattern::Uniform
    } else {
        Pattern::Scattered
    };
    Some(Places { at, pattern })
}

fn read_le(data: &[u8], at: usize, bytes: u32) -> u64 {
    match bytes {
        1 => u64::from(data[at]),
        2 => u64::from(u16::from_le_bytes([data[at], data[at + 1]])),
        4 => u64::from(read4(data, at)),
        _ => {
            let mut b = [0; 8];
            b.copy_from_slice(&data[at..at + 8]);
            u64::from_le_bytes(b)
        }
    }
}

fn read4(data: &[u8], at: usize) -> u32 {
    let mut b = [0; 4];
    b.copy_from_slice(&data[at..at + 4]);
    u32::from_le_bytes(b)
}

fn write_le(data: &mut [u8], at: usize, bytes: u32, value: u64) {
    let n = bytes as usize;
    data[at..at + n].copy_from_slice(&value.to_le_bytes()[..n]);
}

fn extend(value: u64, bytes: u32, signed: bool) -> u64 {
    if !signed {
        return value;
    }
    let shift = 64 - 8 * bytes;
    (((value << shift) as i64) >> shift) as u64
}

/// Does the access; the lanes that read uninitialised bytes are the error.
#[inline]
pub(super) fn transfer(
    action: &Action<'_>,
    region: Region<'_>,
    places: &Places,
    regs: &mut Registers<'_>,
    mask: u32,
    changes: &mut u64,
) -> Result<(), u32> {
    match action {
        Action::Memory(m) if m.store => {
            store(m, region, places, regs, mask);
            Ok(())
        }
        Action::Memory(m) => load(m, &region, places, regs, mask),
        Action::Atomic(a) => atomic(a, region, places, regs, mask, changes),
        Action::Await(bytes) => {
            if let Some(flags) = region.flags {
                for i in (0..32).filter(|i| (mask >> i) & 1 == 1) {
                    let at = places.at[i] as usize;
                    flags[at..at + *bytes as usize].fill(PENDING);
                }
            }
            Ok(())
        }
    }
}

/// Whether all lanes' bytes are initialised; else the lanes whose bytes are not.
#[inline]
fn check_initialised(
    flags: Option<&[u8]>,
    places: &Places,
    bytes: usize,
    mask: u32,
) -> Result<(), u32> {
    let Some(flags) = flags else { return Ok(()) };
    let at = &places.at;
    let all = |slice: &[u8]| slice.iter().fold(INITIALISED, |all, f| all & f) != 0;
    let head = at[0] as usize;
    let clean = match places.pattern {
        Pattern::Consecutive => all(&flags[head..head + 32 * bytes]),
        Pattern::Uniform => all(&flags[head..head + bytes]),
        Pattern::Scattered if bytes == 4 => {
            at.iter().fold(0x0101_0101, |m, at| m & read4(flags, *at as usize)) == 0x0101_0101
        }
        Pattern::Scattered => false,
    };
    if clean {
        return Ok(());
    }
    let dirty = |i: usize| !all(&flags[at[i] as usize..at[i] as usize + bytes]);
    match lanes(mask, dirty) {
        0 => Ok(()),
        lanes => Err(lanes),
    }
}

fn load(
    m: &MemoryOp,
    region: &Region<'_>,
    places: &Places,
    regs: &mut Registers<'_>,
    mask: u32,
) -> Result<(), u32> {
    let bytes = m.bytes as usize;
    let initialised =
        check_initialised(region.flags.as_deref(), places, bytes * m.regs.len(), mask);
    let data = &*region.data;
    let at = &places.at;
    for (element, reg) in m.regs.iter().enumerate() {
        let shift = element * bytes;
        match reg {
            Some(Reg::W(r)) => {
                let to = &mut regs.rows.w[*r as usize];
                let value = load_w(m, data, places, shift);
                put_w(to, &value, mask);
            }
            Some(Reg::D(r)) => {
                let mut value = [0; 32];
                for (value, at) in value.iter_mut().zip(at) {
                    let raw = read_le(data, *at as usize + shift, m.bytes);
                    *value = extend(raw, m.bytes, m.signed);
                }
                put_d(&mut regs.rows.d[*r as usize], &value, mask);
            }
            Some(Reg::P(_)) | None => {}
        }
    }
    initialised
}

/// Elements of at most four bytes at `shift` behind the places.
#[inline]
fn load_w(m: &MemoryOp, data: &[u8], places: &Places, shift: usize) -> W {
    let at = &places.at;
    let head = at[0] as usize + shift;
    let mut value = [0; 32];
    if m.bytes != 4 {
        for (value, at) in value.iter_mut().zip(at) {
            let raw = read_le(data, *at as usize + shift, m.bytes);
            *value = extend(raw, m.bytes, m.signed) as u32;
        }
    } else if places.pattern == Pattern::Uniform {
        value = [read4(data, head); 32];
    } else if places.pattern == Pattern::Consecutive && m.regs.len() == 1 {
        let (words, _) = data[head..head + 128].as_chunks::<4>();
        for (value, word) in value.iter_mut().zip(words) {
            *value = u32::from_le_bytes(*word);
        }
    } else {
        for (value, at) in value.iter_mut().zip(at) {
            *value = read4(data, *at as usize + shift);
        }
    }
    value
}

fn store(m: &MemoryOp, region: Region<'_>, places: &Places, regs: &mut Registers<'_>, mask: u32) {
    let bytes = m.bytes as usize;
    let data = region.data;
    let all = bytes * m.regs.len();
    let head = places.at[0] as usize;
    let consecutive = places.pattern == Pattern::Consecutive;
    if let Some(flags) = region.flags {
        if consecutive {
            flags[head..head + 32 * all].fill(INITIALISED | WRITTEN);
        } else if all == 4 {
            for i in (0..32).filter(|i| (mask >> i) & 1 == 1) {
                let at = places.at[i] as usize;
                flags[at..at + 4].copy_from_slice(&[INITIALISED | WRITTEN; 4]);
            }
        } else {
            for i in (0..32).filter(|i| (mask >> i) & 1 == 1) {
                let at = places.at[i] as usize;
                flags[at..at + all].fill(INITIALISED | WRITTEN);
            }
        }
    }
    if let ([Some(Reg::W(r))], 4) = (m.regs.as_slice(), m.bytes) {
        let from = &regs.rows.w[*r as usize];
        if consecutive {
            let (words, _) = data[head..head + 128].as_chunks_mut::<4>();
            for (word, from) in words.iter_mut().zip(from) {
                *word = from.to_le_bytes();
            }
        } else {
            for i in (0..32).filter(|i| (mask >> i) & 1 == 1) {
                let at = places.at[i] as usize;
                data[at..at + 4].copy_from_slice(&from[i].to_le_bytes());
            }
        }
        return;
    }
    // Lane by lane, so that of lanes that write the same place the last one wins whole.
    for i in (0..32).filter(|i| (mask >> i) & 1 == 1) {
        let at = places.at[i] as usize;
        for (element, reg) in m.regs.iter().enumerate() {
            let place = at + element * bytes;
            match reg {
                Some(Reg::W(r)) if m.bytes == 4 => {
                    let value = regs.rows.w[*r as usize][i];
                    data[place..place + 4].copy_from_slice(&value.to_le_bytes());
                }
                Some(Reg::W(r)) => {
                    write_le(data, place, m.bytes, u64::from(regs.rows.w[*r as usize][i]));
                }
                Some(Reg::D(r)) => write_le(data, place, m.bytes, regs.rows.d[*r as usize][i]),
                Some(Reg::P(_)) | None => {}
            }
        }
    }
}

pub(super) fn value_of(reg: Reg, regs: &Registers<'_>, lane: usize, bytes: u32) -> u64 {
    let value = match reg {
        Reg::W(r) => u64::from(regs.rows.w[r as usize][lane]),
        Reg::D(r) => regs.rows.d[r as usize][lane],
        Reg::P(_) => 0,
    };
    value & (u64::MAX >> (64 - 8 * bytes))
}

fn atomic(
    a: &AtomicOp,
    region: Region<'_>,
    places: &Places,
    regs: &mut Registers<'_>,
    mask: u32,
    changes: &mut u64,
) -> Result<(), u32> {
    let bytes = a.bytes as usize;
    let initialised = check_initialised(region.flags.as_deref(), places, bytes * a.a.len(), mask);
    let mut olds = vec![[0_u64; 32]; a.a.len()];
    let data = region.data;
    for i in (0..32).filter(|i| (mask >> i) & 1 == 1) {
        let at = places.at[i] as usize;
        let swaps = a.a.iter().enumerate().all(|(element, operand)| {
            value_of(*operand, regs, i, a.bytes) == read_le(data, at + element * bytes, a.bytes)
        });
        for (element, operand) in a.a.iter().enumerate() {
            let place = at + element * bytes;
            let old = read_le(data, place, a.bytes);
            let new = match a.kind {
                AtomicKind::Binary(f) => f(old, value_of(*operand, regs, i, a.bytes)),
                AtomicKind::Cas if swaps => value_of(a.b[element], regs, i, a.bytes),
                AtomicKind::Cas => old,
            };
            *changes += u64::from(new != old);
            write_le(data, place, a.bytes, new);
            olds[element][i] = old;
        }
    }
    if let Some(flags) = region.flags {
        for i in (0..32).filter(|i| (mask >> i) & 1 == 1) {
            let at = places.at[i] as usize;
            flags[at..at + bytes * a.a.len()].fill(INITIALISED | WRITTEN);
        }
    }
    for (dest, old) in a.dest.iter().zip(&olds) {
        dest.iter().for_each(|to| put(regs, *to, old, mask));
    }
    initialised
}
