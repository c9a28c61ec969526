//! References on integers beyond 2^53, which f64 does not hold: modulo 2^64, as CUDA computes.
//!
//! Elementwise ops and products are computed on i64. An op that moves or adds values is its f64
//! reference of the low and of the high 32 bits; one that compares them is the f64 reference of
//! their ranks.

use ndarray::{ArrayD, Axis, IxDyn};

use crate::{
    op::{
        Array, Call, Inputs, Kind, OpDef, Param, Role, normalise_dim, shifted_left, shifted_right,
    },
    record::{ArgValue, Case, HostTensor, TensorSpec, tensor::wrapped},
};

use super::Error;

/// The operands.
#[derive(Debug, Clone, Copy)]
pub(super) enum Method {
    /// From the elements at one place of the arguments, in the order of the schema.
    Elements(fn(&[i64]) -> i64),
    /// From the words of the values: they are moved or added.
    Words,
    /// From the order of the values; `values`: the first output holds some of them.
    Ranks { values: bool },
    /// As the product along a dimension; `running`: of all elements up to each.
    Product { running: bool },
}

/// Returns how the results on integers are computed; `None` where only f64 references exist: the
/// values then have to stay below 2^53.
pub(super) fn method(op: &str) -> Option<Method> {
    use Method::{Elements, Product, Ranks, Words};
    Some(match op {
        "clone" | "to_copy" | "floor" | "ceil" | "trunc" | "round" => Elements(|v| v[0]),
        "copy" => Elements(|v| v[1]),
        "relu" => Elements(|v| v[0].max(0)),
        "threshold_backward" => Elements(|v| if v[1] <= v[2] { 0 } else { v[0] }),
        "abs" => Elements(|v| v[0].wrapping_abs()),
        "neg" => Elements(|v| v[0].wrapping_neg()),
        "sign" | "sgn" => Elements(|v| v[0].signum()),
        "square" => Elements(|v| v[0].wrapping_mul(v[0])),
        "add" | "add.Scalar" => Elements(|v| v[0].wrapping_add(v[1].wrapping_mul(v[2]))),
        "sub" | "sub.Scalar" => Elements(|v| v[0].wrapping_sub(v[1].wrapping_mul(v[2]))),
        "rsub.Scalar" => Elements(|v| v[1].wrapping_sub(v[0].wrapping_mul(v[2]))),
        "mul" | "mul.Scalar" => Elements(|v| v[0].wrapping_mul(v[1])),
        "addcmul" => Elements(|v| v[0].wrapping_add(v[3].wrapping_mul(v[1]).wrapping_mul(v[2]))),
        "pow" | "pow.Tensor_Scalar" => Elements(|v| power(v[0], v[1])),
        "floor_divide" => Elements(|v| floor_divide(v[0], v[1])),
        "fmod" => Elements(|v| v[0].wrapping_rem(v[1])),
        "remainder" => Elements(|v| v[0].wrapping_sub(floor_divide(v[0], v[1]).wrapping_mul(v[1]))),
        "maximum" | "fmax" | "clamp_min" => Elements(|v| v[0].max(v[1])),
        "minimum" | "fmin" | "clamp_max" => Elements(|v| v[0].min(v[1])),
        "eq" | "eq.Scalar" => Elements(|v| i64::from(v[0] == v[1])),
        "ne" | "ne.Scalar" => Elements(|v| i64::from(v[0] != v[1])),
        "lt" | "lt.Scalar" => Elements(|v| i64::from(v[0] < v[1])),
        "le" | "le.Scalar" => Elements(|v| i64::from(v[0] <= v[1])),
        "gt" | "gt.Scalar" => Elements(|v| i64::from(v[0] > v[1])),
        "ge" | "ge.Scalar" => Elements(|v| i64::from(v[0] >= v[1])),
        "logical_not" => Elements(|v| i64::from(v[0] == 0)),
        "logical_and" => Elements(|v| i64::from(v[0] != 0 && v[1] != 0)),
        "logical_or" => Elements(|v| i64::from(v[0] != 0 || v[1] != 0)),
        "logical_xor" => Elements(|v| i64::from((v[0] != 0) != (v[1] != 0))),
        "bitwise_not" => Elements(|v| !v[0]),
        "bitwise_and" => Elements(|v| v[0] & v[1]),
        "bitwise_or" => Elements(|v| v[0] | v[1]),
        "bitwise_xor" => Elements(|v| v[0] ^ v[1]),
        "bitwise_left_shift" => Elements(|v| shifted_left(v[0], v[1])),
        "bitwise_right_shift" => Elements(|v| shifted_right(v[0], v[1])),
        "where" => Elements(|v| if v[0] == 0 { v[2] } else { v[1] }),
        "masked_fill.Scalar" | "masked_fill.Tensor" => {
            Elements(|v| if v[1] == 0 { v[0] } else { v[2] })
        }
        "sum"
        | "nansum"
        | "cumsum"
        | "embedding"
        | "gather"
        | "index_select"
        | "index"
        | "scatter.src"
        | "scatter.value"
        | "scatter_add"
        | "index_add"
        | "index_put"
        | "cat"
        | "stack"
        | "constant_pad_nd"
        | "repeat"
        | "repeat_interleave"
        | "repeat_interleave.self_Tensor"
        | "flip"
        | "roll"
        | "tril"
        | "triu"
        | "permute"
        | "transpose"
        | "pixel_shuffle"
        | "expand"
        | "view"
        | "unbind"
        | "split"
        | "slice"
        | "select"
        | "slice_scatter"
        | "select_scatter"
        | "unsqueeze"
        | "diag" => Words,
        "amax" | "amin" | "max.dim" | "min.dim" | "median" | "median.dim" | "topk" | "sort"
        | "cummax" | "cummin" => Ranks { values: true },
        "argmax" | "argmin" | "any" | "any.dim" | "any.dims" | "all" | "all.dim" | "all.dims"
        | "count_nonzero" => Ranks { values: false },
        "prod" => Product { running: false },
        "cumprod" => Product { running: true },
        _ => return None,
    })
}

