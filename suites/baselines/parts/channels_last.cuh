// Copies [batch, channels, points] to [batch, points, padded], whose further channels are 0.
template <class T>
__global__ void __launch_bounds__(256)
channels_last(const T* __restrict__ from, T* __restrict__ to, int n_batch, int channels, int padded,
              long long points) {
    struct alignas(8 * sizeof(T)) Chunk {
        T at[8];
    };
    struct alignas(4 * sizeof(T)) Four {
        T at[4];
    };
    __shared__ T tile[64][66];
    const long long p0 = static_cast<long long>(blockIdx.x) * 64;
    const int c0 = blockIdx.y * 64;
    const bool fours = points % 4 == 0 && reinterpret_cast<unsigned long long>(from) % sizeof(Four) == 0;
    const T zero = kg::from_float<T>(0.0f);
    for (int batch = blockIdx.z; batch < n_batch; batch += gridDim.z) {
        for (int i = threadIdx.x; i < 64 * 16; i += 256) {
            const int c = i / 16;
            const int p = i % 16 * 4;
            const T* row = from + (static_cast<long long>(batch) * channels + c0 + c) * points + p0;
            if (fours) {
                Four four = {{zero, zero, zero, zero}};
                if (c0 + c < channels && p0 + p < points) {
                    four = *reinterpret_cast<const Four*>(row + p);
                }
                for (int j = 0; j < 4; ++j) {
                    tile[c][p + j] = four.at[j];
                }
            } else {
                for (int j = 0; j < 4; ++j) {
                    const bool inside = c0 + c < channels && p0 + p + j < points;
                    tile[c][p + j] = inside ? row[p + j] : zero;
                }
            }
        }
        __syncthreads();
        for (int i = threadIdx.x; i < 64 * 8; i += 256) {
            const int p = i / 8;
            const int c = i % 8 * 8;
            if (c0 + c < padded && p0 + p < points) {
                Chunk chunk;
                for (int j = 0; j < 8; ++j) {
                    chunk.at[j] = tile[c + j][p];
                }
                T* row = to + (static_cast<long long>(batch) * points + p0 + p) * padded;
                *reinterpret_cast<Chunk*>(row + c0 + c) = chunk;
            }
        }
        __syncthreads();
    }
}
