//! Definitions and workloads of FlashInfer-Bench as definitions of ops.
//!
//! The reference is the definition's own Python code, whose function `run` takes the inputs in order.
//! [Definitions](https://bench.flashinfer.ai/docs/flashinfer-trace/definition) name axes that are constant
//! or vary; workloads give the varying ones values.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::Arc,
};

use kgen_ops::{
    log::LogDType,
    op::{self, OpDef},
    record::DType,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    ImportError, bind,
    name::name,
    write::{block, quoted},
};

/// Most workloads that become cases: each is timed.
const MOST_WORKLOADS: usize = 5;

/// Largest value of a constant axis in a small case.
const SMALL: u64 = 64;

/// Ranges of a varying axis in small cases, and a value of each.
const RANGES: [(&str, u64); 2] = [("1..9", 5), ("10..40", 23)];

/// Integers of inputs that a workload draws.
const INTEGERS: &str = "integers(-1024, 1024)";

/// Returns the definition of an op: of the JSON of a definition and the lines of its workloads. `name_of`
/// makes an op's name of the definition's.
///
/// # Errors
///
/// [`ImportError::Definition`] and [`ImportError::FlashInfer`] where something does not fit the format.
pub fn import(
    definition: &str,
    workloads: &str,
    name_of: fn(&str) -> String,
) -> Result<(String, Arc<OpDef>), ImportError> {
    let wrong = |error: &dyn std::fmt::Display| ImportError::FlashInfer(error.to_string());
    let definition: Definition = serde_json::from_str(definition).map_err(|error| wrong(&error))?;
    let lines = workloads.lines().filter(|line| !line.trim().is_empty());
    let workloads = lines.map(|line| {
        let line: Line = serde_json::from_str(line).map_err(|error| wrong(&error))?;
        match line {
            Line::Traced { workload } | Line::Bare(workload) => Ok(workload),
        }
    });
    let workloads: Vec<Workload> = workloads.collect::<Result<_, ImportError>>()?;
    let text = Writer::new(&definition, workloads).and_then(|writer| writer.write(name_of));
    let text = text.map_err(ImportError::FlashInfer)?;
    let op = op::custom(&text)?;
    Ok((text, op))
}

#[derive(Deserialize)]
struct Definition {
    name: String,
    description: Option<String>,
    axes: Map<String, Value>,
    inputs: Map<String, Value>,
    outputs: Map<String, Value>,
    #[serde(default)]
    constraints: Vec<String>,
    reference: String,
}

/// A tensor, or a number where the shape is missing.
#[derive(Deserialize)]
struct Spec {
    shape: Option<Vec<String>>,
    dtype: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Traced { workload: Workload },
    Bare(Workload),
}

