/*@plan
@PLAN@
launch("tile", grid=b * cdiv(m, 16) * cdiv(n, 16), block=256, args=[a, w, c, out, b, m, n, k, tw, al, be])
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

// A block per 16 by 16 outputs, both factors through shared memory.
extern "C" __global__ void __launch_bounds__(256) tile(const T_@A@* a, const T_@W@* w, const T_@C@* c, T_out* out,
        long long batch, long long m, long long n, long long k, int tw, float alpha, float beta) {
    __shared__ float as[16][17];
    __shared__ float ws[16][17];
    const int tx = threadIdx.x % 16;
    const int ty = threadIdx.x / 16;
    const long long across = (n + 15) / 16;
    const long long down = (m + 15) / 16;
    const long long z = blockIdx.x / (across * down);
    const long long row = blockIdx.x / across % down * 16 + ty;
    const long long col = blockIdx.x % across * 16 + tx;
    float sum = 0;
    for (long long k0 = 0; k0 < k; k0 += 16) {
        float left = 0;
        float right = 0;
        if (row < m && k0 + tx < k) {
            left = kg::to_float(a[(z * m + row) * k + k0 + tx]);
        }
        if (k0 + ty < k && col < n) {
            right = kg::to_float(w[z * k * n + (tw ? col * k + k0 + ty : (k0 + ty) * n + col)]);
        }
        as[ty][tx] = left;
        ws[ty][tx] = right;
        __syncthreads();  // the tiles are full
        for (int l = 0; l < 16; ++l) {
            sum = fmaf(as[ty][l], ws[l][tx], sum);
        }
        __syncthreads();  // the tiles are used
    }
    if (row < m && col < n) {
        const long long i = (z * m + row) * n + col;
        out[i] = kg::from_float<T_out>(finish(sum, c, i, k, alpha, beta));
    }
}
