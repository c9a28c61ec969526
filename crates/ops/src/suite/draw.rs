//! Shapes drawn from the secret seed of an evaluation.

use std::collections::BTreeMap;

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest as _, Sha256};

use crate::record::DType;

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
    axes: BTreeMap<String, usize>,
}

impl Draw {
    /// Begins the n-th draw of a case; equal arguments give equal shapes.
    pub(super) fn new(seed: u64, op: &str, case: usize, dtype: DType, n: u32, axes: &Axes) -> Self {
        let mut hash = Sha256::new();
        hash.update(seed.to_le_bytes());
        hash.update(format!("draw {op} {case} {dtype} {n}"));
        let mut rng = ChaCha8Rng::from_seed(hash.finalize().into());
        let axes = axes.iter().map(|(name, &range)| (name.clone(), pick(&mut rng, range)));
        let axes = axes.collect();
        Self { rng, axes }
    }

    /// Returns an extent as a number.
    pub(super) fn extent(&mut self, extent: &Extent) -> usize {
        match extent {
            Extent::Fixed(extent) => *extent,
            Extent::Range(range) => pick(&mut self.rng, *range),
            Extent::Axis(name) => self.axis(name),
            Extent::Multiple(factor, name) => factor.saturating_mul(self.axis(name)),
        }
    }

    fn axis(&self, name: &str) -> usize {
        *self.axes.get(name).expect("the parser knows only names of axes")
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
