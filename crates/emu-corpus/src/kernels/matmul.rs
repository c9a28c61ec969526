//! Products of matrices and vectors on plain cores.

use crate::{Agreement, Case, Dtype, Fill, Kernel, inout, input, int, output};

const UNIT: Fill = Fill::Uniform(-1.0, 1.0);

/// The kernels of this family.
pub(super) fn list() -> Vec<Kernel> {
    vec![
        tiled(),
        register_tiled(),
        naive(),
        batched(),
        double_buffered(),
        split_k(),
        transposed(),
        matvec_warp(),
        matvec_float4(),
        two_stages(),
        rms_pipeline(),
        dp4a(),
    ]
}

/// How the operands of [`product`] are stored.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Layout {
    /// Both row-major.
    Plain,
    /// The first one transposed.
    Tn,
    /// The second one transposed.
    Nt,
}

/// `[m, n]` product of `a` and `b` over `k`, row-major.
pub(super) fn product(a: &[f64], b: &[f64], [m, n, k]: [usize; 3], layout: Layout) -> Vec<f64> {
    let left = |i: usize, p: usize| if layout == Layout::Tn { a[p * m + i] } else { a[i * k + p] };
    let right = |p: usize, j: usize| if layout == Layout::Nt { b[j * k + p] } else { b[p * n + j] };
    let cell = |i: usize, j: usize| (0..k).map(|p| left(i, p) * right(p, j)).sum();
    (0..m * n).map(|at| cell(at / n, at % n)).collect()
}

/// `product` of a case's buffers called as given.
pub(super) fn of(case: &Case, names: [&str; 2], shape: [usize; 3], layout: Layout) -> Vec<f64> {
    product(&case.values(names[0]), &case.values(names[1]), shape, layout)
}

