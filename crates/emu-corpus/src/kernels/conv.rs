//! Convolutions, pooling, resizing, stencils, transposes and group norm.

use crate::{Agreement, Dtype, Fill, Kernel, float, input, int, output};

const UNIT: Fill = Fill::Uniform(-1.0, 1.0);

/// The kernels of this family.
pub(super) fn list() -> Vec<Kernel> {
    vec![
        conv2d(),
        maxpool(),
        transpose(),
        halo(),
        conv1d(),
        stencil(),
        swizzle(),
        depthwise(),
        im2col(),
        upsample(),
        avgpool(),
        group_norm(),
    ]
}

/// An image in channels-first order, zero outside.
struct Image<'a> {
    data: &'a [f64],
    height: usize,
    width: usize,
}

impl Image<'_> {
    fn at(&self, channel: usize, row: i64, col: i64) -> f64 {
        let (height, width) = (self.height, self.width);
        match (usize::try_from(row), usize::try_from(col)) {
            (Ok(r), Ok(c)) if r < height && c < width => {
                self.data[(channel * height + r) * width + c]
            }
            _ => 0.0,
        }
    }
}

/// The coordinates of a row-major array.
fn cells<const N: usize>(shape: [usize; N]) -> impl Iterator<Item = [usize; N]> {
    (0..shape.iter().product()).map(move |mut at: usize| {
        let mut cell = [0; N];
        for (place, size) in cell.iter_mut().zip(shape).rev() {
            *place = at % size;
            at /= size;
        }
        cell
    })
}

fn conv2d() -> Kernel {
    Kernel {
        name: "conv2d",
        file: "k19_conv_pool",
        source: include_str!("../../kernels/k19_conv_pool.cu"),
        entry: "conv2d",
        grid: [2, 1, 1],
        block: [128, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::F32, 2 * 3 * 9 * 11, UNIT),
            input("w", Dtype::F32, 4 * 3 * 9, UNIT),
            input("b", Dtype::F32, 4, UNIT),
            output("y", Dtype::F32, 2 * 4 * 5 * 6),
            int(2),
            int(3),
            int(9),
            int(11),
            int(4),
            int(3),
            int(3),
            int(2),
            int(1),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Exact,
        want: |case| {
            let (x, w, b) = (case.values("x"), case.values("w"), case.values("b"));
            let image = Image { data: &x, height: 9, width: 11 };
            let cell = |[n, o, r, q]: [usize; 4]| {
                let tap = |[c, i, j]: [usize; 3]| {
                    let (row, col) = (2 * r + i, 2 * q + j);
                    let v = image.at(n * 3 + c, row as i64 - 1, col as i64 - 1);
                    v * w[((o * 3 + c) * 3 + i) * 3 + j]
                };
                b[o] + cells([3, 3, 3]).map(tap).sum::<f64>()
            };
            vec![cells([2, 4, 5, 6]).map(cell).collect()]
        },
    }
}

fn maxpool() -> Kernel {
    Kernel {
        name: "maxpool",
        entry: "maxpool",
        grid: [2, 2, 3],
        block: [4, 4, 1],
        args: vec![
            input("x", Dtype::F32, 3 * 11 * 13, UNIT),
            output("y", Dtype::F32, 3 * 5 * 6),
            output("idx", Dtype::I32, 3 * 5 * 6),
            int(3),
            int(11),
            int(13),
            int(3),
            int(2),
        ],
        tolerance: 0.0,
        want: |case| {
            let x = case.values("x");
            let best = |[c, r, q]: [usize; 3]| {
                let places = cells([3, 3]).map(|[i, j]| (c * 11 + 2 * r + i) * 13 + 2 * q + j);
                places.reduce(|a, b| if x[b] > x[a] { b } else { a }).unwrap_or_default()
            };
            let places: Vec<usize> = cells([3, 5, 6]).map(best).collect();
            vec![places.iter().map(|p| x[*p]).collect(), places.iter().map(|p| *p as f64).collect()]
        },
        ..conv2d()
    }
}

fn transpose() -> Kernel {
    Kernel {
        name: "transpose_padded",
        entry: "transpose",
        grid: [2, 3, 1],
        block: [32, 8, 1],
        args: vec![
            input("in", Dtype::F32, 70 * 45, UNIT),
            output("out", Dtype::F32, 45 * 70),
            int(45),
            int(70),
        ],
        tolerance: 0.0,
        want: |case| {
            let x = case.values("in");
            vec![cells([45, 70]).map(|[r, q]| x[q * 45 + r]).collect()]
        },
        ..conv2d()
    }
}

