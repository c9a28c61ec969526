//! Bulk copies without tensor maps.

use crate::harness::{Arg, close, random, random_bits, run};

#[test]
fn a_ring_of_bulk_copies() {
    for n in [1_usize, 2, 3, 7, 20] {
        let x = random(128 * n);
        let args = vec![Arg::from(&x), Arg::Out(128 * n, 4), Arg::from(n as i32)];
        let ran = run("pass/tma", "ring", [1, 1, 1], [160, 1, 1], args).ok();
        assert_eq!(ran.findings, [], "{n}");
        assert_eq!(ran.f32(1), x.iter().map(|v| -v).collect::<Vec<_>>());
    }
}

#[test]
fn rows_are_summed_in_global_memory() {
    let x = random(256 * 6);
    let args = vec![Arg::from(&x), Arg::from(&vec![1.0_f32; 256])];
    let ran = run("pass/tma", "sum_rows", [6, 1, 1], [256, 1, 1], args).ok();
    assert_eq!(ran.findings, []);
    let want: Vec<f64> =
        (0..256).map(|i| 1.0 + (0..6).map(|r| f64::from(x[256 * r + i])).sum::<f64>()).collect();
    close(&ran.f32(1), &want, 1e-6);
}

#[test]
fn blocks_of_a_cluster_exchange_numbers() {
    let x: Vec<i32> = random_bits(128).iter().map(|b| (*b >> 8) as i32).collect();
    let args = vec![Arg::from(&x), Arg::Out(128, 4)];
    let ran = run("pass/tma", "exchange", [2, 1, 1], [64, 1, 1], args).ok();
    assert_eq!(ran.findings, []);
    let want = (0..128).map(|i| {
        let other = ((i / 64) ^ 1) * 64;
        x[other + i % 64] + 3 * x[other + 63 - i % 64]
    });
    assert_eq!(ran.i32(1), want.collect::<Vec<_>>());
}

#[test]
fn blocks_of_a_cluster_add_to_each_other() {
    let x: Vec<u32> = random_bits(192).iter().map(|b| b >> 8).collect();
    let args = vec![Arg::from(&x), Arg::Out(128, 4)];
    let ran = run("pass/tma", "shares", [2, 1, 1], [64, 1, 1], args).ok();
    assert_eq!(ran.findings, []);
    let want = (0..128_u32).map(|i| {
        let (other, t) = (64 * (1 - i / 64), i % 64);
        let wide = if t % 2 == 0 { t / 2 } else { 7 };
        x[128 + t as usize] + 1000 + x[(other + t) as usize] + t + wide
    });
    assert_eq!(ran.u32(1), want.collect::<Vec<_>>());
}
