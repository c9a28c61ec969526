// Baseline of bmm.
/*@plan
a, b, c = self, mat2, None
n_batch, m, k = a.shape
n = b.shape[2]
middle, inner = 1, n_batch
a0, a1, a2 = 0, 0, a.stride[0] if n_batch > 1 else 0
b0, b1, b2 = 0, 0, b.stride[0] if n_batch > 1 else 0
a_row, a_col = a.stride[1], a.stride[2]
b_row, b_col = b.stride[1], b.stride[2]
c_batch, c_row, c_col = 0, 0, 0
alpha_, beta_ = f32(1), f32(0)
#include "product.plan"
@*/

using ElementA = T_self;
using ElementB = T_mat2;
using ElementC = T_out;
#include "product.cuh"
