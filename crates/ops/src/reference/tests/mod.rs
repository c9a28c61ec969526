//! Tests of the references: hand-computed vectors and the sensitivity.

mod integers;
mod vectors;

use crate::{
    op::{find, generate},
    record::{Case, CaseClass, DType, HostTensor, InputDistribution, tensor::encode},
    suite::{
        self,
        tests::{opinfo, smoke},
    },
};

use super::{DELTA_RMS, Error, PERTURB_BELOW, Reference, U, perturb, sampled};

fn reference<'a>(case: &'a Case, hosts: &'a [HostTensor]) -> Result<Reference<'a>, Error> {
    Reference::new(find(&case.op).unwrap(), case, hosts)
}

/// Evaluates a case; the elements of each output in row-major order.
fn evaluate(case: &Case, hosts: &[HostTensor]) -> Result<Vec<Vec<f64>>, Error> {
    let outputs = reference(case, hosts)?.evaluate()?;
    Ok(outputs.into_iter().map(|output| output.into_iter().collect()).collect())
}

/// Returns the smoke cases that an evaluation on the emulator runs.
fn small_cases(op: &str) -> Vec<Case> {
    let cases = smoke().cases(op, None, 5).unwrap();
    cases.into_iter().filter(|case| case.class != CaseClass::Realistic).collect()
}

fn inputs(case: &Case, seed: u64) -> Vec<HostTensor> {
    case.tensors().map(|(name, tensor)| generate(tensor, seed, &case.id, &name)).collect()
}

fn rms(values: &[f64]) -> f64 {
    (values.iter().map(|value| value * value).sum::<f64>() / values.len().max(1) as f64).sqrt()
}

#[test]
fn the_closed_form_of_the_sensitivity_is_what_perturbation_measures() {
    for name in smoke().ops() {
        let op = find(name).unwrap();
        if op.exact || op.engine.rounds_differences() {
            continue;
        }
        for case in small_cases(name) {
            if !matches!(
                case.distribution,
                InputDistribution::Normal
                    | InputDistribution::Shifted
                    | InputDistribution::HeavyTail
            ) {
                continue;
            }
            let hosts = inputs(&case, 9);
            let reference = reference(&case, &hosts).unwrap();
            let outputs = reference.evaluate().unwrap();
            if outputs[0].len() < 100 {
                continue;
            }
            let (call, inputs) = (&reference.call, &reference.inputs);
            let of = |values: crate::op::Array| rms(&values.into_iter().collect::<Vec<f64>>());
            let measured = perturb::sensitivity(call, inputs, &outputs, U).unwrap();
            let measured = of(measured.into_iter().next().unwrap());
            let closed = op.engine.spread(call, inputs).unwrap().unwrap();
            let closed = of(closed.into_iter().next().unwrap() * DELTA_RMS);
            let ratio = measured / closed;
            assert!((0.75..1.33).contains(&ratio), "{name} {}: {measured} {closed}", case.id);
        }
    }
}

#[test]
fn a_softmax_is_sensitive_to_distances_alone() {
    for name in ["softmax", "log_softmax", "logsumexp"] {
        let cases = opinfo().cases(name, Some(&[DType::F32]), 7).unwrap();
        let case =
            cases.iter().find(|case| case.distribution == InputDistribution::Shifted).unwrap();
        let mut hosts = inputs(case, 9);
        let of = |hosts: &[HostTensor]| {
            let reference = reference(case, hosts).unwrap();
            let outputs = reference.evaluate().unwrap();
            let closed = rms(&reference.bounds(&outputs).unwrap().remove(0).s);
            let moved =
                perturb::sensitivity(&reference.call, &reference.inputs, &outputs, U).unwrap();
            (closed, rms(&moved[0].iter().copied().collect::<Vec<f64>>()))
        };
        let (closed, moved) = of(&hosts);
        assert!(
            10.0 * closed < moved,
            "{name}: inputs near 1000 are not rounded: {closed} {moved}"
        );
        let values = hosts[0].to_f64();
        for (value, bytes) in values.iter().zip(hosts[0].storage.chunks_exact_mut(4)) {
            encode(DType::F32, value - 1000.0, bytes);
        }
        let (near_zero, _) = of(&hosts);
        assert!((closed / near_zero - 1.0).abs() < 0.01, "{name}: {closed} {near_zero}");
    }
}

#[test]
fn chosen_elements_are_those_of_the_whole() {
    for name in ["mm"] {
        for case in
            small_cases(name).iter().filter(|case| case.distribution == InputDistribution::Normal)
        {
            let hosts = inputs(case, 2);
            let reference = reference(case, &hosts).unwrap();
            let all = reference.evaluate().unwrap();
            let bound = reference.bounds(&all).unwrap().remove(0);
            let all: Vec<f64> = all[0].iter().copied().collect();
            let indices: Vec<usize> = (0..all.len()).step_by(7).collect();
            let some = reference.evaluate_at(0, &indices).unwrap();
            let some_bound = reference.bound_at(0, &indices).unwrap();
            for (place, &index) in indices.iter().enumerate() {
                let scale = all[index].abs().max(1e-3);
                assert!((some[place] - all[index]).abs() < 1e-12 * scale, "{}", case.id);
                // The whole is measured where it is small, single elements have the closed form.
                if bound.s[index] == 0.0 {
                    continue;
                }
                let ratio = some_bound.s[place] / bound.s[index];
                assert!((0.2..5.0).contains(&ratio), "{} {ratio}", case.id);
            }
        }
    }
}

#[test]
fn large_tensors_have_a_closed_bound_and_giant_products_are_sampled() {
    let text = "format = 1\nname = \"x\"\n[[ops]]\nname = \"silu\"\n\
        cases = [{ self = \"[600, 700]\" }]\n\
        [[ops]]\nname = \"mm\"\n\
        cases = [{ self = \"[4096, 4096]\", mat2 = \"[4096, 4096]\" }]\n";
    let path = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    std::fs::write(path.path(), text).unwrap();
    let suite = suite::load(path.path().to_str().unwrap()).unwrap();
    let mm = suite.cases("mm", None, 1).unwrap().remove(0);
    assert!(sampled(find("mm").unwrap(), &mm));
    let case = suite.cases("silu", None, 1).unwrap().remove(0);
    assert!(!sampled(find("silu").unwrap(), &case));
    let hosts = inputs(&case, 1);
    let reference = reference(&case, &hosts).unwrap();
    let outputs = reference.evaluate().unwrap();
    assert!(outputs[0].len() > PERTURB_BELOW);
    let bound = reference.bounds(&outputs).unwrap().remove(0);
    assert!(rms(&bound.s) > 1e-9 && rms(&bound.s) < 1e-6);
}

#[test]
fn inputs_that_are_not_those_of_the_case_are_an_error() {
    let case = small_cases("add").remove(2);
    let hosts = inputs(&case, 1);
    let message = evaluate(&case, &hosts[..1]).unwrap_err().to_string();
    assert_eq!(
        message,
        format!("case `{}` has 2 tensor arguments, got 1 inputs or other shapes", case.id)
    );
}
