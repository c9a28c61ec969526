//! The table: overloads of ATen by functions that Candle has for them.

use candle_core::Tensor;
use candle_nn::{Embedding, LayerNorm, Linear, Module as _, RmsNorm, loss, ops};
use kgen_adapter::{Args, Function, Op, Refusal, Slot, unsupported};

use crate::{dtype, refused};

type Bound = Result<Function<Tensor>, Refusal>;

/// Binds a function of one tensor.
fn unary(
    args: &Args,
    f: impl Fn(&Tensor) -> candle_core::Result<Tensor> + Send + Sync + 'static,
) -> Bound {
    of_one(args.float("self")?, f)
}

fn of_one(
    x: Slot,
    f: impl Fn(&Tensor) -> candle_core::Result<Tensor> + Send + Sync + 'static,
) -> Bound {
    Ok(Box::new(move |tensors| Ok(vec![f(x.of(tensors)).map_err(refused)?])))
}

fn of_two(
    a: Slot,
    b: Slot,
    f: impl Fn(&Tensor, &Tensor) -> candle_core::Result<Tensor> + Send + Sync + 'static,
) -> Bound {
    Ok(Box::new(move |tensors| Ok(vec![f(a.of(tensors), b.of(tensors)).map_err(refused)?])))
}

/// Binds a function of two tensors of one type.
fn binary(
    args: &Args,
    names: [&str; 2],
    f: impl Fn(&Tensor, &Tensor) -> candle_core::Result<Tensor> + Send + Sync + 'static,
) -> Bound {
    let (a, b) = (args.tensor(names[0])?, args.tensor(names[1])?);
    same_type(args, a, b)?;
    of_two(a, b, f)
}

/// Candle converts nothing by itself.
fn same_type(args: &Args, a: Slot, b: Slot) -> Result<(), Refusal> {
    let (a, b) = (args.spec(a).dtype, args.spec(b).dtype);
    if a == b { Ok(()) } else { Err(unsupported(format!("{a} with {b}"))) }
}

fn only(holds: bool, otherwise: &str) -> Result<(), Refusal> {
    if holds { Ok(()) } else { Err(unsupported(otherwise)) }
}

/// Binds a reduction over dimensions, which Candle makes one by one.
fn reduce(
    args: &Args,
    keep: fn(&Tensor, &[usize]) -> candle_core::Result<Tensor>,
    squeeze: fn(&Tensor, &[usize]) -> candle_core::Result<Tensor>,
) -> Bound {
    let x = args.float("self")?;
    args.keeps_dtype(x)?;
    let dims = args.dims_of(x, "dim")?;
    let f = if args.bool("keepdim", false)? { keep } else { squeeze };
    of_one(x, move |x| f(x, &dims))
}

/// Binds a reduction of which Candle has a function for one dimension.
fn extremum(args: &Args, keep: fn(&Tensor, usize) -> candle_core::Result<Tensor>) -> Bound {
    let x = args.float("self")?;
    let dims = args.dims_of(x, "dim")?;
    let keepdim = args.bool("keepdim", false)?;
    of_one(x, move |x| {
        let mut reduced = x.clone();
        for &dim in dims.iter().rev() {
            reduced = keep(&reduced, dim)?;
            if !keepdim {
                reduced = reduced.squeeze(dim)?;
            }
        }
        Ok(reduced)
    })
}

/// Binds the position of an extremum, which Candle returns in u32.
fn position(args: &Args, keep: fn(&Tensor, usize) -> candle_core::Result<Tensor>) -> Bound {
    let x = args.float("self")?;
    let named = args.optional_ints("dim")?;
    only(named.is_some(), "a position in all dimensions")?;
    let dim = args.dim_of(x, args.int("dim", 0)?)?;
    let keepdim = args.bool("keepdim", false)?;
    of_one(x, move |x| {
        let kept = keep(x, dim)?;
        let found = if keepdim { kept } else { kept.squeeze(dim)? };
        found.to_dtype(candle_core::DType::I64)
    })
}

