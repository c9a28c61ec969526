//! Layers of state space models: a causal filter per channel, and the scan of a state.

use crate::{
    parallel,
    record::{DType, Gen},
    reference::Error,
};

use super::{
    super::super::{
        Array, Call, DistributionError, Engine, InferError, Inputs, Param, Shaped, generators,
    },
    super::{llm::one_float_type, sum::sum},
    array, flat, of_shape, of_type, width,
};

fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

/// A filter per channel, which sees no later element.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CausalConv;

impl CausalConv {
    fn activates(call: &Call<'_>) -> Result<bool, InferError> {
        match call.opt_str("activation")? {
            None => Ok(false),
            Some("silu" | "swish") => Ok(true),
            Some(other) => Err(InferError::value("activation", other, "None, silu or swish")),
        }
    }
}

impl Engine for CausalConv {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let dtype = one_float_type(call, &["x", "weight"])?;
        let (x, weight) = (&call.tensor("x")?.shape, &call.tensor("weight")?.shape);
        let &[_, channels, _] = x.as_slice() else {
            return Err(InferError::shape("x", x, "[batch, channels, n]"));
        };
        if weight.len() != 2 || weight[0] != channels || weight[1] == 0 {
            return Err(InferError::shape("weight", weight, format!("[{channels}, w]")));
        }
        if call.opt_tensor("bias").is_some() {
            of_type(call, "bias", dtype)?;
            of_shape(call, "bias", &[channels])?;
        }
        Self::activates(call)?;
        Ok(vec![(dtype, x.clone())])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let (x, weight) = (inputs.get("x")?, inputs.get("weight")?);
        let (channels, length, taps) = (x.shape[1], x.shape[2], weight.shape[1]);
        let (values, weight) = (flat(x), flat(weight));
        let bias = inputs.opt("bias").map(flat);
        let activates = Self::activates(call)?;
        let row = |row: usize, x: &[f64]| {
            let channel = row % channels;
            let filter = &weight[channel * taps..][..taps];
            let element = |at: usize| {
                // Zeros before the first element count: they are NaN times an infinite weight.
                let tap = |tap: usize| (at + tap + 1).checked_sub(taps).map_or(0.0, |from| x[from]);
                let product = sum(filter.iter().enumerate().map(|(at, w)| tap(at) * w));
                let out = product + bias.as_ref().map_or(0.0, |bias| bias[channel]);
                if activates { silu(out) } else { out }
            };
            (0..length).map(element).collect::<Vec<f64>>()
        };
        Ok(vec![array(&x.shape, parallel::flat_map_rows(&values, length, &row))])
    }

    fn sums_products(&self) -> bool {
        true
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        call.tensor("weight").map_or(1, |spec| width(&spec.shape).max(1))
    }

    fn flops(&self, call: &Call<'_>, n_out: usize) -> f64 {
        2.0 * n_out as f64 * self.accumulation_len(call) as f64
    }

    fn large(&self, _dtype: DType) -> f64 {
        100.0
    }
}

/// A state per channel that is scaled and added to along the last dimension.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SelectiveScan;

impl SelectiveScan {
    fn states(call: &Call<'_>) -> usize {
        call.tensor("A").map_or(1, |spec| width(&spec.shape).max(1))
    }
}

/// `log(1 + exp(x))` without overflow.
fn softplus(x: f64) -> f64 {
    if x > 0.0 { x + (-x).exp().ln_1p() } else { x.exp().ln_1p() }
}

impl Engine for SelectiveScan {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let dtype = one_float_type(call, &["u", "delta", "B", "C"])?;
        let (u, a, b) =
            (&call.tensor("u")?.shape, &call.tensor("A")?.shape, &call.tensor("B")?.shape);
        let &[batch, channels, length] = u.as_slice() else {
            return Err(InferError::shape("u", u, "[batch, channels, n]"));
        };
        of_shape(call, "delta", u)?;
        let (&[rows, states], &[_, groups, ..]) = (a.as_slice(), b.as_slice()) else {
            return Err(InferError::shape("A", a, "[channels, states], and B of four dimensions"));
        };
        if rows != channels || groups == 0 || channels % groups != 0 {
            let wanted = format!("[{channels}, states], the groups of B dividing the channels");
            return Err(InferError::shape("A", a, wanted));
        }
        for name in ["B", "C"] {
            of_shape(call, name, &[batch, groups, states, length])?;
        }
        of_type(call, "A", DType::F32)?;
        for name in ["D", "delta_bias"] {
            if call.opt_tensor(name).is_some() {
                of_type(call, name, DType::F32)?;
                of_shape(call, name, &[channels])?;
            }
        }
        if call.opt_tensor("z").is_some() {
            of_type(call, "z", dtype)?;
            of_shape(call, "z", u)?;
        }
        Ok(vec![(dtype, u.clone()), (DType::F32, vec![batch, channels, states])])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let shape = &inputs.get("u")?.shape;
        let (batch, channels, length) = (shape[0], shape[1], shape[2]);
        let (states, groups) = (inputs.get("A")?.shape[1], inputs.get("B")?.shape[1]);
        let of = |name: &str| inputs.get(name).map(flat);
        let (u, delta, a, b, c) = (of("u")?, of("delta")?, of("A")?, of("B")?, of("C")?);
        let opt = |name: &str| inputs.opt(name).map(flat);
        let (d, z, bias) = (opt("D"), opt("z"), opt("delta_bias"));
        let soft = call.bool("delta_softplus")?;
        let row = |row: usize| {
            let channel = row % channels;
            let group = row / channels * groups + channel / (channels / groups);
            let mut state = vec![0.0; states];
            let element = |at: usize| {
                let from = row * length + at;
                let step = delta[from] + bias.as_ref().map_or(0.0, |bias| bias[channel]);
                let step = if soft { softplus(step) } else { step };
                for (number, x) in state.iter_mut().enumerate() {
                    let decay = (step * a[channel * states + number]).exp();
                    *x = decay * *x + step * b[(group * states + number) * length + at] * u[from];
                }
                let each = state.iter().enumerate();
                let sum =
                    sum(each.map(|(number, x)| x * c[(group * states + number) * length + at]));
                let out = sum + d.as_ref().map_or(0.0, |d| d[channel] * u[from]);
                z.as_ref().map_or(out, |z| out * silu(z[from]))
            };
            let out: Vec<f64> = (0..length).map(element).collect();
            (out, state)
        };
        let rows = parallel::map(batch * channels, &row);
        let (outs, last): (Vec<Vec<f64>>, Vec<Vec<f64>>) = rows.into_iter().unzip();
        Ok(vec![array(shape, outs.concat()), array(&[batch, channels, states], last.concat())])
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        let length = call.tensor("u").map_or(1, |spec| width(&spec.shape).max(1));
        length * Self::states(call)
    }

    /// Sequences without elements need no states.
    fn reads(&self, call: &Call<'_>, _name: &str) -> Option<usize> {
        call.opt_tensor("u").is_some_and(|spec| spec.numel() == 0).then_some(0)
    }

    fn flops(&self, call: &Call<'_>, n_out: usize) -> f64 {
        6.0 * n_out as f64 * Self::states(call) as f64
    }

    /// States decay, so that they stay small however long the row is.
    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        Ok(match param.name.as_str() {
            "A" => Gen::Uniform { low: -2.0, high: -0.125 },
            "delta" if !call.bool("delta_softplus").unwrap_or(false) => {
                Gen::Uniform { low: 0.015_625, high: 0.5 }
            }
            _ => return generators::by_role(self, call, param),
        })
    }
}
