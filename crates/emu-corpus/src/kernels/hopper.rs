//! Barriers of the grid, of asynchronous copies and of clusters.

use crate::{Agreement, Dtype, Fill, Kernel, inout, input, int, output};

const UNIT: Fill = Fill::Uniform(-1.0, 1.0);

/// The kernels of this family.
pub(super) fn list() -> Vec<Kernel> {
    vec![
        counter(),
        jacobi_grid(),
        mbarrier_pipeline(),
        barrier_reverse(),
        cluster_l1(),
        cluster_histogram(),
        cluster_stencil(),
    ]
}

/// The two buffers after `steps` Jacobi steps that go to and fro between them.
fn jacobi(mut a: Vec<f64>, mut b: Vec<f64>, steps: usize) -> [Vec<f64>; 2] {
    let at = |u: &[f64], i: usize| u.get(i).copied().unwrap_or(0.0);
    for step in 0..steps {
        let (from, to) = if step % 2 == 0 { (&a, &mut b) } else { (&b, &mut a) };
        for (i, cell) in to.iter_mut().enumerate() {
            *cell = 0.5 * (at(from, i.wrapping_sub(1)) + at(from, i + 1));
        }
    }
    [a, b]
}

fn counter() -> Kernel {
    Kernel {
        name: "jacobi_counter",
        file: "jacobi_counter",
        source: include_str!("../../kernels/jacobi_counter.cu"),
        entry: "jacobi_counter",
        grid: [4, 1, 1],
        block: [64, 1, 1],
        smem: 0,
        args: vec![
            inout("a", Dtype::F32, 250, UNIT),
            inout("b", Dtype::F32, 250, Fill::Zeros),
            inout("arrived", Dtype::I32, 1, Fill::Zeros),
            int(250),
            int(5),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Exact,
        want: |case| {
            let [a, b] = jacobi(case.values("a"), case.values("b"), 5);
            vec![a, b, vec![20.0]]
        },
    }
}

fn jacobi_grid() -> Kernel {
    Kernel {
        name: "jacobi_grid",
        file: "jacobi_grid",
        source: include_str!("../../kernels/jacobi_grid.cu"),
        entry: "jacobi_grid",
        args: vec![
            inout("a", Dtype::F32, 250, UNIT),
            inout("b", Dtype::F32, 250, Fill::Zeros),
            int(250),
            int(5),
        ],
        want: |case| jacobi(case.values("a"), case.values("b"), 5).to_vec(),
        ..counter()
    }
}

fn mbarrier_pipeline() -> Kernel {
    Kernel {
        name: "mbarrier_pipeline",
        file: "mbarrier_pipeline",
        source: include_str!("../../kernels/mbarrier_pipeline.cu"),
        entry: "mbarrier_pipeline",
        grid: [5, 1, 1],
        block: [160, 1, 1],
        args: vec![input("x", Dtype::F32, 5 * 700, UNIT), output("y", Dtype::F32, 5), int(700)],
        arch: 90,
        want: |case| {
            let square = |row: &[f64]| row.iter().map(|v| v * v).sum();
            vec![case.values("x").chunks(700).map(square).collect()]
        },
        ..counter()
    }
}

fn barrier_reverse() -> Kernel {
    Kernel {
        name: "barrier_reverse",
        file: "barrier_async",
        source: include_str!("../../kernels/barrier_async.cu"),
        entry: "barrier_reverse",
        block: [32, 1, 1],
        args: vec![input("x", Dtype::F32, 250, UNIT), output("y", Dtype::F32, 250), int(250)],
        tolerance: 0.0,
        want: |case| {
            let reversed = |tile: &[f64]| tile.iter().rev().copied().collect::<Vec<_>>();
            vec![case.values("x").chunks(64).flat_map(reversed).collect()]
        },
        ..counter()
    }
}

fn cluster_l1() -> Kernel {
    Kernel {
        name: "cluster_l1_normalize",
        file: "cluster_reduce",
        source: include_str!("../../kernels/cluster_reduce.cu"),
        entry: "cluster_l1_normalize",
        grid: [12, 1, 1],
        args: vec![
            input("x", Dtype::F32, 3 * 700, UNIT),
            output("y", Dtype::F32, 3 * 700),
            int(700),
        ],
        arch: 90,
        want: |case| {
            let normal = |row: &[f64]| {
                let total: f64 = row.iter().map(|v| v.abs()).sum();
                row.iter().map(|v| v / total).collect::<Vec<_>>()
            };
            vec![case.values("x").chunks(700).flat_map(normal).collect()]
        },
        ..counter()
    }
}

fn cluster_histogram() -> Kernel {
    Kernel {
        name: "cluster_histogram",
        entry: "cluster_histogram",
        grid: [4, 1, 1],
        block: [96, 1, 1],
        args: vec![
            input("x", Dtype::I32, 1000, Fill::Uniform(0.0, 64.0)),
            inout("bins", Dtype::I32, 64, Fill::Zeros),
            int(1000),
        ],
        want: |case| {
            let mut bins = vec![0.0; 64];
            for bin in case.indices("x") {
                bins[bin] += 1.0;
            }
            vec![bins]
        },
        ..cluster_l1()
    }
}

fn cluster_stencil() -> Kernel {
    Kernel {
        name: "cluster_stencil",
        file: "cluster_stencil",
        source: include_str!("../../kernels/cluster_stencil.cu"),
        entry: "cluster_stencil",
        args: vec![input("x", Dtype::F32, 3 * 256, UNIT), output("y", Dtype::F32, 3 * 256)],
        want: |case| {
            let mean = |row: &[f64]| {
                let at = |i: usize| row.get(i).copied().unwrap_or(0.0);
                let cell = |i: usize| (at(i.wrapping_sub(1)) + at(i) + at(i + 1)) / 3.0;
                (0..row.len()).map(cell).collect::<Vec<_>>()
            };
            vec![case.values("x").chunks(256).flat_map(mean).collect()]
        },
        ..cluster_l1()
    }
}
