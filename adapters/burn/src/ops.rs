//! The table: overloads of ATen by functions that Burn has for them.

use burn::{
    module::Param,
    nn::{
        LayerNormConfig, RmsNorm,
        loss::{CrossEntropyLossConfig, HuberLossConfig, MseLoss, Reduction, SmoothL1LossConfig},
    },
    tensor::{
        DType as Burns, Float, Int, activation, module,
        ops::{AttentionModuleOptions, ConvOptions},
    },
};
use kgen_adapter::{Args, Function, Op, Refusal, Slot, unsupported};

use crate::value::{Ranked, Tensor, Value, any_rank, each_rank};

type Bound = Result<Function<Value>, Refusal>;

fn only(holds: bool, otherwise: &str) -> Result<(), Refusal> {
    if holds { Ok(()) } else { Err(unsupported(otherwise)) }
}

fn same_type(args: &Args, a: Slot, b: Slot) -> Result<(), Refusal> {
    let (a, b) = (args.spec(a).dtype, args.spec(b).dtype);
    only(a == b, &format!("{a} with {b}"))
}

/// Binds a function that returns a tensor of a shape.
fn shaped(
    shape: Vec<usize>,
    f: impl Fn(&[Value]) -> Result<Ranked<Float>, Refusal> + Send + Sync + 'static,
) -> Bound {
    Ok(Box::new(move |tensors| Ok(vec![Value::of_float(f(tensors)?, shape.clone())])))
}

/// Binds a function of one tensor that keeps its shape.
fn unary(args: &Args, f: impl Fn(Ranked<Float>) -> Ranked<Float> + Send + Sync + 'static) -> Bound {
    let x = args.float("self")?;
    shaped(args.spec(x).shape.clone(), move |tensors| Ok(f(x.of(tensors).float()?)))
}

/// Rows of functions of one tensor.
macro_rules! unary {
    ($args:ident, $x:ident => $body:expr) => {
        unary($args, move |ranked| each_rank!(ranked, $x => $body))
    };
}

/// Returns the shape of a result of two tensors.
fn broadcast(args: &Args, a: Slot, b: Slot) -> Vec<usize> {
    let (a, b) = (&args.spec(a).shape, &args.spec(b).shape);
    let rank = a.len().max(b.len());
    let extent = |shape: &[usize], dim: usize| {
        (dim + shape.len()).checked_sub(rank).map_or(1, |at| shape[at])
    };
    (0..rank).map(|dim| extent(a, dim).max(extent(b, dim))).collect()
}

/// Returns a tensor with ones in front of its extents; the elements stay where they are.
fn raised(ranked: Ranked<Float>, rank: usize) -> Ranked<Float> {
    any_rank!(ranked, x => match rank {
        2 if x.rank() < 2 => Ranked::R2(x.unsqueeze::<2>()),
        3 if x.rank() < 3 => Ranked::R3(x.unsqueeze::<3>()),
        4 if x.rank() < 4 => Ranked::R4(x.unsqueeze::<4>()),
        _ => each_rank!(Ranked::from(x), x => x),
    })
}

/// Makes the rank of a tensor a value.
macro_rules! ranked_from {
    ($($rank:ident $n:literal)*) => {
        $(impl From<Tensor<$n>> for Ranked<Float> {
            fn from(x: Tensor<$n>) -> Self {
                Self::$rank(x)
            }
        })*
    };
}
ranked_from! { R1 1 R2 2 R3 3 R4 4 }

/// Applies a function of two tensors of one rank.
macro_rules! pair {
    ($a:expr, $b:expr, $x:ident $y:ident => $body:expr) => {
        match ($a, $b) {
            (Ranked::R1($x), Ranked::R1($y)) => Ok(Ranked::R1($body)),
            (Ranked::R2($x), Ranked::R2($y)) => Ok(Ranked::R2($body)),
            (Ranked::R3($x), Ranked::R3($y)) => Ok(Ranked::R3($body)),
            (Ranked::R4($x), Ranked::R4($y)) => Ok(Ranked::R4($body)),
            _ => Err(unsupported("two numbers of dimensions")),
        }
    };
}

/// Rows of functions of two tensors that are broadcast.
macro_rules! binary {
    ($args:ident, $x:ident $y:ident => $body:expr) => {{
        let (a, b) = ($args.float("self")?, $args.float("other")?);
        same_type($args, a, b)?;
        let shape = broadcast($args, a, b);
        let rank = shape.len();
        shaped(shape, move |tensors| {
            let (a, b) = (raised(a.of(tensors).float()?, rank), raised(b.of(tensors).float()?, rank));
            pair!(a, b, $x $y => $body)
        })
    }};
}

