//! Several suites as one.

use std::collections::HashMap;

use super::{Entry, Suite, filter::Limits, memo::Memo, template::Template};
use crate::record::{Case, DType};

/// Joins suites: the ops of the first are listed, and every op has its cases of all suites, each
/// case once.
///
/// An op that the first suite lacks can be named all the same.
pub(super) fn join(name: &str, description: &str, parts: Vec<Suite>) -> Suite {
    let ops = parts.first().map(|suite| suite.ops.clone()).unwrap_or_default();
    let entries = parts.into_iter().flat_map(|suite| suite.entries);
    let entries = by_op(entries, Entry::join);
    Suite {
        name: name.to_owned(),
        description: description.to_owned(),
        origin: name.to_owned(),
        ops,
        entries,
        limits: Limits::default(),
    }
}

/// Merges the entries of the same op, in the order of the first of each.
pub(super) fn by_op(
    entries: impl IntoIterator<Item = Entry>,
    merge: impl Fn(&mut Entry, Entry),
) -> Vec<Entry> {
    let mut merged: Vec<Entry> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for entry in entries {
        if let Some(&place) = places.get(&entry.op.name) {
            merge(&mut merged[place], entry);
        } else {
            places.insert(entry.op.name.clone(), merged.len());
            merged.push(entry);
        }
    }
    merged
}

impl Entry {
    /// Adds the cases of another entry of the op: each case once, and in the types of its own entry.
    pub(super) fn join(&mut self, other: Self) {
        let mut others = other.templates;
        if self.dtypes != other.dtypes {
            self.templates.iter_mut().for_each(|template| keep_to(template, &self.dtypes));
            others.iter_mut().for_each(|template| keep_to(template, &other.dtypes));
        }
        self.templates.extend(others);
        self.fixed.extend(other.fixed);
        let new = other.dtypes.iter().filter(|dtype| !self.dtypes.contains(dtype));
        let new: Vec<DType> = new.copied().collect();
        self.dtypes.extend(new);
        self.joined = true;
    }
}

/// Keeps a template to the element types of the suite that it comes from.
fn keep_to(template: &mut Template, dtypes: &[DType]) {
    template.dtypes = Some(match &template.dtypes {
        Some(own) => dtypes.iter().filter(|dtype| own.contains(dtype)).copied().collect(),
        None => dtypes.to_vec(),
    });
    template.memo = Memo::default();
}

/// Returns whether two cases judge the same: the same call on inputs of the same distribution.
pub(super) fn alike(a: &Case, b: &Case) -> bool {
    let of = |case: &Case| (case.dtype, case.distribution, case.names_ignored);
    of(a) == of(b) && a.args == b.args
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::alike;
    use crate::suite::{
        DEFAULT, Filter, Suite, load,
        tests::{opinfo, smoke},
    };

    static BOTH: LazyLock<Suite> = LazyLock::new(|| load(DEFAULT).unwrap());

    #[test]
    fn the_default_suite_has_every_case_of_its_parts_once() {
        let (both, smoke, opinfo) = (&*BOTH, smoke(), opinfo());
        assert_eq!(both.ops(), smoke.ops());
        for op in smoke.ops() {
            let cases = both.public_cases(op).unwrap();
            let parts = [smoke.public_cases(op).unwrap(), opinfo.public_cases(op).unwrap()];
            for case in parts.iter().flatten() {
                let same = cases.iter().filter(|known| alike(known, case)).count();
                assert_eq!(same, 1, "{op}: {}", case.id);
            }
            for case in &cases {
                assert!(parts.iter().flatten().any(|part| alike(part, case)), "{op}: {}", case.id);
                assert_eq!(cases.iter().filter(|known| known.id == case.id).count(), 1);
            }
            assert!(parts.iter().all(|part| part.len() < cases.len()), "{op}");
        }
    }

    #[test]
    fn an_op_that_is_not_listed_can_be_named() {
        let both = &*BOTH;
        let abs = opinfo().public_cases("abs").unwrap();
        assert_eq!(both.public_cases("abs").unwrap().len(), abs.len());
        let part = both.filter(&Filter { topn: Some(1), ..Filter::default() }).unwrap();
        assert_eq!(part.ops(), both.ops());
        let ops = Some(vec!["abs".to_owned()]);
        let part = both.filter(&Filter { ops, ..Filter::default() }).unwrap();
        assert_eq!(part.ops(), ["abs"]);
    }
}
