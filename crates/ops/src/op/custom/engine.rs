//! Evaluates custom ops that are graphs.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::{
    expr::Symbols,
    op::{
        Array, Call, DistributionError, Engine, InferError, Input, Inputs, Param, Role, Shaped,
        by_role, half_roundoff,
    },
    record::{
        ArgValue, DType, Gen, InputDistribution,
        tensor::{decode, encode},
    },
    reference::{Error, U},
};

use super::{
    definition::{Definition, OutputDecl, TensorDecl},
    graph::{Graph, Node, NodeArg, Resolved, Value},
};

/// Runs that the scale of intermediate results is taken over.
const RUNS: u64 = 8;

/// Seed of the changes of intermediate results: fixed, so that a bound belongs to its inputs alone.
const SEED: u64 = 0x9_4a9;

/// The inputs of a custom op: shapes, types, bounds of indices.
#[derive(Debug)]
pub(super) struct Declared {
    tensors: Vec<TensorDecl>,
    pub(super) outputs: Vec<OutputDecl>,
}

impl Declared {
    pub(super) fn new(definition: &Definition) -> Self {
        Self { tensors: definition.tensors.clone(), outputs: definition.outputs.clone() }
    }

    /// Checks the tensors of a call; returns the values of the symbols.
    pub(super) fn symbols(&self, call: &Call<'_>) -> Result<Symbols, InferError> {
        let integers = call.case.args.iter().filter_map(|arg| match arg.value {
            ArgValue::Int(value) => Some((arg.name.clone(), value)),
            _ => None,
        });
        let mut symbols: Symbols = integers.collect();
        for tensor in &self.tensors {
            tensor.shape.unify(&tensor.name, call.tensor(&tensor.name)?, &mut symbols)?;
        }
        for tensor in &self.tensors {
            let spec = call.tensor(&tensor.name)?;
            tensor.shape.check(&tensor.name, spec, &symbols)?;
            let by_role = match tensor.role {
                Role::Index => DType::I64,
                Role::Mask => DType::Bool,
                _ => call.case.dtype,
            };
            let wanted = tensor.shape.dtype.unwrap_or(by_role);
            // A reference kernel gets every floating-point tensor in f64.
            let wide = call.case.dtype == DType::F64 && wanted.is_float();
            if spec.dtype != wanted && !(wide && spec.dtype == DType::F64) {
                return Err(InferError::dtype(&tensor.name, spec.dtype, wanted.name()));
            }
        }
        Ok(symbols)
    }

    /// Returns how the values of a tensor are made where its declaration says it.
    pub(super) fn init(&self, call: &Call<'_>, param: &Param) -> Option<Gen> {
        let tensor = self.tensors.iter().find(|tensor| tensor.name == param.name)?;
        let is_number = tensor.shape.dtype.is_none_or(DType::is_float);
        let as_declared = tensor.is_parameter
            || !is_number
            || call.case.distribution == InputDistribution::Normal;
        let init = tensor.init.as_ref().filter(|_| as_declared)?;
        if is_number && call.case.distribution == InputDistribution::HeavyTail {
            // A gain of 1 and an offset of 0 would let a kernel ignore them.
            if let Some(around) = init.around() {
                return Some(around);
            }
        }
        let shape = &call.opt_tensor(&param.name)?.shape;
        Some(init.generator(&self.symbols(call).unwrap_or_default(), shape))
    }

    /// Returns the exclusive bound of an index tensor.
    pub(super) fn index_bound(&self, call: &Call<'_>, param: &Param) -> u64 {
        let bound = self.tensors.iter().find(|tensor| tensor.name == param.name);
        let bound = bound.and_then(|tensor| tensor.bound.as_ref());
        let symbols = self.symbols(call).unwrap_or_default();
        bound.and_then(|bound| bound.value(&symbols)).unwrap_or(1).max(1).cast_unsigned()
    }
}

/// A composition of catalogue ops.
#[derive(Debug)]
pub(super) struct GraphEngine {
    declared: Declared,
    graph: Graph,
}

/// Changes the results of a node, by the scale of its intermediate values.
type Change<'c> = dyn FnMut(&Node, &Resolved, &Inputs<'_>, &mut [Array]) -> Result<(), Error> + 'c;