/// Refuses all but means over all elements, as Candle's losses are.
fn is_mean(args: &Args) -> Result<(), Refusal> {
    only(args.int("reduction", 1)? == 1, "a loss that is no mean")
}

fn loss_of(args: &Args, f: fn(&Tensor, &Tensor) -> candle_core::Result<Tensor>) -> Bound {
    is_mean(args)?;
    let (x, target) = (args.float("self")?, args.float("target")?);
    same_type(args, x, target)?;
    only(args.spec(x).shape == args.spec(target).shape, "a target that is broadcast")?;
    of_two(x, target, f)
}

fn gelu(args: &Args) -> Bound {
    match args.text("approximate", "none")? {
        "none" => unary(args, Tensor::gelu_erf),
        "tanh" => unary(args, Tensor::gelu),
        other => Err(unsupported(format!("gelu by {other}"))),
    }
}

fn elu(args: &Args) -> Bound {
    let alpha = args.number("alpha", 1.0)?;
    only(
        args.number("scale", 1.0)? == 1.0 && args.number("input_scale", 1.0)? == 1.0,
        "elu with scales",
    )?;
    unary(args, move |x| x.elu(alpha))
}

fn leaky_relu(args: &Args) -> Bound {
    let slope = args.number("negative_slope", 0.01)?;
    unary(args, move |x| ops::leaky_relu(x, slope))
}

fn clamp(args: &Args) -> Bound {
    let (low, high) = (args.optional_number("min")?, args.optional_number("max")?);
    match (low, high) {
        (Some(low), Some(high)) => unary(args, move |x| x.clamp(low, high)),
        (Some(low), None) => unary(args, move |x| x.maximum(low)),
        (None, Some(high)) => unary(args, move |x| x.minimum(high)),
        (None, None) => Err(unsupported("clamp without limits")),
    }
}

/// Binds a sum or difference; `alpha` is 1 or a multiplication of its own.
fn sum_of(args: &Args, sign: f64) -> Bound {
    only(args.number("alpha", 1.0)? == 1.0, "another alpha than 1")?;
    if sign > 0.0 {
        binary(args, ["self", "other"], Tensor::broadcast_add)
    } else {
        binary(args, ["self", "other"], Tensor::broadcast_sub)
    }
}

/// Binds `self * mul + add`.
fn affine(args: &Args, of: fn(f64, f64) -> (f64, f64)) -> Bound {
    let (other, alpha) = (args.number("other", 0.0)?, args.number("alpha", 1.0)?);
    let (mul, add) = of(other, alpha);
    unary(args, move |x| x.affine(mul, add))
}

fn matrix_product(args: &Args, names: [&str; 2]) -> Bound {
    binary(args, names, Tensor::matmul)
}

fn matmul(args: &Args) -> Bound {
    let (a, b) = (args.tensor("self")?, args.tensor("other")?);
    let ranks = (args.spec(a).shape.len(), args.spec(b).shape.len());
    match ranks {
        (2.., 2..) => binary(args, ["self", "other"], Tensor::broadcast_matmul),
        (2, 1) => binary(args, ["self", "other"], Tensor::mv),
        (1, 1) => binary(args, ["self", "other"], Tensor::dot),
        _ => Err(unsupported("a vector from the left")),
    }
}

fn linear(args: &Args) -> Bound {
    let (x, weight, bias) =
        (args.float("input")?, args.tensor("weight")?, args.optional_tensor("bias")?);
    same_type(args, x, weight)?;
    Ok(Box::new(move |tensors| {
        let linear =
            Linear::new(weight.of(tensors).clone(), bias.map(|bias| bias.of(tensors).clone()));
        Ok(vec![linear.forward(x.of(tensors)).map_err(refused)?])
    }))
}

fn softmax(args: &Args) -> Bound {
    only(!args.bool("half_to_float", false)?, "softmax of halves to f32")?;
    let x = args.float("self")?;
    let dim = args.dim_of(x, args.int("dim", -1)?)?;
    let is_last = dim + 1 == args.spec(x).shape.len();
    of_one(x, move |x| {
        if is_last && x.is_contiguous() { ops::softmax_last_dim(x) } else { ops::softmax(x, dim) }
    })
}