fn halo() -> Kernel {
    Kernel {
        name: "conv3x3_halo",
        file: "conv_tiles",
        source: include_str!("../../kernels/conv_tiles.cu"),
        entry: "conv3x3_halo",
        grid: [3, 2, 2],
        block: [16, 16, 1],
        args: vec![
            input("x", Dtype::F32, 2 * 30 * 37, UNIT),
            input("w", Dtype::F32, 18, UNIT),
            output("y", Dtype::F32, 2 * 30 * 37),
            int(30),
            int(37),
        ],
        want: |case| {
            let (x, w) = (case.values("x"), case.values("w"));
            let image = Image { data: &x, height: 30, width: 37 };
            let cell = |[c, r, q]: [usize; 3]| {
                let tap = |[i, j]: [usize; 2]| {
                    let v = image.at(c, (r + i) as i64 - 1, (q + j) as i64 - 1);
                    v * w[c * 9 + i * 3 + j]
                };
                cells([3, 3]).map(tap).sum()
            };
            vec![cells([2, 30, 37]).map(cell).collect()]
        },
        ..conv2d()
    }
}

fn conv1d() -> Kernel {
    Kernel {
        name: "conv1d_shared",
        entry: "conv1d_shared",
        grid: [4, 1, 1],
        block: [128, 1, 1],
        args: vec![
            input("x", Dtype::F32, 500, UNIT),
            input("w", Dtype::F32, 7, UNIT),
            output("y", Dtype::F32, 500),
            int(500),
        ],
        want: |case| {
            let (x, w) = (case.values("x"), case.values("w"));
            let image = Image { data: &x, height: 1, width: 500 };
            let cell =
                |i: usize| (0..7).map(|j| image.at(0, 0, (i + j) as i64 - 3) * w[j]).sum::<f64>();
            vec![(0..500).map(cell).collect()]
        },
        ..halo()
    }
}

fn stencil() -> Kernel {
    Kernel {
        name: "stencil5",
        entry: "stencil5",
        grid: [3, 3, 1],
        args: vec![
            input("u", Dtype::F32, 35 * 45, UNIT),
            output("out", Dtype::F32, 35 * 45),
            float(0.125),
            int(35),
            int(45),
        ],
        want: |case| {
            let u = case.values("u");
            let image = Image { data: &u, height: 35, width: 45 };
            let cell = |[r, q]: [usize; 2]| {
                let at = |a: i64, b: i64| image.at(0, r as i64 + a, q as i64 + b);
                let border = r == 0 || r == 34 || q == 0 || q == 44;
                let laplace = at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1) - 4.0 * at(0, 0);
                at(0, 0) + if border { 0.0 } else { 0.125 * laplace }
            };
            vec![cells([35, 45]).map(cell).collect()]
        },
        ..halo()
    }
}

fn swizzle() -> Kernel {
    Kernel {
        name: "transpose_swizzle",
        entry: "transpose_swizzle",
        grid: [3, 2, 1],
        block: [32, 8, 1],
        args: vec![
            input("in", Dtype::F32, 45 * 70, UNIT),
            output("out", Dtype::F32, 70 * 45),
            int(45),
            int(70),
        ],
        tolerance: 0.0,
        want: |case| {
            let x = case.values("in");
            vec![cells([70, 45]).map(|[r, q]| x[q * 70 + r]).collect()]
        },
        ..halo()
    }
}

fn depthwise() -> Kernel {
    Kernel {
        name: "depthwise_nhwc",
        file: "conv_layers",
        source: include_str!("../../kernels/conv_layers.cu"),
        entry: "depthwise_nhwc",
        grid: [10, 1, 1],
        block: [256, 1, 1],
        args: vec![
            input("x", Dtype::F32, 2 * 7 * 9 * 20, UNIT),
            input("w", Dtype::F32, 9 * 20, UNIT),
            input("bias", Dtype::F32, 20, UNIT),
            output("y", Dtype::F32, 2 * 7 * 9 * 20),
            int(2),
            int(7),
            int(9),
            int(20),
        ],
        want: |case| {
            let (x, w, bias) = (case.values("x"), case.values("w"), case.values("bias"));
            let at = |n: usize, r: usize, q: usize, c: usize| {
                // Coordinates are one too large, so that the border is 0 and 8 or 10.
                let inside = (1..=7).contains(&r) && (1..=9).contains(&q);
                if inside { x[((n * 7 + r - 1) * 9 + q - 1) * 20 + c] } else { 0.0 }
            };
            let cell = |[n, r, q, c]: [usize; 4]| {
                let tap = |[i, j]: [usize; 2]| at(n, r + i, q + j, c) * w[(i * 3 + j) * 20 + c];
                (bias[c] + cells([3, 3]).map(tap).sum::<f64>()).max(0.0)
            };
            vec![cells([2, 7, 9, 20]).map(cell).collect()]
        },
        ..conv2d()
    }
}

