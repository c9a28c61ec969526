//! The cases of an op as a model sees them: grouped by class, free of dtypes, seeds and drawn
//! shapes.

use kgen_kernel::plan::plan_name;
use kgen_record::{
    Arg, ArgValue, Case, CaseClass, DType, InputDistribution, TensorArg, TensorSpec,
};
use serde::Serialize;

/// The cases of an op.
#[derive(Debug, Serialize)]
pub(super) struct CasesView {
    /// Element types, for example `f32, f16 and bf16`.
    dtypes: String,
    /// Values of the arguments that most cases share, for example `eps=1e-5`; may be empty.
    usual: String,
    groups: Vec<Group>,
}

/// Cases of one class.
#[derive(Debug, Serialize)]
struct Group {
    title: String,
    lines: Vec<String>,
}

/// Arguments with the distributions and dtypes they are run in.
struct CaseLine {
    args: String,
    distributions: Vec<InputDistribution>,
    dtypes: Vec<DType>,
}

/// Describes the cases that are no secret, at most `max_lines` of each group.
pub(super) fn view(cases: &[Case], can_time: bool, max_lines: usize) -> CasesView {
    let public = || cases.iter().filter(|case| case.class != CaseClass::Drawn);
    let mut dtypes: Vec<DType> = Vec::new();
    for case in public() {
        if !dtypes.contains(&case.dtype) {
            dtypes.push(case.dtype);
        }
    }
    let usual = usual(public());
    let classes = [
        CaseClass::Edge,
        CaseClass::Layout,
        CaseClass::Values,
        CaseClass::Realistic,
        CaseClass::Huge,
    ];
    let groups = classes.into_iter().filter_map(|class| {
        let mut rows: Vec<CaseLine> = Vec::new();
        for case in public().filter(|case| case.class == class) {
            add(&mut rows, case, &usual);
        }
        let mut lines: Vec<String> =
            rows.iter().take(max_lines).map(|row| row.line(&dtypes)).collect();
        if max_lines < rows.len() {
            lines.push(format!("... {} more", rows.len() - max_lines));
        }
        let title = title(class, can_time).to_owned();
        (!lines.is_empty()).then_some(Group { title, lines })
    });
    let groups = groups.collect();
    CasesView { groups, dtypes: names(&dtypes), usual: usual.join(" ") }
}

/// Returns the arguments, as `name=value`, that are no tensors and equal in most cases.
fn usual<'a>(cases: impl Iterator<Item = &'a Case>) -> Vec<String> {
    let mut n_cases = 0;
    let mut counts: Vec<(String, usize)> = Vec::new();
    for case in cases {
        n_cases += 1;
        for arg in &case.args {
            if matches!(arg.value, ArgValue::Tensor(_)) {
                continue;
            }
            let text = argument(case, arg);
            match counts.iter_mut().find(|(known, _)| *known == text) {
                Some((_, count)) => *count += 1,
                None => counts.push((text, 1)),
            }
        }
    }
    let most = counts.into_iter().filter(|(_, count)| n_cases < 2 * count);
    most.map(|(text, _)| text).collect()
}

const fn title(class: CaseClass, can_time: bool) -> &'static str {
    match class {
        CaseClass::Edge => "Sizes:",
        CaseClass::Layout => "Layouts (strides and offset count elements):",
        CaseClass::Values => "Values:",
        CaseClass::Drawn => "Drawn:",
        CaseClass::Further => "Further:",
        CaseClass::Realistic if can_time => "Realistic sizes, which are timed:",
        CaseClass::Realistic => "Realistic sizes:",
        CaseClass::Huge => "More than 2^31 elements (on a GPU; not timed):",
    }
}

fn add(rows: &mut Vec<CaseLine>, case: &Case, usual: &[String]) {
    let args = args(case, usual);
    let row = match rows.iter_mut().find(|row| row.args == args) {
        Some(row) => row,
        None => {
            rows.push(CaseLine { args, distributions: Vec::new(), dtypes: Vec::new() });
            rows.last_mut().expect("it was just added")
        }
    };
    if !row.distributions.contains(&case.distribution) {
        row.distributions.push(case.distribution);
    }
    if !row.dtypes.contains(&case.dtype) {
        row.dtypes.push(case.dtype);
    }
}

