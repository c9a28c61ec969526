//! Divergences of rows of probabilities, and a layer in place of a norm.

use crate::{
    record::{DType, Gen},
    reference::Error,
};

use super::{
    super::super::{
        Array, Call, DistributionError, Engine, InferError, Inputs, Locality, Param, Role, Shaped,
        generators, shape::wider,
    },
    super::{llm::one_float_type, sum::sum},
    array, flat, of_shape, of_type, width,
};

/// A divergence of two tensors of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Divergence {
    /// The generalised Jensen-Shannon divergence of probabilities given by their logarithms.
    JensenShannon,
    /// Half the sum of the distances.
    TotalVariation,
}

/// Terms of one element, whose sum it adds to the divergence.
type Terms = Vec<f64>;

impl Divergence {
    const fn names(self) -> [&'static str; 2] {
        match self {
            Self::JensenShannon => ["input", "target"],
            Self::TotalVariation => ["p", "q"],
        }
    }

    /// Returns the terms of an element (x, y).
    #[expect(clippy::float_cmp, reason = "the ends of the interval have formulas of their own")]
    fn terms(self, beta: f64, x: f64, y: f64) -> Terms {
        if self == Self::TotalVariation {
            return vec![(x - y).abs() / 2.0];
        }
        if beta == 0.0 {
            return vec![y.exp() * y, -y.exp() * x];
        }
        if beta == 1.0 {
            return vec![x.exp() * x, -x.exp() * y];
        }
        let (p, q) = (beta * y.exp(), (1.0 - beta) * x.exp());
        vec![p * y, q * x, -(p + q) * (p + q).ln()]
    }

    /// Computes all outputs of a function of the terms of an element.
    #[expect(clippy::float_cmp, reason = "a label is the number or it is not")]
    fn map(
        self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        element: fn(&[f64]) -> f64,
    ) -> Result<Array, Error> {
        let [x, y] = self.names();
        let (x, y) = (inputs.get(x)?, inputs.get(y)?);
        let width = width(&x.shape);
        let beta = call.opt_number("beta")?.unwrap_or(0.0);
        let ignored = call.int("ignore_index")? as f64;
        let labels = inputs.opt("shift_labels").map(flat);
        let counts = |row: usize| labels.as_ref().is_none_or(|labels| labels[row] != ignored);
        let pairs = flat(x).into_iter().zip(flat(y)).enumerate();
        let values: Vec<f64> = pairs
            .map(
                |(at, (x, y))| {
                    if counts(at / width) { element(&self.terms(beta, x, y)) } else { 0.0 }
                },
            )
            .collect();
        let rows = (0..x.shape[0]).filter(|&row| counts(row)).count();
        let over = match call.opt_str("reduction").unwrap_or(None) {
            Some("none") => return Ok(array(&x.shape, values)),
            Some("sum") => 1,
            Some("mean") => rows * width,
            _ => rows,
        };
        let total = sum(values);
        Ok(array(&[], vec![if over > 0 { total / over as f64 } else { total }]))
    }
}

impl Engine for Divergence {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let [x, y] = self.names();
        let dtype = one_float_type(call, &[x, y])?;
        let shape = &call.tensor(x)?.shape;
        let &[rows, _] = shape.as_slice() else {
            return Err(InferError::shape(x, shape, "[rows, n]"));
        };
        of_shape(call, y, shape)?;
        if call.opt_tensor("shift_labels").is_some() {
            of_type(call, "shift_labels", DType::I64)?;
            of_shape(call, "shift_labels", &[rows])?;
        }
        if let Some(beta) = call.opt_number("beta")?.filter(|beta| !(0.0..=1.0).contains(beta)) {
            return Err(InferError::value("beta", beta, "in 0..=1"));
        }
        let shape = match call.opt_str("reduction").unwrap_or(None) {
            Some("none") => shape.clone(),
            None | Some("batchmean" | "sum" | "mean") => Vec::new(),
            Some(other) => return Err(InferError::value("reduction", other, "a reduction")),
        };
        let dtype = match self {
            // Liger-Kernel casts the divergence back, and the distance not.
            Self::TotalVariation => wider(dtype, DType::F32),
            Self::JensenShannon => dtype,
        };
        Ok(vec![(dtype, shape)])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        Ok(vec![self.map(call, inputs, |terms| terms.iter().sum())?])
    }

    fn magnitude(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        Ok(Some(vec![self.map(call, inputs, |terms| terms.iter().map(|x| x.abs()).sum())?]))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        let none = matches!(call.opt_str("reduction"), Ok(Some("none")));
        if none { 1 } else { call.first().map_or(1, |spec| spec.numel().max(1)) }
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        8.0 * call.first().map_or(0.0, |spec| spec.numel() as f64)
    }

    /// Logarithms of probabilities are not positive.
    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        if *self == Self::JensenShannon && matches!(param.role, Role::Main | Role::Second) {
            return Ok(Gen::Uniform { low: -8.0, high: -0.125 });
        }
        generators::by_role(self, call, param)
    }

    fn index_bound(&self, call: &Call<'_>, _param: &Param) -> u64 {
        call.first().map_or(1, |spec| width(&spec.shape).max(1) as u64)
    }
}

/// `gamma * tanh(alpha * x) + beta`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DynamicTanh;

impl Engine for DynamicTanh {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let dtype = one_float_type(call, &["x", "alpha", "gamma"])?;
        let shape = &call.tensor("x")?.shape;
        if shape.is_empty() {
            return Err(InferError::shape("x", shape, "of one dimension or more"));
        }
        of_shape(call, "alpha", &[1])?;
        of_shape(call, "gamma", &[width(shape)])?;
        if call.opt_tensor("beta").is_some() {
            of_type(call, "beta", dtype)?;
            of_shape(call, "beta", &[width(shape)])?;
        }
        Ok(vec![(dtype, shape.clone())])
    }

    fn evaluate(&self, _call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let x = inputs.get("x")?;
        let (alpha, gamma) =
            (inputs.get("alpha")?.array()[[0].as_slice()], flat(inputs.get("gamma")?));
        let beta = inputs.opt("beta").map(flat);
        let width = gamma.len().max(1);
        let element = |(at, x): (usize, f64)| {
            let scaled = gamma[at % width] * (alpha * x).tanh();
            beta.as_ref().map_or(scaled, |beta| scaled + beta[at % width])
        };
        let values = flat(x).into_iter().enumerate().map(element).collect();
        Ok(vec![array(&x.shape, values)])
    }

    fn locality(&self, _call: &Call<'_>) -> Locality {
        Locality::Rows(1)
    }

    fn flops(&self, _call: &Call<'_>, n_out: usize) -> f64 {
        4.0 * n_out as f64
    }
}
