//! Losses of rows of classes: negative log-likelihood and cross entropy.

use ndarray::IxDyn;

use crate::{
    parallel,
    record::{DType, Gen, TensorSpec},
    reference::Error,
};

use super::{
    super::{
        super::{
            Array, Call, DistributionError, Engine, ExactLimits, InferError, Inputs, Param, Role,
            Shaped, generators, integer_limit,
        },
        softmax::{maximum, probabilities},
        sum::sum,
    },
    Reduction, check_float, scalar,
};

/// Where the classes of a tensor are: `[c]`, `[n, c]` or `[n, c, d1, ..]`.
pub(crate) struct Layout {
    /// The number of classes.
    pub(crate) classes: usize,
    inner: usize,
    /// The shape without the classes: that of the losses.
    pub(crate) rows: Vec<usize>,
}

impl Layout {
    fn of(spec: &TensorSpec) -> Result<Self, InferError> {
        let shape = &spec.shape;
        if shape.is_empty() {
            return Err(InferError::shape("self", shape, "[c], [n, c] or [n, c, ..]"));
        }
        let dim = usize::from(shape.len() > 1);
        let mut rows = shape.clone();
        let classes = rows.remove(dim);
        Ok(Self { classes, inner: shape[dim + 1..].iter().product(), rows })
    }

    /// Returns the layout of a negative log-likelihood: of rows, or of the places of `images`.
    pub(crate) fn of_likelihood(spec: &TensorSpec, images: bool) -> Result<Self, InferError> {
        let (fits, wanted) = match images {
            true => (spec.ndim() == 4, "[n, c, h, w]"),
            false => (matches!(spec.ndim(), 1 | 2), "[c] or [n, c]"),
        };
        if fits { Self::of(spec) } else { Err(InferError::shape("self", &spec.shape, wanted)) }
    }

    /// Returns the number of rows.
    pub(crate) fn n_rows(&self) -> usize {
        self.rows.iter().product()
    }

    /// Returns the place of a row's class among the elements.
    pub(crate) fn place(&self, row: usize, class: usize) -> usize {
        let inner = self.inner.max(1);
        (row / inner * self.classes + class) * inner + row % inner
    }
}

/// Checks the type of target classes: images take no bytes.
pub(crate) fn check_classes(target: &TensorSpec, images: bool) -> Result<(), InferError> {
    if target.dtype == DType::I64 || (target.dtype == DType::U8 && !images) {
        return Ok(());
    }
    Err(InferError::dtype("target", target.dtype, "i64"))
}

/// Checks target classes and weights.
fn check(call: &Call<'_>, layout: &Layout, images: bool) -> Result<(), InferError> {
    let spec = call.tensor("self")?;
    let target = call.tensor("target")?;
    check_classes(target, images)?;
    if target.shape != layout.rows {
        return Err(InferError::shape("target", &target.shape, format!("{:?}", layout.rows)));
    }
    check_weight(call, spec, layout)
}

fn check_weight(call: &Call<'_>, spec: &TensorSpec, layout: &Layout) -> Result<(), InferError> {
    let Some(weight) = call.opt_tensor("weight") else { return Ok(()) };
    if weight.dtype != spec.dtype {
        return Err(InferError::dtype("weight", weight.dtype, spec.dtype.name()));
    }
    if weight.shape != [layout.classes] {
        let wanted = format!("[{}]", layout.classes);
        return Err(InferError::shape("weight", &weight.shape, wanted));
    }
    Ok(())
}

/// Returns whether rows of a call may be of the class that is ignored: where it is one of the
/// classes, and where its case has such targets.
fn may_ignore(call: &Call<'_>) -> bool {
    let ignored = call.opt_int("ignore_index").ok().flatten();
    let class = ignored.and_then(|class| u64::try_from(class).ok());
    call.case.names_ignored || class.is_some_and(|class| class < n_classes(call))
}

/// The rows of a call, and how they count.
struct Rows {
    layout: Layout,
    values: Vec<f64>,
    /// The class of each row; `None` where it is ignored.
    targets: Vec<Option<usize>>,
    weights: Option<Vec<f64>>,
}

