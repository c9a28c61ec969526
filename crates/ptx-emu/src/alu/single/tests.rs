use super::{NAN, add, div_round, extreme, fma, fma_fused, fma_round};
use crate::alu::convert::{BF16, F16, F32, Round};

/// Bit patterns of all exponents, with the edges among them.
fn patterns(n: usize, seed: u32) -> Vec<u32> {
    let mut state = seed;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    let edges = [0, 1 << 31, 1, 0x007f_ffff, 0x0080_0000, 0x7f7f_ffff, 0x7f80_0000, 0x3f80_0000];
    (0..n).map(|i| if i % 5 == 0 { edges[next() as usize % 8] } else { next() }).collect()
}

fn canonical(value: f32) -> u32 {
    if value.is_nan() { NAN } else { value.to_bits() }
}

#[test]
fn fma_rounds_once() {
    let (a, b, c) = (patterns(32 * 2000, 1), patterns(32 * 2000, 2), patterns(32 * 2000, 3));
    // Near cancellation and near the subnormals a second rounding would show.
    let near: Vec<u32> = a
        .iter()
        .zip(&b)
        .map(|(a, b)| {
            let product = f32::from_bits(*a) * f32::from_bits(*b);
            (-product).to_bits() ^ 1
        })
        .collect();
    for c in [&c, &near] {
        for ((a, b), c) in a.iter().zip(&b).zip(c) {
            let of = f32::from_bits;
            let want = canonical(libm::fmaf(of(*a), of(*b), of(*c)));
            assert_eq!(fma::<false, false>(*a, *b, *c), want, "{a:x} {b:x} {c:x}");
            assert_eq!(fma_fused::<false, false>(*a, *b, *c), want, "{a:x} {b:x} {c:x}");
        }
    }
}

#[test]
fn directions_bracket_the_exact_result() {
    for (a, b) in patterns(5000, 7).into_iter().zip(patterns(5000, 9)) {
        let (x, y) = (f32::from_bits(a), f32::from_bits(b));
        if !(x / y).is_finite() || !(x * y).is_finite() {
            continue;
        }
        let exact = f64::from(x) * f64::from(y);
        let down = f32::from_bits(fma_round::<false, false>(a, b, 0, Round::Down));
        let up = f32::from_bits(fma_round::<false, false>(a, b, 0, Round::Up));
        assert!(f64::from(down) <= exact && exact <= f64::from(up), "{x} {y}");
        let down = f32::from_bits(div_round::<false>(a, b, Round::Down));
        let up = f32::from_bits(div_round::<false>(a, b, Round::Up));
        assert!(down <= x / y && x / y <= up, "{x} / {y}: {down} {up}");
    }
}

#[test]
fn special_values() {
    let (zero, minus_zero, one, nan) = (0, 1 << 31, 0x3f80_0000, 0x7fc0_0000);
    for (got, want) in [
        (extreme::<true, false, false, false>(nan, one), one),
        (extreme::<true, false, false, true>(nan, one), NAN),
        (extreme::<true, false, false, false>(zero, minus_zero), zero),
        (extreme::<false, false, false, false>(zero, minus_zero), minus_zero),
        (extreme::<false, false, false, false>(nan, nan), NAN),
        (add::<false, true>(one, one), one),
        (add::<true, false>(1, 0), 0),
        (add::<false, false>(1, 0), 1),
        (add::<true, false>(0x8000_0001, minus_zero), minus_zero),
    ] {
        assert_eq!(got, want);
    }
}

#[test]
fn formats_round_like_the_half_crate() {
    for bits in patterns(20_000, 11) {
        let value = f32::from_bits(bits);
        if value.is_nan() {
            continue;
        }
        let wide = f64::from(value);
        assert_eq!(
            F16.round(wide, Round::Nearest),
            u64::from(half::f16::from_f32(value).to_bits())
        );
        assert_eq!(
            BF16.round(wide, Round::Nearest),
            u64::from(half::bf16::from_f32(value).to_bits())
        );
        assert_eq!(F32.round(wide, Round::Zero), u64::from(bits));
        let half = u64::from(half::f16::from_f32(value).to_bits());
        assert_eq!(F16.value(half), half::f16::from_f32(value).to_f64());
    }
}
