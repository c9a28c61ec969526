//! Recurrent layers: a cell that is run along a sequence, layer upon layer, in one direction or both.

use ndarray::IxDyn;

use crate::{
    parallel,
    record::{DType, Gen, InputDistribution, TensorSpec},
    reference::Error,
};

use super::super::{
    Array, Call, DistributionError, Engine, InferError, Inputs, Param, Shaped, generators,
};

/// The step of a recurrent layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cell {
    /// Gates in PyTorch's order: input, forget, cell, output.
    Lstm,
    /// Gates in PyTorch's order: reset, update, new.
    Gru,
    /// A hyperbolic tangent.
    Tanh,
    /// A rectifier.
    Relu,
}

/// The extents of a call.
#[derive(Debug, Clone, Copy)]
struct Extents {
    steps: usize,
    batch: usize,
    inputs: usize,
    hidden: usize,
    layers: usize,
    directions: usize,
    /// Whether there are biases.
    biased: bool,
    batch_first: bool,
}

/// The weights of a layer in one direction; biases are empty where there are none.
struct Weights {
    input: Vec<f64>,
    hidden: Vec<f64>,
    input_bias: Vec<f64>,
    hidden_bias: Vec<f64>,
}

/// The results of a layer in one direction on one sequence.
struct Sequence {
    /// The hidden state of each step, in the order of the steps.
    states: Vec<f64>,
    hidden: Vec<f64>,
    cell: Vec<f64>,
}

impl Extents {
    /// Returns how many weights and biases a layer has in one direction.
    const fn per_layer(&self) -> usize {
        if self.biased { 4 } else { 2 }
    }

    /// Returns the width of a layer's input.
    const fn width(&self, layer: usize) -> usize {
        if layer == 0 { self.inputs } else { self.hidden * self.directions }
    }

    fn output(&self) -> Vec<usize> {
        let (outer, inner) =
            if self.batch_first { (self.batch, self.steps) } else { (self.steps, self.batch) };
        vec![outer, inner, self.hidden * self.directions]
    }

    fn state(&self) -> Vec<usize> {
        vec![self.layers * self.directions, self.batch, self.hidden]
    }

    /// Returns where the row of a step of a sequence begins, in rows.
    const fn row(&self, step: usize, sequence: usize) -> usize {
        if self.batch_first { sequence * self.steps + step } else { step * self.batch + sequence }
    }
}

impl Cell {
    const fn gates(self) -> usize {
        match self {
            Self::Lstm => 4,
            Self::Gru => 3,
            Self::Tanh | Self::Relu => 1,
        }
    }

