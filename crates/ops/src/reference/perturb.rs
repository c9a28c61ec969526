//! Sensitivity measured: the result is computed anew from inputs that are off by a rounding or two.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::op::{Array, Call, Inputs};

use super::Error;

/// Runs that the root mean square is taken over.
const RUNS: u64 = 8;

/// Seed of the perturbations: fixed, so that a bound belongs to its inputs alone.
const SEED: u64 = 0x5eed;

/// Returns the root mean square over the runs of `|f(x * (1 + δ)) - y|`, δ uniform in ±2 `unit`, for
/// every element of every output.
pub(super) fn sensitivity(
    call: &Call<'_>,
    inputs: &Inputs<'_>,
    outputs: &[Array],
    unit: f64,
) -> Result<Vec<Array>, Error> {
    let mut squares: Vec<Array> =
        outputs.iter().map(|output| Array::zeros(output.raw_dim())).collect();
    for run in 0..RUNS {
        let moved = inputs.map(|index, input| {
            if !input.dtype.is_float() {
                return input.array().clone();
            }
            let mut rng = ChaCha8Rng::seed_from_u64(SEED);
            rng.set_stream(run * 64 + index as u64);
            input.array().mapv(|value| value * (1.0 + rng.random_range(-2.0 * unit..=2.0 * unit)))
        });
        let results = call.op.engine.evaluate(call, &moved)?;
        for ((square, result), reference) in squares.iter_mut().zip(results).zip(outputs) {
            ndarray::Zip::from(square).and(&result).and(reference).for_each(
                |square, result, reference| {
                    let change = result - reference;
                    if change.is_finite() {
                        *square += change * change;
                    }
                },
            );
        }
    }
    for square in &mut squares {
        square.mapv_inplace(|square| (square / RUNS as f64).sqrt());
    }
    Ok(squares)
}
