//! Parts of a suite.

use std::cmp::Reverse;

use crate::{
    op::OpDef,
    record::{Case, CaseClass, DType, TensorSpec},
};

use super::{Error, Suite};

/// Which part of a suite is wanted; everything by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only these ops, by any of their names.
    pub ops: Option<Vec<String>>,
    /// Only cases of these types.
    pub dtypes: Option<Vec<DType>>,
    /// Only so many timed cases ([`CaseClass::Realistic`]) of each op: the largest ones.
    pub topn: Option<usize>,
    /// Only cases whose inputs and outputs together have at most so many bytes.
    pub max_bytes: Option<u64>,
}

/// The cases of each op that remain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Limits {
    topn: Option<usize>,
    max_bytes: Option<u64>,
}

impl Suite {
    /// Returns the part of the suite that a filter leaves: ops in the suite's order, without those
    /// that have no dtype left.
    ///
    /// A second filter narrows the first one.
    ///
    /// # Errors
    ///
    /// [`Error::NotInSuite`] when the filter names an op that the suite does not have.
    pub fn filter(&self, filter: &Filter) -> Result<Self, Error> {
        let mut suite = self.clone();
        if let Some(ops) = &filter.ops {
            let mut wanted = Vec::with_capacity(ops.len());
            for op in ops {
                wanted.push(self.entry(op)?.op.name.clone());
            }
            suite.entries.retain(|entry| wanted.contains(&entry.op.name));
        }
        if let Some(dtypes) = &filter.dtypes {
            for entry in &mut suite.entries {
                entry.dtypes.retain(|dtype| dtypes.contains(dtype));
                entry.fixed.retain(|case| dtypes.contains(&case.dtype));
            }
            suite.entries.retain(|entry| !entry.dtypes.is_empty());
        }
        let has = |name: &String| suite.entries.iter().any(|entry| entry.op.name == *name);
        suite.ops = match &filter.ops {
            Some(_) => suite.entries.iter().map(|entry| entry.op.name.clone()).collect(),
            None => suite.ops.iter().filter(|name| has(name)).cloned().collect(),
        };
        suite.limits = self.limits.narrowed(filter);
        Ok(suite)
    }
}

impl Limits {
    fn narrowed(self, filter: &Filter) -> Self {
        let least = |old: Option<u64>, new: Option<u64>| old.into_iter().chain(new).min();
        let topn = self.topn.into_iter().chain(filter.topn).min();
        Self { topn, max_bytes: least(self.max_bytes, filter.max_bytes) }
    }

    /// Removes cases beyond the limits; the order of the rest stays.
    pub(super) fn apply(self, op: &OpDef, cases: &mut Vec<Case>) {
        if let Some(most) = self.max_bytes {
            cases.retain(|case| bytes(op, case) <= most);
        }
        let Some(topn) = self.topn else { return };
        let timed = cases.iter().filter(|case| case.class == CaseClass::Realistic);
        let mut sizes: Vec<(u64, String)> =
            timed.map(|case| (bytes(op, case), case.id.clone())).collect();
        sizes.sort_by_key(|(bytes, _)| Reverse(*bytes));
        sizes.truncate(topn);
        cases.retain(|case| {
            case.class != CaseClass::Realistic || sizes.iter().any(|(_, id)| *id == case.id)
        });
    }
}

/// Returns the bytes of a case's inputs and outputs, gaps of strides included.
fn bytes(op: &OpDef, case: &Case) -> u64 {
    let outputs = op.infer(case).unwrap_or_default();
    let inputs = case.tensors().map(|(_, tensor)| tensor.spec.storage_bytes());
    let all = inputs.chain(outputs.iter().map(TensorSpec::storage_bytes));
    all.fold(0, |sum, bytes| sum.saturating_add(bytes as u64))
}
