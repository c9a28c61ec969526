//! Calls, divergence, rendezvous, and blocks or lanes that wait for each other.

use crate::harness::{Arg, close, random, random_bits, run, run_with};
use ptx_emu::Limits;

#[test]
fn recursion() {
    let ran = run("pass/calls", "fibonacci", [1, 1, 1], [16, 1, 1], vec![Arg::Out(16, 8)]).ok();
    let mut want = vec![0_u64, 1];
    for i in 2..16 {
        want.push(want[i - 1] + want[i - 2]);
    }
    assert_eq!(ran.u64(0), want);
}

#[test]
fn structs_travel_by_value() {
    let x = random(64);
    let mut params = Vec::new();
    params.extend(20_i32.to_le_bytes());
    params.extend(2.0_f32.to_le_bytes());
    params.extend(0.5_f64.to_le_bytes());
    params.extend(3_i64.to_le_bytes());
    for tag in [1_i16, 2, 3] {
        params.extend(tag.to_le_bytes());
    }
    params.extend([0, 0]);
    let args = vec![Arg::Value(params), Arg::from(&x), Arg::Out(20, 4)];
    let ran = run("pass/calls", "by_value", [1, 1, 1], [32, 1, 1], args).ok();
    let want: Vec<f64> = (0..20).map(|i| f64::from(x[3 * i]) * 2.0 + 0.5 + 3.0).collect();
    close(&ran.f32(2), &want, 1e-6);
}

#[test]
fn pointers_to_locals_and_function_tables() {
    let x: Vec<i32> = (0..32).map(|i| i * 37).collect();
    let ran = run(
        "pass/calls",
        "by_pointer",
        [1, 1, 1],
        [32, 1, 1],
        vec![Arg::from(&x), Arg::Out(32, 4)],
    );
    let want: Vec<i32> = x.iter().map(|v| (v & 15) * 1000 + (v >> 4)).collect();
    assert_eq!(ran.ok().i32(1), want);
    let ran = run("pass/calls", "by_table", [1, 1, 1], [32, 1, 1], vec![Arg::Out(32, 4)]).ok();
    let call = |i: i32| match i % 3 {
        0 => i + 1,
        1 => i * 2,
        _ => -i,
    };
    assert_eq!(ran.i32(0), (0..32).map(call).collect::<Vec<_>>());
}

#[test]
fn switches_and_local_arrays() {
    let x: Vec<i32> = (0..32).map(|i| i % 10).collect();
    let ran =
        run("pass/calls", "switched", [1, 1, 1], [32, 1, 1], vec![Arg::from(&x), Arg::Out(32, 4)]);
    let want = |t: i32| {
        let v = t % 10;
        match v {
            0 => 10,
            1 => 7 + t,
            2 => 2_i32.wrapping_shl(t as u32),
            3 => !3,
            4 => 4 / (1 + t),
            5 => 2,
            6 => 1000,
            7 => 702,
            _ => -1,
        }
    };
    assert_eq!(ran.ok().i32(1), (0..32).map(want).collect::<Vec<_>>());
    let x: Vec<i32> = random_bits(32).iter().map(|b| (b >> 16) as i32).collect();
    let ran = run(
        "pass/calls",
        "local_array",
        [1, 1, 1],
        [32, 1, 1],
        vec![Arg::from(&x), Arg::Out(32, 4)],
    );
    let want = |t: usize| {
        let mut a: Vec<i32> = (0..16).map(|i| x[i] * i as i32).collect();
        let j = (x[t] & 15) as usize;
        a[j] += 5;
        a[j] + a[(j + t) & 15]
    };
    assert_eq!(ran.ok().i32(1), (0..32).map(want).collect::<Vec<_>>());
}

#[test]
fn threads_that_ended_do_not_hold_barriers() {
    let x: Vec<i32> = (0..64).collect();
    for n in [1, 20, 40, 64] {
        let args = vec![Arg::from(&x), Arg::Out(n, 4), Arg::from(n as i32)];
        let ran = run("pass/calls", "early_return", [1, 1, 1], [64, 1, 1], args).ok();
        assert_eq!(ran.i32(1), (0..n as i32).rev().collect::<Vec<_>>());
    }
}

