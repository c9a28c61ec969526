//! Arrays from files and generators, and back to files.

use std::{fs, path::Path};

use super::{Error, Result, element::Element, npy};

#[derive(Debug, Clone)]
pub(super) struct Array {
    /// Type of its elements.
    pub element: Element,
    /// Its elements, little-endian.
    pub bytes: Vec<u8>,
    /// Its extents, slowest first.
    pub shape: Vec<usize>,
}

const MAX_GENERATED: usize = 1 << 30;

impl Array {
    /// The array that `data`, a file or a generator, stands for.
    pub(super) fn load(data: &str, element: Element) -> Result<Self> {
        if let Some(call) = data.strip_prefix('@') {
            return generate(call, element).ok_or_else(|| {
                Error::usage(format!(
                    "`{data}` is none of @zeros,N @ones,N @arange,N @rand,N[,SEED] with N up to \
                     {MAX_GENERATED}"
                ))
            });
        }
        let file = fs::read(data).map_err(|error| Error::file(data, error))?;
        if is_npy(data) {
            let (bytes, shape) =
                npy::read(&file, element).map_err(|error| Error::file(data, error))?;
            return Ok(Self { element, bytes, shape });
        }
        let size = element.bytes();
        if file.len() % size != 0 {
            let message =
                format!("{} bytes are no whole number of {} elements", file.len(), element.name());
            return Err(Error::file(data, message));
        }
        let shape = vec![file.len() / size];
        Ok(Self { element, bytes: file, shape })
    }

    /// Writes the array to a file, as `.npy` if it is called so, else as raw elements.
    pub(super) fn store(&self, path: &str) -> Result<()> {
        let stored = if is_npy(path) {
            fs::write(path, npy::write(&self.bytes, self.element, &self.shape))
        } else {
            fs::write(path, &self.bytes)
        };
        stored.map_err(|error| Error::file(path, error))
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len() / self.element.bytes()
    }
}

fn is_npy(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|e| e == "npy")
}

/// The array of a generator such as `rand,1024,7`.
fn generate(call: &str, element: Element) -> Option<Array> {
    let mut arguments = call.split(',');
    let name = arguments.next()?;
    let n: usize = arguments.next()?.parse().ok()?;
    let seed: u64 = arguments.next().map_or(Some(0), |s| s.parse().ok())?;
    if arguments.next().is_some() || n > MAX_GENERATED {
        return None;
    }
    let bytes = match name {
        "zeros" => vec![0; n * element.bytes()],
        "ones" => element.of_f64(1.0).repeat(n),
        "arange" => (0..u32::try_from(n).ok()?).flat_map(|i| element.of_f64(i.into())).collect(),
        "rand" => {
            let mut state = seed;
            (0..n).flat_map(|_| element.of_f64(uniform(&mut state))).collect()
        }
        _ => return None,
    };
    Some(Array { element, bytes, shape: vec![n] })
}

/// The next number in `[-1, 1)` (splitmix64).
fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let bits = u32::try_from((z ^ (z >> 31)) >> 40).unwrap_or(0);
    f64::from(bits) / f64::from(1 << 23) - 1.0
}

#[cfg(test)]
mod tests {
    use super::{Array, Element};

    #[test]
    fn generators() {
        let values = |data: &str| -> Vec<f64> {
            let array = Array::load(data, Element::F32).unwrap_or_else(|e| panic!("{}", e.message));
            array.bytes.chunks(4).map(|b| Element::F32.value(b)).collect()
        };
        assert_eq!(values("@arange,3"), [0.0, 1.0, 2.0]);
        assert_eq!(values("@ones,2"), [1.0, 1.0]);
        let random = values("@rand,1000");
        assert!(random.iter().all(|v| (-1.0..1.0).contains(v)));
        assert_ne!(random, values("@rand,1000,1"));
        for wrong in ["@rand,", "@rand,1,2,3", "@nothing,3", "@ones,99999999999999", "@ones"] {
            assert!(Array::load(wrong, Element::F32).is_err(), "{wrong}");
        }
    }
}
