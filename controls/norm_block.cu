/*@plan
x = contiguous(input)
w = contiguous(weight)
@PLAN@
len_ = 1
for extent in normalized_shape:
    len_ *= extent
n = x.numel // max(len_, 1)
define("ACC", "double" if x.dtype == "f64" else "float")
launch("normalise", grid=n, block=64, args=[x, w, @ARGS@out, n, len_, eps])
@*/

// Adds over a block.
__device__ ACC add_up(ACC value) {
    __shared__ ACC tree[64];
    const int t = threadIdx.x;
    tree[t] = value;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (t < half) {
            tree[t] += tree[t + half];
        }
        __syncthreads();
    }
    const ACC total = tree[0];
    __syncthreads();
    return total;
}

// A block per row.
extern "C" __global__ void normalise(const T_input* in, const T_weight* w, @PARAMS@T_out* out, long long n, int len, ACC eps) {
    const T_input* x = in + blockIdx.x * static_cast<long long>(len);
    ACC part = 0;
    for (int i = threadIdx.x; i < len; i += 64) {
        part += static_cast<ACC>(x[i]);
    }
    const ACC mean = add_up(part) / len;
    ACC squares = 0;
    for (int i = threadIdx.x; i < len; i += 64) {
        const ACC d = static_cast<ACC>(x[i])@CENTRE@;
        squares += d * d;
    }
    const ACC variance = add_up(squares) / len;
    const ACC scale = 1 / sqrt(variance + eps);
    for (int k = threadIdx.x; k < len; k += 64) {
        const ACC d = static_cast<ACC>(x[k])@CENTRE@;
        const ACC gain = w != nullptr ? static_cast<ACC>(w[k]) : ACC(1);
        const ACC y = d * scale * gain@SHIFT@;
        out[blockIdx.x * static_cast<long long>(len) + k] = static_cast<T_out>(y);
    }
}