#[test]
fn warp_operations() {
    let x: Vec<i32> = random_bits(64).iter().map(|b| (b % 100) as i32).collect();
    let args = vec![Arg::from(&x), Arg::Out(64 * 24, 4)];
    let got = run("pass/warp", "warp_ops", [1, 1, 1], [64, 1, 1], args).ok().i32(1);
    let odd_all = x.iter().filter(|v| *v & 1 == 1).count() as i32;
    for t in 0..64_usize {
        let (base, l) = (t & 32, t & 31);
        let warp = &x[base..base + 32];
        let v = x[t];
        let mask = |f: &dyn Fn(i32) -> bool| {
            (0..32).fold(0_u32, |m, i| m | u32::from(f(warp[i])) << i) as i32
        };
        let odd = mask(&|v| v & 1 == 1) as u32;
        let is_odd = v & 1 == 1;
        let half = &warp[l & 16..(l & 16) + 16];
        let want = [
            warp[5],
            if l >= 3 { warp[l - 3] } else { v },
            if l + 7 < 32 { warp[l + 7] } else { v },
            warp[l ^ 9],
            warp[(l & 24) | ((l * 3) & 7)],
            if (l & 15) + 2 < 16 { warp[l + 2] } else { v },
            odd as i32,
            i32::from(warp.iter().any(|v| *v > 90)),
            1,
            mask(&|w| w & 3 == v & 3),
            -1,
            1,
            -1,
            warp.iter().sum(),
            *warp.iter().min().expect("32 lanes"),
            warp.iter().fold(0, |a, b| a | b),
            if is_odd { odd as i32 } else { 0 },
            if is_odd { (odd & ((1 << l) - 1)).count_ones() as i32 } else { 1 },
            if is_odd { warp[odd.trailing_zeros() as usize] } else { 2 },
            odd_all,
            i32::from(x.iter().any(|v| *v > 98)),
            1,
            half.iter().sum(),
            warp[l ^ 1],
        ];
        assert_eq!(got[t * 24..t * 24 + 24], want, "thread {t}");
    }
}

#[test]
fn the_last_block_sums_what_the_others_left() {
    let x = random(10_000);
    let want: f64 = x.iter().map(|v| f64::from(*v)).sum();
    let args = vec![Arg::from(&x), Arg::Out(20, 4), Arg::Out(1, 4), Arg::from(10_000_i32)];
    let ran = run("pass/reduce", "sum_last_block", [20, 1, 1], [256, 1, 1], args).ok();
    close(&ran.f32(2), &[want], 1e-4);
}

#[test]
fn blocks_wait_for_their_predecessors_and_for_all() {
    let x: Vec<i32> = (0..1000).map(|i| i % 11).collect();
    let state = vec![0_i32; 16];
    let args = vec![Arg::from(&x), Arg::Out(1000, 4), Arg::from(&state), Arg::from(1000_i32)];
    let ran = run("pass/reduce", "scan_chained", [8, 1, 1], [128, 1, 1], args).ok();
    let mut total = 0;
    let want: Vec<i32> = x
        .iter()
        .map(|v| {
            total += v;
            total
        })
        .collect();
    assert_eq!(ran.i32(1), want);
    let args = vec![Arg::from([0_i32].as_slice()), Arg::Out(40 * 32, 4)];
    let ran = run("pass/reduce", "wait_for_all", [40, 1, 1], [32, 1, 1], args).ok();
    assert_eq!(ran.i32(1), (0..40 * 32).map(|i| i / 32).collect::<Vec<_>>());
}

#[test]
fn lanes_of_a_warp_take_turns_at_a_lock() {
    let limits = Limits { lane_instructions: 1_000_000_000, ..Limits::default() };
    for kernel in ["spin_lock", "spin_lock_simple"] {
        let args = vec![Arg::from([0_i32].as_slice()), Arg::from([0_i32].as_slice())];
        let ran = run_with("pass/reduce", kernel, [2, 1, 1], [64, 1, 1], 0, limits, args).ok();
        assert_eq!(ran.i32(1), [128], "{kernel}");
    }
}
