//! The CUDA driver, as far as every adapter needs it: memory of kgen's, and copies of it.

use std::{
    cell::RefCell,
    collections::HashMap,
    mem::MaybeUninit,
    panic::{AssertUnwindSafe, catch_unwind},
    rc::{Rc, Weak},
    sync::Arc,
};

use cudarc::driver::{CudaContext, DriverError, result, sys};

use crate::refusal::{Kind, Refusal, bad};

/// Bytes of an IPC handle.
const HANDLE_BYTES: usize = 64;

/// A GPU by its primary context, which the library uses too.
#[derive(Debug, Clone)]
pub struct Driver {
    context: Arc<CudaContext>,
    /// An allocation may be mapped once at a time.
    mapped: Rc<RefCell<HashMap<String, Weak<Mapping>>>>,
}

/// An allocation of kgen's, mapped until it is dropped.
#[derive(Debug)]
pub struct Mapping {
    context: Arc<CudaContext>,
    address: u64,
}

impl Driver {
    /// Opens a GPU by its index among the visible ones.
    pub(crate) fn open(index: usize) -> Result<Self, String> {
        // The libraries are loaded here; where one is missing, cudarc panics with its name.
        let opened = catch_unwind(AssertUnwindSafe(|| CudaContext::new(index)));
        let opened = opened.map_err(|_| "the CUDA driver cannot be loaded".to_owned())?;
        let context = opened.map_err(|error| error.to_string())?;
        Ok(Self { context, mapped: Rc::default() })
    }

    pub(crate) fn name(&self) -> Result<String, String> {
        self.context.name().map_err(|error| error.to_string())
    }

    pub(crate) fn uuid(&self) -> Result<String, String> {
        let uuid = self.context.uuid().map_err(|error| error.to_string())?;
        let mut text = "GPU".to_owned();
        for (at, byte) in uuid.bytes.iter().enumerate() {
            if [0, 4, 6, 8, 10].contains(&at) {
                text.push('-');
            }
            text.push_str(&format!("{:02x}", byte.cast_unsigned()));
        }
        Ok(text)
    }

    /// Maps an allocation by its handle in hexadecimal digits.
    pub(crate) fn map(&self, handle: &str) -> Result<Rc<Mapping>, Refusal> {
        let known = self.mapped.borrow().get(handle).and_then(Weak::upgrade);
        if let Some(mapping) = known {
            return Ok(mapping);
        }
        let handle_bytes =
            unhex(handle).ok_or_else(|| bad("a handle is 128 hexadecimal digits"))?;
        self.context.bind_to_thread().map_err(failed)?;
        let reserved = handle_bytes.map(u8::cast_signed);
        let mut address = MaybeUninit::uninit();
        // SAFETY: the driver writes the address where it succeeds; the handle is a plain value.
        let address = unsafe {
            sys::cuIpcOpenMemHandle_v2(
                address.as_mut_ptr(),
                sys::CUipcMemHandle { reserved },
                sys::CUipcMem_flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS as u32,
            )
            .result()
            .map_err(|error| {
                Refusal::new(Kind::Raised, format!("cuIpcOpenMemHandle: {error:?}"))
            })?;
            address.assume_init()
        };
        let mapping = Rc::new(Mapping { context: Arc::clone(&self.context), address });
        let mut mapped = self.mapped.borrow_mut();
        mapped.retain(|_, mapping| mapping.strong_count() > 0);
        mapped.insert(handle.to_owned(), Rc::downgrade(&mapping));
        Ok(mapping)
    }
}

impl Mapping {
    /// Returns the address of its first byte in this process.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Copies bytes of the host into it, and waits.
    pub(crate) fn write(&self, byte_offset: u64, bytes: &[u8]) -> Result<(), Refusal> {
        self.context.bind_to_thread().map_err(failed)?;
        // SAFETY: the place was checked to hold that many bytes, and kgen keeps its memory while it is mapped.
        unsafe { result::memcpy_htod_sync(self.address + byte_offset, bytes) }.map_err(failed)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was opened by this process, and nothing uses it any more: calls are waited for.
        let closed = self
            .context
            .bind_to_thread()
            .map(|()| unsafe { sys::cuIpcCloseMemHandle(self.address) });
        if let Err(error) = closed.and_then(sys::CUresult::result) {
            eprintln!("a mapping was not closed: {error:?}");
        }
    }
}

/// Copies bytes from an address on the GPU to the host, and waits. The caller's place holds that many.
///
/// # Errors
///
/// Those of the driver.
pub fn read(address: u64, bytes: usize) -> Result<Vec<u8>, Refusal> {
    let mut buffer = vec![0; bytes];
    // SAFETY: addresses come from places, which were checked to hold that many bytes.
    unsafe { result::memcpy_dtoh_sync(&mut buffer, address) }.map_err(failed)?;
    Ok(buffer)
}

/// Returns the refusal of a failure of the driver.
#[must_use]
pub fn failed(error: DriverError) -> Refusal {
    Refusal::of_library(Kind::Raised, format!("{error:?}"))
}

fn unhex(text: &str) -> Option<[u8; HANDLE_BYTES]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * HANDLE_BYTES || !text.is_ascii() {
        return None;
    }
    let mut bytes = [0; HANDLE_BYTES];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}