#[derive(Deserialize)]
struct Workload {
    axes: BTreeMap<String, u64>,
    inputs: BTreeMap<String, Source>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Source {
    Random,
    Scalar { value: Value },
    Safetensors {},
}

struct Writer<'a> {
    definition: &'a Definition,
    inputs: Vec<(&'a str, Spec)>,
    outputs: Vec<(&'a str, Spec)>,
    /// The type of the op.
    dtype: DType,
    /// Each axis as shapes spell it: a number, a symbol or an expression.
    axes: BTreeMap<&'a str, String>,
    /// Constant axes that are symbols, with their values.
    constant: Vec<(&'a str, u64)>,
    /// Axes that workloads give values.
    varying: Vec<&'a str>,
    /// Whether small cases may be made: every constraint is part of the shapes.
    can_shrink: bool,
    workloads: Vec<Workload>,
}

fn specs(of: &Map<String, Value>) -> Result<Vec<(&str, Spec)>, String> {
    let one = |(name, value)| match Spec::deserialize(value) {
        Ok(spec) => Ok((String::as_str(name), spec)),
        Err(error) => Err(format!("`{name}`: {error}")),
    };
    of.iter().map(one).collect()
}

fn dtype(of: &Spec) -> Result<DType, String> {
    LogDType::from_name(&of.dtype)
        .and_then(bind::dtype)
        .ok_or_else(|| format!("kgen has no type `{}`", of.dtype))
}

impl<'a> Writer<'a> {
    fn new(definition: &'a Definition, workloads: Vec<Workload>) -> Result<Self, String> {
        let (inputs, outputs) = (specs(&definition.inputs)?, specs(&definition.outputs)?);
        let tensors = || inputs.iter().filter(|(_, spec)| spec.shape.is_some());
        for (input, spec) in tensors() {
            let from_file = |workload: &Workload| {
                matches!(workload.inputs.get(*input), Some(Source::Safetensors {}))
            };
            if workloads.iter().any(from_file) && !dtype(spec).is_ok_and(DType::is_float) {
                return Err(format!("the values of `{input}` are data of a file, not drawn"));
            }
        }
        let types: Vec<DType> = tensors().map(|(_, spec)| dtype(spec)).collect::<Result<_, _>>()?;
        let first_float = types.iter().find(|dtype| dtype.is_float());
        let dtype = *first_float.or(types.first()).ok_or("it has no tensor among its inputs")?;
        let mut axes: BTreeMap<&str, String> = BTreeMap::new();
        let (mut constant, mut varying) = (Vec::new(), Vec::new());
        let used: BTreeSet<&str> = tensors()
            .flat_map(|(_, spec)| spec.shape.iter().flatten())
            .map(String::as_str)
            .collect();
        for (axis, of) in &definition.axes {
            let value = of.get("value").and_then(Value::as_u64);
            let text = match value {
                // Code that names the number needs it.
                Some(value)
                    if is_named(&definition.reference, value) || !used.contains(&**axis) =>
                {
                    value.to_string()
                }
                Some(value) => {
                    constant.push((axis.as_str(), value));
                    name(axis)
                }
                None => {
                    varying.push(axis.as_str());
                    name(axis)
                }
            };
            axes.insert(axis, text);
        }
        let mut can_shrink = true;
        for constraint in &definition.constraints {
            let equal =
                constraint.split_once("==").map(|(left, right)| (left.trim(), right.trim()));
            match equal.filter(|(left, _)| varying.contains(left)) {
                Some((left, right)) if is_expression(right, &axes) => {
                    let right = substituted(right, &axes);
                    varying.retain(|axis| *axis != left);
                    axes.insert(definition.axes.get_key_value(left).ok_or("an axis")?.0, right);
                }
                _ => can_shrink = false,
            }
        }
        Ok(Self {
            definition,
            inputs,
            outputs,
            dtype,
            axes,
            constant,
            varying,
            can_shrink,
            workloads,
        })
    }

    fn shape(&self, spec: &Spec, axes: &[String]) -> Result<String, String> {
        let of = dtype(spec)?;
        let prefix = if of == self.dtype { "" } else { of.name() };
        let dims = axes.iter().map(|axis| {
            let text = self.axes.get(axis.as_str());
            text.cloned().ok_or_else(|| format!("the axis `{axis}` is not defined"))
        });
        Ok(format!("{prefix}[{}]", dims.collect::<Result<Vec<_>, _>>()?.join(", ")))
    }

    fn write(&self, name_of: fn(&str) -> String) -> Result<String, String> {
        let Definition { description, .. } = self.definition;
        let title = self.definition.name.as_str();
        let mut semantics = description.clone().unwrap_or_else(|| title.to_owned());
        for constraint in &self.definition.constraints {
            write!(semantics, "\n{constraint}").expect("a string grows");
        }
        let mut lines = vec![
            "format = 1".to_owned(),
            format!("name = {}", quoted(&name_of(title))),
            format!("semantics = {}", block(&format!("{semantics}\n"))),
            format!("dtypes = [\"{}\"]", self.dtype.name()),
            "\n[tensors]".to_owned(),
        ];
        let mut scalars = Vec::new();
        for (input, spec) in &self.inputs {
            let Some(axes) = &spec.shape else {
                scalars.push(format!("{} = {}", name(input), self.scalar(input, 0)));
                continue;
            };
            let shape = self.shape(spec, axes)?;
            let init = match dtype(spec)? {
                DType::Bool => ", role = \"mask\"".to_owned(),
                of if of.is_float() => String::new(),
                _ => format!(", init = \"{INTEGERS}\""),
            };
            lines.push(format!("{} = {{ shape = {}{init} }}", name(input), quoted(&shape)));
        }
        if !scalars.is_empty() {
            lines.push("\n[scalars]".to_owned());
            lines.extend(scalars);
        }
        lines.push("\n[outputs]".to_owned());
        for (at, (output, spec)) in self.outputs.iter().enumerate() {
            let axes = spec.shape.clone().unwrap_or_default();
            let shape = self.shape(spec, &axes)?;
            let key = if self.outputs.len() == 1 { "out".to_owned() } else { format!("out{at}") };
            let what = quoted(output);
            lines.push(format!("{key} = {{ shape = {}, text = {what} }}", quoted(&shape)));
        }
        lines.push(format!("\n[reference]\npython = {}", block(&self.code())));
        lines.extend(self.cases()?);
        Ok(lines.join("\n") + "\n")
    }

    /// Returns the definition's code with a function that takes tensors and scalars as kgen gives them.
    fn code(&self) -> String {
        let names = |scalars: bool| {
            let of = self.inputs.iter().filter(move |(_, spec)| spec.shape.is_none() == scalars);
            of.map(|(input, _)| name(input)).collect::<Vec<_>>()
        };
        let (mut parameters, scalars) = (names(false), names(true));
        if !scalars.is_empty() {
            parameters.push("*".to_owned());
            parameters.extend(scalars);
        }
        let all: Vec<String> = self.inputs.iter().map(|(input, _)| name(input)).collect();
        let outputs: Vec<String> =
            self.outputs.iter().map(|(name, _)| format!("{name:?}")).collect();
        format!(
            "{}\n\n\ndef reference({}):\n    returned = run({})\n    if isinstance(returned, dict):\n        \
             return [returned[name] for name in [{}]]\n    return returned\n",
            self.definition.reference.trim_end(),
            parameters.join(", "),
            all.join(", "),
            outputs.join(", ")
        )
    }

    /// Returns the value of a scalar in a workload.
    fn scalar(&self, input: &str, workload: usize) -> String {
        let workload = self.workloads.get(workload);
        match workload.and_then(|workload| workload.inputs.get(input)) {
            Some(Source::Scalar { value: Value::Number(number) }) if number.is_f64() => {
                format!("{:?}", number.as_f64().unwrap_or(1.0))
            }
            Some(Source::Scalar { value }) => value.to_string(),
            _ => "1.0".to_owned(),
        }
    }

    fn cases(&self) -> Result<Vec<String>, String> {
        let mut cases = Vec::new();
        if self.can_shrink {
            // An extent that is drawn stands alone in its shape.
            let has_expression = self.axes.values().any(|axis| axis.contains(' '));
            for (at, (range, fixed)) in RANGES.into_iter().enumerate() {
                let mut lines = vec!["\n[[cases]]".to_owned()];
                let constant = self.constant.iter().map(|(axis, value)| {
                    // The second is no power of two.
                    let value = small(*value, SMALL >> at);
                    format!("{} = {}", name(axis), value + at as u64 * value / 2)
                });
                lines.extend(constant);
                let extent =
                    if has_expression { fixed.to_string() } else { format!("\"{range}\"") };
                let varying = self.varying.iter().map(|axis| format!("{} = {extent}", name(axis)));
                lines.extend(varying);
                cases.push(lines.join("\n"));
            }
        }
        let mut seen = BTreeSet::new();
        let distinct = self.workloads.iter().enumerate().filter(|(_, of)| seen.insert(&of.axes));
        let mut distinct: Vec<(usize, &Workload)> = distinct.collect();
        distinct.sort_by_key(|(_, workload)| workload.axes.values().product::<u64>());
        let n = distinct.len();
        let chosen = (0..n.min(MOST_WORKLOADS)).map(|at| match n <= MOST_WORKLOADS {
            true => at,
            // From the smallest to the largest.
            false => at * (n - 1) / (MOST_WORKLOADS - 1),
        });
        for (place, workload) in chosen.map(|at| distinct[at]) {
            let mut lines = vec!["\n[[cases]]".to_owned()];
            lines.extend(
                self.constant.iter().map(|(axis, value)| format!("{} = {value}", name(axis))),
            );
            for axis in &self.varying {
                let value = workload.axes.get(*axis);
                let value = value.ok_or_else(|| format!("a workload gives no `{axis}`"))?;
                lines.push(format!("{} = {value}", name(axis)));
            }
            let scalars = self.inputs.iter().filter(|(_, spec)| spec.shape.is_none());
            lines.extend(
                scalars
                    .map(|(input, _)| format!("{} = {}", name(input), self.scalar(input, place))),
            );
            lines.push("class = \"realistic\"".to_owned());
            cases.push(lines.join("\n"));
        }
        match cases.is_empty() {
            true => Err("it has no workload, and its constraints allow no small case".to_owned()),
            false => Ok(cases),
        }
    }
}

/// Halves a value until it is small.
fn small(value: u64, most: u64) -> u64 {
    let mut value = value;
    while most < value && value.is_multiple_of(2) {
        value /= 2;
    }
    value
}

/// Returns whether a code has a number.
fn is_named(code: &str, value: u64) -> bool {
    let value = value.to_string();
    code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == value)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Returns whether a text is made of axes, numbers, sums, differences and products.
fn is_expression(text: &str, axes: &BTreeMap<&str, String>) -> bool {
    let known = |word: &str| axes.contains_key(word) || word.parse::<u64>().is_ok();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_+-* ()".contains(c);
    words(text).all(known) && text.chars().all(is_plain)
}

/// Puts in for each axis its own spelling.
fn substituted(text: &str, axes: &BTreeMap<&str, String>) -> String {
    let mut replaced = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_alphanumeric() || c == '_') {
        let end = rest[at..].find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let end = end.map_or(rest.len(), |end| at + end);
        replaced.push_str(&rest[..at]);
        replaced.push_str(axes.get(&rest[at..end]).map_or(&rest[at..end], String::as_str));
        rest = &rest[end..];
    }
    replaced + rest
}

#[cfg(test)]
mod tests;
