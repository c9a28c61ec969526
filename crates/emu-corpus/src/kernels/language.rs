//! The language beyond arithmetic: templates, structs by value, local arrays, function
//! pointers, recursion, 64-bit integers, `printf` and `assert`.

use crate::{Agreement, Arg, Case, Dtype, Fill, Kernel, float, inout, input, int, long, output};

/// The kernels of this family.
pub(super) fn list() -> Vec<Kernel> {
    vec![
        strided_poly(),
        mix_vec8(),
        function_pointers(),
        recursion(),
        switch(),
        hash64(),
        median3x3(),
        printf_assert(),
    ]
}

/// The struct `Params` of the kernel `strided`.
fn params(shape: [i32; 4], stride: [i64; 4], alpha: f32, flag: bool) -> Arg {
    let mut bytes: Vec<u8> = shape.iter().flat_map(|v| v.to_le_bytes()).collect();
    bytes.extend(stride.iter().flat_map(|v| v.to_le_bytes()));
    bytes.extend(alpha.to_le_bytes());
    bytes.extend([u8::from(flag), 0, 0, 0]);
    Arg::Scalar(bytes)
}

/// The results of `hash64` for key `i`: hash, quotient, remainder and three bit counts.
fn mixed(i: usize, key: u64) -> (i64, [i64; 2], [u64; 3]) {
    let mut z = key.wrapping_add(0x1234_5678_9abc_def1_u64.wrapping_mul(i as u64 + 1));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    let a = z.cast_signed() >> 12;
    let b = match (key % 1000).cast_signed() - 500 {
        0 => 7,
        b => b,
    };
    let ones = u64::from(z.count_ones() + 100 * z.leading_zeros());
    let first = if z == 0 { 0 } else { u64::from(z.trailing_zeros()) + 1 };
    let high = ((u128::from(z) * 1_000_003) >> 64) as u64 & 0xf_ffff;
    let bits = [ones, first + (z.reverse_bits() >> 50), high];
    ((z >> 11).cast_signed(), [a / b, a % b], bits)
}

fn hashes(case: &Case) -> Vec<Vec<f64>> {
    let (mut hash, mut quotient, mut bits) = (vec![], vec![], vec![]);
    for (i, key) in case.values("key").into_iter().enumerate() {
        let (h, q, b) = mixed(i, key as u64);
        hash.push(h as f64);
        quotient.extend(q.map(|v| v as f64));
        bits.extend(b.map(|v| v as f64));
    }
    vec![hash, quotient, bits]
}

/// Median of the 3x3 neighbourhood with clamped borders.
fn median(img: &[f64], [h, w]: [usize; 2], y: usize, x: usize) -> f64 {
    let rows = [y.saturating_sub(1), y, (y + 1).min(h - 1)];
    let cols = [x.saturating_sub(1), x, (x + 1).min(w - 1)];
    let mut around: Vec<f64> =
        rows.iter().flat_map(|r| cols.iter().map(move |c| img[r * w + c])).collect();
    around.sort_by(f64::total_cmp);
    around[4]
}

fn strided_poly() -> Kernel {
    Kernel {
        name: "strided_poly",
        file: "templ_lambda",
        source: include_str!("../../kernels/templ_lambda.cu"),
        entry: "strided",
        grid: [2, 1, 1],
        block: [96, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::F32, 420, Fill::Uniform(-1.0, 1.0)),
            output("y", Dtype::F32, 420),
            params([3, 4, 5, 7], [1, 3, 12, 60], 0.75, true),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Exact,
        want: |case| {
            let x = case.values("x");
            let poly = |v: f64| {
                [0.5, -1.0, 0.25, 2.0, -0.125, 1.5].iter().rev().fold(0.0, |r, c| r * v + c)
            };
            let at = |i: usize| i / 140 + i / 35 % 4 * 3 + i / 7 % 5 * 12 + i % 7 * 60;
            vec![(0..420).map(|i| poly(0.75 * x[at(i)])).collect()]
        },
    }
}

