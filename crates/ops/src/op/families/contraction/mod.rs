//! Contractions: sums of products.

mod form;
mod product;

use crate::{
    record::{DType, Gen},
    reference::Error,
};

use super::super::{
    Array, Call, Engine, ExactLimits, InferError, Inputs, Locality, Matrices, Param, Role, Scalar,
    Shaped,
    generators::{self, F16_SUM},
    integer_limit, sum_limit, unravel,
};

use super::super::formulas::fitting;
pub(crate) use form::ContractionShape;
pub(crate) use product::Product;

/// Which tensors are multiplied, over which dimensions, and the addend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contraction {
    Mm,
    Bmm,
    AddMm,
    BAddBmm,
    AddBmm,
    Linear,
    MatMul,
    Mv,
    AddMv,
    Dot,
    Outer,
    /// Outer product added to a matrix.
    AddR,
}

/// Magnitude and non-zero elements per row of a factor: the sum of |products| over a row stays
/// below 2^24, and below the range of f16 there.
pub(crate) fn exact_factor(dtype: DType, role: Role, row: usize) -> (usize, usize) {
    let limit = integer_limit(dtype);
    let coarse = matches!(dtype, DType::F16 | DType::BF16) || dtype.is_fp8();
    let terms = match dtype {
        DType::F16 => F16_SUM / (limit * limit),
        _ if coarse => sum_limit(dtype) / (limit * limit),
        _ => sum_limit(dtype) / limit,
    };
    match role {
        Role::Main => (limit, terms.min(row)),
        _ if coarse => (limit, row),
        _ => (1, row),
    }
}

/// `alpha * product + beta * addend`; an addend with beta 0 and a product with alpha 0 are not
/// looked at, but for an outer product.
#[derive(Debug, Clone, Copy)]
struct Blend {
    alpha: f64,
    beta: f64,
    /// Whether a product with alpha 0 is computed.
    always: bool,
}

impl Blend {
    fn read(call: &Call<'_>, dtype: DType, outer: bool) -> Result<Self, InferError> {
        let factor = |name: &str| {
            if call.op.param(name).is_none() {
                return Ok(1.0);
            }
            let Some(value) = call.opt_scalar(name)? else { return Ok(1.0) };
            if outer && dtype.is_int() && matches!(value, Scalar::Float(_)) {
                return Err(InferError::value(name, value.value(), "an integer, as the tensors"));
            }
            // A factor is of the type of the tensors.
            fitting(name, value, dtype)
        };
        Ok(Self { alpha: factor("alpha")?, beta: factor("beta")?, always: outer })
    }

    fn apply(self, product: f64, addend: Option<f64>) -> f64 {
        let scaled = if self.alpha == 0.0 && !self.always { 0.0 } else { self.alpha * product };
        match addend {
            Some(addend) if self.beta != 0.0 => scaled + self.beta * addend,
            _ => scaled,
        }
    }

    /// Returns the spread out of the sum of the squared products.
    fn spread(self, squares: f64, addend: Option<f64>) -> f64 {
        let own = if self.alpha == 0.0 { 0.0 } else { 2.0 * self.alpha.powi(2) * squares };
        let added = addend.filter(|_| self.beta != 0.0).map_or(0.0, |addend| self.beta * addend);
        (own + added * added).sqrt()
    }
}

impl Contraction {
    fn plan(self, call: &Call<'_>) -> Result<ContractionShape, InferError> {
        ContractionShape::of(self, call)
    }

    fn blend(self, call: &Call<'_>, plan: &ContractionShape) -> Result<Blend, InferError> {
        Blend::read(call, plan.dtype, self == Self::AddR)
    }

    /// Computes all elements: from the factors with each element mapped, joined with the addend.
    fn all(
        self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        map: fn(f64) -> f64,
        join: fn(Blend, f64, Option<f64>) -> f64,
    ) -> Result<Array, Error> {
        let plan = self.plan(call)?;
        let blend = self.blend(call, &plan)?;
        let mut product = Product::new(&plan, inputs)?.all(map);
        match plan.addend.filter(|_| blend.beta != 0.0) {
            None => product.mapv_inplace(|value| join(blend, value, None)),
            Some(name) => {
                let addend = inputs.get(name)?.view();
                if let Some(addend) = addend.broadcast(product.raw_dim()) {
                    let both = ndarray::Zip::from(&mut product).and(&addend);
                    both.for_each(|value, &addend| *value = join(blend, *value, Some(addend)));
                }
            }
        }
        Ok(product)
    }

