//! The cross entropy of a linear layer's results.

use ndarray::{Array2, Ix2};

use crate::{record::DType, reference::Error};

use super::{
    super::super::{Array, Call, Engine, InferError, Inputs, Param, Shaped, shape::wider},
    super::{llm::one_float_type, sum::sum},
    array, flat, of_shape, of_type,
};

/// Cross entropy of `input @ weight^T + bias`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LinearCrossEntropy;

/// One row's part of the loss.
struct Row {
    loss: f64,
    /// Sum of the squares of (derivative to a logit times the logit).
    moved: f64,
}

/// Returns the logits.
fn logits(inputs: &Inputs<'_>) -> Result<Array2<f64>, Error> {
    let matrix = |name: &str| -> Result<Array2<f64>, Error> {
        let array = inputs.get(name)?.array().clone();
        Ok(array.into_dimensionality::<Ix2>().expect("it has two dimensions"))
    };
    let mut out = matrix("input")?.dot(&matrix("weight")?.t());
    if let Some(bias) = inputs.opt("bias").map(flat) {
        for mut row in out.rows_mut() {
            row.iter_mut().zip(&bias).for_each(|(x, bias)| *x += bias);
        }
    }
    Ok(out)
}

/// Returns the part of a row of logits.
fn row(logits: &[f64], class: usize, smoothing: f64) -> Row {
    let most = logits
        .iter()
        .copied()
        .fold(f64::NEG_INFINITY, |a, b| if b.is_nan() { b } else { a.max(b) });
    let total = sum(logits.iter().map(|x| (x - most).exp()));
    let log = |x: f64| x - most - total.ln();
    let even = smoothing / logits.len() as f64;
    let mut loss = 0.0;
    let mut moved = 0.0;
    for (at, &x) in logits.iter().enumerate() {
        let weight = if at == class { 1.0 - smoothing + even } else { even };
        if weight != 0.0 {
            loss -= weight * log(x);
        }
        moved += ((log(x).exp() - weight) * x).powi(2);
    }
    Row { loss, moved }
}

impl LinearCrossEntropy {
    /// Returns the rows that count.
    #[expect(clippy::cast_possible_truncation, reason = "classes are small")]
    fn rows(call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Row>, Error> {
        let (ignored, smoothing) = (call.int("ignore_index")?, call.number("label_smoothing")?);
        let logits = logits(inputs)?;
        let mut rows = Vec::new();
        for (at, (target, logits)) in
            flat(inputs.get("target")?).into_iter().zip(logits.rows()).enumerate()
        {
            let index = target as i64;
            if index == ignored {
                continue;
            }
            let bound = logits.len();
            let class = usize::try_from(index).ok().filter(|&class| class < bound);
            let name = || "target".to_owned();
            let class = class.ok_or_else(|| Error::Index { name: name(), at, index, bound })?;
            rows.push(row(&logits.to_vec(), class, smoothing));
        }
        Ok(rows)
    }

    fn divisor(call: &Call<'_>, rows: &[Row]) -> f64 {
        let mean = call.str("reduction").is_ok_and(|reduction| reduction == "mean");
        if mean { rows.len().max(1) as f64 } else { 1.0 }
    }
}

impl Engine for LinearCrossEntropy {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let dtype = one_float_type(call, &["input", "weight"])?;
        let (input, weight) = (&call.tensor("input")?.shape, &call.tensor("weight")?.shape);
        let (&[rows, hidden], &[classes, depth]) = (input.as_slice(), weight.as_slice()) else {
            return Err(InferError::shape("input", input, "[rows, h], and weight [v, h]"));
        };
        if hidden != depth || classes == 0 {
            return Err(InferError::shape("weight", weight, format!("[v, {hidden}]")));
        }
        of_type(call, "target", DType::I64)?;
        of_shape(call, "target", &[rows])?;
        if call.opt_tensor("bias").is_some() {
            of_type(call, "bias", dtype)?;
            of_shape(call, "bias", &[classes])?;
        }
        let reduction = call.str("reduction")?;
        if !matches!(reduction, "mean" | "sum") {
            return Err(InferError::value("reduction", reduction, "mean or sum"));
        }
        Ok(vec![(wider(dtype, DType::F32), Vec::new())])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let rows = Self::rows(call, inputs)?;
        let total = sum(rows.iter().map(|row| row.loss));
        Ok(vec![array(&[], vec![total / Self::divisor(call, &rows)])])
    }

    fn rounds_inside(&self) -> bool {
        true
    }

    /// Liger-Kernel rounds logits to the type of the inputs.
    fn rounded_inside(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
    ) -> Result<Option<Vec<Array>>, Error> {
        let rows = Self::rows(call, inputs)?;
        let moved = sum(rows.iter().map(|row| row.moved)).sqrt();
        Ok(Some(vec![array(&[], vec![moved / Self::divisor(call, &rows)])]))
    }

    fn sums_products(&self) -> bool {
        true
    }

    fn products_len(&self, call: &Call<'_>) -> usize {
        let last = call.tensor("input").map_or(1, |spec| super::width(&spec.shape));
        last + call.tensor("weight").map_or(1, |spec| spec.shape[0])
    }

    /// A logit, the exponentials of a row, the rows.
    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        self.products_len(call) + call.tensor("input").map_or(1, |spec| spec.shape[0])
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        let rows = call.tensor("input").map_or(0.0, |spec| spec.shape[0] as f64);
        2.0 * rows * call.tensor("weight").map_or(0.0, |spec| spec.numel() as f64)
    }

    fn index_bound(&self, call: &Call<'_>, _param: &Param) -> u64 {
        call.tensor("weight").map_or(1, |spec| spec.shape[0].max(1) as u64)
    }
}
