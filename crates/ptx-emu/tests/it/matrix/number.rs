//! Number formats of matrix elements, read and made bit by bit, and inputs of every kind.

/// A type of elements: bits, exponent bits (0 for integers) and fraction bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Type {
    pub(crate) name: &'static str,
    pub(crate) bits: u32,
    exponent: u32,
    fraction: u32,
}

const TYPES: [Type; 13] = [
    Type { name: "f16", bits: 16, exponent: 5, fraction: 10 },
    Type { name: "bf16", bits: 16, exponent: 8, fraction: 7 },
    Type { name: "tf32", bits: 32, exponent: 8, fraction: 23 },
    Type { name: "f32", bits: 32, exponent: 8, fraction: 23 },
    Type { name: "f64", bits: 64, exponent: 11, fraction: 52 },
    Type { name: "e4m3", bits: 8, exponent: 4, fraction: 3 },
    Type { name: "e5m2", bits: 8, exponent: 5, fraction: 2 },
    Type { name: "s8", bits: 8, exponent: 0, fraction: 0 },
    Type { name: "u8", bits: 8, exponent: 0, fraction: 0 },
    Type { name: "s4", bits: 4, exponent: 0, fraction: 0 },
    Type { name: "u4", bits: 4, exponent: 0, fraction: 0 },
    Type { name: "b1", bits: 1, exponent: 0, fraction: 0 },
    Type { name: "s32", bits: 32, exponent: 0, fraction: 0 },
];

impl Type {
    /// The type of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        TYPES.iter().find(|t| t.name == name).copied()
    }

    pub(crate) fn is_float(self) -> bool {
        self.exponent > 0
    }

    fn bias(self) -> u64 {
        (1 << (self.exponent - 1)) - 1
    }

    fn float(self, sign: u64, field: u64, fraction: u64) -> u64 {
        (sign << (self.bits - 1)) | (field << self.fraction) | fraction
    }

    /// Bits of a small integer.
    fn whole(self, value: i64) -> u64 {
        let magnitude = value.unsigned_abs();
        if magnitude == 0 {
            return 0;
        }
        let exponent = u64::from(magnitude.ilog2());
        let fraction = (magnitude - (1 << exponent)) << self.fraction >> exponent;
        self.float(u64::from(value < 0), self.bias() + exponent, fraction)
    }

    /// Value of a float's bits; `tf32` counts its upper 19 bits.
    pub(crate) fn value(self, bits: u64) -> f64 {
        if self.name == "f64" {
            return f64::from_bits(bits);
        }
        let bits = if self.name == "tf32" { bits & 0xffff_e000 } else { bits };
        let sign = if bits >> (self.bits - 1) == 1 { -1.0 } else { 1.0 };
        let fraction = bits & ((1 << self.fraction) - 1);
        let field = (bits >> self.fraction) & ((1 << self.exponent) - 1);
        let all = (1 << self.exponent) - 1;
        if self.name == "e4m3" {
            if field == all && fraction == 7 {
                return f64::NAN;
            }
        } else if field == all {
            return if fraction == 0 { sign * f64::INFINITY } else { f64::NAN };
        }
        let (field, hidden) = if field == 0 { (1, 0) } else { (field, 1 << self.fraction) };
        let power = i32::try_from(field).expect("an exponent field is small")
            - i32::try_from(self.bias() + u64::from(self.fraction)).expect("so is a bias");
        sign * (fraction + hidden) as f64 * 2_f64.powi(power)
    }

    /// Value of an integer's bits.
    pub(crate) fn integer(self, bits: u64) -> i64 {
        let shift = 64 - self.bits;
        if self.name.starts_with('s') { ((bits << shift) as i64) >> shift } else { bits as i64 }
    }

    fn edges(self) -> Vec<u64> {
        let ones = (1 << self.fraction) - 1;
        let all = (1 << self.exponent) - 1;
        let mut list = vec![0, 1 << (self.bits - 1), 1, ones, self.float(0, 1, 0)];
        if self.name == "e4m3" {
            list.extend([self.float(0, all, 6), self.float(1, all, 6), self.float(0, all, 7)]);
        } else {
            let nan = self.float(0, all, 1 << (self.fraction - 1));
            list.extend([self.float(0, all - 1, ones), self.float(1, all - 1, ones)]);
            list.extend([self.float(0, all, 0), self.float(1, all, 0), nan]);
        }
        if self.name == "tf32" {
            list.iter_mut().for_each(|bits| *bits &= 0xffff_e000);
        }
        list
    }

    fn element(self, kind: char, r: u64, s: u64) -> u64 {
        let random = s >> (64 - self.bits);
        if self.name == "s32" {
            let step = r % 1000;
            return match (kind, r >> 63) {
                ('s', _) => step.wrapping_sub(500) & 0xffff_ffff,
                ('n', _) => random,
                (_, 0) => 0x7fff_ffff - step,
                _ => 0x8000_0000 + step,
            };
        }
        if !self.is_float() {
            // Largest and smallest, signed and unsigned.
            let half = 1 << (self.bits - 1);
            let ends = [0, half - 1, half, 2 * half - 1];
            return if kind == 'e' && !r.is_multiple_of(4) {
                ends[(r >> 8) as usize % 4]
            } else {
                random
            };
        }
        let near = || {
            let fraction = s & ((1 << self.fraction) - 1);
            self.float(r & 1, self.bias() - 3 + (r >> 8) % 4, fraction)
        };
        let small = || self.whole(((r >> 8) % 9) as i64 - 4);
        match (kind, r >> 60) {
            ('n', _) | ('e', 1) => near(),
            ('e', 0) => {
                let edges = self.edges();
                edges[(r >> 8) as usize % edges.len()]
            }
            _ => small(),
        }
    }

    /// `n` elements, packed: `s`mall integers, `n`ear one, or with `e`dges among them.
    pub(crate) fn inputs(self, kind: char, array: u64, n: usize) -> Vec<u8> {
        let mut state = 0x9E37_79B9_7F4A_7C15 ^ (u64::from(kind) * 1_000_003 + array);
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for _ in 0..8 {
            random();
        }
        let mut bytes = vec![0; n * self.bits as usize / 8];
        for i in 0..n {
            let (r, s) = (random(), random());
            let (value, at) = (self.element(kind, r, s), i * self.bits as usize);
            for bit in 0..self.bits as usize {
                bytes[(at + bit) / 8] |= ((value >> bit & 1) as u8) << ((at + bit) % 8);
            }
        }
        bytes
    }

    /// Bits of element `i` of packed ones.
    pub(crate) fn get(self, bytes: &[u8], i: usize) -> u64 {
        let at = i * self.bits as usize;
        (0..self.bits as usize).fold(0, |value, bit| {
            value | u64::from(bytes[(at + bit) / 8] >> ((at + bit) % 8) & 1) << bit
        })
    }
}

#[test]
fn inputs_are_those_of_the_script() {
    for (name, kind, want) in [
        ("f16", 'e', 0xaaa7_5bab_e96d_99c2),
        ("tf32", 'n', 0xb1e0_5747_5bad_5010),
        ("f64", 's', 0x58fe_b58b_638f_1480),
        ("e4m3", 'e', 0x7bab_c995_43a8_a84c),
        ("s4", 'e', 0x6f6c_d411_b988_ee0e),
        ("s32", 'e', 0x0f9a_4085_4dff_af55),
        ("b1", 'n', 0x5d2a_cd40_d9a0_51d2),
    ] {
        let bytes = Type::named(name).expect("a type").inputs(kind, 1, 256);
        assert_eq!(super::hash(&bytes), want, "{name} {kind}");
    }
}
