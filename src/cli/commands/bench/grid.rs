//! The cases of a bench: points of a grid, or those of a suite.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use kgen_bench::Axis;
use kgen_ops::{
    op::{self, OpDef},
    suite::{CaseError, Place, PointCases},
};
use kgen_record::{Case, CaseClass, DType, InputDistribution};
use kgen_settings::Settings;

use super::{GridArgs, plan::PlannedCase, values};
use crate::cli::{CommandError, Context, selection};

/// Axes that every grid has, with the value of one that is not named.
const DEFAULT_AXES: [(&str, i64); 3] = [("b", 16), ("s", 1024), ("d", 1024)];

/// An op with its cases.
pub(super) struct GridOp {
    pub(super) op: Arc<OpDef>,
    cases: Cases,
}

enum Cases {
    /// One per point and type.
    Points { cases: Box<PointCases>, axes: Vec<Axis>, dtypes: Vec<DType> },
    /// Those of a suite, and the axes of its grids.
    Fixed { cases: Vec<PlannedCase>, axes: Vec<Axis> },
}

/// Reads the ops and their cases.
pub(super) fn read(
    context: &Context,
    settings: &Settings,
    args: &GridArgs,
) -> Result<(Vec<Axis>, Vec<GridOp>), CommandError> {
    if args.suite.suite.is_some() || args.suite.op_file.is_some() {
        return of_suite(context, settings, args);
    }
    let names = args.ops.clone().filter(|names| !names.is_empty()).ok_or_else(|| {
        CommandError::usage("a bench needs --ops or --suite")
            .hint("kgen bench --ops layer_norm,gelu --batch 16,32 --dim 768,4096")
    })?;
    if args.args.is_some() && names.len() > 1 {
        return Err(CommandError::usage("--args are those of one op, and --ops has several"));
    }
    let (axes, named) = axes(args)?;
    let mut ops: Vec<GridOp> = Vec::new();
    for name in &names {
        let op = chosen(name, args.backward)?;
        if ops.iter().any(|known| known.op.name == op.name) {
            return Err(CommandError::usage(format!("--ops has {} twice", op.name)));
        }
        ops.push(on_grid(&op, args, &axes, &settings.suite.dtypes)?);
    }
    let used = |axis: &str| ops.iter().any(|op| op.axes().iter().any(|of| of.name == axis));
    if let Some(unused) = named.iter().find(|name| !used(name)) {
        return Err(CommandError::usage(format!("no op of the grid has an axis `{unused}`"))
            .hint("--args gives the arguments, with axes as extents: 'self = \"[b, h]\"'"));
    }
    let axes = axes.into_iter().filter(|axis| used(&axis.name)).collect();
    Ok((axes, ops))
}

/// Reads all axes; returns the names of those that were given too.
fn axes(args: &GridArgs) -> Result<(Vec<Axis>, Vec<String>), CommandError> {
    let mut given: Vec<Axis> = Vec::new();
    let shorts =
        [("b", "--batch", &args.batch), ("s", "--seq", &args.seq), ("d", "--dim", &args.dim)];
    let shorts = shorts.into_iter().filter_map(|(name, flag, text)| {
        text.as_ref().map(|text| (flag.to_owned(), name.to_owned(), text.clone()))
    });
    let mut texts: Vec<(String, String, String)> = shorts.collect();
    for axis in &args.axis {
        let (name, text) = axis.split_once('=').ok_or_else(|| {
            CommandError::usage(format!("--axis `{axis}` is not NAME=VALUES, for example h=8,16"))
        })?;
        texts.push(("--axis".to_owned(), name.trim().to_owned(), text.to_owned()));
    }
    for (flag, name, text) in texts {
        let plain = |c: char| c.is_ascii_alphanumeric();
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(plain) {
            return Err(CommandError::usage(format!("{flag}: `{name}` is no name of an axis"))
                .hint("letters and digits, beginning with a letter"));
        }
        if kgen_bench::is_column(&name) {
            return Err(CommandError::usage(format!(
                "{flag}: `{name}` is another column of the results"
            )));
        }
        if given.iter().any(|axis| axis.name == name) {
            return Err(CommandError::usage(format!("{flag}: the axis `{name}` is given twice")));
        }
        let values = values::parse(&text)
            .map_err(|reason| CommandError::usage(format!("{flag} {name}={text}: {reason}")))?;
        given.push(Axis { name, values });
    }
    let named = given.iter().map(|axis| axis.name.clone()).collect();
    let is_given = |name: &str| given.iter().any(|axis| axis.name == name);
    let others = DEFAULT_AXES.into_iter().filter(|(name, _)| !is_given(name));
    let others = others.map(|(name, value)| Axis { name: name.to_owned(), values: vec![value] });
    Ok((in_order(others.chain(given.iter().cloned()).collect()), named))
}

