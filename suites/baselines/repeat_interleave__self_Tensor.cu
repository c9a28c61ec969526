// Baseline of repeat_interleave.self_Tensor: one block adds up the counts, then a thread per output element.
/*@plan
x = contiguous(self)
r = contiguous(repeats)
extent, inner, length = x.numel, 1, out.numel
if dim != None:
    at = dim if dim >= 0 else dim + x.ndim
    extent = x.shape[at]
    length = out.shape[at]
    for i in range(x.ndim):
        if i > at:
            inner *= x.shape[i]
n = out.numel
ends = scratch(8 * max(1, extent))
if n > 0:
    launch("number_ends", grid=1, block=256, args=[r, ends, extent, r.numel != extent])
    launch("repeat_places", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
           args=[x, ends, out, n, extent, inner, length])
@*/

// The end of each place's run: a thread counts some places, and adds the counts of those before.
extern "C" __global__ void __launch_bounds__(256)
number_ends(const T_repeats* __restrict__ repeats, long long* __restrict__ ends, long long extent, bool one) {
    __shared__ long long counts[256];
    const long long run = (extent + 255) / 256;
    const long long first = threadIdx.x * run;
    const long long last = min(first + run, extent);
    long long count = 0;
    for (long long i = first; i < last; ++i) {
        count += repeats[one ? 0 : i];
    }
    counts[threadIdx.x] = count;
    __syncthreads();
    long long end = 0;
    for (int k = 0; k < threadIdx.x; ++k) {
        end += counts[k];
    }
    for (long long i = first; i < last; ++i) {
        end += repeats[one ? 0 : i];
        ends[i] = end;
    }
}

// The place whose run a place of the result is in.
__device__ long long repeated(const long long* __restrict__ ends, long long extent, long long place) {
    long long from = 0, to = extent;
    while (from < to) {
        const long long middle = (from + to) / 2;
        if (ends[middle] <= place) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

extern "C" __global__ void __launch_bounds__(256)
repeat_places(const T_self* __restrict__ x, const long long* __restrict__ ends, T_out* __restrict__ out,
              long long n, long long extent, long long inner, long long length) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
        const long long place = repeated(ends, extent, i / inner % length);
        out[i] = x[(i / inner / length * extent + place) * inner + i % inner];
    }
}
