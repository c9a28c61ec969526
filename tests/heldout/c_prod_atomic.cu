/*@plan
@PLAN@
splits = max(cdiv(k, 64), 1)
sums = scratch(max(b * m * n, 1) * 4, zero=True)
launch("parts", grid=cdiv(b * m * n * splits, 128), block=128, args=[a, w, c, out, b, m, n, k, tw, al, be, sums, splits])
launch("total", grid=cdiv(b * m * n, 128), block=128, args=[a, w, c, out, b, m, n, k, tw, al, be, sums])
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

// 64 terms of an output per thread, added up by atomics.
extern "C" __global__ void parts(const T_@A@* a, const T_@W@* w, const T_@C@* c, T_out* out,
        long long batch, long long m, long long n, long long k, int tw, float alpha, float beta,
        float* sums, long long splits) {
    const long long t = blockIdx.x * 128ll + threadIdx.x;
    if (t >= batch * m * n * splits) {
        return;
    }
    const long long i = t / splits;
    const long long col = i % n;
    const long long row = i / n % m;
    const long long z = i / n / m;
    const long long from = t % splits * 64;
    float sum = 0;
    for (long long l = from; l < min(from + 64, k); ++l) {
        sum = fmaf(kg::to_float(a[(z * m + row) * k + l]), kg::to_float(w[z * k * n + (tw ? col * k + l : l * n + col)]), sum);
    }
    atomicAdd(&sums[i], sum);
}

extern "C" __global__ void total(const T_@A@* a, const T_@W@* w, const T_@C@* c, T_out* out,
        long long batch, long long m, long long n, long long k, int tw, float alpha, float beta,
        const float* sums) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i < batch * m * n) {
        out[i] = kg::from_float<T_out>(finish(sums[i], c, i, k, alpha, beta));
    }
}