fn floor_divide(a: i64, b: i64) -> i64 {
    let quotient = a.wrapping_div(b);
    let rounded_up = a.wrapping_rem(b) != 0 && (a < 0) != (b < 0);
    if rounded_up { quotient - 1 } else { quotient }
}

/// A negative exponent leaves 1 and -1, and of others nothing.
fn power(base: i64, exponent: i64) -> i64 {
    match (u32::try_from(exponent), base) {
        (Ok(exponent), _) => base.wrapping_pow(exponent),
        (Err(_), 1) => 1,
        (Err(_), -1) => 1 - 2 * (exponent & 1),
        (Err(_), _) => 0,
    }
}

/// Returns whether the results of a call on integers of any size are known.
#[must_use]
pub fn is_exact_beyond_f64(call: &Call<'_>) -> bool {
    known(call).is_ok_and(|known| known.is_some())
}

/// Returns how the results of a call are computed, and their shapes and types.
fn known(call: &Call<'_>) -> Result<Option<(Method, Vec<TensorSpec>)>, Error> {
    let Some(method) = method(&call.op.name) else { return Ok(None) };
    let specs = call.op.infer(call.case)?;
    let whole = match method {
        Method::Elements(_) => operands(call).all(|operand| operand.is_some()),
        _ => true,
    };
    let integers = call.case.dtype.is_int() && specs.iter().all(|spec| !spec.dtype.is_float());
    Ok((whole && integers).then_some((method, specs)))
}

/// An argument of an elementwise op.
enum Operand {
    Tensor,
    Number(i64),
}

/// Returns the arguments that results are computed from, in the order of the schema; `None` for
/// one that is no integer.
fn operands<'a>(call: &'a Call<'_>) -> impl Iterator<Item = Option<Operand>> + 'a {
    let kinds = |param: &&Param| matches!(param.kind, Kind::Tensor | Kind::Scalar | Kind::Int);
    call.op.params.iter().filter(kinds).map(|param| {
        Some(match call.arg(&param.name).or(param.default.as_ref())? {
            ArgValue::Tensor(tensor) if !tensor.spec.dtype.is_float() => Operand::Tensor,
            ArgValue::Int(value) => Operand::Number(*value),
            ArgValue::Bool(value) => Operand::Number(i64::from(*value)),
            _ => return None,
        })
    })
}

/// The results of a call on integers.
#[derive(Debug)]
pub struct Integers {
    /// The elements of each output as its type holds them, in row-major order.
    pub outputs: Vec<Vec<i64>>,
    ranks: Option<Ranks>,
}

