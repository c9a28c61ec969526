/*@plan
x = contiguous(self)
t = contiguous(target)
w = contiguous(weight) if has(weight) else weight
by_class = define("BY_CLASS", 1 if target.dtype == "i64" else 0)
classes = self.shape[0] if self.ndim == 1 else self.shape[1]
area = 1
for i in range(2, self.ndim):
    area *= self.shape[i]
rows = self.numel // max(classes, 1)
losses = scratch(max(rows, 1) * 4)
weights = scratch(max(rows, 1) * 4)
launch("row", grid=rows, block=64, args=[x, t, w, losses, weights, classes, area, ignore_index, f32(label_smoothing)])
if reduction == 0:
    launch("store", grid=cdiv(rows, 128), block=128, args=[losses, out, rows])
else:
    launch("fold", grid=1, block=256, args=[losses, weights, out, rows, reduction])
@*/

__device__ float larger(float a, float b) { return a != a ? a : b != b ? b : fmaxf(a, b); }

// A block per row.
extern "C" __global__ void row(const T_self* __restrict__ logits, const T_target* __restrict__ targets, const T_weight* __restrict__ w,
                               float* __restrict__ losses, float* __restrict__ weights, long long classes, long long area, long long ignore, float smoothing) {
    __shared__ float tree[64];
    const int t = threadIdx.x;
    const long long i = blockIdx.x;
    const long long base = i / area * classes * area + i % area;
    const T_self* x = logits + base;
    float top = -INFINITY;
    for (long long j = t; j < classes; j += 64) {
        top = larger(top, kg::to_float(x[j * area]));
    }
    tree[t] = top;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (t < half) {
            tree[t] = larger(tree[t], tree[t + half]);
        }
        __syncthreads();
    }
    top = tree[0];
    __syncthreads();
    float sum = 0.0f;
    for (long long j = t; j < classes; j += 64) {
        sum += expf(kg::to_float(x[j * area]) - top);
    }
    tree[t] = sum;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (t < half) {
            tree[t] += tree[t + half];
        }
        __syncthreads();
    }
    const float log_sum = logf(tree[0]);
    __syncthreads();
    const float even = smoothing / static_cast<float>(classes);
    float smooth = 0.0f;
#if BY_CLASS
    if (smoothing != 0.0f) {
        for (long long j = t; j < classes; j += 64) {
            const float factor = w != nullptr ? kg::to_float(w[j]) : 1.0f;
            smooth += factor * (kg::to_float(x[j * area]) - top - log_sum);
        }
    }
#else
    for (long long j = t; j < classes; j += 64) {
        const float factor = w != nullptr ? kg::to_float(w[j]) : 1.0f;
        smooth += factor * ((1.0f - smoothing) * kg::to_float(targets[base + j * area]) + even) * (kg::to_float(x[j * area]) - top - log_sum);
    }
#endif
    tree[t] = smooth;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (t < half) {
            tree[t] += tree[t + half];
        }
        __syncthreads();
    }
    if (t != 0) {
        return;
    }
#if BY_CLASS
    const long long c = targets[i];
    if (c == ignore) {
        losses[i] = 0.0f;
        weights[i] = 0.0f;
        return;
    }
    const float factor = w != nullptr ? kg::to_float(w[c]) : 1.0f;
    float loss = -(1.0f - smoothing) * factor * (kg::to_float(x[c * area]) - top - log_sum);
    if (smoothing != 0.0f) {
        loss -= even * tree[0];
    }
    losses[i] = loss;
    weights[i] = factor;
#else
    losses[i] = -tree[0];
    weights[i] = 1.0f;
#endif
}

extern "C" __global__ void store(const float* __restrict__ losses, T_out* __restrict__ out, long long rows) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i < rows) {
        out[i] = kg::from_float<T_out>(losses[i]);
    }
}

extern "C" __global__ void fold(const float* __restrict__ losses, const float* __restrict__ weights, T_out* __restrict__ out, long long rows, int reduction) {
    __shared__ float tree[256];
    __shared__ float tree_of_weights[256];
    const int t = threadIdx.x;
    float sum = 0.0f;
    float all = 0.0f;
    for (long long i = t; i < rows; i += 256) {
        sum += losses[i];
        all += weights[i];
    }
    tree[t] = sum;
    tree_of_weights[t] = all;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (t < half) {
            tree[t] += tree[t + half];
            tree_of_weights[t] += tree_of_weights[t + half];
        }
        __syncthreads();
    }
    if (t == 0) {
        out[0] = kg::from_float<T_out>(reduction == 1 ? tree[0] / tree_of_weights[0] : tree[0]);
    }
}