/// Reads the class of each row; a row of `ignore_index` has none.
fn targets(
    call: &Call<'_>,
    inputs: &Inputs<'_>,
    bound: usize,
) -> Result<Vec<Option<usize>>, Error> {
    let ignored = call.int("ignore_index")?;
    let class = |(at, &target): (usize, &f64)| {
        #[expect(clippy::cast_possible_truncation, reason = "targets are small integers")]
        let index = target as i64;
        if index == ignored {
            return Ok(None);
        }
        match usize::try_from(index) {
            Ok(class) if class < bound => Ok(Some(class)),
            _ => Err(Error::Index { name: "target".to_owned(), at, index, bound }),
        }
    };
    inputs.get("target")?.array().iter().enumerate().map(class).collect()
}

impl Rows {
    fn read(call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Self, Error> {
        let layout = Layout::of(call.tensor("self")?)?;
        let targets =
            if by_probability(call)? { Vec::new() } else { targets(call, inputs, layout.classes)? };
        let weights = inputs.opt("weight").map(|input| input.array().iter().copied().collect());
        let values = inputs.get("self")?.array().iter().copied().collect();
        Ok(Self { layout, values, targets, weights })
    }

    /// Returns the elements of one row.
    fn row(&self, number: usize) -> Vec<f64> {
        let Layout { classes, inner, .. } = self.layout;
        row(&self.values, number, classes, inner)
    }

    fn weight(&self, class: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[class])
    }

    /// Returns the sum of the weights of the rows that count.
    fn total_weight(&self) -> f64 {
        sum(self.targets.iter().flatten().map(|&class| self.weight(class)))
    }

    /// Applies a function of a row's number and class; ignored rows give 0.
    fn map(&self, formula: impl Fn(usize, usize) -> f64 + Sync) -> Array {
        let value = |row: usize| self.targets[row].map_or(0.0, |target| formula(row, target));
        let values = parallel::map(self.targets.len(), &value);
        Array::from_shape_vec(IxDyn(&self.layout.rows), values).expect("one value per row")
    }
}

fn row(values: &[f64], number: usize, classes: usize, inner: usize) -> Vec<f64> {
    let (outer, within) = (number / inner.max(1), number % inner.max(1));
    (0..classes).map(|class| values[(outer * classes + class) * inner + within]).collect()
}

/// Negative log-likelihood at a class index, and the sum of the weights that a mean divides by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nll {
    /// Whether each place of an image has a class.
    pub(crate) images: bool,
}

impl Engine for Nll {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = call.tensor("self")?;
        check_float("self", spec)?;
        let layout = Layout::of_likelihood(spec, self.images)?;
        check(call, &layout, self.images)?;
        let shape = Reduction::of(call)?.shape(&layout.rows);
        Ok(vec![(spec.dtype, shape), (spec.dtype, Vec::new())])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let rows = Rows::read(call, inputs)?;
        let reduction = Reduction::of(call)?;
        let losses = rows.map(|row, class| -rows.weight(class) * rows.row(row)[class]);
        let total = rows.total_weight();
        // As PyTorch has it: a single row without a batch is never kept, it is a sum of one.
        let kept = reduction == Reduction::Keep && !rows.layout.rows.is_empty();
        Ok(vec![reduction.apply(losses, total), scalar(if kept { 0.0 } else { total })])
    }

    /// |x| per row, where there are no weights.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let rows = Rows::read(call, inputs)?;
        if rows.weights.is_some() {
            return Ok(None);
        }
        let spread = rows.map(|row, class| rows.row(row)[class].abs());
        let spread = Reduction::of(call)?.spread(spread, rows.total_weight());
        Ok(Some(vec![spread, scalar(0.0)]))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        match Reduction::of(call) {
            Ok(Reduction::Keep) => 1,
            _ => call.tensor("target").map_or(1, |spec| spec.numel()),
        }
    }

    /// Every row may be of the class that is ignored.
    fn reads(&self, _call: &Call<'_>, name: &str) -> Option<usize> {
        (name != "target").then_some(0)
    }

    fn least_flops(&self, _call: &Call<'_>, _n_out: usize) -> f64 {
        0.0
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        2.0 * call.tensor("target").map_or(0.0, |spec| spec.numel() as f64)
    }

    fn index_bound(&self, call: &Call<'_>, _param: &Param) -> u64 {
        n_classes(call)
    }

    fn exact(&self, call: &Call<'_>, _role: Role, row: usize) -> ExactLimits {
        if call.opt_tensor("weight").is_some() || call.case.names_ignored {
            return Err("it is exact only where all rows count the same");
        }
        let (dtype, len) = (call.case.dtype, self.accumulation_len(call).max(1));
        let sum = Reduction::of(call).unwrap_or(Reduction::Keep).exact_sum(dtype, len)?;
        Ok((integer_limit(dtype).min(sum / len), row))
    }
}