impl Integers {
    /// Computes the outputs; `None` where they are not all integers, or only f64 references exist.
    ///
    /// `hosts`: the tensors of the case, in order.
    ///
    /// # Errors
    ///
    /// As [`Reference::evaluate`](super::Reference::evaluate).
    pub fn new(op: &OpDef, case: &Case, hosts: &[HostTensor]) -> Result<Option<Self>, Error> {
        let Some((method, specs)) = known(&op.call(case))? else { return Ok(None) };
        let evaluation = Evaluation { call: op.call(case), hosts, is_value: values(op, case) };
        let ranks = matches!(method, Method::Ranks { .. }).then(|| Ranks::new(&evaluation));
        let outputs = match method {
            Method::Elements(f) => vec![evaluation.elements(&specs[0].shape, f)],
            Method::Words => evaluation.words()?,
            Method::Product { running } => vec![evaluation.product(running)?],
            Method::Ranks { values } => {
                let ranks = ranks.as_ref().expect("made for this method");
                evaluation.ordered(ranks, values)?
            }
        };
        let stored = outputs.into_iter().zip(&specs).map(|(output, spec)| {
            output.into_iter().map(|value| wrapped(spec.dtype, value)).collect()
        });
        Ok(Some(Self { outputs: stored.collect(), ranks }))
    }

    /// Rewrites choices that the op leaves open in computed outputs to the reference's choice, as
    /// [`Engine::canonicalise`](crate::op::Engine::canonicalise) does.
    pub fn canonicalise(
        &self,
        op: &OpDef,
        case: &Case,
        hosts: &[HostTensor],
        got: &mut [Vec<i64>],
    ) {
        let Some(ranks) = &self.ranks else { return };
        let evaluation = Evaluation { call: op.call(case), hosts, is_value: values(op, case) };
        let Ok(specs) = op.infer(case) else { return };
        let has_values = matches!(method(&op.name), Some(Method::Ranks { values: true }));
        let array = |output: usize, values: &[i64]| {
            let of = |&value: &i64| match output {
                0 if has_values => ranks.rank(value),
                _ => as_f64(value),
            };
            let values = values.iter().map(of).collect();
            ArrayD::from_shape_vec(IxDyn(&specs[output].shape), values)
                .expect("an output has as many elements as its shape says")
        };
        let arrays = |all: &[Vec<i64>]| -> Vec<Array> {
            all.iter().enumerate().map(|(output, values)| array(output, values)).collect()
        };
        let (mut computed, expected) = (arrays(got), arrays(&self.outputs));
        let inputs = evaluation.mapped(|value| ranks.rank(value));
        op.canonicalise(case, &inputs, &mut computed, &expected);
        for (output, (got, chosen)) in got.iter_mut().zip(&computed).enumerate() {
            if !(output == 0 && has_values) {
                *got = chosen.iter().map(|&value| as_i64(value)).collect();
            }
        }
    }
}

/// Returns for each tensor of a case whether its elements are values, and no indices or masks.
fn values(op: &OpDef, case: &Case) -> Vec<bool> {
    let call = op.call(case);
    let of = |param: &Param| {
        let tensors = call.arg(&param.name).into_iter().flat_map(ArgValue::tensors);
        let role = !matches!(param.role, Role::Index | Role::ClassIndex | Role::Mask);
        tensors.map(|(_, tensor)| role && tensor.spec.dtype.is_int()).collect::<Vec<_>>()
    };
    op.tensor_params().flat_map(of).collect()
}

/// The distinct values of a call in ascending order; 0 has rank 0.
#[derive(Debug)]
struct Ranks {
    values: Vec<i64>,
    zero: usize,
}

impl Ranks {
    fn new(evaluation: &Evaluation<'_>) -> Self {
        let hosts = evaluation.hosts.iter().zip(&evaluation.is_value);
        let mut values: Vec<i64> =
            hosts.filter(|(_, is_value)| **is_value).flat_map(|(host, _)| host.to_i64()).collect();
        values.push(0);
        values.sort_unstable();
        values.dedup();
        let zero = values.partition_point(|&value| value < 0);
        Self { values, zero }
    }

    /// Returns NaN for an argument that is no value of the call.
    fn rank(&self, value: i64) -> f64 {
        let found = self.values.binary_search(&value);
        found.map_or(f64::NAN, |place| place as f64 - self.zero as f64)
    }

