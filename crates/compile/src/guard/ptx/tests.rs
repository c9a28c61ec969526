use kgen_record::DType;

use super::*;
use crate::testing::compile;

fn verdict(body: &str) -> Result<(), Box<Finding>> {
    guard_ptx(&compile(body, &["k"], DType::F32))
}

#[test]
fn state_that_outlives_a_launch_is_refused_with_its_line() {
    let sources = [
        "__device__ int seen;\nextern \"C\" __global__ void k(float* x) {\n  seen = 1;\n}",
        "static __device__ float cache[64] = {1};\nextern \"C\" __global__ void k(float* x) {\n\
         cache[threadIdx.x] = x[threadIdx.x]; __syncthreads(); x[0] = cache[1];\n}",
        "__device__ int n;\nextern \"C\" __global__ void k(float* x) {\n  \
         x[atomicAdd(&n, 1)] = 1;\n}",
        "\nextern \"C\" __global__ void k(float* x) {\n  static int calls = 3; x[0] = calls++;\n}",
        "__device__ int a[4];\nextern \"C\" __global__ void k(int** x) {\n  x[0] = a;\n}",
        "__device__ int4 a;\nextern \"C\" __global__ void k(int4* x, int n) {\n  \
         int4* p = n > 2 ? &a : x; *p = make_int4(1, 2, 3, n);\n}",
        "__device__ float a[2];\nextern \"C\" __global__ void k(float2* x) {\n  \
         *(float2*)a = x[0]; __syncthreads(); x[1] = *(float2*)a;\n}",
        "__device__ int a;\nextern \"C\" __global__ void k(int n) {\n  \
         asm volatile(\"{ .reg .u32 t; mov.u32 t, %1; st.u32 [%0], t; }\" :: \"l\"(&a), \"r\"(n));\n}",
        "\nextern \"C\" __global__ void k(int n) {\n  printf(\"%s %d\", \"text\", n);\n}",
    ];
    for source in sources {
        let finding = verdict(source).expect_err(source);
        assert_eq!(finding.span.map(|span| span.line), Some(3), "{source}");
        assert!(finding.hint.is_some());
    }
}

#[test]
fn constants_and_printf_are_no_state() {
    let sources = [
        "__device__ const float t[4] = {1, 2, 3, 4}; __constant__ float c[2];\n\
         extern \"C\" __global__ void k(float* x, int n) { x[0] = t[n & 3] + c[n & 1]; }",
        "__device__ const float4 t[2] = {{1, 2, 3, 4}, {5, 6, 7, 8}};\n\
         extern \"C\" __global__ void k(float4* x, int n) { x[0] = t[n & 1]; }",
        "extern \"C\" __global__ void k(float* x, int n) {\n\
         assert(n > 0); printf(\"n = %d\\n\", n); x[0] = sinf(x[1]); }",
        "extern \"C\" __global__ void k(float* x) { __shared__ float s[64];\n\
         s[threadIdx.x] = x[0]; __syncthreads(); x[1] = s[63 - threadIdx.x]; }",
        "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n\
         extern \"C\" __global__ void k(float* x) { auto b = cg::this_thread_block();\n\
         b.sync(); x[b.thread_rank()] = 1; }",
    ];
    for source in sources {
        verdict(source).unwrap_or_else(|finding| panic!("{source}: {}", finding.message));
    }
}

#[test]
fn a_falsified_signature_is_found() {
    let source = "extern \"C\" __global__ void k(double* x, int n) {}\n\
                  #define decltype(x) void (*)(double*, long long)";
    assert!(verdict(source).unwrap_err().message.contains("parameters of `k`"));
}

