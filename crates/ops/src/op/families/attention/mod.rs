//! Scaled dot-product attention.

mod heads;
mod subproblem;

use crate::{
    record::{DType, Gen, InputDistribution},
    reference::{Error, Subproblem},
};

use super::super::{
    Array, Call, DistributionError, Engine, InferError, Inputs, Locality, Param, Role, Shaped,
    broadcast, generators, unravel,
};

use heads::Heads;

/// Softmax of scaled products of queries and keys, applied to values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attention;

/// An attention of known sizes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AttentionShape {
    /// Batch dimensions of the result, heads included.
    pub batch: Vec<usize>,
    /// Queries.
    pub queries: usize,
    /// Keys.
    pub keys: usize,
    /// Elements of a query and of a key.
    pub depth: usize,
    /// Elements of a value.
    pub width: usize,
    /// Factor on the products.
    pub scale: f64,
    /// Whether a query sees only the keys up to its own place.
    pub causal: bool,
    pub dtype: DType,
}

const INPUTS: [&str; 3] = ["query", "key", "value"];

impl AttentionShape {
    fn of(call: &Call<'_>) -> Result<Self, InferError> {
        let query = call.tensor("query")?;
        if !query.dtype.is_float() || query.dtype.is_fp8() {
            let wanted = "a floating-point type of at least 16 bits";
            return Err(InferError::dtype("query", query.dtype, wanted));
        }
        for name in INPUTS {
            let spec = call.tensor(name)?;
            if spec.dtype != query.dtype {
                return Err(InferError::dtype(name, spec.dtype, query.dtype.name()));
            }
            if spec.ndim() < 2 {
                return Err(InferError::shape(name, &spec.shape, "of at least two dimensions"));
            }
        }
        if call.number("dropout_p")? != 0.0 {
            return Err(InferError::value("dropout_p", call.number("dropout_p")?, "0"));
        }
        let [(mut batch, [queries, depth]), (key_batch, [keys, key_depth]), value] = INPUTS
            .map(|name| call.tensor(name).map(|spec| split(&spec.shape)))
            .into_iter()
            .collect::<Result<Vec<_>, _>>()?
            .try_into()
            .unwrap_or_default();
        let (value_batch, [values, width]) = value;
        if key_depth != depth {
            let shape = &call.tensor("key")?.shape;
            return Err(InferError::shape("key", shape, format!("[.., keys, {depth}]")));
        }
        if values != keys {
            let shape = &call.tensor("value")?.shape;
            return Err(InferError::shape("value", shape, format!("[.., {keys}, width]")));
        }
        let grouped = call.bool("enable_gqa")?;
        for (name, other) in [("key", key_batch), ("value", value_batch)] {
            let shape = &call.tensor(name)?.shape;
            let repeated = if grouped { repeat_heads(name, shape, &other, &batch)? } else { other };
            batch = broadcast(&batch, &repeated)?;
        }
        let scale = call.opt_number("scale")?.unwrap_or(1.0 / (depth as f64).sqrt());
        let causal = call.bool("is_causal")?;
        let plan = Self { batch, queries, keys, depth, width, scale, causal, dtype: query.dtype };
        plan.check_mask(call)?;
        Ok(plan)
    }

    fn check_mask(&self, call: &Call<'_>) -> Result<(), InferError> {
        let Some(mask) = call.opt_tensor("attn_mask") else { return Ok(()) };
        if self.causal {
            return Err(InferError::value("is_causal", true, "false where there is a mask"));
        }
        if ![DType::Bool, DType::F32, self.dtype].contains(&mask.dtype) {
            let wanted = format!("bool, f32 or {}", self.dtype);
            return Err(InferError::dtype("attn_mask", mask.dtype, wanted));
        }
        let scores = [self.batch.as_slice(), &[self.queries, self.keys]].concat();
        if broadcast(&mask.shape, &scores).is_ok_and(|shape| shape == scores) {
            return Ok(());
        }
        let wanted = format!("{scores:?} or what broadcasts to it");
        Err(InferError::shape("attn_mask", &mask.shape, wanted))
    }