/// Returns a shape without the dimensions of a reduction, or with ones for them.
fn reduced_shape(args: &Args, x: Slot, dims: &[usize]) -> Result<Vec<usize>, Refusal> {
    let keeps = args.bool("keepdim", false)?;
    let extents = args.spec(x).shape.iter().enumerate();
    Ok(extents
        .filter_map(|(dim, &n)| if dims.contains(&dim) { keeps.then_some(1) } else { Some(n) })
        .collect())
}

/// Rows of reductions.
macro_rules! reduction {
    ($args:ident, $x:ident $dims:ident => $body:expr) => {{
        let x = $args.float("self")?;
        $args.keeps_dtype(x)?;
        let found = $args.dims_of(x, "dim")?;
        let shape = reduced_shape($args, x, &found)?;
        shaped(shape, move |tensors| {
            let $dims = &found[..];
            Ok(each_rank!(x.of(tensors).float()?, $x => $body))
        })
    }};
}

/// Rows of positions along a dimension.
macro_rules! position {
    ($args:ident, $x:ident $dim:ident => $body:expr) => {{
        let x = $args.float("self")?;
        only($args.optional_ints("dim")?.is_some(), "a position in all dimensions")?;
        let $dim = $args.dim_of(x, $args.int("dim", 0)?)?;
        let shape = reduced_shape($args, x, &[$dim])?;
        Ok(Box::new(move |tensors: &[Value]| {
            let found: Ranked<Int> = each_rank!(x.of(tensors).float()?, $x => $body.cast(Burns::I64));
            Ok(vec![Value::of_int(found, shape.clone())])
        }) as Function<Value>)
    }};
}

fn gelu(args: &Args) -> Bound {
    match args.text("approximate", "none")? {
        "none" => unary!(args, x => activation::gelu(x)),
        "tanh" => unary!(args, x => activation::gelu_approximate(x)),
        other => Err(unsupported(format!("gelu by {other}"))),
    }
}

fn elu(args: &Args) -> Bound {
    let alpha = args.number("alpha", 1.0)?;
    only(
        args.number("scale", 1.0)? == 1.0 && args.number("input_scale", 1.0)? == 1.0,
        "elu with scales",
    )?;
    unary!(args, x => activation::elu(x, alpha))
}

fn clamp(args: &Args) -> Bound {
    match (args.optional_number("min")?, args.optional_number("max")?) {
        (Some(low), Some(high)) => unary!(args, x => x.clamp(low, high)),
        (Some(low), None) => unary!(args, x => x.clamp_min(low)),
        (None, Some(high)) => unary!(args, x => x.clamp_max(high)),
        (None, None) => Err(unsupported("clamp without limits")),
    }
}

fn is_plain_sum(args: &Args) -> Result<(), Refusal> {
    only(args.number("alpha", 1.0)? == 1.0, "another alpha than 1")
}

fn along(args: &Args, f: fn(Ranked<Float>, usize) -> Ranked<Float>) -> Bound {
    let x = args.float("self")?;
    only(!args.bool("half_to_float", false)?, "halves to f32")?;
    args.keeps_dtype(x)?;
    let dim = args.dim_of(x, args.int("dim", -1)?)?;
    unary(args, move |ranked| f(ranked, dim))
}

/// Returns input and weight of a norm over the last dimension; Burn has no other.
fn normed(args: &Args) -> Result<(Slot, Slot), Refusal> {
    let x = args.float("input")?;
    let over = args.optional_ints("normalized_shape")?.unwrap_or_default();
    only(over.len() == 1, "a norm over several dimensions")?;
    let weight =
        args.optional_tensor("weight")?.ok_or_else(|| unsupported("a norm without a weight"))?;
    same_type(args, x, weight)?;
    Ok((x, weight))
}