#[test]
fn hidden_state_is_refused() {
    let sources = [
        // A comment with a brace, and one with a quote.
        "__device__ int seen;\nextern \"C\" __global__ void k(float* x) {\n\
         asm volatile(\"// }\"); seen = 1; x[0] = 1;\n}",
        "__device__ int seen;\nextern \"C\" __global__ void k(float* x) {\n\
         asm volatile(\"/* } \\\" */\"); seen = 1; x[0] = 1;\n}",
        // The address in another variable's initial value.
        "__device__ int seen; __device__ int* at = &seen;\nextern \"C\" __global__ void k(int* x) {\n\
         *at = x[0]; }",
        "__device__ int seen[4]; __constant__ int* at[2] = {seen, seen + 2};\n\
         extern \"C\" __global__ void k(int* x, int n) { *at[n & 1] = x[0]; }",
        // The address rebuilt by branches, by a table, and in parts.
        "__device__ int seen;\nextern \"C\" __global__ void k(int* x) {\n\
         unsigned long long a = (unsigned long long)&seen, b = 0;\n\
         for (int i = 0; i < 64; ++i) if (a >> i & 1) b |= 1ull << i; *(int*)b = x[0]; }",
        "__device__ int seen;\nextern \"C\" __global__ void k(int* x, unsigned char* t) {\n\
         unsigned long long a = (unsigned long long)&seen, b = 0;\n\
         for (int i = 0; i < 64; i += 8) b |= (unsigned long long)t[a >> i & 255] << i;\n\
         *(int*)b = x[0]; }",
        "__device__ int seen;\nextern \"C\" __global__ void k(int* x, int** y) {\n\
         __shared__ int* s; s = &seen; __syncthreads(); *s = x[0]; }",
        "__constant__ int table[4] = {1};\nextern \"C\" __global__ void k(int* x) {\n\
         asm volatile(\"st.u32 [%0], %1;\" :: \"l\"(&table[x[1]]), \"r\"(x[0])); }",
        "__device__ int seen; __device__ __noinline__ void f(int* p, int v) { *p = v; }\n\
         extern \"C\" __global__ void k(int* x) { f(&seen, x[0]); f(x, 1); }",
    ];
    for source in sources {
        let message = verdict(source).expect_err(source).message;
        let known = ["the module variable", "the address of"];
        assert!(known.iter().any(|part| message.contains(part)), "{source}: {message}");
    }
}

#[test]
fn tables_may_be_used_in_every_honest_way() {
    let sources = [
        "__constant__ float t[8] = {1, 2, 3}; extern \"C\" __global__ void k(float* x, int n) {\n\
         float s = 0; for (const float* p = t; p < t + n; ++p) s += *p; x[0] = s; }",
        "__constant__ float a[8] = {1}; __constant__ float b[8] = {2};\n\
         extern \"C\" __global__ void k(float* x, int n) { const float* t = n > 4 ? a : b; x[0] = t[n & 7]; }",
        "__constant__ float t[8] = {1}; __device__ __noinline__ float f(const float* p, int n) {\n\
         float s = 0; for (int i = 0; i < n; ++i) s += p[i]; return s; }\n\
         extern \"C\" __global__ void k(float* x, int n) { x[0] = f(t, n); x[1] = f(x, n); }",
        "struct S { float a; int b; }; __device__ const S t[4] = {{1, 2}, {3, 4}};\n\
         extern \"C\" __global__ void k(float* x, int n) { S s = t[n & 3]; x[0] = s.a * s.b;\n\
         const S& r = t[n]; x[1] = r.a + __ldg(&t[n].a); }",
        "__device__ const int t[4] = {1, 2, 3, 4}; extern \"C\" __global__ void k(int* x, int n) {\n\
         memcpy(x, t, 16); int l[4]; memcpy(l, t, 16); x[4] = l[n & 3]; }",
    ];
    for source in sources {
        verdict(source).unwrap_or_else(|finding| panic!("{source}: {}", finding.message));
    }
}

#[test]
fn the_heap_is_refused() {
    for body in
        ["int* p = new int[n]; p[0] = n; x[0] = p[n - 1]; delete[] p;", "x[0] = *(int*)malloc(n);"]
    {
        let source = format!("extern \"C\" __global__ void k(int* x, int n) {{ {body} }}");
        let message = verdict(&source).expect_err(body).message;
        assert!(message.contains("heap"), "{body}: {message}");
    }
}

