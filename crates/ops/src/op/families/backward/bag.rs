//! The gradient of the weights of a bag's rows: products of rows of two tables.

use ndarray::IxDyn;

use crate::{
    record::{DType, Gen, TensorSpec},
    reference::Error,
};

use super::{
    super::{
        super::{
            Array, Call, DistributionError, Engine, ExactLimits, InferError, Inputs, Param, Role,
            Shaped, generators,
        },
        conv::exact_magnitude,
        index::{check_bound, index_spec, read},
        sum::Sum,
    },
    check,
};

/// The gradient of `per_sample_weights`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BagWeights;

/// Returns the extents of a table.
fn extents(name: &str, spec: &TensorSpec) -> Result<(usize, usize), InferError> {
    match spec.shape[..] {
        [rows, width] => Ok((rows, width)),
        _ => Err(InferError::shape(name, &spec.shape, "of two dimensions")),
    }
}

impl BagWeights {
    /// Adds the products of the elements of two rows, after a function of each element.
    fn add(
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        of: impl Fn(f64) -> f64,
    ) -> Result<Vec<f64>, Error> {
        let (bags, width) = extents("grad", call.tensor("grad")?)?;
        let (rows, _) = extents("weight", call.tensor("weight")?)?;
        let padding = usize::try_from(call.int("padding_idx")?).ok();
        let indices = read(inputs.get("indices")?, "indices", rows, false)?;
        let bag_of = read(inputs.get("offset2bag")?, "offset2bag", bags, false)?;
        let grads = inputs.get("grad")?.array().as_slice().unwrap_or(&[]);
        let table = inputs.get("weight")?.array().as_slice().unwrap_or(&[]);
        let product = |(row, bag): (usize, usize)| {
            let mut sum = Sum::default();
            if Some(row) != padding {
                let pairs = grads[bag * width..][..width].iter().zip(&table[row * width..]);
                pairs.for_each(|(&grad, &weight)| sum.add(of(grad) * of(weight)));
            }
            sum.value()
        };
        Ok(indices.into_iter().zip(bag_of).map(product).collect())
    }

    fn outputs(values: Vec<f64>) -> Vec<Array> {
        vec![Array::from_shape_vec(IxDyn(&[values.len()]), values).expect("one value per element")]
    }
}

impl Engine for BagWeights {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let grad = super::super::reduce::floating(call, "grad")?;
        let (bags, width) = extents("grad", grad)?;
        let weight = call.tensor("weight")?;
        let (rows, _) = extents("weight", weight)?;
        check("weight", weight, grad.dtype, &[rows, width])?;
        let indices = index_spec(call, "indices")?;
        let [n] = indices.shape[..] else {
            return Err(InferError::shape("indices", &indices.shape, "of one dimension"));
        };
        let offsets = index_spec(call, "offsets")?;
        if offsets.ndim() != 1 {
            return Err(InferError::shape("offsets", &offsets.shape, "of one dimension"));
        }
        check("offset2bag", index_spec(call, "offset2bag")?, indices.dtype, &[n])?;
        check_bound("indices", n, rows)?;
        check_bound("offset2bag", n, bags)?;
        let mode = call.int("mode")?;
        if mode != 0 {
            return Err(InferError::value("mode", mode, "0 (sum): only sums are weighted"));
        }
        call.int("padding_idx")?;
        Ok(vec![(grad.dtype, vec![n])])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        Ok(Self::outputs(Self::add(call, inputs, |x| x)?))
    }

    /// `sqrt(2 Σ (a b)²)`: both factors of each product are off.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let squares = Self::add(call, inputs, |x| x * x)?;
        Ok(Some(Self::outputs(squares.into_iter().map(|sum| (2.0 * sum).sqrt()).collect())))
    }

    fn sums_products(&self) -> bool {
        true
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        let width = call.tensor("weight").ok().and_then(|spec| spec.shape.last().copied());
        width.unwrap_or(1).max(1)
    }

    fn flops(&self, call: &Call<'_>, n_out: usize) -> f64 {
        2.0 * n_out as f64 * self.accumulation_len(call) as f64
    }

    /// Every index may be that of the padding.
    fn least_flops(&self, _call: &Call<'_>, _n_out: usize) -> f64 {
        0.0
    }

    /// Indices may all name one row, and may all be that of the padding.
    fn reads(&self, _call: &Call<'_>, name: &str) -> Option<usize> {
        (name != "indices").then_some(0)
    }

    fn degree(&self) -> u32 {
        2
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 30.0 } else { 1e15 }
    }

    fn index_bound(&self, call: &Call<'_>, param: &Param) -> u64 {
        let table = if param.name == "offset2bag" { "grad" } else { "weight" };
        let rows = call.tensor(table).ok().and_then(|spec| spec.shape.first().copied());
        rows.unwrap_or(1) as u64
    }

    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        let begins = match param.name.as_str() {
            "offset2bag" => false,
            "offsets" => true,
            _ => return generators::by_role(self, call, param),
        };
        let total = call.tensor("indices").map_or(0, TensorSpec::numel) as u64;
        let bags = call.tensor("grad").map_or(1, |spec| spec.shape[0]) as u64;
        Ok(Gen::Bags { total, bags, begins })
    }

    fn exact(&self, call: &Call<'_>, role: Role, row: usize) -> ExactLimits {
        Ok((exact_magnitude(call.case.dtype, role, self.accumulation_len(call)), row))
    }
}
