//! Instructions against Rust's arithmetic.

use crate::harness::{Arg, close, random, random_bits, run};

#[test]
fn integer_instructions() {
    let n = 512;
    let mut bits = random_bits(2 * n);
    bits[0] = 0;
    bits[n + 1] = 0;
    bits[2] = 0x8000_0000;
    bits[n + 2] = u32::MAX;
    for i in 3..40 {
        bits[i] &= 0xff;
        bits[n + i] &= 7;
    }
    let (a, b) = bits.split_at(n);
    let args = vec![Arg::from(a), Arg::from(b), Arg::Out(n * 32, 4), Arg::from(n as i32)];
    let got = run("pass/ints", "ints", [4, 1, 1], [128, 1, 1], args).ok().u32(2);
    for i in 0..n {
        let (u, w) = (a[i], b[i]);
        let (p, q) = (u as i32, w as i32);
        let wide = (u64::from(w) << 32) | u64::from(u);
        let bytes = |x: u32| x.to_le_bytes();
        let dot: i32 =
            (0..4).map(|k| i32::from(bytes(u)[k] as i8) * i32::from(bytes(w)[k] as i8)).sum();
        let lanes = |x: u32, y: u32| (x & 0xffff).wrapping_add(y & 0xffff) & 0xffff;
        let want: [u32; 32] = [
            u.wrapping_add(w),
            u.wrapping_sub(w),
            u.wrapping_mul(w),
            if q == 0 { 0 } else { p.wrapping_div(q) as u32 },
            if q == 0 { 0 } else { p.wrapping_rem(q) as u32 },
            u.checked_div(w).unwrap_or(0),
            u.checked_rem(w).unwrap_or(0),
            ((i64::from(p) * i64::from(q)) >> 32) as u32,
            ((u64::from(u) * u64::from(w)) >> 32) as u32,
            u << (w & 31),
            (p >> (w & 31)) as u32,
            u >> (w & 31),
            u.count_ones(),
            u.leading_zeros(),
            u.reverse_bits(),
            u32::from_le_bytes([bytes(u)[0], bytes(w)[0], bytes(u)[2], bytes(w)[2]]),
            ((wide << (w & 31)) >> 32) as u32,
            (wide >> (w & 31)) as u32,
            if u == 0 { 0 } else { u.trailing_zeros() + 1 },
            p.min(q) as u32,
            u.max(w),
            p.unsigned_abs(),
            p.abs_diff(q).wrapping_add(7),
            (dot + 11) as u32,
            (u & w) | (!u ^ w),
            ((i64::from(p) * i64::from(q)) >> 20) as u32,
            (u64::from(u) * u64::from(w) % 1_000_003) as u32,
            (i32::from(p as i16) * i32::from(q as i16)) as u32,
            (i32::from(u as u8) + i32::from(q as i8)) as u32,
            lanes(u, w) | lanes(u >> 16, w >> 16) << 16,
            ((i64::from(p) << 7) / i64::from(q | 1)) as u32,
            (u & 0xff_ffff).wrapping_mul(w & 0xff_ffff),
        ];
        for (k, want) in want.iter().enumerate() {
            assert_eq!(got[i * 32 + k], *want, "result {k} of {u:#x}, {w:#x}");
        }
    }
}

#[test]
fn conversions() {
    let mut x = random(128).iter().map(|v| v * 3e5).collect::<Vec<_>>();
    x[..12].copy_from_slice(&[
        0.5,
        1.5,
        -0.5,
        -1.5,
        2.5,
        f32::NAN,
        f32::INFINITY,
        -3e9,
        5e9,
        1e20,
        -1e20,
        0.0,
    ]);
    let n = x.len();
    let args = vec![Arg::from(&x), Arg::Out(n * 12, 4), Arg::from(n as i32)];
    let got = run("pass/ints", "casts", [1, 1, 1], [128, 1, 1], args).ok().u32(1);
    for (i, v) in x.iter().enumerate() {
        let near = f64::from(*v).round_ties_even();
        let got = &got[i * 12..i * 12 + 12];
        // A NaN converts to zero in 32 bits and to the lowest value in 64.
        let long = if v.is_nan() { i64::MIN } else { *v as i64 };
        assert_eq!(got[0], *v as i32 as u32, "{v}");
        assert_eq!(got[1], *v as u32, "{v}");
        assert_eq!(got[2], near as i32 as u32, "{v}");
        assert_eq!(got[3], v.ceil() as i32 as u32, "{v}");
        assert_eq!(got[4], v.floor() as i32 as u32, "{v}");
        assert_eq!((got[5], got[6]), (long as u32, (long >> 32) as u32), "{v}");
        assert_eq!(got[7], v.to_bits(), "{v}");
        assert_eq!(got[8], (*v as i32 as f32).to_bits(), "{v}");
        assert_eq!(got[9], i32::from(*v as i32 as i8) as u32, "{v}");
        assert_eq!(got[11], u32::from(*v as u32 as u8), "{v}");
    }
}

