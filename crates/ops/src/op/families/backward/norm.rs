//! Gradients of normalisations, of the statistics that the forward op saved.

use ndarray::IxDyn;

use crate::{
    record::{DType, Gen, TensorSpec},
    reference::Error,
};

use super::{
    super::{
        super::{
            Array, Call, DistributionError, Engine, InferError, Inputs, Param, Shaped, generators,
        },
        norm::{check_affine, check_param_dtype},
        sum::Sum,
    },
    N_GRADIENTS, check, masked, output_mask, sizes,
};

/// The forward op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NormBackward {
    /// Over the last dimensions.
    Layer,
    /// Over groups of channels.
    Group,
    /// Over all but the channels.
    Batch,
}

/// Statistics, each with the one of whose type it is.
const PAIRS: [(&str, &str); 4] = [
    ("running_mean", "running_mean"),
    ("running_var", "running_mean"),
    ("save_mean", "save_mean"),
    ("save_invstd", "save_mean"),
];

/// How the elements of the input, `[outer, channels, inner]`, are normalised.
struct Sets {
    outer: usize,
    channels: usize,
    inner: usize,
    /// Channels of a set; 0 where a set is a channel of all of `outer`.
    together: usize,
    /// Whether a gain belongs to each element of a row instead of each channel.
    by_element: bool,
}

impl Sets {
    fn count(&self) -> usize {
        match self.together {
            0 => self.channels,
            together => self.outer * (self.channels / together),
        }
    }

    fn len(&self) -> usize {
        match self.together {
            0 => self.outer * self.inner,
            together => together * self.inner,
        }
    }

    fn gains(&self) -> usize {
        if self.by_element { self.inner } else { self.channels }
    }

    /// Returns the set and the gain of an element.
    fn place(&self, index: usize) -> (usize, usize) {
        let channel = index / self.inner;
        let (row, channel) = (channel / self.channels, channel % self.channels);
        let set = match self.together {
            0 => channel,
            together => row * (self.channels / together) + channel / together,
        };
        (set, if self.by_element { index % self.inner } else { channel })
    }
}

/// The saved statistics and the sums of a call.
struct Sums<'a> {
    sets: Sets,
    grad: &'a [f64],
    x: &'a [f64],
    means: Vec<f64>,
    scales: Vec<f64>,
    weight: Option<Vec<f64>>,
    /// Whether the statistics depend on the input.
    own: bool,
    /// Per set, the means of the weighted gradients, and of these times the normalised elements.
    moments: Vec<[f64; 2]>,
    /// Per gain, the gradients of weight and bias.
    affine: Vec<[f64; 2]>,
}

impl Sums<'_> {
    fn hat(&self, index: usize, set: usize) -> f64 {
        (self.x[index] - self.means[set]) * self.scales[set]
    }

    fn gain(&self, gain: usize) -> f64 {
        self.weight.as_ref().map_or(1.0, |weight| weight[gain])
    }

    fn add(&mut self) {
        let mut moments = vec![[Sum::default(); 2]; self.sets.count()];
        let mut affine = vec![[Sum::default(); 2]; self.sets.gains()];
        for (index, &grad) in self.grad.iter().enumerate() {
            let (set, gain) = self.sets.place(index);
            let hat = self.hat(index, set);
            let weighted = grad * self.gain(gain);
            moments[set][0].add(weighted);
            moments[set][1].add(weighted * hat);
            affine[gain][0].add(grad * hat);
            affine[gain][1].add(grad);
        }
        let len = self.sets.len() as f64;
        self.moments = moments.into_iter().map(|both| both.map(|sum| sum.value() / len)).collect();
        self.affine = affine.into_iter().map(|both| both.map(Sum::value)).collect();
    }

    /// Returns the gradient of an input's element, or the scale of its terms.
    fn input(&self, index: usize, scale: bool) -> f64 {
        let (set, gain) = self.sets.place(index);
        let weighted = self.grad[index] * self.gain(gain);
        let [plain, turned] = if self.own { self.moments[set] } else { [0.0; 2] };
        if scale {
            let hat = (self.x[index].abs() + self.means[set].abs()) * self.scales[set];
            return (weighted.abs() + plain.abs() + hat.abs() * turned.abs())
                * self.scales[set].abs();
        }
        if self.own {
            (weighted - plain - self.hat(index, set) * turned) * self.scales[set]
        } else {
            weighted * self.scales[set]
        }
    }
}

