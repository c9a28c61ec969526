//! Integer, bit and shift instructions (PTX ISA, "Integer Arithmetic Instructions" and "Logic and
//! Shift Instructions").

/// Sign-extends the low 16 bits.
pub(crate) fn sx16(a: u32) -> i32 {
    i32::from(a as u16 as i16)
}

/// Integers of the types of instructions.
pub(crate) trait Integer: Sized {
    /// The upper half of the product.
    fn mul_hi(self, b: Self) -> Self;
    /// The quotient; the machine gives all ones for a zero divisor.
    fn quotient(self, b: Self) -> Self;
    /// The remainder; the machine gives the dividend for a zero divisor.
    fn remainder(self, b: Self) -> Self;
    /// The distance to `b`, added to `c`.
    fn sad(self, b: Self, c: Self) -> Self;
    /// Shifted right; amounts beyond the width fill with the sign.
    fn shift_right(self, n: u32) -> Self;
}

macro_rules! integer {
    ($($t:ident $wide:ident;)+) => {$(
        impl Integer for $t {
            #[inline(always)]
            fn mul_hi(self, b: Self) -> Self {
                (($wide::from(self) * $wide::from(b)) >> Self::BITS) as Self
            }

            #[inline(always)]
            fn quotient(self, b: Self) -> Self {
                if b == 0 { !0 } else { self.wrapping_div(b) }
            }

            #[inline(always)]
            fn remainder(self, b: Self) -> Self {
                if b == 0 { self } else { self.wrapping_rem(b) }
            }

            #[inline(always)]
            fn sad(self, b: Self, c: Self) -> Self {
                c.wrapping_add(self.abs_diff(b) as Self)
            }

            #[inline(always)]
            fn shift_right(self, n: u32) -> Self {
                // All ones if the type has a sign.
                let sign = Self::MIN >> (Self::BITS - 1);
                self.checked_shr(n).unwrap_or((self >> (Self::BITS - 1)) & sign)
            }
        }
    )+};
}

integer! {
    u16 u32;
    i16 i32;
    u32 u64;
    i32 i64;
    u64 u128;
    i64 i128;
}

pub(crate) fn mul_wide_s32(a: u32, b: u32) -> u64 {
    (i64::from(a as i32) * i64::from(b as i32)) as u64
}

pub(crate) fn mul_wide_u32(a: u32, b: u32) -> u64 {
    u64::from(a) * u64::from(b)
}

/// `mul24.lo` and `mul24.hi`, signed or not.
pub(crate) fn mul24<const SIGNED: bool, const HI: bool>(a: u32, b: u32) -> u32 {
    let product = if SIGNED {
        (i64::from((a << 8) as i32 >> 8) * i64::from((b << 8) as i32 >> 8)) as u64
    } else {
        u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)
    };
    if HI { (product >> 16) as u32 } else { product as u32 }
}

/// `mad.hi.sat.s32` and the like end in this clamp.
pub(crate) fn add_sat_s32(a: u32, b: u32) -> u32 {
    (a as i32).saturating_add(b as i32) as u32
}

pub(crate) fn mad_hi_sat_s32(a: u32, b: u32, c: u32) -> u32 {
    add_sat_s32((a as i32).mul_hi(b as i32) as u32, c)
}

/// `mad24.lo` and `mad24.hi`, signed or not.
pub(crate) fn mad24<const SIGNED: bool, const HI: bool>(a: u32, b: u32, c: u32) -> u32 {
    mul24::<SIGNED, HI>(a, b).wrapping_add(c)
}

pub(crate) fn sub_sat_s32(a: u32, b: u32) -> u32 {
    (a as i32).saturating_sub(b as i32) as u32
}

/// `min.s16x2` or `max.s16x2` on one half, `RELU` clamping negative results to zero.
pub(crate) fn extreme_s16<const MAX: bool, const RELU: bool>(a: u32, b: u32) -> u32 {
    let (x, y) = (sx16(a), sx16(b));
    let pick = if MAX { x.max(y) } else { x.min(y) };
    (if RELU { pick.max(0) } else { pick }) as u32
}

