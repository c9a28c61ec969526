//! Tensor instructions and asynchronous copies.

use crate::harness::{Arg, close, random, random_bits, run};
use ptx_emu::FindingKind;

/// `2 * A B` or `A B` of 16x16 matrices; B is row-major or column-major.
fn product(a: &[f64], b: &[f64], columns: bool, scale: f64) -> Vec<f64> {
    let at = |p: usize, j: usize| if columns { b[j * 16 + p] } else { b[p * 16 + j] };
    let cell = |i: usize, j: usize| (0..16).map(|p| a[i * 16 + p] * at(p, j)).sum::<f64>() * scale;
    (0..256).map(|n| cell(n / 16, n % 16)).collect()
}

#[test]
fn wmma_products() {
    let x = random(512);
    let f16: Vec<u16> = x.iter().map(|v| half::f16::from_f32(*v).to_bits()).collect();
    let bf16: Vec<u16> = x.iter().map(|v| half::bf16::from_f32(*v).to_bits()).collect();
    let of16: Vec<f64> = f16.iter().map(|v| half::f16::from_bits(*v).to_f64()).collect();
    let ob16: Vec<f64> = bf16.iter().map(|v| half::bf16::from_bits(*v).to_f64()).collect();
    for (kernel, bits, values, columns) in
        [("wmma_f16", &f16, &of16, true), ("wmma_bf16", &bf16, &ob16, false)]
    {
        let args = vec![Arg::from(&bits[..256]), Arg::from(&bits[256..]), Arg::Out(256, 4)];
        let ran = run("pass/mma", kernel, [1, 1, 1], [32, 1, 1], args).ok();
        close(&ran.f32(2), &product(&values[..256], &values[256..], columns, 2.0), 1e-6);
    }
    let args = vec![Arg::from(&f16[..256]), Arg::from(&f16[256..]), Arg::Out(256, 2)];
    let got = run("pass/mma", "wmma_half_out", [1, 1, 1], [32, 1, 1], args).ok().u16(2);
    let got: Vec<f32> = got.iter().map(|v| half::f16::from_bits(*v).to_f32()).collect();
    close(&got, &product(&of16[..256], &of16[256..], true, 1.0), 2e-3);
    let args = vec![Arg::from(&x[..256]), Arg::from(&x[256..]), Arg::Out(256, 4)];
    let got = run("pass/mma", "wmma_tf32", [1, 1, 1], [32, 1, 1], args).ok().f32(2);
    let wide: Vec<f64> = x.iter().map(|v| f64::from(*v)).collect();
    close(&got, &product(&wide[..256], &wide[256..], false, 1.0), 4e-3);
}

#[test]
fn mma_with_ldmatrix_and_async_copies() {
    let x: Vec<u16> = random(384).iter().map(|v| half::f16::from_f32(*v).to_bits()).collect();
    let v: Vec<f64> = x.iter().map(|b| half::f16::from_bits(*b).to_f64()).collect();
    let args = vec![Arg::from(&x[..256]), Arg::from(&x[256..]), Arg::Out(128, 4)];
    let got = run("pass/mma", "mma_ldmatrix", [1, 1, 1], [32, 1, 1], args).ok().f32(2);
    let cell = |i: usize, j: usize| (0..16).map(|p| v[i * 16 + p] * v[256 + p * 8 + j]).sum();
    let want: Vec<f64> = (0..128).map(|n| cell(n / 8, n % 8)).collect();
    close(&got, &want, 1e-6);
}

#[test]
fn integer_mma() {
    let bits = random_bits(192);
    let byte = |word: usize, i: usize| i32::from(bits[word + i / 4].to_le_bytes()[i % 4] as i8);
    let args = vec![Arg::from(&bits[..128]), Arg::from(&bits[128..]), Arg::Out(128, 4)];
    let got = run("pass/mma", "mma_s8", [1, 1, 1], [32, 1, 1], args).ok().i32(2);
    for (n, got) in got.into_iter().enumerate() {
        let (i, j) = (n / 8, n % 8);
        let dot: i32 = (0..32).map(|p| byte(i * 8, p) * byte(128 + j * 8, p)).sum();
        let start = 1 + (j % 2) as i32 + if i >= 8 { 2 } else { 0 };
        assert_eq!(got, dot + start, "{i} {j}");
    }
}

#[test]
fn a_copy_that_is_not_waited_for_is_not_there() {
    let x = random(128);
    let args = vec![Arg::from(&x), Arg::Out(128, 4)];
    let fault = run("pass/mma", "missing_wait", [1, 1, 1], [32, 1, 1], args).fault();
    assert_eq!(fault.kind, FindingKind::AsyncRead);
    assert_eq!(fault.buffer.as_deref(), Some("s"));
}
