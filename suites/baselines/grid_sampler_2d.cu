// Baseline of grid_sampler_2d: a thread per output element.
/*@plan
x = contiguous(input)
g = contiguous(grid)
define("NEAREST", interpolation_mode == 1)
define("BICUBIC", interpolation_mode == 2)
launch("grid_sampler_2d", grid=cdiv(out.numel, 256), block=256,
       args=[x, g, out, out.numel, x.shape[1], x.shape[2], x.shape[3], out.shape[2] * out.shape[3],
             padding_mode, align_corners])
@*/

__device__ float mirrored(float place, float low, float high) {
    const float span = high - low;
    if (span == 0.0f) {
        return 0.0f;
    }
    const float away = fabsf(place - low);
    const float rest = fmodf(away, span);
    const float turns = floorf(away / span);
    return fmodf(turns, 2.0f) == 0.0f ? rest + low : span - rest + low;
}

// A place in the image, or one outside of it.
__device__ float padded(float place, int extent, int padding, bool corners) {
    if (padding == 2) {
        place = corners ? mirrored(place, 0.0f, extent - 1) : mirrored(place, -0.5f, extent - 0.5f);
    }
    if (padding != 0) {
        place = fminf(extent - 1, fmaxf(place, 0.0f));
    }
    return fabsf(place) < 2147483647.0f ? place : -100.0f;
}

__device__ float place_of(float coordinate, int extent, bool corners) {
    return corners ? (coordinate + 1.0f) / 2.0f * (extent - 1)
                   : ((coordinate + 1.0f) * extent - 1.0f) / 2.0f;
}

__device__ float near(float x) { return ((-0.75f + 2.0f) * x - (-0.75f + 3.0f)) * x * x + 1.0f; }
__device__ float far(float x) { return ((-0.75f * x + 3.75f) * x - 6.0f) * x + 3.0f; }

// The neighbours of a place along a dimension and their weights.
struct Taps {
    int count;
    float at[4], weight[4];

    __device__ Taps(float coordinate, int extent, int padding, bool corners) {
        float place = place_of(coordinate, extent, corners);
        if (BICUBIC) {
            const float first = floorf(place);
            const float away = place - first;
            count = 4;
            weight[0] = far(away + 1.0f);
            weight[1] = near(away);
            weight[2] = near(1.0f - away);
            weight[3] = far(2.0f - away);
            for (int i = 0; i < 4; ++i) {
                at[i] = padded(first - 1.0f + i, extent, padding, corners);
            }
            return;
        }
        place = padded(place, extent, padding, corners);
        const float low = NEAREST ? rintf(place) : floorf(place);
        count = NEAREST ? 1 : 2;
        at[0] = low;
        at[1] = low + 1.0f;
        weight[0] = NEAREST ? 1.0f : low + 1.0f - place;
        weight[1] = place - low;
    }
};

extern "C" __global__ void grid_sampler_2d(const T_input* __restrict__ input,
                                           const T_grid* __restrict__ grid,
                                           T_out* __restrict__ out, long long n, int channels,
                                           int height, int width, long long area,
                                           int padding, bool corners) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const long long plane = i / area;
    const long long at = (plane / channels * area + i % area) * 2;
    const T_input* image = input + plane * height * width;
    const Taps columns(kg::to_float(grid[at]), width, padding, corners);
    const Taps rows(kg::to_float(grid[at + 1]), height, padding, corners);
    float sum = 0.0f;
    for (int r = 0; r < rows.count; ++r) {
        for (int c = 0; c < columns.count; ++c) {
            const int y = rows.at[r];
            const int x = columns.at[c];
            if (y >= 0 && y < height && x >= 0 && x < width) {
                sum += kg::to_float(image[y * width + x]) * rows.weight[r] * columns.weight[c];
            }
        }
    }
    out[i] = kg::from_float<T_out>(sum);
}
