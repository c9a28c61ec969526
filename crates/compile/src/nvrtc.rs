//! The few NVRTC calls that kgen makes, through cudarc's bindings, as results instead of panics.
//!
//! cudarc's safe layer is not used: it panics on a NUL byte and drops the log of a success.

use std::{
    ffi::{CStr, CString, c_char, c_int},
    ptr,
};

use cudarc::nvrtc::sys;

use super::Error;

/// A header that exists only in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    /// The name to include it by.
    pub(super) name: &'static str,
    pub(super) text: String,
}

/// The result of one compilation.
#[derive(Debug)]
pub(super) struct Output {
    /// The compiler's and the assembler's messages.
    pub(super) log: String,
    /// PTX, CUBIN and lowered names; `None` when the source was refused.
    pub(super) product: Option<Product>,
}

/// The product of a successful compilation.
#[derive(Debug)]
pub(super) struct Product {
    pub(super) ptx: String,
    pub(super) cubin: Vec<u8>,
    /// The lowered names, in the order of the name expressions.
    pub(super) lowered: Vec<String>,
}

/// Asks the loaded NVRTC for its version.
pub(super) fn version() -> Result<(u32, u32), Error> {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the library is loaded, and both pointers are valid for writes.
    check("nvrtcVersion", unsafe { sys::nvrtcVersion(&raw mut major, &raw mut minor) })?;
    Ok((major.unsigned_abs(), minor.unsigned_abs()))
}

/// Compiles `k.cu`.
///
/// The lowered names are asked for in the order of `names`.
pub(super) fn compile(
    source: &str,
    headers: &[Header],
    options: &[String],
    names: &[String],
) -> Result<Output, Error> {
    let program = Program::new(source, headers)?;
    let names: Vec<CString> = names.iter().map(|name| c_string(name)).collect::<Result<_, _>>()?;
    for name in &names {
        // SAFETY: the program is alive and not compiled yet; the string outlives the call.
        let status = unsafe { sys::nvrtcAddNameExpression(program.raw, name.as_ptr()) };
        check("nvrtcAddNameExpression", status)?;
    }
    let options: Vec<CString> =
        options.iter().map(|option| c_string(option)).collect::<Result<_, _>>()?;
    let pointers = pointers(&options);
    // SAFETY: the program is alive; the option strings outlive the call.
    let status =
        unsafe { sys::nvrtcCompileProgram(program.raw, count(pointers.len()), pointers.as_ptr()) };
    let log = program.log()?;
    match status {
        sys::nvrtcResult::NVRTC_SUCCESS => {
            Ok(Output { log, product: Some(program.product(&names)?) })
        }
        sys::nvrtcResult::NVRTC_ERROR_COMPILATION => Ok(Output { log, product: None }),
        other => Err(Error::Nvrtc {
            call: "nvrtcCompileProgram",
            status: format!("{other:?}: {}", log.trim()),
        }),
    }
}

/// A program of NVRTC, destroyed when dropped.
struct Program {
    raw: sys::nvrtcProgram,
}

impl Program {
    fn new(source: &str, headers: &[Header]) -> Result<Self, Error> {
        let source = c_string(source)?;
        let texts: Vec<CString> =
            headers.iter().map(|header| c_string(&header.text)).collect::<Result<_, _>>()?;
        let names: Vec<CString> =
            headers.iter().map(|header| c_string(header.name)).collect::<Result<_, _>>()?;
        let (texts_raw, names_raw) = (pointers(&texts), pointers(&names));
        let mut raw = ptr::null_mut();
        // SAFETY: all strings are NUL-terminated and outlive the call, which copies them; both
        // arrays have as many entries as headers.
        let status = unsafe {
            sys::nvrtcCreateProgram(
                &raw mut raw,
                source.as_ptr(),
                super::PROGRAM_NAME.as_ptr(),
                count(headers.len()),
                texts_raw.as_ptr(),
                names_raw.as_ptr(),
            )
        };
        check("nvrtcCreateProgram", status)?;
        Ok(Self { raw })
    }

    fn log(&self) -> Result<String, Error> {
        let mut size = 0;
        // SAFETY: the program is alive and the pointer valid for writes.
        let status = unsafe { sys::nvrtcGetProgramLogSize(self.raw, &raw mut size) };
        check("nvrtcGetProgramLogSize", status)?;
        let mut bytes = vec![0_u8; size];
        // SAFETY: the buffer has the size that NVRTC asked for.
        let status = unsafe { sys::nvrtcGetProgramLog(self.raw, bytes.as_mut_ptr().cast()) };
        check("nvrtcGetProgramLog", status)?;
        Ok(text(bytes))
    }

    fn product(&self, names: &[CString]) -> Result<Product, Error> {
        let lowered = names.iter().map(|name| self.lowered(name)).collect::<Result<_, _>>()?;
        let mut size = 0;
        // SAFETY: the program was compiled, and the pointer is valid for writes.
        check("nvrtcGetPTXSize", unsafe { sys::nvrtcGetPTXSize(self.raw, &raw mut size) })?;
        let mut ptx = vec![0_u8; size];
        // SAFETY: the buffer has the size that NVRTC asked for.
        let status = unsafe { sys::nvrtcGetPTX(self.raw, ptx.as_mut_ptr().cast()) };
        check("nvrtcGetPTX", status)?;
        // SAFETY: as for the PTX.
        check("nvrtcGetCUBINSize", unsafe { sys::nvrtcGetCUBINSize(self.raw, &raw mut size) })?;
        let mut cubin = vec![0_u8; size];
        // SAFETY: the buffer has the size that NVRTC asked for.
        let status = unsafe { sys::nvrtcGetCUBIN(self.raw, cubin.as_mut_ptr().cast()) };
        check("nvrtcGetCUBIN", status)?;
        Ok(Product { ptx: text(ptx), cubin, lowered })
    }

    fn lowered(&self, name: &CStr) -> Result<String, Error> {
        let mut lowered = ptr::null();
        // SAFETY: the expression was added before the compilation, which succeeded.
        let status = unsafe { sys::nvrtcGetLoweredName(self.raw, name.as_ptr(), &raw mut lowered) };
        check("nvrtcGetLoweredName", status)?;
        // SAFETY: NVRTC gives a NUL-terminated string that lives as long as the program.
        Ok(unsafe { CStr::from_ptr(lowered) }.to_string_lossy().into_owned())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program is alive and not used after this. A failure leaks it, no more.
        _ = unsafe { sys::nvrtcDestroyProgram(&raw mut self.raw) };
    }
}

/// Turns NVRTC's bytes into text: without the final NUL, anything that is not UTF-8 replaced.
fn text(mut bytes: Vec<u8>) -> String {
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn c_string(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error::Nul)
}

fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).collect()
}

fn count(len: usize) -> c_int {
    c_int::try_from(len).expect("kgen passes a handful of headers and options")
}

fn check(call: &'static str, status: sys::nvrtcResult) -> Result<(), Error> {
    match status {
        sys::nvrtcResult::NVRTC_SUCCESS => Ok(()),
        other => Err(Error::Nvrtc { call, status: format!("{other:?}") }),
    }
}