fn layer_norm(args: &Args) -> Bound {
    let (x, weight) = normed(args)?;
    let (bias, eps) = (args.optional_tensor("bias")?, args.number("eps", 1e-5)?);
    let width = args.spec(weight).shape.iter().product();
    shaped(args.spec(x).shape.clone(), move |tensors| {
        let weight = weight.of(tensors).float()?.r1()?;
        let bias = bias.map(|bias| bias.of(tensors).float()?.r1()).transpose()?;
        // Parameters are initialised when they are first read, and these never are.
        let config = LayerNormConfig::new(width).with_epsilon(eps).with_bias(bias.is_some());
        let mut norm = config.init(&weight.device());
        norm.gamma = Param::from_tensor(weight);
        norm.beta = bias.map(Param::from_tensor);
        Ok(each_rank!(x.of(tensors).float()?, x => norm.forward(x)))
    })
}

fn rms_norm(args: &Args) -> Bound {
    let (x, weight) = normed(args)?;
    let epsilon = args.number("eps", f64::from(f32::EPSILON))?;
    shaped(args.spec(x).shape.clone(), move |tensors| {
        let norm =
            RmsNorm { gamma: Param::from_tensor(weight.of(tensors).float()?.r1()?), epsilon };
        Ok(each_rank!(x.of(tensors).float()?, x => norm.forward(x)))
    })
}

/// Binds a matrix product; the batches of both are broadcast.
fn product(args: &Args, names: [&str; 2]) -> Bound {
    let (a, b) = (args.float(names[0])?, args.float(names[1])?);
    same_type(args, a, b)?;
    let (of_a, of_b) = (&args.spec(a).shape, &args.spec(b).shape);
    only(of_a.len() >= 2 && of_b.len() >= 2, "a product with a vector")?;
    let mut shape = broadcast(args, a, b);
    let rank = shape.len();
    (shape[rank - 2], shape[rank - 1]) = (of_a[of_a.len() - 2], of_b[of_b.len() - 1]);
    shaped(shape, move |tensors| {
        let (a, b) = (raised(a.of(tensors).float()?, rank), raised(b.of(tensors).float()?, rank));
        pair!(a, b, x y => x.matmul(y))
    })
}

fn linear(args: &Args) -> Bound {
    let (x, weight, bias) =
        (args.float("input")?, args.tensor("weight")?, args.optional_tensor("bias")?);
    same_type(args, x, weight)?;
    let mut shape = args.spec(x).shape.clone();
    if let (Some(last), Some(width)) = (shape.last_mut(), args.spec(weight).shape.first()) {
        *last = *width;
    }
    shaped(shape, move |tensors| {
        // Burn's weights are the transposed ones of ATen.
        let weight = weight.of(tensors).float()?.r2()?.transpose();
        let bias = bias.map(|bias| bias.of(tensors).float()?.r1()).transpose()?;
        Ok(each_rank!(x.of(tensors).float()?, x => module::linear(x, weight, bias)))
    })
}

/// Returns a pair of extents out of a list of one or two.
fn two(args: &Args, name: &str, default: i64) -> Result<[usize; 2], Refusal> {
    let values = args.optional_ints(name)?.unwrap_or_default();
    let first = values.first().copied().unwrap_or(default);
    let both = [first, values.get(1).copied().unwrap_or(first)];
    let size = |value| usize::try_from(value).map_err(unsupported);
    Ok([size(both[0])?, size(both[1])?])
}

fn conv2d(args: &Args) -> Bound {
    let (x, weight, bias) =
        (args.float("input")?, args.tensor("weight")?, args.optional_tensor("bias")?);
    same_type(args, x, weight)?;
    let (stride, padding, dilation) =
        (two(args, "stride", 1)?, two(args, "padding", 0)?, two(args, "dilation", 1)?);
    let groups = usize::try_from(args.int("groups", 1)?).map_err(unsupported)?;
    let (of_x, of_weight) = (&args.spec(x).shape, &args.spec(weight).shape);
    only(of_x.len() == 4 && of_weight.len() == 4, "an image without a batch")?;
    let extent = |dim: usize| {
        let taken = dilation[dim] * (of_weight[dim + 2] - 1) + 1;
        (of_x[dim + 2] + 2 * padding[dim])
            .checked_sub(taken)
            .map_or(0, |left| left / stride[dim] + 1)
    };
    let shape = vec![of_x[0], of_weight[0], extent(0), extent(1)];
    shaped(shape, move |tensors| {
        let options = ConvOptions::new(stride, padding, dilation, groups);
        let bias = bias.map(|bias| bias.of(tensors).float()?.r1()).transpose()?;
        let (x, weight) = (x.of(tensors).float()?.r4()?, weight.of(tensors).float()?.r4()?);
        Ok(Ranked::R4(module::conv2d(x, weight, bias, options)))
    })
}

