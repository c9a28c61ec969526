//! Calls against the rules of PyTorch's schemas.

use super::*;
use crate::{log, record::Gen};

fn bound(line: &str) -> Result<Bound, String> {
    let log = log::parse(line);
    assert_eq!(log.errors, [], "{line}");
    bind(&log.calls[0]).map_err(|error| error.to_string())
}

/// Asserts that a call is refused by an error with all of these texts.
fn refused(line: &str, wanted: &[&str]) {
    let error = bound(line).unwrap_err();
    assert!(wanted.iter().all(|wanted| error.contains(wanted)), "{line}: {error}");
}

#[test]
fn an_argument_without_a_default_in_the_schema_is_demanded() {
    let stats = "T([2, 3], f32), None, None, None, None, True, 0.1, 1e-05";
    assert!(bound(&format!("native_batch_norm.default (({stats}), {{}})")).is_ok());
    refused(
        "native_batch_norm.default ((T([2, 3], f32),), {})",
        &["argument `weight` is missing (Tensor?, may be None)", "`native_batch_norm(Tensor input"],
    );
    refused(
        "div.Tensor_mode ((T([2], f32), T([2], f32)), {})",
        &["argument `rounding_mode` is missing (str?, may be None)"],
    );
    assert!(bound("div.Tensor_mode ((T([2], f32), T([2], f32)), {'rounding_mode': None})").is_ok());
    refused(
        "_softmax.default ((T([2], f32), 0), {})",
        &["argument `half_to_float` is missing (bool)"],
    );
    refused("sum.dim_IntList ((T([2], f32),), {})", &["argument `dim` is missing (int[]?"]);
    assert!(bound("sum.default ((T([2], f32),), {})").is_ok());
}

#[test]
fn an_out_variant_demands_its_outputs() {
    let one = "'out': T([2], f32)";
    let both = "'min': T([], f32), 'max': T([], f32)";
    for (name, outs) in [("relu.out", one), ("aminmax.out", both)] {
        let call = |outs: &str| format!("{name} ((T([2], f32),), {{{outs}}})");
        assert!(bound(&call(outs)).is_ok(), "{name}");
        refused(&call(""), &["argument `out` is missing", name]);
    }
    let three = "'out': T([2, 3], f32), 'save_mean': T([3], f32), 'save_invstd': T([3], f32)";
    let args = "T([2, 3], f32), None, None, T([3], f32), T([3], f32), True, 0.1, 1e-05";
    assert!(bound(&format!("native_batch_norm.out (({args}), {{{three}}})")).is_ok());
    refused("aminmax.out ((T([2], f32),), {'min': T([], f32)})", &["2 tensors", "here 1"]);
    refused("relu.default ((T([2], f32),), {'out': T([2], f32)})", &["no argument `out`"]);
    assert!(bound("clamp.out ((T([2], f32), 0), {'out': T([2], f32)})").is_ok());
}

#[test]
fn results_have_the_types_of_the_outputs_that_can_hold_them() {
    let of = |dtype: &str| {
        let line = format!("exp.out ((T([2], f16),), {{'out': T([2], {dtype})}})");
        bound(&line).unwrap().written(&[TensorSpec::contiguous(DType::F16, &[2])])
    };
    assert_eq!(of("f16"), Ok(vec![DType::F16]));
    assert_eq!(of("f64"), Ok(vec![DType::F64]));
    assert!(of("i64").unwrap_err().to_string().contains("able to hold f16"));
    let plain = bound("exp.default ((T([2], f16),), {})").unwrap();
    assert_eq!(plain.written(&[TensorSpec::contiguous(DType::F16, &[2])]), Ok(vec![DType::F16]));
}

#[test]
fn a_memory_format_is_of_tensors_of_its_rank() {
    let call = |shape: &str, format: &str| {
        format!("clone.default ((T({shape}, f32),), {{'memory_format': torch.{format}}})")
    };
    assert!(bound(&call("[1, 2, 3, 4]", "channels_last")).is_ok());
    assert!(bound(&call("[3]", "contiguous_format")).is_ok());
    refused(&call("[2, 3, 4]", "channels_last"), &["`self` has shape [2, 3, 4]", "4 dimensions"]);
    refused(&call("[1, 2, 3, 4]", "channels_last_3d"), &["5 dimensions"]);
}

#[test]
fn truth_values_are_those_of_python() {
    let keepdim = |value: &str| {
        let args = bound(&format!("amax.default ((T([2], f32), [0], {value}), {{}})"))?.args;
        Ok::<_, String>(args.into_iter().find(|arg| arg.name == "keepdim").unwrap().value)
    };
    for (value, wanted) in [("None", false), ("0", false), ("2", true), ("True", true)] {
        assert_eq!(keepdim(value), Ok(ArgValue::Bool(wanted)), "{value}");
    }
    assert!(keepdim("'yes'").unwrap_err().contains("`keepdim` must be true or false"));
}

