// Baseline of argmin: threads keep the index of their extreme element, then compare.
/*@plan
first, second = out, None
#include "extreme.plan"
@*/

using First = T_out;
using Second = T_out;
#define BEYOND(a, b) ((a) < (b))
#include "extreme.cuh"
