//! Kernels as language models write them.

use crate::harness::{Arg, close, random, random_bits, run};

#[test]
fn gelu_in_bf16_vectors() {
    let n = 1003;
    let x: Vec<u16> = random(n).iter().map(|v| half::bf16::from_f32(v * 4.0).to_bits()).collect();
    let args = vec![Arg::from(&x), Arg::Out(n, 2), Arg::from(n as i64)];
    let ran = run("pass/models", "gelu_bf16", [2, 1, 1], [64, 1, 1], args).ok();
    let got: Vec<f32> = ran.u16(1).iter().map(|v| half::bf16::from_bits(*v).to_f32()).collect();
    let want = |v: &u16| {
        let x = half::bf16::from_bits(*v).to_f64();
        0.5 * x * (1.0 + (0.797_884_56 * (x + 0.044_715 * x * x * x)).tanh())
    };
    close(&got, &x.iter().map(want).collect::<Vec<_>>(), 1.0 / 256.0);
}

#[test]
fn silu_in_half_pairs() {
    let n = 512;
    let x: Vec<u16> = random(n).iter().map(|v| half::f16::from_f32(v * 6.0).to_bits()).collect();
    let args = vec![Arg::from(&x), Arg::Out(n, 2), Arg::from(n as i32 / 2)];
    let ran = run("pass/models", "silu_half2", [1, 1, 1], [256, 1, 1], args).ok();
    let got: Vec<f32> = ran.u16(1).iter().map(|v| half::f16::from_bits(*v).to_f32()).collect();
    let want = |v: &u16| {
        let x = half::f16::from_bits(*v).to_f64();
        x / (1.0 + (-x).exp())
    };
    close(&got, &x.iter().map(want).collect::<Vec<_>>(), 3e-3);
}

#[test]
fn half_precision_math_runs() {
    let n = 100_usize;
    let f16: Vec<u16> = random(n).iter().map(|v| half::f16::from_f32(*v).to_bits()).collect();
    let bf16: Vec<u16> = random(n).iter().map(|v| half::bf16::from_f32(*v).to_bits()).collect();
    for (kernel, x) in [("hmath", f16), ("bmath", bf16)] {
        let args = vec![Arg::from(&x), Arg::Out(n, 2), Arg::from(n as i32)];
        assert_eq!(
            run("pass/models", kernel, [1, 1, 1], [128, 1, 1], args).ok().n_written(1),
            2 * n
        );
    }
}

#[test]
fn cross_entropy_in_one_pass() {
    let (rows, classes) = (3, 1000);
    let x: Vec<f32> = random(rows * classes).iter().map(|v| v * 9.0).collect();
    let targets = [5_i64, 999, 0];
    let args = vec![
        Arg::from(&x),
        Arg::from(targets.as_slice()),
        Arg::Out(rows, 4),
        Arg::from(classes as i32),
    ];
    let ran = run("pass/models", "welford_online_xent", [3, 1, 1], [128, 1, 1], args).ok();
    let want: Vec<f64> = x
        .chunks(classes)
        .zip(targets)
        .map(|(row, t)| {
            let sum: f64 = row.iter().map(|v| f64::from(*v).exp()).sum();
            sum.ln() - f64::from(row[t as usize])
        })
        .collect();
    close(&ran.f32(2), &want, 1e-5);
}

#[test]
fn quantisation_and_device_atomics() {
    let n = 200;
    let x = random(n);
    let args = vec![Arg::from(&x), Arg::Out(n, 1), Arg::Out(1, 4), Arg::from(n as i32)];
    let ran = run("pass/models", "quant", [1, 1, 1], [32, 1, 1], args).ok();
    let largest = x.iter().fold(0.0_f32, |m, v| m.max(v.abs()));
    close(&ran.f32(2), &[f64::from(largest / 127.0)], 1e-6);
    let args = vec![
        Arg::from([0_i32].as_slice()),
        Arg::from([0.0_f32].as_slice()),
        Arg::from([0_u64].as_slice()),
    ];
    run("pass/models", "atomics2", [1, 1, 1], [1, 1, 1], args).ok();
}

#[test]
fn cub_sorts() {
    let x = random_bits(512);
    let mut want = x.clone();
    want.sort_unstable();
    let args = vec![Arg::from(&x), Arg::Out(512, 4)];
    assert_eq!(run("pass/sort", "sort", [1, 1, 1], [128, 1, 1], args).ok().u32(1), want);
    let x = random(128);
    let args = vec![Arg::from(&x), Arg::Out(4, 4)];
    let got = run("pass/sort", "wred", [1, 1, 1], [128, 1, 1], args).ok().f32(1);
    let want: Vec<f32> = x.chunks(32).map(|c| c.iter().copied().fold(f32::MIN, f32::max)).collect();
    assert_eq!(got, want);
}

#[test]
fn eight_bit_floats() {
    // Ties, subnormals, saturation of e4m3 and e5m2: value, e4m3 bits, both decoded and summed.
    let cases: [(f32, u8, f32); 9] = [
        (1.0, 0x38, 2.0),
        (-448.0, 0xfe, -896.0),
        (1000.0, 0x7e, 448.0 + 1024.0),
        (1.0625, 0x38, 2.0),
        (1.1875, 0x3a, 1.25 + 1.25),
        (0.001_953_125, 0x01, 2.0 * 0.001_953_125),
        (0.000_976_562_5, 0x00, 0.000_976_562_5),
        (0.0, 0x00, 0.0),
        (1e6, 0x7e, 448.0 + 57344.0),
    ];
    let x: Vec<f32> = cases.iter().map(|c| c.0).collect();
    let n = x.len();
    let args = vec![Arg::from(&x), Arg::Out(n, 1), Arg::Out(n, 4), Arg::from(n as i32)];
    let ran = run("pass/fp8", "fp8", [1, 1, 1], [32, 1, 1], args).ok();
    assert_eq!(ran.u8(1), cases.map(|c| c.1));
    assert_eq!(ran.f32(2), cases.map(|c| c.2));
}