/// Returns the scales of what is rounded in a node, per output; `None` where nothing is.
type Scales<'s> =
    dyn Fn(&Node, &Resolved, &Inputs<'_>, &[Array]) -> Result<Option<Vec<Array>>, Error> + 's;

impl GraphEngine {
    pub(super) fn new(definition: &Definition, graph: Graph) -> Self {
        Self { declared: Declared::new(definition), graph }
    }

    fn resolve(&self, call: &Call<'_>) -> Result<Vec<Resolved>, InferError> {
        self.graph.resolve(call, &self.declared.symbols(call)?)
    }

    /// Computes every node and returns the outputs.
    fn run(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        change: &mut Change<'_>,
    ) -> Result<Vec<Array>, Error> {
        let resolved = self.resolve(call)?;
        let mut computed: Vec<Vec<Array>> = Vec::with_capacity(resolved.len());
        for (node, of) in self.graph.nodes.iter().zip(&resolved) {
            let inputs = node_inputs(node, of, inputs, &computed)?;
            let call = node.op.call(&of.case);
            let mut outputs = node.op.engine.evaluate(&call, &inputs)?;
            change(node, of, &inputs, &mut outputs)?;
            for (output, (dtype, _)) in outputs.iter_mut().zip(&of.outputs) {
                if !dtype.is_float() || dtype.is_fp8() || node.op.name == "to_copy" {
                    output.mapv_inplace(|value| rounded(*dtype, value));
                }
            }
            computed.push(outputs);
        }
        let outputs = self.graph.outputs.iter();
        outputs.map(|value| Ok(array(value, inputs, &computed)?)).collect()
    }

    /// Returns how the outputs respond when the results of each node change by `roundoff` of its scales, over
    /// `roundoff`.
    fn response(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        roundoff: f64,
        scales: &Scales<'_>,
    ) -> Result<Vec<Array>, Error> {
        let outputs = self.evaluate(call, inputs)?;
        let mut squares: Vec<Array> =
            outputs.iter().map(|output| Array::zeros(output.raw_dim())).collect();
        for run in 0..RUNS {
            let mut rng = ChaCha8Rng::seed_from_u64(SEED);
            rng.set_stream(run);
            let moved = self.run(call, inputs, &mut |node, of, inputs, outputs| {
                let Some(scales) = scales(node, of, inputs, outputs)? else { return Ok(()) };
                for (index, (output, scale)) in outputs.iter_mut().zip(&scales).enumerate() {
                    if of.outputs.get(index).is_some_and(|(dtype, _)| dtype.is_float()) {
                        output.zip_mut_with(scale, |value, scale| {
                            let sign = if rng.random::<bool>() { roundoff } else { -roundoff };
                            *value += sign * scale;
                        });
                    }
                }
                Ok(())
            })?;
            for ((square, moved), output) in squares.iter_mut().zip(moved).zip(&outputs) {
                ndarray::Zip::from(square).and(&moved).and(output).for_each(
                    |square, moved, output| {
                        let change = moved - output;
                        if change.is_finite() {
                            *square += change * change;
                        }
                    },
                );
            }
        }
        for square in &mut squares {
            square.mapv_inplace(|square| (square / RUNS as f64).sqrt() / roundoff);
        }
        Ok(squares)
    }

    fn nodes<T>(&self, call: &Call<'_>, of: impl Fn(&Node, &Resolved) -> T) -> Vec<T> {
        let resolved = self.resolve(call).unwrap_or_default();
        self.graph.nodes.iter().zip(&resolved).map(|(node, resolved)| of(node, resolved)).collect()
    }
}

fn rounded(dtype: DType, value: f64) -> f64 {
    let mut bytes = [0; 8];
    encode(dtype, value, &mut bytes[..dtype.size()]);
    decode(dtype, &bytes[..dtype.size()])
}

fn array(value: &Value, inputs: &Inputs<'_>, computed: &[Vec<Array>]) -> Result<Array, InferError> {
    match value {
        Value::Input(name) => Ok(inputs.get(name)?.array().clone()),
        Value::Node { node, output } => Ok(computed[*node][*output].clone()),
    }
}

/// Returns the tensors that a node takes.
fn node_inputs(
    node: &Node,
    resolved: &Resolved,
    inputs: &Inputs<'_>,
    computed: &[Vec<Array>],
) -> Result<Inputs<'static>, InferError> {
    let mut specs = resolved.case.tensors();
    let mut tensors = Vec::new();
    // The case lists its tensors in the order of the schema, as the parameters are.
    for param in node.op.tensor_params() {
        let Some((_, arg)) = node.args.iter().find(|(name, _)| *name == param.name) else {
            continue;
        };
        for (index, value) in arg.values().iter().enumerate() {
            let dtype = specs.next().map_or(resolved.case.dtype, |(_, tensor)| tensor.spec.dtype);
            let name = match arg {
                NodeArg::Tensors(_) => format!("{}[{index}]", param.name),
                _ => param.name.clone(),
            };
            tensors.push((name, Input::computed(dtype, array(value, inputs, computed)?)));
        }
    }
    Ok(Inputs::computed(tensors))
}