fn log_softmax(args: &Args) -> Bound {
    only(!args.bool("half_to_float", false)?, "log_softmax of halves to f32")?;
    let x = args.float("self")?;
    let dim = args.dim_of(x, args.int("dim", -1)?)?;
    of_one(x, move |x| ops::log_softmax(x, dim))
}

/// Returns input and weight of a norm over the last dimension; Candle has no other.
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
    Ok(Box::new(move |tensors| {
        let weight = weight.of(tensors).clone();
        let norm = match bias {
            Some(bias) => LayerNorm::new(weight, bias.of(tensors).clone(), eps),
            None => LayerNorm::new_no_bias(weight, eps),
        };
        Ok(vec![norm.forward(x.of(tensors)).map_err(refused)?])
    }))
}

fn rms_norm(args: &Args) -> Bound {
    let (x, weight) = normed(args)?;
    let eps = args.number("eps", f64::from(f32::EPSILON))?;
    Ok(Box::new(move |tensors| {
        let norm = RmsNorm::new(weight.of(tensors).clone(), eps);
        Ok(vec![norm.forward(x.of(tensors)).map_err(refused)?])
    }))
}

fn cross_entropy(args: &Args) -> Bound {
    is_mean(args)?;
    only(args.optional_tensor("weight")?.is_none(), "weights of classes")?;
    only(args.number("label_smoothing", 0.0)? == 0.0, "smoothed labels")?;
    let (x, target) = (args.float("self")?, args.tensor("target")?);
    only(
        args.spec(x).shape.len() == 2 && !args.spec(target).dtype.is_float(),
        "other targets than classes of rows",
    )?;
    of_two(x, target, loss::cross_entropy)
}

fn embedding(args: &Args) -> Bound {
    let (weight, indices) = (args.float("weight")?, args.tensor("indices")?);
    let width = args.spec(weight).shape.last().copied().unwrap_or_default();
    of_two(weight, indices, move |weight, indices| {
        Embedding::new(weight.clone(), width).forward(indices)
    })
}

fn indexed(args: &Args, f: fn(&Tensor, &Tensor, usize) -> candle_core::Result<Tensor>) -> Bound {
    let (x, index) = (args.tensor("self")?, args.tensor("index")?);
    let dim = args.dim_of(x, args.int("dim", 0)?)?;
    of_two(x, index, move |x, index| f(x, index, dim))
}

fn joined(
    args: &Args,
    f: fn(&[&Tensor], usize) -> candle_core::Result<Tensor>,
    grows: bool,
) -> Bound {
    let slots = args.tensors_of("tensors")?;
    let first = *slots.first().ok_or_else(|| unsupported("no tensors"))?;
    for &slot in &slots {
        same_type(args, first, slot)?;
    }
    let rank = i64::try_from(args.spec(first).shape.len()).unwrap_or(i64::MAX) + i64::from(grows);
    let dim = args.int("dim", 0)?;
    let dim = usize::try_from(if dim < 0 { dim + rank } else { dim }).map_err(unsupported)?;
    Ok(Box::new(move |tensors| {
        let list: Vec<&Tensor> = slots.iter().map(|slot| slot.of(tensors)).collect();
        Ok(vec![f(&list, dim).map_err(refused)?])
    }))
}

fn transposed(args: &Args) -> Bound {
    let x = args.tensor("self")?;
    let (a, b) = (args.dim_of(x, args.int("dim0", 0)?)?, args.dim_of(x, args.int("dim1", 1)?)?);
    of_one(x, move |x| x.transpose(a, b)?.force_contiguous())
}

fn permuted(args: &Args) -> Bound {
    let x = args.tensor("self")?;
    let dims = args.optional_ints("dims")?.unwrap_or_default();
    let dims = dims.iter().map(|&dim| args.dim_of(x, dim)).collect::<Result<Vec<_>, _>>()?;
    of_one(x, move |x| x.permute(dims.clone())?.force_contiguous())
}

