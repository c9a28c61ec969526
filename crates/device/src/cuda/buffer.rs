//! A buffer on the GPU with guard zones around it.

use cudarc::driver::{
    DriverError, result,
    sys::{self, CUdeviceptr, CUstream},
};
use kgen_record::Finding;

use crate::SharedBuffer;

/// Bytes of each guard zone, at least. A multiple of the alignment that `cuMemAlloc` gives, so that the
/// buffer keeps it, and larger than a row of most tensors, so that a stray row is seen.
const ZONE: usize = 16 << 10;

/// Bytes of the pages that allocations are made of. A buffer has its pages to itself, and the zone
/// behind it reaches to the end of the last one: anything that a kernel writes into them is seen.
/// Another process that maps an allocation of another multiple gets small pages: there a transpose
/// of 256 MiB took twelve times as long.
const PAGE: usize = 2 << 20;

/// The byte of guard zones: no number that a kernel writes by itself.
const GUARD: u8 = 0xc9;

/// A buffer with its guard zones.
#[derive(Debug)]
pub(super) struct Buffer {
    label: String,
    /// Where the first guard zone begins.
    base: CUdeviceptr,
    /// Bytes of the buffer itself.
    bytes: usize,
    element_bytes: usize,
    /// Bytes of the guard zone before the buffer: [`ZONE`], or 0 for a bare buffer.
    zone: usize,
    /// Bytes of the one behind it.
    zone_behind: usize,
}

impl Buffer {
    /// Allocates a buffer and fills its guard zones.
    pub(super) fn new(
        label: &str,
        bytes: usize,
        element_bytes: usize,
        stream: CUstream,
    ) -> Result<Self, DriverError> {
        let whole = whole_pages(ZONE + bytes + ZONE);
        let buffer = Self::allocate(label, bytes, element_bytes, whole)?;
        // SAFETY: the allocation has `whole` bytes.
        let filled = unsafe { result::memset_d8_async(buffer.base, GUARD, whole, stream) };
        match filled {
            Ok(()) => Ok(buffer),
            Err(error) => {
                buffer.free();
                Err(error)
            }
        }
    }

    /// Allocates a buffer without guard zones whose bytes nobody has written.
    pub(super) fn bare(
        label: &str,
        bytes: usize,
        element_bytes: usize,
    ) -> Result<Self, DriverError> {
        // The driver refuses to allocate nothing.
        // SAFETY: the memory is freed in `free`, and only there.
        let base = unsafe { result::malloc_sync(bytes.max(1)) }?;
        let (label, element_bytes) = (label.to_owned(), element_bytes.max(1));
        Ok(Self { label, base, bytes, element_bytes, zone: 0, zone_behind: 0 })
    }

    fn allocate(
        label: &str,
        bytes: usize,
        element_bytes: usize,
        whole: usize,
    ) -> Result<Self, DriverError> {
        // SAFETY: the memory is freed in `free`, and only there.
        let base = unsafe { result::malloc_sync(whole) }?;
        let (label, element_bytes) = (label.to_owned(), element_bytes.max(1));
        let zone_behind = whole - ZONE - bytes;
        Ok(Self { label, base, bytes, element_bytes, zone: ZONE, zone_behind })
    }

    /// Frees the memory; an error means that the context is lost, and the memory with it.
    pub(super) fn free(self) {
        // SAFETY: the memory is from `malloc_sync`, and `self` ends here.
        _ = unsafe { result::free_sync(self.base) };
    }

    /// Returns the address of the first byte.
    pub(super) const fn address(&self) -> CUdeviceptr {
        self.base + self.zone as u64
    }

    pub(super) const fn len(&self) -> usize {
        self.bytes
    }

    pub(super) fn set_bytes(&self, byte: u8, stream: CUstream) -> Result<(), DriverError> {
        // SAFETY: the buffer has that many bytes.
        unsafe { result::memset_d8_async(self.address(), byte, self.bytes, stream) }
    }

    /// Fills the buffer with a pattern; a last part of it may be cut off.
    pub(super) fn fill(&self, pattern: &[u8], stream: CUstream) -> Result<(), DriverError> {
        let n_whole = self.bytes / pattern.len().max(1);
        // SAFETY: address and count stay inside the buffer, whose address is aligned to 256.
        let status = unsafe {
            match *pattern {
                [] => return Ok(()),
                [byte] => return self.set_bytes(byte, stream),
                [a, b] if self.bytes.is_multiple_of(2) => {
                    let word = u16::from_le_bytes([a, b]);
                    sys::cuMemsetD16Async(self.address(), word, n_whole, stream)
                }
                [a, b, c, d] if self.bytes.is_multiple_of(4) => {
                    let word = u32::from_le_bytes([a, b, c, d]);
                    sys::cuMemsetD32Async(self.address(), word, n_whole, stream)
                }
                _ => {
                    let bytes: Vec<u8> = pattern.iter().copied().cycle().take(self.bytes).collect();
                    return self.write(&bytes, stream);
                }
            }
        };
        status.result()
    }

