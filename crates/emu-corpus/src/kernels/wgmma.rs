//! Products of warpgroups, and a sparse one.

use super::asynchronous::{kernel, map};
use crate::{Agreement, Arg, Case, Dtype, Fill, Kernel, MapShape, input, int, output};

/// Values that all types of factors hold; their number shares no factor with a row's length.
const EXACT: Fill =
    Fill::Values(&[0.5, -1.0, 2.0, 0.25, -0.75, 1.5, 1.0, -2.0, 0.125, -0.5, 3.0, -1.25, 0.0]);

/// Bits of e4m3, and what they stand for.
const E4M3: [(u8, f64); 7] =
    [(56, 1.0), (64, 2.0), (184, -1.0), (48, 0.5), (0, 0.0), (196, -3.0), (60, 1.5)];

const E4M3_BITS: Fill = Fill::Values(&[56.0, 64.0, 184.0, 48.0, 0.0, 196.0, 60.0]);

/// Metadata of chunks of four elements, in ascending order.
const METADATA: Fill = Fill::Values(&[
    0x4e9c_d84e_u32 as f64,
    0x89cd_e444_u32 as f64,
    0xe8d4_9c4d_u32 as f64,
    0xc4e9_8d9e_u32 as f64,
    0xd9e4_c8c8_u32 as f64,
]);

/// `[m, n] = a [m, k] * b [n, k]^T`.
fn product(a: &[f64], b: &[f64], k: usize) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum();
    a.chunks(k).flat_map(|a| b.chunks(k).map(move |b| dot(a, b))).collect()
}

fn factors(case: &Case) -> [Vec<f64>; 2] {
    [case.values("x"), case.values("w")]
}

/// Maps of two matrices of rows of `k` elements, of which boxes take rows of 128 bytes.
fn maps(dtype: Dtype, fill: &Fill, k: u64) -> [Arg; 2] {
    let inner = 128 / dtype.bytes() as u32;
    let of = |name, rows, n| {
        map(name, dtype, fill.clone(), MapShape::tiled(&[k, rows], &[inner, n], 128))
    };
    [of("x", 128, 64), of("w", 32, 32)]
}

/// Maps, and the sums as an output.
fn args(dtype: Dtype, fill: &Fill, k: u64, sums: Dtype) -> Vec<Arg> {
    maps(dtype, fill, k).into_iter().chain([output("y", sums, 128 * 32)]).collect()
}

/// The kernels of `wgmma.cu` and `sparse.cu`.
pub(super) fn list() -> Vec<Kernel> {
    let source = include_str!("../../kernels/wgmma.cu");
    let wgmma = |entry| Kernel {
        grid: [2, 1, 1],
        block: [128, 1, 1],
        tolerance: 1e-4,
        agreement: Agreement::Within(1e-3),
        ..kernel("wgmma", source, entry)
    };
    let unit = Fill::Uniform(-1.0, 1.0);
    vec![
        Kernel {
            args: args(Dtype::Bf16, &unit, 64, Dtype::F32),
            want: |case| {
                let [x, w] = factors(case);
                vec![product(&x, &w, 64)]
            },
            ..wgmma("wgmma_bf16")
        },
        Kernel {
            args: args(Dtype::F32, &EXACT, 32, Dtype::F32),
            want: |case| {
                let [x, w] = factors(case);
                vec![product(&x, &w, 32).into_iter().map(|v| v + 1.0).collect()]
            },
            ..wgmma("wgmma_tf32")
        },
        Kernel {
            args: args(Dtype::U8, &E4M3_BITS, 128, Dtype::F32),
            want: |case| {
                let value =
                    |bits: f64| E4M3.iter().find(|e| e.0 == bits as u8).map_or(f64::NAN, |e| e.1);
                let [x, w] =
                    factors(case).map(|list| list.into_iter().map(value).collect::<Vec<_>>());
                vec![product(&x, &w, 128)]
            },
            ..wgmma("wgmma_e4m3")
        },
        Kernel {
            args: args(Dtype::I8, &Fill::Uniform(-128.0, 128.0), 128, Dtype::I32),
            agreement: Agreement::Exact,
            want: |case| {
                let [x, w] = factors(case);
                vec![product(&x, &w, 128)]
            },
            ..wgmma("wgmma_s8")
        },
        Kernel {
            args: vec![
                input("x", Dtype::F16, 128 * 16, unit.clone()),
                input("w", Dtype::F16, 32 * 16, unit.clone()),
                output("y", Dtype::F32, 128 * 32),
            ],
            want: |case| {
                let [x, w] = factors(case);
                vec![product(&x, &w, 16)]
            },
            ..wgmma("wgmma_registers")
        },
        Kernel {
            args: vec![
                maps(Dtype::F16, &unit, 64)[0].clone(),
                map("w", Dtype::F16, unit.clone(), MapShape::tiled(&[32, 64], &[32, 64], 64)),
                output("y", Dtype::F32, 128 * 32),
            ],
            want: |case| {
                let [x, w] = factors(case);
                let turned: Vec<f64> = (0..32 * 64).map(|i| w[i % 64 * 32 + i / 64]).collect();
                vec![product(&x, &turned, 64)]
            },
            ..wgmma("wgmma_rows")
        },
        Kernel {
            block: [256, 1, 1],
            args: [args(Dtype::Bf16, &unit, 256, Dtype::F32), vec![int(4)]].concat(),
            want: |case| {
                let [x, w] = factors(case);
                vec![product(&x, &w, 256)]
            },
            ..wgmma("wgmma_ring")
        },
        Kernel {
            grid: [3, 1, 1],
            block: [32, 1, 1],
            args: vec![
                input("x", Dtype::F16, 768, unit.clone()),
                input("meta", Dtype::U32, 48, METADATA),
                input("w", Dtype::F16, 256, unit),
                output("y", Dtype::F32, 384),
            ],
            want: |case| vec![sparse(case)],
            file: "sparse",
            source: include_str!("../../kernels/sparse.cu"),
            ..wgmma("mma_sparse")
        },
    ]
}

/// Sums of products with a matrix of which two of four elements are stored.
fn sparse(case: &Case) -> Vec<f64> {
    let ([x, w], meta) = (factors(case), case.values("meta"));
    let mut whole = vec![0.0; 3 * 16 * 32];
    for (at, value) in x.iter().enumerate() {
        let (tile, row, n) = (at / 256, at / 16 % 16, at % 16);
        // 16 bits of rows g and g + 8 in a word, words of columns 0 to 15 and 16 to 31.
        let word = meta[16 * tile + 2 * (row % 8) + n / 8] as u64;
        let bits = word >> (16 * (row / 8) + n % 8 / 2 * 4 + n % 2 * 2) & 3;
        whole[(tile * 16 + row) * 32 + n / 2 * 4 + bits as usize] = *value;
    }
    product(&whole, &w, 32)
}
