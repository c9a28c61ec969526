//! Kernels on tensor cores, and 8-bit floats.

use super::matmul::{Layout, of, product};
use crate::{Agreement, Dtype, Fill, Kernel, float, input, int, output};

const UNIT: Fill = Fill::Uniform(-1.0, 1.0);

/// The kernels of this family.
pub(super) fn list() -> Vec<Kernel> {
    vec![
        wmma_f16(),
        wmma_bf16(),
        wmma_tf32(),
        mma_int8(),
        ldmatrix(),
        three_stages(),
        stmatrix(),
        fp8_quantize(),
        fp8_matvec(),
    ]
}

fn wmma_f16() -> Kernel {
    Kernel {
        name: "wmma_gemm",
        file: "k06_wmma_fp16",
        source: include_str!("../../kernels/k06_wmma_fp16.cu"),
        entry: "wmma_gemm",
        grid: [2, 1, 1],
        block: [128, 1, 1],
        smem: 0,
        args: vec![
            input("A", Dtype::F16, 64 * 96, UNIT),
            input("B", Dtype::F16, 96 * 128, UNIT),
            output("C", Dtype::F32, 64 * 128),
            int(64),
            int(128),
            int(96),
        ],
        arch: 80,
        tolerance: 1e-4,
        agreement: Agreement::Within(1e-4),
        want: |case| {
            let c = of(case, ["A", "B"], [64, 128, 96], Layout::Plain);
            vec![c.into_iter().map(|v| v.max(0.0)).collect()]
        },
    }
}

fn wmma_bf16() -> Kernel {
    Kernel {
        name: "wmma_bf16_tail",
        file: "wmma_gemm",
        source: include_str!("../../kernels/wmma_gemm.cu"),
        entry: "wmma_bf16_tail",
        grid: [2, 2, 1],
        args: vec![
            input("a", Dtype::Bf16, 40 * 44, UNIT),
            input("b", Dtype::Bf16, 44 * 50, UNIT),
            output("c", Dtype::F32, 40 * 50),
            int(40),
            int(50),
            int(44),
        ],
        want: |case| vec![of(case, ["a", "b"], [40, 50, 44], Layout::Plain)],
        ..wmma_f16()
    }
}

/// The nearest number with 10 bits of mantissa, ties away from zero.
fn tf32(values: &[f64]) -> Vec<f64> {
    let round = |v: &f64| {
        let bits = (*v as f32).to_bits();
        f64::from(f32::from_bits((bits + 0x1000) & !0x1fff))
    };
    values.iter().map(round).collect()
}

fn wmma_tf32() -> Kernel {
    Kernel {
        name: "wmma_tf32",
        entry: "wmma_tf32",
        grid: [4, 2, 1],
        block: [64, 1, 1],
        args: vec![
            input("a", Dtype::F32, 48 * 40, UNIT),
            input("b", Dtype::F32, 40 * 64, UNIT),
            output("c", Dtype::F32, 48 * 64),
            int(48),
            int(64),
            int(40),
        ],
        want: |case| {
            let (a, b) = (tf32(&case.values("a")), tf32(&case.values("b")));
            vec![product(&a, &b, [48, 64, 40], Layout::Plain)]
        },
        ..wmma_bf16()
    }
}

fn mma_int8() -> Kernel {
    Kernel {
        name: "mma_int8",
        file: "matmul_int8",
        source: include_str!("../../kernels/matmul_int8.cu"),
        entry: "mma_int8",
        grid: [3, 2, 1],
        block: [32, 1, 1],
        args: vec![
            input("a", Dtype::I8, 32 * 96, Fill::Uniform(-128.0, 128.0)),
            input("b", Dtype::I8, 24 * 96, Fill::Uniform(-128.0, 128.0)),
            output("c", Dtype::I32, 32 * 24),
            int(24),
            int(96),
        ],
        agreement: Agreement::Exact,
        want: |case| vec![of(case, ["a", "b"], [32, 24, 96], Layout::Nt)],
        ..wmma_f16()
    }
}

