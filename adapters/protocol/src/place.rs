//! Where the bytes of tensors lie: in files, and on a GPU in memory of kgen's.

use std::{
    fs::{File, OpenOptions},
    os::unix::fs::FileExt as _,
};

use serde::Deserialize;

#[cfg(feature = "cuda")]
use std::rc::Rc;

#[cfg(feature = "cuda")]
use crate::cuda::{Driver, Mapping};
use crate::refusal::{Refusal, bad};

/// A place as a request names it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct At {
    #[serde(rename = "shm")]
    pub(crate) file: Option<String>,
    pub(crate) ipc: Option<String>,
    pub(crate) byte_offset: u64,
    pub(crate) bytes: u64,
}

/// Bytes that kgen sees too.
#[derive(Debug)]
pub enum Place {
    File {
        file: File,
        byte_offset: u64,
    },
    /// Memory of a GPU.
    #[cfg(feature = "cuda")]
    Gpu {
        mapping: Rc<Mapping>,
        byte_offset: u64,
    },
}

/// The bytes of a tensor's storage, from element 0 to the last one addressed.
#[derive(Debug)]
pub enum Storage {
    Host(Vec<u8>),
    /// At an address on the GPU.
    #[cfg(feature = "cuda")]
    Gpu {
        address: u64,
        bytes: usize,
    },
}

impl Storage {
    /// Returns the bytes in memory of the host.
    ///
    /// # Errors
    ///
    /// Those of the driver.
    pub fn into_host(self) -> Result<Vec<u8>, Refusal> {
        match self {
            Self::Host(bytes) => Ok(bytes),
            #[cfg(feature = "cuda")]
            Self::Gpu { address, bytes } => crate::cuda::read(address, bytes),
        }
    }
}

/// Opens places. Without a GPU these are files.
#[derive(Debug, Clone, Default)]
pub(crate) struct Opener {
    #[cfg(feature = "cuda")]
    pub(crate) driver: Option<Driver>,
}

impl Opener {
    /// Opens a place that is to hold so many bytes.
    pub(crate) fn open(&self, at: &At, bytes: usize) -> Result<Place, Refusal> {
        if at.bytes < bytes as u64 {
            return Err(bad(format!(
                "a tensor of {bytes} bytes does not lie in a place of {}",
                at.bytes
            )));
        }
        match (&at.file, &at.ipc) {
            (Some(path), None) => {
                let opened = OpenOptions::new().read(true).write(true).open(path);
                let file = opened.map_err(|error| bad(format!("{path}: {error}")))?;
                Ok(Place::File { file, byte_offset: at.byte_offset })
            }
            (None, Some(handle)) => self.map(handle, at.byte_offset),
            _ => Err(bad("a place is `shm` or `ipc`")),
        }
    }

    #[cfg(feature = "cuda")]
    fn map(&self, handle: &str, byte_offset: u64) -> Result<Place, Refusal> {
        let driver = self.driver.as_ref().ok_or_else(|| bad("an `ipc` place without a GPU"))?;
        Ok(Place::Gpu { mapping: driver.map(handle)?, byte_offset })
    }

    #[cfg(not(feature = "cuda"))]
    fn map(&self, _handle: &str, _byte_offset: u64) -> Result<Place, Refusal> {
        Err(bad("an `ipc` place without a GPU"))
    }
}

impl Place {
    /// Returns the first bytes: of a file they are read.
    pub(crate) fn storage(&self, bytes: usize) -> Result<Storage, Refusal> {
        match self {
            Self::File { file, byte_offset } => {
                let mut buffer = vec![0; bytes];
                file.read_exact_at(&mut buffer, *byte_offset).map_err(bad)?;
                Ok(Storage::Host(buffer))
            }
            #[cfg(feature = "cuda")]
            Self::Gpu { mapping, byte_offset } => {
                Ok(Storage::Gpu { address: mapping.address() + byte_offset, bytes })
            }
        }
    }

    /// Writes bytes to the begin of the place.
    ///
    /// # Errors
    ///
    /// Where the copy fails.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Refusal> {
        match self {
            Self::File { file, byte_offset } => file.write_all_at(bytes, *byte_offset).map_err(bad),
            #[cfg(feature = "cuda")]
            Self::Gpu { mapping, byte_offset } => mapping.write(*byte_offset, bytes),
        }
    }
}