fn n_classes(call: &Call<'_>) -> u64 {
    let layout = call.tensor("self").ok().and_then(|spec| Layout::of(spec).ok());
    layout.map_or(1, |layout| layout.classes as u64)
}

/// Returns whether the target of a call holds a probability per class.
fn by_probability(call: &Call<'_>) -> Result<bool, InferError> {
    let target = call.tensor("target")?;
    Ok(target.dtype.is_float() && target.shape == call.tensor("self")?.shape)
}

/// Negative log-likelihood of softmax at a class index, or of a distribution over the classes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CrossEntropy;

/// The logarithms of the softmax of a row.
fn log_probabilities(row: &[f64]) -> Vec<f64> {
    let max = maximum(row);
    let log_total = sum(row.iter().map(|x| (x - max).exp())).ln();
    row.iter().map(|x| (x - max) - log_total).collect()
}

/// Returns `label_smoothing`, which is in `0..=1`.
fn smoothing(call: &Call<'_>) -> Result<f64, InferError> {
    let smoothing = call.number("label_smoothing")?;
    if (0.0..=1.0).contains(&smoothing) {
        return Ok(smoothing);
    }
    Err(InferError::value("label_smoothing", smoothing, "in 0..=1"))
}

impl CrossEntropy {
    /// Computes the losses for class indices, and the divisor of a mean.
    fn by_class(rows: &Rows, smoothing: f64) -> (Array, f64) {
        let losses = rows.map(|number, class| {
            let log_p = log_probabilities(&rows.row(number));
            let own = -(1.0 - smoothing) * rows.weight(class) * log_p[class];
            if smoothing == 0.0 {
                return own;
            }
            let all = sum(log_p.iter().enumerate().map(|(class, x)| rows.weight(class) * x));
            own - smoothing / log_p.len() as f64 * all
        });
        (losses, rows.total_weight())
    }

    /// Computes the losses for probabilities of classes, and the divisor of a mean.
    fn by_probability(rows: &Rows, target: &[f64], smoothing: f64) -> (Array, f64) {
        let Layout { classes, inner, .. } = rows.layout;
        let rest = smoothing / classes.max(1) as f64;
        let loss = |number: usize| {
            let log_p = log_probabilities(&rows.row(number));
            let wanted = row(target, number, classes, inner);
            let term = |(class, (q, log_p)): (usize, (f64, &f64))| {
                rows.weight(class) * (q * (1.0 - smoothing) + rest) * log_p
            };
            -sum(wanted.into_iter().zip(&log_p).enumerate().map(term))
        };
        let values = parallel::map(rows.layout.n_rows(), &loss);
        let losses = Array::from_shape_vec(IxDyn(&rows.layout.rows), values);
        (losses.expect("one value per row"), rows.layout.n_rows() as f64)
    }
}