fn tiled() -> Kernel {
    Kernel {
        name: "matmul_tiled",
        file: "k05_matmul_tiled",
        source: include_str!("../../kernels/k05_matmul_tiled.cu"),
        entry: "matmul_tiled",
        grid: [2, 3, 1],
        block: [32, 32, 1],
        smem: 0,
        args: vec![
            input("A", Dtype::F32, 70 * 50, UNIT),
            input("B", Dtype::F32, 50 * 45, UNIT),
            output("C", Dtype::F32, 70 * 45),
            int(70),
            int(45),
            int(50),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Exact,
        want: |case| vec![of(case, ["A", "B"], [70, 45, 50], Layout::Plain)],
    }
}

fn register_tiled() -> Kernel {
    Kernel {
        name: "sgemm_regtile",
        entry: "sgemm_regtile",
        grid: [2, 1, 1],
        block: [256, 1, 1],
        args: vec![
            input("A", Dtype::F32, 128 * 24, UNIT),
            input("B", Dtype::F32, 24 * 256, UNIT),
            output("C", Dtype::F32, 128 * 256),
            int(128),
            int(256),
            int(24),
        ],
        want: |case| vec![of(case, ["A", "B"], [128, 256, 24], Layout::Plain)],
        ..tiled()
    }
}

fn naive() -> Kernel {
    Kernel {
        name: "matmul_naive",
        entry: "matmul_naive",
        grid: [3, 3, 1],
        block: [16, 16, 1],
        args: vec![
            input("A", Dtype::F32, 37 * 29, UNIT),
            input("B", Dtype::F32, 29 * 45, UNIT),
            output("C", Dtype::F32, 37 * 45),
            int(37),
            int(45),
            int(29),
        ],
        want: |case| vec![of(case, ["A", "B"], [37, 45, 29], Layout::Plain)],
        ..tiled()
    }
}

fn batched() -> Kernel {
    Kernel {
        name: "bmm_nt",
        file: "matmul_tiles",
        source: include_str!("../../kernels/matmul_tiles.cu"),
        entry: "bmm_nt",
        grid: [3, 2, 3],
        block: [16, 16, 1],
        args: vec![
            input("a", Dtype::F32, 3 * 20 * 35, UNIT),
            input("b", Dtype::F32, 3 * 37 * 35, UNIT),
            output("c", Dtype::F32, 3 * 20 * 37),
            int(20),
            int(37),
            int(35),
        ],
        want: |case| {
            let (a, b) = (case.values("a"), case.values("b"));
            let slices = a.chunks(20 * 35).zip(b.chunks(37 * 35));
            vec![slices.flat_map(|(a, b)| product(a, b, [20, 37, 35], Layout::Nt)).collect()]
        },
        ..tiled()
    }
}

fn double_buffered() -> Kernel {
    Kernel {
        name: "sgemm_double_buffer",
        entry: "sgemm_double_buffer",
        grid: [3, 2, 1],
        block: [64, 1, 1],
        args: vec![
            input("a", Dtype::F32, 50 * 37, UNIT),
            input("b", Dtype::F32, 37 * 70, UNIT),
            output("c", Dtype::F32, 50 * 70),
            int(50),
            int(70),
            int(37),
        ],
        want: |case| vec![of(case, ["a", "b"], [50, 70, 37], Layout::Plain)],
        ..batched()
    }
}

fn split_k() -> Kernel {
    Kernel {
        name: "matmul_split_k",
        entry: "matmul_split_k",
        args: vec![
            input("a", Dtype::F32, 20 * 70, UNIT),
            input("b", Dtype::F32, 70 * 37, UNIT),
            inout("c", Dtype::F32, 20 * 37, Fill::Zeros),
            int(20),
            int(37),
            int(70),
        ],
        agreement: Agreement::Within(1e-5),
        want: |case| vec![of(case, ["a", "b"], [20, 37, 70], Layout::Plain)],
        ..batched()
    }
}

fn transposed() -> Kernel {
    Kernel {
        name: "matmul_tn",
        entry: "matmul_tn",
        grid: [2, 2, 1],
        block: [32, 8, 1],
        args: vec![
            input("a", Dtype::F32, 40 * 45, UNIT),
            input("b", Dtype::F32, 40 * 50, UNIT),
            output("c", Dtype::F32, 45 * 50),
            int(45),
            int(50),
            int(40),
        ],
        want: |case| vec![of(case, ["a", "b"], [45, 50, 40], Layout::Tn)],
        ..batched()
    }
}

fn matvec_warp() -> Kernel {
    Kernel {
        name: "matvec_warp",
        file: "matvec",
        source: include_str!("../../kernels/matvec.cu"),
        entry: "matvec_warp",
        grid: [10, 1, 1],
        block: [128, 1, 1],
        args: vec![
            input("a", Dtype::F32, 37 * 203, UNIT),
            input("x", Dtype::F32, 203, UNIT),
            output("y", Dtype::F32, 37),
            int(37),
            int(203),
        ],
        want: |case| vec![of(case, ["a", "x"], [37, 1, 203], Layout::Plain)],
        ..tiled()
    }
}

fn matvec_float4() -> Kernel {
    Kernel {
        name: "matvec_float4",
        entry: "matvec_float4",
        grid: [7, 1, 1],
        smem: 2400,
        args: vec![
            input("a", Dtype::F32, 7 * 600, UNIT),
            input("x", Dtype::F32, 600, UNIT),
            output("y", Dtype::F32, 7),
            int(600),
        ],
        want: |case| vec![of(case, ["a", "x"], [7, 1, 600], Layout::Plain)],
        ..matvec_warp()
    }
}

fn two_stages() -> Kernel {
    Kernel {
        name: "sgemm_async_2",
        file: "matmul_async",
        source: include_str!("../../kernels/matmul_async.cu"),
        entry: "sgemm_async_2",
        grid: [2, 2, 1],
        block: [64, 1, 1],
        args: vec![
            input("a", Dtype::F32, 45 * 40, UNIT),
            input("b", Dtype::F32, 40 * 52, UNIT),
            output("c", Dtype::F32, 45 * 52),
            int(45),
            int(52),
            int(40),
        ],
        want: |case| vec![of(case, ["a", "b"], [45, 52, 40], Layout::Plain)],
        ..tiled()
    }
}

fn rms_pipeline() -> Kernel {
    Kernel {
        name: "row_rms_pipeline",
        file: "rms_pipeline",
        source: include_str!("../../kernels/rms_pipeline.cu"),
        entry: "row_rms_pipeline",
        grid: [5, 1, 1],
        block: [64, 1, 1],
        args: vec![input("x", Dtype::F32, 5 * 700, UNIT), output("y", Dtype::F32, 5), int(700)],
        want: |case| {
            let mean = |row: &[f64]| row.iter().map(|v| v * v).sum::<f64>() / 700.0;
            vec![case.values("x").chunks(700).map(|row| mean(row).sqrt()).collect()]
        },
        ..tiled()
    }
}

fn dp4a() -> Kernel {
    Kernel {
        name: "matmul_dp4a",
        file: "matmul_int8",
        source: include_str!("../../kernels/matmul_int8.cu"),
        entry: "matmul_dp4a",
        grid: [2, 3, 1],
        block: [16, 16, 1],
        args: vec![
            input("a", Dtype::I8, 37 * 100, Fill::Uniform(-128.0, 128.0)),
            input("b", Dtype::I8, 21 * 100, Fill::Uniform(-128.0, 128.0)),
            output("c", Dtype::I32, 37 * 21),
            int(37),
            int(21),
            int(100),
        ],
        want: |case| vec![of(case, ["a", "b"], [37, 21, 100], Layout::Nt)],
        ..tiled()
    }
}
