//! Normalisation of channels: over groups of them, over the batch, with given statistics.

use ndarray::{IxDyn, arr1};

use crate::{
    parallel,
    record::{ArgValue, DType, Gen, TensorSpec},
    reference::{Error, Part, Runs},
};

use super::{
    super::{
        Array, Call, DistributionError, Engine, InferError, Inputs, Locality, Param, Role, Shaped,
        generators,
    },
    norm::{Affine, Stats, accept_infinite, check_affine, largest_hat, stats_dtype},
    reduce::floating,
};

/// Normalisations of `[N, C, ..]`, each with its op's outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChannelNorm {
    /// Groups of channels of one sample.
    Group,
    /// As [`ChannelNorm::Group`], with the statistics; extents are arguments.
    GroupStats,
    /// Single channels of one sample.
    Instance,
    /// Channels of the whole batch, with the statistics and the updated running ones.
    Batch,
    /// With running statistics.
    BatchInference,
}

/// `[N, C, S]`: samples, channels, elements of a channel, and the sets that are normalised together.
#[derive(Debug, Clone, Copy)]
struct Sets {
    samples: usize,
    channels: usize,
    inner: usize,
    /// Groups of channels of a sample; `None` for channels of the whole batch.
    groups: Option<usize>,
}

impl Sets {
    fn count(&self) -> usize {
        self.groups.map_or(self.channels, |groups| self.samples * groups)
    }

    /// Elements of a set.
    fn len(&self) -> usize {
        match self.groups {
            Some(groups) => self.channels / groups.max(1) * self.inner,
            None => self.samples * self.inner,
        }
    }

    /// Returns where the runs of a set begin, each with its channel.
    fn runs(self, set: usize) -> impl Iterator<Item = (usize, usize)> {
        let (samples, channels) = match self.groups {
            Some(groups) => {
                let (sample, group) = (set / groups, set % groups);
                let each = self.channels / groups;
                (sample..sample + 1, group * each..(group + 1) * each)
            }
            None => (0..self.samples, set..set + 1),
        };
        samples.flat_map(move |sample| {
            let start = move |channel| ((sample * self.channels + channel) * self.inner, channel);
            channels.clone().map(start)
        })
    }
}

fn natural(call: &Call<'_>, name: &str) -> Result<usize, InferError> {
    let value = call.int(name)?;
    usize::try_from(value).map_err(|_| InferError::value(name, value, "at least 0"))
}

/// The tensors that running statistics are given as.
const RUNNING: [&str; 2] = ["running_mean", "running_var"];

impl ChannelNorm {
    fn sets(self, call: &Call<'_>) -> Result<Sets, InferError> {
        let spec = call.tensor("input")?;
        let (&[samples, channels], inner) = match spec.shape.split_first_chunk::<2>() {
            Some((outer, inner)) => (outer, inner.iter().product()),
            None => {
                return Err(InferError::shape("input", &spec.shape, "[N, C, ..]"));
            }
        };
        let sets = Sets { samples, channels, inner, groups: None };
        Ok(match self {
            Self::Group => Sets { groups: Some(natural(call, "num_groups")?), ..sets },
            Self::GroupStats => Sets {
                samples: natural(call, "N")?,
                channels: natural(call, "C")?,
                inner: natural(call, "HxW")?,
                groups: Some(natural(call, "group")?),
            },
            Self::Instance => Sets { groups: Some(channels), ..sets },
            Self::Batch | Self::BatchInference => sets,
        })
    }

    /// Returns whether the running statistics are used.
    fn uses_running(self, call: &Call<'_>) -> Result<bool, InferError> {
        Ok(match self {
            Self::Group | Self::GroupStats => false,
            Self::Instance => !call.bool("use_input_stats")?,
            Self::Batch => !call.bool("training")?,
            Self::BatchInference => true,
        })
    }