fn im2col() -> Kernel {
    Kernel {
        name: "im2col",
        entry: "im2col",
        grid: [2, 1, 1],
        block: [64, 1, 1],
        args: vec![
            input("x", Dtype::F32, 4 * 8 * 9, UNIT),
            output("out", Dtype::F32, 4 * 9 * 4 * 5),
            int(4),
            int(8),
            int(9),
            int(4),
            int(5),
        ],
        tolerance: 0.0,
        want: |case| {
            let x = case.values("x");
            let image = Image { data: &x, height: 8, width: 9 };
            let cell = |[c, i, j, r, q]: [usize; 5]| {
                image.at(c, (2 * r + i) as i64 - 1, (2 * q + j) as i64 - 1)
            };
            vec![cells([4, 3, 3, 4, 5]).map(cell).collect()]
        },
        ..depthwise()
    }
}

fn upsample() -> Kernel {
    Kernel {
        name: "upsample_bilinear",
        entry: "upsample_bilinear",
        grid: [2, 4, 3],
        block: [16, 4, 1],
        args: vec![
            input("x", Dtype::F32, 3 * 7 * 9, UNIT),
            output("y", Dtype::F32, 3 * 15 * 20),
            int(7),
            int(9),
            int(15),
            int(20),
        ],
        agreement: Agreement::Within(1e-5),
        want: |case| {
            let x = case.values("x");
            let image = Image { data: &x, height: 7, width: 9 };
            let place = |i: usize, from: usize, to: usize| {
                let at = ((i as f64 + 0.5) * from as f64 / to as f64 - 0.5).max(0.0);
                (at.floor() as i64, at.fract())
            };
            let cell = |[c, r, q]: [usize; 3]| {
                let ((row, dy), (col, dx)) = (place(r, 7, 15), place(q, 9, 20));
                let at = |a: i64, b: i64| image.at(c, (row + a).min(6), (col + b).min(8));
                let top = at(0, 0) * (1.0 - dx) + at(0, 1) * dx;
                let bottom = at(1, 0) * (1.0 - dx) + at(1, 1) * dx;
                top * (1.0 - dy) + bottom * dy
            };
            vec![cells([3, 15, 20]).map(cell).collect()]
        },
        ..depthwise()
    }
}

fn avgpool() -> Kernel {
    Kernel {
        name: "avgpool_global",
        entry: "avgpool_global",
        grid: [6, 1, 1],
        block: [96, 1, 1],
        args: vec![input("x", Dtype::F32, 6 * 211, UNIT), output("y", Dtype::F32, 6), int(211)],
        want: |case| {
            let mean = |plane: &[f64]| plane.iter().sum::<f64>() / 211.0;
            vec![case.values("x").chunks(211).map(mean).collect()]
        },
        ..depthwise()
    }
}

fn group_norm() -> Kernel {
    Kernel {
        name: "group_norm",
        entry: "group_norm",
        grid: [8, 1, 1],
        block: [128, 1, 1],
        args: vec![
            input("x", Dtype::F32, 2 * 12 * 63, UNIT),
            input("gamma", Dtype::F32, 12, Fill::Uniform(0.5, 1.5)),
            input("beta", Dtype::F32, 12, UNIT),
            output("y", Dtype::F32, 2 * 12 * 63),
            int(12),
            int(4),
            int(63),
            float(1e-5),
        ],
        tolerance: 1e-4,
        agreement: Agreement::Within(1e-4),
        want: |case| {
            let (gamma, beta) = (case.values("gamma"), case.values("beta"));
            let norm = |(n, group): (usize, &[f64])| {
                let mean = group.iter().sum::<f64>() / 189.0;
                let variance = group.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 189.0;
                let unit = group.iter().map(|v| (v - mean) / (variance + 1e-5).sqrt());
                let channel = |i: usize| n % 4 * 3 + i / 63;
                let line = |(i, v): (usize, f64)| v * gamma[channel(i)] + beta[channel(i)];
                unit.enumerate().map(line).collect::<Vec<_>>()
            };
            vec![case.values("x").chunks(189).enumerate().flat_map(norm).collect()]
        },
        ..depthwise()
    }
}
