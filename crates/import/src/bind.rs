//! Calls of a trace become calls of the catalogue's ops.

use std::{collections::HashMap, sync::Arc};

use kgen_ops::{
    call::{self, Bound},
    log::{Call, LogDType, Value},
    op::{Argument, OpDef, find},
    record::{ArgValue, DType, Gen},
};

use crate::{
    ImportError,
    trace::{Arg, Init, Node, Output, Place, Tensor, TensorKind, Variant},
    view,
};

/// A graph of the catalogue's ops.
#[derive(Debug, Clone)]
pub(crate) struct Graph {
    /// Tensors that are no results: those of the trace, and numbers in the place of tensors.
    pub(crate) tensors: Vec<Tensor>,
    pub(crate) nodes: Vec<BoundNode>,
    pub(crate) outputs: Vec<Place>,
}

/// A call of an op of the catalogue.
#[derive(Debug, Clone)]
pub(crate) struct BoundNode {
    pub(crate) name: String,
    pub(crate) op: &'static Arc<OpDef>,
    /// The arguments that differ from their defaults.
    pub(crate) args: Vec<(String, BoundArg)>,
    /// How many results it has.
    pub(crate) n_outputs: usize,
}

/// An argument of a [`BoundNode`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BoundArg {
    Tensor(Place),
    Tensors(Vec<Place>),
    Value(ArgValue),
}

/// Binds the calls of a variant.
pub(crate) fn bind(variant: &Variant) -> Result<Graph, ImportError> {
    let mut binder = Binder {
        shaped: HashMap::new(),
        stands_for: HashMap::new(),
        graph: Graph { tensors: Vec::new(), nodes: Vec::new(), outputs: Vec::new() },
    };
    for tensor in &variant.tensors {
        binder.add_tensor(tensor.clone());
    }
    for node in &variant.nodes {
        binder.node(node).map_err(|reason| ImportError::Call {
            target: node.target.clone(),
            line: node.line,
            reason,
        })?;
    }
    let outputs = variant.outputs.iter().map(|place| binder.place(place)).collect();
    Ok(Graph { outputs, ..binder.graph })
}

/// A graph that grows.
pub(crate) struct Binder {
    /// Type and extents of each tensor, by its name.
    shaped: HashMap<String, Vec<Output>>,
    /// Tensors that are others: results of calls that do nothing, and slices of lists.
    stands_for: HashMap<(String, usize), Place>,
    graph: Graph,
}

impl Binder {
    fn add_tensor(&mut self, tensor: Tensor) {
        let output = Output { dtype: tensor.dtype, shape: tensor.shape.clone() };
        self.shaped.insert(tensor.name.clone(), vec![output]);
        self.graph.tensors.push(tensor);
    }

    /// Returns the tensor that a place of the trace is in the graph.
    pub(crate) fn place(&self, place: &Place) -> Place {
        let key = (place.tensor.clone(), place.index);
        self.stands_for.get(&key).cloned().unwrap_or_else(|| place.clone())
    }

    /// Returns type and extents of a tensor of the graph.
    pub(crate) fn shaped(&self, place: &Place) -> Option<Output> {
        let place = self.place(place);
        self.shaped.get(&place.tensor)?.get(place.index).cloned()
    }

    /// Makes a result of the trace another name of a tensor.
    pub(crate) fn alias(&mut self, name: &str, index: usize, of: &Place) {
        let of = self.place(of);
        self.stands_for.insert((name.to_owned(), index), of);
    }

    /// Adds a call with arguments by name, and returns its result.
    pub(crate) fn push(
        &mut self,
        name: &str,
        op: &str,
        args: Vec<(&str, BoundArg)>,
        output: Output,
    ) -> Result<Place, String> {
        let op = find(op).map_err(|error| error.to_string())?;
        let args = args.into_iter().map(|(name, arg)| (name.to_owned(), arg)).collect();
        self.shaped.insert(name.to_owned(), vec![output]);
        self.graph.nodes.push(BoundNode { name: name.to_owned(), op, args, n_outputs: 1 });
        Ok(Place { tensor: name.to_owned(), index: 0 })
    }

    fn node(&mut self, node: &Node) -> Result<(), String> {
        if view::rewrite(self, node)? {
            return Ok(());
        }
        let bound = self.bound(node)?;
        let mut args = Vec::new();
        for (argument, param) in bound.args.iter().zip(&bound.op.params) {
            if argument.from.is_none() && param.default.as_ref() == Some(&argument.value) {
                continue;
            }
            let arg = match &argument.value {
                ArgValue::Tensor(_) | ArgValue::Tensors(_) => self.tensors(node, argument)?,
                value if param.default.as_ref() == Some(value) => continue,
                value => BoundArg::Value(value.clone()),
            };
            args.push((param.name.clone(), arg));
        }
        let n_outputs = match bound.op.returns_list {
            true => node.outputs.len(),
            false => bound.op.outputs.len(),
        };
        self.shaped.insert(node.name.clone(), node.outputs.clone());
        self.graph.nodes.push(BoundNode { name: node.name.clone(), op: bound.op, args, n_outputs });
        Ok(())
    }

