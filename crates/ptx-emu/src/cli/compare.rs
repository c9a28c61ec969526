//! Compares an array with the expected one.

use std::ops::Range;

use serde::Serialize;

use super::array::Array;

/// How an array differs from the expected one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Comparison {
    /// Elements that differ by more than is allowed.
    pub wrong: usize,
    /// The first of them: index, value, value expected.
    pub first: Option<(usize, f64, f64)>,
    /// Greatest error, relative above 1.
    pub worst: f64,
    /// Elements compared.
    pub elements: usize,
}

/// Compares elements but for those in `skip`: equal bytes without a tolerance, else an error
/// relative above 1.
pub(super) fn compare(
    got: &Array,
    want: &Array,
    tolerance: Option<f64>,
    skip: &[Range<u64>],
) -> Comparison {
    let size = got.element.bytes();
    let mut result = Comparison { wrong: 0, first: None, worst: 0.0, elements: 0 };
    let mut skip = skip.iter().peekable();
    for (index, (a, b)) in got.bytes.chunks(size).zip(want.bytes.chunks(size)).enumerate() {
        let at = u64::try_from(index).unwrap_or(u64::MAX);
        while skip.next_if(|range| range.end <= at).is_some() {}
        if skip.peek().is_some_and(|range| range.contains(&at)) {
            continue;
        }
        result.elements += 1;
        if a == b {
            continue;
        }
        let (x, y) = (got.element.value(a), want.element.value(b));
        let error = error(x, y);
        result.worst = result.worst.max(error);
        if tolerance.is_none_or(|t| error > t) {
            result.wrong += 1;
            result.first = result.first.or(Some((index, x, y)));
        }
    }
    result
}

/// The error of `x`, relative where `y` is above 1; NaN equals NaN.
fn error(x: f64, y: f64) -> f64 {
    if x.is_nan() && y.is_nan() || x.partial_cmp(&y).is_some_and(std::cmp::Ordering::is_eq) {
        return 0.0;
    }
    let error = (x - y).abs() / y.abs().max(1.0);
    if error.is_nan() { f64::INFINITY } else { error }
}

#[cfg(test)]
mod tests {
    use super::{super::element::Element, Array, compare};

    fn array(values: &[f32]) -> Array {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Array { element: Element::F32, bytes, shape: vec![values.len()] }
    }

    #[test]
    fn tolerance_is_relative_above_one() {
        let want = array(&[0.0, 100.0, f32::NAN, f32::INFINITY]);
        let got = array(&[0.001, 100.1, f32::NAN, 1.0]);
        assert_eq!(compare(&got, &want, Some(0.01), &[]).wrong, 1);
        assert_eq!(compare(&got, &want, Some(1e-4), &[]).wrong, 3);
        assert_eq!(compare(&want, &want, None, &[]).wrong, 0);
        let some = compare(&got, &want, Some(0.01), &[0..1, 3..4]);
        assert_eq!((some.wrong, some.elements), (0, 2));
        let exact = compare(&array(&[-0.0]), &array(&[0.0]), None, &[]);
        assert_eq!((exact.wrong, exact.first), (1, Some((0, -0.0, 0.0))));
    }
}
