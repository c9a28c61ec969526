//! Atomics, locks, barriers over blocks, gathers and scatters.

use crate::{Agreement, Case, Dtype, Fill, Kernel, inout, input, int, long, output};

/// The kernels of this family.
pub(super) fn list() -> Vec<Kernel> {
    vec![
        histogram(),
        max_last(),
        embedding(),
        scatter_add(),
        compact(),
        topk(),
        spin_lock(),
        argmax_packed(),
        grid_barrier(),
    ]
}

/// The output of `maxlast` for 4 blocks of 96 threads and 300 elements.
fn max_last_results(case: &Case) -> Vec<Vec<f64>> {
    let x = case.values("x");
    let top = x.iter().copied().fold(f64::MIN, f64::max);
    let mut folded = 0_u32;
    for i in 0..384_u32 {
        let warp: u32 = (i / 32 * 32..i / 32 * 32 + 32).sum();
        let same = 0x1111_1111_u32 << (i & 3);
        folded ^= (same ^ i.wrapping_mul(2_654_435_761)).wrapping_add(warp);
    }
    // One warp has thread 5; each lane subtracts the 2 of `__ffs(0xaaaaaaaa)` and 0 leading zeros.
    let subtracted = 0_u32.wrapping_sub(64);
    let u = [u32::MAX, !((1 << 23) - 1), 299, subtracted, folded];
    let sum = x.iter().sum();
    vec![vec![2.0 * top], vec![sum], vec![300.0], u.map(f64::from).to_vec(), vec![-299.0]]
}

/// Added gradients and counts per row, for 29 tokens of 40 numbers.
fn scattered(case: &Case) -> Vec<Vec<f64>> {
    let (mut table, mut count) = (case.values("table"), vec![0.0; 7]);
    for (grad, row) in case.values("grad").chunks(40).zip(case.indices("index")) {
        count[row] += 1.0;
        table[row * 40..].iter_mut().zip(grad).for_each(|(t, g)| *t += g);
    }
    vec![table, count]
}

/// The positive elements of each chunk of 256 first, then zeros, and their counts.
fn compacted(case: &Case) -> Vec<Vec<f64>> {
    let (mut out, mut count) = (vec![], vec![]);
    for chunk in case.values("x").chunks(256) {
        let mut kept: Vec<f64> = chunk.iter().copied().filter(|v| *v > 0.0).collect();
        count.push(kept.len() as f64);
        kept.resize(256, 0.0);
        out.extend(kept);
    }
    vec![out, count]
}

/// Values and places of the four largest of each row of 90.
fn largest_four(case: &Case) -> Vec<Vec<f64>> {
    let (mut values, mut places) = (vec![], vec![]);
    for row in case.values("x").chunks(90) {
        let mut order: Vec<usize> = (0..row.len()).collect();
        order.sort_by(|a, b| row[*b].total_cmp(&row[*a]));
        values.extend(order[..4].iter().map(|i| row[*i]));
        places.extend(order[..4].iter().map(|i| *i as f64));
    }
    vec![values, places]
}

/// Highest score and, among equals, highest position of each of 11 classes.
fn best_of_classes(case: &Case) -> Vec<Vec<f64>> {
    let mut best = vec![0.0; 11];
    for (i, (s, c)) in case.values("score").into_iter().zip(case.indices("label")).enumerate() {
        best[c] = f64::max(best[c], s * f64::from(1 << 20) + i as f64);
    }
    vec![best]
}

/// Both buffers and the arrivals after five steps.
fn jacobi(case: &Case) -> Vec<Vec<f64>> {
    let (mut new, mut old) = (case.values("a"), vec![]);
    for _ in 0..5 {
        old = new;
        let at = |i: usize| old.get(i).copied().unwrap_or(0.0);
        let one = |i: usize| 0.25 * (at(i.wrapping_sub(1)) + at(i + 1)) + 0.5 * at(i);
        new = (0..old.len()).map(one).collect();
    }
    vec![old, new, vec![15.0]]
}

fn histogram() -> Kernel {
    Kernel {
        name: "histogram",
        file: "histogram",
        source: include_str!("../../kernels/histogram.cu"),
        entry: "hist",
        grid: [3, 1, 1],
        block: [96, 1, 1],
        smem: 0,
        args: vec![
            input("d", Dtype::U8, 2000, Fill::Uniform(0.0, 256.0)),
            inout("h", Dtype::U32, 256, Fill::Zeros),
            long(2000),
        ],
        arch: 80,
        tolerance: 0.0,
        agreement: Agreement::Exact,
        want: |case| {
            let mut count = vec![0.0; 256];
            case.indices("d").into_iter().for_each(|d| count[d] += 1.0);
            vec![count]
        },
    }
}

fn max_last() -> Kernel {
    Kernel {
        name: "max_last",
        file: "histogram",
        source: include_str!("../../kernels/histogram.cu"),
        entry: "maxlast",
        grid: [4, 1, 1],
        block: [96, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::F32, 300, Fill::Uniform(1.0, 9.0)),
            inout("m", Dtype::F32, 1, Fill::Zeros),
            inout("dsum", Dtype::F64, 1, Fill::Zeros),
            inout("cnt", Dtype::I64, 1, Fill::Zeros),
            inout("u", Dtype::U32, 5, Fill::Values(&[0.0, 4_294_967_295.0, 0.0, 0.0, 0.0])),
            inout("lowest", Dtype::I32, 1, Fill::Zeros),
            int(300),
        ],
        arch: 80,
        tolerance: 1e-12,
        agreement: Agreement::Within(1e-12),
        want: |case| max_last_results(case),
    }
}