fn ldmatrix() -> Kernel {
    Kernel {
        name: "hgemm_ldmatrix",
        file: "mma_ldmatrix",
        source: include_str!("../../kernels/mma_ldmatrix.cu"),
        entry: "hgemm_ldmatrix",
        grid: [2, 2, 1],
        args: vec![
            input("a", Dtype::F16, 44 * 48, UNIT),
            input("b", Dtype::F16, 48 * 64, UNIT),
            output("c", Dtype::F32, 44 * 64),
            int(44),
            int(64),
            int(48),
        ],
        want: |case| vec![of(case, ["a", "b"], [44, 64, 48], Layout::Plain)],
        ..wmma_f16()
    }
}

fn three_stages() -> Kernel {
    Kernel {
        name: "hgemm_async_3",
        entry: "hgemm_async_3",
        args: vec![
            input("a", Dtype::F16, 44 * 112, UNIT),
            input("b", Dtype::F16, 112 * 64, UNIT),
            output("c", Dtype::F32, 44 * 64),
            int(44),
            int(64),
            int(112),
        ],
        want: |case| vec![of(case, ["a", "b"], [44, 64, 112], Layout::Plain)],
        ..ldmatrix()
    }
}

fn stmatrix() -> Kernel {
    Kernel {
        name: "hgemm_stmatrix",
        file: "mma_stmatrix",
        source: include_str!("../../kernels/mma_stmatrix.cu"),
        entry: "hgemm_stmatrix",
        grid: [2, 3, 1],
        block: [64, 1, 1],
        args: vec![
            input("a", Dtype::F16, 48 * 48, UNIT),
            input("b", Dtype::F16, 48 * 64, UNIT),
            output("c", Dtype::F16, 48 * 64),
            int(64),
            int(48),
        ],
        arch: 90,
        tolerance: 2e-3,
        agreement: Agreement::Within(2e-3),
        want: |case| vec![of(case, ["a", "b"], [48, 64, 48], Layout::Plain)],
        ..wmma_f16()
    }
}

/// Value of a finite e4m3 code.
fn e4m3(code: u8) -> f64 {
    let (exponent, mantissa) = (i32::from(code >> 3 & 15), f64::from(code & 7));
    let size = match exponent {
        0 => mantissa / 8.0 * 2.0_f64.powi(-6),
        _ => (1.0 + mantissa / 8.0) * 2.0_f64.powi(exponent - 7),
    };
    if code >= 128 { -size } else { size }
}

/// The code nearest to a value, ties to the even code, saturated.
fn to_e4m3(value: f64) -> u8 {
    let off = |code: u8| (e4m3(code) - value.abs()).abs();
    let nearer = |best: u8, code: u8| match off(code).total_cmp(&off(best)) {
        std::cmp::Ordering::Less => code,
        std::cmp::Ordering::Equal if code.is_multiple_of(2) => code,
        _ => best,
    };
    let code = (0..=0x7e).fold(0, nearer);
    if value.is_sign_negative() { code | 0x80 } else { code }
}

fn fp8_quantize() -> Kernel {
    Kernel {
        name: "fp8_quantize",
        file: "fp8",
        source: include_str!("../../kernels/fp8.cu"),
        entry: "fp8_quantize",
        grid: [3, 1, 1],
        args: vec![
            input("x", Dtype::F32, 1319, Fill::Uniform(-40.0, 40.0)),
            output("q", Dtype::U8, 1319),
            float(16.0),
            int(1319),
        ],
        agreement: Agreement::Exact,
        want: |case| {
            let code = |v: f64| f64::from(to_e4m3(v * 16.0));
            vec![case.values("x").into_iter().map(code).collect()]
        },
        ..wmma_f16()
    }
}

fn fp8_matvec() -> Kernel {
    Kernel {
        name: "fp8_matvec",
        entry: "fp8_matvec",
        grid: [4, 1, 1],
        block: [32, 4, 1],
        args: vec![
            // Codes of 0 to 240.
            input("w", Dtype::U8, 13 * 150, Fill::Uniform(0.0, 120.0)),
            input("scale", Dtype::F32, 13, Fill::Uniform(0.001, 0.01)),
            input("x", Dtype::F32, 150, UNIT),
            output("y", Dtype::F32, 13),
            int(13),
            int(150),
        ],
        agreement: Agreement::Exact,
        want: |case| {
            let w: Vec<f64> = case.values("w").into_iter().map(|c| e4m3(c as u8)).collect();
            let y = product(&w, &case.values("x"), [13, 1, 150], Layout::Plain);
            vec![y.iter().zip(case.values("scale")).map(|(v, s)| v * s).collect()]
        },
        ..fp8_quantize()
    }
}
