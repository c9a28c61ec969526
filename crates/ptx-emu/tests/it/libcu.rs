//! Barriers and pipelines of libcu++, and the rarer cooperative groups.

use crate::harness::{Arg, close, random, random_bits, run};

const FILE: &str = "pass/libcu";

#[test]
fn barriers_order_a_block() {
    let n = 3;
    let x = random(128 * n);
    let args = vec![Arg::from(&x), Arg::Out(128 * n, 4), Arg::from(n as i32)];
    let ran = run(FILE, "arrive_and_wait", [1, 1, 1], [128, 1, 1], args).ok();
    let want: Vec<f32> = (0..128 * n).map(|i| x[i / 128 * 128 + (i + 1) % 128]).collect();
    assert_eq!(ran.f32(1), want);
    let args = vec![Arg::from(&x[..128]), Arg::Out(128, 4)];
    let ran = run(FILE, "async_copies", [1, 1, 1], [128, 1, 1], args).ok();
    assert_eq!(ran.f32(1), x[..128].iter().rev().copied().collect::<Vec<_>>());
}

#[test]
fn pipelines_of_blocks_and_threads() {
    for n in [1_usize, 2, 5] {
        let x = random(128 * n);
        let args = vec![Arg::from(&x), Arg::Out(128, 4), Arg::from(n as i32)];
        let ran = run(FILE, "two_stages", [1, 1, 1], [128, 1, 1], args).ok();
        let sum = |t: usize| (0..n).map(|k| f64::from(x[k * 128 + 127 - t])).sum();
        close(&ran.f32(1), &(0..128).map(sum).collect::<Vec<f64>>(), 1e-6);
    }
    let x = random(256);
    let args = vec![Arg::from(&x), Arg::Out(128, 4)];
    let ran = run(FILE, "thread_pipeline", [1, 1, 1], [128, 1, 1], args).ok();
    assert_eq!(ran.f32(1), (0..128).map(|t| x[t] + x[t + 128]).collect::<Vec<_>>());
    let x: Vec<i32> = (0..256).collect();
    let args = vec![Arg::from(&x), Arg::Out(256, 4)];
    let ran = run(FILE, "group_copy", [1, 1, 1], [64, 1, 1], args).ok();
    assert_eq!(ran.i32(1), (0..256).rev().collect::<Vec<_>>());
}

#[test]
fn groups_of_all_sizes() {
    let x: Vec<i32> = random_bits(128).iter().map(|b| (b >> 28) as i32).collect();
    let ran = run(FILE, "groups", [1, 1, 1], [128, 1, 1], vec![Arg::from(&x), Arg::Out(896, 4)]);
    let got = ran.ok().i32(1);
    for t in 0..128 {
        let part = |size: usize| &x[t / size * size..t / size * size + size];
        let odd: Vec<usize> = (0..32).filter(|i| (part(32)[*i] & 1) == (x[t] & 1)).collect();
        let rank = odd.iter().filter(|i| **i < t % 32).count();
        let any = part(4).iter().any(|v| *v > 3);
        let want = [
            x[t ^ 1] + i32::from(any) + 8 * (t / 4) as i32,
            x[t / 8 * 8..=t].iter().sum(),
            x[t / 8 * 8..t].iter().sum(),
            (odd.len() * 100 + rank) as i32,
            part(32).iter().filter(|v| (**v & 3) == (x[t] & 3)).count() as i32,
            part(4).iter().copied().max().unwrap_or(0),
            part(64).iter().sum(),
        ];
        assert_eq!(got[t * 7..t * 7 + 7], want, "thread {t}");
    }
}
