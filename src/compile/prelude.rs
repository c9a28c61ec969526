//! The prelude and the headers that exist only in memory.

use super::nvrtc::Header;
use crate::record::DType;

/// Name of the prelude in messages.
pub(super) const PRELUDE: &str = "kgen_prelude.h";

const PRELUDE_TEXT: &str = include_str!("headers/prelude.h");

/// Headers by the names people include them with. The empty ones hold what NVRTC or the prelude
/// has anyway (`printf`, `assert`, math functions, vector types) or what only host code needs.
const HEADERS: [(&str, &str); 36] = [
    ("algorithm", include_str!("headers/algorithm.h")),
    ("array", include_str!("headers/array.h")),
    ("assert.h", ""),
    ("cassert", ""),
    ("cfloat", ""),
    ("climits", ""),
    ("cmath", include_str!("headers/cmath.h")),
    ("cstddef", include_str!("headers/cstddef.h")),
    ("cstdint", include_str!("headers/cstdint.h")),
    ("cstdio", ""),
    ("cstdlib", ""),
    ("cstring", include_str!("headers/cstring.h")),
    ("cub/cub.cuh", include_str!("headers/cub.h")),
    ("cuda.h", ""),
    ("cuda_runtime.h", ""),
    ("cuda_runtime_api.h", ""),
    ("device_functions.h", ""),
    ("device_launch_parameters.h", ""),
    ("float.h", ""),
    ("functional", include_str!("headers/functional.h")),
    ("inttypes.h", ""),
    ("iostream", ""),
    ("limits", include_str!("headers/limits.h")),
    ("limits.h", ""),
    ("math.h", ""),
    ("math_functions.h", ""),
    ("stddef.h", include_str!("headers/cstddef.h")),
    ("stdint.h", include_str!("headers/cstdint.h")),
    ("stdio.h", ""),
    ("stdlib.h", ""),
    ("string.h", ""),
    ("tuple", include_str!("headers/tuple.h")),
    ("type_traits", include_str!("headers/type_traits.h")),
    ("utility", include_str!("headers/utility.h")),
    ("vector_types.h", ""),
    ("cinttypes", ""),
];

/// Tells whether a header exists in memory.
pub(super) fn has_header(name: &str) -> bool {
    HEADERS.iter().any(|(known, _)| *known == name)
}

/// Returns the in-memory headers, the prelude first, with what these element types need.
pub(super) fn headers(dtypes: impl Iterator<Item = DType> + Clone) -> Vec<Header> {
    let mut prelude = PRELUDE_TEXT.to_owned();
    let includes: [(&[DType], &str); 3] = [
        (&[DType::F16], "cuda_fp16.h"),
        (&[DType::BF16], "cuda_bf16.h"),
        (&[DType::F8E4M3, DType::F8E5M2], "cuda_fp8.h"),
    ];
    for (types, include) in includes {
        if dtypes.clone().any(|used| types.contains(&used)) {
            prelude.extend(["#include <", include, ">\n"]);
        }
    }
    let headers = HEADERS.iter().map(|(name, text)| Header { name, text: (*text).to_owned() });
    std::iter::once(Header { name: PRELUDE, text: prelude }).chain(headers).collect()
}
