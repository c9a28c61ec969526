//! Reductions: sums, maxima and dot products over blocks, rows and columns.

use crate::{Agreement, Dtype, Fill, Kernel, inout, input, int, long, output};

/// The kernels of this family.
pub(super) fn list() -> Vec<Kernel> {
    vec![
        block_sum(),
        row_max(),
        row_argmax(),
        col_sum(),
        dot_f64(),
        last_block_sum(),
        cg_reduce(),
        cg_coalesced(),
        int8_gemv(),
    ]
}

/// Sums of `x` in chunks of `size`.
fn chunk_sums(x: &[f64], size: usize) -> Vec<f64> {
    x.chunks(size).map(|c| c.iter().sum()).collect()
}

fn block_sum() -> Kernel {
    Kernel {
        name: "block_sum",
        file: "block_sum",
        source: include_str!("../../kernels/block_sum.cu"),
        entry: "block_sum",
        grid: [4, 1, 1],
        block: [256, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::F32, 1900, Fill::Uniform(-1.0, 1.0)),
            output("partial", Dtype::F32, 4),
            int(1900),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Exact,
        want: |case| vec![chunk_sums(&case.values("x"), 512)],
    }
}

fn row_max() -> Kernel {
    Kernel {
        name: "row_max_unrolled",
        file: "row_max_unrolled",
        source: include_str!("../../kernels/row_max_unrolled.cu"),
        entry: "row_max",
        grid: [7, 1, 1],
        block: [128, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::F32, 7 * 301, Fill::Uniform(-5.0, 5.0)),
            output("y", Dtype::F32, 7),
            int(301),
        ],
        arch: 80,
        tolerance: 0.0,
        agreement: Agreement::Exact,
        want: |case| {
            let x = case.values("x");
            vec![x.chunks(301).map(|r| r.iter().copied().fold(f64::MIN, f64::max)).collect()]
        },
    }
}

fn row_argmax() -> Kernel {
    Kernel {
        name: "row_argmax",
        file: "row_argmax",
        source: include_str!("../../kernels/row_argmax.cu"),
        entry: "row_argmax",
        grid: [10, 1, 1],
        block: [128, 1, 1],
        smem: 0,
        args: vec![
            // Few values, so that there are ties.
            input("x", Dtype::I32, 37 * 77, Fill::Uniform(-20.0, 20.0)),
            output("best", Dtype::I32, 37),
            output("where", Dtype::I32, 37),
            int(37),
            int(77),
        ],
        arch: 80,
        tolerance: 0.0,
        agreement: Agreement::Exact,
        want: |case| {
            let x = case.values("x");
            let first_max = |row: &[f64]| {
                let best = row.iter().copied().fold(f64::MIN, f64::max);
                let at = row.iter().take_while(|v| **v < best).count();
                (best, at as f64)
            };
            let (best, at) = x.chunks(77).map(first_max).unzip();
            vec![best, at]
        },
    }
}

