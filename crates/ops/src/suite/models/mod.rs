//! The suite `huggingface`: the calls of one forward pass of popular models.
//!
//! The files under `suites/models` say what the models look like; what they call is derived here,
//! as calls of a log ([`Call`]). A language model makes two passes: over a prompt, and over one
//! token per sequence with what it has cached.

mod arch;
mod attention;
mod calls;
mod convnets;
mod image;
mod scaled;
mod transformer;
mod unet;

#[cfg(test)]
mod tests;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashSet},
};

use crate::log::{Call, LogDType, Value};

use arch::Models;
use calls::Calls;

pub use arch::Origin;

/// The files, with their names in messages.
const FILES: [(&str, &str); 4] = [
    ("suites/models/decoders.toml", include_str!("../../../../../suites/models/decoders.toml")),
    ("suites/models/experts.toml", include_str!("../../../../../suites/models/experts.toml")),
    ("suites/models/encoders.toml", include_str!("../../../../../suites/models/encoders.toml")),
    ("suites/models/others.toml", include_str!("../../../../../suites/models/others.toml")),
];

/// Most different calls of one op that the suite takes of one model: those that cost most.
const PER_MODEL: usize = 6;

/// Calls of each form of an op that are small enough for every machine.
const SMALL: usize = 2;

/// How much a model is given to do.
#[derive(Debug, Clone, Copy)]
struct Work {
    /// Prompts to read.
    prompts: usize,
    /// Tokens in each of them, and in a text, at most.
    tokens: usize,
    /// Sequences that are continued by a token each.
    sequences: usize,
    /// Tokens that each of them has already, at most.
    context: usize,
    /// Images, clips of sound, or texts to encode.
    images: usize,
    /// Element type of activations and weights.
    dtype: LogDType,
}

/// What models serve: a prompt of 2048 tokens, 16 texts of 512, and 64 sequences that are
/// continued.
const REAL: Work = Work {
    prompts: 1,
    tokens: 2048,
    sequences: 64,
    context: 2048,
    images: 16,
    dtype: LogDType::BF16,
};

/// Enough for every branch of a kernel.
const TINY: Work =
    Work { prompts: 2, tokens: 17, sequences: 3, context: 19, images: 2, dtype: LogDType::F32 };

/// A call of a model, and which model makes it.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCall {
    /// The model.
    pub model: String,
    /// Whether its sizes are those of the model; else they are scaled down.
    pub real: bool,
    /// The call; its count is how often a forward pass makes it.
    pub call: Call,
}

/// Returns the calls of the suite, without repetition: real ones, and small ones of the same form.
///
/// Real ones have `bf16` activations and weights, small ones `f32`.
#[must_use]
pub fn calls() -> Vec<ModelCall> {
    let mut all: Vec<ModelCall> = Vec::new();
    let mut small: BTreeMap<String, Vec<ModelCall>> = BTreeMap::new();
    for (_, models) in models() {
        for (model, calls) in models.passes(&REAL) {
            for call in costliest(calls) {
                if !all.iter().any(|known| same(&known.call, &call)) {
                    all.push(ModelCall { model: model.clone(), real: true, call });
                }
            }
        }
        for (model, calls) in models.scaled_down().passes(&TINY) {
            for call in calls {
                let known = small.entry(form(&call)).or_default();
                if known.len() < SMALL && !known.iter().any(|known| same(&known.call, &call)) {
                    known.push(ModelCall { model: model.clone(), real: false, call });
                }
            }
        }
    }
    all.extend(small.into_values().flatten());
    all
}

/// Reads the files that are part of the binary.
fn models() -> impl Iterator<Item = (&'static str, Models)> {
    FILES.into_iter().map(|(file, text)| {
        (file, toml::from_str(text).expect("the models in the binary are checked by a test"))
    })
}

/// Returns the elements that a forward pass puts into a call.
fn cost(call: &Call) -> u64 {
    let elements = |value: &Value| match value {
        Value::Tensor(tensor) => tensor.shape.iter().product::<usize>() as u64,
        _ => 0,
    };
    call.count * call.args.iter().map(elements).sum::<u64>()
}

/// Returns the models that the suite is derived from.
#[must_use]
pub fn origins() -> Vec<Origin> {
    models()
        .flat_map(|(_, models)| models.origins().into_iter().cloned().collect::<Vec<_>>())
        .collect()
}

/// Returns what a kernel may branch on: the op, the ranks of its tensors, what is left out.
fn form(call: &Call) -> String {
    let kind = |value: &Value| match value {
        Value::Tensor(tensor) => format!("{}-dim", tensor.shape.len()),
        Value::None => "none".to_owned(),
        _ => "other".to_owned(),
    };
    let args: Vec<String> = call.args.iter().map(kind).collect();
    let kwargs: Vec<&str> = call.kwargs.iter().map(|(name, _)| name.as_str()).collect();
    format!("{} {args:?} {kwargs:?}", call.name())
}

fn same(left: &Call, right: &Call) -> bool {
    left.op == right.op
        && left.overload == right.overload
        && left.args == right.args
        && left.kwargs == right.kwargs
}

/// Adds equal calls up and keeps those of each op that move most data, one of each form first.
fn costliest(calls: Vec<Call>) -> Vec<Call> {
    let mut different: Vec<Call> = Vec::new();
    for call in calls {
        match different.iter_mut().find(|known| same(known, &call)) {
            Some(known) => known.count += call.count,
            None => different.push(call),
        }
    }
    let mut forms = HashSet::new();
    let mut ranked: Vec<(bool, u64, Call)> = Vec::with_capacity(different.len());
    different.sort_by_key(|call| Reverse(cost(call)));
    for call in different {
        // What is called once is no part of a layer: the vocabulary's head.
        let is_new = forms.insert((form(&call), call.count == 1));
        ranked.push((!is_new, cost(&call), call));
    }
    ranked.sort_by_key(|(again, cost, _)| (*again, Reverse(*cost)));
    let mut different: Vec<Call> = ranked.into_iter().map(|(_, _, call)| call).collect();
    let mut kept: BTreeMap<String, usize> = BTreeMap::new();
    different.retain(|call| {
        let kept = kept.entry(call.name()).or_default();
        *kept += 1;
        *kept <= PER_MODEL
    });
    different
}
