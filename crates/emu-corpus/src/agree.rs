//! Outputs of the emulator against outputs of a GPU.

use crate::{Agreement, Case, Kernel};

/// How two runs of a kernel differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Elements whose bits differ.
    pub n_different: usize,
    /// Elements in all.
    pub n_elements: usize,
    /// Largest error, relative above 1; infinite where one is NaN and the other is not.
    pub max_error: f64,
    /// The worst element in words, if one differs.
    pub worst: Option<String>,
    /// Whether they agree as closely as the kernel asks.
    pub agrees: bool,
}

/// Compares the outputs of two runs on one case, in order; `want` is the GPU's.
///
/// # Panics
/// If a run has other outputs than the kernel.
#[must_use]
pub fn difference(kernel: &Kernel, case: &Case, got: &[Vec<u8>], want: &[Vec<u8>]) -> Difference {
    let mut all =
        Difference { n_different: 0, n_elements: 0, max_error: 0.0, worst: None, agrees: true };
    for ((data, got), want) in case.outputs().zip(got).zip(want) {
        assert_eq!(got.len(), want.len(), "`{}` of {}", data.name, kernel.name);
        let size = data.dtype.bytes();
        all.n_elements += got.len() / size;
        let bits = got.chunks(size).zip(want.chunks(size)).map(|(g, w)| g != w);
        let values = data.dtype.decode(got).into_iter().zip(data.dtype.decode(want));
        for (at, (differs, (g, w))) in bits.zip(values).enumerate() {
            if !differs {
                continue;
            }
            all.n_different += 1;
            let off = error(g, w);
            all.agrees &= match kernel.agreement {
                Agreement::Exact => false,
                Agreement::Within(bound) => off <= if data.dtype.is_float() { bound } else { 0.0 },
            };
            if all.worst.is_none() || off > all.max_error {
                all.max_error = off;
                all.worst = Some(format!("`{}`[{at}] is {g:e}, and {w:e} on the GPU", data.name));
            }
        }
    }
    all
}

/// The error of `got` against `want`, relative above 1.
#[must_use]
#[expect(clippy::float_cmp, reason = "infinities are equal, and their difference is NaN")]
pub(crate) fn error(got: f64, want: f64) -> f64 {
    if got == want || (got.is_nan() && want.is_nan()) {
        return 0.0;
    }
    let off = (got - want).abs() / want.abs().max(1.0);
    if off.is_nan() { f64::INFINITY } else { off }
}

#[cfg(test)]
mod tests {
    use super::error;

    #[test]
    fn errors_are_relative_above_one() {
        let (nan, infinity) = (f64::NAN, f64::INFINITY);
        for (got, want, off) in [
            (0.5, 0.25, 0.25),
            (110.0, 100.0, 0.1),
            (nan, nan, 0.0),
            (infinity, infinity, 0.0),
            (nan, 1.0, infinity),
            (1.0, infinity, infinity),
        ] {
            assert_eq!(error(got, want).to_bits(), f64::to_bits(off), "{got} against {want}");
        }
    }
}