/// Puts the axes that every grid has first; the others stay in their order.
fn in_order(mut axes: Vec<Axis>) -> Vec<Axis> {
    let place = |axis: &Axis| DEFAULT_AXES.iter().position(|(name, _)| *name == axis.name);
    axes.sort_by_key(|axis| place(axis).unwrap_or(DEFAULT_AXES.len()));
    axes
}

/// Returns the axes along which cases have places.
fn axes_of<'a>(cases: impl Iterator<Item = &'a PlannedCase>) -> Vec<Axis> {
    let mut values: BTreeMap<&str, BTreeSet<i64>> = BTreeMap::new();
    for (name, value) in cases.flat_map(|planned| &planned.axes) {
        values.entry(name).or_default().insert(*value);
    }
    let axis = |(name, values): (&str, BTreeSet<i64>)| Axis {
        name: name.to_owned(),
        values: values.into_iter().collect(),
    };
    in_order(values.into_iter().map(axis).collect())
}

/// Finds an op, or its gradient.
fn chosen(name: &str, backward: bool) -> Result<Arc<OpDef>, CommandError> {
    let forward = selection::op_of_catalogue(name)?;
    if !backward {
        return Ok(Arc::clone(forward));
    }
    let names = [
        format!("{}_backward", forward.name),
        format!("{}_backward_data", forward.name),
        format!("_{}_backward_data", forward.name),
        format!("native_{}_backward", forward.name),
    ];
    let found = names.iter().find_map(|name| op::find(name).ok());
    found.cloned().ok_or_else(|| {
        CommandError::usage(format!("the catalogue has no gradient of {}", forward.name))
            .hint("`kgen list ops` shows all ops; without --backward each is timed forward")
    })
}

/// Places an op on the grid.
fn on_grid(
    op: &Arc<OpDef>,
    args: &GridArgs,
    axes: &[Axis],
    dtypes: &[DType],
) -> Result<GridOp, CommandError> {
    let arguments =
        args.args.clone().or_else(|| PointCases::default_args(op)).ok_or_else(|| {
            let message =
                format!("{} needs --args: its arguments are not those of a known kind", op.name);
            CommandError::usage(message).hint(format!(
                "its schema is {}; --args 'self = \"[b, s, d]\", dim = -1' gives extents by axes",
                op.signature.clone()
            ))
        })?;
    let names: Vec<String> = axes.iter().map(|axis| axis.name.clone()).collect();
    let wrong = |error: CaseError| {
        let is_axis =
            matches!(&error, CaseError::Key { key, .. } if ["axes", "grid"].contains(&&**key));
        let advice = "--axis NAME=VALUES gives an axis its values, for example --axis h=1..4";
        CommandError::usage(format!("{}: {error}", op.name))
            .hint(op.signature.clone())
            .maybe_hint(is_axis.then(|| advice.to_owned()))
    };
    let cases = PointCases::parse(op, &arguments, &names).map_err(wrong)?;
    let axes: Vec<Axis> =
        axes.iter().filter(|axis| cases.axes().contains(&axis.name)).cloned().collect();
    let dtypes = match dtypes {
        [] => vec![
            op.dtypes.iter().copied().find(|dtype| *dtype == DType::F32).unwrap_or(op.dtypes[0]),
        ],
        given => given.to_vec(),
    };
    let smallest = axes.iter().map(|axis| (axis.name.clone(), axis.values[0])).collect();
    for dtype in &dtypes {
        // The smallest case shows whether the op takes such arguments and this type.
        cases.case(&smallest, *dtype, CaseClass::Edge).map_err(wrong)?;
    }
    Ok(GridOp { op: Arc::clone(op), cases: Cases::Points { cases: Box::new(cases), axes, dtypes } })
}

fn of_suite(
    context: &Context,
    settings: &Settings,
    args: &GridArgs,
) -> Result<(Vec<Axis>, Vec<GridOp>), CommandError> {
    let grid = [
        (args.batch.is_some(), "--batch"),
        (args.seq.is_some(), "--seq"),
        (args.dim.is_some(), "--dim"),
        (!args.axis.is_empty(), "--axis"),
        (args.args.is_some(), "--args"),
        (args.backward, "--backward"),
    ];
    if let Some((_, flag)) = grid.into_iter().find(|(is_given, _)| *is_given) {
        return Err(CommandError::usage(format!(
            "{flag} is of a grid, and --suite has its own cases"
        )));
    }
    let selection = selection::select(&context.ui, &settings.suite)?;
    let mut ops = Vec::new();
    for op in &selection.ops {
        let all = selection.suite.placed_cases(&op.name, selection.dtypes())?.into_iter();
        let timed = all.filter(|(case, _)| case.class.is_large());
        let cases: Vec<PlannedCase> = timed.map(PlannedCase::from).collect();
        if !cases.is_empty() {
            let axes = axes_of(cases.iter());
            ops.push(GridOp { op: Arc::clone(op), cases: Cases::Fixed { cases, axes } });
        }
    }
    if ops.is_empty() {
        let suite = &selection.suite.name;
        let message = format!("the suite {suite} has no timed case of these ops and types");
        return Err(CommandError::usage(message)
            .hint("a suite's timed cases are those of class `realistic`"));
    }
    let cases = ops.iter().filter_map(|op| match &op.cases {
        Cases::Fixed { cases, .. } => Some(cases),
        Cases::Points { .. } => None,
    });
    let axes = axes_of(cases.flatten());
    if let Some(axis) = axes.iter().find(|axis| kgen_bench::is_column(&axis.name)) {
        let (suite, name) = (&selection.suite.name, &axis.name);
        return Err(CommandError::usage(format!(
            "the grid of suite {suite} has an axis `{name}`, which is another column of the results"
        )));
    }
    Ok((axes, ops))
}

