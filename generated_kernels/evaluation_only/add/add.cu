// add: out = self + alpha * other, with broadcasting.
//
// `expand` makes a contiguous copy of a broadcast or strided input and returns a contiguous one of
// the right shape as it is. The copy's time counts, so this is the simple way, not the fast one:
// suites/baselines/add.cu reads broadcast inputs in place.
/*@plan
a = expand(self, out.shape)
b = expand(other, out.shape)
n = out.numel
launch("add", grid=cdiv(n, 256), block=256, args=[a, b, out, alpha, n])
@*/

extern "C" __global__ void add(const T_self* __restrict__ a, const T_other* __restrict__ b,
                               T_out* __restrict__ out, float alpha, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) {
        out[i] = kg::from_float<T_out>(fmaf(alpha, kg::to_float(b[i]), kg::to_float(a[i])));
    }
}