    /// Computes some elements.
    fn some(
        self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        indices: &[usize],
        map: fn(f64) -> f64,
        join: fn(Blend, f64, Option<f64>) -> f64,
    ) -> Result<Vec<f64>, Error> {
        let plan = self.plan(call)?;
        let blend = self.blend(call, &plan)?;
        let product = Product::new(&plan, inputs)?;
        let addend = plan.addend.map(|name| inputs.get(name)).transpose()?;
        let products = product.some(indices, map);
        let finish = |(&index, product): (&usize, f64)| {
            let position = unravel(index, &plan.out);
            let added = addend.map(|addend| {
                let skipped = position.len() - addend.ndim();
                let own = position[skipped..].iter().zip(&addend.shape);
                let own: Vec<usize> =
                    own.map(|(&at, &extent)| if extent == 1 { 0 } else { at }).collect();
                addend.at(&own)
            });
            join(blend, product, added)
        };
        Ok(indices.iter().zip(products).map(finish).collect())
    }
}

impl Engine for Contraction {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let plan = self.plan(call)?;
        self.blend(call, &plan)?;
        Ok(vec![plan.shaped()])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        Ok(vec![self.all(call, inputs, |x| x, Blend::apply)?])
    }

    fn evaluate_at(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        _output: usize,
        indices: &[usize],
    ) -> Option<Result<Vec<f64>, Error>> {
        Some(self.some(call, inputs, indices, |x| x, Blend::apply))
    }

    /// `sqrt(2 alpha² Σ (a b)² + (beta c)²)`: both factors of each product are off.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        Ok(Some(vec![self.all(call, inputs, |x| x * x, Blend::spread)?]))
    }

    fn spread_at(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        _output: usize,
        indices: &[usize],
    ) -> Option<Result<Vec<f64>, Error>> {
        Some(self.some(call, inputs, indices, |x| x * x, Blend::spread))
    }

    fn sums_products(&self) -> bool {
        !matches!(self, Self::Outer | Self::AddR)
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        self.plan(call).map_or(1, |plan| plan.n_terms().max(1))
    }

    fn locality(&self, _call: &Call<'_>) -> Locality {
        Locality::Single
    }

    fn matrices(&self, call: &Call<'_>) -> Option<Matrices> {
        self.plan(call).ok()?.matrices()
    }

    fn flops(&self, call: &Call<'_>, n_out: usize) -> f64 {
        let added = if call.op.param("beta").is_some() { 3.0 } else { 0.0 };
        n_out as f64 * (2.0 * self.accumulation_len(call) as f64 + added)
    }

    /// Of a sum of which a part counts 0 times, that part.
    fn reads(&self, call: &Call<'_>, name: &str) -> Option<usize> {
        let plan = self.plan(call).ok()?;
        let blend = self.blend(call, &plan).ok()?;
        let factor = if plan.addend == Some(name) { blend.beta } else { blend.alpha };
        (factor == 0.0).then_some(0)
    }

    fn least_flops(&self, call: &Call<'_>, n_out: usize) -> f64 {
        let blend = self.plan(call).ok().and_then(|plan| self.blend(call, &plan).ok());
        if blend.is_some_and(|blend| blend.alpha == 0.0) { 0.0 } else { self.flops(call, n_out) }
    }

    fn large(&self, dtype: DType) -> f64 {
        match (self, dtype) {
            (Self::Outer, DType::F16) => 5e3,
            (_, DType::F16) => 300.0,
            _ => 1e15,
        }
    }

    fn cancelling(&self, call: &Call<'_>, param: &Param) -> Option<Gen> {
        let plan = self.plan(call).ok().filter(|_| self.sums_products())?;
        if param.name == plan.right.name {
            return Some(generators::CANCELLING_SECOND);
        }
        if param.name != plan.left.name {
            return Some(Gen::Normal { mean: 0.0, std: 1.0 });
        }
        let extent = call.tensor(plan.left.name).ok()?.shape.last().copied()?;
        Some(generators::cancelling(extent, 1, plan.n_terms()))
    }

    /// Ones: an f16 accumulator stops counting at 2048.
    fn constant(&self) -> f64 {
        1.0
    }

    fn exact(&self, call: &Call<'_>, role: Role, row: usize) -> ExactLimits {
        let (magnitude, nonzero) = exact_factor(call.case.dtype, role, row);
        let plan = self.plan(call).map_err(|_| "the call is not valid")?;
        // Rows are counted along the last dimension alone: the other sums share their terms.
        let others = (plan.n_terms() / row.max(1)).max(1);
        match (self, role) {
            (Self::AddBmm, Role::Main) if others > nonzero => Ok((0, 0)),
            (Self::AddBmm, Role::Main) => Ok((magnitude, nonzero / others)),
            _ => Ok((magnitude, nonzero)),
        }
    }
}