fn values(inputs: &Inputs<'_>, name: &str) -> Option<Vec<f64>> {
    inputs.opt(name).map(|input| input.array().iter().copied().collect())
}

impl NormBackward {
    fn sets(self, call: &Call<'_>) -> Result<Sets, InferError> {
        let spec = call.tensor("input")?;
        let wrong = |name: &str, value: i64| {
            Err(InferError::value(
                name,
                value,
                format!("that of an input of shape {:?}", spec.shape),
            ))
        };
        match self {
            Self::Layer => {
                let row = sizes(call, "normalized_shape")?;
                if row.is_empty() || !spec.shape.ends_with(&row) {
                    let wanted = format!("the last dimensions of {:?}", spec.shape);
                    return Err(InferError::value("normalized_shape", format!("{row:?}"), wanted));
                }
                let inner: usize = row.iter().product();
                let outer = spec.shape[..spec.ndim() - row.len()].iter().product();
                Ok(Sets { outer, channels: 1, inner, together: 1, by_element: true })
            }
            Self::Group => {
                let mut read = [0; 4];
                for (name, to) in ["N", "C", "HxW", "group"].into_iter().zip(&mut read) {
                    let value = call.int(name)?;
                    let Ok(size) = usize::try_from(value) else { return wrong(name, value) };
                    *to = size;
                }
                let [outer, channels, inner, groups] = read;
                let n = [outer, channels, inner].into_iter().try_fold(1, usize::checked_mul);
                if n != Some(spec.numel()) {
                    return wrong("N", call.int("N")?);
                }
                if groups == 0 || !channels.is_multiple_of(groups) {
                    return wrong("group", call.int("group")?);
                }
                Ok(Sets {
                    outer,
                    channels,
                    inner,
                    together: (channels / groups).max(1),
                    by_element: false,
                })
            }
            Self::Batch => {
                let [outer, channels, ref rest @ ..] = spec.shape[..] else {
                    return Err(InferError::shape("input", &spec.shape, "[n, c, ..]"));
                };
                let inner = rest.iter().product();
                Ok(Sets { outer, channels, inner, together: 0, by_element: false })
            }
        }
    }

    /// Whether the statistics depend on the input; those of running averages do not.
    fn own(self, call: &Call<'_>) -> Result<bool, InferError> {
        if self == Self::Batch { call.bool("train") } else { Ok(true) }
    }

    /// Returns the names of the statistics.
    fn statistics(self, own: bool) -> [&'static str; 2] {
        match self {
            Self::Layer | Self::Group => ["mean", "rstd"],
            Self::Batch if own => ["save_mean", "save_invstd"],
            Self::Batch => ["running_mean", "running_var"],
        }
    }

    const fn grad(self) -> &'static str {
        "grad_out"
    }

    fn check_statistics(
        self,
        call: &Call<'_>,
        spec: &TensorSpec,
        sets: &Sets,
    ) -> Result<(), InferError> {
        for name in self.statistics(self.own(call)?) {
            let statistic = call.tensor(name)?;
            check_param_dtype(name, statistic.dtype, spec.dtype)?;
            if statistic.numel() != sets.count() {
                let wanted = format!("of {} elements", sets.count());
                return Err(InferError::shape(name, &statistic.shape, wanted));
            }
        }
        if self == Self::Batch {
            // PyTorch looks at those too that it does not use.
            for (name, other) in PAIRS {
                let Some(statistic) = call.opt_tensor(name) else { continue };
                check_param_dtype(name, statistic.dtype, spec.dtype)?;
                let dtype = call.opt_tensor(other).map(|other| other.dtype);
                if let Some(dtype) = dtype.filter(|dtype| *dtype != statistic.dtype) {
                    let wanted = format!("{dtype}, as `{other}`");
                    return Err(InferError::dtype(name, statistic.dtype, wanted));
                }
                if statistic.ndim() != 1 {
                    return Err(InferError::shape(name, &statistic.shape, "of one dimension"));
                }
            }
        }
        Ok(())
    }

    fn sums<'a>(self, call: &Call<'_>, inputs: &'a Inputs<'_>) -> Result<Sums<'a>, Error> {
        let own = self.own(call)?;
        let [mean, scale] = self.statistics(own);
        let slice = |name: &str| -> Result<&'a [f64], Error> {
            Ok(inputs.get(name)?.array().as_slice().unwrap_or(&[]))
        };
        let mut scales = values(inputs, scale).unwrap_or_default();
        if !own {
            let eps = call.number("eps")?;
            scales.iter_mut().for_each(|var| *var = 1.0 / (*var + eps).sqrt());
        }
        let mut sums = Sums {
            sets: self.sets(call)?,
            grad: slice(self.grad())?,
            x: slice("input")?,
            means: values(inputs, mean).unwrap_or_default(),
            scales,
            weight: values(inputs, "weight"),
            own,
            moments: Vec::new(),
            affine: Vec::new(),
        };
        sums.add();
        Ok(sums)
    }

    /// Returns the outputs from the values of the first one and, per gain, of the others.
    fn outputs(
        self,
        call: &Call<'_>,
        first: impl Fn(usize) -> f64,
        others: impl Fn(usize) -> [f64; 2],
    ) -> Result<Vec<Array>, Error> {
        let shapes = self.infer(call)?;
        let outputs = shapes.into_iter().enumerate().map(|(output, (_, shape))| {
            let n: usize = shape.iter().product();
            let value = |index| if output == 0 { first(index) } else { others(index)[output - 1] };
            Array::from_shape_vec(IxDyn(&shape), (0..n).map(value).collect())
                .expect("one value per element")
        });
        Ok(outputs.collect())
    }
}

