//! Shapes drawn from the secret seed of an evaluation.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest as _, Sha256};

use crate::{expr::Symbols, record::DType};

use super::shape::{Axes, Extent, Range};

/// The seed of drawn shapes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seed {
    /// The secret seed of an evaluation.
    pub(super) value: u64,
    /// How many draws before came to cases that were there already.
    pub(super) again: u32,
}

/// One draw: a stream of random numbers and the axes that it has fixed.
pub(super) struct Draw {
    rng: ChaCha8Rng,
    axes: Symbols,
}

impl Draw {
    /// Begins the n-th draw of a case; equal arguments give equal shapes.
    pub(super) fn new(seed: u64, op: &str, case: usize, dtype: DType, n: u32, axes: &Axes) -> Self {
        let mut hash = Sha256::new();
        hash.update(seed.to_le_bytes());
        hash.update(format!("draw {op} {case} {dtype} {n}"));
        let mut rng = ChaCha8Rng::from_seed(hash.finalize().into());
        let axes = axes.iter().map(|(name, &range)| {
            (name.clone(), i64::try_from(pick(&mut rng, range)).unwrap_or(i64::MAX))
        });
        let axes = axes.collect();
        Self { rng, axes }
    }

    /// Returns an extent as a number.
    pub(super) fn extent(&mut self, extent: &Extent) -> Result<usize, String> {
        let value = self.integer(extent)?;
        usize::try_from(value).map_err(|_| format!("{} is {value}", self.spelled(extent)))
    }

    /// Returns an integer that is written as an extent is.
    pub(super) fn integer(&mut self, extent: &Extent) -> Result<i64, String> {
        let value = match extent {
            Extent::Fixed(extent) => i64::try_from(*extent).ok(),
            Extent::Range(range) => i64::try_from(pick(&mut self.rng, *range)).ok(),
            Extent::Expr(expr) => expr.value(&self.axes),
        };
        value.ok_or_else(|| format!("{} is no number of 64 bits", self.spelled(extent)))
    }

    /// Names an extent with the axes that it was computed from.
    fn spelled(&self, extent: &Extent) -> String {
        let Extent::Expr(expr) = extent else { return "an extent".to_owned() };
        let mut names = expr.names();
        names.sort_unstable();
        names.dedup();
        let values =
            names.iter().filter_map(|name| Some(format!("{name} = {}", self.axes.get(*name)?)));
        format!("`{expr}` for {}", values.collect::<Vec<_>>().join(", "))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a drawn extent is positive and is clamped to its range"
)]
fn pick(rng: &mut ChaCha8Rng, range: Range) -> usize {
    if !range.log {
        return rng.random_range(range.first..=range.last);
    }
    let [low, high] = [range.first, range.last].map(|bound| (bound as f64).log2());
    let drawn = (low + (high - low) * rng.random::<f64>()).exp2().round();
    (drawn as usize).clamp(range.first, range.last)
}