    /// Returns the value of a rank that a reference returned.
    fn value(&self, rank: i64) -> i64 {
        let place = usize::try_from(rank + i64::try_from(self.zero).unwrap_or(0));
        place.ok().and_then(|place| self.values.get(place)).copied().unwrap_or(0)
    }
}

struct Evaluation<'a> {
    call: Call<'a>,
    hosts: &'a [HostTensor],
    is_value: Vec<bool>,
}

impl Evaluation<'_> {
    /// Returns the inputs with their values replaced.
    fn mapped(&self, map: impl Fn(i64) -> f64) -> Inputs<'_> {
        let inputs = Inputs::read(self.call.case, self.hosts);
        inputs.map(|index, input| {
            if !self.is_value[index] {
                return input.array().clone();
            }
            integers(&self.hosts[index]).mapv(&map)
        })
    }

    fn evaluate(&self, map: impl Fn(i64) -> f64) -> Result<Vec<Vec<i64>>, Error> {
        let outputs = self.call.op.engine.evaluate(&self.call, &self.mapped(map))?;
        Ok(outputs.iter().map(|all| all.iter().map(|&value| as_i64(value)).collect()).collect())
    }

    /// An op that moves and adds values is affine: its result for zeros (its padding) is
    /// in the results of both words.
    fn words(&self) -> Result<Vec<Vec<i64>>, Error> {
        let low = self.evaluate(|value| as_f64(value & 0xFFFF_FFFF))?;
        let high = self.evaluate(|value| as_f64(value >> 32))?;
        let zero = self.evaluate(|_| 0.0)?;
        let joined = low.into_iter().zip(high).zip(zero).map(|((low, high), zero)| {
            let words = low.into_iter().zip(high).zip(zero);
            words.map(|((low, high), zero)| low.wrapping_add((high - zero) << 32)).collect()
        });
        Ok(joined.collect())
    }

    fn ordered(&self, ranks: &Ranks, values: bool) -> Result<Vec<Vec<i64>>, Error> {
        let mut outputs = self.evaluate(|value| ranks.rank(value))?;
        if let (Some(first), true) = (outputs.first_mut(), values) {
            *first = first.iter().map(|&rank| ranks.value(rank)).collect();
        }
        Ok(outputs)
    }

    fn elements(&self, shape: &[usize], f: fn(&[i64]) -> i64) -> Vec<i64> {
        let mut tensors = self.hosts.iter();
        let operands = operands(&self.call).flatten().map(|operand| match operand {
            Operand::Tensor => {
                let all = integers(tensors.next().expect("one for each tensor of the case"));
                let all = all.broadcast(shape).expect("the output is what they broadcast to");
                all.iter().copied().collect()
            }
            Operand::Number(value) => vec![value; shape.iter().product()],
        });
        let operands: Vec<Vec<i64>> = operands.collect();
        let at = |index: usize| f(&operands.iter().map(|all| all[index]).collect::<Vec<_>>());
        (0..shape.iter().product()).map(at).collect()
    }

    fn product(&self, running: bool) -> Result<Vec<i64>, Error> {
        let mut values = integers(&self.hosts[0]);
        let Some(dim) = self.call.opt_int("dim")? else {
            return Ok(vec![values.iter().fold(1, |all, &value| all.wrapping_mul(value))]);
        };
        if values.ndim() == 0 {
            return Ok(values.into_iter().collect());
        }
        let axis = Axis(normalise_dim(dim, values.ndim())?);
        if running {
            values.accumulate_axis_inplace(axis, |&before, value| {
                *value = value.wrapping_mul(before);
            });
            return Ok(values.into_iter().collect());
        }
        let products = values.fold_axis(axis, 1_i64, |all, &value| all.wrapping_mul(value));
        Ok(products.into_iter().collect())
    }
}

fn integers(host: &HostTensor) -> ArrayD<i64> {
    ArrayD::from_shape_vec(IxDyn(&host.spec.shape), host.to_i64())
        .expect("a tensor has as many elements as its shape says")
}

#[expect(clippy::cast_precision_loss, reason = "words, ranks and indices are below 2^53")]
fn as_f64(value: i64) -> f64 {
    value as f64
}

#[expect(clippy::cast_possible_truncation, reason = "words, ranks and indices are below 2^53")]
fn as_i64(value: f64) -> i64 {
    value as i64
}