fn attention(args: &Args) -> Bound {
    let (query, key, value) = (args.float("query")?, args.float("key")?, args.float("value")?);
    only(args.optional_tensor("attn_mask")?.is_none(), "attention with a mask")?;
    only(
        args.number("dropout_p", 0.0)? == 0.0 && !args.bool("enable_gqa", false)?,
        "dropout or grouped queries",
    )?;
    let is_causal = args.bool("is_causal", false)?;
    let options =
        AttentionModuleOptions { scale: args.optional_number("scale")?, softcap: None, is_causal };
    only(args.spec(query).shape.len() == 4, "attention without batches and heads")?;
    let mut shape = args.spec(query).shape.clone();
    shape[3] = args.spec(value).shape.last().copied().unwrap_or_default();
    shaped(shape, move |tensors| {
        let of = |slot: Slot| slot.of(tensors).float()?.r4();
        Ok(Ranked::R4(module::attention(of(query)?, of(key)?, of(value)?, None, None, options)))
    })
}

fn embedding(args: &Args) -> Bound {
    let (weight, indices) = (args.float("weight")?, args.tensor("indices")?);
    let mut shape = args.spec(indices).shape.clone();
    let n: usize = shape.iter().product();
    let rows = if shape.len() == 2 { [shape[0], shape[1]] } else { [1, n] };
    shape.extend(args.spec(weight).shape.last());
    shaped(shape, move |tensors| {
        let indices = any_rank!(indices.of(tensors).int()?, x => x.reshape(rows));
        Ok(Ranked::R3(module::embedding(weight.of(tensors).float()?.r2()?, indices)))
    })
}

fn index_select(args: &Args) -> Bound {
    let (x, index) = (args.float("self")?, args.tensor("index")?);
    let dim = args.dim_of(x, args.int("dim", 0)?)?;
    let mut shape = args.spec(x).shape.clone();
    shape[dim] = args.spec(index).shape.iter().product();
    shaped(shape, move |tensors| {
        let index = index.of(tensors).int()?.r1()?;
        Ok(each_rank!(x.of(tensors).float()?, x => x.select(dim, index)))
    })
}

fn gather(args: &Args) -> Bound {
    let (x, index) = (args.float("self")?, args.tensor("index")?);
    let dim = args.dim_of(x, args.int("dim", 0)?)?;
    shaped(args.spec(index).shape.clone(), move |tensors| {
        match (x.of(tensors).float()?, index.of(tensors).int()?) {
            (Ranked::R1(x), Ranked::R1(index)) => Ok(Ranked::R1(x.gather(dim, index))),
            (Ranked::R2(x), Ranked::R2(index)) => Ok(Ranked::R2(x.gather(dim, index))),
            (Ranked::R3(x), Ranked::R3(index)) => Ok(Ranked::R3(x.gather(dim, index))),
            (Ranked::R4(x), Ranked::R4(index)) => Ok(Ranked::R4(x.gather(dim, index))),
            _ => Err(unsupported("two numbers of dimensions")),
        }
    })
}

fn cat(args: &Args) -> Bound {
    let slots = args.tensors_of("tensors")?;
    let first = *slots.first().ok_or_else(|| unsupported("no tensors"))?;
    let dim = args.dim_of(first, args.int("dim", 0)?)?;
    let mut shape = args.spec(first).shape.clone();
    shape[dim] = 0;
    for &slot in &slots {
        same_type(args, first, slot)?;
        only(args.spec(slot).shape.len() == shape.len(), "tensors of several ranks")?;
        shape[dim] += args.spec(slot).shape[dim];
    }
    shaped(shape, move |tensors| {
        let mut list =
            slots.iter().map(|slot| slot.of(tensors).float()).collect::<Result<Vec<_>, _>>()?;
        macro_rules! join {
            ($($rank:ident $take:ident)*) => {
                match &list[0] {
                    $(Ranked::$rank(_) => {
                        let of_rank = |ranked| match ranked { Ranked::$rank(x) => Some(x), _ => None };
                        Ranked::$rank(Tensor::cat(list.drain(..).filter_map(of_rank).collect(), dim))
                    })*
                }
            };
        }
        Ok(join! { R1 r1 R2 r2 R3 r3 R4 r4 })
    })
}

fn reduction_of(args: &Args) -> Result<Reduction, Refusal> {
    match args.int("reduction", 1)? {
        1 => Ok(Reduction::Mean),
        2 => Ok(Reduction::Sum),
        _ => Err(unsupported("a loss that is not reduced")),
    }
}