    fn check_sets(self, sets: &Sets, spec: &TensorSpec) -> Result<(), InferError> {
        let Some(groups) = sets.groups else { return Ok(()) };
        if self != Self::Instance && (groups == 0 || !sets.channels.is_multiple_of(groups)) {
            let wanted = format!("a positive divisor of {} channels", sets.channels);
            return Err(InferError::value("num_groups", groups, wanted));
        }
        let elements = sets.samples.checked_mul(sets.channels);
        if elements.and_then(|elements| elements.checked_mul(sets.inner)) != Some(spec.numel()) {
            let wanted =
                format!("of {} * {} * {} elements", sets.samples, sets.channels, sets.inner);
            return Err(InferError::shape("input", &spec.shape, wanted));
        }
        if self == Self::GroupStats && sets.len() == 0 {
            return Err(InferError::shape("input", &spec.shape, "groups of at least one element"));
        }
        Ok(())
    }

    /// Checks the running statistics and returns their types, where they are given.
    fn check_running(self, call: &Call<'_>, sets: &Sets) -> Result<Vec<DType>, InferError> {
        let spec = call.tensor("input")?;
        let given: Vec<DType> = RUNNING
            .iter()
            .filter_map(|name| call.opt_tensor(name))
            .map(|spec| spec.dtype)
            .collect();
        if given.len() == 1 || (given.is_empty() && self.uses_running(call)?) {
            let wanted = "given, as is running_var";
            return Err(InferError::value("running_mean", "None", wanted));
        }
        check_affine(call, spec, &RUNNING, &[sets.channels])?;
        if self == Self::Batch && call.bool("training")? && spec.numel() == 0 {
            return Err(InferError::shape("input", &spec.shape, "not empty in training"));
        }
        Ok(given)
    }
}

/// The tensors of a call, decoded.
struct Values<'a> {
    sets: Sets,
    x: &'a [f64],
    gain: Option<&'a [f64]>,
    bias: Option<&'a [f64]>,
    running: Option<(&'a [f64], &'a [f64])>,
    /// Whether the running statistics are used.
    fixed: bool,
    eps: f64,
}

impl<'a> Values<'a> {
    fn read(norm: ChannelNorm, call: &Call<'_>, inputs: &'a Inputs<'_>) -> Result<Self, Error> {
        let values = |name: &str| inputs.opt(name).and_then(|input| input.array().as_slice());
        Ok(Self {
            sets: norm.sets(call)?,
            x: values("input").unwrap_or(&[]),
            gain: values("weight"),
            bias: values("bias"),
            running: values("running_mean").zip(values("running_var")),
            fixed: norm.uses_running(call)?,
            eps: call.number("eps")?,
        })
    }

    fn gathered(&self, set: usize) -> Vec<f64> {
        let runs = self.sets.runs(set);
        runs.flat_map(|(start, _)| &self.x[start..start + self.sets.inner]).copied().collect()
    }

    /// The statistics of a set, and whether they depend on its elements.
    fn stats(&self, set: usize, x: &[f64]) -> Stats {
        match self.running.filter(|_| self.fixed) {
            Some((mean, var)) => {
                let channel = set % self.sets.channels;
                let scale = 1.0 / (var[channel] + self.eps).sqrt();
                Stats { mean: mean[channel], var: var[channel], scale }
            }
            None => Stats::of(true, x, self.eps),
        }
    }

    fn affine(&self, channel: usize) -> Affine {
        Affine {
            gain: self.gain.map(|gain| gain[channel]),
            bias: self.bias.map(|bias| bias[channel]),
        }
    }

    /// The squared change of the normalised elements of a set.
    fn moved(&self, stats: &Stats, x: &[f64]) -> Vec<f64> {
        if !self.fixed {
            return stats.moved(true, x);
        }
        let var = 0.5 * stats.var * stats.scale * stats.scale;
        let one = |&x: &f64| {
            let own = (x * x + stats.mean * stats.mean) * stats.scale * stats.scale;
            own + (stats.hat(x) * var).powi(2)
        };
        x.iter().map(one).collect()
    }

