//! Recurrent layers.

use super::super::{def::OpBuilder, families::recurrent::Cell};
use crate::record::DType;

/// The arguments that all of them have after the initial states.
const LAYERS: &str = "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool \
    bidirectional, bool batch_first";

/// Arguments and order of the layers.
const RULES: &str = "input is [steps, batch, inputs], [batch, steps, inputs] with batch_first; initial and last \
    states are [num_layers * directions, batch, hidden], directions being 2 with bidirectional, else 1. params holds, per \
    layer and in it per direction, w_ih [rows, width], w_hh [rows, hidden] and, with has_biases, b_ih and b_hh \
    [rows]; the rows of the gates follow each other, hidden rows each. width is inputs for the first layer, for later \
    ones directions * hidden: a layer reads the states of all steps of the layer before. The second direction goes \
    through the steps from the last to the first. out0 is [steps, batch, directions * hidden] (or [batch, steps, \
    ..]): the states of the last layer at each step, those of the second direction behind those of the first. \
    Everything between is f32; results are rounded once to the dtype.";

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    let lstm = row(
        "lstm.input",
        "Tensor[] hx",
        "(Tensor, Tensor, Tensor)",
        Cell::Lstm,
        "hx is (h, c). Gates i, f, g, o in this order: v = w_ih x + b_ih + w_hh h + b_hh; c' = sigmoid(f) * c + \
        sigmoid(i) * tanh(g); h' = sigmoid(o) * tanh(c'). out1 and out2 are h and c after the last step.",
    )
    .outputs(&["the states of each step", "the last hidden states", "the last cell states"]);
    let one_state = [
        (
            "gru.input",
            Cell::Gru,
            "Gates r, z, n in this order, each of a = w_ih x + b_ih and b = w_hh h + b_hh: r = sigmoid(a + b); z = \
            sigmoid(a + b); n = tanh(a + r * b); h' = (1 - z) * n + z * h. out1 is h after the last step.",
        ),
        (
            "rnn_tanh.input",
            Cell::Tanh,
            "h' = tanh(w_ih x + b_ih + w_hh h + b_hh). out1 is h after the last step.",
        ),
        (
            "rnn_relu.input",
            Cell::Relu,
            "h' = max(w_ih x + b_ih + w_hh h + b_hh, 0), NaN staying NaN. out1 is h after the last step.",
        ),
    ];
    let one_state = one_state.into_iter().map(|(name, cell, step)| {
        row(name, "Tensor hx", "(Tensor, Tensor)", cell, step)
            .outputs(&["the states of each step", "the last hidden states"])
    });
    std::iter::once(lstm).chain(one_state).collect()
}

fn row(name: &str, states: &str, results: &str, cell: Cell, step: &str) -> OpBuilder {
    let signature = format!("{name}(Tensor input, {states}, {LAYERS}) -> {results}");
    let semantics = format!(
        "A recurrent network. {step} {RULES}\nNaN and infinities follow IEEE arithmetic. Dropout between layers in \
        training is random and refused."
    );
    OpBuilder::new(&signature, cell, &semantics).dtypes(&[DType::F32])
}
