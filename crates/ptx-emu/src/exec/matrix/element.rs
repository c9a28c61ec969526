//! Elements of factors as f32, which holds all of them exactly.

use crate::op::Element;

/// 2^112, between the exponent biases of f16 and f32.
const FROM_F16: f32 = f32::from_bits((127 + 112) << 23);
/// 2^120, between the exponent biases of e4m3 and f32.
const FROM_E4M3: f32 = f32::from_bits((127 + 120) << 23);

/// `bits` or zero, without a branch.
#[inline]
fn where_true(condition: bool, bits: u32) -> u32 {
    u32::from(condition).wrapping_neg() & bits
}

/// Value of the f16 in the upper half of `bits`; `e5m2` is the upper half of an f16.
#[inline]
fn f16(bits: u32) -> f32 {
    // The fields fall into place, but for the bias; a multiplication sets that right for subnormal
    // numbers, too.
    let value = f32::from_bits((bits & 0x7fff_0000) >> 3) * FROM_F16;
    let special = where_true(bits & 0x7c00_0000 == 0x7c00_0000, 0x7f80_0000);
    f32::from_bits(value.to_bits() | special | (bits & 0x8000_0000))
}

/// Value of the `e4m3` in the upper byte of `bits`.
#[inline]
fn e4m3(bits: u32) -> f32 {
    let value = f32::from_bits((bits & 0x7f00_0000) >> 4) * FROM_E4M3;
    let special = where_true(bits & 0x7f00_0000 == 0x7f00_0000, 0x7fc0_0000);
    f32::from_bits(value.to_bits() | special | (bits & 0x8000_0000))
}

/// The elements of words: element `e` of `words[i]` goes to `out[e * words.len() + i]`.
pub(in crate::exec) fn decode(element: Element, words: &[u32], out: &mut [f32]) {
    match element {
        Element::F16 => spread::<2>(words, out, f16),
        Element::Bf16 => spread::<2>(words, out, |w| f32::from_bits(w & 0xffff_0000)),
        // The machine reads the upper 19 bits.
        Element::Tf32 => spread::<1>(words, out, |w| f32::from_bits(w & 0xffff_e000)),
        Element::E4m3 => spread::<4>(words, out, e4m3),
        Element::E5m2 => spread::<4>(words, out, |w| f16(w & 0xff00_0000)),
        Element::S8 => spread::<4>(words, out, |w| (w as i32 >> 24) as f32),
        Element::U8 => spread::<4>(words, out, |w| (w >> 24) as i32 as f32),
        Element::S4 => spread::<8>(words, out, |w| (w as i32 >> 28) as f32),
        Element::U4 => spread::<8>(words, out, |w| (w >> 28) as i32 as f32),
        Element::B1 => spread::<32>(words, out, |w| (w >> 31) as f32),
        Element::F32 | Element::F64 | Element::S32 => {}
    }
}

/// Applies `value` to words that have one of their `PER` elements after the other in their upper
/// bits.
#[inline]
fn spread<const PER: usize>(words: &[u32], out: &mut [f32], value: impl Fn(u32) -> f32) {
    for (e, plane) in out.chunks_exact_mut(words.len()).enumerate() {
        let shift = (32 / PER) * (PER - 1 - e);
        for (out, word) in plane.iter_mut().zip(words) {
            *out = value(word << shift);
        }
    }
}

/// Nearest f16, in the lower half of the result.
#[inline]
pub(in crate::exec) fn to_f16(value: f32) -> u32 {
    let bits = value.to_bits();
    let (sign, magnitude) = ((bits >> 16) & 0x8000, bits & 0x7fff_ffff);
    // An odd mantissa rounds up from the half.
    let odd = (magnitude >> 13) & 1;
    let normal = magnitude.wrapping_add(0x0fff + odd).wrapping_sub(112 << 23) >> 13;
    // The last place of 0.5 is that of the smallest f16, so the sum rounds to it.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5_f32.to_bits());
    let finite = if magnitude < 113 << 23 { subnormal } else { normal };
    let bounded = if magnitude >= 0x477f_f000 { 0x7c00 } else { finite };
    if magnitude > 0x7f80_0000 { 0x7fff } else { sign | bounded }
}