    /// Fills the output set by set: `formula` is called with the statistics and the elements of a
    /// set, and returns the elements that `finish` makes with the channel's weights.
    fn filled<T: Send>(
        &self,
        formula: impl Fn(&Stats, &[f64]) -> Vec<T> + Sync,
        finish: impl Fn(Affine, &T) -> f64,
    ) -> Vec<f64> {
        let mut out = vec![0.0; self.x.len()];
        if self.x.is_empty() {
            return out;
        }
        let results = parallel::map(self.sets.count(), &|set| {
            let x = self.gathered(set);
            formula(&self.stats(set, &x), &x)
        });
        for (set, result) in results.iter().enumerate() {
            let runs = self.sets.runs(set).zip(result.chunks(self.sets.inner.max(1)));
            for ((start, channel), run) in runs {
                let affine = self.affine(channel);
                for (out, value) in out[start..].iter_mut().zip(run) {
                    *out = finish(affine, value);
                }
            }
        }
        out
    }

    /// How the statistics of a set move when every element, or every given statistic, does.
    fn stats_spread(&self, stats: &Stats, x: &[f64]) -> (f64, f64) {
        if self.fixed {
            return (stats.mean.abs(), 0.5 * stats.var * stats.scale.powi(3));
        }
        stats.spread(x)
    }

    /// Returns two statistics of each set.
    fn statistics(&self, of: impl Fn(&Stats, &[f64]) -> (f64, f64)) -> (Vec<f64>, Vec<f64>) {
        let one = |set: usize| {
            let x = self.gathered(set);
            of(&self.stats(set, &x), &x)
        };
        (0..self.sets.count()).map(one).unzip()
    }
}

/// Running statistics after an update, or how they move.
struct Update {
    momentum: f64,
    /// Elements behind each of the new statistics.
    n: f64,
}

impl Update {
    fn values(&self, stats: &Stats, old: (f64, f64)) -> (f64, f64) {
        let var = stats.var * self.n / (self.n - 1.0);
        let mixed = |old: f64, new: f64| (1.0 - self.momentum) * old + self.momentum * new;
        (mixed(old.0, stats.mean), mixed(old.1, var))
    }

    fn spread(&self, stats: &Stats, x: &[f64], old: (f64, f64)) -> (f64, f64) {
        let (mean, scale) = stats.spread(x);
        // The scale moves by -scale³ / 2 times the variance's movement.
        let var = 2.0 * scale / stats.scale.powi(3) * self.n / (self.n - 1.0);
        let mixed = |old: f64, new: f64| ((1.0 - self.momentum) * old).hypot(self.momentum * new);
        (mixed(old.0, mean), mixed(old.1, var))
    }
}

impl ChannelNorm {
    /// Collects the outputs: the tensor, statistics, and running statistics where there are some.
    fn outputs(
        self,
        call: &Call<'_>,
        values: &Values<'_>,
        out: Vec<f64>,
        statistics: impl Fn(&Stats, &[f64]) -> (f64, f64),
        update: impl Fn(&Update, &Stats, &[f64], (f64, f64)) -> (f64, f64),
    ) -> Result<Vec<Array>, Error> {
        let shape = call.tensor("input")?.shape.clone();
        let out = Array::from_shape_vec(IxDyn(&shape), out).expect("one value per element");
        let flat = |values: Vec<f64>| arr1(&values).into_dyn();
        let mut outputs = vec![out];
        match self {
            Self::Group | Self::Instance => return Ok(outputs),
            Self::GroupStats => {
                let sets = values.sets;
                let shape = IxDyn(&[sets.samples, sets.groups.unwrap_or(1)]);
                let (mean, scale) = values.statistics(statistics);
                for values in [mean, scale] {
                    outputs.push(
                        Array::from_shape_vec(shape.clone(), values).expect("one value per group"),
                    );
                }
                return Ok(outputs);
            }
            Self::Batch | Self::BatchInference => {
                let (mean, scale) = values.statistics(statistics);
                outputs.extend([flat(mean), flat(scale)]);
            }
        }
        let Some((mean, var)) = values.running.filter(|_| self == Self::Batch) else {
            return Ok(outputs);
        };
        if values.fixed {
            outputs.extend([flat(mean.to_vec()), flat(var.to_vec())]);
            return Ok(outputs);
        }
        let rule = Update { momentum: call.number("momentum")?, n: values.sets.len() as f64 };
        let one = |set: usize| {
            let x = values.gathered(set);
            update(&rule, &values.stats(set, &x), &x, (mean[set], var[set]))
        };
        let (mean, var) = (0..values.sets.count()).map(one).unzip();
        outputs.extend([flat(mean), flat(var)]);
        Ok(outputs)
    }
}

