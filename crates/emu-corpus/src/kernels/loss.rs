//! Losses and their gradients.

use crate::{Agreement, Case, Dtype, Fill, Kernel, float, inout, input, int, output};

/// The kernels of this family.
pub(super) fn list() -> Vec<Kernel> {
    vec![xent(), mse_loss(), bce_logits(), xent_smooth()]
}

/// Logarithm of the sum of exponentials.
fn log_sum_exp(row: &[f64]) -> f64 {
    row.iter().map(|v| v.exp()).sum::<f64>().ln()
}

/// Loss and gradient per row of 300 classes; class 5 is ignored.
fn cross_entropy(case: &Case) -> Vec<Vec<f64>> {
    let (mut loss, mut grad) = (vec![], vec![]);
    for (row, target) in case.values("logits").chunks(300).zip(case.indices("tgt")) {
        let lse = log_sum_exp(row);
        let weight = if target == 5 { 0.0 } else { 1.0 };
        loss.push(weight * (lse - row[target]));
        let hot = |i| if i == target { 1.0 } else { 0.0 };
        grad.extend(row.iter().enumerate().map(|(i, v)| weight * ((v - lse).exp() - hot(i))));
    }
    vec![loss, grad]
}

/// Loss per element, and sums of each block of 128.
fn binary_cross_entropy(case: &Case) -> Vec<Vec<f64>> {
    let one = |(x, label): (f64, f64)| {
        let p = 1.0 / (1.0 + (-x).exp());
        if label == 0.0 { -(1.0 - p).ln() } else { -2.5 * p.ln() }
    };
    let loss: Vec<f64> =
        case.values("logit").into_iter().zip(case.values("label")).map(one).collect();
    let sums = loss.chunks(128).map(|c| c.iter().sum()).collect();
    vec![loss, sums]
}

/// Loss per sample of 45 classes with smoothing 0.1, their mean and the count.
fn smoothed(case: &Case) -> Vec<Vec<f64>> {
    let one = |(row, target): (&[f64], usize)| {
        let lse = log_sum_exp(row);
        let soft = lse - row.iter().sum::<f64>() / 45.0;
        0.9 * (lse - row[target]) + 0.1 * soft
    };
    let loss: Vec<f64> =
        case.values("logits").chunks(45).zip(case.indices("target")).map(one).collect();
    let mean = loss.iter().sum::<f64>() / loss.len() as f64;
    vec![loss, vec![mean], vec![22.0]]
}

fn xent() -> Kernel {
    Kernel {
        name: "xent",
        file: "embed_xent",
        source: include_str!("../../kernels/embed_xent.cu"),
        entry: "xent",
        grid: [6, 1, 1],
        block: [256, 1, 1],
        smem: 0,
        args: vec![
            input("logits", Dtype::F32, 6 * 300, Fill::Uniform(-5.0, 5.0)),
            input("tgt", Dtype::I32, 6, Fill::Values(&[3.0, 5.0, 299.0, 0.0, 5.0, 17.0])),
            output("loss", Dtype::F32, 6),
            output("grad", Dtype::F32, 6 * 300),
            int(300),
            int(5),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Within(1e-5),
        want: |case| cross_entropy(case),
    }
}

fn mse_loss() -> Kernel {
    Kernel {
        name: "mse_loss",
        file: "mse_loss",
        source: include_str!("../../kernels/mse_loss.cu"),
        entry: "mse_loss",
        grid: [3, 1, 1],
        block: [160, 1, 1],
        smem: 0,
        args: vec![
            input("pred", Dtype::F32, 1111, Fill::Uniform(-2.0, 2.0)),
            input("target", Dtype::F32, 1111, Fill::Uniform(-2.0, 2.0)),
            inout("loss", Dtype::F32, 1, Fill::Zeros),
            output("grad", Dtype::F32, 1111),
            int(1111),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Within(1e-5),
        want: |case| {
            let d = case.values("pred").into_iter().zip(case.values("target"));
            let d: Vec<f64> = d.map(|(p, t)| p - t).collect();
            let loss = d.iter().map(|d| d * d).sum::<f64>() / 1111.0;
            vec![vec![loss], d.iter().map(|d| 2.0 * d / 1111.0).collect()]
        },
    }
}

fn bce_logits() -> Kernel {
    Kernel {
        name: "bce_logits",
        file: "bce_logits",
        source: include_str!("../../kernels/bce_logits.cu"),
        entry: "bce_logits",
        grid: [5, 1, 1],
        block: [128, 1, 1],
        smem: 512,
        args: vec![
            input("logit", Dtype::F32, 600, Fill::Uniform(-6.0, 6.0)),
            input("label", Dtype::U8, 600, Fill::Uniform(0.0, 2.0)),
            output("loss", Dtype::F32, 600),
            output("block_loss", Dtype::F32, 5),
            float(2.5),
            int(600),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Within(1e-5),
        want: |case| binary_cross_entropy(case),
    }
}

fn xent_smooth() -> Kernel {
    Kernel {
        name: "xent_smooth",
        file: "xent_smooth",
        source: include_str!("../../kernels/xent_smooth.cu"),
        entry: "xent_smooth",
        grid: [6, 1, 1],
        block: [128, 1, 1],
        smem: 0,
        args: vec![
            input("logits", Dtype::F32, 22 * 45, Fill::Uniform(-5.0, 5.0)),
            input("target", Dtype::I32, 22, Fill::Uniform(0.0, 45.0)),
            output("loss", Dtype::F32, 22),
            output("mean", Dtype::F32, 1),
            inout("finished", Dtype::U32, 1, Fill::Zeros),
            int(22),
            int(45),
            float(0.1),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Within(1e-5),
        want: |case| smoothed(case),
    }
}
