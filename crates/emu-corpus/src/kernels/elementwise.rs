//! Elementwise kernels, broadcasts and copies.

use crate::{Agreement, Arg, Dtype, Fill, Kernel, float, inout, input, int, long, output};

/// The kernels of this family.
pub(super) fn list() -> Vec<Kernel> {
    vec![
        relu_float4(),
        add_bf16x2(),
        gelu_half2(),
        bias_swish(),
        softplus(),
        broadcast_add(),
        transpose_scale(),
        activations(),
        dequant_int8(),
        rope(),
    ]
}

fn swish(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

fn gelu_tanh(x: f64) -> f64 {
    0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
}

/// The error function by its power series, for small `x`.
fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..60 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    2.0 / std::f64::consts::PI.sqrt() * sum
}

/// Three strides as a struct by value.
fn strides(values: [i32; 3]) -> Arg {
    Arg::Scalar(values.iter().flat_map(|v| v.to_le_bytes()).collect())
}

/// The functions of the kernel `acts`, a row of outputs each.
const ACTIVATIONS: [fn(f64) -> f64; 11] = [
    |v| 0.5 * v * (1.0 + erf(v / 2.0_f64.sqrt())),
    gelu_tanh,
    swish,
    |v| v.exp().ln_1p(),
    |v| v.abs().powf(1.7),
    |v| v.abs().sqrt(),
    |v| v.sin() * v.cos() + v % f64::from(1.3_f32),
    |v| if v > 0.0 { v } else { v.exp_m1() },
    |v| v.round_ties_even() + v.floor() + v.ceil() + v.round() + v.trunc(),
    |v| {
        // The kernel's square is by a logarithm: NaN below zero, as is its own logarithm.
        v / 3.0 + 1.0 / v + v.ln() + v * v + v.cbrt() + v.atan2(2.0)
    },
    |v| v.signum() + 8.0 * v,
];

fn relu_float4() -> Kernel {
    Kernel {
        name: "relu_float4",
        file: "relu_float4",
        source: include_str!("../../kernels/relu_float4.cu"),
        entry: "relu_f4",
        grid: [5, 1, 1],
        block: [256, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::F32, 4099, Fill::Uniform(-2.0, 2.0)),
            output("y", Dtype::F32, 4099),
            int(4099),
        ],
        arch: 80,
        tolerance: 0.0,
        agreement: Agreement::Exact,
        want: |case| vec![case.values("x").into_iter().map(|x| x.max(0.0)).collect()],
    }
}

fn add_bf16x2() -> Kernel {
    Kernel {
        name: "add_bf16x2",
        file: "add_bf16x2",
        source: include_str!("../../kernels/add_bf16x2.cu"),
        entry: "add_bf16",
        grid: [3, 1, 1],
        block: [128, 1, 1],
        smem: 0,
        args: vec![
            input("a", Dtype::Bf16, 1501, Fill::Uniform(-2.0, 2.0)),
            input("b", Dtype::Bf16, 1501, Fill::Uniform(-2.0, 2.0)),
            output("c", Dtype::Bf16, 1501),
            int(1501),
        ],
        arch: 80,
        tolerance: 0.004,
        agreement: Agreement::Exact,
        want: |case| {
            vec![case.values("a").iter().zip(case.values("b")).map(|(a, b)| a + b).collect()]
        },
    }
}

fn gelu_half2() -> Kernel {
    Kernel {
        name: "gelu_half2",
        file: "gelu_half2",
        source: include_str!("../../kernels/gelu_half2.cu"),
        entry: "gelu_half2",
        grid: [3, 1, 1],
        block: [128, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::F16, 1501, Fill::Uniform(-4.0, 4.0)),
            output("y", Dtype::F16, 1501),
            int(1501),
        ],
        arch: 80,
        tolerance: 1e-3,
        agreement: Agreement::Within(1e-3),
        want: |case| vec![case.values("x").into_iter().map(gelu_tanh).collect()],
    }
}

fn bias_swish() -> Kernel {
    Kernel {
        name: "bias_swish",
        file: "bias_swish",
        source: include_str!("../../kernels/bias_swish.cu"),
        entry: "bias_swish",
        grid: [4, 5, 1],
        block: [32, 8, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::F32, 37 * 100, Fill::Uniform(-3.0, 3.0)),
            input("bias", Dtype::F32, 100, Fill::Uniform(-1.0, 1.0)),
            input("residual", Dtype::F32, 37 * 100, Fill::Uniform(-1.0, 1.0)),
            output("y", Dtype::F32, 37 * 100),
            int(37),
            int(100),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Within(1e-5),
        want: |case| {
            let (bias, residual) = (case.values("bias"), case.values("residual"));
            let one = |(i, x): (usize, f64)| swish(x + bias[i % 100]) + residual[i];
            vec![case.values("x").into_iter().enumerate().map(one).collect()]
        },
    }
}

