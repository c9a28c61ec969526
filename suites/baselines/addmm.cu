// Baseline of addmm.
/*@plan
a, b, c = mat1, mat2, self
m, k = a.shape
n = b.shape[1]
n_batch, middle, inner = 1, 1, 1
a0, a1, a2, b0, b1, b2 = 0, 0, 0, 0, 0, 0
a_row, a_col = a.stride
b_row, b_col = b.stride
# A dimension of 1 is read again and again.
c_batch = 0
c_row = c.stride[-2] if c.ndim > 1 and c.shape[-2] > 1 else 0
c_col = c.stride[-1] if c.ndim > 0 and c.shape[-1] > 1 else 0
alpha_, beta_ = f32(alpha), f32(beta)
#include "product.plan"
@*/

using ElementA = T_mat1;
using ElementB = T_mat2;
using ElementC = T_self;
#include "product.cuh"