impl Engine for CrossEntropy {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = call.tensor("self")?;
        check_float("self", spec)?;
        smoothing(call)?;
        let layout = Layout::of(spec)?;
        if by_probability(call)? {
            check_weight(call, spec, &layout)?;
            let ignored = call.int("ignore_index")?;
            if ignored >= 0 {
                let wanted = "negative: probabilities of classes are never ignored";
                return Err(InferError::value("ignore_index", ignored, wanted));
            }
        } else {
            check(call, &layout, false)?;
        }
        Ok(vec![(spec.dtype, Reduction::of(call)?.shape(&layout.rows))])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let rows = Rows::read(call, inputs)?;
        let smoothing = smoothing(call)?;
        let (losses, count) = if by_probability(call)? {
            let target: Vec<f64> = inputs.get("target")?.array().iter().copied().collect();
            Self::by_probability(&rows, &target, smoothing)
        } else {
            Self::by_class(&rows, smoothing)
        };
        Ok(vec![Reduction::of(call)?.apply(losses, count)])
    }

    /// `sqrt(Σ_i ((p_i - q_i) x_i)²)` per row, q the smoothed target; measured where there are
    /// weights or probabilities, which are off too.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let rows = Rows::read(call, inputs)?;
        if rows.weights.is_some() || by_probability(call)? {
            return Ok(None);
        }
        let smoothing = smoothing(call)?;
        let spread = rows.map(|number, target| {
            let row = rows.row(number);
            let p = probabilities(&row);
            let rest = smoothing / row.len() as f64;
            let square = |(class, (&x, &p)): (usize, (&f64, &f64))| {
                let wanted = if class == target { 1.0 - smoothing + rest } else { rest };
                if x.is_finite() { ((p - wanted) * x).powi(2) } else { 0.0 }
            };
            sum(row.iter().zip(&p).enumerate().map(square)).sqrt()
        });
        Ok(Some(vec![Reduction::of(call)?.spread(spread, rows.total_weight())]))
    }

    /// The largest finite |logit| of each row, at least 1: `x - max - log(Σ)` cancels where the
    /// target has nearly all of the probability.
    fn magnitude(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let rows = Rows::read(call, inputs)?;
        let scale = |number: usize| {
            let row = rows.row(number);
            row.iter().filter(|x| x.is_finite()).fold(1.0, |scale: f64, x| x.abs().max(scale))
        };
        if by_probability(call)? {
            let values = (0..rows.layout.n_rows()).map(scale).collect();
            let scale = Array::from_shape_vec(IxDyn(&rows.layout.rows), values);
            let count = rows.layout.n_rows().max(1) as f64;
            let scale = scale.expect("one value per row");
            return Ok(Some(vec![Reduction::of(call)?.apply(scale, count)]));
        }
        let scales = rows.map(|number, class| scale(number) * rows.weight(class).abs());
        let total = rows.total_weight();
        let count = if total == 0.0 { 1.0 } else { total };
        Ok(Some(vec![Reduction::of(call)?.apply(scales, count)]))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        let Ok(layout) = call.tensor("self").and_then(Layout::of) else { return 1 };
        match Reduction::of(call) {
            Ok(Reduction::Keep) => layout.classes,
            _ => layout.classes.max(layout.n_rows()),
        }
    }

    /// Rows that may be ignored count for nothing, nor do weights of classes that no row has.
    fn reads(&self, call: &Call<'_>, name: &str) -> Option<usize> {
        let by_probability = by_probability(call).unwrap_or(false);
        match name {
            "self" => (!by_probability && may_ignore(call)).then_some(0),
            "weight" => (!by_probability).then_some(0),
            _ => None,
        }
    }

    fn least_flops(&self, call: &Call<'_>, n_out: usize) -> f64 {
        let all = by_probability(call).unwrap_or(false) || !may_ignore(call);
        if all { self.flops(call, n_out) } else { 0.0 }
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        4.0 * call.tensor("self").map_or(0.0, |spec| spec.numel() as f64)
    }

    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        let probable = param.name == "target" && by_probability(call).unwrap_or(false);
        match call.tensor("self") {
            Ok(spec) if probable && spec.ndim() <= 2 => Ok(Gen::Simplex),
            Ok(_) if probable => Ok(Gen::Uniform { low: 0.0, high: 1.0 }),
            _ => generators::by_role(self, call, param),
        }
    }

    fn index_bound(&self, call: &Call<'_>, _param: &Param) -> u64 {
        n_classes(call)
    }

    fn large(&self, _dtype: DType) -> f64 {
        1e4
    }

    fn shifted(&self) -> (f64, f64) {
        (1000.0, 3.0)
    }
}
