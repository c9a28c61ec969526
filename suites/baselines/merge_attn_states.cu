// Baseline of merge_attn_states: one thread per element; the first of a head also writes its lse.
/*@plan
a = contiguous(prefix_output)
b = contiguous(suffix_output)
p = contiguous(prefix_lse)
s = contiguous(suffix_lse)
tokens, heads, d = prefix_output.shape
launch("merge_attn_states", grid=min(cdiv(out0.numel, 256), 16 * sm_count), block=256,
       args=[a, p, b, s, out0, out0.numel, tokens, max(1, heads), max(1, d)])
launch("merge_lse", grid=min(cdiv(out1.numel, 256), 16 * sm_count), block=256,
       args=[p, s, out1, out1.numel])
@*/

// An infinite lse of either sign is that of no keys.
__device__ __forceinline__ float of_keys(float lse) {
    return isinf(lse) ? -INFINITY : lse;
}

extern "C" __global__ void __launch_bounds__(256)
merge_attn_states(const T_prefix_output* __restrict__ a, const float* __restrict__ a_lse,
                  const T_suffix_output* __restrict__ b, const float* __restrict__ b_lse,
                  T_out0* __restrict__ out, long long n, long long tokens, long long heads,
                  long long d) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long at = i / d % heads * tokens + i / d / heads;
        const float p = of_keys(a_lse[at]);
        const float s = of_keys(b_lse[at]);
        const float most = fmaxf(p, s);
        if (p == -INFINITY && s == -INFINITY) {
            out[i] = a[i];
            continue;
        }
        const float first = expf(p - most);
        const float second = expf(s - most);
        const float total = first + second;
        const float merged =
            kg::to_float(a[i]) * (first / total) + kg::to_float(b[i]) * (second / total);
        out[i] = kg::from_float<T_out0>(merged);
    }
}

extern "C" __global__ void __launch_bounds__(256)
merge_lse(const float* __restrict__ a_lse, const float* __restrict__ b_lse,
          float* __restrict__ out, long long n) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const float p = of_keys(a_lse[i]);
        const float s = of_keys(b_lse[i]);
        const float most = fmaxf(p, s);
        out[i] = p == -INFINITY && s == -INFINITY ? p : logf(expf(p - most) + expf(s - most)) + most;
    }
}
