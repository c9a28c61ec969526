//! Patterns of wrong elements: the sentence that points a model to the cause.
//!
//! [`place`] says where they lie, [`value`] how they relate to the expected ones, [`elsewhere`]
//! whether the right values stand in other places or come from an input, and [`rounding`] whether
//! the errors look like those of a lower precision. Nothing here decides anything: the rule has
//! spoken before.

mod elsewhere;
mod place;
mod rounding;
mod value;

#[cfg(test)]
mod tests;

use kgen_record::DType;

/// The wrong elements of one output, with all that was compared.
#[derive(Debug)]
pub(super) struct Wrong<'a> {
    /// Flat indices of the wrong elements, ascending.
    pub(super) indices: &'a [usize],
    /// Shape of the output.
    pub(super) shape: &'a [usize],
    /// Element type of the output.
    pub(super) dtype: DType,
    /// Flat indices of the elements that were compared, ascending; `None`: all of them.
    pub(super) sampled: Option<&'a [usize]>,
    /// Reference values of the elements that were compared.
    pub(super) expected: &'a [f64],
    /// The kernel's values there.
    pub(super) got: &'a [f64],
    /// Effect of the rounding of f32 inputs on each element; empty where it is not known.
    pub(super) sensitivity: &'a [f64],
    /// Names and values of the inputs that have as many elements as the output, row-major.
    pub(super) inputs: &'a [(String, Vec<f64>)],
    /// How many of the wrong elements were never written.
    pub(super) n_unwritten: u64,
}

/// Returns the pattern in words, or `None` where there is none.
#[must_use]
pub(super) fn describe(wrong: &Wrong<'_>) -> Option<String> {
    // Errors of a few units in the last place come from rounding, whatever else they look like.
    let near = wrong.pairs().filter(|&(y, got)| same(wrong.dtype, y, got)).count();
    let what = if most(near, wrong.indices.len()) {
        rounding::describe(wrong)
    } else {
        value::describe(wrong)
            .or_else(|| elsewhere::describe(wrong))
            .or_else(|| value::relation(wrong))
            .or_else(|| rounding::describe(wrong))
    };
    let parts: Vec<String> = [place::describe(wrong), what].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

impl Wrong<'_> {
    /// Returns whether every element was compared.
    fn is_whole(&self) -> bool {
        self.sampled.is_none()
    }

    /// Returns expected and computed value of each wrong element.
    fn pairs(&self) -> impl Iterator<Item = (f64, f64)> + Clone {
        self.indices.iter().filter_map(|&index| {
            let position = match self.sampled {
                None => index,
                Some(sampled) => sampled.binary_search(&index).ok()?,
            };
            Some((*self.expected.get(position)?, *self.got.get(position)?))
        })
    }
}

/// Share of elements that must agree for a pattern to be named: some agree, or not, by chance.
const MOST: f64 = 0.95;

/// Returns whether `n` of `total` elements are enough for a pattern.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn most(n: usize, total: usize) -> bool {
    total > 0 && n as f64 >= MOST * total as f64
}

/// Returns whether two values are the same but for the rounding to a type.
fn same(dtype: DType, a: f64, b: f64) -> bool {
    #[expect(clippy::float_cmp, reason = "equal infinities and zeros are the same")]
    let equal = a == b || (a.is_nan() && b.is_nan());
    equal || (a - b).abs() <= 8.0 * super::bound::ulp(dtype, a.abs().max(b.abs()))
}
