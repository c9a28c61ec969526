//! The helpers of `kg/hopper.cuh`.

use std::time::{Duration, Instant};

use super::*;

#[test]
fn every_helper_for_sm_90a_assembles_and_passes_the_guards() {
    let source = include_str!("hopper.cu");
    crate::guard_source(source, false).unwrap();
    let widths = [8, 16, 32, 64, 96, 128, 192, 256];
    let mut kernels: Vec<String> = vec!["copies".to_owned()];
    kernels.extend(widths.map(|n| format!("product<kg::mma::bf16, {n}, 0, 1>")));
    kernels.extend(widths.map(|n| format!("from_registers<kg::mma::f16, {n}, 0>")));
    for kind in ["f16, 64, 1, 0", "e4m3, 64, 0, 0", "tf32, 64, 0, 0"] {
        kernels.push(format!("product<kg::mma::{kind}>"));
    }
    kernels.push("from_registers<kg::mma::bf16, 64, 1>".to_owned());
    let names: Vec<&str> = kernels.iter().map(String::as_str).collect();
    let compiled = compile(source, &names, DType::F32);
    assert_eq!(compiled.diagnostics, []);
    let pointer = ParamType::Pointer { pointee: "float".to_owned(), is_const: false };
    let int = ParamType::Int { bits: 32, signed: true };
    assert_eq!(compiled.signatures[0].params, [ParamType::TensorMap, pointer, int]);
    crate::guard_ptx(&compiled).unwrap_or_else(|finding| panic!("{}", finding.message));
    assert!(compiled.ptx.contains("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"));
}

#[test]
fn the_helpers_cost_little_time() {
    let kernel = "extern \"C\" __global__ void k(float* x) { x[0] = 1; }";
    let with_helpers = format!("#include <kg/hopper.cuh>\n{kernel}");
    let took = |source: &str| {
        let once = |_| {
            let start = Instant::now();
            compile(source, &["k"], DType::F32);
            start.elapsed()
        };
        (0..5).map(once).min().unwrap()
    };
    let (without, with) = (took(kernel), took(&with_helpers));
    let limit = Duration::from_millis(150);
    assert!(with.saturating_sub(without) < limit, "{without:?} without, {with:?} with");
    println!("{without:?} without, {with:?} with");
}

#[test]
fn a_tensor_map_is_known_without_an_include_on_every_gpu() {
    let source = "struct CUtensorMap_st; typedef struct CUtensorMap_st CUtensorMap;\n#include <cuda.h>\n\
                  extern \"C\" __global__ void k(const __grid_constant__ CUtensorMap m, float* x) {\n\
                  static_assert(sizeof(m) == 128 && alignof(CUtensorMap) == 64, \"\");\n\
                  x[0] = reinterpret_cast<uint64_t>(&m) % 64; }";
    let names = ["k".to_owned()];
    for arch in ["sm_80", "sm_90a", "sm_100a", "sm_103a", "sm_120a"] {
        let job = CompileJob { source, defines: &[], types: &[], kernels: &names, arch };
        let compiled = compiler().compile(&job).unwrap_or_else(|error| panic!("{arch}: {error:?}"));
        assert_eq!(compiled.signatures[0].params[0], ParamType::TensorMap);
        crate::guard_ptx(&compiled).unwrap();
        let with_helpers = format!("#include <kg/hopper.cuh>\n{source}");
        let job = CompileJob { source: &with_helpers, ..job };
        compiler().compile(&job).unwrap_or_else(|error| panic!("{arch}: {error:?}"));
    }
}
