//! Sensitivity measured: the result is computed anew from inputs that are off by a rounding or two.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::{op::OpDef, record::Case};

use super::{Error, U, engine, values::Inputs};

/// Runs that the root mean square is taken over.
const RUNS: u64 = 8;

/// Seed of the perturbations: fixed, so that a bound belongs to its inputs alone.
const SEED: u64 = 0x5eed;

/// Returns the root mean square over the runs of `|f(x * (1 + δ)) - y|`, δ uniform in ±2u.
pub(super) fn sensitivity(
    op: &OpDef,
    case: &Case,
    inputs: &Inputs,
    output: &[f64],
) -> Result<Vec<f64>, Error> {
    let mut squares = vec![0.0; output.len()];
    for run in 0..RUNS {
        let mut rng = ChaCha8Rng::seed_from_u64(SEED);
        rng.set_stream(run);
        let mut moved = inputs.clone();
        for tensor in moved.each_mut().filter(|tensor| tensor.is_float) {
            for value in &mut tensor.values {
                *value *= 1.0 + rng.random_range(-2.0 * U..=2.0 * U);
            }
        }
        let result = engine(op, case, &moved)?;
        for ((square, result), reference) in squares.iter_mut().zip(result).zip(output) {
            let change = result - reference;
            if change.is_finite() {
                *square += change * change;
            }
        }
    }
    Ok(squares.into_iter().map(|square| (square / RUNS as f64).sqrt()).collect())
}
