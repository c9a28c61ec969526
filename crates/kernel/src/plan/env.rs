//! Names that a plan can use: the case's arguments, the outputs, the device.

use std::{collections::BTreeMap, sync::Arc};

use kgen_record::{ArgValue, BufferRef, Case, Precision, Target, TensorSpec};

use super::{
    names::plan_name,
    value::{Tensor, Value},
};

/// The names that a plan starts with, and the facts its rules need.
#[derive(Debug, Clone)]
pub struct Env {
    pub(super) names: BTreeMap<String, Value>,
    /// Elements of all outputs together.
    pub(super) output_elements: usize,
    /// Largest dynamic shared memory of a block, in bytes.
    pub(super) smem_max: u32,
    /// The device's compute capability, major and minor.
    pub(super) compute_capability: (u32, u32),
    /// Bytes of all tensors together.
    pub(super) tensor_bytes: u64,
    /// Memory of the device, in bytes.
    pub(super) memory_bytes: u64,
    /// Bytes of each input and output.
    pub(super) storage: BTreeMap<BufferRef, u64>,
    /// The precision of library steps; `None` refuses them.
    pub(super) libraries: Option<Precision>,
}

impl Env {
    /// Returns the names of a case on a device.
    ///
    /// A single output is `out`; several are `out0`, `out1`, ..., and `out` is the tuple of them.
    /// Optional inputs left out are None.
    #[must_use]
    pub fn new(case: &Case, outputs: &[TensorSpec], target: &Target) -> Self {
        let mut names = BTreeMap::new();
        let mut inputs = 0;
        for arg in &case.args {
            let name = plan_name(&arg.name);
            let value = match &arg.value {
                ArgValue::Tensor(tensor) => {
                    let buffer = BufferRef::Input(inputs);
                    inputs += 1;
                    tensor_value(&name, buffer, &tensor.spec)
                }
                ArgValue::Tensors(list) => {
                    let values = list.iter().enumerate().map(|(index, one)| {
                        let Some(tensor) = one else { return Value::None };
                        let buffer = BufferRef::Input(inputs);
                        inputs += 1;
                        tensor_value(&format!("{name}[{index}]"), buffer, &tensor.spec)
                    });
                    Value::Tuple(values.collect())
                }
                ArgValue::Floats(values) => {
                    Value::Tuple(values.iter().map(|&value| Value::Float(value)).collect())
                }
                ArgValue::DType(dtype) => Value::DType(*dtype),
                ArgValue::Int(value) => Value::Int(*value),
                ArgValue::Float(value) => Value::Float(*value),
                ArgValue::Bool(value) => Value::Bool(*value),
                ArgValue::Str(text) => Value::Str(text.as_str().into()),
                ArgValue::Ints(values) => {
                    Value::Tuple(values.iter().map(|&value| Value::Int(value)).collect())
                }
                ArgValue::None => Value::None,
            };
            names.insert(name, value);
        }
        if let [only] = outputs {
            names.insert("out".to_owned(), tensor_value("out", BufferRef::Output(0), only));
        } else {
            list_outputs(&mut names, outputs);
        }
        let facts = [
            ("sm_count", i64::from(target.sm_count)),
            ("smem_max", i64::from(target.smem_max)),
            ("cc", i64::from(target.cc_major * 10 + target.cc_minor)),
            ("l2_bytes", i64::try_from(target.l2_bytes).unwrap_or(i64::MAX)),
        ];
        names.extend(facts.map(|(name, value)| (name.to_owned(), Value::Int(value))));
        let output_elements = outputs.iter().map(TensorSpec::numel).sum();
        let inputs = case.args.iter().flat_map(|arg| tensors(&arg.value));
        let tensor_bytes = inputs.chain(outputs).map(bytes).fold(0, u64::saturating_add);
        let Target { smem_max, memory_bytes, .. } = *target;
        let inputs = case.tensors().map(|(_, tensor)| &tensor.spec).enumerate();
        let inputs = inputs.map(|(index, spec)| (BufferRef::Input(index), spec));
        let outputs = outputs.iter().enumerate();
        let outputs = outputs.map(|(index, spec)| (BufferRef::Output(index), spec));
        let storage = inputs.chain(outputs).map(|(at, spec)| (at, spec.storage_bytes() as u64));
        Self {
            names,
            output_elements,
            smem_max,
            compute_capability: (target.cc_major, target.cc_minor),
            tensor_bytes,
            memory_bytes,
            storage: storage.collect(),
            libraries: None,
        }
    }

    /// Lets the plan see a device with other multiprocessors.
    #[must_use]
    pub fn with_sm_count(mut self, sm_count: u32) -> Self {
        self.names.insert("sm_count".to_owned(), Value::Int(sm_count.into()));
        self
    }

    /// Lets the plan call libraries, which compute in a precision.
    #[must_use]
    pub fn with_libraries(mut self, precision: Option<Precision>) -> Self {
        self.libraries = precision;
        self
    }

    /// Makes `out` a tuple although there may be one output: the op returns a list.
    #[must_use]
    pub fn with_output_list(mut self, outputs: &[TensorSpec]) -> Self {
        list_outputs(&mut self.names, outputs);
        self
    }

    /// Returns the names a plan can use, builtins aside, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }
}

/// Returns the tensors of an argument.
fn tensors(value: &ArgValue) -> Vec<&TensorSpec> {
    match value {
        ArgValue::Tensor(tensor) => vec![&tensor.spec],
        ArgValue::Tensors(list) => list.iter().flatten().map(|tensor| &tensor.spec).collect(),
        _ => Vec::new(),
    }
}

fn bytes(spec: &TensorSpec) -> u64 {
    u64::try_from(spec.numel().saturating_mul(spec.dtype.size())).unwrap_or(u64::MAX)
}

/// Adds `out0`, `out1`, ... and the tuple of them.
fn list_outputs(names: &mut BTreeMap<String, Value>, outputs: &[TensorSpec]) {
    let mut all = Vec::with_capacity(outputs.len());
    for (index, spec) in outputs.iter().enumerate() {
        let name = format!("out{index}");
        let value = tensor_value(&name, BufferRef::Output(index), spec);
        names.insert(name, value.clone());
        all.push(value);
    }
    names.insert("out".to_owned(), Value::Tuple(all.into()));
}

fn tensor_value(name: &str, buffer: BufferRef, spec: &TensorSpec) -> Value {
    Value::Tensor(Arc::new(Tensor { label: name.to_owned(), buffer, spec: spec.clone() }))
}
