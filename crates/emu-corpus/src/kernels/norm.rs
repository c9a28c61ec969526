//! Softmax and normalisation along rows and channels.

use crate::{Agreement, Dtype, Fill, Kernel, float, inout, input, int, output};

/// The kernels of this family.
pub(super) fn list() -> Vec<Kernel> {
    vec![
        softmax_shfl(),
        softmax_online(),
        softmax_block(),
        log_softmax(),
        layernorm_welford(),
        layernorm_two_pass(),
        batchnorm_stats(),
        rmsnorm_bf16(),
        group_norm(),
    ]
}

/// Softmax of each row of `cols`.
fn softmax(x: &[f64], cols: usize) -> Vec<f64> {
    let row = |row: &[f64]| {
        let e: Vec<f64> = row.iter().map(|v| v.exp()).collect();
        let sum: f64 = e.iter().sum();
        e.into_iter().map(move |v| v / sum).collect::<Vec<_>>()
    };
    x.chunks(cols).flat_map(row).collect()
}

/// Mean and variance.
fn moments(x: &[f64]) -> (f64, f64) {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    (mean, x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n)
}

/// Layer norm of each row of `gamma.len()`.
fn layernorm(x: &[f64], gamma: &[f64], beta: &[f64], eps: f64) -> Vec<f64> {
    let row = |row: &[f64]| {
        let (mean, var) = moments(row);
        let scale = 1.0 / (var + eps).sqrt();
        let one = |((v, g), b)| (v - mean) * scale * g + b;
        row.iter().zip(gamma).zip(beta).map(one).collect::<Vec<_>>()
    };
    x.chunks(gamma.len()).flat_map(row).collect()
}

