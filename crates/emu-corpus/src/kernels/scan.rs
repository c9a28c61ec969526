//! Prefix sums and sorting.

use crate::{Agreement, Dtype, Fill, Kernel, inout, input, int, output};

/// The kernels of this family.
pub(super) fn list() -> Vec<Kernel> {
    vec![hillis(), blelloch(), warp(), cumsum_rows(), lookback(), bitonic()]
}

/// Inclusive prefix sums of each chunk.
fn prefix_sums(x: &[f64], chunk: usize) -> Vec<f64> {
    let one = |chunk: &[f64]| {
        let add = |sum: &mut f64, v: &f64| {
            *sum += v;
            Some(*sum)
        };
        chunk.iter().scan(0.0, add).collect::<Vec<_>>()
    };
    x.chunks(chunk).flat_map(one).collect()
}

/// Sums of each chunk.
fn totals(x: &[f64], chunk: usize) -> Vec<f64> {
    x.chunks(chunk).map(|c| c.iter().sum()).collect()
}

fn hillis() -> Kernel {
    Kernel {
        name: "scan_hillis",
        file: "scan_hillis",
        source: include_str!("../../kernels/scan_hillis.cu"),
        entry: "scan_hillis",
        grid: [5, 1, 1],
        block: [128, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::F32, 5 * 100, Fill::Uniform(-1.0, 1.0)),
            output("y", Dtype::F32, 5 * 100),
            int(100),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Exact,
        want: |case| vec![prefix_sums(&case.values("x"), 100)],
    }
}

fn blelloch() -> Kernel {
    Kernel {
        name: "scan_blelloch",
        file: "scan_blelloch",
        source: include_str!("../../kernels/scan_blelloch.cu"),
        entry: "scan_blelloch",
        grid: [4, 1, 1],
        block: [128, 1, 1],
        smem: 0,
        args: vec![
            input("in", Dtype::I32, 901, Fill::Uniform(-9.0, 100.0)),
            output("out", Dtype::I32, 901),
            output("totals", Dtype::I32, 4),
            int(901),
        ],
        arch: 80,
        tolerance: 0.0,
        agreement: Agreement::Exact,
        want: |case| {
            let x = case.values("in");
            let exclusive = prefix_sums(&x, 256).iter().zip(&x).map(|(s, v)| s - v).collect();
            vec![exclusive, totals(&x, 256)]
        },
    }
}

fn warp() -> Kernel {
    Kernel {
        name: "scan_warp",
        file: "scan_warp",
        source: include_str!("../../kernels/scan_warp.cu"),
        entry: "scan_warp",
        grid: [4, 1, 1],
        block: [160, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::I32, 555, Fill::Uniform(-9.0, 100.0)),
            output("y", Dtype::I32, 555),
            output("totals", Dtype::I32, 4),
            int(555),
        ],
        arch: 80,
        tolerance: 0.0,
        agreement: Agreement::Exact,
        want: |case| {
            let x = case.values("x");
            vec![prefix_sums(&x, 160), totals(&x, 160)]
        },
    }
}

fn cumsum_rows() -> Kernel {
    Kernel {
        name: "cumsum_rows",
        file: "cumsum_rows",
        source: include_str!("../../kernels/cumsum_rows.cu"),
        entry: "cumsum_rows",
        grid: [4, 1, 1],
        block: [128, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::F32, 4 * 300, Fill::Uniform(-1.0, 1.0)),
            output("y", Dtype::F32, 4 * 300),
            int(300),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Exact,
        want: |case| vec![prefix_sums(&case.values("x"), 300)],
    }
}

fn lookback() -> Kernel {
    Kernel {
        name: "scan_lookback",
        file: "scan_lookback",
        source: include_str!("../../kernels/scan_lookback.cu"),
        entry: "scan_lookback",
        grid: [8, 1, 1],
        block: [128, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::I32, 1000, Fill::Uniform(-9.0, 100.0)),
            output("y", Dtype::I32, 1000),
            output("aggregate", Dtype::I32, 8),
            output("prefix", Dtype::I32, 8),
            inout("flag", Dtype::I32, 8, Fill::Zeros),
            inout("ticket", Dtype::I32, 1, Fill::Zeros),
            int(1000),
        ],
        arch: 80,
        tolerance: 0.0,
        agreement: Agreement::Exact,
        want: |case| {
            let x = case.values("x");
            let sums = totals(&x, 128);
            let prefix = prefix_sums(&sums, sums.len());
            vec![prefix_sums(&x, x.len()), sums, prefix, vec![2.0; 8], vec![8.0]]
        },
    }
}

fn bitonic() -> Kernel {
    Kernel {
        name: "bitonic_sort",
        file: "bitonic_sort",
        source: include_str!("../../kernels/bitonic_sort.cu"),
        entry: "bitonic_sort",
        grid: [3, 1, 1],
        block: [128, 1, 1],
        smem: 0,
        args: vec![
            input("in", Dtype::F32, 700, Fill::Uniform(-9.0, 9.0)),
            output("out", Dtype::F32, 700),
            int(700),
        ],
        arch: 80,
        tolerance: 0.0,
        agreement: Agreement::Exact,
        want: |case| {
            let mut x = case.values("in");
            x.chunks_mut(256).for_each(|chunk| chunk.sort_by(f64::total_cmp));
            vec![x]
        },
    }
}