#[test]
fn single_precision_functions() {
    let n = 200;
    let x: Vec<f32> = random(n).iter().map(|v| v * 4.0).collect();
    let args = vec![Arg::from(&x), Arg::Out(n * 24, 4), Arg::from(n as i32)];
    let got = run("pass/math", "math_f32", [2, 1, 1], [128, 1, 1], args).ok().f32(1);
    let mut want = Vec::new();
    for v in &x {
        let f = f64::from(*v);
        let big = f64::from(*v * 1e6);
        want.extend([
            f.exp(),
            f.abs().ln(),
            f.sin(),
            f.cos(),
            f.tanh(),
            libm::erf(f),
            f.abs().sqrt(),
            1.0 / f.abs().sqrt(),
            f.abs().powf(f64::from(1.7_f32)),
            1.0 / f,
            f / 3.0,
            f.floor(),
            f.ceil(),
            f.round_ties_even(),
            f.trunc(),
            f.round(),
            f % f64::from(0.7_f32),
            f.exp2(),
            f.abs().ln_1p(),
            f.cbrt(),
            f.atan(),
            f / 3.0,
            f.exp_m1(),
            big.sin(),
        ]);
    }
    close(&got, &want, 4e-7);
}

#[test]
fn double_precision_functions() {
    let n = 100;
    let x: Vec<f64> = random(n).iter().map(|v| f64::from(*v) * 4.0).collect();
    let args = vec![Arg::from(&x), Arg::Out(n * 10, 8), Arg::from(n as i32)];
    let got = run("pass/math", "math_f64", [1, 1, 1], [128, 1, 1], args).ok().f64(1);
    for (i, v) in x.iter().enumerate() {
        let want = [
            v.exp(),
            v.abs().ln(),
            v.sin(),
            v.tanh(),
            v.abs().sqrt(),
            1.0 / v,
            v.floor(),
            libm::erf(*v),
            v.mul_add(*v, -1.0),
            v.abs().powf(0.3),
        ];
        for (k, want) in want.iter().enumerate() {
            let error = (got[i * 10 + k] - want).abs() / want.abs().max(1.0);
            assert!(error < 1e-14, "function {k} of {v}: {} is not {want}", got[i * 10 + k]);
        }
    }
}

#[test]
fn atomics_of_all_kinds() {
    let h = |v: f32| half::f16::from_f32(v).to_bits();
    let args = vec![
        Arg::from(&vec![0_i32, 0, 0, 0, -1, 0, 0]),
        Arg::from(&vec![3_u32, 3, 0, 0]),
        Arg::from(&vec![0_u64, 0, 0]),
        Arg::from(&vec![1.0_f32]),
        Arg::from(&vec![1.0_f64]),
        Arg::from(&vec![0_u16, 0]),
        Arg::from(&vec![0_u16]),
        Arg::from(&vec![0_u16, 0]),
    ];
    let ran = run("pass/atomics", "atomics", [2, 1, 1], [64, 1, 1], args).ok();
    let sum: i32 = (0..128).sum();
    let xor = (0..128).fold(0, |a, b| a ^ b);
    assert_eq!(ran.i32(0), [sum, -sum, -127, 127, 0, 0xffff, xor]);
    // 128 steps: 3 counts up to 9 and wraps to 0; down from 3 it wraps from 0 to 9.
    assert_eq!(ran.u32(1), [(3 + 128) % 10, 5, u32::MAX, 77]);
    assert_eq!(ran.u64(2), [128 << 33, 127 << 40, 5]);
    assert_eq!((ran.f32(3), ran.f64(4)), (vec![65.0], vec![33.0]));
    assert_eq!(ran.u16(5), [h(128.0), h(64.0)]);
    assert_eq!(ran.u16(6), [h(32.0)]);
    assert_eq!(ran.u16(7)[0], half::bf16::from_f32(128.0).to_bits());
}