impl Engine for NormBackward {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = super::super::reduce::floating(call, "input")?;
        check(self.grad(), call.tensor(self.grad())?, spec.dtype, &spec.shape)?;
        let sets = self.sets(call)?;
        self.check_statistics(call, spec, &sets)?;
        let shape = match self {
            Self::Layer => sizes(call, "normalized_shape")?,
            _ => vec![sets.channels],
        };
        check_affine(call, spec, &["weight", "bias"], &shape)?;
        let mask = output_mask(call)?;
        let of = |name: &str| call.opt_tensor(name).map(|spec| spec.dtype);
        // PyTorch has nothing to make these gradients alike.
        let lacking = match self {
            Self::Layer => [(1, "weight"), (2, "bias")]
                .into_iter()
                .find(|&(at, name)| mask[at] && of(name).is_none()),
            _ => None,
        };
        if let Some((_, name)) = lacking {
            return Err(InferError::value("output_mask", "1", format!("0, as there is no {name}")));
        }
        let weight = of("weight").unwrap_or(spec.dtype);
        let outputs: [Shaped; N_GRADIENTS] = [
            (spec.dtype, spec.shape.clone()),
            (weight, shape.clone()),
            (of("bias").unwrap_or(weight), shape),
        ];
        Ok(masked(mask, outputs))
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let sums = self.sums(call, inputs)?;
        self.outputs(call, |index| sums.input(index, false), |gain| sums.affine[gain])
    }

    fn magnitude(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let sums = self.sums(call, inputs)?;
        Ok(Some(self.outputs(call, |index| sums.input(index, true), |_| [0.0; 2])?))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        let (Ok(sets), Ok(spec)) = (self.sets(call), call.tensor("input")) else { return 1 };
        sets.len().max(spec.numel() / sets.gains().max(1))
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        call.tensor("input").map_or(0.0, |spec| 12.0 * spec.numel() as f64)
    }

    fn least_flops(&self, _call: &Call<'_>, _n_out: usize) -> f64 {
        0.0
    }

    /// A gradient that is not asked for reads nothing.
    fn reads(&self, call: &Call<'_>, name: &str) -> Option<usize> {
        let mask = output_mask(call).ok()?;
        let own = self.own(call).ok()?;
        let empty = call.tensor("input").ok()?.numel() == 0;
        let needed = match name {
            _ if empty => false,
            "grad_out" => mask.contains(&true),
            "bias" => false,
            "weight" => mask[0],
            "input" => mask[1] || (mask[0] && own),
            _ if self.statistics(own).contains(&name) => mask[0] || mask[1],
            _ => false,
        };
        (!needed).then_some(0)
    }

    fn degree(&self) -> u32 {
        3
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 20.0 } else { 1e9 }
    }

    /// Statistics are those of tame inputs.
    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        if param.name.ends_with("mean") {
            return Ok(Gen::Normal { mean: 0.0, std: 0.5 });
        }
        generators::by_role(self, call, param)
    }
}
