//! Which dimensions of the factors a contraction runs over, and which are summed.

use crate::record::{DType, TensorSpec};

use super::super::super::{Call, InferError, Matrices, Shaped, broadcast, promote};
use super::Contraction;

/// Label of a dimension of extent 1 that is repeated.
const REPEATED: u8 = b'1';

/// A factor or the result: its dimensions by their labels.
type Labels = Vec<u8>;

/// A contraction in index notation: dimensions with one label run together, those that the result
/// lacks are summed.
#[derive(Debug, Clone)]
struct Form {
    left: (&'static str, Labels),
    right: (&'static str, Labels),
    out: Labels,
    addend: Option<&'static str>,
}

/// Where a factor's dimension takes its index from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Axis {
    /// From a dimension of the result.
    Out(usize),
    /// From a summed dimension.
    Sum(usize),
    /// It is repeated.
    Repeated,
}

/// One factor of the products.
#[derive(Debug, Clone)]
pub(crate) struct Factor {
    /// The argument.
    pub name: &'static str,
    /// The loop that each of its dimensions runs with.
    pub axes: Vec<Axis>,
}

/// A contraction of known extents.
#[derive(Debug, Clone)]
pub(crate) struct ContractionShape {
    /// Shape of the result.
    pub out: Vec<usize>,
    /// Extents of the summed dimensions.
    pub sums: Vec<usize>,
    pub left: Factor,
    pub right: Factor,
    /// The tensor that is added, where there is one.
    pub addend: Option<&'static str>,
    /// Element type of the result.
    pub dtype: DType,
}

impl Form {
    fn new(left: (&'static str, &str), right: (&'static str, &str), out: &str) -> Self {
        let labels = |(name, text): (&'static str, &str)| (name, text.as_bytes().to_vec());
        Self {
            left: labels(left),
            right: labels(right),
            out: out.as_bytes().to_vec(),
            addend: None,
        }
    }

    fn plus(self, addend: &'static str) -> Self {
        Self { addend: Some(addend), ..self }
    }
}

/// Labels of leading dimensions that a factor may have any number of; capitals, so that they do
/// not run with those of the matrices.
fn leading(n: usize) -> Labels {
    (b'A'..).take(n).collect()
}

fn form(op: Contraction, call: &Call<'_>) -> Result<Form, InferError> {
    Ok(match op {
        Contraction::Mm => Form::new(("self", "mk"), ("mat2", "kn"), "mn"),
        Contraction::Bmm => Form::new(("self", "bmk"), ("mat2", "bkn"), "bmn"),
        Contraction::AddMm => Form::new(("mat1", "mk"), ("mat2", "kn"), "mn").plus("self"),
        Contraction::BAddBmm => Form::new(("batch1", "bmk"), ("batch2", "bkn"), "bmn").plus("self"),
        Contraction::AddBmm => Form::new(("batch1", "bmk"), ("batch2", "bkn"), "mn").plus("self"),
        Contraction::Mv => Form::new(("self", "mk"), ("vec", "k"), "m"),
        Contraction::AddMv => Form::new(("mat", "mk"), ("vec", "k"), "m").plus("self"),
        Contraction::Dot => Form::new(("self", "k"), ("tensor", "k"), ""),
        Contraction::Outer => Form::new(("self", "m"), ("vec2", "n"), "mn"),
        Contraction::AddR => Form::new(("vec1", "m"), ("vec2", "n"), "mn").plus("self"),
        Contraction::Linear => linear(call)?,
        Contraction::MatMul => matmul(call)?,
    })
}

fn linear(call: &Call<'_>) -> Result<Form, InferError> {
    let (input, weight) = (call.tensor("input")?, call.tensor("weight")?);
    let Some(lead) = input.ndim().checked_sub(1) else {
        return Err(InferError::shape("input", &input.shape, "[.., k]"));
    };
    let lead = leading(lead);
    let (weight, last): (&[u8], &[u8]) = match weight.ndim() {
        1 => (b"k", b""),
        2 => (b"nk", b"n"),
        _ => return Err(InferError::shape("weight", &weight.shape, "[n, k] or [k]")),
    };
    let bias = call.opt_tensor("bias").map(|_| "bias");
    if bias.is_some() && last.is_empty() {
        let wanted = "left out where weight has one dimension";
        return Err(InferError::value("bias", "a tensor", wanted));
    }
    Ok(Form {
        left: ("input", [&lead, b"k".as_slice()].concat()),
        right: ("weight", weight.to_vec()),
        out: [&lead, last].concat(),
        addend: bias,
    })
}

fn matmul(call: &Call<'_>) -> Result<Form, InferError> {
    let (left, right) = (call.tensor("self")?, call.tensor("other")?);
    for (name, spec) in [("self", left), ("other", right)] {
        if spec.ndim() == 0 {
            return Err(InferError::shape(name, &spec.shape, "of at least one dimension"));
        }
    }
    let batch = |spec: &TensorSpec| spec.shape[..spec.ndim().saturating_sub(2)].to_vec();
    let (left_batch, right_batch) = (batch(left), batch(right));
    let common = broadcast(&left_batch, &right_batch)?;
    let labels = leading(common.len());
    let own = |batch: &[usize]| -> Labels {
        let skipped = common.len() - batch.len();
        let pairs = batch.iter().zip(&common[skipped..]).zip(&labels[skipped..]);
        pairs
            .map(|((extent, common), &label)| if extent == common { label } else { REPEATED })
            .collect()
    };
    let (rows, columns) = (left.ndim() > 1, right.ndim() > 1);
    let pick = |text: &'static [u8], there: bool| if there { text } else { &text[..0] };
    Ok(Form {
        left: ("self", [&own(&left_batch), pick(b"m", rows), b"k"].concat()),
        right: ("other", [&own(&right_batch), b"k".as_slice(), pick(b"n", columns)].concat()),
        out: [&labels, pick(b"m", rows), pick(b"n", columns)].concat(),
        addend: None,
    })
}

/// Extents by label.
#[derive(Default)]
struct Extents(Vec<(u8, usize)>);

impl Extents {
    fn of(&self, label: u8) -> Option<usize> {
        self.0.iter().find(|(of, _)| *of == label).map(|(_, extent)| *extent)
    }

