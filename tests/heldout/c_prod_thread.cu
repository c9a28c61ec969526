/*@plan
@PLAN@
launch("product", grid=cdiv(b * m * n, 128), block=128, args=[a, w, c, out, b, m, n, k, tw, al, be])
@*/

// alpha * product + beta * c; what has the factor 0 is not looked at.
__device__ float finish(float sum, const T_@C@* c, long long i, long long k, float alpha, float beta) {
    const bool adds = c != nullptr && beta != 0;
    const float added = adds ? beta * kg::to_float(c[i]) : 0.0f;
    if (alpha == 0 || k == 0) {
        return added;
    }
    return adds ? fmaf(alpha, sum, added) : alpha * sum;
}

// A thread per output.
extern "C" __global__ void product(const T_@A@* a, const T_@W@* w, const T_@C@* c, T_out* out,
        long long batch, long long m, long long n, long long k, int tw, float alpha, float beta) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= batch * m * n) {
        return;
    }
    const long long col = i % n;
    const long long row = i / n % m;
    const long long z = i / n / m;
    const T_@A@* x = a + (z * m + row) * k;
    const T_@W@* y = w + z * k * n + (tw ? col * k : col);
    const long long step = tw ? 1 : n;
    float sum = 0;
    for (long long l = 0; l < k; ++l) {
        const float left = kg::to_float(x[l]);
        const float right = kg::to_float(y[l * step]);
        sum = fmaf(left, right, sum);
    }
    const float result = finish(sum, c, i, k, alpha, beta);
    out[i] = kg::from_float<T_out>(result);
}