#[test]
fn the_error_is_that_of_the_schema_that_has_the_arguments() {
    let wanted = ["`keepdim` must be true or false", "`mean.dim(Tensor self"];
    refused("mean.out ((T([2], f32), [0], 'x'), {'out': T([], f32)})", &wanted);
}

#[test]
fn the_gradient_of_gather_is_added_to_zeros_of_its_shape() {
    let call = |sparse: &str| {
        let tensors = "T([2, 3], f16), T([4, 3], f16), 0, T([2, 3], i64)";
        format!("gather_backward.default (({tensors}, {sparse}), {{}})")
    };
    let Bound { op, args, .. } = bound(&call("False")).unwrap();
    let of = |name: &str| args.iter().find(|arg| arg.name == name).unwrap().value.as_tensor();
    assert_eq!(op.name, "scatter_add");
    assert_eq!(of("self").unwrap().spec, TensorSpec::contiguous(DType::F16, &[4, 3]));
    assert_eq!(of("self").unwrap().generator, Gen::Constant { value: 0.0 });
    assert_eq!(of("src").unwrap().spec.shape, [2, 3]);
    refused(&call("True"), &["`sparse_grad` must be false"]);
}

#[test]
fn a_depthwise_convolution_has_a_group_per_channel() {
    let call = |kernel: &str| {
        let tensors = "T([2, 4, 5, 5], f32), T([8, 1, 3, 3], f32)";
        format!(
            "_conv_depthwise2d.default (({tensors}, {kernel}, None, [1, 1], [0, 0], [1, 1]), {{}})"
        )
    };
    let args = bound(&call("[3, 3]")).unwrap().args;
    let groups = args.into_iter().find(|arg| arg.name == "groups").unwrap();
    assert_eq!(groups.value, ArgValue::Int(4));
    refused(&call("[2, 3]"), &["`kernel_size` is [2, 3]", "[3, 3]"]);
}

#[test]
fn resampling_takes_a_factor_per_dimension() {
    for (op, args, size, scale) in [
        ("linear1d", "T([1, 2, 5], f32), None, False, [2.5]", vec![12], ("scales", 2.5)),
        (
            "nearest3d",
            "T([1, 2, 2, 3, 4], f32), None, [2.0, 1.5, 0.5]",
            vec![4, 4, 2],
            ("scales_d", 2.0),
        ),
    ] {
        let args = bound(&format!("upsample_{op}.vec (({args}), {{}})")).unwrap().args;
        let of = |name: &str| args.iter().find(|arg| arg.name == name).map(|arg| &arg.value);
        assert_eq!(of("output_size"), Some(&ArgValue::Ints(size)), "{op}");
        assert_eq!(of(scale.0), Some(&ArgValue::Float(scale.1)), "{op}");
    }
}

#[test]
fn gradients_of_resampling_take_a_factor_per_dimension() {
    for (op, corners) in [("nearest2d", ""), ("bilinear2d", " True,")] {
        let call = |size: &str, factors: &str| {
            format!(
                "upsample_{op}_backward.vec ((T([2, 3, 10, 6], f32), {size}, [2, 3, 5, 4],{corners} \
                 {factors}), {{}})"
            )
        };
        let bound_to = bound(&call("None", "[2.0, 1.5]")).unwrap();
        assert_eq!(bound_to.op.name, format!("upsample_{op}_backward"));
        let of = |name: &str| bound_to.args.iter().find(|arg| arg.name == name).unwrap();
        assert_eq!(of("output_size").value, ArgValue::Ints(vec![10, 6]));
        assert_eq!(of("input_size").value, ArgValue::Ints(vec![2, 3, 5, 4]));
        assert_eq!(of("scales_h").value, ArgValue::Float(2.0));
        assert_eq!(of("scales_w").value, ArgValue::Float(1.5));
        let sized = bound(&call("[10, 6]", "None")).unwrap();
        let scale = sized.args.into_iter().find(|arg| arg.name == "scales_w").unwrap();
        assert_eq!(scale.value, ArgValue::None);
        refused(&call("None", "None"), &["output_size", "scale_factors"]);
        refused(&call("[10, 6]", "[2.0, 1.5]"), &["output_size", "scale_factors"]);
    }
}

#[test]
fn an_overload_may_return_fewer_results_than_the_op() {
    let results = |call: &str| {
        let bound = bound(call).unwrap();
        let one = TensorSpec::contiguous(DType::F32, &[]);
        bound.written(&[one.clone(), one]).unwrap().len()
    };
    let args = "T([5, 3], f32), T([5], i64)";
    assert_eq!(results(&format!("nll_loss.default (({args}), {{}})")), 1);
    assert_eq!(results(&format!("nll_loss_forward.default (({args}, None, 1, -100), {{}})")), 2);
}
