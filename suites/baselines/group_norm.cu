// Baseline of group_norm: mean, then variance from centred values, then the group.
/*@plan
x = contiguous(input)
w = contiguous(weight)
b = contiguous(bias)
channels, groups = x.shape[1], num_groups
inner = prod(x.shape, 2)
sets = x.shape[0] * groups
y, means, scales = out, None, None
#include "group_norm.plan"
@*/

using Statistic = float;
#include "group_norm.cuh"