/// Value of the f16 in the lower half of a word.
#[inline]
pub(in crate::exec) fn from_f16(bits: u32) -> f32 {
    f16(bits << 16)
}

#[cfg(test)]
mod tests {
    use super::{decode, from_f16, to_f16};
    use crate::op::Element;

    /// The elements of a word, low to high.
    fn elements(element: Element, word: u32) -> Vec<f32> {
        let mut out = vec![0.0; 2 * element.per_register()];
        decode(element, &[0, word], &mut out);
        out.chunks(2).map(|plane| plane[1]).collect()
    }

    fn same(got: f32, want: f64) -> bool {
        f64::from(got).to_bits() == want.to_bits() || (want.is_nan() && got.is_nan())
    }

    #[test]
    fn every_f16_and_bf16_has_its_value() {
        for bits in 0..=u16::MAX {
            let word = u32::from(bits) << 16 | 0x3c00;
            let want = half::f16::from_bits(bits);
            assert!(same(elements(Element::F16, word)[1], want.to_f64()));
            assert!(same(elements(Element::F16, word)[0], 1.0));
            assert!(same(from_f16(u32::from(bits)), want.to_f64()));
            let want = f32::from_bits(u32::from(bits) << 16);
            assert!(same(elements(Element::Bf16, u32::from(bits))[0], f64::from(want)));
        }
    }

    #[test]
    fn f16_rounds_to_nearest_even() {
        for bits in 0..0x7c00_u16 {
            let (low, high) = (half::f16::from_bits(bits), half::f16::from_bits(bits + 1));
            let middle = f32::midpoint(
                low.to_f32(),
                if high.is_infinite() { 65536.0 } else { high.to_f32() },
            );
            for value in [low.to_f32(), middle, middle.next_down(), middle.next_up()] {
                let want = u32::from(half::f16::from_f32(value).to_bits());
                assert_eq!(to_f16(value), want, "{value:e}");
                assert_eq!(to_f16(-value), want | 0x8000, "-{value:e}");
            }
        }
        assert_eq!([f32::INFINITY, f32::MAX, f32::NAN].map(to_f16), [0x7c00, 0x7c00, 0x7fff]);
        assert_eq!([f32::MIN_POSITIVE, f32::from_bits(1), -0.0].map(to_f16), [0, 0, 0x8000]);
    }

    #[test]
    fn every_8_bit_float_has_its_value() {
        for bits in 0..=u8::MAX {
            let sign = if bits & 0x80 == 0 { 1.0 } else { -1.0 };
            let magnitude = i32::from(bits & 0x7f);
            let field = |fraction: i32, bias: i32| {
                let (e, f) = (magnitude >> fraction, magnitude % (1 << fraction));
                let (e, f) = if e == 0 { (1, f) } else { (e, f + (1 << fraction)) };
                sign * f64::from(f) * 2_f64.powi(e - bias - fraction)
            };
            let want = if magnitude == 0x7f { f64::NAN } else { field(3, 7) };
            assert!(same(elements(Element::E4m3, u32::from(bits) << 8)[1], want));
            let want = match magnitude {
                0x7c => sign * f64::INFINITY,
                0x7d.. => f64::NAN,
                _ => field(2, 15),
            };
            assert!(same(elements(Element::E5m2, u32::from(bits) << 24)[3], want));
        }
    }

    #[test]
    fn integers_keep_their_sign() {
        let of = |element, word| {
            elements(element, word).into_iter().map(|v| v as i32).collect::<Vec<_>>()
        };
        assert_eq!(of(Element::S4, 0xfedc_ba98), [-8, -7, -6, -5, -4, -3, -2, -1]);
        assert_eq!(of(Element::U4, 0xfedc_ba98), [8, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(of(Element::S8, 0x80ff_7f01), [1, 127, -1, -128]);
        assert_eq!(of(Element::U8, 0x80ff_7f01), [1, 127, 255, 128]);
    }
}