    /// Takes the extents of a factor.
    fn bind(&mut self, name: &str, labels: &[u8], spec: &TensorSpec) -> Result<(), InferError> {
        let fits = labels.len() == spec.ndim()
            && labels.iter().zip(&spec.shape).all(|(&label, &extent)| {
                label == REPEATED || self.of(label).is_none_or(|known| known == extent)
            });
        if !fits {
            return Err(InferError::shape(name, &spec.shape, self.wanted(labels)));
        }
        self.0.extend(labels.iter().copied().zip(spec.shape.iter().copied()));
        Ok(())
    }

    /// Spells a shape with the extents that are known.
    fn wanted(&self, labels: &[u8]) -> String {
        let extent = |&label: &u8| match self.of(label) {
            Some(extent) => extent.to_string(),
            None => char::from(label).to_string(),
        };
        format!("[{}]", labels.iter().map(extent).collect::<Vec<_>>().join(", "))
    }
}

impl ContractionShape {
    /// Takes a call apart.
    pub(crate) fn of(op: Contraction, call: &Call<'_>) -> Result<Self, InferError> {
        let form = form(op, call)?;
        let dtype = dtype(op, &form, call)?;
        Self::bound(&form, dtype, call)
    }

    /// Takes a product of fp8 matrices `self` and `mat2` apart; the type is that of `self`.
    pub(crate) fn of_fp8(call: &Call<'_>) -> Result<Self, InferError> {
        let form = Form::new(("self", "mk"), ("mat2", "kn"), "mn");
        for name in ["self", "mat2"] {
            let spec = call.tensor(name)?;
            if !spec.dtype.is_fp8() {
                return Err(InferError::dtype(name, spec.dtype, "f8e4m3 or f8e5m2"));
            }
        }
        Self::bound(&form, call.tensor("self")?.dtype, call)
    }

