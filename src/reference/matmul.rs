//! Matrix products.

use crate::record::HostTensor;

use super::{U, sum::sum, values::Inputs};

/// `2u sqrt(2/3)`: both factors of each product are off by δ uniform in ±2u.
const BOTH_FACTORS: f64 = 1.632_993_161_855_452 * U;

pub(super) fn product(inputs: &Inputs) -> Vec<f64> {
    multiply(inputs, &inputs.at(0).values, &inputs.at(1).values)
}

/// The sensitivity as the caller scales it: `sqrt(2 Σ (a b)²)`.
pub(super) fn spread(inputs: &Inputs) -> Vec<f64> {
    let square = |values: &[f64]| values.iter().map(|x| x * x).collect::<Vec<f64>>();
    let (left, right) = (square(&inputs.at(0).values), square(&inputs.at(1).values));
    let squares = multiply(inputs, &left, &right);
    squares.into_iter().map(|square| (2.0 * square).sqrt()).collect()
}

/// Multiplies two row-major matrices of the inputs' shapes.
fn multiply(inputs: &Inputs, left: &[f64], right: &[f64]) -> Vec<f64> {
    let (m, k) = (inputs.at(0).shape[0], inputs.at(0).shape[1]);
    let n = inputs.at(1).shape[1];
    let mut out = vec![0.0; m * n];
    if m * n * k == 0 {
        return out;
    }
    let step = |extent: usize| isize::try_from(extent).expect("an extent fits an address");
    // SAFETY: the three slices are row-major matrices of m x k, k x n and m x n elements, which the
    // strides given here walk without leaving them; `out` overlaps neither of the others.
    unsafe {
        matrixmultiply::dgemm(
            m,
            k,
            n,
            1.0,
            left.as_ptr(),
            step(k),
            1,
            right.as_ptr(),
            step(n),
            1,
            0.0,
            out.as_mut_ptr(),
            step(n),
            1,
        );
    }
    out
}

/// One output element and its sensitivity.
pub(super) struct Point {
    pub value: f64,
    pub sensitivity: f64,
}

/// Evaluates single elements straight from the strided inputs.
pub(super) fn at(inputs: &[HostTensor], indices: &[usize]) -> Vec<Point> {
    let (left, right) = (&inputs[0], &inputs[1]);
    let (k, n) = (left.spec.shape[1], right.spec.shape[1]);
    let point = |&index: &usize| {
        let (row, column) = (index / n, index % n);
        let first = left.spec.offset + row * left.spec.stride[0];
        let second = right.spec.offset + column * right.spec.stride[1];
        let terms: Vec<f64> = (0..k)
            .map(|l| {
                left.get(first + l * left.spec.stride[1])
                    * right.get(second + l * right.spec.stride[0])
            })
            .collect();
        let squares = sum(terms.iter().map(|term| term * term));
        let sensitivity = BOTH_FACTORS * squares.sqrt();
        Point {
            value: sum(terms),
            sensitivity: if sensitivity.is_finite() { sensitivity } else { 0.0 },
        }
    };
    indices.iter().map(point).collect()
}
