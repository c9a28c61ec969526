//! The tests by name.

use std::fmt;

/// A test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Test {
    /// Host to device, from memory that the system may move.
    H2dPageable,
    /// Device to host, the same.
    D2hPageable,
    /// Host to device, from memory that the driver locked.
    H2dPinned,
    /// Device to host, the same.
    D2hPinned,
    /// Within the device, by the driver's copy.
    D2d,
    /// Between two GPUs.
    P2p,
    /// A kernel that reads.
    Read,
    /// A kernel that writes.
    Write,
    /// A kernel that reads one buffer and writes another.
    Copy,
    /// A kernel that reads two buffers and writes a third.
    Triad,
    /// A kernel that reads 32-byte sectors in random order.
    Random,
    /// One thread that follows pointers.
    Latency,
    /// Allocating.
    Alloc,
    /// Freeing.
    Free,
    /// A read of every n-th element.
    Stride,
    /// A read that begins n elements behind an aligned address.
    Offset,
    /// A read by loads of n bytes.
    Vector,
    /// NVIDIA's tool.
    Nvbandwidth,
}

/// The way in which a test varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A copy by the driver, over sizes.
    Transfer,
    /// A kernel, over sizes.
    Kernel,
    /// Allocators, over sizes.
    Allocation,
    /// A kernel, over a parameter at one size.
    Pattern,
    /// As another program decides.
    Tool,
}

/// Bytes of an element of strides and offsets.
pub(crate) const ELEMENT: u64 = 4;

/// Elements that the largest offset skips.
pub(crate) const MOST_OFFSET: u64 = 32;

impl Test {
    /// All tests, in the order in which they run.
    pub const ALL: [Self; 18] = [
        Self::H2dPageable,
        Self::D2hPageable,
        Self::H2dPinned,
        Self::D2hPinned,
        Self::D2d,
        Self::P2p,
        Self::Read,
        Self::Write,
        Self::Copy,
        Self::Triad,
        Self::Random,
        Self::Latency,
        Self::Alloc,
        Self::Free,
        Self::Stride,
        Self::Offset,
        Self::Vector,
        Self::Nvbandwidth,
    ];

    /// Returns its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::H2dPageable => "h2d_pageable",
            Self::D2hPageable => "d2h_pageable",
            Self::H2dPinned => "h2d_pinned",
            Self::D2hPinned => "d2h_pinned",
            Self::D2d => "d2d",
            Self::P2p => "p2p",
            Self::Read => "read",
            Self::Write => "write",
            Self::Copy => "copy",
            Self::Triad => "triad",
            Self::Random => "random",
            Self::Latency => "latency",
            Self::Alloc => "alloc",
            Self::Free => "free",
            Self::Stride => "stride",
            Self::Offset => "offset",
            Self::Vector => "vector",
            Self::Nvbandwidth => "nvbandwidth",
        }
    }

    /// Finds a test by its name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|test| test.name() == name)
    }

    /// Returns the way in which it varies.
    #[must_use]
    pub const fn kind(self) -> Kind {
        match self {
            Self::H2dPageable
            | Self::D2hPageable
            | Self::H2dPinned
            | Self::D2hPinned
            | Self::D2d
            | Self::P2p => Kind::Transfer,
            Self::Read | Self::Write | Self::Copy | Self::Triad | Self::Random | Self::Latency => {
                Kind::Kernel
            }
            Self::Alloc | Self::Free => Kind::Allocation,
            Self::Stride | Self::Offset | Self::Vector => Kind::Pattern,
            Self::Nvbandwidth => Kind::Tool,
        }
    }

    /// Returns the buffers that it needs on the GPU, each of the size.
    pub(crate) const fn n_buffers(self) -> usize {
        match self {
            Self::Triad => 3,
            Self::D2d | Self::Copy => 2,
            _ => 1,
        }
    }

    /// Returns the parameters of a test of [`Kind::Pattern`].
    pub(crate) fn parameters(self) -> Vec<u32> {
        match self {
            Self::Stride => (1..=32).collect(),
            Self::Offset => (0..=31).collect(),
            Self::Vector => vec![4, 8, 16],
            _ => Vec::new(),
        }
    }

    /// Returns the bytes that it reads and writes, or those of them that it uses, at a size in bytes; `None` for
    /// a test without a bandwidth.
    pub(crate) fn traffic(self, bytes: u64, parameter: u32) -> Option<u64> {
        let n_elements = bytes / ELEMENT;
        match self {
            // The host's own memory is not the GPU's traffic, nor that of another GPU.
            Self::H2dPageable
            | Self::D2hPageable
            | Self::H2dPinned
            | Self::D2hPinned
            | Self::P2p
            | Self::Read
            | Self::Write
            | Self::Random
            | Self::Vector => Some(bytes),
            Self::D2d | Self::Copy => Some(2 * bytes),
            Self::Triad => Some(3 * bytes),
            Self::Stride => Some(n_elements / u64::from(parameter.max(1)) * ELEMENT),
            Self::Offset => Some(n_elements.saturating_sub(MOST_OFFSET) * ELEMENT),
            Self::Latency | Self::Alloc | Self::Free | Self::Nvbandwidth => None,
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_found_by_their_names() {
        for test in Test::ALL {
            assert_eq!(Test::find(test.name()), Some(test));
        }
        assert_eq!(Test::find("h2d"), None);
    }

    #[test]
    fn bytes_read_and_written_both_count() {
        let traffic = |test: Test| test.traffic(1024, 4);
        assert_eq!(traffic(Test::H2dPinned), Some(1024));
        assert_eq!(traffic(Test::D2d), Some(2048));
        assert_eq!(traffic(Test::Triad), Some(3072));
        assert_eq!(traffic(Test::Stride), Some(256));
        assert_eq!(traffic(Test::Offset), Some(1024 - 4 * 32));
        assert_eq!(traffic(Test::Latency), None);
    }
}
