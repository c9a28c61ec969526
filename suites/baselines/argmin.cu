// Baseline of argmin: threads keep the index of their extreme element, then compare.
/*@plan
#include "extreme.plan"
@*/

#define BEYOND(a, b) ((a) < (b))
#include "extreme.cuh"