impl From<(Case, Option<Place>)> for PlannedCase {
    fn from((case, place): (Case, Option<Place>)) -> Self {
        let Some(Place { call, at }) = place else {
            return Self { case, axes: BTreeMap::new(), call: None };
        };
        let call = match case.distribution {
            InputDistribution::Normal => call,
            other => format!("{call}, {} values", other.name()),
        };
        Self { case, axes: at, call: Some(call) }
    }
}

impl GridOp {
    /// Returns the axes of its cases.
    pub(super) fn axes(&self) -> &[Axis] {
        match &self.cases {
            Cases::Points { axes, .. } | Cases::Fixed { axes, .. } => axes,
        }
    }

    /// Returns the number of its cases.
    pub(super) fn n_cases(&self) -> u64 {
        match &self.cases {
            Cases::Points { axes, dtypes, .. } => {
                let lengths = axes.iter().map(|axis| axis.values.len() as u64);
                lengths.fold(dtypes.len() as u64, u64::saturating_mul)
            }
            Cases::Fixed { cases, .. } => cases.len() as u64,
        }
    }

    /// Builds its largest case.
    pub(super) fn largest(&self) -> Result<Case, CommandError> {
        match &self.cases {
            Cases::Points { cases, axes, dtypes } => {
                let last = |axis: &Axis| (axis.name.clone(), *axis.values.last().unwrap_or(&1));
                let point = axes.iter().map(last).collect();
                let widest = dtypes.iter().copied().max_by_key(|dtype| dtype.size());
                let dtype = widest.unwrap_or(DType::F32);
                cases.case(&point, dtype, CaseClass::Realistic).map_err(|e| self.wrong(&e))
            }
            Cases::Fixed { cases, .. } => {
                let size = |case: &&Case| -> usize {
                    case.tensors().map(|(_, tensor)| tensor.spec.storage_bytes()).sum()
                };
                let largest = cases.iter().map(|planned| &planned.case).max_by_key(size);
                Ok(largest.expect("an op without a case is left out").clone())
            }
        }
    }

    /// Builds all cases, by type, the last axis fastest.
    pub(super) fn cases(&self) -> Result<Vec<PlannedCase>, CommandError> {
        let (cases, axes, dtypes) = match &self.cases {
            Cases::Fixed { cases, .. } => return Ok(cases.clone()),
            Cases::Points { cases, axes, dtypes } => (cases, axes, dtypes),
        };
        let mut placed = Vec::new();
        for dtype in dtypes {
            for point in points(axes) {
                let case = cases.case(&point, *dtype, CaseClass::Realistic);
                let case = case.map_err(|error| self.wrong(&error))?;
                placed.push(PlannedCase { case, axes: point, call: None });
            }
        }
        number_alike(&mut placed);
        Ok(placed)
    }

    fn wrong(&self, error: &CaseError) -> CommandError {
        CommandError::usage(format!("{}: {error}", self.op.name))
    }
}

/// Returns all combinations of the axes' values, the last axis fastest.
fn points(axes: &[Axis]) -> Vec<BTreeMap<String, i64>> {
    axes.iter().fold(vec![BTreeMap::new()], |points, axis| {
        let with = |point: &BTreeMap<String, i64>, value: i64| {
            let mut longer = point.clone();
            longer.insert(axis.name.clone(), value);
            longer
        };
        let longer = |point| axis.values.iter().map(move |value| with(&point, *value)).collect();
        points.into_iter().flat_map::<Vec<_>, _>(longer).collect()
    })
}

/// Numbers cases whose names are equal: names are made of shapes alone.
fn number_alike(placed: &mut [PlannedCase]) {
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    for PlannedCase { case, .. } in placed {
        let count = taken.entry(case.id.clone()).or_default();
        *count += 1;
        if *count > 1 {
            case.id = format!("{}#{count}", case.id);
        }
    }
}
