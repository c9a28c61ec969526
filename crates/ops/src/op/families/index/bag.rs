//! Sums, means and maxima of the rows of a table that belong to a bag.

use ndarray::IxDyn;

use crate::{parallel, record::Gen, reference::Error};

use super::{
    super::{
        super::{
            Array, Call, DistributionError, Engine, ExactLimits, InferError, Inputs, Param, Role,
            Shaped, generators, integer_limit, sum_limit,
        },
        sum::sum,
    },
    check_bound, index_spec, read,
};

/// `embedding_bag`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EmbeddingBag;

/// The result of the rows of a bag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Sum,
    Mean,
    Max,
}

impl Mode {
    fn of(call: &Call<'_>) -> Result<Self, InferError> {
        match call.int("mode")? {
            0 => Ok(Self::Sum),
            1 => Ok(Self::Mean),
            2 => Ok(Self::Max),
            other => Err(InferError::value("mode", other, "0 (sum), 1 (mean) or 2 (max)")),
        }
    }

    /// Reduces one column of a bag. A maximum is kept until a larger element comes: a NaN is
    /// passed over, but for one in the first row.
    fn reduce(self, column: &[f64]) -> f64 {
        match self {
            _ if column.is_empty() => 0.0,
            Self::Sum => sum(column.iter().copied()),
            Self::Mean => sum(column.iter().copied()) / column.len() as f64,
            Self::Max => {
                let larger = |max: f64, &x: &f64| if x > max { x } else { max };
                column[1..].iter().fold(column[0], larger)
            }
        }
    }
}

/// The rows of each bag: number in the table, number among the indices.
type Bags = Vec<Vec<(usize, usize)>>;

