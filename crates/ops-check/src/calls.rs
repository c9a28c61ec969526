//! Calls that PyTorch answered, one JSON object a line, and the comparison of one.
//!
//! A call has `op` (`aten.add.Tensor`), `schema`, `args` by name and `status`: `ok` with `outputs`
//! (and `f64`, the same call in f64), or `refused` with PyTorch's `message`. A value is an object of
//! one key that names its kind; the elements of a tensor are base64 in row-major order.

use base64::Engine as _;
use kgen_ops::{
    call::{self, Bound, CallError},
    log::{Call, LogDType, LogTensor, Value},
    op::Array,
    record::{
        Arg, ArgValue, Case, CaseClass, DType, HostTensor, InputDistribution, TensorArg,
        TensorSpec,
        tensor::{encode, round_to},
    },
    reference::{self, Integers, Reference},
};
use ndarray::IxDyn;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::{
    compare::{self, Output},
    policy,
};

/// A call and PyTorch's answer.
#[derive(Debug, Deserialize)]
pub(crate) struct Record {
    /// The overload.
    pub op: String,
    /// The sample that it comes from.
    #[serde(default)]
    pub source: String,
    schema: String,
    args: Map<String, Json>,
    status: Status,
    #[serde(default)]
    message: String,
    #[serde(default)]
    change: String,
    #[serde(default)]
    outputs: Vec<Json>,
    #[serde(default)]
    f64: Vec<Option<String>>,
    /// Whether CUDA takes the call's type.
    #[serde(default = "yes")]
    cuda: bool,
    /// Whether values count; false for random ops.
    #[serde(default = "yes")]
    values: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Ok,
    Refused,
    /// The process of PyTorch ended.
    Crashed,
}

const fn yes() -> bool {
    true
}

/// How kgen's answer relates to PyTorch's.
#[derive(Debug)]
pub(crate) enum Answer {
    /// Equal within rounding, or both refuse.
    Agrees,
    /// Another type, shape or value.
    Differs(String),
    /// kgen refuses.
    Refused(String),
    /// PyTorch refuses.
    Accepted(String),
    /// kgen has no such op.
    Unknown,
    /// Types that kgen does not have, or elements that the file does not have.
    Skipped,
}

/// Most elements of all outputs that are evaluated.
const LARGEST: usize = 1 << 22;

/// Most floating-point operations of a call that is evaluated.
const MOST_WORK: f64 = 1e9;

/// Types that kgen does not have.
const FOREIGN: [&str; 6] = ["c32", "c64", "c128", "u16", "u32", "u64"];

impl Record {
    /// Reads a line.
    pub(crate) fn read(line: &str) -> Result<Self, String> {
        serde_json::from_str(line).map_err(|error| error.to_string())
    }

    /// Compares kgen's answer with PyTorch's.
    pub(crate) fn compare(&self) -> Answer {
        let Some(call) = self.call() else { return Answer::Skipped };
        if self.says_nothing() {
            return Answer::Skipped;
        }
        let bound = match call::bind(&call) {
            Ok(bound) => bound,
            Err(CallError::Op(_)) => return Answer::Unknown,
            Err(CallError::Free(_)) => return Answer::Skipped,
            Err(error) => return self.refused(&error.to_string()),
        };
        let Some(hosts) = self.hosts(&bound) else { return Answer::Skipped };
        let case = case(&bound);
        let reference = match Reference::new(bound.op, &case, &hosts) {
            Ok(reference) => reference,
            Err(error) => return self.refused(&error.to_string()),
        };
        // A changed call may ask for terabytes, also beside an extent of 0.
        let specs = bound.op.infer(&case).unwrap_or_default();
        let extents = |spec: &TensorSpec| {
            spec.shape.iter().fold(1_usize, |n, &extent| n.saturating_mul(extent.max(1)))
        };
        let elements = specs.iter().map(extents).fold(0, usize::saturating_add);
        if elements > LARGEST || bound.op.work(&case).flops > MOST_WORK {
            return if self.status == Status::Refused { self.accepted() } else { Answer::Skipped };
        }
        let expected = match reference.evaluate() {
            Ok(expected) => expected,
            Err(error) => return self.refused(&error.to_string()),
        };
        if self.status == Status::Refused {
            return self.accepted();
        }
        match self.agrees(&bound, &case, &hosts, &reference, &expected) {
            Ok(()) => Answer::Agrees,
            Err(text) => Answer::Differs(format!("{text} for {}", self.describe())),
        }
    }