    /// Copies from the host, and waits for it.
    pub(super) fn write(&self, bytes: &[u8], stream: CUstream) -> Result<(), DriverError> {
        let bytes = &bytes[..bytes.len().min(self.bytes)];
        // SAFETY: the source lives until the wait below is over, and fits the buffer.
        unsafe {
            result::memcpy_htod_async(self.address(), bytes, stream)?;
            result::stream::synchronize(stream)
        }
    }

    /// Copies to the host, and waits for it.
    pub(super) fn read(&self, stream: CUstream) -> Result<Vec<u8>, DriverError> {
        self.read_at(self.address(), self.bytes, stream)
    }

    /// Copies a part to the host, and waits for it.
    pub(super) fn read_part(
        &self,
        from: usize,
        len: usize,
        stream: CUstream,
    ) -> Result<Vec<u8>, DriverError> {
        assert!(from + len <= self.bytes, "inside the buffer");
        self.read_at(self.address() + from as u64, len, stream)
    }

    fn read_at(
        &self,
        from: CUdeviceptr,
        len: usize,
        stream: CUstream,
    ) -> Result<Vec<u8>, DriverError> {
        debug_assert!(
            from >= self.base && len <= self.zone + self.bytes + self.zone_behind,
            "inside the allocation"
        );
        let mut bytes = vec![0; len];
        // SAFETY: the target lives until the wait below is over, and the source is inside the
        // allocation.
        unsafe {
            result::memcpy_dtoh_async(&mut bytes, from, stream)?;
            result::stream::synchronize(stream)?;
        }
        Ok(bytes)
    }

    /// Returns how another process finds the buffer; `None` where the GPU or the system shares no
    /// memory between processes.
    pub(super) fn share(&self) -> Option<SharedBuffer> {
        let mut handle = sys::CUipcMemHandle { reserved: [0; 64] };
        // SAFETY: the base is that of a live allocation of `cuMemAlloc`, and the handle is ours.
        let status = unsafe { sys::cuIpcGetMemHandle(&raw mut handle, self.base) };
        status.result().ok()?;
        let handle = handle.reserved.map(|byte| byte.to_ne_bytes()[0]);
        Some(SharedBuffer { handle, byte_offset: self.zone as u64 })
    }

    /// Returns the address and the bytes of each guard zone.
    pub(super) const fn zones(&self) -> [(CUdeviceptr, usize); 2] {
        [(self.base, self.zone), (self.address() + self.bytes as u64, self.zone_behind)]
    }

    /// The value of every byte of a guard zone.
    pub(super) const GUARD: u8 = GUARD;

    /// Checks both guard zones and restores them. Returns the damage.
    pub(super) fn damage(&self, stream: CUstream) -> Result<Option<Finding>, DriverError> {
        let [left, right] = self.zones().map(|(from, len)| self.read_at(from, len, stream));
        let finding = describe(&self.label, self.bytes, self.element_bytes, &left?, &right?);
        if finding.is_some() {
            for (from, len) in self.zones() {
                // SAFETY: both zones are inside the allocation.
                unsafe { result::memset_d8_async(from, GUARD, len, stream)? };
            }
        }
        Ok(finding)
    }
}

/// Returns the bytes to allocate for so many: whole pages.
const fn whole_pages(bytes: usize) -> usize {
    bytes.next_multiple_of(PAGE)
}

/// Says which element outside a buffer was written first, if any.
fn describe(
    label: &str,
    bytes: usize,
    element_bytes: usize,
    left: &[u8],
    right: &[u8],
) -> Option<Finding> {
    let n_elements = bytes / element_bytes;
    let is_written = |byte: &u8| *byte != GUARD;
    let n_written = left.iter().chain(right).filter(|byte| is_written(byte)).count();
    let place = if let Some(at) = right.iter().position(is_written) {
        format!("element {} of", (bytes + at) / element_bytes)
    } else {
        let at = left.iter().rposition(is_written)?;
        format!("{} elements before", (left.len() - at).div_ceil(element_bytes))
    };
    Some(Finding::new(format!(
        "a kernel wrote outside of `{label}`: {place} the buffer, which has {n_elements} elements \
         ({n_written} bytes around it changed)"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_are_whole_pages() {
        assert_eq!([2 * ZONE, PAGE].map(whole_pages), [PAGE, PAGE]);
        assert_eq!(whole_pages(PAGE + 1), 2 * PAGE);
        assert_eq!(whole_pages((256 << 20) + 2 * ZONE), (256 << 20) + PAGE);
    }

    #[test]
    fn damage_is_told_in_elements() {
        let clean = [GUARD; 64];
        let mut right = clean;
        assert!(describe("out", 400, 4, &clean, &right).is_none());
        right[8] = 0;
        let finding = describe("out", 400, 4, &clean, &right).unwrap();
        assert!(finding.message.contains("element 102 of the buffer, which has 100 elements"));
        let mut left = clean;
        left[60..].fill(0);
        let finding = describe("out", 400, 4, &left, &clean).unwrap();
        assert!(finding.message.contains("1 elements before the buffer"), "{}", finding.message);
    }
}
