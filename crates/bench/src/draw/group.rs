//! Cases of one op and type, and slices through their grid.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Axis, case::Case};

/// Cases of one op and type, and of one call where the op has several.
pub(crate) struct Group<'a> {
    pub(crate) op: &'a str,
    pub(crate) dtype: &'a str,
    pub(crate) call: Option<&'a str>,
    pub(crate) cases: Vec<&'a Case<'a>>,
}

/// An axis that a slice does not run along.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fixed {
    /// Position of the axis.
    pub(crate) axis: usize,
    pub(crate) value: i64,
    /// Whether the group has no larger one.
    pub(crate) is_largest: bool,
}

/// Cases of a group that differ in some axes alone.
pub(crate) struct Slice<'a> {
    pub(crate) fixed: Vec<Fixed>,
    /// Whether it is shown first: all other axes at their largest value.
    pub(crate) is_default: bool,
    pub(crate) cases: Vec<&'a Case<'a>>,
}

/// Returns the groups in the order of their first case.
pub(crate) fn groups<'a>(cases: &'a [Case<'a>]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut places: BTreeMap<(&str, &str, Option<&str>), usize> = BTreeMap::new();
    for case in cases {
        let Case { op, dtype, call, .. } = *case;
        let at = *places.entry((op, dtype, call)).or_insert_with(|| {
            groups.push(Group { op, dtype, call, cases: Vec::new() });
            groups.len() - 1
        });
        groups[at].cases.push(case);
    }
    groups
}

impl<'a> Group<'a> {
    /// Positions of the axes along which its cases have more than one value.
    pub(crate) fn long_axes(&self, axes: &[Axis]) -> Vec<usize> {
        let is_long = |at: &usize| {
            let value = |case: &&Case<'_>| case.axes.get(&axes[*at].name).copied();
            1 < self.cases.iter().filter_map(value).collect::<BTreeSet<i64>>().len()
        };
        (0..axes.len()).filter(is_long).collect()
    }

    /// Slices along some axes, one per combination of the values of the others.
    pub(crate) fn slices(&self, axes: &[Axis], along: &[usize]) -> Vec<Slice<'a>> {
        let value = |case: &Case<'_>, at: usize| case.axes.get(&axes[at].name).copied();
        let largest: Vec<Option<i64>> = (0..axes.len())
            .map(|at| self.cases.iter().filter_map(|case| value(case, at)).max())
            .collect();
        let mut found: BTreeMap<Vec<Fixed>, Vec<&'a Case<'a>>> = BTreeMap::new();
        for case in &self.cases {
            if along.iter().any(|at| value(case, *at).is_none()) {
                continue;
            }
            let others = (0..axes.len()).filter(|at| !along.contains(at));
            let fixed = others.filter_map(|axis| {
                let value = value(case, axis)?;
                Some(Fixed { axis, value, is_largest: largest[axis] == Some(value) })
            });
            found.entry(fixed.collect()).or_default().push(case);
        }
        let slice = |(fixed, cases): (Vec<Fixed>, _)| {
            let is_default = fixed.iter().all(|one| one.is_largest);
            Slice { fixed, is_default, cases }
        };
        let mut slices: Vec<Slice<'a>> = found.into_iter().map(slice).collect();
        // A grid with gaps may lack the largest of all.
        if !slices.iter().any(|slice| slice.is_default)
            && let Some(last) = slices.last_mut()
        {
            last.is_default = true;
        }
        slices
    }
}