impl CaseLine {
    fn line(&self, all: &[DType]) -> String {
        let mut line = self.args.clone();
        let unusual: Vec<_> = self
            .distributions
            .iter()
            .filter(|distribution| **distribution != InputDistribution::Normal)
            .map(|distribution| words(*distribution))
            .collect();
        if !unusual.is_empty() {
            line = format!("{line}: {}", unusual.join("; "));
        }
        if self.dtypes.len() < all.len() {
            line = format!("{line} ({} only)", names(&self.dtypes));
        }
        line
    }
}

/// Describes the values of a distribution.
const fn words(distribution: InputDistribution) -> &'static str {
    match distribution {
        InputDistribution::Normal => "normal values",
        InputDistribution::Exact => "integers that every order sums exactly (bit equality)",
        InputDistribution::Shifted => "values far from 0 with a small spread",
        InputDistribution::HeavyTail => "magnitudes over many powers of two",
        InputDistribution::Large => "large magnitudes",
        InputDistribution::Constant => "all elements equal",
        InputDistribution::Ties => "few distinct values",
        InputDistribution::SpecialRows => "rows of special values",
        InputDistribution::Uniform => "values in [0, 1)",
        InputDistribution::Zeros => "all elements 0",
        InputDistribution::Subnormal => "subnormal values",
        InputDistribution::Edges => {
            "values at which formulas change, indices of the first and the last place alone"
        }
        InputDistribution::Cancelling => "large products that nearly cancel",
        InputDistribution::Wide => "integers over the whole range of their type (i64: to 2^52)",
        InputDistribution::OneHot => "one 1 per row of the second factor",
        InputDistribution::Specials => "NaN, +Inf, -Inf and -0 among normal values",
    }
}

fn names(dtypes: &[DType]) -> String {
    let names: Vec<_> = dtypes.iter().map(|dtype| dtype.name()).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        Some(_) | None => names.concat(),
    }
}

/// Writes the arguments of a case in one line, the usual ones left out.
fn args(case: &Case, usual: &[String]) -> String {
    let args = case.args.iter().map(|arg| argument(case, arg));
    args.filter(|text| !usual.contains(text)).collect::<Vec<_>>().join(" ")
}

/// Writes one argument.
fn argument(case: &Case, arg: &Arg) -> String {
    let value = match &arg.value {
        ArgValue::Tensor(tensor) => typed_layout(case, &tensor.spec),
        ArgValue::Tensors(list) => {
            let one = |tensor: &Option<TensorArg>| {
                tensor.as_ref().map_or("None".to_owned(), |tensor| typed_layout(case, &tensor.spec))
            };
            format!("[{}]", list.iter().map(one).collect::<Vec<_>>().join(", "))
        }
        ArgValue::Floats(values) => tuple(values),
        ArgValue::DType(dtype) => format!("\"{dtype}\""),
        ArgValue::Int(value) => value.to_string(),
        ArgValue::Float(value) => format!("{value:?}"),
        ArgValue::Bool(true) => "True".to_owned(),
        ArgValue::Bool(false) => "False".to_owned(),
        ArgValue::Str(text) => format!("\"{text}\""),
        ArgValue::Ints(values) => tuple(values),
        ArgValue::None => "None".to_owned(),
    };
    format!("{}={value}", plan_name(&arg.name))
}

/// Writes a tensor; one of another dtype than the case's says so.
fn typed_layout(case: &Case, spec: &TensorSpec) -> String {
    let prefix = if spec.dtype == case.dtype { "" } else { spec.dtype.name() };
    format!("{prefix}{}", layout(spec))
}

fn layout(spec: &TensorSpec) -> String {
    let mut text = format!("[{}]", join(&spec.shape));
    if !spec.is_contiguous() {
        text = format!("{text} strides {}", tuple(&spec.stride));
    }
    if spec.offset != 0 {
        text = format!("{text} offset {}", spec.offset);
    }
    text
}

/// Writes a tuple as Python does.
fn tuple<T: ToString>(values: &[T]) -> String {
    if values.len() == 1 { format!("({},)", join(values)) } else { format!("({})", join(values)) }
}

fn join<T: ToString>(values: &[T]) -> String {
    values.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}
