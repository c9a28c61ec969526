//! Quantisation to fp8 and int8 with scales per tensor, row or group of a row.

use crate::{
    record::{DType, Gen, InputDistribution},
    reference::Error,
};

use super::{
    super::super::{
        Array, Call, DistributionError, Engine, ExactLimits, InferError, Input, Inputs, Param,
        Role, Shaped, generators,
    },
    super::sum::sum,
    FP8_MAX, array, flat, float, number, of_type, one_number, positive, saturated, stored, width,
    with_width,
};

/// Least scale of a token in f8e4m3.
const LEAST: f64 = 1.0 / (FP8_MAX * 512.0);

/// Least scale that is rounded up to a power of two.
const LEAST_POWER: f64 = 1e-10;

/// Elements that share a scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shared {
    /// All, by a scale that is given.
    Given,
    /// All.
    Tensor,
    /// Those of a row.
    Row,
    /// Some neighbours in a row.
    Group,
}

/// Quantisation: division by a scale, and rounding to a type of 8 bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quantise {
    /// Elements that share a scale.
    pub shared: Shared,
    /// The type: f8e4m3 or int8.
    pub target: DType,
}

/// Roundings of f32 that a quotient may be off by, relative.
const NEAR: f64 = 4.0 / (1_u64 << 24) as f64;

/// Returns the largest magnitude; NaN where there is one.
fn largest(values: &[f64]) -> f64 {
    let wider =
        |max: f64, x: &f64| if x.is_nan() || max.is_nan() { f64::NAN } else { max.max(x.abs()) };
    values.iter().fold(0.0, wider)
}

/// Returns the least power of two that is no less; NaN stays.
fn power_above(scale: f64) -> f64 {
    let scale = if scale < LEAST_POWER { LEAST_POWER } else { scale };
    scale.log2().ceil().exp2()
}

impl Quantise {
    fn most(&self) -> f64 {
        if self.target == DType::I8 { 127.0 } else { FP8_MAX }
    }

    /// Returns how many neighbours share a scale.
    fn length(&self, call: &Call<'_>, shape: &[usize]) -> Result<usize, InferError> {
        Ok(match self.shared {
            Shared::Given | Shared::Tensor => shape.iter().product(),
            Shared::Row => width(shape),
            Shared::Group => positive(call, "group_size")?,
        })
    }

    /// Returns the scale of some elements as it is stored.
    fn scale(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        values: &[f64],
    ) -> Result<f64, InferError> {
        let mut max = largest(values);
        if let Some(bound) = number(inputs, "scale_ub").filter(|bound| max > *bound) {
            max = bound;
        }
        Ok(match (self.shared, self.target) {
            (Shared::Given, _) => number(inputs, "scale").unwrap_or(1.0),
            (Shared::Group, _) => {
                let eps = call.number("eps")?;
                let scale = stored(if max < eps { eps } else { max } / self.most());
                let rounds_up = self.target != DType::I8 && call.bool("use_ue8m0")?;
                if rounds_up { power_above(scale) } else { scale }
            }
            (Shared::Row, DType::F8E4M3) => {
                let scale = max / FP8_MAX;
                stored(if scale < LEAST { LEAST } else { scale })
            }
            _ => stored(max / self.most()),
        })
    }

