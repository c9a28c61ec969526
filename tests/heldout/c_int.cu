/*@plan
x = contiguous(self)
n = x.numel
launch("map", grid=min(cdiv(n, 128), 8 * sm_count), block=128, args=[x, out, n])
@*/

// One input of integers or bool.
extern "C" __global__ void map(const T_self* __restrict__ in, T_out* __restrict__ out, long long n) {
    for (long long i = blockIdx.x * 128ll + threadIdx.x; i < n; i += 128ll * gridDim.x) {
        const long long x = kg::to_acc(in[i]);
        out[i] = static_cast<T_out>(@F@);
    }
}
