use super::{Part, Runs};
use crate::{
    op::{self, Origin},
    record::{Case, DType, HostTensor, TensorArg},
    reference::Reference,
    suite,
};

/// Returns the first case of an op in f32 that a suite file words so.
pub(in crate::reference) fn case(op: &str, text: &str) -> Case {
    use std::io::Write as _;
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    let head = "format = 1\nname = \"parts\"\ndtypes = [\"f32\"]\n[[ops]]\nname = ";
    write!(file, "{head}\"{op}\"\ncases = [{{ {text} }}]\n").unwrap();
    let suite = suite::load(file.path().to_str().unwrap()).unwrap();
    suite.cases(op, Some(&[DType::F32]), 1).unwrap().remove(0)
}

/// Returns the inputs of a part of a case with these inputs.
pub(in crate::reference) fn gathered(part: &Part, hosts: &[HostTensor]) -> Vec<HostTensor> {
    let pairs = part.case.tensors().zip(hosts.iter().zip(&part.inputs));
    let gather = |((_, tensor), (host, runs)): ((_, &TensorArg), (&HostTensor, &Runs))| {
        let mut small = HostTensor::zeroed(tensor.spec.clone());
        let value = |element: usize| host.get(host.spec.storage_index(element));
        runs.elements().enumerate().for_each(|(at, from)| small.set(at, value(from)));
        small
    };
    pairs.map(gather).collect()
}

/// Evaluates a case in full and a part of it, and compares the elements that both have.
fn agrees(name: &str, text: &str, indices: &[usize]) {
    let case = case(name, text);
    let op = op::find(name).unwrap();
    let hosts: Vec<HostTensor> =
        case.tensors().map(|(name, tensor)| op::generate(tensor, 5, &case.id, &name)).collect();
    let all = Reference::new(op, &case, &hosts).unwrap().evaluate().unwrap();
    let part = Part::of(op, &case, indices).unwrap_or_else(|| panic!("{name} has no parts"));
    let gathered = gathered(&part, &hosts);
    let some = Reference::new(op, &part.case, &gathered).unwrap().evaluate().unwrap();
    for (output, runs) in part.outputs.iter().enumerate() {
        let whole = all[output].as_slice().unwrap();
        for (at, (from, got)) in runs.elements().zip(&some[output]).enumerate() {
            assert_eq!(runs.element(at), from);
            assert!((got - whole[from]).abs() < 1e-12, "{name}: output {output}, element {from}");
        }
    }
    let has = |index: &usize| part.outputs[0].elements().any(|element| element == *index);
    assert!(indices.iter().all(has), "{name}");
}

