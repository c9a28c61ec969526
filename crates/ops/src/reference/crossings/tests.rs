use super::Crossings;
use crate::{
    op,
    record::HostTensor,
    reference::{
        Reference,
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
    let crossings = Crossings::of(op, &case, indices).unwrap_or_else(|| panic!("{name} has none"));
    let small = gathered(&crossings.part, &hosts);
    let reference = Reference::new(op, &crossings.part.case, &small).unwrap();
    let some = reference.evaluate_at(0, &crossings.indices).unwrap();
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
fn products_of_batches_have_none() {
    let none = |name: &str, text: &str| {
        assert_eq!(Crossings::of(op::find(name).unwrap(), &case(name, text), &[0]), None, "{name}");
    };
    none("bmm", r#"self = "[2, 5, 7]", mat2 = "[2, 7, 9]""#);
    none("matmul", r#"self = "[5, 7]", other = "[7]""#);
    none("mv", r#"self = "[5, 7]", vec = "[7]""#);
    none("relu", r#"self = "[5, 7]""#);
}
