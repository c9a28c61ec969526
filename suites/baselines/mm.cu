// Baseline of mm.
/*@plan
a, b, c = self, mat2, None
m, k = a.shape
n = b.shape[1]
a_row, a_col = a.stride
b_row, b_col = b.stride
n_batch, middle, inner = 1, 1, 1
a0, a1, a2, b0, b1, b2 = 0, 0, 0, 0, 0, 0
c_batch, c_row, c_col = 0, 0, 0
alpha_, beta_ = f32(1), f32(0)
#include "product.plan"
@*/

using ElementA = T_self;
using ElementB = T_mat2;
using ElementC = T_out;
#include "product.cuh"
