//! The prelude and the headers that exist only in memory.

use std::iter;

use kgen_record::DType;

use super::{cutlass, nvrtc::Header};

/// Name of the prelude in messages.
pub const PRELUDE: &str = "kgen_prelude.h";

const PRELUDE_TEXT: &str = include_str!("headers/prelude.h");

/// Headers by the names people include them with. The empty ones stand for declarations that NVRTC
/// or the prelude has anyway (`printf`, `assert`, math functions, vector types) or that only host
/// code needs.
const HEADERS: [(&str, &str); 38] = [
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
    // CCCL includes it by this name; a toolkit whose CCCL does not has its own clock.
    ("cuda/std/__cuda/chrono.h", include_str!("headers/chrono.h")),
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
    ("kg/hopper.cuh", include_str!("headers/hopper.cuh")),
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

/// Headers of element types.
const DTYPE_HEADERS: [(&[DType], &str); 3] = [
    (&[DType::F16], "cuda_fp16.h"),
    (&[DType::BF16], "cuda_bf16.h"),
    (&[DType::F8E4M3, DType::F8E5M2], "cuda_fp8.h"),
];

/// Headers of CUTLASS that NVRTC cannot read, as far as device code has a use for them.
const CUTLASS_HEADERS: [(&str, &str); 1] =
    [("cutlass/version.h", include_str!("headers/cutlass_version.h"))];

/// Returns whether a header exists in memory.
pub(super) fn has_header(name: &str) -> bool {
    HEADERS.iter().any(|(known, _)| *known == name)
}

/// Returns the in-memory headers that a source takes, the prelude first: their names and texts.
///
/// The prelude before it includes the headers of element types. Headers of CUTLASS, which are not
/// looked into, may take any.
#[must_use]
pub fn bundled_headers(source: &str) -> Vec<(&'static str, &'static str)> {
    if cutlass::is_included(source) {
        let all = HEADERS.into_iter().filter(|(name, _)| !name.starts_with("kg/"));
        return iter::once((PRELUDE, PRELUDE_TEXT)).chain(all).chain(CUTLASS_HEADERS).collect();
    }
    let mut taken = vec![(PRELUDE, PRELUDE_TEXT)];
    let mut texts = vec![source];
    while let Some(text) = texts.pop() {
        for name in text.lines().filter_map(included) {
            let header = HEADERS.iter().find(|(known, _)| *known == name);
            if let Some(&header) = header.filter(|header| !taken.contains(header)) {
                taken.push(header);
                texts.push(header.1);
            }
        }
    }
    taken
}

/// Returns the name in an `#include` line.
pub(super) fn included(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
    let rest = rest.trim_start().strip_prefix(['<', '"'])?;
    rest.split(['>', '"']).next()
}

/// Returns whether a header is short and known to need no type of the CUDA runtime. Others are long, and to
/// read them twice would take seconds.
pub(super) fn needs_no_runtime(header: &str) -> bool {
    let is_of_cccl = header.starts_with("cub/") || header.starts_with("cuda/");
    let is_kgens = HEADERS.iter().any(|(name, _)| *name == header) && !is_of_cccl;
    is_kgens || DTYPE_HEADERS.iter().any(|(_, name)| *name == header)
}

/// Returns the `#include` lines that a source begins with, comments blanked: no macro of its own
/// stands before them.
pub(super) fn leading_includes(code: &str) -> impl Iterator<Item = &str> {
    let lines = code.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.take_while(|line| included(line).is_some() && !line.ends_with('\\'))
}

/// Returns the in-memory headers, the prelude first, with the headers of these element types.
///
/// Macros stand at the end of the prelude, behind the headers that the source begins with: a name
/// such as `T` would break the text of all of them, NVRTC's own included.
pub(super) fn headers(
    dtypes: impl Iterator<Item = DType> + Clone,
    code: &str,
    macros: &[(&str, &str)],
) -> Vec<Header> {
    let mut prelude = PRELUDE_TEXT.to_owned();
    for (types, include) in DTYPE_HEADERS {
        if dtypes.clone().any(|used| types.contains(&used)) {
            prelude.extend(["#include <", include, ">\n"]);
        }
    }
    if !macros.is_empty() {
        leading_includes(code).for_each(|line| prelude.extend([line, "\n"]));
    }
    for (name, value) in macros {
        prelude.extend(["#undef ", name, "\n#define ", name, " ", value, "\n"]);
    }
    let cutlass: &[(&str, &str)] = if cutlass::is_included(code) { &CUTLASS_HEADERS } else { &[] };
    let headers = HEADERS.iter().chain(cutlass);
    let headers = headers.map(|(name, text)| Header { name, text: (*text).to_owned() });
    iter::once(Header { name: PRELUDE, text: prelude }).chain(headers).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_takes_the_headers_that_it_includes() {
        let names = |source| -> Vec<&str> {
            bundled_headers(source).into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names("int x; // #include <cmath>"), [PRELUDE]);
        assert_eq!(names("#include <cuda_fp16.h>\n"), [PRELUDE]);
        let source = "  # include <cstdint>\n#include \"limits\"\n#include <cstdint>\n";
        assert_eq!(names(source), [PRELUDE, "cstdint", "limits"]);
    }
}