/// `vabsdiff2` and `vabsdiff4`: differences of the parts of `BITS` bits, or `c` plus their sum.
pub(crate) fn video_abs_diff<const BITS: u32, const SIGNED: bool, const ADD: bool>(
    a: u32,
    b: u32,
    c: u32,
) -> u32 {
    let part = |x: u32, i: u32| {
        let top = x << (32 - BITS * (i + 1));
        if SIGNED { top as i32 >> (32 - BITS) } else { (top >> (32 - BITS)) as i32 }
    };
    let mut out = if ADD { c } else { 0 };
    for i in 0..32 / BITS {
        let difference = part(a, i).abs_diff(part(b, i));
        out = if ADD {
            out.wrapping_add(difference)
        } else {
            out | (difference & ((1 << BITS) - 1)) << (BITS * i)
        };
    }
    out
}

/// `szext`: keeps the low `n` bits and fills the rest with their sign or zero; `n` wraps or clamps
/// at 32.
pub(crate) fn szext<const CLAMP: bool, const SIGNED: bool>(a: u32, n: u32) -> u32 {
    let n = if CLAMP { n.min(32) } else { n & 31 };
    if n == 0 {
        return 0;
    }
    let a = a << (32 - n);
    if SIGNED { (a as i32 >> (32 - n)) as u32 } else { a >> (32 - n) }
}

/// `shl.b32`: amounts beyond the width give 0.
pub(crate) fn shl32(a: u32, n: u32) -> u32 {
    a.checked_shl(n).unwrap_or(0)
}

pub(crate) fn shl64(a: u64, n: u32) -> u64 {
    a.checked_shl(n).unwrap_or(0)
}

pub(crate) fn shr_u64(a: u64, n: u32) -> u64 {
    a.checked_shr(n).unwrap_or(0)
}

/// `shf`: the high half of `(b:a) << n` if `LEFT`, else the low half of `(b:a) >> n`; the amount
/// wraps or clamps at 32.
pub(crate) fn funnel<const LEFT: bool, const CLAMP: bool>(a: u32, b: u32, n: u32) -> u32 {
    let n = if CLAMP { n.min(32) } else { n & 31 };
    let both = (u64::from(b) << 32) | u64::from(a);
    if LEFT { ((both << n) >> 32) as u32 } else { (both >> n) as u32 }
}

/// `lop3.b32` with its table as the fourth operand.
pub(crate) fn lop3(a: u32, b: u32, c: u32, table: u32) -> u32 {
    let mut out = 0;
    for i in 0..8 {
        let x = if i & 4 == 0 { !a } else { a };
        let y = if i & 2 == 0 { !b } else { b };
        let z = if i & 1 == 0 { !c } else { c };
        out |= x & y & z & 0_u32.wrapping_sub((table >> i) & 1);
    }
    out
}

/// `bfe.u64` and, by its mask, `bfe.u32`.
pub(crate) fn bfe_u64(a: u64, pos: u32, len: u32) -> u64 {
    let shifted = shr_u64(a, pos);
    if len >= 64 { shifted } else { shifted & ((1 << len) - 1) }
}

pub(crate) fn bfe_u32(a: u32, pos: u32, len: u32) -> u32 {
    bfe_u64(u64::from(a), pos & 0xff, len & 0xff) as u32
}

fn bfe_signed(a: u64, pos: u32, len: u32, bits: u32) -> u64 {
    let (pos, len) = (pos.min(255), len.min(255));
    if len == 0 {
        return 0;
    }
    let msb = bits - 1;
    let sign = (a >> (pos + len - 1).min(msb)) & 1;
    let mut out = 0;
    for i in 0..bits {
        let bit = if i < len && pos + i <= msb { (a >> (pos + i)) & 1 } else { sign };
        out |= bit << i;
    }
    out
}

/// `bfe.s32`: the field is filled with the sign of its last bit in range.
pub(crate) fn bfe_s32(a: u32, pos: u32, len: u32) -> u32 {
    bfe_signed(u64::from(a), pos & 0xff, len & 0xff, 32) as u32
}

pub(crate) fn bfe_s64(a: u64, pos: u32, len: u32) -> u64 {
    bfe_signed(a, pos, len, 64)
}

/// `bfi.b64`: puts the low `len` bits of `a` into `b` at `pos`.
pub(crate) fn bfi64(a: u64, b: u64, pos: u32, len: u32) -> u64 {
    let field = if len >= 64 { u64::MAX } else { (1 << len) - 1 };
    let mask = shl64(field, pos);
    (b & !mask) | (shl64(a, pos) & mask)
}

pub(crate) fn bfi32(a: u32, b: u32, pos: u32, len: u32) -> u32 {
    bfi64(u64::from(a), u64::from(b), pos & 0xff, len & 0xff) as u32
}

