//! kgen's own kernels on a device: inputs are made, watched and outputs compared where they lie.

use kgen_device::{BufferId, Device, KernelArg, Launch, LaunchError, ModuleId};
use kgen_ops::op::{Counter, Recipe};
use kgen_record::DType;

/// Threads of a block.
const BLOCK: u32 = 256;

/// Blocks per multiprocessor at most; the kernels' loops take larger tensors.
const BLOCKS_PER_SM: u32 = 32;

/// Bytes that a digest takes at once.
const WORD: usize = 4;

/// Distances that the comparison distinguishes; 0 counts as equal.
pub(super) const N_DISTANCES: usize = 64;

/// Words of a comparison's result: a count per distance, the poisoned, the listed.
const N_RESULT: usize = N_DISTANCES + 2;

/// Returns the source of the kernels, a file without a plan.
pub(crate) const fn source() -> &'static str {
    include_str!("kernels.cu")
}

/// Returns the macros that ask for the kernels of some element types.
pub(crate) fn defines(dtypes: &[DType]) -> Vec<(String, String)> {
    dtypes.iter().map(|dtype| (format!("KGEN_{dtype}"), "1".to_owned())).collect()
}

/// Returns the names of these kernels.
pub(crate) fn kernels(dtypes: &[DType]) -> Vec<String> {
    let of = |what: &'static str| dtypes.iter().map(move |dtype| format!("kg_{what}_{dtype}"));
    let others = ["kg_gather", "kg_digest"].map(str::to_owned);
    of("fill").chain(of("same")).chain(of("differ")).chain(others).collect()
}

/// Two outputs that are compared.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutputPair {
    pub(super) candidate: BufferId,
    pub(super) trusted: BufferId,
    pub(super) dtype: DType,
    pub(super) numel: usize,
}

/// The threshold of a near value, see `kernels.cu`.
#[derive(Debug, Clone, Copy)]
pub(super) struct NearBound {
    pub(super) exact: bool,
    pub(super) signed_zero: bool,
    /// Ulps of the trusted element.
    pub(super) ulps: f64,
    pub(super) absolute: f64,
}

/// The result of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DifferingElements {
    /// Elements by their distance, from 1 on.
    pub(super) by_distance: Vec<u64>,
    /// Elements of the candidate that still hold the poison.
    pub(super) n_poisoned: u64,
    /// Some of those that are far apart (row-major indices, ascending).
    pub(super) listed: Vec<usize>,
}

impl DifferingElements {
    /// Returns how many elements differ by more than is near.
    pub(super) fn count(&self) -> u64 {
        self.by_distance.iter().sum()
    }
}

/// The kernels, loaded.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeviceKernels {
    pub(super) module: ModuleId,
}

impl DeviceKernels {
    fn launch(
        self,
        device: &mut dyn Device,
        kernel: String,
        numel: usize,
        args: Vec<KernelArg>,
    ) -> Result<(), LaunchError> {
        let most = device.target().sm_count.max(1) * BLOCKS_PER_SM;
        let blocks = u32::try_from(numel.div_ceil(BLOCK as usize)).unwrap_or(most).clamp(1, most);
        let (grid, block) = ([blocks, 1, 1], [BLOCK, 1, 1]);
        device.launch(self.module, &Launch { kernel, grid, block, args, ..Launch::default() })
    }

    /// Writes a tensor's values.
    pub(super) fn fill(
        self,
        device: &mut dyn Device,
        buffer: BufferId,
        numel: usize,
        counter: &Counter,
    ) -> Result<(), LaunchError> {
        let mut args = vec![pointer(buffer), word(numel as u64)];
        args.extend(recipe(counter));
        self.launch(device, format!("kg_fill_{}", counter.dtype), numel, args)
    }

    /// Returns the first element that no longer has its value.
    pub(super) fn changed(
        self,
        device: &mut dyn Device,
        buffer: BufferId,
        numel: usize,
        counter: &Counter,
    ) -> Result<Option<usize>, LaunchError> {
        let start = [0_u64, u64::MAX].map(u64::to_le_bytes).concat();
        with_buffer(device, start.len(), |device, result| {
            device.write(result, &start)?;
            let mut args = vec![pointer(buffer), word(numel as u64), pointer(result)];
            args.extend(recipe(counter));
            self.launch(device, format!("kg_same_{}", counter.dtype), numel, args)?;
            device.sync()?;
            let found = words(&device.read(result)?);
            Ok((found[0] > 0).then(|| usize::try_from(found[1]).unwrap_or(usize::MAX)))
        })
    }

    /// Compares every element of two outputs and lists those that are farthest apart, at most
    /// `capacity` of them.
    pub(super) fn differ(
        self,
        device: &mut dyn Device,
        pair: OutputPair,
        poison: u8,
        near: NearBound,
        capacity: usize,
    ) -> Result<DifferingElements, LaunchError> {
        let found = self.differ_from(device, pair, poison, near, capacity, 1)?;
        if found.count() <= capacity as u64 {
            return Ok(found);
        }
        // Once more for those that are farthest apart.
        let mut listed = 0;
        let beyond = found.by_distance.iter().rposition(|count| {
            listed += count;
            listed > capacity as u64
        });
        let least = beyond.map_or(1, |at| (at + 2).min(found.by_distance.len()));
        self.differ_from(device, pair, poison, near, capacity, least)
    }

