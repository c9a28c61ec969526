//! `cp.async.bulk.tensor`: copies of parts of a tensor that a tensor map describes.

use super::{
    super::{
        Machine,
        access::{Registers, each_lane},
    },
    Issue, addresses,
    memory::Payload,
    optional, range_of, signed, tile,
};
use crate::{
    finding::FindingKind,
    lower::bulk::function_of,
    op::{Reduction, TensorCopy, Way},
    report::LaunchError,
    tensor_map::{Interleave, TensorMap, TensorMapMode, TensorMapType},
};

impl Machine<'_> {
    pub(super) fn tensor_copy(
        &mut self,
        copy: &TensorCopy,
        regs: &mut Registers<'_>,
        pc: u32,
        mask: u32,
    ) -> Result<(), LaunchError> {
        let maps = addresses(&copy.map, regs);
        let shared = optional(copy.shared, regs);
        let bars = optional(copy.bar, regs);
        self.progress.touched = true;
        for lane in each_lane(mask) {
            let issue = Issue { pc, lane };
            let map = self.tensor_map(copy.map.place, maps[lane], regs, issue)?;
            self.check_use(copy, &map, regs, issue)?;
            let start = signed(&copy.coordinates, regs, lane);
            self.check_alignment(&map, start[0], regs, issue)?;
            let offsets = offsets(copy, regs, lane);
            let mut runs = Vec::new();
            tile::runs(&map, &start, &offsets, &mut |run| runs.push(run));
            let (bytes, _) = tile::tile_bytes(&map);
            match (copy.way, shared, bars) {
                (Way::Load, Some(shared), Some(bars)) => {
                    let payload = self.load_tile(&map, &runs, bytes, regs, issue);
                    let ranks = copy.ranks.map(|r| regs.rows.w[r as usize][lane]);
                    let places = self.ranks(ranks, shared[lane], regs, issue)?;
                    let bars = self.ranks(ranks, bars[lane], regs, issue)?;
                    for place in &places {
                        // Every tile starts at a multiple of 128 bytes, swizzled or not.
                        self.shared_place(*place, 1, 128, true, regs, issue);
                    }
                    for place in places.into_iter().zip(bars) {
                        self.deliver(&payload, place, map.swizzle, None, regs, issue)?;
                    }
                }
                (Way::Store, Some(shared), _) => {
                    self.store_tile(copy, &map, &runs, (shared[lane], bytes), regs, issue)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses a copy that its map is not made for.
    fn check_use(
        &self,
        copy: &TensorCopy,
        map: &TensorMap,
        regs: &Registers<'_>,
        issue: Issue,
    ) -> Result<(), LaunchError> {
        let fault = |what: &str| {
            let lanes = 1 << issue.lane;
            Err(self.fault_here(FindingKind::TensorMap, what, regs, issue.pc, lanes))
        };
        let (rank, n) = (map.rank(), copy.coordinates.len());
        if rank != n {
            return fault(&format!("{n} coordinates for a tensor map of {rank} dimensions"));
        }
        if let Err(error) = map.check() {
            return fault(&format!("a tensor map that no driver makes: {error}"));
        }
        match (&map.mode, copy.im2col) {
            (TensorMapMode::Tiled { .. }, true) => {
                return fault("an im2col copy by a tensor map in tiled mode");
            }
            (TensorMapMode::Im2col { .. }, false) => {
                return fault("a tiled copy by a tensor map in im2col mode");
            }
            _ => {}
        }
        match tile::unknown_layout(map) {
            Some(why) => Err(self.unsupported(issue.pc, &why)),
            None => Ok(()),
        }
    }

    /// Refuses a tile that does not begin at a multiple of 16 bytes of its row, which is an illegal
    /// instruction on an H200.
    fn check_alignment(
        &self,
        map: &TensorMap,
        innermost: i64,
        regs: &Registers<'_>,
        issue: Issue,
    ) -> Result<(), LaunchError> {
        let bytes = map.data_type.bytes();
        // Slices of interleaved maps have at least so many.
        if map.interleave != Interleave::None || (innermost * i64::from(bytes)) % 16 == 0 {
            return Ok(());
        }
        let what = format!(
            "the innermost coordinate {innermost} is no multiple of 16 bytes, with elements of {bytes}: an illegal \
             instruction on a GPU"
        );
        Err(self.fault_here(FindingKind::TensorMap, &what, regs, issue.pc, 1 << issue.lane))
    }

    /// The part of the tensor that the runs make up.
    fn load_tile(
        &mut self,
        map: &TensorMap,
        runs: &[tile::Run],
        bytes: u64,
        regs: &Registers<'_>,
        issue: Issue,
    ) -> Payload {
        let mut payload = Payload::zeros(bytes as usize);
        for run in runs {
            let part = run.at as usize..(run.at + run.bytes) as usize;
            match run.global {
                Some(address) => {
                    self.take_global(address, 1, &mut payload, part.clone(), regs, issue);
                    tile::convert(map.data_type, &mut payload.data[part]);
                }
                None => tile::fill_outside(map, &mut payload.data[part]),
            }
        }
        payload
    }

    fn store_tile(
        &mut self,
        copy: &TensorCopy,
        map: &TensorMap,
        runs: &[tile::Run],
        (from, bytes): (u64, u64),
        regs: &mut Registers<'_>,
        issue: Issue,
    ) -> Result<(), LaunchError> {
        let reduction = match copy.reduction {
            Some(name) => Some(reduction(name, map.data_type).ok_or_else(|| {
                let why = format!("`.{name}` of elements {:?}", map.data_type);
                self.unsupported(issue.pc, &why)
            })?),
            None => None,
        };
        let whole = bytes.next_multiple_of(map.swizzle.span().unwrap_or(16));
        let Some(place) = self.shared_place(from, whole, 128, false, regs, issue) else {
            return Ok(());
        };
        let payload = self.take_shared(place, bytes as usize, map.swizzle, regs, issue);
        self.keep_source(range_of(place, whole as usize), regs, issue);
        for run in runs {
            // Elements outside the tensor are not written, but those behind the end of a row in its last 16
            // bytes: a GPU stores these whole.
            let Some(address) = run.global else { continue };
            let stored = match reduction {
                None => run.bytes.next_multiple_of(16),
                Some(_) => run.bytes,
            };
            let part = run.at as usize..(run.at + stored) as usize;
            self.put_global((address, 1), &payload, part, reduction, regs, issue);
        }
        Ok(())
    }
}

/// Offsets of an im2col load, which are unsigned.
fn offsets(copy: &TensorCopy, regs: &Registers<'_>, lane: usize) -> Vec<i64> {
    signed(&copy.offsets, regs, lane).into_iter().map(|o| o & 0xffff).collect()
}

/// The operation of a reduction on elements of a type.
fn reduction(name: &str, data_type: TensorMapType) -> Option<Reduction> {
    use TensorMapType as T;
    let ty = match data_type {
        T::U8 => return None,
        T::U16 => return None,
        T::U32 => "u32",
        T::I32 => "s32",
        T::U64 => "u64",
        T::I64 => "s64",
        T::F16 => "f16",
        T::Bf16 => "bf16",
        T::F32 | T::F32Ftz | T::Tf32 | T::Tf32Ftz => "f32",
        T::F64 => "f64",
    };
    let f = function_of(name, ty, false)?;
    Some(Reduction { f, bytes: data_type.bytes() })
}
