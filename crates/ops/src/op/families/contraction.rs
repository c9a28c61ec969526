//! Contractions: sums of products.

use ndarray::Ix2;

use crate::{record::DType, reference::Error};

use super::{
    super::{
        Array, Call, Engine, InferError, Inputs, Role, Shaped, generators::F16_SUM, integer_limit,
        sum_limit,
    },
    sum::sum,
};

/// Product of two matrices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MatMul;

/// Multiplies two matrices.
fn product(left: &Array, right: &Array) -> Array {
    let two = "both factors have two dimensions";
    let left = left.view().into_dimensionality::<Ix2>().expect(two);
    let right = right.view().into_dimensionality::<Ix2>().expect(two);
    left.dot(&right).into_dyn()
}

/// Magnitude and non-zero elements per row of a factor: the sum of |products| over a row stays
/// below 2^24, and below the range of f16 there.
pub(crate) fn exact_factor(dtype: DType, role: Role, row: usize) -> (usize, usize) {
    let limit = integer_limit(dtype);
    let half = matches!(dtype, DType::F16 | DType::BF16);
    let terms = match dtype {
        DType::F16 => F16_SUM / (limit * limit),
        DType::BF16 => sum_limit(dtype) / (limit * limit),
        _ => sum_limit(dtype) / limit,
    };
    match role {
        Role::Main => (limit, terms.min(row)),
        _ if half => (limit, row),
        _ => (1, row),
    }
}

impl MatMul {
    /// Calls a function with the terms of one output element.
    fn terms<T>(
        inputs: &Inputs<'_>,
        index: usize,
        fold: impl FnOnce(&mut dyn Iterator<Item = f64>) -> T,
    ) -> Result<T, Error> {
        let (left, right) = (inputs.get("self")?, inputs.get("mat2")?);
        let (k, n) = (left.shape[1], right.shape[1]);
        let (row, column) = (index / n, index % n);
        Ok(fold(&mut (0..k).map(|l| left.at(&[row, l]) * right.at(&[l, column]))))
    }
}

impl Engine for MatMul {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let (left, right) = (call.tensor("self")?, call.tensor("mat2")?);
        if right.dtype != left.dtype {
            return Err(InferError::dtype("mat2", right.dtype, left.dtype.name()));
        }
        let &[m, k] = left.shape.as_slice() else {
            return Err(InferError::shape("self", &left.shape, "[m, k]"));
        };
        let &[rows, n] = right.shape.as_slice() else {
            return Err(InferError::shape("mat2", &right.shape, "[k, n]"));
        };
        if rows != k {
            return Err(InferError::shape("mat2", &right.shape, format!("[{k}, n]")));
        }
        Ok(vec![(left.dtype, vec![m, n])])
    }

    fn evaluate(&self, _call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        Ok(vec![product(inputs.get("self")?.array(), inputs.get("mat2")?.array())])
    }

    fn evaluate_at(
        &self,
        _call: &Call<'_>,
        inputs: &Inputs<'_>,
        _output: usize,
        indices: &[usize],
    ) -> Option<Result<Vec<f64>, Error>> {
        let point = |&index: &usize| Self::terms(inputs, index, |terms| sum(terms));
        Some(indices.iter().map(point).collect())
    }

    /// `sqrt(2 Σ (a b)²)`: both factors of each product are off.
    fn spread(&self, _call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let square = |name: &str| Ok::<_, Error>(inputs.get(name)?.array().mapv(|x| x * x));
        let squares = product(&square("self")?, &square("mat2")?);
        Ok(Some(vec![squares.mapv(|square| (2.0 * square).sqrt())]))
    }

    fn spread_at(
        &self,
        _call: &Call<'_>,
        inputs: &Inputs<'_>,
        _output: usize,
        indices: &[usize],
    ) -> Option<Result<Vec<f64>, Error>> {
        let point = |&index: &usize| {
            Self::terms(inputs, index, |terms| (2.0 * sum(terms.map(|x| x * x))).sqrt())
        };
        Some(indices.iter().map(point).collect())
    }

    fn sums_products(&self) -> bool {
        true
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        call.tensor("self").ok().and_then(|spec| spec.shape.get(1).copied()).unwrap_or(1)
    }

    fn flops(&self, call: &Call<'_>, n_out: usize) -> f64 {
        2.0 * n_out as f64 * self.accumulation_len(call) as f64
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 300.0 } else { 1e15 }
    }

    /// Ones: an f16 accumulator stops counting at 2048.
    fn constant(&self) -> f64 {
        1.0
    }

    fn exact(
        &self,
        call: &Call<'_>,
        role: Role,
        row: usize,
    ) -> Result<(usize, usize), &'static str> {
        Ok(exact_factor(call.case.dtype, role, row))
    }
}
