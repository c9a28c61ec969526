/*@plan
x = contiguous(self)
t = contiguous(target)
w = contiguous(weight) if has(weight) else weight
classes = self.shape[-1]
rows = t.numel
single = 1 if self.ndim == 1 else 0
launch("nll", grid=1, block=256, args=[x, t, w, out0, out1, rows, classes, reduction, ignore_index, single])
@*/

// One block does it all.
extern "C" __global__ void nll(const T_self* __restrict__ x, const long long* __restrict__ target, const T_weight* __restrict__ w,
                               T_out0* __restrict__ out, T_out1* __restrict__ total_out, long long rows, long long classes, int reduction, long long ignore, int single) {
    __shared__ float losses[256];
    __shared__ float weights[256];
    float loss_sum = 0.0f;
    float weight_sum = 0.0f;
    for (long long i = threadIdx.x; i < rows; i += 256) {
        const long long t = target[i];
        float loss = 0.0f;
        if (t != ignore) {
            const float factor = w != nullptr ? kg::to_float(w[t]) : 1.0f;
            loss = -factor * kg::to_float(x[i * classes + t]);
            weight_sum += factor;
        }
        loss_sum += loss;
        if (reduction == 0) {
            out[i] = kg::from_float<T_out0>(loss);
        }
    }
    losses[threadIdx.x] = loss_sum;
    weights[threadIdx.x] = weight_sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            losses[threadIdx.x] += losses[threadIdx.x + half];
            weights[threadIdx.x] += weights[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        const float total = weights[0];
        if (reduction != 0) {
            out[0] = kg::from_float<T_out0>(reduction == 1 ? losses[0] / total : losses[0]);
        }
        total_out[0] = kg::from_float<T_out1>(reduction == 0 && !single ? 0.0f : total);
    }
}
