//! Where tensor maps lie, and changes to them by kernels.

use super::{
    super::{
        Machine,
        access::{Registers, each_lane},
    },
    Issue, Payload, addresses, lane_value,
};
use crate::{
    finding::FindingKind,
    memory::{INITIALISED, WRITTEN, window_base, window_of},
    op::{Address, MapField, ReplaceOp, StateSpace, Window},
    report::LaunchError,
    tensor_map::{Interleave, OobFill, Swizzle, TensorMap, TensorMapMode, TensorMapType},
};

/// Bytes of a map.
const BYTES: usize = 128;

impl Machine<'_> {
    /// The bytes at the address of a map; none if it does not lie in global memory or parameters.
    fn map_bytes(&self, place: StateSpace, address: u64) -> Option<[u8; BYTES]> {
        let params = |at: u64| {
            let at = usize::try_from(at).ok()?;
            self.context.params.get(at..at.checked_add(BYTES)?)
        };
        let slice = match place {
            StateSpace::Param => params(address)?,
            StateSpace::Generic if window_of(address) == Window::Param => {
                params(address.wrapping_sub(window_base(Window::Param)))?
            }
            StateSpace::Generic | StateSpace::Global => {
                let (index, at) = self.memory.decode(address)?;
                let at = usize::try_from(at).ok()?;
                self.memory.buffers[index].data.get(at..at.checked_add(BYTES)?)?
            }
            _ => return None,
        };
        let mut bytes = [0; BYTES];
        bytes.copy_from_slice(slice);
        Some(bytes)
    }

    /// The tensor map at an address.
    pub(super) fn tensor_map(
        &self,
        place: StateSpace,
        address: u64,
        regs: &Registers<'_>,
        issue: Issue,
    ) -> Result<TensorMap, LaunchError> {
        let fault = |what: &str| {
            let lanes = 1 << issue.lane;
            self.fault_here(FindingKind::TensorMap, what, regs, issue.pc, lanes)
        };
        if !address.is_multiple_of(64) {
            return Err(fault(&format!(
                "a tensor map at address 0x{address:x}, which is no multiple of 64"
            )));
        }
        let bytes = self.map_bytes(place, address).ok_or_else(|| {
            fault(
                "a tensor map that is neither a `const __grid_constant__ CUtensorMap` parameter nor \
                 in global memory",
            )
        })?;
        TensorMap::decode(&bytes).ok_or_else(|| {
            fault("an address at which no tensor map lies; pass the map as a parameter by value")
        })
    }

    /// `tensormap.replace`, of a map in global or shared memory.
    pub(super) fn replace(
        &mut self,
        op: &ReplaceOp,
        regs: &mut Registers<'_>,
        pc: u32,
        mask: u32,
    ) -> Result<(), LaunchError> {
        let at = addresses(&op.map, regs);
        for lane in each_lane(mask) {
            let issue = Issue { pc, lane };
            let value = lane_value(op.value, regs, lane);
            let Some((shared, offset)) = self.writable_map(&op.map, at[lane], regs, issue) else {
                continue;
            };
            let bytes = self.slice(shared, offset);
            let mut whole = [0; BYTES];
            whole.copy_from_slice(bytes);
            let replaced = TensorMap::decode(&whole).and_then(|map| changed(map, op.field, value));
            let Some(map) = replaced else {
                let what = "`tensormap.replace` of bytes that are no tensor map, or by a value that \
                            it has no place for";
                let kind = FindingKind::TensorMap;
                return Err(self.fault_here(kind, what, regs, pc, 1 << lane));
            };
            self.slice(shared, offset).copy_from_slice(&map.encode());
            self.progress.changes += 1;
        }
        Ok(())
    }

    /// `tensormap.cp_fenceproxy`: a whole warp executes it, one copy is made.
    pub(super) fn copy_map(
        &mut self,
        to: &Address,
        from: &Address,
        regs: &mut Registers<'_>,
        pc: u32,
        mask: u32,
    ) {
        let (to, from) = (addresses(to, regs), addresses(from, regs));
        let Some(lane) = each_lane(mask).next() else { return };
        let issue = Issue { pc, lane };
        let place = self.shared_place(from[lane], BYTES as u64, 128, false, regs, issue);
        let Some(place) = place else { return };
        let shared = &self.block.shared;
        let payload = Payload {
            data: shared.data[place.at..place.at + BYTES].to_vec(),
            marks: vec![INITIALISED; BYTES],
        };
        self.put_global((to[lane], 128), &payload, 0..BYTES, None, regs, issue);
    }

    /// Whether a map that is to be changed lies in shared memory, else the buffer, and its offset.
    fn writable_map(
        &mut self,
        map: &Address,
        address: u64,
        regs: &Registers<'_>,
        issue: Issue,
    ) -> Option<(Option<usize>, usize)> {
        let generic = map.place == StateSpace::Generic;
        let shared =
            map.place == StateSpace::Shared || (generic && window_of(address) == Window::Shared);
        if shared {
            let base = if generic { window_base(Window::Shared) } else { 0 };
            let at = address.wrapping_sub(base);
            let place = self.shared_place(at, BYTES as u64, 64, true, regs, issue)?;
            return place.peer.is_none().then_some((None, place.at));
        }
        let (index, at) = self.global_place(address, BYTES as u64, 64, true, regs, issue)?;
        if let Some(flags) = &mut self.memory.buffers[index].flags {
            flags[at..at + BYTES].fill(INITIALISED | WRITTEN);
        }
        Some((Some(index), at))
    }

    fn slice(&mut self, buffer: Option<usize>, at: usize) -> &mut [u8] {
        match buffer {
            Some(index) => &mut self.memory.buffers[index].data[at..at + BYTES],
            None => &mut self.block.shared.data[at..at + BYTES],
        }
    }
}

/// The map with another value in a field; none if there is no such value.
fn changed(mut map: TensorMap, field: MapField, value: u64) -> Option<TensorMap> {
    let small = value as u32;
    let index = value as usize;
    match field {
        MapField::Address => map.address = value,
        MapField::Rank => {
            // The field holds one less than the number of dimensions.
            let rank = index.checked_add(1).filter(|rank| *rank <= 5)?;
            map.dims.resize(rank, 1);
            map.strides.resize(rank - 1, 0);
            map.element_strides.resize(rank, 1);
            if let TensorMapMode::Tiled { box_dims } = &mut map.mode {
                box_dims.resize(rank, 1);
            }
        }
        MapField::Box(dim) => match &mut map.mode {
            TensorMapMode::Tiled { box_dims } => *box_dims.get_mut(dim)? = small,
            TensorMapMode::Im2col { .. } => return None,
        },
        MapField::Dim(dim) => *map.dims.get_mut(dim)? = u64::from(small),
        MapField::Stride(dim) => *map.strides.get_mut(dim)? = value,
        MapField::ElementStride(dim) => *map.element_strides.get_mut(dim)? = small,
        MapField::Type => map.data_type = *TensorMapType::ALL.get(index)?,
        MapField::Interleave => map.interleave = *Interleave::ALL.get(index)?,
        MapField::Swizzle => map.swizzle = *Swizzle::ALL.get(index)?,
        MapField::Fill => map.oob = *OobFill::ALL.get(index)?,
    }
    Some(map)
}