fn softmax_shfl() -> Kernel {
    Kernel {
        name: "softmax_shfl",
        file: "softmax_shfl",
        source: include_str!("../../kernels/softmax_shfl.cu"),
        entry: "softmax_rows",
        grid: [6, 1, 1],
        block: [128, 1, 1],
        smem: 0,
        args: vec![
            input("in", Dtype::F32, 5 * 333, Fill::Uniform(-6.0, 6.0)),
            output("out", Dtype::F32, 5 * 333),
            // A block more than rows.
            int(5),
            int(333),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Within(1e-5),
        want: |case| vec![softmax(&case.values("in"), 333)],
    }
}

fn softmax_online() -> Kernel {
    Kernel {
        name: "softmax_online",
        file: "softmax_online",
        source: include_str!("../../kernels/softmax_online.cu"),
        entry: "softmax_online",
        grid: [5, 1, 1],
        block: [128, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::F32, 18 * 77, Fill::Uniform(-6.0, 6.0)),
            output("y", Dtype::F32, 18 * 77),
            int(18),
            int(77),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Within(1e-5),
        want: |case| vec![softmax(&case.values("x"), 77)],
    }
}

fn softmax_block() -> Kernel {
    Kernel {
        name: "softmax_block",
        file: "softmax_block",
        source: include_str!("../../kernels/softmax_block.cu"),
        entry: "softmax_block",
        grid: [5, 1, 1],
        block: [128, 1, 1],
        smem: 512,
        args: vec![
            input("x", Dtype::F32, 5 * 301, Fill::Uniform(-6.0, 6.0)),
            output("y", Dtype::F32, 5 * 301),
            int(301),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Within(1e-5),
        want: |case| vec![softmax(&case.values("x"), 301)],
    }
}

fn log_softmax() -> Kernel {
    Kernel {
        name: "log_softmax",
        file: "log_softmax",
        source: include_str!("../../kernels/log_softmax.cu"),
        entry: "log_softmax",
        grid: [7, 1, 1],
        block: [96, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::F32, 7 * 250, Fill::Uniform(-6.0, 6.0)),
            output("y", Dtype::F32, 7 * 250),
            int(250),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Within(1e-5),
        want: |case| vec![softmax(&case.values("x"), 250).into_iter().map(f64::ln).collect()],
    }
}

fn layernorm_welford() -> Kernel {
    Kernel {
        name: "layernorm_welford",
        file: "layernorm_welford",
        source: include_str!("../../kernels/layernorm_welford.cu"),
        entry: "_Z9layernormILi256EEvPKfS1_S1_Pfif",
        grid: [4, 1, 1],
        block: [256, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::F32, 4 * 387, Fill::Uniform(-2.0, 3.0)),
            input("g", Dtype::F32, 387, Fill::Uniform(0.5, 1.5)),
            input("b", Dtype::F32, 387, Fill::Uniform(-1.0, 1.0)),
            output("y", Dtype::F32, 4 * 387),
            int(387),
            float(1e-5),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Within(1e-5),
        want: |case| {
            let (x, g, b) = (case.values("x"), case.values("g"), case.values("b"));
            vec![layernorm(&x, &g, &b, 1e-5)]
        },
    }
}

fn layernorm_two_pass() -> Kernel {
    Kernel {
        name: "layernorm_two_pass",
        file: "layernorm_two_pass",
        source: include_str!("../../kernels/layernorm_two_pass.cu"),
        entry: "layernorm_two_pass",
        grid: [6, 1, 1],
        block: [96, 1, 1],
        smem: 4 * 205,
        args: vec![
            input("x", Dtype::F32, 6 * 205, Fill::Uniform(-2.0, 3.0)),
            input("gamma", Dtype::F32, 205, Fill::Uniform(0.5, 1.5)),
            input("beta", Dtype::F32, 205, Fill::Uniform(-1.0, 1.0)),
            output("y", Dtype::F32, 6 * 205),
            int(205),
            float(1e-5),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Within(1e-5),
        want: |case| {
            let (x, g, b) = (case.values("x"), case.values("gamma"), case.values("beta"));
            vec![layernorm(&x, &g, &b, 1e-5)]
        },
    }
}

fn batchnorm_stats() -> Kernel {
    Kernel {
        name: "batchnorm_stats",
        file: "batchnorm_stats",
        source: include_str!("../../kernels/batchnorm_stats.cu"),
        entry: "batchnorm_stats",
        grid: [5, 1, 1],
        block: [128, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::F32, 3 * 5 * 77, Fill::Uniform(-1.0, 2.0)),
            output("mean", Dtype::F32, 5),
            output("var", Dtype::F32, 5),
            inout("running", Dtype::F32, 5, Fill::Uniform(-1.0, 1.0)),
            int(3),
            int(5),
            int(77),
            float(0.1),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Within(1e-6),
        want: |case| {
            let x = case.values("x");
            let channel = |c: usize| {
                let images = x.chunks(5 * 77).flat_map(|image| &image[c * 77..(c + 1) * 77]);
                moments(&images.copied().collect::<Vec<_>>())
            };
            let (mean, var): (Vec<f64>, Vec<f64>) = (0..5).map(channel).unzip();
            let running = case.values("running").into_iter().zip(&mean);
            let running = running.map(|(r, m)| 0.9 * r + 0.1 * m).collect();
            vec![mean, var, running]
        },
    }
}

fn rmsnorm_bf16() -> Kernel {
    Kernel {
        name: "rmsnorm_bf16",
        file: "rmsnorm_rope_bf16",
        source: include_str!("../../kernels/rmsnorm_rope_bf16.cu"),
        entry: "rmsnorm",
        grid: [5, 1, 1],
        block: [64, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::Bf16, 5 * 600, Fill::Uniform(-2.0, 2.0)),
            input("w", Dtype::Bf16, 600, Fill::Uniform(0.5, 1.5)),
            output("y", Dtype::Bf16, 5 * 600),
            int(600),
            float(1e-5),
        ],
        arch: 80,
        tolerance: 0.004,
        agreement: Agreement::Within(0.008),
        want: |case| {
            let w = case.values("w");
            let row = |row: &[f64]| {
                let square = row.iter().map(|v| v * v).sum::<f64>() / 600.0;
                let scale = 1.0 / (square + 1e-5).sqrt();
                row.iter().zip(&w).map(move |(v, w)| v * scale * w).collect::<Vec<_>>()
            };
            vec![case.values("x").chunks(600).flat_map(row).collect()]
        },
    }
}

fn group_norm() -> Kernel {
    Kernel {
        name: "group_norm_warp",
        file: "group_norm_warp",
        source: include_str!("../../kernels/group_norm_warp.cu"),
        entry: "group_norm",
        grid: [6, 1, 1],
        block: [128, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::F32, 2 * 12 * 55, Fill::Uniform(-2.0, 3.0)),
            input("w", Dtype::F32, 12, Fill::Uniform(0.5, 1.5)),
            input("b", Dtype::F32, 12, Fill::Uniform(-1.0, 1.0)),
            output("y", Dtype::F32, 2 * 12 * 55),
            int(12),
            int(55),
            int(3),
            float(1e-5),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Within(1e-5),
        want: |case| {
            let (w, b) = (case.values("w"), case.values("b"));
            let group = |(at, group): (usize, &[f64])| {
                let (mean, var) = moments(group);
                let scale = 1.0 / (var + 1e-5).sqrt();
                let channel = |i: usize| at % 3 * 4 + i / 55;
                let one =
                    |(i, v): (usize, &f64)| (v - mean) * scale * w[channel(i)] + b[channel(i)];
                group.iter().enumerate().map(one).collect::<Vec<_>>()
            };
            vec![case.values("x").chunks(4 * 55).enumerate().flat_map(group).collect()]
        },
    }
}
