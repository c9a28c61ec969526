//! The emulated address space.
//!
//! Every buffer owns a slot of 2^40 bytes with its base in the middle, so the high bits of any
//! address, however wild, name the buffer it was computed from and the rest is a signed offset.
//! Shared memory, local memory and kernel parameters are windows in the topmost slots.

use std::{collections::HashMap, fmt};

use crate::op::Window;

/// log2 of the bytes of a slot.
const SLOT_BITS: u32 = 40;
/// Bytes of the largest buffer: half a slot lies behind its base.
const MAX_BUFFER: u64 = 1 << (SLOT_BITS - 1);
/// Most buffers at once; the slots above are windows.
const MAX_BUFFERS: usize = 0xff_0000;
const SHARED_SLOT: u64 = 0xff_ff00;
const LOCAL_SLOT: u64 = 0xff_ff01;
const PARAM_SLOT: u64 = 0xff_ff02;

/// Bytes on both sides of zero that count as null: less than any address in shared memory.
const NEAR_NULL: u64 = 1 << SHARED_SLOT_BITS;

/// A byte that holds a defined value.
pub(crate) const INITIALISED: u8 = 1;
/// A byte that a kernel wrote.
pub(crate) const WRITTEN: u8 = 2;
/// A byte that an asynchronous copy under way will write.
pub(crate) const PENDING: u8 = 4;

/// Why a buffer cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AllocError {
    /// The device has fewer bytes left than were asked for.
    DeviceMemory {
        /// Bytes asked for.
        bytes: u64,
        /// Bytes left of [`Config::memory_bytes`](crate::Config::memory_bytes).
        left: u64,
    },
    /// A buffer cannot be so large, whatever the device has left.
    TooLarge {
        /// Bytes asked for.
        bytes: u64,
        /// Bytes of the largest buffer.
        limit: u64,
    },
    /// The host has no memory for it.
    HostMemory {
        /// Bytes asked for.
        bytes: u64,
    },
    /// Too many buffers are alive.
    TooMany,
}

impl fmt::Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DeviceMemory { bytes, left } => {
                write!(
                    f,
                    "a buffer of {bytes} bytes does not fit the device: {left} bytes are left"
                )
            }
            Self::TooLarge { bytes, limit } => {
                write!(f, "a buffer of {bytes} bytes is larger than {limit}")
            }
            Self::HostMemory { bytes } => write!(f, "the host has no memory for {bytes} bytes"),
            Self::TooMany => write!(f, "{MAX_BUFFERS} buffers are alive already"),
        }
    }
}

impl std::error::Error for AllocError {}

/// Handle of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub(crate) u32);

/// The generic address of a state space's start.
pub(crate) fn window_base(window: Window) -> u64 {
    match window {
        Window::Global | Window::Const => 0,
        Window::Shared => SHARED_SLOT << SLOT_BITS,
        Window::Local => LOCAL_SLOT << SLOT_BITS,
        Window::Param => PARAM_SLOT << SLOT_BITS,
    }
}

/// log2 of the bytes of a shared variable's slot.
const SHARED_SLOT_BITS: u32 = 20;
/// log2 of the window of one block's shared memory.
const SHARED_BLOCK_BITS: u32 = 27;
/// Number of slots in it; slot 0 is never used, so that no variable's address is near zero.
pub(crate) const SHARED_SLOTS: usize = 1 << (SHARED_BLOCK_BITS - SHARED_SLOT_BITS);

/// Address, in the window of shared memory, of the byte at offset `at` of a block's shared memory,
/// computed from the variable in `slot`:
///
/// ```text
/// bits 31..27  0 for the running block, else rank of the block in its cluster plus 1
/// bits 26..20  slot of the variable, which keeps bounds apart
/// bits 19..0   2^19 plus the offset in the block's shared memory
/// ```
pub(crate) fn shared_address(slot: usize, at: usize) -> u64 {
    // Offsets of lanes that nobody looks at may be anything.
    (((slot as u64) << SHARED_SLOT_BITS) + (1 << (SHARED_SLOT_BITS - 1))).wrapping_add(at as u64)
}

/// Slot of the variable that an address was computed from, and signed offset in the block's shared
/// memory.
pub(crate) fn shared_parts(address: u64) -> (usize, i64) {
    let slot = own_shared(address) >> SHARED_SLOT_BITS;
    let offset = address & ((1 << SHARED_SLOT_BITS) - 1);
    (slot as usize, offset as i64 - (1 << (SHARED_SLOT_BITS - 1)))
}

