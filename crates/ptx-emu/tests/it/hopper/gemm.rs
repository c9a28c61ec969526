//! A product of matrices as Hopper kernels compute it: tensor maps, a ring of stages, `setmaxnreg`
//! and two warpgroups.

use std::time::Instant;

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

/// Prints how long a product of 256 by 256 by 256 takes.
#[test]
#[ignore = "a measurement"]
fn speed() {
    let ty = Type::named("bf16").expect("a type");
    let n = 256;
    let (a, b) = (ty.inputs('n', 1, n * n), ty.inputs('n', 2, n * n));
    for _ in 0..5 {
        let start = Instant::now();
        gemm(n, n, n, a.clone(), b.clone()).ok();
        println!("{:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    }
}