impl Engine for ChannelNorm {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = floating(call, "input")?;
        let sets = self.sets(call)?;
        self.check_sets(&sets, spec)?;
        check_affine(call, spec, &["weight", "bias"], &[sets.channels])?;
        call.number("eps")?;
        let mut outputs = vec![(spec.dtype, spec.shape.clone())];
        let stats = |dtype: DType, shape: Vec<usize>| [(dtype, shape.clone()), (dtype, shape)];
        match self {
            Self::Group => {}
            Self::GroupStats => {
                // Those of 16-bit groups are f32 only beside weights of f32.
                let mixed = |name: &&str| {
                    call.opt_tensor(name).is_some_and(|weight| weight.dtype != spec.dtype)
                };
                let mixed = ["weight", "bias"].iter().any(mixed);
                let dtype = if mixed { DType::F32 } else { spec.dtype };
                outputs.extend(stats(dtype, vec![sets.samples, sets.groups.unwrap_or(1)]));
            }
            Self::Instance => {
                self.check_running(call, &sets)?;
            }
            Self::BatchInference => {
                self.check_running(call, &sets)?;
                outputs.extend(stats(stats_dtype(spec.dtype), vec![sets.channels]));
            }
            Self::Batch => {
                let running = self.check_running(call, &sets)?;
                call.number("momentum")?;
                outputs.extend(stats(stats_dtype(spec.dtype), vec![sets.channels]));
                outputs.extend(running.into_iter().map(|dtype| (dtype, vec![sets.channels])));
            }
        }
        Ok(outputs)
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let values = Values::read(*self, call, inputs)?;
        let hats = |stats: &Stats, x: &[f64]| x.iter().map(|&x| stats.hat(x)).collect();
        let out = values.filled(hats, |affine, &hat: &f64| affine.apply(hat));
        let grouped = *self == Self::GroupStats;
        let statistics = |stats: &Stats, _: &[f64]| {
            (if grouped { stats.updated_mean() } else { stats.mean }, stats.scale)
        };
        self.outputs(call, &values, out, statistics, |rule, stats, _, old| rule.values(stats, old))
    }

    /// As of a row norm; given statistics move on their own.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let values = Values::read(*self, call, inputs)?;
        let both = |stats: &Stats, x: &[f64]| {
            let moved = values.moved(stats, x);
            x.iter().zip(moved).map(|(&x, moved)| (stats.hat(x), moved)).collect()
        };
        let out = values.filled(both, |affine, &(hat, moved)| affine.spread(hat, moved));
        let statistics = |stats: &Stats, x: &[f64]| values.stats_spread(stats, x);
        self.outputs(call, &values, out, statistics, Update::spread).map(Some)
    }

    /// The set's largest normalised value, with gain and bias, where its own statistics are used;
    /// none for statistics.
    fn magnitude(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let values = Values::read(*self, call, inputs)?;
        if values.fixed {
            return Ok(None);
        }
        let largest = |stats: &Stats, x: &[f64]| vec![largest_hat(stats, x); x.len()];
        let out = values.filled(largest, |affine, &largest: &f64| affine.scale(largest));
        let shape = IxDyn(&call.tensor("input")?.shape);
        Ok(Some(vec![Array::from_shape_vec(shape, out).expect("one value per element")]))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        if self.uses_running(call).unwrap_or(false) {
            return 1;
        }
        self.sets(call).map_or(1, |sets| sets.len())
    }

    fn locality(&self, call: &Call<'_>) -> Locality {
        match self.sets(call) {
            Ok(sets) if sets.groups.is_some() => Locality::Blocks(sets.len()),
            _ => Locality::Whole,
        }
    }

    /// One sample, whose groups are those that are wanted.
    fn blocks(&self, call: &Call<'_>, blocks: &[usize]) -> Option<Part> {
        let sets = self.sets(call).ok()?;
        let groups = sets.groups.filter(|&groups| groups > 0)?;
        let each = sets.channels / groups;
        let own: Vec<usize> = blocks.iter().map(|block| block % groups).collect();
        let channels = blocks.len() * each;
        let mut case = call.case.clone();
        let mut inputs = Vec::new();
        for arg in &mut case.args {
            match &mut arg.value {
                ArgValue::Tensor(tensor) => {
                    let is_input = arg.name == "input";
                    let (runs, shape) = if is_input {
                        (Runs::blocks(blocks, sets.len()), vec![1, channels, sets.inner])
                    } else {
                        (Runs::blocks(&own, each), vec![channels])
                    };
                    inputs.push(runs);
                    tensor.spec = TensorSpec::contiguous(tensor.spec.dtype, &shape);
                }
                ArgValue::Int(value) => match arg.name.as_str() {
                    "num_groups" | "group" => *value = i64::try_from(blocks.len()).ok()?,
                    "N" => *value = 1,
                    "C" => *value = i64::try_from(channels).ok()?,
                    _ => {}
                },
                _ => {}
            }
        }
        let mut outputs = vec![Runs::blocks(blocks, sets.len())];
        if *self == Self::GroupStats {
            outputs.extend([Runs::blocks(blocks, 1), Runs::blocks(blocks, 1)]);
        }
        Some(Part { case, inputs, outputs })
    }

    fn reads(&self, call: &Call<'_>, name: &str) -> Option<usize> {
        let empty = call.tensor("input").is_ok_and(|spec| spec.numel() == 0);
        let own = *self == Self::Instance && call.bool("use_input_stats").unwrap_or(false);
        let skipped = match name {
            "weight" | "bias" => empty,
            "running_mean" | "running_var" => own,
            _ => false,
        };
        skipped.then_some(0)
    }

    fn flops(&self, _call: &Call<'_>, n_out: usize) -> f64 {
        8.0 * n_out as f64
    }

    /// Variances are positive whatever the input looks like.
    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        if param.role == Role::Positive {
            return Ok(Gen::LogNormal { std: 0.5 });
        }
        generators::by_role(self, call, param)
    }

    /// The mean of a set with an infinity may be that or NaN, and the running mean with it.
    fn canonicalise(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        got: &mut [Array],
        expected: &[Array],
    ) {
        let Ok(values) = Values::read(*self, call, inputs) else { return };
        if !self.leaves_choices() || values.fixed {
            return;
        }
        for output in [1, 3] {
            let (Some(got), Some(expected)) = (got.get_mut(output), expected.get(output)) else {
                return;
            };
            for (set, (got, &expected)) in got.iter_mut().zip(expected).enumerate() {
                accept_infinite(got, expected, &values.gathered(set));
            }
        }
    }

    fn leaves_choices(&self) -> bool {
        matches!(self, Self::GroupStats | Self::Batch)
    }
}
