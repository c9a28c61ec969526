// Baseline of nansum: f32 accumulators (64-bit ones of integers), no atomics. Long reductions are
// split over blocks into partial sums, which a second launch adds up.
/*@plan
#include "sum.plan"
@*/

constexpr bool SKIP_NAN = true;
#include "sum.cuh"