    /// Returns every element before it is rounded, and the scales.
    fn quotients(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<(Array, Vec<f64>), Error> {
        let input: &Input<'_> = inputs.get("input")?;
        let length = self.length(call, &input.shape)?.max(1);
        let (mut values, mut scales) = (flat(input), Vec::new());
        for group in values.chunks_mut(length) {
            let scale = self.scale(call, inputs, group)?;
            scales.push(scale);
            group.iter_mut().for_each(|x| *x = self.quotient(*x, scale));
        }
        Ok((array(&input.shape, values), scales))
    }

    /// Returns a quotient; integers are 0 where the largest of them, and so the scale, is 0.
    fn quotient(&self, x: f64, scale: f64) -> f64 {
        let of_zeros = self.target == DType::I8 && self.shared != Shared::Given && scale == 0.0;
        let value = if of_zeros { 0.0 } else { x / scale };
        if self.target == DType::I8 { value } else { saturated(value) }
    }
}

/// Returns an integer of 8 bits; NaN counts as 0.
fn integer(value: f64, zero_point: f64) -> f64 {
    let rounded = if value.is_nan() { 0.0 } else { value.round_ties_even() };
    (rounded + zero_point).clamp(-128.0, 127.0)
}

impl Engine for Quantise {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        float(call, "input")?;
        let shape = &call.tensor("input")?.shape;
        let out = (self.target, shape.clone());
        if self.shared == Shared::Given {
            one_number(call, "scale", DType::F32)?;
            if call.opt_tensor("azp").is_some() {
                one_number(call, "azp", DType::I32)?;
            }
            return Ok(vec![out]);
        }
        if shape.is_empty() || width(shape) == 0 {
            return Err(InferError::shape("input", shape, "[.., n] with n at least 1"));
        }
        if self.shared == Shared::Tensor && shape.contains(&0) {
            return Err(InferError::shape("input", shape, "of one element or more"));
        }
        if call.opt_tensor("scale_ub").is_some() {
            one_number(call, "scale_ub", DType::F32)?;
        }
        let length = self.length(call, shape)?;
        let scales = match self.shared {
            Shared::Given | Shared::Tensor => vec![1],
            Shared::Row => with_width(shape, 1),
            Shared::Group if width(shape).is_multiple_of(length) => {
                with_width(shape, width(shape) / length)
            }
            Shared::Group => {
                let wanted = format!("[.., n] with n a multiple of {length}");
                return Err(InferError::shape("input", shape, wanted));
            }
        };
        Ok(vec![out, (DType::F32, scales)])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let (mut out, scales) = self.quotients(call, inputs)?;
        if self.target == DType::I8 {
            let zero_point = number(inputs, "azp").unwrap_or(0.0);
            out.mapv_inplace(|x| integer(x, zero_point));
        }
        let mut outputs = vec![out];
        for (_, shape) in self.infer(call)?.into_iter().skip(1) {
            outputs.push(array(&shape, scales.clone()));
        }
        Ok(outputs)
    }

    /// `sqrt(2) |x / s|`; a scale moves with its largest element, and by its own rounding.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let outputs = self.evaluate(call, inputs)?;
        let spread = |(index, output): (usize, Array)| {
            output.mapv(|y| if index == 0 { 2f64.sqrt() * y.abs() } else { y.abs() })
        };
        Ok(Some(outputs.into_iter().enumerate().map(spread).collect()))
    }

    /// A scale that is rounded up to a power of two jumps.
    fn rounds_differences(&self) -> bool {
        self.shared == Shared::Group
    }

    fn flops(&self, _call: &Call<'_>, n_out: usize) -> f64 {
        3.0 * n_out as f64
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 1e4 } else { 1e15 }
    }

    /// A scale of 2 makes halves of integers.
    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        if param.name == "scale" && call.case.distribution == InputDistribution::Exact {
            return Ok(Gen::Constant { value: 2.0 });
        }
        generators::by_role(self, call, param)
    }

    fn exact(&self, _call: &Call<'_>, _role: Role, row: usize) -> ExactLimits {
        if self.shared == Shared::Given {
            // Beyond the range of the type too: that tries rounding and clamping.
            return Ok((255, row));
        }
        Err("its scales are no integers")
    }

    /// A quotient that is, within the rounding of f32, half an integer may be rounded either way.
    fn canonicalise(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        got: &mut [Array],
        expected: &[Array],
    ) {
        let Ok((quotients, _)) = self.quotients(call, inputs) else { return };
        let ([got, ..], [expected, ..]) = (got, expected) else { return };
        if !self.leaves_choices() || got.shape() != quotients.shape() {
            return;
        }
        // With a zero point vLLM's kernel multiplies by the reciprocal of the scale.
        let reciprocal = call.opt_tensor("azp").is_some();
        let all = ndarray::Zip::from(got).and(expected).and(&quotients);
        all.for_each(|got, expected, quotient| {
            let from_half = (quotient - quotient.floor() - 0.5).abs();
            let exact = self.shared == Shared::Given && !reciprocal && from_half == 0.0;
            let either = !exact && from_half <= NEAR * quotient.abs();
            if either && (*got - expected).abs() <= 1.0 {
                *got = *expected;
            }
        });
    }

    fn leaves_choices(&self) -> bool {
        self.target == DType::I8
    }
}

