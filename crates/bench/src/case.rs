//! Cells side by side: one case with all its implementations.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
};

use crate::{Axis, Bench, Cell, CellTiming};

/// One case of one type.
pub(crate) struct Case<'a> {
    pub(crate) op: &'a str,
    pub(crate) dtype: &'a str,
    pub(crate) name: &'a str,
    pub(crate) args: &'a str,
    pub(crate) axes: &'a BTreeMap<String, i64>,
    /// Its call by the names of the axes, where its op has cases of others; places are those of a call.
    pub(crate) call: Option<&'a str>,
    /// One per implementation, in order; `None` where it is not finished.
    pub(crate) cells: Vec<Option<&'a Cell>>,
}

impl<'a> Case<'a> {
    /// Implementations that have a time, by position.
    pub(crate) fn timed(&self) -> impl Iterator<Item = (usize, &'a CellTiming)> {
        let timing =
            |(at, cell): (usize, &Option<&'a Cell>)| Some((at, (*cell)?.timing.as_deref()?));
        self.cells.iter().enumerate().filter_map(timing)
    }

    /// Its place in the grid: `b = 16, s = 256`; its name where it has none, or another may have it too.
    pub(crate) fn place(&self, axes: &[Axis]) -> String {
        let value =
            |axis: &Axis| self.axes.get(&axis.name).map(|value| format!("{} = {value}", axis.name));
        let place: Vec<String> = axes.iter().filter_map(value).collect();
        if place.is_empty() || self.call.is_some() {
            self.name.to_owned()
        } else {
            place.join(", ")
        }
    }
}

impl fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.op, self.args)
    }
}

/// Returns the cases of a benchmark, in order.
pub(crate) fn cases(bench: &Bench) -> Vec<Case<'_>> {
    let position = |name: &str| bench.implementations.iter().position(|one| one == name);
    let mut cases: Vec<Case<'_>> = Vec::new();
    let mut places: HashMap<(&str, &str, &str), usize> = HashMap::new();
    for cell in &bench.cells {
        let Some(at) = position(&cell.implementation) else { continue };
        let key = (&*cell.op, &*cell.dtype, &*cell.case);
        let case = *places.entry(key).or_insert_with(|| {
            cases.push(Case {
                op: &cell.op,
                dtype: &cell.dtype,
                name: &cell.case,
                args: &cell.args,
                axes: &cell.axes,
                call: cell.call.as_deref(),
                cells: vec![None; bench.implementations.len()],
            });
            cases.len() - 1
        });
        cases[case].cells[at] = Some(cell);
    }
    forget_only_calls(&mut cases);
    cases
}

/// Forgets the call of an op of which all cases have the same.
fn forget_only_calls(cases: &mut [Case<'_>]) {
    let mut calls: HashMap<&str, HashSet<Option<&str>>> = HashMap::new();
    for case in &*cases {
        calls.entry(case.op).or_default().insert(case.call);
    }
    for case in cases {
        case.call = case.call.filter(|_| calls.get(case.op).is_some_and(|calls| 1 < calls.len()));
    }
}