fn cumsum(args: &Args) -> Bound {
    let x = args.float("self")?;
    args.keeps_dtype(x)?;
    let dim = args.dim_of(x, args.int("dim", 0)?)?;
    of_one(x, move |x| x.cumsum(dim))
}

fn chosen(args: &Args) -> Bound {
    let (condition, x, other) =
        (args.tensor("condition")?, args.tensor("self")?, args.tensor("other")?);
    same_type(args, x, other)?;
    let is_plain = args.spec(condition).shape == args.spec(x).shape
        && args.spec(x).shape == args.spec(other).shape;
    only(
        dtype(args.spec(condition).dtype)? == candle_core::DType::U8,
        "a condition that is no mask",
    )?;
    only(is_plain, "where with broadcasting")?;
    Ok(Box::new(move |tensors| {
        let chosen = condition.of(tensors).where_cond(x.of(tensors), other.of(tensors));
        Ok(vec![chosen.map_err(refused)?])
    }))
}

/// Returns the one value of a list that Candle takes one value for.
fn same_for_both(args: &Args, name: &str, default: i64) -> Result<usize, Refusal> {
    let values = args.optional_ints(name)?.unwrap_or_default();
    let first = values.first().copied().unwrap_or(default);
    only(values.iter().all(|&value| value == first), &format!("{name} that differs by dimension"))?;
    usize::try_from(first).map_err(unsupported)
}

fn conv2d(args: &Args) -> Bound {
    let (x, weight, bias) =
        (args.float("input")?, args.tensor("weight")?, args.optional_tensor("bias")?);
    same_type(args, x, weight)?;
    let (stride, padding) = (same_for_both(args, "stride", 1)?, same_for_both(args, "padding", 0)?);
    let dilation = same_for_both(args, "dilation", 1)?;
    let groups = usize::try_from(args.int("groups", 1)?).map_err(unsupported)?;
    Ok(Box::new(move |tensors| {
        let convolved = x.of(tensors).conv2d(weight.of(tensors), padding, stride, dilation, groups);
        let result = convolved.and_then(|y| match bias {
            Some(bias) => y.broadcast_add(&bias.of(tensors).reshape((1, (), 1, 1))?),
            None => Ok(y),
        });
        Ok(vec![result.map_err(refused)?])
    }))
}

