//! Values to try: the edges of each format and seeded random ones.

use super::number::{Format, format};

const INTEGERS: [u64; 24] = [
    0,
    1,
    2,
    3,
    31,
    32,
    33,
    63,
    64,
    127,
    128,
    255,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 32,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
    0x8000_8000_8000_8000,
    0x7fff_8001_ff80_7f01,
];

/// A generator of bits; the same seed gives the same ones.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// `n` values of a type; arrays of different `seed`s differ.
pub(super) fn values(ty: &str, seed: usize, n: usize) -> Vec<u64> {
    let mut random = Random(seed as u64 * 0x1234_5679 + 77);
    let pair = ty.ends_with("x2");
    let element = ty.trim_end_matches("x2");
    let bits = super::synth::width(element).unwrap_or(8);
    (0..n)
        .map(|_| match ty {
            "pred" => random.next() & 1,
            "amount" => match random.next() % 4 {
                0 | 1 => random.next() % 70,
                2 => random.next() % 300,
                _ => integer(&mut random),
            },
            _ => {
                let mut one = || match format(element) {
                    Some(f) => float(&mut random, f),
                    None => integer(&mut random),
                };
                if pair { (one() & ((1 << bits) - 1)) | one() << bits } else { one() }
            }
        })
        .collect()
}

fn integer(random: &mut Random) -> u64 {
    let pick = random.next();
    match pick % 3 {
        0 => INTEGERS[(pick >> 8) as usize % INTEGERS.len()],
        1 => random.next() >> ((pick >> 8) % 64),
        _ => random.next(),
    }
}

/// Edges, numbers near one, halves (ties of roundings to integers), and anything.
fn float(random: &mut Random, f: Format) -> u64 {
    let pick = random.next();
    let (fraction, bias) = (f.fraction, f.bias());
    let sign = (pick >> 63) << (f.bits - 1);
    let infinity = f.infinity();
    let edges = [
        0,
        1,
        2,
        (1 << fraction) - 1,
        1 << fraction,
        (1 << fraction) + 1,
        infinity - 1,
        infinity - 2,
        infinity,
        infinity | 1,
        infinity | 1 << (fraction - 1),
        bias << fraction,
        (bias - 1) << fraction,
        (bias << fraction) - 1,
        (bias << fraction) + 1,
        (bias + 1) << fraction,
    ];
    let mask = (1 << fraction) - 1;
    sign | match pick % 5 {
        0 => edges[(pick >> 8) as usize % edges.len()],
        1 | 2 => {
            let exponent = bias - 6 + (pick >> 8) % 24;
            exponent.min(infinity >> fraction) << fraction | (random.next() & mask)
        }
        3 => {
            // Few fraction bits: halves and sums that cancel.
            let exponent = bias - 2 + (pick >> 8) % 14;
            let keep = 3.min(fraction);
            exponent.min((infinity >> fraction) - 1) << fraction
                | (random.next() & mask) >> (fraction - keep) << (fraction - keep)
        }
        _ => random.next() & (f.sign() - 1),
    }
}
