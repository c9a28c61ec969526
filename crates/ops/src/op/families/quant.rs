//! fp8: quantisation, and the product of quantised matrices.

use ndarray::{Axis, IxDyn};

use crate::{
    record::{DType, Gen, InputDistribution, TensorSpec},
    reference::Error,
};

use super::{
    super::{
        Array, Call, DistributionError, Engine, ExactLimits, InferError, Input, Inputs, Param,
        Role, Shaped, generators,
    },
    contraction::{ContractionShape, Product, exact_factor},
};

/// Smallest row maximum that a dynamic scale is taken of.
const LEAST: f64 = 1e-12;

/// Scale of the exact distribution: a power of two keeps integers exact.
const EXACT_SCALE: f64 = 0.5;

/// Rounds a value that is not rounded to a type yet: the range of fp8 saturates, NaN stays.
fn saturated(dtype: DType, value: f64) -> f64 {
    let max = dtype.max_value();
    if dtype.is_fp8() { value.clamp(-max, max) } else { value }
}

fn float(name: &str, spec: &TensorSpec) -> Result<(), InferError> {
    if spec.dtype.is_float() && !spec.dtype.is_fp8() {
        return Ok(());
    }
    let wanted = "a floating-point type of at least 16 bits";
    Err(InferError::dtype(name, spec.dtype, wanted))
}

/// Checks a scale: one f32, or the shape that has one per row or column.
fn check_scale(call: &Call<'_>, name: &str, each: &[usize]) -> Result<(), InferError> {
    let spec = call.tensor(name)?;
    if spec.dtype != DType::F32 {
        return Err(InferError::dtype(name, spec.dtype, "f32"));
    }
    if spec.shape.is_empty() || spec.shape == [1] || spec.shape == each {
        return Ok(());
    }
    Err(InferError::shape(name, &spec.shape, format!("[], [1] or {each:?}")))
}

/// Quantisation to fp8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantize {
    /// With scales that are given.
    Given,
    /// With a scale per row that makes its largest element the largest number of the type.
    Dynamic,
}

impl Quantize {
    fn target(call: &Call<'_>) -> Result<DType, InferError> {
        let dtype = call.opt_dtype("dtype")?.unwrap_or(DType::F8E4M3);
        if dtype.is_fp8() {
            return Ok(dtype);
        }
        Err(InferError::value("dtype", dtype, "f8e4m3 or f8e5m2"))
    }
}

/// Returns the shape of one scale per row.
fn row_shape(shape: &[usize]) -> Vec<usize> {
    let mut rows = shape.to_vec();
    if let Some(last) = rows.last_mut() {
        *last = 1;
    }
    rows
}

/// Returns the scale of each row, rounded to f32 as it is stored.
#[expect(clippy::cast_possible_truncation, reason = "scales are f32")]
fn row_scales(input: &Input<'_>, dtype: DType) -> Array {
    let last = input.ndim().saturating_sub(1);
    let largest =
        |row: ndarray::ArrayView1<'_, f64>| {
            row.iter().fold(LEAST, |max: f64, x| {
                if x.is_nan() || max.is_nan() { f64::NAN } else { max.max(x.abs()) }
            })
        };
    let rows = input.view().map_axis(Axis(last), largest).insert_axis(Axis(last));
    rows.mapv(|max| f64::from((max / dtype.max_value()) as f32))
}

fn divided(input: &Input<'_>, scale: &Array, dtype: DType) -> Array {
    let mut out = input.array().clone();
    if let Some(scale) = scale.broadcast(IxDyn(&input.shape)) {
        let both = ndarray::Zip::from(&mut out).and(&scale);
        both.for_each(|x, &scale| *x = saturated(dtype, *x / scale));
    }
    out
}

impl Engine for Quantize {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = call.tensor("self")?;
        float("self", spec)?;
        let dtype = Self::target(call)?;
        if *self == Self::Given {
            let rows = spec.shape.first().copied().unwrap_or(1);
            check_scale(call, "scale", &[rows, 1])?;
            if call.tensor("scale")?.ndim() == 2 && spec.ndim() != 2 {
                return Err(InferError::shape("self", &spec.shape, "[rows, columns]"));
            }
            return Ok(vec![(dtype, spec.shape.clone())]);
        }
        if spec.ndim() == 0 || spec.shape.last() == Some(&0) {
            return Err(InferError::shape("self", &spec.shape, "[.., n] with n at least 1"));
        }
        Ok(vec![(dtype, spec.shape.clone()), (DType::F32, row_shape(&spec.shape))])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let (input, dtype) = (inputs.get("self")?, Self::target(call)?);
        if *self == Self::Given {
            return Ok(vec![divided(input, inputs.get("scale")?.array(), dtype)]);
        }
        let scale = row_scales(input, dtype);
        Ok(vec![divided(input, &scale, dtype), scale])
    }

    /// `sqrt(2) |x / s|`; a dynamic scale moves with the largest element of its row, and by its
    /// own rounding.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let outputs = self.evaluate(call, inputs)?;
        let spread = |(index, output): (usize, Array)| {
            output.mapv(|y| if index == 0 { 2f64.sqrt() * y.abs() } else { y.abs() })
        };
        Ok(Some(outputs.into_iter().enumerate().map(spread).collect()))
    }

    fn flops(&self, _call: &Call<'_>, n_out: usize) -> f64 {
        3.0 * n_out as f64
    }

    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        exact_scale(self, call, param)
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 1e4 } else { 1e15 }
    }

    fn exact(&self, _call: &Call<'_>, _role: Role, row: usize) -> ExactLimits {
        if *self == Self::Dynamic {
            return Err("its scales are no integers");
        }
        // Beyond the range of the type too: that tries rounding and clamping.
        Ok((255, row))
    }
}