/// `bfind` on 64 bits; `SHIFT` gives the shift that brings the found bit to the top.
pub(crate) fn bfind64<const SIGNED: bool, const SHIFT: bool>(a: u64) -> u32 {
    let a = if SIGNED && (a as i64) < 0 { !a } else { a };
    a.checked_ilog2().map_or(u32::MAX, |pos| if SHIFT { 63 - pos } else { pos })
}

pub(crate) fn bfind32<const SIGNED: bool, const SHIFT: bool>(a: u32) -> u32 {
    let a = if SIGNED && (a as i32) < 0 { !a } else { a };
    a.checked_ilog2().map_or(u32::MAX, |pos| if SHIFT { 31 - pos } else { pos })
}

/// `fns`: position of the `offset`-th set bit of `mask` counted from `base`.
pub(crate) fn fns(mask: u32, base: u32, offset: u32) -> u32 {
    let offset = offset as i32;
    let base = base & 31;
    if offset == 0 {
        return if (mask >> base) & 1 == 1 { base } else { u32::MAX };
    }
    let step = offset.signum();
    let mut count = 0;
    let mut pos = base as i32;
    while (0..32).contains(&pos) {
        if (mask >> pos) & 1 == 1 {
            count += 1;
            if count == offset.unsigned_abs() {
                return pos as u32;
            }
        }
        pos += step;
    }
    u32::MAX
}

/// `bmsk`: `len` ones from `pos` up; both wrap or clamp at 32.
pub(crate) fn bmsk<const CLAMP: bool>(pos: u32, len: u32) -> u32 {
    let (pos, len) = if CLAMP { (pos.min(32), len.min(32)) } else { (pos & 31, len & 31) };
    let field = if len >= 32 { u32::MAX } else { (1 << len) - 1 };
    shl32(field, pos)
}

/// Byte `selector & 7` of `(b:a)`, or its sign spread if bit 3 is set.
fn pick_byte(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = (u64::from(b) << 32) | u64::from(a);
    let byte = (bytes >> (8 * (selector & 7))) as u8;
    if selector & 8 == 0 { u32::from(byte) } else { u32::from(((byte as i8) >> 7) as u8) }
}

/// `prmt.b32` in its default mode.
pub(crate) fn prmt(a: u32, b: u32, control: u32) -> u32 {
    (0..4).fold(0, |out, i| out | pick_byte(a, b, (control >> (4 * i)) & 15) << (8 * i))
}

fn byte_of(a: u32, i: u32, signed: bool) -> i64 {
    let byte = (a >> (8 * i)) as u8;
    if signed { i64::from(byte as i8) } else { i64::from(byte) }
}

pub(crate) fn dp4a<const SA: bool, const SB: bool>(a: u32, b: u32, c: u32) -> u32 {
    let dot: i64 = (0..4).map(|i| byte_of(a, i, SA) * byte_of(b, i, SB)).sum();
    c.wrapping_add(dot as u32)
}

/// `dp2a`: the halves of `a` times the low or high bytes of `b`.
pub(crate) fn dp2a<const SA: bool, const SB: bool, const HI: bool>(a: u32, b: u32, c: u32) -> u32 {
    let half = |i: u32| {
        let h = (a >> (16 * i)) as u16;
        if SA { i64::from(h as i16) } else { i64::from(h) }
    };
    let first = if HI { 2 } else { 0 };
    let dot: i64 = (0..2).map(|i| half(i) * byte_of(b, first + i, SB)).sum();
    c.wrapping_add(dot as u32)
}

/// `cvt.pack.sat`: `a` above `b`, each clamped to `BITS` bits, and `c` above both.
pub(crate) fn pack_clamped<const BITS: u32, const SIGNED: bool>(a: u32, b: u32, c: u32) -> u32 {
    let (low, high) =
        if SIGNED { (-(1 << (BITS - 1)), (1 << (BITS - 1)) - 1) } else { (0, (1 << BITS) - 1) };
    let clamp = |x: u32| (x as i32).clamp(low, high) as u32 & ((1 << BITS) - 1);
    c.checked_shl(2 * BITS).unwrap_or(0) | clamp(a) << BITS | clamp(b)
}

/// `cvt.pack.sat` of two values alone.
pub(crate) fn pack2<const BITS: u32, const SIGNED: bool>(a: u32, b: u32) -> u32 {
    pack_clamped::<BITS, SIGNED>(a, b, 0)
}

#[cfg(test)]
mod tests;
