//! Extents that are drawn anew for every evaluation, each from a range that was tried.
//!
//! The tracer varies each size alone and then all at once. An extent may be drawn where nothing changed with
//! it but the expressions of it; its range is the one that the versions span, and narrower where a draw makes
//! no call, or one that the emulator has no time for.

mod versions;

use std::fmt::Write as _;

use kgen_ops::{
    op,
    record::Case,
    suite::{self, Suite},
};

pub(crate) use versions::Versions;

/// Draws that a range is tried with, alone and with the others.
const DRAWS: (u64, u64) = (8, 64);

/// Most extents whose smallest and largest values are tried in every combination.
const MOST_CORNERS: usize = 6;

/// Most elements of the inputs of a drawn case, and most floating-point operations: as of other small cases.
const MOST_ELEMENTS: usize = 400_000;
const MOST_FLOPS: f64 = 1e7;

/// Values of an extent, both ends included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) name: String,
    pub(crate) first: i64,
    pub(crate) last: i64,
}

/// The extents that are drawn, and the case that draws them.
#[derive(Debug, Default)]
pub(crate) struct Drawn {
    pub(crate) ranges: Vec<Range>,
    /// The other extents and the scalars with their values, as lines of a case.
    fixed: Vec<(String, String)>,
    /// The module-level constants of the file, by extents.
    constants: Vec<(String, String)>,
}

/// Why ranges are refused.
enum Refusal {
    /// A draw makes no call.
    NoCall,
    /// A draw costs too much.
    Cost,
}

/// Finds the extents that may be drawn; `head` is the definition without cases.
pub(crate) fn find(head: &str, versions: &Versions<'_>) -> Drawn {
    let Some(fixed) = versions.at_base() else { return Drawn::default() };
    let mut drawn = Drawn { ranges: Vec::new(), fixed, constants: Vec::new() };
    let free = versions.free();
    for &extent in &free {
        let spans = [versions.span(extent), versions.span_alone(extent)];
        let ranges = spans.into_iter().map(|(first, last)| Range {
            name: versions.name(extent).to_owned(),
            first: first.max(1),
            last,
        });
        let holds = |range: &Range| {
            let alone = std::slice::from_ref(range);
            range.first < range.last
                && !matches!(drawn.tried(head, alone, DRAWS.0), Err(Refusal::NoCall))
        };
        let found = ranges.into_iter().find(holds);
        drawn.ranges.extend(found);
    }
    drawn.narrow(head);
    drawn.constants = versions.constants();
    drawn
}

impl Drawn {
    /// Narrows the ranges, or leaves some out, until all draws of them together hold.
    fn narrow(&mut self, head: &str) {
        while !self.ranges.is_empty() {
            match self.tried(head, &self.ranges, DRAWS.1) {
                Ok(()) => return,
                Err(Refusal::Cost) => {
                    for range in &mut self.ranges {
                        range.last -= (range.last - range.first + 3) / 4;
                    }
                    self.ranges.retain(|range| range.first < range.last);
                }
                Err(Refusal::NoCall) => {
                    let without = |at: usize| {
                        let mut ranges = self.ranges.clone();
                        ranges.remove(at);
                        ranges
                    };
                    let holds = |ranges: &Vec<Range>| {
                        !matches!(self.tried(head, ranges, DRAWS.0), Err(Refusal::NoCall))
                    };
                    let n = self.ranges.len();
                    let found = (0..n).rev().map(without).find(holds);
                    self.ranges = found.unwrap_or_else(|| without(n - 1));
                }
            }
        }
    }

    /// Tries the ends of ranges, and draws.
    fn tried(&self, head: &str, ranges: &[Range], draws: u64) -> Result<(), Refusal> {
        let corners = corners(ranges).into_iter().map(|values| -> String {
            let spelled = values.into_iter().map(|value| value.to_string());
            self.case_of(ranges, spelled.collect())
        });
        let case = self.case_of(ranges, ranges.iter().map(Range::spelled).collect());
        for (cases, n_seeds) in [(corners.collect(), 1), (case, draws)] {
            let (suite, op) = suite_of(&format!("{head}{cases}")).ok_or(Refusal::NoCall)?;
            let affordable = |case: &Case| {
                let elements: usize = case.tensors().map(|(_, tensor)| tensor.spec.numel()).sum();
                elements <= MOST_ELEMENTS && op.work(case).flops <= MOST_FLOPS
            };
            for seed in 0..n_seeds {
                let cases = suite.cases(&op.name, None, seed).map_err(|_| Refusal::NoCall)?;
                if !cases.iter().all(affordable) {
                    return Err(Refusal::Cost);
                }
            }
        }
        Ok(())
    }

