//! References on integers against those in f64, and by hand where these end.

use crate::{
    op::find,
    record::{Case, DType, HostTensor, InputDistribution, tensor::round_to},
    reference::{Integers, Reference, integers::method, is_exact_beyond_f64},
    suite::tests::opinfo,
};

use super::inputs;

/// The first case of an op in wide i64, with other data in its tensors of values.
fn evaluated(name: &str, data: &[&[i64]]) -> Vec<Vec<i64>> {
    let op = find(name).unwrap();
    let case = wide_case(name);
    let mut hosts = inputs(&case, 3);
    for (host, data) in hosts.iter_mut().zip(data) {
        for at in 0..host.spec.storage_len() {
            host.set_integer(at, data[at % data.len()]);
        }
    }
    Integers::new(op, &case, &hosts).unwrap().unwrap().outputs
}

fn wide_case(name: &str) -> Case {
    let cases = opinfo().cases(name, Some(&[DType::I64]), 7).unwrap();
    cases.into_iter().find(|case| case.distribution == InputDistribution::Wide).unwrap()
}

#[test]
fn small_integers_have_the_reference_that_f64_gives() {
    let suite = opinfo();
    let mut compared = 0;
    for name in suite.ops() {
        let op = find(name).unwrap();
        if method(name).is_none() || !suite.dtypes(name).unwrap().contains(&DType::I64) {
            continue;
        }
        for case in suite.cases(name, Some(&[DType::I64]), 7).unwrap() {
            let largest = case.tensors().map(|(_, tensor)| tensor.spec.numel()).max().unwrap_or(0);
            let small = largest < 5000 && case.distribution != InputDistribution::Wide;
            if !small || case.dtype.is_float() || !is_exact_beyond_f64(&op.call(&case)) {
                continue;
            }
            let hosts = inputs(&case, 5);
            let exact = Integers::new(op, &case, &hosts).unwrap().unwrap();
            let reference = Reference::new(op, &case, &hosts).unwrap().evaluate().unwrap();
            let specs = op.infer(&case).unwrap();
            for ((exact, in_f64), spec) in exact.outputs.iter().zip(reference).zip(specs) {
                #[expect(clippy::cast_precision_loss, reason = "they are small")]
                let exact: Vec<f64> = exact.iter().map(|&value| value as f64).collect();
                let stored: Vec<f64> =
                    in_f64.iter().map(|&value| round_to(spec.dtype, value)).collect();
                assert_eq!(exact, stored, "{name} {}", case.id);
                compared += 1;
            }
        }
    }
    assert!(compared > 500, "{compared} outputs were compared");
}

#[test]
fn arithmetic_wraps_and_keeps_every_bit() {
    const MAX: i64 = i64::MAX;
    let big = (1_i64 << 53) + 1;
    assert_eq!(evaluated("add", &[&[MAX], &[1]])[0][0], i64::MIN);
    assert_eq!(evaluated("mul", &[&[big], &[3]])[0][0], 3 * big);
    assert_eq!(evaluated("abs", &[&[-big]])[0][0], big);
    assert_eq!(evaluated("remainder", &[&[-big], &[1 << 40]])[0][0], (1 << 40) - 1);
    assert_eq!(evaluated("floor_divide", &[&[-big], &[1 << 40]])[0][0], -(1 << 13) - 1);
    assert_eq!(
        evaluated("pow", &[&[-1, 3, big], &[-3, -1, 2]])[0][..3],
        [-1, 0, big.wrapping_mul(big)]
    );
    assert_eq!(evaluated("gt", &[&[big], &[big - 1]])[0][0], 1);
    let row = 65;
    assert_eq!(evaluated("sum", &[&[big]])[0][0], row * big);
    assert_eq!(evaluated("prod", &[&[3]])[0][0], 3_i64.wrapping_pow(65));
    assert_eq!(evaluated("cumprod", &[&[3]])[0][64], 3_i64.wrapping_pow(65));
}

#[test]
fn order_and_movement_tell_neighbours_apart() {
    let big = (1_i64 << 60) + 1;
    let first = |outputs: Vec<Vec<i64>>| outputs.iter().map(|all| all[0]).collect::<Vec<_>>();
    assert_eq!(first(evaluated("argmax", &[&[big, big + 1, big - 1]])), [1]);
    assert_eq!(first(evaluated("min.dim", &[&[big, big + 1, big - 1]])), [big - 1, 2]);
    assert_eq!(first(evaluated("constant_pad_nd", &[&[big]])), [2], "the padding");
    assert_eq!(evaluated("constant_pad_nd", &[&[big]])[0][1], big);
}

#[test]
fn the_index_of_another_equal_maximum_is_the_same_choice() {
    let (op, case) = (find("max.dim").unwrap(), wide_case("max.dim"));
    let mut hosts: Vec<HostTensor> = inputs(&case, 3);
    let big = (1_i64 << 60) + 1;
    for at in 0..hosts[0].spec.storage_len() {
        hosts[0].set_integer(at, [big - 1, big, big][at % 3]);
    }
    let exact = Integers::new(op, &case, &hosts).unwrap().unwrap();
    let mut got = exact.outputs.clone();
    got[1][0] = 2;
    exact.canonicalise(op, &case, &hosts, &mut got);
    assert_eq!(got, exact.outputs);
    got[1][0] = 3;
    exact.canonicalise(op, &case, &hosts, &mut got);
    assert_eq!(got[1][0], 3, "it is no maximum");
}
