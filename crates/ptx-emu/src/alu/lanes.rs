//! Lifts scalar functions to functions over the 32 lanes of a warp.
//!
//! Every macro yields a plain function pointer whose body is a loop over the scalar function, so
//! the compiler inlines and vectorises it.

macro_rules! lift {
    ($name:ident, $out:ty, ($($arg:ident: $ty:ty),+)) => {
        macro_rules! $name {
            ($f:expr) => {{
                fn run($($arg: &$ty),+) -> $out {
                    let f = $f;
                    let mut out: $out = [Default::default(); 32];
                    for i in 0..32 {
                        out[i] = f($($arg[i]),+);
                    }
                    out
                }
                run as fn($(&$ty),+) -> $out
            }};
        }
        pub(crate) use $name;
    };
}

macro_rules! lift_test {
    ($name:ident, ($($arg:ident: $ty:ty),+)) => {
        macro_rules! $name {
            ($f:expr) => {{
                fn run($($arg: &$ty),+) -> u32 {
                    let f = $f;
                    let mut bits = [0_u32; 32];
                    for i in 0..32 {
                        bits[i] = u32::from(f($($arg[i]),+)) << i;
                    }
                    bits.iter().fold(0, |m, b| m | b)
                }
                run as fn($(&$ty),+) -> u32
            }};
        }
        pub(crate) use $name;
    };
}

lift!(w1, [u32; 32], (a: [u32; 32]));
lift!(w2, [u32; 32], (a: [u32; 32], b: [u32; 32]));
lift!(w3, [u32; 32], (a: [u32; 32], b: [u32; 32], c: [u32; 32]));
lift!(w4, [u32; 32], (a: [u32; 32], b: [u32; 32], c: [u32; 32], d: [u32; 32]));
lift!(d1, [u64; 32], (a: [u64; 32]));
lift!(d2, [u64; 32], (a: [u64; 32], b: [u64; 32]));
lift!(d3, [u64; 32], (a: [u64; 32], b: [u64; 32], c: [u64; 32]));
lift!(w_to_d, [u64; 32], (a: [u32; 32]));
lift!(d_to_w, [u32; 32], (a: [u64; 32]));
lift!(ww_to_d, [u64; 32], (a: [u32; 32], b: [u32; 32]));
lift!(wwd_to_d, [u64; 32], (a: [u32; 32], b: [u32; 32], c: [u64; 32]));
lift!(dw_to_d, [u64; 32], (a: [u64; 32], b: [u32; 32]));
lift!(dww_to_d, [u64; 32], (a: [u64; 32], b: [u32; 32], c: [u32; 32]));
lift!(ddww_to_d, [u64; 32], (a: [u64; 32], b: [u64; 32], c: [u32; 32], d: [u32; 32]));
lift_test!(w_to_p, (a: [u32; 32]));
lift_test!(d_to_p, (a: [u64; 32]));
lift_test!(ww_to_p, (a: [u32; 32], b: [u32; 32]));
lift_test!(dd_to_p, (a: [u64; 32], b: [u64; 32]));
