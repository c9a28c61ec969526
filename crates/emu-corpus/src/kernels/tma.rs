//! Bulk copies and copies by tensor maps into and out of shared memory.

use super::asynchronous::{copied, kernel, map, sum, sums};
use crate::{Agreement, Arg, Dtype, Fill, Im2col, Kernel, MapShape, inout, input, int, output};

const UNIT: Fill = Fill::Uniform(-1.0, 1.0);

fn unit_map(name: &'static str, dims: &[u64], box_dims: &[u32]) -> Arg {
    map(name, Dtype::F32, UNIT, MapShape::tiled(dims, box_dims, 0))
}

/// A kernel of `tma.cu`.
fn load(entry: &'static str) -> Kernel {
    kernel("tma", include_str!("../../kernels/tma.cu"), entry)
}

/// Boxes of tensors of all ranks.
pub(super) fn tiles() -> Vec<Kernel> {
    vec![
        Kernel {
            grid: [8, 1, 1],
            block: [128, 1, 1],
            args: vec![unit_map("x", &[1000], &[128]), output("y", Dtype::F32, 1000), int(1000)],
            want: |case| vec![case.values("x").iter().map(|v| 2.0 * v).collect()],
            ..copied(load("tma_1d"))
        },
        Kernel {
            grid: [2, 3, 1],
            block: [128, 1, 1],
            args: vec![
                unit_map("x", &[48, 70], &[32, 32]),
                output("y", Dtype::F32, 48 * 70),
                int(70),
                int(48),
            ],
            want: |case| {
                let x = case.values("x");
                vec![(0..48 * 70).map(|i| x[i % 70 * 48 + i / 70]).collect()]
            },
            ..copied(load("tma_2d"))
        },
        Kernel {
            grid: [5, 1, 1],
            args: vec![unit_map("x", &[16, 10, 6], &[16, 2, 6]), output("y", Dtype::F32, 160)],
            want: |case| {
                let x = case.values("x");
                vec![(0..160).map(|i| (0..6).map(|d| x[160 * d + i]).sum()).collect()]
            },
            ..sums(load("tma_3d"))
        },
        Kernel {
            grid: [4, 3, 2],
            args: vec![unit_map("x", &[4, 8, 6, 2], &[4, 2, 2, 1]), output("y", Dtype::F32, 96)],
            want: |case| {
                let x = case.values("x");
                let at = |n, h, w, c| x[((n * 6 + h) * 8 + w) * 4 + c];
                let mean = |i: usize| {
                    let (c, w, h, n) = (i % 4, i / 4 % 4 * 2, i / 16 % 3 * 2, i / 48);
                    let four = at(n, h, w, c) + at(n, h, w + 1, c);
                    (four + at(n, h + 1, w, c) + at(n, h + 1, w + 1, c)) / 4.0
                };
                vec![(0..96).map(mean).collect()]
            },
            ..sums(load("tma_4d"))
        },
        Kernel {
            grid: [3, 1, 1],
            args: vec![
                unit_map("x", &[8, 4, 2, 3, 3], &[8, 4, 2, 3, 1]),
                output("y", Dtype::F32, 3),
            ],
            want: |case| vec![case.values("x").chunks(192).map(sum).collect()],
            ..sums(load("tma_5d"))
        },
    ]
}

/// Other parts of tensors, and rows without a map.
pub(super) fn layouts() -> Vec<Kernel> {
    vec![
        Kernel {
            grid: [2, 1, 1],
            args: vec![
                map(
                    "x",
                    Dtype::F32,
                    UNIT,
                    MapShape {
                        dims: vec![4, 8, 8, 1],
                        im2col: Some(Im2col {
                            lower: vec![-1, -1],
                            upper: vec![-1, -1],
                            channels: 4,
                            pixels: 32,
                        }),
                        ..MapShape::default()
                    },
                ),
                input("w", Dtype::F32, 36, UNIT),
                output("y", Dtype::F32, 64),
            ],
            want: |case| {
                let (x, w) = (case.values("x"), case.values("w"));
                let tap = |i: usize, n: usize| {
                    let (row, column) =
                        ((i / 8 + n / 12) as i64 - 1, (i % 8 + n / 4 % 3) as i64 - 1);
                    let inside = (0..8).contains(&row) && (0..8).contains(&column);
                    if inside { x[(row * 32 + column * 4) as usize + n % 4] * w[n] } else { 0.0 }
                };
                vec![(0..64).map(|i| (0..36).map(|n| tap(i, n)).sum()).collect()]
            },
            ..sums(load("tma_im2col"))
        },
        Kernel {
            grid: [2, 1, 1],
            block: [128, 1, 1],
            args: vec![
                map("x", Dtype::F32, UNIT, MapShape::tiled(&[32, 128], &[32, 64], 128)),
                output("y", Dtype::F32, 4096),
            ],
            want: |case| {
                let x = case.values("x");
                vec![(0..4096).map(|i| x[i % 128 * 32 + i / 128]).collect()]
            },
            ..copied(load("tma_swizzle"))
        },
        Kernel {
            grid: [12, 1, 1],
            block: [64, 1, 1],
            args: vec![
                input("x", Dtype::F32, 12 * 200, UNIT),
                output("y", Dtype::F32, 12),
                int(200),
            ],
            want: |case| vec![case.values("x").chunks(200).map(sum).collect()],
            ..sums(load("bulk_rows"))
        },
    ]
}

