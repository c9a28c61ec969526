use kgen_record::ParamType;

use super::*;
use crate::testing::{compile_with, uncached_compiler as compiler};

fn compile(source: &str, kernels: &[&str], dtype: DType) -> Compiled {
    compile_with(&compiler(), source, kernels, dtype)
}

mod hopper;

const RELU: &str = r#"/*@plan
launch("relu", grid=1, block=256, args=[self, out, 1])  # it's an apostrophe
@*/
extern "C" __global__ void relu(const T_self* __restrict__ x, T_out* __restrict__ y, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > T_self(0) || x[i] != x[i] ? x[i] : T_self(0);
}
"#;

fn errors(source: &str, kernels: &[&str]) -> Vec<Diagnostic> {
    let kernels: Vec<String> = kernels.iter().map(|name| (*name).to_owned()).collect();
    let job = CompileJob { source, defines: &[], types: &[], kernels: &kernels, arch: "sm_90a" };
    match compiler().compile(&job).unwrap_err() {
        CompileError::Failed(diagnostics) => diagnostics,
        CompileError::Machine(error) => panic!("{error}"),
    }
}

#[test]
fn one_compilation_gives_ptx_cubin_resources_and_the_signature() {
    for (dtype, pointee) in
        [(DType::F32, "float"), (DType::F16, "__half"), (DType::BF16, "__nv_bfloat16")]
    {
        let compiled = compile(RELU, &["relu"], dtype);
        assert!(compiled.ptx.contains(".entry relu("), "{dtype}");
        assert_eq!(&compiled.cubin[..4], b"\x7fELF");
        assert!(compiled.resources[0].registers > 0 && compiled.resources[0].kernel == "relu");
        let pointer = |is_const| ParamType::Pointer { pointee: pointee.to_owned(), is_const };
        let expected = [pointer(true), pointer(false), ParamType::Int { bits: 64, signed: true }];
        assert_eq!(compiled.signatures[0].params, expected);
        assert_eq!(compiled.diagnostics, []);
        crate::guard_ptx(&compiled).unwrap();
    }
}

#[test]
fn diagnostics_carry_line_severity_and_the_line_itself() {
    let source = "__device__ int f(int* a) { return 0; } /* one\n two */ \n\
                  extern \"C\" __global__ void k(float* x) {\n  int unused = 3;\n  foo();\n  \
                  x[0] = f(x[1]);\n}\n";
    let found = errors(source, &["k"]);
    let error = found.iter().find(|d| d.message.contains("foo")).unwrap();
    assert_eq!((error.line, error.severity), (Some(5), Severity::Error));
    assert_eq!(error.source_line.as_deref(), Some("  foo();"));
    let call = found.iter().find(|d| d.line == Some(6)).unwrap();
    assert!(call.message.contains("float"), "{}", call.message);
    assert!(!call.message.contains('^'), "{}", call.message);
}

#[test]
fn wrong_kernel_names_are_explained_with_the_kernels_of_the_file() {
    let source = "extern \"C\" __global__ void relu(float* x) {}\n\
                  template <class T> __global__ void tile(T* x) {}\n\
                  __global__ void two(int) {}\n__global__ void two(float) {}\n\
                  __device__ void helper() {}";
    let cases = [
        ("rleu", "does not exist"),
        ("tile", "is a template"),
        ("two", "is overloaded"),
        ("helper", "is no __global__ function"),
        ("relu(", "is no kernel name"),
    ];
    for (name, reason) in cases {
        let found = errors(source, &[name]);
        let message = &found[0].message;
        assert!(message.contains(reason) && message.contains("`relu`, `tile<...>`"), "{message}");
        assert_eq!(found.len(), 1, "{found:?}");
    }
}

#[test]
fn an_instance_of_a_template_is_a_kernel() {
    let source = "template <class T, int N> __global__ void tile(const T* x, int n) {}";
    let compiled = compile(source, &["tile<T_self, 4>"], DType::F32);
    assert_eq!(compiled.entry("tile<T_self, 4>"), Some("_Z4tileIfLi4EEvPKT_i"));
    assert_eq!(compiled.resources[0].kernel, "tile<T_self, 4>");
}

#[test]
fn the_assembler_is_heard_too() {
    let smem = "extern \"C\" __global__ void k(float* x) { __shared__ float s[100000];\n\
                s[threadIdx.x] = x[0]; __syncthreads(); x[1] = s[threadIdx.x ^ 1]; }";
    let message = &errors(smem, &["k"])[0].message;
    assert!(message.contains("400000 bytes of static shared memory"), "{message}");
    let ptx = "extern \"C\" __global__ void k(float* x) { asm volatile(\"foo.bar;\"); }";
    assert!(errors(ptx, &["k"])[0].message.starts_with("assembler: "));
}