    /// Lists elements from a distance on.
    fn differ_from(
        self,
        device: &mut dyn Device,
        pair: OutputPair,
        poison: u8,
        near: NearBound,
        capacity: usize,
        least: usize,
    ) -> Result<DifferingElements, LaunchError> {
        let poisoned = u64::from_le_bytes([poison; 8]) >> (64 - 8 * pair.dtype.size());
        with_buffer(device, 8 * N_RESULT, |device, result| {
            with_buffer(device, 8 * capacity, |device, list| {
                device.write(result, &[0; 8 * N_RESULT])?;
                let args = vec![
                    pointer(pair.candidate),
                    pointer(pair.trusted),
                    word(pair.numel as u64),
                    pointer(result),
                    pointer(list),
                    word(capacity as u64),
                    int(i32::try_from(least).unwrap_or(i32::MAX)),
                    word(poisoned),
                    int(near.exact.into()),
                    int(near.signed_zero.into()),
                    word(near.ulps.to_bits()),
                    word(near.absolute.to_bits()),
                ];
                self.launch(device, format!("kg_differ_{}", pair.dtype), pair.numel, args)?;
                device.sync()?;
                let counts = words(&device.read(result)?);
                let n_listed = usize::try_from(counts[N_RESULT - 1]).unwrap_or(usize::MAX);
                let n_listed = n_listed.min(capacity);
                let mut listed = Vec::new();
                if n_listed > 0 {
                    let places = words(&device.read_part(list, 0, 8 * n_listed)?);
                    listed.extend(places.into_iter().filter_map(|at| usize::try_from(at).ok()));
                    listed.sort_unstable();
                }
                Ok(DifferingElements {
                    by_distance: counts[1..N_DISTANCES].to_vec(),
                    n_poisoned: counts[N_DISTANCES],
                    listed,
                })
            })
        })
    }

    /// Returns words that depend on every byte of a buffer.
    pub(super) fn digest(
        self,
        device: &mut dyn Device,
        buffer: BufferId,
        salt: u64,
    ) -> Result<Vec<u64>, LaunchError> {
        let (whole, bytes) = (device.size(buffer) / WORD, device.size(buffer));
        let mut digest = with_buffer(device, 16, |device, sums| {
            device.write(sums, &[0; 16])?;
            let args = vec![pointer(buffer), word(whole as u64), pointer(sums), word(salt)];
            self.launch(device, "kg_digest".to_owned(), whole, args)?;
            device.sync()?;
            Ok(words(&device.read(sums)?))
        })?;
        let rest = device.read_part(buffer, whole * WORD, bytes - whole * WORD)?;
        digest.extend(rest.into_iter().map(u64::from));
        Ok(digest)
    }

    /// Reads elements of a buffer.
    pub(super) fn gather(
        self,
        device: &mut dyn Device,
        buffer: BufferId,
        element_bytes: usize,
        indices: &[usize],
    ) -> Result<Vec<u8>, LaunchError> {
        let places: Vec<u8> =
            indices.iter().flat_map(|&index| (index as u64).to_le_bytes()).collect();
        with_buffer(device, places.len(), |device, at| {
            with_buffer(device, indices.len() * element_bytes, |device, out| {
                device.write(at, &places)?;
                let args = vec![
                    pointer(buffer),
                    pointer(at),
                    pointer(out),
                    word(indices.len() as u64),
                    int(i32::try_from(element_bytes).unwrap_or(i32::MAX)),
                ];
                self.launch(device, "kg_gather".to_owned(), indices.len(), args)?;
                device.sync()?;
                device.read(out)
            })
        })
    }
}

/// Calls a function with a buffer that lives as long as the call.
fn with_buffer<T>(
    device: &mut dyn Device,
    bytes: usize,
    then: impl FnOnce(&mut dyn Device, BufferId) -> Result<T, LaunchError>,
) -> Result<T, LaunchError> {
    let buffer = device.alloc("kgen's own", bytes, 1)?;
    let done = then(device, buffer);
    device.free(buffer);
    done
}

const fn pointer(buffer: BufferId) -> KernelArg {
    KernelArg::Pointer { buffer, byte_offset: 0 }
}

fn word(value: u64) -> KernelArg {
    KernelArg::Bytes(value.to_le_bytes().to_vec())
}

fn int(value: i32) -> KernelArg {
    KernelArg::Bytes(value.to_le_bytes().to_vec())
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let (words, _) = bytes.as_chunks();
    words.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// Returns key, kind and numbers of a recipe as the kernels take them.
fn recipe(counter: &Counter) -> Vec<KernelArg> {
    let (kind, numbers): (i32, [u64; 5]) = match counter.recipe {
        Recipe::Normal { mean, scale } => (0, [mean.to_bits(), scale.to_bits(), 0, 0, 0]),
        Recipe::Uniform { low, scale } => (1, [low.to_bits(), scale.to_bits(), 0, 0, 0]),
        Recipe::Constant { value } => (2, [value.to_bits(), 0, 0, 0, 0]),
        Recipe::Integer { low, n, other } => {
            let has_other = u64::from(other.is_some());
            (3, [low.cast_unsigned(), n, has_other, other.unwrap_or(0).cast_unsigned(), 0])
        }
        Recipe::Signed { first, step, n, nonzero, row } => {
            (4, [first.into(), step.into(), n.into(), nonzero.into(), row.into()])
        }
        Recipe::Levels => (5, [0; 5]),
        Recipe::Mask { below } => (6, [below, 0, 0, 0, 0]),
        Recipe::Arange { start, step } => (7, [start.to_bits(), step.to_bits(), 0, 0, 0]),
        Recipe::Triangle { columns, rows, diagonal, inside, outside } => {
            (8, [columns, rows, diagonal.cast_unsigned(), inside.to_bits(), outside.to_bits()])
        }
    };
    let numbers = numbers.into_iter().map(word);
    [word(counter.key), int(kind)].into_iter().chain(numbers).collect()
}
