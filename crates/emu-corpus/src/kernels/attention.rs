//! Attention.

use crate::{Agreement, Dtype, Fill, Kernel, float, inout, input, int, output};

const UNIT: Fill = Fill::Uniform(-1.0, 1.0);

/// The kernels of this family.
pub(super) fn list() -> Vec<Kernel> {
    vec![flash(), flash_mma(), causal(), kv_cache()]
}

/// Softmax-weighted mean of the rows of `values` for a query: `keys` and `values` are `[n, d]`.
fn attend(query: &[f64], keys: &[f64], values: &[f64], scale: f64) -> Vec<f64> {
    let d = query.len();
    let dot = |key: &[f64]| query.iter().zip(key).map(|(a, b)| a * b).sum::<f64>() * scale;
    let weights: Vec<f64> = keys.chunks(d).map(|key| dot(key).exp()).collect();
    let total: f64 = weights.iter().sum();
    let column =
        |c: usize| weights.iter().zip(values.chunks(d)).map(|(w, v)| w * v[c]).sum::<f64>();
    (0..d).map(|c| column(c) / total).collect()
}

/// [`attend`] for each query of each head: `q`, `k` and `v` are `[heads, n, d]`; a causal query sees
/// the keys up to its own.
fn heads([q, k, v]: [&[f64]; 3], [n, d]: [usize; 2], scale: f64, causal: bool) -> Vec<f64> {
    let mut out = Vec::new();
    for ((q, k), v) in q.chunks(n * d).zip(k.chunks(n * d)).zip(v.chunks(n * d)) {
        for (row, query) in q.chunks(d).enumerate() {
            let seen = if causal { row + 1 } else { n } * d;
            out.extend(attend(query, &k[..seen], &v[..seen], scale));
        }
    }
    out
}

fn flash() -> Kernel {
    Kernel {
        name: "flash_attention",
        file: "attention",
        source: include_str!("../../kernels/attention.cu"),
        entry: "flash_attention",
        grid: [2, 2, 1],
        block: [32, 1, 1],
        smem: 0,
        args: vec![
            input("q", Dtype::F32, 2 * 45 * 16, UNIT),
            input("k", Dtype::F32, 2 * 45 * 16, UNIT),
            input("v", Dtype::F32, 2 * 45 * 16, UNIT),
            output("out", Dtype::F32, 2 * 45 * 16),
            int(45),
            float(0.25),
        ],
        arch: 80,
        tolerance: 1e-4,
        agreement: Agreement::Within(1e-4),
        want: |case| {
            let [q, k, v] = ["q", "k", "v"].map(|name| case.values(name));
            vec![heads([&q, &k, &v], [45, 16], 0.25, false)]
        },
    }
}

fn flash_mma() -> Kernel {
    Kernel {
        name: "flash_mma",
        file: "attention_mma",
        source: include_str!("../../kernels/attention_mma.cu"),
        entry: "flash_mma",
        block: [64, 1, 1],
        args: vec![
            input("q", Dtype::F16, 2 * 45 * 16, UNIT),
            input("k", Dtype::F16, 2 * 45 * 16, UNIT),
            input("v", Dtype::F16, 2 * 45 * 16, UNIT),
            output("out", Dtype::F32, 2 * 45 * 16),
            int(45),
            float(0.25),
        ],
        // The weights are rounded to f16.
        tolerance: 1e-3,
        agreement: Agreement::Within(1e-3),
        ..flash()
    }
}

fn causal() -> Kernel {
    Kernel {
        name: "causal_attention",
        entry: "causal_attention",
        grid: [70, 2, 1],
        block: [64, 1, 1],
        smem: 280,
        args: vec![
            input("q", Dtype::F32, 2 * 70 * 24, UNIT),
            input("k", Dtype::F32, 2 * 70 * 24, UNIT),
            input("v", Dtype::F32, 2 * 70 * 24, UNIT),
            output("out", Dtype::F32, 2 * 70 * 24),
            int(70),
            int(24),
            float(0.2),
        ],
        want: |case| {
            let [q, k, v] = ["q", "k", "v"].map(|name| case.values(name));
            vec![heads([&q, &k, &v], [70, 24], 0.2, true)]
        },
        ..flash()
    }
}

fn kv_cache() -> Kernel {
    Kernel {
        name: "kv_cache_decode",
        entry: "kv_cache_decode",
        grid: [5, 1, 1],
        block: [64, 1, 1],
        args: vec![
            input("q", Dtype::F32, 5 * 32, UNIT),
            input("new_k", Dtype::F32, 5 * 32, UNIT),
            input("new_v", Dtype::F32, 5 * 32, UNIT),
            inout("k_cache", Dtype::F32, 5 * 24 * 32, UNIT),
            inout("v_cache", Dtype::F32, 5 * 24 * 32, UNIT),
            output("out", Dtype::F32, 5 * 32),
            int(17),
            int(24),
            float(0.2),
        ],
        want: |case| {
            let append = |cache: &str, new: &str| {
                let (mut cache, new) = (case.values(cache), case.values(new));
                for (head, new) in cache.chunks_mut(24 * 32).zip(new.chunks(32)) {
                    head[17 * 32..18 * 32].copy_from_slice(new);
                }
                cache
            };
            let (k, v) = (append("k_cache", "new_k"), append("v_cache", "new_v"));
            let seen = |cache: &[f64], head: usize| cache[head * 24 * 32..][..18 * 32].to_vec();
            let q = case.values("q");
            let heads = q.chunks(32).enumerate();
            let out = heads.flat_map(|(h, q)| attend(q, &seen(&k, h), &seen(&v, h), 0.2)).collect();
            vec![k, v, out]
        },
        ..flash()
    }
}