/// The generator by role, but a scale of the exact distribution is a power of two.
fn exact_scale(
    engine: &dyn Engine,
    call: &Call<'_>,
    param: &Param,
) -> Result<Gen, DistributionError> {
    if param.role == Role::ScaleF32 && call.case.distribution == InputDistribution::Exact {
        return Ok(Gen::Constant { value: EXACT_SCALE });
    }
    generators::by_role(engine, call, param)
}

/// Product of two fp8 matrices, scaled per tensor or per row and column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScaledMm;

impl ScaledMm {
    /// Computes every element out of the product of the mapped factors, with both scales and the
    /// bias: `finish(product, scale, bias)`.
    fn all(
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        map: fn(f64) -> f64,
        finish: impl Fn(f64, f64, f64) -> f64,
    ) -> Result<Array, Error> {
        let plan = ContractionShape::of_fp8(call)?;
        let mut out = Product::new(&plan, inputs)?.all(map);
        let (left, right) = (inputs.get("scale_a")?.array(), inputs.get("scale_b")?.array());
        let bias = inputs.opt("bias").map(Input::array);
        let shape = out.raw_dim();
        let (Some(left), Some(right)) = (left.broadcast(shape.clone()), right.broadcast(shape))
        else {
            return Ok(out);
        };
        for ((at, value), (left, right)) in out.indexed_iter_mut().zip(left.iter().zip(&right)) {
            let bias = bias.map_or(0.0, |bias| bias[[at[1]].as_slice()]);
            *value = finish(*value, left * right, bias);
        }
        Ok(out)
    }

    /// Computes some elements as [`ScaledMm::all`] does.
    fn some(
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        indices: &[usize],
        map: fn(f64) -> f64,
        finish: impl Fn(f64, f64, f64) -> f64,
    ) -> Result<Vec<f64>, Error> {
        let plan = ContractionShape::of_fp8(call)?;
        let product = Product::new(&plan, inputs)?;
        let (left, right) = (inputs.get("scale_a")?, inputs.get("scale_b")?);
        let bias = inputs.opt("bias");
        let n = plan.out.get(1).copied().unwrap_or(1);
        let products = product.some(indices, map);
        let point = |(&index, product): (&usize, f64)| {
            let (row, column) = (index / n, index % n);
            let scale = |input: &Input<'_>, at: [usize; 2]| {
                if input.ndim() == 0 { input.at(&[]) } else { input.at(&at) }
            };
            let both = scale(left, [row, 0]) * scale(right, [0, column]);
            let bias = bias.map_or(0.0, |bias| bias.at(&[column]));
            finish(product, both, bias)
        };
        Ok(indices.iter().zip(products).map(point).collect())
    }

    fn target(call: &Call<'_>) -> Result<DType, InferError> {
        let dtype = match call.opt_dtype("out_dtype")? {
            Some(dtype) => dtype,
            None => call.tensor("self")?.dtype,
        };
        if dtype.is_float() {
            return Ok(dtype);
        }
        Err(InferError::value("out_dtype", dtype, "a floating-point type"))
    }
}

/// The spread out of the sum of the squared products, for the product of the scales and the bias;
/// the scales are off too, which the spread of a sum of that size covers.
fn scaled_spread(squares: f64, scale: f64, bias: f64) -> f64 {
    (4.0 * squares * scale * scale + bias * bias).sqrt()
}

impl Engine for ScaledMm {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let plan = ContractionShape::of_fp8(call)?;
        let (m, n) = (plan.out[0], plan.out[1]);
        check_scale(call, "scale_a", &[m, 1])?;
        check_scale(call, "scale_b", &[1, n])?;
        if let Some(bias) = call.opt_tensor("bias") {
            float("bias", bias)?;
            if bias.shape != [n] {
                return Err(InferError::shape("bias", &bias.shape, format!("[{n}]")));
            }
        }
        Ok(vec![(Self::target(call)?, plan.out)])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let dtype = Self::target(call)?;
        let finish = |sum, scale, bias| saturated(dtype, sum * scale + bias);
        Ok(vec![Self::all(call, inputs, |x| x, finish)?])
    }

    fn evaluate_at(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        _output: usize,
        indices: &[usize],
    ) -> Option<Result<Vec<f64>, Error>> {
        let at = |dtype| {
            let finish = |sum, scale, bias| saturated(dtype, sum * scale + bias);
            Self::some(call, inputs, indices, |x| x, finish)
        };
        Some(Self::target(call).map_err(Error::from).and_then(at))
    }

    /// `sqrt(4 scale² Σ (a b)² + bias²)`.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        Ok(Some(vec![Self::all(call, inputs, |x| x * x, scaled_spread)?]))
    }

    fn spread_at(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        _output: usize,
        indices: &[usize],
    ) -> Option<Result<Vec<f64>, Error>> {
        Some(Self::some(call, inputs, indices, |x| x * x, scaled_spread))
    }

    fn sums_products(&self) -> bool {
        true
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        ContractionShape::of_fp8(call).map_or(1, |plan| plan.n_terms().max(1))
    }

    fn flops(&self, call: &Call<'_>, n_out: usize) -> f64 {
        n_out as f64 * (2.0 * self.accumulation_len(call) as f64 + 3.0)
    }

    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        exact_scale(self, call, param)
    }

    fn large(&self, _dtype: DType) -> f64 {
        100.0
    }

    fn constant(&self) -> f64 {
        1.0
    }

    fn exact(&self, call: &Call<'_>, role: Role, row: usize) -> ExactLimits {
        Ok(exact_factor(call.case.dtype, role, row))
    }
}