    /// Returns the case that is drawn.
    pub(crate) fn case(&self) -> String {
        self.case_of(&self.ranges, self.ranges.iter().map(Range::spelled).collect())
    }

    fn case_of(&self, ranges: &[Range], values: Vec<String>) -> String {
        let mut text = "\n[[cases]]\n".to_owned();
        for (name, value) in &self.fixed {
            let of_range = ranges.iter().position(|range| range.name == *name);
            let value = of_range.map_or(value, |at| &values[at]);
            writeln!(text, "{name} = {value}").expect("a string grows");
        }
        text
    }

    /// Returns the line of the definition that gives the module-level constants of a drawn case.
    pub(crate) fn constants(&self) -> String {
        let named = self.constants.iter();
        let named = named.map(|(name, value)| format!("{} = {value}", super::write::quoted(name)));
        format!("drawn = {{ {} }}\n", named.collect::<Vec<_>>().join(", "))
    }
}

impl Range {
    fn spelled(&self) -> String {
        format!("\"{}..{}\"", self.first, self.last)
    }
}

/// Returns the suite of a definition in which every case is a call.
fn suite_of(text: &str) -> Option<(Suite, std::sync::Arc<op::OpDef>)> {
    let op = op::custom(text).ok()?;
    let suite = suite::of_op(op.clone(), &op.name).ok()?.strict().ok()?;
    Some((suite, op))
}

/// Returns combinations of the ends of ranges: all of few, else those that differ in one place.
fn corners(ranges: &[Range]) -> Vec<Vec<i64>> {
    let n = ranges.len();
    let ends = |is_last: &dyn Fn(usize) -> bool| -> Vec<i64> {
        let end = |(at, range): (usize, &Range)| if is_last(at) { range.last } else { range.first };
        ranges.iter().enumerate().map(end).collect()
    };
    if n <= MOST_CORNERS {
        return (0..1usize << n).map(|bits| ends(&|at| bits >> at & 1 == 1)).collect();
    }
    let but_one = (0..n).flat_map(|one| [ends(&|at| at == one), ends(&|at| at != one)]);
    but_one.chain([ends(&|_| true), ends(&|_| false)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Narrows ranges of extents of a product of `x` and `y`; those that have none are 4.
    fn narrowed(ranges: &[(&str, i64, i64)]) -> Vec<(String, i64, i64)> {
        let head = "format = 1\nname = \"net\"\nsemantics = \"x\"\ndtypes = [\"f32\"]\n[tensors]\n\
            x = \"[a, b]\"\ny = \"[c, d]\"\n[reference]\ngraph = \"out = mm(x, y)\"\n";
        let range =
            |&(name, first, last): &(&str, i64, i64)| Range { name: name.to_owned(), first, last };
        let fixed = ["a", "b", "c", "d"].map(|name| (name.to_owned(), "4".to_owned()));
        let ranges = ranges.iter().map(range).collect();
        let mut drawn = Drawn { ranges, fixed: fixed.to_vec(), constants: Vec::new() };
        drawn.narrow(head);
        drawn.ranges.into_iter().map(|range| (range.name, range.first, range.last)).collect()
    }

    #[test]
    fn an_extent_that_others_must_equal_stays() {
        let kept = narrowed(&[("a", 1, 9), ("b", 3, 9), ("d", 2, 9)]);
        assert_eq!(kept, [("a".to_owned(), 1, 9), ("d".to_owned(), 2, 9)]);
        assert!(narrowed(&[("b", 3, 4)]).is_empty());
    }

    #[test]
    fn a_range_ends_where_the_emulator_has_no_time() {
        let kept = narrowed(&[("a", 1, 40_000), ("d", 1, 40_000)]);
        let [(_, 1, a), (_, 1, d)] = kept[..] else { panic!("{kept:?}") };
        assert!(a == d && (400..1200).contains(&a), "{kept:?}");
    }

    #[test]
    fn every_combination_of_ends_is_tried() {
        let range = |name: &str| Range { name: name.to_owned(), first: 1, last: 5 };
        let two = corners(&[range("a"), range("b")]);
        assert_eq!(two, [[1, 1], [5, 1], [1, 5], [5, 5]]);
        let many: Vec<Range> = (0..9).map(|at| range(&format!("a{at}"))).collect();
        assert!(corners(&many).contains(&vec![5; 9]) && corners(&many).len() == 20);
    }
}
