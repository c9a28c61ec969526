use crate::{
    op,
    record::HostTensor,
    reference::{
        Reference, Subproblem,
        part::tests::{case, gathered},
    },
};

/// Evaluates elements of a case in full, and of the crossing rows and columns.
fn agrees(name: &str, text: &str, indices: &[usize]) {
    let case = case(name, text);
    let op = op::find(name).unwrap();
    let hosts: Vec<HostTensor> =
        case.tensors().map(|(name, tensor)| op::generate(tensor, 5, &case.id, &name)).collect();
    let all = Reference::new(op, &case, &hosts).unwrap().evaluate().unwrap().remove(0);
    let smaller = Subproblem::of(op, &case, indices).unwrap_or_else(|| panic!("{name} has none"));
    let small = gathered(&smaller.part, &hosts);
    let reference = Reference::new(op, &smaller.part.case, &small).unwrap();
    let some = reference.evaluate_at(0, &smaller.indices).unwrap();
    let all = all.as_slice().unwrap();
    for (&index, got) in indices.iter().zip(some) {
        assert!((got - all[index]).abs() < 1e-12, "{name}, element {index}");
    }
}

#[test]
fn crossings_are_elements_of_the_product() {
    agrees("mm", r#"self = "[5, 7]", mat2 = "[7, 9]""#, &[0, 8, 13, 44]);
    agrees("mm", r#"self = "[5, 7] transposed", mat2 = "[7, 9] gap""#, &[3, 40]);
    agrees("linear", r#"input = "[2, 3, 7]", weight = "[9, 7]", bias = "[9]""#, &[0, 8, 17, 53]);
    agrees("linear", r#"input = "[3, 7]", weight = "[9, 7]""#, &[4, 26]);
    agrees("addmm", r#"self = "[9]", mat1 = "[5, 7]", mat2 = "[7, 9]", beta = 2"#, &[1, 43]);
    agrees("addmm", r#"self = "[5, 1]", mat1 = "[5, 7]", mat2 = "[7, 9]", alpha = 2"#, &[1, 43]);
    agrees("matmul", r#"self = "[2, 3, 7]", other = "[7, 4]""#, &[1, 23]);
}

#[test]
fn heads_are_an_attention_of_their_own() {
    let op = "scaled_dot_product_attention";
    let qkv = |query: &str, key: &str, value: &str, more: &str| {
        format!(r#"query = "{query}", key = "{key}", value = "{value}"{more}"#)
    };
    let plain = qkv("[2, 3, 5, 4]", "[2, 3, 7, 4]", "[2, 3, 7, 6]", "");
    agrees(op, &plain, &[0, 29, 95, 179]);
    let grouped = qkv("[2, 6, 5, 4]", "[2, 3, 7, 4]", "[2, 1, 7, 6]", ", enable_gqa = true");
    agrees(op, &grouped, &[40, 100, 101, 250, 359]);
    let causal = qkv("[3, 5, 4] gap", "[3, 5, 4]", "[3, 5, 4] transposed", ", is_causal = true");
    agrees(op, &causal, &[7, 45]);
    let masked = |mask| {
        let more = format!(r#", attn_mask = "{mask}", scale = 0.5"#);
        qkv("[2, 3, 5, 4]", "[1, 3, 7, 4]", "[3, 7, 6]", &more)
    };
    for mask in ["[2, 1, 5, 7]", "[3, 1, 7]", "[5, 7]", "[7]", "bool[2, 3, 5, 7]"] {
        agrees(op, &masked(mask), &[31, 61, 179]);
    }
    agrees(op, &qkv("[5, 4]", "[7, 4]", "[7, 6]", ""), &[29]);
}

#[test]
fn products_of_batches_have_none() {
    let none = |name: &str, text: &str| {
        assert_eq!(
            Subproblem::of(op::find(name).unwrap(), &case(name, text), &[0]),
            None,
            "{name}"
        );
    };
    none("bmm", r#"self = "[2, 5, 7]", mat2 = "[2, 7, 9]""#);
    none("matmul", r#"self = "[5, 7]", other = "[7]""#);
    none("mv", r#"self = "[5, 7]", vec = "[7]""#);
    none("relu", r#"self = "[5, 7]""#);
}
