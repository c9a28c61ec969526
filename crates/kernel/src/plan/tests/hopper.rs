//! Tensor maps, and attributes of launches.

use kgen_record::{
    LaunchAttributes,
    tensor_map::{
        Interleave, L2Promotion, OobFill, Swizzle, TensorMap, TensorMapMode, TensorMapType,
    },
};

use super::*;

/// Returns buffer, offset and map of the one argument of a plan's launch.
fn map_of(env: &Env, map: &str) -> (BufferRef, i64, TensorMap) {
    let plan = format!("ws = scratch(4096)\nm = {map}\nlaunch('k', 1, 1, args=[m])");
    let plan = run(env, &plan, &[]).unwrap_or_else(|error| panic!("{map}: {error}"));
    match launches(&plan)[0].4 {
        [PlanArg::TensorMap { buffer, byte_offset, map, .. }] => {
            (*buffer, *byte_offset, (**map).clone())
        }
        other => panic!("{other:?}"),
    }
}

fn plain(data_type: TensorMapType, dims: &[u64], strides: &[u64], box_dims: &[u32]) -> TensorMap {
    TensorMap {
        data_type,
        address: 0,
        dims: dims.to_vec(),
        strides: strides.to_vec(),
        element_strides: vec![1; dims.len()],
        interleave: Interleave::None,
        swizzle: Swizzle::None,
        l2: L2Promotion::B128,
        oob: OobFill::Zeros,
        mode: TensorMapMode::Tiled { box_dims: box_dims.to_vec() },
    }
}

#[test]
fn a_map_has_the_innermost_dimension_first() {
    // `self` is f32[6, 8].
    let expected = plain(TensorMapType::F32, &[8, 6], &[32], &[4, 2]);
    let of = |map: &str| map_of(&env(), map);
    assert_eq!(of("tensor_map(self, [2, 4])"), (BufferRef::Input(0), 0, expected.clone()));
    let swizzled = TensorMap {
        swizzle: Swizzle::B64,
        l2: L2Promotion::B256,
        oob: OobFill::Nan,
        element_strides: vec![1, 2],
        ..expected.clone()
    };
    let all = "tensor_map(self, box=(2, 4), swizzle=64, l2=256, oob='nan', interleave=0, \
               shape=None, strides=None, element_strides=[2, 1])";
    assert_eq!(of(all).2, swizzled);
    let rounded = TensorMap { data_type: TensorMapType::Tf32, ..expected };
    assert_eq!(of("tensor_map(self, box=[2, 4], dtype='tf32')").2, rounded);
    let column = plain(TensorMapType::Bf16, &[16], &[], &[8]);
    let halves = "tensor_map(ptr(out, 32), box=8, dtype='bf16', shape=16, strides=1)";
    assert_eq!(of(halves), (BufferRef::Output(0), 32, column));
}

#[test]
fn scratch_and_other_views_say_their_layout() {
    let of = |map: &str| map_of(&env(), map).2;
    let batched = plain(TensorMapType::F16, &[64, 4, 3], &[160, 640], &[64, 2, 1]);
    let scratch =
        "tensor_map(ws, box=[1, 2, 64], dtype='f16', shape=[3, 4, 64], strides=[320, 80, 1])";
    assert_eq!(of(scratch), batched);
    let flat = plain(TensorMapType::F32, &[24, 2], &[96], &[8, 1]);
    assert_eq!(of("tensor_map(self, box=[1, 8], shape=[2, 24])"), flat);
    let rows = plain(TensorMapType::F32, &[8, 3], &[64], &[8, 1]);
    assert_eq!(of("tensor_map(self, box=[1, 8], shape=[3, 8], strides=[16, 1])"), rows);
}

#[test]
fn the_stride_of_a_dimension_of_one_element_is_free() {
    let spec = TensorSpec::contiguous(DType::F32, &[1, 1, 5]);
    let map = map_of(&relu(spec), "tensor_map(self, box=[1, 1, 4])").2;
    assert_eq!(map, plain(TensorMapType::F32, &[5, 1, 1], &[32, 32], &[4, 1, 1]));
    let column = TensorSpec { dtype: DType::F32, shape: vec![4, 1], stride: vec![4, 7], offset: 0 };
    let map = map_of(&relu(column), "tensor_map(self, box=[1, 4])").2;
    assert_eq!(map.strides, [16]);
}

#[test]
fn corners_are_in_the_order_of_the_shape() {
    let spec = TensorSpec::contiguous(DType::BF16, &[2, 9, 7, 64]);
    let plan = "tensor_map(self, im2col=((-1, 0), (-2, 1)), channels=64, pixels=128, swizzle=128)";
    let map = map_of(&relu(spec), plan).2;
    assert_eq!(map.dims, [64, 7, 9, 2]);
    let mode =
        TensorMapMode::Im2col { lower: vec![0, -1], upper: vec![1, -2], channels: 64, pixels: 128 };
    assert_eq!(map.mode, mode);
}

#[test]
fn a_tensor_without_elements_has_a_map_that_no_launch_takes() {
    let empty = relu(TensorSpec::contiguous(DType::F32, &[0, 5]));
    let plan = |grid: &str| {
        format!("m = tensor_map(self, box=[1, 4])\nlaunch('k', {grid}, 1, args=[m, self.numel])")
    };
    assert!(run(&empty, &plan("self.numel"), &[]).unwrap().steps.is_empty());
    let Err(LaunchPlanError::Error(error)) = run(&empty, &plan("1"), &[]) else { panic!() };
    assert!(error.message.contains("has no elements, its shape is [0, 5]"), "{error}");
    assert_eq!((error.line, error.column), (2, 5));
}

fn attributes(plan: &str) -> Vec<LaunchAttributes> {
    let plan = resolved(plan);
    let of = |step: &Step| match step {
        Step::Launch { attributes, .. } => Some(*attributes),
        _ => None,
    };
    plan.steps.iter().filter_map(of).collect()
}

#[test]
fn launches_have_clusters_and_may_be_cooperative() {
    let plain = LaunchAttributes::default();
    let with = |cluster| LaunchAttributes { cluster: Some(cluster), ..plain };
    let cases = [
        ("launch('k', 4, 1, cluster=2)", with([2, 1, 1])),
        ("launch('k', (4, 2, 6), 1, cluster=(2, 1, 3))", with([2, 1, 3])),
        ("launch('k', 4, 1, cluster=1)", plain),
        ("launch('k', 4, 1, cluster=(1, 1, 1))", plain),
        ("launch('k', 4, 1, cluster=None, pdl=False, cooperative=False)", plain),
        ("launch('k', 4, 1, cooperative=True)", LaunchAttributes { cooperative: true, ..plain }),
    ];
    for (plan, expected) in cases {
        assert_eq!(attributes(plan), [expected], "{plan}");
    }
}

#[test]
fn a_launch_overlaps_another_launch_of_the_plan_and_nothing_else() {
    let pdl = |plan| -> Vec<bool> { attributes(plan).iter().map(|one| one.pdl).collect() };
    let two = "launch('k', 1, 1, pdl=True)\nlaunch('k', 1, 1, pdl=True)\nlaunch('k', 1, 1)";
    assert_eq!(pdl(two), [false, true, false]);
    let apart = "launch('k', 1, 1)\nfill(out, 0)\nlaunch('k', 1, 1, pdl=True)";
    assert_eq!(pdl(apart), [false, false]);
    let copied = "a = contiguous(t)\nlaunch('k', 1, 1, pdl=True)";
    assert_eq!(pdl(copied), [false]);
}