fn embedding() -> Kernel {
    Kernel {
        name: "embedding",
        file: "embed_xent",
        source: include_str!("../../kernels/embed_xent.cu"),
        entry: "embed",
        grid: [4, 1, 1],
        block: [32, 1, 1],
        smem: 0,
        args: vec![
            input("idx", Dtype::I64, 21, Fill::Uniform(0.0, 50.0)),
            input("w", Dtype::F32, 50 * 36, Fill::Uniform(-1.0, 1.0)),
            output("y", Dtype::F32, 21 * 36),
            int(21),
            int(36),
            int(50),
        ],
        arch: 80,
        tolerance: 0.0,
        agreement: Agreement::Exact,
        want: |case| {
            let w = case.values("w");
            let row = |i: usize| w[i * 36..(i + 1) * 36].to_vec();
            vec![case.indices("idx").into_iter().flat_map(row).collect()]
        },
    }
}

fn scatter_add() -> Kernel {
    Kernel {
        name: "scatter_add",
        file: "scatter_add",
        source: include_str!("../../kernels/scatter_add.cu"),
        entry: "scatter_add",
        grid: [8, 1, 1],
        block: [32, 4, 1],
        smem: 0,
        args: vec![
            input("grad", Dtype::F32, 29 * 40, Fill::Uniform(-1.0, 1.0)),
            input("index", Dtype::I32, 29, Fill::Uniform(0.0, 7.0)),
            inout("table", Dtype::F32, 7 * 40, Fill::Uniform(-1.0, 1.0)),
            inout("count", Dtype::I32, 7, Fill::Zeros),
            int(29),
            int(40),
            int(7),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Within(1e-5),
        want: |case| scattered(case),
    }
}

fn compact() -> Kernel {
    Kernel {
        name: "compact",
        file: "compact",
        source: include_str!("../../kernels/compact.cu"),
        entry: "compact",
        grid: [4, 1, 1],
        block: [256, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::I32, 901, Fill::Uniform(-50.0, 50.0)),
            inout("out", Dtype::I32, 4 * 256, Fill::Zeros),
            output("count", Dtype::I32, 4),
            int(901),
        ],
        arch: 80,
        tolerance: 0.0,
        agreement: Agreement::Exact,
        want: |case| compacted(case),
    }
}

fn topk() -> Kernel {
    Kernel {
        name: "topk_warp",
        file: "topk_warp",
        source: include_str!("../../kernels/topk_warp.cu"),
        entry: "topk_warp",
        grid: [4, 1, 1],
        block: [96, 1, 1],
        smem: 0,
        args: vec![
            input("x", Dtype::F32, 10 * 90, Fill::Uniform(-1.0, 1.0)),
            output("values", Dtype::F32, 10 * 4),
            output("indices", Dtype::I32, 10 * 4),
            int(10),
            int(90),
        ],
        arch: 80,
        tolerance: 0.0,
        agreement: Agreement::Exact,
        want: |case| largest_four(case),
    }
}

fn spin_lock() -> Kernel {
    Kernel {
        name: "spin_lock",
        file: "spin_lock",
        source: include_str!("../../kernels/spin_lock.cu"),
        entry: "spin_lock",
        grid: [3, 1, 1],
        block: [64, 1, 1],
        smem: 0,
        args: vec![
            inout("lock", Dtype::I32, 1, Fill::Zeros),
            inout("total", Dtype::I32, 1, Fill::Zeros),
            inout("largest", Dtype::I32, 1, Fill::Zeros),
            input("x", Dtype::I32, 150, Fill::Uniform(0.0, 1000.0)),
            int(150),
        ],
        arch: 80,
        tolerance: 0.0,
        agreement: Agreement::Exact,
        want: |case| {
            let x = case.values("x");
            let largest = x.iter().copied().fold(0.0, f64::max);
            vec![vec![0.0], vec![x.iter().sum()], vec![largest]]
        },
    }
}

fn argmax_packed() -> Kernel {
    Kernel {
        name: "argmax_packed",
        file: "argmax_packed",
        source: include_str!("../../kernels/argmax_packed.cu"),
        entry: "argmax_packed",
        grid: [3, 1, 1],
        block: [96, 1, 1],
        smem: 8 * 11,
        args: vec![
            input("score", Dtype::I32, 777, Fill::Uniform(0.0, 1000.0)),
            input("label", Dtype::I32, 777, Fill::Uniform(0.0, 11.0)),
            inout("best", Dtype::I64, 11, Fill::Zeros),
            int(777),
            int(11),
        ],
        arch: 80,
        tolerance: 0.0,
        agreement: Agreement::Exact,
        want: |case| best_of_classes(case),
    }
}

fn grid_barrier() -> Kernel {
    Kernel {
        name: "grid_barrier",
        file: "grid_barrier",
        source: include_str!("../../kernels/grid_barrier.cu"),
        entry: "jacobi",
        grid: [3, 1, 1],
        block: [128, 1, 1],
        smem: 0,
        args: vec![
            inout("a", Dtype::F32, 333, Fill::Uniform(-1.0, 1.0)),
            output("b", Dtype::F32, 333),
            inout("arrived", Dtype::U32, 1, Fill::Zeros),
            int(333),
            int(5),
        ],
        arch: 80,
        tolerance: 1e-5,
        agreement: Agreement::Exact,
        want: |case| jacobi(case),
    }
}
