/*@plan
@PLAN@
launch("product", grid=cdiv(out.numel, 256), block=256, args=[a, b, @ARGS@out, out.numel, m, n, k@NUMBERS@])
@*/

// alpha * product + beta * addend; a factor of 0 leaves its part out, NaN included.
__device__ float blend(float alpha, float product, float beta, float addend) {
    float value = alpha == 0.0f ? 0.0f : alpha * product;
    if (beta != 0.0f) {
        value = fmaf(beta, addend, value);
    }
    return value;
}

// A thread per element, its products summed in order in f32.
extern "C" __global__ void product(const T_@FIRST@* __restrict__ a, const T_@SECOND@* __restrict__ b, @PARAMS@
                                   T_out* __restrict__ out, long long count, int m, int n, int k@SCALARS@) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const T_@FIRST@* x = a + i / n * k;
    const T_@SECOND@* y = b + @COLUMN@;
    float sum = 0.0f;
    for (int l = 0; l < k; ++l) {
        sum = fmaf(kg::to_float(x[l]), kg::to_float(y[@STEP@]), sum);
    }
    @FINISH@
    out[i] = kg::from_float<T_out>(@RESULT@);
}