#[test]
fn what_people_include_compiles() {
    let sources = [
        "#include <cuda_runtime.h>\n#include <stdio.h>\n#include <cstdint>\n#include <cmath>\n\
         extern \"C\" __global__ void k(float* x, uint32_t n) { constexpr float low = -INFINITY; x[1] = low; x[0] = std::sqrt(INFINITY) + M_PI\
         + FLT_MAX + std::int8_t(n) + NAN; }",
        "#include <algorithm>\n#include <limits>\n#include <cstring>\n#include <cfloat>\n\
         extern \"C\" __global__ void k(float* x) { float y = std::numeric_limits<float>::infinity();\
         x[0] = std::max(x[1], y) + std::numeric_limits<int>::max() + std::min(1, 2);\
         std::memcpy(x, x + 4, 8); }",
        "#include <mma.h>\n#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n\
         extern \"C\" __global__ void k(__half* x, __nv_bfloat16* y) {\
         y[0] = kg::from_float<__nv_bfloat16>(kg::to_float(x[0])); }",
        "#include <cooperative_groups.h>\n#include <type_traits>\n#include <utility>\n\
         extern \"C\" __global__ void k(float* x) {\
         static_assert(std::is_same<float, float>::value, \"\"); x[0] = 1; }",
        "#include <cub/cub.cuh>\nextern \"C\" __global__ void k(float* x) {\
         typedef cub::BlockReduce<float, 128> R; __shared__ typename R::TempStorage t;\
         float s = R(t).Sum(x[threadIdx.x]); if (threadIdx.x == 0) x[0] = s; }",
        "#include <cassert>\n#include <cstddef>\n#include <climits>\n#include <stdint.h>\n\
         typedef unsigned int uint32_t;\n#include <math.h>\n#include <cuda/std/cstdint>\n\
         extern \"C\" __global__ void k(int64_t* x) { assert(x); x[0] = INT_MAX; std::size_t n = 1;\
         x[1] = n; x[2] = UINT64_MAX; }",
    ];
    for source in sources {
        crate::guard_source(source, false).unwrap();
        let compiled = compile(source, &["k"], DType::F32);
        let errors: Vec<&str> = compiled.diagnostics.iter().map(|d| d.message.as_str()).collect();
        assert!(errors.is_empty(), "{source}: {errors:?}");
        crate::guard_ptx(&compiled).unwrap_or_else(|f| panic!("{}", f.message));
    }
}

#[test]
fn types_of_the_runtime_and_textures_compile() {
    for declaration in [
        "struct Launch { cudaStream_t stream; cudaError_t status; };",
        "__device__ float at(cudaTextureObject_t t, float x) { return tex2D<float>(t, x, 0.0f); }",
    ] {
        let source = format!("{declaration}\n{RELU}");
        let compiled = compile(&source, &["relu"], DType::F32);
        assert!(compiled.ptx.contains(".entry relu("), "{declaration}");
    }
}

#[test]
fn the_copy_kernels_compile() {
    let compiled = compile(crate::copy_source(), &crate::COPY_KERNELS, DType::F32);
    assert_eq!(compiled.entries, crate::COPY_KERNELS);
    assert!(compiled.signatures.iter().all(|signature| signature.params.len() == 19));
}

#[test]
fn a_macro_of_a_plan_cannot_smuggle_anything() {
    let attempts = [
        ("VEC", "4\n#include </etc/passwd>"),
        ("VEC", "\"text\""),
        ("A B", "1"),
        ("T_self", "int"),
        ("", "1"),
    ];
    for (name, value) in attempts {
        let job = CompileJob {
            source: "extern \"C\" __global__ void k() {}",
            defines: &[(name.to_owned(), value.to_owned())],
            types: &[("T_self".to_owned(), DType::F32)],
            kernels: &["k".to_owned()],
            arch: "sm_90a",
        };
        let error = compiler().compile(&job).unwrap_err();
        assert!(matches!(error, CompileError::Failed(_)), "{name}={value}");
    }
}

#[test]
fn endless_templates_end_in_a_diagnostic() {
    let source = "template <int N> __device__ int f() { return f<N + 1>(); }\n\
                  extern \"C\" __global__ void k(int* x) { x[0] = f<0>(); }";
    assert!(errors(source, &["k"])[0].message.contains("excessive recursion"));
}

#[test]
fn a_macro_of_a_plan_may_have_any_name() {
    let source = "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n\
                  #include <cuda_bf16.h>\n#include <algorithm>\n#include <limits>\n\
                  namespace cg = cooperative_groups;\nextern \"C\" __global__ void k(T_self* x) {\n\
                  auto t = cg::tiled_partition<32>(cg::this_thread_block());\n\
                  x[t.thread_rank()] = kg::from_acc<T_self>(cg::reduce(t, kg::to_acc(x[0]), cg::plus<float>())\n\
                  + T + A + F + N + M + K + M_PI + std::max(Tp, x_) + std::numeric_limits<float>::max()); }";
    let names =
        ["T", "A", "F", "N", "M", "K", "M_PI", "Tp", "x_", "B", "R", "P", "I", "S", "D", "W"];
    let defines: Vec<(String, String)> =
        names.iter().map(|name| ((*name).to_owned(), "4".to_owned())).collect();
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let job = CompileJob {
            source,
            defines: &defines,
            types: &[("T_self".to_owned(), dtype)],
            kernels: &["k".to_owned()],
            arch: "sm_90a",
        };
        let compiled =
            compiler().compile(&job).unwrap_or_else(|error| panic!("{dtype}: {error:?}"));
        assert_eq!(compiled.diagnostics, [], "{dtype}");
    }
}

#[test]
fn equal_sources_compile_to_equal_bytes() {
    let source = "static __constant__ float t[2] = {1, 2}; namespace { __device__ const int u[2] = {3, 4}; }\n\
                  extern \"C\" __global__ void k(float* x) { x[0] = t[threadIdx.x] + u[threadIdx.y]; }";
    let (a, b) = (compile(source, &["k"], DType::F32), compile(source, &["k"], DType::F32));
    assert!(
        a.ptx.contains("\"/kgen/k.cu\""),
        "the folder that a process works in is no part of it"
    );
    assert_eq!((a.ptx, a.cubin), (b.ptx, b.cubin));
}
