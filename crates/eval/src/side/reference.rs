//! References that are Python code, evaluated in the Python process.

use std::{
    fs,
    io::{self, Write as _},
    time::Duration,
};

use kgen_baseline::{
    side::{Callee, Location, call},
    torch_code,
};
use kgen_ops::op::{Array, Call, Inputs, PythonReference, Quantity};
use kgen_record::{DType, Precision, PythonKind, Target, TensorSpec};
use tempfile::NamedTempFile;

use super::process::{Failure, Process};
use crate::arrays::{array, contiguous};

/// Time that a quantity has.
const LIMIT: Duration = Duration::from_secs(60);

/// The name of the code in tracebacks, as `python/function.py` gives it.
const CODE_FILE: &str = "\"<reference>\", line ";

/// Evaluates a quantity of the reference of a call; the error is one line.
pub(crate) fn evaluate(
    process: &Process<'_>,
    target: &Target,
    of: &Call<'_>,
    inputs: &Inputs<'_>,
    quantity: Quantity,
) -> Result<Vec<Array>, String> {
    let op = of.op;
    let case = PythonReference::in_f64(of.case);
    let source = torch_code::source(op).ok_or("the module draws values of its own")?;
    let entry = match quantity {
        Quantity::Values => torch_code::VALUES,
        Quantity::Spread => torch_code::SPREAD,
        Quantity::Magnitude => torch_code::MAGNITUDE,
    };
    let kind = PythonKind::Triton.into();
    let callee = Callee { kind, source: Some(&source), entry: Some(entry), lists: &[] };
    let specs = op.infer(of.case).map_err(|error| error.to_string())?;
    let wide = |spec: TensorSpec| {
        let is_wide = spec.dtype.is_float() || quantity != Quantity::Values;
        let dtype = if is_wide { DType::F64 } else { spec.dtype };
        TensorSpec::contiguous(dtype, &spec.shape)
    };
    let specs: Vec<TensorSpec> = specs.into_iter().map(wide).collect();
    let files = Files::new(
        case.tensors()
            .map(|(_, tensor)| &tensor.spec)
            .zip(inputs.all().map(|(_, one)| one.array())),
        &specs,
    );
    let files = files.map_err(|error| format!("a file for a tensor: {error}"))?;
    let inputs: Vec<Location> = files.inputs.iter().map(location).collect();
    let outputs = specs.iter().cloned().zip(files.outputs.iter().map(location));
    let outputs: Vec<_> = outputs.collect();
    let call = call(op, &case, callee, &inputs, &outputs, Precision::Strict)
        .map_err(|error| error.to_string())?;
    let prepared =
        process.ask(target, |client| client.prepare(&call, LIMIT)).map_err(|failure| {
            let line = line(&failure).map_or(String::new(), |line| format!(" (line {line})"));
            format!("{failure}{line}")
        })?;
    process.note_settings(prepared.settings);
    process.drop_handle(prepared.handle);
    let read = specs.iter().zip(&files.outputs);
    let read = read.map(|(spec, (file, _))| Ok(array(spec, &fs::read(file.path())?)));
    read.collect::<io::Result<_>>().map_err(|error| format!("a file with a result: {error}"))
}

/// Returns the line of the code that an exception comes from.
fn line(failure: &Failure) -> Option<&str> {
    let Failure::Refused(refusal) = failure else { return None };
    let (_, behind) = refusal.detail.as_deref()?.rsplit_once(CODE_FILE)?;
    behind.split(|c: char| !c.is_ascii_digit()).next()
}

/// A file with its length.
type Sized = (NamedTempFile, usize);

struct Files {
    inputs: Vec<Sized>,
    outputs: Vec<Sized>,
}

impl Files {
    /// Writes the inputs, and makes room for the outputs.
    fn new<'a>(
        inputs: impl Iterator<Item = (&'a TensorSpec, &'a Array)>,
        outputs: &[TensorSpec],
    ) -> io::Result<Self> {
        let file = || tempfile::Builder::new().prefix("tensor-").tempfile();
        let inputs = inputs.map(|(spec, values)| {
            let host = contiguous(spec, values);
            let mut file = file()?;
            file.write_all(&host.storage)?;
            Ok((file, host.storage.len()))
        });
        let outputs = outputs.iter().map(|spec| {
            let file = file()?;
            file.as_file().set_len(spec.storage_bytes() as u64)?;
            Ok((file, spec.storage_bytes()))
        });
        Ok(Self {
            inputs: inputs.collect::<io::Result<_>>()?,
            outputs: outputs.collect::<io::Result<_>>()?,
        })
    }
}

fn location((file, bytes): &Sized) -> Location {
    Location::in_file(file.path(), *bytes as u64)
}