/// The kernels of `tma_ring.cu`.
pub(super) fn pipelines() -> Vec<Kernel> {
    let source = include_str!("../../kernels/tma_ring.cu");
    let ring = |entry| kernel("tma_ring", source, entry);
    vec![
        Kernel {
            grid: [2, 1, 1],
            block: [160, 1, 1],
            args: vec![unit_map("x", &[512, 8], &[64, 4]), output("y", Dtype::F32, 8), int(512)],
            want: |case| {
                let square = |row: &[f64]| row.iter().map(|v| v * v).sum();
                vec![case.values("x").chunks(512).map(square).collect()]
            },
            ..sums(ring("tma_ring"))
        },
        Kernel {
            grid: [3, 1, 1],
            block: [128, 1, 1],
            args: vec![unit_map("x", &[640, 3], &[128, 1]), output("y", Dtype::F32, 384), int(5)],
            want: |case| {
                let x = case.values("x");
                let most = |i: usize| {
                    let of = |t: usize| x[i / 128 * 640 + 128 * t + i % 128];
                    (0..5).map(of).fold(f64::NEG_INFINITY, f64::max)
                };
                vec![(0..384).map(most).collect()]
            },
            ..copied(ring("tma_ahead"))
        },
        Kernel {
            grid: [8, 1, 1],
            block: [64, 1, 1],
            args: vec![unit_map("x", &[512], &[64]), output("y", Dtype::F32, 512)],
            want: |case| {
                let x = case.values("x");
                let of = |i: usize| {
                    let (first, rank) = (i / 128 * 128 + i % 64, (i / 64 % 2) as f64);
                    x[first] * x[first + 64] + rank
                };
                vec![(0..512).map(of).collect()]
            },
            ..sums(ring("tma_multicast"))
        },
    ]
}

/// The kernels of `tma_store.cu`.
pub(super) fn stores() -> Vec<Kernel> {
    let source = include_str!("../../kernels/tma_store.cu");
    let store = |entry| Kernel { block: [64, 1, 1], ..kernel("tma_store", source, entry) };
    vec![
        Kernel {
            grid: [3, 3, 1],
            args: vec![
                unit_map("x", &[72, 40], &[32, 16]),
                Arg::TensorMap {
                    buffer: Box::new(output("y", Dtype::F32, 72 * 40)),
                    shape: MapShape::tiled(&[72, 40], &[32, 16], 0),
                },
            ],
            want: |case| vec![case.values("x").iter().map(|v| v + 1.0).collect()],
            ..sums(store("tma_copy"))
        },
        Kernel {
            grid: [4, 1, 1],
            args: vec![input("x", Dtype::F32, 512, UNIT), output("y", Dtype::F32, 512)],
            want: |case| vec![case.values("x").iter().map(|v| v * v).collect()],
            ..sums(store("bulk_store"))
        },
        Kernel {
            grid: [4, 1, 1],
            args: vec![
                input("x", Dtype::F32, 20 * 64, UNIT),
                Arg::TensorMap {
                    buffer: Box::new(inout("y", Dtype::F32, 64, Fill::Zeros)),
                    shape: MapShape::tiled(&[64], &[64], 0),
                },
                int(5),
            ],
            want: |case| {
                let x = case.values("x");
                vec![(0..64).map(|c| x[c..].iter().step_by(64).sum()).collect()]
            },
            ..sums(store("tma_reduce"))
        },
        Kernel {
            grid: [8, 1, 1],
            args: vec![
                input("x", Dtype::I32, 500, Fill::Uniform(0.0, 64.0)),
                inout("bins", Dtype::I32, 64, Fill::Zeros),
                int(500),
            ],
            want: |case| {
                let mut bins = vec![0.0; 64];
                case.indices("x").into_iter().for_each(|bin| bins[bin] += 1.0);
                vec![bins]
            },
            ..copied(store("bulk_reduce"))
        },
        Kernel {
            grid: [3, 1, 1],
            block: [32, 1, 1],
            agreement: Agreement::Exact,
            args: vec![input("x", Dtype::F16, 768, UNIT), output("y", Dtype::F16, 768)],
            want: |case| {
                let x = case.values("x");
                vec![(0..768).map(|i| x[i / 256 * 256 + i % 16 * 16 + i / 16 % 16]).collect()]
            },
            ..copied(store("stmatrix_turn"))
        },
    ]
}
