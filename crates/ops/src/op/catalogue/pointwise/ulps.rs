//! How far CUDA's functions of exact f32 operands are from the correctly rounded result.

/// Largest errors in ulps (CUDA C++ Programming Guide, standard mathematical functions; divisions and
/// roots as the compiler makes them by default).
const MAX_ULPS: &[(&str, f64)] = &[
    ("exp", 2.0),
    ("exp2", 2.0),
    ("expm1", 1.0),
    ("log", 1.0),
    ("log2", 1.0),
    ("log10", 2.0),
    ("log1p", 1.0),
    ("sqrt", 0.0),
    ("rsqrt", 2.0),
    ("reciprocal", 0.0),
    ("sin", 2.0),
    ("cos", 2.0),
    ("tan", 4.0),
    ("asin", 2.0),
    ("acos", 2.0),
    ("sinh", 3.0),
    ("cosh", 2.0),
    ("asinh", 3.0),
    ("acosh", 4.0),
    ("atanh", 3.0),
    ("hypot", 3.0),
    ("atan", 2.0),
    ("atan2", 3.0),
    ("tanh", 2.0),
    ("erf", 2.0),
    ("erfc", 5.0),
    ("pow", 4.0),
    ("mul", 0.0),
    ("div", 0.0),
];

/// Returns the largest error of a function.
///
/// # Panics
///
/// When the table lacks the function: a mistake in the catalogue.
pub(super) fn max_ulps(function: &str) -> f64 {
    let known = MAX_ULPS.iter().find(|(name, _)| *name == function);
    known.expect("every function of the catalogue is in the table").1
}
