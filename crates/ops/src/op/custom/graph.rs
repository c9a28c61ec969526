//! A composition of catalogue ops.

use crate::{
    expr::{Expr, Symbols},
    op::{
        BuildError, Call, CaseDraft, DraftTensor, DraftValue, InferError, Layout, OpDef, OpFamily,
        Shaped, build_case,
    },
    record::{ArgValue, Case, CaseClass, InputDistribution},
};

/// A list of assignments, each a call of a catalogue op.
#[derive(Debug, Clone)]
pub(super) struct Graph {
    /// The assignments as the file has them.
    pub(super) text: String,
    /// The calls, each after those whose results it takes.
    pub(super) nodes: Vec<Node>,
    /// The value behind each output of the op.
    pub(super) outputs: Vec<Value>,
}

/// A call of a catalogue op.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) op: &'static OpDef,
    /// The line of the graph that it stands on, for messages.
    pub(super) text: String,
    pub(super) args: Vec<(String, NodeArg)>,
}

/// An argument of a [`Node`].
#[derive(Debug, Clone)]
pub(super) enum NodeArg {
    /// A tensor.
    Tensor(Value),
    /// A list of tensors.
    Tensors(Vec<Value>),
    /// A scalar of the custom op.
    Scalar(String),
    /// A literal.
    Literal(DraftValue),
    /// An integer that extents and scalars make.
    Int(Expr),
    /// A list of such integers.
    Ints(Vec<Expr>),
}

impl NodeArg {
    /// Returns the tensors that it takes.
    pub(super) fn values(&self) -> &[Value] {
        match self {
            Self::Tensor(value) => std::slice::from_ref(value),
            Self::Tensors(values) => values,
            Self::Scalar(_) | Self::Literal(_) | Self::Int(_) | Self::Ints(_) => &[],
        }
    }
}

/// A tensor in a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// An input of the custom op.
    Input(String),
    /// An output of a node.
    Node {
        /// Which node.
        node: usize,
        /// Which of its outputs.
        output: usize,
    },
}

/// A node with its arguments.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) case: Case,
    pub(super) outputs: Vec<Shaped>,
}

impl Graph {
    /// Returns the families of the nodes, each once, the costliest first.
    pub(super) fn families(&self) -> Vec<OpFamily> {
        let has = |family: &OpFamily| self.nodes.iter().any(|node| node.op.family == *family);
        OpFamily::COSTLIEST_FIRST.into_iter().filter(has).collect()
    }

    /// Returns the call of every node for a call of the custom op.
    pub(super) fn resolve(
        &self,
        call: &Call<'_>,
        symbols: &Symbols,
    ) -> Result<Vec<Resolved>, InferError> {
        let mut resolved: Vec<Resolved> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let values = node.args.iter().map(|(name, arg)| {
                Ok((name.clone(), Self::draft_value(call, symbols, &resolved, arg)?))
            });
            let draft = CaseDraft {
                dtype: call.case.dtype,
                class: CaseClass::Edge,
                distribution: InputDistribution::Normal,
                values: values.collect::<Result<_, InferError>>()?,
            };
            let in_node = |reason: String| InferError::Node { node: node.text.clone(), reason };
            let case = build_case(node.op, &draft).map_err(|error| match error {
                BuildError::Infer(error) => in_node(error.to_string()),
                other => in_node(other.to_string()),
            })?;
            let specs = node.op.infer(&case).map_err(|error| in_node(error.to_string()))?;
            let outputs = specs.into_iter().map(|spec| (spec.dtype, spec.shape)).collect();
            resolved.push(Resolved { case, outputs });
        }
        Ok(resolved)
    }

    fn draft_value(
        call: &Call<'_>,
        symbols: &Symbols,
        resolved: &[Resolved],
        arg: &NodeArg,
    ) -> Result<DraftValue, InferError> {
        let tensor = |value: &Value| {
            let (dtype, shape) = Self::shaped(call, resolved, value)?;
            Ok(DraftTensor { dtype: Some(dtype), shape, layout: Layout::Contiguous })
        };
        let integer = |expr: &Expr| {
            expr.value(symbols).ok_or_else(|| InferError::value("graph", expr, "an integer"))
        };
        Ok(match arg {
            NodeArg::Int(expr) => DraftValue::Int(integer(expr)?),
            NodeArg::Ints(list) => {
                DraftValue::Ints(list.iter().map(integer).collect::<Result<_, _>>()?)
            }
            NodeArg::Tensor(value) => DraftValue::Tensor(tensor(value)?),
            NodeArg::Tensors(values) => {
                let list = values.iter().map(|value| tensor(value).map(Some));
                DraftValue::Tensors(list.collect::<Result<_, InferError>>()?)
            }
            NodeArg::Literal(value) => value.clone(),
            NodeArg::Scalar(name) => match call.arg(name) {
                Some(ArgValue::Int(value)) => DraftValue::Int(*value),
                Some(ArgValue::Float(value)) => DraftValue::Float(*value),
                Some(ArgValue::Bool(value)) => DraftValue::Bool(*value),
                Some(ArgValue::Str(value)) => DraftValue::Str(value.clone()),
                Some(ArgValue::Ints(values)) => DraftValue::Ints(values.clone()),
                Some(ArgValue::Floats(values)) => DraftValue::Floats(values.clone()),
                _ => DraftValue::None,
            },
        })
    }

    /// Returns type and shape of a tensor.
    pub(super) fn shaped(
        call: &Call<'_>,
        resolved: &[Resolved],
        value: &Value,
    ) -> Result<Shaped, InferError> {
        match value {
            Value::Input(name) => {
                let spec = call.tensor(name)?;
                Ok((spec.dtype, spec.shape.clone()))
            }
            Value::Node { node, output } => {
                let outputs = &resolved[*node].outputs;
                outputs.get(*output).cloned().ok_or_else(|| {
                    let wanted = format!("an op with more than {} outputs", outputs.len());
                    InferError::value("graph", format!("output {output}"), wanted)
                })
            }
        }
    }
}