/// Returns the table.
pub(crate) fn table() -> Vec<Op<Tensor>> {
    vec![
        ("relu.default", |args| unary(args, Tensor::relu)),
        ("leaky_relu.default", leaky_relu),
        ("gelu.default", gelu),
        ("silu.default", |args| unary(args, Tensor::silu)),
        ("sigmoid.default", |args| unary(args, ops::sigmoid)),
        ("hardsigmoid.default", |args| unary(args, ops::hard_sigmoid)),
        ("mish.default", |args| unary(args, ops::mish)),
        ("elu.default", elu),
        ("tanh.default", |args| unary(args, Tensor::tanh)),
        ("exp.default", |args| unary(args, Tensor::exp)),
        ("log.default", |args| unary(args, Tensor::log)),
        ("sqrt.default", |args| unary(args, Tensor::sqrt)),
        ("square.default", |args| unary(args, Tensor::sqr)),
        ("reciprocal.default", |args| unary(args, Tensor::recip)),
        ("sin.default", |args| unary(args, Tensor::sin)),
        ("cos.default", |args| unary(args, Tensor::cos)),
        ("erf.default", |args| unary(args, Tensor::erf)),
        ("abs.default", |args| unary(args, Tensor::abs)),
        ("neg.default", |args| unary(args, Tensor::neg)),
        ("sign.default", |args| unary(args, Tensor::sign)),
        ("floor.default", |args| unary(args, Tensor::floor)),
        ("ceil.default", |args| unary(args, Tensor::ceil)),
        ("clamp.default", clamp),
        ("clone.default", |args| of_one(args.tensor("self")?, Tensor::copy)),
        ("add.Tensor", |args| sum_of(args, 1.0)),
        ("sub.Tensor", |args| sum_of(args, -1.0)),
        ("mul.Tensor", |args| binary(args, ["self", "other"], Tensor::broadcast_mul)),
        ("div.Tensor", |args| binary(args, ["self", "other"], Tensor::broadcast_div)),
        ("add.Scalar", |args| affine(args, |other, alpha| (1.0, alpha * other))),
        ("sub.Scalar", |args| affine(args, |other, alpha| (1.0, -alpha * other))),
        ("mul.Scalar", |args| affine(args, |other, _| (other, 0.0))),
        ("div.Scalar", |args| affine(args, |other, _| (1.0 / other, 0.0))),
        ("maximum.default", |args| binary(args, ["self", "other"], Tensor::broadcast_maximum)),
        ("minimum.default", |args| binary(args, ["self", "other"], Tensor::broadcast_minimum)),
        ("pow.Tensor_Scalar", |args| {
            let exponent = args.number("exponent", 1.0)?;
            unary(args, move |x| x.powf(exponent))
        }),
        ("where.self", chosen),
        ("sum.dim_IntList", |args| {
            reduce(args, |x, dims| x.sum_keepdim(dims), |x, dims| x.sum(dims))
        }),
        ("mean.dim", |args| reduce(args, |x, dims| x.mean_keepdim(dims), |x, dims| x.mean(dims))),
        ("amax.default", |args| extremum(args, Tensor::max_keepdim::<usize>)),
        ("amin.default", |args| extremum(args, Tensor::min_keepdim::<usize>)),
        ("argmax.default", |args| position(args, Tensor::argmax_keepdim::<usize>)),
        ("argmin.default", |args| position(args, Tensor::argmin_keepdim::<usize>)),
        ("logsumexp.default", |args| {
            reduce(
                args,
                |x, dims| {
                    let reduced = x.log_sum_exp(dims)?;
                    let mut shape = x.dims().to_vec();
                    dims.iter().for_each(|&dim| shape[dim] = 1);
                    reduced.reshape(shape)
                },
                |x, dims| x.log_sum_exp(dims),
            )
        }),
        ("cumsum.default", cumsum),
        ("_softmax.default", softmax),
        ("_log_softmax.default", log_softmax),
        ("layer_norm.default", layer_norm),
        ("rms_norm.default", rms_norm),
        ("mm.default", |args| matrix_product(args, ["self", "mat2"])),
        ("bmm.default", |args| matrix_product(args, ["self", "mat2"])),
        ("matmul.default", matmul),
        ("mv.default", |args| binary(args, ["self", "vec"], Tensor::mv)),
        ("dot.default", |args| binary(args, ["self", "tensor"], Tensor::dot)),
        ("linear.default", linear),
        ("conv2d.default", conv2d),
        ("mse_loss.default", |args| loss_of(args, loss::mse)),
        ("huber_loss.default", |args| {
            let delta = args.number("delta", 1.0)?;
            is_mean(args)?;
            binary(args, ["self", "target"], move |x, target| loss::huber(x, target, delta))
        }),
        ("binary_cross_entropy_with_logits.default", |args| {
            only(
                args.optional_tensor("weight")?.is_none()
                    && args.optional_tensor("pos_weight")?.is_none(),
                "weights",
            )?;
            loss_of(args, loss::binary_cross_entropy_with_logit)
        }),
        ("cross_entropy_loss.default", cross_entropy),
        ("embedding.default", embedding),
        ("gather.default", |args| indexed(args, |x, index, dim| x.gather(index, dim))),
        ("index_select.default", |args| indexed(args, |x, index, dim| x.index_select(index, dim))),
        ("cat.default", |args| joined(args, |list, dim| Tensor::cat(list, dim), false)),
        ("stack.default", |args| joined(args, |list, dim| Tensor::stack(list, dim), true)),
        ("transpose_copy.int", transposed),
        ("permute_copy.default", permuted),
    ]
}