impl Engine for GraphEngine {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let symbols = self.declared.symbols(call)?;
        let resolved = self.graph.resolve(call, &symbols)?;
        let mut outputs = Vec::with_capacity(self.graph.outputs.len());
        for (value, declared) in self.graph.outputs.iter().zip(&self.declared.outputs) {
            let (dtype, shape) = Graph::shaped(call, &resolved, value)?;
            if let Some(wanted) = &declared.shape {
                let extents = wanted.extents(&symbols);
                if extents.as_ref() != Some(&shape) {
                    let wanted = format!("{:?}, as the file says", extents.unwrap_or_default());
                    return Err(InferError::shape(&declared.name, &shape, wanted));
                }
                if wanted.dtype.is_some_and(|wanted| wanted != dtype) {
                    return Err(InferError::dtype(&declared.name, dtype, "what the file says"));
                }
            }
            outputs.push((dtype, shape));
        }
        Ok(outputs)
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        self.run(call, inputs, &mut |_, _, _, _| Ok(()))
    }

    /// The response to roundings of all intermediate results, as the scale of one rounding.
    fn magnitude(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let scales = |node: &Node, of: &Resolved, inputs: &Inputs<'_>, outputs: &[Array]| {
            let magnitudes = node.op.engine.magnitude(&node.op.call(&of.case), inputs)?;
            let scale = |(index, output): (usize, &Array)| {
                let mut scale = output.mapv(f64::abs);
                if let Some(magnitude) = magnitudes.as_ref().and_then(|all| all.get(index)) {
                    scale.zip_mut_with(magnitude, |scale, magnitude| {
                        *scale =
                            scale.max(Some(*magnitude).filter(|m| m.is_finite()).unwrap_or(0.0));
                    });
                }
                scale
            };
            Ok(Some(outputs.iter().enumerate().map(scale).collect()))
        };
        self.response(call, inputs, U, &scales).map(Some)
    }

    /// The response to what honest kernels round inside of single nodes.
    fn rounded_inside(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
    ) -> Result<Option<Vec<Array>>, Error> {
        if !self.graph.nodes.iter().any(|node| node.op.engine.rounds_inside()) {
            return Ok(None);
        }
        let scales = |node: &Node, of: &Resolved, inputs: &Inputs<'_>, _: &[Array]| {
            node.op.engine.rounded_inside(&node.op.call(&of.case), inputs)
        };
        // Steps as large as the bound takes roundings to be: a later node may bend within them, as at
        // the edge of a clamp.
        let roundoff = 4.0 * half_roundoff(call.case.dtype).unwrap_or(U);
        self.response(call, inputs, roundoff, &scales).map(Some)
    }

    fn rounds_inside(&self) -> bool {
        self.graph.nodes.iter().any(|node| node.op.engine.rounds_inside())
    }

    fn has_products(&self) -> bool {
        self.graph.nodes.iter().any(|node| node.op.engine.has_products())
    }

    fn is_by_cudnn(&self) -> bool {
        self.graph.nodes.iter().any(|node| node.op.engine.is_by_cudnn())
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        let lengths = self.nodes(call, |node, of| node.op.accumulation_len(&of.case));
        lengths.into_iter().max().unwrap_or(1)
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        self.nodes(call, |node, of| node.op.work(&of.case).flops).into_iter().sum()
    }

    /// Where one node leaves something out, nothing is known of the nodes before it.
    fn reads(&self, call: &Call<'_>, _name: &str) -> Option<usize> {
        let whole = self.nodes(call, |node, of| {
            let call = node.op.call(&of.case);
            of.case.tensors().all(|(name, _)| node.op.engine.reads(&call, &name).is_none())
        });
        (!whole.into_iter().all(|whole| whole)).then_some(0)
    }

    fn least_flops(&self, call: &Call<'_>, n_out: usize) -> f64 {
        if self.reads(call, "").is_some() {
            return 0.0;
        }
        let least = self.nodes(call, |node, of| node.op.work(&of.case).least_flops);
        let least = least.into_iter().zip(self.graph.needs_products());
        let least: f64 = least.filter(|(_, needed)| *needed).map(|(least, _)| least).sum();
        least.min(self.flops(call, n_out))
    }

    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        self.declared.init(call, param).map_or_else(|| by_role(self, call, param), Ok)
    }

    fn index_bound(&self, call: &Call<'_>, param: &Param) -> u64 {
        self.declared.index_bound(call, param)
    }

    fn large(&self, dtype: DType) -> f64 {
        let limits = self.graph.nodes.iter().map(|node| node.op.engine.large(dtype));
        limits.reduce(f64::min).unwrap_or(1.0)
    }
}
