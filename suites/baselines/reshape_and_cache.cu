// Baseline of reshape_and_cache: the caches are copied, then a thread writes each element.
/*@plan
k = contiguous(key)
v = contiguous(value)
slots = contiguous(slot_mapping)
old_keys = contiguous(key_cache)
old_values = contiguous(value_cache)
heads = key_cache.shape[1]
x = key_cache.shape[4]
d = key_cache.shape[2] * x
size = key_cache.shape[3]
n = slots.numel * heads * d
launch("copy", grid=min(cdiv(out0.numel, 256), 16 * sm_count), block=256,
       args=[old_keys, old_values, out0, out1, out0.numel])
launch("reshape_and_cache", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[k, v, slots, out0, out1, n, max(1, heads), max(1, d), max(1, size), max(1, x)])
@*/

// The caches as they are.
extern "C" __global__ void __launch_bounds__(256)
copy(const T_key_cache* __restrict__ keys, const T_value_cache* __restrict__ values,
     T_out0* __restrict__ new_keys, T_out1* __restrict__ new_values, long long n) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        new_keys[i] = keys[i];
        new_values[i] = values[i];
    }
}

extern "C" __global__ void __launch_bounds__(256)
reshape_and_cache(const T_key* __restrict__ keys, const T_value* __restrict__ values,
                  const long long* __restrict__ slots, T_out0* __restrict__ new_keys,
                  T_out1* __restrict__ new_values, long long n, long long heads,
                  long long d, long long size, long long x) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long slot = slots[i / (heads * d)];
        if (slot < 0) {
            continue;
        }
        const long long block = slot / size;
        const long long place = slot % size;
        const long long head = i / d % heads;
        const long long at = i % d;
        const long long row = block * heads + head;
        new_keys[((row * (d / x) + at / x) * size + place) * x + at % x] = keys[i];
        new_values[(row * d + at) * size + place] = values[i];
    }
}
