//! Tests of the references: hand-computed vectors, the sensitivity, and the rule that rests on it.

mod cheats;
mod honest;
mod rule;
mod vectors;

use crate::{
    op::{find, generate},
    record::{Case, CaseClass, Family, HostTensor},
    reference::{
        PERTURB_BELOW, closed_form, evaluate, evaluate_at, perturb, sampled, sensitivity,
        sensitivity_at, values::Inputs,
    },
    suite,
};

/// Returns the smoke cases that an evaluation on the emulator runs.
fn small_cases(op: &str) -> Vec<Case> {
    let cases = suite::load("smoke").unwrap().cases(op, None, 5).unwrap();
    cases.into_iter().filter(|case| case.class != CaseClass::Realistic).collect()
}

fn inputs(case: &Case, seed: u64) -> Vec<HostTensor> {
    case.tensors().map(|(name, tensor)| generate(tensor, seed, &case.id, name)).collect()
}

fn rms(values: &[f64]) -> f64 {
    (values.iter().map(|value| value * value).sum::<f64>() / values.len().max(1) as f64).sqrt()
}

#[test]
fn the_closed_form_of_the_sensitivity_is_what_perturbation_measures() {
    for name in suite::load("smoke").unwrap().ops() {
        let op = find(name).unwrap();
        if op.is_exact() {
            continue;
        }
        for case in small_cases(name) {
            if !matches!(case.family, Family::Normal | Family::Shifted | Family::HeavyTail) {
                continue;
            }
            let hosts = inputs(&case, 9);
            let output = evaluate(&case, &hosts).unwrap().remove(0);
            if output.len() < 100 {
                continue;
            }
            let read = Inputs::read(&case, &hosts);
            let measured = rms(&perturb::sensitivity(op, &case, &read, &output).unwrap());
            let closed = rms(&closed_form(op, &case, &read).unwrap());
            let ratio = measured / closed;
            assert!((0.75..1.33).contains(&ratio), "{name} {}: {measured} {closed}", case.id);
        }
    }
}

#[test]
fn chosen_elements_are_those_of_the_whole() {
    for name in ["mm", "softmax", "gelu"] {
        for case in small_cases(name).iter().filter(|case| case.family == Family::Normal) {
            let hosts = inputs(case, 2);
            let all = evaluate(case, &hosts).unwrap();
            let bound = sensitivity(case, &hosts, &all).unwrap().remove(0);
            let indices: Vec<usize> = (0..all[0].len()).step_by(7).collect();
            let some = evaluate_at(case, &hosts, &indices).unwrap();
            let some_bound = sensitivity_at(case, &hosts, &indices).unwrap();
            for (place, &index) in indices.iter().enumerate() {
                let scale = all[0][index].abs().max(1e-3);
                assert!((some[place] - all[0][index]).abs() < 1e-12 * scale, "{}", case.id);
                if name == "mm" {
                    assert!((some_bound.s[place] - bound.s[index]).abs() <= 1e-6 * bound.s[index]);
                }
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
    assert!(sampled(&suite.cases("mm", None, 1).unwrap()[0]));
    let case = suite.cases("silu", None, 1).unwrap().remove(0);
    assert!(!sampled(&case));
    let hosts = inputs(&case, 1);
    let outputs = evaluate(&case, &hosts).unwrap();
    assert!(outputs[0].len() > PERTURB_BELOW);
    let bound = sensitivity(&case, &hosts, &outputs).unwrap().remove(0);
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