#[test]
fn textures_without_a_declaration_are_refused() {
    let body = "float v; asm volatile(\"{.reg .f32 a, b, c; tex.1d.v4.f32.s32 {%0, a, b, c}, [%1, {%2}];}\" \
                : \"=f\"(v) : \"l\"(1ull), \"r\"(3)); x[0] = v;";
    let source = format!("\nextern \"C\" __global__ void k(float* x) {{\n{body}\n}}");
    let finding = verdict(&source).expect_err("a texture");
    assert!(finding.message.contains("texture"), "{}", finding.message);
    assert_eq!(finding.span.map(|span| span.line), Some(3));
}

#[test]
fn registers_that_tell_where_a_kernel_runs_are_refused() {
    let reads =
        ["clock", "clock64", "globaltimer_lo", "smid", "nsmid", "gridid", "warpid", "nwarpid"].map(
            |name| {
                format!(
                    "unsigned r; asm volatile(\"{{ .reg .b64 t; mov.b64 t, 0; mov.u32 %0, \
                             %%{}; }}\" : \"=r\"(r)); x[0] = r;",
                    name.replace("clock64", "clock_hi")
                )
            },
        );
    let others =
        ["x[0] = clock64();", "unsigned r; asm(\"mov.u32 %0, %%envreg1;\" : \"=r\"(r)); x[0] = r;"];
    for body in reads.iter().map(String::as_str).chain(others) {
        let source = format!("\nextern \"C\" __global__ void k(long long* x) {{\n{body}\n}}");
        let finding = verdict(&source).expect_err(body);
        assert!(finding.message.contains("tells where and when"), "{body}: {}", finding.message);
        assert_eq!(finding.span.map(|span| span.line), Some(3), "{body}");
    }
}

#[test]
fn what_headers_read_for_honest_kernels_is_allowed() {
    let sources = [
        "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n\
         namespace cg = cooperative_groups; extern \"C\" __global__ void k(float* x) {\n\
         cg::this_grid().sync(); auto b = cg::this_thread_block(); auto t = cg::tiled_partition<32>(b);\n\
         x[t.thread_rank()] = cg::reduce(t, x[0], cg::plus<float>()); }",
        "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n\
         extern \"C\" __global__ void k(float* x) { __shared__ cg::block_tile_memory<256> m;\n\
         auto t = cg::tiled_partition<128>(cg::this_thread_block(m)); t.sync(); x[t.thread_rank()] = 1; }",
        "#include <cuda/barrier>\nextern \"C\" __global__ void k(float* x) {\n\
         __shared__ cuda::barrier<cuda::thread_scope_block> b; if (threadIdx.x == 0) init(&b, blockDim.x);\n\
         __syncthreads(); b.arrive_and_wait(); x[0] = 1; }",
        "#include <cuda/pipeline>\n#include <cooperative_groups.h>\nextern \"C\" __global__ void k(float* x) {\n\
         __shared__ float s[256]; __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> t;\n\
         auto g = cooperative_groups::this_thread_block(); auto p = cuda::make_pipeline(g, &t);\n\
         p.producer_acquire(); cuda::memcpy_async(g, s, x, cuda::aligned_size_t<4>(1024), p);\n\
         p.producer_commit(); p.consumer_wait(); x[0] = s[threadIdx.x]; p.consumer_release(); }",
        "#include <cuda/atomic>\nextern \"C\" __global__ void k(int* x) {\n\
         cuda::atomic_ref<int, cuda::thread_scope_device> a(*x); a.fetch_add(1); a.wait(3); x[1] = 1; }",
    ];
    for source in sources {
        verdict(source).unwrap_or_else(|finding| panic!("{source}: {}", finding.message));
    }
}

#[test]
fn amounts_that_no_kernel_needs_are_refused() {
    let cases = [
        (
            "__device__ int t[1 << 28]; extern \"C\" __global__ void k(int* x) { x[0] = t[x[1]]; }",
            "1073741824 bytes",
        ),
        (
            "extern \"C\" __global__ void k(int* x) { asm volatile(\"{ .reg .b32 q<1000000>; }\"); }",
            "registers",
        ),
    ];
    for (source, part) in cases {
        let message = verdict(source).expect_err(source).message;
        assert!(message.contains(part), "{source}: {message}");
    }
}