    fn accepted(&self) -> Answer {
        let message = first_line(&self.message);
        Answer::Accepted(format!("{} [{}] \"{message}\"", self.describe(), self.change))
    }

    /// Whether PyTorch's answer binds nobody: it lacks a kernel for the CPU, complains about an output
    /// that the caller made, or drops elements at random.
    fn says_nothing(&self) -> bool {
        let refused = self.status == Status::Refused;
        let unfinished = policy::is_of_the_cpu(&self.op, &self.message);
        let dropout = self.args.get("dropout_p").and_then(|value| value.get("float"));
        let random = dropout.and_then(Json::as_f64).is_some_and(|p| p > 0.0 && p < 1.0);
        let written = self.args.keys().any(|name| self.writes(name));
        let lists = self.outputs.is_empty() && written;
        // PyTorch 2.11 refuses negative limits for u8, later ones cut them to 0.
        let newer = self.op == "aten.hardtanh.default" && self.source.contains("/u8/");
        newer
            || self.takes_nearest_of_16_bits()
            || self.leaves_bags_out()
            || self.status == Status::Crashed
            || (refused && (unfinished || written))
            || random
            || (!refused && lists)
    }

    /// Whether the CPU computes the places of nearest elements in 16 bits, where CUDA has f32.
    fn takes_nearest_of_16_bits(&self) -> bool {
        let grid = self.args.get("grid").and_then(|value| value["tensor"]["dtype"].as_str());
        let nearest = self.args.get("interpolation_mode").and_then(|value| value["int"].as_i64());
        matches!(grid, Some("f16" | "bf16")) && nearest == Some(1)
    }

    /// Whether the bags of indices are left out, which the CPU then computes and CUDA does not.
    fn leaves_bags_out(&self) -> bool {
        let numel = |name: &str| self.args.get(name).map(|value| shape(&value["tensor"]));
        numel("offset2bag") == Some(vec![0]) && numel("indices") != Some(vec![0])
    }

    /// Whether an argument is an output that the caller made.
    fn writes(&self, name: &str) -> bool {
        self.op.contains("out") && name != "self" && self.schema.contains(&format!("!) {name}"))
            || self.schema.contains(&format!("!)[] {name}"))
    }

    fn refused(&self, reason: &str) -> Answer {
        match self.status {
            Status::Refused => Answer::Agrees,
            Status::Crashed => Answer::Skipped,
            // CUDA decides; the CPU alone has a kernel for this type.
            Status::Ok if !self.cuda => Answer::Skipped,
            Status::Ok => Answer::Refused(format!("{reason} for {}", self.describe())),
        }
    }

    /// The call as a log has it; `None` where it holds a type that kgen does not have.
    fn call(&self) -> Option<Call> {
        let (base, overload) = self.op.strip_prefix("aten.").unwrap_or(&self.op).split_once('.')?;
        let mut kwargs = Vec::new();
        for (name, json) in self.args.iter().filter(|(_, json)| json.get("device").is_none()) {
            kwargs.push((name.clone(), value(json)?));
        }
        let (op, overload) = (base.to_owned(), overload.to_owned());
        Some(Call { op, overload, count: 1, args: Vec::new(), kwargs, line: 0 })
    }

    /// The tensors of a bound call; `None` where the file leaves their elements out.
    fn hosts(&self, bound: &Bound) -> Option<Vec<HostTensor>> {
        let mut hosts = Vec::new();
        for arg in &bound.args {
            let json = arg.from.as_ref().and_then(|source| self.args.get(&source.name));
            let tensors: Vec<&Json> = match json {
                Some(json) => match json.get("list").and_then(Json::as_array) {
                    Some(list) => list.iter().filter(|one| one.get("tensor").is_some()).collect(),
                    None => vec![json],
                },
                None => Vec::new(),
            };
            for (place, (_, tensor)) in arg.value.tensors().enumerate() {
                let json = tensors.get(place).and_then(|json| json.get("tensor"));
                hosts.push(match json {
                    Some(json) => host(&tensor.spec, json, arg.cast)?,
                    None => constant(tensor),
                });
            }
        }
        Some(hosts)
    }