    /// Returns which matrix of a tensor with these batch dimensions a head of the result has.
    fn own_matrix(&self, own: &[usize], head: usize) -> usize {
        let at = unravel(head, &self.batch);
        let skipped = self.batch.len().saturating_sub(own.len());
        let dims = own.iter().zip(&self.batch[skipped..]).zip(&at[skipped..]);
        dims.fold(0, |matrix, ((&extent, &all), &index)| {
            // Fewer heads than the result has serve equally many each; a single one serves all.
            matrix * extent + index / (all / extent.max(1)).max(1)
        })
    }

    fn shape(&self) -> Vec<usize> {
        [self.batch.as_slice(), &[self.queries, self.width]].concat()
    }
}

/// Returns whether probabilities are rounded to a type of inputs.
const fn rounds(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16)
}

/// Splits the batch dimensions off.
fn split(shape: &[usize]) -> (Vec<usize>, [usize; 2]) {
    match shape {
        [batch @ .., rows, columns] => (batch.to_vec(), [*rows, *columns]),
        _ => (Vec::new(), [0, 0]),
    }
}

/// Returns batch dimensions with as many heads as the queries have.
fn repeat_heads(
    name: &str,
    shape: &[usize],
    own: &[usize],
    query: &[usize],
) -> Result<Vec<usize>, InferError> {
    let (Some(&heads), Some(&wanted)) = (own.last(), query.last()) else {
        return Err(InferError::shape(name, shape, "of at least three dimensions"));
    };
    if heads == 0 || !wanted.is_multiple_of(heads) {
        let text = format!("[.., heads, keys, ..] with heads a divisor of {wanted}");
        return Err(InferError::shape(name, shape, text));
    }
    let mut batch = own.to_vec();
    if let Some(last) = batch.last_mut() {
        *last = wanted;
    }
    Ok(batch)
}

