// Baseline of native_group_norm: mean, then variance from centred values, then the group.
/*@plan
x = contiguous(input)
w = contiguous(weight)
b = contiguous(bias)
channels, groups, inner = C, group, HxW
sets = N * groups
y, means, scales = out0, out1, out2
#include "group_norm.plan"
@*/

using Statistic = T_out1;
#include "group_norm.cuh"