/// Rows of losses of two tensors of one shape.
macro_rules! loss {
    ($args:ident, $x:ident $target:ident $reduction:ident => $body:expr) => {{
        let (x, target) = ($args.float("self")?, $args.float("target")?);
        same_type($args, x, target)?;
        only($args.spec(x).shape == $args.spec(target).shape, "a target that is broadcast")?;
        let is_mean = matches!(reduction_of($args)?, Reduction::Mean);
        shaped(Vec::new(), move |tensors| {
            let $reduction = if is_mean { Reduction::Mean } else { Reduction::Sum };
            let pair = (x.of(tensors).float()?, target.of(tensors).float()?);
            Ok(Ranked::R1(match pair {
                (Ranked::R1($x), Ranked::R1($target)) => $body,
                (Ranked::R2($x), Ranked::R2($target)) => $body,
                (Ranked::R3($x), Ranked::R3($target)) => $body,
                (Ranked::R4($x), Ranked::R4($target)) => $body,
                _ => return Err(unsupported("two numbers of dimensions")),
            }))
        })
    }};
}

fn huber(args: &Args) -> Bound {
    let delta = args.number("delta", 1.0)? as f32;
    loss!(args, x target reduction => HuberLossConfig::new(delta).init().forward(x, target, reduction))
}

fn smooth_l1(args: &Args) -> Bound {
    let beta = args.number("beta", 1.0)? as f32;
    loss!(args, x target reduction =>
        SmoothL1LossConfig::new().with_beta(beta).init().forward_with_reduction(x, target, reduction))
}

fn cross_entropy(args: &Args) -> Bound {
    only(matches!(reduction_of(args)?, Reduction::Mean), "a loss that is no mean")?;
    only(args.optional_tensor("weight")?.is_none(), "weights of classes")?;
    only(args.number("label_smoothing", 0.0)? == 0.0, "smoothed labels")?;
    let (x, target) = (args.float("self")?, args.tensor("target")?);
    only(
        args.spec(x).shape.len() == 2 && !args.spec(target).dtype.is_float(),
        "other targets than classes of rows",
    )?;
    shaped(Vec::new(), move |tensors| {
        let (x, target) = (x.of(tensors).float()?.r2()?, target.of(tensors).int()?.r1()?);
        let loss = CrossEntropyLossConfig::new().init(&x.device());
        Ok(Ranked::R1(loss.forward(x, target)))
    })
}

fn triangle(args: &Args, f: fn(Ranked<Float>, i64) -> Ranked<Float>) -> Bound {
    let diagonal = args.int("diagonal", 0)?;
    unary(args, move |ranked| f(ranked, diagonal))
}

/// Returns the table.
pub(crate) fn table() -> Vec<Op<Value>> {
    let mut table = elementwise();
    table.extend(reductions());
    table.extend([
        ("mm.default", (|args| product(args, ["self", "mat2"])) as kgen_adapter::Bind<Value>),
        ("bmm.default", |args| product(args, ["self", "mat2"])),
        ("matmul.default", |args| product(args, ["self", "other"])),
        ("linear.default", linear),
        ("conv2d.default", conv2d),
        ("scaled_dot_product_attention.default", attention),
        ("layer_norm.default", layer_norm),
        ("rms_norm.default", rms_norm),
        ("embedding.default", embedding),
        ("index_select.default", index_select),
        ("gather.default", gather),
        ("cat.default", cat),
        ("triu.default", |args| {
            triangle(args, |ranked, diagonal| each_rank!(ranked, x => x.triu(diagonal)))
        }),
        ("tril.default", |args| {
            triangle(args, |ranked, diagonal| each_rank!(ranked, x => x.tril(diagonal)))
        }),
        (
            "mse_loss.default",
            |args| loss!(args, x target reduction => MseLoss::new().forward(x, target, reduction)),
        ),
        ("huber_loss.default", huber),
        ("smooth_l1_loss.default", smooth_l1),
        ("cross_entropy_loss.default", cross_entropy),
    ]);
    table
}