    fn agrees(
        &self,
        bound: &Bound,
        case: &Case,
        hosts: &[HostTensor],
        reference: &Reference<'_>,
        expected: &[Array],
    ) -> Result<(), String> {
        let op = bound.op;
        let mut inferred = op.infer(case).map_err(|error| error.to_string())?;
        let mut written = bound.written(&inferred).map_err(|error| error.to_string())?;
        inferred.truncate(written.len());
        let mut recorded: Vec<&Json> =
            self.outputs.iter().filter_map(|output| output.get("tensor")).collect();
        // A gradient that is not asked for is no tensor in PyTorch, and one without elements here.
        let same = self.outputs.len() == inferred.len();
        let is_asked = |at: &usize| !same || self.outputs[*at].get("tensor").is_some();
        let asked: Vec<usize> = (0..inferred.len()).filter(is_asked).collect();
        inferred = asked.iter().map(|&at| inferred[at].clone()).collect();
        written = asked.iter().map(|&at| written[at]).collect();
        if policy::leads(&op.name) {
            let both = inferred.len().min(recorded.len());
            inferred.truncate(both);
            recorded.truncate(both);
        }
        self.same_specs(&op.name, &inferred, &written, &recorded)?;
        if !self.values || recorded.iter().any(|json| json.get("data").is_none()) {
            return Ok(());
        }
        if op.name == "to_copy" && undefined(&inferred[0], hosts) {
            return Ok(());
        }
        if let Some(integers) = beyond_f64(bound, case, hosts, &recorded)? {
            return integers;
        }
        let text = |error: reference::Error| error.to_string();
        let bounds = reference.bounds(expected).map_err(text)?;
        let expected = &asked.iter().map(|&at| expected[at].clone()).collect::<Vec<Array>>();
        let mut bounds: Vec<_> = asked.iter().map(|&at| bounds[at].clone()).collect();
        if policy::cuts_quotients(&op.name) {
            let jumps = reference.quotient_jumps(&expected[0]).map_err(text)?;
            bounds[0].jumps = Some(jumps.iter().copied().collect());
        }
        let stored = inferred.iter().zip(&recorded).map(|(spec, json)| {
            let dtype = recorded_dtype(json).unwrap_or(spec.dtype);
            let spec = TensorSpec::contiguous(dtype, &shape(json));
            let host = host(&spec, json, None).ok_or("elements are missing")?;
            Array::from_shape_vec(IxDyn(&spec.shape), host.to_f64())
                .map_err(|_| "elements are missing")
        });
        let mut stored: Vec<Array> = stored.collect::<Result<_, _>>()?;
        if op.engine.leaves_choices() && stored.len() == expected.len() {
            op.canonicalise(case, reference.inputs(), &mut stored, expected);
        }
        for (index, json) in recorded.iter().enumerate() {
            let own = inferred[index].dtype;
            let recorded = recorded_dtype(json).unwrap_or(own);
            // A result that is converted to an output's type has the accuracy of the smaller of both.
            let coarser = bound.out.get(index).is_some_and(|_| policy::is_coarser(own, recorded));
            let dtype = if coarser { own } else { recorded };
            if shape(json) != inferred[index].shape {
                continue;
            }
            let mut elements = expected[index].as_standard_layout();
            if bound.out.get(index).is_some() && !own.is_float() {
                elements.mapv_inplace(|value| round_to(own, value));
            }
            let stored = stored[index].as_slice().unwrap_or(&[]);
            let wide = self.f64.get(index).cloned().flatten().and_then(|data| numbers(&data));
            let narrowed = bound.args.iter().any(|arg| arg.cast.is_some_and(|to| to != DType::F64));
            let wide = wide.filter(|_| !narrowed && !policy::widens_otherwise(&op.name));
            let output = Output {
                op,
                dtype,
                reference: elements.as_slice().unwrap_or(&[]),
                bound: &bounds[index],
                stored,
                f64: wide.or_else(|| (dtype == DType::F64).then(|| stored.to_vec())),
                terms: op.accumulation_len(case),
            };
            compare::output(&output).map_err(|text| format!("output {index}: {text}"))?;
        }
        Ok(())
    }