fn bags(call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Bags, Error> {
    let (index, offsets) = (inputs.get("indices")?, inputs.get("offsets")?);
    let rows = inputs.get("weight")?.shape.first().copied().unwrap_or(0);
    let padding = call.int("padding_idx")?;
    let index_len = index.numel();
    let places = read(index, "indices", rows, false)?;
    let mut bounds = read(offsets, "offsets", index_len + 1, false)?;
    check_offsets(&bounds, index_len)?;
    if !call.bool("include_last_offset")? {
        bounds.push(index_len);
    }
    let counts = |row: usize| i64::try_from(row) != Ok(padding);
    let bag = |pair: &[usize]| {
        let rows = (pair[0]..pair[1]).map(|at| (places[at], at));
        rows.filter(|(row, _)| counts(*row)).collect()
    };
    Ok(bounds.windows(2).map(bag).collect())
}

/// Offsets begin with 0 and do not fall.
fn check_offsets(offsets: &[usize], n_indices: usize) -> Result<(), Error> {
    let mut least = 0;
    for (at, &offset) in offsets.iter().enumerate() {
        if offset < least || (at == 0 && offset != 0) {
            let index = i64::try_from(offset).unwrap_or(i64::MAX);
            let bound = if at == 0 { 1 } else { n_indices + 1 };
            return Err(Error::Index { name: "offsets".to_owned(), at, index, bound });
        }
        least = offset;
    }
    Ok(())
}

impl EmbeddingBag {
    fn n_bags(call: &Call<'_>) -> Result<usize, InferError> {
        let offsets = index_spec(call, "offsets")?;
        let &[n] = offsets.shape.as_slice() else {
            return Err(InferError::shape("offsets", &offsets.shape, "of one dimension"));
        };
        if !call.bool("include_last_offset")? {
            return Ok(n);
        }
        let wanted = "of at least one element, as the last one ends the last bag";
        n.checked_sub(1).ok_or_else(|| InferError::shape("offsets", &[n], wanted))
    }

    fn map(
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        formula: impl Fn(&[f64]) -> f64 + Sync,
    ) -> Result<Vec<Array>, Error> {
        let weight = inputs.get("weight")?;
        let width = weight.shape.get(1).copied().unwrap_or(0);
        let table = weight.array().as_standard_layout();
        let table = table.as_slice().unwrap_or(&[]);
        let factors = inputs.opt("per_sample_weights");
        let factors = factors.map(|input| input.array().iter().copied().collect::<Vec<f64>>());
        let bags = bags(call, inputs)?;
        let row = |number: usize| {
            let bag = &bags[number];
            let column = |at: usize| {
                let element = |&(row, number): &(usize, usize)| {
                    let x = table[row * width + at];
                    factors.as_ref().map_or(x, |factors| x * factors[number])
                };
                formula(&bag.iter().map(element).collect::<Vec<f64>>())
            };
            (0..width).map(column).collect::<Vec<f64>>()
        };
        let values = parallel::flat_map(bags.len(), &row);
        let shape = IxDyn(&[bags.len(), width]);
        Ok(vec![Array::from_shape_vec(shape, values).expect("one row per bag")])
    }
}

impl Engine for EmbeddingBag {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let weight = call.tensor("weight")?;
        let &[rows, width] = weight.shape.as_slice() else {
            return Err(InferError::shape("weight", &weight.shape, "[rows, width]"));
        };
        if !weight.dtype.is_float() {
            return Err(InferError::dtype("weight", weight.dtype, "a floating-point type"));
        }
        let index = index_spec(call, "indices")?;
        if index.ndim() != 1 {
            return Err(InferError::shape("indices", &index.shape, "of one dimension"));
        }
        check_bound("indices", index.numel(), rows)?;
        let mode = Mode::of(call)?;
        if let Some(factors) = call.opt_tensor("per_sample_weights") {
            if mode != Mode::Sum {
                let wanted = "left out: only sums (mode 0) are weighted";
                return Err(InferError::value("per_sample_weights", "a tensor", wanted));
            }
            if factors.dtype != weight.dtype {
                let wanted = weight.dtype.name();
                return Err(InferError::dtype("per_sample_weights", factors.dtype, wanted));
            }
            if factors.shape != index.shape {
                let wanted = format!("{:?}, that of indices", index.shape);
                return Err(InferError::shape("per_sample_weights", &factors.shape, wanted));
            }
        }
        Ok(vec![(weight.dtype, vec![Self::n_bags(call)?, width])])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let mode = Mode::of(call)?;
        Self::map(call, inputs, |column| mode.reduce(column))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        call.tensor("indices").map_or(1, |spec| spec.numel())
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        let width = call.tensor("weight").ok().and_then(|spec| spec.shape.get(1).copied());
        self.accumulation_len(call) as f64 * width.unwrap_or(0) as f64
    }

    /// All bags may be empty, and all rows padding.
    fn reads(&self, call: &Call<'_>, name: &str) -> Option<usize> {
        let open = !call.bool("include_last_offset").unwrap_or(true);
        let counted = name == "offsets" || (name == "indices" && open);
        (!counted).then_some(0)
    }

    fn least_flops(&self, _call: &Call<'_>, _n_out: usize) -> f64 {
        0.0
    }

    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        if param.name == "offsets" {
            let total = call.tensor("indices").map_or(0, |spec| spec.numel()) as u64;
            let closed = call.bool("include_last_offset").unwrap_or(false);
            return Ok(Gen::Offsets { total, closed });
        }
        generators::by_role(self, call, param)
    }

    fn index_bound(&self, call: &Call<'_>, _param: &Param) -> u64 {
        let rows = call.tensor("weight").ok().and_then(|spec| spec.shape.first().copied());
        rows.unwrap_or(1) as u64
    }

    fn exact(&self, call: &Call<'_>, role: Role, row: usize) -> ExactLimits {
        if Mode::of(call) == Ok(Mode::Mean) {
            return Err("a mean is exact only over a power of two");
        }
        let (dtype, len) = (call.case.dtype, self.accumulation_len(call).max(1));
        let limit = integer_limit(dtype).min(sum_limit(dtype) / len);
        if call.opt_tensor("per_sample_weights").is_none() {
            return Ok((limit, row));
        }
        // The weights are ones and minus ones.
        Ok((if role == Role::Main { limit } else { 1 }, row))
    }
}
