//! Whole kernels against references in f64.

use crate::harness::{Arg, close, random, random_bits, run, run_with};
use ptx_emu::Limits;

#[test]
fn relu_in_three_forms() {
    for n in [0_usize, 1, 127, 1000, 1023] {
        let x = random(n);
        let want: Vec<f32> = x.iter().map(|v| v.max(0.0)).collect();
        for (file, wide) in [("relu", true), ("relu_grid", false), ("relu_float4", false)] {
            let count = if wide { Arg::from(n as i64) } else { Arg::from(n as i32) };
            let args = vec![Arg::from(&x), Arg::Out(n, 4), count];
            let ran = run(&format!("pass/{file}"), "relu", [4, 1, 1], [256, 1, 1], args).ok();
            assert_eq!(ran.f32(1), want, "{file} {n}");
            assert_eq!(ran.n_written(1), 4 * n, "{file} {n}");
        }
    }
}

#[test]
fn half_additions_round_once() {
    let n = 512;
    let f16 = |bits: &[u32]| -> Vec<u16> {
        bits.iter().map(|b| half::f16::from_f32((*b >> 8) as f32 / 1e5 - 80.0).to_bits()).collect()
    };
    let bf16 = |bits: &[u32]| -> Vec<u16> {
        bits.iter().map(|b| half::bf16::from_f32((*b >> 8) as f32 / 1e5 - 80.0).to_bits()).collect()
    };
    let bits = random_bits(3 * n);
    let (a, b, c) = (f16(&bits[..n]), f16(&bits[n..2 * n]), f16(&bits[2 * n..]));
    let v = |bits: u16| half::f16::from_bits(bits).to_f64();
    let sum: Vec<u16> = (0..n).map(|i| half::f16::from_f64(v(a[i]) + v(b[i])).to_bits()).collect();
    for (kernel, count) in [("add_f16", n), ("add_f16x2", n / 2)] {
        let args = vec![Arg::from(&a), Arg::from(&b), Arg::Out(n, 2), Arg::from(count as i32)];
        assert_eq!(run("pass/add_half", kernel, [2, 1, 1], [256, 1, 1], args).ok().u16(2), sum);
    }
    let args = vec![Arg::from(&a), Arg::from(&b), Arg::from(&c), Arg::from(n as i32)];
    let fma: Vec<u16> =
        (0..n).map(|i| half::f16::from_f64(v(a[i]) * v(b[i]) + v(c[i])).to_bits()).collect();
    assert_eq!(run("pass/add_half", "fma_f16", [2, 1, 1], [256, 1, 1], args).ok().u16(2), fma);
    let (a, b) = (bf16(&bits[..n]), bf16(&bits[n..2 * n]));
    let v = |bits: u16| half::bf16::from_bits(bits).to_f64();
    let sum: Vec<u16> = (0..n).map(|i| half::bf16::from_f64(v(a[i]) + v(b[i])).to_bits()).collect();
    for (kernel, count) in [("add_bf16", n), ("add_bf16x2", n / 2)] {
        let args = vec![Arg::from(&a), Arg::from(&b), Arg::Out(n, 2), Arg::from(count as i32)];
        assert_eq!(run("pass/add_half", kernel, [2, 1, 1], [256, 1, 1], args).ok().u16(2), sum);
    }
}

#[test]
fn softmax_rows() {
    let (rows, cols) = (5, 1000);
    let x: Vec<f32> = random(rows * cols).iter().map(|v| v * 8.0).collect();
    let args = vec![Arg::from(&x), Arg::Out(rows * cols, 4), Arg::from(cols as i32)];
    let ran = run("pass/softmax", "softmax", [rows as u32, 1, 1], [256, 1, 1], args).ok();
    let mut want = Vec::new();
    for row in x.chunks(cols) {
        let sum: f64 = row.iter().map(|v| f64::from(*v).exp()).sum();
        want.extend(row.iter().map(|v| f64::from(*v).exp() / sum));
    }
    close(&ran.f32(1), &want, 1e-6);
}