    fn same_specs(
        &self,
        op: &str,
        inferred: &[TensorSpec],
        written: &[DType],
        recorded: &[&Json],
    ) -> Result<(), String> {
        let same = |((spec, written), json): ((&TensorSpec, &DType), &&Json)| {
            let dtype = recorded_dtype(json);
            let other = *written == DType::F32 && policy::statistics_in_f32(op);
            let empty = shape(json) == [0] && policy::empty_on_the_cpu(op);
            (spec.shape == shape(json) || empty) && (dtype == Some(*written) || other)
        };
        let both = || inferred.iter().zip(written);
        if inferred.len() == recorded.len() && both().zip(recorded).all(same) {
            return Ok(());
        }
        let have: Vec<String> =
            both().map(|(spec, written)| format!("{written}{:?}", spec.shape)).collect();
        let wanted: Vec<String> = recorded
            .iter()
            .map(|json| format!("{}{:?}", json["dtype"].as_str().unwrap_or_default(), shape(json)))
            .collect();
        Err(format!("gives {have:?} instead of {wanted:?}"))
    }

    /// The arguments in short.
    fn describe(&self) -> String {
        let args = self.args.iter().map(|(name, json)| format!("{name}={}", short(json)));
        let text = args.collect::<Vec<_>>().join(" ");
        format!("{text} ({})", self.source)
    }
}

/// Compares integers that f64 does not hold; `None` where all of them are below 2^53.
fn beyond_f64(
    bound: &Bound,
    case: &Case,
    hosts: &[HostTensor],
    recorded: &[&Json],
) -> Result<Option<Result<(), String>>, String> {
    const LIMIT: u64 = 1 << 53;
    let integers =
        |json: &&&Json| matches!(json["dtype"].as_str(), Some("i64" | "i32" | "i16" | "i8" | "u8"));
    let read = |json: &Json| {
        let dtype = recorded_dtype(json)?;
        host(&TensorSpec::contiguous(dtype, &shape(json)), json, None).map(|host| host.to_i64())
    };
    let large = |host: &HostTensor| {
        host.spec.dtype.is_int() && host.to_i64().iter().any(|value| value.unsigned_abs() >= LIMIT)
    };
    let outputs: Option<Vec<Vec<i64>>> =
        recorded.iter().filter(integers).map(|json| read(json)).collect();
    let outputs = outputs.filter(|outputs| outputs.len() == recorded.len()).unwrap_or_default();
    let results = || outputs.iter().flatten().any(|value| value.unsigned_abs() >= LIMIT);
    if outputs.is_empty() {
        return Ok(None);
    }
    let wraps = bound.op.name.starts_with("pow") || bound.op.name.contains("prod");
    if !wraps && !hosts.iter().any(large) && !results() {
        return Ok(None);
    }
    let integers = Integers::new(bound.op, case, hosts).map_err(|error| error.to_string())?;
    let Some(integers) = integers else { return Ok(None) };
    let mut got = outputs;
    integers.canonicalise(bound.op, case, hosts, &mut got);
    Ok(Some(if got == integers.outputs { Ok(()) } else { Err("other integers".to_owned()) }))
}

/// Whether a conversion to integers meets a number that the type does not hold, which C++ leaves open.
#[expect(clippy::float_cmp, reason = "equal integers are meant")]
fn undefined(to: &TensorSpec, hosts: &[HostTensor]) -> bool {
    let holds = |value: f64| value.is_finite() && round_to(to.dtype, value) == value.trunc();
    let from_float = |host: &&HostTensor| host.spec.dtype.is_float();
    to.dtype.is_int()
        && hosts.iter().filter(from_float).any(|host| !host.to_f64().into_iter().all(holds))
}