fn elementwise() -> Vec<Op<Value>> {
    vec![
        ("relu.default", |args| unary!(args, x => activation::relu(x))),
        ("leaky_relu.default", |args| {
            let slope = args.number("negative_slope", 0.01)?;
            unary!(args, x => activation::leaky_relu(x, slope))
        }),
        ("gelu.default", gelu),
        ("silu.default", |args| unary!(args, x => activation::silu(x))),
        ("sigmoid.default", |args| unary!(args, x => activation::sigmoid(x))),
        ("log_sigmoid.default", |args| unary!(args, x => activation::log_sigmoid(x))),
        (
            "hardsigmoid.default",
            |args| unary!(args, x => activation::hard_sigmoid(x, 1.0 / 6.0, 0.5)),
        ),
        ("hardswish.default", |args| unary!(args, x => activation::hard_swish(x))),
        ("mish.default", |args| unary!(args, x => activation::mish(x))),
        ("elu.default", elu),
        ("selu.default", |args| unary!(args, x => activation::selu(x))),
        ("celu.default", |args| {
            let alpha = args.number("alpha", 1.0)?;
            unary!(args, x => activation::celu(x, alpha))
        }),
        ("tanh.default", |args| unary!(args, x => activation::tanh(x))),
        ("exp.default", |args| unary!(args, x => x.exp())),
        ("log.default", |args| unary!(args, x => x.log())),
        ("log1p.default", |args| unary!(args, x => x.log1p())),
        ("sqrt.default", |args| unary!(args, x => x.sqrt())),
        ("square.default", |args| unary!(args, x => x.square())),
        ("reciprocal.default", |args| unary!(args, x => x.recip())),
        ("sin.default", |args| unary!(args, x => x.sin())),
        ("cos.default", |args| unary!(args, x => x.cos())),
        ("erf.default", |args| unary!(args, x => x.erf())),
        ("abs.default", |args| unary!(args, x => x.abs())),
        ("neg.default", |args| unary!(args, x => x.neg())),
        ("sign.default", |args| unary!(args, x => x.sign())),
        ("floor.default", |args| unary!(args, x => x.floor())),
        ("ceil.default", |args| unary!(args, x => x.ceil())),
        ("round.default", |args| unary!(args, x => x.round())),
        ("clamp.default", clamp),
        ("add.Tensor", |args| {
            is_plain_sum(args)?;
            binary!(args, x y => x.add(y))
        }),
        ("sub.Tensor", |args| {
            is_plain_sum(args)?;
            binary!(args, x y => x.sub(y))
        }),
        ("mul.Tensor", |args| binary!(args, x y => x.mul(y))),
        ("div.Tensor", |args| binary!(args, x y => x.div(y))),
        ("maximum.default", |args| binary!(args, x y => x.max_pair(y))),
        ("minimum.default", |args| binary!(args, x y => x.min_pair(y))),
        ("add.Scalar", |args| {
            is_plain_sum(args)?;
            let other = args.number("other", 0.0)?;
            unary!(args, x => x.add_scalar(other))
        }),
        ("sub.Scalar", |args| {
            is_plain_sum(args)?;
            let other = args.number("other", 0.0)?;
            unary!(args, x => x.sub_scalar(other))
        }),
        ("mul.Scalar", |args| {
            let other = args.number("other", 1.0)?;
            unary!(args, x => x.mul_scalar(other))
        }),
        ("div.Scalar", |args| {
            let other = args.number("other", 1.0)?;
            unary!(args, x => x.div_scalar(other))
        }),
        ("pow.Tensor_Scalar", |args| {
            let exponent = args.number("exponent", 1.0)?;
            unary!(args, x => x.powf_scalar(exponent))
        }),
    ]
}

fn reductions() -> Vec<Op<Value>> {
    vec![
        ("sum.dim_IntList", |args| reduction!(args, x dims => x.sum_dims(dims))),
        ("mean.dim", |args| reduction!(args, x dims => x.mean_dims(dims))),
        ("amax.default", |args| reduction!(args, x dims => x.max_dims(dims))),
        ("amin.default", |args| reduction!(args, x dims => x.min_dims(dims))),
        ("argmax.default", |args| position!(args, x dim => x.argmax(dim))),
        ("argmin.default", |args| position!(args, x dim => x.argmin(dim))),
        ("cumsum.default", |args| {
            along(args, |ranked, dim| each_rank!(ranked, x => x.cumsum(dim)))
        }),
        ("_softmax.default", |args| {
            along(args, |ranked, dim| each_rank!(ranked, x => activation::softmax(x, dim)))
        }),
        ("_log_softmax.default", |args| {
            along(args, |ranked, dim| each_rank!(ranked, x => activation::log_softmax(x, dim)))
        }),
    ]
}
