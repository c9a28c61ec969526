//! The versions of a module beside its smallest one: which numbers change together.

use std::collections::BTreeSet;

use crate::{
    bind::Graph,
    symbols::Symbols,
    trace::{Init, Role, Trace},
};

/// The versions of a module, and its numbers in each.
pub(crate) struct Versions<'a> {
    trace: &'a Trace,
    symbols: &'a Symbols,
    /// The smallest version, where there is one.
    base: Option<usize>,
    /// Per version the numbers that differ from the smallest version's: the extents come first.
    differing: Vec<BTreeSet<usize>>,
}

impl<'a> Versions<'a> {
    pub(crate) fn new(trace: &'a Trace, graphs: &'a [Graph], symbols: &'a Symbols) -> Self {
        let roles = trace.variants.iter().map(|variant| variant.role);
        let base = roles.into_iter().position(|role| role == Role::Small);
        let mut versions = Self { trace, symbols, base, differing: Vec::new() };
        let Some(base) = base else { return versions };
        let rows = versions.rows(graphs);
        let of = |place: usize| {
            let differ = |(_, row): &(usize, &Vec<String>)| row[place] != row[base];
            rows.iter().enumerate().filter(differ).map(|(number, _)| number).collect()
        };
        versions.differing = (0..graphs.len()).map(of).collect();
        versions
    }

    /// Returns all that may change with a size, per version: extents, other symbols, formulas of values, and
    /// constants of the file that no extent gives.
    fn rows(&self, graphs: &[Graph]) -> Vec<Vec<String>> {
        let symbols = self.symbols.extents.iter().chain(&self.symbols.integers);
        let symbols = symbols.map(|of| of.values.iter().map(i64::to_string).collect());
        let floats = self.symbols.floats.iter();
        let floats = floats.map(|(_, values)| values.iter().map(|of| format!("{of:?}")).collect());
        let formula = |init: &Init| match init {
            // Distributions whose parameters the tensors carry themselves.
            Init::Uniform { .. }
            | Init::Normal { .. }
            | Init::Bernoulli { .. }
            | Init::Integers { .. } => String::new(),
            other => format!("{other:?}"),
        };
        let formulas = (0..graphs[0].tensors.len())
            .map(|at| graphs.iter().map(|graph| formula(&graph.tensors[at].init)).collect());
        let unknown = self.constant_names().into_iter().filter_map(|name| {
            let values = self.constant(&name)?;
            let is_known = self.symbols.by_extents(&values).is_some();
            (!is_known).then(|| values.iter().map(i64::to_string).collect())
        });
        symbols.chain(floats).chain(formulas).chain(unknown).collect()
    }

    fn constant_names(&self) -> Vec<String> {
        self.trace.variants[0].constants.keys().cloned().collect()
    }

    /// Returns the values of a constant of the file.
    fn constant(&self, name: &str) -> Option<Vec<i64>> {
        self.trace.variants.iter().map(|variant| variant.constants.get(name)?.as_i64()).collect()
    }

    fn places(&self, roles: &'a [Role]) -> impl Iterator<Item = usize> {
        let variants = self.trace.variants.iter().enumerate();
        variants.filter(|(_, variant)| roles.contains(&variant.role)).map(|(place, _)| place)
    }

    pub(super) fn name(&self, extent: usize) -> &str {
        &self.symbols.extents[extent].name
    }

    /// Returns the smallest and the largest value of an extent in small versions.
    pub(super) fn span(&self, extent: usize) -> (i64, i64) {
        self.ends(extent, |_| true)
    }

    /// Returns the same over versions that differ from the smallest in this extent alone.
    pub(super) fn span_alone(&self, extent: usize) -> (i64, i64) {
        self.ends(extent, |place| self.differing[place].iter().all(|&number| number == extent))
    }