#[test]
fn elements_of_a_part_are_those_of_the_whole() {
    agrees("gelu", r#"self = "[5, 7, 9]""#, &[0, 44, 200, 314]);
    agrees("add", r#"self = "[4, 1, 6]", other = "[5, 1]", alpha = 2.5"#, &[0, 33, 34, 119]);
    agrees("mul", r#"self = "[4, 6]", other = "[]""#, &[3, 23]);
    agrees("where", r#"condition = "bool[6]", self = "[4, 6]", other = "[4, 1]""#, &[5, 17]);
}

#[test]
fn planes_and_groups_of_a_part_are_those_of_the_whole() {
    let image = r#"self = "[2, 3, 6, 5]""#;
    agrees("upsample_nearest2d", &format!("{image}, output_size = [9, 7]"), &[0, 70, 377]);
    let corners = format!("{image}, output_size = [9, 7], align_corners = true");
    agrees("upsample_bilinear2d", &corners, &[5, 377]);
    agrees("max_pool2d", &format!("{image}, kernel_size = [2, 2]"), &[0, 13]);
    agrees("max_pool2d_with_indices", &format!("{image}, kernel_size = [2, 2]"), &[0, 13]);
    agrees("avg_pool2d", r#"self = "[3, 6, 5]", kernel_size = [2, 2], padding = [1, 1]"#, &[1, 30]);
    agrees("adaptive_avg_pool2d", &format!("{image}, output_size = [2, 3]"), &[7, 35]);
    let affine = r#"weight = "[6]", bias = "[6]""#;
    let group = format!(r#"input = "[2, 6, 4, 3]", num_groups = 3, {affine}"#);
    agrees("group_norm", &group, &[30, 100, 143]);
    agrees("group_norm", r#"input = "[5, 4]", num_groups = 2"#, &[3, 19]);
    let stats = format!(r#"input = "[2, 6, 12]", N = 2, C = 6, HxW = 12, group = 3, {affine}"#);
    agrees("native_group_norm", &format!("{stats}, eps = 1e-5"), &[30, 143]);
    let instance = format!(
        r#"input = "[2, 6, 7]", {affine}, use_input_stats = true, momentum = 0.1, eps = 1e-5"#
    );
    agrees("instance_norm", &format!("{instance}, cudnn_enabled = true"), &[8, 83]);
}

#[test]
fn rows_of_a_part_are_those_of_the_whole() {
    agrees("softmax", r#"self = "[3, 5, 17]", dim = -1"#, &[20, 100, 101]);
    agrees("log_softmax", r#"self = "[9, 17]", dim = 1"#, &[152]);
    agrees("sum", r#"self = "[3, 5, 4, 6]", dim = [2, 3]"#, &[0, 7, 14]);
    agrees("mean", r#"self = "[8, 33]", dim = [-1], keepdim = true"#, &[1, 7]);
    agrees("var", r#"self = "[8, 33]", dim = [-1]"#, &[1, 7]);
    agrees("argmax", r#"self = "[8, 33]", dim = 1"#, &[1, 7]);
    agrees("cumsum", r#"self = "[8, 33]", dim = 1"#, &[40, 263]);
    agrees("logsumexp", r#"self = "[8, 33]", dim = [1]"#, &[2]);
    agrees("any.dim", r#"self = "[8, 33]", dim = 1"#, &[2]);
    agrees("topk", r#"self = "[8, 33]", k = 3"#, &[5, 20]);
    agrees("vector_norm", r#"self = "[8, 33]", dim = [1]"#, &[2]);
    agrees("normalize", r#"self = "[8, 33]", dim = 1"#, &[2, 70]);
    let affine = r#"input = "[6, 1, 8]", normalized_shape = [8], weight = "[8]", bias = "[8]""#;
    agrees("layer_norm", affine, &[9, 47]);
    agrees("native_layer_norm", &format!("{affine}, eps = 1e-5"), &[9, 47]);
    // As many rows as columns: the weight is no row.
    agrees("rms_norm", r#"input = "[8, 8]", normalized_shape = [8], weight = "[8]""#, &[9, 47]);
    agrees("silu_and_mul", r#"self = "[8, 34]""#, &[2, 70]);
    agrees("fused_add_rms_norm", r#"self = "[8, 8]", residual = "[8, 8]", weight = "[8]""#, &[9]);
}

#[test]
fn what_mixes_rows_has_no_parts() {
    for (name, text) in [
        ("softmax", r#"self = "[9, 17]", dim = 0"#),
        ("sum", r#"self = "[9, 17]", dim = [0]"#),
        ("mean", r#"self = "[9, 17]""#),
        ("mm", r#"self = "[9, 17]", mat2 = "[17, 3]""#),
    ] {
        let case = case(name, text);
        assert_eq!(Part::of(op::find(name).unwrap(), &case, &[1]), None, "{name}");
    }
}

/// Compares every element with the one that it is said to be a copy of.
fn copies(name: &str, text: &str) {
    let case = case(name, text);
    let op = op::find(name).unwrap();
    let hosts: Vec<HostTensor> =
        case.tensors().map(|(name, tensor)| op::generate(tensor, 5, &case.id, &name)).collect();
    let all = Reference::new(op, &case, &hosts).unwrap().evaluate().unwrap();
    let read = |input: usize, index: usize| {
        let host: &HostTensor = &hosts[input];
        host.get(host.spec.storage_index(index))
    };
    let indices: Vec<usize> = (0..all[0].len()).collect();
    let origins = op.engine.origins(&op.call(&case), &indices, &read).unwrap();
    for (origin, expected) in origins.into_iter().zip(&all[0]) {
        let found = match origin {
            Origin::Element { input, index } => read(input, index),
            Origin::Constant(value) => value,
        };
        assert_eq!(found.to_bits(), expected.to_bits(), "{name}");
    }
}

#[test]
fn origins_are_where_elements_come_from() {
    copies("cat", r#"tensors = ["[3, 2]", "[3, 4]"], dim = 1"#);
    copies("permute", r#"self = "[3, 4, 5]", dims = [2, 0, 1]"#);
    copies("constant_pad_nd", r#"self = "[3, 4]", pad = [1, 2, 0, 1], value = 2.5"#);
    copies("tril", r#"self = "[2, 5, 4]""#);
    copies("embedding", r#"weight = "[7, 3]", indices = "i64[2, 4]""#);
    copies("index_select", r#"self = "[3, 5, 4]", dim = 1, index = "i64[6]""#);
    copies("gather", r#"self = "[3, 5, 4]", dim = -1, index = "i64[2, 5, 6]""#);
}

#[test]
fn what_is_computed_has_no_origin() {
    let case = case("relu", r#"self = "[4]""#);
    let op = op::find("relu").unwrap();
    assert_eq!(op.engine.origins(&op.call(&case), &[0], &|_, _| 0.0), None);
}
