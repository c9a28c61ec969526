//! Elements of factors as f32, which holds all of them exactly.

use crate::op::Element;

/// 2^112, between the exponent biases of f16 and f32.
const FROM_F16: f32 = f32::from_bits((127 + 112) << 23);
/// 2^120, between the exponent biases of e4m3 and f32.
const FROM_E4M3: f32 = f32::from_bits((127 + 120) << 23);

/// Value of the f16 in the upper half of `bits`; `e5m2` is the upper half of an f16.
#[inline]
fn f16(bits: u32) -> f32 {
    // The fields fall into place, but for the bias; a multiplication sets that right for subnormal
    // numbers, too.
    let value = f32::from_bits((bits & 0x7fff_0000) >> 3) * FROM_F16;
    let special = if bits & 0x7c00_0000 == 0x7c00_0000 { 0x7f80_0000 } else { 0 };
    f32::from_bits(value.to_bits() | special | (bits & 0x8000_0000))
}

/// Value of the `e4m3` in the upper byte of `bits`.
#[inline]
fn e4m3(bits: u32) -> f32 {
    let value = f32::from_bits((bits & 0x7f00_0000) >> 4) * FROM_E4M3;
    let special = if bits & 0x7f00_0000 == 0x7f00_0000 { 0x7fc0_0000 } else { 0 };
    f32::from_bits(value.to_bits() | special | (bits & 0x8000_0000))
}

/// The elements of words: element `e` of `words[i]` goes to `out[e * words.len() + i]`.
pub(super) fn decode(element: Element, words: &[u32], out: &mut [f32]) {
    match element {
        Element::F16 => spread(words, out, 16, f16),
        Element::Bf16 => spread(words, out, 16, |w| f32::from_bits(w & 0xffff_0000)),
        // The machine reads the upper 19 bits.
        Element::Tf32 => spread(words, out, 32, |w| f32::from_bits(w & 0xffff_e000)),
        Element::E4m3 => spread(words, out, 8, e4m3),
        Element::E5m2 => spread(words, out, 8, |w| f16(w & 0xff00_0000)),
        Element::S8 => spread(words, out, 8, |w| (w as i32 >> 24) as f32),
        Element::U8 => spread(words, out, 8, |w| (w >> 24) as i32 as f32),
        Element::S4 => spread(words, out, 4, |w| (w as i32 >> 28) as f32),
        Element::U4 => spread(words, out, 4, |w| (w >> 28) as i32 as f32),
        Element::F32 | Element::F64 | Element::S32 | Element::B1 => {}
    }
}

/// Applies `value` to words that have one element after the other in their upper bits.
#[inline]
fn spread(words: &[u32], out: &mut [f32], bits: u32, value: impl Fn(u32) -> f32) {
    for (e, row) in out.chunks_exact_mut(words.len()).enumerate() {
        let shift = 32 - bits * (e as u32 + 1);
        for (out, word) in row.iter_mut().zip(words) {
            *out = value(word << shift);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::decode;
    use crate::op::Element;

    #[test]
    fn every_f16_and_bf16_has_its_value() {
        for bits in 0..=u16::MAX {
            let mut out = [0.0; 2];
            decode(Element::F16, &[u32::from(bits) << 16 | 0x3c00], &mut out);
            let want = half::f16::from_bits(bits).to_f32();
            assert!(out[1].to_bits() == want.to_bits() || want.is_nan() && out[1].is_nan());
            assert_eq!(out[0].to_bits(), 1_f32.to_bits());
            decode(Element::Bf16, &[u32::from(bits)], &mut out);
            assert_eq!(out[0].to_bits(), u32::from(bits) << 16);
        }
    }

    #[test]
    fn every_8_bit_float_has_its_value() {
        for bits in 0..=u8::MAX {
            let sign = if bits & 0x80 == 0 { 1.0 } else { -1.0 };
            let magnitude = bits & 0x7f;
            let field = |fraction: i32, bias: i32| {
                let (e, f) =
                    (i32::from(magnitude >> fraction), i32::from(magnitude) % (1 << fraction));
                let (e, f) = if e == 0 { (1, f) } else { (e, f + (1 << fraction)) };
                sign * f64::from(f) * 2_f64.powi(e - bias - fraction)
            };
            let mut out = [0.0; 4];
            decode(Element::E4m3, &[u32::from(bits) << 8], &mut out);
            let want = if magnitude == 0x7f { f64::NAN } else { field(3, 7) };
            assert!(
                f64::from(out[1]).to_bits() == want.to_bits() || (want.is_nan() && out[1].is_nan())
            );
            decode(Element::E5m2, &[u32::from(bits) << 24], &mut out);
            let want = match magnitude {
                0x7c => sign * f64::INFINITY,
                0x7d.. => f64::NAN,
                _ => field(2, 15),
            };
            assert!(
                f64::from(out[3]).to_bits() == want.to_bits() || (want.is_nan() && out[3].is_nan())
            );
        }
    }

    #[test]
    fn integers_keep_their_sign() {
        let mut out = [0.0; 8];
        decode(Element::S4, &[0xfedc_ba98], &mut out);
        assert_eq!(out.map(|v| v as i32), [-8, -7, -6, -5, -4, -3, -2, -1]);
        decode(Element::U4, &[0xfedc_ba98], &mut out);
        assert_eq!(out.map(|v| v as i32), [8, 9, 10, 11, 12, 13, 14, 15]);
        decode(Element::S8, &[0x80ff_7f01], &mut out[..4]);
        assert_eq!(out[..4].iter().map(|v| *v as i32).collect::<Vec<_>>(), [1, 127, -1, -128]);
        decode(Element::U8, &[0x80ff_7f01], &mut out[..4]);
        assert_eq!(out[..4].iter().map(|v| *v as i32).collect::<Vec<_>>(), [1, 127, 255, 128]);
    }
}