/// Product of two f8e4m3 matrices whose blocks have scales.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockScaledMm;

/// The matrices with their extents and blocks.
struct Blocks {
    m: usize,
    n: usize,
    k: usize,
    block_n: usize,
    block_k: usize,
}

impl Blocks {
    fn of(call: &Call<'_>) -> Result<Self, InferError> {
        let (left, right) = (call.tensor("A")?, call.tensor("B")?);
        let (&[m, k], &[n, depth]) = (left.shape.as_slice(), right.shape.as_slice()) else {
            return Err(InferError::shape("A", &left.shape, "[m, k], and B [n, k]"));
        };
        if depth != k {
            return Err(InferError::shape("B", &right.shape, format!("[n, {k}]")));
        }
        let block = call.ints("block_size")?;
        let sizes: Vec<usize> = block
            .iter()
            .filter_map(|&size| usize::try_from(size).ok())
            .filter(|&size| size > 0)
            .collect();
        let &[block_n, block_k] = sizes.as_slice() else {
            return Err(InferError::value(
                "block_size",
                format!("{block:?}"),
                "two positive numbers",
            ));
        };
        Ok(Self { m, n, k, block_n, block_k })
    }

    /// Computes each element from those of its row, column and scales.
    fn map(&self, inputs: &Inputs<'_>, term: fn(f64) -> f64) -> Result<Array, Error> {
        let flat = |name: &str| inputs.get(name).map(flat);
        let (a, b, a_scales, b_scales) = (flat("A")?, flat("B")?, flat("As")?, flat("Bs")?);
        let (m, n, k) = (self.m, self.n, self.k);
        let count = k.div_ceil(self.block_k);
        let mut out = Vec::with_capacity(m * n);
        for row in 0..m {
            for column in 0..n {
                let block = |at: usize| {
                    let inner = at * self.block_k..k.min((at + 1) * self.block_k);
                    let product = sum(inner.map(|l| term(a[row * k + l] * b[column * k + l])));
                    let scale = b_scales[column / self.block_n * count + at];
                    product * term(a_scales[row * count + at] * scale)
                };
                out.push(sum((0..count).map(block)));
            }
        }
        Ok(array(&[m, n], out))
    }
}

impl Engine for BlockScaledMm {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let blocks = Blocks::of(call)?;
        for (name, dtype) in
            [("A", DType::F8E4M3), ("B", DType::F8E4M3), ("As", DType::F32), ("Bs", DType::F32)]
        {
            of_type(call, name, dtype)?;
        }
        let count = blocks.k.div_ceil(blocks.block_k);
        super::of_shape(call, "As", &[blocks.m, count])?;
        super::of_shape(call, "Bs", &[blocks.n.div_ceil(blocks.block_n), count])?;
        let dtype = call.opt_dtype("output_dtype")?.unwrap_or(DType::F16);
        if !dtype.is_float() || dtype.is_fp8() {
            return Err(InferError::value("output_dtype", dtype, "f16, bf16 or f32"));
        }
        Ok(vec![(dtype, vec![blocks.m, blocks.n])])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        Ok(vec![Blocks::of(call)?.map(inputs, |x| x)?])
    }

    /// `2 sqrt(Σ (a b s)²)`: both scales of a block are off, too.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let squares = Blocks::of(call)?.map(inputs, |x| x * x)?;
        Ok(Some(vec![squares.mapv(|square| 2.0 * square.sqrt())]))
    }

    fn sums_products(&self) -> bool {
        true
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        Blocks::of(call).map_or(1, |blocks| blocks.k.max(1))
    }

    fn flops(&self, call: &Call<'_>, n_out: usize) -> f64 {
        n_out as f64 * (2.0 * self.accumulation_len(call) as f64 + 3.0)
    }

    fn large(&self, _dtype: DType) -> f64 {
        100.0
    }
}