impl Engine for Attention {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let plan = AttentionShape::of(call)?;
        Ok(vec![(plan.dtype, plan.shape())])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let plan = AttentionShape::of(call)?;
        Ok(vec![Heads::new(&plan, inputs)?.all(|head, rows| head.outputs(rows))])
    }

    fn evaluate_at(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        _output: usize,
        indices: &[usize],
    ) -> Option<Result<Vec<f64>, Error>> {
        let at = |plan: AttentionShape| {
            Ok(Heads::new(&plan, inputs)?.some(indices, |head, rows| head.outputs(rows)))
        };
        Some(AttentionShape::of(call).map_err(Error::from).and_then(at))
    }

    /// With p the probabilities, `c_j = p_j (v_j - y)` and `A_j = Σ_e (scale q_e k_je)²`:
    /// `sqrt(Σ_j p_j² v_j² + 2 Σ_j c_j² A_j + Σ_j c_j² mask_j²)`.
    ///
    /// The first factor 2 stands for the roundings of the keys, which add up in squares, and for
    /// those of the query, which all scores share: their part is `Σ_e (scale q_e Σ_j c_j k_je)²`,
    /// equal to that of the keys in the mean over keys that are not correlated with one another (a
    /// common part of all keys cancels, as `Σ_j c_j` is 0). An estimate for large cases: small ones
    /// are measured.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let plan = AttentionShape::of(call)?;
        Ok(Some(vec![Heads::new(&plan, inputs)?.all(|head, rows| head.spreads(rows))]))
    }

    fn spread_at(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        _output: usize,
        indices: &[usize],
    ) -> Option<Result<Vec<f64>, Error>> {
        let at = |plan: AttentionShape| {
            Ok(Heads::new(&plan, inputs)?.some(indices, |head, rows| head.spreads(rows)))
        };
        Some(AttentionShape::of(call).map_err(Error::from).and_then(at))
    }

    fn rounds_inside(&self) -> bool {
        true
    }

    /// `sqrt(Σ_j (p_j v_j)²) + |y| / 4`: honest kernels of 16-bit types round the probabilities to
    /// the type of the values, and their sum with them.
    fn rounded_inside(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
    ) -> Result<Option<Vec<Array>>, Error> {
        let plan = AttentionShape::of(call)?;
        if !rounds(plan.dtype) {
            return Ok(None);
        }
        Ok(Some(vec![Heads::new(&plan, inputs)?.all(|head, rows| head.rounded(rows))]))
    }

    fn rounded_inside_at(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        _output: usize,
        indices: &[usize],
    ) -> Option<Result<Vec<f64>, Error>> {
        let plan = AttentionShape::of(call).ok().filter(|plan| rounds(plan.dtype))?;
        let heads = Heads::new(&plan, inputs);
        Some(heads.map(|heads| heads.some(indices, |head, rows| head.rounded(rows))))
    }

    fn sums_products(&self) -> bool {
        true
    }

    fn locality(&self, _call: &Call<'_>) -> Locality {
        Locality::Single
    }

    fn subproblem(&self, call: &Call<'_>, indices: &[usize]) -> Option<Subproblem> {
        subproblem::subproblem(&AttentionShape::of(call).ok()?, call, indices)
    }

    /// The scores of a query.
    fn shared_by_row(&self, call: &Call<'_>) -> Option<usize> {
        AttentionShape::of(call).ok().map(|plan| plan.keys * plan.depth)
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        AttentionShape::of(call).map_or(1, |plan| plan.keys.max(plan.depth).max(1))
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        let Ok(plan) = AttentionShape::of(call) else { return 0.0 };
        let scores = (plan.batch.iter().product::<usize>() * plan.queries * plan.keys) as f64;
        scores * (2.0 * (plan.depth + plan.width) as f64 + 5.0)
    }

    /// A mask may hide everything, and of causal attention keys beyond the last query are hidden;
    /// the first query sees one key, whatever the query is.
    fn reads(&self, call: &Call<'_>, name: &str) -> Option<usize> {
        let plan = AttentionShape::of(call).ok()?;
        let masked = call.opt_tensor("attn_mask").is_some_and(|_| name != "attn_mask");
        if masked || (plan.keys <= 1 && name != "value") {
            return (name != "attn_mask").then_some(0);
        }
        let spec = call.opt_tensor(name).filter(|_| plan.causal)?;
        let seen = plan.queries.min(plan.keys);
        let rows = match name {
            "query" => plan.queries.saturating_sub(1),
            "key" if seen <= 1 => 0,
            _ => seen,
        };
        let all = if name == "query" { plan.queries } else { plan.keys };
        Some(spec.numel() / all.max(1) * rows)
    }

    fn least_flops(&self, call: &Call<'_>, n_out: usize) -> f64 {
        let Ok(plan) = AttentionShape::of(call) else { return 0.0 };
        if call.opt_tensor("attn_mask").is_some() || plan.keys <= 1 {
            return 0.0;
        }
        // Of the scores at and below the diagonal.
        let seen: usize = (0..plan.queries).map(|query| plan.keys.min(query + 1)).sum();
        let all = (plan.queries * plan.keys).max(1) as f64;
        let share = if plan.causal { seen as f64 / all } else { 1.0 };
        self.flops(call, n_out) * share
    }

    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        match call.opt_tensor(&param.name) {
            // Of all tensors the mask has the special rows.
            Some(spec) if spec.dtype.is_float() => match (param.role, call.case.distribution) {
                (Role::Mask, InputDistribution::SpecialRows) => {
                    Ok(Gen::SpecialRows { negative_nan: true })
                }
                // Most weights are 0, and one of them is that of NaN.
                (_, InputDistribution::Edges) if param.name == "value" => {
                    Ok(Gen::LoneNan { rest: 1 })
                }
                (_, InputDistribution::Edges) => Ok(Gen::Normal { mean: 0.0, std: 30.0 }),
                (Role::Mask, _) | (_, InputDistribution::SpecialRows) => {
                    Ok(Gen::Normal { mean: 0.0, std: 1.0 })
                }
                _ => generators::by_role(self, call, param),
            },
            _ => generators::by_role(self, call, param),
        }
    }

    /// Scores in the hundreds: a softmax without its maximum overflows.
    fn large(&self, _dtype: DType) -> f64 {
        100.0
    }

    fn shifted(&self) -> (f64, f64) {
        (4.0, 1.0)
    }
}