#[test]
fn layernorm_rows() {
    let (rows, cols) = (3_usize, 300_usize);
    let (x, g, b) = (random(rows * cols), random(cols), random(2 * cols)[cols..].to_vec());
    let args = vec![
        Arg::from(&x),
        Arg::from(&g),
        Arg::from(&b),
        Arg::Out(rows * cols, 4),
        Arg::from(cols as i32),
        Arg::from(1e-5_f32),
    ];
    let smem = 4 * cols as u32;
    let limits = Limits::default();
    let ran = run_with("pass/layernorm", "layernorm", [3, 1, 1], [128, 1, 1], smem, limits, args);
    let mut want = Vec::new();
    for row in x.chunks(cols) {
        let n = cols as f64;
        let mean = row.iter().map(|v| f64::from(*v)).sum::<f64>() / n;
        let var = row.iter().map(|v| (f64::from(*v) - mean).powi(2)).sum::<f64>() / n;
        let scale = 1.0 / (var + 1e-5).sqrt();
        want.extend(
            (0..cols)
                .map(|i| (f64::from(row[i]) - mean) * scale * f64::from(g[i]) + f64::from(b[i])),
        );
    }
    close(&ran.ok().f32(3), &want, 1e-5);
}

#[test]
fn matrix_products() {
    let (m, n, k) = (33_usize, 40_usize, 50_usize);
    let (a, b) = (random(m * k), random(k * n));
    let mut want = vec![0.0; m * n];
    for i in 0..m {
        for j in 0..n {
            want[i * n + j] =
                (0..k).map(|p| f64::from(a[i * k + p]) * f64::from(b[p * n + j])).sum();
        }
    }
    for (kernel, depth) in [("matmul_naive", 1), ("matmul_tiled", 1), ("matmul_splitk", 4)] {
        let c = if depth == 1 { Arg::Out(m * n, 4) } else { Arg::from(&vec![0.0_f32; m * n]) };
        let mut args = vec![Arg::from(&a), Arg::from(&b), c];
        args.extend([m, n, k].map(|v| Arg::from(v as i32)));
        let ran = run("pass/matmul", kernel, [3, 3, depth], [16, 16, 1], args).ok();
        close(&ran.f32(2), &want, 1e-5);
    }
}

#[test]
fn histogram_counts() {
    let x: Vec<u8> = random_bits(5000).iter().map(|b| (b >> 24) as u8).collect();
    let mut want = vec![0_u32; 256];
    for v in &x {
        want[*v as usize] += 1;
    }
    let args = vec![Arg::from(&x), Arg::from(&vec![0_u32; 256]), Arg::from(5000_i32)];
    let ran = run("pass/histogram", "histogram", [3, 1, 1], [128, 1, 1], args).ok();
    assert_eq!(ran.u32(1), want);
}

#[test]
fn cub_and_cooperative_groups() {
    let (rows, cols) = (4, 500);
    let x = random(rows * cols);
    let want: Vec<f64> =
        x.chunks(cols).map(|row| row.iter().map(|v| f64::from(*v)).sum()).collect();
    for (file, kernel) in [("pass/cub", "block_sum"), ("pass/groups", "cg_sum")] {
        let args = vec![Arg::from(&x), Arg::Out(rows, 4), Arg::from(cols as i32)];
        let ran = run(file, kernel, [rows as u32, 1, 1], [128, 1, 1], args).ok();
        close(&ran.f32(1), &want, 1e-5);
    }
    let x: Vec<i32> = random_bits(128).iter().map(|b| (b >> 20) as i32).collect();
    let ran = run(
        "pass/cub",
        "block_scan",
        [1, 1, 1],
        [128, 1, 1],
        vec![Arg::from(&x), Arg::Out(128, 4)],
    );
    let mut total = 0;
    let want: Vec<i32> = x
        .iter()
        .map(|v| {
            total += v;
            total
        })
        .collect();
    assert_eq!(ran.ok().i32(1), want);
    let ran =
        run("pass/groups", "cg_tile16", [1, 1, 1], [64, 1, 1], vec![Arg::from(&x), Arg::Out(4, 4)]);
    let want: Vec<i32> = x[..64].chunks(16).map(|c| c.iter().sum()).collect();
    assert_eq!(ran.ok().i32(1), want);
}

#[test]
fn printf_writes_to_the_report() {
    let x = [1.5_f32, -2.25];
    let args = vec![Arg::from(x.as_slice()), Arg::from(2_i32)];
    let ran = run("pass/print", "hello", [1, 1, 1], [32, 1, 1], args).ok();
    let report = ran.result.expect("the kernel ended well");
    assert_eq!(
        report.stdout,
        "thread 0 of block:  1.50 ff 0%\nthread 1 of block: -2.25 100 1099511627776%\n"
    );
}
