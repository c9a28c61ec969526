// Baseline of masked_scatter: one block numbers the places of the mask, then a thread per output element.
/*@plan
x = expand(self, out.shape)
chosen = expand(mask, out.shape)
y = contiguous(source)
n = out.numel
number = scratch(8 * max(1, n))
launch("number_places", grid=1, block=256, args=[chosen, number, n])
launch("masked_scatter", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[x, chosen, y, number, out, n])
@*/

// The number of chosen places before each: a thread counts a run, and adds those of the runs before.
extern "C" __global__ void __launch_bounds__(256)
number_places(const T_mask* __restrict__ mask, long long* __restrict__ number, long long n) {
    __shared__ long long counts[256];
    const long long run = (n + 255) / 256;
    const long long first = threadIdx.x * run;
    const long long end = min(first + run, n);
    long long count = 0;
    for (long long i = first; i < end; ++i) {
        count += mask[i];
    }
    counts[threadIdx.x] = count;
    __syncthreads();
    long long before = 0;
    for (int k = 0; k < threadIdx.x; ++k) {
        before += counts[k];
    }
    for (long long i = first; i < end; ++i) {
        number[i] = before;
        before += mask[i];
    }
}

extern "C" __global__ void __launch_bounds__(256)
masked_scatter(const T_self* __restrict__ x, const T_mask* __restrict__ mask,
               const T_source* __restrict__ y, const long long* __restrict__ number,
               T_out* __restrict__ out, long long n) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        out[i] = mask[i] ? y[number[i]] : x[i];
    }
}
