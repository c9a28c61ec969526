//! A product of matrices as Hopper kernels compute it: tensor maps, a ring of stages, `setmaxnreg`
//! and two warpgroups.

use super::tma::tensor;
use crate::{
    harness::{Arg, Ran, module, run_module},
    matrix::number::Type,
};
use ptx_emu::{Launch, Limits, Swizzle, TensorMap, TensorMapType};

fn gemm(m: usize, n: usize, k: usize, a: Vec<u8>, b: Vec<u8>) -> Ran {
    let map = |rows: usize| TensorMap {
        swizzle: Swizzle::B128,
        ..tensor(TensorMapType::Bf16, &[k as u64, rows as u64], &[64, 128])
    };
    let args = vec![
        Arg::Map(map(m), a),
        Arg::Map(map(n), b),
        Arg::Out(m * n, 4),
        Arg::from(m as i32),
        Arg::from(n as i32),
        Arg::from(k as i32),
    ];
    let launch = Launch {
        kernel: "gemm".to_owned(),
        grid: [n as u32 / 128, m as u32 / 128, 1],
        block: [384, 1, 1],
        dynamic_smem: 4 * 2 * 128 * 64 * 2,
        ..Launch::default()
    };
    run_module(&module("pass/gemm_hopper"), launch, Limits::default(), args)
}

#[test]
fn a_product_of_matrices() {
    let ty = Type::named("bf16").expect("a type");
    for (m, n, k) in [(128, 128, 64), (128, 256, 320), (256, 128, 576)] {
        let (a, b) = (ty.inputs('n', 1, m * k), ty.inputs('n', 2, n * k));
        let ran = gemm(m, n, k, a.clone(), b.clone()).ok();
        assert_eq!(ran.findings, []);
        let c = ran.f32(2);
        for (row, column) in [(0, 0), (m - 1, n - 1), (77, 100), (64, 3), (15, 127)] {
            let product =
                |i: usize| ty.value(ty.get(&a, row * k + i)) * ty.value(ty.get(&b, column * k + i));
            let want: f64 = (0..k).map(product).sum();
            let got = f64::from(c[row * n + column]);
            assert!((got - want).abs() < 1e-3, "[{row}, {column}]: {got}, not {want}");
        }
    }
}

/// Prints how many multiply-adds a second of processor time the emulator does, launch and checks
/// included.
#[test]
#[ignore = "a measurement"]
fn speed() {
    use nix::time::{ClockId, clock_gettime};
    let ty = Type::named("bf16").expect("a type");
    let now = || {
        let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("a clock");
        time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
    };
    for n in [256, 256, 256, 512, 512] {
        let (a, b) = (ty.inputs('n', 1, n * n), ty.inputs('n', 2, n * n));
        let start = now();
        gemm(n, n, n, a, b).ok();
        let seconds = now() - start;
        let rate = (n * n * n) as f64 / seconds / 1e9;
        println!("{n}: {:.1} ms, {rate:.2} G multiply-adds a second", seconds * 1e3);
    }
}
