#include "quads.cuh"

// Takes elements of a tile: rows are channels, columns are points from the first one on of all images, or of
// one of them. `T` is that of the outputs, or float for sums. EIGHTS: there are multiples of eight points.
template <class T, bool EIGHTS = false>
struct Points {
    const T_out* bias;
    T* out;  // of the image of the first point
    int channels, points, row_end, row0;  // channels of all groups
    int first, end;                       // counted from that image's first point

    __device__ __forceinline__ Points(const T_out* bias, T* all, int channels, int points, int row_end, int row0,
                                      long long begin, long long behind)
        : bias(bias), channels(channels), points(points), row_end(row_end), row0(row0) {
        const long long image = begin / points;
        out = all + image * channels * points;
        first = begin - image * points;
        end = min(behind - image * points, 0x7fffffffll);
    }

    __device__ __forceinline__ void operator()(int row, int column, const float* sums) const {
        row += row0;
        const float offset = bias && row < row_end ? kg::to_float(bias[row]) : 0.0f;
        if constexpr (sizeof(T) > 2) {
            pairs(row, first + column, sums, offset);
        } else if constexpr (EIGHTS) {
            eights(row, first + column, sums, offset);
        } else if (points % 8 == 0) {
            eights(row, first + column, sums, offset);
        } else {
            pairs(row, first + column, sums, offset);
        }
    }

    // Eight neighbours are of one image.
    __device__ __forceinline__ void eights(int row, int point, const float* sums, float offset) const {
        unsigned own[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            own[j] = packed<T>(sums[j * 4] + offset, sums[j * 4 + 1] + offset);
        }
        const Sixteen eight = eight_columns(own);
        point += threadIdx.x % 4 * 8;
        if (row < row_end && point < end) {
            *reinterpret_cast<Sixteen*>(at(row, point)) = eight;
        }
    }

    __device__ __forceinline__ void pairs(int row, int point, const float* sums, float offset) const {
        struct alignas(2 * sizeof(T)) Two {
            T x, y;
        };
        point += threadIdx.x % 4 * 2;
#pragma unroll
        for (int j = 0; j < 4; ++j, point += 8) {
            if (row >= row_end || point >= end) {
                break;
            }
            const Two two = {kg::from_acc<T>(sums[j * 4] + offset), kg::from_acc<T>(sums[j * 4 + 1] + offset)};
            T* to = at(row, point);
            if (EIGHTS || points % 2 == 0) {
                *reinterpret_cast<Two*>(to) = two;
            } else {
                *to = two.x;
                if (point + 1 < end) {
                    *at(row, point + 1) = two.y;
                }
            }
        }
    }

    __device__ __forceinline__ T* at(int row, int point) const {
        return out + (static_cast<long long>(point / points) * channels + row) * points + point % points;
    }
};