#[test]
fn bulk_copies_and_maps_reach_no_variable_of_the_module() {
    let head =
        "#include <kg/hopper.cuh>\n__device__ float state[64]; __device__ CUtensorMap map;\n";
    let kernels = [
        "kg::bulk_store(state, tile, 256);",
        "asm volatile(\"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 256;\"\
         :: \"l\"(state), \"r\"(kg::smem_address(tile)));",
        "kg::tma_store(&map, tile, 0);",
        "asm volatile(\"tensormap.replace.tile.rank.global.b1024.b32 [%0], 1;\" :: \"l\"(&map));",
        "map = m;",
    ];
    for kernel in kernels {
        let source = format!(
            "{head}extern \"C\" __global__ void k(const __grid_constant__ CUtensorMap m) {{\n\
             __shared__ alignas(128) float tile[64]; {kernel} }}"
        );
        let finding = verdict(&source).expect_err(kernel);
        assert!(finding.message.contains("variable"), "{kernel}: {}", finding.message);
    }
}

#[test]
fn instructions_for_sm_90a_are_no_state() {
    let kernels = [
        "kg::tma_load(tile, &m, &bar, 0, 0); kg::tma_store(&m, tile, 0, 0); kg::bulk_commit();",
        "kg::registers_dec<40>(); kg::dependency_wait(); kg::launch_dependents();",
        "kg::fence_async(); kg::cluster_sync(); x[0] = kg::cluster_rank() + kg::elect_one();",
        "float d[4] = {}; kg::wgmma<kg::mma::bf16, 8>(d, kg::wgmma_descriptor<128>(tile), kg::wgmma_descriptor<128>(tile));\
         kg::wgmma_commit(); kg::wgmma_wait<0>(); x[threadIdx.x] = d[0];",
        "asm volatile(\"fence.proxy.tensormap::generic.acquire.gpu [%0], 128;\" :: \"l\"(x));",
    ];
    for kernel in kernels {
        let source = format!(
            "#include <kg/hopper.cuh>\nextern \"C\" __global__ void __launch_bounds__(128, 1)\n\
             k(const __grid_constant__ CUtensorMap m, float* x) {{\n\
             __shared__ alignas(1024) float tile[64]; __shared__ alignas(8) uint64_t bar; {kernel} }}"
        );
        verdict(&source).unwrap_or_else(|finding| panic!("{kernel}: {}", finding.message));
    }
}

#[test]
fn constants_that_nobody_uses_and_labels_of_asm_blocks_are_no_state() {
    // As CuTe leaves them behind: a variable per trait, and the same labels in each inlined wait.
    let constants: String =
        (0..900).map(|index| format!("inline constexpr int v{index} = {index};\n")).collect();
    let source = format!(
        "{constants}#include <kg/hopper.cuh>\n__device__ __forceinline__ void wait(uint64_t* bar, uint32_t parity) {{\n\
         asm volatile(\"{{ .reg .pred P1; LAB_WAIT: mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\"\n\
         \"@P1 bra DONE; bra LAB_WAIT; DONE: }}\" :: \"r\"(kg::smem_address(bar)), \"r\"(parity)); }}\n\
         extern \"C\" __global__ void k(const __grid_constant__ CUtensorMap m, float* x) {{\n\
         __shared__ alignas(128) float tile[64]; __shared__ alignas(8) uint64_t bar[2];\n\
         asm volatile(\"cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint\"\n\
         \" [%0], [%1, {{%3}}], [%2], %4;\" :: \"r\"(kg::smem_address(tile)), \"l\"(&m),\n\
         \"r\"(kg::smem_address(bar)), \"r\"(0), \"l\"(0x12f0000000000000ull));\n\
         wait(bar, 0); wait(bar + 1, 0); x[0] = tile[1]; }}"
    );
    let compiled = compile(&source, &["k"], DType::F32);
    assert_eq!(compiled.ptx.matches("LAB_WAIT:").count(), 2);
    assert!(compiled.ptx.matches("\n.global").count() >= 900, "{}", compiled.ptx.len());
    guard_ptx(&compiled).unwrap_or_else(|finding| panic!("{}", finding.message));
}
