//! One record against inference and reference.

use ndarray::IxDyn;

use kgen_ops::{
    op::{Array, OpDef},
    record::{Case, HostTensor},
    reference::Reference,
};

use crate::compare::{self, Output};

use super::read::{self, NoCase, Record};

/// Replays a record; an error describes the disagreement.
pub(super) fn replay(op: &OpDef, record: &Record) -> Result<(), String> {
    match (read::case(op, record), &record.raises) {
        (Err(NoCase::Mismatch(reason)), _) => Err(reason),
        (Err(NoCase::Refused(_)), Some(_)) => Ok(()),
        (Err(NoCase::Refused(reason)), None) => Err(format!("refused: {reason}")),
        (Ok((case, hosts)), Some(raises)) => refused(op, &case, &hosts, record.notes("values"))
            .map_err(|found| {
                format!("{found}, but torch says \"{raises}\" for {}", describe(&case))
            }),
        (Ok((case, hosts)), None) => agrees(op, &case, &hosts, record)
            .map_err(|text| format!("{text} for {}", describe(&case))),
    }
}

fn refused(op: &OpDef, case: &Case, hosts: &[HostTensor], by_value: bool) -> Result<(), String> {
    match Reference::new(op, case, hosts) {
        Err(_) => Ok(()),
        Ok(reference) if by_value => match reference.evaluate() {
            Err(_) => Ok(()),
            Ok(_) => Err("evaluated".to_owned()),
        },
        Ok(_) => Err(format!("infer gives {:?}", specs(op, case))),
    }
}

/// Types and shapes of the outputs as inference sees them, for messages.
fn specs(op: &OpDef, case: &Case) -> Vec<String> {
    let specs = op.infer(case).unwrap_or_default();
    specs.iter().map(|spec| format!("{}{:?}", spec.dtype, spec.shape)).collect()
}

fn agrees(op: &OpDef, case: &Case, hosts: &[HostTensor], record: &Record) -> Result<(), String> {
    let recorded: Vec<HostTensor> = record.outputs.iter().map(read::Tensor::host).collect();
    let inferred = match op.infer(case) {
        Ok(inferred) => inferred,
        // Shapes that depend on values are not inferred.
        Err(_) if record.notes("values") => return Ok(()),
        Err(error) => return Err(format!("refused: {error}")),
    };
    let wanted: Vec<String> =
        recorded.iter().map(|host| format!("{}{:?}", host.spec.dtype, host.spec.shape)).collect();
    if recorded.iter().map(|host| &host.spec).ne(&inferred) {
        return Err(format!("infer gives {:?} instead of {wanted:?}", specs(op, case)));
    }
    let text = |error: kgen_ops::reference::Error| format!("refused: {error}");
    let reference = Reference::new(op, case, hosts).map_err(text)?;
    let expected = reference.evaluate().map_err(text)?;
    if expected.iter().map(Array::shape).ne(inferred.iter().map(|spec| spec.shape.as_slice())) {
        let shapes: Vec<&[usize]> = expected.iter().map(Array::shape).collect();
        return Err(format!("evaluates to shapes {shapes:?} instead of {wanted:?}"));
    }
    let bounds = reference.bounds(&expected).map_err(text)?;
    let mut got: Vec<Array> = recorded.iter().map(array).collect();
    if record.notes("ties") {
        op.canonicalise(case, reference.inputs(), &mut got, &expected);
    }
    for (index, host) in recorded.iter().enumerate() {
        let output = Output {
            op,
            dtype: host.spec.dtype,
            reference: expected[index].as_slice().unwrap_or(&[]),
            bound: &bounds[index],
            stored: got[index].as_slice().unwrap_or(&[]),
            terms: 1,
            f64: record.f64[index].as_ref().map(read::Bytes::numbers),
        };
        compare::output(&output).map_err(|text| format!("output {index}: {text}"))?;
    }
    Ok(())
}

fn array(host: &HostTensor) -> Array {
    Array::from_shape_vec(IxDyn(&host.spec.shape), host.to_f64()).unwrap()
}

/// The arguments in short.
fn describe(case: &Case) -> String {
    let args = case.args.iter().map(|arg| {
        let tensors: Vec<String> = arg
            .value
            .tensors()
            .map(|(_, tensor)| format!("{}{:?}", tensor.spec.dtype, tensor.spec.shape))
            .collect();
        let text = if tensors.is_empty() { format!("{:?}", arg.value) } else { tensors.join(",") };
        format!("{}={text}", arg.name)
    });
    args.collect::<Vec<_>>().join(" ")
}
