#include "quads.cuh"

// Takes outputs of a tile: rows are channels, columns are points from the first one on of all images, or of
// one of them.
struct Points {
    const T_out* bias;
    T_out* out;
    int channels, points, row_end, row0;  // channels of all groups
    long long first, end;

    __device__ __forceinline__ T_out value(int row, float sum) const {
        return kg::from_acc<T_out>(bias ? sum + kg::to_float(bias[row]) : sum);
    }

    __device__ __forceinline__ T_out* at(int row, long long column) const {
        return out + (column / points * channels + row) * points + column % points;
    }

    __device__ __forceinline__ void operator()(int row, int column, const float* sums) const {
        row += row0;
        const int lane = threadIdx.x % 4;
        if (points % 8 != 0) {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const long long to = first + column + j * 8 + lane * 2;
                if (row < row_end && to < end) {
                    *at(row, to) = value(row, sums[j * 4]);
                }
                if (row < row_end && to + 1 < end) {
                    *at(row, to + 1) = value(row, sums[j * 4 + 1]);
                }
            }
            return;
        }
        const float offset = bias && row < row_end ? kg::to_float(bias[row]) : 0.0f;
        unsigned own[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            own[j] = packed<T_out>(sums[j * 4] + offset, sums[j * 4 + 1] + offset);
        }
        // Eight neighbours are of one image.
        const Sixteen eight = eight_columns(own);
        const long long to = first + column + lane * 8;
        if (row < row_end && to < end) {
            *reinterpret_cast<Sixteen*>(at(row, to)) = eight;
        }
    }
};
