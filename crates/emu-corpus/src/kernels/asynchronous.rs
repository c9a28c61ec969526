//! Kernels of `sm_90a`: tensor maps, bulk copies, `wgmma`, clusters, sparse products.

use super::{tma, wgmma};
use crate::{Agreement, Arg, Dtype, Fill, Kernel, MapShape, Role, inout, input, int, output};

/// The kernels of this family.
pub(super) fn list() -> Vec<Kernel> {
    [tma::tiles(), tma::layouts(), tma::pipelines(), tma::stores(), clusters(), wgmma::list()]
        .concat()
}

/// A kernel of a file, to be filled in.
pub(super) fn kernel(file: &'static str, source: &'static str, entry: &'static str) -> Kernel {
    Kernel {
        name: entry,
        file,
        source,
        entry,
        grid: [1; 3],
        block: [32, 1, 1],
        smem: 0,
        args: Vec::new(),
        arch: 90,
        tolerance: 0.0,
        agreement: Agreement::Exact,
        want: |_| Vec::new(),
    }
}

/// A kernel that moves values and changes no bit of them.
pub(super) fn copied(kernel: Kernel) -> Kernel {
    Kernel { tolerance: 0.0, agreement: Agreement::Exact, ..kernel }
}

/// A kernel whose f32 sums the GPU's assembler may contract.
pub(super) fn sums(kernel: Kernel) -> Kernel {
    Kernel { tolerance: 1e-5, agreement: Agreement::Within(1e-5), ..kernel }
}

/// A tensor map of a buffer that is read.
pub(super) fn map(name: &'static str, dtype: Dtype, fill: Fill, shape: MapShape) -> Arg {
    let len = shape.dims.iter().product::<u64>() as usize;
    let buffer = Box::new(Arg::Buffer { name, dtype, len, fill, role: Role::In });
    Arg::TensorMap { buffer, shape }
}

pub(super) fn sum(row: &[f64]) -> f64 {
    row.iter().sum()
}

const UNIT: Fill = Fill::Uniform(-1.0, 1.0);

fn clusters() -> Vec<Kernel> {
    let source = include_str!("../../kernels/cluster_async.cu");
    let cluster = |entry| Kernel { grid: [12, 1, 1], ..kernel("cluster_async", source, entry) };
    let whole = Fill::Uniform(-50.0, 50.0);
    vec![
        Kernel {
            args: vec![input("x", Dtype::F32, 768, UNIT), output("y", Dtype::F32, 3)],
            want: |case| vec![case.values("x").chunks(256).map(sum).collect()],
            ..sums(cluster("dsmem_sum"))
        },
        Kernel {
            args: vec![input("x", Dtype::I32, 384, whole.clone()), output("y", Dtype::I32, 384)],
            want: |case| {
                let scan = |row: &[f64]| {
                    let add = |sum: &mut f64, v: &f64| {
                        *sum += v;
                        Some(*sum)
                    };
                    row.iter().scan(0.0, add).collect::<Vec<_>>()
                };
                vec![case.values("x").chunks(128).flat_map(scan).collect()]
            },
            ..cluster("dsmem_scan")
        },
        Kernel {
            args: vec![input("x", Dtype::I32, 384, whole.clone()), output("y", Dtype::I32, 384)],
            want: |case| {
                let x = case.values("x");
                let of = |i: usize| {
                    let from = (i / 32 % 4 + 3) % 4;
                    x[i / 128 * 128 + 32 * from + 31 - i % 32]
                };
                vec![(0..384).map(of).collect()]
            },
            ..cluster("st_async")
        },
        Kernel {
            args: vec![input("x", Dtype::F32, 384, UNIT), output("y", Dtype::F32, 384)],
            want: |case| {
                let x = case.values("x");
                let of = |i: usize| (0..4).map(|r| x[i / 128 * 128 + 32 * r + i % 32]).sum();
                vec![(0..384).map(of).collect()]
            },
            ..sums(cluster("bulk_ring"))
        },
        Kernel {
            args: vec![input("x", Dtype::I32, 768, whole), output("y", Dtype::I32, 96)],
            want: |case| {
                let x = case.values("x");
                let most = |i: usize| {
                    let of = x[i / 32 * 256 + i % 32..].iter().step_by(32).take(8);
                    of.copied().fold(f64::NEG_INFINITY, f64::max)
                };
                vec![(0..96).map(most).collect()]
            },
            ..cluster("remote_arrive")
        },
        Kernel {
            grid: [6, 1, 1],
            block: [128, 1, 1],
            args: vec![input("x", Dtype::F32, 700, UNIT), output("y", Dtype::F32, 6), int(700)],
            want: |case| {
                let most = |row: &[f64]| row.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
                vec![case.values("x").chunks(128).map(most).collect()]
            },
            ..cluster("dependent")
        },
        Kernel {
            grid: [4, 1, 1],
            block: [64, 1, 1],
            args: vec![
                input("x", Dtype::F32, 256, Fill::Uniform(0.5, 1.5)),
                inout("parts", Dtype::F32, 4, Fill::Zeros),
                output("y", Dtype::F32, 256),
            ],
            want: |case| {
                let x = case.values("x");
                let total = sum(&x);
                vec![x.chunks(64).map(sum).collect(), x.iter().map(|v| v / total).collect()]
            },
            ..sums(kernel(
                "grid_normalize",
                include_str!("../../kernels/grid_normalize.cu"),
                "grid_normalize",
            ))
        },
    ]
}