    fn ends(&self, extent: usize, wanted: impl Fn(usize) -> bool) -> (i64, i64) {
        let places = self.places(&[Role::Small, Role::Drawn]).filter(|&place| wanted(place));
        let values = places.map(|place| self.symbols.extents[extent].values[place]);
        values
            .fold((i64::MAX, i64::MIN), |(first, last), value| (first.min(value), last.max(value)))
    }

    /// Returns the extents that nothing but expressions of them changes with.
    pub(super) fn free(&self) -> Vec<usize> {
        let versions: Vec<&BTreeSet<usize>> =
            self.places(&[Role::Drawn]).map(|place| &self.differing[place]).collect();
        let is_alone = |extent: &usize| versions.iter().any(|of| of.iter().eq([extent]));
        let free = (0..self.symbols.extents.len()).filter(is_alone).collect();
        untied(&versions, free).into_iter().collect()
    }

    /// Returns extents and scalars with their values in the smallest version; `None` where there is none.
    pub(super) fn at_base(&self) -> Option<Vec<(String, String)>> {
        let base = self.base?;
        let symbols = self.symbols.extents.iter().chain(&self.symbols.integers);
        let symbols = symbols.map(|of| (of.name.clone(), of.values[base].to_string()));
        let floats = self.symbols.floats.iter();
        let floats = floats.map(|(name, values)| (name.clone(), format!("{:?}", values[base])));
        Some(symbols.chain(floats).collect())
    }

    /// Returns the constants of the file in a drawn case: numbers, and texts with extents.
    pub(super) fn constants(&self) -> Vec<(String, String)> {
        let spelled = |name: String| {
            let values = self.constant(&name)?;
            let base = values[self.base?];
            let by_extents = || self.symbols.by_extents(&values).map(|text| format!("\"{text}\""));
            let is_fixed = values.iter().all(|value| *value == base);
            let value = if is_fixed { None } else { by_extents() };
            Some((name, value.unwrap_or_else(|| base.to_string())))
        };
        self.constant_names().into_iter().filter_map(spelled).collect()
    }
}

/// Leaves out of free extents those that something else changes with.
fn untied(versions: &[&BTreeSet<usize>], mut free: BTreeSet<usize>) -> BTreeSet<usize> {
    while let Some(tied) = tied(versions, &free) {
        free.retain(|extent| !tied.contains(extent));
    }
    free
}

/// Returns extents that change together with a number that does not change without them: those of the
/// version with the fewest.
fn tied(versions: &[&BTreeSet<usize>], free: &BTreeSet<usize>) -> Option<BTreeSet<usize>> {
    let is_explained =
        |number: &usize| versions.iter().any(|of| of.contains(number) && of.is_disjoint(free));
    let blamed = versions.iter().filter_map(|of| {
        let with: BTreeSet<usize> = of.intersection(free).copied().collect();
        let unexplained = of.difference(free).any(|number| !is_explained(number));
        (unexplained && !with.is_empty()).then_some(with)
    });
    blamed.min_by_key(BTreeSet::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(numbers: &[usize]) -> BTreeSet<usize> {
        numbers.iter().copied().collect()
    }

    fn freed(versions: &[&[usize]], free: &[usize]) -> BTreeSet<usize> {
        let versions: Vec<BTreeSet<usize>> = versions.iter().map(|of| set(of)).collect();
        let versions: Vec<&BTreeSet<usize>> = versions.iter().collect();
        untied(&versions, set(free))
    }

    #[test]
    fn what_changes_with_an_extent_ties_it() {
        assert_eq!(freed(&[&[0], &[1], &[0, 1]], &[0, 1]), set(&[0, 1]));
        // 2 follows from 1, though not in every version.
        assert_eq!(freed(&[&[0], &[1], &[1, 2], &[0, 1, 2]], &[0, 1]), set(&[0]));
        // 2 changes without 0.
        assert_eq!(freed(&[&[0], &[1, 2], &[0, 1, 2]], &[0]), set(&[0]));
        // 2 changes with 0 and 1 together alone.
        assert_eq!(freed(&[&[0], &[1], &[0, 1, 2]], &[0, 1]), set(&[]));
    }
}