fn softplus() -> Kernel {
    Kernel {
        name: "softplus",
        file: "softplus",
        source: include_str!("../../kernels/softplus.cu"),
        entry: "softplus",
        grid: [4, 1, 1],
        block: [192, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::F32, 1999, Fill::Uniform(-8.0, 8.0)),
            output("y", Dtype::F32, 1999),
            float(1.5),
            float(10.0),
            long(1999),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Within(1e-5),
        want: |case| {
            let one = |x: f64| if 1.5 * x > 10.0 { x } else { (1.5 * x).exp().ln_1p() / 1.5 };
            vec![case.values("x").into_iter().map(one).collect()]
        },
    }
}

fn broadcast_add() -> Kernel {
    Kernel {
        name: "broadcast_add",
        file: "broadcast_add",
        source: include_str!("../../kernels/broadcast_add.cu"),
        entry: "broadcast_add",
        grid: [10, 1, 1],
        block: [128, 1, 1],
        smem: 0,
        args: vec![
            input("a", Dtype::F32, 5 * 7 * 33, Fill::Uniform(-1.0, 1.0)),
            input("b", Dtype::F32, 7, Fill::Uniform(-1.0, 1.0)),
            input("c", Dtype::F32, 5 * 33, Fill::Uniform(-1.0, 1.0)),
            output("y", Dtype::F32, 5 * 7 * 33),
            strides([7 * 33, 33, 1]),
            strides([0, 1, 0]),
            strides([33, 0, 1]),
            int(5),
            int(7),
            int(33),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Exact,
        want: |case| {
            let (b, c) = (case.values("b"), case.values("c"));
            let one = |(i, a): (usize, f64)| a + b[i / 33 % 7] + c[i / (7 * 33) * 33 + i % 33];
            vec![case.values("a").into_iter().enumerate().map(one).collect()]
        },
    }
}

fn transpose_scale() -> Kernel {
    Kernel {
        name: "transpose_scale",
        file: "transpose_scale",
        source: include_str!("../../kernels/transpose_scale.cu"),
        entry: "transpose_scale",
        grid: [2, 3, 1],
        block: [32, 8, 1],
        smem: 0,
        args: vec![
            input("in", Dtype::F32, 70 * 45, Fill::Uniform(-1.0, 1.0)),
            output("out", Dtype::F32, 70 * 45),
            int(70),
            int(45),
            float(1.5),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Exact,
        want: |case| {
            let x = case.values("in");
            vec![(0..45 * 70).map(|i| 1.5 * x[i % 70 * 45 + i / 70]).collect()]
        },
    }
}

fn activations() -> Kernel {
    Kernel {
        name: "activations",
        file: "embed_xent",
        source: include_str!("../../kernels/embed_xent.cu"),
        entry: "acts",
        grid: [4, 1, 1],
        block: [64, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::F32, 211, Fill::Uniform(-3.0, 3.0)),
            output("y", Dtype::F32, 11 * 211),
            int(211),
        ],
        arch: 80,
        tolerance: 1e-4,
        agreement: Agreement::Within(1e-4),
        want: |case| {
            let x = case.values("x");
            vec![ACTIVATIONS.iter().flat_map(|f| x.iter().map(|v| f(*v))).collect()]
        },
    }
}

fn dequant_int8() -> Kernel {
    Kernel {
        name: "dequant_int8",
        file: "dequant_int8",
        source: include_str!("../../kernels/dequant_int8.cu"),
        entry: "dequant_int8",
        grid: [2, 9, 1],
        block: [64, 1, 1],
        smem: 0,
        args: vec![
            input("q", Dtype::I8, 9 * 300, Fill::Uniform(-128.0, 128.0)),
            input("scale", Dtype::F32, 9, Fill::Uniform(0.01, 0.1)),
            input("zero", Dtype::I32, 9, Fill::Uniform(-20.0, 20.0)),
            output("w", Dtype::F32, 9 * 300),
            int(300),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Exact,
        want: |case| {
            let (scale, zero) = (case.values("scale"), case.values("zero"));
            let one = |(i, q): (usize, f64)| (q - zero[i / 300]) * scale[i / 300];
            vec![case.values("q").into_iter().enumerate().map(one).collect()]
        },
    }
}

fn rope() -> Kernel {
    Kernel {
        name: "rope",
        file: "rmsnorm_rope_bf16",
        source: include_str!("../../kernels/rmsnorm_rope_bf16.cu"),
        entry: "rope",
        grid: [6, 3, 1],
        block: [32, 1, 1],
        smem: 0,
        args: vec![
            inout("q", Dtype::F32, 6 * 3 * 48, Fill::Uniform(-1.0, 1.0)),
            int(6),
            int(3),
            int(48),
            float(10000.0),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Within(1e-5),
        want: |case| {
            let mut q = case.values("q");
            for (at, head) in q.chunks_mut(48).enumerate() {
                for i in 0..24 {
                    let angle = 10000.0_f64.powf(-2.0 * i as f64 / 48.0) * (at / 3) as f64;
                    let (sin, cos) = angle.sin_cos();
                    let (a, b) = (head[i], head[i + 24]);
                    (head[i], head[i + 24]) = (a * cos - b * sin, a * sin + b * cos);
                }
            }
            vec![q]
        },
    }
}