    fn bound(&self, node: &Node) -> Result<Bound, String> {
        let name = node.target.strip_prefix("aten.").unwrap_or(&node.target);
        let (op, overload) = name.rsplit_once('.').unwrap_or((name, "default"));
        let shaped = |place: &Place| self.shaped(place);
        let value = |arg: &Arg| -> Result<Value, String> {
            arg.value(&shaped).ok_or_else(|| format!("an argument has no value: {arg:?}"))
        };
        let keywords = node.keywords().ok_or("an argument has no value")?;
        let call = Call {
            op: op.to_owned(),
            overload: overload.to_owned(),
            count: 1,
            args: node.args.iter().map(value).collect::<Result<_, _>>()?,
            kwargs: keywords
                .iter()
                .map(|(name, arg)| Ok((name.clone(), value(arg)?)))
                .collect::<Result<_, String>>()?,
            line: 1,
        };
        call::bind(&call).map_err(|error| error.to_string())
    }

    /// Returns the tensors of an argument, converted and with new dimensions as its op takes them.
    fn tensors(&mut self, node: &Node, argument: &Argument) -> Result<BoundArg, String> {
        let given = match &argument.from {
            Some(source) => node.arg(source.place, &source.name),
            None => None,
        };
        match (&argument.value, given) {
            (ArgValue::Tensor(tensor), Some(Arg::Tensor(place))) => {
                let wanted = Output {
                    dtype: log_dtype(tensor.spec.dtype),
                    shape: tensor.spec.shape.clone(),
                };
                let place = self.place(&place);
                self.fitted(node, &argument.name, place, wanted).map(BoundArg::Tensor)
            }
            (ArgValue::Tensor(tensor), _) => {
                let Gen::Constant { value } = tensor.generator else {
                    return Err(format!("kgen cannot tell where `{}` comes from", argument.name));
                };
                Ok(BoundArg::Tensor(self.number(node, &argument.name, tensor.spec.dtype, value)))
            }
            (ArgValue::Tensors(tensors), Some(Arg::List { list })) => {
                let mut places = Vec::new();
                for (index, (arg, tensor)) in list.iter().zip(tensors).enumerate() {
                    let (Arg::Tensor(place), Some(tensor)) = (arg, tensor) else {
                        return Err(format!(
                            "`{}` has an element that is no tensor",
                            argument.name
                        ));
                    };
                    let (dtype, shape) = (log_dtype(tensor.spec.dtype), tensor.spec.shape.clone());
                    let name = format!("{}_{index}", argument.name);
                    let place = self.place(place);
                    places.push(self.fitted(node, &name, place, Output { dtype, shape })?);
                }
                Ok(BoundArg::Tensors(places))
            }
            _ => Err(format!("kgen cannot tell where `{}` comes from", argument.name)),
        }
    }

    /// Returns a tensor with a type and extents.
    fn fitted(
        &mut self,
        node: &Node,
        argument: &str,
        mut place: Place,
        wanted: Output,
    ) -> Result<Place, String> {
        let there =
            self.shaped(&place).ok_or_else(|| format!("unknown tensor `{}`", place.tensor))?;
        let name = |what: &str| format!("{}_{argument}_{what}", node.name);
        if there.dtype != wanted.dtype {
            let dtype = dtype(wanted.dtype).ok_or("a dtype that kgen does not have")?;
            let args = vec![
                ("self", BoundArg::Tensor(place)),
                ("dtype", BoundArg::Value(ArgValue::DType(dtype))),
            ];
            let output = Output { dtype: wanted.dtype, shape: there.shape.clone() };
            place = self.push(&name("converted"), "to_copy", args, output)?;
        }
        if there.shape != wanted.shape {
            place = self.viewed(&name("viewed"), &place, wanted)?;
        }
        Ok(place)
    }

    /// Returns a tensor's elements with other extents.
    pub(crate) fn viewed(
        &mut self,
        name: &str,
        of: &Place,
        output: Output,
    ) -> Result<Place, String> {
        let size = ArgValue::Ints(
            output.shape.iter().map(|&extent| extent.cast_signed() as i64).collect(),
        );
        let args =
            vec![("self", BoundArg::Tensor(self.place(of))), ("size", BoundArg::Value(size))];
        self.push(name, "view", args, output)
    }

    /// Returns a tensor without dimensions that holds a number.
    fn number(&mut self, node: &Node, argument: &str, dtype: DType, value: f64) -> Place {
        let name = format!("{}_{argument}", node.name);
        self.add_tensor(Tensor {
            name: name.clone(),
            path: None,
            kind: TensorKind::Constant,
            dtype: log_dtype(dtype),
            shape: Vec::new(),
            init: Init::Fill { value },
        });
        Place { tensor: name, index: 0 }
    }
}

/// Element types of kgen with those of a log.
const DTYPES: [(DType, LogDType); 12] = [
    (DType::F64, LogDType::F64),
    (DType::F32, LogDType::F32),
    (DType::F16, LogDType::F16),
    (DType::BF16, LogDType::BF16),
    (DType::F8E4M3, LogDType::F8E4M3),
    (DType::F8E5M2, LogDType::F8E5M2),
    (DType::I64, LogDType::I64),
    (DType::I32, LogDType::I32),
    (DType::I16, LogDType::I16),
    (DType::I8, LogDType::I8),
    (DType::U8, LogDType::U8),
    (DType::Bool, LogDType::Bool),
];

fn log_dtype(dtype: DType) -> LogDType {
    DTYPES.iter().find(|(own, _)| *own == dtype).map_or(LogDType::F32, |(_, log)| *log)
}

/// Returns kgen's element type of a trace's.
pub(crate) fn dtype(log: LogDType) -> Option<DType> {
    DTYPES.iter().find(|(_, known)| *known == log).map(|(own, _)| *own)
}
