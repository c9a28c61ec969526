// Baseline of max.dim: threads keep their extreme element and its index, then compare.
/*@plan
first, second = out1, out0
#include "extreme.plan"
@*/

using First = T_out1;
using Second = T_out0;
#define BEYOND(a, b) ((a) > (b))
#include "extreme.cuh"