fn recorded_dtype(json: &Json) -> Option<DType> {
    match json["dtype"].as_str()? {
        "b8" => Some(DType::Bool),
        name => name.parse().ok(),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(120).collect()
}

fn short(json: &Json) -> String {
    if let Some(tensor) = json.get("tensor") {
        return format!("{}{:?}", tensor["dtype"].as_str().unwrap_or_default(), shape(tensor));
    }
    if let Some(list) = json.get("list").and_then(Json::as_array) {
        return format!("[{}]", list.iter().map(short).collect::<Vec<_>>().join(","));
    }
    let value = json.as_object().and_then(|map| map.values().next());
    value.map_or_else(String::new, Json::to_string)
}

fn shape(json: &Json) -> Vec<usize> {
    sizes(&json["shape"]).unwrap_or_default()
}

fn sizes(json: &Json) -> Option<Vec<usize>> {
    let list = json.as_array()?.iter();
    list.map(|size| size.as_u64().and_then(|size| usize::try_from(size).ok())).collect()
}

/// Reads a value; `None` for one of a type that kgen does not have.
fn value(json: &Json) -> Option<Value> {
    let (kind, json) = json.as_object()?.iter().next()?;
    Some(match kind.as_str() {
        "tensor" => Value::Tensor(LogTensor {
            shape: sizes(&json["shape"])?,
            dtype: dtype(&json["dtype"])?,
            stride: json.get("stride").and_then(sizes),
            offset: 0,
            generator: None,
        }),
        "int" => Value::Int(json.as_i64()?),
        "float" => Value::Float(match json.as_str() {
            Some(text) => text.parse().ok()?,
            None => json.as_f64()?,
        }),
        "bool" => Value::Bool(json.as_bool()?),
        "str" | "layout" | "memory_format" => Value::Str(json.as_str()?.to_owned()),
        "dtype" => Value::DType(dtype(json)?),
        "none" => Value::None,
        "list" => Value::List(json.as_array()?.iter().map(value).collect::<Option<_>>()?),
        _ => return None,
    })
}

fn dtype(json: &Json) -> Option<LogDType> {
    let name = json.as_str()?;
    if FOREIGN.contains(&name) { None } else { LogDType::from_name(name) }
}

/// The storage of a tensor whose elements are written in row-major order; those of another type are
/// converted.
fn host(spec: &TensorSpec, json: &Json, cast: Option<DType>) -> Option<HostTensor> {
    let data =
        base64::engine::general_purpose::STANDARD.decode(json.get("data")?.as_str()?).ok()?;
    let mut host = HostTensor::zeroed(spec.clone());
    let from = recorded_dtype(json)?;
    let size = spec.dtype.size();
    for (place, element) in spec.storage_indices().into_iter().zip(data.chunks_exact(from.size())) {
        let target = &mut host.storage[place * size..(place + 1) * size];
        match cast {
            None => target.copy_from_slice(element),
            Some(dtype) => {
                let value = kgen_ops::record::tensor::decode(from, element);
                encode(dtype, round_to(dtype, value), target);
            }
        }
    }
    Some(host)
}

/// A number that takes part as a tensor.
fn constant(tensor: &TensorArg) -> HostTensor {
    let mut host = HostTensor::zeroed(tensor.spec.clone());
    if let kgen_ops::record::Gen::Constant { value } = tensor.generator {
        host.set(0, value);
    }
    host
}

fn numbers(data: &str) -> Option<Vec<f64>> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(data).ok()?;
    let chunks = bytes.chunks_exact(8);
    Some(chunks.map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap_or_default())).collect())
}

fn case(bound: &Bound) -> Case {
    let args: Vec<Arg> = bound
        .args
        .iter()
        .map(|arg| Arg { name: arg.name.clone(), value: arg.value.clone() })
        .collect();
    let tensors =
        || args.iter().flat_map(|arg| arg.value.tensors()).map(|(_, tensor)| tensor.spec.dtype);
    let number =
        tensors().find(|dtype| dtype.is_float()).or(tensors().find(|dtype| dtype.is_int()));
    let dtype = number.or(tensors().next()).unwrap_or(DType::F32);
    Case {
        id: "call".to_owned(),
        op: bound.op.name.clone(),
        count: None,
        dtype,
        class: CaseClass::Edge,
        distribution: InputDistribution::Normal,
        names_ignored: args
            .iter()
            .any(|arg| arg.name == "ignore_index" && arg.value != ArgValue::None),
        in_place: bound.in_place,
        args,
    }
}