fn mix_vec8() -> Kernel {
    Kernel {
        name: "mix_vec8",
        file: "templ_lambda",
        source: include_str!("../../kernels/templ_lambda.cu"),
        entry: "mixk",
        grid: [2, 1, 1],
        block: [48, 1, 1],
        smem: 0,
        args: vec![
            input("a", Dtype::F32, 8 * 75, Fill::Uniform(-1.0, 1.0)),
            input("b", Dtype::F32, 8 * 75, Fill::Uniform(-1.0, 1.0)),
            output("c", Dtype::F32, 8 * 75),
            float(0.25),
            int(75),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Exact,
        want: |case| {
            let mix = |(a, b): (f64, f64)| 0.75 * a + 0.25 * b;
            vec![case.values("a").into_iter().zip(case.values("b")).map(mix).collect()]
        },
    }
}

fn function_pointers() -> Kernel {
    Kernel {
        name: "function_pointers",
        file: "templ_lambda",
        source: include_str!("../../kernels/templ_lambda.cu"),
        entry: "indirect",
        grid: [3, 1, 1],
        block: [64, 1, 1],
        smem: 0,
        args: vec![
            input("a", Dtype::F32, 150, Fill::Uniform(-1.0, 1.0)),
            input("b", Dtype::F32, 150, Fill::Uniform(-1.0, 1.0)),
            input("which", Dtype::I32, 150, Fill::Uniform(0.0, 4.0)),
            output("c", Dtype::F32, 150),
            int(150),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Exact,
        want: |case| {
            let (a, b) = (case.values("a"), case.values("b"));
            let one = |(i, which): (usize, f64)| match which {
                0.0 | 2.0 => a[i] + b[i],
                _ => a[i] * b[i],
            };
            vec![case.values("which").into_iter().enumerate().map(one).collect()]
        },
    }
}

fn recursion() -> Kernel {
    Kernel {
        name: "recursion",
        file: "templ_lambda",
        source: include_str!("../../kernels/templ_lambda.cu"),
        entry: "rec",
        grid: [2, 1, 1],
        block: [64, 1, 1],
        smem: 0,
        args: vec![output("o", Dtype::I32, 101), int(101)],
        arch: 80,
        tolerance: 0.0,
        agreement: Agreement::Exact,
        want: |case| {
            assert_eq!(case.args.len(), 2);
            let fib = [0.0, 1.0, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0, 34.0];
            vec![(0..101).map(|i| fib[i % 10]).collect()]
        },
    }
}

fn switch() -> Kernel {
    Kernel {
        name: "switch",
        file: "templ_lambda",
        source: include_str!("../../kernels/templ_lambda.cu"),
        entry: "sw",
        grid: [3, 1, 1],
        block: [96, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::I32, 250, Fill::Uniform(-100.0, 100.0)),
            output("y", Dtype::I32, 250),
            int(250),
        ],
        arch: 80,
        tolerance: 0.0,
        agreement: Agreement::Exact,
        want: |case| {
            let one = |(i, x): (i64, f64)| {
                let x = x as i64;
                let y = match x & 7 {
                    0 => i / 7,
                    1 => i % 13,
                    2 => i * i,
                    3 => -i,
                    4 => i >> 3,
                    5 => x ^ 0x55,
                    _ => (i * 0x1234_5678) >> 32,
                };
                y as f64
            };
            vec![(0..).zip(case.values("x")).map(one).collect()]
        },
    }
}

fn hash64() -> Kernel {
    Kernel {
        name: "hash64",
        file: "hash64",
        source: include_str!("../../kernels/hash64.cu"),
        entry: "hash64",
        grid: [3, 1, 1],
        block: [96, 1, 1],
        smem: 0,
        args: vec![
            input("key", Dtype::U32, 250, Fill::Uniform(0.0, 4294967296.0)),
            output("hash", Dtype::I64, 250),
            output("quotient", Dtype::I64, 500),
            output("bits", Dtype::I32, 750),
            long(0x1234_5678_9abc_def1),
            int(250),
        ],
        arch: 80,
        tolerance: 0.0,
        agreement: Agreement::Exact,
        want: |case| hashes(case),
    }
}

fn median3x3() -> Kernel {
    Kernel {
        name: "median3x3",
        file: "median3x3",
        source: include_str!("../../kernels/median3x3.cu"),
        entry: "median3x3",
        grid: [2, 3, 1],
        block: [32, 8, 1],
        smem: 0,
        args: vec![
            input("img", Dtype::F32, 19 * 37, Fill::Uniform(0.0, 1.0)),
            output("out", Dtype::F32, 19 * 37),
            int(19),
            int(37),
        ],
        arch: 80,
        tolerance: 0.0,
        agreement: Agreement::Exact,
        want: |case| {
            let img = case.values("img");
            vec![(0..19 * 37).map(|i| median(&img, [19, 37], i / 37, i % 37)).collect()]
        },
    }
}

fn printf_assert() -> Kernel {
    Kernel {
        name: "printf_assert",
        file: "printf_assert",
        source: include_str!("../../kernels/printf_assert.cu"),
        entry: "scale_checked",
        grid: [4, 1, 1],
        block: [96, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::F32, 350, Fill::Uniform(-2.0, 2.0)),
            output("y", Dtype::F32, 350),
            inout("large", Dtype::I32, 1, Fill::Zeros),
            int(350),
        ],
        arch: 80,
        tolerance: 0.0,
        agreement: Agreement::Exact,
        want: |case| {
            let x = case.values("x");
            let large = x.iter().filter(|v| **v > f64::from(1.98_f32)).count();
            vec![x.iter().map(|v| 0.5 * v).collect(), vec![large as f64]]
        },
    }
}