fn col_sum() -> Kernel {
    Kernel {
        name: "col_sum",
        file: "col_sum",
        source: include_str!("../../kernels/col_sum.cu"),
        entry: "col_sum",
        grid: [3, 1, 1],
        block: [32, 8, 1],
        smem: 0,
        args: vec![
            input("a", Dtype::F32, 50 * 75, Fill::Uniform(-1.0, 1.0)),
            output("out", Dtype::F32, 75),
            int(50),
            int(75),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Exact,
        want: |case| {
            let a = case.values("a");
            vec![(0..75).map(|c| a.iter().skip(c).step_by(75).sum()).collect()]
        },
    }
}

fn dot_f64() -> Kernel {
    Kernel {
        name: "dot_f64",
        file: "dot_f64",
        source: include_str!("../../kernels/dot_f64.cu"),
        entry: "dot_f64",
        grid: [3, 1, 1],
        block: [160, 1, 1],
        smem: 0,
        args: vec![
            input("a", Dtype::F32, 2501, Fill::Uniform(-1.0, 1.0)),
            input("b", Dtype::F32, 2501, Fill::Uniform(-1.0, 1.0)),
            output("partial", Dtype::F64, 3),
            long(2501),
        ],
        arch: 80,
        tolerance: 1e-12,
        agreement: Agreement::Exact,
        want: |case| {
            let mut partial = vec![0.0; 3];
            for (i, (a, b)) in case.values("a").iter().zip(case.values("b")).enumerate() {
                partial[i / 160 % 3] += a * b;
            }
            vec![partial]
        },
    }
}

fn last_block_sum() -> Kernel {
    Kernel {
        name: "last_block_sum",
        file: "last_block_sum",
        source: include_str!("../../kernels/last_block_sum.cu"),
        entry: "last_block_sum",
        grid: [6, 1, 1],
        block: [128, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::F32, 1999, Fill::Uniform(-1.0, 1.0)),
            output("partial", Dtype::F32, 6),
            inout("counter", Dtype::U32, 1, Fill::Zeros),
            output("out", Dtype::F32, 1),
            int(1999),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Exact,
        want: |case| {
            let x = case.values("x");
            let mut partial = vec![0.0; 6];
            for (i, v) in x.iter().enumerate() {
                partial[i / 128 % 6] += v;
            }
            vec![partial, vec![0.0], vec![x.iter().sum()]]
        },
    }
}

fn cg_reduce() -> Kernel {
    Kernel {
        name: "cg_reduce",
        file: "cg_reduce",
        source: include_str!("../../kernels/cg_reduce.cu"),
        entry: "cg_reduce",
        grid: [3, 1, 1],
        block: [160, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::F32, 1300, Fill::Uniform(-1.0, 1.0)),
            inout("out", Dtype::F32, 1, Fill::Zeros),
            int(1300),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Within(1e-5),
        want: |case| vec![vec![case.values("x").iter().sum()]],
    }
}

fn cg_coalesced() -> Kernel {
    Kernel {
        name: "cg_coalesced",
        file: "cg_reduce",
        source: include_str!("../../kernels/cg_reduce.cu"),
        entry: "cg_int_coalesced",
        grid: [3, 1, 1],
        block: [128, 1, 1],
        smem: 0,
        args: vec![
            // Equal positive values, because the order in `out` is free.
            input("x", Dtype::I32, 333, Fill::Values(&[7.0, -3.0, 7.0, 0.0, 7.0, 7.0, -1.0])),
            output("out", Dtype::I32, 190),
            inout("cnt", Dtype::I32, 2, Fill::Zeros),
            int(333),
        ],
        arch: 80,
        tolerance: 0.0,
        agreement: Agreement::Exact,
        want: |case| {
            let x = case.values("x");
            let most = x.chunks(32).map(|w| w.iter().sum()).fold(0.0, f64::max);
            vec![vec![7.0; 190], vec![190.0, most]]
        },
    }
}

fn int8_gemv() -> Kernel {
    Kernel {
        name: "int8_gemv",
        file: "rmsnorm_rope_bf16",
        source: include_str!("../../kernels/rmsnorm_rope_bf16.cu"),
        entry: "int8_gemv",
        grid: [7, 1, 1],
        block: [96, 1, 1],
        smem: 0,
        args: vec![
            input("w", Dtype::I8, 7 * 500, Fill::Uniform(-128.0, 128.0)),
            input("sc", Dtype::F32, 7, Fill::Uniform(0.001, 0.01)),
            input("x", Dtype::F32, 500, Fill::Uniform(-1.0, 1.0)),
            inout("y", Dtype::F32, 7, Fill::Zeros),
            int(500),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Within(1e-5),
        want: |case| {
            let (x, scale) = (case.values("x"), case.values("sc"));
            let dot = |row: &[f64]| row.iter().zip(&x).map(|(w, x)| w * x).sum::<f64>();
            vec![case.values("w").chunks(500).zip(scale).map(|(row, s)| s * dot(row)).collect()]
        },
    }
}
