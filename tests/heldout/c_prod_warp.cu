/*@plan
@PLAN@
launch("product", grid=cdiv(b * m * n, 4), block=128, args=[a, w, c, out, b, m, n, k, tw, al, be])
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

// A warp per output.
extern "C" __global__ void product(const T_@A@* a, const T_@W@* w, const T_@C@* c, T_out* out,
        long long batch, long long m, long long n, long long k, int tw, float alpha, float beta) {
    const long long i = blockIdx.x * 4ll + threadIdx.x / 32;
    if (i >= batch * m * n) {
        return;
    }
    const int lane = threadIdx.x % 32;
    const long long col = i % n;
    const long long row = i / n % m;
    const long long z = i / n / m;
    float sum = 0;
    for (long long l = lane; l < k; l += 32) {
        sum = fmaf(kg::to_float(a[(z * m + row) * k + l]), kg::to_float(w[z * k * n + (tw ? col * k + l : l * n + col)]), sum);
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(~0u, sum, distance);
    }
    if (lane == 0) {
        out[i] = kg::from_float<T_out>(finish(sum, c, i, k, alpha, beta));
    }
}