    /// Returns the layouts of the initial states: one, and for an LSTM that of the cells.
    fn initial<'a>(self, call: &Call<'a>) -> Result<Vec<&'a TensorSpec>, InferError> {
        if self != Self::Lstm {
            return Ok(vec![call.tensor("hx")?]);
        }
        let given: Vec<_> = call.tensors("hx")?.into_iter().flatten().collect();
        if given.len() != 2 {
            return Err(InferError::value(
                "hx",
                given.len(),
                "two tensors: hidden and cell states",
            ));
        }
        Ok(given)
    }

    fn extents(self, call: &Call<'_>) -> Result<Extents, InferError> {
        let x = &call.tensor("input")?.shape;
        let hx = &self.initial(call)?[0].shape;
        let (&[outer, inner, inputs], &[_, _, hidden]) = (x.as_slice(), hx.as_slice()) else {
            let wanted = "of three dimensions, as the initial states";
            return Err(InferError::shape("input", x, wanted));
        };
        let batch_first = call.bool("batch_first")?;
        let (steps, batch) = if batch_first { (inner, outer) } else { (outer, inner) };
        let layers = match usize::try_from(call.int("num_layers")?) {
            Ok(layers) if 0 < layers && layers < 1 << 16 => layers,
            _ => {
                return Err(InferError::value("num_layers", call.int("num_layers")?, "at least 1"));
            }
        };
        if steps == 0 || hidden == 0 {
            return Err(InferError::shape("input", x, "at least one step, and a hidden state"));
        }
        let is_random = call.bool("train")? && call.number("dropout")? != 0.0 && 1 < layers;
        if is_random {
            let dropout = call.number("dropout")?;
            return Err(InferError::value("dropout", dropout, "0: results would be random"));
        }
        Ok(Extents {
            steps,
            batch,
            inputs,
            hidden,
            layers,
            directions: if call.bool("bidirectional")? { 2 } else { 1 },
            biased: call.bool("has_biases")?,
            batch_first,
        })
    }

    /// Refuses weights that do not fit.
    fn check_weights(
        self,
        call: &Call<'_>,
        extents: &Extents,
        dtype: DType,
    ) -> Result<(), InferError> {
        let given: Vec<_> = call.tensors("params")?.into_iter().flatten().collect();
        let per_layer = extents.per_layer();
        let n_wanted = extents.layers * extents.directions * per_layer;
        if given.len() != n_wanted {
            let wanted = format!("{n_wanted} tensors: projections are not known");
            return Err(InferError::value("params", given.len(), wanted));
        }
        let rows = self.gates() * extents.hidden;
        for (index, spec) in given.iter().enumerate() {
            let width = extents.width(index / per_layer / extents.directions);
            let wanted = match index % per_layer {
                0 => vec![rows, width],
                1 => vec![rows, extents.hidden],
                _ => vec![rows],
            };
            let name = format!("params[{index}]");
            if spec.shape != wanted {
                return Err(InferError::shape(&name, &spec.shape, format!("{wanted:?}")));
            }
            if spec.dtype != dtype {
                return Err(InferError::dtype(&name, spec.dtype, dtype.name()));
            }
        }
        Ok(())
    }

    /// Runs a layer in one direction on one sequence.
    ///
    /// `rows`: the input, a row per step.
    fn run(
        self,
        weights: &Weights,
        rows: &[&[f64]],
        backward: bool,
        start: (&[f64], &[f64]),
    ) -> Sequence {
        let (mut hidden, mut cell) = (start.0.to_vec(), start.1.to_vec());
        let n = hidden.len();
        let mut states = vec![0.0; rows.len() * n];
        for at in 0..rows.len() {
            let step = if backward { rows.len() - 1 - at } else { at };
            let gate = |gate: usize, unit: usize| {
                let row = gate * n + unit;
                let of = |matrix: &[f64], bias: &[f64], values: &[f64]| {
                    let line = &matrix[row * values.len()..][..values.len()];
                    let products = line.iter().zip(values).map(|(w, x)| w * x);
                    products.sum::<f64>() + bias.get(row).copied().unwrap_or(0.0)
                };
                let from_input = of(&weights.input, &weights.input_bias, rows[step]);
                (from_input, of(&weights.hidden, &weights.hidden_bias, &hidden))
            };
            let next: Vec<(f64, f64)> =
                (0..n).map(|unit| self.step(|g| gate(g, unit), hidden[unit], cell[unit])).collect();
            for (unit, (of_hidden, of_cell)) in next.into_iter().enumerate() {
                (hidden[unit], cell[unit]) = (of_hidden, of_cell);
            }
            states[step * n..][..n].copy_from_slice(&hidden);
        }
        Sequence { states, hidden, cell }
    }

    /// Returns hidden and cell state of a unit after a step.
    ///
    /// `gate`: the two products of a gate, with the input and with the hidden state.
    fn step(self, gate: impl Fn(usize) -> (f64, f64), hidden: f64, cell: f64) -> (f64, f64) {
        let sum = |number: usize| {
            let (input, hidden) = gate(number);
            input + hidden
        };
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        match self {
            Self::Lstm => {
                let cell = sigmoid(sum(1)) * cell + sigmoid(sum(0)) * sum(2).tanh();
                (sigmoid(sum(3)) * cell.tanh(), cell)
            }
            Self::Gru => {
                let (reset, update) = (sigmoid(sum(0)), sigmoid(sum(1)));
                let (of_input, of_hidden) = gate(2);
                let new = (of_input + reset * of_hidden).tanh();
                ((1.0 - update) * new + update * hidden, cell)
            }
            Self::Tanh => (sum(0).tanh(), cell),
            // NaN stays NaN.
            Self::Relu => (if sum(0) <= 0.0 { 0.0 } else { sum(0) }, cell),
        }
    }

    fn outputs(self, extents: &Extents) -> Vec<Vec<usize>> {
        let states = if self == Self::Lstm { 2 } else { 1 };
        let states = std::iter::repeat_n(extents.state(), states);
        std::iter::once(extents.output()).chain(states).collect()
    }
}