/// The bits that an address has in common with all that were computed from the same variable of the
/// same block.
pub(crate) fn shared_variable(address: u64) -> u64 {
    address >> SHARED_SLOT_BITS
}

/// Rank of the block that an address names; `None` for the running one.
pub(crate) fn shared_rank(address: u64) -> Option<u64> {
    (address >> SHARED_BLOCK_BITS).checked_sub(1)
}

/// The same address in the block with this rank.
pub(crate) fn peer_shared(address: u64, rank: u32) -> u64 {
    own_shared(address) | (u64::from(rank) + 1) << SHARED_BLOCK_BITS
}

/// The same address in the running block.
pub(crate) fn own_shared(address: u64) -> u64 {
    address & ((1 << SHARED_BLOCK_BITS) - 1)
}

/// The window of a generic address.
pub(crate) fn window_of(address: u64) -> Window {
    match address >> SLOT_BITS {
        SHARED_SLOT => Window::Shared,
        LOCAL_SLOT => Window::Local,
        PARAM_SLOT => Window::Param,
        _ => Window::Global,
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Buffer {
    /// Name for messages.
    pub label: String,
    /// Contents.
    pub data: Vec<u8>,
    /// [`INITIALISED`] and [`WRITTEN`] of each byte; `None` when all are initialised and nobody
    /// asks which were written.
    pub flags: Option<Vec<u8>>,
    /// Bytes of an element, for messages.
    pub element_bytes: usize,
    /// Whether it may still be used.
    pub live: bool,
    /// Module constants cannot be written.
    pub read_only: bool,
}

#[derive(Debug, Default, Clone)]
pub(crate) struct Memory {
    /// By [`BufferId`].
    pub buffers: Vec<Buffer>,
    free: Vec<u32>,
    /// Bytes of the live ones.
    used: u64,
    /// Most bytes of the live ones.
    limit: u64,
    /// Sizes of the buffers that kernels allocated.
    heap: HashMap<u32, usize>,
    /// Bytes of the heap in use, overhead included.
    heap_bytes: usize,
}

/// So many zeros, which cost no memory until they are touched; `None` if the host refuses.
fn zeros(bytes: usize) -> Option<Vec<u8>> {
    // The standard library has no fallible zeroed allocation. Where this one succeeds, so does the
    // same again.
    Vec::<u8>::new().try_reserve_exact(bytes).ok()?;
    Some(vec![0; bytes])
}

/// Takes bytes that differ from the original over into ours.
fn take_bytes(ours: &mut [u8], original: &[u8], theirs: &[u8], joined: impl Fn(u8, u8) -> u8) {
    let chunks = ours.chunks_mut(4096).zip(original.chunks(4096)).zip(theirs.chunks(4096));
    for ((ours, original), theirs) in chunks.filter(|((_, original), theirs)| original != theirs) {
        for ((our, original), their) in ours.iter_mut().zip(original).zip(theirs) {
            if original != their {
                *our = joined(*our, *their);
            }
        }
    }
}

/// Bytes that kernels may allocate, as a device has it by default.
const HEAP_BYTES: usize = 8 << 20;

/// Bytes of the heap that an allocation takes beside its own.
const HEAP_OVERHEAD: usize = 64;

impl Memory {
    /// No buffers yet, and at most `limit` bytes of them ever.
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Bytes of the live buffers.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// Takes over the changes of a kernel to a copy of `original`, which this once was.
    pub(crate) fn take_changes(&mut self, original: &Self, copy: &Self) {
        let buffers = self.buffers.iter_mut().zip(&original.buffers).zip(&copy.buffers);
        for ((ours, original), theirs) in buffers {
            take_bytes(&mut ours.data, &original.data, &theirs.data, |_, new| new);
            if let (Some(ours), Some(original), Some(theirs)) =
                (&mut ours.flags, &original.flags, &theirs.flags)
            {
                take_bytes(ours, original, theirs, |old, new| old | new);
            }
        }
    }

    /// A new buffer whose bytes are zero and uninitialised.
    pub(crate) fn alloc(
        &mut self,
        label: &str,
        bytes: usize,
        element_bytes: usize,
    ) -> Result<BufferId, AllocError> {
        let size = bytes as u64;
        if size > MAX_BUFFER {
            return Err(AllocError::TooLarge { bytes: size, limit: MAX_BUFFER });
        }
        let left = self.limit.saturating_sub(self.used);
        if size > left {
            return Err(AllocError::DeviceMemory { bytes: size, left });
        }
        if self.buffers.len() >= MAX_BUFFERS && self.free.is_empty() {
            return Err(AllocError::TooMany);
        }
        let (Some(data), Some(flags)) = (zeros(bytes), zeros(bytes)) else {
            return Err(AllocError::HostMemory { bytes: size });
        };
        self.used += size;
        let buffer = Buffer {
            label: label.to_owned(),
            data,
            flags: Some(flags),
            element_bytes: element_bytes.max(1),
            live: true,
            read_only: false,
        };
        // Slots are reused only when numbers run out, so stale pointers keep naming their buffer.
        if self.buffers.len() < MAX_BUFFERS {
            self.buffers.push(buffer);
            return Ok(BufferId(self.buffers.len() as u32 - 1));
        }
        let index = self.free.pop().ok_or(AllocError::TooMany)?;
        self.buffers[index as usize] = buffer;
        Ok(BufferId(index))
    }

    /// Ends a buffer's life.
    pub(crate) fn free(&mut self, id: BufferId) {
        let buffer = &mut self.buffers[id.0 as usize];
        if !std::mem::replace(&mut buffer.live, false) {
            return;
        }
        self.used -= buffer.data.len() as u64;
        buffer.data = Vec::new();
        buffer.flags = None;
        self.free.push(id.0);
    }

    /// `malloc` of a kernel: an address, or zero where the heap has no room.
    pub(crate) fn malloc(&mut self, bytes: u64) -> u64 {
        let Ok(bytes) = usize::try_from(bytes) else { return 0 };
        let taken = bytes.saturating_add(HEAP_OVERHEAD);
        if bytes == 0 || taken > HEAP_BYTES - self.heap_bytes {
            return 0;
        }
        let Ok(id) = self.alloc("malloc", bytes, 1) else { return 0 };
        self.heap.insert(id.0, taken);
        self.heap_bytes += taken;
        Self::address(id)
    }

    /// `free` of a kernel; false if `malloc` did not give the address.
    pub(crate) fn free_heap(&mut self, address: u64) -> bool {
        if address == 0 {
            return true;
        }
        let Some((index, 0)) = self.decode(address) else { return false };
        let id = BufferId(index as u32);
        let Some(taken) = self.heap.remove(&id.0) else { return false };
        self.heap_bytes -= taken;
        self.free(id);
        true
    }

    pub(crate) fn address(id: BufferId) -> u64 {
        (u64::from(id.0) + 1) << SLOT_BITS | 1 << (SLOT_BITS - 1)
    }

    /// Buffer index and signed offset that an address names.
    pub(crate) fn decode(&self, address: u64) -> Option<(usize, i64)> {
        let slot = address >> SLOT_BITS;
        let index = usize::try_from(slot).ok()?.checked_sub(1)?;
        if index >= self.buffers.len() {
            return None;
        }
        let base = Self::address(BufferId(index as u32));
        Some((index, address.wrapping_sub(base) as i64))
    }

    /// Whether the address is zero or so near it that it was computed from it.
    pub(crate) fn is_null(address: u64) -> bool {
        address.wrapping_add(NEAR_NULL) < 2 * NEAR_NULL
    }
}

#[cfg(test)]
mod tests {
    use super::{own_shared, peer_shared, shared_address, shared_parts, shared_rank};

    #[test]
    fn shared_addresses_name_slot_and_offset() {
        let address = shared_address(5, 0x1230);
        assert_eq!((shared_rank(address), shared_parts(address)), (None, (5, 0x1230)));
        assert_eq!(shared_parts(address - 0x1234), (5, -4));
        for rank in [0, 15] {
            let there = peer_shared(address, rank);
            assert_eq!(shared_rank(there), Some(u64::from(rank)));
            assert_eq!((shared_parts(there), own_shared(there)), ((5, 0x1230), address));
        }
        assert!(u32::try_from(peer_shared(shared_address(127, 232_448), 15)).is_ok());
    }
}