    fn bound(form: &Form, dtype: DType, call: &Call<'_>) -> Result<Self, InferError> {
        let mut extents = Extents::default();
        for (name, labels) in [&form.left, &form.right] {
            extents.bind(name, labels, call.tensor(name)?)?;
        }
        let shape = |labels: &[u8]| -> Vec<usize> {
            labels.iter().map(|&label| extents.of(label).unwrap_or(1)).collect()
        };
        let is_sum = |label: &&u8| **label != REPEATED && !form.out.contains(label);
        let sums: Labels = form.left.1.iter().filter(is_sum).copied().collect();
        let place = |labels: &[u8], label| labels.iter().position(|&of| of == label);
        let factor = |(name, labels): &(&'static str, Labels)| {
            let axis = |&label: &u8| match (place(&form.out, label), place(&sums, label)) {
                (Some(dim), _) => Axis::Out(dim),
                (None, Some(dim)) => Axis::Sum(dim),
                (None, None) => Axis::Repeated,
            };
            Factor { name, axes: labels.iter().map(axis).collect() }
        };
        let plan = Self {
            out: shape(&form.out),
            sums: shape(&sums),
            left: factor(&form.left),
            right: factor(&form.right),
            addend: form.addend,
            dtype,
        };
        plan.check_addend(call)?;
        Ok(plan)
    }

    fn check_addend(&self, call: &Call<'_>) -> Result<(), InferError> {
        let Some(name) = self.addend else { return Ok(()) };
        let spec = call.tensor(name)?;
        let fits = broadcast(&spec.shape, &self.out).is_ok_and(|shape| shape == self.out);
        if fits {
            return Ok(());
        }
        let wanted = format!("{:?} or what broadcasts to it", self.out);
        Err(InferError::shape(name, &spec.shape, wanted))
    }

    /// Returns the number of products behind one element of the result.
    pub(crate) fn n_terms(&self) -> usize {
        self.sums.iter().product()
    }

    /// Returns the arguments, where rows and columns are all there is.
    pub(crate) fn matrices(&self) -> Option<Matrices> {
        let column = self.out.len().checked_sub(1).filter(|&rows| rows > 0)?;
        let left = (0..column).map(Axis::Out).chain([Axis::Sum(0)]);
        let right = [Axis::Sum(0), Axis::Out(column)];
        let transposed = self.right.axes.iter().rev().eq(&right);
        let fits = self.left.axes.iter().copied().eq(left);
        (fits && (transposed || self.right.axes == right)).then_some(Matrices {
            left: self.left.name,
            right: self.right.name,
            transposed,
            addend: self.addend,
        })
    }

    /// Returns element type and shape of the result.
    pub(crate) fn shaped(self) -> Shaped {
        (self.dtype, self.out)
    }
}

/// Returns the type of the result: that of all tensors, which only outer promotes.
fn dtype(op: Contraction, form: &Form, call: &Call<'_>) -> Result<DType, InferError> {
    let left = call.tensor(form.left.0)?;
    if op == Contraction::Outer {
        return Ok(promote([left, call.tensor(form.right.0)?], &[]));
    }
    if left.dtype == DType::Bool || left.dtype.is_fp8() {
        let wanted = "an integer or floating-point type of at least 16 bits";
        return Err(InferError::dtype(form.left.0, left.dtype, wanted));
    }
    // PyTorch copies addmv's addend into the result first, whatever type it has.
    let converts = op == Contraction::AddMv && left.dtype.is_float() && !call.case.in_place;
    let addend = form.addend.filter(|_| !converts);
    for name in [Some(form.right.0), addend].into_iter().flatten() {
        let spec = call.tensor(name)?;
        if spec.dtype != left.dtype {
            return Err(InferError::dtype(name, spec.dtype, left.dtype.name()));
        }
    }
    Ok(left.dtype)
}