/// Returns the elements of a tensor in row-major order; none where it was left out.
fn flat(inputs: &Inputs<'_>, name: &str) -> Vec<f64> {
    inputs.opt(name).map_or_else(Vec::new, |input| input.array().iter().copied().collect())
}

impl Engine for Cell {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let dtype = call.tensor("input")?.dtype;
        if !dtype.is_float() || dtype.is_fp8() {
            let wanted = "a floating-point type of at least 16 bits";
            return Err(InferError::dtype("input", dtype, wanted));
        }
        let extents = self.extents(call)?;
        for spec in self.initial(call)? {
            if spec.shape != extents.state() {
                let wanted = format!("{:?}", extents.state());
                return Err(InferError::shape("hx", &spec.shape, wanted));
            }
            if spec.dtype != dtype {
                return Err(InferError::dtype("hx", spec.dtype, dtype.name()));
            }
        }
        self.check_weights(call, &extents, dtype)?;
        Ok(self.outputs(&extents).into_iter().map(|shape| (dtype, shape)).collect())
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let extents = self.extents(call)?;
        let Extents { steps, batch, hidden, directions, .. } = extents;
        let is_lstm = *self == Self::Lstm;
        let start = flat(inputs, if is_lstm { "hx[0]" } else { "hx" });
        let cells = if is_lstm { flat(inputs, "hx[1]") } else { start.clone() };
        let mut values = flat(inputs, "input");
        let (mut last, mut last_cells) = (Vec::new(), Vec::new());
        for layer in 0..extents.layers {
            let width = extents.width(layer);
            let mut outputs = vec![0.0; steps * batch * hidden * directions];
            for direction in 0..directions {
                let place = layer * directions + direction;
                let of = |index: usize| {
                    flat(inputs, &format!("params[{}]", place * extents.per_layer() + index))
                };
                let bias = |index: usize| if extents.biased { of(index) } else { Vec::new() };
                let weights = Weights {
                    input: of(0),
                    hidden: of(1),
                    input_bias: bias(2),
                    hidden_bias: bias(3),
                };
                let sequence = |number: usize| {
                    let row = |step| &values[extents.row(step, number) * width..][..width];
                    let rows: Vec<&[f64]> = (0..steps).map(row).collect();
                    let from = (place * batch + number) * hidden;
                    let start = (&start[from..][..hidden], &cells[from..][..hidden]);
                    self.run(&weights, &rows, direction == 1, start)
                };
                let sequences = parallel::map(batch, &sequence);
                for (number, sequence) in sequences.iter().enumerate() {
                    for (step, state) in sequence.states.chunks_exact(hidden).enumerate() {
                        let row = extents.row(step, number) * directions + direction;
                        outputs[row * hidden..][..hidden].copy_from_slice(state);
                    }
                    last.extend_from_slice(&sequence.hidden);
                    last_cells.extend_from_slice(&sequence.cell);
                }
            }
            values = outputs;
        }
        let shapes = self.outputs(&extents).into_iter();
        let arrays = shapes.zip([values, last, last_cells]).map(|(shape, values)| {
            Array::from_shape_vec(IxDyn(&shape), values).expect("one value per element")
        });
        Ok(arrays.collect())
    }

    fn sums_products(&self) -> bool {
        true
    }

    fn is_by_cudnn(&self) -> bool {
        true
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        self.extents(call).map_or(1, |extents| {
            let widest = (0..extents.layers).map(|layer| extents.width(layer)).max();
            (widest.unwrap_or(0) + extents.hidden).max(1)
        })
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        let Ok(extents) = self.extents(call) else { return 0.0 };
        let rows = self.gates() * extents.hidden * extents.directions;
        let widths = (0..extents.layers).map(|layer| extents.width(layer) + extents.hidden);
        2.0 * (rows * extents.steps * extents.batch) as f64 * widths.sum::<usize>() as f64
    }

    /// Weights as they are initialised: larger ones saturate every gate.
    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        let is_usual = call.case.distribution == InputDistribution::Normal;
        match (param.name.as_str(), self.extents(call)) {
            ("params", Ok(extents)) if is_usual => {
                let high = 1.0 / (extents.hidden as f64).sqrt();
                Ok(Gen::Uniform { low: -high, high })
            }
            _ => generators::by_role(self, call, param),
        }
    }

    fn large(&self, _dtype: DType) -> f64 {
        100.0
    }
}
